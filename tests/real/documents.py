#!/usr/bin/env python3
"""Runs what the documents show and `cargo test` cannot run: the blocks that start with ```sh tests/real/documents.py.

usage: documents.py --bin PATH --env VENV      prints a line a command, then 'N passed, M failed'

Commands run in a folder where `Qwen/Qwen3-8B` is a tiny model, `data.jsonl` a dataset and `configs/zero2.json` ms-swift's own config. There is no GPU, so
training commands get options for the CPU behind their own; everything else is as the document says. Commands that train nothing run in the
repository, with a `pip` of their own, and install into folders that go away.
"""
import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from run import HERE, Lab

ROOT = HERE.parent.parent
MARK = "```sh tests/real/documents.py"
ON_CPU = ("--model_type qwen2 --template qwen --torch_dtype float32 --use_cpu true --per_device_train_batch_size 1 --max_steps 2 --max_length 128 "
          "--dataset_num_proc 1 --report_to none --save_strategy no --logging_steps 1 --output_dir")


def blocks():
    """Every command of every document once, and where it stands."""
    seen = {}
    for document in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]):
        lines = iter(document.read_text().splitlines())
        for line in lines:
            if line == MARK:
                for command in iter(lambda: next(lines), "```"):
                    # Both READMEs have the same command, each with a comment in its language.
                    if bare := re.split(r"(?:^|\s+)#", command)[0]:
                        seen.setdefault(bare, document.relative_to(ROOT))
    return seen


def prepared(lab):
    lab.model()
    (lab.root / "Qwen").mkdir()
    shutil.move(lab.root / "model", lab.root / "Qwen/Qwen3-8B")
    (lab.root / "configs").mkdir()
    shutil.copy(next(lab.env.glob("lib/python3*/site-packages/swift/config/zero2.json")), lab.root / "configs")


def run(command, lab, number):
    """Its exit status and what it printed."""
    trains = "swift sft" in command and not command.startswith("cargo ")
    if trains:
        folder, command = lab.root, f"{command} {ON_CPU} {shlex.quote(str(lab.root / f'output-{number}'))}"
        environment = lab.variables(NPROC_PER_NODE="2", PATH=f"{lab.binary.parent}:{lab.env}/bin:/usr/bin:/bin")
    else:
        folder, venv = ROOT, lab.root / "venv"
        if command.startswith("pip ") and not venv.exists():
            subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        environment = {**os.environ, "CARGO_INSTALL_ROOT": str(lab.root / "installed"), "CARGO_TARGET_DIR": str(ROOT / "target"),
                       "PATH": f"{venv}/bin:{lab.binary.parent}:{os.environ['PATH']}"}
    result = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=900)
    return result.returncode, result.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--env", required=True)
    arguments = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as root:
        lab = Lab(arguments.bin, arguments.env, root)
        prepared(lab)
        commands = blocks()
        assert commands, "no document names this script"
        for number, (command, document) in enumerate(commands.items()):
            started = time.monotonic()
            status, output = run(command, lab, number)
            trained = "swift sft" not in command or "--dry-run" in command or "train_loss" in output
            good = status == 0 and trained
            failed += not good
            print(f"{'ok  ' if good else 'FAIL'} {time.monotonic() - started:5.1f} s  {document}: {command[:100]}", flush=True)
            if not good:
                print(f"exit {status}\n{output[-3000:]}")
    print(f"{len(commands) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
