"""What every script of this folder shares: its arguments, how it says what passed, and how it waits.

A script takes `--bin`, `--env`, `--corpus` and names of checks as far as it needs them, prints `ok NAME` or `FAILED NAME: why` for each check
and at the end `N passed, M failed`, with the number skipped if there is one. The names are those that it takes. The exit status is 1 if
anything failed. Checks by the thousand are counted without a line each; one that fails has its line.
"""
import argparse
import contextlib
import dataclasses
import fcntl
import hashlib
import importlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# The versions of DeepSpeed whose keys are recorded, and the last one of every line.
DEEPSPEED_VERSIONS = (ROOT / "src/recorded/deepspeed-versions.txt").read_text().split()
DEEPSPEED_LINES = list({version.rpartition(".")[0]: version for version in DEEPSPEED_VERSIONS}.values())
# What takes long to make is kept there.
CACHE = Path(os.environ.get("ZLAUNCH_REAL_ENV") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "zlaunch-real")
# Where a script runs under `nohup`, the programs it starts would inherit that SIGHUP is ignored. One that is handled is reset for them.
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)
# Long enough for a machine that is busy with other work: whoever waits goes on as soon as it can.
PATIENCE = 180
# Of many cases that fail for one reason the first ones say enough.
SHOWN = 40
# How many checks of a script may run a second time.
REPEATED = 3


@dataclasses.dataclass
class Case:
    """A block of a file of cases: rows, each a word and what stands behind it, and files."""
    rows: list
    files: dict

    def all(self, name):
        return [rest for first, rest in self.rows if first == name]

    def one(self, name, default=""):
        return (self.all(name) or [default])[0]


def read_cases(path):
    """{title: block} of a file: `= TITLE`, then rows, then files, each behind `--- NAME`. Lines with `#` between them are comments."""
    found = {}
    for block in re.split(r"^= ", path.read_text(), flags=re.M)[1:]:
        head, *files = re.split(r"^--- ", block, flags=re.M)
        title, *rows = [line for line in head.splitlines() if line and not line.startswith("#")]
        texts = {name.split(" ")[0]: text.rstrip("\n") + ("" if " (no newline" in name else "\n") for name, _, text in (file.partition("\n") for file in files)}
        found[title] = Case([(first, rest.strip()) for first, _, rest in (row.partition(" ") for row in rows)], texts)
    return found


class Skip(Exception):
    """This machine cannot run the check, and why."""


class Arguments(argparse.ArgumentParser):
    """The arguments of a script; `common` names those that many scripts have."""

    def __init__(self, document, *common):
        super().__init__(description=document, formatter_class=argparse.RawDescriptionHelpFormatter)
        if "bin" in common:
            self.add_argument("--bin", type=Path, default=ROOT / "target/release/zlaunch", metavar="FILE", help="the zlaunch to try (default: target/release/zlaunch)")
        if "env" in common:
            self.add_argument("--env", type=Path, metavar="FOLDER", help="the environment with the real trainers (default: what tests/real/setup prints)")
        if "corpus" in common:
            beside = ROOT.parent / "shared/corpus"
            self.add_argument("--corpus", type=Path, default=beside if beside.exists() else None, metavar="FOLDER",
                              help="public commands and configs (default: ../shared/corpus, if it is there)")
        if "names" in common:
            self.add_argument("names", nargs="*", metavar="NAME", help="run these checks only")

    def parse_args(self, *given):
        options = super().parse_args(*given)
        if getattr(options, "bin", None):
            options.bin = options.bin.resolve()
            if not options.bin.exists():
                self.error(f"{options.bin} is not there: run `cargo build --release` or name another with --bin")
        if "env" in options:
            options.env = environment() if options.env is None else options.env and options.env.resolve()
        return options


def environment(*which):
    """The folder of a cached environment; made first where it is missing, which takes minutes."""
    return Path(subprocess.run([HERE / "setup", *which], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()).resolve()


# The checks of the script: a name, a function, and what it gets besides.
CHECKS = []


def check(function):
    """Makes a function a check of the script that it stands in, with the function's name."""
    CHECKS.append((function.__name__, function, {}))
    return function


def check_each(table):
    """Makes a function a check for every row of a table, with the row's name."""
    def register(function):
        CHECKS.extend((name, function, row) for name, row in table.items())
        return function
    return register


def run_checks(document, *common, make=lambda options, folder: options, **more):
    """The whole of a script: its checks get what is made from the options, in a folder that goes. What is given besides are options with their defaults."""
    parser = Arguments(document, *common, "names")
    for name, default in more.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    options = parser.parse_args()
    checks = Checks(options.names)
    with tempfile.TemporaryDirectory(prefix="zlaunch-real-", ignore_cleanup_errors=True) as folder:
        try:
            made = make(options, Path(folder).resolve())
        except Skip as why:
            checks.skip_all("everything", why)
            checks.finish()
        checks.run_all(made)
        if hasattr(made, "stop"):
            made.stop()
    checks.finish()


def complaint(why):
    return str(why) if isinstance(why, AssertionError) and why.args else traceback.format_exc()


class Checks:
    """Runs checks and counts them. With names, it runs those only."""

    def __init__(self, names=()):
        self.wanted, self.seen = set(names), set()
        self.passed = self.failed = self.skipped = self.repeated = 0
        # The first line about each check, for those who want to say it again at the end.
        self.lines = []

    def wants(self, name):
        self.seen.add(name)
        return not self.wanted or name in self.wanted

    def run(self, name, function, /, *given, **more):
        """What the function returns stands behind the name in the check's line. A check that fails is run a second time, and says so:
        real schedulers and launchers have races of their own. If many fail, it is not that."""
        if not self.wants(name):
            return
        start = time.monotonic()
        try:
            try:
                note = function(*given, **more)
            except Skip:
                raise
            except Exception as why:
                if self.repeated == REPEATED:
                    raise
                self.repeated += 1
                self.say(f"again {name}: {complaint(why)}")
                note = function(*given, **more)
        except Skip as why:
            self.skip(name, why)
        except Exception as why:
            self.fail(name, complaint(why))
        else:
            self.passed += 1
            took = time.monotonic() - start
            self.say(f"ok {name}{f' ({took:.1f} s)' if took >= 0.05 else ''}{f': {note}' if note else ''}")

    def run_all(self, *given):
        """Every check that `@check` marked."""
        for name, function, row in CHECKS:
            self.run(name, function, *given, **row)

    def judge(self, name, wrong):
        """One of many: nothing is printed if nothing is wrong."""
        if not wrong:
            self.passed += 1
        elif self.failed < SHOWN:
            self.fail(name, wrong)
        else:
            self.failed += 1

    def fail(self, name, why):
        self.failed += 1
        self.say(f"FAILED {name}: {why}")

    def skip(self, name, why):
        self.skipped += 1
        self.say(f"skipped {name}: {why}")

    def say(self, text):
        self.lines.append(text.splitlines()[0])
        print(text, flush=True)

    def skip_all(self, name, why):
        """Nothing of the script can run here."""
        self.wanted = set()
        self.skip(name, why)

    def finish(self):
        """Prints the last line and ends the script."""
        for name in sorted(self.wanted - self.seen):
            self.fail(name, "there is no check of this name")
        if not self.passed + self.failed + self.skipped:
            self.fail("everything", "nothing was checked")
        print(f"{self.passed} passed, {self.failed} failed" + (f", {self.skipped} skipped" if self.skipped else ""), flush=True)
        sys.exit(1 if self.failed else 0)


def needs(*programs):
    """Skips the check where a program is missing and cannot be installed."""
    packages = {"unshare": "util-linux", "setpriv": "util-linux", "prlimit": "util-linux"}
    for program in programs:
        if not shutil.which(program) and shutil.which("apt-get"):
            subprocess.run(["apt-get", "install", "-qq", "-y", packages.get(program, program)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if not shutil.which(program):
            raise Skip(f"{program} is not installed")


INSIDE = "TEST_INSIDE"


def enter(*namespaces):
    """Runs this script again in namespaces of its own, which take everything with them; returns there. What it needs of the network must be on this machine before."""
    if os.environ.pop(INSIDE, None):
        return
    if os.geteuid():
        raise Skip("only root gets namespaces")
    needs("unshare")
    words = ["unshare", *namespaces]
    if subprocess.run([*words, "true"], stderr=subprocess.DEVNULL).returncode:
        raise Skip("this kernel gives no namespaces")
    sys.stdout.flush()
    sys.exit(subprocess.run([*words, sys.executable, *sys.argv], env=os.environ | {INSIDE: "1"}).returncode)


def kept(make, name, *ingredients):
    """A folder of the cache for what is made from these; made by one, while others wait."""
    folder = CACHE / f"{name}-{hashlib.sha256(repr(ingredients).encode()).hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            (folder / "complete").write_text(make(folder) or "")
    return folder


def run(*argv, status=0, **more):
    """A command that must end like this; what it printed."""
    result = subprocess.run([str(word) for word in argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    assert result.returncode == status, f"{argv}: exit {result.returncode}\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}"
    return result


def ended(argv, env, cwd, limit=PATIENCE):
    """The status of a command in a session of its own ("timeout", if it did not end), and what it printed. Whatever is left of it then is killed."""
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen([str(word) for word in argv], env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            status = "timeout"
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        output.seek(0)
        return status, output.read()


def programs(name):
    """An environment with what requirements-NAME.txt pins, kept beside those of `setup`."""
    pins = HERE / f"requirements-{name}.txt"

    def make(folder):
        run(sys.executable, "-m", "venv", "--clear", folder / "env")
        run(folder / "env/bin/pip", "install", "--quiet", "--requirement", pins)
    return kept(make, name, pins.read_text(), sys.version_info[:2]) / "env"


def import_from(name, module):
    """A module of such an environment."""
    sys.path[:0] = [str(path) for path in programs(name).glob("lib/python*/site-packages")]
    return importlib.import_module(module)


def mirror():
    """Where this machine's packages come from."""
    sites = run("apt-get", "indextargets", "--format", "$(REPO_URI) $(ORIGIN)", "Created-By: Packages").stdout.splitlines()
    return next(line.split()[0] for line in sites if line.endswith(" Debian"))


def blocks(document, info):
    """The lines of every block of this kind in a document, each with its number."""
    found, block = [], None
    for number, line in enumerate(document.read_text().splitlines(), 1):
        if block is None and line == f"```{info}":
            block = []
        elif block is not None and line == "```":
            found.append(block)
            block = None
        elif block is not None:
            block.append((number, line))
    return found


def until(condition, complaint, seconds=PATIENCE):
    """Waits until the condition gives something true, and returns it. The complaint may be a function."""
    limit = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < limit, f"{complaint() if callable(complaint) else complaint} (after {seconds} s)"
        time.sleep(0.03)
    return found


def free_port():
    """Nobody listens on it now. Somebody else may take it before it is used: see `port_was_taken`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def port_was_taken(output):
    """Whether a program says that it lost its port to somebody: then it is tried again."""
    return "EADDRINUSE" in output or "address already in use" in output.lower()


def torch_aborted_at_exit(output):
    """Whether torch ended in a thread of its own that nobody joined. It is a race of its shutdown, now and then, with or without zlaunch."""
    return "terminate called without an active exception" in output


def in_parallel():
    """How many checks may run side by side."""
    return os.cpu_count() or 1
