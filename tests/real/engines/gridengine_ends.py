"""How jobs of Grid Engine end: what their processes are told, and what becomes of the ranks that zlaunch started on two machines."""
import os
import signal
import subprocess
import tempfile
from pathlib import Path

from harness import until

CHECKS = []


def end(function):
    """One more check, for `gridengine.py`."""
    CHECKS.append(function)
    return function


# What gets which signal when, as (who, signal): the process that Grid Engine started, a child of it, and a child in a session of its own.
WITNESS = """
import os, signal, time
who = "job"
def note(number, _):
    with open(f"{os.environ['MET']}/{who}", "a") as file:
        file.write(f"{signal.Signals(number).name} ")
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU, signal.SIGCONT):
    signal.signal(number, note)
if os.fork() == 0:
    who = "child"
    if os.fork() == 0:
        os.setsid()
        who = "session"
with open(f"{os.environ['MET']}/{who}.pid", "w") as file:
    file.write(str(os.getpid()))
while True:
    time.sleep(0.1)
"""


def signals(jobs, options, action, expected):
    """What every process of a job is told before it is killed."""
    witness = jobs.lab.folder / "home/witness.py"
    witness.write_text(WITNESS)
    met = Path(tempfile.mkdtemp(prefix="met-", dir=jobs.lab.folder))
    met.chmod(0o777)
    env = jobs.lab.environment(MET=met, **jobs.variables())
    submit = [*jobs.as_user, "qsub", "-terse", "-V", "-cwd", "-j", "y", "-o", "/dev/null", "-b", "y", *options.split(), str(jobs.lab.python), str(witness)]
    done = subprocess.run(submit, env=env, cwd=jobs.lab.folder / "home", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    number = done.stdout.strip()
    until(lambda: len(pids(met)) == 3, lambda: "the job does not start", 60)
    for command in action:
        jobs.engine.command(*command.split(), number)
    told = lambda: {who: (met / who).read_text().split() if (met / who).exists() else [] for who in ("job", "child", "session")}
    # Some are told twice: as members of the process group, and of the job.
    until(lambda: all(set(expected) <= set(names) for names in told().values()), lambda: f"told: {told()}")
    if not action and expected:
        jobs.engine.command("qdel", number)
    until(lambda: not any(runs(pid) for pid in pids(met)), lambda: f"left: {[pid for pid in pids(met) if runs(pid)]}")
    assert all(set(names) == set(expected) for names in told().values()), told()
    return " ".join([*expected, "KILL"])


def pids(met):
    return [int(text) for text in (file.read_text() for file in met.glob("*.pid")) if text]


def runs(pid):
    """Nobody waits here for what lost its parent."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@end
def signals_of_qdel(jobs):
    return signals(jobs, "", ["qdel"], [])


@end
def signals_of_qdel_with_notify(jobs):
    return signals(jobs, "-notify", ["qdel"], ["SIGUSR2"])


@end
def signals_of_a_hard_limit(jobs):
    return signals(jobs, "-l h_rt=5", [], [])


@end
def signals_of_a_soft_limit(jobs):
    return signals(jobs, "-l s_rt=5,h_rt=600", [], ["SIGUSR1"])


# A rank that waits once all of them are there, but the one that is to fail.
WAITS = """
import os, sys, time
from pathlib import Path
met, rank = Path(os.environ["MET"]), os.environ["RANK"]
(met / f"{rank}.new").write_text(str(os.getpid()))
(met / f"{rank}.new").rename(met / f"{rank}.pid")
while len(list(met.glob("?.pid"))) < 4:
    time.sleep(0.1)
if rank == os.environ.get("FAILS"):
    sys.exit(7)
time.sleep(600)
"""
# The shell of the job: its status is that of zlaunch. `qsub` does not tell one above 128.
SHELL = """
echo "$JOB_ID" >"$MET/number"
"$@" &
echo $! >"$MET/zlaunch"
wait $!
status=$?
echo $status >"$MET/status"
exit $status
"""


class Spread:
    """A job whose ranks run on both machines."""

    def __init__(self, jobs, **variables):
        home = jobs.lab.folder / "home"
        self.cache = home / ".cache/zlaunch/configs"
        for script in self.scripts():
            script.unlink()
        for name, text in (("waits.py", WAITS), ("job.sh", SHELL)):
            (home / name).write_text(text)
        self.jobs, self.met = jobs, Path(tempfile.mkdtemp(prefix="met-", dir=jobs.lab.folder))
        self.met.chmod(0o777)
        self.output = self.met / "output"
        env = jobs.lab.environment(MET=self.met, HF_TOKEN="hf_secret", **jobs.variables(**variables))
        submit = ["qsub", "-sync", "y", "-V", "-cwd", "-j", "y", "-o", self.output, "-S", "/bin/bash", "-pe", "spread", "2", home / "job.sh",
                  jobs.lab.binary, "--", jobs.lab.python, home / "waits.py"]
        self.process = subprocess.Popen([*jobs.as_user, *map(str, submit)], env=env, cwd=home, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: len(pids(self.met)) == 4, lambda: f"not all ranks came: {pids(self.met)}\n{self.printed()}")
        self.number = (self.met / "number").read_text().strip()

    def scripts(self):
        return list(self.cache.glob("each-machine-*"))

    def printed(self):
        return self.output.read_text(errors="replace")[-2000:] if self.output.exists() else ""

    def zlaunch(self):
        return int((self.met / "zlaunch").read_text())

    def ended(self):
        """The status of the job, once no rank is left; if its shell came to that."""
        self.process.wait(180)
        until(lambda: not any(runs(pid) for pid in pids(self.met)), lambda: f"left: {[pid for pid in pids(self.met) if runs(pid)]}\n{self.printed()}")
        status = self.met / "status"
        return int(status.read_text()) if status.exists() else None


@end
def rank_fails_on_the_second_machine(jobs):
    job = Spread(jobs, FAILS="3")
    status = job.ended()
    assert status == 1 and "what was started on machine 1 exited with status 1" in job.printed(), f"status {status}\n{job.printed()}"
    assert not job.scripts(), job.scripts()
    return f"status {status}, all ended"


@end
def rank_fails_on_the_first_machine(jobs):
    job = Spread(jobs, FAILS="0")
    status = job.ended()
    assert status == 1 and "what was started on machine 0 exited with status 1" in job.printed(), f"status {status}\n{job.printed()}"
    assert not job.scripts(), job.scripts()
    return f"status {status}, all ended"


def signal_to_zlaunch(jobs, number, expected):
    job = Spread(jobs)
    scripts = job.scripts()
    assert len(scripts) == 2 and not any(script.read_text() for script in scripts), scripts
    os.kill(job.zlaunch(), number)
    status = job.ended()
    assert status == expected, f"status {status}\n{job.printed()}"
    until(lambda: not job.scripts(), lambda: f"left: {job.scripts()}")
    return f"status {status}, all ended"


@end
def term_to_zlaunch(jobs):
    return signal_to_zlaunch(jobs, signal.SIGTERM, 128 + signal.SIGTERM)


@end
def kill_of_zlaunch(jobs):
    return signal_to_zlaunch(jobs, signal.SIGKILL, 128 + signal.SIGKILL)


@end
def qdel_of_both_machines(jobs):
    """Everything is killed, so the scripts stay; nothing is in them."""
    job = Spread(jobs)
    jobs.engine.command("qdel", job.number)
    assert job.ended() is None, job.printed()
    assert not any(script.read_text() for script in job.scripts()), job.scripts()
    return "all ended"
