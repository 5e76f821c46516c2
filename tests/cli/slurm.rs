//! Environments of real Slurm tasks (recorded by `tools/record slurm`), each through a dry run. What must come
//! out is derived from all tasks of a step together: who really ran where, with which GPUs.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::sandbox::{Run, SWIFT, Sandbox, Share, argv, side_by_side};

struct Recorded {
    name: String,
    step: String,
    place: String,
    host: String,
    env: BTreeMap<String, String>,
}

const PLAN: &[&str] = &[
    "-n",
    "--format",
    "json",
    "--deepspeed",
    "zero3",
    "--set",
    "steps_per_print=7",
    "--",
];

impl Recorded {
    fn number(&self, name: &str) -> Option<u64> {
        self.env.get(name)?.parse().ok()
    }

    fn machines_of_job(&self) -> Option<u64> {
        let groups = self.number("SLURM_HET_SIZE").unwrap_or(0);
        let machines = |group| self.number(&format!("SLURM_JOB_NUM_NODES_HET_GROUP_{group}"));
        let all: Option<u64> = (0..groups).map(machines).sum();
        all.filter(|all| *all > 0)
            .or_else(|| self.number("SLURM_JOB_NUM_NODES"))
    }

    /// What this task can use: the devices it was given, else those of its step on the machine.
    fn gpus(&self) -> Option<u64> {
        match self.env.get("CUDA_VISIBLE_DEVICES") {
            Some(list) => Some(list.split(',').count() as u64),
            None => self.number("SLURM_GPUS_ON_NODE"),
        }
    }

    fn plan(&self, sandbox: &Sandbox) -> Run {
        sandbox.answer_with(PLAN.iter().chain(SWIFT), &self.env)
    }
}

fn recorded() -> Vec<Recorded> {
    let text = include_str!("../data/slurm-env.jsonl");
    let read = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| value[name].as_str().unwrap().to_string();
        let variables = value["env"].as_object().unwrap().iter();
        Recorded {
            name: text("name"),
            step: text("step"),
            place: text("where"),
            host: text("host"),
            env: variables
                .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_string()))
                .collect(),
        }
    };
    text.lines().map(read).collect()
}

fn steps(recorded: &[Recorded]) -> BTreeMap<&str, Vec<&Recorded>> {
    let mut steps: BTreeMap<&str, Vec<&Recorded>> = BTreeMap::new();
    for task in recorded.iter().filter(|task| task.place == "step") {
        steps.entry(&task.step).or_default().push(task);
    }
    steps
}

side_by_side!(every_task_of_a_step_finds_its_place);

fn every_task_of_a_step_finds_its_place(share: &Share) {
    let sandbox = &Sandbox::new();
    let recorded = recorded();
    let steps = steps(&recorded);
    assert!(steps.len() > 100 && steps.values().map(Vec::len).sum::<usize>() > 378);
    for (step, tasks) in share.of(steps) {
        let mut on_host: BTreeMap<&str, u64> = BTreeMap::new();
        for task in &tasks {
            *on_host.entry(&task.host).or_default() += 1;
        }
        let counts: BTreeSet<u64> = on_host.values().copied().collect();
        if counts.len() > 1 {
            for task in tasks {
                task.plan(sandbox).refused(&["--ntasks-per-node"]);
            }
        } else if counts.contains(&1) {
            one_task_per_machine(sandbox, step, &tasks, on_host.len() as u64);
        } else {
            one_task_per_rank(sandbox, step, &tasks, on_host.len() as u64);
        }
    }
}

fn first_host<'a>(tasks: &[&'a Recorded]) -> &'a str {
    &tasks
        .iter()
        .find(|task| task.number("SLURM_NODEID") == Some(0))
        .unwrap()
        .host
}

fn one_task_per_machine(sandbox: &Sandbox, step: &str, tasks: &[&Recorded], machines: u64) {
    let mut gpus: BTreeSet<u64> = BTreeSet::new();
    let mut ports: BTreeSet<u64> = BTreeSet::new();
    let mut ranks: BTreeSet<u64> = BTreeSet::new();
    let mut worlds: BTreeSet<Option<u64>> = BTreeSet::new();
    for task in tasks {
        if machines == 1 && task.machines_of_job() > Some(1) {
            task.plan(sandbox)
                .refused(&["one shell of the Slurm job", "--nnodes 1"]);
            continue;
        }
        let Some(here) = task.gpus() else {
            task.plan(sandbox).refused(&["--nproc-per-node"]);
            continue;
        };
        let plan = task.plan(sandbox).json();
        let topology = &plan["topology"];
        assert_eq!(topology["nnodes"], machines, "{}", task.name);
        assert_eq!(topology["nproc_per_node"], here, "{}", task.name);
        assert_eq!(topology["master_addr"], first_host(tasks), "{}", task.name);
        assert_eq!(
            plan["launcher"],
            if machines * here == 1 {
                "direct"
            } else {
                "torchrun"
            },
            "{}",
            task.name
        );
        gpus.insert(here);
        ranks.insert(topology["node_rank"].as_u64().unwrap());
        ports.extend(topology["master_port"].as_u64());
        worlds.insert(topology["world_size"].as_u64());
    }
    if gpus.is_empty() {
        return;
    }
    assert_eq!(ranks, (0..machines).collect(), "{step}: every machine once");
    assert_eq!(ports.len(), usize::from(machines > 1), "{step}: one port");
    // Slurm 22.05 tells a task nothing of a `--gpus` given to a plain srun, so machines with 4 and 2 look alike there.
    if step.starts_with("22.05.8:10-unequal-alike-cpus.") {
        return;
    }
    // The product may be given up where it holds, never said where it does not.
    let product = (gpus.len() == 1).then(|| machines * gpus.first().unwrap());
    assert!(
        worlds
            .iter()
            .all(|world| world.is_none() || *world == product),
        "{step}: {worlds:?}"
    );
    let heterogeneous = tasks[0].number("SLURM_HET_SIZE").is_some();
    assert!(
        heterogeneous || product.is_none() || worlds.contains(&product),
        "{step}: {worlds:?}"
    );
}

fn one_task_per_rank(sandbox: &Sandbox, step: &str, tasks: &[&Recorded], machines: u64) {
    let mut ranks: BTreeMap<u64, &str> = BTreeMap::new();
    let mut meeting: BTreeSet<(String, String)> = BTreeSet::new();
    for task in tasks {
        if machines == 1 && task.machines_of_job() > Some(1) {
            task.plan(sandbox)
                .refused(&["one shell of the Slurm job", "--nnodes 1"]);
            continue;
        }
        let plan = task.plan(sandbox).json();
        assert_eq!(plan["launcher"], "direct", "{}", task.name);
        let set = |name: &str| plan["env"]["set"][name].as_str().unwrap().to_string();
        assert_eq!(set("WORLD_SIZE"), tasks.len().to_string(), "{}", task.name);
        let bound = task.gpus() == Some(1);
        let local = if bound {
            Some(0)
        } else {
            task.number("SLURM_LOCALID")
        };
        assert_eq!(set("LOCAL_RANK").parse().ok(), local, "{}", task.name);
        assert!(
            ranks
                .insert(set("RANK").parse().unwrap(), &task.host)
                .is_none(),
            "{}: a rank twice",
            task.name
        );
        meeting.insert((set("MASTER_ADDR"), set("MASTER_PORT")));
    }
    if ranks.is_empty() {
        return;
    }
    assert!(ranks.keys().copied().eq(0..tasks.len() as u64), "{step}");
    assert_eq!(meeting.len(), 1, "{step}: {meeting:?}");
    let address = &meeting.first().unwrap().0;
    // Whoever is rank 0 must be where the others look for it.
    assert_eq!(
        address,
        if machines == 1 {
            "127.0.0.1"
        } else {
            ranks[&0]
        },
        "{step}"
    );
}

#[test]
fn steps_at_once_and_requeued_jobs_have_other_ports() {
    let sandbox = &Sandbox::new();
    let mut ports: BTreeMap<[Option<String>; 3], u64> = BTreeMap::new();
    let wanted = ["11-requeue", "29-two-steps"];
    for task in recorded().iter().filter(|task| {
        wanted.iter().any(|name| task.name.starts_with(name)) && task.place == "step"
    }) {
        let identity = ["SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT"]
            .map(|name| task.env.get(name).cloned());
        let port = task.plan(sandbox).json()["topology"]["master_port"]
            .as_u64()
            .unwrap();
        assert!((20_000..32_768).contains(&port));
        assert_eq!(
            *ports.entry(identity).or_insert(port),
            port,
            "{}",
            task.name
        );
    }
    let distinct: BTreeSet<&u64> = ports.values().collect();
    assert!(
        ports.len() >= 5 && distinct.len() == ports.len(),
        "{ports:?}"
    );
}

#[test]
fn a_shell_on_several_machines_goes_through_srun() {
    let sandbox = &Sandbox::new();
    sandbox.program("srun");
    for task in recorded().iter().filter(|task| task.place != "step") {
        let machines = task.number("SLURM_HET_SIZE").map_or_else(
            || task.number("SLURM_JOB_NUM_NODES").unwrap(),
            |groups| {
                (0..groups)
                    .map(|group| {
                        task.number(&format!("SLURM_JOB_NUM_NODES_HET_GROUP_{group}"))
                            .unwrap()
                    })
                    .sum()
            },
        );
        // By its own process, because the path of the program is in the plan.
        let plan = Run::of(sandbox.command(PLAN.iter().chain(SWIFT)).envs(&task.env));
        let on_a_machine = task.env.contains_key("SLURM_NODEID");
        if machines == 1 && on_a_machine {
            let known = task.gpus().is_some();
            assert_eq!(
                plan.status == Some(0),
                known,
                "{}: {}",
                task.name,
                plan.stderr
            );
            continue;
        }
        let plan = plan.json();
        assert_eq!(plan["launcher"], "srun", "{}", task.name);
        assert_eq!(plan["topology"]["nnodes"], machines, "{}", task.name);
        let argv = argv(&plan);
        let at = argv
            .iter()
            .position(|word| word.ends_with("/zlaunch"))
            .unwrap();
        assert_eq!(
            argv[at + 1..at + 6],
            ["--deepspeed", "zero3", "--set", "steps_per_print=7", "--"],
            "{}",
            task.name
        );
        assert_eq!(argv[at + 6..], *SWIFT, "{}", task.name);
        let flags = argv[1..at]
            .iter()
            .filter(|flag| !flag.starts_with("--g"))
            .cloned()
            .collect::<Vec<_>>()
            .join(" ");
        let spread = match task.number("SLURM_HET_SIZE") {
            Some(groups) => format!("--het-group=0-{}", groups - 1),
            None => format!("--nodes={machines} --ntasks={machines}"),
        };
        assert_eq!(
            flags,
            format!("{spread} --ntasks-per-node=1 --kill-on-bad-exit=1 --export=ALL"),
            "{}",
            task.name
        );
    }
}
