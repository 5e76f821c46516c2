//! A command that already starts with a launcher. Its own flags stay and the ranks they state are believed; only what
//! they leave open can be said to zlaunch.

use std::ffi::{OsStr, OsString};

use super::runner::{Counts, Flags, OwnConfig, Runner};
use super::{accelerate, deepspeed, python, torchrun};
use crate::base::python_value;
use crate::base::source::Sourced;
use crate::command::argv::Args;
use crate::command::target::{ParsedCommand, Target, base_name, is_python, is_script};
use crate::command::trainer::{self, Job};
use crate::host::Host;
use crate::ranks::topology::{Processes, RankFlags, Topology};
use crate::report::{self, Problem};

/// Every launcher a command may start with.
pub(super) const RUNNERS: &[&Runner] = &[&torchrun::RUNNER, &deepspeed::RUNNER, &accelerate::RUNNER];

pub(crate) struct Wrapped {
    pub(crate) runner: &'static Runner,
    /// `torchrun`, `python -m torch.distributed.run`, `accelerate launch`.
    head: Vec<OsString>,
    flags: Vec<OsString>,
    pub(crate) read: Args,
}

/// Splits `torchrun FLAGS script args`. A launcher without a script (`torchrun --help`) is no launch.
pub(crate) fn unwrap(command: &[OsString]) -> Option<(Wrapped, ParsedCommand)> {
    let (runner, head) = RUNNERS.iter().find_map(|runner| Some((*runner, runner.head(command)?)))?;
    let end = head + runner.count_flags(&command[head..]);
    let flags = command[head..end].to_vec();
    let mut rest = &command[end..];
    if rest.first().is_some_and(|word| word == "--") {
        rest = &rest[1..];
    }
    let (first, args) = rest.split_first()?;
    let read = runner.read(&flags);
    let wrapped = Wrapped { runner, head: command[..head].to_vec(), flags, read };
    let target = wrapped.target(first);
    let python = (head > 2 || is_python(&command[0])).then(|| command[0].clone());
    let owner = if matches!(target, Target::Program(_)) { first.clone() } else { command[0].clone() };
    Some((wrapped, ParsedCommand { target, args: args.to_vec(), python, owner: Some(owner) }))
}

impl Wrapped {
    /// The word that names the launcher.
    pub(crate) fn name(&self) -> &str {
        let program = || base_name(self.head.last().map_or(OsStr::new(""), OsString::as_os_str));
        self.runner.title.unwrap_or_else(program)
    }

    fn target(&self, first: &OsString) -> Target {
        if self.read.is_given("module") {
            return Target::module(first);
        }
        // A console script such as `swift`: no launcher could run it, we can.
        let bare = !is_script(first) && !first.as_encoded_bytes().contains(&b'/');
        let console = bare || trainer::is_console(first);
        if self.read.is_given("no_python") || console { Target::Program(first.clone()) } else { Target::script(first) }
    }

    /// What the flags state, completed by ours where they leave it open.
    pub(crate) fn stated(&self, flags: &RankFlags, host: &Host) -> RankFlags {
        let mut stated = (self.runner.stated)(&self.read, host);
        if !self.states_count()
            && let Some(nproc) = &flags.nproc_per_node
        {
            stated.nproc_per_node = Some(nproc.clone());
        }
        if !self.read.is_given(self.name_of("nnodes"))
            && let Some(nnodes) = &flags.nnodes
        {
            stated.nnodes = Some(nnodes.clone());
        }
        stated
    }

    fn states_count(&self) -> bool {
        self.runner.count.iter().any(|name| self.read.is_given(name))
    }

    fn name_of(&self, ours: &str) -> &'static str {
        self.runner.same.iter().find(|(here, _)| *here == ours).map_or("", |(_, there)| *there)
    }

    /// What zlaunch was told and the command says otherwise. A variable serves a whole site and gives way.
    pub(crate) fn contradictions(&self, flags: &RankFlags, host: &Host) -> Vec<Problem> {
        let stated = (self.runner.stated)(&self.read, host);
        let mut problems = Vec::new();
        if let Some(asked) = flags.nproc_per_node.as_ref().filter(|asked| self.states_count() && asked.from.is_flag()) {
            let same = stated.nproc_per_node.as_ref().is_some_and(|stated| stated.value == asked.value);
            if !same {
                let there = self.runner.count.iter().find_map(|name| self.read.text(name));
                problems.push(report::contradiction(
                    &asked.place(),
                    &there.map(|sourced| sourced.place()).unwrap_or_default(),
                ));
            }
        }
        for (name, asked) in numbers(flags) {
            let there = self.read.text(self.name_of(name)).filter(|_| asked.from.is_flag());
            if let Some(there) = there.filter(|there| !same_value(&there.value, &asked.value)) {
                problems.push(report::contradiction(&asked.place(), &there.place()));
            }
        }
        problems
    }

    /// The config a flag of the launcher names, or its run file.
    pub(crate) fn config(&self, host: &Host) -> Option<Sourced<String>> {
        let own = self.runner.config.as_ref()?;
        self.read.text(own.option).or_else(|| (own.in_file)(&self.read, host))
    }

    /// The config can be handed to the launcher itself.
    pub(crate) fn takes_config(&self) -> bool {
        self.runner.config.is_some()
    }

    /// How the launcher takes the config, unless the command takes it.
    fn handed(&self, job: &Job) -> Option<&OwnConfig> {
        self.runner.config.as_ref().filter(|_| !job.args.is_given("deepspeed"))
    }

    /// The variables with which torchrun does the same without this launcher, where that is so.
    pub(crate) fn as_torchrun(
        &self,
        job: &Job,
        topology: &Topology,
        config: Option<&OsStr>,
        host: &Host,
    ) -> Option<Vec<(&'static str, OsString)>> {
        let (own, config) = self.handed(job).zip(config)?;
        topology.nproc_per_node.as_ref().filter(|_| topology.can_rendezvous())?;
        let several_machines = topology.nnodes.as_ref().is_some_and(|nnodes| nnodes.value > 1);
        let flags = Flags { words: &self.flags, read: &self.read, several_machines };
        (own.as_torchrun)(&flags, config, host)
    }

    /// The whole command: the launcher with its flags, ours where they leave something open, the target and its
    /// arguments with the config in place.
    pub(crate) fn argv(
        &self,
        job: &Job,
        flags: &RankFlags,
        topology: &Topology,
        extra: &[OsString],
        config: Option<&OsStr>,
        host: &Host,
    ) -> Vec<OsString> {
        let to_launcher = self.handed(job).zip(config);
        let mut words = self.head_words(job, host);
        let own = match to_launcher {
            Some((own, config)) if self.read.is_given(own.option) => self.read.with(own.option, config),
            _ => self.flags.clone(),
        };
        let no_python = |flag: &OsString| flag == "--no_python" || flag == "--no-python";
        words.extend(own.into_iter().filter(|flag| !(job.rewritten && no_python(flag))));
        if let Some((own, config)) = to_launcher.filter(|(own, _)| !self.read.is_given(own.option)) {
            let switch = (!self.read.is_given(own.switch)).then(|| OsString::from(format!("--{}", own.switch)));
            words.extend(switch.into_iter().chain([format!("--{}", own.option).into(), config.to_os_string()]));
        }
        words.extend(self.open_words(flags, topology));
        words.extend(extra.iter().cloned());
        match &job.target {
            Target::Module { name, .. } if !self.read.is_given("module") => {
                words.extend(["--module".into(), name.clone()]);
            }
            Target::Module { name: word, .. } | Target::Script { path: word, .. } | Target::Program(word) => {
                words.push(word.clone());
            }
        }
        words.extend(job.rank_args(config.filter(|_| to_launcher.is_none())));
        words
    }

    /// Our topology flags that the command leaves open, in its own spelling.
    fn open_words(&self, flags: &RankFlags, topology: &Topology) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        let count = flags.nproc_per_node.as_ref().filter(|_| !self.states_count());
        let counted = topology.nproc_per_node.as_ref().map(|sourced| sourced.value);
        let machines = topology.nnodes.as_ref().map_or(1, |sourced| sourced.value);
        let written = |sourced: &Sourced<Processes>| match (self.runner.counts, counted) {
            (Counts::EachInWords, _) | (_, None) => sourced.value.to_string(),
            (Counts::Each, Some(count)) => count.to_string(),
            (Counts::All, Some(count)) => (u64::from(count) * u64::from(machines)).to_string(),
        };
        let mut open: Vec<(&str, String)> =
            count.map(|sourced| ("nproc-per-node", written(sourced))).into_iter().collect();
        open.extend(numbers(flags).into_iter().map(|(name, sourced)| (name, sourced.value)));
        for (ours, value) in open {
            let there = self.name_of(ours);
            if !there.is_empty() && !self.read.is_given(there) {
                words.extend([format!("--{there}").into(), value.into()]);
            }
        }
        words
    }

    /// A front end behind a console script needs the interpreter of that script.
    fn head_words(&self, job: &Job, host: &Host) -> Vec<OsString> {
        if job.rewritten && job.python.is_some() {
            return vec![python(job), "-m".into(), self.runner.module.into()];
        }
        let mut head = self.head.clone();
        if let Some(path) = host.find_program(&head[0]) {
            head[0] = path.into_os_string();
        }
        head
    }
}

/// Our topology flags besides the number of processes, as text.
fn numbers(flags: &RankFlags) -> Vec<(&'static str, Sourced<String>)> {
    let RankFlags { nnodes, node_rank, nproc_per_node: _, master_addr, master_port } = flags;
    let text = |sourced: &Sourced<u32>| sourced.clone().map(|value| value.to_string());
    [
        ("nnodes", nnodes.as_ref().map(text)),
        ("node-rank", node_rank.as_ref().map(text)),
        ("master-addr", master_addr.clone()),
        ("master-port", master_port.clone().map(|sourced| sourced.map(|value| value.to_string()))),
    ]
    .into_iter()
    .filter_map(|(name, sourced)| Some((name, sourced?)))
    .collect()
}

fn same_value(one: &str, two: &str) -> bool {
    one == two || python_value::int(one).is_some_and(|number| python_value::int(two) == Some(number))
}
