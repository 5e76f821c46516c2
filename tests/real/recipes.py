#!/usr/bin/env python3
"""Follows the recipes of CONTRIBUTING.md to the letter in a fresh copy: applies every ```diff block, then runs every ```sh block that names this script.

Only Rust and git are needed. Each command runs in what those before it left; its name is its line in the document.
"""
import os
import subprocess
import tempfile

from harness import ROOT, Arguments, Checks, blocks

DOCUMENT = "CONTRIBUTING.md"


def copy_to(folder):
    """What git would commit here."""
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True).stdout
    archive = subprocess.Popen(["tar", "--null", "--files-from=-", "-c"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    unpack = subprocess.Popen(["tar", "-x"], cwd=folder, stdin=archive.stdout)
    archive.stdin.write(names)
    archive.stdin.close()
    assert unpack.wait() == 0 and archive.wait() == 0, "no copy could be made"


def apply(change, folder):
    text = "".join(f"{line}\n" for _, line in change)
    applied = subprocess.run(["git", "apply", "-"], input=text, text=True, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert applied.returncode == 0, applied.stdout
    return "applied"


def follow(command, folder, env):
    ran = subprocess.run(["/bin/sh", "-c", command], cwd=folder, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert ran.returncode == 0, f"{command}\n{ran.stdout[-4000:]}"
    return command


def main():
    Arguments(__doc__).parse_args()
    checks = Checks()
    changes, commands = blocks(ROOT / DOCUMENT, "diff"), [line for block in blocks(ROOT / DOCUMENT, "sh tests/real/recipes.py") for line in block if line[1]]
    assert len(changes) >= 6 and len(commands) >= 6, "the recipes are gone"
    with tempfile.TemporaryDirectory() as folder:
        copy_to(folder)
        target = ROOT / "target/recipes"
        env = {**os.environ, "CARGO_TARGET_DIR": str(target), "PATH": f"{target}/debug:{os.environ['PATH']}"}
        for change in changes:
            checks.run(f"{DOCUMENT}:{change[0][0]}", apply, change, folder)
        for number, command in commands:
            checks.run(f"{DOCUMENT}:{number}", follow, command, folder, env)
    checks.finish()


if __name__ == "__main__":
    main()
