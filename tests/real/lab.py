"""The real trainers at work: a folder with a tiny model and dataset, and questions to the programs of an environment."""
import fcntl
import json
import subprocess
import threading
import time

from harness import HERE, free_port, port_was_taken, torch_aborted_at_exit

# Stands in a command for a port that is free when it starts.
PORT = object()


def variables(env, home, **more):
    """No GPU is used: DeepSpeed runs on the CPU, ranks talk through gloo. Nothing is downloaded."""
    return {"PATH": f"{env}/bin:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8", "DS_ACCELERATOR": "cpu", "CUDA_VISIBLE_DEVICES": "",
            "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1", "TORCH_EXTENSIONS_DIR": str(extensions(env))} | more


class Lab:
    """A folder with a tiny model and dataset, and the environment of the real trainers."""

    def __init__(self, binary, env, root):
        self.binary, self.env, self.root = binary, env, root
        self.python = env / "bin/python"
        self.made = False
        (root / "home").mkdir(exist_ok=True)

    def variables(self, report=None, **more):
        own = {"REPORT_CONFIG": str(report)} if report else {}
        return variables(self.env, self.root / "home", **{"PYTHONPATH": str(HERE / "hook")} | own | more)

    def run(self, argv, tries=5, **more):
        """What a command printed, and how it ended. One that lost its port to somebody else, or a race of torch's own, is tried again."""
        for _ in range(tries):
            words = [str(free_port() if word is PORT else word) for word in argv]
            result = subprocess.run(words, env=self.variables(**more), cwd=self.root, timeout=1800, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if not port_was_taken(result.stdout) and not torch_aborted_at_exit(result.stdout):
                break
        return result

    def trained(self, argv, marker, **more):
        """Runs a training command and returns the final config its rank 0 reports."""
        report = self.root / f"report-{time.monotonic_ns()}.json"
        result = self.run(argv, report=report, **more)
        assert result.returncode == 0 and marker in result.stdout, f"exit {result.returncode}\n{result.stdout[-6000:]}"
        return json.loads(report.read_text())

    def zlaunch(self, *words):
        """What zlaunch prints on its standard output."""
        result = subprocess.run([self.binary, *map(str, words)], env=self.variables(), cwd=self.root, capture_output=True, text=True)
        assert result.returncode == 0, f"zlaunch {words}: exit {result.returncode}\n{result.stderr}"
        return result.stdout

    def ask(self, *argv, text=None):
        """What a program of the environment prints on its standard output."""
        result = subprocess.run([self.python, *argv], input=text, env=self.variables(), cwd=self.root, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr[-3000:]
        return result.stdout

    def model(self):
        if not self.made:
            make_model(self.env, self.root)
            self.made = True
        return self.root / "model"

    def swift_sft(self, *more):
        """A training by ms-swift on the CPU."""
        return ["swift", "sft", "--model", self.model(), "--model_type", "qwen2", "--template", "qwen", "--dataset", self.root / "data.jsonl", "--use_cpu", "true",
                "--max_length", "128", "--dataset_num_proc", "1", "--report_to", "none", "--save_strategy", "no", *more]

    def swifts(self, name):
        """A config that comes with ms-swift."""
        return next(self.env.glob(f"lib/python3*/site-packages/swift/config/{name}.json"))


def make_model(env, folder):
    """A random model in FOLDER/model and a dataset in FOLDER/data.jsonl."""
    result = subprocess.run([env / "bin/python", HERE / "make_model.py", folder], env=variables(env, folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert result.returncode == 0, result.stdout[-3000:]


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


def answers(env, home, program, cases):
    """A program of the environment reads a case a line and answers each with `ANSWER` and JSON; what libraries print besides is passed over."""
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    result = subprocess.run([env / "bin/python", *program], input=lines, env=variables(env, home), cwd=home, capture_output=True, text=True)
    found = [json.loads(line.removeprefix("ANSWER ")) for line in result.stdout.splitlines() if line.startswith("ANSWER ")]
    assert len(found) == len(cases), f"{len(found)} answers to {len(cases)} cases\n{result.stderr[-3000:]}"
    return found


def versions(env, *names):
    program = f"import importlib.metadata as m, json; print(json.dumps({{n: m.version(n) for n in {names!r}}}))"
    return json.loads(subprocess.run([env / "bin/python", "-c", program], capture_output=True, text=True, check=True).stdout)


def different(one, two):
    """The keys in which two configs differ, with both values."""
    return {key: (one.get(key), two.get(key)) for key in sorted(set(one) | set(two)) if one.get(key) != two.get(key)}
