//! What a command names and what is not there: its script, its module, the models and datasets of its arguments. Only
//! where the ranks run on this machine.

use std::path::Path;

use super::findings::{Check, Findings};
use super::subject::Subject;
use crate::command::inputs::{self, MissingInput, is_missing};
use crate::command::python::Presence;
use crate::command::target::Target;
use crate::ranks::topology::Topology;
use crate::report::{Rule, Severity, When, nearest};

pub(super) const RULES: &[Check] = &[
    Check::code(Rule::ScriptMissing, Severity::Error, When::Start, script_missing).doc(
        "the script of the command does not exist (a warning where the ranks exist already), or is a folder \
             without `__main__.py`",
    ),
    Check::code(Rule::ModuleMissing, Severity::Error, When::Start, module_missing).doc(
        "the interpreter of the command has no such module (a warning where something may add it that zlaunch \
             cannot see)",
    ),
    Check::code(Rule::PathMissing, Severity::Error, When::Start, path_missing)
        .doc("a model, dataset or checkpoint that is written as a path (`/…`, `./…`, `../…`, `~/…`) is not there"),
];

fn script_missing(subject: &Subject, found: &mut Findings) {
    let Target::Script { path, .. } = &subject.job.target else { return };
    if subject.job.rewritten || !subject.runs_here() {
        return;
    }
    let (word, path) = (path.to_string_lossy(), subject.host.cwd.join(path));
    if is_missing(&path) {
        // Where the ranks exist already, Python itself says so at once.
        let is_rank = subject.topology.is_some_and(Topology::ranks_exist);
        let severity = if is_rank { Severity::Warning } else { Severity::Error };
        let place = path.display().to_string();
        found.at_with_severity(severity, &[place], format!("`{word}` does not exist"), advice(&path));
    } else if path.is_dir() && !["py", "pyc"].iter().any(|it| path.join("__main__").with_extension(it).is_file()) {
        let what = format!("`{word}` is a folder without `__main__.py`, which Python cannot run");
        found.at(&[path.display().to_string()], what, format!("name a script in it: {word}/train.py"));
    }
}

fn module_missing(subject: &Subject, found: &mut Findings) {
    let (Target::Module { name, .. }, Some(python)) = (&subject.job.target, &subject.job.python) else { return };
    let Some(name) = name.to_str().filter(|_| !subject.job.rewritten && subject.runs_here()) else { return };
    if python.seek(name, subject.host) != Presence::Missing {
        return;
    }
    let what = format!("{} has no module `{name}`", python.program.display());
    let help = match name.strip_suffix(".py") {
        Some(module) => format!("-m {module}, without .py"),
        None => "check the name; `-m` looks in the current folder, PYTHONPATH and the installed packages".to_string(),
    };
    found.at(&[format!("-m {name}")], what, help);
}

fn path_missing(subject: &Subject, found: &mut Findings) {
    if !subject.runs_here() {
        return;
    }
    for missing in inputs::missing(subject.job.trainer.arguments.inputs, &subject.job.args, subject.host) {
        let MissingInput { option, value, path, certain, expanded } = missing;
        let given = format!("{option} {value}");
        let place = subject.job.place_in_run_file(&value, subject.host).unwrap_or_else(|| given.clone());
        let (what, help) = match expanded {
            Some(expanded) => {
                (format!("nobody expands the `~` of `{value}`"), format!("{option} {}", expanded.display()))
            }
            None => (format!("`{value}` does not exist"), advice(&path)),
        };
        let what = if certain { what } else { format!("{what}: the training ends there if the script reads it") };
        let severity = if certain { Severity::Error } else { Severity::Warning };
        found.at_with_severity(severity, &[place], what, help);
    }
}

/// A name beside it that is close, or as far as the path is there.
fn advice(path: &Path) -> String {
    let there = path.ancestors().skip(1).find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    let wanted = path.strip_prefix(there).ok().and_then(|rest| rest.iter().next()?.to_str()).unwrap_or_default();
    // Nobody waits for the listing of a folder with millions of files.
    let entries = std::fs::read_dir(there).into_iter().flatten().flatten().take(10_000);
    let names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    match nearest(wanted, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{}`?", there.join(near).display()),
        None => format!("check the path: there is no `{wanted}` in {}", there.display()),
    }
}
