//! Sizes of what DeepSpeed, torch and the processes allocate. Without a word they are bytes.

/// CUDA context, driver and libraries: 1.4 to 1.85 GB in the runs measured on an H200.
pub const CONTEXT: u64 = 1_800_000_000;
/// Bytes that torch allocates in every measured run beyond what is accounted for: about two cuBLAS workspaces.
pub const WORKSPACE: u64 = 67_000_000;
/// NCCL's buffers, if there are several ranks. An assumption: all measured runs had one rank.
pub const NCCL: u64 = 700_000_000;
/// Elements that the engine's allreduce at stage 0 flattens at once.
pub const ALLREDUCE: u64 = 500_000_000;
/// One element.
pub const FP32: u64 = 4;
/// One element.
pub const FP64: u64 = 8;
/// Elements of a gradient whose norm stage 3 computes at once (`_constant_buffered_norm2`).
pub const NORM_PIECE: u64 = 250_000_000;
/// Elements that a projector keeps for each that enters it, as measured: 1.1 to 3.4.
pub const KEPT_BY_PROJECTOR: u64 = 3;
/// As many more under autocast.
pub const CAST_BY_PROJECTOR: u64 = 2;

/// Host memory of a Python process that has imported torch, transformers and DeepSpeed, as measured.
pub const PROCESS: u64 = 1_530_000_000;
/// Additional host memory of such a process with offload, fitted to the measured runs.
pub const OFFLOADING: u64 = 500_000_000;
