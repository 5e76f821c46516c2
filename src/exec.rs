//! Carries a plan out: writes the files, then becomes the program or starts the ranks. Nothing is decided here.

mod environment;
mod files;
mod helper;
mod output;
mod signals;
mod supervisor;

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, SystemTime};

use nix::errno::Errno;
use nix::fcntl::FlockArg;
#[expect(deprecated, reason = "see `lock`")]
use nix::fcntl::flock;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::base::source::Sourced;
use crate::plan::record::{self, Record};
use crate::plan::{FileKind, Plan, PlannedConfig};
use crate::report::{self, OutputFile, Problem};

pub(crate) use files::{remove, write_new, write_program};
pub(crate) use helper::run_if_helper;

/// Writes the files of the plan and replaces this process. Returns only with a problem, or with the exit status of ranks
/// that zlaunch started itself.
pub(crate) fn carry_out(plan: Plan) -> Result<u8, Problem> {
    if let Some(problem) = plan.blocker {
        return Err(problem);
    }
    // Behind srun or another prefix, zlaunch runs again and writes its own files.
    let writes = !plan.launcher.runs_zlaunch();
    if let Some(config) = plan.config.as_ref().filter(|_| writes) {
        write_config(config)?;
    }
    if let Some((path, text)) = &plan.environment_file {
        files::write(path, text, FileKind::Ours, OutputFile::VARIABLES)?;
    }
    if let Some(record) = plan.record.as_ref().filter(|_| writes && plan.topology.is_first()) {
        write_record(record)?;
    }
    if let Some(port) = &plan.opens {
        check_port(port)?;
    }
    raise_memlock_limit();
    let Some((program, arguments)) = plan.argv.split_first() else { return Err(report::nothing_to_launch()) };
    if let Some(local) = &plan.local {
        return supervisor::run(local, &plan.argv, &plan.environment);
    }
    let mut command = Command::new(program);
    command.args(arguments);
    environment::apply(&plan.environment, &mut command);
    // std resets SIGPIPE, which Rust's runtime ignores, to its default; the program inherits everything else.
    Err(report::cannot_execute(program, &command.exec()))
}

fn write_config(config: &PlannedConfig) -> Result<(), Problem> {
    files::write(&config.file.path, &config.text, config.file.kind, OutputFile::CONFIG)?;
    match &config.run_file {
        Some((path, text)) => files::write(path, text, FileKind::Ours, OutputFile::RUN_FILE),
        None => Ok(()),
    }
}

/// Writes the launch before its config, and removes the old config first: nobody finds a record with the config of
/// another launch.
fn write_record(record: &Record) -> Result<(), Problem> {
    let folder = &record.folder;
    let failed = |path: &Path, why: &io::Error| report::cannot_write(OutputFile::RECORD, path, why);
    files::make_private_folder(folder).map_err(|why| failed(folder, &why))?;
    let _lock = lock(folder);
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
        let written = text.map_or(Ok(()), |text| files::write_atomically(path, text.as_bytes(), 0o600));
        written.map_err(|why| failed(path, &why))?;
    }
    Ok(())
}

/// Lets one launch at a time write its record. Gives up after a second, or where the file system has no locks: a record
/// is not worth holding up a launch.
#[expect(deprecated, reason = "nix's newer `Flock` panics if the unlocking fails; closing the file unlocks it, too")]
fn lock(folder: &Path) -> Option<File> {
    let file = File::open(folder).ok()?;
    for _ in 0..100 {
        if flock(file.as_raw_fd(), FlockArg::LockExclusiveNonblock) != Err(Errno::EWOULDBLOCK) {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    Some(file)
}

/// Rank 0 will listen on this port. If it is taken, the user should know before the other ranks wait for it.
fn check_port(port: &Sourced<u16>) -> Result<(), Problem> {
    match TcpListener::bind((Ipv4Addr::UNSPECIFIED, port.value)) {
        Err(why) if why.kind() == io::ErrorKind::AddrInUse => Err(report::port_in_use(port)),
        _ => Ok(()),
    }
}

/// Pinned and RDMA memory count against this limit, and tasks inherit the low one of the login shell.
fn raise_memlock_limit() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_MEMLOCK)
        && soft < hard
    {
        // If this fails and more is needed, the trainer will say so.
        let _ = setrlimit(Resource::RLIMIT_MEMLOCK, hard, hard);
    }
}
