#!/usr/bin/env python3
"""The real ms-swift parser and zlaunch agree on what every option's value is, over the swift commands of a corpus.

zlaunch's reading shows in what it fills into a config that is "auto" everywhere; the real one is argparse's own.
"""
import json
import subprocess
import tempfile

from corpus import commands
from harness import Arguments, Checks
from lab import answers, variables

AUTO = {
    "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "gradient_clipping": "auto",
    "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}},
    "scheduler": {"type": "WarmupDecayLR", "params": {"total_num_steps": "auto", "warmup_num_steps": "auto"}},
    "zero_optimization": {"stage": 2},
}
FIELDS = {
    "train_micro_batch_size_per_gpu": lambda ns: ns["per_device_train_batch_size"], "gradient_accumulation_steps": lambda ns: ns["gradient_accumulation_steps"],
    "gradient_clipping": lambda ns: ns["max_grad_norm"], "optimizer.params.lr": lambda ns: ns["learning_rate"],
    "optimizer.params.betas": lambda ns: [ns["adam_beta1"], ns["adam_beta2"]], "optimizer.params.eps": lambda ns: ns["adam_epsilon"],
    "optimizer.params.weight_decay": lambda ns: ns["weight_decay"], "scheduler.params.total_num_steps": lambda ns: ns["max_steps"],
    "scheduler.params.warmup_num_steps": lambda ns: int(ns["warmup_steps"]),
}
REAL = '''
import contextlib, io, json, sys
from swift.arguments import PretrainArguments, RLHFArguments, SftArguments
from transformers import HfArgumentParser
parsers = {name: HfArgumentParser([cls]) for name, cls in (("sft", SftArguments), ("pt", PretrainArguments), ("rlhf", RLHFArguments))}
for line in sys.stdin:
    command, *argv = json.loads(line)
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            known, unknown = parsers[command].parse_known_args(argv)
        answer = {"known": vars(known), "unknown": unknown}
    except SystemExit:
        answer = {"refused": True}
    print("ANSWER " + json.dumps(answer, default=str), flush=True)
'''


def swift_commands(corpus):
    """The words behind `swift`, with something where a shell would have put something."""
    for name, it in commands(corpus).items():
        argv = it["argv"]
        if len(argv) > 2 and argv[0] == "swift" and argv[1] in ("sft", "pt", "rlhf") and argv[2].startswith("--"):
            words, depth = [], 0
            for word in argv[1:]:
                depth += word.count("$(")
                if not depth:
                    words.append("2" if word.startswith("$") else word)
                elif word.startswith("$("):
                    words.append("2")
                depth -= min(depth, word.count(")"))
            yield name, words


def compare(binary, env, folder, words, answer):
    """How many values were compared, and what is wrong."""
    plan = subprocess.run([binary, "-n", "--format", "json", "--allow", "hf-arguments", "--deepspeed", json.dumps(AUTO), "--nproc-per-node", "2", "--", "swift", *words],
                          env=variables(env, folder), cwd=folder, capture_output=True, text=True)
    if plan.returncode:
        # What the real parser refuses for other reasons (a placeholder for a port) is left to it.
        return 0, None if "refused" in answer or answer.get("unknown") else plan.stderr
    known = answer.get("known", {})
    fills = {fill["key"]: fill["value"] for fill in json.loads(plan.stdout)["fills"]}
    pairs = {key: (value, FIELDS[key](known)) for key, value in fills.items() if key in FIELDS and known}
    wrong = {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}
    return len(pairs), wrong and f"{words} {wrong} {answer.get('unknown')}"


def main():
    options = Arguments(__doc__, "bin", "env", "corpus", "names").parse_args()
    checks = Checks(options.names)
    if not options.corpus:
        checks.skip_all("corpus", "there is no corpus here; name one with --corpus")
        checks.finish()
    found = {name: words for name, words in swift_commands(options.corpus) if checks.wants(name)}
    assert options.names or len(found) > 100, f"only {len(found)} commands of swift"
    with tempfile.TemporaryDirectory() as folder:
        values = 0
        for (name, words), answer in zip(found.items(), answers(options.env, folder, ["-c", REAL], found.values())):
            count, wrong = compare(options.bin, options.env, folder, words, answer)
            values += count
            checks.judge(name, wrong)
    print(f"{values} values compared")
    checks.finish()


if __name__ == "__main__":
    main()
