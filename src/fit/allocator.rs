//! torch's allocator: how much it loses to gaps between allocations, and whether it can be told to lose less.

use crate::base::vars;
use crate::command::job::Job;
use crate::host::Host;

/// With this setting torch grows its segments instead of taking new ones, which makes gaps small.
pub(crate) const EXPANDABLE: &str = "expandable_segments:True";

/// torch 2.0 stops on the option, and 2.1 was the first to have it.
const SAFE_SINCE: [u32; 3] = [2, 2, 0];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allocator {
    Expandable,
    Plain,
}

impl Allocator {
    /// Percent of the peak that must be free on top. On capped GPUs, trainings needed up to 2 % with expandable segments,
    /// more than 5 and up to 8 % where stage 3 gathers parameters, answers come in pairs or an evaluation needs most, and up to 28 %
    /// without; the rest is for the estimate (`tests/data/capped-h200.jsonl`, `tests/data/phases-h200.jsonl`).
    pub(crate) fn gaps(self, fragments: bool) -> u64 {
        match self {
            Allocator::Expandable if fragments => 9,
            Allocator::Expandable => 5,
            Allocator::Plain => 30,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UsedAllocator {
    pub(crate) kind: Allocator,
    /// The variable that decided it, as `PYTORCH_CUDA_ALLOC_CONF=…`.
    pub(crate) said: Option<String>,
}

impl UsedAllocator {
    pub(crate) const EXPANDABLE: UsedAllocator = UsedAllocator {
        kind: Allocator::Expandable,
        said: None,
    };

    pub(super) fn of(job: Option<&Job>, host: &Host) -> Self {
        let of_job = |name: &str| {
            Some(
                job?.variables
                    .iter()
                    .find(|variable| variable.name == name)?
                    .value
                    .as_str(),
            )
        };
        Self::said(|name| host.var(name).or_else(|| of_job(name))).unwrap_or_else(|| {
            let plain = UsedAllocator {
                kind: Allocator::Plain,
                said: None,
            };
            if job.is_none_or(|job| is_safe(job, host)) {
                Self::EXPANDABLE
            } else {
                plain
            }
        })
    }

    /// The variables of a template set what nobody else has.
    pub(super) fn with(&self, env: &[(String, String)]) -> Self {
        if self.said.is_some() {
            return self.clone();
        }
        let said = Self::said(|name| {
            env.iter()
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.as_str())
        });
        said.unwrap_or_else(|| self.clone())
    }

    fn said<'a>(value: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        // torch looks at the new name where the old one is not set.
        let names = [vars::PYTORCH_CUDA_ALLOC_CONF, vars::PYTORCH_ALLOC_CONF];
        let (name, value) = names
            .into_iter()
            .find_map(|name| Some((name, value(name)?)))?;
        let is_expandable = value
            .replace(' ', "")
            .to_lowercase()
            .contains(&EXPANDABLE.to_lowercase());
        let kind = if is_expandable {
            Allocator::Expandable
        } else {
            Allocator::Plain
        };
        Some(UsedAllocator {
            kind,
            said: Some(format!("{name}={value}")),
        })
    }

    /// zlaunch sets the variable if the launch needs it.
    pub(crate) fn is_ours(&self) -> bool {
        *self == Self::EXPANDABLE
    }
}

/// Expandable segments can do no harm. A torch that was not found is taken to be new. vLLM in the same process cannot put such
/// memory to sleep (vllm PR 14189, pytorch issue 147851), and ROCm has them in no release that was tried.
fn is_safe(job: &Job, host: &Host) -> bool {
    let torch = job
        .python
        .as_ref()
        .and_then(|python| python.version("torch"));
    let of_rocm = [vars::HIP_VISIBLE_DEVICES, vars::ROCR_VISIBLE_DEVICES];
    torch.is_none_or(|torch| !torch.is_before(SAFE_SINCE))
        && of_rocm.iter().all(|name| host.var_os(name).is_none())
        && !job
            .args
            .words()
            .iter()
            .any(|word| word.to_string_lossy().contains("vllm"))
}
