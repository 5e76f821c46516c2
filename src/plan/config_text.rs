//! What the plan says about its config: what differs from the template, what each "auto" became and why.

use serde_json::Value;

use super::file::PlannedConfig;
use crate::base::json;
use crate::base::layout::TextTable;
use crate::config::auto::Fill;
use crate::report::secrets::Secrets;

impl PlannedConfig {
    /// The keys whose values are not the template's. An "auto" that was filled is not a change.
    pub(super) fn changed(&self) -> Vec<String> {
        let mut changed = json::differing(&self.template.config, &self.value);
        changed.retain(|key| !self.fills.iter().any(|fill| fill.key == *key));
        changed
    }

    fn change_rows(&self) -> Vec<(String, String)> {
        let values = |key: &str| [&self.template.config, &self.value].map(|config| json::get(config, key));
        self.changed().iter().map(|key| change_row(key, values(key))).collect()
    }
}

/// The sections of the plan about the config. `width`: the columns of a terminal.
pub(super) fn config_text(config: &PlannedConfig, secrets: &Secrets, width: Option<usize>) -> String {
    let mut text = String::new();
    let mut section = |title: &str, rows: Vec<(String, String)>| {
        if !rows.is_empty() {
            let rows = rows.iter().map(|(key, text)| (secrets.hide_in_text(key), secrets.hide_in_text(text)));
            text += &format!("\n{title}\n{}", TextTable::of_pairs(2, rows).fitted(width));
        }
    };
    section(&format!("differs from {}", config.template.name), config.change_rows());
    let fill = |fill: &Fill| (format!("{} = {}", fill.key, fill.value), fill.from.clone());
    section("filled", config.fills.iter().map(fill).collect());
    let mut rows: Vec<(String, String)> = Vec::new();
    for (at, left) in config.left.iter().enumerate() {
        let again = at > 0 && config.left[at - 1].why == left.why;
        rows.push((left.key.clone(), if again { "likewise".to_string() } else { left.why.clone() }));
    }
    section("left \"auto\" for the trainer", rows);
    text
}

/// The mark that `zlaunch diff` would give it.
fn change_row(key: &str, values: [Option<&Value>; 2]) -> (String, String) {
    match values {
        [Some(template), Some(value)] => (format!("~ {key} = {value}"), format!("{template} in the template")),
        [Some(template), None] => (format!("- {key}"), format!("{template} in the template")),
        [None, value] => {
            let value = value.map(ToString::to_string).unwrap_or_default();
            (format!("+ {key} = {value}"), "not in the template".to_string())
        }
    }
}
