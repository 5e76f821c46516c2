#!/usr/bin/env python3
"""Records what the real HF Trainer makes of generated cases, for the hermetic tests.

usage: record.py > tests/data/recorded-hf.jsonl

The first line names the versions. Each other line is a case and its answer: the config that reaches
`deepspeed.initialize`, or the refusal. With newer versions: change the pins, run this again, run the tests.
"""
import json

from differential import Bench
from harness import Arguments
from lab import versions


def main():
    parser = Arguments(__doc__, "env")
    parser.add_argument("--cases", type=int, default=480)
    options = parser.parse_args()
    print(json.dumps(versions(options.env, "transformers", "accelerate", "deepspeed", "torch")))
    bench = Bench(None, options.env)
    cases = [bench.case("recorded", number) for number in range(options.cases)]
    for it, answer in zip(cases, bench.resolved(cases)):
        # JSON has no infinity; accelerate writes it into every config.
        if "config" in answer:
            answer["config"]["steps_per_print"] = "inf"
        print(json.dumps({**it, "answer": answer}, separators=(",", ":")))


if __name__ == "__main__":
    main()
