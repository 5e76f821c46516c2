#!/usr/bin/env python3
"""Records the option names of the real programs into src/options/, one a line.

usage: record_options.py OUT_DIR     (with the interpreter of the environment that holds them)

`name` takes a value, `name?` may take one, `name!` takes none. Names have underscores; each is also accepted with dashes.
"""
import argparse
import sys
from pathlib import Path


def lines(parser):
    seen = {}
    for action in parser._actions:
        mark = "!" if action.nargs == 0 else "?" if action.nargs == "?" and action.option_strings else ""
        for option in action.option_strings:
            if option.startswith("--"):
                seen.setdefault(option[2:].replace("-", "_"), mark)
    return "".join(f"{name}{mark}\n" for name, mark in sorted(seen.items()))


def main():
    out = Path(sys.argv[1])
    from swift.arguments import InferArguments, PretrainArguments, RLHFArguments, SftArguments
    from transformers import HfArgumentParser

    for name, arguments in (("sft", SftArguments), ("pt", PretrainArguments), ("rlhf", RLHFArguments), ("infer", InferArguments)):
        (out / f"swift_{name}.txt").write_text(lines(HfArgumentParser([arguments])))

    from accelerate.commands.launch import launch_command_parser
    (out / "accelerate.txt").write_text(lines(launch_command_parser()))

    from torch.distributed.run import get_args_parser
    (out / "torchrun.txt").write_text(lines(get_args_parser()))

    # The runner builds its parser inside the function that uses it.
    from deepspeed.launcher import runner
    caught = []
    parse = argparse.ArgumentParser.parse_args
    argparse.ArgumentParser.parse_args = lambda self, *a, **k: caught.append(self) or parse(self, ["x"])
    try:
        runner.parse_args(["x"])
    finally:
        argparse.ArgumentParser.parse_args = parse
    (out / "deepspeed.txt").write_text(lines(caught[0]))


if __name__ == "__main__":
    main()
