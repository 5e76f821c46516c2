"""`python -m zlaunch` runs the executable installed with this package."""
import os
import sys

from ._executable import places


def main() -> int:
    looked = places()
    there = [program for program in looked if os.path.isfile(program)]
    what = "is not installed"
    for program in there:
        try:
            os.execv(program, [program, *sys.argv[1:]])
        except OSError as why:
            what = f"cannot be executed: {why.strerror}"
    print(f"error: the executable of zlaunch {what}", file=sys.stderr)
    for program in there or looked:
        print(f"  --> {program}", file=sys.stderr)
    print("  help: pip install --force-reinstall zlaunch", file=sys.stderr)
    return 126 if there else 127


if __name__ == "__main__":
    sys.exit(main())
