//! PATH shims: small shell scripts with the names of trainers and launchers, so that one PATH line makes an unchanged script
//! use zlaunch.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use clap::ValueHint;

use super::{prelude::*, tables::shims::LAUNCHERS};
use crate::{base::shell::quoted, command::trainer, exec, host::is_shim};

/// The launchers, and every trainer that takes a config.
fn names() -> Vec<&'static str> {
    let consoles = trainer::ALL
        .iter()
        .filter(|trainer| !trainer.is_passthrough())
        .filter_map(|trainer| trainer.launch.consoles.first());
    let mut names: Vec<_> = LAUNCHERS.iter().chain(consoles).copied().collect();
    names.sort_unstable();
    names
}

/// Every shim: its own name tells which program it stands for.
const SHIM: &str = include_str!("../../shims/shim.sh");

#[derive(Args)]
pub struct ShimsArgs {
    #[arg(value_parser = AnyValue(values::SHIM_ACTIONS))]
    action: Given,
    #[arg(value_hint = ValueHint::DirPath)]
    dir: Option<Given>,
}

impl Tool for ShimsArgs {
    fn read(self, mut reader: Reader) -> Requested {
        let action = reader
            .one(Some(self.action), one_of(values::SHIM_ACTIONS))
            .map_or("list", |action| action.value);
        let given = reader
            .one(self.dir, values::path)
            .map(|folder| folder.value);
        // Without one it is zlaunch's own, which goes with the last shim.
        let is_own = given.is_none();
        reader.answer(move |host: &Host| {
            let folder = match given {
                Some(folder) => host.absolute(&folder),
                None => host
                    .data_home()
                    .ok_or_else(|| {
                        Rule::Usage
                            .error("there is no home folder, so name a folder")
                            .at("HOME")
                            .fix(run("zlaunch shims install|remove|list DIR"))
                    })?
                    .join("zlaunch/shims"),
            };
            match action {
                "install" => install(&folder, host),
                "remove" => remove(&folder, is_own),
                _ => list(&folder, host),
            }
        })
    }
}

fn files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    names().into_iter().map(|name| folder.join(name))
}

fn install(folder: &Path, host: &Host) -> Outcome {
    let foreign: Problems = files(folder)
        .filter(|file| file.symlink_metadata().is_ok() && !is_ours(file))
        .map(|file| {
            let fix = run("zlaunch shims install DIR").remark("choose another folder");
            Rule::Shims
                .error("this file is not a shim of zlaunch, and is left alone")
                .at(file.as_path())
                .fix(fix)
        })
        .collect();
    if !foreign.is_empty() {
        return Err(foreign);
    }
    files(folder).try_for_each(|file| exec::write_program(&file, SHIM))?;
    let is_found =
        host.find_program(OsStr::new("zlaunch")).is_some() || folder.join("zlaunch").is_file();
    let without =
        "; zlaunch itself is not on PATH: until it is, the shims run the real programs unchanged";
    let note = if is_found { "" } else { without };
    let next = put_first(folder);
    err(&format!(
        "{} shims in {}{note}\n{next}\n",
        names().len(),
        folder.display()
    ));
    Ok(0)
}

fn put_first(folder: &Path) -> String {
    format!(
        "export PATH={}:\"$PATH\"",
        String::from_utf8_lossy(&quoted(folder.as_os_str()))
    )
}

/// Warns if an environment that was activated later is before the shims on PATH.
pub fn hidden(host: &Host) -> Option<Problem> {
    let behind = |name: &&str| {
        let mut programs = host.programs(name.as_ref());
        Some((
            programs.next().filter(|program| !is_shim(program))?,
            programs.find(|program| is_shim(program))?,
        ))
    };
    let hidden: Vec<_> = names()
        .into_iter()
        .filter(|name| behind(name).is_some())
        .collect();
    let (program, shim) = behind(hidden.first()?)?;
    let fix = run(put_first(shim.parent()?)).remark("after activating the environment");
    Some(
        Rule::Shims
            .warning(format!(
                "`{}` is before the shims on PATH and hides these: {}",
                program.parent()?.display(),
                hidden.join(", ")
            ))
            .at(&shim)
            .fix(fix),
    )
}

fn remove(folder: &Path, is_own: bool) -> Outcome {
    let present: Vec<PathBuf> = files(folder).filter(|file| is_ours(file)).collect();
    exec::remove(
        &present,
        folder.ancestors().take(if is_own { 2 } else { 0 }),
    )?;
    err(&match present.len() {
        0 => format!("no shims in {}\n", folder.display()),
        count => format!("{count} shims removed from {}\n", folder.display()),
    });
    Ok(0)
}

/// The installed shims.
fn list(folder: &Path, host: &Host) -> Outcome {
    let lines: String = files(folder)
        .filter(|file| is_ours(file))
        .map(|file| format!("{}\n", file.display()))
        .collect();
    if lines.is_empty() {
        err(&format!(
            "no shims in {}; `zlaunch shims install` installs them\n",
            folder.display()
        ));
    }
    out(&lines)?;
    report::report(hidden(host).as_slice(), &Secrets::of(host));
    Ok(0)
}

/// A link is not ours, wherever it points.
fn is_ours(file: &Path) -> bool {
    file.symlink_metadata().is_ok_and(|seen| seen.is_file()) && is_shim(file)
}
