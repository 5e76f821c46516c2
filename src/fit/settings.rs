//! The settings of a training that decide how much memory it needs: as options of zlaunch say them, its command, and the
//! defaults of its front end. Every front end has names of its own for the same argument. What nobody said is assumed.

use serde_json::Value;

use super::{
    architecture::{Dtype, Weights},
    strategy::Optimizer,
    tables::{
        algorithms::{ALGORITHMS, Algorithm, AlgorithmRow, SUPERVISED},
        arguments::{
            ALGORITHM, ANSWER_LENGTH, ATTENTION, BETA, CHECKPOINTING, DO_EVAL, DTYPE, EVAL_BATCH,
            EVAL_STRATEGY, FREEZE_PROJECTOR, FREEZE_TEXT, FREEZE_TOWER, FUSED_LOSS,
            GATHER_FOR_GENERATION, GENERATION_BATCH, GRAD_ACCUM, LOAD_IN_4BIT, LOAD_IN_8BIT,
            LORA_DROPOUT, LORA_RANK, LORA_TARGETS, MICRO_BATCH, NEW_TOKENS, NO_CHECKPOINTING,
            OPTIMIZER, PREDICT_WITH_GENERATE, PROMPT_LENGTH, QUANT_BITS, REWARD_MODEL,
            SEQUENCE_LENGTH, SEQUENCE_PARALLEL, STEPS_PER_GENERATION, TUNER, USE_PEFT, USE_VLLM,
            VLLM_MODE,
        },
        dtypes::{BF16, FP16, FP32},
        usual::{PROMPT, SEQ_LEN, WITHOUT_COMMAND},
        words::{Attention, Tuner},
    },
};
use crate::{
    base::source::Sourced,
    command::{
        argv::{Args, Typed, hf_bool},
        job::{Job, Trainer},
        tables::training::{Towers, TrainingDefaults},
    },
    config::auto::FillContext,
    host::Host,
    ranks::topology::{RankFlags, Topology},
};
use Certainty::{AtLeast, ByDefault, Guess};

impl Algorithm {
    /// The first in the table that has one of the names. `has_own`: the front end has PPO and GKD of its own.
    pub fn find(names: &[&str], has_own: bool) -> Option<Self> {
        let is_meant = |row: &&AlgorithmRow| {
            (has_own || !row.is_own) && row.names.iter().any(|name| names.contains(name))
        };
        Some(ALGORITHMS.iter().find(is_meant)?.algorithm)
    }
}

/// The evaluations between the steps.
#[derive(Clone, Copy)]
pub struct Evaluation {
    pub batch: u64,
    pub has_loss: bool,
    /// Answers of so many tokens are generated.
    pub new_tokens: Option<u64>,
}

/// The answers that online tuning generates.
#[derive(Clone, Copy)]
pub struct Rollout {
    /// Tokens of an answer.
    pub answer: u64,
    /// Answers are generated for so many micro batches at once.
    pub micro_batches: u64,
    /// Stage 3 gathers all weights for it.
    pub gathers: bool,
    /// A server does it.
    pub is_served: bool,
}

/// The options of zlaunch about a training.
#[derive(Clone, Default)]
pub struct TrainingArgs {
    pub model: Option<Sourced<String>>,
    pub params: Option<Sourced<u64>>,
    /// The size of a model whose files are not here is taken from its name.
    pub trusts_names: bool,
    pub micro_batch: Option<u64>,
    pub grad_accum: Option<u64>,
    pub seq_len: Option<u64>,
    pub tuner: Option<Tuner>,
    pub lora_rank: Option<u64>,
    /// The names of modules, with commas between them.
    pub lora_targets: Option<String>,
    pub dtype: Option<Dtype>,
    pub optimizer: Option<Optimizer>,
    pub checkpointing: Option<bool>,
    pub attention: Option<Attention>,
    pub fused_loss: bool,
}

#[derive(Clone)]
pub struct TrainingSettings {
    pub micro_batch: u64,
    pub grad_accum: u64,
    pub seq_len: u64,
    /// Ranks that share one sequence.
    pub sequence_parallel: u64,
    pub tuner: Tuner,
    pub lora_rank: u64,
    pub lora_targets: String,
    pub dtype: Dtype,
    pub optimizer: Optimizer,
    pub checkpointing: bool,
    /// `None`: transformers chooses it for the model.
    pub attention: Option<Attention>,
    /// The loss is computed in pieces, so the logits of all tokens never exist at once.
    pub fused_loss: bool,
    /// LoRA uses dropout, and so keeps a second copy of its inputs.
    pub dropout: bool,
    /// The vision tower is not trained.
    pub freezes_tower: bool,
    pub freezes_projector: bool,
    pub algorithm: Algorithm,
    pub evaluation: Option<Evaluation>,
    pub rollout: Option<Rollout>,
    /// The reward models, or a teacher. PPO also trains a value model like the first.
    pub rewards: Vec<Weights>,
}

#[derive(Clone)]
pub struct Assumption {
    pub text: String,
    pub certainty: Certainty,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Certainty {
    /// A default of the front end decides it.
    ByDefault,
    /// Nobody knows, but the least that it can be.
    AtLeast,
    Guess,
}

impl Certainty {
    pub fn assume(self, text: impl Into<String>) -> Assumption {
        Assumption {
            text: text.into(),
            certainty: self,
        }
    }
}

/// An option wins over the command. A value that cannot be read is ignored: refusing it is the trainer's business.
pub struct TrainingReader<'a> {
    given: &'a TrainingArgs,
    trainer: Option<&'static Trainer>,
    /// The front end, if it is that of a console script. A script of the user may change its defaults, and that is not seen.
    console: Option<&'static Trainer>,
    /// The command, if it is understood.
    job: Option<&'a Job>,
    defaults: &'static TrainingDefaults,
}

impl<'a> TrainingReader<'a> {
    pub fn new(given: &'a TrainingArgs, job: Option<&'a Job>) -> Self {
        let trainer = job.map(|job| job.trainer);
        TrainingReader {
            given,
            trainer,
            console: trainer.filter(|trainer| !trainer.launch.consoles.is_empty()),
            job: job.filter(|job| !job.trainer.is_passthrough()),
            defaults: trainer.map_or(&WITHOUT_COMMAND, |trainer| &trainer.model.training),
        }
    }

    /// `of_model`: the dtype of its weights by the model's config.
    pub fn settings(&self, of_model: Option<Dtype>, ranks: u64, host: &Host) -> TrainingSettings {
        let given = self.given;
        let defaults = self.defaults;
        let algorithm = self.algorithm().unwrap_or(SUPERVISED);
        let micro_batch = self.micro_batch().unwrap_or(defaults.micro_batch);
        let at_once = micro_batch.saturating_mul(ranks).max(1);
        // GRPO accumulates only what it is told to; others up to a number of sequences.
        let sequences = if algorithm.groups { 0 } else { defaults.batch };
        let grad_accum = given
            .grad_accum
            .or_else(|| self.count(GRAD_ACCUM))
            .unwrap_or(sequences.div_ceil(at_once).max(1));
        let rollout = self.rollout(algorithm, grad_accum);
        let freezes = |part| {
            self.switch(part)
                .unwrap_or(defaults.towers != Towers::Trained)
        };
        let dropout = self.typed(LORA_DROPOUT, Args::float);
        let tuner = if defaults.lora {
            Tuner::Lora
        } else {
            Tuner::Full
        };
        TrainingSettings {
            micro_batch,
            grad_accum,
            seq_len: self.seq_len(rollout).unwrap_or(match rollout {
                Some(rollout) => PROMPT.saturating_add(rollout.answer),
                None => defaults.seq_len.unwrap_or(SEQ_LEN),
            }),
            sequence_parallel: self.count(SEQUENCE_PARALLEL).unwrap_or(1),
            tuner: self.tuner().unwrap_or(tuner),
            lora_rank: given
                .lora_rank
                .or_else(|| self.count(LORA_RANK))
                .unwrap_or(defaults.lora_rank),
            lora_targets: given
                .lora_targets
                .clone()
                .or_else(|| self.list(LORA_TARGETS))
                .unwrap_or("all-linear".to_string()),
            dtype: self.dtype(of_model, host).unwrap_or(BF16),
            optimizer: given.optimizer.unwrap_or_else(|| self.optimizer()),
            checkpointing: given
                .checkpointing
                .or_else(|| self.checkpointing())
                .unwrap_or(defaults.checkpointing),
            attention: given.attention.or_else(|| self.attention()),
            fused_loss: given.fused_loss || self.is_on(FUSED_LOSS),
            dropout: dropout.map_or(defaults.dropout, |dropout| dropout > 0.0),
            freezes_tower: freezes(FREEZE_TOWER),
            freezes_projector: freezes(FREEZE_PROJECTOR),
            algorithm,
            evaluation: self.evaluation(),
            rollout,
            rewards: vec![],
        }
    }

    /// The same training with the least that could be meant where nothing is said.
    pub fn least(&self, settings: &TrainingSettings) -> TrainingSettings {
        TrainingSettings {
            micro_batch: self.micro_batch().unwrap_or(1),
            seq_len: self.seq_len(settings.rollout).unwrap_or(1),
            tuner: self.tuner().unwrap_or(Tuner::Lora),
            ..settings.clone()
        }
    }

    pub fn model(&self) -> Option<Sourced<String>> {
        let of_command = || {
            let job = self.job?;
            job.args.text(job.trainer.model.argument)
        };
        self.given.model.clone().or_else(of_command)
    }

    /// The names of reward models, or of a teacher.
    pub fn rewards(&self) -> Vec<String> {
        self.list(REWARD_MODEL)
            .unwrap_or_default()
            .split(',')
            .filter(|name| !name.is_empty())
            .map(str::to_string)
            .collect()
    }

    fn micro_batch(&self) -> Option<u64> {
        let of_command = || self.count(MICRO_BATCH);
        self.given.micro_batch.or_else(of_command)
    }

    /// The argument of the command that has one of the names.
    fn find<T>(&self, names: &[&str], read: impl Fn(&'a Args, &str) -> Option<T>) -> Option<T> {
        let args = &self.job?.args;
        names.iter().find_map(|name| read(args, name))
    }

    fn typed<T>(&self, names: &[&str], read: impl Fn(&Args, &str) -> Typed<T>) -> Option<T> {
        Some(self.find(names, |args, name| read(args, name).ok()?)?.value)
    }

    fn text(&self, names: &[&str]) -> Option<String> {
        Some(self.find(names, Args::text)?.value)
    }

    fn count(&self, names: &[&str]) -> Option<u64> {
        u64::try_from(self.typed(names, Args::int)?)
            .ok()
            .filter(|count| *count > 0)
    }

    fn switch(&self, names: &[&str]) -> Option<bool> {
        self.typed(names, Args::bool)
    }

    fn is_on(&self, names: &[&str]) -> bool {
        self.switch(names) == Some(true)
    }

    /// What is not counted of a model with a tower, although that is known.
    pub fn uncounted(&self, settings: &TrainingSettings) -> Option<&'static str> {
        let is_kept = settings.freezes_tower && self.defaults.towers != Towers::FrozenWithoutGraph;
        if self.is_on(FREEZE_TEXT) {
            Some("a frozen language model is not counted")
        } else {
            is_kept.then_some("what the frozen vision tower keeps is not counted")
        }
    }

    /// Names that come as several words, or as one with commas.
    fn list(&self, names: &[&str]) -> Option<String> {
        let (_, words) = self.find(names, Args::list)?;
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
        let default = if is_old { "adamw_torch" } else { "adamw" };
        Optimizer::named(self.text(OPTIMIZER).as_deref().unwrap_or(default))
    }

    fn attention(&self) -> Option<Attention> {
        Some(match self.text(ATTENTION)?.as_str() {
            "eager" | "disabled" => Attention::Eager,
            _ => Attention::Flash,
        })
    }

    /// As an argument or the name of the script says it. Other arguments decide if online tuning has a reference model.
    fn algorithm(&self) -> Option<Algorithm> {
        let job = self.job?;
        let stem = job
            .target
            .name()
            .trim_end_matches(".py")
            .rsplit(['/', '.'])
            .next()
            .unwrap_or_default();
        let named = self.text(ALGORITHM).unwrap_or_default();
        let mut algorithm = Algorithm::find(&[&named, stem], self.defaults.own_ppo_and_gkd)?;
        if !algorithm.generates {
            return Some(algorithm);
        }
        let Some(online) = self.defaults.online else {
            algorithm.uncounted = true;
            return Some(algorithm);
        };
        let is_inside = self.is_on(USE_VLLM) && self.text(VLLM_MODE).as_deref() != Some("server");
        algorithm.uncounted |= is_inside || self.count(GENERATION_BATCH).is_some();
        if algorithm.groups {
            algorithm.has_reference = match self.typed(BETA, Args::float) {
                Some(beta) => beta != 0.0,
                None => algorithm.has_reference || online.reference.is_made(job),
            };
        }
        Some(algorithm)
    }

    fn tuner(&self) -> Option<Tuner> {
        if self.given.tuner.is_some() {
            return self.given.tuner;
        }
        let loaded = |names, bits: u64| self.is_on(names).then_some(bits);
        let bits = self
            .count(QUANT_BITS)
            .or_else(|| loaded(LOAD_IN_4BIT, 4))
            .or_else(|| loaded(LOAD_IN_8BIT, 8));
        let lora = bits.map_or(Tuner::Lora, Tuner::Quantised);
        match self.text(TUNER).as_deref() {
            Some("full" | "freeze" | "none") => Some(Tuner::Full),
            Some("qlora") => Some(Tuner::Quantised(bits.unwrap_or(4))),
            Some(_) => Some(lora),
            None => self.is_on(USE_PEFT).then_some(lora),
        }
    }

    /// Where the evaluation set has an argument of its own, an evaluation follows from it; elsewhere it has to be asked for.
    fn evaluation(&self) -> Option<Evaluation> {
        let TrainingDefaults {
            eval_sets,
            eval_batch,
            ..
        } = self.defaults;
        let strategy = self.text(EVAL_STRATEGY);
        let is_off = strategy.as_deref() == Some("no");
        let is_evaluated = if eval_sets.is_empty() {
            strategy.is_some() && !is_off || self.is_on(DO_EVAL)
        } else {
            // A part of the training set of size 0 is no evaluation set.
            let set = |args: &Args, name: &str| {
                args.text(name).filter(|set| set.value.parse() != Ok(0.0))
            };
            !is_off && self.find(eval_sets, set).is_some()
        };
        let generates = self.is_on(PREDICT_WITH_GENERATE);
        is_evaluated.then(|| Evaluation {
            batch: self
                .count(EVAL_BATCH)
                .or(*eval_batch)
                .or_else(|| self.micro_batch())
                .unwrap_or(self.defaults.micro_batch),
            // transformers' own trainer computes a loss besides.
            has_loss: !generates || self.console.is_none(),
            // No front end has a larger default than LLaMA-Factory.
            new_tokens: generates.then(|| self.count(NEW_TOKENS).unwrap_or(1024)),
        })
    }

    /// What GRPO and the like generate.
    fn rollout(&self, algorithm: Algorithm, grad_accum: u64) -> Option<Rollout> {
        let online = self.defaults.online.filter(|_| algorithm.generates)?;
        Some(Rollout {
            answer: self.count(ANSWER_LENGTH).unwrap_or(online.answer),
            micro_batches: self.count(STEPS_PER_GENERATION).unwrap_or(grad_accum),
            gathers: self.switch(GATHER_FOR_GENERATION) != Some(false),
            is_served: self.is_on(USE_VLLM),
        })
    }

    /// With an answer behind the prompt, whose length has an argument of its own in TRL.
    fn seq_len(&self, rollout: Option<Rollout>) -> Option<u64> {
        if self.given.seq_len.is_some() {
            return self.given.seq_len;
        }
        Some(
            rollout
                .and_then(|_| self.count(PROMPT_LENGTH))
                .or_else(|| self.count(SEQUENCE_LENGTH))?
                .saturating_add(rollout.map_or(0, |rollout| rollout.answer)),
        )
    }

    /// The weights are trained in what `bf16.enabled` and `fp16.enabled` are filled with. Without half precision DeepSpeed
    /// leaves them as they were loaded: transformers goes by the model's config from 5.0 on. `None` if nothing tells.
    fn dtype(&self, of_model: Option<Dtype>, host: &Host) -> Option<Dtype> {
        if self.given.dtype.is_some() {
            return self.given.dtype;
        }
        let topology = Topology::of_existing_launcher(RankFlags::default(), None, host);
        let context = FillContext::new(self.job?, &topology, &Value::Null, host);
        let is_on = |key: &str| context.is_on(key).map(|given| given.value);
        let bf16 = is_on("bf16.enabled");
        if bf16 == Some(true) {
            return Some(BF16);
        }
        if is_on("fp16.enabled") == Some(true) {
            return Some(FP16);
        }
        let named = self.text(DTYPE).and_then(|name| Dtype::named(&name));
        // Some load a model in 16 bits, whatever its config says.
        let half = match of_model {
            None | Some(BF16) => BF16,
            Some(_) => FP16,
        };
        if named.is_some() || self.defaults.half {
            return named.or(Some(half));
        }
        bf16?;
        let is_old = self.is_before("transformers", [5, 0, 0]);
        of_model.filter(|_| !is_old).or(Some(FP32))
    }

    /// axolotl also takes values such as `offload`, which mean yes.
    fn checkpointing(&self) -> Option<bool> {
        let on = || match self.text(CHECKPOINTING) {
            Some(text) => Some(hf_bool(&text).unwrap_or(true)),
            None => self.switch(CHECKPOINTING),
        };
        self.switch(NO_CHECKPOINTING).map(|off| !off).or_else(on)
    }

    /// What the estimate rests on that nobody said, that is not seen or that was not measured.
    pub fn assumed(
        &self,
        weights: &Weights,
        settings: &TrainingSettings,
        host: &Host,
    ) -> Vec<Assumption> {
        let algorithm = &settings.algorithm;
        let rollout = settings.rollout;
        let is_full = settings.tuner == Tuner::Full;
        let is_script = self.trainer.is_some() && self.console.is_none();
        let by = |is_default: bool| if is_default { ByDefault } else { AtLeast };
        let by_console = by(self.console.is_some());
        let length = match rollout {
            Some(rollout) => {
                let answer = rollout.answer;
                format!("prompts of {PROMPT} tokens before answers of {answer}")
            }
            None => format!("{} tokens per sequence", settings.seq_len),
        };
        let has_length = self.seq_len(rollout).is_some();
        let of_console = self.console.and(self.defaults.seq_len);
        let by_length = by(of_console.is_some() && rollout.is_none());
        let is_tuner_known = self.tuner().is_some();
        let assumed = [
            (
                weights.tower.is_some() && !settings.freezes_tower,
                AtLeast,
                "pictures that fill the sequences",
            ),
            (
                !is_tuner_known && !is_full && self.trainer.is_some(),
                ByDefault,
                "LoRA, the trainer's default",
            ),
            (
                !is_tuner_known && is_full && is_script,
                AtLeast,
                "all parameters are trained",
            ),
            (!has_length, by_length, &length),
            (
                self.micro_batch().is_none(),
                by_console,
                &format!("a micro batch of {}", settings.micro_batch),
            ),
            (
                settings.micro_batch > 1 && !settings.checkpointing && weights.shape.repeated > 0,
                AtLeast,
                "sequences of one length: attention over padded ones needs more",
            ),
            (
                self.trainer.is_some() && self.dtype(None, host).is_none(),
                Guess,
                settings.dtype.name,
            ),
            (
                settings.evaluation.is_some() && self.console.is_none(),
                ByDefault,
                "an evaluation that keeps no logits for metrics",
            ),
            (
                settings.sequence_parallel > 1,
                Guess,
                "each GPU holds a part of a sequence, which was not measured",
            ),
            (
                !settings.optimizer.is_measured(),
                Guess,
                "the most that an optimizer can need, because this one was not measured",
            ),
            (
                algorithm.uncounted,
                Guess,
                "what is known of it: other models, and vLLM on the same GPUs, come on top",
            ),
            (
                !algorithm.uncounted
                    && self.algorithm().is_some()
                    && !self.defaults.measured_losses,
                Guess,
                "the loss as TRL computes it, where it was measured",
            ),
            (
                algorithm.repeats || algorithm.groups && !is_full,
                Guess,
                "the most that stage 3 may gather: seen were sums up to a quarter too high",
            ),
            (
                algorithm.groups && settings.rewards.is_empty() && !algorithm.uncounted,
                Guess,
                "rewards that are computed without a GPU",
            ),
        ];
        let assumed = assumed.into_iter().filter(|(applies, ..)| *applies);
        weights
            .assumed
            .iter()
            .map(|text| Guess.assume(text))
            .chain(assumed.map(|(_, certainty, text)| certainty.assume(text)))
            .collect()
    }
}
