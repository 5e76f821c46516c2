"""Submits a command through submitit and waits for it: submit.py FOLDER CLUSTER NODES TASKS COMMAND…, with so many tasks and two GPUs on each node."""
import sys

import submitit

folder, cluster, nodes, tasks, *command = sys.argv[1:]
executor = submitit.AutoExecutor(folder=folder, cluster=cluster)
executor.update_parameters(nodes=int(nodes), tasks_per_node=int(tasks), gpus_per_node=2 if cluster == "slurm" else 0, timeout_min=5,
                           slurm_additional_parameters={"nodelist": "node[01-02]"})
job = executor.submit(submitit.helpers.CommandFunction(command, verbose=False))
try:
    job.results()
except Exception as why:
    print(job.stdout(), job.stderr(), why)
    sys.exit(1)
