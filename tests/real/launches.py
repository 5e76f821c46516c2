#!/usr/bin/env python3
"""Launches as users write them, right and wrong, against the real trainers: the rows of cases/rehearsed.txt, each a base command with something changed.

Every launch is really run on the CPU, through a step, an evaluation and a checkpoint where it asks for them, and then put to `zlaunch check` and `zlaunch rehearse`. None
that works may be refused, and of those that fail at most one in twenty may pass; those are listed. How a launch ended is kept beside the environment, in
launches.jsonl. A launch's name is ENVIRONMENT/BASE/NUMBER of its row. As many are tried side by side as there are processors.
"""
import collections
import concurrent.futures
import hashlib
import json
import random
import shlex
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from harness import HERE, Arguments, Checks, environment, in_parallel, kept, port_was_taken, torch_aborted_at_exit
from lab import Warm, put, put_model, variables
from rehearse import rehearse
from truth_lab import reason

LIMIT = 150
ENVIRONMENTS = {"main": "", **{name: name for name in ("older", "llamafactory", "llamafactory-older", "axolotl", "axolotl-older")}}
# Launches of a trainer that are tried one after the other, for one import of it.
TOGETHER = 20


class Base:
    """A command that works, and what is changed of it."""

    def __init__(self, name, environments, program, target, words):
        self.name, self.environments, self.program, self.target = name, environments.split(), program.split(), target
        self.arguments = parsed(words)
        self.rows, self.saved = [], []

    def words(self, change):
        """`--name -` leaves an argument out."""
        given = self.arguments | parsed(change)
        return [word for name, value in given.items() if value != "-" for word in ((f"--{name}",) if value is None else (f"--{name}", *shlex.split(value)))]


def parsed(words):
    """{name: value} of `--name value …`; a flag has None. Quotes stay, so that a value may be empty."""
    found, name = {}, None
    for word in words.split():
        if word.startswith("--"):
            name = word[2:]
            found[name] = None
        else:
            found[name] = word if found[name] is None else f"{found[name]} {word}"
    return found


def table():
    bases, chosen, configs = {}, [], {}
    for line in (HERE / "cases/rehearsed.txt").read_text().splitlines():
        if line.startswith("= "):
            parts = [part.strip() for part in line[2:].split(" | ")]
            bases[parts[0]] = Base(*parts)
            chosen = [bases[parts[0]]]
        elif line.startswith("+ "):
            chosen = [bases[name.strip()] for name in line[2:].split(" | ")]
        elif line.startswith("> "):
            for base in chosen:
                base.saved.append([part.strip() for part in line[2:].split(" | ")])
        elif line.startswith("config "):
            _, name, changes = line.split(" ", 2)
            configs[name] = json.loads(changes)
        elif line and not line.startswith("#"):
            for base in chosen:
                base.rows.append("" if line == "unchanged" else line)
    return bases, configs


class Place:
    """An environment, with the files that the launches name in one folder, and how they ended."""

    def __init__(self, binary, name, root, configs):
        self.binary, self.name, self.env = binary, name, environment(*filter(None, [ENVIRONMENTS[name]]))
        self.root, self.warm = root, {}
        (self.root / "home").mkdir()
        put_model(self.env, self.root)
        self.site = next(self.env.glob("lib/python3*/site-packages"))
        self.variables = variables(self.env, self.root / "home")
        made = kept(lambda folder: self.make(folder), "launches", (HERE / "make_launches.py").read_text(), str(self.env))
        for file in made.iterdir():
            if file.name not in ("complete", "lock", "home"):
                (self.root / file.name).symlink_to(file)
        for file, changes in configs.items():
            template = changes.get("template", "zero2")
            config = json.loads(subprocess.run([binary, "templates", template], env={"HOME": str(self.root)}, capture_output=True, text=True, check=True).stdout)
            for key, value in changes.items():
                if key != "template":
                    put(config, key, value)
            (self.root / file).write_text(json.dumps(config))
        self.store = self.env.parent / "launches.jsonl"
        lines = self.store.read_text().splitlines() if self.store.exists() else []
        self.known = {found["key"]: found for found in map(json.loads, lines)}

    def make(self, folder):
        (folder / "home").mkdir()
        command = [self.env / "bin/python", HERE / "make_launches.py", self.root, folder]
        result = subprocess.run(command, env=variables(self.env, folder / "home"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert result.returncode == 0, result.stdout[-3000:]

    def run(self, base, words, ranks=1):
        """The real trainer, forked from a process that has imported it."""
        if base.target not in self.warm:
            self.warm[base.target] = Warm(self.env, self.root / f"{base.name.replace(' ', '-')}.log", self.variables)
        target = str(self.site / base.target) if "/" in base.target else base.target
        cpu = [] if base.name.startswith("plain") else ["--use_cpu", "true"]
        for _ in range(3):
            found, said = self.warm[base.target].run({"target": target, "argv": [*[word for word in base.program if word.endswith(".yaml")], *words, *cpu], "ranks": ranks, "place": True, "env": self.variables, "folder": str(self.root), "limit": LIMIT})
            if not port_was_taken(said) and not torch_aborted_at_exit(said):
                break
        return found, said

    def prepare(self, base):
        """Folders that the launches start from, saved by the real trainer."""
        for name, change, *ranks in base.saved:
            if not (self.root / name).exists():
                words = base.words(change)
                def save(folder, words=words):
                    found, said = self.run(base, words, int(*ranks or [1]))
                    assert found["status"] == 0, f"{self.name}: {shlex.join(words)} fails:\n{said[-3000:]}"
                    shutil.move(self.root / name, folder / "saved")
                made = kept(save, "saved", str(self.env), words, ranks)
                (self.root / name).symlink_to(made / "saved")

    def truth(self, base, words, ranks):
        seen = [self.name, base.name, words, ranks, (HERE / "make_launches.py").read_text(), [(self.root / word).read_text() for word in words if word.endswith(".json") and (self.root / word).exists()]]
        key = hashlib.sha256(json.dumps(seen).encode()).hexdigest()[:16]
        if key not in self.known:
            found, said = self.run(base, words, ranks)
            works = found["status"] == 0
            why = "" if works else "it waits for ever" if found["status"] == "timeout" else reason(said)
            self.known[key] = row = {"key": key, "works": works, "seconds": found["seconds"], "reason": why, "command": f"{base.name}: {shlex.join(words)}"}
            with open(self.store, "a") as file:
                file.write(json.dumps(row) + "\n")
            shutil.rmtree(self.root / "out", ignore_errors=True)
        return self.known[key]

    def asked(self, base, words, ranks, *first):
        own = ["--nproc-per-node", str(ranks)] if base.program[0] not in ("deepspeed", "torchrun", "accelerate") else []
        return [str(self.binary), *first, *own, "--format", "json", "--", *base.program, *words]


def judge(place, base, row):
    """What is counted of a launch, whether it works and is refused, and what is to be told of it."""
    ranks = 2 if row.startswith("2 ranks ") else 1
    words = base.words(row.removeprefix("2 ranks "))
    if place.name == "older":
        words = [word.replace("--tuner_type", "--train_type") for word in words]  # Its name before ms-swift 4.
    found = place.truth(base, words, ranks)
    # As on a machine with GPUs.
    given = {name: value for name, value in place.variables.items() if name not in ("DS_ACCELERATOR", "CUDA_VISIBLE_DEVICES")}
    status, rehearsal, said, took = rehearse(place.asked(base, words, ranks, "rehearse"), place.root, given)
    events, covered = (rehearsal["events"], rehearsal["covered"]) if rehearsal else ([], [])
    answer = {0: rehearsal and rehearsal["verdict"], 1: f"refused by {'rehearse' if rehearsal else 'check'}"}.get(status, "not sure")
    kind, steps = "works" if found["works"] else "fails", status == 0 and "backward" in covered
    count = {kind: 1, f"{kind}, {answer}": 1, "works, takes its step": found["works"] and steps, "seconds": took}
    if steps if found["works"] else status == 1:
        return count, False, None
    why = [it["message"] for it in said if it["severity"] == "error"] or rehearsal and [rehearsal["ended_by"], rehearsal["message"], (rehearsal["where"] or [None])[:2]]
    notes = [it.get("text") or it.get("why") for it in events if it["event"] in ("note", "values")]
    told = f"{kind}, {answer}: {place.name}: {shlex.join([*base.program, *words])}\n    alone: {found['reason'] or 'works'}\n    {why} {covered} {notes}"
    return count, found["works"] and status == 1, told


def main():
    parser = Arguments(__doc__, "bin", "names")
    parser.add_argument("--only", action="append", choices=list(ENVIRONMENTS), help="only this environment (default: all)")
    parser.add_argument("--base", action="append", help="only this base command (default: all)")
    parser.add_argument("--draw", type=int, metavar="N", help="only N launches, drawn at random (default: all)")
    parser.add_argument("--seed", type=int, default=36)
    options = parser.parse_args()
    checks, counts, listed = Checks(options.names), collections.defaultdict(collections.Counter), []
    bases, configs = table()
    every = [(name, base, number) for name in options.only or ENVIRONMENTS for base in bases.values() if name in base.environments and (not options.base or base.name in options.base)
             for number in range(len(base.rows)) if checks.wants(f"{name}/{base.name}/{number}")]
    drawn = set(random.Random(options.seed).sample(range(len(every)), min(options.draw or len(every), len(every))))
    groups = collections.defaultdict(list)
    for at in sorted(drawn):
        name, base, number = every[at]
        groups[name, base.target].append((base, number))
    wanted = [(name, launches[at:at + TOGETHER]) for (name, _), launches in groups.items() for at in range(0, len(launches), TOGETHER)]

    def try_some(name, launches):
        found = []
        with tempfile.TemporaryDirectory(prefix="zlaunch-launches-", ignore_cleanup_errors=True) as root:
            place = Place(options.bin, name, Path(root), configs)
            for base, number in launches:
                place.prepare(base)
                started = time.monotonic()
                count, is_false, told = judge(place, base, base.rows[number])
                print(f"{name}/{base.name}/{number} {base.rows[number]} ({time.monotonic() - started:.0f} s): {told or 'right'}", flush=True)
                found.append((f"{name}/{base.name}", number, count, is_false, told))
            for warm in place.warm.values():
                warm.stop()
        return found

    with concurrent.futures.ThreadPoolExecutor(in_parallel()) as workers:
        for name, number, count, is_false, told in (it for found in workers.map(lambda some: try_some(*some), wanted) for it in found):
            counts[name].update(count)
            listed.extend(filter(None, [told]))
            checks.judge(f"{name}/{number}", told if is_false else None)
    total = sum(counts.values(), collections.Counter())
    for name, count in [*sorted(counts.items()), ("in all", total)]:
        print(f"{name}: " + ", ".join(f"{value:.0f} {key}" for key, value in count.items() if value))
    print(*listed, sep="\n")
    found, steps = total["fails, refused by check"] + total["fails, refused by rehearse"], total["works, takes its step"]
    checks.judge("95 % of those that fail are refused", f"{found} of {total['fails']}" if found < 0.95 * total["fails"] else None)
    checks.judge("95 % of those that work take their step", f"{steps} of {total['works']}" if steps < 0.95 * total["works"] else None)
    checks.finish()


if __name__ == "__main__":
    main()
