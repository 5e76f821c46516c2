//! The decision: everything a launch will do, as a plain value, made in a straight line: the ranks, the config, how it is
//! handed over, the environment. Reads files the user named and changes nothing. `--dry-run` prints the plan, `exec`
//! carries it out. What speaks against it is for the judges above.

mod config;
mod decision;
pub mod environment;
mod print;
pub mod record;
mod tables;

use std::ffi::{OsStr, OsString};

use crate::{
    base::source::{Given, Source, Sourced},
    command::front_end::Ranks,
    config::{
        auto::{self, FillContext},
        layers, template,
    },
    host::Host,
    ranks::{
        launcher::{self, LaunchContext, Launcher, LocalRanks},
        topology::Topology,
    },
    report::Problems,
    request::{AUTO, Launch, understood::UnderstoodLaunch},
};

pub use config::{FileKind, PlannedConfig, PlannedFile};
use config::{LayeredConfig, asked_config, can_be_handed_over};
use decision::HandOver;
pub use decision::{Draft, Plan};
use environment::EnvironmentInputs;
pub use print::diagnostics_json;
pub use print::refused_json;
pub use record::Record;

/// What `--deepspeed auto` means for a launch.
pub type Chooser =
    fn(&Sourced<String>, &Topology, &UnderstoodLaunch) -> Result<ChosenTemplate, Problems>;

pub struct ChosenTemplate {
    pub name: String,
    /// A sentence for the user.
    pub why: String,
}

impl<'a> Draft<'a> {
    /// Decides in this order: the ranks, the config, how both are handed over.
    pub fn new(launch: &'a Launch, machine: &'a Host, choose: Chooser) -> Self {
        let mut draft = Draft {
            understood: UnderstoodLaunch::new(launch, machine),
            topology: None,
            launcher: None,
            asked_config: None,
            layered: None,
            resolved: None,
            handed_over: None,
            refusals: vec![],
        };
        draft.place_ranks();
        draft.resolve_config(choose);
        if let (Some(topology), Some(launcher), []) =
            (&draft.topology, draft.launcher, &draft.refusals[..])
        {
            let decided = draft.hand_over(topology, launcher);
            draft.handed_over = draft.keep(decided);
        }
        draft
    }

    /// How many ranks there are, where, and who starts them.
    fn place_ranks(&mut self) {
        self.topology = self.keep(self.understood.topology());
        if let Some(topology) = &self.topology {
            self.launcher = self.keep(self.understood.launcher(topology));
        }
    }

    /// The template that was asked for, with its layers; and with the ranks, what becomes of "auto".
    fn resolve_config(&mut self, choose: Chooser) {
        self.asked_config = asked_config(&self.understood);
        let Some(spec) = &self.asked_config else {
            return;
        };
        // A config of the trainer's package is read where the package is, and zlaunch has no template for it.
        let UnderstoodLaunch { launch, job, .. } = &self.understood;
        if self.understood.runs_elsewhere()
            && matches!(spec.from, Source::Argument(_))
            && job.ships_config(&spec.value)
            && !launch.search.knows(&spec.value)
        {
            return;
        }
        let layered = self.read_template(spec, choose);
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
        let mut context = FillContext::new(job, topology, &layered.config, &host);
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
        spec: &Sourced<String>,
        choose: Chooser,
    ) -> Result<Option<LayeredConfig>, Problems> {
        let UnderstoodLaunch { launch, host, .. } = &self.understood;
        can_be_handed_over(spec, &self.understood)?;
        let mut spec = spec.clone();
        let mut why = None;
        if spec.value == AUTO {
            let Some(topology) = &self.topology else {
                return Ok(None);
            };
            let chosen = choose(&spec, topology, &self.understood)?;
            spec.value = chosen.name;
            why = Some(chosen.why);
        }
        let template = template::resolve(&spec, &launch.search, host)?;
        let config = layers::with_layers(&template, &launch.layers, host)?;
        Ok(Some(LayeredConfig {
            template,
            chosen: why,
            config,
        }))
    }

    /// The plan, if everything was decided.
    pub fn into_plan(self) -> Result<Plan<'a>, Box<UnderstoodLaunch<'a>>> {
        let (Some(topology), Some(launcher), Some(handed_over)) =
            (self.topology, self.launcher, self.handed_over)
        else {
            return Err(Box::new(self.understood));
        };
        let config = match (self.layered, self.resolved, handed_over.file) {
            (Some(layered), Some(resolved), Some(file)) => Some(PlannedConfig {
                layered,
                resolved,
                file,
                run_file: handed_over.run_file,
            }),
            _ => None,
        };
        let opens = topology.opens_port(match launcher {
            Launcher::Torchrun | Launcher::Local => true,
            Launcher::Deepspeed => topology.is_one_machine(),
            // On one machine it takes another one where it can.
            Launcher::Accelerate => topology.has_several_nodes(),
            _ => false,
        });
        Ok(Plan {
            local: (launcher == Launcher::Local)
                .then(|| LocalRanks::new(&topology, &self.understood.host)),
            config,
            environment: handed_over.environment,
            environment_file: handed_over.environment_file,
            argv: handed_over.argv,
            blocker: self.understood.blocker(Some(launcher)),
            opens: opens.cloned(),
            launcher,
            topology,
            understood: self.understood,
        })
    }

    /// The files that are written, the variables and the words that are executed.
    fn hand_over(&self, topology: &Topology, launcher: Launcher) -> Result<HandOver, Problems> {
        let understood = &self.understood;
        let UnderstoodLaunch {
            launch, host, job, ..
        } = understood;
        let template = self.layered.as_ref().map(|layered| &layered.template);
        let file = match (template, &self.resolved) {
            (Some(template), Some(resolved)) => Some(PlannedFile::of_config(
                &resolved.config,
                template,
                understood,
            )?),
            _ => None,
        };
        let run_file = file
            .as_ref()
            .and_then(|file| PlannedFile::of_run_file(&file.path, understood));
        let config = run_file
            .as_ref()
            .or(file.as_ref())
            .map(|file| file.path.as_os_str());
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
            host,
        };
        let environment_file = environment.for_other_machines(&context)?;
        let argv = match understood.zlaunch_behind_prefix() {
            Some(argv) => argv,
            None => argv(understood, launcher, &context, config)?,
        };
        Ok(HandOver {
            file,
            run_file,
            environment,
            environment_file,
            argv,
        })
    }

    /// Keeps why something could not be decided, so that the rest can be.
    fn keep<T>(&mut self, result: Result<T, Problems>) -> Option<T> {
        result
            .map_err(|mut problems| self.refusals.append(&mut problems))
            .ok()
    }
}

/// The words that are executed: `srun` with zlaunch behind it, the launcher of the command, or ours in front of the trainer.
fn argv(
    understood: &UnderstoodLaunch,
    launcher: Launcher,
    context: &LaunchContext,
    config: Option<&OsStr>,
) -> Result<Vec<OsString>, Problems> {
    let UnderstoodLaunch {
        launch,
        job,
        existing_launcher,
        srun,
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
        let is_asked = launch.launcher.value() == Some(Launcher::Srun);
        let extra = if is_asked { context.extra } else { &[] };
        let options = launch.forwarded_options();
        let LaunchContext { topology, host, .. } = *context;
        return Ok(launcher::srun::argv(
            srun.as_ref(),
            &options,
            &launch.command,
            extra,
            topology,
            host,
        )?);
    }
    // Behind a launcher in the command, a script keeps the arguments it was given.
    let adds_arguments = existing_launcher.is_none() || job.rewritten;
    let ranks = match context.topology.world_size.value() {
        Some(1) => Ranks::Single,
        _ if context.topology.ranks_exist() => Ranks::Existing,
        _ => Ranks::Launched,
    };
    let added = job
        .starter_option(ranks)
        .filter(|_| adds_arguments)
        .into_iter()
        .flatten();
    if let Some(existing) = existing_launcher {
        let mut words = existing.argv(context, config);
        words.extend(added);
        return Ok(words);
    }
    let mut words = job.rank_args(config);
    words.extend(added);
    let problems = launcher::deepspeed::check_words(context, &words);
    if problems.is_empty() {
        Ok([launcher::choice::prefix(launcher, context), words].concat())
    } else {
        Err(problems)
    }
}
