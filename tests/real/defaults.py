#!/usr/bin/env python3
"""The real trainers' own defaults and those that zlaunch knows are the same.

The real classes fill a config that is "auto" everywhere, which shows what they take for arguments that are not given. Then each value stands in
the config, as it is and changed: the trainer accepts the first and refuses the second, and so must zlaunch. A check is a front end and a key.
`--packages` names a folder of other versions (`pip install --no-deps --target`), which count before those of the environment.
"""
import copy
import json
import os
import subprocess
import tempfile
from pathlib import Path

from harness import Arguments, Checks, environment
from lab import make_model, variables

AUTO = {
    "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "gradient_clipping": "auto",
    "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}},
    "scheduler": {"type": "WarmupDecayLR", "params": {"warmup_min_lr": "auto", "warmup_max_lr": "auto", "warmup_num_steps": "auto", "total_num_steps": "auto"}},
    "fp16": {"enabled": "auto"}, "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto"},
}
KEYS = ["train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "gradient_clipping", "optimizer.params.lr", "optimizer.params.betas", "optimizer.params.eps",
        "optimizer.params.weight_decay", "scheduler.params.warmup_min_lr", "scheduler.params.warmup_max_lr", "scheduler.params.warmup_num_steps", "fp16.enabled", "bf16.enabled",
        "zero_optimization.reduce_bucket_size", "zero_optimization.stage3_prefetch_bucket_size"]
# ms-swift takes it from the model and the machine.
NOT_KNOWN = {(front_end, key) for front_end in ("swift", "swift-2") for key in ("fp16.enabled", "bf16.enabled")}
# A ratio of the steps, of which nobody knows how many there are.
NOT_KNOWN.add(("swift-2", "scheduler.params.warmup_num_steps"))

REAL = '''
import contextlib, io, json, os, sys
os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", LOCAL_WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
import torch
from transformers import HfArgumentParser
FOLDER, FRONT_END, COMMAND = sys.argv[1:]
if FRONT_END == "swift-2":
    # It wants a GPU for each of several ranks.
    del os.environ["RANK"], os.environ["LOCAL_RANK"], os.environ["WORLD_SIZE"]
class Model(torch.nn.Module):
    class config:
        hidden_size = 64
def arguments(argv):
    if FRONT_END == "swift-2":
        from swift.llm import PtArguments, RLHFArguments, SftArguments
        from swift.utils import parse_args
        fixed = ["--model_id_or_path", FOLDER + "/model", "--dataset", FOLDER + "/data.jsonl", "--model_type", "qwen2-0_5b-instruct", "--report_to", "none"]
        return parse_args({"sft": SftArguments, "pt": PtArguments, "rlhf": RLHFArguments}[COMMAND], argv + fixed)[0].training_args
    if FRONT_END == "swift":
        try:
            from swift.arguments import PretrainArguments, RLHFArguments, SftArguments
        except ImportError:
            from swift.llm import RLHFArguments, TrainArguments as SftArguments
            PretrainArguments = SftArguments
        from swift.utils import parse_args
        fixed = ["--model", FOLDER + "/model", "--dataset", FOLDER + "/data.jsonl", "--use_cpu", "true", "--use_hf", "true", "--model_type", "qwen2", "--template", "qwen", "--report_to", "none"]
        return parse_args({"sft": SftArguments, "pt": PretrainArguments, "rlhf": RLHFArguments}[COMMAND], argv + fixed)[0].training_args
    if FRONT_END == "trl":
        import trl
        cls = getattr(trl, COMMAND)
    elif FRONT_END == "llamafactory":
        from llamafactory.hparams.training_args import TrainingArguments as cls
    else:
        from transformers import TrainingArguments as cls
    return HfArgumentParser((cls,)).parse_args_into_dataclasses(argv + ["--use_cpu", "true"])[0]
def resolve(case):
    from accelerate.state import AcceleratorState, GradientState
    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()
    with open(FOLDER + "/config.json", "w") as file:
        json.dump(case["config"], file)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        training = arguments(case["argv"] + ["--output_dir", FOLDER + "/out", "--deepspeed", FOLDER + "/config.json"])
        config = training.hf_deepspeed_config
        config.trainer_config_finalize(training, Model(), 77)
    return config.config
for line in sys.stdin:
    try:
        answer = {"config": resolve(json.loads(line))}
    except (Exception, SystemExit) as why:
        answer = {"refused": f"{type(why).__name__}: {why}"[:600]}
    print("ANSWER " + json.dumps(answer, default=str), flush=True)
'''
SCRIPT = "from transformers import HfArgumentParser, Trainer, TrainingArguments\nparser = HfArgumentParser((TrainingArguments,))\n"

# ms-swift ends without one.
DATASET = ["--dataset", "AI-ModelScope/alpaca-gpt4-data-en"]
MODEL_2 = ["--model_type", "qwen2-0_5b-instruct", "--model_id_or_path", "model", *DATASET]
# Those that the main environment does not have.
ENVIRONMENTS = {"llamafactory": "llamafactory", "swift-2": "ms-swift-2.6.1"}
# The front end, what is asked for, how zlaunch is told, and the arguments that are given.
FRONT_ENDS = {
    "hf": [("", ["python", "train.py"], []), ("", ["torchrun", "train.py"], ["--per_device_train_batch_size", "2"])],
    "swift": [("sft", ["swift", "sft", "--model", "model", *DATASET], []), ("pt", ["swift", "pt", "--model", "model", *DATASET], ["--per_device_train_batch_size", "3"]),
              ("rlhf", ["swift", "rlhf", "--model", "model", *DATASET], ["--rlhf_type", "dpo"])],
    "swift-2": [("sft", ["swift", "sft", *MODEL_2], []), ("sft", ["swift", "sft", *MODEL_2], ["--sft_type", "full", "--batch_size", "2"]),
                ("pt", ["swift", "pt", *MODEL_2], ["--batch_size", "4", "--per_device_train_batch_size", "3"]), ("rlhf", ["swift", "rlhf", *MODEL_2], ["--rlhf_type", "dpo"])],
    "trl": [("SFTConfig", ["trl", "sft"], []), ("DPOConfig", ["trl", "dpo"], []), ("GRPOConfig", ["trl", "grpo"], []), ("RewardConfig", ["trl", "reward"], [])],
    "llamafactory": [("", ["llamafactory-cli", "train"], [])],
}


def get(config, key):
    for part in key.split("."):
        config = config[part]
    return config


def put(key, value):
    """The config with one value that is not "auto"."""
    config = copy.deepcopy(AUTO)
    *sections, last = key.split(".")
    section = config
    for part in sections:
        section = section[part]
    section[last] = value
    return config


def changed(value):
    if isinstance(value, bool):
        return not value
    return [part / 2 for part in value] if isinstance(value, list) else value * 2 or 3


class Bench:
    def __init__(self, binary, env, packages, folder):
        self.binary, self.env, self.folder = binary, env, Path(folder)
        self.packages = packages
        (self.folder / "train.py").write_text(SCRIPT)

    def variables(self):
        more = {"PYTHONPATH": str(self.packages)} if self.packages else {}
        return variables(self.env, self.folder, **more)

    def real(self, front_end, command, cases):
        lines = "".join(json.dumps(case) + "\n" for case in cases)
        result = subprocess.run([self.env / "bin/python", "-c", REAL, self.folder, front_end, command], input=lines, env=self.variables(), cwd=self.folder, capture_output=True, text=True)
        found = [json.loads(line.removeprefix("ANSWER ")) for line in result.stdout.splitlines() if line.startswith("ANSWER ")]
        assert len(found) == len(cases), result.stderr[-3000:]
        return found

    def complaints(self, words, case, key):
        """What zlaunch says about the key."""
        (self.folder / "case.json").write_text(json.dumps(case["config"]))
        result = subprocess.run([self.binary, "check", "--format", "json", "--deepspeed", "case.json", "--nproc-per-node", "1", "--", *words, *case["argv"]],
                                env=self.variables(), cwd=self.folder, capture_output=True, text=True)
        found = json.loads(result.stdout)["diagnostics"]
        return [it for it in found if it["rule"] in ("mismatch", "default-mismatch") and f"`{key}` is" in it["message"]]


def compare(bench, checks, front_end, command, words, argv):
    name = " ".join([front_end, *([command] if command else []), *argv])
    answer = bench.real(front_end, command, [{"config": AUTO, "argv": argv}])[0]
    if "config" not in answer:
        return checks.fail(name, answer["refused"])
    cases = []
    for key in KEYS:
        value = get(answer["config"], key)
        cases += [(key, {"config": put(key, value), "argv": argv}), (key, {"config": put(key, changed(value)), "argv": argv})]
    for (key, case), real in zip(cases, bench.real(front_end, command, [case for _, case in cases])):
        refused = "refused" in real
        assert not refused or "mismatch TrainingArguments" in real["refused"], real
        said = bench.complaints(words, case, key)
        wrong = None if bool(said) == refused or (front_end, key) in NOT_KNOWN and not said else f"{get(case['config'], key)}: the trainer says {real if refused else 'nothing'}, zlaunch {said}"
        checks.judge(f"{name} {key}", wrong)
    print(f"{name}: {len(cases)} values", flush=True)


def main():
    parser = Arguments(__doc__, "bin", "env", "names")
    parser.add_argument("--packages", type=Path, metavar="FOLDER", help="packages that count before those of the environment")
    options = parser.parse_args()
    checks = Checks()
    wanted = options.names or FRONT_ENDS
    for front_end in wanted:
        env = environment(ENVIRONMENTS[front_end]) if front_end in ENVIRONMENTS and "--env" not in os.sys.argv else options.env
        with tempfile.TemporaryDirectory() as folder:
            make_model(options.env, folder)
            bench = Bench(options.bin, env, options.packages and options.packages.resolve(), folder)
            for command, words, argv in FRONT_ENDS[front_end]:
                compare(bench, checks, front_end, command, words, argv)
    checks.finish()


if __name__ == "__main__":
    main()
