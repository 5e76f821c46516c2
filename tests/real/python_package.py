#!/usr/bin/env python3
"""The Python package of the wheel where people use it: under mypy, and with the real Trainer on the CPU; what docs/python.md shows is run.

The package is installed as the wheel installs it, with the executable that is tried beside it.
"""
import contextlib
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from harness import ROOT, blocks, check, free_port, programs, run, run_checks
from lab import variables

PACKAGE = ROOT / "packaging/python/zlaunch"


@contextlib.contextmanager
def installed(options):
    """A folder as `pip install --target` leaves it."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        shutil.copytree(PACKAGE, folder / "zlaunch", ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "bin").mkdir()
        shutil.copy(options.bin, folder / "bin/zlaunch")
        yield folder


def shown():
    """The scripts of docs/python.md."""
    found = ["".join(f"{line}\n" for _, line in block) for block in blocks(ROOT / "docs/python.md", "python tests/real/python_package.py")]
    assert len(found) == 2, found
    return found


@check
def types(options):
    """The package and what the document shows, and that a wrong call is found."""
    with installed(options) as folder:
        mypy = [programs("editor") / "bin/mypy", "--strict", "--cache-dir", folder / "cache"]
        run(*mypy, "-p", "zlaunch", cwd=folder)
        (folder / "use.py").write_text("\n".join(shown()))
        run(*mypy, "use.py", cwd=folder)
        (folder / "wrong.py").write_text("import zlaunch\nzlaunch.config(3)\nzlaunch.plan('swift', deepspeed=object())\nzlaunch.config('zero3', sett={})\n")
        wrong = run(*mypy, "wrong.py", cwd=folder, status=1).stdout
        assert wrong.count("error:") >= 3, wrong
    assert (PACKAGE / "py.typed").exists()


@check
def documented(options):
    """Every script of the document; a refusal shows its sentences."""
    with installed(options) as folder:
        asserted = ["assert ds['zero_optimization']['overlap_comm'] is True and 'steps_per_print' not in ds", "assert plan['topology']['world_size'] == 8 and report", "import json; json.dumps([ds, plan, report])"]
        printed = run(sys.executable, "-c", "\n".join([*shown(), *asserted]), env={**os.environ, "PYTHONPATH": str(folder)}).stdout
        assert "error[wrong-value]: `zero_optimization.stage` is 4" in printed, printed


@check
def oldest_python(options):
    """The grammar is that of Python 3.7, which pyproject.toml promises."""
    import ast
    for path in PACKAGE.glob("*.py"):
        ast.parse(path.read_text(), feature_version=(3, 7))


TRAINER = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[2])
import torch, transformers, zlaunch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

ds = zlaunch.config("zero2", set={"zero_optimization.overlap_comm": False, "zero_optimization.reduce_bucket_size": "auto", "optimizer.type": "AdamW", "optimizer.params.torch_adam": True, "optimizer.params.lr": "auto"})
args = TrainingArguments("out", deepspeed=ds, max_steps=2, per_device_train_batch_size=1, use_cpu=True, report_to=[], logging_steps=1, save_strategy="no", bf16=True, disable_tqdm=True)
model = LlamaForCausalLM(LlamaConfig(vocab_size=64, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2))
data = [{"input_ids": torch.tensor([1, 2, 3, 4]), "labels": torch.tensor([1, 2, 3, 4])}] * 4
trainer = Trainer(model, args, train_dataset=data)
trainer.train()
used = trainer.accelerator.state.deepspeed_plugin.deepspeed_config
print("ANSWER " + json.dumps({"engine": type(trainer.model_wrapped).__name__, "steps": trainer.state.global_step, "zero": used["zero_optimization"]}))

import deepspeed
from deepspeed.runtime.config import DeepSpeedConfig
taken = DeepSpeedConfig({"$schema": "./deepspeed.schema.json", "train_batch_size": 1})
print("UNKNOWN KEY TAKEN", taken.train_batch_size)
"""


@check
def real_trainer(options):
    """Two steps on the CPU with a config from here; and real DeepSpeed ignores a `$schema` that zlaunch did not see."""
    with installed(options) as folder:
        script = folder / "train.py"
        script.write_text(TRAINER)
        said = run(options.env / "bin/python", script, folder, free_port(), cwd=folder, env=variables(options.env, folder)).stdout
        answer = json.loads(re.search(r"ANSWER (.*)", said)[1])
        assert answer["engine"] == "DeepSpeedEngine" and answer["steps"] == 2 and answer["zero"]["stage"] == 2 and answer["zero"]["overlap_comm"] is False, answer
        assert answer["zero"]["reduce_bucket_size"] == 256, answer
        assert "UNKNOWN KEY TAKEN 1" in said, said
    return f"{answer['steps']} steps, stage {answer['zero']['stage']}, reduce_bucket_size {answer['zero']['reduce_bucket_size']}"


if __name__ == "__main__":
    run_checks(__doc__, "bin", "env")
