"""What both recorders of generated cases share: the versions in the first line, then a case a line with the trainer's answer."""
import json

from lab import versions


def print_answers(env, packages, cases, answers, **more):
    print(json.dumps(versions(env, *packages) | more))
    for case, answer in zip(cases, answers):
        # JSON has no infinity; accelerate writes it into every config.
        if "config" in answer:
            answer["config"]["steps_per_print"] = "inf"
        print(json.dumps({**case, "answer": answer}, separators=(",", ":")))
