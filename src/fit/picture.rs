//! The memory of each GPU as bars, with a line where the GPU ends: blocks or letters in a terminal, an SVG in a document.

use anstyle::{AnsiColor, Style};

use super::choice::{TemplateRow, Verdict};
use super::fit_report::{FitReport, View};
use super::need::GpuUsage;
use crate::base::layout::{columns, visible};

/// A part of a bar. Its first letter stands for it in a terminal without colour.
struct Part {
    name: &'static str,
    colour: AnsiColor,
    fill: &'static str,
    bytes: fn(&GpuUsage) -> u64,
}

const PARTS: [Part; 6] = [
    Part {
        name: "parameters",
        colour: AnsiColor::Blue,
        fill: "#4c78a8",
        bytes: |of| of.parameters,
    },
    Part {
        name: "gradients",
        colour: AnsiColor::Green,
        fill: "#54a24b",
        bytes: |of| of.gradients,
    },
    Part {
        name: "optimizer",
        colour: AnsiColor::Magenta,
        fill: "#b279a2",
        bytes: |of| of.optimizer,
    },
    Part {
        name: "activations",
        colour: AnsiColor::Yellow,
        fill: "#eeca3b",
        bytes: |of| of.activations,
    },
    Part {
        name: "logits",
        colour: AnsiColor::Cyan,
        fill: "#72b7b2",
        bytes: |of| of.logits,
    },
    Part {
        name: "rest",
        colour: AnsiColor::BrightBlack,
        fill: "#9d9d9d",
        bytes: |of| of.buffers + of.overhead,
    },
];

impl Part {
    fn block(&self, columns: usize, view: View) -> String {
        let block = if view.colour { "█" } else { &self.name[..1] };
        view.painted(&block.repeat(columns), self.colour.on_default())
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

impl Verdict {
    /// In a word, and its colours in a terminal and in a document.
    pub(super) fn shown(self) -> (&'static str, Style, &'static str) {
        match self {
            Verdict::Fits => ("fits", AnsiColor::Green.on_default(), "#2a7f2a"),
            Verdict::Tight => ("tight", AnsiColor::Yellow.on_default(), "#b07a00"),
            Verdict::Not => ("no", AnsiColor::Red.on_default(), "#b02020"),
            Verdict::Unknown => ("?", Style::new().dimmed(), "#666666"),
        }
    }
}

struct Scale {
    /// A bar of the full width stands for so many bytes.
    bytes: u64,
    width: u64,
}

impl Scale {
    /// Wide enough for the largest bar, but not for one of more than twice the GPU: the others would be too short.
    fn new(report: &FitReport, width: u64) -> Self {
        let largest = report
            .rows
            .iter()
            .map(|row| row.need.gpu())
            .max()
            .unwrap_or(0);
        let memory = report.gpu_memory.as_ref().map(|memory| memory.value);
        let bytes = memory.map_or(largest, |memory| {
            largest.clamp(memory, memory.saturating_mul(2))
        });
        Scale {
            bytes: bytes.max(1),
            width,
        }
    }

    fn at(&self, bytes: u64) -> u64 {
        let (bytes, all) = (u128::from(bytes.min(self.bytes)), u128::from(self.bytes));
        u64::try_from((bytes * u128::from(self.width) + all / 2) / all).unwrap_or(self.width)
    }

    fn parts(&self, usage: &GpuUsage) -> Vec<(&'static Part, u64, u64)> {
        let mut bytes = 0;
        let placed = PARTS.iter().map(|part| {
            let start = self.at(bytes);
            bytes += (part.bytes)(usage);
            (part, start, self.at(bytes))
        });
        placed.filter(|(_, start, end)| start < end).collect()
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

impl FitReport {
    pub(super) fn bars(&self, view: View) -> String {
        let names: Vec<String> = self.rows.iter().map(|row| visible(row.title())).collect();
        let sizes: Vec<String> = self
            .rows
            .iter()
            .map(|row| self.size(row.need.gpu()))
            .collect();
        let widest = |texts: &[String]| texts.iter().map(|text| columns(text)).max().unwrap_or(0);
        let (name_width, size_width) = (widest(&names), widest(&sizes));
        // Between name, bar and size there are two spaces each; the bar has a line and an arrow.
        let around = name_width + size_width + 6;
        let width = view
            .width
            .unwrap_or(WITHOUT_TERMINAL)
            .saturating_sub(around)
            .clamp(8, 96);
        let scale = Scale::new(self, width as u64);
        let mut text = String::new();
        for ((row, name), size) in self.rows.iter().zip(&names).zip(&sizes) {
            let padding = " ".repeat(name_width - columns(name));
            text += &format!(
                "{name}{padding}  {}  {size:>size_width$}\n",
                self.bar(row, &scale, view)
            );
        }
        text + &self.legend(view)
    }

    /// `ppppggoooo····│···▶`: as many columns as the scale has, the line of the GPU, and an arrow if there is more.
    fn bar(&self, row: &TemplateRow, scale: &Scale, view: View) -> String {
        let parts = scale.parts(&row.need.usage);
        let filled = parts.last().map_or(0, |(.., end)| *end);
        let draw = |from: u64, to: u64| {
            let columns = |start: u64, end: u64| {
                usize::try_from(end.min(to).saturating_sub(start.max(from))).unwrap_or(0)
            };
            let parts = parts
                .iter()
                .map(|(part, start, end)| part.block(columns(*start, *end), view));
            parts.collect::<String>() + &"·".repeat(columns(filled, scale.width))
        };
        let bar = match &self.gpu_memory {
            Some(memory) => {
                draw(0, scale.at(memory.value)) + "│" + &draw(scale.at(memory.value), scale.width)
            }
            None => draw(0, scale.width),
        };
        bar + if row.need.gpu() > scale.bytes {
            "▶"
        } else {
            " "
        }
    }

    fn legend(&self, view: View) -> String {
        let mut pieces: Vec<(usize, String)> = PARTS
            .iter()
            .map(|part| (2 + part.name.len(), part.block(1, view) + " " + part.name))
            .collect();
        if let Some(memory) = &self.gpu_memory {
            let line = format!("│ {}", self.size(memory.value));
            pieces.push((columns(&line), line));
        }
        let (mut text, mut at) = (String::new(), 0);
        for (width, piece) in pieces {
            if at > 0 && at + 2 + width > view.width.unwrap_or(WITHOUT_TERMINAL) {
                text += "\n";
                at = 0;
            } else if at > 0 {
                text += "  ";
                at += 2;
            }
            text += &piece;
            at += width;
        }
        text + "\n"
    }

    pub fn svg(&self) -> String {
        let scale = Scale::new(self, BAR);
        let lines = [self.model_line(), self.training_line(), self.machine_line()];
        let top = LINE * (lines.len() as u64 + 2);
        let bottom = top + LINE * self.rows.len() as u64;
        let mut body: String = (1..)
            .zip(&lines)
            .map(|(at, line)| svg_text(8, LINE * at, "", line))
            .collect();
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
            body += &(svg_rect([x, y - 11, 12, 12], part.fill, "/>")
                + &svg_text(x + 18, y, "", part.name));
        }
        let height = bottom + 2 * LINE;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
             font-family=\"sans-serif\" font-size=\"13\">\n\
             <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"white\"/>\n{body}</svg>\n"
        )
    }

    fn svg_row(&self, row: &TemplateRow, scale: &Scale, y: u64) -> String {
        let mut body = svg_text(8, y, "", row.title());
        for (part, start, end) in scale.parts(&row.need.usage) {
            let title = format!(
                "><title>{}: {}</title></rect>",
                part.name,
                self.size((part.bytes)(&row.need.usage))
            );
            body += &svg_rect(
                [LEFT + start, y - 14, end - start, LINE - 6],
                part.fill,
                &title,
            );
        }
        let verdict = if self.gpu_memory.is_some() {
            format!(", {}", row.words())
        } else {
            String::new()
        };
        let arrow = if row.need.gpu() > scale.bytes {
            "▶ "
        } else {
            ""
        };
        let size = format!("{arrow}{}{verdict}", self.size(row.need.gpu()));
        body + &svg_text(LEFT + BAR + 8, y, row.verdict.shown().2, &size)
    }
}

fn svg_rect([x, y, width, height]: [u64; 4], fill: &str, end: &str) -> String {
    format!(
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\"{end}\n"
    )
}

fn svg_text(x: u64, y: u64, fill: &str, text: &str) -> String {
    let escaped = visible(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let fill = if fill.is_empty() {
        String::new()
    } else {
        format!(" fill=\"{fill}\"")
    };
    format!("<text x=\"{x}\" y=\"{y}\"{fill}>{escaped}</text>\n")
}
