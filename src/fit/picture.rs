//! The memory of each GPU as a picture: a bar for each template, and a line where the GPU ends. `bars` draws it with
//! characters, `svg` for a document.

use anstyle::AnsiColor;

use super::FitReport;
use super::need::GpuUsage;

/// What a part of a bar stands for, and how it is drawn.
pub(super) struct Part {
    pub(super) name: &'static str,
    /// Where there is no colour.
    pub(super) letter: char,
    pub(super) colour: AnsiColor,
    /// The colour in a document.
    pub(super) fill: &'static str,
    pub(super) bytes: fn(&GpuUsage) -> u64,
}

#[rustfmt::skip]
pub(super) const PARTS: [Part; 6] = [
    Part { name: "parameters", letter: 'p', colour: AnsiColor::Blue, fill: "#4c78a8", bytes: |usage| usage.parameters },
    Part { name: "gradients", letter: 'g', colour: AnsiColor::Green, fill: "#54a24b", bytes: |usage| usage.gradients },
    Part { name: "optimizer", letter: 'o', colour: AnsiColor::Magenta, fill: "#b279a2", bytes: |usage| usage.optimizer },
    Part { name: "activations", letter: 'a', colour: AnsiColor::Yellow, fill: "#eeca3b", bytes: |usage| usage.activations },
    Part { name: "logits", letter: 'l', colour: AnsiColor::Cyan, fill: "#72b7b2", bytes: |usage| usage.logits },
    Part { name: "rest", letter: 'r', colour: AnsiColor::BrightBlack, fill: "#9d9d9d", bytes: |usage| usage.buffers + usage.overhead },
];

/// How many bytes a bar of the full width stands for. The width can be that of a terminal in columns, or of a drawing.
pub(super) struct Scale {
    bytes: u64,
    width: u64,
}

impl Scale {
    /// Wide enough for the largest bar, but not for one of more than twice the GPU: the others would be too short.
    pub(super) fn new(report: &FitReport, width: u64) -> Self {
        let largest = report.rows.iter().map(|row| row.need.gpu()).max().unwrap_or(0);
        let memory = report.gpu_memory.as_ref().map(|memory| memory.value);
        let bytes = memory.map_or(largest, |memory| largest.clamp(memory, memory.saturating_mul(2)));
        Scale { bytes: bytes.max(1), width }
    }

    /// Where this many bytes end.
    pub(super) fn at(&self, bytes: u64) -> u64 {
        let (bytes, all) = (u128::from(bytes.min(self.bytes)), u128::from(self.bytes));
        u64::try_from((bytes * u128::from(self.width) + all / 2) / all).unwrap_or(self.width)
    }

    pub(super) fn is_exceeded_by(&self, bytes: u64) -> bool {
        bytes > self.bytes
    }

    /// Where the parts of a bar begin and end.
    pub(super) fn parts(&self, usage: &GpuUsage) -> Vec<(&'static Part, u64, u64)> {
        let mut bytes = 0;
        let mut part = |part: &'static Part| {
            let start = self.at(bytes);
            bytes += (part.bytes)(usage);
            (part, start, self.at(bytes))
        };
        PARTS.iter().map(&mut part).filter(|(_, start, end)| start < end).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_all_of_a_bar() {
        let usage = GpuUsage {
            parameters: 10,
            gradients: 20,
            optimizer: 40,
            activations: 0,
            buffers: 5,
            logits: 20,
            overhead: 5,
        };
        let sum: u64 = PARTS.iter().map(|part| (part.bytes)(&usage)).sum();
        assert_eq!(sum, usage.total());
        let scale = Scale { bytes: 200, width: 20 };
        let drawn: Vec<_> = scale.parts(&usage).iter().map(|(part, start, end)| (part.letter, *start, *end)).collect();
        assert_eq!(drawn, [('p', 0, 1), ('g', 1, 3), ('o', 3, 7), ('l', 7, 9), ('r', 9, 10)]);
        assert_eq!((scale.at(200), scale.at(900), scale.is_exceeded_by(201)), (20, 20, true));
    }
}
