#!/usr/bin/env python3
"""What `explain` says of messages, with the sources of the real packages: the statement that says them, and public questions.

The questions are in ../shared/replay, if that is there: `replay.py` plays every one of them and grades the answer. 85 of 100 must be prevented or
explained, and none wrongly.
"""
import os
import subprocess
import sys
import tempfile

from harness import ROOT, Arguments, Checks

REPLAY = ROOT.parent / "shared/replay"
# A message, and what the page must have: the package, the function, a name of the condition, and what makes it false.
SAID = {
    "ValueError: Please specify the ZeRO optimization config in the DeepSpeed config.": ["accelerate", "__post_init__", '"zero_optimization" not in'],
    "AssertionError: Not sure how to proceed, we were given deepspeed configs in the deepspeed arguments and deepspeed.initialize() function call":
        ["deepspeed", "initialize", "drop --deepspeed_config"],
    "ValueError: --tf32 requires Ampere or a newer GPU arch, cuda>=11 and torch>=1.7": ["transformers", "__post_init__", "--tf32 false"],
    "ValueError: You cannot perform fine-tuning on purely quantized models. Please attach trainable adapters": ["transformers", "_is_peft_model"],
}
# Words of everybody: no package is named.
UNSAID = ["AttributeError: 'NoneType' object has no attribute 'step'", "ValueError: Type fp16 is not supported.", "RuntimeError: the model is not ready"]


def explain(options, message):
    variables = {"PATH": f"{options.env}/bin:/usr/bin:/bin", "HOME": tempfile.gettempdir(), "LANG": "C.UTF-8"}
    return subprocess.run([options.bin, "explain", message], env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def said(options):
    for message, names in SAID.items():
        page = explain(options, message)
        assert all(name in page for name in names), page
    for message in UNSAID:
        page = explain(options, message)
        assert "said by" not in page, page


def replay(options):
    if not REPLAY.exists():
        print("there are no questions to replay")
        return
    command = [sys.executable, REPLAY / "replay.py", options.bin, options.env / "bin/python", REPLAY / "known.jsonl", "--goal", "85"]
    assert subprocess.run(command, env=os.environ).returncode == 0


def main():
    options = Arguments(__doc__, "bin", "env", "names").parse_args()
    checks = Checks(options.names)
    checks.run("said", said, options)
    checks.run("replay", replay, options)
    checks.finish()


if __name__ == "__main__":
    main()
