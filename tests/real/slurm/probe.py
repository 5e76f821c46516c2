"""Stands where a training would: writes down how it was started, and then what happens to it.

PROBE is the folder for that. With PROBE_HOLD it stays until SIGTERM; with PROBE_FAIL it ends with status 3 where that is its
rank or its node. `--stub` comes from the `python3` that `run.py` puts on PATH: torchrun's words are then written down, too.
"""
import json
import os
import signal
import socket
import sys
import time

NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "SLURM_JOB_ID", "SLURM_STEP_ID",
         "SLURM_RESTART_COUNT", "SLURM_ARRAY_TASK_ID")


def address(name):
    try:
        return socket.gethostbyname(name)
    except OSError as error:
        return str(error)


def main():
    words = sys.argv[2:] if sys.argv[1:2] == ["--stub"] else sys.argv
    # On nodes that share the machine's name only Slurm knows which one this is.
    node = os.environ.get("SLURMD_NODENAME", socket.gethostname())
    with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        lent = [int(port) for port in file.read().split()]
    known = {"node": node, "words": words, "env": {name: os.environ[name] for name in NAMES if name in os.environ}, "parent": os.getppid(), "lent": lent, "signals": []}
    meet = os.environ.get("MASTER_ADDR") or (words[words.index("--master_addr") + 1] if "--master_addr" in words else None)
    known["address"] = meet and address(meet)
    path = os.path.join(os.environ["PROBE"], f"{node}-{os.getpid()}")

    def write():
        with open(path + ".new", "w") as file:
            json.dump(known, file)
        os.rename(path + ".new", path + ".json")

    def note(number, _):
        known["signals"].append(signal.Signals(number).name)
        write()
        if number == signal.SIGTERM:
            # A checkpoint takes a moment; whoever is killed meanwhile does not get to say so. Slurm waits much longer (KillWait).
            time.sleep(0.5)
            known["signals"].append("saved")
            write()
            os._exit(0)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, note)
    write()
    if os.environ.get("PROBE_FAIL") in (os.environ.get("RANK", "none"), node):
        # Not before the others are there to be stopped.
        while len([name for name in os.listdir(os.environ["PROBE"]) if name.endswith(".json")]) < int(os.environ.get("PROBE_COUNT", 1)):
            time.sleep(0.05)
        sys.exit(3)
    while os.environ.get("PROBE_HOLD"):
        time.sleep(0.05)


main()
