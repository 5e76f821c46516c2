//! The picture as an SVG, for a document.

use super::FitReport;
use super::choice::{TemplateRow, Verdict};
use super::picture::{PARTS, Part, Scale};
use crate::base::layout::visible;

/// All in pixels: where the bars begin and how wide they are, the first line of text, and the height of a line.
const LEFT: u64 = 130;
const BAR: u64 = 620;
const WIDTH: u64 = 960;
const TOP: u64 = 24;
const LINE: u64 = 24;
const GPU_LINE: &str = "#d62728";

impl FitReport {
    pub fn svg(&self) -> String {
        let scale = Scale::new(self, BAR);
        let lines = [self.model_line(), self.training_line(), self.machine_line()];
        let top = TOP + LINE * (lines.len() as u64 + 1);
        let bottom = top + LINE * self.rows.len() as u64;
        let mut body: String = (0..).zip(&lines).map(|(at, line)| text(8, TOP + LINE * at, "", line)).collect();
        for (at, row) in (0..).zip(&self.rows) {
            body += &self.row_svg(row, &scale, top + LINE * at);
        }
        if let Some(memory) = &self.gpu_memory {
            let x = LEFT + scale.at(memory.value);
            let (from, to) = (top - LINE, bottom - LINE / 2);
            body += &format!(
                "<line x1=\"{x}\" y1=\"{from}\" x2=\"{x}\" y2=\"{to}\" stroke=\"{GPU_LINE}\" stroke-width=\"2\"/>\n"
            );
            body += &text(x + 6, top - LINE + 4, &format!(" fill=\"{GPU_LINE}\""), &self.size(memory.value));
        }
        body += &legend(bottom + LINE);
        let height = bottom + 2 * LINE;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
             font-family=\"sans-serif\" font-size=\"13\">\n\
             <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n{body}</svg>\n"
        )
    }

    fn row_svg(&self, row: &TemplateRow, scale: &Scale, y: u64) -> String {
        let mut body = text(8, y, "", &row.name);
        for (part, start, end) in scale.parts(&row.need.usage) {
            let (x, y, width, height) = (LEFT + start, y - 14, end - start, LINE - 6);
            body += &format!(
                "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{}\"><title>{}: {}</title></rect>\n",
                part.fill,
                part.name,
                self.size((part.bytes)(&row.need.usage))
            );
        }
        let more = if scale.is_exceeded_by(row.need.gpu()) { "▶ " } else { "" };
        let colour = match row.verdict() {
            Verdict::Fits => " fill=\"#2a7f2a\"",
            Verdict::Tight => " fill=\"#b07a00\"",
            Verdict::Not => " fill=\"#b02020\"",
            Verdict::Unknown => " fill=\"#666666\"",
        };
        let verdict = self.gpu_memory.as_ref().map(|_| format!(", {}", row.judgement.words())).unwrap_or_default();
        body + &text(LEFT + BAR + 8, y, colour, &format!("{more}{}{verdict}", self.size(row.need.gpu())))
    }
}

fn legend(y: u64) -> String {
    let part = |(at, part): (u64, &Part)| {
        let x = LEFT + at * 104;
        let square = format!("<rect x=\"{x}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{}\"/>\n", y - 11, part.fill);
        square + &text(x + 18, y, "", part.name)
    };
    (0..).zip(&PARTS).map(part).collect()
}

fn text(x: u64, y: u64, attributes: &str, text: &str) -> String {
    let escaped = visible(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("<text x=\"{x}\" y=\"{y}\"{attributes}>{escaped}</text>\n")
}
