#!/usr/bin/env python3
"""Records what the real HF Trainer makes of generated cases, for the hermetic tests.

usage: record.py --env VENV [--cases N]  > tests/data/recorded-hf.jsonl

The first line names the versions. Each other line is a case and its answer: the config that reaches
`deepspeed.initialize`, or the refusal. With newer versions: change the pins, run this again, run the tests.
"""
import argparse
import json
import subprocess
import sys

from differential import Bench, case


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--env", required=True)
    parser.add_argument("--cases", type=int, default=480)
    options = parser.parse_args()
    bench = Bench("/bin/true", options.env)
    names = ("transformers", "accelerate", "deepspeed", "torch")
    program = f"import importlib.metadata as m, json; print(json.dumps({{n: m.version(n) for n in {names!r}}}))"
    print(subprocess.run([bench.env / "bin/python", "-c", program], capture_output=True, text=True, check=True).stdout.strip())
    cases = [case("recorded", number) for number in range(options.cases)]
    for it, answer in zip(cases, bench.resolved(cases)):
        # JSON has no infinity; accelerate writes it into every config.
        if "config" in answer:
            answer["config"]["steps_per_print"] = "inf"
        print(json.dumps({**it, "answer": answer}, separators=(",", ":")))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
