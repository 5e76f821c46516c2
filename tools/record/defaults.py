"""The defaults of the trainers' arguments, from wheels: src/recorded/defaults.txt.

That what is read is what the real classes have is checked by tests/real/parsers.py in the environments that are installed.

A line is a distribution, a class (of ms-swift the command), an argument and its values, each with the first version that was seen to have
it. `-`: as in transformers. `?`: computed from something else. `none`: None, or no such argument. `!fp16`: true unless fp16 is. The line
`DISTRIBUTION *` has the oldest and the newest version that were read. Where a value changes, the versions in between must be there too.
"""
import ast

from sources import SWIFT, TRL, Histories, Sources, first, opened, packages, write_table

# What transformers compares with the config, and what decides it.
ARGUMENTS = ["per_device_train_batch_size", "gradient_accumulation_steps", "max_grad_norm", "learning_rate", "adam_beta1", "adam_beta2", "adam_epsilon",
             "weight_decay", "warmup_steps", "warmup_ratio", "fp16", "bf16", "fp16_full_eval", "bf16_full_eval"]
# PPO and the like are left out: they count batches in their own way.
OWN_BATCHES = "OnPolicyConfig"
# The modules that are read, and the classes that are looked for there; the first that exists counts.
PACKAGES = {
    "transformers": ("transformers/training_args.py", {"TrainingArguments": ["TrainingArguments"]}),
    "trl": (("trl/trainer/", "trl/experimental/"), {f"{name}Config": [f"{name}Config"] for name in TRL}),
    "ms-swift": (("swift/llm/argument/", "swift/llm/__init__", "swift/arguments/", "swift/trainers/"), SWIFT),
    "llamafactory": ("llamafactory/hparams/", {"TrainingArguments": ["TrainingArguments"]}),
}
INHERITED, COMPUTED, NOTHING = "-", "?", "none"


class Defaults(Sources):
    def fields(self, written):
        return {field.target.id: default(field.value) for field in written if field.value}


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


def defaults(package, distribution):
    """{(class, argument): default} of one version."""
    below, wanted = PACKAGES[distribution]
    found = first(Defaults(package, below).classes(), wanted)
    return {(name, argument): of_class(made, argument, distribution) for name, made in found.items() for argument in ARGUMENTS}


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


def axolotl(package):
    """Its run file is no dataclass: what it hands to transformers only where it is set, and the defaults of its schema."""
    archive = opened(package)
    builder, schema = (ast.parse(archive.read(f"axolotl/{name}.py")) for name in ("core/builders/base", "utils/schemas/training"))
    lists = [[item.value for item in node.elts if isinstance(item, ast.Constant)] for node in ast.walk(builder) if isinstance(node, ast.List)]
    handed = next(names for names in lists if "max_grad_norm" in names)
    fields = {node.target.id: node.value for node in ast.walk(schema) if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value}
    given = {name: default(fields[name]) for name in ("max_grad_norm", "weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon")}
    found = dict.fromkeys(ARGUMENTS, COMPUTED) | {name: INHERITED if value in (NOTHING, COMPUTED) else value for name, value in given.items() if name in handed}
    found["per_device_train_batch_size"] = default(fields["micro_batch_size"])
    return {("train", argument): value for argument, value in found.items()}


def table(folder):
    for distribution in [*PACKAGES, "axolotl"]:
        values, found = Histories(), packages(folder, distribution)
        for version, package in found.items():
            values.add(version, axolotl(package) if distribution == "axolotl" else defaults(package, distribution), COMPUTED)
        if found:
            yield f"{distribution} * {list(found)[0]} {list(found)[-1]}"
        for (name, argument), history in sorted(values.items(), key=lambda item: (item[0][0], ARGUMENTS.index(item[0][1]))):
            # What is as in transformers throughout needs no line, but one says that the class is there.
            if {value for _, value in history} - {INHERITED} or argument == "learning_rate":
                yield " ".join([distribution, name, argument, *(f"{version}={value}" for version, value in history)])


def main():
    write_table(__doc__, lambda folder: sorted(table(folder)), "defaults.txt")
