//! What is known before the first decision: the command, parsed and understood, and the machine with the variables the
//! launch will see. `plan` and `fit` both start here.

use std::borrow::Cow;
use std::ffi::OsString;

use crate::base::base64;
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::command::target::ParsedCommand;
use crate::command::trainer::{self, Job};
use crate::host::Host;
use crate::ranks::launcher::srun::SrunPrefix;
use crate::ranks::launcher::{self, ExistingLauncher, Launcher};
use crate::ranks::topology::Topology;
use crate::report::{self, Problem};
use crate::request::Launch;

pub(crate) struct Draft<'a> {
    pub(crate) launch: &'a Launch,
    /// The machine with the variables that the user and the front end set.
    pub(crate) host: Cow<'a, Host>,
    /// The command starts with `srun`.
    pub(crate) srun_prefix: Option<SrunPrefix<'a>>,
    /// The command starts with a launcher, behind `srun` or not.
    pub(crate) wrapped: Option<ExistingLauncher>,
    pub(crate) job: Job,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(launch: &'a Launch, machine: &'a Host) -> Self {
        let mut host = machine.with(&launch.environment.set, &launch.environment.unset);
        let mut srun_prefix = SrunPrefix::split(&launch.command);
        let command = srun_prefix.as_ref().map_or(launch.command.as_slice(), |srun_prefix| srun_prefix.command);
        let (wrapped, parts) = match ExistingLauncher::split(command) {
            Some((wrapped, parts)) => (Some(wrapped), parts),
            None => (None, ParsedCommand::parse(command)),
        };
        let mut job = trainer::recognise(&parts, launch.trainer.as_ref(), &host);
        // What `srun` starts is not for zlaunch to change, so the command runs as it is.
        if srun_prefix.is_some() && wrapped.is_none() && job.trainer.passes_through() {
            job = trainer::recognise(&ParsedCommand::parse(&launch.command), launch.trainer.as_ref(), &host);
            srun_prefix = None;
        }
        // The launcher takes the config, so the script's run file stays as it is.
        if wrapped.as_ref().is_some_and(ExistingLauncher::takes_config) {
            job.run_file = None;
        }
        for variable in &job.variables {
            host.to_mut().env.insert(OsString::from(&variable.name), OsString::from(&variable.value));
        }
        Draft { launch, host, srun_prefix, wrapped, job }
    }

    /// A command that runs unchanged.
    pub(crate) fn untouched(launch: &'a Launch, machine: &'a Host) -> Self {
        let job = trainer::pass_through(&launch.command, machine);
        Draft { launch, host: Cow::Borrowed(machine), srun_prefix: None, wrapped: None, job }
    }

    /// The ranks and the machines. Behind `srun` they are on other machines, which decide for themselves.
    pub(crate) fn topology(&self) -> Result<Topology, Vec<Problem>> {
        let Launch { topology: flags, hosts, launcher, .. } = self.launch;
        if let Some(srun_prefix) = &self.srun_prefix {
            srun_prefix.check(&self.host)?;
            return Ok(Topology::of_srun_tasks(&self.host));
        }
        if let Some(wrapped) = &self.wrapped {
            let mut contradictions = wrapped.contradictions(flags, &self.host);
            contradictions.extend(hosts.flags().map(|sourced| report::hosts_of_the_command(&sourced, &wrapped.name())));
            let stated = wrapped.rank_flags(flags, &self.host);
            return if contradictions.is_empty() {
                Ok(Topology::of_existing_launcher(flags, stated, &self.host))
            } else {
                Err(contradictions)
            };
        }
        let asked = launcher.as_ref().is_some_and(|asked| asked.value != Launcher::Direct && asked.from.is_flag());
        let sourced = || flags.nproc_per_node.is_some() || flags.nnodes.is_some() || Topology::is_scheduled(&self.host);
        let ranked = asked || self.job.trainer.launches_itself && sourced();
        let topology = Topology::decide(flags, hosts, ranked || !self.job.trainer.passes_through(), &self.host)?;
        match topology.size_problem() {
            Some(problem) => Err(vec![problem]),
            None => Ok(topology),
        }
    }

    /// Who starts the ranks.
    pub(crate) fn launcher(&self, topology: &Topology) -> Result<Launcher, Vec<Problem>> {
        let asked = self.launch.launcher.as_ref();
        let kind = match &self.wrapped {
            _ if self.srun_prefix.is_some() => Launcher::Srun,
            Some(wrapped) => match asked.filter(|asked| asked.from.is_flag() && asked.value != wrapped.spec.launcher) {
                Some(asked) => return Err(vec![report::already_a_launcher(asked, &wrapped.name())]),
                None => wrapped.spec.launcher,
            },
            None => launcher::choose(asked, &self.job, topology)?,
        };
        let problems = launcher::check_extra(kind, &self.launch.launcher_args);
        if problems.is_empty() { Ok(kind) } else { Err(problems) }
    }

    /// `--nproc-per-node` for a command that runs as one process.
    pub(crate) fn ranks_without_effect(&self) -> Option<Problem> {
        let job = &self.job;
        let once = job.trainer.passes_through() && !job.trainer.launches_itself;
        let once = once && self.launch.launcher.is_none() && self.wrapped.is_none();
        let asked = self.launch.topology.nproc_per_node.as_ref().filter(|_| once)?;
        Some(report::ranks_without_effect(&asked.from, job.target.name(), job.starts_ranks))
    }

    /// The config that the command names.
    pub(crate) fn own_config(&self) -> Option<Sourced<String>> {
        let Draft { job, wrapped, .. } = self;
        let trainers =
            (!job.trainer.passes_through()).then(|| job.args.text((job.trainer.config_argument)(&job.args))).flatten();
        let trainers = trainers.map(|own| match job.shipped_config(&own.value, &self.host) {
            Some(path) => own.map(|_| path.to_string_lossy().into_owned()),
            None => own,
        });
        let own = trainers.or_else(|| wrapped.as_ref()?.config(&self.host))?;
        let text = job.trainer.reads_base64.then(|| base64::object_in(&own.value)).flatten();
        Some(Sourced { value: text.unwrap_or(own.value), from: own.from })
    }

    /// Why a config that the trainer ships cannot be read here.
    pub(crate) fn missing_shipped_config(&self, spec: &Sourced<String>) -> Option<Problem> {
        let job = &self.job;
        let missing = matches!(spec.from, Source::Argument(_)) && job.ships_config(&spec.value);
        let problem = || report::shipped_config_not_found(spec, job.trainer.name);
        missing.then(|| job.blocker.clone().unwrap_or_else(problem))
    }

    /// Whether a command that came through a shim is a training with a config: its own, or one that the site sets for
    /// all trainers. Trainers treat an empty value as no config.
    pub(crate) fn is_for_us(&self) -> bool {
        let asks = |word: &OsString| word == "--help" || word == "-h";
        let given = || self.takes_config() && !self.launch.command.iter().any(asks);
        self.own_config().is_some_and(|own| !own.value.is_empty()) || self.launch.deepspeed.is_some() && given()
    }

    /// The config can be given to the launcher of the command, or to the script.
    pub(crate) fn takes_config(&self) -> bool {
        let job = &self.job;
        let takes = || !job.trainer.passes_through() && job.takes((job.trainer.config_argument)(&job.args));
        self.launcher_takes_config() || takes()
    }

    /// The config is given to the launcher of the command, not to the script.
    pub(crate) fn launcher_takes_config(&self) -> bool {
        self.wrapped.as_ref().is_some_and(ExistingLauncher::takes_config)
    }
}

/// Whether a shim made this launch. It adds no options to the command, and its variable only counts for that command.
pub(crate) fn is_asked_by_shim(launch: &Launch, host: &Host) -> bool {
    let of = host.raw(vars::ZLAUNCH_SHIM_OF);
    of.is_some() && of == launch.command.first().map(OsString::as_os_str) && launch.options == ["--"]
}
