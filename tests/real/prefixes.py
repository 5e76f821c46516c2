#!/usr/bin/env python3
"""The programs of src/command/prefix/tables/programs.rs and zlaunch agree on where their own words end and the command begins.

Every program that is here, or can be installed, runs a command that records its words, with each of its options in each spelling. What it
ran must be what zlaunch put itself in front of. A spelling that the real program does not take, or that this machine does not allow, says
nothing and is not counted; the line of a check names the options of which none was. The name of a check is its program. `--record` writes the words that real programs took
for their own into tests/data/prefixes.txt, which `cargo test` compares.
"""
import collections
import http.server
import json
import os
import re
import shlex
import shutil
import socketserver
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness import HERE, ROOT, Arguments, Case, Checks, Skip, in_parallel, needs, programs, read_cases, until

COMMAND = ["sft", "--deepspeed", "zero2", "--model", "m", "--output_dir", "a b"]
# Values to try for an option that is not in the table, until the program runs.
VALUES = ["0", "1", "none", "/dev/null", "root", "A=1"]


TRIALS = read_cases(HERE / "cases/prefixes.txt")
PACKAGES = dict(TRIALS["packages"].rows)


PROJECT = """
[project]
name = "x"
version = "1"
requires-python = ">=3.9"
[tool.poetry]
package-mode = false
[tool.hatch.envs.default]
skip-install = true
"""


RECORD = ROOT / "tests/data/prefixes.txt"
# Lines of words in front of the command, as real programs took them.
TAKEN = set()

# A block of the table: its programs, their options with a value and without.
Block = collections.namedtuple("Block", "names value switch")


def blocks():
    text = (ROOT / "src/command/prefix/tables/programs.rs").read_text()
    for row in re.findall(r"    PrefixProgram \{\n(.*?)\n    \}", text, re.S):
        fields = {name: re.findall(r'"(.*?)"', values) for name, values in re.findall(r"(\w+): &\[(.*?)\],", row, re.S)}
        yield Block(fields["names"], fields.get("with_value", []), fields.get("switches", []))


class Daemon(http.server.BaseHTTPRequestHandler):
    """As much of Docker's daemon as the real client needs to say what it would run."""
    address_string = log_message = lambda *_: "client"

    def do_GET(self):
        self.answer(200, {"Id": "box", "State": {"Running": True}, "Config": {}})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "{}")
        if body.get("Cmd"):
            self.server.record.write_text("".join(word + "\0" for word in body["Cmd"]))
        self.answer(500, {"message": "recorded"})

    do_HEAD = do_GET

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Api-Version": "1.44", "Content-Type": "application/json", "Content-Length": len(text)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)


class Bench:
    """A folder with a command that records its words, and the tools from PyPI."""

    def __init__(self, binary, tools, folder):
        self.binary, self.folder = binary, folder
        self.record, self.command, self.complaint = folder / "ran", folder / "swift", folder / "complaint"
        (folder / "home").mkdir()
        (folder / "pyproject.toml").write_text(PROJECT)
        (folder / "Pipfile").write_text("")
        (folder / ".env").write_text("")
        self.recorder(f"#!/bin/sh\nprintf '%s\\0' \"$0\" \"$@\" > {self.record}.new && mv {self.record}.new {self.record}\n")
        self.env = {"PATH": f"{tools}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:{os.environ['PATH']}", "HOME": str(folder / "home"), "LANG": "C.UTF-8",
                    "PIPENV_VENV_IN_PROJECT": "1", "PIPENV_PIPFILE": str(folder / "Pipfile"), "DOCKER_HOST": f"unix://{folder}/docker.sock"}

    def recorder(self, text):
        self.command.write_text(text)
        self.command.chmod(0o755)

    def daemon(self):
        server = socketserver.ThreadingUnixStreamServer(str(self.folder / "docker.sock"), Daemon)
        server.record, server.daemon_threads = self.record, True
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def ran(self, prefix):
        """The words that the real program ran behind its own, if it ran any."""
        self.record.unlink(missing_ok=True)
        program = subprocess.Popen([*prefix, self.command, *COMMAND], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(self.complaint, "wb"))
        try:
            status = program.wait(60)
        except subprocess.TimeoutExpired:
            # It waits for more than its command.
            program.kill()
            status = program.wait()
        if status == 0 and not self.record.exists():
            # It may have left it in the background.
            try:
                until(self.record.exists, "", seconds=1)
            except AssertionError:
                return None
        return self.record.read_text().split("\0")[:-1] if self.record.exists() else None

    def split(self, prefix):
        """The words that zlaunch puts itself in front of."""
        words = ["--nproc-per-node", "2", "--format", "json", "--", *prefix, self.command, *COMMAND]
        ask = lambda how: subprocess.run([self.binary, how, *words], cwd=self.folder, env=self.env, capture_output=True, text=True)
        done = ask("-n")
        if done.returncode == 0:
            return behind_zlaunch(json.loads(done.stdout)["argv"])
        # Refused, with the right order to paste.
        fixes = [fix for found in json.loads(ask("check").stdout)["diagnostics"] for fix in found["fixes"]]
        lines = [shlex.split(fix["run"]) for fix in fixes if " zlaunch " in fix.get("run", "")]
        assert lines, f"{shlex.join(prefix)}: exit {done.returncode}\n{done.stderr}"
        return behind_zlaunch(lines[0])

    def agrees(self, prefix):
        """Whether the real program ran the command; then zlaunch must have seen the same."""
        real = self.ran(prefix)
        if real is None:
            return False
        assert real == [str(self.command), *COMMAND], f"`{shlex.join(prefix)}` ran {real}"
        seen = self.split(prefix)
        # What an option with `key` in its name might have taken is not shown.
        hidden = [word if word == "***" else own for word, own in zip(seen or [], real)]
        assert seen == hidden and len(seen) == len(real), f"`{shlex.join(prefix)}`: zlaunch goes in front of {seen}"
        line = " ".join(prefix).replace(str(self.folder), "/folder").replace(sys.executable, "python3")
        # In the test, a space stands between words.
        if line.count(" ") == len(prefix) - 1:
            TAKEN.add(line)
        return True


def behind_zlaunch(words):
    at = [at for at, word in enumerate(words) if Path(word).name == "zlaunch"]
    return words[words.index("--", at[-1]) + 1:] if at else None


def spellings(option, value):
    return [[option, value], [f"{option}={value}" if option.startswith("--") else option + value]]


class Tried:
    """A program of a block at work."""

    def __init__(self, bench, block, name):
        self.bench, self.block, self.name = bench, block, name
        trial = TRIALS.get(block.names[0], Case([], {}))
        self.words, self.behind = [*name.split(), *trial.one("front").split()], [*trial.one("behind").split(), *trial.one("words").split()]
        self.values = dict(row.replace("PYTHON", sys.executable).split(" ", 1) for row in trial.all("value"))
        self.slow, few = bool(trial.all("slow")), trial.one("few").split()
        self.value_options, self.switches = [[option for option in options if not few or option in few] for options in (block.value, block.switch)]

    def agrees(self, *options):
        return self.bench.agrees([*self.words, *options, *self.behind])

    def runs(self, *options):
        return self.bench.ran([*self.words, *options, *self.behind]) is not None

    def value(self, option):
        values = [self.values[option]] if option in self.values else VALUES[:2 if self.slow else None]
        for value in values:
            if self.agrees(option, value):
                break
            if self.is_of_another_version():
                return False
        else:
            # With the value left out it would be the command that is taken for it.
            assert self.slow or not self.runs(option), f"{self.name} {option} takes no value"
            return False
        return self.slow or self.agrees(*spellings(option, value)[1]) or True

    def is_of_another_version(self):
        return re.search("unknown (shorthand )?flag|unrecognized option|invalid option", self.bench.complaint.read_text(errors="replace"))

    def switch(self, option):
        if self.agrees("-5" if option == "-#" else option):
            return True
        assert self.slow or self.is_of_another_version() or not self.runs(option, str(self.bench.command)), f"{self.name} {option} takes a value"
        return False

    def all(self):
        # Some say no to `--`.
        if not self.agrees():
            raise Skip(f"{self.name} runs nothing here")
        self.agrees("--")
        missed = [option for option in self.value_options if not self.value(option)] + [option for option in self.switches if not self.switch(option)]
        tried = len(self.value_options) + len(self.switches) - len(missed)
        return f"{tried} of {len(self.block.value) + len(self.block.switch)} options" + (f", not {' '.join(missed)}" if missed else "")


def installed(block, path):
    """The first of its programs that is here."""
    for name in block.names:
        program = name.split()[0]
        if shutil.which(program, path=path):
            return name
    program = block.names[0].split()[0]
    if program in PACKAGES:
        needs(program)
        return block.names[0]
    raise Skip(f"{program} is not installed")


def try_block(block, binary, tools):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        bench = Bench(binary, tools, Path(folder).resolve())
        name = installed(block, bench.env["PATH"])
        bench.daemon()
        if name.startswith("py-spy"):
            # It looks into Python only, and for longer than no time.
            bench.recorder(f"#!/usr/bin/python3\nimport sys, time\nopen('{bench.record}', 'w').write(''.join(word + '\\0' for word in sys.argv))\ntime.sleep(0.3)\n")
        return Tried(bench, block, name).all()


def try_together(line, binary, tools):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        bench = Bench(binary, tools, Path(folder).resolve())
        bench.daemon()
        words = shlex.split(line)
        for word in words:
            if word in PACKAGES and not shutil.which(word, path=bench.env["PATH"]):
                needs(word)
        if not bench.agrees(words):
            raise Skip("the real programs run nothing here")
        return line


def main():
    parser = Arguments(__doc__, "bin", "names")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    checks = Checks(options.names)
    try:
        bin_of = programs("prefixes")
    except AssertionError:
        # They cannot be installed; those that are here are tried.
        bin_of = Path("nowhere")
    jobs = [(block.names[0].replace(" ", "-"), try_block, block) for block in blocks()]
    jobs += [(f"together-{number}", try_together, line) for number, line in enumerate((" ".join(row) for row in TRIALS["together"].rows), 1)]
    with ThreadPoolExecutor(in_parallel()) as pool:
        running = [(name, pool.submit(function, what, options.bin, bin_of)) for name, function, what in jobs if checks.wants(name)]
        for name, future in running:
            checks.run(name, future.result)
    if options.record:
        # What cannot run here was recorded elsewhere.
        lines = TAKEN | set(RECORD.read_text().splitlines() if RECORD.exists() else [])
        RECORD.write_text("".join(f"{line}\n" for line in sorted(lines)))
    checks.finish()


if __name__ == "__main__":
    main()
