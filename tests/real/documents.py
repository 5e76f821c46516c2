#!/usr/bin/env python3
"""Runs what the documents show and `cargo test` cannot run: the blocks that start with ```sh tests/real/documents.py.

Commands run in a folder where `Qwen/Qwen3-8B` is a tiny model, `data.jsonl` a dataset and `configs/zero2.json` ms-swift's own config. There is no GPU, so
training commands get options for the CPU behind their own; everything else is as the document says. Commands that train nothing run in the
repository, with a `pip` of their own, and install into folders that go away. The name of a command is its document and line.
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import ROOT, Arguments, Checks, blocks
from lab import Lab

ON_CPU = ("--model_type qwen2 --template qwen --torch_dtype bfloat16 --use_cpu true --per_device_train_batch_size 1 --max_steps 2 --max_length 128 "
          "--dataset_num_proc 1 --report_to none --save_strategy no --logging_steps 1 --output_dir")


def commands():
    """Every command of every document once, and where it stands."""
    seen = {}
    for document in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]):
        for number, line in (line for block in blocks(document, "sh tests/real/documents.py") for line in block):
            # Both READMEs have the same command, each with a comment in its language.
            if bare := re.split(r"(?:^|\s+)#", line)[0]:
                seen.setdefault(bare, f"{document.relative_to(ROOT)}:{number}")
    assert seen, "no document names this script"
    return {name: command for command, name in seen.items()}


def prepared(lab):
    lab.model()
    (lab.root / "Qwen").mkdir()
    shutil.move(lab.root / "model", lab.root / "Qwen/Qwen3-8B")
    (lab.root / "configs").mkdir()
    shutil.copy(lab.swifts("zero2"), lab.root / "configs")


def trains(command, lab):
    output = tempfile.mkdtemp(prefix="output-", dir=lab.root)
    # No port is said, so that torchrun and zlaunch ask for a free one.
    result = lab.run(["bash", "-c", f"{command} {ON_CPU} {shlex.quote(output)}"], NPROC_PER_NODE="2", PATH=f"{lab.binary.parent}:{lab.env}/bin:/usr/bin:/bin")
    assert result.returncode == 0 and ("--dry-run" in command or "train_loss" in result.stdout), f"{command}: exit {result.returncode}\n{result.stdout[-3000:]}"
    return command[:100]


def installs(command, lab):
    venv = lab.root / "venv"
    if command.startswith("pip ") and not venv.exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    env = {**os.environ, "CARGO_INSTALL_ROOT": str(lab.root / "installed"), "CARGO_TARGET_DIR": str(ROOT / "target"), "PATH": f"{venv}/bin:{lab.binary.parent}:{os.environ['PATH']}"}
    result = subprocess.run(["bash", "-c", command], cwd=ROOT, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert result.returncode == 0, f"{command}: exit {result.returncode}\n{result.stdout[-3000:]}"
    return command[:100]


def main():
    options = Arguments(__doc__, "bin", "env", "names").parse_args()
    checks = Checks(options.names)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as root:
        lab = Lab(options.bin, options.env, Path(root))
        prepared(lab)
        for name, command in commands().items():
            checks.run(name, trains if "swift sft" in command and not command.startswith("cargo ") else installs, command, lab)
    checks.finish()


if __name__ == "__main__":
    main()
