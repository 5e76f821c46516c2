//! A rehearsal: one process in a sandbox with a private folder, which is removed with it. Its standard output is read line by
//! line. It never outlives zlaunch.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{BufRead, BufReader},
    os::unix::{
        fs::{DirBuilderExt, FileExt},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
};

use serde_json::Value;

use super::{files, sandbox};
use crate::{
    base::vars,
    host::Host,
    plan::{FileKind, Plan, PlannedFile},
    report::{self, OutputFile, Problem},
};

const LOG: &str = "output.log";

pub struct Rehearsal {
    folder: PathBuf,
    /// The program's standard error.
    log: File,
    keeper: Option<Child>,
    /// What the program tells. It ends with the keeper.
    pub lines: Receiver<String>,
}

impl Rehearsal {
    /// `spec` is the program's input, but for the folder.
    pub fn start(
        python: &Path,
        code: &str,
        mut spec: Value,
        plan: &Plan,
        host: &Host,
    ) -> Result<Self, Problem> {
        let (folder, log) = private_folder(host)?;
        let (sender, lines) = mpsc::channel();
        // From here on, dropping it removes the folder.
        let mut rehearsal = Rehearsal {
            folder,
            log,
            keeper: None,
            lines,
        };
        let folder = &rehearsal.folder;
        // The program looks there first, for any file.
        let place = |path: &Path| {
            folder
                .join("written")
                .join(host.absolute(path).strip_prefix("/").unwrap_or(path))
        };
        if let Some(config) = &plan.config {
            write(&place(&config.file.path), &config.file.text)?;
            if let Some(file) = &config.run_file {
                write(&place(&file.path), &file.text)?;
            }
        }
        let script = folder.join("rehearsal.py");
        let told = folder.join("spec.json");
        spec["folder"] = folder.to_string_lossy().into();
        write(&script, code)?;
        write(&told, &spec.to_string())?;
        // This very program, even if its file was replaced in the meantime.
        let mut command = Command::new("/proc/self/exe");
        command
            .arg0(sandbox::KEEPER)
            .arg(folder)
            .arg(spec["online"].to_string())
            .arg(python)
            .arg(script)
            .arg(told);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        plan.environment.apply(&mut command);
        let mut child = rehearsal
            .log
            .try_clone()
            .and_then(|log| command.stderr(log).spawn())
            .map_err(|why| report::cannot_execute(python.as_os_str(), &why))?;
        let told_by = child.stdout.take().map(BufReader::new).into_iter();
        thread::spawn(move || {
            for line in told_by.flat_map(BufRead::lines).map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        rehearsal.keeper = Some(child);
        Ok(rehearsal)
    }

    /// The end of what the program printed.
    pub fn printed(&self) -> String {
        let mut bytes = vec![0; 1 << 16];
        let start = self
            .log
            .metadata()
            .map(|log| log.len().saturating_sub(1 << 16));
        let count = start
            .and_then(|start| self.log.read_at(&mut bytes, start))
            .unwrap_or_default();
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    }

    pub fn ending(&mut self) -> Option<ExitStatus> {
        self.keeper.as_mut()?.wait().ok()
    }
}

impl Drop for Rehearsal {
    fn drop(&mut self) {
        // This closes the keeper's standard input, and lets it end all. It may have been killed before it removed the folder.
        self.ending();
        sandbox::remove(&self.folder);
    }
}

fn write(path: &Path, text: &str) -> Result<(), Problem> {
    let file = PlannedFile {
        path: path.to_path_buf(),
        kind: FileKind::Ours,
        text: text.to_string(),
    };
    files::write(&file, OutputFile::REHEARSAL)
}

/// A new folder with the log.
fn private_folder(host: &Host) -> Result<(PathBuf, File), Problem> {
    let temporary = host.absolute(host.nonempty_var(vars::TMPDIR).unwrap_or("/tmp").as_ref());
    // The program compares paths with those that Python finds, without links.
    let folder = temporary
        .canonicalize()
        .unwrap_or(temporary)
        .join(files::own_name("zlaunch-rehearsal-"));
    let made = DirBuilder::new().mode(0o700).create(&folder);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    let log = made
        .and_then(|()| options.open(folder.join(LOG)))
        .map_err(|why| report::cannot_write(OutputFile::REHEARSAL, &folder, &why))?;
    Ok((folder, log))
}
