#!/usr/bin/env python3
"""The real parsers and zlaunch agree, over every option, every default, and the public commands of the corpus. Nothing is launched (real_parsers.py).

arguments  every option of a trainer's parser, and every name that zlaunch has or had for it, is given each of a few values, and nothing: the
           parser alone says which it refuses, and `zlaunch check` must say the same
defaults   a config that is "auto" everywhere shows what the real classes take for arguments that are not given. Then each value stands in the
           config, as it is and changed: the trainer accepts the first and refuses the second, and so must zlaunch
next       the same options and a zlaunch whose tables end two versions before what is installed, as a user of the next releases has it: no
           error where the parser takes an option, and the misses are counted. Builds that zlaunch; only when it is named
stacks     the commands of the corpus on stacks of five times: zlaunch and the launcher's or trainer's own parser of that time take or refuse
           the same, and understand the same script and number of processes. Prints the table of docs/dev/fidelity.md
"""
import collections
import concurrent.futures
import copy
import json
import re
import subprocess
import tempfile
from pathlib import Path

from corpus import commands, sandbox
from harness import HERE, ROOT, Arguments, Checks, environment, in_parallel
from lab import Server, answers, at, put, put_model, variables, versions

REAL = [HERE / "real_parsers.py"]
SCRIPT = "from transformers import HfArgumentParser, Trainer, TrainingArguments\nparser = HfArgumentParser((TrainingArguments,))\nargs, = parser.parse_args_into_dataclasses()\nTrainer(args=args)\n"
AUTO = {
    "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "gradient_clipping": "auto",
    "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}},
    "scheduler": {"type": "WarmupDecayLR", "params": {"warmup_min_lr": "auto", "warmup_max_lr": "auto", "warmup_num_steps": "auto", "total_num_steps": "auto"}},
    "fp16": {"enabled": "auto"}, "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto"},
}
# What the trainer refuses behind its parser (a package that is not installed, a file that is not there) is another reason.
OF_PARSER = re.compile(r" has no (option|argument) |: it expects |: it could mean | without a value")
# ms-swift ends without one.
DATASET = ["--dataset", "AI-ModelScope/alpaca-gpt4-data-en"]


class Bench:
    """A folder with a script and a model, and the environment of one trainer."""

    def __init__(self, options, which, folder):
        self.binary, self.folder = options.bin, Path(folder)
        self.env = environment(which) if which and options.env == options.main else options.env
        self.variables = variables(self.env, folder)
        (self.folder / "train.py").write_text(SCRIPT)

    def zlaunch(self, *words):
        return subprocess.run([self.binary, *words], env=self.variables, cwd=self.folder, capture_output=True, text=True)

    def diagnostics(self, *words):
        return json.loads(self.zlaunch("check", "--format", "json", "--nproc-per-node", "1", *words).stdout)["diagnostics"]


# Arguments.

VALUES = [["x"], ["1"], ["1.5"], ["true"], ["None"], ["no"], ["steps"], ["a", "b"], []]
# By environment and front end: what is asked for, how zlaunch is told, and the classes of the table.
PARSERS = {
    "hf": [("", ["python", "train.py"], ["TrainingArguments"])],
    "swift": [(command, ["swift", command], [command, "TrainingArguments", "Seq2SeqTrainingArguments"]) for command in ("sft", "pt", "rlhf")],
    "trl": [(command, ["trl", command], []) for command in ("sft", "dpo", "grpo", "reward", "kto", "rloo")],
    "llamafactory": [("", ["llamafactory-cli", "train"], ["train", "TrainingArguments", "Seq2SeqTrainingArguments"])],
}
# What is refused of arguments together.
TOGETHER = [text.replace("`", "").replace("--", "") for text in re.findall(r'why: "(.*)"', (ROOT / "src/check/tables/refusals.rs").read_text())]
# Looked up after the parser; and those that zlaunch reads itself.
LATER, OWN = {"lr_scheduler_type", "report_to", "attn_impl", "use_liger_kernel"}, {"deepspeed", "use_ray", "fsdp", "ignore_args_error"}


def recorded():
    """The names of the table by class, and those of which it does not say what they take."""
    names, open_names = collections.defaultdict(set), set()
    for line in (ROOT / "src/recorded/arguments.txt").read_text().splitlines():
        _, *rest = line.split(" ")
        if len(rest) > 2 and rest[1] != "^" and rest[0] != "*":
            names[rest[0]].add(rest[1])
            if any(value.endswith("=?") for value in rest[2:]):
                open_names.add(rest[1])
    return names, open_names


def try_arguments(checks, options, front_end):
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, front_end if front_end == "llamafactory" else None, folder)
        server = Server(bench.env, REAL, bench.variables, folder)
        for command, words, classes in PARSERS[front_end]:
            compare_arguments(checks, bench, server, front_end, command, words, classes)
        server.stop()


def compare_arguments(checks, bench, server, front_end, command, words, classes, is_next=False):
    names, open_names = recorded()
    real_names = server.ask({"names": [front_end, command]})
    if "refused" in real_names:
        return checks.fail(f"{front_end} {command}", real_names["refused"])
    asked = sorted({*real_names, *(name for it in classes for name in names[it])} - OWN)
    misses = refused = 0
    for values in VALUES:
        case = [(name, values) for name in asked]
        real = server.ask({"refuses": [front_end, command], "given": case})
        found = bench.diagnostics("--deepspeed", "zero1", "--", *words, *(word for name, values in case for word in [f"--{name}", *values]))
        said = {it["where"][0].split(" ")[0].removeprefix("--"): (it["severity"], it["message"]) for it in found if it["rule"] == "argument"}
        # One option by both of its spellings: newer versions of Python take it.
        twice = lambda why: "ambiguous" in why and len({word.strip("-,").replace("-", "_") for word in why.split("match")[1].split()}) == 1
        # An option is named as its front end spells it.
        together = lambda why: any(text in why.replace("`", "").replace("--", "") for text in TOGETHER)
        missed = {name: why for name, why in real.items() if name not in said and name not in open_names and not twice(why)}
        invented = {name: why for name, why in said.items() if name not in real and name not in LATER and not together(why[1])}
        if is_next:
            misses, refused = misses + len(missed), refused + len(real)
            false = {name: why for name, why in invented.items() if why[0] == "error"}
            checks.judge(f"next {front_end} {command} {' '.join(values) or '(nothing)'}", f"false errors: {false}" if false else None)
            continue
        # The parser takes a word for a mapping, and the trainer then refuses it.
        doubtful = {name: why for name, why in said.items() if why[0] != "error" and "no word makes" not in why[1]}
        wrong = [f"{what}: {some}" for what, some in (("missed", missed), ("invented", invented), ("in doubt", doubtful)) if some]
        checks.judge(f"arguments {front_end} {command} {' '.join(values) or '(nothing)'} ({len(asked)} options, {len(real)} refused)", "\n".join(wrong) or None)
    if is_next:
        print(f"next {front_end} {command}: {misses} of {refused} refusals missed", flush=True)
    return None


# A release after ours.

PACKAGES = {"hf": "transformers", "swift": "ms-swift", "trl": "trl", "llamafactory": "llamafactory"}


def number(version):
    return [int(part) for part in re.findall(r"\d+", version)[:3]]


def without_newest(folder, installed):
    """Takes the installed version of each package, the one before it and all after them out of the tables below the folder."""
    newest = {}
    for name in ("arguments", "defaults"):
        table, lines = folder / f"src/recorded/{name}.txt", []
        for package, what, *rest in (line.split(" ") for line in table.read_text().splitlines()):
            if what == "*" and installed.get(package):
                older = [version for version in rest if number(version) < number(installed[package])]
                newest.setdefault(package, older[:-1][-1:] or rest[:1])
                rest = [version for version in rest if number(version) <= number(newest[package][0])]
                rest = rest if name == "arguments" else [*rest, *newest[package]]
            is_hidden = lambda word: re.match(r"[\d.]+=", word) and package in newest and number(word.split("=")[0]) > number(newest[package][0])
            kept = [word for word in rest if not is_hidden(word)]
            if kept and (len(kept) == len(rest) or what == "*" or any("=" in word for word in kept)):
                lines.append(" ".join([package, what, *kept]))
        table.write_text("\n".join(lines) + "\n")


def try_next(checks, options):
    for front_end in options.front_end or PARSERS:
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(options, front_end if front_end == "llamafactory" else None, folder)
            tree = Path(folder) / "tree"
            subprocess.run(f"mkdir {tree} && git -C {ROOT} archive HEAD | tar -x -C {tree}", shell=True, check=True)
            without_newest(tree, versions(bench.env, *dict.fromkeys(["transformers", PACKAGES[front_end]])))
            target = ROOT / "target/next"
            subprocess.run(["cargo", "build", "--quiet", "--locked", "--target-dir", target], cwd=tree, check=True)
            bench.binary = target / "debug/zlaunch"
            server = Server(bench.env, REAL, bench.variables, folder)
            for command, words, classes in PARSERS[front_end]:
                compare_arguments(checks, bench, server, front_end, command, words, classes, is_next=True)
            server.stop()


# Defaults.

KEYS = ["train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "gradient_clipping", "optimizer.params.lr", "optimizer.params.betas", "optimizer.params.eps",
        "optimizer.params.weight_decay", "scheduler.params.warmup_min_lr", "scheduler.params.warmup_max_lr", "scheduler.params.warmup_num_steps", "fp16.enabled", "bf16.enabled",
        "zero_optimization.reduce_bucket_size", "zero_optimization.stage3_prefetch_bucket_size"]
# ms-swift reads it from the model and the machine.
NOT_KNOWN = {("swift", key) for key in ("fp16.enabled", "bf16.enabled")}
# What is asked for, how zlaunch is told, and the arguments that are given.
CLASSES = {
    "hf": [("", ["python", "train.py"], []), ("", ["torchrun", "train.py"], ["--per_device_train_batch_size", "2"])],
    "swift": [("sft", ["swift", "sft", "--model", "model", *DATASET], []), ("pt", ["swift", "pt", "--model", "model", *DATASET], ["--per_device_train_batch_size", "3"]),
              ("rlhf", ["swift", "rlhf", "--model", "model", *DATASET], ["--rlhf_type", "dpo"])],
    "trl": [("SFTConfig", ["trl", "sft"], []), ("DPOConfig", ["trl", "dpo"], []), ("GRPOConfig", ["trl", "grpo"], []), ("RewardConfig", ["trl", "reward"], [])],
    "llamafactory": [("", ["llamafactory-cli", "train"], [])],
}


def with_value(key, value):
    config = copy.deepcopy(AUTO)
    put(config, key, value)
    return config


def changed(value):
    if isinstance(value, bool):
        return not value
    return [part / 2 for part in value] if isinstance(value, list) else value * 2 or 3


def try_defaults(checks, options, front_end):
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, front_end if front_end == "llamafactory" else None, folder)
        put_model(options.env, folder)
        server = Server(bench.env, REAL, bench.variables, folder)
        for command, words, argv in CLASSES[front_end]:
            compare_defaults(checks, bench, server, front_end, command, words, argv)
        server.stop()


def compare_defaults(checks, bench, server, front_end, command, words, argv):
    name = " ".join(["defaults", front_end, *([command] if command else []), *argv])
    ask = lambda config: server.ask({"fills": [front_end, command], "config": config, "argv": argv, "model": str(bench.folder)})
    answer = ask(AUTO)
    if "config" not in answer:
        return checks.fail(name, answer["refused"])
    for key in KEYS:
        value = at(answer["config"], key)
        for config in (with_value(key, value), with_value(key, changed(value))):
            real = ask(config)
            assert "refused" not in real or "mismatch TrainingArguments" in real["refused"], real
            (bench.folder / "case.json").write_text(json.dumps(config))
            said = [it for it in bench.diagnostics("--deepspeed", "case.json", "--", *words, *argv) if it["rule"] in ("mismatch", "default-mismatch") and f"`{key}` is" in it["message"]]
            right = bool(said) == ("refused" in real) or (front_end, key) in NOT_KNOWN and not said
            checks.judge(f"{name} {key}", None if right else f"{at(config, key)}: the trainer says {real.get('refused', 'nothing')}, zlaunch {said}")
    return None


# Stacks.

STACKS = {"early 2024": ["early-2024"], "early 2025": ["early-2025"], "late 2025": ["older"], "early 2026": ["early-2026"], "newest": []}
COLUMNS = ["taken by both", "refused by both", "only zlaunch refuses", "only the real one refuses", "another reason", "not installed", "no launch"]
# The scripts of the commands are not here.
NOT_HERE = ["--allow", "script-missing", "--allow", "path-missing"]


def checked(binary, env, it):
    """What zlaunch says of a command: its plan, or nothing, and the errors by their rules."""
    with tempfile.TemporaryDirectory() as folder:
        cwd, given, *_ = sandbox(Path(folder), it)
        given["PATH"] = f"{env}/bin:/usr/bin:/bin"
        ask = lambda *more: subprocess.run([binary, "check", "--format", "json", *NOT_HERE, *more, "--", *it["argv"]], env=given, cwd=cwd, capture_output=True, text=True, errors="replace")
        result = ask()
        if "the number of processes" in result.stdout:
            result = ask("--nproc-per-node", "8")
    try:
        plan = json.loads(result.stdout)
    except ValueError:
        plan = {"argv": None, "diagnostics": [{"rule": "not worded", "severity": "error", "message": result.stderr[-500:], "where": []}]}
    return plan, [found for found in plan["diagnostics"] if found["severity"] == "error"]


def verdict(argv, real, plan, errors):
    """Which column a command belongs to, and what is wrong with it."""
    about_arguments = [it for it in errors if it["rule"] == "argument" and OF_PARSER.search(it["message"])]
    if "missing" in real:
        return "no launch" if real["missing"] == "another program" else "not installed", None
    if "refused" in real:
        told = about_arguments or [it for it in plan["diagnostics"] if it["rule"] == "argument"]
        return ("refused by both" if told else "another reason" if errors else "only the real one refuses"), None
    if about_arguments:
        return "only zlaunch refuses", f"{about_arguments[0]['message']}, and the real parser takes it"
    if errors:
        return "another reason", None
    # What the shell would put there is not known.
    if any("$" in word for word in argv):
        return "taken by both", None
    if real.get("script") and real["script"] not in plan["argv"]:
        return "taken by both", f"the real one runs {real['script']}, zlaunch {plan['argv']}"
    stated = (plan["topology"] or {}).get("nproc_per_node")
    if real.get("nproc") and stated and stated != real["nproc"]:
        return "taken by both", f"the real one starts {real['nproc']} processes, zlaunch {stated}"
    return "taken by both", None


def try_stacks(checks, options):
    cases, rows = commands(options.corpus), []
    for name in options.stack or STACKS:
        env = environment(*STACKS[name])
        with tempfile.TemporaryDirectory() as home, concurrent.futures.ThreadPoolExecutor(in_parallel()) as pool:
            real = answers(env, Path(home), REAL, [{"launches": it["argv"]} for it in cases.values()])
            found = list(pool.map(lambda it: checked(options.bin, env, it), cases.values()))
        columns, reasons = collections.Counter(), collections.Counter()
        for (case, it), theirs, (plan, errors) in zip(cases.items(), real, found):
            column, wrong = verdict(it["argv"], theirs, plan, errors)
            columns[column] += 1
            if column in ("only the real one refuses", "another reason"):
                reasons[f"{column}: {theirs.get('refused', '') if column.startswith('only') else errors[0]['rule']}"] += 1
            checks.judge(f"{name}, {case}", wrong and f"{wrong}\n  {' '.join(it['argv'])[:300]}")
        installed = versions(env, "transformers", "accelerate", "deepspeed", "torch")
        rows.append(f"| {name} | {', '.join(f'{package} {version}' for package, version in installed.items())} | " + " | ".join(str(columns[it]) for it in COLUMNS) + " |")
        for reason, count in reasons.most_common(12):
            print(f"  {name}: {count:4}  {reason[:200]}")
    print(f"| stack | versions | {' | '.join(COLUMNS)} |", "| --- " * (len(COLUMNS) + 2) + "|", *rows, sep="\n")


def main():
    parser = Arguments(__doc__, "bin", "env", "corpus")
    parser.add_argument("parts", nargs="*", choices=["arguments", "defaults", "next", "stacks", []], metavar="PART", help="these only")
    parser.add_argument("--front-end", action="append", choices=PARSERS, help="of arguments and defaults, these only")
    parser.add_argument("--stack", action="append", choices=STACKS, metavar="NAME", help="of the stacks, this one (default: all)")
    options, checks = parser.parse_args(), Checks()
    options.main = environment()
    wants = lambda part: not options.parts or part in options.parts
    for front_end in options.front_end or PARSERS:
        for part, function in (("arguments", try_arguments), ("defaults", try_defaults)):
            if wants(part):
                function(checks, options, front_end)
    if "next" in options.parts:
        try_next(checks, options)
    if wants("stacks") and options.corpus:
        try_stacks(checks, options)
    elif wants("stacks"):
        checks.skip("stacks", "there is no corpus here; name one with --corpus")
    checks.finish()


if __name__ == "__main__":
    main()
