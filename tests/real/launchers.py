#!/usr/bin/env python3
"""The launcher in a command, and what zlaunch says of it: torchrun, `deepspeed` and `accelerate launch` are really started, alone and as zlaunch would start them,
with a program that writes down what it got.

Command lines, files and variables are drawn. zlaunch's plan must say how many ranks there are and where, what each of them gets must be the same behind zlaunch,
a launch that ends with an error or with fewer GPUs than were asked for must be told, and one that works must not be refused.
"""
import json
import os
import random
import re
import subprocess
import tempfile
from pathlib import Path

from harness import HERE, Arguments, Checks, Skip, enter, free_port
from lab import Server, variables

GPUS = 8
RANK = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "CUDA_VISIBLE_DEVICES", "MASTER_ADDR", "MASTER_PORT")
PROGRAM = """import json, os, sys
with open(f"{os.environ['DUMP']}/{os.getpid()}", "w") as file:
    json.dump({"argv": sys.argv[1:], "env": dict(os.environ)}, file)
"""


class Draw:
    """A command line, with its variables and files."""

    def __init__(self, rng):
        self.rng, self.words, self.env, self.files, self.machines = rng, [], {}, {}, 1
        self.port = str(free_port())
        devices = rng.choice([None, None, "0,1", "2,4,5,7", "1,0", "3"])
        if devices:
            self.env["CUDA_VISIBLE_DEVICES"] = devices

    def add(self, *words):
        self.words += words

    def maybe(self, share, *words):
        if self.rng.random() < share:
            self.add(*words)

    def option(self, share, name, values):
        """An option in one of its forms."""
        if self.rng.random() < share:
            value = self.rng.choice(values)
            self.add(*self.rng.choice([[f"--{name}", value], [f"--{name}={value}"]]))

    def program(self, module="-m"):
        """What is started, behind the launcher's own words."""
        kind = self.rng.choice(["script"] * 4 + ["module", "program"])
        if kind == "module":
            self.add(module, "dump")
        elif kind == "program":
            self.add("--no_python", "python3", "dump.py")
        else:
            self.add("dump.py")
        self.add("--max_steps", "3", "--name", "a b")

    def torchrun(self):
        rng = self.rng
        self.add(*rng.choice([["torchrun"], ["torchrun"], ["python3", "-m", "torch.distributed.run"]]))
        if rng.random() < 0.15:
            self.machines = 2
            self.add("--nnodes", "2", "--node_rank", "{machine}", rng.choice(["--master_addr", "--master-addr"]), "127.0.0.1", "--master_port", self.port)
        else:
            self.add(*rng.choice([["--standalone"], ["--standalone"], ["--master_port", self.port], ["--rdzv_backend", "c10d", "--rdzv_endpoint", f"localhost:{self.port}"]]))
            self.option(0.2, "nnodes", ["1", "1:1"])
            self.option(0.1, "node_rank", ["0"])
        counts = ["1", "2", "3", "gpu", "auto"] if self.machines == 1 else ["1", "2"]
        self.option(0.7, rng.choice(["nproc_per_node", "nproc-per-node", "nproc"]), [*counts, *rng.choice([[], [], ["x"], ["0"], ["-1"]])])
        if rng.random() < 0.15:
            self.env["PET_NPROC_PER_NODE"] = rng.choice(["2", "3"])
        self.option(0.2, "max_restarts", ["0", "1", "x"])
        self.option(0.1, "tee", ["3"])
        self.option(0.1, "role", ["trainer"])
        self.maybe(0.03, "--nproc_pre_node", "2")
        self.program()

    def deepspeed(self):
        rng = self.rng
        self.add("deepspeed")
        name = "localhost"
        if rng.random() < 0.2:
            name = rng.choice(["node1", "localhost"])
            self.files["hosts"] = f"{name} slots=4\n"
            self.add("--hostfile", "hosts", "--no_ssh_check")
        elif rng.random() < 0.1:
            self.add("--hostfile", "gone")
        self.option(0.5, "num_gpus", ["1", "2", "3", "4"])
        if rng.random() < 0.35:
            self.option(1, rng.choice(["include", "exclude"]), [f"{name}:{slots}" for slots in ("0", "0,2", "1,3,1", "2", "9")] + [name, "elsewhere:0"])
        self.option(0.1, "num_nodes", ["1", "2"])
        self.option(0.5, "master_port", [self.port])
        if "hosts" in self.files:
            self.add("--master_addr", "127.0.0.1")
        self.maybe(0.3, "--no_local_rank")
        self.maybe(0.03, "--num_gpu", "2")
        self.program("--module")

    def accelerate(self):
        rng = self.rng
        self.add("accelerate", "launch")
        several = rng.random() < 0.15
        if rng.random() < 0.45:
            kind = rng.choice(["DEEPSPEED", "DEEPSPEED", "MULTI_GPU", "NO"])
            settings = {"compute_environment": "LOCAL_MACHINE", "distributed_type": kind, "num_machines": 2 if several else 1, "machine_rank": 0,
                        "num_processes": rng.choice([1, 2, 4]), "main_process_port": int(self.port), "mixed_precision": "no", "use_cpu": False}
            if kind == "DEEPSPEED":
                settings["deepspeed_config"] = {"zero_stage": 2, **({"deepspeed_multinode_launcher": rng.choice(["pdsh", "standard"])} if several else {})}
            if several:
                settings["main_process_ip"] = "127.0.0.1"
            if rng.random() < 0.3:
                settings["gpu_ids"] = rng.choice(["all", "0,1", "2,3"])
            self.files["run.yaml"] = json.dumps(settings)
            self.add("--config_file", "run.yaml")
            if several:
                self.add("--machine_rank", "{machine}")
        else:
            self.maybe(0.5, rng.choice(["--use_deepspeed", "--multi_gpu", "--cpu"]))
            self.add("--main_process_port", self.port)
            if several:
                self.add("--num_machines", "2", "--machine_rank", "{machine}", "--main_process_ip", "127.0.0.1")
                self.maybe(0.7, "--deepspeed_multinode_launcher", "standard")
        self.machines = 2 if several else 1
        self.option(0.7, "num_processes", ["2", "4"] if several else ["1", "2", "3", "x"])
        self.option(0.2, "mixed_precision", ["bf16", "no", "bf32"])
        self.option(0.15, "gpu_ids", ["0,1", "2,3", "all"])
        self.maybe(0.03, "--num_procs", "2")
        self.program()


def ranks_in(folder):
    """What each rank got, in their order."""
    found = [json.loads(file.read_text()) for file in folder.iterdir()]
    return sorted(found, key=lambda rank: int(rank["env"].get("RANK", 0)))


class Compared:
    """A case, what the launcher makes of it, and what zlaunch says."""

    def __init__(self, draw, given, server, binary, folder):
        self.draw, self.given, self.server, self.folder = draw, given | draw.env, server, folder
        folder.mkdir()
        (folder / "dump.py").write_text(PROGRAM)
        for name, text in draw.files.items():
            (folder / name).write_text(text)
        self.starts = [[word.format(machine=machine) for word in draw.words] for machine in range(draw.machines)]
        judged = [subprocess.run([binary, "check", "--format", "json", "--", *words], env=self.given, cwd=folder, capture_output=True, text=True) for words in self.starts]
        self.plans = [json.loads(run.stdout) for run in judged]
        self.told = {(it["severity"], it["rule"], it["message"]) for plan in self.plans for it in plan["diagnostics"]}
        self.alone = self.started("alone", self.starts)

    def started(self, name, starts, more=None):
        (self.folder / name).mkdir()
        env = self.given | {"DUMP": str(self.folder / name), "PYTHONPATH": str(self.folder)} | (more or {})
        ended = self.server.ask({"starts": starts, "env": env, "folder": str(self.folder), "gpus": GPUS})
        return ended | {"ranks": ranks_in(self.folder / name)}

    def is_refused(self):
        return any(severity == "error" for severity, _, _ in self.told)

    def wrong(self):
        alone, ranks = self.alone, self.alone["ranks"]
        here = len(ranks) // self.draw.machines
        if "not-understood" in {rule for _, rule, _ in self.told} and not self.is_refused():
            # `--no_python python3 …`: zlaunch says that it runs unchecked, and only starts it.
            return self.behind()
        if alone["status"] and not self.is_refused():
            return "the launcher ends with an error, and zlaunch refuses nothing"
        if self.is_refused():
            return "" if alone["status"] or self.is_less() else "zlaunch refuses what works"
        for machine, plan in enumerate(self.plans):
            said = plan["topology"]
            world = [rank["env"].get("WORLD_SIZE", "1") for rank in ranks]
            if said["nproc_per_node"] is None:
                return "the number of ranks is not said"
            if said["nproc_per_node"] != here or said["world_size"] != len(ranks) or set(world) != {str(len(ranks))}:
                return f"{said['nproc_per_node']} of {said['world_size']} are said, and {here} of {len(ranks)} start, with WORLD_SIZE {set(world)}"
            if said["nnodes"] != self.draw.machines or said["node_rank"] != machine:
                return f"machine {said['node_rank']} of {said['nnodes']} is said"
            port = said["master_port"]
            if port and any(rank["env"].get("MASTER_PORT", str(port)) != str(port) for rank in ranks):
                return f"port {port} is said"
        seen = self.gpus()
        asked = self.draw.env.get("CUDA_VISIBLE_DEVICES")
        if asked and not seen <= set(asked.split(",")) and not any("CUDA_VISIBLE_DEVICES" in message for _, _, message in self.told):
            return f"GPUs {asked} are asked for, and the ranks see {seen}"
        return self.behind()

    def gpus(self):
        return {gpu for rank in self.alone["ranks"] for gpu in rank["env"].get("CUDA_VISIBLE_DEVICES", "").split(",")} - {""}

    def is_less(self):
        """It starts, but not what was asked for: fewer ranks, every machine alone, or several ranks on a GPU."""
        ranks, errors = self.alone["ranks"], {rule for severity, rule, _ in self.told if severity == "error"}
        asked = [int(word) for word in re.findall(r"num_(?:processes|machines)\W+(\d+)", f"{self.draw.words} {self.draw.files}")]
        is_fewer = max((int(rank["env"].get("WORLD_SIZE", 1)) for rank in ranks), default=0) < max(asked, default=1)
        return errors <= {"ranks", "hosts"} and is_fewer or errors == {"ranks-share-gpus"} and 0 < len(self.gpus()) < len(ranks)

    def behind(self):
        """The ranks that the plan would start get what they get without zlaunch."""
        env = self.plans[0]["env"]
        if env["unset"]:
            return f"{env['unset']} would be removed"
        # Only where nothing sets them.
        ours = self.started("ours", [plan["argv"] for plan in self.plans], {name: value for name, value in env["set"].items() if name != "PYTHONPATH"})
        if ours["status"] != self.alone["status"]:
            return f"it ends with {ours['status']} behind zlaunch: {ours['said']}"
        # One that is not asked for is another one every time.
        names = [name for name in RANK if name != "MASTER_PORT" or self.draw.port in f"{self.draw.words} {self.draw.files}" and "c10d" not in self.draw.words]
        found = [[{"argv": rank["argv"], **{name: rank["env"].get(name) for name in names}} for rank in side["ranks"]] for side in (self.alone, ours)]
        return "" if found[0] == found[1] else f"alone:\n{found[0]}\nbehind zlaunch:\n{found[1]}"


class Real:
    def __init__(self, options):
        folder = Path(tempfile.mkdtemp(prefix="zlaunch-launchers-"))
        (folder / "home").mkdir()
        self.binary, self.folder = options.bin, folder
        self.given = variables(options.env, folder / "home", DS_ACCELERATOR="cuda")
        del self.given["CUDA_VISIBLE_DEVICES"]
        self.server = Server(options.env, [HERE / "real_launchers.py"], self.given, folder)


def pretend_gpus():
    """As the driver lists them, where nobody else sees it."""
    subprocess.run(["mount", "-t", "tmpfs", "none", "/proc/driver"], check=True)
    for gpu in range(GPUS):
        Path(f"/proc/driver/nvidia/gpus/{gpu}").mkdir(parents=True)


def main():
    parser = Arguments(__doc__, "bin", "env", "names")
    parser.add_argument("--cases", type=int, default=200, help="launches in all (default: 200)")
    parser.add_argument("--seed", type=int, default=48)
    options = parser.parse_args()
    checks = Checks(options.names)
    try:
        enter("--mount", "--propagation", "private")
        pretend_gpus()
    except (Skip, subprocess.CalledProcessError) as why:
        checks.skip_all("everything", why)
        checks.finish()
    real = Real(options)
    for number in range(options.cases):
        kind = ("torchrun", "deepspeed", "accelerate")[number % 3]
        draw = Draw(random.Random(f"{options.seed} {number}"))
        getattr(draw, kind)()
        name = f"{kind}-{number}"
        if checks.wants(name):
            case = Compared(draw, real.given, real.server, real.binary, real.folder / name)
            wrong = case.wrong()
            what = f"{draw.words} {draw.env} {draw.files}\nalone: {case.alone['status']}, {len(case.alone['ranks'])} ranks\nzlaunch: {case.told}\n{case.alone['said'][-600:]}"
            checks.judge(name, wrong and f"{wrong}\n{what}")
            if options.names:
                print(what)
    real.server.stop()
    checks.finish()


if __name__ == "__main__":
    main()
