//! The memory of each GPU as a picture: a bar for each template, and a line where the GPU ends. In a terminal the bars are
//! coloured blocks, or letters where there is no colour; in a document they are an SVG.

use anstyle::{AnsiColor, Style};

use super::choice::{TemplateRow, Verdict};
use super::need::GpuUsage;
use super::{FitReport, View};
use crate::base::layout::{columns, visible};

/// What a part of a bar stands for, and how it is drawn.
struct Part {
    name: &'static str,
    /// Where there is no colour.
    letter: &'static str,
    colour: AnsiColor,
    /// The colour in a document.
    fill: &'static str,
    bytes: fn(&GpuUsage) -> u64,
}

#[rustfmt::skip]
const PARTS: [Part; 6] = [
    Part { name: "parameters", letter: "p", colour: AnsiColor::Blue, fill: "#4c78a8", bytes: |usage| usage.parameters },
    Part { name: "gradients", letter: "g", colour: AnsiColor::Green, fill: "#54a24b", bytes: |usage| usage.gradients },
    Part { name: "optimizer", letter: "o", colour: AnsiColor::Magenta, fill: "#b279a2", bytes: |usage| usage.optimizer },
    Part { name: "activations", letter: "a", colour: AnsiColor::Yellow, fill: "#eeca3b", bytes: |usage| usage.activations },
    Part { name: "logits", letter: "l", colour: AnsiColor::Cyan, fill: "#72b7b2", bytes: |usage| usage.logits },
    Part { name: "rest", letter: "r", colour: AnsiColor::BrightBlack, fill: "#9d9d9d", bytes: |usage| usage.buffers + usage.overhead },
];

impl Part {
    fn block(&self, columns: usize, view: View) -> String {
        let block = if view.colour { "█" } else { self.letter };
        view.painted(&block.repeat(columns), foreground(self.colour))
    }
}

fn foreground(colour: AnsiColor) -> Style {
    Style::new().fg_color(Some(colour.into()))
}

impl Verdict {
    pub(super) fn style(self) -> Style {
        match self {
            Verdict::Fits => foreground(AnsiColor::Green),
            Verdict::Tight => foreground(AnsiColor::Yellow),
            Verdict::Not => foreground(AnsiColor::Red),
            Verdict::Unknown => Style::new().dimmed(),
        }
    }

    fn fill(self) -> &'static str {
        match self {
            Verdict::Fits => "#2a7f2a",
            Verdict::Tight => "#b07a00",
            Verdict::Not => "#b02020",
            Verdict::Unknown => "#666666",
        }
    }
}

/// How many bytes a bar of the full width stands for. The width is in columns of a terminal, or in pixels.
struct Scale {
    bytes: u64,
    width: u64,
}

impl Scale {
    /// Wide enough for the largest bar, but not for one of more than twice the GPU: the others would be too short.
    fn new(report: &FitReport, width: u64) -> Self {
        let largest = report.rows.iter().map(|row| row.need.gpu()).max().unwrap_or(0);
        let memory = report.gpu_memory.as_ref().map(|memory| memory.value);
        let bytes = memory.map_or(largest, |memory| largest.clamp(memory, memory.saturating_mul(2)));
        Scale { bytes: bytes.max(1), width }
    }

    /// Where this many bytes end.
    fn at(&self, bytes: u64) -> u64 {
        let (bytes, all) = (u128::from(bytes.min(self.bytes)), u128::from(self.bytes));
        u64::try_from((bytes * u128::from(self.width) + all / 2) / all).unwrap_or(self.width)
    }

    /// What stands behind a bar that is longer than the scale.
    fn arrow<'a>(&self, row: &TemplateRow, arrow: &'a str, otherwise: &'a str) -> &'a str {
        if row.need.gpu() > self.bytes { arrow } else { otherwise }
    }

    /// Where the parts of a bar begin and end.
    fn parts(&self, usage: &GpuUsage) -> Vec<(&'static Part, u64, u64)> {
        let mut bytes = 0;
        let mut part = |part: &'static Part| {
            let start = self.at(bytes);
            bytes += (part.bytes)(usage);
            (part, start, self.at(bytes))
        };
        PARTS.iter().map(&mut part).filter(|(_, start, end)| start < end).collect()
    }
}

/// The columns of a bar, its name and its number, if there is no terminal.
const WITHOUT_TERMINAL: usize = 88;
const SHORTEST: usize = 8;
const LONGEST: usize = 96;

impl FitReport {
    /// A bar for each template, and what its parts are.
    pub(super) fn bars(&self, view: View) -> String {
        let names: Vec<String> = self.rows.iter().map(|row| visible(&row.name)).collect();
        let sizes: Vec<String> = self.rows.iter().map(|row| self.size(row.need.gpu())).collect();
        let widest = |texts: &[String]| texts.iter().map(|text| columns(text)).max().unwrap_or(0);
        let (name_width, size_width) = (widest(&names), widest(&sizes));
        // Between name, bar and size there are two spaces each; the bar has a line and an arrow.
        let around = name_width + size_width + 6;
        let width = view.width.unwrap_or(WITHOUT_TERMINAL).saturating_sub(around).clamp(SHORTEST, LONGEST);
        let scale = Scale::new(self, width as u64);
        let mut text = String::new();
        for ((row, name), size) in self.rows.iter().zip(&names).zip(&sizes) {
            let padding = " ".repeat(name_width - columns(name));
            text += &format!("{name}{padding}  {}  {size:>size_width$}\n", self.bar(row, &scale, view));
        }
        text + &self.legend(view)
    }

    /// `ppppggoooo····│···▶`: as many columns as the scale has, the line of the GPU, and an arrow if there is more.
    fn bar(&self, row: &TemplateRow, scale: &Scale, view: View) -> String {
        let parts = scale.parts(&row.need.usage);
        let filled = parts.last().map_or(0, |(.., end)| *end);
        // The columns from `from` on, up to `to`.
        let draw = |from: u64, to: u64| {
            let columns =
                |start: u64, end: u64| usize::try_from(end.min(to).saturating_sub(start.max(from))).unwrap_or(0);
            let parts = parts.iter().map(|(part, start, end)| part.block(columns(*start, *end), view));
            parts.collect::<String>() + &"·".repeat(columns(filled, scale.width))
        };
        let bar = match &self.gpu_memory {
            Some(memory) => draw(0, scale.at(memory.value)) + "│" + &draw(scale.at(memory.value), scale.width),
            None => draw(0, scale.width),
        };
        bar + scale.arrow(row, "▶", " ")
    }

    /// What the letters or colours mean, below the bars.
    fn legend(&self, view: View) -> String {
        let part = |part: &Part| (2 + part.name.len(), format!("{} {}", part.block(1, view), part.name));
        let line = self.gpu_memory.as_ref().map(|memory| format!("│ {}", self.size(memory.value)));
        let line = line.map(|line| (columns(&line), line));
        let limit = view.width.unwrap_or(WITHOUT_TERMINAL);
        let mut text = String::new();
        let mut at = 0;
        for (width, piece) in PARTS.iter().map(part).chain(line) {
            let between = match at {
                0 => "",
                _ if at + 2 + width > limit => "\n",
                _ => "  ",
            };
            at = if between == "  " { at + 2 + width } else { width };
            text += &format!("{between}{piece}");
        }
        text + "\n"
    }
}

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
        let mut body: String = (0..).zip(&lines).map(|(at, line)| svg_text(8, TOP + LINE * at, "", line)).collect();
        for (at, row) in (0..).zip(&self.rows) {
            body += &self.svg_row(row, &scale, top + LINE * at);
        }
        if let Some(memory) = &self.gpu_memory {
            let x = LEFT + scale.at(memory.value);
            let (from, to) = (top - LINE, bottom - LINE / 2);
            body += &format!(
                "<line x1=\"{x}\" y1=\"{from}\" x2=\"{x}\" y2=\"{to}\" stroke=\"{GPU_LINE}\" stroke-width=\"2\"/>\n"
            );
            body += &svg_text(x + 6, top - LINE + 4, GPU_LINE, &self.size(memory.value));
        }
        for (at, part) in (0..).zip(&PARTS) {
            let (x, y) = (LEFT + at * 104, bottom + LINE);
            body += &(svg_rect([x, y - 11, 12, 12], part.fill, "/>") + &svg_text(x + 18, y, "", part.name));
        }
        let height = bottom + 2 * LINE;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
             font-family=\"sans-serif\" font-size=\"13\">\n\
             <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n{body}</svg>\n"
        )
    }

    fn svg_row(&self, row: &TemplateRow, scale: &Scale, y: u64) -> String {
        let mut body = svg_text(8, y, "", &row.name);
        for (part, start, end) in scale.parts(&row.need.usage) {
            let title = format!("><title>{}: {}</title></rect>", part.name, self.size((part.bytes)(&row.need.usage)));
            body += &svg_rect([LEFT + start, y - 14, end - start, LINE - 6], part.fill, &title);
        }
        let verdict = self.gpu_memory.as_ref().map(|_| format!(", {}", row.judgement.words())).unwrap_or_default();
        let size = format!("{}{}{verdict}", scale.arrow(row, "▶ ", ""), self.size(row.need.gpu()));
        body + &svg_text(LEFT + BAR + 8, y, row.verdict().fill(), &size)
    }
}

fn svg_rect([x, y, width, height]: [u64; 4], fill: &str, end: &str) -> String {
    format!("<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\"{end}\n")
}

fn svg_text(x: u64, y: u64, fill: &str, text: &str) -> String {
    let escaped = visible(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let fill = if fill.is_empty() { String::new() } else { format!(" fill=\"{fill}\"") };
    format!("<text x=\"{x}\" y=\"{y}\"{fill}>{escaped}</text>\n")
}
