#!/usr/bin/env python3
"""Records the DeepSpeed configs that come with a trainer into src/recorded/shipped_configs.txt.

usage: record_shipped.py WHEELS

WHEELS is a folder with wheels of many versions (`pip download --no-deps`). Their sources are read, not imported.

A line is a distribution and a word that its `--deepspeed` takes for a file of its package, and that file below site-packages with the first version that was
seen to have it (`0`: the oldest that was read; `-`: the word is not known any more), and behind `#` the FNV-1a of the file if its content is that of zlaunch's
template of the same name.
"""
import ast
import collections
import json
import zipfile
from pathlib import Path, PurePosixPath

from harness import ROOT, Arguments
from record_defaults import number


def mappings(tree):
    """{word: file name} of `deepspeed_mapping`; of the comparisons that stood there before it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "deepspeed_mapping":
            if isinstance(node.value, ast.DictComp):
                return {name: f"{name}.json" for name in ast.literal_eval(node.value.generators[0].iter)}
            return ast.literal_eval(node.value)
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Compare) and ast.unparse(node.test.left) == "self.deepspeed" and isinstance(node.test.ops[0], ast.Eq):
            files = [item.value for item in ast.walk(node.body[0]) if isinstance(item, ast.Constant) and str(item.value).endswith(".json")]
            if files:
                found[node.test.comparators[0].value] = files[0]
    return found


def of_swift(archive):
    files = {PurePosixPath(name).name: name for name in archive.namelist() if name.startswith(("swift/llm/ds_config/", "swift/config/zero"))}
    for path in archive.namelist():
        if path.startswith(("swift/llm/utils/argument.py", "swift/llm/argument/train_args.py", "swift/arguments/sft_args.py")) and (found := mappings(ast.parse(archive.read(path)))):
            return {word: files[file] for word, file in found.items()}
    raise AssertionError(archive.filename)


def of_xtuner(archive):
    """Its words are the names of the files in one folder."""
    folder = "xtuner/configs/deepspeed/"
    return {PurePosixPath(name).stem: name for name in archive.namelist() if name.startswith(folder) and name.endswith(".json")}


READ = {"ms-swift": of_swift, "xtuner": of_xtuner}


def fnv1a(data):
    digest = 0xCBF29CE484222325
    for byte in data:
        digest = (digest ^ byte) * 0x100000001B3 % 2**64
    return f"{digest:016x}"


def body(path):
    """What a template is without its own section, with those it extends."""
    config = json.loads(path.read_text())
    own = config.pop("$zlaunch", {})
    return merged(body(path.with_name(f"{own['extends']}.json")), config) if "extends" in own else config


def merged(base, patch):
    if not isinstance(patch, dict):
        return patch
    found = dict(base) if isinstance(base, dict) else {}
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = merged(found.get(key), value)
    return found


def table(folder):
    lines = []
    for distribution, read in READ.items():
        wheels = sorted(folder.glob(f"{distribution.replace('-', '_')}-*.whl"), key=lambda wheel: number(wheel.name.split("-")[1]))
        spans, versions = {}, [wheel.name.split("-")[1] for wheel in wheels]
        for at, wheel in enumerate(wheels):
            archive = zipfile.ZipFile(wheel)
            for pair in read(archive).items():
                spans.setdefault(pair, [versions[at] if at else "0", None, None])
                data, template = archive.read(pair[1]), ROOT / f"templates/{PurePosixPath(pair[1]).name}"
                same = template.exists() and body(template) == json.loads(data)
                spans[pair][1:] = [versions[at + 1] if at + 1 < len(versions) else "-", fnv1a(data) if same else ""]
        words = collections.defaultdict(list)
        for (word, file), (since, until, digest) in sorted(spans.items(), key=lambda it: number(it[1][0])):
            words[word].append((f"{since}={file}" + (f"#{digest}" if digest else ""), until))
        for word, history in words.items():
            end = [] if history[-1][1] == "-" else [f"{history[-1][1]}=-"]
            lines.append(" ".join([distribution, word, *(entry for entry, _ in history), *end]))
    return "".join(f"{line}\n" for line in sorted(lines))


def main():
    parser = Arguments(__doc__)
    parser.add_argument("wheels", type=Path, metavar="WHEELS", help="a folder with wheels")
    parser.add_argument("--out", type=Path, default=ROOT / "src/recorded/shipped_configs.txt", metavar="FILE")
    options = parser.parse_args()
    options.out.write_text(table(options.wheels))


if __name__ == "__main__":
    main()
