"""The options of `axolotl train`, read from the sources of one version for `arguments.py`.

Its click program makes them from the fields of a pydantic model and of a dataclass. The annotations are evaluated, with stand-ins for the names
of other modules, because `Optional[bool]` and `bool | None` are not the same to every version.
"""
import ast
import builtins
import types
import typing

VALUE, SWITCH, LAUNCH = "str", "switch", "launch"
# Options that say how it launches, besides those that stand at the command itself.
LAUNCH_FIELDS = ["use_ray", "main_process_port", "num_processes"]
SCHEMAS = ["axolotl/utils/schemas/"]


class AnyName(type):
    """A class of another module, which can be subscripted and called."""

    def __getitem__(cls, _):
        return cls

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return cls

    def __call__(cls, *_, **__):
        return cls


class Names(dict):
    def __init__(self, models):
        super().__init__(vars(builtins) | vars(typing))
        self.models = models

    def __missing__(self, name):
        return self.setdefault(name, AnyName(name, (), {"is_model": name in self.models}))


def classes(archive, folders):
    nodes = [ast.parse(archive.read(name)) for name in archive.namelist() if name.startswith(tuple(folders)) and name.endswith(".py")]
    # An imported name stands for the class that it means.
    renamed = {alias.asname: alias.name for tree in nodes for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names if alias.asname}
    return {node.name: node for tree in nodes for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}, renamed


def annotations(found, renamed, name):
    """{field: annotation} of a class and those that it derives from."""
    name = name if name in found else renamed.get(name, name)
    if name not in found:
        return {}
    fields = {}
    for base in reversed(found[name].bases):
        fields |= annotations(found, renamed, base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", ""))
    own = [node for node in found[name].body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)]
    return fields | {node.target.id: ast.unparse(node.annotation) for node in own}


def derives(found, name):
    return name == "BaseModel" or name in found and any(derives(found, getattr(base, "id", "")) for base in found[name].bases)


def stripped(annotation, number):
    """What the program of that version makes of an optional type."""
    if typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    unions = {typing.Union} if number < (0, 15) else {typing.Union, types.UnionType}
    if typing.get_origin(annotation) in unions and type(None) in typing.get_args(annotation):
        return typing.get_args(annotation)[0]
    return annotation


def of_fields(fields, names, number, nested):
    found = {}
    for name, text in fields.items():
        annotation = eval(text, {}, names)
        if typing.get_origin(annotation) is typing.ClassVar or name.startswith("_") or name == "model_config":
            continue
        made = stripped(annotation, number)
        # From 0.15 on a model has an option for each of its fields, with a dot, which the run file is put together with.
        if not (nested and getattr(made, "is_model", False)):
            found[name] = SWITCH if made is bool else VALUE
    return found


def launch_options(archive):
    """Those that are written at the command."""
    tree = ast.parse(archive.read("axolotl/cli/main.py"))
    command = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "train")
    written = [node.args[0].value for node in command.decorator_list if isinstance(node, ast.Call) and ast.unparse(node.func) == "click.option"]
    return [name.removeprefix("--").replace("-", "_") for option in written for name in option.split("/")]


def options(archive, number):
    """{option: kind}; None of a version without the command."""
    if "axolotl/cli/main.py" not in archive.namelist():
        return None
    found, renamed = classes(archive, SCHEMAS)
    models = {name for name in found if derives(found, name)}
    models |= {alias for alias, name in renamed.items() if name in models}
    given, _ = classes(archive, ["axolotl/cli/args.py", "axolotl/common/cli.py"])
    fields = of_fields(annotations(found, renamed, "AxolotlInputConfig"), Names(models), number, nested=number >= (0, 15))
    fields |= of_fields(annotations(given, {}, "TrainerCliArgs"), Names(set()), number, nested=False)
    return fields | dict.fromkeys([*(name for name in LAUNCH_FIELDS if name in fields), *launch_options(archive)], LAUNCH)
