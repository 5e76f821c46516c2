//! What a machine needs of what it limits.

use crate::report::Rule;

pub struct Needed {
    pub rule: Rule,
    /// Less than this may be too little.
    pub least: u64,
    /// No more than this is too little for certain.
    pub fatal: u64,
    /// The number is one of bytes.
    pub is_size: bool,
    /// The message; `{}` is what there is, and `{need}` is `need` where that is certain.
    pub says: &'static str,
    pub at: &'static str,
    pub help: &'static str,
}

/// The hard limit counts: zlaunch raises the soft one to it. CUDA's own pinned memory is not counted by the kernel;
/// what is registered for InfiniBand or locked for NVMe is.
pub const LOCKED_MEMORY: Needed = Needed {
    rule: Rule::SmallMemlock,
    least: 1 << 30,
    fatal: 0,
    is_size: true,
    says: "only {} of memory can be locked: InfiniBand and NVMe offload {need} more",
    at: "ulimit -H -l",
    help: "`memlock unlimited` in /etc/security/limits.conf, LimitMEMLOCK=infinity for slurmd, docker run --ulimit \
           memlock=-1",
};

pub const SHARED_MEMORY: Needed = Needed {
    rule: Rule::SmallShm,
    least: 1 << 30,
    // What a container gets that asks for none.
    fatal: 64 << 20,
    is_size: true,
    says: "/dev/shm has {}: NCCL and data loader workers {need} more",
    at: "/dev/shm",
    help: "docker run --shm-size=16g (or --ipc=host); Kubernetes: an emptyDir of medium Memory at /dev/shm",
};

pub const OPEN_FILES: Needed = Needed {
    rule: Rule::FewFiles,
    least: 1024,
    // Less than a rank has open before it trains.
    fatal: 256,
    is_size: false,
    says: "only {} files can be open at once: a rank and its data loaders {need} more",
    at: "ulimit -n",
    help: "`ulimit -n 65536`",
};

pub const PROCESSES: Needed = Needed {
    rule: Rule::FewProcesses,
    least: 1024,
    fatal: 0,
    is_size: false,
    says: "only {} processes and threads for this user: the ranks {need} more",
    at: "ulimit -u",
    help: "`ulimit -u unlimited`, `nproc unlimited` in /etc/security/limits.conf, LimitNPROC=infinity for slurmd",
};

/// What Linux gave before 5.16: less than InfiniBand's queues have.
pub const OLD_LOCKED_MEMORY: u64 = 64 << 10;
/// A rank has as many when it begins to train, and one more for each GPU of its machine.
pub const THREADS_OF_A_RANK: u64 = 8;
