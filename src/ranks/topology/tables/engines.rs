//! The engines, in the order they are asked: an MPI inside a Slurm job knows its ranks better than
//! Slurm does, and what others build on comes last. A row is one engine, or one of its forms: how its
//! variables are called, and what the two machines of a job find in them.
#![cfg_attr(
    not(feature = "testing"),
    allow(dead_code, reason = "the tests read the examples")
)]

use Example::{Both, Each, Lines, Unset};
use Inside::{AnyOther, Nothing, These};
use Kind::{
    Azure, GridEngine, Machines, MpiJob, Pods, Ranks, RanksWithoutPlace, Shell, Slurm, Vertex,
};
use Outcome::{Machine, Refused, Task};
use Role::{
    Count, File, First, FirstFile, Gpus, Here, Hosts, Index, Instance, Job, List, LocalRank,
    LocalSize, Main, Mark, Nodes, Other, Others, Pairs, Port, Rank, Size, Worker,
};
use Variable::{Beside, InFile, Only, Shows};

pub struct Engine {
    pub name: &'static str,
    /// The engine is asked if the name of any variable begins with one of these. None begins with another.
    pub prefixes: &'static [&'static str],
    pub kind: Kind,
    /// Starts zlaunch on each machine from the shell of a job. Empty if this engine runs no such
    /// shell.
    pub line: &'static str,
    pub inside: Inside,
    /// These engines set the variables of this one, too. Where one of them answers with the same
    /// numbers, this one does not count.
    pub set_by: &'static [&'static str],
    /// Variables that the documents do not list under this engine.
    pub undocumented: &'static [Variable],
    pub documented: &'static [Documented],
    /// What the values in the rows of the variables give on both machines.
    pub example: Outcome,
}

/// The engines in whose jobs an engine starts its tasks. The tasks may have the variables of the
/// machine that started them, so their own numbers hold. If the job has several machines and the
/// engine sees one, that is told all the same.
#[derive(Clone, Copy)]
pub enum Inside {
    Nothing,
    AnyOther,
    These(&'static [&'static str]),
}

/// What a process of the engine is, and so which code reads its variables.
#[derive(Clone, Copy)]
pub enum Kind {
    /// One process on each machine.
    Machines,
    /// The same. Besides, RANK and WORLD_SIZE count pods if MASTER_ADDR begins so and contains this,
    /// and there is no LOCAL_RANK.
    Pods {
        begins: &'static str,
        contains: &'static str,
    },
    /// An MPI: one process for each rank.
    Ranks,
    /// An MPI that never sets LOCAL_RANK or the like.
    RanksWithoutPlace,
    /// The shell of a job.
    Shell,
    /// Engines with code of their own. Those with a line are shells, too.
    Slurm,
    GridEngine,
    Azure,
    MpiJob,
    Vertex,
}

/// Variables and the sentence of the documents about them. One that stands in an earlier row, or in
/// `src/base/tables/vars.rs`, is left out.
pub struct Documented {
    pub about: &'static str,
    pub variables: &'static [Variable],
}

pub enum Variable {
    /// By itself it shows a larger job.
    Shows(Role, &'static str, Example),
    /// It says something beside others only.
    Beside(Role, &'static str, Example),
    /// The only variable whose name begins and ends like this. Several are refused.
    Only(Role, &'static str, &'static str),
    /// A key of the JSON file at this path, which counts where no variable above it is set.
    InFile(Role, &'static str, &'static str),
}

/// What a variable tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Role {
    /// The engine's own code reads it, or nothing does.
    Other,
    /// Something that shows a job; of an MPI, something that must be there besides.
    Mark,
    /// What all processes of one job, or of one start, have in common, and no others.
    Job,

    // One process on each machine.
    /// The number of machines.
    Count,
    /// The number of machines without the first.
    Others,
    /// The number of this machine.
    Index,
    /// The number of this machine, which is 0 also if there is only one.
    Instance,
    /// All machines, with a comma, semicolon, blank or line feed between them, or as a JSON list,
    /// machine 0 first.
    Hosts,
    /// The name of this machine among them. Machine 0 is then the first by name: two machines may
    /// list them in different orders.
    Here,
    /// Machine 0, perhaps with its port.
    First,
    /// The index of the machine that becomes machine 0. That one is not told its own address.
    Main,
    /// One port, or several with a comma between them.
    Port,
    /// The GPUs of one machine.
    Gpus,
    /// What this machine does in the job: it must be a worker.
    Worker,

    // One process for each rank. Without local numbers, all of them are on this machine.
    Rank,
    Size,
    LocalRank,
    LocalSize,
    /// The number of machines, with equally many tasks on each.
    Nodes,

    // The shell of a job: its machines, the best first.
    /// A file with a machine as the first word of each line, perhaps in several lines.
    File,
    /// The same, and an MPI has rank 0 on the first one.
    FirstFile,
    /// Machines with a blank, `;` or `,` between them.
    List,
    /// Machines, each with its slots behind it.
    Pairs,
}

/// Of one process for each rank: as far as an engine has variables for these, all of them must be set.
pub const PLACE_A_TASK: [Role; 5] = [Rank, Size, LocalRank, LocalSize, Nodes];

/// Of one process on each machine: any of these shows that it belongs to a job.
pub const SHOW_A_JOB: [Role; 9] = [
    Count, Others, Index, Instance, Main, Hosts, Here, First, Mark,
];

/// The value of a variable in the example.
#[derive(Clone, Copy)]
pub enum Example {
    Unset,
    Both(&'static str),
    /// On machine 0 and on machine 1.
    Each(&'static str, &'static str),
    /// The variable names a file with these lines.
    Lines(&'static [&'static str]),
}

/// What comes of an example. `HOST:PORT` is where the ranks meet; the number is that of the ranks of
/// a machine, if a variable counts them or its GPUs.
#[derive(Clone, Copy)]
pub enum Outcome {
    Refused,
    /// Each process is a machine.
    Machine(Example, Option<u32>),
    /// Each process is a rank: the first on machine 0 or 1 is rank 0 or 2 of 4.
    Task(Example, Option<u32>),
}

const DETERMINED_FILE: &str = "/run/determined/info/rendezvous.json";
const SAGEMAKER_FILE: &str = "/opt/ml/input/config/resourceconfig.json";

// Names that other rows refer to.
const ALPS: &str = "ALPS";
const AWS_BATCH: &str = "AWS Batch";
const FLUX: &str = "Flux";
const KUBERNETES: &str = "Kubernetes";
const LSF: &str = "LSF";
const LSF_JSRUN: &str = "LSF (jsrun)";
const MPICH: &str = "MPICH";
const MVAPICH: &str = "MVAPICH";
const OPEN_MPI: &str = "Open MPI";
const PALS: &str = "PALS";
const PBS: &str = "PBS";
const PMI: &str = "PMI";
const RUNPOD: &str = "RunPod";
const SLURM: &str = "Slurm";
const TAIJI: &str = "Taiji";
const VOLCANO: &str = "Volcano";

/// What most rows have in common.
const ENGINE: Engine = Engine {
    name: "",
    prefixes: &[],
    kind: Machines,
    line: "",
    inside: Nothing,
    set_by: &[],
    undocumented: &[],
    documented: &[],
    example: Refused,
};

pub const ENGINES: &[Engine] = &[
    Engine {
        // Open MPI: `mpirun` sets these for every task (docs.open-mpi.org, "Environment variables
        // set for MPI applications"). It does not say where the ranks meet: the job's host list or
        // the user must. Open MPI 4 counts the nodes in OMPI_MCA_orte_num_nodes, Open MPI 5 does
        // not.
        // The example was seen with Open MPI 5.0.11.
        name: OPEN_MPI,
        prefixes: &["OMPI_COMM_WORLD_"],
        kind: Ranks,
        inside: AnyOther,
        undocumented: &[
            Shows(Other, "PMIX_RANK", Each("0", "2")),
            Beside(Other, "MASTER_ADDR", Both("n1")),
            Beside(Job, "PMIX_NAMESPACE", Both("prterun-n1-13294@1")),
        ],
        documented: &[
            Documented {
                about: "the place of a task of Open MPI",
                variables: &[
                    Shows(Rank, "OMPI_COMM_WORLD_RANK", Each("0", "2")),
                    Shows(Size, "OMPI_COMM_WORLD_SIZE", Both("4")),
                    Shows(LocalRank, "OMPI_COMM_WORLD_LOCAL_RANK", Both("0")),
                    Shows(LocalSize, "OMPI_COMM_WORLD_LOCAL_SIZE", Both("2")),
                ],
            },
            Documented {
                about: "orte_num_nodes, the number of machines of Open MPI 4: tells whether they have the same number of tasks",
                variables: &[Only(Other, "OMPI_MCA_", "")],
            },
        ],
        example: Task(Both("n1:27680"), Some(2)),
        ..ENGINE
    },
    Engine {
        // MPICH and Intel MPI (hydra); seen with MPICH 5.0.2 and Intel MPI 2021.18. `srun
        // --mpi=pmi2` sets `PMI_RANK`, too, and there Slurm's variables say more, so hydra's own
        // local variables must be there. Only Intel's names the start; MPICH's proxies are told
        // the host and port of their `mpiexec` (src/pm/hydra/mpiexec/mpiexec.c,
        // HYD_server_info.control_listen_fd).
        // The example was seen with Intel MPI 2021.18.
        name: MPICH,
        prefixes: &["MPI_LOCALNRANKS", "MPI_LOCALRANKID"],
        kind: Ranks,
        inside: AnyOther,
        undocumented: &[Beside(Other, "MASTER_ADDR", Both("n1"))],
        documented: &[
            Documented {
                about: "the place of a task of MPICH or Intel MPI",
                variables: &[
                    Shows(Rank, "PMI_RANK", Each("0", "2")),
                    Shows(Size, "PMI_SIZE", Both("4")),
                    Shows(LocalRank, "MPI_LOCALRANKID", Both("0")),
                    Shows(LocalSize, "MPI_LOCALNRANKS", Both("2")),
                ],
            },
            Documented {
                about: "a separate port for each start of Intel MPI",
                variables: &[Beside(
                    Job,
                    "I_MPI_HYDRA_UUID",
                    Both("13340000-c1ed-fd3b-5c60-0600322d7c25"),
                )],
            },
        ],
        example: Task(Both("n1:28906"), Some(2)),
        ..ENGINE
    },
    Engine {
        // MVAPICH2 and MVAPICH 3: `mpirun_rsh` sets these for every task
        // (src/mpid/ch4/netmod/ofi/mvp/mvp_env_params.c of MVAPICH 3 has the names that begin with
        // MVP).
        name: MVAPICH,
        prefixes: &["MV2_COMM_WORLD_"],
        kind: Ranks,
        inside: AnyOther,
        undocumented: &[
            Beside(Other, "MASTER_ADDR", Both("n1")),
            Beside(Other, "MASTER_PORT", Both("29500")),
        ],
        documented: &[Documented {
            about: "the place of a task of MVAPICH2",
            variables: &[
                Shows(Rank, "MV2_COMM_WORLD_RANK", Each("0", "2")),
                Shows(Size, "MV2_COMM_WORLD_SIZE", Both("4")),
                Shows(LocalRank, "MV2_COMM_WORLD_LOCAL_RANK", Both("0")),
                Shows(LocalSize, "MV2_COMM_WORLD_LOCAL_SIZE", Both("2")),
            ],
        }],
        example: Task(Both("n1:29500"), Some(2)),
        ..ENGINE
    },
    Engine {
        name: MVAPICH,
        prefixes: &["MVP_COMM_WORLD_"],
        kind: Ranks,
        inside: AnyOther,
        undocumented: &[
            Beside(Other, "MASTER_ADDR", Both("n1")),
            Beside(Other, "MASTER_PORT", Both("29500")),
        ],
        documented: &[Documented {
            about: "the place of a task of MVAPICH 3",
            variables: &[
                Shows(Rank, "MVP_COMM_WORLD_RANK", Each("0", "2")),
                Shows(Size, "MVP_COMM_WORLD_SIZE", Both("4")),
                Shows(LocalRank, "MVP_COMM_WORLD_LOCAL_RANK", Both("0")),
                Shows(LocalSize, "MVP_COMM_WORLD_LOCAL_SIZE", Both("2")),
            ],
        }],
        example: Task(Both("n1:29500"), Some(2)),
        ..ENGINE
    },
    Engine {
        // Cray PALS, the `mpiexec` of PBS machines. PBS lists the job's machines in a file, one
        // line for each slot.
        name: PALS,
        prefixes: &["PALS_"],
        kind: Ranks,
        inside: AnyOther,
        undocumented: &[
            Beside(Other, "MASTER_ADDR", Both("n1")),
            Shows(Size, "PMI_SIZE", Both("4")),
        ],
        documented: &[Documented {
            about: "the place of a task of PALS",
            variables: &[
                Shows(Rank, "PALS_RANKID", Each("0", "2")),
                Shows(LocalRank, "PALS_LOCAL_RANKID", Both("0")),
                Shows(LocalSize, "PALS_LOCAL_SIZE", Both("2")),
                Beside(Job, "PALS_APID", Both("6ca2a5b4")),
            ],
        }],
        example: Task(Both("n1:23173"), Some(2)),
        ..ENGINE
    },
    Engine {
        // Flux: `flux run` sets these for every task (github.com/flux-framework/flux-core,
        // doc/man7/flux-environment.rst). Where the ranks meet is not told.
        name: FLUX,
        prefixes: &["FLUX_"],
        kind: Ranks,
        inside: AnyOther,
        undocumented: &[Beside(Other, "MASTER_ADDR", Both("n1"))],
        documented: &[Documented {
            about: "the place of a task of Flux",
            variables: &[
                Shows(Rank, "FLUX_TASK_RANK", Each("0", "2")),
                Shows(LocalRank, "FLUX_TASK_LOCAL_ID", Both("0")),
                Shows(Size, "FLUX_JOB_SIZE", Both("4")),
                Shows(Nodes, "FLUX_JOB_NNODES", Both("2")),
                Beside(Job, "FLUX_JOB_ID", Both("f1")),
            ],
        }],
        example: Task(Both("n1:26904"), Some(2)),
        ..ENGINE
    },
    Engine {
        // Horovod without an MPI: `horovodrun --gloo` sets these for every task
        // (github.com/horovod/horovod, horovod/runner/gloo_run.py). The address in them is that of
        // `horovodrun`, not of rank 0.
        name: "Horovod",
        prefixes: &["HOROVOD_"],
        kind: Ranks,
        inside: AnyOther,
        undocumented: &[
            Beside(Other, "HOROVOD_GLOO_RENDEZVOUS_ADDR", Both("10.0.0.9")),
            Beside(Other, "MASTER_ADDR", Both("n1")),
            Beside(Other, "MASTER_PORT", Both("29500")),
        ],
        documented: &[Documented {
            about: "the place of a task of horovodrun",
            variables: &[
                Shows(Rank, "HOROVOD_RANK", Each("0", "2")),
                Shows(Size, "HOROVOD_SIZE", Both("4")),
                Shows(LocalRank, "HOROVOD_LOCAL_RANK", Both("0")),
                Shows(LocalSize, "HOROVOD_LOCAL_SIZE", Both("2")),
            ],
        }],
        example: Task(Both("n1:29500"), Some(2)),
        ..ENGINE
    },
    Engine {
        // submitit's local executor: github.com/facebookincubator/submitit,
        // submitit/local/local.py. It starts one process for each task, all on this machine. Its
        // Slurm executor runs `srun`, whose variables are then there.
        name: "submitit",
        prefixes: &["SUBMITIT_LOCAL_"],
        kind: Ranks,
        documented: &[Documented {
            about: "the place of a task of submitit's local executor",
            variables: &[
                Shows(Rank, "SUBMITIT_LOCAL_GLOBALID", Each("0", "2")),
                Shows(LocalRank, "SUBMITIT_LOCAL_LOCALID", Each("0", "2")),
                Shows(Size, "SUBMITIT_LOCAL_NTASKS", Both("4")),
                Beside(Job, "SUBMITIT_LOCAL_JOB_ID", Both("1234")),
            ],
        }],
        example: Task(Both("127.0.0.1:28061"), Some(4)),
        ..ENGINE
    },
    Engine {
        // SkyPilot runs a task once on each node: docs.skypilot.co, "Distributed Multi-Node Jobs"
        // and "SkyPilot environment variables". SKYPILOT_NODE_IPS has one address a line, the head
        // node first.
        name: "SkyPilot",
        prefixes: &["SKYPILOT_"],
        documented: &[Documented {
            about: "the place of this machine in a SkyPilot task",
            variables: &[
                Shows(Count, "SKYPILOT_NUM_NODES", Both("2")),
                Shows(Index, "SKYPILOT_NODE_RANK", Each("0", "1")),
                Shows(Hosts, "SKYPILOT_NODE_IPS", Both("10.0.0.1\n10.0.0.2")),
                Beside(Gpus, "SKYPILOT_NUM_GPUS_PER_NODE", Both("3")),
                Beside(Job, "SKYPILOT_TASK_ID", Both("sky-1")),
            ],
        }],
        example: Machine(Both("10.0.0.1:30896"), Some(3)),
        ..ENGINE
    },
    Engine {
        // dstack runs a distributed task once on each node: dstack.ai/docs/concepts/tasks,
        // "Distributed tasks". DSTACK_NODES_IPS has one address a line.
        name: "dstack",
        prefixes: &["DSTACK_"],
        documented: &[Documented {
            about: "the place of this machine in a dstack task",
            variables: &[
                Shows(Count, "DSTACK_NODES_NUM", Both("2")),
                Shows(Index, "DSTACK_NODE_RANK", Each("0", "1")),
                Shows(First, "DSTACK_MASTER_NODE_IP", Both("10.0.0.1")),
                Shows(Hosts, "DSTACK_NODES_IPS", Both("10.0.0.1\n10.0.0.2")),
                Beside(Gpus, "DSTACK_GPUS_PER_NODE", Both("3")),
                Beside(Job, "DSTACK_RUN_ID", Both("r1")),
            ],
        }],
        example: Machine(Both("10.0.0.1:21804"), Some(3)),
        ..ENGINE
    },
    Engine {
        // Metaflow's `@parallel` steps: github.com/Netflix/metaflow,
        // metaflow/plugins/parallel_decorator.py. It sets these on AWS Batch and Kubernetes alike.
        name: "Metaflow",
        prefixes: &["MF_PARALLEL_"],
        inside: These(&[AWS_BATCH]),
        undocumented: &[Beside(Other, "AWS_BATCH_JOB_ID", Each("j1#0", "j1#1"))],
        documented: &[Documented {
            about: "the place of this machine in a parallel step of Metaflow",
            variables: &[
                Shows(Count, "MF_PARALLEL_NUM_NODES", Both("2")),
                Shows(Index, "MF_PARALLEL_NODE_INDEX", Each("0", "1")),
                Shows(First, "MF_PARALLEL_MAIN_IP", Both("10.0.0.1")),
            ],
        }],
        example: Machine(Both("10.0.0.1:23456"), None),
        ..ENGINE
    },
    Engine {
        // HyperQueue's tasks of several nodes run on the first of them only:
        // github.com/It4innovations/hyperqueue, docs/jobs/multinode.md. Its workers may be jobs of
        // Slurm or PBS with one machine each.
        name: "HyperQueue",
        prefixes: &["HQ_NUM_NODES", "HQ_NODE_FILE", "HQ_HOST_FILE"],
        kind: Shell,
        line: "mpirun --hostfile $HQ_NODE_FILE --map-by ppr:1:node zlaunch … (Open MPI), or mpiexec -f $HQ_NODE_FILE -ppn 1 zlaunch … (MPICH)",
        inside: These(&[SLURM, PBS]),
        documented: &[Documented {
            about: "the machines of a HyperQueue task",
            variables: &[
                Shows(FirstFile, "HQ_NODE_FILE", Lines(&["n1", "n2"])),
                Shows(File, "HQ_HOST_FILE", Lines(&["n1", "n2"])),
                Shows(Count, "HQ_NUM_NODES", Both("2")),
            ],
        }],
        ..ENGINE
    },
    Engine {
        // QCG-PilotJob runs a job of several nodes on the first of them:
        // github.com/vecma-project/QCG-PilotJob, "QCG execution environment". It also sets Slurm's
        // variables.
        name: "QCG-PilotJob",
        prefixes: &["QCG_PM_"],
        kind: Shell,
        line: "mpirun -np $QCG_PM_NNODES --map-by ppr:1:node zlaunch … (Open MPI), or mpiexec -n $QCG_PM_NNODES -ppn 1 zlaunch … (Intel MPI)",
        inside: These(&[SLURM]),
        documented: &[Documented {
            about: "the machines of a job of QCG-PilotJob",
            variables: &[
                Shows(List, "QCG_PM_NODELIST", Both("n1,n2")),
                Shows(Count, "QCG_PM_NNODES", Both("2")),
            ],
        }],
        ..ENGINE
    },
    Engine {
        name: SLURM,
        prefixes: &["SLURM_"],
        kind: Slurm,
        undocumented: &[
            Beside(Other, "SLURM_JOB_ID", Both("7")),
            Beside(Other, "SLURM_STEP_ID", Both("0")),
            Shows(Other, "SLURM_STEP_NUM_NODES", Both("2")),
            Beside(Other, "SLURM_STEP_NODELIST", Both("n[1-2]")),
            Beside(Other, "SLURM_STEP_TASKS_PER_NODE", Both("1(x2)")),
            Beside(Other, "SLURM_NODEID", Each("0", "1")),
            Beside(Other, "SLURM_PROCID", Each("0", "1")),
            Beside(Other, "SLURM_LOCALID", Both("0")),
        ],
        documented: &[
            Documented {
                about: "the shell of a job has it; without it, a container got only some of the variables of a task",
                variables: &[Shows(Other, "SLURM_SUBMIT_DIR", Unset)],
            },
            Documented {
                about: "without SLURM_JOB_ID: part of a larger job, about which more flags are needed",
                variables: &[
                    Shows(Other, "SLURM_NODELIST", Unset),
                    Shows(Other, "SLURM_NTASKS", Unset),
                    Shows(Other, "SLURM_NPROCS", Unset),
                    Shows(Other, "SLURM_JOBID", Unset),
                ],
            },
        ],
        example: Machine(Both("n1:23718"), None),
        ..ENGINE
    },
    Engine {
        // Cray's `aprun` tells a task its number, but not how many there are (`man aprun`). Around
        // it is a job of PBS or Slurm.
        name: ALPS,
        prefixes: &["ALPS_APP_"],
        inside: These(&[SLURM, PBS]),
        undocumented: &[
            Beside(Other, "MASTER_ADDR", Both("n1")),
            Beside(Other, "MASTER_PORT", Both("29500")),
            Shows(Count, "NNODES", Both("2")),
        ],
        documented: &[Documented {
            about: "number of this task of ALPS, with NNODES",
            variables: &[Beside(Instance, "ALPS_APP_PE", Each("0", "1"))],
        }],
        example: Machine(Both("n1:29500"), None),
        ..ENGINE
    },
    Engine {
        name: LSF_JSRUN,
        prefixes: &["JSM_NAMESPACE_"],
        kind: Ranks,
        inside: AnyOther,
        undocumented: &[
            Beside(Other, "MASTER_ADDR", Both("n1")),
            Beside(Other, "LSB_JOBID", Both("4")),
        ],
        documented: &[Documented {
            about: "the place of a task of LSF's jsrun",
            variables: &[
                Shows(Rank, "JSM_NAMESPACE_RANK", Each("0", "2")),
                Shows(Size, "JSM_NAMESPACE_SIZE", Both("4")),
                Shows(LocalRank, "JSM_NAMESPACE_LOCAL_RANK", Both("0")),
                Shows(LocalSize, "JSM_NAMESPACE_LOCAL_SIZE", Both("2")),
            ],
        }],
        example: Task(Both("n1:23235"), Some(2)),
        ..ENGINE
    },
    Engine {
        name: LSF,
        prefixes: &["LSB_"],
        kind: Shell,
        line: "mpirun --map-by ppr:1:node zlaunch … (Open MPI), or jsrun -r 1 -a 1 zlaunch …",
        undocumented: &[Shows(Mark, "LSB_JOBID", Both("4"))],
        documented: &[
            Documented {
                about: "the machines of an LSF job",
                variables: &[
                    Shows(Pairs, "LSB_MCPU_HOSTS", Both("n1 2 n2 2")),
                    Shows(List, "LSB_HOSTS", Both("n1 n1 n2 n2")),
                    Shows(File, "LSB_DJOB_HOSTFILE", Lines(&["n1", "n1", "n2", "n2"])),
                    Shows(File, "LSB_DJOB_RANKFILE", Lines(&["n1", "n1", "n2", "n2"])),
                ],
            },
            Documented {
                about: "a separate port for each task of an LSF array",
                variables: &[Shows(Other, "LSB_JOBINDEX", Unset)],
            },
        ],
        ..ENGINE
    },
    Engine {
        // PBS Professional, OpenPBS and Torque: the shell of a job. PBS_NODEFILE lists a machine
        // once for each of its slots; Torque also counts them (`man qsub` of each).
        name: PBS,
        prefixes: &["PBS_"],
        kind: Shell,
        line: "mpirun --hostfile $PBS_NODEFILE --map-by ppr:1:node zlaunch … (Open MPI), or mpiexec -ppn 1 zlaunch … (MPICH, Intel MPI, PALS)",
        undocumented: &[
            Shows(FirstFile, "PBS_NODEFILE", Lines(&["n1", "n1", "n2", "n2"])),
            Shows(Mark, "PBS_JOBID", Both("1.server")),
        ],
        documented: &[Documented {
            about: "a PBS job: its number of machines under Torque, and whether this is its shell",
            variables: &[
                Shows(Count, "PBS_NUM_NODES", Both("2")),
                Shows(Mark, "PBS_ENVIRONMENT", Both("PBS_BATCH")),
            ],
        }],
        ..ENGINE
    },
    Engine {
        name: "Grid Engine",
        prefixes: &["NHOSTS", "PE_HOSTFILE"],
        kind: GridEngine,
        line: "mpirun -np $NHOSTS --map-by ppr:1:node zlaunch … (Open MPI), or mpiexec -n $NHOSTS -ppn 1 zlaunch … (MPICH, Intel MPI)",
        documented: &[
            Documented {
                about: "the machines of a Grid Engine job",
                variables: &[
                    Shows(FirstFile, "PE_HOSTFILE", Lines(&["n1", "n2"])),
                    Shows(Count, "NHOSTS", Both("2")),
                    Beside(Other, "PE", Both("mpi")),
                ],
            },
            Documented {
                about: "petask: Grid Engine's `qrsh -inherit` started this from SGE_O_HOST; else its job runs on HOSTNAME",
                variables: &[
                    Shows(Other, "JOB_NAME", Unset),
                    Shows(Other, "SGE_O_HOST", Unset),
                    Shows(Other, "HOSTNAME", Unset),
                ],
            },
            Documented {
                about: "a separate port for each Grid Engine job and task of an array; a scheduler's signals",
                variables: &[
                    Beside(Other, "JOB_ID", Both("3")),
                    Shows(Other, "SGE_TASK_ID", Unset),
                ],
            },
        ],
        ..ENGINE
    },
    Engine {
        // OAR: the shell of a job. Its file lists a machine once for each of its cores, under any
        // of four names (oar.readthedocs.io, "oarsub"; seen with 2.5.9). `oarsh` is an ssh to the
        // machines of the job (the same, "oarsh").
        name: "OAR",
        prefixes: &["OAR_"],
        kind: Shell,
        line: "mpirun --mca plm_rsh_agent oarsh --hostfile $OAR_NODEFILE --map-by ppr:1:node zlaunch … (Open MPI)",
        documented: &[Documented {
            about: "the machines of an OAR job",
            variables: &[
                Shows(FirstFile, "OAR_NODEFILE", Lines(&["n1", "n1", "n2", "n2"])),
                Shows(File, "OAR_NODE_FILE", Lines(&["n1", "n1", "n2", "n2"])),
                Shows(File, "OAR_FILE_NODES", Lines(&["n1", "n1", "n2", "n2"])),
                Shows(File, "OAR_RESOURCE_FILE", Lines(&["n1", "n1", "n2", "n2"])),
                Shows(Mark, "OAR_JOB_ID", Both("5")),
                Shows(Mark, "OAR_JOBID", Both("5")),
            ],
        }],
        ..ENGINE
    },
    Engine {
        // Cobalt: the shell of a job. COBALT_NODEFILE has a line for each machine, and
        // COBALT_JOBSIZE counts them (as PRRTE and RADICAL read them). It has no program that
        // starts a command on one of them.
        name: "Cobalt",
        prefixes: &["COBALT_"],
        kind: Shell,
        line: "mpirun --hostfile $COBALT_NODEFILE --map-by ppr:1:node zlaunch … (Open MPI), or mpiexec -f $COBALT_NODEFILE -ppn 1 zlaunch … (MPICH)",
        documented: &[Documented {
            about: "the machines of a Cobalt job",
            variables: &[
                Shows(FirstFile, "COBALT_NODEFILE", Lines(&["n1", "n2"])),
                Shows(Count, "COBALT_JOBSIZE", Both("2")),
                Shows(Mark, "COBALT_JOBID", Both("6")),
            ],
        }],
        ..ENGINE
    },
    Engine {
        // Fujitsu's PJM (Technical Computing Suite): the shell of a job. PJM_O_NODEINF names a
        // file with a line for each machine, as the scripts of Wisteria, Genkai and ITO read it;
        // PJM_NODE counts them, PJM_VNODES where a job has parts of machines.
        name: "PJM",
        prefixes: &["PJM_"],
        kind: Shell,
        line: "mpirun -machinefile $PJM_O_NODEINF -npernode 1 zlaunch … (Open MPI), or mpiexec -machinefile $PJM_O_NODEINF -ppn 1 zlaunch … (Intel MPI)",
        undocumented: &[
            Beside(Other, "PJM_JOBID", Both("7")),
            Beside(Other, "PJM_ENVIRONMENT", Both("BATCH")),
        ],
        documented: &[Documented {
            about: "the machines of a PJM job",
            variables: &[
                Shows(FirstFile, "PJM_O_NODEINF", Lines(&["n1", "n2"])),
                Shows(Count, "PJM_NODE", Both("2")),
                Shows(Count, "PJM_VNODES", Both("2")),
            ],
        }],
        ..ENGINE
    },
    Engine {
        // HTCondor's parallel universe: src/condor_starter.V6.1/parallel_proc.cpp. Each node runs
        // the same script; the address of the first is not told. Jobs of other universes have
        // neither variable.
        name: "HTCondor",
        prefixes: &["_CONDOR_"],
        undocumented: &[
            Beside(Other, "MASTER_ADDR", Both("n1")),
            Beside(Other, "_CONDOR_SCRATCH_DIR", Both("/scratch")),
        ],
        documented: &[Documented {
            about: "the place of this machine in HTCondor's parallel universe",
            variables: &[
                Shows(Count, "_CONDOR_NPROCS", Both("2")),
                Shows(Index, "_CONDOR_PROCNO", Each("0", "1")),
            ],
        }],
        example: Machine(Both("n1:23456"), None),
        ..ENGINE
    },
    Engine {
        // Every container of a trial runs its entry point. Where they are is in a file
        // (github.com/determined-ai/determined, harness/determined/_info.py).
        name: "Determined",
        prefixes: &["DET_"],
        undocumented: &[
            InFile(Hosts, DETERMINED_FILE, "container_addrs"),
            InFile(Index, DETERMINED_FILE, "container_rank"),
        ],
        documented: &[Documented {
            about: "a trial of Determined, whose containers are in /run/determined/info/rendezvous.json",
            variables: &[Shows(
                Mark,
                "DET_EXPERIMENT_CONFIG",
                Both(r#"{"resources": {"slots_per_trial": 6}}"#),
            )],
        }],
        ..ENGINE
    },
    Engine {
        // SageMaker training jobs: github.com/aws/sagemaker-training-toolkit,
        // ENVIRONMENT_VARIABLES.md. A container without that toolkit has the machines in a file
        // (docs.aws.amazon.com/sagemaker, "How Amazon SageMaker Provides Training Information").
        name: "SageMaker",
        prefixes: &["SM_", "TRAINING_JOB_NAME"],
        undocumented: &[
            Shows(Hosts, "SM_HOSTS", Both(r#"["algo-1", "algo-2"]"#)),
            Shows(Here, "SM_CURRENT_HOST", Each("algo-1", "algo-2")),
            InFile(Hosts, SAGEMAKER_FILE, "hosts"),
            InFile(Here, SAGEMAKER_FILE, "current_host"),
            Beside(Gpus, "SM_NUM_GPUS", Both("3")),
        ],
        documented: &[
            Documented {
                about: "number of machines of a SageMaker job: refused where nothing names them",
                variables: &[Shows(Count, "SM_HOST_COUNT", Unset)],
            },
            Documented {
                about: "a SageMaker container without the toolkit: the machines are in /opt/ml/input/config/resourceconfig.json",
                variables: &[Beside(Other, "TRAINING_JOB_NAME", Unset)],
            },
        ],
        example: Machine(Both("algo-1:23456"), Some(3)),
        ..ENGINE
    },
    Engine {
        // AWS Batch, multi-node parallel jobs:
        // docs.aws.amazon.com/batch/latest/userguide/mnp-env-vars.html.
        name: AWS_BATCH,
        prefixes: &["AWS_BATCH_JOB_"],
        undocumented: &[Beside(Other, "AWS_BATCH_JOB_ID", Each("j1#0", "j1#1"))],
        documented: &[Documented {
            about: "the place of this machine in a multi-node job of AWS Batch",
            variables: &[
                Shows(Count, "AWS_BATCH_JOB_NUM_NODES", Both("2")),
                Shows(Index, "AWS_BATCH_JOB_NODE_INDEX", Each("0", "1")),
                Beside(Main, "AWS_BATCH_JOB_MAIN_NODE_INDEX", Both("0")),
                Beside(
                    First,
                    "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS",
                    Each("", "10.0.0.1"),
                ),
            ],
        }],
        example: Machine(Each("n1:23456", "10.0.0.1:23456"), None),
        ..ENGINE
    },
    Engine {
        name: "Azure",
        prefixes: &["AZUREML_NODE_COUNT", "AZ_BATCHAI_", "AZ_BATCH_"],
        kind: Azure,
        line: "Azure ML: `distribution: type: pytorch` in the job; Azure Batch: mpirun -hosts $AZ_BATCH_HOST_LIST -ppn 1 zlaunch …",
        undocumented: &[
            Beside(Other, "AZ_BATCH_NODE_ID", Each("tvm-1", "tvm-2")),
            Beside(
                Other,
                "AZ_BATCH_IS_CURRENT_NODE_MASTER",
                Each("true", "false"),
            ),
        ],
        documented: &[
            Documented {
                about: "the machines of an Azure Batch task",
                variables: &[
                    Shows(List, "AZ_BATCH_NODE_LIST", Both("10.0.0.1;10.0.0.2")),
                    Shows(List, "AZ_BATCH_HOST_LIST", Both("10.0.0.1,10.0.0.2")),
                    Shows(List, "AZ_BATCHAI_NODE_LIST", Both("10.0.0.1;10.0.0.2")),
                ],
            },
            Documented {
                about: "number of machines of an Azure ML job: one process on each is a machine, not a rank",
                variables: &[Shows(Count, "AZUREML_NODE_COUNT", Both("2"))],
            },
            Documented {
                about: "the first machine of an Azure task",
                variables: &[
                    Shows(Mark, "AZ_BATCH_MASTER_NODE", Both("10.0.0.1:6000")),
                    Shows(Other, "AZ_BATCHAI_MPI_MASTER_NODE", Unset),
                ],
            },
        ],
        ..ENGINE
    },
    Engine {
        // Backend.AI's cluster sessions: github.com/lablup/backend.ai,
        // docs/concepts/networking.rst. The number of a container counts from 0 in spite of the
        // variable's name.
        name: "Backend.AI",
        prefixes: &["BACKENDAI_CLUSTER_"],
        undocumented: &[
            Beside(Other, "BACKENDAI_CLUSTER_HOST", Each("main1", "sub1")),
            Beside(Other, "BACKENDAI_CLUSTER_ROLE", Each("main", "sub")),
        ],
        documented: &[Documented {
            about: "the place of this container in a session of Backend.AI",
            variables: &[
                Shows(Count, "BACKENDAI_CLUSTER_SIZE", Both("2")),
                Shows(Index, "BACKENDAI_CLUSTER_LOCAL_RANK", Each("0", "1")),
                Shows(Hosts, "BACKENDAI_CLUSTER_HOSTS", Both("main1,sub1")),
                Beside(Job, "BACKENDAI_SESSION_ID", Both("s1")),
            ],
        }],
        example: Machine(Both("main1:21129"), None),
        ..ENGINE
    },
    Engine {
        name: "Vertex AI",
        prefixes: &["CLUSTER_SPEC", "TF_CONFIG"],
        kind: Vertex,
        documented: &[Documented {
            about: "the machines of a Vertex AI job or a TFJob, and which this is",
            variables: &[
                Shows(
                    Other,
                    "CLUSTER_SPEC",
                    Each(
                        r#"{"cluster": {"workerpool0": ["a:2222"], "workerpool1": ["b:2222"]}, "task": {"type": "workerpool0", "index": 0}}"#,
                        r#"{"cluster": {"workerpool0": ["a:2222"], "workerpool1": ["b:2222"]}, "task": {"type": "workerpool1", "index": 0}}"#,
                    ),
                ),
                Shows(Other, "TF_CONFIG", Unset),
            ],
        }],
        example: Machine(Both("a:2222"), None),
        ..ENGINE
    },
    Engine {
        // Google Cloud Batch with tasks that see each other: cloud.google.com/batch/docs,
        // "Environment variables for runnables".
        name: "Google Cloud Batch",
        prefixes: &["BATCH_MAIN_NODE_HOSTNAME", "BATCH_NODE_"],
        documented: &[Documented {
            about: "the place of this machine in a job of Google Cloud Batch",
            variables: &[
                Shows(Count, "BATCH_NODE_COUNT", Both("2")),
                Shows(Index, "BATCH_NODE_INDEX", Each("0", "1")),
                Shows(First, "BATCH_MAIN_NODE_HOSTNAME", Both("g-0")),
                Beside(Job, "BATCH_JOB_UID", Both("j-1")),
            ],
        }],
        example: Machine(Both("g-0:23955"), None),
        ..ENGINE
    },
    Engine {
        // The service counts the machines in INITIAL_CLUSTER_SIZE; before that, OCI__WORKER_COUNT
        // was their number without the first.
        name: "OCI Data Science",
        prefixes: &["INITIAL_CLUSTER_SIZE", "OCI__WORKER_COUNT"],
        undocumented: &[
            Beside(Index, "NODE_RANK", Each("0", "1")),
            Beside(Other, "MASTER_ADDR", Both("10.0.0.1")),
        ],
        documented: &[Documented {
            about: "the machines of an OCI Data Science job; NODE_RANK says which this is",
            variables: &[
                Shows(Count, "INITIAL_CLUSTER_SIZE", Both("2")),
                Shows(Others, "OCI__WORKER_COUNT", Unset),
            ],
        }],
        example: Machine(Both("10.0.0.1:23456"), None),
        ..ENGINE
    },
    Engine {
        // Snowflake's ML Jobs with `parallel=True`: github.com/snowflakedb/snowflake-ml-python,
        // CHANGELOG.md, 1.53.0. In its notebooks and on one machine the count is 1.
        name: "Snowflake",
        prefixes: &["SNOWFLAKE_JOBS_COUNT", "SNOWFLAKE_JOB_INDEX"],
        documented: &[Documented {
            about: "the place of this machine in an ML Job of Snowflake",
            variables: &[
                Shows(Count, "SNOWFLAKE_JOBS_COUNT", Both("2")),
                Shows(Index, "SNOWFLAKE_JOB_INDEX", Each("0", "1")),
                Beside(First, "MLRS_HEAD_IP", Both("10.0.0.1")),
                Beside(Hosts, "MLRS_NODE_IPS", Both("10.0.0.1,10.0.0.2")),
                Beside(Port, "MLRS_RDZV_PORT", Both("29400")),
            ],
        }],
        example: Machine(Both("10.0.0.1:29400"), None),
        ..ENGINE
    },
    Engine {
        // Volcengine's machine learning platform: volcengine.com/docs/6459/75329. A job of workers
        // alone; other roles have variables of their own.
        name: "Volcengine MLP",
        prefixes: &["MLP_"],
        documented: &[Documented {
            about: "the place of this machine in a Volcengine job",
            variables: &[
                Shows(Count, "MLP_WORKER_NUM", Both("2")),
                Beside(Worker, "MLP_ROLE", Both("WORKER")),
                Shows(Index, "MLP_ROLE_INDEX", Each("0", "1")),
                Shows(First, "MLP_WORKER_0_HOST", Both("10.0.0.1")),
                Beside(Port, "MLP_WORKER_0_PORT", Both("2222")),
                Shows(Hosts, "MLP_WORKER_ALL_HOSTS", Both("10.0.0.1,10.0.0.2")),
                Beside(Gpus, "MLP_WORKER_GPU", Both("3")),
            ],
        }],
        example: Machine(Both("10.0.0.1:2222"), Some(3)),
        ..ENGINE
    },
    Engine {
        // Tencent's Taiji, as its users' scripts read it: `--nnodes=$HOST_NUM --node_rank=$INDEX
        // --master_addr=$CHIEF_IP`. INDEX is too common a name to mean a machine without the
        // others.
        name: TAIJI,
        prefixes: &["HOST_NUM"],
        documented: &[Documented {
            about: "the place of this machine in a job of Taiji or TI-ONE",
            variables: &[
                Shows(Count, "HOST_NUM", Both("2")),
                Beside(Index, "INDEX", Each("0", "1")),
                Shows(First, "CHIEF_IP", Both("10.0.0.1")),
                Beside(Gpus, "HOST_GPU_NUM", Both("3")),
            ],
        }],
        example: Machine(Both("10.0.0.1:23456"), Some(3)),
        ..ENGINE
    },
    Engine {
        name: "TI-ONE",
        prefixes: &["CHIEF_IP"],
        set_by: &[TAIJI],
        undocumented: &[
            Beside(Count, "NODE_NUM", Both("2")),
            Beside(Index, "INDEX", Each("0", "1")),
            Shows(First, "CHIEF_IP", Both("10.0.0.1")),
        ],
        documented: &[Documented {
            about: "the GPUs of a machine of TI-ONE",
            variables: &[Beside(Gpus, "GPU_NUM_PER_NODE", Both("3"))],
        }],
        example: Machine(Both("10.0.0.1:23456"), Some(3)),
        ..ENGINE
    },
    Engine {
        // Huawei's ModelArts, which runs on Volcano: support.huaweicloud.com, "Viewing Environment
        // Variables of a Training Container". MA_NUM_GPUS are those of one machine.
        name: "ModelArts",
        prefixes: &["MA_NUM_HOSTS"],
        inside: These(&[VOLCANO]),
        undocumented: &[Beside(Index, "VC_TASK_INDEX", Each("0", "1"))],
        documented: &[Documented {
            about: "the machines of a ModelArts job; VC_TASK_INDEX says which this is",
            variables: &[
                Shows(Count, "MA_NUM_HOSTS", Both("2")),
                Beside(Gpus, "MA_NUM_GPUS", Both("3")),
                Shows(Hosts, "VC_WORKER_HOSTS", Both("w-0.svc,w-1.svc")),
            ],
        }],
        example: Machine(Both("w-0.svc:23456"), Some(3)),
        ..ENGINE
    },
    Engine {
        // NVIDIA's DGX Cloud Lepton: github.com/leptonai/gpud and
        // docs.nvidia.com/dgx-cloud/lepton, "Distributed training".
        name: "Lepton",
        prefixes: &["LEPTON_JOB_"],
        undocumented: &[Beside(Other, "MASTER_ADDR", Both("job-0.job-svc"))],
        documented: &[Documented {
            about: "the place of this machine in a Lepton job",
            variables: &[
                Shows(Count, "LEPTON_JOB_TOTAL_WORKERS", Both("2")),
                Shows(Index, "LEPTON_JOB_WORKER_INDEX", Each("0", "1")),
            ],
        }],
        example: Machine(Both("job-0.job-svc:23456"), None),
        ..ENGINE
    },
    Engine {
        // AI2's Beaker with replicas: beaker-docs, "Distributed training". The leader is told
        // where the task selects one.
        name: "Beaker",
        prefixes: &["BEAKER_"],
        documented: &[Documented {
            about: "the place of this machine in a Beaker experiment",
            variables: &[
                Shows(Count, "BEAKER_REPLICA_COUNT", Both("2")),
                Beside(Instance, "BEAKER_REPLICA_RANK", Each("0", "1")),
                Shows(First, "BEAKER_LEADER_REPLICA_HOSTNAME", Both("n1")),
                Beside(Job, "BEAKER_WORKLOAD_ID", Both("01")),
            ],
        }],
        example: Machine(Both("n1:28282"), None),
        ..ENGINE
    },
    Engine {
        // NVIDIA's Base Command Platform: docs.nvidia.com/base-command-platform, "Multi-node
        // jobs".
        name: "Base Command",
        prefixes: &["NGC_"],
        documented: &[Documented {
            about: "the place of this machine in a Base Command job",
            variables: &[
                Shows(Count, "NGC_ARRAY_SIZE", Both("2")),
                Shows(Index, "NGC_ARRAY_INDEX", Each("0", "1")),
                Shows(First, "NGC_MASTER_ADDR", Both("n1")),
                Beside(Gpus, "NGC_GPUS_PER_NODE", Both("3")),
                Beside(Job, "NGC_JOB_ID", Both("1")),
            ],
        }],
        example: Machine(Both("n1:23868"), Some(3)),
        ..ENGINE
    },
    Engine {
        // RunPod's Instant Clusters: docs.runpod.io/instant-clusters/configuration. WORLD_SIZE
        // counts all GPUs there, without a RANK.
        name: RUNPOD,
        prefixes: &["PRIMARY_ADDR"],
        undocumented: &[Beside(Index, "NODE_RANK", Each("0", "1"))],
        documented: &[Documented {
            about: "the place of this machine in a cluster of RunPod, with NODE_RANK",
            variables: &[
                Shows(First, "PRIMARY_ADDR", Both("10.0.0.1")),
                Beside(Port, "PRIMARY_PORT", Both("29400")),
                Beside(Count, "NUM_NODES", Both("2")),
                Beside(Gpus, "NUM_TRAINERS", Both("3")),
            ],
        }],
        example: Machine(Both("10.0.0.1:29400"), Some(3)),
        ..ENGINE
    },
    Engine {
        // Baseten's training jobs: docs.baseten.co/reference/sdk/training, "Baseten provided
        // environment variables".
        name: "Baseten",
        prefixes: &["BT_"],
        documented: &[Documented {
            about: "the place of this machine in a Baseten job",
            variables: &[
                Shows(Count, "BT_GROUP_SIZE", Both("2")),
                Shows(Index, "BT_NODE_RANK", Each("0", "1")),
                Shows(First, "BT_LEADER_ADDR", Both("10.0.0.1")),
                Beside(Gpus, "BT_NUM_GPUS", Both("3")),
                Beside(Job, "BT_TRAINING_JOB_ID", Both("j1")),
            ],
        }],
        example: Machine(Both("10.0.0.1:29540"), Some(3)),
        ..ENGINE
    },
    Engine {
        // Saturn Cloud's jobs of several instances: saturncloud.io/docs, "Multi-Node Multi-GPU
        // Training". How many instances there are is not told, and the only one of a job may be
        // number 0 as well: `uncounted.rs` warns of that.
        name: "Saturn Cloud",
        prefixes: &["SATURN_JOB_"],
        undocumented: &[
            Beside(Other, "MASTER_PORT", Both("29500")),
            Shows(Count, "NNODES", Both("2")),
        ],
        documented: &[Documented {
            about: "number of this instance of a Saturn Cloud job, with NNODES, and the address of the first",
            variables: &[
                Beside(Instance, "SATURN_JOB_RANK", Each("0", "1")),
                Beside(First, "SATURN_JOB_LEADER", Both("job-0.svc")),
            ],
        }],
        example: Machine(Both("job-0.svc:29500"), None),
        ..ENGINE
    },
    Engine {
        // Nomad numbers the allocations of a group (developer.hashicorp.com/nomad, "Runtime
        // environment settings"); a job may say in NNODES how many there are.
        name: "Nomad",
        prefixes: &["NOMAD_ALLOC_INDEX"],
        undocumented: &[
            Beside(Other, "MASTER_ADDR", Both("n1")),
            Beside(Other, "MASTER_PORT", Both("29500")),
            Shows(Count, "NNODES", Both("2")),
        ],
        documented: &[Documented {
            about: "number of this allocation of a Nomad job, with NNODES",
            variables: &[Beside(Instance, "NOMAD_ALLOC_INDEX", Each("0", "1"))],
        }],
        example: Machine(Both("n1:29500"), None),
        ..ENGINE
    },
    Engine {
        // ByteDance's Arnold, as its users' scripts read it (github.com/LLaVA-VL/LLaVA-NeXT,
        // scripts/train): `--nnodes=$ARNOLD_WORKER_NUM --node_rank=$ARNOLD_ID
        // --master_addr=$ARNOLD_WORKER_0_HOST`, with the first of the ports that the first worker
        // was given.
        name: "Arnold",
        prefixes: &["ARNOLD_"],
        documented: &[Documented {
            about: "the place of this machine in an Arnold job",
            variables: &[
                Shows(Count, "ARNOLD_WORKER_NUM", Both("2")),
                Shows(Index, "ARNOLD_ID", Each("0", "1")),
                Shows(First, "ARNOLD_WORKER_0_HOST", Both("10.0.0.1")),
                Beside(Port, "ARNOLD_WORKER_0_PORT", Both("9000,9001")),
                Beside(Gpus, "ARNOLD_WORKER_GPU", Both("3")),
            ],
        }],
        example: Machine(Both("10.0.0.1:9000"), Some(3)),
        ..ENGINE
    },
    Engine {
        // SenseTime's SenseCore, as its users' scripts read it: `--nnodes
        // $SENSECORE_PYTORCH_NNODES --node_rank $SENSECORE_PYTORCH_NODE_RANK --master_addr
        // $MASTER_ADDR`.
        name: "SenseCore",
        prefixes: &["SENSECORE_PYTORCH_"],
        undocumented: &[
            Beside(Other, "MASTER_ADDR", Both("job-0.svc")),
            Beside(Other, "MASTER_PORT", Both("29500")),
        ],
        documented: &[Documented {
            about: "the place of this machine in a SenseCore job",
            variables: &[
                Shows(Count, "SENSECORE_PYTORCH_NNODES", Both("2")),
                Shows(Index, "SENSECORE_PYTORCH_NODE_RANK", Each("0", "1")),
                Beside(Gpus, "SENSECORE_ACCELERATE_DEVICE_COUNT", Both("3")),
            ],
        }],
        example: Machine(Both("job-0.svc:29500"), Some(3)),
        ..ENGINE
    },
    Engine {
        // OpenPAI: github.com/microsoft/pai,
        // docs/manual/cluster-user/how-to-use-advanced-job-settings.md. The names of its variables
        // have the role of a task in them. The tasks of other roles may do anything.
        name: "OpenPAI",
        prefixes: &["PAI_CURRENT_TASK_ROLE_", "PAI_TASK_ROLE_"],
        undocumented: &[
            Shows(Other, "PAI_TASK_ROLE_TASK_COUNT_worker", Both("2")),
            Beside(Other, "PAI_HOST_IP_worker_0", Both("10.0.0.1")),
        ],
        documented: &[Documented {
            about: "the place of this task in an OpenPAI job",
            variables: &[
                Shows(Mark, "PAI_CURRENT_TASK_ROLE_NAME", Both("worker")),
                Shows(
                    Index,
                    "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX",
                    Each("0", "1"),
                ),
                Beside(Mark, "PAI_TASK_ROLE_LIST", Both("worker")),
                Only(Count, "PAI_TASK_ROLE_TASK_COUNT_", ""),
                Only(First, "PAI_HOST_IP_", "_0"),
            ],
        }],
        example: Machine(Both("10.0.0.1:23456"), None),
        ..ENGINE
    },
    Engine {
        // Baidu's PaddleCloud, as scripts of torch read it there: `--nnodes=$PADDLE_TRAINERS_NUM
        // --node_rank=$PADDLE_TRAINER_ID --master_addr=$POD_0_IP`
        // (github.com/dptech-corp/Uni-Fold; the first two: PaddlePaddle/Paddle,
        // distributed/launch).
        name: "PaddleCloud",
        prefixes: &["PADDLE_TRAINERS_NUM", "PADDLE_TRAINER_ID"],
        undocumented: &[Beside(Other, "PADDLE_PORT", Both("12345"))],
        documented: &[Documented {
            about: "the place of this machine in a job of PaddleCloud",
            variables: &[
                Shows(Count, "PADDLE_TRAINERS_NUM", Both("2")),
                Shows(Index, "PADDLE_TRAINER_ID", Each("0", "1")),
                Beside(First, "POD_0_IP", Both("10.0.0.1")),
            ],
        }],
        example: Machine(Both("10.0.0.1:23456"), None),
        ..ENGINE
    },
    Engine {
        // DLRover's ElasticJob: github.com/intelligent-machine-learning/dlrover,
        // dlrover/python/common/constants.py. Its master, where DLROVER_MASTER_ADDR leads, is no
        // rank; where the ranks meet is not told.
        name: "DLRover",
        prefixes: &["DLROVER_MASTER_ADDR"],
        undocumented: &[
            Beside(Index, "NODE_RANK", Each("0", "1")),
            Beside(Other, "MASTER_ADDR", Both("10.0.0.1")),
            Beside(Other, "MASTER_PORT", Both("29500")),
        ],
        documented: &[Documented {
            about: "a machine of DLRover, with NODE_RANK; NODE_NUM also in a job of TI-ONE",
            variables: &[
                Shows(Mark, "DLROVER_MASTER_ADDR", Both("elasticjob-master:50001")),
                Beside(Count, "NODE_NUM", Both("2")),
            ],
        }],
        example: Machine(Both("10.0.0.1:29500"), None),
        ..ENGINE
    },
    Engine {
        // Kubernetes' LeaderWorkerSet: github.com/kubernetes-sigs/lws, pkg/utils/pod/pod_utils.go.
        // It sets these in every pod of a group; before 0.6 there was no LWS_WORKER_INDEX.
        name: "LeaderWorkerSet",
        prefixes: &["LWS_"],
        undocumented: &[Beside(Other, "KUBERNETES_SERVICE_HOST", Both("10.0.0.1"))],
        documented: &[Documented {
            about: "the place of this pod in a LeaderWorkerSet",
            variables: &[
                Shows(Count, "LWS_GROUP_SIZE", Both("2")),
                Shows(Index, "LWS_WORKER_INDEX", Each("0", "1")),
                Shows(First, "LWS_LEADER_ADDRESS", Both("l-0.svc")),
            ],
        }],
        example: Machine(Both("l-0.svc:23456"), None),
        ..ENGINE
    },
    Engine {
        // Volcano: github.com/volcano-sh/volcano, pkg/controllers/job/plugins. Without its pytorch
        // plugin, the host list of its svc plugin names the pods, as long as the job has only one
        // kind of them. Without that, a pod is only told its number, and so is the only one of a
        // job.
        name: VOLCANO,
        prefixes: &["VC_", "VK_TASK_INDEX"],
        kind: Pods {
            begins: "",
            contains: "",
        },
        undocumented: &[
            Beside(Instance, "VC_TASK_INDEX", Each("0", "1")),
            Beside(Other, "VC_TRAIN_NUM", Both("2")),
            Shows(Other, "VC_TRAIN_HOSTS", Both("w-0.svc,w-1.svc")),
        ],
        documented: &[
            Documented {
                about: "the pods of one kind in a Volcano job",
                variables: &[Only(Hosts, "VC_", "_HOSTS")],
            },
            Documented {
                about: "VC_TASK_INDEX of older Volcanos",
                variables: &[Beside(Instance, "VK_TASK_INDEX", Unset)],
            },
        ],
        example: Machine(Both("w-0.svc:23456"), None),
        ..ENGINE
    },
    Engine {
        // Alibaba's PAI-DLC (help.aliyun.com/zh/pai, "General environment variables"), which names
        // its pods `dlc…-master-0` and sets NPROC_PER_NODE to the number of their GPUs.
        name: "PAI-DLC",
        prefixes: &["MASTER_ADDR"],
        kind: Pods {
            begins: "dlc",
            contains: "-master-",
        },
        undocumented: &[
            Shows(Other, "WORLD_SIZE", Both("2")),
            Beside(Other, "RANK", Each("0", "1")),
            Beside(Other, "MASTER_ADDR", Both("dlc1a2b-master-0")),
            Beside(Other, "MASTER_PORT", Both("23456")),
            Beside(Other, "NPROC_PER_NODE", Both("3")),
        ],
        example: Machine(Both("dlc1a2b-master-0:23456"), Some(3)),
        ..ENGINE
    },
    Engine {
        // Kubeflow's PyTorchJob. Where the operator also sets torchrun's PET_* variables, those
        // must agree.
        name: KUBERNETES,
        prefixes: &["KUBERNETES_SERVICE_HOST"],
        kind: Pods {
            begins: "",
            contains: "",
        },
        undocumented: &[
            Shows(Other, "WORLD_SIZE", Both("2")),
            Beside(Other, "RANK", Each("0", "1")),
            Beside(Other, "MASTER_ADDR", Both("job-master-0")),
            Beside(Other, "MASTER_PORT", Both("23456")),
        ],
        documented: &[Documented {
            about: "a pod, where RANK and WORLD_SIZE count machines",
            variables: &[Beside(Other, "KUBERNETES_SERVICE_HOST", Both("10.0.0.1"))],
        }],
        example: Machine(Both("job-master-0:23456"), None),
        ..ENGINE
    },
    Engine {
        name: "MPIJob",
        prefixes: &[
            "K_MPI_JOB_ROLE",
            "OMPI_MCA_orte_default_hostfile",
            "I_MPI_HYDRA_HOST_FILE",
            "HYDRA_HOST_FILE",
        ],
        kind: MpiJob,
        line: "mpirun --map-by ppr:1:node zlaunch … (Open MPI), or mpiexec -ppn 1 zlaunch … (MPICH, Intel MPI)",
        undocumented: &[
            Beside(Other, "KUBERNETES_SERVICE_HOST", Both("10.0.0.1")),
            Shows(File, "OMPI_MCA_orte_default_hostfile", Lines(&["n1", "n2"])),
        ],
        documented: &[Documented {
            about: "a pod of an MPIJob, and the machines on which its `mpirun` starts tasks",
            variables: &[
                Shows(Other, "K_MPI_JOB_ROLE", Each("launcher", "worker")),
                Shows(File, "I_MPI_HYDRA_HOST_FILE", Lines(&["n1", "n2"])),
                Shows(File, "HYDRA_HOST_FILE", Lines(&["n1", "n2"])),
            ],
        }],
        ..ENGINE
    },
    Engine {
        // TorchX: github.com/pytorch/torchx, torchx/schedulers. Its `dist.ddp` starts torchrun,
        // whose variables are then there. Other components get the number of their replica on some
        // schedulers, but not how many there are; all get the host of the first.
        name: "TorchX",
        prefixes: &["TORCHX_RANK0_HOST", "TORCHX_REPLICA_IDX"],
        set_by: &[SLURM, LSF, AWS_BATCH, KUBERNETES, VOLCANO],
        undocumented: &[Shows(Count, "NNODES", Both("2"))],
        documented: &[Documented {
            about: "number of this replica of a TorchX job, with NNODES, and the address of the first",
            variables: &[
                Shows(Index, "TORCHX_REPLICA_IDX", Each("0", "1")),
                Shows(First, "TORCHX_RANK0_HOST", Both("n1")),
            ],
        }],
        example: Machine(Both("n1:23456"), None),
        ..ENGINE
    },
    Engine {
        // Kubernetes' Indexed Job, and JobSet, which is made of such
        // (kubernetes.io/docs/concepts/workloads/controllers/job): the number of this pod is all
        // that they set. How many pods there are, a manifest may say in NNODES.
        name: "Kubernetes (Indexed Job)",
        prefixes: &["JOB_COMPLETION_INDEX"],
        undocumented: &[
            Beside(Other, "MASTER_ADDR", Both("job-0.svc")),
            Beside(Other, "MASTER_PORT", Both("29500")),
            Beside(Other, "KUBERNETES_SERVICE_HOST", Both("10.0.0.1")),
            Shows(Count, "NNODES", Both("2")),
        ],
        documented: &[Documented {
            about: "number of this pod of an Indexed Job or a JobSet, with NNODES",
            variables: &[Beside(Instance, "JOB_COMPLETION_INDEX", Each("0", "1"))],
        }],
        example: Machine(Both("job-0.svc:29500"), None),
        ..ENGINE
    },
    Engine {
        // What PyTorch Lightning documents for machines that somebody else starts
        // (lightning.ai/docs, "General purpose cluster"), and Lightning AI sets.
        name: "Lightning",
        prefixes: &["NUM_NODES"],
        set_by: &[RUNPOD],
        undocumented: &[
            Beside(Other, "MASTER_ADDR", Both("10.0.0.1")),
            Beside(Other, "MASTER_PORT", Both("29500")),
            Beside(Count, "NUM_NODES", Both("2")),
        ],
        documented: &[Documented {
            about: "number of this machine, with NUM_NODES",
            variables: &[Beside(Instance, "NODE_RANK", Each("0", "1"))],
        }],
        example: Machine(Both("10.0.0.1:29500"), None),
        ..ENGINE
    },
    Engine {
        // MPICH's `mpiexec.gforker`: it forks all of its tasks on this machine.
        // The example was seen with MPICH 5.0.2.
        name: MPICH,
        prefixes: &["MPI_UNIVERSE_SIZE"],
        kind: Ranks,
        undocumented: &[
            Shows(Rank, "PMI_RANK", Each("0", "2")),
            Shows(Size, "PMI_SIZE", Both("4")),
        ],
        documented: &[Documented {
            about: "with PMI_RANK alone: MPICH's gforker, all of whose tasks are on this machine",
            variables: &[
                Beside(Mark, "PMI_FD", Both("7")),
                Beside(Mark, "MPI_UNIVERSE_SIZE", Both("4")),
            ],
        }],
        example: Task(Both("127.0.0.1:29500"), Some(4)),
        ..ENGINE
    },
    Engine {
        // An MPI of which only PMI is seen.
        name: PMI,
        prefixes: &["PMI_"],
        kind: RanksWithoutPlace,
        set_by: &[MPICH, MVAPICH, PALS, FLUX, SLURM, ALPS, LSF_JSRUN],
        documented: &[Documented {
            about: "an MPI started this task: refused unless flags say more",
            variables: &[
                Shows(Rank, "PMI_RANK", Each("0", "1")),
                Shows(Size, "PMI_SIZE", Both("2")),
            ],
        }],
        ..ENGINE
    },
    Engine {
        // PRRTE's `prterun` (seen with 3.0) says which rank this is, but neither of how many nor
        // on which machine.
        name: "PMIx",
        prefixes: &["PMIX_"],
        kind: RanksWithoutPlace,
        set_by: &[OPEN_MPI, MPICH, PALS, FLUX, SLURM, LSF_JSRUN, PMI],
        documented: &[Documented {
            about: "number of a task of PMIx: refused unless flags say more",
            variables: &[
                Shows(Rank, "PMIX_RANK", Each("0", "1")),
                Shows(Other, "PMIX_NAMESPACE", Both("prterun-n1-1@1")),
            ],
        }],
        ..ENGINE
    },
];

/// The roles of Vertex AI and TF_CONFIG that train, in the order of their ranks.
pub const TRAINING_ROLES: [&str; 5] = ["workerpool0", "workerpool1", "chief", "master", "worker"];
