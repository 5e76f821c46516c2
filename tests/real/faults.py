#!/usr/bin/env python3
"""Faults that only root or another tool can make: full, read-only and dead file systems, every failing system call, kill -9 at each of
them, no /proc, a user nobody knows, a limit on processes.

usage: faults.py --bin PATH

Works in mounts of its own, which vanish with it. Prints a line for each check, then 'N passed, M failed'. What is missing here is said and
left out. The faults that anybody can make are in tests/cli/faults.rs; docs/faults.md lists both.
"""
import argparse
import ctypes
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STUB = '#!/bin/sh\n[ -n "$OUT" ] && printf "%s\\n" "$@" > "$OUT/argv"\nexit 0\n'
LAUNCH = ["--deepspeed", "zero2", "--nproc-per-node", "2", "--", "python3", "train.py", "--per_device_train_batch_size", "1"]
NOBODY = 54321


class Lab:
    def __init__(self, binary):
        self.root = Path(tempfile.mkdtemp(prefix="faults."))
        self.root.chmod(0o755)
        self.bin = self.root / "zlaunch"
        shutil.copy(binary, self.bin)  # where everybody may execute it
        for name in ("bin", "home", "tmp", "out", "cwd"):
            (self.root / name).mkdir()
        (self.root / "tmp").chmod(0o1777)
        (self.root / "out").chmod(0o777)
        (self.root / "bin/python3").write_text(STUB)
        (self.root / "bin/python3").chmod(0o755)
        (self.root / "cwd/train.py").write_text("")

    def run(self, *before, options=(), timeout=60, **variables):
        env = {"PATH": f"{self.root}/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": f"{self.root}/home", "TMPDIR": f"{self.root}/tmp", "OUT": f"{self.root}/out"}
        env.update({name: str(value) for name, value in variables.items()})
        env = {name: value for name, value in env.items() if value}
        (self.root / "out/argv").unlink(missing_ok=True)
        command = [str(word) for word in (*before, self.bin, *options, *LAUNCH)]
        return subprocess.run(command, env=env, cwd=self.root / "cwd", capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)

    def launched(self, ran):
        """The config that was handed over, whole and private."""
        assert ran.returncode == 0, ran
        words = (self.root / "out/argv").read_text().split("\n")
        config = Path(words[words.index("--deepspeed") + 1])
        seen = config.lstat()
        assert stat.S_ISREG(seen.st_mode) and seen.st_mode & 0o777 == 0o600, oct(seen.st_mode)
        return config

    def refused(self, ran, *words):
        assert ran.returncode == 125 and ran.stderr.startswith("error") and "help: " in ran.stderr and "panicked" not in ran.stderr, ran
        assert all(word in ran.stderr for word in words), ran
        assert not (self.root / "out/argv").exists(), "launched all the same"

    def fresh_home(self, name="home"):
        shutil.rmtree(self.root / name, ignore_errors=True)
        (self.root / name).mkdir()
        return self.root / name


CHECKS = []


def check(*tools):
    def keep(function):
        CHECKS.append((function, tools))
        return function
    return keep


def mount(kind, options, at):
    subprocess.run(["mount", "-t", kind, "-o", options, "none", str(at)], check=True)


def files_below(folder):
    return sorted(path for path in folder.rglob("*") if not path.is_dir())


@check()
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


@check()
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


@check()
def a_home_that_does_not_answer_holds_nobody(lab):
    home = lab.root / "dead"
    device = dead_folder(home)
    try:
        elsewhere = {"XDG_CACHE_HOME": lab.root / "tmp/c", "XDG_CONFIG_HOME": lab.root / "tmp/d", "PYTHONNOUSERSITE": "1"}
        lab.launched(lab.run(HOME=home, timeout=10, **elsewhere))
        lab.refused(lab.run(HOME=home, timeout=40), "has not answered", str(home), "XDG_CACHE_HOME")
        lab.refused(lab.run(options=["-n"], HOME=home, timeout=40), "has not answered")
    finally:
        os.close(device)
        subprocess.run(["umount", "-l", home], check=True)


FAILING = {
    "write": ["ENOSPC", "EDQUOT", "EIO", "EFBIG"],
    "rename": ["ENOSPC", "EIO", "EROFS", "EACCES"],
    "mkdir": ["ENOSPC", "EDQUOT", "EROFS", "EACCES"],
}


@check("strace")
def every_call_that_fails_while_the_config_is_written_is_told(lab):
    for call, reasons in FAILING.items():
        for reason in reasons:
            home = lab.fresh_home()
            # The first write is the config's: nothing is printed before it.
            ran = lab.run("strace", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:error={reason}:when=1", HOME=home)
            lab.refused(ran, "cannot be written")
            assert files_below(home) == [], (call, reason, files_below(home))
            lab.launched(lab.run(HOME=home))


@check("strace")
def generate_needs_no_second_names(lab):
    """FAT, CIFS and many FUSE file systems have no hard links; some cannot move a file to where nothing is."""
    out = lab.root / "cwd/generated.json"
    generate = [lab.bin, "generate", "-o", out]
    injected = [f"-einject={call}:error={reason}" for call, reason in (("link,linkat", "EPERM"), ("renameat2", "EINVAL"))]
    for faults, status in ((injected[:1], 0), (injected[1:], 0), (injected, 125)):
        ran = subprocess.run(["strace", "-qq", "-o", "/dev/null", *faults, *generate], capture_output=True, text=True)
        assert ran.returncode == status, ran
        assert out.exists() == (status == 0) and not list(out.parent.glob(".generated*")), ran
        assert status == 0 or "the generated config cannot be written" in ran.stderr and "-o FILE" in ran.stderr, ran
        again = subprocess.run(["strace", "-qq", "-o", "/dev/null", *faults, *generate], capture_output=True, text=True)
        assert again.returncode == 125 and ("already exists" in again.stderr) == (status == 0), again
        out.unlink(missing_ok=True)


@check("strace")
def a_write_that_is_cut_short_is_continued(lab):
    home = lab.fresh_home()
    whole = lab.launched(lab.run(HOME=home)).read_bytes()
    home = lab.fresh_home()
    config = lab.launched(lab.run("strace", "-qq", "-o", "/dev/null", "-e", "trace=write", "-e", "inject=write:error=EINTR:when=1", HOME=home))
    assert config.read_bytes() == whole


@check("strace")
def killed_at_every_call_it_leaves_a_whole_config_or_none(lab):
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


@check("unshare")
def without_proc_it_launches_or_says_what_is_missing(lab):
    hidden = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
    lab.launched(lab.run(*hidden, HOME=lab.fresh_home()))
    lab.refused(lab.run(*hidden, options=["--launcher", "local"], HOME=lab.fresh_home()), "--launcher torchrun")
    assert lab.run(*hidden, options=["-n", "--format", "json"]).returncode == 0


@check("setpriv")
def a_user_without_an_entry_and_a_home_launches(lab):
    ran = lab.run("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", HOME="")
    config = lab.launched(ran)
    assert config.parent == lab.root / f"tmp/zlaunch-{NOBODY}" and config.lstat().st_uid == NOBODY, config
    assert config.parent.lstat().st_mode & 0o777 == 0o700


@check("setpriv")
def a_folder_that_somebody_else_made_is_not_used(lab):
    trap = lab.root / f"tmp/zlaunch-{NOBODY + 1}"
    trap.mkdir(mode=0o777)
    ran = lab.run("setpriv", f"--reuid={NOBODY + 1}", f"--regid={NOBODY}", "--clear-groups", HOME="")
    lab.refused(ran, "does not belong to you alone")
    assert not list(trap.iterdir())


@check("setpriv", "prlimit")
def a_limit_on_processes_is_told(lab):
    lab.fresh_home().chmod(0o777)
    limited = ["setpriv", f"--reuid={NOBODY + 2}", f"--regid={NOBODY}", "--clear-groups"]
    ended = set()
    for most in (1, 2, 3, 4):
        ran = lab.run("prlimit", f"--nproc={most}", *limited, options=["--launcher", "local"])
        if ran.returncode:
            assert ran.returncode == 125 and "help: " in ran.stderr and "panicked" not in ran.stderr, ran
        ended.add(ran.returncode)
    assert 125 in ended, ended


@check("strace")
def nobody_outlives_a_zlaunch_that_is_killed_before_its_watcher_knows(lab):
    """Every write takes half a second, so that the rank would be faster than the word about it."""
    leaves = lab.root / "bin/leaves"
    leaves.write_text('#!/bin/sh\nsleep 1000 &\necho $! > "$OUT/child.new" && mv "$OUT/child.new" "$OUT/child"\nwait\n')
    leaves.chmod(0o755)
    child = lab.root / "out/child"
    slowly = ["strace", "-qq", "-o", "/dev/null", "-e", "trace=write", "-e", "inject=write:delay_enter=500000"]
    command = [*slowly, lab.bin, "--launcher", "local", "--nproc-per-node", "1", "--", leaves]
    env = {"PATH": os.environ["PATH"], "HOME": str(lab.fresh_home()), "OUT": str(lab.root / "out")}
    with subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as traced:
        soon(child.exists)
        [zlaunch] = Path(f"/proc/{traced.pid}/task/{traced.pid}/children").read_text().split()
        os.kill(int(zlaunch), signal.SIGKILL)
    left = Path("/proc") / child.read_text().strip()
    try:
        soon(lambda: not left.exists() or ") Z" in (left / "stat").read_text())
    except AssertionError:
        os.kill(int(left.name), signal.SIGKILL)
        raise


def soon(holds):
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline, "still not so after 20 s"
        time.sleep(0.01)


def at_hand(tool):
    if not shutil.which(tool) and shutil.which("apt-get"):
        package = {"unshare": "util-linux", "setpriv": "util-linux", "prlimit": "util-linux"}.get(tool, tool)
        subprocess.run(["apt-get", "install", "-qq", "-y", package], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return shutil.which(tool)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=Path)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if os.geteuid():
        print("only root can make these faults: left out")
        return 0
    if not options.inside:
        if not at_hand("unshare") or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
            print("no mounts can be made here: left out")
            return 0
        os.execvp("unshare", ["unshare", "-m", "--propagation", "private", sys.executable, __file__, "--bin", str(options.bin.resolve()), "--inside"])
    lab = Lab(options.bin)
    passed = failed = 0
    for function, tools in CHECKS:
        missing = [tool for tool in tools if not at_hand(tool)]
        if function is a_home_that_does_not_answer_holds_nobody and not os.access("/dev/fuse", os.R_OK | os.W_OK):
            missing.append("/dev/fuse")
        name = function.__name__.replace("_", " ")
        if missing:
            print(f"left out  {name}: {', '.join(missing)} is not here")
            continue
        try:
            more = function(lab)
            passed += 1
            print(f"ok        {name}" + (f" ({more})" if more else ""))
        except (AssertionError, OSError, subprocess.SubprocessError, ValueError) as why:
            failed += 1
            print(f"FAILED    {name}: {type(why).__name__}: {str(why)[:1500]}")
    shutil.rmtree(lab.root, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
