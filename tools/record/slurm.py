"""What real Slurm says: the environment of every task in many layouts, and how it expands lists of hosts.

It writes tests/data/slurm-env.jsonl and tests/data/hostlists.txt. This machine's Slurm is recorded, and that of each Debian suite named, in a root made for it (mmdebstrap is needed).
"""
import json
import re
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import HERE, ROOT, Arguments, mirror, read_cases

sys.path.append(str(HERE / "slurm"))

from cluster import Cluster, separate  # noqa: E402

DATA = ROOT / "tests/data"
KEPT = re.compile(r"SLURM\w*|CUDA_VISIBLE_DEVICES|ROCR_VISIBLE_DEVICES|ZE_AFFINITY_MASK|GPU_DEVICE_ORDINAL|HOSTNAME|ENVIRONMENT")

LAYOUTS = Path(__file__).with_name("slurm-layouts.txt")


def layouts():
    """[(settings, [(name, command, lines of the script)])]: a cluster for each set of settings."""
    found = {}
    for name, layout in read_cases(LAYOUTS).items():
        full = lambda text: text.replace("TWO", "-w node[01-02] --nodes=2")
        found.setdefault(tuple(layout.all("set")), []).append((name, full(layout.one("run")), [full(line) for line in layout.all("line")]))
    return [(dict(setting.split(" ", 1) for setting in settings), chosen) for settings, chosen in found.items()]


def hostlists():
    """Those of the last recording."""
    return [line.split("\t")[0] for line in (DATA / "hostlists.txt").read_text().splitlines() if not line.startswith("#")]


class Recorder:
    def __init__(self, cluster):
        self.cluster, self.home, self.dumps = cluster, cluster.folder / "home", cluster.folder / "dumps"
        self.dumps.mkdir()
        self.tasks = []
        self.write("dump", f'exec > "{self.dumps}/$1:$$"\nhostname\nexec env -0')
        # Slurm starts no step in a step unless they may overlap.
        self.write("nested", '"$1" "$2"\n[ "$SLURM_PROCID" != 0 ] || exec srun --overlap --nodes=2 --ntasks=2 --ntasks-per-node=1 "$1" inner')
        (self.home / "hostfile").write_text("node02\nnode01\n")

    def write(self, name, text):
        file = self.home / name
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)

    def record(self, name, command, lines):
        steps = iter(range(len(lines)))
        labels, script = {}, []
        for line in lines:
            label = "" if "@" not in line else f"step{next(steps)}" if "srun" in line else "shell" if command.startswith("salloc") else "batch"
            labels[label] = line
            script.append(line.replace("@", f"{self.home}/dump {label}"))
        words = [str(self.home / word) if word == "nested" else word for word in command.replace("@", f"{self.home}/dump step0").split()]
        script = "\n".join(["set -e", *script])
        if words[0] == "sbatch":
            self.batch(words[1:], script)
        elif words[0] == "salloc":
            self.write("lines", script)
            interactive = "LaunchParameters" in self.cluster.settings
            self.ran(words if interactive else [*words, self.home / "lines"], SHELL=self.home / "lines")
        else:
            # A terminal's window has a size, which srun wants to know.
            self.ran(["script", "-qc", " ".join(words), "/dev/null"] if "--pty" in words else words)
        found = [self.task(name, command, labels, file) for file in self.dumps.iterdir()]
        assert found, name
        self.tasks += sorted(found, key=lambda task: (task["step"], task["host"], int(task["env"].get("SLURM_PROCID", 0))))

    def ran(self, words, **variables):
        result = self.cluster.run(words, **variables)
        assert result.returncode == 0, (words, result.stdout)

    def batch(self, options, script):
        # The options of a script's second part would follow its name, so they are lines of the script.
        if ":" in options:
            at = options.index(":")
            script = "\n".join([f"#SBATCH {' '.join(options[:at])}", "#SBATCH hetjob", f"#SBATCH {' '.join(options[at + 1:])}", script])
            options = []
        number = self.cluster.sbatch(options, script)
        while "requeue" in script and self.cluster.wait(number, {"COMPLETED", "PENDING"})[0]["JobState"] == "PENDING":
            self.cluster.hurry(number)
        assert all(job["JobState"] == "COMPLETED" for job in self.cluster.wait(number)), self.cluster.output(number)

    def task(self, name, command, labels, file):
        label = file.name.split(":")[0]
        host, environment = file.read_text().split("\n", 1)
        file.unlink()
        env = dict(item.split("=", 1) for item in environment.split("\0") if "=" in item)
        env = {key: self.plain(value) for key, value in sorted(env.items()) if KEPT.fullmatch(key)}
        # One line of a script runs as several steps in the tasks of an array and after a requeue.
        again = [f"{word}{env[key]}" for key, word in (("SLURM_ARRAY_TASK_ID", "array"), ("SLURM_RESTART_COUNT", "restart")) if key in env]
        step = ".".join([name, label, *again])
        line = labels.get(label, "srun --overlap --nodes=2 --ntasks=2 --ntasks-per-node=1 @" if label == "inner" else None)
        layout = " / ".join(part.replace(" @", "").replace("@", "").rstrip(" &") for part in (command, line) if part)
        where = {"batch": "batch", "shell": "salloc"}.get(label, "step")
        version = self.cluster.version()
        name = f"{step}.{self.plain(host)}.task{env.get('SLURM_PROCID', '')}"
        return {"name": name, "slurm": version, "layout": layout.replace(" nested", ""), "step": f"{version}:{step}", "where": where, "host": self.plain(host), "env": env}

    def plain(self, value):
        """Without the names and paths of the machine that records."""
        value = value.replace(str(self.cluster.folder), "/lab").replace(f"10.77.{self.cluster.slot}.", "10.77.0.")
        return "login" if value in (socket.gethostname(), socket.gethostname().split(".")[0]) else value

    def hosts(self, text):
        result = self.cluster.run(["scontrol", "show", "hostnames", text])
        names = result.stdout.split()
        if result.returncode or not names or "nvalid" in result.stdout:
            return "!"
        return " ".join(names) if len(names) <= 200 else f"={len(names)} {names[0]} {names[-1]}"


def record(names=None):
    """Everything of this machine's Slurm."""
    tasks, expanded, version = [], {}, None
    for settings, chosen in layouts():
        with Cluster(settings) as cluster:
            recorder = Recorder(cluster)
            for layout in chosen:
                if not names or layout[0] in names:
                    recorder.record(*layout)
            tasks += recorder.tasks
            if not settings and not names:
                expanded = {text: recorder.hosts(text) for text in hostlists()}
            version = cluster.version()
    return {"version": version, "tasks": tasks, "hostlists": expanded}


def elsewhere(suite):
    """The same, by the Slurm of another Debian, in a root that is thrown away."""
    with tempfile.TemporaryDirectory(prefix=f"zlaunch-{suite}-") as folder:
        root = Path(folder) / "root"
        subprocess.run(["mmdebstrap", "--quiet", "--variant=apt", "--include=python3-minimal,libpython3-stdlib,slurm-wlm,munge,iproute2,hostname", suite, root, mirror()], check=True)
        return inside(root)


def inside(root):
    # The mounts are those of one process and go with it. The root must be one itself, or the nodes could not have theirs.
    script = 'mount --bind "$1" "$1" && mount -t proc proc "$1/proc" && mount -t sysfs sys "$1/sys" && mount --rbind /dev "$1/dev" && mount --bind "$2" "$1/mnt" && exec chroot "$1" python3 /mnt/tools/record slurm --raw /tmp/raw'
    subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", root, ROOT], check=True)
    return json.loads((Path(root) / "tmp/raw").read_text())


def here():
    with tempfile.NamedTemporaryFile() as raw:
        subprocess.run([sys.executable, ROOT / "tools/record", "slurm", "--raw", raw.name], check=True)
        return json.loads(Path(raw.name).read_text())


def write(results):
    results.sort(key=lambda result: [int(part) for part in result["version"].split(".")])
    with open(DATA / "slurm-env.jsonl", "w") as file:
        for result in results:
            for task in result["tasks"]:
                file.write(json.dumps(task, separators=(",", ":")) + "\n")
    newest = results[-1]
    with open(DATA / "hostlists.txt", "w") as file:
        file.write(f"# INPUT <tab> HOSTS as `scontrol show hostnames` of Slurm {newest['version']} has them: `!` refused, `=COUNT FIRST LAST` for many. Other versions: as comments.\n")
        file.writelines(f"{text}\t{hosts}\n" for text, hosts in newest["hostlists"].items())
        for result in results[:-1]:
            file.writelines(f"# {result['version']}\t{text}\t{hosts}\n" for text, hosts in result["hostlists"].items() if hosts != newest["hostlists"][text])


def main():
    parser = Arguments(__doc__, "names")
    parser.add_argument("--suite", action="append", default=[], help="a Debian suite whose Slurm is recorded too")
    parser.add_argument("--raw", help="write this machine's recording to this file only, of the named layouts if there are names")
    arguments = parser.parse_args()
    if arguments.raw:
        sys.argv[:1] = [str(ROOT / "tools/record"), "slurm"]
        separate()
        Path(arguments.raw).write_text(json.dumps(record(arguments.names)))
        return
    results = [here(), *map(elsewhere, arguments.suite)]
    write(results)
    for result in results:
        print(f"Slurm {result['version']}: {len(result['tasks'])} tasks, {len(result['hostlists'])} lists of hosts", file=sys.stderr)
