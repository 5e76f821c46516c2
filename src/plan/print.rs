//! Prints a plan: text for a person, JSON for a program, a shell script to run by hand.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde_json::{Value, json};

use super::decision::{Plan, TrainerFacts};
use super::launch_env::{Environment, Setting};
use super::planned_config::{FileKind, PlannedConfig, PlannedFile};
use crate::base::layout::{TextTable, escape_controls};
use crate::base::shell::{Run, printed, quoted, runs};
use crate::base::source::Sourced;
use crate::base::vars;
use crate::command::trainer;
use crate::host::{self, terminal};
use crate::ranks::launcher::Launcher;
use crate::ranks::launcher::local::PER_RANK;
use crate::ranks::topology::Role;
use crate::report::secrets::{Names, Piece, Secrets};
use crate::report::{Place, Problem};
use crate::request::Format;

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

    pub(crate) fn text(&self, secrets: &Secrets, width: Option<usize>) -> String {
        let config = self
            .config
            .as_ref()
            .map(|config| config.text_of_plan(secrets, width))
            .unwrap_or_default();
        let runs = if self.local.is_some() {
            "\neach rank runs\n"
        } else {
            "\nruns\n"
        };
        let command = self.command_text(&self.argv, secrets, width);
        [
            &self.head(secrets, width),
            &config,
            &self.environment_text(secrets, width),
            runs,
            &command,
        ]
        .concat()
    }

    fn head(&self, secrets: &Secrets, width: Option<usize>) -> String {
        let mut rows = Vec::new();
        rows.extend(
            self.batch
                .as_ref()
                .map(|(size, from)| ("batch", format!("{size} = {from}"))),
        );
        if let Some(config) = &self.config {
            let extends = config.layered.template.chain[1..].join(" → ");
            let extends = if extends.is_empty() {
                String::new()
            } else {
                format!(", extends {extends}")
            };
            rows.push((
                "config",
                format!(
                    "{} ({}{extends})",
                    config.title(),
                    config.layered.template.origin
                ),
            ));
            rows.extend(config.layered.chosen.clone().map(|why| ("", why)));
            rows.push((
                "",
                format!("→ {}", self.short(config.file.path.as_os_str())),
            ));
            if let Some(file) = &config.run_file {
                rows.push((
                    "",
                    format!(
                        "→ {} (the run file that names it)",
                        self.short(file.path.as_os_str())
                    ),
                ));
            }
        }
        let TrainerFacts {
            name,
            version,
            stand_in,
            python,
            runs,
            reads,
            ..
        } = &self.trainer;
        let version = version
            .as_ref()
            .map(|version| format!(" {version}"))
            .unwrap_or_default();
        let python = python
            .as_ref()
            .map(|python| format!(", {}", self.short(python.as_os_str())))
            .unwrap_or_default();
        rows.push(("trainer", format!("{name}{version}: {runs}{python}")));
        rows.extend(stand_in.iter().chain(reads).map(|note| ("", note.clone())));
        rows.push(("ranks", self.ranks_text()));
        rows.extend(
            self.topology
                .evidence
                .iter()
                .map(|piece| ("", piece.clone())),
        );
        let rows = rows
            .into_iter()
            .map(|(name, text)| (name, secrets.hide_in_text(&text)));
        TextTable::of_pairs(0, rows).fitted(width).to_string()
    }

    fn ranks_text(&self) -> String {
        let topology = &self.topology;
        match &topology.role {
            Role::Rank { .. } => {
                let world = topology.world_size.as_ref().map_or(0, |world| world.value);
                return format!("already started: this is one of {world}; no second launch");
            }
            Role::Task(task) => {
                let (rank, world) = (task.rank.value, task.world_size.value);
                return format!(
                    "rank {rank} of {world}, started by {}",
                    topology.engine.unwrap_or("its engine")
                );
            }
            Role::Shell { .. } | Role::Starter => {}
        }
        let by = match self.launcher {
            Launcher::Direct => "no launcher".to_string(),
            Launcher::Prefix(name) => format!("started by zlaunch after {name}"),
            launcher => launcher.to_string(),
        };
        format!("{}, {by}", topology.in_words())
    }

    fn environment_text(&self, secrets: &Secrets, width: Option<usize>) -> String {
        let Environment { set, unset, kept } = &self.environment;
        let mut rows: Vec<(String, String)> = Vec::new();
        rows.extend(set.iter().map(|it| {
            (
                secrets.setting(&it.name, &it.value),
                secrets.hide_in_text(&it.why),
            )
        }));
        if let Some(local) = &self.local {
            rows.push((
                PER_RANK.join(", "),
                format!("the number of the rank: 0 to {}", local.count - 1),
            ));
        }
        rows.extend(
            unset
                .iter()
                .map(|name| (name.clone(), "removed".to_string())),
        );
        rows.extend(
            kept.iter()
                .map(|(name, value)| (secrets.setting(name, value), "yours, kept".to_string())),
        );
        let table = TextTable::of_pairs(2, rows);
        if table.lines.is_empty() {
            String::new()
        } else {
            format!("\nenvironment\n{}", table.fitted(width))
        }
    }

    /// The command over several lines that can be pasted; an option and its values stay together.
    fn command_text(&self, argv: &[OsString], secrets: &Secrets, width: Option<usize>) -> String {
        let limit = width.map_or(WIDTH, |width| width.saturating_sub(2).min(WIDTH));
        let words = secrets.hide_in_words(argv.iter().map(OsString::as_os_str));
        let words: Vec<String> = words.iter().map(|word| self.short(word)).collect();
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
    fn short(&self, word: &OsStr) -> String {
        let home = self.understood.host.home();
        let home = home
            .as_ref()
            .filter(|home| word.as_bytes().starts_with(home.as_os_str().as_bytes()));
        let below = home.and_then(|home| Path::new(word).strip_prefix(home).ok());
        match below.filter(|below| !below.as_os_str().is_empty()) {
            Some(below) => format!("~/{}", String::from_utf8_lossy(&quoted(below.as_os_str()))),
            None => String::from_utf8_lossy(&quoted(word)).into_owned(),
        }
    }

    /// `problems`: what the judges say about it.
    pub(crate) fn json(&self, problems: &[Problem]) -> Value {
        let config = self.config.as_ref();
        let Environment { set, unset, kept } = &self.environment;
        let set: Value = set
            .iter()
            .map(|setting| (setting.name.clone(), setting.value.to_string_lossy()))
            .collect();
        let kept: Value = kept.iter().cloned().collect();
        let TrainerFacts {
            name,
            version,
            python,
            reads,
            ..
        } = &self.trainer;
        let python = python.as_deref().map(Path::to_string_lossy);
        let mut trainer = json!({"name": name, "version": version, "python": python});
        if let Some(reads) = reads {
            trainer["reads"] = reads.as_str().into();
        }
        json!({
            "version": 1,
            "template": config.map(|PlannedConfig { layered, .. }| json!({
                "name": layered.template.name,
                "origin": layered.template.origin.to_string(),
                "chain": layered.template.chain,
                "chosen": layered.chosen,
            })),
            "trainer": trainer,
            "topology": self.topology_json(),
            "batch": self.batch.as_ref().map(|(size, from)| json!({"value": size, "from": from})),
            "launcher": self.launcher.to_string(),
            "local": self.local.as_ref().map(|local| json!({
                "ranks": local.count,
                "per_rank": PER_RANK,
                "grace_seconds": local.grace.as_secs_f64(),
            })),
            "config": config.map(PlannedConfig::value),
            "config_path": config.map(|config| config.file.path.to_string_lossy()),
            "run_file_path": config.and_then(|config| config.run_file.as_ref()).map(|file| file.path.to_string_lossy()),
            "fills": config.map(|config| &config.resolved.fills[..]).unwrap_or_default(),
            "changed": config.map(PlannedConfig::changed).unwrap_or_default(),
            "left_auto": config.map(|config| &config.resolved.left[..]).unwrap_or_default(),
            "env": {"set": set, "unset": unset, "kept": kept},
            "argv": self.argv.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>(),
            "diagnostics": diagnostics_json(problems),
        })
    }

    fn topology_json(&self) -> Value {
        fn known<T: Clone + Into<Value>>(
            sourced: Option<&Sourced<T>>,
        ) -> (Option<Value>, Option<String>) {
            sourced
                .map(|sourced| (sourced.value.clone().into(), sourced.from.to_string()))
                .unzip()
        }
        let topology = &self.topology;
        let facts = [
            ("nnodes", known(topology.nnodes.as_ref())),
            ("node_rank", known(Some(&topology.node_rank))),
            ("nproc_per_node", known(topology.nproc_per_node.as_ref())),
            ("world_size", known(topology.world_size.as_ref())),
            ("master_addr", known(topology.master_addr.as_ref())),
            ("master_port", known(topology.master_port.as_ref())),
        ];
        let (mut object, mut from) = (json!({}), json!({}));
        for (name, (value, source)) in facts {
            object[name] = value.into();
            if let Some(source) = source {
                from[name] = source.into();
            }
        }
        object["engine"] = topology.engine.into();
        object["evidence"] = topology.evidence.clone().into();
        object["from"] = from;
        object
    }

    /// A POSIX shell script that does what the launch would do. Bytes, because arguments need not be UTF-8. Scripts are
    /// kept and shared, so a secret becomes a variable that must be set.
    pub(super) fn shell_lines(&self, secrets: &Secrets) -> Vec<u8> {
        let mut script = b"set -e\n".to_vec();
        let environment = &self.environment;
        let mut names = secrets.names(environment.settings(), &environment.unset);
        let mut files = Vec::new();
        if let Some(config) = &self.config {
            files.push(&config.file);
            files.extend(&config.run_file);
        }
        files.extend(self.environment_files.iter().map(|it| &it.file));
        if !files.is_empty() {
            script.extend(b"umask_before=$(umask); umask 077\n");
            for PlannedFile { path, kind, text } in files {
                let text = secrets.in_document(text);
                script.extend(written(path, secrets, &text, *kind, &mut names));
            }
            script.extend(b"umask \"$umask_before\"; unset umask_before\n");
        }
        script.extend(
            environment
                .unset
                .iter()
                .flat_map(|name| format!("unset {name}\n").into_bytes()),
        );
        for Setting { name, value, .. } in &environment.set {
            // zlaunch finds a free port again when the script runs.
            if self.local.is_some() && name == vars::MASTER_PORT && value == "0" {
                continue;
            }
            script.extend(format!("export {name}=").bytes());
            script.extend(shell_word(&secrets.in_value(name, value), &mut names));
            script.push(b'\n');
        }
        let mut words: Vec<OsString> = Vec::new();
        if let Some(local) = &self.local {
            // A shell cannot supervise several processes, so the script calls zlaunch with everything decided.
            let count = local.count.to_string();
            words.push(host::this_program().into_os_string());
            words
                .extend(["--launcher", "local", "--trainer", trainer::PASSTHROUGH].map(Into::into));
            words.extend(["--nproc-per-node", &count].map(Into::into));
            let address = self.topology.master_addr.as_ref();
            words.extend(
                address
                    .into_iter()
                    .flat_map(|address| ["--master-addr", &address.value])
                    .map(Into::into),
            );
            words.push("--".into());
            // The script is complete: ZLAUNCH_* variables of a site must not add to it.
            script
                .extend(b"for name in $(env | sed -n 's/^\\(ZLAUNCH_[A-Z_]*\\)=.*/\\1/p'); do unset \"$name\"; done\n");
        }
        script.extend(b"exec ");
        let words = words.iter().chain(&self.argv).map(OsString::as_os_str);
        let words: Vec<_> = secrets
            .in_words(words)
            .iter()
            .map(|pieces| shell_word(pieces, &mut names))
            .collect();
        script.extend(words.join(&b' '));
        script.push(b'\n');
        script
    }
}

fn shell_word(pieces: &[Piece], names: &mut Names) -> Vec<u8> {
    if pieces.is_empty() {
        return quoted(OsStr::new(""));
    }
    let words = pieces.iter().map(|piece| match piece {
        Piece::Open(bytes) => quoted(OsStr::from_bytes(bytes)),
        Piece::Secret(name, value) => format!("\"${{{}:?}}\"", names.of(name, value)).into_bytes(),
    });
    words.collect::<Vec<_>>().concat()
}

/// A refused plan: every field is there, and the diagnostics say why.
pub fn refused_json(problems: &[Problem]) -> Value {
    json!({
        "version": 1, "template": null, "trainer": null, "topology": null, "batch": null, "launcher": null, "local": null,
        "config": null, "config_path": null, "run_file_path": null, "fills": [], "changed": [], "left_auto": [],
        "env": null, "argv": null, "diagnostics": diagnostics_json(problems),
    })
}

pub(crate) fn diagnostics_json(problems: &[Problem]) -> Value {
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

/// Shell lines that write a file as `exec` does: under a temporary name, then renamed.
fn written(
    path: &Path,
    secrets: &Secrets,
    text: &[Piece],
    kind: FileKind,
    names: &mut Names,
) -> Vec<u8> {
    let mut word_of = |path: &Path| shell_word(&secrets.in_words([path.as_os_str()])[0], names);
    let word = word_of(path);
    let mut lines = Vec::new();
    if kind != FileKind::Named {
        let folder = path.parent().unwrap_or(Path::new("/"));
        lines.extend([b"mkdir -p ", word_of(folder).as_slice(), b"\n"].concat());
    }
    let whole = text.iter().all(|piece| match piece {
        Piece::Open(bytes) => runs(bytes).iter().all(|run| matches!(run, Run::Plain(_))),
        Piece::Secret(..) => false,
    });
    let mark: &[u8] = if whole {
        b"'END_OF_CONFIG'"
    } else {
        b"END_OF_CONFIG"
    };
    lines.extend([b"cat > ", word.as_slice(), b".$$ <<", mark, b"\n"].concat());
    for piece in text {
        match piece {
            Piece::Open(bytes) if whole => lines.extend_from_slice(bytes),
            // The shell expands secrets here, so everything else must be quoted.
            Piece::Open(bytes) => runs(bytes).iter().for_each(|run| match run {
                Run::Plain(bytes) => {
                    let escaped = |b: &u8| {
                        if b"\\$`".contains(b) {
                            vec![b'\\', *b]
                        } else {
                            vec![*b]
                        }
                    };
                    lines.extend(bytes.iter().flat_map(escaped));
                }
                Run::Deceptive(bytes) => lines.extend(printed(bytes).bytes()),
            }),
            Piece::Secret(name, value) => {
                lines.extend(format!("${{{}:?}}", names.of(name, value)).bytes());
            }
        }
    }
    lines.extend(
        [
            b"END_OF_CONFIG\nmv -f ",
            word.as_slice(),
            b".$$ ",
            word.as_slice(),
            b"\n",
        ]
        .concat(),
    );
    lines
}
