//! A rehearsal: one process in a private folder, which is removed with it. Its standard output is read line by line. It ends
//! when its standard input is closed, so that it never outlives zlaunch.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, SystemTime};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::Value;

use super::files;
use crate::base::vars;
use crate::host::Host;
use crate::plan::{FileKind, Plan, PlannedConfig};
use crate::report::{self, OutputFile, Problem};

pub(crate) struct Rehearsal {
    pub(crate) folder: PathBuf,
    child: Option<Child>,
    lines: Receiver<String>,
}

impl Rehearsal {
    /// `spec` makes the program's input from the folder and the words of the launch.
    pub(crate) fn start(
        python: &Path,
        program: &str,
        plan: &Plan,
        host: &Host,
        spec: impl FnOnce(&Path, Vec<OsString>) -> Value,
    ) -> Result<Self, Problem> {
        let folder = private_folder(host)?;
        let (sender, lines) = mpsc::channel();
        // From here on, dropping it removes the folder.
        let mut rehearsal = Rehearsal { folder, child: None, lines };
        let folder = &rehearsal.folder;
        let moved = write_config(folder, plan.config.as_ref())?;
        let words = plan.argv.iter().map(|word| moved.word(word)).collect();
        let (script, told) = (folder.join("rehearsal.py"), folder.join("spec.json"));
        write(&script, program)?;
        write(&told, &spec(folder, words).to_string())?;
        let log = rehearsal.log();
        let output = File::create_new(&log).map_err(|why| report::cannot_write(OutputFile::REHEARSAL, &log, &why))?;
        let mut command = Command::new(python);
        // In a process group of its own: Ctrl-C ends zlaunch alone, and then it ends itself.
        command.arg(script).arg(told).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(output);
        plan.environment.apply(&mut command);
        command.envs(plan.environment.settings().map(|(name, value)| (name, moved.word(value))));
        let mut child = command.spawn().map_err(|why| report::cannot_execute(python.as_os_str(), &why))?;
        let told_by = child.stdout.take();
        thread::spawn(move || {
            for line in told_by.into_iter().flat_map(|output| BufReader::new(output).lines()).map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        rehearsal.child = Some(child);
        Ok(rehearsal)
    }

    pub(crate) fn line(&self, patience: Duration) -> Result<String, RecvTimeoutError> {
        self.lines.recv_timeout(patience)
    }

    /// The program's standard error.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.join("output.log")
    }

    pub(crate) fn ending(&mut self) -> Option<ExitStatus> {
        self.child.as_mut()?.wait().ok()
    }
}

impl Drop for Rehearsal {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // The group also has the processes that it started.
            let _ = killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL);
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Pairs of paths: a rehearsal writes the files of the plan to another place than a launch.
struct Moved(Vec<(String, String)>);

impl Moved {
    fn text(&self, text: &str) -> String {
        self.0.iter().fold(text.to_string(), |text, (from, to)| text.replace(from, to))
    }

    fn word(&self, word: &OsStr) -> OsString {
        word.to_str().map_or_else(|| word.to_os_string(), |word| self.text(word).into())
    }
}

fn write_config(folder: &Path, config: Option<&PlannedConfig>) -> Result<Moved, Problem> {
    let Some(config) = config else { return Ok(Moved(Vec::new())) };
    let run_file = config.run_file.as_ref();
    let paths = [Some(&config.file.path), run_file.map(|(path, _)| path)];
    let place = |path: &PathBuf| folder.join(path.file_name().unwrap_or_default()).display().to_string();
    let moved = Moved(paths.into_iter().flatten().map(|path| (path.display().to_string(), place(path))).collect());
    write(Path::new(&place(&config.file.path)), &config.text)?;
    if let Some((path, text)) = run_file {
        write(Path::new(&place(path)), &moved.text(text))?;
    }
    Ok(moved)
}

fn write(path: &Path, text: &str) -> Result<(), Problem> {
    files::write(path, text, FileKind::Ours, OutputFile::REHEARSAL)
}

fn private_folder(host: &Host) -> Result<PathBuf, Problem> {
    let temporary = host.nonempty_var(vars::TMPDIR).unwrap_or("/tmp");
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().subsec_nanos();
    let folder = host.absolute(temporary.as_ref()).join(format!("zlaunch-rehearsal-{}-{now}", process::id()));
    let failed = |why| report::cannot_write(OutputFile::REHEARSAL, &folder, &why);
    DirBuilder::new().mode(0o700).create(&folder).map_err(failed)?;
    Ok(folder)
}
