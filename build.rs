//! Links the release binary statically where that works: half of what a small program costs before exec is the dynamic
//! loader. What a static glibc cannot do (ask NSS for hosts and users, which loads the system's libraries) zlaunch does
//! not do; `clippy.toml` forbids the ways to it.
//!
//! `-C target-feature=+crt-static` would be the plain way, but a package cannot set it for itself alone, and where it
//! is set for all, procedural macros do not build. So the libraries that rustc asks for by name are found here first,
//! as archives.

#![expect(clippy::disallowed_methods, reason = "cargo speaks to build scripts like this")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

/// What rustc links on Linux with glibc.
const SHARED: &[&str] = &["gcc_s", "util", "rt", "pthread", "m", "dl", "c"];
/// The same as archives. Newer versions of glibc keep empty ones for what became part of libc.
const ARCHIVES: &str = "GROUP(libgcc_eh.a libgcc.a libutil.a librt.a libpthread.a libm.a libdl.a libc.a)\n";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|it| it == value);
    let native = env::var_os("HOST") == env::var_os("TARGET");
    if !(is("PROFILE", "release") && is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") && native)
    {
        return;
    }
    let Some(folder) = env::var_os("OUT_DIR") else { return };
    let folder = Path::new(&folder);
    let written = SHARED.iter().all(|name| fs::write(folder.join(format!("lib{name}.so")), ARCHIVES).is_ok());
    // Not a position-independent executable: relocating its tables costs more than the rest of its start.
    // No index of unwind tables either: a panic aborts, so nobody unwinds.
    let switches = ["-static", "-no-pie", "-Wl,--no-eh-frame-hdr"].map(str::to_string);
    let arguments: Vec<String> = switches.into_iter().chain([format!("-L{}", folder.display())]).collect();
    if written && works(folder, &arguments) {
        for argument in arguments {
            println!("cargo::rustc-link-arg-bins={argument}");
        }
    }
}

/// Whether a program linked like this starts here. Not every system has the archives.
fn works(folder: &Path, arguments: &[String]) -> bool {
    let (source, program) = (folder.join("probe.rs"), folder.join("probe"));
    let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.arg(&source).arg("-o").arg(&program).stdout(Stdio::null()).stderr(Stdio::null());
    rustc.args(env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default().split('\x1f').filter(|it| !it.is_empty()));
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.arg(format!("-Clinker={linker}"));
    }
    rustc.args(arguments.iter().map(|argument| format!("-Clink-arg={argument}")));
    let succeeds = |command: &mut Command| command.status().is_ok_and(|status| status.success());
    fs::write(&source, "fn main() { print!(\"{:?}\", std::env::args_os()); }").is_ok()
        && succeeds(&mut rustc)
        && succeeds(Command::new(&program).stdout(Stdio::null()))
}
