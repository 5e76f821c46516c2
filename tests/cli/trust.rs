//! Whom zlaunch believes: a template decides a config and never what is executed, names stay in their folder, links that
//! others could have planted are not followed, and what is written is for its owner alone.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::sandbox::{Run, SWIFT, Sandbox, executable, mode, option, output, pipe, plant, rights};

const ZERO2: &[&str] = &["--deepspeed", "zero2", "--nproc-per-node", "2"];

/// What a program, a library, an interpreter, a shell or a compiler takes its code from.
const CODE: &[&str] = &[
    "PATH",
    "HOME",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "PYTHONPATH",
    "PYENV_ROOT",
    "DS_ENV_FILE",
    "PYTORCH_NVCC",
    "NVCC_PREPEND_FLAGS",
    "GCC_EXEC_PREFIX",
    "CPLUS_INCLUDE_PATH",
    "CCACHE_PREFIX",
    "ROCM_HOME",
    "FI_PROVIDER_PATH",
    "PDSH_RCMD_TYPE",
    "NODE_OPTIONS",
    "PERL5LIB",
    "TRANSFORMERS_CACHE",
    "TORCH_HOME",
    "https_proxy",
    "ALL_PROXY",
    "COVERAGE_PROCESS_START",
    "GROUP_RANK",
    "OMPI_COMM_WORLD_RANK",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "PYTHONBREAKPOINT",
    "BASH_ENV",
    "ENV",
    "SHELL",
    "IFS",
    "GCONV_PATH",
    "CC",
    "CXX",
    "CUDA_HOME",
    "CFLAGS",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "TORCH_EXTENSIONS_DIR",
    "TORCHINDUCTOR_CACHE_DIR",
    "TRITON_CACHE_DIR",
    "TRITON_PTXAS_PATH",
    "NCCL_NET_PLUGIN",
    "CUDA_INJECTION64_PATH",
    "OMP_TOOL_LIBRARIES",
    "OPENSSL_CONF",
    "HF_HOME",
    "HF_MODULES_CACHE",
    "HF_ENDPOINT",
    "MODELSCOPE_CACHE",
    "SSL_CERT_FILE",
    "ZLAUNCH_TEMPLATE_DIR",
    "PET_RUN_PATH",
    "RANK",
    "MASTER_ADDR",
    "CUDA_VISIBLE_DEVICES",
];

#[test]
fn a_template_cannot_change_what_is_executed() {
    let sandbox = Sandbox::new();
    for name in CODE {
        let template =
            format!(r#"{{"$zlaunch": {{"extends": "zero2", "env": {{"{name}": "x"}}}}}}"#);
        sandbox.file("t/bad.json", &template);
        sandbox.file("t/child.json", r#"{"$zlaunch": {"extends": "bad"}}"#);
        let words = |spec: &str| {
            let options = [
                "--template-dir",
                "t",
                "--deepspeed",
                spec,
                "--nproc-per-node",
                "2",
                "--",
            ];
            options
                .into_iter()
                .chain(SWIFT.iter().copied())
                .map(str::to_string)
                .collect::<Vec<_>>()
        };
        sandbox.run(words("bad")).refused(&[name]);
        for spec in ["child", "t/bad.json", &template] {
            sandbox.answer(words(spec)).refused(&[name]);
        }
    }
    // All of them at once.
    let header = r#"{"$zlaunch": {"extends": "../x", "env": {"PATH": "x", "LD_PRELOAD": "y"}}}"#;
    let run = sandbox.launch(&["--deepspeed", header, "--nproc-per-node", "2"], SWIFT);
    run.refused(&["`PATH`", "`LD_PRELOAD`", "`$zlaunch.extends` must be"]);
    // A merge or a patch makes no header either.
    for (body, change) in [
        ("{}", r#"{"$zlaunch": {"env": {"PATH": "/evil"}}}"#),
        (
            r#"{"$zlaunch": {"extends": "zero2", "patch": [{"op": "add", "path": "/$zlaunch", "value": {"env": {"PATH": "/evil"}}}]}}"#,
            "{}",
        ),
    ] {
        sandbox.file("t/base.json", body);
        sandbox.file("change.json", change);
        let options = [
            "--deepspeed",
            "t/base.json",
            "--patch",
            "change.json",
            "--nproc-per-node",
            "2",
        ];
        sandbox.launch(&options, SWIFT).refused(&["$zlaunch"]);
    }
    assert!(!sandbox.executed());
    // The user may.
    let options: Vec<&str> = ZERO2
        .iter()
        .chain(&["--env", "LD_LIBRARY_PATH=/x"])
        .copied()
        .collect();
    sandbox.launch(&options, SWIFT).succeeded();
    assert_eq!(sandbox.recorded_env()["LD_LIBRARY_PATH"], "/x");
}

#[test]
fn a_template_changes_no_word_of_the_command() {
    let sandbox = Sandbox::new();
    let words = |spec: &str| {
        assert_eq!(
            sandbox
                .launch(&["--deepspeed", spec, "--nproc-per-node", "2"], SWIFT)
                .status,
            Some(0),
            "{spec}"
        );
        let argv = sandbox.recorded();
        let config = option(&argv, "--deepspeed").unwrap().to_os_string();
        argv.into_iter()
            .filter(|word| *word != config)
            .collect::<Vec<_>>()
    };
    sandbox.file(
        "evil.json",
        r#"{"$zlaunch": {"extends": "zero2", "about": "; rm -rf ~", "env": {"NCCL_DEBUG": "$(touch pwned)"}},
            "tensorboard": {"enabled": false, "output_path": "`touch pwned`", "job_name": "--nproc_per_node=9"}}"#,
    );
    assert_eq!(words("zero2"), words("evil.json"));
    assert_eq!(sandbox.recorded_env()["NCCL_DEBUG"], "$(touch pwned)");
    assert!(!sandbox.cwd().join("pwned").exists());
}

#[test]
fn names_stay_in_their_folder() {
    let sandbox = Sandbox::new();
    let good = r#"{"$zlaunch": {"extends": "zero2"}}"#;
    sandbox.file("outside.json", good);
    for name in ["inside", "deeper/inside", "a b", ".hidden"] {
        sandbox.file(&format!("t/{name}.json"), good);
    }
    let paths = [
        "../outside",
        "/outside",
        "./inside",
        "deeper/../../outside",
        "deeper/inside",
    ];
    for parent in paths
        .iter()
        .chain(&["..", ".", "", "a b", ".hidden", "in\\u0000side"])
    {
        sandbox.file(
            "t/child.json",
            format!(r#"{{"$zlaunch": {{"extends": "{parent}"}}}}"#),
        );
        let options = [
            "--template-dir",
            "t",
            "--deepspeed",
            "child",
            "--nproc-per-node",
            "2",
        ];
        sandbox
            .launch(&options, SWIFT)
            .refused(&["$zlaunch.extends"]);
    }
    // The name of the file that is written comes from a name, too.
    for (name, text) in [("...json", good), ("a b;c.json", good), ("ünï.json", good)] {
        let path = sandbox.file(&format!("odd/{name}"), text);
        let options = [
            "--deepspeed",
            path.to_str().unwrap(),
            "--nproc-per-node",
            "2",
        ];
        assert_eq!(sandbox.launch(&options, SWIFT).status, Some(0), "{name}");
        let written = option(&sandbox.recorded(), "--deepspeed")
            .unwrap()
            .to_os_string();
        assert_eq!(
            Path::new(&written).parent().unwrap(),
            sandbox.path("home/.cache/zlaunch/configs"),
            "{name}"
        );
    }
}

#[test]
fn a_models_name_or_revision_leads_nowhere_else() {
    let mut sandbox = Sandbox::new();
    let cache = sandbox.path("hub");
    sandbox.var("HF_HUB_CACHE", &cache);
    let size = |sandbox: &Sandbox, revision: &str| {
        let command = [
            "python",
            "x.py",
            "--model_name_or_path",
            "a/b",
            "--model_revision",
            revision,
        ];
        sandbox.config(&["--deepspeed", "zero3"], &command)["zero_optimization"]["reduce_bucket_size"].clone()
    };
    sandbox.cached_model("hub", "a/b", Some("main"), "abc", r#"{"hidden_size": 8}"#);
    sandbox.cached_model(
        "hub",
        "a/b",
        Some("refs/pr/1"),
        "def",
        r#"{"hidden_size": 9}"#,
    );
    assert_eq!(
        (
            size(&sandbox, "main"),
            size(&sandbox, "refs/pr/1"),
            size(&sandbox, "def")
        ),
        (64.into(), 81.into(), 81.into())
    );
    sandbox.file("config.json", r#"{"hidden_size": 7}"#);
    let away = sandbox.cwd().to_str().unwrap().to_string();
    let branches = cache.join("models--a--b/refs");
    plant(&branches.join("away"), &away);
    for revision in ["away", "../snapshots/abc", &away, "..", "/dev/zero"] {
        assert_eq!(size(&sandbox, revision), "auto", "{revision}");
    }
    // Nor does a pipe hold anybody up.
    pipe(&branches.join("pipe"));
    assert_eq!(size(&sandbox, "pipe"), "auto");
}

#[test]
fn a_template_that_anybody_could_have_written_is_not_taken_by_its_name() {
    let mut sandbox = Sandbox::new();
    let file = sandbox.file(
        "team/zero2.json",
        r#"{"$zlaunch": {"extends": "zero2"}, "gradient_clipping": 1.0}"#,
    );
    sandbox.file("mine/child.json", r#"{"$zlaunch": {"extends": "zero2"}}"#);
    let team = sandbox.cwd().join("team");
    sandbox.var("ZLAUNCH_TEMPLATE_DIR", "mine:team");
    let named = ["zero2", "z2", "child"];
    let launch =
        |spec: &str| sandbox.launch(&["--deepspeed", spec, "--nproc-per-node", "2"], SWIFT);
    for (folder_mode, file_mode, open) in [
        (0o777, 0o644, "team`"),
        (0o1777, 0o644, "team`"),
        (0o755, 0o666, "zero2.json`"),
    ] {
        mode(&team, folder_mode);
        mode(&file, file_mode);
        for spec in named {
            launch(spec).refused(&["anyone could have written", open, "chmod o-w"]);
        }
        // Who names the file means it.
        assert_eq!(launch("team/zero2.json").status, Some(0));
        // What is not taken from there is not its concern.
        assert_eq!(launch("zero3").status, Some(0));
    }
    // A team may.
    mode(&team, 0o2775);
    mode(&file, 0o664);
    assert!(named.iter().all(|spec| launch(spec).status == Some(0)));
}

/// As pyenv itself: CVE-2022-35861.
#[test]
fn a_version_file_of_pyenv_chooses_among_its_versions_only() {
    let mut sandbox = Sandbox::new();
    let root = sandbox.path("pyenv");
    let swift = |folder: &Path| {
        executable(
            &folder.join("bin/swift"),
            &format!("#!{}/bin/python3\n", folder.display()),
        );
        format!("{}/bin/python3", folder.display())
    };
    sandbox.executable("pyenv/shims/swift", "#!/bin/sh\nexec pyenv exec swift\n");
    let (plain, inner) = (
        swift(&root.join("versions/3.11")),
        swift(&root.join("versions/3.11/envs/mine")),
    );
    let evil = swift(&sandbox.cwd().join("evil"));
    sandbox.search(&[root.join("shims").to_str().unwrap()]);
    let python = |version: &str| {
        sandbox.file(".python-version", version);
        sandbox.plan(ZERO2, SWIFT)["trainer"]["python"]
            .as_str()
            .unwrap_or_default()
            .to_string()
    };
    assert_eq!(
        (python("3.11\n"), python("3.11/envs/mine\n")),
        (plain, inner)
    );
    let folder = sandbox.cwd().join("evil");
    for version in [
        "../../cwd/evil",
        "3.11/../../../cwd/evil",
        folder.to_str().unwrap(),
    ] {
        let chosen = python(version);
        assert!(
            chosen != evil && !chosen.contains("evil"),
            "{version}: {chosen}"
        );
    }
}

#[test]
fn nothing_is_followed_out_of_a_folder_that_others_can_write() {
    let mut sandbox = Sandbox::new();
    let shared = sandbox.path("shared");
    fs::create_dir(&shared).unwrap();
    mode(&shared, 0o1777);
    let precious = sandbox.file("precious", "precious");
    let trap = |name: &str| symlink(&precious, shared.join(name)).unwrap();
    let shared_path = shared.to_str().unwrap();
    // --config-out
    trap("out.json");
    let out = format!("{shared_path}/out.json");
    let options: Vec<&str> = ZERO2
        .iter()
        .chain(&["--config-out", &out])
        .copied()
        .collect();
    sandbox.launch(&options, SWIFT).succeeded();
    assert!(!Path::new(&out).is_symlink());
    // --record
    trap("launch.json");
    let options: Vec<&str> = ZERO2
        .iter()
        .chain(&["--record", shared_path])
        .copied()
        .collect();
    sandbox
        .launch(&options, SWIFT)
        .refused(&["launch.json", "not part of a launch record"]);
    // A folder that is a link, and one below it
    let victim = sandbox.path("victim");
    fs::create_dir(&victim).unwrap();
    symlink(&victim, shared.join("lnk")).unwrap();
    symlink(shared.join("lnk"), sandbox.cwd().join("mine")).unwrap();
    for folder in [
        shared.join("lnk"),
        shared.join("lnk/below"),
        shared.join("x/../lnk"),
        sandbox.cwd().join("mine"),
    ] {
        let folder = folder.to_str().unwrap();
        let out = format!("{folder}/c.json");
        for options in [["--record", folder], ["--config-out", &out]] {
            if options[0] == "--config-out" && !Path::new(folder).exists() {
                continue;
            }
            let all: Vec<&str> = ZERO2.iter().chain(&options).copied().collect();
            sandbox
                .launch(&all, SWIFT)
                .refused(&["is a link in a folder that anyone can write to", options[0]]);
        }
        sandbox
            .run(["generate", "-o", &out])
            .refused(&["is a link in a folder that anyone can write to", "-o FILE"]);
    }
    assert_eq!(fs::read_dir(&victim).unwrap().count(), 0);
    // generate
    trap("ds.json");
    let generated = format!("{shared_path}/ds.json");
    assert_eq!(
        sandbox.run(["generate", "-o", &generated]).status,
        Some(125)
    );
    sandbox
        .run(["generate", "--force", "-o", &generated])
        .succeeded();
    // The private folder in a shared temporary one
    let private = shared.join(format!("zlaunch-{}", nix::unistd::geteuid()));
    symlink(sandbox.cwd(), &private).unwrap();
    sandbox.unset("HOME").var("TMPDIR", &shared);
    sandbox
        .launch(ZERO2, SWIFT)
        .refused(&["does not belong to you alone"]);
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
}

/// Even where the umask would let everybody in.
#[test]
fn what_is_written_is_for_its_owner_alone() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "run.yaml",
        "model_name_or_path: x\nper_device_train_batch_size: 1\ndeepspeed: zero2\n",
    );
    let before = sandbox.files("");
    for line in [
        "--deepspeed zero2 --nproc-per-node 2 -- swift sft",
        "--deepspeed zero2 --nproc-per-node 2 --config-out out.json -- swift sft",
        "--deepspeed zero2 --nproc-per-node 2 --record rec/deep/er -- swift sft",
        "--deepspeed zero2 --nproc-per-node 2 -- python train.py run.yaml",
        "generate -o made/ds.json",
        "generate --tiers -o tiers",
    ] {
        let run = sandbox.shell("umask 0; exec \"$0\" \"$@\"", line.split(' '));
        assert_eq!(run.status, Some(0), "{line}: {run:?}");
    }
    let made = sandbox
        .files("")
        .into_iter()
        .filter(|file| !before.contains(file) && !file.starts_with(sandbox.path("record")));
    let made: Vec<_> = made.collect();
    assert!(made.len() >= 8, "{made:?}");
    let outside = [sandbox.cwd(), sandbox.home()];
    for file in &made {
        assert_eq!(rights(file), 0o600, "{}", file.display());
        for folder in file
            .ancestors()
            .skip(1)
            .take_while(|folder| !outside.contains(&folder.to_path_buf()))
        {
            assert_eq!(rights(folder), 0o700, "{}", folder.display());
        }
    }
    // Programs are for everybody to run, and for nobody else to change.
    let run = sandbox.shell("umask 0; exec \"$0\" \"$@\"", ["shims", "install", "bin"]);
    run.succeeded();
    let shims = sandbox.cwd().join("bin");
    assert_eq!(
        (rights(&shims), rights(&shims.join("swift"))),
        (0o755, 0o755)
    );
}

/// What is executed by hand from the shell format is what the launch executes, whatever bytes the words have.
#[test]
fn no_word_is_read_by_a_shell_and_a_printed_script_repeats_them_all() {
    let sandbox = Sandbox::new();
    // Without `@` and letters, so that none looks like an option or an address with a password in it.
    let odd = b" \t\n\r'\"\\$`!#&|;<>(){}[]*?~^%=-+/.,:0\x01\x7f\x80\xff\xc3\xa9";
    let word = vec(proptest::sample::select(odd.to_vec()), 0..8);
    let config = Config {
        cases: 16,
        failure_persistence: None,
        ..Config::default()
    };
    let checked = TestRunner::new(config).run(&vec(word, 1..40), |words| {
        let words = words.into_iter().map(OsString::from_vec);
        let command: Vec<OsString> = ["--", "python", "x.py", "--"]
            .iter()
            .map(OsString::from)
            .chain(words)
            .collect();
        let launch = |more: &[&str]| {
            let options = more.iter().chain(ZERO2).map(OsString::from);
            sandbox.command(options.chain(command.clone()))
        };
        Run::of(&mut launch(&[])).succeeded();
        let argv = sandbox.recorded();
        assert_eq!(argv[argv.len() - command.len() + 4..], command[4..]);
        sandbox.file(
            "script",
            output(&mut launch(&["-n", "--format", "shell"])).stdout,
        );
        sandbox.forget_execution();
        sandbox.script("exec /bin/sh script").succeeded();
        prop_assert_eq!(sandbox.recorded(), argv);
        Ok(())
    });
    checked.unwrap();
}
