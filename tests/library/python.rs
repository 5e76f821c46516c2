//! Which Python a console script belongs to, and where modules are sought.

use std::path::{Path, PathBuf};

use zlaunch::testing::Host;
use zlaunch::testing::python::{Python, is_missing};

use crate::invariants::fake::Sandbox;
use crate::invariants::host;

#[test]
fn interpreters_of_console_scripts() {
    let sandbox = Sandbox::bare();
    for (head, program) in [
        (
            "#!/opt/env/bin/python3.11\nimport sys\n",
            Some("/opt/env/bin/python3.11"),
        ),
        ("#!/opt/env/bin/python -E\n", Some("/opt/env/bin/python")),
        (
            "#!/bin/sh\n'''exec' \"/a b/bin/python3\" \"$0\" \"$@\"\n' '''\n",
            Some("/a b/bin/python3"),
        ),
        (
            "#!/bin/sh\n'''exec' '/a b/bin/python3' \"$0\" \"$@\"\n' '''\n",
            Some("/a b/bin/python3"),
        ),
        (
            "#!/bin/sh\n'''exec' /a/bin/python3 \"$0\" \"$@\"\n' '''\n",
            Some("/a/bin/python3"),
        ),
        ("#!/bin/sh\necho no\n", None),
        ("#!/bin/bash\n", None),
        ("\u{7f}ELF", None),
        ("", None),
    ] {
        let found = Python::of_script(&sandbox.put("script", head), &Host::default());
        let found = found.map(|found| found.program);
        assert_eq!(found.as_deref(), program.map(Path::new), "{head}");
    }
}

/// The layouts that pip, uv, pipx, setuptools and pyenv leave behind, as seen on real ones.
#[test]
fn layouts() {
    let sandbox = Sandbox::bare();
    let plant = |path: &str, text: &str| sandbox.put(path, text);
    let at = |path: &str| sandbox.path(path).display().to_string();
    let found = |script: &str, variables: &[(&str, &str)]| {
        let host = Host {
            cwd: sandbox.cwd(),
            ..host(variables)
        };
        let python = Python::of_script(&sandbox.path(script), &host).unwrap();
        (
            python.file("swift/cli/sft.py"),
            python.version_text("ms-swift"),
        )
    };
    let same = |got: (Option<PathBuf>, Option<String>), file: &str, version: &str| {
        assert_eq!(got, (Some(sandbox.path(file)), Some(version.to_string())));
    };

    let site = |root: &str| format!("{root}/lib/python3.11/site-packages");
    let sft = |root: &str| format!("{}/swift/cli/sft.py", site(root));
    let dist_info = |root: &str, version: &str| {
        plant(
            &format!("{}/ms_swift-{version}.dist-info/METADATA", site(root)),
            "",
        );
    };
    let install = |root: &str, version: &str| {
        plant(&sft(root), "");
        dist_info(root, version);
    };
    let interpreter = |root: &str| {
        let python = plant(&format!("{root}/bin/python3.11"), "");
        plant(
            &format!("{root}/bin/swift"),
            &format!("#!{}\n", python.display()),
        );
    };

    // A virtual environment; PYTHONPATH beats it.
    plant(
        "v/pyvenv.cfg",
        "home = /usr/bin\ninclude-system-site-packages = false\n",
    );
    interpreter("v");
    install("v", "4.6.0");
    plant("other/swift/cli/sft.py", "");
    same(found("v/bin/swift", &[]), &sft("v"), "4.6.0");
    let path = format!("/proc/nowhere:{}", at("other"));
    same(
        found("v/bin/swift", &[("PYTHONPATH", &path)]),
        "other/swift/cli/sft.py",
        "4.6.0",
    );
    // uv's relocatable environment, moved.
    plant(
        "v/bin/swift-uv",
        "#!/bin/sh\n'''exec' \"$(dirname -- \"$(realpath -- \"$0\")\")\"/'python3.11' \"$0\" \"$@\"\n' '''\n",
    );
    same(found("v/bin/swift-uv", &[]), &sft("v"), "4.6.0");

    // Editable: a folder in a .pth file, a finder's mapping, and the old egg-link with its egg-info.
    for (name, pth, file) in [
        ("e1", at("src1"), "src1/swift/cli/sft.py"),
        (
            "e2",
            "import __editable___ms_swift_4_6_0_finder; x.install()".to_string(),
            "src2/swift/cli/sft.py",
        ),
    ] {
        plant(&format!("{name}/pyvenv.cfg"), "home = /usr/bin\n");
        interpreter(name);
        plant(
            &format!("{}/__editable__.ms_swift-4.6.0.pth", site(name)),
            &format!("# made by\n{pth}\n"),
        );
        let mapping = format!(
            "MAPPING: dict[str, str] = {{'swift': '{}'}}\n",
            at("src2/swift")
        );
        plant(
            &format!("{}/__editable___ms_swift_4_6_0_finder.py", site(name)),
            &mapping,
        );
        dist_info(name, "4.6.0");
        plant(file, "");
        same(found(&format!("{name}/bin/swift"), &[]), file, "4.6.0");
    }
    interpreter("e3");
    plant(
        &format!("{}/easy-install.pth", site("e3")),
        &format!("{}\n", at("src3")),
    );
    plant("src3/swift/cli/sft.py", "");
    plant(
        "src3/ms_swift.egg-info/PKG-INFO",
        "Metadata-Version: 2.1\nName: ms-swift\nVersion: 3.9.1\n",
    );
    same(found("e3/bin/swift", &[]), "src3/swift/cli/sft.py", "3.9.1");

    // An environment that shares its base's packages, and the user's own in front of them.
    plant(
        "s/pyvenv.cfg",
        &format!(
            "home = {}\ninclude-system-site-packages = true\n",
            at("base/bin")
        ),
    );
    interpreter("s");
    install("base", "3.0.0");
    same(found("s/bin/swift", &[]), &sft("base"), "3.0.0");
    install("home/.local", "3.1.0");
    same(
        found("s/bin/swift", &[("HOME", &at("home"))]),
        &sft("home/.local"),
        "3.1.0",
    );

    // A shim of pyenv, for the version that the folder asks for.
    plant(
        "pyenv/shims/swift",
        "#!/usr/bin/env bash\nset -e\nexec \"/r/.pyenv/libexec/pyenv\" exec \"$program\" \"$@\"\n",
    );
    plant("pyenv/version", "3.9.0\n");
    plant("cwd/.python-version", "3.11.7\n");
    interpreter("pyenv/versions/3.11.7");
    install("pyenv/versions/3.11.7", "4.1.0");
    same(
        found("pyenv/shims/swift", &[]),
        &sft("pyenv/versions/3.11.7"),
        "4.1.0",
    );
}

#[test]
fn modules_are_sought_where_python_looks() {
    let sandbox = Sandbox::bare();
    sandbox.file("pkg/__init__.py", "");
    sandbox.file("pkg/train.py", "");
    sandbox.file("moving/__init__.py", "__path__.append('/elsewhere')");
    sandbox.file("alone.py", "");
    sandbox.file("space/deep/run.py", "");
    sandbox.put("site/fast.cpython-311-x86_64-linux-gnu.so", "");
    sandbox.put("site/distutils-precedence.pth", "import os; exec('x')\n");
    sandbox.put("src/editable/run.py", "");
    sandbox.put("site/x.pth", sandbox.path("src").to_str().unwrap());
    let folders = [sandbox.cwd(), sandbox.path("site")];
    for module in ["pkg.no", "alone.py", "no.such.module"] {
        assert!(is_missing(module, &folders, &folders[1..]), "{module}");
    }
    for module in [
        "pkg.train",
        "pkg",
        "alone",
        "space.deep.run",
        "fast",
        "editable.run",
        "moving.train",
        "http.server",
    ] {
        assert!(!is_missing(module, &folders, &folders[1..]), "{module}");
    }
    // Code that runs at the start of Python may add any module.
    sandbox.put(
        "site/__editable__.own-1.pth",
        "import __editable___own_finder; __editable___own_finder.install()\n",
    );
    assert!(!is_missing("no.such.module", &folders, &folders[1..]));
    // But what is in a package that is there, the package alone says.
    assert!(is_missing("pkg.no", &folders, &folders[1..]));
    assert!(!is_missing("moving.train", &folders, &folders[1..]));
}
