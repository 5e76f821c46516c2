#!/usr/bin/env python3
"""`zlaunch doctor && zlaunch` on a real Slurm job of four machines with one fault in it, of every kind that people meet, and with none.

A fault with which no launch can work must end `doctor` with status 1; one that only may break it is told, and the launch goes on. Where nothing is wrong, nothing is an error.
"""
import os
import shutil
import socket
import subprocess
from pathlib import Path

from cluster import Cluster, separate
from harness import Arguments, Checks, free_port
from run import Lab
from together import BIND, LISTEN, Machines

FAILS, MAY = True, False
# 14 billion parameters: 80 GB under ZeRO-2 on 16 GPUs have room for them, 40 GB have not.
MODEL = """{"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 5120, "intermediate_size": 13824, "num_attention_heads": 40, "num_hidden_layers": 48,
"num_key_value_heads": 8, "vocab_size": 152064, "max_position_embeddings": 32768, "torch_dtype": "bfloat16", "tie_word_embeddings": false}"""
ALL = ("node01", "node02", "node03", "node04")
WRAP = "mount --bind ../planted/{} {{binary}}"
UNWRAP = "umount {binary}"
SYS = "mount -t sysfs sysfs /sys; "
ADAPTER = SYS + "mkdir -p ../planted/class/net ../planted/class/infiniband/mlx5_0; mount --bind /sys/class/net ../planted/class/net; mount --rbind ../planted/class /sys/class"
NO_ADAPTER = "umount -R /sys/class; umount ../planted/class/net; umount /sys"
OFFLOAD = {"--deepspeed": "zero2_offload"}
SWIFT = ["swift", "sft", "--dataset", "data/train.jsonl", "--torch_dtype", "bfloat16", "--per_device_train_batch_size", "1", "--gradient_accumulation_steps", "1", "--output_dir", "out"]
LARGE_MODEL = [*SWIFT, "--model", "./big", "--tuner_type", "full", "--max_length", "1024"]
HUB = [*SWIFT, "--model", "me/tiny", "--use_hf", "true"]
HF = ["python3", "hf.py", "--per_device_train_batch_size", "1", "--bf16", "true", "--output_dir", "out"]
FUSED = ["--set", 'optimizer={"type":"AdamW","params":{"lr":1e-5}}', "--set", "train_micro_batch_size_per_gpu=1"]


def fault(breaks, says, plant="", heal="", on="node02", **more):
    return dict(breaks=breaks, says=says, plant=plant, heal=heal, on=on) | more


FAULTS = {
    # What the launch opens.
    "a shard is cut": fault(FAILS, "./model has", BIND.format("cut", "model"), "umount model"),
    "a shard is missing": fault(FAILS, "./model has", BIND.format("shard", "model"), "umount model"),
    "other weights": fault(FAILS, "./model has", BIND.format("weights", "model"), "umount model"),
    "another config of the model": fault(FAILS, "./model has", BIND.format("other_config", "model"), "umount model"),
    "no model on one": fault(FAILS, "./model", BIND.format("nothing", "model"), "umount model"),
    "a folder without a slash": fault(FAILS, "model has", BIND.format("shard", "model"), "umount model", command=["python3", "train.py", "--model_name_or_path", "model", "--output_dir", "out"]),
    "a shard just cut": fault(FAILS, "", "cp -r model ../planted/fresh; : > ../planted/fresh/model.safetensors; " + BIND.format("fresh", "model"), "umount model; rm -r ../planted/fresh"),
    "not in the cache, offline": fault(FAILS, "me/tiny", "mount -t tmpfs none hf", "umount hf", command=HUB, HF_HUB_OFFLINE="1", HF_HOME="{home}/hf"),
    "in no cache, offline": fault(FAILS, "me/tiny", command=HUB, HF_HUB_OFFLINE="1", HF_HOME="{home}/none"),
    "another revision in the cache": fault(MAY, "me/tiny has", BIND.format("hf2", "hf"), "umount hf", command=HUB, HF_HUB_OFFLINE="1", HF_HOME="{home}/hf"),
    "a broken link in the cache": fault(FAILS, "a link that leads nowhere on node02", BIND.format("hf3", "hf"), "umount hf", command=HUB, HF_HUB_OFFLINE="1", HF_HOME="{home}/hf"),
    "no dataset on one": fault(FAILS, "data/train.jsonl is not there on node02", BIND.format("nothing", "data"), "umount data"),
    "another dataset": fault(FAILS, "data/train.jsonl is", "mkdir -p ../planted/data; echo 1 > ../planted/data/train.jsonl; " + BIND.format("data", "data"), "umount data"),
    "another script": fault(FAILS, "train.py is", "echo pass > ../planted/other.py; " + BIND.format("other.py", "train.py"), "umount train.py"),
    "another config": fault(FAILS, "config", "echo '{\"train_micro_batch_size_per_gpu\": 2}' > ../planted/ds.json; mount --bind ../planted/ds.json ds.json", "umount ds.json", options={"--deepspeed": "ds.json"}),
    "an output that cannot be written": fault(FAILS, "out cannot be written on node02", "mount --bind out out; mount -o remount,ro,bind out", "umount out"),
    "no space for the output": fault(FAILS, "are free for the output on node02", "mount -t tmpfs -o size=8m tmpfs out", "umount out"),
    "a full TMPDIR": fault(MAY, "are free in TMPDIR on node02", "mkdir -p t; mount -t tmpfs -o size=8m tmpfs t", "umount t", TMPDIR="{home}/t"),
    "no NVMe on one": fault(FAILS, "cannot be written", "mount --bind nvme nvme; mount -o remount,ro,bind nvme", "umount nvme", options={"--deepspeed": "zero3"},
                            more=["--set", 'zero_optimization.offload_param={"device":"nvme","nvme_path":"{home}/nvme"}']),
    # Limits and memory.
    "64 MiB of /dev/shm": fault(FAILS, "/dev/shm has 64 MiB", "mount -t tmpfs -o size=64m tmpfs /dev/shm", "umount /dev/shm"),
    "a full /dev/shm": fault(MAY, "are free in /dev/shm on node02", "mount -t tmpfs -o size=1g tmpfs /dev/shm; dd if=/dev/zero of=/dev/shm/full bs=1M count=8 2>/dev/null", "umount /dev/shm"),
    "few files": fault(FAILS, "files can be open", WRAP.format("files"), UNWRAP),
    "few processes": fault(FAILS, "processes and threads", WRAP.format("processes"), UNWRAP),
    "little memory may be locked, with InfiniBand": fault(FAILS, "of memory can be locked", f"{ADAPTER}; {WRAP.format('locked')}", f"{UNWRAP}; {NO_ADAPTER}"),
    "few addresses": fault(FAILS, "of addresses on node02", WRAP.format("small"), UNWRAP),
    "little host memory with offload": fault(FAILS, "in host memory", "mount --bind ../planted/meminfo /proc/meminfo", "umount /proc/meminfo", options=OFFLOAD, command=LARGE_MODEL),
    # GPUs.
    "fewer GPUs": fault(FAILS, "3 on node02", "{cards}3 /proc/driver; " + BIND.format("fewer", "bin"), "umount bin /proc/driver"),
    "nvidia-smi fails": fault(FAILS, "nvidia-smi fails on node02", BIND.format("broken", "bin"), "umount bin"),
    "smaller GPUs, too small": fault(FAILS, "on each GPU: this run will run out of memory", "{cards}40 /proc/driver; " + BIND.format("smaller", "bin"), "umount bin /proc/driver", command=LARGE_MODEL, options={"--deepspeed": "zero1"}),
    "smaller GPUs, large enough": fault(MAY, "the GPUs are", "{cards}40 /proc/driver; " + BIND.format("smaller", "bin"), "umount bin /proc/driver", command=LARGE_MODEL, options={"--deepspeed": "zero3"}),
    "a divided GPU": fault(FAILS, "MIG is enabled on node02", BIND.format("divided", "bin"), "umount bin"),
    "a full GPU": fault(FAILS, "of a GPU's memory is in use on node02", BIND.format("full", "bin"), "umount bin"),
    "a GPU in use": fault(MAY, "of a GPU's memory is in use on node02", BIND.format("busy", "bin"), "umount bin"),
    "an old driver": fault(FAILS, "too old for the CUDA of torch", BIND.format("old", "bin"), "umount bin"),
    "another driver": fault(MAY, "the driver is 590.1 on node02", BIND.format("newer", "bin"), "umount bin"),
    # NVIDIA: row-remapping pending, "new workloads can be launched".
    "uncorrected memory errors": fault(MAY, "uncorrected memory errors", BIND.format("errors", "bin"), "umount bin"),
    "fewer visible GPUs": fault(FAILS, "node02", WRAP.format("two_visible"), UNWRAP),
    # Environments.
    "another Python": fault(FAILS, "Python is 3.12 on node02", BIND.format("python", "env"), "umount env"),
    "another DeepSpeed": fault(FAILS, "deepspeed is 0.19.7 on node02", BIND.format("deepspeed", "env"), "umount env"),
    "another CUDA": fault(FAILS, "CUDA is 12.6 on node02", BIND.format("cuda", "env"), "umount env"),
    "another NCCL": fault(FAILS, "NCCL is 2.26.2 on node02", BIND.format("nccl", "env"), "umount env"),
    "another transformers": fault(MAY, "transformers is", BIND.format("transformers", "env"), "umount env"),
    "no environment": fault(FAILS, "node02", "mount -t tmpfs none env", "umount env"),
    "no DeepSpeed on one": fault(FAILS, "deepspeed", BIND.format("without", "env"), "umount env"),
    "no ninja": fault(FAILS, "no ninja on PATH", "mount --bind ../planted/not_executable env/bin/ninja", "umount env/bin/ninja", options=OFFLOAD),
    "no nvcc for fused_adam": fault(FAILS, "no nvcc in CUDA_HOME", "mount --bind ../planted/not_executable cuda/bin/nvcc", "umount cuda/bin/nvcc", more=FUSED, command=HF, CUDA_HOME="/nowhere"),
    "a lock that was left": fault(FAILS, "minutes old", "mkdir -p ext/cpu_adam; touch -d '2 hours ago' ext/cpu_adam/lock", "rm -r ext", options=OFFLOAD, TORCH_EXTENSIONS_DIR="{home}/ext"),
    "another LD_LIBRARY_PATH": fault(MAY, "LD_LIBRARY_PATH is", WRAP.format("libraries"), UNWRAP),
    "another PYTHONPATH": fault(MAY, "PYTHONPATH is", WRAP.format("pythonpath"), UNWRAP),
    "a token on some": fault(MAY, "HF_TOKEN is not set on node02", WRAP.format("tokenless"), UNWRAP, HF_TOKEN="hf_abcdefghijklmnopqrstuvwxyz012345"),
    "another HF_ENDPOINT": fault(MAY, "HF_ENDPOINT is", WRAP.format("endpoint"), UNWRAP),
    # The network.
    "no such interface": fault(FAILS, "no interface for NCCL_SOCKET_IFNAME=ib0", NCCL_SOCKET_IFNAME="ib0"),
    "other interfaces": fault(FAILS, "NCCL_SOCKET_IFNAME is", WRAP.format("interface"), UNWRAP, NCCL_SOCKET_IFNAME="eth0"),
    "no such adapter": fault(MAY, "no InfiniBand adapter", NCCL_IB_HCA="mlx5_9"),
    "another protocol": fault(FAILS, "NCCL_PROTO is Simple on node02", WRAP.format("protocol"), UNWRAP),
    # TCP agrees on the smaller one when it connects.
    "another MTU": fault(MAY, "the MTU of eth0 is 9000 on node02", SYS + "ip link set eth0 mtu 9000", "ip link set eth0 mtu 1500; umount /sys"),
    "a blocked port": fault(FAILS, "node02 cannot reach node01", "ip rule add to 10.77.0.1 ipproto tcp dport 20000-32100 unreachable", "ip rule del to 10.77.0.1 ipproto tcp dport 20000-32100 unreachable"),
    "two others cannot reach each other": fault(FAILS, "node02 and node03 cannot reach node03 and node02", "ip rule add to 10.77.0.3 ipproto tcp unreachable", "ip rule del to 10.77.0.3 ipproto tcp unreachable"),
    "two others drop each other's packets": fault(FAILS, "cannot reach node03", "iptables -A INPUT -p tcp --syn -s 10.77.0.4 -j DROP", "iptables -F", on="node03"),
    "a name that leads back": fault(FAILS, "node02 cannot reach node01", "mount --bind ../planted/hosts /etc/hosts", "umount /etc/hosts"),
    "a port that is taken": fault(FAILS, "is already in use", taken=True),
    "a wrong clock": fault(MAY, "the clock of node02 differs by", WRAP.format("late"), UNWRAP),
    "a machine that hangs": fault(FAILS, "no answer from node02", WRAP.format("hangs"), UNWRAP, more=["--timeout", "5"]),
    "a machine whose zlaunch dies": fault(FAILS, "no answer from node02", WRAP.format("dies"), UNWRAP, more=["--timeout", "5"]),
}
HEALTHY = {
    "as it is": {},
    "a copy of the model": dict(plant=BIND.format("copied", "model"), heal="umount model"),
    "with offload": dict(options=OFFLOAD),
    "zero3": dict(options={"--deepspeed": "zero3"}),
    "a config from a file": dict(options={"--deepspeed": "ds.json"}),
    "a model of the Hub": dict(command=HUB),
    "a model in the cache, offline": dict(command=HUB, HF_HUB_OFFLINE="1", HF_HOME="{home}/hf"),
    "the cache copied": dict(plant="cp -a hf ../planted/hf_copied; " + BIND.format("hf_copied", "hf"), heal="umount hf; rm -r ../planted/hf_copied", command=HUB, HF_HUB_OFFLINE="1", HF_HOME="{home}/hf"),
    "14B on 80 GB": dict(command=LARGE_MODEL, options={"--deepspeed": "zero1"}),
    "an optimizer with nvcc": dict(more=FUSED, command=HF, CUDA_HOME="{home}/cuda"),
    "an optimizer of torch": dict(more=["--set", 'optimizer={"type":"AdamW","params":{"lr":1e-5,"torch_adam":true}}'], command=HF, CUDA_HOME="/nowhere"),
    "an interface that is there": dict(plant=SYS, heal="umount /sys", on=ALL, NCCL_SOCKET_IFNAME="eth0"),
    "a part of its name": dict(plant=SYS, heal="umount /sys", on=ALL, NCCL_SOCKET_IFNAME="eth"),
    "InfiniBand, nothing limited": dict(plant=ADAPTER, heal=NO_ADAPTER, NCCL_IB_HCA="mlx5"),
    "little may be locked, without InfiniBand": dict(plant=WRAP.format("locked"), heal=UNWRAP, on=ALL[1:]),
    "little may be locked, InfiniBand unused": dict(plant=f"{ADAPTER}; {WRAP.format('locked')}", heal=f"{UNWRAP}; {NO_ADAPTER}", on=ALL[1:], NCCL_IB_DISABLE="1"),
    "an output of its own disk": dict(plant="mount -t tmpfs -o size=4g tmpfs out", heal="umount out", on=ALL),
    "each has another TMPDIR": dict(plant="mkdir -p t; mount -t tmpfs -o size=4g tmpfs t", heal="umount t", TMPDIR="{home}/t"),
    "one process a machine": dict(nproc="1"),
    "by the user's own srun": dict(launch="srun"),
    "a user without a name": dict(launch="srun setpriv --reuid 65534 --regid 65534 --clear-groups"),
    "a firewall with the answers let through": dict(plant="iptables -A INPUT -p icmp -j DROP", heal="iptables -F"),
}


class Planted(Machines):
    def __init__(self, lab):
        super().__init__(lab)
        planted = self.planted
        if (planted / "cut").exists():
            return
        # Everybody may look.
        lab.home.chmod(0o755)
        for name in ("cut", "other_config"):
            shutil.copytree(self.home / "model", planted / name)
        (planted / "cut/model.safetensors").write_bytes(bytes(1 << 20))
        (planted / "other_config/config.json").write_text('{"x": 1}')
        (self.home / "big").mkdir()
        (self.home / "big/config.json").write_text(MODEL)
        (self.home / "hf.py").write_text("from transformers import Trainer, TrainingArguments, HfArgumentParser\n")
        (self.home / "ds.json").write_text('{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2}}')
        for folder in ("nvme", "cuda/bin"):
            (self.home / folder).mkdir(parents=True)
        (self.home / "nvme").chmod(0o777)
        (self.home / "out").chmod(0o777)
        swift = self.home / "env/lib/python3.11/site-packages/swift/cli"
        swift.mkdir(parents=True)
        (swift / "sft.py").touch()
        (self.home / "env/bin/swift").write_text(f"#!{self.home}/env/bin/python3\n")
        (self.home / "env/bin/swift").chmod(0o755)
        for name in ("env/bin/c++", "cuda/bin/nvcc"):
            (self.home / name).write_text("#!/bin/sh\n")
            (self.home / name).chmod(0o755)
        (planted / "not_executable").touch()
        for name, shard in (("hf", "a" * 40), ("hf2", "b" * 40)):
            folder = (self.home if name == "hf" else planted) / name / "hub/models--me--tiny"
            (folder / f"snapshots/{shard}").mkdir(parents=True)
            (folder / "refs").mkdir()
            (folder / "refs/main").write_text(shard)
            (folder / f"snapshots/{shard}/config.json").write_text(f'{{"model_type": "llama", "hidden_size": {64 if name == "hf" else 128}}}')
            (folder / f"snapshots/{shard}/model.safetensors").write_bytes(bytes(1000))
        shutil.copytree(self.home / "hf", planted / "hf3")
        broken = planted / f"hf3/hub/models--me--tiny/snapshots/{'a' * 40}/model.safetensors"
        for folder in ("smaller", "errors", "newer", "broken"):
            (planted / folder).mkdir()
        self.driver(planted / "newer", 4, driver="590.1")
        for name, gpu in (("smaller", "NVIDIA A100-SXM4-40GB, 40960, 580.95.05, 3, 0, Disabled"), ("errors", "NVIDIA A100-SXM4-80GB, 81920, 580.95.05, 3, 2, Disabled")):
            (planted / name / "nvidia-smi").write_text(f"#!/bin/sh\nfor gpu in 1 2 3 4; do echo '{gpu}'; done\n")
            (planted / name / "nvidia-smi").chmod(0o755)
        (planted / "broken/nvidia-smi").write_text("#!/bin/sh\nexit 9\n")
        (planted / "broken/nvidia-smi").chmod(0o755)
        self.environment(planted / "transformers", "3.11", "0.19.8")
        site = planted / "transformers/lib/python3.11/site-packages"
        (site / "transformers-5.19.0.dist-info").rename(site / "transformers-5.18.0.dist-info")
        self.environment(planted / "without", "3.11", "0.19.8")
        shutil.rmtree(planted / "without/lib/python3.11/site-packages/deepspeed")
        shutil.rmtree(planted / "without/lib/python3.11/site-packages/deepspeed-0.19.8.dist-info")
        copy = self.home / "zlaunch"
        copy.chmod(0o755)
        nobody = "exec setpriv --reuid 65533 --regid 65533 --clear-groups"
        for name, line in {
            "files": f'ulimit -n 200; exec {copy} "$@"',
            "processes": f'exec prlimit --nproc=40 setpriv --reuid 65533 --regid 65533 --clear-groups {copy} "$@"',
            "locked": f'ulimit -l 64; {nobody} {copy} "$@"',
            "two_visible": f'CUDA_VISIBLE_DEVICES=0,1 exec {copy} "$@"',
            "libraries": f'LD_LIBRARY_PATH=/opt/other exec {copy} "$@"',
            "pythonpath": f'PYTHONPATH=/opt/other exec {copy} "$@"',
            "tokenless": f'unset HF_TOKEN; exec {copy} "$@"',
            "endpoint": f'HF_ENDPOINT=https://hf-mirror.com exec {copy} "$@"',
            "interface": f'NCCL_SOCKET_IFNAME=lo exec {copy} "$@"',
        }.items():
            self.program(name, line)
        for name, count, size in (("40", 4, 40), ("80", 4, 80), ("3", 3, 80)):
            for gpu in range(count):
                folder = planted / f"driver{name}/nvidia/gpus/0000:0{gpu}:00.0"
                folder.mkdir(parents=True)
                (folder / "information").write_text(f"Model: \t\t NVIDIA A100-SXM4-{size}GB\n")
        (planted / "meminfo").write_text("MemTotal: 16000000 kB\n")
        (planted / "meminfo2").write_text("MemTotal: 2000000000 kB\nMemAvailable: 1900000000 kB\n")
        broken.unlink()
        self.settle(planted, 7200)
        self.settle(self.home, 7200)
        broken.symlink_to("../../blobs/none")
        for machine in ALL:
            self.on(machine, "mount --bind ../planted/driver80 /proc/driver; mount --bind ../planted/meminfo2 /proc/meminfo")

    def text(self, text):
        for name, value in {"{binary}": self.lab.binary, "{home}": self.home, "{cards}": "mount --bind ../planted/driver"}.items():
            text = text.replace(name, str(value))
        return text

    def look(self, plant="", heal="", on="node02", options={}, more=(), command=None, nproc="4", launch="", taken=False, **variables):
        """Status and output of `doctor`."""
        options = {"--deepspeed": "zero2", "--nproc-per-node": nproc} | options
        options = [part for pair in options.items() for part in pair]
        command = command or ["python3", "train.py", "--data", "data/train.jsonl", "--model", "./model", "--output_dir", "out"]
        batch = [] if command[1] in ("hf.py", "sft") or "ds.json" in options or FUSED[1] in more else ["--set", "train_micro_batch_size_per_gpu=1"]
        words = [str(self.lab.binary), "doctor", *options, *batch, *(self.text(word) for word in more), "--", *command]
        self.words = lambda *_: ["'" + word + "'" for word in words]
        variables = {name: self.text(value) for name, value in variables.items()}
        machines = [on] if isinstance(on, str) else on
        other = None
        try:
            for machine in machines:
                if plant:
                    self.on(machine, self.text(plant))
            if taken:
                variables["MASTER_PORT"] = str(free_port())
                node = self.lab.cluster.daemons["node01"].pid
                other = subprocess.Popen(["nsenter", "-t", str(node), "-n", "python3", "-c", LISTEN, variables["MASTER_PORT"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                other.stdout.readline()
            return self.doctor(launch=launch, **variables)
        finally:
            for machine in machines:
                if heal:
                    self.on(machine, self.text(heal))
            if other:
                other.stdin.close()
                other.wait()


def found(lab, breaks, says, **how):
    status, output = Planted(lab).look(**how)
    said = [line for line in output.splitlines() if line.startswith(("error", "warning"))]
    assert any(says in line for line in said), f"not found: status {status}\n{output}"
    assert (status == 1) == breaks, f"status {status}\n{output}"


def nothing_wrong(lab, **how):
    status, output = Planted(lab).look(**how)
    assert status == 0, f"status {status}\n{output}"
    return ", ".join(line for line in output.splitlines() if line.startswith("warning"))


def main():
    options = Arguments(__doc__, "bin", "env", "names").parse_args()
    checks = Checks(options.names)
    separate()
    with Cluster() as cluster:
        lab = Lab(cluster, options.bin, options.env)
        for name, how in FAULTS.items():
            checks.run(name, found, lab, **how)
        for name, how in HEALTHY.items():
            checks.run(f"healthy: {name}", nothing_wrong, lab, **how)
    checks.finish()


if __name__ == "__main__":
    main()
