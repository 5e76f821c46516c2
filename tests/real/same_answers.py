#!/usr/bin/env python3
"""Two zlaunches give the same answers: after a change that should change nothing, the old one and the new one are compared.

Every command and every config of the corpus goes through `-n` and `check` of both, with several sets of options, in the same folder. The plans
as JSON and the exit statuses must be equal to the byte. Only sentences may differ: of a diagnostic its rule, severity and places are compared,
and of what is printed on standard error the same.
"""
import concurrent.futures
import difflib
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from corpus import commands, sandbox
from harness import Arguments, Checks, in_parallel

QUESTIONS = [(*ask, "--format", "json", *more) for ask in (("-n",), ("check",))
             for more in ((), ("--nproc-per-node", "8"), ("--deepspeed", "zero3", "--nproc-per-node", "2"),
                          ("--deepspeed", "zero2_offload", "--nnodes", "2", "--node-rank", "1", "--master-addr", "node01", "--nproc-per-node", "4"))]
# What a diagnostic says in sentences.
WORDING = {"message", "help", "places", "fixes"}
# Of plans before the shells of PBS, LSF, Grid Engine and OAR jobs were refused: what was started on each machine.
GONE = {"machines"}
# `error[rule]`, and the places below it.
HEAD = re.compile(r"^(?:error|warning)(?:\[[a-z0-9-]+\])?|^ *--> .*", re.MULTILINE)


def answer(binary, words, argv, env, cwd):
    """All that must be equal, as text."""
    result = subprocess.run([binary, *words, "--", *argv], env=env, cwd=cwd, capture_output=True, text=True, errors="replace")
    try:
        plan = json.loads(result.stdout)
    except ValueError:
        said = result.stdout
    else:
        for key in GONE & plan.keys():
            del plan[key]
        for diagnostic in plan["diagnostics"]:
            for key in WORDING & diagnostic.keys():
                del diagnostic[key]
        # The order of keys is kept.
        said = json.dumps(plan, indent=1, ensure_ascii=False)
    # A plan for srun names the executable.
    return "\n".join([f"exit {result.returncode}", *HEAD.findall(result.stderr), said]).replace(str(binary), "zlaunch")


def answers(binary, it, root):
    """To every question, in a folder that is made anew."""
    shutil.rmtree(root, ignore_errors=True)
    cwd, env, *_ = sandbox(root, it)
    for name, text in it.get("files", {}).items():
        (cwd / name).write_text(text)
    return [answer(binary, words, it["argv"], env, cwd) for words in QUESTIONS]


def compare(options, it):
    """A difference for each question, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        old, new = (answers(binary, it, Path(folder) / "sandbox") for binary in (options.old, options.bin))
    changes = [list(difflib.unified_diff(one.split("\n"), two.split("\n"), "old", "new", n=1, lineterm="")) for one, two in zip(old, new)]
    return ["\n".join([f"zlaunch {' '.join(words)} -- {' '.join(it['argv'])[:300]}", *change[:30]]) if change else None for words, change in zip(QUESTIONS, changes)]


def questioned(corpus):
    """The commands, and each config as that of a plain script."""
    config = lambda path: {"argv": ["python", "train.py", "--deepspeed", "config.json"], "files": {"config.json": path.read_text(errors="replace"), "train.py": ""}}
    return commands(corpus) | {f"configs/{path.name}": config(path) for path in sorted((corpus / "configs").iterdir())}


def main():
    parser = Arguments(__doc__, "bin", "corpus", "names")
    parser.add_argument("--old", type=lambda file: Path(file).resolve(strict=True), required=True, metavar="FILE", help="the zlaunch from before the change")
    options = parser.parse_args()
    checks = Checks(options.names)
    if not options.corpus:
        checks.skip_all("corpus", "there is no corpus here; name one with --corpus")
        checks.finish()
    cases = {name: it for name, it in questioned(options.corpus).items() if checks.wants(name)}
    with concurrent.futures.ThreadPoolExecutor(in_parallel()) as pool:
        for name, found in zip(cases, pool.map(lambda it: compare(options, it), cases.values())):
            for wrong in found:
                checks.judge(name, wrong)
    print(f"{len(cases)} commands and configs, {len(QUESTIONS)} questions about each")
    checks.finish()


if __name__ == "__main__":
    main()
