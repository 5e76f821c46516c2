#!/usr/bin/env python3
"""Front ends that take the config in another way than by `--deepspeed`, or take none: the real ones, with and without zlaunch.

Lightning, accelerate, transformers, hydra and tyro run here, without a GPU. OpenRLHF, verl, Unsloth and LMFlow want one, or vLLM, or an older
transformers: what is said about them is read from their packages.
"""
import json
import subprocess
import tempfile
import textwrap
from pathlib import Path

from harness import Arguments, Checks, check, environment, free_port
from lab import Lab, different

LOOP = """
    import argparse
    import torch
    from accelerate import Accelerator, PartialState

    # Without a GPU, accelerate counts ranks only if it is told that there is none.
    PartialState(cpu=True)

    class Tiny(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(8, 8)
            self.config = argparse.Namespace(hidden_size=8)

        def forward(self, batch):
            return self.layer(batch).pow(2).mean()

    accelerator = Accelerator(gradient_accumulation_steps=2)
    model = Tiny()
    optimizer = torch.optim.AdamW(model.parameters())
    data = torch.utils.data.DataLoader(torch.randn(32, 8), batch_size=2)
    model, optimizer, data = accelerator.prepare(model, optimizer, data)
    for batch in data:
        with accelerator.accumulate(model):
            accelerator.backward(model(batch))
            optimizer.step()
            optimizer.zero_grad()
    accelerator.print(f"trained on {accelerator.num_processes} with {accelerator.distributed_type}", flush=True)
    torch.distributed.destroy_process_group()
"""

IN_CODE = """
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM, Trainer, TrainingArguments

    arguments = TrainingArguments(output_dir="o", per_device_train_batch_size=2, gradient_accumulation_steps=2, max_steps=2, max_grad_norm=0.7,
                                  learning_rate=3e-4, bf16=True, use_cpu=True, report_to="none", save_strategy="no")
    model = Qwen2ForCausalLM(Qwen2Config(vocab_size=128, hidden_size=64, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=4))
    data = [{"input_ids": [1, 2, 3, 4], "labels": [1, 2, 3, 4]}] * 64
    print(f"trained {Trainer(model=model, args=arguments, train_dataset=data).train().global_step} steps", flush=True)
    torch.distributed.destroy_process_group()
"""

# The same, with options that argparse reads and what they become unpacked.
UNPACKED = IN_CODE.replace("TrainingArguments(output_dir", "TrainingArguments(**vars(parser.parse_args()), output_dir").replace("max_steps=2, ", "").replace("""
    arguments""", """
    import argparse
    parser = argparse.ArgumentParser()
    parser.add_argument("--max_steps", type=int)
    arguments""")

LIGHTNING = """
    import argparse
    import json
    import os
    import lightning as L
    import lightning.pytorch.strategies.deepspeed as module
    import torch
    from lightning.pytorch.accelerators import CPUAccelerator

    # Lightning lets DeepSpeed run on GPUs only. DeepSpeed itself also runs on the CPU.
    module.CUDAAccelerator, module._validate_device_index_selection = CPUAccelerator, lambda devices: None
    on_cpu = argparse.Namespace(device_rank=int(os.environ["LOCAL_RANK"]))
    module.argparse = argparse.Namespace(Namespace=lambda device_rank: on_cpu)

    class Tiny(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(8, 8)

        def training_step(self, batch, _):
            return self.layer(batch).pow(2).mean()

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters())

    trainer = L.Trainer(strategy="deepspeed_stage_3", accelerator="cpu", devices=2, max_steps=2, accumulate_grad_batches=2, gradient_clip_val=0.5,
                        precision="bf16-mixed", logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Tiny(), torch.utils.data.DataLoader(torch.randn(64, 8), batch_size=4))
    os.write(1, f"SEEN {json.dumps([trainer.global_rank, trainer.world_size, trainer.strategy.config])}\\n".encode())
    torch.distributed.destroy_process_group()
"""

HYDRA = """
    import os
    import hydra
    from hydra.core.config_store import ConfigStore

    ConfigStore.instance().store("base", {"training": {"deepspeed": None, "learning_rate": 1.0}})

    @hydra.main(version_base=None, config_name="base")
    def main(settings):
        os.write(1, f"GOT {settings.training.deepspeed} {settings.training.learning_rate}\\n".encode())

    main()
"""

TYRO = """
    import dataclasses
    import os
    import tyro

    @dataclasses.dataclass
    class Training:
        deepspeed: str = ""
        learning_rate: float = 1.0

    @dataclasses.dataclass
    class Settings:
        training: Training

    settings = tyro.cli(Settings)
    os.write(1, f"GOT {settings.training.deepspeed} {settings.training.learning_rate}\\n".encode())
"""


# Their sources alone: they are not run.
READ = ["openrlhf==0.11.2", "verl==0.9.1", "lmflow-finetune==0.0.3"]


def read_only(env):
    """The folder `read` of the environment has the packages that are only read."""
    done = env / "read/complete"
    if not done.exists():
        subprocess.run([env / "bin/uv", "pip", "install", "--quiet", "--no-deps", "--python", env / "bin/python", "--target", env / "read", *READ], check=True)
        done.touch()


def script(lab, name, text):
    file = lab.root / name
    file.write_text(textwrap.dedent(text))
    return file


def template(lab, name):
    """A built-in template as a file."""
    file = lab.root / f"{name}.json"
    file.write_text(lab.zlaunch("templates", name))
    return file


def ours(lab, *words):
    return [lab.binary, "--nproc-per-node", "2", *words]


def plan(lab, *words):
    return json.loads(lab.zlaunch("-n", "--format", "json", "--nproc-per-node", "2", *words))


def refused(lab, says, *words):
    result = lab.run([lab.binary, "check", "--nproc-per-node", "2", *words])
    assert result.returncode == 1 and says in result.stdout, result.stdout


def launched_by_accelerate(lab, file, config):
    return ["accelerate", "launch", "--num_processes", "2", "--main_process_port", "0", "--use_deepspeed", "--deepspeed_config_file", config, file]


@check
def an_own_loop_gets_the_config(lab):
    loop, done = script(lab, "loop.py", LOOP), "trained on 2 with DistributedType.DEEPSPEED"
    alone = lab.trained(launched_by_accelerate(lab, loop, template(lab, "zero2")), done)
    through = lab.trained(ours(lab, "--deepspeed", "zero2", "--", "python", loop), done)
    assert through == alone, different(alone, through)
    assert (through["train_batch_size"], through["gradient_clipping"]) == (8, 1.0), through


@check
def an_auto_that_accelerate_refuses_is_refused(lab):
    program = """
        import sys
        from accelerate import DeepSpeedPlugin
        plugin = DeepSpeedPlugin(hf_ds_config=sys.argv[1])
        try:
            plugin.deepspeed_config_process(must_match=False, **{"optimizer.params.lr": 1.0, "optimizer.params.weight_decay": 0.0})
        except ValueError as error:
            print(error)
    """
    config = '{"zero_optimization": {"stage": 2}, "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto"}}}'
    file = lab.root / "betas.json"
    file.write_text(config)
    assert "`optimizer.params.betas` not found in kwargs" in lab.ask("-c", textwrap.dedent(program), file)
    refused(lab, "optimizer.params.betas", "--deepspeed", config, "--", "python", script(lab, "loop.py", LOOP))


@check
def arguments_in_code_get_the_config(lab):
    code, done = script(lab, "in_code.py", IN_CODE), "trained 2 steps"
    alone = lab.trained(launched_by_accelerate(lab, code, template(lab, "zero3")), done)
    through = lab.trained(ours(lab, "--deepspeed", "zero3", "--", "python", code), done)
    assert through == alone, different(alone, through)
    zero = through["zero_optimization"]
    assert (through["train_batch_size"], through["gradient_clipping"], zero["reduce_bucket_size"]) == (8, 0.7, 64 * 64), through
    # An argument would reach nobody.
    result = lab.run(["torchrun", "--nproc_per_node", "2", code, "--deepspeed", template(lab, "zero3")])
    assert result.returncode == 0 and done in result.stdout and "DeepSpeed" not in result.stdout, result.stdout


@check
def options_that_have_none_for_the_config(lab):
    code, done = script(lab, "unpacked.py", UNPACKED), "trained 2 steps"
    alone = lab.trained([*launched_by_accelerate(lab, code, template(lab, "zero3")), "--max_steps", "2"], done)
    through = lab.trained(ours(lab, "--deepspeed", "zero3", "--", "python", code, "--max_steps", "2"), done)
    assert through == alone, different(alone, through)
    result = lab.run(["torchrun", "--nproc_per_node", "2", code, "--max_steps", "2", "--deepspeed", template(lab, "zero3")])
    assert result.returncode and "unrecognized arguments: --deepspeed" in result.stdout, result.stdout


@check
def lightning_gets_the_config(lab):
    lit = script(lab, "lit.py", LIGHTNING)
    result = lab.run(ours(lab, "--deepspeed", "zero2", "--", "python", lit))
    assert result.returncode == 0, result.stdout[-6000:]
    seen = sorted((json.loads(line.split("SEEN ")[1]) for line in result.stdout.splitlines() if "SEEN " in line), key=lambda it: it[0])
    assert [it[:2] for it in seen] == [[0, 2], [1, 2]], seen
    config = seen[0][2]
    assert config["zero_optimization"]["stage"] == 2, "the script itself says stage 3"
    assert (config["train_micro_batch_size_per_gpu"], config["gradient_accumulation_steps"], config["gradient_clipping"]) == (4, 2, 0.5), config
    assert config["bf16"] == {"enabled": True} and "fp16" not in config, config
    # Fabric's strategy looks there too.
    fabric = "from lightning.fabric.strategies import DeepSpeedStrategy as S; print(S(stage=3).config['zero_optimization']['stage'])"
    assert lab.run([lab.python, "-c", fabric], PL_DEEPSPEED_CONFIG_PATH=str(template(lab, "zero2"))).stdout.split()[-1] == "2"


@check
def lightning_refuses_what_is_taken_out(lab):
    result = lab.run(["torchrun", "--nproc_per_node", "2", script(lab, "lit.py", LIGHTNING)], PL_DEEPSPEED_CONFIG_PATH=str(template(lab, "zero2")))
    assert result.returncode != 0 and "Do not set `gradient_accumulation_steps` in the DeepSpeed config" in result.stdout, result.stdout[-3000:]
    ddp = script(lab, "ddp.py", LIGHTNING.replace("deepspeed_stage_3", "ddp").replace("lightning.pytorch.strategies.deepspeed", "lightning.pytorch").replace("DeepSpeed", "it"))
    refused(lab, 'strategy="ddp"', "--deepspeed", "zero2", "--", "python", ddp)


@check
def sections_of_hydra_and_tyro(lab):
    for name, text, words in (("hydra_script.py", HYDRA, ["training.deepspeed=zero3", "training.learning_rate=0.5"]),
                              ("tyro_script.py", TYRO, ["--training.deepspeed", "zero3", "--training.learning-rate", "0.5"])):
        result = lab.run(ours(lab, "--", "python", script(lab, name, text), *words))
        assert result.returncode == 0, result.stdout[-3000:]
        got = [line.split("GOT ")[1].split() for line in result.stdout.splitlines() if "GOT " in line]
        assert len(got) == 2 and all(it[1] == "0.5" for it in got), result.stdout
        assert json.loads(Path(got[0][0]).read_text())["zero_optimization"]["stage"] == 3, got


@check
def a_config_made_in_code_excludes_another(lab):
    program = """
        import argparse, deepspeed, torch
        arguments = argparse.Namespace(deepspeed_config="ds.json", local_rank=0)
        deepspeed.initialize(args=arguments, model=torch.nn.Linear(2, 2), config={"train_batch_size": 1})
    """
    one = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    result = lab.run([lab.python, "-c", textwrap.dedent(program)], **one)
    assert "we were given deepspeed configs in the deepspeed arguments and deepspeed.initialize()" in result.stdout, result.stdout[-2000:]
    chat = script(lab, "chat.py", """
        import deepspeed
        parser.add_argument("--zero_stage", type=int, default=0)
        parser = deepspeed.add_config_arguments(parser)
        ds_config = get_train_ds_config(offload=args.offload, stage=args.zero_stage)
        model, optimizer, _, _ = deepspeed.initialize(model=model, args=args, config=ds_config)
    """)
    refused(lab, "say --zero_stage 3", "--deepspeed", "zero3", "--", "python", chat, "--deepspeed")
    planned = plan(lab, "--", "deepspeed", "--num_gpus", "2", chat, "--zero_stage", "3", "--deepspeed")
    assert planned["config"] is None and planned["argv"][-3:] == ["--zero_stage", "3", "--deepspeed"], planned


@check
def trl_scripts_are_trl(lab):
    for command in (["trl", "sft"], ["python", "-m", "trl.scripts.sft"], ["accelerate", "launch", "--num_processes", "2", "-m", "trl.scripts.sft"]):
        planned = plan(lab, "--deepspeed", "zero2", "--", *command, "--model_name_or_path", "a/b", "--per_device_train_batch_size", "2")
        assert planned["trainer"]["name"] == "trl", planned


@check
def lmflow_is_an_hf_script(lab):
    """Its arguments are transformers' own, read by HfArgumentParser (0.0.3)."""
    finetune = script(lab, "finetune.py", f"""
        import sys
        from transformers import HfArgumentParser
        sys.path.insert(0, {str(lab.env / "read")!r})
        from lmflow.args import AutoArguments, DatasetArguments, ModelArguments
        parser = HfArgumentParser((ModelArguments, DatasetArguments, AutoArguments.get_pipeline_args_class("finetuner")))
        print("GOT", parser.parse_args_into_dataclasses()[2].deepspeed)
    """)
    words = ["--model_name_or_path", "gpt2", "--dataset_path", "d", "--output_dir", "o", "--per_device_train_batch_size", "2"]
    planned = plan(lab, "--deepspeed", "zero3", "--", "python", finetune, *words)
    assert planned["trainer"]["name"] == "hf" and planned["argv"][-2] == "--deepspeed", planned
    assert planned["config"]["train_micro_batch_size_per_gpu"] == 2, planned["config"]
    result = lab.run([lab.python, finetune, *words, "--deepspeed", template(lab, "zero3"), "--use_cpu"])
    assert f"GOT {template(lab, 'zero3')}" in result.stdout, result.stdout[-2000:]


@check
def what_is_only_read(lab):
    """OpenRLHF 0.11.2, verl 0.9.1."""
    read = lab.env / "read"
    openrlhf = (read / "openrlhf/cli/train_sft.py").read_text()
    assert '"--ds.zero_stage"' in openrlhf and '"--ds.adam_offload"' in openrlhf and '"--deepspeed"' not in openrlhf
    assert "ray.init(" in (read / "openrlhf/cli/train_ppo_ray.py").read_text()
    for module in ("train_sft", "train_rm", "train_dpo"):
        assert (read / f"openrlhf/cli/{module}.py").exists(), module
        refused(lab, "zero_stage 3", "--deepspeed", "zero3", "--", "python", "-m", f"openrlhf.cli.{module}")
    assert not [file for file in (read / "verl").rglob("*.py") if "import deepspeed" in file.read_text()]
    assert "initialize_global_process_group" in (read / "verl/trainer/sft_trainer.py").read_text()
    for module, trainer in (("verl.trainer.main_ppo", "ray"), ("verl.trainer.sft_trainer", "verl"), ("openrlhf.cli.train_ppo_ray", "ray")):
        planned = plan(lab, "--allow", "ranks-without-effect", "--", "python", "-m", module)
        assert planned["trainer"]["name"] == trainer, planned
        refused(lab, "error", "--deepspeed", "zero3", "--", "python", "-m", module)


def main():
    options = Arguments(__doc__, "bin", "names").parse_args()
    checks, env = Checks(options.names), environment("more")
    read_only(env)
    with tempfile.TemporaryDirectory(prefix="zlaunch-real-", ignore_cleanup_errors=True) as root:
        checks.run_all(Lab(options.bin, env, Path(root)))
    checks.finish()


if __name__ == "__main__":
    main()
