//! The sandbox of a rehearsal. The keeper stays outside: it ends whatever was started inside and removes the folder, even if
//! zlaunch is killed. Inside, the kernel decides what the trainer's code may change and whom it may reach.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, RulesetStatus, Scope,
    path_beneath_rules,
};
use landlock::{Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError};
use nix::poll::{PollFd, PollFlags, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::{prctl, wait};
use nix::unistd::{geteuid, getgid, getuid, setsid};
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_change, mount_remount,
};
use rustix::{net, thread};
use serde_json::json;

use crate::host::{can_be_written, children, paths_in_table};
use crate::report;

/// The `argv[0]` of the two processes between zlaunch and the trainer.
pub(super) const KEEPER: &str = "zlaunch-rehearsal";
const INSIDE: &str = "zlaunch-sandbox";
const WRITABLE: &[&str] = &[
    "/dev/shm",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/urandom",
    "/dev/ptmx",
];
/// The sockets of services that know the names of users.
const OF_NAMES: &[&str] = &["/nscd/", "/nslcd/", "/sss/", "/winbindd/", "/userdb/"];
/// 32 bytes: a request (1) of the kind RTM_NEWLINK (16), that device 1, the loopback device, be IFF_UP (1).
const RAISE_LOOPBACK: &[u8] =
    b"\x20\0\0\0\x10\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0";

/// Becomes the keeper or enters the sandbox, if this process was started for that.
pub(crate) fn enter(words: &[OsString]) -> Option<u8> {
    let [name, folder, online, program, arguments @ ..] = words else {
        return None;
    };
    match name.to_str()? {
        KEEPER => Some(keep(
            folder.as_ref(),
            Command::new("/proc/self/exe")
                .arg0(INSIDE)
                .args(&words[1..]),
        )),
        INSIDE => Some(confine(
            folder.as_ref(),
            online == "true",
            Command::new(program).args(arguments),
        )),
        _ => None,
    }
}

/// Ends all when the program ends, or when its own standard input is closed. Returns the exit status as a shell has it.
fn keep(folder: &Path, inside: &mut Command) -> u8 {
    // What ends zlaunch, such as Ctrl-C, must not end the keeper. The sandbox has no terminal.
    let _ = setsid();
    let _ = SigSet::all().thread_block();
    let _ = prctl::set_child_subreaper(true);
    let mut child = inside.stdin(Stdio::null()).spawn();
    let mut status = Ok(None);
    while let (Ok(child), Ok(None)) = (&mut child, &status)
        && poll(
            &mut [PollFd::new(io::stdin().as_fd(), PollFlags::POLLIN)],
            20_u8,
        ) == Ok(0)
    {
        status = child.try_wait();
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
    let code = status
        .ok()
        .flatten()
        .and_then(|status| status.code().or_else(|| Some(128 + status.signal()?)));
    code.and_then(|code| code.try_into().ok())
        .unwrap_or(report::REFUSED)
}

pub(super) fn remove(folder: &Path) {
    // The program may have taken its own rights to a folder away.
    let _ = Command::new("find")
        .arg(folder)
        .args("-type d ! -perm -700 -exec chmod u+rwx {} ;".split(' '))
        .output();
    let _ = fs::remove_dir_all(folder);
}

/// Becomes the program, and first tells what the kernel does not hold.
fn confine(folder: &Path, online: bool, program: &mut Command) -> u8 {
    let _ = prctl::set_pdeathsig(Signal::SIGKILL);
    let _ = SigSet::all().thread_unblock();
    let has_no_new_rights = prctl::set_no_new_privs().is_ok();
    let writable = set_apart(folder, online);
    let restricted = restrict(folder, online || writable.is_ok());
    let open = match (&writable, &restricted) {
        (Ok(_), Ok(true)) => None,
        (Ok(_), _) => Some("partly sandboxed: signals to other processes are open"),
        (Err(_), Ok(true)) => {
            Some("partly sandboxed: UDP, unix sockets, /dev/shm and chmod are open")
        }
        (Err(_), Ok(false)) => Some(
            "partly sandboxed: the network, unix sockets, /dev/shm, chmod and signals are open",
        ),
        (Err(_), Err(_)) => Some("not sandboxed: this kernel has no Landlock"),
    };
    let mut open: Vec<String> = open.into_iter().map(str::to_string).collect();
    if restricted.is_err() && writable.as_ref().is_ok_and(|points| !points.is_empty()) {
        let points: Vec<_> = writable.iter().flatten().map(PathBuf::as_path).collect();
        open.push(format!("these can be written: {points:?}"));
    }
    if !has_no_new_rights || !drop_capabilities() {
        open.push("root keeps its rights".to_string());
    }
    let open = (!open.is_empty()).then(|| open.join("; "));
    let _ = writeln!(
        io::stdout(),
        "{}",
        json!({"event": "sandbox", "open": open})
    );
    let why = program.exec();
    let _ = writeln!(io::stderr(), "{}: {why}", program.get_program().display());
    report::NOT_EXECUTABLE
}

/// Root may still read the files of others, and nothing else. False if root keeps more than that.
fn drop_capabilities() -> bool {
    let kept = thread::CapabilitySet::DAC_OVERRIDE | thread::CapabilitySet::DAC_READ_SEARCH;
    let mut are_dropped = true;
    for capability in !kept {
        let removed = thread::remove_capability_from_bounding_set(capability);
        if removed.is_err() && thread::capability_is_in_bounding_set(capability) == Ok(true) {
            are_dropped = false;
        }
    }
    are_dropped || !geteuid().is_root()
}

/// A view of the machine in which only the folder and /dev/shm can be written to, and in which there is nobody to talk to.
/// Returns the mounts that could not be made read-only.
fn set_apart(folder: &Path, online: bool) -> io::Result<Vec<PathBuf>> {
    let mounts = paths_in_table("/proc/self/mountinfo", 4);
    let sockets = paths_in_table("/proc/net/unix", 7);
    let [user, group] = [getuid().as_raw(), getgid().as_raw()].map(|id| format!("{id} {id} 1"));
    let network = if online {
        CloneFlags::empty()
    } else {
        CloneFlags::CLONE_NEWNET
    };
    let kinds = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC | network;
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
    let mut writable = Vec::new();
    for point in mounts.into_iter().map(PathBuf::from) {
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
    for socket in sockets
        .iter()
        .filter(|path| !OF_NAMES.iter().any(|name| path.contains(name)))
    {
        let _ = mount_bind("/dev/null", socket);
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
        .handle_access(AccessFs::Refer)?;
    let rules = rules
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(writes)?;
    let rules = if may_connect {
        rules
    } else {
        rules.handle_access(AccessNet::ConnectTcp)?
    };
    let places = WRITABLE.iter().map(Path::new).chain([folder]);
    let rules = rules
        .scope(Scope::from_all(ABI::V8))?
        .create()?
        .add_rules(path_beneath_rules(places, writes))?;
    rules
        .restrict_self()
        .map(|status| status.ruleset == RulesetStatus::FullyEnforced)
}
