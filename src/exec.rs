//! The effects: write the config, become the program or start the ranks. Nothing decides here.

mod helper;
mod output;
mod patience;
mod ranks;
mod signals;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Component, Path, PathBuf};
use std::process::{self, Command};
use std::thread;
use std::time::{Duration, SystemTime};

use nix::errno::Errno;
#[expect(deprecated, reason = "see `hold`")]
use nix::fcntl::flock;
#[cfg(target_env = "gnu")]
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use nix::fcntl::{FlockArg, OFlag};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::unistd::geteuid;

use crate::base::source::Sourced;
use crate::base::vars;
use crate::plan::environment::Environment;
use crate::plan::record::{self, Record};
use crate::plan::{FileKind, Plan, PlannedConfig};
use crate::ranks::launcher::Launcher;
use crate::report::{self, OutputFile, Problem};

pub(crate) use helper::helper;
pub(crate) use patience::patiently;

/// Writes what the plan says and replaces this process. Comes back only with a problem, or with the exit status of ranks
/// that were started from here.
pub(crate) fn carry_out(plan: Plan) -> Result<u8, Problem> {
    if let Some(problem) = plan.blocker {
        return Err(problem);
    }
    // The machines that srun starts write their own.
    if let Some(config) = plan.config.as_ref().filter(|_| plan.launcher != Launcher::Srun) {
        write_config(config)?;
    }
    if let Some((path, text)) = &plan.environment_file {
        write_file(path, text, FileKind::Ours, OutputFile::VARIABLES)?;
    }
    if let Some(record) = plan.record.as_ref().filter(|_| plan.topology.is_first() && plan.launcher != Launcher::Srun) {
        write_record(record)?;
    }
    if let Some(port) = &plan.opens {
        try_port(port)?;
    }
    raise_memlock();
    let Some((program, arguments)) = plan.argv.split_first() else { return Err(report::nothing_to_launch()) };
    if let Some(local) = &plan.local {
        return ranks::run(local, &plan.argv, &plan.environment);
    }
    let mut command = Command::new(program);
    command.args(arguments);
    change_environment(&mut command, &plan.environment);
    // std gives SIGPIPE back its default, which Rust's runtime had taken; everything else is inherited.
    Err(report::cannot_execute(program, &command.exec()))
}

/// The launch first: who looks in between finds a record, and no config of another one.
fn write_record(record: &Record) -> Result<(), Problem> {
    let folder = &record.folder;
    let failed = |path: &Path, why: &io::Error| report::cannot_write(OutputFile::RECORD, path, why);
    make_private_folder(folder).map_err(|why| failed(folder, &why))?;
    let _held = hold(folder);
    if let Some(file) = record::foreign(folder, true) {
        return Err(report::not_of_a_record(&file));
    }
    let (file, config) = (folder.join(Record::FILE), folder.join(Record::CONFIG));
    match fs::remove_file(&config) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(failed(&config, &why)),
        _ => {}
    }
    let text = record.text(SystemTime::now());
    for (path, text) in [(&file, Some(&text)), (&config, record.config.as_ref())] {
        let written = text.map_or(Ok(()), |text| write_atomically(path, text.as_bytes(), 0o600));
        written.map_err(|why| failed(path, &why))?;
    }
    Ok(())
}

/// One launch at a time writes its record. Whoever holds it for long, or where it cannot be held, is not waited for.
#[expect(deprecated, reason = "nix's newer `Flock` brings the sentences of all errors, 14 kB")]
fn hold(folder: &Path) -> Option<File> {
    let file = File::open(folder).ok()?;
    for _ in 0..100 {
        if flock(file.as_raw_fd(), FlockArg::LockExclusiveNonblock) != Err(Errno::EWOULDBLOCK) {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    Some(file)
}

/// Rank 0 will listen here. Found out now, before the others come and wait.
fn try_port(port: &Sourced<u16>) -> Result<(), Problem> {
    match TcpListener::bind((Ipv4Addr::UNSPECIFIED, port.value)) {
        Err(why) if why.kind() == io::ErrorKind::AddrInUse => Err(report::port_in_use(port)),
        _ => Ok(()),
    }
}

/// Pinned and RDMA memory count against it, and the limit of a login shell is inherited by every task.
fn raise_memlock() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_MEMLOCK)
        && soft < hard
    {
        // The trainer will say so if it needed more.
        let _ = setrlimit(Resource::RLIMIT_MEMLOCK, hard, hard);
    }
}

/// Writes a program that anybody may run, whole or not at all.
pub(crate) fn write_program(path: &Path, text: &str) -> Result<(), Problem> {
    let failed = |why: &io::Error| report::cannot_write(OutputFile::PROGRAM, path, why);
    let folder = path.parent().unwrap_or(Path::new("/"));
    // Whoever could write here could choose what is executed.
    DirBuilder::new().recursive(true).mode(0o755).create(folder).map_err(|why| failed(&why))?;
    let written = write_atomically(path, text.as_bytes(), 0o755);
    written.map_err(|why| failed(&why))
}

/// Removes files, and these folders if nothing else is in them.
pub(crate) fn remove<'a>(files: &[PathBuf], folders: impl Iterator<Item = &'a Path>) -> Result<(), Problem> {
    for file in files {
        fs::remove_file(file).map_err(|why| report::cannot_write(OutputFile::PROGRAM, file, &why))?;
    }
    // Somebody else's files keep them.
    folders.for_each(|folder| drop(fs::remove_dir(folder)));
    Ok(())
}

fn change_environment(command: &mut Command, environment: &Environment) {
    // A word of a shim to us, and to nobody behind.
    command.env_remove(vars::ZLAUNCH_SHIM_OF);
    for name in &environment.unset {
        command.env_remove(name);
    }
    for setting in &environment.set {
        command.env(&setting.name, &setting.value);
    }
}

fn write_config(config: &PlannedConfig) -> Result<(), Problem> {
    write_file(&config.file.path, &config.text, config.file.kind, OutputFile::CONFIG)?;
    match &config.run_file {
        Some((path, text)) => write_file(path, text, FileKind::Ours, OutputFile::RUN_FILE),
        None => Ok(()),
    }
}

fn write_file(path: &Path, text: &str, kind: FileKind, what: OutputFile) -> Result<(), Problem> {
    let failed = |why: &io::Error| report::cannot_write(what, path, why);
    let folder = path.parent().unwrap_or(Path::new("/"));
    if kind == FileKind::Named {
        follow_nothing_of_others(folder).map_err(|why| failed(&why))?;
    } else {
        make_folder(folder).map_err(|why| failed(&why))?;
        if !is_ours_alone(folder) {
            return Err(report::folder_not_ours(folder));
        }
    }
    if holds(path, text.as_bytes()) {
        return Ok(());
    }
    write_atomically(path, text.as_bytes(), 0o600).map_err(|why| failed(&why))
}

/// A file for the user, never in the place of another one unless that is asked for.
pub(crate) fn write_new(path: &Path, text: &str, force: bool) -> Result<(), Problem> {
    let failed = |why: &io::Error| report::cannot_write(OutputFile::GENERATED, path, why);
    let folder = path.parent().unwrap_or(Path::new("/"));
    make_private_folder(folder).map_err(|why| failed(&why))?;
    let (mut file, temporary) = create_beside(path, 0o600).map_err(|why| failed(&why))?;
    let put = |temporary: &Path| if force { fs::rename(temporary, path) } else { move_to_new(temporary, path) };
    let written = write_whole(&mut file, text.as_bytes()).and_then(|()| put(&temporary));
    let _ = fs::remove_file(&temporary);
    match written {
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => Err(report::would_overwrite(path)),
        other => other.map_err(|why| failed(&why)),
    }
}

/// Moves a file to where nothing is. Not every file system and libc can; a second name cannot be given where one exists
/// either, but some have none.
fn move_to_new(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(target_env = "gnu")]
    match renameat2(AT_FDCWD, from, AT_FDCWD, to, RenameFlags::RENAME_NOREPLACE) {
        Ok(()) => return Ok(()),
        Err(Errno::EEXIST) => return Err(Errno::EEXIST.into()),
        Err(_) => {}
    }
    fs::hard_link(from, to)
}

/// A folder that the user named.
fn make_private_folder(folder: &Path) -> io::Result<()> {
    follow_nothing_of_others(folder)?;
    make_folder(folder)?;
    // A link may have been put there meanwhile; now it is a folder, and ours.
    follow_nothing_of_others(folder)
}

/// A link in a folder that anybody can write to may lead anywhere: it might be somebody's trap.
fn follow_nothing_of_others(path: &Path) -> io::Result<()> {
    let mut walked = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            walked.pop();
            continue;
        }
        let open = fs::metadata(&walked).is_ok_and(|seen| seen.mode() & 0o002 != 0);
        let target = walked.join(part);
        if !target.is_symlink() {
            walked = target;
        } else if open {
            let link = target.display();
            return Err(io::Error::other(format!("`{link}` is a link in a folder that anybody can write to")));
        } else {
            let real = fs::canonicalize(&target)?;
            follow_nothing_of_others(&walked.join(fs::read_link(&target)?))?;
            walked = real;
        }
    }
    Ok(())
}

fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// A real folder of this user that nobody else can write to: in a shared temporary folder it might be somebody's trap.
fn is_ours_alone(folder: &Path) -> bool {
    fs::symlink_metadata(folder)
        .is_ok_and(|seen| seen.is_dir() && seen.uid() == geteuid().as_raw() && seen.mode() & 0o022 == 0)
}

/// Whether the file is already what it should be; a link is never followed.
fn holds(path: &Path, content: &[u8]) -> bool {
    let mut found = Vec::new();
    let opened = OpenOptions::new().read(true).custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits()).open(path);
    opened.is_ok_and(|file| {
        file.metadata().is_ok_and(|seen| seen.is_file() && seen.mode() & 0o077 == 0)
            && file.take(content.len() as u64 + 1).read_to_end(&mut found).is_ok()
            && found == content
    })
}

/// A new file beside the target, then a rename: others see the old one or the whole new one.
fn write_atomically(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let (mut file, temporary) = create_beside(path, mode)?;
    let written = write_whole(&mut file, content).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first failure is the one worth reporting.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Where files may only grow so large, the system would end us by a signal. Held back, the failure is told as any other;
/// a program that is executed never meets it.
fn write_whole(file: &mut File, content: &[u8]) -> io::Result<()> {
    let before = SigSet::from(Signal::SIGXFSZ).thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    file.write_all(content)?;
    before.thread_set_mask()?;
    Ok(())
}

fn create_beside(path: &Path, mode: u32) -> io::Result<(File, PathBuf)> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    // As much of the name as leaves room for the rest.
    let name: String = path.file_name().unwrap_or_default().to_string_lossy().chars().take(60).collect();
    let mut attempt = 0;
    loop {
        let temporary = folder.join(format!(".{name}.{}.{attempt}", process::id()));
        match OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary) {
            Ok(file) => return Ok((file, temporary)),
            // Left behind by a process of the same number, here or on another machine.
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists && attempt < 1000 => attempt += 1,
            Err(why) => return Err(why),
        }
    }
}
