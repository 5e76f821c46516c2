"""What the real HF Trainer makes of generated cases, for the hermetic tests: > tests/data/recorded-hf.jsonl.

The first line names the versions. Each other line is a case and its answer: the config that reaches `deepspeed.initialize`, or the refusal.
"""
from differential import Bench
from harness import Arguments
from swift_cases import print_answers


def main():
    parser = Arguments(__doc__, "env")
    parser.add_argument("--cases", type=int, default=480)
    options = parser.parse_args()
    bench = Bench(None, options.env)
    cases = [bench.case("recorded", number) for number in range(options.cases)]
    print_answers(options.env, ("transformers", "accelerate", "deepspeed", "torch"), cases, bench.resolved(cases))
