#!/usr/bin/env python3
"""The real trainers, with and without zlaunch in front: the final DeepSpeed config must be the same.

No GPU is used: DeepSpeed runs on the CPU, ranks talk through gloo. Only the standard library is needed here; the
trainers run in their own environments (`setup` makes them).
"""
import json
import shutil
import tempfile
import textwrap
from pathlib import Path

from harness import HERE, ROOT, Arguments, Checks, check, environment
from lab import PORT, Lab, different

ON_CPU = ["--use_cpu", "--bf16", "true"]
# Alone, accelerate takes the same port every time unless it is told to ask for a free one.
RECORD = ROOT / "tools/record"
ANY_PORT = ["--main_process_port", "0"]


def hf_script(lab, *more):
    """A script with the real HF Trainer."""
    return [HERE / "train_hf.py", "--model_name_or_path", lab.model(), "--per_device_train_batch_size", "2", "--report_to", "none", "--save_strategy", "no", *more]


def saved(lab, name):
    """A built-in template as a file."""
    file = lab.root / f"{name}.json"
    file.write_text(lab.zlaunch("templates", name))
    return file


def parsed_by_deepspeed(lab, configs):
    """What DeepSpeed's own parser makes of configs for two ranks, by name: the global batch."""
    program = textwrap.dedent("""
        import json, sys
        import deepspeed.comm as dist
        dist.get_rank, dist.get_world_size = lambda *a, **k: 0, lambda *a, **k: 2
        from deepspeed.runtime.config import DeepSpeedConfig
        batches = {name: DeepSpeedConfig(config).train_batch_size for name, config in json.load(sys.stdin).items()}
        print(json.dumps(batches))
    """)
    batches = json.loads(lab.ask("-c", program, text=json.dumps(configs)).splitlines()[-1])
    assert list(batches) == list(configs), batches
    return batches


@check
def swift_trains_with_zero2(lab):
    swift = lab.swift_sft("--tuner_type", "full", "--torch_dtype", "float32", "--per_device_train_batch_size", "2", "--gradient_accumulation_steps", "2",
                          "--max_grad_norm", "0.7", "--max_steps", "3", "--logging_steps", "1")
    alone = lab.trained([*swift, "--output_dir", lab.root / "alone", "--deepspeed", "zero2"], "train_loss", NPROC_PER_NODE="2")
    ours = lab.trained([lab.binary, "--deepspeed", "zero2", "--nproc-per-node", "2", "--", *swift, "--output_dir", lab.root / "ours"], "train_loss")
    assert ours == alone, different(alone, ours)
    assert ours["train_batch_size"] == 8 and ours["gradient_clipping"] == 0.7, ours


@check
def hf_script_trains_with_zero3(lab):
    script = hf_script(lab, *ON_CPU, "--gradient_accumulation_steps", "1", "--max_steps", "3")
    alone = lab.trained(["torchrun", "--nproc_per_node", "2", *script, "--output_dir", lab.root / "a", "--deepspeed", lab.swifts("zero3")], "trained 3 steps")
    ours = lab.trained([lab.binary, "--nproc-per-node", "2", "--", "python", *script, "--output_dir", lab.root / "b", "--deepspeed", "zero3"], "trained 3 steps")
    assert ours == alone, different(alone, ours)
    assert ours["zero_optimization"]["reduce_bucket_size"] == 64 * 64, ours


@check
def every_launcher_trains_the_same(lab):
    """torchrun, DeepSpeed's own launcher and the embedded one: the ranks cannot tell."""
    script = hf_script(lab, *ON_CPU, "--gradient_accumulation_steps", "1", "--max_steps", "3", "--deepspeed", "zero2")
    configs = {}
    for launcher in ("torchrun", "deepspeed", "local"):
        # DeepSpeed's always takes the same port unless it is told another, and counts GPUs.
        more, devices = (["--master-port", PORT], "0,1") if launcher == "deepspeed" else ([], "")
        configs[launcher] = lab.trained([lab.binary, "--nproc-per-node", "2", "--launcher", launcher, *more, "--", "python", *script, "--output_dir", lab.root / launcher],
                                        "trained 3 steps", CUDA_VISIBLE_DEVICES=devices)
    for launcher, config in configs.items():
        assert config == configs["torchrun"], (launcher, different(configs["torchrun"], config))


@check
def hf_script_trains_in_one_process_without_a_launcher(lab):
    script = hf_script(lab, *ON_CPU, "--learning_rate", "1e-4", "--weight_decay", "0.01", "--adam_beta1", "0.9", "--adam_beta2", "0.95", "--adam_epsilon", "1e-6",
                       "--warmup_steps", "2", "--max_steps", "3")
    ours = lab.trained([lab.binary, "--deepspeed", "hf_zero2", "--set", "zero_optimization.offload_optimizer.device=none", "--nproc-per-node", "1",
                        "--", "python", *script, "--output_dir", lab.root / "one"], "trained 3 steps")
    file = saved(lab, "hf_zero2")
    template = json.loads(file.read_text())
    template["zero_optimization"]["offload_optimizer"]["device"] = "none"
    file.write_text(json.dumps(template))
    alone = lab.trained(["torchrun", "--nproc_per_node", "1", *script, "--output_dir", lab.root / "two", "--deepspeed", file], "trained 3 steps")
    assert ours == alone, different(alone, ours)


@check
def hf_script_trains_from_a_json_file(lab):
    arguments = {"model_name_or_path": str(lab.model()), "use_cpu": True, "bf16": True, "per_device_train_batch_size": 2, "gradient_accumulation_steps": 2, "max_grad_norm": 0.3,
                 "learning_rate": 1e-4, "max_steps": 3, "report_to": "none", "save_strategy": "no"}
    for name, config in (("alone", str(lab.swifts("zero2"))), ("ours", "zero2")):
        (lab.root / f"{name}.json").write_text(json.dumps(arguments | {"output_dir": str(lab.root / f"json-{name}"), "deepspeed": config}))
    alone = lab.trained(["torchrun", "--nproc_per_node", "2", HERE / "train_hf.py", lab.root / "alone.json"], "trained 3 steps")
    ours = lab.trained([lab.binary, "--nproc-per-node", "2", "--", "python", HERE / "train_hf.py", lab.root / "ours.json"], "trained 3 steps")
    assert ours == alone, different(alone, ours)
    assert ours["gradient_clipping"] == 0.3, ours


@check
def swift_trains_from_a_run_file(lab):
    lines = {"model": lab.model(), "model_type": "qwen2", "template": "qwen", "dataset": lab.root / "data.jsonl", "tuner_type": "full", "torch_dtype": "float32",
             "use_cpu": "yes", "per_device_train_batch_size": 2, "gradient_accumulation_steps": 0x2, "learning_rate": "1e-4", "max_steps": 3, "max_length": 128,
             "dataset_num_proc": 1, "report_to": "none", "save_strategy": "'no'", "deepspeed": "zero1"}
    text = "ENV:\n  NPROC_PER_NODE: 2\n" + "".join(f"{key}: {value}\n" for key, value in lines.items())
    (lab.root / "run.yaml").write_text(text)
    alone = lab.trained(["swift", "sft", "run.yaml", "--output_dir", lab.root / "y1"], "train_loss")
    ours = lab.trained([lab.binary, "--", "swift", "sft", "run.yaml", "--output_dir", lab.root / "y2"], "train_loss")
    assert ours == alone, different(alone, ours)
    assert ours["train_batch_size"] == 8 and ours["zero_optimization"]["stage"] == 1, ours


@check
def trl_trains(lab):
    model = lab.model()
    data = lab.root / "trl-data"
    data.mkdir()
    shutil.copy(lab.root / "data.jsonl", data / "train.jsonl")
    sft = ["--model_name_or_path", model, "--dataset_name", data, "--use_cpu", "--bf16", "true", "--per_device_train_batch_size", "2",
           "--gradient_accumulation_steps", "2", "--learning_rate", "1e-4", "--max_steps", "3", "--max_length", "64", "--report_to", "none", "--save_strategy", "no"]
    alone = lab.trained(["torchrun", "--nproc_per_node", "2", "-m", "trl.scripts.sft", *sft, "--deepspeed", lab.swifts("zero2"), "--output_dir", lab.root / "t1"], "train_loss")
    ours = lab.trained([lab.binary, "--deepspeed", "zero2", "--nproc-per-node", "2", "--", "trl", "sft", *sft, "--output_dir", lab.root / "t2"], "train_loss")
    assert ours == alone, different(alone, ours)


@check
def accelerate_trains(lab):
    """One process: without a GPU, accelerate's DeepSpeed counts one rank and refuses two, with or without zlaunch."""
    script = hf_script(lab, "--gradient_accumulation_steps", "1", "--max_steps", "3")
    launch = ["accelerate", "launch", "--num_processes", "1", "--num_machines", "1", "--mixed_precision", "no"]
    alone = lab.trained([*launch, *ANY_PORT, "--use_deepspeed", "--deepspeed_config_file", saved(lab, "zero2"), *script, "--output_dir", lab.root / "c1"], "trained 3 steps")
    ours = lab.trained([lab.binary, "--deepspeed", "zero2", "--", *launch, *script, "--output_dir", lab.root / "c2"], "trained 3 steps")
    assert ours == alone, different(alone, ours)


@check
def accelerate_and_torchrun_give_the_ranks_the_same_environment(lab):
    """What zlaunch puts in the place of `accelerate launch`, variable by variable."""
    dump = lab.root / "dump.py"
    dump.write_text("import json, os, sys\njson.dump(dict(os.environ), open(f'{sys.argv[1]}-{os.environ[\"RANK\"]}.json', 'w'))\n")
    config = lab.root / "dump.json"
    config.write_text('{"train_micro_batch_size_per_gpu": 1, "gradient_clipping": 1.0, "zero_optimization": {"stage": 2}}')
    flags = ["--num_processes", "2", "--num_machines", "1", "--mixed_precision", "bf16", "--use_deepspeed", "--gradient_clipping", "0.5", "--zero3_init_flag", "True",
             "--offload_optimizer_device", "CPU", "--gradient_accumulation_steps", "3", "--dynamo_backend", "no", "--deepspeed_config_file", config, dump]
    for name, launch in (("alone", ["accelerate", "launch", *ANY_PORT]), ("ours", [lab.binary, "-v", "--", "accelerate", "launch"])):
        result = lab.run([*launch, *flags, lab.root / name])
        assert result.returncode == 0, result.stdout[-3000:]
    assert "torch.distributed.run" in result.stdout, result.stdout
    # Where the ranks meet on this machine and the names of files are new in every run; two are left behind by imports in accelerate's own process.
    own = {"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_ERROR_FILE", "ACCELERATE_DEEPSPEED_CONFIG_FILE",
           "PYTORCH_NVML_BASED_CUDA_CHECK", "TORCHINDUCTOR_CACHE_DIR"}
    for rank in (0, 1):
        alone, ours = ({key: value for key, value in json.loads((lab.root / f"{name}-{rank}.json").read_text()).items() if key not in own} for name in ("alone", "ours"))
        assert ours == alone, different(alone, ours)


@check
def llamafactory_trains(lab):
    other = Lab(lab.binary, lab.llamafactory or environment("llamafactory"), lab.root)
    model = lab.model()
    data = lab.root / "lf-data"
    data.mkdir()
    shutil.copy(lab.root / "data.jsonl", data)
    tags = {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"}
    info = {"tiny": {"file_name": "data.jsonl", "formatting": "sharegpt", "columns": {"messages": "messages"}, "tags": tags}}
    (data / "dataset_info.json").write_text(json.dumps(info))
    zero2 = saved(lab, "zero2")
    lines = {"model_name_or_path": model, "stage": "sft", "do_train": "true", "finetuning_type": "full", "dataset": "tiny", "dataset_dir": data, "template": "qwen",
             "cutoff_len": 64, "per_device_train_batch_size": 2, "gradient_accumulation_steps": 2, "learning_rate": "1e-4", "max_steps": 3, "max_grad_norm": 0.7,
             "bf16": "true", "use_cpu": "true", "report_to": "none", "save_strategy": "'no'", "preprocessing_num_workers": 1}
    run = lab.root / "lf.yaml"
    run.write_text("".join(f"{key}: {value}\n" for key, value in lines.items()))
    alone = other.trained(["llamafactory-cli", "train", run, f"output_dir={lab.root}/l1", f"deepspeed={zero2}"], "train_loss", FORCE_TORCHRUN="1", NPROC_PER_NODE="2")
    ours = other.trained([lab.binary, "--deepspeed", "zero2", "--nproc-per-node", "2", "--", "llamafactory-cli", "train", run, f"output_dir={lab.root}/l2"], "train_loss")
    assert ours == alone, different(alone, ours)
    assert ours["gradient_clipping"] == 0.7 and ours["train_batch_size"] == 8, ours


@check
def the_same_refusal_only_earlier(lab):
    config = lab.root / "mismatch.json"
    config.write_text(json.dumps({"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 3,
                                  "gradient_clipping": 1.0, "bf16": {"enabled": "auto"}}))
    script = hf_script(lab, *ON_CPU, "--gradient_accumulation_steps", "1", "--max_grad_norm", "0.5", "--max_steps", "1", "--output_dir", lab.root / "m", "--deepspeed", config)
    alone = lab.run(["torchrun", "--nproc_per_node", "2", *script])
    assert alone.returncode != 0 and "mismatch TrainingArguments" in alone.stdout, alone.stdout[-2000:]
    ours = lab.run([lab.binary, "--nproc-per-node", "2", "--", "python", *script])
    assert ours.returncode == 125, ours.stdout[-2000:]
    for key in ("train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "gradient_clipping"):
        assert f"ds {key}=" in alone.stdout and f"`{key}`" in ours.stdout, (key, ours.stdout)


@check
def swift_fails_with_an_optimizer_section(lab):
    """And trains without it, the scheduler section left in place."""
    config = lab.root / "optimizer.json"
    config.write_text(json.dumps({
        "zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "gradient_clipping": "auto",
        "bf16": {"enabled": "auto"}, "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}},
        "scheduler": {"type": "WarmupLR", "params": {"warmup_min_lr": "auto", "warmup_max_lr": "auto", "warmup_num_steps": "auto"}}}))
    swift = lab.swift_sft("--tuner_type", "full", "--torch_dtype", "bfloat16", "--max_steps", "2", "--output_dir", lab.root / "optimizer")
    alone = lab.run([*swift, "--deepspeed", config], NPROC_PER_NODE="1")
    said = "'DummyOptim' object has no attribute 'param_groups'"
    assert alone.returncode != 0 and said in alone.stdout, alone.stdout[-2000:]
    ours = lab.run([lab.binary, "check", "--nproc-per-node", "1", "--deepspeed", config, "--", *swift])
    assert ours.returncode == 0 and "warning[swift-optimizer]" in ours.stdout and said in ours.stdout, ours.stdout
    trained = lab.trained([lab.binary, "--nproc-per-node", "1", "--deepspeed", config, "--unset", "optimizer", "--", *swift], "train_loss")
    assert "optimizer" not in trained and trained["scheduler"]["type"] == "WarmupLR", trained


@check
def swift_refuses_the_options_we_refuse(lab):
    swift = lab.swift_sft("--train_type", "full")
    alone = lab.run(swift)
    assert alone.returncode != 0 and "remaining_argv: ['--train_type', 'full']" in alone.stdout, alone.stdout[-2000:]
    ours = lab.run([lab.binary, "--nproc-per-node", "2", "--", *swift])
    assert ours.returncode == 125 and "`--train_type`" in ours.stdout and "`--tuner_type`" in ours.stdout, ours.stdout


@check
def every_template_is_accepted_by_deepspeed(lab):
    """Each built-in template, filled for two ranks, goes through DeepSpeed's own parser."""
    words = ["--model_name_or_path", lab.model(), "--bf16", "true", "--gradient_accumulation_steps", "1", "--max_grad_norm", "1", "--learning_rate", "1e-4", "--weight_decay", "0",
             "--adam_beta1", "0.9", "--adam_beta2", "0.95", "--adam_epsilon", "1e-8", "--warmup_steps", "10", "--max_steps", "100"]
    configs = {}
    for name in [line.split()[0] for line in lab.zlaunch("templates").splitlines() if line and not line.startswith(" ")]:
        more = []
        if name == "zero3_nvme":
            for part in ("optimizer", "param"):
                more += ["--set", f"zero_optimization.offload_{part}.nvme_path={lab.root}"]
        micro = "8" if name == "zero3_lowmem" else "2"
        plan = json.loads(lab.zlaunch("--dry-run", "--format", "json", "--nproc-per-node", "2", "--deepspeed", name, *more, "--", "python", "train.py",
                                      "--per_device_train_batch_size", micro, *words))
        assert not plan["left_auto"], (name, plan["left_auto"])
        configs[name] = plan["config"]
    assert len(configs) >= 11, list(configs)
    parsed_by_deepspeed(lab, configs)


@check
def generated_configs_are_accepted_by_deepspeed(lab):
    """Every stage and precision, the tiers, and every template with its "auto"s replaced go through DeepSpeed's own parser, which also checks the batch."""
    batch = ["--micro-batch", "2", "--grad-accum", "8", "--world-size", "2"]
    words = {f"stage {stage} {' '.join(more)}": ["--stage", stage, *more] for stage in "0123" for more in ([], ["--fp16"], ["--offload"]) if (stage, more) != ("0", ["--offload"])}
    words |= {name: ["--from", name] for name in ("zero0", "zero1", "zero2", "zero2_offload", "zero3", "zero3_offload", "hf_zero2", "hf_zero3", "zero3_lowmem", "zeropp")}
    configs = {name: json.loads(lab.zlaunch("generate", *batch, *more)) for name, more in words.items()}
    lab.zlaunch("generate", *batch, "--tiers", "-o", lab.root / "tiers")
    configs |= {path.stem: json.loads(path.read_text()) for path in (lab.root / "tiers").iterdir()}
    assert len(configs) == 24, list(configs)
    batches = parsed_by_deepspeed(lab, configs)
    assert set(batches.values()) == {32}, batches


@check
def parameters_are_counted_as_transformers_counts_them(lab):
    """The recorded counts are those of the installed transformers; `cargo test` compares ours with them."""
    assert lab.ask(RECORD, "parameters") == (HERE.parent / "data/parameter-counts.jsonl").read_text()


@check
def swifts_templates_are_ours(lab):
    """The six shorthands of ms-swift hold what the installed ms-swift holds, key order included."""
    for name in ("zero0", "zero1", "zero2", "zero2_offload", "zero3", "zero3_offload"):
        ours = json.loads(lab.zlaunch("templates", name))
        theirs = json.loads(lab.swifts(name).read_text())
        assert json.dumps(ours) == json.dumps(integers(theirs)), (name, different(theirs, ours))


@check
def hidden_sizes_are_those_transformers_finds(lab):
    """Every model type of the installed transformers: the same size, or left to the trainer."""
    models = [json.loads(line) for line in lab.ask(RECORD, "hidden_sizes").splitlines()]
    assert len(models) > 400, len(models)
    folder = lab.root / "any-model"
    folder.mkdir()
    script, swift = ["python", "x.py", "--model_name_or_path", folder], ["swift", "sft", "--model", folder, "--dataset", "AI-ModelScope/alpaca-gpt4-data-en"]
    equal = 0
    for model in models:
        (folder / "config.json").write_text(json.dumps(model["json"]))
        for stage, by, command in ((3, "trainer", script), (2, "accelerate", script), (3, "swift", swift)):
            config = {"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": stage, "stage3_param_persistence_threshold": "auto"}}
            plan = lab.zlaunch("-n", "--format", "json", "--nproc-per-node", "2", "--deepspeed", json.dumps(config), "--", *command)
            ours = json.loads(plan)["config"]["zero_optimization"]["stage3_param_persistence_threshold"]
            assert ours == "auto" or ours == 10 * (model[by] or 0), (model, stage, by, ours)
            equal += ours != "auto"
    assert equal > 2 * len(models), (equal, len(models))


@check
def recorded_options_are_those_of_the_programs(lab):
    """src/recorded was recorded from these versions."""
    out = lab.root / "options"
    out.mkdir()
    lab.ask(RECORD, "options", out)
    for file in sorted(out.iterdir()):
        assert file.read_text() == (ROOT / "src/recorded" / file.name).read_text(), file.name


def integers(value):
    if isinstance(value, dict):
        return {key: integers(item) for key, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def main():
    parser = Arguments(__doc__, "bin", "env", "names")
    parser.add_argument("--llamafactory", type=lambda folder: Path(folder).resolve(), metavar="FOLDER", help="the environment with LLaMA-Factory (default: what `tests/real/setup llamafactory` prints)")
    options = parser.parse_args()
    checks = Checks(options.names)
    with tempfile.TemporaryDirectory(prefix="zlaunch-real-", ignore_cleanup_errors=True) as root:
        lab = Lab(options.bin, options.env, Path(root))
        lab.llamafactory = options.llamafactory
        checks.run_all(lab)
    checks.finish()


if __name__ == "__main__":
    main()
