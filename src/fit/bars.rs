//! The picture in characters: coloured blocks, or letters where there is no colour.

use anstyle::{AnsiColor, Style};

use super::FitReport;
use super::choice::{TemplateRow, Verdict};
use super::picture::{PARTS, Part, Scale};
use super::view::View;
use crate::base::layout::{columns, visible};

/// The columns of a bar, its name and its number, if there is no terminal.
const WITHOUT_TERMINAL: usize = 88;
const SHORTEST: usize = 8;
const LONGEST: usize = 96;

fn block(part: &Part, columns: usize, view: View) -> String {
    if view.colour {
        view.painted(&"█".repeat(columns), foreground(part.colour))
    } else {
        part.letter.to_string().repeat(columns)
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
}

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
        let width = width as u64;
        let scale = Scale::new(self, width);
        let mut text = String::new();
        for ((row, name), size) in self.rows.iter().zip(&names).zip(&sizes) {
            let padding = " ".repeat(name_width - columns(name));
            text += &format!("{name}{padding}  {}  {size:>size_width$}\n", self.bar(row, &scale, width, view));
        }
        text + &self.legend(view)
    }

    /// `ppppggoooo····│···▶`: as many columns as the scale has, the line of the GPU, and an arrow if there is more.
    fn bar(&self, row: &TemplateRow, scale: &Scale, width: u64, view: View) -> String {
        let parts = scale.parts(&row.need.usage);
        let filled = parts.last().map_or(0, |(.., end)| *end);
        // The columns from `from` on, up to `to`.
        let draw = |from: u64, to: u64| {
            let columns =
                |start: u64, end: u64| usize::try_from(end.min(to).saturating_sub(start.max(from))).unwrap_or(0);
            let parts = parts.iter().map(|(part, start, end)| block(part, columns(*start, *end), view));
            parts.collect::<String>() + &"·".repeat(columns(filled, width))
        };
        let bar = match &self.gpu_memory {
            Some(memory) => draw(0, scale.at(memory.value)) + "│" + &draw(scale.at(memory.value), width),
            None => draw(0, width),
        };
        bar + if scale.is_exceeded_by(row.need.gpu()) { "▶" } else { " " }
    }

    /// What the letters or colours mean, below the bars.
    fn legend(&self, view: View) -> String {
        let part = |part: &Part| (2 + part.name.len(), format!("{} {}", block(part, 1, view), part.name));
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
