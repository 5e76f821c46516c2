//! Reads every option and the `ZLAUNCH_*` variable that stands for it: a flag beats its variable. Mistakes are gathered,
//! so that all of them are told at once.

use std::ffi::{OsStr, OsString};
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use clap::ArgMatches;
use serde_json::Value;

use crate::base::json;
use crate::base::options::{OPTIONS, variable_of};
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::check;
use crate::command::trainer;
use crate::config::layers::Layers;
use crate::config::template::Search;
use crate::host::Host;
use crate::ranks::launcher;
use crate::ranks::topology::{HostFlags, Processes, RankFlags};
use crate::report::{self, Problem};
use crate::request::{EnvironmentFlags, Format, Launch, MemoryFlags, Mode, Output};

/// The command line and the variables, while they are read.
pub(super) struct Reader<'a> {
    pub(super) matches: &'a ArgMatches,
    pub(super) host: &'a Host,
    pub(super) mode: Mode,
    pub(super) problems: Vec<Problem>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(matches: &'a ArgMatches, host: &'a Host) -> Self {
        Reader { matches, host, mode: Mode::Launch, problems: Vec::new() }
    }

    pub(super) fn launch(mut self, command: Vec<OsString>) -> Result<Launch, Vec<Problem>> {
        if command.is_empty() && self.mode != Mode::Doctor {
            self.problems.push(report::nothing_to_launch());
        }
        let launch = self.described(command, Self::output);
        if self.problems.is_empty() { Ok(launch) } else { Err(self.problems) }
    }

    /// The launch, whether there is a command or not.
    pub(super) fn described(&mut self, command: Vec<OsString>, output: fn(&mut Self) -> Output) -> Launch {
        Launch {
            deepspeed: self.text("deepspeed"),
            search: self.search(),
            layers: Layers {
                patch: self.raw_many("patch").into_iter().map(|sourced| sourced.map(PathBuf::from)).collect(),
                unset: self.keys("unset"),
                set: self.assignments(),
            },
            memory: MemoryFlags { gpu: self.size("gpu-memory", "80GiB"), host: self.size("host-memory", "1TiB") },
            no_fill: self.switch("no-fill"),
            trainer: self.one_of("trainer", trainer::ALL.iter().map(|it| (it.name, *it))),
            launcher: self
                .one_of("launcher", launcher::Launcher::NAMES.iter().map(|(name, kind)| (*name, *kind)))
                .and_then(|sourced| sourced.value.map(|kind| Sourced::new(kind, sourced.from))),
            topology: RankFlags {
                nnodes: self.number("nnodes", 1, u32::MAX),
                node_rank: self.number("node-rank", 0, u32::MAX),
                nproc_per_node: self.processes(),
                master_addr: self.text("master-addr"),
                master_port: self.number("master-port", 1, u16::MAX),
            },
            hosts: HostFlags {
                hostfile: self.raw_one("hostfile").map(|sourced| sourced.map(PathBuf::from)),
                include: self.text("include"),
                exclude: self.text("exclude"),
            },
            launcher_args: self.raw_many("launcher-arg").into_iter().map(|sourced| sourced.value).collect(),
            rank_output: launcher::local::OutputFlags {
                log_dir: self.raw_one("log-dir").map(|sourced| sourced.map(PathBuf::from)),
                prefix: self.sourced_switch("prefix"),
            },
            environment: EnvironmentFlags { set: self.assigned_variables(), unset: self.variable_names() },
            config_out: self.raw_one("config-out").map(|sourced| sourced.map(PathBuf::from)),
            record: self.raw_one("record").map(|sourced| sourced.map(PathBuf::from)),
            output: output(self),
            strict: self.switch("strict"),
            allow: self.rules(),
            warnings: self.unknown_variables(),
            options: Vec::new(),
            command,
        }
    }

    pub(super) fn size(&mut self, name: &'static str, example: &str) -> Option<Sourced<u64>> {
        self.measured(name, example, crate::fit::bytes)
    }

    /// A number with a unit.
    pub(super) fn measured(
        &mut self,
        name: &'static str,
        example: &str,
        read: fn(&str) -> Option<u64>,
    ) -> Option<Sourced<u64>> {
        let sourced = self.text(name)?;
        let size = read(&sourced.value);
        if size.is_none() {
            self.problems.push(report::not_a_size(&sourced, example));
        }
        size.map(|size| Sourced::new(size, sourced.from))
    }

    pub(super) fn search(&self) -> Search {
        let flags = self.flags("template-dir").map(PathBuf::from);
        Search::new(flags.collect(), self.host)
    }

    pub(super) fn output(&mut self) -> Output {
        let formats = [("text", Format::Text), ("json", Format::Json), ("shell", Format::Shell)];
        // A report is nothing to run.
        let report = self.mode != Mode::Launch;
        let format = self.one_of("format", formats.into_iter().take(if report { 2 } else { 3 }));
        let dry_run = self.switch("dry-run") || report;
        if let (Some(Sourced { from: Source::Flag(_), .. }), false) = (&format, dry_run) {
            self.problems.push(report::format_without_dry_run());
        }
        Output {
            dry_run: dry_run.then(|| format.map_or(Format::Text, |sourced| sourced.value)),
            quiet: self.switch("quiet"),
            verbose: self.switch("verbose"),
            check: self.mode == Mode::Check,
        }
    }

    /// The flag, else the variable.
    pub(super) fn raw_one(&self, name: &'static str) -> Option<Sourced<OsString>> {
        let flag = self.flags(name).next_back().map(|value| Sourced::new(value.clone(), flag(name)));
        flag.or_else(|| self.variable(name))
    }

    /// The variable's lines, then the flags: what is said later wins.
    pub(super) fn raw_many(&self, name: &'static str) -> Vec<Sourced<OsString>> {
        let variable = self.variable(name).into_iter().flat_map(|sourced| {
            let text = sourced.value.as_bytes();
            let lines = text.strip_suffix(b"\n").unwrap_or(text).split(|byte| *byte == b'\n');
            let lines = lines.map(|line| OsStr::from_bytes(line.strip_suffix(b"\r").unwrap_or(line)).to_os_string());
            lines.map(|line| Sourced::new(line, sourced.from.clone())).collect::<Vec<_>>()
        });
        variable.chain(self.flags(name).map(|value| Sourced::new(value.clone(), flag(name)))).collect()
    }

    /// The values of an option on the command line. clap may not know it, where it was not given.
    pub(super) fn flags(&self, name: &str) -> impl DoubleEndedIterator<Item = &'a OsString> {
        self.matches.try_get_many(name).ok().flatten().into_iter().flatten()
    }

    pub(super) fn variable(&self, name: &str) -> Option<Sourced<OsString>> {
        // Most launches have none: then no name is even spelled. Options of sub-commands have none at all.
        self.variables().next()?;
        OPTIONS.iter().find(|option| option.name == name)?;
        let variable = variable_of(name);
        let value = self.host.raw(&variable).filter(|value| !value.is_empty())?;
        Some(Sourced::new(value.to_os_string(), Source::Variable(variable)))
    }

    pub(super) fn readable(&mut self, sourced: Sourced<OsString>) -> Option<Sourced<String>> {
        match sourced.value.into_string() {
            Ok(text) => Some(Sourced::new(text, sourced.from)),
            Err(odd) => {
                self.problems.push(report::not_text(&sourced.from.to_string(), &odd));
                None
            }
        }
    }

    pub(super) fn text(&mut self, name: &'static str) -> Option<Sourced<String>> {
        let sourced = self.raw_one(name)?;
        self.readable(sourced)
    }

    pub(super) fn text_many(&mut self, name: &'static str) -> Vec<Sourced<String>> {
        self.raw_many(name).into_iter().filter_map(|sourced| self.readable(sourced)).collect()
    }

    pub(super) fn switch(&mut self, name: &'static str) -> bool {
        self.sourced_switch(name).is_some()
    }

    /// Who turned it on.
    pub(super) fn sourced_switch(&mut self, name: &'static str) -> Option<Source> {
        if self.matches.try_get_one(name).ok().flatten() == Some(&true) {
            return Some(flag(name));
        }
        let sourced = self.variable(name).and_then(|sourced| self.readable(sourced))?;
        match sourced.value.to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Some(sourced.from),
            "0" | "false" | "no" | "off" => None,
            _ => {
                self.problems.push(report::not_a_switch(&sourced));
                None
            }
        }
    }

    pub(super) fn one_of<T: Copy>(
        &mut self,
        name: &'static str,
        known: impl IntoIterator<Item = (&'static str, T)>,
    ) -> Option<Sourced<T>> {
        let sourced = self.text(name)?;
        let known: Vec<_> = known.into_iter().collect();
        if let Some((_, value)) = known.iter().find(|(word, _)| *word == sourced.value) {
            return Some(Sourced::new(*value, sourced.from));
        }
        let words: Vec<_> = known.iter().map(|(word, _)| *word).collect();
        self.problems.push(report::not_one_of(&sourced, &words));
        None
    }

    pub(super) fn number<T: TryFrom<u64> + Into<u64>>(
        &mut self,
        name: &'static str,
        least: u64,
        most: T,
    ) -> Option<Sourced<T>> {
        let (sourced, most) = (self.text(name)?, most.into());
        match sourced.value.parse::<u64>().ok().filter(|n| (least..=most).contains(n)).and_then(|n| T::try_from(n).ok())
        {
            Some(number) => Some(Sourced::new(number, sourced.from)),
            None => {
                self.problems.push(report::not_a_number(
                    &sourced,
                    least,
                    most,
                    if name == "master-port" { "29500" } else { "1" },
                ));
                None
            }
        }
    }

    pub(super) fn processes(&mut self) -> Option<Sourced<Processes>> {
        let sourced = self.text("nproc-per-node")?;
        match sourced.value.parse() {
            Ok(processes) => Some(Sourced::new(processes, sourced.from)),
            Err(()) => {
                self.problems.push(report::not_a_number(&sourced, 1, u32::MAX.into(), "2"));
                None
            }
        }
    }

    pub(super) fn keys(&mut self, name: &'static str) -> Vec<Sourced<String>> {
        let sourced = self.text_many(name);
        let (good, bad): (Vec<_>, Vec<_>) = sourced.into_iter().partition(|sourced| is_dotted_key(&sourced.value));
        self.problems.extend(bad.iter().map(report::not_a_key));
        good
    }

    pub(super) fn assignments(&mut self) -> Vec<Sourced<(String, Value)>> {
        let mut found = Vec::new();
        for sourced in self.text_many("set") {
            match sourced.value.split_once('=') {
                Some((key, text)) if is_dotted_key(key) => {
                    let value = json::parse(text).unwrap_or_else(|_| Value::from(text));
                    found.push(Sourced::new((key.to_string(), value), sourced.from));
                }
                _ => self.problems.push(report::not_an_assignment(
                    &sourced,
                    "KEY=VALUE",
                    "zero_optimization.overlap_comm=true",
                )),
            }
        }
        found
    }

    pub(super) fn assigned_variables(&mut self) -> Vec<Sourced<(String, OsString)>> {
        let mut found = Vec::new();
        for sourced in self.text_many("env") {
            match sourced.value.split_once('=') {
                Some((name, value)) if vars::is_name(name) => {
                    found.push(Sourced::new((name.to_string(), OsString::from(value)), sourced.from));
                }
                _ => self.problems.push(report::not_an_assignment(&sourced, "K=V", "NCCL_DEBUG=INFO")),
            }
        }
        found
    }

    pub(super) fn rules(&mut self) -> Vec<String> {
        let sourced = self.text_many("allow");
        if sourced.is_empty() {
            return Vec::new();
        }
        let known = check::allowable();
        let (good, bad): (Vec<_>, Vec<_>) =
            sourced.into_iter().partition(|sourced| known.contains(&sourced.value.as_str()));
        self.problems.extend(bad.iter().map(|sourced| report::not_one_of(sourced, &known)));
        good.into_iter().map(|sourced| sourced.value).collect()
    }

    pub(super) fn variable_names(&mut self) -> Vec<Sourced<String>> {
        let (good, bad): (Vec<_>, Vec<_>) =
            self.text_many("unset-env").into_iter().partition(|sourced| vars::is_name(&sourced.value));
        self.problems.extend(bad.iter().map(report::not_a_variable_name));
        good
    }

    /// The `ZLAUNCH_*` variables that are set.
    pub(super) fn variables(&self) -> impl Iterator<Item = &str> {
        let ours = self
            .host
            .env
            .range::<OsStr, _>((Bound::Included(OsStr::new("ZLAUNCH_")), Bound::Excluded(OsStr::new("ZLAUNCH`"))));
        ours.filter_map(|(name, _)| name.to_str())
    }

    pub(super) fn unknown_variables(&self) -> Vec<Problem> {
        const OTHERS: &[&str] = &[vars::ZLAUNCH_LANG, vars::ZLAUNCH_SHIM, vars::ZLAUNCH_SHIM_OF];
        let is_option = |name: &&str| OPTIONS.iter().any(|option| variable_of(option.name) == **name);
        let unknown = self.variables().filter(|name| !OTHERS.contains(name) && !is_option(name));
        unknown
            .map(|name| {
                let known: Vec<_> = OPTIONS.iter().map(|option| variable_of(option.name)).collect();
                report::unknown_variable(name, report::nearest(name, known.iter().map(String::as_str)))
            })
            .collect()
    }
}

pub(super) fn flag(name: &str) -> Source {
    Source::Flag(format!("--{name}"))
}

fn is_dotted_key(key: &str) -> bool {
    !key.is_empty()
        && key.split('.').count() <= 32 // DeepSpeed's deepest key has seven parts
        && key.split('.').all(|part| !part.is_empty() && part.trim() == part)
}
