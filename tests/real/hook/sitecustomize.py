"""Questions to a launch. REPORT_CONFIG: rank 0 writes the final DeepSpeed config to that file when it ends. RECORD_LAUNCH: who starts the
ranks, or is the only one, is written to that file instead, with its words and variables. STOP_AT_INITIALIZE: a rank ends at deepspeed.initialize, and writes when that was. Nothing else is changed."""
import atexit
import json
import os
import sys
import time


def report():
    state = sys.modules.get("accelerate.state")
    if state is None or os.environ.get("RANK", "0") != "0":
        return
    plugins = state.AcceleratorState._shared_state.get("deepspeed_plugins")
    plugin = next(iter(plugins.values())) if isinstance(plugins, dict) else plugins
    if plugin is not None:
        with open(os.environ["REPORT_CONFIG"], "w") as file:
            json.dump(plugin.deepspeed_config, file, indent=1, default=str)


def words_of_torchrun(words):
    """Those behind its name."""
    if words[:2] == ["-m", "torch.distributed.run"]:
        return words[2:]
    return words[1:] if os.path.basename(words[0]) == "torchrun" else None


def record(words):
    launch = {"torchrun": words_of_torchrun(words), "rank": words if "RANK" in os.environ else None}
    if any(launch.values()):
        with open(os.environ["RECORD_LAUNCH"], "w") as file:
            json.dump(launch | {"env": dict(os.environ), "folder": os.getcwd()}, file)
        os._exit(0)


if os.environ.get("REPORT_CONFIG"):
    atexit.register(report)
if os.environ.get("RECORD_LAUNCH") and sys.orig_argv[1:]:
    # Options of the interpreter itself are not of interest.
    record([word for at, word in enumerate(sys.orig_argv[1:]) if at or word not in ("-u", "-I", "-P")])
if os.environ.get("STOP_AT_INITIALIZE") and "RANK" in os.environ:
    import deepspeed

    def stop(*_, **__):
        with open(os.environ["STOP_AT_INITIALIZE"], "w") as file:
            file.write(str(time.time()))
        os._exit(0)

    deepspeed.initialize = stop
