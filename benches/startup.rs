//! What a launch costs before exec, as ratios in one run: `cargo bench`.
//!
//! Instructions are counted by callgrind for a dry run with an empty environment (callgrind sees nothing once exec
//! succeeds). Wall time is the fastest of many launches of a program that does nothing, through zlaunch and through a
//! Rust wrapper that only execs, taken in turns. Peak memory is the largest resident set of any child so far.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its figures, and stops where it cannot"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

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
const OPTIONS: &[&str] = &["--deepspeed", "zero3_offload", "--nproc-per-node", "8", "--"];

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|word| word == "--memory-of") {
        let words: Vec<_> = arguments.collect();
        assert!(Command::new(&words[0]).args(&words[1..]).status().unwrap().success());
        return println!("{}", getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0, |usage| usage.max_rss()));
    }
    let lab = Lab::new();
    let zlaunch = Path::new(env!("CARGO_BIN_EXE_zlaunch"));
    println!("binary             {:>9} bytes", fs::metadata(zlaunch).map_or(0, |seen| seen.len()));

    let (mut ours, mut bare) = (Vec::new(), Vec::new());

    for _ in 0..RUNS {
        bare.push(timed(&mut lab.bare()));
        ours.push(timed(&mut lab.zlaunch(zlaunch)));
    }
    let (ours, bare) = (Times::of(ours), Times::of(bare));
    println!("time to exec       {:>9.3} ms fastest, {:.3} ms median", ours.fastest, ours.median);
    println!("a bare exec        {:>9.3} ms fastest, {:.3} ms median", bare.fastest, bare.median);
    println!(
        "ratio              {:>9.2} fastest, {:.2} median",
        ours.fastest / bare.fastest,
        ours.median / bare.median
    );
    println!(
        "peak memory        {:>9} kB (a bare exec: {} kB)",
        lab.memory(&lab.zlaunch(zlaunch)),
        lab.memory(&lab.bare())
    );
    let Some(count) = lab.instructions(zlaunch, &[]) else {
        return println!("instructions       not counted: valgrind is not here");
    };
    println!("instructions       {count:>9} (dry run)");
    let [two, many] = [2, 10_000].map(|machines| {
        let last = lab.instructions(zlaunch, &last_of(machines)).unwrap_or(0);
        println!("on the last of     {last:>9} ({machines} machines of Slurm)");
        last
    });
    #[expect(clippy::cast_precision_loss, reason = "a ratio to two digits")]
    let ratio = many as f64 / two as f64;
    println!("ratio              {ratio:>9.2}");
}

/// The variables of the task on the last machine of a step.
fn last_of(machines: u32) -> Vec<(&'static str, String)> {
    let nodes = format!("node[00001-{machines:05}]");
    vec![
        ("SLURM_JOB_ID", "4242".to_string()),
        ("SLURM_STEP_ID", "0".to_string()),
        ("SLURM_STEP_NUM_NODES", machines.to_string()),
        ("SLURM_STEP_NODELIST", nodes),
        ("SLURM_STEP_TASKS_PER_NODE", format!("1(x{machines})")),
        ("SLURM_NODEID", (machines - 1).to_string()),
        ("SLURM_LOCALID", "0".to_string()),
    ]
}

struct Times {
    fastest: f64,
    median: f64,
}

impl Times {
    fn of(mut all: Vec<Duration>) -> Self {
        all.sort();
        let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
        Times { fastest: milliseconds(all[0]), median: milliseconds(all[all.len() / 2]) }
    }
}

/// A folder with a wrapper that only execs, and a virtual environment whose interpreter does nothing.
struct Lab {
    folder: tempfile::TempDir,
}

impl Lab {
    fn new() -> Self {
        let lab = Lab { folder: tempfile::tempdir().unwrap() };
        lab.compile("bare", BARE, &["-C", "strip=symbols", "-C", "lto=fat", "-C", "codegen-units=1"]);
        lab.compile("python3", "fn main() {}", &["-C", "target-feature=+crt-static"]);
        let swift = lab.path("swift");
        put(&swift, &format!("#!{}\n", lab.path("python3").display()));
        fs::set_permissions(&swift, fs::Permissions::from_mode(0o755)).unwrap();
        lab
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn compile(&self, name: &str, source: &str, flags: &[&str]) {
        let file = self.path(&format!("{name}.rs"));
        put(&file, source);
        let rustc = Command::new("rustc")
            .args(["--edition=2024", "-O", "-C", "panic=abort"])
            .args(flags)
            .arg(&file)
            .arg("-o")
            .arg(self.path(name))
            .status();
        assert!(rustc.unwrap().success(), "{name} does not compile");
    }

    fn clean(&self, mut command: Command) -> Command {
        command
            .env_clear()
            .env("PATH", self.folder.path())
            .env("HOME", self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command
    }

    fn zlaunch(&self, program: &Path) -> Command {
        let mut command = self.clean(Command::new(program));
        command.args(OPTIONS).arg("swift").args(SWIFT);
        command
    }

    fn bare(&self) -> Command {
        let mut command = self.clean(Command::new(self.path("bare")));
        command.arg(self.path("python3")).args(SWIFT);
        command
    }

    /// The largest resident set, in kB, measured by a process that starts nothing else.
    fn memory(&self, command: &Command) -> String {
        let mut again = self.clean(Command::new(std::env::current_exe().unwrap()));
        again.arg("--memory-of").arg(command.get_program()).args(command.get_args()).stdout(Stdio::piped());
        String::from_utf8_lossy(&again.output().unwrap().stdout).trim().to_string()
    }

    fn instructions(&self, program: &Path, variables: &[(&str, String)]) -> Option<u64> {
        let mut command = Command::new("valgrind");
        command
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(program)
            .arg("--dry-run")
            .args(OPTIONS)
            .arg("swift")
            .args(SWIFT);
        let mut command = self.clean(command);
        command.env("PATH", "/usr/bin:/bin").envs(variables.iter().map(|(name, value)| (name, value)));
        let output = command.stderr(Stdio::piped()).output().ok()?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
    }
}

fn timed(command: &mut Command) -> Duration {
    let start = Instant::now();
    let status = command.status().unwrap();
    let time = start.elapsed();
    assert!(status.success(), "{command:?}");
    time
}

fn put(path: &Path, text: &str) {
    use std::io::Write;
    fs::File::create(path).and_then(|mut file| file.write_all(text.as_bytes())).unwrap();
}
