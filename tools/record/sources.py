"""The sources of many versions of a package, read and not imported: most of them would want packages of their time."""
import ast
import collections
import posixpath
import tarfile
import zipfile
from pathlib import Path

from harness import ROOT, Arguments

# A class of transformers, from which the others derive.
BASE = "TrainingArguments"
TRL = ["SFT", "DPO", "GRPO", "KTO", "Reward", "RLOO", "CPO", "ORPO", "GKD", "OnlineDPO"]
SWIFT = {"sft": ["SftArguments", "TrainArguments"], "pt": ["PretrainArguments", "SftArguments", "TrainArguments"], "rlhf": ["RLHFArguments"]}


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


def number(version):
    return tuple(int("".join(digit for digit in part if digit.isdigit()) or 0) for part in version.split(".")[:3])


# Of axolotl and LLaMA-Factory those of the last year are read, and the newest before it.
SINCE = {"ms-swift": (3,), "llamafactory": (0, 9, 3), "axolotl": (0, 12, 2)}


def packages(folder, distribution):
    """{version: file} of a distribution, the oldest first; a wheel counts before a source distribution."""
    name = distribution.replace("-", "_")
    found = {file.name.removeprefix(f"{name}-").removesuffix(".tar.gz"): file for file in folder.glob(f"{name}-*.tar.gz")}
    found |= {file.name.split("-")[1]: file for file in folder.glob(f"{name}-*.whl")}
    return {version: found[version] for version in sorted(found, key=number) if number(version) >= SINCE.get(distribution, ())}


class Histories(collections.defaultdict):
    """{key: [(version, value)]}: what each key has had, and since when."""

    def __init__(self):
        super().__init__(list)

    def add(self, version, entries, absent):
        for key in {*entries, *self}:
            value = entries.get(key, absent)
            if not self[key] or self[key][-1][1] != value:
                self[key].append((version, value))


class Sources:
    """The classes of a package, made again with nothing in them but what `fields` reads of their fields."""

    def __init__(self, package, below):
        archive = opened(package)
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
            written = [field for field in node.body if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)]
            self.made[path, node.name] = type(node.name, tuple(base for base in bases if base) or (object,), self.fields(written))
        return self.made[path, node.name]

    def resolve_base(self, path, base):
        if isinstance(base, ast.Attribute):
            return self.base if base.attr.endswith(BASE) else None
        name = base.id if isinstance(base, ast.Name) else ""
        # A conditional import is not followed to its end, so the name alone decides.
        return self.resolve(path, name) or (self.base if name.endswith(BASE) else None)

    def classes(self):
        """Of two classes of one name, the arguments of the command line are those that derive from more."""
        every = {}
        for path, found in self.defined.items():
            for made in (self.make(path, node) for node in found):
                if made.__name__ not in every or len(made.__mro__) > len(every[made.__name__].__mro__):
                    every[made.__name__] = made
        return every


def first(classes, wanted):
    """{name: the first of its classes that is there}."""
    return {name: next(classes[choice] for choice in choices if choice in classes) for name, choices in wanted.items() if set(choices) & set(classes)}


def write_table(document, table, file):
    """The whole of a recorder that makes a file of src/recorded from a folder with packages."""
    parser = Arguments(document)
    parser.add_argument("wheels", type=Path, metavar="WHEELS", help="a folder with wheels (`pip download --no-deps`) of many versions, or source distributions where there is no wheel")
    parser.add_argument("--out", type=Path, default=ROOT / "src/recorded" / file, metavar="FILE")
    options = parser.parse_args()
    options.out.write_text("".join(f"{line}\n" for line in table(options.wheels)))
