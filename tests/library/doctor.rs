//! What `zlaunch doctor` reports of machines that do not exist.

use std::ffi::OsString;

use serde_json::{Value, json};

use zlaunch::testing::Host;
use zlaunch::testing::cli::{Asked, TOOLS, parse};
use zlaunch::testing::doctor::facts::{self, Comparison};
use zlaunch::testing::doctor::tables::facts::{Compared, FACTS, Fact, Name, Stated};
use zlaunch::testing::doctor::{DoctorReport, Examination};
use zlaunch::testing::machine::Machine;

use crate::invariants::fake::Sandbox;

/// The report as words with one blank behind each, and as JSON.
fn examined(host: &Host, sandbox: &Sandbox) -> (String, Value) {
    let argv = ["zlaunch", "doctor"].map(OsString::from);
    let Ok(Asked::Request(request)) = parse(&argv, host, &TOOLS) else {
        panic!("no doctor")
    };
    let (launch, machine) = (
        request.into_launch().unwrap(),
        Machine::below(sandbox.root()),
    );
    let report = DoctorReport::new(host, &Examination::new(&launch, host, &machine));
    let words = report
        .text(None)
        .split_whitespace()
        .map(|word| format!("{word} "))
        .collect();
    (words, report.json())
}

#[test]
fn the_report_of_a_made_up_machine() {
    let mut sandbox = Sandbox::bare();
    sandbox.put(
        "etc/os-release",
        "NAME=x\nPRETTY_NAME=\"Rocky Linux 9.4\"\n",
    );
    sandbox.put("proc/sys/kernel/osrelease", "5.14.0-427\n");
    sandbox.put(
        "proc/meminfo",
        "MemTotal: 1056964608 kB\nMemAvailable: 1048576000 kB\n",
    );
    sandbox.put("proc/self/cgroup", "0::/slurm/job_7\n");
    sandbox.put("sys/fs/cgroup/slurm/job_7/memory.max", "68719476736\n");
    sandbox.put("sys/class/infiniband/mlx5_0/node_type", "1");
    sandbox.put(
        "proc/self/limits",
        "Max open files  512  512  files\nMax locked memory  65536  65536  bytes\n",
    );
    sandbox.put(
        "proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue\n",
    );
    for bus in ["0000:01:00.0", "0000:02:00.0"] {
        sandbox.put(
            &format!("proc/driver/nvidia/gpus/{bus}/information"),
            "Model: \t Tesla V100-SXM2-32GB\n",
        );
    }
    sandbox.put("proc/self/mountinfo", "1 1 8:1 / / rw - nfs4 server:/ rw\n");
    sandbox.put("jane/.cache/torch_extensions/py311_cu121/cpu_adam/lock", "");
    let home = sandbox.path("jane");
    sandbox.var("HOME", home).vars(&[
        ("MASTER_ADDR", "node01"),
        ("MASTER_PORT", "29008"),
        ("NNODES", "2"),
        ("NODE_RANK", "0"),
        ("HF_TOKEN", "hf_secret"),
        ("NCCL_DEBUG", "INFO"),
    ]);
    let (text, json) = examined(
        &Host {
            hostname: "node01.example.org".to_string(),
            ..sandbox.host()
        },
        &sandbox,
    );
    for line in [
        "Rocky Linux 9.4, Linux 5.14.0-427",
        "host node01 CPUs",
        "1008 GiB, 1000 GiB available, the cgroup allows 64 GiB",
        "GPUs 2 × Tesla V100-SXM2-32GB",
        "driver 535.54.03",
        "bad locked memory 64 KiB",
        "warn open files 512",
        "2 × 2 on 2 machines (NNODES, /proc/driver/nvidia/gpus)",
        "warn torch_extensions ~/.cache/torch_extensions (nfs4)",
        "Hugging Face ~/.cache/huggingface/hub (nfs4, not there yet)",
        "NCCL_DEBUG INFO",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert_eq!(json["machine"]["driver"], "535.54.03");
    let rules: Vec<_> = json["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["rule"].as_str().unwrap())
        .collect();
    for rule in ["small-memlock", "cache-on-nfs", "few-files"] {
        assert!(rules.contains(&rule), "{rule}: {rules:?}");
    }
    for secret in ["hf_secret", "HF_TOKEN", "jane", "example.org"] {
        assert!(
            !text.contains(secret) && !json.to_string().contains(secret),
            "{secret}"
        );
    }
}

#[test]
fn gpus_are_counted_by_their_models() {
    let gpus = |models: &[&str]| {
        let sandbox = Sandbox::bare();
        for (at, model) in models.iter().enumerate() {
            sandbox.put(
                &format!("proc/driver/nvidia/gpus/0000:0{at}:00.0/information"),
                format!("Model: {model}\n"),
            );
        }
        examined(&sandbox.host(), &sandbox).1["machine"]["GPUs"].take()
    };
    assert_eq!(gpus(&[]), "none in /proc/driver/nvidia");
    assert_eq!(gpus(&["NVIDIA H200"]), "1 × NVIDIA H200");
    assert_eq!(gpus(&["A", "B", "A"]), "2 × A, 1 × B");
}

/// The name of a fact of this row.
fn named(fact: &Fact) -> String {
    match fact.names[0] {
        Name::Is(name) => name.to_string(),
        Name::Below(start) => format!("{start}x"),
    }
}

#[test]
fn every_fact_is_compared_as_its_example_says() {
    for fact in FACTS {
        let name = named(fact);
        assert!(!fact.examples.is_empty(), "{name} has no example");
        let needs_help = !matches!(fact.compared, Compared::Free | Compared::InItsOwnWords);
        assert_eq!(needs_help, !fact.help.is_empty(), "{name}");
        for example in fact.examples {
            let machine = |(machine, stated): (char, &Stated)| {
                let facts = match stated {
                    Stated::Nothing => json!({}),
                    Stated::Number(number) => json!({ name.as_str(): number }),
                    Stated::Text(text) => json!({ name.as_str(): text }),
                };
                json!({ "name": machine, "facts": facts })
            };
            let answers: Vec<Value> = ('a'..).zip(example.stated).map(machine).collect();
            let Comparison { same, problems } = facts::compare(&answers);
            let said = same
                .iter()
                .chain(problems.iter().map(|problem| &problem.what));
            let said: Vec<&str> = said.map(String::as_str).collect();
            let answer = example.answer;
            assert!(
                said.concat().starts_with(answer) && said.is_empty() == answer.is_empty(),
                "{name}: {said:?}"
            );
            assert!(
                problems
                    .iter()
                    .all(|problem| problem.severity == fact.severity),
                "{name}"
            );
        }
    }
}

/// What a message says besides its example.
#[test]
fn a_difference_is_told_with_what_follows_from_it() {
    let answers: Vec<Value> = ["8", "7", "8"]
        .iter()
        .zip('a'..)
        .map(
            |(gpus, name)| json!({"name": name, "facts": {"GPU.models": format!("{gpus} × H100")}}),
        )
        .collect();
    let found = facts::compare(&answers).problems;
    assert_eq!(
        found[0].what,
        "the GPUs are 7 × H100 on b, 8 × H100 on the others: all ranks wait for the slowest and the smallest memory decides"
    );
    assert_eq!(found[0].help(), "ask the scheduler for one kind of machine");
    let own = |name: char, facts: Value| json!({"name": name, "facts": facts});
    let low = json!({"warning.few": "1024 files\nraise the limit"});
    let alone = facts::compare(&[own('a', json!({})), own('b', low.clone())]).problems;
    assert_eq!(
        (alone[0].what.as_str(), alone[0].help().as_str()),
        ("b: 1024 files", "raise the limit")
    );
    let all = facts::compare(&[own('a', low.clone()), own('b', low)]).problems;
    assert_eq!(all[0].what, "a and b: 1024 files");
}
