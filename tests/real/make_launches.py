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

own, arguments = HfArgumentParser((Own, TrainingArguments)).parse_args_into_dataclasses()
tokenizer = AutoTokenizer.from_pretrained(own.model_name_or_path)
model = AutoModelForCausalLM.from_pretrained(own.model_name_or_path)
rows = load_dataset("json", data_files=own.data, split="train")
rows = rows.map(lambda row: tokenizer(row["text"], truncation=True, max_length=own.block), remove_columns=rows.column_names)
trainer = Trainer(model=model, args=arguments, train_dataset=rows, eval_dataset=rows.select(range(4)), data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False))
trainer.train(resume_from_checkpoint=arguments.resume_from_checkpoint)
if torch.distributed.is_initialized():
    torch.distributed.destroy_process_group()
'''
PLAIN = '''
import argparse
import deepspeed, torch
parser = deepspeed.add_config_arguments(argparse.ArgumentParser())
parser.add_argument("--size", type=int, default=16)
parser.add_argument("--wide", type=int, default=16)
parser.add_argument("--load")
parser.add_argument("--save")
parser.add_argument("--loss", default="mean")
parser.add_argument("--local_rank", type=int)
args = parser.parse_args()
model = torch.nn.Sequential(torch.nn.Linear(args.size, 16), torch.nn.Linear(args.wide, 1))
engine, *_ = deepspeed.initialize(args=args, model=model, model_parameters=model.parameters())
if args.load:
    found, _ = engine.load_checkpoint(args.load)
    assert found, f"no checkpoint in {args.load}"
loss = getattr(engine(torch.ones(4, args.size, device=engine.device)), args.loss)()
engine.backward(loss)
engine.step()
if args.save:
    engine.save_checkpoint(args.save)
'''


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
    # LLaMA-Factory's.
    sharegpt = {"formatting": "sharegpt", "columns": {"messages": "messages"}, "tags": {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"}}
    ranking = {"file_name": "ranking.json", "ranking": True, "columns": {"prompt": "instruction", "query": "input", "chosen": "chosen", "rejected": "rejected"}}
    votes = {"file_name": "kto.json", "formatting": "sharegpt", "columns": {"messages": "messages", "kto_tag": "label"}, "tags": sharegpt["tags"]}
    info = {"tiny": {"file_name": "tiny.json", **sharegpt}, "ranking": ranking, "kto": votes, "gone": {"file_name": "gone.json"}, "text": {"file_name": "text.json", "columns": {"prompt": "text"}},
            "wrong": {"file_name": "tiny.json", **sharegpt, "columns": {"messages": "conversation"}}}
    place = folder / "factory"
    place.mkdir()
    (place / "dataset_info.json").write_text(json.dumps(info))
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


def vision(model, folder):
    """A tiny Qwen2-VL with its processor, and pictures. Without torchvision there is none."""
    from PIL import Image
    from transformers import AutoTokenizer, Qwen2VLConfig, Qwen2VLForConditionalGeneration, Qwen2VLImageProcessor, Qwen2VLProcessor

    place, tokenizer = folder / "vision", AutoTokenizer.from_pretrained(model)
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
    (folder / "plain.py").write_text(PLAIN)
    shutil.copy(Path(__file__).parent / "train_hf.py", folder / "train.py")
    data(folder)
    models((root / "model").resolve(), folder)
    if importlib.util.find_spec("torchvision"):
        vision((root / "model").resolve(), folder)


if __name__ == "__main__":
    main()
