"""The option names of the real programs, one a line, and the other names of hidden_size: into src/recorded/.

It runs with the interpreter of the environment that holds them.

`name` takes a value, `name ?` may take one, `name !` takes none. For launchers, `name int`, `name float` and `name |a|b` say which. Names have
underscores; each is also accepted with dashes.
"""
import argparse
from pathlib import Path

from harness import ROOT, Arguments


def lines(parser, typed=False):
    seen = {}
    for action in parser._actions:
        mark = " !" if action.nargs == 0 else " ?" if action.nargs == "?" and action.option_strings else ""
        if typed and not mark and action.nargs is None:
            choices = action.choices and " |" + "|".join(map(str, action.choices))
            mark = choices or (f" {action.type.__name__}" if action.type in (int, float) else "")
        for option in action.option_strings:
            if option.startswith("--"):
                seen.setdefault(option[2:].replace("-", "_"), mark)
    return "".join(f"{name}{mark}\n" for name, mark in sorted(seen.items()))


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
    parser = Arguments(__doc__)
    parser.add_argument("out", type=Path, nargs="?", default=ROOT / "src/recorded", help="the folder for the lists (default: src/recorded)")
    parser.add_argument("program", nargs="?", choices=["xtuner"], help="record this one only, which has an environment of its own")
    options = parser.parse_args()
    out = options.out
    if options.program == "xtuner":
        from xtuner.tools import train
        (out / "xtuner.txt").write_text(lines(caught(train.parse_args)))
        return
    from swift.arguments import InferArguments, PretrainArguments, RLHFArguments, SftArguments
    from transformers import HfArgumentParser

    listed = {name: lines(HfArgumentParser([arguments])) for name, arguments in (("sft", SftArguments), ("pt", PretrainArguments), ("rlhf", RLHFArguments), ("infer", InferArguments))}
    names = {name: {line.rstrip(" !?") for line in text.splitlines()} for name, text in listed.items()}
    # Only what `rlhf` has besides is kept.
    assert names["pt"] == names["sft"] and names["rlhf"] > names["sft"]
    listed["rlhf"] = "".join(f"{line}\n" for line in listed["rlhf"].splitlines() if line.rstrip(" !?") not in names["sft"])
    for name in ("sft", "rlhf", "infer"):
        (out / f"swift_{name}.txt").write_text(listed[name])

    from accelerate.commands.launch import launch_command_parser
    (out / "accelerate.txt").write_text(lines(launch_command_parser(), typed=True))

    from torch.distributed.run import get_args_parser
    (out / "torchrun.txt").write_text(lines(get_args_parser(), typed=True))

    # Which key stands for hidden_size, by model type.
    from hidden_sizes import names
    (out / "hidden_size_names.txt").write_text(names())

    from deepspeed.launcher import runner
    (out / "deepspeed.txt").write_text(lines(caught(lambda: runner.parse_args(["x"])), typed=True))
