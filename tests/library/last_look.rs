//! The end against the beginning, whatever path led there: jobs of two engines with a variable lost on the way, in front of
//! every kind of command. None of them is alone without a word, and no machine that is alone is refused.

use std::collections::BTreeMap;
use std::ffi::OsString;

use serde_json::Value;
use zlaunch::testing::cli::{self, Asked, TOOLS};
use zlaunch::testing::secrets::Secrets;
use zlaunch::testing::{Format, Judged, Problem, Rule};

use crate::engines::{
    DOUBTFUL, ESSENTIAL, Environment, environments, is_set_otherwise, of_one_machine,
};
use crate::invariants::fake::{Sandbox, Share, side_by_side};

/// Nothing in them says how many machines there are.
const COMMANDS: [&str; 7] = [
    "python x.py",
    "torchrun --nproc_per_node 2 x.py",
    "deepspeed --num_gpus 2 x.py",
    "accelerate launch --multi_gpu --num_processes 2 x.py",
    "accelerate launch --config_file one.yaml x.py",
    "swift sft --model m --dataset d",
    "megatron sft --model m --dataset d",
];

fn machine() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.program("srun");
    sandbox.file(
        "one.yaml",
        "distributed_type: MULTI_GPU\nnum_machines: 1\nnum_processes: 2\nmachine_rank: 0\n",
    );
    sandbox
}

/// The plan and what is said about it, or everything that speaks against it.
fn judged(
    sandbox: &Sandbox,
    number: usize,
    variables: &BTreeMap<&str, &str>,
    command: &str,
) -> Result<(Value, Vec<Problem>), Vec<Problem>> {
    let mut host = sandbox.host();
    host.hostname = format!("n{}", number + 1);
    let set = variables.iter().filter(|(_, value)| !value.is_empty());
    host.env
        .extend(set.map(|(name, value)| (name.into(), value.into())));
    let words = "zlaunch --".split(' ').chain(command.split(' '));
    let words: Vec<OsString> = words.map(OsString::from).collect();
    let Ok(Asked::Request(request)) = cli::parse(&words, &host, &TOOLS) else {
        panic!("{command} is a launch");
    };
    let launch = request.into_launch().unwrap();
    let (plan, problems) = Judged::new(&launch, &host).accepted()?;
    let text = plan.render(&problems, Format::Json, &Secrets::of(&host));
    Ok((serde_json::from_slice(&text).unwrap(), problems))
}

/// In its place as the engines say, or started through srun. A rank of several may be named by its variables alone.
fn is_placed(plan: &Value, machine: usize) -> bool {
    let topology = &plan["topology"];
    let is_several = topology["nnodes"].as_u64() > Some(1);
    let is_rank = plan["launcher"] == "direct" && topology["world_size"].as_u64() > Some(1);
    plan["launcher"] == "srun" || is_several && topology["node_rank"] == machine || is_rank
}

fn is_told(problems: &[Problem]) -> bool {
    problems.iter().any(|problem| {
        matches!(
            problem.rule,
            Rule::ContradictsScheduler | Rule::UncountedMachines
        )
    })
}

/// A pair with everything that both set, and with a variable lost in its turn. The commands take turns too.
fn check_pair(sandbox: &Sandbox, [one, two]: [&Environment; 2], turn: usize) -> usize {
    let machine = turn % 2;
    let mut both = one.on(machine);
    let more = two.on(machine);
    if is_set_otherwise(&both, &more) {
        return 0;
    }
    both.extend(more);
    let names: Vec<&str> = both.keys().copied().collect();
    let mut tried = 0;
    // Another loss and other commands for each pair.
    let lost = names[turn % names.len()];
    let losses = ["", lost];
    for (at, lost) in losses.into_iter().enumerate() {
        if [one, two]
            .iter()
            .any(|job| ESSENTIAL.contains(&(job.name, lost)))
        {
            continue;
        }
        let mut variables = both.clone();
        variables.remove(lost);
        let command = COMMANDS[(turn + at) % COMMANDS.len()];
        let judged = judged(sandbox, machine, &variables, command);
        let is_heard = match &judged {
            Err(_) => true,
            Ok((plan, problems)) => {
                // torchrun counts those that meet there.
                let meets = plan["topology"]["nnodes"].is_null()
                    && variables.contains_key("PET_RDZV_ENDPOINT");
                meets || is_placed(plan, machine) || is_told(problems)
            }
        };
        assert!(
            is_heard,
            "machine {machine} of {} and {} is alone without {lost:?}: {command}\n{variables:?}\n{judged:?}",
            one.name, two.name
        );
        tried += 1;
    }
    tried
}

side_by_side!(no_pair_of_engines_is_alone_without_a_word);

fn no_pair_of_engines_is_alone_without_a_word(share: &Share) {
    let folder = tempfile::tempdir().unwrap();
    let mut jobs = environments(folder.path());
    jobs.retain(|it| it.expected != "alone");
    let pairs = jobs.iter().enumerate().flat_map(|(at, one)| {
        let others = jobs[at + 1..].iter();
        others.map(move |two| [one, two])
    });
    let sandbox = machine();
    let mut tried = 0;
    for (at, pair) in share.of(pairs.enumerate().collect::<Vec<_>>()) {
        tried += check_pair(&sandbox, pair, at);
    }
    assert!(tried > 400, "{tried}");
}

/// Each task may start the ranks of all: only then a machine that is alone is refused.
fn starts_twice(problems: &[Problem]) -> bool {
    problems
        .iter()
        .any(|problem| problem.what.contains("and each"))
}

fn check_alone(sandbox: &Sandbox, name: &str, variables: &BTreeMap<&str, &str>, command: &str) {
    let judged = judged(sandbox, 0, variables, command);
    let is_fine = match &judged {
        Ok((plan, _)) => plan["topology"]["nnodes"].as_u64() < Some(2),
        Err(problems) => command != COMMANDS[0] && starts_twice(problems),
    };
    assert!(is_fine, "{name}: {command}\n{variables:?}\n{judged:?}");
}

#[test]
fn no_machine_that_is_alone_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = machine();
    for environment in of_one_machine(folder.path()) {
        for command in COMMANDS {
            check_alone(&sandbox, environment.name, &environment.on(0), command);
        }
    }
}

#[test]
fn no_machine_of_two_platforms_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut environments = of_one_machine(folder.path());
    environments.retain(|it| !DOUBTFUL.contains(&it.name));
    let sandbox = machine();
    let mut tried = 0;
    for (at, one) in environments.iter().enumerate() {
        for two in &environments[at + 1..] {
            tried += 1;
            let (mut both, more) = (one.on(0), two.on(0));
            // Every sixth pair, with a command in its turn.
            if tried % 6 > 0 || is_set_otherwise(&both, &more) {
                continue;
            }
            both.extend(more);
            let name = format!("{} and {}", one.name, two.name);
            check_alone(&sandbox, &name, &both, COMMANDS[tried / 6 % COMMANDS.len()]);
        }
    }
    assert!(tried > 8_000, "{tried}");
}

/// What these tests ask is not always true.
#[test]
fn a_machine_without_a_job_is_alone() {
    let sandbox = machine();
    for command in COMMANDS {
        let (plan, problems) = judged(&sandbox, 0, &BTreeMap::new(), command).unwrap();
        assert!(
            !is_placed(&plan, 0) && !is_told(&problems),
            "{command}: {plan}"
        );
    }
}
