#!/usr/bin/env python3
"""zlaunch under real engines: MPIs, PRRTE, submitit, TorchX and Ray, installed by this script itself into the cache.

Each layout must be placed or refused, as `meeting.py` says. Machines besides this one are names of it, reached through an sshd of the test's own.
Slurm has a folder of its own.
"""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import CACHE, PATIENCE, Arguments, Checks, Skip, free_port, until  # noqa: E402
from installed import own_address, wheels  # noqa: E402
from meeting import RANK, Lab  # noqa: E402
import python_engines  # noqa: E402
from ssh import Sshd  # noqa: E402

# How many tasks, on which machines, and which GPUs each sees: how many ranks that must become.
LAYOUTS = {
    "ranks": (4, "", "0,1,2,3", 4),
    "one-task": (1, "", "0,1", 2),
    "two-machines": (2, "1 1", "0,1", 4),
    "ranks-on-two-machines": (4, "2 2", "0,1", 4),
    "uneven": (3, "2 1", "0,1", 3),
    "uneven-reversed": (3, "1 2", "0,1", 3),
}
# Behind hydra a machine with one task has no sign of how many the others have: it waits for them, while those refuse.
UNEVEN_FOR_HYDRA = {"uneven": (5, "3 2", "0,1", 5), "uneven-reversed": (5, "2 3", "0,1", 5)}
STARTS = 100


# How each MPI is told to start tasks, on these machines with so many each.

def openmpi(bin, tasks, slots, env):
    hosts = ["--host", ",".join(f"node{at}:{count}" for at, count in enumerate(slots.split(), 1))] if slots else ["--oversubscribe"]
    exported = [word for name in env if name not in ("HOME", "TMPDIR") for word in ("-x", name)]
    return [bin / "mpirun", "-n", tasks, *hosts, *exported]


def prrte(bin, tasks, slots, env):
    return [bin / "prterun", "--prefix", bin.parent, *openmpi(bin, tasks, slots, env)[1:]]


def hydra(bin, tasks, slots, env):
    hosts = ["-hosts", ",".join(f"node{at}:{count}" for at, count in enumerate(slots.split(), 1))] if slots else []
    return [bin / "mpiexec.hydra", "-n", tasks, *hosts]


def impi(bin, tasks, slots, env):
    """Its hydra takes `-hosts node1:1` for a name, and fills a machine first."""
    machines = Path(env["TMPDIR"]) / "machines"
    machines.write_text("".join(f"node{at}:{count}\n" for at, count in enumerate(slots.split(), 1)))
    return [bin / "mpiexec.hydra", *(["-machinefile", machines] if slots else []), "-n", tasks]


def gforker(bin, tasks, slots, env):
    return [bin / "mpiexec.gforker", "-n", tasks]


MPIS = {"openmpi-4": ("openmpi-4", openmpi), "openmpi-5": ("openmpi-5", openmpi), "prrte": ("openmpi-5", prrte), "mpich-4": ("mpich-4", hydra), "mpich-5": ("mpich-5", hydra),
        "gforker": ("mpich-4", gforker), "impi": ("impi", impi)}


# gforker starts tasks on this machine only.
MPI_LAYOUTS = [(name, layout) for name in MPIS for layout, (_, slots, _, _) in LAYOUTS.items() if name != "gforker" or not slots]


def mpi(lab, sshd, name, layout):
    package, start = MPIS[name]
    tasks, slots, gpus, ranks = (start in (hydra, impi) and UNEVEN_FOR_HYDRA.get(layout)) or LAYOUTS[layout]
    bin = wheels(package) / "bin"
    variables = {"CUDA_VISIBLE_DEVICES": gpus}
    if slots:
        variables |= {"MASTER_ADDR": own_address(), "MASTER_PORT": free_port()}
    return lab.run(lambda env: [*start(bin, tasks, slots, env), *lab.launch], ranks, [sshd.bin, bin], **variables)


# Says where the job meets, and stays until all have been started.
PLANS = """
"$@" >"$MET/$$.plan" 2>&1
: >"$MET/$$.done"
while [ -e "$MET/wait" ]; do sleep 0.2; done
"""


def ports(lab, name, starts=STARTS, slots="", ssh=()):
    """So many jobs of two tasks, all at the same time: no two of them may meet at one port."""
    package, start = MPIS[name]
    bin = wheels(package) / "bin"
    plan = ["sh", "-c", PLANS, "sh", lab.binary, "-n", "--format", "json", "--", lab.python, RANK]
    folders, jobs = [], []
    try:
        for number in range(starts):
            met = lab.folder / f"ports-{name}-{number}-of-{starts}"
            met.mkdir()
            (met / "wait").touch()
            # On several machines nothing but the port is left open.
            env = lab.environment([*ssh, bin], MET=met, CUDA_VISIBLE_DEVICES="0,1", **{"MASTER_ADDR": own_address()} if slots else {})
            folders.append(met)
            command = [str(word) for word in [*start(bin, 2, slots, env), *plan]]
            jobs.append(subprocess.Popen(command, env=env, cwd=lab.folder / "home", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                         start_new_session=True))
        until(lambda: all(len(list(met.glob("*.done"))) == 2 for met in folders), lambda: "not every task came to its plan: "
              + "\n".join(f"{met.name}: {[file.name for file in met.iterdir()]}" for met in folders if len(list(met.glob("*.done"))) < 2)[:2000], 3 * PATIENCE)
        texts = [[file.read_text() for file in met.glob("*.plan")] for met in folders]
    finally:
        for met in folders:
            (met / "wait").unlink(missing_ok=True)
        for job in jobs:
            try:
                job.wait(30)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(job.pid, signal.SIGKILL)
                job.wait()
    if all("help:" in text and not text.startswith("{") for pair in texts for text in pair):
        return f"all {starts} refused"
    met = [[json.loads(text[text.index("{"):])["topology"]["master_port"] for text in pair] for pair in texts]
    assert all(len(set(pair)) == 1 and pair[0] for pair in met), f"tasks of one job differ: {[pair for pair in met if len(set(pair)) != 1]}"
    twice = [pair[0] for pair in met if [other[0] for other in met].count(pair[0]) > 1]
    assert not twice, f"ports of more than one job: {sorted(twice)}"
    return f"{starts} jobs at once, {starts} ports"


SHORT = [("openmpi-4", "ranks"), ("openmpi-4", "two-machines"), ("mpich-4", "ranks"), ("mpich-4", "ranks-on-two-machines"), ("gforker", "ranks"), ("prrte", "ranks")]


def main():
    arguments = Arguments(__doc__, "bin", "env", "names")
    arguments.add_argument("--short", action="store_true", help="a layout or two of the MPIs that most have")
    options = arguments.parse_args()
    checks = Checks(options.names)
    CACHE.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="engines-", dir=CACHE))
    lab = Lab(folder, options.bin, options.env)
    try:
        with Sshd(folder) as sshd:
            for name, layout in SHORT if options.short else MPI_LAYOUTS:
                checks.run(f"{name}-{layout}", mpi, lab, sshd, name, layout)
            for name in [] if options.short else [name for name in MPIS if name != "gforker"]:
                checks.run(f"{name}-ports-on-two-machines", ports, lab, name, 4, "1 1", [sshd.bin])
        for name, function in [] if options.short else python_engines.CHECKS.items():
            checks.run(name, function, lab)
        for name in ["openmpi-4", "mpich-4"] if options.short else MPIS:
            checks.run(f"{name}-ports", ports, lab, name)
    except Skip as why:
        checks.skip_all("sshd", why)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{lab.counts['placed']} layouts placed with {lab.counts['ranks']} ranks, {lab.counts['refused']} refused")
    checks.finish()


if __name__ == "__main__":
    main()
