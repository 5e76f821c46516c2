//! Never alone by accident: every subset of each engine's variables, with values that make no sense among them, is placed
//! rightly or refused; and what one machine alone finds in its environment is not refused.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use zlaunch::testing::topology::{HostFlags, RankFlags, Role, Starter, Topology};
use zlaunch::testing::{Host, Problem, hash};

const ENVIRONMENTS: &str = include_str!("../data/engines.txt");

/// Values that no engine sets.
const ABSURD: [&str; 6] = ["", " ", "x", "-1", "1.5", "99999999999"];

struct Environment {
    name: &'static str,
    expected: &'static str,
    /// Whether it says something of a larger job, its name, its values on both machines.
    variables: Vec<(bool, &'static str, [String; 2])>,
}

fn environments(folder: &Path) -> Vec<Environment> {
    let lines = ENVIRONMENTS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut all: Vec<Environment> = Vec::new();
    for line in lines {
        if let Some((name, expected)) = line.strip_prefix("= ").and_then(|line| line.split_once(": ")) {
            let expected = expected.split(' ').next().unwrap();
            all.push(Environment { name, expected, variables: Vec::new() });
            continue;
        }
        let (name, value) = line.split_once('=').unwrap();
        let (first, second) = value.split_once('|').unwrap_or((value, value));
        let values = [first, second].map(|value| value_of(value, folder));
        all.last_mut().unwrap().variables.push((!name.starts_with('?'), name.trim_start_matches('?'), values));
    }
    all
}

fn value_of(value: &str, folder: &Path) -> String {
    let Some(words) = value.strip_prefix('@') else { return value.replace("\\n", "\n") };
    let file: PathBuf = folder.join(format!("{:x}", hash::fnv1a(words.as_bytes())));
    std::fs::write(&file, words.replace(' ', "\n")).unwrap();
    file.display().to_string()
}

/// The programs with which engines start a command on one machine.
fn starters(folder: &Path) -> String {
    for name in ["blaunch", "oarsh", "pbs_tmrsh", "qrsh"] {
        let file = folder.join(name);
        std::fs::write(&file, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
    }
    folder.display().to_string()
}

/// What is decided on a machine with these variables.
fn decide(machine: usize, variables: &BTreeMap<&str, &str>) -> Result<Topology, Vec<Problem>> {
    let env = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
    let host = Host { env, hostname: format!("n{}", machine + 1), cpus: 8, nvidia_gpus: Some(3), ..Host::default() };
    Topology::decide(&RankFlags::default(), &HostFlags::default(), true, &host)
}

/// Whether it is this machine of the two.
fn is_placed(topology: &Topology, machine: usize) -> bool {
    let machine = u32::try_from(machine).unwrap();
    match &topology.role {
        // It starts on both.
        Role::Shell(Starter::OneHost(starter)) => machine == 0 && starter.hosts == ["n1", "n2"],
        Role::Shell(_) => true,
        Role::Task(task) => task.world_size.value == 4 && task.rank.value == 2 * machine,
        Role::Rank { first } => topology.world_size.as_ref().is_some_and(|it| it.value > 1) && *first == (machine == 0),
        Role::Starter => {
            topology.can_rendezvous() && topology.has_several_nodes() && topology.node_rank.value == machine
        }
    }
}

fn check(environment: &Environment, path: &str, machine: usize, present: &[usize], absurd: Option<(usize, &str)>) {
    let mut variables = BTreeMap::from([("PATH", path)]);
    let mut says_more = false;
    for at in present {
        let (says, name, values) = &environment.variables[*at];
        let value = absurd.filter(|(absurd, _)| absurd == at).map_or(values[machine].as_str(), |(_, value)| value);
        variables.insert(*name, value);
        says_more |= *says && !value.is_empty();
    }
    match decide(machine, &variables) {
        Err(problems) => assert!(problems.iter().all(|it| !it.help.is_empty() && !it.what.is_empty()), "{variables:?}"),
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
    let path = starters(folder.path());
    let mut seen = 0;
    for environment in environments(folder.path()).iter().filter(|it| it.expected != "alone") {
        let count = environment.variables.len();
        for subset in 0_u32..1 << count {
            let present: Vec<usize> = (0..count).filter(|at| subset & (1 << at) != 0).collect();
            for machine in [0, 1] {
                check(environment, &path, machine, &present, None);
                for at in &present {
                    // A list of one machine makes sense.
                    let lists = environment.variables[*at].2[machine].contains([',', ';', ' ', '\n']);
                    let absurd = ABSURD.iter().filter(|value| !lists || value.trim().is_empty());
                    absurd.for_each(|value| check(environment, &path, machine, &present, Some((*at, value))));
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 10_000, "{seen}");
}

#[test]
fn whole_environments_are_as_expected() {
    let folder = tempfile::tempdir().unwrap();
    for environment in environments(folder.path()) {
        for machine in [0, 1] {
            let variables = environment.variables.iter().map(|(_, name, values)| (*name, values[machine].as_str()));
            let decided = decide(machine, &variables.filter(|(_, value)| !value.is_empty()).collect());
            let found = match &decided {
                Err(_) => "refused",
                Ok(topology) if matches!(topology.role, Role::Shell(_)) => "srun",
                Ok(topology) if !is_placed(topology, machine) => "alone",
                Ok(topology) if matches!(topology.role, Role::Task(_)) => "rank",
                Ok(_) => "placed",
            };
            assert_eq!(found, environment.expected, "{}, machine {machine}: {decided:?}", environment.name);
        }
    }
}
