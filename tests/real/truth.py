#!/usr/bin/env python3
"""Never green, then red: launches that fail in the real trainer are refused or warned of before, and launches that work are never refused.

The cases (truth_cases.py) are run by the real, unmodified trainers on the CPU until they fail or have trained a step, without zlaunch, and are put to
`zlaunch check` and `zlaunch -n`. A trainer is imported once and forked for each case (zygote.py); some are started cold, as a user would. How a case
ended is kept beside the environment. Only what zlaunch says because of the case counts: warnings that the unchanged launch gets too do not.
"""
import collections
import concurrent.futures
import copy
import dataclasses
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from harness import HERE, SHOWN, Arguments, Checks, environment, free_port, in_parallel, port_was_taken, torch_aborted_at_exit
from lab import make_model, variables
from truth_cases import ENVIRONMENTS, SCRIPTS, Case, all_cases

# What a rank executes, below site-packages or as a module, and what is imported for all cases.
TARGETS = {"swift": "swift/cli/sft.py", "hf": "train.py", "trl": "trl.scripts.sft", "llamafactory": "llamafactory.launcher"}
IMPORTED = ["deepspeed", "transformers", "accelerate"]
# The first case may compile DeepSpeed's ops.
LIMIT, FIRST, COLD = 120, 1800, 600

# Failures that nothing before the launch decides, by what the trainer says, and why.
UNDECIDED = {
}


def put(config, key, value):
    *way, last = key.split(".")
    for part in way:
        config = config.setdefault(part, {})
    if value is None:
        config.pop(last, None)
    else:
        config[last] = value


def script(case):
    return (HERE / "train_hf.py").read_text().replace(*SCRIPTS[case.script])


class Bench:
    """An environment: its model and data, its trainers, and what is known of its cases."""

    def __init__(self, binary, name, root, fresh):
        self.binary, self.name, self.env = binary, name, environment(*filter(None, [name]))
        self.root = root / (name or "main")
        # Kept, because transformers takes long to import on a busy machine.
        made = self.env.parent / "tiny"
        if not (made / "data.jsonl").exists():
            make_model(self.env, made)
        shutil.copytree(made, self.root)
        (self.root / "data").mkdir()
        shutil.copy(self.root / "data.jsonl", self.root / "data/train.jsonl")
        tags = {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"}
        info = {"tiny": {"file_name": "train.jsonl", "formatting": "sharegpt", "columns": {"messages": "messages"}, "tags": tags}}
        (self.root / "data/dataset_info.json").write_text(json.dumps(info))
        self.site = next(self.env.glob("lib/python3*/site-packages"))
        self.store = self.env.parent / "outcomes.jsonl"
        lines = self.store.read_text().splitlines() if self.store.exists() and not fresh else []
        self.known = {found["key"]: found for found in map(json.loads, lines)}
        self.templates = {}

    def config(self, case):
        """The text of the config: what a user would write without zlaunch."""
        if case.config or case.config is None:
            return case.config
        config = self.template(case.template)
        for key, value in case.set.items():
            put(config, key, value)
        return json.dumps(config)

    def key(self, case, *more):
        """Stands for all that a trainer sees of a case."""
        seen = [dataclasses.asdict(case), case.all_arguments(), self.config(case), script(case), *more]
        return hashlib.sha256(json.dumps(seen).encode()).hexdigest()[:16]

    def remember(self, key, found):
        self.known[key] = found = {"key": key} | found
        with open(self.store, "a") as file:
            file.write(json.dumps(found) + "\n")

    def found(self, case):
        return self.known.get(self.key(case))

    def template(self, name):
        if name not in self.templates:
            text = subprocess.run([self.binary, "templates", name], env={"HOME": str(self.root)}, capture_output=True, text=True, check=True).stdout
            self.templates[name] = json.loads(text)
        return copy.deepcopy(self.templates[name])

    def variables(self, case):
        own = {name: str(BUSY.getsockname()[1]) if value == "BUSY" else str(free_port()) if value == "FREE" else value for name, value in (case.variables | (case.place or {})).items()}
        return variables(self.env, self.root / "home") | own


# A port that is taken as long as this script runs.
BUSY = socket.create_server(("0.0.0.0", 0))


class Launch:
    """A case in a folder of its own: the command of the trainer alone, and the one for zlaunch."""

    def __init__(self, bench, case, root):
        self.bench, self.case = bench, case
        self.folder = Path(tempfile.mkdtemp(dir=root))
        for shared in ("model", "data", "data.jsonl"):
            (self.folder / shared).symlink_to(bench.root / shared)
        (self.folder / "train.py").write_text(script(case))
        self.config = bench.config(case)
        written = {case.config_path: self.config} if case.config_path == "ds.json" and case.config is not None else {}
        for name, text in (written | case.files).items():
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                file.mkdir()
            else:
                file.write_text((self.folder / text[1:]).read_text() if text.startswith("=") else text)

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def arguments(self, config):
        """The trainer's words, with the config or without. LLaMA-Factory gets a file, unless words are what is tried."""
        given = self.case.all_arguments() | ({"deepspeed": config} if config else {})
        if self.case.trainer == "llamafactory" and not self.case.words:
            # To YAML a bare `no` is false.
            (self.folder / "run.yaml").write_text("".join(f"{name}: {repr(value) if value == 'no' else value}\n" for name, value in given.items()))
            return ["run.yaml"]
        return [word for name, value in given.items() for word in (f"--{name}", str(value))] + self.case.words

    def target(self):
        target = TARGETS[self.case.trainer]
        return str(self.bench.site / target) if self.case.trainer == "swift" else target

    def alone(self):
        """The command of a user without zlaunch, and its variables."""
        case, words, port = self.case, self.arguments(self.case.config_path), str(free_port())
        torchrun = ["torchrun", "--nproc_per_node", str(case.ranks), "--master_port", port]
        place = {"NPROC_PER_NODE": str(case.ranks), "MASTER_PORT": port}
        command, own = {"swift": (["swift", "sft", *words], place), "hf": ([*torchrun, "train.py", *words], {}), "trl": ([*torchrun, "-m", "trl.scripts.sft", *words], {}),
                        "llamafactory": (["llamafactory-cli", "train", *words], place | {"FORCE_TORCHRUN": "1"})}[case.trainer]
        return self.behind_prefix(command), variables(self.bench.env, self.bench.root / "home") | own | self.bench.variables(case)

    def behind_prefix(self, command):
        return [*self.case.prefix, shlex.join(command)] if self.case.prefix[-1:] == ["-c"] else [*self.case.prefix, *command]

    def asked(self, *first):
        """The same launch for zlaunch."""
        case = self.case
        options = [] if case.place or "NPROC_PER_NODE" in case.variables else ["--nproc-per-node", str(case.ranks)]
        own = case.config_path if case.channel == "own" else None
        if case.channel == "set":
            options += ["--deepspeed", case.template]
            for key, value in case.set.items():
                options += ["--unset", key] if value is None else ["--set", f"{key}={json.dumps(value)}"]
        elif case.channel == "patch":
            base, wanted = self.bench.template(case.template), json.loads(self.config)
            operations = [{"op": "add", "path": f"/{key}", "value": value} for key, value in wanted.items() if base.get(key) != value]
            operations += [{"op": "remove", "path": f"/{key}"} for key in base if key not in wanted]
            (self.folder / "patch.json").write_text(json.dumps(operations))
            options += ["--deepspeed", case.template, "--patch", "patch.json"]
        elif case.channel == "file":
            options += ["--deepspeed", case.config_path]
        start = {"swift": ["swift", "sft"], "hf": ["python", "train.py"], "trl": ["trl", "sft"], "llamafactory": ["llamafactory-cli", "train"]}[case.trainer]
        return [str(self.bench.binary), *first, *options, "--", *self.behind_prefix([*start, *self.arguments(own)])]


class Zygote:
    """A process that has imported a trainer; started when it is needed."""

    def __init__(self, bench, trainer):
        self.bench, self.trainer, self.process = bench, trainer, None

    def start(self):
        log = open(self.bench.root / f"{self.trainer}.log", "a")
        self.process = subprocess.Popen([self.bench.env / "bin/python", HERE / "zygote.py", *IMPORTED], env=variables(self.bench.env, self.bench.root / "home"), cwd=self.bench.root,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True)
        launch = Launch(self.bench, Case(self.bench.name, self.trainer, "unchanged", ranks=1), self.bench.root)
        found, said = self.run(launch, limit=FIRST, learn=str(launch.folder / "modules"))
        launch.remove()
        assert found["status"] == 0, f"{self.bench.name} {self.trainer}: the unchanged launch fails\n{said[-3000:]}"

    def run(self, launch, limit=LIMIT, **more):
        log = launch.folder / "output.log"
        own = {} if launch.case.place is None else self.bench.variables(launch.case)
        request = {"target": launch.target(), "argv": launch.arguments(launch.case.config_path), "ranks": 1 if launch.case.place else launch.case.ranks, "env": own | launch.case.variables,
                   "place": launch.case.place is None, "folder": str(launch.folder), "log": str(log), "limit": limit, "port": free_port()} | more
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line.startswith("ANSWER "), f"the {self.trainer} of {self.bench.name} ended"
        return json.loads(line.removeprefix("ANSWER ")), log.read_text(errors="replace") if log.exists() else ""

    def outcome(self, launch):
        if self.process is None:
            self.start()
        return self.run(launch)

    def stop(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()


def cold(launch, command, given):
    """Starts a command as a user would."""
    log = launch.folder / "output.log"
    began = time.monotonic()
    with open(log, "a") as output:
        process = subprocess.Popen(command, env=given, cwd=launch.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            status = process.wait(COLD)
        except subprocess.TimeoutExpired:
            status = "timeout"
        took = time.monotonic() - began
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
    return {"status": status, "seconds": round(took, 2)}, log.read_text(errors="replace")


def reason(output):
    """The line of a failed trainer that says why."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    said = [line for line in lines if re.match(r"(\[rank\d+\]: ?)?([\w.]*(Error|Exception|NotInstalled|Interrupt)\b|.*\berror: )", line) and "ChildFailedError" not in line and "Error: Traceback" not in line]
    unequal = [line for line in lines if line.startswith("- ds ")]
    return " ".join([(said or lines or ["(nothing)"])[-1], *dict.fromkeys(unequal)])[:300]


def run_case(zygote, case, root):
    """How the real trainer ends."""
    for _ in range(3):
        launch = Launch(zygote.bench, case, root)
        found, said = cold(launch, *launch.alone()) if case.cold else zygote.outcome(launch)
        launch.remove()
        if found["status"] == 0 or "BUSY" in str(case) or not port_was_taken(said) and not torch_aborted_at_exit(said):
            break
    return {"works": found["status"] == 0, "status": found["status"], "seconds": found["seconds"], "reason": "" if found["status"] == 0 else reason(said)}


def run_group(bench, trainer, cases, root):
    """All cases of one trainer, one after the other."""
    zygote = Zygote(bench, trainer)
    todo = [case for case in cases if bench.key(case) not in bench.known]
    for number, case in enumerate(todo):
        bench.remember(bench.key(case), run_case(zygote, case, root))
        if number % 25 == 24:
            print(f"{bench.name or 'main'} {trainer}: {number + 1} of {len(todo)} run", flush=True)
    zygote.stop()


def works_through_zlaunch(bench, case, plan, root):
    """Whether a launch that fails alone is put right on the way: what zlaunch reads and writes again need not be what the trainer would have read."""
    key = bench.key(case, "through", plan)
    if key not in bench.known:
        launch = Launch(bench, case, root)
        found, said = cold(launch, launch.asked(), bench.variables(case))
        launch.remove()
        bench.remember(key, {"works": found["status"] == 0, "seconds": found["seconds"], "reason": reason(said)})
    return bench.known[key]["works"]


@dataclasses.dataclass
class Answer:
    """What zlaunch says about a case."""
    refused: bool
    plan: str
    found: list
    shown: str


def ask(bench, case, root):
    launch = Launch(bench, case, root)
    given = bench.variables(case)
    run = lambda *first: subprocess.run(launch.asked(*first), env=given, cwd=launch.folder, capture_output=True, text=True, errors="replace", timeout=60)
    checked, planned = run("check", "--format", "json"), run("-n", "--format", "json")
    shown = shlex.join(["zlaunch", *launch.asked("check")[1:]])
    launch.remove()
    assert "panicked" not in checked.stderr + planned.stderr, checked.stderr + planned.stderr
    try:
        found = [(it["severity"], it["rule"], it["message"]) for it in json.loads(checked.stdout)["diagnostics"]]
    except ValueError:
        found = [("error", "refused", (checked.stderr + checked.stdout).strip()[:300])] if checked.returncode else []
    plan = None if planned.returncode else planned.stdout.replace(str(launch.folder), "").replace(str(bench.root), "")
    return Answer(checked.returncode != 0, plan, found, shown)


class Verdicts:
    """Counts what zlaunch said of cases whose end is known."""

    def __init__(self, checks):
        self.checks, self.kinds = checks, collections.defaultdict(collections.Counter)
        self.misses, self.undecided, self.unneeded = [], collections.Counter(), collections.Counter()

    def judge(self, case, found, answer, usual, mended):
        count, new = self.kinds[case.kind], [it for it in answer.found if it not in usual]
        errors, warnings = ([it for it in new if it[0] == severity] for severity in ("error", "warning"))
        name = f"{case.environment or 'main'}/{case.trainer}/{case.id}"
        if found["works"]:
            count["works"] += 1
            count["false errors"] += answer.refused or answer.plan is None
            count["warned, yet works"] += bool(warnings)
            self.unneeded.update(rule for _, rule, _ in warnings)
            wrong = f"works, and is refused: {errors[:2]}\n  {answer.shown}" if answer.refused or answer.plan is None else None
        else:
            count["fails"] += 1
            why = next((why for said, why in UNDECIDED.items() if re.search(said, found["reason"])), None)
            verdict = "refused" if answer.refused else "warned" if warnings else "undecided" if why else "mended" if mended(case, answer) else "missed"
            count[verdict] += 1
            if verdict == "undecided":
                self.undecided[why] += 1
            wrong = f"{case.kind}: fails, and zlaunch says nothing: {found['reason']}\n  {answer.shown}" if verdict == "missed" else None
        if wrong:
            self.misses.append((case, found, answer, wrong))
        self.checks.judge(name, wrong)

    def table(self):
        columns = ["fails", "refused", "warned", "mended", "undecided", "missed", "works", "false errors", "warned, yet works"]
        total = sum(self.kinds.values(), collections.Counter())
        yield f"{'kind':26}" + "".join(f"{name:>{len(name) + 2}}" for name in columns)
        for kind, count in [*sorted(self.kinds.items()), ("in all", total)]:
            yield f"{kind:26}" + "".join(f"{count[name]:{len(name) + 2}}" for name in columns)


def earlier(benches, cases, verdicts, number, root):
    """Cases started cold: each must end as it did from the zygote; returns after how many seconds a trainer refused."""
    groups = collections.defaultdict(list)
    for case in cases:
        if not case.cold and not case.place:
            groups[case.environment, case.trainer, benches[case.environment].found(case)["works"]].append(case)
    took = collections.defaultdict(list)
    for at in range(number):
        for (name, trainer, works), group in groups.items():
            kinds = {case.kind: case for case in group}
            chosen = list(kinds.values())[at % len(kinds)]
            if at * len(groups) + list(groups).index((name, trainer, works)) >= number:
                return took
            bench, as_users = benches[name], dataclasses.replace(chosen, cold=True)
            if not bench.found(as_users):
                bench.remember(bench.key(as_users), run_case(Zygote(bench, trainer), as_users, root))
            found = bench.found(as_users)
            wrong = None if found["works"] == works else f"cold: {found}\n  forked: {bench.found(chosen)}"
            verdicts.checks.judge(f"{name or 'main'}/{trainer}/{chosen.id}/cold", wrong)
            if not works and not wrong:
                took[trainer].append(found["seconds"])
    return took


def report(benches, cases, verdicts, took):
    print("", *verdicts.table(), sep="\n")
    for why, number in verdicts.undecided.most_common():
        print(f"{number} undecided: {why}")
    if verdicts.unneeded:
        print("warnings about launches that work:", ", ".join(f"{number} {rule}" for rule, number in verdicts.unneeded.most_common()))
    for trainer, seconds in sorted(took.items()):
        print(f"{trainer}: started cold, it refused after {statistics.median(seconds):.1f} s (median of {len(seconds)}; {min(seconds):.1f} to {max(seconds):.1f})")


def main():
    parser = Arguments(__doc__, "bin", "names")
    parser.add_argument("--cases", type=int, help="only the first N of the cases, which are in random order")
    parser.add_argument("--cold", type=int, default=24, help="how many cases are started cold too (default: 24)")
    parser.add_argument("--only", action="append", choices=[name or "main" for name in ENVIRONMENTS], help="only this environment (default: all)")
    parser.add_argument("--fresh", action="store_true", help="run again what is known")
    parser.add_argument("--known", action="store_true", help="run nothing, and look only at what is known")
    parser.add_argument("--misses", type=Path, metavar="FILE", help="write what zlaunch gets wrong to this file")
    options = parser.parse_args()
    checks = Checks(options.names)
    chosen = [name for name in ENVIRONMENTS if not options.only or (name or "main") in options.only]
    cases = [case for case in all_cases(chosen)[:options.cases] if checks.wants(f"{case.environment or 'main'}/{case.trainer}/{case.id}")]
    with tempfile.TemporaryDirectory(prefix="zlaunch-truth-", ignore_cleanup_errors=True) as root:
        root = Path(root)
        benches = {name: Bench(options.bin, name, root, options.fresh) for name in chosen}
        groups = collections.defaultdict(list)
        for case in cases:
            groups[case.environment, case.trainer].append(case)
        with concurrent.futures.ThreadPoolExecutor(in_parallel()) as pool:
            list(pool.map(lambda it: run_group(benches[it[0][0]], it[0][1], it[1], root), [] if options.known else groups.items()))
        verdicts = Verdicts(checks)
        usual = {(name, trainer, ranks): ask(benches[name], Case(name, trainer, "unchanged", ranks=ranks), root).found for name, trainer in groups for ranks in (1, 2)}
        run = [case for case in cases if benches[case.environment].found(case)]
        with concurrent.futures.ThreadPoolExecutor(in_parallel()) as pool:
            answers = list(pool.map(lambda case: ask(benches[case.environment], case, root), run))
        mended = lambda case, answer: not options.known and verdicts.checks.failed < SHOWN and answer.plan and works_through_zlaunch(benches[case.environment], case, answer.plan, root)
        for case, answer in zip(run, answers):
            verdicts.judge(case, benches[case.environment].found(case), answer, usual[case.environment, case.trainer, case.ranks], mended)
        took = earlier(benches, run, verdicts, 0 if options.known else options.cold, root)
        report(benches, run, verdicts, took)
    if options.misses:
        options.misses.write_text("".join(f"[{case.kind}] {case.environment or 'main'} {case.trainer} {case.id}\n  {answer.shown}\n"
                                          f"  variables: {case.variables or case.place or '-'}  zlaunch: {answer.found or 'nothing'}\n  trainer: {'works' if found['works'] else found['reason']}\n\n"
                                          for case, found, answer, _ in sorted(verdicts.misses, key=lambda it: (it[1]["works"], it[0].kind, it[1]["reason"]))))
    checks.finish()


if __name__ == "__main__":
    main()
