//! The settings of a training as its command spells them. Every front end has names of its own for them.

use serde_json::Value;

use super::architecture::Dtype;
use super::optimizer::Optimizer;
use super::settings::{Algorithm, Attention, Evaluation, Rollout, TrainingArgs, Tuner};
use crate::base::source::{Source, Sourced};
use crate::command::argv::{Args, Field, Nargs, OptionList, hf_bool};
use crate::command::front_end::{OnlineDefaults, TrainingDefaults};
use crate::command::job::Job;
use crate::config::auto::FillContext;
use crate::host::Host;
use crate::ranks::topology::{RankFlags, Topology};

/// The arguments with the names that front ends have for them.
const ARGUMENTS: &str = include_str!("arguments.txt");

fn rows() -> impl Iterator<Item = (&'static str, Nargs)> {
    let lines = ARGUMENTS.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| {
        line.strip_suffix('?')
            .map_or((line, Nargs::One), |names| (names, Nargs::Optional))
    })
}

/// Reads an argument by any of its names.
fn find<T>(argument: &str, read: impl FnMut(&'static str) -> Option<T>) -> Option<T> {
    let mut all = rows().map(|(names, _)| names.split(' '));
    all.find(|names| names.clone().next() == Some(argument))?
        .find_map(read)
}

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
    let model = job.trainer.model.argument;
    let sets = job
        .trainer
        .model
        .training
        .eval_sets
        .split_whitespace()
        .chain([model])
        .map(|name| (name, Nargs::One));
    let named = rows().flat_map(|(names, nargs)| names.split(' ').map(move |name| (name, nargs)));
    let fields: Vec<Field> = sets.chain(named).collect();
    let args = Args::read(
        job.args.words().to_vec(),
        &fields,
        (job.trainer.arguments.options)(&job.target),
    );
    let reader = ArgumentReader(&args);
    let (dtype, loaded) = reader.precision(job, host);
    let attention = reader.text("attn_impl").map(|given| {
        // Only these names mean an attention that stores all scores.
        let is_eager = ["eager", "disabled"].contains(&given.value.as_str());
        given.map(|_| {
            if is_eager {
                Attention::Eager
            } else {
                Attention::Flash
            }
        })
    });
    let optimizer = reader
        .text("optim")
        .map(|given| given.map(|name| Optimizer::named(&name)));
    let mut algorithm = given.algorithm.or_else(|| algorithm(job));
    let TrainingDefaults {
        micro_batch, batch, ..
    } = job.trainer.model.training;
    let given_batch = given
        .micro_batch
        .or_else(|| reader.count("per_device_train_batch_size"));
    let at_once = given_batch
        .as_ref()
        .map_or(micro_batch, |given| given.value)
        .saturating_mul(ranks)
        .max(1);
    let accumulated = given
        .grad_accum
        .or_else(|| reader.count("gradient_accumulation_steps"));
    // GRPO accumulates only what it is told to.
    let by_itself = if algorithm.is_some_and(|of| of.groups) {
        1
    } else {
        batch.div_ceil(at_once)
    };
    let grad_accum =
        accumulated.or_else(|| (by_itself > 1).then(|| Sourced::new(by_itself, Source::Default)));
    let rollout = algorithm
        .as_mut()
        .and_then(|algorithm| reader.rollout(algorithm, grad_accum.as_ref(), job));
    TrainingArgs {
        model: given.model.or_else(|| args.text(model)),
        params: given.params,
        micro_batch: given_batch,
        grad_accum,
        seq_len: given.seq_len.or_else(|| reader.sequences(rollout)),
        sequence_parallel: given
            .sequence_parallel
            .or_else(|| reader.count("sequence_parallel_size")),
        tuner: given.tuner.or_else(|| reader.tuner()),
        lora_rank: given.lora_rank.or_else(|| reader.count("lora_rank")),
        lora_targets: given
            .lora_targets
            .or_else(|| reader.words("target_modules")),
        dtype: given.dtype.or(dtype),
        loaded: given.loaded.or(loaded),
        optimizer: given
            .optimizer
            .or(optimizer)
            .or_else(|| default_optimizer(job)),
        checkpointing: given.checkpointing.or_else(|| reader.checkpointing()),
        attention: given.attention.or(attention),
        fused_loss: given
            .fused_loss
            .or_else(|| reader.switch("use_liger_kernel")),
        dropout: given
            .dropout
            .or_else(|| Some(args.float("lora_dropout").ok()??.map(|value| value > 0.0))),
        algorithm,
        evaluation: given.evaluation.or_else(|| reader.evaluation(job)),
        rollout: given.rollout.or(rollout),
        reward: given
            .reward
            .or_else(|| rollout.and_then(|_| reader.words("reward_model"))),
    }
}

/// If no optimizer is named, transformers takes torch's fused AdamW from these versions on, and before them the one by
/// foreach. Unknown versions are taken to be new.
fn default_optimizer(job: &Job) -> Option<Sourced<Optimizer>> {
    const FUSED_SINCE: [(&str, [u32; 3]); 2] = [("transformers", [4, 54, 0]), ("torch", [2, 8, 0])];
    let python = job.python.as_ref()?;
    let is_old = FUSED_SINCE
        .iter()
        .any(|(name, since)| python.version(name).is_some_and(|it| it.is_before(*since)));
    is_old.then(|| Sourced::new(Optimizer::named("adamw_torch"), Source::Default))
}

fn algorithm(job: &Job) -> Option<Algorithm> {
    const NAMES: [&str; 3] = ["rlhf_type", "stage", "rl"];
    let args = Args::read(
        job.args.words().to_vec(),
        &NAMES.map(|name| (name, Nargs::One)),
        OptionList::Open,
    );
    let stages = NAMES.iter().filter_map(|name| Some(args.text(name)?.value));
    let names: Vec<String> = stages
        .flat_map(|stage| [format!("{} {stage}", job.trainer.name), stage])
        .collect();
    let target = job.target.name().to_string();
    let stem = target
        .trim_end_matches(".py")
        .rsplit(['/', '.'])
        .next()
        .unwrap_or_default();
    Algorithm::find(|name| stem == name || names.iter().any(|known| known == name))
}

/// Looks arguments up by several names. A value that cannot be read is ignored: refusing it is the trainer's business.
struct ArgumentReader<'a>(&'a Args);

impl ArgumentReader<'_> {
    fn text(&self, argument: &str) -> Option<Sourced<String>> {
        find(argument, |name| self.0.text(name))
    }

    fn count(&self, argument: &str) -> Option<Sourced<u64>> {
        let found = find(argument, |name| self.0.int(name).ok().flatten())?;
        let value = u64::try_from(found.value).ok().filter(|value| *value > 0)?;
        Some(Sourced::new(value, found.from))
    }

    fn switch(&self, argument: &str) -> Option<Sourced<bool>> {
        find(argument, |name| self.0.bool(name, true).ok().flatten())
    }

    fn tuner(&self) -> Option<Sourced<Tuner>> {
        let bits = self.count("quant_bits").map(|given| given.value);
        let loaded = |name, bits| self.switch(name).filter(|given| given.value).map(|_| bits);
        let bits = bits
            .or_else(|| loaded("load_in_4bit", 4))
            .or_else(|| loaded("load_in_8bit", 8));
        let lora = bits.map_or(Tuner::Lora, Tuner::Quantised);
        if let Some(name) = self.text("tuner_type") {
            let tuner = match name.value.as_str() {
                "full" | "freeze" | "none" => Tuner::Full,
                "qlora" => Tuner::Quantised(bits.unwrap_or(4)),
                _ => lora,
            };
            return Some(Sourced::new(tuner, name.from));
        }
        self.switch("use_peft")
            .filter(|given| given.value)
            .map(|given| given.map(|_| lora))
    }

    /// Where the evaluation set has an argument of its own, an evaluation follows from it; elsewhere it has to be asked for.
    fn evaluation(&self, job: &Job) -> Option<Evaluation> {
        let TrainingDefaults {
            eval_sets,
            eval_batch,
            ..
        } = job.trainer.model.training;
        let strategy = self
            .text("eval_strategy")
            .map(|strategy| strategy.value != "no");
        let is_on = |name| self.switch(name).is_some_and(|given| given.value);
        let mut sets = eval_sets
            .split_whitespace()
            .filter_map(|name| self.0.text(name));
        let is_evaluated = if eval_sets.is_empty() {
            strategy == Some(true) || is_on("do_eval")
        } else {
            strategy != Some(false) && sets.any(|set| set.value.parse() != Ok(0.0))
        };
        let generates = is_on("predict_with_generate");
        is_evaluated.then(|| Evaluation {
            batch: self
                .count("per_device_eval_batch_size")
                .map_or(0, |given| given.value),
            // transformers' own trainer computes a loss besides.
            has_loss: !generates || job.trainer.launch.consoles.is_empty(),
            // No front end has a larger default than LLaMA-Factory.
            new_tokens: generates.then(|| {
                self.count("max_new_tokens")
                    .map_or(1024, |given| given.value)
            }),
            spelling: if eval_batch.is_some() {
                "--per_device_eval_batch_size "
            } else {
                "eval_batch_size: "
            },
        })
    }

    /// What GRPO and the like generate. Arguments decide if they have a reference model.
    fn rollout(
        &self,
        algorithm: &mut Algorithm,
        grad_accum: Option<&Sourced<u64>>,
        job: &Job,
    ) -> Option<Rollout> {
        let known = if algorithm.generates {
            job.trainer.model.training.online
        } else {
            None
        };
        let number = |argument| self.count(argument).map(|given| given.value);
        let uses_vllm = self.switch("use_vllm").is_some_and(|given| given.value);
        let is_inside = uses_vllm
            && self
                .text("vllm_mode")
                .is_none_or(|mode| mode.value != "server");
        algorithm.uncounted |= algorithm.generates && (known.is_none() || is_inside);
        let OnlineDefaults {
            answer,
            has_reference,
        } = known?;
        let by_default = has_reference(job.python.as_ref()) || algorithm.has_reference;
        if algorithm.groups {
            let beta = self.0.float("beta").ok().flatten();
            algorithm.has_reference = beta.map_or(by_default, |beta| beta.value != 0.0);
        }
        algorithm.uncounted |= number("generation_batch_size").is_some();
        Some(Rollout {
            answer: number("max_completion_length")
                .or_else(|| number("max_new_tokens"))
                .unwrap_or(answer),
            micro_batches: number("steps_per_generation")
                .or(grad_accum.map(|given| given.value))
                .unwrap_or(1),
            gathers: self
                .switch("ds3_gather_for_generation")
                .is_none_or(|given| given.value),
            is_served: uses_vllm,
        })
    }

    /// With an answer behind the prompt, whose length has an argument of its own in TRL.
    fn sequences(&self, rollout: Option<Rollout>) -> Option<Sourced<u64>> {
        let prompt = rollout.and_then(|_| self.count("max_prompt_length"));
        let length = prompt.or_else(|| self.count("max_length"))?;
        Some(
            length.map(|length| length.saturating_add(rollout.map_or(0, |rollout| rollout.answer))),
        )
    }

    /// Names that come as several words, or as one with commas.
    fn words(&self, argument: &str) -> Option<Sourced<String>> {
        let first = self.text(argument)?;
        let words = self.0.words().iter().filter_map(|word| word.to_str());
        let option = first.from.to_string();
        let values = words
            .skip_while(|word| *word != option)
            .skip(1)
            .take_while(|word| !word.starts_with("--"));
        let all: Vec<&str> = values.collect();
        Some(if all.len() > 1 {
            Sourced::new(all.join(","), first.from)
        } else {
            first
        })
    }

    /// The weights are trained in what `bf16.enabled` and `fp16.enabled` are filled with. Without half precision DeepSpeed
    /// leaves them as they were loaded: transformers goes by the model's config from 5.0 on.
    #[expect(clippy::type_complexity, reason = "it is used once")]
    fn precision(
        &self,
        job: &Job,
        host: &Host,
    ) -> (Option<Sourced<Dtype>>, Option<fn(Option<Dtype>) -> Dtype>) {
        let topology = Topology::of_existing_launcher(RankFlags::default(), host);
        let context = FillContext::new(job, &topology, &Value::Null, host);
        let [bf16, fp16] = ["bf16.enabled", "fp16.enabled"].map(|key| context.is_on(key));
        let is_known = bf16.is_some() || job.trainer.model.training.half;
        let on = |half: Option<Sourced<bool>>, dtype| {
            Some(half.filter(|given| given.value)?.map(|_| dtype))
        };
        let half = on(bf16, Dtype::Bf16).or_else(|| on(fp16, Dtype::Fp16));
        let named = || {
            self.text("torch_dtype")
                .and_then(|given| Some(Sourced::new(Dtype::named(&given.value)?, given.from)))
        };
        let transformers = job
            .python
            .as_ref()
            .and_then(|python| python.version("transformers"));
        let loaded: fn(Option<Dtype>) -> Dtype = if job.trainer.model.training.half {
            |own| {
                if own.is_none_or(|own| own == Dtype::Bf16) {
                    Dtype::Bf16
                } else {
                    Dtype::Fp16
                }
            }
        } else if transformers.is_some_and(|version| version.is_before([5, 0, 0])) {
            |_| Dtype::Fp32
        } else {
            |own| own.unwrap_or(Dtype::Fp32)
        };
        (half.or_else(named), is_known.then_some(loaded))
    }

    fn checkpointing(&self) -> Option<Sourced<bool>> {
        let off = self
            .switch("disable_gradient_checkpointing")
            .map(|given| given.map(|off| !off));
        // axolotl also takes values such as `offload`, which mean yes.
        let on = self
            .text("gradient_checkpointing")
            .map(|given| given.map(|text| hf_bool(&text).unwrap_or(true)));
        off.or(on).or_else(|| self.switch("gradient_checkpointing"))
    }
}
