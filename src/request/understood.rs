//! What is known before the first decision: the command, parsed and understood, and the machine with the variables the
//! launch will see. `plan` and `fit` both start here.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};

use crate::base::bytes::object_in_base64;
use crate::base::shell;
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::command::prefix::Prefix;
use crate::command::target::ParsedCommand;
use crate::command::trainer::{self, Job};
use crate::host::Host;
use crate::ranks::launcher::srun::SrunPrefix;
use crate::ranks::launcher::{self, ExistingLauncher, Launcher};
use crate::ranks::topology::Topology;
use crate::report::{self, Problem, Rule};
use crate::request::Launch;

pub(crate) struct UnderstoodLaunch<'a> {
    pub(crate) launch: &'a Launch,
    /// The machine with the variables that the user and the front end set.
    pub(crate) host: Cow<'a, Host>,
    /// What the command starts with, and zlaunch goes behind.
    pub(crate) wrapper: Option<Wrapper<'a>>,
    /// The launcher that the command starts with, behind a wrapper or not.
    pub(crate) existing_launcher: Option<ExistingLauncher>,
    pub(crate) job: Job,
}

/// Words in front of a command that stay there.
pub(crate) enum Wrapper<'a> {
    Srun(SrunPrefix<'a>),
    /// `reaches_srun`: one of the words behind it is `srun`.
    Prefix {
        prefix: Box<Prefix>,
        reaches_srun: bool,
    },
}

impl<'a> UnderstoodLaunch<'a> {
    pub(crate) fn new(launch: &'a Launch, machine: &'a Host) -> Self {
        let flags = &launch.environment;
        if let Some(prefix) = Prefix::split(&launch.command) {
            let host = host_behind(&prefix, machine).with(&flags.set, &flags.unset).into_owned();
            let srun = SrunPrefix::split(&prefix.command);
            let reaches_srun = srun.is_some();
            let understood = match srun {
                Some(srun) => Self::behind_srun(launch, Cow::Owned(host), &srun),
                None => Self::of_command(launch, Cow::Owned(host), &prefix.command),
            };
            if understood.is_understood() {
                let wrapper = Some(Wrapper::Prefix { prefix: Box::new(prefix), reaches_srun });
                return UnderstoodLaunch { wrapper, ..understood };
            }
        }
        let host = machine.with(&flags.set, &flags.unset);
        if let Some(srun) = SrunPrefix::split(&launch.command) {
            let understood = Self::behind_srun(launch, host.clone(), &srun);
            // What `srun` starts is not for zlaunch to change, unless it is a training.
            if understood.existing_launcher.is_some() || !understood.job.trainer.is_passthrough() {
                return UnderstoodLaunch { wrapper: Some(Wrapper::Srun(srun)), ..understood };
            }
        }
        Self::of_command(launch, host, &launch.command)
    }

    /// Behind `srun` another prefix may stand: there zlaunch goes behind it on each node.
    fn behind_srun(launch: &'a Launch, host: Cow<'a, Host>, srun: &SrunPrefix<'_>) -> Self {
        match Prefix::split(srun.command) {
            Some(prefix) => Self::of_command(launch, Cow::Owned(host_behind(&prefix, &host)), &prefix.command),
            None => Self::of_command(launch, host, srun.command),
        }
    }

    /// The command itself.
    fn of_command(launch: &'a Launch, mut host: Cow<'a, Host>, command: &[OsString]) -> Self {
        let (existing_launcher, parts) = match ExistingLauncher::split(command) {
            Some((launcher, parts)) => (Some(launcher), parts),
            None => (None, ParsedCommand::parse(command)),
        };
        // `accelerate env` trains nothing.
        let passthrough = || Sourced::new(trainer::passthrough(), Source::Default);
        let other = (existing_launcher.is_none() && ExistingLauncher::is_one(command)).then(passthrough);
        let mut job = trainer::recognise(&parts, launch.trainer.as_ref().or(other.as_ref()), &host);
        // The launcher takes the config, so the script's run file stays as it is.
        if existing_launcher.as_ref().is_some_and(ExistingLauncher::takes_config) {
            job.run_file = None;
        }
        for variable in &job.variables {
            host.to_mut().env.insert(OsString::from(&variable.name), OsString::from(&variable.value));
        }
        UnderstoodLaunch { launch, host, wrapper: None, existing_launcher, job }
    }

    /// The ranks and the machines. Behind `srun` they are on other machines, which decide for themselves.
    pub(crate) fn topology(&self) -> Result<Topology, Vec<Problem>> {
        let Launch { topology: flags, hosts, launcher, .. } = self.launch;
        match &self.wrapper {
            Some(Wrapper::Srun(srun)) => {
                srun.check(&self.host)?;
                return Ok(Topology::of_srun_tasks(&self.host));
            }
            Some(Wrapper::Prefix { reaches_srun: true, .. }) => return Ok(Topology::of_srun_tasks(&self.host)),
            _ => {}
        }
        if let Some(existing) = &self.existing_launcher {
            let mut contradictions = existing.contradictions(flags, &self.host);
            contradictions
                .extend(hosts.flags().map(|sourced| report::hosts_of_the_command(&sourced, &existing.name())));
            let stated = existing.rank_flags(flags, &self.host);
            if !contradictions.is_empty() {
                return Err(contradictions);
            }
            self.judge_alone(existing)?;
            return Ok(Topology::of_existing_launcher(flags, stated, &self.host));
        }
        let asked = launcher.as_ref().is_some_and(|asked| asked.value != Launcher::Direct && asked.from.is_flag());
        let sourced = || flags.nproc_per_node.is_some() || flags.nnodes.is_some() || Topology::is_scheduled(&self.host);
        let ranked = asked || self.job.trainer.launch.has_own_launcher && sourced();
        let topology = Topology::decide(flags, hosts, ranked || !self.job.trainer.is_passthrough(), &self.host)?;
        match topology.size_problem() {
            Some(problem) => Err(vec![problem]),
            None => Ok(topology),
        }
    }

    /// A launcher that is not told of other machines is judged like any other command: it must not train alone.
    fn judge_alone(&self, existing: &ExistingLauncher) -> Result<(), Vec<Problem>> {
        let Launch { topology: flags, command, trainer, .. } = self.launch;
        // What a shim was asked for and zlaunch does not handle runs unchanged.
        let is_ours = trainer.as_ref().is_none_or(|trainer| trainer.from != Source::Default);
        if !is_ours || flags.nnodes.is_some() || existing.states_machines(&self.host) {
            return Ok(());
        }
        let options = self.launch.forwarded_options();
        let zlaunch = |words: &[OsString]| [&["zlaunch".into()], &options[..], &["--".into()], words].concat();
        let words = zlaunch(&existing.left_out(command));
        let job = Topology::without_launcher(flags, &Host { words, ..self.host.clone().into_owned() })?;
        let line = |words: &[OsString]| shell::line(&zlaunch(words)).to_string_lossy().into_owned();
        existing.not_told(&job, command, &self.host, line).map_or(Ok(()), |problem| Err(problem.into()))
    }

    /// Who starts the ranks.
    pub(crate) fn launcher(&self, topology: &Topology) -> Result<Launcher, Vec<Problem>> {
        let asked = self.launch.launcher.as_ref();
        let kind = match &self.existing_launcher {
            _ if matches!(self.wrapper, Some(Wrapper::Srun(_))) => Launcher::Srun,
            Some(existing) => match asked.filter(|asked| asked.from.is_flag() && asked.value != existing.spec.launcher)
            {
                Some(asked) => return Err(vec![report::already_a_launcher(asked, &existing.name())]),
                None => existing.spec.launcher,
            },
            None => launcher::choose(asked, &self.launch.rank_output, &self.job, topology)?,
        };
        let problems = launcher::check_extra(kind, &self.launch.launcher_args);
        let kind = self.prefix().map_or(kind, |prefix| Launcher::Prefix(prefix.name()));
        if problems.is_empty() { Ok(kind) } else { Err(problems) }
    }

    /// The words behind a prefix, or all of them.
    pub(crate) fn command(&self) -> &[OsString] {
        self.prefix().map_or(&self.launch.command, |prefix| &prefix.command)
    }

    pub(crate) fn prefix(&self) -> Option<&Prefix> {
        match &self.wrapper {
            Some(Wrapper::Prefix { prefix, .. }) => Some(prefix),
            _ => None,
        }
    }

    /// Whether what is missing here may be there where the command runs.
    pub(crate) fn runs_elsewhere(&self) -> bool {
        match &self.wrapper {
            Some(Wrapper::Srun(_)) => true,
            Some(Wrapper::Prefix { prefix, reaches_srun }) => *reaches_srun || prefix.own_python.is_some(),
            None => false,
        }
    }

    /// Whether a front end knows the command.
    pub(crate) fn is_understood(&self) -> bool {
        self.job.trainer.name != trainer::PASSTHROUGH || self.existing_launcher.is_some()
    }

    /// `--nproc-per-node` for a command that runs as one process.
    pub(crate) fn ranks_without_effect(&self) -> Option<Problem> {
        let job = &self.job;
        let once = job.trainer.is_passthrough() && !job.trainer.launch.has_own_launcher;
        let once = once && self.launch.launcher.is_none() && self.existing_launcher.is_none();
        // That it is not there, or takes no config, says more.
        let once = once && job.blocker.is_none() && self.launch.deepspeed.is_none();
        let asked = self.launch.topology.nproc_per_node.as_ref().filter(|_| once)?;
        let starts_ranks = job.starts_ranks || job.no_config.is_some();
        Some(report::ranks_without_effect(&asked.from, job.target.name(), starts_ranks))
    }

    /// The config that the command names.
    pub(crate) fn own_config(&self) -> Option<Sourced<String>> {
        let UnderstoodLaunch { job, existing_launcher, .. } = self;
        let trainers = (!job.trainer.is_passthrough()).then(|| job.own_config(&self.host)).flatten();
        let own = trainers.or_else(|| existing_launcher.as_ref()?.config(job, &self.host))?;
        let text = job.trainer.config.reads_base64.then(|| object_in_base64(&own.value)).flatten();
        Some(Sourced { value: text.unwrap_or(own.value), from: own.from })
    }

    /// What the trainer means by the word in its own argument, where that is a file: in its package, or in the current
    /// folder. A template of that name in one of the user's folders is meant to change it.
    pub(crate) fn own_file(&self, own: Sourced<String>) -> Sourced<String> {
        let (job, search) = (&self.job, &self.launch.search);
        let is_argument = job.args.is_given((job.trainer.config.argument)(&job.args));
        let is_word = || search.knows(&own.value) || job.ships_config(&own.value);
        if !is_argument || !is_word() || search.is_adjusted(&own.value) {
            return own;
        }
        match job.own_file(&own.value, &self.host) {
            Some(path) => own.map(|_| path.to_string_lossy().into_owned()),
            None => own,
        }
    }

    /// Why a config that the trainer ships cannot be read here.
    pub(crate) fn missing_shipped_config(&self, spec: &Sourced<String>) -> Option<Problem> {
        let job = &self.job;
        let stands_alone = job.trainer.config.shipped.is_some_and(|shipped| !shipped.has_stand_ins);
        let missing = stands_alone && matches!(spec.from, Source::Argument(_)) && job.ships_config(&spec.value);
        let name = job.trainer.name;
        let what = format!("`{}` is a config of {name}'s package, and the package is not found here", spec.value);
        let problem = || Problem::error(Rule::Template, what).at(spec).fix("give the path of the JSON file");
        missing.then(|| job.blocker.clone().unwrap_or_else(problem))
    }

    /// Whether a command that came through a shim is a training with a config: its own, or one that the site sets for
    /// all trainers. Trainers treat an empty value as no config.
    pub(crate) fn should_handle(&self) -> bool {
        let asks = |word: &OsString| word == "--help" || word == "-h";
        let given = || self.takes_config() && !self.launch.command.iter().any(asks);
        self.own_config().is_some_and(|own| !own.value.is_empty()) || self.launch.deepspeed.is_some() && given()
    }

    /// The config can be given to the launcher of the command, or to the script.
    pub(crate) fn takes_config(&self) -> bool {
        self.job.no_config.is_none() && (self.launcher_takes_config() || self.job.takes_config())
    }

    /// The config is given to the launcher of the command, not to the script.
    pub(crate) fn launcher_takes_config(&self) -> bool {
        self.existing_launcher.as_ref().is_some_and(ExistingLauncher::takes_config)
    }
}

/// The machine as a command behind these words sees it.
fn host_behind(prefix: &Prefix, machine: &Host) -> Host {
    let mut host = machine.clone();
    for name in &prefix.unset {
        host.env.remove(name);
    }
    host.env.extend(prefix.set.iter().cloned());
    if prefix.own_python.is_some() {
        // The programs that are found here are not the ones that will run.
        host.env.remove(OsStr::new(vars::PATH));
    }
    host
}

/// Whether a shim made this launch. It adds no options to the command, and its variable only counts for that command.
pub(crate) fn is_asked_by_shim(launch: &Launch, host: &Host) -> bool {
    let of = host.var_os(vars::ZLAUNCH_SHIM_OF);
    of.is_some() && of == launch.command.first().map(OsString::as_os_str) && launch.options == ["--"]
}
