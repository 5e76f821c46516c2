#!/usr/bin/env python3
"""Trainings that nobody chose, with the GPU on which `zlaunch fit` says that they just fit, for `capped.py`: prints a JSON line a case.

usage: capped_cases.py [--bin ZLAUNCH] [--seed N] [--count N] > cases.jsonl
       capped_cases.py --judge SEEN      what became of the verdicts
       capped_cases.py --measured        instead, the trainings whose peaks are in tests/data/memory-h200.jsonl, without a limit

Each training is drawn: model, template, tuner, optimizer, dtype, batch, length, checkpointing, ranks. It is run on the smallest GPU that is called
`fits` (`expects: trains`), and on one that is 5 % smaller than the smallest called `tight` (`expects: fails`). `auto` is asked for GPUs of 24 to
80 GiB: the template it takes must train, and the next faster one must not.
"""
import collections
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import HERE, Arguments

# Context and libraries, as seen on the GPU: device used − reserved. With several ranks, what fit takes for NCCL.
OUTSIDE, NCCL = 1_800_000_000, 700_000_000
EXPANDABLE = "expandable_segments:True"
TEMPLATES = ["none", "zero0", "zero1", "zero2", "zero2_offload", "zero3", "zero3_offload"]
GIB = 1 << 30


ROWS = [json.loads(line) for line in (HERE / "cases/models.jsonl").read_text().splitlines()[1:]]
CONFIGS = {name: config for row in ROWS if isinstance(row, dict) for name, config in row.items()}
MEASURED = [row for row in ROWS if isinstance(row, list)]
# Those that are only for `auto`, and only measured.
MODELS = [name for name in CONFIGS if name != "llama-8b" and name not in {row[0] for row in MEASURED}]
# What a checkpoint's headers would say of the one with a vision tower.
WHOLE = {"vl": 1_408_723_648}
OPTIMIZERS = ["adamw_torch_fused"] * 3 + ["adamw_torch"] * 3 + ["adafactor", "sgd", "adamw_8bit", "lion_32bit", "rmsprop", "lion_8bit"]


# What people change in a config. The second needs several machines' worth of ranks.
CHANGES = {"zero2": [{"reduce_bucket_size": 200_000_000}, {"overlap_comm": True, "reduce_bucket_size": 500_000_000}, {"contiguous_gradients": False}],
           "zero3": [{"sub_group_size": 200_000_000}, {"stage3_max_live_parameters": 100_000_000, "stage3_max_reuse_distance": 100_000_000}, {"reduce_bucket_size": 500_000_000}],
           "zero3_offload": [{"sub_group_size": 100_000_000}]}
SECOND_COPY = [{"zero_hpz_partition_size": 2}, {"zero_hpz_partition_size": 8}]


def draw(rng):
    model, template = rng.choice(MODELS), rng.choice(TEMPLATES[1:] + ["zero1", "zero2", "zero2", "zero3"])
    case = dict(name=model, template=template, seq=rng.choice([256, 512, 768, 1024, 2048, 3072]), mb=rng.choice([1, 1, 2, 3, 4]), gc=rng.random() < 0.75, ga=rng.choice([1, 2, 2, 4]))
    if rng.random() < 0.3:
        case["lora"] = rng.choice([8, 16, 64])
    if rng.random() < 0.2 and model not in ("vl", "gemma3"):
        # transformers has no classifier of Granite's.
        case["algorithm"] = rng.choice(["dpo", "kto", "orpo", "cpo"] + (["reward"] if model != "granite" else []))
        case["mb"] = max(case["mb"], 2) if case["algorithm"] == "kto" else case["mb"]
    offloads = "offload" in template
    case["optim"] = "adamw_torch_fused" if offloads else rng.choice(OPTIMIZERS)
    case["dtype"] = "bf16" if "algorithm" in case or offloads else rng.choice(["bf16", "bf16", "bf16", "fp16", "fp32"])
    if template in ("zero1", "zero2", "zero3") and "algorithm" not in case and rng.random() < 0.3:
        case["ranks"] = rng.choice([2, 4, 8, 16])
    if "lora" in case and "algorithm" not in case and "ranks" not in case and template != "zero3" and not offloads and case["dtype"] == "bf16" and model.startswith(("llama", "qwen")) and rng.random() < 0.3:
        case["bits"] = 4
    if rng.random() < 0.3:
        case["set"] = rng.choice(CHANGES.get(template, [{}]) + (SECOND_COPY if template == "zero3" and case.get("ranks", 1) >= 8 else []))
    return case


class Zlaunch:
    def __init__(self, binary):
        self.binary, self.folder = binary, Path(tempfile.mkdtemp())
        for name, config in CONFIGS.items():
            (self.folder / name).mkdir()
            (self.folder / name / "config.json").write_text(json.dumps(config))

    def ask(self, *words):
        return subprocess.run([self.binary, *map(str, words)], capture_output=True, text=True, env={**os.environ, "PYTORCH_CUDA_ALLOC_CONF": EXPANDABLE}).stdout

    def config(self, case):
        if case["template"] == "none":
            return None
        config = json.loads(self.ask("templates", case["template"]))
        config["zero_optimization"].update(case.get("set", {}))
        return config

    def fit(self, case, memory="200GiB"):
        ranks = case.get("ranks", 1)
        words = ["fit", "--format", "json", "--nnodes", -(-ranks // 8), "--gpus", min(ranks, 8), "--gpu-memory", memory, "--host-memory", "4TiB", "--model", self.folder / case["name"], "--seq-len", case["seq"],
                 "--micro-batch", case["mb"], "--grad-accum", case["ga"], "--optimizer", case["optim"], "--dtype", case["dtype"], "--gradient-checkpointing", str(case["gc"]).lower()]
        if "lora" in case:
            words += ["--tuner", "qlora" if "bits" in case else "lora", "--lora-rank", case["lora"]]
        else:
            words += ["--tuner", "full"]
        if case["name"] in WHOLE:
            words += ["--params", WHOLE[case["name"]]]
        if case.get("set"):
            own = self.folder / "own.json"
            own.write_text(json.dumps(self.config(case)))
            words += ["--deepspeed", own]
        if case.get("algorithm"):
            words += ["--", self.script(case["algorithm"]), "--model_name_or_path", self.folder / case["name"]]
        return json.loads(self.ask(*words))

    def script(self, algorithm):
        """TRL's examples name the algorithm in their file."""
        script = self.folder / f"{algorithm}.py"
        script.write_text("from transformers import HfArgumentParser, TrainingArguments\nparser = HfArgumentParser(TrainingArguments)\n")
        return script

    def row(self, case):
        name = "own" if case.get("set") else case["template"]
        return next(row for row in self.fit(case)["rows"] if row["template"] == name)


def capped(zlaunch, case, size, expects, **more):
    cap = size - OUTSIDE - (NCCL if case.get("ranks", 1) > 1 else 0)
    return {**case, **more, "expects": expects, "config": CONFIGS[case["name"]], "ds": zlaunch.config(case), "alloc": EXPANDABLE, "size": size, "cap": cap, "gb": round(cap / 1e9 + 1, 1), "host_gb": round(more["host"] / 1e9, 1)}


def on_host(row, case):
    """Host memory of the one rank that is run."""
    return row["host_bytes"] // min(case.get("ranks", 1), 8) if "offload" in case["template"] else 4_000_000_000


def drawn(zlaunch, rng, count):
    seen, cases = collections.Counter(), []
    while len(cases) < 2 * count:
        case = draw(rng)
        row = zlaunch.row(case)
        # A minute of GPU for all of them, and every template as often.
        if not 4e9 < row["allocated_bytes"] < 26e9 or seen[case["template"]] > count / 5 or "offload" in case["template"] and seen[case["template"]] >= 5:
            continue
        seen[case["template"]] += 1
        said = {"said": row["allocated_bytes"], "host": on_host(row, case)}
        cases.append(capped(zlaunch, case, row["fits_from_bytes"], "trains", **said))
        cases.append(capped(zlaunch, case, int(row["gpu_bytes"] * 0.95), "fails", **said))
    return [case for case in cases if case["expects"] == "trains"] + [case for case in cases if case["expects"] == "fails"]


AUTO = [(24, "llama-c", {}), (24, "neox", {"optim": "adamw_torch"}), (40, "moe", {"seq": 2048}), (48, "vl", {}), (24, "llama-8b", {"ranks": 8}), (40, "llama-8b", {"ranks": 8}),
        (48, "llama-8b", {"ranks": 8}), (80, "llama-8b", {"ranks": 8})]
ORDERS = {1: ["zero0", "zero3", "zero2_offload", "zero3_offload"], 8: ["zero1", "zero2", "zero3", "zero2_offload", "zero3_offload"]}


def chosen(zlaunch):
    for size, model, more in AUTO:
        case = dict(name=model, seq=1024, mb=1, gc=True, ga=2, optim="adamw_torch_fused", dtype="bf16", **{})
        case.update(more)
        template = zlaunch.fit(case, f"{size}GiB")["recommended"]
        order = ORDERS[case.get("ranks", 1)]
        faster = order[:order.index(template)][-1:]
        for name, expects in [(template, "trains"), *((name, "fails") for name in faster)]:
            own = {**case, "template": name}
            yield capped(zlaunch, own, size * GIB, expects, auto=size, host=on_host(zlaunch.row(own), own))


def measured(zlaunch):
    """One at a time."""
    for model, template, micro, length, checkpointing, rank in MEASURED:
        case = {"model": model, "template": template, "mb": micro, "seq": length, "gc": checkpointing, "lora": rank, "steps": 3}
        yield case | {"config": CONFIGS[model], "ds": zlaunch.config(case), "gb": 130, "host_gb": 100}


def judge(path):
    rows = [json.loads(line) for line in open(path)]
    for what, wanted in (("trains", True), ("fails", False)):
        own = [row for row in rows if row["expects"] == what and "auto" not in row]
        right = [row for row in own if row["trained"] == wanted]
        print(f"expected that it {what}: {len(right)} of {len(own)}")
    trained = [row for row in rows if row["trained"] and row["expects"] == "trains" and "said" in row]
    errors = sorted((100 * (row["said"] / row["peak_alloc"] - 1), row["name"], row["template"]) for row in trained)
    near = sum(abs(error) <= 3 for error, *_ in errors)
    if errors:
        print(f"peak within 3 %: {near} of {len(errors)}; from {errors[0][0]:+.1f} to {errors[-1][0]:+.1f} %")
    for row in rows:
        if row["trained"] != (row["expects"] == "trains"):
            short = {key: value for key, value in row.items() if key not in ("config", "ds", "where", "step_s")}
            print("otherwise:", json.dumps(short))
    for row in rows:
        if "auto" in row:
            print(f"auto, {row['auto']} GiB, {row['name']}: {row['template']} {'trains' if row['trained'] else 'does not train'}")


def main():
    parser = Arguments(__doc__, "bin")
    parser.add_argument("--seed", type=int, default=16)
    parser.add_argument("--count", type=int, default=62)
    parser.add_argument("--judge", metavar="SEEN")
    parser.add_argument("--measured", action="store_true")
    options = parser.parse_args()
    if options.judge:
        return judge(options.judge)
    zlaunch = Zlaunch(str(options.bin))
    for case in measured(zlaunch) if options.measured else [*chosen(zlaunch), *drawn(zlaunch, random.Random(options.seed), options.count)]:
        print(json.dumps(case))
    return None


if __name__ == "__main__":
    sys.exit(main())
