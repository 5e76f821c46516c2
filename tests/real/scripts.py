#!/usr/bin/env python3
"""Odd training scripts end with the same DeepSpeed config through zlaunch as alone, and none that works is refused.

Each case is a folder with a script and its files, and two commands: the script's own, which names the config in the script's own way, and the same through
`zlaunch --deepspeed`. Both go up to the point where the real transformers (or `deepspeed.initialize`) has the final config, on the CPU. A check is a case.
`--env` takes the environment of other versions.
"""
import json
import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from harness import HERE, Arguments, Checks, kept
from lab import different, variables

# One process imports the packages, and forks for each script that it runs. `kit` is what the scripts end in.
SERVER = '''
import json, os, runpy, sys, traceback, types
os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", LOCAL_WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
import yaml, torch, transformers, trl, deepspeed
from transformers import HfArgumentParser, Trainer, TrainingArguments
from trl import SFTConfig, SFTTrainer
def answer(config):
    print("ANSWER " + json.dumps(config, default=str), flush=True)
    os._exit(0)
def finish(args, config=types.SimpleNamespace(hidden_size=64)):
    found = args.hf_deepspeed_config
    if found is None:
        answer({"DeepSpeed": "off"})
    model = torch.nn.Linear(1, 1)
    model.config = config
    found.trainer_config_finalize(args, model, 77)
    answer(found.config)
def initialize(config=None, config_params=None, **_):
    from deepspeed.runtime.config import DeepSpeedConfig
    DeepSpeedConfig(config)
    answer(json.load(open(config)))
deepspeed.initialize = initialize
class H4ArgumentParser(HfArgumentParser):
    def parse(self):
        if len(sys.argv) == 2 and sys.argv[1].endswith(".yaml"):
            read = self.parse_yaml_file(sys.argv[1])
        elif len(sys.argv) > 2 and sys.argv[1].endswith(".yaml"):
            entries = yaml.safe_load(open(sys.argv[1]))
            for word in sys.argv[2:]:
                entries[word.split("=")[0].strip("-")] = word.split("=")[1]
            read = self.parse_dict(entries)
        else:
            read = self.parse_args_into_dataclasses()
        return read[0] if len(read) == 1 else read
for name, members in {"kit": {"finish": finish}, "alignment": {"H4ArgumentParser": H4ArgumentParser}}.items():
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(members)
for line in sys.stdin:
    case = json.loads(line)
    sys.stdout.flush()
    if not os.fork():
        os.chdir(case["cwd"])
        sys.argv, sys.path[0] = case["argv"], case["cwd"]
        try:
            runpy.run_path(sys.argv[0], run_name="__main__")
            answer({"ended": "without a config"})
        except (Exception, SystemExit) as why:
            traceback.print_exc()
            answer({"refused": f"{type(why).__name__}: {why}"[:600]})
    os.wait()
'''
# In the place of the interpreter's start: what zlaunch executes is written down.
RECORD = 'import json, os, sys\nif os.environ.get("RECORD_ARGV"):\n    open(os.environ["RECORD_ARGV"], "w").write(json.dumps(sys.orig_argv[1:]))\n    os._exit(0)\n'
CONFIG = {
    "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "train_batch_size": "auto", "gradient_clipping": "auto",
    "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}},
    "bf16": {"enabled": "auto"}, "fp16": {"enabled": "auto"},
    "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto"},
}
PLAIN = {"train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 1, "zero_optimization": {"stage": 1}}
HEAD = "import sys\nfrom dataclasses import dataclass, field\nfrom kit import finish\nfrom transformers import AutoConfig, HfArgumentParser, Trainer, TrainingArguments\n"
HF = HEAD + "parser = HfArgumentParser((TrainingArguments,))\n"
YAML = "# a run\noutput_dir: out\nuse_cpu: true\nlearning_rate: 5.0e-7\nmax_grad_norm: 1:30.5\nadam_beta1: 9.0e-1\n"
COMMON = "--output_dir out --use_cpu true --per_device_train_batch_size 2 --learning_rate 1e-5"
ARGPARSE = """import argparse
from kit import finish
from transformers import Trainer, TrainingArguments
parser = argparse.ArgumentParser()
{options}
a = parser.parse_args()
finish(TrainingArguments(output_dir="out", use_cpu=True, {handed}))
"""
MODEL = '''@dataclass
class ModelArguments:
    model_name_or_path: str = None
'''
REMOTE = "from transformers import PretrainedConfig\nclass OwnConfig(PretrainedConfig):\n    model_type = 'own'\n    def __init__(self, width=96, **more):\n        super().__init__(**more)\n        self.hidden_size = width\n"

CASES = {}


def case(name, script, own, ours=None, config=CONFIG, says="", **files):
    """`own` names the config as CONFIG; `ours` is the same without it. `says` must stand in the plan."""
    CASES[name] = {"script": script, "own": own, "ours": own.replace(" --deepspeed CONFIG", "") if ours is None else ours, "config": config, "says": says, "files": files}


# Run files.
case("parse_yaml_file", HEAD + "args, = HfArgumentParser((TrainingArguments,)).parse_yaml_file(sys.argv[1])\nfinish(args)\n", "r.yaml", "plain.yaml", **{"r.yaml": YAML + "deepspeed: CONFIG\n", "plain.yaml": YAML})
case("parse_yaml_file_that_names_one", HEAD + "args, = HfArgumentParser((TrainingArguments,)).parse_yaml_file(sys.argv[1])\nfinish(args)\n", "r.yaml", "r.yaml", **{"r.yaml": YAML + "deepspeed: CONFIG"})
case("a_block_at_the_end", HEAD + "args, = HfArgumentParser((TrainingArguments,)).parse_yaml_file(sys.argv[1])\nassert args.run_name == 'two\\nlines', args.run_name\nfinish(args)\n", "r.yaml", "plain.yaml",
     **{"r.yaml": "deepspeed: CONFIG\n" + YAML + "run_name: |\n  two\n  lines", "plain.yaml": YAML + "run_name: |\n  two\n  lines"})
case("merged_keys", HEAD + "import yaml\nentries = yaml.safe_load(open(sys.argv[1]))\nentries.pop('base', None), entries.pop('more', None)\nargs, = HfArgumentParser((TrainingArguments,)).parse_dict(entries)\nfinish(args)\n",
     "r.yaml", "plain.yaml", **{"r.yaml": "base: &b {learning_rate: 1.0e-6, weight_decay: 0.5}\nmore: &m {learning_rate: 3.0e-6}\n<<: *b\n<<: *m\ndeepspeed: CONFIG\n" + YAML.replace("learning_rate: 5.0e-7\n", ""),
                                "plain.yaml": "base: &b {learning_rate: 1.0e-6, weight_decay: 0.5}\nmore: &m {learning_rate: 3.0e-6}\n<<: *b\n<<: *m\n" + YAML.replace("learning_rate: 5.0e-7\n", "")})
case("a_yaml_of_the_scripts_own", ARGPARSE.format(options="parser.add_argument('config')\nparser.add_argument('--deepspeed')", handed="deepspeed=a.deepspeed, learning_rate=float(__import__('yaml').safe_load(open(a.config))['lr'])"),
     "own.yaml --deepspeed CONFIG", **{"own.yaml": "lr: 2e-5\n"})
case("h4_alone", HEAD + "from alignment import H4ArgumentParser\nargs = H4ArgumentParser((TrainingArguments,)).parse()\nfinish(args)\n", "r.yaml --deepspeed=CONFIG", "r.yaml", **{"r.yaml": YAML})
case("h4_with_more", HEAD + "from alignment import H4ArgumentParser\nargs = H4ArgumentParser((TrainingArguments,)).parse()\nfinish(args)\n", "r.yaml --run_name=x --deepspeed=CONFIG", "r.yaml --run_name=x", **{"r.yaml": YAML})
HYDRA = "import hydra\nfrom kit import finish\nfrom omegaconf import OmegaConf\nfrom transformers import Trainer, TrainingArguments\n@hydra.main(version_base=None, config_path='conf', config_name='config')\ndef main(cfg):\n    finish(TrainingArguments(**OmegaConf.to_container(cfg.training)))\nmain()\n"
case("hydra", HYDRA, "++training.deepspeed=CONFIG training.learning_rate=1e-6", "training.learning_rate=1e-6", says="hydra", **{"conf/config.yaml": "training:\n  output_dir: out\n  use_cpu: true\n  learning_rate: 1.0e-5\n"})
case("hydra_that_names_one", HYDRA, "training.deepspeed=CONFIG", "training.deepspeed=CONFIG", says="nested", **{"conf/config.yaml": "training:\n  output_dir: out\n  use_cpu: true\n  deepspeed: null\n"})

# Whose script it is.
case("argparse_deepspeed_config", ARGPARSE.format(options="parser.add_argument('--deepspeed_config')", handed="deepspeed=a.deepspeed_config"), "--deepspeed_config CONFIG", "")
case("argparse_deepspeed_config_given", ARGPARSE.format(options="parser.add_argument('--deepspeed_config')", handed="deepspeed=a.deepspeed_config"), "--deepspeed_config CONFIG", "--deepspeed_config CONFIG")
case("trl_with_initialize", "from kit import finish\nimport deepspeed\nfrom trl import SFTConfig, SFTTrainer, TrlParser\ndef reference(model):\n    return deepspeed.initialize(model=model)\nargs, = TrlParser((SFTConfig,)).parse_args_and_config()\nfinish(args)\n", COMMON + " --deepspeed CONFIG")
case("initialize_in_a_module", "import argparse\nimport engine\nparser = argparse.ArgumentParser()\nparser.add_argument('--deepspeed')\nparser.add_argument('--per_device_train_batch_size', type=int)\na = parser.parse_args()\nengine.start(a.deepspeed)\n",
     "--per_device_train_batch_size 4 --deepspeed CONFIG", config=PLAIN | {"gradient_clipping": 1.0}, **{"engine.py": "import deepspeed\ndef start(config):\n    return deepspeed.initialize(config=config)\n"})

# Values that change on the way.
case("switch_then_positional", ARGPARSE.format(options="parser.add_argument('--bf16', action='store_true')\nparser.add_argument('data')\nparser.add_argument('--deepspeed')", handed="bf16=a.bf16, deepspeed=a.deepspeed"),
     "--deepspeed CONFIG --bf16 data.json", "--bf16 data.json", says="--bf16", **{"data.json": "{}"})
case("type_bool", ARGPARSE.format(options="parser.add_argument('--bf16', type=bool)\nparser.add_argument('--deepspeed')", handed="bf16=a.bf16, deepspeed=a.deepspeed"), "--bf16 False --deepspeed CONFIG", says="reads --bf16 in another way")
case("on_and_off", HEAD + "@dataclass\nclass Mine(TrainingArguments):\n    bf16: bool = field(default=True)\nargs, = HfArgumentParser((Mine,)).parse_args_into_dataclasses()\nfinish(args)\n", COMMON + " --bf16 --no_bf16 --deepspeed CONFIG", says="--no_bf16")
POST_INIT = "@dataclass\nclass Mine(TrainingArguments):\n    def __post_init__(self):\n        self.learning_rate = self.learning_rate * 2\n        super().__post_init__()\nargs, = HfArgumentParser((Mine,)).parse_args_into_dataclasses()\nfinish(args)\n"
case("post_init", HEAD + POST_INIT, COMMON + " --deepspeed CONFIG", says="train.py:8 sets learning_rate")
case("scaled", HF + "args, = parser.parse_args_into_dataclasses()\nargs.learning_rate *= 4\nargs.per_device_train_batch_size //= 2\nfinish(args)\n", COMMON + " --deepspeed CONFIG", says="train.py:7 sets learning_rate")
case("scaled_in_a_module", HF + "import changes\nargs, = parser.parse_args_into_dataclasses()\nchanges.prepare(args)\nfinish(args)\n", COMMON + " --deepspeed CONFIG", says="changes.py:2 sets learning_rate", **{"changes.py": "def prepare(it):\n    it.learning_rate *= 4\n"})
case("contradicted_but_changed", HEAD + POST_INIT, COMMON + " --deepspeed CONFIG",
     config=CONFIG | {"optimizer": {"type": "AdamW", "params": {"lr": 2e-5, "betas": "auto", "eps": "auto", "weight_decay": "auto"}}})
case("another_argument_is_handed_on", ARGPARSE.format(options="parser.add_argument('--learning_rate', type=float)\nparser.add_argument('--deepspeed')", handed="learning_rate=a.learning_rate * 8, deepspeed=a.deepspeed"), "--learning_rate 1e-5 --deepspeed CONFIG", says="does not hand --learning_rate on as it is")
case("handed_on_as_it_is", ARGPARSE.format(options="parser.add_argument('--learning_rate', type=float)\nparser.add_argument('--deepspeed')", handed="learning_rate=a.learning_rate, deepspeed=a.deepspeed"), "--learning_rate 1e-5 --deepspeed CONFIG", says="argparse → TrainingArguments")
case("fire", "import fire\nfrom kit import finish\nfrom transformers import Trainer, TrainingArguments\ndef main(per_device_train_batch_size=8, max_grad_norm=None, deepspeed=None):\n    finish(TrainingArguments(output_dir='out', use_cpu=True, per_device_train_batch_size=per_device_train_batch_size, max_grad_norm=max_grad_norm or 0.5, deepspeed=deepspeed))\nfire.Fire(main)\n",
     "--per_device_train_batch_size 0x2 --max_grad_norm None --deepspeed CONFIG", says="reads its arguments by fire")
case("nothing_in_between", HF + "args, = parser.parse_args_into_dataclasses()\nfinish(args)\n", COMMON + " --deepspeed CONFIG", says="optimizer.params.lr = 0.00001")

# Another model.
case("remote_code", HEAD + MODEL + "model, args = HfArgumentParser((ModelArguments, TrainingArguments)).parse_args_into_dataclasses()\nfinish(args, AutoConfig.from_pretrained(model.model_name_or_path, trust_remote_code=True))\n",
     COMMON + " --model_name_or_path ./model --deepspeed CONFIG", says="auto_map",
     **{"model/config.json": json.dumps({"model_type": "own", "hidden_size": 64, "width": 128, "auto_map": {"AutoConfig": "configuration_own.OwnConfig"}}), "model/configuration_own.py": REMOTE})
case("another_model", HEAD + MODEL + "model, args = HfArgumentParser((ModelArguments, TrainingArguments)).parse_args_into_dataclasses()\nfinish(args, AutoConfig.from_pretrained('./other'))\n",
     COMMON + " --model_name_or_path ./model --deepspeed CONFIG", says="loads another model than --model_name_or_path",
     **{"model/config.json": json.dumps({"model_type": "llama", "hidden_size": 64}), "other/config.json": json.dumps({"model_type": "llama", "hidden_size": 256})})
case("the_model_that_is_named", HEAD + MODEL + "model, args = HfArgumentParser((ModelArguments, TrainingArguments)).parse_args_into_dataclasses()\nfinish(args, AutoConfig.from_pretrained(model.model_name_or_path))\n",
     COMMON + " --model_name_or_path ./model --deepspeed CONFIG", says="reduce_bucket_size = 16384", **{"model/config.json": json.dumps({"model_type": "llama", "hidden_size": 128, "num_attention_heads": 4})})


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


class Bench:
    def __init__(self, options, root):
        self.binary, self.env, self.root = options.bin, options.env, root
        packages = kept(self.install, "scripts", (HERE / "requirements-scripts.txt").read_text(), str(self.env)) / "packages"
        (root / "record").mkdir()
        (root / "record/sitecustomize.py").write_text(RECORD)
        self.variables = variables(self.env, root, RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", LOCAL_WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="29500", PYTHONPATH=str(packages))
        self.server = subprocess.Popen([self.env / "bin/python", "-c", SERVER], env=self.variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(root / "said", "w"), text=True)

    def install(self, folder):
        subprocess.run([self.env / "bin/uv", "pip", "install", "--quiet", "--python", self.env / "bin/python", "--target", folder / "packages", "-r", HERE / "requirements-scripts.txt"], check=True)

    def answer(self, folder, argv):
        self.server.stdin.write(json.dumps({"cwd": str(folder), "argv": argv}) + "\n")
        self.server.stdin.flush()
        for line in self.server.stdout:
            if line.startswith("ANSWER "):
                return json.loads(line.removeprefix("ANSWER "))
        raise AssertionError((self.root / "said").read_text()[-3000:])

    def zlaunch(self, folder, *words, **more):
        return subprocess.run([self.binary, *words], env=self.variables | more, cwd=folder, capture_output=True, text=True)

    def try_case(self, name, case):
        folder = self.root / name
        folder.mkdir()
        config = folder / "ds.json"
        config.write_text(json.dumps(case["config"]))
        for file, text in (case["files"] | {"train.py": case["script"]}).items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text.replace("CONFIG", str(config)) if file.endswith(("yaml", ".json")) else text)
        command = lambda words: ["train.py", *shlex.split(words.replace("CONFIG", str(config)))]
        alone = self.answer(folder, command(case["own"]))
        assert "refused" not in alone and "ended" not in alone, f"it does not work alone: {alone}\n{(self.root / 'said').read_text()[-2000:]}"
        ours = ["--deepspeed", str(config), "--", "python", *command(case["ours"])]
        # hydra names its folder of outputs by the second, so that two runs may share it.
        before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file() and "outputs" not in file.parts}
        checked = self.zlaunch(folder, "check", *ours)
        assert checked.returncode == 0, checked.stdout
        plan = self.zlaunch(folder, "-n", *ours).stdout
        record = folder / "argv"
        path = f"{self.root / 'record'}:{self.variables['PYTHONPATH']}"
        launched = self.zlaunch(folder, *ours, RECORD_ARGV=str(record), PYTHONPATH=path)
        assert launched.returncode == 0 and record.exists(), launched.stderr
        through = self.answer(folder, json.loads(record.read_text()))
        assert through == alone, f"{different(alone, through)}\n{plan}"
        assert case["says"] in plan, f"the plan does not say {case['says']!r}:\n{plan}"
        assert all(file.read_bytes() == text for file, text in before.items()), "a file of the user's was changed"


    def try_generated(self, name, script, words):
        """Why a script ends otherwise through zlaunch, with a config that is "auto" everywhere and with one that has the values; and what was decided."""
        folder = self.root / "generated"
        folder.mkdir(exist_ok=True)
        for file, text in {"train.py": script, "model/config.json": '{"model_type": "llama", "hidden_size": 128, "num_attention_heads": 4}', "other/config.json": '{"model_type": "llama", "hidden_size": 256}'}.items():
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_text(text)
        config = folder / "ds.json"
        command = ["train.py", *shlex.split(words)]
        config.write_text(json.dumps(CONFIG))
        alone = self.answer(folder, [*command, "--deepspeed", str(config)])
        if "refused" in alone:
            return f"it does not work alone: {alone}", None
        plan = json.loads(self.zlaunch(folder, "-n", "--format", "json", "--deepspeed", str(config), "--", "python", *command).stdout)
        for given in (CONFIG, {key: alone[key] for key in CONFIG}):
            config.write_text(json.dumps(given))
            record = folder / "argv"
            record.unlink(missing_ok=True)
            launched = self.zlaunch(folder, "--deepspeed", str(config), "--", "python", *command, RECORD_ARGV=str(record), PYTHONPATH=f"{self.root / 'record'}:{self.variables['PYTHONPATH']}")
            if not record.exists():
                return f"refused, although it works:\n{launched.stderr}\n{script}", None
            through = self.answer(folder, json.loads(record.read_text()))
            if through != alone:
                return f"{different(alone, through)}\n{script}", None
        return None, plan

    def try_all_generated(self):
        filled = doubtful = count = 0
        wrong = []
        for name, script, words in generated():
            why, plan = self.try_generated(name, script, words)
            count += 1
            if why:
                wrong.append(f"{name}: {why}")
                continue
            # Every argument that is given is filled or has its reason.
            left = {it["key"]: it["why"] for it in plan["left_auto"]}
            assert "reads" in plan["trainer"] and all(left.values()), plan
            filled += "optimizer.params.lr" not in left
            doubtful += "optimizer.params.lr" in left
        assert not wrong, f"{len(wrong)} of {count}\n" + "\n".join(wrong[:5])
        return f"{count} scripts; the learning rate is filled in {filled} and doubtful in {doubtful}"


def main():
    options = Arguments(__doc__, "bin", "env", "names").parse_args()
    checks = Checks(options.names)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, Path(folder).resolve())
        for name, it in CASES.items():
            checks.run(name, bench.try_case, name, it)
        checks.run("generated", bench.try_all_generated)
        bench.server.stdin.close()
        bench.server.wait()
    checks.finish()


if __name__ == "__main__":
    main()
