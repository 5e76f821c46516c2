//! The parts of a GPU's memory, and how they are shown.

use anstyle::AnsiColor;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Parameters,
    Gradients,
    Optimizer,
    Activations,
    Buffers,
    Logits,
    Overhead,
}

/// A column of the table.
pub(crate) struct Column {
    pub(crate) title: &'static str,
    pub(crate) part: Part,
}

pub(crate) const COLUMNS: &[Column] = &[
    Column {
        title: "params",
        part: Part::Parameters,
    },
    Column {
        title: "grads",
        part: Part::Gradients,
    },
    Column {
        title: "optim",
        part: Part::Optimizer,
    },
    Column {
        title: "activ",
        part: Part::Activations,
    },
    Column {
        title: "buffers",
        part: Part::Buffers,
    },
    Column {
        title: "logits",
        part: Part::Logits,
    },
    Column {
        title: "other",
        part: Part::Overhead,
    },
];

/// A piece of a bar. The first letter of its name stands for it in a terminal without colour.
pub(crate) struct Piece {
    pub(crate) name: &'static str,
    pub(crate) colour: AnsiColor,
    /// Its colour in a document.
    pub(crate) fill: &'static str,
    pub(crate) parts: &'static [Part],
}

/// From left to right.
pub(crate) const PIECES: &[Piece] = &[
    Piece {
        name: "parameters",
        colour: AnsiColor::Blue,
        fill: "#4c78a8",
        parts: &[Part::Parameters],
    },
    Piece {
        name: "gradients",
        colour: AnsiColor::Green,
        fill: "#54a24b",
        parts: &[Part::Gradients],
    },
    Piece {
        name: "optimizer",
        colour: AnsiColor::Magenta,
        fill: "#b279a2",
        parts: &[Part::Optimizer],
    },
    Piece {
        name: "activations",
        colour: AnsiColor::Yellow,
        fill: "#eeca3b",
        parts: &[Part::Activations],
    },
    Piece {
        name: "logits",
        colour: AnsiColor::Cyan,
        fill: "#72b7b2",
        parts: &[Part::Logits],
    },
    Piece {
        name: "rest",
        colour: AnsiColor::BrightBlack,
        fill: "#9d9d9d",
        parts: &[Part::Buffers, Part::Overhead],
    },
];
