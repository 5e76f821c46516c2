"""Starts the launchers of an environment, each forked from a process that has imported them: reads a case a line, {"starts": [words, …], "env", "folder", "gpus"}, and
answers each with `ANSWER` and {"status": the first that is not 0, "said"}. Several starts run side by side, as on several machines.

Everything is the launcher's own code, down to the processes that it starts. Only the number of GPUs is pretended, which are not there, and DeepSpeed's runner forks
its `launch` instead of starting a new interpreter for it.
"""
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import time
import traceback

import accelerate.commands.launch  # noqa: F401
import deepspeed.launcher.launch  # noqa: F401
import torch
import torch.distributed.run  # noqa: F401

MODULES = {"torchrun": "torch.distributed.run", "deepspeed": "deepspeed.launcher.runner", "accelerate": "accelerate.commands.accelerate_cli"}
# Seconds for a start on a busy machine.
LIMIT = 60
POPEN = subprocess.Popen


def module_of(words):
    """The launcher's module, and its words; no module where something else is started."""
    if os.path.basename(words[0]) in MODULES:
        return MODULES[os.path.basename(words[0])], words[1:]
    rest = [word for at, word in enumerate(words) if at and not (word in ("-u", "-P") and at < 3)]
    if rest[0] == "-m" and rest[1] in {*MODULES.values(), "deepspeed.launcher.launch"}:
        return rest[1], rest[2:]
    return None, words


def run(words, env):
    module, rest = module_of(words)
    os.environ.clear()
    os.environ.update(env)
    if module is None:
        os.execvpe(words[0], words, env)
    sys.argv = [module, *rest]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def fork(words, env, log=None):
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        if log:
            os.setsid()
            for stream in (1, 2):
                os.dup2(log, stream)
        status = run(words, env)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status & 0xFF)


class Forked:
    """In the place of `subprocess.Popen`, for a launcher that starts another one."""

    def __new__(cls, words, *given, env=None, **more):
        if isinstance(words, str) or module_of([str(word) for word in words])[0] is None:
            return POPEN(words, *given, env=env, **more)
        return super().__new__(cls)

    def __init__(self, words, env=None, **_):
        self.pid, self.returncode = fork(words, dict(env or os.environ)), None

    def wait(self):
        self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.returncode


def gpus_seen(there):
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return there if visible is None else len([gpu for gpu in visible.split(",") if gpu])


def answer(case):
    os.chdir(case["folder"])
    torch.cuda.device_count = lambda: gpus_seen(case["gpus"])
    torch.cuda.is_available = torch.cuda.is_bf16_supported = lambda *_, **__: torch.cuda.device_count() > 0
    log = os.open("said", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    running, end, status = {fork(words, case["env"], log) for words in case["starts"]}, time.monotonic() + LIMIT, 0
    while running:
        process, code = os.waitpid(-1, os.WNOHANG)
        if process in running:
            running.discard(process)
            status = status or os.waitstatus_to_exitcode(code)
        elif time.monotonic() > end:
            status = "timeout"
            break
        else:
            time.sleep(0.01)
    for process in running:
        os.killpg(process, signal.SIGKILL)
        os.waitpid(process, 0)
    with open("said", errors="replace") as said:
        return {"status": status, "said": said.read()[-2000:]}


def main():
    importlib.import_module(MODULES["accelerate"])
    subprocess.Popen = Forked
    for line in sys.stdin:
        print("ANSWER " + json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
