//! Never alone by accident: every subset of each engine's variables, with values that make no sense among them, is placed
//! rightly or refused; and what one machine alone finds in its environment is not refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use zlaunch::testing::engines::{ENGINES, Engine, Example, Kind, Outcome, Role, Variable};
use zlaunch::testing::source::Sourced;
use zlaunch::testing::topology::engine::port_of_job;
use zlaunch::testing::topology::{HostFlags, RankFlags, Topology};
use zlaunch::testing::{Host, Problem, Source, bytes, topology, vars};

/// Other forms of jobs than the examples of the engines, and what one machine alone finds.
const OTHERS: &str = include_str!("../data/engines.txt");

/// What one machine finds, on many platforms.
const ONE_MACHINE: &str = include_str!("../data/one_machine.txt");

/// Values that no engine sets. Only the first two are no list.
const ABSURD: [&str; 6] = ["", " ", "x", "-1", "1.5", "99999999999"];

pub(crate) struct Environment {
    pub(crate) name: &'static str,
    /// `placed`, `rank`, `srun`, `refused` or `alone`.
    pub(crate) expected: &'static str,
    /// Where the ranks meet, and how many are on each machine if a variable counts them, for both. `None`: not of interest.
    place: Option<[String; 2]>,
    variables: Vec<Setting>,
}

struct Setting {
    /// It says something of a larger job.
    shows_a_job: bool,
    name: &'static str,
    /// On both machines.
    values: [String; 2],
}

impl Environment {
    fn of_engine(engine: &'static Engine, folder: &Path) -> Self {
        let place = |at: Example, ranks: Option<u32>| {
            let ranks = ranks.map(|ranks| format!(", {ranks} a machine"));
            let ranks = ranks.unwrap_or_default();
            values(at, folder).map(|at| at.map(|at| at + &ranks))
        };
        let (expected, place) = match engine.example {
            Outcome::Refused => ("refused", None),
            Outcome::Machine(at, ranks) => ("placed", place(at, ranks)),
            Outcome::Task(at, ranks) => ("rank", place(at, ranks)),
        };
        let variables = engine.variables().filter_map(|variable| {
            let (name, value) = set(variable)?;
            Some(Setting {
                shows_a_job: matches!(variable, Variable::Shows(..)),
                name,
                values: values(value, folder)?,
            })
        });
        Environment {
            name: engine.name,
            expected,
            place,
            variables: variables.collect(),
        }
    }

    /// `NAME: ANSWER (REMARK)`, then a line `NAME=VALUE` for each variable. `|` divides machine 0 from machine 1, and `@` begins
    /// the words of a file, one a line. `?` before the name: by itself it does not show a larger job.
    fn of_text(text: &'static str, folder: &Path) -> Self {
        let (head, body) = text.split_once('\n').unwrap();
        let (name, answer) = head.split_once(": ").unwrap();
        let answer = answer.split(" (").next().unwrap();
        let (expected, place) = match answer.split_once(" at ") {
            Some((expected, place)) => (expected, Some(place)),
            None => (answer, None),
        };
        let both = |value: &str| {
            let (first, second) = value.split_once('|').unwrap_or((value, value));
            [first, second].map(|value| match value.strip_prefix('@') {
                Some(words) => file(&words.split(' ').collect::<Vec<_>>(), folder),
                None => value.to_string(),
            })
        };
        let lines = body.lines().filter(|line| !line.is_empty());
        let variables = lines.map(|line| {
            let (name, value) = line.split_once('=').unwrap();
            Setting {
                shows_a_job: !name.starts_with('?'),
                name: name.trim_start_matches('?'),
                values: both(value),
            }
        });
        Environment {
            name,
            expected,
            place: place.map(both),
            variables: variables.collect(),
        }
    }

    /// What one of the machines finds.
    pub(crate) fn on(&self, machine: usize) -> BTreeMap<&str, &str> {
        let set = self.variables.iter();
        set.map(|it| (it.name, it.values[machine].as_str()))
            .collect()
    }
}

pub(crate) fn environments(folder: &Path) -> Vec<Environment> {
    let engines = ENGINES
        .iter()
        .map(|engine| Environment::of_engine(engine, folder));
    let others = blocks(OTHERS).map(|text| Environment::of_text(text, folder));
    engines.chain(others).collect()
}

/// The parts of a text that begin with `= `.
fn blocks(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split("\n= ").skip(1)
}

/// The name and the value of a variable that the example may set.
fn set(variable: &Variable) -> Option<(&'static str, Example)> {
    match variable {
        Variable::Shows(_, name, value) | Variable::Beside(_, name, value) => Some((*name, *value)),
        Variable::Only(..) | Variable::InFile(..) => None,
    }
}

/// On both machines; `None` if it is not set.
fn values(value: Example, folder: &Path) -> Option<[String; 2]> {
    match value {
        Example::Unset => None,
        Example::Both(value) => Some([value, value].map(str::to_string)),
        Example::Each(first, second) => Some([first, second].map(str::to_string)),
        Example::Lines(lines) => Some([file(lines, folder), file(lines, folder)]),
    }
}

/// The path of a file with these lines.
fn file(lines: &[&str], folder: &Path) -> String {
    let text = lines.join("\n");
    let file: PathBuf = folder.join(format!("{:x}", bytes::fnv1a(text.as_bytes())));
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

/// What is decided on a machine with these variables.
fn decide(machine: usize, variables: &BTreeMap<&str, &str>) -> Result<Topology, Vec<Problem>> {
    let env = variables
        .iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    let host = Host {
        env,
        hostname: format!("n{}", machine + 1),
        cpus: 8,
        nvidia_gpus: Some(8),
        ..Host::default()
    };
    Topology::decide(&RankFlags::default(), &HostFlags::default(), true, &host)
}

/// Whether it is this machine of the two.
fn is_placed(topology: &Topology, machine: usize) -> bool {
    let machine = u32::try_from(machine).unwrap();
    match &topology.role {
        // It starts on both.
        topology::Role::Shell { .. } => true,
        topology::Role::Task(task) => task.world_size.value == 4 && task.rank.value == 2 * machine,
        topology::Role::Rank { first } => {
            topology.world_size.as_ref().is_some_and(|it| it.value > 1) && *first == (machine == 0)
        }
        topology::Role::Starter => {
            let are_two = topology
                .nnodes
                .as_ref()
                .is_some_and(|nnodes| nnodes.value == 2);
            let address = topology.master_addr.as_ref();
            let is_elsewhere = address.is_some_and(|it| !topology::is_loopback(&it.value));
            let meets = is_elsewhere && topology.master_port.is_some();
            meets && are_two && topology.node_rank.value == machine
        }
    }
}

fn check(
    environment: &Environment,
    machine: usize,
    present: &[usize],
    absurd: Option<(usize, &str)>,
) {
    let mut variables = BTreeMap::new();
    let mut says_more = false;
    for at in present {
        let set = &environment.variables[*at];
        let value = absurd
            .filter(|(absurd, _)| absurd == at)
            .map_or(set.values[machine].as_str(), |(_, value)| value);
        variables.insert(set.name, value);
        says_more |= set.shows_a_job && !value.is_empty();
    }
    match decide(machine, &variables) {
        Err(problems) => {
            assert!(
                problems
                    .iter()
                    .all(|it| !it.help().is_empty() && !it.what.is_empty()),
                "{variables:?}"
            );
        }
        Ok(topology) => assert!(
            !says_more || is_placed(&topology, machine),
            "{}: machine {machine} is alone with {variables:?}: {topology:?}",
            environment.name
        ),
    }
}

#[test]
fn no_part_of_a_job_trains_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (mut seen, mut absurd) = (0, 0);
    for environment in environments(folder.path())
        .iter()
        .filter(|it| it.expected != "alone")
    {
        let count = u32::try_from(environment.variables.len()).unwrap();
        // Of many variables, few of them together, or nearly all.
        let is_tried =
            |few: u32, subset: u32| !(few + 1..count.max(1) - 1).contains(&subset.count_ones());
        for subset in (0_u32..1 << count).filter(|subset| count < 7 || is_tried(3, *subset)) {
            let present: Vec<usize> = (0..environment.variables.len())
                .filter(|at| subset & (1 << at) != 0)
                .collect();
            for machine in [0, 1] {
                check(environment, machine, &present, None);
                seen += 1;
                // One value that makes no sense, beside one that does or nearly all of them. Each of these in its turn.
                for at in present.iter().filter(|_| is_tried(2, subset)) {
                    absurd += 1;
                    // A list of one machine makes sense.
                    let lists =
                        environment.variables[*at].values[machine].contains([',', ';', ' ', '\n']);
                    let value = ABSURD[absurd % if lists { 2 } else { ABSURD.len() }];
                    check(environment, machine, &present, Some((*at, value)));
                }
            }
        }
    }
    assert!(seen > 4_000, "{seen}");
}

#[test]
fn whole_environments_are_as_expected() {
    let folder = tempfile::tempdir().unwrap();
    for environment in environments(folder.path()) {
        for machine in [0, 1] {
            let mut variables = environment.on(machine);
            variables.retain(|_, value| !value.is_empty());
            let decided = decide(machine, &variables);
            let found = match &decided {
                Err(_) => "refused",
                Ok(topology) if matches!(topology.role, topology::Role::Shell { .. }) => "srun",
                Ok(topology) if !is_placed(topology, machine) => "alone",
                Ok(topology) if matches!(topology.role, topology::Role::Task(_)) => "rank",
                Ok(_) => "placed",
            };
            assert_eq!(
                found, environment.expected,
                "{}, machine {machine}: {decided:?}",
                environment.name
            );
            if let (Some(place), Ok(topology)) = (&environment.place, &decided) {
                assert_eq!(
                    place_of(topology),
                    place[machine],
                    "{}, machine {machine}: {decided:?}",
                    environment.name
                );
            }
        }
    }
}

/// Without these, a step says that it has one machine, and ranks look like pods.
pub(crate) const ESSENTIAL: [(&str, &str); 3] = [
    ("Slurm, a step on each machine", "SLURM_JOB_NUM_NODES"),
    ("ClearML", "CLEARML_MULTI_NODE_SINGLE_TASK"),
    ("ClearML", "CUDA_VISIBLE_DEVICES"),
];

/// One engine in the job of another, whichever starts which, and with any one of the variables lost on the way.
#[test]
fn no_part_of_two_jobs_trains_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut jobs = environments(folder.path());
    jobs.retain(|it| it.expected != "alone");
    let mut seen = 0;
    for (at, one) in jobs.iter().enumerate() {
        for (two, machine) in jobs[at + 1..].iter().flat_map(|two| [(two, 0), (two, 1)]) {
            let mut both = one.on(machine);
            let more = two.on(machine);
            if is_set_otherwise(&both, &more) {
                continue;
            }
            both.extend(more);
            let names: Vec<&str> = both.keys().copied().collect();
            // Of each pair another quarter is lost in its turn.
            for lost in [""]
                .into_iter()
                .chain(names.into_iter().skip(seen % 4).step_by(4))
            {
                let mut variables = both.clone();
                variables.remove(lost);
                let is_essential = [one, two]
                    .iter()
                    .any(|job| ESSENTIAL.contains(&(job.name, lost)));
                let decided = decide(machine, &variables);
                assert!(
                    is_essential || decided.is_err() || is_placed(&decided.unwrap(), machine),
                    "machine {machine} of {} and {}: {variables:?}",
                    one.name,
                    two.name
                );
                seen += 1;
            }
        }
    }
    assert!(seen > 20_000, "{seen}");
}

/// Where Azure ML starts one process an instance, that one starts the ranks of its machine.
#[test]
fn a_process_of_azure_ml_on_each_machine_is_no_rank() {
    let folder = tempfile::tempdir().unwrap();
    let name = "Azure ML, a process on each machine";
    let environment = environments(folder.path())
        .into_iter()
        .find(|it| it.name == name)
        .unwrap();
    for machine in [0, 1] {
        let topology = decide(machine, &environment.on(machine)).unwrap();
        assert!(
            matches!(topology.role, topology::Role::Starter),
            "{:?}",
            topology.role
        );
    }
}

#[test]
fn one_machine_is_never_refused() {
    let folder = tempfile::tempdir().unwrap();
    let environments = of_one_machine(folder.path());
    assert!(environments.len() >= 140, "{}", environments.len());
    for environment in environments {
        let decided = decide(0, &environment.on(0));
        let is_whole = |topology: &Topology| {
            topology.nproc_per_node.is_some()
                || matches!(topology.role, topology::Role::Rank { .. })
        };
        let is_alone = decided
            .as_ref()
            .is_ok_and(|topology| !topology.has_several_nodes() && is_whole(topology));
        assert!(is_alone, "{}: {decided:?}", environment.name);
    }
}

pub(crate) fn of_one_machine(folder: &Path) -> Vec<Environment> {
    blocks(ONE_MACHINE)
        .chain(blocks(OTHERS))
        .map(|text| Environment::of_text(text, folder))
        .filter(|environment| environment.expected == "alone")
        .collect()
}

/// An address elsewhere and a count of 2: beside something else they leave a doubt.
pub(crate) const DOUBTFUL: [&str; 4] = [
    "an address without anything else",
    "an address of its own",
    "somebody's NUM_NODES",
    "a ClearML agent",
];

/// What one machine finds of two platforms at once.
#[test]
fn one_machine_of_two_platforms_is_never_refused() {
    let folder = tempfile::tempdir().unwrap();
    let environments: Vec<_> = blocks(ONE_MACHINE)
        .map(|text| Environment::of_text(text, folder.path()))
        .filter(|it| it.expected == "alone" && !DOUBTFUL.contains(&it.name))
        .collect();
    let mut seen = 0;
    for (at, one) in environments.iter().enumerate() {
        for two in &environments[at + 1..] {
            let mut both = one.on(0);
            let more = two.on(0);
            if is_set_otherwise(&both, &more) {
                continue;
            }
            both.extend(more);
            let decided = decide(0, &both);
            assert!(
                decided.as_ref().is_ok_and(|it| !it.has_several_nodes()),
                "{} and {}: {decided:?}",
                one.name,
                two.name
            );
            seen += 1;
        }
    }
    assert!(seen > 8_000, "{seen}");
}

/// True if both set a variable, but not to the same value.
pub(crate) fn is_set_otherwise(one: &BTreeMap<&str, &str>, two: &BTreeMap<&str, &str>) -> bool {
    two.iter()
        .any(|(name, value)| one.get(name).is_some_and(|set| set != value))
}

/// A tool that no row knows is seen by how it calls its numbers.
#[test]
fn what_another_tool_counts_is_refused_by_its_name() {
    for (count, index) in [
        ("ACME_NUM_NODES", "ACME_NODE_RANK"),
        ("ACME_NNODES", "ACME_NODEID"),
        ("FOOBAR_NODE_COUNT", "FOOBAR_NODE_INDEX"),
        ("X1_CLUSTER_NUM_WORKERS", "X1_CLUSTER_WORKER_INDEX"),
        ("ZORP_JOBS_COUNT", "ZORP_JOB_IDX"),
        ("GRID_WORLD_SIZE", "GRID_RANK"),
        ("FOO_NODES", "FOO_NODE_RANK"),
        ("FOO_REPLICA_COUNT", "FOO_REPLICA_RANK"),
        ("NUM_MACHINES", "MACHINE_RANK"),
        ("N_NODES", "NODE_INDEX"),
        ("RANK_SIZE", "RANK_ID"),
        ("NUM_NODES", "NODE_ID"),
        ("NUM_HOSTS", "HOST_ID"),
        ("HOST_COUNT", "HOST_RANK"),
        ("MACHINE_COUNT", "MACHINE_ID"),
    ] {
        for (machines, place, is_refused) in [
            ("2", "1", true),
            ("2", "0", true),
            ("1", "0", false),
            ("2", "x", false),
        ] {
            let decided = decide(0, &BTreeMap::from([(count, machines), (index, place)]));
            assert_eq!(
                decided.is_err(),
                is_refused,
                "{count}={machines} {index}={place}"
            );
            let told: String = decided
                .err()
                .iter()
                .flatten()
                .map(|it| format!("{it:?} {}\n", it.help()))
                .collect();
            assert!(
                !is_refused
                    || [count, index, "--nnodes 1"]
                        .iter()
                        .all(|word| told.contains(word)),
                "{told}"
            );
        }
        assert!(
            decide(0, &BTreeMap::from([(count, "2")])).is_ok(),
            "{count} alone"
        );
    }
    // What is to meet others at an address is not alone.
    for (sign, place) in [
        ("NUM_NODES", "2"),
        ("JOB_COMPLETION_INDEX", "0"),
        ("NOMAD_ALLOC_INDEX", "0"),
    ] {
        assert!(
            decide(
                0,
                &BTreeMap::from([(sign, place), ("MASTER_ADDR", "job-0.svc")])
            )
            .is_err(),
            "{sign}"
        );
        assert!(
            decide(
                0,
                &BTreeMap::from([(sign, place), ("MASTER_ADDR", "127.0.0.1")])
            )
            .is_ok(),
            "{sign}"
        );
    }
    assert!(decide(0, &BTreeMap::from([("SM_HOST_COUNT", "2")])).is_err());
    // Beside a variable that zlaunch reads, it is a contradiction.
    let told = decide(
        0,
        &BTreeMap::from([("NUM_NODES", "2"), ("NODE_ID", "1"), ("NNODES", "1")]),
    )
    .unwrap_err();
    assert_eq!(
        told[0].what,
        "NNODES says one machine, but another tool says part of a larger job"
    );
}

/// `A=1 B=2`.
fn written(variables: &'static str) -> BTreeMap<&'static str, &'static str> {
    let set = variables.split_whitespace();
    set.map(|set| set.split_once('=').unwrap()).collect()
}

const SLURM_STEP: &str = "SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_STEP_NUM_NODES=2 SLURM_STEP_NODELIST=n[1-2] \
    SLURM_STEP_TASKS_PER_NODE=1(x2) SLURM_NODEID=0 SLURM_PROCID=0 SLURM_LOCALID=0";

/// Two pieces of evidence: what is said where they contradict each other, and which one is to be unset. Nothing is said of
/// two that agree.
#[test]
fn evidence_must_agree() {
    const OPEN_MPI: &str = "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=2";
    const OPEN_MPI_MACHINES: &str = "MASTER_ADDR=n1 OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=2";
    const SKYPILOT: &str =
        "SKYPILOT_NUM_NODES=2 SKYPILOT_NODE_RANK=1 SKYPILOT_NODE_IPS=10.0.0.1,10.0.0.2";
    for (one, two, what, unset) in [
        // A launcher in a task of an MPI numbers other ranks than the MPI does.
        (OPEN_MPI, "RANK=1 LOCAL_RANK=1 WORLD_SIZE=2", "", ""),
        (
            OPEN_MPI,
            "RANK=0 LOCAL_RANK=0 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2",
            "Open MPI says rank 1 of 2, but RANK says rank 0 of 2",
            "RANK LOCAL_RANK WORLD_SIZE",
        ),
        (
            OPEN_MPI,
            "RANK=1 LOCAL_RANK=1 WORLD_SIZE=4 LOCAL_WORLD_SIZE=4",
            "Open MPI says rank 1 of 2, but RANK says rank 1 of 4",
            "RANK LOCAL_RANK WORLD_SIZE",
        ),
        // torchrun numbers them as they come.
        (
            OPEN_MPI,
            "RANK=0 LOCAL_RANK=0 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 GROUP_RANK=0 GROUP_WORLD_SIZE=1",
            "",
            "",
        ),
        (
            OPEN_MPI_MACHINES,
            "RANK=0 LOCAL_RANK=0 WORLD_SIZE=4 LOCAL_WORLD_SIZE=2 GROUP_RANK=0 GROUP_WORLD_SIZE=2",
            "",
            "",
        ),
        (
            OPEN_MPI_MACHINES,
            "RANK=0 LOCAL_RANK=0 WORLD_SIZE=4 LOCAL_WORLD_SIZE=4 GROUP_RANK=0 GROUP_WORLD_SIZE=1",
            "Open MPI says rank 2 of 4, but RANK says rank 0 of 4",
            "RANK LOCAL_RANK WORLD_SIZE",
        ),
        // Slurm sets the variables of PMI and PMIx for its tasks, and then they are numbered alike.
        (SLURM_STEP, "PMI_RANK=0 PMI_SIZE=2", "", ""),
        (SLURM_STEP, "PMI_RANK=1 PMI_SIZE=2", "", ""),
        (SLURM_STEP, "PMIX_RANK=1", "", ""),
        (
            SLURM_STEP,
            "PMI_RANK=2 PMI_SIZE=2",
            "Slurm says machine 0 of 2, but PMI says rank 2 of 2",
            "PMI_RANK PMI_SIZE",
        ),
        (
            SLURM_STEP,
            "PMI_RANK=0 PMI_SIZE=3",
            "Slurm says machine 0 of 2, but PMI says rank 0 of 3",
            "PMI_RANK PMI_SIZE",
        ),
        // Machines have equally many ranks.
        (
            "RANK=0 LOCAL_RANK=0 WORLD_SIZE=3",
            "NNODES=2 NODE_RANK=0",
            "RANK says rank 0 of 3, but NNODES says machine 0 of 2",
            "RANK LOCAL_RANK WORLD_SIZE",
        ),
        (
            "RANK=0 LOCAL_RANK=0 WORLD_SIZE=4",
            "NNODES=2 NODE_RANK=0",
            "",
            "",
        ),
        // What was set for less is rather left over: ranks, then what a user sets, then one machine.
        (
            OPEN_MPI_MACHINES,
            "NNODES=3 NODE_RANK=1",
            "Open MPI says rank 2 of 4, but NNODES says machine 1 of 3",
            "MASTER_ADDR OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_LOCAL_RANK OMPI_COMM_WORLD_LOCAL_SIZE",
        ),
        (
            SKYPILOT,
            "NNODES=3 NODE_RANK=1",
            "SkyPilot says machine 1 of 2, but NNODES says machine 1 of 3",
            "NNODES NODE_RANK",
        ),
        (
            "NNODES=1",
            "PET_NNODES=2 PET_NODE_RANK=1",
            "NNODES says one machine, but PET_NNODES says machine 1 of 2",
            "NNODES",
        ),
        (
            "NNODES=2 NODE_RANK=1",
            "PET_NNODES=1",
            "NNODES says machine 1 of 2, but PET_NNODES says one machine",
            "PET_NNODES",
        ),
        (
            SKYPILOT,
            "SLURM_JOB_ID=7 SLURM_JOB_NUM_NODES=1 SLURM_NODEID=0",
            "SkyPilot says machine 1 of 2, but Slurm says one machine",
            "SLURM_JOB_ID SLURM_NODEID",
        ),
        // Which machine this is counts as well as how many there are.
        (SKYPILOT, "NNODES=2 NODE_RANK=1", "", ""),
        (
            SKYPILOT,
            "NNODES=2 NODE_RANK=0",
            "SkyPilot says machine 1 of 2, but NNODES says machine 0 of 2",
            "NNODES NODE_RANK",
        ),
        (SKYPILOT, "RANK=2 LOCAL_RANK=0 WORLD_SIZE=4", "", ""),
        (
            SKYPILOT,
            "RANK=1 LOCAL_RANK=1 WORLD_SIZE=4",
            "SkyPilot says machine 1 of 2, but RANK says rank 1 of 4",
            "RANK LOCAL_RANK WORLD_SIZE",
        ),
        (
            SKYPILOT,
            "RANK=2 LOCAL_RANK=0 WORLD_SIZE=3",
            "SkyPilot says machine 1 of 2, but RANK says rank 2 of 3",
            "RANK LOCAL_RANK WORLD_SIZE",
        ),
    ] {
        let mut variables = written(one);
        variables.extend(written(two));
        let problems = decide(0, &variables).err().unwrap_or_default();
        let said: Vec<&str> = problems
            .iter()
            .map(|problem| problem.what.as_str())
            .collect();
        if what.is_empty() {
            assert!(said.is_empty(), "{one} {two}: {said:?}");
            continue;
        }
        assert_eq!(said, [what], "{one} {two}");
        let help = problems[0].help();
        let start = format!("if left over from something else: unset {unset}");
        assert!(help.starts_with(&start), "{one} {two}: {help}");
    }
}

/// A container may be given only a part of Slurm's variables. What is left tells its shell from its tasks, or not.
#[test]
fn the_shell_of_a_slurm_job_is_told_from_its_tasks() {
    for (variables, expected) in [
        ("SLURM_JOB_NUM_NODES=2 SLURM_NODEID=0", "shell"),
        ("SLURM_JOB_NUM_NODES=2 SLURMD_NODENAME=n1", "shell"),
        ("SLURM_JOB_NUM_NODES=2 SLURM_SUBMIT_DIR=/home/me", "shell"),
        ("SLURM_JOB_NUM_NODES=1 SLURM_SUBMIT_DIR=/home/me", "shell"),
        ("SLURM_JOB_NUM_NODES=1 SLURM_NODEID=0", "starter"),
        ("SLURM_JOB_NUM_NODES=1", "starter"),
        (
            "SLURM_JOB_NUM_NODES=2",
            "this seems to be part of a larger job of Slurm, but nothing says whether this is its shell or one of its tasks",
        ),
        (
            "SLURM_JOB_NUM_NODES=2 SLURM_NODEID=1",
            "this seems to be part of a larger job of Slurm, but nothing says which step: SLURM_STEP_ID is not set",
        ),
        (
            "SLURM_NODEID=0",
            "this seems to be part of a larger job of Slurm, but nothing says how many machines it has",
        ),
        ("SLURM_SUBMIT_DIR=/home/me", "shell"),
        ("SLURM_SUBMIT_DIR=/home/me SLURM_NTASKS=1", "shell"),
        (
            "SLURM_SUBMIT_DIR=/home/me SLURM_NTASKS=4",
            "this seems to be part of a larger job of Slurm, but nothing says how many machines it has",
        ),
    ] {
        let mut set = written(variables);
        set.insert("SLURM_JOB_ID", "7");
        let found = match decide(0, &set) {
            Ok(topology) => match topology.role {
                topology::Role::Shell { .. } => "shell".to_string(),
                topology::Role::Starter => "starter".to_string(),
                role => format!("{role:?}"),
            },
            Err(problems) => problems[0].what.clone(),
        };
        assert_eq!(found, expected, "{variables}");
    }
}

/// AWS Batch may make any machine the main one. It becomes machine 0, and those before it move up by one.
#[test]
fn the_main_machine_is_the_first() {
    for (index, node_rank) in [("0", 1), ("1", 0), ("2", 2)] {
        let topology = decide(
            0,
            &BTreeMap::from([
                ("AWS_BATCH_JOB_NUM_NODES", "3"),
                ("AWS_BATCH_JOB_MAIN_NODE_INDEX", "1"),
                ("AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS", "10.0.0.1"),
                ("AWS_BATCH_JOB_NODE_INDEX", index),
            ]),
        );
        assert_eq!(topology.unwrap().node_rank.value, node_rank, "{index}");
    }
}

/// Numbers that no engine gives to a task.
#[test]
fn tasks_that_cannot_be_are_refused() {
    let mpi = |rank, size, local_rank, local_size| {
        let names = ["RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE"]
            .map(|name| format!("OMPI_COMM_WORLD_{name}"));
        let values: [&str; 4] = [rank, size, local_rank, local_size];
        decide(0, &names.iter().map(String::as_str).zip(values).collect())
    };
    assert!(mpi("1", "2", "1", "2").is_ok());
    for (task, told) in [
        (
            mpi("2", "2", "0", "2"),
            "rank 2 of 2 does not exist: counting starts at 0",
        ),
        (
            mpi("0", "2", "2", "2"),
            "rank 2 of 2 does not exist: counting starts at 0",
        ),
        (
            mpi("0", "4", "0", "3"),
            "the machines have different numbers of tasks",
        ),
        (
            mpi("0", "4", "1", "1"),
            "the machines have different numbers of tasks",
        ),
    ] {
        assert_eq!(task.unwrap_err()[0].what, told);
    }
    // A pool that is not in the cluster is no place in it.
    let cluster = r#""cluster": {"worker": ["a:1", "b:1"]}"#;
    for (task, is_placed) in [
        (r#"{"type": "worker", "index": 1}"#, true),
        (r#"{"type": "worker", "index": 2}"#, false),
        (r#"{"type": "evaluator", "index": 0}"#, false),
        ("{}", false),
    ] {
        let config = format!(r#"{{{cluster}, "task": {task}}}"#);
        assert_eq!(
            decide(1, &BTreeMap::from([("TF_CONFIG", config.as_str())])).is_ok(),
            is_placed,
            "{task}"
        );
    }
}

/// Where the ranks meet, and how many a variable counts on a machine.
fn place_of(topology: &Topology) -> String {
    let address = topology
        .master_addr
        .as_ref()
        .map_or("nowhere", |address| &address.value);
    let port = topology.master_port.as_ref().map_or(0, |port| port.value);
    let told = topology
        .nproc_per_node
        .as_ref()
        .filter(|nproc| matches!(nproc.from, Source::Variable(_)));
    format!(
        "{address}:{port}{}",
        told.map(|nproc| format!(", {} a machine", nproc.value))
            .unwrap_or_default()
    )
}

/// What is decided, or every word of why it is refused.
fn outcome(machine: usize, variables: &BTreeMap<&str, &str>) -> String {
    match decide(machine, variables) {
        Ok(topology) => format!("{} {}", is_placed(&topology, machine), place_of(&topology)),
        Err(problems) => format!("{problems:?}"),
    }
}

/// Every way to see an engine is tried.
#[test]
fn every_prefix_is_in_an_environment() {
    let folder = tempfile::tempdir().unwrap();
    let tried = environments(folder.path());
    for engine in ENGINES {
        for prefix in engine.prefixes {
            let mut names = tried
                .iter()
                .flat_map(|environment| &environment.variables)
                .map(|set| set.name);
            assert!(
                names.any(|name| name.starts_with(prefix)),
                "{prefix} of {} is in no environment",
                engine.name
            );
        }
    }
}

/// A mistake in the line of a variable that an example might as well not have would not be seen.
#[test]
fn every_variable_of_an_example_counts() {
    let folder = tempfile::tempdir().unwrap();
    let tried = environments(folder.path());
    let counts = |name: &str, environment: &Environment| {
        let outcome_with = |value: Option<&str>| {
            let mut variables = environment.on(1);
            if let Some(value) = value
                && let Some(set) = variables.iter_mut().find(|(set, _)| **set == name)
            {
                *set.1 = value;
            }
            outcome(1, &variables)
        };
        outcome_with(Some("x")) != outcome_with(None)
            || outcome_with(Some("")) != outcome_with(None)
    };
    for engine in ENGINES.iter().filter(|engine| engine.line.is_empty()) {
        let read = engine.variables().filter(|it| it.role() != Role::Other);
        for variable in read {
            // The only one of a kind is filled by another variable of the example.
            let name = match variable {
                Variable::InFile(..) => continue,
                Variable::Shows(_, name, _) | Variable::Beside(_, name, _) => name,
                Variable::Only(_, start, end) => {
                    let mut names = engine.variables().filter_map(set).map(|(name, _)| name);
                    names
                        .find(|name| name.starts_with(start) && name.ends_with(end))
                        .unwrap()
                }
            };
            // What must be there besides, or shows a job by itself.
            let shows =
                variable.role() == Role::Mark && decide(1, &BTreeMap::from([(name, "x")])).is_err();
            let mut of_engine = tried
                .iter()
                .filter(|it| it.name.split(',').next() == Some(engine.name));
            assert!(
                shows || of_engine.any(|it| counts(name, it)),
                "{}: every example gives the same without {name}",
                engine.name
            );
        }
    }
}

/// The machines of a job may be told in many variables, of which an example shows the best: each must do alone.
#[test]
fn every_variable_of_a_job_shell_tells_its_machines() {
    let folder = tempfile::tempdir().unwrap();
    for engine in ENGINES {
        let line = engine.line;
        if line.is_empty() {
            continue;
        }
        assert!(line.contains(" zlaunch …"), "{}: {line}", engine.name);
        for variable in engine.variables().filter(|it| it.role() != Role::Other) {
            let (name, value) = set(variable).unwrap();
            let [value, _] =
                values(value, folder.path()).unwrap_or_else(|| panic!("{name} has no value"));
            let refused = outcome(0, &BTreeMap::from([(name, value.as_str())]));
            let is_mark = variable.role() == Role::Mark;
            let told = if is_mark {
                "cannot be read"
            } else {
                "job on 2 machines"
            };
            assert!(
                refused.contains(told) && refused.contains(name),
                "{name}: {refused}"
            );
            let line = line.replace('"', "\\\"").replace("{hosts}", "n1 n2");
            let is_pasted = is_mark || refused.contains(&line) || line.contains("n1 n2");
            assert!(is_pasted, "{name}: {refused}");
        }
    }
}

#[test]
fn every_variable_has_a_name_and_stands_there_once() {
    for engine in ENGINES {
        assert!(!engine.name.is_empty() && !engine.prefixes.is_empty());
        let in_environment = |it: &&Variable| !matches!(it, Variable::InFile(..));
        for variable in engine.variables().filter(in_environment) {
            let name = variable.name();
            assert!(
                vars::is_name(&name.replace('*', "")),
                "{}: {name}",
                engine.name
            );
            let same = engine.variables().filter(|other| other.name() == name);
            assert_eq!(
                same.count(),
                1,
                "{}: {name} stands there twice",
                engine.name
            );
        }
    }
}

#[test]
fn no_prefix_begins_with_another() {
    let prefixes: Vec<&str> = ENGINES
        .iter()
        .flat_map(|engine| engine.prefixes)
        .copied()
        .collect();
    for (at, prefix) in prefixes.iter().enumerate() {
        let mut others = prefixes
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != at);
        let other = others.find(|(_, other)| prefix.starts_with(**other));
        assert!(other.is_none(), "{prefix} begins with {other:?}");
        // Another tool's may begin with the same letters.
        let mut whole = ENGINES.iter().flat_map(Engine::variables);
        assert!(
            prefix.ends_with('_') || whole.any(|variable| variable.name() == *prefix),
            "{prefix}"
        );
    }
}

#[test]
fn every_row_says_all_or_has_code() {
    for engine in ENGINES {
        let has = |roles: &[Role]| {
            roles
                .iter()
                .all(|role| engine.with_role(*role).next().is_some())
        };
        let says_all = match engine.kind {
            Kind::Machines => {
                let places = [Role::Index, Role::Instance, Role::Here];
                (has(&[Role::Count]) || has(&[Role::Hosts])) && places.iter().any(|it| has(&[*it]))
            }
            Kind::Ranks => has(&[Role::Rank, Role::Size]),
            Kind::RanksWithoutPlace => has(&[Role::Rank]),
            Kind::Shell => has(&[Role::FirstFile]) || has(&[Role::List]),
            _ => true,
        };
        assert!(says_all, "{}", engine.name);
    }
}

#[test]
fn what_starts_together_has_different_ports_below_the_ephemeral_range() {
    let jobs: [fn(u32) -> String; 4] = [
        |id| format!("{id}.0.0"),
        |step| format!("4711.{step}.0"),
        |process| format!("prterun-gpu07-{process}@1"),
        |family| format!("{}", u64::from(family) << 16 | 1),
    ];
    for job in jobs {
        let port = |id: u32| port_of_job(&Sourced::new(job(id), Source::Default)).value;
        let mut ports: Vec<u16> = (4000..4100).map(port).collect();
        assert!(ports.iter().all(|port| (20_000..32_768).contains(port)));
        ports.sort_unstable();
        ports.dedup();
        assert!(ports.len() > 95, "{}", job(1));
    }
}
