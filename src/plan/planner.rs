//! How a launch that was understood becomes a plan. Reads files the user named; changes nothing.

use std::ffi::{OsStr, OsString};

use serde_json::Value;

use super::config_decision::DecidedRanks;
use super::decision::{Plan, TrainerFacts};
use super::diagnostics::Diagnostics;
use super::environment::{Environment, EnvironmentInputs};
use super::file::PlannedConfig;
use super::print;
use super::travel::Travel;
use crate::check::machine;
use crate::command::arguments;
use crate::command::trainer::{Job, Ranks};
use crate::fit;
use crate::fit::launch::LaunchConfig;
use crate::host::Host;
use crate::ranks::launcher::local::LocalRanks;
use crate::ranks::launcher::srun;
use crate::ranks::launcher::{self, LaunchContext, Launcher};
use crate::ranks::topology::Topology;
use crate::report::{Problem, Severity};
use crate::request::Launch;
use crate::request::draft::{self, Draft, Front};

impl Plan {
    pub fn new(launch: &Launch, machine: &Host) -> Result<Self, Vec<Problem>> {
        Self::with_job(launch, machine).0
    }

    /// The plan, and the command as it was understood.
    pub(crate) fn with_job(launch: &Launch, machine: &Host) -> (Result<Self, Vec<Problem>>, Job) {
        let alone;
        let mut draft = Draft::new(launch, machine);
        // Through a shim, zlaunch also sees commands that do not concern it. Without a config they run unchanged.
        if draft::is_asked_by_shim(launch, machine) && !draft.is_for_us() {
            alone = launch.command_alone();
            draft = Draft::new(&alone, machine);
        }
        let plan = draft.decide(machine).and_then(|decided| draft.assemble(decided, machine));
        (plan, draft.job)
    }
}

/// The decisions that can be refused. The rest of a plan follows from them.
struct Decided {
    topology: Topology,
    launcher: Launcher,
    config: Option<PlannedConfig>,
    chosen: Option<String>,
    /// Why the allocator is told to use expandable segments, if it is.
    expandable: Option<String>,
    diagnostics: Vec<Problem>,
}

impl Draft<'_> {
    /// How many ranks, who starts them, and with which config. `seen` is the machine as it was found.
    fn decide(&self, seen: &Host) -> Result<Decided, Vec<Problem>> {
        let Draft { launch, host, job, .. } = self;
        let mut diagnostics =
            Diagnostics { errors: job.problems.clone(), warnings: launch.warnings.clone(), ..Diagnostics::default() };
        diagnostics.warnings.extend(self.ranks_without_effect());
        diagnostics.warnings.extend(self.dry_run_behind());
        let (errors, warnings): (Vec<_>, Vec<_>) =
            self.not_understood().into_iter().partition(|problem| problem.severity == Severity::Error);
        diagnostics.errors.extend(errors);
        diagnostics.warnings.extend(warnings);
        let wrapped = self.wrapped.as_ref();
        diagnostics.warnings.extend(wrapped.and_then(|wrapped| wrapped.changed_by_shells(job, host)));
        let topology = diagnostics.keep(self.topology());
        let kind = topology.as_ref().and_then(|topology| diagnostics.keep(self.launcher(topology)));
        diagnostics
            .warnings
            .extend(kind.into_iter().flat_map(|kind| launch.rank_output.without_effect(kind, self.wrapped.is_some())));
        let (template, chosen) = self.template(topology.as_ref(), &mut diagnostics).unzip();
        let ranks = DecidedRanks { topology: topology.as_ref(), launcher: kind };
        let config = self.config(template, ranks, &mut diagnostics);
        if let Some(config) = config.as_ref().filter(|_| kind != Some(Launcher::Srun) && !self.runs_elsewhere()) {
            diagnostics.warnings.extend(machine::at_launch(&config.value, job, host));
        }
        let planned = config.as_ref().zip(topology.as_ref()).filter(|_| !self.runs_elsewhere());
        let expandable = planned.and_then(|(config, topology)| {
            let is_chosen = chosen.as_ref().is_some_and(Option::is_some);
            self.judge_memory(config, topology, is_chosen, &mut diagnostics)
        });
        // With a config, the environment was checked together with it.
        if config.is_none() && diagnostics.findings.is_empty() && !job.trainer.passes_through() {
            self.check(&Value::Null, None, ranks, &mut diagnostics);
        }
        diagnostics.join_misplaced(|flags| self.with_options_in_front(flags));
        diagnostics.sort_findings(launch.output);
        let blocker = if launch.output.check { self.blocker(kind, seen) } else { None };
        let untold = blocker.filter(|it| !diagnostics.errors.contains(it));
        diagnostics.errors.extend(untold);
        diagnostics.warnings.extend(topology.iter().flat_map(|topology| topology.notes.iter().cloned()));
        let diagnostics = diagnostics.verdict(launch)?;
        // If one of them is unknown, an error says so already.
        let (Some(topology), Some(launcher)) = (topology, kind) else { return Err(diagnostics) };
        Ok(Decided { topology, launcher, config, chosen: chosen.flatten(), expandable, diagnostics })
    }

    /// Whether the memory suffices, as far as that is known, and why the allocator needs expandable segments, if it does.
    fn judge_memory(
        &self,
        config: &PlannedConfig,
        topology: &Topology,
        is_chosen: bool,
        diagnostics: &mut Diagnostics,
    ) -> Option<String> {
        let Draft { launch, host, job, .. } = self;
        let PlannedConfig { template, value, .. } = config;
        let config = LaunchConfig { name: &template.name, value, env: &template.env };
        let judged = fit::launch::judge(config, job, topology, launch, host)?;
        let is_set = is_chosen && judged.is_settable || judged.needs_expandable;
        diagnostics.warnings.extend(judged.short);
        let why = if is_chosen { "as `auto` counts on it" } else { "it fits only so" };
        is_set.then(|| format!("{why}: it keeps the gaps between allocations small"))
    }

    /// The plan that follows.
    fn assemble(&self, decided: Decided, seen: &Host) -> Result<Plan, Vec<Problem>> {
        let Draft { launch, host, job, .. } = self;
        let Decided { topology, launcher: kind, config, chosen, expandable, diagnostics } = decided;
        let template = config.as_ref().map(|it| &it.template);
        let flags = &launch.environment;
        let mut environment = EnvironmentInputs {
            template,
            expandable,
            flags,
            launcher: kind,
            topology: &topology,
            job,
            host,
            machine: seen,
        }
        .decide();
        let path = config.as_ref().map(PlannedConfig::handed_over);
        if !kind.runs_zlaunch() {
            self.hand_over_by_variables(path, &mut environment);
        }
        let mut context = self.launch_context(&topology);
        let Travel { files: environment_files, named, warnings } = Travel::plan(&context, &mut environment)?;
        let warnings = Diagnostics { warnings, ..Diagnostics::default() }.verdict(launch)?;
        let extra = if named.is_empty() { Vec::new() } else { launcher::options(&context, &named) };
        context.extra = if named.is_empty() { context.extra } else { &extra };
        let translated = !kind.runs_zlaunch() && self.translate(&topology, path, &mut environment);
        let kind = if translated { Launcher::Torchrun } else { kind };
        let argv = match self.prefix() {
            Some(prefix) => self.behind(prefix, seen),
            None => self.argv(kind, translated, context, path)?,
        };
        let mut plan = Plan {
            trainer: self.trainer_facts(),
            launcher: kind,
            local: (kind == Launcher::Local).then(|| LocalRanks::new(&topology, host)),
            config,
            chosen,
            environment,
            argv,
            diagnostics: [diagnostics, warnings].concat(),
            // What is missing here may be there where it runs.
            blocker: self.blocker(Some(kind), seen),
            environment_files,
            opens: topology.opens_port(kind == Launcher::Torchrun).cloned(),
            topology,
            record: None,
            home: host.home(),
        };
        plan.record = plan.record(launch, job, host, seen)?;
        Ok(plan)
    }

    /// Sets the variables in which the front end looks for its config. A launcher that takes the config sets its own.
    fn hand_over_by_variables(&self, config: Option<&OsStr>, environment: &mut Environment) {
        let job = &self.job;
        let variables = config.filter(|_| !self.launcher_takes_config()).map(|config| job.config_variables(config));
        for (name, value) in variables.into_iter().flatten() {
            environment.set(name, value, format!("hands the config to {}", job.target.name()));
        }
    }

    /// Whether torchrun stands in for the launcher of the command, with the variables that one would set.
    fn translate(&self, topology: &Topology, config: Option<&OsStr>, environment: &mut Environment) -> bool {
        let Launch { launcher_args, environment: flags, .. } = self.launch;
        let wrapped = self.wrapped.as_ref().filter(|_| launcher_args.is_empty());
        let variables = wrapped.and_then(|wrapped| wrapped.as_torchrun(&self.launch_context(topology), config));
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
        if kind == Launcher::Srun {
            // Options for another launcher are for zlaunch on each node.
            let asked = self.launch.launcher.as_ref().is_some_and(|asked| asked.value == Launcher::Srun);
            context.extra = if asked { context.extra } else { &[] };
            let (options, command) = (self.launch.forwarded_options(), &self.launch.command);
            let prefix = if let Some(Front::Srun(prefix)) = &self.front { Some(prefix) } else { None };
            return Ok(srun::argv(prefix, &options, command, &context)?);
        }
        // Behind a launcher in the command, a script keeps the arguments it was given.
        let added = self.wrapped.is_none() || self.job.rewritten;
        let added = added.then(|| self.job.launcher_args(ranks(context.topology))).into_iter().flatten();
        if let Some(wrapped) = self.wrapped.as_ref().filter(|_| !translated) {
            return Ok(wrapped.argv(&context, config).into_iter().chain(added).collect());
        }
        let mut words = self.job.rank_args(config.filter(|_| !translated));
        words.extend(added);
        Ok([launcher::prefix(kind, &context), launcher::arguments(kind, &context, words)?].concat())
    }

    fn launch_context<'b>(&'b self, topology: &'b Topology) -> LaunchContext<'b> {
        let Draft { launch, host, job, .. } = self;
        LaunchContext {
            job,
            topology,
            flags: &launch.topology,
            hosts: &launch.hosts,
            extra: &launch.launcher_args,
            output: self.wrapped.is_none().then_some(&launch.rank_output),
            host,
        }
    }

    fn trainer_facts(&self) -> TrainerFacts {
        let Draft { launch, job, .. } = self;
        // Finding the version means listing site-packages, so only where it is shown.
        let is_read = launch.output.is_read() || launch.record.is_some();
        let version = is_read.then(|| job.version_text()).flatten();
        let distribution = job.trainer.distribution.zip(version.as_ref());
        TrainerFacts {
            name: job.trainer.name,
            stand_in: distribution.and_then(|(distribution, version)| arguments::stand_in(distribution, version)),
            version,
            python: job.python.as_ref().map(|python| python.program.clone()),
            runs: print::what_runs(job, self.command()),
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
