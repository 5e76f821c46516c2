//! Who starts the ranks: a launcher turns a job and a topology into the argv that is executed. One file each in
//! `launcher/`; here is what they share, and how a command that already starts with a launcher is taken apart.

mod deepspeed;
mod direct;
mod torchrun;

use std::ffi::{OsStr, OsString};
use std::fmt;

use crate::cli::{Processes, TopologyFlags};
use crate::error::{self, Problem};
use crate::host::Host;
use crate::said::{Said, Source};
use crate::topology::Topology;
use crate::trainer::argv::{Args, Field, OptionList, Takes, python_int};
use crate::trainer::{Family, Job, Target, base_name, is_python, is_script};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Torchrun,
    Deepspeed,
    Direct,
}

impl Kind {
    /// The words of `--launcher`.
    pub(crate) const NAMES: &'static [(&'static str, Option<Kind>)] = &[
        ("auto", None),
        ("torchrun", Some(Kind::Torchrun)),
        ("deepspeed", Some(Kind::Deepspeed)),
        ("direct", Some(Kind::Direct)),
    ];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Kind::NAMES.iter().find(|(_, kind)| *kind == Some(*self)).map_or("auto", |(name, _)| *name);
        f.write_str(name)
    }
}

/// Chooses the launcher and builds the argv around `args`, the trainer's arguments with the config in place.
pub(crate) fn choose(
    asked: Option<&Said<Kind>>,
    job: &Job,
    topology: &Topology,
    flags: &TopologyFlags,
) -> Result<Kind, Vec<Problem>> {
    if let Some(wrapped) = &job.wrapped {
        if let Some(asked) = asked.filter(|asked| asked.value != wrapped.kind) {
            return Err(vec![error::already_a_launcher(asked, wrapped.program())]);
        }
        let contradictions = wrapped.contradictions(flags);
        return if contradictions.is_empty() { Ok(wrapped.kind) } else { Err(contradictions) };
    }
    // What zlaunch does not know may be a launcher itself: it is never launched twice.
    let one = topology.already || topology.is_one_process() || job.trainer.family == Family::Opaque;
    let kind = asked.map_or(if one { Kind::Direct } else { Kind::Torchrun }, |asked| asked.value);
    match (kind, asked) {
        (Kind::Direct, Some(asked)) => direct::refuse(asked, job, topology),
        (Kind::Deepspeed, Some(asked)) => deepspeed::refuse(asked, topology),
        _ => Ok(()),
    }
    .map(|()| kind)
    .map_err(|problem| vec![problem])
}

/// The argv to execute.
pub(crate) fn argv(
    kind: Kind,
    job: &Job,
    topology: &Topology,
    flags: &TopologyFlags,
    extra: &[OsString],
    args: Vec<OsString>,
    host: &Host,
) -> Vec<OsString> {
    let mut words = match (&job.wrapped, kind) {
        (Some(wrapped), _) => wrapped.argv(job, flags, extra, host),
        (None, Kind::Torchrun) => torchrun::argv(job, topology, extra, host),
        (None, Kind::Deepspeed) => deepspeed::argv(job, topology, extra, host),
        (None, Kind::Direct) => direct::argv(job, host),
    };
    words.extend(args);
    words
}

/// The interpreter, or the word to blame if there is none.
fn python(job: &Job) -> OsString {
    job.python.as_ref().map_or_else(|| "python3".into(), |python| python.program.clone().into_os_string())
}

/// What a launcher runs as `python -u FILE`, as a module, or without Python.
enum Rank {
    File(OsString),
    Module(OsString),
    Words(Vec<OsString>),
}

fn rank(job: &Job, host: &Host) -> Rank {
    // Launchers start each rank with `python -u` and know no other option of the interpreter.
    let plain = |options: &[OsString]| options.iter().all(|option| option == "-u");
    match &job.target {
        Target::Script { options, path } if plain(options) => Rank::File(path.clone()),
        Target::Module { options, name } if plain(options) => Rank::Module(name.clone()),
        _ => Rank::Words(direct::argv(job, host)),
    }
}

/// A command that already starts with a launcher: its own flags stay.
pub(crate) struct Wrapped {
    pub(crate) kind: Kind,
    /// `torchrun`, `python -m torch.distributed.run`, `deepspeed`.
    head: Vec<OsString>,
    flags: Vec<OsString>,
    read: Args,
}

/// Splits `torchrun FLAGS script args` after the flags.
pub(crate) fn unwrap(command: &[OsString]) -> (Option<Wrapped>, &[OsString]) {
    let Some(first) = command.first() else { return (None, command) };
    let second_and_third = || (command.get(1).and_then(|it| it.to_str()), command.get(2).and_then(|it| it.to_str()));
    let (kind, head) = match base_name(first) {
        "torchrun" => (Kind::Torchrun, 1),
        "deepspeed" => (Kind::Deepspeed, 1),
        _ if is_python(first) => match second_and_third() {
            (Some("-m"), Some("torch.distributed.run" | "torch.distributed.launch")) => (Kind::Torchrun, 3),
            (Some("-m"), Some("deepspeed.launcher.runner")) => (Kind::Deepspeed, 3),
            _ => return (None, command),
        },
        _ => return (None, command),
    };
    let (options, short_without_value, fields) = match kind {
        Kind::Deepspeed => (deepspeed::OPTIONS, deepspeed::SHORT_WITHOUT_VALUE, deepspeed::FIELDS),
        _ => (torchrun::OPTIONS, torchrun::SHORT_WITHOUT_VALUE, torchrun::FIELDS),
    };
    let end = head + count_flags(&command[head..], options, short_without_value);
    let flags = command[head..end].to_vec();
    let read = Args::read(with_long_names(&flags), fields, OptionList::Known(options));
    (Some(Wrapped { kind, head: command[..head].to_vec(), flags, read }), &command[end..])
}

/// `-m` is the one short option whose meaning is needed.
fn with_long_names(flags: &[OsString]) -> Vec<OsString> {
    flags.iter().map(|flag| if flag == "-m" { "--module".into() } else { flag.clone() }).collect()
}

/// How many words from the start are options and their values.
fn count_flags(words: &[OsString], options: &str, short_without_value: &[&str]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at).and_then(|word| word.to_str()).filter(|word| word.starts_with('-')) {
        at += 1;
        if word == "--" {
            break;
        }
        let alone = match word.strip_prefix("--") {
            Some(name) => name.contains('=') || takes_nothing(&name.replace('-', "_"), options),
            None => short_without_value.contains(&word) || word.len() > 2,
        };
        if !alone {
            at += 1;
        }
    }
    at.min(words.len())
}

/// Whether the option, or the one it abbreviates, takes no value.
fn takes_nothing(name: &str, options: &str) -> bool {
    let exact = options.lines().find(|line| line.trim_end_matches(['!', '?']) == name);
    exact.or_else(|| options.lines().find(|line| line.starts_with(name))).is_some_and(|line| line.ends_with('!'))
}

impl Wrapped {
    /// The word that names the launcher.
    pub(crate) fn program(&self) -> &OsStr {
        self.head.last().map_or(OsStr::new(""), OsString::as_os_str)
    }

    /// The interpreter, where the command names one.
    pub(crate) fn python(&self) -> Option<&OsStr> {
        self.head.first().filter(|_| self.head.len() > 1).map(OsString::as_os_str)
    }

    pub(crate) fn target(&self, words: &[OsString]) -> Target {
        let first = words.first().cloned().unwrap_or_default();
        if self.read.is_given("module") {
            return Target::module(first);
        }
        // A console script such as `swift`: no launcher could run it, we can.
        let console = !is_script(&first) && !first.as_encoded_bytes().contains(&b'/');
        if self.read.is_given("no_python") || console { Target::Program(first) } else { Target::script(first) }
    }

    /// The processes per machine the flags state.
    pub(crate) fn processes(&self) -> Option<Said<Processes>> {
        match self.kind {
            Kind::Deepspeed => deepspeed::processes(&self.read),
            _ => torchrun::processes(&self.read),
        }
    }

    /// The machines the flags state; `None` if they leave it open.
    pub(crate) fn nnodes(&self, host: &Host) -> Option<Said<u32>> {
        match self.kind {
            Kind::Deepspeed => deepspeed::nnodes(&self.read),
            _ => torchrun::nnodes(&self.read, host),
        }
    }

    fn names(&self) -> &'static [(&'static str, &'static str)] {
        match self.kind {
            Kind::Deepspeed => deepspeed::SAME,
            _ => torchrun::SAME,
        }
    }

    /// Our topology flags as (name, place, value).
    fn asked(flags: &TopologyFlags) -> Vec<(&'static str, String, String)> {
        let TopologyFlags { nnodes, node_rank, nproc_per_node, master_addr, master_port } = flags;
        let numbers = [("nnodes", nnodes), ("node-rank", node_rank)];
        let mut asked: Vec<_> = numbers
            .into_iter()
            .filter_map(|(name, said)| said.as_ref().map(|said| (name, said.place(), said.value.to_string())))
            .collect();
        asked.extend(nproc_per_node.as_ref().map(|said| {
            let value = match said.value {
                Processes::Count(count) => count.to_string(),
                Processes::Gpus => "gpu".to_string(),
                Processes::Cpus => "cpu".to_string(),
            };
            ("nproc-per-node", format!("{} {value}", said.from), value)
        }));
        asked.extend(master_addr.as_ref().map(|said| ("master-addr", said.place(), said.value.clone())));
        asked.extend(master_port.as_ref().map(|said| ("master-port", said.place(), said.value.to_string())));
        asked
    }

    /// What zlaunch was told and the command says otherwise.
    fn contradictions(&self, flags: &TopologyFlags) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (name, place, value) in Self::asked(flags) {
            let there = self.names().iter().find(|(here, _)| *here == name).map(|(_, there)| *there);
            match there.map(|there| self.read.text(there)) {
                None => problems.push(error::launcher_has_no_such_flag(&place, self.program())),
                Some(Some(stated)) if stated.value != value => problems.push(error::contradiction(&place, &stated)),
                _ => {}
            }
        }
        problems
    }

    fn argv(&self, job: &Job, flags: &TopologyFlags, extra: &[OsString], host: &Host) -> Vec<OsString> {
        let console = job.trainer.family == Family::Opaque;
        let rewritten = !console && job.python.is_some() && self.ran_a_console_script(job);
        let mut words = if rewritten {
            let module = if self.kind == Kind::Deepspeed { deepspeed::MODULE } else { torchrun::MODULE };
            vec![python(job), "-m".into(), module.into()]
        } else {
            let mut head = self.head.clone();
            if let Some(path) = host.find_program(&head[0]) {
                head[0] = path.into_os_string();
            }
            head
        };
        words.extend(self.flags.iter().cloned());
        for (name, _, value) in Self::asked(flags) {
            let there = self.names().iter().find(|(here, _)| *here == name).map(|(_, there)| *there);
            if let Some(there) = there.filter(|there| !self.read.is_given(there)) {
                words.extend([format!("--{there}").into(), value.into()]);
            }
        }
        words.extend(extra.iter().cloned());
        match &job.target {
            Target::Module { name, .. } if !self.read.is_given("module") => {
                words.extend(["--module".into(), name.clone()]);
            }
            Target::Module { name: word, .. } | Target::Script { path: word, .. } | Target::Program(word) => {
                words.push(word.clone());
            }
        }
        words
    }

    /// The command named a console script and the front end found what is behind it.
    fn ran_a_console_script(&self, job: &Job) -> bool {
        !self.read.is_given("no_python")
            && match &job.target {
                Target::Module { .. } => !self.read.is_given("module"),
                Target::Script { path, .. } => job
                    .python
                    .as_ref()
                    .and_then(|it| it.site.as_ref())
                    .is_some_and(|site| std::path::Path::new(path).starts_with(site)),
                Target::Program(_) => false,
            }
    }
}

/// torchrun's words for a number of processes.
fn processes(said: Said<String>) -> Option<Said<Processes>> {
    let value = match said.value.as_str() {
        "auto" | "gpu" => Processes::Gpus,
        "cpu" => Processes::Cpus,
        text => Processes::Count(u32::try_from(python_int(text)?).ok()?),
    };
    Some(Said::new(value, said.from))
}

fn count(said: &Said<String>) -> Option<Said<u32>> {
    let value = u32::try_from(python_int(&said.value)?).ok()?;
    Some(Said::new(value, said.from.clone()))
}

const VALUE: Takes = Takes::One;
const FLAG: Takes = Takes::Nothing;
type Fields = &'static [Field];

fn default<T>(value: T) -> Said<T> {
    Said::new(value, Source::Default)
}
