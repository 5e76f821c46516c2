//! The settings of a training as its command spells them. Every front end has names of its own for them.

use serde_json::Value;

use super::architecture::Dtype;
use super::optimizer::Optimizer;
use super::settings::{Attention, Evaluation, Rollout, TrainedDtype, TrainingArgs, Tuner};
use super::tables::algorithms::Algorithm;
use super::tables::arguments::{ARGUMENTS, Argument};
use crate::command::argv::{Args, Field, Nargs, hf_bool};
use crate::command::front_end::TrainingDefaults;
use crate::command::job::Job;
use crate::config::auto::FillContext;
use crate::host::Host;
use crate::ranks::topology::{RankFlags, Topology};

/// The settings that were given, completed by those of the training command.
pub(super) fn with_command(
    given: TrainingArgs,
    job: &Job,
    ranks: u64,
    host: &Host,
) -> TrainingArgs {
    if job.trainer.is_passthrough() {
        return given;
    }
    let reader = ArgumentReader::new(job);
    let algorithm = reader.algorithm();
    let micro_batch = given
        .micro_batch
        .or_else(|| reader.count(Argument::MicroBatch));
    let grad_accum = given
        .grad_accum
        .or_else(|| reader.count(Argument::GradAccum))
        .unwrap_or_else(|| reader.default_grad_accum(algorithm, micro_batch, ranks));
    let rollout = algorithm.and_then(|algorithm| reader.rollout(algorithm, grad_accum));
    let rewards = rollout.and_then(|_| reader.list(Argument::RewardModel));
    TrainingArgs {
        model: given
            .model
            .or_else(|| reader.args.text(job.trainer.model.argument)),
        params: given.params,
        micro_batch,
        grad_accum: Some(grad_accum),
        seq_len: given.seq_len.or_else(|| reader.sequences(rollout)),
        sequence_parallel: reader.count(Argument::SequenceParallel),
        tuner: given.tuner.or_else(|| reader.tuner()),
        lora_rank: given.lora_rank.or_else(|| reader.count(Argument::LoraRank)),
        lora_targets: given
            .lora_targets
            .or_else(|| reader.list(Argument::LoraTargets)),
        dtype: given.dtype.or_else(|| reader.dtype(host)),
        optimizer: given.optimizer.or_else(|| reader.optimizer()),
        checkpointing: given.checkpointing.or_else(|| reader.checkpointing()),
        attention: given.attention.or_else(|| reader.attention()),
        fused_loss: given
            .fused_loss
            .or_else(|| reader.switch(Argument::FusedLoss)),
        dropout: reader
            .float(Argument::LoraDropout)
            .map(|dropout| dropout > 0.0),
        algorithm,
        evaluation: reader.evaluation(micro_batch),
        rollout,
        rewards: rewards.map_or(Vec::new(), |names| {
            names.split(',').map(str::to_string).collect()
        }),
    }
}

impl Argument {
    fn names(self) -> impl Iterator<Item = &'static str> {
        ARGUMENTS
            .iter()
            .filter(move |row| row.argument == self)
            .flat_map(|row| row.names.iter().copied())
    }
}

/// Looks arguments up by several names. A value that cannot be read is ignored: refusing it is the trainer's business.
struct ArgumentReader<'a> {
    args: Args,
    job: &'a Job,
    defaults: &'static TrainingDefaults,
}

impl<'a> ArgumentReader<'a> {
    fn new(job: &'a Job) -> Self {
        let model = &job.trainer.model;
        let own = model.training.eval_sets.iter().chain([&model.argument]);
        let mut fields: Vec<Field> = own.map(|name| (*name, Nargs::One)).collect();
        for row in ARGUMENTS {
            fields.extend(row.names.iter().map(|name| (*name, row.nargs)));
        }
        let options = (job.trainer.arguments.options)(&job.target);
        ArgumentReader {
            args: Args::read(job.args.words().to_vec(), &fields, options),
            job,
            defaults: &model.training,
        }
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
        let python = self.job.python.as_ref();
        python
            .and_then(|python| python.version(package))
            .is_some_and(|installed| installed.is_before(version))
    }

    /// If no optimizer is named, transformers takes torch's fused AdamW from these versions on, and before them the one by
    /// foreach. Unknown versions are taken to be new.
    fn optimizer(&self) -> Option<Optimizer> {
        let is_old =
            self.is_before("transformers", [4, 54, 0]) || self.is_before("torch", [2, 8, 0]);
        let default = is_old.then_some("adamw_torch");
        let name = self.text(Argument::Optimizer);
        name.as_deref().or(default).map(Optimizer::named)
    }

    fn attention(&self) -> Option<Attention> {
        self.text(Argument::Attention)
            .map(|name| match name.as_str() {
                "eager" | "disabled" => Attention::Eager,
                _ => Attention::Flash,
            })
    }

    /// As an argument or the name of the script says it. Other arguments decide if online tuning has a reference model.
    fn algorithm(&self) -> Option<Algorithm> {
        let target = self.job.target.name();
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
        algorithm.uncounted |= is_inside || self.count(Argument::GenerationBatch).is_some();
        match self.defaults.online {
            Some(online) if algorithm.groups => {
                algorithm.has_reference = match self.float(Argument::Beta) {
                    Some(beta) => beta != 0.0,
                    None => {
                        algorithm.has_reference || (online.has_reference)(self.job.python.as_ref())
                    }
                };
            }
            Some(_) => {}
            None => algorithm.uncounted = true,
        }
        Some(algorithm)
    }

    /// GRPO accumulates only what it is told to; others up to a number of sequences.
    fn default_grad_accum(
        &self,
        algorithm: Option<Algorithm>,
        micro_batch: Option<u64>,
        ranks: u64,
    ) -> u64 {
        if algorithm.is_some_and(|algorithm| algorithm.groups) {
            return 1;
        }
        let at_once = micro_batch
            .unwrap_or(self.defaults.micro_batch)
            .saturating_mul(ranks)
            .max(1);
        self.defaults.batch.div_ceil(at_once).max(1)
    }

    fn tuner(&self) -> Option<Tuner> {
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
    fn evaluation(&self, micro_batch: Option<u64>) -> Option<Evaluation> {
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
                .or(micro_batch)
                .unwrap_or(self.defaults.micro_batch),
            // transformers' own trainer computes a loss besides.
            has_loss: !generates || self.job.trainer.launch.consoles.is_empty(),
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
    fn sequences(&self, rollout: Option<Rollout>) -> Option<u64> {
        let Some(rollout) = rollout else {
            return self.count(Argument::SequenceLength);
        };
        let prompt = self
            .count(Argument::PromptLength)
            .or_else(|| self.count(Argument::SequenceLength))?;
        Some(prompt.saturating_add(rollout.answer))
    }

    /// The weights are trained in what `bf16.enabled` and `fp16.enabled` are filled with. Without half precision DeepSpeed
    /// leaves them as they were loaded: transformers goes by the model's config from 5.0 on.
    fn dtype(&self, host: &Host) -> Option<TrainedDtype> {
        let topology = Topology::of_existing_launcher(RankFlags::default(), host);
        let context = FillContext::new(self.job, &topology, &Value::Null, host);
        let is_on = |key: &str| context.is_on(key).map(|given| given.value);
        let bf16 = is_on("bf16.enabled");
        let named = || Dtype::named(&self.text(Argument::Dtype)?);
        let given = if bf16 == Some(true) {
            Some(Dtype::Bf16)
        } else if is_on("fp16.enabled") == Some(true) {
            Some(Dtype::Fp16)
        } else {
            named()
        };
        match given {
            Some(dtype) => Some(TrainedDtype::Given(dtype)),
            None if self.defaults.half => Some(TrainedDtype::HalfOfModel),
            None if bf16.is_none() => None,
            None if self.is_before("transformers", [5, 0, 0]) => {
                Some(TrainedDtype::Given(Dtype::Fp32))
            }
            None => Some(TrainedDtype::OfModel),
        }
    }

    /// axolotl also takes values such as `offload`, which mean yes.
    fn checkpointing(&self) -> Option<bool> {
        let off = self.switch(Argument::NoCheckpointing).map(|off| !off);
        let on = self.text(Argument::Checkpointing);
        off.or_else(|| on.map(|text| hf_bool(&text).unwrap_or(true)))
            .or_else(|| self.switch(Argument::Checkpointing))
    }
}
