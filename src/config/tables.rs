//! What is known of configs and templates, as constants.

mod aliases;
mod auto_rules;
mod tuning;
mod value_types;

pub use aliases::ALIASES;
pub use auto_rules::{AutoRule, RULES};
pub(super) use auto_rules::{Constant, Formula};
pub(super) use tuning::{DECISIVE_WORDS, HARMLESS, TUNING, TUNING_STARTS};
pub(super) use value_types::{DEFINITIONS, Definition, FORM_SCHEMAS, Form, TYPES};
pub use value_types::{UnknownKeys, ValueType};
