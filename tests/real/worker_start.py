#!/usr/bin/env python3
"""How long it takes from Enter to the first line of a trainer's worker: zlaunch in front, against the trainers' own ways.

The commands are the real ones and so are torchrun, swift, accelerate and deepspeed. Each rank stops at its first line of
Python, where it notes the time. The ways take turns, so that a busy machine is busy for all of them; the minimum is what
they cost, the median what was seen. CPU is user and system time of all processes of one launch. A way passes when every
rank gets to its first line; its times are a report and nothing is judged by them.
"""
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from harness import Arguments, Checks
from lab import variables

RANKS = 2
# Python imports it before anything else. Only a rank has a number.
FIRST_LINE = """
import os, sys, time
if "RANK" in os.environ and "LOCAL_RANK" in os.environ:
    with open(os.path.join(os.environ["FIRST_LINES"], os.environ["RANK"]), "w") as file:
        file.write(repr(time.monotonic()))
    os._exit(0)
"""
SWIFT = ["swift", "sft", "--model", "Qwen/Qwen3-8B", "--dataset", "data.jsonl", "--tuner_type", "full",
         "--per_device_train_batch_size", "1", "--gradient_accumulation_steps", "16", "--output_dir", "out"]
SCRIPT = ["train.py", "--model_name_or_path", "model", "--output_dir", "out", "--per_device_train_batch_size", "1"]


class Way:
    def __init__(self, name, argv, against=None, **variables):
        self.name, self.argv, self.variables, self.against = name, [str(word) for word in argv], variables, against
        self.wall, self.cpu, self.failed = [], [], None


def ways(zlaunch):
    ours = [zlaunch, "--quiet", "--deepspeed", "zero2", "--nproc-per-node", RANKS]
    swift, script = "swift sft", "accelerate launch"
    return [
        Way(swift, [*SWIFT, "--deepspeed", "zero2"], NPROC_PER_NODE=str(RANKS)),
        Way("zlaunch -- swift sft", [*ours, "--", *SWIFT], against=swift),
        Way("zlaunch --launcher local -- swift sft", [*ours, "--launcher", "local", "--", *SWIFT], against=swift),
        Way(script, ["accelerate", "launch", "--main_process_port", "0", "--use_deepspeed", "--deepspeed_config_file", "zero2.json", "--num_processes", RANKS, *SCRIPT]),
        Way("deepspeed", ["deepspeed", "--num_gpus", RANKS, *SCRIPT, "--deepspeed", "zero2.json"], against=script),
        Way("torchrun", ["torchrun", "--nproc_per_node", RANKS, *SCRIPT], against=script),
        Way("zlaunch -- train.py", [*ours, "--", "python", *SCRIPT], against=script),
        Way("zlaunch --launcher local -- train.py", [*ours, "--launcher", "local", "--", "python", *SCRIPT], against=script),
    ]


def measure(way, env, folder):
    """One launch: seconds until the last rank's first line, CPU seconds of everything it started."""
    lines = Path(tempfile.mkdtemp(dir=folder))
    own = variables(env, folder, PYTHONPATH=str(folder / "hook"), FIRST_LINES=str(lines), **way.variables)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    done = subprocess.run(way.argv, env=own, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1800)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = sorted(lines.iterdir())
    assert done.returncode == 0 and len(found) == RANKS, f"exit {done.returncode}, {len(found)} ranks\n{done.stdout[-3000:]}"
    way.wall.append(max(float(line.read_text()) for line in found) - start)
    way.cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def measure_all(everything, env, runs):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "hook").mkdir()
        (folder / "hook/sitecustomize.py").write_text(FIRST_LINE)
        (folder / "train.py").write_text("import transformers\n")
        (folder / "zero2.json").write_text('{"train_batch_size": 2, "zero_optimization": {"stage": 2}}')
        (folder / "data.jsonl").write_text("")
        # The first launch of each reads its files from the disk, and is not counted.
        for turn in range(runs + 1):
            for way in everything:
                if way.failed:
                    continue
                try:
                    measure(way, env, folder)
                except (AssertionError, subprocess.TimeoutExpired) as why:
                    way.failed = why
                if turn == 0:
                    way.wall, way.cpu = [], []


def report(way, named):
    """A row of the table; every ratio is of this one run."""
    assert not way.failed, way.failed
    row = f"fastest {min(way.wall):5.2f} s, median {statistics.median(way.wall):5.2f} s, CPU {min(way.cpu):5.2f} s"
    other = named.get(way.against)
    if other and not other.failed:
        row += f"; {min(way.wall) / min(other.wall):.2f} of `{other.name}` (median {statistics.median(way.wall) / statistics.median(other.wall):.2f})"
    return row


def main():
    parser = Arguments(__doc__, "bin", "env")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    everything = ways(options.bin)
    measure_all(everything, options.env, options.runs)
    print(f"seconds to the first line of the last worker, of {options.runs} launches with {RANKS} ranks")
    checks = Checks()
    named = {way.name: way for way in everything}
    for way in everything:
        checks.run(way.name, report, way, named)
    checks.finish()


if __name__ == "__main__":
    main()
