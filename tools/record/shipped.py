"""The DeepSpeed configs that come with a trainer, from wheels: src/recorded/shipped_configs.txt.

A line is a distribution and a word that its `--deepspeed` takes for a file of its package, and that file below site-packages with the first version that was
seen to have it (`0`: the oldest that was read; `-`: the word is not known any more), and behind `#` the FNV-1a of the file if its content is that of zlaunch's
template of the same name.
"""
import ast
import json
import zipfile
from pathlib import PurePosixPath

from harness import ROOT
from sources import packages, write_table


def mapping(tree):
    """{word: file name} of `deepspeed_mapping`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "deepspeed_mapping":
            if isinstance(node.value, ast.DictComp):
                return {name: f"{name}.json" for name in ast.literal_eval(node.value.generators[0].iter)}
            return ast.literal_eval(node.value)
    return None


def of_swift(archive):
    files = {PurePosixPath(name).name: name for name in archive.namelist() if name.startswith(("swift/llm/ds_config/", "swift/config/zero"))}
    for path in archive.namelist():
        if path.startswith(("swift/llm/argument/train_args.py", "swift/arguments/sft_args.py")) and (found := mapping(ast.parse(archive.read(path)))):
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
        words, wheels = {}, packages(folder, distribution)
        for version, wheel in wheels.items():
            archive, since = zipfile.ZipFile(wheel), "0" if wheel is next(iter(wheels.values())) else version
            found = read(archive)
            for word in {*found, *words}:
                history, file = words.setdefault(word, []), found.get(word, "-")
                if not history or history[-1][1] != file:
                    history.append([since, file, ""])
                if file != "-":
                    data, template = archive.read(file), ROOT / f"templates/{PurePosixPath(file).name}"
                    same = template.exists() and body(template) == json.loads(data)
                    history[-1][2] = f"#{fnv1a(data)}" if same else ""
        lines += [" ".join([distribution, word, *(f"{since}={file}{digest}" for since, file, digest in history)]) for word, history in words.items()]
    return sorted(lines)


def main():
    write_table(__doc__, table, "shipped_configs.txt")
