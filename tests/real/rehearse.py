#!/usr/bin/env python3
"""`zlaunch rehearse` with the real trainers: each front end of FRONT_ENDS, a script as people write them, and a sample of truth_cases.py.

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

from harness import HERE, Arguments, Checks, ended, in_parallel
from truth import EXCUSED, UNDECIDED, name
from truth_cases import ENVIRONMENTS, Case, all_cases
from truth_lab import Bench, Launch, run_group, works_through_zlaunch

# Of the truth cases these are about where a launch is started, and not about what the trainer says to it.
NOT_REHEARSED = {"prefix", "rank's variables", "variable"}
SWIFT = "--model model --model_type qwen2 --template qwen --dataset data.jsonl --torch_dtype bfloat16 --max_length 128 --dataset_num_proc 1"
HF = "--model_name_or_path model --output_dir out --bf16 true --max_steps 2"
TRL = "--model_name_or_path model --dataset_name data --output_dir out"
LLAMAFACTORY = "--model_name_or_path model --do_train true --dataset tiny --dataset_dir data --template qwen --output_dir out --bf16 true"
MIN_LR = ("--lr_scheduler_type cosine_with_min_lr", "min_lr")
BOTH, LLAMAFACTORIES, AXOLOTLS = ("", "older"), ("llamafactory", "llamafactory-older"), ("axolotl", "axolotl-older")
# By name: the environments, the command ({} stands for what is changed), and what the trainer refuses: a change and words of its message.
FRONT_ENDS = {
    "swift sft": (BOTH, f"swift sft {SWIFT} --tuner_type full {{}}", ("--packing true", "packing")),
    "swift sft, LoRA": (BOTH, f"swift sft {SWIFT} --tuner_type lora {{}}", ("--target_modules no_such_layer", "no_such_layer")),
    "swift pt": (BOTH, f"swift pt {SWIFT} --tuner_type full {{}}", ("--freeze_parameters_ratio 2", "no parameter of the model is trained")),
    "swift rlhf": (BOTH, f"swift rlhf --rlhf_type dpo {SWIFT.replace('data.jsonl', 'pairs.jsonl')} --tuner_type full {{}}", ("--loss_type cuda_loss", "cuda_loss")),
    "hf script": (BOTH, f"python train.py {HF} {{}}", MIN_LR),
    "trl sft": (BOTH, f"trl sft {TRL} {{}}", MIN_LR),
    "trl dpo": (BOTH, f"trl dpo {TRL.replace('name data', 'name pairs')} {{}}", ("--loss_type no_such_loss", "no_such_loss")),
    "torchrun": (BOTH, f"torchrun --nproc_per_node {{ranks}} train.py {HF} --deepspeed zero2.json {{}}", MIN_LR),
    "deepspeed": (BOTH, f"deepspeed --num_gpus {{ranks}} train.py {HF} --deepspeed zero2.json {{}}", MIN_LR),
    "accelerate launch": (BOTH, f"accelerate launch --use_deepspeed --deepspeed_config_file zero2.json --num_processes {{ranks}} train.py {HF} {{}}", MIN_LR),
    "plain DeepSpeed": (BOTH, "deepspeed --num_gpus {ranks} plain.py --deepspeed --deepspeed_config plain.json {}", ("--size nothing", "invalid int value")),
    "llamafactory": (LLAMAFACTORIES, f"llamafactory-cli train {LLAMAFACTORY} --stage sft --finetuning_type full {{}}", ("--resume_from_checkpoint nowhere", "nowhere")),
    "llamafactory, LoRA": (LLAMAFACTORIES, f"llamafactory-cli train {LLAMAFACTORY} --stage sft --finetuning_type lora {{}}", ("--lora_target no_such_layer", "no_such_layer")),
    "llamafactory, remote code": (LLAMAFACTORIES, f"llamafactory-cli train {LLAMAFACTORY.replace('model --', 'remote --')} --stage sft --finetuning_type full --trust_remote_code true {{}}", ("--trust_remote_code false", "trust_remote_code")),
    "axolotl": (AXOLOTLS, "axolotl train run.yaml {}", ("--optimizer no_such_optimizer", "no_such_optimizer")),
    "axolotl, LoRA": (AXOLOTLS, "axolotl train lora.yaml {}", ("--lora-target-modules no_such_layer", "no_such_layer")),
    "axolotl, its own config": (AXOLOTLS[:1], "accelerate launch --num_processes {ranks} -m axolotl.cli.train own.yaml {}", ("--batch_flattening true", "batch_flattening requires")),
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


# What people write themselves: by the word that it is given, how it ends, and words of the answer.
SCRIPT = """
import json, re, sys, numpy, torch
word = sys.argv[1]
if word in ("loop", "count", "typo", "size", "memory"):
    import deepspeed
    with deepspeed.zero.Init(config_dict_or_path="plain3.json"):
        model = torch.nn.Linear(4, 1)
    assert sum(it.ds_numel for it in model.parameters()) == 5
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config="plain3.json")
    rows = torch.utils.data.DataLoader(torch.ones(400000, 4), batch_size=4)
    for row in rows:
        if word == "memory" and engine.global_steps:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        engine.backward(engine(row.to(engine.device)).mean())
        engine.step()
    engine.eval()
    found = [engine(row.to(engine.device)).mean().item() for row in rows]
    assert word != "count" or len(found) == 100000
    if word == "size":
        engine.set_train_batch_size(7)
    engine.save_checkpoint("saved", **({"name": "last"} if word == "typo" else {}))
    sys.exit()
if word in ("ranks", "sum", "plain", "undefined", "scalar", "types", "gather"):
    import deepspeed, torch.distributed as dist
    deepspeed.init_distributed()
    if word == "plain":
        raise ValueError("no such thing")
    if word == "undefined":
        no_such_name
    own = re.search("^cuda.*= '(.*)'", open(torch.version.__file__).read(), re.M)
    assert not own or own[1] == torch.version.cuda, "torchvision, which is built for a CUDA, compares this"
    total = torch.ones(1, device="cuda")
    dist.all_reduce(total)
    assert total.item() == dist.get_world_size(), total
    parts = [torch.ones(1) for _ in range(1 if word == "gather" else dist.get_world_size())]
    dist.all_gather(tensor_list=parts, tensor=torch.ones(1))
    found = [None] * dist.get_world_size()
    dist.all_gather_object(found, dist.get_rank())
    assert word in ("sum", "scalar", "types") or found == list(range(dist.get_world_size())), found
    model = torch.nn.Linear(4, 1)
    if word == "scalar":
        model.scale = torch.nn.Parameter(torch.tensor(1.0))
    config = {**json.load(open("plain.json")), "bf16": {"enabled": word == "types"}}
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
    rows = torch.ones(4, 4, device=engine.device)
    engine.backward(engine(rows.bfloat16() if word == "types" else rows).mean())
    sys.exit(engine.step())
from datasets import load_dataset
from transformers import AutoConfig, AutoModelForCausalLM, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments
PARTITIONED = ("added", "cast", "touched")
args = TrainingArguments("out", max_steps=2, eval_strategy="steps", eval_steps=1, save_steps=1, per_device_train_batch_size=2, gradient_accumulation_steps=1, report_to="none",
                         bf16=word in PARTITIONED, deepspeed="zero3.json" if word in ("device map", *PARTITIONED) else "zero2.json")
length = 600 if word == "positions" else 16
data = load_dataset("json", data_files="sorted.jsonl", split="train")
if word == "split":
    data = data.select(range(1000, 4000)).train_test_split(test_size=1500, seed=1)["test"]
    assert len(data) == 1500
tokens = lambda row: {"input_ids": [row["label"] + 5] * length, "attention_mask": [1] * (8 if word == "mask" else length), "labels": row["label"] if word not in CAUSAL else [5] * length}
CAUSAL = ("device map", "saved", "generation", "index", "adapter", "heads", "mask", "resume")
data = data.map(tokens, remove_columns=["label"])
def metrics(found):
    assert len(set(numpy.asarray(found.label_ids).tolist())) == 2, "one class only"
    assert word != "lengths" or len(found.predictions) == len(data)
    if word == "decode":
        from tokenizers import Tokenizer, models
        Tokenizer(models.BPE()).decode([-100])
    return {"accuracy": {"metric": {}["nothing"]} if word == "metric" else 1.0}
if word in CAUSAL:
    model = AutoModelForCausalLM.from_pretrained(word if word in ("generation", "index", "heads") else "wide", **({"device_map": "auto"} if word == "device map" else {}))
    if word == "adapter":
        from peft import PeftModel
        model = PeftModel.from_pretrained(model, "adapter", is_trainable=True)
    if word == "saved":
        model.save_pretrained("saved/once")
        model = AutoModelForCausalLM.from_pretrained("saved/once")
elif word in ("parts", "doubles", *PARTITIONED):
    class InParts(BertForSequenceClassification):
        def forward(self, input_ids, attention_mask=None, labels=None):
            first = self.bert(input_ids, attention_mask).last_hidden_state[:, 0]
            logits = self.part(first.double() if word == "doubles" else first)
            return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}
    config = AutoConfig.from_pretrained("bert")
    model = InParts.from_pretrained("bert")
    model.part = torch.nn.Linear(config.hidden_size, 5, dtype=torch.bfloat16 if word in ("cast", "touched") else None)
    if word == "touched":
        model.bert.embeddings.word_embeddings.weight.data[0, 0] = 0
else:
    model = BertForSequenceClassification.from_pretrained("bert", num_labels=5, **({"use_flash_attn": True} if word == "argument" else {}))
    assert model.classifier.weight.shape[0] == model.config.num_labels == 5
class Rows(torch.utils.data.Dataset):
    asked = 0
    def __len__(self):
        return len(data)
    def __getitem__(self, index):
        self.asked += 1
        torch.ones(2).view(2 if self.asked < 7 else 3)
        return data[index]
class Losses(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **more):
        print(logs["loss"] if "eval_loss" not in logs else "")
if word == "rows":
    args.max_steps = 9
trainer = Trainer(model=model, args=args, train_dataset=Rows() if word == "rows" else data, eval_dataset=data, compute_metrics=None if word in CAUSAL else metrics,
                  callbacks=[Losses()] if word == "last log" else None)
trainer.train(resume_from_checkpoint="old" if word == "resume" else None)
trainer.save_model("final")
assert word != "history" or len(trainer.state.log_history) > 99
if word == "behind":
    trainer.save_models("final")
if word == "unasked":
    trainer.eval_dataset = None
    trainer.get_eval_dataloader()
"""
OWN_WORDS = {"labels": (0, ""), "split": (0, ""), "lengths": (0, ""), "saved": (0, ""), "adapter": (0, ""), "loop": (0, "checkpoint"), "count": (0, "with few rows"), "typo": (1, "argument 'name'"),
             "size": (1, "divisible"), "memory": (0, "optimizer step"), "unasked": (1, "requires an eval_dataset"), "rows": (1, "invalid for input"), "last log": (1, "KeyError: 'loss'"), "decode": (1, "OverflowError"), "history": (0, "with few rows"), "behind": (1, "save_models"),
             "sum": (0, ""), "ranks": (3, "not sure"), "plain": (1, "the script rejected"), "undefined": (1, "NameError"), "scalar": (1, "cannot be 0"), "types": (0, ""), "metric": (1, "nothing"), "positions": (1, "512"),
             "argument": (1, "use_flash_attn"), "device map": (1, "device_map"), "generation": (1, "temperature"), "index": (1, "No such file"), "heads": (1, "divide"), "parts": (0, ""), "doubles": (1, "ouble"), "mask": (0, ""), "resume": (1, "would read"), "gather": (1, "1 tensors are given"),
             "added": (1, "dtype"), "cast": (0, ""), "touched": (1, "too many indices")}
WIDE = {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 2, "vocab_size": 1000}
BERT = {"model_type": "bert", "architectures": ["BertForMaskedLM"], "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 1000, "max_position_embeddings": 512}


def try_script(bench, folder, word):
    status, said = OWN_WORDS[word]
    found, rehearsal, errors, took = rehearse([bench.binary, "rehearse", "--format", "json", "--nproc-per-node", "2", "--", "torchrun", "--nproc_per_node", "2", "own.py", word], folder, bench.variables(Case("", "hf", "unchanged")))
    told = json.dumps([errors, rehearsal])
    assert found == status and said in told, f"exit {found}, not {status}, or without `{said}`: {told[:3000]}"
    assert status or "backward" in rehearsal["covered"], f"it takes no step: {told[:3000]}"
    return f"{took:.1f} s"


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


def try_front_end(bench, folder, name, is_timed):
    """It arrives with the planned config, and with the change it is refused."""
    _, template, (change, says) = FRONT_ENDS[name]
    template = template.replace("tuner_type", "train_type") if bench.name == "older" else template
    given = bench.variables(Case("", "hf", "unchanged"))
    before = sorted(path for path in folder.rglob("*"))
    for words, refused in (("", False), (change, True)):
        asked = words_of(bench, name, template.format(words, ranks=4), ["--nnodes", "2", "--nproc-per-node", "8"], "rehearse", "--format", "json")
        status, rehearsal, found, took = rehearse(asked, folder, given)
        told = f"{shlex.join(map(str, asked))}\n  exit {status}, {found}\n  {json.dumps(rehearsal)[:3000]}"
        if refused:
            assert status == 1 and says in json.dumps([found, rehearsal]), f"it is not refused: {told}"
        else:
            assert status == 0 and rehearsal["reached"] in ("initialize", "step"), f"it does not arrive: {told}"
            assert not any(call["differences"] for call in rehearsal["initialize"]), f"it arrives with another config: {told}"
            # axolotl wants a GPU for it.
            assert "axolotl" in name or "backward" in rehearsal["covered"], f"it takes no step: {told}"
            note = f"initialize in {rehearsal['initialize'][0]['seconds']:.1f} s, {rehearsal['reached']} in {took:.1f} s"
    assert sorted(folder.rglob("*")) == before, f"it leaves something behind: {set(folder.rglob('*')) - set(before)}"
    return f"{note}; the trainer alone {alone(bench, folder, name, template):.1f} s" if is_timed else note


def words_of(bench, name, command, ranks, *first):
    own = [] if command.split()[0] in OWN_LAUNCHER else [*ranks, "--deepspeed", "zero3" if "LoRA" not in name else "zero2"]
    return [bench.binary, *first, *own, "--", *shlex.split(command)]


def alone(bench, folder, name, template):
    """Seconds that the trainer itself takes to deepspeed.initialize, as the only rank, on the CPU."""
    marked, cpu = bench.root / f"initialize-{name}", "" if "plain" in name else "--use_cpu true"
    given = bench.variables(Case("", "hf", "unchanged")) | {"PYTHONPATH": str(HERE / "hook"), "STOP_AT_INITIALIZE": str(marked)}
    started = time.time()
    status, said = ended(words_of(bench, name, template.format(cpu, ranks=1), ["--nproc-per-node", "1"]), given, folder)
    assert marked.exists(), f"alone it does not arrive: exit {status}\n{said[-3000:]}"
    return float(marked.read_text()) - started


def put_files(bench, folder):
    for shared in ("model", "data", "data.jsonl"):
        (folder / shared).symlink_to(bench.root / shared)
    (folder / "train.py").write_text((HERE / "train_hf.py").read_text())
    (folder / "plain.py").write_text(PLAIN)
    (folder / "own.py").write_text(SCRIPT)
    (folder / "sorted.jsonl").write_text("".join(f'{{"label": {number // 2500}}}\n' for number in range(5000)))
    for name, config in {"wide": WIDE, "bert": BERT, "generation": WIDE, "index": WIDE, "heads": {**WIDE, "num_key_value_heads": 3}}.items():
        (folder / name).mkdir()
        (folder / name / "config.json").write_text(json.dumps(config))
    (folder / "generation/generation_config.json").write_text(json.dumps({"do_sample": False, "temperature": 0.5}))
    (folder / "index/model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": {"lm_head.weight": "model-00001-of-00002.safetensors"}}))
    (folder / "old/global_step1").mkdir(parents=True)
    (folder / "old/latest").write_text("global_step1")
    (folder / "old/trainer_state.json").write_text(json.dumps({"global_step": 1, "train_batch_size": 2}))
    (folder / "zero3.json").write_text(json.dumps(bench.template("zero3")))
    lora = {f"base_model.model.model.layers.{layer}.self_attn.q_proj.lora_{part}.weight": shape for layer in range(4) for part, shape in (("A", [4, 512]), ("B", [512, 4]))}
    header = json.dumps({name: {"dtype": "F32", "shape": shape, "data_offsets": [at * 8192, at * 8192 + 8192]} for at, (name, shape) in enumerate(lora.items())}).encode()
    (folder / "adapter").mkdir()
    (folder / "adapter/adapter_model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(8192 * len(lora)))
    (folder / "adapter/adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": 4, "lora_alpha": 8, "target_modules": ["q_proj"]}))
    plain = {"train_micro_batch_size_per_gpu": 4, "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}}}
    (folder / "plain3.json").write_text(json.dumps(plain | {"zero_optimization": {"stage": 3}}))
    (folder / "plain.json").write_text(json.dumps(plain | {"zero_optimization": {"stage": 2}}))
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
    with Launch(bench, case, root) as launch:
        asked = launch.asked("rehearse", "--format", "json")
        status, rehearsal, said, took = rehearse(asked, launch.folder, bench.variables(case))
    by = "check" if rehearsal is None else "rehearsal"
    reached = rehearsal and rehearsal["reached"] or "nothing"
    wrong = None
    if found["works"]:
        errors = [it["rule"] for it in said if it["severity"] == "error"]
        excused = by == "check" and status and all((case.kind, rule) in EXCUSED for rule in errors)
        arrived = not status and reached in ("initialize", "step")
        count.update({"works": 1, "excused": bool(excused), "falsely refused": status == 1 and not excused, "arrives": arrived, f"ends at {reached}": not arrived and not status,
                      "not sure of": status == 3})
        wrong = f"it works, and is refused by {by}" if status == 1 and not excused else None
    elif not status and any(re.search(words, found["reason"]) for words in UNDECIDED):
        count["undecided"] += 1
    elif not status and case.config and works_through_zlaunch(bench, case, "rehearsed", root):
        count["mended"] += 1  # zlaunch reads more than JSON, and hands on JSON.
    else:
        count.update({"fails": 1, f"refused by {by}": status == 1, "not sure to fail": status == 3, "missed": not status})
        wrong = None if status == 1 else f"missed: {found['reason'][:300]}"
    count["seconds"] += took
    message = rehearsal and [rehearsal["ended_by"], rehearsal["message"], (rehearsal["where"] or [None])[0]]
    if wrong:
        print(f"{wrong}\n  {name(case)} [{case.kind}]\n  {shlex.join(asked[1:])}\n  set {case.set}, files {list(case.files)}\n  {reached}: {message}\n  {said}\n", file=sys.stderr, flush=True)
    return found["works"], wrong


def truth(options, benches, root, checks):
    """The rehearsal of many launches whose end is known. At most one of twenty that fail may be missed."""
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
    known = [*ENVIRONMENTS, *AXOLOTLS]
    parser = Arguments(__doc__, "bin", "names")
    parser.add_argument("--cases", type=int, default=0, metavar="N", help="try the first N of the truth cases too (default: none)")
    parser.add_argument("--known", action="store_true", help="of these only the ones whose end is known")
    parser.add_argument("--only", action="append", default=None, metavar="ENVIRONMENT", choices=[name or "main" for name in known], help="only this environment (default: all)")
    options = parser.parse_args()
    checks = Checks(options.names)
    wanted = [name for name in known if not options.only or (name or "main") in options.only]
    with tempfile.TemporaryDirectory(prefix="zlaunch-rehearse-", ignore_cleanup_errors=True) as root:
        root, benches = Path(root), {}
        for name, environment in ((name, it) for name, row in FRONT_ENDS.items() for it in row[0] if it in wanted):
            shown = f"{name}, {environment}" if "older" in environment else name
            if checks.wants(shown):
                folder = root / f"{environment or 'main'}-front-ends"
                if environment not in benches:
                    benches[environment] = Bench(options.bin, environment, root)
                    folder.mkdir()
                    put_files(benches[environment], folder)
                # Alone they are as slow, so only a run of all of them compares the times.
                checks.run(shown, try_front_end, benches[environment], folder, name, not environment and not options.names)
        for word in (word for word in OWN_WORDS if "" in wanted and checks.wants(f"script: {word}")):
            if "" not in benches:
                benches[""] = Bench(options.bin, "", root)
            folder = root / "main-front-ends"
            if not folder.exists():
                folder.mkdir()
                put_files(benches[""], folder)
            checks.run(f"script: {word}", try_script, benches[""], folder, word)
        if options.cases:
            truth(options, {it: benches.get(it) or Bench(options.bin, it, root) for it in wanted if "axolotl" not in it}, root, checks)
    checks.finish()


if __name__ == "__main__":
    main()
