//! What is seen of other processes, and where programs are found.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use zlaunch::testing::Host;

use crate::invariants::{fake::Sandbox, host};

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

#[test]
fn nvcc_is_found_where_torch_looks_for_it() {
    let sandbox = Sandbox::new();
    let nvcc = sandbox.executable("cuda/bin/nvcc", "#!/bin/sh\n");
    let programs = nvcc.parent().unwrap();
    let toolkit = programs.parent().unwrap().to_str().unwrap();
    let has = |variables: &[(&str, &str)]| host(variables).has_nvcc();
    assert!(has(&[("CUDA_HOME", toolkit)]) && has(&[("CUDA_PATH", toolkit)]));
    assert!(has(&[("PATH", programs.to_str().unwrap())]));
    // What CUDA_HOME says counts, also where it is wrong.
    assert!(!has(&[("CUDA_HOME", "/nowhere"), ("CUDA_PATH", toolkit)]));
    let is_in_the_usual_place = Path::new("/usr/local/cuda/bin/nvcc").exists();
    assert_eq!(has(&[("PATH", "/nowhere")]), is_in_the_usual_place);
}
