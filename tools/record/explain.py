"""Entries for the DeepSpeed keys that src/tools/explain/entries.txt does not have yet, printed: type, default and since are those of the recorded schema.

The sentences are written by hand; `cargo test explain` says which keys have no entry.
"""
import re

from harness import ROOT, Arguments

# What users call the types of the schema.
WORDS = {"bool": "boolean", "int": "integer", "float": "number", "str": "string", "model": "object", "section": "object", "strings": "array", "list": "array"}


def newest(column):
    return column.split(";")[0].rpartition("@")[0] or column.split(";")[0]


def kind(type_, range_):
    word = WORDS.get(type_.strip("~?"), type_.strip("~?"))
    return f"{word}: {range_.replace('|', ' | ')}" if "|" in range_ else word if range_ == "-" else f"{word} {range_}"


def main():
    Arguments(__doc__).parse_args()
    heads = re.findall(r"(?m)^# (.*)", (ROOT / "src/tools/explain/entries.txt").read_text())
    known = {name for head in heads for name in head.split(" | ")}
    for line in (ROOT / "src/recorded/deepspeed-schema.txt").read_text().splitlines():
        key, type_, range_, default, since, removed, now = line.split("\t")
        if key not in known and "@" not in key and not key.startswith("bfloat16.") and removed == now == "-":
            facts = {"type": kind(newest(type_), newest(range_)), "default": newest(default), "since": since}
            print(f"# {key}", *(f"{name}: {value}" for name, value in facts.items() if value != "-"), "en: ", "zh: ", f"example: ={newest(default)}", sep="\n")
