//! Where a config of a model says its hidden size.

/// Sections that hold the language model: transformers looks into the first, ms-swift into all of them.
pub const TEXT_SECTIONS: &[&str] = &["text_config", "llm_config", "language_config"];

/// The names of the size in transformers' classes, by model type, each with a mark.
pub const NAMES: &str = include_str!("../../recorded/hidden_size_names.txt");

/// The key is read as `hidden_size` (`attribute_map`).
pub const MAPPED: char = '=';
/// The key wins over `hidden_size`.
pub const PREFERRED: char = '!';
/// Keys at the top are moved to this section.
pub const MOVED: char = '>';
/// The section is not looked at.
pub const UNREAD: char = '-';
