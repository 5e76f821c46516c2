//! Markdown files whose commands are really executed: `tests/cases`, and the README itself.

use crate::sandbox::Sandbox;

#[test]
fn documents_show_what_happens() {
    let sandbox = Sandbox::new();
    let cases = trycmd::TestCases::new();
    cases
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", sandbox.root().join("home").display().to_string())
        .env("OMP_NUM_THREADS", "4")
        .register_bin("zlaunch", std::path::Path::new(env!("CARGO_BIN_EXE_zlaunch")))
        .case("tests/cases/*.md")
        .case("README.md");
    for name in ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "CUDA_VISIBLE_DEVICES", "NPROC_PER_NODE", "NNODES", "RANK"] {
        assert!(
            std::env::var_os(name).is_none() || name.starts_with("XDG"),
            "{name} would change the documents' output"
        );
    }
    cases.run();
}
