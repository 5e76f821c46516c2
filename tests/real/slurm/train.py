"""A real training of a few steps by `deepspeed.initialize`. Each rank says what its parameters add up to."""
import argparse

import deepspeed
import torch


def main():
    parser = deepspeed.add_config_arguments(argparse.ArgumentParser())
    parser.add_argument("--local_rank", type=int, default=0)
    arguments = parser.parse_args()
    deepspeed.init_distributed("gloo")
    rank = torch.distributed.get_rank()
    torch.manual_seed(0)
    model = torch.nn.Linear(16, 4)
    engine, *_ = deepspeed.initialize(args=arguments, model=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1))
    # Other data on each rank: only an exchange of gradients leaves them with the same parameters.
    torch.manual_seed(1 + rank)
    for _ in range(3):
        loss = engine(torch.randn(2, 16)).square().mean()
        engine.backward(loss)
        engine.step()
    total = sum(parameter.detach().double().sum().item() for parameter in engine.module.parameters())
    print(f"rank {rank} of {torch.distributed.get_world_size()} trained {engine.global_steps} steps of {engine.train_batch_size()}: {total:.9f}", flush=True)


if __name__ == "__main__":
    main()
