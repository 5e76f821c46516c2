#!/usr/bin/env python3
"""Peak memory of real runs on one GPU, for the accuracy of `zlaunch fit`: prints a JSON line a run. A run's name is its number.

usage: memory_runs.py >> tests/data/memory-h200.jsonl
"""
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import HERE, Arguments

# model, template, micro batch, sequence length, gradient checkpointing, rank of LoRA
CASES = [
    ("llama1b", "zero2", 1, 2048, True, 0), ("qwen05b", "zero0", 2, 1024, True, 0), ("qwen05b", "zero1", 8, 512, False, 0), ("qwen05b", "zero3", 4, 1024, True, 0),
    ("llama1b", "zero0", 4, 512, False, 0), ("llama3b", "zero2", 1, 2048, True, 0), ("llama3b", "zero3", 1, 2048, True, 0), ("qwen15b", "zero2", 2, 4096, True, 0),
    ("llama1b", "zero2", 4, 2048, True, 8), ("llama1b", "zero3", 2, 1024, False, 8), ("llama3b", "zero0", 2, 1024, False, 16), ("qwen15b", "zero3", 2, 2048, False, 0),
    ("qwen05b", "zero2_offload", 2, 1024, True, 0), ("qwen05b", "zero3_offload", 2, 1024, True, 0), ("llama1b", "zero2_offload", 1, 2048, True, 0),
    ("llama1b", "zero3_offload", 1, 2048, True, 0), ("llama3b", "zero3_offload", 1, 2048, True, 0), ("llama3b", "zero2_offload", 1, 1024, True, 0),
]


def main():
    parser = Arguments(__doc__, "bin", "names")
    parser.add_argument("--python", default=sys.executable, help="one with torch, transformers, peft and DeepSpeed for the GPU")
    options = parser.parse_args()
    for number, (model, template, micro, length, checkpointing, rank) in enumerate(CASES):
        if options.names and str(number) not in options.names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out.json"
            argv = [options.bin, "-q", "--deepspeed", template, "--nproc-per-node", "1", "--", options.python, HERE / "memory_run.py", model, length, rank, out, "--bf16", "true",
                    "--per_device_train_batch_size", micro, "--gradient_accumulation_steps", "2", "--max_steps", "3", "--max_grad_norm", "1.0",
                    "--gradient_checkpointing", "true" if checkpointing else "false",
                    "--report_to", "none", "--save_strategy", "no", "--output_dir", folder]
            start = time.monotonic()
            result = subprocess.run([str(word) for word in argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            case = {"model": model, "template": template, "mb": micro, "seq": length, "gc": checkpointing, "lora": rank}
            seen = json.loads(out.read_text()) if out.exists() else {"failed": result.stdout[-1500:]}
            print(json.dumps({**case, **seen, "secs": round(time.monotonic() - start, 1)}), flush=True)


if __name__ == "__main__":
    main()
