//! In the shell of a job, zlaunch starts itself on each machine through the engine's own program for one machine. Here that is a
//! script which keeps what it was given and goes on without any variable, in another folder. Real ones of Grid Engine and OAR run in
//! `tests/real/engines`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use crate::local::{none_is_left, until};
use crate::sandbox::{Sandbox, ZLAUNCH, argv, rights};

const SCRIPT: &[&str] = &["python", "x.py"];
/// The sandbox is in a folder that no other machine would see.
const SHARED: &[&str] = &["--allow", "config-not-shared"];

/// Records the arguments, the variables and the folder of each machine; the one in `STUB_FAILS` fails, the others wait then.
/// If that is `none`, all wait, with a child in a session of its own, as torchrun has.
const INTERPRETER: &str = r#"#!/bin/sh
before=
for word in "$@"; do [ "$before" = --node_rank ] && node=$word; before=$word; done
printf '%s\0' "$@" > "$STUB_OUT/argv-$node"
env -0 > "$STUB_OUT/env-$node"
echo $$ > "$STUB_OUT/pid-$node"
[ "$STUB_FAILS" = none ] && setsid /bin/sleep 600 &
pwd > "$STUB_OUT/folder-$node"
[ -z "$STUB_FAILS" ] && exit 0
[ "$STUB_FAILS" = "$node" ] && exit 7
exec /bin/sleep 600
"#;

/// Keeps its arguments, and the rights of the file that is to be run. The first of the words after the options is the host.
const STARTER: &str = r#"#!/bin/sh
printf '%s\n' "$0" "$@" > KEPT
while [ "${1#-}" != "$1" ]; do shift; done
shift
stat -c %a "$2" >> KEPT
cp "$2" KEPT.script
cd /
exec env -i CUDA_VISIBLE_DEVICES=6,7 PBS_TASKNUM=2 "$@"
"#;

fn this_host() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_string()
}

/// The shell of a job on this machine and on `n2`, with such a program.
fn shell(program: &str, variables: &[(&str, &str)]) -> Sandbox {
    let mut sandbox = Sandbox::new();
    let kept = sandbox.path("kept").display().to_string();
    sandbox.executable(&format!("env/bin/{program}"), &STARTER.replace("KEPT", &kept));
    sandbox.executable("env/bin/python3.11", INTERPRETER);
    let nodes = sandbox.file("nodes", format!("{0} 1\n{0} 1\nn2 1\n", this_host()));
    sandbox.var("CUDA_VISIBLE_DEVICES", "0,1").vars(variables).var("NODES", nodes.clone());
    for (name, value) in variables {
        sandbox.var(name, value.replace("NODES", nodes.to_str().unwrap()).replace("HERE", &this_host()));
    }
    sandbox
}

fn pbs() -> Sandbox {
    shell("pbs_tmrsh", &[("PBS_JOBID", "7.pbs"), ("PBS_NODEFILE", "NODES"), ("PBS_TASKNUM", "1")])
}

fn recorded(sandbox: &Sandbox, what: &str) -> Vec<String> {
    let bytes = fs::read(sandbox.path(&format!("record/{what}"))).unwrap();
    bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

fn variables(sandbox: &Sandbox, machine: u32) -> BTreeMap<String, String> {
    let words = recorded(sandbox, &format!("env-{machine}"));
    words.iter().filter_map(|word| word.split_once('=')).map(|(name, value)| (name.into(), value.into())).collect()
}

#[test]
fn every_engine_with_such_a_program_reaches_all_machines() {
    for (program, options, variables) in [
        ("pbs_tmrsh", &[][..], &[("PBS_JOBID", "7.pbs"), ("PBS_NODEFILE", "NODES")][..]),
        ("qrsh", &["-inherit", "-nostdin"], &[("JOB_ID", "7"), ("PE", "mpi"), ("PE_HOSTFILE", "NODES")]),
        ("blaunch", &["-no-shell"], &[("LSB_JOBID", "7"), ("LSB_MCPU_HOSTS", "HERE 2 n2 2")]),
        ("oarsh", &[], &[("OAR_JOB_ID", "7"), ("OAR_NODEFILE", "NODES")]),
    ] {
        let sandbox = shell(program, variables);
        let plan = sandbox.plan(SHARED, SCRIPT);
        let words = argv(&plan);
        let expected = [options, &["n2", "/bin/sh"]].concat();
        assert!(words[0].ends_with(&format!("bin/{program}")) && words[1..=expected.len()] == expected, "{plan}");
        assert_eq!((&plan["launcher"], &plan["topology"]["nnodes"]), (&json!(program), &json!(2)));
        assert_eq!(plan["machines"][0]["argv"][0], "/bin/sh", "the shell itself is on the first machine");
        sandbox.launch(SHARED, SCRIPT).succeeded();
        for machine in [0, 1] {
            let words = recorded(&sandbox, &format!("argv-{machine}")).join(" ");
            let place = format!("--nnodes 2 --nproc_per_node 2 --node_rank {machine} --master_addr ");
            assert!(words.contains(&place) && words.trim_end().ends_with("x.py"), "{program}: {words}");
        }
        assert_eq!(recorded(&sandbox, "folder-1"), recorded(&sandbox, "folder-0"));
        let met = |machine: &str| {
            let words = recorded(&sandbox, &format!("argv-{machine}"));
            words.iter().skip_while(|word| *word != "--master_addr").take(4).cloned().collect::<Vec<_>>()
        };
        assert_eq!(met("0"), met("1"));
        assert!(met("0")[3].parse::<u16>().is_ok_and(|port| (20_000..32_768).contains(&port)), "{:?}", met("0"));
        // Without that program, or on another machine, the line to paste.
        fs::remove_file(sandbox.path(&format!("env/bin/{program}"))).unwrap();
        sandbox.launch(SHARED, SCRIPT).refused(&["job on 2 machines: nothing runs on the others", "--nnodes 1"]);
    }
}

#[test]
fn words_and_variables_arrive_and_no_argument_shows_them() {
    let mut sandbox = pbs();
    let odd = "it's $(touch executed) `id` \"q\" \\ é\nline";
    sandbox.var("HF_TOKEN", odd).var("PLAIN", "1").var("BASH_FUNC_module%%", "() { :; }").var("SHELLOPTS", "x");
    sandbox.var("NOT_TEXT", OsStr::from_bytes(b"a\xffb"));
    let options = [SHARED, &["--env", "GIVEN=a b", "--master-port", "1234", "--nproc_per_node=2"]].concat();
    sandbox.launch(&options, &["python", "x.py", odd, ""]).succeeded();
    for machine in [0, 1] {
        let words = recorded(&sandbox, &format!("argv-{machine}"));
        let last = words.iter().position(|word| word == "x.py").unwrap();
        assert_eq!(words[last + 1..], [odd, "", ""], "{words:?}");
        assert!(words.join(" ").contains(" --master_port 1234 "), "{words:?}");
        let env = variables(&sandbox, machine);
        assert_eq!((env["HF_TOKEN"].as_str(), env["PLAIN"].as_str(), env["GIVEN"].as_str()), (odd, "1", "a b"));
        let environment = fs::read(sandbox.path(&format!("record/env-{machine}"))).unwrap();
        assert!(environment.split(|byte| *byte == 0).any(|it| it == b"NOT_TEXT=a\xffb"), "machine {machine}");
    }
    assert!(!sandbox.cwd().join("executed").exists());
    // What a machine says of itself counts there.
    let (here, there) = (variables(&sandbox, 0), variables(&sandbox, 1));
    assert_eq!((here["CUDA_VISIBLE_DEVICES"].as_str(), there["CUDA_VISIBLE_DEVICES"].as_str()), ("0,1", "6,7"));
    assert_eq!((here["PBS_TASKNUM"].as_str(), there["PBS_TASKNUM"].as_str()), ("1", "2"));
    let kept = fs::read_to_string(sandbox.path("kept")).unwrap();
    let lines: Vec<&str> = kept.lines().collect();
    assert_eq!((lines[1], lines[2], lines[4]), ("n2", "/bin/sh", "600"), "{kept}");
    assert!(!kept.contains("touch"), "{kept}");
    let script = fs::read_to_string(sandbox.path("kept.script")).unwrap();
    let place = format!("export NODE_RANK=1 NNODES=2 MASTER_ADDR={} MASTER_PORT=1234\n", this_host());
    assert!(script.contains(&place) && script.contains(&format!("\nexec {ZLAUNCH} --allow ")), "{script}");
    assert!(!std::path::Path::new(lines[3]).exists(), "it is removed with the launch");
    assert_eq!(rights(&sandbox.path("home/.cache/zlaunch/configs")) & 0o777, 0o700);
}

#[test]
fn a_machine_that_fails_ends_the_others_and_its_status_is_the_launchs() {
    for fails in ["0", "1"] {
        let mut sandbox = pbs();
        sandbox.var("STUB_FAILS", fails);
        let run = sandbox.launch(SHARED, SCRIPT);
        assert_eq!(run.status, Some(7), "{run:?}");
        let name = if fails == "0" { this_host() } else { "n2".to_string() };
        let said = format!(
            "what was started on machine {fails} exited with status 7; the others were stopped\n  --> {name}\n"
        );
        assert!(run.stderr.contains(&said), "{run:?}");
    }
}

#[test]
fn what_is_decided_before_anything_starts() {
    let mut sandbox = pbs();
    sandbox.launch(&["--deepspeed", "zero33"], SCRIPT).refused(&["zero33", "zero3"]);
    let run = sandbox.launch(&["--strict"], SCRIPT);
    run.refused(&["2 machines must read what to start", "XDG_CACHE_HOME"]);
    assert!(!sandbox.path("kept").exists());
    // A script that does the same is zlaunch again, and tells no secret.
    sandbox.var("HF_TOKEN", "hf_secret");
    let script = sandbox.printed_script(&[SHARED, &["--nnodes", "2"]].concat(), SCRIPT).stdout;
    assert!(
        script.ends_with(&format!("exec {ZLAUNCH} --allow config-not-shared --nnodes 2 -- python x.py\n")),
        "{script}"
    );
    assert!(!script.contains("hf_secret"), "{script}");
    for (asked, says) in [("local", "on one machine of the job only"), ("srun", "from which srun could start")] {
        sandbox.launch(&["--launcher", asked], SCRIPT).refused(&[says]);
    }
    let plan = sandbox.plan(&[SHARED, &["--launcher", "deepspeed"]].concat(), SCRIPT);
    assert_eq!(plan["launcher"], "pbs_tmrsh");
    // Only here, or placed by hand.
    assert_eq!(sandbox.plan(&["--nnodes", "1"], SCRIPT)["launcher"], "torchrun");
    let place = ["--nnodes", "2", "--node-rank", "1", "--master-addr", "h0", "--master-port", "1234"];
    let placed = sandbox.launch(&[&["-n", "--format", "json", "--strict"], &place[..]].concat(), SCRIPT);
    assert_eq!(placed.json()["topology"]["node_rank"], 1, "{placed:?}");
    // A task of another starter, and a machine that is not the first, are no shells of the job.
    sandbox.var("PBS_TASKNUM", "2");
    sandbox.launch(SHARED, SCRIPT).refused(&["job on 2 machines"]);
    sandbox.var("PBS_TASKNUM", "1");
    sandbox.file("nodes", format!("n0\n{}\n", this_host()));
    sandbox.launch(SHARED, SCRIPT).refused(&["job on 2 machines"]);
}

/// Gives the command to a process that zlaunch did not start, as on another machine, and exits as it does.
const HANDS_OVER: &str = r#"#!/bin/sh
shift
printf '%s\n' "$@" > ROOT/words.new; mv ROOT/words.new ROOT/words
while [ ! -e ROOT/status ]; do /bin/sleep 0.01; done
exit "$(cat ROOT/status)"
"#;

/// The other machine. It reads its script, which does not wait long here.
const OTHER_MACHINE: &str = r"
while [ ! -e ROOT/words ]; do /bin/sleep 0.01; done
xargs -d '\n' env -i < ROOT/words
echo 143 > ROOT/status.new; mv ROOT/status.new ROOT/status
";

/// A launch whose ranks wait on both machines, and the other machine.
fn waiting(sandbox: &mut Sandbox) -> [Child; 2] {
    let root = sandbox.root().display().to_string();
    sandbox.executable("env/bin/pbs_tmrsh", &HANDS_OVER.replace("ROOT", &root));
    sandbox.executable("env/bin/sleep", &format!("#!/bin/sh\necho >> {root}/looks/$PPID\nexec /bin/sleep 0.05\n"));
    fs::create_dir(sandbox.path("looks")).unwrap();
    sandbox.var("STUB_FAILS", "none").var("HF_TOKEN", "hf_secret");
    let mut other = sandbox.inside("/bin/sh");
    let other = other.arg("-c").arg(OTHER_MACHINE.replace("ROOT", &root)).stderr(Stdio::null()).spawn().unwrap();
    let mut zlaunch = sandbox.command([SHARED, &["--"], SCRIPT].concat());
    let zlaunch = zlaunch.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("both machines run", || [0, 1].iter().all(|at| sandbox.path(&format!("record/folder-{at}")).exists()));
    // Each script looks at its file and at the ranks.
    let looks = || sandbox.files("looks").iter().map(|file| fs::read(file).unwrap().len()).collect::<Vec<_>>();
    let before = looks().into_iter().max().unwrap_or(0);
    until("both scripts have seen the ranks", || looks().len() == 2 && looks().iter().all(|count| *count > before + 2));
    [zlaunch, other]
}

fn scripts(sandbox: &Sandbox) -> Vec<std::path::PathBuf> {
    let files = sandbox.files("home/.cache/zlaunch/configs").into_iter();
    files.filter(|file| file.to_string_lossy().contains("each-machine")).collect()
}

#[test]
fn the_end_of_the_launch_is_the_end_on_every_machine_and_nothing_stays() {
    for (signal, expected) in [(Signal::SIGTERM, Some(143)), (Signal::SIGINT, Some(130)), (Signal::SIGKILL, None)] {
        let mut sandbox = pbs();
        let [mut zlaunch, mut other] = waiting(&mut sandbox);
        let left = scripts(&sandbox);
        assert_eq!(left.len(), 2, "{left:?}");
        // Whoever kills the whole job leaves no secret.
        assert!(left.iter().all(|script| fs::read(script).unwrap().is_empty()), "{left:?}");
        kill(Pid::from_raw(zlaunch.id().cast_signed()), signal).unwrap();
        assert_eq!(zlaunch.wait().unwrap().code(), expected, "{signal}");
        other.wait().unwrap();
        none_is_left(&sandbox);
        until("the scripts are gone", || scripts(&sandbox).is_empty());
    }
}

#[test]
fn an_engine_that_kills_torchrun_alone_on_another_machine_leaves_no_ranks() {
    let mut sandbox = pbs();
    let [mut zlaunch, mut other] = waiting(&mut sandbox);
    let torchrun = fs::read_to_string(sandbox.path("record/pid-1")).unwrap();
    kill(Pid::from_raw(torchrun.trim().parse().unwrap()), Signal::SIGKILL).unwrap();
    other.wait().unwrap();
    assert_eq!(zlaunch.wait().unwrap().code(), Some(143));
    none_is_left(&sandbox);
}
