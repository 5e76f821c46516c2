//! Nobody trains alone without a word: the example of every engine, with everything that may be left over in a shell, and in
//! front of every form of a command.

use std::collections::BTreeMap;

use serde_json::Value;
use zlaunch::testing::engines::{ENGINES, Engine, Example, Outcome, Variable};

use crate::sandbox::{Run, Sandbox, Share, side_by_side};

/// What earlier launches, notebooks and outer jobs leave in a shell.
const LEFT_OVER: &[(&str, &str)] = &[
    ("nothing", ""),
    (
        "a rank of one",
        "RANK=0 LOCAL_RANK=0 WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=29555",
    ),
    (
        "torchrun's rank of one",
        "RANK=0 LOCAL_RANK=0 WORLD_SIZE=1 LOCAL_WORLD_SIZE=1 GROUP_RANK=0 GROUP_WORLD_SIZE=1 TORCHELASTIC_RUN_ID=none",
    ),
    (
        "torchrun's rank 0 of 4 on one machine",
        "RANK=0 LOCAL_RANK=0 WORLD_SIZE=4 LOCAL_WORLD_SIZE=4 GROUP_RANK=0 GROUP_WORLD_SIZE=1",
    ),
    ("rank 0 of 4", "RANK=0 LOCAL_RANK=0 WORLD_SIZE=4"),
    ("rank 0 of 3", "RANK=0 LOCAL_RANK=0 WORLD_SIZE=3"),
    ("the first machine", "NODE_RANK=0"),
    ("one machine", "NNODES=1"),
    ("one machine of torchrun", "PET_NNODES=1"),
    (
        "a task of Open MPI",
        "OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_LOCAL_SIZE=1 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_LOCAL_RANK=0",
    ),
    (
        "a machine of SkyPilot",
        "SKYPILOT_NUM_NODES=1 SKYPILOT_NODE_RANK=0 SKYPILOT_NODE_IPS=10.0.0.1",
    ),
    (
        "a machine of dstack",
        "DSTACK_NODES_NUM=1 DSTACK_NODE_RANK=0 DSTACK_MASTER_NODE_IP=10.0.0.1",
    ),
    (
        "a task of submitit",
        "SUBMITIT_LOCAL_NTASKS=1 SUBMITIT_LOCAL_GLOBALID=0 SUBMITIT_LOCAL_LOCALID=0 SUBMITIT_LOCAL_JOB_ID=7",
    ),
    (
        "a job of Slurm on one machine",
        "SLURM_JOB_ID=9 SLURM_JOB_NUM_NODES=1 SLURM_NNODES=1 SLURM_NODEID=0",
    ),
];

/// What may be behind zlaunch. Those in the second list say one machine, or zlaunch does not know them: then a warning will do.
const COMMANDS: &[&str] = &[
    "python x.py",
    "swift sft --model m --dataset d",
    "torchrun --nproc_per_node 2 x.py",
    "torchrun --standalone x.py",
    "python -m torch.distributed.run x.py",
    "deepspeed --num_gpus 2 x.py",
    "accelerate launch --num_processes 2 x.py",
    "accelerate launch --config_file one.yaml x.py",
    "env A=1 torchrun x.py",
];
const WARNED: &[&str] = &[
    "torchrun --nnodes 1 x.py",
    "torchrun --nnodes 1:2 --rdzv_backend c10d x.py",
    "torchrun --standalone --nnodes 1:2 x.py",
    "accelerate launch --num_machines 1 --num_processes 2 x.py",
    "bash run.sh",
    "mpirun -n 2 python x.py",
];

struct Job {
    engine: &'static Engine,
    machine: usize,
    variables: BTreeMap<String, String>,
}

fn jobs(sandbox: &Sandbox) -> Vec<Job> {
    let value = |value: Example, machine: usize| match value {
        Example::Unset => String::new(),
        Example::Both(value) => value.to_string(),
        Example::Each(first, second) => [first, second][machine].to_string(),
        Example::Lines(lines) => {
            let name = lines
                .join("_")
                .replace(|c: char| !c.is_ascii_alphanumeric(), "_");
            let file = sandbox.file(&format!("machines-{name}"), lines.join("\n"));
            file.display().to_string()
        }
    };
    // Those of which all tasks are on one machine are not asked.
    let several = ENGINES.iter().filter(|engine| {
        !matches!(engine.example, Outcome::Task(Example::Both(at), _) if at.starts_with("127.0.0.1:"))
    });
    let jobs = several.flat_map(|engine| [0, 1].map(|machine| (engine, machine)));
    jobs.map(|(engine, machine)| {
        let set = engine.variables().filter_map(|variable| match variable {
            Variable::Shows(_, name, set) | Variable::Beside(_, name, set) => {
                Some((name.to_string(), value(*set, machine)))
            }
            Variable::Only(..) | Variable::InFile(..) => None,
        });
        Job {
            engine,
            machine,
            variables: set.filter(|(_, value)| !value.is_empty()).collect(),
        }
    })
    .collect()
}

fn left_over(variables: &str) -> impl Iterator<Item = (String, String)> {
    variables
        .split_whitespace()
        .filter_map(|set| set.split_once('='))
        .map(|(name, value)| (name.into(), value.into()))
}

/// In its place as the engine says, started through srun, or the first rank of a job that has the same number of ranks.
fn is_placed(plan: &Value, job: &Job) -> bool {
    let machine = job.machine;
    let topology = &plan["topology"];
    let set = |name: &str| plan["env"]["set"][name].as_str();
    plan["launcher"] == "srun"
        || topology["nnodes"] == 2 && topology["node_rank"] == machine
        || set("WORLD_SIZE") == Some("4") && set("RANK") == Some(if machine == 0 { "0" } else { "2" })
        // PMIx numbers the ranks, but does not count them.
        || plan["launcher"] == "direct" && machine == 0 && (topology["world_size"] == 4 || job.engine.name == "PMIx")
}

fn is_warned(run: &Run) -> bool {
    ["contradicts-scheduler", "not-understood"]
        .iter()
        .any(|rule| run.stderr.contains(&format!("warning[{rule}]")))
}

/// Alone none of the commands is refused, so that what refuses them in a job is the job.
#[test]
fn without_a_job_every_command_is_planned() {
    let sandbox = sandbox();
    for command in COMMANDS.iter().chain(WARNED) {
        let words = ["-n", "--format", "json", "--"]
            .into_iter()
            .chain(command.split(' '));
        let run = sandbox.answer_with(words, &BTreeMap::new());
        assert!(
            run.status == Some(0) && !run.stderr.contains("contradicts-scheduler"),
            "{command}: {run:?}"
        );
    }
}

fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.var("CUDA_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7");
    sandbox.program("srun");
    sandbox.file(
        "one.yaml",
        "compute_environment: LOCAL_MACHINE\nnum_machines: 1\nnum_processes: 2\nmachine_rank: 0\n",
    );
    sandbox.executable("cwd/run.sh", "#!/bin/sh\n");
    sandbox
}

fn check(
    sandbox: &Sandbox,
    job: &Job,
    (what, more): (&str, &str),
    command: &str,
    may_be_warned: bool,
) -> bool {
    let mut variables = job.variables.clone();
    let more: Vec<_> = left_over(more).collect();
    // These set the variables of PMIx themselves. A variable of the job is not left over.
    if job.engine.name == "PMIx"
        && ["a task of Open MPI", "a job of Slurm on one machine"].contains(&what)
    {
        return false;
    }
    if more
        .iter()
        .any(|(name, _)| variables.contains_key(name) && !name.starts_with("MASTER_"))
    {
        return false;
    }
    for (name, value) in more {
        variables.entry(name).or_insert(value);
    }
    let words = ["-n", "--format", "json", "--"]
        .into_iter()
        .chain(command.split(' '));
    let run = sandbox.answer_with(words, &variables);
    let is_told = run.status != Some(0) || may_be_warned && is_warned(&run);
    let (name, machine) = (job.engine.name, job.machine);
    assert!(
        is_told || is_placed(&run.json(), job),
        "machine {machine} of {name} is alone or in the wrong place, with {what} left over: {command}\n{variables:?}\n{run:?}"
    );
    true
}

/// Whatever its words and files say: each task of a machine would start it.
#[test]
fn a_launcher_is_not_started_by_several_tasks_without_a_word() {
    let mut sandbox = sandbox();
    sandbox.vars(&[
        ("OMPI_COMM_WORLD_SIZE", "4"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "2"),
        ("MASTER_ADDR", "n1"),
    ]);
    sandbox.vars(&[
        ("OMPI_COMM_WORLD_RANK", "1"),
        ("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
    ]);
    sandbox.file(
        "two.yaml",
        "num_machines: 2\nnum_processes: 4\nmachine_rank: 0\nmain_process_ip: n1\n",
    );
    sandbox.file("hosts", "n1 slots=2\nn2 slots=2\n");
    for (command, status) in [
        ("torchrun --nnodes 2 --node_rank 0 --master_addr n1 x.py", 0),
        (
            "torchrun --nnodes 1:2 --rdzv_backend c10d --rdzv_endpoint n1:29400 x.py",
            0,
        ),
        ("deepspeed --hostfile hosts x.py", 0),
        ("accelerate launch --config_file two.yaml x.py", 125),
    ] {
        let run = sandbox.answer(
            ["-n", "--format", "json", "--"]
                .into_iter()
                .chain(command.split(' ')),
        );
        let told = "Open MPI says rank 1 of 4, and each of them starts this launcher";
        assert!(
            run.status == Some(status) && run.stderr.contains(told),
            "{command}: {run:?}"
        );
    }
}

/// The launch has it so, because a flag is passed on to the launcher.
#[test]
fn our_flags_come_before_a_file_of_the_launcher() {
    let place = [
        "--nnodes",
        "2",
        "--node-rank",
        "1",
        "--master-addr",
        "n1",
        "--master-port",
        "29500",
    ];
    let plan = sandbox().plan(
        &place,
        &["accelerate", "launch", "--config_file", "one.yaml", "x.py"],
    );
    assert_eq!(
        (&plan["topology"]["nnodes"], &plan["topology"]["node_rank"]),
        (&2.into(), &1.into()),
        "{plan}"
    );
}

side_by_side!(what_is_left_over_does_not_hide_a_job every_command_is_told_of_the_job);

fn what_is_left_over_does_not_hide_a_job(share: &Share) {
    let sandbox = sandbox();
    let mut tried = 0;
    for job in share.of(jobs(&sandbox)) {
        for row in LEFT_OVER {
            tried += usize::from(check(&sandbox, &job, *row, "python x.py", false));
        }
    }
    assert!(tried > 300, "{tried}");
}

fn every_command_is_told_of_the_job(share: &Share) {
    let sandbox = sandbox();
    let mut tried = 0;
    for job in share.of(jobs(&sandbox).into_iter().filter(|job| job.machine == 1)) {
        for row in LEFT_OVER.iter().step_by(7) {
            for (command, may_be_warned) in COMMANDS
                .iter()
                .map(|it| (it, false))
                .chain(WARNED.iter().map(|it| (it, true)))
            {
                tried += usize::from(check(&sandbox, &job, *row, command, may_be_warned));
            }
        }
    }
    assert!(tried > 300, "{tried}");
}
