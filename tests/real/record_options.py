#!/usr/bin/env python3
"""Records the option names of the real programs into src/recorded/, one a line, and the other names of hidden_size.

usage: record_options.py OUT_DIR [axolotl|xtuner]     (with the interpreter of the environment that holds them)

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


def axolotl():
    """Those of `axolotl train`, which a click program knows with dashes only."""
    import click
    from axolotl.cli.main import cli

    options = [option for option in cli.commands["train"].params if isinstance(option, click.Option)]
    # `--section.key` is put together with the run file by the outer program.
    options = [option for option in options if "." not in option.opts[0]]
    assert all(option.opts == [f"--{option.name.replace('_', '-')}"] for option in options)
    return "".join(sorted(f"{option.name}{'!' if option.is_flag else ''}\n" for option in options))


def caught(parse_args):
    """The parser that a function builds for itself."""
    parsers = []
    parse = argparse.ArgumentParser.parse_args
    argparse.ArgumentParser.parse_args = lambda self, *a, **k: parsers.append(self) or parse(self, ["x"])
    try:
        parse_args()
    finally:
        argparse.ArgumentParser.parse_args = parse
    return parsers[0]


def main():
    out = Path(sys.argv[1])
    if sys.argv[2:] == ["xtuner"]:
        from xtuner.tools import train
        (out / "xtuner.txt").write_text(lines(caught(train.parse_args)))
        return
    if sys.argv[2:] == ["axolotl"]:
        (out / "axolotl.txt").write_text(axolotl())
        return
    from swift.arguments import InferArguments, PretrainArguments, RLHFArguments, SftArguments
    from transformers import HfArgumentParser

    for name, arguments in (("sft", SftArguments), ("pt", PretrainArguments), ("rlhf", RLHFArguments), ("infer", InferArguments)):
        (out / f"swift_{name}.txt").write_text(lines(HfArgumentParser([arguments])))

    from accelerate.commands.launch import launch_command_parser
    (out / "accelerate.txt").write_text(lines(launch_command_parser()))

    from torch.distributed.run import get_args_parser
    (out / "torchrun.txt").write_text(lines(get_args_parser()))

    # Which key stands for hidden_size, by model type.
    from hidden_sizes import names
    (out / "hidden_size_names.txt").write_text(names())

    from deepspeed.launcher import runner
    (out / "deepspeed.txt").write_text(lines(caught(lambda: runner.parse_args(["x"]))))


if __name__ == "__main__":
    main()
