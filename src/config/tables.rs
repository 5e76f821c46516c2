//! What is known of configs and templates, as constants.

mod aliases;
mod auto_rules;
mod other_configs;
mod ranges;
mod tuning;
mod value_types;

pub use aliases::ALIASES;
pub(super) use auto_rules::Formula;
pub use auto_rules::{AutoRule, RULES};
pub use other_configs::{OTHER_CONFIGS, OtherConfig};
pub use ranges::NumberRange;
pub(super) use ranges::RANGES;
pub(super) use tuning::{DECISIVE_WORDS, HARMLESS, TUNING, TUNING_STARTS};
pub(super) use value_types::{DEFINITIONS, FORM_SCHEMAS, Form, NUMBER_CHOICES, TYPES};
pub use value_types::{UnknownKeys, ValueType};
