//! The variables of a launch on the other machines of a hostfile.
//!
//! pdsh carries them as `export NAME=VALUE;` in its arguments, which every user of a machine can read, so secrets go into
//! a file of their own. So do values that a shell would change: DeepSpeed puts a value into double quotes without escaping
//! it, and before 0.15.2 without quotes.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::PathBuf;

use super::launch_env::Environment;
use super::planned_config::{FileKind, PlannedFile};
use crate::base::bytes::fnv1a;
use crate::base::{shell, vars};
use crate::host::Host;
use crate::ranks::launcher::LaunchContext;
use crate::ranks::launcher::deepspeed::{is_shell_safe, uses_pdsh};
use crate::report::fix::unset_variable;
use crate::report::secrets::{READ_FROM_FILE, is_secret};
use crate::report::{Place, Problem, Rule, reading};

/// DeepSpeed's runner hands on variables whose names begin like this; `NCCL` only if it finds CUDA.
const HANDED_ON: &[&str] = &["MLFLOW", "PYTHON", "MV2", "UCX", "NCCL"];

/// A file from which other machines read variables.
pub(crate) struct EnvironmentFile {
    pub(crate) file: PlannedFile,
    /// The variables that must not appear in arguments: every machine reads this file itself.
    pub(crate) read_by_all: Vec<String>,
}

fn needs_care(name: &str, value: &OsStr) -> bool {
    is_secret(name, value) || !value.is_empty() && !is_shell_safe(value.as_encoded_bytes())
}

/// The lines of the runner's file of variables, and those of the file with the secrets.
struct Lines<'a> {
    exported: String,
    /// `NAME=VALUE`, read by the shell of each machine.
    apart: BTreeMap<String, String>,
    apart_file: &'a str,
    /// DeepSpeed puts no quotes around a value.
    bare: bool,
    problems: Vec<Problem>,
}

/// Nothing where no other machine is reached.
pub(super) fn plan(
    context: &LaunchContext<'_>,
    environment: &mut Environment,
) -> Result<Vec<EnvironmentFile>, Vec<Problem>> {
    if !uses_pdsh(context) {
        return Ok(Vec::new());
    }
    let host = context.host;
    // Named after the command, not after its content, because the name is in the arguments of pdsh.
    let named = [
        &context.job.rank_args(None)[..],
        &[host.cwd.clone().into_os_string()],
    ]
    .concat();
    let command = named.join(OsStr::new("\0"));
    let folder = host.configs_folder();
    let apart_path = folder.join(format!(
        "deepspeed_secrets-{:016x}",
        fnv1a(command.as_encoded_bytes())
    ));
    let apart_file =
        String::from_utf8_lossy(&shell::quoted(apart_path.as_os_str())).replace('%', "%%");
    let deepspeed = context
        .job
        .python
        .as_ref()
        .and_then(|python| python.version("deepspeed"));
    let mut lines = Lines {
        exported: String::new(),
        apart: BTreeMap::new(),
        apart_file: &apart_file,
        bare: deepspeed.is_some_and(|version| version.is_before([0, 15, 2])),
        problems: Vec::new(),
    };
    lines.add_own_files(host)?;
    // The variables that the runner hands on by itself.
    let kept = host
        .env
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?, value.as_os_str())));
    let kept = kept.filter(|(name, _)| HANDED_ON.iter().any(|prefix| name.starts_with(prefix)));
    let kept = kept.filter(|(name, _)| {
        !environment.unset.iter().any(|unset| unset == name) && !environment.sets(name)
    });
    let kept = kept.filter(|(name, value)| needs_care(name, value));
    for (name, value) in environment.settings().chain(kept) {
        // DeepSpeed puts the folder in front.
        let joined =
            (name == "PYTHONPATH").then(|| [host.cwd.as_os_str(), value].join(OsStr::new(":")));
        lines.add(name, joined.as_deref().unwrap_or(value));
    }
    let Lines {
        exported,
        apart,
        problems,
        ..
    } = lines;
    if !problems.is_empty() {
        return Err(problems);
    }
    let path = folder.join(format!("deepspeed_env-{:016x}", fnv1a(exported.as_bytes())));
    environment.set(
        vars::DS_ENV_FILE,
        path.as_os_str(),
        "for the other machines".to_string(),
    );
    let ours = |path: PathBuf, text: String| PlannedFile {
        path,
        kind: FileKind::Ours,
        text,
    };
    let mut files = vec![EnvironmentFile {
        file: ours(path, exported),
        read_by_all: Vec::new(),
    }];
    if !apart.is_empty() {
        let lines = apart
            .iter()
            .map(|(name, value)| format!("{name}={value}\n"));
        files.push(EnvironmentFile {
            file: ours(apart_path, lines.collect()),
            read_by_all: apart.into_keys().collect(),
        });
    }
    Ok(files)
}

impl Lines<'_> {
    /// Our file replaces the user's `.deepspeed_env` files, so it starts with their lines, which may need the shell.
    fn add_own_files(&mut self, host: &Host) -> Result<(), Vec<Problem>> {
        let name = host
            .nonempty_var(vars::DS_ENV_FILE)
            .unwrap_or(".deepspeed_env");
        for folder in host.home().into_iter().chain([host.cwd.clone()]) {
            let path = folder.join(name);
            let Some(own) = path
                .is_file()
                .then(|| reading::read_text(&path))
                .transpose()?
            else {
                continue;
            };
            host.has_read(&own);
            for (number, line) in (1..).zip(own.lines()) {
                match line
                    .split_once('=')
                    .map(|(name, value)| (name.trim(), value.trim()))
                {
                    None => {
                        let place = format!("{}:{number}", path.display());
                        let what = format!(
                            "DeepSpeed's runner stops at `{line}`: every line must be NAME=VALUE"
                        );
                        let problem = Problem::error(Rule::Hosts, what).at(place);
                        self.problems
                            .push(problem.fix("remove blank lines and comments"));
                    }
                    Some((name, value))
                        if is_secret(name, value) && is_shell_safe(value.as_bytes()) =>
                    {
                        self.add(name, OsStr::new(value));
                    }
                    Some(_) => self.exported += &format!("{line}\n"),
                }
            }
        }
        Ok(())
    }

    /// Adds a variable that must arrive unchanged.
    fn add(&mut self, name: &str, value: &OsStr) {
        let Some(value) = value.to_str().filter(|value| !value.contains('\n')) else {
            let what = "DeepSpeed's runner only passes on variables that are one line of text";
            let fixes = unset_variable(name).or("set it on the machines");
            self.problems.push(
                Problem::error(Rule::Hosts, what)
                    .at(Place::bare_variable(name))
                    .fix(fixes),
            );
            return;
        };
        // DeepSpeed quotes the value, drops blanks at its ends, and reads the file line by line.
        let is_kept = !self.bare
            && value.trim() == value
            && !value.contains(|c: char| c.is_control() || "\\$`\"%".contains(c))
            && !is_secret(name, value);
        if is_kept || !needs_care(name, OsStr::new(value)) {
            self.exported += &format!("{name}={value}\n");
            return;
        }
        self.apart.insert(name.to_string(), value.to_string());
        let quote = if self.bare { "\"" } else { "" };
        // `[=]`, so that a script that hides secrets finds none behind `NAME=`.
        let read = format!(
            "{READ_FROM_FILE} -n 's/^{name}[=]//p' {} || kill $$)",
            self.apart_file
        );
        self.exported += &format!("{name}={quote}{read}{quote}\n");
    }
}
