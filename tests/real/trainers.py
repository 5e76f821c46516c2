#!/usr/bin/env python3
"""The real trainers, with and without zlaunch in front: what the ranks get, and the final DeepSpeed config, must be the same.

No GPU is used: DeepSpeed runs on the CPU, ranks talk through gloo. Only the standard library is needed here; the trainers run in their own
environments (`setup` makes them). A trainer is imported once and forked for each training (zygote.py), but where the launcher is what is tried.
What the trainers refuse is tried by truth.py.
"""
import json
import re
import shlex
import shutil
import textwrap

from harness import HERE, ROOT, check, check_each, free_port, read_cases, run_checks
from lab import PORT, Lab, at, different, put, with_env

RECORD = ROOT / "tools/record"
SIX = ("zero0", "zero1", "zero2", "zero2_offload", "zero3", "zero3_offload")


class Labs:
    """A lab for each environment, by its name; the main one has none."""

    def __init__(self, options, folder):
        self.options, self.folder, self.made = options, folder, {}

    def __getitem__(self, which):
        if which not in self.made:
            lab = Lab(self.options.bin, with_env(which, self.options), self.folder / (which or "main"))
            for name, text in scripts().items():
                lab.write(name, text)
            self.made[which] = lab
        return self.made[which]

    def stop(self):
        for lab in self.made.values():
            lab.stop()


def scripts():
    """Those of cases/front_ends.txt, and others that differ from them in a line."""
    found = read_cases(HERE / "cases/front_ends.txt")["files"].files
    parser = 'import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument("--max_steps", type=int)\narguments'
    unpacked = found["in_code.py"].replace("TrainingArguments(output_dir", "TrainingArguments(**vars(parser.parse_args()), output_dir").replace("max_steps=2, ", "")
    ddp = found["lit.py"].replace("deepspeed_stage_3", "ddp").replace("lightning.pytorch.strategies.deepspeed", "lightning.pytorch").replace("DeepSpeed", "it")
    return found | {"unpacked.py": unpacked.replace("\narguments", f"\n{parser}", 1), "ddp.py": ddp, "factory-own.yaml": found["factory.yaml"] + "deepspeed: {zero2}\n"}


TRAININGS = read_cases(HERE / "cases/trainings.txt")
WORDS, FORMS = dict(TRAININGS.pop("words").rows), dict(TRAININGS.pop("launchers").rows)
RUN_FILES = ("run.json", "run.yaml", "factory.yaml", "factory-own.yaml")


def words_of(lab, out, config=""):
    """What stands for the words in braces."""
    hf = f"{HERE}/train_hf.py --model_name_or_path {lab.model()} --per_device_train_batch_size 2 --report_to none --save_strategy no"
    found = {"out": out, "root": lab.root, "model": lab.model(), "train_hf": HERE / "train_hf.py", "hf": hf, "swifts": lab.site / "swift/config", "config": config}
    found |= {name: lab.template(name) for name in SIX}
    if (lab.site / "swift").exists():
        found["swift"] = shlex.join(map(str, lab.swift_sft()))
    on_gpu = json.loads(lab.zlaunch("templates", "hf_zero2"))
    put(on_gpu, "zero_optimization.offload_optimizer.device", "none")
    return found | {"hf_zero2_on_gpu": lab.write("on_gpu.json", on_gpu)}


def filled(text, words):
    """The words in braces stand for others, which may have such words too."""
    while (new := re.sub(r"\{(\w+)\}", lambda found: str((WORDS | words)[found[1]]), text)) != text:
        text = new
    return text


def fill_run_files(lab, words):
    for name in RUN_FILES:
        lab.write(name, filled(scripts()[name], words))


def edited_swift(lab):
    """A copy of the installed ms-swift whose own zero2.json somebody edited: the value for PYTHONPATH."""
    folder = lab.root / "edited"
    if not folder.exists():
        shutil.copytree(lab.site / "swift", folder / "swift", ignore=shutil.ignore_patterns("__pycache__"))
        file = next((folder / "swift").glob("**/zero2.json"))
        config = json.loads(file.read_text())
        put(config, "zero_optimization.reduce_bucket_size", 12345678)
        file.write_text(json.dumps(config))
    return f"{folder}:{lab.variables()['PYTHONPATH']}"


@check_each({name + (f"@{which}" if " " in case.one("on") else ""): {"which": which, "case": case} for name, case in TRAININGS.items() for which in case.one("on", "main").split()})
def training(labs, which, case):
    lab, found = labs["" if which == "main" else which], []
    edited = {"PYTHONPATH": edited_swift(lab)} if case.all("edited") else {}
    given, configs = dict(pair.split("=") for pair in case.one("given").split()), case.one("config").split() or ["", ""]
    for side, text, config in (("alone", case.one("alone"), configs[0]), ("ours", "ZLAUNCH " + case.one("ours"), configs[1])):
        words = words_of(lab, lab.root / side, config)
        fill_run_files(lab, words)
        command = [lab.binary if word == "ZLAUNCH" else word for word in shlex.split(filled(text, words))]
        # A file that was edited counts in a process that starts with it.
        found.append(lab.trained(command, "train", cold=bool(case.all("cold") or edited), **given if side == "alone" else {}, **edited))
    assert found[0] == found[1], different(*found)
    for key, value in (row.split(" ") for row in case.all("expect")):
        assert at(found[1], key) == json.loads(value), (key, at(found[1], key))


@check
def every_launcher_trains_the_same(labs):
    """torchrun, DeepSpeed's own launcher and the embedded one: the ranks cannot tell."""
    lab, configs = labs[""], {}
    script = shlex.split(filled("{HF}", words_of(lab, lab.root / "out")))
    for launcher in ("torchrun", "deepspeed", "local"):
        # DeepSpeed's always takes the same port unless it is told another, and counts GPUs.
        more, devices = (["--master-port", PORT], "0,1") if launcher == "deepspeed" else ([], "")
        configs[launcher] = lab.trained([lab.binary, "--nproc-per-node", "2", "--launcher", launcher, *more, "--", "python", *script, "--deepspeed", "zero2"], "trained 3 steps", cold=True,
                                        CUDA_VISIBLE_DEVICES=devices)
    for launcher, config in configs.items():
        assert config == configs["torchrun"], (launcher, different(configs["torchrun"], config))


@check_each({name: {"form": form} for name, form in FORMS.items()})
def a_launcher_is_seen(labs, form):
    lab = labs[""]
    lab.write("config.json", {"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 1}})
    command = ["python", *(PORT if word == "PORT" else word for word in filled(form, {"bin": lab.env / "bin", "site": lab.site}).split()), "rank.py"]
    for words in (command, [lab.binary, "--", *command]):
        # DeepSpeed's runner wants devices that it can count.
        result = lab.run(words, CUDA_VISIBLE_DEVICES="0,1")
        found = sorted(re.findall(r"rank \d+ of \d+", result.stdout))
        assert result.returncode == 0 and found == ["rank 0 of 2", "rank 1 of 2"], f"{words}: exit {result.returncode}, {found}\n{result.stdout[-3000:]}"


@check
def what_launchers_do_besides_is_done_once(labs):
    lab = labs[""]
    for words, mark in ((["-m", "accelerate.commands.accelerate_cli", "env"], "`Accelerate` version"), ([lab.env / "bin/torchrun", "--help"], "usage: ")):
        alone, ours = lab.run(["python", *words]), lab.run([lab.binary, "--allow", "not-understood", "--", "python", *words])
        assert alone.returncode == ours.returncode == 0, (words, alone.stdout[-800:], ours.stdout[-800:])
        assert ours.stdout.count(mark) == alone.stdout.count(mark) > 0, (words, ours.stdout.count(mark), alone.stdout.count(mark))


def environments_are_the_same(lab, own, only_alone, **commands):
    """The variables of both ranks, written by dump.py; `own` differ in every run."""
    for name, words in commands.items():
        result = lab.run([*words, lab.root / name])
        assert result.returncode == 0, result.stdout[-3000:]
    for rank in (0, 1):
        alone, ours = (json.loads((lab.root / f"{name}-{rank}.json").read_text()) for name in commands)
        missing = alone.keys() - ours.keys() - only_alone - own
        other = {name: (alone[name], ours[name]) for name in alone.keys() & ours.keys() - own if alone[name] != ours[name]}
        assert not missing and not other, f"missing {missing}, different {other}"
    return ours.keys() - alone.keys() - own


# Where the ranks meet on this machine and the names of files are new in every run; two are left behind by imports in the launcher's own process.
MEETING = {"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID"}
LEFT_BEHIND = {"TORCHELASTIC_ERROR_FILE", "PYTORCH_NVML_BASED_CUDA_CHECK", "TORCHINDUCTOR_CACHE_DIR"}


@check_each({f"local_ranks_have_the_variables_of_torchrun@{which or 'main'}": {"which": which} for which in ("transformers-4.41", "")})
def local_ranks(labs, which):
    lab = labs[which]
    # A file for the traceback of a rank, which torchrun prints at the end; and what imports of torch leave behind in its process.
    only_torchruns = LEFT_BEHIND | {"TORCHELASTIC_SIGNALS_TO_HANDLE", "TORCHELASTIC_HEALTH_CHECK_PORT"}
    environments_are_the_same(lab, MEETING | {"TORCHELASTIC_USE_AGENT_STORE"}, only_torchruns, alone=["torchrun", "--standalone", "--nproc_per_node", "2", "dump.py"],
                              ours=[lab.binary, "--launcher", "local", "--nproc-per-node", "2", "--", "python", "dump.py"])


# Refusals and failures of the real ones.


@check
def an_auto_that_accelerate_refuses_is_refused(labs):
    lab, program = labs["more"], """
        import sys
        from accelerate import DeepSpeedPlugin
        plugin = DeepSpeedPlugin(hf_ds_config=sys.argv[1])
        try:
            plugin.deepspeed_config_process(must_match=False, **{"optimizer.params.lr": 1.0, "optimizer.params.weight_decay": 0.0})
        except ValueError as error:
            print(error)
    """
    config = '{"zero_optimization": {"stage": 2}, "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto"}}}'
    assert "`optimizer.params.betas` not found in kwargs" in lab.ask("-c", textwrap.dedent(program), lab.write("betas.json", config))
    lab.refused("optimizer.params.betas", "--deepspeed", config, "--", "python", "loop.py")


@check
def an_argument_would_reach_nobody(labs):
    """Of a script that makes its arguments in code, or has no option for the config."""
    lab = labs["more"]
    zero3 = lab.template("zero3")
    result = lab.run(["torchrun", "--nproc_per_node", "2", "in_code.py", "--deepspeed", zero3])
    assert result.returncode == 0 and "trained 2 steps" in result.stdout and "DeepSpeed" not in result.stdout, result.stdout
    result = lab.run(["torchrun", "--nproc_per_node", "2", "unpacked.py", "--max_steps", "2", "--deepspeed", zero3])
    assert result.returncode and "unrecognized arguments: --deepspeed" in result.stdout, result.stdout


@check
def a_config_made_in_code_excludes_another(labs):
    lab, program = labs["more"], """
        import argparse, deepspeed, torch
        arguments = argparse.Namespace(deepspeed_config="ds.json", local_rank=0)
        deepspeed.initialize(args=arguments, model=torch.nn.Linear(2, 2), config={"train_batch_size": 1})
    """
    result = lab.run([lab.python, "-c", textwrap.dedent(program)], RANK=0, LOCAL_RANK=0, WORLD_SIZE=1, MASTER_ADDR="127.0.0.1", MASTER_PORT=free_port())
    assert "we were given deepspeed configs in the deepspeed arguments and deepspeed.initialize()" in result.stdout, result.stdout[-2000:]
    lab.refused("own option: --zero_stage 3", "--deepspeed", "zero3", "--", "python", "chat.py", "--deepspeed")
    planned = lab.plan("--nproc-per-node", "2", "--", "deepspeed", "--num_gpus", "2", "chat.py", "--zero_stage", "3", "--deepspeed")
    assert planned["config"] is None and planned["argv"][-3:] == ["--zero_stage", "3", "--deepspeed"], planned


@check
def another_config_than_the_installed_one_is_told(labs):
    """zlaunch's own option means zlaunch's template, and says so where the trainer's word means another."""
    lab = labs[""]
    told = lab.run([lab.binary, "check", "--nproc-per-node", "2", "--deepspeed", "zero2", "--", *lab.swift_sft()], PYTHONPATH=edited_swift(lab)).stdout
    assert "own-config-differs" in told and "reduce_bucket_size" in told, told


# Front ends that take the config in another way than by `--deepspeed`, or take none.


@check
def lightning_gets_the_config(labs):
    lab = labs["more"]
    result = lab.run([lab.binary, "--nproc-per-node", "2", "--deepspeed", "zero2", "--", "python", "lit.py"])
    assert result.returncode == 0, result.stdout[-6000:]
    seen = sorted((json.loads(line.split("SEEN ")[1]) for line in result.stdout.splitlines() if "SEEN " in line), key=lambda rank: rank[0])
    assert [rank[:2] for rank in seen] == [[0, 2], [1, 2]], seen
    config = seen[0][2]
    assert config["zero_optimization"]["stage"] == 2, "the script itself says stage 3"
    assert (config["train_micro_batch_size_per_gpu"], config["gradient_accumulation_steps"], config["gradient_clipping"]) == (4, 2, 0.5), config
    assert config["bf16"] == {"enabled": True} and "fp16" not in config, config
    # Fabric's strategy looks there too.
    fabric = "from lightning.fabric.strategies import DeepSpeedStrategy as S; print(S(stage=3).config['zero_optimization']['stage'])"
    assert lab.run([lab.python, "-c", fabric], PL_DEEPSPEED_CONFIG_PATH=lab.template("zero2")).stdout.split()[-1] == "2"


@check
def lightning_refuses_what_is_taken_out(labs):
    lab = labs["more"]
    result = lab.run(["torchrun", "--nproc_per_node", "2", "lit.py"], PL_DEEPSPEED_CONFIG_PATH=lab.template("zero2"))
    assert result.returncode != 0 and "Do not set `gradient_accumulation_steps` in the DeepSpeed config" in result.stdout, result.stdout[-3000:]
    lab.refused('strategy="ddp"', "--deepspeed", "zero2", "--", "python", "ddp.py")


@check_each({f"trainers_are_seen_behind_their_modules@{which or 'main'}": {"which": which} for which in ("", "older")})
def behind_modules(labs, which):
    """`trl.cli` was a module up to 0.28, and is a package since."""
    lab = labs[which]
    module = "trl.cli.main" if (lab.site / "trl/cli/main.py").exists() else "trl.cli"
    assert lab.run(["python", "-m", module, "--help"]).returncode == 0, module
    rows = [(f"python -m {module} sft --model_name_or_path", "trl"), ("python -m swift.cli.main sft --model", "swift"), ("trl sft --model_name_or_path", "trl"),
            ("python -m trl.scripts.sft --model_name_or_path", "trl"), ("accelerate launch --num_processes 2 -m trl.scripts.sft --model_name_or_path", "trl")]
    for words, trainer in rows:
        found = lab.plan("--nproc-per-node", "2", "--deepspeed", "zero2", "--", *words.split(), lab.model())
        assert found["trainer"]["name"] == trainer and module not in found["argv"] and "swift.cli.main" not in found["argv"], found["argv"]


# What the programs hold is what zlaunch holds.


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
def templates_and_generated_configs_are_accepted_by_deepspeed(labs):
    """Each built-in template, filled for two ranks, and what `generate` makes: every stage and precision, the tiers, every template with its "auto"s replaced."""
    lab, configs = labs[""], {}
    words = f"--bf16 true --gradient_accumulation_steps 1 --max_grad_norm 1 --max_steps 100 {WORDS['ADAM']} --model_name_or_path".split() + [lab.model()]
    for name in [line.split()[0] for line in lab.zlaunch("templates").splitlines() if line and not line.startswith(" ")]:
        more = [word for part in ("optimizer", "param") for word in ("--set", f"zero_optimization.offload_{part}.nvme_path={lab.root}")] if name == "zero3_nvme" else []
        micro = "8" if name == "zero3_lowmem" else "2"
        plan = lab.plan("--nproc-per-node", "2", "--deepspeed", name, *more, "--", "python", "train.py", "--per_device_train_batch_size", micro, *words)
        assert not plan["left_auto"], (name, plan["left_auto"])
        configs[name] = plan["config"]
    assert len(configs) >= 11, list(configs)
    batch = ["--micro-batch", "2", "--grad-accum", "8", "--world-size", "2"]
    made = {f"stage {stage} {' '.join(more)}": ["--stage", stage, *more] for stage in "0123" for more in ([], ["--fp16"], ["--offload"]) if (stage, more) != ("0", ["--offload"])}
    generated = {name: json.loads(lab.zlaunch("generate", *batch, *more)) for name, more in made.items()}
    lab.zlaunch("generate", *batch, "--tiers", "-o", lab.root / "tiers")
    generated |= {path.stem: json.loads(path.read_text()) for path in (lab.root / "tiers").iterdir()}
    assert len(generated) == 14, list(generated)
    batches = parsed_by_deepspeed(lab, configs | generated)
    assert {batches[name] for name in generated} == {32}, batches


@check
def parameters_are_counted_as_transformers_counts_them(labs):
    """The recorded counts are those of the installed transformers; `cargo test` compares ours with them."""
    assert labs[""].ask(RECORD, "parameters") == (ROOT / "src/recorded/parameter-counts.jsonl").read_text()


@check
def swifts_templates_are_ours(labs):
    """The six shorthands of ms-swift hold what the installed ms-swift holds, key order included."""
    whole = lambda value: {key: whole(item) for key, item in value.items()} if isinstance(value, dict) else int(value) if isinstance(value, float) and value.is_integer() else value
    for name in SIX:
        ours, theirs = json.loads(labs[""].zlaunch("templates", name)), json.loads(labs[""].swifts(name).read_text())
        assert json.dumps(ours) == json.dumps(whole(theirs)), (name, different(theirs, ours))


@check
def hidden_sizes_are_those_transformers_finds(labs):
    """Every model type of the installed transformers: the same size, or left to the trainer."""
    lab = labs[""]
    models = [json.loads(line) for line in lab.ask(RECORD, "hidden_sizes").splitlines()]
    assert len(models) > 400, len(models)
    script, swift = "python x.py --model_name_or_path any-model", "swift sft --model any-model --dataset AI-ModelScope/alpaca-gpt4-data-en"
    equal = 0
    for model in models:
        lab.write("any-model/config.json", model["json"])
        for stage, by, command in ((3, "trainer", script), (2, "accelerate", script), (3, "swift", swift)):
            config = {"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": stage, "stage3_param_persistence_threshold": "auto"}}
            plan = lab.plan("--nproc-per-node", "2", "--deepspeed", json.dumps(config), "--", *command.split())
            ours = plan["config"]["zero_optimization"]["stage3_param_persistence_threshold"]
            assert ours == "auto" or ours == 10 * (model[by] or 0), (model, stage, by, ours)
            equal += ours != "auto"
    assert equal > 2 * len(models), (equal, len(models))


@check
def recorded_options_are_those_of_the_programs(labs):
    """src/recorded was recorded from these versions."""
    out = labs[""].root / "options"
    out.mkdir()
    labs[""].ask(RECORD, "options", out)
    for file in sorted(out.iterdir()):
        assert file.read_text() == (ROOT / "src/recorded" / file.name).read_text(), file.name


# What depends on the versions that are installed: each was seen to fail before zlaunch knew of it.


def said(lab, marker, *words):
    """The lines that start with a marker, without it; the command must succeed."""
    result = lab.run(words)
    assert result.returncode == 0, f"exit {result.returncode}: {' '.join(map(str, words))}\n{result.stdout[-3000:]}"
    return sorted(line.removeprefix(marker).strip() for line in result.stdout.splitlines() if line.startswith(marker))


@check_each({f"accelerates_run_file_or_its_flag@{which}": {"which": which} for which in ("transformers-4.41", "early-2025", "transformers-4.51")})
def run_file_or_flag(labs, which):
    """Before accelerate 1.5 the config in its run file beats the flag; since, the flag beats the file."""
    lab = labs[which]
    for stage in (1, 2):
        lab.write(f"z{stage}.json", {"zero_optimization": {"stage": stage}, "train_micro_batch_size_per_gpu": 1})
    lab.write("a.yaml", "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: z2.json\n"
              "  zero3_init_flag: false\nnum_machines: 1\nnum_processes: 2\nmain_process_port: 0\n")
    both = ["accelerate", "launch", "--config_file", "a.yaml", "--deepspeed_config_file", "z1.json", "stage.py"]
    alone = said(lab, "STAGE", *both)
    assert said(lab, "STAGE", lab.binary, "--", *both) == alone, f"{alone} alone"
    stage = lab.plan("--", *both)["config"]["zero_optimization"]["stage"]
    assert [str(stage)] * 2 == alone, f"zlaunch says stage {stage}, the ranks have {alone}"
    ours = said(lab, "STAGE", lab.binary, "--deepspeed", "zero3", "--", *both[:4], "stage.py")
    assert ours == ["3", "3"], f"--deepspeed zero3 reaches the ranks as {ours}"


@check
def accelerate_reads_a_file_with_the_name_of_a_template(labs):
    lab = labs["transformers-4.51"]
    lab.write("zero2", {"zero_optimization": {"stage": 1}, "train_micro_batch_size_per_gpu": 1})
    command = "accelerate launch --num_processes 1 --main_process_port 0 --use_deepspeed --deepspeed_config_file zero2 stage.py".split()
    alone = said(lab, "STAGE", *command)
    assert said(lab, "STAGE", lab.binary, "--", *command) == alone == ["1"], alone


if __name__ == "__main__":
    run_checks(__doc__, "bin", "env", make=Labs)
