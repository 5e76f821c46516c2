//! Documents cannot rot: every `console` block of the README and of `tests/cases/*.md` is executed by a shell and its
//! output compared to the letter. `BLESS=1 cargo test documents` writes what happens into them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sandbox::Sandbox;

#[test]
fn documents_show_what_happens() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cases = fs::read_dir(root.join("tests/cases")).unwrap().map(|entry| entry.unwrap().path());
    let documents: Vec<PathBuf> = cases.chain([root.join("README.md")]).collect();
    assert!(documents.len() > 1);
    for document in documents {
        let written = fs::read_to_string(&document).unwrap();
        let happened = executed(&written);
        if std::env::var_os("BLESS").is_some() {
            crate::sandbox::plant(&document, &happened);
            continue;
        }
        for (line, (written, happened)) in written.lines().zip(happened.lines()).enumerate() {
            assert_eq!(written, happened, "{}:{}", document.display(), line + 1);
        }
        assert_eq!(written.lines().count(), happened.lines().count(), "{}", document.display());
    }
}

/// The document with the output of every command as it is now. All blocks of a document share a folder.
fn executed(document: &str) -> String {
    let sandbox = Sandbox::new();
    sandbox.program("srun");
    let mut text = String::new();
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        text += &format!("{line}\n");
        if line == "```console" {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            text += &executed_block(&block, &sandbox);
            text += "```\n";
        }
    }
    text
}

fn executed_block(block: &[&str], sandbox: &Sandbox) -> String {
    let mut text = String::new();
    let mut lines = block.iter().peekable();
    while let Some(line) = lines.next() {
        let Some(first) = line.strip_prefix("$ ") else { continue };
        if !text.is_empty() {
            text.push('\n');
        }
        text += &format!("{line}\n");
        let mut command = first.to_string();
        while command.ends_with('\\') {
            let more = lines.next().expect("a continued line");
            text += &format!("{more}\n");
            command += &format!("\n{more}");
        }
        text += &output(&command, sandbox);
    }
    text
}

fn output(command: &str, sandbox: &Sandbox) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_zlaunch"));
    let output = Command::new("/bin/sh")
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .env_clear()
        .env(
            "PATH",
            format!("{}/env/bin:/usr/bin:/bin:{}", sandbox.root().display(), program.parent().unwrap().display()),
        )
        .env("HOME", sandbox.root().join("home"))
        .env("OMP_NUM_THREADS", "4")
        .env("CUDA_VISIBLE_DEVICES", "0,1,2,3,4")
        .current_dir(sandbox.cwd())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let text = text.replace(sandbox.root().join("home").to_str().unwrap(), "/home/me");
    text.replace(sandbox.root().to_str().unwrap(), "/opt")
        .replace(program.parent().unwrap().to_str().unwrap(), "/usr/local/bin")
}
