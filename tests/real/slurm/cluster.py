#!/usr/bin/env python3
"""A real Slurm cluster on one machine: munged, slurmctld and a slurmd per node, with GPUs that are empty files.

usage: cluster.py up DIR      starts it (or leaves it, if it runs) and prints the variable that srun needs
       cluster.py down DIR    ends every process of it and removes DIR

Root is needed, systemd and cgroups are not. Where the kernel allows it each node has a network and a host name of its
own; elsewhere (a plain container) the nodes share the machine's and differ by port only. Everything is in DIR: two
clusters do not meet. Debian's packages are installed if they are missing.
"""
import contextlib
import fcntl
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import PATIENCE, until  # noqa: E402

# name: CPUs of the node, its GPUs as Slurm counts them, and the (fake) devices they are.
NODES = {
    "node01": ("CPUs=32 Sockets=2 CoresPerSocket=16 ThreadsPerCore=1", "gpu:a100:4", "0-3"),
    "node02": ("CPUs=32 Sockets=2 CoresPerSocket=16 ThreadsPerCore=1", "gpu:a100:4", "0-3"),
    "node03": ("CPUs=32 Sockets=2 CoresPerSocket=16 ThreadsPerCore=1", "gpu:a100:2", "0-1"),
    "node04": ("CPUs=64 Sockets=2 CoresPerSocket=16 ThreadsPerCore=2", "gpu:h100:8", "0-7"),
    "gpu-a1-b3": ("CPUs=16", "gpu:2", "4-5"),
    "gpu-a1-b5": ("CPUs=16", "gpu:2", "6-7"),
}
# How many clusters a machine can have; their ports are below those that any connection may be lent. Whoever finds a port
# taken tries the next cluster's.
SLOTS, CONTROLLER, NODE_PORTS = 200, 16000, 17000
# In the environment of every daemon and of whatever is started through `Cluster.run`: what has it is ours to end.
MARKER = "TEST_CLUSTER"
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


class Taken(AssertionError):
    """Somebody else was faster with a port."""


class Cluster:
    """`with Cluster() as cluster:` starts one in a folder of its own and takes it away again."""

    def __init__(self, folder=None, namespaces=None, settings=None):
        self.own = folder is None
        self.folder = Path(folder or tempfile.mkdtemp(prefix="zlaunch-slurm-")).resolve()
        self.settings = settings or {}
        self.conf = self.folder / "slurm.conf"
        self.state = self.folder / "cluster.json"
        saved = json.loads(self.state.read_text()) if self.state.exists() else {}
        self.namespaces = saved.get("namespaces", namespaces)
        # Names of links are short and networks are few: a number that nobody else has keeps two clusters apart.
        self.slot = saved.get("slot")
        # Jobs that `cancel_all` leaves alone.
        self.spared = set()

    def __enter__(self):
        try:
            self.up()
        except BaseException:
            self.down()
            raise
        return self

    def __exit__(self, *_):
        self.down()

    # Using it.

    def environment(self, **more):
        """What a user's shell on the login machine would have, and little else."""
        return {"PATH": PATH, "HOME": str(self.folder / "home"), "LANG": "C.UTF-8", "HOSTNAME": "login", "SLURM_CONF": str(self.conf),
                MARKER: str(self.folder)} | {key: str(value) for key, value in more.items()}

    def run(self, argv, timeout=PATIENCE, **variables):
        """A command with the cluster's environment; never without a limit, since a step that cannot start waits for ever."""
        process = subprocess.Popen([str(word) for word in argv], env=self.environment(**variables), cwd=self.folder / "home", stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            self.cancel_all()
            raise AssertionError(f"no end after {timeout} s: {argv}\n{output[-3000:]}") from None
        return subprocess.CompletedProcess(argv, process.returncode, output)

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

    # Starting and ending it.

    def up(self):
        assert os.geteuid() == 0, "slurmd must be started by root"
        install()
        if self.state.exists():
            self.start_all()
            return
        assert not self.folder.exists() or not any(self.folder.iterdir()), f"{self.folder} holds something else"
        if self.namespaces is None:
            self.namespaces = can_separate()
        for _ in range(5):
            self.slot = self.free_slot()
            # The bridge is how a slot is taken: only one can make it.
            if self.namespaces and not quiet("ip", "link", "add", self.bridge, "type", "bridge"):
                continue
            self.write()
            try:
                self.start_all()
                return
            except Taken:
                self.end()
                shutil.rmtree(self.folder)
        raise AssertionError("somebody else was faster five times")

    def start_all(self):
        if self.namespaces:
            command("ip", "addr", "replace", f"{self.address(254)}/24", "dev", self.bridge)
            command("ip", "link", "set", self.bridge, "up")
        else:
            self.name_nodes()
        munge = [f"--{name}={self.folder}/munge.{name.split('-')[0]}" for name in ("key-file", "socket", "pid-file", "log-file", "seed-file")]
        self.start("munged", ["munged", "--foreground", "--force", *munge], lambda: (self.folder / "munge.socket").exists())
        # A slurmd that asks before the controller answers waits for seconds before it asks again.
        self.start("slurmctld", ["slurmctld", "-D", "-i"], lambda: " UP" in self.answer(["scontrol", "ping"]))
        for number, name in enumerate(NODES, 1):
            if not self.namespaces:
                self.start(name, ["slurmd", "-D", "-N", name])
            elif pid := self.start(name, ["unshare", "--net", "--uts", "sh", "-c", NODE, "node", name, self.address(number), self.address(254)]):
                self.plug(number, pid)
        until(self.ready, lambda: f"not every node is ready\n{self.answer(['sinfo', '-N', '-l'])}{self.logs('slurmctld')}{self.logs('node01')}")

    def ready(self):
        for name in NODES:
            self.check_ports(name)
        return self.idle() == len(NODES)

    def down(self):
        if self.state.exists():
            if self.alive("slurmctld"):
                self.spared = set()
                self.cancel_all()
            self.end()
            shutil.rmtree(self.folder)
        elif self.own:
            shutil.rmtree(self.folder, ignore_errors=True)

    def end(self):
        """Ends every process, and takes away what is outside the folder."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            for pid in self.processes():
                self.tell(pid, number)
            limit = time.monotonic() + 3
            while self.processes() and time.monotonic() < limit:
                time.sleep(0.02)
        if self.namespaces:
            # The cables go with the nodes' networks, but in their own time.
            for end in [self.bridge, *(self.cable(number) for number in range(1, len(NODES) + 1))]:
                quiet("ip", "link", "del", end)
        else:
            self.name_nodes(forget=True)
        # Left by proctrack/cgroup, if that was asked for; another cluster's are not empty.
        for name in NODES:
            for folder, *_ in os.walk(f"/sys/fs/cgroup/freezer/slurm_{name}", topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(folder)

    def tell(self, pid, number):
        """A signal by a handle, which cannot become somebody else's process as its number can."""
        with contextlib.suppress(OSError):
            handle = os.pidfd_open(pid)
            try:
                if self.is_ours(Path(f"/proc/{pid}")):
                    signal.pidfd_send_signal(handle, number)
            finally:
                os.close(handle)

    @property
    def bridge(self):
        return f"zlbr{self.slot}"

    def free_slot(self):
        """Tried from a random one on, so that two that start at the same moment do not try the same."""
        first = random.randrange(SLOTS)
        for slot in (*range(first, SLOTS), *range(first)):
            if all(is_free(port) for port in (CONTROLLER + slot, *(node_port(slot, number) for number in range(1, len(NODES) + 1)))) and not quiet("ip", "link", "show", f"zlbr{slot}"):
                return slot
        raise AssertionError(f"none of {SLOTS} clusters' ports is free")

    def address(self, number):
        return f"10.77.{self.slot}.{number}" if self.namespaces else f"127.77.{self.slot}.{number}"

    def cable(self, number):
        return f"zl{self.slot}n{number}"

    def write(self):
        for name in ("home", "state", "spool", "log", "pids", "dev"):
            (self.folder / name).mkdir(parents=True)
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
        devices = [f"NodeName={name} Name=gpu {typed(gres)} File={self.folder}/dev/nvidia[{files}]" for name, (_, gres, files) in NODES.items()]
        (self.folder / "gres.conf").write_text("\n".join(["AutoDetect=off", *devices, ""]))
        self.conf.write_text("\n".join([*(f"{key}={value}" for key, value in self.configuration().items()), *self.node_lines(),
                                        "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE DefaultTime=10 State=UP", ""]))
        self.state.write_text(json.dumps({"namespaces": self.namespaces, "slot": self.slot}))

    def configuration(self):
        host = socket.gethostname().split(".")[0]
        return {
            "ClusterName": "lab", "SlurmctldHost": f"{host}({self.address(254) if self.namespaces else '127.0.0.1'})",
            "SlurmctldPort": CONTROLLER + self.slot, "SlurmUser": "root", "SlurmdUser": "root",
            "AuthType": "auth/munge", "CredType": "cred/munge", "AuthInfo": f"socket={self.folder}/munge.socket",
            "StateSaveLocation": self.folder / "state", "SlurmdSpoolDir": self.folder / "spool/%n",
            "SlurmctldPidFile": self.folder / "pids/slurmctld.own", "SlurmdPidFile": self.folder / "pids/%n.own",
            "SlurmctldLogFile": self.folder / "log/slurmctld", "SlurmdLogFile": self.folder / "log/%n",
            "ProctrackType": "proctrack/linuxproc", "TaskPlugin": "task/none", "JobAcctGatherType": "jobacct_gather/none",
            "AccountingStorageType": "accounting_storage/none", "MpiDefault": "none", "SwitchType": "switch/none", "MailProg": "/bin/true",
            "SelectType": "select/cons_tres", "SelectTypeParameters": "CR_Core", "GresTypes": "gpu",
            "SchedulerParameters": "sched_interval=1,bf_interval=1,sched_min_interval=10000,batch_sched_delay=0", "ReturnToService": 2,
            # The nodes claim more CPUs than the machine has.
            "SlurmdParameters": "config_overrides",
            # Seconds from SIGTERM to SIGKILL: enough for a busy machine, and Slurm's own default of 30 would only make the tests slow.
            "KillWait": 15, "MinJobAge": 3600, "SlurmdTimeout": 60, "SlurmctldTimeout": 30,
        } | self.settings

    def node_lines(self):
        host = socket.gethostname().split(".")[0]
        for number, (name, (cpus, gres, _)) in enumerate(NODES.items(), 1):
            real, port = (name, NODE_PORTS) if self.namespaces else (host, node_port(self.slot, number))
            yield f"NodeName={name} NodeHostname={real} NodeAddr={self.address(number)} Port={port} {cpus} RealMemory=64000 Gres={gres} State=UNKNOWN"

    def name_nodes(self, forget=False):
        """Without hosts files of their own the nodes' names must be in the machine's. In a container it cannot be replaced, only rewritten."""
        mark = f"# {self.folder}"
        ours = [] if forget else [f"{line} {mark}" for line in (self.folder / "hosts").read_text().splitlines() if line.startswith("127.77.")]
        with open("/etc/hosts", "r+") as hosts:
            # Another cluster may do the same just now.
            fcntl.flock(hosts, fcntl.LOCK_EX)
            kept = [line for line in hosts.read().splitlines() if not line.endswith(mark)]
            hosts.seek(0)
            hosts.write("\n".join([*kept, *ours, ""]))
            hosts.truncate()

    def plug(self, number, pid):
        """A cable from the bridge to the node, once the process there has its own network."""
        outside = os.stat("/proc/self/ns/net").st_ino
        until(lambda: os.stat(f"/proc/{pid}/ns/net").st_ino != outside, "a node got no network")
        command("ip", "link", "add", self.cable(number), "master", self.bridge, "up", "type", "veth", "peer", "name", "eth0", "netns", str(pid))

    def start(self, name, argv, ready=lambda: True):
        """Starts a daemon that does not run yet; gives its process, or nothing if it ran."""
        if self.alive(name):
            return None
        if self.namespaces:
            argv = ["unshare", "--mount", "sh", "-c", DAEMON, "daemon", self.folder, *argv]
        # Without our streams: a pipe that a daemon holds would keep its reader waiting.
        with open(self.folder / f"log/{name}.start", "w") as log:
            process = subprocess.Popen([str(word) for word in argv], env={"PATH": PATH, "SLURM_CONF": str(self.conf), MARKER: str(self.folder)}, cwd="/",
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        (self.folder / f"pids/{name}").write_text(str(process.pid))
        until(lambda: process.poll() is not None or ready(), lambda: f"{name} did not start\n{self.logs(name)}")
        self.check_ports(name)
        assert process.poll() is None, f"{name} ended at once\n{self.logs(name)}"
        return process.pid

    def check_ports(self, name):
        said = self.logs(name)
        if "already in use" in said:
            raise Taken(said)

    def logs(self, name):
        """What a daemon said last; in the foreground it says everything there, also why it never began."""
        file = self.folder / f"log/{name}.start"
        return file.read_text(errors="replace")[-2000:] if file.exists() else ""

    def idle(self):
        return sum(state in ("idle", "mix", "alloc") for state in self.answer(["sinfo", "-h", "-N", "-o", "%t"]).split())

    def alive(self, name):
        file = self.folder / f"pids/{name}"
        return file.exists() and int(file.read_text()) in self.processes()

    def processes(self, variable=None):
        """What runs with our marker, or with another variable, in its environment."""
        entries = [entry for entry in Path("/proc").glob("[0-9]*") if int(entry.name) != os.getpid()]
        return [int(entry.name) for entry in entries if self.is_ours(entry, variable)]

    def is_ours(self, entry, variable=None):
        with contextlib.suppress(OSError):
            return (variable or f"{MARKER}={self.folder}").encode() in (entry / "environ").read_bytes().split(b"\0") or not variable and self.is_step(entry)
        return False

    def is_step(self, entry):
        """Slurm's own parent of a task writes its title over its environment, but keeps its node's log open."""
        logs = str(self.folder / "log")
        return title(entry.name).startswith("slurmstepd: [") and any(os.readlink(file).startswith(logs) for file in (entry / "fd").iterdir())


def title(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    return ""


def can_separate():
    """Whether the kernel lets a node have a network of its own. The bridge has a name that only this process uses."""
    bridge = f"zlt{os.getpid()}"
    there = quiet("unshare", "--net", "--uts", "--mount", "mount", "--bind", "/etc/hosts", "/etc/hosts")
    return there and quiet("ip", "link", "add", bridge, "type", "bridge") and quiet("ip", "link", "del", bridge)


def node_port(slot, number):
    return NODE_PORTS + 10 * slot + number


def is_free(port):
    """As Slurm's daemons ask for it: what lingers of an ended connection does not count."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


def typed(gres):
    return f"Type={gres.split(':')[1]}" if gres.count(":") == 2 else ""


def quiet(*argv):
    return subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


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
        assert result.returncode == 0, result.stdout[-2000:]


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("up", "down"):
        sys.exit(__doc__)
    cluster = Cluster(sys.argv[2])
    if sys.argv[1] == "up":
        cluster.up()
        print(f"export SLURM_CONF={cluster.conf}")
    else:
        cluster.down()


if __name__ == "__main__":
    main()
