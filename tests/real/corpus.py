#!/usr/bin/env python3
"""Public launch commands and configs through zlaunch: a plan or a worded diagnostic for each, never a panic.

The corpus is a folder with commands.jsonl and configs/. Each command runs in a folder where its scripts and the configs it names stand, with
a stub interpreter and the environment of its script. Prints the reasons of refusal.
"""
import collections
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

from harness import Arguments, Checks

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


def commands(corpus):
    """Every command of the corpus, by its line."""
    return {f"commands.jsonl:{number}": json.loads(line) for number, line in enumerate(open(corpus / "commands.jsonl"), 1)}


def sandbox(root, it):
    """Prepares an empty folder for a command: where it runs, its environment, the config it names and whether that one can be used."""
    (root / WORK).mkdir(parents=True)
    config, usable = prepare(root, it["argv"])
    env = {name: value for name, value in (it.get("env") or {}).items() if name not in ("PATH", "HOME")}
    return root / WORK, env | {"PATH": f"{root}/bin:/usr/bin:/bin", "HOME": str(root)}, config, usable


def outcome(binary, it):
    """What became of a command, what was said, the config it names and whether that one can be used."""
    with tempfile.TemporaryDirectory() as folder:
        cwd, env, config, usable = sandbox(Path(folder), it)
        run = lambda *more: subprocess.run([binary, "--dry-run", "--format", "json", *more, "--", *it["argv"]], env=env, cwd=cwd, capture_output=True, text=True, errors="replace")
        result = run()
        if result.returncode == 125 and "the number of processes" in result.stderr:
            result = run("--nproc-per-node", "8")
    if "panicked" in result.stderr or result.returncode not in (0, 125, 126, 127):
        return "PANIC", result.stderr, config, usable
    if result.returncode == 0:
        return ("resolved" if json.loads(result.stdout)["config"] is not None else "nothing to resolve"), "", config, usable
    worded = result.stderr.startswith("error") and "  --> " in result.stderr and "  help: " in result.stderr
    return ("refused" if worded else "PANIC"), result.stderr, config, usable


# No launcher starts these: a placeholder where machine 0's address belongs, port 66665, which torch refuses since 1.9, counts that the shell would
# have filled in, and a machine of a hostfile that is not there.
NOT_STARTED = ("no other machine reaches 127.0.0.1", "is no port", "torchrun refuses `--nnodes ${", "torchrun refuses `--nproc_per_node ${", "cannot start `--n",
               "there is no machine `worker-0`")


def try_commands(checks, options):
    verdicts, reasons = collections.Counter(), collections.Counter()
    named = planned = 0
    for name, it in commands(options.corpus).items():
        if not checks.wants(name):
            continue
        verdict, why, config, usable = outcome(options.bin, it)
        verdicts[verdict] += 1
        checks.judge(name, verdict == "PANIC" and f"no worded diagnostic for {it['argv']}\n{why}")
        if usable and not any(said in why for said in NOT_STARTED):
            named += 1
            planned += verdict == "resolved"
        if verdict in ("refused", "PANIC") or (usable and verdict != "resolved"):
            first = why.splitlines()[0] if why else f"{verdict}, though it names {config}"
            reasons[re.sub(r"`[^`]*`", "`…`", first)] += 1
            if options.verbose:
                print(f"{name}: {verdict}, {it['argv'][:12]}, {first}")
    print(", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common()))
    for reason, count in reasons.most_common():
        print(f"  {count:4}  {reason}")
    if not options.names:
        said = f"{planned} of {named} commands that name a config that exists or a shorthand are resolved"
        print(said)
        checks.judge("most_commands_are_resolved", planned < 0.93 * named and said)


def try_configs(checks, options):
    """They are only read: whether one suits a launch is for `check`."""
    outcomes = collections.Counter()
    for path in sorted((options.corpus / "configs").iterdir()):
        if checks.wants(f"configs/{path.name}"):
            result = subprocess.run([options.bin, "templates", path.resolve()], env={"PATH": "/usr/bin:/bin", "HOME": "/proc/nowhere"}, capture_output=True, text=True)
            checks.judge(f"configs/{path.name}", (result.returncode not in (0, 125) or "panicked" in result.stderr) and f"exit {result.returncode}\n{result.stderr}")
            outcomes[result.returncode] += 1
            if result.returncode == 125 and options.verbose:
                print(f"{path.name}: {result.stderr}")
    print(f"configs: {outcomes[0]} loaded, {outcomes[125]} refused with a place")


def main():
    parser = Arguments(__doc__, "bin", "corpus", "names")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every refusal")
    options = parser.parse_args()
    checks = Checks(options.names)
    if options.corpus:
        try_commands(checks, options)
        try_configs(checks, options)
    else:
        checks.skip_all("corpus", "there is no corpus here; name one with --corpus")
    checks.finish()


if __name__ == "__main__":
    main()
