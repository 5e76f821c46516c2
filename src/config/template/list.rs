//! `zlaunch templates`: each name with what it is in one sentence, and where it comes from unless it is built in.

use super::resolve::resolve;
use super::search::{Origin, Search};
use crate::base::layout::{Line, TextTable};
use crate::base::source::{Source, Sourced};
use crate::host::{Host, terminal};

/// All of them, hidden ones included.
pub(crate) fn list(search: &Search, host: &Host) -> String {
    let width = terminal::width().map_or(110, |width| width.min(110));
    let all = search.all();
    let mut table = TextTable::new(0);
    for (at, (name, origin)) in all.iter().enumerate() {
        let spec = match origin {
            Origin::File(path) => path.display().to_string(),
            _ => name.clone(),
        };
        let hidden = all[..at].iter().any(|(earlier, _)| earlier == name);
        let hidden_built_in = hidden && *origin == Origin::BuiltIn;
        let about = if hidden_built_in {
            String::new()
        } else {
            match resolve(&Sourced::new(spec, Source::Argument("templates".to_string())), search, host) {
                Ok(template) => template.about.unwrap_or_default(),
                Err(problems) => {
                    let all: Vec<_> = problems.into_iter().map(|problem| problem.what).collect();
                    format!("cannot be used: {}", all.join("; "))
                }
            }
        };
        let hidden = if hidden { " (hidden by one above)" } else { "" };
        let first = about.split(". ").next().unwrap_or_default().to_string();
        if *origin == Origin::BuiltIn && hidden.is_empty() {
            table.lines.push(Line::Wrapped(vec![name.clone(), first], width));
            continue;
        }
        table.lines.push(Line::Row(vec![name.clone(), format!("{origin}{hidden}")]));
        if !first.is_empty() {
            table.lines.push(Line::Wrapped(vec![String::new(), first], width));
        }
    }
    table.to_string()
}
