#!/usr/bin/env python3
"""What zlaunch says about torch, against the installed one: signals under torchrun and `local`, old locks, where operators are built.

No GPU is used and nothing is compiled. docs/dev/fidelity.md has the versions in which these things changed.
"""
import json
import os
import signal
import subprocess
import tempfile
from pathlib import Path

from harness import PATIENCE, check, run_checks, until
from lab import Lab

RANK = """
import os, signal, sys, time
name = f"rank-{os.environ['RANK']}"

def note(number, _):
    open(name + ".usr1", "w").close()

signal.signal(signal.SIGUSR1, note)
open(name + ".up", "w").close()
while not os.path.exists("go"):
    time.sleep(0.05)
"""


class Launch:
    """Two ranks that wait for a file, started by zlaunch."""

    def __init__(self, lab, *before, options=(), **variables):
        self.folder = Path(tempfile.mkdtemp(dir=lab.root))
        (self.folder / "rank.py").write_text(RANK)
        words = [*before, lab.binary, "--nproc-per-node", "2", *options, "--", "python", "rank.py"]
        self.process = subprocess.Popen(words, env=lab.variables(**variables), cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: self.has("up"), "the ranks do not start")

    def has(self, what):
        return all((self.folder / f"rank-{rank}.{what}").exists() for rank in range(2))

    def finish(self):
        (self.folder / "go").touch()
        return self.process.wait(PATIENCE)


@check
def nohup_holds_under_torchrun(lab):
    under_nohup = ("sh", "-c", 'trap "" HUP; exec "$0" "$@"')
    launch = Launch(lab, *under_nohup)
    launch.process.send_signal(signal.SIGHUP)
    assert launch.finish() == 0
    launch = Launch(lab)
    launch.process.send_signal(signal.SIGHUP)
    assert launch.process.wait(PATIENCE) == 1, "without it, SIGHUP is the end"


@check
def usr1_is_the_end_of_torchrun_and_not_of_local(lab):
    launch = Launch(lab)
    launch.process.send_signal(signal.SIGUSR1)
    assert launch.process.wait(PATIENCE) == -signal.SIGUSR1 and not launch.has("usr1"), "torchrun alone dies of it, and the ranks are not told"
    launch.finish()
    # As zlaunch sets it under a scheduler, with less patience: the ranks are told, and killed where they go on.
    signals = "SIGTERM,SIGINT,SIGHUP,SIGQUIT,SIGUSR1,SIGUSR2"
    launch = Launch(lab, PET_SIGNALS_TO_HANDLE=signals, TORCH_ELASTIC_SHUTDOWN_TIMEOUT="2")
    launch.process.send_signal(signal.SIGUSR1)
    assert launch.process.wait(PATIENCE) == 1 and launch.has("usr1")
    launch = Launch(lab, options=["--launcher", "local"])
    launch.process.send_signal(signal.SIGUSR1)
    until(lambda: launch.has("usr1"), "the ranks are not told")
    assert launch.finish() == 0, "local passes it on and goes on"


@check
def an_old_lock_stops_nobody(lab):
    """The lock that torch takes to build an operator, on a file that a killed build left; and zlaunch does not warn of it."""
    lock = lab.root / "extensions/cpu_adam/lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    os.utime(lock, (0, 0))
    program = "import sys; from torch.utils.cpp_extension import FileLock\nwith FileLock(sys.argv[1], timeout=10): print('taken')"
    assert lab.ask("-c", program, str(lock)).split() == ["taken"] and lock.exists()
    report = subprocess.run([lab.binary, "doctor", "--format", "json"], env=lab.variables(TORCH_EXTENSIONS_DIR=lab.root / "extensions"), cwd=lab.root, capture_output=True, text=True)
    assert "stale-lock" not in report.stdout, report.stdout


if __name__ == "__main__":
    run_checks(__doc__, "bin", "env", make=lambda options, folder: Lab(options.bin, options.env, folder))
