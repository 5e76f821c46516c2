//! Prints a plan: text for a person, JSON for a program, a shell script to run by hand.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::Path,
};

use serde_json::{Value, json};

use super::{
    config::{PlannedConfig, PlannedFile},
    decision::Plan,
    environment::{Environment, Setting},
    tables::REFUSED_PLAN,
};
use crate::{
    base::{
        json,
        layout::{TextTable, escape_controls},
        shell::quoted,
        vars,
    },
    command::{argument_class::stand_in, trainer},
    config::auto::{self, FillContext},
    host::{self, terminal},
    ranks::{
        launcher::Launcher,
        topology::{PER_RANK, Stated},
    },
    report::{
        Place, Problem,
        secrets::{Names, Piece, Secrets},
    },
    request::{Format, understood::UnderstoodLaunch},
};

/// Columns a command may take.
const WIDTH: usize = 100;

impl Plan<'_> {
    /// Nothing in it deceives a terminal: a script is bytes, the rest is text.
    pub fn render(&self, problems: &[Problem], format: Format, secrets: &Secrets) -> Vec<u8> {
        match format {
            Format::Text => escape_controls(&self.text(secrets, terminal::width())).into_bytes(),
            Format::Json => secrets.printed(self.json(problems)),
            Format::Shell => [b"#!/bin/sh\n", &self.shell_lines(secrets)[..]].concat(),
        }
    }

    pub fn text(&self, secrets: &Secrets, width: Option<usize>) -> String {
        let table = |indent: usize, rows: Vec<(String, String)>| {
            let rows = rows
                .iter()
                .map(|(name, text)| (secrets.hide_in_text(name), secrets.hide_in_text(text)));
            TextTable::of_pairs(indent, rows).fitted(width).to_string()
        };
        let mut text = table(0, self.head());
        let mut section = |title: &str, rows: Vec<(String, String)>| {
            if !rows.is_empty() {
                text += &format!("\n{title}\n{}", table(2, rows));
            }
        };
        if let Some(config) = &self.config {
            let template = &config.layered.template.name;
            section(&format!("differs from {template}"), config.differences());
            let filled = config.resolved.fills.iter().map(|fill| {
                (
                    format!("{} = {}", fill.key, fill.filled.value),
                    fill.filled.from.clone(),
                )
            });
            section("filled", filled.collect());
            let left = config.resolved.left.iter();
            let left = left.map(|left| (left.key.clone(), left.why.clone()));
            section("not filled", left.collect());
        }
        section("environment", self.environment_rows(secrets));
        text += if self.local.is_some() {
            "\neach rank runs\n"
        } else {
            "\nruns\n"
        };
        text + &self.command_text(secrets, width)
    }

    fn head(&self) -> Vec<(String, String)> {
        let mut rows = vec![];
        let mut row = |name: &str, text: String| rows.push((name.to_string(), text));
        if let Some((size, from)) = self.batch() {
            row("batch", format!("{size} = {from}"));
        }
        if let Some(config) = &self.config {
            let template = &config.layered.template;
            let extends = match &template.chain[1..] {
                [] => String::new(),
                names => format!(", extends {}", names.join(" → ")),
            };
            row(
                "config",
                format!("{} ({}{extends})", config.title(), template.origin),
            );
            if let Some(why) = &config.layered.chosen {
                row("", why.clone());
            }
            row("", format!("→ {}", self.short(&config.file.path)));
            if let Some(file) = &config.run_file {
                let path = self.short(&file.path);
                row("", format!("→ {path} (the run file that names it)"));
            }
        }
        let job = &self.understood.job;
        let mut trainer = job.trainer.name.to_string();
        let version = job.version_text();
        if let Some(version) = &version {
            trainer += &format!(" {version}");
        }
        trainer += &format!(": {}", self.understood.what_runs());
        if let Some(python) = &job.python {
            trainer += &format!(", {}", self.short(&python.program));
        }
        row("trainer", trainer);
        if let (Some(distribution), Some(version)) = (job.trainer.distribution, &version)
            && let Some(note) = stand_in(distribution, version)
        {
            row("", note);
        }
        row("ranks", self.ranks_text());
        for piece in &self.topology.evidence {
            row("", piece.clone());
        }
        rows
    }

    /// The samples of a step and the factors.
    fn batch(&self) -> Option<(Value, String)> {
        let UnderstoodLaunch { job, host, .. } = &self.understood;
        let config = self
            .config
            .as_ref()
            .map_or(&Value::Null, PlannedConfig::value);
        auto::batch(&FillContext::new(job, &self.topology, config, host))
    }

    fn ranks_text(&self) -> String {
        let by = match self.launcher {
            Launcher::Direct => "no launcher".to_string(),
            Launcher::Prefix(name) => format!("started by zlaunch after {name}"),
            launcher => launcher.to_string(),
        };
        let started = || format!("{}, {by}", self.topology.in_words());
        self.existing_rank().unwrap_or_else(started)
    }

    fn environment_rows(&self, secrets: &Secrets) -> Vec<(String, String)> {
        let Environment { set, unset, kept } = &self.environment;
        let mut rows = vec![];
        for Setting { name, value, why } in set {
            rows.push((secrets.setting(name, value), why.clone()));
        }
        if let Some(local) = &self.local {
            let numbers = format!("the number of the rank: 0 to {}", local.count - 1);
            rows.push((PER_RANK.join(", "), numbers));
        }
        for name in unset {
            rows.push((name.clone(), "removed".to_string()));
        }
        for (name, value) in kept {
            rows.push((secrets.setting(name, value), "yours, kept".to_string()));
        }
        rows
    }

    /// The command over several lines that can be pasted; an option and its values stay together.
    fn command_text(&self, secrets: &Secrets, width: Option<usize>) -> String {
        let limit = width.map_or(WIDTH, |width| width.saturating_sub(2).min(WIDTH));
        let words: Vec<String> = secrets
            .hide_in_words(self.argv.iter().map(OsString::as_os_str))
            .iter()
            .map(|word| self.short(word))
            .collect();
        let mut text = String::from(" ");
        let mut at = 1;
        let groups = words
            .chunk_by(|_, next| !next.starts_with('-'))
            .flat_map(|group| {
                let whole = group.join(" ");
                if whole.chars().count() + 4 > limit {
                    group.to_vec()
                } else {
                    vec![whole]
                }
            });
        for group in groups {
            let needed = group.chars().count();
            if at + needed > limit && at > 1 {
                text += " \\\n   ";
                at = 3;
            }
            text += " ";
            text += &group;
            at += 1 + needed;
        }
        text + "\n"
    }

    /// A word for the shell, with `~` for the home folder where the shell would put it back.
    fn short(&self, word: impl AsRef<OsStr>) -> String {
        let word = word.as_ref();
        let home = self.understood.host.home();
        let below = home.and_then(|home| Path::new(word).strip_prefix(home).ok());
        let shown = |word: &OsStr| String::from_utf8_lossy(&quoted(word)).into_owned();
        match below.filter(|below| !below.as_os_str().is_empty()) {
            Some(below) => format!("~/{}", shown(below.as_os_str())),
            None => shown(word),
        }
    }

    /// `problems`: what the judges say about it.
    pub fn json(&self, problems: &[Problem]) -> Value {
        let mut plan = refused_json(problems);
        let job = &self.understood.job;
        let python = job.python.as_ref();
        plan["trainer"] = json!({
            "name": job.trainer.name,
            "version": job.version_text(),
            "python": python.map(|python| python.program.to_string_lossy()),
        });
        plan["topology"] = self.topology_json();
        if let Some((size, from)) = self.batch() {
            plan["batch"] = json!({"value": size, "from": from});
        }
        plan["launcher"] = self.launcher.to_string().into();
        if let Some(local) = &self.local {
            plan["local"] = json!({
                "ranks": local.count,
                "per_rank": PER_RANK,
                "grace_seconds": local.grace.as_secs_f64(),
            });
        }
        if let Some(config) = &self.config {
            let PlannedConfig {
                layered,
                resolved,
                file,
                run_file,
            } = config;
            plan["template"] = json!({
                "name": layered.template.name,
                "origin": layered.template.origin.to_string(),
                "chain": layered.template.chain,
                "chosen": layered.chosen,
            });
            plan["config"] = resolved.config.clone();
            plan["config_path"] = file.path.to_string_lossy().into();
            plan["run_file_path"] =
                json!(run_file.as_ref().map(|file| file.path.to_string_lossy()));
            plan["fills"] = json!(resolved.fills);
            plan["changed"] = config.changed().into();
            plan["left_auto"] = json!(resolved.left);
        }
        let Environment { set, unset, kept } = &self.environment;
        let set = set
            .iter()
            .map(|setting| (&setting.name, setting.value.to_string_lossy()));
        let kept = kept.iter().cloned();
        plan["env"] =
            json!({"set": set.collect::<Value>(), "unset": unset, "kept": kept.collect::<Value>()});
        plan["argv"] = self
            .argv
            .iter()
            .map(|word| word.to_string_lossy())
            .collect();
        plan
    }

    fn topology_json(&self) -> Value {
        fn known<T: Into<Value>>(fact: Stated<T>) -> Stated<Value> {
            Some(fact?.map(Into::into))
        }
        let topology = &self.topology;
        let facts = [
            ("nnodes", known(topology.nnodes.clone())),
            ("node_rank", known(Some(topology.node_rank.clone()))),
            ("nproc_per_node", known(topology.nproc_per_node.clone())),
            ("world_size", known(topology.world_size.clone())),
            ("master_addr", known(topology.master_addr.clone())),
            ("master_port", known(topology.master_port.clone())),
        ];
        let mut object = json!({});
        let mut from = json!({});
        for (name, fact) in facts {
            if let Some(fact) = &fact {
                from[name] = fact.from.to_string().into();
            }
            object[name] = fact.map(|fact| fact.value).into();
        }
        object["engine"] = topology.engine.into();
        object["evidence"] = topology.evidence.clone().into();
        object["from"] = from;
        object
    }

    /// A POSIX shell script that does what the launch would do. Bytes, because arguments need not be UTF-8. Scripts are
    /// kept and shared, so a secret becomes a variable that must be set.
    pub fn shell_lines(&self, secrets: &Secrets) -> Vec<u8> {
        let mut script = b"set -e\n".to_vec();
        let environment = &self.environment;
        let mut names = secrets.names(environment.settings(), &environment.unset);
        let config = self.config.iter();
        for file in config
            .flat_map(|config| std::iter::once(&config.file).chain(&config.run_file))
            .chain(&self.environment_file)
        {
            script.extend(written(file, secrets, &mut names));
        }
        for name in &environment.unset {
            script.extend(format!("unset {name}\n").bytes());
        }
        for Setting { name, value, .. } in &environment.set {
            // zlaunch finds a free port again when the script runs.
            if self.local.is_some() && name == vars::MASTER_PORT && value == "0" {
                continue;
            }
            script.extend(format!("export {name}=").bytes());
            script.extend(shell_word(&secrets.in_value(name, value), &mut names));
            script.push(b'\n');
        }
        let mut words: Vec<OsString> = vec![];
        if let Some(local) = &self.local {
            // A shell cannot supervise several processes, so the script calls zlaunch with everything decided.
            let count = local.count.to_string();
            let mut options = vec!["--launcher", "local", "--trainer", trainer::PASSTHROUGH];
            options.extend(["--nproc-per-node", &count]);
            if let Some(address) = &self.topology.master_addr {
                options.extend(["--master-addr", &address.value]);
            }
            options.push("--");
            words.push(host::this_program().into());
            words.extend(options.into_iter().map(OsString::from));
            // The script is complete: ZLAUNCH_* variables of a site must not add to it.
            script
                .extend(b"for name in $(env | sed -n 's/^\\(ZLAUNCH_[A-Z_]*\\)=.*/\\1/p'); do unset \"$name\"; done\n");
        }
        script.extend(b"exec");
        words.extend_from_slice(&self.argv);
        for pieces in secrets.in_words(words.iter().map(OsString::as_os_str)) {
            script.push(b' ');
            script.extend(shell_word(&pieces, &mut names));
        }
        script.push(b'\n');
        script
    }
}

fn shell_word(pieces: &[Piece], names: &mut Names) -> Vec<u8> {
    if pieces.is_empty() {
        return quoted(OsStr::new(""));
    }
    pieces
        .iter()
        .map(|piece| match piece {
            Piece::Open(bytes) => quoted(OsStr::from_bytes(bytes)),
            Piece::Secret(name, value) => {
                format!("\"${{{}:?}}\"", names.of(name, value)).into_bytes()
            }
        })
        .collect::<Vec<_>>()
        .concat()
}

/// A refused plan: every field is there, and the diagnostics say why.
pub fn refused_json(problems: &[Problem]) -> Value {
    let mut plan = json::parse_built_in(REFUSED_PLAN);
    plan["diagnostics"] = diagnostics_json(problems);
    plan
}

pub fn diagnostics_json(problems: &[Problem]) -> Value {
    let rows = problems.iter().map(|problem| {
        json!({
            "rule": problem.rule.name(),
            "severity": problem.severity.to_string(),
            "message": problem.what,
            "where": problem.places.iter().map(Place::to_string).collect::<Vec<_>>(),
            "places": problem.places,
            "help": problem.help(),
            "fixes": problem.fixes.json(),
            "when": problem.when,
            "allowable": problem.allowable,
        })
    });
    rows.collect()
}

/// Shell lines that write a file as `exec` does: for this user alone, under a temporary name, then renamed.
fn written(file: &PlannedFile, secrets: &Secrets, names: &mut Names) -> Vec<u8> {
    let path = shell_word(&secrets.in_words([file.path.as_os_str()])[0], names);
    let text = shell_word(&secrets.in_document(&file.text), names);
    [
        b"(umask 077; mkdir -p \"$(dirname ",
        &path[..],
        b")\"\nprintf %s ",
        &text,
        b" > ",
        &path,
        b".$$)\nmv -f ",
        &path,
        b".$$ ",
        &path,
        b"\n",
    ]
    .concat()
}
