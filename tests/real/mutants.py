#!/usr/bin/env python3
"""Mistakes drawn at random from the sources and the tables: does `cargo test` find them? Prints `caught` or `MISSED` for each.

`cargo mutants` makes those of the sources (`cargo install cargo-mutants --locked`); in a table (`tables/*.rs`) a number is counted up, a switch is turned, or a word loses a letter. Each is tried in a copy of
the working tree that is built anew where it changed: the library's tests first, since most are caught there. The draw follows from the seed.
"""
import collections
import json
import os
import random
import re
import subprocess

from harness import ROOT, Arguments
from recipes import copy_to

WORK = ROOT / "target/mutants"
TESTS = [["--test", "library"], ["--test", "cli"]]
# What a table says: its texts of one word, its numbers and switches. Names would not compile.
CELL = re.compile(r'(?<=")\w+(?=")|\b\d+\b|\b(?:true|false)\b')
# A sentence is prose, whatever numbers it has.
SENTENCE = re.compile(r'"(?:[^"\\]|\\.)* (?:[^"\\]|\\.)*"')
# A test that takes longer has found it.
LIMIT = "900"


def of_sources(tree):
    """[(name, patch)]"""
    listed = subprocess.run(["cargo", "mutants", "--list", "--json", "--diff"], cwd=tree, capture_output=True, text=True, check=True).stdout
    # Its diffs begin with the file and with a sentence.
    named = lambda mutant: "\n".join([f"--- a/{mutant['file']}", f"+++ b/{mutant['file']}", *mutant["diff"].split("\n")[2:]])
    return [(mutant["name"], named(mutant)) for mutant in json.loads(listed)]


def of_tables(tree, rng, count):
    """Changes of single cells: a number is one larger, `true` is `false`, and a text loses a letter."""
    found = [(path.relative_to(tree), at, line, cell) for path in sorted(tree.glob("src/**/*.rs")) if "tables" in path.parts and "recorded" not in path.parts
             for at, line in enumerate(path.read_text().splitlines(), 1) if not line.lstrip().startswith("//") for cell in CELL.finditer(SENTENCE.sub(lambda found: " " * len(found[0]), line))]
    for name, at, line, cell in rng.sample(found, min(count, len(found))):
        old = cell[0]
        changed = {"true": "false", "false": "true"}.get(old) or (str(int(old) + 1) if old.isdigit() else old[:-1] + ("x" if len(old) == 1 else ""))
        new = line[:cell.start()] + changed + line[cell.end():]
        yield f"{name}:{at}: {line.strip()} -> {new.strip()}", f"--- a/{name}\n+++ b/{name}\n@@ -{at} +{at} @@\n-{line}\n+{new}\n"


def verdict(tree, patch):
    apply = lambda *more: subprocess.run(["git", "apply", "--unidiff-zero", *more, "-"], input=patch, text=True, cwd=tree, check=True)
    apply()
    try:
        for words in TESTS:
            ran = subprocess.run(["timeout", LIMIT, "cargo", "test", "--locked", *words], cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if ran.returncode:
                return "does not build" if "could not compile" in ran.stdout else f"caught by {words[-1]}"
        return "MISSED"
    finally:
        apply("--reverse")


def main():
    parser = Arguments(__doc__)
    parser.add_argument("--sources", type=int, default=60, help="how many of the sources")
    parser.add_argument("--tables", type=int, default=20, help="how many of the tables")
    parser.add_argument("--seed", type=int, default=24)
    options = parser.parse_args()
    tree, rng, counts = WORK / "tree", random.Random(options.seed), collections.Counter()
    subprocess.run(["rm", "-rf", tree], check=True)
    for folder in (tree, WORK / "build"):
        folder.mkdir(parents=True, exist_ok=True)
    copy_to(tree)
    # Times of the copy are those of the originals, and the build from the last time is used again.
    os.environ["CARGO_TARGET_DIR"] = str(WORK / "build")
    subprocess.run(["cargo", "test", "--locked"], cwd=tree, check=True)
    sources = of_sources(tree)
    for number, (name, patch) in enumerate([*rng.sample(sources, min(options.sources, len(sources))), *of_tables(tree, rng, options.tables)], 1):
        said = verdict(tree, patch)
        counts[said.split(" by ")[0]] += 1
        print(f"{number:3} {said:20} {name}", flush=True)
    print(f"of {len(sources)} mutants of the sources, and of the tables:", ", ".join(f"{count} {said}" for said, count in counts.items()))


if __name__ == "__main__":
    main()
