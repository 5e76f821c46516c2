#!/usr/bin/env python3
"""Never green, then red: launches that fail in the real trainer are refused or warned of before, and launches that work are never refused.

The cases (truth_cases.py) are run by the real, unmodified trainers on the CPU until they fail or have trained a step, without zlaunch, and are put to
`zlaunch check` and `zlaunch -n`. A trainer is imported once and forked for each case (zygote.py); some are started cold too, as a user would, must end
alike, and say how long a user waits for the refusal. How a case ended is kept beside the environment, in outcomes.jsonl: without that file all are run again.

A failing launch is refused, warned of, mended (it works through zlaunch), undecided (see cases/undecided.jsonl) or missed. Only what zlaunch says because of the
case counts: what it says about the unchanged launch does not. A case's name is ENVIRONMENT/TRAINER/ID.
"""
import collections
import concurrent.futures
import dataclasses
import json
import re
import shlex
import statistics
import subprocess
import tempfile
from pathlib import Path

from harness import HERE, Arguments, Checks, in_parallel
from truth_cases import ENVIRONMENTS, Case, all_cases
from truth_lab import Bench, Launch, Zygote, run_case, run_group, works_through_zlaunch

ROWS = [json.loads(line) for line in (HERE / "cases/undecided.jsonl").read_text().splitlines()[1:]]
UNDECIDED = {row["undecided"]: row["why"] for row in ROWS if "undecided" in row}
EXCUSED = {tuple(row["excused"]) for row in ROWS if "excused" in row}
COLUMNS = ["fails", "refused", "warned", "mended", "undecided", "missed", "works", "false errors", "excused", "warned, yet works"]


# What zlaunch says about a case; `plan` is what it would do, if it would.
Answer = collections.namedtuple("Answer", "refused plan found shown")


def ask(bench, case, root):
    with Launch(bench, case, root) as launch:
        given = bench.variables(case)
        run = lambda *first: subprocess.run(launch.asked(*first, "--format", "json"), env=given, cwd=launch.folder, capture_output=True, text=True, errors="replace", timeout=120)
        checked, planned = run("check"), run("-n")
        shown = shlex.join(["zlaunch", *launch.asked("check")[1:]])
    assert "panicked" not in checked.stderr + planned.stderr, f"{shown}\n{checked.stderr}{planned.stderr}"
    try:
        found = [(it["severity"], it["rule"], it["message"]) for it in json.loads(checked.stdout)["diagnostics"]]
    except ValueError:
        found = [("error", "refused", (checked.stderr + checked.stdout).strip()[:300])]
    plan = None if planned.returncode else planned.stdout.replace(str(launch.folder), "").replace(str(bench.root), "")
    return Answer(checked.returncode != 0, plan, found, shown)


class Verdicts:
    """Counts what zlaunch said of cases whose end is known."""

    def __init__(self, checks, mended, tolerant):
        self.checks, self.mended, self.tolerant = checks, mended, tolerant
        self.kinds, self.undecided, self.needless = collections.defaultdict(collections.Counter), collections.Counter(), collections.Counter()

    def judge(self, case, found, answer, usual):
        warnings = [it for it in answer.found if it[0] == "warning" and it not in usual]
        wrong = (self.of_working if found["works"] else self.of_failing)(case, found, answer, warnings)
        self.checks.judge(name(case), wrong and f"{case.kind}: {wrong}\n  {answer.shown}")

    def of_working(self, case, found, answer, warnings):
        count, refused = self.kinds[case.kind], answer.refused or answer.plan is None
        errors = [it for it in answer.found if it[0] == "error"]
        excused = refused and errors and all((case.kind, rule) in EXCUSED for _, rule, _ in errors)
        count.update({"works": 1, "false errors": refused and not excused, "excused": bool(excused), "warned, yet works": bool(warnings)})
        self.needless.update(rule for _, rule, _ in warnings)
        return f"works, and is refused: {errors}" if refused and not excused else None

    def of_failing(self, case, found, answer, warnings):
        why = next((why for said, why in UNDECIDED.items() if re.search(said, found["reason"])), None)
        verdict = "refused" if answer.refused else "warned" if warnings else "undecided" if why else "mended" if self.mended(case, answer) else "missed"
        self.kinds[case.kind].update({"fails": 1, verdict: 1})
        if verdict == "undecided":
            self.undecided[why] += 1
        return f"fails, and zlaunch says nothing: {found['reason']}" if verdict == "missed" and not self.tolerant else None

    def lines(self):
        total = sum(self.kinds.values(), collections.Counter())
        yield f"{'kind':26}" + "".join(f"{column:>{len(column) + 2}}" for column in COLUMNS)
        for kind, count in [*sorted(self.kinds.items()), ("in all", total)]:
            yield f"{kind:26}" + "".join(f"{count[column]:{len(column) + 2}}" for column in COLUMNS)
        yield from (f"{number} undecided: {why}" for why, number in self.undecided.most_common())
        if self.needless:
            yield "warnings about launches that work: " + ", ".join(f"{number} {rule}" for rule, number in self.needless.most_common())


def name(case):
    return f"{case.environment or 'main'}/{case.trainer}/{case.id}"


def sample(cases, benches, number):
    """Cases of every trainer, that fail and that work, of every kind in turn."""
    groups = collections.defaultdict(dict)
    for case in cases:
        if not case.cold and not case.place:
            groups[case.environment, case.trainer, benches[case.environment].found(case)["works"]].setdefault(case.kind, case)
    rounds = [list(kinds.values())[at] for at in range(len(COLUMNS)) for kinds in groups.values() if at < len(kinds)]
    return rounds[:number]


def compare_cold(cases, benches, checks, root):
    """Each must end as it did when it was forked. Returns after how many seconds the trainers refused."""
    took = collections.defaultdict(list)
    for case in cases:
        bench, as_users = benches[case.environment], dataclasses.replace(case, cold=True)
        if not bench.found(as_users):
            bench.remember(bench.key(as_users), run_case(Zygote(bench, case.trainer), as_users, root))
        one, two = bench.found(case), bench.found(as_users)
        checks.judge(f"{name(case)}/cold", None if one["works"] == two["works"] else f"it ends otherwise\n  forked: {one}\n  cold: {two}")
        if not two["works"]:
            took[case.trainer].append(two["seconds"])
    return took


def main():
    parser = Arguments(__doc__, "bin", "names")
    parser.add_argument("--cases", type=int, help="only the first N of the cases, whose order is as good as random")
    parser.add_argument("--cold", type=int, default=24, metavar="N", help="start N cases cold too (default: 24)")
    parser.add_argument("--only", action="append", choices=[name or "main" for name in ENVIRONMENTS], help="only this environment (default: all)")
    parser.add_argument("--tolerate-missed", action="store_true", help="only count what zlaunch does not find, and fail for false errors alone")
    options = parser.parse_args()
    checks = Checks(options.names)
    chosen = [it for it in ENVIRONMENTS if not options.only or (it or "main") in options.only]
    cases = [case for case in all_cases(chosen)[:options.cases] if checks.wants(name(case))]
    with tempfile.TemporaryDirectory(prefix="zlaunch-truth-", ignore_cleanup_errors=True) as root, concurrent.futures.ThreadPoolExecutor(in_parallel()) as pool:
        root = Path(root)
        benches = {it: Bench(options.bin, it, root) for it in chosen}
        groups = collections.defaultdict(list)
        for case in cases:
            groups[case.environment, case.trainer].append(case)
        list(pool.map(lambda it: run_group(benches[it[0][0]], it[0][1], it[1], root), groups.items()))
        usual = {(it, trainer, ranks): ask(benches[it], Case(it, trainer, "unchanged", ranks=ranks), root).found for it, trainer in groups for ranks in (1, 2)}
        # zlaunch reads more than JSON, and hands on JSON.
        mended = lambda case, answer: case.config and answer.plan and works_through_zlaunch(benches[case.environment], case, answer.plan, root)
        verdicts = Verdicts(checks, mended, options.tolerate_missed)
        for case, answer in zip(cases, pool.map(lambda case: ask(benches[case.environment], case, root), cases)):
            verdicts.judge(case, benches[case.environment].found(case), answer, usual[case.environment, case.trainer, case.ranks])
        took = compare_cold(sample(cases, benches, options.cold), benches, checks, root)
    print("", *verdicts.lines(), sep="\n")
    for trainer, seconds in sorted(took.items()):
        print(f"{trainer}: alone, started cold, it refused after {statistics.median(seconds):.1f} s (median of {len(seconds)}: {min(seconds):.1f} to {max(seconds):.1f})")
    checks.finish()


if __name__ == "__main__":
    main()
