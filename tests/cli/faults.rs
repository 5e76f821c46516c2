//! What goes wrong around a launch. Each row ends in a launch with a whole config or in a sentence, and nothing is left
//! half written or lost. What needs root or another tool is in `tests/real/faults.py`; `docs/faults.md` lists both.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::sandbox::{Run, SWIFT, Sandbox, option, plant};

const ZERO2: &[&str] = &["--deepspeed", "zero2", "--nproc-per-node", "2"];

/// How it must end.
enum Ends {
    Launched,
    /// With a sentence that holds this.
    Refused(&'static str),
    /// The same, but whoever may do everything meets no fault.
    RefusedUnlessRoot(&'static str),
}
use Ends::{Launched, Refused, RefusedUnlessRoot};

struct Fault {
    what: &'static str,
    /// Given the sandbox after a first launch, and the file that launch wrote.
    prepare: fn(&mut Sandbox, &Path),
    /// Shell words before zlaunch is executed.
    shell: &'static str,
    ends: Ends,
}

const fn fault(what: &'static str, prepare: fn(&mut Sandbox, &Path), ends: Ends) -> Fault {
    Fault { what, prepare, shell: ":", ends }
}

const fn under(shell: &'static str, prepare: fn(&mut Sandbox, &Path), ends: Ends) -> Fault {
    Fault { what: shell, prepare, shell, ends }
}

const FAULTS: &[Fault] = &[
    fault("none", |_, _| {}, Launched),
    under("ulimit -f 0", |_, file| remove(file), Refused("cannot be written: File too large")),
    // Home
    fault("read-only home", read_only, Launched),
    fault("no HOME", |sandbox, _| without(sandbox, "HOME"), Launched),
    fault("empty HOME", |sandbox, _| with(sandbox, "HOME", ""), Launched),
    fault("relative HOME", |sandbox, _| with(sandbox, "HOME", "x"), Launched),
    fault("a home that is not there", |sandbox, _| with(sandbox, "HOME", "/no/such/home"), Launched),
    fault("a home that is a file", |sandbox, _| with(sandbox, "HOME", "/etc/passwd"), Launched),
    fault("neither home nor temporary folder", homeless, Refused("cannot be written")),
    // The cache
    fault("a truncated config", |_, file| truncate(file, 7), Launched),
    fault("an empty config", |_, file| plant(file, ""), Launched),
    fault("a longer config", |_, file| plant(file, &(fs::read_to_string(file).unwrap() + "{}")), Launched),
    fault("a config that others may write", |_, file| mode(file, 0o666), Launched),
    fault("a config that nobody may read", |_, file| mode(file, 0), Launched),
    fault("a config that is a link", |sandbox, file| link(file, &precious(sandbox)), Launched),
    fault("a config that is a link into nowhere", |_, file| link(file, Path::new("/no/such/file")), Launched),
    fault("a config that is a pipe", |_, file| pipe(file), Launched),
    fault("a config that is a folder", |_, file| folder(file), Refused("cannot be written")),
    fault("a cache that is a file", |sandbox, _| plant_instead(&home(sandbox).join(".cache")), Launched),
    fault(
        "a cache that is a link into nowhere",
        |_, file| link(above(file), Path::new("/no/such")),
        Refused("File exists"),
    ),
    fault("a cache that is a link to others", |_, file| link(above(file), Path::new("/tmp")), Refused(NOT_OURS)),
    fault("a cache that others may write", |_, file| mode(above(file), 0o777), Refused(NOT_OURS)),
    fault(KILLED, leave_behind, Launched),
    // The clock
    fault("a config from the future", |_, file| touch(file, "2199-01-01"), Launched),
    fault("a config from before 1970", |_, file| touch(file, "1960-01-01"), Launched),
    fault("a lock from the future", lock_from_the_future, Launched),
    // Streams
    under("exec >&-", |_, _| {}, Launched),
    under("exec 2>&-", |_, _| {}, Launched),
    under("exec <&- >&- 2>&-", |_, _| {}, Launched),
    under("exec >/dev/full 2>/dev/full", |_, _| {}, Launched),
    // What is inherited
    under("trap '' HUP INT QUIT USR1 USR2 PIPE TERM CHLD", |_, _| {}, Launched),
    under("umask 777", |_, file| remove(file), RefusedUnlessRoot("")),
    under("mkdir gone && cd gone && rmdir ../gone", |_, _| {}, Launched),
];

const NOT_OURS: &str = "does not belong to you alone";
const KILLED: &str = "what a killed process left";

#[test]
fn every_fault_ends_in_a_launch_or_in_a_sentence() {
    for Fault { what, prepare, shell, ends } in FAULTS {
        let mut sandbox = Sandbox::new();
        let temporary = sandbox.root().join("tmp");
        fs::create_dir(&temporary).unwrap();
        sandbox.var("TMPDIR", &temporary);
        assert_eq!(sandbox.launch(ZERO2, SWIFT).status, Some(0), "{what}");
        let file = PathBuf::from(option(&sandbox.recorded(), "--deepspeed").unwrap());
        let whole = fs::read(&file).unwrap();
        fs::remove_file(sandbox.root().join("record/argv")).unwrap();
        prepare(&mut sandbox, &file);

        let words = ZERO2.iter().chain(&["--"]).chain(SWIFT);
        let run = sandbox.shell(&format!("{shell}; exec \"$0\" \"$@\""), words);
        let refused = match ends {
            Launched => None,
            Refused(sentence) => Some(sentence),
            RefusedUnlessRoot(sentence) => (run.status != Some(0)).then_some(sentence),
        };
        assert_eq!(run.signal, None, "{what}: {run:?}");
        match refused {
            None => {
                assert_eq!(run.status, Some(0), "{what}: {run:?}");
                let written = PathBuf::from(option(&sandbox.recorded(), "--deepspeed").unwrap());
                assert!(fs::read(&written).unwrap() == whole, "{what}: the config is not whole");
                assert!(!written.is_symlink(), "{what}");
                let rights = fs::metadata(&written).unwrap().permissions().mode() & 0o777;
                assert_eq!(rights & 0o077, 0, "{what}: {rights:o}");
            }
            Some(sentence) => {
                run.refused(&[sentence]);
                assert!(!sandbox.executed(), "{what}: launched all the same");
            }
        }
        // What one killed process left stays; nobody else leaves anything.
        let left: Vec<_> =
            ["home", "tmp"].iter().flat_map(|folder| sandbox.files(folder)).filter(|file| is_temporary(file)).collect();
        assert_eq!(left.len(), usize::from(*what == KILLED), "{what}: {left:?}");
        let precious = sandbox.cwd().join("precious");
        assert!(!precious.exists() || fs::read(&precious).unwrap() == b"precious", "{what}: a link was followed");
        restore(&sandbox);
    }
}

fn home(sandbox: &Sandbox) -> PathBuf {
    sandbox.root().join("home")
}

fn above(file: &Path) -> &Path {
    file.parent().unwrap()
}

fn with(sandbox: &mut Sandbox, name: &str, value: &str) {
    sandbox.var(name, value);
}

fn without(sandbox: &mut Sandbox, name: &str) {
    sandbox.unset(name);
}

fn homeless(sandbox: &mut Sandbox, _: &Path) {
    sandbox.unset("HOME").var("TMPDIR", "/dev/null/x");
}

fn read_only(sandbox: &mut Sandbox, file: &Path) {
    remove(file);
    mode(&home(sandbox), 0o555);
    mode(above(file), 0o555);
}

fn precious(sandbox: &Sandbox) -> PathBuf {
    sandbox.file("precious", "precious")
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// So that the sandbox can be removed.
fn restore(sandbox: &Sandbox) {
    let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(sandbox.root()).status();
}

fn remove(path: &Path) {
    if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
}

fn truncate(file: &Path, length: u64) {
    fs::File::options().write(true).open(file).unwrap().set_len(length).unwrap();
}

fn link(at: &Path, to: &Path) {
    remove(at);
    symlink(to, at).unwrap();
}

fn pipe(at: &Path) {
    remove(at);
    assert!(Command::new("mkfifo").arg(at).status().unwrap().success());
}

fn folder(at: &Path) {
    remove(at);
    plant(&at.join("x"), "");
}

fn plant_instead(at: &Path) {
    remove(at);
    plant(at, "");
}

fn touch(file: &Path, date: &str) {
    assert!(Command::new("touch").args(["-d", date]).arg(file).status().unwrap().success());
}

fn lock_from_the_future(sandbox: &mut Sandbox, _: &Path) {
    let lock = home(sandbox).join(".cache/torch_extensions/py311_cu121/cpu_adam/lock");
    plant(&lock, "");
    touch(&lock, "2199-01-01");
}

/// Half a config under the name it has until it is whole.
fn leave_behind(_: &mut Sandbox, file: &Path) {
    let name = format!(".{}.1.0", file.file_name().unwrap().to_str().unwrap());
    let half = fs::read_to_string(file).unwrap().split_off(20);
    remove(file);
    plant(&file.with_file_name(name), &half);
}

fn is_temporary(path: &Path) -> bool {
    path.file_name().unwrap().to_string_lossy().contains(".json.")
}

#[test]
fn a_plan_is_printed_or_the_reason_is_told() {
    let sandbox = Sandbox::new();
    let printed = |shell: &str| sandbox.shell(shell, ["-n"].iter().chain(ZERO2).chain(&["--"]).chain(SWIFT));
    for what in ["\"$@\"", "check \"$@\"", "completions bash", "explain stage", "--help"] {
        printed(&format!("exec \"$0\" {what} >/dev/full")).refused(&["No space left"]);
    }
    for (shell, status) in [
        ("exec \"$0\" \"$@\" >&-", 0),
        // Whether it is the reader or the writer that comes first.
        ("{ \"$0\" \"$@\"; echo $? >status; } | :; exit $(cat status)", 0),
        ("exec \"$0\" --no-such-option \"$@\" 2>&-", 125),
        ("exec \"$0\" --no-such-option \"$@\" 2>/dev/full", 125),
        ("exec \"$0\" explain stage >&- 2>&-", 0),
    ] {
        let run = printed(shell);
        assert_eq!((run.status, run.signal), (Some(status), None), "{shell}: {run:?}");
        assert!(!run.stderr.contains("panicked"), "{shell}: {run:?}");
    }
}

#[test]
fn few_descriptors_end_in_a_launch_or_in_a_sentence() {
    const LOCAL: &[&str] = &["--launcher", "local", "--prefix", "--log-dir", "logs"];
    let sandbox = Sandbox::new();
    // A shell would want some of its own.
    fs::copy("/bin/true", sandbox.root().join("env/bin/python3.11")).unwrap();
    for more in [&[][..], LOCAL] {
        let options: Vec<&str> = ZERO2.iter().chain(more).copied().collect();
        // With three not even the loader can open a library.
        for limit in 4..24 {
            let words = options.iter().chain(&["--"]).chain(SWIFT);
            let run = sandbox.shell(&format!("ulimit -n {limit}; exec \"$0\" \"$@\""), words);
            assert_eq!(run.signal, None, "{limit}: {run:?}");
            if run.status != Some(0) {
                run.refused(&["Too many open files"]);
            }
        }
    }
    assert!(sandbox.files("home").iter().all(|file| !is_temporary(file)));
}

#[test]
fn a_thousand_ranks_share_one_folder() {
    let mut sandbox = Sandbox::new();
    sandbox.unset("STUB_OUT").var("WORLD_SIZE", "1000").var("MASTER_ADDR", "h0").var("MASTER_PORT", "29500");
    let words: Vec<&str> = ["--deepspeed", "zero2", "--"].iter().chain(SWIFT).copied().collect();
    let mut ranks = Vec::new();
    for rank in 0..1000 {
        let mut command = sandbox.command(&words);
        command.env("RANK", rank.to_string()).env("LOCAL_RANK", (rank % 8).to_string());
        ranks.push(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    }
    for rank in ranks {
        let run = Run::from(rank.wait_with_output().unwrap());
        assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    }
    let files = sandbox.files("home");
    assert_eq!(files.len(), 1, "{files:?}");
    let config: serde_json::Value = serde_json::from_slice(&fs::read(&files[0]).unwrap()).unwrap();
    assert_eq!(config["train_batch_size"], 16_000);
}

/// `tests/real/faults.py` kills at every system call; here it is any moment, and half a config would be seen.
#[test]
fn killed_at_any_moment_it_leaves_a_whole_config_or_none() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.launch(ZERO2, SWIFT).status, Some(0));
    let file = PathBuf::from(option(&sandbox.recorded(), "--deepspeed").unwrap());
    let whole = fs::read(&file).unwrap();
    for moment in 0..100 {
        let _ = fs::remove_file(&file);
        let mut zlaunch = sandbox.command(ZERO2.iter().chain(&["--"]).chain(SWIFT)).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(moment * 100));
        zlaunch.kill().unwrap();
        zlaunch.wait().unwrap();
        assert!(fs::read(&file).map_or(true, |found| found == whole), "after {moment}");
    }
    assert_eq!(sandbox.launch(ZERO2, SWIFT).status, Some(0));
    assert_eq!(fs::read(&file).unwrap(), whole);
}
