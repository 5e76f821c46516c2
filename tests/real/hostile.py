#!/usr/bin/env python3
"""`zlaunch rehearse` of a hostile script (tests/data/hostile.py): it changes nothing outside, reaches nobody and leaves nothing behind, however it ends.

It runs as this user and, as root, also as an ordinary one; with all that this kernel has to hold it, and as on kernels with less. Needs nothing but a Python, which all users may run.
"""
import contextlib
import functools
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import ROOT, Arguments, Checks, Skip, until

ORDINARY = 65534
PYTHON = next((path for path in ("/usr/bin/python3", "/usr/local/bin/python3") if os.path.exists(path)), sys.executable)
HOSTILE, WITHOUT = ROOT / "tests/data/hostile.py", ROOT / "tests/data/without.py"
# What is missing, the first line of the answer, and what the script does not try because nothing holds it.
LEVELS = {
    "sandboxed": ([], None, []),
    "without namespaces": (["unshare"], "partly sandboxed: UDP, unix sockets, /dev/shm, chmod and limits of other processes are open", ["no-modes", "no-sockets", "no-limits"]),
    "without Landlock": (["landlock"], None, []),
    "without processes of its own": (["pids"], "partly sandboxed: limits of other processes are open", ["no-limits"]),
}
# How the rehearsal ends: by itself, by its time limit, or because of a signal to zlaunch.
ENDS = ["itself", "timeout", signal.SIGINT, signal.SIGTERM, signal.SIGKILL]


class Outside:
    """Files, sockets and a process of a user's, which no rehearsal may change or reach."""

    def __init__(self, zlaunch, user, stack):
        self.user, self.root = user, Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="zlaunch-hostile-")))
        self.files, self.temporary, self.mark = self.root / "files", self.root / "tmp", self.root.name
        self.files.mkdir()
        self.temporary.mkdir()
        # Whoever runs it need not be able to read this repository.
        self.zlaunch, self.hostile, self.without = (Path(shutil.copy(path, self.root)) for path in (zlaunch, HOSTILE, WITHOUT))
        for name in "written truncated removed moved mapped mode time".split():
            (self.files / name).write_text("kept " * 100)
        with contextlib.closing(sqlite3.connect(self.files / "data.db")) as data:
            data.executescript("create table kept (it); insert into kept values (1);")
        self.tcp, self.udp, self.unix = (stack.enter_context(socket.socket(*kind)) for kind in ((), (socket.AF_INET, socket.SOCK_DGRAM), (socket.AF_UNIX,)))
        for listener, address in ((self.tcp, ("127.0.0.1", 0)), (self.udp, ("127.0.0.1", 0)), (self.unix, str(self.files / "socket"))):
            listener.bind(address)
            listener.setblocking(False)
        self.tcp.listen()
        self.unix.listen()
        for path in (self.root, *self.root.rglob("*")):
            os.chown(path, user, user)
        self.process = self.start(["sleep", "1000"])
        stack.callback(self.process.wait)
        stack.callback(self.process.kill)
        self.before, self.held = self.seen(), self.limits()

    def start(self, words, **more):
        as_user = {} if self.user == os.getuid() else {"user": self.user, "group": self.user, "extra_groups": []}
        given = {"PATH": "/usr/bin:/bin", "HOME": str(self.root), "TMPDIR": str(self.temporary)}
        return subprocess.Popen([str(word) for word in words], cwd=self.root, env=given, stdin=subprocess.DEVNULL, text=True, **as_user, **more)

    def rehearse(self, *words, options=(), missing=(), text=None):
        """Of the hostile script, or of one with this text."""
        script = self.hostile
        if text is not None:
            script = self.root / f"{len(os.listdir(self.root))}.py"
            script.write_text(text)
        wrapped = [PYTHON, self.without, *missing, "--"] if missing else []
        ports = [self.tcp.getsockname()[1], self.udp.getsockname()[1], self.process.pid]
        return self.start([*wrapped, self.zlaunch, "rehearse", "--nproc-per-node", "1", *options, "--", PYTHON, script, self.files, *ports, self.mark, *words],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def seen(self):
        """All that can be seen of the files."""
        found = {}
        for path in (self.files, *sorted(self.files.rglob("*"))):
            stat = path.lstat()
            found[path.name] = (stat.st_mode, stat.st_uid, stat.st_mtime_ns, stat.st_size, path.read_bytes() if path.is_file() else None, os.listxattr(path, follow_symlinks=False))
        return found

    def limits(self):
        """What others may set of the process."""
        pid = self.process.pid
        return os.getpriority(os.PRIO_PROCESS, pid), os.sched_getaffinity(pid), os.sched_getscheduler(pid), Path(f"/proc/{pid}/limits").read_text()

    def reached(self):
        found = []
        for name, listener, ask in (("TCP", self.tcp, lambda it: it.accept()), ("UDP", self.udp, lambda it: it.recv(100)), ("unix", self.unix, lambda it: it.accept())):
            with contextlib.suppress(BlockingIOError):
                ask(listener)
                found.append(name)
        return found

    def left_behind(self):
        """Processes with the mark as their last argument."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                words = path.read_bytes().split(b"\0")
                found += [path.parent.name] if words[-2:-1] == [self.mark.encode()] and b"rehearse" not in words else []
        return found

    def judge(self):
        until(lambda: not self.left_behind() and not os.listdir(self.temporary), lambda: f"left behind: {self.left_behind()}, {os.listdir(self.temporary)}")
        changed = {name: (it, self.before.get(name)) for name, it in self.seen().items() if it != self.before.get(name)} or self.before.keys() - self.seen().keys()
        assert not changed, f"changed: {changed}"
        assert not self.reached(), "reached"
        assert self.process.poll() is None, "ended a process"
        assert self.limits() == self.held, f"changed a process: {self.limits()}"


@functools.lru_cache(maxsize=None)
def lacks(zlaunch, user):
    """What this kernel lacks is told by the first line of a rehearsal."""
    with contextlib.ExitStack() as stack:
        outside = Outside(zlaunch, user, stack)
        said = outside.rehearse(text="").communicate()[0]
        return said.splitlines()[0] if "sandboxed: " in said else None


def ends(zlaunch, user, level, end):
    missing, says, untried = LEVELS[level]
    if why := lacks(zlaunch, user):
        raise Skip(why)
    with contextlib.ExitStack() as stack:
        outside = Outside(zlaunch, user, stack)
        stays = ["stay"] if end != "itself" else []
        running = outside.rehearse(*untried, *stays, missing=missing, options=["--timeout", "5"] if end == "timeout" else [])
        if isinstance(end, signal.Signals):
            until(lambda: len(outside.left_behind()) >= 3, "it does not come to its end")
            running.send_signal(end)
        said = running.communicate()[0]
        assert end in ("itself", "timeout") or running.returncode == -end, running.returncode
        if end == "itself":
            assert "ended without DeepSpeed" in said and (said.startswith(says) if says else "sandboxed: " not in said), said
            assert f"only a sandbox keeps this from being changed: {outside.files}/truncated" in said, said
        outside.judge()


def without_both(zlaunch, user):
    """Then it only says so; what is redirected still is."""
    with contextlib.ExitStack() as stack:
        outside = Outside(zlaunch, user, stack)
        said = outside.rehearse(missing=["unshare", "landlock"], text=f"open({str(outside.files / 'written')!r}, 'w').write('changed')").communicate()[0]
        assert said.startswith("not sandboxed: this kernel has no Landlock\n"), said
        outside.judge()


def by_all(function, zlaunch, *given):
    for user in [os.getuid(), ORDINARY] if os.getuid() == 0 else [os.getuid()]:
        function(zlaunch, user, *given)


def main():
    options = Arguments(__doc__, "bin", "names").parse_args()
    # Who runs this in the background of a script has SIGINT ignored, and every process that it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    checks = Checks(options.names)
    for level in LEVELS:
        for end in ENDS if level == "sandboxed" else ENDS[:1]:
            checks.run(f"{level}, {end.name if isinstance(end, signal.Signals) else end}", by_all, ends, options.bin, level, end)
    checks.run("not sandboxed", by_all, without_both, options.bin)
    checks.finish()


if __name__ == "__main__":
    main()
