"""What ms-swift's own argument classes make of generated commands, for the hermetic tests: > tests/data/recorded-swift.jsonl.

Each line is a command and its answer: the DeepSpeed config after swift's classes and transformers' own process and
finalize steps, or the refusal. Only the number of ranks and the model are small.
"""
import json
import random
import tempfile
from pathlib import Path

from harness import HERE, Arguments
from lab import answers, put_model, versions


def case(number):
    dice = random.Random(f"swift {number}")
    argv = ["--model", "MODEL", "--tuner_type", dice.choice(["full", "lora"])]

    def maybe(share, name, *values):
        if dice.random() < share:
            argv.extend([f"--{name}", dice.choice(values)])

    maybe(.8, "per_device_train_batch_size", "1", "2", "4")
    maybe(.8, "gradient_accumulation_steps", "1", "3", "16")
    maybe(.5, "learning_rate", "1e-5", "2E-4", "0.001", "1")
    maybe(.4, "max_grad_norm", "0.5", "1", "0")
    maybe(.3, "weight_decay", "0.1", "0")
    maybe(.2, "adam_beta2", "0.95", "0.999")
    maybe(.3, "warmup_steps", "10", "0.1", "0")
    maybe(.4, "max_steps", "3", "100")
    maybe(.6, "torch_dtype", "bfloat16", "float16", "float32")
    maybe(.2, "bf16", "true", "false", "True")
    maybe(.2, "fp16", "true", "false")
    maybe(.05, "train_type", "full")
    maybe(.05, "learning_rat", "1")
    config = dice.choice(["zero0", "zero1", "zero2", "zero2_offload", "zero3", "zero3_offload", "inline", "inline"])
    if config == "inline":
        inline = {"zero_optimization": {"stage": dice.choice([0, 1, 2, 3])}, "train_micro_batch_size_per_gpu": dice.choice(["auto", "auto", 2]),
                  "gradient_accumulation_steps": dice.choice(["auto", "auto", 3]), "train_batch_size": "auto", "gradient_clipping": dice.choice(["auto", 0.5, 1.0]),
                  "bf16": {"enabled": dice.choice(["auto", True])}, "fp16": {"enabled": dice.choice(["auto", False])}}
        if dice.random() < .5:
            inline["optimizer"] = {"type": "AdamW", "params": {"lr": dice.choice(["auto", 1e-5]), "betas": "auto", "eps": "auto", "weight_decay": dice.choice(["auto", 0.1])}}
        if dice.random() < .4:
            inline["scheduler"] = {"type": "WarmupDecayLR", "params": {"warmup_min_lr": "auto", "warmup_max_lr": "auto", "warmup_num_steps": "auto", "total_num_steps": "auto"}}
        config = json.dumps(inline)
    return {"number": number, "command": dice.choice(["sft", "sft", "pt"]), "argv": [*argv, "--deepspeed", config], "world": dice.choice([1, 2, 8])}


def print_answers(env, packages, cases, found, **more):
    """The versions in the first line, then a case a line with the trainer's answer."""
    print(json.dumps(versions(env, *packages) | more))
    for case, answer in zip(cases, found):
        # JSON has no infinity; accelerate writes it into every config.
        if "config" in answer:
            answer["config"]["steps_per_print"] = "inf"
        print(json.dumps({**case, "answer": answer}, separators=(",", ":")))


def main():
    parser = Arguments(__doc__, "env")
    parser.add_argument("--cases", type=int, default=160)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        put_model(options.env, folder)
        cases = [case(number) for number in range(options.cases)]
        asked = [{"fills": ["swift", it["command"]], "config": None, "argv": [word.replace("MODEL", f"{folder}/model") for word in it["argv"]], "model": folder, "world": it["world"]} for it in cases]
        found = json.loads(json.dumps(answers(options.env, folder, [HERE / "real_parsers.py"], asked)).replace(folder, "FOLDER"))
        found = [{key: value[:300] if key == "refused" else value for key, value in answer.items()} for answer in found]
        config = json.loads((Path(folder) / "model/config.json").read_text())
        print_answers(options.env, ("ms_swift", "transformers", "accelerate", "deepspeed"), cases, found, model={key: config[key] for key in ("model_type", "hidden_size")})
