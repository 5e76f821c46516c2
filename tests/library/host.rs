//! What is seen of other processes, and where programs are found.

use std::ffi::OsStr;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use zlaunch::testing::{Host, argument_of};

use crate::invariants::{fake::start, host};

#[test]
fn an_argument_of_another_process_is_read() {
    let words = ["-c", "echo; read line", "sh", "--control-port", "n1:34567"];
    let mut process = start(
        Command::new("sh")
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped()),
    );
    // Its words are there once it says something.
    process
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut [0])
        .unwrap();
    let of = |option| argument_of(process.id(), option);
    assert_eq!(
        (of("--control-port").as_deref(), of("--other")),
        (Some("n1:34567"), None)
    );
    process.kill().unwrap();
    process.wait().unwrap();
}

#[test]
fn a_program_is_found_as_exec_would() {
    let host = |path: &str| Host {
        cwd: PathBuf::from("/bin"),
        ..host(&[("PATH", path)])
    };
    let found = |path: &str, word: &str| host(path).find_program(OsStr::new(word));
    let shell = Some(PathBuf::from("/bin/sh"));
    for (path, word) in [
        ("/proc/nowhere:/bin", "sh"),
        ("", "sh"),
        (".", "sh"),
        ("/proc/nowhere", "./sh"),
        ("/proc/nowhere", "/bin/sh"),
    ] {
        assert_eq!(found(path, word), shell, "{path} {word}");
    }
    for (path, word) in [
        ("/proc/nowhere", "sh"),
        ("/", "bin"),
        ("/etc", "passwd"),
        ("/bin", ""),
        ("/bin", "sh/"),
    ] {
        assert_eq!(found(path, word), None, "{path} {word}");
    }
    assert_eq!(Host::default().find_program(OsStr::new("sh")), None);
}
