//! What is to be trained and how: our options first, then the arguments of the training command as its front end spells
//! them, then what holds when nothing is said. What was assumed is told.

use crate::base::source::{Source, Sourced};
use crate::command::argv::{Args, Field, Nargs, OptionList, hf_bool};
use crate::command::trainer::{Job, Trainer, TrainingDefaults};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tuner {
    Full,
    Lora,
    /// LoRA on weights of so many bits.
    Quantised(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dtype {
    Bf16,
    Fp16,
    Fp32,
}

impl Dtype {
    pub(crate) const NAMES: &'static [(&'static str, Dtype)] = &[
        ("bf16", Dtype::Bf16),
        ("bfloat16", Dtype::Bf16),
        ("fp16", Dtype::Fp16),
        ("float16", Dtype::Fp16),
        ("fp32", Dtype::Fp32),
        ("float32", Dtype::Fp32),
    ];

    pub(crate) fn bytes(self) -> u64 {
        if self == Dtype::Fp32 { 4 } else { 2 }
    }

    pub(crate) fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, dtype)| *dtype == self).map_or("", |(name, _)| name)
    }
}

/// An optimizer by what it keeps for each parameter: bytes, and whether they have the type of the parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Optimizer {
    pub(crate) name: &'static str,
    pub(crate) bytes: u64,
    pub(crate) follows_dtype: bool,
    /// What the names that trainers give it have in common.
    part_of_name: &'static str,
}

impl Optimizer {
    const fn new(name: &'static str, bytes: u64, follows_dtype: bool, part_of_name: &'static str) -> Self {
        Optimizer { name, bytes, follows_dtype, part_of_name }
    }

    /// The first whose part of the name fits; adamw stands last and takes all others.
    pub(crate) const ALL: &'static [Optimizer] = &[
        Optimizer::new("adamw_8bit", 2, false, "8bit"),
        Optimizer::new("adafactor", 0, true, "adafactor"),
        Optimizer::new("lion", 4, true, "lion"),
        Optimizer::new("muon", 4, true, "muon"),
        Optimizer::new("sgd", 0, true, "sgd"),
        Optimizer::new("adamw", 8, true, ""),
    ];

    pub(crate) fn named(name: &str) -> Self {
        let adamw = Self::ALL[Self::ALL.len() - 1];
        Self::ALL.iter().copied().find(|it| name.to_lowercase().contains(it.part_of_name)).unwrap_or(adamw)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attention {
    /// Without a matrix of all scores: FlashAttention, SDPA.
    Flash,
    Eager,
}

/// What our options say; the same fields read from a command; and, with nothing left open, what is taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrainingArgs {
    pub(crate) model: Option<Sourced<String>>,
    pub(crate) params: Option<Sourced<u64>>,
    pub(crate) micro_batch: Option<Sourced<u64>>,
    pub(crate) grad_accum: Option<Sourced<u64>>,
    pub(crate) seq_len: Option<Sourced<u64>>,
    pub(crate) tuner: Option<Sourced<Tuner>>,
    pub(crate) lora_rank: Option<Sourced<u64>>,
    pub(crate) lora_targets: Option<Sourced<String>>,
    pub(crate) dtype: Option<Sourced<Dtype>>,
    pub(crate) optimizer: Option<Sourced<Optimizer>>,
    pub(crate) checkpointing: Option<Sourced<bool>>,
    pub(crate) attention: Option<Sourced<Attention>>,
    pub(crate) fused_loss: Option<Sourced<bool>>,
    /// LoRA drops some of its inputs, and so keeps a copy of them.
    pub(crate) dropout: Option<Sourced<bool>>,
}

impl TrainingArgs {
    /// This where it says something, else the other.
    pub(crate) fn or(self, other: TrainingArgs) -> TrainingArgs {
        TrainingArgs {
            model: self.model.or(other.model),
            params: self.params.or(other.params),
            micro_batch: self.micro_batch.or(other.micro_batch),
            grad_accum: self.grad_accum.or(other.grad_accum),
            seq_len: self.seq_len.or(other.seq_len),
            tuner: self.tuner.or(other.tuner),
            lora_rank: self.lora_rank.or(other.lora_rank),
            lora_targets: self.lora_targets.or(other.lora_targets),
            dtype: self.dtype.or(other.dtype),
            optimizer: self.optimizer.or(other.optimizer),
            checkpointing: self.checkpointing.or(other.checkpointing),
            attention: self.attention.or(other.attention),
            fused_loss: self.fused_loss.or(other.fused_loss),
            dropout: self.dropout.or(other.dropout),
        }
    }
}

/// Where no command says how it trains: the settings most people start with.
const ALONE: TrainingDefaults =
    TrainingDefaults { micro_batch: 1, seq_len: None, lora: false, lora_rank: 8, checkpointing: true, dropout: false };

/// Where no front end says it either.
pub(crate) const SEQ_LEN: u64 = 2048;

// Every front end's name for the same thing.
const SEQ_LEN_NAMES: &[&str] =
    &["max_length", "cutoff_len", "max_seq_length", "max_seq_len", "sequence_len", "model_max_length", "block_size"];
const TUNER_NAMES: &[&str] = &["tuner_type", "train_type", "sft_type", "finetuning_type", "adapter"];
const RANK_NAMES: &[&str] = &["lora_rank", "lora_r"];
const TARGET_NAMES: &[&str] = &["target_modules", "lora_target", "lora_target_modules"];
const BITS_NAMES: &[&str] = &["quant_bits", "quantization_bit"];
const DTYPE_NAMES: &[&str] = &["torch_dtype", "dtype"];
const OPTIMIZER_NAMES: &[&str] = &["optim", "optimizer"];
const ATTENTION_NAMES: &[&str] = &["attn_impl", "attn_implementation", "flash_attn"];
const LIGER_NAMES: &[&str] = &["use_liger_kernel", "enable_liger_kernel", "liger_fused_linear_cross_entropy"];

/// All of them, for the reader of arguments.
fn fields(model: &'static str) -> Vec<Field> {
    let values = [
        SEQ_LEN_NAMES,
        TUNER_NAMES,
        RANK_NAMES,
        TARGET_NAMES,
        BITS_NAMES,
        DTYPE_NAMES,
        OPTIMIZER_NAMES,
        ATTENTION_NAMES,
        &["per_device_train_batch_size", "gradient_accumulation_steps", "lora_dropout"],
    ];
    let switches = [
        LIGER_NAMES,
        &["gradient_checkpointing", "disable_gradient_checkpointing", "load_in_4bit", "load_in_8bit", "use_peft"],
        &["bf16", "fp16"],
    ];
    let values = values.into_iter().flatten().chain([&model]).map(|name| (*name, Nargs::One));
    values.chain(switches.into_iter().flatten().map(|name| (*name, Nargs::Optional))).collect()
}

/// What the arguments of a command say.
pub(crate) fn of_command(job: &Job) -> TrainingArgs {
    if job.trainer.passes_through() {
        return TrainingArgs::default();
    }
    let model = job.trainer.model_argument;
    let args = Args::read(job.args.words().to_vec(), &fields(model), (job.trainer.options)(&job.target));
    let told = Told(&args);
    TrainingArgs {
        model: args.text(model),
        params: None,
        micro_batch: told.count(&["per_device_train_batch_size"]),
        grad_accum: told.count(&["gradient_accumulation_steps"]),
        seq_len: told.count(SEQ_LEN_NAMES),
        tuner: told.tuner(),
        lora_rank: told.count(RANK_NAMES),
        lora_targets: told.targets(),
        dtype: told.dtype(),
        optimizer: told.text(OPTIMIZER_NAMES).map(|sourced| sourced.map(|name| Optimizer::named(&name))),
        checkpointing: told.checkpointing(),
        attention: told.text(ATTENTION_NAMES).map(|sourced| sourced.map(|name| attention(&name))),
        fused_loss: told.switch(LIGER_NAMES),
        dropout: args.float("lora_dropout").ok().flatten().map(|sourced| sourced.map(|value| value > 0.0)),
    }
}

/// Preference and reward training keeps another model, or several, beside the one that is trained.
pub(crate) fn has_more_models(job: &Job) -> bool {
    const KINDS: &[&str] = &["rlhf", "dpo", "kto", "ppo", "grpo", "rloo", "orpo", "simpo"];
    let args = Args::read(
        job.args.words().to_vec(),
        &[("rlhf_type", Nargs::One), ("stage", Nargs::One), ("rl", Nargs::One)],
        OptionList::Open,
    );
    let told = ["rlhf_type", "stage", "rl"].iter().filter_map(|name| args.text(name));
    let target = job.target.name().to_string();
    let stem = target.trim_end_matches(".py").rsplit(['/', '.']).next().unwrap_or_default();
    KINDS.contains(&stem) || told.into_iter().any(|sourced| KINDS.contains(&sourced.value.as_str()))
}

/// A name that stands for scores written down; everything else avoids them.
fn attention(name: &str) -> Attention {
    if ["eager", "disabled"].contains(&name) { Attention::Eager } else { Attention::Flash }
}

/// The arguments, asked by several names. What cannot be read is the trainer's to refuse.
struct Told<'a>(&'a Args);

impl Told<'_> {
    fn text(&self, names: &[&str]) -> Option<Sourced<String>> {
        names.iter().find_map(|name| self.0.text(name))
    }

    fn count(&self, names: &[&str]) -> Option<Sourced<u64>> {
        let found = names.iter().find_map(|name| self.0.int(name).ok().flatten())?;
        let value = u64::try_from(found.value).ok().filter(|value| *value > 0)?;
        Some(Sourced::new(value, found.from))
    }

    fn switch(&self, names: &[&str]) -> Option<Sourced<bool>> {
        names.iter().find_map(|name| self.0.bool(name, true).ok().flatten())
    }

    fn tuner(&self) -> Option<Sourced<Tuner>> {
        let bits = self.count(BITS_NAMES).map(|sourced| sourced.value);
        let loaded = |name, bits| self.switch(&[name]).filter(|sourced| sourced.value).map(|_| bits);
        let bits = bits.or_else(|| loaded("load_in_4bit", 4)).or_else(|| loaded("load_in_8bit", 8));
        let lora = bits.map_or(Tuner::Lora, Tuner::Quantised);
        if let Some(sourced) = self.text(TUNER_NAMES) {
            let tuner = match sourced.value.as_str() {
                "full" | "freeze" | "none" => Tuner::Full,
                "qlora" => Tuner::Quantised(bits.unwrap_or(4)),
                _ => lora,
            };
            return Some(Sourced::new(tuner, sourced.from));
        }
        self.switch(&["use_peft"]).filter(|sourced| sourced.value).map(|sourced| sourced.map(|_| lora))
    }

    /// Several words, or one with commas.
    fn targets(&self) -> Option<Sourced<String>> {
        let first = self.text(TARGET_NAMES)?;
        let words = self.0.words().iter().filter_map(|word| word.to_str());
        let spelled = first.from.to_string();
        let behind = words.skip_while(|word| *word != spelled).skip(1).take_while(|word| !word.starts_with("--"));
        let all: Vec<&str> = behind.collect();
        let value = if all.len() > 1 { all.join(",") } else { first.value.clone() };
        Some(Sourced::new(value, first.from))
    }

    fn dtype(&self) -> Option<Sourced<Dtype>> {
        let named = self.text(DTYPE_NAMES).and_then(|sourced| {
            let (_, dtype) = Dtype::NAMES.iter().find(|(name, _)| *name == sourced.value)?;
            Some(Sourced::new(*dtype, sourced.from))
        });
        let bf16 = self.switch(&["bf16"]);
        let fp16 = self.switch(&["fp16"]);
        let on = |sourced: &Option<Sourced<bool>>, dtype| {
            sourced.as_ref().filter(|sourced| sourced.value).map(|sourced| Sourced::new(dtype, sourced.from.clone()))
        };
        let off = || match (&bf16, &fp16) {
            (Some(one), Some(_)) => Some(Sourced::new(Dtype::Fp32, one.from.clone())),
            _ => None,
        };
        on(&bf16, Dtype::Bf16).or_else(|| on(&fp16, Dtype::Fp16)).or(named).or_else(off)
    }

    fn checkpointing(&self) -> Option<Sourced<bool>> {
        let off = self.switch(&["disable_gradient_checkpointing"]).map(|sourced| sourced.map(|off| !off));
        // axolotl takes `offload` and the like for yes.
        let on =
            self.text(&["gradient_checkpointing"]).map(|sourced| sourced.map(|text| hf_bool(&text).unwrap_or(true)));
        off.or(on).or_else(|| self.switch(&["gradient_checkpointing"]))
    }
}

/// Everything that decides, each with who said it.
#[derive(Clone, Debug)]
pub(crate) struct Settled {
    pub(crate) micro_batch: Sourced<u64>,
    pub(crate) grad_accum: Sourced<u64>,
    pub(crate) seq_len: Sourced<u64>,
    pub(crate) tuner: Sourced<Tuner>,
    pub(crate) lora_rank: Sourced<u64>,
    pub(crate) lora_targets: Sourced<String>,
    pub(crate) dtype: Sourced<Dtype>,
    pub(crate) optimizer: Sourced<Optimizer>,
    pub(crate) checkpointing: Sourced<bool>,
    pub(crate) attention: Sourced<Attention>,
    pub(crate) fused_loss: Sourced<bool>,
    pub(crate) dropout: Sourced<bool>,
}

impl Settled {
    /// `trainer`: whose defaults hold.
    pub(crate) fn new(sourced: &TrainingArgs, trainer: Option<&Trainer>) -> Self {
        fn or<T: Clone>(sourced: Option<&Sourced<T>>, default: T) -> Sourced<T> {
            sourced.cloned().unwrap_or(Sourced::new(default, Source::Default))
        }
        let defaults = trainer.map_or(&ALONE, |trainer| &trainer.defaults);
        let tuner = if defaults.lora { Tuner::Lora } else { Tuner::Full };
        Settled {
            micro_batch: or(sourced.micro_batch.as_ref(), defaults.micro_batch),
            grad_accum: or(sourced.grad_accum.as_ref(), 1),
            seq_len: or(sourced.seq_len.as_ref(), defaults.seq_len.unwrap_or(SEQ_LEN)),
            tuner: or(sourced.tuner.as_ref(), tuner),
            lora_rank: or(sourced.lora_rank.as_ref(), defaults.lora_rank),
            lora_targets: or(sourced.lora_targets.as_ref(), "all-linear".to_string()),
            dtype: or(sourced.dtype.as_ref(), Dtype::Bf16),
            optimizer: or(sourced.optimizer.as_ref(), Optimizer::named("adamw")),
            checkpointing: or(sourced.checkpointing.as_ref(), defaults.checkpointing),
            attention: or(sourced.attention.as_ref(), Attention::Flash),
            fused_loss: or(sourced.fused_loss.as_ref(), false),
            dropout: or(sourced.dropout.as_ref(), defaults.dropout),
        }
    }
}
