//! The memory of a training, on each GPU and each machine. The sums follow what DeepSpeed 0.19.8 and transformers 5
//! allocate (stage_1_and_2.py, stage3.py, unfused_optimizer.py, `ForCausalLMLoss`) and are compared with measured peaks:
//! `tests/data/memory-h200.jsonl`.
//!
//! Memory use can peak in four phases of a step, and between two steps: while the model is evaluated or saved. Different things
//! are alive in each, so each is summed separately and the largest sum counts.

mod activations;
mod host;

use super::architecture::{Linear, Shape};
use super::need::{Cluster, GpuUsage, MemoryNeed, Phase, WORKSPACE};
use super::settings::{TrainingSettings, Tuner};
use super::strategy::{MemoryKind, Strategy};
use super::tables::optimizers::{OptimizerMemory, PerParameter};
use super::workload::Workload;

/// CUDA context, driver and libraries: 1.4 to 1.85 GB in the runs measured on an H200.
const CONTEXT: u64 = 1_800_000_000;
/// NCCL's buffers, if there are several ranks. An assumption: all measured runs had one rank.
const NCCL: u64 = 700_000_000;
/// Elements that the engine's allreduce at stage 0 flattens at once.
const ALLREDUCE: u64 = 500_000_000;
const FP32: u64 = 4;
const FP64: u64 = 8;
/// Elements of a gradient whose norm stage 3 computes at once (`_constant_buffered_norm2`).
const NORM_PIECE: u64 = 250_000_000;

/// Of two that need the same, the last counts: a phase of a step, and its first.
const PHASES: [Phase; 7] = [
    Phase::Saving,
    Phase::Generation,
    Phase::Evaluation,
    Phase::OptimizerStep,
    Phase::EndOfBackward,
    Phase::Backward,
    Phase::Loss,
];

pub fn need(workload: &Workload, strategy: &Strategy, cluster: Cluster) -> MemoryNeed {
    let model = MemoryModel::new(workload, strategy, cluster);
    let total = |phase: &Phase| model.usage(*phase).total();
    let peak = PHASES.into_iter().max_by_key(total).unwrap_or(Phase::Whole);
    let of_step = PHASES.iter().filter(|phase| !phase.is_between_steps());
    // Tensors of many sizes come and go: gathered parameters, the logits of pairs of answers or of other batches than a step's.
    let algorithm = &model.settings.algorithm;
    let has_pairs = algorithm.pairs && !algorithm.headless;
    MemoryNeed {
        usage: model.usage(peak),
        peak,
        step: of_step.map(total).max().unwrap_or(0),
        fragments: model.gathers() || has_pairs || peak.is_between_steps(),
        start: model.start(),
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

struct MemoryModel<'a> {
    workload: &'a Workload,
    shape: &'a Shape,
    settings: &'a TrainingSettings,
    strategy: &'a Strategy,
    optimizer: OptimizerMemory,
    cluster: Cluster,
    world_size: u64,
    /// Bytes of one element of the trained weights and of the activations.
    element: u64,
}

impl<'a> MemoryModel<'a> {
    fn new(workload: &'a Workload, strategy: &'a Strategy, cluster: Cluster) -> Self {
        let settings = &workload.settings;
        MemoryModel {
            workload,
            shape: &workload.shape,
            settings,
            strategy,
            optimizer: strategy.own_optimizer.unwrap_or(settings.optimizer).memory,
            cluster,
            world_size: cluster.world_size().max(1),
            element: workload.element,
        }
    }

    /// One rank's share of what is split over all of them.
    fn share(&self, whole: u64) -> u64 {
        whole.div_ceil(self.world_size)
    }

    /// Bytes of all gradients, in the dtype of the trained weights.
    fn gradients(&self) -> u64 {
        self.element * self.workload.trainable
    }

    fn is_mixed_precision(&self) -> bool {
        self.element < FP32
    }

    /// LoRA trains adapters, and the weights of the model are frozen.
    fn has_adapters(&self) -> bool {
        self.workload.adapters.is_some()
    }

    /// Elements of the largest tensor that gets a gradient. No adapter is larger than all of those in a layer.
    fn largest(&self) -> u64 {
        let trainable = self.workload.trainable;
        if self.has_adapters() {
            trainable.div_ceil(self.shape.layers.max(1))
        } else {
            self.shape.embedding.min(trainable)
        }
    }

    fn usage(&self, phase: Phase) -> GpuUsage {
        let Kept {
            activations,
            logits,
        } = self.kept(phase);
        GpuUsage {
            parameters: self.parameters(),
            gradients: self.gradients_at(phase),
            optimizer: self.optimizer(),
            activations,
            buffers: self.buffers_at(phase),
            logits,
            overhead: self.overhead(),
        }
    }

    /// Stages 1 and 2 first join the trained weights into one tensor: on the GPU if the driver says that it has room there,
    /// which it also says of memory that torch may not take, else on the host.
    fn start(&self) -> u64 {
        match self.strategy.stage {
            Some(1 | 2) => self.overhead() + self.parameters() + self.gradients(),
            _ => 0,
        }
    }

    fn overhead(&self) -> u64 {
        CONTEXT + WORKSPACE + if self.world_size > 1 { NCCL } else { 0 }
    }

    fn parameters(&self) -> u64 {
        let weights = self.workload.weights;
        let whole = weights + self.workload.reference;
        match (self.strategy.stage, self.strategy.params) {
            (Some(3), MemoryKind::Gpu) => {
                // ZeRO++ keeps the weights once more, split over the ranks of a group.
                let ranks = self.strategy.second_partition;
                let second = weights.div_ceil(ranks.clamp(1, self.world_size));
                self.share(whole) + if ranks > 1 { second } else { 0 }
            }
            (Some(3), _) => 0,
            _ => whole,
        }
    }

    fn offloads_optimizer(&self) -> bool {
        self.strategy.optimizer != MemoryKind::Gpu
    }

    fn uses_deepspeed(&self) -> bool {
        self.strategy.stage.is_some()
    }

    /// ZeRO 1 to 3 update flat fp32 tensors, of which each rank has its share.
    fn is_flat(&self) -> bool {
        self.strategy.stage.is_some_and(|stage| stage >= 1)
    }

    fn per_parameter(&self) -> PerParameter {
        if self.is_flat() {
            self.optimizer.flat
        } else {
            self.optimizer.shaped
        }
    }

    /// The fp32 copy of the weights and the optimizer's states.
    fn optimizer(&self) -> u64 {
        let copy = FP32 * self.workload.trainable;
        // ZeRO makes a flat fp32 copy even of fp32 weights.
        if self.offloads_optimizer() {
            0
        } else if self.is_flat() {
            self.share(copy + self.states())
        } else if self.uses_deepspeed() && self.is_mixed_precision() {
            copy + self.states()
        } else {
            self.states()
        }
    }

    /// Bytes for all trained parameters.
    fn states(&self) -> u64 {
        let trainable = self.workload.trainable;
        let shape = self.shape;
        let each = self.per_parameter().states;
        let sees_modules = !self.uses_deepspeed() || !self.is_flat() && !self.is_mixed_precision();
        // Some elements have other states than the rest.
        let (other, elements) = match (self.optimizer.embedding, self.optimizer.outside) {
            (Some(states), _) if sees_modules => (states, shape.embedding),
            (_, Some(states)) => {
                let in_layers = shape.layers * shape.layer;
                (states, self.workload.params.saturating_sub(in_layers))
            }
            _ => (each, 0),
        };
        self.in_dtype_of_states((each * trainable + (other - each) * elements.min(trainable)) / 100)
    }

    /// Bytes that the update allocates on top, for this many parameters of the flat tensors.
    fn scratch(&self, own: u64) -> u64 {
        let step = self.per_parameter().step;
        if self.is_flat() {
            return step * own / 100;
        }
        let elements = if self.optimizer.all_at_once {
            self.workload.trainable
        } else {
            self.largest()
        };
        let casts = self.optimizer.casts && !self.uses_deepspeed() && self.is_mixed_precision();
        let cast = if casts { 2 * FP32 * elements } else { 0 };
        self.in_dtype_of_states(step * elements / 100) + cast
    }

    fn in_dtype_of_states(&self, bytes: u64) -> u64 {
        if self.optimizer.follows_dtype && !self.uses_deepspeed() {
            bytes * self.element / FP32
        } else {
            bytes
        }
    }

    /// Parameters of this rank that stage 3 updates at a time, or all of them.
    fn updated_at_once(&self) -> u64 {
        let own = self.share(self.workload.trainable);
        if self.strategy.stage != Some(3) {
            return own;
        }
        // A tensor is never split, and a group is full once it has reached its size: a head of its own may be the last in it.
        let largest = self.share(self.largest());
        let head = if self.shape.tied { 0 } else { largest };
        let size = self.strategy.sub_group_size;
        if own.saturating_sub(head) < size {
            own
        } else {
            size.max(largest)
        }
    }

    fn gradients_at(&self, phase: Phase) -> u64 {
        let whole = self.gradients();
        let share = self.share(whole);
        let accumulates = self.workload.accumulates;
        let share_on_gpu = if self.offloads_optimizer() { 0 } else { share };
        let rollout = self.settings.rollout;
        let is_within_step =
            rollout.is_some_and(|rollout| rollout.micro_batches < self.settings.grad_accum);
        match (self.strategy.stage, phase) {
            // With offload, gradients move to the host as soon as they are computed.
            (Some(3), _) | (Some(1 | 2), Phase::OptimizerStep) if self.offloads_optimizer() => 0,
            (Some(2), Phase::OptimizerStep) if self.frees_cast_gradients() => {
                FP32 * self.updated_at_once()
            }
            // The update reads an fp32 copy.
            (Some(1..=3), Phase::OptimizerStep) => share + FP32 * self.updated_at_once(),
            // Stage 3 keeps a buffer for them at all times.
            (Some(3), _) => share,
            // Answers may be generated between two micro batches.
            _ if phase.is_between_steps() && !(phase == Phase::Generation && is_within_step) => 0,
            (Some(0), Phase::OptimizerStep) if self.is_mixed_precision() => {
                whole + FP32 * self.workload.trainable
            }
            // Those of the previous micro batches are kept beside the new ones until both are added.
            (Some(2), Phase::Backward | Phase::EndOfBackward) if accumulates => 2 * share_on_gpu,
            (Some(2), Phase::EndOfBackward) => share_on_gpu,
            (_, Phase::OptimizerStep | Phase::EndOfBackward) => whole,
            // Earlier in the step, only the gradients of previous micro batches are there.
            _ if !accumulates => 0,
            (Some(2), _) if self.offloads_optimizer() => 0,
            // A gradient that is larger than the bucket is kept whole by every rank that has a part of it.
            (Some(2), _) if self.largest() > self.strategy.bucket_size => {
                share.max(self.element * self.largest())
            }
            (Some(2), _) => share,
            _ => whole,
        }
    }

    fn buffers_at(&self, phase: Phase) -> u64 {
        if phase == Phase::OptimizerStep && !self.offloads_optimizer() {
            return self.buffers_of_update();
        }
        let accumulates = self.workload.accumulates;
        let is_end = phase == Phase::EndOfBackward;
        // At the end of the backward pass the activations are gone.
        let beyond_activations = |bytes: u64| bytes.saturating_sub(self.kept(phase).activations);
        match self.strategy.stage {
            None => {
                // The gradients of a head and an embedding that are one tensor, while they are added.
                let copies = match (self.shape.tied && is_end, accumulates) {
                    (false, _) => 0,
                    (true, false) => 2,
                    (true, true) => 3,
                };
                let several = self.world_size > 1;
                beyond_activations(copies * self.element * self.largest())
                    + if several { self.gradients() } else { 0 }
            }
            Some(0) if is_end => {
                beyond_activations(self.element * self.workload.trainable.min(ALLREDUCE))
            }
            Some(0) => 0,
            Some(3) => {
                self.element * self.strategy.bucket_size
                    + self.gathered_at(phase)
                    + self.stage3_gradients(phase)
            }
            Some(stage) => {
                // Stage 1 keeps its bucket from one micro batch to the next.
                let is_kept = stage == 1 && accumulates && phase == Phase::Loss;
                let bucket = if is_kept || is_end || phase == Phase::Backward {
                    self.strategy.bucket_size * self.strategy.buckets
                } else {
                    0
                };
                // The embedding's gradient is computed whole before it is split.
                let embedding = if self.has_largest_gradient(phase) {
                    self.largest()
                } else {
                    0
                };
                self.element * (bucket + embedding) + self.copies_of_largest(phase)
            }
        }
    }

    /// The head's gradient comes first, and that of the embedding last.
    fn has_largest_gradient(&self, phase: Phase) -> bool {
        phase == Phase::EndOfBackward
            || phase == Phase::Backward && !self.settings.algorithm.headless
    }

    /// Bytes of the gradient of a head of its own and of its copies. They are gone before the backward pass of the last layer
    /// starts, unless several ranks reduce them on the way to the host.
    fn gradient_of_head(&self) -> u64 {
        let phase = Phase::Backward;
        match self.strategy.stage {
            _ if self.shape.tied || self.offloads_optimizer() && self.world_size > 1 => 0,
            Some(1 | 2) => self.element * self.largest() + self.copies_of_largest(phase),
            Some(3) => self.stage3_gradients(phase),
            _ => 0,
        }
    }

    /// Copies of the largest gradient at stages 1 and 2: while several ranks reduce it, and on its way to the host.
    fn copies_of_largest(&self, phase: Phase) -> u64 {
        let largest = self.largest();
        let reduced = if self.has_largest_gradient(phase) && self.world_size > 1 {
            self.reduced(phase)
        } else {
            0
        };
        if !self.offloads_optimizer() {
            return reduced;
        }
        let staged = if self.workload.accumulates || phase.is_between_steps() {
            self.element * largest
        } else {
            0
        };
        if !self.has_largest_gradient(phase) {
            return staged;
        }
        // The last gradient is that of an embedding which is also the head.
        let is_last = self.shape.tied && phase == Phase::EndOfBackward;
        // A gradient larger than the bucket goes beside it.
        let is_beside = self.world_size == 1 && largest > self.strategy.bucket_size && !is_last;
        let beside = if is_beside {
            self.element * self.strategy.bucket_size
        } else {
            0
        };
        // Seen only where the config names the optimizer.
        let own = match self.strategy.own_optimizer {
            Some(_) => FP32 * largest,
            None => 0,
        };
        // This rank's part is cast. The norm of the last gradient is computed in fp64.
        let cast = if is_last { FP64 } else { self.element + FP32 };
        reduced + beside + staged + cast * self.share(largest) + own
    }

    /// Bytes that several ranks add while they reduce gradients: a second bucket and, for a gradient that is larger than one, its
    /// copy. An embedding that is also the head has two gradients until both are added.
    fn reduced(&self, phase: Phase) -> u64 {
        let largest = self.largest();
        let is_beside = largest > self.strategy.bucket_size;
        let is_twice =
            self.shape.tied && phase == Phase::EndOfBackward && !self.offloads_optimizer();
        let copies = match (is_beside, is_twice) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => 2,
        };
        // Gradients in fp32 were seen to need no second bucket.
        let bucket = if self.is_mixed_precision() {
            self.strategy.bucket_size
        } else {
            0
        };
        let elements = match self.strategy.stage {
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
        if !matches!(phase, Phase::Backward | Phase::EndOfBackward) {
            return 0;
        }
        let gradient = self.element * self.largest();
        let is_reduced = phase == Phase::EndOfBackward || !self.shape.tied;
        if !is_reduced || !self.offloads_optimizer() {
            return gradient;
        }
        // On its way to the host this rank's part is copied, and its norm is computed in fp64, a piece at a time.
        let part = self.share(self.largest());
        gradient + self.element * part + FP64 * part.min(NORM_PIECE)
    }

    /// Without `contiguous_gradients`, stage 2 frees the gradients once they are cast for the update.
    fn frees_cast_gradients(&self) -> bool {
        self.strategy.stage == Some(2) && self.strategy.buckets == 0
    }

    /// First the 16-bit gradients are joined to be cast, then the update allocates its own.
    fn buffers_of_update(&self) -> u64 {
        let own = self.updated_at_once();
        let bucket = match self.strategy.stage {
            None if self.world_size > 1 => self.gradients(),
            Some(3) => self.element * self.strategy.bucket_size,
            _ => 0,
        };
        if !self.is_flat() {
            return bucket + self.scratch(own);
        }
        let joined = if self.is_mixed_precision() {
            self.element * own
        } else {
            0
        };
        let cast = if self.frees_cast_gradients() {
            self.share(self.gradients())
        } else {
            0
        };
        // Before the update, the norm of each gradient is computed in fp64.
        let norm = FP64 * self.share(self.largest());
        bucket
            + (joined + cast)
                .max(self.scratch(own))
                .max(norm.saturating_sub(FP32 * own))
    }

    /// Stage 3 gathers parameters from the other ranks, or from the host.
    fn gathers(&self) -> bool {
        self.strategy.stage == Some(3)
            && (self.world_size > 1 || self.strategy.params != MemoryKind::Gpu)
    }

    /// Bytes of the gathered parameters: as many as stage 3 may keep, and the current module.
    fn gathered_at(&self, phase: Phase) -> u64 {
        let embedding = self.shape.embedding;
        let Workload {
            params,
            weights,
            reference_head,
            ..
        } = *self.workload;
        if phase == Phase::Saving && self.strategy.saves_whole {
            return self.element * embedding;
        }
        if matches!(phase, Phase::Saving | Phase::OptimizerStep) || !self.gathers() {
            return 0;
        }
        let rollout = self.settings.rollout;
        // To reach a server, adapters are merged into gathered weights.
        let is_whole = rollout.is_some_and(|of| {
            if of.is_served {
                self.settings.tuner != Tuner::Full
            } else {
                of.gathers
            }
        });
        if phase == Phase::Generation && is_whole {
            return weights;
        }
        let kept = match phase {
            // In the backward pass a layer is released once it was used.
            Phase::EndOfBackward => embedding.saturating_add(self.largest_module()),
            Phase::Loss | Phase::Evaluation if self.runs_twice() => 0,
            Phase::Evaluation if self.settings.algorithm.repeats => {
                2 * (embedding + self.shape.layer)
            }
            // Where answers were generated, ranks do not release a head before the layers.
            Phase::Backward if rollout.is_some() && self.strategy.params == MemoryKind::Gpu => {
                self.live().saturating_add(embedding)
            }
            _ if self.shape.tied => self.live(),
            Phase::Loss | Phase::Evaluation | Phase::Generation => {
                self.live_at_head().min(params) + reference_head
            }
            // A head of its own is released before the layers.
            _ if self.live_params() < embedding => {
                self.live().min(params.saturating_sub(embedding))
            }
            _ => self.live_at_head().saturating_sub(embedding),
        };
        let kept = kept.min(params + reference_head);
        scaled(weights, kept, params)
    }

    /// Parameters that are live once a head of its own, the last module, was used. A vision tower has no part in it.
    fn live_at_head(&self) -> u64 {
        let embedding = self.shape.embedding;
        let behind_embedding = self.shape.layers * self.shape.layer + embedding;
        match self.live_params() {
            live if live < embedding => embedding,
            // A module is kept if few enough parameters come behind it, whatever its own size.
            live if behind_embedding <= live => behind_embedding + embedding,
            _ => self.live(),
        }
    }

    fn live(&self) -> u64 {
        self.live_params().saturating_add(self.largest_module())
    }

    fn live_params(&self) -> u64 {
        let algorithm = &self.settings.algorithm;
        // Generating before every micro batch has the same effect. With KTO that was seen only where parameters are offloaded.
        let is_each = self
            .settings
            .rollout
            .is_some_and(|of| of.micro_batches == 1 && of.gathers && !of.is_served);
        let generates = is_each && algorithm.groups && self.settings.tuner == Tuner::Full;
        let repeats =
            algorithm.repeats && self.shape.tied && self.strategy.params != MemoryKind::Gpu;
        if generates || repeats || self.runs_twice() {
            0
        } else {
            self.strategy.live_params
        }
    }

    /// A model with adapters is also its own reference, and runs twice in a step. DeepSpeed then cannot tell which parameters come
    /// next, and keeps none.
    fn runs_twice(&self) -> bool {
        let algorithm = &self.settings.algorithm;
        algorithm.has_reference && !algorithm.critic && self.settings.tuner != Tuner::Full
    }

    /// Parameters are gathered module by module; the experts of a layer are one.
    fn largest_module(&self) -> u64 {
        let linears = self.shape.linears.iter().map(Linear::weights);
        match linears.max() {
            Some(largest) if self.shape.routed == 0 => largest,
            _ => self.shape.layer,
        }
    }
}

/// `whole * part / all`, which may be too large for 64 bits on the way.
fn scaled(whole: u64, part: u64, all: u64) -> u64 {
    let scaled = u128::from(whole) * u128::from(part) / u128::from(all.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}
