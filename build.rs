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
/// A panic aborts, so nobody unwinds: a fifteenth of the binary would be tables for that. Not every linker leaves them out.
const NO_UNWINDING: &str = "SECTIONS { /DISCARD/ : { *(.eh_frame .eh_frame.* .gcc_except_table .gcc_except_table.*) } } \
    INSERT AFTER .text;\n";

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
    let script = folder.join("no-unwinding.ld");
    let written = SHARED.iter().all(|name| fs::write(folder.join(format!("lib{name}.so")), ARCHIVES).is_ok())
        && fs::write(&script, NO_UNWINDING).is_ok();
    // Not a position-independent executable: relocating its tables costs more than the rest of its start.
    let switches = ["-static", "-no-pie", "-Wl,--no-eh-frame-hdr"].map(str::to_string);
    let plain: Vec<String> = switches.into_iter().chain([format!("-L{}", folder.display())]).collect();
    let smaller: Vec<String> = plain.iter().cloned().chain([format!("-Wl,-T,{}", script.display())]).collect();
    let found = [smaller, plain].into_iter().find(|arguments| written && works(folder, arguments));
    for argument in found.into_iter().flatten() {
        println!("cargo::rustc-link-arg-bins={argument}");
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
