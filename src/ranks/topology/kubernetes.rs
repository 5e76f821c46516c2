//! Kubeflow's PyTorchJob. WORLD_SIZE is the number of pods, not of ranks, and RANK the number of this pod. Where the
//! operator also sets torchrun's PET_* variables, those are read first.

use super::engine::{Engine, machines};

pub(super) const ENGINE: Engine = Engine { name: "Kubernetes", mark: "KUBERNETES_SERVICE_HOST", look: machines };
