//! What is said about a training: by options of zlaunch, by its command, and by the defaults of its front end. Every front end
//! has names of its own for the same argument.

use serde_json::Value;

use super::architecture::Dtype;
use super::optimizer::Optimizer;
use super::settings::{Attention, Evaluation, Rollout, TrainingArgs, TrainingSettings, Tuner};
use super::tables::algorithms::{Algorithm, SUPERVISED};
use super::tables::arguments::{ARGUMENTS, Argument};
use crate::base::source::Sourced;
use crate::command::argv::{Args, hf_bool};
use crate::command::job::{Job, Trainer};
use crate::command::tables::training::{self, TrainingDefaults};
use crate::config::auto::FillContext;
use crate::host::Host;
use crate::ranks::topology::{RankFlags, Topology};

/// Tokens of a prompt, if no argument limits them.
pub(super) const PROMPT: u64 = 512;
const SEQ_LEN: u64 = 2048;

/// The defaults without a training command: the settings most people start with.
const WITHOUT_COMMAND: TrainingDefaults = TrainingDefaults {
    micro_batch: 1,
    checkpointing: true,
    ..training::HF
};

impl Argument {
    fn names(self) -> impl Iterator<Item = &'static str> {
        ARGUMENTS
            .iter()
            .filter(move |row| row.argument == self)
            .flat_map(|row| row.names.iter().copied())
    }
}

/// An option wins over the command. A value that cannot be read is ignored: refusing it is the trainer's business.
pub struct TrainingReader<'a> {
    pub(super) given: &'a TrainingArgs,
    pub(super) trainer: Option<&'static Trainer>,
    args: Args,
    /// The command, if it is understood.
    job: Option<&'a Job>,
    defaults: &'static TrainingDefaults,
}

impl<'a> TrainingReader<'a> {
    pub fn new(given: &'a TrainingArgs, job: Option<&'a Job>) -> Self {
        let trainer = job.map(|job| job.trainer);
        let job = job.filter(|job| !job.trainer.is_passthrough());
        TrainingReader {
            given,
            trainer,
            args: job.map_or(Args::default(), |job| job.args.clone()),
            job,
            defaults: trainer.map_or(&WITHOUT_COMMAND, |trainer| &trainer.model.training),
        }
    }

    /// `of_model`: the dtype of its weights by the model's config.
    pub fn settings(&self, of_model: Option<Dtype>, ranks: u64, host: &Host) -> TrainingSettings {
        let TrainingReader {
            given, defaults, ..
        } = self;
        let algorithm = self.algorithm().unwrap_or(SUPERVISED);
        let grad_accum = given
            .grad_accum
            .or_else(|| self.count(Argument::GradAccum))
            .unwrap_or_else(|| self.default_grad_accum(algorithm, ranks));
        let rollout = self.rollout(algorithm, grad_accum);
        let dropout = self.float(Argument::LoraDropout);
        TrainingSettings {
            micro_batch: self.micro_batch().unwrap_or(defaults.micro_batch),
            grad_accum,
            seq_len: self.seq_len(rollout).unwrap_or(match rollout {
                Some(rollout) => PROMPT.saturating_add(rollout.answer),
                None => defaults.seq_len.unwrap_or(SEQ_LEN),
            }),
            sequence_parallel: self.count(Argument::SequenceParallel).unwrap_or(1),
            tuner: self.tuner().unwrap_or(if defaults.lora {
                Tuner::Lora
            } else {
                Tuner::Full
            }),
            lora_rank: given
                .lora_rank
                .or_else(|| self.count(Argument::LoraRank))
                .unwrap_or(defaults.lora_rank),
            lora_targets: given
                .lora_targets
                .clone()
                .or_else(|| self.list(Argument::LoraTargets))
                .unwrap_or("all-linear".to_string()),
            dtype: self.dtype(of_model, host).unwrap_or(Dtype::Bf16),
            optimizer: given.optimizer.unwrap_or_else(|| self.optimizer()),
            checkpointing: given
                .checkpointing
                .or_else(|| self.checkpointing())
                .unwrap_or(defaults.checkpointing),
            attention: given.attention.or_else(|| self.attention()),
            fused_loss: given.fused_loss || self.is_on(Argument::FusedLoss),
            dropout: dropout.map_or(defaults.dropout, |dropout| dropout > 0.0),
            algorithm,
            evaluation: self.evaluation(),
            rollout,
            rewards: Vec::new(),
        }
    }

    /// The same training with the least that could be meant where nothing is said.
    pub(super) fn least(&self, settings: &TrainingSettings) -> TrainingSettings {
        TrainingSettings {
            micro_batch: self.micro_batch().unwrap_or(1),
            seq_len: self.seq_len(settings.rollout).unwrap_or(1),
            tuner: self.tuner().unwrap_or(Tuner::Lora),
            ..settings.clone()
        }
    }

    pub(super) fn model(&self) -> Option<Sourced<String>> {
        let of_command = || self.args.text(self.job?.trainer.model.argument);
        self.given.model.clone().or_else(of_command)
    }

    /// The names of reward models, or of a teacher.
    pub(super) fn rewards(&self) -> Vec<String> {
        let names = self.list(Argument::RewardModel).unwrap_or_default();
        let names = names.split(',').filter(|name| !name.is_empty());
        names.map(str::to_string).collect()
    }

    pub(super) fn micro_batch(&self) -> Option<u64> {
        let of_command = || self.count(Argument::MicroBatch);
        self.given.micro_batch.or_else(of_command)
    }

    fn text(&self, argument: Argument) -> Option<String> {
        let found = argument.names().find_map(|name| self.args.text(name))?;
        Some(found.value)
    }

    fn count(&self, argument: Argument) -> Option<u64> {
        let read = |name| self.args.int(name).ok().flatten();
        let found = argument.names().find_map(read)?;
        u64::try_from(found.value).ok().filter(|value| *value > 0)
    }

    fn float(&self, argument: Argument) -> Option<f64> {
        let read = |name| self.args.float(name).ok().flatten();
        Some(argument.names().find_map(read)?.value)
    }

    fn switch(&self, argument: Argument) -> Option<bool> {
        let read = |name| self.args.bool(name, true).ok().flatten();
        Some(argument.names().find_map(read)?.value)
    }

    fn is_on(&self, argument: Argument) -> bool {
        self.switch(argument) == Some(true)
    }

    /// Names that come as several words, or as one with commas.
    fn list(&self, argument: Argument) -> Option<String> {
        let (_, words) = argument.names().find_map(|name| self.args.list(name))?;
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        Some(words.join(","))
    }

    fn is_before(&self, package: &str, version: [u32; 3]) -> bool {
        self.job
            .and_then(|job| job.python.as_ref()?.version(package))
            .is_some_and(|installed| installed.is_before(version))
    }

    /// If no optimizer is named, transformers takes torch's fused AdamW from these versions on, and before them the one by
    /// foreach. Unknown versions are taken to be new.
    fn optimizer(&self) -> Optimizer {
        let is_old =
            self.is_before("transformers", [4, 54, 0]) || self.is_before("torch", [2, 8, 0]);
        match self.text(Argument::Optimizer) {
            Some(name) => Optimizer::named(&name),
            None if is_old => Optimizer::named("adamw_torch"),
            None => Optimizer::named("adamw"),
        }
    }

    fn attention(&self) -> Option<Attention> {
        self.text(Argument::Attention)
            .map(|name| match name.as_str() {
                "eager" | "disabled" => Attention::Eager,
                _ => Attention::Flash,
            })
    }

    /// As an argument or the name of the script says it. Other arguments decide if online tuning has a reference model.
    pub(super) fn algorithm(&self) -> Option<Algorithm> {
        let job = self.job?;
        let target = job.target.name();
        let stem = target
            .trim_end_matches(".py")
            .rsplit(['/', '.'])
            .next()
            .unwrap_or_default();
        let named = self.text(Argument::Algorithm).unwrap_or_default();
        let mut algorithm = Algorithm::find(&[&named, stem], self.defaults.own_ppo_and_gkd)?;
        if !algorithm.generates {
            return Some(algorithm);
        }
        let is_inside = self.is_on(Argument::UseVllm)
            && self.text(Argument::VllmMode).as_deref() != Some("server");
        let Some(online) = self.defaults.online else {
            algorithm.uncounted = true;
            return Some(algorithm);
        };
        algorithm.uncounted |= is_inside || self.count(Argument::GenerationBatch).is_some();
        if algorithm.groups {
            algorithm.has_reference = match self.float(Argument::Beta) {
                Some(beta) => beta != 0.0,
                None => algorithm.has_reference || online.reference.is_made(job.python.as_ref()),
            };
        }
        Some(algorithm)
    }

    /// GRPO accumulates only what it is told to; others up to a number of sequences.
    fn default_grad_accum(&self, algorithm: Algorithm, ranks: u64) -> u64 {
        let micro_batch = self.micro_batch().unwrap_or(self.defaults.micro_batch);
        let at_once = micro_batch.saturating_mul(ranks).max(1);
        if algorithm.groups {
            1
        } else {
            self.defaults.batch.div_ceil(at_once).max(1)
        }
    }

    pub(super) fn tuner(&self) -> Option<Tuner> {
        if self.given.tuner.is_some() {
            return self.given.tuner;
        }
        let loaded = |argument, bits: u64| self.is_on(argument).then_some(bits);
        let bits = self
            .count(Argument::QuantBits)
            .or_else(|| loaded(Argument::LoadIn4Bit, 4))
            .or_else(|| loaded(Argument::LoadIn8Bit, 8));
        let lora = bits.map_or(Tuner::Lora, Tuner::Quantised);
        match self.text(Argument::Tuner).as_deref() {
            Some("full" | "freeze" | "none") => Some(Tuner::Full),
            Some("qlora") => Some(Tuner::Quantised(bits.unwrap_or(4))),
            Some(_) => Some(lora),
            None => self.is_on(Argument::UsePeft).then_some(lora),
        }
    }

    /// Where the evaluation set has an argument of its own, an evaluation follows from it; elsewhere it has to be asked for.
    fn evaluation(&self) -> Option<Evaluation> {
        let TrainingDefaults {
            eval_sets,
            eval_batch,
            ..
        } = self.defaults;
        let strategy = self.text(Argument::EvalStrategy);
        let is_off = strategy.as_deref() == Some("no");
        let mut sets = eval_sets.iter().filter_map(|name| self.args.text(name));
        let is_evaluated = if eval_sets.is_empty() {
            strategy.is_some() && !is_off || self.is_on(Argument::DoEval)
        } else {
            !is_off && sets.any(|set| set.value.parse() != Ok(0.0))
        };
        let generates = self.is_on(Argument::PredictWithGenerate);
        // No front end has a larger default than LLaMA-Factory.
        let new_tokens = || self.count(Argument::NewTokens).unwrap_or(1024);
        is_evaluated.then(|| Evaluation {
            batch: self
                .count(Argument::EvalBatch)
                .or(*eval_batch)
                .or_else(|| self.micro_batch())
                .unwrap_or(self.defaults.micro_batch),
            // transformers' own trainer computes a loss besides.
            has_loss: !generates || self.console().is_none(),
            new_tokens: generates.then(new_tokens),
            spelling: if eval_batch.is_some() {
                "--per_device_eval_batch_size "
            } else {
                "eval_batch_size: "
            },
        })
    }

    /// What GRPO and the like generate.
    fn rollout(&self, algorithm: Algorithm, grad_accum: u64) -> Option<Rollout> {
        let online = self.defaults.online.filter(|_| algorithm.generates)?;
        Some(Rollout {
            answer: self
                .count(Argument::AnswerLength)
                .or_else(|| self.count(Argument::NewTokens))
                .unwrap_or(online.answer),
            micro_batches: self
                .count(Argument::StepsPerGeneration)
                .unwrap_or(grad_accum),
            gathers: self.switch(Argument::GatherForGeneration) != Some(false),
            is_served: self.is_on(Argument::UseVllm),
        })
    }

    /// With an answer behind the prompt, whose length has an argument of its own in TRL.
    pub(super) fn seq_len(&self, rollout: Option<Rollout>) -> Option<u64> {
        if self.given.seq_len.is_some() {
            return self.given.seq_len;
        }
        let prompt = rollout.and_then(|_| self.count(Argument::PromptLength));
        let length = prompt.or_else(|| self.count(Argument::SequenceLength))?;
        Some(length.saturating_add(rollout.map_or(0, |rollout| rollout.answer)))
    }

    /// The weights are trained in what `bf16.enabled` and `fp16.enabled` are filled with. Without half precision DeepSpeed
    /// leaves them as they were loaded: transformers goes by the model's config from 5.0 on. `None` if nothing tells.
    pub(super) fn dtype(&self, of_model: Option<Dtype>, host: &Host) -> Option<Dtype> {
        if self.given.dtype.is_some() {
            return self.given.dtype;
        }
        let topology = Topology::of_existing_launcher(RankFlags::default(), host);
        let context = FillContext::new(self.job?, &topology, &Value::Null, host);
        let is_on = |key: &str| context.is_on(key).map(|given| given.value);
        let bf16 = is_on("bf16.enabled");
        if bf16 == Some(true) {
            return Some(Dtype::Bf16);
        }
        if is_on("fp16.enabled") == Some(true) {
            return Some(Dtype::Fp16);
        }
        let named = self.text(Argument::Dtype);
        let named = named.and_then(|name| Dtype::named(&name));
        if named.is_some() || self.defaults.half {
            // Some load a model in 16 bits, whatever its config says.
            return named.or(match of_model {
                None | Some(Dtype::Bf16) => Some(Dtype::Bf16),
                Some(_) => Some(Dtype::Fp16),
            });
        }
        bf16?;
        let is_old = self.is_before("transformers", [5, 0, 0]);
        of_model.filter(|_| !is_old).or(Some(Dtype::Fp32))
    }

    /// axolotl also takes values such as `offload`, which mean yes.
    fn checkpointing(&self) -> Option<bool> {
        let off = self.switch(Argument::NoCheckpointing).map(|off| !off);
        let on = self.text(Argument::Checkpointing);
        off.or_else(|| on.map(|text| hf_bool(&text).unwrap_or(true)))
            .or_else(|| self.switch(Argument::Checkpointing))
    }
}
