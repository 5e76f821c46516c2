//! Makes a plan of a launch that was understood. Reads files the user named; changes nothing.

use std::ffi::{OsStr, OsString};

use serde_json::Value;

use super::decision::{Plan, TrainerFacts};
use super::diagnostics::Diagnostics;
use super::forwarded_env::{self, ForwardedEnv};
use super::launch_env::EnvironmentInputs;
use super::planned_config::{FileKind, PlannedConfig};
use super::{asked_config, print};
use crate::base::shell;
use crate::base::source::Sourced;
use crate::check::{self, Derived, Subject, machine};
use crate::command::front_end::Ranks;
use crate::command::job::Job;
use crate::command::prefix::Prefix;
use crate::command::{parser, trainer};
use crate::config::auto::{self, FillContext};
use crate::config::layers;
use crate::config::places::Places;
use crate::config::template::{self, Template};
use crate::fit;
use crate::fit::launch_warning::{self, LaunchConfig};
use crate::host::machine::Machine;
use crate::host::{self, Host};
use crate::ranks::launcher::local::LocalRanks;
use crate::ranks::launcher::{self, LaunchContext, Launcher, srun};
use crate::ranks::topology::Topology;
use crate::report::fix::{Change, drop_word, give, run};
use crate::report::{Place, Problem, Rule, Severity};
use crate::request::Launch;
use crate::request::understood::{self, UnderstoodLaunch, Wrapper};

impl Plan {
    pub fn new(launch: &Launch, machine: &Host) -> Result<Self, Vec<Problem>> {
        Self::with_job(launch, machine).0
    }

    pub(crate) fn with_job(launch: &Launch, machine: &Host) -> (Result<Self, Vec<Problem>>, Job) {
        let alone;
        let mut understood = UnderstoodLaunch::new(launch, machine);
        // Through a shim, zlaunch also sees commands that do not concern it. Without a config they run unchanged.
        if understood::is_asked_by_shim(launch, machine) && !understood.should_handle() {
            alone = launch.command_alone();
            understood = UnderstoodLaunch::new(&alone, machine);
        }
        let planner = Planner {
            understood: &understood,
            machine,
            diagnostics: Diagnostics::default(),
        };
        (planner.plan(), understood.job)
    }
}

/// Makes the decisions, one after the other. Problems are gathered on the way, so that all are reported at once.
struct Planner<'a> {
    understood: &'a UnderstoodLaunch<'a>,
    /// As it was found, without the variables that the launch sets.
    machine: &'a Host,
    diagnostics: Diagnostics,
}

/// The ranks while the config is decided; `None` if they were refused.
#[derive(Clone, Copy)]
struct DecidedRanks<'d> {
    topology: Option<&'d Topology>,
    launcher: Option<Launcher>,
}

/// A template, and why it is this one, if `auto` was asked for.
type ChosenTemplate = (Template, Option<String>);

impl Planner<'_> {
    /// The ranks, the launcher and the config can be refused; the rest follows from them.
    fn plan(mut self) -> Result<Plan, Vec<Problem>> {
        let UnderstoodLaunch {
            launch,
            host,
            job,
            existing_launcher,
            ..
        } = self.understood;
        let found = &mut self.diagnostics;
        found.add(job.problems.iter().cloned());
        found.warnings.extend(launch.warnings.iter().cloned());
        found
            .warnings
            .extend(self.understood.ranks_without_effect());
        found.warnings.extend(self.understood.dry_run_behind());
        found.add(self.understood.not_understood());
        if let Some(existing) = existing_launcher {
            found.add(existing.run_file_problem(host));
            found.add(existing.refused_flags(job, host));
            found.warnings.extend(existing.changed_by_shells(job, host));
        }
        let topology = self.diagnostics.keep(self.understood.topology());
        let kind = topology
            .as_ref()
            .and_then(|topology| self.diagnostics.keep(self.understood.launcher(topology)));
        let without_effect = kind.map(|kind| {
            launch
                .rank_output
                .without_effect(kind, existing_launcher.is_some())
        });
        self.diagnostics
            .warnings
            .extend(without_effect.into_iter().flatten());
        let ranks = DecidedRanks {
            topology: topology.as_ref(),
            launcher: kind,
        };
        let config = self.config(ranks);
        if let Some(PlannedConfig { file, .. }) = &config
            && file.kind == FileKind::Ours
            && !self.understood.runs_elsewhere()
            && let (Some(part), Some(folder)) = (host.distrusted_cache(), file.path.parent())
        {
            let what = format!(
                "other users can change `{}`, so resolved configs are kept elsewhere",
                part.display()
            );
            let chmod = run(shell::text(&["chmod".into(), "go-w".into(), part.into()]));
            let fixes = chmod.or("set XDG_CACHE_HOME to a folder you own");
            self.diagnostics.warnings.push(
                Problem::warning(Rule::CacheNotOurs, what)
                    .at(folder)
                    .fix(fixes),
            );
        }
        let expandable = self.judge_machine(config.as_ref(), ranks);
        // With a config, the environment was checked together with it.
        let is_checked = config.is_some() || !self.diagnostics.findings.is_empty();
        if !is_checked && !self.understood.job.trainer.is_passthrough() {
            self.check(&Value::Null, &[], &|key| Place::from(key), ranks);
        }
        self.diagnostics
            .join_misplaced(|flags| self.understood.with_options_in_front(flags));
        self.diagnostics.sort_findings(launch.output);
        if job.reads_mapping() {
            self.diagnostics
                .put_into_run_file(|name| job.place_in_run_file(name, host));
        }
        let blocker = if launch.output.check {
            self.blocker(kind)
        } else {
            None
        };
        self.diagnostics
            .errors
            .extend(blocker.filter(|blocker| !self.diagnostics.errors.contains(blocker)));
        self.diagnostics.warnings.extend(
            topology
                .iter()
                .flat_map(|topology| topology.notes.iter().cloned()),
        );
        let diagnostics = std::mem::take(&mut self.diagnostics).verdict(launch)?;
        // If one of them is unknown, an error says so already.
        let (Some(topology), Some(kind)) = (topology, kind) else {
            return Err(diagnostics);
        };
        self.assemble(topology, kind, config, expandable, diagnostics)
    }

    /// The config that will be written, if one was asked for and nothing is wrong with it.
    fn config(&mut self, ranks: DecidedRanks) -> Option<PlannedConfig> {
        let Launch {
            layers, config_out, ..
        } = self.understood.launch;
        let host = &self.understood.host;
        match (self.template(ranks.topology), ranks.topology) {
            (Some(chosen), Some(topology)) => {
                let config = self.resolve(chosen, topology, ranks);
                self.diagnostics.keep(config)
            }
            // The ranks are unknown, but errors in the layers can be reported.
            (Some((template, _)), None) => {
                let config = self
                    .diagnostics
                    .keep(layers::with_layers(&template, layers, host))?;
                let places = Places::new(&config, &template, layers, host);
                self.check(&config, &template.env, &|key| places.of(key), ranks);
                None
            }
            (None, _) => {
                self.judge_settings(None, ranks);
                if self.diagnostics.errors.is_empty() && !self.understood.runs_elsewhere() {
                    self.diagnostics
                        .errors
                        .extend(asked_config::without_config(layers, config_out.as_ref()));
                }
                None
            }
        }
    }

    /// The template that was asked for: our flag's, else the command's own.
    fn template(&mut self, topology: Option<&Topology>) -> Option<ChosenTemplate> {
        let understood = self.understood;
        let flag = understood.launch.deepspeed.as_ref();
        let own = understood.own_config();
        let warnings = &mut self.diagnostics.warnings;
        let spec = match flag {
            Some(flag) => {
                let other = own.filter(|own| own.value != flag.value);
                warnings.extend(other.map(|own| {
                    let what = format!(
                        "`{}` is used, not the command's own `{}`",
                        flag.value, own.value
                    );
                    let fix = drop_word(flag.spelling()).remark("to use the command's own");
                    let problem = Problem::warning(Rule::TwoConfigs, what).at(flag).at(&own);
                    problem.fix(fix.or(drop_word(own.spelling())))
                }));
                flag.clone()
            }
            // Trainers treat an empty value as no config.
            None => {
                let own = own.filter(|own| !own.value.is_empty())?;
                warnings.extend(asked_config::not_shipped(understood, &own));
                understood.own_file(own)
            }
        };
        let unused = asked_config::unused(understood, &spec);
        warnings.extend(unused.or_else(|| asked_config::refused_option(understood)));
        if let Some(existing) = &understood.existing_launcher {
            self.diagnostics
                .add(existing.refuses_config(&understood.job, &understood.host));
            self.diagnostics.add(existing.replaced_settings(&spec));
        }
        // A config of the trainer's package is read where the package is.
        if understood.runs_elsewhere() && understood.missing_shipped_config(&spec).is_some() {
            return None;
        }
        let (mut template, chosen) = self.diagnostics.keep(self.read_template(spec, topology))?;
        self.diagnostics.warnings.append(&mut template.notes);
        let named = flag.filter(|flag| flag.value != fit::AUTO);
        let differs =
            named.and_then(|flag| asked_config::differs_from_shipped(understood, flag, &template));
        self.diagnostics.warnings.extend(differs);
        Some((template, chosen))
    }

    fn read_template(
        &self,
        spec: Sourced<String>,
        topology: Option<&Topology>,
    ) -> Result<ChosenTemplate, Vec<Problem>> {
        let UnderstoodLaunch { launch, host, .. } = self.understood;
        asked_config::can_hand_over(&spec, self.understood)?;
        if let Some(problem) = self.understood.missing_shipped_config(&spec) {
            return Err(vec![problem]);
        }
        match topology {
            Some(topology) if spec.value == fit::AUTO => {
                let (name, why) = fit::choose(&spec, topology, self.understood)?;
                let named = Sourced::new(name, spec.from);
                Ok((template::resolve(&named, &launch.search, host)?, Some(why)))
            }
            // Without ranks there is nothing to choose by, and their error is reported already.
            None if spec.value == fit::AUTO => Err(Vec::new()),
            _ => Ok((template::resolve(&spec, &launch.search, host)?, None)),
        }
    }

    fn resolve(
        &mut self,
        (template, chosen): ChosenTemplate,
        topology: &Topology,
        ranks: DecidedRanks,
    ) -> Result<PlannedConfig, Vec<Problem>> {
        let UnderstoodLaunch {
            launch, job, host, ..
        } = self.understood;
        let Launch {
            layers,
            no_fill,
            config_out,
            ..
        } = launch;
        let config = layers::with_layers(&template, layers, host)?;
        // Variables of the template count as set.
        let host_of_template = host.with_more(
            template
                .env
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str())),
        );
        let mut context = FillContext::new(job, topology, &config, &host_of_template);
        context.no_fill = *no_fill;
        if self.understood.launcher_takes_config() && !no_fill {
            context.by_launcher = Some("accelerate launch fills it in");
        }
        let places = Places::new(&config, &template, layers, host);
        let (mut resolved, problems) = auto::resolve(&context, |key| places.of(key));
        self.diagnostics.mismatched = resolved.mismatched;
        self.diagnostics.warnings.append(&mut resolved.warnings);
        let filled = |key: &str| {
            resolved
                .fills
                .iter()
                .find(|fill| fill.key == key)?
                .argument
                .as_ref()
        };
        let place = |key: &str| filled(key).map_or_else(|| places.of(key), Place::from);
        self.check(&resolved.config, &template.env, &place, ranks);
        self.judge_settings(Some(&resolved.config), ranks);
        if !problems.is_empty() {
            return Err(problems);
        }
        let planned = PlannedConfig::new(template, chosen, resolved, self.understood)?;
        let machines = topology.pool.as_ref().map_or(1, |pool| pool.0.len());
        let path = &planned.file.path;
        if machines > 1 && host.is_of_this_machine(path) {
            let what = format!(
                "{machines} machines must read the config, but only this one sees its folder"
            );
            let fix = give("--config-out", "PATH").remark("in a folder that all machines share");
            return Err(Problem::error(Rule::Hosts, what)
                .at(path.as_path())
                .fix(fix)
                .into());
        }
        // With `--config-out`, the user chose a folder that all machines see.
        if machines > 1 && config_out.is_none() {
            let kind = Machine::here().file_system(path);
            self.diagnostics
                .warnings
                .extend(machine::config_may_be_local(
                    path,
                    machines,
                    kind.as_deref(),
                ));
        }
        Ok(planned)
    }

    /// `accelerate launch` turns its own settings into a config, which is judged like one.
    fn judge_settings(&mut self, named: Option<&Value>, ranks: DecidedRanks) {
        let UnderstoodLaunch {
            job,
            host,
            existing_launcher,
            ..
        } = self.understood;
        let Some(launcher) = existing_launcher else {
            return;
        };
        let Some((config, file)) = launcher.settings_as_config(job, named, host) else {
            return;
        };
        let place = |key: &str| Place::key(&file, key);
        if let Some(topology) = ranks.topology {
            let (resolved, problems) =
                auto::resolve(&FillContext::new(job, topology, &config, host), place);
            self.diagnostics.mismatched |= resolved.mismatched;
            let equal = |problem: Problem| {
                problem.fix("make accelerate's setting and the trainer's argument equal")
            };
            self.diagnostics
                .warnings
                .extend(resolved.warnings.into_iter().map(equal));
            self.diagnostics
                .errors
                .extend(problems.into_iter().map(equal));
        }
        if named.is_none() {
            let before = self.diagnostics.findings.len();
            self.check(&config, &[], &place, ranks);
            let found = self.diagnostics.findings[before..].iter_mut();
            for change in found.flat_map(|found| found.fixes.changes()) {
                let (Change::Set(key, _) | Change::Unset(key)) = change else {
                    continue;
                };
                let rows = include_str!("accelerate_settings.txt").lines();
                let setting = rows
                    .filter_map(|row| row.split_once(' '))
                    .find(|(known, _)| known.starts_with(&**key));
                *change = match (setting, &*change) {
                    (Some((_, name)), Change::Set(_, value)) => {
                        Change::Give(format!("--{name}"), value.clone())
                    }
                    (Some((_, name)), _) => Change::Drop((*name).to_string()),
                    (None, _) => {
                        Change::Say("name a DeepSpeed config, which can set this".to_string())
                    }
                };
            }
        }
    }

    /// Runs the rules about the config and the environment. `place` tells where a key was written.
    fn check(
        &mut self,
        config: &Value,
        template_env: &[(String, String)],
        place: &dyn Fn(&str) -> Place,
        ranks: DecidedRanks,
    ) {
        let UnderstoodLaunch {
            launch, job, host, ..
        } = self.understood;
        let template_env = template_env
            .iter()
            .filter(|(name, _)| !launch.environment.says(name))
            .cloned();
        let subject = Subject {
            config,
            job,
            topology: ranks.topology,
            launcher: ranks.launcher,
            host,
            template_env: &template_env.collect::<Vec<_>>(),
            place,
            in_full: true,
            derived: Derived::new(config, job),
        };
        let mut found = check::diagnose(&subject, &launch.allow, launch.output.wants_notes());
        // `--unset-env` does not undo `--env`.
        for change in found
            .iter_mut()
            .flat_map(|found| &mut found.fixes.0)
            .flat_map(|fix| &mut fix.changes)
        {
            if let Change::UnsetVariable(name) = change
                && let Some(given) = launch
                    .environment
                    .set
                    .iter()
                    .find(|given| given.value.0 == *name)
            {
                *change = Change::Drop(format!(
                    "{} {name}={}",
                    given.from,
                    given.value.1.to_string_lossy()
                ));
            }
        }
        self.diagnostics.findings.extend(found);
    }

    /// Warns if this machine does not suit the config. Returns the reason for expandable segments, if there is one.
    fn judge_machine(
        &mut self,
        config: Option<&PlannedConfig>,
        ranks: DecidedRanks,
    ) -> Option<String> {
        let UnderstoodLaunch {
            launch, host, job, ..
        } = self.understood;
        let config = if self.understood.runs_elsewhere() {
            return None;
        } else {
            config?
        };
        if ranks.launcher != Some(Launcher::Srun) {
            let found = machine::at_launch(&config.value, job, host).into_iter();
            let is_plan = launch.output.only_shows() && !launch.output.check;
            let found = found.filter(|problem| !launch.allow.contains(&problem.rule));
            self.diagnostics.add(found.map(|problem| {
                if is_plan {
                    problem.into_warning()
                } else {
                    problem
                }
            }));
        }
        let PlannedConfig {
            template, value, ..
        } = config;
        let is_chosen = config.chosen.is_some();
        let of_launch = LaunchConfig {
            name: &template.name,
            value,
            env: &template.env,
            is_chosen,
        };
        let judged = launch_warning::judge(of_launch, ranks.topology?, self.understood);
        if let Some(short) = judged.short
            && (launch.output.wants_notes() || short.severity != Severity::Note)
        {
            self.diagnostics.warnings.push(short);
        }
        judged
            .expandable
            .map(|why| format!("{why}: it keeps the gaps between allocations small"))
    }

    #[expect(clippy::too_many_lines, reason = "it is split next")]
    fn assemble(
        &self,
        topology: Topology,
        kind: Launcher,
        config: Option<PlannedConfig>,
        expandable: Option<String>,
        diagnostics: Vec<Problem>,
    ) -> Result<Plan, Vec<Problem>> {
        let UnderstoodLaunch {
            launch,
            host,
            job,
            existing_launcher,
            ..
        } = self.understood;
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
        // A launcher that takes the config sets its own variables.
        if let Some(path) = path
            && !kind.runs_zlaunch()
            && !self.understood.launcher_takes_config()
        {
            for (name, value) in job.config_variables(path) {
                environment.set(
                    name,
                    value,
                    format!("passes the config to {}", job.target.name()),
                );
            }
        }
        let context = LaunchContext {
            job,
            topology: &topology,
            flags: &launch.topology,
            hosts: &launch.hosts,
            extra: &launch.launcher_args,
            output: existing_launcher.is_none().then_some(&launch.rank_output),
            host,
        };
        let ForwardedEnv { files, warnings } = forwarded_env::plan(&context, &mut environment)?;
        let warnings = Diagnostics {
            warnings,
            ..Diagnostics::default()
        }
        .verdict(launch)?;
        // The variables that the launcher of the command would set, if torchrun can stand in for it.
        let is_possible =
            !kind.runs_zlaunch() && !launch.rehearsed && launch.launcher_args.is_empty();
        let existing = if is_possible {
            existing_launcher.as_ref()
        } else {
            None
        };
        let variables = existing.and_then(|existing| existing.as_torchrun(&context, path));
        let translated = variables.is_some();
        for (name, value) in variables
            .into_iter()
            .flatten()
            .filter(|(name, _)| !launch.environment.says(name))
        {
            environment.set(name, value, "as accelerate launch sets it");
        }
        let kind = if translated { Launcher::Torchrun } else { kind };
        let argv = match self.understood.prefix() {
            // The same launch with zlaunch behind the prefix.
            Some(prefix) => {
                let mut zlaunch = vec![host::this_program().into_os_string()];
                let options = if launch.rehearsed {
                    zlaunch.push("rehearse".into());
                    launch
                        .options
                        .iter()
                        .filter(|word| *word != "--")
                        .cloned()
                        .collect()
                } else {
                    launch.forwarded_options()
                };
                let mut argv = prefix.in_front_of(
                    [&zlaunch[..], &options, &["--".into()], &prefix.command].concat(),
                );
                if let Some(path) = self.machine.find_program(&argv[0]) {
                    argv[0] = path.into_os_string();
                }
                argv
            }
            None => self.argv(kind, translated, &context, path)?,
        };
        let value = config.as_ref().map_or(&Value::Null, |config| &config.value);
        let is_read = launch.output.is_read() && !self.understood.job.trainer.is_passthrough();
        let batch = is_read
            .then(|| auto::batch(&FillContext::new(job, &topology, value, host)))
            .flatten();
        let mut plan = Plan {
            trainer: self.trainer_facts(),
            batch,
            launcher: kind,
            local: (kind == Launcher::Local).then(|| LocalRanks::new(&topology, host)),
            config,
            environment,
            argv,
            diagnostics: [diagnostics, warnings].concat(),
            blocker: self.blocker(Some(kind)),
            environment_files: files,
            opens: topology
                .opens_port(matches!(kind, Launcher::Torchrun | Launcher::Local))
                .cloned(),
            topology,
            record: None,
            home: host.home(),
        };
        plan.record = plan.record(launch, job, host, self.machine)?;
        Ok(plan)
    }

    /// `translated`: torchrun stands in for the launcher of the command.
    fn argv(
        &self,
        kind: Launcher,
        translated: bool,
        context: &LaunchContext<'_>,
        config: Option<&OsStr>,
    ) -> Result<Vec<OsString>, Vec<Problem>> {
        let UnderstoodLaunch {
            launch,
            job,
            existing_launcher,
            wrapper,
            ..
        } = self.understood;
        // A rehearsal runs one rank here instead of all ranks elsewhere.
        let starts_elsewhere =
            matches!(kind, Launcher::Srun | Launcher::Deepspeed) && existing_launcher.is_none();
        let kind = if launch.rehearsed && starts_elsewhere {
            Launcher::Direct
        } else {
            kind
        };
        if kind == Launcher::Srun {
            // Options for another launcher are for zlaunch on each machine.
            let asked = launch
                .launcher
                .as_ref()
                .is_some_and(|asked| asked.value == Launcher::Srun);
            let extra = if asked { context.extra } else { &[] };
            let prefix = if let Some(Wrapper::Srun(prefix)) = wrapper {
                Some(prefix)
            } else {
                None
            };
            let LaunchContext { topology, host, .. } = *context;
            return Ok(srun::argv(
                prefix,
                &launch.forwarded_options(),
                &launch.command,
                extra,
                topology,
                host,
            )?);
        }
        // Behind a launcher in the command, a script keeps the arguments it was given.
        let added = existing_launcher.is_none() || job.rewritten;
        let ranks = match &context.topology.world_size {
            Some(world) if world.value == 1 => Ranks::Single,
            _ if context.topology.ranks_exist() => Ranks::Existing,
            _ => Ranks::Launched,
        };
        let added = added
            .then(|| job.launcher_args(ranks))
            .into_iter()
            .flatten();
        if let Some(existing) = existing_launcher
            && !translated
        {
            return Ok(existing
                .argv(context, config)
                .into_iter()
                .chain(added)
                .collect());
        }
        let mut words = job.rank_args(if translated { None } else { config });
        words.extend(added);
        let problems = launcher::remote_runner::check(context, &words);
        if problems.is_empty() {
            Ok([launcher::prefix(kind, context), words].concat())
        } else {
            Err(problems)
        }
    }

    /// The first program that is missing here, unless it is only needed elsewhere.
    fn blocker(&self, kind: Option<Launcher>) -> Option<Problem> {
        let elsewhere = kind == Some(Launcher::Srun) || self.understood.runs_elsewhere();
        let mut programs = self
            .understood
            .prefix()
            .into_iter()
            .flat_map(Prefix::programs);
        let missing = programs.find(|program| self.machine.find_program(program).is_none());
        let missing = missing.map(|program| trainer::not_found(program, self.machine));
        if missing.is_some() || elsewhere {
            missing
        } else {
            self.understood.job.blocker.clone()
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
            package: job.trainer.distribution,
            stand_in: distribution
                .and_then(|(distribution, version)| parser::stand_in(distribution, version)),
            version,
            python: job.python.as_ref().map(|python| python.program.clone()),
            runs: print::what_runs(job, self.understood.command()),
            reads: is_read
                .then(|| job.flow())
                .flatten()
                .map(|flow| flow.in_words()),
        }
    }
}
