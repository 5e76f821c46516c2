//! What the machines of one job must have in common, and what each of them needs. The first row that names a fact counts.

use crate::report::{Rule, Severity};

pub struct Fact {
    pub names: &'static [Name],
    pub compared: Compared,
    pub severity: Severity,
    pub rule: Rule,
    /// The number is one of bytes.
    pub is_size: bool,
    /// Its name in a message, if that is not the rest of the fact's own.
    pub called: Option<&'static str>,
    /// How it stands in the line of what is the same on all machines; without it, it is not there.
    pub shown: Option<&'static str>,
    /// The value of a machine that does not state it; without it, such a machine is left out.
    pub absent: Option<&'static str>,
    /// The message. `{name}`, `{value}` and `{machines}` stand for those.
    pub says: &'static str,
    /// What follows from it.
    pub means: &'static str,
    pub help: &'static str,
    #[cfg_attr(
        not(feature = "testing"),
        expect(dead_code, reason = "the tests read it")
    )]
    pub examples: &'static [Example],
}

pub enum Name {
    Is(&'static str),
    /// Every fact whose name begins so.
    Below(&'static str),
}

#[derive(Clone, Copy, PartialEq)]
pub enum Compared {
    /// It must be the same on all machines.
    Same,
    AtLeast(f64),
    /// Without its sign.
    AtMost(f64),
    /// It may differ.
    Free,
    /// A machine that states it has a problem.
    Stated,
    /// As `Stated`; the value is the message, with a line of help.
    InItsOwnWords,
}

/// What the machines `a`, `b`, … state, and the beginning of what is said about it; empty for nothing.
#[cfg_attr(
    not(feature = "testing"),
    expect(dead_code, reason = "the tests read it")
)]
pub struct Example {
    pub stated: &'static [Stated],
    pub answer: &'static str,
}

#[cfg_attr(
    not(feature = "testing"),
    expect(dead_code, reason = "the tests read it")
)]
pub enum Stated {
    Nothing,
    Number(i64),
    Text(&'static str),
}

use Compared::{AtLeast, AtMost, Free, InItsOwnWords, Same};
use Name::{Below, Is};
use Stated::{Nothing, Number, Text};

const ONE_ENVIRONMENT: &str =
    "use one environment on all machines: in a shared folder or in one image";
const SAME_LIMITS: &str = "set the same limits on all machines (/etc/security/limits.conf; LimitMEMLOCK=infinity for slurmd)";
const ONE_FOLDER: &str = "put it in a folder that all machines share or copy it to each";

const GIB: f64 = 1_073_741_824.;

/// Secrets of which only is told that they are there.
pub const TOKENS: &[&str] = &[
    "HF_TOKEN",
    "WANDB_API_KEY",
    "MODELSCOPE_API_TOKEN",
    "SWANLAB_API_KEY",
];

/// A file is compared by parts of it.
pub const PART: u64 = 1 << 16;

pub const NCCL_PACKAGES: [&str; 2] = ["nvidia-nccl-cu13", "nvidia-nccl-cu12"];

/// What nvidia-smi is asked.
pub const QUERY: &str = "--query-gpu=name,memory.total,driver_version,memory.used,ecc.errors.uncorrected.volatile.total,mig.mode.current";

/// The first driver for each CUDA, as their versions begin (CUDA's release notes, "CUDA Toolkit and
/// Corresponding Driver Versions", minor version compatibility).
pub const OLDEST_DRIVERS: &[(&str, &str)] = &[("11.", "450"), ("12.", "525"), ("13.", "580")];

/// What most rows have in common.
const FACT: Fact = Fact {
    names: &[],
    compared: Compared::Stated,
    severity: Severity::Warning,
    rule: Rule::UnlikeOthers,
    is_size: false,
    called: None,
    shown: None,
    absent: None,
    says: "{name} is {value} on {machines}",
    means: "",
    help: "",
    examples: &[],
};

pub const FACTS: &[Fact] = &[
    Fact {
        names: &[Is("zlaunch")],
        compared: Same,
        shown: Some("zlaunch {value}"),
        means: "the machines may understand the command differently",
        help: "install one version on all machines",
        examples: &[Example {
            stated: &[Text("0.1.0"), Text("0.2.0")],
            answer: "zlaunch is 0.2.0 on b, 0.1.0 on a",
        }],
        ..FACT
    },
    Fact {
        names: &[Is("folder")],
        compared: Same,
        severity: Severity::Error,
        called: Some("the current folder"),
        means: "relative paths lead elsewhere",
        help: "start from a folder that all machines share",
        examples: &[Example {
            stated: &[Text("/home/me"), Text("/tmp")],
            answer: "the current folder is /tmp on b, /home/me on a",
        }],
        ..FACT
    },
    Fact {
        names: &[Is("python.version")],
        compared: Same,
        severity: Severity::Error,
        called: Some("Python"),
        shown: Some("Python {value}"),
        means: "the ranks run in different environments",
        help: ONE_ENVIRONMENT,
        examples: &[
            Example {
                stated: &[Text("3.12"), Text("3.11"), Text("3.11")],
                answer: "Python is 3.12 on a, 3.11 on the others",
            },
            Example {
                stated: &[Text("3.11"), Text("3.11")],
                answer: "Python 3.11",
            },
        ],
        ..FACT
    },
    Fact {
        names: &[Is("python.interpreter")],
        compared: Same,
        called: Some("the interpreter"),
        means: "the ranks may run in different environments",
        help: ONE_ENVIRONMENT,
        examples: &[Example {
            stated: &[Text("/a/bin/python"), Text("/b/bin/python")],
            answer: "the interpreter is /b/bin/python on b, /a/bin/python on a",
        }],
        ..FACT
    },
    Fact {
        names: &[
            Is("python.torch"),
            Is("python.CUDA"),
            Is("python.NCCL"),
            Is("python.deepspeed"),
        ],
        compared: Same,
        severity: Severity::Error,
        shown: Some("{name} {value}"),
        absent: Some("not installed"),
        means: "ranks with different versions fail or wait for each other in a collective",
        help: ONE_ENVIRONMENT,
        examples: &[Example {
            stated: &[Text("2.9.0"), Text("2.8.0"), Nothing, Text("2.9.0")],
            answer: "torch is 2.8.0 and not installed on b and c, 2.9.0 on the others",
        }],
        ..FACT
    },
    Fact {
        names: &[Is("python.compilers")],
        compared: Free,
        examples: &[Example {
            stated: &[Text("c++ /usr/bin/c++"), Text("c++ not found")],
            answer: "",
        }],
        ..FACT
    },
    Fact {
        names: &[Below("python.")],
        compared: Same,
        shown: Some("{name} {value}"),
        absent: Some("not installed"),
        means: "the ranks may compute different things",
        help: ONE_ENVIRONMENT,
        examples: &[Example {
            stated: &[Text("5.19.0"), Text("5.18.0"), Text("5.19.0")],
            answer: "x is 5.18.0 on b, 5.19.0 on the others",
        }],
        ..FACT
    },
    Fact {
        names: &[Is("config")],
        compared: Same,
        severity: Severity::Error,
        called: Some("the resolved config"),
        means: "the ranks would train with different configs",
        help: "`zlaunch --dry-run` on both shows where the values come from",
        examples: &[Example {
            stated: &[Text("1f"), Text("2e"), Text("1f")],
            answer: "the resolved config is 2e on b, 1f on the others",
        }],
        ..FACT
    },
    Fact {
        names: &[Is("GPU.models")],
        compared: Same,
        shown: Some("{value}"),
        says: "the GPUs are {value} on {machines}",
        means: "all ranks wait for the slowest and the smallest memory decides",
        help: "ask the scheduler for one kind of machine",
        examples: &[
            Example {
                stated: &[Text("8 × H100"), Text("8 × H100")],
                answer: "8 × H100",
            },
            Example {
                stated: &[Text("8 × H100"), Text("7 × H100"), Text("8 × H100")],
                answer: "the GPUs are 7 × H100 on b, 8 × H100 on the others",
            },
        ],
        ..FACT
    },
    Fact {
        names: &[Is("machine.driver")],
        compared: Same,
        called: Some("the driver"),
        shown: Some("driver {value}"),
        means: "NCCL may fail between them",
        help: "ask the administrator; until then leave the machine out of the job",
        examples: &[Example {
            stated: &[Text("550.54"), Text("535.1"), Text("550.54")],
            answer: "the driver is 535.1 on b, 550.54 on the others",
        }],
        ..FACT
    },
    Fact {
        names: &[Is("machine.system")],
        compared: Same,
        called: Some("the system"),
        means: "what one of them compiled may not load on another",
        help: "ask the scheduler for one kind of machine",
        examples: &[Example {
            stated: &[Text("Rocky Linux 9.4"), Text("Rocky Linux 8.9")],
            answer: "the system is Rocky Linux 8.9 on b, Rocky Linux 9.4 on a",
        }],
        ..FACT
    },
    Fact {
        names: &[Is("machine.CPUs")],
        compared: Same,
        called: Some("the number of CPUs"),
        means: "all ranks wait for the one with the slowest data loader",
        help: "ask the scheduler for one kind of machine or give --cpus-per-task",
        examples: &[Example {
            stated: &[Text("64"), Text("1"), Text("64")],
            answer: "the number of CPUs is 1 on b, 64 on the others",
        }],
        ..FACT
    },
    Fact {
        names: &[Is("GPU.old_driver")],
        severity: Severity::Error,
        says: "the driver {value} on {machines} is too old for the CUDA of torch",
        means: "torch finds no GPU",
        help: "a newer driver or a torch for an older CUDA (https://pytorch.org/get-started/previous-versions)",
        examples: &[Example {
            stated: &[Nothing, Text("470.57.02")],
            answer: "the driver 470.57.02 on b is too old for the CUDA of torch",
        }],
        ..FACT
    },
    Fact {
        names: &[Is("GPU.MIG")],
        compared: Same,
        severity: Severity::Error,
        called: Some("MIG"),
        absent: Some("disabled"),
        means: "a rank sees one part of one GPU where others have whole ones",
        help: "`nvidia-smi -mig 0` as administrator; until then leave the machine out of the job",
        examples: &[
            Example {
                stated: &[Nothing, Text("enabled")],
                answer: "MIG is enabled on b, disabled on a",
            },
            Example {
                stated: &[Text("enabled"), Text("enabled")],
                answer: "",
            },
        ],
        ..FACT
    },
    Fact {
        names: &[Is("GPU.full")],
        severity: Severity::Error,
        is_size: true,
        says: "{value} of a GPU's memory is in use on {machines}",
        means: "another process is on it and this launch runs out of memory",
        help: "nvidia-smi shows whose it is",
        examples: &[Example {
            stated: &[Nothing, Number(70 << 30)],
            answer: "70 GiB of a GPU's memory is in use on b",
        }],
        ..FACT
    },
    Fact {
        names: &[Is("GPU.used")],
        compared: AtMost(GIB),
        is_size: true,
        says: "{value} of a GPU's memory is in use on {machines}",
        means: "another process is on it and this launch may run out of memory",
        help: "nvidia-smi shows whose it is",
        examples: &[
            Example {
                stated: &[Number(3 << 20), Number(40 << 30)],
                answer: "40 GiB of a GPU's memory is in use on b",
            },
            Example {
                stated: &[Number(3 << 20), Number(3 << 20)],
                answer: "",
            },
        ],
        ..FACT
    },
    Fact {
        names: &[Is("GPU.count")],
        compared: Same,
        severity: Severity::Error,
        says: "the number of GPUs is {value} on {machines}",
        means: "every machine starts as many ranks",
        help: "leave the machine out of the job, or give --nproc-per-node",
        examples: &[Example {
            stated: &[Number(4), Number(3), Number(4)],
            answer: "the number of GPUs is 3 on b, 4 on the others",
        }],
        ..FACT
    },
    Fact {
        names: &[Is("GPU.unreadable")],
        severity: Severity::Error,
        says: "nvidia-smi fails on {machines} ({value})",
        means: "the driver does not answer for its GPUs",
        help: "ask the administrator; until then leave the machine out of the job",
        examples: &[Example {
            stated: &[Nothing, Text("exit status: 9")],
            answer: "nvidia-smi fails on b (exit status: 9)",
        }],
        ..FACT
    },
    Fact {
        names: &[Is("GPU.errors")],
        compared: AtMost(0.),
        says: "GPUs on {machines} report {value} uncorrected memory errors",
        means: "a rank there may fail or compute garbage",
        help: "ask the administrator to reset or replace it; until then leave the machine out of the job",
        examples: &[Example {
            stated: &[Number(0), Number(2)],
            answer: "GPUs on b report 2 uncorrected memory errors",
        }],
        ..FACT
    },
    Fact {
        names: &[Is("ranks")],
        compared: Same,
        called: Some("the number of ranks on a machine"),
        means: "what depends on the number of ranks is left to the trainer",
        help: "ask the scheduler for the same number of GPUs on every machine or give --nproc-per-node",
        examples: &[Example {
            stated: &[Number(8), Number(8), Number(4)],
            answer: "the number of ranks on a machine is 4 on c, 8 on the others",
        }],
        ..FACT
    },
    Fact {
        names: &[Is("limits.locked_memory")],
        compared: Same,
        called: Some("the limit on locked memory"),
        means: "the launch may fail on the machine with the lower limit",
        help: SAME_LIMITS,
        examples: &[Example {
            stated: &[Text("unlimited"), Text("64 KiB")],
            answer: "the limit on locked memory is 64 KiB on b, unlimited on a",
        }],
        ..FACT
    },
    Fact {
        names: &[Is("limits.open_files")],
        compared: Same,
        called: Some("the limit on open files"),
        means: "the launch may fail on the machine with the lower limit",
        help: SAME_LIMITS,
        examples: &[Example {
            stated: &[Number(65536), Number(1024), Number(65536)],
            answer: "the limit on open files is 1024 on b, 65536 on the others",
        }],
        ..FACT
    },
    Fact {
        names: &[Is("limits.processes")],
        compared: Same,
        called: Some("the limit on processes"),
        means: "the launch may fail on the machine with the lower limit",
        help: SAME_LIMITS,
        examples: &[Example {
            stated: &[Number(65536), Number(1024)],
            answer: "the limit on processes is 1024 on b, 65536 on a",
        }],
        ..FACT
    },
    Fact {
        names: &[Is("limits.addresses")],
        compared: AtLeast(64. * GIB),
        severity: Severity::Error,
        is_size: true,
        says: "a process may have {value} of addresses on {machines}",
        means: "CUDA needs more than the GPUs and the machine have of memory",
        help: "`ulimit -v unlimited`, or no limit on virtual memory for the job (h_vmem)",
        examples: &[
            Example {
                stated: &[Nothing, Number(2 << 30)],
                answer: "a process may have 2 GiB of addresses on b",
            },
            Example {
                stated: &[Number(1 << 42)],
                answer: "",
            },
        ],
        ..FACT
    },
    Fact {
        names: &[Below("token.")],
        compared: Same,
        absent: Some("not set"),
        means: "what needs it fails on the machine that lacks it",
        help: "export it for all machines in the batch script",
        examples: &[Example {
            stated: &[Text("set"), Nothing, Text("set")],
            answer: "x is not set on b, set on the others",
        }],
        ..FACT
    },
    Fact {
        names: &[Below("file.")],
        compared: Same,
        severity: Severity::Error,
        absent: Some("not there"),
        means: "the ranks on that machine fail or train on something else while the others wait",
        help: ONE_FOLDER,
        examples: &[
            Example {
                stated: &[Text("9 bytes (1f)"), Nothing, Text("9 bytes (1f)")],
                answer: "x is not there on b, 9 bytes (1f) on the others",
            },
            Example {
                stated: &[Text("a folder"), Text("not readable")],
                answer: "x is not readable on b, a folder on a",
            },
        ],
        ..FACT
    },
    Fact {
        names: &[Below("folder.")],
        compared: Same,
        severity: Severity::Error,
        says: "{name} has {value} on {machines}",
        means: "the ranks on that machine may fail or train on something else",
        help: ONE_FOLDER,
        examples: &[Example {
            stated: &[
                Text("4 files (1f)"),
                Text("3 files (2e)"),
                Text("4 files (1f)"),
            ],
            answer: "x has 3 files (2e) on b, 4 files (1f) on the others",
        }],
        ..FACT
    },
    Fact {
        names: &[Below("cached.")],
        compared: Same,
        says: "{name} has {value} in the cache on {machines}",
        means: "the ranks may load another revision",
        help: "use one cache on all machines (HF_HOME) or name the revision",
        examples: &[Example {
            stated: &[Text("4 files (1f)"), Nothing, Text("3 files (2e)")],
            answer: "x has 3 files (2e) in the cache on c, 4 files (1f) on a",
        }],
        ..FACT
    },
    Fact {
        names: &[Below("broken.")],
        severity: Severity::Error,
        says: "{value} of {name} is a link that leads nowhere on {machines}",
        means: "the download was cut off or its files were removed",
        help: "download the model again",
        examples: &[Example {
            stated: &[Nothing, Text("model.safetensors")],
            answer: "model.safetensors of x is a link that leads nowhere on b",
        }],
        ..FACT
    },
    Fact {
        names: &[Is("output")],
        severity: Severity::Error,
        says: "{value} cannot be written on {machines}",
        means: "the training ends there when it first saves",
        help: "name a folder that all machines share and this user can write",
        examples: &[Example {
            stated: &[Nothing, Text("out"), Text("out")],
            answer: "out cannot be written on b and c",
        }],
        ..FACT
    },
    Fact {
        names: &[Is("network.unreachable")],
        severity: Severity::Error,
        rule: Rule::NoAnswer,
        says: "{machines} cannot reach {value}",
        means: "the ranks would wait for each other",
        help: "give --master-addr an address that all machines reach or ask for the port to be opened",
        examples: &[Example {
            stated: &[Nothing, Text("gpu01:29500 (10.0.0.1: no route to host)")],
            answer: "b cannot reach gpu01:29500 (10.0.0.1: no route to host)",
        }],
        ..FACT
    },
    Fact {
        names: &[Is("network.cut")],
        severity: Severity::Error,
        rule: Rule::NoAnswer,
        says: "{machines} cannot reach {value}",
        means: "NCCL connects any two machines, on any port",
        help: "ask the administrator to open all ports between the machines of a job; until then leave one of them out",
        examples: &[Example {
            stated: &[Nothing, Text("c")],
            answer: "b cannot reach c: NCCL connects any two machines, on any port",
        }],
        ..FACT
    },
    // NCCL_SOCKET_IFNAME names another interface, maybe in another network.
    Fact {
        names: &[Is("network.cut-here")],
        rule: Rule::NoAnswer,
        says: "{machines} cannot reach {value} in the network of the first machine's address",
        means: "the interfaces in NCCL_SOCKET_IFNAME were not tried",
        help: "look whether the machines reach each other through those: ping -I INTERFACE MACHINE",
        examples: &[Example {
            stated: &[Nothing, Text("c")],
            answer: "b cannot reach c in the network of the first machine's address: the interfaces in NCCL_SOCKET_IFNAME were not tried",
        }],
        ..FACT
    },
    Fact {
        names: &[Is("network.address")],
        compared: Same,
        severity: Severity::Error,
        called: Some("the address of the first machine"),
        means: "the ranks would not meet",
        help: "give --master-addr an address instead of the name",
        examples: &[Example {
            stated: &[Nothing, Text("10.0.0.1"), Text("10.9.0.1")],
            answer: "the address of the first machine is 10.9.0.1 on c, 10.0.0.1 on b",
        }],
        ..FACT
    },
    Fact {
        names: &[Is("network.interface")],
        severity: Severity::Error,
        says: "no interface for {value} on {machines}",
        means: "NCCL or Gloo fails at start",
        help: "`ip -br address` shows the names; a prefix such as NCCL_SOCKET_IFNAME=ib fits all of them",
        examples: &[Example {
            stated: &[Nothing, Text("NCCL_SOCKET_IFNAME=ib1")],
            answer: "no interface for NCCL_SOCKET_IFNAME=ib1 on b",
        }],
        ..FACT
    },
    Fact {
        names: &[Is("network.adapter")],
        says: "no InfiniBand adapter for {value} on {machines}",
        means: "NCCL goes over TCP there, which is much slower",
        help: "`ls /sys/class/infiniband` shows the names; a prefix such as NCCL_IB_HCA=mlx5 fits all of them",
        examples: &[Example {
            stated: &[Nothing, Text("NCCL_IB_HCA=mlx5_9")],
            answer: "no InfiniBand adapter for NCCL_IB_HCA=mlx5_9 on b",
        }],
        ..FACT
    },
    Fact {
        names: &[Below("mtu.")],
        compared: Same,
        says: "the MTU of {name} is {value} on {machines}",
        means: "packets may be lost or RDMA may fail between them",
        help: "ask the administrator; `ip link` shows it",
        examples: &[Example {
            stated: &[Text("9000"), Text("1500"), Nothing, Text("9000")],
            answer: "the MTU of x is 1500 on b, 9000 on the others",
        }],
        ..FACT
    },
    Fact {
        names: &[Is("space./dev/shm")],
        compared: AtLeast(GIB),
        is_size: true,
        says: "{value} are free in /dev/shm on {machines}",
        means: "NCCL and data loader workers share memory there",
        help: "remove what other jobs have left there",
        examples: &[Example {
            stated: &[Number(8 << 30), Number(1 << 20)],
            answer: "1 MiB are free in /dev/shm on b",
        }],
        ..FACT
    },
    Fact {
        names: &[Is("space.output")],
        compared: AtLeast(0.2 * GIB),
        severity: Severity::Error,
        is_size: true,
        says: "{value} are free for the output on {machines}",
        means: "the training ends there when it first saves",
        help: "free some or name a folder on another disk",
        examples: &[Example {
            stated: &[Number(1 << 40), Number(1 << 20)],
            answer: "1 MiB are free for the output on b",
        }],
        ..FACT
    },
    Fact {
        names: &[Below("space.")],
        compared: AtLeast(GIB),
        is_size: true,
        says: "{value} are free in {name} on {machines}",
        means: "caches and temporary files go there",
        help: "free some or point TMPDIR and XDG_CACHE_HOME to another disk",
        examples: &[Example {
            stated: &[Number(1 << 20), Number(1 << 20)],
            answer: "1 MiB are free in x on a and b",
        }],
        ..FACT
    },
    Fact {
        names: &[Is("clock")],
        compared: AtMost(30.),
        says: "the clock of {machines} differs by {value} s",
        means: "the times of files and logs mislead and signed requests are refused",
        help: "ask the administrator for NTP",
        examples: &[Example {
            stated: &[Nothing, Number(1), Number(-300)],
            answer: "the clock of c differs by -300 s",
        }],
        ..FACT
    },
    Fact {
        names: &[
            Below("variables.SLURM_"),
            Is("variables.NODE_RANK"),
            Is("variables.RANK"),
            Is("variables.LOCAL_RANK"),
            Is("variables.CUDA_VISIBLE_DEVICES"),
            Is("variables.HIP_VISIBLE_DEVICES"),
            Is("variables.ROCR_VISIBLE_DEVICES"),
            Is("variables.ASCEND_RT_VISIBLE_DEVICES"),
        ],
        compared: Free,
        examples: &[Example {
            stated: &[Number(0), Number(1)],
            answer: "",
        }],
        ..FACT
    },
    Fact {
        names: &[
            Is("variables.NCCL_SOCKET_IFNAME"),
            Is("variables.GLOO_SOCKET_IFNAME"),
        ],
        compared: Same,
        severity: Severity::Error,
        absent: Some("not set"),
        means: "the ranks may look for each other in different networks",
        help: "set it for all machines in the batch script or with --env NAME=VALUE",
        examples: &[Example {
            stated: &[Text("ib0"), Text("ib1")],
            answer: "NCCL_SOCKET_IFNAME is ib1 on b, ib0 on a",
        }],
        ..FACT
    },
    Fact {
        names: &[
            Is("variables.NCCL_ALGO"),
            Is("variables.NCCL_BUFFSIZE"),
            Is("variables.NCCL_IB_DISABLE"),
            Is("variables.NCCL_NET"),
            Is("variables.NCCL_PROTO"),
        ],
        compared: Same,
        severity: Severity::Error,
        absent: Some("not set"),
        means: "NCCL fails or waits unless all ranks have the same",
        help: "set it for all machines in the batch script or with --env NAME=VALUE",
        examples: &[Example {
            stated: &[Text("Simple"), Nothing, Nothing],
            answer: "NCCL_ALGO is Simple on a, not set on the others",
        }],
        ..FACT
    },
    Fact {
        names: &[
            Is("variables.HF_ENDPOINT"),
            Is("variables.HTTPS_PROXY"),
            Is("variables.https_proxy"),
        ],
        compared: Same,
        absent: Some("not set"),
        means: "downloads go another way there",
        help: "set it for all machines in the batch script or with --env NAME=VALUE",
        examples: &[Example {
            stated: &[Text("https://hf-mirror.com"), Nothing, Nothing],
            answer: "HF_ENDPOINT is https://hf-mirror.com on a, not set on the others",
        }],
        ..FACT
    },
    Fact {
        names: &[Below("variables.")],
        compared: Same,
        absent: Some("not set"),
        means: "the ranks may not talk to each other in the same way",
        help: "set it for all machines in the batch script or with --env NAME=VALUE",
        examples: &[
            Example {
                stated: &[Text("ib0"), Text("ib1")],
                answer: "x is ib1 on b, ib0 on a",
            },
            Example {
                stated: &[Nothing, Nothing, Number(1)],
                answer: "x is 1 on c, not set on the others",
            },
        ],
        ..FACT
    },
    // What a machine found itself. Those that differ only in their numbers are one.
    Fact {
        names: &[Below("error.")],
        compared: InItsOwnWords,
        severity: Severity::Error,
        examples: &[Example {
            stated: &[Nothing, Text("no such file")],
            answer: "b: no such file",
        }],
        ..FACT
    },
    Fact {
        names: &[Below("warning.")],
        compared: InItsOwnWords,
        examples: &[Example {
            stated: &[Text("few files"), Text("few files")],
            answer: "a and b: few files",
        }],
        ..FACT
    },
];
