//! The Python that owns a command, found without starting it: shebang, site-packages, versions from dist-info.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::host::Host;
use crate::target::is_python;
use crate::vars;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Python {
    /// As the console script names it: links are not followed, because a link in a virtual environment *is* the
    /// environment.
    pub(crate) program: PathBuf,
    pub(crate) site: Option<PathBuf>,
}

impl Python {
    pub(crate) fn at(program: PathBuf) -> Self {
        let site = site_packages(&program);
        Python { program, site }
    }

    /// The interpreter in a console script's first lines.
    pub(crate) fn of_script(script: &Path, host: &Host) -> Option<Self> {
        let mut head = Vec::with_capacity(512);
        fs::File::open(script).ok()?.take(512).read_to_end(&mut head).ok()?;
        interpreter(&head, host).map(Self::at)
    }

    /// What `python3`, else `python`, means on PATH.
    pub(crate) fn on_path(host: &Host) -> Option<Self> {
        ["python3", "python"].iter().find_map(|name| host.find_program(OsStr::new(name))).map(Self::at)
    }

    /// Whether a file is nowhere this interpreter looks for packages; not so where that cannot be told from outside.
    pub(crate) fn lacks(&self, inside: &str, host: &Host) -> bool {
        let Some((site, prefix)) = self.site.as_ref().zip(self.program.parent().and_then(Path::parent)) else {
            return false;
        };
        if site.join(inside).is_file() {
            return false;
        }
        let environment = fs::read_to_string(prefix.join("pyvenv.cfg")).unwrap_or_default();
        let mut settings = environment.lines().filter_map(|line| line.split_once('='));
        let sees_outside = settings.any(|(name, value)| {
            name.trim() == "include-system-site-packages" && value.trim().eq_ignore_ascii_case("true")
        });
        // Debian spreads its own packages over several folders.
        if sees_outside || !site.ends_with("site-packages") {
            return false;
        }
        let version = site.parent().and_then(Path::file_name).unwrap_or_default();
        let of_user = host.home().map(|home| home.join(".local/lib").join(version).join("site-packages"));
        let named = host.raw(vars::PYTHONPATH).into_iter().flat_map(std::env::split_paths);
        let mut others = of_user.into_iter().chain(named.map(|folder| host.absolute(&folder)));
        !others.any(|folder| folder.join(inside).is_file())
    }

    /// A file of an installed package, if it is there: `swift/cli/sft.py`.
    pub(crate) fn file(&self, inside: &str) -> Option<PathBuf> {
        self.site.as_ref().map(|site| site.join(inside)).filter(|path| path.is_file())
    }

    /// The version of an installed distribution, from the name of its dist-info folder.
    pub(crate) fn version(&self, distribution: &str) -> Option<String> {
        let entries = fs::read_dir(self.site.as_ref()?).ok()?;
        entries.filter_map(Result::ok).find_map(|entry| {
            let name = entry.file_name();
            let (name, version) = name.to_str()?.strip_suffix(".dist-info")?.rsplit_once('-')?;
            (name.replace('-', "_").eq_ignore_ascii_case(distribution)).then(|| version.to_string())
        })
    }
}

fn interpreter(head: &[u8], host: &Host) -> Option<PathBuf> {
    let mut lines = head.strip_prefix(b"#!")?.split(|b| *b == b'\n');
    let first = lines.next()?.trim_ascii();
    let (program, rest) = first.split_at(first.iter().position(|b| *b == b' ').unwrap_or(first.len()));
    let program = Path::new(OsStr::from_bytes(program));
    match program.file_name()?.to_str()? {
        "env" => {
            let mut words = rest.split(|b| *b == b' ').filter(|word| !word.is_empty() && *word != b"-S");
            let word = OsStr::from_bytes(words.next()?);
            is_python(word).then(|| host.find_program(word)).flatten()
        }
        // pip writes this where the interpreter's path is too long or has a space:
        //     #!/bin/sh
        //     '''exec' "/path to/python" "$0" "$@"
        "sh" => {
            let line = lines.next()?.strip_prefix(b"'''exec' ")?.trim_ascii();
            let path = match line.strip_prefix(b"\"") {
                Some(quoted) => quoted.split(|b| *b == b'"').next()?,
                None => line.split(|b| *b == b' ').next()?,
            };
            Some(PathBuf::from(OsStr::from_bytes(path)))
        }
        _ => is_python(program.as_os_str()).then(|| program.to_path_buf()),
    }
}

/// `<prefix>/lib/pythonX.Y/site-packages` beside `<prefix>/bin/python`; Debian's own Python calls it dist-packages.
fn site_packages(program: &Path) -> Option<PathBuf> {
    let lib = program.parent()?.parent()?.join("lib");
    let named = program.file_name()?.to_str().filter(|name| name.starts_with("python3.")).map(str::to_string);
    let candidates = named.into_iter().chain(
        fs::read_dir(&lib)
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| name.starts_with("python3.")),
    );
    candidates
        .flat_map(|version| ["site-packages", "dist-packages"].map(|site| lib.join(&version).join(site)))
        .find(|path| path.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpreters_of_console_scripts() {
        let host = Host::default();
        for (head, program) in [
            ("#!/opt/env/bin/python3.11\nimport sys\n", Some("/opt/env/bin/python3.11")),
            ("#!/opt/env/bin/python -E\n", Some("/opt/env/bin/python")),
            ("#!/bin/sh\n'''exec' \"/a b/bin/python3\" \"$0\" \"$@\"\n' '''\n", Some("/a b/bin/python3")),
            ("#!/bin/sh\n'''exec' /a/bin/python3 \"$0\" \"$@\"\n' '''\n", Some("/a/bin/python3")),
            ("#!/bin/sh\necho no\n", None),
            ("#!/bin/bash\n", None),
            ("\u{7f}ELF", None),
            ("", None),
        ] {
            assert_eq!(interpreter(head.as_bytes(), &host).as_deref(), program.map(Path::new), "{head}");
        }
    }
}
