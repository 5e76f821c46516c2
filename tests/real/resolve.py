"""What the real HF Trainer makes of a DeepSpeed config: reads cases as JSON lines, answers each with `ANSWER` and JSON.

A case is {"config": {…}, "argv": […], "world": N, "model": {…config.json…}}. The answer is {"config": {…}}, the dict that
reaches `deepspeed.initialize`, or {"refused": "…"}. Everything up to that call is the real code: the argument parser,
TrainingArguments, HfTrainerDeepSpeedConfig, accelerate's plugin and `_prepare_deepspeed`, inside the real `Trainer.train`.
Only the number of ranks is pretended, and `deepspeed.initialize` is not entered.
"""
import contextlib
import dataclasses
import functools
import gc
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")

import accelerate  # noqa: E402
import deepspeed  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from accelerate import Accelerator  # noqa: E402
from accelerate.state import AcceleratorState, GradientState  # noqa: E402
from deepspeed.ops.adam import cpu_adam  # noqa: E402
from transformers import AutoConfig, HfArgumentParser, Trainer, TrainingArguments  # noqa: E402
from transformers.integrations.deepspeed import unset_hf_deepspeed_config  # noqa: E402

WORLD = 1


class Reached(BaseException):
    """deepspeed.initialize was called with this config."""


def initialize(*_, config_params=None, config=None, **__):
    raise Reached(config_params if config_params is not None else config)


deepspeed.initialize = initialize


class Uncompiled:
    """In the place of DeepSpeed's own operators: nothing is computed, so none has to be compiled."""

    def load(self, *_, **__):
        return SimpleNamespace(create_adam=lambda *_: 0, destroy_adam=lambda *_: 0)


cpu_adam.CPUAdamBuilder = Uncompiled
# Before 1.0 accelerate knows DeepSpeed on GPUs only: it is off with --use_cpu, and without it a device and NCCL are asked for.
ON_CPU = ["--use_cpu", "true"]
if accelerate.__version__.startswith("0."):
    ON_CPU = []
    torch.cuda.set_device = lambda *_: None
    deepspeed.comm.torch.build_shm_op = lambda *_: None
    deepspeed.init_distributed("gloo", auto_mpi_discovery=False)
# Trainer collects garbage at every start, which is most of the time a case takes.
COLLECT, gc.collect = gc.collect, lambda *_: 0
TrainingArguments.world_size = property(lambda self: WORLD)
Accelerator.num_processes = property(lambda self: WORLD)


@dataclasses.dataclass
class ModelArguments:
    model_name_or_path: str = None


class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, index):
        return {"input_ids": torch.zeros(4, dtype=torch.long), "labels": torch.zeros(4, dtype=torch.long)}


class Model(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)
        self.config = config

    def forward(self, input_ids=None, labels=None):
        return {"loss": self.layer(torch.zeros(2)).sum()}


@functools.cache
def parser():
    return HfArgumentParser((ModelArguments, TrainingArguments))


@functools.cache
def model_config(text, folder):
    (Path(folder) / "model").mkdir(exist_ok=True)
    (Path(folder) / "model/config.json").write_text(text)
    return AutoConfig.from_pretrained(Path(folder) / "model")


def resolve(case, folder):
    global WORLD
    WORLD = case["world"]
    config_file = Path(folder) / "config.json"
    config_file.write_text(json.dumps(case["config"]))
    argv = [*case["argv"], "--output_dir", folder, "--report_to", "none", *ON_CPU, "--deepspeed", str(config_file)]
    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()
    unset_hf_deepspeed_config()
    try:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            _, arguments = parser().parse_args_into_dataclasses(argv)
            model = Model(model_config(json.dumps(case["model"]), folder))
            Trainer(model=model, args=arguments, train_dataset=Tokens()).train()
    except Reached as reached:
        return {"config": reached.args[0]}
    except (Exception, SystemExit) as why:
        return {"refused": f"{type(why).__name__}: {why}"[:500]}
    return {"refused": "deepspeed.initialize was not called"}


def main():
    transformers.logging.set_verbosity_error()
    for name in [name for name in os.environ if name.startswith("ACCELERATE_")]:
        del os.environ[name]
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        for count, line in enumerate(sys.stdin):
            if count % 500 == 0:
                COLLECT()
            os.environ.clear()
            os.environ.update(before)
            print("ANSWER " + json.dumps(resolve(json.loads(line), folder), default=str), flush=True)


if __name__ == "__main__":
    main()
