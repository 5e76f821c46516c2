//! The memory allocator of torch: it can keep the gaps between allocations small by expandable segments. zlaunch asks for them
//! where that is safe and nobody has said anything about the allocator.

use super::job::Job;
use crate::{base::vars, host::Host};

/// With this setting torch grows its segments instead of taking new ones.
pub const EXPANDABLE: &str = "expandable_segments:True";

/// torch 2.0 stops on the option, and 2.1 was the first to have it.
const SAFE_SINCE: [u32; 3] = [2, 2, 0];

#[derive(Clone, PartialEq)]
pub struct Allocator {
    /// It has expandable segments.
    pub expands: bool,
    /// The variable that decides it, as `PYTORCH_CUDA_ALLOC_CONF=…`. Without one, zlaunch sets expandable segments or leaves torch's default.
    pub said: Option<String>,
}

impl Allocator {
    /// Expandable segments that zlaunch sets.
    pub const OURS: Allocator = Allocator {
        expands: true,
        said: None,
    };

    /// The allocator that a command gets, without the variables of a template. Without a command, any torch is taken to be new.
    pub fn of(job: Option<&Job>, host: &Host) -> Self {
        let of_job = |name: &str| {
            Some(
                job?.variables
                    .iter()
                    .find(|it| it.name == name)?
                    .value
                    .as_str(),
            )
        };
        let said = Self::said(|name| host.var(name).or_else(|| of_job(name)));
        said.unwrap_or_else(|| Allocator {
            expands: job.is_none_or(|job| is_safe(job, host)),
            said: None,
        })
    }

    /// The variables of a template set what nobody else has.
    pub fn with(&self, env: &[(String, String)]) -> Self {
        let of_template = |name: &str| {
            let (_, value) = env.iter().find(|(known, _)| known == name)?;
            Some(value.as_str())
        };
        Self::said(of_template)
            .filter(|_| self.said.is_none())
            .unwrap_or_else(|| self.clone())
    }

    /// By the variables that `value` finds. torch looks at the newer name where the older one is not set.
    fn said<'a>(value: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        [vars::PYTORCH_CUDA_ALLOC_CONF, vars::PYTORCH_ALLOC_CONF]
            .into_iter()
            .find_map(|name| {
                let value = value(name)?;
                let compact = value.replace(' ', "").to_lowercase();
                Some(Allocator {
                    expands: compact.contains(&EXPANDABLE.to_lowercase()),
                    said: Some(format!("{name}={value}")),
                })
            })
    }

    pub fn is_ours(&self) -> bool {
        *self == Self::OURS
    }
}

/// Expandable segments can do no harm. A torch that was not found is taken to be new. vLLM in the same process cannot put such
/// memory to sleep (vllm PR 14189, pytorch issue 147851), and ROCm has them in no release that was tried.
fn is_safe(job: &Job, host: &Host) -> bool {
    let is_rocm = [vars::HIP_VISIBLE_DEVICES, vars::ROCR_VISIBLE_DEVICES]
        .iter()
        .any(|name| host.var_os(name).is_some());
    let uses_vllm = job
        .args
        .words()
        .iter()
        .any(|word| word.to_string_lossy().contains("vllm"));
    !job.has_older("torch", SAFE_SINCE) && !is_rocm && !uses_vllm
}
