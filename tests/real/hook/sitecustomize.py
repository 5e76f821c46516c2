"""Writes the final DeepSpeed config of rank 0 to $REPORT_CONFIG when the process ends. Changes nothing else."""
import atexit
import json
import os
import sys


def report():
    state = sys.modules.get("accelerate.state")
    if state is None or os.environ.get("RANK", "0") != "0":
        return
    plugins = state.AcceleratorState._shared_state.get("deepspeed_plugins")
    plugin = next(iter(plugins.values())) if isinstance(plugins, dict) else plugins
    if plugin is not None:
        with open(os.environ["REPORT_CONFIG"], "w") as file:
            json.dump(plugin.deepspeed_config, file, indent=1, default=str)


if os.environ.get("REPORT_CONFIG"):
    atexit.register(report)
