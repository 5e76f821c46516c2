//! How text is shown: to the width of a terminal, and in colour.

use anstyle::Style;

#[derive(Clone, Copy)]
pub(crate) struct View {
    /// Columns of the terminal, if there is one.
    pub(crate) width: Option<usize>,
    pub(crate) colour: bool,
}

impl View {
    pub(super) fn painted(self, text: &str, style: Style) -> String {
        if self.colour && !text.is_empty() { format!("{style}{text}{style:#}") } else { text.to_string() }
    }
}
