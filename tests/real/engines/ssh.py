"""Machines to reach by ssh: an sshd of this test's own on a free port of the loopback, under as many names as are wanted.

`ssh` must be found in `Sshd.bin` first: DeepSpeed, pdsh and every `mpirun` start the `ssh` of PATH, and this one knows the names.
"""
import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import free_port, needs, until  # noqa: E402
from installed import unpacked  # noqa: E402

PACKAGES = ["openssh-server", "libwrap0"]


class Sshd:
    """`with Sshd(folder) as sshd`: one that starts each command with `shell`, as if that were the login shell."""

    def __init__(self, folder, shell="bash"):
        self.folder, self.shell, self.process = Path(folder) / f"sshd-{shell}", shell, None
        self.bin = self.folder / "bin"

    def __enter__(self):
        needs("ssh")
        self.folder.mkdir()
        for key in ("host", "key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / key], check=True)
        self.wrapper()
        # Somebody else may take the port in between: then another one is tried.
        until(self.start, lambda: f"sshd did not start: {self.log()}")
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def log(self):
        log = self.folder / "log"
        return log.read_text() if log.exists() else ""

    def wrapper(self):
        self.bin.mkdir()
        ssh = self.bin / "ssh"
        ssh.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {self.folder}/ssh_config "$@"\n')
        ssh.chmod(0o755)

    def start(self):
        self.port = free_port()
        (self.folder / "sshd_config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {self.folder}/host\nAuthorizedKeysFile {self.folder}/key.pub\nPidFile none\nUsePAM no\n"
            f"StrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\nMaxStartups 500\nMaxSessions 500\n"
            f'ForceCommand exec {shutil.which(self.shell)} -c "$SSH_ORIGINAL_COMMAND"\n')
        (self.folder / "ssh_config").write_text(
            f"Host *\n  HostName 127.0.0.1\n  Port {self.port}\n  IdentityFile {self.folder}/key\n  IdentitiesOnly yes\n  UserKnownHostsFile /dev/null\n"
            "  StrictHostKeyChecking no\n  LogLevel ERROR\n")
        program, env = sshd()
        log = open(self.folder / "log", "w")
        self.process = subprocess.Popen([program, "-D", "-e", "-f", self.folder / "sshd_config"], env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                        start_new_session=True)
        until(lambda: "Server listening" in self.log() or self.process.poll() is not None, "sshd says nothing")
        return self.process.poll() is None


def sshd():
    """The program and its environment. Started by root, it wants a user and a folder that its package would make."""
    env = dict(os.environ)
    program = shutil.which("sshd", path="/usr/sbin:/usr/bin")
    if not program:
        root = unpacked("sshd", PACKAGES)
        program = root / "usr/sbin/sshd"
        env["LD_LIBRARY_PATH"] = str(next(root.glob("usr/lib/*/libwrap.so.0")).parent)
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        if subprocess.run(["getent", "passwd", "sshd"], stdout=subprocess.DEVNULL).returncode:
            subprocess.run(["useradd", "--system", "--no-create-home", "--home-dir", "/run/sshd", "--shell", "/usr/sbin/nologin", "sshd"], check=True)
    return program, env
