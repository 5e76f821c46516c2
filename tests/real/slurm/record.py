#!/usr/bin/env python3
"""Records what real Slurm says: the environment of every task in many layouts, and how it expands lists of hosts.

It writes tests/data/slurm-env.jsonl and tests/data/hostlists.txt. This machine's Slurm is recorded, and that of each Debian suite named, in a root made for it (mmdebstrap is needed).
"""
import json
import re
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from cluster import Cluster
from harness import HERE, Arguments

DATA = HERE.parent / "data"
KEPT = re.compile(r"SLURM\w*|CUDA_VISIBLE_DEVICES|ROCR_VISIBLE_DEVICES|ZE_AFFINITY_MASK|GPU_DEVICE_ORDINAL|HOSTNAME|ENVIRONMENT")

TWO = "-w node[01-02] --nodes=2"
# A name, a command and, for scripts, their lines. `@` stands for the program that writes down its environment.
LAYOUTS = [
    ("01-sbatch", f"sbatch {TWO} --ntasks-per-node=1 --gpus-per-node=4",
     ["@", "srun @", "srun --overcommit --ntasks=8 --ntasks-per-node=4 @", "srun -N1 -n1 -w node02 @", "srun --export=NONE @"]),
    ("02-srun", f"srun {TWO} --ntasks-per-node=1 --gpus-per-node=4 @", []),
    ("03-srun-per-gpu", f"srun {TWO} --ntasks-per-node=4 --gpus-per-node=4 @", []),
    ("04-salloc", f"salloc {TWO} --ntasks-per-node=1 --gpus-per-node=4", ["@", "srun @"]),
    ("04-salloc-one-node", "salloc -w node01 -N1 --gpus-per-node=4", ["@", "srun @"]),
    ("05-array", "sbatch --array=1-3%2 -N1 --gpus=1 -w node01", ["@", "srun @"]),
    ("06-het-sbatch", "sbatch -w node01 -N1 --ntasks-per-node=1 --gpus-per-node=4 : -w node[03-04] -N2 --ntasks-per-node=1 --gpus-per-node=2",
     ["@", "srun @", "srun --het-group=0,1 @", "srun --het-group=1 @"]),
    ("06-het-srun", "srun -w node01 -N1 --ntasks-per-node=1 --gpus-per-node=4 @ : -w node03 -N1 --ntasks-per-node=1 --gpus-per-node=2 @", []),
    ("07-gpus", f"srun {TWO} --gpus=8 --ntasks-per-node=1 @", []),
    ("07-gpus-sbatch", f"sbatch {TWO} --ntasks-per-node=1 --gpus=8", ["@", "srun @"]),
    ("07-gpus-typed", f"sbatch {TWO} --ntasks-per-node=1 --gpus=a100:8", ["@", "srun @"]),
    ("08-gpu-a-task", f"srun {TWO} --ntasks-per-node=4 --gpus-per-task=1 @", []),
    ("08-gpu-a-task-sbatch", f"sbatch {TWO} --ntasks-per-node=4 --gpus-per-task=1", ["@", "srun @"]),
    ("08-four-gpus-a-task", f"srun {TWO} --ntasks-per-node=1 --gpus-per-task=4 @", []),
    ("08-four-gpus-a-task-sbatch", f"sbatch {TWO} --ntasks-per-node=1 --gpus-per-task=4", ["@", "srun @"]),
    ("08-two-gpus-a-task", f"srun {TWO} --ntasks-per-node=2 --gpus-per-task=2 @", []),
    ("08-bind-none", f"srun {TWO} --ntasks-per-node=4 --gpus-per-node=4 --gpu-bind=none @", []),
    ("08-bind-none-one-a-node", f"srun {TWO} --ntasks-per-node=1 --gpus-per-node=4 --gpu-bind=none @", []),
    ("08-bind-single", f"srun {TWO} --ntasks-per-node=4 --gpus-per-node=4 --gpu-bind=single:1 @", []),
    ("08-task-a-gpu", f"srun {TWO} --gpus=8 --ntasks-per-gpu=1 @", []),
    ("09-gres", f"srun {TWO} --ntasks-per-node=1 --gres=gpu:4 @", []),
    ("09-gres-typed", f"srun {TWO} --ntasks-per-node=1 --gres=gpu:a100:2 @", []),
    ("09-gres-sbatch", f"sbatch {TWO} --ntasks-per-node=1 --gres=gpu:4", ["@", "srun @"]),
    ("09-per-node-typed", f"srun {TWO} --ntasks-per-node=1 --gpus-per-node=a100:3 @", []),
    ("09-per-node-typed-sbatch", f"sbatch {TWO} --ntasks-per-node=1 --gpus-per-node=a100:3", ["@", "srun @"]),
    ("10-unequal", "srun -w node[01,03-04] -N3 --ntasks-per-node=1 --gpus=14 @", []),
    ("10-unequal-sbatch", "sbatch -w node[01,03-04] -N3 --ntasks-per-node=1 --gpus=14", ["@", "srun @"]),
    ("10-unequal-alike-cpus", "srun -w node[01,03] -N2 --ntasks-per-node=1 --gpus=6 @", []),
    ("10-unequal-alike-cpus-sbatch", "sbatch -w node[01,03] -N2 --ntasks-per-node=1 --gpus=6", ["@", "srun @"]),
    ("10-unequal-per-gpu", "srun -w node[01,03-04] -N3 -n7 --gpus-per-task=1 @", []),
    ("10-exclusive", "srun -w node[01,03] -N2 --exclusive --ntasks-per-node=1 @", []),
    ("10-high-minors", "srun -w gpu-a1-b[3,5] -N2 --ntasks-per-node=1 --gpus-per-node=2 @", []),
    ("11-requeue", f"sbatch {TWO} --ntasks-per-node=1 --gpus-per-node=4 --requeue",
     ["@", "srun @", '[ "${SLURM_RESTART_COUNT:-0}" = 2 ] || { scontrol requeue $SLURM_JOB_ID; sleep 600; }']),
    ("12-cpus", f"sbatch {TWO} --ntasks-per-node=1 --cpus-per-task=8 --gpus-per-node=4 --mem=8G",
     ["@", "srun @", "srun -c 8 @", "SRUN_CPUS_PER_TASK=8 srun @"]),
    ("15-uneven", f"srun {TWO} -n5 --gpus-per-node=4 @", []),
    ("15-uneven-sbatch", f"sbatch {TWO} -n8 --gpus-per-node=4", ["@", "srun @"]),
    ("16-cyclic", f"srun {TWO} -n8 --ntasks-per-node=4 -m cyclic --gpus-per-node=4 @", []),
    ("16-plane", f"srun {TWO} -n8 --ntasks-per-node=4 -m plane=2 --gpus-per-node=4 @", []),
    ("17-arbitrary", "env SLURM_HOSTFILE=hostfile srun -n2 -m arbitrary --gpus-per-node=4 @", []),
    ("17-reversed", "srun -w node02,node01 -N2 --ntasks-per-node=1 --gpus-per-node=4 @", []),
    ("18-pty", "srun -w node01 --gpus=2 --pty @", []),
    ("22-no-gpu", f"srun {TWO} --ntasks-per-node=1 @", []),
    ("23-pmi2", f"srun --mpi=pmi2 {TWO} --ntasks-per-node=2 --gpus-per-node=4 @", []),
    ("24-mixed-names", "srun -w node[01-02],gpu-a1-b[3,5] -N4 --ntasks-per-node=1 --gpus-per-node=1 @", []),
    ("25-export-none", f"sbatch --export=NONE {TWO} --ntasks-per-node=1 --gpus-per-node=4", ["@", "srun @"]),
    ("26-no-srun", f"sbatch {TWO} --ntasks-per-node=4 --gpus-per-node=4", ["@"]),
    ("27-nothing-said", f"sbatch {TWO} --gpus-per-node=4", ["@", "srun @", "srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --kill-on-bad-exit=1 @"]),
    ("28-per-gpu-resources", f"sbatch {TWO} --ntasks-per-node=1 --gpus-per-node=4 --cpus-per-gpu=4 --mem-per-gpu=4G", ["@", "srun @"]),
    ("29-two-steps", f"sbatch {TWO} --ntasks-per-node=1 --gpus-per-node=4", ["srun --overlap @ &", "srun --overlap @ &", "wait"]),
    ("31-one-node", "srun -w node01 -N1 --ntasks-per-node=1 --gpus-per-node=4 @", []),
    ("31-one-node-sbatch", "sbatch -w node01 -N1 --gpus-per-node=4", ["@", "srun @"]),
    ("31-one-node-four-tasks", "sbatch -w node01 -N1 -n4 --gpus-per-node=4", ["@", "srun @"]),
    ("32-a-node-of-three", "sbatch -w node[01-03] -N3 --ntasks-per-node=1 --gpus-per-node=2",
     ["@", "srun -N2 -n2 -w node[02-03] @", "srun -N1 -n1 --relative=2 @", "srun -N1 -n2 --overcommit -w node02 --gpus-per-task=1 @"]),
    # Programs that share a node's GPUs: the second does not see GPU 0.
    ("33-shared-node", "sbatch -w node01 -N1 -n4 --gpus=4",
     ["srun --exact -n1 --gpus=2 @ &", "srun --exact -n1 --gpus=2 @ &", "wait"]),
    # The re-execution of a batch script that asked for a task per GPU.
    ("34-again-per-node", f"sbatch {TWO} --ntasks-per-node=4 --gpus-per-task=1",
     ["srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --kill-on-bad-exit=1 @"]),
    ("34-again-with-gres", f"sbatch {TWO} --ntasks-per-node=4 --gpus-per-task=1",
     ["env -u SLURM_GPUS_PER_TASK -u SLURM_TRES_PER_TASK srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --gres=gpu:4 --kill-on-bad-exit=1 @"]),
    ("34-again-uneven", f"sbatch {TWO} -n8 --gpus-per-node=4", ["srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --kill-on-bad-exit=1 @"]),
    ("35-step-in-a-step", f"srun {TWO} --ntasks-per-node=1 --gpus-per-node=4 nested @", []),
]
# Layouts that a cluster shows only with another setting.
WITH_SETTINGS = [
    ({"MpiParams": "ports=22000-22999"}, [
        ("30-ports", f"srun {TWO} --ntasks-per-node=1 --gpus-per-node=4 @", []),
        ("30-more-ports", f"srun --resv-ports=2 {TWO} --ntasks-per-node=1 --gpus-per-node=4 @", []),
    ]),
    # `salloc` then gives a shell on the first node, and that shell is a step.
    ({"LaunchParameters": "use_interactive_step", "InteractiveStepOptions": '"--interactive --preserve-env $SHELL"'}, [
        ("36-interactive", f"salloc {TWO} --ntasks-per-node=1 --gpus-per-node=4", ["@", "srun @"]),
        ("36-interactive-one-node", "salloc -w node01 -N1 --gpus-per-node=4", ["@", "srun @"]),
    ]),
]

HOSTLISTS = """\
node01|node[01-03,7],gpu-a[1-2]-b[3,5]|node[1-3]|node[08-12]|node[8-12]|node[008-12]|node[098-101]|node[9-010]|node[3-1]|node[1-2]-ib
node[1-2]-ib[0-1].cluster|r[1-2]c[01-02]n[1,3-4]|r[1-2][1-2]|a,b,c|a b c|node[1,2,3]|node[1-2,2-3]|node[1-1]|node[01]|node[]|node[1-3
node1-3|node[a-c]|node[1,a]|node[ 1-2 ]|node[1-2, 4]|node[1-2],|,node[1-2]|node[1-2];x|bgl[000x111]|node[0-3]x[4-5]|[1-3]|[01-02]-gpu
node[1-2-3]|node[00001-00003]|node[18446744073709551614-18446744073709551615]|node{1..3}|tux[1-3]-[a,b]|node[1-2]node[3-4]|node-1[0-2]
node[1-2][3]|ip-10-0-0-[11,12]|node[01-03,10],gpu-a1-b[3,5],gpu-a2-b3|r1n[1-2],r2n[1-2]|node[09-10,100]|a,b,a|node[1-70000]
node[001-200]|node[00001-10000]|node[1-65536]|node[0-0]|node[00-03]|node[0-3,8,10-11]|node[99-101]|node[099-101,0200]|cn[0001,0003-0005,0010]
a[1-2],b[3-4],c|a[1-2] b[3-4]|a[1],a[1]|node01,node01|node01,,node02|,|node[1-2|node1]|node]|node[1-2]]|node[[1-2]]|node[1-]|node[-2]|node[,1]|node[1,]
node[1,,2]|node[1--2]|node[0x1-0x3]|node[1.5]|node[+1]|10.0.0.[1-3]|10.0.0.1,10.0.0.2|gpu-a1-b[3,5]|node[01-02].lab.example|node01.lab.example
Node[01-02]|n_[1-2]|n[1-2]_|node[1-2]a[3-4]b|[1-2][3-4]|[1-2][3-4][5-6]|x[1-2]y[1-2]z[1-2]w[1-2]|node[000-002]|node[0000000001-0000000002]
node[18446744073709551615]|node[4294967295-4294967297]|node [1-2]|a,b c|a;b|a:b|a/b|node[1-2]:4|user@node[1-2]|nœud[1-2]|node[1-3],node[5-7],node9
frontier[00001-00003,00128]|holygpu8a[11101-11102]|d[05-06]-[01-02]|nid[001000-001002]|p4d-st-p4d24xlarge-[1-3]|compute-dy-gpu-[1,3]|node[1-2]*2""".replace("\n", "|").split("|")


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


def record(layouts=None):
    """Everything of this machine's Slurm."""
    tasks, hostlists, version = [], {}, None
    for settings, chosen in [({}, LAYOUTS), *WITH_SETTINGS]:
        with Cluster(settings=settings) as cluster:
            assert cluster.namespaces, "nodes without names of their own are not worth a recording"
            recorder = Recorder(cluster)
            for layout in chosen:
                if not layouts or layout[0] in layouts:
                    recorder.record(*layout)
            tasks += recorder.tasks
            if not settings and not layouts:
                hostlists = {text: recorder.hosts(text) for text in HOSTLISTS}
            version = cluster.version()
    return {"version": version, "tasks": tasks, "hostlists": hostlists}


def elsewhere(suite):
    """The same, by the Slurm of another Debian, in a root that is thrown away."""
    with tempfile.TemporaryDirectory(prefix=f"zlaunch-{suite}-") as folder:
        root = Path(folder) / "root"
        targets = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(ORIGIN)", "Created-By: Packages"], stdout=subprocess.PIPE, text=True, check=True).stdout
        mirror = next(line.split()[0] for line in targets.splitlines() if line.endswith(" Debian"))
        subprocess.run(["mmdebstrap", "--quiet", "--variant=apt", "--include=python3-minimal,libpython3-stdlib,slurm-wlm,munge,iproute2,hostname", suite, root, mirror],
                       check=True)
        return inside(root)


def inside(root):
    # The mounts are those of one process and go with it. The root must be one itself, or the nodes could not have theirs.
    script = 'mount --bind "$1" "$1" && mount -t proc proc "$1/proc" && mount -t sysfs sys "$1/sys" && mount --rbind /dev "$1/dev" && mount --bind "$2" "$1/mnt" && exec chroot "$1" python3 /mnt/slurm/record.py --raw /tmp/raw'
    subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", root, HERE], check=True)
    return json.loads((Path(root) / "tmp/raw").read_text())


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
    parser.add_argument("--root", action="append", default=[], help="a root that is there already, instead")
    parser.add_argument("--raw", help="write this machine's recording to this file only, of the named layouts if there are names")
    arguments = parser.parse_args()
    result = record(arguments.names)
    if arguments.raw:
        Path(arguments.raw).write_text(json.dumps(result))
        return
    results = [result, *map(elsewhere, arguments.suite), *map(inside, arguments.root)]
    write(results)
    for result in results:
        print(f"Slurm {result['version']}: {len(result['tasks'])} tasks, {len(result['hostlists'])} lists of hosts", file=sys.stderr)


if __name__ == "__main__":
    main()
