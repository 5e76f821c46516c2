//! The verdicts on a template, as a table or JSON shows them.

use anstyle::{AnsiColor, Style};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) word: &'static str,
    pub(crate) style: Style,
    pub(crate) fits: Option<bool>,
}

pub(crate) const FITS: Verdict = Verdict {
    word: "fits",
    style: AnsiColor::Green.on_default(),
    fits: Some(true),
};

/// It fits, but without the margin.
pub(crate) const TIGHT: Verdict = Verdict {
    word: "tight",
    style: AnsiColor::Yellow.on_default(),
    fits: Some(false),
};

pub(crate) const NOT: Verdict = Verdict {
    word: "no",
    style: AnsiColor::Red.on_default(),
    fits: Some(false),
};

pub(crate) const UNKNOWN: Verdict = Verdict {
    word: "?",
    style: Style::new().dimmed(),
    fits: None,
};
