//! Numbers and switches that a run file has as texts, for trainers that convert nothing of what they read there.

use super::findings::{Check, Findings};
use super::subject::Subject;
use crate::command::argument_class::TRAINING_ARGUMENTS;
use crate::command::argv::hf_bool;
use crate::command::front_end::ArgumentParser;
use crate::command::parser::{ArgType, Parser};
use crate::report::fix::{drop_word, give};
use crate::report::{Place, Rule, Severity, When};

pub(super) const RULES: &[Check] = &[Check::code(Rule::TextForNumber, Severity::Error, When::Start, text_for_number)
    .doc(
        "a run file has a text where the trainer counts and converts nothing, such as `1e-5` in YAML 1.1 (a warning \
         where not every training uses it)",
    )];

/// What every training counts with: each was seen to end it.
const ALWAYS_USED: &str = "learning_rate weight_decay max_grad_norm num_train_epochs max_steps warmup_steps \
                           gradient_accumulation_steps per_device_train_batch_size seed";

fn text_for_number(subject: &Subject, found: &mut Findings) {
    let job = subject.job;
    if job.texts.is_empty() {
        return;
    }
    let class = match job.trainer.arguments.parser {
        ArgumentParser::Recorded { class, .. } => class(&job.target, subject.host),
        _ => Some(TRAINING_ARGUMENTS),
    };
    let Some(class) = class else { return };
    let parser = Parser::new(&[class]);
    for (name, text) in &job.texts {
        let place = || job.place_in_run_file(name, subject.host).unwrap_or_else(|| Place::option(name, text));
        if parser.takes(name, ArgType::is_number) {
            // A script may read its file in another way.
            let certain = ALWAYS_USED.split(' ').any(|used| used == name) && job.version().is_some();
            let severity = if certain { Severity::Error } else { Severity::Warning };
            let what =
                format!("`{name}` is the text `{text}` to the trainer, which wants a number and converts nothing");
            found.at_with_severity(severity, [place()], what, give(name, number_meant(text)));
        } else if parser.takes(name, ArgType::is_mapping) && parser.has(name, &parser.versions(job.python.as_ref())) {
            let what = format!("`{name}` is the text `{text}` to the trainer, which wants a mapping");
            found.at_with_severity(Severity::Warning, [place()], what, drop_word(name));
        } else if hf_bool(text).is_none() && parser.takes(name, ArgType::is_bool) {
            let what = format!("`{name}` is the text `{text}` to the trainer, which wants true or false");
            found.at_with_severity(Severity::Warning, [place()], what, give(name, true));
        }
    }
}

/// YAML 1.1 wants a dot and a sign in a number with an exponent.
fn number_meant(text: &str) -> String {
    if text.parse::<f64>().is_err() {
        return "NUMBER".to_string();
    }
    match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => {
            let dot = if digits.contains('.') { "" } else { ".0" };
            let sign = if exponent.starts_with(['+', '-']) { "" } else { "+" };
            format!("{digits}{dot}e{sign}{exponent}")
        }
        None => text.to_string(),
    }
}
