//! The user's request as plain values: `cli` makes them, everything behind reads them.

pub mod understood;

use std::{ffi::OsString, path::PathBuf};

use crate::{
    base::{
        options::{launch_option, takes_value},
        source::{Given, Source, Sourced, default},
        vars,
    },
    command::{job::Trainer, trainer},
    config::{layers::Layers, template::Search},
    host::Host,
    ranks::{
        launcher::Launcher,
        topology::{HostFlags, RankFlags},
    },
    report::prelude::*,
};

/// `--deepspeed auto`: the fastest template that fits.
pub const AUTO: &str = "auto";

#[derive(Clone, Default)]
pub struct Launch {
    pub deepspeed: Option<Sourced<String>>,
    pub search: Search,
    pub layers: Layers,
    pub memory: MemoryFlags,
    pub no_fill: bool,
    pub trainer: Option<Sourced<&'static Trainer>>,
    pub launcher: Option<Sourced<Launcher>>,
    pub topology: RankFlags,
    pub hosts: HostFlags,
    pub launcher_args: Vec<OsString>,
    pub environment: EnvironmentFlags,
    pub config_out: Option<Sourced<PathBuf>>,
    pub record: Option<Sourced<PathBuf>>,
    /// Empty for a launch.
    pub subcommand: &'static str,
    /// Our words as they were given, up to the command.
    pub options: Vec<OsString>,
    pub output: Output,
    pub strict: bool,
    /// The warnings that `--allow` silences.
    pub allow: Vec<Rule>,
    /// What was odd about the words themselves.
    pub warnings: Problems,
    pub command: Vec<OsString>,
    /// For `zlaunch rehearse`: one rank runs here, and nothing is started elsewhere.
    pub rehearsed: bool,
}

impl Launch {
    /// The command unchanged, without our options.
    pub fn command_alone(&self) -> Self {
        Launch {
            output: self.output,
            command: self.command.clone(),
            trainer: Some(default(trainer::passthrough())),
            ..Launch::default()
        }
    }

    /// The first of several machines, where nothing says which one this is: only a launch needs the truth.
    pub fn be_first_machine(&mut self, who: &'static str, host: &Host) {
        let ranks = &mut self.topology;
        if ranks.node_rank.is_some() || ranks.nnodes.value().is_none_or(|nodes| nodes < 2) {
            return;
        }
        ranks.node_rank = Some(Sourced::new(0, Source::Machine(who)));
        let is_set = |names: [&str; 2]| names.iter().any(|name| host.nonempty_var(name).is_some());
        if !is_set([vars::MASTER_ADDR, vars::PET_MASTER_ADDR]) {
            let here = || Sourced::new(host.hostname.clone(), Source::Machine(who));
            ranks.master_addr.get_or_insert_with(here);
        }
        if !is_set([vars::MASTER_PORT, vars::PET_MASTER_PORT]) {
            ranks
                .master_port
                .get_or_insert(Sourced::new(29500, Source::Machine(who)));
        }
    }

    /// Reads a config that comes through a pipe: `--deepspeed -`, `--deepspeed <(…)`. A pipe can be read once, so its text
    /// replaces its name, also for zlaunch behind a prefix and in the record.
    pub fn read_piped_config(&mut self, host: &Host) -> Result<(), Problem> {
        let Some(spec) = self.deepspeed.as_mut().filter(|spec| spec.from.is_flag()) else {
            return Ok(());
        };
        let name = spec.value.clone();
        if !read_if_piped(spec, host)? {
            return Ok(());
        }
        for word in &mut self.options {
            if let Some(option @ ("" | "--deepspeed=")) =
                word.to_str().and_then(|text| text.strip_suffix(&name))
            {
                *word = format!("{option}{}", spec.value).into();
            }
        }
        Ok(())
    }

    /// The user's own line with more options and another command, to paste.
    pub fn words_with(&self, more: &[OsString], command: &[OsString]) -> Vec<OsString> {
        let mut ours: Vec<OsString> = vec!["zlaunch".into()];
        ours.extend((!self.subcommand.is_empty()).then(|| self.subcommand.into()));
        let options = self
            .options
            .strip_suffix(&["--".into()])
            .unwrap_or(&self.options);
        [&ours, options, more, &["--".into()], command].concat()
    }

    /// Our options, and a sub-command's own, for zlaunch behind a prefix, without those that only print and those for srun.
    pub fn forwarded_options(&self) -> Vec<OsString> {
        let goes_to_srun = self.launcher.value() == Some(Launcher::Srun);
        let is_dropped = |option: Option<&str>| match option {
            Some("dry-run" | "format") => self.subcommand.is_empty(),
            Some("launcher" | "launcher-arg") => goes_to_srun,
            _ => false,
        };
        let mut forwarded = vec![];
        let mut words = self.options.iter();
        while let Some(word) = words.next() {
            // Only a value can be other than text, and then it is joined to its option.
            let text = word.to_string_lossy();
            let Some(long) = text.strip_prefix("--") else {
                // Short switches may be joined: `-nq`. `-n` is for the zlaunch that shows the plan.
                let kept = text.replace('n', "");
                forwarded.extend((kept != "-").then(|| kept.into()));
                continue;
            };
            let Some(option) = launch_option(long) else {
                forwarded.extend((!long.is_empty()).then(|| word.clone()));
                continue;
            };
            let is_alone = !takes_value(option) || long.contains('=');
            let value = if is_alone { None } else { words.next() };
            if !is_dropped(option.get_long()) {
                forwarded.push(word.clone());
                forwarded.extend(value.cloned());
            }
        }
        forwarded
    }
}

/// Replaces the name of a pipe by its text. False if it is no pipe.
pub fn read_if_piped(spec: &mut Sourced<String>, host: &Host) -> Result<bool, Problem> {
    let Some(piped) = reading::piped(&spec.value, host) else {
        return Ok(false);
    };
    spec.value = piped?.to_string();
    spec.from = Source::Input;
    Ok(true)
}

#[derive(Clone, Copy, Default, PartialEq)]
pub struct Output {
    /// Print the plan in this format and do nothing.
    pub dry_run: Option<Format>,
    pub quiet: bool,
    pub verbose: bool,
    /// Print the findings of the rules and do nothing; the format is `dry_run`'s.
    pub check: bool,
}

impl Output {
    pub fn only_shows(self) -> bool {
        self.check || self.dry_run.is_some()
    }

    pub fn wants_notes(self) -> bool {
        self.check || self.verbose
    }
}

#[derive(Clone, Copy, PartialEq)]
pub enum Format {
    Text,
    Json,
    Shell,
}

#[derive(Clone, Default)]
pub struct MemoryFlags {
    pub gpu: Option<Sourced<u64>>,
    pub host: Option<Sourced<u64>>,
    pub seq_len: Option<Sourced<u64>>,
}

/// `--env` and `--unset-env`.
#[derive(Clone, Default)]
pub struct EnvironmentFlags {
    pub set: Vec<Sourced<(String, OsString)>>,
    pub unset: Vec<Sourced<String>>,
}
