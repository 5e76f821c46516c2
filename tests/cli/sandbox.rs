//! A home, a folder and a virtual environment whose interpreter records its argv and environment.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Records, then exits, kills itself or sleeps as told.
const STUB: &str = r#"#!/bin/sh
if [ -n "$STUB_OUT" ]; then
    printf '%s\0' "$0" "$@" > "$STUB_OUT/argv"
    env -0 > "$STUB_OUT/env"
    cp /proc/self/status "$STUB_OUT/status" 2>/dev/null
    echo $$ > "$STUB_OUT/pid"
fi
[ -n "$STUB_KILL" ] && kill -"$STUB_KILL" $$
exit "${STUB_EXIT:-0}"
"#;

pub(crate) const SWIFT: &[&str] = &[
    "swift",
    "sft",
    "--model",
    "Qwen/Qwen3-8B",
    "--tuner_type",
    "full",
    "--per_device_train_batch_size",
    "1",
    "--gradient_accumulation_steps",
    "16",
];

pub(crate) struct Sandbox {
    folder: TempDir,
    variables: BTreeMap<OsString, OsString>,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self::at(tempfile::tempdir().unwrap())
    }

    /// With paths that are as long everywhere, wherever temporary folders and the repository are: printed lines break
    /// by their length. zlaunch is in `bin` there.
    pub(crate) fn of_documents() -> Self {
        let sandbox = Self::at(tempfile::Builder::new().prefix("zl.").rand_bytes(6).tempdir_in("/tmp").unwrap());
        let (built, program) = (env!("CARGO_BIN_EXE_zlaunch"), sandbox.root().join("bin/zlaunch"));
        fs::create_dir(sandbox.root().join("bin")).unwrap();
        if fs::hard_link(built, &program).is_err() {
            // By another process: a file that this one had open for writing while a thread forks is "busy" for that child.
            assert!(Command::new("cp").args([Path::new(built), &program]).status().unwrap().success());
        }
        sandbox
    }

    fn at(folder: TempDir) -> Self {
        let root = folder.path();
        for name in ["home", "cwd", "record", "env/bin", "env/lib/python3.11/site-packages"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let python = root.join("env/bin/python3.11");
        executable(&python, STUB);
        for name in ["python", "python3"] {
            std::os::unix::fs::symlink("python3.11", root.join("env/bin").join(name)).unwrap();
        }
        let consoles = [
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
        for name in consoles {
            executable(&root.join("env/bin").join(name), &format!("#!{}\n", python.display()));
        }
        let site = root.join("env/lib/python3.11/site-packages");
        for command in ["sft", "pt", "rlhf", "infer"] {
            plant(&site.join(format!("swift/cli/{command}.py")), "");
        }
        plant(&site.join("torch/distributed/run.py"), "");
        plant(&site.join("deepspeed/__init__.py"), "");
        for package in ["ms_swift-4.6.0", "transformers-5.19.0", "deepspeed-0.19.8"] {
            fs::create_dir(site.join(format!("{package}.dist-info"))).unwrap();
        }
        let mut sandbox = Sandbox { folder, variables: BTreeMap::new() };
        let path = format!("{}:/usr/bin:/bin", sandbox.root().join("env/bin").display());
        let (home, record) = (sandbox.root().join("home"), sandbox.root().join("record"));
        sandbox.var("PATH", path).var("HOME", home).var("STUB_OUT", record).var("LANG", "C.UTF-8");
        sandbox
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn cwd(&self) -> PathBuf {
        self.root().join("cwd")
    }

    pub(crate) fn site(&self) -> PathBuf {
        self.root().join("env/lib/python3.11/site-packages")
    }

    pub(crate) fn var(&mut self, name: &str, value: impl Into<OsString>) -> &mut Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    pub(crate) fn unset(&mut self, name: &str) -> &mut Self {
        self.variables.remove(OsStr::new(name));
        self
    }

    /// A file below the current folder.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.cwd().join(name);
        plant(&path, text);
        path
    }

    /// Another version of a package.
    pub(crate) fn installed(&self, package: &str, version: &str) {
        for entry in fs::read_dir(self.site()).unwrap().map(Result::unwrap) {
            if entry.file_name().to_str().unwrap().starts_with(&format!("{package}-")) {
                fs::remove_dir(entry.path()).unwrap();
            }
        }
        fs::create_dir(self.site().join(format!("{package}-{version}.dist-info"))).unwrap();
    }

    /// A program on PATH that records how it was executed.
    pub(crate) fn program(&self, name: &str) {
        executable(&self.root().join("env/bin").join(name), STUB);
    }

    pub(crate) fn command<W: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = W>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zlaunch"));
        command.args(words).env_clear().envs(&self.variables).current_dir(self.cwd()).stdin(Stdio::null());
        command
    }

    pub(crate) fn run<W: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = W>) -> Run {
        let output = self.command(words).output().unwrap();
        Run::from(output)
    }

    /// A script of the shell in which `"$0" "$@"` is zlaunch with these words.
    pub(crate) fn shell<W: AsRef<OsStr>>(&self, script: &str, words: impl IntoIterator<Item = W>) -> Run {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", script, env!("CARGO_BIN_EXE_zlaunch")]).args(words);
        shell.env_clear().envs(&self.variables).current_dir(self.cwd()).stdin(Stdio::null());
        Run::from(shell.output().unwrap())
    }

    /// Options of zlaunch, then a command.
    pub(crate) fn launch(&self, options: &[&str], command: &[&str]) -> Run {
        self.run(options.iter().chain(&["--"]).chain(command))
    }

    /// The plan of a dry run.
    pub(crate) fn plan(&self, options: &[&str], command: &[&str]) -> Value {
        let run = self.run(["--dry-run", "--format", "json"].iter().chain(options).chain(&["--"]).chain(command));
        assert_eq!(run.status, Some(0), "{}", run.stderr);
        serde_json::from_str(&run.stdout).unwrap()
    }

    /// The final config of a dry run on two ranks.
    pub(crate) fn config(&self, options: &[&str], command: &[&str]) -> Value {
        let options: Vec<&str> = ["--nproc-per-node", "2"].iter().chain(options).copied().collect();
        self.plan(&options, command)["config"].take()
    }

    /// What the interpreter was executed with.
    pub(crate) fn recorded(&self) -> Vec<OsString> {
        words(&fs::read(self.root().join("record/argv")).unwrap())
    }

    pub(crate) fn recorded_env(&self) -> BTreeMap<String, String> {
        let words = words(&fs::read(self.root().join("record/env")).unwrap());
        let pairs = words.iter().filter_map(|word| word.to_str()?.split_once('='));
        pairs.map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    pub(crate) fn executed(&self) -> bool {
        self.root().join("record/argv").exists()
    }

    /// Every file below a folder of the sandbox.
    pub(crate) fn files(&self, below: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.root().join(below)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.is_symlink() { folders.push(path) } else { found.push(path) }
            }
        }
        found.sort();
        found
    }
}

fn words(bytes: &[u8]) -> Vec<OsString> {
    let text = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    text.split(|b| *b == 0).map(|word| OsString::from_vec(word.to_vec())).collect()
}

pub(crate) fn plant(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub(crate) fn executable(path: &Path, text: &str) {
    plant(path, text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The value of `--name` in an argv.
pub(crate) fn option<'a>(argv: &'a [OsString], name: &str) -> Option<&'a OsStr> {
    let at = argv.iter().rposition(|word| word.as_bytes() == name.as_bytes())?;
    argv.get(at + 1).map(OsString::as_os_str)
}

#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        use std::os::unix::process::ExitStatusExt;
        Run {
            status: output.status.code(),
            signal: output.status.signal(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Run {
    /// The plan that was printed.
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.status, Some(0), "{self:?}");
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// Refused for one rule.
    pub(crate) fn refused_by(&self, rule: &str) {
        assert_eq!(self.status, Some(125), "{self:?}");
        assert!(self.stderr.contains(&format!("error[{rule}]")), "{self:?}");
    }

    /// Refused by zlaunch with a sentence that holds all of these, and without a panic.
    pub(crate) fn refused(&self, words: &[&str]) {
        assert_eq!(self.status, Some(125), "{self:?}");
        assert!(
            self.stderr.starts_with("error") && self.stderr.contains("  --> ") && self.stderr.contains("  help: "),
            "{self:?}"
        );
        assert!(!self.stderr.contains("panicked"), "{self:?}");
        for word in words {
            assert!(self.stderr.contains(word), "{word} is missing in: {}", self.stderr);
        }
    }
}
