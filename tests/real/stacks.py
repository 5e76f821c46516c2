#!/usr/bin/env python3
"""The public commands of the corpus, on stacks of five times: zlaunch and the real parsers of each take or refuse the same.

On every stack each command is planned with the programs of that environment, and the launcher's or trainer's own parser of that time reads it too.
A command is wrong where zlaunch refuses arguments that the real parser takes, or understands another script or number of processes. Prints the
table of docs/fidelity.md.
"""
import collections
import concurrent.futures
import json
import re
import subprocess
import tempfile
from pathlib import Path

from corpus import commands, sandbox
from harness import HERE, Arguments, Checks, environment, in_parallel
from lab import answers, versions

STACKS = {"early 2024": ["early-2024"], "early 2025": ["early-2025"], "late 2025": ["older"], "early 2026": ["early-2026"], "newest": []}
COLUMNS = ["taken by both", "refused by both", "only zlaunch refuses", "only the real one refuses", "another reason", "not installed", "no launch"]

# The scripts of the commands are not here.
NOT_HERE = ["--allow", "script-missing", "--allow", "path-missing"]


def checked(binary, env, it):
    """What zlaunch says of a command: its plan, or nothing, and the errors by their rules."""
    with tempfile.TemporaryDirectory() as folder:
        cwd, given, *_ = sandbox(Path(folder), it)
        given["PATH"] = f"{env}/bin:/usr/bin:/bin"
        ask = lambda *more: subprocess.run([binary, "check", "--format", "json", *NOT_HERE, *more, "--", *it["argv"]], env=given, cwd=cwd, capture_output=True, text=True, errors="replace")
        result = ask()
        if "the number of processes" in result.stdout:
            result = ask("--nproc-per-node", "8")
    try:
        plan = json.loads(result.stdout)
    except ValueError:
        plan = {"argv": None, "diagnostics": [{"rule": "not worded", "severity": "error", "message": result.stderr[-500:], "where": []}]}
    return plan, [found for found in plan["diagnostics"] if found["severity"] == "error"]


def verdict(argv, real, plan, errors):
    """Which column a command belongs to, and what is wrong with it."""
    # What the trainer refuses behind its parser (a package that is not installed, a file that is not there) is another reason.
    of_parser = re.compile(r" has no (option|argument) |: it wants |: it may mean | without a value")
    about_arguments = [it for it in errors if it["rule"] == "argument" and of_parser.search(it["message"])]
    if "missing" in real:
        return "no launch" if real["missing"] == "another program" else "not installed", None
    if "refused" in real:
        told = about_arguments or [it for it in plan["diagnostics"] if it["rule"] == "argument"]
        return ("refused by both" if told else "another reason" if errors else "only the real one refuses"), None
    if about_arguments:
        return "only zlaunch refuses", f"{about_arguments[0]['message']}, and the real parser takes it"
    if errors:
        return "another reason", None
    # What the shell would put there is not known.
    if any("$" in word for word in argv):
        return "taken by both", None
    if real.get("script") and real["script"] not in plan["argv"]:
        return "taken by both", f"the real one runs {real['script']}, zlaunch {plan['argv']}"
    stated = (plan["topology"] or {}).get("nproc_per_node")
    if real.get("nproc") and stated and stated != real["nproc"]:
        return "taken by both", f"the real one starts {real['nproc']} processes, zlaunch {stated}"
    return "taken by both", None


def try_stack(checks, options, name, which, cases):
    env = environment(*which)
    with tempfile.TemporaryDirectory() as home:
        real = answers(env, Path(home), [HERE / "stack_parsers.py"], [{"argv": it["argv"]} for it in cases.values()])
    with concurrent.futures.ThreadPoolExecutor(in_parallel()) as pool:
        found = list(pool.map(lambda it: checked(options.bin, env, it), cases.values()))
    columns, reasons = collections.Counter(), collections.Counter()
    for (case, it), theirs, (plan, errors) in zip(cases.items(), real, found):
        column, wrong = verdict(it["argv"], theirs, plan, errors)
        columns[column] += 1
        if column in ("only the real one refuses", "another reason"):
            reasons[f"{column}: {theirs.get('refused', '') if column.startswith('only') else errors[0]['rule']}"] += 1
        checks.judge(f"{name}, {case}", wrong and f"{wrong}\n  {' '.join(it['argv'])[:300]}")
    return columns, reasons, versions(env, "transformers", "accelerate", "deepspeed", "torch")


def main():
    parser = Arguments(__doc__, "bin", "corpus", "names")
    parser.add_argument("--stack", action="append", choices=STACKS, metavar="NAME", help="one of them (default: all)")
    options = parser.parse_args()
    checks = Checks(options.names)
    if not options.corpus:
        checks.skip_all("corpus", "there is no corpus here; name one with --corpus")
        checks.finish()
    cases = {name: it for name, it in commands(options.corpus).items() if checks.wants(name)}
    rows = []
    for name in options.stack or STACKS:
        columns, reasons, found = try_stack(checks, options, name, STACKS[name], cases)
        rows.append(f"| {name} | {', '.join(f'{package} {version}' for package, version in found.items())} | " + " | ".join(str(columns[it]) for it in COLUMNS) + " |")
        for reason, count in reasons.most_common(12):
            print(f"  {name}: {count:4}  {reason[:200]}")
    print(f"| stack | versions | {' | '.join(COLUMNS)} |", "| --- " * (len(COLUMNS) + 2) + "|", *rows, sep="\n")
    checks.finish()


if __name__ == "__main__":
    main()
