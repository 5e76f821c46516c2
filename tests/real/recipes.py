#!/usr/bin/env python3
"""Follows the recipes of CONTRIBUTING.md to the letter in a fresh copy: applies every ```diff block, then runs every ```sh block that names this script.

usage: recipes.py      prints a line a command, then 'N passed, M failed'; only Rust and git are needed
"""
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENT = "CONTRIBUTING.md"


def blocks(info):
    text = (ROOT / DOCUMENT).read_text()
    return re.findall(rf"^```{re.escape(info)}\n(.*?)^```$", text, re.M | re.S)


def copied(folder):
    """What git would commit here."""
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True).stdout
    archive = subprocess.Popen(["tar", "--null", "--files-from=-", "-c"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    unpack = subprocess.Popen(["tar", "-x"], cwd=folder, stdin=archive.stdout)
    archive.stdin.write(names)
    archive.stdin.close()
    assert unpack.wait() == 0 and archive.wait() == 0


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        copied(folder)
        target = ROOT / "target/recipes"
        environment = {**os.environ, "CARGO_TARGET_DIR": str(target), "PATH": f"{target}/debug:{os.environ['PATH']}"}
        changes = blocks("diff")
        for change in changes:
            subprocess.run(["git", "apply", "-"], input=change, text=True, cwd=folder, check=True)
        commands = [line for block in blocks("sh tests/real/recipes.py") for line in block.splitlines() if line]
        assert len(changes) >= 6 and len(commands) >= 6, "the recipes are gone"
        for command in commands:
            started = time.monotonic()
            result = subprocess.run(["/bin/sh", "-c", command], cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            good = result.returncode == 0
            failed += not good
            print(f"{'ok  ' if good else 'FAIL'} {time.monotonic() - started:5.1f} s  {command}", flush=True)
            if not good:
                print(result.stdout[-4000:])
    print(f"{len(changes)} changes applied, {len(commands) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
