//! The memory of each GPU as bars, with a line where the GPU ends: blocks or letters in a terminal, an SVG in a document.

use anstyle::{AnsiColor, Style};

use super::choice::{TemplateRow, Verdict};
use super::fit_report::{FitReport, View};
use super::need::GpuUsage;
use super::tables::parts::{PIECES, Piece};
use crate::base::layout::{columns, visible};

impl Piece {
    fn block(&self, columns: usize, view: View) -> String {
        let block = if view.colour { "█" } else { &self.name[..1] };
        view.painted(&block.repeat(columns), self.colour.on_default())
    }

    fn bytes(&self, usage: &GpuUsage) -> u64 {
        self.parts.iter().map(|part| usage.of(*part)).sum()
    }
}

impl View {
    pub(super) fn painted(self, text: &str, style: Style) -> String {
        if self.colour && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_string()
        }
    }
}

/// How a verdict is shown.
pub(super) struct Look {
    pub(super) word: &'static str,
    pub(super) style: Style,
    /// Its colour in a document.
    fill: &'static str,
}

impl Verdict {
    pub(super) fn look(self) -> Look {
        let (word, style, fill) = match self {
            Verdict::Fits => ("fits", AnsiColor::Green.on_default(), "#2a7f2a"),
            Verdict::Tight => ("tight", AnsiColor::Yellow.on_default(), "#b07a00"),
            Verdict::Not => ("no", AnsiColor::Red.on_default(), "#b02020"),
            Verdict::Unknown => ("?", Style::new().dimmed(), "#666666"),
        };
        Look { word, style, fill }
    }
}

struct Scale {
    /// A bar of the full width stands for so many bytes.
    bytes: u64,
    width: u64,
}

/// A piece of one bar, from one column or pixel to another.
struct Placed {
    piece: &'static Piece,
    start: u64,
    end: u64,
}

impl Scale {
    /// Wide enough for the largest bar, but not for one of more than twice the GPU: the others would be too short.
    fn new(report: &FitReport, width: u64) -> Self {
        let sizes = report.rows.iter().map(|row| row.need.gpu());
        let largest = sizes.max().unwrap_or(0);
        let bytes = match report.memories.gpu {
            Some(memory) => largest.clamp(memory, memory.saturating_mul(2)),
            None => largest,
        };
        Scale {
            bytes: bytes.max(1),
            width,
        }
    }

    fn at(&self, bytes: u64) -> u64 {
        let all = u128::from(self.bytes);
        let at = u128::from(bytes.min(self.bytes)) * u128::from(self.width);
        u64::try_from((at + all / 2) / all).unwrap_or(self.width)
    }

    fn pieces(&self, usage: &GpuUsage) -> Vec<Placed> {
        let mut bytes = 0;
        let mut placed = Vec::new();
        for piece in PIECES {
            let start = self.at(bytes);
            bytes += piece.bytes(usage);
            let end = self.at(bytes);
            if start < end {
                placed.push(Placed { piece, start, end });
            }
        }
        placed
    }

    /// Stands behind a bar that is too long.
    fn arrow(&self, row: &TemplateRow) -> Option<&'static str> {
        (row.need.gpu() > self.bytes).then_some("▶")
    }
}

/// Columns of a text without a terminal.
const WITHOUT_TERMINAL: usize = 88;
/// Pixels of a document: the margin to the left of the bars, a bar, all of it, and the height of a line.
const LEFT: u64 = 130;
const BAR: u64 = 620;
const WIDTH: u64 = 960;
const LINE: u64 = 24;
const GPU_LINE: &str = "#d62728";

impl FitReport<'_> {
    pub(super) fn bars(&self, view: View) -> String {
        let names: Vec<String> = self.rows.iter().map(|row| visible(row.title())).collect();
        let size = |row: &TemplateRow| self.size(row.need.gpu());
        let sizes: Vec<String> = self.rows.iter().map(size).collect();
        let widest = |texts: &[String]| texts.iter().map(|text| columns(text)).max().unwrap_or(0);
        let name_width = widest(&names);
        let size_width = widest(&sizes);
        // Between name, bar and size there are two spaces each; the bar has a line and an arrow.
        let width = view
            .width
            .unwrap_or(WITHOUT_TERMINAL)
            .saturating_sub(name_width + size_width + 6)
            .clamp(8, 96);
        let scale = Scale::new(self, width as u64);
        let mut text = String::new();
        for ((row, name), size) in self.rows.iter().zip(&names).zip(&sizes) {
            let padding = " ".repeat(name_width - columns(name));
            let bar = self.bar(row, &scale, view);
            text += &format!("{name}{padding}  {bar}  {size:>size_width$}\n");
        }
        text + &self.legend(view)
    }

    /// `ppppggoooo····│···▶`: as many columns as the scale has, the line of the GPU, and an arrow if there is more.
    fn bar(&self, row: &TemplateRow, scale: &Scale, view: View) -> String {
        let pieces = scale.pieces(&row.need.usage);
        let filled = pieces.last().map_or(0, |last| last.end);
        let draw = |from: u64, to: u64| {
            let columns = |start: u64, end: u64| {
                usize::try_from(end.min(to).saturating_sub(start.max(from))).unwrap_or(0)
            };
            let mut drawn = String::new();
            for placed in &pieces {
                drawn += &placed.piece.block(columns(placed.start, placed.end), view);
            }
            drawn + &"·".repeat(columns(filled, scale.width))
        };
        let bar = match self.memories.gpu.map(|memory| scale.at(memory)) {
            Some(line) => draw(0, line) + "│" + &draw(line, scale.width),
            None => draw(0, scale.width),
        };
        bar + scale.arrow(row).unwrap_or(" ")
    }

    fn legend(&self, view: View) -> String {
        let mut text = String::new();
        let mut at = 0;
        let mut add = |width: usize, entry: &str| {
            if at > 0 && at + 2 + width > view.width.unwrap_or(WITHOUT_TERMINAL) {
                text += "\n";
                at = 0;
            } else if at > 0 {
                text += "  ";
                at += 2;
            }
            text += entry;
            at += width;
        };
        for piece in PIECES {
            let entry = piece.block(1, view) + " " + piece.name;
            add(2 + piece.name.len(), &entry);
        }
        if let Some(memory) = self.memories.gpu {
            let line = format!("│ {}", self.size(memory));
            add(columns(&line), &line);
        }
        text + "\n"
    }

    pub fn svg(&self) -> String {
        let scale = Scale::new(self, BAR);
        let lines = [
            self.model_line(),
            self.training_line(),
            self.machine.clone(),
        ];
        let top = LINE * (lines.len() as u64 + 2);
        let bottom = top + LINE * self.rows.len() as u64;
        let mut body = String::new();
        for (at, line) in (1..).zip(&lines) {
            body += &svg_text(8, LINE * at, "", line);
        }
        for (at, row) in (0..).zip(&self.rows) {
            body += &self.svg_row(row, &scale, top + LINE * at);
        }
        if let Some(memory) = self.memories.gpu {
            let x = LEFT + scale.at(memory);
            let from = top - LINE;
            let to = bottom - LINE / 2;
            body += &format!(
                "<line x1=\"{x}\" y1=\"{from}\" x2=\"{x}\" y2=\"{to}\" stroke=\"{GPU_LINE}\" stroke-width=\"2\"/>\n"
            );
            body += &svg_text(x + 6, from + 4, GPU_LINE, &self.size(memory));
        }
        for (at, piece) in (0..).zip(PIECES) {
            let x = LEFT + at * 104;
            let y = bottom + LINE;
            body += &svg_rect([x, y - 11, 12, 12], piece.fill, "/>");
            body += &svg_text(x + 18, y, "", piece.name);
        }
        let height = bottom + 2 * LINE;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
             font-family=\"sans-serif\" font-size=\"13\">\n\
             <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n{body}</svg>\n"
        )
    }

    fn svg_row(&self, row: &TemplateRow, scale: &Scale, y: u64) -> String {
        let usage = &row.need.usage;
        let mut body = svg_text(8, y, "", row.title());
        for Placed { piece, start, end } in scale.pieces(usage) {
            let size = self.size(piece.bytes(usage));
            let title = format!("><title>{}: {size}</title></rect>", piece.name);
            let place = [LEFT + start, y - 14, end - start, LINE - 6];
            body += &svg_rect(place, piece.fill, &title);
        }
        let mut size = self.size(row.need.gpu());
        if let Some(arrow) = scale.arrow(row) {
            size = format!("{arrow} {size}");
        }
        if self.memories.gpu.is_some() {
            size += &format!(", {}", row.words());
        }
        body + &svg_text(LEFT + BAR + 8, y, row.verdict.look().fill, &size)
    }
}

fn svg_rect([x, y, width, height]: [u64; 4], fill: &str, end: &str) -> String {
    format!(
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\"{end}\n"
    )
}

/// `fill`: its colour, or nothing for black.
fn svg_text(x: u64, y: u64, fill: &str, text: &str) -> String {
    let escaped = visible(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let fill = match fill {
        "" => String::new(),
        fill => format!(" fill=\"{fill}\""),
    };
    format!("<text x=\"{x}\" y=\"{y}\"{fill}>{escaped}</text>\n")
}
