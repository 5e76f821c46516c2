"""What the real programs of an environment make of launch commands: reads {"argv": […]} a line, answers each with `ANSWER` and JSON.

The answer is {"script": …, "nproc": …} where the launcher's own parser takes the command, {"options": true} where a trainer's parser takes all of its
options, {"refused": "…"}, or {"missing": "…"} where the environment has no such program.
"""
import argparse
import contextlib
import functools
import importlib.util
import io
import json
import os
import re
import sys

SWIFT = {"sft": ["SftArguments", "TrainArguments"], "pt": ["PretrainArguments", "TrainArguments"], "rlhf": ["RLHFArguments"]}


def deepspeed(words):
    taken = importlib.import_module("deepspeed.launcher.runner").parse_args(words)
    return {"script": taken.user_script, "nproc": taken.num_gpus if taken.num_gpus > 0 else None}


def torchrun(words):
    taken = importlib.import_module("torch.distributed.run").get_args_parser().parse_args(words)
    return {"script": taken.training_script, "nproc": int(taken.nproc_per_node) if str(taken.nproc_per_node).isdigit() else None}


def torch_launch(words):
    taken = importlib.import_module("torch.distributed.launch").parse_args(words)
    return {"script": taken.training_script, "nproc": int(taken.nproc_per_node) if str(taken.nproc_per_node).isdigit() else None}


def accelerate(words):
    taken = importlib.import_module("accelerate.commands.launch").launch_command_parser().parse_args(words)
    machines = taken.num_machines or 1
    return {"script": taken.training_script, "nproc": taken.num_processes // machines if taken.num_processes else None}


@functools.cache
def swift_parser(command):
    from transformers import HfArgumentParser
    places = [importlib.import_module(name) for name in ("swift.arguments", "swift.llm") if importlib.util.find_spec(name.split(".")[0]) and exists(name)]
    cls = next(getattr(place, name) for name in SWIFT[command] for place in places if hasattr(place, name))
    hints = getattr(importlib.import_module("swift.utils").utils, "_patch_get_type_hints", contextlib.nullcontext)
    with hints():
        parser = HfArgumentParser([cls])
    for action in parser._actions:
        action.required = False
    return parser


def exists(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def swift(words):
    _, unknown = argparse.ArgumentParser.parse_known_args(swift_parser(words[0]), words[1:])
    unknown = [word for word in unknown if word.startswith("--")]
    return {"refused": f"unknown: {' '.join(unknown)}"} if unknown else {"options": True}


def reader(argv):
    """The parser for a command, and the words it gets."""
    name = os.path.basename(argv[0])
    module = argv[2] if re.fullmatch(r"python[0-9.]*", name) and argv[1:2] == ["-m"] else ""
    if name == "deepspeed":
        return "deepspeed", deepspeed, argv[1:]
    if name == "torchrun" or module == "torch.distributed.run":
        return "torch", torchrun, argv[1 if name == "torchrun" else 3:]
    if module == "torch.distributed.launch":
        return "torch", torch_launch, argv[3:]
    if name == "accelerate" and argv[1:2] == ["launch"]:
        return "accelerate", accelerate, argv[2:]
    if name == "swift" and argv[1:2] and argv[1] in SWIFT:
        return "swift", swift, argv[1:]
    return None


def of_swifts_script(words):
    """What ms-swift refuses behind a launcher: its scripts import the package that is installed."""
    scripts = [re.search(r"(?:^|/)swift/cli/(\w+)\.py$", word) for word in words]
    at = next((at for at, script in enumerate(scripts) if script and script[1] in SWIFT), None)
    read = swift([scripts[at][1], *words[at + 1:]]) if at is not None and exists("swift") else {}
    return read if "refused" in read else None


def answer(argv):
    # What the shell would put there is not known; a number goes everywhere.
    found = reader(["1" if "$" in word else word for word in argv])
    if found is None:
        return {"missing": "another program"}
    package, parse, words = found
    if not exists(package):
        return {"missing": package}
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            return of_swifts_script(words) or parse(words)
    except SystemExit:
        return {"refused": said.getvalue().strip().rsplit("error: ", 1)[-1][-300:]}
    except Exception as why:
        return {"refused": f"{type(why).__name__}: {why}"[:300]}


def main():
    for line in sys.stdin:
        print("ANSWER " + json.dumps(answer(json.loads(line)["argv"])), flush=True)


if __name__ == "__main__":
    main()
