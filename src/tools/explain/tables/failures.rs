//! Errors in logs: how the line is recognized, what it means, and where such a line was really seen. The first row that
//! recognizes a line counts, so that a row stands below those that are more special.

use crate::report::Rule;

pub struct Failure {
    /// A rule of `check`, which has the explanation and the fixes; else they are here.
    pub rule: Option<Rule>,
    /// The first one is shown.
    pub names: &'static [&'static str],
    pub about: &'static str,
    pub advice: &'static str,
    /// The line has all pieces of one of these, in this order.
    pub lines: &'static [&'static [&'static str]],
    /// One of these is in the traceback of the same rank, if any is listed.
    pub traceback: &'static [&'static str],
    /// It counts without any traceback too, as the likeliest cause of several.
    pub alone: bool,
    /// The line has none of these.
    pub unlike: &'static [&'static str],
    /// Without ZeRO-3, the line has another reason.
    pub only_with_zero3: bool,
    /// Two packages do not fit each other, so their versions are told.
    pub is_of_versions: bool,
    pub role: Role,
    /// Shown with it: so many lines above, where the key is.
    pub lines_above: usize,
    /// Shown with it: so many lines below, besides a list that begins there.
    pub lines_below: usize,
    /// What is said of a few ranks that did not come so far, if they are worth a look.
    pub of_missing_ranks: Option<&'static str>,
    /// What to change in a launch that has these values.
    pub here: &'static [Advice],
    /// The package and the version in which it is mended.
    pub fixed: Option<(&'static str, &'static str)>,
    /// A line that was seen. The row for every other error has none.
    #[cfg_attr(
        not(feature = "testing"),
        expect(dead_code, reason = "the tests read it")
    )]
    pub example: &'static str,
    /// The program that printed the example here, with its version, or the public issue that quotes it.
    pub seen_in: &'static str,
}

/// In the order in which they are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Cause,
    /// Any other exception.
    Unknown,
    /// It follows from something else: what happened on another rank, what NCCL printed before, whoever killed a rank.
    Consequence,
    /// What the launcher says of it, which is no news beside anything else.
    Report,
}

pub struct Advice {
    /// A dotted key of the plan as JSON.
    pub key: &'static str,
    pub when: When,
    /// `{}` stands for the value.
    pub text: &'static str,
}

#[derive(Debug)]
pub enum When {
    Given,
    Is(&'static str),
    IsNot(&'static str),
}

use Role::{Consequence, Report, Unknown};
use When::{Given, Is, IsNot};

const STAGE: &str = "config.zero_optimization.stage";
const MICRO_BATCH: &str = "config.train_micro_batch_size_per_gpu";
const OPTIMIZER_DEVICE: &str = "config.zero_optimization.offload_optimizer.device";
const RANKS: &str = "topology.nproc_per_node";

const NOT_ZERO3: Advice = Advice {
    key: STAGE,
    when: Is("3"),
    text: "this launch has ZeRO-3: --deepspeed zero2",
};

/// What most rows have in common.
const FAILURE: Failure = Failure {
    rule: None,
    names: &[],
    about: "",
    advice: "",
    lines: &[],
    traceback: &[],
    alone: false,
    unlike: &[],
    only_with_zero3: false,
    is_of_versions: false,
    role: Role::Cause,
    lines_above: 0,
    lines_below: 0,
    of_missing_ranks: None,
    here: &[],
    fixed: None,
    example: "",
    seen_in: "",
};

pub const FAILURES: &[Failure] = &[
    Failure {
        names: &["out of GPU memory in evaluation"],
        about: "The evaluation has a batch size of its own, 8 by default with Hugging Face. With metrics it also keeps the logits of all its batches on the GPU until it ends.",
        advice: "--per_device_eval_batch_size 1 --eval_accumulation_steps 1, or --prediction_loss_only true where only the loss is wanted",
        lines: &[&["CUDA out of memory"]],
        traceback: &["evaluation_loop", "prediction_step", "prediction_loop"],
        here: &[Advice {
            key: STAGE,
            when: Is("3"),
            text: "ZeRO-3 gathers the weights for evaluation too: the batch is what to make smaller",
        }],
        example: "[rank6]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 270.00 MiB. GPU 6 has a total capacity of 23.65 GiB of which 208.06 MiB is free.",
        seen_in: "hiyouga/LlamaFactory#7781",
        ..FAILURE
    },
    Failure {
        names: &["out of GPU memory while saving"],
        about: "Saving gathers weights that are sharded during training, on top of what the step has left on the GPU.",
        advice: "--set zero_optimization.stage3_gather_16bit_weights_on_model_save=false, and run zero_to_fp32.py on the checkpoint afterwards; or a smaller micro batch",
        lines: &[&["CUDA out of memory"]],
        traceback: &[
            "save_checkpoint",
            "save_model",
            "save_16bit_model",
            "save_pretrained",
            "Error saving model",
        ],
        here: &[Advice {
            key: "config.zero_optimization.stage3_gather_16bit_weights_on_model_save",
            when: Is("true"),
            text: "this config gathers the weights: --set zero_optimization.stage3_gather_16bit_weights_on_model_save=false",
        }],
        example: "2023-04-18 20:39:29.054 | INFO     | __main__:savemodel:34 - Error saving model: CUDA out of memory. Tried to allocate 16.00 MiB (GPU 0; 10.00 GiB total capacity; 9.03 GiB already allocated; 0 bytes free; 9.27 GiB reserved in total by PyTorch)",
        seen_in: "huggingface/peft#335",
        ..FAILURE
    },
    Failure {
        names: &["out of GPU memory in the hand-over to vLLM"],
        about: "The weights go from training to vLLM on the same GPU: both have their share of it at this moment, and ZeRO-3 gathers what it hands over.",
        advice: "a smaller --vllm_gpu_memory_utilization (0.3), fewer weights at a time (ms-swift: --move_model_batches 16), the sleep mode of vLLM (ms-swift: --sleep_level 1, TRL: --vllm_enable_sleep_mode true), or a vLLM server on other GPUs (--vllm_mode server)",
        lines: &[&["CUDA out of memory"]],
        traceback: &[
            "_move_full_model_to_vllm",
            "_move_model_to_vllm",
            "sync_weights",
            "update_named_param",
            "wake_up",
        ],
        example: "torch.OutOfMemoryError: CUDA out of memory.",
        seen_in: "modelscope/ms-swift#7986",
        ..FAILURE
    },
    Failure {
        names: &["out of GPU memory where vLLM wakes up"],
        about: "vLLM slept, with its weights and cache off the GPU, and wants that memory back while the training still holds its own.",
        advice: "a smaller share for vLLM (--vllm_gpu_memory_utilization 0.3), and weights and optimizer off the GPU meanwhile (ms-swift: --offload_model true --offload_optimizer true; a template with offload); or a vLLM server on other GPUs",
        lines: &[&["CUDA Error: out of memory at "]],
        example: "(LLMRayActor pid=347862) CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62",
        seen_in: "TideDra/lmm-r1#43",
        ..FAILURE
    },
    Failure {
        names: &["out of GPU memory in vLLM"],
        about: "vLLM takes its share of the GPU (gpu_memory_utilization) when it starts, and something else is on that GPU already: the model in training, another rank, or another vLLM.",
        advice: "a smaller --vllm_gpu_memory_utilization (0.3) and --vllm_max_model_len; one process for each GPU; the sleep mode of vLLM (ms-swift: --sleep_level 1, TRL: --vllm_enable_sleep_mode true); or a vLLM server on other GPUs (--vllm_mode server)",
        lines: &[&["CUDA out of memory"]],
        traceback: &[
            "vllm/worker/",
            "vllm/v1/",
            "vllm/model_executor/",
            "vllm/engine/",
        ],
        example: "torch.OutOfMemoryError: CUDA out of memory.",
        seen_in: "huggingface/trl#2688",
        ..FAILURE
    },
    Failure {
        names: &["out of GPU memory when DeepSpeed moves the whole model"],
        about: "The weights are whole, and DeepSpeed puts all of them on every GPU. Stages 0 to 2 always do; ZeRO-3 does if the script loads the model before it has told the config.",
        advice: "--deepspeed zero3, or fewer bits; in a script with ZeRO-3, before from_pretrained(): TrainingArguments(deepspeed=...), or HfDeepSpeedConfig(config) in a variable that stays",
        lines: &[&["CUDA out of memory"]],
        traceback: &["_configure_distributed_model"],
        here: &[Advice {
            key: STAGE,
            when: Is("2"),
            text: "this launch keeps all weights on every GPU: --deepspeed zero3",
        }],
        example: "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 500.00 MiB. (in _configure_distributed_model)",
        seen_in: "deepspeedai/DeepSpeed#7021",
        ..FAILURE
    },
    Failure {
        names: &["out of GPU memory when DeepSpeed initializes"],
        about: "DeepSpeed makes the fp32 weights and the optimizer states before the first step: 12 bytes a parameter, divided by the ranks. The batch has no part in it.",
        advice: "more GPUs, --deepspeed zero3, or an offloaded optimizer: --deepspeed zero2_offload, zero3_offload; a smaller batch does not help",
        lines: &[&["CUDA out of memory"]],
        traceback: &[
            "initialize_optimizer_states",
            "_create_fp32_partitions",
            "_create_fp16_partitions_",
            "_setup_for_real_optimizer",
            "flatten_dense_tensors",
            "_configure_zero_optimizer",
            "_configure_bf16_optimizer",
        ],
        here: &[
            Advice {
                key: STAGE,
                when: Is("3"),
                text: "this launch shards everything already: --deepspeed zero3_offload, or more GPUs",
            },
            Advice {
                key: STAGE,
                when: Is("2"),
                text: "this launch keeps all weights on every GPU: --deepspeed zero3, or zero2_offload",
            },
        ],
        example: "RuntimeError: CUDA out of memory. Tried to allocate 8.52 GiB (GPU 0; 31.72 GiB total capacity; 25.59 GiB already allocated; 5.39 GiB free; 14.59 MiB cached)",
        seen_in: "deepspeedai/DeepSpeed#237",
        ..FAILURE
    },
    Failure {
        names: &["out of GPU memory while the model loads"],
        about: "The weights themselves do not fit. Without ZeRO-3 each rank loads all of them, and a quantized model (QLoRA, 4 bits) is loaded whole on every GPU with any stage.",
        advice: "without quantization: --deepspeed zero3, which loads the weights in pieces; with it: fewer bits, a larger GPU, or FSDP with bnb_4bit_quant_storage; no device_map that puts all ranks on GPU 0",
        lines: &[&["CUDA out of memory"]],
        traceback: &[
            "from_pretrained",
            "_load_pretrained_model",
            "_load_state_dict_into_",
            "create_quantized_param",
        ],
        example: "torch.OutOfMemoryError: CUDA out of memory. (in AutoModelForCausalLM.from_pretrained)",
        seen_in: "huggingface/peft#2016",
        ..FAILURE
    },
    Failure {
        names: &["out of GPU memory while weights are gathered"],
        about: "ZeRO-3 gathers the weights of the next layers on top of what is there.",
        advice: "a smaller micro batch; --set zero_optimization.stage3_max_live_parameters=1e8 and --set zero_optimization.stage3_prefetch_bucket_size=1e7, which gather less ahead; --deepspeed zero3_offload",
        lines: &[&["CUDA out of memory"]],
        traceback: &[
            "all_gather_coalesced",
            "fetch_sub_module",
            "_allgather_params",
        ],
        example: "[rank4]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 462.00 MiB. GPU 4 has a total capacity of 79.11 GiB of which 462.56 MiB is free. Process 179754 has 78.61 GiB memory in use.",
        seen_in: "modelscope/ms-swift#4023",
        ..FAILURE
    },
    Failure {
        names: &["out of GPU memory in pictures"],
        about: "The tower that reads pictures or videos ran out of memory: its activations grow with the pixels of all pictures of a micro batch, and without flash attention with their square.",
        advice: "smaller pictures (MAX_PIXELS=1003520 for Qwen-VL, --max_pixels, image_max_pixels), fewer frames (FPS_MAX_FRAMES, video_max_pixels), --per_device_train_batch_size 1, --attn_impl flash_attn (ms-swift); --freeze_vit true keeps no activations of it",
        lines: &[&["CUDA out of memory"]],
        traceback: &[
            "_prepare_attention_mask",
            "get_image_features",
            "get_video_features",
            "clip_encoder.py",
            "modeling_siglip",
            "modeling_internvl",
        ],
        example: "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.15 GiB. GPU 0 has a total capacity of 47.54 GiB of which 188.75 MiB is free. (in _prepare_attention_mask)",
        seen_in: "modelscope/ms-swift#5199",
        ..FAILURE
    },
    Failure {
        names: &["out of GPU memory in a step"],
        about: "Weights, gradients, optimizer states and the activations of the micro batch do not fit on the GPU together.",
        advice: "`zlaunch fit -- COMMAND` says what fits. Halve --per_device_train_batch_size and double --gradient_accumulation_steps, add --gradient_checkpointing true, or shard more (zero2, zero3, zero3_offload)",
        lines: &[&["CUDA out of memory"]],
        traceback: &["training_step", "compute_loss", "backward", "loss_function"],
        here: &[
            Advice {
                key: STAGE,
                when: Is("0"),
                text: "--deepspeed zero2, which shards optimizer states and gradients over the ranks",
            },
            Advice {
                key: STAGE,
                when: Is("1"),
                text: "--deepspeed zero2, which also shards the gradients",
            },
            Advice {
                key: STAGE,
                when: Is("2"),
                text: "--deepspeed zero3, which also shards the weights",
            },
            Advice {
                key: STAGE,
                when: Is("3"),
                text: "the weights are sharded already: --deepspeed zero3_offload, or shorter sequences",
            },
            Advice {
                key: MICRO_BATCH,
                when: IsNot("1"),
                text: "the micro batch is {}: halve it, and double the accumulation",
            },
        ],
        example: "[rank15]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.63 GiB. GPU 7 has a total capacity of 79.11 GiB of which 2.61 GiB is free.",
        seen_in: "modelscope/ms-swift#5943",
        ..FAILURE
    },
    Failure {
        names: &["out of GPU memory", "OOM", "OutOfMemoryError"],
        about: "The GPU had less free memory than was asked for. The numbers in the line tell whether this process or another one holds it.",
        advice: "`nvidia-smi` shows other processes, `zlaunch fit -- COMMAND` says what fits; a smaller micro batch, --gradient_checkpointing true, or a higher stage (with stage 3 already: zero3_offload). A quantized model (QLoRA) is whole on every GPU while it loads, with any stage",
        lines: &[
            &["XPU out of memory"],
            &["NPU out of memory"],
            &["HIP out of memory"],
            &["CUDA out of memory"],
            &["CUDA error: out of memory"],
            &["CUDA driver error: out of memory"],
        ],
        here: &[
            Advice {
                key: STAGE,
                when: Is("2"),
                text: "--deepspeed zero3, which also shards the weights",
            },
            Advice {
                key: MICRO_BATCH,
                when: IsNot("1"),
                text: "the micro batch is {}: halve it, and double the accumulation",
            },
        ],
        example: "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 978.00 MiB (GPU 0; 4.00 GiB total capacity; 1.68 GiB already allocated; 0 bytes free; 2.72 GiB reserved in total by PyTorch)",
        seen_in: "deepspeedai/DeepSpeed#3869",
        ..FAILURE
    },
    Failure {
        names: &["out of GPU memory in NCCL"],
        about: "NCCL allocates its buffers outside of torch's cache, when a communication happens for the first time. By then torch had taken everything; often the first checkpoint or evaluation shows it.",
        advice: "leave a gigabyte free: a smaller micro batch, or PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
        lines: &[&["NCCL WARN Cuda failure", "out of memory"]],
        example: "batch-block7-00788:791989:835177 [6] include/alloc.h:103 NCCL WARN Cuda failure 2 'out of memory'",
        seen_in: "SpatialVLA/SpatialVLA#12",
        ..FAILURE
    },
    Failure {
        names: &["out of GPU memory in cuBLAS"],
        about: "cuBLAS found no memory for its workspace, because the GPU is full. A wrong index into an embedding can say the same.",
        advice: "a smaller micro batch; if that does not help, run once with CUDA_LAUNCH_BLOCKING=1, which names the operation",
        lines: &[
            &["CUBLAS_STATUS_ALLOC_FAILED"],
            &["CUDA error: CUBLAS_STATUS_NOT_INITIALIZED"],
        ],
        example: "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        seen_in: "QwenLM/Qwen3#873",
        ..FAILURE
    },
    Failure {
        names: &["killed by Slurm: out of host memory"],
        about: "The job used more host memory than it was given, and the kernel killed one of its processes. A rank that offloads, or that loads a whole checkpoint, needs a lot of it.",
        advice: "#SBATCH --mem=0 (all of the machine), or a larger --mem; fewer --dataloader_num_workers; a --deepspeed template without offload",
        lines: &[
            &["srun: error: ", ": Out Of Memory"],
            &["slurmstepd: error: Detected", "oom_kill event"],
            &["slurmstepd: error: Detected", "oom-kill event"],
        ],
        here: &[Advice {
            key: OPTIMIZER_DEVICE,
            when: Is("cpu"),
            text: "this launch offloads the optimizer to host memory: `zlaunch fit` says how much that needs",
        }],
        example: "slurmstepd: error: Detected 1 oom_kill event in StepId=440575.0. Some of the step tasks have been OOM Killed.",
        seen_in: "chrisknewman/tusas#149",
        ..FAILURE
    },
    Failure {
        names: &["killed by the kernel: out of host memory"],
        about: "The machine, or the container, ran out of host memory, and the kernel killed the largest process. `anon-rss` is what it held.",
        advice: "more memory for the job or container, fewer --dataloader_num_workers, or a --deepspeed template that offloads less",
        lines: &[
            &["Out of memory: Killed process"],
            &["Memory cgroup out of memory: Killed process"],
        ],
        here: &[Advice {
            key: OPTIMIZER_DEVICE,
            when: Is("cpu"),
            text: "this launch offloads the optimizer to host memory: `zlaunch fit` says how much that needs",
        }],
        example: "[2059991.491542] Out of memory: Killed process 25315 (python3) total-vm:53312244kB, anon-rss:31451456kB, file-rss:74816kB, shmem-rss:12296kB, UID:0 pgtables:69068kB oom_score_adj:0",
        seen_in: "pcyin/tranX#41",
        ..FAILURE
    },
    Failure {
        names: &["no host memory for a tensor"],
        about: "Host memory, or the limit of `ulimit -v`, is used up. Each rank on a machine loads its own copy of the model unless ZeRO-3 splits it while loading.",
        advice: "fewer ranks on the machine, more memory for the job, or --deepspeed zero3, which loads the weights in pieces",
        lines: &[
            &["[Errno 12] Cannot allocate memory"],
            &["std::bad_alloc"],
            &["DefaultCPUAllocator: can't allocate memory"],
            &["DefaultCPUAllocator: not enough memory"],
        ],
        here: &[Advice {
            key: OPTIMIZER_DEVICE,
            when: Is("cpu"),
            text: "this launch offloads the optimizer to host memory: `zlaunch fit` says how much that needs",
        }],
        example: "RuntimeError: [enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 34359738368 bytes. Error code 12 (Cannot allocate memory)",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["a data worker killed"],
        about: "The kernel killed a process that loads data, because host memory ran out. Every worker holds its own samples.",
        advice: "--dataloader_num_workers 2, or more memory for the job",
        lines: &[&["DataLoader worker", "is killed by signal: Killed"]],
        example: "RuntimeError: DataLoader worker (pid 12890) is killed by signal: Killed.",
        seen_in: "open-mmlab/mmdetection#3495",
        ..FAILURE
    },
    Failure {
        names: &["shared memory too small for data workers"],
        about: "Workers hand batches over through /dev/shm, and a container has 64 MB of it unless it is told otherwise.",
        advice: "docker run --shm-size=64g (or --ipc=host), an emptyDir of medium Memory at /dev/shm in Kubernetes, or --dataloader_num_workers 0",
        lines: &[
            &["insufficient shared memory (shm)"],
            &["out of shared memory. Please try to raise your shared memory limit"],
            &["unable to allocate shared memory(shm)"],
        ],
        example: "RuntimeError: unable to allocate shared memory(shm) for file </torch_18149_4273654857_0>: No space left on device (28)",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["shared memory too small for NCCL"],
        about: "The ranks of a machine talk through /dev/shm, and a container has 64 MB of it unless it is told otherwise. Files of killed jobs may fill it too.",
        advice: "docker run --shm-size=64g (or --ipc=host), an emptyDir of medium Memory at /dev/shm in Kubernetes; `df -h /dev/shm` shows what is free, and `rm /dev/shm/nccl-*` frees it if no job runs; --env NCCL_SHM_DISABLE=1 does without it, more slowly",
        lines: &[
            &["NCCL WARN", "/dev/shm/nccl-", "No space left on device"],
            &["Error while creating shared memory segment", "nccl"],
            &["Bus error", "/dev/shm/nccl-"],
            &["NCCL WARN Error: failed to extend /dev/shm/nccl-"],
            &["NCCL WARN Call to posix_fallocate failed : No space left on device"],
        ],
        example: "[2026-04-22 21:34:20] mt-l-x86iavx512-45-172-t4-4-csmpw-runner-g4sfw-workflow:202016:202235 [0] misc/shmutils.cc:88 NCCL WARN Error: failed to extend /dev/shm/nccl-WU88OE to 9637892 bytes, error: No space left on device (28)",
        seen_in: "pytorch/ci-infra#490",
        ..FAILURE
    },
    Failure {
        names: &["no space on the disk for a checkpoint"],
        about: "The file system of --output_dir, or the quota on it, is full. A checkpoint of full-parameter training takes about 14 bytes per parameter, and several are kept.",
        advice: "--save_total_limit 1, --save_only_model true (it cannot be resumed), or an --output_dir with room",
        lines: &[
            &["Error while serializing", "No space left on device"],
            &["PytorchStreamWriter failed writing file"],
            &["inline_container.cc", "unexpected pos"],
        ],
        example: "safetensors._safetensors_rust.SafetensorError: Error while serializing: I/O error: No space left on device (os error 28)",
        seen_in: "safetensors 0.8.0",
        ..FAILURE
    },
    Failure {
        names: &["no space left on a device"],
        about: "A file system is full. It need not be the one of --output_dir: caches are in HF_HOME and TORCH_EXTENSIONS_DIR, temporary files in TMPDIR.",
        advice: "`df -h` on those folders; put HF_HOME or TMPDIR on another file system",
        lines: &[&["[Errno 28] No space left on device"]],
        example: "OSError: [Errno 28] No space left on device",
        seen_in: "databrickslabs/dolly#139",
        ..FAILURE
    },
    Failure {
        names: &["disk quota exceeded"],
        about: "The disk has room, but this user's quota on it is used up.",
        advice: "`quota -s` shows it; --save_total_limit 1, or put --output_dir, HF_HOME and TMPDIR on a file system for data",
        lines: &[&["[Errno 122] Disk quota exceeded"]],
        example: "OSError: [Errno 122] Disk quota exceeded",
        seen_in: "BinItAI/visdet#95",
        ..FAILURE
    },
    Failure {
        names: &["too many open files"],
        about: "Every tensor that a data worker hands over is an open file, and by default a process may have 1024.",
        advice: "ulimit -n 65536 before the launch, or fewer --dataloader_num_workers",
        lines: &[
            &["received 0 items of ancdata"],
            &["Too many open files. Communication with the workers"],
            &["OSError: [Errno 24] Too many open files"],
            &["Too many open files (24)"],
        ],
        example: "RuntimeError: Too many open files. Communication with the workers is no longer possible",
        seen_in: "facebookresearch/detectron2#3953",
        ..FAILURE
    },
    Failure {
        names: &["the time limit of Slurm"],
        about: "The job reached its time limit, and Slurm ended it.",
        advice: "a longer #SBATCH --time, and --save_steps small enough to resume with --resume_from_checkpoint",
        lines: &[&["CANCELLED AT", "DUE TO TIME LIMIT"]],
        example: "slurmstepd: error: *** JOB 494583 ON ... CANCELLED AT 2024-04-20T09:09:37 DUE TO TIME LIMIT ***",
        seen_in: "ZettaAI/zetta_utils#671",
        ..FAILURE
    },
    Failure {
        names: &["a Slurm job that no machine can have"],
        about: "The cluster, or that partition, has no machine with so many GPUs, CPUs or so much memory, or not so many machines.",
        advice: "`sinfo -o '%P %D %c %m %G'` shows what there is; ask for less, for another --partition, or write --gres with the name that stands there",
        lines: &[&["Requested node configuration is not available"]],
        example: "sbatch: error: Batch job submission failed: Requested node configuration is not available",
        seen_in: "Slurm 22.05.8",
        ..FAILURE
    },
    Failure {
        names: &["a Slurm job that is over"],
        about: "srun or torchrun was given the number of a job that has ended, or SLURM_JOB_ID of another shell is still set.",
        advice: "leave the old job's shell, or unset SLURM_JOB_ID; `squeue --me` shows what runs",
        lines: &[&["srun: error: ", "Invalid job id specified"]],
        example: "srun: error: Unable to confirm allocation for job 123: Invalid job id specified",
        seen_in: "Slurm 22.05.8",
        ..FAILURE
    },
    Failure {
        names: &["fewer places than Open MPI is to start"],
        about: "mpirun counts a place for each core, or what the hostfile and the scheduler give, and was told to start more.",
        advice: "-np with at most the number of GPUs; slots=GPUS for each machine in the hostfile; under Slurm, --ntasks-per-node of #SBATCH",
        lines: &[&["There are not enough slots available"]],
        example: "There are not enough slots available in the system to satisfy the 8 slots that were requested by the application:",
        seen_in: "OpenMPI 5.0.11",
        ..FAILURE
    },
    Failure {
        names: &["more processors than the Slurm job has"],
        about: "The step asks for more tasks or CPUs than the job was given.",
        advice: "give srun the --ntasks-per-node and --cpus-per-task of #SBATCH, or start zlaunch without srun: in the batch script it starts one task on each machine itself",
        lines: &[&[
            "srun: error: Unable to create step for job",
            "More processors requested than permitted",
        ]],
        example: "srun: error: Unable to create step for job ...: More processors requested than permitted",
        seen_in: "E3SM-Project/scream#2112",
        ..FAILURE
    },
    Failure {
        names: &["no such GPUs in the Slurm job"],
        about: "The step asks for GPUs that the job was not given, or by a name that this cluster does not have.",
        advice: "`sinfo -o \"%P %G\"` lists the names; ask for the same --gres in #SBATCH and srun",
        lines: &[
            &[
                "Unable to create step for job",
                "Invalid generic resource (gres) specification",
            ],
            &["sbatch: error: Invalid generic resource (gres) specification"],
        ],
        example: "srun: error: Unable to create step for job 16413634: Invalid generic resource (gres) specification",
        seen_in: "mehta-lab/waveorder#201",
        ..FAILURE
    },
    Failure {
        names: &["two ranks on one GPU"],
        about: "More ranks than GPUs were started on a machine, or every rank sees the same one, so NCCL refuses.",
        advice: "--nproc-per-node GPUS, and no code that picks a GPU by itself",
        lines: &[&["Duplicate GPU detected"]],
        here: &[Advice {
            key: RANKS,
            when: Given,
            text: "this launch has {} ranks on a machine: `nvidia-smi -L` says how many GPUs there are",
        }],
        example: "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 10",
        seen_in: "verl-project/verl#161",
        ..FAILURE
    },
    Failure {
        names: &["no GPU for a run with NCCL"],
        about: "The ranks were to talk over GPUs, and torch sees none here: a torch without CUDA, a container or job without GPUs, or an empty CUDA_VISIBLE_DEVICES.",
        advice: "`python -c 'import torch; print(torch.version.cuda, torch.cuda.device_count())'` with the same Python, and `nvidia-smi`; docker run --gpus all; Slurm: --gres=gpu:8; without a GPU: --env ACCELERATE_USE_CPU=true, or the trainer's --use_cpu true",
        lines: &[
            &[
                "FP16 Mixed precision training with AMP or APEX",
                "can only be used on",
            ],
            &["ProcessGroupNCCL is only supported with GPUs, no GPUs found"],
            &["mixed precision requires a GPU (not"],
            &["mixed precision requires a device in", "(not"],
        ],
        example: "ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["a GPU that is not there"],
        about: "A rank asks for a GPU whose number is higher than any that CUDA sees on this machine.",
        advice: "--nproc-per-node GPUS; CUDA_VISIBLE_DEVICES may hide some of them",
        lines: &[
            &["CUDA error: invalid device ordinal"],
            &["device >= 0 && device < num_gpus"],
        ],
        here: &[Advice {
            key: RANKS,
            when: Given,
            text: "this launch has {} ranks on a machine: `nvidia-smi -L` says how many GPUs there are",
        }],
        example: "RuntimeError: CUDA error: invalid device ordinal",
        seen_in: "tatsu-lab/stanford_alpaca#67",
        ..FAILURE
    },
    Failure {
        names: &["no GPU driver"],
        about: "torch was built for CUDA and finds no driver: this is a login machine, or a container that was started without GPUs.",
        advice: "run it where the GPUs are; docker run --gpus all; `zlaunch doctor` says what is seen",
        lines: &[&["Found no NVIDIA driver on your system"]],
        example: "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from http://www.nvidia.com/Download/index.aspx",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["a GPU driver that is too old"],
        about: "torch was built for a newer CUDA than this driver supports. 12080 means that it supports CUDA up to 12.8.",
        advice: "install a torch built for an older CUDA (https://pytorch.org/get-started/previous-versions), or have the driver updated",
        lines: &[&["The NVIDIA driver on your system is too old"]],
        example: "RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver by downloading and installing a new version",
        seen_in: "lllyasviel/Fooocus#1313",
        ..FAILURE
    },
    Failure {
        names: &["a GPU that this torch does not know"],
        about: "torch, or an extension such as flash-attn, was compiled without support for this kind of GPU.",
        advice: "install a torch built for a newer CUDA, and recompile extensions with TORCH_CUDA_ARCH_LIST set for the GPU",
        lines: &[
            &["HIP error: invalid device function"],
            &["device kernel image is invalid"],
            &["CUDA error: invalid device function"],
            &["no kernel image is available for execution on the device"],
            &["is not compatible with the current PyTorch installation"],
            &["NCCL WARN Cuda failure", "named symbol not found"],
        ],
        example: "RuntimeError: CUDA error: no kernel image is available for execution on the device",
        seen_in: "QData/C-Tran#30",
        ..FAILURE
    },
    Failure {
        names: &["a GPU that is in use elsewhere"],
        about: "CUDA gave this process no place on the GPU: it is in exclusive mode and another process is on it (a second rank, an earlier run that was not ended), or it is split (MIG) and not this part of it.",
        advice: "`nvidia-smi` shows the other processes, `nvidia-smi -q -d COMPUTE` the mode; one rank for each GPU; end what is left of earlier runs; in mode Exclusive_Process, nothing else on that GPU (or `nvidia-smi -c DEFAULT`, as root)",
        lines: &[&["CUDA error:", "CUDA-capable device", "busy or unavailable"]],
        example: "RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable",
        seen_in: "CUDA 12.9",
        ..FAILURE
    },
    Failure {
        names: &["a driver that was changed under the running system"],
        about: "The driver's files were updated, but the kernel still runs the old one, or the container has another version of them than its host.",
        advice: "reboot the machine, or have the kernel modules loaded again when nothing uses the GPUs (rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia, then nvidia-smi); a container is to be started anew",
        lines: &[&["Driver/library version mismatch"]],
        example: "Failed to initialize NVML: Driver/library version mismatch",
        seen_in: "mozilla/translations#1167",
        ..FAILURE
    },
    Failure {
        names: &["a compatibility library of CUDA that this GPU does not take"],
        about: "CUDA's library for older drivers (cuda-compat) is loaded, which works on data-centre GPUs only, and for some drivers only. In a container it stands in /usr/local/cuda/compat.",
        advice: "--unset-env LD_LIBRARY_PATH, or without /usr/local/cuda/compat in it; an image for the CUDA that `nvidia-smi` shows, or a newer driver",
        lines: &[&["forward compatibility was attempted on non supported HW"]],
        example: "RuntimeError: CUDA error: forward compatibility was attempted on non supported HW",
        seen_in: "CUDA 12.9",
        ..FAILURE
    },
    Failure {
        names: &["code that was compiled for a newer CUDA than the driver's"],
        about: "A kernel comes as PTX, which the driver translates, and it was made by a CUDA that is newer than the driver.",
        advice: "a newer driver; or torch and the package of the kernel (flash-attn, triton, DeepSpeed's own operators: rm -r ~/.cache/torch_extensions) for the CUDA that `nvidia-smi` shows",
        lines: &[&["provided PTX was compiled with an unsupported toolchain"]],
        example: "RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.",
        seen_in: "CUDA 12.9",
        ..FAILURE
    },
    Failure {
        names: &["GPUs that are not ready"],
        about: "GPUs connected by NVSwitch need the fabric manager, which is not running or has a different version from the driver's.",
        advice: "have nvidia-fabricmanager installed, in the driver's version, and started",
        lines: &[
            &["Error 802: system not yet initialized"],
            &["CUDA error: system not yet initialized"],
        ],
        example: "UserWarning: CUDA initialization: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices() that might have already set an error? Error 802: system not yet initialized",
        seen_in: "microsoft/lisa#2823",
        ..FAILURE
    },
    Failure {
        names: &["broken GPU memory"],
        about: "The GPU's memory has a fault. The hardware is at fault, not the training run.",
        advice: "leave this machine out (#SBATCH --exclude=MACHINE), and report it: `nvidia-smi -q -d ECC` shows the count",
        lines: &[&["uncorrectable ECC error encountered"]],
        example: "RuntimeError: CUDA error: uncorrectable ECC error encountered",
        seen_in: "jade-hpc-gpu/jade-hpc-gpu.github.io#194",
        ..FAILURE
    },
    Failure {
        names: &["a wrong index on the GPU"],
        about: "A kernel of the GPU found a value that it does not allow, mostly an index: a token ID outside of the embedding (tokens were added to the tokenizer but not to the model, or the tokenizer belongs to another model), a label outside of the classes, a position beyond the context; or probabilities that are NaN, in generate().",
        advice: "resize the embedding (LLaMA-Factory: resize_vocab: true), or use the model's own tokenizer; the first line with `Assertion` says what was wrong, CUDA_LAUNCH_BLOCKING=1 names the operation",
        lines: &[
            &["cudaErrorAssert"],
            &["IndexError: index out of range in self"],
            &[".cu:", "Assertion `"],
            &["`srcIndex < srcSelectDimSize` failed"],
            &["CUDA error: device-side assert triggered"],
        ],
        example: "../aten/src/ATen/native/cuda/Indexing.cu:1308: indexSelectLargeIndex: block: [58,0,0], thread: [99,0,0] Assertion `srcIndex < srcSelectDimSize` failed.",
        seen_in: "huggingface/trl#2996",
        ..FAILURE
    },
    Failure {
        names: &["a GPU that failed"],
        about: "The GPU or its driver ended the work of this process: a fault of the hardware, a driver that lost the GPU, or a kernel that ran too long on a GPU with a display.",
        advice: "`dmesg -T | grep -i xid` on that machine names the reason; leave it out (#SBATCH --exclude=MACHINE) and report it; a reboot or `nvidia-smi --gpu-reset` may help",
        lines: &[
            &["CUDA error: unknown error"],
            &["CUDA error: hardware stack error"],
            &["CUDA error: the launch timed out and was terminated"],
            &["CUDA error: context is destroyed"],
            &["CUDA error: uncorrectable NVLink error"],
            &["CUDA error: GPU is lost"],
            &["GPU has fallen off the bus"],
        ],
        example: "RuntimeError: CUDA error: unknown error",
        seen_in: "CUDA 12.9",
        ..FAILURE
    },
    Failure {
        names: &["a call that CUDA refuses"],
        about: "CUDA was asked for something that it does not do here. Expandable segments do that where memory of the GPU is shared between processes, pinned or put to sleep (vLLM), and a container or WSL where processes may not share it. Or an operation before it failed.",
        advice: "--unset-env PYTORCH_CUDA_ALLOC_CONF where it has expandable_segments:True; a container with --ipc=host and --cap-add=SYS_PTRACE; else CUDA_LAUNCH_BLOCKING=1 names the operation",
        lines: &[
            &["CUDA driver error: invalid argument"],
            &["CUDA error: invalid argument"],
            &["CUDA error: OS call failed or operation not supported on this OS"],
            &["CUDA error: invalid resource handle"],
            &["CUDA error: operation not permitted"],
        ],
        example: "RuntimeError: CUDA driver error: invalid argument",
        seen_in: "hiyouga/LlamaFactory#8428",
        ..FAILURE
    },
    Failure {
        names: &["an illegal memory access on the GPU"],
        about: "A kernel read or wrote outside its memory. The error is reported by a later operation than the one that caused it.",
        advice: "run once with CUDA_LAUNCH_BLOCKING=1, which names the operation; update torch, DeepSpeed and flash-attn, or do without the kernel that is named",
        lines: &[
            &["Memory access fault by GPU node"],
            &["CUDA error: unspecified launch failure"],
            &["CUDA error: misaligned address"],
            &["CUDA error: an illegal instruction was encountered"],
            &["an illegal memory access was encountered"],
        ],
        example: "what():  CUDA error: an illegal memory access was encountered",
        seen_in: "deepspeedai/DeepSpeedExamples#592",
        ..FAILURE
    },
    Failure {
        names: &["GPUs that cannot talk directly"],
        about: "NCCL tries to copy between these GPUs directly, which this machine does not support.",
        advice: "--env NCCL_P2P_DISABLE=1",
        lines: &[&["peer access is not supported between these two devices"]],
        example: "Cuda failure 217 'peer access is not supported between these two devices'",
        seen_in: "Agent-One-Lab/AgentFly#11",
        ..FAILURE
    },
    Failure {
        names: &["no network interface for NCCL"],
        about: "NCCL_SOCKET_IFNAME names an interface that this machine does not have, or the machine has only the loopback interface.",
        advice: "`ip -br addr` lists them; unset NCCL_SOCKET_IFNAME, or list the names of all machines: NCCL_SOCKET_IFNAME=eno1,eth0",
        lines: &[
            &["Bootstrap : no socket interface found"],
            &["ncclSocketInit: connecting to address"],
        ],
        example: "[trainer0|0]:ncclSocketInit: connecting to address  with family 59936 is neither AF_INET(2) nor AF_INET6(10)",
        seen_in: "NVIDIA/nccl#1837",
        ..FAILURE
    },
    Failure {
        names: &["locked memory is limited"],
        about: "InfiniBand pins memory, and `ulimit -l` allows too little of it.",
        advice: "ulimit -l unlimited before the launch (docker run --ulimit memlock=-1; Slurm takes the limits of the shell that submits)",
        lines: &[
            &["Call to ibv_", "failed with error Cannot allocate memory"],
            &["ibv_create_cq() failed: Cannot allocate memory"],
            &["WARN Call to ibv_create_", "Cannot allocate memory"],
        ],
        example: "misc/ibvwrap.cc:278 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory",
        seen_in: "NVIDIA/nccl-tests#206",
        ..FAILURE
    },
    Failure {
        names: &["InfiniBand lost the other machine"],
        about: "The card on the other side did not answer: its process died, the cable or port is down, or the RoCE settings differ.",
        advice: "look at what the other machine's ranks said before; `ibstat` there; NCCL_IB_GID_INDEX and NCCL_IB_HCA must suit all machines",
        lines: &[
            &["NET/IB", "Got completion from peer", "with error"],
            &["NET/IB", "Got completion from peer", "with status="],
        ],
        example: "kolyoz2:25146:25854 [0] ib_plugin.c:1105 NCCL WARN NET/IB : Got completion from peer 10.0.35.1<49189> with error 4, opcode 5327, len 5327, vendor err 81 (Send)",
        seen_in: "NVIDIA/nccl-tests#252",
        ..FAILURE
    },
    Failure {
        names: &["a rendezvous that was closed"],
        about: "torchrun on another machine has ended, after success or a failure, and closed the meeting point of all; this one wanted to join or to go on. Or an earlier job with the same rendezvous ID did.",
        advice: "look at how the torchrun of the other machines ended; the same number of steps on all ranks; a new --rdzv-id (zlaunch makes one for each job), and no restarts: --max-restarts 0",
        lines: &[&["RendezvousClosedError"]],
        role: Consequence,
        example: "torch.distributed.elastic.rendezvous.api.RendezvousClosedError",
        seen_in: "pytorch/pytorch#116974",
        ..FAILURE
    },
    Failure {
        names: &["a machine did not join"],
        about: "Rank 0 waited for ranks that never started, or that cannot reach it.",
        advice: "start it on every machine with the same --nnodes, --master-addr and --master-port; `zlaunch doctor` inside the job compares the machines",
        lines: &[
            &["RendezvousTimeoutError"],
            &["waiting for clients.", "clients joined"],
            &["DistStoreError: Socket Timeout"],
        ],
        here: &[Advice {
            key: "topology.nnodes",
            when: IsNot("1"),
            text: "this launch is for {} machines",
        }],
        example: "torch.distributed.DistStoreError: Timed out after 4 seconds waiting for clients. 1/2 clients joined.",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["no port for the weights on the vLLM server"],
        about: "The trainer has told the vLLM server to open a second port, over which it sends the weights, and nothing listens there: the server failed when it was told, its vLLM does not suit the trainer's, or only its first port can be reached.",
        advice: "look at what the server said at that moment; the same vLLM on both sides; another port that the trainer can reach: --vllm_group_port (TRL), --vllm_server_group_port (ms-swift)",
        lines: &[
            &[
                "The client socket has timed out after",
                "while trying to connect to",
            ],
            &["The client socket has failed to connect to any network address"],
            &["DistStoreError: wait timeout"],
        ],
        traceback: &[
            "connecting to vLLM server",
            "init_communicator",
            "vllm_client",
        ],
        example: "[E526 03:50:39.898939042 socket.cpp:1028] [c10d] The client socket has timed out after 300000ms while trying to connect to (127.0.0.1, 51216). (in init_communicator)",
        seen_in: "modelscope/ms-swift#9416",
        ..FAILURE
    },
    Failure {
        names: &["the first machine is not reachable"],
        about: "Nothing listens at MASTER_ADDR and MASTER_PORT: rank 0 is not up yet (it may still prepare data) or has died, the name resolves to another machine, or a firewall is in the way.",
        advice: "look at what rank 0 said; --master-addr must be an address of the first machine that the others can reach; if rank 0 prepares data for longer than the others wait, do that in a run before, or let them wait longer: --ddp_timeout 7200, and --env DEEPSPEED_TIMEOUT=120 (minutes) in a script without Trainer",
        lines: &[
            &[
                "The client socket has timed out after",
                "while trying to connect to",
            ],
            &["The client socket has failed to connect to any network address"],
            &["RendezvousConnectionError: The connection to the C10d store has failed"],
        ],
        here: &[Advice {
            key: "topology.master_addr",
            when: Given,
            text: "this launch uses {} as the address",
        }],
        example: "torch.distributed.DistNetworkError: The client socket has timed out after 3000ms while trying to connect to (127.0.0.1, 29778).",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["ranks that never joined"],
        about: "Some ranks reached the start of training and waited there for others. `world_size` is how many were expected, and `worker_count` how many came: more than expected means that an earlier run left its processes, or that two runs share a port.",
        advice: "look at what the other ranks said; end processes of an earlier run; one --master-port per run",
        lines: &[&["Timed out initializing process group in store based barrier on rank"]],
        example: "RuntimeError: Timed out initializing process group in store based barrier on rank: 0, for key: store_based_barrier_key:1 (world_size=2, worker_count=1, timeout=0:10:00)",
        seen_in: "NVIDIA/Megatron-LM#782",
        ..FAILURE
    },
    Failure {
        names: &["an ssh port for pdsh, in an older DeepSpeed"],
        about: "DeepSpeed before 0.14.1 appends --ssh_port to PDSH_SSH_ARGS_APPEND, and fails where that variable is not set.",
        advice: "pip install --upgrade deepspeed; or export PDSH_SSH_ARGS_APPEND=\"\" before the launch",
        lines: &[&["KeyError: 'PDSH_SSH_ARGS_APPEND'"]],
        fixed: Some(("deepspeed", "0.14.1")),
        example: "KeyError: 'PDSH_SSH_ARGS_APPEND'",
        seen_in: "deepspeedai/DeepSpeed#5318",
        ..FAILURE
    },
    Failure {
        names: &["machines or GPUs that the deepspeed launcher does not find"],
        about: "The deepspeed launcher takes the machines from its hostfile (/job/hostfile or --hostfile), and without one only the GPUs that torch sees on this machine: here that is too little for --num_nodes, --include or any rank, or the GPUs were named in two ways.",
        advice: "`python -c 'import torch; print(torch.cuda.device_count())'` must show them (a torch with CUDA, a driver, CUDA_VISIBLE_DEVICES); --hostfile FILE with `NAME slots=8` for each machine, the names as in --include; --num_gpus or --include, not both; or one zlaunch on every machine, which needs no hostfile",
        lines: &[
            &["Unable to proceed, no GPU resources available"],
            &["no extra nodes available via hostfile"],
            &["Hostname '", "not found in hostfile"],
            &["Cannot specify num_nodes/gpus with include/exclude"],
        ],
        example: "RuntimeError: Unable to proceed, no GPU resources available",
        seen_in: "DeepSpeed 0.19.8",
        ..FAILURE
    },
    Failure {
        names: &["a hostfile that the deepspeed launcher cannot read"],
        about: "A line of the hostfile is not `host slots=N`, names a machine twice, or there is none. Some releases print {line} in place of the line.",
        advice: "`zlaunch check --hostfile FILE -- COMMAND` names the line; each one is `host slots=N`, without anything else, and comments begin with #",
        lines: &[
            &["Hostfile contains a bad entry"],
            &["Hostfile contains multiple entries"],
            &["Hostfile is empty or not formatted correctly"],
        ],
        example: "ValueError: Hostfile contains a bad entry: {line}, unable to proceed with launching",
        seen_in: "deepspeedai/DeepSpeed#3669",
        ..FAILURE
    },
    Failure {
        names: &["DeepSpeed's communication before it was initialized"],
        about: "Code uses deepspeed.comm, and nobody has initialized it: it runs without a launcher, before Accelerator() or deepspeed.initialize, or on a model that was never prepared; or dist_init_required=False says that the script has done it.",
        advice: "deepspeed.init_distributed() before that call (deepspeed.initialize does it too); with several processes, zlaunch or another launcher that sets their ranks",
        lines: &[
            &["'NoneType' object has no attribute 'all_reduce'"],
            &["'NoneType' object has no attribute 'all_gather_into_tensor'"],
            &["'NoneType' object has no attribute 'reduce_scatter_tensor'"],
            &["DeepSpeed backend not set, please initialize it"],
            &["Distributed backend is not initialized. Please set dist_init_required"],
        ],
        traceback: &["deepspeed/"],
        alone: true,
        example: "AttributeError: 'NoneType' object has no attribute 'all_reduce'",
        seen_in: "deepspeedai/DeepSpeedExamples#940",
        ..FAILURE
    },
    Failure {
        names: &["a command of an environment that is not active"],
        about: "The shell does not find that program: the environment that has it is not active here (a batch script, srun, ssh and docker exec do not read what a login does), or it is not installed.",
        advice: "activate the environment in the script itself (source ENV/bin/activate, conda activate after `source ~/.bashrc`), or name the program in full; `python -m deepspeed.launcher.runner`, `python -m torch.distributed.run` and `python -m accelerate.commands.launch` need no PATH",
        lines: &[
            &["deepspeed: command not found"],
            &["torchrun: command not found"],
            &["accelerate: command not found"],
            &["swift: command not found"],
            &["llamafactory-cli: command not found"],
            &["axolotl: command not found"],
            &["trl: command not found"],
            &["pdsh: command not found"],
            &["ninja: command not found"],
            &["conda: command not found"],
            &["python: command not found"],
            &["srun: command not found"],
            &["mpirun: command not found"],
        ],
        // The rest of a command whose line was not continued.
        unlike: &["--"],
        example: "train.sh: line 3: deepspeed: command not found",
        seen_in: "bash 5.2",
        ..FAILURE
    },
    Failure {
        names: &["no ssh to another machine"],
        about: "The deepspeed launcher starts the ranks of other machines by ssh or pdsh, without asking anything, and that did not work.",
        advice: "`ssh MACHINE true` must work from here without a question: a key in ~/.ssh/authorized_keys, the machine in ~/.ssh/known_hosts, and pdsh installed (apt install pdsh, or deepspeed --launcher openmpi); or start one zlaunch on every machine (srun, --node-rank), which needs no ssh",
        lines: &[
            &["ssh: connect to host ", " port "],
            &["launcher 'pdsh' not installed"],
            &["was not reachable via ssh"],
            &["ssh exited with exit code 255"],
            &["Host key verification failed"],
            &["Permission denied (publickey"],
            &["Command 'ssh ", "returned non-zero exit status 255"],
        ],
        unlike: &["git@"],
        example: "RuntimeError: Using hostfile at /home/552/dz9214/hostfile but host=gadi-gpu-v100-0011 was not reachable via ssh. If you are running with a single node please remove /home/552/dz9214/hostfile or setup passwordless ssh.",
        seen_in: "hpcac/2023-APAC-HPC-AI#1",
        ..FAILURE
    },
    Failure {
        names: &["a network that NCCL cannot use"],
        about: "NCCL chose an interface whose address the other machines cannot reach, such as Docker's 172.17.0.1, or a firewall is in the way.",
        advice: "`ip -br addr` lists the interfaces: --env NCCL_SOCKET_IFNAME=NAME, with the one that connects the machines",
        lines: &[
            &[
                "socketStartConnect: Connect to",
                "failed : No route to host",
            ],
            &["socketPollConnect: Connect to", "No route to host"],
            &[
                "socketStartConnect: Connect to",
                "failed : Network is unreachable",
            ],
            &["socketPollConnect: Connect to", "Connection timed out"],
            &[
                "socketStartConnect: Connect to",
                "Software caused connection abort",
            ],
        ],
        example: "socketStartConnect: Connect to 192.168.19.14<52822> failed : No route to host",
        seen_in: "hkproj/pytorch-transformer-distributed#1",
        ..FAILURE
    },
    Failure {
        names: &["no launcher, so DeepSpeed looks for MPI"],
        about: "RANK, WORLD_SIZE and MASTER_ADDR are not set, so DeepSpeed thinks that mpirun started it and asks mpi4py for the ranks.",
        advice: "start it with a launcher: zlaunch --nproc-per-node GPUS -- python train.py (torchrun or deepspeed do it too); mpi4py is only needed under mpirun",
        lines: &[&["No module named 'mpi4py'"], &["Error"]],
        traceback: &["in mpi_discovery", "No module named 'mpi4py'"],
        example: "ModuleNotFoundError: No module named 'mpi4py'",
        seen_in: "deepspeedai/DeepSpeed#8444",
        ..FAILURE
    },
    Failure {
        names: &["a script that does not take its local rank"],
        about: "torch.distributed.launch and deepspeed give every rank --local_rank (torch 2 writes --local-rank), and this script has another spelling of it or none.",
        advice: "torchrun, which sets LOCAL_RANK instead: zlaunch --nproc-per-node GPUS -- python train.py; or both spellings in the script: parser.add_argument('--local_rank', '--local-rank', type=int)",
        lines: &[
            &["unrecognized arguments: --local-rank"],
            &["unrecognized arguments: --local_rank"],
            &["HfArgumentParser: ['--local-rank="],
            &["HfArgumentParser: ['--local_rank="],
            &["No such option: --local"],
            &["KeyError: '--local"],
        ],
        example: "aquila_pretrain.py: error: unrecognized arguments: --local-rank=1",
        seen_in: "FlagAI-Open/FlagAI#511",
        ..FAILURE
    },
    Failure {
        names: &["an Accelerator of another time than transformers"],
        about: "transformers gives accelerate an argument that its Accelerator does not take: one of the two is too old for the other. An older accelerate does not know use_seedable_sampler yet; accelerate 1.0 takes dispatch_batches, split_batches and even_batches only in a DataLoaderConfiguration.",
        advice: "pip install --upgrade transformers accelerate; where transformers must stay old: 'accelerate<1.0' for dispatch_batches, a newer accelerate for use_seedable_sampler",
        lines: &[
            &["Accelerator.__init__() got an unexpected keyword argument"],
            &["__init__() got an unexpected keyword argument 'use_seedable_sampler'"],
            &["__init__() got an unexpected keyword argument 'dispatch_batches'"],
        ],
        example: "TypeError: Accelerator.__init__() got an unexpected keyword argument 'dispatch_batches'",
        seen_in: "huggingface/transformers#34714",
        ..FAILURE
    },
    Failure {
        names: &["keys of accelerate's YAML that it does not know"],
        about: "The file for `accelerate launch --config_file` has keys that accelerate does not have. Sections of DeepSpeed's own config, such as scheduler or optimizer, do not belong there.",
        advice: "remove the keys that the line names from the YAML; what DeepSpeed should know stands in the file that deepspeed_config_file names; for a newer key, pip install --upgrade accelerate",
        lines: &[&["The config file at", "had unknown keys"]],
        example: "ValueError: The config file at accelerate_config_machine_single.yaml had unknown keys (['lr_scheduler']), please try upgrading your `accelerate` version or fix (and potentially remove) these keys from your config file.",
        seen_in: "THUDM/CogVideo#502",
        ..FAILURE
    },
    Failure {
        names: &["\"auto\" that nobody filled in"],
        about: "DeepSpeed wants a number of its config and finds text, \"auto\" mostly. Only TrainingArguments and accelerate fill that in: here the script gives its config to DeepSpeed itself, or registers it (HfDeepSpeedConfig) and loads the model under ZeRO-3 before them.",
        advice: "numbers; for the batch sizes, train_micro_batch_size_per_gpu and gradient_accumulation_steps without train_batch_size: --set train_micro_batch_size_per_gpu=1 --set gradient_accumulation_steps=1 --unset train_batch_size; or TrainingArguments before the model",
        lines: &[
            &["not supported between instances of 'str' and 'int'"],
            &["not supported between instances of 'float' and 'str'"],
            &["not supported between instances of 'str' and 'float'"],
            &["could not convert string to float: 'auto'"],
        ],
        traceback: &[
            "deepspeed/runtime/config.py",
            "_batch_assertion",
            "_configure_basic_optimizer",
            "deepspeed/runtime/lr_schedules.py",
        ],
        example: "TypeError: '>' not supported between instances of 'str' and 'int'",
        seen_in: "Roblox/FAI-RL#70",
        ..FAILURE
    },
    Failure {
        names: &["batch sizes that give DeepSpeed none for a GPU"],
        about: "DeepSpeed computes what is missing of train_batch_size, train_micro_batch_size_per_gpu and gradient_accumulation_steps from the others and the number of ranks: here two are missing, or less than 1 is left, because train_batch_size is smaller than ranks × accumulation steps.",
        advice: "--set train_micro_batch_size_per_gpu=1 --set gradient_accumulation_steps=1 --unset train_batch_size, with your numbers; or a train_batch_size that is a multiple of ranks × accumulation steps",
        lines: &[
            &[
                "Error: Micro batch size per gpu: ",
                "has to be greater than 0",
            ],
            &["Error: Train batch size: ", "has to be greater than 0"],
            &[
                "Error: Gradient accumulation steps: ",
                "has to be greater than 0",
            ],
            &["Either train_batch_size or train_micro_batch_size_per_gpu needs to be provided"],
        ],
        example: "AssertionError: Micro batch size per gpu: 0 has to be greater than 0",
        seen_in: "DeepSpeed 0.19.8",
        ..FAILURE
    },
    Failure {
        names: &["no batch size for DeepSpeed"],
        about: "The script prepares a model with DeepSpeed without a dataloader, or with one that has no batch_size, so accelerate cannot tell DeepSpeed the micro batch.",
        advice: "--set train_micro_batch_size_per_gpu=N with the batch size of the dataloader, or in the script accelerator.prepare(model, optimizer, dataloader) in one call",
        lines: &[
            &["requires you to pass at least one of training or evaluation dataloaders"],
            &["dataloaders passed to `accelerate.prepare()` has `None` as batch size"],
        ],
        example: "ValueError: When using DeepSpeed `accelerate.prepare()` requires you to pass at least one of training or evaluation dataloaders or alternatively set an integer value in `train_micro_batch_size_per_gpu` in the deepspeed config file",
        seen_in: "jquesnelle/yarn#35",
        ..FAILURE
    },
    Failure {
        names: &["a batch that cannot be split among the ranks"],
        about: "accelerate reads each batch on the first rank and sends every rank a part of it (always with an iterable dataset), and the samples of the batches have different shapes.",
        advice: "--accelerator_config '{\"dispatch_batches\": false}', so that every rank reads its own batches; or '{\"split_batches\": true}'",
        lines: &[&["You can't use batches of different size with"]],
        example: "RuntimeError: You can't use batches of different size with `dispatch_batches=True` or when using an `IterableDataset`.either pass `dispatch_batches=False` and have each process fetch its own batch",
        seen_in: "hiyouga/LlamaFactory#2763",
        ..FAILURE
    },
    Failure {
        names: &["a scheduler of the trainer with DeepSpeed's optimizer"],
        about: "Older releases of accelerate (0.21, for one) take the optimizer of DeepSpeed's config only together with a scheduler there.",
        advice: "pip install --upgrade accelerate transformers; or a scheduler section in the config; or --unset optimizer, so that both come from the trainer",
        lines: &[&["You cannot create a `DummyScheduler` without specifying a scheduler"]],
        example: "ValueError: You cannot create a `DummyScheduler` without specifying a scheduler in the config file.",
        seen_in: "OpenGVLab/InternVL#288",
        ..FAILURE
    },
    Failure {
        names: &["a scheduler made for a group of parameters that is gone"],
        about: "DeepSpeed drops a group of parameters that is empty: with LoRA, the one without weight decay. transformers 4 has made the scheduler before, for one group more, and torch 2.10 and newer compare the numbers.",
        advice: "pip install --upgrade transformers (5 makes the scheduler afterwards), or torch<2.10; in a script, an optimizer without an empty group",
        lines: &[&["zip() argument 2 is longer than argument 1"]],
        traceback: &["lr_scheduler.py", "lr_schedules.py"],
        example: "ValueError: zip() argument 2 is longer than argument 1 (torch/optim/lr_scheduler.py)",
        seen_in: "hiyouga/LlamaFactory#10141",
        ..FAILURE
    },
    Failure {
        names: &["gradients whose norm is no number, or zero"],
        about: "The norm of all gradients was NaN or 0, which this release of DeepSpeed does not take with bf16: a broken batch, a learning rate that is too high, a loss over no tokens, or a model that needs a newer torch.",
        advice: "pip install --upgrade deepspeed (newer ones skip the step); look at loss and grad_norm of the steps before, and at the labels of the batch",
        lines: &[&["assert all_groups_norm > 0"]],
        example: "    assert all_groups_norm > 0.",
        seen_in: "deepspeedai/DeepSpeed#5223",
        ..FAILURE
    },
    Failure {
        names: &["a second group of ranks for ZeRO++"],
        about: "zero_hpz_partition_size makes its group of ranks once in a process. A second model or engine (a reference or reward model), or zero.Init before with the same config, makes it again.",
        advice: "--unset zero_optimization.zero_hpz_partition_size",
        lines: &[&["ZeRO parameter intra parallel group is already initialized"]],
        example: "AssertionError: ZeRO parameter intra parallel group is already initialized",
        seen_in: "deepspeedai/DeepSpeed#4901",
        ..FAILURE
    },
    Failure {
        names: &["an optimizer that older packages put into training mode"],
        about: "transformers calls train() on the optimizer, for optimizers without a schedule, and this accelerate passes that on to one that has none.",
        advice: "pip install --upgrade transformers accelerate: newer releases ask first whether it is there",
        lines: &[
            &["'DeepSpeedZeroOptimizer", "object has no attribute 'train'"],
            &["'AdamW' object has no attribute 'train'"],
            &["'DeepSpeedZeroOptimizer", "object has no attribute 'eval'"],
        ],
        example: "AttributeError: 'DeepSpeedZeroOptimizer_Stage3' object has no attribute 'train'",
        seen_in: "zjysteven/lmms-finetune#64",
        ..FAILURE
    },
    Failure {
        names: &["a script that runs without accelerate's DeepSpeed"],
        about: "The script takes DeepSpeed's config from accelerate's state, which has none: it was started with python or torchrun alone, or by `accelerate launch` with a config file in which distributed_type is not DEEPSPEED.",
        advice: "zlaunch --nproc-per-node GPUS --deepspeed zero2 -- COMMAND; or accelerate launch --config_file FILE, with distributed_type: DEEPSPEED in it",
        lines: &[
            &["'NoneType' object has no attribute 'deepspeed_config'"],
            &["'NoneType' object has no attribute 'hf_ds_config'"],
            &["'NoneType' object has no attribute 'zero_stage'"],
        ],
        example: "AttributeError: 'NoneType' object has no attribute 'deepspeed_config'",
        seen_in: "OpenMOSS/MOSS#80",
        ..FAILURE
    },
    Failure {
        names: &["an engine that was made without a config"],
        about: "The script calls DeepSpeedEngine itself. Since DeepSpeed 0.9 that wants a DeepSpeedConfig (config_class), which deepspeed.initialize() makes.",
        advice: "deepspeed.initialize(model=..., config=...) instead of DeepSpeedEngine(...); or config_class=DeepSpeedConfig(config) for the class",
        lines: &[
            &["'NoneType' object has no attribute 'optimizer_name'"],
            &["'NoneType' object has no attribute 'fp16_enabled'"],
        ],
        traceback: &["deepspeed/runtime/engine.py"],
        alone: true,
        example: "AttributeError: 'NoneType' object has no attribute 'optimizer_name'",
        seen_in: "deepspeedai/DeepSpeed#3309",
        ..FAILURE
    },
    Failure {
        names: &["training arguments that were not finished"],
        about: "TrainingArguments makes this in its __post_init__, and a class of the script that is derived from it has one of its own, which does not call that of its parent; or the arguments are of another class.",
        advice: "super().__post_init__() first in the __post_init__ of that class",
        lines: &[
            &["Arguments' object has no attribute 'deepspeed_plugin'"],
            &["Arguments' object has no attribute 'distributed_state'"],
            &["Arguments' object has no attribute 'hf_deepspeed_config'"],
        ],
        example: "AttributeError: 'PeftArguments' object has no attribute 'deepspeed_plugin'",
        seen_in: "huggingface/transformers#27023",
        ..FAILURE
    },
    Failure {
        names: &["accelerate's state that was thrown away"],
        about: "TrainingArguments makes accelerate's state anew, so what was made before them (an Accelerator or PartialState of the script, arguments of another trainer, an earlier cell of a notebook) has none any more.",
        advice: "TrainingArguments first, then what needs accelerate, each made once; a notebook: restart it; upgrade trl, transformers and accelerate together where the trainer itself does it",
        lines: &[
            &[
                "State` object has no attribute `",
                "`PartialState` was not reinitialized",
            ],
            &["'AcceleratorState' object has no attribute 'distributed_type'"],
            &["'PartialState' object has no attribute '"],
            &[
                "that was not initialized for DeepSpeed, but also passed in a `deepspeed` configuration",
            ],
        ],
        example: "AttributeError: `AcceleratorState` object has no attribute `distributed_type`. This happens if `AcceleratorState._reset_state()` was called and an `Accelerator` or `PartialState` was not reinitialized.",
        seen_in: "accelerate 1.15.0",
        ..FAILURE
    },
    Failure {
        names: &["accelerate's state before its Accelerator"],
        about: "Something asks accelerate for its state (TrainingArguments, a dataset, PartialState) before the script has made its Accelerator, or a trainer of an older TRL makes it in a way that accelerate 1 refuses.",
        advice: "make `Accelerator()` first, before anything else of accelerate; with a trainer of TRL or transformers: upgrade trl and transformers together with accelerate",
        lines: &[
            &["properly initialize your accelerator"],
            &["initialize your accelerator via"],
        ],
        example: "ValueError: Please make sure to properly initialize your accelerator via `accelerator = Accelerator()` before using any functionality from the `accelerate` library.",
        seen_in: "huggingface/accelerate#3428",
        ..FAILURE
    },
    Failure {
        names: &["a GPU that the deepspeed launcher does not count"],
        about: "The deepspeed launcher counts the visible GPUs from 0 on, so a number of CUDA_VISIBLE_DEVICES or of --include may not be among them.",
        advice: "unset CUDA_VISIBLE_DEVICES, and deepspeed --include localhost:0,2; or zlaunch, which takes CUDA_VISIBLE_DEVICES as it is",
        lines: &[&["No slot '", "specified on host"]],
        example: "ValueError: No slot '2' specified on host 'localhost'",
        seen_in: "deepspeedai/DeepSpeed#5818",
        ..FAILURE
    },
    Failure {
        names: &["LLaMA-Factory without torchrun"],
        about: "LLaMA-Factory starts torchrun itself where it sees several GPUs. With one, DeepSpeed needs it too.",
        advice: "FORCE_TORCHRUN=1 llamafactory-cli train …; zlaunch -- llamafactory-cli train … always starts ranks",
        lines: &[
            &["Please use `FORCE_TORCHRUN=1` to launch DeepSpeed training"],
            &["Please launch distributed training with `llamafactory-cli` or `torchrun`"],
        ],
        example: "ValueError: Please use `FORCE_TORCHRUN=1` to launch DeepSpeed training.",
        seen_in: "hiyouga/LlamaFactory#6268",
        ..FAILURE
    },
    Failure {
        names: &["Gloo cannot reach all ranks"],
        about: "Gloo, which carries what stays in host memory, found no way from each rank to each other: a network interface that the machines do not share, a name that resolves to 127.0.0.1, or a firewall.",
        advice: "--env GLOO_SOCKET_IFNAME=INTERFACE (`ip -br addr`: the same network on all machines); the machine's name with its real address in /etc/hosts",
        lines: &[&["Gloo connectFullMesh failed"]],
        example: "RuntimeError: Gloo connectFullMesh failed with [../third_party/gloo/gloo/transport/tcp/pair.cc:144] no error",
        seen_in: "vllm-project/vllm#5094",
        ..FAILURE
    },
    Failure {
        names: &["segments that this driver cannot expand"],
        about: "For expandable segments, torch calls the GPU driver itself, and it or the container does not offer these calls.",
        advice: "--unset-env PYTORCH_CUDA_ALLOC_CONF, or a newer GPU driver",
        lines: &[&["INTERNAL ASSERT FAILED at", "c10/cuda/driver_api.cpp"]],
        example: "RuntimeError: handle_0 INTERNAL ASSERT FAILED at \"../c10/cuda/driver_api.cpp\":15, please report a bug to PyTorch.",
        seen_in: "LlamaChinese/Llama-Chinese#256",
        ..FAILURE
    },
    Failure {
        names: &["an adapter loaded as the whole model"],
        about: "The checkpoint has the weights of the adapter only, and is loaded as if it had all: a script that replaces model.state_dict (the alpaca-lora idiom), or a transformers that is too old for LoRA with DeepSpeed.",
        advice: "take out the lines that replace model.state_dict; pip install --upgrade transformers peft; or start the adapter from the checkpoint and the optimizer anew (ms-swift: --adapters, LLaMA-Factory: adapter_name_or_path)",
        lines: &[&["Error(s) in loading state_dict for PeftModel"]],
        example: "RuntimeError: Error(s) in loading state_dict for PeftModelForCausalLM:",
        seen_in: "huggingface/peft#1453",
        ..FAILURE
    },
    Failure {
        names: &["a folder of a model without its processor"],
        about: "LLaMA-Factory found no processor for pictures, sound or video in the model's folder: preprocessor_config.json is missing there (after a merge or a copy), or this transformers does not know the model.",
        advice: "copy *processor*.json, and the tokenizer and chat template, from the original model; a transformers that the model names; python -c \"from transformers import AutoProcessor as A; A.from_pretrained('FOLDER')\" says what is wrong",
        lines: &[&["ValueError: Processor was not found"]],
        example: "ValueError: Processor was not found, please check and update your processor config.",
        seen_in: "hiyouga/LlamaFactory#7717",
        ..FAILURE
    },
    Failure {
        names: &["one process for all GPUs with DeepSpeed"],
        about: "ms-swift found more GPUs than processes on this machine, and would spread the model over them (device_map), which neither DeepSpeed nor vLLM beside the training allows. It counts processes by LOCAL_WORLD_SIZE, which torchrun sets and the deepspeed launcher does not.",
        advice: "one process for each GPU: NPROC_PER_NODE=GPUS swift sft … (in a script: export NPROC_PER_NODE=GPUS; alone on its line it reaches nothing), torchrun, or zlaunch -- swift sft …",
        lines: &[
            &["DeepSpeed is not compatible with MP."],
            &["not compatible with `device_map`", "NPROC_PER_NODE"],
            &["DeepSpeed is not compatible with `device_map`"],
        ],
        example: "ValueError: DeepSpeed is not compatible with MP. n_gpu: 2, local_world_size: 1.",
        seen_in: "modelscope/ms-swift#1188",
        ..FAILURE
    },
    Failure {
        names: &["a sequence group smaller than the world"],
        about: "torch's all_gather with gradients takes the number of the rank in the world as its place in the group, so sequence parallelism (Ulysses) fails in its backward pass where a group has not all ranks.",
        advice: "a sequence_parallel_size equal to the number of all ranks, or a newer torch and DeepSpeed, which use the rank within the group",
        lines: &[&["IndexError: tuple index out of range"]],
        traceback: &["torch/distributed/nn/functional.py"],
        example: "IndexError: tuple index out of range",
        seen_in: "deepspeedai/DeepSpeed#7672",
        ..FAILURE
    },
    Failure {
        names: &["no ranks in the environment"],
        about: "The program expects a launcher that starts it once per GPU, and was started without one.",
        advice: "zlaunch --nproc-per-node GPUS -- python train.py",
        lines: &[
            &["environment variable RANK expected, but not set"],
            &["environment variable MASTER_ADDR expected, but not set"],
            &["environment variable WORLD_SIZE expected, but not set"],
            &["KeyError: 'RANK'"],
            &["KeyError: 'LOCAL_RANK'"],
            &["KeyError: 'WORLD_SIZE'"],
            &["KeyError: 'MASTER_ADDR'"],
            &["KeyError: 'MASTER_PORT'"],
        ],
        example: "ValueError: Error initializing torch.distributed using env:// rendezvous: environment variable RANK expected, but not set",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["DeepSpeed on Windows"],
        about: "The log is of Windows. DeepSpeed's compiled operators are made for Linux: async_io (aio.lib) and GPUDirect Storage (cufile.lib) do not exist there, others need Visual Studio's compiler, and there is no NCCL. Where aio.lib or cufile.lib is only missed while DeepSpeed is imported, nothing failed yet.",
        advice: "Linux, or WSL2 with its own Python. On Windows itself: nothing, if the program goes on; a wheel instead of a build (pip install deepspeed, newer than 0.15, has some), else DS_BUILD_AIO=0 and DS_BUILD_GDS=0, in the prompt of Visual Studio with CUDA_HOME set; no offload to NVMe, and gloo instead of nccl",
        lines: &[
            &["[WinError 2] The system cannot find the file specified"],
            &["bin\\\\deepspeed.bat"],
            &["CUDA_HOME does not exist"],
            &["could not create 'build'"],
            &["LINK : fatal error LNK1181"],
            &["Unable to pre-compile async_io"],
            &["use_libuv was requested but PyTorch was built without libuv support"],
            &["Distributed package doesn't have NCCL built in"],
            &["CUDA_HOME environment variable is not set"],
            &["No such file or directory: '", "/bin/nvcc'"],
            &["CUDA_HOME does not exist, unable to compile CUDA op(s)"],
            &["has no attribute 'ds_opt_adam'"],
            &["DeepSpeedCPUAdam requires the cpu_adam op, which failed to build/load"],
            &["fatal error: ", ".h: No such file or directory"],
            &["nvcc fatal"],
            &["has no attribute 'multi_tensor_adam'"],
            &["Command '['ninja'"],
            &["Error building extension '"],
            &["Unable to JIT load the async_io op"],
            &["async_io requires the dev libaio .so object and headers but these were not found"],
            &["async_io: please install the libaio"],
        ],
        // Only there, or with a path of Windows above.
        traceback: &[
            "\\site-packages\\",
            "\\Lib\\",
            ":\\Users\\",
            "LINK : fatal error LNK1181",
            "\\setup.py",
            "use_libuv was requested",
            "WinError",
            "deepspeed.bat",
        ],
        role: Consequence,
        example: "LINK : fatal error LNK1181: cannot open input file 'aio.lib'",
        seen_in: "deepspeedai/DeepSpeed#7276",
        ..FAILURE
    },
    Failure {
        names: &["CPUAdam does not link"],
        about: "DeepSpeed compiles its CPU optimizer when it is first used, and the linker cannot find the CUDA libraries.",
        advice: "CUDA_HOME=/usr/local/cuda and LIBRARY_PATH=$CUDA_HOME/lib64; or a template without offload",
        lines: &[&["cannot find -lcurand"], &["cannot find -lcudart"]],
        here: &[Advice {
            key: OPTIMIZER_DEVICE,
            when: Is("cpu"),
            text: "without offload it is not needed: --deepspeed zero3",
        }],
        example: "/usr/bin/ld: cannot find -lcurand: No such file or directory",
        seen_in: "dhcode-cpp/X-R1#68",
        ..FAILURE
    },
    Failure {
        names: &["a system that is too old for a package"],
        about: "The compiled file wants a newer libc than this system has, which cannot be installed beside the old one.",
        advice: "a version of the package for older systems (flash-attn, vLLM and bitsandbytes have wheels by system), compiling it here (pip install --no-binary PACKAGE PACKAGE), or a container with a newer system",
        lines: &[&["version `GLIBC_", "not found"]],
        example: "ImportError: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by /env/lib/python3.11/site-packages/x.so)",
        seen_in: "glibc 2.36",
        ..FAILURE
    },
    Failure {
        names: &["the C++ library is too old for an operator"],
        about: "The operator, or the package that the line names, was compiled with a newer compiler than the libstdc++ that Python loads, which is often conda's.",
        advice: "conda install -c conda-forge libstdcxx-ng, or rm -r ~/.cache/torch_extensions and compile with the environment's own compiler",
        lines: &[
            &[
                "libstdc++.so.6: version",
                "not found (required by",
                "torch_extensions",
            ],
            &["version `GLIBCXX_", "not found"],
            &["version GLIBCXX_", "not found"],
        ],
        example: "ImportError: /root/anaconda3/lib/python3.9/site-packages/snappy/../../.././libstdc++.so.6: version GLIBCXX_3.4.29' not found (required by /root/.cache/torch_extensions/py39_cu117/cpu_adam/cpu_adam.so)",
        seen_in: "deepspeedai/DeepSpeed#4257",
        ..FAILURE
    },
    Failure {
        names: &["CUDA and torch of different versions"],
        about: "DeepSpeed compiles operators with this machine's CUDA, whose major version must be the same as torch's.",
        advice: "load the CUDA that torch was built for (module load cuda/12, CUDA_HOME), or install a torch built for this CUDA; DS_SKIP_CUDA_CHECK=1 tries anyway",
        lines: &[
            &[
                "The detected CUDA version",
                "mismatches the version that was used to compile",
            ],
            &[
                "Installed CUDA version",
                "does not match the version torch was compiled with",
                "unable to compile",
            ],
            &["CUDAMismatchException"],
        ],
        example: "deepspeed.ops.op_builder.builder.CUDAMismatchException: >- DeepSpeed Op Builder: Installed CUDA version 12.2 does not match the version torch was compiled with 11.7, unable to compile cuda/cpp extensions without a matching cuda version.",
        seen_in: "JIA-Lab-research/MGM#91",
        ..FAILURE
    },
    Failure {
        names: &["no CUDA to compile with"],
        about: "DeepSpeed compiles operators when they are first used, and finds no nvcc.",
        advice: "module load cuda, or export CUDA_HOME=/usr/local/cuda; conda install -c nvidia cuda-nvcc",
        lines: &[
            &["CUDA_HOME environment variable is not set"],
            &["No such file or directory: '", "/bin/nvcc'"],
            &["CUDA_HOME does not exist, unable to compile CUDA op(s)"],
        ],
        example: "deepspeed.ops.op_builder.builder.MissingCUDAException: CUDA_HOME does not exist, unable to compile CUDA op(s)",
        seen_in: "whittle-org/whittle#153",
        ..FAILURE
    },
    Failure {
        names: &["a gcc that is too new for nvcc"],
        about: "nvcc takes host compilers up to a certain gcc, and the one that it finds is newer.",
        advice: "an older gcc: CC=gcc-12 CXX=g++-12 and NVCC_PREPEND_FLAGS='-ccbin g++-12' (apt install g++-12, module load gcc/12, conda install -c conda-forge gxx=12); or a newer CUDA of the same major version",
        lines: &[&["unsupported GNU version"]],
        example: "#error -- unsupported GNU version! gcc versions later than 14 are not supported!",
        seen_in: "CUDA 12.9",
        ..FAILURE
    },
    Failure {
        names: &["DeepSpeed that is not installed"],
        about: "pip builds DeepSpeed from source and that failed; the reason stands above. It asks torch and CUDA while it is built.",
        advice: "torch first, then pip install --no-build-isolation deepspeed; without DS_BUILD_OPS (operators are compiled when they are first used); CUDA_HOME and nvcc where it asks for them",
        lines: &[
            &["Could not build wheels for deepspeed"],
            &["Failed to build deepspeed"],
            &["Failed building wheel for deepspeed"],
        ],
        example: "ERROR: Could not build wheels for deepspeed, which is required to install pyproject.toml-based projects",
        seen_in: "pip 23.2.1",
        ..FAILURE
    },
    Failure {
        names: &["no ninja"],
        about: "Operators are compiled with ninja, and it is not on the PATH of the ranks.",
        advice: "pip install ninja, on every machine; the environment's bin folder must be on PATH",
        lines: &[&["Ninja is required to load C++ extensions"]],
        example: "RuntimeError: Ninja is required to load C++ extensions",
        seen_in: "deepspeedai/DeepSpeed#1687",
        ..FAILURE
    },
    Failure {
        names: &["Python's headers are missing"],
        about: "Operators and triton kernels are compiled against Python's headers, which are not installed.",
        advice: "apt install python3-dev (of the same version), or a Python from uv or conda, which includes them",
        lines: &[&["fatal error: Python.h: No such file or directory"]],
        example: "/home/ubuntuai/axolotl/.venv/lib/python3.10/site-packages/torch/include/torch/csrc/python_headers.h:12:10: fatal error: Python.h: No such file or directory",
        seen_in: "deepspeedai/DeepSpeed#3223",
        ..FAILURE
    },
    Failure {
        names: &["CPUAdam does not compile"],
        about: "Offloading the optimizer needs DeepSpeed's CPU optimizer, which is compiled when it is first used. The compiler's own message is above this line, on one of the ranks.",
        advice: "python -c 'import deepspeed; deepspeed.ops.op_builder.CPUAdamBuilder().load()' shows it alone; `g++ --version` must be 9 or newer (module load gcc, or conda install -c conda-forge gxx); rm -r ~/.cache/torch_extensions after an update; or a template without offload",
        lines: &[
            &["has no attribute 'ds_opt_adam'"],
            &["Error building extension 'cpu_adam'"],
            &["DeepSpeedCPUAdam requires the cpu_adam op, which failed to build/load"],
            &["'DeepSpeedCPUAdam' object has no attribute 'ds_opt_adam'"],
            &["cpu_adam.so: cannot open shared object file"],
        ],
        here: &[Advice {
            key: OPTIMIZER_DEVICE,
            when: Is("cpu"),
            text: "without offload it is not needed: --deepspeed zero3",
        }],
        example: "RuntimeError: DeepSpeedCPUAdam requires the cpu_adam op, which failed to build/load.",
        seen_in: "DeepSpeed 0.19.8",
        ..FAILURE
    },
    Failure {
        names: &["a header that the compiler does not find"],
        about: "An operator is compiled when it is first used, and needs a header that is not installed here, or not where the compiler looks. Those of CUDA (cu….h) come with the whole toolkit, not with its compiler alone.",
        advice: "the CUDA toolkit of torch's version: conda install -c nvidia cuda-toolkit, or module load cuda, with CUDA_HOME pointing to it; then rm -r ~/.cache/torch_extensions",
        lines: &[&["fatal error: ", ".h: No such file or directory"]],
        example: "fatal error: curand_kernel.h: No such file or directory",
        seen_in: "deepspeedai/DeepSpeed#3411",
        ..FAILURE
    },
    Failure {
        names: &["a library that the linker does not find"],
        about: "An operator or a kernel (DeepSpeed, triton) was compiled, and the library behind -l is not where the linker looks. libcuda comes with the driver, the other libraries of CUDA with the toolkit.",
        advice: "LIBRARY_PATH=$CUDA_HOME/lib64 (for -lcuda: $CUDA_HOME/lib64/stubs, or the folder that `ldconfig -p | grep libcuda` names); else install the library with its headers",
        lines: &[&["cannot find -l"]],
        example: "/usr/bin/ld: cannot find -lcublas",
        seen_in: "deepspeedai/DeepSpeed#3929",
        ..FAILURE
    },
    Failure {
        names: &["a compiler that does not know the C++ of torch"],
        about: "The headers of torch are written in C++17 (from torch 2.12 on in C++20, which needs GCC 11), and the nvcc or C++ compiler that was found is too old for that.",
        advice: "the CUDA toolkit that torch was built for (`python -c 'import torch; print(torch.version.cuda)'`) with CUDA_HOME pointing to it, and a GCC of its time: --env CC=gcc-11 --env CXX=g++-11; then rm -r ~/.cache/torch_extensions",
        lines: &[
            &["Value 'c++", "is not defined for option 'std'"],
            &["unrecognized command line option '-std=c++"],
            &["unrecognized command-line option '-std=c++"],
            &["#error You need C++", "to compile PyTorch"],
            &[
                "#error C++",
                "or later compatible compiler is required to use",
            ],
        ],
        example: "nvcc fatal   : Value 'c++17' is not defined for option 'std'",
        seen_in: "deepspeedai/DeepSpeedExamples#594",
        ..FAILURE
    },
    Failure {
        names: &["a compiler that is too old for torch"],
        about: "An operator of DeepSpeed is compiled with torch's headers, which need GCC 9 or newer, and the compiler that was found is older, whatever else is installed.",
        advice: "CC and CXX of a newer GCC (module load gcc, conda install -c conda-forge gxx, apt install g++): --env CC=gcc-11 --env CXX=g++-11, for example; then rm -r ~/.cache/torch_extensions",
        lines: &[&["with a too old version of GCC"]],
        example: "torch/include/c10/util/C++17.h:13:2: error: #error \"You're trying to build PyTorch with a too old version of GCC. We need GCC 9 or later.\"",
        seen_in: "deepspeedai/DeepSpeed#7143",
        ..FAILURE
    },
    Failure {
        names: &["what the compiler says"],
        about: "An operator of DeepSpeed was being compiled, and this is the compiler's own reason: all below follows from it.",
        advice: "a compiler that nvcc supports: CC=gcc CXX=g++ (unload other compilers), not newer than this CUDA allows; then rm -r ~/.cache/torch_extensions",
        lines: &[&["nvcc fatal"], &["#error -- unsupported GNU version"]],
        unlike: &["Unsupported gpu architecture"],
        example: "nvcc fatal   : Unsupported NVHPC compiler found. nvc++ is the only NVHPC compiler that is supported.",
        seen_in: "deepspeedai/DeepSpeed#6654",
        ..FAILURE
    },
    Failure {
        names: &["an operator does not compile"],
        about: "DeepSpeed compiles operators when they are first used. The compiler's own message is above this line, on one of the ranks.",
        advice: "ds_report names what is missing; rm -r ~/.cache/torch_extensions after an update of torch or the compiler",
        lines: &[
            &["torch_extensions/", ".so: cannot open shared object file"],
            &["has no attribute 'multi_tensor_adam'"],
            &["Command '['ninja'"],
            &["Error building extension '"],
        ],
        example: "Error building extension 'fused_adam' with DeepSpeed==0.3.13",
        seen_in: "deepspeedai/DeepSpeed#885",
        ..FAILURE
    },
    Failure {
        names: &["no libaio"],
        about: "Offloading to NVMe needs libaio and its headers. Without it, the line is only a warning; an installation with DS_BUILD_OPS=1 ends with it.",
        advice: "apt install libaio-dev, or conda install -c conda-forge libaio with CFLAGS and LDFLAGS set to its folders; installing without it: DS_BUILD_AIO=0, or without DS_BUILD_OPS (operators are compiled when they are first used)",
        lines: &[
            &["Unable to JIT load the async_io op"],
            &["Unable to pre-compile async_io"],
        ],
        here: &[Advice {
            key: OPTIMIZER_DEVICE,
            when: Is("nvme"),
            text: "with enough host memory: --deepspeed zero3_offload",
        }],
        example: "RuntimeError: Unable to JIT load the async_io op due to it not being compatible due to hardware/software issue.",
        seen_in: "deepspeedai/DeepSpeed#1037",
        ..FAILURE
    },
    Failure {
        names: &["a warning about addresses"],
        about: "torch tried an address of IPv6 first and found none for this machine. It goes on with IPv4: nothing is wrong because of it.",
        advice: "nothing (MASTER_ADDR=127.0.0.1 instead of localhost silences it); what stopped the run, if anything, stands elsewhere",
        lines: &[
            &[
                "socket cannot be initialized",
                "errno: 97 - Address family not supported by protocol",
            ],
            &[
                "[W",
                "The client socket has failed to connect to [",
                "errno: 99 - Cannot assign requested address",
            ],
        ],
        role: Report,
        example: "[W socket.cpp:464] [c10d] The client socket cannot be initialized to connect to [node1]:29500 (errno: 97 - Address family not supported by protocol).",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["variables that accelerate does not hand on"],
        about: "Not an error: with several machines, accelerate writes the environment into .deepspeed_env for the others, and leaves out what does not fit on a line there, such as functions of the shell.",
        advice: "nothing. If the other machines do nothing, that is another matter: deepspeed_hostfile in accelerate's file, or one launch on every machine with deepspeed_multinode_launcher: standard",
        lines: &[&[
            "Skipping ",
            "as it contains forbidden characters or missing values",
        ]],
        role: Report,
        example: "WARNING: Skipping BASH_FUNC_module%% as it contains forbidden characters or missing values.",
        seen_in: "accelerate 1.15.0",
        ..FAILURE
    },
    Failure {
        names: &["a warning about libaio"],
        about: "Not an error: DeepSpeed looks at which operators could be compiled, and the one for NVMe needs libaio. Nothing else does.",
        advice: "nothing, without offload to NVMe; with it: apt install libaio-dev. If the run ended, the reason is another line",
        lines: &[
            &["async_io requires the dev libaio .so object and headers but these were not found"],
            &["async_io: please install the libaio"],
        ],
        role: Consequence,
        example: "[WARNING]  async_io requires the dev libaio .so object and headers but these were not found.",
        seen_in: "DeepSpeed 0.19.8",
        ..FAILURE
    },
    Failure {
        names: &["a compiled operator in the cache that is of another torch"],
        about: "Operators are compiled once and kept in ~/.cache/torch_extensions. This one was compiled with another torch or CUDA than the one that loads it.",
        advice: "rm -r ~/.cache/torch_extensions (or TORCH_EXTENSIONS_DIR), so that it is compiled again; one such folder for each environment",
        lines: &[&["torch_extensions", ".so: undefined symbol"]],
        example: "ImportError: /root/.cache/torch_extensions/py310_cu117/fused_adam/fused_adam.so: undefined symbol: _ZN3c104cuda20CUDACachingAllocator9allocatorE",
        seen_in: "deepspeedai/DeepSpeed#3410",
        ..FAILURE
    },
    Failure {
        names: &["no torch while DeepSpeed is built"],
        about: "pip builds DeepSpeed in an environment of its own, in which there is no torch, whatever is installed here.",
        advice: "pip install --no-build-isolation deepspeed, after torch, setuptools, wheel and ninja; with DS_BUILD_OPS=0 no operator is compiled before it is used",
        lines: &[
            &["Unable to import torch, pre-compiling ops will be disabled"],
            &["unable to import torch, please install it if you want to pre-compile"],
        ],
        example: "[WARNING] Unable to import torch, pre-compiling ops will be disabled. Please visit https://pytorch.org/ to see how to properly install torch on your system.",
        seen_in: "deepspeedai/DeepSpeed#7616",
        ..FAILURE
    },
    Failure {
        names: &["operators built for another torch"],
        about: "This DeepSpeed was built, or downloaded as a wheel, with its operators compiled for another torch.",
        advice: "rebuild it for this torch: pip install --force-reinstall --no-cache-dir --no-deps --no-binary deepspeed deepspeed; or install the torch that the line names",
        lines: &[
            &["DeepSpeed ops were compiled and installed with a different version"],
            &["/deepspeed/ops/", ".so: undefined symbol"],
        ],
        example: "RuntimeError: PyTorch version mismatch! DeepSpeed ops were compiled and installed with a different version than what is being used at runtime. Please re-install DeepSpeed or switch torch versions. Install torch version=2.11, Runtime torch version=2.9",
        seen_in: "ray-project/ray#65936",
        ..FAILURE
    },
    Failure {
        names: &["a package that is too new or too old for the trainer"],
        about: "The trainer checks the versions of other packages, and one is outside of what it was tested with.",
        advice: "install what the line asks for, in quotes, because < and > mean something to a shell; LLaMA-Factory takes any version with DISABLE_VERSION_CHECK=1, at your own risk",
        lines: &[&["is required for a normal functioning of this module, but found"]],
        example: "[rank2]: ImportError: deepspeed>=0.10.0,<=0.16.9 is required for a normal functioning of this module, but found deepspeed==0.17.2.",
        seen_in: "xming521/WeClone#184",
        ..FAILURE
    },
    Failure {
        names: &["DeepSpeed is older than numpy 2"],
        about: "DeepSpeed before 0.14.4 imports a name that numpy 2 does not have.",
        advice: "pip install --upgrade deepspeed, or pip install 'numpy<2'",
        lines: &[&["cannot import name 'BUFSIZE' from 'numpy'"]],
        fixed: Some(("deepspeed", "0.14.4")),
        example: "ImportError: cannot import name 'BUFSIZE' from 'numpy' (~/anaconda3/envs/llama_factory/lib/python3.10/site-packages/numpy/__init__.py)",
        seen_in: "hiyouga/LlamaFactory#4403",
        ..FAILURE
    },
    Failure {
        names: &["keys that this DeepSpeed does not know yet"],
        about: "The lines above name keys of the config that came with a later DeepSpeed, or that are misspelt.",
        advice: "`zlaunch check -- COMMAND`, or `zlaunch check` on the config, says of each key whether it belongs elsewhere (aio stands beside zero_optimization, not in it), is misspelt, or came later; for a later one, pip install --upgrade deepspeed",
        lines: &[&["extra fields not permitted"]],
        traceback: &["deepspeed/", "for DeepSpeed"],
        alone: true,
        example: "  extra fields not permitted (type=value_error.extra)",
        seen_in: "deepspeedai/DeepSpeed#3827",
        ..FAILURE
    },
    Failure {
        names: &["different samples within a tensor-parallel group"],
        about: "All ranks of a tensor-parallel group must get the same samples, and older releases of accelerate give each rank others.",
        advice: "pip install --upgrade 'accelerate>=1.6' 'transformers>=4.50'",
        lines: &[&["Data inconsistency within the TP group"]],
        fixed: Some(("accelerate", "1.6.0")),
        example: "AssertionError: Data inconsistency within the TP group. Please check the Dataloader implementation to ensure consistency.",
        seen_in: "deepspeedai/DeepSpeed#7199",
        ..FAILURE
    },
    Failure {
        names: &["an optimizer section without a scheduler"],
        about: "transformers 4.30 to 4.32 refuse an optimizer in the DeepSpeed config without a scheduler beside it.",
        advice: "pip install --upgrade transformers accelerate; or --unset optimizer; or add a scheduler section",
        lines: &[&["Found `optimizer` configured in the DeepSpeed config, but no `scheduler`"]],
        fixed: Some(("transformers", "4.33.0")),
        example: "ValueError: Found `optimizer` configured in the DeepSpeed config, but no `scheduler`. Please configure a scheduler in the DeepSpeed config.",
        seen_in: "huggingface/transformers#24359",
        ..FAILURE
    },
    Failure {
        names: &["DeepSpeed is older than torch"],
        about: "This DeepSpeed was written for an older torch: before 2.0 without `torch._six`, before 2.4 without this `log`.",
        advice: "pip install --upgrade deepspeed",
        lines: &[
            &["cannot import name 'log' from 'torch.distributed.elastic.agent.server.api'"],
            &["No module named 'torch._six'"],
        ],
        example: "ImportError: cannot import name 'log' from 'torch.distributed.elastic.agent.server.api' (/root/miniconda3/lib/python3.11/site-packages/torch/distributed/elastic/agent/server/api.py)",
        seen_in: "deepspeedai/DeepSpeed#5337",
        ..FAILURE
    },
    Failure {
        names: &["CUDA libraries for another torch"],
        about: "A library of CUDA is not there, or of another version: LD_LIBRARY_PATH or a CUDA module puts others before those that came with torch, or the package whose file the traceback names was built for another CUDA than torch's.",
        advice: "unset LD_LIBRARY_PATH, or do not load the CUDA module: torch brings its own libraries; or install that package again (pip install --force-reinstall --no-cache-dir PACKAGE) for torch's CUDA",
        lines: &[
            &["failed to open libnvrtc-builtins"],
            &[
                "ImportError: libcudart.so",
                "cannot open shared object file",
            ],
            &["undefined symbol: __nvJitLink"],
            &["libcudart.so.12: cannot open shared object file"],
        ],
        example: "ImportError: /home/dp/anaconda3/envs/ComfyUI/lib/python3.11/site-packages/torch/lib/../../nvidia/cusparse/lib/libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12",
        seen_in: "pytorch/pytorch#131312",
        ..FAILURE
    },
    Failure {
        names: &["flash-attn built for another torch"],
        about: "The package was compiled for another version of torch.",
        advice: "pip install --force-reinstall --no-build-isolation --no-cache-dir flash-attn, or --attn_impl sdpa (ms-swift), --attn_implementation sdpa (TRL), flash_attn: sdpa (LLaMA-Factory)",
        lines: &[
            &["flash_attn_2_cuda", "undefined symbol"],
            &["flash_attn_2_cuda", "cannot open shared object file"],
        ],
        example: "ImportError: /opt/lib/python3.12/site-packages/flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
        seen_in: "Dao-AILab/flash-attention#1832",
        ..FAILURE
    },
    Failure {
        names: &["another NCCL in front of torch's"],
        about: "torch found an older NCCL than the one it was built with: LD_LIBRARY_PATH, LD_PRELOAD or a CUDA module puts it first.",
        advice: "--unset-env LD_LIBRARY_PATH and --unset-env LD_PRELOAD, or do not load that module; pip install --force-reinstall torch brings its own NCCL back",
        lines: &[&["undefined symbol: nccl"]],
        example: "ImportError: /env/lib/python3.10/site-packages/torch/lib/libtorch_cuda.so: undefined symbol: ncclCommRegister",
        seen_in: "glibc 2.36",
        ..FAILURE
    },
    Failure {
        names: &["a compiled package for another torch"],
        about: "The file in the line was compiled against another torch (or CUDA) than the one that is installed, so it does not find a function of it.",
        advice: "install the package of that file again for this torch: pip install --force-reinstall --no-deps --no-build-isolation --no-cache-dir PACKAGE; or the torch for which it has wheels",
        lines: &[&["ImportError:", ".so: undefined symbol"]],
        example: "ImportError: /usr/local/lib/python3.8/dist-packages/transformer_engine_extensions.cpython-38-x86_64-linux-gnu.so: undefined symbol: _ZN5torch3jit17parseSchemaOrNameERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
        seen_in: "huggingface/accelerate#1475",
        ..FAILURE
    },
    Failure {
        names: &["no flash-attn"],
        about: "The arguments ask for FlashAttention, whose package is not installed.",
        advice: "pip install --no-build-isolation flash-attn, or --attn_impl sdpa (ms-swift), --attn_implementation sdpa (TRL), flash_attn: sdpa (LLaMA-Factory)",
        lines: &[&["FlashAttention2 has been toggled on, but it cannot be used"]],
        example: "ImportError: FlashAttention2 has been toggled on, but it cannot be used due to the following error: the package flash_attn seems to be not installed.",
        seen_in: "hiyouga/EasyR1#384",
        ..FAILURE
    },
    Failure {
        names: &["a model or tokenizer that is not here, offline"],
        about: "The name is not a folder here, so the trainer looks in the cache and then on the hub, which this machine cannot reach.",
        advice: "hf download MODEL on a machine with network and the same HF_HOME, then HF_HUB_OFFLINE=1 here; or the path of a folder as --model; a proxy (HTTPS_PROXY) or mirror (HF_ENDPOINT), if there is one",
        lines: &[
            &["HTTPSConnectionPool(host='huggingface.co'"],
            &["HTTPSConnectionPool(host='hf-mirror.com'"],
            &["HTTPSConnectionPool(host='cdn-lfs"],
            &["We couldn't connect to 'https://huggingface.co' to load"],
            &[
                "Cannot find the requested files in the disk cache and outgoing traffic has been disabled",
            ],
            &["we cannot find the requested files in the local cache"],
        ],
        example: "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached files.",
        seen_in: "transformers 5.19.0",
        ..FAILURE
    },
    Failure {
        names: &["a model that ModelScope cannot fetch"],
        about: "ms-swift downloads from modelscope.cn unless the name is a folder here, and this machine cannot reach it.",
        advice: "modelscope download --model MODEL on a machine with network and the same MODELSCOPE_CACHE, or the path of a folder as --model; --use_hf true where only Hugging Face can be reached",
        lines: &[
            &["NetworkError:", "modelscope.cn", "Failed to resolve"],
            &[
                "HTTPSConnectionPool(host='www.modelscope.cn'",
                "Failed to resolve",
            ],
        ],
        example: "modelscope_hub.errors.NetworkError: [E1020] Connection failed: _DownloadHTTPSConnectionPool(host='modelscope.cn', port=443): Max retries exceeded with url: /api/v1/models/Qwen/Qwen3-0.6B/repo/files?Revision=master&Recursive=True (Caused by NameResolutionError(\"_DownloadHTTPSConnection(host='modelscope.cn', port=443): Failed to resolve 'modelscope.cn' ([Errno -2] Name or service not known)\"))",
        seen_in: "ms-swift 4.6.0",
        ..FAILURE
    },
    Failure {
        names: &["a dataset that is not here, offline"],
        about: "The name is not a file here, so the trainer looks on the hub, which this machine cannot reach. What was cached with other arguments does not count.",
        advice: "load it once on a machine with network and the same HF_HOME, then HF_HUB_OFFLINE=1 here; or the path of a file as --dataset",
        lines: &[
            &["Couldn't reach", "on the Hub"],
            &["Couldn't find cache for"],
        ],
        example: "ConnectionError: Couldn't reach 'tatsu-lab/alpaca' on the Hub (OfflineModeIsEnabled)",
        seen_in: "datasets 4.8.4",
        ..FAILURE
    },
    Failure {
        names: &["a gated model"],
        about: "The model's owner must grant your account access, and the ranks need that account's token.",
        advice: "ask for access on the model's page, then hf auth login, or HF_TOKEN in the environment of the job",
        lines: &[
            &["Cannot access gated repo for url"],
            &["You are trying to access a gated repo"],
        ],
        example: "OSError: You are trying to access a gated repo.",
        seen_in: "data-prep-kit/data-prep-kit#1504",
        ..FAILURE
    },
    Failure {
        names: &["a checkpoint file that is cut off"],
        about: "torch.load found the beginning of a file but not its end, or nothing: saving, copying or downloading it was interrupted, the disk was full, or it is a pointer of git-lfs.",
        advice: "`ls -l` on the file that the traceback names, beside those of the other ranks; resume from an earlier checkpoint, or copy or download it again",
        lines: &[
            &["Unable to load weights from pytorch checkpoint file"],
            &["PytorchStreamReader failed reading zip archive"],
            &["PytorchStreamReader failed locating file"],
            &["EOFError: Ran out of input"],
            &["invalid header or archive is corrupted"],
        ],
        example: "RuntimeError: PytorchStreamReader failed reading zip archive: not a ZIP archive",
        seen_in: "hiyouga/LlamaFactory#6208",
        ..FAILURE
    },
    Failure {
        names: &["a broken weight file"],
        about: "The file is not a safetensors file: the download was cut off, or it is an error page, or a git-lfs pointer.",
        advice: "`ls -l` shows its size; download it again: hf download MODEL --force-download",
        lines: &[&["Error while deserializing header"]],
        example: "safetensors._safetensors_rust.SafetensorError: Error while deserializing header: header too large",
        seen_in: "safetensors 0.8.0",
        ..FAILURE
    },
    Failure {
        names: &["ranks that exchange different things"],
        about: "The ranks send each other Python objects, and what came was not what this one waited for: they are at different places of the program. Often some found a checkpoint to resume and others did not (a folder that only one rank or machine has, or that was still being copied), or they have other data.",
        advice: "the same files on all machines, complete before the launch (a checkpoint on shared storage); the same arguments on all machines; in a script, a barrier after the rank that prepares files",
        lines: &[
            &["Trying to create tensor with negative dimension"],
            &["UnpicklingError: "],
            &["EOFError: Ran out of input"],
        ],
        traceback: &["_object_list", "gather_object", "_tensor_to_object"],
        example: "RuntimeError: Trying to create tensor with negative dimension -686245457367107674",
        seen_in: "huggingface/transformers#28270",
        ..FAILURE
    },
    Failure {
        names: &["a pointer instead of weights"],
        about: "The repository was cloned without git-lfs, which leaves a file of three lines for each file of weights.",
        advice: "git lfs install && git lfs pull, in the folder of the model; or hf download MODEL --local-dir FOLDER",
        lines: &[
            &["UnpicklingError: invalid load key, 'v'"],
            &["is a pointer of git-lfs"],
            &["You seem to have cloned a repository without having git-lfs installed"],
        ],
        example: "OSError: You seem to have cloned a repository without having git-lfs installed. Please install git-lfs and run `git lfs install` followed by `git lfs pull` in the folder you cloned.",
        seen_in: "transformers 4.55.4",
        ..FAILURE
    },
    Failure {
        names: &["a file of weights that is not there"],
        about: "model.safetensors.index.json lists the files of the weights, and one of them is not in the folder: the download was interrupted.",
        advice: "hf download MODEL --local-dir FOLDER, which fetches what is missing",
        lines: &[&["and the index of the weights names it"]],
        example: "model-00002-of-00002.safetensors is not there, and the index of the weights names it",
        seen_in: "transformers 5.19.0",
        ..FAILURE
    },
    Failure {
        names: &["weights of another config"],
        about: "Shapes in the files of the weights are not those of the model that was made: config.json was changed or belongs to another model, tokens were added, or the head has another number of labels. The report above names each weight with both shapes; one that is torch.Size([0]) there was saved or created under ZeRO-3.",
        advice: "take config.json and the weights from the same download: hf download MODEL --local-dir FOLDER",
        lines: &[
            &["do not fit its config.json"],
            &["You set `ignore_mismatched_sizes` to `False`, thus raising an error"],
        ],
        example: "RuntimeError: You set `ignore_mismatched_sizes` to `False`, thus raising an error. For details look at the above report!",
        seen_in: "transformers 5.19.0",
        ..FAILURE
    },
    Failure {
        names: &["weights that ZeRO-3 saved in pieces"],
        about: "The checkpoint was saved under ZeRO-3 without gathering the weights, so each of them is empty.",
        advice: "python zero_to_fp32.py CHECKPOINT OUTPUT, in the folder of the checkpoint; next time --set zero_optimization.stage3_gather_16bit_weights_on_model_save=true",
        lines: &[
            &["start (", "exceeds dimension size (0)"],
            &["copying a param with shape torch.Size([0]) from checkpoint"],
            &["does not match the vocab size of the LoRA weight 0!"],
            &["size mismatch - ckpt: torch.Size([0]) vs"],
        ],
        example: "size mismatch for model.decoder.layers.25.self_attn.q_proj.weight: copying a param with shape torch.Size([0]) from checkpoint, the shape in current model is torch.Size([2560, 2560]).",
        seen_in: "huggingface/transformers#20082",
        ..FAILURE
    },
    Failure {
        names: &["weights loaded into a model that ZeRO-3 has split"],
        about: "The model was created under ZeRO-3, so its weights are sharded and empty, and this code loads a checkpoint into them without gathering them.",
        advice: "--deepspeed zero2; in your own code, load inside deepspeed.zero.GatheredParameters, or before ZeRO-3 splits the model",
        lines: &[
            &["(which has shape torch.Size([0]))"],
            &["from checkpoint, the shape in current model is torch.Size([0])"],
            &["size mismatch - ckpt:", "vs model:torch.Size([0])"],
        ],
        only_with_zero3: true,
        here: &[NOT_ZERO3],
        example: "size mismatch for vision_model.vision_tower_high.vision_tower.neck_hd.0.weight: copying a param with shape torch.Size([256, 768, 1, 1]) from checkpoint, the shape in current model is torch.Size([0]).",
        seen_in: "modelscope/ms-swift#1058",
        ..FAILURE
    },
    Failure {
        names: &["a checkpoint of other parameters"],
        about: "The checkpoint was saved by a launch with another model, LoRA rank or choice of modules, and its parameters do not fit those of this one.",
        advice: "resume with the arguments that it was saved with (model, LoRA rank, target modules); or give it as the model or adapter, and start the optimizer anew",
        lines: &[
            &["the checkpoint has the optimizer's states for"],
            &["from checkpoint, the shape in current model is torch.Size(["],
        ],
        example: "size mismatch for model.embed_tokens.weight: copying a param with shape torch.Size([128, 64]) from checkpoint, the shape in current model is torch.Size([100, 64]).",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["no model states in the checkpoint"],
        about: "DeepSpeed finds no file with the model's states in the folder (global_stepN) that `latest` names. One of these: saving or copying was interrupted, or only some ranks could write there; the files are not on this machine; the checkpoint is of another stage (ZeRO-3 calls them zero_pp_rank_*_model_states.pt, the others mp_rank_*_model_states.pt).",
        advice: "`ls` that folder, on each machine: without any *_model_states.pt, resume from an earlier checkpoint, or copy the whole folder; with them, resume with the stage that it was saved with (--deepspeed zero2 or zero3)",
        lines: &[&["AssertionError"], &["assert len(self.ckpt_list) > 0"]],
        traceback: &["check_ckpt_list", "assert len(self.ckpt_list) > 0"],
        example: "AssertionError",
        seen_in: "deepspeed 0.19.8",
        ..FAILURE
    },
    Failure {
        names: &["a dataset that a process did not survive"],
        about: "One of the processes that prepare the dataset ended without a word: nearly always the kernel killed it, because host memory ran out.",
        advice: "a smaller --dataset_num_proc (LLaMA-Factory: preprocessing_num_workers), with 1 to see its own error; more memory for the job; `dmesg | tail` shows whether it was killed",
        lines: &[&["One of the subprocesses has abruptly died during map operation"]],
        example: "RuntimeError: One of the subprocesses has abruptly died during map operation.To debug the error, disable multiprocessing.",
        seen_in: "modelscope/ms-swift#4425",
        ..FAILURE
    },
    Failure {
        names: &["a dataset cache that is gone"],
        about: "A file in the cache of datasets is named and not there: the cache was removed or belongs to another machine, or several machines or ranks wrote the same folder at the same time.",
        advice: "remove that folder of the cache, and prepare the data once on one rank before the others (LLaMA-Factory: tokenized_path), or give each machine an HF_HOME of its own",
        lines: &[&["FileNotFoundError: [Errno 2]", "/datasets/", ".arrow'"]],
        example: "FileNotFoundError: [Errno 2] No such file or directory: '/ibex/user/x/.cache/huggingface/datasets/json/default-4f6b3f6d/0.0.0/cache-1a2b3c_00003_of_00016.arrow'",
        seen_in: "hiyouga/LlamaFactory#3065",
        ..FAILURE
    },
    Failure {
        names: &["a mapping that makes columns of different lengths"],
        about: "dataset.map(batched=True) may return more or fewer rows than it gets, but the columns that it leaves must have the same number.",
        advice: "remove_columns=dataset.column_names in that map, or a function that returns one row for each",
        lines: &[&["ArrowInvalid: Column", "expected length", "but got length"]],
        example: "pyarrow.lib.ArrowInvalid: Column 1 named labels expected length 1000 but got length 998",
        seen_in: "pyarrow 26.0.1",
        ..FAILURE
    },
    Failure {
        names: &["data files with different columns"],
        about: "The lines or files of a dataset do not have the same columns, or one of them is not valid JSON. The message above names the column.",
        advice: "give every line the same keys, with values of the same type",
        lines: &[
            &["All the data files must have the same columns"],
            &["DatasetGenerationError: An error occurred while generating the dataset"],
        ],
        example: "datasets.builder.DatasetGenerationError: An error occurred while generating the dataset",
        seen_in: "hiyouga/LlamaFactory#1784",
        ..FAILURE
    },
    Failure {
        names: &["no sample fits the format"],
        about: "LLaMA-Factory dropped every sample: the columns in dataset_info.json do not match the data, or the texts do not fill one block of cutoff_len.",
        advice: "compare dataset_info.json with the keys of the file; for pre-training, packing: false or a smaller cutoff_len",
        lines: &[
            &["Cannot find valid samples, check `data/README.md`"],
            &["Cannot find sufficient samples, consider increasing dataset size"],
        ],
        example: "RuntimeError: Cannot find valid samples, check `data/README.md` for the data format.",
        seen_in: "hiyouga/LlamaFactory#2577",
        ..FAILURE
    },
    Failure {
        names: &["no padding token"],
        about: "The samples of a batch are padded to the same length, and this tokenizer has no token for that.",
        advice: "in the script: tokenizer.pad_token = tokenizer.eos_token; or \"pad_token\" in tokenizer_config.json",
        lines: &[&["Asking to pad but the tokenizer does not have a padding token"]],
        example: "ValueError: Asking to pad but the tokenizer does not have a padding token. Please select a token to use as `pad_token` `(tokenizer.pad_token = tokenizer.eos_token e.g.)`",
        seen_in: "DachengLi1/LongChat#31",
        ..FAILURE
    },
    Failure {
        names: &["a checkpoint that zero_to_fp32.py has nothing to do with"],
        about: "The files are not those of a ZeRO optimizer: with stage 0 the weights are whole, in mp_rank_00_model_states.pt, and there is nothing to put together.",
        advice: "load mp_rank_00_model_states.pt with torch.load, and take its \"module\"; or name the folder of a checkpoint that was saved with stage 1, 2 or 3",
        lines: &[&["is not a zero checkpoint"]],
        example: "ValueError: ./pytorch_model/mp_rank_00_model_states.pt is not a zero checkpoint",
        seen_in: "huggingface/accelerate#3210",
        ..FAILURE
    },
    Failure {
        names: &["a checkpoint without the state for a universal one"],
        about: "ds_to_universal.py wants an entry universal_checkpoint_info, which Megatron-DeepSpeed writes and other trainers do not.",
        advice: "ds_to_universal.py --inject_missing_state, in a newer DeepSpeed (0.19.8 has it)",
        lines: &[&["Required universal_checkpoint_info state is missing in checkpoint"]],
        example: "AssertionError: Required universal_checkpoint_info state is missing in checkpoint. Verify that client creates this state.",
        seen_in: "deepspeedai/DeepSpeed#5430",
        ..FAILURE
    },
    Failure {
        names: &["a checkpoint of DeepSpeed that is a folder"],
        about: "Lightning saves a folder under the name of the checkpoint when DeepSpeed trains, and this code opens it as one file.",
        advice: "resume with the same DeepSpeed strategy in the Trainer; to load it without DeepSpeed: python zero_to_fp32.py . OUTPUT, in that folder",
        lines: &[&["IsADirectoryError: [Errno 21] Is a directory: '", ".ckpt'"]],
        example: "IsADirectoryError: [Errno 21] Is a directory: 'checkpoints/last.ckpt'",
        seen_in: "Lightning-AI/lightning-thunder#1942",
        ..FAILURE
    },
    Failure {
        names: &["a file that was saved on a GPU that is not here"],
        about: "torch.load puts tensors back on the GPU that they came from, and this process sees fewer GPUs than the one that saved them.",
        advice: "torch.load(…, map_location=\"cpu\") where the code is yours; to resume, as many GPUs on the machine as before",
        lines: &[&["Attempting to deserialize object on", "device"]],
        example: "RuntimeError: Attempting to deserialize object on CUDA device 2 but torch.cuda.device_count() is 1. Please use torch.load with map_location to map your storages to an existing device.",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["a checkpoint from a different number of ranks"],
        about: "ZeRO splits the optimizer states by rank, and loads them only on as many ranks as saved them.",
        advice: "resume on the same number of GPUs; or convert it with ds_to_universal.py and --set checkpoint.load_universal=true; or --resume_only_model true (ms-swift), which starts with a new optimizer",
        lines: &[&["The checkpoint being loaded used a DP world size of"]],
        here: &[Advice {
            key: RANKS,
            when: Given,
            text: "this launch has {} ranks on a machine",
        }],
        example: "[rank5]: deepspeed.runtime.zero.utils.ZeRORuntimeException: The checkpoint being loaded used a DP world size of 8 but the current world size is 16.",
        seen_in: "deepspeedai/DeepSpeed#6441",
        ..FAILURE
    },
    Failure {
        names: &["no checkpoint to go on from"],
        about: "The run was told to resume from the last checkpoint (--resume_from_checkpoint true), and the output folder has none: it is another folder, or nothing was saved before.",
        advice: "the folder itself: --resume_from_checkpoint OUTPUT/checkpoint-500; or without the option for a first run; with several machines, the folder must be there on each of them",
        lines: &[
            &["No valid checkpoint found in output directory"],
            &["Unable to find 'latest' file at"],
        ],
        example: "ValueError: No valid checkpoint found in output directory (out)",
        seen_in: "transformers 5.19.0",
        ..FAILURE
    },
    Failure {
        names: &["a checkpoint without DeepSpeed's part"],
        about: "The folder has weights only. It was saved with --save_only_model, or without DeepSpeed, or saving was interrupted.",
        advice: "name a checkpoint that has a global_step folder; or give it as --model, with a new optimizer",
        lines: &[
            &["Can't find a valid checkpoint at"],
            &["[deepspeed] failed to resume from checkpoint"],
        ],
        example: "ValueError: Can't find a valid checkpoint at ./checkpoints/Video-LLaVA-Pretrain-7B/checkpoint-1500",
        seen_in: "PKU-YuanGroup/Video-LLaVA#42",
        ..FAILURE
    },
    Failure {
        names: &["a checkpoint that torch.load refuses"],
        about: "Since torch 2.6, torch.load accepts only tensors by default; the states of the optimizer and the random number generators hold more.",
        advice: "upgrade transformers and DeepSpeed; for a checkpoint of your own, TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1",
        lines: &[
            &["Weights only load failed"],
            &["learn more about types accepted by default with weights_only"],
        ],
        example: "[rank4]: _pickle.UnpicklingError: Weights only load failed. This file can still be loaded, to do so you have two options, do those steps only if you trust the source of the checkpoint.",
        seen_in: "modelscope/ms-swift#5808",
        ..FAILURE
    },
    Failure {
        names: &["parameters of two precisions under ZeRO-3"],
        about: "ZeRO-3 puts the parts of all trained weights into one buffer, and some of them are in 32 bits and others in 16: a head, an adapter, an embedding or a reference model was made or loaded in another precision than the rest.",
        advice: "one precision for all weights: --bf16 true with --torch_dtype bfloat16 (ms-swift, TRL: --dtype bfloat16), and in a script .to(torch.bfloat16) for what it adds, before the model is prepared; or --deepspeed zero2",
        lines: &[&["assert len(set(t.dtype for t in tensors)) == 1"]],
        only_with_zero3: true,
        here: &[NOT_ZERO3],
        example: "assert len(set(t.dtype for t in tensors)) == 1",
        seen_in: "hiyouga/LlamaFactory#3634",
        ..FAILURE
    },
    Failure {
        names: &["DeepSpeed's hybrid engine with this model"],
        about: "The hybrid engine of DeepSpeed-Chat replaces the model's layers for generating, and the shapes do not fit: it knows few architectures and their older forms.",
        advice: "drop --enable_hybrid_engine; or --set hybrid_engine.enabled=false",
        lines: &[
            &["The size of tensor a ("],
            &["mat1 and mat2 shapes cannot be multiplied"],
        ],
        traceback: &["hybrid_engine.py"],
        example: "RuntimeError: The size of tensor a (6144) must match the size of tensor b (8192) at non-singleton dimension 0",
        seen_in: "deepspeedai/DeepSpeedExamples#587",
        ..FAILURE
    },
    Failure {
        names: &["a torch that is too old for DeepSpeed's count of gradients"],
        about: "DeepSpeed 0.18 and newer count in the backward pass which parameters take part, with a function of torch that fails in older versions (2.4) where gradients are off, as they are there under gradient checkpointing.",
        advice: "a newer torch; or DeepSpeed before 0.18",
        lines: &[&["'NoneType' object has no attribute 'next_functions'"]],
        traceback: &[
            "count_used_parameters_in_backward",
            "_get_grad_fn_or_grad_acc",
        ],
        alone: true,
        example: "[rank7]: AttributeError: 'NoneType' object has no attribute 'next_functions'",
        seen_in: "dexmal/dexbotic#66",
        ..FAILURE
    },
    Failure {
        names: &["a gradient that something else has taken"],
        about: "DeepSpeed's hook is called for a parameter's gradient, and there is none: something moved or cleared it during the backward pass, such as Unsloth, which offloads gradients.",
        advice: "with Unsloth, no offloading of gradients together with DeepSpeed (use_gradient_checkpointing=True instead of \"unsloth\"); in a script, nothing that sets gradients to None (zero_grad()) before engine.step()",
        lines: &[
            &["'NoneType' object has no attribute 'numel'"],
            &["'NoneType' object has no attribute 'data'"],
            &["'NoneType' object has no attribute 'dtype'"],
            &["'NoneType' object has no attribute 'view'"],
        ],
        traceback: &[
            "in reduce_ipg_grads",
            "in reduce_gradients",
            "reduce_independent_p_g_buckets_and_remove_grads",
            "grad_reduc.view(-1)",
        ],
        example: "AttributeError: 'NoneType' object has no attribute 'view'",
        seen_in: "unslothai/unsloth#4195",
        ..FAILURE
    },
    Failure {
        names: &["a batch that the pipeline does not take"],
        about: "The pipeline engine takes a pair from the loader: inputs and labels. Older releases want the inputs as a tuple, even if it is only one tensor.",
        advice: "a collate_fn that returns ((inputs, …), labels); or a newer DeepSpeed, which takes a list or one tensor too",
        lines: &[&["assert isinstance(batch[0], "], &["AssertionError"]],
        traceback: &["_exec_load_micro_batch", "assert isinstance(batch[0], "],
        example: "assert isinstance(batch[0], tuple)",
        seen_in: "deepspeedai/DeepSpeed#3003",
        ..FAILURE
    },
    Failure {
        names: &["a pipeline stage whose input has no gradient"],
        about: "The pipeline sends the gradient of a stage's input to the stage before it, and this input has none: it took no part in the loss, or was detached or made anew on the way.",
        advice: "between the stages, only tensors that the next stage computes with; no detach() or torch.no_grad() in a stage; and something to train in the stage before",
        lines: &[&["assert buffer.grad is not None"], &["AssertionError"]],
        traceback: &["_exec_send_grads", "assert buffer.grad is not None"],
        example: "AssertionError",
        seen_in: "deepspeedai/DeepSpeed#7270",
        ..FAILURE
    },
    Failure {
        names: &["generate() with another length than its mask"],
        about: "While the model generated, the mask had one token less than what was cached. Likely the trainer is older than transformers, and does under ZeRO-3 what this transformers no longer takes.",
        advice: "a newer trainer, or the transformers that it was written for (safe-rlhf: 4.38); --max_new_tokens instead of --max_length; or --deepspeed zero2",
        lines: &[&[
            "The expanded size of the tensor (",
            "must match the existing size (",
        ]],
        traceback: &["in generate", "generation/utils.py"],
        only_with_zero3: true,
        here: &[NOT_ZERO3],
        example: "RuntimeError: The expanded size of the tensor (207) must match the existing size (206) at non-singleton dimension 3.  Target sizes: [16, 32, 1, 207].  Tensor sizes: [16, 1, 1, 206]",
        seen_in: "PKU-Alignment/safe-rlhf#184",
        ..FAILURE
    },
    Failure {
        names: &["a gradient for a weight that ZeRO-3 has split"],
        about: "The backward pass met a weight of size 0: it was gathered for the forward pass and split again before its gradient came, as with reentrant gradient checkpointing or a module that is called by hand.",
        advice: "--gradient_checkpointing_kwargs '{\"use_reentrant\": false}', a newer DeepSpeed, or --deepspeed zero2",
        lines: &[
            &[
                "The size of tensor a (",
                "must match the size of tensor b (0)",
            ],
            &["The size of tensor a (0) must match the size of tensor b"],
            &[
                "returned an invalid gradient at index",
                "expected shape compatible with [0]",
            ],
        ],
        traceback: &["torch/autograd", "in backward"],
        only_with_zero3: true,
        here: &[NOT_ZERO3],
        example: "RuntimeError: The size of tensor a (0) must match the size of tensor b (1536) at non-singleton dimension 1",
        seen_in: "bytedance/HLLM#14",
        ..FAILURE
    },
    Failure {
        names: &["a weight without its shape"],
        about: "Code asks a weight for its rows or columns, and it has only one dimension. Under ZeRO-3, weights that are split among the ranks have none: this code does not gather them first.",
        advice: "a newer version of the package that the traceback names last, or --deepspeed zero2",
        lines: &[
            &["IndexError: tuple index out of range"],
            &["Dimension out of range (expected to be in range of [-1, 0], but got 1)"],
            &["ValueError: not enough values to unpack (expected 2, got 1)"],
        ],
        traceback: &[
            "peft/tuners/",
            "partition_parameters.py",
            "transformers/modeling_utils.py",
            "transformers/initialization.py",
        ],
        only_with_zero3: true,
        here: &[NOT_ZERO3],
        example: "IndexError: tuple index out of range",
        seen_in: "huggingface/peft#2916",
        ..FAILURE
    },
    Failure {
        names: &["a vocabulary of size 0"],
        about: "Some releases of transformers (4.33 and 4.42 among them) take the size of the vocabulary from the embedding when it is resized, and under ZeRO-3 the embedding is split, so that it has none.",
        advice: "pip install --upgrade transformers; or in the script, after resize_token_embeddings(): model.config.vocab_size = len(tokenizer); or --deepspeed zero2",
        lines: &[&["shape '[-1, 0]' is invalid for input of size"]],
        unlike: &["input of size 0"],
        only_with_zero3: true,
        here: &[NOT_ZERO3],
        example: "RuntimeError: shape '[-1, 0]' is invalid for input of size 32705022",
        seen_in: "huggingface/transformers#26398",
        ..FAILURE
    },
    Failure {
        names: &["empty weights for vLLM"],
        about: "The weights go to vLLM as they are on this rank, and under ZeRO-3 that is nothing: whoever hands them over does not gather them first.",
        advice: "--deepspeed zero2; or a newer TRL or ms-swift; in a trainer of your own, with deepspeed.zero.GatheredParameters(PARAMETERS) around the hand-over, on every rank",
        lines: &[&["Attempted to load weight (torch.Size([0])) into parameter"]],
        here: &[NOT_ZERO3],
        example: "[rank0]: AssertionError: Attempted to load weight (torch.Size([0])) into parameter (torch.Size([1280, 3, 2, 14, 14]))",
        seen_in: "StarsfieldAI/R1-V#132",
        ..FAILURE
    },
    Failure {
        names: &["weights that ZeRO++ cannot quantize"],
        about: "zero_quantized_weights quantizes the piece of each weight that a rank has, in blocks of 8 numbers, and this piece does not divide: the number of ranks is no power of two, or the weight is small or of an odd size.",
        advice: "--unset zero_optimization.zero_quantized_weights, or a number of ranks that is a power of two",
        lines: &[
            &["antized weight requires the number of weights be a multiple of 8"],
            &["Adaptive grouping algorithm cannot find a group size for input tensor"],
        ],
        example: "AssertionError: Qantized weight requires the number of weights be a multiple of 8",
        seen_in: "deepspeedai/DeepSpeed#4309",
        ..FAILURE
    },
    Failure {
        names: &["the loss of Liger with weights that ZeRO-3 has split"],
        about: "Liger computes the loss from lm_head.weight itself, without running lm_head, so ZeRO-3 did not gather it: it is empty.",
        advice: "--use_liger_kernel false, or only without this loss: --liger_kernel_config '{\"fused_linear_cross_entropy\": false}'; a newer TRL, which gathers it; or --deepspeed zero2",
        lines: &[
            &["ZeroDivisionError: "],
            &["size mismatch, got input", "vec (0)"],
        ],
        traceback: &["fused_linear_cross_entropy"],
        here: &[NOT_ZERO3],
        example: "ZeroDivisionError: integer division or modulo by zero",
        seen_in: "linkedin/Liger-Kernel#767",
        ..FAILURE
    },
    Failure {
        names: &["a gradient for a weight that ZeRO-3 has put away"],
        about: "The backward pass reached a weight whose shape is [0]: ZeRO-3 had sharded it again. A module runs outside of the engine's hooks, its weight is used without calling it, or gradient checkpointing runs it again.",
        advice: "--deepspeed zero2; --gradient_checkpointing_kwargs '{\"use_reentrant\": false}'; or that module as a leaf, which is gathered as a whole: --set 'zero_optimization.leaf_module.classes=[\"CLASS\"]'",
        lines: &[&[
            "returned an invalid gradient at index",
            "expected shape compatible with [0]",
        ]],
        only_with_zero3: true,
        here: &[NOT_ZERO3],
        example: "RuntimeError: Function ConvolutionBackward0 returned an invalid gradient at index 1 - got [320, 320, 3, 3] but expected shape compatible with [0]",
        seen_in: "Lightning-AI/pytorch-lightning#20218",
        ..FAILURE
    },
    Failure {
        names: &["a tensor whose memory is gone"],
        about: "The tensor has a shape, but its memory was freed or never allocated: sharding (ZeRO-3, FSDP) put a weight away while something still used it, the model was made on `meta`, or a library for one GPU (Unsloth) runs on several.",
        advice: "--deepspeed zero2; no Unsloth with several GPUs; no low_cpu_mem_usage and no device_map in the script",
        lines: &[
            &["setStorage: sizes", "out of bounds for storage of size 0"],
            &["data is not allocated yet"],
        ],
        example: "RuntimeError: setStorage: sizes [32000, 4096], strides [4096, 1], storage offset 0, and itemsize 2 requiring a storage size of 262144000 are out of bounds for storage of size 0",
        seen_in: "unslothai/unsloth#409",
        ..FAILURE
    },
    Failure {
        names: &["weights that are not gathered"],
        about: "A tensor is empty. Under ZeRO-3, a part of the model is used outside its engine, so that its weights are still sharded: a merge of LoRA, a reference model, an embedding, a vision tower in a template, lm_head in the loss of Liger. Or the weights were saved empty, by save_pretrained() under ZeRO-3.",
        advice: "--deepspeed zero2 (a merge of LoRA: in a script of its own, without DeepSpeed), or hand that model to deepspeed.initialize too; --use_liger_kernel false where Liger computes the loss, or a newer TRL, which gathers lm_head; where a saved model is loaded: save it with trainer.save_model(), or make it whole with zero_to_fp32.py",
        lines: &[
            &["but got weight of shape [0] and normalized_shape"],
            &["but got weight of size [0] instead"],
            &[
                "The size of tensor a (",
                "must match the size of tensor b (0)",
            ],
            &["The size of tensor a (0) must match the size of tensor b"],
            &["RuntimeError: shape '[", "is invalid for input of size 0"],
            &["RuntimeError: 'weight' must be 2-D"],
            &["weight should have at least three dimensions"],
            &["weight should have at least two dimensions"],
            &["size mismatch, got input", "vec (0)"],
            &["mat2 must be a matrix, got 1-D tensor"],
        ],
        only_with_zero3: true,
        here: &[NOT_ZERO3],
        example: "RuntimeError: 'weight' must be 2-D",
        seen_in: "arcee-ai/DistillKit#3",
        ..FAILURE
    },
    Failure {
        names: &["Muon with weights that ZeRO has flattened"],
        about: "Muon works on whole matrices, and ZeRO flattens the weights and splits them among the ranks. A Muon of the trainer or of your own does not know that.",
        advice: "DeepSpeed's own Muon, with a newer DeepSpeed and stage 1 or 2: --set optimizer.type=Muon, and no --optim or --optimizer of the trainer; or AdamW",
        lines: &[
            &["KeyError: 'use_muon'"],
            &["has no attribute 'use_muon'"],
            &["if use muon, then tensor dim > 1"],
        ],
        example: "KeyError: 'use_muon'",
        seen_in: "MoonshotAI/Moonlight#6",
        ..FAILURE
    },
    Failure {
        names: &["a Muon of the trainer with DeepSpeed"],
        about: "Muon works on whole matrices, and DeepSpeed gives an optimizer the weights as one long vector, at every stage.",
        advice: "AdamW, or no DeepSpeed; or DeepSpeed's own Muon, where the trainer takes an optimizer of the config (ms-swift 4.2 to 4.6 does not): --set optimizer.type=Muon, and no --optim or --optimizer of the trainer",
        lines: &[&["AssertionError"]],
        traceback: &["zeropower_via_"],
        example: "AssertionError",
        seen_in: "modelscope/ms-swift#6953",
        ..FAILURE
    },
    Failure {
        names: &["tensor parallelism with a quantized model"],
        about: "DeepSpeed's AutoTP cuts the weights and copies them, and quantized weights of bitsandbytes cannot be copied so.",
        advice: "either no quantization, or ZeRO instead of AutoTP: --unset tensor_parallel, and no --deepspeed_autotp_size",
        lines: &[&[".to() does not accept copy argument"]],
        example: "RuntimeError: .to() does not accept copy argument",
        seen_in: "modelscope/ms-swift#6606",
        ..FAILURE
    },
    Failure {
        names: &["a prompt that fills the context of vLLM"],
        about: "What may be generated is the context of vLLM less the prompt, and nothing is left.",
        advice: "a larger --vllm_max_model_len (TRL: --vllm_max_model_length), or shorter prompts: --max_length with --truncation_strategy delete, fewer turns or pixels",
        lines: &[
            &["max_tokens must be at least 1, got"],
            &[
                "The decoder prompt (length",
                "is longer than the maximum model length",
            ],
        ],
        example: "[rank12]: ValueError: max_tokens must be at least 1, got -239.",
        seen_in: "modelscope/ms-swift#8223",
        ..FAILURE
    },
    Failure {
        names: &["weights that are not contiguous"],
        about: "DeepSpeed sends every weight from rank 0 to the others when it starts, which needs it in one piece, and some weight is a view of another layout (transposed, sliced, or loaded so).",
        advice: "in the script, before the model is prepared: for p in model.parameters(): p.data = p.data.contiguous()",
        lines: &[&["Error: Tensors must be contiguous"]],
        example: "[rank0]: ValueError: Tensors must be contiguous",
        seen_in: "deepspeedai/DeepSpeed#6571",
        ..FAILURE
    },
    Failure {
        names: &["Unsloth on several GPUs"],
        about: "Unsloth is made for one GPU. Newer versions train on several with DDP, none under ZeRO-3, which shards the weights that Unsloth's kernels use directly.",
        advice: "one GPU (--nproc-per-node 1, CUDA_VISIBLE_DEVICES=0, without DeepSpeed); or several without Unsloth: use_unsloth: false (LLaMA-Factory), and enable_liger_kernel: true for its speed",
        lines: &[
            &["Unsloth currently does not work on multi GPU setups"],
            &["Unsloth currently does not support multi GPU setups"],
            &["Unsloth is incompatible with DeepSpeed"],
        ],
        example: "ValueError: Unsloth is incompatible with DeepSpeed ZeRO-3",
        seen_in: "hiyouga/LlamaFactory#6940",
        ..FAILURE
    },
    Failure {
        names: &["Unsloth on several GPUs, as it is imported"],
        about: "Unsloth is made for one GPU. While it is imported it uses torch.distributed with tensors of the CPU, which NCCL does not send.",
        advice: "one GPU (--nproc-per-node 1, CUDA_VISIBLE_DEVICES=0, without DeepSpeed); or use_unsloth: false (LLaMA-Factory); or a newer Unsloth",
        lines: &[&["No backend type associated with device type cpu"]],
        traceback: &["/unsloth/", "/unsloth_zoo/"],
        example: "[rank0]: RuntimeError: No backend type associated with device type cpu (in unsloth/models/rl.py)",
        seen_in: "hiyouga/LlamaFactory#8113",
        ..FAILURE
    },
    Failure {
        names: &["a tensor in host memory sent with NCCL"],
        about: "The ranks exchange a tensor that is in host memory, and NCCL sends only what is on GPUs: the model or a part of it was never moved to its GPU (torch sees none, device_map or offload put it there), or an object is sent before its device is set.",
        advice: "`zlaunch doctor` says which GPUs a rank sees; no device_map; for tensors that stay in host memory on purpose, both backends in the script: init_process_group(\"cpu:gloo,cuda:nccl\")",
        lines: &[
            &["Tensors must be CUDA and dense"],
            &["No backend type associated with device type cpu"],
        ],
        example: "RuntimeError: No backend type associated with device type cpu",
        seen_in: "hiyouga/LlamaFactory#2628",
        ..FAILURE
    },
    Failure {
        names: &["something that cannot be sent to another process"],
        about: "Python was to copy an object into another process or a file, and a part of it (a function within a function, such as a hook of gradient checkpointing, a lambda, a lock, an open file) cannot be written. That happens where processes are spawned (data workers, a map of datasets), and where a model or its arguments are copied or saved.",
        advice: "--dataloader_num_workers 0 or --dataset_num_proc 1 shows whether it is a worker; else another version of the package that the traceback names last (DeepSpeed 0.17.0 did this with hooks of transformers)",
        lines: &[
            &["Can't pickle local object"],
            &["Can't get local object"],
            &["cannot pickle '"],
        ],
        example: "AttributeError: Can't pickle local object 'PreTrainedModel.enable_input_require_grads.<locals>.make_inputs_require_grads'",
        seen_in: "modelscope/ms-swift#3303",
        ..FAILURE
    },
    Failure {
        names: &["a process that was forked after CUDA was used"],
        about: "A process that has used the GPU cannot be copied by fork and use it again in the copy: a data worker, or an import of DeepSpeed before the ranks are started.",
        advice: "no CUDA in datasets and collators (--dataloader_num_workers 0 shows whether it is that), import deepspeed in the ranks only; or the start method spawn: multiprocessing.set_start_method(\"spawn\"), for vLLM VLLM_WORKER_MULTIPROC_METHOD=spawn",
        lines: &[
            &["Cannot re-initialize CUDA in forked subprocess"],
            &["CUDA error: initialization error"],
        ],
        example: "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method",
        seen_in: "deepspeedai/DeepSpeed#7918",
        ..FAILURE
    },
    Failure {
        names: &["a config that is not there, or not valid JSON"],
        about: "What was given as DeepSpeed's config is no file in the folder of the launch, and so was read as text, which it is not; or the file has a comma or quote too many or missing, or is empty.",
        advice: "`ls` it: the path is relative to the folder in which the launch was started, on every machine, so an absolute one is safe; `zlaunch check FILE` shows the place of a mistake in it; --deepspeed zero2 or zero3 needs no file",
        lines: &[
            &["Expected a string path to an existing deepspeed config"],
            &["UnicodeDecodeError: "],
            &["binascii.Error: "],
            &["JSONDecodeError: "],
            &["HjsonDecodeError: "],
        ],
        traceback: &[
            "deepspeed/runtime/config",
            "integrations/deepspeed.py",
            "utils/deepspeed.py",
            "Invalid base64-encoded string",
            "Incorrect padding",
            "base64.urlsafe_b64decode",
            "Expected a string path to an existing deepspeed config",
        ],
        example: "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
        seen_in: "LlamaChinese/Llama-Chinese#361",
        ..FAILURE
    },
    Failure {
        names: &["two ranks that rename one checkpoint"],
        about: "transformers 4.36 and 4.37.0 write a checkpoint under a temporary name and rename it on every machine, or on ranks that are not the first: on a shared disk the second one finds nothing.",
        advice: "pip install --upgrade transformers, or an --output_dir that is not shared with --save_on_each_node true",
        lines: &[&["No such file or directory: '", "tmp-checkpoint-"]],
        fixed: Some(("transformers", "4.38.0")),
        example: "FileNotFoundError: [Errno 2] No such file or directory: 'saves/x/tmp-checkpoint-1000/trainer_state.json'",
        seen_in: "hiyouga/LlamaFactory#1860",
        ..FAILURE
    },
    Failure {
        names: &["CPUAdam with parameters on the GPU"],
        about: "The script makes DeepSpeedCPUAdam itself, and its parameters are on the GPU, because the config does not offload the optimizer.",
        advice: "--set zero_optimization.offload_optimizer.device=cpu with stage 1 to 3; or FusedAdam or torch's AdamW in the script, or none at all with an optimizer section",
        lines: &[&["CPUAdam param is on", "must be 'cpu'"]],
        example: "AssertionError: CPUAdam param is on cuda:0 and must be 'cpu', make sure you enabled 'offload_optimizer': 'cpu' in your ZeRO config.",
        seen_in: "DeepSpeed 0.19.8",
        ..FAILURE
    },
    Failure {
        names: &["an engine without trained parameters"],
        about: "DeepSpeed makes optimizer states for an engine in which nothing is trained: all parameters are frozen, or a reference model got the optimizer section of the config.",
        advice: "--unset optimizer --unset scheduler, so that only the trained model has an optimizer; a newer DeepSpeed; or train at least one parameter",
        lines: &[
            &["ValueError: max() arg is an empty sequence"],
            &["torch.cat(): expected a non-empty list of Tensors"],
        ],
        traceback: &["initialize_optimizer_states", "deepspeed/runtime"],
        alone: true,
        example: "ValueError: max() arg is an empty sequence",
        seen_in: "hiyouga/LlamaFactory#2546",
        ..FAILURE
    },
    Failure {
        names: &["a step of the engine without gradients"],
        about: "DeepSpeed steps and has collected no gradients of a group: the script calls loss.backward() instead of engine.backward(loss), or engine.step() before it, or none of the group's parameters takes part in the loss.",
        advice: "engine.backward(loss), then engine.step(), once for each batch; no zero_grad() between them; only parameters that the loss uses in the optimizer",
        lines: &[&["KeyError: 0"], &["KeyError: 1"]],
        traceback: &[
            "has_overflow_partitioned_grads_serial",
            "averaged_gradients",
        ],
        example: "KeyError: 0",
        seen_in: "deepspeedai/DeepSpeed#4397",
        ..FAILURE
    },
    Failure {
        names: &["a backward pass without the engine"],
        about: "With ZeRO the engine runs the backward pass, and prepares its buckets for it. Here the script calls backward() of the loss.",
        advice: "engine.backward(loss) and engine.step(), or accelerator.backward(loss), instead of loss.backward()",
        lines: &[&["object has no attribute 'ipg_index'"]],
        example: "AttributeError: 'DeepSpeedZeroOptimizer' object has no attribute 'ipg_index'",
        seen_in: "deepspeedai/DeepSpeed#6995",
        ..FAILURE
    },
    Failure {
        names: &["a backward pass in evaluation mode"],
        about: "Under ZeRO-3, older releases of DeepSpeed refuse a backward pass through a module that is in evaluation mode; newer ones do not ask.",
        advice: "model.train() before the step, after every evaluation and generate(); or pip install --upgrade deepspeed",
        lines: &[&["backward pass is invalid for module in evaluation mode"]],
        example: "AssertionError: backward pass is invalid for module in evaluation mode",
        seen_in: "microsoft/LMOps#128",
        ..FAILURE
    },
    Failure {
        names: &["an engine that only evaluates"],
        about: "deepspeed.initialize got no optimizer, so it made an engine for inference with ZeRO-3, which has no backward pass.",
        advice: "an optimizer section in the config, or optimizer= for deepspeed.initialize; for evaluation alone, no call of backward()",
        lines: &[&["'DeepSpeedZeRoOffload' object has no attribute '"]],
        unlike: &["_register_hooks_recursively"],
        example: "AttributeError: 'DeepSpeedZeRoOffload' object has no attribute 'backward'",
        seen_in: "deepspeedai/DeepSpeed#3024",
        ..FAILURE
    },
    Failure {
        names: &["a parameter that ZeRO-3 does not know"],
        about: "ZeRO-3 gives every parameter attributes (ds_id, ds_numel, ds_tensor, …) when it splits it. This one was made, replaced or loaded in another way: an adapter or token added afterwards, a quantized layer, a merged or copied module, a model that deepspeed.initialize never got.",
        advice: "make the whole model (adapters, new tokens, heads) before it is given to the trainer or to deepspeed.initialize, and load no quantized weights; or --deepspeed zero2",
        lines: &[
            &["has no attribute 'ds_id'"],
            &["has no attribute 'ds_numel'"],
            &["has no attribute 'ds_tensor'"],
            &["has no attribute 'ds_shape'"],
            &["has no attribute 'ds_status'"],
            &["has no attribute 'ds_persist'"],
            &["has no attribute 'ds_process_group'"],
            &["has no attribute 'ds_summary'"],
            &["has no attribute 'partition_numel'"],
        ],
        only_with_zero3: true,
        here: &[NOT_ZERO3],
        example: "AttributeError: 'Parameter' object has no attribute 'ds_numel'",
        seen_in: "huggingface/transformers#24792",
        ..FAILURE
    },
    Failure {
        names: &["a parameter that is still in use"],
        about: "A parameter is to be freed while a module of the last forward pass still holds it: at the hand-over to vLLM, after a checkpoint, or after an incomplete last batch.",
        advice: "a newer TRL or ms-swift, where ds_active_sub_modules is emptied before the hand-over; --dataloader_drop_last true, so that no batch is incomplete; or --deepspeed zero2",
        lines: &[
            &["assert not param.ds_active_sub_modules"],
            &[
                "AssertionError: {'id':",
                "'status': 'AVAILABLE'",
                "'active_sub_modules': {",
            ],
        ],
        only_with_zero3: true,
        here: &[NOT_ZERO3],
        example: "[rank1]: AssertionError: {'id': 0, 'status': 'AVAILABLE', 'numel': 233373696, 'ds_numel': 233373696, 'shape': (151936, 1536), 'ds_shape': (151936, 1536), 'requires_grad': True, 'grad_shape': None, 'persist': False, 'active_sub_modules': {372}, 'ds_tensor.shape': torch.Size([58343424])}",
        seen_in: "dhcode-cpp/X-R1#23",
        ..FAILURE
    },
    Failure {
        names: &["hooks of ZeRO-3 in the wrong order"],
        about: "Between two training steps the model generated or was evaluated, and ZeRO-3's hooks were not left as they were: its record of the modules' order is empty.",
        advice: "a newer TRL and DeepSpeed, which remove the hooks for generate() and add them again; or --deepspeed zero2",
        lines: &[
            &["IndexError: pop from an empty deque"],
            &["RuntimeError: still have inflight params"],
        ],
        only_with_zero3: true,
        here: &[NOT_ZERO3],
        traceback: &["deepspeed/"],
        alone: true,
        example: "[rank0]: IndexError: pop from an empty deque",
        seen_in: "huggingface/trl#2304",
        ..FAILURE
    },
    Failure {
        names: &["TRL's hooks on a model that is no engine"],
        about: "TRL removes the hooks of ZeRO-3 for generating, and got the model itself instead of DeepSpeed's engine.",
        advice: "a newer TRL; in a trainer of your own, unwrap_model_for_generation(self.model_wrapped, …) instead of self.model; or --deepspeed zero2",
        lines: &[&["object has no attribute 'optimizer'"]],
        traceback: &["in remove_hooks", "in add_hooks"],
        example: "AttributeError: 'GPTNeoXForCausalLM' object has no attribute 'optimizer'",
        seen_in: "huggingface/trl#1543",
        ..FAILURE
    },
    Failure {
        names: &["a config of DeepSpeed where TRL wants the model's"],
        about: "With DeepSpeed, `model.config` of the engine is DeepSpeed's config, a dict, and the trainer asks it for an attribute of the model.",
        advice: "a newer TRL; in a trainer of your own, the config of the unwrapped model: accelerator.unwrap_model(model).config",
        lines: &[&["'dict' object has no attribute 'is_encoder_decoder'"]],
        example: "AttributeError: 'dict' object has no attribute 'is_encoder_decoder'",
        seen_in: "huggingface/trl#3016",
        ..FAILURE
    },
    Failure {
        names: &["generations that do not fill the batch"],
        about: "GRPO makes num_generations answers to each prompt, so per_device_train_batch_size × ranks × steps_per_generation (by default gradient_accumulation_steps; older TRL: without it) must be a multiple of num_generations; for the evaluation, per_device_eval_batch_size × ranks. One answer has no others to be compared with, so it must be 2 or more.",
        advice: "another --num_generations, which divides that product, or another --per_device_train_batch_size, --steps_per_generation or number of ranks",
        lines: &[
            &["generation_batch_size (", "must be divisible by"],
            &["must be divisible by num_generations"],
            &["divisible by the number of generations"],
            &["GRPO requires at least 2 generations per prompt"],
        ],
        example: "ValueError: The global train batch size (3 x 1) must be evenly divisible by the number of generations per prompt (4). Given the current train batch size, the valid values for the number of generations are: [3].",
        seen_in: "dhcode-cpp/X-R1#22",
        ..FAILURE
    },
    Failure {
        names: &["a batch that does not divide among the ranks of verl"],
        about: "verl splits a batch evenly among its workers: its size must be a multiple of the number of GPUs.",
        advice: "data.train_batch_size (EasyR1: rollout_batch_size), times the number of answers, as a multiple of trainer.nnodes × trainer.n_gpus_per_node; the same for the size of the validation set or batch",
        lines: &[&["only support equal chunk. Got size of DataProto"]],
        example: "AssertionError: only support equal chunk. Got size of DataProto 512 and chunk 6.",
        seen_in: "hiyouga/EasyR1#44",
        ..FAILURE
    },
    Failure {
        names: &["a mini batch smaller than the ranks of verl"],
        about: "verl multiplies ppo_mini_batch_size by the number of answers to a prompt and divides it by the number of GPUs, and nothing is left.",
        advice: "a larger actor_rollout_ref.actor.ppo_mini_batch_size (and critic.ppo_mini_batch_size), at most data.train_batch_size; or fewer GPUs",
        lines: &[&[
            "ppo_mini_batch_size",
            "should be larger than 0 after normalization",
        ]],
        example: "AssertionError: ppo_mini_batch_size 0 should be larger than 0 after normalization",
        seen_in: "PRIME-RL/TTRL#43",
        ..FAILURE
    },
    Failure {
        names: &["DeepSpeed is newer than TRL"],
        about: "DeepSpeed 0.16.4 renamed a private method that older releases of TRL call under ZeRO-3.",
        advice: "pip install --upgrade trl; or deepspeed<0.16.4, or --deepspeed zero2",
        lines: &[&["has no attribute '_register_hooks_recursively'"]],
        fixed: Some(("trl", "0.16.0")),
        example: "AttributeError: 'DeepSpeedZeRoOffload' object has no attribute '_register_hooks_recursively'",
        seen_in: "huggingface/trl#2962",
        ..FAILURE
    },
    Failure {
        names: &["ranks that run different modules"],
        about: "Every rank must run the same modules in the same order (under ZeRO-3 to gather weights, else to reduce gradients), and here they differ: experts that not every rank uses, or pictures or videos in some batches only.",
        advice: "every kind of data in every batch, or the tower of pictures frozen; under ZeRO-3, --deepspeed zero2; or the block of experts as a leaf module, which is gathered as a whole: --set 'zero_optimization.leaf_module.classes=[\"CLASS\"]' (DeepSpeed 0.18), deepspeed.utils.set_z3_leaf_modules() before",
        lines: &[
            &["disagreement between rank0 and rank"],
            &["Detected a disagreement on list length between rank0"],
            &["Detected a disagreement on list items between rank0"],
            &["disagreement error detected"],
            &["Detected mismatch between collectives on ranks"],
        ],
        only_with_zero3: true,
        here: &[NOT_ZERO3],
        example: "[rank7]: RuntimeError: Detected a disagreement on list length between rank0 and rank7: ",
        seen_in: "hiyouga/LlamaFactory#10224",
        ..FAILURE
    },
    Failure {
        names: &["an embedding that was split before it was initialized"],
        about: "zero.Init has split a weight among the ranks, so it is empty here, and transformers sets a row of it, such as that of the padding token.",
        advice: "another transformers: 4.57 and 5.0 do this, older and newer ones gather the weight first; or --deepspeed zero2, which does not split weights",
        lines: &[&["index 0 is out of bounds for dimension 0 with size 0"]],
        only_with_zero3: true,
        here: &[NOT_ZERO3],
        traceback: &[
            "_init_weights",
            "_initialize_missing_",
            "_initialize_weights",
            "initialize_weights",
            "partition_parameters.py",
            "torch/nn/init.py",
            "resize_token_embeddings",
            "_init_added_embeddings",
        ],
        alone: true,
        example: "[rank0]: IndexError: index 0 is out of bounds for dimension 0 with size 0",
        seen_in: "huggingface/transformers#43596",
        ..FAILURE
    },
    Failure {
        names: &["two gradients for one weight"],
        about: "A trained weight got a second gradient in one backward pass: reentrant gradient checkpointing runs a weight that is used twice (tied weights, two forward passes, Unsloth's checkpointing) again.",
        advice: "--gradient_checkpointing_kwargs '{\"use_reentrant\": false}', --gradient_checkpointing false, or --deepspeed zero1",
        lines: &[&["has already been reduced"]],
        example: "AssertionError: The parameter 666 has already been reduced. Gradient computed twice for this partition.",
        seen_in: "huggingface/transformers#39022",
        ..FAILURE
    },
    Failure {
        names: &["a ChatGLM made without data under ZeRO-3"],
        about: "The model's own code makes its weights without data (empty_init) before they are loaded, and ZeRO-3 splits them as they are made.",
        advice: "empty_init=False where the script loads the model (AutoModel.from_pretrained(…, trust_remote_code=True, empty_init=False)), or --deepspeed zero2",
        lines: &[&["Cannot copy out of meta tensor; no data!"]],
        traceback: &["modeling_chatglm.py"],
        only_with_zero3: true,
        here: &[NOT_ZERO3],
        example: "NotImplementedError: Cannot copy out of meta tensor; no data!",
        seen_in: "deepspeedai/DeepSpeedExamples#509",
        ..FAILURE
    },
    Failure {
        names: &["weights that transformers 4.51.0 does not load under ZeRO-3"],
        about: "transformers 4.51.0 loads a checkpoint into weights that ZeRO-3 has split without telling the two apart; other releases of that time had similar faults.",
        advice: "pip install --upgrade transformers, or another release than 4.51.0",
        lines: &[&[
            "While copying the parameter named",
            "an exception occurred : ('Ca",
        ]],
        only_with_zero3: true,
        here: &[NOT_ZERO3],
        example: "While copying the parameter named \"model.layers.28.self_attn.q_proj.weight\", whose dimensions in the model are torch.Size([576, 576]) and whose dimensions in the checkpoint are torch.Size([576, 576]), an exception occurred : ('Cannot copy out of meta tensor; no data!',).",
        seen_in: "huggingface/transformers#37300",
        ..FAILURE
    },
    Failure {
        names: &["transformers that is newer than torch"],
        about: "transformers 4.52 has a list of parallel styles only with torch 2.5 or newer, and looks into it with an older torch too.",
        advice: "pip install 'torch>=2.5', or pip install transformers==4.51.3",
        lines: &[
            &["argument of type 'NoneType' is not iterable"],
            &["if v not in ALL_PARALLEL_STYLES"],
        ],
        traceback: &["in post_init", "not in ALL_PARALLEL_STYLES"],
        example: "TypeError: argument of type 'NoneType' is not iterable",
        seen_in: "hiyouga/LlamaFactory#8397",
        ..FAILURE
    },
    Failure {
        names: &["weights without data"],
        about: "The model was made on the meta device, where weights have no data: by zero.Init of ZeRO-3, by quantized loading (QLoRA, bitsandbytes), or by low_cpu_mem_usage. Something copies it before the data came.",
        advice: "--deepspeed zero2, with a quantized model always; or the model unquantized; without quantization, a newer transformers and DeepSpeed",
        lines: &[
            &["Cannot copy out of meta tensor; no data!"],
            &["Tensor on device meta is not on the expected device"],
        ],
        only_with_zero3: true,
        here: &[NOT_ZERO3],
        example: "NotImplementedError: Cannot copy out of meta tensor; no data!",
        seen_in: "axolotl-ai-cloud/axolotl#1249",
        ..FAILURE
    },
    Failure {
        names: &["a quantized model with FSDP"],
        about: "FSDP joins the weights of a block into one tensor of floating-point numbers, and weights in 8 bits are whole numbers.",
        advice: "QLoRA in 4 bits with bnb_4bit_quant_storage as the precision of the training (axolotl: load_in_4bit: true, adapter: qlora); or no load_in_8bit; or --deepspeed zero2",
        lines: &[&["Cannot flatten integer dtype tensors"]],
        example: "ValueError: Cannot flatten integer dtype tensors",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["a quantized model with ZeRO-3"],
        about: "The model is quantized (its config.json has a quantization_config: fp8, GPTQ, AWQ; or it is loaded in 4 or 8 bits), and such weights cannot be split among the ranks beside others.",
        advice: "with bitsandbytes in 4 bits, bnb_4bit_quant_storage as the precision of the training (bfloat16); else a bf16 version of the model (many have one on the hub; or convert it), or --deepspeed zero2, where it fits",
        lines: &[
            &["is incompatible with PTQ-quantized models"],
            &["DeepSpeed ZeRO-3 or FSDP is incompatible with"],
            &["ZeRO-3 is incompatible with quantiz"],
            // Weights of several types were to be gathered together.
            &[
                "only one unique element in <generator object Init",
                "all_gather",
            ],
        ],
        only_with_zero3: true,
        here: &[NOT_ZERO3],
        example: "[rank6]: ValueError: DeepSpeed ZeRO-3 or FSDP is incompatible with PTQ-quantized models.",
        seen_in: "hiyouga/LlamaFactory#6898",
        ..FAILURE
    },
    Failure {
        names: &["rows of an embedding that ZeRO-3 leaves out"],
        about: "peft looks for the rows of trainable_token_indices among the weights that were gathered to be saved. Under ZeRO-3 they are not there.",
        advice: "--deepspeed zero2; or modules_to_save with the embedding (embed_tokens, lm_head) instead of trainable_token_indices; or a newer peft and transformers",
        lines: &[&["KeyError: '", "trainable_tokens_delta"]],
        here: &[NOT_ZERO3],
        example: "KeyError: 'token_adapter.trainable_tokens_delta.default'",
        seen_in: "huggingface/peft#2946",
        ..FAILURE
    },
    Failure {
        names: &["LoRA's copied modules with ZeRO-3"],
        about: "The wrapper for modules_to_save passes attributes on to the module inside, so DeepSpeed took it for one that is registered already. A layer that a script makes after deepspeed.initialize (a resized embedding or head) lacks it too.",
        advice: "a newer DeepSpeed; or without modules_to_save: put those modules into target_modules; in a script, resize and replace layers before DeepSpeed takes the model; or --deepspeed zero2",
        lines: &[&["has no attribute 'ds_grads_remaining'"]],
        example: "AttributeError: 'Linear' object has no attribute 'ds_grads_remaining'",
        seen_in: "deepspeedai/DeepSpeed#7203",
        ..FAILURE
    },
    Failure {
        names: &["a parameter that ZeRO-3 has split twice"],
        about: "ZeRO-3 counts no numbers in this parameter: it was empty when ZeRO-3 took it over, because it had been split before, by a zero.Init around code that copies a model (deepcopy), makes layers from another's weights or resizes an embedding.",
        advice: "load that model with from_pretrained() instead of copying it, and change embeddings before ZeRO-3 or within deepspeed.zero.GatheredParameters; or --deepspeed zero2; a newer trainer and transformers where the copy is theirs",
        lines: &[&["{'id':", "'ds_numel': 0,"]],
        here: &[NOT_ZERO3],
        example: "AssertionError: {'id': 283, 'status': 'NOT_AVAILABLE', 'numel': 0, 'ds_numel': 0, 'shape': (0,), 'ds_shape': (0,), 'requires_grad': True, 'grad_shape': None, 'persist': True, 'active_sub_modules': {2}, 'ds_tensor.shape': torch.Size([0])}",
        seen_in: "hiyouga/LlamaFactory#1121",
        ..FAILURE
    },
    Failure {
        names: &["a parameter that ZeRO-3 has lost track of"],
        about: "The order of the modules changed between steps, or a module was replaced or copied after ZeRO-3 had split it, as the modules_to_save of LoRA are.",
        advice: "with LoRA: put those modules into target_modules instead of modules_to_save; update DeepSpeed; --set zero_optimization.stage3_prefetch_bucket_size=0 stops the prefetching that guesses the order; or --deepspeed zero2",
        lines: &[
            &["AssertionError: {'id':", "'status': 'NOT_AVAILABLE'"],
            &["AssertionError: {'id':", "'status': 'INFLIGHT'"],
            &["{'id':", "'ds_numel'", "already in registry"],
        ],
        example: "AssertionError: {'id': 419, 'status': 'INFLIGHT', 'numel': 16777216, 'ds_numel': 16777216, 'shape': (8192, 2048), 'ds_shape': (8192, 2048), 'requires_grad': True, 'grad_shape': None, 'persist': False, 'active_sub_modules': {425}, 'ds_tensor.shape': torch.Size([4194304]}",
        seen_in: "deepspeedai/DeepSpeed#3647",
        ..FAILURE
    },
    Failure {
        names: &["device_map with ZeRO-3"],
        about: "device_map spreads a model over the GPUs of one process, and ZeRO-3 over the ranks. A library may pass low_cpu_mem_usage by itself.",
        advice: "drop device_map and low_cpu_mem_usage, or --deepspeed zero2",
        lines: &[&["DeepSpeed Zero-3 is not compatible with"]],
        only_with_zero3: true,
        here: &[NOT_ZERO3],
        example: "ValueError: DeepSpeed Zero-3 is not compatible with `low_cpu_mem_usage=True` or with passing a `device_map`.",
        seen_in: "huggingface/accelerate#2543",
        ..FAILURE
    },
    Failure {
        names: &["tensors on two devices"],
        about: "A part of the model, or of the optimizer's states, stayed on another GPU or in host memory.",
        advice: "no device_map and no .cuda() without a number; upgrade DeepSpeed, if this is a step or a resumed run",
        lines: &[
            &["Expected all tensors to be on the same device"],
            &["indices should be either on"],
        ],
        example: "[rank0]: RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
        seen_in: "FreedomIntelligence/HuatuoGPT-o1#9",
        ..FAILURE
    },
    Failure {
        names: &["nothing to train"],
        about: "The loss depends on no trained parameter. With LoRA and gradient checkpointing, the inputs must require gradients; or all is frozen, as where the target modules of LoRA match nothing.",
        advice: "model.enable_input_require_grads() in the script, or --gradient_checkpointing_kwargs '{\"use_reentrant\": false}'; without checkpointing: model.print_trainable_parameters() (LoRA), or the target modules and what is frozen",
        lines: &[
            &["element 0 of tensors does not require grad and does not have a grad_fn"],
            &["none of output has requires_grad=True"],
        ],
        example: "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
        seen_in: "datawhalechina/self-llm#229",
        ..FAILURE
    },
    Failure {
        names: &["gradient checkpointing with DDP"],
        about: "Reentrant gradient checkpointing sends parameters through the backward pass twice, which DDP does not allow.",
        advice: "--gradient_checkpointing_kwargs '{\"use_reentrant\": false}', or --deepspeed zero2",
        lines: &[&["Expected to mark a variable ready only once"]],
        example: "[rank3]: RuntimeError: Expected to mark a variable ready only once. This error is caused by one of the following reasons: 1) Use of a module parameter outside the `forward` function.",
        seen_in: "modelscope/ms-swift#3171",
        ..FAILURE
    },
    Failure {
        names: &["gradient checkpointing that recomputes something else"],
        about: "The backward pass runs the forward pass again, and its tensors have other shapes. Under ZeRO-3 with LoRA, the frozen weights are sharded again by then, so their shape is [0].",
        advice: "--gradient_checkpointing_kwargs '{\"use_reentrant\": true}', --deepspeed zero2, or a newer DeepSpeed",
        lines: &[
            &[
                "CheckpointError:",
                "Recomputed values for the following tensors have different metadata",
            ],
            &[
                "CheckpointError:",
                "A different number of tensors was saved",
            ],
        ],
        only_with_zero3: true,
        here: &[NOT_ZERO3],
        example: "[rank0]: torch.utils.checkpoint.CheckpointError: torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the forward pass.",
        seen_in: "huggingface/trl#2514",
        ..FAILURE
    },
    Failure {
        names: &["parameters that the loss does not use"],
        about: "DDP waits for a gradient of every trained parameter, and some of them took no part in the loss.",
        advice: "--ddp_find_unused_parameters true, or freeze those parameters; --deepspeed zero2 does not need it",
        lines: &[&[
            "Expected to have finished reduction in the prior iteration before starting a new one",
        ]],
        example: "RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one.",
        seen_in: "pytorch/pytorch#43259",
        ..FAILURE
    },
    Failure {
        names: &["autocast that DeepSpeed does not know of"],
        about: "The script runs the engine under torch.autocast, and the config says nothing about it, so the gradients would be sent in another precision.",
        advice: "--set torch_autocast.enabled=true --set torch_autocast.dtype=bfloat16; or no torch.autocast around the engine",
        lines: &[&["torch.autocast is enabled outside DeepSpeed, but not in the DeepSpeed config"]],
        example: "[rank0]: AssertionError: torch.autocast is enabled outside DeepSpeed, but not in the DeepSpeed config. Please enable torch.autocast through the DeepSpeed config to ensure the correct communication dtype is used.",
        seen_in: "X-GenGroup/Flow-Factory#50",
        ..FAILURE
    },
    Failure {
        names: &["a file where a folder is expected"],
        about: "Since DeepSpeed 0.15.3 the second argument of zero_to_fp32.py is the folder for the weights, not a file; torch says the same of any folder that is not there.",
        advice: "the name of a folder instead of a file as the second argument: python zero_to_fp32.py . output; mkdir -p for a folder that is missing",
        lines: &[&["RuntimeError: Parent directory", "does not exist"]],
        example: "RuntimeError: Parent directory ../pytorch_model.bin does not exist.",
        seen_in: "JIA-Lab-research/LISA#155",
        ..FAILURE
    },
    Failure {
        names: &["a parameter that is larger than its buffer for the NVMe"],
        about: "A parameter that is offloaded to an NVMe must fit into one buffer: the line names the number of its elements, and then the size of a buffer.",
        advice: "--set zero_optimization.offload_param.buffer_size=N with at least the first number; that is memory of the host, buffer_count times 2 bytes each",
        lines: &[&["More elements", "than buffer size"]],
        example: "AssertionError: More elements 524709888 than buffer size 100,000,000",
        seen_in: "deepspeedai/DeepSpeed#3506",
        ..FAILURE
    },
    Failure {
        names: &["too few buffers for the NVMe"],
        about: "All buffers for parameters that come from the NVMe are in use by layers that were fetched and not yet released.",
        advice: "--set zero_optimization.offload_param.buffer_count=N with a larger number (5 by default), or a smaller zero_optimization.stage3_prefetch_bucket_size",
        lines: &[
            &["Not enough buffers", "for swapping"],
            &["Not enough swap in buffers"],
        ],
        example: "AssertionError: Not enough buffers 0 for swapping 1",
        seen_in: "deepspeedai/DeepSpeed#3062",
        ..FAILURE
    },
    Failure {
        names: &["a swap file shorter than what was written"],
        about: "DeepSpeed reads back a tensor from the NVMe, and the file is shorter than the tensor: likely the disk was full when it was written, or another run or rank uses the same folder.",
        advice: "`df -h` on the folder of nvme_path; remove the zero_stage_3 folder there; one nvme_path for each run",
        lines: &[
            &["buffer nbytes != file bytes"],
            &["Assertion", "== num_file_bytes' failed"],
        ],
        example: "/nvme/zero_stage_3/optimizer/rank6/139649992513552.tensor.swp: buffer nbytes != file bytes 4001366016 != 3426746368",
        seen_in: "deepspeedai/DeepSpeed#3376",
        ..FAILURE
    },
    Failure {
        names: &["ZenFlow with an NVMe"],
        about: "ZenFlow selects parts of the gradients, and where the optimizer is offloaded to an NVMe the tensors are not in memory.",
        advice: "--set zero_optimization.offload_optimizer.device=cpu, or no ZenFlow: --unset zero_optimization.zenflow",
        lines: &[&["narrow() cannot be applied to a 0-dim tensor"]],
        traceback: &["zenflow"],
        alone: true,
        example: "RuntimeError: narrow() cannot be applied to a 0-dim tensor.",
        seen_in: "deepspeedai/DeepSpeed#7686",
        ..FAILURE
    },
    Failure {
        names: &["GPU memory that changes while vLLM measures it"],
        about: "vLLM measures the free memory of its GPU when it starts, and another process, a rank of this launch or an earlier run, gave some back or took some meanwhile; or it measured another GPU than it uses.",
        advice: "start it again when `nvidia-smi` shows no other process; all ranks at the same point (one vLLM to a GPU, --vllm_mode colocate of the trainer); or a server on GPUs of its own",
        lines: &[&["Error in memory profiling. Initial"]],
        example: "AssertionError: Error in memory profiling. Initial free memory 20.1 GiB, current free memory 21.3 GiB. This happens when other processes sharing the same container release GPU memory while vLLM is profiling during initialization.",
        seen_in: "modelscope/ms-swift#3241",
        ..FAILURE
    },
    Failure {
        names: &["names of weights that vLLM does not know"],
        about: "The trainer hands the weights to vLLM under the names that PEFT (base_model, lora_) or torch.compile (_orig_mod) gives them, because it does not merge or unwrap the model before.",
        advice: "a newer TRL or ms-swift, which merge the adapter for the hand-over; --torch_compile false; or no LoRA with a trainer that cannot do it; in your own: merge_adapter(), and the names without base_model.model and base_layer",
        lines: &[
            &["There is no module or parameter named 'base_model'"],
            &["There is no module or parameter named '_orig_mod'"],
            &["There is no module or parameter named '", "lora_"],
        ],
        example: "ValueError: There is no module or parameter named 'base_model' in LlamaForCausalLM",
        seen_in: "OpenRLHF/OpenRLHF#991",
        ..FAILURE
    },
    Failure {
        names: &["a vLLM that does not fit its GPUs or its model"],
        about: "The number of GPUs for one vLLM must divide the model's attention heads and be there, and its context cannot be longer than the model's.",
        advice: "--vllm_tensor_parallel_size 1, 2 or 4 (one that divides the heads in the line), and not more than the GPUs that are left for vLLM; --vllm_max_model_len at most max_position_embeddings of config.json",
        lines: &[
            &[
                "attention heads",
                "must be divisible by tensor parallel size",
            ],
            &["number of required GPUs exceeds the total number of available GPUs"],
            &[
                "max_model_len (",
                "is greater than the derived max_model_len",
            ],
        ],
        example: "ValueError: Total number of attention heads (28) must be divisible by tensor parallel size (8).",
        seen_in: "THU-KEG/AdaptThink#1",
        ..FAILURE
    },
    Failure {
        names: &["an engine of vLLM that ended"],
        about: "vLLM runs its engine in a process of its own, and this one ended. Why stands above, in lines that begin with EngineCore or Worker: memory, a model that this vLLM does not know, or a torch that it was not made for.",
        advice: "look for the first ERROR of EngineCore or Worker above; the vLLM and torch that the trainer's documentation names together; a smaller --vllm_max_model_len and --vllm_gpu_memory_utilization",
        lines: &[
            &["RPC call to execute_model timed out"],
            &["Engine core initialization failed"],
            &["EngineDeadError"],
            &["Engine loop is not running"],
            &["Engine process failed to start"],
            &["Engine core proc", "died unexpectedly"],
        ],
        role: Consequence,
        example: "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
        seen_in: "huggingface/trl#3632",
        ..FAILURE
    },
    Failure {
        names: &["no memory left for vLLM"],
        about: "vLLM may use its share of the GPU: either training has taken some of that already, or too little of it is left for the cache after the weights.",
        advice: "a larger --vllm_gpu_memory_utilization where training leaves room, a smaller --vllm_max_model_len, --vllm_tensor_parallel_size 2, or a vLLM server on other GPUs (--vllm_mode server)",
        lines: &[
            &["No available memory for the cache blocks"],
            &["on startup is less than desired GPU memory utilization"],
            &["larger than the maximum number of tokens that can be stored in KV cache"],
            &["larger than the available KV cache memory"],
        ],
        example: "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.",
        seen_in: "gensyn-ai/rl-swarm#118",
        ..FAILURE
    },
    Failure {
        names: &["parameter groups of another run"],
        about: "The optimizer of the checkpoint has other groups of parameters than this run: another optimizer, weight decay, LoRA instead of all parameters, or other target modules.",
        advice: "resume with the arguments that it was saved with; or give the checkpoint as the model or adapter, and start the optimizer anew",
        lines: &[
            &["loaded state dict has a different number of parameter groups"],
            &["loaded state dict contains a parameter group that doesn't match the size"],
        ],
        example: "ValueError: loaded state dict has a different number of parameter groups",
        seen_in: "huggingface/peft#1313",
        ..FAILURE
    },
    Failure {
        names: &["an architecture that is none"],
        about: "nvcc was asked for an architecture that is cut or misspelt: an older DeepSpeed cuts those with three digits (12.0), and TORCH_CUDA_ARCH_LIST may be wrong.",
        advice: "pip install --upgrade deepspeed; else TORCH_CUDA_ARCH_LIST as torch says: python -c 'import torch; print(torch.cuda.get_device_capability())'",
        lines: &[&["Unsupported gpu architecture 'compute_", ".'"]],
        example: "nvcc fatal   : Unsupported gpu architecture 'compute_1.'",
        seen_in: "OpenGVLab/InternVL#1245",
        ..FAILURE
    },
    Failure {
        names: &["a compiler that does not know this GPU"],
        about: "nvcc is older than the GPU, or compiles for another one: an operation of newer GPUs (bf16 needs sm_80) for an older one.",
        advice: "a newer CUDA toolkit (12.8 for Blackwell, sm_120), the one that torch was built for; CUDA_HOME must point to it; --env TORCH_CUDA_ARCH_LIST=8.6, or the number of this GPU, where it is set to another; a newer DeepSpeed on GPUs before Ampere",
        lines: &[
            &["Unsupported gpu architecture 'compute_"],
            &["ptxas", "is not defined for option 'gpu-name'"],
            &["ptxas", "Feature '", "requires .target sm_"],
        ],
        example: "nvcc fatal   : Unsupported gpu architecture 'compute_89'",
        seen_in: "deepspeedai/DeepSpeed#3299",
        ..FAILURE
    },
    Failure {
        names: &["weights of two precisions gathered together"],
        about: "ZeRO-3 gathers parameters of one precision together, and here some are in 32 bits and others in 16: a part of the model, an adapter or a head was made or loaded in another precision than the rest.",
        advice: "one precision for all weights: --bf16 true with --torch_dtype bfloat16 (ms-swift, TRL: --dtype bfloat16), and in a script .to(torch.bfloat16) for what it adds, before the model is prepared; or --deepspeed zero2, which gathers no parameters",
        lines: &[&["output tensor must have the same type as input tensor"]],
        traceback: &["deepspeed/", "torch/distributed"],
        alone: true,
        example: "[rank0]: TypeError: output tensor must have the same type as input tensor",
        seen_in: "modelscope/ms-swift#9657",
        ..FAILURE
    },
    Failure {
        names: &["rotary embeddings in another precision, with flash attention"],
        about: "flash-attn wants the input and its rotary embeddings in one precision. transformers 4.49 gives Qwen2-VL's and Qwen2.5-VL's vision tower the embeddings in 32 bits.",
        advice: "transformers 4.50 or newer; or another attention: --attn_impl sdpa (ms-swift), --attn_implementation sdpa (TRL), flash_attn: sdpa (LLaMA-Factory)",
        lines: &[&["Input and cos/sin must have the same dtype"]],
        example: "AssertionError: Input and cos/sin must have the same dtype, got torch.float32 and torch.bfloat16",
        seen_in: "hiyouga/LlamaFactory#7141",
        ..FAILURE
    },
    Failure {
        names: &["accelerate has no DeepSpeed engine"],
        about: "accelerate makes DeepSpeed's engine when model and optimizer are prepared together. Either the script does not prepare them so, or this transformers wants another accelerate.",
        advice: "in a script: accelerator.prepare(model, optimizer, …) in one call, before the first backward; with a trainer, the accelerate that its transformers was made for: accelerate 0.30.1 with transformers 4.40 to 4.42, else the newest of both",
        lines: &[&["has no attribute 'deepspeed_engine_wrapped'"]],
        example: "AttributeError: 'Accelerator' object has no attribute 'deepspeed_engine_wrapped'",
        seen_in: "OpenBMB/MiniCPM-V#668",
        ..FAILURE
    },
    Failure {
        names: &["a library divided by zero (SIGFPE)"],
        about: "A rank died in compiled code, so Python says nothing. With H20 and other Hopper GPUs it is mostly the cuBLAS of CUDA 12.1 to 12.3.",
        advice: "a newer cuBLAS: pip install 'nvidia-cublas-cu12>=12.4.5.8', or a torch that was built for CUDA 12.4 or newer",
        lines: &[
            &["Signal 8 (SIGFPE) received by PID"],
            &["exits with return code = -8"],
            &["failed (exitcode: -8) local_rank"],
        ],
        example: "traceback : Signal 8 (SIGFPE) received by PID 487874",
        seen_in: "huggingface/open-r1#254",
        ..FAILURE
    },
    Failure {
        names: &["weights that were gathered while generating"],
        about: "ZeRO-3 prefetched weights while the trainer generated in inference mode, and the step uses the same tensors: they cannot be part of a backward pass.",
        advice: "newer TRL and DeepSpeed; until then no prefetch: --set zero_optimization.stage3_prefetch_bucket_size=0; where a script evaluates under torch.inference_mode(): torch.no_grad() instead",
        lines: &[
            &["Inplace update to inference tensor outside InferenceMode"],
            &["Inference tensors cannot be saved for backward"],
            &["Cannot set version_counter for inference tensor"],
        ],
        traceback: &["deepspeed/", "generate"],
        alone: true,
        example: "[rank0]: RuntimeError: Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal tensor and use it in autograd.",
        seen_in: "modelscope/ms-swift#3261",
        ..FAILURE
    },
    Failure {
        names: &["a model that this transformers does not know"],
        about: "The model's config.json names a type that the transformers of this Python does not have: it is older than the model, or the launcher belongs to another environment than the trainer.",
        advice: "pip install -U transformers, in the environment of the torchrun that ran (the paths of the traceback say which one)",
        lines: &[&["KeyError: '"]],
        traceback: &["transformers/models/auto/configuration_auto.py"],
        example: "KeyError: 'qwen2_5_vl'",
        seen_in: "hiyouga/LlamaFactory#8521",
        ..FAILURE
    },
    Failure {
        names: &["a tokenizer without its file"],
        about: "sentencepiece got no file: the folder of the model has no tokenizer.model, so the slow tokenizer cannot be made.",
        advice: "download the model's tokenizer files completely (tokenizer.model or tokenizer.json); or use_fast=True where there is a tokenizer.json",
        lines: &[&["TypeError: not a string"]],
        traceback: &["sentencepiece", "tokenization_"],
        example: "TypeError: not a string",
        seen_in: "Python 3.11",
        ..FAILURE
    },
    Failure {
        names: &["a tokenizer of another transformers"],
        about: "The tokenizer_config.json names a class that this transformers does not have: it is older than the model, or the model was saved by a newer one (transformers 5 writes TokenizersBackend).",
        advice: "pip install -U transformers; or the tokenizer files of the model that this one was made from, in place of those that were saved",
        lines: &[&[
            "Tokenizer class ",
            "does not exist or is not currently imported",
        ]],
        example: "ValueError: Tokenizer class TokenizersBackend does not exist or is not currently imported.",
        seen_in: "transformers 5.19.0",
        ..FAILURE
    },
    Failure {
        names: &["a type of model that this transformers is too old for"],
        about: "The word is the model_type of a config.json, and transformers does not have it: it is older than the model, or the launcher belongs to another environment than the trainer.",
        advice: "pip install -U transformers, in the environment of the torchrun that ran",
        lines: &[
            &["but Transformers does not recognize this architecture"],
            &["KeyError: 'qwen2'"],
            &["KeyError: 'qwen2_moe'"],
            &["KeyError: 'qwen2_vl'"],
            &["KeyError: 'qwen2_5_vl'"],
            &["KeyError: 'qwen2_5_omni'"],
            &["KeyError: 'qwen3'"],
            &["KeyError: 'qwen3_moe'"],
            &["KeyError: 'qwen3_vl'"],
            &["KeyError: 'qwen3_vl_moe'"],
            &["KeyError: 'qwen3_next'"],
            &["KeyError: 'gemma2'"],
            &["KeyError: 'gemma3'"],
            &["KeyError: 'gemma3_text'"],
            &["KeyError: 'llama4'"],
            &["KeyError: 'mllama'"],
            &["KeyError: 'mistral3'"],
            &["KeyError: 'pixtral'"],
            &["KeyError: 'phi3'"],
            &["KeyError: 'phi4mm'"],
            &["KeyError: 'deepseek_v2'"],
            &["KeyError: 'deepseek_v3'"],
            &["KeyError: 'glm4'"],
            &["KeyError: 'glm4_moe'"],
            &["KeyError: 'glm4v'"],
            &["KeyError: 'gpt_oss'"],
            &["KeyError: 'internvl'"],
            &["KeyError: 'minicpm3'"],
            &["KeyError: 'olmo2'"],
            &["KeyError: 'cohere2'"],
        ],
        traceback: &["configuration_auto.py"],
        alone: true,
        example: "KeyError: 'qwen2'",
        seen_in: "QwenLM/Qwen3#30",
        ..FAILURE
    },
    Failure {
        names: &["fp16 and bf16 in one operation"],
        about: "One tensor is in fp16 and another in bf16. ZeRO++ (zero_quantized_weights) gave back fp16, whatever the model has, in older releases of DeepSpeed; else the model was loaded in one of the two, and the config or an adapter has the other.",
        advice: "with zero_quantized_weights: --unset zero_optimization.zero_quantized_weights, fp16 all through, or a newer DeepSpeed; else --bf16 true with --torch_dtype bfloat16 (or fp16 with float16), and the adapter in the same",
        lines: &[
            &["have the same dtype, but got", "Half != c10::BFloat16"],
            &["have the same dtype, but got", "BFloat16 != c10::Half"],
            &["expected scalar type Half but found BFloat16"],
            &["expected scalar type BFloat16 but found Half"],
        ],
        here: &[Advice {
            key: "config.zero_optimization.zero_quantized_weights",
            when: Is("true"),
            text: "this config quantizes the weights: --unset zero_optimization.zero_quantized_weights",
        }],
        example: "RuntimeError: expected mat1 and mat2 to have the same dtype, but got: c10::Half != c10::BFloat16",
        seen_in: "MakazhanAlpamys/Soup#336",
        ..FAILURE
    },
    Failure {
        names: &["two precisions in one operation"],
        about: "One tensor is in 32 bits and another in 16: a part of the model, or the inputs, were not converted as the rest was. DeepSpeed converts the model that it is given, not what is added later, and not the inputs of a script.",
        advice: "the same precision everywhere: --bf16 true with --torch_dtype bfloat16 (ms-swift, TRL: --dtype bfloat16); in a script, .to(model.dtype) for the inputs or the module that is named in the traceback; with LoRA, no zero_optimization.zero_quantized_nontrainable_weights; a base in 8 bits computes in fp16: none with DeepSpeed, or 4 bits with bnb_4bit_compute_dtype as the precision of the training",
        lines: &[
            &["Found dtype", "but expected"],
            &["expected scalar type", "but found"],
            &["must have the same dtype, but got"],
            &["query and key must have the same dtype"],
            &["Input type (", "should be the same"],
            &["to have the same dtype, but got"],
        ],
        here: &[Advice {
            key: "config.zero_optimization.zero_quantized_nontrainable_weights",
            when: Is("true"),
            text: "this config quantizes the frozen weights, which LoRA then meets in another precision: --unset zero_optimization.zero_quantized_nontrainable_weights",
        }],
        example: "RuntimeError: mat1 and mat2 must have the same dtype, but got Float and BFloat16",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["fp16 weights with fp16 training"],
        about: "Mixed precision needs the trained weights in fp32, and the model was loaded in fp16.",
        advice: "--bf16 true --fp16 false on Ampere or newer; otherwise load the model in float32 (ms-swift: --torch_dtype float32 --fp16 true), or train it with --deepspeed zero2, which keeps fp32 weights of its own",
        lines: &[&["Attempting to unscale FP16 gradients"]],
        example: "ValueError: Attempting to unscale FP16 gradients.",
        seen_in: "haotian-liu/LLaVA#363",
        ..FAILURE
    },
    Failure {
        names: &["an adapter whose weights did not arrive"],
        about: "The file of the adapter has other names than this model, or nothing: it was saved by another version of PEFT or transformers (which renamed the model's parts), from a wrapped model, or empty under ZeRO-3. Those layers stay as they were made.",
        advice: "the versions of peft and transformers with which it was saved; `python -c \"from safetensors import safe_open; print(list(safe_open('adapter_model.safetensors', 'pt').keys())[:5])\"` shows its names; with ZeRO-3, save by trainer.save_model()",
        lines: &[&["Found missing adapter keys while loading the checkpoint"]],
        example: "UserWarning: Found missing adapter keys while loading the checkpoint: ['base_model.model.model.layers.0.self_attn.q_proj.lora_A.default.weight']",
        seen_in: "huggingface/peft#2699",
        ..FAILURE
    },
    Failure {
        names: &["LoRA modules that the model does not have"],
        about: "No layer of this model has one of these names: each architecture has its own.",
        advice: "--target_modules all-linear (ms-swift), --lora_target_modules all-linear (TRL), lora_target: all (LLaMA-Factory)",
        lines: &[&["ValueError: Target modules", "not found in the base model"]],
        example: "ValueError: Target modules {'q_proj', 'v_proj'} not found in the base model. Please check the target modules and try again.",
        seen_in: "hiyouga/LlamaFactory#1785",
        ..FAILURE
    },
    Failure {
        names: &["fp16 that overflows"],
        about: "Every step overflowed in fp16, so the loss scale was halved until nothing was left. Models trained in bf16 often do that.",
        advice: "--bf16 true --fp16 false on Ampere or newer; otherwise a smaller learning rate",
        lines: &[&["Current loss scale already at minimum - cannot decrease scale anymore"]],
        here: &[Advice {
            key: "config.fp16.enabled",
            when: Is("true"),
            text: "this launch trains in fp16: --bf16 true --fp16 false",
        }],
        example: "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.",
        seen_in: "hiyouga/LlamaFactory#315",
        ..FAILURE
    },
    Failure {
        names: &["no fp16 on this GPU"],
        about: "DeepSpeed takes fp16 on GPUs of compute capability 7.0 (Volta) and newer. On Pascal (P100, GTX 10) it can be allowed, and is slow on most of them.",
        advice: "--env DS_ALLOW_DEPRECATED_FP16=1 on Pascal (capability 6); else --fp16 false --bf16 false, or a newer GPU",
        lines: &[&["Type fp16 is not supported"]],
        example: "ValueError: Type fp16 is not supported.",
        seen_in: "deepseek-ai/DeepSeek-VL2#140",
        ..FAILURE
    },
    Failure {
        names: &["no bf16 on this GPU"],
        about: "GPUs before Ampere do not support bf16. Where torch sees no GPU, it says the same.",
        advice: "--fp16 true --bf16 false",
        lines: &[
            &["Bfloat16 is only supported on GPUs with compute capability"],
            &["Type bf16 is not supported on your device"],
            &["bf16 mixed precision requires PyTorch >= 1.10 and a supported device"],
            &["Your setup doesn't support bf16/gpu"],
            &["CUBLAS_STATUS_NOT_SUPPORTED", "CUDA_R_16BF"],
        ],
        here: &[Advice {
            key: "config.bf16.enabled",
            when: Is("true"),
            text: "this launch trains in bf16: --fp16 true --bf16 false",
        }],
        example: "ValueError: Your setup doesn't support bf16/gpu. You need torch>=1.10, using Ampere GPU with cuda>=11.0",
        seen_in: "lm-sys/FastChat#399",
        ..FAILURE
    },
    Failure {
        names: &["what Lightning cannot do with DeepSpeed"],
        about: "Lightning's strategy for DeepSpeed takes one model with one optimizer and at most one scheduler, trains on GPUs only, and leaves clipping to DeepSpeed.",
        advice: "one optimizer from configure_optimizers; gradient_clip_val of the Trainer with the algorithm norm, or gradient_clipping of the config; every step with a loss; for several optimizers, strategy=\"ddp\"",
        lines: &[
            &["DeepSpeed currently only supports single optimizer"],
            &["Currently only one optimizer is supported with DeepSpeed"],
            &["DeepSpeed does not support clipping gradients by value"],
            &["DeepSpeed handles gradient clipping automatically within the optimizer"],
            &["DeepSpeed and the LBFGS optimizer are not compatible"],
            &["DeepSpeed strategy is only supported on CUDA GPUs"],
            &[
                "Skipping backward by returning `None` from your `training_step` is not supported by `DeepSpeed`",
            ],
        ],
        example: "MisconfigurationException: DeepSpeed currently only supports single optimizer, single optional scheduler.",
        seen_in: "lightning 2.6.6",
        ..FAILURE
    },
    Failure {
        names: &["a checkpoint of another strategy of Lightning"],
        about: "Lightning's DeepSpeed saves a folder, and reads one: this is a single file of another strategy, or a file inside the folder.",
        advice: "the folder itself as ckpt_path; for a single file, DeepSpeedStrategy(load_full_weights=True); to get one file, zero_to_fp32.py in the folder",
        lines: &[
            &["DeepSpeed was unable to load the checkpoint"],
            &["path to a file inside a DeepSpeed checkpoint folder"],
        ],
        example: "RuntimeError: DeepSpeed was unable to load the checkpoint. Ensure you passed in a DeepSpeed compatible checkpoint or a single checkpoint file by setting `DeepSpeedStrategy(..., load_full_weights=True)`.",
        seen_in: "lightning 2.6.6",
        ..FAILURE
    },
    Failure {
        names: &["arguments that this Lightning does not take"],
        about: "The script was written for an older Lightning: in version 2, strategy, accelerator and devices may not be None, and some names are gone.",
        advice: "strategy=\"auto\", accelerator=\"auto\", devices=\"auto\" instead of None (or deepspeed_stage_2); or pip install 'pytorch-lightning<2'",
        lines: &[
            &["You selected an invalid strategy name: `strategy=None`"],
            &["You selected an invalid accelerator name: `accelerator=None`"],
            &["Trainer.__init__() got an unexpected keyword argument 'gpus'"],
            &["Trainer.__init__() got an unexpected keyword argument 'accelerator_args'"],
        ],
        example: "ValueError: You selected an invalid strategy name: `strategy=None`. It must be either a string or an instance of `pytorch_lightning.strategies.Strategy`.",
        seen_in: "MeteoSwiss/ldcast#20",
        ..FAILURE
    },
    Failure {
        names: &["Slurm tasks that do not fit Lightning's devices"],
        about: "Under Slurm, Lightning takes one task for each GPU, and counts them by --ntasks-per-node: its devices and num_nodes must be the same, and --ntasks is not read.",
        advice: "#SBATCH --nodes=N --ntasks-per-node=GPUS and srun before python; Trainer(num_nodes=N, devices=GPUS); in an interactive shell, SLURM_JOB_NAME=bash makes Lightning start the ranks itself",
        lines: &[
            &["You set `--ntasks=", "is not supported"],
            &["You set `devices=", "does not match the number of tasks"],
            &["You set `--ntasks-per-node=", "does not match"],
            &["The `srun` command is available on your system but is not used"],
        ],
        example: "RuntimeError: You set `--ntasks=8` in your SLURM bash script, but this variable is not supported. HINT: Use `--ntasks-per-node=8` instead.",
        seen_in: "lightning 2.6.6",
        ..FAILURE
    },
    Failure {
        names: &["gradient accumulation in two places for Lightning"],
        about: "Lightning tells DeepSpeed how many gradients to accumulate, and refuses a config that says it too.",
        advice: "--unset gradient_accumulation_steps, and accumulate_grad_batches of the Trainer for the number",
        lines: &[
            &["Do not set `gradient_accumulation_steps` in the DeepSpeed config"],
            &["Do not set gradient_accumulation_steps in the DeepSpeed config"],
        ],
        example: "MisconfigurationException: Do not set `gradient_accumulation_steps` in the DeepSpeed config as this will be set with the `accumulate_grad_batches` argument passed via the Lightning Trainer.",
        seen_in: "Lightning-AI/pytorch-lightning#19891",
        ..FAILURE
    },
    Failure {
        names: &["an option that the program never defined"],
        about: "Code asks for an option that the parser of this program does not have: the script and the package that it calls are of different versions, or this entry point does not support what is called.",
        advice: "script and package from the same version (in a checkout: pip install -e .); no option can be given that is not defined",
        lines: &[&["'Namespace' object has no attribute '"]],
        example: "[rank2]: AttributeError: 'Namespace' object has no attribute 'use_dynamic_batch'",
        seen_in: "OpenRLHF/OpenRLHF#1083",
        ..FAILURE
    },
    Failure {
        names: &["an option that is read as a dictionary"],
        about: "transformers 4.53 and later ones before 5 may take --deepspeed for a dictionary instead of a path: it depends on what was imported before.",
        advice: "the option in a YAML file, where the trainer takes one (LLaMA-Factory: deepspeed: FILE); or transformers 5, or one before 4.53",
        lines: &[&[": error: argument --", ": invalid dict value: "]],
        example: "launcher.py: error: argument --deepspeed: invalid dict value: 'examples/deepspeed/ds_z3_config.json'",
        seen_in: "hiyouga/LlamaFactory#9012",
        ..FAILURE
    },
    Failure {
        names: &["an argument that the launcher does not have"],
        about: "What stands before the script belongs to the launcher, and this launcher does not have it, or wants another value: the number of GPUs is --num_processes for accelerate, --nproc-per-node for torchrun, --num_gpus for deepspeed and --nproc-per-node for zlaunch.",
        advice: "the launcher's own name for it (`accelerate launch --help`, `torchrun --help`, `deepspeed --help`), and what is meant for the script after the script; or zlaunch --nproc-per-node GPUS -- COMMAND, which says what was probably meant",
        lines: &[
            &["error: unrecognized arguments: "],
            &["error: argument -", ": expected one argument"],
            &["error: argument -", ": invalid choice: "],
            &["error: argument -", ": invalid int value: "],
        ],
        unlike: &[".py: error: "],
        example: "Accelerate CLI tool: error: unrecognized arguments: --num_gpus",
        seen_in: "accelerate 1.15.0",
        ..FAILURE
    },
    Failure {
        names: &["an argument with another value than it takes"],
        about: "The script names the argument and what it takes instead. It may also stand without its value: a line of the command that ends without a backslash, or a value that begins with a dash.",
        advice: "zlaunch check -- COMMAND names all of them at once; --ARGUMENT=VALUE where the value begins with a dash",
        lines: &[
            &[".py: error: argument -", ": expected one argument"],
            &[".py: error: argument -", ": invalid "],
            &[".py: error: argument -", ": expected at least one argument"],
        ],
        example: "train.py: error: argument --deepspeed: expected one argument",
        seen_in: "Python 3.11",
        ..FAILURE
    },
    Failure {
        names: &["a script with Windows line endings"],
        about: "The script was edited on Windows: a carriage return (\\r) stands behind each backslash, so the shell ends the command there and runs the next line as a command of its own.",
        advice: "sed -i 's/\\r$//' SCRIPT (or dos2unix SCRIPT)",
        lines: &[
            &["HfArgumentParser: ['\\r'"],
            &["$'\\r': command not found"],
            &["^M: bad interpreter"],
        ],
        example: "ValueError: Some specified arguments are not used by the HfArgumentParser: ['\\r']",
        seen_in: "shufangxun/LLaVA-MoD#16",
        ..FAILURE
    },
    Failure {
        names: &["a command that ended too early"],
        about: "The shell ran a line with arguments as a command of its own: the line before has no backslash at its end, or has a space, a comment or a carriage return behind it. The launch went on without these arguments.",
        advice: "a backslash as the very last character of every line of the command but the last (`cat -A SCRIPT` shows what stands behind it)",
        lines: &[
            &[": --", "command not found"],
            &[": -", "--: invalid option"],
        ],
        role: Consequence,
        example: "dense2dense_distillation.sh: line 52: --deepspeed: command not found",
        seen_in: "shufangxun/LLaVA-MoD#16",
        ..FAILURE
    },
    Failure {
        names: &["a file that is no Python"],
        about: "Python was to run this file as the script, and it is something else: a hostfile without --hostfile in front of it, a shell script, a run file.",
        advice: "the script right behind the options of the launcher: deepspeed --hostfile HOSTFILE train.py; a shell script without a launcher: bash SCRIPT",
        lines: &[&["SyntaxError: "]],
        traceback: &[
            "hostfile\", line ",
            ".sh\", line ",
            ".yaml\", line ",
            " slots=",
        ],
        example: "SyntaxError: invalid syntax",
        seen_in: "deepspeedai/DeepSpeedExamples#575",
        ..FAILURE
    },
    Failure {
        names: &["a model that this ms-swift does not know"],
        about: "ms-swift has a list of the models that it can train, and the name given with --model_type, or found in the model's config.json, is not on it: the model is newer, or the name is another one.",
        advice: "pip install -U ms-swift; --model_type with a name from its list of supported models, or without it, so that it is found by itself",
        lines: &[
            &["model_type: '", "is not registered"],
            &["model_type: '", "' not in ["],
        ],
        example: "ValueError: model_type: 'internvl2_5-38b' is not registered.",
        seen_in: "modelscope/ms-swift#2676",
        ..FAILURE
    },
    Failure {
        names: &["a script that does not take --deepspeed"],
        about: "The script has a parser of its own, without --deepspeed: only TrainingArguments of transformers and deepspeed.add_config_arguments() add it, and neither does so in this one. Or the script reads no config at all and does not call DeepSpeed.",
        advice: "parser = deepspeed.add_config_arguments(parser) in the script, and --deepspeed --deepspeed_config FILE; a script with accelerate gets its config from the launch: zlaunch --nproc-per-node GPUS --deepspeed zero2 -- COMMAND",
        lines: &[
            &[".py: error: unrecognized arguments: ", "--deepspeed "],
            &[".py: error: unrecognized arguments: ", "--deepspeed="],
        ],
        example: "train.py: error: unrecognized arguments:  --deepspeed ./ds_config.json",
        seen_in: "deepspeedai/DeepSpeed#3961",
        ..FAILURE
    },
    Failure {
        names: &["an argument that the trainer does not have"],
        about: "The argument has another name in this version, or belongs to another trainer. Or the script imports another checkout of the package that should have it: the traceback has its path.",
        advice: "zlaunch check -- COMMAND names it, and the nearest one that exists",
        lines: &[
            &["Some specified arguments are not used by the HfArgumentParser"],
            &[".py: error: unrecognized arguments: "],
        ],
        // The line of code above the message does not have the argument.
        unlike: &["raise ValueError("],
        example: "ValueError: Some specified arguments are not used by the HfArgumentParser: ['--neft_alpha', '0']",
        seen_in: "hiyouga/LlamaFactory#1906",
        ..FAILURE
    },
    Failure {
        names: &["arguments that never came"],
        about: "The script, or the launcher, asks for an argument that the command does not have, or did not get: torchrun and deepspeed want the script itself, and the deepspeed launcher puts --local_rank in front, so a script that expects its run file first does not read it. A space behind a backslash, or a line without one, ends the command before them.",
        advice: "give them in the command (`cat -A SCRIPT` shows what stands behind each backslash); with a run file (YAML, JSON), start it with torchrun: zlaunch --nproc-per-node GPUS -- COMMAND",
        lines: &[&["error: the following arguments are required: "]],
        example: "train.py: error: the following arguments are required: --output_dir/--output-dir",
        seen_in: "hiyouga/LlamaFactory#6075",
        ..FAILURE
    },
    Failure {
        names: &["no key for Weights & Biases"],
        about: "wandb is installed, so the trainer reports to it, and a job has no terminal on which to ask for the key.",
        advice: "--report_to none, or WANDB_API_KEY in the environment, or WANDB_MODE=offline",
        lines: &[&["api_key not configured (no-tty)"]],
        example: "wandb: ERROR api_key not configured (no-tty). call wandb.login(key=[your_api_key])",
        seen_in: "unslothai/unsloth#1914",
        ..FAILURE
    },
    Failure {
        names: &["NCCL timed out in the first exchanges"],
        about: "These ranks waited in one of the first communications of all (SeqNum), which not all of them reached: a rank was still preparing data or loading, or the GPUs or machines cannot connect.",
        advice: "prepare the data once before, or --ddp_timeout 7200; --env NCCL_DEBUG=INFO shows how far the connections came; look for the first error of another rank",
        lines: &[
            &["Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1,"],
            &["Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2,"],
            &["Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3,"],
            &["Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4,"],
            &["Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5,"],
            &["Watchdog caught collective operation timeout: WorkNCCL(SeqNum=6,"],
            &["Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7,"],
            &["Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8,"],
        ],
        role: Consequence,
        of_missing_ranks: Some("the others waited for it, so look at what happened there"),
        example: "NCCL watchdog thread terminated with exception: [Rank 4] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=1800000) ran for 1800041 milliseconds before timing out.",
        seen_in: "hiyouga/LlamaFactory#2902",
        ..FAILURE
    },
    Failure {
        names: &["NCCL timed out at a barrier"],
        about: "These ranks waited at a barrier, or exchanged a single number (NumelIn=1), and not all of them came: one saved, evaluated, prepared data, or took another number of steps.",
        advice: "look for the first error of another rank. If one is only slow: --ddp_timeout 7200",
        lines: &[&["Watchdog caught collective operation timeout", "NumelIn=1,"]],
        role: Consequence,
        of_missing_ranks: Some("the others waited for it, so look at what happened there"),
        example: "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=28956, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600022 milliseconds before timing out.",
        seen_in: "meta-pytorch/torchtune#2093",
        ..FAILURE
    },
    Failure {
        names: &["NCCL timed out in a small exchange"],
        about: "So few numbers are no weights: the ranks exchange lengths, metrics or texts, and one of them did not come. It waits for something else (a vLLM server, a reward, a download, the data), or it has died.",
        advice: "look for the first error of another rank, and at the server, if there is one; py-spy dump --pid PID on the rank that stands still; if it is only slow, --ddp_timeout 7200",
        lines: &[
            &[
                "Watchdog caught collective operation timeout",
                "ALLGATHER",
                "NumelIn=1,",
            ],
            &[
                "Watchdog caught collective operation timeout",
                "ALLGATHER",
                "NumelIn=2,",
            ],
            &[
                "Watchdog caught collective operation timeout",
                "ALLGATHER",
                "NumelIn=4,",
            ],
            &[
                "Watchdog caught collective operation timeout",
                "ALLGATHER",
                "NumelIn=8,",
            ],
        ],
        role: Consequence,
        of_missing_ranks: Some("the others waited for it, so look at what happened there"),
        example: "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=131, OpType=_ALLGATHER_BASE, NumelIn=8, NumelOut=24, Timeout(ms)=1800000) ran for 1800022 milliseconds before timing out.",
        seen_in: "modelscope/ms-swift#4306",
        ..FAILURE
    },
    Failure {
        names: &["NCCL timed out while gradients were reduced"],
        about: "These ranks wait to bring gradients together. Ranks that ran different modules have different gradients, and wait for each other for ever: batches with and without pictures, experts that not every rank uses, another number of steps. Then the lines of the ranks have one SeqNum and different NumelIn. A rank that is slow or has died looks the same.",
        advice: "look for the first error of another rank; with pictures, a dummy image in text-only rows, or frozen --freeze_vit true --freeze_aligner true; if one is only slow, --ddp_timeout 7200",
        lines: &[
            &[
                "Watchdog caught collective operation timeout",
                "OpType=ALLREDUCE",
            ],
            &[
                "Watchdog caught collective operation timeout",
                "OpType=_REDUCE_SCATTER_BASE",
            ],
            &[
                "Watchdog caught collective operation timeout",
                "OpType=REDUCE",
            ],
        ],
        role: Consequence,
        of_missing_ranks: Some("the others waited for it, so look at what happened there"),
        example: "[rank0]:[E1206 18:44:12.715298746 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7753, OpType=_REDUCE_SCATTER_BASE, NumelIn=544997376, NumelOut=68124672, Timeout(ms)=600000) ran for 600061 milliseconds before timing out.",
        seen_in: "hiyouga/LlamaFactory#6269",
        ..FAILURE
    },
    Failure {
        names: &["NCCL timed out while weights were gathered"],
        about: "An all-gather in the middle of training is ZeRO-3 collecting the weights of a module. Ranks that run different modules wait for each other for ever: experts that not every rank uses, batches without pictures, a different number of generated tokens. A rank that is slow or has died looks the same.",
        advice: "look for the first error of another rank; then --deepspeed zero2, which gathers nothing in the middle; for a mixture of experts, its block as a leaf module (--set zero_optimization.leaf_module.classes); for pictures, a dummy image in text-only rows; for generate(), synced_gpus=True",
        lines: &[
            &[
                "Watchdog caught collective operation timeout",
                "OpType=_ALLGATHER_BASE",
            ],
            &[
                "Watchdog caught collective operation timeout",
                "OpType=ALLGATHER",
            ],
        ],
        role: Consequence,
        of_missing_ranks: Some("the others waited for it, so look at what happened there"),
        example: "[Rank 7] NCCL watchdog thread terminated with exception: [Rank 7] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=202558, OpType=_ALLGATHER_BASE, NumelIn=2359296, NumelOut=18874368, Timeout(ms)=1800000) ran for 1800860 milliseconds before timing out.",
        seen_in: "deepspeedai/DeepSpeed#5066",
        ..FAILURE
    },
    Failure {
        names: &["modules in another order than before"],
        about: "Not an error: ZeRO-3 fetches weights ahead in the order of the last step, and this step ran other modules, so the prefetch of this step is lost and it is slower. It happens with two models, with evaluation in between, with experts, and with pictures in some batches only.",
        advice: "nothing, while the steps go on. If no step ends any more, the ranks run different modules: --deepspeed zero2, a dummy image for text-only rows of a vision model, leaf modules for experts (--set zero_optimization.leaf_module.classes)",
        lines: &[&["Invalidate trace cache @ step"]],
        role: Consequence,
        example: "Invalidate trace cache @ step 10: expected module 11, but got module 19",
        seen_in: "hiyouga/LlamaFactory#6760",
        ..FAILURE
    },
    Failure {
        names: &["an NCCL that vLLM cannot load"],
        about: "vLLM loads NCCL's library by itself: the one that VLLM_NCCL_SO_PATH names, else torch's. That file is not there, is broken, or is for another system.",
        advice: "unset VLLM_NCCL_SO_PATH (--unset-env VLLM_NCCL_SO_PATH), so that torch's own is taken; if it is not set, pip install --force-reinstall torch",
        lines: &[&["Failed to load NCCL library from"]],
        example: "(VllmWorker rank=3 pid=44710) ERROR 08-20 09:48:31 [pynccl_wrapper.py:229] Failed to load NCCL library from /opt/nccl-2.21.5-1/build/lib/libnccl.so.2.21.5. It is expected if you are not running on NVIDIA/AMD GPUs.",
        seen_in: "huggingface/trl#3925",
        ..FAILURE
    },
    Failure {
        names: &["no answer from the vLLM server"],
        about: "The trainer waits for a vLLM server (GRPO in server mode), and none answers at its host and port.",
        advice: "start it first, on other GPUs: CUDA_VISIBLE_DEVICES=3 trl vllm-serve --model MODEL (ms-swift: swift rollout), then --vllm_server_host and --vllm_server_port with its address; no_proxy for that host where a proxy is set; or --vllm_mode colocate",
        lines: &[
            &["Server is not up yet. Retrying in"],
            &["The vLLM server can't be reached at"],
            &["Max retries exceeded with url: /init_communicator"],
            &["Max retries exceeded with url: /health"],
        ],
        role: Consequence,
        example: "2025-03-26 05:53:13 - INFO - trl.extras.vllm_client - Server is not up yet. Retrying in 2.0 seconds...",
        seen_in: "huggingface/open-r1#543",
        ..FAILURE
    },
    Failure {
        names: &["NCCL timed out"],
        about: "These ranks waited in a communication that not all of them reached. One is slow (data, saving, evaluation), has died, or does something else.",
        advice: "look for the first error of another rank. If one is only slow: --ddp_timeout 7200",
        lines: &[&["Watchdog caught collective operation timeout"]],
        // A rank that did not come.
        role: Consequence,
        of_missing_ranks: Some("the others waited for it, so look at what happened there"),
        example: "[rank3]:[E1113 14:07:50.955124402 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=335, OpType=BROADCAST, NumelIn=67895296, NumelOut=67895296, Timeout(ms)=600000) ran for 600008 milliseconds before timing out.",
        seen_in: "modelscope/ms-swift#2443",
        ..FAILURE
    },
    Failure {
        names: &["a loss or gradient that is not a number"],
        about: "A step with it teaches nothing, and may spoil the weights for good. The usual reasons: fp16 that overflows, a learning rate that is too high, a batch without any trained token (all cut off), broken pictures or weights, an attention that does not suit the padding; with older releases of DeepSpeed, overlap_comm.",
        advice: "--bf16 true instead of fp16; a smaller --learning_rate with --warmup_ratio 0.05; look at the first batch that has it: are labels left after truncation?; then, one by one, --set zero_optimization.overlap_comm=false, another attention (sdpa, eager), another stage",
        lines: &[
            &["'grad_norm': nan"],
            &["'grad_norm': 'nan'"],
            &["'loss': nan"],
            &["'loss': 'nan'"],
            &["\"grad_norm\": NaN"],
        ],
        role: Report,
        example: "{'loss': 2.0832541, 'token_acc': 0.52479339, 'grad_norm': nan, 'learning_rate': 1e-05, 'memory(GiB)': 65.89, 'train_speed(iter/s)': 0.025912, 'epoch': 0.0,",
        seen_in: "modelscope/ms-swift#2280",
        ..FAILURE
    },
    Failure {
        names: &["NCCL hangs"],
        about: "A call into NCCL or CUDA did not return, often because a rank is gone or the machines started far apart.",
        advice: "look for the first error of another rank; TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=1800 where machines start late",
        lines: &[
            &["Heartbeat monitor timed out! Process will be terminated"],
            &["watchdog got stuck for"],
        ],
        // A call that does not return.
        role: Consequence,
        of_missing_ranks: Some("look at what happened there"),
        example: "[rank144]:[E ProcessGroupNCCL.cpp:1316] [PG 0 Rank 144] Heartbeat monitor timed out! Process will be terminated after dumping debug info. workMetaList_.size()=1",
        seen_in: "hiyouga/LlamaFactory#6953",
        ..FAILURE
    },
    Failure {
        names: &["another rank is gone"],
        about: "The connection to a rank broke, as it does when that rank ends. The network itself is the rarer reason.",
        advice: "look for the first error of another rank, on the machine that the line names; if no rank ended, the network: --env NCCL_SOCKET_IFNAME=NAME, with the interface that connects the machines (`ip -br addr`)",
        lines: &[
            &[
                "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely",
            ],
            &["remote process exited or there was a network error"],
            &["Connection closed by remote peer"],
            &["gloo/transport", "Connection closed by peer"],
            &["gloo/transport", "Connection reset by peer"],
        ],
        // A rank that ended.
        role: Consequence,
        of_missing_ranks: Some("look at what happened there"),
        example: "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.hpp:268, remote process exited or there was a network error, NCCL version 2.21.5",
        seen_in: "NVIDIA/nccl#2076",
        ..FAILURE
    },
    Failure {
        names: &["no C compiler for Triton"],
        about: "Triton compiles a small program before its first kernel, and finds no compiler.",
        advice: "apt install gcc (or module load gcc, conda install -c conda-forge gxx), in the container, too; CC=/path/to/gcc where it has another name",
        lines: &[&["Failed to find C compiler"]],
        example: "RuntimeError: Failed to find C compiler. Please specify via CC environment variable or set triton.knobs.build.impl.",
        seen_in: "triton 3.9.0",
        ..FAILURE
    },
    Failure {
        names: &["torch.compile that fails"],
        about: "The model, or a part of it, is compiled (torch_compile, a decorator in its code, vLLM), and the compiler does not take it, in this version or together with DeepSpeed's hooks.",
        advice: "--torch_compile false, or --env TORCHDYNAMO_DISABLE=1 to see whether it is that; for vLLM --vllm_enforce_eager true; a newer torch",
        lines: &[&["torch._dynamo.exc."], &["torch._inductor.exc."]],
        unlike: &["WARN", "Warning", "config.suppress_errors"],
        example: "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["rank 0 is gone"],
        about: "The ranks ask rank 0 for the address of NCCL, and it did not answer: it ended before, or it is still loading.",
        advice: "look at what rank 0 said before; the network, if it said nothing",
        lines: &[
            &[
                "is setting up NCCL communicator and",
                "ncclUniqueId from [0] via c10d key-value store",
            ],
            &["Stop_waiting response is expected"],
        ],
        // Rank 0 that ended.
        role: Consequence,
        example: "gpu004: RuntimeError: [14] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: Connection reset by peer.",
        seen_in: "hiyouga/LlamaFactory#2470",
        ..FAILURE
    },
    Failure {
        names: &["NCCL failed in itself"],
        about: "NCCL found something that it does not expect: a description of the hardware that is wrong (NCCL_TOPO_FILE, a virtual machine), machines with different versions of NCCL, a plugin for the network that does not suit it, a rank that ended, or a fault of NCCL.",
        advice: "--env NCCL_DEBUG=WARN, and look at the line with NCCL WARN or behind `Last error:`; without NCCL_TOPO_FILE; --env NCCL_NET_PLUGIN=none to try it without a plugin; the same environment on all machines, with a newer torch",
        lines: &[
            &["NCCL error in", "internal error"],
            &["ncclInternalError: Internal check failed"],
        ],
        role: Consequence,
        lines_below: 2,
        example: "ncclInternalError: Internal check failed.",
        seen_in: "NVIDIA/nccl#827",
        ..FAILURE
    },
    Failure {
        names: &["NCCL failed in a system call"],
        about: "NCCL could not use a socket, shared memory or a network card, or a rank on the other side ended. In a container it is nearly always /dev/shm, which has 64 MB there; with several machines, the network interface.",
        advice: "--env NCCL_DEBUG=WARN, and look at the line with NCCL WARN; docker run --shm-size=64g (or --ipc=host); between machines, --env NCCL_SOCKET_IFNAME=eth0 (the interface that `ip addr` shows with the address of --master-addr), and NCCL_IB_DISABLE=1 to try it without InfiniBand",
        lines: &[
            &["NCCL", "unhandled system error"],
            &["ncclSystemError: System call"],
        ],
        // What NCCL printed before.
        role: Consequence,
        // NCCL's last error.
        lines_below: 2,
        example: "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.",
        seen_in: "NVIDIA/nccl#1240",
        ..FAILURE
    },
    Failure {
        names: &["NCCL failed in a CUDA call"],
        about: "NCCL could not use a GPU. The line after `Last error:` says why; otherwise NCCL_DEBUG=WARN makes NCCL say it.",
        advice: "--env NCCL_DEBUG=WARN, and look at the line with NCCL WARN",
        lines: &[
            &["NCCL error in:", "unhandled cuda error"],
            &["NCCL Error 1: unhandled cuda error"],
            &["ncclUnhandledCudaError: Call to CUDA function failed"],
        ],
        // What NCCL printed before.
        role: Consequence,
        // NCCL's last error.
        lines_below: 2,
        example: "(Runner pid=16018) ncclUnhandledCudaError: Call to CUDA function failed.",
        seen_in: "hiyouga/EasyR1#579",
        ..FAILURE
    },
    Failure {
        names: &["a vLLM server and a trainer on one GPU"],
        about: "The trainer joins the vLLM server's ranks to send them the weights, and is on one of their GPUs: NCCL takes a GPU for one rank only.",
        advice: "other GPUs for the server than for the trainer, for example CUDA_VISIBLE_DEVICES=0 trl vllm-serve … and CUDA_VISIBLE_DEVICES=1,2,3 for the launch; or --vllm_mode colocate",
        lines: &[
            &["NCCL error: invalid usage"],
            &["Attempting to use the same CUDA device"],
        ],
        traceback: &[
            "init_communicator",
            "vllm_serve",
            "VllmWorker",
            "EngineCore",
            "vllm_client",
        ],
        role: Consequence,
        example: "RuntimeError: Worker failed with error 'NCCL error: invalid usage (run with NCCL_DEBUG=WARN for details)', please check the stack trace above for the root cause",
        seen_in: "huggingface/trl#3706",
        ..FAILURE
    },
    Failure {
        names: &["an NCCL of another version than torch's"],
        about: "torch was compiled for one NCCL and another one was loaded, which reads torch's settings wrongly: an nvidia-nccl package of another version, or one of the system that LD_LIBRARY_PATH or LD_PRELOAD puts first. The version in the message is the one that was loaded.",
        advice: "`python -c 'import torch; print(torch.cuda.nccl.version())'` beside that version; pip install --force-reinstall torch, and --env LD_LIBRARY_PATH= to try it without the system's",
        lines: &[&["Invalid config blocking attribute value"]],
        example: "Invalid config blocking attribute value -2147483648",
        seen_in: "axolotl-ai-cloud/axolotl#1158",
        ..FAILURE
    },
    Failure {
        names: &["NCCL used in a way that it refuses"],
        about: "Nearly always two ranks are on one GPU, or ranks send different things at the same time. The line after `Last error:`, or one with NCCL WARN above, says which.",
        advice: "one GPU for each rank: --nproc-per-node GPUS, and no code that picks a GPU by itself; --env NCCL_DEBUG=WARN shows the reason",
        lines: &[
            &["NCCL Error 5: invalid usage"],
            &["NCCL error", "invalid usage"],
            &["ncclInvalidUsage: This usually reflects invalid usage"],
        ],
        role: Consequence,
        // NCCL's last error.
        lines_below: 2,
        example: "ncclInvalidUsage: This usually reflects invalid usage of NCCL library (such as too many async ops, too many collectives at once, mixing streams in a group, etc).",
        seen_in: "deepspeedai/DeepSpeed#1604",
        ..FAILURE
    },
    Failure {
        names: &["a rank that the others waited for"],
        about: "A rank waits at a barrier, or for a value, that another rank never reached or gave: that one is slow (preparing data, saving, loading), has died, or does something else.",
        advice: "look for the first error of another rank. If one is only slow: --ddp_timeout 7200, and prepare the data once before (on one rank, into the cache). Without any other error, on several machines: the network (NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME)",
        lines: &[
            &["Timed out waiting ", "ms for recv operation to complete"],
            &["Timed out waiting ", "ms for send operation to complete"],
            &["wait timeout after", "ms, keys:"],
            &["successfully reached monitoredBarrier, but received errors"],
            &["Error: Socket Timeout"],
            &["failed to pass monitoredBarrier"],
        ],
        role: Consequence,
        of_missing_ranks: Some("the others waited for it, so look at what happened there"),
        example: "[rank0]: torch.distributed.DistStoreError: wait timeout after 300000ms, keys: /broadcast_from/0/75465",
        seen_in: "modelscope/ms-swift#4906",
        ..FAILURE
    },
    Failure {
        names: &["a rank ended itself (SIGABRT)"],
        about: "Compiled code of a rank stopped it: NCCL's watchdog after a time out or an error of another rank, an assertion on the GPU, or memory that was freed twice. The reason stands above, in a line with `what():`, `Watchdog` or `Assertion`.",
        advice: "look for that line, on the rank that ended first; --env TORCH_NCCL_ASYNC_ERROR_HANDLING=1 NCCL_DEBUG=WARN makes torch and NCCL say more",
        lines: &[
            &["died with <Signals.SIGABRT"],
            &["failed (exitcode: -6) local_rank"],
            &["exits with return code = -6"],
            &["Signal 6 (SIGABRT) received by PID"],
        ],
        role: Consequence,
        example: "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -6) local_rank: 0 (pid: 142437) of binary: /opt/conda/bin/python",
        seen_in: "deepspeedai/Megatron-DeepSpeed#207",
        ..FAILURE
    },
    Failure {
        names: &["a launcher that a signal ended"],
        about: "torchrun got a signal and ended its ranks: 1 (SIGHUP) when the terminal or the ssh session closed, which nohup does not keep from torchrun, 2 with Ctrl-C, 15 (SIGTERM) from a scheduler, a container that stopped, or somebody.",
        advice: "in tmux, or with setsid, systemd-run or sbatch instead of nohup; for 15, what the scheduler says (`sacct -j JOB`, `docker inspect`)",
        lines: &[&["SignalException: Process", "got signal: "]],
        role: Consequence,
        example: "torch.distributed.elastic.multiprocessing.api.SignalException: Process 12345 got signal: 1",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["a rank was killed (SIGKILL)"],
        about: "Something outside the run killed a rank. Nearly always it is the kernel, because host memory ran out; a scheduler does it too.",
        advice: "`dmesg -T | grep -i killed` on that machine, or `sacct -j JOB -o MaxRSS,State`; then less host memory: fewer --dataloader_num_workers, less offload",
        lines: &[
            &["died with <Signals.SIGKILL"],
            &[": line ", " Killed  "],
            &["failed (exitcode: -9) local_rank"],
            &["exits with return code = -9"],
            &["Signal 9 (SIGKILL) received by PID"],
            &["exitcode  : 137"],
        ],
        // Whoever killed it.
        role: Consequence,
        here: &[Advice {
            key: OPTIMIZER_DEVICE,
            when: Is("cpu"),
            text: "this launch offloads the optimizer to host memory: `zlaunch fit` says how much that needs",
        }],
        example: "E1117 14:23:08.672000 17402 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: -9) local_rank: 1 (pid: 17473) of binary: /opt/env/bin/python",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["code for another processor"],
        about: "Compiled code uses instructions that this CPU does not have: it was compiled on another machine (DeepSpeed's CPU optimizer is compiled for the CPU at hand, and its cache may be shared), or a wheel is for newer CPUs.",
        advice: "rm -r ~/.cache/torch_extensions, and TORCH_EXTENSIONS_DIR in a folder for each kind of machine; DS_BUILD_CPU_ADAM was done on the kind of machine that trains",
        lines: &[
            &["Illegal instruction"],
            &["Signal 4 (SIGILL)"],
            &["failed (exitcode: -4) local_rank"],
            &["exits with return code = -4"],
        ],
        role: Consequence,
        example: "torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: -4) local_rank: 0 (pid: 94) of binary: python",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["a rank crashed (SIGSEGV)"],
        about: "Compiled code crashed: an extension built for another version, a driver, or broken files in the cache of compiled operators.",
        advice: "rm -r ~/.cache/torch_extensions ~/.triton; PYTHONFAULTHANDLER=1 shows where it crashed",
        lines: &[
            &["free(): invalid pointer"],
            &["double free or corruption ("],
            &["corrupted size vs. prev_size"],
            &["malloc(): "],
            &["died with <Signals.SIGSEGV"],
            &["failed (exitcode: -11) local_rank"],
            &["Segmentation fault"],
            &["exits with return code = -11"],
            &["Signal 11 (SIGSEGV) received by PID"],
        ],
        // A crash in compiled code.
        role: Consequence,
        example: "E1223 05:18:02.971000 3304089 site-packages/torch/distributed/elastic/multiprocessing/api.py:882] failed (exitcode: -11) local_rank: 0 (pid: 3304209) of binary: /root/miniconda3/envs/qat-env/bin/python3.12",
        seen_in: "NVIDIA/Megatron-LM#1880",
        ..FAILURE
    },
    Failure {
        names: &["a rank failed with a bus error (SIGBUS)"],
        about: "A rank touched memory that the system could not provide. Nearly always /dev/shm is too small.",
        advice: "docker run --shm-size=64g (or --ipc=host); `df -h /dev/shm`",
        lines: &[
            &["died with <Signals.SIGBUS"],
            &["Bus error (core dumped)"],
            &["failed (exitcode: -7) local_rank"],
            &["exits with return code = -7"],
            &["Signal 7 (SIGBUS) received by PID"],
        ],
        // Memory that is not there.
        role: Consequence,
        example: "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -7) local_rank: 0 (pid: 3311)",
        seen_in: "OreoChocolate/MUREN#15",
        ..FAILURE
    },
    Failure {
        rule: Some(Rule::BatchProduct),
        lines: &[&["Check batch related parameters. train_batch_size is not equal"]],
        example: "AssertionError: Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size 60 != 3 * 4 * 8",
        seen_in: "DeepSpeed 0.19.8",
        ..FAILURE
    },
    Failure {
        rule: Some(Rule::BatchSize),
        lines: &[
            &["unsupported operand type(s) for //: 'str' and 'int'"],
            &["unsupported operand type(s) for //: 'int' and 'str'"],
            &["unsupported operand type(s) for //=: 'int' and 'str'"],
        ],
        traceback: &["deepspeed/runtime/config.py"],
        alone: true,
        example: "TypeError: unsupported operand type(s) for //: 'str' and 'int'",
        seen_in: "DeepSpeed 0.19.8",
        ..FAILURE
    },
    Failure {
        rule: Some(Rule::Mismatch),
        lines: &[
            &["DeepSpeed config values that mismatch TrainingArguments values"],
            &["DeepSpeed config values that mismatch kwargs"],
            &["- ds ", " vs"],
        ],
        example: "ValueError: Please correct the following DeepSpeed config values that mismatch TrainingArguments values",
        seen_in: "transformers 5.19.0",
        ..FAILURE
    },
    Failure {
        rule: Some(Rule::Auto),
        lines: &[&["not found in kwargs. Please specify", "without `auto`"]],
        example: "ValueError: `train_micro_batch_size_per_gpu` not found in kwargs. Please specify `train_micro_batch_size_per_gpu` without `auto` (set to correct value) in the DeepSpeed config file or pass it in kwargs.",
        seen_in: "accelerate 1.15.0",
        ..FAILURE
    },
    Failure {
        rule: Some(Rule::Argument),
        lines: &[&["remaining_argv: ["]],
        example: "ValueError: remaining_argv: ['--batch_size', '4']",
        seen_in: "ms-swift 4.6.0",
        ..FAILURE
    },
    Failure {
        names: &["a port that only root may use"],
        about: "The operating system keeps the ports below 1024 for root, and some more where a policy says so.",
        advice: "--master-port with a number from 1024 to 65535",
        lines: &[
            &["server socket has failed to", "errno: 13"],
            &["errno: 13 - Permission denied"],
        ],
        example: "RuntimeError: The server socket has failed to listen on any local network address. The server socket has failed to bind to [::]:520 (errno: 13 - Permission denied).",
        seen_in: "liucongg/ChatGLM-Finetuning#140",
        ..FAILURE
    },
    Failure {
        names: &["a taken port for the weights on the vLLM server"],
        about: "The port over which the trainer sends its weights to vLLM (51216) is taken: by another training on this machine, by what is left of one, or by a second server of the same training.",
        advice: "another --vllm_group_port (TRL) or --vllm_server_group_port (ms-swift) for each training; `ss -ltnp | grep 51216` shows who has it",
        lines: &[
            &["51216", "EADDRINUSE"],
            &["51216", "Address already in use"],
        ],
        example: "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 51216, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use",
        seen_in: "modelscope/ms-swift#7363",
        ..FAILURE
    },
    Failure {
        rule: Some(Rule::Port),
        lines: &[
            &["Tried to launch distributed communication on port"],
            &["The server socket has failed to listen on any local network address"],
            &["Address already in use"],
        ],
        example: "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. EADDRINUSE",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        rule: Some(Rule::SwiftOptimizer),
        lines: &[&["'DummyOptim' object has no attribute 'param_groups'"]],
        traceback: &["/swift/"],
        example: "AttributeError: 'DummyOptim' object has no attribute 'param_groups'",
        seen_in: "ms-swift 4.6.0",
        ..FAILURE
    },
    Failure {
        names: &["a placeholder without a section in the config"],
        about: "The script makes accelerate's DummyOptim or DummyScheduler, which stands for an optimizer or scheduler section of the DeepSpeed config, and the config has none.",
        advice: "such a section in the config (--set scheduler.type=WarmupDecayLR --set scheduler.params.total_num_steps=auto, for example), or an optimizer and scheduler of torch in the script; a DummyScheduler may have lr_scheduler_callable instead",
        lines: &[
            &[
                "DummyOptim",
                "without specifying an optimizer in the config file",
            ],
            &[
                "DummyScheduler",
                "without specifying a scheduler in the config file",
            ],
            &[
                "Either specify a scheduler in the config file or",
                "lr_scheduler_callable",
            ],
        ],
        example: "ValueError: Either specify a scheduler in the config file or pass in the `lr_scheduler_callable` parameter when using `accelerate.utils.DummyScheduler`.",
        seen_in: "accelerate 1.15.0",
        ..FAILURE
    },
    Failure {
        names: &["an Accelerator that prepared no model"],
        about: "accelerator.backward() hands the loss to DeepSpeed's engine, and this Accelerator has none: the model was not given to accelerator.prepare(), or to that of another Accelerator.",
        advice: "model, optimizer, loader = accelerator.prepare(model, optimizer, loader), with the same Accelerator that calls backward()",
        lines: &[&["'NoneType' object has no attribute 'backward'"]],
        traceback: &["accelerate/"],
        alone: true,
        example: "AttributeError: 'NoneType' object has no attribute 'backward'",
        seen_in: "accelerate 1.15.0",
        ..FAILURE
    },
    Failure {
        names: &["a placeholder instead of an optimizer"],
        about: "With an optimizer section in the config, accelerate gives the script a placeholder (DummyOptim), which DeepSpeed replaces. Here it is used before that (a scheduler of torch, or the trainer, looks inside it), or DeepSpeed never came, because the script runs without a launcher.",
        advice: "without a launcher: zlaunch --nproc-per-node GPUS -- COMMAND; else --unset optimizer, or a scheduler section too, so that the script takes a DummyScheduler",
        lines: &[
            &["'DummyOptim' object has no attribute"],
            &["'DummyScheduler' object has no attribute"],
        ],
        example: "AttributeError: 'DummyOptim' object has no attribute 'param_groups'",
        seen_in: "bghira/SimpleTuner#759",
        ..FAILURE
    },
    Failure {
        rule: Some(Rule::UnknownKey),
        lines: &[&["Extra inputs are not permitted"]],
        traceback: &["for DeepSpeed"],
        lines_above: 1,
        example: "ValidationError: 1 validation error for DeepSpeedZeroConfig overlapp_comm Extra inputs are not permitted",
        seen_in: "DeepSpeed 0.19.8",
        ..FAILURE
    },
    Failure {
        rule: Some(Rule::RemovedKey),
        lines: &[&["NVIDIA Apex AMP integration has been removed"]],
        example: "DeepSpeedConfigError: NVIDIA Apex AMP integration has been removed. Use DeepSpeed 'fp16', 'bf16', or 'torch_autocast' instead.",
        seen_in: "DeepSpeed 0.19.8",
        ..FAILURE
    },
    Failure {
        rule: Some(Rule::WrongType),
        lines: &[&["Input should be a valid"]],
        traceback: &["for DeepSpeed"],
        lines_above: 1,
        example: "ValidationError: reduce_bucket_size Input should be a valid integer, got a number with a fractional part",
        seen_in: "DeepSpeed 0.19.8",
        ..FAILURE
    },
    Failure {
        rule: Some(Rule::WrongValue),
        lines: &[&["Input should be "]],
        traceback: &["for DeepSpeed"],
        lines_above: 1,
        example: "ValidationError: 1 validation error for DeepSpeedZeroConfig stage Input should be 0, 1, 2, 3 or 3",
        seen_in: "DeepSpeed 0.19.8",
        ..FAILURE
    },
    Failure {
        rule: Some(Rule::TwoPrecisions),
        lines: &[&["bfloat16 and fp16 modes cannot be simultaneously enabled"]],
        example: "AssertionError: bfloat16 and fp16 modes cannot be simultaneously enabled",
        seen_in: "DeepSpeed 0.19.8",
        ..FAILURE
    },
    Failure {
        rule: Some(Rule::PartialOffload),
        lines: &[&["Partial offloading only supported for ZeRO Stage 3"]],
        example: "ValidationError: Assertion failed, Partial offloading only supported for ZeRO Stage 3.",
        seen_in: "DeepSpeed 0.19.8",
        ..FAILURE
    },
    Failure {
        rule: Some(Rule::MasterWeights),
        lines: &[&["master_weights_and_grads is only supported with ZeRO Stage"]],
        example: "AssertionError: Fp16_master_weights_and_grads is only supported with ZeRO Stage 1, 2, or 3.",
        seen_in: "DeepSpeed 0.19.8",
        ..FAILURE
    },
    Failure {
        rule: Some(Rule::GradientNorm),
        lines: &[&["compute_grad_norm=false is supported only with ZeRO Stage"]],
        example: "ValidationError: Value error, compute_grad_norm=false is supported only with ZeRO Stage 1 or 2",
        seen_in: "DeepSpeed 0.19.8",
        ..FAILURE
    },
    Failure {
        rule: Some(Rule::LossScale),
        lines: &[&["must be > 0 when dynamic loss scaling is enabled"]],
        example: "ValidationError: Value error, fp16.loss_scale_window must be > 0 when dynamic loss scaling is enabled (loss_scale=0)",
        seen_in: "DeepSpeed 0.19.8",
        ..FAILURE
    },
    Failure {
        rule: Some(Rule::SumOfGradients),
        lines: &[&["gradient_allreduce_op='sum' is not supported with ZeRO stage"]],
        example: "ValueError: gradient_allreduce_op='sum' is not supported with ZeRO stage 3",
        seen_in: "DeepSpeed 0.19.8",
        ..FAILURE
    },
    Failure {
        rule: Some(Rule::NvmePath),
        lines: &[&["\"nvme_path\" in DeepSpeed Config cannot be None"]],
        example: "AssertionError: \"nvme_path\" in DeepSpeed Config cannot be None if remote device is nvme",
        seen_in: "DeepSpeed 0.19.8",
        ..FAILURE
    },
    Failure {
        rule: Some(Rule::UntestedOptimizer),
        lines: &[&["You are using an untested ZeRO Optimizer"]],
        example: "AssertionError: You are using an untested ZeRO Optimizer. Please add <\"zero_allow_untested_optimizer\": true> in the configuration file to use it.",
        seen_in: "DeepSpeed 0.19.8",
        ..FAILURE
    },
    Failure {
        rule: Some(Rule::OddBucket),
        lines: &[&["must be a multiple of nccl_start_alignment_factor"]],
        example: "AssertionError: allgather_bucket_size must be a multiple of nccl_start_alignment_factor, 2",
        seen_in: "DeepSpeed 0.19.8",
        ..FAILURE
    },
    Failure {
        rule: Some(Rule::OptimizerParameter),
        lines: &[&["is not supported as an optimizer parameter"]],
        example: "ValueError: 'max_grad_norm' is not supported as an optimizer parameter, please switch to using the deepspeed parameter 'gradient_clipping'",
        seen_in: "DeepSpeed 0.19.8",
        ..FAILURE
    },
    Failure {
        rule: Some(Rule::SchedulerType),
        lines: &[&["DeepSpeed does not recognize LR scheduler"]],
        example: "AssertionError: DeepSpeed does not recognize LR scheduler WarmUpLR",
        seen_in: "DeepSpeed 0.19.8",
        ..FAILURE
    },
    Failure {
        rule: Some(Rule::ReduceScatter),
        lines: &[
            &["Muon and reduce scatter cannot be used together"],
            &["when enable all_to_all_reduce, reduce_scatter should also be enabled"],
        ],
        example: "AssertionError: when enable all_to_all_reduce, reduce_scatter should also be enabled for data type checks.",
        seen_in: "deepspeedai/DeepSpeed#3809",
        ..FAILURE
    },
    Failure {
        rule: Some(Rule::NoSync),
        lines: &[
            &["no_sync context manager is incompatible with gradient partitioning"],
            &["no sync context manager is incompatible with gradient"],
        ],
        example: "AssertionError: no_sync context manager is incompatible with gradient partitioning logic of ZeRO stage 2",
        seen_in: "kongds/E5-V#23",
        ..FAILURE
    },
    Failure {
        names: &["another rank failed, and this one was ended"],
        about: "A rank was ended by the launcher, or lost its connection, because another rank had failed.",
        advice: "look for the first error of another rank",
        lines: &[
            &["NCCL communicator was aborted on rank"],
            &["failed (exitcode: -15) local_rank"],
            &["exits with return code = -15"],
            &["Connection reset by peer"],
            &["Broken pipe"],
            &["Signal 15 (SIGTERM) received by PID"],
        ],
        unlike: &["HTTP", "urllib3", "requests.", "ProtocolError"],
        role: Consequence,
        example: "RuntimeError: NCCL communicator was aborted on rank 1.",
        seen_in: "TexasInstruments/edgeai-mmdetection#8",
        ..FAILURE
    },
    Failure {
        names: &["a GPU that torch cannot start"],
        about: "torch sees no GPU. One of these: CUDA_VISIBLE_DEVICES is empty or names one that is not there; the job or container was given none; the driver is missing, or was updated without a restart; this torch is the one for the CPU.",
        advice: "`nvidia-smi`, and python -c \"import torch; print(torch.version.cuda, torch.cuda.device_count())\": None is a torch for the CPU, so install one for CUDA; 0 is no GPU for this process (docker run --gpus all, #SBATCH --gres=gpu:N, another CUDA_VISIBLE_DEVICES). `zlaunch doctor` says what is seen",
        lines: &[
            &["No CUDA GPUs are available"],
            &["CUDA driver initialization failed"],
            &["Torch not compiled with CUDA enabled"],
            &["torch.cuda.is_available() is False"],
            &["0 active drivers (["],
            &["CUDA unknown error - this may be due to an incorrectly set up environment"],
        ],
        example: "RuntimeError: No CUDA GPUs are available",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["cuBLAS or cuDNN that failed"],
        about: "A library of CUDA failed in a multiplication or a convolution. One of these: an earlier kernel had failed and is reported here (a wrong index, mostly), the GPU is full, or another libcublas or libcudnn than torch's own is loaded, by LD_LIBRARY_PATH or from a package of another CUDA.",
        advice: "CUDA_LAUNCH_BLOCKING=1 once, which names the operation; --unset-env LD_LIBRARY_PATH, and pip install --force-reinstall torch with the nvidia-* packages of its CUDA; a smaller micro batch if nvidia-smi shows a full GPU",
        lines: &[
            &["cusolver error: "],
            &["cusparse error: "],
            &["CUBLAS_STATUS_EXECUTION_FAILED"],
            &["CUBLAS_STATUS_INTERNAL_ERROR"],
            &["CUBLAS_STATUS_INVALID_VALUE"],
            &["CUDNN_STATUS_"],
            &["Unable to find a valid cuDNN algorithm"],
            &["No execution plans support the graph"],
            &["was unable to find an engine to execute this computation"],
        ],
        example: "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx`",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["an attention that the model does not have"],
        about: "The model's code has no such attention in this transformers.",
        advice: "--attn_implementation sdpa, or eager (ms-swift: --attn_impl, LLaMA-Factory: flash_attn: disabled); packing and padding_free need flash attention, so without them; or a newer transformers",
        lines: &[
            &["does not support Flash Attention"],
            &["does not support an attention implementation through torch"],
            &[
                "The only possible arguments are",
                "(manual attention implementation)",
            ],
        ],
        example: "ValueError: Qwen2ForCausalLM does not support Flash Attention 2.0 yet.",
        seen_in: "transformers 5.19.0",
        ..FAILURE
    },
    Failure {
        names: &["an attention that this GPU does not have"],
        about: "The kernel is made for other GPUs: flash-attn 2 needs Ampere (A100, A10, RTX 30) or newer, and some sizes of heads need an A100 or H100 in the backward pass.",
        advice: "--attn_implementation sdpa, or eager (ms-swift: --attn_impl sdpa; LLaMA-Factory: flash_attn: disabled)",
        lines: &[
            &["cutlassF: no kernel found to launch"],
            &["FlashAttention only supports Ampere GPUs or newer"],
            &["Expected is_sm8", "to be true, but got false"],
            &["FlashAttention backward for head dim", "requires A100"],
        ],
        example: "RuntimeError: cutlassF: no kernel found to launch!",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["flash attention with 32 bits"],
        about: "flash-attn computes in 16 bits only, and a part of the model, or all of it, is in 32.",
        advice: "--bf16 true with --torch_dtype bfloat16 (ms-swift, TRL: --dtype bfloat16), so that the model is loaded in 16 bits, adapters and heads too; or --attn_implementation sdpa",
        lines: &[
            &["only supports torch.float16 and torch.bfloat16"],
            &["qkv.dtype in [torch.float16, torch.bfloat16]"],
            &["FlashAttention only support fp16 and bf16"],
            &["FlashAttention only supports", "fp16 and bf16"],
        ],
        example: "ValueError: Flash Attention 2 only supports torch.float16 and torch.bfloat16 dtypes",
        seen_in: "OpenGVLab/InternVL-MMDetSeg#6",
        ..FAILURE
    },
    Failure {
        names: &["no chat template"],
        about: "The data are conversations, and this tokenizer has no template to write them as text: that of a base model, or of a folder without chat_template.jinja.",
        advice: "the tokenizer of the Instruct or Chat model; TRL: --chat_template_path; LLaMA-Factory: template:; ms-swift: --template; or data that are text already",
        lines: &[&["tokenizer.chat_template is not set"]],
        example: "ValueError: Cannot use chat template functions because tokenizer.chat_template is not set and no template argument was passed!",
        seen_in: "transformers 5.19.0",
        ..FAILURE
    },
    Failure {
        names: &["a class that is not for this model"],
        about: "The script loads the model with a class for another kind: a model with pictures as a text model, a reward model as a language model; or transformers is older than the model.",
        advice: "the class that `architectures` in its config.json names, or AutoModelForImageTextToText for pictures; with a trainer, the command or --model_type for that kind; pip install --upgrade transformers",
        lines: &[
            &["Unrecognized configuration class", "for this kind of"],
            &["Unrecognized model in", "Should have a `model_type` key"],
        ],
        example: "ValueError: Unrecognized configuration class <class 'X'> for this kind of AutoModel: AutoModelForCausalLM.",
        seen_in: "transformers 5.19.0",
        ..FAILURE
    },
    Failure {
        names: &["a model that is not where it is looked for"],
        about: "The name of the model or tokenizer is no folder here, so it is taken for a repository of the hub, and there is none of that name, or not for this user. Or the folder has no config.json or tokenizer, as one of a checkpoint's parts.",
        advice: "`ls FOLDER/config.json` in the folder of the launch, on every machine (an absolute path is safe); for a repository, its exact OWNER/NAME, and hf auth login for a private one",
        lines: &[
            &["GatedRepoError"],
            &["401 Client Error"],
            &["403 Client Error"],
            &["Repo id must be in the form"],
            &["Repo id must use alphanumeric chars"],
            &["is not a local folder and is not a valid model identifier"],
            &["Incorrect path_or_model_id"],
            &["does not appear to have a file named"],
            &["Can't load tokenizer for '"],
            &["RepositoryNotFoundError"],
            &["no file named", "found in directory"],
        ],
        example: "huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': '/data/models/qwen'.",
        seen_in: "huggingface-hub 1.33.0",
        ..FAILURE
    },
    Failure {
        names: &["a torch older than 2.6 for torch.load"],
        about: "transformers reads files of pickle (pytorch_model.bin, optimizer.pt, rng_state_N.pth) only with torch 2.6 or newer, because older ones can be made to run what is in the file.",
        advice: "pip install 'torch>=2.6'; or weights in safetensors; for a resumed run an older transformers, with files of your own",
        lines: &[&["serious vulnerability issue in `torch.load`"]],
        fixed: Some(("torch", "2.6.0")),
        example: "ValueError: Due to a serious vulnerability issue in `torch.load`, even with `weights_only=True`, we now require users to upgrade torch to at least v2.6",
        seen_in: "transformers 5.19.0",
        ..FAILURE
    },
    Failure {
        names: &["no samples left"],
        about: "The dataset is empty, or became so: all rows were too long or too short, the split is another one, or Trainer dropped all columns that the model's forward() does not take.",
        advice: "look at what preprocessing left (maximum length, template, split, filter) and remove its cache; --remove_unused_columns false if the collator makes the model's inputs",
        lines: &[
            &["num_samples should be a positive integer value"],
            &["No columns in the dataset match the model's forward method"],
            &["The batch received was empty"],
            &["training requires a train_dataset"],
        ],
        example: "ValueError: num_samples should be a positive integer value, but got num_samples=0",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["samples that are on the GPU already"],
        about: "The data loader pins its batches in host memory, and the dataset or collator has put them on the GPU.",
        advice: "no .to(\"cuda\") in the dataset or collator: the trainer moves the batch; or --dataloader_pin_memory false",
        lines: &[&["only dense CPU tensors can be pinned"]],
        example: "RuntimeError: cannot pin 'torch.cuda.LongTensor' only dense CPU tensors can be pinned",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["messages that the chat template refuses"],
        about: "The template of this model does not take the conversation as it is: two turns of one role after each other, a system message that it has no place for, or a first turn of the assistant.",
        advice: "mend those samples (join turns of one role, put the system text into the first user turn), or another --template or chat_template",
        lines: &[
            &["Conversation roles must alternate"],
            &["System role not supported"],
            &["jinja2.exceptions.TemplateError: "],
        ],
        example: "jinja2.exceptions.TemplateError: Conversation roles must alternate user/assistant/user/assistant/...",
        seen_in: "transformers 5.19.0",
        ..FAILURE
    },
    Failure {
        names: &["a picture that cannot be read"],
        about: "A file of the dataset is no picture that Pillow knows, or its end is missing: a page of an error in place of the download, a broken copy, or a path to something else.",
        advice: "find it: python -c 'import sys; from PIL import Image; [Image.open(f).load() for f in sys.argv[1:]]' FILES stops at the first one; leave those samples out",
        lines: &[
            &["cannot identify image file"],
            &["image file is truncated"],
        ],
        example: "PIL.UnidentifiedImageError: cannot identify image file '/data/images/7.jpg'",
        seen_in: "Pillow 12.0.0",
        ..FAILURE
    },
    Failure {
        names: &["a data file that is not the JSON it should be"],
        about: "The file has a line that is not whole, or a column whose values are of different types in different lines (a text and a list, a number and a text).",
        advice: "python -m json.tool FILE >/dev/null for a .json; for a .jsonl, one object to a line: jq -c . FILE >/dev/null names the line; the same type for each key everywhere",
        lines: &[
            &["ArrowInvalid: JSON parse error: "],
            &["ArrowInvalid: Could not convert"],
        ],
        example: "pyarrow.lib.ArrowInvalid: JSON parse error: Missing a closing quotation mark in string. in row 0",
        seen_in: "pyarrow 22.0.0",
        ..FAILURE
    },
    Failure {
        names: &["a value that is missing in the data"],
        about: "A sample has None where the collator wants a number or a text: a field that some rows do not have, or that is called otherwise there.",
        advice: "filter the data (dataset.filter(lambda row: row[\"FIELD\"] is not None)), and the same fields in all files; --dataloader_num_workers 0 shows which row it is",
        lines: &[&["Could not infer dtype of NoneType"]],
        example: "RuntimeError: Could not infer dtype of NoneType",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["samples of different lengths in one batch"],
        about: "The samples of a batch were to become one tensor and are not of the same length: the collator does not pad them, or not that column (labels, or a text that was left in).",
        advice: "a collator that pads the labels too (DataCollatorForSeq2Seq, pad_token set), no columns besides the model's inputs; --per_device_train_batch_size 1 shows whether it is that",
        lines: &[
            &["stack expects each tensor to be equal size"],
            &["Unable to create tensor, you should probably activate"],
            &["Unable to create tensor", "padding"],
            &["expected sequence of length", "at dim"],
        ],
        example: "RuntimeError: stack expects each tensor to be equal size, but got [512] at entry 0 and [498] at entry 1",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["a data worker that ended"],
        about: "A process that loads data ended without saying why: host memory or /dev/shm was full, or compiled code of it crashed.",
        advice: "--dataloader_num_workers 0 once, which shows its own error; `dmesg -T | grep -i killed`; docker run --shm-size=64g; then fewer workers",
        lines: &[
            &["DataLoader worker (pid", "exited unexpectedly"],
            &["Pin memory thread exited unexpectedly"],
            &["DataLoader worker (pid", "is killed by signal"],
        ],
        role: Consequence,
        example: "RuntimeError: DataLoader worker (pid(s) 1234) exited unexpectedly",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["a process group that nobody made"],
        about: "Something asks for the ranks before torch.distributed was set up: the script runs without a launcher, or before TrainingArguments, Accelerator() or deepspeed.initialize came.",
        advice: "start it with a launcher (zlaunch --nproc-per-node GPUS -- python train.py), and in a script, torch.distributed.init_process_group() or deepspeed.init_distributed() first",
        lines: &[
            &["Default process group has not been initialized"],
            &["Process group not initialized"],
        ],
        example: "ValueError: Default process group has not been initialized, please make sure to call init_process_group.",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["a process group that is made twice"],
        about: "Two parts of the program set up torch.distributed: the script itself, and the trainer or DeepSpeed.",
        advice: "only one of them: no init_process_group() or deepspeed.init_distributed() in the script where TrainingArguments, Accelerator() or deepspeed.initialize follow, or `if not torch.distributed.is_initialized()`",
        lines: &[&["trying to initialize the default process group twice"]],
        example: "ValueError: trying to initialize the default process group twice!",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["a quantized model that is to be converted or moved"],
        about: "A model in 4 or 8 bits keeps its precision and its GPU, and DeepSpeed or the script converts it (half(), to(dtype)) or moves it.",
        advice: "LoRA around it before it is prepared (get_peft_model, --use_peft true), so that only the adapter is converted; no .to() or .half() in the script; a newer bitsandbytes and transformers; or the model without quantization",
        lines: &[
            &["`.to` is not supported for `"],
            &["`.half()` is not supported for"],
            &["`.float()` is not supported for"],
            &["You cannot cast a", "model in a new `dtype`"],
            &["Calling `cuda()` is not supported for"],
        ],
        example: "ValueError: `.half()` is not supported for quantized model. Please use the model as it is, since the model has already been casted to the correct `dtype`.",
        seen_in: "transformers 5.19.0",
        ..FAILURE
    },
    Failure {
        names: &["a quantized model without adapters"],
        about: "The weights of a quantized model (4 or 8 bits, GPTQ, AWQ, FP8) cannot be trained themselves, and the trainer found no LoRA on them: none was asked for, or its method has no training.",
        advice: "--use_peft true (ms-swift: --tuner_type lora, LLaMA-Factory: finetuning_type: lora); in a script, get_peft_model() before the Trainer; or the model without quantization",
        lines: &[
            &["cannot perform fine-tuning on purely quantized models"],
            &["quantization method do not support training"],
        ],
        example: "ValueError: You cannot perform fine-tuning on purely quantized models. Please attach trainable adapters on top of the quantized model to correctly perform fine-tuning.",
        seen_in: "transformers 5.19.0",
        ..FAILURE
    },
    Failure {
        names: &["a quantized model on another GPU than its rank's"],
        about: "A quantized model stays where it was loaded, and that is not the GPU of this rank, or not a GPU at all: device_map=\"auto\" spreads it over all that it sees.",
        advice: "device_map={\"\": int(os.environ[\"LOCAL_RANK\"])} in from_pretrained, one rank for each GPU; a smaller model or more GPU memory where it went to the CPU",
        lines: &[&[
            "You can't train a model that has been loaded in",
            "precision",
        ]],
        example: "ValueError: You can't train a model that has been loaded in 8-bit or 4-bit precision on a different device than the one you're training on.",
        seen_in: "accelerate 1.15.0",
        ..FAILURE
    },
    Failure {
        names: &["a gradient for whole numbers"],
        about: "A weight that is stored as whole numbers was to be trained: that of a quantized model (8 or 4 bits, GPTQ, AWQ), or one that ZeRO-3 made a parameter of while it loaded.",
        advice: "LoRA on the quantized model (QLoRA) with --deepspeed zero2, or the model without quantization",
        lines: &[
            &["Only Tensors of floating point and complex dtype can require gradients"],
            &["only Tensors of floating point dtype can require gradients"],
        ],
        example: "RuntimeError: Only Tensors of floating point and complex dtype can require gradients",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["a second backward pass through one graph"],
        about: "What the forward pass had kept for gradients was used already: two losses share a part of it, or gradient checkpointing in its reentrant form runs that part again.",
        advice: "--gradient_checkpointing_kwargs '{\"use_reentrant\": false}'; in a script, one backward() on the sum of the losses, and nothing kept from the step before without .detach()",
        lines: &[&["Trying to backward through the graph a second time"]],
        example: "RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they have already been freed).",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["generate() that gets no probabilities"],
        about: "The model's output has NaN or infinity: fp16 that overflows (Qwen and Gemma need bf16), padding on the wrong side, weights that training has spoilt, or that ZeRO-3 had not gathered.",
        advice: "--bf16 true instead of fp16, padding_side=\"left\" for generation, a smaller --learning_rate; with ZeRO-3 a newer TRL, or --deepspeed zero2",
        lines: &[&["probability tensor contains either `inf`, `nan` or element < 0"]],
        example: "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["pictures that were cut off"],
        about: "The text has another number of places for pictures than there are features: the sample was cut at the maximum length, in the middle of a picture, or the processor is of another version than the model's code.",
        advice: "a larger maximum length (--max_length, cutoff_len) or smaller pictures (MAX_PIXELS, --max_pixels), and no truncation (ms-swift: --truncation_strategy delete; TRL: --max_length None); the same transformers for preprocessing and training; beside vLLM, the same limits for pictures on both sides (mm_processor_kwargs) and a --vllm_max_model_len that is long enough",
        lines: &[
            &[
                "shape mismatch: value tensor of shape",
                "cannot be broadcast to indexing result of shape",
            ],
            &["mage features and image tokens do not match"],
            &["ideo features and video tokens do not match"],
            &["Mismatch in `image` token count"],
            &[
                "Attempted to assign",
                "multimodal tokens to",
                "placeholders",
            ],
        ],
        example: "ValueError: Image features and image tokens do not match: tokens: 1024, features 1156",
        seen_in: "transformers 5.19.0",
        ..FAILURE
    },
    Failure {
        names: &["experts at an address that grouped_mm does not take"],
        about: "transformers computes all experts of a layer in one call (grouped_mm), which wants their weights to begin at a multiple of 16 bytes. ZeRO puts weights one behind another, so one of an odd size moves those behind it.",
        advice: "a newer DeepSpeed; or experts_implementation=\"eager\" in from_pretrained() (ms-swift: --experts_impl eager)",
        lines: &[
            &["expected data_ptr to be aligned to 16 bytes"],
            &["strides should be multiple of 16 bytes"],
        ],
        example: "RuntimeError: expected data_ptr to be aligned to 16 bytes",
        seen_in: "deepspeedai/DeepSpeed#8276",
        ..FAILURE
    },
    Failure {
        names: &["LoRA without modules"],
        about: "PEFT does not know which layers of this architecture get an adapter.",
        advice: "--target_modules all-linear (TRL: --lora_target_modules; LLaMA-Factory: lora_target: all), or their names",
        lines: &[&["Please specify `target_modules`"]],
        example: "ValueError: Please specify `target_modules` in `peft_config`",
        seen_in: "peft 0.20.0",
        ..FAILURE
    },
    Failure {
        names: &["a package that the model's code imports"],
        about: "The model brings its own Python file, and that imports a package which is not here.",
        advice: "pip install it, in the Python that `zlaunch doctor -- COMMAND` names; for flash_attn: pip install flash-attn --no-build-isolation",
        lines: &[&["This modeling file requires the following packages that were not found"]],
        example: "ImportError: This modeling file requires the following packages that were not found in your environment: flash_attn. Run `pip install flash_attn`",
        seen_in: "transformers 5.19.0",
        ..FAILURE
    },
    Failure {
        names: &["a package made for another numpy"],
        about: "A compiled package was made for numpy 1 and runs with numpy 2, or the other way round.",
        advice: "upgrade that package (the traceback names it; pandas, pyarrow, scikit-learn, opencv often), or pip install 'numpy<2'",
        lines: &[
            &["compiled using NumPy 1.x cannot be run in"],
            &["numpy.core.multiarray failed to import"],
            &["RuntimeError: Numpy is not available"],
            &["numpy.dtype size changed, may indicate binary incompatibility"],
            &["module 'numpy' has no attribute '"],
            &["`np.", "was removed in the NumPy 2.0 release"],
        ],
        example: "A module that was compiled using NumPy 1.x cannot be run in NumPy 2.4.6 as it may crash.",
        seen_in: "numpy 2.4.6",
        ..FAILURE
    },
    Failure {
        names: &["a kernel of Triton that is too large for this GPU"],
        about: "A kernel of Triton needs more shared memory than this GPU has: it was written for an A100 or H100.",
        advice: "without that kernel: --use_liger_kernel false (LLaMA-Factory: enable_liger_kernel: false), another attention; or a newer version of the package that brings it",
        lines: &[&["out of resource: shared memory"]],
        example: "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 163840, Hardware limit: 101376. Reducing block sizes or `num_stages` may help.",
        seen_in: "triton 3.9.0",
        ..FAILURE
    },
    Failure {
        names: &["a program that is not on PATH"],
        about: "The launch starts another program, and it is not in any folder of PATH: not installed, or not in a container.",
        advice: "install it, or put its folder on PATH (/usr/sbin for ldconfig, $CUDA_HOME/bin for nvcc): --env PATH=...",
        lines: &[
            &["No such file or directory: 'ldconfig'"],
            &["No such file or directory: '/sbin/ldconfig'"],
            &["No such file or directory: 'gcc'"],
            &["No such file or directory: 'g++'"],
            &["No such file or directory: 'c++'"],
            &["No such file or directory: 'ninja'"],
            &["No such file or directory: 'nvcc'"],
            &["No such file or directory: 'pdsh'"],
            &["No such file or directory: 'ssh'"],
            &["No such file or directory: 'srun'"],
            &["No such file or directory: 'mpirun'"],
            &["No such file or directory: 'hostname'"],
            &["No such file or directory: 'git'"],
            &["No such file or directory: 'cl'"],
        ],
        example: "FileNotFoundError: [Errno 2] No such file or directory: 'ldconfig'",
        seen_in: "triton 3.9.0",
        ..FAILURE
    },
    Failure {
        names: &["a scaler of fp16 for weights in bf16"],
        about: "Training in fp16 scales the gradients, and the model was loaded in bf16, for which there is no scaling.",
        advice: "--bf16 true --fp16 false; or the model in float32 (ms-swift: --torch_dtype float32) with --fp16 true",
        lines: &[&[
            "_amp_foreach_non_finite_check_and_unscale",
            "not implemented for 'BFloat16'",
        ]],
        example: "NotImplementedError: \"_amp_foreach_non_finite_check_and_unscale_cuda\" not implemented for 'BFloat16'",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["operations for the CPU in 16 bits"],
        about: "torch has this operation not for fp16 on the CPU: the model, or a part of it, is in host memory, or there is no GPU.",
        advice: "see that the GPU is used (`zlaunch doctor`), and nothing is moved to the CPU (device_map, offload of a script's own); or --torch_dtype bfloat16, or float32",
        lines: &[&["\" not implemented for 'Half'"]],
        example: "RuntimeError: \"normal_kernel_cpu\" not implemented for 'Half'",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["an operation that has no such precision"],
        about: "torch, or this version of it, has no kernel for that operation and precision: bf16 or fp8 in a place that was written for fp32 (audio, interpolation, a sort, a loss), or a quantized weight where a plain one is wanted.",
        advice: "a newer torch; in the script, that part in fp32 (x.float(), or autocast off around it); --fp16 true instead of bf16, or float32 for the model with --bf16 true, so that autocast chooses",
        lines: &[&["\" not implemented for '"]],
        example: "RuntimeError: \"triu_tril_cuda_template\" not implemented for 'BFloat16'",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["an optimizer or scheduler in two places"],
        about: "The config has an optimizer or scheduler section, and the script makes one itself. accelerate wants one of both: a section together with DummyOptim and DummyScheduler in the script, or no section.",
        advice: "--unset optimizer, --unset scheduler, so that the script's own count; or DummyOptim and DummyScheduler in the script",
        lines: &[
            &["in the config file and in the code at the same time"],
            &["You cannot create a `DummyOptim` without"],
            &["You can only specify `accelerate.utils.DummyScheduler`"],
            &["Either specify a scheduler in the config file or pass in"],
        ],
        example: "ValueError: You cannot specify an optimizer in the config file and in the code at the same time.",
        seen_in: "accelerate 1.15.0",
        ..FAILURE
    },
    Failure {
        names: &["a precision of accelerate against the config's"],
        about: "accelerate was told one precision (mixed_precision of its YAML, --mixed_precision, or --fp16 and --bf16 of the trainer) and the DeepSpeed config turns the other one on.",
        advice: "the same in both: --unset fp16 --set bf16.enabled=auto with mixed_precision: bf16; \"auto\" in the config follows accelerate",
        lines: &[&[
            "`--mixed_precision` arg cannot be set to",
            "is set in the DeepSpeed config file",
        ]],
        example: "ValueError: `--mixed_precision` arg cannot be set to `bf16` when `fp16` is set in the DeepSpeed config file.",
        seen_in: "accelerate 1.15.0",
        ..FAILURE
    },
    Failure {
        names: &["keys of accelerate beside a config file"],
        about: "accelerate's YAML names a config of DeepSpeed (deepspeed_config_file) and says some of its values too; it takes them from one place only.",
        advice: "drop those keys from the YAML (or the options of accelerate launch), and write the values into the JSON",
        lines: &[&["the following accelerate config variables will be ignored"]],
        example: "ValueError: When using `deepspeed_config_file`, the following accelerate config variables will be ignored: ['gradient_accumulation_steps'].",
        seen_in: "accelerate 1.15.0",
        ..FAILURE
    },
    Failure {
        names: &["weights that ZeRO-3 may not gather for saving"],
        about: "With ZeRO-3 each rank has a part of every weight, and the config does not allow to gather them for saving.",
        advice: "--set zero_optimization.stage3_gather_16bit_weights_on_model_save=true; or python zero_to_fp32.py in the checkpoint's folder afterwards",
        lines: &[&["Cannot get 16bit model weights because"]],
        example: "ValueError: Cannot get 16bit model weights because `stage3_gather_16bit_weights_on_model_save` in DeepSpeed config is False.",
        seen_in: "accelerate 1.15.0",
        ..FAILURE
    },
    Failure {
        names: &["a model spread over GPUs, and several ranks"],
        about: "device_map=\"auto\" puts parts of the model on all GPUs of one process, or on the CPU, and every rank wants all of it on its own GPU. A quantized model must be loaded there from the beginning.",
        advice: "no device_map (or {\"\": PartialState().process_index} for a quantized model); or one process: --nproc-per-node 1 without DeepSpeed; with ms-swift, one process for each GPU: export NPROC_PER_NODE=GPUS",
        lines: &[
            &["has been loaded with `device_map='auto'` in any distributed mode"],
            &["loaded in 8-bit or 4-bit precision on"],
            &["loaded in 8-bit or 4-bit precision with"],
            &["DistributedDataParallel device_ids and output_device arguments only work"],
            &["DistributedDataParallel's input module must be on the same type of devices"],
        ],
        example: "ValueError: You can't train a model that has been loaded with `device_map='auto'` in any distributed mode.",
        seen_in: "accelerate 1.15.0",
        ..FAILURE
    },
    Failure {
        names: &["no address of the first machine"],
        about: "The launch is for several machines, and does not say how they reach the first one.",
        advice: "--master-addr and --master-port (accelerate: --main_process_ip, --main_process_port), the same on all machines, and --node-rank on each",
        lines: &[
            &["you need to specify the main process IP"],
            &["you need to specify the main process port"],
            &["Tried to launch on distributed with multinode, but `MASTER_ADDR`"],
        ],
        example: "AssertionError: When using multiple machines, you need to specify the main process IP.",
        seen_in: "accelerate 1.15.0",
        ..FAILURE
    },
    Failure {
        names: &["fewer GPUs than accelerate was told of"],
        about: "accelerate's config says multi_gpu, and names one GPU or one process only.",
        advice: "--gpu_ids all and --num_processes GPUS; for one GPU, no --multi_gpu (distributed_type: 'NO')",
        lines: &[
            &["Less than two GPU ids were configured"],
            &["You need to use at least 2 processes to use `--multi_gpu`"],
        ],
        example: "ValueError: You need to use at least 2 processes to use `--multi_gpu`.",
        seen_in: "accelerate 1.15.0",
        ..FAILURE
    },
    Failure {
        names: &["a best model that is not saved"],
        about: "To load the best model at the end, each one that is evaluated must be saved whole, and the measure that decides must be among those of the evaluation (eval_loss needs labels: --label_names labels with PEFT).",
        advice: "--save_strategy as --eval_strategy, --save_steps a multiple of --eval_steps, no --save_only_model with DeepSpeed, --metric_for_best_model from the list; or --load_best_model_at_end false",
        lines: &[
            &["--load_best_model_at_end requires"],
            &["can't be used with `save_only_model` along with"],
            &["The `metric_for_best_model` training argument is set to"],
        ],
        example: "ValueError: --load_best_model_at_end requires the save and eval strategy to match",
        seen_in: "transformers 5.19.0",
        ..FAILURE
    },
    Failure {
        names: &["fp16 and bf16 together"],
        about: "Both precisions are asked for, and only one can be used.",
        advice: "one of --fp16 true and --bf16 true (bf16 from Ampere on), and \"auto\" for both in the config",
        lines: &[
            &["At most one of fp16 and bf16 can be True"],
            &["fp16 and bf16 modes cannot be simultaneously enabled"],
        ],
        example: "ValueError: At most one of fp16 and bf16 can be True, but not both",
        seen_in: "transformers 5.19.0",
        ..FAILURE
    },
    Failure {
        names: &["no number of steps"],
        about: "A streamed dataset has no length, so the trainer cannot know when it ends.",
        advice: "--max_steps NUMBER (the config's total_num_steps can then be \"auto\")",
        lines: &[
            &["does not implement __len__"],
            &["must be set to a positive value if dataloader does not have a length"],
        ],
        example: "ValueError: The train_dataset does not implement __len__, so the number of training steps cannot be inferred; max_steps has to be specified.",
        seen_in: "transformers 5.19.0",
        ..FAILURE
    },
    Failure {
        names: &["a DeepSpeed config without DeepSpeed"],
        about: "transformers' class for the config is empty where it finds no package deepspeed, or no accelerate: all that it would inherit is missing.",
        advice: "pip install deepspeed accelerate for the Python that runs (`zlaunch doctor -- COMMAND` says which), on every machine; then start it anew: a notebook keeps what it has imported",
        lines: &[
            &["'HfTrainerDeepSpeedConfig' object has no attribute"],
            &["'HfDeepSpeedConfig' object has no attribute"],
        ],
        example: "AttributeError: 'HfTrainerDeepSpeedConfig' object has no attribute 'is_zero3'",
        seen_in: "huggingface/transformers#39081",
        ..FAILURE
    },
    Failure {
        names: &["an accelerate that is missing or too old"],
        about: "transformers uses accelerate to load and to train, and the Python that runs has none, or one that is too old.",
        advice: "pip install -U accelerate, in the Python that `zlaunch doctor -- COMMAND` names, on every machine",
        lines: &[
            &["requires `accelerate>="],
            &["requires Accelerate: `pip install"],
            &["name 'init_empty_weights' is not defined"],
        ],
        example: "ImportError: Using the `Trainer` with `PyTorch` requires `accelerate>=1.1.0`: Please run `pip install transformers[torch]` or `pip install 'accelerate>=1.1.0'`",
        seen_in: "transformers 5.19.0",
        ..FAILURE
    },
    Failure {
        names: &["no DeepSpeed for accelerate"],
        about: "The Python that runs has no package deepspeed, or only a folder of that name; another Python may have it.",
        advice: "`zlaunch doctor -- COMMAND` says which Python runs: pip install deepspeed there, on every machine; no folder called deepspeed beside the script",
        lines: &[
            &["DeepSpeed is not installed =>"],
            &["DeepSpeed is not available =>"],
            &["--deepspeed requires deepspeed"],
        ],
        example: "ImportError: DeepSpeed is not installed => run `pip install deepspeed` or build it from source.",
        seen_in: "accelerate 1.15.0",
        ..FAILURE
    },
    Failure {
        names: &["experts of DeepSpeed with ZeRO-3"],
        about: "DeepSpeed's own layer for experts (deepspeed.moe) does not work with ZeRO-3.",
        advice: "--deepspeed zero2",
        lines: &[
            &["MoE is not supported with ZeRO Stage 3"],
            &["MoE not supported with Stage 3"],
        ],
        example: "AssertionError: MoE not supported with Stage 3",
        seen_in: "deepspeed 0.19.8",
        ..FAILURE
    },
    Failure {
        names: &["an optimizer that DeepSpeed does not have"],
        about: "optimizer.type is not one of DeepSpeed's, nor of torch.optim.",
        advice: "Adam, AdamW, Lamb, OneBitAdam, Lion, Muon, Adagrad or SGD; --unset optimizer for the trainer's own (--optim)",
        lines: &[&["is not a supported DeepSpeed Optimizer"]],
        example: "AssertionError: muonw is not a supported DeepSpeed Optimizer",
        seen_in: "deepspeed 0.19.8",
        ..FAILURE
    },
    Failure {
        names: &["two launchers for one rank"],
        about: "The local rank that the script was given is another one than that in the environment: variables of another launcher (mpirun, srun, an older job), or a --local_rank that somebody wrote by hand.",
        advice: "one launcher only; --unset-env LOCAL_RANK --unset-env RANK --unset-env WORLD_SIZE before it, and no --local_rank of your own",
        lines: &[
            &["Mismatch in local rank setting"],
            &["conflicting local rank info"],
            &["DeepSpeed requires the LOCAL_RANK environment"],
        ],
        example: "AssertionError: Mismatch in local rank setting, args.local_rank=0 but env['LOCAL_RANK']=1.",
        seen_in: "deepspeed 0.19.8",
        ..FAILURE
    },
    Failure {
        names: &["DeepSpeed for an evaluation alone"],
        about: "Without training there is no optimizer and no gradient to split, so only ZeRO-3, which splits the weights, is of use.",
        advice: "--deepspeed zero3, or no --deepspeed for an evaluation; per_device_eval_batch_size decides the memory",
        lines: &[&["ZeRO inference only makes sense with ZeRO Stage 3"]],
        example: "ValueError: ZeRO inference only makes sense with ZeRO Stage 3 - please adjust your config",
        seen_in: "transformers 5.19.0",
        ..FAILURE
    },
    Failure {
        names: &["an \"auto\" that needs the size of the model"],
        about: "The buckets of ZeRO-3 are \"auto\", and this model's config has no hidden_size of which they could be made.",
        advice: "numbers: --set zero_optimization.reduce_bucket_size=5e8 --set zero_optimization.stage3_prefetch_bucket_size=5e8 --set zero_optimization.stage3_param_persistence_threshold=1e5",
        lines: &[
            &["has neither `hidden_size` nor `hidden_sizes`"],
            &["Can find neither `model.config.hidden_size`"],
            &["Can't find `model.config` entry"],
        ],
        example: "ValueError: The model's config file has neither `hidden_size` nor `hidden_sizes` entry",
        seen_in: "transformers 5.19.0",
        ..FAILURE
    },
    Failure {
        names: &["a model before its arguments"],
        about: "The model is loaded before TrainingArguments were made, or without them, so transformers has DeepSpeed's config, but not yet its precision.",
        advice: "make TrainingArguments first, and keep them until the model is loaded; with a trainer, upgrade it",
        lines: &[&["trainer_config_process() wasn't called yet"]],
        example: "ValueError: trainer_config_process() wasn't called yet to tell dtype",
        seen_in: "transformers 5.19.0",
        ..FAILURE
    },
    Failure {
        names: &["a backward pass beside the engine"],
        about: "The script calls loss.backward(), and DeepSpeed's engine scales, averages and splits the gradients.",
        advice: "engine.backward(loss) and engine.step() (accelerator.backward(loss) with accelerate); a newer torch and DeepSpeed allow loss.backward()",
        lines: &[&["Direct calls to tensor.backward() are not supported"]],
        example: "RuntimeError: Direct calls to tensor.backward() are not supported in this configuration.",
        seen_in: "deepspeed 0.19.8",
        ..FAILURE
    },
    Failure {
        names: &["a model without an optimizer under ZeRO-1 or 2"],
        about: "ZeRO-1 and 2 split the optimizer's states and gradients, so a model that is only evaluated (a reference, a reward model) has nothing for them.",
        advice: "for a model that is not trained, a config with stage 0 or 3 (in a script: {\"zero_optimization\": {\"stage\": 0}}), or no engine; for one that is trained, an optimizer section: --set optimizer.type=AdamW --set optimizer.params.lr=1e-5, or the script's own",
        lines: &[
            &["zero stage", "requires an optimizer"],
            &["must provide optimizer during init in order to use"],
        ],
        example: "AssertionError: zero stage 2 requires an optimizer",
        seen_in: "PKU-Alignment/safe-rlhf#65",
        ..FAILURE
    },
    Failure {
        names: &["tensors that share their memory"],
        about: "Two names stand for the same weight (embedding and head, mostly), and safetensors does not write that. It happens where a script saves a state dict itself, or zero_to_fp32.py with --safe_serialization.",
        advice: "save with save_pretrained() or safetensors.torch.save_model(), or drop the second name from the state dict; zero_to_fp32.py without --safe_serialization; with transformers 4, --save_safetensors false",
        lines: &[
            &["Some tensors share memory, this will lead to duplicate memory on disk"],
            &["is saved with shared tensors"],
            &["The weights trying to be saved contained shared tensors"],
        ],
        example: "RuntimeError: Some tensors share memory, this will lead to duplicate memory on disk and potential differences when loading them again: [{'lm_head.weight', 'model.embed_tokens.weight'}].",
        seen_in: "kohya-ss/sd-scripts#629",
        ..FAILURE
    },
    Failure {
        names: &["one Accelerator for several models"],
        about: "With DeepSpeed, an Accelerator prepares one model: all others of the script (text encoders, teachers, critics) are not for accelerator.prepare() together with it.",
        advice: "only the model that is trained in prepare(), the others .to(accelerator.device); or a DeepSpeedPlugin for each (Accelerator(deepspeed_plugins={...}), accelerate 0.34 or newer); or the launch without DeepSpeed",
        lines: &[&["You can't use same `Accelerator()` instance with multiple models"]],
        example: "AssertionError: You can't use same `Accelerator()` instance with multiple models when using DeepSpeed",
        seen_in: "accelerate 1.15.0",
        ..FAILURE
    },
    Failure {
        names: &["no Ray at that address"],
        about: "The program joins a Ray that runs already, and there is none: it was not started, has ended, or belongs to another user or machine.",
        advice: "ray start --head on the first machine, ray start --address=HEAD:6379 on the others; `ray status`; --unset-env RAY_ADDRESS where none is meant",
        lines: &[&["Could not find any running Ray instance"]],
        example: "ConnectionError: Could not find any running Ray instance. Please specify the one to connect to by setting `--address` flag or `RAY_ADDRESS` environment variable.",
        seen_in: "ray 2.60.0",
        ..FAILURE
    },
    Failure {
        names: &["more GPUs than Ray has"],
        about: "The models of the run together ask for more GPUs than the Ray cluster has: a machine did not join, or actor, critic, reference and vLLM each have GPUs of their own.",
        advice: "`ray status` shows what there is; fewer GPUs for each model, or models that share them (OpenRLHF: --colocate_all_models); for verl trainer.n_gpus_per_node and trainer.nnodes as they are",
        lines: &[&["Total available GPUs", "is less than total desired GPUs"]],
        example: "ValueError: Total available GPUs 4 is less than total desired GPUs 8",
        seen_in: "verl 0.9.1",
        ..FAILURE
    },
    Failure {
        names: &["a process of Ray that died"],
        about: "Ray says that a process ended, and not why: it was killed because host memory ran out, it crashed in compiled code, or Ray was stopped. What it said itself may stand above, or in its own log.",
        advice: "ls -t /tmp/ray/session_latest/logs/worker-*.err on the machine whose address is in the message; `dmesg -T | grep -i killed`; less host memory if it was killed (less offload, fewer workers, a smaller vLLM), RAY_memory_usage_threshold=0.98",
        lines: &[
            &["ActorUnavailableError"],
            &["ActorDiedError"],
            &["The actor died unexpectedly before finishing this task"],
            &["was killed due to the node running low on memory"],
            &["The actor is dead because its worker process has died"],
            &["Worker unexpectedly exits with a connection error code"],
            &["WorkerCrashedError"],
        ],
        role: Consequence,
        example: "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
        seen_in: "PeterGriffinJin/Search-R1#51",
        ..FAILURE
    },
    Failure {
        names: &["tensors of different sizes on the ranks"],
        about: "The ranks of a group bring tensors together that must be equally long, and are not: a sequence or batch that the size of the group does not divide (sequence or tensor parallelism), or ranks with other lengths; under ZeRO-3 without it, a parameter that something changed after ZeRO-3 had split it (a resized embedding, a merged adapter).",
        advice: "lengths that the parallel size divides (padding to a multiple of it, vLLM: --max-num-seqs a multiple), --dataloader_drop_last true; or --sequence_parallel_size 1; where the traceback shows ZeRO-3 gathering parameters: --deepspeed zero2",
        lines: &[
            &["output tensor size must be equal to world_size times input tensor size"],
            &["Tensor sizes must be equal to be gathered"],
        ],
        example: "ValueError: output tensor size must be equal to world_size times input tensor size",
        seen_in: "snowflakedb/ArcticInference#175",
        ..FAILURE
    },
    Failure {
        names: &["optimizer states of other parameters"],
        about: "The optimizer's states were loaded from a checkpoint of another model, LoRA rank or choice of modules: they have other sizes than the weights.",
        advice: "resume with the arguments that it was saved with; or give the checkpoint as --model or adapter, and start the optimizer anew (no --resume_from_checkpoint)",
        lines: &[&["Size mismatch"], &["The size of tensor a ("]],
        traceback: &[
            "ops/adam/multi_tensor_apply.py",
            "ops/adam/fused_adam.py",
            "torch/optim/adamw.py",
            "torch/optim/adam.py",
        ],
        example: "RuntimeError: Size mismatch",
        seen_in: "modelscope/ms-swift#2346",
        ..FAILURE
    },
    Failure {
        names: &["a package that was written for pydantic 1"],
        about: "DeepSpeed before 0.10, and some others, use pydantic 1, and pydantic 2 is installed.",
        advice: "pip install --upgrade deepspeed; pip install 'pydantic<2' where an old one must stay",
        lines: &[
            &["If you use `@root_validator` with pre=False"],
            &["'FieldInfo' object has no attribute 'required'"],
            &["`BaseSettings` has been moved to the `pydantic-settings` package"],
            &["A non-annotated attribute was detected"],
        ],
        example: "pydantic.errors.PydanticUserError: If you use `@root_validator` with pre=False (the default) you MUST specify `skip_on_failure=True`.",
        seen_in: "Kwai-Kolors/Kolors#150",
        ..FAILURE
    },
    Failure {
        names: &["a torch without NCCL"],
        about: "This torch was built without NCCL: one for the CPU, for macOS, or for NPUs.",
        advice: "a torch for CUDA, where there are GPUs of NVIDIA; on Ascend, torch_npu of the same version and hccl (--ddp_backend hccl; in a script, import torch_npu and deepspeed.init_distributed(dist_backend=\"hccl\")); on the CPU, gloo",
        lines: &[&["Distributed package doesn't have NCCL built in"]],
        example: "RuntimeError: Distributed package doesn't have NCCL built in",
        seen_in: "deepspeedai/DeepSpeed#7312",
        ..FAILURE
    },
    Failure {
        names: &["an operation that failed on an NPU"],
        about: "A core of the NPU stopped in an operation, and the line that Python shows is a later one: CANN and torch_npu of different versions, a precision or size that the operation does not take, an index outside of a tensor, or a fault of the NPU.",
        advice: "once with ASCEND_LAUNCH_BLOCKING=1, which names the operation; CANN and torch_npu that belong together; ~/ascend/log; PYTORCH_NPU_ALLOC_CONF=expandable_segments:False if it was set",
        lines: &[
            &["NPU", "error code is 507015"],
            &["NPU", "error code is 507035"],
            &["The aicore execution is abnormal"],
            &["aicore exception"],
        ],
        example: "RuntimeError: Sync:torch_npu/csrc/framework/OpCommand.cpp:190 NPU error, error code is 507015",
        seen_in: "modelscope/ms-swift#1243",
        ..FAILURE
    },
    Failure {
        names: &["an NPU that waited too long"],
        about: "The NPU waited for others until its time was over: another rank is slow, does something else or has died, or the network between the machines lost something.",
        advice: "look for the first error of another rank; where one is only slow (data, saving): --env HCCL_EXEC_TIMEOUT=7200 and --ddp_timeout 7200",
        lines: &[
            &["NPU", "error code is 107020"],
            &["NPU", "error code is 507046"],
            &["rtDeviceSynchronize execute failed, reason=["],
            &["The wait execution of the Notify register times out"],
        ],
        role: Consequence,
        of_missing_ranks: Some("the others waited for it, so look at what happened there"),
        example: "        rtDeviceSynchronize execute failed, reason=[task timeout][FUNC:FuncErrorReason][FILE:error_message_manage.cc][LINE:53]",
        seen_in: "hiyouga/LlamaFactory#5347",
        ..FAILURE
    },
    Failure {
        names: &["HCCL failed"],
        about: "HCCL, the communication of Ascend NPUs, failed: an NPU that another process uses or that is not healthy, ranks that never came, or CANN and torch_npu of different versions. Its own reason stands above, with an EI or EJ number, or in ~/ascend/log.",
        advice: "`npu-smi info` shows processes and health; the line with EI0006 (a rank that did not come) or EJ0001 (a taken NPU) above; ASCEND_RT_VISIBLE_DEVICES, --env HCCL_CONNECT_TIMEOUT=1800, CANN and torch_npu that belong together",
        lines: &[&["HCCL function error"], &["HCCL error in"]],
        role: Consequence,
        lines_below: 2,
        example: "RuntimeError: [ERROR] HCCL error in: torch_npu/csrc/distributed/ProcessGroupHCCL.cpp:64",
        seen_in: "hiyouga/LlamaFactory#3839",
        ..FAILURE
    },
    Failure {
        names: &["weights that ZeRO-3 did not expect next"],
        about: "ZeRO-3 fetches weights in the order of the first step, and this one ran other modules: a branch of the model, a layer that is used twice, or a pass with other inputs.",
        advice: "--deepspeed zero2; or the same modules in every step, no module that is skipped, and a newer DeepSpeed",
        lines: &[
            &["tracing error at step"],
            &["in the parameter fetch queue to be"],
        ],
        only_with_zero3: true,
        here: &[NOT_ZERO3],
        example: "RuntimeError: tracing error at step 999: ",
        seen_in: "deepspeedai/DeepSpeed#3599",
        ..FAILURE
    },
    Failure {
        names: &["a wheel for another Python"],
        about: "The name of a wheel says for which Python (cp311 is 3.11) and system (win_amd64, linux_x86_64) it was made, and this one is another.",
        advice: "python --version, and the wheel whose name has the same numbers; on Linux, pip install without a file",
        lines: &[&["is not a supported wheel on this platform"]],
        example: "ERROR: deepspeed-0.15.0-cp311-cp311-win_amd64.whl is not a supported wheel on this platform.",
        seen_in: "deepspeedai/DeepSpeed#6673",
        ..FAILURE
    },
    Failure {
        names: &["accelerate launch without a config"],
        about: "accelerate launch found no value for the mixed precision: there is no config of `accelerate config`, or an old one.",
        advice: "accelerate config once, or --mixed_precision bf16 as an option of accelerate launch",
        lines: &[&["'NoneType' object has no attribute 'lower'"]],
        traceback: &[
            "accelerate/commands/launch.py",
            "accelerate/utils/launch.py",
        ],
        example: "AttributeError: 'NoneType' object has no attribute 'lower'",
        seen_in: "huggingface/diffusers#125",
        ..FAILURE
    },
    Failure {
        names: &["an argument that the model's generate() does not take"],
        about: "What is passed to generate() goes on to the model, and the model does not know some of it: columns of the dataset that were not removed, an option of generation that is misspelt or of another version, or inputs of a processor for another model.",
        advice: "--remove_unused_columns true, or a dataset without the columns that the line lists; else the name of the option in this transformers (GenerationConfig)",
        lines: &[&["`model_kwargs` are not used by the model"]],
        example: "[rank0]: ValueError: The following `model_kwargs` are not used by the model: ['solution', 'task_type', 'prompt_id'] (note: typos in the generate arguments will also show up in this list)",
        seen_in: "modelscope/ms-swift#9131",
        ..FAILURE
    },
    Failure {
        names: &["samples without labels"],
        about: "The model gave no loss because its inputs have no labels: the data were not tokenized with them, their column has another name and was removed as unused, or the collator makes none.",
        advice: "a column `labels` (or --label_names NAME), DataCollatorForLanguageModeling(mlm=False) or DataCollatorForSeq2Seq as collator; --remove_unused_columns false where a custom model takes them under another name",
        lines: &[&["The model did not return a loss from the inputs"]],
        example: "ValueError: The model did not return a loss from the inputs, only the following keys: logits. For reference, the inputs it received are input_ids,attention_mask.",
        seen_in: "transformers 5.19.0",
        ..FAILURE
    },
    Failure {
        names: &["a file that is no valid JSON"],
        about: "A file that should be JSON is not: a comma too much or missing, single quotes, comments, an empty or half written file, one object a line in a .json, or a page of the web instead of the file. The traceback tells who reads it.",
        advice: "`python -m json.tool FILE` names the place; `zlaunch check FILE` does it for a config of DeepSpeed; data with one object a line are called .jsonl",
        lines: &[&["JSONDecodeError: "]],
        example: "json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 3 column 1 (char 20)",
        seen_in: "Python 3.11",
        ..FAILURE
    },
    Failure {
        names: &["a file that is no text"],
        about: "A file is read as text and has bytes that are none: a model, an archive or a picture was named where text or JSON is wanted, or the text is in another encoding than UTF-8. With urlsafe_b64decode in the traceback it is no file: DeepSpeed's config is not there, and its name is read as base64.",
        advice: "`ls` the config of DeepSpeed, if there is one; `file NAME` says what another file is; `iconv -f GBK -t UTF-8 OLD > NEW` for Chinese text of Windows; git lfs pull or a new download for a model",
        lines: &[&["UnicodeDecodeError: '"]],
        example: "UnicodeDecodeError: 'utf-8' codec can't decode byte 0x80 in position 128: invalid start byte",
        seen_in: "Python 3.11",
        ..FAILURE
    },
    Failure {
        names: &["a number that is a text"],
        about: "A number was given as text: YAML reads 1e-5 as a text (1.0e-5 is a number), JSON has quotes around it, or an argument was not converted.",
        advice: "1.0e-5 in YAML, no quotes in JSON; `zlaunch check CONFIG` names such values of DeepSpeed's config",
        lines: &[
            &["not supported between instances of 'float' and 'str'"],
            &["not supported between instances of 'str' and 'float'"],
            &["not supported between instances of 'str' and 'int'"],
            &["not supported between instances of 'int' and 'str'"],
        ],
        traceback: &["/optim/", "lr_scheduler", "training_args.py", "deepspeed/"],
        alone: true,
        example: "TypeError: '<=' not supported between instances of 'float' and 'str'",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["a file that is no valid YAML"],
        about: "The line that it names, or the one above, is not YAML: a tab, a colon without a space after it, a text with `: ` or `#` in it that is not in quotes, or lines that stand too far right.",
        advice: "mend that line (the file and the place stand below); `zlaunch check -- COMMAND` reads the run file and accelerate's config before anything starts",
        lines: &[&["yaml.scanner.ScannerError"], &["yaml.parser.ParserError"]],
        lines_below: 3,
        example: "yaml.scanner.ScannerError: mapping values are not allowed here",
        seen_in: "PyYAML 6.0.2",
        ..FAILURE
    },
    Failure {
        names: &["a column that the data do not have"],
        about: "The code that reads the dataset asks for a column or field that these rows do not have: the format is another one than the trainer, template or mapping expects.",
        advice: "look at one row, and at the format that the trainer documents (messages, prompt and chosen, instruction and output …); rename the columns, or say them (LLaMA-Factory: columns in dataset_info.json; ms-swift: --columns; axolotl: type and field_*)",
        lines: &[&["KeyError: '"], &["KeyError: \""]],
        traceback: &[
            "/datasets/formatting/",
            "/datasets/arrow_dataset.py",
            "/datasets/iterable_dataset.py",
            "_map_fn",
            "/dataset/preprocessor",
            "/data/data_utils",
            "/prompt_strategies/",
            "data_collator",
            "_preprocess",
            "/data_loader/",
        ],
        example: "KeyError: 'messages'",
        seen_in: "InternLM/xtuner#719",
        ..FAILURE
    },
    Failure {
        names: &["values that a program refuses in its config"],
        about: "The program checks its own config with pydantic: the lines below name the key, and what is wrong with it.",
        advice: "change that key in the program's YAML or arguments; one that it does not know is misspelt, has another name in this version, or belongs into DeepSpeed's JSON",
        lines: &[&[" validation error for "], &[" validation errors for "]],
        unlike: &["DeepSpeed"],
        lines_below: 3,
        example: "pydantic_core._pydantic_core.ValidationError: 1 validation error for AxolotlConfigWCapabilities",
        seen_in: "axolotl-ai-cloud/axolotl#2544",
        ..FAILURE
    },
    Failure {
        names: &["a torchvision or torchaudio for another torch"],
        about: "torchvision and torchaudio are compiled for one version of torch and of CUDA, and another one is installed: one of them was upgraded alone, or comes from another index (cpu, cu126).",
        advice: "pip install --force-reinstall torch torchvision torchaudio, together and from one index; pip uninstall torchvision, if nothing needs pictures",
        lines: &[
            &["operator torchvision::nms does not exist"],
            &["Detected that PyTorch and torchvision were compiled with different CUDA"],
            &["Could not load this library:", "libtorchaudio"],
        ],
        example: "RuntimeError: operator torchvision::nms does not exist",
        seen_in: "pytorch/vision#8985",
        ..FAILURE
    },
    Failure {
        names: &["a weight or input changed in place"],
        about: "The forward pass writes into a tensor that needs a gradient, such as the output of the embedding (pictures put into it, with enable_input_require_grads), a weight, or what another part still needs.",
        advice: "in that line, a new tensor (.clone(), torch.where, masked_scatter) or `with torch.no_grad()` for weights; a newer version of the model's code or trainer, which does so",
        lines: &[
            &["is a view and is being modified inplace"],
            &["a leaf Variable that requires grad is being used in an in-place operation"],
            &[
                "a view of a leaf Variable that requires grad is being used in an in-place operation",
            ],
            &["has been modified by an inplace operation"],
        ],
        example: "RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.",
        seen_in: "stanford-crfm/BioMedLM#9",
        ..FAILURE
    },
    Failure {
        names: &["DeepSpeed's dataloader in place of torch's"],
        about: "deepspeed.initialize(training_data=…) returns a dataloader of its own, which is no DataLoader of torch and has few of its attributes: the sampler is its data_sampler.",
        advice: "in the script, ask for what it has (loader.data_sampler instead of loader.sampler), or make a DataLoader with a DistributedSampler and leave training_data out",
        lines: &[&["'DeepSpeedDataLoader' object has no attribute '"]],
        example: "AttributeError: 'DeepSpeedDataLoader' object has no attribute 'sampler'",
        seen_in: "h2oai/h2o-llmstudio#529",
        ..FAILURE
    },
    Failure {
        names: &["the model inside DeepSpeed's engine"],
        about: "The script asks the engine for something of the model. The model itself is in engine.module.",
        advice: "engine.module.NAME, or accelerator.unwrap_model(model).NAME; a newer version of the trainer, if it is not a script of your own",
        lines: &[
            &["'DeepSpeedEngine' object has no attribute '"],
            &["'DistributedDataParallel' object has no attribute '"],
        ],
        example: "AttributeError: 'DeepSpeedEngine' object has no attribute 'text_model'",
        seen_in: "kohya-ss/sd-scripts#712",
        ..FAILURE
    },
    Failure {
        names: &["a checkpoint that DeepSpeed did not write"],
        about: "The file of the checkpoint lacks what DeepSpeed puts into it: it is one of another program (a plain state dict), or of a DeepSpeed from long ago.",
        advice: "give it as the model (--model), and start anew; resume only from folders with global_stepN that DeepSpeed wrote",
        lines: &[
            &["KeyError: 'module'"],
            &["KeyError: 'optimizer_state_dict'"],
            &["KeyError: 'param_shapes'"],
            &["KeyError: 'dp_world_size'"],
            &["KeyError: 'buffer_names'"],
            &["KeyError: 'ds_version'"],
        ],
        traceback: &[
            "deepspeed/runtime/",
            "deepspeed/checkpoint/",
            "zero_to_fp32",
            "deepspeed/utils/",
            "in load_checkpoint",
        ],
        example: "KeyError: 'module'",
        seen_in: "EleutherAI/gpt-neox#971",
        ..FAILURE
    },
    Failure {
        names: &["bitsandbytes that does not work here"],
        about: "The compiled part of bitsandbytes is missing for this CUDA, or was called with something that it does not take: its 8-bit optimizers get ZeRO's flattened, sometimes empty weights.",
        advice: "`python -m bitsandbytes` says what it finds; pip install --upgrade bitsandbytes; with DeepSpeed, --optim adamw_torch instead of adamw_8bit or paged_adamw",
        lines: &[
            &["csrc/ops.cu"],
            &["CUDA Setup failed despite GPU being available"],
            &["bitsandbytes was compiled without GPU support"],
            &["'NoneType' object has no attribute 'cget_managed_ptr'"],
            &["'NoneType' object has no attribute 'cquantize"],
            &["undefined symbol: cquantize"],
            &["undefined symbol: cadam"],
        ],
        example: "Error invalid configuration argument at line 216 in file /mmfs1/gscratch/zlab/timdettmers/git/bitsandbytes/csrc/ops.cu",
        seen_in: "hiyouga/LlamaFactory#2965",
        ..FAILURE
    },
    Failure {
        names: &["Weights & Biases that refuses"],
        about: "The tracker failed, and not the training: no network, no permission for that entity or project, or a key that is not valid.",
        advice: "--report_to none, or --env WANDB_MODE=offline; else `wandb login`, and WANDB_ENTITY and WANDB_PROJECT that this key may write to",
        lines: &[
            &["wandb.errors", "CommError"],
            &["wandb.errors", "UsageError"],
            &["wandb.errors", "AuthenticationError"],
            &["wandb: ERROR"],
        ],
        example: "wandb.errors.CommError: It appears that you do not have permission to access the requested resource. (Error 404: Not Found)",
        seen_in: "2U1/Phi3-Vision-Finetune#8",
        ..FAILURE
    },
    Failure {
        names: &["weights that the checkpoint does not have"],
        about: "transformers found nothing in the checkpoint for the parameters that it names, and made them anew. For a new head that is right. For layers of the model it is not: it was loaded as another class, or ZeRO-3 with a transformers 5 that renames or fuses weights (experts, language_model) only without it; the loss then begins at 10 or more.",
        advice: "if it is only the head (score, classifier, lm_head), nothing; else --deepspeed zero2, or a newer transformers and DeepSpeed, and the class that config.json names",
        lines: &[
            &["| MISSING"],
            &["were not initialized from the model checkpoint at"],
        ],
        role: Report,
        example: "model.layers.{0...47}.mlp.experts.down_proj    | MISSING |",
        seen_in: "huggingface/transformers#43257",
        ..FAILURE
    },
    Failure {
        names: &["fp16 that looks for its scale"],
        about: "fp16 starts with a large loss scale and halves it after each overflow, so some skipped steps at the start are right. If it goes on, the numbers of this model do not fit into fp16.",
        advice: "nothing for the first steps; then --bf16 true --fp16 false, where the GPU has it, or a smaller --learning_rate; --set fp16.initial_scale_power=12 skips fewer steps",
        lines: &[
            &["OVERFLOW! Rank", "Attempted loss scale"],
            &["Overflow detected. Skipping step. Attempted loss scale"],
        ],
        role: Report,
        example: "[loss_scaler.py:183:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 67108864, reducing to 33554432",
        seen_in: "zai-org/CogVideo#233",
        ..FAILURE
    },
    Failure {
        names: &["a device of another kind than expected"],
        about: "A part of the program is on the CPU, where one on the GPU is expected, or the other way round: a default device, a random generator of the data loader, or weights that offload keeps in host memory.",
        advice: "no torch.set_default_device(); in a script, torch.cuda.set_device(LOCAL_RANK) before anything is made; offload_param off where a kernel of Triton or quantized weights are used",
        lines: &[
            &["Expected a '", "' device type for generator but found"],
            &["Expected a cuda device, but got: cpu"],
            &["cannot be accessed from Triton (cpu tensor?)"],
        ],
        example: "RuntimeError: Expected a 'cuda' device type for generator but found 'cpu'",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["a quantized weight used as a plain one"],
        about: "The numbers of a weight in 4 bits are stored in one long column, and here it is multiplied as if it were a matrix: PEFT or the model's code does not know that it is quantized, or ZeRO-3 took away what bitsandbytes keeps with it.",
        advice: "pip install --upgrade bitsandbytes peft transformers; --deepspeed zero2 for a quantized model",
        lines: &[&["mat1 and mat2 shapes cannot be multiplied", "and 1x"]],
        example: "RuntimeError: mat1 and mat2 shapes cannot be multiplied (512x4096 and 1x8388608)",
        seen_in: "torch 2.15.0",
        ..FAILURE
    },
    Failure {
        names: &["a layer that was written for another transformers"],
        about: "A layer of the model is called otherwise than it wants (position_embeddings came in 4.46 to 4.48), or lacks what others ask it for (num_heads went in 4.48): the model's own code, or a package that replaces layers, is older or newer than transformers.",
        advice: "the transformers that config.json of the model names (transformers_version), or that the trainer's documentation names for it; a newer copy of the model's code; upgrade the package that replaces layers",
        lines: &[
            &["forward() missing", "'position_embeddings'"],
            &["Attention.forward() missing"],
            &["Attention.forward() got an unexpected keyword argument"],
            &["DecoderLayer.forward() got an unexpected keyword argument"],
            &["Attention' object has no attribute 'num_"],
        ],
        example: "TypeError: LlamaAttention.forward() missing 1 required positional argument: 'position_embeddings'",
        seen_in: "modelscope/ms-swift#3338",
        ..FAILURE
    },
    Failure {
        names: &["something that has another name now"],
        about: "transformers and TRL renamed or moved it: tokenizer= of a trainer is processing_class=, max_seq_length is max_length, evaluation_strategy is eval_strategy; dataset_text_field, packing and the length belong to SFTConfig, not to SFTTrainer; load_in_4bit= is quantization_config=BitsAndBytesConfig(...); transformers.deepspeed is transformers.integrations.deepspeed.",
        advice: "the new name, if the traceback's last line but one is in a script of your own; if it is in a package, pip install --upgrade that package",
        lines: &[
            &["got an unexpected keyword argument 'tokenizer'"],
            &["got an unexpected keyword argument 'max_seq_length'"],
            &["got an unexpected keyword argument 'evaluation_strategy'"],
            &["SFTTrainer.__init__() got an unexpected keyword argument 'dataset_text_field'"],
            &["SFTTrainer.__init__() got an unexpected keyword argument 'packing'"],
            &["got an unexpected keyword argument 'load_in_"],
            &["No module named 'transformers.deepspeed'"],
        ],
        example: "TypeError: Trainer.__init__() got an unexpected keyword argument 'tokenizer'",
        seen_in: "huggingface/trl#6168",
        ..FAILURE
    },
    Failure {
        names: &["a model without its engine, while weights are saved"],
        about: "Under ZeRO-3, only DeepSpeed's engine can gather the weights for saving. The trainer handed over the model inside it: trainer, transformers and accelerate are of different times.",
        advice: "upgrade trainer, transformers and accelerate together; until then --deepspeed zero2, or --set zero_optimization.stage3_gather_16bit_weights_on_model_save=false and zero_to_fp32.py on the checkpoint",
        lines: &[&["object has no attribute 'zero_gather_16bit_weights_on_model_save'"]],
        example: "[rank0]: AttributeError: 'Qwen2ForCausalLM' object has no attribute 'zero_gather_16bit_weights_on_model_save'",
        seen_in: "modelscope/ms-swift#3280",
        ..FAILURE
    },
    Failure {
        names: &["a method that gets other arguments"],
        about: "A package calls a method with other arguments than it takes: the script overrides a method of the trainer as it was in another version (training_step and compute_loss got num_items_in_batch in transformers 4.46, log got start_time in 4.47).",
        advice: "add the argument (or **kwargs) to the script's own method, or the transformers that the script was written for; with a trainer, upgrade it",
        lines: &[
            &["() takes", "positional argument"],
            &["() missing", "required positional argument"],
            &["() got multiple values for"],
        ],
        traceback: &[
            "transformers/trainer",
            "site-packages/accelerate/",
            "site-packages/trl/",
            "site-packages/deepspeed/",
            "site-packages/peft/",
            "dist-packages/transformers/",
            "dist-packages/deepspeed/",
        ],
        example: "TypeError: compute_loss() takes 3 positional arguments but 4 were given",
        seen_in: "Python 3.11",
        ..FAILURE
    },
    Failure {
        names: &["no permission to write or read"],
        about: "This user may not use that file or folder: a home or cache that belongs to another user, or to root in a container, or files that an earlier run as root left.",
        advice: "HF_HOME, TRITON_CACHE_DIR, TORCH_EXTENSIONS_DIR and --output_dir in a folder of your own (--env HF_HOME=...); `ls -ld` on the path of the message, and chown of what root left",
        lines: &[
            &["PermissionError: [Errno 13] Permission denied"],
            &["[Errno 30] Read-only file system"],
            &["[Errno 1] Operation not permitted"],
        ],
        example: "PermissionError: [Errno 13] Permission denied: '/.cache'",
        seen_in: "Python 3.11",
        ..FAILURE
    },
    Failure {
        names: &["a shared file system that lost a file"],
        about: "The file was replaced or removed on another machine while it was open here, or the server of the shared file system did not answer.",
        advice: "caches on a local disk (--env TORCH_EXTENSIONS_DIR=/tmp/ext, HF_HOME, TRITON_CACHE_DIR), an --output_dir of its own for each run; start it again",
        lines: &[
            &["[Errno 116] Stale file handle"],
            &["[Errno 5] Input/output error"],
        ],
        example: "OSError: [Errno 116] Stale file handle",
        seen_in: "Python 3.11",
        ..FAILURE
    },
    Failure {
        names: &["a machine whose name is not known"],
        about: "No address was found for a name: --master-addr, a machine of the hostfile, or a server outside, and this machine does not know it.",
        advice: "an IP address as --master-addr (`hostname -I` on the first machine), or the name in /etc/hosts of all machines; in Kubernetes, a headless service for the pods",
        lines: &[
            &["[Errno -2] Name or service not known"],
            &["[Errno -3] Temporary failure in name resolution"],
            &["getaddrinfo failed"],
            &["Could not resolve hostname"],
            &["cannot be retrieved", "gai error"],
        ],
        unlike: &["http"],
        example: "socket.gaierror: [Errno -2] Name or service not known",
        seen_in: "Python 3.11",
        ..FAILURE
    },
    Failure {
        names: &["an import that failed below"],
        about: "transformers imports its modules late, and says here that one did not work. The reason is in the line below: another package that is missing, too old, or does not work.",
        advice: "import that module alone to see all of it (python -c \"import transformers.models.llama.modeling_llama\"), then upgrade or remove the package that its last lines name (flash_attn, torchvision, deepspeed and apex often)",
        lines: &[&["Failed to import", "because of the following error"]],
        role: Consequence,
        lines_below: 2,
        example: "RuntimeError: Failed to import transformers.models.gpt_bigcode.modeling_gpt_bigcode because of the following error (look up to see its traceback):",
        seen_in: "huggingface/peft#917",
        ..FAILURE
    },
    Failure {
        names: &["something of your own in the place of a package"],
        about: "Python found another file or folder of that name before the installed package: a script such as triton.py or deepspeed.py, or a folder, beside the script or where it was started.",
        advice: "python -c \"import triton; print(triton.__file__)\", with the name that the line puts in quotes last, run in the same folder, shows which one: rename it, and remove its __pycache__; if it shows nothing of yours, pip install --force-reinstall that package",
        lines: &[
            &["AttributeError: partially initialized module '"],
            &["No module named '", "is not a package"],
            &["module 'deepspeed' has no attribute"],
            &["module 'accelerate' has no attribute 'Accelerator'"],
        ],
        example: "ModuleNotFoundError: No module named 'triton.language'; 'triton' is not a package",
        seen_in: "deepspeedai/DeepSpeed#7240",
        ..FAILURE
    },
    Failure {
        names: &["a TRL without selective_log_softmax"],
        about: "The script was written for TRL 0.15 or newer.",
        advice: "pip install 'trl>=0.15'",
        lines: &[&["cannot import name 'selective_log_softmax'"]],
        fixed: Some(("trl", "0.15.0")),
        example: "ImportError: cannot import name 'selective_log_softmax'",
        seen_in: "dhcode-cpp/X-R1#22",
        ..FAILURE
    },
    Failure {
        names: &["arguments of an optimizer or scheduler that it does not take"],
        about: "What stands in optimizer.params or scheduler.params goes to the class as it is, and this one does not know a key, or misses one: WarmupLR has no total_num_steps and WarmupDecayLR needs it, and each optimizer has its own.",
        advice: "`zlaunch check CONFIG` names the key; --unset optimizer.params.KEY or scheduler.params.KEY; with a trainer, --set scheduler.params.total_num_steps=auto for WarmupDecayLR and WarmupCosineLR",
        lines: &[
            &["LR.__init__() got an unexpected keyword argument"],
            &["LR.__init__() missing", "required positional argument"],
            &["Adam.__init__() got an unexpected keyword argument"],
            &["AdamW.__init__() got an unexpected keyword argument"],
            &["Lamb.__init__() got an unexpected keyword argument"],
        ],
        example: "TypeError: WarmupDecayLR.__init__() missing 1 required positional argument: 'total_num_steps'",
        seen_in: "DeepSpeed 0.19.8",
        ..FAILURE
    },
    Failure {
        names: &["an older datasets with a newer fsspec"],
        about: "fsspec no longer takes the pattern that an older datasets gives it.",
        advice: "pip install -U datasets, or pip install 'fsspec<2023.9'",
        lines: &[&["Invalid pattern: '**' can only be an entire path component"]],
        example: "ValueError: Invalid pattern: '**' can only be an entire path component",
        seen_in: "philschmid/llm-sagemaker-sample#18",
        ..FAILURE
    },
    Failure {
        names: &["a library of the system that is missing"],
        about: "A package has compiled code that needs this library, and it is not installed here, or not where the linker looks.",
        advice: "libGL.so.1: pip install opencv-python-headless instead of opencv-python, or apt install libgl1; libcuda.so.1 is the driver's (docker run --gpus all); other libcu….so and libnv….so: the CUDA libraries that torch was built for (pip install --force-reinstall torch), or LD_LIBRARY_PATH with their folder; others: apt-file search NAME",
        lines: &[&[": cannot open shared object file: No such file or directory"]],
        unlike: &["torch_extensions/"],
        example: "ImportError: libGL.so.1: cannot open shared object file: No such file or directory",
        seen_in: "DAMO-NLP-SG/VideoLLaMA2#58",
        ..FAILURE
    },
    Failure {
        names: &["a Trainer of its own, for another transformers"],
        about: "The script has a copy of transformers' Trainer, or one with methods copied from it, which calls transformers as it was at that time.",
        advice: "the transformers of the script's requirements (of 2023 mostly: pip install 'transformers<4.31'), or a newer version of the script",
        lines: &[
            &["deepspeed_init() got an unexpected keyword argument"],
            &["cannot import name 'deepspeed_init'"],
            &["cannot import name 'deepspeed_reinit'"],
            &["cannot import name 'ShardedDDPOption'"],
            &["Trainer' object has no attribute 'deepspeed'"],
            &["Trainer' object has no attribute 'is_deepspeed_enabled'"],
            &["Trainer' object has no attribute 'accelerator'"],
            &["Trainer' object has no attribute 'sharded_ddp'"],
            &["Trainer' object has no attribute 'use_apex'"],
            &["Trainer' object has no attribute 'use_cuda_amp'"],
        ],
        example: "AttributeError: 'SparseTrainer' object has no attribute 'deepspeed'",
        seen_in: "TsinghuaC3I/SoRA#5",
        ..FAILURE
    },
    Failure {
        names: &["a picture of a size that the model does not take"],
        about: "The image processor cuts a picture into patches, and its height or width is no multiple of them: a resized_height or max_pixels for another model (28 pixels for Qwen2-VL and Qwen2.5-VL, 32 for Qwen3-VL), or a processor for another model.",
        advice: "sizes as multiples of 28 (Qwen2-VL, Qwen2.5-VL) or 32 (Qwen3-VL), or none; the processor of this very model",
        lines: &[
            &["RuntimeError: shape '[", "is invalid for input of size"],
            &["ValueError: cannot reshape array of size"],
        ],
        traceback: &["image_processing_"],
        example: "[rank6]: RuntimeError: shape '[1, 1, 2, 3, 17, 2, 16, 12, 2, 16]' is invalid for input of size 1317120 (in image_processing_qwen2_vl_fast.py)",
        seen_in: "2U1/Qwen-VL-Series-Finetune#206",
        ..FAILURE
    },
    Failure {
        names: &["two packages of different times"],
        about: "A package is asked for something that it does not have, or no longer. If another package asks, one of the two is too old for the other; if its own file does, it is a fault of that version, or it does not support what the launch combines. If your own script asks, it was written for another version.",
        advice: "upgrade the package whose file the traceback names last; if it is the newest already, another version of the one that it asks: one from the time of the script or package that asks",
        lines: &[
            &["'torch.dtype' object has no attribute '"],
            &["'torch.device' object has no attribute '"],
            &["Trainer' object has no attribute '"],
            &["Config' object has no attribute '"],
            &["Tokenizer' object has no attribute '"],
            &["TokenizerFast' object has no attribute '"],
            &["ForCausalLM' object has no attribute '"],
            &["ForConditionalGeneration' object has no attribute '"],
            &["Cache' object has no attribute '"],
            &["Processor' object has no attribute '"],
            &["cannot import name '"],
            &["ImportError: cannot import name '"],
            &["No module named 'torch."],
            &["No module named 'transformers."],
            &["No module named 'deepspeed."],
            &["No module named 'accelerate."],
            &["No module named 'trl."],
            &["No module named 'peft."],
            &["AttributeError: module '", "has no attribute"],
            &["got an unexpected keyword argument"],
        ],
        is_of_versions: true,
        example: "ImportError: cannot import name 'nothing' from 'json' (/usr/lib/python3.11/json/__init__.py)",
        seen_in: "Python 3.11",
        ..FAILURE
    },
    Failure {
        names: &["kernels that DeepSpeed is built with"],
        about: "DS_BUILD_OPS=1 builds all operations of DeepSpeed, and those for inference (FastGen) want the package deepspeed-kernels. Training does not need them.",
        advice: "pip install deepspeed without DS_BUILD_OPS, or only with those that are used (DS_BUILD_CPU_ADAM=1, DS_BUILD_FUSED_ADAM=1); or pip install deepspeed-kernels first",
        lines: &[&["No module named 'dskernels'"]],
        example: "ModuleNotFoundError: No module named 'dskernels'",
        seen_in: "datawhalechina/self-llm#308",
        ..FAILURE
    },
    Failure {
        names: &["a module that is not installed"],
        about: "This Python does not have the module; another one may have it.",
        advice: "`zlaunch doctor -- COMMAND` says which Python runs; pip install it there, on every machine",
        lines: &[
            &["/python: No module named "],
            &["/python3: No module named "],
            &["ModuleNotFoundError: No module named '"],
            &["No module named 'deepspeed'"],
        ],
        example: "ModuleNotFoundError: No module named 'deepspeed'",
        seen_in: "Python 3.11",
        ..FAILURE
    },
    Failure {
        names: &["files that several ranks write or remove"],
        about: "A file or folder is made, renamed or removed by more than one rank: the second one finds it there already, or gone. Or it was so before this run.",
        advice: "do it on one rank only (`if rank == 0`, then a barrier), or ignore what is there or gone; with a trainer, upgrade it, and give each run an --output_dir of its own",
        lines: &[
            &["FileNotFoundError: [Errno 2]"],
            &["FileExistsError: [Errno 17]"],
            &["[Errno 39] Directory not empty"],
        ],
        traceback: &[
            "in rmtree",
            "in _rmtree",
            "in rename",
            "in copytree",
            "in makedirs",
            "in remove",
            "in save_checkpoint",
            "in _create_zero_checkpoint_files",
            "FileExistsError",
            "Errno 39",
        ],
        example: "FileExistsError: [Errno 17] File exists: 'checkpoint/offloaded_tensors'",
        seen_in: "deepspeedai/DeepSpeed#7549",
        ..FAILURE
    },
    Failure {
        names: &["a script that is not there"],
        about: "Python was given a script that is not in the folder where it was started, or not on this machine.",
        advice: "an absolute path, or start it in the right folder; on several machines, the script on all of them",
        lines: &[&["can't open file '", "No such file or directory"]],
        example: "python: can't open file '/x/train.py': [Errno 2] No such file or directory",
        seen_in: "Python 3.11",
        ..FAILURE
    },
    Failure {
        names: &["a file that is not there"],
        about: "The path is relative to the folder in which the launch was started, or the file is not on this machine.",
        advice: "an absolute path, or start it in the right folder; on several machines the file must be on all of them",
        lines: &[&["FileNotFoundError: [Errno 2] No such file or directory"]],
        example: "FileNotFoundError: [Errno 2] No such file or directory: 'deepspeed/zero2.json'",
        seen_in: "axolotl-ai-cloud/axolotl#682",
        ..FAILURE
    },
    Failure {
        names: &["a word that this transformers does not know"],
        about: "The configuration names a type of model, and the table of transformers does not have it: transformers is older than the model, or the config.json is not one of a model.",
        advice: "pip install -U transformers, in the Python that `zlaunch doctor -- COMMAND` names; trust_remote_code where the model brings its own code",
        lines: &[&["KeyError: '"]],
        traceback: &["configuration_auto.py"],
        example: "KeyError: 'gpt_bigcode'",
        seen_in: "OptimalScale/LMFlow#601",
        ..FAILURE
    },
    Failure {
        names: &["something that does not go with ZeRO-3"],
        about: "The program refuses this under ZeRO-3, where every rank has a part of each weight: it needs them whole. The message names what.",
        advice: "--deepspeed zero2, or zero2_offload, where the model fits; else without what the message names (in LLaMA-Factory that key of its YAML)",
        lines: &[
            &["incompatible with DeepSpeed ZeRO-3"],
            &["not compatible with DeepSpeed ZeRO-3"],
            &["not supported in DeepSpeed ZeRO-3"],
            &["not supported with DeepSpeed ZeRO-3"],
            &["not supported under DeepSpeed ZeRO-3"],
            &["adapters in DeepSpeed ZeRO-3"],
            &["under DeepSpeed ZeRO-3"],
            &["in DeepSpeed ZeRO-3."],
        ],
        here: &[NOT_ZERO3],
        example: "ValueError: `predict_with_generate` is incompatible with DeepSpeed ZeRO-3.",
        seen_in: "hiyouga/LlamaFactory#5629",
        ..FAILURE
    },
    Failure {
        names: &["something that does not go with DeepSpeed"],
        about: "The program refuses this together with DeepSpeed, which has an optimizer, a precision or a way to split weights of its own. The message names what.",
        advice: "without what the message names: for an optimizer --optim adamw_torch; or the launch without a config of DeepSpeed, with DDP or FSDP",
        lines: &[
            &["incompatible with DeepSpeed"],
            &["not compatible with DeepSpeed"],
            &["not supported with DeepSpeed"],
            &["not yet validated with DeepSpeed"],
            &["deepspeed not supported with"],
            &["deepspeed and fsdp cannot be used together"],
            &["incompatible with deepspeed"],
        ],
        example: "ValueError: GaLore and APOLLO are incompatible with DeepSpeed yet.",
        seen_in: "llamafactory 0.9.5",
        ..FAILURE
    },
    Failure {
        names: &["a quantized model that LLaMA-Factory does not train so"],
        about: "LLaMA-Factory trains a quantized model with one LoRA or OFT adapter on each GPU, and refuses what would change the quantized weights themselves.",
        advice: "finetuning_type: lora with one new adapter; full training, several adapters, a resized vocabulary or merging need the model without quantization_bit",
        lines: &[
            &["Quantized models can only be used for the LoRA"],
            &["Quantization is only compatible with the LoRA"],
            &["Quantized model only accepts a single adapter"],
            &["Cannot resize embedding layers of a quantized model"],
            &["Cannot merge adapters to a quantized model"],
            &["Cannot use device map for quantized models in training"],
            &["Cannot create new adapter upon a quantized model"],
        ],
        example: "ValueError: Quantized models can only be used for the LoRA or OFT tuning.",
        seen_in: "llamafactory 0.9.5",
        ..FAILURE
    },
    Failure {
        names: &["a model's own code that does not suit this transformers"],
        about: "The error is in Python code that came with the model (trust_remote_code), or in what it calls: that code was written for another transformers, older or newer than the one here.",
        advice: "the transformers that config.json names (transformers_version), or a newer copy of the model's files; a trainer that supports the model has a version for it in its documentation",
        lines: &[
            &["KeyError: "],
            &["AttributeError: "],
            &["TypeError: "],
            &["ImportError: "],
            &["NameError: "],
            &["ValueError: not enough values to unpack"],
        ],
        traceback: &["transformers_modules/"],
        example: "KeyError: 'architectures'",
        seen_in: "modelscope/ms-swift#2180",
        ..FAILURE
    },
    Failure {
        names: &["the report of a launcher"],
        about: "The launcher only says that a rank ended, and when. Why it did stands above, in the output of that rank: a traceback, or a line of the system.",
        advice: "look for the first traceback above, on the rank that the report calls the root cause; with torchrun, --launcher-arg=--log-dir=logs --launcher-arg=--redirects=3 keeps what each rank said. `zlaunch rehearse -- COMMAND` shows most reasons without a GPU",
        lines: &[
            &["failed (exitcode: 1) local_rank"],
            &["ChildFailedError"],
            &["exits with return code = 1"],
            &["exits with return code = 2"],
            &["failed (exitcode: 2) local_rank"],
            &["exitcode  : 1 (pid"],
        ],
        role: Report,
        example: "[2024-03-01 04:51:18,576] [ERROR] [launch.py:321:sigkill_handler] ['/usr/bin/python', '-u', 'train.py', '--local_rank=0'] exits with return code = 1",
        seen_in: "deepspeedai/DeepSpeed#5218",
        ..FAILURE
    },
    Failure {
        names: &["an error without an explanation"],
        about: "zlaunch has no explanation for this error. It is the first one in the log.",
        advice: "look it up in the issues of the package that the traceback names last",
        lines: &[
            &["Error: "],
            &["AssertionError"],
            &["Exception: "],
            &["KeyboardInterrupt"],
            &[".py: error: "],
        ],
        unlike: &[
            "WARN",
            "Warning",
            "INFO",
            "DEBUG",
            "raise",
            "ChildFailedError",
            "SignalException",
            "CalledProcessError",
        ],
        role: Unknown,
        ..FAILURE
    },
];
