"""The real trainers at work: a folder with a tiny model and dataset, and questions to the programs of an environment."""
import fcntl
import json
import subprocess
import threading
import time
from pathlib import Path

from harness import HERE, environment, free_port, kept, port_was_taken, torch_aborted_at_exit

# Stands in a command for a port that is free when it starts.
PORT = object()
# Seconds that the ranks of a case may take on a busy machine.
LIMIT = 240
# Built once, before any case: one that is stopped while it compiles leaves the compiler at work and a lock on which all others wait.
BUILD = """
from deepspeed.accelerator import get_accelerator
for name in ("FusedAdamBuilder", "CPUAdamBuilder", "ShareMemCommBuilder"):
    get_accelerator().create_op_builder(name).load(verbose=False)
"""


def variables(env, home, **more):
    """No GPU is used: DeepSpeed runs on the CPU, ranks talk through gloo. Nothing is downloaded."""
    return {"PATH": f"{env}/bin:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8", "DS_ACCELERATOR": "cpu", "CUDA_VISIBLE_DEVICES": "",
            "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1", "TORCH_EXTENSIONS_DIR": str(extensions(env))} | more


class Lab:
    """A folder with a tiny model and dataset, and the environment of the real trainers."""

    # What every trainer imports; the rest is learnt from the first case.
    imported = ("deepspeed", "transformers", "accelerate")

    def __init__(self, binary, env, root):
        self.binary, self.env, self.root = binary, env, root
        self.python, self.site = env / "bin/python", next(env.glob("lib/python3*/site-packages"))
        self.warm = {}
        (root / "home").mkdir(parents=True, exist_ok=True)

    def variables(self, report=None, **more):
        own = {"REPORT_CONFIG": str(report)} if report else {}
        return variables(self.env, self.root / "home", **{"PYTHONPATH": str(HERE / "hook")} | own | {name: str(value) for name, value in more.items()})

    def run(self, argv, folder=None, **more):
        """What a command printed, and how it ended. One that lost its port to somebody else, or a race of torch's own, is tried again."""
        for _ in range(5):
            words = [str(free_port() if word is PORT else word) for word in argv]
            result = subprocess.run(words, env=self.variables(**more), cwd=folder or self.root, timeout=1800, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if not port_was_taken(result.stdout) and not torch_aborted_at_exit(result.stdout):
                break
        return result

    def launched(self, argv, **more):
        """The same of a command that runs up to torchrun, or to its only rank; the ranks are forked from a process that has imported the trainer."""
        record = self.root / f"launch-{time.monotonic_ns()}.json"
        started = self.run(argv, RECORD_LAUNCH=record, **more)
        if not record.exists():
            return started
        launch = json.loads(record.read_text())
        del launch["env"]["RECORD_LAUNCH"]
        # The first file or module is what the ranks run.
        target = next(word for word in launch["torchrun"] or launch["rank"] if word.endswith(".py") or word.startswith(("trl.", "llamafactory.")))
        trainer = next((name for name in ("swift", "llamafactory", "trl") if f"/{name}/" in target or target.startswith(f"{name}.")), "hf")
        ranks = {"torchrun": launch["torchrun"], "place": True} if launch["torchrun"] else {"target": launch["rank"][0], "argv": launch["rank"][1:], "ranks": 1, "place": False}
        if trainer not in self.warm:
            self.warm[trainer] = Warm(self.env, self.root / f"warm-{trainer}.log", self.variables(), self.imported)
        for _ in range(5):
            ended, said = self.warm[trainer].run(ranks | {"env": launch["env"], "folder": launch["folder"], "limit": LIMIT})
            if not port_was_taken(said) and not torch_aborted_at_exit(said):
                break
        return subprocess.CompletedProcess(argv, ended["status"], started.stdout + said)

    def trained(self, argv, marker="train_loss", cold=False, **more):
        """Runs a training command and returns the final config its rank 0 reports."""
        report = self.root / f"report-{time.monotonic_ns()}.json"
        result = (self.run if cold else self.launched)(argv, report=report, **more)
        assert result.returncode == 0 and marker in result.stdout, f"exit {result.returncode}\n{result.stdout[-6000:]}"
        return json.loads(report.read_text())

    def zlaunch(self, *words, **more):
        """What zlaunch prints on its standard output."""
        result = subprocess.run([self.binary, *map(str, words)], env=self.variables(**more), cwd=self.root, capture_output=True, text=True)
        assert result.returncode == 0, f"zlaunch {words}: exit {result.returncode}\n{result.stderr}"
        return result.stdout

    def plan(self, *words, **more):
        return json.loads(self.zlaunch("-n", "--format", "json", "-q", *words, **more))

    def refused(self, says, *words):
        result = self.run([self.binary, "check", "--nproc-per-node", "2", *words])
        assert result.returncode == 1 and says in result.stdout, result.stdout

    def ask(self, *argv, text=None):
        """What a program of the environment prints on its standard output."""
        result = subprocess.run([self.python, *argv], input=text, env=self.variables(), cwd=self.root, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr[-3000:]
        return result.stdout

    def write(self, name, content):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def template(self, name):
        """A built-in template as a file."""
        return self.write(f"{name}.json", self.zlaunch("templates", name))

    def model(self):
        """A tiny model; `data.jsonl` and `data/`, as TRL and LLaMA-Factory take them, are beside it."""
        if not (self.root / "model").exists():
            put_model(self.env, self.root)
        return self.root / "model"

    def swift_sft(self, *more):
        """A training by ms-swift on the CPU. Its option for the tuner was renamed in 4.0."""
        major = int(next(self.site.glob("ms_swift-*.dist-info")).name.split("-")[1].split(".")[0])
        return ["swift", "sft", "--model", self.model(), "--model_type", "qwen2", "--template", "qwen", "--dataset", self.root / "data.jsonl", "--use_cpu", "true", "--check_model", "false",
                "--tuner_type" if major >= 4 else "--train_type", "full", "--max_length", "128", "--dataset_num_proc", "1", "--report_to", "none", "--save_strategy", "no", *more]

    def swifts(self, name):
        """A config that comes with ms-swift."""
        return next(self.site.glob(f"swift/config/{name}.json"))

    def stop(self):
        for warm in self.warm.values():
            warm.stop()


class Warm:
    """A process that has imported a trainer; started when it is first needed."""

    def __init__(self, env, log, given, imported=Lab.imported):
        self.env, self.log, self.given, self.imported, self.process = env, log, given, imported, None

    def start(self):
        kept(lambda _: subprocess.run([self.env / "bin/python", "-c", BUILD], env=self.given, stdout=subprocess.DEVNULL, check=True) and "", "operators", str(self.env))
        self.process = subprocess.Popen([self.env / "bin/python", HERE / "zygote.py", *self.imported], env=self.given, cwd=self.log.parent, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=open(self.log, "a"), text=True, start_new_session=True)

    def run(self, case):
        """How a case ended, {"status", "seconds"}, and what its ranks printed. The first one says what there is to import."""
        first = {"learn": f"{self.log}.modules"} if self.process is None else {}
        if self.process is None:
            self.start()
        output = Path(f"{self.log}.{time.monotonic_ns()}")
        self.process.stdin.write(json.dumps(first | case | {"log": str(output), "port": free_port()}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line.startswith("ANSWER "), f"{self.log}: it ended at {case}"
        return json.loads(line.removeprefix("ANSWER ")), output.read_text(errors="replace") if output.exists() else ""

    def stop(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()


def put_model(env, folder):
    """A random model in FOLDER/model, and a dataset: data.jsonl and data/. Made once, because transformers takes long to import."""
    def make(place):
        (place / "home").mkdir()
        result = subprocess.run([env / "bin/python", HERE / "make_model.py", place], env=variables(env, place / "home"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert result.returncode == 0, result.stdout[-3000:]
        tags = {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"}
        info = {"tiny": {"file_name": "train.jsonl", "formatting": "sharegpt", "columns": {"messages": "messages"}, "tags": tags}}
        (place / "data").mkdir()
        (place / "data/train.jsonl").write_text((place / "data.jsonl").read_text())
        (place / "data/dataset_info.json").write_text(json.dumps(info))
    made = kept(make, "tiny", (HERE / "make_model.py").read_text(), str(env))
    for name in ("model", "data", "data.jsonl"):
        (Path(folder) / name).symlink_to(made / name)


def with_env(which, options):
    """The environment of a name; `--env` stands for the main one."""
    return environment(which) if which else options.env


USERS = {}
# Several threads ask at once.
FIRST_USE = threading.Lock()


def extensions(env):
    """Compiled ops are kept from run to run beside the environment they are for: the first one takes a minute."""
    cache = env.parent / "extensions"
    with FIRST_USE:
        if cache not in USERS:
            cache.mkdir(parents=True, exist_ok=True)
            # Open as long as this process lives, so that others see that the cache is in use.
            USERS[cache] = open(cache / "users", "a")
            try:
                fcntl.flock(USERS[cache], fcntl.LOCK_EX | fcntl.LOCK_NB)
                # A run that was killed while compiling leaves a lock on which the next one waits for ever.
                for lock in cache.glob("*/lock"):
                    lock.unlink(missing_ok=True)
            except BlockingIOError:
                pass  # Somebody else is at work, and the locks may be theirs.
            fcntl.flock(USERS[cache], fcntl.LOCK_SH)
    return cache


class Server:
    """A program of an environment that reads a case a line and answers each with `ANSWER` and JSON; what libraries print besides is passed over."""

    def __init__(self, env, program, given, folder):
        self.said = open(Path(folder) / "said", "w+")
        self.process = subprocess.Popen([env / "bin/python", *program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said, env=given, cwd=folder, text=True)

    def read(self):
        for line in self.process.stdout:
            if line.startswith("ANSWER "):
                return json.loads(line.removeprefix("ANSWER "))
        raise AssertionError(Path(self.said.name).read_text()[-3000:])

    def ask(self, case):
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        return self.read()

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def answers(env, home, program, cases):
    """What such a program answers to many cases."""
    server = Server(env, program, variables(env, home), home)
    found = [server.ask(case) for case in cases]
    server.stop()
    return found


def versions(env, *names):
    program = f"import importlib.metadata as m, json; print(json.dumps({{n: m.version(n) for n in {names!r}}}))"
    return json.loads(subprocess.run([env / "bin/python", "-c", program], capture_output=True, text=True, check=True).stdout)


def different(one, two):
    """The keys in which two configs differ, with both values."""
    return {key: (one.get(key), two.get(key)) for key in sorted(set(one) | set(two)) if one.get(key) != two.get(key)}


def at(config, key):
    """What stands there; `zero_optimization.stage` is a key."""
    for part in key.split("."):
        config = config[part]
    return config


def put(config, key, value):
    """Sets it there, or takes it away."""
    *way, last = key.split(".")
    for part in way:
        config = config.setdefault(part, {})
    if value is None:
        config.pop(last, None)
    else:
        config[last] = value
