#!/usr/bin/env python3
"""Programs by other names, and files of the installed version: the real ones alone, and behind zlaunch.

A launcher that `python` runs by its file or its module is still a launcher, so its ranks must be counted once; and a word such as `zero2` in the
trainer's own argument means the file that the installed trainer has.
"""
import json
import re
import shutil
import tempfile
from pathlib import Path

from harness import Arguments, Checks, environment
from lab import PORT, Lab, different

PROBE = "import os\nprint(f\"rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']}\\n\", end='', flush=True)\n"


def package(lab, name):
    return next(lab.env.glob(f"lib/python3*/site-packages/{name}"))


def ranks(lab, argv):
    """The ranks that a command started, as each of them says."""
    # DeepSpeed's runner wants devices that it can count.
    result = lab.run(argv, CUDA_VISIBLE_DEVICES="0,1")
    assert result.returncode == 0, f"{argv}: exit {result.returncode}\n{result.stdout[-3000:]}"
    return sorted(re.findall(r"rank \d+ of \d+", result.stdout))


def a_launcher_is_seen_however_it_is_named(lab):
    """Before, each of these was started once more by every rank of a torchrun."""
    (lab.root / "probe.py").write_text(PROBE)
    config = lab.root / "config.json"
    config.write_text(json.dumps({"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 1}}))
    port = ["--master_port", PORT]
    processes = ["--num_processes", "2", "--num_machines", "1", "--mixed_precision", "no", "--main_process_port", PORT, "--use_deepspeed", "--deepspeed_config_file", config]
    bin, torch = lab.env / "bin", package(lab, "torch")
    forms = [
        [bin / "torchrun", "--nproc_per_node", "2", *port],
        [torch / "distributed/run.py", "--nproc_per_node", "2", *port],
        ["-m", "torch.distributed.run", "--nproc_per_node", "2", *port],
        ["-m", "torch.distributed.launch", "--use_env", "--nproc_per_node", "2", *port],
        [bin / "deepspeed", "--no_local_rank", "--num_gpus", "2", *port],
        ["-m", "deepspeed.launcher.runner", "--no_local_rank", "--num_gpus", "2", *port],
        [bin / "accelerate", "launch", *processes],
        ["-m", "accelerate.commands.accelerate_cli", "launch", *processes],
        ["-m", "accelerate.commands.launch", *processes],
    ]
    for form in forms:
        command = ["python", *form, "probe.py"]
        alone, ours = ranks(lab, command), ranks(lab, [lab.binary, "--", *command])
        assert ours == alone == ["rank 0 of 2", "rank 1 of 2"], (form, alone, ours)
    return f"{len(forms)} forms"


def what_launchers_do_besides_is_done_once(lab):
    for words in (["-m", "accelerate.commands.accelerate_cli", "env"], [lab.env / "bin/torchrun", "--help"]):
        command = ["python", *words]
        alone, ours = lab.run(command), lab.run([lab.binary, "--allow", "not-understood", "--", *command])
        assert alone.returncode == ours.returncode == 0, (words, alone.stdout[-800:], ours.stdout[-800:])
        mark = {"env": "`Accelerate` version", "--help": "usage: "}[words[-1]]
        assert ours.stdout.count(mark) == alone.stdout.count(mark) > 0, (words, ours.stdout.count(mark), alone.stdout.count(mark))


def plan(lab, *words, **more):
    result = lab.run([lab.binary, "-n", "--format", "json", "-q", *words], **more)
    assert result.returncode == 0, result.stdout[-3000:]
    return json.loads(result.stdout)


def trainers_are_seen_behind_their_modules(lab):
    """`trl.cli` was a module up to 0.28, and is a package since."""
    trl = "trl.cli.main" if (package(lab, "trl") / "cli/main.py").exists() else "trl.cli"
    assert lab.run(["python", "-m", trl, "--help"]).returncode == 0, trl
    for module, rest, trainer in ((trl, ["sft", "--model_name_or_path", lab.model()], "trl"), ("swift.cli.main", ["sft", "--model", lab.model()], "swift")):
        found = plan(lab, "--nproc-per-node", "2", "--", "python", "-m", module, *rest)
        assert found["trainer"]["name"] == trainer and module not in found["argv"], found["argv"]


def trl_trains_by_its_module(lab):
    """Alone, its launcher of this version wants a GPU or one process."""
    if not (package(lab, "trl") / "cli/main.py").exists():
        return "older"
    lab.model()
    words = ["--model_name_or_path", lab.root / "model", "--dataset_name", lab.root, "--use_cpu", "--bf16", "false", "--max_steps", "2", "--report_to", "none", "--save_strategy", "no",
             "--per_device_train_batch_size", "2", "--gradient_accumulation_steps", "1"]
    config = lab.trained([lab.binary, "--deepspeed", "zero1", "--nproc-per-node", "2", "--", "python", "-m", "trl.cli.main", "sft", *words, "--output_dir", lab.root / "trl"], "train_loss")
    assert config["train_batch_size"] == 4, config


def overlay(lab, edit):
    """A copy of the installed ms-swift whose own zero2.json somebody edited. It comes first on PYTHONPATH."""
    folder = lab.root / "edited"
    if not folder.exists():
        shutil.copytree(package(lab, "swift"), folder / "swift", ignore=shutil.ignore_patterns("__pycache__"))
        file = next((folder / "swift").glob("**/zero2.json"))
        config = json.loads(file.read_text())
        edit(config)
        file.write_text(json.dumps(config))
    return f"{folder}:{lab.variables()['PYTHONPATH']}"


def swift_sft(lab, *more):
    """A training by the ms-swift of this environment: its option for the tuner was renamed in 4.0."""
    package_names = [path.name for path in package(lab, "swift").parent.glob("ms_swift-*.dist-info")]
    major = int(package_names[0].split("-")[1].split(".")[0])
    common = ["--max_steps", "2", "--logging_steps", "1", "--gradient_accumulation_steps", "2", "--max_grad_norm", "0.7", "--output_dir", lab.root / "out", *more]
    tuner = "--tuner_type" if major >= 4 else "--train_type"
    return lab.swift_sft(tuner, "full", "--torch_dtype", "float32", "--per_device_train_batch_size", "2", *common)


def the_trainers_word_means_the_file_that_is_installed(lab):
    """Somebody edited it: alone and behind zlaunch, the training gets what is in it. zlaunch's own option means zlaunch's, and says so."""
    path = overlay(lab, lambda config: config["zero_optimization"].update(reduce_bucket_size=12345678))
    swift = swift_sft(lab, "--deepspeed", "zero2")
    alone = lab.trained(swift, "train_loss", NPROC_PER_NODE="2", PYTHONPATH=path)
    ours = lab.trained([lab.binary, "--nproc-per-node", "2", "--", *swift], "train_loss", PYTHONPATH=path)
    assert ours == alone and alone["zero_optimization"]["reduce_bucket_size"] == 12345678, different(alone, ours)
    flagged = lab.run([lab.binary, "check", "--nproc-per-node", "2", "--deepspeed", "zero2", "--", *swift_sft(lab)], PYTHONPATH=path).stdout
    assert "own-config-differs" in flagged and "reduce_bucket_size" in flagged, flagged


def factory_run(lab):
    """A run file of LLaMA-Factory, as its versions before 0.9.3 read it: no arguments behind it."""
    model, data = lab.model(), lab.root / "lf-data"
    data.mkdir()
    shutil.copy(lab.root / "data.jsonl", data)
    tags = {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"}
    info = {"tiny": {"file_name": "data.jsonl", "formatting": "sharegpt", "columns": {"messages": "messages"}, "tags": tags}}
    (data / "dataset_info.json").write_text(json.dumps(info))
    return {"model_name_or_path": model, "stage": "sft", "do_train": "true", "finetuning_type": "full", "dataset": "tiny", "dataset_dir": data, "template": "qwen",
            "cutoff_len": 64, "per_device_train_batch_size": 2, "gradient_accumulation_steps": 2, "learning_rate": "1.0e-4", "max_steps": 2, "max_grad_norm": 0.7,
            "bf16": "true", "use_cpu": "true", "report_to": "none", "save_strategy": "'no'", "preprocessing_num_workers": 1, "output_dir": lab.root / "lf-out", "overwrite_output_dir": "true"}


def a_run_file_that_takes_nothing_behind_it_is_written_anew(lab):
    """LLaMA-Factory before 0.9.3. `deepspeed=…` behind the file was refused there."""
    lines, zero2 = factory_run(lab), lab.root / "zero2.json"
    zero2.write_text(lab.zlaunch("templates", "zero2"))
    for name, more in (("run", {}), ("own", {"deepspeed": zero2})):
        (lab.root / f"{name}.yaml").write_text("".join(f"{key}: {value}\n" for key, value in (lines | more).items()))
    refused = lab.run(["llamafactory-cli", "train", "run.yaml", f"deepspeed={zero2}"], FORCE_TORCHRUN="1", NPROC_PER_NODE="1")
    assert refused.returncode != 0, refused.stdout[-2000:]
    assert "takes no argument behind a run file" in lab.run([lab.binary, "check", "--", "llamafactory-cli", "train", "run.yaml", f"deepspeed={zero2}"]).stdout
    alone = lab.trained(["llamafactory-cli", "train", "own.yaml"], "train_loss", FORCE_TORCHRUN="1", NPROC_PER_NODE="2")
    ours = lab.trained([lab.binary, "--deepspeed", "zero2", "--nproc-per-node", "2", "--", "llamafactory-cli", "train", "run.yaml"], "train_loss")
    assert ours == alone and ours["train_batch_size"] == 8, different(alone, ours)


def main():
    parser = Arguments(__doc__, "bin", "env", "names")
    options = parser.parse_args()
    checks = Checks(options.names)
    for which, functions in CHECKS_BY_STACK.items():
        wanted = {f"{function.__name__}{which and f'@{which}'}": function for function in functions}
        if not any(checks.wants(name) for name in wanted):
            continue
        with tempfile.TemporaryDirectory() as root:
            lab = Lab(options.bin, environment(which) if which else options.env, Path(root))
            for name, function in wanted.items():
                checks.run(name, function, lab)
    checks.finish()


CHECKS_BY_STACK = {
    "": [a_launcher_is_seen_however_it_is_named, what_launchers_do_besides_is_done_once, trainers_are_seen_behind_their_modules, trl_trains_by_its_module,
         the_trainers_word_means_the_file_that_is_installed],
    "older": [trainers_are_seen_behind_their_modules, the_trainers_word_means_the_file_that_is_installed],
    "llamafactory-2024": [a_run_file_that_takes_nothing_behind_it_is_written_anew],
}

if __name__ == "__main__":
    main()
