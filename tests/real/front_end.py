"""Runs front ends of trainers in their own environment, each command line in a fork, until the model would be loaded.

Reads {"argv", "folder"} a line; answers each with `ANSWER` and {"status", "said"}: what the plain command would have ended with, and its last words. What it would
start goes on in the same process, so that the trainer's own parser is asked too.
"""
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import traceback

MAINS = {"swift": ("swift.cli.main", "cli_main"), "trl": ("trl.cli.main", "main"), "llamafactory-cli": ("llamafactory.cli", "main"),
         "axolotl": ("axolotl.cli.main", "main"), "accelerate": ("accelerate.commands.accelerate_cli", "main")}
# What they import once their words are read.
LATER = ["swift.pipelines.train.sft", "trl.scripts.sft", "trl.scripts.dpo", "llamafactory.train.tuner", "axolotl.cli.train", "datasets", "peft"]
OWN = ("swift", "trl", "llamafactory", "axolotl")


class Arrived(BaseException):
    """Every word was accepted."""


def arrive(*_, **__):
    raise Arrived


def start(words, *_, **__):
    """What the front end starts: a script or a module of its own goes on here."""
    words = [str(word) for word in words]
    for at, word in enumerate(words):
        is_module = word == "-m" and words[at + 1:at + 2]
        if is_module and words[at + 1] == "accelerate.commands.launch":
            return accelerate(words[at + 1:])
        if is_module and words[at + 1].startswith(OWN):
            sys.argv = words[at + 1:]
            runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
            raise SystemExit(0)
        if os.path.basename(word) == "accelerate":
            return accelerate(words[at + 1:])
        if word.endswith(".py") and "site-packages" in word:
            sys.argv = words[at:]
            runpy.run_path(word, run_name="__main__")
            raise SystemExit(0)
    script = next((word for word in words if not word.startswith("-") and "python" not in word), "")
    raise Arrived if os.path.exists(script) else SystemExit(2)


def accelerate(words):
    sys.argv = words
    importlib.import_module("accelerate.commands.launch").main()
    raise SystemExit(0)


class Started(subprocess.Popen):
    def __init__(self, words, *given, **more):
        if isinstance(words, (list, tuple)) and any(name in str(words[0]) for name in ("python", "torchrun", "accelerate")):
            start(words)
        super().__init__(words, *given, **more)


def prepare():
    importlib.import_module("transformers.modeling_utils").PreTrainedModel.from_pretrained = classmethod(arrive)
    for name, module in list(sys.modules.items()):
        if name == "datasets" or name.startswith(OWN) and "load_dataset" in vars(module):
            module.load_dataset = arrive
    subprocess.Popen = Started
    os.execvp = os.execvpe = lambda _, words, *__: start(words)
    run = importlib.import_module("torch.distributed.run")
    run.run = lambda given: start([*([] if given.training_script.endswith(".py") else ["-m"]), given.training_script, *given.training_script_args])


def status(case):
    os.setsid()
    signal.alarm(120)
    os.chdir(case["folder"])
    sys.argv = case["argv"]
    try:
        prepare()
        module, function = MAINS[sys.argv[0]]
        return getattr(importlib.import_module(module), function)() or 0
    except Arrived:
        return 0
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1


def answer(case):
    with tempfile.TemporaryFile() as said:
        process = os.fork()
        if not process:
            code = 1
            try:
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                for stream in (1, 2):
                    os.dup2(said.fileno(), stream)
                code = status(case)
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(code & 0xFF)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        said.seek(0)
        return {"status": code, "said": said.read().decode(errors="replace")[-600:]}


def main():
    own = os.dup(1)
    os.dup2(2, 1)
    for name in ["torch", "transformers", "deepspeed", "accelerate.commands.launch", *(module for module, _ in MAINS.values()), *LATER]:
        try:
            importlib.import_module(name)
        except (ImportError, RuntimeError):
            pass  # Of another environment, or for what is not installed there.
    for line in sys.stdin:
        os.write(own, f"ANSWER {json.dumps(answer(json.loads(line)))}\n".encode())


if __name__ == "__main__":
    main()
