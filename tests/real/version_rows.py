#!/usr/bin/env python3
"""What depends on the versions that are installed: each check was seen to fail before zlaunch knew of it.

A check runs a command by the real programs of one or several environments, with zlaunch in front and without, and compares what the ranks get.
"""
import json
import os
import pty
import signal
import subprocess
import tempfile
from pathlib import Path

from differential import Bench
from harness import Arguments, Checks, check, environment, until
from lab import answers, variables

# What a rank was given by `accelerate launch`.
# One write a rank: lines of two ranks must not mix.
SHOW_STAGE = ("import json, os\nstage = json.load(open(os.environ['ACCELERATE_DEEPSPEED_CONFIG_FILE']))['zero_optimization']['stage']\n"
              "os.write(1, f'STAGE {stage}\\n'.encode())\n")


class Place:
    """A folder to run commands in, with the programs of an environment."""

    def __init__(self, binary, *which):
        self.binary, self.env = binary, environment(*which)
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)

    def write(self, name, content):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def run(self, *words, **more):
        return subprocess.run([str(word) for word in words], env=variables(self.env, self.root, **more), cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)

    def said(self, marker, *words, **more):
        """The lines that start with a marker, without it; the command must succeed."""
        result = self.run(*words, **more)
        assert result.returncode == 0, f"exit {result.returncode}: {' '.join(map(str, words))}\n{result.stdout[-3000:]}"
        return sorted(line.removeprefix(marker).strip() for line in result.stdout.splitlines() if line.startswith(marker))

    def plan(self, *words):
        result = subprocess.run([self.binary, "-n", "--format", "json", *map(str, words)], env=variables(self.env, self.root), cwd=self.root, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)


@check
def accelerates_run_file_or_its_flag(binary):
    """Before accelerate 1.5 the config in its run file beats the flag; since, the flag beats the file."""
    for stack in ("transformers-4.41", "early-2025", "transformers-4.51"):
        place = Place(binary, stack)
        place.write("x.py", SHOW_STAGE)
        for stage in (1, 2):
            place.write(f"z{stage}.json", {"zero_optimization": {"stage": stage}, "train_micro_batch_size_per_gpu": 1})
        place.write("a.yaml", "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: z2.json\n"
                    "  zero3_init_flag: false\nnum_machines: 1\nnum_processes: 2\nmain_process_port: 0\n")
        both = ["accelerate", "launch", "--config_file", "a.yaml", "--deepspeed_config_file", "z1.json", "x.py"]
        alone = place.said("STAGE", *both)
        assert place.said("STAGE", binary, "--", *both) == alone, f"{stack}: {alone} alone"
        stage = place.plan("--", *both)["config"]["zero_optimization"]["stage"]
        assert [str(stage)] * 2 == alone, f"{stack}: zlaunch says stage {stage}, the ranks have {alone}"
        ours = place.said("STAGE", binary, "--deepspeed", "zero3", "--", *both[:4], "x.py")
        assert ours == ["3", "3"], f"{stack}: --deepspeed zero3 reaches the ranks as {ours}"


@check
def accelerate_reads_a_file_with_the_name_of_a_template(binary):
    place = Place(binary, "transformers-4.51")
    place.write("x.py", SHOW_STAGE)
    place.write("zero2", {"zero_optimization": {"stage": 1}, "train_micro_batch_size_per_gpu": 1})
    command = ["accelerate", "launch", "--num_processes", "1", "--main_process_port", "0", "--use_deepspeed", "--deepspeed_config_file", "zero2", "x.py"]
    alone = place.said("STAGE", *command)
    assert place.said("STAGE", binary, "--", *command) == alone == ["1"], alone


@check
def below_stage_3_accelerate_rounds_the_prefetch_bucket(binary):
    """transformers 4.41 would not, and at stage 3 it is the one that fills it."""
    bench = Bench(binary, environment("transformers-4.41-accelerate-1.1"))
    for stage, bucket in ((2, 3686), (3, 3686.4)):
        config = {"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": stage, "stage3_prefetch_bucket_size": "auto"}}
        case = {"argv": ["--per_device_train_batch_size", "2"], "world": 2, "model": bench.known[0], "config": config}
        found = [answer["config"]["zero_optimization"]["stage3_prefetch_bucket_size"] for answer in (bench.planned(case), *bench.resolved([case]))]
        assert found == [bucket] * 2, f"stage {stage}: zlaunch {found[0]}, the trainer {found[1]}"


@check
def names_with_dashes_came_with_transformers_4_46(binary):
    """A script that passes over what its parser does not know has the default there, and zlaunch must not fill the other value."""
    script = ("from transformers import HfArgumentParser, TrainingArguments\n"
              "args, _ = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses(return_remaining_strings=True)\nprint('BATCH', args.per_device_train_batch_size)\n")
    for stack, read, filled in (("transformers-4.41", "8", "auto"), ("transformers-4.46", "3", 3)):
        place = Place(binary, stack)
        place.write("x.py", script)
        command = ["python", "x.py", "--output_dir", "out", "--per-device-train-batch-size", "3"]
        assert place.said("BATCH", *command) == [read], stack
        planned = place.plan("--nproc-per-node", "1", "--deepspeed", "zero2", "--", *command)["config"]["train_micro_batch_size_per_gpu"]
        assert planned == filled, f"{stack}: zlaunch fills {planned}, the script has {read}"


@check
def local_ranks_have_the_variables_of_torchrun(binary):
    # Of every run; where its own store and files are; the CPUs that torchrun does not count.
    own = {"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_USE_AGENT_STORE"}
    # A file for the traceback of a rank, which torchrun prints at the end; and what imports of torch leave behind in its process.
    only_torchruns = {"TORCHELASTIC_ERROR_FILE", "PYTORCH_NVML_BASED_CUDA_CHECK", "TORCHINDUCTOR_CACHE_DIR", "TORCHELASTIC_SIGNALS_TO_HANDLE", "TORCHELASTIC_HEALTH_CHECK_PORT"}
    for stack in (["transformers-4.41"], []):
        place = Place(binary, *stack)
        place.write("x.py", "import json, os, sys\njson.dump(dict(os.environ), open(f'{sys.argv[1]}-{os.environ[\"RANK\"]}.json', 'w'))\n")
        place.said("", "torchrun", "--standalone", "--nproc_per_node", "2", "x.py", "alone")
        place.said("", binary, "--launcher", "local", "--nproc-per-node", "2", "--", "python", "x.py", "ours")
        for rank in (0, 1):
            alone, ours = (json.loads((place.root / f"{who}-{rank}.json").read_text()) for who in ("alone", "ours"))
            assert own <= ours.keys(), own - ours.keys()
            missing = alone.keys() - ours.keys() - only_torchruns
            other = {name: (alone[name], ours[name]) for name in alone.keys() & ours.keys() - own if alone[name] != ours[name]}
            assert not missing and not other, f"{stack}: missing {missing}, different {other}"


@check
def output_of_local_ranks_under_stty_tostop(binary):
    """Their process groups are in the background of the terminal, where a line would stop them."""
    place = Place(binary)
    place.write("x.py", "print('LINE', flush=True)\n")
    words = [str(binary), "--launcher", "local", "--nproc-per-node", "2", "--", "python", "x.py"]
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(place.root)
        os.execvpe("/bin/sh", ["sh", "-c", 'stty tostop; exec "$@"', "sh", *words], variables(place.env, place.root))
    ended = lambda: os.waitpid(child, os.WNOHANG)[0] == child
    try:
        until(ended, "the ranks are stopped", 60)
    except AssertionError:
        os.kill(child, signal.SIGKILL)
        raise
    output = os.read(terminal, 65536).decode()
    assert output.count("LINE") == 2, output


@check
def packages_behind_a_pth_file(binary):
    """An environment over another one: the version that zlaunch sees is the one that Python imports."""
    below = environment("transformers-4.41")
    with tempfile.TemporaryDirectory() as folder:
        env = Path(folder) / "env"
        subprocess.run([below / "bin/python", "-m", "venv", "--without-pip", env], check=True)
        site, there = (next(root.glob("lib/python3*/site-packages")) for root in (env, below))
        (site / "below.pth").write_text(f"{there}\n")
        script = Path(folder) / "x.py"
        script.write_text("import transformers\nprint(transformers.__version__)\n")
        seen = subprocess.run([env / "bin/python", script], capture_output=True, text=True, env=variables(env, folder) | {"TORCH_EXTENSIONS_DIR": folder}).stdout.strip()
        said = subprocess.run([binary, "-n", "--format", "json", "--nproc-per-node", "1", "--", env / "bin/python", script], capture_output=True, text=True, env=variables(below, folder), cwd=folder)
        version = json.loads(said.stdout)["trainer"]["version"]
        assert version == seen, f"zlaunch says {version}, Python imports {seen}"


def main():
    options = Arguments(__doc__, "bin", "names").parse_args()
    checks = Checks(options.names)
    checks.run_all(options.bin)
    checks.finish()


if __name__ == "__main__":
    main()
