//! The fake machine of all tests: a temporary folder with a home, a current folder and a virtual environment, and the
//! variables that lead there. Only this file knows how such things are laid out. `tests/cli` runs zlaunch in it,
//! `tests/library` and the fuzz targets make a `Host` of it (`tests/library/invariants.rs`), and the benchmarks measure in it.
#![allow(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "each of those who include this file needs another part of it"
)]
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot write its files fails"
)]

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tempfile::TempDir;

/// Where the programs of the system are.
pub(crate) const SYSTEM: &str = "/usr/bin:/bin";

/// The interpreter of the virtual environment: where `STUB_OUT` names a folder it records there how it was executed, and
/// with `STUB_STATUS` which signals it ignores; then it kills itself with the signal `STUB_KILL`, or exits with `STUB_EXIT`.
const INTERPRETER: &str = r#"#!/bin/sh
if [ -n "$STUB_OUT" ]; then
    printf '%s\0' "$0" "$@" > "$STUB_OUT/argv"
    env -0 > "$STUB_OUT/env"
    echo $$ > "$STUB_OUT/pid"
fi
[ -n "$STUB_STATUS" ] && cp /proc/self/status "$STUB_OUT/status"
[ -n "$STUB_KILL" ] && kill -"$STUB_KILL" $$
exit "${STUB_EXIT:-0}"
"#;

const CONSOLE_SCRIPTS: &[&str] = &[
    "swift",
    "megatron",
    "torchrun",
    "deepspeed",
    "accelerate",
    "llamafactory-cli",
    "axolotl",
    "trl",
    "xtuner",
];
/// Scripts in the current folder, of which nothing is known.
const SCRIPTS: &[&str] = &["train.py", "x.py"];
const MODULES: &[&str] = &[
    "swift/cli/sft.py",
    "swift/cli/pt.py",
    "swift/cli/rlhf.py",
    "swift/cli/infer.py",
    "torch/distributed/run.py",
    "deepspeed/__init__.py",
];
const PACKAGES: &[(&str, &str)] = &[
    ("ms_swift", "4.6.0"),
    ("transformers", "5.19.0"),
    ("deepspeed", "0.19.8"),
];

pub(crate) struct Sandbox {
    /// Removed with the sandbox.
    _folder: TempDir,
    root: PathBuf,
    variables: BTreeMap<OsString, OsString>,
}

impl Sandbox {
    /// A home, a current folder, and a virtual environment with the trainers, which is first on PATH.
    pub(crate) fn new() -> Self {
        Self::bare().with_trainers()
    }

    /// A home and a current folder, and nothing on PATH.
    pub(crate) fn bare() -> Self {
        Self::bare_in(tempfile::tempdir().unwrap())
    }

    pub(crate) fn bare_in(folder: TempDir) -> Self {
        let root = fs::canonicalize(folder.path()).unwrap();
        let mut sandbox = Sandbox {
            _folder: folder,
            root,
            variables: BTreeMap::new(),
        };
        fs::create_dir(sandbox.home()).unwrap();
        fs::create_dir(sandbox.cwd()).unwrap();
        let home = sandbox.home();
        sandbox
            .var("HOME", home)
            .var("LANG", "C.UTF-8")
            .var("tests_hide_gpus", "1");
        sandbox
    }

    pub(crate) fn with_trainers(mut self) -> Self {
        self.executable("env/bin/python3.11", INTERPRETER);
        for name in ["python", "python3"] {
            symlink("python3.11", self.bin().join(name)).unwrap();
        }
        for name in CONSOLE_SCRIPTS {
            self.console_script(name);
        }
        for script in SCRIPTS {
            self.file(script, "");
        }
        for module in MODULES {
            plant(&self.site().join(module), "");
        }
        for (package, version) in PACKAGES {
            self.installed(package, version);
        }
        let (bin, record) = (self.bin().display().to_string(), self.path("record"));
        fs::create_dir(&record).unwrap();
        self.search(&[&bin]).var("STUB_OUT", record);
        self
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root.join(below)
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    pub(crate) fn cwd(&self) -> PathBuf {
        self.path("cwd")
    }

    /// The programs of the virtual environment.
    pub(crate) fn bin(&self) -> PathBuf {
        self.path("env/bin")
    }

    pub(crate) fn python(&self) -> PathBuf {
        self.bin().join("python3.11")
    }

    pub(crate) fn site(&self) -> PathBuf {
        self.path("env/lib/python3.11/site-packages")
    }

    pub(crate) fn variables(&self) -> &BTreeMap<OsString, OsString> {
        &self.variables
    }

    pub(crate) fn var(&mut self, name: &str, value: impl Into<OsString>) -> &mut Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    pub(crate) fn vars(&mut self, all: &[(&str, &str)]) -> &mut Self {
        self.variables
            .extend(all.iter().map(|(name, value)| (name.into(), value.into())));
        self
    }

    pub(crate) fn unset(&mut self, name: &str) -> &mut Self {
        self.variables.remove(OsStr::new(name));
        self
    }

    /// Puts these folders on PATH, and those of the system behind them.
    pub(crate) fn search(&mut self, folders: &[&str]) -> &mut Self {
        self.var("PATH", [folders, &[SYSTEM]].concat().join(":"))
    }

    /// A file anywhere in the sandbox.
    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        plant(&path, content);
        path
    }

    /// A file below the current folder.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.cwd().join(name);
        plant(&path, content);
        path
    }

    /// A program anywhere in the sandbox.
    pub(crate) fn executable(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        executable(&path, text);
        path
    }

    /// A program on PATH that records how it was executed.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.executable(&format!("env/bin/{name}"), INTERPRETER)
    }

    /// A program on PATH that is run by the interpreter of the virtual environment.
    pub(crate) fn console_script(&self, name: &str) -> PathBuf {
        self.executable(
            &format!("env/bin/{name}"),
            &format!("#!{}\n", self.python().display()),
        )
    }

    /// A package of this version, instead of another one.
    pub(crate) fn installed(&self, package: &str, version: &str) {
        for entry in fs::read_dir(self.site()).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            if name.starts_with(&format!("{package}-")) && name.ends_with(".dist-info") {
                fs::remove_dir(entry.path()).unwrap();
            }
        }
        fs::create_dir(self.site().join(format!("{package}-{version}.dist-info"))).unwrap();
    }

    /// A model's config.json in a cache of huggingface_hub: a commit, and the branch or tag that names it.
    pub(crate) fn cached_model(
        &self,
        hub: &str,
        model: &str,
        branch: Option<&str>,
        commit: &str,
        config: &str,
    ) {
        let model = format!("{hub}/models--{}", model.replace('/', "--"));
        if let Some(branch) = branch {
            self.put(&format!("{model}/refs/{branch}"), commit);
        }
        self.put(&format!("{model}/snapshots/{commit}/config.json"), config);
    }

    /// Every file below a folder of the sandbox.
    pub(crate) fn files(&self, below: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.path(below)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.is_symlink() {
                    folders.push(path);
                } else {
                    found.push(path);
                }
            }
        }
        found.sort();
        found
    }
}

/// The part of a long table that one of the tests of `side_by_side` looks at.
pub(crate) struct Share(pub(crate) usize);

impl Share {
    /// How many there are.
    pub(crate) const ALL: usize = 4;

    pub(crate) fn of<T>(&self, rows: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
        rows.into_iter().skip(self.0).step_by(Self::ALL)
    }
}

/// Makes four tests of a function over a long table, so that they run at the same time, each with its share of the rows.
macro_rules! side_by_side {
    ($($test:ident)*) => {
        $(mod $test {
            use super::{$test, Share};

            #[test]
            fn first() {
                $test(&Share(0));
            }

            #[test]
            fn second() {
                $test(&Share(1));
            }

            #[test]
            fn third() {
                $test(&Share(2));
            }

            #[test]
            fn fourth() {
                $test(&Share(3));
            }
        })*
    };
}
pub(crate) use side_by_side;

/// A file, and the folders above it.
pub(crate) fn plant(path: &Path, content: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// The kernel executes no file that somebody has open for writing ("text file busy"), and a process that another thread
/// starts has every file and port open until its own exec. So programs are written, and ports found, while no process is
/// being started.
static STARTS: RwLock<()> = RwLock::new(());

/// For as long as this lives, processes may be started.
pub(crate) fn starting() -> RwLockReadGuard<'static, ()> {
    STARTS.read().unwrap_or_else(PoisonError::into_inner)
}

/// Every process of the tests is started here.
pub(crate) fn start(command: &mut Command) -> Child {
    let _starting = starting();
    command.spawn().unwrap()
}

pub(crate) fn output(command: &mut Command) -> Output {
    start(command.stdout(Stdio::piped()).stderr(Stdio::piped()))
        .wait_with_output()
        .unwrap()
}

/// For as long as this lives, no process is started.
pub(crate) fn nothing_starts() -> RwLockWriteGuard<'static, ()> {
    STARTS.write().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn executable(path: &Path, text: &str) {
    let _nothing_starts = nothing_starts();
    plant(path, text);
    mode(path, 0o755);
}

pub(crate) fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A named pipe.
pub(crate) fn pipe(path: &Path) {
    assert!(
        output(Command::new("mkfifo").arg(path)).status.success(),
        "mkfifo {}",
        path.display()
    );
}

/// A file of safetensors with this header and no weights.
pub(crate) fn safetensors(header: &str) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat()
}
