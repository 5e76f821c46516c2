"""The launches of truth.py: the rows of cases/launches.txt, and what follows from tables of keys, files, prefixes and scripts.

A row is a name and what is changed of a launch that works: "set" (keys of the DeepSpeed config), "arguments" of the trainer (None: left out), "words"
behind them, "template", "config" (the text of the config file), "files" (None: a folder, =FILE: a copy), "variables", "prefix", "ranks". "cold" marks what is decided
before a trainer's own code runs, so that a process that has imported it already would not see it.
"""
import collections
import dataclasses
import hashlib
import json

from harness import HERE

ENVIRONMENTS = {
    "": {"swift": {"tuner_type": "full"}, "hf": {}, "trl": {}},
    "llamafactory": {"llamafactory": {}},
    "older": {"swift": {"train_type": "full"}, "hf": {}, "trl": {}},
    "llamafactory-older": {"llamafactory": {}},
}
COMMON = {"output_dir": "out", "max_steps": 1, "report_to": "none", "save_strategy": "no", "use_cpu": "true"}
ARGUMENTS = {
    "swift": {"model": "model", "model_type": "qwen2", "template": "qwen", "dataset": "data.jsonl", "torch_dtype": "bfloat16", "max_length": 128, "dataset_num_proc": 1,
              "dataloader_num_workers": 0, "check_model": "false"},
    "hf": {"model_name_or_path": "model"},
    "trl": {"model_name_or_path": "model", "dataset_name": "data", "max_length": 64, "bf16": "false"},
    "llamafactory": {"model_name_or_path": "model", "stage": "sft", "do_train": "true", "finetuning_type": "full", "dataset": "tiny", "dataset_dir": "data", "template": "qwen",
                     "cutoff_len": 64, "preprocessing_num_workers": 1},
}
# What zlaunch is told the config by: its own options, a file, or the trainer's own argument.
CHANNELS = ("set", "own", "patch", "file")

AUTO = "auto"
ADAMW = {"optimizer.type": "AdamW", "optimizer.params.lr": AUTO, "optimizer.params.betas": AUTO, "optimizer.params.eps": AUTO, "optimizer.params.weight_decay": AUTO}
WARMUP = {"scheduler.type": "WarmupDecayLR", "scheduler.params.warmup_min_lr": AUTO, "scheduler.params.warmup_max_lr": AUTO, "scheduler.params.warmup_num_steps": AUTO,
          "scheduler.params.total_num_steps": AUTO}
# What transformers compares: DeepSpeed's key, the trainer's argument, a value that is nobody's default, another one, and what the key stands among.
COMPARED = [
    ("train_micro_batch_size_per_gpu", ["per_device_train_batch_size"], 3, 4, {}),
    ("gradient_accumulation_steps", ["gradient_accumulation_steps"], 2, 3, {}),
    ("gradient_clipping", ["max_grad_norm"], 0.5, 0.7, {}),
    ("optimizer.params.lr", ["learning_rate"], 0.0003, 0.0007, ADAMW),
    ("optimizer.params.betas", ["adam_beta1", "adam_beta2"], [0.8, 0.97], [0.7, 0.96], ADAMW),
    ("optimizer.params.eps", ["adam_epsilon"], 1e-6, 1e-5, ADAMW),
    ("optimizer.params.weight_decay", ["weight_decay"], 0.03, 0.07, ADAMW),
    ("scheduler.params.warmup_max_lr", ["learning_rate"], 0.0003, 0.0007, ADAMW | WARMUP),
    ("scheduler.params.warmup_num_steps", ["warmup_steps"], 3, 5, ADAMW | WARMUP),
    ("scheduler.params.total_num_steps", ["max_steps"], 2, 5, ADAMW | WARMUP),
    ("bf16.enabled", ["bf16"], True, False, {}),
    ("fp16.enabled", ["fp16"], False, True, {}),
]
# What people take for the defaults. Where one is not this trainer's, the case fails, and zlaunch must know it.
BELIEVED = {
    "train_micro_batch_size_per_gpu": [1, 8], "gradient_accumulation_steps": [1, 16], "gradient_clipping": [1.0, 0], "optimizer.params.lr": [5e-5, 1e-5, 2e-5],
    "optimizer.params.betas": [[0.9, 0.999], [0.9, 0.95]], "optimizer.params.eps": [1e-8], "optimizer.params.weight_decay": [0.0, 0.1],
    "scheduler.params.warmup_max_lr": [5e-5, 1e-5], "scheduler.params.warmup_num_steps": [0, 1], "scheduler.params.total_num_steps": [1], "bf16.enabled": [False, True],
    "fp16.enabled": [False, True],
}

ZERO = "zero_optimization."


def table():
    """{(kind, trainer or ""): rows} of the file."""
    found = collections.defaultdict(list)
    for line in (HERE / "cases/launches.txt").read_text().splitlines():
        if line.startswith("= "):
            kind, field, trainer = [*line.removeprefix("= ").split(" | "), ""][:3]
        elif line and not line.startswith("#"):
            row = json.loads(line)
            row = row if field == "row" else {field: row}
            sections = {"ADAMW": ADAMW, "WARMUP": WARMUP}
            if "set" in row:
                row["set"] = {key: value for name, given in row["set"].items() for key, value in sections.get(name, {name: given}).items()}
            found[kind, trainer].append(row)
    return found


TABLE = table()
MODEL = {"swift": "model", "hf": "model_name_or_path", "trl": "model_name_or_path", "llamafactory": "model_name_or_path"}
DATA = {"swift": "dataset", "trl": "dataset_name"}


def files(trainer):
    """What is not there, and what is there and broken."""
    model, data = MODEL[trainer], DATA.get(trainer)
    rows = [{"arguments": {model: path}} for path in ("./notthere", "no/such/folder/model", "/no/such/model", "../notthere", "model/")]
    broken = {"config.json": "{", "tokenizer.json": "{}"}
    rows += [{"arguments": {model: "broken"}, "files": {f"broken/{name}": text}} for name, text in broken.items()]
    rows += [{"arguments": {model: "empty"}, "files": {"empty": None}}, {"arguments": {model: "data.jsonl"}},
             {"arguments": {model: "other"}, "files": {"other/config.json": '{"model_type": "no_such_type"}'}}, {"arguments": {model: "bare"}, "files": {"bare/config.json": '{"hidden_size": 64}'}}]
    rows += [{"arguments": {model: "weightless"}, "files": {f"weightless/{name}": f"=model/{name}" for name in ("config.json", "tokenizer.json", "tokenizer_config.json")}}]
    if data:
        rows += [{"arguments": {data: path}} for path in ("./notthere.jsonl", "no/such/data.jsonl", "/no/such/data.jsonl", "notthere.jsonl")]
        rows += [{"arguments": {data: "empty.jsonl"}, "files": {"empty.jsonl": ""}}, {"arguments": {data: "bad.jsonl"}, "files": {"bad.jsonl": "{\n"}}]
    rows += [{"channel": "own", "config": text} for text in (row["text"] for row in TABLE["config of its own", ""])] + [{"channel": "own", "files": {"ds.json": None}, "config": None}]
    rows += [{"channel": "own", "config_path": path} for path in ("notthere.json", "./configs/zero2.json", "/no/such/zero2.json", "zero22")]
    return rows


PREFIXES = [["env", "A=1"], ["nice", "-n", "1"], ["timeout", "600"], ["nohup"], ["setsid", "-w"], ["stdbuf", "-oL"], ["uv", "run", "--no-project"], ["bash", "-c"], ["env", "-u", "A", "nice"]]
# Scripts that leave the defaults of transformers alone, or do not. Each is train_hf.py with one line replaced.
SCRIPTS = {
    "as it is": ("", ""),
    "a class of its own": ("parser = HfArgumentParser((ModelArguments, TrainingArguments))", """
    @dataclasses.dataclass
    class Own(TrainingArguments):
        max_grad_norm: float = 0.5
        per_device_train_batch_size: int = 3
    parser = HfArgumentParser((ModelArguments, Own))"""),
    "set_defaults": ("parser = HfArgumentParser((ModelArguments, TrainingArguments))",
                     "parser = HfArgumentParser((ModelArguments, TrainingArguments))\n    parser.set_defaults(max_grad_norm=0.5, per_device_train_batch_size=3)"),
    "afterwards": ("    model = Qwen2", "    arguments.max_grad_norm, arguments.per_device_train_batch_size = 0.5, 3\n    model = Qwen2"),
}


@dataclasses.dataclass
class Case:
    environment: str
    trainer: str
    kind: str
    set: dict = dataclasses.field(default_factory=dict)
    arguments: dict = dataclasses.field(default_factory=dict)
    words: list = dataclasses.field(default_factory=list)
    template: str = "zero2"
    channel: str = None
    config: str = ""
    config_path: str = "ds.json"
    files: dict = dataclasses.field(default_factory=dict)
    variables: dict = dataclasses.field(default_factory=dict)
    place: dict = None
    prefix: list = dataclasses.field(default_factory=list)
    script: str = "as it is"
    ranks: int = None
    cold: bool = False

    def __post_init__(self):
        self.id = hashlib.sha256(json.dumps(dataclasses.asdict(self)).encode()).hexdigest()[:12]
        draw = int(self.id, 16)
        # Where a row leaves it open, every way of telling it and every number of ranks has its share.
        self.channel = self.channel or CHANNELS[draw % len(CHANNELS)]
        # On the CPU two ranks have not met yet when ZeRO-3 makes the model, and all trainers that load one then fail for that.
        alone = self.trainer != "hf" and "zero3" in self.template
        self.ranks = self.ranks or (1 if alone else 1 + draw // 7 % 2)

    def all_arguments(self):
        given = COMMON | ARGUMENTS[self.trainer] | ENVIRONMENTS[self.environment][self.trainer] | self.arguments
        return {name: value for name, value in given.items() if value is not None}


def compared(trainer):
    """A key and its argument: equal, unequal, one of them left out, of another type."""
    for key, names, value, other, among in COMPARED:
        arguments = dict(zip(names, value if isinstance(value, list) else [value]))
        arguments = {name: str(it).lower() if isinstance(it, bool) else it for name, it in arguments.items()}
        text = json.dumps(value) if not isinstance(value, list) else [str(it) for it in value]
        yield from ({"kind": kind, "set": among | {key: it}, "arguments": arguments} for kind, it in (("value equal", value), ("value against argument", other), ("value of another type", text)))
        yield from ({"kind": "value against default", "set": among | {key: it}} for it in (value, other, *BELIEVED[key]) if names != ["max_steps"])
    for batch, micro, steps in ((4, 2, 1), (8, 2, 2), (6, 2, 2), (16, 2, 4), (2, 2, 1)):
        arguments = {"per_device_train_batch_size": micro, "gradient_accumulation_steps": steps}
        yield {"kind": "batch", "set": {"train_batch_size": batch}, "arguments": arguments}
        yield {"kind": "batch", "set": {"train_batch_size": batch}}
        yield {"kind": "batch", "set": {"train_batch_size": batch, "train_micro_batch_size_per_gpu": micro, "gradient_accumulation_steps": steps}, "arguments": arguments}


def scripts():
    for script in SCRIPTS:
        for row in ({"gradient_clipping": 0.5}, {"gradient_clipping": 1.0}, {"train_micro_batch_size_per_gpu": 3}, {"train_micro_batch_size_per_gpu": 8}, {}):
            for arguments in ({}, {"max_grad_norm": 1.0, "per_device_train_batch_size": 8}):
                yield {"kind": "script's defaults", "script": script, "set": row, "arguments": arguments}


def prefixes(trainer):
    failing = {"set": {ZERO + "stage": 4}}, {"arguments": {MODEL[trainer]: "./notthere"}}, {"set": {"gradient_clipping": 0.5}, "arguments": {"max_grad_norm": 0.7}}
    for prefix in PREFIXES:
        # Nobody can hand a config to the text of a shell.
        own = {"channel": "own"} if prefix[-1] == "-c" else {}
        yield from ({"kind": "prefix", "prefix": prefix} | own | row for row in (*failing, {}, {"set": {ZERO + "overlap_comm": True}}))


def rows(environment, trainer):
    yield from compared(trainer)
    yield from ({"kind": kind} | row for kind in ("DeepSpeed's value", "DeepSpeed, as usual", "argument", "spelling") for row in TABLE[kind, ""])
    yield from ({"kind": "trainer's own argument"} | row for row in TABLE["trainer's own argument", trainer])
    yield from ({"kind": "file"} | row for row in files(trainer))
    yield from ({"kind": "rank's variables"} | row for row in TABLE["rank's variables", ""])
    if trainer == "hf":
        yield from scripts()
    yield from prefixes(trainer)
    launchers = ("NPROC_PER_NODE", "NNODES", "NODE_RANK", "MASTER_PORT")
    # Who looks at these, looks at them before or while a trainer is imported.
    yield from ({"kind": "variable", "cold": True} | row for row in TABLE["variable", ""] if trainer in ("swift", "llamafactory") or not set(row["variables"]) & set(launchers))


def all_cases(environments):
    """In an order that is as good as random and the same every time, so that the first N are a sample. One of five of those that take long is enough."""
    made = [Case(environment, trainer, **row) for environment in environments for trainer in ENVIRONMENTS[environment] for row in rows(environment, trainer)]
    unique = {case.id: case for case in made if not case.cold or (case.environment, case.trainer) == ("", "hf") or int(case.id, 16) % 5 == 0}
    return [unique[it] for it in sorted(unique)]
