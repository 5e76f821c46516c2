//! A training and the machines it runs on: what is given, by options or by a command, and what was found here.

use serde_json::Value;

use super::architecture::{Dtype, Weights};
use super::assumptions::Assumption;
use super::candidates::{Candidate, FASTEST_FIRST, FASTEST_FIRST_ON_ONE_GPU};
use super::choice::Scenario;
use super::need::{Accounting, Cluster, Memories};
use super::settings::{TrainingArgs, TrainingSettings};
use super::training_args::TrainingReader;
use super::weights::{self, ModelLookup};
use super::workload::Workload;
use crate::base::json;
use crate::base::source::{Source, Sourced};
use crate::command::allocator::Allocator;
use crate::command::job::Job;
use crate::command::model::Hub;
use crate::host::Host;
use crate::host::cards::Card;
use crate::host::machine::Machine;
use crate::report::fix::give;
use crate::report::{Problem, Rule};
use crate::request::Launch;

#[derive(Clone)]
pub(super) struct FitInputs<'a> {
    pub(super) model: Option<String>,
    pub(super) weights: Weights,
    pub(super) workload: Workload,
    /// The settings with the least that could be meant where nothing is said.
    pub(super) least: TrainingSettings,
    pub(super) assumed: Vec<Assumption>,
    /// The config that is judged, besides the templates.
    pub(super) config: Option<Sourced<String>>,
    pub(super) card: Option<&'static str>,
    /// Not on this machine, so its memory says nothing.
    pub(super) is_elsewhere: bool,
    pub(super) cluster: Cluster,
    pub(super) launch: &'a Launch,
    pub(super) allocator: Allocator,
    pub(super) accounting: Accounting,
}

/// Where the files of a training are, apart from its command.
#[derive(Default)]
pub(super) struct Files<'a> {
    /// The config of the command, if it is not here.
    pub(super) unread: Option<&'a str>,
    /// The size of a model whose files are not here is taken from its name.
    pub(super) trusts_names: bool,
}

impl<'a> FitInputs<'a> {
    /// `given` wins over the arguments of the job. Fails if the numbers are too large to be summed.
    pub(super) fn new(
        mut given: TrainingArgs,
        job: Option<&Job>,
        files: &Files,
        cluster: Cluster,
        launch: &'a Launch,
        host: &Host,
    ) -> Result<Self, Problem> {
        given.seq_len = launch.memory.seq_len.as_ref().map(|given| given.value);
        let reader = TrainingReader::new(&given, job);
        let revision = job.and_then(|job| job.args.text("model_revision"));
        let lookup = ModelLookup {
            hub: job.map_or(Hub::HuggingFace, |job| {
                (job.trainer.model.hub)(&job.args, host)
            }),
            revision: revision.map(|revision| revision.value),
            trusts_names: files.trusts_names,
        };
        let model = reader.model();
        let weights = weights::find(model.as_ref(), given.params.as_ref(), &lookup, host)?;
        let mut settings = reader.settings(weights.dtype, cluster.world_size(), host);
        if settings.rollout.is_some() {
            for name in reader.rewards() {
                let name = Sourced::new(name, Source::Default);
                match weights::find(Some(&name), None, &lookup, host) {
                    Ok(found) => settings.rewards.push(found),
                    Err(_) => settings.algorithm.uncounted = true,
                }
            }
        }
        settings.algorithm.uncounted |= settings.algorithm.critic && settings.rewards.is_empty();
        let workload = Workload::new(&weights, &settings);
        if !workload.is_plausible(cluster) {
            return Err(too_large(&workload, cluster));
        }
        Ok(FitInputs {
            assumed: reader.assumed(&weights, &settings, files.unread, host),
            least: reader.least(&settings),
            model: model.map(|model| model.value),
            weights,
            workload,
            config: launch.deepspeed.clone(),
            card: None,
            is_elsewhere: false,
            cluster,
            launch,
            allocator: Allocator::of(job, host),
            accounting: Accounting::Real,
        })
    }

    /// Of a launch, as its command describes it.
    pub(super) fn of_launch(
        job: &Job,
        config: Option<&Value>,
        cluster: Cluster,
        launch: &'a Launch,
        host: &Host,
    ) -> Result<Self, Problem> {
        let given = TrainingArgs {
            dtype: config.and_then(dtype_of),
            ..TrainingArgs::default()
        };
        Self::new(given, Some(job), &Files::default(), cluster, launch, host)
    }

    pub(super) fn settings(&self) -> &TrainingSettings {
        &self.workload.settings
    }

    pub(super) fn scenario<'s>(
        &'s self,
        settings: &'s TrainingSettings,
        memories: Memories,
        templates: &'s [Candidate],
    ) -> Scenario<'s> {
        Scenario {
            weights: &self.weights,
            settings,
            cluster: self.cluster,
            memories,
            accounting: self.accounting,
            segments: None,
            templates,
            order: if self.cluster.world_size() == 1 {
                FASTEST_FIRST_ON_ONE_GPU
            } else {
                FASTEST_FIRST
            },
        }
    }

    /// As the user gave it, or that of the smallest GPU here if the models of all of them are known.
    pub(super) fn gpu_memory(&self, host: &Host) -> Option<Sourced<u64>> {
        if self.launch.memory.gpu.is_some() {
            return self.launch.memory.gpu.clone();
        }
        let gpus = host.gpus();
        let each: Option<Vec<u64>> = gpus
            .iter()
            .map(|model| Card::of_driver(model).map(Card::memory))
            .collect();
        let least = each?.into_iter().min()?;
        Some(Sourced::new(least, Source::Machine("the GPU's name")))
    }

    pub(super) fn host_memory(&self) -> Option<Sourced<u64>> {
        let given = &self.launch.memory.host;
        if given.is_some() || self.accounting == Accounting::Textbook || self.is_elsewhere {
            return given.clone();
        }
        let here = Machine::here().memory().most()?;
        Some(Sourced::new(here, Source::Machine("this machine")))
    }
}

/// Half precision that a config switches on by itself.
pub(super) fn dtype_of(config: &Value) -> Option<Dtype> {
    let is_on = |key: &str| json::get(config, key) == Some(&Value::Bool(true));
    if is_on("bf16.enabled") {
        Some(Dtype::Bf16)
    } else {
        is_on("fp16.enabled").then_some(Dtype::Fp16)
    }
}

fn too_large(workload: &Workload, Cluster { nodes, gpus }: Cluster) -> Problem {
    let place = format!(
        "{} parameters, {} × {} tokens at once, {nodes} machines with {gpus} GPUs each",
        workload.params, workload.settings.micro_batch, workload.seq_len
    );
    let smaller = give("--micro-batch", 1)
        .and(give("--seq-len", 2048))
        .and(give("--gpus", 8));
    let what = "these numbers are too large for any run";
    Problem::error(Rule::Fit, what).at(place).fix(smaller)
}
