#!/usr/bin/env python3
"""zlaunch under real engines: MPIs, PRRTE and submitit, installed by this script itself into the cache.

Each layout must be placed or refused, as `meeting.py` says. Machines besides this one are names of it, reached through an sshd of the test's own.
Slurm has a folder of its own.
"""
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import CACHE, HERE, Arguments, Checks, Skip, free_port  # noqa: E402
from installed import own_address, wheels  # noqa: E402
from meeting import Lab  # noqa: E402
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


def submitit(lab):
    """Its local executor: a task for each GPU on this machine."""
    python, logs = wheels("submitit") / "bin/python", tempfile.mkdtemp(dir=lab.folder)
    return lab.run(lambda env: [python, HERE / "engines/submit.py", logs, "local", 1, 2, *lab.launch], 2)


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
        checks.run("submitit", submitit, lab)
    except Skip as why:
        checks.skip_all("sshd", why)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    checks.finish()


if __name__ == "__main__":
    main()
