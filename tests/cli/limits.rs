//! What must stay harmless however it is made: files that have no end, disks that have no room, characters that a terminal
//! obeys.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use crate::sandbox::{Run, SWIFT, Sandbox, Share, output, pipe, plant, read_json, side_by_side};

/// Ends what hangs, with status 124.
const GUARDED: &str = "exec timeout 60 \"$0\" \"$@\"";

/// Files without an end, by what they are made of. As root `/proc/kmsg` can be opened, and would wait for the kernel.
fn endless(sandbox: &Sandbox) -> Vec<String> {
    let (fifo, socket) = (sandbox.path("endless.fifo"), sandbox.path("endless.socket"));
    pipe(&fifo);
    drop(UnixListener::bind(&socket).unwrap());
    let devices = [
        "/proc/kmsg",
        "/dev/zero",
        "/dev/tty",
        "/dev/full",
        "/proc/self/fd/0",
    ]
    .map(str::to_string);
    devices
        .into_iter()
        .chain([fifo, socket].map(|path| path.display().to_string()))
        .collect()
}

#[test]
fn a_file_without_an_end_is_refused_wherever_it_is_named() {
    let sandbox = Sandbox::new();
    for file in endless(&sandbox) {
        let swift = |more: &[&str]| {
            [more, &["--"], SWIFT]
                .concat()
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        };
        let link = |name: &str| {
            let _ = fs::remove_file(sandbox.path(name));
            plant(&sandbox.path(name), "");
            fs::remove_file(sandbox.path(name)).unwrap();
            symlink(&file, sandbox.path(name)).unwrap();
        };
        link("cwd/rec/launch.json");
        link("templates/endless.json");
        for words in [
            swift(&["--deepspeed", &file]),
            swift(&["--deepspeed", "zero2", "--patch", &file]),
            swift(&["--deepspeed", "zero2", "--hostfile", &file]),
            swift(&[
                "--deepspeed",
                "endless",
                "--template-dir",
                &sandbox.path("templates").display().to_string(),
            ]),
            ["templates", &file].map(str::to_string).to_vec(),
            ["diff", "rec", "zero2"].map(str::to_string).to_vec(),
            [
                "--deepspeed",
                "zero2",
                "--",
                "swift",
                "sft",
                "--config",
                &file,
            ]
            .map(str::to_string)
            .to_vec(),
        ] {
            let run = sandbox.shell(GUARDED, &words);
            assert_eq!(run.status, Some(125), "{words:?}: {run:?}");
        }
        // What is only looked at need not be there.
        for name in [
            "config.json",
            "model.safetensors",
            "model.safetensors.index.json",
        ] {
            let _ = fs::remove_dir_all(sandbox.path("cwd/model"));
            link(&format!("cwd/model/{name}"));
            let run = sandbox.shell(GUARDED, ["fit", "--", "swift", "sft", "--model", "model"]);
            assert!(
                run.status != Some(124) && run.signal.is_none(),
                "{name}, {file}: {run:?}"
            );
        }
        let run = sandbox.shell(
            GUARDED,
            ["check", "--deepspeed", "zero2", "--", "python", &file],
        );
        assert!(
            run.status != Some(124) && run.signal.is_none(),
            "{file}: {run:?}"
        );
    }
}

/// All files below a folder, hidden ones too, and empty folders.
fn everything(below: &Path) -> Vec<String> {
    let find = output(std::process::Command::new("find").arg(below));
    let mut found: Vec<String> = String::from_utf8_lossy(&find.stdout)
        .lines()
        .map(str::to_string)
        .collect();
    found.sort();
    found
}

#[test]
fn a_record_that_cannot_be_finished_leaves_nothing() {
    let sandbox = Sandbox::new();
    let options = [
        "--deepspeed",
        "zero2",
        "--nproc-per-node",
        "2",
        "--record",
        "out/rec",
        "--",
    ];
    let large = format!("--system={}", "x".repeat(8000));
    let words: Vec<&str> = options.iter().chain(SWIFT).copied().collect();
    // The config fits, the record does not.
    let limited = |words: &[&str]| sandbox.shell("ulimit -f 8; exec \"$0\" \"$@\"", words);
    let too_large: Vec<&str> = words.iter().copied().chain([large.as_str()]).collect();
    limited(&too_large).refused(&["the launch record cannot be written", "out/rec"]);
    assert!(sandbox.files("cwd/out").is_empty() && !sandbox.executed());
    // One that is there stays as it is.
    sandbox.run(&words).succeeded();
    let before = (
        everything(&sandbox.cwd()),
        fs::read(sandbox.cwd().join("out/rec/launch.json")).unwrap(),
    );
    let config = read_json(sandbox.cwd().join("out/rec/config.json"));
    limited(&too_large).refused(&["cannot be written"]);
    assert_eq!(
        before,
        (
            everything(&sandbox.cwd()),
            fs::read(sandbox.cwd().join("out/rec/launch.json")).unwrap()
        )
    );
    assert_eq!(config, read_json(sandbox.cwd().join("out/rec/config.json")));
    // So is everything else that is written where the user wants it.
    sandbox.shell(
        "ulimit -f 0; exec \"$0\" \"$@\"",
        ["generate", "--stage", "2", "-o", "new/x.json"],
    );
    assert!(sandbox.files("cwd/new").is_empty());
}

/// Each kind: a control, one of C1, marks of direction, a character without width, a separator of lines, a tag.
const DECEPTIVE: &[char] = &[
    '\x1b',
    '\x07',
    '\x7f',
    '\u{9b}',
    '\u{202e}',
    '\u{2066}',
    '\u{200f}',
    '\u{61c}',
    '\u{200b}',
    '\u{2028}',
    '\u{feff}',
    '\u{e0041}',
];

#[track_caller]
fn harmless(what: &str, run: &Run) {
    let found: Vec<char> = (run.stdout.chars().chain(run.stderr.chars()))
        .filter(|c| DECEPTIVE.contains(c) || c.is_control() && *c != '\n' && *c != '\t')
        .collect();
    assert!(found.is_empty(), "{what}: {found:?} in {run:?}");
    assert!(!run.stderr.contains("panicked"), "{what}: {run:?}");
}

/// A machine where names, values and files hold such a character.
fn deceived(bad: char, name: &str) -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox
        .var("OMP_NUM_THREADS", name)
        .var("CUDA_DEVICE_MAX_CONNECTIONS", name)
        .var("NCCL_DEBUG", name);
    sandbox.var("CUDA_VISIBLE_DEVICES", "0,1");
    sandbox.installed("deepspeed", &format!("0.19.8+{bad}"));
    let header = serde_json::json!({"$zlaunch": {"about": name, "env": {"NCCL_DEBUG": name}, "x": name},
        "zero_optimization": {"stage": 2, name: name}});
    let about = serde_json::json!({"$zlaunch": {"about": name, "env": {"NCCL_DEBUG": name}},
        "zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto", "tensorboard": {"job_name": name}});
    sandbox.put("templates/bad.json", header.to_string());
    sandbox.put("templates/mine.json", about.to_string());
    sandbox.put(&format!("templates/{name}.json"), about.to_string());
    sandbox.file("hosts", format!("{name} slots=2\nh1 slots={name}\n"));
    sandbox.file(
        "run.json",
        serde_json::json!({"model": name, name: name}).to_string(),
    );
    sandbox.file(&format!("{name}.json"), about.to_string());
    sandbox.file(
        &format!("dir{name}/config.json"),
        serde_json::json!({"model_type": name, "hidden_size": 8}).to_string(),
    );
    sandbox
}

side_by_side!(nothing_that_is_printed_deceives_a_terminal);

fn nothing_that_is_printed_deceives_a_terminal(share: &Share) {
    for (number, bad) in share.of(DECEPTIVE.iter().enumerate()) {
        let name = format!("a{bad}b");
        let sandbox = deceived(*bad, &name);
        let templates = sandbox.path("templates").display().to_string();
        let folder = format!("./dir{name}");
        let own = format!("./{name}.json");
        let run = |words: &[&str]| {
            let run = sandbox.run(words);
            harmless(&format!("{bad:?} in {words:?}"), &run);
            run
        };
        let swift = ["--", "swift", "sft", "--model", &folder, "--system", &name];
        let formats: [&[&str]; 6] = [
            &["-n"],
            &["-n", "--format", "json"],
            &["-n", "--format", "shell"],
            &["check"],
            &["check", "--format", "json"],
            &["doctor"],
        ];
        let configs: [&[&str]; 8] = [
            &["--deepspeed", "mine"],
            &["--deepspeed", "bad"],
            &["--deepspeed", &own],
            &["--deepspeed", &name],
            &["--deepspeed", "zero2", "--set", &format!("{name}={name}")],
            &["--deepspeed", "zero2", "--hostfile", "hosts"],
            &["--deepspeed", "zero2", "--patch", &name],
            &[
                "--deepspeed",
                "zero2",
                "--env",
                &format!("X={name}"),
                "--unset",
                &name,
            ],
        ];
        // Everything for the first of them; of the others each config once, in another format every time, and a quarter of the rest.
        for (at, format) in formats.iter().enumerate() {
            for (shift, config) in configs.iter().enumerate() {
                if number == 0 || (number + shift) % formats.len() == at {
                    run(&[
                        *format,
                        &["--template-dir", &templates][..],
                        *config,
                        &swift,
                    ]
                    .concat());
                }
            }
        }
        let others: [&[&str]; 23] = [
            &["templates", "--template-dir", &templates],
            &["templates", "--template-dir", &templates, "mine"],
            &["templates", "--template-dir", &templates, "mine", "--raw"],
            &["templates", "--template-dir", &templates, &name],
            &["templates", "--template-dir", &name],
            &["explain", &name],
            &["explain", "--template-dir", &templates, "mine"],
            &["fit", "--", "swift", "sft", "--model", &folder],
            &[
                "fit",
                "--format",
                "json",
                "--gpu-memory",
                "80GiB",
                "--nproc-per-node",
                "1",
                "--",
                "swift",
                "sft",
                "--model",
                &folder,
            ],
            &["generate", "--stage", &name],
            &[
                "generate",
                "--stage",
                "2",
                "-o",
                &format!("no/{name}\0").replace('\0', ""),
            ],
            &["shims", "list", &name],
            &["shims", "install", &name],
            &["shims", "list", &name],
            &["shims", "remove", &name],
            &["diff", &name, "zero2"],
            &["completions", &name],
            &[&name],
            &["--deepspeed", "zero2", "--", &name, &name],
            &[
                "-n", "--", "swift", "sft", "run.json", "--config", "run.json",
            ],
            &["-n", "--", "python", &format!("{name}.py")],
            &["--nproc-per-node", &name, "--", "true"],
            &[&format!("--{name}"), "--", "true"],
        ];
        for (at, words) in others.iter().enumerate() {
            if number == 0 || (number + at) % 4 == 0 {
                run(words);
            }
        }
        // What is shown as JSON means the same, and the printed script does the same.
        let plan = run(&[
            &[
                "-n",
                "--format",
                "json",
                "--template-dir",
                &templates,
                "--deepspeed",
                "mine",
            ][..],
            &swift,
        ]
        .concat());
        assert_eq!(
            plan.json()["config"]["tensorboard"]["job_name"],
            name.as_str()
        );
        let script = run(&[
            &[
                "-n",
                "--format",
                "shell",
                "--template-dir",
                &templates,
                "--deepspeed",
                "mine",
            ][..],
            &swift,
        ]
        .concat());
        let ran = Run::of(sandbox.inside("/bin/sh").args(["-c", &script.stdout]));
        ran.succeeded();
        assert!(
            sandbox
                .recorded()
                .iter()
                .any(|word| word == OsStr::new(&name)),
            "{script:?}"
        );
        assert_eq!(
            read_json(sandbox.cached_config())["tensorboard"]["job_name"],
            name.as_str()
        );
    }
}
