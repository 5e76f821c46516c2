//! The ranks zlaunch starts itself: their environment, their signals, their end, their output.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::sandbox::{Run, SWIFT, Sandbox, executable};

const LOCAL: &[&str] = &["--launcher", "local"];

/// A rank with a child that tells both pids, then waits for a signal or for the file `go`. The child comes before any trap: a
/// signal that meets it on its way to exec would end in a trap of the shell it no longer is.
fn waits(traps: &str) -> String {
    format!(
        "sleep 1000 & echo $! > child.$RANK
{traps}
echo $$ > pid.$RANK.new; mv pid.$RANK.new pid.$RANK
while [ ! -e go ]; do sleep 0.01; done
kill -KILL $(cat child.$RANK) 2>/dev/null; exit 0
"
    )
}

fn ranks(count: u32) -> Vec<String> {
    LOCAL.iter().map(ToString::to_string).chain(["--nproc-per-node".to_string(), count.to_string()]).collect()
}

/// Runs a shell script as so many ranks, to its end.
fn run(sandbox: &Sandbox, count: u32, options: &[&str], script: &str) -> Run {
    Run::from(command(sandbox, count, options, script).output().unwrap())
}

fn command(sandbox: &Sandbox, count: u32, options: &[&str], script: &str) -> Command {
    let script = sandbox.file("rank.sh", script);
    let options = options.iter().map(ToString::to_string);
    let words = ["--".to_string(), "sh".to_string(), script.to_str().unwrap().to_string()];
    sandbox.command(ranks(count).into_iter().chain(options).chain(words))
}

/// The condition is awaited; that it never comes is a failure, not a matter of speed.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "still not: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The letter of a process's state; `None` is no process.
fn state(pid: i32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next().filter(|state| !"ZX".contains(*state))
}

fn is_ignored(signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal as i32 - 1) & 1 == 1
}

/// Ranks that were started and wait.
struct Started {
    zlaunch: Child,
    ranks: Vec<i32>,
    children: Vec<i32>,
}

impl Started {
    fn new(sandbox: &Sandbox, mut command: Command, count: u32) -> Self {
        let zlaunch = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let files = |name: &str| -> Vec<i32> {
            let read = |rank| fs::read_to_string(sandbox.cwd().join(format!("{name}.{rank}"))).unwrap_or_default();
            (0..count).filter_map(|rank| read(rank).trim().parse().ok()).collect()
        };
        until("all ranks started", || files("pid").len() == count as usize);
        Started { zlaunch, ranks: files("pid"), children: files("child") }
    }

    fn waiting(sandbox: &Sandbox, traps: &str) -> Self {
        Self::new(sandbox, command(sandbox, 2, &[], &waits(traps)), 2)
    }

    fn pid(&self) -> i32 {
        self.zlaunch.id().cast_signed()
    }

    fn send(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid()), signal).unwrap();
    }

    fn wait(&mut self) -> Option<i32> {
        self.zlaunch.wait().unwrap().code()
    }

    /// Zombies that nobody has buried yet do not count.
    fn nobody_is_left(&self) {
        assert!(!self.ranks.is_empty());
        let all = self.ranks.iter().chain(&self.children);
        until("nobody is left", || all.clone().all(|pid| state(*pid).is_none()));
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        for pid in self.ranks.iter().chain(&self.children).chain([&self.pid()]) {
            let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
        }
        let _ = self.zlaunch.wait();
    }
}

fn environment_of(sandbox: &Sandbox, rank: u32) -> BTreeMap<String, String> {
    let bytes = fs::read(sandbox.cwd().join(format!("env.{rank}"))).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    text.split('\0').filter_map(|line| line.split_once('=')).map(|(k, v)| (k.to_string(), v.to_string())).collect()
}

#[test]
fn the_environment_is_torchruns() {
    let mut sandbox = Sandbox::new();
    // A flag insists on ranks of its own, whatever is left over here.
    sandbox.var("RANK", "7").var("LOCAL_RANK", "7").var("WORLD_SIZE", "8").var("TORCHELASTIC_USE_AGENT_STORE", "True");
    let run = run(&sandbox, 3, &[], "env -0 > env.$RANK");
    assert_eq!(run.status, Some(0), "{run:?}");
    let all: Vec<_> = (0..3).map(|rank| environment_of(&sandbox, rank)).collect();
    for (rank, env) in all.iter().enumerate() {
        for name in ["RANK", "LOCAL_RANK", "ROLE_RANK"] {
            assert_eq!(env[name], rank.to_string(), "{name}");
        }
        for name in ["WORLD_SIZE", "LOCAL_WORLD_SIZE", "ROLE_WORLD_SIZE"] {
            assert_eq!(env[name], "3", "{name}");
        }
        let others = ["GROUP_RANK", "GROUP_WORLD_SIZE", "ROLE_NAME", "MASTER_ADDR"].map(|name| env[name].as_str());
        assert_eq!(others, ["0", "1", "default", "127.0.0.1"]);
        assert_eq!(env["MASTER_PORT"], all[0]["MASTER_PORT"]);
        assert!(env["MASTER_PORT"].parse::<u16>().unwrap() > 0 && env.contains_key("OMP_NUM_THREADS"));
        assert!(!env.contains_key("TORCHELASTIC_USE_AGENT_STORE"));
    }
}

#[test]
fn the_meeting_place_can_be_given() {
    let sandbox = Sandbox::new();
    let run = run(&sandbox, 2, &["--master-addr", "here", "--master-port", "1234"], "env -0 > env.$RANK");
    assert_eq!(run.status, Some(0), "{run:?}");
    let env = environment_of(&sandbox, 1);
    assert_eq!((env["MASTER_ADDR"].as_str(), env["MASTER_PORT"].as_str()), ("here", "1234"));
}

#[test]
fn python_runs_unbuffered_and_any_program_as_it_is() {
    let sandbox = Sandbox::new();
    let argv = |command: &[&str]| -> Vec<String> {
        let options = ranks(2);
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        serde_json::from_value(sandbox.plan(&options, command)["argv"].clone()).unwrap()
    };
    assert_eq!(argv(&["python", "x.py", "--a"])[1..], ["-u", "x.py", "--a"]);
    assert_eq!(argv(&["python", "-u", "-X", "dev", "-m", "pkg"])[1..], ["-u", "-X", "dev", "-m", "pkg"]);
    assert_eq!(argv(&["sh", "-c", ":"]), ["/usr/bin/sh", "-c", ":"]);
    assert!(argv(SWIFT)[2].ends_with("swift/cli/sft.py"));
}

#[test]
fn a_rank_that_fails_stops_the_others() {
    let sandbox = Sandbox::new();
    let script = "[ $RANK = 1 ] && { while [ ! -e pid.0 ]; do sleep 0.01; done; exit 7; }\n".to_string() + &waits("");
    let run = run(&sandbox, 3, &[], &script);
    assert_eq!(run.status, Some(7), "{run:?}");
    assert!(run.stderr.contains("rank 1 exited with status 7; the others were stopped"), "{run:?}");
    assert!(!sandbox.cwd().join("go").exists());
}

#[test]
fn a_signal_that_ends_a_rank_is_told_as_a_shell_would() {
    let sandbox = Sandbox::new();
    for (signal, status) in [(9, 137), (10, 138), (15, 143), (40, 168)] {
        let run = run(&sandbox, 2, &[], &format!("[ $RANK = 1 ] && kill -{signal} $$\nexec sleep 1000"));
        assert_eq!(run.status, Some(status), "{run:?}");
        assert!(run.stderr.contains(&format!("rank 1 was killed by signal {signal}")), "{run:?}");
    }
}

#[test]
fn the_first_failure_counts_not_what_follows_from_it() {
    let sandbox = Sandbox::new();
    let script = "[ $RANK = 1 ] && { while [ ! -e ready ]; do sleep 0.01; done; exit 9; }
trap 'exit 1' TERM; : > ready; while :; do sleep 0.01; done";
    for _ in 0..5 {
        assert_eq!(run(&sandbox, 2, &[], script).status, Some(9));
        fs::remove_file(sandbox.cwd().join("ready")).unwrap();
    }
}

#[test]
fn signals_to_stop_reach_every_rank_and_nobody_is_left() {
    for (signal, status) in
        [(Signal::SIGTERM, 143), (Signal::SIGINT, 130), (Signal::SIGHUP, 129), (Signal::SIGQUIT, 131)]
    {
        // A shell makes what it starts in the background ignore INT and QUIT, this test too.
        if is_ignored(signal) {
            continue;
        }
        let sandbox = Sandbox::new();
        let name = signal.as_str().strip_prefix("SIG").unwrap();
        let mut started = Started::waiting(&sandbox, &format!("trap 'echo {name} > got.$RANK; exit 3' {name}"));
        started.send(signal);
        assert_eq!(started.wait(), Some(status), "{signal}");
        for rank in 0..2 {
            let got = fs::read_to_string(sandbox.cwd().join(format!("got.{rank}"))).unwrap();
            assert_eq!(got.trim(), name, "rank {rank}");
        }
        // Also those that ignore it, as the background processes of a shell do with INT and QUIT.
        started.nobody_is_left();
    }
}

#[test]
fn ranks_that_end_well_when_told_to_stop_have_succeeded() {
    let sandbox = Sandbox::new();
    let mut started = Started::waiting(&sandbox, "trap 'exit 0' TERM");
    started.send(Signal::SIGTERM);
    assert_eq!(started.wait(), Some(0));
    started.nobody_is_left();
}

#[test]
fn other_signals_are_the_ranks_own_affair() {
    let sandbox = Sandbox::new();
    let script = "trap ': > usr1.$RANK' USR1; trap ': > usr2.$RANK' USR2";
    let mut started = Started::waiting(&sandbox, script);
    for (signal, name) in [(Signal::SIGUSR1, "usr1"), (Signal::SIGUSR2, "usr2")] {
        started.send(signal);
        until(name, || (0..2).all(|rank| sandbox.cwd().join(format!("{name}.{rank}")).exists()));
    }
    sandbox.file("go", "");
    assert_eq!(started.wait(), Some(0));
}

#[test]
fn what_is_ignored_outside_is_ignored_inside() {
    let sandbox = Sandbox::new();
    let inner = command(&sandbox, 2, &[], &waits("trap ': > usr1.$RANK' USR1"));
    let mut outer = Command::new("/bin/sh");
    outer.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(inner.get_program()).args(inner.get_args());
    outer.current_dir(sandbox.cwd()).env_clear();
    outer.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut started = Started::new(&sandbox, outer, 2);
    started.send(Signal::SIGHUP);
    // Behind the first one in the queue.
    started.send(Signal::SIGUSR1);
    until("USR1", || (0..2).all(|rank| sandbox.cwd().join(format!("usr1.{rank}")).exists()));
    sandbox.file("go", "");
    assert_eq!(started.wait(), Some(0));
}

#[test]
fn a_terminal_stops_and_resumes_all() {
    let sandbox = Sandbox::new();
    // Without children: a shell whose child is stopped on its way to exec waits for it and cannot be stopped itself.
    let script = "echo $$ > pid.$RANK.new; mv pid.$RANK.new pid.$RANK; exec sleep 1000";
    let mut started = Started::new(&sandbox, command(&sandbox, 2, &[], script), 2);
    let all: Vec<i32> = started.ranks.iter().copied().chain([started.pid()]).collect();
    started.send(Signal::SIGTSTP);
    until("all stopped", || all.iter().all(|pid| state(*pid) == Some('T')));
    started.send(Signal::SIGCONT);
    until("all resumed", || all.iter().all(|pid| state(*pid) != Some('T')));
    started.send(Signal::SIGTSTP);
    until("all stopped again", || all.iter().all(|pid| state(*pid) == Some('T')));
    started.send(Signal::SIGCONT);
    started.send(Signal::SIGTERM);
    assert_eq!(started.wait(), Some(143));
    started.nobody_is_left();
}

#[test]
fn nobody_outlives_a_zlaunch_that_is_killed() {
    let sandbox = Sandbox::new();
    let mut started = Started::waiting(&sandbox, "trap '' TERM INT HUP");
    started.send(Signal::SIGKILL);
    assert_eq!(started.wait(), None);
    assert_eq!(started.children.len(), 2);
    started.nobody_is_left();
}

#[test]
fn who_does_not_listen_is_killed_when_the_time_is_over() {
    let mut sandbox = Sandbox::new();
    sandbox.var("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "0.1");
    let last = "[ $RANK = 2 ] && { while [ ! -e pid.0 ] || [ ! -e pid.1 ]; do sleep 0.01; done; exit 5; }\n";
    let script = last.to_string() + &waits("trap '' TERM");
    let mut started = Started::new(&sandbox, command(&sandbox, 3, &[], &script), 2);
    assert_eq!(started.wait(), Some(5));
    started.nobody_is_left();
    // The same when the word comes from outside.
    let sandbox_of_two = {
        let mut sandbox = Sandbox::new();
        sandbox.var("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "0");
        sandbox
    };
    let mut started = Started::waiting(&sandbox_of_two, "trap '' TERM");
    started.send(Signal::SIGTERM);
    assert_eq!(started.wait(), Some(143));
    started.nobody_is_left();
}

#[test]
fn children_that_ranks_leave_behind_go_with_them() {
    let mut sandbox = Sandbox::new();
    sandbox.var("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "0.1");
    for stubborn in ["", "trap '' TERM;"] {
        let run = run(&sandbox, 2, &[], &format!("{stubborn} sleep 1000 > /dev/null 2>&1 & echo $! > child.$RANK"));
        assert_eq!(run.status, Some(0), "{run:?}");
        for rank in 0..2 {
            let child = fs::read_to_string(sandbox.cwd().join(format!("child.{rank}"))).unwrap();
            assert_eq!(state(child.trim().parse().unwrap()), None);
        }
    }
}

#[test]
fn no_line_is_torn_or_lost() {
    let sandbox = Sandbox::new();
    let script = "i=0; pad=
while [ $i -lt 2000 ]; do
    echo \"$RANK $i $pad.\"; echo \"$RANK $i $pad!\" >&2
    pad=${pad}abc; [ ${#pad} -gt 211 ] && pad=x
    i=$((i + 1))
done";
    let run = run(&sandbox, 3, &["--prefix"], script);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    for (text, end) in [(&run.stdout, '.'), (&run.stderr, '!')] {
        let mut next = [0; 3];
        for line in text.lines() {
            let rank: usize = line[6..7].parse().unwrap();
            let start = format!("[rank {rank}] {rank} {} ", next[rank]);
            assert!(line.starts_with(&start) && line.ends_with(end), "{line}");
            next[rank] += 1;
        }
        assert_eq!(next, [2000; 3]);
    }
}

#[test]
fn long_lines_last_lines_and_progress_bars() {
    let sandbox = Sandbox::new();
    let script = "x=0123456789abcdef; i=0; while [ $i -lt 17 ]; do x=$x$x; i=$((i + 1)); done
printf '%s\\n' \"$x\"; printf '\\r10%%\\r20%%\\n'; printf 'no end'";
    let run = run(&sandbox, 3, &["--prefix"], script);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let long = "0123456789abcdef".repeat(1 << 17);
    for rank in 0..3 {
        let prefix = format!("[rank {rank}] ");
        for line in [format!("{prefix}{long}\n"), format!("{prefix}10%\r"), format!("{prefix}20%\n")] {
            assert_eq!(run.stdout.matches(&line).count(), 1, "{rank}: {} bytes", line.len());
        }
        assert_eq!(run.stdout.matches(&format!("{prefix}no end\n")).count(), 1);
    }
    assert_eq!(run.stdout.len(), 3 * ("[rank 0] ".len() * 4 + long.len() + "\n\r10%\r20%\nno end\n".len()));
}

#[test]
fn somebody_who_left_does_not_hold_the_others() {
    let sandbox = Sandbox::new();
    // In a session of its own, and never silent.
    let script = "setsid sh -c 'echo $$ > daemon.$RANK; while :; do echo y; done' & \
while [ ! -s daemon.$RANK ]; do sleep 0.01; done; echo done";
    let run = run(&sandbox, 2, &["--prefix"], script);
    for rank in 0..2 {
        let daemon = fs::read_to_string(sandbox.cwd().join(format!("daemon.{rank}"))).unwrap();
        let _ = kill(Pid::from_raw(daemon.trim().parse().unwrap()), Signal::SIGKILL);
    }
    assert_eq!((run.status, run.stdout.matches("] done\n").count()), (Some(0), 2));
}

#[test]
fn a_reader_that_is_slow_or_gone_holds_nobody() {
    let mut sandbox = Sandbox::new();
    sandbox.var("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "0.1");
    let script = "(while :; do echo yyyyyyyyyyyyyyyyyyyyyyy; done) &\n".to_string() + &waits("");
    let mut zlaunch = command(&sandbox, 2, &["--prefix"], &script).stdout(Stdio::piped()).spawn().unwrap();
    until("ranks", || (0..2).all(|rank| sandbox.cwd().join(format!("pid.{rank}")).exists()));
    kill(Pid::from_raw(zlaunch.id().cast_signed()), Signal::SIGTERM).unwrap();
    // Its output is held, but never read.
    let output = zlaunch.stdout.take();
    assert_eq!(zlaunch.wait().unwrap().code(), Some(143));
    drop(output);
    // Without a reader a rank sees a broken pipe, as it would without zlaunch.
    let mut zlaunch = command(&sandbox, 2, &["--prefix"], "while echo y; do :; done; exit 4");
    let mut zlaunch = zlaunch.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(zlaunch.stdout.take());
    // The shell's own SIGPIPE, or its exit where the environment ignores that.
    assert!([Some(141), Some(4)].contains(&zlaunch.wait().unwrap().code()));
}

#[test]
fn every_rank_has_its_log() {
    let sandbox = Sandbox::new();
    let script = "echo out $RANK; echo err $RANK >&2; printf end";
    let quiet = run(&sandbox, 2, &["--log-dir", "logs/of mine"], script);
    assert_eq!((quiet.status, quiet.stdout.as_str(), quiet.stderr.as_str()), (Some(0), "", ""));
    let log = |rank: u32| sandbox.cwd().join(format!("logs/of mine/rank{rank}.log"));
    let text = |rank: u32| fs::read_to_string(log(rank)).unwrap();
    for rank in 0..2 {
        assert_eq!(text(rank), format!("out {rank}\nerr {rank}\nend"));
        assert_eq!(fs::metadata(log(rank)).unwrap().permissions().mode() & 0o777, 0o600);
    }
    // With prefixes it is shown as well; what was there stays.
    let shown = run(&sandbox, 2, &["--log-dir", "logs/of mine", "--prefix"], script);
    assert!(shown.stdout.contains("[rank 1] out 1\n") && shown.stderr.contains("[rank 0] err 0\n"), "{shown:?}");
    for rank in 0..2 {
        let more = text(rank).strip_prefix(&format!("out {rank}\nerr {rank}\nend")).unwrap().to_string();
        let mut lines: Vec<&str> = more.split_inclusive('\n').collect();
        lines.sort_unstable();
        assert!(more.len() == "out 0\nerr 0\nend".len() && lines.concat().contains(&format!("out {rank}\n")), "{more}");
    }
    sandbox.file("plain", "");
    run(&sandbox, 2, &["--log-dir", "plain"], script).refused(&["the log of a rank cannot be written", "--log-dir"]);
}

#[test]
fn standard_input_is_the_first_ranks() {
    let sandbox = Sandbox::new();
    let mut command = command(&sandbox, 2, &[], "cat > in.$RANK");
    let mut zlaunch = command.stdin(Stdio::piped()).spawn().unwrap();
    zlaunch.stdin.take().unwrap().write_all(b"text").unwrap();
    assert!(zlaunch.wait().unwrap().success());
    let read = |rank: u32| fs::read_to_string(sandbox.cwd().join(format!("in.{rank}"))).unwrap();
    assert_eq!((read(0).as_str(), read(1).as_str()), ("text", ""));
}

#[test]
fn signals_and_descriptors_of_a_rank_are_as_outside() {
    let sandbox = Sandbox::new();
    let script = "cat /proc/self/status > status.$RANK; ls /proc/self/fd > fds.$RANK";
    assert_eq!(run(&sandbox, 1, &[], script).status, Some(0));
    let outside = Command::new("/bin/sh")
        .args(["-c", &script.replace("$RANK", "outside")])
        .current_dir(sandbox.cwd())
        .stdin(Stdio::null())
        .output();
    assert!(outside.unwrap().status.success());
    let read = |name: &str| fs::read_to_string(sandbox.cwd().join(name)).unwrap();
    let line = |name: &str, line: &str| read(name).lines().find(|it| it.starts_with(line)).unwrap().to_string();
    for name in ["SigBlk", "SigIgn"] {
        assert_eq!(line("status.0", name), line("status.outside", name));
    }
    // The shell keeps the script itself open.
    assert!(read("fds.0").lines().count() <= read("fds.outside").lines().count() + 1, "{}", read("fds.0"));
}

#[test]
fn a_program_that_cannot_start_is_told_once() {
    let sandbox = Sandbox::new();
    executable(&sandbox.cwd().join("bad-shebang"), "#!/no/such/interpreter\n");
    let words = |program: &str| ranks(3).into_iter().chain(["--".to_string(), program.to_string()]);
    let run = sandbox.run(words("./bad-shebang"));
    assert_eq!((run.status, run.stderr.matches("was not found").count()), (Some(127), 1), "{run:?}");
    executable(&sandbox.cwd().join("no-program"), "#!/etc/passwd\n");
    assert_eq!(sandbox.run(words("./no-program")).status, Some(126));
    assert_eq!(sandbox.run(words("./missing")).status, Some(127));
}

#[test]
fn limits_of_the_system_are_worded() {
    let sandbox = Sandbox::new();
    let inner = command(&sandbox, 3, &["--prefix"], "exec sleep 1000");
    for limit in 4..16 {
        let mut outer = Command::new("/bin/sh");
        outer.args(["-c", &format!("ulimit -n {limit}; exec \"$0\" \"$@\"")]);
        outer.arg(inner.get_program()).args(inner.get_args()).current_dir(sandbox.cwd()).env_clear();
        outer.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Run::from(outer.stdin(Stdio::null()).output().unwrap()).refused(&["error: ", "help: "]);
    }
}

#[test]
fn several_machines_need_torchrun() {
    let sandbox = Sandbox::new();
    let several = ["--nproc-per-node", "2", "--nnodes", "2", "--master-addr", "h", "--master-port", "1"];
    sandbox.launch(&[LOCAL, &several].concat(), &["python", "x.py"]).refused(&[
        "2 machines need torchrun",
        "--nnodes 2",
        "--launcher torchrun",
    ]);
}

#[test]
fn the_plan_says_all() {
    let mut sandbox = Sandbox::new();
    sandbox.var("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "120").var("ZLAUNCH_PREFIX", "1");
    let options = ["--launcher", "local", "--nproc-per-node", "2", "--log-dir", "logs"];
    let plan = sandbox.plan(&options, &["python", "x.py"]);
    assert_eq!(plan["launcher"], "local");
    let set = &plan["env"]["set"];
    assert_eq!((&set["WORLD_SIZE"], &set["LOCAL_WORLD_SIZE"]), (&"2".into(), &"2".into()));
    assert_eq!((&set["MASTER_ADDR"], &set["MASTER_PORT"]), (&"127.0.0.1".into(), &"0".into()));
    let local = &plan["local"];
    assert_eq!((&local["ranks"], &local["prefix"], &local["grace_seconds"]), (&2.into(), &true.into(), &120.0.into()));
    assert_eq!(local["log_dir"], sandbox.cwd().join("logs").to_str().unwrap());
    let text = sandbox.run(["-n"].iter().chain(&options).chain(&["--", "python", "x.py"]));
    assert!(text.stdout.contains("RANK, LOCAL_RANK, ROLE_RANK  the number of the rank: 0 to 1"), "{}", text.stdout);
    assert!(text.stdout.contains("each rank runs") && text.stdout.contains("logs/rank0.log"), "{}", text.stdout);
    assert!(!sandbox.cwd().join("logs").exists());
}

#[test]
fn the_script_of_a_plan_starts_the_same_ranks() {
    let mut sandbox = Sandbox::new();
    sandbox.var("ZLAUNCH_DEEPSPEED", "zero2").var("ZLAUNCH_LOG_DIR", "logs").var("STUB_EXIT", "5");
    // One rank, because the stub has one place to record.
    let options = ["--launcher", "local", "--nproc-per-node", "1"];
    assert_eq!(sandbox.launch(&options, SWIFT).status, Some(5));
    let (argv, env) = (sandbox.recorded(), sandbox.recorded_env());
    let script = sandbox.run(["-n", "--format", "shell"].iter().chain(&options).chain(&["--"]).chain(SWIFT));
    fs::remove_dir_all(sandbox.root().join("home/.cache")).unwrap();
    let ours = sandbox.command(Vec::<&str>::new());
    let run = Command::new("/bin/sh")
        .args(["-c", &script.stdout])
        .env_clear()
        .envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(sandbox.cwd())
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(5), "{}\n{run:?}", script.stdout);
    assert_eq!(sandbox.recorded(), argv);
    assert!(Path::new(argv.last().unwrap()).exists());
    let differs = ["_", "PWD", "SHLVL", "OLDPWD", "RANK", "LOCAL_RANK", "ROLE_RANK", "MASTER_PORT"];
    let ours = sandbox.recorded_env();
    assert!(ours["MASTER_PORT"].parse::<u16>().unwrap() > 0);
    let kept = |name: &str| !differs.contains(&name) && !name.starts_with("ZLAUNCH_");
    for (name, value) in env.iter().filter(|(name, _)| kept(name)) {
        assert_eq!(ours.get(name), Some(value), "{name}");
    }
}

#[test]
fn zlaunch_starts_the_ranks_where_there_is_no_torchrun() {
    let mut sandbox = Sandbox::new();
    let launcher = |sandbox: &Sandbox, nproc: &str| {
        sandbox.plan(&["--nproc-per-node", nproc], &["python", "x.py"])["launcher"].as_str().unwrap().to_string()
    };
    assert_eq!(launcher(&sandbox, "2"), "torchrun");
    fs::remove_dir_all(sandbox.site().join("torch")).unwrap();
    assert_eq!((launcher(&sandbox, "2").as_str(), launcher(&sandbox, "1").as_str()), ("local", "direct"));
    // Only where it is sure: torch may be in other places, too.
    let of_user = sandbox.root().join("home/.local/lib/python3.11/site-packages/torch/distributed/run.py");
    crate::sandbox::plant(&of_user, "");
    assert_eq!(launcher(&sandbox, "2"), "torchrun");
    fs::remove_file(of_user).unwrap();
    sandbox.file("mine/torch/distributed/run.py", "");
    sandbox.var("PYTHONPATH", "a:mine");
    assert_eq!(launcher(&sandbox, "2"), "torchrun");
    sandbox.unset("PYTHONPATH");
    let settings = sandbox.root().join("env/pyvenv.cfg");
    let base = sandbox.root().join("base");
    let text = format!("home = {}/bin\ninclude-system-site-packages = true\n", base.display());
    crate::sandbox::plant(&settings, &text);
    crate::sandbox::plant(&base.join("lib/python3.11/site-packages/torch/distributed/run.py"), "");
    assert_eq!(launcher(&sandbox, "2"), "torchrun");
    fs::remove_file(settings).unwrap();
    fs::create_dir(sandbox.site().join("torch-2.15.0.dist-info")).unwrap();
    assert_eq!(launcher(&sandbox, "2"), "torchrun");
}

#[test]
fn what_is_for_other_ranks_is_said_to_be() {
    let mut sandbox = Sandbox::new();
    let plan = sandbox.plan(&["--nproc-per-node", "2", "--prefix", "--log-dir", "x"], &["python", "x.py"]);
    for at in 0..2 {
        assert_eq!(plan["diagnostics"][at]["rule"], "output-without-effect");
    }
    sandbox.var("ZLAUNCH_PREFIX", "1");
    assert_eq!(sandbox.plan(&["--nproc-per-node", "2"], &["python", "x.py"])["diagnostics"], serde_json::json!([]));
}
