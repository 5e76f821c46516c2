#!/usr/bin/env python3
"""Which program has a name? Says so in tests/data/names-of-programs.txt, for names in tables that no test, document or recording has.

`cargo test` tells such names: one that nobody else writes may be misspelt, and then its row is off in silence. One that begins or ends with `_` is a part of a name. They are
sought in the packages of the cached environments, those that matter most first, in packages that are downloaded for it, and in what programs say about their options.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

from harness import ROOT, Arguments, environment

KEPT = ROOT / "tests/data/names-of-programs.txt"
FIRST = "deepspeed torch transformers accelerate trl peft swift llamafactory datasets nvidia".split()


def packages(downloaded, folder):
    for package in downloaded:
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", f"{folder}/{package}", package], check=True)
        yield package, f"{folder}/{package}"
    sites = [site for which in ((), ("llamafactory",)) for site in pathlib.Path(environment(*which)).glob("lib/python*/site-packages")]
    installed = [path for site in sites for path in site.iterdir() if not path.name.endswith((".dist-info", ".pth"))]
    order = lambda path: (FIRST.index(path.name) if path.name in FIRST else len(FIRST), path.name)
    yield from ((path.name.removesuffix(".py"), path) for path in sorted(installed, key=order))


def pattern(names):
    edge = r"\b"
    return "|".join(f"{'' if name.startswith('_') else edge}{re.escape(name)}{'' if name.endswith('_') else edge}" for name in sorted(names))


def names_below(package, wanted):
    """Bytecode would only say again what the sources say."""
    grep = lambda *how, sought: set(subprocess.run(["grep", "-rhao", *how, "--exclude-dir=__pycache__", package], input=sought, capture_output=True, text=True,
                                                   errors="ignore", env={"LC_ALL": "C"}).stdout.split("\n")) & wanted
    # Plain texts are found much faster; then the few that are there, as whole names.
    likely = grep("-Ff", "-", sought="\n".join(wanted))
    return grep("-Ef", "-", sought=pattern(likely)) if likely else likely


def main():
    parser = Arguments(__doc__)
    parser.add_argument("--help-of", action="append", default=[], metavar="PROGRAM", help="a program, with its subcommand: \"docker run\"")
    parser.add_argument("--package", action="append", default=[], help="one that is downloaded, and searched first")
    parser.add_argument("names", nargs="+")
    options = parser.parse_args()
    wanted, found = set(options.names), {}
    for line in KEPT.read_text().splitlines() if KEPT.exists() else []:
        where, _, names = line.partition(": ")
        found[where] = set(names.split())

    def keep(where, names):
        if names:
            found.setdefault(where, set()).update(names)
            wanted.difference_update(names)

    for program in options.help_of:
        ran = subprocess.run([*program.split(), "--help"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        keep(f"{program} --help", set(re.findall(pattern(wanted), ran.stdout)))
    with tempfile.TemporaryDirectory() as folder:
        for name, package in packages(options.package, folder):
            if wanted:
                keep(name, names_below(package, wanted))
    KEPT.write_text("".join(f"{where}: {' '.join(sorted(names))}\n" for where, names in sorted(found.items())))
    print("found nowhere:", *sorted(wanted))
    sys.exit(bool(wanted))


if __name__ == "__main__":
    main()
