#!/usr/bin/env python3
"""Records the defaults of the trainers' arguments into src/recorded/defaults.txt.

usage: record_defaults.py WHEELS

WHEELS is a folder with wheels of many versions (`pip download --no-deps`), or source distributions where there is no wheel. Their sources are read, not imported: most of them would want
packages of their time. That what is read is what the real classes have is checked by `defaults.py` in the environments that are installed.

A line is a distribution, a class (of ms-swift the command), an argument and its values, each with the first version that was seen to have
it. `-`: as in transformers. `?`: computed from something else. `none`: None, or no such argument. `!fp16`: true unless fp16 is. The line
`DISTRIBUTION *` has the oldest and the newest version that were read. Where a value changes, the versions in between must be there too.
"""
import ast
import collections
import posixpath
import tarfile
import zipfile
from pathlib import Path

from harness import ROOT, Arguments

# What transformers compares with the config, and what decides it.
ARGUMENTS = ["per_device_train_batch_size", "gradient_accumulation_steps", "max_grad_norm", "learning_rate", "adam_beta1", "adam_beta2", "adam_epsilon",
             "weight_decay", "warmup_steps", "warmup_ratio", "fp16", "bf16", "fp16_full_eval", "bf16_full_eval"]
# PPO and the like are left out: they count batches in their own way.
TRL = ["SFT", "DPO", "GRPO", "KTO", "Reward", "RLOO", "CPO", "ORPO", "GKD", "OnlineDPO"]
OWN_BATCHES = "OnPolicyConfig"
# The modules that are read, and the classes that are looked for there; the first that exists counts.
PACKAGES = {
    "transformers": ("transformers/training_args.py", {"TrainingArguments": ["TrainingArguments"]}),
    "trl": (("trl/trainer/", "trl/experimental/"), {f"{name}Config": [f"{name}Config"] for name in TRL}),
    "ms-swift": (("swift/llm/argument/", "swift/llm/__init__", "swift/arguments/", "swift/trainers/"), {"sft": ["SftArguments", "TrainArguments"], "pt": ["PretrainArguments", "SftArguments", "TrainArguments"], "rlhf": ["RLHFArguments"]}),
    "llamafactory": ("llamafactory/hparams/", {"TrainingArguments": ["TrainingArguments"]}),
}
# A class of transformers, from which the others derive.
BASE = "TrainingArguments"
INHERITED, COMPUTED, NOTHING = "-", "?", "none"


class Sdist:
    """A source distribution, read like a wheel: older versions of axolotl have no other."""

    def __init__(self, path):
        self.archive = tarfile.open(path)
        files = ((member.name.partition("/")[2], member) for member in self.archive.getmembers() if member.isfile())
        self.files = {name.removeprefix("src/"): member for name, member in files}

    def namelist(self):
        return list(self.files)

    def read(self, name):
        return self.archive.extractfile(self.files[name]).read()


def opened(path):
    return zipfile.ZipFile(path) if path.suffix == ".whl" else Sdist(path)


def packages(folder, distribution):
    """{version: file} of a distribution; a wheel counts before a source distribution."""
    name = distribution.replace("-", "_")
    sdists = {file.name.removeprefix(f"{name}-").removesuffix(".tar.gz"): file for file in folder.glob(f"{name}-*.tar.gz")}
    return sdists | {file.name.split("-")[1]: file for file in folder.glob(f"{name}-*.whl")}


class Sources:
    """The classes of a package, made again with nothing in them but the defaults of their fields."""

    def __init__(self, wheel, below):
        archive = opened(wheel)
        names = [name for name in archive.namelist() if name.startswith(below) and name.endswith(".py")]
        nodes = {name: list(ast.walk(ast.parse(archive.read(name)))) for name in names}
        self.defined = {name: [node for node in found if isinstance(node, ast.ClassDef)] for name, found in nodes.items()}
        self.imports = {name: [node for node in found if isinstance(node, ast.ImportFrom)] for name, found in nodes.items()}
        self.made = {}
        self.base = type(BASE, (), {})

    def resolve(self, path, name, seen=()):
        """The class that a name means in a module; None if it is of another package."""
        if (path, name) in seen or path not in self.defined:
            return None
        for node in self.defined[path]:
            if node.name == name:
                return self.make(path, node)
        for node in self.imports[path]:
            for alias in node.names:
                if name not in (alias.asname or alias.name, "*"):
                    continue
                if not node.level and node.module.split(".")[0] == "transformers":
                    return self.base if alias.name.endswith(BASE) else None
                for file in self.files(path, node):
                    if found := self.resolve(file, alias.name, (*seen, (path, name))):
                        return found
        return None

    def files(self, path, node):
        """Where an import looks."""
        folder = posixpath.dirname(path)
        for _ in range(max(0, node.level - 1)):
            folder = posixpath.dirname(folder)
        module = (node.module or "").replace(".", "/")
        whole = posixpath.join(folder, module) if node.level else module
        return [f"{whole}.py", f"{whole}/__init__.py"]

    def make(self, path, node):
        if (path, node.name) not in self.made:
            bases = [self.resolve_base(path, base) for base in node.bases]
            fields = {field.target.id: default(field.value) for field in node.body if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and field.value}
            self.made[path, node.name] = type(node.name, tuple(base for base in bases if base) or (object,), fields)
        return self.made[path, node.name]

    def resolve_base(self, path, base):
        if isinstance(base, ast.Attribute):
            return self.base if base.attr.endswith(BASE) else None
        name = base.id if isinstance(base, ast.Name) else ""
        found = self.resolve(path, name)
        # A conditional import is not followed to its end, so the name alone decides.
        return found or (self.base if name.endswith(BASE) else None)

    def classes(self):
        for path, found in self.defined.items():
            for node in found:
                yield node.name, self.make(path, node)


def default(node):
    """The default that a field of a dataclass is given, as JSON writes it."""
    if isinstance(node, ast.Call):
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        return default(given["default"]) if "default" in given else COMPUTED
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return COMPUTED
    return NOTHING if value is None else {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value)


def defaults(wheel, distribution):
    """{class: {argument: default}} of one version."""
    below, wanted = PACKAGES[distribution]
    sources = Sources(wheel, below)
    every = {}
    for name, made in sources.classes():
        # Of two classes of one name, the arguments of the command line are those that derive from more.
        if name not in every or len(made.__mro__) > len(every[name].__mro__):
            every[name] = made
    found = {name: next(every[choice] for choice in choices if choice in every) for name, choices in wanted.items() if set(choices) & set(every)}
    return {name: {argument: of_class(made, argument, distribution) for argument in ARGUMENTS} for name, made in found.items()}


def of_class(made, argument, distribution):
    value = getattr(made, argument, NOTHING if distribution == "transformers" else INHERITED)
    if any(parent.__name__ == OWN_BATCHES for parent in made.__mro__):
        return COMPUTED
    if distribution == "ms-swift":
        # It takes the precision from the model, whatever the class says; the others that are None are computed too.
        return COMPUTED if argument in ("fp16", "bf16") or value == NOTHING else value
    if distribution == "trl" and argument == "bf16" and value == NOTHING:
        return "!fp16"
    return value


def axolotl(wheel):
    """Its run file is no dataclass: what it hands to transformers only where it is set, and the defaults of its schema."""
    archive = opened(wheel)
    there = lambda *names: ast.parse(archive.read(next(name for name in names if name in archive.namelist())))
    builder = there("axolotl/core/builders/base.py", "axolotl/core/trainer_builder.py")
    schema = there("axolotl/utils/schemas/training.py", "axolotl/utils/config/models/input/v0_4_1/__init__.py")
    lists = [[item.value for item in node.elts if isinstance(item, ast.Constant)] for node in ast.walk(builder) if isinstance(node, ast.List)]
    # Before 0.10 one by one: `kwargs["max_grad_norm"] = self.cfg.max_grad_norm`.
    one_by_one = [node.targets[0].slice.value for node in ast.walk(builder)
                  if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript) and isinstance(node.targets[0].slice, ast.Constant)]
    handed = next((names for names in lists if "max_grad_norm" in names), one_by_one)
    fields = {node.target.id: node.value for node in ast.walk(schema) if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value}
    given = {name: default(fields[name]) for name in ("max_grad_norm", "weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon")}
    found = dict.fromkeys(ARGUMENTS, COMPUTED) | {name: INHERITED if value in (NOTHING, COMPUTED) else value for name, value in given.items() if name in handed}
    return {"train": found | {"per_device_train_batch_size": default(fields["micro_batch_size"])}}


def number(version):
    return tuple(int("".join(digit for digit in part if digit.isdigit()) or 0) for part in version.split(".")[:3])


def table(folder):
    lines = []
    for distribution in [*PACKAGES, "axolotl"]:
        wheels = packages(folder, distribution)
        if not wheels:
            continue
        versions = sorted(wheels, key=number)
        lines.append(f"{distribution} * {versions[0]} {versions[-1]}")
        values = collections.defaultdict(list)
        for version in versions:
            found = axolotl(wheels[version]) if distribution == "axolotl" else defaults(wheels[version], distribution)
            for name in set(found) | {name for name, _ in values}:
                for argument in ARGUMENTS:
                    value = found.get(name, {}).get(argument, COMPUTED)
                    history = values[name, argument]
                    if not history or history[-1][1] != value:
                        history.append((version, value))
        for (name, argument), history in sorted(values.items(), key=lambda it: (it[0][0], ARGUMENTS.index(it[0][1]))):
            # What is as in transformers throughout needs no line, but one says that the class is there.
            if {value for _, value in history} - {INHERITED} or argument == "learning_rate":
                lines.append(" ".join([distribution, name, argument, *(f"{version}={value}" for version, value in history)]))
    return "".join(f"{line}\n" for line in sorted(lines))


def main():
    parser = Arguments(__doc__)
    parser.add_argument("wheels", type=Path, metavar="WHEELS", help="a folder with wheels")
    parser.add_argument("--out", type=Path, default=ROOT / "src/recorded/defaults.txt", metavar="FILE")
    options = parser.parse_args()
    options.out.write_text(table(options.wheels))


if __name__ == "__main__":
    main()
