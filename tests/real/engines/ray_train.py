"""Ray's own Train: each worker of a TorchTrainer runs a command. ray_train.py ADDRESS WORKERS COMMAND…"""
import os
import subprocess
import sys

import ray
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer


def work(config):
    import torch.distributed

    # Ray's own group holds the port that its variables name.
    torch.distributed.destroy_process_group()
    subprocess.run(config["command"], env=dict(os.environ, **config["given"]), check=True)


address, workers, *command = sys.argv[1:]
ray.init(address=address, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": os.environ["PYTHONPATH"]}})
given = {name: os.environ[name] for name in ("MET", "CUDA_VISIBLE_DEVICES")}
TorchTrainer(work, train_loop_config={"command": command, "given": given}, scaling_config=ScalingConfig(num_workers=int(workers))).fit()
