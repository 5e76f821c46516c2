"""Finds the executable installed with this package."""
import os
import sys
import sysconfig
from typing import Iterator, List


def _folders() -> Iterator[str]:
    """Where installers put scripts: this environment, `--user`, then beside this package (`--target`, `--prefix`)."""
    yield sysconfig.get_path("scripts")
    yield os.path.dirname(sys.executable)
    yield sysconfig.get_path("scripts", "posix_user")
    packages = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    yield os.path.join(packages, "bin")
    yield os.path.join(packages, "../../../bin")


def places() -> List[str]:
    """Every place where it may be, most likely first."""
    return [os.path.join(folder, "zlaunch") for folder in _folders() if folder]
