#!/usr/bin/env python3
"""Training scripts of published packages are planned, and each answer is the one that was read against the script.

usage: public_scripts.py FOLDER [NAME]

FOLDER holds the packages that public_scripts.txt names; those that are missing are fetched from pip's index. Only their sources are unpacked, and none is run or imported. A check is a
package. The answer to a command is the front end; whether the batch size is filled, left "auto" or not in the config; and how the config reaches the script. `--record` writes the answers of
this zlaunch into the list: read the difference.
"""
import concurrent.futures
import html
import json
import os
import re
import shlex
import subprocess
import tarfile
import tempfile
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path

from harness import HERE, Arguments, Checks

LIST = HERE / "public_scripts.txt"
BATCH = "train_micro_batch_size_per_gpu"


def listed():
    """{package: [(command, answer)]}, in the order of the list."""
    blocks = re.findall(r"(?m)^([^ #\n].*)\n((?:  .*\n)*)", LIST.read_text())
    return {package: [tuple(row.strip().split(" => ")) if " => " in row else (row.strip(), "") for row in rows.splitlines()] for package, rows in blocks}


def fetch(package, folder):
    from pip._internal.models.index import PyPI

    project = re.sub("[-_.]+", "-", re.match(r"(.+?)-\d", package)[1]).lower()
    index = f"{os.environ.get('PIP_INDEX_URL', PyPI.simple_url).rstrip('/')}/{project}/"
    page = urllib.request.urlopen(index).read().decode()
    address = next(found[1] for found in re.finditer(r'<a [^>]*href="([^"#]+)[^>]*>\s*([^<\s]+)', page) if found[2] == package)
    data = urllib.request.urlopen(urllib.parse.urljoin(index, html.unescape(address))).read()
    (folder / package).write_bytes(data)


def unpack(archive, folder):
    """The Python files; those of a source distribution without its outer folder."""
    if archive.name.endswith(".tar.gz"):
        opened = tarfile.open(archive)
        files = ((it.name.split("/", 1)[-1], lambda it=it: opened.extractfile(it).read()) for it in opened if it.isfile())
    else:
        opened = zipfile.ZipFile(archive)
        files = ((name, lambda name=name: opened.read(name)) for name in opened.namelist())
    for name, read in files:
        path = (folder / name).resolve()
        if name.endswith(".py") and path.is_relative_to(folder.resolve()):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(read())


def answer(binary, folder, command):
    """`python -m` runs what is below `src`, where a package has that folder."""
    below = folder / "src" if command.startswith("python -m") and (folder / "src").is_dir() else folder
    planned = subprocess.run([binary, "-n", "--format", "json", "--deepspeed", "zero2", "--nproc-per-node", "2", "--", *shlex.split(command)],
                             cwd=below, env={"PATH": os.environ["PATH"], "HOME": str(folder)}, capture_output=True, text=True)
    plan = json.loads(planned.stdout)
    if planned.returncode:
        return "refused: " + next(it["message"].splitlines()[0] for it in plan["diagnostics"] if it["severity"] == "error")
    left = {it["key"]: it["why"] for it in plan["left_auto"]}
    assert all(left.values()), left
    filled = "filled" if BATCH in {it["key"] for it in plan["fills"]} else "auto" if BATCH in left else "absent"
    config = plan["config_path"]
    words = [word.replace(config, "").rstrip("=") for word in plan["argv"]]
    by = next((words[at - 1] if word == config else words[at] for at, word in enumerate(plan["argv"]) if config in word), "variables")
    refused = any(it["rule"] == "no-such-option" for it in plan["diagnostics"])
    return f"{plan['trainer']['name']}, {filled}, {by}{' (no such option)' if refused else ''}"


def main():
    parser = Arguments(__doc__, "bin")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the packages are, or are put")
    parser.add_argument("names", nargs="*", metavar="NAME", help="these packages only")
    parser.add_argument("--record", action="store_true", help="write the answers into the list")
    options = parser.parse_args()
    packages = {name: rows for name, rows in listed().items() if not options.names or name in options.names}
    options.folder.mkdir(parents=True, exist_ok=True)
    missing = [name for name in packages if not (options.folder / name).exists()]
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda name: fetch(name, options.folder), missing))
    text, checks = LIST.read_text(), Checks()

    def compare(package, rows):
        nonlocal text
        with tempfile.TemporaryDirectory() as folder:
            unpack(options.folder / package, Path(folder))
            found = [(command, was, answer(options.bin, Path(folder), command)) for command, was in rows]
        for command, was, now in found if options.record else []:
            text = text.replace(f"  {command} => {was}\n" if was else f"  {command}\n", f"  {command} => {now}\n", 1)
        wrong = [f"{command}: {now}, not {was}" for command, was, now in found if now != was]
        assert options.record or not wrong, "\n".join(wrong)
        return f"{len(rows)} scripts"

    for package, rows in packages.items():
        checks.run(package, compare, package, rows)
    if options.record:
        LIST.write_text(text)
    checks.finish()


if __name__ == "__main__":
    main()
