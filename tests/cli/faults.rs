//! What goes wrong around a launch. Each row ends in a launch with a whole config or in a sentence, and nothing is left
//! half written or lost. What needs root or another tool is in `tests/real/faults.py`; `docs/dev/faults.md` lists both.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use crate::sandbox::{
    SWIFT, Sandbox, Share, mode, option, output, pipe, plant, read_json, rights, side_by_side,
    start,
};

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
    Fault {
        what,
        prepare,
        shell: ":",
        ends,
    }
}

const fn under(shell: &'static str, prepare: fn(&mut Sandbox, &Path), ends: Ends) -> Fault {
    Fault {
        what: shell,
        prepare,
        shell,
        ends,
    }
}

const FAULTS: &[Fault] = &[
    fault("none", |_, _| {}, Launched),
    under(
        "ulimit -f 0",
        |_, file| remove(file),
        Refused("cannot be written: File too large"),
    ),
    // Home
    fault("read-only home", read_only, Launched),
    fault("no HOME", |sandbox, _| without(sandbox, "HOME"), Launched),
    fault(
        "empty HOME",
        |sandbox, _| with(sandbox, "HOME", ""),
        Launched,
    ),
    fault(
        "relative HOME",
        |sandbox, _| with(sandbox, "HOME", "x"),
        Launched,
    ),
    fault(
        "a home that is not there",
        |sandbox, _| with(sandbox, "HOME", "/proc/nowhere/home"),
        Launched,
    ),
    fault(
        "a home that is a file",
        |sandbox, _| with(sandbox, "HOME", "/etc/passwd"),
        Launched,
    ),
    fault(
        "neither home nor temporary folder",
        homeless,
        Refused("cannot be written"),
    ),
    // The cache
    fault("a truncated config", |_, file| truncate(file, 7), Launched),
    fault("an empty config", |_, file| plant(file, ""), Launched),
    fault(
        "a longer config",
        |_, file| plant(file, &(fs::read_to_string(file).unwrap() + "{}")),
        Launched,
    ),
    fault(
        "a config that others may write",
        |_, file| mode(file, 0o666),
        Launched,
    ),
    fault(
        "a config that nobody may read",
        |_, file| mode(file, 0),
        Launched,
    ),
    fault(
        "a config that is a link",
        |sandbox, file| link(file, &precious(sandbox)),
        Launched,
    ),
    fault(
        "a config that is a link into nowhere",
        |_, file| link(file, Path::new("/proc/nowhere/file")),
        Launched,
    ),
    fault(
        "a config that is a pipe",
        |_, file| become_pipe(file),
        Launched,
    ),
    fault(
        "a config that is a folder",
        |_, file| folder(file),
        Refused("cannot be written"),
    ),
    fault(
        "a cache that is a file",
        |sandbox, _| plant_instead(&sandbox.home().join(".cache")),
        Launched,
    ),
    fault(
        "a cache that is a link into nowhere",
        |_, file| link(above(file), Path::new("/proc/nowhere")),
        Refused("File exists"),
    ),
    fault(
        "a cache that is a link to others",
        |_, file| link(above(file), Path::new("/tmp")),
        Refused(NOT_OURS),
    ),
    fault(
        "a cache that others may write",
        |_, file| mode(above(file), 0o777),
        Launched,
    ),
    fault(KILLED, leave_behind, Launched),
    // The clock
    fault(
        "a config from the future",
        |_, file| touch(file, in_the_future()),
        Launched,
    ),
    fault(
        "a config from before 1970",
        |_, file| touch(file, before_1970()),
        Launched,
    ),
    fault("a lock from the future", lock_from_the_future, Launched),
    // Streams
    under("exec >&-", |_, _| {}, Launched),
    under("exec 2>&-", |_, _| {}, Launched),
    under("exec <&- >&- 2>&-", |_, _| {}, Launched),
    under("exec >/dev/full 2>/dev/full", |_, _| {}, Launched),
    // What is inherited
    under(
        "trap '' HUP INT QUIT USR1 USR2 PIPE TERM CHLD",
        |_, _| {},
        Launched,
    ),
    under("umask 777", |_, file| remove(file), RefusedUnlessRoot("")),
    under(
        "mkdir gone && cd gone && rmdir ../gone",
        |_, _| {},
        Launched,
    ),
];

const NOT_OURS: &str = "does not belong to you alone";
const KILLED: &str = "what a killed process left";

side_by_side!(every_fault_ends_in_a_launch_or_in_a_sentence);

fn every_fault_ends_in_a_launch_or_in_a_sentence(share: &Share) {
    for Fault {
        what,
        prepare,
        shell,
        ends,
    } in share.of(FAULTS)
    {
        let mut sandbox = Sandbox::new();
        let temporary = sandbox.path("tmp");
        fs::create_dir(&temporary).unwrap();
        sandbox.var("TMPDIR", &temporary);
        assert_eq!(sandbox.launch(ZERO2, SWIFT).status, Some(0), "{what}");
        let file = PathBuf::from(option(&sandbox.recorded(), "--deepspeed").unwrap());
        let whole = fs::read(&file).unwrap();
        sandbox.forget_execution();
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
                assert!(
                    fs::read(&written).unwrap() == whole,
                    "{what}: the config is not whole"
                );
                assert!(!written.is_symlink(), "{what}");
                assert_eq!(
                    rights(&written) & 0o077,
                    0,
                    "{what}: {:o}",
                    rights(&written)
                );
            }
            Some(sentence) => {
                run.refused(&[sentence]);
                assert!(!sandbox.executed(), "{what}: launched all the same");
            }
        }
        // What one killed process left stays; nobody else leaves anything.
        let left: Vec<_> = ["home", "tmp"]
            .iter()
            .flat_map(|folder| sandbox.files(folder))
            .filter(|file| is_temporary(file))
            .collect();
        assert_eq!(left.len(), usize::from(*what == KILLED), "{what}: {left:?}");
        let precious = sandbox.cwd().join("precious");
        assert!(
            !precious.exists() || fs::read(&precious).unwrap() == b"precious",
            "{what}: a link was followed"
        );
        restore(&sandbox);
    }
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
    mode(&sandbox.home(), 0o555);
    mode(above(file), 0o555);
}

fn precious(sandbox: &Sandbox) -> PathBuf {
    sandbox.file("precious", "precious")
}

/// So that the sandbox can be removed.
fn restore(sandbox: &Sandbox) {
    output(
        Command::new("chmod")
            .args(["-R", "u+rwX"])
            .arg(sandbox.root()),
    );
}

fn remove(path: &Path) {
    if path.is_dir() {
        fs::remove_dir_all(path).unwrap();
    } else {
        fs::remove_file(path).unwrap();
    }
}

fn truncate(file: &Path, length: u64) {
    fs::File::options()
        .write(true)
        .open(file)
        .unwrap()
        .set_len(length)
        .unwrap();
}

fn link(at: &Path, to: &Path) {
    remove(at);
    symlink(to, at).unwrap();
}

fn become_pipe(at: &Path) {
    remove(at);
    pipe(at);
}

fn folder(at: &Path) {
    remove(at);
    plant(&at.join("x"), "");
}

fn plant_instead(at: &Path) {
    remove(at);
    plant(at, "");
}

/// Two centuries from 1970.
fn in_the_future() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(200 * 365 * 86_400)
}

fn before_1970() -> SystemTime {
    SystemTime::UNIX_EPOCH - Duration::from_secs(10 * 365 * 86_400)
}

fn touch(file: &Path, time: SystemTime) {
    fs::File::options()
        .write(true)
        .open(file)
        .unwrap()
        .set_modified(time)
        .unwrap();
}

fn lock_from_the_future(sandbox: &mut Sandbox, _: &Path) {
    let lock = sandbox.put("home/.cache/torch_extensions/py311_cu121/cpu_adam/lock", "");
    touch(&lock, in_the_future());
}

/// Half a config under the name it has until it is whole.
fn leave_behind(_: &mut Sandbox, file: &Path) {
    let name = format!(".{}.1.0", file.file_name().unwrap().to_str().unwrap());
    let half = fs::read_to_string(file).unwrap().split_off(20);
    remove(file);
    plant(&file.with_file_name(name), &half);
}

fn is_temporary(path: &Path) -> bool {
    path.file_name()
        .unwrap()
        .to_string_lossy()
        .contains(".json.")
}

#[test]
fn a_plan_is_printed_or_the_reason_is_told() {
    let sandbox = Sandbox::new();
    let printed = |shell: &str| {
        sandbox.shell(
            shell,
            ["-n"].iter().chain(ZERO2).chain(&["--"]).chain(SWIFT),
        )
    };
    for what in [
        "\"$@\"",
        "check \"$@\"",
        "completions bash",
        "explain stage",
        "--help",
    ] {
        printed(&format!("exec \"$0\" {what} >/dev/full")).refused(&["No space left"]);
    }
    for (shell, status) in [
        ("exec \"$0\" \"$@\" >&-", 0),
        // Whether it is the reader or the writer that comes first.
        (
            "{ \"$0\" \"$@\"; echo $? >status; } | :; exit $(cat status)",
            0,
        ),
        ("exec \"$0\" --no-such-option \"$@\" 2>&-", 125),
        ("exec \"$0\" --no-such-option \"$@\" 2>/dev/full", 125),
        ("exec \"$0\" explain stage >&- 2>&-", 0),
    ] {
        let run = printed(shell);
        assert_eq!(
            (run.status, run.signal),
            (Some(status), None),
            "{shell}: {run:?}"
        );
        assert!(!run.stderr.contains("panicked"), "{shell}: {run:?}");
    }
}

#[test]
fn few_descriptors_end_in_a_launch_or_in_a_sentence() {
    const LOCAL: &[&str] = &["--launcher", "local"];
    let sandbox = Sandbox::new();
    // A program that opens no file: a shell would want descriptors of its own.
    sandbox.executable("env/bin/python3.11", "#!/usr/bin/env true\n");
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
fn hundreds_of_ranks_share_one_folder() {
    let mut sandbox = Sandbox::new();
    sandbox
        .unset("STUB_OUT")
        .var("WORLD_SIZE", "250")
        .var("MASTER_ADDR", "h0")
        .var("MASTER_PORT", "29500");
    let words: Vec<&str> = ["--deepspeed", "zero2", "--"]
        .iter()
        .chain(SWIFT)
        .copied()
        .collect();
    // A pipe for each would be more descriptors than a process may usually have.
    let said = sandbox.file("said", "");
    let start = |rank: u32| {
        let log = fs::File::options().append(true).open(&said).unwrap();
        let mut command = sandbox.command(&words);
        command
            .env("RANK", rank.to_string())
            .env("LOCAL_RANK", (rank % 8).to_string());
        start(command.stdout(Stdio::null()).stderr(log))
    };
    let ranks: Vec<Child> = (0..250).map(start).collect();
    let failed = ranks
        .into_iter()
        .map(|mut rank| rank.wait().unwrap())
        .filter(|status| !status.success())
        .count();
    // Rank 0 alone says what is launched.
    let line = "zlaunch: zero2 · rank 0 of 250, already started\n";
    assert_eq!(
        (failed, fs::read_to_string(&said).unwrap().as_str()),
        (0, line)
    );
    assert_eq!(
        read_json(sandbox.cached_config())["train_batch_size"],
        4_000
    );
}
