#!/usr/bin/env python3
"""What the plain command refuses, zlaunch refuses: it starts the trainer itself, so the checks of the front end that it replaces must not get lost.

Command lines that work are made wrong in generated ways (names and values misspelt, left out, of another type, joined, with one dash, words that nobody asked
for, run files changed alike). The real front end says alone which it refuses before it loads a model (front_end.py); `zlaunch check` must refuse or warn of the same, and refuse no
other. A case's name is the front end and its number; with names, the answers are printed.
"""
import json
import os
import random
import shlex
import subprocess
import tempfile
from pathlib import Path

from harness import HERE, Arguments, Checks, environment

COMMON = "--output_dir out --use_cpu true"
SWIFT = f"--model model --model_type qwen2 --template qwen --dataset data.jsonl {COMMON}"
TRL = f"--model_name_or_path model --dataset_name data --bf16 false {COMMON}"
RUN_FILES = {
    "swift.yaml": "model: model\ndataset: data.jsonl\ntuner_type: full\noutput_dir: out\nuse_cpu: true\nlearning_rate: 1.0e-5\n",
    "trl.yaml": "model_name_or_path: model\ndataset_name: data\noutput_dir: out\nbf16: false\nuse_cpu: true\nlearning_rate: 1.0e-5\n",
    "llamafactory.yaml": "model_name_or_path: model\nstage: sft\ndo_train: true\nfinetuning_type: full\ndataset: tiny\ndataset_dir: data\ntemplate: qwen\ncutoff_len: 64\noutput_dir: out\nuse_cpu: true\n"
                         "per_device_train_batch_size: 1\nlearning_rate: 1.0e-5\n",
    "axolotl.yaml": "base_model: ./model\ndatasets:\n  - path: data.jsonl\n    type: chat_template\noutput_dir: out\nmicro_batch_size: 1\ngradient_accumulation_steps: 1\nnum_epochs: 1\n"
                    "learning_rate: 0.0001\noptimizer: adamw_torch\nsequence_len: 64\nbf16: false\ntf32: false\n",
    "accelerate.yaml": "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 2\nnum_machines: 1\nnum_processes: 2\nmixed_precision: 'no'\n",
}
# The environment of each, and lines that work.
FRONT_ENDS = {
    "swift": ("", [f"swift sft {SWIFT} --tuner_type full --learning_rate 1e-5 --gradient_checkpointing true --torch_dtype float32 --lr_scheduler_type cosine",
                   "swift sft swift.yaml --model_type qwen2 --template qwen --num_train_epochs 1 --seed 5", f"swift pt {SWIFT} --tuner_type lora --lora_rank 8 --max_length 64",
                   f"swift rlhf --rlhf_type dpo {SWIFT} --beta 0.1 --optim adamw_torch"]),
    "trl": ("", [f"trl sft {TRL} --learning_rate 1e-5 --max_length 64 --packing false --optim adamw_torch --save_strategy no", "trl sft --config trl.yaml --seed 5",
                 f"trl dpo {TRL} --beta 0.1 --lr_scheduler_type cosine"]),
    "accelerate": ("", ["accelerate launch --num_processes 2 --num_machines 1 --mixed_precision no --use_deepspeed --zero_stage 2 train.py",
                        "accelerate launch --config_file accelerate.yaml --main_process_port 29501 train.py"]),
    "llamafactory": ("llamafactory", ["llamafactory-cli train llamafactory.yaml", "llamafactory-cli train llamafactory.yaml learning_rate=1e-4 num_train_epochs=1",
                                      f"llamafactory-cli train --model_name_or_path model --stage sft --do_train true --finetuning_type lora --lora_rank 8 --dataset tiny --dataset_dir data --template qwen {COMMON}"]),
    "axolotl": ("axolotl", ["axolotl train axolotl.yaml", "axolotl train axolotl.yaml --learning-rate 1e-4 --micro-batch-size 2"]),
}
KINDS = ["name", "no value", "value", "value", "stray", "command", "one dash", "short", "joined", "misspelt value", "file", "file"]
# The process that zlaunch starts too reads the rest: axolotl its values and its file, accelerate its file.
FEWER_KINDS = {"axolotl": ["name", "command", "one dash", "short"], "accelerate": [kind for kind in KINDS if kind != "file"]}
# Whose values lead to a hub or to files, or are looked up when the model is there: the parser says nothing about them.
NAMES = {"--model", "--model_name_or_path", "--dataset", "--dataset_name", "--dataset_dir", "--output_dir", "--config_file", "--tuner_type"}
WRONG = ["abc", "1e--5", "", "-1", "1.5", "maybe", "None", "10,20", "inf", "0x10", "yes", "2x"]
STRAY = ["NPROC_PER_NODE=2", "\\", "foo", "—bf16", "&&", "-x", "true"]


def misspelt(rng, word):
    body = word.lstrip("-")
    if len(body) < 4:
        return word + "x"
    at = rng.randrange(1, len(body) - 1)
    return word.removesuffix(body) + rng.choice([body[:at] + body[at + 1:], body[:at] + body[at + 1] + body[at] + body[at + 2:], body[:at] + body[at] + body[at:], body + "s"])


def mutation(rng, line, kinds):
    """The words and the run files of a wrong line, or None."""
    words = line.split()
    options = [at for at, word in enumerate(words) if word.startswith("--")]
    values = [at + 1 for at in options if at + 1 < len(words) and not words[at + 1].startswith("--") and words[at] not in NAMES]
    files = [word for word in words if word in RUN_FILES]
    kind = rng.choice(kinds)
    changed = {}
    if kind == "stray":
        words.insert(rng.randrange(2, len(words) + 1), rng.choice(STRAY))
    elif kind == "command":
        words[1] = misspelt(rng, words[1])
    elif kind == "file" and files:
        lines = RUN_FILES[files[0]].splitlines()
        at = rng.randrange(len(lines))
        key, _, value = lines[at].partition(":")
        lines[at:at + 1] = rng.choice([[f"{misspelt(rng, key)}:{value}"], [f"{key}: {rng.choice([it for it in WRONG if it])}"], [], [lines[at], lines[at]], [f"{key} ={value}"]])
        changed = {files[0]: "\n".join(lines) + "\n"}
    elif kind in ("name", "one dash", "short") and options:
        at = rng.choice(options)
        words[at] = {"name": misspelt(rng, words[at]), "one dash": words[at][1:], "short": words[at][:-rng.randrange(1, 4)]}[kind]
    elif kind in ("value", "no value", "joined", "misspelt value") and values:
        at = rng.choice(values)
        words[at - 1:at + 1] = {"value": [words[at - 1], rng.choice(WRONG)], "no value": [words[at - 1]], "joined": [f"{words[at - 1]}={rng.choice([words[at], *WRONG])}"],
                                "misspelt value": [words[at - 1], misspelt(rng, words[at])]}[kind]
    else:
        return None
    return words, changed


class FrontEnd:
    def __init__(self, name, zlaunch, folder):
        which, self.lines = FRONT_ENDS[name]
        self.name, self.zlaunch, self.folder = name, zlaunch, folder / name
        self.env = environment(*([which] if which else []))
        self.variables = {"PATH": f"{self.env}/bin:/usr/bin:/bin", "HOME": str(folder), "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1", "ACCELERATE_USE_CPU": "true", "TORCHINDUCTOR_COMPILE_THREADS": "1"}
        subprocess.run([self.env / "bin/python", HERE / "make_model.py", folder], env=self.variables, check=True, capture_output=True)
        (folder / "data").mkdir(exist_ok=True)
        (folder / "data/data.jsonl").write_text((folder / "data.jsonl").read_text())
        tags = {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"}
        (folder / "data/dataset_info.json").write_text(json.dumps({"tiny": {"file_name": "data.jsonl", "formatting": "sharegpt", "columns": {"messages": "messages"}, "tags": tags}}))
        (folder / "train.py").write_text("import accelerate\naccelerate.Accelerator()\n")
        self.driver = subprocess.Popen([self.env / "bin/python", HERE / "front_end.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=self.variables)

    def place(self, number, changed):
        folder = self.folder / str(number)
        folder.mkdir(parents=True)
        for name in ("model", "data.jsonl", "data", "train.py"):
            os.symlink(self.folder.parent / name, folder / name)
        for name, text in (RUN_FILES | changed).items():
            (folder / name).write_text(text)
        return folder

    def plain(self, words, folder):
        self.driver.stdin.write(json.dumps({"argv": words, "folder": str(folder)}) + "\n")
        self.driver.stdin.flush()
        line = next(line for line in self.driver.stdout if line.startswith("ANSWER "))
        return json.loads(line.removeprefix("ANSWER "))

    def judged(self, words, folder):
        """The severities that zlaunch gives, and what it says."""
        ours = [] if self.name == "accelerate" else ["--deepspeed", "zero2", "--nproc-per-node", "1"]
        run = subprocess.run([self.zlaunch, "check", "--format", "json", *ours, "--", *words], cwd=folder, env=self.variables, capture_output=True, text=True)
        found = json.loads(run.stdout)["diagnostics"]
        return {(it["severity"], it["message"]) for it in found}

    def stop(self):
        self.driver.stdin.close()
        self.driver.wait()


def compare(front_end, number, words, changed, usual):
    """What is wrong, and what both said."""
    folder = front_end.place(number, changed)
    plain, said = front_end.plain(words, folder), front_end.judged(words, folder) - usual
    told = {severity for severity, _ in said} & {"error", "warning"}
    wrong = ""
    if plain["status"] and not told:
        wrong = "the plain command refuses it, and zlaunch says nothing"
    # `llamafactory-cli` ends well when it shows its usage.
    elif not plain["status"] and "error" in told and words[1] == shlex.split(front_end.lines[0])[1]:
        wrong = "zlaunch refuses it, and the plain command does not"
    answers = f"{shlex.join(words)}\n{changed}\nplain {plain['status']}: {plain['said']}\nzlaunch: {said}"
    return wrong and f"{wrong}\n{answers}", answers


def main():
    parser = Arguments(__doc__, "bin", "names")
    parser.add_argument("--cases", type=int, default=80, help="lines for each front end (default: 80)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=FRONT_ENDS, help="this front end; more than once for several")
    options = parser.parse_args()
    checks = Checks(options.names)
    for name in options.only or FRONT_ENDS:
        with tempfile.TemporaryDirectory(prefix="zlaunch-real-", ignore_cleanup_errors=True) as folder:
            rng, front_end = random.Random(f"{options.seed} {name}"), FrontEnd(name, options.bin, Path(folder).resolve())
            usual = {}
            for at, line in enumerate(front_end.lines):
                usual[line] = front_end.judged(line.split(), front_end.place(f"usual-{at}", {}))
                checks.judge(f"{name}-usual-{at}", compare(front_end, f"works-{at}", line.split(), {}, usual[line])[0])
            for number in range(options.cases):
                line = rng.choice(front_end.lines)
                case = mutation(rng, line, FEWER_KINDS.get(name, KINDS))
                if case and checks.wants(f"{name}-{number}"):
                    wrong, answers = compare(front_end, number, *case, usual[line])
                    checks.judge(f"{name}-{number}", wrong)
                    if options.names:
                        print(answers)
            front_end.stop()
    checks.finish()


if __name__ == "__main__":
    main()
