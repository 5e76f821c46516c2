#!/usr/bin/env python3
"""Records DeepSpeed's config keys again: src/recorded/deepspeed-schema.txt.

What pydantic models and the signatures of the schedulers and optimizers say is read from the installed DeepSpeed: type, range, default, alias.
Keys that DeepSpeed reads with `.get()` are lines that are kept as they are, as are `since` and `removed` of every key; a key that is new
or gone gets the installed version there. Columns, separated by tabs: key, type, range, default, since, removed, now (`=key` an alias of,
`>key` replaced by). `~` before a type: DeepSpeed checks nothing when it reads the config. `@version` after a type or range: checked since then.
"""
import json
import subprocess

from harness import ROOT, Arguments, Checks

FILE = ROOT / "src/recorded/deepspeed-schema.txt"

INSIDE = r'''
import os
os.environ["DS_ACCELERATOR"] = "cpu"
import enum, inspect, json, logging, pathlib, typing
logging.disable(logging.CRITICAL)
import deepspeed
from pydantic import BaseModel
from pydantic_core import PydanticUndefined
from deepspeed.comm.config import CommsLoggerConfig
from deepspeed.compile.config import CompileConfig
from deepspeed.inference.config import WeightQuantConfig
from deepspeed.monitor.config import CometConfig, CSVConfig, TensorBoardConfig, WandbConfig
from deepspeed.ops.adam import DeepSpeedCPUAdam, FusedAdam
from deepspeed.ops.lamb import FusedLamb
from deepspeed.ops.lion import DeepSpeedCPULion, FusedLion
from deepspeed.runtime import lr_schedules
from deepspeed.runtime.config import HybridEngineConfig, _REMOVED_TOP_LEVEL_CONFIG_KEYS, _REMOVED_ZERO_CONFIG_KEYS
from deepspeed.runtime.precision_config import DeepSpeedBF16Config, DeepSpeedFP16Config
from deepspeed.runtime.tensor_parallel.config import TPTrainingConfig
from deepspeed.runtime.zero.config import DeepSpeedZeroConfig
from deepspeed.utils.config import DeepSpeedThroughputTimerConfig

MODELS = {"zero_optimization": DeepSpeedZeroConfig, "fp16": DeepSpeedFP16Config, "bf16": DeepSpeedBF16Config, "bfloat16": DeepSpeedBF16Config,
          "tensorboard": TensorBoardConfig, "wandb": WandbConfig, "csv_monitor": CSVConfig, "comet": CometConfig, "comms_logger": CommsLoggerConfig,
          "compile": CompileConfig, "tensor_parallel": TPTrainingConfig, "hybrid_engine": HybridEngineConfig,
          "timers.throughput": DeepSpeedThroughputTimerConfig, "weight_quantization": WeightQuantConfig}
# How a section that stands at the top is read, where that is not `**section`.
SECTIONS = {"zero_optimization": "model|bool", "bf16": "model?@0.17.1", "bfloat16": "model@0.17.1", "fp16": "model@0.17.1", "compile": "model@0.16.6"}
# What validators say, which no signature shows.
VALIDATORS = {"fp16.loss_scale": ("scale", ""), "fp16.loss_scale_window": ("count", ""), "fp16.min_loss_scale": ("count", ""),
              "zero_optimization.zenflow.select_strategy": ("str", "auto|step|epoch"),
              "zero_optimization.zenflow.select_interval": ("interval", ""), "zero_optimization.zenflow.update_interval": ("interval", ">=1"),
              "zero_optimization.leaf_module": ("model?", ""), "zero_optimization.leaf_module.classes": ("str|strings", ""),
              "zero_optimization.leaf_module.names": ("str|strings", ""), "zero_optimization.leaf_module.name_suffixes": ("str|strings", "")}
SCHEDULERS = ["LRRangeTest", "OneCycle", "WarmupLR", "WarmupDecayLR", "WarmupCosineLR"]
OPTIMIZERS = {"adam": [FusedAdam, DeepSpeedCPUAdam], "adamw": [FusedAdam, DeepSpeedCPUAdam], "lamb": [FusedLamb], "lion": [FusedLion, DeepSpeedCPULion]}
# What the engine takes out of the parameters before it hands them on.
TAKEN_OUT = {"adam": ["adam_w_mode", "torch_adam", "fp32_optimizer_states"], "adamw": ["adam_w_mode", "torch_adam", "fp32_optimizer_states"],
             "lion": ["fp32_optimizer_states"]}
lines = {}

def kind(annotation):
    """(type, choices) of an annotation."""
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Union:
        rest = [it for it in args if it is not type(None)]
        if len(rest) > 1:
            return "interval", ""
        name, choices = kind(rest[0])
        return name + "?", choices
    if origin is typing.Literal:
        return "str", "|".join(args)
    if origin is list and args and typing.get_origin(args[0]) is typing.Literal:
        return "choices", "|".join(typing.get_args(args[0]))
    if origin is list and args == (str,):
        return "strings", ""
    if origin in (dict, list) or annotation in (dict, list, typing.Dict):
        return ("list" if list in (origin, annotation) else "object"), ""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "model", ""
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return ("int" if issubclass(annotation, int) else "str"), "|".join(str(it.value) for it in annotation)
    names = {bool: "bool", int: "int", float: "float", str: "str", pathlib.Path: "path", object: "any", tuple: "list"}
    return names.get(annotation, "none"), ""

def bounds(field):
    """`>0`, `>=0`, `0..1`, `(0..1)`."""
    found = {}
    for it in field.metadata:
        for name in ("ge", "gt", "le", "lt"):
            if getattr(it, name, None) is not None:
                found[name] = getattr(it, name)
    short = lambda number: f"{number:g}"
    if "ge" in found and "le" in found:
        return f"{short(found['ge'])}..{short(found['le'])}"
    if "gt" in found and "lt" in found:
        return f"({short(found['gt'])}..{short(found['lt'])})"
    return f">={short(found['ge'])}" if "ge" in found else f">{short(found['gt'])}" if "gt" in found else ""

def default(field):
    value = field.get_default(call_default_factory=True)
    value = value.value if isinstance(value, enum.Enum) else value
    if value is PydanticUndefined or isinstance(value, BaseModel):
        return "-"
    try:
        return json.dumps(value)
    except TypeError:
        return "-"

def walk(prefix, model):
    for name, field in model.model_fields.items():
        key = f"{prefix}.{field.alias or name}"
        type_, range_ = kind(field.annotation)
        type_, range_ = VALIDATORS.get(key.replace("bfloat16.", "bf16."), (type_, range_ or bounds(field)))
        extra = field.json_schema_extra or {}
        target = extra.get("new_param") if extra.get("deprecated") else None
        now = ""
        if target and extra.get("set_new_param", True):
            alias = model.model_fields[target].alias or target
            now = f">{prefix}.{alias}"
        lines[key] = [type_, range_, default(field), now]
        if field.alias and field.alias != name:
            lines[f"{prefix}.{name}"] = [type_, range_, default(field), f"={key}"]
        inner = [it for it in (field.annotation, *typing.get_args(field.annotation)) if isinstance(it, type) and issubclass(it, BaseModel)]
        for it in inner:
            walk(key, it)
            if field.alias and field.alias != name:
                walk(f"{prefix}.{name}", it)

def parameters(prefix, functions, more=()):
    for function in functions:
        for name, it in inspect.signature(function.__init__).parameters.items():
            if name in ("self", "params", "model_params", "optimizer", "adamw_mode") or it.kind in (it.VAR_KEYWORD, it.VAR_POSITIONAL):
                continue
            value = it.default
            type_ = {bool: "bool", int: "float", float: "float", str: "str", tuple: "list"}.get(type(value), "any")
            if name.endswith(("_steps", "_count", "_step_size", "_iteration")) and type_ != "bool":
                type_ = "int"
            lines.setdefault(f"{prefix}.{name}", ["~" + type_, "", "required" if value is it.empty else json.dumps(value), ""])
    for name in more:
        lines.setdefault(f"{prefix}.{name}", ["~bool", "", "-", ""])

for section, model in MODELS.items():
    lines[section] = [SECTIONS.get(section, "model"), "", "-", ">bf16" if section == "bfloat16" else ""]
    walk(section, model)
for name in SCHEDULERS:
    parameters(f"scheduler.params@{name}", [getattr(lr_schedules, name)])
for name, classes in OPTIMIZERS.items():
    parameters(f"optimizer.params@{name}", classes, TAKEN_OUT.get(name, []))
for name in [*_REMOVED_TOP_LEVEL_CONFIG_KEYS, *("zero_optimization." + it for it in _REMOVED_ZERO_CONFIG_KEYS)]:
    lines[name] = ["any", "", "-", ""]
removed = sorted([*_REMOVED_TOP_LEVEL_CONFIG_KEYS, *("zero_optimization." + it for it in _REMOVED_ZERO_CONFIG_KEYS)])
print(json.dumps({"version": deepspeed.__version__.split("+")[0], "lines": lines, "removed": removed}))
'''


def read():
    rows = [line.split("\t") for line in FILE.read_text().splitlines()] if FILE.exists() else []
    return {row[0]: row[1:] for row in rows}


def main():
    parser = Arguments(__doc__, "env")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the file is not what DeepSpeed says")
    options = parser.parse_args()
    result = subprocess.run([options.env / "bin/python", "-c", INSIDE], capture_output=True, text=True, check=True)
    seen = json.loads(result.stdout.splitlines()[-1])
    version, known = seen["version"], read()
    written = {}
    for key, (type_, range_, default, now) in seen["lines"].items():
        old = known.get(key)
        since, removed = (old[3], old[4]) if old else (version, "-")
        # A version at a range is history that the models do not tell.
        if old and old[1].split("@")[0] == range_:
            range_ = old[1]
        now = now or (old[5] if old and key in seen["removed"] else "")
        if key in seen["removed"] and removed == "-":
            removed = version + "!"
        written[key] = [type_, range_ or "-", default, since, removed, now or "-"]
    for key, old in known.items():
        if key in written:
            continue
        section = key.rpartition(".")[0]
        was_model = section in seen["lines"] and seen["lines"][section][0].startswith("model") or "@" in key
        gone = old[4] == "-" and was_model and not old[0].startswith("~")
        written[key] = [*old[:4], version if gone else old[4], old[5]]
    text = "".join("\t".join([key, *row]) + "\n" for key, row in sorted(written.items(), key=lambda it: it[0].encode()))
    if options.check:
        checks = Checks()
        print(f"{len(written)} keys of DeepSpeed {version}")
        for key in sorted(written.keys() | known.keys()):
            now = written.get(key)
            checks.judge(key, now != known.get(key) and f"recorded as {known.get(key)}, now {now}; record_schema.py without --check records it")
        checks.finish()
    FILE.write_text(text)
    print(f"{len(written)} keys of DeepSpeed {version}")


if __name__ == "__main__":
    main()
