"""What the trainers' parsers take, from wheels: src/recorded/arguments.txt.

That what is read is what the real parsers do is checked by tests/real/parsers.py in the environments that are installed.

A line is a distribution, a class, an argument and what it takes, each with the first version that was seen to take it, sorted by bytes:
`int`, `float`, `str`; `bool` (alone, it means true), `bool!` (there is `--no_NAME` too), `bool?` (never alone); `|a|b` or the name of a class of
choices, whose lines are below its own name (`+`: it is one of them); a `+` in front for several words; `!` for a mapping or an object, which no word makes; `?` for
anything else; `-` where there is no such argument. Of a click program (axolotl): `switch` (no value, and `--no-NAME` too), `launch` (it says how to launch).
What all versions take alike has no version. The line `DISTRIBUTION *` has the versions that were read. `DISTRIBUTION CLASS ^` names the classes whose arguments it has besides.
"""
import ast
import re

from axolotl_options import options as axolotl_options
from sources import BASE, SWIFT, TRL, Histories, Sources, first, number, opened, packages, write_table

GONE, UNKNOWN, MEMBER, NO_WORD = "-", "?", "+", "!"
SEQ2SEQ = "Seq2SeqTrainingArguments"
ENUMS = ["IntervalStrategy", "SaveStrategy", "HubStrategy", "SchedulerType", "OptimizerNames", "DebugOption"]
REPORTERS = "ReportTo"
TRL_COMMANDS = ["sft", "dpo", "grpo", "kto", "reward", "rloo"]
TRL_CLASSES = [f"{name}Config" for name in TRL] + ["ModelConfig", "ScriptArguments", "DatasetMixtureConfig", "GRPOScriptArguments", "RLOOScriptArguments", "SFTScriptArguments", "DPOScriptArguments"]
# Where the commands' own classes were before 0.13; the script of `kto` had one of its own.
OLD_TRL = ("trl/commands/cli_utils.py", "trl/commands/scripts/kto.py", "trl/utils.py")
LLAMAFACTORY = ["ModelArguments", "DataArguments", "TrainingArguments", "FinetuningArguments", "GeneratingArguments"]
# What transformers takes for a class of choices whatever the parser says: `__post_init__` looks it up.
CONVERTED = {"eval_strategy": "IntervalStrategy", "lr_scheduler_type": "SchedulerType", "report_to": "ReportTo"}


def type_name(node):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def members(node):
    """The types of a union, in their order; None where it is none."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [*(members(node.left) or [node.left]), *(members(node.right) or [node.right])]
    if isinstance(node, ast.Subscript) and type_name(node.value) == "Optional":
        return [*(members(node.slice) or [node.slice]), ast.Constant(None)]
    if isinstance(node, ast.Subscript) and type_name(node.value) == "Union":
        return [part for item in node.slice.elts for part in members(item) or [item]]
    return None


def is_none(node):
    return isinstance(node, ast.Constant) and node.value is None


def kind(annotation, value):
    """What `HfArgumentParser` makes of a field."""
    given = {keyword.arg: keyword.value for keyword in value.keywords} if isinstance(value, ast.Call) else {}
    default = given.get("default") if isinstance(value, ast.Call) else value
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        annotation = ast.parse(annotation.value, mode="eval").body
    metadata = given.get("metadata")
    written = {key.value: item for key, item in zip(metadata.keys, metadata.values) if isinstance(key, ast.Constant)} if isinstance(metadata, ast.Dict) else {}
    if metadata is not None and not isinstance(metadata, ast.Dict) or {"aliases", "nargs", "action", "type"} & set(written) or isinstance(value, ast.Call) and type_name(value.func) != "field":
        return UNKNOWN
    if "choices" in written:
        try:
            return "".join(f"|{choice}" for choice in ast.literal_eval(written["choices"]))
        except ValueError:
            return UNKNOWN
    if parts := members(annotation):
        if any(type_name(part) == "bool" for part in parts):
            return boolean(default, optional=True) if len(parts) == 2 and any(map(is_none, parts)) else UNKNOWN
        if any(map(is_none, parts)):
            annotation = parts[0] if is_none(parts[1]) else parts[1]
        else:
            annotation = parts[0] if type_name(parts[1]) == "str" else parts[1]
        # typing keeps one union for all orders of its types, so that the order of the imports decides which one this is.
        if plain(annotation, default) == NO_WORD and any(type_name(part) == "str" for part in parts):
            return UNKNOWN
    return plain(annotation, default)


def plain(annotation, default):
    name = type_name(annotation)
    if name == "bool":
        return boolean(default, optional=False)
    if name in ("int", "float", "str") or name in ENUMS:
        return name
    if name in ("dict", "Dict", "ParallelismConfig"):
        return NO_WORD
    if isinstance(annotation, ast.Subscript):
        outer = type_name(annotation.value)
        if outer in ("dict", "Dict"):
            return NO_WORD
        if outer == "Literal":
            elements = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
            choices = "".join(f"|{ast.literal_eval(element)}" for element in elements)
            # One that describes values is no word.
            return UNKNOWN if " " in choices else choices
        if outer in ("list", "List"):
            inner = plain(annotation.slice, None)
            return f"+{inner}" if inner in ("int", "float", "str", *ENUMS) else UNKNOWN
    return UNKNOWN


def boolean(default, optional):
    value = default.value if isinstance(default, ast.Constant) else None
    if default is not None and not isinstance(default, ast.Constant):
        return UNKNOWN
    return "bool!" if value is True else "bool?" if optional and value is None else "bool"


class Parsers(Sources):
    """The classes of a package, made again with what their fields take."""

    def fields(self, written):
        return {"own": {field.target.id: kind(field.annotation, field.value) for field in written
                        if type_name(getattr(field.annotation, "value", None)) != "ClassVar" and not hidden(field.value)}}

    def resolve_base(self, path, base):
        found = super().resolve_base(path, base)
        if found is None:
            # `from trl import ScriptArguments` is not followed through the package, but the name is there.
            elsewhere = ((file, node) for file, nodes in self.defined.items() if file != path for node in nodes if node.name == type_name(base))
            found = next((self.make(file, node) for file, node in elsewhere), None)
        if found is None and isinstance(base, (ast.Name, ast.Attribute)) and type_name(base) not in ("object", "ABC", "Enum", "str", "Protocol"):
            # Where a class of another package is between, not all of its arguments are known.
            return type(type_name(base), (), {"foreign": True})
        return found


def hidden(value):
    return isinstance(value, ast.Call) and any(keyword.arg == "init" and keyword.value.value is False for keyword in value.keywords)


def fields(made):
    """What the class and those it derives from have, the nearest first."""
    found = {}
    for parent in made.__mro__:
        for name, value in vars(parent).get("own", {}).items():
            found.setdefault(name, value)
    return found


def derives(made):
    return any(parent.__name__ in (BASE, SEQ2SEQ) and "own" not in vars(parent) for parent in made.__mro__)


def choices(archive, paths):
    """{class: members} of the enums."""
    found = {}
    for path in paths:
        if path in archive.namelist():
            for node in ast.walk(ast.parse(archive.read(path))):
                if isinstance(node, ast.ClassDef) and node.name in ENUMS:
                    found[node.name] = {item.value.value: MEMBER for item in node.body if isinstance(item, ast.Assign) and isinstance(item.value, ast.Constant)}
                if isinstance(node, ast.Assign) and type_name(node.targets[0]) == "INTEGRATION_TO_CALLBACK":
                    found[REPORTERS] = {key.value: MEMBER for key in node.value.keys} | {"all": MEMBER, "none": MEMBER}
    return found


def transformers(package):
    every = Parsers(package, ("transformers/training_args.py", "transformers/training_args_seq2seq.py")).classes()
    found = {BASE: fields(every[BASE]), SEQ2SEQ: vars(every[SEQ2SEQ])["own"]}
    found[BASE]["report_to"] = REPORTERS
    enums = choices(opened(package), [f"transformers/{name}.py" for name in ("trainer_utils", "training_args", "debug_utils", "integrations/integration_utils")])
    assert {*ENUMS, REPORTERS} - set(enums) <= {"SaveStrategy"} and all(enums.values()), package
    return found | enums, {SEQ2SEQ: [BASE]}


def trl(package):
    every = Parsers(package, ("trl/trainer/", "trl/experimental/", "trl/scripts/", *OLD_TRL)).classes()
    named = {name: every[name] for name in TRL_CLASSES if name in every and not any(hasattr(parent, "foreign") for parent in every[name].__mro__)}
    parts = {name: [BASE] for name, made in named.items() if derives(made)}
    archive = opened(package)
    for command in TRL_COMMANDS:
        path = next((path for folder in ("scripts", "commands/scripts") if (path := f"trl/{folder}/{command}.py") in archive.namelist()), None)
        for node in ast.walk(ast.parse(archive.read(path))) if path else []:
            if isinstance(node, ast.Assign) and type_name(node.targets[0]) == "dataclass_types":
                parts[command] = [type_name(item) for item in node.value.elts]
            elif isinstance(node, ast.Call) and type_name(node.func).endswith("Parser") and "commands" in path:
                parts[command] = [type_name(item) for item in node.args[0].elts]
    return {name: fields(made) for name, made in named.items()}, parts


def swift(package):
    every = Parsers(package, ("swift/llm/argument/", "swift/llm/__init__", "swift/arguments/", "swift/trainers/", "swift/rlhf_trainers/", "swift/ray/", "swift/ray_utils/", "swift/llm/ray/", "swift/utils/")).classes()
    found = first(every, SWIFT)
    foreign = {parent.__name__ for made in found.values() for parent in made.__mro__ if "foreign" in vars(parent)}
    assert not foreign, (package, foreign)
    # All commands take what `sft` takes.
    return {name: converted(fields(made)) for name, made in found.items()}, {name: [SEQ2SEQ if name == "sft" else "sft"] for name in found}


def llamafactory(package):
    every = Parsers(package, "llamafactory/hparams/").classes()
    own = {}
    # 0.9.1 had none of its own.
    for name in (name for name in LLAMAFACTORY if name in every):
        own |= fields(every[name])
    return {"train": converted(own)}, {"train": [SEQ2SEQ]}


def converted(own):
    return {name: value.replace("str", CONVERTED.get(name, "str")) for name, value in own.items()}


def axolotl(file):
    """The options of its command, which is a click program."""
    found = axolotl_options(opened(file), number(file.name.removesuffix(".tar.gz").split("-")[1]))
    return found and ({"train": found}, {})


READERS = {"transformers": transformers, "trl": trl, "ms-swift": swift, "llamafactory": llamafactory, "axolotl": axolotl}


def table(folder):
    lines = []
    for distribution, read in READERS.items():
        found = {version: package for version, package in packages(folder, distribution).items() if re.fullmatch(r"[\d.]+", version)}
        answers = {version: answer for version, package in found.items() if (answer := read(package))}
        if answers:
            lines += [f"{distribution} * {' '.join(answers)}", *of_distribution(distribution, answers)]
    assert all(line.isascii() for line in lines)
    return sorted(lines)


def of_distribution(distribution, answers):
    """The lines of its classes."""
    histories, parts, oldest = Histories(), {}, next(iter(answers))
    for version, (found, made_of) in answers.items():
        for name, classes in made_of.items():
            parts[name] = list(dict.fromkeys([*parts.get(name, []), *classes]))
        histories.add(version, {(name, argument): value for name, arguments in found.items() for argument, value in arguments.items()}, GONE)
    yield from (f"{distribution} {name} ^ {' '.join(classes)}" for name, classes in parts.items())
    known = dict(histories)
    for (name, argument), history in known.items():
        if any(known.get((other, argument)) == history for other in parts.get(name, [])):
            continue
        same = len(history) == 1 and history[0][0] == oldest
        values = [f"={history[0][1]}"] if same else [f"{version}={value}" for version, value in history]
        yield f"{distribution} {name} {argument} {' '.join(values)}"


def main():
    write_table(__doc__, table, "arguments.txt")
