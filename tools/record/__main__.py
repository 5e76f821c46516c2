"""Records what zlaunch knows of the real programs: the tables in src/recorded, the answers in tests/data.

usage: python3 tools/record NAME [ARGUMENT …]      `NAME --help` says more about one

With newer versions: record, read the diff, run the tests.
"""
import ast
import importlib
import sys
from pathlib import Path

import checksums

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "tests/real"))


def names():
    """The recorders with the first sentence about each. They are not imported: some want the interpreter of another environment."""
    trees = {path.stem: ast.parse(path.read_text()) for path in sorted(HERE.glob("[!_]*.py"))}
    return {name: ast.get_docstring(tree).splitlines()[0] for name, tree in trees.items() if any(getattr(node, "name", "") == "main" for node in tree.body)}


def main():
    if sys.argv[1:2] and sys.argv[1] in names():
        name = sys.argv.pop(1)
        sys.argv[0] = f"tools/record {name}"
        importlib.import_module(name).main()
        checksums.main()
    else:
        print(__doc__, *(f"{name:14} {about}" for name, about in names().items()), sep="\n")
        sys.exit(sys.argv[1:] not in ([], ["--help"]))


if __name__ == "__main__":
    main()
