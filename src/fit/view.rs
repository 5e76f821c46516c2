//! How text is shown: to the width of a terminal, and in colour.

use anstyle::Style;

#[derive(Clone, Copy)]
pub struct View {
    /// Columns of the terminal, if there is one.
    pub width: Option<usize>,
    pub colour: bool,
}

impl View {
    pub(super) fn painted(self, text: &str, style: Style) -> String {
        if self.colour && !text.is_empty() { format!("{style}{text}{style:#}") } else { text.to_string() }
    }
}
