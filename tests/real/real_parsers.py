"""The real parsers of an environment: reads a question a line, answers each with `ANSWER` and JSON. Without GPUs and without a launch.

{"names": [front end, command]}: the options of a trainer's parser. {"refuses": [front end, command], "given": [[name, values], …]}: which of
these options it refuses, each asked alone. {"fills": [front end, command],
"config": …, "argv": …, "model": folder, "world": N}: the config (null: the one that argv names) after the trainer's own classes have filled it. {"launches": argv}: what a launcher's or
trainer's own parser makes of a launch command, {"script": …, "nproc": …} or {"options": true}, {"refused": …}, or {"missing": …} where the environment has no such program.
"""
import argparse
import contextlib
import functools
import importlib
import importlib.util
import io
import json
import os
import re
import sys

SWIFT = {"sft": ["SftArguments", "TrainArguments"], "pt": ["PretrainArguments", "TrainArguments"], "rlhf": ["RLHFArguments"]}


def exists(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def swift_class(command):
    places = [importlib.import_module(name) for name in ("swift.arguments", "swift.llm") if exists(name)]
    return next(getattr(place, name) for name in SWIFT[command] for place in places if hasattr(place, name))


@functools.cache
def parser_of(front_end, command):
    """What it takes; nothing is required, so that every option can be asked alone."""
    from transformers import HfArgumentParser, TrainingArguments
    if front_end == "swift":
        with getattr(importlib.import_module("swift.utils").utils, "_patch_get_type_hints", contextlib.nullcontext)():
            parser = HfArgumentParser([swift_class(command)])
    elif front_end == "trl":
        parser = importlib.import_module("trl.scripts." + command).make_parser()
    elif front_end == "llamafactory":
        parser = HfArgumentParser(importlib.import_module("llamafactory.hparams.parser")._TRAIN_ARGS)
    else:
        parser = HfArgumentParser((TrainingArguments,))
    for action in parser._actions:
        action.required = False
    return parser


def parsed(parser, words):
    """What argparse alone makes of the words: known and unknown ones, or its complaint."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            return (*argparse.ArgumentParser.parse_known_args(parser, words), None)
    except SystemExit:
        return None, [], said.getvalue().strip().rsplit("error: ", 1)[-1][-300:]


def names(of):
    options = {name[2:] for action in parser_of(*of)._actions for name in action.option_strings if name.startswith("--") and "-" not in name[2:]}
    return sorted(options - {"help", "config"})


def refuses(of, given):
    found = {}
    for name, values in given:
        _, unknown, why = parsed(parser_of(*of), ["--" + name, *values])
        if why or "--" + name in unknown:
            found[name] = why or "unknown"
    return found


def training_arguments(front_end, command, argv, folder):
    from transformers import HfArgumentParser
    if front_end == "swift":
        fixed = ["--model", folder + "/model", "--dataset", folder + "/data.jsonl", "--use_cpu", "true", "--use_hf", "true", "--model_type", "qwen2", "--template", "qwen", "--report_to", "none"]
        arguments, rest = importlib.import_module("swift.utils").parse_args(swift_class(command), argv + fixed)
        if rest:
            # SwiftSft does this right after parsing.
            raise ValueError(f"remaining_argv: {rest}")
        return arguments.training_args
    module, name = {"trl": ("trl", command), "llamafactory": ("llamafactory.hparams.training_args", "TrainingArguments")}.get(front_end, ("transformers", "TrainingArguments"))
    return HfArgumentParser((getattr(importlib.import_module(module), name),)).parse_args_into_dataclasses(argv + ["--use_cpu", "true"])[0]


def fills(of, config, argv, folder, world):
    import torch
    from accelerate.state import AcceleratorState, GradientState
    from transformers import TrainingArguments

    class Model(torch.nn.Module):
        class config:
            hidden_size = 64
    os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", LOCAL_WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    TrainingArguments.world_size = property(lambda self: world)
    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()
    with open(folder + "/config.json", "w") as file:
        json.dump(config, file)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        named = ["--deepspeed", folder + "/config.json"] if config else []
        training = training_arguments(*of, argv + ["--output_dir", folder + "/out", *named], folder)
        training.hf_deepspeed_config.trainer_config_finalize(training, Model(), training.max_steps if training.max_steps > 0 else 77)
    return {"config": training.hf_deepspeed_config.config}


def launcher(argv):
    """The package of a launcher, its parser, the words it gets, and what tells the number of processes a machine."""
    name = os.path.basename(argv[0])
    module = argv[2] if re.fullmatch(r"python[0-9.]*", name) and argv[1:2] == ["-m"] else ""
    imported = importlib.import_module
    digits = lambda text: int(text) if str(text).isdigit() else None
    if name == "deepspeed":
        return "deepspeed", lambda words: imported("deepspeed.launcher.runner").parse_args(words), argv[1:], lambda taken: (taken.user_script, taken.num_gpus if taken.num_gpus > 0 else None)
    if name == "torchrun" or module == "torch.distributed.run":
        return "torch", lambda words: imported("torch.distributed.run").get_args_parser().parse_args(words), argv[1 if name == "torchrun" else 3:], lambda taken: (taken.training_script, digits(taken.nproc_per_node))
    if module == "torch.distributed.launch":
        return "torch", lambda words: imported("torch.distributed.launch").parse_args(words), argv[3:], lambda taken: (taken.training_script, digits(taken.nproc_per_node))
    if name == "accelerate" and argv[1:2] == ["launch"]:
        return ("accelerate", lambda words: imported("accelerate.commands.launch").launch_command_parser().parse_args(words), argv[2:],
                lambda taken: (taken.training_script, taken.num_processes // (taken.num_machines or 1) if taken.num_processes else None))
    return None


def swifts_refusal(words):
    """What ms-swift refuses, by its command or behind a launcher: its scripts import the package that is installed."""
    scripts = [re.search(r"(?:^|/)swift/cli/(\w+)\.py$", word) for word in words]
    at = next((at for at, script in enumerate(scripts) if script and script[1] in SWIFT), None)
    command = words[:1] if words[:1] and words[0] in SWIFT else [scripts[at][1]] if at is not None else None
    if not command or not exists("swift"):
        return None
    _, unknown, why = parsed(parser_of("swift", command[0]), words[1 if at is None else at + 1:])
    unknown = [word for word in unknown if word.startswith("--")]
    return why or (f"unknown: {' '.join(unknown)}" if unknown else None)


def launches(*argv):
    # What the shell would put there is not known; a number goes everywhere.
    argv = ["1" if "$" in word else word for word in argv]
    own = os.path.basename(argv[0]) == "swift" and argv[1:2] and argv[1] in SWIFT
    found = launcher(argv)
    if not own and found is None:
        return {"missing": "another program"}
    package, parse, words, told = ("swift", None, argv[1:], None) if own else found
    if not exists(package):
        return {"missing": package}
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            if why := swifts_refusal(words):
                return {"refused": why}
            return {"options": True} if own else dict(zip(("script", "nproc"), told(parse(words))))
    except SystemExit:
        return {"refused": said.getvalue().strip().rsplit("error: ", 1)[-1][-300:]}


def answer(case):
    if "names" in case:
        return names(case["names"])
    if "refuses" in case:
        return refuses(case["refuses"], case["given"])
    if "fills" in case:
        return fills(case["fills"], case["config"], case["argv"], case["model"], case.get("world", 1))
    return launches(*case["launches"])


def main():
    for line in sys.stdin:
        try:
            found = answer(json.loads(line))
        except (Exception, SystemExit) as why:
            found = {"refused": f"{type(why).__name__}: {why}"[:600]}
        print("ANSWER " + json.dumps(found, default=str), flush=True)


if __name__ == "__main__":
    main()
