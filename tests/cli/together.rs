//! `zlaunch doctor` in a job of several machines. Here they are processes of this one, which meet over its own network.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use zlaunch::testing::bytes::fnv1a;

use crate::sandbox::{Run, Sandbox, executable, free_port, nothing_starts, start};

const TRAIN: &[&str] = &[
    "--deepspeed",
    "zero2",
    "--nproc-per-node",
    "2",
    "--",
    "swift",
    "sft",
    "--model",
    "Qwen/Qwen3-8B",
    "--dataset",
    "./data.jsonl",
];

/// The machines of one step of Slurm: `gpu00`, `gpu01`, …
struct Step {
    sandbox: Sandbox,
    port: String,
    machines: usize,
    _kept: [TcpStream; 2],
}

impl Step {
    fn new(machines: usize) -> Self {
        let sandbox = Sandbox::new();
        sandbox.put("work/data.jsonl", "{}\n");
        for program in ["c++", "ninja"] {
            executable(&sandbox.path(&format!("env/bin/{program}")), "#!/bin/sh\n");
        }
        let (port, kept) = free_port();
        Step {
            sandbox,
            port,
            machines,
            _kept: kept,
        }
    }

    /// `doctor` on one of them, with these options.
    fn doctor(&self, index: usize, options: &[&str]) -> Command {
        let mut command = self
            .sandbox
            .command(["doctor"].iter().chain(options).chain(TRAIN));
        let tasks = format!("1(x{})", self.machines);
        let list = format!("gpu[00-{:02}]", self.machines - 1);
        command.current_dir(self.sandbox.path("work")).envs([
            ("SLURM_JOB_ID", "7"),
            ("SLURM_STEP_ID", "0"),
            ("SLURM_STEP_NUM_NODES", &self.machines.to_string()),
            ("SLURM_STEP_NODELIST", &list),
            ("SLURM_STEP_TASKS_PER_NODE", &tasks),
            ("SLURM_NODEID", &index.to_string()),
            ("SLURM_LOCALID", "0"),
            ("SLURMD_NODENAME", &format!("gpu{index:02}")),
            // Linux connects that to this machine, and zlaunch refuses its loopback. It warns of this one.
            ("MASTER_ADDR", "0.0.0.0"),
            ("ZLAUNCH_ALLOW", "contradicts-scheduler"),
            ("MASTER_PORT", &self.port),
        ]);
        command
    }

    /// All of them at once, each with what is special about it.
    fn run(&self, options: &[&str], change: impl Fn(usize, &mut Command)) -> Vec<Run> {
        let start = |index| {
            let mut command = self.doctor(index, options);
            change(index, &mut command);
            begin(&mut command)
        };
        let children: Vec<Child> = (0..self.machines).map(start).collect();
        children.into_iter().map(ended).collect()
    }

    /// What this machine sends to the first one, which says that all is well.
    fn sent(&self, command: &mut Command) -> String {
        let listener = TcpListener::bind(format!("0.0.0.0:{}", self.port)).unwrap();
        let child = begin(command);
        let (mut stream, _) = listener.accept().unwrap();
        stream
            .write_all(format!("{}\n", greeting()).as_bytes())
            .unwrap();
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).unwrap();
        stream.write_all(b"0\n").unwrap();
        ended(child).succeeded_silently();
        // The first machine opens this port next: no process that is just starting may still have it.
        let _nothing_starts = nothing_starts();
        drop(listener);
        line
    }

    /// A connection to the first machine, once it listens.
    fn connect(&self) -> TcpStream {
        loop {
            match TcpStream::connect(format!("127.0.0.1:{}", self.port)) {
                Ok(stream) => return stream,
                Err(_) => std::thread::yield_now(),
            }
        }
    }
}

/// What the first machine of this job says to everybody.
fn greeting() -> String {
    format!("zlaunch {:016x}", fnv1a(br#"[null,"7",null,null]"#))
}

fn begin(command: &mut Command) -> Child {
    start(command.stdout(Stdio::piped()).stderr(Stdio::piped()))
}

fn ended(child: Child) -> Run {
    Run::from(child.wait_with_output().unwrap())
}

#[test]
fn machines_that_are_alike_are_told_in_two_lines() {
    let runs = Step::new(3).run(&[], |_, _| {});
    assert!(
        runs[0].stdout.contains("3 of 3 machines answered in "),
        "{:?}",
        runs[0]
    );
    assert!(
        runs[0]
            .stdout
            .contains(" s: gpu00, gpu01 and gpu02\nsame on all: zlaunch 0.1.0, Python 3.11, "),
        "{:?}",
        runs[0]
    );
    assert!(
        runs[0]
            .stdout
            .ends_with("\n0 errors, 0 warnings, 0 notes\n"),
        "{:?}",
        runs[0]
    );
    runs[0].succeeded();
    runs[1..].iter().for_each(Run::succeeded_silently);
}

#[test]
fn what_differs_is_told_by_the_first_and_all_fail() {
    let step = Step::new(3);
    step.sandbox.put("elsewhere/other.jsonl", "{}\n");
    let runs = step.run(&[], |index, command| {
        command.env("NCCL_DEBUG", if index == 2 { "INFO" } else { "WARN" });
        if index == 1 {
            command.current_dir(step.sandbox.path("elsewhere"));
        }
    });
    for line in [
        "error[unlike-others]: ./data.jsonl is not there on gpu01, 3 bytes (",
        "warning[unlike-others]: NCCL_DEBUG is INFO on gpu02, WARN on the others: ",
        "error[unlike-others]: gpu01: `./data.jsonl` does not exist\n  help: check the path",
        "  help: put it in a folder that all machines share or copy it to each\n",
    ] {
        assert!(runs[0].stdout.contains(line), "{line}\n{}", runs[0].stdout);
    }
    assert_eq!(
        runs.iter().map(|run| run.status).collect::<Vec<_>>(),
        [Some(1); 3]
    );
    assert_eq!(runs[1].stdout.clone() + &runs[2].stdout, "");
}

#[test]
fn a_machine_that_does_not_answer_is_named() {
    let step = Step::new(2);
    let alone = Run::of(&mut step.doctor(0, &["--timeout", "1"]));
    assert!(
        alone.stdout.contains("1 of 2 machines answered"),
        "{alone:?}"
    );
    assert!(
        alone
            .stdout
            .contains("error[no-answer]: no answer from gpu01 within 1 s\n"),
        "{alone:?}"
    );
    assert_eq!(alone.status, Some(1));
    let json = Run::of(&mut step.doctor(0, &["--timeout", "1", "--format", "json"]));
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(
        (&json["silent"], &json["diagnostics"][0]["rule"]),
        (&json!(["gpu01"]), &json!("no-answer"))
    );
    assert_eq!(json["machines"][0]["facts"]["python.deepspeed"], "0.19.8");
    // The other one says why it does not reach the first.
    let other = Run::of(&mut step.doctor(1, &["--timeout", "1"]));
    let said = format!(
        "error[no-answer]: gpu01 cannot reach 0.0.0.0:{} (0.0.0.0: connection refused): ",
        step.port
    );
    assert!(
        other.stderr.starts_with(&said) && other.stdout.is_empty() && other.status == Some(1),
        "{other:?}"
    );
}

/// What the driver, the packages, the paths in the command and the variables of the network say on a machine.
#[test]
fn a_machine_tells_what_matters_to_the_others() {
    let step = Step::new(2);
    let smi = "#!/bin/sh\necho 'NVIDIA H200, 143771, 570.86, 512, 0, Disabled'\necho 'NVIDIA H200, 143771, 570.86, 1024, 3, Enabled'\n";
    executable(&step.sandbox.path("env/bin/nvidia-smi"), smi);
    step.sandbox.put(
        "env/lib/python3.11/site-packages/torch/version.py",
        "cuda: Optional[str] = '12.8'\n",
    );
    step.sandbox.installed("nvidia_nccl_cu12", "2.26.2");
    let shard = step.sandbox.put("work/models/a.safetensors", "x");
    step.sandbox.put("work/models/.lock", "");
    // Nobody writes it.
    make_old(&shard);
    let mut command = step.doctor(1, &[]);
    command.args(["--resume_from_checkpoint", "./models"]);
    command
        .env("NCCL_SOCKET_IFNAME", "nosuch0")
        .env("GLOO_SOCKET_IFNAME", "^docker")
        .env("NCCL_IB_HCA", "=nosuch_0:1")
        .env("HF_TOKEN", "hf_abcdefghijklmnopqrstuvwxyz012345");
    let sent: Value = serde_json::from_str(&step.sent(&mut command)).unwrap();
    for (name, value) in [
        ("GPU.models", json!("2 × NVIDIA H200 143771 MiB")),
        ("machine.driver", json!("570.86")),
        ("GPU.used", json!(1024 << 20)),
        ("GPU.errors", json!(3)),
        ("GPU.MIG", json!("enabled")),
        ("python.CUDA", json!("12.8")),
        ("python.NCCL", json!("2.26.2")),
        ("GPU.count", json!(2)),
        ("network.interface", json!("NCCL_SOCKET_IFNAME=nosuch0")),
        ("network.adapter", json!("NCCL_IB_HCA==nosuch_0:1")),
        ("token.HF_TOKEN", json!("set")),
        ("file../models", json!("a folder")),
    ] {
        assert_eq!(sent["facts"][name], value, "{name}");
    }
    let mtu = std::fs::read_to_string("/sys/class/net/lo/mtu").ok();
    assert_eq!(
        sent["facts"]["mtu.lo"].as_str(),
        mtu.as_deref().map(str::trim)
    );
    for (name, start) in [
        ("file../data.jsonl", "3 bytes ("),
        ("folder../models", "1 file ("),
    ] {
        assert!(
            sent["facts"][name]
                .as_str()
                .is_some_and(|text| text.starts_with(start)),
            "{name}: {sent}"
        );
    }
}

/// As if it had been written an hour ago.
fn make_old(path: &Path) {
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_modified(long_ago).unwrap();
}

/// Its driver is too old for torch, its memory is in use, and its process may have few addresses and a full disk.
#[test]
fn a_machine_tells_what_keeps_it_from_training() {
    let step = Step::new(2);
    executable(
        &step.sandbox.path("env/bin/nvidia-smi"),
        "#!/bin/sh\necho 'NVIDIA A100, 81920, 470.57.02, 71680, 0, [N/A]'\n",
    );
    step.sandbox.put(
        "env/lib/python3.11/site-packages/torch/version.py",
        "cuda: Optional[str] = '12.8'\n",
    );
    let snapshot = "home/.cache/huggingface/hub/models--Qwen--Qwen3-8B/snapshots/1f";
    let config = step.sandbox.put(&format!("{snapshot}/config.json"), "{}");
    make_old(&config);
    // The download was cut off.
    let shard = step.sandbox.path(&format!("{snapshot}/model.safetensors"));
    std::os::unix::fs::symlink("../../blobs/2e", shard).unwrap();
    // A container may bring what the driver lacks.
    let driver = if Path::new("/usr/local/cuda/compat").exists() {
        "machine.driver"
    } else {
        "GPU.old_driver"
    };
    let machine = step.doctor(1, &[]);
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -v 8388608; exec \"$@\"", "sh"])
        .arg(machine.get_program())
        .args(machine.get_args())
        .current_dir(machine.get_current_dir().unwrap())
        .env_clear();
    let variables = machine.get_envs();
    command.envs(variables.filter_map(|(name, value)| Some((name, value?))));
    let sent: Value = serde_json::from_str(&step.sent(&mut command)).unwrap();
    for (name, value) in [
        (driver, json!("470.57.02")),
        ("GPU.full", json!(71680_u64 << 20)),
        ("GPU.MIG", Value::Null),
        ("limits.addresses", json!(8_u64 << 30)),
    ] {
        assert_eq!(sent["facts"][name], value, "{name}: {sent}");
    }
    let broken = &sent["facts"]["broken.Qwen/Qwen3-8B"];
    assert_eq!(broken, "model.safetensors", "{sent}");
    let model = sent["facts"]["cached.Qwen/Qwen3-8B"].as_str();
    assert!(
        model.is_some_and(|it| it.starts_with("2 files (")),
        "{sent}"
    );
    assert_eq!(sent["facts"]["file.Qwen/Qwen3-8B"], Value::Null);
}

/// A task for each GPU: the first of each machine answers for it.
#[test]
fn further_tasks_of_a_machine_say_nothing() {
    let step = Step::new(2);
    let task = |machine: usize, local: usize| {
        let mut command = step.doctor(machine, &[]);
        begin(command.envs([
            ("SLURM_STEP_TASKS_PER_NODE", "2(x2)"),
            ("SLURM_NTASKS", "4"),
            ("SLURM_PROCID", &(2 * machine + local).to_string()),
            ("SLURM_LOCALID", &local.to_string()),
        ]))
    };
    let [first, second, third, fourth] =
        [task(0, 0), task(0, 1), task(1, 0), task(1, 1)].map(ended);
    assert!(
        first.stdout.contains("2 of 2 machines answered in "),
        "{first:?}"
    );
    for other in [second, third, fourth] {
        other.succeeded_silently();
    }
}

#[test]
fn only_this_job_is_listened_to() {
    let step = Step::new(2);
    let answer: Value = serde_json::from_str(&step.sent(&mut step.doctor(1, &[]))).unwrap();
    let stranger = |change: fn(&mut Value)| {
        let mut answer = answer.clone();
        answer["facts"]["python.transformers"] = "0.1".into();
        change(&mut answer);
        format!("{answer}\n")
    };
    let first = begin(&mut step.doctor(0, &[]));
    let said = [
        stranger(|answer| answer["job"] = json!(["8"])),
        stranger(|answer| answer["job"] = Value::Null),
        stranger(|answer| answer["facts"] = json!([])),
        stranger(|answer| answer["index"] = 0.into()),
        "[]\n{\n\n".to_string(),
        "\u{7f}".repeat(2 << 20),
        String::new(),
    ];
    // They stay connected, and the first machine may have hung up on them.
    let _strangers: Vec<TcpStream> = said
        .iter()
        .map(|line| {
            let mut stream = step.connect();
            let _ = stream.write_all(line.as_bytes());
            stream
        })
        .collect();
    // Numbers beyond all bounds are no reason to fail.
    let mut stream = step.connect();
    stream
        .write_all(
            stranger(|answer| {
                (answer["facts"]["python.transformers"], answer["clock"]) =
                    ("5.19.0".into(), i64::MIN.into());
            })
            .as_bytes(),
        )
        .unwrap();
    let first = ended(first);
    assert!(
        first.stdout.contains("2 of 2 machines answered") && !first.stdout.contains("0.1 on"),
        "{first:?}"
    );
    assert!(
        first
            .stdout
            .contains("warning[unlike-others]: the clock of gpu01 differs by"),
        "{first:?}"
    );
}

#[test]
fn no_secret_is_sent() {
    let step = Step::new(2);
    let mut command = step.sandbox.command([
        "doctor",
        "--deepspeed",
        "zero2",
        "--nproc-per-node",
        "2",
        "--",
        "python",
        "train.py",
        "--hub_token",
        "hunter2",
        "--dataset=hunter2",
    ]);
    let place = step.doctor(1, &[]);
    command
        .envs(
            place
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .current_dir(step.sandbox.path("work"));
    command
        .env("HF_TOKEN", "hunter2")
        .env("NCCL_SECRET", "hunter2")
        .env("NCCL_NET", "https://me:hunter2@proxy/x");
    step.sandbox.put("work/hunter2", "");
    let sent = step.sent(&mut command);
    assert!(
        sent.contains("https://***@proxy/x") && !sent.contains("hunter2"),
        "{sent}"
    );
    assert!(
        !sent.contains(step.sandbox.home().to_str().unwrap()),
        "{sent}"
    );
}

#[test]
fn a_page_about_256_machines_fits_a_screen() {
    let step = Step::new(256);
    let answer: Value = serde_json::from_str(&step.sent(&mut step.doctor(1, &[]))).unwrap();
    let first = begin(&mut step.doctor(0, &["--timeout", "60"]));
    let door = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = door.local_addr().unwrap().port();
    let others = (1..256).map(|index| {
        let mut answer = answer.clone();
        (answer["index"], answer["name"]) = (index.into(), format!("gpu{index:02}").into());
        answer["door"] = json!([answer["name"], null, port]);
        // One is different in its own way, and each has another address for its neighbour.
        answer["facts"]["variables.NCCL_DEBUG_FILE"] = format!("net{index}").into();
        if index == 77 {
            answer["facts"]["python.transformers"] = "2.8.0".into();
        }
        if index == 50 {
            answer["facts"]["variables.NCCL_SOCKET_IFNAME"] = "ib0".into();
        }
        let mut stream = step.connect();
        stream.write_all(format!("{answer}\n").as_bytes()).unwrap();
        BufReader::new(stream)
    });
    let mut others: Vec<BufReader<TcpStream>> = others.collect();
    for (at, other) in others.iter_mut().enumerate() {
        let [mut greeted, mut doors] = [String::new(), String::new()];
        other.read_line(&mut greeted).unwrap();
        other.read_line(&mut doors).unwrap();
        assert_eq!(greeted, format!("{}\n", greeting()));
        // Of so many, each tries those that follow.
        let doors: Value = serde_json::from_str(&doors).unwrap();
        assert_eq!(doors.as_array().map(Vec::len), Some(31));
        let cut = match at {
            49 => "gpu51",
            98 => "gpu100",
            _ => "",
        };
        writeln!(other.get_mut(), "{cut}").unwrap();
    }
    let first = ended(first);
    assert!(
        first.stdout.starts_with("256 of 256 machines answered in "),
        "{first:?}"
    );
    assert!(
        first.stdout.contains(
            "warning[unlike-others]: transformers is 2.8.0 on gpu77, 5.19.0 on the others"
        ),
        "{first:?}"
    );
    assert!(
        first.stdout.contains("gpu01, gpu02, gpu03 and 252 more"),
        "{first:?}"
    );
    assert!(
        first.stdout.contains(
            "error[no-answer]: gpu99 cannot reach gpu100: NCCL connects any two machines"
        ),
        "{first:?}"
    );
    // Its interface for NCCL may be in another network.
    assert!(
        first
            .stdout
            .contains("warning[no-answer]: gpu50 cannot reach gpu51 in the network of"),
        "{first:?}"
    );
    assert!(
        first.stdout.lines().count() < 20 && first.stdout.len() < 3300,
        "{}",
        first.stdout
    );
    for mut other in others {
        let mut status = String::new();
        other.read_line(&mut status).unwrap();
        assert_eq!(status, "1\n");
    }
}

/// NCCL connects any two machines; the first one, whose address is known, is tried as well.
#[test]
fn machines_that_cannot_reach_each_other_are_told() {
    let step = Step::new(3);
    let listener = TcpListener::bind(format!("0.0.0.0:{}", step.port)).unwrap();
    let child = begin(&mut step.doctor(1, &[]));
    let (mut stream, _) = listener.accept().unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    writeln!(stream, "{}", greeting()).unwrap();
    reader.read_line(&mut line).unwrap();
    let door = &serde_json::from_str::<Value>(&line).unwrap()["door"];
    assert_eq!((&door[0], &door[1]), (&json!("gpu01"), &Value::Null));
    assert!(TcpStream::connect(format!("127.0.0.1:{}", door[2])).is_ok());
    let (closed, kept) = free_port();
    let doors = json!([
        ["gpu02", "127.0.0.1", closed.parse::<u16>().unwrap()],
        ["gpu00", null, listener.local_addr().unwrap().port()]
    ]);
    writeln!(stream, "{doors}").unwrap();
    line.clear();
    reader.read_line(&mut line).unwrap();
    assert_eq!(line, "gpu02\n");
    writeln!(stream, "1").unwrap();
    assert_eq!(ended(child).status, Some(1));
    drop(kept);
}

#[test]
fn a_port_that_is_taken_is_told_and_all_go_on_to_the_next() {
    let step = Step::new(3);
    let other = TcpListener::bind(format!("0.0.0.0:{}", step.port)).unwrap();
    let runs = step.run(&[], |_, _| {});
    let said = format!(
        "error[unlike-others]: gpu00: port {} on this machine is already in use\n",
        step.port
    );
    assert!(
        runs[0].stdout.starts_with("3 of 3 machines answered in ")
            && runs[0].stdout.contains(&said),
        "{runs:?}"
    );
    assert_eq!(
        runs.iter().map(|run| run.status).collect::<Vec<_>>(),
        [Some(1); 3]
    );
    drop(other);
}

#[test]
fn nobody_waits_for_a_first_machine_that_is_killed() {
    let step = Step::new(2);
    let first = TcpListener::bind(format!("0.0.0.0:{}", step.port)).unwrap();
    let second = begin(&mut step.doctor(1, &["--timeout", "600"]));
    let (mut stream, _) = first.accept().unwrap();
    stream
        .write_all(format!("{}\n", greeting()).as_bytes())
        .unwrap();
    BufReader::new(&stream)
        .read_line(&mut String::new())
        .unwrap();
    // The kernel closes what a killed process had open.
    drop((stream, first));
    let second = ended(second);
    assert!(
        second.stderr.contains("(it gives no answer)") && second.status == Some(1),
        "{second:?}"
    );
}

/// An `srun` that starts two tasks here. `$i` is the number of each, and `more` are settings of its own.
fn srun(sandbox: &mut Sandbox, more: &str) {
    let script = format!(
        "#!/bin/sh\nwhile [ \"${{1#-}}\" != \"$1\" ]; do shift; done\nexec 3<&0\nfor i in 0 1; do env SLURM_STEP_ID=0 \
         SLURM_STEP_NUM_NODES=2 SLURM_STEP_NODELIST='gpu[07-08]' SLURM_STEP_TASKS_PER_NODE='1(x2)' SLURM_NODEID=$i \
         SLURM_LOCALID=0 SLURMD_NODENAME=gpu0$((7 + i)) {more} \"$@\" <&3 & done\nwait\n"
    );
    executable(&sandbox.path("env/bin/srun"), &script);
    in_shell(sandbox);
}

/// In the shell of a job of two machines.
fn in_shell(sandbox: &mut Sandbox) {
    sandbox.put("cwd/data.jsonl", "{}\n");
    sandbox.vars(&[
        ("SLURM_JOB_ID", "7"),
        ("SLURM_JOB_NUM_NODES", "2"),
        ("SLURM_JOB_NODELIST", "gpu[07-08]"),
        ("SLURM_NODEID", "0"),
    ]);
}

#[test]
fn a_machine_that_cannot_reach_the_first_answers_through_srun() {
    let mut sandbox = Sandbox::new();
    let (port, _kept) = free_port();
    // Nobody is there.
    srun(
        &mut sandbox,
        &format!("MASTER_PORT={port} MASTER_ADDR=$((240 * i)).0.0.$i NCCL_DEBUG=$i"),
    );
    let run = sandbox.run(["doctor", "--timeout", "1"].iter().chain(TRAIN));
    assert!(
        run.stdout.starts_with("2 of 2 machines answered in "),
        "{run:?}"
    );
    for line in [
        &format!("error[no-answer]: gpu08 cannot reach 240.0.0.1:{port} (240.0.0.1: "),
        "warning[unlike-others]: NCCL_DEBUG is 1 on gpu08, 0 on gpu07: ",
    ] {
        assert!(run.stdout.contains(line), "{line}\n{run:?}");
    }
    assert_eq!(run.status, Some(1));
}

/// `doctor` is one step of the job, and the launch the next.
#[test]
fn through_srun_the_port_of_the_launch_is_tried() {
    let mut sandbox = Sandbox::new();
    srun(&mut sandbox, "");
    // The port follows from the job. Tests may run side by side.
    let job = std::process::id().to_string();
    sandbox.vars(&[("SLURM_JOB_ID", &job)]);
    let meeting = ["--master-addr", "0.0.0.0"];
    let asked = ["doctor", "--format", "json"];
    let run = sandbox.run(asked.iter().chain(&meeting).chain(TRAIN));
    let mut lines = run.stdout.lines();
    let tried = lines.find(|line| line.contains("\"launch.port\""));
    let tried = tried.unwrap_or_else(|| panic!("{run:?}"));
    let tried: String = tried.chars().filter(char::is_ascii_digit).take(5).collect();
    sandbox.vars(&[
        ("SLURM_STEP_ID", "1"),
        ("SLURM_STEP_NUM_NODES", "2"),
        ("SLURM_STEP_NODELIST", "gpu[07-08]"),
        ("SLURM_STEP_TASKS_PER_NODE", "1(x2)"),
        ("SLURM_LOCALID", "0"),
        ("SLURMD_NODENAME", "gpu07"),
    ]);
    let plan = sandbox.run(["-n"].iter().chain(&meeting).chain(TRAIN));
    assert!(
        plan.stdout.contains(&format!("--master_port {tried}")),
        "{tried}\n{plan:?}"
    );
}

#[test]
fn what_srun_prints_besides_is_passed_on() {
    let mut sandbox = Sandbox::new();
    executable(
        &sandbox.path("env/bin/srun"),
        "#!/bin/sh\necho drained; echo 'zlaunch-answer 0 {\"in'; exit 1\n",
    );
    in_shell(&mut sandbox);
    let run = sandbox.run(["doctor"].iter().chain(TRAIN));
    assert!(
        run.stdout
            .starts_with("drained\n0 of 2 machines answered in "),
        "{run:?}"
    );
    assert!(
        run.stdout
            .contains("error[no-answer]: no answer from gpu07 and gpu08 within 1 s\n"),
        "{run:?}"
    );
    assert_eq!(run.status, Some(1));
}

#[test]
fn those_that_srun_started_end_with_the_one_that_asks() {
    let mut sandbox = Sandbox::new();
    let (port, _kept) = free_port();
    // The second one never starts, so the first one waits for it. The last process that holds the pipe closes it.
    srun(
        &mut sandbox,
        &format!(
            "MASTER_PORT={port} MASTER_ADDR=0.0.0.0 sh -c '[ $SLURM_NODEID = 1 ] || exec \"$@\"' sh"
        ),
    );
    let (mut closed, held) = std::io::pipe().unwrap();
    let mut command = sandbox.command(["doctor", "--timeout", "600"].iter().chain(TRAIN));
    let mut asks = start(
        command
            .current_dir(sandbox.path("cwd"))
            .stdout(Stdio::null())
            .stderr(held),
    );
    drop(command);
    while TcpStream::connect(format!("127.0.0.1:{port}")).is_err() {
        std::thread::yield_now();
    }
    asks.kill().unwrap();
    asks.wait().unwrap();
    let mut said = String::new();
    closed.read_to_string(&mut said).unwrap();
}

#[test]
fn in_the_shell_of_a_job_srun_starts_it_on_every_machine() {
    let mut sandbox = Sandbox::new();
    sandbox.program("srun");
    in_shell(&mut sandbox);
    let run = |options: &[&str]| {
        let run = sandbox.run(["doctor"].iter().chain(options));
        assert!(
            run.stdout.contains("no answer from gpu07 and gpu08") && run.status == Some(1),
            "{run:?}"
        );
        let words: Vec<String> = sandbox
            .recorded()
            .into_iter()
            .map(|word| word.into_string().unwrap())
            .collect();
        words.join(" ")
    };
    let flags = "srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --kill-on-bad-exit=1 --export=ALL --quiet --input=all --kill-on-bad-exit=0 --quit-on-interrupt --wait=10 ";
    let words = run(&[
        "--timeout",
        "5",
        "--format",
        "json",
        "--deepspeed",
        "zero2",
        "--",
        "python",
        "train.py",
    ]);
    assert!(
        words.contains(flags)
            && words
                .ends_with("zlaunch doctor --answer --timeout 5 --format json --deepspeed zero2 -- python train.py"),
        "{words}"
    );
    assert!(
        run(&["--nproc-per-node=2"]).ends_with("zlaunch doctor --answer --nproc-per-node=2 --")
    );
    let words = run(&[
        "--deepspeed",
        "zero2",
        "--",
        "srun",
        "-n",
        "4",
        "python",
        "train.py",
    ]);
    assert!(
        words.contains("srun -n 4 --quiet --input=all ")
            && words.ends_with("zlaunch doctor --answer --deepspeed zero2 -- python train.py"),
        "{words}"
    );
}
