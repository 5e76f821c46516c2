#!/usr/bin/env python3
"""`zlaunch rehearse` with the real trainers: each front end of FRONT_ENDS, and a sample of truth_cases.py.

A launch that works must never be refused, and should arrive at deepspeed.initialize. One that the trainer itself refuses must be refused by `check` or by
the rehearsal. How the real trainers end is found out and kept by truth_lab.py, and how long they take to the same point when a case is started cold.
"""
import collections
import concurrent.futures
import json
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import HERE, Arguments, Checks, in_parallel

# Of the truth cases these are about where a launch is started, and not about what the trainer says to it.
NOT_REHEARSED = {"prefix", "rank's variables", "variable"}
SWIFT = "--model model --model_type qwen2 --template qwen --dataset data.jsonl --torch_dtype bfloat16 --max_length 128 --dataset_num_proc 1"
HF = "--model_name_or_path model --output_dir out --bf16 true --max_steps 2"
TRL = "--model_name_or_path model --dataset_name data --output_dir out"
LLAMAFACTORY = "--model_name_or_path model --do_train true --dataset tiny --dataset_dir data --template qwen --output_dir out --bf16 true"
# By name: the environment, the command ({} stands for what is changed), and what the trainer refuses: a change and words of its message.
FRONT_ENDS = {
    "swift sft": ("", f"swift sft {SWIFT} --tuner_type full {{}}", ("--packing true", "packing")),
    "swift sft, LoRA": ("", f"swift sft {SWIFT} --tuner_type lora {{}}", ("--target_modules no_such_layer", "no_such_layer")),
    "swift pt": ("", f"swift pt {SWIFT} --tuner_type full {{}}", ("--lr_scheduler_type cosine_with_min_lr", "min_lr")),
    "swift rlhf": ("", f"swift rlhf --rlhf_type dpo {SWIFT.replace('data.jsonl', 'pairs.jsonl')} --tuner_type full {{}}", ("--loss_type no_such_loss", "no_such_loss")),
    "hf script": ("", f"python train.py {HF} {{}}", ("--lr_scheduler_type cosine_with_min_lr", "min_lr")),
    "trl sft": ("", f"trl sft {TRL} {{}}", ("--packing true --padding_free true --max_length 0", "")),
    "trl dpo": ("", f"trl dpo {TRL.replace('name data', 'name pairs')} {{}}", ("--loss_type no_such_loss", "no_such_loss")),
    "torchrun": ("", f"torchrun --nproc_per_node 4 train.py {HF} --deepspeed zero2.json {{}}", ("--fsdp no_such", "no_such")),
    "deepspeed": ("", f"deepspeed --num_gpus 4 train.py {HF} --deepspeed zero2.json {{}}", ("--optim no_such_optimizer", "no_such_optimizer")),
    "accelerate launch": ("", f"accelerate launch --use_deepspeed --deepspeed_config_file zero2.json --num_processes 4 train.py {HF} {{}}", ("--optim no_such", "no_such")),
    "plain DeepSpeed": ("", "deepspeed --num_gpus 4 plain.py --deepspeed --deepspeed_config plain.json {}", ("--size nothing", "invalid int value")),
    "swift sft, older": ("older", f"swift sft {SWIFT} --train_type full {{}}", ("--lr_scheduler_type cosine_with_min_lr", "min_lr")),
    "hf script, older": ("older", f"python train.py {HF} {{}}", ("--lr_scheduler_type cosine_with_min_lr", "min_lr")),
    "trl sft, older": ("older", f"trl sft {TRL} {{}}", ("--lr_scheduler_type cosine_with_min_lr", "min_lr")),
    "torchrun, older": ("older", f"torchrun --nproc_per_node 4 train.py {HF} --deepspeed zero2.json {{}}", ("--optim no_such", "no_such")),
    "llamafactory": ("llamafactory", f"llamafactory-cli train {LLAMAFACTORY} --stage sft --finetuning_type full {{}}", ("--optim no_such", "no_such")),
    "llamafactory, LoRA": ("llamafactory", f"llamafactory-cli train {LLAMAFACTORY} --stage sft --finetuning_type lora {{}}", ("--lora_target no_such_layer", "no_such_layer")),
    "llamafactory, remote code": ("llamafactory", f"llamafactory-cli train {LLAMAFACTORY.replace('model --', 'remote --')} --stage sft --finetuning_type full --trust_remote_code true {{}}", ("--trust_remote_code false", "trust_remote_code")),
    "axolotl": ("axolotl", "axolotl train run.yaml {}", ("--optimizer no_such_optimizer", "no_such_optimizer")),
    "axolotl, LoRA": ("axolotl", "axolotl train lora.yaml {}", ("--lora-target-modules no_such_layer", "no_such_layer")),
    "axolotl, its own config": ("axolotl", "accelerate launch --num_processes 4 -m axolotl.cli.train own.yaml {}", ("--batch_flattening true", "batch_flattening requires")),
    "axolotl, older": ("axolotl-older", "axolotl train run.yaml {}", ("--optimizer no_such_optimizer", "no_such_optimizer")),
    "axolotl, LoRA, older": ("axolotl-older", "axolotl train lora.yaml {}", ("--lora-target-modules no_such_layer", "no_such_layer")),
}
AXOLOTL = {"base_model": "model", "datasets": [{"path": "data.jsonl", "ds_type": "json", "type": "chat_template", "field_messages": "messages"}], "sequence_len": 128, "micro_batch_size": 2,
           "gradient_accumulation_steps": 4, "max_steps": 2, "learning_rate": 0.0001, "optimizer": "adamw_torch", "lr_scheduler": "cosine", "bf16": True, "output_dir": "out"}
AXOLOTL_FILES = {"run": {}, "lora": {"adapter": "lora", "lora_r": 8, "lora_alpha": 16, "lora_target_modules": ["q_proj", "v_proj"]}, "own": {"deepspeed": "zero2.json"}}
# These say how many ranks there are, and name their config.
OWN_LAUNCHER = ("torchrun", "deepspeed", "accelerate")
PLAIN = """
import argparse
import deepspeed, torch
parser = deepspeed.add_config_arguments(argparse.ArgumentParser())
parser.add_argument("--size", type=int, default=16)
parser.add_argument("--local_rank", type=int)
args = parser.parse_args()
model = torch.nn.Linear(args.size, 1)
engine, *_ = deepspeed.initialize(args=args, model=model, model_parameters=model.parameters())
engine.backward(engine(torch.ones(4, args.size, device=engine.device)).mean())
"""
# A model with code of its own.
REMOTE = """
from transformers import Qwen2Config, Qwen2ForCausalLM
class OwnConfig(Qwen2Config):
    model_type = "own"
class OwnForCausalLM(Qwen2ForCausalLM):
    config_class = OwnConfig
"""


def no_case():
    from truth_cases import Case

    return Case("", "hf", "unchanged")


def rehearse(command, folder, given):
    """The exit status, what is said of the rehearsal, and all that is said."""
    started = time.monotonic()
    run = subprocess.run(command, env=given, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=900)
    assert "panicked" not in run.stderr, run.stderr
    try:
        plan = json.loads(run.stdout)
    except ValueError:
        plan = {"diagnostics": [{"severity": "error", "rule": "usage", "message": run.stderr[-500:]}]}
    return run.returncode, plan.get("rehearsal"), plan["diagnostics"], time.monotonic() - started


def try_front_end(bench, folder, name):
    """It arrives with the planned config, and with the change it is refused."""
    _, template, (change, says) = FRONT_ENDS[name]
    trainer = shlex.split(template)[0]
    given = bench.variables(no_case())
    own = [] if trainer in OWN_LAUNCHER else ["--nnodes", "2", "--nproc-per-node", "8", "--deepspeed", "zero3" if "LoRA" not in name else "zero2"]
    before = sorted(path for path in folder.rglob("*"))
    for words, refused in (("", False), (change, True)):
        asked = [bench.binary, "rehearse", "--format", "json", *own, "--", *shlex.split(template.format(words))]
        status, rehearsal, found, took = rehearse(asked, folder, given)
        told = f"{shlex.join(map(str, asked))}\n  exit {status}, {found}\n  {json.dumps(rehearsal)[:3000]}"
        if refused:
            assert status == 1 and says in json.dumps([found, rehearsal]), f"it is not refused: {told}"
        else:
            assert status == 0 and rehearsal["reached"] in ("initialize", "step"), f"it does not arrive: {told}"
            differing = [it for call in rehearsal["initialize"] for it in call["differences"]]
            assert not differing, f"{differing}: {told}"
            note = f"{rehearsal['reached']} in {took:.1f} s"
    assert sorted(folder.rglob("*")) == before, f"it leaves something behind: {set(folder.rglob('*')) - set(before)}"
    return note


def put_files(bench, folder):
    for shared in ("model", "data", "data.jsonl"):
        (folder / shared).symlink_to(bench.root / shared)
    (folder / "train.py").write_text((HERE / "train_hf.py").read_text())
    (folder / "plain.py").write_text(PLAIN)
    (folder / "plain.json").write_text(json.dumps({"train_micro_batch_size_per_gpu": 4, "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}}, "zero_optimization": {"stage": 2}}))
    (folder / "remote").mkdir()
    for file in (bench.root / "model").iterdir():
        (folder / "remote" / file.name).symlink_to(file)
    config = folder / "remote/config.json"
    own = {"model_type": "own", "architectures": ["OwnForCausalLM"], "auto_map": {"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.OwnForCausalLM"}}
    given = json.loads(config.read_text()) | own
    config.unlink()
    config.write_text(json.dumps(given))
    (folder / "remote/own.py").write_text(REMOTE)
    (folder / "zero2.json").write_text(json.dumps(bench.template("zero2")))
    for name, more in AXOLOTL_FILES.items():
        (folder / f"{name}.yaml").write_text(json.dumps(AXOLOTL | more))
    talk = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
    (folder / "pairs.jsonl").write_text(f'{json.dumps({"messages": talk, "rejected_response": "three"})}\n' * 20)
    (folder / "pairs").mkdir()
    (folder / "pairs/train.jsonl").write_text(f'{json.dumps({"prompt": "one", "chosen": "two", "rejected": "three"})}\n' * 20)


def judge(case, found, bench, root, count):
    """One of the truth cases."""
    from truth import EXCUSED, UNDECIDED, name
    from truth_lab import Launch, works_through_zlaunch

    with Launch(bench, case, root) as launch:
        asked = launch.asked("rehearse", "--format", "json")
        status, rehearsal, said, took = rehearse(asked, launch.folder, bench.variables(case))
    by = "check" if rehearsal is None else "rehearsal"
    reached = rehearsal and rehearsal["reached"] or "nothing"
    wrong = None
    if found["works"]:
        errors = [it["rule"] for it in said if it["severity"] == "error"]
        excused = by == "check" and status and all((case.kind, rule) in EXCUSED for rule in errors)
        arrived = reached in ("initialize", "step")
        count.update({"works": 1, "excused": bool(excused), "falsely refused": bool(status) and not excused, "arrives": arrived, f"ends at {reached}": not arrived and not status})
        wrong = f"it works, and is refused by {by}" if status and not excused else None
    elif not status and any(re.search(words, found["reason"]) for words in UNDECIDED):
        count["undecided"] += 1
    elif not status and case.config and works_through_zlaunch(bench, case, "rehearsed", root):
        count["mended"] += 1  # zlaunch reads more than JSON, and hands on JSON.
    else:
        count.update({"fails": 1, f"refused by {by}": bool(status), "missed": not status})
        wrong = None if status else f"missed: {found['reason'][:300]}"
    count["seconds"] += took
    message = rehearsal and [rehearsal["ended_by"], rehearsal["message"], (rehearsal["where"] or [None])[0]]
    if wrong:
        print(f"{wrong}\n  {name(case)} [{case.kind}]\n  {shlex.join(asked[1:])}\n  set {case.set}, files {list(case.files)}\n  {reached}: {message}\n  {said}\n", file=sys.stderr, flush=True)
    return found["works"], wrong


def truth(options, benches, root, checks):
    """The rehearsal of many launches whose end is known. At most one of twenty that fail may be missed."""
    from truth_cases import all_cases
    from truth_lab import run_group

    cases = [case for case in all_cases(list(benches)) if case.kind not in NOT_REHEARSED and not case.cold and not case.place][:options.cases]
    groups = collections.defaultdict(list)
    for case in cases:
        groups[case.environment, case.trainer].append(case)
    counts = collections.defaultdict(collections.Counter)

    def group(item):
        (environment, trainer), mine = item
        bench = benches[environment]
        if not options.known:
            run_group(bench, trainer, mine, root)
        mine = [case for case in mine if bench.found(case)]
        return [judge(case, bench.found(case), bench, root, counts[f"{environment or 'main'} {trainer}"]) for case in mine]

    with concurrent.futures.ThreadPoolExecutor(in_parallel()) as pool:
        results = [it for found in pool.map(group, groups.items()) for it in found]
    for name, count in sorted(counts.items()):
        print(f"{name}: " + ", ".join(f"{value:.0f} {key}" for key, value in count.items() if value))
    falsely = [wrong for works, wrong in results if works and wrong]
    total = sum(counts.values(), collections.Counter())
    checks.judge("none that works is refused", f"{len(falsely)} are" if falsely else None)
    checks.judge("95 % of the refusals are found", f"{total['missed']} of {total['fails']} missed" if total["missed"] > 0.05 * total["fails"] else None)
    checks.judge("90 % of those that work arrive", f"{total['arrives']} of {total['works']}" if total["arrives"] < 0.9 * (total["works"] - total["excused"]) else None)


def main():
    from truth_lab import Bench

    parser = Arguments(__doc__, "bin", "names")
    parser.add_argument("--cases", type=int, default=0, metavar="N", help="try the first N of the truth cases too (default: none)")
    parser.add_argument("--known", action="store_true", help="of these only the ones whose end is known")
    parser.add_argument("--only", action="append", default=None, metavar="ENVIRONMENT", help="only main, older, llamafactory, axolotl or axolotl-older")
    options = parser.parse_args()
    checks = Checks(options.names)
    wanted = [name for name in ("", "older", "llamafactory", "axolotl", "axolotl-older") if not options.only or {name or "main", name.split("-")[0]} & {*options.only}]
    with tempfile.TemporaryDirectory(prefix="zlaunch-rehearse-", ignore_cleanup_errors=True) as root:
        root, benches = Path(root), {}
        for name, (environment, *_) in FRONT_ENDS.items():
            if environment in wanted and checks.wants(name):
                folder = root / f"{environment or 'main'}-front-ends"
                if environment not in benches:
                    benches[environment] = Bench(options.bin, environment, root)
                    folder.mkdir()
                    put_files(benches[environment], folder)
                checks.run(name, try_front_end, benches[environment], folder, name)
        if options.cases:
            truth(options, {it: benches.get(it) or Bench(options.bin, it, root) for it in wanted if "axolotl" not in it}, root, checks)
    checks.finish()


if __name__ == "__main__":
    main()
