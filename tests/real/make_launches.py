"""Makes what the launches of cases/rehearsed.txt name, in FOLDER: scripts, data, and models that are whole, broken, and of other kinds.

    python make_launches.py ROOT FOLDER     (ROOT has `model` and `data.jsonl`)
"""
import importlib.util
import json
import shutil
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

SCRIPT = '''
import dataclasses, sys
import torch
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, HfArgumentParser, Trainer, TrainingArguments

@dataclasses.dataclass
class Own:
    model_name_or_path: str
    data: str = "text.jsonl"
    block: int = 32
    evaluate: bool = True
    lora: str = ""
    freeze: str = ""

own, arguments = HfArgumentParser((Own, TrainingArguments)).parse_args_into_dataclasses()
tokenizer = AutoTokenizer.from_pretrained(own.model_name_or_path)
model = AutoModelForCausalLM.from_pretrained(own.model_name_or_path)
rows = load_dataset("json", data_files=own.data, split="train")
rows = rows.map(lambda row: tokenizer(row["text"], truncation=True, max_length=own.block), remove_columns=rows.column_names)
if own.lora:
    from peft import LoraConfig, get_peft_model
    model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", target_modules=own.lora.split(",")))
for name, parameter in model.named_parameters():
    if own.freeze and own.freeze in name:
        parameter.requires_grad_(False)
trainer = Trainer(model=model, args=arguments, train_dataset=rows, eval_dataset=rows.select(range(4)) if own.evaluate else None, data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False))
trainer.train(resume_from_checkpoint=arguments.resume_from_checkpoint)
if torch.distributed.is_initialized():
    torch.distributed.destroy_process_group()
'''
CLASSIFY = '''
import dataclasses, os, sqlite3
import pandas, torch
from datasets import load_dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, HfArgumentParser, Trainer, TrainingArguments

@dataclasses.dataclass
class Own:
    labels: int = 3
    weights: int = 3
    several: str = ""
    keeps: str = ""
    passes: str = "processing_class"

class Weighted(Trainer):
    def __init__(self, *given, **more):
        super().__init__(*given, **more)

    def compute_loss(self, model, inputs, return_outputs=False, **more):
        if own.several:
            return super().compute_loss(model, inputs, return_outputs, **more)
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = torch.nn.functional.cross_entropy(outputs.logits, labels, weight=torch.ones(own.weights, device=outputs.logits.device))
        return (loss, outputs) if return_outputs else loss

own, arguments = HfArgumentParser((Own, TrainingArguments)).parse_args_into_dataclasses()
tokenizer = AutoTokenizer.from_pretrained("bert")
kind = {"floats": float, "ints": int}.get(own.several)
data = load_dataset("json", data_files="text.jsonl", split="train").train_test_split(test_size=0.25, seed=1)
data = data.map(lambda row, at: {**tokenizer(row["text"]), "labels": [kind(at % 2), kind(1)] if kind else at % 3}, with_indices=True, remove_columns=["text"])
if own.keeps == "database":
    with sqlite3.connect("runs.db") as runs:
        runs.execute("create table runs (name)")
        runs.execute("insert into runs values ('one')")
    assert sqlite3.connect("runs.db").execute("select name from runs").fetchall() == [("one",)]
elif own.keeps == "table":
    pandas.DataFrame({"loss": [1.0]}).to_parquet("losses.parquet")
    assert len(pandas.read_parquet("losses.parquet")) == 1
elif own.keeps == "tokenizer":
    tokenizer.backend_tokenizer.save("tokens.json")
    type(tokenizer.backend_tokenizer).from_file("tokens.json")
elif own.keeps == "folder":
    os.makedirs("runs/first", exist_ok=True)
    os.chdir("runs/first")
    with open("notes.txt", "w") as notes:
        notes.write("begun")
    assert open("notes.txt").read() == "begun" and os.listdir() == ["notes.txt"]
    os.chdir("../..")
elif own.keeps == "nothing":
    try:
        os.remove("nosuch.txt")
        raise SystemExit("it was there")
    except FileNotFoundError:
        pass
model = AutoModelForSequenceClassification.from_pretrained("bert", num_labels=own.labels, problem_type="multi_label_classification" if own.several else None)
Weighted(model=model, args=arguments, train_dataset=data["train"], eval_dataset=data["test"], data_collator=DataCollatorWithPadding(tokenizer), **{own.passes: tokenizer}).train()
if torch.distributed.is_initialized():
    torch.distributed.destroy_process_group()
'''
PLAIN = '''
import argparse, json
import deepspeed, torch
parser = deepspeed.add_config_arguments(argparse.ArgumentParser())
parser.add_argument("--size", type=int, default=16)
parser.add_argument("--wide", type=int, default=16)
parser.add_argument("--load")
parser.add_argument("--save")
parser.add_argument("--loss", default="mean")
parser.add_argument("--steps", type=int, default=1)
parser.add_argument("--tag")
parser.add_argument("--frozen", action="store_true")
parser.add_argument("--double", action="store_true")
parser.add_argument("--optimizer", default="")
parser.add_argument("--optimizer_args", default="{}")
parser.add_argument("--local_rank", type=int)
args = parser.parse_args()
model = torch.nn.Sequential(torch.nn.Linear(args.size, 16), torch.nn.Linear(args.wide, 1))
model = model.double() if args.double else model
model[0].requires_grad_(not args.frozen)
own = getattr(torch.optim, args.optimizer)(model.parameters(), **json.loads(args.optimizer_args)) if args.optimizer else None
engine, *_ = deepspeed.initialize(args=args, model=model, model_parameters=[it for it in model.parameters() if it.requires_grad], optimizer=own)
if args.load:
    found, _ = engine.load_checkpoint(args.load, tag=args.tag)
    assert found, f"no checkpoint in {args.load}"
for _ in range(args.steps):
    loss = getattr(engine(torch.ones(4, args.size, device=engine.device)), args.loss)()
    engine.backward(loss)
    engine.step()
if args.save:
    engine.save_checkpoint(args.save, tag=args.tag)
'''

REWARDS = '''
try:
    from swift.rewards import ORM, orms
except ImportError:
    from swift.plugin import ORM, orms


class Length(ORM):
    def __call__(self, completions, **more):
        return [float(len(it)) for it in completions]


class Short(ORM):
    def __call__(self, completions, **more):
        return [1.0]


orms["length"], orms["short"] = Length, Short
'''
# What axolotl reads: one that works, and what other files change of it.
AXOLOTL = {"base_model": "model", "datasets": [{"path": "talks.jsonl", "ds_type": "json", "type": "chat_template", "field_messages": "messages"}], "sequence_len": 128, "micro_batch_size": 2,
           "gradient_accumulation_steps": 1, "max_steps": 1, "learning_rate": 0.0001, "optimizer": "adamw_torch", "lr_scheduler": "cosine", "bf16": False, "fp16": False, "tf32": False,
           "save_strategy": "no", "output_dir": "out", "deepspeed": "zero2.json", "dataset_prepared_path": "out/prepared", "dataset_processes": 1}
AXOLOTL_FILES = {"run": {}, "lora": {"adapter": "lora", "lora_r": 8, "lora_alpha": 16, "lora_target_modules": ["q_proj", "v_proj"]},
                 "instructions": {"datasets": [{"path": "alpaca.jsonl", "ds_type": "json", "type": "alpaca"}]},
                 "completions": {"datasets": [{"path": "text.jsonl", "ds_type": "json", "type": "completion", "field": "text"}]},
                 "preferences": {"rl": "dpo", "datasets": [{"path": "preferences.jsonl", "ds_type": "json", "type": "chat_template.default"}]},
                 "two_sets": {"datasets": [{"path": it, "ds_type": "json", "type": "chat_template"} for it in ("talks.jsonl", "system.jsonl")]},
                 "tested": {"test_datasets": [{"path": "talks.jsonl", "ds_type": "json", "type": "chat_template", "split": "train"}], "eval_strategy": "steps", "eval_steps": 1},
                 "no_type": {"datasets": [{"path": "talks.jsonl", "ds_type": "json"}]}, "other_type": {"datasets": [{"path": "talks.jsonl", "ds_type": "json", "type": "nosuch"}]},
                 "other_field": {"datasets": [{"path": "talks.jsonl", "ds_type": "json", "type": "chat_template", "field_messages": "nosuch"}]},
                 "other_split": {"datasets": [{"path": "talks.jsonl", "ds_type": "json", "type": "chat_template", "split": "nosuch"}]}, "no_datasets": {"datasets": None}}
# Its only rank asks for NCCL by name, which needs a GPU.
AXOLOTL_CPU = '''
import runpy
import deepspeed.comm
given = deepspeed.comm.init_distributed
deepspeed.comm.init_distributed = lambda *words, **more: given(*words, **{**more, "dist_backend": "gloo"})
runpy.run_module("axolotl.cli.train", run_name="__main__", alter_sys=True)
'''
AXOLOTL_DATA = ("gone", "empty", "malformed", "alpaca", "strangers", "no_content")


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def data(folder):
    talk = [{"role": "user", "content": "what is one plus one"}, {"role": "assistant", "content": "two"}]
    write(folder / "text.jsonl", [{"text": f"what is {n} plus {n}? {2 * n}"} for n in range(20)])
    write(folder / "empty_text.jsonl", [{"text": ""}] * 20)
    write(folder / "other_text.jsonl", [{"content": "one"}] * 20)
    write(folder / "pairs.jsonl", [{"messages": talk, "rejected_response": "three"}] * 20)
    write(folder / "votes.jsonl", [{"messages": talk, "label": n % 2 == 0} for n in range(20)])
    write(folder / "pairs/train.jsonl", [{"prompt": "one and one", "chosen": "two", "rejected": "three"}] * 20)
    write(folder / "votes/train.jsonl", [{"prompt": "one and one", "completion": "two", "label": n % 2 == 0} for n in range(20)])
    write(folder / "prompts/train.jsonl", [{"prompt": talk[:1]}] * 20)
    write(folder / "preferred/train.jsonl", [{"chosen": talk, "rejected": [talk[0], {"role": "assistant", "content": "three"}]}] * 20)
    write(folder / "texts/train.jsonl", [{"text": f"what is {n}"} for n in range(20)])
    write(folder / "no_text/train.jsonl", [{"body": "one"}] * 20)
    write(folder / "broken.jsonl", [{"messages": "one"}] * 20)
    write(folder / "unanswered.jsonl", [{"messages": talk[:1]}] * 20)
    asked, answered = talk
    system = {"role": "system", "content": "be brief"}
    pair = [{"instruction": f"what is {n} plus {n}", "input": "", "output": str(2 * n)} for n in range(20)]
    write(folder / "talks.jsonl", [{"messages": [{**asked, "content": f"what is {n} plus {n}"}, answered]} for n in range(20)])
    write(folder / "preferences.jsonl", [{"messages": talk[:1], "chosen": talk[1], "rejected": {"role": "assistant", "content": "three"}}] * 20)
    write(folder / "empty.jsonl", [])
    (folder / "malformed.jsonl").write_text('{"text": "one", "messages": [}\n' * 20)
    write(folder / "numbers.jsonl", [{"text": n} for n in range(20)])
    write(folder / "nulls.jsonl", [{"text": None}] * 20)
    write(folder / "long_text.jsonl", [{"text": "one and two and three " * 40}] * 20)
    write(folder / "one_text.jsonl", [{"text": "one and one"}])
    (folder / "alpaca.csv").write_text("instruction,input,output\n" + "what is one,,two\n" * 20)
    write(folder / "alpaca.jsonl", pair)
    write(folder / "query.jsonl", [{"query": "one", "response": "two", "system": "be brief"}] * 20)
    write(folder / "sharegpt.jsonl", [{"conversations": [{"from": "human", "value": "one"}, {"from": "gpt", "value": "two"}]}] * 20)
    write(folder / "system.jsonl", [{"messages": [system, *talk, *talk]}] * 20)
    write(folder / "losses.jsonl", [{"messages": [asked, {**answered, "loss": True}]}] * 20)
    write(folder / "disordered.jsonl", [{"messages": [answered, asked]}] * 20)
    write(folder / "strangers.jsonl", [{"messages": [{**asked, "role": "nosuch"}, answered]}] * 20)
    write(folder / "no_content.jsonl", [{"messages": [{"role": "user"}, {"role": "assistant"}]}] * 20)
    write(folder / "no_messages.jsonl", [{"messages": []}] * 20)
    write(folder / "number_content.jsonl", [{"messages": [asked, {"role": "assistant", "content": 2}]}] * 20)
    write(folder / "pretrain.jsonl", [{"messages": [answered]}] * 20)
    write(folder / "rejected_number.jsonl", [{"messages": talk, "rejected_response": 3}] * 20)
    write(folder / "same_pairs.jsonl", [{"messages": talk, "rejected_response": "two"}] * 20)
    write(folder / "prompts.jsonl", [{"messages": talk[:1], "solution": "2"}] * 20)
    write(folder / "labels.jsonl", [{"messages": talk[:1], "label": n % 2} for n in range(20)])
    write(folder / "word_votes.jsonl", [{"messages": talk, "label": "good"}] * 20)
    # TRL's: a folder has a file for each split.
    chat = {"prompt": talk[:1], "chosen": talk[1:], "rejected": [{"role": "assistant", "content": "three"}]}
    write(folder / "split/train.jsonl", [{"messages": talk}] * 20)
    write(folder / "split/test.jsonl", [{"messages": talk}] * 4)
    write(folder / "split_pairs/train.jsonl", [chat] * 20)
    write(folder / "split_pairs/test.jsonl", [chat] * 4)
    write(folder / "completions/train.jsonl", [{"prompt": "one and one", "completion": "two"}] * 20)
    write(folder / "chat_completions/train.jsonl", [{"prompt": talk[:1], "completion": talk[1:]}] * 20)
    write(folder / "chat_votes/train.jsonl", [{"prompt": talk[:1], "completion": talk[1:], "label": n % 2 == 0} for n in range(20)])
    write(folder / "word_votes/train.jsonl", [{"prompt": "one", "completion": "two", "label": "good"}] * 20)
    write(folder / "liked/train.jsonl", [{"prompt": "one", "completion": "two", "label": True}] * 20)
    write(folder / "no_rejected/train.jsonl", [{"prompt": "one", "chosen": "two"}] * 20)
    write(folder / "null_rejected/train.jsonl", [{"prompt": "one", "chosen": "two", "rejected": None}] * 20)
    write(folder / "plain_prompts/train.jsonl", [{"prompt": f"what is {n}"} for n in range(20)])
    write(folder / "few_prompts/train.jsonl", [{"prompt": "one"}])
    write(folder / "long_prompts/train.jsonl", [{"prompt": "one and two and three " * 40}] * 20)
    write(folder / "solved/train.jsonl", [{"prompt": talk[:1], "solution": "$2$"}] * 20)
    write(folder / "implicit/train.jsonl", [{"chosen": "one and one is two", "rejected": "one and one is three"}] * 20)
    write(folder / "margins/train.jsonl", [{"chosen": talk, "rejected": chat["prompt"] + chat["rejected"], "margin": 0.5}] * 20)
    write(folder / "tools/train.jsonl", [{"messages": talk, "tools": []}] * 20)
    write(folder / "strangers/train.jsonl", [{"messages": [{"who": "user", "what": "one"}]}] * 20)
    write(folder / "text_messages/train.jsonl", [{"messages": "one"}] * 20)
    write(folder / "number_text/train.jsonl", [{"text": n} for n in range(20)])
    write(folder / "null_text/train.jsonl", [{"text": None}] * 20)
    write(folder / "blank_text/train.jsonl", [{"text": ""}] * 20)
    write(folder / "named_text/train.jsonl", [{"body": f"what is {n}"} for n in range(20)])
    write(folder / "empty/train.jsonl", [])
    (folder / "malformed").mkdir()
    (folder / "malformed/train.jsonl").write_text('{"messages": [}\n' * 20)
    (folder / "nothing").mkdir()
    (folder / "rewards.py").write_text("def length(completions, **more):\n    return [float(len(str(it))) for it in completions]\n\n\ndef words(completions, **more):\n    return 'one'\n")
    (folder / "reward_plugin.py").write_text(REWARDS)
    (folder / "broken_plugin.py").write_text("import nosuch_module\n")
    (folder / "broken.json").write_text('{"train_batch_size": "auto",')
    (folder / "template.jinja").write_text("{% for m in messages %}{{ m.role }}: {{ m.content }}{{ eos_token }}\n{% endfor %}")
    (folder / "broken.jinja").write_text("{% for m in messages %}{{ m.role }}")
    # axolotl's.
    chats = {"ds_type": "json", "type": "chat_template", "field_messages": "messages"}
    for name, more in {**AXOLOTL_FILES, **{f"data_{it}": {"datasets": [{"path": f"{it}.jsonl", **chats}]} for it in AXOLOTL_DATA}}.items():
        (folder / f"{name}.yaml").write_text(json.dumps(AXOLOTL | more))
    (folder / "malformed.yaml").write_text("base_model: model\ndatasets: [\n")
    # LLaMA-Factory's.
    sharegpt = {"formatting": "sharegpt", "columns": {"messages": "messages"}, "tags": {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"}}
    ranking = {"file_name": "ranking.json", "ranking": True, "columns": {"prompt": "instruction", "query": "input", "chosen": "chosen", "rejected": "rejected"}}
    votes = {"file_name": "kto.json", "formatting": "sharegpt", "columns": {"messages": "messages", "kto_tag": "label"}, "tags": sharegpt["tags"]}
    info = {"tiny": {"file_name": "tiny.json", **sharegpt}, "ranking": ranking, "kto": votes, "gone": {"file_name": "gone.json"}, "text": {"file_name": "text.json", "columns": {"prompt": "text"}},
            "wrong": {"file_name": "tiny.json", **sharegpt, "columns": {"messages": "conversation"}}}
    human = {"formatting": "sharegpt", "columns": {"messages": "conversations"}}
    info |= {"alpaca": {"file_name": "../alpaca.jsonl"}, "csv": {"file_name": "../alpaca.csv"}, "human": {"file_name": "../sharegpt.jsonl", **human},
             "system": {"file_name": "../system.jsonl", **sharegpt, "tags": {**sharegpt["tags"], "system_tag": "system"}}, "few": {"file_name": "tiny.json", **sharegpt, "num_samples": 4},
             "no_tags": {"file_name": "tiny.json", "formatting": "sharegpt", "columns": {"messages": "messages"}}, "no_format": {"file_name": "tiny.json"},
             "other_format": {"file_name": "tiny.json", "formatting": "nosuch"}, "unnamed": {"columns": {"prompt": "text"}}, "other_kind": {"file_name": "../lm.py"},
             "swapped": {"file_name": "../alpaca.jsonl", "columns": {"prompt": "nosuch", "response": "output"}}, "unranked": {**ranking, "ranking": False},
             "scripted": {"file_name": "tiny.json", **sharegpt, "split": "nosuch"}, "blank": {"file_name": "../empty.jsonl"}, "untagged": {**votes, "columns": {"messages": "messages", "kto_tag": "nosuch"}}}
    for it in ("disordered", "strangers", "no_messages", "no_content", "number_content", "malformed", "unanswered"):
        info[it] = {"file_name": f"../{it}.jsonl", **sharegpt}
    for it in ("numbers", "nulls", "long_text"):
        info[it] = {"file_name": f"../{it}.jsonl", "columns": {"prompt": "text"}}
    place = folder / "factory"
    place.mkdir()
    (place / "dataset_info.json").write_text(json.dumps(info))
    (folder / "broken_factory").mkdir()
    (folder / "broken_factory/dataset_info.json").write_text(json.dumps(info)[:-1])
    (place / "tiny.json").write_text(json.dumps([{"messages": talk}] * 20))
    (place / "ranking.json").write_text(json.dumps([{"instruction": "one and one", "input": "", "chosen": "two", "rejected": "three"}] * 20))
    (place / "kto.json").write_text(json.dumps([{"messages": talk, "label": n % 2 == 0} for n in range(20)]))
    (place / "text.json").write_text(json.dumps([{"text": "what is one and one and one and one"}] * 60))


def models(model, folder):
    """Copies of the model, each with something changed."""
    def copied(name, **config):
        shutil.copytree(model, folder / name)
        file = folder / name / "config.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **config}))
        return folder / name

    weights = load_file(model / "model.safetensors")
    broken = copied("short_weights") / "model.safetensors"
    broken.write_bytes(broken.read_bytes()[:-100])
    (copied("pointer") / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 376672\n")
    copied("other_width", intermediate_size=256)
    copied("other_vocabulary", vocab_size=512)
    copied("more_layers", num_hidden_layers=3)
    copied("unknown_kind", model_type="nosuch")
    names = sorted(weights)
    for name, gone in (("sharded", False), ("shard_gone", True)):
        place = copied(name)
        (place / "model.safetensors").unlink()
        files = {"model-00001-of-00002.safetensors": names[::2], "model-00002-of-00002.safetensors": names[1::2]}
        for file, part in files.items():
            save_file({it: weights[it].contiguous() for it in part}, place / file, metadata={"format": "pt"})
        (place / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": {it: file for file, part in files.items() for it in part}}))
        if gone:
            (place / "model-00002-of-00002.safetensors").unlink()
    for name, size in (("torch_weights", None), ("short_torch_weights", 100_000)):
        place = copied(name)
        (place / "model.safetensors").unlink()
        torch.save(weights, place / "pytorch_model.bin")
        if size:
            (place / "pytorch_model.bin").write_bytes((place / "pytorch_model.bin").read_bytes()[:size])
    # Its padding token is beyond the embedding.
    place = copied("padding_beyond")
    tokenizer = json.loads((place / "tokenizer.json").read_text())
    tokenizer["added_tokens"].append({**tokenizer["added_tokens"][0], "id": 5000, "content": "<|pad|>"})
    (place / "tokenizer.json").write_text(json.dumps(tokenizer))
    settings = json.loads((place / "tokenizer_config.json").read_text())
    (place / "tokenizer_config.json").write_text(json.dumps({**settings, "pad_token": "<|pad|>"}))
    place = copied("no_padding")
    settings.pop("pad_token")
    (place / "tokenizer_config.json").write_text(json.dumps(settings))
    (copied("no_tokenizer") / "tokenizer.json").unlink()
    (copied("broken_tokenizer") / "tokenizer.json").write_text('{"version": "1.0"}')
    (copied("no_config") / "config.json").unlink()
    (copied("broken_config") / "config.json").write_text('{"model_type": "qwen2",')
    copied("no_kind", model_type=None)
    copied("other_class", architectures=["NoSuchForCausalLM"])
    copied("odd_heads", num_attention_heads=3)
    copied("groups", num_key_value_heads=3)
    copied("word_width", hidden_size="wide")
    copied("other_activation", hidden_act="nosuch")
    copied("other_rope", rope_scaling={"rope_type": "nosuch", "factor": 2.0})
    copied("yarn", rope_scaling={"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 128})
    copied("fewer_layers", num_hidden_layers=1)
    copied("untied", tie_word_embeddings=False)
    copied("remote", auto_map={"AutoConfig": "nosuch.Config", "AutoModelForCausalLM": "nosuch.Model"})
    (copied("no_weights") / "model.safetensors").unlink()
    (copied("broken_index") / "model.safetensors").rename(folder / "broken_index/model-00001-of-00001.safetensors")
    (folder / "broken_index/model.safetensors.index.json").write_text('{"metadata": {}, "weight_map":')
    (copied("broken_generation") / "generation_config.json").write_text('{"temperature": ')
    place = copied("half", dtype="bfloat16", torch_dtype="bfloat16")
    save_file({name: it.bfloat16().contiguous() for name, it in weights.items()}, place / "model.safetensors", metadata={"format": "pt"})
    # Ids of its tokenizer are beyond its embedding.
    place = copied("small_vocabulary", vocab_size=64)
    save_file({name: it[:64].contiguous() if it.shape[0] == len(tokenizer["model"]["vocab"]) else it.contiguous() for name, it in weights.items()}, place / "model.safetensors",
              metadata={"format": "pt"})
    place = copied("no_template")
    settings = json.loads((place / "tokenizer_config.json").read_text())
    settings.pop("chat_template", None)
    (place / "tokenizer_config.json").write_text(json.dumps(settings))
    (place / "chat_template.jinja").unlink(missing_ok=True)
    place = copied("broken_template")
    (place / "tokenizer_config.json").write_text(json.dumps({**settings, "chat_template": "{% for m in messages %}{{ m.role }}"}))
    (place / "chat_template.jinja").unlink(missing_ok=True)
    place = copied("strict_template")
    strict = "{% for m in messages %}{% if m.role == 'user' %}{{ raise_exception('no users here') }}{% endif %}{{ m.content }}{% endfor %}"
    (place / "tokenizer_config.json").write_text(json.dumps({**settings, "chat_template": strict}))
    (place / "chat_template.jinja").unlink(missing_ok=True)
    place = copied("other_tokenizer")
    (place / "tokenizer_config.json").write_text(json.dumps({**settings, "tokenizer_class": "NoSuchTokenizer"}))
    # Its template says what the assistant wrote.
    place = copied("marked")
    marked = "{% for m in messages %}{{ m.role }}: {% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}{% else %}{{ m.content }}{% endif %}{% endfor %}"
    (place / "tokenizer_config.json").write_text(json.dumps({**settings, "chat_template": marked}))
    (place / "chat_template.jinja").unlink(missing_ok=True)


def others(model, folder):
    """Models of other kinds, with the same tokenizer, and adapters."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer, BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, MixtralConfig, MixtralForCausalLM
    from transformers import Qwen2ForSequenceClassification

    tokenizer = AutoTokenizer.from_pretrained(model)
    size = len(tokenizer)
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": size}
    ids = {"bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 0}
    made = {"gpt2": GPT2LMHeadModel(GPT2Config(vocab_size=size, n_embd=64, n_layer=2, n_head=4, n_positions=256, **ids)),
            "short_gpt2": GPT2LMHeadModel(GPT2Config(vocab_size=size, n_embd=64, n_layer=2, n_head=4, n_positions=8, **ids)),
            "llama": LlamaForCausalLM(LlamaConfig(**sizes, num_key_value_heads=2, **ids)),
            "mixtral": MixtralForCausalLM(MixtralConfig(**sizes, num_key_value_heads=2, num_local_experts=4, num_experts_per_tok=2, **ids)),
            "bert": BertForMaskedLM(BertConfig(**sizes)),
            "scorer": Qwen2ForSequenceClassification.from_pretrained(model, num_labels=1, pad_token_id=0),
            "two_labels": Qwen2ForSequenceClassification.from_pretrained(model, num_labels=2, pad_token_id=0)}
    for name, it in made.items():
        it.save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    for name, base, targets in (("adapter", model, ["q_proj", "v_proj"]), ("other_adapter", folder / "llama", ["gate_proj"]), ("gpt2_adapter", folder / "gpt2", ["c_attn"])):
        get_peft_model(AutoModelForCausalLM.from_pretrained(base), LoraConfig(task_type="CAUSAL_LM", target_modules=targets)).save_pretrained(folder / name)
        settings = json.loads((folder / name / "adapter_config.json").read_text())
        (folder / name / "adapter_config.json").write_text(json.dumps({**settings, "base_model_name_or_path": "model"}))
    shutil.copytree(folder / "adapter", folder / "broken_adapter")
    (folder / "broken_adapter/adapter_model.safetensors").unlink()


def vision(model, folder):
    """A tiny Qwen2-VL with its processor, and pictures. Without torchvision there is none."""
    import transformers
    from PIL import Image
    from transformers import AutoTokenizer, Qwen2VLConfig, Qwen2VLForConditionalGeneration, Qwen2VLImageProcessor, Qwen2VLProcessor

    place, tokenizer = folder / "vision", AutoTokenizer.from_pretrained(model)
    if transformers.__version__ < "5":  # Its processor takes no other class.
        tokenizer = transformers.Qwen2TokenizerFast.from_pretrained(model)
    special = ["<|vision_start|>", "<|vision_end|>", "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>"]
    tokenizer.add_special_tokens({"additional_special_tokens": special})
    ids = dict(zip(("vision_start_token_id", "vision_end_token_id", "vision_token_id", "image_token_id", "video_token_id"), tokenizer.convert_tokens_to_ids(special)))
    text = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": len(tokenizer),
            "rope_scaling": {"type": "mrope", "rope_type": "default", "mrope_section": [4, 2, 2]}}
    tower = {"depth": 2, "embed_dim": 64, "hidden_size": 64, "num_heads": 4, "mlp_ratio": 2}
    Qwen2VLForConditionalGeneration(Qwen2VLConfig(text_config=text, vision_config=tower, **ids)).save_pretrained(place)
    pictures = Qwen2VLImageProcessor(min_pixels=56 * 56, max_pixels=56 * 56)
    try:
        from transformers import Qwen2VLVideoProcessor
        processor = Qwen2VLProcessor(pictures, tokenizer, Qwen2VLVideoProcessor())
    except ImportError:
        processor = Qwen2VLProcessor(pictures, tokenizer)
    processor.save_pretrained(place)
    Image.new("RGB", (64, 64), "red").save(folder / "red.png")
    talk = [{"role": "user", "content": "<image>what is it"}, {"role": "assistant", "content": "red"}]
    write(folder / "pictures.jsonl", [{"messages": talk, "images": ["red.png"]}] * 20)
    write(folder / "no_pictures.jsonl", [{"messages": talk, "images": ["gone.png"]}] * 20)
    file = folder / "factory/dataset_info.json"
    info = json.loads(file.read_text())
    for name in ("pictures", "no_pictures"):
        info[name] = {**info["tiny"], "file_name": f"../{name}.jsonl", "columns": {"messages": "messages", "images": "images"}}
    file.write_text(json.dumps(info))


def main():
    root, folder = map(Path, sys.argv[1:])
    (folder / "lm.py").write_text(SCRIPT)
    (folder / "classify.py").write_text(CLASSIFY)
    (folder / "plain.py").write_text(PLAIN)
    (folder / "axolotl_cpu.py").write_text(AXOLOTL_CPU)
    shutil.copy(Path(__file__).parent / "train_hf.py", folder / "train.py")
    data(folder)
    models((root / "model").resolve(), folder)
    others((root / "model").resolve(), folder)
    if importlib.util.find_spec("torchvision"):
        vision((root / "model").resolve(), folder)


if __name__ == "__main__":
    main()
