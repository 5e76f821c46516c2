//! Carries a plan out: writes the files, then becomes the program or starts the ranks. Nothing is decided here.

mod files;
mod local;
pub(crate) mod rehearsal;
mod sandbox;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, SystemTime};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::base::vars;
use crate::plan::{Plan, Record, record};
use crate::report::fix::give;
use crate::report::{self, OutputFile, Problem, Rule};

use files::PendingFile;
pub(crate) use files::{remove, rewrite, write_new, write_program};
pub(crate) use {local::become_rank, sandbox::enter as enter_sandbox};

/// Writes the files of the plan, and does all else that can fail before the ranks are started. `problems`: what was said
/// about the plan, for the record.
pub(crate) fn prepare(plan: &Plan, problems: &[Problem]) -> Result<(), Problem> {
    if let Some(problem) = &plan.blocker {
        return Err(problem.clone());
    }
    // Behind srun or another prefix, zlaunch runs again and writes its own files.
    let writes = !plan.launcher.runs_zlaunch();
    if writes && let Some(config) = &plan.config {
        files::write(&config.file, OutputFile::CONFIG)?;
        if let Some(run_file) = &config.run_file {
            files::write(run_file, OutputFile::RUN_FILE)?;
        }
    }
    for environment in &plan.environment_files {
        files::write(&environment.file, OutputFile::VARIABLES)?;
    }
    let records = writes && plan.topology.is_first();
    if records && let Some(record) = Record::of(plan, problems, SystemTime::now())? {
        write_record(&record)?;
    }
    // Rank 0 will listen on this port. If it is taken, the user should know before the other ranks wait for it.
    match plan
        .opens
        .as_ref()
        .map(|port| (port, TcpListener::bind((Ipv4Addr::UNSPECIFIED, port.value))))
    {
        Some((port, Err(why))) if why.kind() == io::ErrorKind::AddrInUse => {
            Err(report::port_in_use(port))
        }
        _ => Ok(()),
    }
}

/// Replaces this process. Returns only with a problem, or with the exit status of ranks that zlaunch started itself.
pub(crate) fn start(plan: &Plan) -> Result<u8, Problem> {
    // Pinned and RDMA memory count against this limit, and tasks inherit the low one of the login shell. If this fails and
    // the trainer needs more, the trainer says so.
    let _ = getrlimit(Resource::RLIMIT_MEMLOCK)
        .and_then(|(_, most)| setrlimit(Resource::RLIMIT_MEMLOCK, most, most));
    let Some((program, arguments)) = plan.argv.split_first() else {
        return Err(report::nothing_to_launch("", "zero2"));
    };
    if let Some(local) = &plan.local {
        // A port for the ranks to meet on, if the plan leaves it open with 0. Rank 0 will listen on all addresses.
        let is_open = plan
            .environment
            .settings()
            .any(|setting| setting == (vars::MASTER_PORT, OsStr::new("0")));
        let free = is_open
            .then(|| TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))?.local_addr())
            .transpose();
        let free = free.map_err(|why| report::cannot_watch_ranks(&why))?;
        return local::run(local, plan, free.map(|address| address.port()));
    }
    let mut command = Command::new(program);
    command.args(arguments);
    plan.environment.apply(&mut command);
    // std resets SIGPIPE, which Rust's runtime ignores, to its default; the program inherits everything else.
    Err(report::cannot_execute(program, &command.exec()))
}

/// Writes all of the record, or nothing, and then an older one stays.
fn write_record(record: &Record) -> Result<(), Problem> {
    let foreign = files::in_private_folder(&record.folder, || {
        let _lock = lock(&record.folder);
        let foreign = record::foreign(&record.folder);
        if foreign.is_none() {
            replace_record(record)?;
        }
        Ok(foreign)
    });
    let foreign =
        foreign.map_err(|why| report::cannot_write(OutputFile::RECORD, &record.folder, &why))?;
    let Some(file) = foreign else { return Ok(()) };
    let folder = file.parent().unwrap_or(&file).join("zlaunch");
    let what = "this file is not part of a launch record, and is not overwritten";
    Err(Problem::error(Rule::Record, what)
        .at(&file)
        .fix(give("--record", folder.display())))
}

/// All files are whole before the old ones go. The old config goes first and the new one comes last, so that nobody finds
/// a record with the config of another launch.
fn replace_record(record: &Record) -> io::Result<()> {
    files::remove_stale(
        &record.folder,
        &[Record::FILE, Record::SCRIPT, Record::CONFIG],
    );
    let [file, script, config] =
        [Record::FILE, Record::SCRIPT, Record::CONFIG].map(|name| record.folder.join(name));
    let mut new = vec![
        PendingFile::write(&file, record.text.as_bytes(), 0o600)?,
        PendingFile::write(&script, &record.script, 0o600)?,
    ];
    if let Some(text) = &record.config {
        new.push(PendingFile::write(&config, text.as_bytes(), 0o600)?);
    }
    match fs::remove_file(&config) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
        _ => new.into_iter().try_for_each(PendingFile::put_in_place),
    }
}

/// Lets one launch at a time write its record, even if hundreds start together. Gives up after ten seconds, or if the file
/// system has no locks: a record is not worth holding up a launch.
fn lock(folder: &Path) -> Option<File> {
    let file = File::open(folder).ok()?;
    for _ in 0..1000 {
        if flock(&file, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK) {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    Some(file)
}
