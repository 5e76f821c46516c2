#!/usr/bin/env python3
"""DeepSpeed's own runner over pdsh and ssh: every word and every variable arrives as it was said.
pdsh gets the words and the values that survive the shells; zlaunch refuses each of the others, and every secret.

The machines are names of this one, reached through an sshd of the test's own. The trainer records what it was given.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import CACHE, PATIENCE, Arguments, Checks, environment, free_port, needs, port_was_taken  # noqa: E402
from meeting import AS_ROOT  # noqa: E402
from ssh import Sshd  # noqa: E402

WORDS = ["--a", '{"a":1}', '{"a": 1, "b": "$HOME"}', "$(touch executed)", "`touch executed`", "", "it's", "two words", " ", 'a"b', '"', "\\", "\\\\ \\", "a\\ b", "$HOME",
         "~", "~/x", "*", "a;touch executed", "a&b", "a|b", "<x", ">executed", "(", ")", "#x", "!x", "!!", "100%", "%n", "%h %u", "%%n", "line\nfeed", "two\nlines here",
         "tab\there", "é数据", b"\xff\xfe".decode(errors="surrogateescape"), "--x=$(id)", "[a-z]*", "{a,b}", "=ls", "-", "--", "^a", "a=b", "'", "''", "$'x'", "\x1b[0m"]
# Those that arrive behind pdsh and a shell: DeepSpeed itself quotes an argument with a blank.
PLAIN = ["--a", '{"a": 1}', "two words", " ", 'a "b"', "it's here", "a; b", "!x", "!!", "two\nlines here", "é数据", "-", "--", "^a", "a=b"]
VARIABLES = {"PLAIN": "1", "NCCL_DEBUG": "INFO", "NCCL_IB_HCA": "^mlx5_0", "EMPTY": "", "UNICODE": "é数"}
REFUSED = {"SPACES": "  a  b ", "ODD": "a $HOME `id` \"q\" 'p' \\ %n %% ; #", "NCCL_ODD": "a $HOME \"b\"", "TAB": "a\tb", "HF_TOKEN": "hf_Abc", "MLFLOW_TRACKING_TOKEN": "ml-secret-123"}
RECORDER = """
import json, os, sys
from pathlib import Path
folder = Path(__file__).resolve().parent / "seen"
folder.mkdir(exist_ok=True)
seen = {"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd()}
rank = next(os.environ[name] for name in ("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PMI_RANK") if name in os.environ)
(folder / f"{rank}.json").write_text(json.dumps(seen))
"""


def came_whole(ran, folder, ranks, words, variables):
    """What each rank recorded is what was said."""
    seen = {file.stem: json.loads(file.read_text()) for file in folder.glob("*.json")}
    assert ran.returncode == 0 and sorted(seen) == [str(rank) for rank in range(ranks)], f"exit {ran.returncode}, ranks {sorted(seen)}\n{ran.stdout[-3000:]}"
    assert not (folder.parent / "executed").exists(), "a word was executed"
    for rank, it in seen.items():
        assert it["argv"] == words, f"rank {rank}: said and came: {[pair for pair in zip(words, it['argv']) if pair[0] != pair[1]]}, {len(it['argv'])} words"
        wrong = {name: it["env"].get(name) for name, value in variables.items() if it["env"].get(name) != value}
        assert not wrong, f"rank {rank}: {wrong}"
        assert "RANK" in it["env"], f"rank {rank} has no number"


class Lab:
    def __init__(self, folder, binary, env, shell="bash"):
        self.folder, self.binary, self.env, self.sshd = folder, binary, env, Sshd(folder, shell)
        self.home = folder / "home"
        for name in ("home", "tmp"):
            (folder / name).mkdir(parents=True)
        (self.home / "train.py").write_text(RECORDER)

    def launch(self, options, variables, words, script):
        path = f"{self.sshd.bin}:{self.env}/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        given = {"PATH": path, "HOME": str(self.home), "LANG": "C.UTF-8", "PYTHONPATH": "/a", "TMPDIR": str(self.folder / "tmp")} | AS_ROOT
        setting = [word for name, value in variables.items() for word in ("--env", f"{name}={value}")]
        for _ in range(3):
            shutil.rmtree(self.home / "seen", ignore_errors=True)
            command = [self.binary, "--hostfile", self.folder / "hosts", "--master-addr", "127.0.0.1", "--master-port", str(free_port()), *setting, *options,
                       "--", f"{self.env}/bin/python", script, *words]
            ran = subprocess.run([os.fspath(word) for word in command], env=given, cwd=self.home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 errors="surrogateescape", timeout=PATIENCE)
            if not port_was_taken(ran.stdout):
                break
        return ran

    def arrives(self, slots, words, script, variables=VARIABLES):
        (self.folder / "hosts").write_text("".join(f"node{at} slots={count}\n" for at, count in enumerate(slots, 1)))
        with self.sshd:
            ran = self.launch([], variables, words, script)
        came_whole(ran, self.home / "seen", sum(slots), words, variables)
        return f"{sum(slots)} ranks, {len(words)} words and {len(variables)} variables each"

    def refuses(self, word):
        ran = self.launch(["--dry-run"], {}, [word], "train.py")
        assert ran.returncode == 125 and "would be read by the shell on every machine" in ran.stdout, f"{word}: {ran.stdout}"

    def refuses_variable(self, name, value):
        ran = self.launch(["--dry-run"], {name: value}, [], "train.py")
        assert ran.returncode == 125 and f"cannot hand on {name}" in ran.stdout and "secret-123" not in ran.stdout, f"{name}: {ran.stdout}"


def pdsh(folder, options, shell, version=None):
    needs("pdsh", shell)
    lab = Lab(folder, options.bin, environment(f"deepspeed-{version}") if version else options.env, shell)
    arrived = lab.arrives([1, 2], PLAIN, "train.py")
    refused = [word for word in WORDS if word not in PLAIN and set(word) & set("\"'\\$`;&|<>()*?{~#%\n\t") or word in ("", "=ls")]
    for word in refused:
        lab.refuses(word)
    for name, value in REFUSED.items():
        lab.refuses_variable(name, value)
    return f"{arrived}, {len(refused)} words and {len(REFUSED)} variables refused"


ALL = {f"pdsh-{shell}": (pdsh, shell) for shell in ("dash", "bash", "zsh")} | {f"pdsh-bash-deepspeed-{version}": (pdsh, "bash", version) for version in ("0.14.5", "0.16.9")}


def main():
    arguments = Arguments(__doc__, "bin", "env", "names")
    arguments.add_argument("--short", action="store_true", help="one version of DeepSpeed and one shell")
    options = arguments.parse_args()
    checks = Checks(options.names)
    CACHE.mkdir(parents=True, exist_ok=True)
    # No temporary folder: other machines would not see what is in one, and zlaunch says so.
    folder = Path(tempfile.mkdtemp(prefix="runner-", dir=CACHE))
    try:
        for name, (function, *more) in list(ALL.items())[:1 if options.short else None]:
            checks.run(name, function, folder / name, options, *more)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    checks.finish()


if __name__ == "__main__":
    main()
