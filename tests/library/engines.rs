//! Never alone by accident: every subset of each engine's variables, with values that make no sense among them, is placed
//! rightly or refused; and what one machine alone finds in its environment is not refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use zlaunch::testing::engines::{self, Block, Variable};
use zlaunch::testing::source::Sourced;
use zlaunch::testing::topology::engines::job::port_of_job;
use zlaunch::testing::topology::engines::with_code;
use zlaunch::testing::topology::{HostFlags, RankFlags, Role, Topology};
use zlaunch::testing::{Host, Problem, Source, bytes, vars};

/// Other forms of jobs than the examples in the table of engines, and what one machine alone finds.
const OTHERS: &str = include_str!("../data/engines.txt");

/// What one machine finds, on many platforms.
const ONE_MACHINE: &str = include_str!("../data/one_machine.txt");

/// Values that no engine sets. Only the first two are no list.
const ABSURD: [&str; 6] = ["", " ", "x", "-1", "1.5", "99999999999"];

struct Environment {
    name: &'static str,
    expected: &'static str,
    /// Where the ranks meet, and how many are on each machine if a variable counts them, for both. `None`: not of interest.
    place: Option<[String; 2]>,
    /// Whether it says something of a larger job, its name, its values on both machines.
    variables: Vec<(bool, &'static str, [String; 2])>,
}

fn environments(folder: &Path) -> Vec<Environment> {
    let blocks = engines::all().chain(engines::blocks(OTHERS));
    blocks.map(|block| environment(block, folder)).collect()
}

fn environment(block: Block, folder: &Path) -> Environment {
    let answer = answer(&block);
    let (expected, place) = answer
        .split_once(" at ")
        .map_or((answer, None), |(word, place)| (word, Some(place)));
    let variables = block.variables().filter_map(|variable| {
        let values = on_both(example(variable)?).map(|value| value_of(value, folder));
        Some((variable.shows_a_job(), variable.name(), values))
    });
    let place = place.map(|place| on_both(place).map(str::to_string));
    Environment {
        name: block.name(),
        expected,
        place,
        variables: variables.collect(),
    }
}

/// What is expected of it, without the remark.
fn answer(block: &Block) -> &'static str {
    let (_, answer) = block.head.split_once(": ").unwrap();
    answer.split(" (").next().unwrap()
}

/// Its values, if it is set there.
fn example(variable: Variable) -> Option<&'static str> {
    variable.setting.split_once('=').map(|(_, value)| value)
}

fn on_both(value: &str) -> [&str; 2] {
    value
        .split_once('|')
        .map_or([value; 2], |(first, second)| [first, second])
}

fn value_of(value: &str, folder: &Path) -> String {
    let Some(words) = value.strip_prefix('@') else {
        return value.replace("\\n", "\n");
    };
    let file: PathBuf = folder.join(format!("{:x}", bytes::fnv1a(words.as_bytes())));
    std::fs::write(&file, words.replace(' ', "\n")).unwrap();
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
        Role::Shell { .. } => true,
        Role::Task(task) => task.world_size.value == 4 && task.rank.value == 2 * machine,
        Role::Rank { first } => {
            topology.world_size.as_ref().is_some_and(|it| it.value > 1) && *first == (machine == 0)
        }
        Role::Starter => {
            let are_two = topology
                .nnodes
                .as_ref()
                .is_some_and(|nnodes| nnodes.value == 2);
            topology.can_rendezvous() && are_two && topology.node_rank.value == machine
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
        let (says, name, values) = &environment.variables[*at];
        let value = absurd
            .filter(|(absurd, _)| absurd == at)
            .map_or(values[machine].as_str(), |(_, value)| value);
        variables.insert(*name, value);
        says_more |= *says && !value.is_empty();
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
                        environment.variables[*at].2[machine].contains([',', ';', ' ', '\n']);
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
            let variables = environment
                .variables
                .iter()
                .map(|(_, name, values)| (*name, values[machine].as_str()));
            let decided = decide(
                machine,
                &variables.filter(|(_, value)| !value.is_empty()).collect(),
            );
            let found = match &decided {
                Err(_) => "refused",
                Ok(topology) if matches!(topology.role, Role::Shell { .. }) => "srun",
                Ok(topology) if !is_placed(topology, machine) => "alone",
                Ok(topology) if matches!(topology.role, Role::Task(_)) => "rank",
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
        let variables = environment
            .variables
            .iter()
            .map(|(_, name, values)| (*name, values[machine].as_str()));
        let topology = decide(machine, &variables.collect()).unwrap();
        assert!(
            matches!(topology.role, Role::Starter),
            "{:?}",
            topology.role
        );
    }
}

#[test]
fn one_machine_is_never_refused() {
    let folder = tempfile::tempdir().unwrap();
    let blocks = engines::blocks(ONE_MACHINE)
        .chain(engines::blocks(OTHERS))
        .filter(|block| answer(block) == "alone");
    let environments: Vec<_> = blocks
        .map(|block| environment(block, folder.path()))
        .collect();
    assert!(environments.len() >= 140, "{}", environments.len());
    for environment in environments {
        let variables = environment
            .variables
            .iter()
            .map(|(_, name, values)| (*name, values[0].as_str()))
            .collect();
        let decided = decide(0, &variables);
        let is_whole = |topology: &Topology| {
            topology.nproc_per_node.is_some() || matches!(topology.role, Role::Rank { .. })
        };
        let is_alone = decided
            .as_ref()
            .is_ok_and(|topology| !topology.has_several_nodes() && is_whole(topology));
        assert!(is_alone, "{}: {decided:?}", environment.name);
    }
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

#[test]
fn the_example_of_every_engine_says_where_its_ranks_meet() {
    let folder = tempfile::tempdir().unwrap();
    for block in engines::all() {
        let example = environment(block, folder.path());
        assert_eq!(
            example.place.is_some(),
            ["placed", "rank"].contains(&example.expected),
            "{}",
            block.name()
        );
    }
    // Every way to see an engine is tried.
    let tried: Vec<Environment> = environments(folder.path());
    for (block, prefix) in
        engines::all().flat_map(|block| block.env_prefixes().map(move |prefix| (block, prefix)))
    {
        let mut names = tried
            .iter()
            .flat_map(|environment| &environment.variables)
            .map(|(_, name, _)| name);
        assert!(
            names.any(|name| name.starts_with(prefix)),
            "{prefix} of {} is in no environment",
            block.name()
        );
    }
}

/// A mistake in the line of a variable that an example might as well not have would not be seen.
#[test]
fn every_variable_of_an_example_counts() {
    let folder = tempfile::tempdir().unwrap();
    let tried: Vec<Environment> = environments(folder.path());
    let counts = |name: &str, environment: &Environment| {
        let machine = |replaced: Option<&str>| {
            let value = |variable: &(bool, &'static str, [String; 2])| match replaced {
                Some(value) if variable.1 == name => value.to_string(),
                _ => variable.2[1].clone(),
            };
            let values: Vec<_> = environment
                .variables
                .iter()
                .map(|it| (it.1, value(it)))
                .collect();
            outcome(
                1,
                &values
                    .iter()
                    .map(|(name, value)| (*name, value.as_str()))
                    .collect(),
            )
        };
        machine(Some("x")) != machine(None) || machine(Some("")) != machine(None)
    };
    for block in engines::all().filter(|block| block.field("manual").is_none()) {
        for variable in block
            .variables()
            .filter(|variable| !variable.roles.is_empty())
        {
            let mut of_engine = tried
                .iter()
                .filter(|it| it.name.split(',').next() == Some(block.name()));
            // A pattern is filled by another variable of the example.
            let (start, end) = variable
                .name()
                .split_once('*')
                .unwrap_or((variable.name(), variable.name()));
            let is_meant = |name: &&str| name.starts_with(start) && name.ends_with(end);
            let name = block
                .variables()
                .map(Variable::name)
                .find(is_meant)
                .unwrap();
            // What must be there besides, or shows a job by itself.
            let shows = variable.is("mark") && decide(1, &BTreeMap::from([(name, "x")])).is_err();
            let counts = shows || of_engine.any(|it| counts(name, it));
            assert!(
                counts,
                "{}: every example gives the same without {name}",
                block.name()
            );
        }
    }
}

/// The machines of a job may be told in many variables, of which an example shows the best: each must do alone.
#[test]
fn every_variable_of_a_job_shell_tells_its_machines() {
    let folder = tempfile::tempdir().unwrap();
    for block in engines::all() {
        let Some(line) = block.field("manual") else {
            continue;
        };
        assert!(line.contains(" zlaunch …"), "{}: {line}", block.name());
        for variable in block
            .variables()
            .filter(|variable| !variable.roles.is_empty())
        {
            let name = variable.name();
            let value = value_of(
                example(variable).unwrap_or_else(|| panic!("{name} has no value")),
                folder.path(),
            );
            let refused = outcome(0, &BTreeMap::from([(name, value.as_str())]));
            let told = if variable.is("mark") {
                "cannot be read"
            } else {
                "job on 2 machines"
            };
            assert!(
                refused.contains(told) && refused.contains(name),
                "{name}: {refused}"
            );
            let line = line.replace('"', "\\\"").replace("{hosts}", "n1 n2");
            let is_pasted =
                variable.is("mark") || refused.contains(&line) || line.contains("n1 n2");
            assert!(is_pasted, "{name}: {refused}");
        }
    }
}

#[test]
fn every_line_is_understood() {
    const ROLES: &str = "count others index instance hosts first main first_prefix domain port gpus job worker mark rank size local_rank \
         local_size nodes file list pairs";
    let table = include_str!("../../src/ranks/topology/engines/engines.txt");
    assert_eq!(
        table.lines().filter(|line| line.starts_with('=')).count(),
        engines::all().count()
    );
    for block in engines::all() {
        assert!(
            block.head.contains(": ") && block.body.starts_with("prefixes "),
            "{}",
            block.head
        );
        for line in block
            .body
            .lines()
            .filter(|line| line.starts_with(|first: char| first.is_ascii_lowercase()))
        {
            let word = line.split(' ').next().unwrap();
            let is_role = word
                .split(',')
                .all(|word| ROLES.split(' ').any(|role| role == word));
            assert!(
                is_role || engines::FIELDS.contains(&word),
                "{}: {line}",
                block.name()
            );
        }
        for variable in block.variables() {
            let is_name = vars::is_name(&variable.name().replace('*', ""));
            assert!(is_name, "{}: {}", block.name(), variable.name());
            let count = block
                .variables()
                .filter(|other| other.name() == variable.name())
                .count();
            assert_eq!(
                count,
                1,
                "{}: {} stands there twice",
                block.name(),
                variable.name()
            );
        }
    }
}

#[test]
fn no_prefix_begins_with_another() {
    let of_block = |block: Block| {
        block
            .env_prefixes()
            .map(move |prefix| (block.name(), prefix))
    };
    let prefixes: Vec<_> = engines::all().flat_map(of_block).collect();
    for (at, (name, prefix)) in prefixes.iter().enumerate() {
        let mut others = prefixes
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != at);
        let other = others.find(|(_, (_, other))| prefix.starts_with(other));
        assert!(other.is_none(), "{prefix} of {name} begins with {other:?}");
        // Another tool's may begin with the same letters.
        let mut whole = engines::all().flat_map(|block| block.variables());
        assert!(
            prefix.ends_with('_') || whole.any(|variable| variable.name() == *prefix),
            "{prefix} of {name}"
        );
    }
    assert!(
        engines::all().all(|block| block.env_prefixes().next().is_some()),
        "an engine without one is never asked"
    );
}

#[test]
fn every_block_says_all_or_has_code() {
    for name in with_code() {
        assert_eq!(
            engines::all().filter(|block| block.name() == name).count(),
            1,
            "{name}"
        );
    }
    for block in engines::all().filter(|block| !with_code().any(|name| name == block.name())) {
        let has = |roles: &[&str]| roles.iter().all(|role| !block.name_of(role).is_empty());
        let is_mpi =
            has(&["rank", "size", "local_rank"]) && (has(&["local_size"]) || has(&["nodes"]));
        let is_mpi = is_mpi || has(&["rank"]) && block.field("untold").is_some();
        let is_shell = block.field("manual").is_some() && (has(&["file"]) || has(&["list"]));
        let is_node = has(&["count"]) && (has(&["index"]) || has(&["instance"]))
            || block.field("pods").is_some();
        assert!(is_mpi || is_shell || is_node, "{}", block.name());
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
        assert_eq!(ports.len(), 100, "{}", job(1));
    }
}
