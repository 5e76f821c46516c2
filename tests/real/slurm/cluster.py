"""A real Slurm cluster on one machine: munged, slurmctld and a slurmd per node, with GPUs that are empty files.

Root is needed, systemd and cgroups are not. The script that wants one runs in namespaces of its own (`separate`), where each node has a network and
a host name: clusters of two scripts do not meet, and all of it goes with the script. Debian's packages are installed if they are missing.
"""
import contextlib
import itertools
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import INSIDE, PATIENCE, Skip, ended, enter, until  # noqa: E402

# name: CPUs of the node, its GPUs as Slurm counts them, and the (fake) devices they are.
NODES = {
    "node01": ("CPUs=32 Sockets=2 CoresPerSocket=16 ThreadsPerCore=1", "gpu:a100:4", "0-3"),
    "node02": ("CPUs=32 Sockets=2 CoresPerSocket=16 ThreadsPerCore=1", "gpu:a100:4", "0-3"),
    "node03": ("CPUs=32 Sockets=2 CoresPerSocket=16 ThreadsPerCore=1", "gpu:a100:2", "0-1"),
    "node04": ("CPUs=64 Sockets=2 CoresPerSocket=16 ThreadsPerCore=2", "gpu:h100:8", "0-7"),
    "gpu-a1-b3": ("CPUs=16", "gpu:2", "4-5"),
    "gpu-a1-b5": ("CPUs=16", "gpu:2", "6-7"),
}
# Clusters of one script that are there at the same time have other networks and ports.
NUMBERS = itertools.count()
CONTROLLER, NODE_PORT = 16000, 17000
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENDED = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "BOOT_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "DEADLINE"}

# Every daemon has its own view of /etc/hosts, and no name server: a question that is refused costs nothing, one that nobody
# answers costs seconds.
DAEMON = """
set -e
mount --bind "$1/hosts" /etc/hosts
mount --bind "$1/resolv.conf" "$(readlink -f /etc/resolv.conf)" || :
shift
exec "$@"
"""
# A node's life: a name, the other end of its cable, then slurmd.
NODE = """
set -e
hostname "$1"
ip link set lo up
for try in $(seq 500); do ip link set eth0 up 2>/dev/null && break; sleep 0.01; done
ip addr add "$2/24" dev eth0
ip route add default via "$3"
# As docker leaves it on every machine: an address that is the same everywhere and leads nowhere.
ip link add docker0 type bridge && ip addr add 172.17.0.1/16 dev docker0 && ip link set docker0 up || :
exec slurmd -D -N "$1"
"""


def separate():
    """Where clusters can be started."""
    if not os.environ.get(INSIDE):
        install()
    enter("--net", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
    command("ip", "link", "set", "lo", "up")


class Cluster:
    """`with Cluster() as cluster:` starts one in a folder of its own and takes it away again."""

    def __init__(self, settings=None):
        self.folder, self.slot, self.settings = Path(tempfile.mkdtemp(prefix="zlaunch-slurm-")).resolve(), next(NUMBERS), settings or {}
        self.conf, self.bridge, self.daemons = self.folder / "slurm.conf", f"bridge{self.slot}", {}
        # Jobs that `cancel_all` leaves alone.
        self.spared = set()

    def __enter__(self):
        try:
            self.up()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.spared = set()
        self.cancel_all()
        for daemon in reversed(self.daemons.values()):
            daemon.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                daemon.wait(10)
        shutil.rmtree(self.folder, ignore_errors=True)

    # Using it.

    def environment(self, **more):
        """What a user's shell on the login machine would have, and little else."""
        return {"PATH": PATH, "HOME": str(self.folder / "home"), "LANG": "C.UTF-8", "HOSTNAME": "login", "SLURM_CONF": str(self.conf)} | {key: str(value) for key, value in more.items()}

    def run(self, argv, timeout=PATIENCE, **variables):
        """A command with the cluster's environment; never without a limit, since a step that cannot start waits for ever."""
        status, output = ended(argv, self.environment(**variables), self.folder / "home", timeout)
        if status == "timeout":
            self.cancel_all()
            raise AssertionError(f"no end after {timeout} s: {argv}\n{output[-3000:]}")
        return subprocess.CompletedProcess(argv, status, output)

    def sbatch(self, options, script, **variables):
        """Submits a script and returns the job's number. Its output is in `home/slurm-NUMBER.out`."""
        file = self.folder / "home/job.sh"
        file.write_text(f"#!/bin/bash\n{script}\n")
        result = self.run(["sbatch", "--parsable", *options, file], **variables)
        assert result.returncode == 0, result.stdout
        return result.stdout.split()[-1].split(";")[0]

    def jobs(self, number):
        """The job, or each task of an array or part of a heterogeneous job, as `scontrol` shows it."""
        lines = self.run(["scontrol", "-o", "show", "job", number]).stdout.splitlines()
        return [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in lines if "JobState=" in line]

    def wait(self, number, states=ENDED, timeout=PATIENCE):
        """The job's parts, once all of them are in one of the states."""
        def there():
            jobs = self.jobs(number)
            return jobs if jobs and all(job["JobState"] in states for job in jobs) else None
        try:
            return until(there, lambda: f"job {number} is not {sorted(states)}: {self.jobs(number)}\n{self.output(number)}", timeout)
        except AssertionError:
            self.cancel_all()
            raise

    def output(self, number):
        file = self.folder / f"home/slurm-{number}.out"
        return file.read_text(errors="replace") if file.exists() else ""

    def hurry(self, number):
        """A job that was put back into the queue is held there for two minutes; not here."""
        # A start in the second in which the job ended is taken for one before its end. The clock is this machine's.
        time.sleep(1.1)

        def started():
            self.answer(["scontrol", "update", f"JobId={number}", "StartTime=now"])
            return all(job["JobState"] != "PENDING" for job in self.jobs(number))
        until(started, f"job {number} does not start again")

    def cancel_all(self):
        """Ends every job that is not spared, and returns when the nodes are free again."""
        limit = time.monotonic() + 60
        while (others := set(self.answer(["squeue", "-h", "-o", "%A"]).split()) - self.spared) and time.monotonic() < limit:
            self.answer(["scancel", *others])
            time.sleep(0.1)

    def answer(self, argv):
        """The output of a quick question, or nothing."""
        with contextlib.suppress(subprocess.TimeoutExpired, FileNotFoundError):
            return subprocess.run(argv, env=self.environment(), timeout=60, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        return ""

    def version(self):
        return self.answer(["sinfo", "--version"]).split()[-1]

    # Starting it.

    def up(self):
        command("ip", "link", "add", self.bridge, "type", "bridge")
        command("ip", "addr", "add", f"{self.address(254)}/24", "dev", self.bridge)
        command("ip", "link", "set", self.bridge, "up")
        self.write()
        munge = [f"--{name}={self.folder}/munge.{name.split('-')[0]}" for name in ("key-file", "socket", "pid-file", "log-file", "seed-file")]
        self.start("munged", ["munged", "--foreground", "--force", *munge], lambda: (self.folder / "munge.socket").exists())
        # A slurmd that asks before the controller answers waits for seconds before it asks again.
        self.start("slurmctld", ["slurmctld", "-D", "-i"], lambda: " UP" in self.answer(["scontrol", "ping"]))
        for number, name in enumerate(NODES, 1):
            node = self.start(name, ["unshare", "--net", "--uts", "sh", "-c", NODE, "node", name, self.address(number), self.address(254)])
            self.plug(number, node.pid)
        idle = lambda: sum(state in ("idle", "mix", "alloc") for state in self.answer(["sinfo", "-h", "-N", "-o", "%t"]).split())
        until(lambda: idle() == len(NODES), lambda: f"not every node is ready\n{self.answer(['sinfo', '-N', '-l'])}{self.logs('slurmctld')}{self.logs('node01')}")

    def address(self, number):
        return f"10.77.{self.slot}.{number}"

    def write(self):
        for name in ("home", "state", "spool", "log", "pids", "dev"):
            (self.folder / name).mkdir()
        self.folder.chmod(0o755)
        for number in range(8):
            # Slurm counts a GPU that has a file, and shows it to a task if the file is a device; it never opens it.
            (self.folder / f"dev/nvidia{number}").symlink_to("/dev/null")
        (self.folder / "munge.key").write_bytes(os.urandom(1024))
        (self.folder / "munge.key").chmod(0o400)
        names = [f"{self.address(number)} {name} {name}.lab.example" for number, name in enumerate(NODES, 1)]
        (self.folder / "hosts").write_text("\n".join(["127.0.0.1 localhost", f"{self.address(254)} login {socket.gethostname()}", *names, ""]))
        (self.folder / "resolv.conf").write_text("nameserver 127.0.0.1\n")
        # Without a named plugin slurmd looks for a cgroup file system, which need not be there.
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        typed = lambda gres: f"Type={gres.split(':')[1]}" if gres.count(":") == 2 else ""
        devices = [f"NodeName={name} Name=gpu {typed(gres)} File={self.folder}/dev/nvidia[{files}]" for name, (_, gres, files) in NODES.items()]
        (self.folder / "gres.conf").write_text("\n".join(["AutoDetect=off", *devices, ""]))
        nodes = [f"NodeName={name} NodeHostname={name} NodeAddr={self.address(number)} Port={NODE_PORT} {cpus} RealMemory=64000 Gres={gres} State=UNKNOWN"
                 for number, (name, (cpus, gres, _)) in enumerate(NODES.items(), 1)]
        host, port = socket.gethostname().split(".")[0], CONTROLLER + self.slot
        whole = Path(__file__).with_name("slurm.conf").read_text().format(host=host, address=self.address(254), port=port, folder=self.folder)
        # Slurm takes no setting twice.
        kept = [line for line in whole.splitlines() if line.split("=")[0] not in self.settings]
        settings = [f"{key}={value}" for key, value in self.settings.items()]
        self.conf.write_text("\n".join([*settings, *kept[:-1], *nodes, kept[-1], ""]))

    def plug(self, number, pid):
        """A cable from the bridge to the node, once the process there has its own network."""
        outside = os.stat("/proc/self/ns/net").st_ino
        until(lambda: os.stat(f"/proc/{pid}/ns/net").st_ino != outside, "a node got no network")
        command("ip", "link", "add", f"cable{self.slot}n{number}", "master", self.bridge, "up", "type", "veth", "peer", "name", "eth0", "netns", str(pid))

    def start(self, name, argv, ready=lambda: True):
        words = ["unshare", "--mount", "sh", "-c", DAEMON, "daemon", self.folder, *argv]
        # Without our streams: a pipe that a daemon holds would keep its reader waiting.
        with open(self.folder / f"log/{name}.start", "w") as log:
            daemon = self.daemons[name] = subprocess.Popen([str(word) for word in words], env={"PATH": PATH, "SLURM_CONF": str(self.conf)}, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                           start_new_session=True)
        until(lambda: daemon.poll() is not None or ready(), lambda: f"{name} did not start\n{self.logs(name)}")
        assert daemon.poll() is None, f"{name} ended at once\n{self.logs(name)}"
        return daemon

    def logs(self, name):
        """What a daemon said last; in the foreground it says everything there, also why it never began."""
        file = self.folder / f"log/{name}.start"
        return file.read_text(errors="replace")[-2000:] if file.exists() else ""


def processes(variable):
    """What runs here with this variable in its environment, by its command."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if variable.encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append((entry / "cmdline").read_text(errors="replace").replace("\0", " "))
    return found


def command(*argv):
    result = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert result.returncode == 0, f"{' '.join(argv)}: {result.stdout}"


def install():
    programs = ("slurmctld", "slurmd", "munged", "srun", "ip", "unshare")
    if all(shutil.which(name, path=PATH) for name in programs):
        return
    # Packages start no daemon of their own where systemd does not run; ours need nothing of theirs anyway.
    apt = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for argv in (["update"], ["install", "--yes", "--no-install-recommends", "slurm-wlm", "munge", "iproute2", "util-linux"]):
        result = subprocess.run(["apt-get", "-qq", *argv], env=apt, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if result.returncode:
            raise Skip(f"Slurm cannot be installed: {result.stdout[-300:]}")
