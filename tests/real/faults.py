#!/usr/bin/env python3
"""Faults that only root or another tool can make: full, read-only and dead file systems, every failing system call, kill -9 at each of
them, no /proc, a user nobody knows, a limit on processes.

Works in mounts of its own, which vanish with it. A check whose tools are missing here is skipped. The faults that anybody can make are in
tests/cli/faults.rs; docs/dev/faults.md lists both.
"""
import contextlib
import ctypes
import os
import pwd
import random
import re
import shutil
import stat
import subprocess
from pathlib import Path

from harness import PATIENCE, Skip, check, enter, needs, run_checks

STUB = '#!/bin/sh\n[ -n "$OUT" ] && printf "%s\\n" "$@" > "$OUT/argv"\nexit 0\n'
LAUNCH = ["--deepspeed", "zero2", "--nproc-per-node", "2", "--", "python3", "train.py", "--per_device_train_batch_size", "1"]


class Lab:
    def __init__(self, binary, root):
        self.root, self.bin = root, root / "zlaunch"
        self.root.chmod(0o755)
        shutil.copy(binary, self.bin)  # where everybody may execute it
        for name in ("bin", "home", "tmp", "out", "cwd"):
            (self.root / name).mkdir()
        (self.root / "tmp").chmod(0o1777)
        (self.root / "out").chmod(0o777)
        (self.root / "bin/python3").write_text(STUB)
        (self.root / "bin/python3").chmod(0o755)
        (self.root / "cwd/train.py").write_text("from transformers import Trainer, TrainingArguments\n")

    def run(self, *before, options=(), **variables):
        env = {"PATH": f"{self.root}/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": f"{self.root}/home", "TMPDIR": f"{self.root}/tmp", "OUT": f"{self.root}/out"}
        env.update({name: str(value) for name, value in variables.items()})
        env = {name: value for name, value in env.items() if value}
        (self.root / "out/argv").unlink(missing_ok=True)
        command = [str(word) for word in (*before, self.bin, *options, *LAUNCH)]
        return subprocess.run(command, env=env, cwd=self.root / "cwd", capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)

    def launched(self, ran):
        """The config that was handed over, whole and private."""
        assert ran.returncode == 0, ran
        words = (self.root / "out/argv").read_text().split("\n")
        config = Path(words[words.index("--deepspeed") + 1])
        seen = config.lstat()
        assert stat.S_ISREG(seen.st_mode) and seen.st_mode & 0o777 == 0o600, oct(seen.st_mode)
        return config

    def refused(self, ran, *words):
        assert ran.returncode == 125 and re.search("(?m)^error", ran.stderr) and "help: " in ran.stderr and "panicked" not in ran.stderr, ran
        assert all(word in ran.stderr for word in words), ran
        assert not (self.root / "out/argv").exists(), "launched all the same"

    def fresh_home(self, name="home"):
        shutil.rmtree(self.root / name, ignore_errors=True)
        (self.root / name).mkdir()
        return self.root / name


def stranger():
    """A user without a name who runs nothing: limits on their processes are then ours alone."""
    taken = {entry.pw_uid for entry in pwd.getpwall()}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            taken.add(process.stat().st_uid)
    return random.choice([user for user in range(50_000, 60_000) if user not in taken])


def as_user(user):
    needs("setpriv")
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]


def mount(kind, options, at):
    subprocess.run(["mount", "-t", kind, "-o", options, "none", str(at)], check=True)


def files_below(folder):
    return sorted(path for path in folder.rglob("*") if not path.is_dir())


@check
def a_full_disk_is_told_and_nothing_half_written_stays(lab):
    home = lab.root / "full"
    home.mkdir()
    mount("tmpfs", "size=64k", home)
    try:
        (home / "ballast").write_bytes(bytes(32 << 10))
        with open(home / "ballast", "ab") as ballast:
            try:
                while True:
                    os.write(ballast.fileno(), bytes(4096))
            except OSError:
                pass
        ran = lab.run(HOME=home)
        lab.refused(ran, "cannot be written", "No space left on device", "--config-out")
        assert files_below(home) == [home / "ballast"], files_below(home)
        lab.launched(lab.run(HOME=home, XDG_CACHE_HOME=lab.root / "tmp/elsewhere"))
    finally:
        subprocess.run(["umount", home], check=True)


@check
def a_read_only_home_is_left_alone(lab):
    home = lab.root / "ro"
    home.mkdir()
    mount("tmpfs", "ro", home)
    config = lab.launched(lab.run(HOME=home))
    assert config.parent == lab.root / f"tmp/zlaunch-{os.geteuid()}", config
    lab.refused(lab.run(HOME=home, TMPDIR=home), "cannot be written", "Read-only file system")
    subprocess.run(["umount", home], check=True)


def dead_folder(at):
    """A file system whose server never says a word: whoever looks into it waits."""
    at.mkdir()
    device = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
    if libc.mount(b"dead", str(at).encode(), b"fuse", 0, options):
        raise OSError(ctypes.get_errno(), "mount")
    return device


@check
def a_home_that_does_not_answer_is_left_alone(lab):
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        raise Skip("/dev/fuse is not here")
    home = lab.root / "dead"
    device = dead_folder(home)
    try:
        elsewhere = {"XDG_CACHE_HOME": lab.root / "tmp/c", "XDG_CONFIG_HOME": lab.root / "tmp/d", "PYTHONNOUSERSITE": "1"}
        lab.launched(lab.run(HOME=home, **elsewhere))
    finally:
        os.close(device)
        subprocess.run(["umount", "-l", home], check=True)


FAILING = {
    "write": ["ENOSPC", "EDQUOT", "EIO", "EFBIG"],
    "rename": ["ENOSPC", "EIO", "EROFS", "EACCES"],
    "mkdir": ["ENOSPC", "EDQUOT", "EROFS", "EACCES"],
}


@check
def every_call_that_fails_while_the_config_is_written_is_told(lab):
    needs("strace")
    for call, reasons in FAILING.items():
        for reason in reasons:
            home = lab.fresh_home()
            # The first write is the config's: nothing is printed before it.
            ran = lab.run("strace", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:error={reason}:when=1", HOME=home)
            lab.refused(ran, "cannot be written")
            assert files_below(home) == [], (call, reason, files_below(home))
            lab.launched(lab.run(HOME=home))


@check
def generate_needs_no_second_names(lab):
    """FAT, CIFS and many FUSE file systems have no hard links; some cannot move a file to where nothing is."""
    needs("strace")
    out = lab.root / "cwd/generated.json"
    generate = [lab.bin, "generate", "-o", out]
    injected = [f"-einject={call}:error={reason}" for call, reason in (("link,linkat", "EPERM"), ("renameat2", "EINVAL"))]
    for faults in (injected[:1], injected[1:], injected):
        ran, again = (subprocess.run(["strace", "-qq", "-o", "/dev/null", *faults, *generate], capture_output=True, text=True) for _ in range(2))
        assert ran.returncode == 0 and out.exists() and not list(out.parent.glob(".generated*")), ran
        assert again.returncode == 125 and "already exists" in again.stderr, again
        out.unlink()


@check
def killed_at_every_call_it_leaves_a_whole_config_or_none(lab):
    needs("strace")
    home = lab.fresh_home()
    config = lab.launched(lab.run(HOME=home))
    whole = config.read_bytes()
    killed = 0
    for call in ("mkdir", "openat", "statx", "access", "write", "rename", "close", "execve"):
        for number in range(1, 1000):
            home = lab.fresh_home()
            injected = f"inject={call}:signal=KILL:when={number}"
            ran = lab.run("strace", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", injected, HOME=home)
            assert not config.exists() or config.read_bytes() == whole, f"half a config after {call} {number}"
            for left in files_below(home):
                assert left == config or left.name.startswith("."), left
            # Killed as zlaunch or as the trainer: the next launch mends what is missing.
            lab.launched(lab.run(HOME=home))
            assert config.read_bytes() == whole, (call, number)
            if ran.returncode == 0:
                break
            killed += 1
    assert killed > 30, killed
    return f"{killed} places"


@check
def without_proc_it_launches_or_says_what_is_missing(lab):
    needs("unshare")
    hidden = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
    lab.launched(lab.run(*hidden, HOME=lab.fresh_home()))
    lab.refused(lab.run(*hidden, options=["--launcher", "local"], HOME=lab.fresh_home()), "rank 0 of 2 cannot be started")
    assert lab.run(*hidden, options=["-n", "--format", "json"]).returncode == 0


@check
def a_user_without_an_entry_and_a_home_launches(lab):
    user = stranger()
    config = lab.launched(lab.run(*as_user(user), HOME=""))
    assert config.parent == lab.root / f"tmp/zlaunch-{user}" and config.lstat().st_uid == user, config
    assert config.parent.lstat().st_mode & 0o777 == 0o700


@check
def a_folder_that_somebody_else_made_is_not_used(lab):
    user = stranger()
    trap = lab.root / f"tmp/zlaunch-{user}"
    trap.mkdir(mode=0o777)
    lab.refused(lab.run(*as_user(user), HOME=""), "does not belong to you alone")
    assert not list(trap.iterdir())


@check
def nobody_else_writes_what_is_read(lab):
    """Another user was first in a shared folder: with a folder that everybody can write, with a link, with the parent of a template."""
    user, other = stranger(), stranger()
    for name, plant in (("open", lambda at: at.mkdir()), ("link", lambda at: at.symlink_to(lab.root / "tmp/theirs"))):
        shared, theirs = lab.root / "tmp" / name, lab.root / "tmp/theirs"
        theirs.mkdir(exist_ok=True)
        shared.mkdir()
        shared.chmod(0o1777)
        plant(shared / "zlaunch")
        (theirs if name == "link" else shared / "zlaunch").chmod(0o777)
        os.chown(shared / "zlaunch", other, other, follow_symlinks=False)
        (shared / "zlaunch/configs").mkdir()
        os.chown(shared / "zlaunch/configs", user, user)
        ran = lab.run(*as_user(user), XDG_CACHE_HOME=shared)
        assert lab.launched(ran).parent == lab.root / f"tmp/zlaunch-{user}", (name, ran)
        assert not list((shared / "zlaunch/configs").iterdir())
    templates = lab.root / "tmp/parent/templates"
    templates.mkdir(parents=True)
    (templates / "zero2.json").write_text("{}")
    templates.parent.chmod(0o777)
    lab.refused(lab.run(*as_user(user), ZLAUNCH_TEMPLATE_DIR=templates), "could have written")
    templates.parent.chmod(0o755)
    templates.chmod(0)
    lab.refused(lab.run(*as_user(user), options=["--template-dir", templates], HOME=""), "cannot be read")


TORCHRUN = '''import subprocess, sys, tempfile
def main():
    sys.exit(subprocess.call([sys.executable, "-u", "sub/t.py"]))
if __name__ == "__main__":
    main()
'''


@check
def nothing_in_the_folder_is_imported(lab):
    """With every interpreter here, with and without the script of torchrun: the launcher imports nothing from where one stands, and the ranks' `sys.path` is the plain one."""
    pythons = [Path("/usr/bin/python3"), *Path.home().glob(".pyenv/versions/3.*/bin/python3")]
    for number, python in enumerate(pythons):
        env, cwd = lab.root / f"env{number}", lab.root / f"stands{number}"
        if subprocess.run([python, "-m", "venv", "--without-pip", env], cwd="/").returncode:
            continue
        [site] = env.glob("lib/python3*/site-packages")
        for file, text in {"torch/__init__.py": "", "torch/distributed/__init__.py": "", "torch/distributed/run.py": TORCHRUN}.items():
            (site / file).parent.mkdir(parents=True, exist_ok=True)
            (site / file).write_text(text)
        (cwd / "sub").mkdir(parents=True)
        (cwd / "sub/t.py").write_text("import sys; print(sys.path)")
        for name in ("torch", "tempfile", "runpy", "subprocess"):
            (cwd / f"{name}.py").write_text("raise SystemExit('planted')")
        said = lambda *words: subprocess.run([str(word) for word in words], env={"PATH": f"{env}/bin:/usr/bin:/bin", "HOME": str(cwd)}, cwd=cwd, capture_output=True, text=True)
        for script in (None, env / "bin/torchrun"):
            if script:
                script.write_text(f"#!{env}/bin/python3\nfrom torch.distributed.run import main\nmain()\n")
            plain, ran = said("python", "sub/t.py"), said(lab.bin, "-q", "--launcher", "torchrun", "--trainer", "hf", "--nproc-per-node", "2", "--", "python", "sub/t.py")
            assert ran.stdout == plain.stdout != "" and ran.returncode == 0, (python, script, ran, plain)


@check
def a_limit_on_processes_is_told(lab):
    needs("prlimit")
    lab.fresh_home().chmod(0o777)
    limited = as_user(stranger())
    ended = set()
    for most in (1, 2, 3, 4):
        ran = lab.run("prlimit", f"--nproc={most}", *limited, options=["--launcher", "local"])
        if ran.returncode:
            assert ran.returncode == 125 and "help: " in ran.stderr and "panicked" not in ran.stderr, ran
        ended.add(ran.returncode)
    assert 125 in ended, ended


def make(options, folder):
    # Where mounts are seen by nobody else.
    enter("--mount", "--propagation", "private")
    return Lab(options.bin, folder)


if __name__ == "__main__":
    run_checks(__doc__, "bin", make=make)
