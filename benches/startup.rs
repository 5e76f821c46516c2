//! What a launch costs before exec, and how that grows, as ratios in one run: `cargo bench`.
//!
//! The zlaunch that is measured is built as `packaging/build` does it: with the profile `dist`, and linked statically. What
//! `cargo build --release` makes pays for the dynamic loader besides, which one line shows.
//!
//! Wall time is the fastest of many launches of a program that does nothing, through zlaunch and through a Rust wrapper
//! that only execs, taken in turns. Peak memory is the largest resident set of any child. Instructions are counted by
//! callgrind; the launch is one whose exec fails, because callgrind sees nothing once it succeeds.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its figures, and stops where it cannot"
)]

#[path = "../tests/fake.rs"]
mod fake;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use serde_json::json;

use fake::Sandbox;

const RUNS: usize = 600;
const BARE: &str = "use std::os::unix::process::CommandExt;
fn main() { let mut a = std::env::args_os().skip(1); let p = a.next().unwrap(); panic!(\"{}\", std::process::Command::new(p).args(a).exec()); }";
const SWIFT: &[&str] = &[
    "sft",
    "--model",
    "Qwen/Qwen3-8B",
    "--tuner_type",
    "full",
    "--per_device_train_batch_size",
    "1",
    "--gradient_accumulation_steps",
    "16",
    "--learning_rate",
    "1e-5",
    "--max_grad_norm",
    "0.5",
];
const OPTIONS: &[&str] = &[
    "--deepspeed",
    "zero3_offload",
    "--nproc-per-node",
    "8",
    "--",
];

/// The parts of a launch, by how the name of the function that does it ends, without the brackets of `<impl Plan>::render`.
/// Those further in are parts of the one before.
const PHASES: &[(&str, &str)] = &[
    ("the whole process", "(below main)"),
    ("  our part of it", "zlaunch::main"),
    ("    reading argv", "cli::launch::read"),
    ("    planning and judging", "Judged::new"),
    ("      understanding the command", "UnderstoodLaunch::new"),
    ("      ranks", "Topology::decide"),
    ("      template and its chain", "template::resolve"),
    ("      the judge", "judge::judge"),
    ("    printing the plan", "Plan::text"),
];

/// Keys of `zero_optimization` that no text is right for.
const NOT_TEXT: &[&str] = &[
    "stage",
    "reduce_bucket_size",
    "allgather_bucket_size",
    "overlap_comm",
    "contiguous_gradients",
    "reduce_scatter",
    "sub_group_size",
    "stage3_max_live_parameters",
    "stage3_max_reuse_distance",
    "stage3_prefetch_bucket_size",
    "stage3_param_persistence_threshold",
];

/// Words of which each letter looks as if a secret could begin or end there.
const ALMOST_SECRETS: &[&str] = &[
    "x://a@b,",
    "x://a:b,",
    "key=",
    "\"token\":[,",
    "token=[",
    "secret_file=/",
    " token= ",
    "\"key\":\"",
    "a --token ",
    "`",
    "\\",
];

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|word| word == "--memory-of") {
        let words: Vec<_> = arguments.collect();
        assert!(
            Command::new(&words[0])
                .args(&words[1..])
                .status()
                .unwrap()
                .success()
        );
        return println!(
            "{}",
            getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0, |usage| usage.max_rss())
        );
    }
    let lab = Lab::new();
    println!("binary             {:>9} bytes", lab.stripped_size());
    wall_time(&lab);
    println!(
        "peak memory        {:>9} kB (a bare exec: {} kB)",
        lab.memory(&lab.zlaunch()),
        lab.memory(&lab.bare())
    );
    if lab.valgrind.is_empty() {
        return println!("instructions       not counted: valgrind is not here");
    }
    println!(
        "instructions       {:>9} (dry run)",
        lab.instructions(&Case::default())
    );
    let by_cargo = Case {
        program: Some(PathBuf::from(BUILT_BY_CARGO)),
        ..Case::default()
    };
    println!(
        "                   {:>9} (dry run, as `cargo build --release` makes it)",
        lab.instructions(&by_cargo)
    );
    println!(
        "                   {:>9} (launch)",
        lab.instructions(&Case {
            launched: true,
            status: 127,
            ..Case::default()
        })
    );
    println!(
        "                   {:>9} (a bare exec)",
        lab.instructions_of_bare()
    );
    growth(&lab);
    hiding_secrets(&lab);
    phases(&lab);
}

const BUILT_BY_CARGO: &str = env!("CARGO_BIN_EXE_zlaunch");

/// Builds zlaunch as `packaging/build` does, but keeps the names of its functions, which the phases need.
fn build_packaged() -> PathBuf {
    let folder = Path::new(BUILT_BY_CARGO)
        .parent()
        .and_then(Path::parent)
        .unwrap()
        .join("bench-packaged");
    let version = Command::new("rustc").arg("-vV").output().unwrap().stdout;
    let target = str::from_utf8(&version)
        .unwrap()
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .unwrap();
    let built = Command::new(env!("CARGO"))
        .args([
            "build",
            "--quiet",
            "--locked",
            "--profile",
            "dist",
            "--bin",
            "zlaunch",
            "--target",
            target,
            "--manifest-path",
        ])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .arg("--target-dir")
        .arg(&folder)
        .env(
            "CARGO_ENCODED_RUSTFLAGS",
            "-Ctarget-feature=+crt-static\x1f-Crelocation-model=static",
        )
        .env("CARGO_PROFILE_DIST_STRIP", "debuginfo")
        .status();
    assert!(built.unwrap().success(), "zlaunch does not build");
    folder.join(target).join("dist/zlaunch")
}

fn wall_time(lab: &Lab) {
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        bare.push(timed(&mut lab.bare()));
        ours.push(timed(&mut lab.zlaunch()));
    }
    let (ours, bare) = (Times::of(ours), Times::of(bare));
    println!(
        "time to exec       {:>9.3} ms fastest, {:.3} ms median",
        ours.fastest, ours.median
    );
    println!(
        "a bare exec        {:>9.3} ms fastest, {:.3} ms median",
        bare.fastest, bare.median
    );
    println!(
        "ratio              {:>9.2} fastest, {:.2} median",
        ours.fastest / bare.fastest,
        ours.median / bare.median
    );
}

/// How the instructions of a dry run grow with what is given to it.
fn growth(lab: &Lab) {
    println!("\ngrowth, in instructions of a dry run");
    for depth in [1, 10, 100] {
        lab.chain(depth);
    }
    let grows = |what: &str, sizes: [usize; 3], case: &dyn Fn(usize) -> Case| {
        print_growth(what, sizes, sizes.map(|size| lab.instructions(&case(size))));
    };
    grows("templates that extend another", [1, 10, 100], &|depth| {
        Case {
            template: Some(format!("depth{depth}_{depth}")),
            ..Case::default()
        }
    });
    grows("more words of the command", [10, 100, 1000], &|count| {
        Case {
            words: SWIFT
                .iter()
                .chain(["--lora_alpha", "8"].iter().cycle().take(count))
                .map(ToString::to_string)
                .collect(),
            ..Case::default()
        }
    });
    grows(
        "machines of Slurm, on the last",
        [2, 100, 10_000],
        &|machines| Case {
            variables: last_of(machines),
            ..Case::default()
        },
    );
    grows("environment variables", [10, 1000, 10_000], &|count| Case {
        variables: (0..count)
            .map(|at| (format!("SOME_VARIABLE_{at}"), "of no interest".to_string()))
            .collect(),
        ..Case::default()
    });
}

/// Whatever a text looks like, the search for secrets in it must not cost more than in proportion to its length. The texts
/// are in files, which are shown as the words of a plan, as the config of a script, and in errors.
fn hiding_secrets(lab: &Lab) {
    println!("\nhiding secrets, in instructions by the bytes of each text");
    let shown = |what: &str, case: &dyn Fn(&[String]) -> Case| {
        let sizes = [300, 3000, 30_000];
        let counts = sizes.map(|bytes| {
            let texts: Vec<String> = ALMOST_SECRETS
                .iter()
                .map(|text| text.repeat(bytes / text.len()))
                .collect();
            let variables = vec![("HF_TOKEN".to_string(), "x://a@".to_string())];
            lab.instructions(&Case {
                variables,
                ..case(&texts)
            })
        });
        print_growth(what, sizes, counts);
        assert!(
            counts[2] < counts[1] * 12,
            "{what}: ten times the bytes cost {} times",
            counts[2] / counts[1]
        );
    };
    shown("in the words of a plan", &|texts| {
        let run_file = lab.sandbox.file(
            "run.json",
            json!({"model": "m", "dataset": texts}).to_string(),
        );
        Case {
            words: vec!["sft".to_string(), run_file.display().to_string()],
            ..Case::default()
        }
    });
    shown("in the config of a script", &|texts| {
        let mut config =
            json!({"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto"});
        for (number, text) in texts.iter().enumerate() {
            config[format!("x{number}")] = text.as_str().into();
        }
        let template = Some(
            lab.sandbox
                .file("ds.json", config.to_string())
                .display()
                .to_string(),
        );
        Case {
            template,
            options: ["--format", "shell"].map(str::to_string).to_vec(),
            ..Case::default()
        }
    });
    shown("in errors", &|texts| {
        let wrong: serde_json::Map<_, _> = NOT_TEXT
            .iter()
            .zip(texts)
            .map(|(key, text)| ((*key).to_string(), text.as_str().into()))
            .collect();
        let config = json!({"zero_optimization": wrong}).to_string();
        let template = Some(lab.sandbox.file("ds.json", config).display().to_string());
        Case {
            template,
            status: 125,
            ..Case::default()
        }
    });
}

/// One line: the instructions for each size, and the last as a multiple of the first.
fn print_growth(what: &str, sizes: [usize; 3], counts: [u64; 3]) {
    #[expect(clippy::cast_precision_loss, reason = "a ratio to two digits")]
    let ratio = counts[2] as f64 / counts[0] as f64;
    let all: Vec<String> = sizes
        .iter()
        .zip(counts)
        .map(|(size, count)| format!("{size}: {count}"))
        .collect();
    println!("{what:<32}{}  ({ratio:.2} times)", all.join(", "));
}

/// Inclusive costs by function, of a binary with names.
fn phases(lab: &Lab) {
    println!("\nby phase, in instructions of a dry run");
    let costs = lab.path("callgrind.out");
    let case = Case {
        costs: costs.clone(),
        ..Case::default()
    };
    let total = lab.instructions(&case);
    let listed = Command::new("callgrind_annotate")
        .args(["--inclusive=yes", "--threshold=100", "--show-percs=no"])
        .arg(&costs)
        .output()
        .unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    for (phase, function) in PHASES {
        // `1,234  file:function [object]`
        let cost = listed.lines().find_map(|line| {
            let (cost, place) = line.trim().split_once(' ')?;
            let (_, name) = place.split(" [").next()?.split_once(':')?;
            name.replace('>', "")
                .ends_with(function)
                .then(|| cost.replace(',', "").parse::<u64>().ok())?
        });
        let cost = cost
            .unwrap_or_else(|| panic!("no function {function}: renamed, or part of another one"));
        println!("{phase:<32}{cost:>9}  {:>3} %", cost * 100 / total);
    }
}

/// The variables of the task on the last machine of a step.
fn last_of(machines: usize) -> Vec<(String, String)> {
    let nodes = format!("node[00001-{machines:05}]");
    let variables = [
        ("SLURM_JOB_ID", "4242".to_string()),
        ("SLURM_STEP_ID", "0".to_string()),
        ("SLURM_STEP_NUM_NODES", machines.to_string()),
        ("SLURM_STEP_NODELIST", nodes),
        ("SLURM_STEP_TASKS_PER_NODE", format!("1(x{machines})")),
        ("SLURM_NODEID", (machines - 1).to_string()),
        ("SLURM_LOCALID", "0".to_string()),
    ];
    variables
        .map(|(name, value)| (name.to_string(), value))
        .to_vec()
}

struct Times {
    fastest: f64,
    median: f64,
}

impl Times {
    fn of(mut all: Vec<Duration>) -> Self {
        all.sort();
        let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
        Times {
            fastest: milliseconds(all[0]),
            median: milliseconds(all[all.len() / 2]),
        }
    }
}

/// A launch whose instructions are counted.
struct Case {
    /// Instead of the packaged one.
    program: Option<PathBuf>,
    /// Carried out until exec, which fails; else a dry run.
    launched: bool,
    status: i32,
    /// Instead of the usual one.
    template: Option<String>,
    /// More options of zlaunch.
    options: Vec<String>,
    /// What follows `swift`.
    words: Vec<String>,
    variables: Vec<(String, String)>,
    costs: PathBuf,
}

impl Default for Case {
    fn default() -> Self {
        Case {
            program: None,
            launched: false,
            status: 0,
            template: None,
            options: Vec::new(),
            words: SWIFT.iter().map(ToString::to_string).collect(),
            variables: Vec::new(),
            costs: PathBuf::from("/dev/null"),
        }
    }
}

/// A machine whose interpreter does nothing, another one whose interpreter is missing, and a wrapper that only execs.
struct Lab {
    sandbox: Sandbox,
    broken: Sandbox,
    zlaunch: PathBuf,
    /// Its path, or nothing.
    valgrind: String,
}

impl Lab {
    fn new() -> Self {
        let found = Command::new("/bin/sh")
            .args(["-c", "command -v valgrind"])
            .output()
            .unwrap()
            .stdout;
        let valgrind = String::from_utf8(found).unwrap().trim().to_string();
        let lab = Lab {
            sandbox: Sandbox::new(),
            broken: Sandbox::new(),
            zlaunch: build_packaged(),
            valgrind,
        };
        fs::remove_file(lab.sandbox.python()).unwrap();
        fs::remove_file(lab.broken.python()).unwrap();
        fs::create_dir(lab.path("templates")).unwrap();
        lab.compile(
            "bare",
            BARE,
            &[
                "-C",
                "strip=symbols",
                "-C",
                "lto=fat",
                "-C",
                "codegen-units=1",
            ],
        );
        lab.compile(
            "env/bin/python3.11",
            "fn main() {}",
            &["-C", "target-feature=+crt-static"],
        );
        lab
    }

    fn path(&self, name: &str) -> PathBuf {
        self.sandbox.path(name)
    }

    fn compile(&self, name: &str, source: &str, flags: &[&str]) {
        let file = self.sandbox.put("source.rs", source);
        let rustc = Command::new("rustc")
            .args([
                "--edition=2024",
                "--crate-name=measured",
                "-O",
                "-C",
                "panic=abort",
            ])
            .args(flags)
            .arg(&file)
            .arg("-o")
            .arg(self.path(name))
            .status();
        assert!(rustc.unwrap().success(), "{name} does not compile");
    }

    /// Templates `depthN_1` to `depthN_N`, each of which extends the one before.
    fn chain(&self, depth: usize) {
        for at in 1..=depth {
            let parent = if at == 1 {
                "zero3_offload".to_string()
            } else {
                format!("depth{depth}_{}", at - 1)
            };
            let text =
                format!(r#"{{"$zlaunch": {{"extends": "{parent}"}}, "steps_per_print": {at}}}"#);
            self.sandbox
                .put(&format!("templates/depth{depth}_{at}.json"), text);
        }
    }

    fn command(sandbox: &Sandbox, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(sandbox.variables())
            .env_remove("STUB_OUT")
            .current_dir(sandbox.cwd());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    fn zlaunch(&self) -> Command {
        let mut command = Self::command(&self.sandbox, &self.zlaunch);
        command.args(OPTIONS).arg("swift").args(SWIFT);
        command
    }

    /// The size of the executable without the names.
    fn stripped_size(&self) -> u64 {
        let stripped = self.path("stripped");
        let strip = Command::new("strip")
            .arg("-o")
            .arg(&stripped)
            .arg(&self.zlaunch)
            .status();
        assert!(strip.unwrap().success(), "zlaunch cannot be stripped");
        fs::metadata(stripped).unwrap().len()
    }

    fn bare(&self) -> Command {
        let mut command = Self::command(&self.sandbox, self.path("bare"));
        command.arg(self.sandbox.python()).args(SWIFT);
        command
    }

    /// The largest resident set, in kB, measured by a process that starts nothing else.
    fn memory(&self, command: &Command) -> String {
        let mut again = Self::command(&self.sandbox, std::env::current_exe().unwrap());
        again
            .arg("--memory-of")
            .arg(command.get_program())
            .args(command.get_args())
            .stdout(Stdio::piped());
        String::from_utf8_lossy(&again.output().unwrap().stdout)
            .trim()
            .to_string()
    }

    fn instructions(&self, case: &Case) -> u64 {
        let mut usual = OPTIONS.to_vec();
        if let Some(template) = &case.template {
            usual[1] = template;
        }
        let mut command = self.callgrind(
            if case.launched {
                &self.broken
            } else {
                &self.sandbox
            },
            &case.costs,
        );
        command
            .arg(case.program.as_ref().unwrap_or(&self.zlaunch))
            .args((!case.launched).then_some("--dry-run"))
            .arg("--template-dir")
            .arg(self.path("templates"))
            .args(&case.options)
            .args(&usual)
            .arg("swift")
            .args(&case.words)
            .envs(case.variables.iter().map(|(name, value)| (name, value)));
        let (count, status) = counted(&mut command);
        // An error that nobody meant to measure costs less than a launch.
        assert_eq!(status, Some(case.status), "{command:?}");
        count
    }

    fn instructions_of_bare(&self) -> u64 {
        let mut command = self.callgrind(&self.broken, Path::new("/dev/null"));
        command
            .arg(self.path("bare"))
            .arg(self.broken.python())
            .args(SWIFT);
        counted(&mut command).0
    }

    fn callgrind(&self, sandbox: &Sandbox, costs: &Path) -> Command {
        let mut command = Self::command(sandbox, &self.valgrind);
        command
            .arg("--tool=callgrind")
            .arg(format!("--callgrind-out-file={}", costs.display()));
        command
    }
}

/// What callgrind says at the end, and the exit status.
fn counted(command: &mut Command) -> (u64, Option<i32>) {
    let output = command.stderr(Stdio::piped()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let count = text
        .lines()
        .find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    (
        count.unwrap_or_else(|| panic!("{command:?}\n{text}")),
        output.status.code(),
    )
}

fn timed(command: &mut Command) -> Duration {
    let start = Instant::now();
    let status = command.status().unwrap();
    let time = start.elapsed();
    assert!(status.success(), "{command:?}");
    time
}
