#!/usr/bin/env python3
"""`zlaunch check` against the real parser: no error on what DeepSpeed accepts, none missed of what it refuses when it reads a config.

Configs (the built-in templates, samples of every section, and those of the corpus) and seeded mutations of them (keys misspelt, moved,
retyped, out of range, combined) go to `deepspeed.DeepSpeedConfig` in one process, for several world sizes, and to `zlaunch check` for a
plain DeepSpeed script. The verdicts must be equal, for the last version of every recorded line of DeepSpeed (`tests/real/setup
deepspeed-VERSION`) or for those that `--deepspeed` names. Prints the disagreements, then how often each rule fires. A case's name is the
version and its number. `--record` keeps a sample of the verdicts for `cargo test`. What `zlaunch schema` says of the same configs to a real validator must be
what `check` says about keys, types and ranges.
"""
import collections
import concurrent.futures
import copy
import json
import random
import re
import subprocess
import tempfile
from pathlib import Path

from harness import DEEPSPEED_LINES, HERE, ROOT, Arguments, Checks, environment, import_from
from lab import answers

BATCH = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
WORLDS = (1, 1, 2, 8)
# The rules of `check` that a schema can say. The rest is about combinations, the machine or the command.
OF_SCHEMA = {"unknown-key", "ignored-key", "removed-key", "two-names", "wrong-type", "wrong-value", "odd-value", "batch-size", "auto"}
VERDICTS = ROOT / "tests/data/deepspeed-verdicts.jsonl"

PARSER = r'''
import copy, json, logging, sys
import deepspeed
import deepspeed.runtime.config as config
logging.disable(logging.CRITICAL)
world = 1
config.dist.get_rank = lambda *_: 0
config.dist.get_world_size = lambda *_: world
for line in sys.stdin:
    case = json.loads(line)
    world = case["world"]
    try:
        config.DeepSpeedConfig(copy.deepcopy(case["config"]))
        verdict = ""
    except BaseException as why:
        verdict = f"{type(why).__name__}: {why}".replace("\n", " ")[:300]
    print("ANSWER " + json.dumps(verdict), flush=True)
'''

VALUES = [None, True, False, 0, 1, 2, 3, 4, -1, 7, 0.5, 1.5, -0.1, 1e9, 1e30, "", "auto", "true", "False", "yes", "none", "cpu", "nvme", "0", "1", "2", " 3 ",
          "1_000", "1.0", "1.5", "5e8", "nan", "inf", "fp16", "FP32", "bfloat16", "sum", "MEAN", "warn", "Fail", "log", [], ["a"], [1], ["a", 1], {}, {"a": 1}, {"enabled": True}]


def normal(value):
    """Numbers as zlaunch hands them on: whole ones are integers."""
    if isinstance(value, dict):
        return {key: normal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [normal(item) for item in value]
    if isinstance(value, float) and value.is_integer() and (abs(value) < 9.2e18 or 0 <= value < 1.8e19):
        return int(value)
    return value


def sections(node, path=()):
    """Every object of a config, with its path."""
    yield path, node
    for key, value in node.items():
        if isinstance(value, dict):
            yield from sections(value, (*path, key))


class Mutator:
    def __init__(self, seed, bases, schema):
        self.random, self.bases, self.schema = random.Random(seed), bases, schema
        self.pairs = [json.loads(line) for line in (HERE / "cases/excluding.jsonl").read_text().splitlines()[1:]]
        # What one version or another refuses by name.
        self.removed = {key.split(".")[-1] for key, _, refused in schema if refused}

    def case(self):
        config = copy.deepcopy(self.random.choice(self.bases))
        # An open batch would hide everything else, and in newer versions old keys would.
        if self.random.random() < 0.95:
            removed = self.removed if self.random.random() < 0.5 else ()
            for key in BATCH:
                if config.get(key) == "auto":
                    del config[key]
            if not any(key in config for key in BATCH[:2]):
                config["train_micro_batch_size_per_gpu"] = 2
            for _, node in sections(config):
                for key in [key for key in node if key in removed]:
                    del node[key]
        for _ in range(self.random.choice((1, 1, 1, 2, 2, 3))):
            self.random.choice((self.misspell, self.move, self.retype, self.retype, self.add, self.add, self.add_combined, self.drop, self.batch))(config)
        return config

    def pick(self, config):
        """An object of the config that is not empty, and one of its keys."""
        filled = [node for _, node in sections(config) if node]
        node = self.random.choice(filled or [config])
        return node, (self.random.choice(list(node)) if node else None)

    def misspell(self, config):
        node, key = self.pick(config)
        if not key:
            return
        at = self.random.randrange(len(key))
        new = self.random.choice((key[:at] + key[at + 1:], key[:at] + key[at] * 2 + key[at + 1:], key + "s", key.upper(), key.replace("_", "-"), "stage3_" + key))
        node[new or "x"] = node.pop(key)

    def move(self, config):
        node, key = self.pick(config)
        if key:
            value = node.pop(key)
            self.random.choice([it for _, it in sections(config)])[key] = value

    def retype(self, config):
        node, key = self.pick(config)
        if key:
            node[key] = copy.deepcopy(self.random.choice(VALUES))

    def drop(self, config):
        node, key = self.pick(config)
        if key:
            del node[key]

    def add(self, config):
        """A key that DeepSpeed knows, at its place, with any value or its own default."""
        key, default, _ = self.random.choice(self.schema)
        self.put(config, key, copy.deepcopy(self.random.choice(VALUES) if self.random.random() < 0.7 else default))

    def put(self, config, key, value):
        node = config
        *way, last = key.split(".")
        for part in way:
            node = node.setdefault(part, {})
            if not isinstance(node, dict):
                return
        node[last] = value

    def add_combined(self, config):
        """Pairs that exclude each other, more often than chance would have them."""
        for key, value in self.random.choice(self.pairs).items():
            self.put(config, key, copy.deepcopy(value))

    def batch(self, config):
        for key in BATCH:
            if self.random.random() < 0.6:
                config[key] = self.random.choice((None, 1, 2, 4, 8, 16, 24, 0, -1, True, "8", 1.5, 2.0, 64))
            elif self.random.random() < 0.5:
                config.pop(key, None)
        if self.random.random() < 0.3:
            config["sequence_parallel_size"] = self.random.choice((1, 2, 3, 0, "2", None, True))


def schema_keys():
    rows = [line.split("\t") for line in (ROOT / "src/recorded/deepspeed-schema.txt").read_text().splitlines()]
    default = lambda text: None if text in ("-", "required") else json.loads(text)
    newest = lambda text: text.split(";")[0].rsplit("@", 1)[0] if ";" in text else text
    return [(row[0], default(newest(row[3])), row[5].endswith("!")) for row in rows if "@" not in row[0]]


def bases(binary, corpus):
    env = {"PATH": "/usr/bin:/bin", "HOME": "/proc/nowhere"}
    show = lambda *words: subprocess.run([binary, "templates", *words], env=env, capture_output=True, text=True, check=True).stdout
    names = [line.split()[0] for line in show().splitlines() if not line.startswith(" ")]
    samples = (HERE / "cases/configs.jsonl").read_text().splitlines()[1:]
    found = [json.loads(show(name)) for name in names] + [json.loads(line) for line in samples]
    for path in sorted((corpus / "configs").iterdir()) if corpus else []:
        try:
            config = json.loads(path.read_text())
        except ValueError:
            continue  # zlaunch and DeepSpeed read other dialects of JSON; what is no config is none for both
        if isinstance(config, dict):
            found.append(config)
    return [normal(config) for config in found]


def handed_over(config):
    """What DeepSpeed is given: nobody fills after zlaunch, and DeepSpeed infers a global batch that is not there."""
    return {key: value for key, value in config.items() if (key, value) != ("train_batch_size", "auto")}


def usable(config):
    """A GPU decides about GDS, and elastic training about batch sizes that it is not given."""
    aio, elastic = config.get("aio"), config.get("elasticity")
    decides = isinstance(elastic, dict) and elastic.get("enabled") and (elastic.get("ignore_non_elastic_batch_info") or not any(key in config for key in BATCH))
    return not (isinstance(aio, dict) and aio.get("use_gds")) and not decides


def ours(binary, env, folder, number, case):
    path = folder / f"{number}.json"
    path.write_text(json.dumps(case["config"]))
    words = [binary, "check", "--format", "json", "--nproc-per-node", str(case["world"]), "--", "python", "train.py", "--deepspeed_config", path.name]
    result = subprocess.run(words, env=env, cwd=folder, capture_output=True, text=True)
    path.unlink()
    assert "panicked" not in result.stderr, (case, result.stderr)
    if result.returncode not in (0, 1):
        return [{"rule": "PANIC", "severity": "error", "when": "parse", "message": f"{result.returncode} {result.stderr[:300]}"}]
    return json.loads(result.stdout)["diagnostics"]


def generated(options):
    """Every config as it is, for two world sizes, then the mutations."""
    plain = bases(options.bin, options.corpus)
    mutator = Mutator(options.seed, plain, schema_keys())
    cases = [{"config": config, "world": world} for config in plain for world in (1, 8)]
    while len(cases) < len(plain) * 2 + options.cases:
        config = normal(mutator.case())
        if usable(config):
            cases.append({"config": config, "world": mutator.random.choice(WORLDS)})
    return [case for case in cases if usable(case["config"])]


def compare_schema(version, env, cases, options, checks):
    """A validator with zlaunch's schema, and `zlaunch check FILE…` where this version is installed."""
    with tempfile.TemporaryDirectory() as folder:
        variables = {"PATH": f"{env}/bin:/usr/bin:/bin", "HOME": folder}
        run = lambda *words: subprocess.run([options.bin, *words], env=variables, cwd=folder, stdout=subprocess.PIPE, text=True).stdout
        validator = import_from("editor", "jsonschema").Draft202012Validator(json.loads(run("schema", "--deepspeed-version", version)))
        for number, case in cases.items():
            (Path(folder) / f"{number}.json").write_text(json.dumps(case["config"]))
        said = collections.defaultdict(list)
        for it in json.loads(run("check", "--format", "json", *(f"{number}.json" for number in cases)))["diagnostics"]:
            if it["rule"] in OF_SCHEMA:
                said[int(re.match(r"\d+", Path(it["where"][0]).name)[0])].append(f"{it['rule']}: {it['message']}")
    for number, case in cases.items():
        errors = [f"{'.'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in validator.iter_errors(case["config"])]
        checks.judge(f"{version}-{number}-schema", bool(errors) != bool(said[number]) and f"schema {errors} check {said[number]}\n  {json.dumps(case['config'])[:1500]}")


def compared(version, env, cases, options, checks):
    """The verdicts of one version, judged; and how often each of zlaunch's rules spoke."""
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(3) as pool:
        folder = Path(folder)
        (folder / "train.py").write_text("import deepspeed\ndeepspeed.initialize()\n")
        variables = {"PATH": f"{env}/bin:/usr/bin:/bin", "HOME": str(folder)}
        theirs = pool.submit(answers, env, folder, ["-c", PARSER], [case | {"config": handed_over(case["config"])} for case in cases.values()])
        found = list(pool.map(lambda it: ours(options.bin, variables, folder, *it), cases.items()))
        verdicts = theirs.result()
    fired = collections.Counter()
    for (number, case), verdict, diagnostics in zip(cases.items(), verdicts, found):
        fired.update({diagnostic["rule"] for diagnostic in diagnostics})
        # An open "auto" is refused for zlaunch's own reason.
        if any(diagnostic["rule"] == "auto" for diagnostic in diagnostics):
            continue
        refused = [it for it in diagnostics if it["severity"] == "error" and it["when"] == "parse"]
        said = "; ".join(f"{it['rule']}: {it['message']}" for it in refused)
        checks.judge(f"{version}-{number}", bool(refused) != bool(verdict) and (
            f"world {case['world']}  {json.dumps(case['config'])[:1500]}\n  DeepSpeed: {verdict or 'accepts it'}\n  zlaunch:   {said[:600] or 'accepts it'}"))
    print(f"DeepSpeed {version}: {sum(not verdict for verdict in verdicts)} accepted, {sum(map(bool, verdicts))} refused; {checks.failed} disagreements so far", flush=True)
    return verdicts, fired


def sample(cases, verdicts, count=240, longest=700):
    """Configs that the versions take differently before those that they agree about, short ones only."""
    rows = [{"config": case["config"], "world": case["world"], "refused": "".join(str(int(bool(verdict))) for verdict in column)}
            for case, *column in zip(cases.values(), *verdicts.values())]
    rows = [row for row in rows if len(json.dumps(row)) < longest]
    rows.sort(key=lambda row: len(set(row["refused"])) == 1)
    return "".join(json.dumps(row) + "\n" for row in [list(verdicts), *rows[:count]])


def main():
    parser = Arguments(__doc__, "bin", "corpus", "names")
    parser.add_argument("--deepspeed", action="append", metavar="VERSION", help="this version only (may be repeated)")
    parser.add_argument("--cases", type=int, default=3000, help="mutations for each version (default: 3000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", action="store_true", help=f"write {VERDICTS.relative_to(ROOT)} too")
    options = parser.parse_args()
    checks, verdicts, fired = Checks(options.names), {}, collections.Counter()
    drawn = list(enumerate(generated(options)))
    for version in options.deepspeed or DEEPSPEED_LINES:
        cases = {number: case for number, case in drawn if checks.wants(f"{version}-{number}")}
        if cases:
            env = environment(f"deepspeed-{version}")
            verdicts[version], spoke = compared(version, env, cases, options, checks)
            fired += spoke
            compare_schema(version, env, cases, options, checks)
    for rule, count in fired.most_common():
        print(f"  {rule:38} {count:6}")
    if options.record:
        VERDICTS.write_text(sample(cases, verdicts))
    checks.finish()


if __name__ == "__main__":
    main()
