"""Engines that are Python packages: submitit's local executor, and a Ray cluster of several raylets."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from harness import HERE, free_port, until
from installed import wheels
from meeting import found_in


def submitit(lab):
    """A task for each GPU on this machine."""
    python, logs = wheels("submitit") / "bin/python", tempfile.mkdtemp(dir=lab.folder)
    return lab.run(lambda env: [python, HERE / "engines/submit.py", logs, "local", 1, 2, *lab.launch], 2)


@contextlib.contextmanager
def raylets(lab, count, dashboard="false"):
    """A cluster on this machine. Ray finds its ports itself, all but the first one's and those of its dashboard."""
    ray = wheels("ray") / "bin/ray"
    # The path of a socket is short.
    folder = Path(tempfile.mkdtemp(prefix="ray-"))
    env = lab.environment([ray.parent], RAY_USAGE_STATS_ENABLED=0)
    small = ["--num-cpus", "1", "--object-store-memory", str(80 << 20), "--node-ip-address", "127.0.0.1"]
    processes = []

    def start(*words):
        """Returns once this raylet runs: the next ones need the first."""
        log = folder / f"log-{len(processes)}"
        with open(log, "w") as file:
            command = [str(ray), "start", "--block", "--dashboard-agent-listen-port", str(free_port()), *small, *words]
            processes.append(subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True))
        ended = processes[-1].poll
        until(lambda: "Ray runtime started" in log.read_text() or ended() is not None, lambda: f"ray does not start: {log.read_text()}")
        assert ended() is None, log.read_text()

    try:
        port, lab.dashboard = free_port(), free_port()
        start("--head", "--port", str(port), "--include-dashboard", dashboard, "--dashboard-port", str(lab.dashboard), "--temp-dir", str(folder))
        for _ in range(count - 1):
            start("--address", f"127.0.0.1:{port}")
        yield f"127.0.0.1:{port}"
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def ray_train(lab):
    """Ray's own Train, which takes torch from the other environment."""
    site = next((lab.env / "lib").glob("python3*/site-packages"))
    with raylets(lab, 2) as address:
        command = [wheels("ray") / "bin/python", HERE / "engines/ray_train.py", address, 2, *lab.launch]
        return lab.run(lambda env: command, 2, CUDA_VISIBLE_DEVICES="0,1", PYTHONPATH=site)


def ray_job(lab):
    """The driver of a job: this machine, with a warning that nothing counts the others."""
    def submit(env):
        given = {"env_vars": {name: env[name] for name in ("MET", "CUDA_VISIBLE_DEVICES", "GLOO_SOCKET_IFNAME")}}
        return [wheels("ray") / "bin/ray", "job", "submit", "--address", f"http://127.0.0.1:{lab.dashboard}", "--runtime-env-json", json.dumps(given), "--", *lab.launch]
    with raylets(lab, 2, dashboard="true"):
        # The agents that start jobs come later than the dashboard that hands them out.
        started = lambda: next((ran for ran in [lab.start(submit, CUDA_VISIBLE_DEVICES="0,1")] if "No available agent" not in ran[2]), None)
        met, status, output = until(started, "Ray has no agent for a job")
    assert "uncounted-machines" in output, output[-3000:]
    return lab.judge(found_in(met), 2, status, output)


CHECKS = {"submitit": submitit, "ray-train": ray_train, "ray-job": ray_job}
