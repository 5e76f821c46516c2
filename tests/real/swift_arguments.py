#!/usr/bin/env python3
"""The real ms-swift parser and zlaunch agree on what every option's value is, over the swift commands of a corpus.

usage: swift_arguments.py --bin PATH --env VENV --corpus DIR

zlaunch's reading shows in what it fills into a config that is "auto" everywhere; the real one is argparse's own.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

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
for line in open(sys.argv[1]):
    command, *argv = json.loads(line)
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            known, unknown = parsers[command].parse_known_args(argv)
        answer = {"known": vars(known), "unknown": unknown}
    except SystemExit:
        answer = {"refused": True}
    print("ANSWER " + json.dumps(answer, default=str), flush=True)
'''


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--env", required=True)
    parser.add_argument("--corpus", required=True)
    options = parser.parse_args()
    commands = []
    for line in open(Path(options.corpus) / "commands.jsonl"):
        argv = json.loads(line)["argv"]
        if len(argv) > 2 and argv[0] == "swift" and argv[1] in ("sft", "pt", "rlhf") and argv[2].startswith("--"):
            # What a shell would have put there.
            words, depth = [], 0
            for word in argv[1:]:
                depth += word.count("$(")
                if not depth:
                    words.append("2" if word.startswith("$") else word)
                elif word.startswith("$("):
                    words.append("2")
                depth -= min(depth, word.count(")"))
            commands.append(words)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "commands"
        file.write_text("".join(json.dumps(words) + "\n" for words in commands))
        env = {"PATH": f"{options.env}/bin:/usr/bin:/bin", "HOME": folder, "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", "LANG": "C.UTF-8"}
        result = subprocess.run([f"{options.env}/bin/python", "-c", REAL, file], env=env, capture_output=True, text=True)
        answers = [json.loads(line[7:]) for line in result.stdout.splitlines() if line.startswith("ANSWER ")]
        assert len(answers) == len(commands) > 100, result.stderr[-2000:]
        # What the real parser refuses for other reasons (a placeholder for a port) is left to it.
        failed = values = 0
        for words, answer in zip(commands, answers):
            plan = subprocess.run([str(Path(options.bin).resolve()), "-n", "--format", "json", "--allow", "hf-arguments", "--deepspeed", json.dumps(AUTO), "--nproc-per-node", "2", "--", "swift", *words],
                                  env=env, cwd=folder, capture_output=True, text=True)
            refused = "refused" in answer or bool(answer.get("unknown"))
            if plan.returncode:
                wrong = None if refused else plan.stderr
            else:
                fills = {fill["key"]: fill["value"] for fill in json.loads(plan.stdout)["fills"]}
                known = answer.get("known", {})
                pairs = {key: (value, FIELDS[key](known)) for key, value in fills.items() if key in FIELDS and known}
                values += len(pairs)
                wrong = {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}
            if wrong:
                failed += 1
                print("DIFFERENT", words, wrong, answer.get("unknown"))
    print(f"{values} values compared")
    print(f"{len(commands) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
