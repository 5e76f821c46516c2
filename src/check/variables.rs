//! Variables whose values stop torch, accelerate or DeepSpeed.

use std::path::Path;

use super::findings::{Check, Findings};
use super::subject::Subject;
use crate::base::vars;
use crate::command::python::Presence;
use crate::host::can_be_written;
use crate::report::{Rule, Severity, When, reading};

pub(super) const RULES: &[Check] = &[
    Check::code(Rule::ThreadCount, Severity::Warning, When::Start, thread_count).doc(
        "an OMP_NUM_THREADS that is no number: OpenMP ignores it, and accelerate ends on it where it trains on \
             the CPU",
    ),
    Check::code(Rule::TorchLogs, Severity::Error, When::Start, torch_logs)
        .doc("a TORCH_LOGS with a name that the installed torch does not log by: torch stops on it"),
    Check::code(Rule::ExtensionsFolder, Severity::Warning, When::Start, extensions_folder)
        .doc("a TORCH_EXTENSIONS_DIR that cannot be made or written: the first operation that is compiled ends there"),
];

fn thread_count(subject: &Subject, found: &mut Findings) {
    const NAME: &str = "OMP_NUM_THREADS";
    let Some(value) = subject.variable(NAME).and_then(|value| value.to_str()) else { return };
    // OpenMP takes a number for each level.
    if !value.is_empty() && !value.split(',').all(|count| count.trim().parse::<u32>().is_ok()) {
        let what = format!("`{value}` is no number of threads");
        found.at(&[format!("{NAME}={value}")], what, format!("--env {NAME}=8, or --unset-env {NAME}"));
    }
}

fn torch_logs(subject: &Subject, found: &mut Findings) {
    const NAME: &str = vars::TORCH_LOGS;
    let Some(value) = subject.variable(NAME).and_then(|value| value.to_str()) else { return };
    let Some(python) = &subject.job.python else { return };
    let Some(file) = python.file("torch/_logging/_registrations.py") else { return };
    let text = reading::read_text(&file).unwrap_or_default();
    let is_name = |name: &str| name == "help" || name == "all" || text.contains(&format!("\"{name}\""));
    let wrong = value.split(',').map(|item| item.trim().trim_start_matches(['+', '-'])).find(|name| {
        // Modules are names, too.
        !name.is_empty()
            && text.contains("register_log")
            && !is_name(name)
            && !name.contains(['.', ':'])
            && python.seek(name, subject.host) == Presence::Missing
    });
    if let Some(wrong) = wrong {
        let what = format!("torch has no log `{wrong}`, and stops on it");
        found.at(&[format!("{NAME}={value}")], what, format!("TORCH_LOGS=help lists all, or --unset-env {NAME}"));
    }
}

fn extensions_folder(subject: &Subject, found: &mut Findings) {
    let Some(folder) = subject.host.path(vars::TORCH_EXTENSIONS_DIR).filter(|_| subject.runs_here()) else { return };
    let kernel = ["/proc", "/sys"].iter().any(|root| folder.starts_with(Path::new(root)));
    if kernel || !can_be_written(&folder) {
        let (name, shown) = (vars::TORCH_EXTENSIONS_DIR, folder.display());
        let what = format!("`{shown}` cannot be made or written, and DeepSpeed's operations are compiled there");
        found.at(
            &[format!("{name}={shown}")],
            what,
            format!("--env {name}=/tmp/torch_extensions, or --unset-env {name}"),
        );
    }
}
