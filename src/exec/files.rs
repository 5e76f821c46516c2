//! Writes files: each appears whole or not at all, and none is written through a link that somebody else may have planted.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Component, Path, PathBuf},
    process,
    time::SystemTime,
};

use nix::{
    fcntl::OFlag,
    sys::signal::{SigSet, SigmaskHow, Signal},
    unistd::geteuid,
};

use crate::{
    host::{Trust, open_to_others},
    plan::{FileKind, PlannedFile},
    report::{self, OutputFile, Problem, Rule},
};

/// Writes a program that everybody may run.
pub fn write_program(path: &Path, text: &str) -> Result<(), Problem> {
    // Others could choose what is executed if they could write to the folder.
    DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(folder_of(path))
        .and_then(|()| write_atomically(path, text.as_bytes(), 0o755))
        .map_err(|why| report::cannot_write(OutputFile::PROGRAM, path, &why))
}

/// Removes files, and those of the folders that are then empty.
pub fn remove<'a>(
    files: &[PathBuf],
    folders: impl Iterator<Item = &'a Path>,
) -> Result<(), Problem> {
    for file in files {
        fs::remove_file(file)
            .map_err(|why| report::cannot_write(OutputFile::PROGRAM, file, &why))?;
    }
    // This fails for a folder that is not empty.
    folders.for_each(|folder| drop(fs::remove_dir(folder)));
    Ok(())
}

/// Writes a file for the user. An existing one is replaced only with `force`.
pub fn write_new(path: &Path, text: &str, force: bool) -> Result<(), Problem> {
    in_private_folder(folder_of(path), || {
        let file = PendingFile::write(path, text.as_bytes(), 0o600)?;
        if !force {
            File::create_new(path)?;
        }
        file.put_in_place()
    })
    .map_err(|why| match why.kind() {
        io::ErrorKind::AlreadyExists => report::would_overwrite(path),
        _ => report::cannot_write(OutputFile::GENERATED, path, &why),
    })
}

/// Replaces the text of a file of the user's. It keeps its mode, and a link to it stays a link.
pub fn rewrite(path: &Path, text: &str) -> Result<(), Problem> {
    path.canonicalize()
        .and_then(|path| {
            write_atomically(&path, text.as_bytes(), fs::metadata(&path)?.mode() & 0o777)
        })
        .map_err(|why| report::cannot_write(OutputFile::FIXED, path, &why))
}

/// Writes a file of the launch, unless it is already there with this content.
pub fn write(file: &PlannedFile, what: OutputFile) -> Result<(), Problem> {
    let PlannedFile { path, kind, text } = file;
    let failed = |why: io::Error| report::cannot_write(what, path, &why);
    let folder = folder_of(path);
    if *kind == FileKind::Named {
        refuse_links_of_others(folder).map_err(failed)?;
    } else {
        // The one above is made only in a cache (`Host::configs_folder`): what TMPDIR names is the user's to make.
        let above = folder_of(folder);
        if !above.is_dir() && !folder.ends_with("zlaunch/configs") {
            return Err(failed(io::Error::other(format!(
                "there is no folder `{}`",
                above.display()
            ))));
        }
        make_folder(folder).map_err(failed)?;
        // In a shared temporary folder, somebody else may have made it first.
        let is_ours = fs::symlink_metadata(folder).is_ok_and(|it| {
            it.is_dir() && it.uid() == geteuid().as_raw() && it.mode() & 0o022 == 0
        });
        if !is_ours || open_to_others(folder, Trust::OwnerAlone).is_some() {
            let help = "set HOME or XDG_CACHE_HOME to a folder you own, or use --config-out PATH";
            return Err(Rule::Write
                .error("the folder for resolved configs does not belong to you alone")
                .at(folder)
                .fix(help));
        }
    }
    if has_content(path, text.as_bytes()) {
        return Ok(());
    }
    write_atomically(path, text.as_bytes(), 0o600).map_err(failed)
}

/// Makes a folder that the user named and writes into it.
pub fn in_private_folder<T>(folder: &Path, write: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    refuse_links_of_others(folder)?;
    make_folder(folder)?;
    // Somebody may have put a link there in between. From now on it is a folder of ours.
    refuse_links_of_others(folder)?;
    write()
}

/// Writes a new file beside the target and renames it: others see the old file or the whole new one.
fn write_atomically(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    PendingFile::write(path, content, mode)?.put_in_place()
}

/// A file that is whole, but not yet under its name. It is removed unless it is put in place.
pub struct PendingFile<'a> {
    path: &'a Path,
    temporary: PathBuf,
}

impl<'a> PendingFile<'a> {
    pub fn write(path: &'a Path, content: &[u8], mode: u32) -> io::Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // The name of a file may have 255 bytes.
        let name: String = name.chars().take(60).collect();
        let temporary = folder_of(path).join(own_name(&format!(".{name}.")));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(mode);
        let mut file = options.open(&temporary)?;
        let pending = PendingFile { path, temporary };
        // Under `ulimit -f` the kernel would end us with SIGXFSZ. With the signal blocked, the write fails instead.
        let before = SigSet::from(Signal::SIGXFSZ).thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        file.write_all(content)?;
        before.thread_set_mask()?;
        Ok(pending)
    }

    pub fn put_in_place(mut self) -> io::Result<()> {
        fs::rename(&self.temporary, self.path)?;
        self.temporary.clear();
        Ok(())
    }
}

impl Drop for PendingFile<'_> {
    fn drop(&mut self) {
        if !self.temporary.as_os_str().is_empty() {
            // An earlier failure is the one worth reporting.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// A name that no other process gives: with the id of this one and the time.
pub fn own_name(start: &str) -> String {
    let time = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    format!("{start}{}-{}", process::id(), time.subsec_nanos())
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Fails if the path leads through a link in a folder that everybody can write to: it could point anywhere.
fn refuse_links_of_others(path: &Path) -> io::Result<()> {
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
            return Err(io::Error::other(format!(
                "`{link}` is a link in a folder that anyone can write to"
            )));
        } else {
            let real = fs::canonicalize(&target)?;
            refuse_links_of_others(&walked.join(fs::read_link(&target)?))?;
            walked = real;
        }
    }
    Ok(())
}

/// The file is private and already has this content. Links are not followed.
fn has_content(path: &Path, content: &[u8]) -> bool {
    let mut found = vec![];
    OpenOptions::new()
        .read(true)
        .custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits())
        .open(path)
        .is_ok_and(|file| {
            file.metadata()
                .is_ok_and(|seen| seen.is_file() && seen.mode() & 0o077 == 0)
                && file
                    .take(content.len() as u64 + 1)
                    .read_to_end(&mut found)
                    .is_ok()
                && found == content
        })
}
