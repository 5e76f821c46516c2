#!/usr/bin/env python3
"""DeepSpeed's own runner over pdsh and ssh, over `mpirun` and over `srun`: every word and every variable arrives as it was said.

The machines are names of this one, reached through an sshd of the test's own. The trainer records what it was given. Secrets must be in no
argument of any process: a shell in the place of `pdsh` and `mpirun` keeps what each was given, DeepSpeed's log is searched as well.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / folder) for folder in ("", "slurm")]

from harness import CACHE, PATIENCE, Arguments, Checks, Skip, environment, free_port, needs, port_was_taken  # noqa: E402
from cluster import PATH, Cluster  # noqa: E402
from installed import wheels  # noqa: E402
from ssh import Sshd  # noqa: E402

WORDS = ["--a", '{"a":1}', '{"a": 1, "b": "$HOME"}', "$(touch executed)", "`touch executed`", "", "it's", "two words", " ", 'a"b', '"', "\\", "\\\\ \\", "a\\ b", "$HOME",
         "~", "~/x", "*", "a;touch executed", "a&b", "a|b", "<x", ">executed", "(", ")", "#x", "!x", "!!", "100%", "%n", "%h %u", "%%n", "line\nfeed", "two\nlines here",
         "tab\there", "é数据", b"\xff\xfe".decode(errors="surrogateescape"), "--x=$(id)", "[a-z]*", "{a,b}", "=ls", "-", "--", "^a", "a=b", "'", "''", "$'x'", "\x1b[0m"]
SECRET = "hf_Abc$x`y\"z 'q' \\ %n end"
VARIABLES = {"PLAIN": "1", "SPACES": "  a  b ", "ODD": "a $HOME `id` \"q\" 'p' \\ %n %% ; #", "HF_TOKEN": SECRET, "MLFLOW_TRACKING_TOKEN": "ml-secret-123", "NCCL_DEBUG": "INFO",
             "NCCL_ODD": "a $HOME \"b\"", "EMPTY": "", "UNICODE": "é数", "TAB": "a\tb"}
RECORDER = """
import json, os, sys
from pathlib import Path
folder = Path(__file__).resolve().parent / "seen"
folder.mkdir(exist_ok=True)
seen = {"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd()}
rank = next(os.environ[name] for name in ("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PMI_RANK") if name in os.environ)
(folder / f"{rank}.json").write_text(json.dumps(seen))
"""
# Keeps the arguments of the program that it stands for.
KEEPER = """#!/bin/sh
for word in "$@"; do printf '%s\\n' "$word"; done >>{kept}
PATH={path} exec {program} "$@"
"""


class Lab:
    def __init__(self, folder, binary, env, sshd):
        self.folder, self.binary, self.env, self.sshd = folder, binary, env, sshd
        self.arguments = folder / "arguments"
        for name in ("home", "tmp"):
            (folder / name).mkdir(exist_ok=True)
        (folder / "home/train it's.py").write_text(RECORDER)
        (folder / "hosts").write_text("node1 slots=1\nnode2 slots=2\n")
        (folder / "equal").write_text("node1 slots=2\nnode2 slots=2\n")

    def keep(self, program, where):
        """Puts something in front of a program that writes down its arguments."""
        keeper = self.folder / "keepers" / program
        keeper.parent.mkdir(exist_ok=True)
        keeper.write_text(KEEPER.format(kept=self.arguments, program=where, path=f"{self.sshd.bin}:{Path(where).parent}:$PATH"))
        keeper.chmod(0o755)

    def launch(self, hosts, options, words, variables):
        """What each rank was given, and all that was printed."""
        for _ in range(3):
            shutil.rmtree(self.folder / "home/seen", ignore_errors=True)
            self.arguments.unlink(missing_ok=True)
            path = f"{self.folder}/keepers:{self.sshd.bin}:{self.env}/bin:/usr/sbin:/usr/bin:/sbin:/bin"
            environment = {"PATH": path, "HOME": str(self.folder / "home"), "LANG": "C.UTF-8", "PYTHONPATH": "/a b/$c", "MLFLOW_TRACKING_PASSWORD": "pw-of-mlflow",
                           "TMPDIR": str(self.folder / "tmp"),
                           "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
            setting = [word for name, value in variables.items() for word in ("--env", f"{name}={value}")]
            command = [self.binary, "--hostfile", self.folder / hosts, "--master-addr", "127.0.0.1", "--master-port", str(free_port()), *setting, *options,
                       "--", f"{self.env}/bin/python", "train it's.py", *words]
            ran = subprocess.run([os.fspath(word) for word in command], env=environment, cwd=self.folder / "home", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, errors="surrogateescape", timeout=PATIENCE)
            if not port_was_taken(ran.stdout):
                break
        seen = {file.stem: json.loads(file.read_text()) for file in (self.folder / "home/seen").glob("*.json")}
        return ran, seen

    def arrives(self, hosts, ranks, options=(), words=WORDS, variables=VARIABLES, secrets=("hf_Abc", "ml-secret", "pw-of-mlflow"), numbered=True):
        ran, seen = self.launch(hosts, options, words, variables)
        assert ran.returncode == 0 and sorted(seen) == [str(rank) for rank in range(ranks)], f"exit {ran.returncode}, ranks {sorted(seen)}\n{ran.stdout[-3000:]}"
        assert not (self.folder / "home/executed").exists(), "a word was executed"
        for rank, it in seen.items():
            different = [(said, came) for said, came in zip([*words, *[None] * 99], [*it["argv"], *[None] * 99]) if said != came]
            assert not different, f"rank {rank}: said and came: {different}"
            wrong = {name: it["env"].get(name) for name, value in variables.items() if it["env"].get(name) != value}
            assert not wrong, f"rank {rank}: {wrong}"
            assert it["env"]["MLFLOW_TRACKING_PASSWORD"] == "pw-of-mlflow", rank
            assert ("RANK" in it["env"]) == numbered, "`ranks-by-mpi` is not true any more"
        shown = ran.stdout + (self.arguments.read_text(errors="surrogateescape") if self.arguments.exists() else "")
        assert self.arguments.exists(), "nothing was kept of the arguments"
        assert not [secret for secret in secrets if secret in shown], f"a secret is shown:\n{shown[-3000:]}"
        return f"{ranks} ranks, {len(words)} words and {len(variables)} variables each"


def pdsh(folder, options, shell, env):
    needs("pdsh", shell)
    with Sshd(folder, shell) as sshd:
        lab = Lab(folder, options.bin, env, sshd)
        lab.keep("pdsh", shutil.which("pdsh"))
        return lab.arrives("hosts", 3)


def mpi(folder, options, name, runner=None):
    """No shell reads the words here; a lone `:` would begin another program, and zlaunch refuses it."""
    bin = wheels(name) / "bin"
    runner = runner or name.split("-")[0]
    with Sshd(folder) as sshd:
        lab = Lab(folder, options.bin, options.env, sshd)
        for program in ("mpirun", "ompi_info"):
            if (bin / program).exists():
                lab.keep(program, bin / program)
        if runner == "mvapich":
            # DeepSpeed asks which MVAPICH it is. Its `mpirun` is that of MPICH, on which it is built.
            asked = folder / "keepers/mpiname"
            asked.write_text("#!/bin/sh\necho MVAPICH2-GDR 2.3.7\n")
            asked.chmod(0o755)
        # Values that DeepSpeed quotes for a shell that is not there, or shows: zlaunch warns of those.
        variables = {name: value for name, value in VARIABLES.items() if name not in ("MLFLOW_TRACKING_TOKEN", "NCCL_ODD")}
        return lab.arrives("equal", 4, [f"--launcher-arg=--launcher={runner}"], WORDS, variables, ("hf_Abc",), runner in ("mpich", "impi"))


def slurm(folder, options):
    """No shell reads the words here, and srun takes off the quotes that DeepSpeed puts around a value with a blank."""
    with Cluster() as cluster:
        home = cluster.folder / "home"
        (home / "train it's.py").write_text(RECORDER)
        (folder / "equal").write_text("node01 slots=2\nnode02 slots=2\n")
        (folder / "tmp").mkdir()
        variables = {name: value for name, value in VARIABLES.items() if name not in ("MLFLOW_TRACKING_TOKEN", "NCCL_ODD")} | {"UCX_NET_DEVICES": "a,b", "UCX_BLANK": "a b"}
        setting = [word for name, value in variables.items() for word in ("--env", f"{name}={value}")]
        # The login machine reaches no other by ssh.
        runner = ["--launcher-arg=--launcher=slurm", "--launcher-arg=--no_ssh_check", "--master-addr", "node01"]
        command = ["salloc", "-w", "node[01-02]", "-N2", "--ntasks-per-node=2", options.bin, "--hostfile", folder / "equal", *runner, *setting, "--",
                   options.env / "bin/python", "train it's.py", *WORDS]
        ran = cluster.run(command, PATH=f"{options.env}/bin:{PATH}", TMPDIR=folder / "tmp")
        seen = {file.stem: json.loads(file.read_text()) for file in (home / "seen").glob("*.json")}
        assert ran.returncode == 0 and sorted(seen) == list("0123"), f"exit {ran.returncode}, ranks {sorted(seen)}\n{ran.stdout[-3000:]}"
        for rank, it in seen.items():
            assert it["argv"] == WORDS, f"rank {rank}: {it['argv']}"
            wrong = {name: it["env"].get(name) for name, value in variables.items() if it["env"].get(name) != value}
            assert not wrong, f"rank {rank}: {wrong}"
            assert "RANK" not in it["env"], "the runner numbers the ranks, and `ranks-by-mpi` is not true any more"
        assert "hf_Abc" not in ran.stdout, ran.stdout[-3000:]
        return f"{len(seen)} ranks, {len(WORDS)} words and {len(variables)} variables each"


def main():
    arguments = Arguments(__doc__, "bin", "env", "names")
    arguments.add_argument("--short", action="store_true", help="one version of DeepSpeed and one shell")
    options = arguments.parse_args()
    checks = Checks(options.names)
    CACHE.mkdir(parents=True, exist_ok=True)
    # No temporary folder: other machines would not see what is in one, and zlaunch says so.
    folder = Path(tempfile.mkdtemp(prefix="runner-", dir=CACHE))
    try:
        shells, versions = (["dash"], [None]) if options.short else (["bash", "dash", "zsh"], [None, "0.14.5", "0.16.9"])
        for version in versions:
            env = environment(f"deepspeed-{version}") if version else options.env
            for shell in shells if version is None else shells[:1]:
                within = folder / f"{version}-{shell}"
                within.mkdir()
                checks.run(f"pdsh-{shell}" + (f"-deepspeed-{version}" if version else ""), pdsh, within, options, shell, env)
        for name in [] if options.short else ["openmpi-4", "openmpi-5", "mpich-4", "mpich-5", "impi"]:
            within = folder / name
            within.mkdir()
            checks.run(name, mpi, within, options, name)
        if not options.short:
            within = folder / "mvapich"
            within.mkdir()
            checks.run("mvapich", mpi, within, options, "mpich-4", "mvapich")
        if not options.short:
            within = folder / "slurm"
            within.mkdir()
            checks.run("slurm", slurm, within, options)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    checks.finish()


if __name__ == "__main__":
    main()
