#!/usr/bin/env python3
"""Public launch commands and configs through zlaunch: a plan or a worded diagnostic for each, never a panic.

usage: corpus.py --bin PATH --corpus DIR      DIR holds commands.jsonl and configs/

Each command runs in a folder where its scripts and the configs it names stand, with a stub interpreter and the environment of its script.
Prints a table by repository and the reasons of refusal, then 'N passed, M failed'.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CONSOLES = ("swift", "megatron", "torchrun", "deepspeed", "accelerate", "llamafactory-cli", "axolotl", "trl", "python", "python3", "srun")
WORK = "a/b/c/d"  # deep, because commands say `../../config.json`
CONFIG = re.compile(r"^--?(deepspeed|deepspeed_config|deepspeed_config_file)(=|$)")
SHORTHANDS = {"zero0", "zero1", "zero2", "zero3", "zero2_offload", "zero3_offload", "default-zero2", "default-zero3", "zero2-offload", "zero3-offload"}
CONCRETE = {"zero_optimization": {"stage": 1}, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 1}
USABLE = {"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "train_batch_size": "auto"}


def named_config(argv):
    """The value of the last option that names a DeepSpeed config."""
    found = None
    for at, word in enumerate(argv):
        if CONFIG.match(word):
            value = word.partition("=")[2] if "=" in word else argv[at + 1] if at + 1 < len(argv) else ""
            found = value if value and not value.startswith("-") else found
    return found


def prepare(root, argv):
    """Stubs, and every relative config the command names."""
    for name in CONSOLES:
        path = root / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\nexit 0\n" if name.startswith(("python", "srun")) else f"#!{root}/bin/python3\n")
        path.chmod(0o755)
    config = named_config(argv)
    usable = config in SHORTHANDS
    if config and not usable and "$" not in config and not config.startswith(("/", "{", "~")) and "<" not in config:
        path = Path(os.path.normpath(root / WORK / config))
        if root in path.parents:
            path.parent.mkdir(parents=True, exist_ok=True)
            plain = any(word.startswith("--deepspeed_config") and not word.startswith("--deepspeed_config_file") for word in argv)
            path.write_text(json.dumps(CONCRETE if plain else USABLE))
            usable = True
    return config, usable


def outcome(binary, it):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / WORK).mkdir(parents=True)
        config, usable = prepare(root, it["argv"])
        env = {name: value for name, value in it["env"].items() if name not in ("PATH", "HOME")} if it.get("env") else {}
        env |= {"PATH": f"{root}/bin:/usr/bin:/bin", "HOME": folder}
        run = lambda *more: subprocess.run([binary, "--dry-run", "--format", "json", *more, "--", *it["argv"]], env=env, cwd=root / WORK,
                                           capture_output=True, text=True, errors="replace")
        result = run()
        if result.returncode == 125 and "--nproc-per-node 8" in result.stderr:
            result = run("--nproc-per-node", "8")
        if "panicked" in result.stderr or result.returncode not in (0, 125, 126, 127):
            return "PANIC", result.stderr, config, usable
        if result.returncode == 0:
            plan = json.loads(result.stdout)
            return ("resolved" if plan["config"] is not None else "nothing to resolve"), "", config, usable
        worded = result.stderr.startswith("error") and "  --> " in result.stderr and "  help: " in result.stderr
        return ("refused" if worded else "PANIC"), result.stderr, config, usable


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("-v", action="store_true")
    options = parser.parse_args()
    binary, corpus = str(Path(options.bin).resolve()), Path(options.corpus)
    table, reasons, failed = collections.defaultdict(collections.Counter), collections.Counter(), 0
    named = planned = 0
    for line in open(corpus / "commands.jsonl"):
        it = json.loads(line)
        verdict, why, config, usable = outcome(binary, it)
        table[it["repo"]][verdict] += 1
        failed += verdict == "PANIC"
        # A command with a placeholder where machine 0's address belongs is no launch yet.
        if usable and "no other machine reaches 127.0.0.1" not in why:
            named += 1
            planned += verdict == "resolved"
        if verdict in ("refused", "PANIC") or (usable and verdict != "resolved"):
            first = why.splitlines()[0] if why else f"{verdict}, though it names {config}"
            reasons[re.sub(r"`[^`]*`", "`…`", first)] += 1
            if options.v:
                print(verdict, it["argv"][:12], first, file=sys.stderr)
    columns = ("resolved", "nothing to resolve", "refused", "PANIC")
    print(f"{'repository':44} " + " ".join(f"{name:>18}" for name in columns))
    for repo, counts in sorted(table.items()):
        print(f"{repo:44} " + " ".join(f"{counts[name]:>18}" for name in columns))
    print(f"\ncommands that name a config that exists or a shorthand: {planned} of {named} resolved")
    for reason, count in reasons.most_common():
        print(f"  {count:4}  {reason}")
    loaded = worded = 0
    for path in sorted((corpus / "configs").iterdir()):
        # Only read: whether it suits a launch is for `check`.
        result = subprocess.run([binary, "templates", str(path.resolve())], env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}, capture_output=True, text=True)
        bad = result.returncode not in (0, 125) or "panicked" in result.stderr
        failed += bad
        loaded += result.returncode == 0
        worded += result.returncode == 125
        if result.returncode == 125 and options.v:
            print(path.name, result.stderr, file=sys.stderr)
    print(f"\nconfigs: {loaded} loaded, {worded} refused with a place")
    good = planned >= 0.95 * named and not failed
    print(f"{sum(sum(c.values()) for c in table.values()) + loaded + worded - failed} passed, {failed} failed")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
