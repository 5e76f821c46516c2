//! The section of the report about variables.

use super::examination::Examination;
use super::page::DoctorRow;
use crate::base::vars;
use crate::report::secrets::Sensitivity;

/// Variables that are shown besides those of every plan. A name that ends in `_` stands for all that start with it.
const SHOWN: &[&str] = &[
    "NCCL_",
    "TORCH_NCCL_",
    "CUDA_HOME",
    "DEEPSPEED_TIMEOUT",
    "HF_HUB_OFFLINE",
    "PYTHONNOUSERSITE",
    "TORCH_DISTRIBUTED_DEBUG",
    vars::DS_ENV_FILE,
    vars::HF_HOME,
    vars::MODELSCOPE_CACHE,
    vars::NNODES,
    vars::NODE_RANK,
    vars::NPROC_PER_NODE,
    vars::TORCH_EXTENSIONS_DIR,
    vars::TRITON_CACHE_DIR,
    vars::SLURM_JOB_NUM_NODES,
    vars::SLURM_TASKS_PER_NODE,
    vars::SLURM_GPUS_ON_NODE,
    vars::USE_HF,
];

pub(super) fn variables(facts: &Examination) -> Vec<DoctorRow> {
    let shown = facts.host.env.iter().filter_map(|(name, value)| {
        let name = name.to_str().filter(|name| may_be_shown(name))?;
        Some(DoctorRow::fact(name, Some(value.to_string_lossy().into_owned())))
    });
    let mut rows: Vec<DoctorRow> = shown.collect();
    if facts.host.raw(vars::CUDA_VISIBLE_DEVICES).is_none() {
        rows.insert(0, DoctorRow::fact(vars::CUDA_VISIBLE_DEVICES, Some("not set".to_string())));
    }
    rows
}

fn may_be_shown(name: &str) -> bool {
    let is_listed = |known: &&str| name == *known || known.ends_with('_') && name.starts_with(known);
    SHOWN.iter().chain(vars::SHOWN_WHEN_SET).any(is_listed) && Sensitivity::of(name).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_variables_are_shown() {
        for name in ["CUDA_VISIBLE_DEVICES", "NCCL_DEBUG", "NCCL_IB_HCA", "OMP_NUM_THREADS", "HF_HOME"] {
            assert!(may_be_shown(name), "{name}");
        }
        for name in
            ["HF_TOKEN", "WANDB_API_KEY", "NCCL_SECRET", "PATH", "HOME", "AWS_ACCESS_KEY_ID", "NCCL", "MY_NCCL_X"]
        {
            assert!(!may_be_shown(name), "{name}");
        }
    }
}
