//! The decision: everything a launch will do, as a plain value. `--dry-run` prints it, `exec` carries it out.

pub(crate) mod environment;
mod file;
pub(crate) mod inputs;
mod print;
pub(crate) mod record;
mod recording;

pub(crate) use file::{FileKind, PlannedConfig};
pub(crate) use print::refused_json;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use serde_json::Value;

use crate::base::hash::fnv1a;
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::check::machine;
use crate::check::{self, Subject};
use crate::command::trainer::{FillsAuto, Job, Ranks};
use crate::config::auto::{self, FillContext};
use crate::config::layers::{self, Layers};
use crate::config::template::{self, Template};
use crate::fit;
use crate::host::Host;
use crate::ranks::launcher::local::Local;
use crate::ranks::launcher::{self, Launcher, srun};
use crate::ranks::topology::Topology;
use crate::report::{self, Problem, Severity};
use crate::request::Launch;
use crate::request::draft::{self, Draft};
use environment::Environment;
use record::Record;

pub(crate) struct Plan {
    pub(crate) trainer: TrainerFacts,
    pub(crate) topology: Topology,
    pub(crate) launcher: Launcher,
    /// The ranks, where zlaunch starts them itself.
    pub(crate) local: Option<Local>,
    pub(crate) config: Option<PlannedConfig>,
    /// Why `auto` became this template.
    pub(crate) chosen: Option<String>,
    pub(crate) environment: Environment,
    pub(crate) argv: Vec<OsString>,
    pub(crate) diagnostics: Vec<Problem>,
    /// Why this cannot be started here, though it can be planned.
    pub(crate) blocker: Option<Problem>,
    /// The variables for the other machines of a hostfile, and their file.
    pub(crate) carried: Option<(PathBuf, String)>,
    /// The port on which the ranks meet, if that is on this machine.
    pub(crate) opens: Option<Sourced<u16>>,
    pub(crate) record: Option<Record>,
    home: Option<PathBuf>,
}

pub(crate) struct TrainerFacts {
    pub(crate) name: &'static str,
    pub(crate) version: Option<String>,
    pub(crate) python: Option<PathBuf>,
    /// What the ranks run, in words for a person.
    pub(crate) runs: String,
}

impl Plan {
    /// Decides. Reads files the user named; changes nothing.
    pub(crate) fn new(launch: &Launch, machine: &Host) -> Result<Self, Vec<Problem>> {
        Self::with_job(launch, machine).0
    }

    /// The decision, and the command as it was understood.
    pub(crate) fn with_job(launch: &Launch, machine: &Host) -> (Result<Self, Vec<Problem>>, Job) {
        let alone;
        let mut draft = Draft::new(launch, machine);
        // A shim stands in front of commands that nobody gave to zlaunch: without a config they run as if it did not.
        if draft::is_asked_by_shim(launch, machine) && !draft.is_for_us() {
            alone = launch.command_alone();
            draft = Draft::untouched(&alone, machine);
        }
        let plan = draft.decide().and_then(|decided| draft.assemble(decided, machine));
        (plan, draft.job)
    }
}

/// The decisions that can be refused; everything else in a plan follows from them.
struct Decided {
    topology: Topology,
    launcher: Launcher,
    config: Option<PlannedConfig>,
    chosen: Option<String>,
    diagnostics: Vec<Problem>,
}

impl Draft<'_> {
    /// The ranks, who starts them, and with which config.
    fn decide(&self) -> Result<Decided, Vec<Problem>> {
        let Draft { launch, host, job, .. } = self;
        let mut found = Found {
            problems: job.problems.clone(),
            diagnostics: launch.warnings.clone(),
            findings: Vec::new(),
            mismatched: false,
        };
        found.diagnostics.extend(self.ranks_without_effect());
        let topology = found.keep(self.topology());
        let kind = topology.as_ref().and_then(|topology| found.keep(self.launcher(topology)));
        found.diagnostics.extend(kind.into_iter().flat_map(|kind| launch.rank_output.without_effect(kind)));
        let (template, chosen) = self.template(topology.as_ref(), &mut found).unzip();
        let config = self.config(template, topology.as_ref(), kind, &mut found);
        // srun starts this on machines that cannot be seen from here, and they may have what is missing.
        if let Some(config) = config.as_ref().filter(|_| kind != Some(Launcher::Srun)) {
            found.diagnostics.extend(machine::at_launch(&config.value, job.python.as_ref(), host));
        }
        // With a config its rules looked at the environment too.
        if config.is_none() && found.findings.is_empty() {
            self.check_environment(topology.as_ref(), kind, &mut found);
        }
        found.sort();
        found.diagnostics.extend(topology.iter().flat_map(|topology| topology.notes.iter().cloned()));
        let diagnostics = found.verdict(launch)?;
        // Where one of them is not known, that is a problem already.
        let (Some(topology), Some(launcher)) = (topology, kind) else { return Err(diagnostics) };
        Ok(Decided { topology, launcher, config, chosen: chosen.flatten(), diagnostics })
    }

    /// The plan that follows. `seen` is the machine as it is, before anybody set a variable.
    fn assemble(&self, decided: Decided, seen: &Host) -> Result<Plan, Vec<Problem>> {
        let Draft { launch, host, job, .. } = self;
        let Decided { topology, launcher: kind, config, chosen, diagnostics } = decided;
        let template = config.as_ref().map(|it| &it.template);
        let flags = &launch.environment;
        let mut environment =
            environment::Given { template, flags, launcher: kind, topology: &topology, job, host, machine: seen }
                .decide();
        let carried = self.carried(&topology, &mut environment)?;
        let path = config.as_ref().map(PlannedConfig::handed_over);
        let translated = self.translate(&topology, path, &mut environment);
        let kind = if translated { Launcher::Torchrun } else { kind };
        let argv = self.argv(kind, translated, &topology, path)?;
        let mut plan = Plan {
            trainer: self.trainer_facts(),
            launcher: kind,
            local: (kind == Launcher::Local).then(|| Local::new(&topology, &launch.rank_output, host)),
            config,
            chosen,
            environment,
            argv,
            diagnostics,
            // srun starts this on machines that cannot be seen from here, and they may have what is missing.
            blocker: job.blocker.clone().filter(|_| kind != Launcher::Srun),
            carried,
            opens: topology.opens_port(kind == Launcher::Torchrun).cloned(),
            topology,
            record: None,
            home: host.home(),
        };
        plan.record = plan.to_be_recorded(launch, job, host, seen)?;
        Ok(plan)
    }

    /// The file in which DeepSpeed's runner finds the variables for the other machines.
    fn carried(
        &self,
        topology: &Topology,
        environment: &mut Environment,
    ) -> Result<Option<(PathBuf, String)>, Vec<Problem>> {
        let Some(text) = environment::for_other_machines(topology, &environment.set, &self.host)? else {
            return Ok(None);
        };
        let path = self.host.configs_folder().join(format!("deepspeed_env-{:016x}", fnv1a(text.as_bytes())));
        environment.set(vars::DS_ENV_FILE, path.as_os_str(), "for the other machines".to_string());
        Ok(Some((path, text)))
    }

    /// Whether torchrun stands in for the launcher of the command, with the variables that one would set.
    fn translate(&self, topology: &Topology, config: Option<&OsStr>, environment: &mut Environment) -> bool {
        let Launch { launcher_args, environment: flags, .. } = self.launch;
        let wrapped = self.wrapped.as_ref().filter(|_| launcher_args.is_empty());
        let variables = wrapped.and_then(|wrapped| wrapped.as_torchrun(&self.job, topology, config, &self.host));
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
        topology: &Topology,
        config: Option<&OsStr>,
    ) -> Result<Vec<OsString>, Problem> {
        let Draft { launch, host, srun_prefix, wrapped, job } = self;
        if kind == Launcher::Srun {
            let asked = launch.launcher.as_ref().is_some_and(|asked| asked.value == Launcher::Srun);
            let extra = if asked { launch.launcher_args.as_slice() } else { &[] };
            return srun::argv(
                srun_prefix.as_ref(),
                topology,
                launch.forwarded_options(),
                extra,
                &launch.command,
                host,
            );
        }
        let mut argv = match wrapped.as_ref().filter(|_| !translated) {
            Some(wrapped) => wrapped.argv(job, &launch.topology, topology, &launch.launcher_args, config, host),
            None => {
                let head = launcher::head(kind, job, topology, &launch.launcher_args, &launch.hosts, host);
                head.into_iter().chain(job.rank_args(config.filter(|_| !translated))).collect()
            }
        };
        // Behind a launcher in the command, a script keeps the arguments it was given.
        if wrapped.is_none() || job.rewritten {
            argv.extend(job.launcher_args(ranks(topology)));
        }
        Ok(argv)
    }

    fn trainer_facts(&self) -> TrainerFacts {
        let Draft { launch, job, .. } = self;
        // Looking the version up means listing site-packages: only for those who read it.
        let is_read = launch.output.is_read() || launch.record.is_some();
        TrainerFacts {
            name: job.trainer.name,
            version: is_read.then(|| job.version()).flatten().map(|version| version.0),
            python: job.python.as_ref().map(|python| python.program.clone()),
            runs: print::what_runs(job, &launch.command),
        }
    }

    /// The config that was asked for: our flag, else the command's own. And why it became this one, if it was `auto`.
    fn template(&self, topology: Option<&Topology>, found: &mut Found) -> Option<(Template, Option<String>)> {
        let own = self.own_config();
        let spec = match (&self.launch.deepspeed, own) {
            (Some(flag), own) => {
                let other = own.filter(|own| own.value != flag.value);
                found.diagnostics.extend(other.map(|own| report::two_configs(flag, &own)));
                flag.clone()
            }
            // The trainers take an empty text as no config.
            (None, own) => own.filter(|own| !own.value.is_empty())?,
        };
        let mut named = spec.clone();
        let mut chosen = None;
        let resolved = self.can_hand_over(&spec).map_err(Vec::from).and_then(|()| {
            // Without ranks there is nothing to choose by, and that is the problem told.
            if let Some(topology) = topology.filter(|_| spec.value == fit::AUTO) {
                let (name, why) = fit::choose(&spec, &self.job, topology, self.launch, &self.host)?;
                named.value = name;
                chosen = Some(why);
            }
            match self.missing_shipped_config(&spec) {
                Some(problem) => Err(vec![problem]),
                None => template::resolve(&named, &self.launch.search, &self.host),
            }
        });
        let mut template = found.keep(resolved)?;
        found.diagnostics.append(&mut template.notes);
        Some((template, chosen))
    }

    /// Whether the config can reach the trainer at all.
    fn can_hand_over(&self, spec: &Sourced<String>) -> Result<(), Problem> {
        let job = &self.job;
        if self.takes_config() {
            return Ok(());
        }
        // A program that does not exist is the nearer problem.
        Err(job
            .blocker
            .clone()
            .unwrap_or_else(|| report::no_way_to_hand_over(spec, &print::what_runs(job, &self.launch.command))))
    }

    /// The config that will be written, if one was asked for and nothing is wrong with it.
    fn config(
        &self,
        template: Option<Template>,
        topology: Option<&Topology>,
        kind: Option<Launcher>,
        found: &mut Found,
    ) -> Option<PlannedConfig> {
        let Launch { layers, config_out, .. } = self.launch;
        match (template, topology) {
            (Some(template), Some(topology)) => {
                let config = self.resolve(template, topology, kind, found);
                found.keep(config)
            }
            // The ranks are not known, but wrong layers can be told all the same.
            (Some(template), None) => {
                let config = found.keep(layers::with_layers(&template, layers, &self.host))?;
                self.check(&config, &config, &template, None, None, found);
                None
            }
            (None, _) => {
                if found.problems.is_empty() {
                    found.problems.extend(without_config(layers, config_out.as_ref()));
                }
                None
            }
        }
    }

    /// The layers on the template, every "auto" filled, checked.
    fn resolve(
        &self,
        template: Template,
        topology: &Topology,
        kind: Option<Launcher>,
        found: &mut Found,
    ) -> Result<PlannedConfig, Vec<Problem>> {
        let Launch { layers, no_fill, config_out, .. } = self.launch;
        let config = layers::with_layers(&template, layers, &self.host)?;
        // A variable the template brings counts as set.
        let host = self.host.with_more(template.env.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let hidden = auto::hidden_size(&self.job, &host);
        let known = FillContext { job: &self.job, topology, config: &config, hidden, host: &host };
        let fills_auto = if self.launcher_takes_config() && !no_fill {
            Some(FillsAuto::Itself(|_| Some("accelerate launch fills it")))
        } else {
            self.job.trainer.fills_auto
        };
        let (resolved, problems) = auto::resolve(&known, fills_auto, *no_fill, |key| {
            layers::place_of(key, &config, &template, layers, &self.host)
        });
        found.mismatched = resolved.mismatched;
        self.check(&resolved.config, &config, &template, Some(topology), kind, found);
        if !problems.is_empty() {
            return Err(problems);
        }
        if let Some(out) = config_out {
            inputs::refuse_overwriting(out, &template, self.launch, &self.job, &self.host)?;
        }
        let planned = PlannedConfig::new(template, resolved, config_out.as_ref(), &self.job, &self.host)?;
        if let Some(pool) = topology.pool.as_ref().filter(|pool| pool.0.len() > 1)
            && self.host.is_of_this_machine(&planned.file.path)
        {
            return Err(vec![report::config_not_shared(&planned.file.path, pool.0.len())]);
        }
        Ok(planned)
    }

    /// The rules about the config and about the environment it meets. `written` is the config before it was filled.
    fn check(
        &self,
        config: &Value,
        written: &Value,
        template: &Template,
        topology: Option<&Topology>,
        kind: Option<Launcher>,
        found: &mut Found,
    ) {
        let place = |key: &str| layers::place_of(key, written, template, &self.launch.layers, &self.host);
        let subject = Subject::new(config, &self.job, topology, kind, &self.host, &template.env, &place);
        let notes = self.launch.output.wants_notes();
        found.findings.extend(check::config(&subject, &self.launch.allow, notes));
        found.findings.extend(check::environment(&subject, &self.launch.allow, notes));
    }

    /// The same for a command without a config.
    fn check_environment(&self, topology: Option<&Topology>, kind: Option<Launcher>, found: &mut Found) {
        if self.job.trainer.passes_through() {
            return;
        }
        let place = |key: &str| key.to_string();
        let subject = Subject::new(&Value::Null, &self.job, topology, kind, &self.host, &[], &place);
        found.findings.extend(check::environment(&subject, &self.launch.allow, self.launch.output.wants_notes()));
    }
}

/// What was found on the way.
struct Found {
    /// Each of them refuses the launch.
    problems: Vec<Problem>,
    /// Said beside the plan.
    diagnostics: Vec<Problem>,
    /// Of the rules of `check`, errors or not.
    findings: Vec<Problem>,
    /// The trainer computes another value than the config has.
    mismatched: bool,
}

impl Found {
    /// Goes on without the value, so that all problems are found at once.
    fn keep<T>(&mut self, result: Result<T, Vec<Problem>>) -> Option<T> {
        result.map_err(|mut found| self.problems.append(&mut found)).ok()
    }

    /// What the rules found goes where it belongs.
    fn sort(&mut self) {
        // A mismatch says the same as the rules about the batch.
        let sourced = |found: &Problem| self.mismatched && check::is_about_batch(found.rule);
        for found in self.findings.drain(..).filter(|found| !sourced(found)) {
            if found.severity == Severity::Error { self.problems.push(found) } else { self.diagnostics.push(found) }
        }
    }

    /// The diagnostics of a plan, or everything that is wrong.
    fn verdict(self, launch: &Launch) -> Result<Vec<Problem>, Vec<Problem>> {
        let Found { mut problems, mut diagnostics, .. } = self;
        diagnostics.retain(|problem| !launch.allow.iter().any(|rule| rule == problem.rule));
        if !problems.is_empty() {
            problems.append(&mut diagnostics);
            return Err(problems);
        }
        let warned = diagnostics.iter().any(|problem| problem.severity == Severity::Warning);
        if launch.strict && warned && !launch.output.check {
            diagnostics.retain(|problem| problem.severity == Severity::Warning);
            diagnostics.iter_mut().for_each(Problem::make_error);
            return Err(diagnostics);
        }
        Ok(diagnostics)
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

/// Layers that were asked for here and now; a variable may serve a whole site.
fn without_config(layers: &Layers, out: Option<&Sourced<PathBuf>>) -> Option<Problem> {
    let Layers { patch, unset, set } = layers;
    let places = patch
        .iter()
        .chain(out)
        .map(|sourced| (&sourced.from, sourced.value.display().to_string()))
        .chain(unset.iter().map(|sourced| (&sourced.from, sourced.value.clone())))
        .chain(set.iter().map(|sourced| (&sourced.from, sourced.value.0.clone())));
    let flags = places.filter(|(from, _)| matches!(from, Source::Flag(_)));
    let places: Vec<String> = flags.map(|(from, value)| from.with(value)).collect();
    (!places.is_empty()).then(|| report::layers_without_config(places))
}
