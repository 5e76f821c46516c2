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
SECTIONS = {"ADAMW": ADAMW, "WARMUP": WARMUP}
def table():
    """{(kind, trainer or ""): rows} of the file."""
    found = collections.defaultdict(list)
    for line in (HERE / "cases/launches.txt").read_text().splitlines():
        if line.startswith("= "):
            kind, field, trainer = [*line.removeprefix("= ").split(" | "), ""][:3]
        elif line and not line.startswith("#"):
            row = json.loads(line)
            row = row if field == "row" else {field: row}
            if "set" in row:
                row["set"] = {key: value for name, given in row["set"].items() for key, value in SECTIONS.get(name, {name: given}).items()}
            found[kind, trainer].append(row)
    return found


TABLE = table()
MODEL = {"swift": "model", "hf": "model_name_or_path", "trl": "model_name_or_path", "llamafactory": "model_name_or_path"}
DATA = {"swift": "dataset", "trl": "dataset_name"}
# What a launch with a prefix is tried with: three fail.
BEHIND = [{"set": {"zero_optimization.stage": 4}}, {"arguments": {"MODEL": "./notthere"}}, {"set": {"gradient_clipping": 0.5}, "arguments": {"max_grad_norm": 0.7}}, {}, {"set": {"zero_optimization.overlap_comm": True}}]


def named(trainer, rows):
    """Rows with the trainer's own names for the model and the data; those about data are for trainers that have such an argument."""
    names = {"MODEL": MODEL[trainer]} | ({"DATA": DATA[trainer]} if trainer in DATA else {})
    for row in rows:
        given = {names.get(name, name): value for name, value in row.get("arguments", {}).items()}
        if "DATA" not in given:
            yield row | ({"arguments": given} if given else {})


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
    for key, names, value, other, believed, sections in TABLE["compared", ""]:
        among = {name: auto for section in sections for name, auto in SECTIONS[section].items()}
        arguments = dict(zip(names, value if isinstance(value, list) else [value]))
        arguments = {name: str(it).lower() if isinstance(it, bool) else it for name, it in arguments.items()}
        text = json.dumps(value) if not isinstance(value, list) else [str(it) for it in value]
        yield from ({"kind": kind, "set": among | {key: it}, "arguments": arguments} for kind, it in (("value equal", value), ("value against argument", other), ("value of another type", text)))
        yield from ({"kind": "value against default", "set": among | {key: it}} for it in (value, other, *believed) if names != ["max_steps"])
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
    for prefix in TABLE["prefix", ""]:
        # Nobody can hand a config to the text of a shell.
        own = {"channel": "own"} if prefix[-1] == "-c" else {}
        yield from ({"kind": "prefix", "prefix": prefix} | own | row for row in named(trainer, BEHIND))


def rows(environment, trainer):
    yield from compared(trainer)
    yield from ({"kind": kind} | row for kind in ("DeepSpeed's value", "DeepSpeed, as usual", "argument", "spelling") for row in TABLE[kind, ""])
    yield from ({"kind": "trainer's own argument"} | row for row in TABLE["trainer's own argument", trainer])
    yield from ({"kind": "file"} | row for row in named(trainer, TABLE["file", ""]))
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
