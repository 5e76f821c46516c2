//! The verdicts on a template, as a table or JSON shows them.

use anstyle::{AnsiColor, Style};

#[derive(Clone, Copy, PartialEq)]
pub struct Verdict {
    pub word: &'static str,
    pub style: Style,
    pub fits: Option<bool>,
}

pub const FITS: Verdict = Verdict {
    word: "fits",
    style: AnsiColor::Green.on_default(),
    fits: Some(true),
};

/// It fits, but without the margin.
pub const TIGHT: Verdict = Verdict {
    word: "tight",
    style: AnsiColor::Yellow.on_default(),
    fits: Some(false),
};

pub const NOT: Verdict = Verdict {
    word: "no",
    style: AnsiColor::Red.on_default(),
    fits: Some(false),
};

pub const UNKNOWN: Verdict = Verdict {
    word: "?",
    style: Style::new().dimmed(),
    fits: None,
};
