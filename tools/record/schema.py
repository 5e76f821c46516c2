"""DeepSpeed's config keys: src/recorded/deepspeed-schema.txt, and deepspeed-versions.txt beside it.

What pydantic models and the signatures of the schedulers and optimizers say is read from each real DeepSpeed that is named, the older ones
first (`tests/real/setup deepspeed-VERSION` makes its environment): type, range, default, alias. A key has one line. Where versions differ, a
column has what holds since when, the newest first: `model@0.17.1;section`. A new version is recorded by naming it; what changed is printed.
`--check` compares instead, by default with the last version of every line. Keys that DeepSpeed reads with `.get()` are lines that are kept
as they are, and so is what holds before the first version that was looked at.

Columns, separated by tabs: key, type, range, default, since, removed (`!`: refused by name since then), now (`=key` an alias of, `>key`
replaced by). `~` before a type: DeepSpeed checks nothing when it reads the config. `unread`: nothing reads it in those versions.
"""
import json
import os
import subprocess

from harness import DEEPSPEED_LINES, DEEPSPEED_VERSIONS, ROOT, Arguments, Checks, environment

FILE = ROOT / "src/recorded/deepspeed-schema.txt"
VERSIONS = FILE.with_name("deepspeed-versions.txt")

INSIDE = r'''
import enum, importlib, inspect, json, logging, pathlib, sys, typing
logging.disable(logging.CRITICAL)
import deepspeed
from deepspeed.runtime import config as ds_config, constants as ds_constants, lr_schedules
from deepspeed.runtime.config_utils import DeepSpeedConfigModel

# The sections that pydantic describes, and the class of each; those that a version lacks are left out.
MODELS = {"zero_optimization": "runtime.zero.config.DeepSpeedZeroConfig", "fp16": "runtime.precision_config.DeepSpeedFP16Config",
          "bf16": "runtime.precision_config.DeepSpeedBF16Config", "bfloat16": "runtime.precision_config.DeepSpeedBF16Config",
          "tensorboard": "monitor.config.TensorBoardConfig", "wandb": "monitor.config.WandbConfig", "csv_monitor": "monitor.config.CSVConfig",
          "comet": "monitor.config.CometConfig", "comms_logger": "comm.config.CommsLoggerConfig", "compile": "compile.config.CompileConfig",
          "tensor_parallel": "runtime.tensor_parallel.config.TPTrainingConfig", "hybrid_engine": "runtime.config.HybridEngineConfig",
          "timers.throughput": "utils.config.DeepSpeedThroughputTimerConfig", "weight_quantization": "inference.config.WeightQuantConfig"}
OLD = {"compile": "runtime.compiler.CompileConfig"}
# How a section that stands at the top is read, where that is not `**section`.
SECTIONS = {"zero_optimization": "model|bool", "bf16": "model?"}
# What validators say, which no signature shows: the validator that must be there.
VALIDATED = {"fp16.loss_scale": ("scale", "", "_validate_loss_scale"), "fp16.loss_scale_window": ("count", "", "_reject_non_integer_scale_params"),
             "fp16.min_loss_scale": ("count", "", "_reject_non_integer_scale_params")}
VALIDATORS = {"zero_optimization.zenflow.select_strategy": ("str", "auto|step|epoch"),
              "zero_optimization.zenflow.select_interval": ("interval", ""), "zero_optimization.zenflow.update_interval": ("interval", ">=1"),
              "zero_optimization.leaf_module": ("model?", ""), "zero_optimization.leaf_module.classes": ("str|strings", ""),
              "zero_optimization.leaf_module.names": ("str|strings", ""), "zero_optimization.leaf_module.name_suffixes": ("str|strings", "")}
SCHEDULERS = ["LRRangeTest", "OneCycle", "WarmupLR", "WarmupDecayLR", "WarmupCosineLR"]
OPTIMIZERS = {"adam": ["ops.adam.FusedAdam", "ops.adam.DeepSpeedCPUAdam"], "adamw": ["ops.adam.FusedAdam", "ops.adam.DeepSpeedCPUAdam"],
              "lamb": ["ops.lamb.FusedLamb"], "lion": ["ops.lion.FusedLion", "ops.lion.DeepSpeedCPULion"]}
# What the engine takes out of the parameters before it hands them on.
TAKEN_OUT = {"adam": ["adam_w_mode", "torch_adam", "fp32_optimizer_states"], "adamw": ["adam_w_mode", "torch_adam", "fp32_optimizer_states"],
             "lion": ["fp32_optimizer_states"]}
lines = {}

def named(path):
    module, name = ("deepspeed." + path).rsplit(".", 1)
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None

def is_model(it):
    return isinstance(it, type) and (hasattr(it, "model_fields") or hasattr(it, "__fields__"))

def fields(model):
    """(name, alias, annotation, nullable, default, bounds, extra) of each, by pydantic 2 or 1."""
    if not hasattr(model, "model_fields"):
        for name, field in model.__fields__.items():
            info = field.field_info
            bounds = {it: getattr(info, it) for it in ("ge", "gt", "le", "lt") if getattr(info, it) is not None}
            annotation = field.outer_type_
            yield name, field.alias if field.has_alias else None, annotation, field.allow_none, field.get_default(), bounds, info.extra
        return
    for name, field in model.model_fields.items():
        bounds = {it: getattr(meta, it) for meta in field.metadata for it in ("ge", "gt", "le", "lt") if getattr(meta, it, None) is not None}
        yield name, field.alias, field.annotation, False, field.get_default(call_default_factory=True), bounds, field.json_schema_extra or {}

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
    if is_model(annotation):
        return "model", ""
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return ("int" if issubclass(annotation, int) else "str"), "|".join(str(it.value) for it in annotation)
    # pydantic 1 makes a class of its own for a number with bounds.
    annotation = next((it for it in (int, float) if isinstance(annotation, type) and issubclass(annotation, it) and annotation is not bool), annotation)
    names = {bool: "bool", int: "int", float: "float", str: "str", pathlib.Path: "path", object: "any", tuple: "list"}
    return names.get(annotation, "none"), ""

def span(found):
    """`>0`, `>=0`, `0..1`, `(0..1)`."""
    short = lambda number: f"{number:g}"
    if "ge" in found and "le" in found:
        return f"{short(found['ge'])}..{short(found['le'])}"
    if "gt" in found and "lt" in found:
        return f"({short(found['gt'])}..{short(found['lt'])})"
    return f">={short(found['ge'])}" if "ge" in found else f">{short(found['gt'])}" if "gt" in found else ""

def written(value):
    value = value.value if isinstance(value, enum.Enum) else value
    if hasattr(value, "model_fields") or hasattr(value, "__fields__"):
        return "-"
    try:
        return json.dumps(value)
    except TypeError:
        return "-"

def walk(prefix, model):
    names = {name: alias or name for name, alias, *_ in fields(model)}
    for name, alias, annotation, nullable, default, bounds, extra in fields(model):
        key = f"{prefix}.{alias or name}"
        type_, range_ = kind(annotation)
        type_ = type_ + "?" if nullable and not type_.endswith("?") else type_
        type_, range_ = VALIDATORS.get(key, (type_, range_ or span(bounds)))
        if key in VALIDATED and hasattr(model, VALIDATED[key][2]):
            type_, range_ = VALIDATED[key][:2]
        target = extra.get("new_param") if extra.get("deprecated") else None
        now = f">{prefix}.{names[target]}" if target and extra.get("set_new_param", True) else ""
        lines[key] = [type_, range_, written(default), now]
        if alias and alias != name:
            lines[f"{prefix}.{name}"] = [type_, range_, written(default), f"={key}"]
        for it in (annotation, *typing.get_args(annotation)):
            if is_model(it):
                walk(key, it)
                if alias and alias != name:
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

def constants(section, prefix):
    """A section that was read key by key, from the names in DeepSpeed's constants."""
    for name, key in vars(ds_constants).items():
        default = getattr(ds_constants, name + "_DEFAULT", None)
        if name.startswith(prefix + "_") and isinstance(key, str) and name + "_DEFAULT" in vars(ds_constants):
            type_ = "float" if key == "loss_scale" else type(default).__name__
            lines[f"{section}.{key}"] = ["~" + type_, "", json.dumps(default), ""]

for section, prefix in {"fp16": "FP16", "bf16": "BFLOAT16", "bfloat16": "BFLOAT16"}.items():
    lines[section] = ["section", "", "-", ">bf16" if section == "bfloat16" else ""]
    if named(MODELS[section]) is None:
        constants(section, prefix)
for section, path in MODELS.items():
    model = named(path) or named(OLD.get(section, "x.y"))
    if model is None or section == "compile" and not hasattr(ds_config, "CompileConfig") and not hasattr(ds_config, "get_compile_config"):
        continue
    plain = "" if issubclass(model, DeepSpeedConfigModel) else "plain"
    lines[section] = [plain + SECTIONS.get(section, "model"), "", "-", ">bf16" if section == "bfloat16" else ""]
    walk(section, model)
for name in SCHEDULERS:
    if hasattr(lr_schedules, name):
        parameters(f"scheduler.params@{name}", [getattr(lr_schedules, name)])
for name, paths in OPTIMIZERS.items():
    parameters(f"optimizer.params@{name}", [it for it in map(named, paths) if it], TAKEN_OUT.get(name, []))
top, zero = (getattr(ds_config, name, ()) for name in ("_REMOVED_TOP_LEVEL_CONFIG_KEYS", "_REMOVED_ZERO_CONFIG_KEYS"))
removed = sorted([*top, *("zero_optimization." + it for it in zero)])
optimizers = sorted(ds_config.DEEPSPEED_OPTIMIZERS)
schedulers = sorted(lr_schedules.VALID_LR_SCHEDULES)
print(json.dumps({"version": deepspeed.__version__.split("+")[0], "lines": lines, "removed": removed, "optimizers": optimizers, "schedulers": schedulers}))
'''


def numbers(version):
    return [int(part) for part in version.split(".")]


def seen(version):
    env = environment(f"deepspeed-{version}")
    variables = os.environ | {"PYTHONWARNINGS": "ignore"}
    result = subprocess.run([env / "bin/python", "-c", INSIDE], env=variables, capture_output=True, text=True)
    assert result.returncode == 0, f"DeepSpeed {version}: {result.stderr[-2000:]}"
    return json.loads(result.stdout.splitlines()[-1])


def at(column, version):
    """What a column says of a version."""
    if ";" not in column:
        return column
    parts = (part.rpartition("@") if "@" in part else (part, "", "") for part in column.split(";"))
    return next((text for text, _, since in parts if not since or numbers(since) <= numbers(version)), "-")


def known(row, version):
    """Whether a line says that this version reads the key."""
    since, removed = row[3], row[4].rstrip("!")
    after = since == "-" or numbers(since) <= numbers(version)
    return after and (removed == "-" or numbers(version) < numbers(removed)) and at(row[0], version) != "unread"


def differences(table, found, version):
    """What the table says otherwise than the package: (key, said, seen)."""
    for key, (type_, range_, default, now) in sorted(found["lines"].items()):
        real, row = [type_, range_ or "-", default], table.get(key)
        said = row and known(row, version) and [at(column, version) for column in row[:3]]
        if said != real:
            yield key, said or "nothing", real
    models = {key for key, (type_, *_) in found["lines"].items() if type_.lstrip("plain").startswith("model")}
    for key, row in sorted(table.items()):
        section = key.rpartition(".")[0]
        if key not in found["lines"] and known(row, version) and (section in models or "params@" in key):
            yield key, row[:3], "nothing"
    for key in found["removed"]:
        if known(table[key], version) or not table[key][4].endswith("!"):
            yield key, table[key][4], "refused by name"


def changed(old, new, version):
    """A column with what is new in front."""
    return old if at(old, version) == new else f"{new}@{version};{old}"


def record(table, found, version):
    for key, said, real in list(differences(table, found, version)):
        if real == "refused by name":
            table[key][4] = version + "!"
        elif real == "nothing":
            table[key][4] = version
        elif key not in table:
            now = found["lines"][key][3]
            table[key] = [*real, version, "-", now or "-"]
        else:
            table[key][:3] = [changed(old, new, version) for old, new in zip(table[key][:3], real)]
        print(f"{version}: {key}: {said} -> {real}")


def main():
    parser = Arguments(__doc__)
    parser.add_argument("versions", nargs="*", metavar="VERSION", help="versions of DeepSpeed (default: the last of every recorded line)")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the file is not what DeepSpeed says")
    options = parser.parse_args()
    rows = [line.split("\t") for line in FILE.read_text().splitlines()]
    table, checks = {row[0]: row[1:] for row in rows}, Checks()
    versions = sorted(options.versions or DEEPSPEED_LINES, key=numbers)
    for version in versions:
        found = seen(version)
        if options.check:
            wrong = {key: f"recorded as {said}, DeepSpeed {version} has {real}" for key, said, real in differences(table, found, version)}
            for key in sorted(found["lines"].keys() | wrong.keys()):
                checks.judge(f"{version}-{key}", wrong.get(key))
        else:
            record(table, found, version)
        print(f"DeepSpeed {version}: {len(found['lines'])} keys", flush=True)
    if options.check:
        checks.finish()
    FILE.write_text("".join("\t".join([key, *row]) + "\n" for key, row in sorted(table.items(), key=lambda it: it[0].encode())))
    VERSIONS.write_text("".join(version + "\n" for version in sorted({*DEEPSPEED_VERSIONS, *versions}, key=numbers)))
