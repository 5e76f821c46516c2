#!/usr/bin/env python3
"""Odd training scripts end with the same DeepSpeed config through zlaunch as alone, and none that works is refused.

Each case (cases/scripts.txt) is a script with its files, and two commands: the script's own, which names the config in the script's own way, and the same through
`zlaunch --deepspeed`. Both go up to the point where the real transformers (or `deepspeed.initialize`) has the final config, on the CPU. A check is a case.
`--env` takes the environment of other versions.
"""
import json
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


# Scripts by the hundred: how public ones read their arguments, what they change, what they load, and what they are given.
FIELDS = "learning_rate: float = 5e-5, per_device_train_batch_size: int = 8, gradient_accumulation_steps: int = 1, max_grad_norm: float = 1.0, weight_decay: float = 0.0, bf16: bool = False".split(", ")
NAMES = [field.split(":")[0] for field in FIELDS]
OWN = "@dataclass\nclass Own:\n    deepspeed: str = None\n    model_name_or_path: str = None\n" + "".join(f"    {field}\n" for field in FIELDS)
OPTIONS = "parser = argparse.ArgumentParser()\nparser.add_argument('--deepspeed')\nparser.add_argument('--model_name_or_path')\n" + "".join(
    f"parser.add_argument('--{name}', " + ("action='store_true')" if kind == "bool" else f"type={kind}, default={default})") + "\n"
    for name, kind, default in (field.replace(":", "").replace(" =", "").split() for field in FIELDS))
HANDED = "output_dir='out', use_cpu=True, deepspeed=a.deepspeed, " + ", ".join(f"{name}=a.{name}" for name in NAMES)
TOP = "import argparse, dataclasses, sys\nfrom dataclasses import dataclass, field\nfrom kit import finish\nfrom transformers import AutoConfig, HfArgumentParser, Seq2SeqTrainingArguments, Trainer, TrainingArguments\nfrom trl import SFTConfig, TrlParser\n"
MORE = "@dataclass\nclass ModelArguments:\n    model_name_or_path: str = None\n"
# Each defines `a`, which has the model's name, and `args`, which the Trainer gets.
READERS = {
    "class": MORE + "BEFOREa, args = HfArgumentParser((ModelArguments, TrainingArguments)).parse_args_into_dataclasses()\n",
    "seq2seq": MORE + "parser = HfArgumentParser((ModelArguments, Seq2SeqTrainingArguments))\nBEFOREif len(sys.argv) == 2 and sys.argv[1].endswith('.json'):\n    a, args = parser.parse_json_file(json_file=sys.argv[1])\nelse:\n    a, args = parser.parse_args_into_dataclasses()\n",
    "remaining": MORE + "BEFOREa, args, rest = HfArgumentParser((ModelArguments, TrainingArguments)).parse_args_into_dataclasses(return_remaining_strings=True)\n",
    "subclass": MORE + "@dataclass\nclass Mine(TrainingArguments):\n    cache_dir: str = field(default=None)\n    learning_rate: float = field(default=1e-4, metadata={'help': 'x'})\nINITBEFOREa, args = HfArgumentParser((ModelArguments, Mine)).parse_args_into_dataclasses()\n",
    "trl": MORE + "BEFOREa, args = TrlParser((ModelArguments, SFTConfig)).parse_args_and_config()\n",
    "own_class": OWN + "BEFOREa, = HfArgumentParser(Own).parse_args_into_dataclasses()\nCHANGEargs = TrainingArguments(HANDED)\n",
    "own_class_sft": OWN + "BEFOREa, = HfArgumentParser((Own,)).parse_args_into_dataclasses()\nCHANGEargs = SFTConfig(HANDED)\n",
    "argparse": OPTIONS + "BEFOREa = parser.parse_args()\nCHANGEargs = TrainingArguments(HANDED)\n",
    "known_args": OPTIONS + "BEFOREa, rest = parser.parse_known_args()\nCHANGEargs = TrainingArguments(HANDED)\n",
    "function": OPTIONS + "def arguments():\n    return parser.parse_args()\nBEFOREa = arguments()\nCHANGEargs = TrainingArguments(HANDED)\n",
}
INIT = "    def __post_init__(self):\n        self.learning_rate *= 2\n        super().__post_init__()\n"
# What happens to an argument: where it stands, and the code.
CHANGES = {
    "nothing": ("", ""), "logged": ("AFTER", "print(args.learning_rate, vars(args)['weight_decay'])\nnamespace = argparse.Namespace(**vars(args))\n"), "words": ("BEFORE", "sys.argv += ['--weight_decay', '0.3']\n"),
    "scaled": ("CHANGE", "a.learning_rate *= 4\n"), "set": ("CHANGE", "a.per_device_train_batch_size = 3\n"), "setattr": ("CHANGE", "setattr(a, 'max_grad_norm', 0.3)\n"),
    "loop": ("CHANGE", "for name, value in {'weight_decay': 0.2}.items():\n    setattr(a, name, value)\n"), "dict": ("CHANGE", "a.__dict__.update(weight_decay=0.25)\n"), "vars": ("CHANGE", "vars(a)['weight_decay'] = 0.25\n"),
    "handed": ("HANDED", HANDED.replace("learning_rate=a.learning_rate", "learning_rate=a.learning_rate * 2")), "dropped": ("HANDED", HANDED.replace(", weight_decay=a.weight_decay", "")),
    "fixed": ("HANDED", HANDED.replace("bf16=a.bf16", "bf16=False")), "post_init": ("INIT", INIT), "again": ("AFTER", "args = TrainingArguments(output_dir='out', use_cpu=True, learning_rate=args.learning_rate * 3, deepspeed=args.deepspeed)\n"),
    "replaced": ("AFTER", "args = dataclasses.replace(args, learning_rate=3e-4)\n"),
}
GIVEN = {
    "some": "--learning_rate 1e-5 --per_device_train_batch_size 2", "joined": "--learning_rate=1e-5 --gradient_accumulation_steps=4 --max_grad_norm=0.7 --weight_decay=0.1 --bf16",
    "model": "--learning_rate 2e-5 --model_name_or_path ./model",
}
LOADS = {"": "finish(args)\n", "model": "finish(args, AutoConfig.from_pretrained(a.model_name_or_path))\n", "other": "finish(args, AutoConfig.from_pretrained('./other'))\n"}


def generated():
    """The name, the script and the words of each."""
    for reader, text in READERS.items():
        for change, (place, code) in CHANGES.items():
            if place not in text + "AFTER":
                continue
            for given, words in GIVEN.items():
                for load in ["model", "other"] if given == "model" else [""]:
                    script = (text + "AFTER").replace(place, code) if place else text
                    for empty in ("BEFORE", "CHANGE", "INIT", "AFTER"):
                        script = script.replace(empty, "")
                    script = TOP + script.replace("HANDED", HANDED) + LOADS[load]
                    words = words.replace("--bf16", "--bf16 true") if reader == "trl" else words
                    own = "" if "HANDED" in text else "--output_dir out --use_cpu true "
                    yield f"{reader}/{change}/{given}{'/' + load if load else ''}", script, own + words


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
