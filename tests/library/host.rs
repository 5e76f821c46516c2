//! What is seen of other processes, and where programs are found.

use std::ffi::OsStr;
use std::path::PathBuf;

use zlaunch::testing::Host;

use crate::invariants::host;

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
