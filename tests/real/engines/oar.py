#!/usr/bin/env python3
"""zlaunch under a real OAR of two machines: the shell of a job, `oarsh`, failures, signals.

Debian's packages are installed over a copy of this system that is gone when the script ends: an overlay in namespaces of its own (root is needed),
where each machine has a name and a network. Each layout must be placed or refused, as `meeting.py` says.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import CACHE, CHECKS, Arguments, Checks, Skip, check, until  # noqa: E402
from gridengine_ends import WAITS, WITNESS, pids, runs  # noqa: E402
from meeting import Lab, found_in  # noqa: E402

PACKAGES = "oar-server oar-server-pgsql oar-node oar-user oar-user-pgsql postgresql"
NAMESPACES = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--uts"]
INSIDE = "TEST_INSIDE"
NODES = {"node1": "10.98.0.1", "node2": "10.98.0.2"}
# A copy of this system in memory. The packages need the network; what follows has one of its own.
COPY = f"""
set -e
folder=$1 cache=$2; shift 2
mount -t tmpfs -o size=3g tmpfs "$folder"
mkdir "$folder/upper" "$folder/work" "$folder/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" "$folder/root"
for name in dev proc; do mount --rbind /$name "$folder/root/$name"; done
mount -t tmpfs tmpfs "$folder/root/run"
mount --bind "$cache" "$folder/root$cache"
chroot "$folder/root" sh -c '
printf "#!/bin/sh\\nexit 101\\n" >/usr/sbin/policy-rc.d; chmod +x /usr/sbin/policy-rc.d
apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends {PACKAGES}' >"$cache/oar-install.log" 2>&1 || exit 77
rm "$cache/oar-install.log"
exec chroot "$folder/root" unshare --net "$@"
"""
NODE = """
hostname "$1"
ip link set lo up
for try in $(seq 500); do ip link set eth0 up 2>/dev/null && break; sleep 0.01; done
ip addr add "$2/24" dev eth0
exec /usr/sbin/sshd -D -f /etc/oar/sshd_config -E "$3"
"""
# There are no cpusets here, by which `oarsh` knows the user, and OAR after `oardel` what it must kill on the other machines.
SETTINGS = {"DB_BASE_PASSWD": "one", "DB_BASE_PASSWD_RO": "two", "SERVER_HOSTNAME": "server", "OARSH_BYPASS_WHOLE_SECURITY": "1"}
WITHOUT = ("JOB_RESOURCE_MANAGER", "CPUSET_PATH")
SERVER = {"OARDIR": "/usr/lib/oar", "OARUSER": "oar", "OARCONFFILE": "/etc/oar/oar.conf", "OARXAUTHLOCATION": "/usr/bin/xauth"}


class Oar:
    def __init__(self, folder):
        self.folder = folder

    def start(self):
        for closed in (Path.home(), self.folder):
            closed.chmod(0o755)
        command("useradd", "-M", "-s", "/bin/bash", "-d", self.folder / "home", "user")
        self.network()
        self.database()
        sshd = Path("/etc/oar/sshd_config")
        gone = ("UsePrivilegeSeparation", "KeepAlive", "Protocol")
        sshd.write_text("".join(line for line in sshd.read_text().splitlines(True) if not line.startswith(gone)))
        Path("/var/lib/oar/.ssh/config").write_text("Host *\n ForwardX11 no\n StrictHostKeyChecking no\n")
        Path("/run/sshd").mkdir()
        for number, (name, address) in enumerate(NODES.items(), 1):
            process = subprocess.Popen(["unshare", "--net", "--uts", "sh", "-c", NODE, "node", name, address, str(self.folder / f"{name}.log")])
            outside = os.stat("/proc/self/ns/net").st_ino
            until(lambda: os.stat(f"/proc/{process.pid}/ns/net").st_ino != outside, "a node got no network")
            command("ip", "link", "add", f"cable{number}", "master", "bridge0", "up", "type", "veth", "peer", "name", "eth0", "netns", process.pid)
            for _ in range(2):
                command("oarnodesetting", "-a", "-h", name)
        with open(self.folder / "server.log", "w") as log:
            env = os.environ | SERVER | {"PATH": f"/usr/lib/oar/oardodo:{os.environ['PATH']}"}
            subprocess.Popen(["setpriv", "--reuid", "oar", "--regid", "oar", "--init-groups", "perl", "/usr/lib/oar/Almighty"], env=env, stdin=subprocess.DEVNULL, stdout=log,
                             stderr=log)
        until(lambda: command("oarnodes", "-s").count("Alive") == 4, lambda: command("oarnodes", "-s"))

    def network(self):
        names = ["127.0.0.1 localhost", "10.98.0.254 server", *(f"{address} {name}" for name, address in NODES.items())]
        Path("/etc/hosts").write_text("\n".join([*names, ""]))
        for line in ("hostname server", "ip link set lo up", "ip link add bridge0 type bridge", "ip addr add 10.98.0.254/24 dev bridge0", "ip link set bridge0 up"):
            command(*line.split())

    def database(self):
        version = next(Path("/usr/lib/postgresql").iterdir()).name
        if not Path(f"/etc/postgresql/{version}/main").exists():
            command("pg_createcluster", version, "main")
        command("install", "-d", "-o", "postgres", "/run/postgresql")
        command("pg_ctlcluster", version, "main", "start")
        file = Path("/etc/oar/oar.conf")
        lines = [line for line in file.read_text().splitlines() if not line.lstrip("#").startswith((*SETTINGS, *WITHOUT))]
        file.write_text("\n".join([*lines, *(f'{name}="{value}"' for name, value in SETTINGS.items()), ""]))
        until(lambda: subprocess.run(["pg_isready", "-q"]).returncode == 0, "PostgreSQL does not start")
        command("oar-database", "--create", "--db-is-local")


def command(*words):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, f"{words}: {done.stdout}"
    return done.stdout


class Job:
    """A job of this script, with what the user's shell would set."""

    def __init__(self, lab, resources, script, **variables):
        self.met = Path(tempfile.mkdtemp(prefix="met-", dir=lab.folder))
        self.met.chmod(0o777)
        self.cache = lab.folder / "home/.cache/zlaunch/configs"
        variables = lab.environment(MET=self.met, CUDA_VISIBLE_DEVICES="0,1", GLOO_SOCKET_IFNAME="eth0", OAR_JOB_USER="user", **variables)
        file = self.met / "job.sh"
        exports = "".join(f"export {name}='{value}'\n" for name, value in variables.items())
        file.write_text(f'#!/bin/bash\n{exports}{script}\necho $? >"$MET/status"\n')
        file.chmod(0o755)
        shown = as_user("oarsub", "-l", resources, "-O", self.met / "output", "-E", self.met / "errors", file)
        self.number = next(line.split("=")[1] for line in shown.splitlines() if line.startswith("OAR_JOB_ID="))

    def printed(self):
        return "".join(file.read_text(errors="replace")[-2000:] for file in (self.met / "output", self.met / "errors") if file.exists())

    def state(self):
        return next((line.split("=")[1].strip() for line in as_user("oarstat", "-fj", self.number).splitlines() if line.strip().startswith("state =")), "")

    def status(self):
        """What the script's last command ended with, if it came to that; once the job has ended and no rank is left."""
        until(lambda: self.state() in ("Terminated", "Error"), lambda: f"{self.state()}: {self.printed()}")
        until(lambda: not any(runs(pid) for pid in pids(self.met)), lambda: f"left: {[pid for pid in pids(self.met) if runs(pid)]}\n{self.printed()}")
        file = self.met / "status"
        return int(file.read_text()) if file.exists() else None

    def scripts(self):
        return list(self.cache.glob("each-machine-*"))


def as_user(*words):
    return command("setpriv", "--reuid", "user", "--regid", "user", "--init-groups", "env", "HOME=/", *words)


def layout(lab, resources, ranks):
    job = Job(lab, resources, " ".join(f"'{word}'" for word in lab.launch))
    status = job.status()
    note = lab.judge(found_in(job.met), ranks, status, job.printed())
    assert note.endswith("ranks met"), note
    assert not job.scripts(), job.scripts()
    return note


@check
def one_machine(lab):
    return layout(lab, "nodes=1,walltime=0:10:0", 2)


@check
def two_machines(lab):
    return layout(lab, "nodes=2,walltime=0:10:0", 4)


def spread(lab, **variables):
    """A job whose ranks wait on both machines."""
    script = lab.folder / "home/waits.py"
    script.write_text(WAITS)
    job = Job(lab, "nodes=2,walltime=0:10:0", f'"{lab.binary}" -- "{lab.python}" "{script}" & echo $! >"$MET/zlaunch"; wait $!', HF_TOKEN="hf_secret", **variables)
    until(lambda: len(pids(job.met)) == 4, lambda: f"not all ranks came: {pids(job.met)}\n{job.printed()}")
    return job


@check
def rank_fails_on_the_second_machine(lab):
    job = spread(lab, FAILS="3")
    status = job.status()
    assert status == 1 and "what was started on machine 1 exited with status 1" in job.printed(), f"status {status}\n{job.printed()}"
    assert not job.scripts(), job.scripts()
    return f"status {status}, all ended"


@check
def term_to_zlaunch(lab):
    job = spread(lab)
    os.kill(int((job.met / "zlaunch").read_text()), signal.SIGTERM)
    status = job.status()
    assert status == 143, f"status {status}\n{job.printed()}"
    assert not job.scripts(), job.scripts()
    return f"status {status}, all ended"


def told(lab, options, expected):
    """What every process of a job is told before it is killed."""
    witness = lab.folder / "home/witness.py"
    witness.write_text(WITNESS)
    job = Job(lab, "nodes=1,walltime=0:10:0", f'exec "{lab.python}" "{witness}"')
    until(lambda: len(pids(job.met)) == 3, lambda: "the job does not start", 60)
    as_user("oardel", *options, job.number)
    said = lambda: {who: (job.met / who).read_text().split() if (job.met / who).exists() else [] for who in ("job", "child", "session")}
    if options:
        until(lambda: any(said().values()), "nobody is told")
        as_user("oardel", job.number)
    job.status()
    assert said() == expected, said()
    return said()


@check
def signals_of_oardel(lab):
    return told(lab, [], {"job": [], "child": [], "session": []})


@check
def signals_of_a_checkpoint(lab):
    return told(lab, ["-c"], {"job": ["SIGUSR2"], "child": [], "session": []})


def inside(options):
    folder = Path(tempfile.mkdtemp(prefix="oar-", dir=CACHE))
    checks = Checks(options.names)
    try:
        Oar(folder).start()
        shutil.copy(options.bin, folder / "zlaunch")
        lab = Lab(folder, folder / "zlaunch", options.env)
        for shared in ("home", "tmp"):
            (folder / shared).chmod(0o777)
        for function in CHECKS:
            checks.run(function.__name__, function, lab)
        print(f"{lab.counts['placed']} layouts placed with {lab.counts['ranks']} ranks, {lab.counts['refused']} refused")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    checks.finish()


def main():
    options = Arguments(__doc__, "bin", "env", "names").parse_args()
    if INSIDE in os.environ:
        return inside(options)
    CACHE.mkdir(parents=True, exist_ok=True)
    checks = Checks(options.names)
    mounted = Path(tempfile.mkdtemp(prefix="oar-root-"))
    try:
        if not shutil.which("apt-get") or subprocess.run([*NAMESPACES, "true"], stderr=subprocess.DEVNULL).returncode:
            raise Skip("this system has no apt-get, or its kernel or user gives no namespaces")
        words = [sys.executable, __file__, "--bin", options.bin, "--env", options.env, *options.names]
        done = subprocess.run([*NAMESPACES, "sh", "-c", COPY, "sh", mounted, CACHE, *words], env=os.environ | {INSIDE: "1"})
        if done.returncode == 77:
            raise Skip(f"the packages of OAR cannot be installed: {CACHE}/oar-install.log")
    except Skip as why:
        checks.skip_all("oar", why)
        return checks.finish()
    finally:
        mounted.rmdir()
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
