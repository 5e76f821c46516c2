#!/usr/bin/env python3
"""How long it takes from Enter to the first line of a trainer's worker: zlaunch in front, against the trainers' own ways.

The commands are the real ones and so are torchrun, swift, accelerate and deepspeed. Each of two ranks stops at its first line of Python, where it notes the time. The
ways take turns, so that a busy machine is busy for all of them; the minimum is what they cost, the median what was seen. CPU is user and system time of all
processes of one launch. A way passes when every rank gets to its first line; its times are a report and nothing is judged by them.
"""
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from harness import Arguments, Checks
from lab import variables

# Python imports it before anything else. Only a rank has a number.
FIRST_LINE = """
import os, sys, time
if "RANK" in os.environ and "LOCAL_RANK" in os.environ:
    with open(os.path.join(os.environ["FIRST_LINES"], os.environ["RANK"]), "w") as file:
        file.write(repr(time.monotonic()))
    os._exit(0)
"""
SWIFT = "swift sft --model Qwen/Qwen3-8B --dataset data.jsonl --tuner_type full --per_device_train_batch_size 1 --gradient_accumulation_steps 16 --output_dir out"
SCRIPT = "train.py --model_name_or_path model --output_dir out --per_device_train_batch_size 1"
OURS = "ZLAUNCH --quiet --deepspeed zero2 --nproc-per-node 2"
# The command, and with which it is compared.
WAYS = {
    "swift sft": (f"{SWIFT} --deepspeed zero2", None),
    "zlaunch -- swift sft": (f"{OURS} -- {SWIFT}", "swift sft"),
    "zlaunch --launcher local -- swift sft": (f"{OURS} --launcher local -- {SWIFT}", "swift sft"),
    "accelerate launch": (f"accelerate launch --main_process_port 0 --use_deepspeed --deepspeed_config_file zero2.json --num_processes 2 {SCRIPT}", None),
    "deepspeed": (f"deepspeed --num_gpus 2 {SCRIPT} --deepspeed zero2.json", "accelerate launch"),
    "torchrun": (f"torchrun --nproc_per_node 2 {SCRIPT}", "accelerate launch"),
    "zlaunch -- train.py": (f"{OURS} -- python {SCRIPT}", "accelerate launch"),
    "zlaunch --launcher local -- train.py": (f"{OURS} --launcher local -- python {SCRIPT}", "accelerate launch"),
}


def launched(options, folder, command):
    """Seconds until the last rank's first line, and CPU seconds of everything that was started; or why there are none."""
    lines = Path(tempfile.mkdtemp(dir=folder))
    own = variables(options.env, folder, PYTHONPATH=str(folder / "hook"), FIRST_LINES=str(lines), NPROC_PER_NODE="2")
    usage, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command.replace("ZLAUNCH", str(options.bin)).split(), env=own, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1800)
    after, found = resource.getrusage(resource.RUSAGE_CHILDREN), [float(line.read_text()) for line in lines.iterdir()]
    assert done.returncode == 0 and len(found) == 2, f"exit {done.returncode}, {len(found)} ranks\n{done.stdout[-3000:]}"
    return max(found) - start, after.ru_utime + after.ru_stime - usage.ru_utime - usage.ru_stime


def report(seen, other):
    """A row of the table; every ratio is of this one run."""
    wall, cpu = zip(*seen)
    row = f"fastest {min(wall):5.2f} s, median {statistics.median(wall):5.2f} s, CPU {min(cpu):5.2f} s"
    return row + (f"; {min(wall) / min(time for time, _ in other):.2f} of its like" if other else "")


def main():
    parser = Arguments(__doc__, "bin", "env")
    parser.add_argument("--runs", type=int, default=5)
    options, checks, seen = parser.parse_args(), Checks(), {name: [] for name in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "hook").mkdir()
        files = {"hook/sitecustomize.py": FIRST_LINE, "train.py": "import transformers\n", "zero2.json": '{"train_batch_size": 2, "zero_optimization": {"stage": 2}}', "data.jsonl": ""}
        for name, text in files.items():
            (folder / name).write_text(text)
        for _ in range(options.runs + 1):
            for name, (command, _) in WAYS.items():
                seen[name].append(launched(options, folder, command))
    print(f"seconds to the first line of the last worker, of {options.runs} launches with 2 ranks")
    for name, (_, against) in WAYS.items():
        # The first launch of each reads its files from the disk, and is not counted.
        checks.run(name, report, seen[name][1:], seen[against][1:] if against else None)
    checks.finish()


if __name__ == "__main__":
    main()
