#!/usr/bin/env python3
"""What depends on the versions that are installed: each check was seen to fail before zlaunch knew of it.

A check runs a command by the real programs of one or several environments, with zlaunch in front and without, and compares what the ranks get.
"""
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from harness import Arguments, Checks, check, environment
from lab import variables

# What a rank was given by `accelerate launch`.
SHOW_STAGE = "import json, os\nprint('STAGE', json.load(open(os.environ['ACCELERATE_DEEPSPEED_CONFIG_FILE']))['zero_optimization']['stage'])\n"


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
    for stack in ("transformers-4.41", "transformers-4.46"):
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


def main():
    options = Arguments(__doc__, "bin", "names").parse_args()
    checks = Checks(options.names)
    checks.run_all(options.bin)
    checks.finish()


if __name__ == "__main__":
    main()
