//! The variables: those that a template may set, and their rows.

use zlaunch::testing::engines::{ENGINES, Engine, Role, Variable};
use zlaunch::testing::template::document::only_tunes;
use zlaunch::testing::vars::*;

#[test]
fn templates_cannot_choose_the_program() {
    let forbidden = "PATH LD_PRELOAD PYTHONPATH PYTHONSTARTUP BASH_ENV PET_NNODES MASTER_ADDR TMP TMPDIR TEMP \
        TRITON_PTXAS_PATH HF_MODULES_CACHE DS_ENV_FILE NVCC_CCBIN NVCC_PREPEND_FLAGS CUDACXX CUDA_HOME MPLBACKEND \
        NCCL_NET_PLUGIN NCCL_ENV_PLUGIN NCCL_CONF_FILE CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH IBV_DRIVERS \
        RDMAV_DRIVERS FI_PROVIDER_PATH UCX_MODULE_DIR UCX_GDB_COMMAND OPAL_PREFIX PMIX_MCA_mca_base_component_path \
        OMPI_MCA_mca_base_component_path I_MPI_ROOT NVSHMEM_BOOTSTRAP_PLUGIN VLLM_PLUGINS GLIBC_TUNABLES GCONV_PATH \
        LOCPATH NLSPATH GROUP_RANK ROLE_RANK OMPI_COMM_WORLD_RANK PMI_SIZE PMIX_RANK MV2_COMM_WORLD_RANK https_proxy \
        CUDA_VISIBLE_DEVICES ASCEND_RT_VISIBLE_DEVICES CPLUS_INCLUDE_PATH SSH_ASKPASS MEGATRON_LM_PATH \
        TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD WANDB__EXECUTABLE TORCH_ADDR2LINE_BINARY IMAGEIO_FFMPEG_EXE \
        RAY_WORKER_PROCESS_SETUP_HOOK WANDB_BASE_URL SOME_TOOL_COMMAND TRITON_CACHE_DIR HF_HUB_CACHE TORCH_SHOW_CPP_STACKTRACES_BIN \
        NCCL_PROFILER_PLUGIN NCCL_TUNER_PLUGIN NCCL_COMM_ID TORCHINDUCTOR_CACHE_DIR XDG_CACHE_HOME MY_VARIABLE LANG NCCL_DEBUG_FILE NCCL_TOPO_FILE TORCH_LOGS_OUT \
        PYTORCH_KERNEL_CACHE_PATH _JAVA_OPTIONS CCACHE_PREFIX JAVA_TOOL_OPTIONS UR_ADAPTERS_FORCE_LOAD \
        SYCL_OVERRIDE_PI_CUDA SYCL_USE_KERNEL_SPV ROCBLAS_TENSILE_LIBPATH HIPBLASLT_TENSILE_LIBPATH UR_LOG_LOADER \
        UCX_STATS_DEST HF_XET_LOG_DEST CUDA_INJECTION CUDA_INJECTION32 CUDA_INJECTION64 NCCL_BOOTSTRAP UCX_MODULE_DIRS \
        HF_HUB_ENDPOINTS TORCH_INSECURE NCCL_LIBS NCCL_LOGDEST FI_PROVIDERS UCX_GDB TRITON_PTXAS";
    for name in forbidden.split_whitespace() {
        assert!(!only_tunes(name), "{name}");
    }
    // As published recipes set them.
    let recipe = "CUDA_DEVICE_MAX_CONNECTIONS CUDA_AUTO_BOOST CUDA_LAUNCH_BLOCKING CUDA_MODULE_LOADING \
        CUDA_DEVICE_ORDER DS_PIPE_RESERVE DS_SKIP_UNUSED_PARAMETERS DS_REUSE_BUFFERS DS_USE_CUDA_TILING \
        DS_SKIP_CUDA_CHECK DS_ACCELERATOR TORCH_DISTRIBUTED_DEBUG PYTORCH_CUDA_ALLOC_CONF PYTORCH_ALLOC_CONF UCX_TLS \
        UCX_NET_DEVICES NCCL_DEBUG NCCL_TREE_THRESHOLD NCCL_SOCKET_IFNAME NCCL_IB_DISABLE NCCL_IB_HCA \
        NCCL_ALGO MV2_USE_GDRCOPY MV2_USE_GDR MV2_USE_CUDA MV2_SUPPORT_DL MV2_SMP_USE_CMA \
        MV2_DEBUG_SHOW_BACKTRACE FI_PROVIDER FI_EFA_USE_DEVICE_RDMA GLOO_SOCKET_IFNAME OMP_NUM_THREADS MKL_NUM_THREADS \
        MAX_JOBS TORCH_CUDA_ARCH_LIST TORCH_NCCL_ASYNC_ERROR_HANDLING TORCH_LOGS TORCHINDUCTOR_MAX_AUTOTUNE \
        TORCHDYNAMO_DISABLE HF_HUB_OFFLINE HF_HUB_ENABLE_HF_TRANSFER TOKENIZERS_PARALLELISM TRANSFORMERS_VERBOSITY \
        WANDB_MODE WANDB_PROJECT MALLOC_ARENA_MAX MALLOC_CONF RDMAV_FORK_SAFE MAX_PIXELS USE_HF HSA_OVERRIDE_GFX_VERSION \
        KMP_AFFINITY ACCELERATE_USE_DEEPSPEED DEEPSPEED_TIMEOUT DISABLE_VERSION_CHECK TF_CPP_MIN_LOG_LEVEL \
        ASCEND_LAUNCH_BLOCKING ASCEND_GLOBAL_LOG_LEVEL ASCEND_SLOG_PRINT_TO_STDOUT TASK_QUEUE_ENABLE COMBINED_ENABLE \
        CPU_AFFINITY_CONF HCCL_CONNECT_TIMEOUT MULTI_STREAM_MEMORY_REUSE NPU_ASD_ENABLE LLAMAFACTORY_VERBOSITY \
        SWIFT_PATCH_CONV3D SWIFT_TIMEOUT SWIFT_DEBUG LOGLEVEL LOG_LEVEL AXOLOTL_LOG_LEVEL AXOLOTL_DO_NOT_TRACK";
    for name in recipe.split_whitespace() {
        assert!(only_tunes(name), "{name}");
    }
}

#[test]
fn names_are_unique() {
    let all = zlaunch::testing::all_variables();
    let names: Vec<&str> = all.iter().flat_map(Var::names).collect();
    for (at, name) in names.iter().enumerate() {
        assert!(!names[at + 1..].contains(name), "{name}");
    }
}

#[test]
fn every_name_has_a_row() {
    let all = zlaunch::testing::all_variables();
    for name in NAMES {
        assert!(
            all.iter().any(|var| var.is_called(name)),
            "{name}: src/base/tables/vars.rs has no row for it"
        );
    }
    assert!(all.iter().all(|var| !var.about.is_empty()));
}

#[test]
fn every_variable_with_a_role_has_a_row() {
    let all = zlaunch::testing::all_variables();
    for variable in ENGINES
        .iter()
        .flat_map(Engine::variables)
        .filter(|variable| variable.role() != Role::Other)
        .filter(|variable| !matches!(variable, Variable::InFile(..)))
    {
        let called = |var: &Var| {
            let begins = |name: &str| {
                name.strip_suffix('*')
                    .is_some_and(|begin| variable.name().starts_with(begin))
            };
            var.is_called(&variable.name()) || var.names().any(begins)
        };
        assert!(
            all.iter().any(called),
            "{}: it must be among the documented ones",
            variable.name()
        );
    }
}
