"""Runs trainings in an environment of real trainers, many for one start: imports what the trainers import, then forks every rank of every case.

Reads a case a line: {"target", "argv", "ranks", "place", "env", "folder", "log", "limit", "port"}; answers each with `ANSWER` and {"status", "seconds"}. What a rank
executes is the file or module that the trainer's own launcher would start, as `__main__`, with the variables that torchrun would set. Instead of the first three a
case may have the words of torchrun, which torchrun's own parser reads.
"""
import importlib
import json
import os
import resource
import runpy
import signal
import sys
import time
import traceback

# A case that asks for absurd sizes ends alone, and not with the machine.
MEMORY = 24 << 30
# What a rank of a failed job is given to say why, before it is stopped.
GRACE = 2
BEFORE = dict(os.environ)


def become_rank(case, rank):
    os.setsid()
    log = os.open(case["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.chdir(case["folder"])
    ranks = str(case["ranks"])
    place = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks, "GROUP_RANK": "0", "MASTER_ADDR": "127.0.0.1",
             "MASTER_PORT": str(case["port"]), "TORCHELASTIC_RUN_ID": "none", "TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_MAX_RESTARTS": "0"}
    for name in BEFORE.keys() - case["env"].keys():
        os.environ.pop(name, None)
    os.environ.update((place if case["place"] else {}) | case["env"] | (place if case.get("torchrun") else {}))
    target = case["target"]
    sys.argv = [target, *case["argv"]]
    is_file = target.endswith(".py")
    sys.path[0] = os.path.dirname(os.path.abspath(target)) if is_file else os.getcwd()
    (runpy.run_path if is_file else runpy.run_module)(target, run_name="__main__", **({} if is_file else {"alter_sys": True}))


def learn(file):
    """Imports what an earlier case imported, so that the next ones need not."""
    # Or torch starts threads, which a fork does not take along.
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    for name in file.read().split():
        try:
            importlib.import_module(name)
        except BaseException:
            pass  # Made while a program ran, or not meant to be imported.
    del os.environ["TORCHINDUCTOR_COMPILE_THREADS"]


def rank_status(case, rank):
    """Runs a rank and returns what its process would have ended with."""
    try:
        become_rank(case, rank)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def fork(case, rank):
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        status = rank_status(case, rank)
        if os.environ.get("REPORT_CONFIG"):
            importlib.import_module("sitecustomize").report()
        sys.stdout.flush()
        sys.stderr.flush()
        if case.get("learn"):
            with open(case["learn"], "w") as file:
                file.write("\n".join(sys.modules))
    finally:
        os._exit(status & 0xFF)


def kill(process):
    """A rank with everything that it started; each leads a session of its own."""
    for stop in (os.killpg, os.kill):
        try:
            stop(process, signal.SIGKILL)
        except ProcessLookupError:
            pass


def understood(words):
    """What torchrun would start."""
    given = importlib.import_module("torch.distributed.run").get_args_parser().parse_args(words)
    return {"target": given.training_script, "argv": given.training_script_args, "ranks": int(given.nproc_per_node)}


def run(case):
    if case.get("torchrun"):
        case |= understood(case["torchrun"])
    began = time.monotonic()
    running, end = {fork(case, rank) for rank in range(case["ranks"])}, began + case["limit"]
    status = 0
    while running:
        process, code = os.waitpid(-1, os.WNOHANG)
        if process in running:
            running.discard(process)
            kill(process)
            if code and not status:
                status = os.waitstatus_to_exitcode(code)
                end = min(end, time.monotonic() + GRACE)
        elif time.monotonic() > end:
            status = status or "timeout"
            for process in running:
                kill(process)
                os.waitpid(process, 0)
            running = set()
        else:
            time.sleep(0.02)
    return {"status": status, "seconds": round(time.monotonic() - began, 2)}


def main():
    own = os.dup(1)
    os.dup2(2, 1)
    for name in sys.argv[1:]:
        importlib.import_module(name)
    sys.path.insert(0, "")
    for line in sys.stdin:
        case = json.loads(line)
        answer = run(case)
        if case.get("learn") and os.path.exists(case["learn"]):
            with open(case["learn"]) as file:
                learn(file)
        os.write(own, f"ANSWER {json.dumps(answer)}\n".encode())


if __name__ == "__main__":
    main()
