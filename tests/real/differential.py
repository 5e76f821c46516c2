#!/usr/bin/env python3
"""The law, by generated cases: with zlaunch in front, the real HF Trainer reaches `deepspeed.initialize` with the same
config as alone, or refuses on both sides, in every line of transformers. The cases follow from the seed; a case's name is its
number, and with names its answers are printed.
"""
import collections
import concurrent.futures
import json
import random
import re
import subprocess
import tempfile
from pathlib import Path

from harness import HERE, Arguments, Checks, environment, in_parallel
from lab import answers, variables, versions

MAIN = "main"
# The environments, and how many cases each gets; the first one is the main one. `tests/real/setup NAME` makes them.
STACKS = {MAIN: 5000, "early-2024": 1000, "transformers-4.41": 1000, "transformers-4.41-accelerate-1.1": 1000, "transformers-4.46": 1000,
          "early-2025": 1000, "transformers-4.51": 1000, "older": 1000, "transformers-4.57": 1000, "early-2026": 1000}
ROWS = [json.loads(line) for line in (HERE / "cases/differential.jsonl").read_text().splitlines()[1:]]
MODELS, ARGUMENTS = [row for row in ROWS if isinstance(row, dict)], dict(row for row in ROWS if isinstance(row, list))
USUAL = {"per_device_train_batch_size", "gradient_accumulation_steps", "max_grad_norm", "learning_rate", "bf16"}


def arguments(rng, underscores):
    """`underscores`: how often a name is written with them."""
    words = []
    for name, values in ARGUMENTS.items():
        for _ in range(rng.choice([1, 1, 1, 2]) if rng.random() < (0.6 if name in USUAL else 0.2) else 0):
            # Mostly what works, or every case would be a refusal.
            value = rng.choice(values) if rng.random() < 0.03 else rng.choice([v for v in values if v is None or v.replace(".", "").replace("-", "").replace("e", "").isdigit() or v in ("true", "True", "false", "yes", "no")])
            spelled = name if rng.random() < underscores else name.replace("_", "-")
            if value is None:
                words.append(f"--{spelled}")
            elif rng.random() < 0.3:
                words.append(f"--{spelled}={value}")
            else:
                words += [f"--{spelled}", value]
    return words


def given(words, name, default):
    for at in range(len(words) - 1, -1, -1):
        word, _, value = words[at].partition("=")
        if word[2:].replace("-", "_") == name:
            return value if "=" in words[at] else words[at + 1] if at + 1 < len(words) else default
    return default


def number(text, kind, default):
    try:
        return kind(text)
    except ValueError:
        return default


def choose(rng, right, wrong):
    """Mostly "auto", else a value that agrees, or one that does not."""
    draw = rng.random()
    return "auto" if draw < 0.8 else right if draw < 0.97 else rng.choice(wrong)


def config(rng, words, world):
    micro = number(given(words, "per_device_train_batch_size", "8"), int, 8)
    steps = number(given(words, "gradient_accumulation_steps", "1"), int, 1)
    clip = number(given(words, "max_grad_norm", "1.0"), float, 1.0)
    rate = number(given(words, "learning_rate", "5e-5"), float, 5e-5)
    made = {}

    def maybe(section, key, value, chance):
        if rng.random() < chance:
            section[key] = value

    maybe(made, "train_batch_size", choose(rng, micro * steps * world, [1, 60, str(micro * steps * world), None]), 0.8)
    maybe(made, "train_micro_batch_size_per_gpu", choose(rng, micro, [3, str(micro), float(micro), 0]), 0.99)
    maybe(made, "gradient_accumulation_steps", choose(rng, steps, [5, str(steps), None]), 0.9)
    maybe(made, "gradient_clipping", choose(rng, clip, [0.3, str(clip), None, True]), 0.85)
    maybe(made, "steps_per_print", rng.choice([2000, "auto", 10]), 0.5)
    for precision in ("fp16", "bf16"):
        if rng.random() < 0.85:
            made[precision] = {"enabled": choose(rng, False, [True, "true", 1])}
            maybe(made[precision], "loss_scale" if precision == "fp16" else "check_grad_overflow", 0, 0.2)
    zero = {"stage": rng.choice([0, 1, 2, 2, 3, 3, 3, "auto"])}
    maybe(zero, "reduce_bucket_size", rng.choice(["auto", "auto", 2e8, 12345]), 0.7)
    maybe(zero, "stage3_prefetch_bucket_size", rng.choice(["auto", "auto", 1e7]), 0.5)
    maybe(zero, "stage3_param_persistence_threshold", rng.choice(["auto", "auto", 1e5]), 0.5)
    maybe(zero, "stage3_gather_16bit_weights_on_model_save", rng.choice(["auto", True, False]), 0.4)
    maybe(zero, "overlap_comm", rng.choice([True, False, False, "auto"]), 0.1)
    maybe(zero, "allgather_bucket_size", rng.choice([2e8, 5e8, "auto"]), 0.06)
    for part in ("offload_optimizer", "offload_param"):
        if rng.random() < 0.3:
            zero[part] = {"device": rng.choice(["auto", "none", "cpu"])}
            maybe(zero[part], "nvme_path", rng.choice(["auto", "/nvme"]), 0.3)
            maybe(zero[part], "pin_memory", rng.choice([True, True, "auto"]), 0.1)
    maybe(made, "zero_optimization", zero, 0.99)
    if rng.random() < 0.35:
        parameters = {}
        maybe(parameters, "lr", choose(rng, rate, [0.5, str(rate)]), 0.9)
        maybe(parameters, "betas", choose(rng, [number(given(words, "adam_beta1", "0.9"), float, 0.9), number(given(words, "adam_beta2", "0.999"), float, 0.999)], [[0.5, 0.5], ["auto", "auto"]]), 0.6)
        maybe(parameters, "eps", choose(rng, number(given(words, "adam_epsilon", "1e-8"), float, 1e-8), [1e-3]), 0.6)
        maybe(parameters, "weight_decay", choose(rng, number(given(words, "weight_decay", "0"), float, 0.0), [0.7]), 0.6)
        made["optimizer"] = {"type": "AdamW", "params": parameters}
    if rng.random() < 0.3:
        parameters = {}
        total = number(given(words, "max_steps", "-1"), int, -1)
        maybe(parameters, "warmup_min_lr", rng.choice(["auto", 0, 1e-6]), 0.7)
        maybe(parameters, "warmup_max_lr", choose(rng, rate, [0.5]), 0.7)
        maybe(parameters, "warmup_num_steps", choose(rng, max(1, int(number(given(words, "warmup_steps", "0"), float, 0))), [33]), 0.8)
        maybe(parameters, "total_num_steps", choose(rng, total, [77]), 0.7)
        made["scheduler"] = {"type": "WarmupDecayLR", "params": parameters}
    maybe(made, "made_up_section", {"key": rng.choice([1, "auto", ["auto"]])}, 0.03)
    order = list(made)
    rng.shuffle(order)
    return {key: made[key] for key in order}


class Bench:
    """A folder with every model, and what both sides make of a case there."""

    def __init__(self, binary, env):
        self.binary, self.env = binary, env
        self.versions = versions(env, "transformers", "accelerate", "deepspeed")
        # Before 4.46 a name with dashes is refused, so it stands in few cases.
        major, minor = map(int, self.versions["transformers"].split(".")[:2])
        self.underscores = 0.7 if (major, minor) >= (4, 46) else 0.99
        asked = "from transformers import CONFIG_MAPPING as known, logging; logging.set_verbosity_error(); print(' '.join(known.keys()))"
        known = subprocess.run([env / "bin/python", "-c", asked], capture_output=True, text=True, check=True).stdout.split()
        self.known = [model for model in MODELS if model["model_type"] in known]
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        self.models = {}
        for number, model in enumerate(MODELS):
            folder = self.root / f"model-{number}"
            folder.mkdir()
            (folder / "config.json").write_text(json.dumps(model))
            self.models[json.dumps(model)] = str(folder)

    def case(self, seed, number):
        rng = random.Random(f"{seed}/{number}")
        words, world = arguments(rng, self.underscores), rng.choice([1, 2, 2, 4, 5, 8, 16])
        return {"number": number, "argv": words, "world": world, "config": config(rng, words, world), "model": rng.choice(self.known)}

    def planned(self, it):
        """What zlaunch makes of the case: a config, or its refusal."""
        run = lambda *more: subprocess.run(
            [self.binary, "--dry-run", "--format", "json", *more, "--deepspeed", json.dumps(it["config"]), "--nproc-per-node", str(it["world"]), "--",
             "python", "train.py", "--model_name_or_path", self.models[json.dumps(it["model"])], *it["argv"]],
            env=variables(self.env, self.root), cwd=self.root, capture_output=True, text=True)
        result = run()
        # What DeepSpeed itself refuses later is not seen here, where `deepspeed.initialize` is stood in for.
        rules = re.findall(r"^error\[([a-z0-9-]+)\]", result.stderr, re.MULTILINE)
        if rules:
            result = run(*(word for rule in rules for word in ("--allow", rule)))
        if result.returncode == 125 and "panicked" not in result.stderr:
            return {"refused": result.stderr}
        assert result.returncode == 0, (it, result.stderr)
        return {"config": json.loads(result.stdout)["config"]}

    def resolved(self, cases):
        """What the real trainer makes of many cases, by several processes."""
        workers = in_parallel()
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            found = list(pool.map(lambda at: answers(self.env, self.root, [HERE / "resolve.py"], cases[at::workers]), range(workers)))
        return [found[at % workers][at // workers] for at in range(len(cases))]


def compare(bench, count, options, checks):
    """Every case of an environment; how they ended."""
    cases = [bench.case(options.seed, number) for number in range(count) if checks.wants(str(number))]
    with concurrent.futures.ThreadPoolExecutor(in_parallel()) as pool:
        plans = list(pool.map(bench.planned, cases))
    planned = [(it, plan) for it, plan in zip(cases, plans) if "config" in plan]
    found = bench.resolved(cases + [dict(it, config=plan["config"]) for it, plan in planned])
    alone, through = found[:len(cases)], iter(found[len(cases):])
    outcomes = collections.Counter()
    for it, plan, own in zip(cases, plans, alone):
        ours = next(through) if "config" in plan else plan
        wrong = None
        if "config" in own and "config" in ours and own["config"] == ours["config"]:
            outcomes["equal"] += 1
        elif "refused" in own and "refused" in ours:
            outcomes["refused earlier" if "refused" in plan else "refused by both"] += 1
        else:
            wrong = f"the configs differ, {bench.versions}\n  {json.dumps(it)}\n  alone: {json.dumps(own)}\n  ours:  {json.dumps(ours)}"
        checks.judge(str(it["number"]), wrong)
        if options.names:
            print(*(json.dumps(part, indent=1) for part in (it, plan, own)), sep="\n")
    # Where the trainer refuses everything, nothing is compared.
    checks.judge("equal", len(cases) > 100 and outcomes["equal"] < len(cases) / 10 and f"of {len(cases)} cases {outcomes['equal']} reach deepspeed.initialize, {bench.versions}")
    return ", ".join(f"{count} {name}" for name, count in outcomes.items())


def main():
    parser = Arguments(__doc__, "bin", "names")
    parser.add_argument("--stack", action="append", choices=STACKS, metavar="NAME", help="an environment that tests/real/setup makes (default: all of them)")
    parser.add_argument("--cases", type=int, help="how many for each (default: 5000 for the main environment, 1000 for others)")
    parser.add_argument("--seed", default="zlaunch")
    options = parser.parse_args()
    checks = Checks(options.names)
    for stack in options.stack or STACKS:
        bench = Bench(options.bin, environment(*([] if stack == MAIN else [stack])))
        said = compare(bench, options.cases or STACKS[stack], options, checks)
        print(", ".join(f"{name} {version}" for name, version in bench.versions.items()) + f": {said}", flush=True)
    checks.finish()


if __name__ == "__main__":
    main()
