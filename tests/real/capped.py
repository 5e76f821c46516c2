#!/usr/bin/env python3
"""Trains on a GPU of which torch may reserve only a part, one process for each case: does a training that `zlaunch fit` says fits train?

usage: capped.py CASES SEEN [--room GB] [--seconds N] [--from N]      both files: a JSON object a line; `capped_cases.py` makes the first

A case says the model's config.json (`config`), the DeepSpeed config (`ds`), `dtype`, `optim`, `mb`, `seq`, `gc`, `lora`, `ga`, `algorithm` (of TRL),
`bits`, `liger`, `patches` (of images, in each sample), `alloc` (the allocator's variable), `ranks` (this process is rank 0 of that many; `one_of_many.py`
beside this file), and `cap`: the bytes torch may reserve. `moments` asks for the peak of each part of a step. Parameters are zero, which a run
checks by its finite losses and that no step was skipped.
"""
import argparse
import gc
import importlib
import json
import os
import resource
import select
import sys
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
os.environ.update(PYTORCH_NVML_BASED_CUDA_CHECK="1", DS_SKIP_CUDA_CHECK="1", TRANSFORMERS_VERBOSITY="error", TORCH_CUDA_ARCH_LIST="9.0", HF_HUB_OFFLINE="1")
os.environ.setdefault("TORCH_EXTENSIONS_DIR", "/tmp/ext")

import torch  # noqa: E402
from transformers import AutoConfig  # noqa: E402

# GB of the host's memory that are used at once.
HOST_ROOM = 110
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


# The trainers of TRL: module, name, and whether they take a reference model.
ALGORITHMS = {"dpo": ("trl", "DPO", True), "kto": ("trl.experimental.kto", "KTO", True), "orpo": ("trl.experimental.orpo", "ORPO", False),
              "cpo": ("trl.experimental.cpo", "CPO", False), "reward": ("trl", "Reward", False), "grpo": ("trl", "GRPO", False)}


class Tokens(torch.utils.data.Dataset):
    def __init__(self, length, patches=0):
        self.length, self.patches = length, patches

    def __len__(self):
        return 4096

    def __getitem__(self, index):
        ids = torch.randint(0, 900, (self.length,), generator=torch.Generator().manual_seed(index))
        if not self.patches:
            return {"input_ids": ids, "labels": ids}
        # One image of Qwen 2.5 VL: four patches are one token, and three channels, two moments and 14 × 14 pixels are a patch.
        side = int(self.patches ** 0.5) // 2 * 2
        ids[1:1 + side * side // 4] = IMAGE_TOKEN
        return {"input_ids": ids, "labels": ids, "pixel_values": torch.zeros(side * side, 3 * 2 * 14 * 14), "image_grid_thw": torch.tensor([[1, side, side]])}


IMAGE_TOKEN = 151655


def join_images(samples):
    images = {"pixel_values", "image_grid_thw"}
    return {key: (torch.cat if key in images else torch.stack)([sample[key] for sample in samples]) for key in samples[0]}


def make_model(case):
    from transformers import AutoModelForCausalLM, AutoModelForImageTextToText, AutoModelForSequenceClassification, initialization
    config = AutoConfig.for_model(**case["config"])
    config._attn_implementation = "sdpa"
    kind = AutoModelForImageTextToText if hasattr(config, "vision_config") else AutoModelForCausalLM
    if case.get("algorithm") == "reward":
        kind, config.num_labels, config.pad_token_id = AutoModelForSequenceClassification, 1, 900
    with initialization.no_init_weights():
        model = kind.from_config(config, dtype=DTYPES[case.get("dtype", "bf16")])
    model.tie_weights()
    with torch.no_grad():
        for parameter in model.parameters():
            (parameter.ds_tensor if hasattr(parameter, "ds_tensor") else parameter.data).zero_()
    return model


def quantised(model, out):
    """Loaded again in four bits, as QLoRA does it."""
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig
    model.save_pretrained(out)
    bits = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16)
    return AutoModelForCausalLM.from_pretrained(out, quantization_config=bits, dtype=torch.bfloat16, device_map={"": 0})


def with_adapters(model, rank):
    from peft import LoraConfig, get_peft_model
    model = get_peft_model(model, LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear"))
    model.enable_input_require_grads()
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


def arguments(case, out, ds):
    dtype = case.get("dtype", "bf16")
    return dict(output_dir=out, deepspeed=ds, bf16=dtype == "bf16", fp16=dtype == "fp16", per_device_train_batch_size=case.get("mb", 1), gradient_accumulation_steps=case.get("ga", 2),
                max_steps=case.get("steps", 5), learning_rate=1e-5, max_grad_norm=1.0, gradient_checkpointing=case.get("gc", True), report_to="none", save_strategy="no", disable_tqdm=True,
                logging_steps=1, optim=case.get("optim", "adamw_torch_fused"), use_liger_kernel=case.get("liger", False))


def own_port():
    """One for each process: those that the kernel hands out can be taken a moment later."""
    return 20000 + os.getpid() % 10000


def set_up(case):
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = case.get("alloc", "")
    os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(own_port()))
    if case.get("ranks", 1) > 1:
        os.environ.update(ONE_OF_MANY=str(case["ranks"]), ONE_OF_MANY_LOCAL=str(min(case["ranks"], 8)))
        import one_of_many  # noqa: F401
        import deepspeed
        deepspeed.init_distributed()
    if case.get("cap"):
        torch.cuda.set_per_process_memory_fraction(case["cap"] / torch.cuda.get_device_properties(0).total_memory)


def make_trainer(case, out, times):
    # Imported here: some of it starts CUDA, which no fork survives.
    from transformers import Trainer, TrainerCallback, TrainingArguments

    class Times(TrainerCallback):
        def on_step_end(self, *_, **__):
            torch.cuda.synchronize()
            times.append(time.monotonic())
    given, length = arguments(case, out, case.get("ds")), case.get("seq", 512)
    if case.get("algorithm"):
        return preference_trainer(case, given, length, [Times()])
    config = TrainingArguments(**given)
    model = make_model(case)
    if case.get("bits"):
        model = quantised(model, f"{out}-model")
    if case.get("lora"):
        model = with_adapters(model, case["lora"])
    more = {"data_collator": join_images} if case.get("patches") else {}
    return Trainer(model=model, args=config, train_dataset=Tokens(length, case.get("patches", 0)), callbacks=[Times()], **more)


def preference_trainer(case, given, length, callbacks):
    module, name, has_reference = ALGORITHMS[case["algorithm"]]
    module = importlib.import_module(module)
    own = {"max_completion_length": length // 2, "num_generations": 2} if name == "GRPO" else {"max_length": length}
    config = getattr(module, f"{name}Config")(**given, **own)
    model, rank = make_model(case), case.get("lora")
    more = {"ref_model": make_model(case)} if has_reference and not rank else {}
    if name == "GRPO":
        more["reward_funcs"] = lambda completions, **_: [float(n % 2) for n in range(len(completions))]
    tokenizer, pairs = preferences(length)
    if rank:
        from peft import LoraConfig
        more["peft_config"] = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear")
    return getattr(module, f"{name}Trainer")(model=model, args=config, processing_class=tokenizer, train_dataset=pairs, callbacks=callbacks, **more)


def watch_moments(seen):
    """Notes the allocated peak of the forward pass, the backward pass and the step apart, and of what comes before each of them."""
    from deepspeed.runtime.engine import DeepSpeedEngine

    def note(moment):
        seen[moment] = max(seen.get(moment, 0), torch.cuda.max_memory_allocated())
        torch.cuda.reset_peak_memory_stats()

    def watched(name, call):
        def watching(*words, **more):
            note(f"before {name}")
            result = call(*words, **more)
            note(name)
            return result
        return watching
    for name in ("forward", "backward", "step"):
        setattr(DeepSpeedEngine, name, watched(name, getattr(DeepSpeedEngine, name)))


def train(case, out):
    set_up(case)
    times, moments = [], {}
    if case.get("moments"):
        watch_moments(moments)
    trainer = make_trainer(case, out, times)
    model = trainer.model
    count = lambda trained: sum(getattr(p, "ds_numel", p.numel()) for p in model.parameters() if p.requires_grad or not trained)  # noqa: E731
    params, trainable = count(False), count(True)
    gc.collect()
    torch.cuda.reset_peak_memory_stats()
    trainer.train()
    losses = [row["loss"] for row in trainer.state.log_history if "loss" in row]
    free, total = torch.cuda.mem_get_info()
    return {"trained": len(losses) == case.get("steps", 5), "params": params, "trainable": trainable, "peak_alloc": max([torch.cuda.max_memory_allocated(), *moments.values()]), "moments": moments, "peak_reserved": torch.cuda.max_memory_reserved(),
            "device_used": total - free, "retries": torch.cuda.memory_stats()["num_alloc_retries"], "host_peak_rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "finite": all(loss == loss and abs(loss) < 1e6 for loss in losses), "skipped": getattr(getattr(trainer, "deepspeed", None), "skipped_steps", None),
            "step_s": [round(b - a, 4) for a, b in zip(times, times[1:])]}


def child(case, write):
    log = os.open(f"/tmp/log-{os.getpid()}", os.O_CREAT | os.O_WRONLY)
    os.dup2(log, 1)
    os.dup2(log, 2)
    start = time.monotonic()
    try:
        seen = train(case, f"/tmp/out-{os.getpid()}")
    except BaseException as why:  # noqa: BLE001
        seen = {"trained": False, "failed": f"{type(why).__name__}: {why}"[:160], "where": traceback.format_exc()[-1500:]}
        if isinstance(why, torch.cuda.OutOfMemoryError) and not case.get("moments"):
            seen.pop("where")
    os.write(write, json.dumps({**case, **seen, "secs": round(time.monotonic() - start, 1)}).encode() + b"\n")
    os._exit(0)


def run(cases, out, room, seconds, processes):
    """Several at a time, as many as there is room for by their caps."""
    start, running, waiting = time.monotonic(), {}, list(cases)
    while waiting or running:
        used, on_host = (sum(case[what] for case, *_ in running.values()) for what in ("gb", "host_gb"))
        fits = waiting and used + waiting[0]["gb"] <= room and on_host + waiting[0]["host_gb"] <= HOST_ROOM and len(running) < processes
        if waiting and (not running or fits) and time.monotonic() - start < seconds:
            case = waiting.pop(0)
            read, write = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.close(read)
                child(case, write)
            os.close(write)
            running[read] = (case, pid, time.monotonic())
            continue
        if not running:
            break
        for ready in select.select(list(running), [], [], 3)[0]:
            case, pid, _ = running.pop(ready)
            with os.fdopen(ready, "rb") as pipe:
                line = pipe.read()
            os.waitpid(pid, 0)
            out.write((line or json.dumps({**case, "trained": False, "failed": "ended without a word"}).encode() + b"\n").decode())
        for case, pid, began in running.values():
            if time.monotonic() - began > case.get("patience", 180):
                os.kill(pid, 9)
    print(f"{len(cases) - len(waiting)} of {len(cases)} in {time.monotonic() - start:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases")
    parser.add_argument("seen")
    parser.add_argument("--room", type=float, default=130, help="GB of the GPU that are used at once")
    parser.add_argument("--seconds", type=float, default=540)
    parser.add_argument("--processes", type=int, default=9, help="trainings at once")
    parser.add_argument("--from", dest="first", type=int, default=0)
    options = parser.parse_args()
    sys.path.insert(0, str(HERE))
    cases = [json.loads(line) for line in open(options.cases)][options.first:]
    assert not torch.cuda.is_initialized()
    with open(options.seen, "a", buffering=1) as out:
        run(cases, out, options.room, options.seconds, options.processes)


if __name__ == "__main__":
    main()
