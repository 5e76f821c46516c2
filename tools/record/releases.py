"""New releases of DeepSpeed and the trainers, all tables at once: downloads, records, prints what changed.

The wheels are kept in a folder, so that the next run downloads only what is new. Versions that are recorded are read again. Of the newer ones, the last
release of each minor version of transformers is read, and all of the others. DeepSpeed's new versions are installed and asked (`schema`), and `explain` prints entries for its new keys. Then read the diff, and run the tests.
"""
import importlib
import os
import re
import subprocess
import sys
import urllib.parse
import urllib.request
from pathlib import Path

from harness import CACHE, DEEPSPEED_VERSIONS, ROOT, Arguments
from pip._internal.models.index import PyPI
from sources import number

RECORDED = ROOT / "src/recorded"
TRAINERS = ["transformers", "ms-swift", "trl", "llamafactory", "axolotl", "xtuner"]


def released(distribution):
    """The final releases on the package index, the oldest first."""
    listed = subprocess.run([sys.executable, "-m", "pip", "index", "versions", distribution], check=True, capture_output=True, text=True).stdout
    found = re.search(r"Available versions: (.*)", listed)[1].split(", ")
    return sorted((version for version in found if re.fullmatch(r"[\d.]+", version)), key=number)


def wanted(distribution):
    """What the tables were made from, as far as they say it; and what came later."""
    lines = [line.split() for name in ("arguments", "defaults") for line in (RECORDED / f"{name}.txt").read_text().splitlines() if line.startswith(f"{distribution} * ")]
    known = sorted({version for line in lines for version in line[2:]}, key=number)
    newer = [version for version in released(distribution) if not known or number(version) > number(known[-1])]
    if distribution == "transformers":
        newer = list({number(version)[:2]: version for version in newer}.values())
    return known, newer


def download(distribution, version, folder):
    """Its wheel, or else its source distribution, which pip would build to learn what it needs: it is fetched as a file."""
    name = f"{distribution.replace('-', '_')}-{version}"
    if any(folder.glob(f"{name}-*.whl")) or any(folder.glob(f"{name}.tar.gz")):
        return
    pip = [sys.executable, "-m", "pip"]
    words = ["download", "--quiet", "--no-deps", "--ignore-requires-python", "--only-binary", ":all:", "--dest", folder, f"{distribution}=={version}"]
    if subprocess.run([*pip, *words], stderr=subprocess.DEVNULL).returncode == 0:
        return
    configured = subprocess.run([*pip, "config", "get", "global.index-url"], capture_output=True, text=True).stdout.strip()
    page = f"{(os.environ.get('PIP_INDEX_URL') or configured or PyPI.simple_url).rstrip('/')}/{distribution}/"
    with urllib.request.urlopen(page) as answer:
        link = re.search(rf'href="([^"#]*/{re.escape(name)}\.tar\.gz)', answer.read().decode())
    if link:
        urllib.request.urlretrieve(urllib.parse.urljoin(page, link[1]), folder / f"{name}.tar.gz")


def main():
    parser = Arguments(__doc__)
    parser.add_argument("wheels", nargs="?", type=Path, default=CACHE / "wheels", metavar="WHEELS", help="the folder with the wheels (default: %(default)s)")
    options = parser.parse_args()
    options.wheels.mkdir(parents=True, exist_ok=True)
    versions = {distribution: wanted(distribution) for distribution in TRAINERS}
    # The tables name no version of xtuner: it is read again with the others.
    has_new = any(newer for known, newer in versions.values() if known)
    for distribution, (known, newer) in versions.items():
        print(f"{distribution}: {len(newer)} new {' '.join(newer)}", flush=True)
        for version in [*known, *newer] if has_new else []:
            download(distribution, version, options.wheels)
    newer = [version for version in released("deepspeed") if number(version) > number(DEEPSPEED_VERSIONS[-1])]
    print(f"deepspeed: {len(newer)} new {' '.join(newer)}", flush=True)
    steps = [(name, [options.wheels]) for name in ("arguments", "defaults", "shipped") if has_new]
    for name, words in [*steps, *([("schema", newer), ("explain", [])] if newer else [])]:
        sys.argv = [f"tools/record {name}", *map(str, words)]
        importlib.import_module(name).main()
    print(subprocess.run(["git", "diff", "--stat", "--", "src"], cwd=ROOT, check=True, capture_output=True, text=True).stdout or "nothing changed")


if __name__ == "__main__":
    main()
