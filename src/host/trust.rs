//! Finds the part of a path that somebody else could have put there, from the root down, as ssh does for its own files.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Only files of this user and of root are trusted.
    OwnerAlone,
    /// Also files of a group, and of the owner of a folder.
    Group,
}

/// The first part of a path that others can replace. In a container, root's own folders may belong to the owner of `/`.
pub(crate) fn open_to_others(path: &Path, trust: Trust) -> Option<PathBuf> {
    const STICKY: u32 = 0o1000;
    let ours = [
        0,
        fs::metadata("/").map_or(0, |root| root.uid()),
        geteuid().as_raw(),
    ];
    let mut parts: Vec<&Path> = path.ancestors().collect();
    parts.reverse();
    // Others can make something in the folder above.
    let mut is_shared = false;
    for part in parts {
        let Ok(seen) = fs::symlink_metadata(part) else {
            break;
        };
        if !ours.contains(&seen.uid()) && (is_shared || trust == Trust::OwnerAlone) {
            return Some(part.to_path_buf());
        }
        if seen.is_symlink() {
            let behind = fs::canonicalize(part)
                .ok()
                .and_then(|real| open_to_others(&real, trust));
            if behind.is_some() {
                return behind;
            }
            continue;
        }
        // A user's private group has the number of the user.
        let by_group =
            trust == Trust::OwnerAlone && seen.mode() & 0o020 != 0 && seen.gid() != seen.uid();
        is_shared = by_group || seen.mode() & 0o002 != 0;
        if is_shared && seen.mode() & STICKY == 0 {
            return Some(part.to_path_buf());
        }
    }
    None
}
