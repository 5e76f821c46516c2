//! Commands that take no DeepSpeed config. `trainer/tables/without_config.rs` lists them.

/// A command that is recognised by one of its signs, and what is said to a config for it.
pub struct WithoutConfig {
    pub signs: &'static [Sign],
    /// Continues a sentence that begins with the program.
    pub why: &'static str,
    pub help: &'static str,
    /// What is recognised. Each name in a sign has an example.
    #[cfg_attr(
        not(feature = "testing"),
        expect(dead_code, reason = "only the tests read them")
    )]
    pub examples: &'static [Example],
}

pub enum Sign {
    /// A console script of the front end, with this first argument if one is named.
    Console(Option<&'static str>),
    /// One of these modules, by name or by file.
    Modules(&'static [&'static str]),
    /// The script imports one of these modules, or something below it.
    Imports(&'static [&'static str]),
    /// The script has the text, and not the word behind it.
    Text {
        has: &'static str,
        unless: &'static str,
    },
}

#[cfg_attr(
    not(feature = "testing"),
    expect(dead_code, reason = "only the tests read them")
)]
pub enum Example {
    Command(&'static str),
    /// The text of a script that is run.
    Script(&'static str),
}
