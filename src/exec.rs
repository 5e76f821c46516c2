//! Carries a plan out: writes the files, then becomes the program or starts the ranks. Nothing is decided here.

mod files;
mod local;
pub mod rehearsal;
mod sandbox;
mod tables;

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    net::{Ipv4Addr, TcpListener},
    os::unix::process::CommandExt,
    path::Path,
    process::Command,
    thread,
    time::Duration,
};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};

use crate::{
    base::source::Sourced,
    plan::{Plan, Record, record},
    report::{self, OutputFile, prelude::*},
};

use files::PendingFile;
pub use files::{remove, rewrite, write_new, write_program};

/// The work of a process that zlaunch started under another name: a rank before its exec, and the processes between a
/// rehearsal and the trainer. Returns the exit status, unless this process is the one that the user started.
pub fn started_by_zlaunch(words: &[OsString]) -> Option<u8> {
    let (name, words) = words.split_first()?;
    match name.to_str()? {
        local::RANK => local::become_rank(words),
        sandbox::KEEPER => sandbox::keep(words),
        sandbox::INSIDE => sandbox::confine(words),
        sandbox::FIRST => sandbox::be_first(words),
        _ => None,
    }
}

/// Writes the files of the plan, and does all else that can fail before the ranks are started. `problems`: what was said
/// about the plan, for the record.
pub fn prepare(plan: &Plan, problems: &[Problem]) -> Result<(), Problem> {
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
    if let Some(file) = &plan.environment_file {
        files::write(file, OutputFile::VARIABLES)?;
    }
    let records = writes && plan.topology.is_first();
    if records && let Some(asked) = &plan.understood.launch.record {
        let folder = Record::folder(asked, &plan.understood.host)?;
        write_record(&Record::of(folder, plan, problems))?;
    }
    match port_problem(plan) {
        Some(problem) => Err(problem),
        None => Ok(()),
    }
}

/// Rank 0 will listen on this port. If it cannot, the user should know before the other ranks wait for it.
pub fn port_problem(plan: &Plan) -> Option<Problem> {
    unusable_port(plan.opens.as_ref()?)
}

pub fn unusable_port(port: &Sourced<u16>) -> Option<Problem> {
    let why = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port.value)).err()?;
    let why = match why.kind() {
        io::ErrorKind::AddrInUse => "is already in use",
        io::ErrorKind::PermissionDenied => "cannot be used: it is reserved for the system",
        _ => return None,
    };
    Some(report::unusable_port(port, why))
}

/// Replaces this process. Returns only with a problem, or with the exit status of ranks that zlaunch started itself.
pub fn start(plan: &Plan) -> Result<u8, Problem> {
    // Pinned and RDMA memory count against this limit, and tasks inherit the low one of the login shell. If this fails and
    // the trainer needs more, the trainer says so.
    let _ = getrlimit(Resource::RLIMIT_MEMLOCK)
        .and_then(|(_, most)| setrlimit(Resource::RLIMIT_MEMLOCK, most, most));
    let Some((program, arguments)) = plan.argv.split_first() else {
        return Err(report::nothing_to_launch("", "zero2"));
    };
    if let Some(local) = &plan.local {
        return local::run(local, plan);
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
    })
    .map_err(|why| report::cannot_write(OutputFile::RECORD, &record.folder, &why))?;
    let Some(file) = foreign else { return Ok(()) };
    let folder = file.parent().unwrap_or(&file).join("zlaunch");
    let what = "this file is not part of a launch record, and is not overwritten";
    Err(Rule::Record
        .error(what)
        .at(&file)
        .fix(give("--record", folder.display())))
}

/// All files are whole before the old ones go. The old config goes first and the new one comes last, so that nobody finds
/// a record with the config of another launch.
fn replace_record(record: &Record) -> io::Result<()> {
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
