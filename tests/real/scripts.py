#!/usr/bin/env python3
"""Odd training scripts end with the same DeepSpeed config through zlaunch as alone, and none that works is refused.

Each case (cases/scripts.txt) is a script with its files, and two commands: the script's own, which names the config in the script's own way, and the same through
`zlaunch --deepspeed`. Both go up to the point where the real transformers (or `deepspeed.initialize`) has the final config, on the CPU. A check is a case.
`--env` takes the environment of other versions.
"""
import itertools
import json
import re
import shlex
import subprocess

from harness import HERE, check, check_each, kept, read_cases, run_checks
from lab import Lab, different

CONFIG = {
    "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "train_batch_size": "auto", "gradient_clipping": "auto",
    "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}},
    "bf16": {"enabled": "auto"}, "fp16": {"enabled": "auto"},
    "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto"},
}


GENERATED = read_cases(HERE / "cases/generated_scripts.txt")
PARTS = GENERATED["parts"].files
LOADS = {"": "finish(args)\n", "model": "finish(args, AutoConfig.from_pretrained(a.model_name_or_path))\n", "other": "finish(args, AutoConfig.from_pretrained('./other'))\n"}


def generated():
    """The name, the script and the words of each."""
    named = lambda kind: {title.split(" ")[1]: case for title, case in GENERATED.items() if title.startswith(f"{kind} ")}.items()
    for (reader, case), (change, changed), (given, words) in itertools.product(named("reader"), named("change"), GENERATED["given"].rows):
        text, place = case.files["text"] + "AFTER\n", changed.one("at")
        if place in text:
            parts = PARTS | ({place: changed.files["code"]} if place else {})
            script = re.sub(r"(?m)^([A-Z]+)\n", lambda line: parts.get(line[1], ""), text).replace("HANDED", parts["HANDED"].strip())
            own = "" if "HANDED" in text else "--output_dir out --use_cpu true "
            for load in ["model", "other"] if given == "model" else [""]:
                yield f"{reader}/{change}/{given}{'/' + load if load else ''}", PARTS["TOP"] + script + LOADS[load], own + (words.replace("--bf16", "--bf16 true") if reader == "trl" else words)


MODELS = {"model/config.json": '{"model_type": "llama", "hidden_size": 128, "num_attention_heads": 4}', "other/config.json": '{"model_type": "llama", "hidden_size": 256}'}


CASES = read_cases(HERE / "cases/scripts.txt")
KIT = CASES.pop("(beside every script)").files


class Bench(Lab):
    imported = (*Lab.imported, "trl", "yaml", "kit")

    def __init__(self, options, root):
        super().__init__(options.bin, options.env, root)
        pins = HERE / "requirements-scripts.txt"
        install = lambda folder: subprocess.run([self.env / "bin/uv", "pip", "install", "--quiet", "--python", self.python, "--target", folder / "packages", "-r", pins], check=True) and ""
        self.packages = kept(install, "scripts", pins.read_text(), str(self.env)) / "packages"
        self.write_all(root / "kit", KIT)

    def variables(self, **more):
        """Each script is the only rank."""
        place = {"RANK": 0, "LOCAL_RANK": 0, "WORLD_SIZE": 1, "LOCAL_WORLD_SIZE": 1, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 29500}
        given = super().variables(**place, **more)
        return given | {"PYTHONPATH": f"{given['PYTHONPATH']}:{self.root / 'kit'}:{self.packages}"}

    def write_all(self, folder, files):
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)

    def config_of(self, folder, *words):
        """What a command ends with."""
        report = folder / "report.json"
        report.unlink(missing_ok=True)
        ended = self.launched(words, folder=folder, report=report)
        assert report.exists(), f"{words} does not work: {ended.stdout[-2000:]}"
        return json.loads(report.read_text())

    def zlaunch(self, folder, *words):
        return subprocess.run([self.binary, *words], env=self.variables(), cwd=folder, capture_output=True, text=True)


@check_each({name: {"name": name, "case": case} for name, case in CASES.items()})
def odd_script(bench, name, case):
    folder = bench.root / name
    config = folder / "ds.json"
    texts = {file: text.replace("CONFIG", str(config)) if file.endswith(("yaml", ".json")) else text for file, text in case.files.items()}
    bench.write_all(folder, {"ds.json": case.one("config", json.dumps(CONFIG))} | texts)
    command = lambda words: ["train.py", *shlex.split(words.replace("CONFIG", str(config)))]
    alone = bench.config_of(folder, "python", *command(case.one("alone")))
    ours = ["--deepspeed", str(config), "--", "python", *command(case.one("ours"))]
    # hydra names its folder of outputs by the second, so that two runs may share it.
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file() and "outputs" not in file.parts and file.name != "report.json"}
    checked = bench.zlaunch(folder, "check", *ours)
    assert checked.returncode == 0, checked.stdout
    plan, through = bench.zlaunch(folder, "-n", *ours).stdout, bench.config_of(folder, bench.binary, *ours)
    assert through == alone, f"{different(alone, through)}\n{plan}"
    assert case.one("says") in plan, f"the plan does not say {case.one('says')!r}:\n{plan}"
    assert all(file.read_bytes() == text for file, text in before.items()), "a file of the user's was changed"


def try_generated(bench, script, words):
    """The plan for a script with a config that is "auto" everywhere. With that one and with one that has the values it must end as alone."""
    folder = bench.root / "generated"
    command, config = ["train.py", *shlex.split(words)], folder / "ds.json"
    bench.write_all(folder, {"train.py": script, "ds.json": json.dumps(CONFIG)} | MODELS)
    alone = bench.config_of(folder, "python", *command, "--deepspeed", str(config))
    ours = ["--deepspeed", str(config), "--", "python", *command]
    plan = json.loads(bench.zlaunch(folder, "-n", "--format", "json", *ours).stdout)
    for given in (CONFIG, {key: alone[key] for key in CONFIG}):
        config.write_text(json.dumps(given))
        through = bench.config_of(folder, bench.binary, *ours)
        assert through == alone, different(alone, through)
    return plan


@check
def generated_scripts(bench):
    wrong, lefts = [], []
    for name, script, words in generated():
        try:
            plan = try_generated(bench, script, words)
        except AssertionError as why:
            wrong.append(f"{name}: {why}\n{script}")
            continue
        # Every argument that is given is filled or has its reason.
        lefts.append({left["key"]: left["why"] for left in plan["left_auto"]})
        assert "reads" in plan["trainer"] and all(lefts[-1].values()), plan
    assert not wrong, f"{len(wrong)} of {len(wrong) + len(lefts)}\n" + "\n".join(wrong[:5])
    doubtful = sum("optimizer.params.lr" in left for left in lefts)
    return f"{len(lefts)} scripts; the learning rate is filled in {len(lefts) - doubtful} and doubtful in {doubtful}"


if __name__ == "__main__":
    run_checks(__doc__, "bin", "env", make=Bench)
