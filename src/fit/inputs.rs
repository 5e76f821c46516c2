//! A training and the machines it runs on: what is given, by options or by a command, and what was found here.

use serde_json::Value;

use super::architecture::{Dtype, Weights};
use super::candidates::{Candidate, Candidates, FASTEST_FIRST, FASTEST_FIRST_ON_ONE_GPU};
use super::choice::{Scenario, Verdict};
use super::fit_report::{FitReport, Judged};
use super::need::{Accounting, Cluster, Memories};
use super::settings::{TrainedDtype, TrainingArgs, TrainingSettings};
use super::weights::{self, ModelLookup};
use super::workload::Workload;
use super::{FitRequest, remedies, training_args};
use crate::base::json;
use crate::base::source::{Source, Sourced};
use crate::command::allocator::Allocator;
use crate::command::job::{Job, Trainer};
use crate::command::model::Hub;
use crate::host::Host;
use crate::host::cards::Card;
use crate::host::machine::Machine;
use crate::report::fix::give;
use crate::report::{Problem, Rule};
use crate::request::Launch;

#[derive(Clone)]
pub(super) struct FitInputs<'a> {
    pub(super) args: TrainingArgs,
    pub(super) trainer: Option<&'static Trainer>,
    lookup: ModelLookup,
    /// The config that is judged, besides the templates.
    pub(super) config: Option<Sourced<String>>,
    /// The config of the command, if it is not here.
    pub(super) unread: Option<Sourced<String>>,
    pub(super) card: Option<&'static str>,
    /// Not on this machine, so its memory says nothing.
    pub(super) is_elsewhere: bool,
    pub(super) cluster: Cluster,
    pub(super) launch: &'a Launch,
    pub(super) allocator: Allocator,
    pub(super) accounting: Accounting,
}

/// A training whose memory can be summed up.
pub(super) struct Training {
    pub(super) weights: Weights,
    pub(super) workload: Workload,
}

impl<'a> FitInputs<'a> {
    /// `given` wins over the arguments of the job.
    pub(super) fn new(
        given: TrainingArgs,
        job: Option<&Job>,
        cluster: Cluster,
        launch: &'a Launch,
        host: &Host,
    ) -> Self {
        let mut args = TrainingArgs {
            seq_len: launch.memory.seq_len.as_ref().map(|given| given.value),
            ..given
        };
        let mut lookup = ModelLookup {
            hub: Hub::HuggingFace,
            revision: None,
            trusts_names: false,
        };
        if let Some(job) = job {
            args = training_args::with_command(args, job, cluster.world_size(), host);
            lookup.hub = (job.trainer.model.hub)(&job.args, host);
            let revision = job.args.text("model_revision");
            lookup.revision = revision.map(|revision| revision.value);
        }
        FitInputs {
            args,
            trainer: job.map(|job| job.trainer),
            lookup,
            config: launch.deepspeed.clone(),
            unread: None,
            card: None,
            is_elsewhere: false,
            cluster,
            launch,
            allocator: Allocator::of(job, host),
            accounting: Accounting::Real,
        }
    }

    /// With the options of `zlaunch fit`, which may be about other machines and models that are not here.
    pub(super) fn of_request(
        request: &'a FitRequest,
        job: Option<&Job>,
        cluster: Cluster,
        host: &Host,
    ) -> Self {
        let given = request.training.clone();
        let mut inputs = FitInputs::new(given, job, cluster, &request.launch, host);
        inputs.lookup.trusts_names = true;
        inputs.card = request.card;
        inputs.accounting = request.accounting;
        let has_fewer = host
            .nvidia_gpus
            .is_none_or(|here| cluster.gpus > here as u64);
        inputs.is_elsewhere = request.launch.memory.gpu.is_some() || has_fewer;
        inputs
    }

    /// Half precision that the config switches on by itself counts, whatever the arguments say.
    pub(super) fn of_config(mut self, config: &Value) -> Self {
        for (key, dtype) in [("fp16.enabled", Dtype::Fp16), ("bf16.enabled", Dtype::Bf16)] {
            if json::get(config, key) == Some(&Value::Bool(true)) {
                self.args.dtype = Some(TrainedDtype::Given(dtype));
            }
        }
        self
    }

    /// Fails if the numbers are too large to be summed.
    pub(super) fn training(&self, host: &Host) -> Result<Training, Problem> {
        let weights = weights::find(&self.args, &self.lookup, host)?;
        let mut settings = TrainingSettings::new(&self.args, self.trainer, weights.dtype);
        for name in &self.args.rewards {
            let model = TrainingArgs {
                model: Some(Sourced::new(name.clone(), Source::Default)),
                ..TrainingArgs::default()
            };
            match weights::find(&model, &self.lookup, host) {
                Ok(found) => settings.rewards.push(found),
                Err(_) => settings.algorithm.uncounted = true,
            }
        }
        settings.algorithm.uncounted |= settings.algorithm.critic && settings.rewards.is_empty();
        let workload = Workload::new(&weights, &settings);
        if workload.is_plausible(self.cluster) {
            return Ok(Training { weights, workload });
        }
        let Cluster { nodes, gpus } = self.cluster;
        let place = format!(
            "{} parameters, {} × {} tokens at once, {nodes} machines with {gpus} GPUs each",
            workload.params, settings.micro_batch, workload.seq_len
        );
        let smaller = give("--micro-batch", 1)
            .and(give("--seq-len", 2048))
            .and(give("--gpus", 8));
        let what = "these numbers are too large for any run";
        Err(Problem::error(Rule::Fit, what).at(place).fix(smaller))
    }

    pub(super) fn scenario<'s>(
        &self,
        training: &'s Training,
        memories: Memories,
        templates: &'s [Candidate],
    ) -> Scenario<'s> {
        Scenario {
            weights: &training.weights,
            settings: &training.workload.settings,
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

    pub(super) fn report(&self, host: &Host) -> Result<FitReport<'a>, Vec<Problem>> {
        let training = self.training(host)?;
        let gpu_memory = self.gpu_memory(host);
        let host_memory = self.host_memory();
        let candidates = Candidates::read(
            self.config.as_ref(),
            self.launch,
            training.weights.shape.hidden,
            &self.allocator,
            host,
        )?;
        let memories = Memories {
            gpu: gpu_memory.as_ref().map(|memory| memory.value),
            host: host_memory.as_ref().map(|memory| memory.value),
            disk: candidates.free_disk.filter(|_| !self.is_elsewhere),
        };
        let scenario = self.scenario(&training, memories, &candidates.all);
        let rows = scenario.rows();
        let recommended = scenario.recommend();
        let judged = candidates.named.map(|row| Judged {
            row,
            largest_micro_batch: scenario.largest_micro_batch(&candidates.all[row]),
        });
        let row = judged.as_ref().map(|judged| &rows[judged.row]);
        let fits = row.map_or(recommended.is_some(), |row| row.verdict != Verdict::Not);
        let is_real = self.accounting == Accounting::Real;
        let remedies = match row {
            _ if fits || !is_real || memories.gpu.is_none() => Vec::new(),
            Some(row) => {
                let alone = Scenario {
                    order: &[&row.candidate.name],
                    ..scenario
                };
                remedies::remedies(&alone, &scenario)
            }
            None => remedies::remedies(&scenario, &scenario),
        };
        let assumed = if is_real {
            self.assumed(&training.weights, &training.workload.settings)
        } else {
            Vec::new()
        };
        Ok(FitReport {
            machine: self.machine(gpu_memory.as_ref(), host_memory.as_ref()),
            inputs: self.clone(),
            training,
            memories,
            rows,
            judged,
            recommended,
            remedies,
            assumed,
        })
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
