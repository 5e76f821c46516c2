//! Carries a plan out: writes the files, then becomes the program or starts the ranks. Nothing is decided here.

mod environment;
mod files;
mod local;
pub(crate) mod rehearsal;

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
use crate::base::vars;
use crate::plan::launch_env::{Environment, Setting};
use crate::plan::{FileKind, Plan, PlannedConfig, Record, record};
use crate::report::fix::give;
use crate::report::{self, OutputFile, Problem, Rule};

use files::PendingFile;
pub(crate) use files::{remove, rewrite, write_new, write_program};
pub(crate) use local::become_rank;

/// Everything that must be done, and can fail, before the ranks are started: writes the files of the plan.
pub(crate) fn prepare(plan: &Plan) -> Result<(), Problem> {
    if let Some(problem) = &plan.blocker {
        return Err(problem.clone());
    }
    // Behind srun or another prefix, zlaunch runs again and writes its own files.
    let writes = !plan.launcher.runs_zlaunch();
    if let Some(config) = plan.config.as_ref().filter(|_| writes) {
        write_config(config)?;
    }
    for (path, text) in &plan.environment_files {
        files::write(path, text, FileKind::Ours, OutputFile::VARIABLES)?;
    }
    if let Some(record) = plan.record.as_ref().filter(|_| writes && plan.topology.is_first()) {
        write_record(record)?;
    }
    if let Some(port) = &plan.opens {
        check_port(port)?;
    }
    Ok(())
}

/// Replaces this process. Returns only with a problem, or with the exit status of ranks that zlaunch started itself.
pub(crate) fn start(plan: &Plan) -> Result<u8, Problem> {
    raise_memlock_limit();
    let Some((program, arguments)) = plan.argv.split_first() else {
        return Err(report::nothing_to_launch("", "zero2"));
    };
    if let Some(local) = &plan.local {
        let port = free_port(&plan.environment).map_err(|why| report::cannot_watch_ranks(&why))?;
        return local::run(local, plan, port);
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

/// Writes the record: all of it, or nothing, and then an older one stays.
fn write_record(record: &Record) -> Result<(), Problem> {
    let failed = |why: &io::Error| report::cannot_write(OutputFile::RECORD, &record.folder, why);
    let written = files::in_private_folder(&record.folder, || {
        let _lock = lock(&record.folder);
        match record::foreign(&record.folder) {
            Some(file) => {
                let folder = file.parent().unwrap_or(&file).join("zlaunch");
                let what = "this file is not part of a launch record, and is not overwritten";
                let problem = Problem::error(Rule::Record, what).at(&file);
                Ok(Some(problem.fix(give("--record", folder.display()))))
            }
            None => replace_record(record).map(|()| None),
        }
    });
    written.map_err(|why| failed(&why))?.map_or(Ok(()), Err)
}

/// All files are whole before the old ones go. The old config goes first and the new one comes last: nobody finds a
/// record with the config of another launch.
fn replace_record(record: &Record) -> io::Result<()> {
    let [file, script, config] = [Record::FILE, Record::SCRIPT, Record::CONFIG].map(|name| record.folder.join(name));
    let text = record.text(SystemTime::now());
    let new_file = PendingFile::write(&file, text.as_bytes(), 0o600)?;
    let new_script = PendingFile::write(&script, &record.script, 0o600)?;
    let new_config =
        record.config.as_ref().map(|text| PendingFile::write(&config, text.as_bytes(), 0o600)).transpose()?;
    match fs::remove_file(&config) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => return Err(why),
        _ => {}
    }
    new_file.put_in_place()?;
    new_script.put_in_place()?;
    new_config.map_or(Ok(()), PendingFile::put_in_place)
}

/// Lets one launch at a time write its record, also where hundreds start together. Gives up after ten seconds, or where the
/// file system has no locks: a record is not worth holding up a launch.
#[expect(deprecated, reason = "nix's newer `Flock` panics if the unlocking fails; closing the file unlocks it, too")]
fn lock(folder: &Path) -> Option<File> {
    let file = File::open(folder).ok()?;
    for _ in 0..1000 {
        if flock(file.as_raw_fd(), FlockArg::LockExclusiveNonblock) != Err(Errno::EWOULDBLOCK) {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    Some(file)
}

/// A port for the ranks to meet on, where the plan leaves it open with 0.
fn free_port(environment: &Environment) -> io::Result<Option<u16>> {
    let is_open = |setting: &Setting| setting.name == vars::MASTER_PORT && setting.value == "0";
    // Rank 0 will listen on all addresses.
    let bind = || TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?.local_addr();
    Ok(environment.set.iter().any(is_open).then(bind).transpose()?.map(|address| address.port()))
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
