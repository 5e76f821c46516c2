//! What the options of `zlaunch fit` can be, with the words that stand for it.

#[derive(Clone, Copy, PartialEq)]
pub enum Tuner {
    Full,
    Lora,
    /// LoRA on weights of so many bits.
    Quantised(u64),
}

impl Tuner {
    pub const NAMES: &'static [(&'static str, Tuner)] = &[
        ("full", Tuner::Full),
        ("lora", Tuner::Lora),
        ("qlora", Tuner::Quantised(4)),
    ];
}

#[derive(Clone, Copy, PartialEq)]
pub enum Attention {
    /// FlashAttention or SDPA, which never store the matrix of scores.
    Flash,
    Eager,
}

impl Attention {
    pub const NAMES: &'static [(&'static str, Attention)] = &[
        ("flash", Attention::Flash),
        ("sdpa", Attention::Flash),
        ("eager", Attention::Eager),
    ];
}

/// What is counted, and the unit in which it is shown.
#[derive(Clone, Copy, PartialEq)]
pub struct Accounting {
    pub name: &'static str,
    pub unit: &'static str,
    pub unit_bytes: u64,
    pub decimals: usize,
    /// The line below the table.
    pub note: &'static str,
}

/// All that DeepSpeed and transformers allocate.
pub const REAL: Accounting = Accounting {
    name: "real",
    unit: "GiB",
    unit_bytes: 1 << 30,
    decimals: 1,
    note: "each row is its fullest moment; `-`: not there then",
};

pub const TEXTBOOK: Accounting = Accounting {
    name: "textbook",
    unit: "GB",
    unit_bytes: 1_000_000_000,
    decimals: 0,
    note: "2 bytes per weight, 2 per gradient, 8 for Adam, and nothing else",
};

impl Accounting {
    pub const NAMES: &'static [(&'static str, Accounting)] =
        &[(REAL.name, REAL), (TEXTBOOK.name, TEXTBOOK)];
}

#[derive(Clone, Copy, PartialEq)]
pub enum FitFormat {
    Text,
    Json,
    Svg,
}

impl FitFormat {
    pub const NAMES: &'static [(&'static str, FitFormat)] = &[
        ("text", FitFormat::Text),
        ("json", FitFormat::Json),
        ("svg", FitFormat::Svg),
    ];
}

/// The words for adapters on all linear layers.
pub const ALL_LINEAR: &[&str] = &["all-linear", "all", "default"];
