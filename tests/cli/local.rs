//! The ranks zlaunch starts itself: their environment, their signals, their end.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::sandbox::{Run, SWIFT, Sandbox, argv, free_port, start};

const LOCAL: &[&str] = &["--launcher", "local"];

/// A rank that starts a child, writes down its pid, then waits for a signal or for the file `go`. The child is started
/// before any trap is set: until its exec it would have the trap, too.
fn waits(traps: &str) -> String {
    format!(
        "sleep 1000 & child=$!
{traps}
echo $$ > pid.$RANK.new; mv pid.$RANK.new pid.$RANK
while [ ! -e go ]; do sleep 0.01; done
kill -KILL $child; exit 0
"
    )
}

/// The words of a launch that runs this shell script as so many ranks.
fn words(sandbox: &Sandbox, count: u32, options: &[&str], script: &str) -> Vec<String> {
    sandbox.file("rank.sh", script);
    let count = count.to_string();
    let words = [
        LOCAL,
        &["--nproc-per-node", &count],
        options,
        &["--", "sh", "rank.sh"],
    ]
    .concat();
    words.into_iter().map(str::to_string).collect()
}

/// Runs a shell script as so many ranks, to its end.
fn run(sandbox: &Sandbox, count: u32, options: &[&str], script: &str) -> Run {
    sandbox.run(words(sandbox, count, options, script))
}

fn command(sandbox: &Sandbox, count: u32, options: &[&str], script: &str) -> Command {
    sandbox.command(words(sandbox, count, options, script))
}

/// Waits for the condition. The deadline is for one that never comes, not a measure of speed.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "still not: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The processes that run in the sandbox's current folder. That no other process does, and that a process that has ended
/// has no folder, is why they are not told by their pids, which others may get afterwards.
fn processes(sandbox: &Sandbox) -> Vec<Pid> {
    let pids = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let runs_here = |pid: &i32| {
        fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|folder| folder == sandbox.cwd())
    };
    pids.filter(runs_here).map(Pid::from_raw).collect()
}

pub(crate) fn none_is_left(sandbox: &Sandbox) {
    until("no process is left", || processes(sandbox).is_empty());
}

fn is_stopped(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, state)| state.starts_with('T'))
}

/// Of those that run the tests in the background of a script, SIGINT is.
pub(crate) fn is_ignored(signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal as i32 - 1) & 1 == 1
}

/// Ranks that were started and wait.
struct Started<'s> {
    sandbox: &'s Sandbox,
    zlaunch: Child,
}

impl<'s> Started<'s> {
    fn new(sandbox: &'s Sandbox, mut command: Command, count: u32) -> Self {
        let zlaunch = start(command.stdout(Stdio::null()).stderr(Stdio::null()));
        let started = Started { sandbox, zlaunch };
        until("all ranks started", || exist(sandbox, "pid", count));
        started
    }

    fn waiting(sandbox: &'s Sandbox, traps: &str) -> Self {
        Self::new(sandbox, command(sandbox, 2, &[], &waits(traps)), 2)
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.zlaunch.id().cast_signed())
    }

    fn send(&self, signal: Signal) {
        kill(self.pid(), signal).unwrap();
    }

    fn wait(&mut self) -> Option<i32> {
        self.zlaunch.wait().unwrap().code()
    }
}

impl Drop for Started<'_> {
    fn drop(&mut self) {
        for pid in processes(self.sandbox) {
            let _ = kill(pid, Signal::SIGKILL);
        }
        let _ = self.zlaunch.wait();
    }
}

/// Whether each rank has written its file.
fn exist(sandbox: &Sandbox, name: &str, ranks: u32) -> bool {
    (0..ranks).all(|rank| sandbox.cwd().join(format!("{name}.{rank}")).exists())
}

fn environment_of(sandbox: &Sandbox, rank: u32) -> BTreeMap<String, String> {
    let bytes = fs::read(sandbox.cwd().join(format!("env.{rank}"))).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    text.split('\0')
        .filter_map(|line| line.split_once('='))
        .map(|(k, v)| (k.to_string(), v.to_string()))
        .collect()
}

#[test]
fn the_environment_is_torchruns() {
    let mut sandbox = Sandbox::new();
    // A flag insists on ranks of its own, whatever is left over here.
    sandbox
        .var("RANK", "7")
        .var("LOCAL_RANK", "7")
        .var("WORLD_SIZE", "8")
        .var("TORCHELASTIC_USE_AGENT_STORE", "True");
    let run = run(&sandbox, 3, &[], "env -0 > env.$RANK");
    run.succeeded();
    let all: Vec<_> = (0..3).map(|rank| environment_of(&sandbox, rank)).collect();
    for (rank, env) in all.iter().enumerate() {
        for name in ["RANK", "LOCAL_RANK", "ROLE_RANK"] {
            assert_eq!(env[name], rank.to_string(), "{name}");
        }
        for name in ["WORLD_SIZE", "LOCAL_WORLD_SIZE", "ROLE_WORLD_SIZE"] {
            assert_eq!(env[name], "3", "{name}");
        }
        let others = ["GROUP_RANK", "GROUP_WORLD_SIZE", "ROLE_NAME", "MASTER_ADDR"]
            .map(|name| env[name].as_str());
        assert_eq!(others, ["0", "1", "default", "127.0.0.1"]);
        assert_eq!(env["MASTER_PORT"], all[0]["MASTER_PORT"]);
        assert!(
            env["MASTER_PORT"].parse::<u16>().unwrap() > 0 && env.contains_key("OMP_NUM_THREADS")
        );
        let agent = ["USE_AGENT_STORE", "RESTART_COUNT", "MAX_RESTARTS", "RUN_ID"];
        assert_eq!(
            agent.map(|name| env[&format!("TORCHELASTIC_{name}")].as_str()),
            ["False", "0", "0", "none"]
        );
        assert_eq!(env["TORCH_NCCL_ASYNC_ERROR_HANDLING"], "1");
    }
    // What the user says holds; before torch 2.2 torchrun's variable had another name.
    sandbox.var("TORCH_NCCL_ASYNC_ERROR_HANDLING", "3");
    sandbox.installed("torch", "2.1.2");
    self::run(&sandbox, 1, &[], "env -0 > env.$RANK").succeeded();
    let env = environment_of(&sandbox, 0);
    assert_eq!(
        ["TORCH_NCCL", "NCCL"].map(|name| env[&format!("{name}_ASYNC_ERROR_HANDLING")].as_str()),
        ["3", "1"]
    );
}

#[test]
fn output_from_the_background_does_not_stop_a_rank() {
    // `stty tostop` sends SIGTTOU to whoever writes from the background, unless it is blocked.
    let sandbox = Sandbox::new();
    let options = [LOCAL, &["--nproc-per-node", "1"]].concat();
    let run = sandbox.launch(&options, &["grep", "SigBlk", "/proc/self/status"]);
    let mask = u64::from_str_radix(run.stdout.split_whitespace().last().unwrap(), 16).unwrap();
    assert_eq!(mask, 1 << (Signal::SIGTTOU as u32 - 1), "{run:?}");
}

#[test]
fn master_addr_and_master_port_can_be_given() {
    let sandbox = Sandbox::new();
    let (port, _kept) = free_port();
    let run = run(
        &sandbox,
        2,
        &["--master-addr", "here", "--master-port", &port],
        "env -0 > env.$RANK",
    );
    run.succeeded();
    let env = environment_of(&sandbox, 1);
    assert_eq!(
        (env["MASTER_ADDR"].as_str(), env["MASTER_PORT"].as_str()),
        ("here", port.as_str())
    );
}

#[test]
fn python_runs_unbuffered_and_any_program_as_it_is() {
    let sandbox = Sandbox::new();
    let tool = sandbox.program("tool").display().to_string();
    let argv = |command: &[&str]| {
        argv(&sandbox.plan(&["--launcher", "local", "--nproc-per-node", "2"], command))
    };
    assert_eq!(argv(&["python", "x.py", "--a"])[1..], ["-u", "x.py", "--a"]);
    assert_eq!(
        argv(&["python", "-u", "-X", "dev", "-m", "pkg"])[1..],
        ["-u", "-X", "dev", "-m", "pkg"]
    );
    assert_eq!(argv(&["tool", "-c", ":"]), [&tool, "-c", ":"]);
    assert!(argv(SWIFT)[2].ends_with("swift/cli/sft.py"));
}

#[test]
fn a_rank_that_fails_stops_the_others() {
    let sandbox = Sandbox::new();
    let script = "[ $RANK = 1 ] && { while [ ! -e pid.0 ]; do sleep 0.01; done; exit 7; }\n"
        .to_string()
        + &waits("");
    let run = run(&sandbox, 3, &[], &script);
    assert_eq!(run.status, Some(7), "{run:?}");
    assert!(
        run.stderr
            .contains("rank 1 failed (exit status: 7); the others were stopped"),
        "{run:?}"
    );
    none_is_left(&sandbox);
}

#[test]
fn a_signal_that_ends_a_rank_becomes_128_plus_its_number() {
    let sandbox = Sandbox::new();
    for (signal, status) in [(9, 137), (10, 138), (15, 143), (40, 168)] {
        let run = run(
            &sandbox,
            2,
            &[],
            &format!("[ $RANK = 1 ] && kill -{signal} $$\nexec sleep 1000"),
        );
        assert_eq!(run.status, Some(status), "{run:?}");
        assert!(
            run.stderr
                .contains(&format!("rank 1 failed (signal: {signal}")),
            "{run:?}"
        );
    }
}

#[test]
fn the_exit_status_is_that_of_the_first_rank_to_fail() {
    let sandbox = Sandbox::new();
    let script = "[ $RANK = 1 ] && { while [ ! -e ready ]; do sleep 0.01; done; exit 9; }
trap 'exit 1' TERM; : > ready; while :; do sleep 0.01; done";
    for _ in 0..5 {
        assert_eq!(run(&sandbox, 2, &[], script).status, Some(9));
        fs::remove_file(sandbox.cwd().join("ready")).unwrap();
    }
}

#[test]
fn stop_signals_reach_every_rank_and_no_process_is_left() {
    for (signal, status) in [
        (Signal::SIGTERM, 143),
        (Signal::SIGINT, 130),
        (Signal::SIGHUP, 129),
        (Signal::SIGQUIT, 131),
    ] {
        // A shell makes what it starts in the background ignore INT and QUIT, this test too.
        if is_ignored(signal) {
            continue;
        }
        let sandbox = Sandbox::new();
        let name = signal.as_str().strip_prefix("SIG").unwrap();
        let mut started = Started::waiting(
            &sandbox,
            &format!("trap 'echo {name} > got.$RANK; exit 3' {name}"),
        );
        started.send(signal);
        assert_eq!(started.wait(), Some(status), "{signal}");
        for rank in 0..2 {
            let got = fs::read_to_string(sandbox.cwd().join(format!("got.{rank}"))).unwrap();
            assert_eq!(got.trim(), name, "rank {rank}");
        }
        // Also those that ignore it, as the background processes of a shell do with INT and QUIT.
        none_is_left(&sandbox);
    }
}

#[test]
fn ranks_that_exit_with_0_when_stopped_have_succeeded() {
    let sandbox = Sandbox::new();
    let mut started = Started::waiting(&sandbox, "trap 'exit 0' TERM");
    started.send(Signal::SIGTERM);
    assert_eq!(started.wait(), Some(0));
    none_is_left(&sandbox);
}

#[test]
fn other_signals_are_passed_on_to_the_ranks() {
    let sandbox = Sandbox::new();
    let script = "trap ': > usr1.$RANK' USR1; trap ': > usr2.$RANK' USR2";
    let mut started = Started::waiting(&sandbox, script);
    for (signal, name) in [(Signal::SIGUSR1, "usr1"), (Signal::SIGUSR2, "usr2")] {
        started.send(signal);
        until(name, || exist(&sandbox, name, 2));
    }
    sandbox.file("go", "");
    assert_eq!(started.wait(), Some(0));
}

#[test]
fn a_signal_that_the_caller_ignores_stays_ignored() {
    let sandbox = Sandbox::new();
    let words = words(&sandbox, 2, &[], &waits("trap ': > usr1.$RANK' USR1"));
    let under_nohup = sandbox.shell_command("trap '' HUP; exec \"$0\" \"$@\"", words);
    let mut started = Started::new(&sandbox, under_nohup, 2);
    started.send(Signal::SIGHUP);
    // Behind the first one in the queue.
    started.send(Signal::SIGUSR1);
    until("USR1", || exist(&sandbox, "usr1", 2));
    sandbox.file("go", "");
    assert_eq!(started.wait(), Some(0));
}

#[test]
fn sigtstp_stops_and_sigcont_resumes_all_ranks() {
    let sandbox = Sandbox::new();
    // Without children: a shell whose child is stopped on its way to exec waits for it and cannot be stopped itself.
    let script = "echo $$ > pid.$RANK.new; mv pid.$RANK.new pid.$RANK; exec sleep 1000";
    let mut started = Started::new(&sandbox, command(&sandbox, 2, &[], script), 2);
    let pid = |rank: u32| {
        fs::read_to_string(sandbox.cwd().join(format!("pid.{rank}")))
            .unwrap()
            .trim()
            .parse()
            .unwrap()
    };
    let all = [started.pid(), Pid::from_raw(pid(0)), Pid::from_raw(pid(1))];
    started.send(Signal::SIGTSTP);
    until("all stopped", || all.iter().all(|pid| is_stopped(*pid)));
    started.send(Signal::SIGCONT);
    until("all resumed", || !all.iter().any(|pid| is_stopped(*pid)));
    started.send(Signal::SIGTSTP);
    until("all stopped again", || {
        all.iter().all(|pid| is_stopped(*pid))
    });
    started.send(Signal::SIGCONT);
    started.send(Signal::SIGTERM);
    assert_eq!(started.wait(), Some(143));
    none_is_left(&sandbox);
}

#[test]
fn no_rank_outlives_a_killed_zlaunch() {
    let sandbox = Sandbox::new();
    let script = "trap '' TERM INT HUP; echo $$ > pid.$RANK.new; mv pid.$RANK.new pid.$RANK; exec sleep 1000";
    let mut started = Started::new(&sandbox, command(&sandbox, 2, &[], script), 2);
    // The `mv` of a rank may still be on its way out.
    until("zlaunch and two ranks", || processes(&sandbox).len() == 3);
    started.send(Signal::SIGKILL);
    assert_eq!(started.wait(), None);
    none_is_left(&sandbox);
}

#[test]
fn ranks_that_ignore_the_signal_are_killed_after_the_grace_period() {
    let mut sandbox = Sandbox::new();
    sandbox.var("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "0.1");
    let last = "[ $RANK = 2 ] && { while [ ! -e pid.0 ] || [ ! -e pid.1 ]; do sleep 0.01; done; exit 5; }\n";
    let script = last.to_string() + &waits("trap '' TERM");
    let mut started = Started::new(&sandbox, command(&sandbox, 3, &[], &script), 2);
    assert_eq!(started.wait(), Some(5));
    none_is_left(&sandbox);
    drop(started);
    // The same when the signal comes from outside.
    let mut sandbox = Sandbox::new();
    sandbox.var("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "0");
    let mut started = Started::waiting(&sandbox, "trap '' TERM");
    started.send(Signal::SIGTERM);
    assert_eq!(started.wait(), Some(143));
    none_is_left(&sandbox);
}

/// Neither the exit status nor the end of the grace period changes with the second one.
#[test]
fn of_several_signals_the_first_counts() {
    let mut sandbox = Sandbox::new();
    sandbox.var("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "2");
    let mut started = Started::waiting(&sandbox, "trap '' TERM INT");
    let start = Instant::now();
    started.send(Signal::SIGTERM);
    while start.elapsed() < Duration::from_millis(1500) {
        std::thread::sleep(Duration::from_millis(300));
        started.send(Signal::SIGINT);
    }
    assert_eq!(started.wait(), Some(143));
    assert!(
        start.elapsed() < Duration::from_millis(3200),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn children_that_ranks_leave_behind_go_with_them() {
    let mut sandbox = Sandbox::new();
    sandbox.var("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "0.1");
    for stubborn in ["", "trap '' TERM;"] {
        let run = run(
            &sandbox,
            2,
            &[],
            &format!("{stubborn} sleep 1000 > /dev/null 2>&1 &"),
        );
        run.succeeded();
        assert_eq!(processes(&sandbox), [], "{stubborn}");
    }
}

#[test]
fn a_daemon_of_a_rank_goes_with_the_ranks() {
    let mut sandbox = Sandbox::new();
    sandbox.var("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "0.1");
    // In a session of its own, never silent, and with a child that is in yet another.
    for stubborn in ["", "trap '' TERM;"] {
        let script = format!(
            "rm -f daemon.$RANK; setsid sh -c \"{stubborn} setsid sleep 1000 & echo 1 > daemon.$RANK; while :; do sleep 1; done\" & \
while [ ! -s daemon.$RANK ]; do sleep 0.01; done; echo done"
        );
        let run = run(&sandbox, 2, &[], &script);
        assert_eq!(
            (run.status, run.stdout.matches("done\n").count()),
            (Some(0), 2),
            "{stubborn}"
        );
        assert_eq!(processes(&sandbox), [], "{stubborn}");
    }
}

#[test]
fn what_ran_before_zlaunch_is_left_alone() {
    let sandbox = Sandbox::new();
    let words = words(&sandbox, 2, &[], "setsid sleep 1000 & echo done");
    let run = sandbox.shell(
        "setsid sleep 999 > /dev/null 2>&1 & echo $! > before; exec \"$0\" \"$@\" > /dev/null 2>&1",
        words,
    );
    run.succeeded();
    let before: i32 = fs::read_to_string(sandbox.cwd().join("before"))
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let left = processes(&sandbox);
    for pid in &left {
        kill(*pid, Signal::SIGKILL).unwrap();
    }
    assert!(left.contains(&Pid::from_raw(before)), "{left:?}");
}

#[test]
fn standard_input_goes_to_the_first_rank() {
    let sandbox = Sandbox::new();
    let mut command = command(&sandbox, 2, &[], "cat > in.$RANK");
    let mut zlaunch = start(command.stdin(Stdio::piped()));
    zlaunch.stdin.take().unwrap().write_all(b"text").unwrap();
    assert!(zlaunch.wait().unwrap().success());
    let read = |rank: u32| fs::read_to_string(sandbox.cwd().join(format!("in.{rank}"))).unwrap();
    assert_eq!((read(0).as_str(), read(1).as_str()), ("text", ""));
}

#[test]
fn a_rank_inherits_the_callers_signals_and_descriptors() {
    let sandbox = Sandbox::new();
    let script = "cat /proc/self/status > status.$RANK; ls /proc/self/fd > fds.$RANK";
    run(&sandbox, 1, &[], script).succeeded();
    sandbox
        .script(&script.replace("$RANK", "outside"))
        .succeeded();
    let read = |name: &str| fs::read_to_string(sandbox.cwd().join(name)).unwrap();
    let line = |name: &str, line: &str| {
        read(name)
            .lines()
            .find(|it| it.starts_with(line))
            .unwrap()
            .to_string()
    };
    for name in ["SigBlk", "SigIgn"] {
        assert_eq!(line("status.0", name), line("status.outside", name));
    }
    // The shell keeps the script itself open.
    assert!(
        read("fds.0").lines().count() <= read("fds.outside").lines().count() + 1,
        "{}",
        read("fds.0")
    );
}

#[test]
fn a_program_that_cannot_start_is_reported_once() {
    let sandbox = Sandbox::new();
    sandbox.executable("cwd/bad-shebang", "#!/proc/nowhere/interpreter\n");
    let run = |program: &str| {
        sandbox.launch(
            &["--launcher", "local", "--nproc-per-node", "3"],
            &[program],
        )
    };
    let missing = run("./bad-shebang");
    assert_eq!(
        (
            missing.status,
            missing.stderr.matches("was not found").count()
        ),
        (Some(127), 1),
        "{missing:?}"
    );
    let no_program = sandbox.file("no-program", "");
    sandbox.executable(
        "cwd/not-executable",
        &format!("#!{}\n", no_program.display()),
    );
    assert_eq!(run("./not-executable").status, Some(126));
    assert_eq!(run("./missing").status, Some(127));
}

#[test]
fn several_machines_need_torchrun() {
    let sandbox = Sandbox::new();
    let several = "--nproc-per-node 2 --nnodes 2 --node-rank 0 --master-addr h --master-port 1";
    let several: Vec<&str> = several.split(' ').collect();
    sandbox
        .launch(&[LOCAL, &several].concat(), &["python", "x.py"])
        .refused(&[
            "2 machines need torchrun",
            "--nnodes 2",
            "--launcher torchrun",
        ]);
}

#[test]
fn the_plan_shows_what_each_rank_runs() {
    let mut sandbox = Sandbox::new();
    sandbox.var("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "120");
    let options = ["--launcher", "local", "--nproc-per-node", "2"];
    let plan = sandbox.plan(&options, &["python", "x.py"]);
    assert_eq!(plan["launcher"], "local");
    let set = &plan["env"]["set"];
    assert_eq!(
        (&set["WORLD_SIZE"], &set["LOCAL_WORLD_SIZE"]),
        (&"2".into(), &"2".into())
    );
    assert_eq!(
        (&set["MASTER_ADDR"], &set["MASTER_PORT"]),
        (&"127.0.0.1".into(), &"0".into())
    );
    assert_eq!(
        (&plan["local"]["ranks"], &plan["local"]["grace_seconds"]),
        (&2.into(), &120.0.into())
    );
    let text = sandbox.run(
        ["-n"]
            .iter()
            .chain(&options)
            .chain(&["--", "python", "x.py"]),
    );
    let per_rank = text
        .stdout
        .lines()
        .find(|line| line.starts_with("  RANK, LOCAL_RANK, ROLE_RANK "))
        .unwrap();
    assert!(
        per_rank.ends_with(" the number of the rank: 0 to 1"),
        "{}",
        text.stdout
    );
    assert!(text.stdout.contains("each rank runs"), "{}", text.stdout);
}

#[test]
fn the_script_of_a_plan_starts_the_same_ranks() {
    let mut sandbox = Sandbox::new();
    sandbox
        .var("ZLAUNCH_DEEPSPEED", "zero2")
        .var("STUB_EXIT", "5");
    // One rank, because the stub has one place to record.
    let options = ["--launcher", "local", "--nproc-per-node", "1"];
    assert_eq!(sandbox.launch(&options, SWIFT).status, Some(5));
    let (argv, env) = (sandbox.recorded(), sandbox.recorded_env());
    let script = sandbox.printed_script(&options, SWIFT);
    fs::remove_dir_all(sandbox.path("home/.cache")).unwrap();
    let run = sandbox.script(&script.stdout);
    assert_eq!(run.status, Some(5), "{}\n{run:?}", script.stdout);
    assert_eq!(sandbox.recorded(), argv);
    assert!(Path::new(argv.last().unwrap()).exists());
    let differs = [
        "_",
        "PWD",
        "SHLVL",
        "OLDPWD",
        "RANK",
        "LOCAL_RANK",
        "ROLE_RANK",
        "MASTER_PORT",
    ];
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
        sandbox.plan(&["--nproc-per-node", nproc], &["python", "x.py"])["launcher"]
            .as_str()
            .unwrap()
            .to_string()
    };
    assert_eq!(launcher(&sandbox, "2"), "torchrun");
    fs::remove_dir_all(sandbox.site().join("torch")).unwrap();
    assert_eq!(
        (
            launcher(&sandbox, "2").as_str(),
            launcher(&sandbox, "1").as_str()
        ),
        ("local", "direct")
    );
    // Only where it is sure: torch may be in other places, too.
    let of_user = sandbox.put(
        "home/.local/lib/python3.11/site-packages/torch/distributed/run.py",
        "",
    );
    assert_eq!(launcher(&sandbox, "2"), "torchrun");
    fs::remove_file(of_user).unwrap();
    sandbox.file("mine/torch/distributed/run.py", "");
    sandbox.var("PYTHONPATH", "a:mine");
    assert_eq!(launcher(&sandbox, "2"), "torchrun");
    sandbox.unset("PYTHONPATH");
    let base = sandbox.path("base/bin");
    let text = format!(
        "home = {}\ninclude-system-site-packages = true\n",
        base.display()
    );
    let settings = sandbox.put("env/pyvenv.cfg", text);
    sandbox.put(
        "base/lib/python3.11/site-packages/torch/distributed/run.py",
        "",
    );
    assert_eq!(launcher(&sandbox, "2"), "torchrun");
    fs::remove_file(settings).unwrap();
    fs::create_dir(sandbox.site().join("torch-2.15.0.dist-info")).unwrap();
    assert_eq!(launcher(&sandbox, "2"), "torchrun");
}
