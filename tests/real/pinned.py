"""The tools of `requirements-editor.txt`, kept beside the environments of `setup`, and commands that must end well."""
import subprocess
import sys

from harness import HERE, kept

PINS = HERE / "requirements-editor.txt"


def tools():
    """The folder of their environment."""
    def make(folder):
        subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
        subprocess.run([folder / "env/bin/pip", "install", "--quiet", "--requirement", PINS], check=True)
    return kept(make, "editor", PINS.read_text(), sys.version_info[:2]) / "env"


def use_tools():
    """Lets this script import them."""
    sys.path[:0] = [str(path) for path in tools().glob("lib/python*/site-packages")]


def run(*argv, status=0, **more):
    """A command that must end like this; what it printed."""
    result = subprocess.run([str(word) for word in argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    assert result.returncode == status, f"{argv}: exit {result.returncode}\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}"
    return result
