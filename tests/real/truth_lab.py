"""The launches of truth.py at work: a folder for each, the command with and without zlaunch, and how the real trainer ends."""
import copy
import dataclasses
import hashlib
import json
import re
import shlex
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from harness import HERE, ended, environment, free_port, port_was_taken, torch_aborted_at_exit
from lab import Warm, put, put_model, variables
from truth_cases import SCRIPTS, Case

# What a rank executes: a file (ms-swift's is below site-packages) or a module. What a user types in front of the arguments.
TARGETS = {"swift": "swift/cli/sft.py", "hf": "train.py", "trl": "trl.scripts.sft", "llamafactory": "llamafactory.launcher"}
COMMANDS = {"swift": ["swift", "sft"], "hf": ["python", "train.py"], "trl": ["trl", "sft"], "llamafactory": ["llamafactory-cli", "train"]}
# Seconds, on a busy machine. A rank that is told of others who are not there waits for them much longer than anybody else needs.
LIMIT, LONELY, COLD = 90, 45, 600
# A port that is taken as long as the script runs.
BUSY = socket.create_server(("0.0.0.0", 0))


def script(case):
    return (HERE / "train_hf.py").read_text().replace(*SCRIPTS[case.script])


class Bench:
    """An environment: its model and data, and how its cases ended."""

    def __init__(self, binary, name, root):
        self.binary, self.name, self.env = binary, name, environment(*filter(None, [name]))
        self.root = root / (name or "main")
        (self.root / "home").mkdir(parents=True)
        put_model(self.env, self.root)
        self.site = next(self.env.glob("lib/python3*/site-packages"))
        self.store = self.env.parent / "outcomes.jsonl"
        lines = self.store.read_text().splitlines() if self.store.exists() else []
        self.known = {found["key"]: found for found in map(json.loads, lines)}
        self.templates = {}

    def template(self, name):
        if name not in self.templates:
            text = subprocess.run([self.binary, "templates", name], env={"HOME": str(self.root)}, capture_output=True, text=True, check=True).stdout
            self.templates[name] = json.loads(text)
        return copy.deepcopy(self.templates[name])

    def config(self, case):
        """The text of the config: what a user would write without zlaunch."""
        if case.config or case.config is None:
            return case.config
        config = self.template(case.template)
        for key, value in case.set.items():
            put(config, key, value)
        return json.dumps(config)

    def variables(self, case):
        ports = {"BUSY": str(BUSY.getsockname()[1]), "FREE": str(free_port())}
        return variables(self.env, self.root / "home") | {name: ports.get(value, value) for name, value in (case.variables | (case.place or {})).items()}

    def key(self, case, *more):
        """Stands for all that a trainer sees of a case."""
        seen = [dataclasses.asdict(case), case.all_arguments(), self.config(case), script(case), *more]
        return hashlib.sha256(json.dumps(seen).encode()).hexdigest()[:16]

    def found(self, case):
        return self.known.get(self.key(case))

    def remember(self, key, found):
        self.known[key] = found = {"key": key} | found
        with open(self.store, "a") as file:
            file.write(json.dumps(found) + "\n")


class Launch:
    """A case in a folder of its own: the command of the trainer alone, and the one for zlaunch."""

    def __init__(self, bench, case, root):
        self.bench, self.case = bench, case
        self.folder = Path(tempfile.mkdtemp(dir=root))
        for shared in ("model", "data", "data.jsonl"):
            (self.folder / shared).symlink_to(bench.root / shared)
        (self.folder / "train.py").write_text(script(case))
        self.config = bench.config(case)
        written = {case.config_path: self.config} if case.config_path == "ds.json" and case.config is not None else {}
        for name, text in (written | case.files).items():
            self.write(self.folder / name, text)

    def write(self, file, text):
        file.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            file.mkdir()
        else:
            file.write_text((self.folder / text[1:]).read_text() if text.startswith("=") else text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def arguments(self, config):
        """The trainer's words, with the config or without. LLaMA-Factory gets a file, unless words are what is tried."""
        given = self.case.all_arguments() | ({"deepspeed": config} if config else {})
        if self.case.trainer == "llamafactory" and not self.case.words:
            # To YAML a bare `no` is false.
            (self.folder / "run.yaml").write_text("".join(f"{name}: {repr(value) if value == 'no' else value}\n" for name, value in given.items()))
            return ["run.yaml"]
        return [word for name, value in given.items() for word in (f"--{name}", str(value))] + self.case.words

    def behind_prefix(self, command):
        prefix = self.case.prefix
        return [*prefix, shlex.join(command)] if prefix[-1:] == ["-c"] else [*prefix, *command]

    def target(self):
        target = TARGETS[self.case.trainer]
        return str(self.bench.site / target) if self.case.trainer == "swift" else target

    def alone(self):
        """The command of a user without zlaunch, and its variables. ms-swift and LLaMA-Factory start torchrun themselves."""
        case, words, port = self.case, self.arguments(self.case.config_path), str(free_port())
        if case.trainer in ("hf", "trl"):
            module = ["-m"] if case.trainer == "trl" else []
            command, own = ["torchrun", "--nproc_per_node", str(case.ranks), "--master_port", port, *module, self.target(), *words], {}
        else:
            command, own = [*COMMANDS[case.trainer], *words], {"NPROC_PER_NODE": str(case.ranks), "MASTER_PORT": port, "FORCE_TORCHRUN": "1"}
        return self.behind_prefix(command), own | self.bench.variables(case)

    def asked(self, *first):
        """The same launch for zlaunch."""
        case, binary = self.case, str(self.bench.binary)
        ranks = [] if case.place or "NPROC_PER_NODE" in case.variables else ["--nproc-per-node", str(case.ranks)]
        words = self.arguments(case.config_path if case.channel == "own" else None)
        return [binary, *first, *ranks, *self.config_options(), "--", *self.behind_prefix([*COMMANDS[case.trainer], *words])]

    def config_options(self):
        case = self.case
        if case.channel == "set":
            base = self.bench.template(case.template)
            changes = [["--set", f"{key}={json.dumps(value)}"] if value is not None else ["--unset", key] if key.split(".")[0] in base else [] for key, value in case.set.items()]
            return ["--deepspeed", case.template, *(word for change in changes for word in change)]
        if case.channel == "patch":
            base, wanted = self.bench.template(case.template), json.loads(self.config)
            operations = [{"op": "add", "path": f"/{key}", "value": value} for key, value in wanted.items() if base.get(key) != value]
            operations += [{"op": "remove", "path": f"/{key}"} for key in base if key not in wanted]
            (self.folder / "patch.json").write_text(json.dumps(operations))
            return ["--deepspeed", case.template, "--patch", "patch.json"]
        return ["--deepspeed", case.config_path] if case.channel == "file" else []


class Zygote(Warm):
    """A process that has imported a trainer."""

    def __init__(self, bench, trainer):
        super().__init__(bench.env, bench.root / f"{trainer}.log", variables(bench.env, bench.root / "home"))
        self.bench, self.trainer = bench, trainer

    def outcome(self, launch):
        if self.process is None:
            for ranks in (1, 2):
                with Launch(self.bench, Case(self.bench.name, self.trainer, "unchanged", ranks=ranks), self.bench.root) as unchanged:
                    ended, said = self.case(unchanged, learn=f"{self.log}.modules")
                assert ended["status"] == 0, f"{self.bench.name} {self.trainer}: the unchanged launch fails\n{said[-3000:]}"
        return self.case(launch)

    def case(self, launch, **more):
        case = launch.case
        return self.run({"target": launch.target(), "argv": launch.arguments(case.config_path), "ranks": 1 if case.place else case.ranks, "place": case.place is None,
                         "env": self.bench.variables(case), "folder": str(launch.folder), "limit": LONELY if case.place else LIMIT} | more)


def cold(launch, command, given):
    """Starts a command as a user would."""
    began = time.monotonic()
    status, said = ended(command, given, launch.folder, COLD)
    return {"status": status, "seconds": round(time.monotonic() - began, 2)}, said


# What the others say when one has failed.
FOLLOWS = re.compile("ChildFailedError|CalledProcessError|DistNetworkError|DistBackendError|Connection (reset|closed)")


def reason(output):
    """The line of a failed trainer that says why."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    says = re.compile(r"(\[rank\d+\]: ?)?([\w.]*(Error|Exception|NotInstalled|Interrupt)\b|.*\berror: )")
    said = [line for line in lines if says.match(line) and not FOLLOWS.search(line)]
    unequal = [line for line in lines if line.startswith("- ds ")]
    return " ".join([(said or lines or ["(nothing)"])[-1], *dict.fromkeys(unequal)])[:300]


def run_case(zygote, case, root):
    """How the real trainer ends."""
    for _ in range(3):
        with Launch(zygote.bench, case, root) as launch:
            found, said = cold(launch, *launch.alone()) if case.cold else zygote.outcome(launch)
        late = found["status"] == "timeout" and not case.place
        if late and re.search("train_runtime|trained 1 steps", said):
            # torch 2.7 now and then locks itself up while it closes the process group (~ProcessGroupGloo), when all is done.
            found["status"] = 0
        if found["status"] == 0 or "BUSY" in str(case) or not late and not port_was_taken(said) and not torch_aborted_at_exit(said):
            break
    works = found["status"] == 0
    why = "" if works else "it waits for ever" if found["status"] == "timeout" else reason(said)
    return {"works": works, "status": found["status"], "seconds": found["seconds"], "reason": why}


def run_group(bench, trainer, cases, root):
    """All cases of one trainer that are not known yet, one after the other."""
    zygote = Zygote(bench, trainer)
    todo = [case for case in cases if not bench.found(case)]
    for number, case in enumerate(todo, 1):
        bench.remember(bench.key(case), run_case(zygote, case, root))
        if number % 25 == 0:
            print(f"{bench.name or 'main'} {trainer}: {number} of {len(todo)} run", flush=True)
    zygote.stop()


def works_through_zlaunch(bench, case, plan, root):
    """Whether a launch that fails alone is put right on the way: what zlaunch writes need not be what the trainer would have read."""
    key = bench.key(case, "through", plan)
    if key not in bench.known:
        with Launch(bench, case, root) as launch:
            found, said = cold(launch, launch.asked(), bench.variables(case))
        bench.remember(key, {"works": found["status"] == 0, "seconds": found["seconds"], "reason": reason(said)})
    return bench.known[key]["works"]
