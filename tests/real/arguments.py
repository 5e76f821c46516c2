#!/usr/bin/env python3
"""The real parsers of the trainers and zlaunch refuse the same arguments.

Every option of a real parser, and every name that zlaunch has or had for it, is given each of a few values, and nothing: the parser alone says which
it refuses, and `zlaunch check` must say the same. A check is a front end, a command and a value.
`--env` takes the environment of other versions.
"""
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

from harness import ROOT, Arguments, Checks, environment
from lab import variables

REAL = '''
import argparse, contextlib, io, json, sys
FRONT_END, COMMAND = sys.argv[1:]
from transformers import HfArgumentParser
if FRONT_END == "swift":
    try:
        from swift.arguments import PretrainArguments, RLHFArguments, SftArguments
    except ImportError:
        from swift.llm import RLHFArguments, TrainArguments as SftArguments
        PretrainArguments = SftArguments
    classes = [{"sft": SftArguments, "pt": PretrainArguments, "rlhf": RLHFArguments}[COMMAND]]
    from swift.utils import utils
    with getattr(utils, "_patch_get_type_hints", contextlib.nullcontext)():
        parser = HfArgumentParser(classes)
elif FRONT_END == "swift-2":
    from swift import llm
    # Before 2.2.5, `pt` had none of its own.
    parser = HfArgumentParser([getattr(llm, {"sft": "SftArguments", "pt": "PtArguments", "rlhf": "RLHFArguments"}[COMMAND])])
elif FRONT_END == "trl":
    import importlib
    parser = importlib.import_module("trl.scripts." + COMMAND).make_parser()
elif FRONT_END == "llamafactory":
    from llamafactory.hparams.parser import _TRAIN_ARGS
    parser = HfArgumentParser(_TRAIN_ARGS)
else:
    from transformers import TrainingArguments
    parser = HfArgumentParser((TrainingArguments,))
for action in parser._actions:
    action.required = False
names = sorted({name[2:] for action in parser._actions for name in action.option_strings if name.startswith("--") and "-" not in name[2:]} - {"help", "config"})
print("ANSWER " + json.dumps(names), flush=True)
for line in sys.stdin:
    refused = {}
    for name, values in json.loads(line):
        said = io.StringIO()
        try:
            with contextlib.redirect_stderr(said):
                _, unknown = argparse.ArgumentParser.parse_known_args(parser, ["--" + name, *values])
            if "--" + name in unknown:
                refused[name] = "unknown"
        except SystemExit:
            refused[name] = said.getvalue().split("error: ")[-1].strip()
    print("ANSWER " + json.dumps(refused), flush=True)
'''
SCRIPT = "from transformers import HfArgumentParser, Trainer, TrainingArguments\nparser = HfArgumentParser((TrainingArguments,))\nargs, = parser.parse_args_into_dataclasses()\nTrainer(args=args)\n"
VALUES = [["x"], ["1"], ["1.5"], ["true"], ["None"], ["no"], ["steps"], ["a", "b"], []]
FRONT_ENDS = {
    "hf": [("", ["python", "train.py"], ["TrainingArguments"])],
    "swift": [(command, ["swift", command], [command, "TrainingArguments", "Seq2SeqTrainingArguments"]) for command in ("sft", "pt", "rlhf")],
    "swift-2": [(command, ["swift", command], ["SftArguments", *more]) for command, *more in (("sft",), ("pt", "PtArguments"), ("rlhf", "RLHFArguments"))],
    "trl": [(command, ["trl", command], []) for command in ("sft", "dpo", "grpo", "reward", "kto", "rloo")],
    "llamafactory": [("", ["llamafactory-cli", "train"], ["train", "TrainingArguments", "Seq2SeqTrainingArguments"])],
}
# Those that the main environment does not have.
ENVIRONMENTS = {"llamafactory": "llamafactory", "swift-2": "ms-swift-2.6.1"}
# Looked up after the parser; and those that zlaunch reads itself.
# What is refused of arguments together.
TOGETHER = [text.replace("`", "") for text in re.findall(r"(?m)^why +(.*)", (ROOT / "src/check/refusals.txt").read_text())]
LATER, OWN = {"lr_scheduler_type", "report_to", "attn_impl", "use_liger_kernel"}, {"deepspeed", "use_ray", "fsdp", "ignore_args_error"}


def plain(text):
    """An option is named as its front end spells it."""
    return text.replace("`", "").replace("--", "")


def recorded():
    """The names of the table by class, and those of which it does not say what they take."""
    names, open_names = {}, set()
    for line in (ROOT / "src/recorded/arguments.txt").read_text().splitlines():
        _, *rest = line.split(" ")
        if len(rest) > 2 and rest[1] != "^" and rest[0] != "*":
            names.setdefault(rest[0], set()).add(rest[1])
            if any(value.endswith("=?") for value in rest[2:]):
                open_names.add(rest[1])
    return names, open_names


def zlaunch(binary, env, folder, words, case):
    """The options that `zlaunch check` refuses, by what it says."""
    given = [word for name, values in case for word in [f"--{name}", *values]]
    result = subprocess.run([binary, "check", "--format", "json", "--deepspeed", "zero1", "--nproc-per-node", "1", "--", *words, *given], env=variables(env, folder), cwd=folder, capture_output=True, text=True)
    found = [it for it in json.loads(result.stdout)["diagnostics"] if it["rule"] == "argument"]
    return {it["where"][0].split(" ")[0].removeprefix("--"): (it["severity"], it["message"]) for it in found}


def compare(options, checks, env, folder, front_end, command, words, classes):
    names, open_names = recorded()
    process = subprocess.Popen([env / "bin/python", "-c", REAL, front_end, command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables(env, folder), cwd=folder, text=True)

    def answer():
        for line in process.stdout:
            if line.startswith("ANSWER "):
                return json.loads(line.removeprefix("ANSWER "))
        return None

    real_names = answer()
    if real_names is None:
        return checks.fail(f"{front_end} {command}", process.stderr.read()[-1500:])
    asked = sorted({*real_names, *(name for name in set().union(*(names.get(it, set()) for it in classes)))} - OWN)
    for values in VALUES:
        case = [(name, values) for name in asked]
        process.stdin.write(json.dumps(case) + "\n")
        process.stdin.flush()
        real, said = answer(), zlaunch(options.bin, env, folder, words, case)
        # One option by both of its spellings: newer versions of Python take it.
        twice = lambda why: "ambiguous" in why and len({word.strip("-,").replace("-", "_") for word in why.split("match")[1].split()}) == 1
        missed = {name: why for name, why in real.items() if name not in said and name not in open_names and not twice(why)}
        invented = {name: why for name, why in said.items() if name not in real and name not in LATER and not any(text in plain(why[1]) for text in TOGETHER)}
        # The parser takes a word for a mapping, and the trainer then refuses it.
        doubtful = {name: why for name, why in said.items() if why[0] != "error" and "no word makes" not in why[1]}
        wrong = [f"{what}: {some}" for what, some in (("missed", missed), ("invented", invented), ("in doubt", doubtful)) if some]
        checks.judge(f"{front_end} {command} {' '.join(values) or '(nothing)'} ({len(asked)} options, {len(real)} refused)", "\n".join(wrong) or None)
    process.stdin.close()
    process.wait()


def main():
    options = Arguments(__doc__, "bin", "env", "names").parse_args()
    checks = Checks()
    for front_end in options.names or FRONT_ENDS:
        env = environment(ENVIRONMENTS[front_end]) if front_end in ENVIRONMENTS and "--env" not in os.sys.argv else options.env
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "train.py").write_text(SCRIPT)
            for command, words, classes in FRONT_ENDS[front_end]:
                compare(options, checks, env, folder, front_end, command, words, classes)
    checks.finish()


if __name__ == "__main__":
    main()
