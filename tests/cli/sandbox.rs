//! Running zlaunch on the fake machine, and what comes of it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Once};

use nix::pty::{Winsize, openpty};
use nix::sys::signal::Signal;
use serde_json::Value;
use zlaunch::testing::cli::{self, Asked, TOOLS};
use zlaunch::testing::{
    Format, Host, Judged, Problem, in_json, refused_json, secrets::Secrets, write,
};

pub(crate) use crate::fake::{
    SYSTEM, Sandbox, Share, executable, mode, nothing_starts, output, pipe, plant, safetensors,
    side_by_side, start, starting,
};

pub(crate) const ZLAUNCH: &str = env!("CARGO_BIN_EXE_zlaunch");

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

impl Sandbox {
    /// A sandbox whose paths have the same length everywhere, because printed lines break by their length. zlaunch is in
    /// `bin` there.
    pub(crate) fn of_documents() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("zl.")
            .rand_bytes(6)
            .tempdir_in("/tmp")
            .unwrap();
        let sandbox = Self::bare_in(folder).with_trainers();
        let program = sandbox.path("bin/zlaunch");
        fs::create_dir(sandbox.path("bin")).unwrap();
        if fs::hard_link(ZLAUNCH, &program).is_err() {
            // By another process, see `starting`.
            assert!(
                output(Command::new("cp").args([Path::new(ZLAUNCH), &program]))
                    .status
                    .success()
            );
        }
        sandbox
    }

    /// Any program, with the variables and in the current folder of the sandbox.
    pub(crate) fn inside(&self, program: impl AsRef<OsStr>) -> Command {
        stop_ignoring_hangup();
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(self.variables())
            .current_dir(self.cwd())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn command<W: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = W>) -> Command {
        let mut command = self.inside(ZLAUNCH);
        command.args(words);
        command
    }

    pub(crate) fn run<W: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = W>) -> Run {
        Run::of(&mut self.command(words))
    }

    /// As `run` of a dry run or a check with `--format json`, without a process: for tables of hundreds of rows.
    pub(crate) fn answer<W: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = W>) -> Run {
        self.answer_with(words, &BTreeMap::new())
    }

    pub(crate) fn answer_with<W: AsRef<OsStr>>(
        &self,
        words: impl IntoIterator<Item = W>,
        variables: &BTreeMap<String, String>,
    ) -> Run {
        let words = words.into_iter().map(|word| word.as_ref().to_os_string());
        let words = std::iter::once("zlaunch".into()).chain(words).collect();
        // The tests may run under `nohup`, and on a machine with GPUs.
        let mut host = Host {
            words,
            ignores_hangup: false,
            nvidia_gpus: None,
            ..Host::read()
        };
        host.cwd = self.cwd();
        host.env = self.variables().clone();
        host.env.extend(
            variables
                .iter()
                .map(|(name, value)| (name.into(), value.into())),
        );
        let secrets = Secrets::of(&host);
        // A plan may ask for the address of a machine.
        let _starting = starting();
        let asked = cli::parse(&host.words, &host, &TOOLS).map(|asked| match asked {
            Asked::Request(request) => request.into_launch(),
            Asked::Text(..) => None,
        });
        let planned = match asked {
            Err(refused) => Err(cli::all_problems(refused, &host)),
            Ok(None) => panic!("neither a launch nor its check: {:?}", host.words),
            Ok(Some(launch)) if host.words[1] == "check" => {
                let (status, json) = in_json(&launch, &host, &secrets, &TOOLS);
                return Run::inside(status, json, &[], &secrets);
            }
            Ok(Some(launch)) => {
                let accepted = Judged::new(&launch, &host).accepted();
                accepted.map(|(plan, problems)| {
                    let json = plan.render(&problems, Format::Json, &secrets);
                    Run::inside(0, json, &problems, &secrets)
                })
            }
        };
        match planned {
            Ok(run) => run,
            Err(problems) => {
                let json = secrets.printed(refused_json(&problems));
                Run::inside(problems[0].status, json, &problems, &secrets)
            }
        }
    }

    /// A script of the shell in which `"$0" "$@"` is zlaunch with these words.
    pub(crate) fn shell_command<W: AsRef<OsStr>>(
        &self,
        script: &str,
        words: impl IntoIterator<Item = W>,
    ) -> Command {
        let mut shell = self.inside("/bin/sh");
        shell.args(["-c", script, ZLAUNCH]).args(words);
        shell
    }

    pub(crate) fn shell<W: AsRef<OsStr>>(
        &self,
        script: &str,
        words: impl IntoIterator<Item = W>,
    ) -> Run {
        Run::of(&mut self.shell_command(script, words))
    }

    /// A script of the shell that starts zlaunch by its name, or not at all.
    pub(crate) fn script(&self, script: &str) -> Run {
        self.script_with(script, &[])
    }

    pub(crate) fn script_with(&self, script: &str, variables: &[(&str, &str)]) -> Run {
        Run::of(
            self.inside("/bin/sh")
                .args(["-c", script])
                .envs(variables.iter().copied()),
        )
    }

    /// Options of zlaunch, then a command.
    pub(crate) fn launch(&self, options: &[&str], command: &[&str]) -> Run {
        self.run(options.iter().chain(&["--"]).chain(command))
    }

    /// The plan of a dry run.
    #[track_caller]
    pub(crate) fn plan(&self, options: &[&str], command: &[&str]) -> Value {
        self.answer(
            [
                &["--dry-run", "--format", "json"],
                options,
                &["--"],
                command,
            ]
            .concat(),
        )
        .json()
    }

    /// The final config of a dry run on two ranks.
    #[track_caller]
    pub(crate) fn config(&self, options: &[&str], command: &[&str]) -> Value {
        self.plan(&[&["--nproc-per-node", "2"], options].concat(), command)["config"].take()
    }

    /// The script that a dry run prints.
    pub(crate) fn printed_script(&self, options: &[&str], command: &[&str]) -> Run {
        self.launch(
            &[&["--dry-run", "--format", "shell"], options].concat(),
            command,
        )
    }

    /// What the interpreter was executed with.
    pub(crate) fn recorded(&self) -> Vec<OsString> {
        words(&fs::read(self.path("record/argv")).unwrap())
    }

    pub(crate) fn recorded_env(&self) -> BTreeMap<String, String> {
        let words = words(&fs::read(self.path("record/env")).unwrap());
        let pairs = words
            .iter()
            .filter_map(|word| word.to_str()?.split_once('='));
        pairs
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect()
    }

    pub(crate) fn executed(&self) -> bool {
        self.path("record/argv").exists()
    }

    /// From now on `executed` and `recorded` are about the next execution.
    pub(crate) fn forget_execution(&self) {
        fs::remove_file(self.path("record/argv")).unwrap();
    }

    /// The one config that zlaunch has written to its cache.
    pub(crate) fn cached_config(&self) -> std::path::PathBuf {
        let mut files = self.files("home/.cache/zlaunch/configs");
        assert_eq!(files.len(), 1, "{files:?}");
        files.remove(0)
    }
}

/// Where the tests run under `nohup`, programs inherit that SIGHUP is ignored. A signal that has a handler is reset to its
/// default for them.
fn stop_ignoring_hangup() {
    static HANDLER: Once = Once::new();
    HANDLER.call_once(|| {
        signal_hook::flag::register(Signal::SIGHUP as i32, Arc::default()).unwrap();
    });
}

fn words(bytes: &[u8]) -> Vec<OsString> {
    let text = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    text.split(|b| *b == 0)
        .map(|word| OsString::from_vec(word.to_vec()))
        .collect()
}

/// The value of `--name` in an argv.
pub(crate) fn option<'a>(argv: &'a [OsString], name: &str) -> Option<&'a OsStr> {
    let at = argv
        .iter()
        .rposition(|word| word.as_bytes() == name.as_bytes())?;
    argv.get(at + 1).map(OsString::as_os_str)
}

/// The argv of a plan.
pub(crate) fn argv(plan: &Value) -> Vec<String> {
    serde_json::from_value(plan["argv"].clone()).unwrap()
}

pub(crate) fn read_json(path: impl AsRef<Path>) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// The rights of everybody to a file, as `chmod` writes them.
pub(crate) fn rights(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: String,
    /// Without the headline.
    pub(crate) stderr: String,
    /// The line that a launch says about itself: `zlaunch: zero2 · 2 ranks on this machine · torchrun`.
    pub(crate) headline: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let (headline, stderr): (Vec<_>, Vec<_>) = stderr
            .split_inclusive('\n')
            .partition(|line| line.starts_with("zlaunch: "));
        Run {
            status: output.status.code(),
            signal: output.status.signal(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: stderr.concat(),
            headline: headline.concat(),
        }
    }
}

impl Run {
    /// The program, run to its end.
    pub(crate) fn of(command: &mut Command) -> Self {
        Run::from(output(command))
    }

    /// What zlaunch would have printed.
    fn inside(status: u8, stdout: Vec<u8>, problems: &[Problem], secrets: &Secrets) -> Self {
        let mut stderr = anstream::StripStream::new(Vec::new());
        write(problems, secrets, None, &mut stderr);
        let [stdout, stderr] =
            [stdout, stderr.into_inner()].map(|bytes| String::from_utf8(bytes).unwrap());
        Run {
            status: Some(i32::from(status)),
            signal: None,
            stdout,
            stderr,
            headline: String::new(),
        }
    }

    #[track_caller]
    pub(crate) fn succeeded(&self) {
        assert_eq!(self.status, Some(0), "{self:?}");
    }

    /// Succeeded without a word on standard error.
    #[track_caller]
    pub(crate) fn succeeded_silently(&self) {
        assert_eq!(
            (self.status, self.stderr.as_str()),
            (Some(0), ""),
            "{self:?}"
        );
    }

    /// The plan or the report that was printed.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        self.succeeded();
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// Refused for one rule.
    #[track_caller]
    pub(crate) fn refused_by(&self, rule: &str) {
        self.refused(&[&format!("error[{rule}]")]);
    }

    /// Refused by zlaunch with a sentence that holds all of these, and without a panic.
    #[track_caller]
    pub(crate) fn refused(&self, words: &[&str]) {
        assert_eq!(self.status, Some(125), "{self:?}");
        assert!(
            self.stderr.starts_with("error")
                && self.stderr.contains("  --> ")
                && self.stderr.contains("  help: "),
            "{self:?}"
        );
        assert!(!self.stderr.contains("panicked"), "{self:?}");
        for word in words {
            assert!(
                self.stderr.contains(word),
                "{word} is missing in: {}",
                self.stderr
            );
        }
    }
}

/// A port that zlaunch may open and that the system gives to nobody else while the connection is kept: a program may listen
/// on the port of a connection that was accepted before.
pub(crate) fn free_port() -> (String, [TcpStream; 2]) {
    let _nothing_starts = nothing_starts();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let ours = TcpStream::connect(address).unwrap();
    (
        address.port().to_string(),
        [ours, listener.accept().unwrap().0],
    )
}

/// What a program prints on a terminal with so many columns.
pub(crate) fn on_terminal(mut command: Command, columns: u16) -> String {
    let size = Winsize {
        ws_row: 40,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let pty = openpty(Some(&size), None).unwrap();
    let end = |end: &std::os::fd::OwnedFd| Stdio::from(end.try_clone().unwrap());
    command
        .env("TERM", "xterm-256color")
        .stdin(Stdio::null())
        .stdout(end(&pty.slave))
        .stderr(end(&pty.slave));
    let mut child = start(&mut command);
    drop((command, pty.slave));
    let mut seen = Vec::new();
    // Linux ends it with an error when the other side is closed.
    let _ = File::from(pty.master).read_to_end(&mut seen);
    child.wait().unwrap();
    String::from_utf8(seen).unwrap().replace("\r\n", "\n")
}

pub(crate) fn without_colours(shown: &str) -> String {
    let parts = shown.split("\x1b[").enumerate();
    let plain = parts.map(|(at, part)| {
        if at == 0 {
            part
        } else {
            part.split_once('m').map_or("", |(_, rest)| rest)
        }
    });
    plain.collect()
}
