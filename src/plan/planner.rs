//! Makes a plan in a straight line: the ranks, the config, how it is handed over, the environment. Reads files the user
//! named; changes nothing, and judges nothing.

use std::ffi::{OsStr, OsString};

use serde_json::Value;

use super::decision::{Draft, Plan, TrainerFacts};
use super::forwarded_env::{self, EnvironmentFile};
use super::launch_env::{Environment, EnvironmentInputs};
use super::planned_config::{AskedConfig, LayeredConfig, PlannedConfig, PlannedFile};
use crate::base::source::Sourced;
use crate::command::front_end::Ranks;
use crate::command::parser;
use crate::config::auto::{self, FillContext};
use crate::config::layers;
use crate::config::template::{self, Template};
use crate::host::Host;
use crate::ranks::launcher::local::LocalRanks;
use crate::ranks::launcher::{self, LaunchContext, Launcher, srun};
use crate::ranks::topology::Topology;
use crate::report::Problem;
use crate::request::understood::{UnderstoodLaunch, Wrapper};
use crate::request::{AUTO, Launch};

/// What `--deepspeed auto` means for a launch.
pub(crate) type Chooser =
    fn(&Sourced<String>, &Topology, &UnderstoodLaunch<'_>) -> Result<ChosenTemplate, Vec<Problem>>;

pub(crate) struct ChosenTemplate {
    pub(crate) name: String,
    /// A sentence for the user.
    pub(crate) why: String,
}

impl<'a> Plan<'a> {
    /// All of the plan, or what could be decided and why the rest could not.
    pub(crate) fn new(
        launch: &'a Launch,
        machine: &'a Host,
        choose: Chooser,
    ) -> Result<Self, Box<Draft<'a>>> {
        let mut draft = Draft {
            understood: UnderstoodLaunch::new(launch, machine),
            topology: None,
            launcher: None,
            asked_config: None,
            layered: None,
            resolved: None,
            refusals: Vec::new(),
        };
        draft.place_ranks();
        draft.resolve_config(choose);
        draft.finish()
    }
}

/// How the config reaches the trainer, and what is started.
struct HandOver {
    files: Option<ConfigFiles>,
    launcher: Launcher,
    environment: Environment,
    environment_files: Vec<EnvironmentFile>,
    argv: Vec<OsString>,
}

struct ConfigFiles {
    config: PlannedFile,
    /// A copy of the command's run file that names the config.
    run_file: Option<PlannedFile>,
}

impl ConfigFiles {
    fn handed_over(&self) -> &OsStr {
        self.run_file
            .as_ref()
            .unwrap_or(&self.config)
            .path
            .as_os_str()
    }
}

impl<'a> Draft<'a> {
    fn place_ranks(&mut self) {
        let placed = self.understood.topology();
        self.topology = self.keep(placed);
        if let Some(topology) = &self.topology {
            let launcher = self.understood.launcher(topology);
            self.launcher = self.keep(launcher);
        }
    }

    /// The template that was asked for, with its layers; and with the ranks, what becomes of "auto".
    fn resolve_config(&mut self, choose: Chooser) {
        self.asked_config = AskedConfig::of(&self.understood);
        let Some(asked) = &self.asked_config else {
            return;
        };
        // A config of the trainer's package is read where the package is.
        if self.understood.runs_elsewhere()
            && self
                .understood
                .missing_shipped_config(&asked.spec)
                .is_some()
        {
            return;
        }
        let layered = self.read_template(asked, choose);
        self.layered = self.keep(layered).flatten();
        let (Some(layered), Some(topology)) = (&self.layered, &self.topology) else {
            return;
        };
        let UnderstoodLaunch {
            launch, job, host, ..
        } = &self.understood;
        // Variables of the template count as set.
        let env = layered.template.env.iter();
        let host = host.with_more(env.map(|(name, value)| (name.as_str(), value.as_str())));
        let mut context = FillContext::new(job, topology, layered.value(), &host);
        context.no_fill = launch.no_fill;
        if self.understood.launcher_takes_config() && !launch.no_fill {
            context.by_launcher = Some("accelerate launch fills it in");
        }
        let places = layered.places(&self.understood);
        self.resolved = Some(auto::resolve(&context, |key| places.of(key)));
    }

    /// `None` if `auto` has no ranks to choose by, whose error is known already.
    fn read_template(
        &self,
        asked: &AskedConfig,
        choose: Chooser,
    ) -> Result<Option<LayeredConfig>, Vec<Problem>> {
        let UnderstoodLaunch { launch, host, .. } = &self.understood;
        let spec = &asked.spec;
        asked.can_be_handed_over(&self.understood)?;
        if let Some(problem) = self.understood.missing_shipped_config(spec) {
            return Err(problem.into());
        }
        let (template, chosen): (Template, Option<String>) = match &self.topology {
            _ if spec.value != AUTO => (template::resolve(spec, &launch.search, host)?, None),
            Some(topology) => {
                let chosen = choose(spec, topology, &self.understood)?;
                let named = Sourced::new(chosen.name, spec.from.clone());
                let template = template::resolve(&named, &launch.search, host)?;
                (template, Some(chosen.why))
            }
            None => return Ok(None),
        };
        let layered = layers::with_layers(&template, &launch.layers, host)?;
        let changed = (!launch.layers.is_empty()).then_some(layered);
        Ok(Some(LayeredConfig {
            template,
            chosen,
            changed,
        }))
    }

    fn finish(mut self) -> Result<Plan<'a>, Box<Self>> {
        match (self.topology.take(), self.launcher) {
            (Some(topology), Some(launcher)) if self.refusals.is_empty() => {
                match self.hand_over(&topology, launcher) {
                    Ok(handed_over) => return Ok(self.into_plan(topology, handed_over)),
                    Err(problems) => self.refusals = problems,
                }
                self.topology = Some(topology);
            }
            (topology, _) => self.topology = topology,
        }
        Err(Box::new(self))
    }

    fn into_plan(self, topology: Topology, handed_over: HandOver) -> Plan<'a> {
        let config = match (self.layered, self.resolved, handed_over.files) {
            (Some(layered), Some(resolved), Some(files)) => Some(PlannedConfig {
                layered,
                resolved,
                file: files.config,
                run_file: files.run_file,
            }),
            _ => None,
        };
        let launcher = handed_over.launcher;
        let opens = topology.opens_port(matches!(launcher, Launcher::Torchrun | Launcher::Local));
        Plan {
            trainer: trainer_facts(&self.understood),
            batch: batch(&self.understood, &topology, config.as_ref()),
            local: (launcher == Launcher::Local)
                .then(|| LocalRanks::new(&topology, &self.understood.host)),
            asked_config: self.asked_config,
            config,
            environment: handed_over.environment,
            environment_files: handed_over.environment_files,
            argv: handed_over.argv,
            blocker: self.understood.blocker(Some(launcher)),
            opens: opens.cloned(),
            launcher,
            topology,
            understood: self.understood,
        }
    }

    fn hand_over(&self, topology: &Topology, launcher: Launcher) -> Result<HandOver, Vec<Problem>> {
        let understood = &self.understood;
        let UnderstoodLaunch {
            launch,
            host,
            job,
            existing_launcher,
            ..
        } = understood;
        let template = self.layered.as_ref().map(|layered| &layered.template);
        let files = match (template, &self.resolved) {
            (Some(template), Some(resolved)) => {
                let config = PlannedFile::of_config(&resolved.config, template, understood)?;
                let run_file = PlannedFile::of_run_file(&config.path, understood);
                Some(ConfigFiles { config, run_file })
            }
            _ => None,
        };
        let config = files.as_ref().map(ConfigFiles::handed_over);
        let mut environment = EnvironmentInputs {
            understood,
            template,
            launcher,
            topology,
        }
        .decide();
        // A launcher that takes the config sets its own variables.
        if let Some(path) = config
            && !launcher.runs_zlaunch()
            && !understood.launcher_takes_config()
        {
            for (name, value) in job.config_variables(path) {
                let why = format!("passes the config to {}", job.target.name());
                environment.set(name, value, why);
            }
        }
        let context = LaunchContext {
            job,
            topology,
            flags: &launch.topology,
            hosts: &launch.hosts,
            extra: &launch.launcher_args,
            output: existing_launcher.is_none().then_some(&launch.rank_output),
            host,
        };
        let environment_files = forwarded_env::plan(&context, &mut environment)?;
        // The variables that the launcher of the command would set, if torchrun can stand in for it.
        let is_possible =
            !launcher.runs_zlaunch() && !launch.rehearsed && launch.launcher_args.is_empty();
        let existing = existing_launcher.as_ref().filter(|_| is_possible);
        let translated = existing.and_then(|existing| existing.as_torchrun(&context, config));
        let is_translated = translated.is_some();
        for (name, value) in translated.into_iter().flatten() {
            if !launch.environment.says(name) {
                environment.set(name, value, "as accelerate launch sets it");
            }
        }
        let launcher = if is_translated {
            Launcher::Torchrun
        } else {
            launcher
        };
        Ok(HandOver {
            argv: match understood.zlaunch_behind_prefix() {
                Some(argv) => argv,
                None => argv(understood, launcher, is_translated, &context, config)?,
            },
            files,
            launcher,
            environment,
            environment_files,
        })
    }

    /// Keeps why something could not be decided, so that the rest can be.
    fn keep<T>(&mut self, result: Result<T, Vec<Problem>>) -> Option<T> {
        result
            .map_err(|mut problems| self.refusals.append(&mut problems))
            .ok()
    }
}

/// `is_translated`: torchrun stands in for the launcher of the command.
fn argv(
    understood: &UnderstoodLaunch,
    launcher: Launcher,
    is_translated: bool,
    context: &LaunchContext<'_>,
    config: Option<&OsStr>,
) -> Result<Vec<OsString>, Vec<Problem>> {
    let UnderstoodLaunch {
        launch,
        job,
        existing_launcher,
        wrapper,
        ..
    } = understood;
    // A rehearsal runs one rank here instead of all ranks elsewhere.
    let starts_elsewhere =
        matches!(launcher, Launcher::Srun | Launcher::Deepspeed) && existing_launcher.is_none();
    let launcher = if launch.rehearsed && starts_elsewhere {
        Launcher::Direct
    } else {
        launcher
    };
    if launcher == Launcher::Srun {
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
    let adds_arguments = existing_launcher.is_none() || job.rewritten;
    let ranks = match &context.topology.world_size {
        Some(world) if world.value == 1 => Ranks::Single,
        _ if context.topology.ranks_exist() => Ranks::Existing,
        _ => Ranks::Launched,
    };
    let added = adds_arguments.then(|| job.launcher_args(ranks));
    let added = added.into_iter().flatten();
    if let Some(existing) = existing_launcher
        && !is_translated
    {
        return Ok(existing
            .argv(context, config)
            .into_iter()
            .chain(added)
            .collect());
    }
    let mut words = job.rank_args(if is_translated { None } else { config });
    words.extend(added);
    let problems = launcher::deepspeed::check_words(context, &words);
    if problems.is_empty() {
        Ok([launcher::prefix(launcher, context), words].concat())
    } else {
        Err(problems)
    }
}

fn batch(
    understood: &UnderstoodLaunch,
    topology: &Topology,
    config: Option<&PlannedConfig>,
) -> Option<(Value, String)> {
    let UnderstoodLaunch {
        launch, job, host, ..
    } = understood;
    if !launch.output.is_read() || job.trainer.is_passthrough() {
        return None;
    }
    let config = config.map_or(&Value::Null, PlannedConfig::value);
    auto::batch(&FillContext::new(job, topology, config, host))
}

fn trainer_facts(understood: &UnderstoodLaunch) -> TrainerFacts {
    let UnderstoodLaunch { launch, job, .. } = understood;
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
        runs: understood.what_runs(),
        reads: is_read
            .then(|| job.flow())
            .flatten()
            .map(|flow| flow.in_words()),
    }
}
