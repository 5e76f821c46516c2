//! The section of the report about variables.

use super::examination::Examination;
use super::page::DoctorRow;
use crate::base::vars;
use crate::report::secrets::Sensitivity;

/// Variables that are shown besides those of every plan, as `vars::lists` reads them.
const SHOWN: &str = "NCCL_ TORCH_NCCL_ CUDA_HOME DEEPSPEED_TIMEOUT HF_HUB_OFFLINE PYTHONNOUSERSITE \
    TORCH_DISTRIBUTED_DEBUG DS_ENV_FILE HF_HOME MODELSCOPE_CACHE NNODES NODE_RANK NPROC_PER_NODE TORCH_EXTENSIONS_DIR \
    TRITON_CACHE_DIR SLURM_JOB_NUM_NODES SLURM_TASKS_PER_NODE SLURM_GPUS_ON_NODE USE_HF";

pub(super) fn variables(facts: &Examination) -> Vec<DoctorRow> {
    let shown = facts.host.env.iter().filter_map(|(name, value)| {
        let name = name.to_str().filter(|name| may_be_shown(name))?;
        Some(DoctorRow::fact(name, Some(value.to_string_lossy().into_owned())))
    });
    let mut rows: Vec<DoctorRow> = shown.collect();
    if facts.host.var_os(vars::CUDA_VISIBLE_DEVICES).is_none() {
        rows.insert(0, DoctorRow::fact(vars::CUDA_VISIBLE_DEVICES, Some("not set".to_string())));
    }
    rows
}

fn may_be_shown(name: &str) -> bool {
    (vars::lists(SHOWN, name) || vars::lists(vars::SHOWN_WHEN_SET, name)) && Sensitivity::of(name).is_none()
}
