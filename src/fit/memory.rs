//! The memory of a training, on each GPU and each machine. The sums follow what DeepSpeed 0.19.8 and transformers 5
//! allocate (stage_1_and_2.py, stage3.py, unfused_optimizer.py, `ForCausalLMLoss`) and are compared with measured peaks:
//! `tests/data/memory-h200.jsonl`.
//!
//! Memory use can peak while the model is loaded, in four phases of a step, and between two steps: while the model is evaluated or
//! saved. Different things are alive in each, so each is summed separately and the largest sum counts.

mod activations;

use super::{
    architecture::{Linear, Shape},
    need::{Cluster, GpuUsage, MemoryNeed, only_if},
    settings::TrainingSettings,
    strategy::Strategy,
    tables::{
        algorithms::Algorithm,
        memories::{DISK, GPU, HOST},
        optimizers::{OptimizerMemory, PerParameter},
        phases::{
            BACKWARD, END_OF_BACKWARD, EVALUATION, GENERATION, LOADING, LOSS, OPTIMIZER_STEP,
            PHASES, Phase, SAVING, WHOLE,
        },
        sizes::{ALLREDUCE, CONTEXT, FP32, FP64, NCCL, NORM_PIECE, OFFLOADING, PROCESS, WORKSPACE},
        words::Tuner,
    },
    workload::Workload,
};

pub fn need(workload: &Workload, strategy: &Strategy, cluster: Cluster) -> MemoryNeed {
    let model = MemoryModel::new(workload, strategy, cluster);
    let total = |phase: &Phase| model.usage(*phase).total();
    let peak = PHASES.into_iter().max_by_key(total).unwrap_or(WHOLE);
    // Tensors of many sizes come and go: gathered parameters, the logits of pairs of answers or of other batches than a step's.
    // Stages 1 and 2 first join the trained weights into one tensor: on the GPU if the driver says that it has room there, which
    // it also says of memory that torch may not take, else on the host.
    MemoryNeed {
        usage: model.usage(peak),
        peak,
        step: PHASES
            .iter()
            .filter(|phase| !phase.is_between_steps)
            .map(total)
            .max()
            .unwrap_or(0),
        fragments: model.gathers
            || model.algorithm.pairs && !model.algorithm.headless
            || peak.is_between_steps,
        start: only_if(
            matches!(strategy.stage, Some(1 | 2)),
            model.overhead + model.parameters() + model.gradients,
        ),
        host: model.host(),
        disk: model.disk(),
    }
}

/// Bytes that a pass through the model has left behind.
#[derive(Clone, Copy, Default)]
struct Kept {
    activations: u64,
    logits: u64,
}

/// A training under one template, and what follows from both at once.
struct MemoryModel<'a> {
    workload: &'a Workload,
    shape: &'a Shape,
    settings: &'a TrainingSettings,
    algorithm: &'a Algorithm,
    strategy: &'a Strategy,
    stage: Option<u64>,
    optimizer: OptimizerMemory,
    cluster: Cluster,
    ranks: u64,
    /// Bytes of one element of the trained weights and of the activations.
    element: u64,
    trainable: u64,
    /// Bytes of all gradients, in the dtype of the trained weights.
    gradients: u64,
    /// Elements of the largest tensor that gets a gradient.
    largest: u64,
    /// Bytes on every GPU, whatever is trained.
    overhead: u64,
    is_mixed_precision: bool,
    /// LoRA trains adapters, and the weights of the model are frozen.
    has_adapters: bool,
    uses_deepspeed: bool,
    /// ZeRO 1 to 3 update flat fp32 tensors, of which each rank has its share.
    is_flat: bool,
    offloads_optimizer: bool,
    /// Stage 3 gathers parameters from the other ranks, or from the host.
    gathers: bool,
}

impl<'a> MemoryModel<'a> {
    fn new(workload: &'a Workload, strategy: &'a Strategy, cluster: Cluster) -> Self {
        let Workload {
            settings,
            shape,
            trainable,
            element,
            ..
        } = workload;
        let stage = strategy.stage;
        let ranks = cluster.world_size();
        let has_adapters = workload.adapters.is_some();
        MemoryModel {
            workload,
            shape,
            settings,
            algorithm: &settings.algorithm,
            strategy,
            stage,
            optimizer: strategy.own_optimizer.unwrap_or(settings.optimizer).memory,
            cluster,
            ranks,
            element: *element,
            trainable: *trainable,
            gradients: element * trainable,
            largest: if has_adapters {
                // No adapter is larger than all of those in a layer.
                trainable.div_ceil(shape.layers.max(1))
            } else {
                shape.embedding.min(*trainable)
            },
            overhead: CONTEXT + WORKSPACE + only_if(ranks > 1, NCCL),
            is_mixed_precision: *element < FP32,
            has_adapters,
            uses_deepspeed: stage.is_some(),
            is_flat: stage >= Some(1),
            offloads_optimizer: strategy.optimizer != GPU,
            gathers: stage == Some(3) && (ranks > 1 || strategy.params != GPU),
        }
    }

    /// One rank's share of what is split over all of them.
    fn share(&self, whole: u64) -> u64 {
        whole.div_ceil(self.ranks)
    }

    fn usage(&self, phase: Phase) -> GpuUsage {
        let overhead = self.overhead;
        if phase == LOADING {
            // transformers loads quantised weights without `zero.Init`: all of them on every GPU, before stage 3 splits them.
            let parameters = match self.settings.tuner {
                Tuner::Quantised(_) => self.workload.weights,
                _ => self.parameters(),
            };
            return GpuUsage {
                parameters,
                overhead,
                ..GpuUsage::default()
            };
        }
        let kept = self.kept(phase);
        GpuUsage {
            parameters: self.parameters(),
            gradients: self.gradients_at(phase),
            optimizer: self.optimizer(),
            activations: kept.activations,
            buffers: self.buffers_at(phase),
            logits: kept.logits,
            overhead,
        }
    }

    fn parameters(&self) -> u64 {
        let weights = self.workload.weights;
        let whole = weights + self.workload.reference;
        match (self.stage, self.strategy.params) {
            (Some(3), GPU) => {
                // ZeRO++ keeps the weights once more, split over the ranks of a group.
                let ranks = self.strategy.second_partition;
                let second = weights.div_ceil(ranks.clamp(1, self.ranks));
                self.share(whole) + only_if(ranks > 1, second)
            }
            (Some(3), _) => 0,
            _ => whole,
        }
    }

    fn per_parameter(&self) -> PerParameter {
        if self.is_flat {
            self.optimizer.flat
        } else {
            self.optimizer.shaped
        }
    }

    /// The fp32 copy of the weights and the optimizer's states.
    fn optimizer(&self) -> u64 {
        // ZeRO makes a flat fp32 copy even of fp32 weights.
        let is_copied = self.is_flat || self.uses_deepspeed && self.is_mixed_precision;
        let whole = self.states() + only_if(is_copied, FP32 * self.trainable);
        match self.is_flat {
            _ if self.offloads_optimizer => 0,
            true => self.share(whole),
            false => whole,
        }
    }

    /// Bytes for all trained parameters.
    fn states(&self) -> u64 {
        let trainable = self.trainable;
        let shape = self.shape;
        let each = self.per_parameter().states;
        let sees_modules = !self.uses_deepspeed || !self.is_flat && !self.is_mixed_precision;
        // Some elements have other states than the rest.
        let (other, elements) = match (self.optimizer.embedding, self.optimizer.outside) {
            (Some(states), _) if sees_modules => (states, shape.embedding),
            (_, Some(states)) => (
                states,
                self.workload
                    .params
                    .saturating_sub(shape.layers * shape.layer),
            ),
            _ => (each, 0),
        };
        self.in_dtype_of_states((each * trainable + (other - each) * elements.min(trainable)) / 100)
    }

    /// Bytes that the update allocates on top, for this many parameters of the flat tensors.
    fn scratch(&self, own: u64) -> u64 {
        let step = self.per_parameter().step;
        if self.is_flat {
            return step * own / 100;
        }
        let elements = if self.optimizer.all_at_once {
            self.trainable
        } else {
            self.largest
        };
        let casts = self.optimizer.casts && !self.uses_deepspeed && self.is_mixed_precision;
        let cast = only_if(casts, 2 * FP32 * elements);
        self.in_dtype_of_states(step * elements / 100) + cast
    }

    fn in_dtype_of_states(&self, bytes: u64) -> u64 {
        if self.optimizer.follows_dtype && !self.uses_deepspeed {
            bytes * self.element / FP32
        } else {
            bytes
        }
    }

    /// Parameters of this rank that stage 3 updates at a time, or all of them.
    fn updated_at_once(&self) -> u64 {
        let own = self.share(self.trainable);
        if self.stage != Some(3) {
            return own;
        }
        // A tensor is never split, and a group is full once it has reached its size: a head of its own may be the last in it.
        let largest = self.share(self.largest);
        let head = only_if(!self.shape.tied, largest);
        let size = self.strategy.sub_group_size;
        if own.saturating_sub(head) < size {
            own
        } else {
            size.max(largest)
        }
    }

    fn gradients_at(&self, phase: Phase) -> u64 {
        let whole = self.gradients;
        let share = self.share(whole);
        let accumulates = self.workload.accumulates;
        let share_on_gpu = only_if(!self.offloads_optimizer, share);
        let rollout = self.settings.rollout;
        // Answers may be generated between two micro batches.
        let is_within_step = phase == GENERATION
            && rollout.is_some_and(|rollout| rollout.micro_batches < self.settings.grad_accum);
        match (self.stage, phase) {
            // With offload, gradients move to the host as soon as they are computed.
            (Some(3), _) | (Some(1 | 2), OPTIMIZER_STEP) if self.offloads_optimizer => 0,
            (Some(2), OPTIMIZER_STEP) if self.frees_cast_gradients() => {
                FP32 * self.updated_at_once()
            }
            // The update reads an fp32 copy.
            (Some(1..=3), OPTIMIZER_STEP) => share + FP32 * self.updated_at_once(),
            // Stage 3 keeps a buffer for them at all times.
            (Some(3), _) => share,
            _ if phase.is_between_steps && !is_within_step => 0,
            (Some(0), OPTIMIZER_STEP) if self.is_mixed_precision => whole + FP32 * self.trainable,
            // Those of the previous micro batches are kept beside the new ones until both are added.
            (Some(2), BACKWARD | END_OF_BACKWARD) if accumulates => 2 * share_on_gpu,
            (Some(2), END_OF_BACKWARD) => share_on_gpu,
            (_, OPTIMIZER_STEP | END_OF_BACKWARD) => whole,
            // Earlier in the step, only the gradients of previous micro batches are there.
            _ if !accumulates => 0,
            (Some(2), _) if self.offloads_optimizer => 0,
            // A gradient that is larger than the bucket is kept whole by every rank that has a part of it.
            (Some(2), _) if self.largest > self.strategy.bucket_size => {
                share.max(self.element * self.largest)
            }
            (Some(2), _) => share,
            _ => whole,
        }
    }

    fn buffers_at(&self, phase: Phase) -> u64 {
        if phase == OPTIMIZER_STEP && !self.offloads_optimizer {
            return self.buffers_of_update();
        }
        let accumulates = self.workload.accumulates;
        let is_end = phase == END_OF_BACKWARD;
        // At the end of the backward pass the activations are gone.
        let beyond_activations = |bytes: u64| bytes.saturating_sub(self.kept(phase).activations);
        match self.stage {
            None => {
                // The gradients of a head and an embedding that are one tensor, while they are added.
                let copies = only_if(self.shape.tied && is_end, if accumulates { 3 } else { 2 });
                beyond_activations(copies * self.element * self.largest)
                    + only_if(self.ranks > 1, self.gradients)
            }
            Some(0) if is_end => beyond_activations(self.element * self.trainable.min(ALLREDUCE)),
            Some(0) => 0,
            Some(3) => {
                self.element * self.strategy.bucket_size
                    + self.gathered_at(phase)
                    + self.stage3_gradients(phase)
            }
            Some(stage) => {
                // Stage 1 keeps its bucket from one micro batch to the next.
                let is_kept = stage == 1 && accumulates && phase == LOSS;
                let bucket = only_if(
                    is_kept || is_end || phase == BACKWARD,
                    self.strategy.bucket_size * self.strategy.buckets,
                );
                // The embedding's gradient is computed whole before it is split.
                let is_moved = self.sends_gradients_alone()
                    && self.largest <= self.strategy.bucket_size
                    && !self.waits_for_embedding(phase);
                let is_whole = self.has_largest_gradient(phase) && !is_moved;
                let embedding = only_if(is_whole, self.largest);
                self.element * (bucket + embedding) + self.copies_of_largest(phase)
            }
        }
    }

    /// The head's gradient comes first, and that of the embedding last.
    fn has_largest_gradient(&self, phase: Phase) -> bool {
        phase == END_OF_BACKWARD || phase == BACKWARD && !self.algorithm.headless
    }

    /// Bytes of the gradient of a head of its own and of its copies. They are gone before the backward pass of the last layer
    /// starts, unless several ranks reduce them on the way to the host.
    fn gradient_of_head(&self) -> u64 {
        match self.stage {
            _ if self.shape.tied || self.offloads_optimizer && self.ranks > 1 => 0,
            Some(1 | 2) => self.element * self.largest + self.copies_of_largest(BACKWARD),
            Some(3) => self.stage3_gradients(BACKWARD),
            _ => 0,
        }
    }

    /// Copies of the largest gradient at stages 1 and 2: while several ranks reduce it, and on its way to the host.
    fn copies_of_largest(&self, phase: Phase) -> u64 {
        let largest = self.largest;
        let staged = only_if(self.offloads_optimizer, self.element * largest);
        if self.waits_for_embedding(phase) || !self.has_largest_gradient(phase) {
            return staged;
        }
        let reduced = only_if(self.ranks > 1, self.reduced(phase));
        if !self.offloads_optimizer {
            return reduced;
        }
        // Seen only where the config names the optimizer.
        let own = only_if(self.strategy.own_optimizer.is_some(), FP32 * largest);
        let is_last = self.shape.tied && phase == END_OF_BACKWARD;
        // This rank's part is cast, and its norm is computed in fp64.
        let cast = match self.workload.accumulates {
            _ if self.ranks == 1 || self.workload.accumulates && is_last => FP64,
            true => self.element + FP32,
            false => FP32,
        };
        reduced + staged + cast * self.share(largest) + own
    }

    /// The gradient of a head that is also the embedding waits for that of the embedding. Seen with one rank.
    fn waits_for_embedding(&self, phase: Phase) -> bool {
        self.shape.tied && self.ranks == 1 && phase == BACKWARD
    }

    /// True if a single rank sends the gradients to the host. One that is larger than the bucket goes beside it.
    fn sends_gradients_alone(&self) -> bool {
        self.offloads_optimizer && self.ranks == 1
    }

    /// Bytes that several ranks add while they reduce gradients: a second bucket and, for a gradient that is larger than one, its
    /// copy. An embedding that is also the head has two gradients until both are added.
    fn reduced(&self, phase: Phase) -> u64 {
        let largest = self.largest;
        let is_beside = largest > self.strategy.bucket_size;
        let is_twice = self.shape.tied && phase == END_OF_BACKWARD && !self.offloads_optimizer;
        // What goes to the host at once is reduced where it is.
        let is_copied = self.workload.accumulates || !self.offloads_optimizer;
        let copies = only_if(is_beside && is_copied, if is_twice { 2 } else { 1 });
        // Gradients in fp32 were seen to need no second bucket.
        let bucket = only_if(self.is_mixed_precision, self.strategy.bucket_size);
        let elements = match self.stage {
            Some(1) if copies < 2 => 0,
            Some(1) => largest,
            _ if !is_beside && self.cluster.nodes == 1 => 0,
            _ => bucket + copies * largest,
        };
        self.element * elements
    }

    /// The largest gradient at stage 3. A head of its own gets its gradient first, while most parameters are gathered; one
    /// that is shared with the embedding gets it last.
    fn stage3_gradients(&self, phase: Phase) -> u64 {
        let is_reduced = match phase {
            BACKWARD => !self.shape.tied,
            END_OF_BACKWARD => true,
            _ => return 0,
        };
        // On its way to the host this rank's part is copied, and its norm is computed in fp64, a piece at a time.
        let part = self.share(self.largest);
        self.element * self.largest
            + only_if(
                is_reduced && self.offloads_optimizer,
                self.element * part + FP64 * part.min(NORM_PIECE),
            )
    }

    /// Without `contiguous_gradients`, stage 2 frees the gradients once they are cast for the update.
    fn frees_cast_gradients(&self) -> bool {
        self.stage == Some(2) && self.strategy.buckets == 0
    }

    /// First the 16-bit gradients are joined to be cast, then the update allocates its own.
    fn buffers_of_update(&self) -> u64 {
        let own = self.updated_at_once();
        let bucket = match self.stage {
            None if self.ranks > 1 => self.gradients,
            Some(3) => self.element * self.strategy.bucket_size,
            _ => 0,
        };
        if !self.is_flat {
            return bucket + self.scratch(own);
        }
        let joined = only_if(self.is_mixed_precision, self.element * own);
        let cast = only_if(self.frees_cast_gradients(), self.share(self.gradients));
        // Before the update, the norm of each gradient is computed in fp64.
        bucket
            + (joined + cast)
                .max(self.scratch(own))
                .max((FP64 * self.share(self.largest)).saturating_sub(FP32 * own))
    }

    /// Bytes of the gathered parameters: as many as stage 3 may keep, and the current module.
    fn gathered_at(&self, phase: Phase) -> u64 {
        let embedding = self.shape.embedding;
        let workload = self.workload;
        if phase == SAVING && self.strategy.saves_whole {
            return self.element * embedding;
        }
        if matches!(phase, SAVING | OPTIMIZER_STEP) || !self.gathers {
            return 0;
        }
        let rollout = self.settings.rollout;
        // To reach a server, adapters are merged into gathered weights.
        let is_whole = rollout.is_some_and(|rollout| {
            if rollout.is_served {
                self.has_adapters
            } else {
                rollout.gathers
            }
        });
        if phase == GENERATION && is_whole {
            return workload.weights;
        }
        let kept = match phase {
            // In the backward pass a layer is released once it was used.
            END_OF_BACKWARD => embedding + self.largest_module(),
            LOSS | EVALUATION if self.runs_twice() => 0,
            EVALUATION if self.algorithm.repeats => 2 * (embedding + self.shape.layer),
            // Where answers were generated, ranks do not release a head before the layers.
            BACKWARD if rollout.is_some() && self.strategy.params == GPU => self.live() + embedding,
            _ if self.shape.tied => self.live(),
            LOSS | EVALUATION | GENERATION => self.live_at_head() + workload.reference_head,
            // The gradient of its bias sends that of the head to the host while the head is still there.
            BACKWARD if self.shape.head_has_bias => self.live_at_head(),
            // A head of its own is released before the layers.
            _ if self.live_params() < embedding => {
                self.live().min(self.stored().saturating_sub(embedding))
            }
            _ => self.live_at_head().saturating_sub(embedding),
        };
        let most = self.stored() + workload.reference_head;
        // What has no backward pass is released at once.
        self.element * kept.min(most.saturating_sub(workload.forward_only))
    }

    /// Parameters that are live once a head of its own, the last module, was used. Those of a tower that sees pictures are
    /// gathered again for its backward pass, which comes before that of the embedding.
    fn live_at_head(&self) -> u64 {
        let embedding = self.shape.embedding;
        let others = self.stored().saturating_sub(embedding);
        let behind_embedding = others.saturating_sub(self.workload.forward_only);
        match self.live_params() {
            live if live < embedding => embedding,
            // A module is kept if few enough parameters come behind it, whatever its own size.
            live if behind_embedding <= live => behind_embedding + embedding,
            _ => self.live().min(others),
        }
    }

    /// Elements of the weights as they are stored: four bits of quantised ones are a quarter.
    fn stored(&self) -> u64 {
        self.workload.weights / self.element
    }

    fn live(&self) -> u64 {
        // bitsandbytes holds on to what DeepSpeed releases.
        self.live_params() + self.largest_module() + self.workload.quantised / self.element
    }

    fn live_params(&self) -> u64 {
        let algorithm = self.algorithm;
        // Generating before every micro batch has the same effect. With KTO that was seen only where parameters are offloaded.
        let is_each = self.settings.rollout.is_some_and(|rollout| {
            rollout.micro_batches == 1 && rollout.gathers && !rollout.is_served
        });
        let generates = is_each && algorithm.groups && !self.has_adapters;
        let repeats = algorithm.repeats && self.shape.tied && self.strategy.params != GPU;
        let is_lost = generates || repeats || self.runs_twice();
        only_if(!is_lost, self.strategy.live_params)
    }

    /// A model with adapters is also its own reference, and runs twice in a step. DeepSpeed then cannot tell which parameters come
    /// next, and keeps none.
    fn runs_twice(&self) -> bool {
        let algorithm = self.algorithm;
        algorithm.has_reference && !algorithm.critic && self.has_adapters
    }

    /// Parameters are gathered module by module; the experts of a layer are one.
    fn largest_module(&self) -> u64 {
        self.shape
            .linears
            .iter()
            .map(Linear::weights)
            .max()
            .filter(|_| self.shape.routed == 0)
            .unwrap_or(self.shape.layer)
    }
}

/// `whole * part / all`, which may be too large for 64 bits on the way.
pub fn scaled(whole: u64, part: u64, all: u64) -> u64 {
    let scaled = u128::from(whole) * u128::from(part) / u128::from(all.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// Memory of a machine and its disk: the processes, the model while it is loaded, and what is offloaded.
impl MemoryModel<'_> {
    /// Memory of one machine: its processes, and the larger of what loading the model and what offloading and saving it take.
    fn host(&self) -> u64 {
        let ranks = self.cluster.gpus;
        let weights = self.workload.weights;
        let loading = match self.stage {
            // Rank 0 reads the weights and broadcasts them.
            Some(3) => 2 * weights + self.element * self.shape.embedding,
            _ => ranks * (weights + self.workload.reference),
        };
        let offloaded = ranks * (self.offloaded_optimizer() + self.offloaded_params());
        ranks * (PROCESS + only_if(self.strategy.offloads(), OFFLOADING))
            + loading.max(offloaded + only_if(self.strategy.saves_whole, weights))
    }

    fn offloaded_optimizer(&self) -> u64 {
        let element = self.element;
        let trainable = self.trainable;
        let own = self.share(trainable);
        // DeepSpeed's optimizer for the CPU is Adam whatever the trainer asks for, and the others were seen to take no less.
        let states = 2 * FP32 * own;
        match (self.stage, self.strategy.optimizer) {
            (_, GPU) => 0,
            (Some(3), DISK) => {
                let group = own.min(self.strategy.sub_group_size);
                self.strategy.disk_buffers * pinned(FP32 * group) + pinned(element * group)
            }
            (Some(3), _) => {
                // The fp32 gradients are pinned group by group.
                let group = self.strategy.sub_group_size.clamp(1, own.max(1));
                let gradients = (own / group) * pinned(FP32 * group) + pinned(FP32 * (own % group));
                pinned(element * own) + gradients + FP32 * own + states
            }
            _ => {
                let pieces = self.pieces(trainable, 1) / self.ranks;
                let accumulated = only_if(self.workload.accumulates, pieces);
                let staged = pinned(element * self.largest);
                2 * pinned(FP32 * own) + pinned(element * own) + states + accumulated + staged
            }
        }
    }

    fn offloaded_params(&self) -> u64 {
        let params = self.workload.params;
        let reference = self.workload.reference;
        match self.strategy.params {
            // The buffer, and the pinned pieces it was assembled from: pinned memory is never freed.
            HOST => {
                pinned(self.share(self.workload.weights + reference))
                    + self.pieces(params + reference / self.element, self.ranks)
            }
            DISK => self.element * self.share(params).min(1_000_000_000) + (1 << 30),
            _ => 0,
        }
    }

    /// Bytes of this many parameters if each tensor is pinned separately, in `split` parts.
    fn pieces(&self, params: u64, split: u64) -> u64 {
        let piece = |size: u64| split * pinned((self.element * size).div_ceil(split));
        let layers = self.shape.layers;
        let of_layer = self.shape.linears.iter().map(Linear::weights);
        let plain = self.element * (layers * self.shape.linear_weights() + self.shape.embedding);
        let rounded = layers * of_layer.map(piece).sum::<u64>() + piece(self.shape.embedding);
        scaled(self.element * params, rounded, plain) / split
    }

    fn disk(&self) -> u64 {
        let on_disk = |place, bytes| only_if(place == DISK, bytes);
        let each = on_disk(
            self.strategy.optimizer,
            4 * FP32 * self.share(self.trainable),
        ) + on_disk(
            self.strategy.params,
            self.share(self.workload.weights + self.workload.reference),
        );
        self.cluster.gpus * each
    }
}

/// torch rounds every pinned allocation up to a power of two.
fn pinned(bytes: u64) -> u64 {
    only_if(bytes > 0, bytes.next_power_of_two())
}
