//! PATH shims in front of an unchanged script, and completions. With every `sh` that is here.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::sandbox::{Run, SYSTEM, Sandbox, ZLAUNCH, executable, option, output, read_json};
use zlaunch::testing::completions::CHANGES;

/// A sandbox with shims in front of its PATH, and zlaunch behind them.
fn shimmed() -> Sandbox {
    let mut sandbox = Sandbox::new();
    let folder = sandbox.path("shims");
    let run = sandbox.run(["shims".as_ref(), "install".as_ref(), folder.as_os_str()]);
    run.succeeded();
    assert!(
        run.stderr
            .contains(&format!("export PATH={}:\"$PATH\"", folder.display())),
        "{run:?}"
    );
    behind(&mut sandbox, &[folder.to_str().unwrap(), &programs()]);
    sandbox
}

const SCRIPT: &str = "NPROC_PER_NODE=2 swift sft --model a/b --deepspeed zero2 --per_device_train_batch_size 2 --gradient_accumulation_steps 4";

#[test]
fn an_unchanged_script_gets_the_config_resolved() {
    let sandbox = shimmed();
    let run = sandbox.script(SCRIPT);
    run.succeeded();
    let argv = sandbox.recorded();
    assert_eq!(argv[1..4], ["-P", "-m", "torch.distributed.run"]);
    assert_eq!(
        read_json(option(&argv, "--deepspeed").unwrap())["train_batch_size"],
        16
    );
    let env = sandbox.recorded_env();
    assert!(
        env["PATH"].contains("/shims"),
        "nothing is lost from PATH: {}",
        env["PATH"]
    );
    assert_eq!(env["ZLAUNCH_SHIM"], "0", "nobody behind comes here again");
    assert!(!env.contains_key("ZLAUNCH_SHIM_OF"), "{env:?}");
    // A mistake is told as ever.
    let run = sandbox.script("swift sft --model a/b --deepspeed zero22");
    assert!(
        run.status == Some(125) && run.stderr.contains("did you mean"),
        "{run:?}"
    );
}

#[test]
fn commands_without_a_config_run_unchanged() {
    let sandbox = shimmed();
    for script in [
        "swift export --model 'a b'",
        "swift sft --model 'a b'",
        "torchrun --nproc_per_node 2 'x y.py' --a",
        "accelerate env",
    ] {
        let run = sandbox.script(script);
        assert_eq!(run.status, Some(0), "{script}: {run:?}");
        assert!(run.stderr.is_empty(), "{script}: {run:?}");
        // The stub is started as the interpreter of the console script, with its words behind.
        let words: Vec<_> = sandbox
            .recorded()
            .iter()
            .skip(2)
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let expected: Vec<&str> = script
            .split([' ', '\''])
            .filter(|word| !word.is_empty())
            .skip(1)
            .collect();
        assert_eq!(words.join(" "), expected.join(" "), "{script}");
    }
}

#[test]
fn the_exit_status_and_odd_words_survive() {
    let mut sandbox = shimmed();
    sandbox.var("STUB_EXIT", "7");
    let run = sandbox.script("swift sft --system 'a \"b\" $c `d` *' ''");
    assert_eq!(run.status, Some(7));
    assert_eq!(
        sandbox.recorded()[3..],
        ["--system", "a \"b\" $c `d` *", ""]
    );
}

#[test]
fn shims_never_loop_and_can_be_switched_off() {
    let mut sandbox = shimmed();
    let plain = sandbox.script(&format!("ZLAUNCH_SHIM=0 {SCRIPT}"));
    assert_eq!(plain.status, Some(0), "{plain:?}");
    assert_eq!(
        option(&sandbox.recorded(), "--deepspeed").unwrap(),
        "zero2",
        "swift itself, untouched"
    );
    // Two folders that are one: the second shim must not start zlaunch again.
    let link = sandbox.path("link");
    std::os::unix::fs::symlink(sandbox.path("shims"), &link).unwrap();
    let path = sandbox.recorded_env()["PATH"].clone();
    let (link, shims) = (
        link.display().to_string(),
        sandbox.path("shims").display().to_string(),
    );
    sandbox.var("PATH", format!("{link}:{shims}:{shims}/:{path}"));
    assert_eq!(sandbox.script(SCRIPT).status, Some(0));
    assert_ne!(
        option(&sandbox.recorded(), "--deepspeed").unwrap(),
        "zero2",
        "resolved once"
    );
    // Nothing behind them.
    sandbox.search(&[&link, &shims]);
    assert_eq!(sandbox.script("swift sft").status, Some(127));
    sandbox.search(&[&link, &shims, &programs()]);
    assert_eq!(sandbox.script("swift sft").status, Some(127));
}

/// Puts folders on PATH in front of the virtual environment.
fn behind(sandbox: &mut Sandbox, folders: &[&str]) {
    let bin = sandbox.bin().display().to_string();
    sandbox.search(&[folders, &[&bin]].concat());
}

fn programs() -> String {
    Path::new(ZLAUNCH).parent().unwrap().display().to_string()
}

#[test]
fn shims_behind_an_activated_environment_are_reported() {
    let mut sandbox = shimmed();
    let (shims, bin) = (
        sandbox.path("shims").display().to_string(),
        sandbox.bin().display().to_string(),
    );
    let list = |sandbox: &Sandbox| sandbox.run(["shims", "list", &shims]);
    let doctor = |sandbox: &Sandbox| sandbox.run(["doctor"]).stdout;
    assert_eq!(list(&sandbox).stderr, "");
    assert!(!doctor(&sandbox).contains("[shims]"));
    sandbox.search(&[&bin, &shims]);
    let run = list(&sandbox);
    run.succeeded();
    assert!(
        run.stderr.starts_with(&format!(
            "warning[shims]: `{bin}` is before the shims on PATH"
        )),
        "{run:?}"
    );
    assert!(
        run.stderr.contains("swift")
            && run
                .stderr
                .contains(&format!("export PATH={shims}:\"$PATH\"")),
        "{run:?}"
    );
    assert!(doctor(&sandbox).contains("before the shims on PATH"));
}

#[test]
fn zlaunch_passes_over_shims_when_it_looks_for_a_program() {
    let mut sandbox = shimmed();
    let (link, shims) = (
        sandbox.path("link"),
        sandbox.path("shims").display().to_string(),
    );
    std::os::unix::fs::symlink(&shims, &link).unwrap();
    let (link, other) = (
        link.display().to_string(),
        sandbox.path("other").display().to_string(),
    );
    sandbox.executable("other/python3", "#!/bin/sh\nexit 1\n");
    let python = sandbox.python().display().to_string();
    for front in [
        &[shims.as_str()][..],
        &[&link],
        &[&format!("{shims}/.")],
        &[&link, &shims, &shims],
        &["../shims"],
    ] {
        behind(&mut sandbox, &[front, &[&other]].concat());
        for command in [
            &["swift", "sft", "--model", "a/b"][..],
            &["torchrun", "x.py", "--deepspeed", "zero2"],
            &["llamafactory-cli", "train", "--stage", "sft"],
            &["../shims/swift", "sft", "--model", "a/b"],
        ] {
            let plan = sandbox.plan(&["--nproc-per-node", "2", "--deepspeed", "zero2"], command);
            assert_eq!(plan["trainer"]["python"], python, "{front:?} {command:?}");
            assert!(
                !plan["argv"].to_string().contains("shims"),
                "{front:?} {command:?}"
            );
        }
    }
}

#[test]
fn a_sites_variables_do_not_touch_commands_that_do_not_train() {
    let mut sandbox = shimmed();
    let record = sandbox.path("site");
    let site = [
        ("ZLAUNCH_DEEPSPEED", "zero2"),
        ("ZLAUNCH_RECORD", "auto"),
        ("ZLAUNCH_RECORD", record.to_str().unwrap()),
        ("ZLAUNCH_NPROC_PER_NODE", "4"),
        ("ZLAUNCH_ENV", "SITE=1"),
        ("ZLAUNCH_NO_SUCH", "1"),
        ("ZLAUNCH_HOSTFILE", "/proc/nowhere"),
    ];
    for (name, value) in site {
        sandbox.var(name, value);
        for script in [
            "swift export --model a",
            "swift",
            "swift sft --help",
            "swift infer --model a",
            "accelerate env",
            "torchrun --help",
            "deepspeed --version",
            "trl env",
            "axolotl preprocess c.yml",
            "llamafactory-cli version",
        ] {
            let run = sandbox.script(script);
            assert_eq!(
                (run.status, run.stderr.as_str()),
                (Some(0), ""),
                "{name} {script}"
            );
            let words: Vec<_> = sandbox
                .recorded()
                .iter()
                .skip(2)
                .map(|word| word.to_str().unwrap().to_string())
                .collect();
            assert_eq!(
                words,
                script.split(' ').skip(1).collect::<Vec<_>>(),
                "{name}"
            );
            assert!(
                !sandbox.recorded_env().contains_key("SITE") && !record.exists(),
                "{name} {script}"
            );
        }
        sandbox.unset(name);
    }
    // A training is the site's business, and so is what somebody asks zlaunch itself.
    sandbox
        .var("ZLAUNCH_DEEPSPEED", "zero2")
        .var("ZLAUNCH_RECORD", &record)
        .var("ZLAUNCH_NPROC_PER_NODE", "2");
    let run = sandbox.script("swift sft --model a/b --per_device_train_batch_size 1");
    assert!(
        run.status == Some(0) && option(&sandbox.recorded(), "--deepspeed").is_some(),
        "{run:?}"
    );
    assert!(record.join("launch.json").exists());
    sandbox
        .launch(&[], &["swift", "export"])
        .refused(&["does not know how"]);
}

#[test]
fn shims_beside_zlaunch_work_and_hide_nothing() {
    let mut sandbox = Sandbox::of_documents();
    let bin = sandbox.path("bin");
    sandbox.executable("bin/ninja", "#!/bin/sh\n");
    let alone = "zlaunch itself is not on PATH";
    let run = sandbox.run(["shims", "install"]);
    assert!(
        run.status == Some(0) && run.stderr.contains(alone),
        "{run:?}"
    );
    let run = sandbox.run(["shims", "install", "../bin"]);
    assert!(
        run.status == Some(0) && !run.stderr.contains(alone),
        "the folder that is added has it: {run:?}"
    );
    behind(&mut sandbox, &[bin.to_str().unwrap()]);
    let run = sandbox.run(["shims", "install"]);
    assert!(!run.stderr.contains(alone), "{run:?}");
    assert_eq!(sandbox.script(SCRIPT).status, Some(0));
    assert_ne!(
        option(&sandbox.recorded(), "--deepspeed").unwrap(),
        "zero2",
        "resolved"
    );
    let path = sandbox.recorded_env()["PATH"].clone();
    assert!(
        path.starts_with(bin.to_str().unwrap()),
        "ninja is found as before: {path}"
    );
}

#[test]
fn a_shim_concerns_its_own_command_only() {
    let mut sandbox = shimmed();
    // Left over from somewhere, it says nothing about another command, and nobody inherits it.
    sandbox.var("ZLAUNCH_SHIM_OF", "swift");
    sandbox.file("train.py", "");
    sandbox
        .launch(&["--nproc-per-node", "2"], &["python", "train.py"])
        .succeeded();
    assert_eq!(
        sandbox.recorded()[1..4],
        ["-P", "-m", "torch.distributed.run"]
    );
    assert!(!sandbox.recorded_env().contains_key("ZLAUNCH_SHIM_OF"));
    sandbox.launch(
        &["--launcher", "local", "--nproc-per-node", "1"],
        &["python", "train.py"],
    );
    assert!(!sandbox.recorded_env().contains_key("ZLAUNCH_SHIM_OF"));
    sandbox.unset("ZLAUNCH_SHIM_OF");
    // What a trainer starts is its own launch, whatever it names.
    executable(
        &sandbox.path("env/bin/swift"),
        "#!/bin/sh\nexec torchrun --nproc_per_node 2 x.py --deepspeed zero2\n",
    );
    assert_eq!(sandbox.script("swift export").status, Some(0));
    assert_eq!(
        option(&sandbox.recorded(), "--deepspeed").unwrap(),
        "zero2",
        "untouched"
    );
    // But zlaunch itself means a launch there too.
    let inner =
        "#!/bin/sh\nexec zlaunch --nproc-per-node 2 --deepspeed zero2 -- swift sft --model a/b\n";
    executable(&sandbox.path("env/bin/trl"), inner);
    executable(
        &sandbox.path("env/bin/swift"),
        &format!("#!{}\n", sandbox.path("env/bin/python").display()),
    );
    assert_eq!(sandbox.script("trl env").status, Some(0));
    assert_eq!(
        sandbox.recorded()[1..4],
        ["-P", "-m", "torch.distributed.run"]
    );
}

#[test]
fn shimmed_programs_may_start_each_other_as_deep_as_they_like() {
    let mut sandbox = shimmed();
    let deep = "#!/bin/sh\n[ \"$1\" -gt 0 ] || { echo \"done $ZLAUNCH_SHIM_DEPTH\"; exit; }\nexec torchrun $(($1 - 1))\n";
    sandbox.executable("env/bin/torchrun", deep);
    let shims = sandbox.path("shims").display().to_string();
    for (front, off) in [
        (vec![shims.clone(), programs()], "ZLAUNCH_SHIM=0"),
        (vec![shims.clone()], "A="),
    ] {
        behind(
            &mut sandbox,
            &front.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        let run = sandbox.script(&format!("export {off} PATH={shims}:$PATH; torchrun 9"));
        assert_eq!(
            (run.stdout.as_str(), run.stderr.as_str()),
            ("done \n", ""),
            "{off}"
        );
        let run = sandbox.script(&format!("{off} ZLAUNCH_SHIM_DEPTH=abc swift export"));
        run.succeeded_silently();
    }
}

#[test]
fn an_empty_entry_of_path_is_the_current_folder() {
    let mut sandbox = shimmed();
    let here = sandbox.cwd().join("swift");
    fs::copy(sandbox.path("env/bin/swift"), &here).unwrap();
    for shell in shells() {
        reads(&sandbox, &shell);
        for off in ["", "ZLAUNCH_SHIM=0"] {
            let path = format!(
                "{}:{}:{SYSTEM}:",
                sandbox.path("shims").display(),
                programs()
            );
            sandbox.var("PATH", path.clone());
            let run = sandbox.script(&format!("{off} swift export"));
            assert_eq!(run.status, Some(0), "{shell} {off}: {run:?}");
            assert_eq!(sandbox.recorded_env()["PATH"], path, "{shell} {off}");
        }
    }
}

#[test]
fn a_shim_reports_a_missing_program() {
    let mut sandbox = shimmed();
    sandbox.search(&[sandbox.path("shims").to_str().unwrap()]);
    for shell in shells() {
        reads(&sandbox, &shell);
        let run = sandbox.script("swift sft");
        assert_eq!(run.status, Some(127), "{shell}");
        assert!(
            run.stderr
                .starts_with("error[not-found]: `swift` is not on PATH\n  --> swift\n"),
            "{shell}: {run:?}"
        );
        assert!(run.stderr.contains("  help: "), "{shell}: {run:?}");
    }
}

#[test]
fn shim_folders_may_have_any_name() {
    let sandbox = Sandbox::new();
    let files = fs::read_dir(sandbox.cwd()).unwrap().count();
    for name in ["a b", "a\nb", "a\"b", "a$HOME", "it's", "a\\b", "-"] {
        let folder = sandbox.root().join(name);
        let run = sandbox.run(["shims".as_ref(), "install".as_ref(), folder.as_os_str()]);
        run.succeeded();
        let export = &run.stderr[run.stderr.find("export").unwrap()..];
        let found = sandbox.script(&format!("{export}command -v swift"));
        assert_eq!(
            found.stdout,
            format!("{}\n", folder.join("swift").display())
        );
    }
    assert_eq!(fs::read_dir(sandbox.cwd()).unwrap().count(), files);
    sandbox
        .run(["shims", "install", "a", "b"])
        .refused(&["unexpected argument `b`"]);
}

#[test]
fn removing_says_what_was_done_and_leaves_a_folder_that_was_named() {
    let sandbox = Sandbox::new();
    let folder = sandbox.cwd().join("mine");
    fs::create_dir(&folder).unwrap();
    sandbox.run(["shims", "install", "mine"]);
    let count = fs::read_dir(&folder).unwrap().count();
    let run = sandbox.run(["shims", "remove", "mine"]);
    assert_eq!(
        (run.status, run.stderr),
        (
            Some(0),
            format!("{count} shims removed from {}\n", folder.display())
        )
    );
    assert!(folder.is_dir());
    let run = sandbox.run(["shims", "remove", "mine"]);
    assert_eq!(
        (run.status, run.stderr),
        (Some(0), format!("no shims in {}\n", folder.display()))
    );
}

/// The shells that are here, as a first line names them.
fn shells() -> Vec<String> {
    let known = [
        &["dash"][..],
        &["bash", "--posix"],
        &["busybox", "sh"],
        &["ksh"],
    ];
    let here = known.iter().filter_map(|shell| {
        let found =
            output(Command::new("/bin/sh").args(["-c", &format!("command -v {}", shell[0])]));
        let path = String::from_utf8(found.stdout).unwrap();
        found
            .status
            .success()
            .then(|| [&[path.trim()], &shell[1..]].concat().join(" "))
    });
    here.collect()
}

/// From now on this shell reads the shims of `swift`.
fn reads(sandbox: &Sandbox, shell: &str) {
    let shim = sandbox.path("shims/swift");
    let text = fs::read_to_string(&shim).unwrap();
    executable(
        &shim,
        &format!("#!{shell}\n{}", text.split_once('\n').unwrap().1),
    );
}

#[test]
fn every_shell_here_reads_the_shim() {
    let shells = shells();
    for shell in &shells {
        let sandbox = shimmed();
        reads(&sandbox, shell);
        let run = sandbox.script(SCRIPT);
        assert_eq!(run.status, Some(0), "{shell:?}: {run:?}");
        assert_eq!(
            sandbox.recorded()[1..4],
            ["-P", "-m", "torch.distributed.run"],
            "{shell:?}"
        );
    }
    assert!(!shells.is_empty());
}

/// Every file and folder but those that are the user's before zlaunch: home and what XDG names in it.
fn files_below(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        if entry.is_dir() {
            found.extend(files_below(&entry));
        }
        if !entry.ends_with(".local") && !entry.ends_with(".local/share") {
            found.push(entry);
        }
    }
    found.sort();
    found
}

#[test]
fn only_our_own_files_are_written_and_removed() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("mine");
    let shims = |action: &str| sandbox.run(["shims".as_ref(), action.as_ref(), folder.as_os_str()]);
    executable(&folder.join("swift"), "#!/bin/sh\necho mine\n");
    shims("install").refused(&["mine/swift", "not a shim"]);
    assert!(!folder.join("torchrun").exists(), "all or nothing");
    fs::remove_file(folder.join("swift")).unwrap();
    assert_eq!(shims("install").status, Some(0));
    assert_eq!(shims("install").status, Some(0), "twice is once");
    let listed = shims("list").stdout;
    for name in [
        "accelerate",
        "axolotl",
        "deepspeed",
        "llamafactory-cli",
        "swift",
        "torchrun",
        "trl",
    ] {
        assert!(
            listed.contains(&format!("mine/{name}\n")),
            "{name}: {listed}"
        );
    }
    assert_eq!(
        listed.lines().count(),
        fs::read_dir(&folder).unwrap().count(),
        "{listed}"
    );
    executable(&folder.join("other"), "");
    assert_eq!(shims("remove").status, Some(0));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    fs::remove_file(folder.join("other")).unwrap();
    assert_eq!(
        (shims("install").status, shims("remove").status),
        (Some(0), Some(0))
    );
    assert_eq!(
        fs::read_dir(&folder).unwrap().count(),
        0,
        "the folder was named, so it stays"
    );
    fs::remove_dir(&folder).unwrap();
    let before = files_below(sandbox.root());
    sandbox.run(["shims", "install"]).succeeded();
    assert_ne!(files_below(sandbox.root()), before);
    sandbox.run(["shims", "remove"]).succeeded();
    assert_eq!(
        files_below(sandbox.root()),
        before,
        "the default folder too"
    );
    sandbox
        .run(["shims", "instal"])
        .refused(&["did you mean `install`"]);
}

#[test]
fn completions_know_every_option() {
    let mut sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        let run = sandbox.run(["completions", shell]);
        run.succeeded();
        for word in [
            "deepspeed",
            "nproc-per-node",
            "launcher",
            "templates",
            "shims",
            "zero3_nvme",
        ] {
            assert!(run.stdout.contains(word), "{shell}: {word}");
        }
        for change in CHANGES
            .iter()
            .filter(|change| change.shell.to_string() == shell)
        {
            let is_made = match change.instead {
                "" => !run.stdout.contains(change.text),
                text => run.stdout.contains(text),
            };
            assert!(is_made, "{shell}: {}", change.text);
        }
        let file = sandbox.file(&format!("script.{shell}"), &run.stdout);
        let has_shell =
            output(Command::new("/bin/sh").args(["-c", &format!("command -v {shell}")]))
                .status
                .success();
        if has_shell {
            Run::of(sandbox.inside(shell).arg("-n").arg(&file)).succeeded();
        }
        if has_shell && shell == "fish" {
            let script = "source script.fish; complete -C 'zlaunch --allow old-sp'";
            let run = Run::of(sandbox.inside(shell).args(["-c", script]));
            assert!(run.stdout.starts_with("old-spelling\n"), "{run:?}");
        }
    }
    sandbox
        .run(["completions", "bsh"])
        .refused(&["did you mean `bash`"]);
    sandbox
        .run(["completions"])
        .refused(&["zlaunch completions bash|zsh|fish"]);
    if !shells().iter().any(|shell| shell.contains("bash")) {
        return;
    }
    sandbox.search(&[&programs()]);
    let complete = |words: &str| {
        let script = format!(
            "source <(zlaunch completions bash); COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _zlaunch zlaunch \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let run = Run::of(sandbox.inside("bash").args(["-c", &script]));
        run.succeeded();
        run.stdout.lines().map(str::to_string).collect::<Vec<_>>()
    };
    for (words, expected) in [
        ("zlaunch --deepspeed zero2_", &["zero2_offload"][..]),
        ("zlaunch --launcher d", &["deepspeed", "direct"]),
        ("zlaunch --allow old-sp", &["old-spelling"]),
        ("zlaunch --nproc", &["--nproc-per-node"]),
        ("zlaunch fit --gpus", &["--gpus"]),
        ("zlaunch fit --optimizer adaf", &["adafactor"]),
        ("zlaunch help gen", &["generate"]),
        ("zlaunch diff zero3_n", &["zero3_nvme"]),
        ("zlaunch shims re", &["remove"]),
        ("zlaunch --format s", &["shell"]),
        ("zlaunch check --format ''", &["text", "json"]),
        ("zlaunch fit --format ''", &["text", "json", "svg"]),
        ("zlaunch che", &["check"]),
        ("zlaunch explain two-prec", &["two-precisions"]),
        ("zlaunch explain NCCL_IB_D", &["NCCL_IB_DISABLE"]),
        ("zlaunch explain zero3_n", &["zero3_nvme"]),
    ] {
        assert_eq!(complete(words), expected, "{words}");
    }
    sandbox.file("ready.json", "");
    assert_eq!(complete("zlaunch generate -o rea"), ["ready.json"]);
}
