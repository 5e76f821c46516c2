//! How a launch that was understood becomes a plan. Reads files the user named; changes nothing.

use std::ffi::{OsStr, OsString};

use serde_json::Value;

use super::decision::{Plan, TrainerFacts};
use super::diagnostics::Diagnostics;
use super::environment::{Environment, EnvironmentInputs};
use super::file::{FileKind, PlannedConfig};
use super::forwarded_env::ForwardedEnv;
use super::print;
use crate::check::machine;
use crate::command::front_end::Ranks;
use crate::command::job::Job;
use crate::command::parser;
use crate::command::prefix::Prefix;
use crate::command::trainer;
use crate::config::auto::{self, FillContext};
use crate::fit;
use crate::fit::launch::LaunchConfig;
use crate::host::{self, Host};
use crate::ranks::launcher::local::LocalRanks;
use crate::ranks::launcher::srun;
use crate::ranks::launcher::{self, LaunchContext, Launcher};
use crate::ranks::topology::Topology;
use crate::report::{self, Place, Problem, Severity};
use crate::request::Launch;
use crate::request::understood::{self, UnderstoodLaunch, Wrapper};

impl Plan {
    pub fn new(launch: &Launch, machine: &Host) -> Result<Self, Vec<Problem>> {
        Self::with_job(launch, machine).0
    }

    /// The plan, and the command as it was understood.
    pub(crate) fn with_job(launch: &Launch, machine: &Host) -> (Result<Self, Vec<Problem>>, Job) {
        let alone;
        let mut understood = UnderstoodLaunch::new(launch, machine);
        // Through a shim, zlaunch also sees commands that do not concern it. Without a config they run unchanged.
        if understood::is_asked_by_shim(launch, machine) && !understood.should_handle() {
            alone = launch.command_alone();
            understood = UnderstoodLaunch::new(&alone, machine);
        }
        let planner = Planner { understood: &understood, machine, diagnostics: Diagnostics::default() };
        (planner.plan(), understood.job)
    }
}

/// Makes the decisions, one after the other. What is wrong is gathered on the way, so that all of it is reported at once.
pub(super) struct Planner<'a> {
    pub(super) understood: &'a UnderstoodLaunch<'a>,
    /// As it was found, without the variables that the launch sets.
    machine: &'a Host,
    pub(super) diagnostics: Diagnostics,
}

/// What is known of the ranks while the config is decided; `None` where that was refused.
#[derive(Clone, Copy)]
pub(super) struct DecidedRanks<'d> {
    pub(super) topology: Option<&'d Topology>,
    pub(super) launcher: Option<Launcher>,
}

impl Planner<'_> {
    /// How many ranks, who starts them, and with which config: these can be refused, and the rest follows from them.
    fn plan(mut self) -> Result<Plan, Vec<Problem>> {
        let UnderstoodLaunch { launch, existing_launcher, .. } = self.understood;
        self.judge_command();
        let topology = self.diagnostics.keep(self.understood.topology());
        let kind = topology.as_ref().and_then(|topology| self.diagnostics.keep(self.understood.launcher(topology)));
        let without_effect = |kind| launch.rank_output.without_effect(kind, existing_launcher.is_some());
        self.diagnostics.warnings.extend(kind.into_iter().flat_map(without_effect));
        let ranks = DecidedRanks { topology: topology.as_ref(), launcher: kind };
        let config = self.config(ranks);
        let ours =
            config.as_ref().filter(|config| config.file.kind == FileKind::Ours && !self.understood.runs_elsewhere());
        let open = ours.and_then(|config| Some((self.understood.host.distrusted_cache()?, config.file.path.parent()?)));
        self.diagnostics.warnings.extend(open.map(|(part, folder)| report::cache_not_ours(&part, folder)));
        let expandable = self.judge_machine(config.as_ref(), ranks);
        // With a config, the environment was checked together with it.
        let is_checked = config.is_some() || !self.diagnostics.findings.is_empty();
        if !is_checked && !self.understood.job.trainer.is_passthrough() {
            self.check(&Value::Null, &[], &|key| Place::from(key), ranks);
        }
        self.finish_diagnostics(ranks);
        let diagnostics = std::mem::take(&mut self.diagnostics).verdict(launch)?;
        // If one of them is unknown, an error says so already.
        let (Some(topology), Some(kind)) = (topology, kind) else { return Err(diagnostics) };
        self.assemble(topology, kind, config, expandable, diagnostics)
    }

    /// What can be said about the command alone.
    fn judge_command(&mut self) {
        let understood = self.understood;
        let UnderstoodLaunch { launch, host, job, existing_launcher, .. } = understood;
        let existing = existing_launcher.as_ref();
        let found = &mut self.diagnostics;
        found.errors.extend(job.problems.iter().cloned());
        found.warnings.extend(launch.warnings.iter().cloned());
        found.warnings.extend(understood.ranks_without_effect());
        found.warnings.extend(understood.dry_run_behind());
        found.add(understood.not_understood());
        found.add(existing.and_then(|existing| existing.run_file_problem(job, host)));
        found.warnings.extend(existing.and_then(|existing| existing.changed_by_shells(job, host)));
    }

    /// What this machine has to say about the config, as far as the ranks run on it. And why torch's allocator is to use
    /// expandable segments, if it is.
    fn judge_machine(&mut self, config: Option<&PlannedConfig>, ranks: DecidedRanks) -> Option<String> {
        let UnderstoodLaunch { launch, host, job, .. } = self.understood;
        let warnings = &mut self.diagnostics.warnings;
        let config = config.filter(|_| !self.understood.runs_elsewhere())?;
        if ranks.launcher != Some(Launcher::Srun) {
            warnings.extend(machine::at_launch(&config.value, job, host));
        }
        let PlannedConfig { template, value, .. } = config;
        let is_chosen = config.chosen.is_some();
        let of_launch = LaunchConfig { name: &template.name, value, env: &template.env, is_chosen };
        let judged = fit::launch::judge(of_launch, job, ranks.topology?, launch, host);
        let is_wanted = |short: &Problem| launch.output.wants_notes() || short.severity != Severity::Note;
        warnings.extend(judged.short.filter(is_wanted));
        judged.expandable.map(|why| format!("{why}: it keeps the gaps between allocations small"))
    }

    fn finish_diagnostics(&mut self, ranks: DecidedRanks) {
        let understood = self.understood;
        self.diagnostics.join_misplaced(|flags| understood.with_options_in_front(flags));
        self.diagnostics.sort_findings(understood.launch.output);
        let blocker = understood.launch.output.check.then(|| self.blocker(ranks.launcher)).flatten();
        let Diagnostics { errors, warnings, .. } = &mut self.diagnostics;
        let untold = blocker.filter(|blocker| !errors.contains(blocker));
        errors.extend(untold);
        warnings.extend(ranks.topology.iter().flat_map(|topology| topology.notes.iter().cloned()));
    }

    fn assemble(
        &self,
        topology: Topology,
        kind: Launcher,
        config: Option<PlannedConfig>,
        expandable: Option<String>,
        diagnostics: Vec<Problem>,
    ) -> Result<Plan, Vec<Problem>> {
        let UnderstoodLaunch { launch, host, job, .. } = self.understood;
        let mut environment = EnvironmentInputs {
            understood: self.understood,
            machine: self.machine,
            template: config.as_ref().map(|config| &config.template),
            expandable,
            launcher: kind,
            topology: &topology,
        }
        .decide();
        let path = config.as_ref().map(PlannedConfig::handed_over);
        if !kind.runs_zlaunch() {
            self.hand_over_by_variables(path, &mut environment);
        }
        let mut context = self.launch_context(&topology);
        let ForwardedEnv { files, named, warnings } = ForwardedEnv::plan(&context, &mut environment)?;
        let warnings = Diagnostics { warnings, ..Diagnostics::default() }.verdict(launch)?;
        let extra = if named.is_empty() { Vec::new() } else { launcher::options(&context, &named) };
        context.extra = if named.is_empty() { context.extra } else { &extra };
        let translated = !kind.runs_zlaunch() && !launch.rehearsed && self.translate(&topology, path, &mut environment);
        let kind = if translated { Launcher::Torchrun } else { kind };
        let argv = match self.understood.prefix() {
            Some(prefix) => self.wrapped_argv(prefix),
            None => self.argv(kind, translated, context, path)?,
        };
        let value = config.as_ref().map_or(&Value::Null, |config| &config.value);
        let is_read = launch.output.is_read() && !self.understood.job.trainer.is_passthrough();
        let batch = is_read.then(|| auto::batch(&FillContext::new(job, &topology, value, host))).flatten();
        let mut plan = Plan {
            trainer: self.trainer_facts(),
            batch,
            launcher: kind,
            local: (kind == Launcher::Local).then(|| LocalRanks::new(&topology, host)),
            config,
            environment,
            argv,
            diagnostics: [diagnostics, warnings].concat(),
            // What is missing here may be there where it runs.
            blocker: self.blocker(Some(kind)),
            environment_files: files,
            opens: topology.opens_port(matches!(kind, Launcher::Torchrun | Launcher::Local)).cloned(),
            topology,
            record: None,
            home: host.home(),
        };
        plan.record = plan.record(launch, job, host, self.machine)?;
        Ok(plan)
    }

    /// Sets the variables in which the front end looks for its config. A launcher that takes the config sets its own.
    fn hand_over_by_variables(&self, config: Option<&OsStr>, environment: &mut Environment) {
        let job = &self.understood.job;
        let config = config.filter(|_| !self.understood.launcher_takes_config());
        for (name, value) in config.into_iter().flat_map(|config| job.config_variables(config)) {
            environment.set(name, value, format!("hands the config to {}", job.target.name()));
        }
    }

    /// Whether torchrun stands in for the launcher of the command, with the variables that one would set.
    fn translate(&self, topology: &Topology, config: Option<&OsStr>, environment: &mut Environment) -> bool {
        let Launch { launcher_args, environment: flags, .. } = self.understood.launch;
        let existing = self.understood.existing_launcher.as_ref().filter(|_| launcher_args.is_empty());
        let variables = existing.and_then(|existing| existing.as_torchrun(&self.launch_context(topology), config));
        let translated = variables.is_some();
        for (name, value) in variables.into_iter().flatten().filter(|(name, _)| !flags.says(name)) {
            environment.set(name, value, "as accelerate launch sets it".to_string());
        }
        translated
    }

    /// Everything that is executed. `translated`: torchrun stands in for the launcher of the command.
    fn argv(
        &self,
        kind: Launcher,
        translated: bool,
        mut context: LaunchContext<'_>,
        config: Option<&OsStr>,
    ) -> Result<Vec<OsString>, Vec<Problem>> {
        let UnderstoodLaunch { launch, job, existing_launcher, wrapper, .. } = self.understood;
        // One rank is rehearsed here, whoever would start it elsewhere.
        let starts_elsewhere = matches!(kind, Launcher::Srun | Launcher::Deepspeed) && existing_launcher.is_none();
        let kind = if launch.rehearsed && starts_elsewhere { Launcher::Direct } else { kind };
        if kind == Launcher::Srun {
            // Options for another launcher are for zlaunch on each node.
            let asked = launch.launcher.as_ref().is_some_and(|asked| asked.value == Launcher::Srun);
            context.extra = if asked { context.extra } else { &[] };
            let prefix = if let Some(Wrapper::Srun(prefix)) = wrapper { Some(prefix) } else { None };
            return Ok(srun::argv(prefix, &launch.forwarded_options(), &launch.command, &context)?);
        }
        // Behind a launcher in the command, a script keeps the arguments it was given.
        let added = existing_launcher.is_none() || job.rewritten;
        let added = added.then(|| job.launcher_args(ranks(context.topology))).into_iter().flatten();
        if let Some(existing) = existing_launcher.as_ref().filter(|_| !translated) {
            return Ok(existing.argv(&context, config).into_iter().chain(added).collect());
        }
        let mut words = job.rank_args(config.filter(|_| !translated));
        words.extend(added);
        let problems = launcher::check_words(kind, &context, &words);
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok([launcher::prefix(kind, &context), words].concat())
    }

    /// The same launch with zlaunch behind what the command starts with.
    fn wrapped_argv(&self, prefix: &Prefix) -> Vec<OsString> {
        let mut zlaunch = vec![host::this_program().into_os_string()];
        let launch = self.understood.launch;
        let options = if launch.rehearsed {
            zlaunch.push("rehearse".into());
            launch.options.iter().filter(|word| *word != "--").cloned().collect()
        } else {
            launch.forwarded_options()
        };
        let mut argv = prefix.in_front_of([&zlaunch[..], &options, &["--".into()], &prefix.command].concat());
        if let Some(path) = self.machine.find_program(&argv[0]) {
            argv[0] = path.into_os_string();
        }
        argv
    }

    /// What is missing to start this, as far as it must be here.
    fn blocker(&self, kind: Option<Launcher>) -> Option<Problem> {
        let elsewhere = kind == Some(Launcher::Srun) || self.understood.runs_elsewhere();
        let mut programs = self.understood.prefix().into_iter().flat_map(Prefix::programs);
        let missing = programs.find_map(|program| trainer::missing_program(program, self.machine));
        missing.or_else(|| self.understood.job.blocker.clone().filter(|_| !elsewhere))
    }

    fn launch_context<'b>(&'b self, topology: &'b Topology) -> LaunchContext<'b> {
        let UnderstoodLaunch { launch, host, job, existing_launcher, .. } = self.understood;
        LaunchContext {
            job,
            topology,
            flags: &launch.topology,
            hosts: &launch.hosts,
            extra: &launch.launcher_args,
            output: existing_launcher.is_none().then_some(&launch.rank_output),
            host,
        }
    }

    fn trainer_facts(&self) -> TrainerFacts {
        let UnderstoodLaunch { launch, job, .. } = self.understood;
        // Finding the version means listing site-packages, so only where it is shown.
        let is_read = launch.output.is_read() || launch.record.is_some();
        let version = is_read.then(|| job.version_text()).flatten();
        let distribution = job.trainer.distribution.zip(version.as_ref());
        TrainerFacts {
            name: job.trainer.name,
            stand_in: distribution.and_then(|(distribution, version)| parser::stand_in(distribution, version)),
            version,
            python: job.python.as_ref().map(|python| python.program.clone()),
            runs: print::what_runs(job, self.understood.command()),
            reads: is_read.then(|| job.flow()).flatten().map(|flow| flow.in_words()),
        }
    }
}

/// Who starts the ranks, for a trainer that must be told.
fn ranks(topology: &Topology) -> Ranks {
    match &topology.world_size {
        Some(world) if world.value == 1 => Ranks::Single,
        _ if topology.ranks_exist() => Ranks::Existing,
        _ => Ranks::Launched,
    }
}
