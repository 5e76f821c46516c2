//! Every sentence of failure. A problem has three parts: what, where, and a help that can be pasted. One function a
//! sentence; the functions decide nothing but the words.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::said::{Said, Source};
use crate::schema;
use crate::secrets::Secrets;

/// zlaunch refused.
pub(crate) const REFUSED: u8 = 125;
/// The rules that only warn and are not about a config: `--allow` silences them.
pub(crate) fn warnings() -> impl Iterator<Item = &'static str> {
    ABOUT_THE_LAUNCH.iter().chain(ABOUT_THE_MACHINE).copied()
}

const ABOUT_THE_LAUNCH: &[&str] = &[
    "old-spelling",
    "two-configs",
    "unknown-variable",
    "ranks-without-effect",
    "output-without-effect",
    "machines-differ",
    "stray-variable",
    "contradicts-scheduler",
];

/// What `machine` finds.
pub(crate) const ABOUT_THE_MACHINE: &[&str] = &[
    "package-missing",
    "stale-lock",
    "nvme-folder",
    "cache-on-nfs",
    "no-compiler",
    "small-memlock",
    "small-shm",
    "few-files",
    "ranks-share-gpus",
    "not-enough-host-memory",
];

/// Found, but it cannot be executed.
pub(crate) const NOT_EXECUTABLE: u8 = 126;
/// Not found.
pub(crate) const NOT_FOUND: u8 = 127;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    Error,
    Warning,
    /// Worth knowing; said only where everything is.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Short words that name the kind of problem: `--allow` takes them.
    pub(crate) rule: &'static str,
    pub(crate) severity: Severity,
    pub(crate) what: String,
    pub(crate) places: Vec<String>,
    pub(crate) help: String,
    pub(crate) status: u8,
    /// When the trainer would come upon it, in one word, where that is known.
    pub(crate) when: Option<&'static str>,
    /// `--allow` silences it.
    pub(crate) allowable: bool,
}

impl Problem {
    /// What a rule of `check` found.
    pub(crate) fn found(rule: &'static str, severity: Severity, when: &'static str, what: String) -> Self {
        Problem { severity, when: Some(when), allowable: true, ..Self::error(rule, what) }
    }

    fn error(rule: &'static str, what: String) -> Self {
        Problem {
            rule,
            severity: Severity::Error,
            what,
            places: Vec::new(),
            help: String::new(),
            status: REFUSED,
            when: None,
            allowable: false,
        }
    }

    fn warning(rule: &'static str, what: String) -> Self {
        debug_assert!(warnings().any(|it| it == rule), "{rule}");
        Problem { severity: Severity::Warning, allowable: true, ..Self::error(rule, what) }
    }

    /// `--strict`.
    pub(crate) fn make_error(&mut self) {
        self.severity = Severity::Error;
    }

    pub(crate) fn into_warning(self) -> Self {
        let allowable = self.allowable || warnings().any(|it| it == self.rule);
        Problem { severity: Severity::Warning, allowable, ..self }
    }

    pub(crate) fn at(mut self, place: impl fmt::Display) -> Self {
        self.places.push(place.to_string());
        self
    }

    pub(crate) fn help(mut self, help: impl fmt::Display) -> Self {
        self.help = help.to_string();
        self
    }

    fn when(mut self, when: Option<&'static str>) -> Self {
        self.when = when;
        self
    }

    fn status(mut self, status: u8) -> Self {
        self.status = status;
        self
    }
}

/// Prints problems to standard error; colour only adds.
pub(crate) fn report(problems: &[Problem]) {
    if !problems.is_empty() {
        write(problems, &mut anstream::stderr().lock());
    }
}

/// Writes problems where somebody reads them.
pub(crate) fn write(problems: &[Problem], stderr: &mut impl io::Write) {
    let place = Style::new().fg_color(Some(AnsiColor::Blue.into()));
    let bold = Style::new().bold();
    let secrets = Secrets::default();
    for problem in problems {
        let colour = match problem.severity {
            Severity::Error => AnsiColor::Red,
            Severity::Warning => AnsiColor::Yellow,
            Severity::Note => AnsiColor::Cyan,
        };
        let word = bold.fg_color(Some(colour.into()));
        // The name of what `--allow` silences.
        let name = if problem.allowable { format!("[{}]", problem.rule) } else { String::new() };
        // Nobody to tell if standard error itself is gone.
        let _ = writeln!(stderr, "{word}{}{name}{word:#}: {}", problem.severity, secrets.hide_in_text(&problem.what));
        for it in &problem.places {
            let _ = writeln!(stderr, "  {place}-->{place:#} {}", secrets.hide_in_place(it));
        }
        if !problem.help.is_empty() {
            let _ = writeln!(stderr, "  {bold}help{bold:#}: {}", secrets.hide_in_text(&problem.help));
        }
    }
}

/// `2 errors, 1 warning, 0 notes`.
pub(crate) fn counted(errors: usize, warnings: usize, notes: usize) -> String {
    let word = |count: usize, name: &str| format!("{count} {name}{}", if count == 1 { "" } else { "s" });
    format!("{}, {}, {}", word(errors, "error"), word(warnings, "warning"), word(notes, "note"))
}

/// The known word that was probably meant: at most three slips, and no more than half of the word.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let length = lower.chars().count();
    let most = 3.min(length / 2);
    let distance = |candidate: &str| {
        let candidate = candidate.to_lowercase();
        // Each slip makes it longer or shorter by one at most, and comparing takes the time of both lengths multiplied.
        let near = candidate.chars().count().abs_diff(length) <= most;
        near.then(|| strsim::damerau_levenshtein(&lower, &candidate))
    };
    let best =
        known.into_iter().filter_map(|candidate| Some((distance(candidate)?, candidate))).min_by_key(|(far, _)| *far);
    best.filter(|(far, _)| *far <= most).map(|(_, candidate)| candidate)
}

pub(crate) fn did_you_mean(nearest: Option<&str>, otherwise: &str) -> String {
    nearest.map_or_else(|| otherwise.to_string(), |word| format!("did you mean `{word}`? {otherwise}"))
}

/// A JSON value with its Python type, since `"8"` and `8` print alike.
pub(crate) fn typed(value: &Value) -> String {
    let kind = match value {
        Value::Null => "None",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "int",
        Value::String(_) => "str",
        Value::Array(_) => "list",
        Value::Object(_) => "dict",
    };
    format!("{value} ({kind})")
}

// The command line

pub(crate) fn nothing_to_launch() -> Problem {
    Problem::error("usage", "there is no command to launch".to_string())
        .at("zlaunch [OPTIONS] [--] COMMAND [ARGS]...")
        .help("zlaunch --deepspeed zero2 -- swift sft --model Qwen/Qwen3-8B; `zlaunch --help` has the options")
}

pub(crate) fn unknown_option(given: &str, nearest: Option<&str>) -> Problem {
    let all = "`zlaunch --help` lists the options; the trainer's own come after its name";
    Problem::error("usage", format!("zlaunch has no option `{given}`")).at(given).help(did_you_mean(nearest, all))
}

pub(crate) fn option_needs_value(given: &str) -> Problem {
    let name = given.split(' ').next().unwrap_or(given);
    Problem::error("usage", format!("`{name}` needs a value")).at(given).help(format!("{given}: `zlaunch --help`"))
}

pub(crate) fn takes_no_value(name: &str, value: &str) -> Problem {
    let help = if name == "--dry-run" { format!("--dry-run --format {value}") } else { name.to_string() };
    Problem::error("usage", format!("`{name}` takes no value")).at(format!("{name}={value}")).help(help)
}

pub(crate) fn usage(what: &str) -> Problem {
    Problem::error("usage", what.to_string()).at("the command line").help("`zlaunch --help` lists the options")
}

pub(crate) fn not_text(from: &str, value: &OsStr) -> Problem {
    Problem::error("usage", format!("the value of `{from}` is not UTF-8 text"))
        .at(format!("{from} {}", value.to_string_lossy()))
        .help("use plain text here; arguments after the command may be any bytes")
}

pub(crate) fn not_a_switch(said: &Said<String>) -> Problem {
    Problem::error("usage", format!("`{}` is neither on nor off", said.value))
        .at(said.place())
        .help(said.from.with("1"))
}

pub(crate) fn not_one_of(said: &Said<String>, known: &[&str]) -> Problem {
    let all = format!("one of {}", known.join(", "));
    Problem::error("usage", format!("`{}` does not know `{}`", said.from, said.value))
        .at(said.place())
        .help(did_you_mean(nearest(&said.value, known.iter().copied()), &all))
}

pub(crate) fn not_a_number(said: &Said<String>, least: u64, most: u64, example: &str) -> Problem {
    Problem::error("usage", format!("`{}` is not a whole number from {least} to {most}", said.value))
        .at(said.place())
        .help(said.from.with(example))
}

pub(crate) fn not_a_key(said: &Said<String>) -> Problem {
    Problem::error("usage", format!("`{}` is not a dotted key", said.value))
        .at(said.place())
        .help(said.from.with("zero_optimization.overlap_comm"))
}

pub(crate) fn not_an_assignment(said: &Said<String>, shape: &str, example: &str) -> Problem {
    Problem::error("usage", format!("`{}` is not {shape}", said.value)).at(said.place()).help(said.from.with(example))
}

pub(crate) fn not_a_variable_name(said: &Said<String>) -> Problem {
    Problem::error("usage", format!("`{}` cannot be the name of a variable", said.value))
        .at(said.place())
        .help(said.from.with("NCCL_DEBUG"))
}

pub(crate) fn format_without_dry_run() -> Problem {
    Problem::error("usage", "`--format` is the format of a plan that is printed".to_string())
        .at("--format")
        .help("add --dry-run")
}

pub(crate) fn unknown_variable(name: &str, nearest: Option<&str>) -> Problem {
    let all = "`zlaunch --help` lists the options, each has a variable";
    Problem::warning("unknown-variable", format!("zlaunch does not read `{name}`"))
        .at(format!("variable {name}"))
        .help(did_you_mean(nearest, all))
}

pub(crate) fn unknown_subject(words: &str, nearest: Option<&str>) -> Problem {
    Problem::error("usage", format!("nothing is known of `{words}`"))
        .at(format!("explain {words}"))
        .help(did_you_mean(nearest, "`zlaunch explain` lists what can be asked for"))
}

// Files

pub(crate) fn anybody_could_write(name: &str, path: &Path, open: &Path) -> Problem {
    Problem::error(
        "template",
        format!("anybody could have written the template `{name}`: `{}` is open to all", open.display()),
    )
    .at(path.display())
    .help(format!("`chmod o-w {}`, or name the file: --deepspeed {}", open.display(), path.display()))
}

pub(crate) fn unreadable_file(path: &Path, why: &io::Error) -> Problem {
    let what = match why.kind() {
        io::ErrorKind::NotFound => "does not exist".to_string(),
        io::ErrorKind::PermissionDenied => "may not be read by you".to_string(),
        _ => format!("cannot be read: {why}"),
    };
    Problem::error("file", format!("`{}` {what}", path.display()))
        .at(path.display())
        .help("check the path and its permissions")
}

pub(crate) fn not_a_file(path: &Path) -> Problem {
    Problem::error("file", format!("`{}` is not a regular file", path.display()))
        .at(path.display())
        .help("name a file, not a folder, pipe or device")
}

pub(crate) fn file_too_large(path: &Path, size: u64, most: u64) -> Problem {
    Problem::error("file", format!("`{}` has {size} bytes: too large for a config", path.display()))
        .at(path.display())
        .help(format!("a JSON config has at most {most} bytes; is this the right file?"))
}

pub(crate) fn not_json(name: &str, line: usize, column: usize, what: &str) -> Problem {
    Problem::error("json", format!("not JSON: {what}"))
        .at(format!("{name}:{line}:{column}"))
        .help("strict JSON is wanted; comments and trailing commas are accepted too")
}

// Templates

pub(crate) fn not_text_file(name: &str, line: usize, column: usize) -> Problem {
    Problem::error("file", "this byte is not UTF-8 text".to_string())
        .at(format!("{name}:{line}:{column}"))
        .help("is it the right file? save it as UTF-8")
}

pub(crate) fn bad_run_file(kind: &str, name: &str, line: usize, column: usize, what: &str) -> Problem {
    Problem::error("run-file", format!("not {kind}: {what}"))
        .at(format!("{name}:{line}:{column}"))
        .help("the trainer would refuse it too; check that place")
}

pub(crate) fn env_block_is_no_mapping(file: &str) -> Problem {
    Problem::error("run-file", "`ENV` holds `NAME: value` lines".to_string())
        .at(format!("{file}, ENV"))
        .help("ENV: {NPROC_PER_NODE: 8}")
}

pub(crate) fn run_file_is_no_mapping(path: &Path) -> Problem {
    Problem::error("run-file", "a run file holds `key: value` lines".to_string())
        .at(path.display())
        .help("model: Qwen/Qwen3-8B")
}

pub(crate) fn no_such_folder(path: &Path) -> Problem {
    Problem::error("config-out", "the folder of the resolved config does not exist".to_string())
        .at(format!("--config-out {}", path.display()))
        .help(format!("mkdir -p {}", path.parent().unwrap_or(path).display()))
}

pub(crate) fn unknown_template(spec: &Said<String>, nearest: Option<&str>) -> Problem {
    Problem::error("template", format!("no DeepSpeed template is named `{}`", spec.value))
        .at(spec.place())
        .help(did_you_mean(nearest, "`zlaunch templates` lists all of them"))
}

pub(crate) fn missing_config(spec: &Said<String>, template: Option<&str>) -> Problem {
    let help = match template {
        Some(name) => format!("check the path, or take the template of that name: --deepspeed {name}"),
        None => "check the path (it is relative to the current folder); `zlaunch templates` lists what needs no file"
            .to_string(),
    };
    Problem::error("template", format!("the config `{}` does not exist", spec.value)).at(spec.place()).help(help)
}

pub(crate) fn old_spelling(spec: &Said<String>, new: &str) -> Problem {
    Problem::warning("old-spelling", format!("`{}` is an old spelling of `{new}`", spec.value))
        .at(spec.place())
        .help(format!("--deepspeed {new}"))
}

pub(crate) fn unknown_parent(
    origin: &impl fmt::Display,
    spec: &Said<String>,
    parent: &str,
    nearest: Option<&str>,
) -> Problem {
    Problem::error("template", format!("the template extends `{parent}`, which does not exist"))
        .at(format!("{origin}, $zlaunch.extends"))
        .at(spec.place())
        .help(did_you_mean(nearest, "`zlaunch templates` lists all of them"))
}

pub(crate) fn template_cycle(origin: &impl fmt::Display, chain: &[&str]) -> Problem {
    Problem::error("template", format!("templates extend each other in a circle: {}", chain.join(" → ")))
        .at(format!("{origin}, $zlaunch.extends"))
        .help("one of them must extend another template, or none")
}

pub(crate) fn not_an_object(origin: &impl fmt::Display) -> Problem {
    Problem::error("template", "a DeepSpeed config is a JSON object".to_string()).at(origin).help("it starts with `{`")
}

pub(crate) fn bad_header(origin: &impl fmt::Display, key: &str, wanted: &str) -> Problem {
    Problem::error("template", format!("`{key}` must be {wanted}"))
        .at(format!("{origin}, {key}"))
        .help(r#""$zlaunch": {"about": "…", "extends": "zero3", "env": {"NCCL_DEBUG": "WARN"}}"#)
}

pub(crate) fn unknown_header(origin: &impl fmt::Display, key: &str, known: &[&str]) -> Problem {
    let all = format!("known are {}", known.join(", "));
    Problem::error("template", format!("`$zlaunch` has no entry `{key}`"))
        .at(format!("{origin}, $zlaunch.{key}"))
        .help(did_you_mean(nearest(key, known.iter().copied()), &all))
}

pub(crate) fn forbidden_variable(origin: &impl fmt::Display, name: &str, value: &str) -> Problem {
    Problem::error("template", format!("a template may not set `{name}`: it changes what is executed"))
        .at(format!("{origin}, $zlaunch.env.{name}"))
        .help(format!("remove it there; for one launch: --env {name}={value}"))
}

pub(crate) fn template_needs(template: &str, key: &str, why: &str, example: &str) -> Problem {
    Problem::error("template", format!("the template `{template}` needs `{key}`: {why}"))
        .at(format!("template {template}"))
        .help(format!("--set {key}={example}"))
}

// Layers

pub(crate) fn not_a_patch(place: &str, why: &str) -> Problem {
    Problem::error("patch", format!("not a patch: {why}"))
        .at(place)
        .help(r#"a list such as [{"op": "replace", "path": "/steps_per_print", "value": 10}], or an object to merge"#)
}

pub(crate) fn patch_failed(place: &str, operation: usize, path: &str, what: &str) -> Problem {
    Problem::error("patch", format!("operation {} of the patch fails at `{path}`: {what}", operation + 1))
        .at(place)
        .help("`zlaunch templates NAME` shows what it is applied to; paths start with `/`")
}

pub(crate) fn header_in_config() -> Problem {
    Problem::error("set", "`$zlaunch` is not a part of the config: only a template file has it".to_string())
        .at("--set, --patch")
        .help("variables are set with --env, other templates taken with --deepspeed")
}

pub(crate) fn no_longer_an_object() -> Problem {
    Problem::error("patch", "the patched config is no JSON object any more".to_string())
        .at("--patch")
        .help("an operation with the path \"\" replaces the whole config: give it a path")
}

pub(crate) fn nothing_to_unset(said: &Said<String>, nearest: Option<&str>) -> Problem {
    Problem::error("unset", format!("the config has no key `{}` to remove", said.value))
        .at(said.place())
        .help(did_you_mean(nearest, "`zlaunch templates NAME` shows the keys"))
}

pub(crate) fn set_below_a_value(key: &str, blocked: &str, from: &Source) -> Problem {
    Problem::error("set", format!("`{key}` cannot be set: `{blocked}` is a value, not a section"))
        .at(format!("{from} {key}=…"))
        .help(format!("--set {blocked}=VALUE, or another key"))
}

pub(crate) fn layers_without_config(places: Vec<String>) -> Problem {
    let problem = Problem::error("no-config", "there is no DeepSpeed config to change".to_string());
    places.into_iter().fold(problem.help("add --deepspeed zero2"), Problem::at)
}

// Trainers

pub(crate) fn not_on_path(name: &str, meant: Option<&str>, path: &OsStr) -> Problem {
    let package = match name {
        "swift" => "; pip install ms-swift brings it",
        "torchrun" => "; pip install torch brings it",
        "deepspeed" => "; pip install deepspeed brings it",
        _ => "",
    };
    Problem::error("not-found", format!("`{name}` is not on PATH"))
        .at(format!("PATH={}", path.to_string_lossy()))
        .help(did_you_mean(meant, &format!("activate the environment that has `{name}`{package}")))
        .status(NOT_FOUND)
}

pub(crate) fn no_such_program(path: &str, exists: bool) -> Problem {
    if exists {
        return Problem::error("not-found", format!("`{path}` is not a file that can be executed"))
            .at(path)
            .help(format!("is it the right path? a script needs chmod +x {path}"))
            .status(NOT_EXECUTABLE);
    }
    Problem::error("not-found", format!("`{path}` does not exist")).at(path).help("check the path").status(NOT_FOUND)
}

pub(crate) fn no_way_to_hand_over(spec: &Said<String>, command: &str) -> Problem {
    let help = if command.starts_with("swift ") {
        "give the config to `swift sft`, `pt` or `rlhf`, with its arguments on the command line"
    } else {
        "put zlaunch in front of the training command itself, or say what it is: --trainer hf, --trainer deepspeed"
    };
    Problem::error("hand-over", format!("zlaunch does not know how `{command}` takes a DeepSpeed config"))
        .at(spec.place())
        .help(help)
}

pub(crate) fn two_configs(flag: &Said<String>, own: &Said<String>) -> Problem {
    Problem::warning("two-configs", format!("`{}` is used, not the command's own `{}`", flag.value, own.value))
        .at(flag.place())
        .at(own.place())
        .help(format!("drop one of them; without {} the command's own is resolved", flag.from))
}

pub(crate) fn trainer_has_no_option(trainer: &str, word: &str, meant: Option<&str>) -> Problem {
    let otherwise = "--ignore_args_error true makes it tolerate unknown options";
    Problem::error("argument", format!("{trainer} has no option `{word}`"))
        .at(word)
        .help(did_you_mean(meant, otherwise))
}

pub(crate) fn argument_needs_value(spelled: &str, wanted: &str, example: &str) -> Problem {
    Problem::error("argument", format!("the trainer refuses `{spelled}` without a value: it wants {wanted}"))
        .at(spelled)
        .help(format!("{spelled} {example}; a value that starts with `-` needs {spelled}=VALUE"))
}

pub(crate) fn argument_of_wrong_type(spelled: &str, value: &str, wanted: &str, example: &str) -> Problem {
    Problem::error("argument", format!("the trainer refuses `{spelled} {value}`: it wants {wanted}"))
        .at(format!("{spelled} {value}"))
        .help(format!("{spelled} {example}"))
}

// "auto"

pub(crate) fn mismatch(key: &str, doc: &str, value: &Value, place: &str, wanted: &Value, from: &str) -> Problem {
    let advice = match (value, wanted) {
        (Value::String(text), Value::Number(number)) if text.trim() == number.to_string() => {
            " (numbers stand without quotes)"
        }
        _ => "",
    };
    let (value, wanted) = (typed(value), typed(wanted));
    Problem::error(
        "mismatch",
        format!("`{key}` is {value} in the config, but the trainer computes {wanted} from {doc}"),
    )
    .at(place)
    .at(from)
    .help(format!("--set {key}=auto, or make both sides equal{advice}"))
}

pub(crate) fn nobody_fills(key: &str, place: &str) -> Problem {
    Problem::error(
        "auto",
        format!("nobody fills `{key}`: \"auto\" is only understood for the keys of the table in the README"),
    )
    .at(place)
    .help(format!("--set {key}=VALUE, or --unset {key}"))
    .when(schema::refuses_auto(key).then_some("parse"))
}

pub(crate) fn left_for_nobody(key: &str, place: &str, why: &str, example: &str) -> Problem {
    Problem::error("auto", format!("`{key}` is \"auto\", and nobody fills it after zlaunch: {why}"))
        .at(place)
        .help(format!("--set {key}={example}"))
        .when(schema::refuses_auto(key).then_some("parse"))
}

// Memory

pub(crate) fn not_a_size(said: &Said<String>, example: &str) -> Problem {
    Problem::error("usage", format!("`{}` is not a size", said.value)).at(said.place()).help(said.from.with(example))
}

pub(crate) fn bad_checkpoint(path: &Path, why: &str) -> Problem {
    Problem::error("checkpoint", format!("not a safetensors checkpoint: {why}"))
        .at(path.display())
        .help("download it again; a file of a few bytes is a Git LFS pointer")
}

pub(crate) fn cannot_count(path: &Path) -> Problem {
    Problem::error("fit", "this config says neither how wide nor how deep the model is".to_string())
        .at(path.display())
        .help("--params 8B")
}

pub(crate) fn model_is_not_here(name: &Said<String>) -> Problem {
    let what = format!("`{}` is neither a folder nor in the Hugging Face or ModelScope cache", name.value);
    Problem::error("fit", what)
        .at(name.place())
        .help("download it first (its config.json is enough), or ask `zlaunch fit --params 8B`")
}

pub(crate) fn nothing_to_fit() -> Problem {
    Problem::error("usage", "there is no model to look at".to_string())
        .at("zlaunch fit")
        .help("zlaunch fit --model Qwen/Qwen3-8B --gpus 8, or zlaunch fit --params 8B --gpus 8, or zlaunch fit -- swift sft …")
}

pub(crate) fn gpus_not_said() -> Problem {
    Problem::error("usage", "the command does not say how many GPUs it runs on".to_string())
        .at("zlaunch fit")
        .help("--gpus 8")
}

pub(crate) fn auto_without_ranks(spec: &Said<String>) -> Problem {
    Problem::error("auto-template", "a template cannot be chosen: the number of GPUs is not known here".to_string())
        .at(spec.place())
        .help("name one: --deepspeed zero3")
}

pub(crate) fn auto_without_model(spec: &Said<String>, argument: &str) -> Problem {
    Problem::error("auto-template", "a template cannot be chosen: the command names no model".to_string())
        .at(spec.place())
        .help(format!("add --{argument} to the command, or name a template: --deepspeed zero3"))
}

pub(crate) fn auto_counts_one_model(spec: &Said<String>) -> Problem {
    let what = "a template cannot be chosen: this training keeps more than one model, and only one is counted";
    Problem::error("auto-template", what.to_string()).at(spec.place()).help("name one: --deepspeed zero3")
}

pub(crate) fn auto_without_memory(spec: &Said<String>, rows: Vec<String>) -> Problem {
    let what = "a template cannot be chosen: how much memory a GPU has is not known here";
    let problem = Problem::error("auto-template", what.to_string()).at(spec.place());
    rows.into_iter().fold(problem, Problem::at).help("--gpu-memory 80GiB")
}

pub(crate) fn auto_fits_nothing(spec: &Said<String>, rows: Vec<String>, would: &[String]) -> Problem {
    let problem = Problem::error("auto-template", "no template makes this training fit".to_string()).at(spec.place());
    let help = match would {
        [] => "a smaller model, or more GPUs".to_string(),
        ways => ways.join("; or "),
    };
    rows.into_iter().fold(problem, Problem::at).help(help)
}

// Generated files

pub(crate) fn would_overwrite(path: &Path) -> Problem {
    Problem::error("generate", format!("`{}` is there already", path.display()))
        .at(format!("-o {}", path.display()))
        .help("--force overwrites it")
}

pub(crate) fn nothing_to_offload() -> Problem {
    Problem::error("generate", "stage 0 shares nothing out, and so nothing can be offloaded".to_string())
        .at("--stage 0 --offload")
        .help("--stage 2 --offload")
}

pub(crate) fn tiers_need_a_folder() -> Problem {
    Problem::error("usage", "`--tiers` writes three files, and needs a folder for them".to_string())
        .at("--tiers")
        .help("--tiers -o configs")
}

pub(crate) fn contradicting_options(one: &str, two: &str, help: &str) -> Problem {
    Problem::error("usage", format!("`{one}` and `{two}` do not go together")).at(format!("{one} {two}")).help(help)
}

// Ranks

pub(crate) fn unknown_gpu_count(from: &str) -> Problem {
    Problem::error("ranks", "the number of GPUs is not known here, and so the number of processes".to_string())
        .at(format!("{from} lists none, CUDA_VISIBLE_DEVICES is not set"))
        .help("--nproc-per-node 8")
}

pub(crate) fn every_gpu_is_hidden(variable: &str) -> Problem {
    Problem::error("ranks", format!("{variable} hides every GPU, and so the number of processes is not known"))
        .at(variable)
        .help("--nproc-per-node 8")
}

pub(crate) fn ranks_exist(asked: &Said<impl fmt::Display>) -> Problem {
    Problem::error(
        "launcher",
        "the ranks exist already (RANK, LOCAL_RANK, WORLD_SIZE): no launcher is started".to_string(),
    )
    .at(asked.place())
    .help(format!("drop {}, or launch again with --unset-env RANK", asked.from))
}

pub(crate) fn say_it_to_us(said: &Said<String>, ours: &str) -> Problem {
    Problem::error("launcher", format!("`{}` would change the ranks behind zlaunch's back", said.from))
        .at(format!("--launcher-arg {}", said.place()))
        .help(format!("--{ours} {}", said.value))
}

pub(crate) fn more_ranks_than_gpus(asked: &Said<impl fmt::Display>, from: &Source, ranks: u32, gpus: usize) -> Problem {
    Problem::error("launcher", format!("the deepspeed launcher starts one process a GPU: {gpus}, not {ranks}"))
        .at(asked.place())
        .at(from)
        .help(if gpus == 0 {
            "--launcher torchrun".to_string()
        } else {
            format!("--nproc-per-node {gpus}, or --launcher torchrun")
        })
}

pub(crate) fn variable_not_a_number(said: &Said<String>, least: &str, most: u64) -> Problem {
    Problem::error("ranks", format!("`{}` is not a whole number from {least} to {most}", said.value))
        .at(said.place())
        .help(format!("set {} to a number, or unset it", said.from))
}

pub(crate) fn no_meeting_place(nnodes: &Said<u32>) -> Problem {
    Problem::error("ranks", format!("{} machines need the address and port of the first one", nnodes.value))
        .at(nnodes.place())
        .help("--master-addr HOST --master-port 29500, the same on every machine")
}

pub(crate) fn meets_on_loopback(address: &Said<String>, nnodes: &Said<u32>) -> Problem {
    Problem::error("loopback", format!("no other machine reaches {}", address.value))
        .at(address.place())
        .at(nnodes.place())
        .help("give the name or address of machine 0 with --master-addr, or unset it under Slurm")
}

pub(crate) fn rank_0_is_elsewhere(first: &Said<String>, hostname: &str) -> Problem {
    Problem::error("ranks", format!("rank 0 runs on {hostname}, but the first machine of the job is {}", first.value))
        .at(first.place())
        .help(format!("export MASTER_ADDR={hostname} for all ranks"))
}

pub(crate) fn not_among_the_hosts(here: &str, name: &str, hosts: &str) -> Problem {
    Problem::error("ranks", format!("this machine is not in {hosts}"))
        .at(format!("{name}={here}"))
        .help("say --nnodes, --node-rank and --master-addr")
}

pub(crate) fn not_a_host_list(list: &Said<String>) -> Problem {
    Problem::error("ranks", "this is no host list of Slurm".to_string())
        .at(list.place())
        .help("say --nnodes, --node-rank, --master-addr and --master-port")
}

pub(crate) fn not_task_counts(tasks: &Said<String>) -> Problem {
    Problem::error("ranks", "this is no list of task counts such as 4(x2)".to_string())
        .at(tasks.place())
        .help("start the step with `srun --ntasks-per-node=1`")
}

pub(crate) fn tasks_spread_unevenly(tasks: &Said<String>) -> Problem {
    Problem::error("uneven-tasks", "Slurm started a different number of tasks on each machine".to_string())
        .at(tasks.place())
        .help("start the step with `srun --ntasks-per-node=1` (torchrun starts the ranks), or --ntasks-per-node=<GPUs>")
}

pub(crate) fn tasks_are_ranks(local: &Said<u32>, asked: &str) -> Problem {
    Problem::error("ranks", format!("{} tasks run on this machine, each of them a rank already", local.value))
        .at(local.place())
        .at(asked.to_string())
        .help("start one task on each machine (`srun --ntasks-per-node=1`), or leave the number to the tasks")
}

pub(crate) fn more_tasks_than_gpus(local: &Said<u32>, gpus: &Said<u32>) -> Problem {
    Problem::error("ranks", format!("{} tasks would share {} GPUs", local.value, gpus.value))
        .at(local.place())
        .at(gpus.place())
        .help(format!("start the step with `srun --ntasks-per-node={}`, or with =1 for torchrun", gpus.value))
}

pub(crate) fn rank_of_unknown_kind(rank: &Said<String>, world: &Said<String>) -> Problem {
    Problem::error("ranks", "without LOCAL_RANK these may count machines or ranks".to_string())
        .at(rank.place())
        .at(world.place())
        .help(format!("machines: --nnodes {} --node-rank {}; else unset RANK WORLD_SIZE", world.value, rank.value))
}

pub(crate) fn other_number_of_machines(said: &Said<u32>, seen: &Said<u32>) -> Problem {
    Problem::error("ranks", format!("{} machines are asked for, but the job has {}", said.value, seen.value))
        .at(said.place())
        .at(seen.place())
        .help("leave the number to the scheduler, or say --node-rank, --master-addr and --master-port on each machine too")
}

pub(crate) fn not_the_schedulers_machines(said: &Said<u32>, seen: &Said<u32>) -> Problem {
    let what = format!("the job has {} machines, and this launch is for {}", seen.value, said.value);
    Problem::warning("contradicts-scheduler", what)
        .at(said.place())
        .at(seen.place())
        .help(format!("leave {} away to use all of them together", said.from))
}

pub(crate) fn mpi_tasks_spread_unevenly(size: &Said<u32>, local: &Said<u32>) -> Problem {
    Problem::error("uneven-tasks", "the machines do not have equally many tasks".to_string())
        .at(size.place())
        .at(local.place())
        .help("start equally many on each: mpirun --map-by ppr:N:node")
}

pub(crate) fn engine_not_understood(engine: &str, variable: &str) -> Problem {
    Problem::error("ranks", format!("{engine} started this, but which machine this is cannot be read"))
        .at(variable)
        .help("say --nnodes, --node-rank, --master-addr and --master-port")
}

pub(crate) fn hostfile_for_ranks_that_exist(file: &Said<std::path::PathBuf>) -> Problem {
    Problem::error("hosts", "the ranks exist already: no hostfile is needed".to_string())
        .at(file.from.with(file.value.display()))
        .help(format!("leave {} away", file.from))
}

pub(crate) fn hostfile_says_how_many(file: Option<&Said<std::path::PathBuf>>, said: Vec<String>) -> Problem {
    let place = file.map(|file| file.from.with(file.value.display())).unwrap_or_default();
    let problem =
        Problem::error("hosts", "the hostfile says how many machines and GPUs there are".to_string()).at(place);
    said.into_iter().fold(problem, Problem::at).help("choose among them with --include and --exclude")
}

pub(crate) fn hosts_of_the_command(said: &str, program: &str) -> Problem {
    Problem::error(
        "hosts",
        format!("the command already starts with `{program}`, which has options of its own for that"),
    )
    .at(said)
    .help(format!("say it to `{program}`, or leave `{program}` away"))
}

pub(crate) fn not_in_a_job_shell(asked: &Said<impl fmt::Display>) -> Problem {
    Problem::error("launcher", "this shell is not on all machines of the job".to_string())
        .at(asked.place())
        .help("leave --launcher away: zlaunch starts itself on each of them; or --nnodes 1 for this machine alone")
}

pub(crate) fn srun_in_step() -> Problem {
    Problem::error("launcher", "an srun inside of a step waits for the step to end".to_string())
        .at("SLURM_STEP_ID")
        .help("leave `srun` away: zlaunch finds its place by itself; or srun --overlap")
}

pub(crate) fn tasks_have_no_launcher(asked: &Said<impl fmt::Display>, tasks: u32) -> Problem {
    Problem::error("launcher", format!("{tasks} tasks run on this machine, each of them a rank already"))
        .at(asked.place())
        .help("start one task on each machine: srun --ntasks-per-node=1, mpirun --map-by ppr:1:node")
}

pub(crate) fn value_cannot_travel(name: &str) -> Problem {
    Problem::error("hosts", "deepspeed's runner carries one line of text for each variable".to_string())
        .at(name)
        .help(format!("--unset-env {name}, or set it on the machines"))
}

pub(crate) fn machines_differ(nproc: &Said<u32>) -> Problem {
    Problem::warning(
        "machines-differ",
        format!(
            "the machines may not all have {} GPUs: what depends on the number of ranks is left to the trainer",
            nproc.value
        ),
    )
    .at(nproc.place())
    .help("--nproc-per-node N if every machine starts N")
}

pub(crate) fn stray_variable(said: &Said<String>, decided: &str) -> Problem {
    let name = said.from.to_string();
    Problem::warning("stray-variable", format!("{name} says otherwise and is not followed"))
        .at(said.place())
        .at(decided.to_string())
        .help(format!("unset {name}"))
}

pub(crate) fn contradicts_scheduler(said: &Said<u32>, seen: &Said<u32>) -> Problem {
    Problem::warning("contradicts-scheduler", format!("this is machine {}, not {}", seen.value, said.value))
        .at(seen.place())
        .at(said.place())
        .help("leave the number of the machine to the scheduler: a `$SLURM_NODEID` in the batch script is 0 everywhere")
}

pub(crate) fn node_rank_too_large(rank: &Said<u32>, nnodes: &Said<u32>) -> Problem {
    Problem::error(
        "ranks",
        format!("machine {} of {} does not exist: they are counted from 0", rank.value, nnodes.value),
    )
    .at(rank.place())
    .at(nnodes.place())
    .help(format!("--node-rank {}", nnodes.value - 1))
}

pub(crate) fn ranks_without_effect(from: &Source, program: &str, starts_ranks: bool) -> Problem {
    let help = if starts_ranks {
        "its own launcher decides in this form: say it to that, or leave the launcher's options out"
    } else {
        "--launcher torchrun starts it several times; --trainer hf or deepspeed says what it is"
    };
    Problem::warning("ranks-without-effect", format!("`{program}` is executed once, as it is: {from} has no effect"))
        .at(from)
        .help(help)
}

pub(crate) fn unknown_action(usage: &str, word: Option<&str>, known: &[&str]) -> Problem {
    let near = word.and_then(|word| nearest(word, known.iter().copied()));
    let help = near.map_or_else(|| usage.to_string(), |near| format!("did you mean `{near}`? {usage}"));
    let what = word.map_or_else(|| "a word is missing".to_string(), |word| format!("`{word}` is not understood here"));
    Problem::error("usage", what).at(usage.split(' ').take(2).collect::<Vec<_>>().join(" ")).help(help)
}

pub(crate) fn no_folder_for_shims(usage: &str) -> Problem {
    Problem::error("usage", "without a home folder a folder must be named".to_string()).at("HOME").help(usage)
}

pub(crate) fn no_output_folder(asked: &Said<std::path::PathBuf>) -> Problem {
    Problem::error("record", "--output_dir is not given, so there is no folder of the trainer's".to_string())
        .at(asked.from.with("auto"))
        .help("--record DIR")
}

pub(crate) fn not_a_record(path: &Path) -> Problem {
    Problem::error("record", "this is no launch record".to_string())
        .at(path.display())
        .help("zlaunch --record DIR -- COMMAND writes one")
}

pub(crate) fn secret_not_recorded(path: &Path, name: Option<&str>) -> Problem {
    Problem::error("record", format!("the value of {} was not recorded", name.unwrap_or("a word")))
        .at(path.display())
        .help("launch with the recorded words and the value itself: they are in `words`")
}

pub(crate) fn cannot_enter(folder: &Path, why: &io::Error) -> Problem {
    Problem::error("record", format!("the folder of the launch cannot be entered: {why}"))
        .at(folder.display())
        .help("run it where that folder is")
}

pub(crate) fn not_a_shim(file: &Path) -> Problem {
    Problem::error("shims", "this file is not a shim of zlaunch and stays".to_string())
        .at(file.display())
        .help("choose another folder: zlaunch shims install DIR")
}

pub(crate) fn srun_not_here(asked: &Said<impl fmt::Display>) -> Problem {
    Problem::error("launcher", "there is no job shell on several machines here that srun could start from".to_string())
        .at(asked.place())
        .help("inside a step zlaunch finds its place by itself: leave --launcher away")
}

pub(crate) fn no_srun() -> Problem {
    Problem::error("launcher", "the job has several machines, and there is no `srun` on PATH to reach them".to_string())
        .help("srun --ntasks-per-node=1 zlaunch …, from where srun is (outside of the container)")
        .status(NOT_FOUND)
}

pub(crate) fn starts_ranks_itself(program: &str) -> Problem {
    Problem::error("launcher", format!("`{program}` starts ranks itself: a launcher in front would start them twice"))
        .at(program)
        .help("drop --launcher and --trainer; without launcher options of its own zlaunch runs what is behind it")
}

pub(crate) fn already_a_launcher(asked: &Said<impl fmt::Display>, program: &str) -> Problem {
    Problem::error("launcher", format!("the command already starts with `{program}`"))
        .at(asked.place())
        .help(format!("drop {}, or take `{program}` and its flags off the command", asked.from))
}

pub(crate) fn contradiction(place: &str, stated: &str) -> Problem {
    Problem::error("launcher", "zlaunch and the command state different numbers".to_string())
        .at(place)
        .at(stated)
        .help("drop one of them")
}

pub(crate) fn direct_is_one_process(asked: &Said<impl fmt::Display>, world: &Said<u64>) -> Problem {
    Problem::error("launcher", format!("`direct` starts one process, not {}", world.value))
        .at(asked.place())
        .at(&world.from)
        .help("--launcher torchrun, or --nproc-per-node 1")
}

pub(crate) fn local_is_one_machine(asked: &Said<impl fmt::Display>, nnodes: &Said<u32>) -> Problem {
    Problem::error(
        "launcher",
        format!("`local` starts the ranks of one machine; {} machines need torchrun", nnodes.value),
    )
    .at(asked.place())
    .at(nnodes.place())
    .help("--launcher torchrun, once on each machine")
}

pub(crate) fn output_without_effect(from: &Source, kind: &impl fmt::Display) -> Problem {
    Problem::warning(
        "output-without-effect",
        format!("{from} has no effect: it is for the ranks of `--launcher local`, not of `{kind}`"),
    )
    .at(from)
    .help("--launcher local; torchrun has --log-dir and --tee of its own: --launcher-arg --tee=3")
}

pub(crate) fn deepspeed_needs_a_hostfile(asked: &Said<impl fmt::Display>) -> Problem {
    Problem::error("launcher", "deepspeed must know how many GPUs every machine has".to_string())
        .at(asked.place())
        .help("--nproc-per-node N if every machine has N, --hostfile FILE, or --launcher torchrun")
}

pub(crate) fn hostfile_is_deepspeeds(asked: &Said<impl fmt::Display>) -> Problem {
    Problem::error("launcher", "only deepspeed's runner reads a hostfile".to_string())
        .at(asked.place())
        .help("--launcher deepspeed, or start zlaunch on every machine without --hostfile")
}

pub(crate) fn include_and_exclude(include: &Said<String>, exclude: &Said<String>) -> Problem {
    Problem::error("hosts", "--include and --exclude do not go together".to_string())
        .at(include.place())
        .at(exclude.place())
        .help("leave one of them away")
}

pub(crate) fn no_such_machine<'a>(filter: &Said<String>, name: &str, known: impl Iterator<Item = &'a str>) -> Problem {
    let known: Vec<&str> = known.collect();
    let help = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("one of {}", known.join(", ")),
    };
    Problem::error("hosts", format!("there is no machine `{name}`")).at(filter.place()).help(help)
}

pub(crate) fn no_such_slot(filter: &Said<String>, machine: &str, slot: &str, have: &[String]) -> Problem {
    let have = if have.is_empty() { "no GPU is visible".to_string() } else { format!("it has {}", have.join(",")) };
    Problem::error("hosts", format!("`{machine}` has no GPU `{slot}`"))
        .at(filter.place())
        .help(format!("{have}; ranges such as 0-3 are written 0,1,2,3"))
}

pub(crate) fn nothing_left(filter: &Said<String>) -> Problem {
    Problem::error("hosts", "no GPU is left".to_string()).at(filter.place()).help("leave some of them in")
}

pub(crate) fn bad_hostfile_line(place: &str, line: &str) -> Problem {
    Problem::error("hosts", format!("`{line}` is not of the form `host slots=N`")).at(place).help("node01 slots=8")
}

pub(crate) fn machine_twice(place: &str, name: &str) -> Problem {
    Problem::error("hosts", format!("`{name}` stands in the hostfile twice"))
        .at(place)
        .help("add its slots in one line")
}

pub(crate) fn empty_hostfile(file: &str) -> Problem {
    Problem::error("hosts", "the hostfile names no machine".to_string()).at(file).help("node01 slots=8")
}

pub(crate) fn config_not_shared(path: &Path, machines: usize) -> Problem {
    Problem::error("hosts", format!("{machines} machines must read the config, and this folder is on one of them only"))
        .at(path.display())
        .help("--config-out with a path on a folder all machines share")
}

pub(crate) fn bad_environment_line(place: &str, line: &str) -> Problem {
    Problem::error("hosts", format!("deepspeed's runner stops at `{line}`: every line must be NAME=VALUE"))
        .at(place)
        .help("remove blank lines and comments")
}

// The machine

/// `64 MiB`, to be compared at a glance.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let step = (0..UNITS.len() - 1).take_while(|step| bytes >> (10 * step) >= 1024).count();
    // One digit behind the point, without a float.
    let tenths = (u128::from(bytes) * 10) >> (10 * step);
    let (whole, tenth) = (tenths / 10, tenths % 10);
    if tenth == 0 || whole >= 100 {
        format!("{whole} {}", UNITS[step])
    } else {
        format!("{whole}.{tenth} {}", UNITS[step])
    }
}

fn age(time: Duration) -> String {
    let (count, unit) = match time.as_secs() / 60 {
        minutes if minutes < 120 => (minutes, "minutes"),
        minutes if minutes < 48 * 60 => (minutes / 60, "hours"),
        minutes => (minutes / 60 / 24, "days"),
    };
    format!("{count} {unit}")
}

pub(crate) fn package_missing(name: &str, python: &Path) -> Problem {
    Problem::error("package-missing", format!("`{name}` is not installed for this Python"))
        .at(python.display())
        .help(format!("{} -m pip install {name}, or activate the environment that has it", python.display()))
}

pub(crate) fn stale_lock(path: &Path, old: Duration) -> Problem {
    let folder = path.parent().unwrap_or(path).display();
    Problem::warning("stale-lock", format!("a lock of {} ago: every rank that needs {folder} waits for it", age(old)))
        .at(path.display())
        .help(format!("if nobody compiles there: rm -r {folder}"))
}

pub(crate) fn nvme_not_writable(key: &str, path: &Path) -> Problem {
    Problem::error("nvme-folder", format!("`{}` cannot be written: offloading to NVMe fails at start", path.display()))
        .at(key)
        .help(format!("--set {key}=/local/nvme/$USER-$$"))
}

pub(crate) fn nvme_is_shared(key: &str, path: &Path, kind: &str) -> Problem {
    Problem::warning("nvme-folder", format!("`{}` is on {kind}: slow, and other jobs may empty it", path.display()))
        .at(key)
        .help("a folder of its own for every job, on a disk of this machine")
}

pub(crate) fn cache_on_nfs(what: &str, path: &Path, kind: &str, variable: &str) -> Problem {
    Problem::warning("cache-on-nfs", format!("{what} is on {kind}: ranks that lock files there wait or fail"))
        .at(path.display())
        .help(format!("export {variable}=/tmp/$USER-{what}"))
}

pub(crate) fn no_compiler(missing: &[&str], needed: bool) -> Problem {
    let help: Vec<&str> = missing
        .iter()
        .map(|name| match *name {
            "ninja" => "pip install ninja, and activate that environment",
            _ => "apt install g++, or module load gcc",
        })
        .collect();
    let what = format!(
        "no {} on PATH: DeepSpeed compiles its CPU optimizer when a run first offloads",
        missing.join(" and no ")
    );
    let problem = Problem::warning("no-compiler", what).at("PATH").help(help.join("; "));
    if needed { Problem { severity: Severity::Error, ..problem } } else { problem }
}

pub(crate) fn small_memlock(limit: u64, why: &str) -> Problem {
    Problem::warning("small-memlock", format!("only {} may be locked, and {why}", size(limit)))
        .at("ulimit -H -l")
        .help("`memlock unlimited` in /etc/security/limits.conf, LimitMEMLOCK=infinity for slurmd, docker run --ulimit memlock=-1")
}

pub(crate) fn small_shm(bytes: u64) -> Problem {
    Problem::warning(
        "small-shm",
        format!("/dev/shm has {}: NCCL and data loader workers share memory there", size(bytes)),
    )
    .at("/dev/shm")
    .help("docker run --shm-size=16g (or --ipc=host); Kubernetes: an emptyDir of medium Memory at /dev/shm")
}

pub(crate) fn few_files(most: u64) -> Problem {
    Problem::warning("few-files", format!("only {most} files may be open: data loaders need more"))
        .at("ulimit -n")
        .help("ulimit -n 65536")
}

pub(crate) fn ranks_share_gpus(nproc: &Said<u32>, gpus: usize) -> Problem {
    Problem::warning("ranks-share-gpus", format!("{} ranks share {gpus} GPUs, and NCCL refuses that", nproc.value))
        .at(nproc.place())
        .help(format!("--nproc-per-node {gpus}"))
}

pub(crate) fn not_enough_host_memory(needed: u64, have: u64, limited: bool) -> Problem {
    let whose = if limited { "the cgroup allows" } else { "this machine has" };
    Problem::error(
        "not-enough-host-memory",
        format!("offloading this model keeps about {} in host memory, and {whose} {}", size(needed), size(have)),
    )
    .at("zero_optimization.offload_optimizer, zero_optimization.offload_param")
    .help("more machines, more memory for the job (srun --mem=0), offload less, or train adapters")
}

// Effects

pub(crate) fn would_overwrite_the_template(out: &Said<std::path::PathBuf>) -> Problem {
    Problem::error("config-out", "the resolved config would overwrite the config it is made from".to_string())
        .at(format!("{} {}", out.from, out.value.display()))
        .help("name another file")
}

pub(crate) fn cannot_write(path: &Path, why: &io::Error) -> Problem {
    Problem::error("write", format!("the resolved config cannot be written: {why}"))
        .at(path.display())
        .help("--config-out PATH names another place")
}

pub(crate) fn cannot_write_there(path: &Path, why: &io::Error) -> Problem {
    Problem::error("write", format!("this cannot be written: {why}")).at(path.display()).help("name another folder")
}

pub(crate) fn does_not_answer(folder: &Path, patience: Duration) -> Problem {
    Problem::error("file", format!("this folder has not answered for {} s", patience.as_secs()))
        .at(folder.display())
        .help("its server may be gone: XDG_CONFIG_HOME and XDG_CACHE_HOME name other folders, and Python too must do without it")
}

pub(crate) fn folder_not_ours(folder: &Path) -> Problem {
    Problem::error("write", "the folder for resolved configs does not belong to you alone".to_string())
        .at(folder.display())
        .help("set HOME or XDG_CACHE_HOME to a folder of yours, or use --config-out PATH")
}

pub(crate) fn port_in_use(port: &Said<u16>) -> Problem {
    Problem::error("port", format!("port {} on this machine is taken, and the ranks would wait for it", port.value))
        .at(port.place())
        .help("choose another one for all machines: --master-port or MASTER_PORT")
}

pub(crate) fn cannot_execute(program: &OsStr, why: &io::Error) -> Problem {
    let name = program.to_string_lossy();
    let (what, status) = match why.kind() {
        io::ErrorKind::NotFound => ("was not found".to_string(), NOT_FOUND),
        io::ErrorKind::PermissionDenied => ("is not executable".to_string(), NOT_EXECUTABLE),
        io::ErrorKind::ArgumentListTooLong => ("got more arguments than the system allows".to_string(), NOT_EXECUTABLE),
        _ => (format!("cannot be executed: {why}"), NOT_EXECUTABLE),
    };
    Problem::error("exec", format!("`{name}` {what}"))
        .at(&name)
        .help("check the command and the environment it is in")
        .status(status)
}

pub(crate) fn cannot_start_ranks(rank: u32, count: u32, why: &io::Error) -> Problem {
    let help = match why.kind() {
        io::ErrorKind::WouldBlock => "`ulimit -u` limits the processes of a user, pids.max those of a container",
        io::ErrorKind::OutOfMemory => "there is no memory left on this machine",
        _ => "`ulimit -a` shows the limits of this session",
    };
    Problem::error("ranks", format!("rank {rank} of {count} cannot be started: {why}"))
        .at(format!("rank {rank}"))
        .help(help)
}

pub(crate) fn cannot_watch_ranks(why: &io::Error) -> Problem {
    Problem::error("ranks", format!("the ranks cannot be watched: {why}"))
        .at("--launcher local")
        .help("`ulimit -a` shows the limits of this session; --launcher torchrun does without")
}

pub(crate) fn endings_are_hidden() -> Problem {
    Problem::error("ranks", "SIGCHLD is ignored, so nobody can tell how a rank ended".to_string())
        .at("SIGCHLD, inherited from the program that starts zlaunch")
        .help("env --default-signal=CHLD zlaunch …")
}

pub(crate) fn cannot_log(path: &Path, why: &io::Error) -> Problem {
    Problem::error("write", format!("the log of a rank cannot be written: {why}"))
        .at(path.display())
        .help("--log-dir DIR names another folder")
}

/// How a rank ended; the exit status is that of the rank, as a shell would tell it.
pub(crate) fn rank_failed(rank: usize, ending: ExitStatus, several: bool, log: Option<&Path>) -> Problem {
    let (how, status) = match (ending.code(), ending.signal()) {
        (Some(code), _) => (format!("exited with status {code}"), code),
        (None, signal) => {
            let number = signal.unwrap_or_default();
            let name = Signal::try_from(number).map_or("", Signal::as_str);
            (format!("was ended by signal {number} {name}").trim_end().to_string(), 128 + number)
        }
    };
    let others = if several { "; the others were stopped" } else { "" };
    let help = match (ending.signal(), log) {
        (Some(9), _) => "`dmesg` tells whether the system ran out of memory",
        (_, None) => "its own output says why; --log-dir DIR keeps the ranks' output apart",
        (_, Some(_)) => "its own output says why",
    };
    Problem::error("rank", format!("rank {rank} {how}{others}"))
        .at(log.map_or_else(|| format!("rank {rank}"), |log| log.display().to_string()))
        .help(help)
        .status(u8::try_from(status).unwrap_or(REFUSED))
}

pub(crate) fn cannot_print(why: &io::Error) -> Problem {
    Problem::error("print", format!("standard output cannot be written: {why}")).at("stdout").help("is the disk full?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (64 << 20, "64 MiB"),
            (3 << 29, "1.5 GiB"),
            (144_000_000_000, "134 GiB"),
            (3 << 40, "3 TiB"),
            (u64::MAX, "16777215 TiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn the_nearest_word_is_near() {
        let known = ["zero2", "zero3", "zero3_offload", "hf_zero3"];
        assert_eq!(nearest("zero3_ofload", known), Some("zero3_offload"));
        assert_eq!(nearest("ZERO_3", known), Some("zero3"));
        assert_eq!(nearest("fsdp", known), None);
        assert_eq!(nearest("", known), None);
    }

    /// Found by fuzzing: a long word was compared with every name there is. This would take minutes.
    #[test]
    fn a_long_word_is_near_to_none() {
        let known = ["zero2"; 1000];
        assert_eq!(nearest(&"zero".repeat(50_000), known), None);
    }
}
