//! What one training step needs: bytes on each GPU and on each host. The sums follow what DeepSpeed 0.19.8 and
//! transformers 5 allocate (stage_1_and_2.py, stage3.py, unfused_optimizer.py, `ForCausalLMLoss`) and were compared with
//! measured peaks: `tests/data/memory-h200.jsonl`. Nothing here reads anything.
//!
//! A step has four moments at which memory can be fullest; what lives then differs, so each is summed for itself and the
//! largest counts.

use super::architecture::Shape;
use super::strategy::{Location, Strategy};
use super::training::{Attention, Optimizer};

/// What is trained, and how.
#[derive(Clone, Debug)]
pub(crate) struct Training {
    pub(crate) params: u64,
    /// Those that are updated; all of them unless LoRA adapts the model.
    pub(crate) trainable: u64,
    /// Bytes of all weights, adapters included, as one rank holds them whole.
    pub(crate) weights: u64,
    /// Bytes of a number in the weights that are trained and in activations.
    pub(crate) element: u64,
    pub(crate) optimizer: Optimizer,
    pub(crate) shape: Shape,
    pub(crate) micro_batch: u64,
    pub(crate) seq_len: u64,
    pub(crate) accumulates: bool,
    pub(crate) checkpointing: bool,
    pub(crate) attention: Attention,
    /// The loss is computed in pieces, without the logits of all tokens at once.
    pub(crate) fused_loss: bool,
    /// Elements that LoRA keeps for each token of a layer.
    pub(crate) adapters: u64,
    /// Elements that go into the layers LoRA adapts, one copy for each.
    pub(crate) adapted_inputs: u64,
}

/// The ranks: one a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Machines {
    pub(crate) nodes: u64,
    pub(crate) gpus: u64,
}

impl Machines {
    pub(crate) fn world(self) -> u64 {
        self.nodes * self.gpus
    }
}

/// Bytes on one GPU, by what they are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) parameters: u64,
    pub(crate) gradients: u64,
    pub(crate) optimizer: u64,
    pub(crate) activations: u64,
    pub(crate) buffers: u64,
    pub(crate) logits: u64,
    pub(crate) overhead: u64,
}

impl Parts {
    pub(crate) const NAMES: [&'static str; 7] =
        ["parameters", "gradients", "optimizer", "activations", "buffers", "logits", "overhead"];

    pub(crate) fn values(&self) -> [u64; 7] {
        let Parts { parameters, gradients, optimizer, activations, buffers, logits, overhead } = *self;
        [parameters, gradients, optimizer, activations, buffers, logits, overhead]
    }

    pub(crate) fn total(&self) -> u64 {
        self.values().iter().sum()
    }
}

/// When memory is fullest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The first gradient, that of the logits, while everything of the forward pass is still there.
    Loss,
    /// The last layer goes back.
    Backward,
    /// All gradients are there.
    Reduced,
    /// The optimizer works.
    Step,
    /// Not of this kind of accounting.
    Always,
}

impl Moment {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Moment::Loss => "loss",
            Moment::Backward => "backward",
            Moment::Reduced => "end of backward",
            Moment::Step => "step",
            Moment::Always => "always",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    pub(crate) parts: Parts,
    pub(crate) moment: Moment,
    /// Bytes in the memory of each machine.
    pub(crate) host: u64,
    /// Bytes on the disk of each machine.
    pub(crate) disk: u64,
}

impl Need {
    pub(crate) fn gpu(&self) -> u64 {
        self.parts.total()
    }

    /// What torch's `max_memory_allocated` would show.
    pub(crate) fn allocated(&self) -> u64 {
        self.gpu() - self.parts.overhead + WORKSPACE
    }
}

/// What is left over in every measured run; about the size of two workspaces of cuBLAS.
const WORKSPACE: u64 = 67_000_000;
/// The driver's and the libraries' own: 1.4 to 1.85 GB in the runs measured on an H200.
const CONTEXT: u64 = 1_800_000_000;
/// NCCL's buffers, where ranks talk. Assumed: all measured runs had one rank.
const NCCL: u64 = 700_000_000;
/// A Python process with torch, transformers and DeepSpeed in it, as measured.
const PROCESS: u64 = 1_530_000_000;
/// What such a process has more with offload, beside what is accounted for: fitted to the measured runs.
const OFFLOADING: u64 = 600_000_000;
/// The engine's own allreduce at stage 0 flattens so many elements at once.
const ALLREDUCE: u64 = 500_000_000;
/// Bytes for each logit while the loss goes back: its fp32 log-softmax and two gradients of that.
const LOGIT: u64 = 12;
const FP32: u64 = 4;

impl Training {
    /// Whether the sums below stay far from what a number can hold: anything larger is a slip of the finger.
    pub(crate) fn can_be_counted(&self, machines: Machines) -> bool {
        const MOST: u128 = 1 << 60;
        const MOST_GPUS: u64 = 1 << 24;
        let Shape { hidden, layers, vocab, heads, attention, normed, inner, .. } = &self.shape;
        let wide = |numbers: &[u64]| numbers.iter().map(|number| u128::from(*number)).sum::<u128>();
        let product = |numbers: &[u64]| {
            numbers.iter().try_fold(1u128, |product, number| product.checked_mul(u128::from(*number)))
        };
        let of_layer = 64 * wide(&[*hidden, *attention, *normed, *inner, self.adapters, self.adapted_inputs]);
        let of_tokens = product(&[self.micro_batch, self.seq_len]).and_then(|tokens| {
            let scores = product(&[16, *heads, self.seq_len])?;
            let layers = u128::from(*layers).checked_mul(of_layer.checked_add(scores)?)?;
            tokens.checked_mul(layers + 16 * u128::from(*vocab))
        });
        let of_params = product(&[64, self.params.max(self.trainable).max(self.weights), machines.gpus]);
        let within = |bytes: Option<u128>| bytes.is_some_and(|bytes| bytes < MOST);
        within(of_tokens) && within(of_params) && machines.nodes.saturating_mul(machines.gpus) <= MOST_GPUS
    }
}

pub(crate) fn need(training: &Training, strategy: &Strategy, machines: Machines) -> Need {
    let sums = Sums { training, strategy, machines, world: machines.world().max(1) };
    let moments = [Moment::Loss, Moment::Backward, Moment::Reduced, Moment::Step];
    let all = moments.map(|moment| (moment, sums.parts(moment)));
    let fullest = all.into_iter().reduce(|best, next| if next.1.total() > best.1.total() { next } else { best });
    let (moment, parts) = fullest.unwrap_or((Moment::Always, Parts::default()));
    Need { parts, moment, host: sums.host(), disk: sums.disk() }
}

struct Sums<'a> {
    training: &'a Training,
    strategy: &'a Strategy,
    machines: Machines,
    world: u64,
}

impl Sums<'_> {
    fn share(&self, whole: u64) -> u64 {
        whole.div_ceil(self.world)
    }

    fn tokens(&self) -> u64 {
        self.training.micro_batch * self.training.seq_len
    }

    /// The 16-bit gradients, or fp32 ones where all is fp32.
    fn gradients(&self) -> u64 {
        self.training.element * self.training.trainable
    }

    fn is_mixed(&self) -> bool {
        self.training.element < FP32
    }

    /// The largest tensor that gets a gradient.
    fn largest(&self) -> u64 {
        self.training.shape.embedding.min(self.training.trainable)
    }

    fn parts(&self, moment: Moment) -> Parts {
        let talk = if self.world > 1 { NCCL } else { 0 };
        let (activations, logits) = self.of_tokens(moment);
        Parts {
            parameters: self.parameters(),
            gradients: self.gradients_at(moment),
            optimizer: self.optimizer(),
            activations,
            buffers: self.buffers_at(moment),
            logits,
            overhead: CONTEXT + WORKSPACE + talk,
        }
    }

    fn parameters(&self) -> u64 {
        match (self.strategy.stage, self.strategy.params) {
            (Some(3), Location::Gpu) => self.share(self.training.weights),
            (Some(3), _) => 0,
            _ => self.training.weights,
        }
    }

    /// The fp32 copy of the weights and the optimizer's states.
    fn optimizer(&self) -> u64 {
        let Training { trainable, optimizer, element, .. } = self.training;
        if self.strategy.optimizer != Location::Gpu {
            return 0;
        }
        // A flat fp32 copy is made at stages 1 and 2 even of fp32 weights.
        let copy = match self.strategy.stage {
            None => 0,
            Some(1 | 2) => FP32,
            _ if self.is_mixed() => FP32,
            _ => 0,
        };
        let states = match self.strategy.stage {
            None if optimizer.follows_dtype => optimizer.bytes * element / FP32,
            _ => optimizer.bytes,
        };
        let whole = (copy + states) * trainable;
        if self.strategy.stage.is_some_and(|stage| stage >= 1) { self.share(whole) } else { whole }
    }

    fn gradients_at(&self, moment: Moment) -> u64 {
        let whole = self.gradients();
        let part = self.share(whole);
        let offloaded = self.strategy.optimizer != Location::Gpu;
        // While one group of parameters is updated, its gradients are there three times.
        let copies = |elements: u64| (self.training.element + if self.is_mixed() { FP32 } else { 0 }) * elements;
        match (self.strategy.stage, moment) {
            // They are on their way to the host as soon as they are there.
            (Some(3), _) | (Some(1 | 2), Moment::Step) if offloaded => 0,
            (Some(3), Moment::Step) => part + copies(self.share(self.training.trainable).min(self.strategy.sub_group)),
            // Stage 3 keeps a buffer for them at all times.
            (Some(3), _) => part,
            (Some(1 | 2), Moment::Step) => part + copies(self.share(self.training.trainable)),
            (Some(0), Moment::Step) if self.is_mixed() => whole + FP32 * self.training.trainable,
            (Some(2), Moment::Reduced) => {
                if offloaded {
                    0
                } else {
                    part
                }
            }
            (Some(1), Moment::Reduced) => whole + if offloaded { 0 } else { part },
            (_, Moment::Step | Moment::Reduced) => whole,
            // Those of the micro batches before.
            _ if !self.training.accumulates => 0,
            (Some(2), _) => {
                if offloaded {
                    0
                } else {
                    part
                }
            }
            _ => whole,
        }
    }

    fn buffers_at(&self, moment: Moment) -> u64 {
        let element = self.training.element;
        let several = self.world > 1;
        let goes_back = matches!(moment, Moment::Backward | Moment::Reduced);
        let offloaded = self.strategy.optimizer != Location::Gpu;
        // The embedding's gradient is there as a whole before it is shared out.
        let embedding = if goes_back { element * self.largest() } else { 0 };
        match self.strategy.stage {
            None => {
                if several {
                    self.gradients()
                } else {
                    0
                }
            }
            Some(0) => {
                let flat = element * self.training.trainable.min(ALLREDUCE);
                if several && moment == Moment::Reduced { flat } else { 0 }
            }
            Some(3) => {
                let gathered = if moment == Moment::Step { 0 } else { self.gathered() };
                element * self.strategy.bucket + gathered + embedding
            }
            Some(_) => {
                // Stage 1 keeps its bucket from the first micro batch to the last.
                let stays = self.training.accumulates && self.strategy.stage == Some(1) && moment == Moment::Loss;
                let bucket = element * self.strategy.bucket * self.strategy.buckets;
                let bucket = if goes_back || stays { bucket } else { 0 };
                // On its way to the host the largest gradient is copied, cast and staged.
                let staged = if offloaded { element * self.largest() } else { 0 };
                let cast = if offloaded && goes_back { (element + FP32) * self.largest() } else { 0 };
                bucket + embedding + staged + cast
            }
        }
    }

    /// Whole parameters at stage 3: as many as it may keep, and the layer at work. One rank alone has nothing to gather
    /// but from its host.
    fn gathered(&self) -> u64 {
        if self.world == 1 && self.strategy.params == Location::Gpu {
            return 0;
        }
        let Training { params, weights, shape, .. } = self.training;
        let kept = self.strategy.live.saturating_add(shape.layer).min(*params);
        // In bytes as they are stored.
        let share = u128::from(*weights) * u128::from(kept) / u128::from((*params).max(1));
        u64::try_from(share).unwrap_or(u64::MAX)
    }

    fn of_tokens(&self, moment: Moment) -> (u64, u64) {
        let Training { shape, element, checkpointing, fused_loss, .. } = self.training;
        let tokens = self.tokens();
        let layer = self.layer();
        let kept = if *checkpointing { element * shape.hidden } else { layer };
        let all = shape.layers * kept;
        // The gradients inside the layer that goes back, and what was computed again for it.
        let at_work = element * (3 * shape.inner + 4 * shape.hidden);
        let again = if *checkpointing { layer } else { 0 };
        match moment {
            Moment::Loss => {
                let logits = if *fused_loss { 0 } else { LOGIT * tokens * shape.vocab };
                (tokens * (all + self.norm_bytes() * shape.hidden), logits)
            }
            Moment::Backward => (tokens * (all + again + at_work), 0),
            Moment::Reduced => (tokens * (layer + at_work), 0),
            Moment::Step | Moment::Always => (0, 0),
        }
    }

    /// A norm keeps its input and output, wider where all is fp32; and what its weight is multiplied with, where that is
    /// trained.
    fn norm_bytes(&self) -> u64 {
        let Training { shape, element, .. } = self.training;
        let frozen = if self.is_full() { 0 } else { *element };
        shape.norm_bytes + 2 * (element - 2) - frozen
    }

    fn is_full(&self) -> bool {
        self.training.adapted_inputs == 0
    }

    /// Bytes one token leaves behind in one layer.
    fn layer(&self) -> u64 {
        let Training { shape, element, attention, adapters, adapted_inputs, seq_len, .. } = self.training;
        let scores = if *attention == Attention::Eager { (2 * element + FP32) * shape.heads * seq_len } else { 0 };
        // PEFT makes adapters fp32; only stage 3 leaves them so, and then each casts its input for itself.
        let cast = if self.strategy.stage == Some(3) { FP32 * adapted_inputs } else { 0 };
        shape.norms * self.norm_bytes() * shape.hidden
            + (FP32 + element) * shape.normed
            + element * (shape.attention + shape.inner_copies * shape.inner + adapters)
            + scores
            + cast
    }

    /// Memory of one machine: the processes, what loading takes, and what is kept there.
    fn host(&self) -> u64 {
        let Training { params, trainable, element, weights, shape, accumulates, .. } = self.training;
        let ranks = self.machines.gpus;
        let loading = match self.strategy.stage {
            // Rank 0 hands the others what it read.
            Some(3) => 2 * weights + element * shape.embedding,
            _ => ranks * weights,
        };
        let own = self.share(*trainable);
        let kept = match (self.strategy.stage, self.strategy.optimizer) {
            (_, Location::Gpu) => 0,
            (Some(3), Location::Disk) => {
                let group = own.min(self.strategy.sub_group);
                self.strategy.disk_buffers * pinned(FP32 * group) + pinned(element * group)
            }
            (Some(3), _) => pinned(element * own) + self.subgroups(own) + (FP32 + self.training.optimizer.bytes) * own,
            _ => {
                let accumulated = if *accumulates { self.pieces(*trainable, 1) / self.world } else { 0 };
                let staged = pinned(element * self.largest());
                2 * pinned(FP32 * own)
                    + pinned(element * own)
                    + self.training.optimizer.bytes * own
                    + accumulated
                    + staged
            }
        };
        // The buffer, and the pieces it was put together from: pinned memory is never given back.
        let weights = match self.strategy.params {
            Location::Host => pinned(self.share(*weights)) + self.pieces(*params, self.world),
            Location::Disk => element * self.share(*params).min(1_000_000_000) + (1 << 30),
            Location::Gpu => 0,
        };
        let process = PROCESS + if self.strategy.offloads() { OFFLOADING } else { 0 };
        ranks * process + loading.max(ranks * (kept + weights))
    }

    /// So many parameters, each tensor pinned for itself in `split` parts.
    fn pieces(&self, params: u64, split: u64) -> u64 {
        let Training { shape, element, .. } = self.training;
        let linears = shape.linears.iter().map(|(_, inputs, outputs)| (inputs * outputs, shape.layers));
        let tensors = || linears.clone().chain([(shape.embedding, 1)]);
        let plain: u64 = tensors().map(|(size, count)| count * element * size).sum();
        let rounded: u64 =
            tensors().map(|(size, count)| count * split * pinned((element * size).div_ceil(split))).sum();
        let share = u128::from(element * params) * u128::from(rounded) / (u128::from(plain.max(1)) * u128::from(split));
        u64::try_from(share).unwrap_or(u64::MAX)
    }

    /// The fp32 gradients of stage 3 lie in one pinned piece a group.
    fn subgroups(&self, own: u64) -> u64 {
        let group = self.strategy.sub_group.clamp(1, own.max(1));
        (own / group) * pinned(FP32 * group) + pinned(FP32 * (own % group))
    }

    fn disk(&self) -> u64 {
        let ranks = self.machines.gpus;
        let states = (2 * FP32 + self.training.optimizer.bytes) * self.share(self.training.trainable);
        let of = |place, bytes| if place == Location::Disk { ranks * bytes } else { 0 };
        of(self.strategy.optimizer, states) + of(self.strategy.params, self.share(self.training.weights))
    }
}

/// torch rounds pinned memory up to a power of two.
fn pinned(bytes: u64) -> u64 {
    if bytes == 0 { 0 } else { bytes.checked_next_power_of_two().unwrap_or(bytes) }
}

/// The accounting of textbooks: 2 bytes a weight, 2 a gradient, 8 of Adam, and nothing else.
pub(crate) fn textbook(training: &Training, strategy: &Strategy, machines: Machines) -> Need {
    let world = machines.world().max(1);
    let stage = strategy.stage.unwrap_or(0);
    let from = |first: u64, bytes: u64| {
        if stage >= first { (bytes * training.params).div_ceil(world) } else { bytes * training.params }
    };
    let (parameters, gradients, optimizer) = (from(3, 2), from(2, 2), from(1, 8));
    let on_gpu = |place: Location, bytes: u64| if place == Location::Gpu { bytes } else { 0 };
    let on_host = |place: Location, bytes: u64| if place == Location::Host { machines.gpus * bytes } else { 0 };
    let on_disk = |place: Location, bytes: u64| if place == Location::Disk { machines.gpus * bytes } else { 0 };
    Need {
        parts: Parts {
            parameters: on_gpu(strategy.params, parameters),
            gradients,
            optimizer: on_gpu(strategy.optimizer, optimizer),
            ..Parts::default()
        },
        moment: Moment::Always,
        host: on_host(strategy.params, parameters) + on_host(strategy.optimizer, optimizer),
        disk: on_disk(strategy.params, parameters) + on_disk(strategy.optimizer, optimizer),
    }
}
