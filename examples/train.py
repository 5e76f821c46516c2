"""A small DeepSpeed script to try zlaunch with.

With torch and DeepSpeed it trains a tiny model, on GPUs if there are any. Without them, each rank only reports its place
and the config it was given.
"""
import argparse
import json
import os
import sys

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--deepspeed_config", required=True, help="zlaunch adds this option")
parser.add_argument("--per_device_train_batch_size", type=int, default=1)
parser.add_argument("--gradient_accumulation_steps", type=int, default=1)
parser.add_argument("--max_grad_norm", type=float, default=1.0)
parser.add_argument("--bf16", action="store_true")
parser.add_argument("--max_steps", type=int, default=20)


def say(line):
    """In one write, so that lines of several ranks do not mix."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main():
    args = parser.parse_args()
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    with open(args.deepspeed_config) as file:
        config = json.load(file)
    micro, steps = config["train_micro_batch_size_per_gpu"], config["gradient_accumulation_steps"]
    precision = "bf16" if config["bf16"]["enabled"] else "fp32"
    stage = config["zero_optimization"]["stage"]
    line = f"rank {rank} of {ranks}: ZeRO-{stage}, {precision}, batch size {micro} x {steps} x {ranks} = {micro * steps * ranks}"
    try:
        import deepspeed
        import torch
    except ImportError:
        say(f"{line} (install torch and deepspeed to train)")
        return
    say(line)

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=args.deepspeed_config)
    inputs = torch.randn(engine.train_micro_batch_size_per_gpu(), 64).to(engine.device, next(engine.parameters()).dtype)
    targets = inputs.sum(dim=1, keepdim=True)
    for step in range(args.max_steps * engine.gradient_accumulation_steps()):
        loss = torch.nn.functional.mse_loss(engine(inputs), targets)
        engine.backward(loss)
        engine.step()
        if rank == 0 and step % (5 * engine.gradient_accumulation_steps()) == 0:
            say(f"step {engine.global_steps}: loss {loss.item():.3f}")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
