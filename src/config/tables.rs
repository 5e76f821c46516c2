//! What is known of configs and templates, as constants.

mod aliases;
mod auto_rules;
mod other_configs;
mod ranges;
pub mod schema_keys;
mod tuning;
mod value_types;

pub use aliases::ALIASES;
pub use auto_rules::Formula;
pub use auto_rules::{AutoRule, PRECISION_ARGUMENTS, RULES};
pub use other_configs::{OTHER_CONFIGS, OtherConfig};
pub use ranges::NumberRange;
pub use ranges::RANGES;
pub use tuning::{DECISIVE_WORDS, HARMLESS, TUNING, TUNING_STARTS};
pub use value_types::{DEFINITIONS, FORM_SCHEMAS, Form, NUMBER_CHOICES, TYPES};
pub use value_types::{UnknownKeys, ValueType};
