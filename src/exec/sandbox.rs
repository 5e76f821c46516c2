//! The sandbox of a rehearsal. The keeper stays outside: it ends whatever was started inside and removes the folder, even if
//! zlaunch is killed. Inside, the kernel decides what the trainer's code may change and whom it may reach.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::{
        fd::{AsFd, AsRawFd},
        unix::process::{CommandExt, ExitStatusExt},
    },
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, poll},
    sched::{CloneFlags, unshare},
    sys::{
        prctl,
        signal::{SigSet, Signal, kill},
        wait::{self, WaitStatus},
    },
    unistd::{Pid, geteuid, getgid, getuid, setsid},
};
use rustix::{
    mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change, mount_remount},
    net,
    thread::{self, CapabilitySet},
};
use serde_json::json;

use super::tables::sandbox::{LACKS, NO_PROC, OF_NAMES, RAISE_LOOPBACK, STARTED, WRITABLE};
use crate::{
    host::{can_be_written, children, machine::mounts},
    report,
};

/// The `argv[0]` of the processes between zlaunch and the trainer.
pub const KEEPER: &str = "zlaunch-rehearsal";
pub const INSIDE: &str = "zlaunch-sandbox";
pub const FIRST: &str = "zlaunch-first";

/// Stays outside of the sandbox that it starts. `words`: the folder, `true` if the network stays open, and the program with
/// its arguments. Everything ends when the program ends, or when standard input is closed. Returns the exit status as a
/// shell has it.
pub fn keep(words: &[OsString]) -> Option<u8> {
    let folder = Path::new(words.first()?);
    // What ends zlaunch, such as Ctrl-C, must not end the keeper. The sandbox has no terminal.
    let _ = setsid();
    let _ = SigSet::all().thread_block();
    let _ = prctl::set_child_subreaper(true);
    let mut status = None;
    // With processes of its own; else once more, as in a container that may not mount a /proc for them.
    for alone in ["true", "false"] {
        let child = Command::new("/proc/self/exe")
            .arg0(INSIDE)
            .arg(alone)
            .args(words)
            .stdin(Stdio::null())
            .spawn();
        let Ok(mut child) = child else { break };
        status = None;
        let stdin = io::stdin();
        let mut input = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
        while status.is_none() && poll(&mut input, 20_u8) == Ok(0) {
            status = child.try_wait().ok().flatten();
        }
        let code = status.and_then(|status| status.code());
        if code != Some(NO_PROC.into()) || folder.join(STARTED).exists() {
            break;
        }
    }
    // As it is a subreaper, processes in sessions of their own become its children.
    let end_all = || {
        for child in children() {
            let _ = kill(child, Signal::SIGKILL);
        }
    };
    end_all();
    while wait::waitpid(None, None).is_ok() {
        end_all();
    }
    remove(folder);
    Some(code_of(status))
}

/// As a shell has it.
fn code_of(status: Option<ExitStatus>) -> u8 {
    let code = status.and_then(|status| status.code().or_else(|| Some(128 + status.signal()?)));
    code.and_then(|code| code.try_into().ok())
        .unwrap_or(report::REFUSED)
}

pub fn remove(folder: &Path) {
    // The program may have taken its own rights to a folder away.
    let _ = Command::new("find")
        .arg(folder)
        .args("-type d ! -perm -700 -exec chmod u+rwx {} ;".split(' '))
        .output();
    let _ = fs::remove_dir_all(folder);
}

/// Goes inside of the sandbox. `words`: `true` for processes of its own, and as for the keeper.
pub fn confine(words: &[OsString]) -> Option<u8> {
    let [alone, folder, online, ..] = words else {
        return None;
    };
    let words = &words[1..];
    let alone = alone == "true";
    let _ = prctl::set_pdeathsig(Signal::SIGKILL);
    let _ = SigSet::all().thread_unblock();
    let _ = prctl::set_no_new_privs();
    let writable = set_apart(Path::new(folder), online == "true", alone)
        .ok()
        .map(|points| json!(points).to_string());
    if alone {
        // The first process in there must still mount a /proc.
        let (Some(writable), Ok(())) = (&writable, pass_on(CapabilitySet::SYS_ADMIN)) else {
            return Some(NO_PROC);
        };
        let first = Command::new("/proc/self/exe")
            .arg0(FIRST)
            .arg(writable)
            .args(words)
            .status();
        return Some(code_of(first.ok()));
    }
    let why = program_of(writable.as_deref(), alone, words)?.exec();
    let _ = writeln!(io::stderr(), "{why}");
    Some(report::NOT_EXECUTABLE)
}

/// The first of the processes of a sandbox, with which all others end. `words`: the mounts that can be written to, and as for
/// the keeper.
pub fn be_first(words: &[OsString]) -> Option<u8> {
    let (writable, words) = words.split_first()?;
    let _ = prctl::set_pdeathsig(Signal::SIGKILL);
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    if mount("proc", "/proc", "proc", flags, None).is_err() {
        return Some(NO_PROC);
    }
    let mut program = program_of(writable.to_str(), true, words)?;
    let child = match program.spawn() {
        Ok(child) => child,
        Err(why) => {
            let _ = writeln!(io::stderr(), "{why}");
            return Some(report::NOT_EXECUTABLE);
        }
    };
    let program = Pid::from_raw(child.id().cast_signed());
    // Whatever lost its parent ends here, too.
    loop {
        match wait::waitpid(None, None) {
            Ok(WaitStatus::Exited(pid, code)) if pid == program => return code.try_into().ok(),
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == program => {
                return (128 + signal as i32).try_into().ok();
            }
            Err(Errno::ECHILD) => return None,
            _ => {}
        }
    }
}

/// Keeps a right of a user namespace over the next exec.
fn pass_on(right: CapabilitySet) -> io::Result<()> {
    let mut rights = thread::capabilities(None)?;
    rights.inheritable |= right;
    thread::set_capabilities(None, rights)?;
    thread::configure_capability_in_ambient_set(right, true)?;
    Ok(())
}

/// Takes the last rights away, tells what the kernel does not hold, and returns the program. `writable`: the mounts that could not
/// be made read-only, if there is a view of its own at all. `alone`: with processes of its own.
fn program_of(writable: Option<&str>, alone: bool, words: &[OsString]) -> Option<Command> {
    let [folder, online, program, arguments @ ..] = words else {
        return None;
    };
    let folder = Path::new(folder);
    let is_apart = writable.is_some();
    let landlock = restrict(folder, online == "true" || is_apart).ok();
    let lack = LACKS
        .iter()
        .find(|lack| lack.is_apart == is_apart && lack.landlock == landlock)
        .filter(|_| !(is_apart && alone));
    let mut open: Vec<String> = lack.map(|lack| lack.says.to_string()).into_iter().collect();
    if let (None, Some(points)) = (landlock, writable.filter(|points| *points != "[]")) {
        open.push(format!("these can be written: {points}"));
    }
    if prctl::get_no_new_privs() != Ok(true) || !drop_capabilities() {
        open.push("root keeps its rights".to_string());
    }
    let open = (!open.is_empty()).then(|| open.join("; "));
    let _ = File::create(folder.join(STARTED));
    let _ = writeln!(
        io::stdout(),
        "{}",
        json!({"event": "sandbox", "open": open})
    );
    let mut command = Command::new(program);
    command.args(arguments);
    Some(command)
}

/// Root may still read the files of others, and nothing else. False if root keeps more than that.
fn drop_capabilities() -> bool {
    // What was passed on to this process goes no further.
    let _ = thread::clear_ambient_capability_set();
    let passed_on = thread::capabilities(None).and_then(|mut rights| {
        rights.inheritable = CapabilitySet::empty();
        thread::set_capabilities(None, rights)
    });
    let kept = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
    let mut are_dropped = passed_on.is_ok();
    for capability in !kept {
        if thread::remove_capability_from_bounding_set(capability).is_err()
            && thread::capability_is_in_bounding_set(capability) == Ok(true)
        {
            are_dropped = false;
        }
    }
    are_dropped || !geteuid().is_root()
}

/// A view of the machine in which only the folder and /dev/shm can be written to, and in which there is nobody to talk to.
/// Returns the mounts that could not be made read-only.
fn set_apart(folder: &Path, online: bool, alone: bool) -> io::Result<Vec<PathBuf>> {
    let [mounts_table, sockets_table] = ["/proc/self/mountinfo", "/proc/net/unix"]
        .map(|table| fs::read_to_string(table).unwrap_or_default());
    let [user, group] = [getuid().as_raw(), getgid().as_raw()].map(|id| format!("{id} {id} 1"));
    let mut kinds = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC;
    kinds.set(CloneFlags::CLONE_NEWNET, !online);
    kinds.set(CloneFlags::CLONE_NEWPID, alone);
    // In a user namespace, root could not read the files of others.
    if unshare(kinds).is_err() {
        unshare(kinds | CloneFlags::CLONE_NEWUSER)?;
        for (name, text) in [
            ("setgroups", "deny"),
            ("uid_map", &user),
            ("gid_map", &group),
        ] {
            OpenOptions::new()
                .write(true)
                .open(format!("/proc/self/{name}"))?
                .write_all(text.as_bytes())?;
        }
    }
    // What is mounted outside later, such as a home, appears here, too.
    mount_change(
        "/",
        MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM,
    )?;
    mount_bind(folder, folder)?;
    let opened = File::open(folder)?;
    let mut writable = vec![];
    for point in mounts(&mounts_table).map(|(point, _)| PathBuf::from(point)) {
        if !make_read_only(&point) && can_be_written(&point) {
            writable.push(point);
        }
    }
    mount(
        "tmpfs",
        "/dev/shm",
        "tmpfs",
        MountFlags::NOSUID | MountFlags::NODEV,
        None,
    )?;
    // The folder may be below /dev/shm.
    fs::create_dir_all(folder)?;
    mount_bind(format!("/proc/self/fd/{}", opened.as_raw_fd()), folder)?;
    for socket in sockets_table
        .lines()
        .filter_map(|line| line.split_whitespace().nth(7))
    {
        if socket.starts_with('/') && !OF_NAMES.iter().any(|name| socket.contains(name)) {
            let _ = mount_bind("/dev/null", socket);
        }
    }
    let route = net::socket(net::AddressFamily::NETLINK, net::SocketType::RAW, None)?;
    net::send(route, RAISE_LOOPBACK, net::SendFlags::empty())?;
    Ok(writable)
}

/// The flags that a mount has cannot be taken away, so that one of four combinations fits.
fn make_read_only(point: &Path) -> bool {
    let read_only = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID;
    let kept = [
        MountFlags::empty(),
        MountFlags::NODEV,
        MountFlags::NOEXEC,
        MountFlags::NODEV | MountFlags::NOEXEC,
    ];
    kept.into_iter()
        .any(|kept| mount_remount(point, read_only | kept, "").is_ok())
}

/// Landlock: whether the kernel has all of it. The first version is of no use, as it forbids moving files between folders.
fn restrict(folder: &Path, may_connect: bool) -> Result<bool, RulesetError> {
    let writes = AccessFs::from_write(ABI::V8);
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::Refer)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(writes)?;
    let rules = if may_connect {
        rules
    } else {
        rules.handle_access(AccessNet::ConnectTcp)?
    };
    let places = WRITABLE.iter().map(Path::new).chain([folder]);
    rules
        .scope(Scope::from_all(ABI::V8))?
        .create()?
        .add_rules(path_beneath_rules(places, writes))?
        .restrict_self()
        .map(|status| status.ruleset == RulesetStatus::FullyEnforced)
}
