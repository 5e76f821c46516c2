#!/usr/bin/env python3
"""Does a training that `zlaunch fit` says fits train? Trainings that nobody chose, on a GPU of which torch may reserve only a part, one process for each.

usage: capped.py --draw > cases.jsonl             on any machine: the trainings, each with the GPU on which `fit` says that it just fits
       capped.py --run cases.jsonl >> seen.jsonl  on a machine with a GPU, torch, transformers, DeepSpeed, TRL and PEFT
       capped.py --judge seen.jsonl               what became of the verdicts

Each training is drawn: model, template, tuner, algorithm, optimizer, dtype, batch, length, checkpointing. It is run on the smallest GPU that is called `fits`
(`expects: trains`), and on one that is 5 % smaller than the smallest called `tight` (`expects: fails`). `auto` is asked for GPUs of 24 and 40 GiB: the template it
takes must train, and the next faster one must not. `--measured` draws the trainings whose peaks are in tests/data/memory-h200.jsonl, without a limit. Parameters are
zero, which a run checks by its finite losses and that no step was skipped.
"""
import collections
import gc
import importlib
import json
import os
import random
import resource
import select
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from harness import HERE, Arguments

# Context and libraries, as seen on the GPU: device used − reserved.
OUTSIDE = 1_800_000_000
EXPANDABLE = "expandable_segments:True"
TEMPLATES = ["zero0", "zero1", "zero2", "zero2_offload", "zero3", "zero3_offload"]
GIB = 1 << 30
ROWS = [json.loads(line) for line in (HERE / "cases/models.jsonl").read_text().splitlines()[1:]]
CONFIGS = {name: config for row in ROWS if isinstance(row, dict) for name, config in row.items()}
MEASURED = [row for row in ROWS if isinstance(row, list)]
# Without those that are only measured, want several GPUs or look at images.
MODELS = [name for name in CONFIGS if name not in {"llama-8b", "vl", *(row[0] for row in MEASURED)}]
OPTIMIZERS = ["adamw_torch_fused"] * 3 + ["adamw_torch"] * 3 + ["adafactor", "sgd", "adamw_8bit", "lion_32bit", "rmsprop", "lion_8bit"]
# What people change in a config.
CHANGES = {"zero2": [{"reduce_bucket_size": 200_000_000}, {"overlap_comm": True, "reduce_bucket_size": 500_000_000}, {"contiguous_gradients": False}],
           "zero3": [{"sub_group_size": 200_000_000}, {"stage3_max_live_parameters": 100_000_000, "stage3_max_reuse_distance": 100_000_000}, {"reduce_bucket_size": 500_000_000}],
           "zero3_offload": [{"sub_group_size": 100_000_000}]}
# The trainers of TRL: module, name, and whether they take a reference model.
ALGORITHMS = {"dpo": ("trl", "DPO", True), "kto": ("trl.experimental.kto", "KTO", True), "orpo": ("trl.experimental.orpo", "ORPO", False),
              "cpo": ("trl.experimental.cpo", "CPO", False), "reward": ("trl", "Reward", False)}
# For `auto`: GiB of the GPU, model, and what is said besides; from the fastest template on.
AUTO = [(24, "llama-c", {}), (24, "neox", {"optim": "adamw_torch"}), (40, "moe", {"seq": 2048})]
ORDER = ["zero0", "zero3", "zero2_offload", "zero3_offload"]
# GB of the GPU and of the host's memory that are used at once, trainings at once, and seconds that one may take.
ROOM, HOST_ROOM, AT_ONCE, PATIENCE = 130, 110, 9, 180


# Drawing.


def draw(rng):
    model, template = rng.choice(MODELS), rng.choice(TEMPLATES + ["zero1", "zero2", "zero2", "zero3"])
    case = dict(name=model, template=template, seq=rng.choice([256, 512, 768, 1024, 2048, 3072]), mb=rng.choice([1, 1, 2, 3, 4]), gc=rng.random() < 0.75, ga=rng.choice([1, 2, 2, 4]))
    if rng.random() < 0.3:
        case["lora"] = rng.choice([8, 16, 64])
    if rng.random() < 0.2 and model != "gemma3":
        # transformers has no classifier of Granite's.
        case["algorithm"] = rng.choice([name for name in ALGORITHMS if name != "reward" or model != "granite"])
        case["mb"] = max(case["mb"], 2) if case["algorithm"] == "kto" else case["mb"]
    offloads = "offload" in template
    case["optim"] = "adamw_torch_fused" if offloads else rng.choice(OPTIMIZERS)
    case["dtype"] = "bf16" if "algorithm" in case or offloads else rng.choice(["bf16", "bf16", "bf16", "fp16", "fp32"])
    if rng.random() < 0.3:
        case["set"] = rng.choice(CHANGES.get(template, [{}]))
    return case


class Zlaunch:
    def __init__(self, binary):
        self.binary, self.folder = binary, Path(tempfile.mkdtemp())
        for name, config in CONFIGS.items():
            self.write(f"{name}/config.json", json.dumps(config))

    def write(self, name, text):
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / name).write_text(text)
        return self.folder / name

    def ask(self, *words):
        return json.loads(subprocess.run([self.binary, *map(str, words)], capture_output=True, text=True, env={**os.environ, "PYTORCH_CUDA_ALLOC_CONF": EXPANDABLE}).stdout)

    def config(self, case):
        config = self.ask("templates", case["template"])
        config["zero_optimization"].update(case.get("set", {}))
        return config

    def fit(self, case, memory="200GiB"):
        model = self.folder / case["name"]
        words = ["fit", "--format", "json", "--gpus", 1, "--gpu-memory", memory, "--host-memory", "4TiB", "--model", model, "--seq-len", case["seq"], "--micro-batch", case["mb"],
                 "--grad-accum", case["ga"], "--optimizer", case["optim"], "--dtype", case["dtype"], "--gradient-checkpointing", str(case["gc"]).lower()]
        words += ["--tuner", "lora", "--lora-rank", case["lora"]] if "lora" in case else ["--tuner", "full"]
        if case.get("set"):
            words += ["--deepspeed", self.write("own.json", json.dumps(self.config(case)))]
        if case.get("algorithm"):
            # TRL's examples name the algorithm in their file.
            script = self.write(f"{case['algorithm']}.py", "from transformers import HfArgumentParser, TrainingArguments\nparser = HfArgumentParser(TrainingArguments)\n")
            words += ["--", script, "--model_name_or_path", model]
        return self.ask(*words)

    def row(self, case):
        name = "own" if case.get("set") else case["template"]
        return next(row for row in self.fit(case)["rows"] if row["template"] == name)

    def capped(self, case, row, size, expects, **more):
        host = row["host_bytes"] if "offload" in case["template"] else 4_000_000_000
        return {**case, **more, "expects": expects, "config": CONFIGS[case["name"]], "ds": self.config(case), "alloc": EXPANDABLE, "cap": size - OUTSIDE, "gb": round((size - OUTSIDE) / 1e9 + 1, 1),
                "host_gb": round(host / 1e9, 1)}


def drawn(zlaunch, rng, count):
    seen, trains, fails = collections.Counter(), [], []
    while len(trains) < count:
        case = draw(rng)
        row, template = zlaunch.row(case), case["template"]
        # A minute of GPU for all of them, and every template as often.
        if 4e9 < row["allocated_bytes"] < 26e9 and seen[template] <= (4 if "offload" in template else count / 5):
            seen[template] += 1
            trains.append(zlaunch.capped(case, row, row["fits_from_bytes"], "trains", said=row["allocated_bytes"]))
            fails.append(zlaunch.capped(case, row, int(row["gpu_bytes"] * 0.95), "fails", said=row["allocated_bytes"]))
    return trains + fails


def chosen(zlaunch):
    for size, model, more in AUTO:
        case = dict(name=model, seq=1024, mb=1, gc=True, ga=2, optim="adamw_torch_fused", dtype="bf16") | more
        template = zlaunch.fit(case, f"{size}GiB")["recommended"]
        for name, expects in [(template, "trains"), *((name, "fails") for name in ORDER[:ORDER.index(template)][-1:])]:
            own = {**case, "template": name}
            yield zlaunch.capped(own, zlaunch.row(own), size * GIB, expects, auto=size)


def measured(zlaunch):
    """One at a time."""
    for model, template, micro, length, checkpointing, rank in MEASURED:
        case = {"name": model, "template": template, "mb": micro, "seq": length, "gc": checkpointing, "lora": rank, "steps": 3}
        yield case | {"config": CONFIGS[model], "ds": zlaunch.config(case) if template != "none" else None, "gb": ROOM, "host_gb": 100}


def judge(path):
    rows = [json.loads(line) for line in open(path)]
    for what, wanted in (("trains", True), ("fails", False)):
        own = [row for row in rows if row["expects"] == what and "auto" not in row]
        print(f"expected that it {what}: {sum(row['trained'] == wanted for row in own)} of {len(own)}")
    errors = sorted(100 * (row["said"] / row["peak_alloc"] - 1) for row in rows if row["trained"] and row["expects"] == "trains" and "said" in row)
    if errors:
        print(f"peak within 3 %: {sum(abs(error) <= 3 for error in errors)} of {len(errors)}; from {errors[0]:+.1f} to {errors[-1]:+.1f} %")
    for row in rows:
        if "auto" in row:
            print(f"auto, {row['auto']} GiB, {row['name']}: {row['template']} {'trains' if row['trained'] else 'does not train'}")
        if row["trained"] != (row["expects"] == "trains"):
            print("otherwise:", json.dumps({key: value for key, value in row.items() if key not in ("config", "ds", "where")}))


# Running. What it imports of torch is imported in the process of a training: some of it starts CUDA, which no fork survives.


def tokens(length):
    import torch
    return [{"input_ids": ids, "labels": ids} for ids in (torch.randint(0, 900, (length,), generator=torch.Generator().manual_seed(index)) for index in range(256))]


def make_model(case):
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSequenceClassification, initialization
    config = AutoConfig.for_model(**case["config"])
    config._attn_implementation = "sdpa"
    kind = AutoModelForCausalLM
    if case.get("algorithm") == "reward":
        kind, config.num_labels, config.pad_token_id = AutoModelForSequenceClassification, 1, 900
    with initialization.no_init_weights():
        model = kind.from_config(config, dtype={"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[case.get("dtype", "bf16")])
    model.tie_weights()
    with torch.no_grad():
        for parameter in model.parameters():
            (parameter.ds_tensor if hasattr(parameter, "ds_tensor") else parameter.data).zero_()
    return model


def preferences(length):
    """A tokenizer of a thousand words, and pairs of answers."""
    from datasets import Dataset
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    words = Tokenizer(models.WordLevel({**{f"w{n}": n for n in range(900)}, "[PAD]": 900, "[EOS]": 901}, unk_token="[PAD]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]", eos_token="[EOS]")
    half = length // 2
    text = lambda start, count: " ".join(f"w{(start + n) % 900}" for n in range(count))  # noqa: E731
    rows = [{"prompt": text(n, half), "chosen": " " + text(n + 1, length - half - 1), "rejected": " " + text(n + 2, length - half - 1)} for n in range(64)]
    return tokenizer, Dataset.from_list(rows)


def make_trainer(case, out):
    from transformers import Trainer, TrainingArguments
    dtype, length, rank = case.get("dtype", "bf16"), case.get("seq", 512), case.get("lora")
    given = dict(output_dir=out, deepspeed=case.get("ds"), bf16=dtype == "bf16", fp16=dtype == "fp16", per_device_train_batch_size=case.get("mb", 1), gradient_accumulation_steps=case.get("ga", 2),
                 max_steps=case.get("steps", 5), learning_rate=1e-5, max_grad_norm=1.0, gradient_checkpointing=case.get("gc", True), report_to="none", save_strategy="no", disable_tqdm=True,
                 logging_steps=1, optim=case.get("optim", "adamw_torch_fused"))
    if rank:
        from peft import LoraConfig, get_peft_model
        adapters = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear")
    if not case.get("algorithm"):
        config, model = TrainingArguments(**given), make_model(case)
        if rank:
            model = get_peft_model(model, adapters)
            model.enable_input_require_grads()
        return Trainer(model=model, args=config, train_dataset=tokens(length))
    module, name, has_reference = ALGORITHMS[case["algorithm"]]
    module = importlib.import_module(module)
    config, model = getattr(module, f"{name}Config")(**given, max_length=length), make_model(case)
    more = {"peft_config": adapters} if rank else {"ref_model": make_model(case)} if has_reference else {}
    tokenizer, pairs = preferences(length)
    return getattr(module, f"{name}Trainer")(model=model, args=config, processing_class=tokenizer, train_dataset=pairs, **more)


def train(case, out):
    # A port for each process: those that the kernel hands out can be taken a moment later.
    os.environ.update(PYTORCH_NVML_BASED_CUDA_CHECK="1", DS_SKIP_CUDA_CHECK="1", TRANSFORMERS_VERBOSITY="error", TORCH_CUDA_ARCH_LIST="9.0", HF_HUB_OFFLINE="1", RANK="0", LOCAL_RANK="0",
                      WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(20000 + os.getpid() % 10000), PYTORCH_CUDA_ALLOC_CONF=case.get("alloc", ""))
    os.environ.setdefault("TORCH_EXTENSIONS_DIR", "/tmp/ext")
    import torch
    if case.get("cap"):
        torch.cuda.set_per_process_memory_fraction(case["cap"] / torch.cuda.get_device_properties(0).total_memory)
    trainer = make_trainer(case, out)
    count = lambda trained: sum(getattr(p, "ds_numel", p.numel()) for p in trainer.model.parameters() if p.requires_grad or not trained)  # noqa: E731
    params, trainable = count(False), count(True)
    gc.collect()
    torch.cuda.reset_peak_memory_stats()
    trainer.train()
    losses = [row["loss"] for row in trainer.state.log_history if "loss" in row]
    return {"trained": len(losses) == case.get("steps", 5), "params": params, "trainable": trainable, "peak_alloc": torch.cuda.max_memory_allocated(), "peak_reserved": torch.cuda.max_memory_reserved(),
            "host_peak_rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, "finite": all(loss == loss and abs(loss) < 1e6 for loss in losses),
            "skipped": getattr(getattr(trainer, "deepspeed", None), "skipped_steps", None)}


def child(case, write):
    log = os.open(f"/tmp/log-{os.getpid()}", os.O_CREAT | os.O_WRONLY)
    os.dup2(log, 1)
    os.dup2(log, 2)
    try:
        seen = train(case, f"/tmp/out-{os.getpid()}")
    except BaseException as why:  # noqa: BLE001
        short = {} if "OutOfMemory" in type(why).__name__ else {"where": traceback.format_exc()[-1500:]}
        seen = {"trained": False, "failed": f"{type(why).__name__}: {why}"[:160], **short}
    os.write(write, json.dumps({**case, **seen}).encode() + b"\n")
    os._exit(0)


def run(waiting, out):
    """Several at a time, as many as there is room for by their caps."""
    running = {}
    while waiting or running:
        used, on_host = (sum(case[what] for case, *_ in running.values()) for what in ("gb", "host_gb"))
        fits = waiting and used + waiting[0]["gb"] <= ROOM and on_host + waiting[0]["host_gb"] <= HOST_ROOM and len(running) < AT_ONCE
        if waiting and (fits or not running):
            case = waiting.pop(0)
            read, write = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.close(read)
                child(case, write)
            os.close(write)
            running[read] = (case, pid, time.monotonic())
            continue
        for ready in select.select(list(running), [], [], 3)[0]:
            case, pid, _ = running.pop(ready)
            with os.fdopen(ready, "rb") as pipe:
                line = pipe.read()
            os.waitpid(pid, 0)
            print((line or json.dumps({**case, "trained": False, "failed": "ended without a word"}).encode()).decode().strip(), file=out, flush=True)
        for _, pid, began in running.values():
            if time.monotonic() - began > PATIENCE:
                os.kill(pid, 9)


def main():
    parser = Arguments(__doc__, "bin")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--draw", action="store_true")
    action.add_argument("--measured", action="store_true")
    action.add_argument("--run", metavar="CASES")
    action.add_argument("--judge", metavar="SEEN")
    parser.add_argument("--seed", type=int, default=16)
    parser.add_argument("--count", type=int, default=62)
    options = parser.parse_args()
    if options.judge:
        return judge(options.judge)
    if options.run:
        return run([json.loads(line) for line in open(options.run)], sys.stdout)
    zlaunch = Zlaunch(str(options.bin))
    for case in measured(zlaunch) if options.measured else [*chosen(zlaunch), *drawn(zlaunch, random.Random(options.seed), options.count)]:
        print(json.dumps(case))
    return None


if __name__ == "__main__":
    main()
