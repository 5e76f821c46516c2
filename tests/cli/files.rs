//! Whatever a config file is, the answer is a sentence with a place.

use std::fs;

use crate::sandbox::{SWIFT, Sandbox, mode, pipe};

fn load(sandbox: &Sandbox, name: &str) -> crate::sandbox::Run {
    sandbox.launch(
        &["--nproc-per-node", "2", "--deepspeed", &format!("./{name}")],
        SWIFT,
    )
}

#[test]
fn broken_json_is_refused_with_its_place() {
    let sandbox = Sandbox::new();
    for (text, words) in [
        ("", "bad.json:1:1"),
        ("{", "bad.json:1:"),
        ("[1, 2]", "is a JSON object"),
        ("3", "is a JSON object"),
        ("{\"a\": 1,\n \"a\": 2}", "`a` appears twice"),
        ("{\"a\": NaN}", "bad.json:1:7"),
        ("\0\u{1}", "bad.json:1:1"),
        ("{\"zero_optimization\": {\"stage\": 2,,}}", "bad.json:1:"),
        ("{\"a\": 1e999}", "bad.json:1:"),
        ("{'a': 1}", "double quotes"),
    ] {
        sandbox.file("bad.json", text);
        load(&sandbox, "bad.json").refused(&["bad.json", words]);
    }
    sandbox.file("bad.json", "[".repeat(100_000));
    load(&sandbox, "bad.json").refused(&["bad.json", "128 levels"]);
    sandbox.file(
        "bad.json",
        &("{\"a\":".repeat(100_000) + "1" + &"}".repeat(100_000)),
    );
    load(&sandbox, "bad.json").refused(&["bad.json", "128 levels"]);
    assert!(!sandbox.executed());
}

#[test]
fn a_config_that_is_not_utf8_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.file("bad.json", b"{\"a\":\n \xff\xfe}");
    load(&sandbox, "bad.json").refused(&["bad.json", "not UTF-8"]);
}

#[test]
fn control_characters_of_a_config_are_not_printed() {
    let sandbox = Sandbox::new();
    let long = "k".repeat(1 << 20);
    for key in ["x\\nerror: y", "\\u001b]0;title\\u0007", &long] {
        sandbox.file(
            "odd.json",
            format!(r#"{{"zero_optimization": {{"stage": 2, "{key}": 1}}}}"#),
        );
        let run = load(&sandbox, "odd.json");
        assert_eq!(run.status, Some(125), "{run:?}");
        assert!(
            run.stderr.lines().all(|line| !line.starts_with("error: y"))
                && run.stderr.len() < 20_000,
            "{run:?}"
        );
        assert!(!run.stderr.contains('\u{1b}'), "{run:?}");
    }
    sandbox.file(
        "t/odd.json",
        r#"{"$zlaunch": {"about": "\u001b]0;title\u0007 plain"}}"#,
    );
    for words in [
        &["templates"][..],
        &["templates", "odd"],
        &["explain", "odd"],
    ] {
        let run = sandbox.run([words, &["--template-dir", "t"]].concat());
        let shown = run.stdout.clone() + &run.stderr;
        assert!(
            run.status == Some(0) && shown.contains("plain") && !shown.contains('\u{1b}'),
            "{run:?}"
        );
    }
}

#[test]
fn long_file_names_work() {
    let sandbox = Sandbox::new();
    let name = format!("{}.json", "n".repeat(250));
    sandbox.file(
        &name,
        r#"{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 1}}"#,
    );
    assert_eq!(load(&sandbox, &name).status, Some(0));
    let out = format!("{}.json", "o".repeat(250));
    let run = sandbox.launch(
        &[
            "--nproc-per-node",
            "2",
            "--deepspeed",
            "zero2",
            "--config-out",
            &out,
        ],
        SWIFT,
    );
    assert!(
        run.status == Some(0) && sandbox.cwd().join(out).is_file(),
        "{run:?}"
    );
}

#[test]
fn folders_pipes_dangling_links_and_huge_files_are_refused() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.cwd().join("folder.json")).unwrap();
    load(&sandbox, "folder.json").refused(&["folder.json", "not a regular file"]);
    pipe(&sandbox.cwd().join("pipe.json"));
    load(&sandbox, "pipe.json").refused(&["pipe.json", "not a regular file"]);
    std::os::unix::fs::symlink("gone", sandbox.cwd().join("link.json")).unwrap();
    load(&sandbox, "link.json").refused(&["link.json", "does not exist"]);
    let large = fs::File::create(sandbox.cwd().join("large.json")).unwrap();
    large.set_len(100 << 20).unwrap();
    load(&sandbox, "large.json").refused(&["large.json", "too large"]);
}

#[test]
fn an_unreadable_config_is_refused() {
    let sandbox = Sandbox::new();
    let path = sandbox.file(
        "secret.json",
        r#"{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 1}}"#,
    );
    mode(&path, 0);
    if fs::read(&path).is_err() {
        load(&sandbox, "secret.json").refused(&["secret.json", "permission denied"]);
    } else {
        // The superuser reads everything: the config is simply used.
        assert_eq!(load(&sandbox, "secret.json").status, Some(0));
    }
}

#[test]
fn pipes_and_devices_in_site_packages_do_not_block() {
    let sandbox = Sandbox::new();
    let site = sandbox.site();
    for path in [
        sandbox.path("env/pyvenv.cfg"),
        site.join("a.pth"),
        site.join("__editable___x_finder.py"),
    ] {
        pipe(&path);
    }
    std::os::unix::fs::symlink("/dev/zero", site.join("b.pth")).unwrap();
    sandbox
        .launch(&["--nproc-per-node", "2", "--deepspeed", "zero2"], SWIFT)
        .succeeded();
}

#[test]
fn a_template_folder_with_odd_entries_is_still_listed() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.cwd().join("t/folder.json")).unwrap();
    std::os::unix::fs::symlink("/proc/nowhere", sandbox.cwd().join("t/gone.json")).unwrap();
    sandbox.file("t/no template.json", "{}");
    let run = sandbox.run(["templates", "--template-dir", "t"]);
    run.succeeded();
    assert!(
        run.stdout.contains("gone") && run.stdout.contains("cannot be used"),
        "{}",
        run.stdout
    );
    sandbox
        .launch(
            &[
                "--nproc-per-node",
                "2",
                "--template-dir",
                "t",
                "--deepspeed",
                "gone",
            ],
            SWIFT,
        )
        .refused(&["gone.json", "does not exist"]);
}
