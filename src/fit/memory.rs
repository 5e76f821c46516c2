//! The memory of a training, on each GPU and each machine. The sums follow what DeepSpeed 0.19.8 and transformers 5
//! allocate (stage_1_and_2.py, stage3.py, unfused_optimizer.py, `ForCausalLMLoss`) and are compared with measured peaks:
//! `tests/data/memory-h200.jsonl`.
//!
//! Memory use can peak in four phases of a step, and between two steps: while the model is evaluated or saved. Different things
//! are alive in each, so each is summed separately and the largest sum counts.

mod activations;
mod host;

use super::architecture::Linear;
use super::need::{Cluster, GpuUsage, MemoryNeed, Phase, WORKSPACE};
use super::settings::{TrainingSettings, Tuner};
use super::strategy::{MemoryKind, Strategy};
use super::tables::algorithms::Algorithm;
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

pub fn need(workload: &Workload, strategy: &Strategy, cluster: Cluster) -> MemoryNeed {
    let model = MemoryModel {
        workload,
        strategy,
        cluster,
        world_size: cluster.world_size().max(1),
    };
    let of_step = [
        Phase::Loss,
        Phase::Backward,
        Phase::EndOfBackward,
        Phase::OptimizerStep,
    ];
    let step = of_step
        .map(|phase| model.usage(phase).total())
        .into_iter()
        .max()
        .unwrap_or(0);
    let between = [Phase::Saving, Phase::Generation, Phase::Evaluation];
    // Of two that are equal, the last: a phase of a step, and its first.
    let all = between
        .into_iter()
        .chain(of_step.into_iter().rev())
        .map(|phase| (phase, model.usage(phase)));
    let (peak, usage) = all
        .max_by_key(|(_, usage)| usage.total())
        .unwrap_or((Phase::Whole, GpuUsage::default()));
    // Tensors of many sizes come and go: gathered parameters, the logits of pairs of answers or of other batches than a step's.
    let Algorithm {
        pairs, headless, ..
    } = workload.settings.algorithm;
    let fragments = model.gathers() || pairs && !headless || peak.is_between_steps();
    let start = model.start();
    MemoryNeed {
        usage,
        peak,
        step,
        fragments,
        start,
        host: model.host(),
        disk: model.disk(),
    }
}

struct MemoryModel<'a> {
    workload: &'a Workload,
    strategy: &'a Strategy,
    cluster: Cluster,
    world_size: u64,
}

impl MemoryModel<'_> {
    /// One rank's share of what is split over all of them.
    fn share(&self, whole: u64) -> u64 {
        whole.div_ceil(self.world_size)
    }

    fn tokens(&self, batch: u64) -> u64 {
        (1 + u64::from(self.workload.settings.algorithm.pairs)) * batch * self.workload.seq_len
    }

    /// Bytes of all gradients, in the dtype of the trained weights.
    fn gradients(&self) -> u64 {
        self.workload.element * self.workload.trainable
    }

    fn is_mixed_precision(&self) -> bool {
        self.workload.element < FP32
    }

    /// Elements of the largest tensor that gets a gradient. No adapter is larger than all of those in a layer.
    fn largest(&self) -> u64 {
        let Workload {
            shape,
            trainable,
            adapted_inputs,
            ..
        } = self.workload;
        if *adapted_inputs > 0 {
            trainable.div_ceil(shape.layers.max(1))
        } else {
            shape.embedding.min(*trainable)
        }
    }

    fn usage(&self, phase: Phase) -> GpuUsage {
        let (activations, logits) = self.activations_and_logits(phase);
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
        let is_joined = matches!(self.strategy.stage, Some(1 | 2));
        if is_joined {
            self.overhead() + self.parameters() + self.gradients()
        } else {
            0
        }
    }

    fn overhead(&self) -> u64 {
        CONTEXT + WORKSPACE + if self.world_size > 1 { NCCL } else { 0 }
    }

    fn parameters(&self) -> u64 {
        let whole = self.workload.weights + self.workload.reference;
        match (self.strategy.stage, self.strategy.params) {
            (Some(3), MemoryKind::Gpu) => {
                // ZeRO++ keeps the weights once more, split over the ranks of a group.
                let ranks = self.strategy.second_partition;
                let second = self
                    .workload
                    .weights
                    .div_ceil(ranks.clamp(1, self.world_size));
                self.share(whole) + if ranks > 1 { second } else { 0 }
            }
            (Some(3), _) => 0,
            _ => whole,
        }
    }

    fn offloads_optimizer(&self) -> bool {
        self.strategy.optimizer != MemoryKind::Gpu
    }

    fn optimizer_kind(&self) -> OptimizerMemory {
        self.strategy
            .own_optimizer
            .unwrap_or(self.workload.settings.optimizer)
            .memory
    }

    fn per_parameter(&self) -> PerParameter {
        if self.is_flat() {
            self.optimizer_kind().flat
        } else {
            self.optimizer_kind().shaped
        }
    }

    /// ZeRO 1 to 3 update flat fp32 tensors, of which each rank has its share.
    fn is_flat(&self) -> bool {
        self.strategy.stage.is_some_and(|stage| stage >= 1)
    }

    /// The fp32 copy of the weights and the optimizer's states.
    fn optimizer(&self) -> u64 {
        let trainable = self.workload.trainable;
        if self.offloads_optimizer() {
            return 0;
        }
        // ZeRO makes a flat fp32 copy even of fp32 weights.
        let has_copy = self.is_flat() || self.strategy.stage.is_some() && self.is_mixed_precision();
        let copy = if has_copy { FP32 * trainable } else { 0 };
        if self.is_flat() {
            self.share(copy + self.states())
        } else {
            copy + self.states()
        }
    }

    /// Bytes for all trained parameters.
    fn states(&self) -> u64 {
        let Workload {
            trainable,
            params,
            shape,
            ..
        } = self.workload;
        let OptimizerMemory {
            outside, embedding, ..
        } = self.optimizer_kind();
        let each = self.per_parameter().states;
        let sees_modules =
            self.strategy.stage.is_none() || !self.is_flat() && !self.is_mixed_precision();
        // Some elements have other states than the rest.
        let (other, elements) = match (embedding, outside) {
            (Some(states), _) if sees_modules => (states, shape.embedding),
            (_, Some(states)) => (states, params.saturating_sub(shape.layers * shape.layer)),
            _ => (each, 0),
        };
        self.in_dtype_of_states(
            (each * trainable + (other - each) * elements.min(*trainable)) / 100,
        )
    }

    /// Bytes that the update allocates on top, for this many parameters of the flat tensors.
    fn scratch(&self, own: u64) -> u64 {
        let OptimizerMemory {
            all_at_once, casts, ..
        } = self.optimizer_kind();
        let step = self.per_parameter().step;
        if self.is_flat() {
            return step * own / 100;
        }
        let elements = if all_at_once {
            self.workload.trainable
        } else {
            self.largest()
        };
        let cast = if casts && self.strategy.stage.is_none() && self.is_mixed_precision() {
            2 * FP32
        } else {
            0
        };
        self.in_dtype_of_states(step * elements / 100) + cast * elements
    }

    fn in_dtype_of_states(&self, bytes: u64) -> u64 {
        let follows = self.strategy.stage.is_none() && self.optimizer_kind().follows_dtype;
        if follows {
            bytes * self.workload.element / FP32
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
        let head = if self.workload.shape.tied { 0 } else { largest };
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
        let share_on_gpu = if self.offloads_optimizer() { 0 } else { share };
        let TrainingSettings {
            rollout,
            grad_accum,
            ..
        } = &self.workload.settings;
        let is_within_step = rollout.is_some_and(|rollout| rollout.micro_batches < *grad_accum);
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
            (Some(2), Phase::Backward | Phase::EndOfBackward) if self.workload.accumulates => {
                2 * share_on_gpu
            }
            (Some(2), Phase::EndOfBackward) => share_on_gpu,
            (_, Phase::OptimizerStep | Phase::EndOfBackward) => whole,
            // Earlier in the step, only the gradients of previous micro batches are there.
            _ if !self.workload.accumulates => 0,
            (Some(2), _) if self.offloads_optimizer() => 0,
            // A gradient that is larger than the bucket is kept whole by every rank that has a part of it.
            (Some(2), _) if self.largest() > self.strategy.bucket_size => {
                share.max(self.workload.element * self.largest())
            }
            (Some(2), _) => share,
            _ => whole,
        }
    }

    fn buffers_at(&self, phase: Phase) -> u64 {
        let element = self.workload.element;
        if phase == Phase::OptimizerStep && !self.offloads_optimizer() {
            return self.buffers_of_update();
        }
        match self.strategy.stage {
            None => {
                // The gradients of a head and an embedding that are one tensor, while they are added. By then the activations are gone.
                let twice = self.workload.shape.tied && phase == Phase::EndOfBackward;
                let copies = if twice {
                    2 + u64::from(self.workload.accumulates)
                } else {
                    0
                };
                let added = (copies * element * self.largest())
                    .saturating_sub(self.activations_and_logits(phase).0);
                added
                    + if self.world_size > 1 {
                        self.gradients()
                    } else {
                        0
                    }
            }
            // By then the activations are gone.
            Some(0) if phase == Phase::EndOfBackward => {
                let (activations, _) = self.activations_and_logits(phase);
                (element * self.workload.trainable.min(ALLREDUCE)).saturating_sub(activations)
            }
            Some(0) => 0,
            Some(3) => {
                element * self.strategy.bucket_size
                    + self.gathered_at(phase)
                    + self.stage3_gradients(phase)
            }
            Some(stage) => {
                // Stage 1 keeps its bucket from one micro batch to the next.
                let is_kept = stage == 1 && self.workload.accumulates && phase == Phase::Loss;
                let has_bucket = is_kept || matches!(phase, Phase::Backward | Phase::EndOfBackward);
                let bucket = if has_bucket {
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
                element * (bucket + embedding) + self.copies_of_largest(phase)
            }
        }
    }

    /// The head's gradient comes first, and that of the embedding last.
    fn has_largest_gradient(&self, phase: Phase) -> bool {
        phase == Phase::EndOfBackward
            || phase == Phase::Backward && !self.workload.settings.algorithm.headless
    }

    /// Bytes of the gradient of a head of its own and of its copies. They are gone before the backward pass of the last layer
    /// starts, unless several ranks reduce them on the way to the host.
    fn gradient_of_head(&self) -> u64 {
        let phase = Phase::Backward;
        match self.strategy.stage {
            _ if self.workload.shape.tied || self.offloads_optimizer() && self.world_size > 1 => 0,
            Some(1 | 2) => self.workload.element * self.largest() + self.copies_of_largest(phase),
            Some(3) => self.stage3_gradients(phase),
            _ => 0,
        }
    }

    /// Copies of the largest gradient at stages 1 and 2: while several ranks reduce it, and on its way to the host.
    fn copies_of_largest(&self, phase: Phase) -> u64 {
        let Workload {
            element,
            accumulates,
            ..
        } = self.workload;
        let largest = self.largest();
        let staged = if (*accumulates || phase.is_between_steps()) && self.offloads_optimizer() {
            element * largest
        } else {
            0
        };
        if !self.has_largest_gradient(phase) {
            return staged;
        }
        let reduced = if self.world_size > 1 {
            self.reduced(phase)
        } else {
            0
        };
        if !self.offloads_optimizer() {
            return reduced;
        }
        // The last gradient is that of an embedding which is also the head.
        let is_last = self.workload.shape.tied && phase == Phase::EndOfBackward;
        // A gradient larger than the bucket goes beside it.
        let is_beside = self.world_size == 1 && largest > self.strategy.bucket_size && !is_last;
        let beside = if is_beside {
            element * self.strategy.bucket_size
        } else {
            0
        };
        // Seen only where the config names the optimizer.
        let own = if self.strategy.own_optimizer.is_some() {
            FP32 * largest
        } else {
            0
        };
        // This rank's part is cast. The norm of the last gradient is computed in fp64.
        let cast = if is_last { FP64 } else { element + FP32 };
        reduced + beside + staged + cast * self.share(largest) + own
    }

    /// Bytes that several ranks add while they reduce gradients: a second bucket and, for a gradient that is larger than one, its
    /// copy. An embedding that is also the head has two gradients until both are added.
    fn reduced(&self, phase: Phase) -> u64 {
        let (element, largest) = (self.workload.element, self.largest());
        let is_beside = largest > self.strategy.bucket_size;
        let twice =
            self.workload.shape.tied && phase == Phase::EndOfBackward && !self.offloads_optimizer();
        if self.strategy.stage == Some(1) {
            return if is_beside && twice {
                element * largest
            } else {
                0
            };
        }
        if !is_beside && self.cluster.nodes == 1 {
            return 0;
        }
        let copies = if is_beside { 1 + u64::from(twice) } else { 0 };
        // Gradients in fp32 were seen to need no second bucket.
        let bucket = if self.is_mixed_precision() {
            self.strategy.bucket_size
        } else {
            0
        };
        element * (bucket + copies * largest)
    }

    /// The largest gradient at stage 3. A head of its own gets its gradient first, while most parameters are gathered; one
    /// that is shared with the embedding gets it last.
    fn stage3_gradients(&self, phase: Phase) -> u64 {
        if !matches!(phase, Phase::Backward | Phase::EndOfBackward) {
            return 0;
        }
        let gradient = self.workload.element * self.largest();
        let is_reduced = phase == Phase::EndOfBackward || !self.workload.shape.tied;
        if !is_reduced || !self.offloads_optimizer() {
            return gradient;
        }
        // On its way to the host this rank's part is copied, and its norm is computed in fp64, a piece at a time.
        let part = self.share(self.largest());
        gradient + self.workload.element * part + FP64 * part.min(NORM_PIECE)
    }

    /// Without `contiguous_gradients`, stage 2 frees the gradients once they are cast for the update.
    fn frees_cast_gradients(&self) -> bool {
        self.strategy.stage == Some(2) && self.strategy.buckets == 0
    }

    /// First the 16-bit gradients are joined to be cast, then the update allocates its own.
    fn buffers_of_update(&self) -> u64 {
        let own = self.updated_at_once();
        let joined = if self.is_flat() && self.is_mixed_precision() {
            self.workload.element * own
        } else {
            0
        };
        let bucket = match self.strategy.stage {
            None if self.world_size > 1 => self.gradients(),
            Some(3) => self.workload.element * self.strategy.bucket_size,
            _ => 0,
        };
        // Before the update, the norm of each gradient is computed in fp64.
        let norm = if self.is_flat() {
            FP64 * self.share(self.largest())
        } else {
            0
        };
        let cast = if self.frees_cast_gradients() {
            self.share(self.gradients())
        } else {
            0
        };
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
        if phase == Phase::Saving {
            return if self.strategy.saves_whole {
                self.workload.element * self.workload.shape.embedding
            } else {
                0
            };
        }
        if phase == Phase::OptimizerStep || !self.gathers() {
            return 0;
        }
        let Workload {
            params,
            weights,
            shape,
            settings,
            reference_head,
            ..
        } = self.workload;
        // To reach a server, adapters are merged into gathered weights.
        let is_online = settings.rollout.is_some() && self.strategy.params == MemoryKind::Gpu;
        let is_whole = settings.rollout.is_some_and(|of| {
            if of.is_served {
                settings.tuner != Tuner::Full
            } else {
                of.gathers
            }
        });
        if phase == Phase::Generation && is_whole {
            return *weights;
        }
        let kept = match phase {
            // In the backward pass a layer is released once it was used.
            Phase::EndOfBackward => shape.embedding.saturating_add(self.largest_module()),
            Phase::Loss | Phase::Evaluation if self.runs_twice() => 0,
            Phase::Evaluation if settings.algorithm.repeats => 2 * (shape.embedding + shape.layer),
            // Where answers were generated, ranks do not release a head before the layers.
            Phase::Backward if is_online => self.live().saturating_add(shape.embedding),
            _ if shape.tied => self.live(),
            Phase::Loss | Phase::Evaluation | Phase::Generation => {
                self.live_at_head().min(*params) + reference_head
            }
            // A head of its own is released before the layers.
            _ if self.live_params() < shape.embedding => {
                self.live().min(params.saturating_sub(shape.embedding))
            }
            _ => self.live_at_head().saturating_sub(shape.embedding),
        };
        let bytes = u128::from(*weights) * u128::from(kept.min(params + reference_head))
            / u128::from((*params).max(1));
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Parameters that are live once a head of its own, the last module, was used. A vision tower has no part in it.
    fn live_at_head(&self) -> u64 {
        let shape = &self.workload.shape;
        let behind_embedding = shape.layers * shape.layer + shape.embedding;
        match self.live_params() {
            live if live < shape.embedding => shape.embedding,
            // A module is kept if few enough parameters come behind it, whatever its own size.
            live if behind_embedding <= live => behind_embedding + shape.embedding,
            _ => self.live(),
        }
    }

    fn live(&self) -> u64 {
        self.live_params().saturating_add(self.largest_module())
    }

    fn live_params(&self) -> u64 {
        let Workload {
            shape,
            settings:
                TrainingSettings {
                    algorithm,
                    rollout,
                    tuner,
                    ..
                },
            ..
        } = self.workload;
        // Generating before every micro batch has the same effect. With KTO that was seen only where parameters are offloaded.
        let is_each =
            rollout.is_some_and(|of| of.micro_batches == 1 && of.gathers && !of.is_served);
        let generates = is_each && algorithm.groups && *tuner == Tuner::Full;
        let repeats = algorithm.repeats && shape.tied && self.strategy.params != MemoryKind::Gpu;
        if generates || repeats || self.runs_twice() {
            0
        } else {
            self.strategy.live_params
        }
    }

    /// A model with adapters is also its own reference, and runs twice in a step. DeepSpeed then cannot tell which parameters come
    /// next, and keeps none.
    fn runs_twice(&self) -> bool {
        let TrainingSettings {
            algorithm, tuner, ..
        } = self.workload.settings;
        algorithm.has_reference && !algorithm.critic && tuner != Tuner::Full
    }

    /// Parameters are gathered module by module; the experts of a layer are one.
    fn largest_module(&self) -> u64 {
        let shape = &self.workload.shape;
        let linear = shape.linears.iter().map(Linear::weights).max();
        if shape.routed == 0 {
            linear.unwrap_or(shape.layer)
        } else {
            shape.layer
        }
    }
}
