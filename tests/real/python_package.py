#!/usr/bin/env python3
"""The Python package of the wheel where people use it: under mypy, and what docs/editors-and-python.md shows is run.

The package is installed as the wheel installs it, with the executable that is tried beside it.
"""
import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

from harness import ROOT, blocks, check, programs, run, run_checks

PACKAGE = ROOT / "packaging/python/zlaunch"


@contextlib.contextmanager
def installed(options):
    """A folder as `pip install --target` leaves it."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        shutil.copytree(PACKAGE, folder / "zlaunch", ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "bin").mkdir()
        shutil.copy(options.bin, folder / "bin/zlaunch")
        yield folder


def shown():
    """The scripts of docs/editors-and-python.md."""
    found = ["".join(f"{line}\n" for _, line in block) for block in blocks(ROOT / "docs/editors-and-python.md", "python tests/real/python_package.py")]
    assert len(found) == 2, found
    return found


@check
def types(options):
    """The package and what the document shows, and that a wrong call is found."""
    with installed(options) as folder:
        mypy = [programs("editor") / "bin/mypy", "--strict", "--cache-dir", folder / "cache"]
        run(*mypy, "-p", "zlaunch", cwd=folder)
        (folder / "use.py").write_text("\n".join(shown()))
        run(*mypy, "use.py", cwd=folder)
        (folder / "wrong.py").write_text("import zlaunch\nzlaunch.config(3)\nzlaunch.plan('swift', deepspeed=object())\nzlaunch.config('zero3', sett={})\n")
        wrong = run(*mypy, "wrong.py", cwd=folder, status=1).stdout
        assert wrong.count("error:") >= 3, wrong
    assert (PACKAGE / "py.typed").exists()


@check
def documented(options):
    """Every script of the document; a refusal shows its sentences."""
    with installed(options) as folder:
        asserted = ["assert ds['zero_optimization']['overlap_comm'] is True and 'steps_per_print' not in ds", "assert plan['topology']['world_size'] == 8 and report and zlaunch.__version__.count('.') == 2", "import json; json.dumps([ds, plan, report])"]
        printed = run(sys.executable, "-c", "\n".join([*shown(), *asserted]), env={**os.environ, "PYTHONPATH": str(folder)}).stdout
        assert "error[wrong-value]: `zero_optimization.stage` is 4" in printed, printed


@check
def oldest_python(options):
    """The grammar is that of Python 3.7, which pyproject.toml promises."""
    import ast
    for path in PACKAGE.glob("*.py"):
        ast.parse(path.read_text(), feature_version=(3, 7))


if __name__ == "__main__":
    run_checks(__doc__, "bin")
