#!/usr/bin/env python3
"""Mistakes drawn at random from the sources and the tables: does `cargo test` find them? Prints `caught` or `MISSED` for each.

`cargo mutants` makes those of the sources (`cargo install cargo-mutants --locked`); in a table a number is counted up, or a word loses a letter. Each is tried in a copy of
the working tree that is built anew where it changed: the library's tests first, since most are caught there. The draw follows from the seed.
"""
import json
import random
import re
import subprocess
import time

from harness import ROOT, Arguments
from recipes import copy_to

WORK = ROOT / "target/mutants"
FOLDERS = ["config", "ranks", "command", "check"]
TESTS = [["--lib"], ["--test", "library"], ["--test", "cli"]]
# Recorded from the real programs, and compared with those.
RECORDED = ["src/recorded/", "entries.txt"]


def of_sources(tree):
    """[(name, patch)]"""
    chosen = [word for folder in FOLDERS for word in ("--file", f"src/{folder}/**", "--file", f"src/{folder}.rs")]
    listed = subprocess.run(["cargo", "mutants", "--list", "--json", "--diff", *chosen], cwd=tree, capture_output=True, text=True, check=True).stdout
    return [(mutant["name"], mutant["diff"]) for mutant in json.loads(listed)]


def of_tables(tree, rng, count):
    """Changes of single cells."""
    rows = [(path, at, line) for path in sorted(tree.glob("src/**/*.txt")) if not any(name in str(path) for name in RECORDED)
            for at, line in enumerate(path.read_text().splitlines()) if re.search(r"\w", line) and not line.startswith(("#", "//"))]
    for path, at, line in rng.sample(rows, min(count, len(rows))):
        cell = rng.choice([found for found in re.finditer(r"\w+", line)])
        changed = str(int(cell[0]) + 1) if cell[0].isdigit() else cell[0][:-1] + ("x" if len(cell[0]) == 1 else "")
        new = line[:cell.start()] + changed + line[cell.end():]
        name = path.relative_to(tree)
        yield f"{name}:{at + 1}: {line.strip()} -> {new.strip()}", f"--- a/{name}\n+++ b/{name}\n@@ -{at + 1} +{at + 1} @@\n-{line}\n+{new}\n"


def cargo(tree, words, limit):
    """Whether the tests pass; what is printed where they cannot be built."""
    try:
        ran = subprocess.run(["cargo", "test", "--locked", *words], cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return False, None
    return ran.returncode == 0, ran.stdout if "could not compile" in ran.stdout else None


def verdict(tree, patch, limit):
    apply = lambda *more: subprocess.run(["git", "apply", "--unidiff-zero", *more, "-"], input=patch, text=True, cwd=tree, check=True)
    apply()
    try:
        for words in TESTS:
            passed, unbuilt = cargo(tree, words, limit)
            if not passed:
                return "does not build" if unbuilt else f"caught by {words[-1]}"
        return "MISSED"
    finally:
        apply("--reverse")


def main():
    parser = Arguments(__doc__)
    parser.add_argument("--sources", type=int, default=60, help="how many of the sources")
    parser.add_argument("--tables", type=int, default=20, help="how many of the tables")
    parser.add_argument("--seed", type=int, default=24)
    parser.add_argument("--limit", type=float, default=900, metavar="SECONDS", help="a test that takes longer has found it")
    parser.add_argument("--list", action="store_true", help="only print them")
    options = parser.parse_args()
    tree, rng = WORK / "tree", random.Random(options.seed)
    subprocess.run(["rm", "-rf", tree], check=True)
    tree.mkdir(parents=True)
    copy_to(tree)
    # Times of the copy are those of the originals, and the build from the last time is used again.
    (tree / "target").symlink_to(WORK / "build")
    (WORK / "build").mkdir(exist_ok=True)
    sources = of_sources(tree)
    drawn = rng.sample(sources, min(options.sources, len(sources))) + list(of_tables(tree, rng, options.tables))
    print(f"{len(drawn)} of {len(sources)} mutants of the sources, and of the tables", flush=True)
    if not options.list:
        for words in TESTS:
            assert cargo(tree, words, 3600)[0], f"without a mistake the tests fail: {words}"
    counts = {}
    for number, (name, patch) in enumerate(drawn, 1):
        began = time.monotonic()
        said = "drawn" if options.list else verdict(tree, patch, options.limit)
        counts[said.split(" by ")[0]] = counts.get(said.split(" by ")[0], 0) + 1
        print(f"{number:3} {said:20} {time.monotonic() - began:5.0f} s  {name}", flush=True)
    print(", ".join(f"{count} {said}" for said, count in counts.items()))


if __name__ == "__main__":
    main()
