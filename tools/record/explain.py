"""Type, default and since of every DeepSpeed key, from the recorded schema: into src/tools/explain/entries.txt.

The texts stay as they are; an example is added where there is none.
"""
import json
import re
from pathlib import Path

from harness import ROOT, Arguments

# These two sections became strict then; their keys are older.
STRICT_SINCE = {("fp16", "0.17.1"), ("bf16", "0.17.1")}


def number(value):
    if isinstance(value, int) and value == 2**63 - 1:
        return "2^63-1"
    if isinstance(value, int) and not isinstance(value, bool) and value >= 100000 and value % 100000 == 0:
        mantissa, exponent = value, 0
        while mantissa % 10 == 0:
            mantissa, exponent = mantissa // 10, exponent + 1
        return f"{mantissa}e{exponent}"
    return json.dumps(value, ensure_ascii=False)


def kind(facts):
    """`integer ≥ 0`, `string: none | cpu | nvme`: no words that would need a translation."""
    word = facts["type"].replace("string(path)", "path").replace("|", " | ").replace("<class 'object'>", "python object")
    word = re.sub(r" \(python only\)", ", python only", word)
    values = facts.get("enum") or facts.get("items_enum")
    if values:
        return f"{word}: " + " | ".join(map(str, values))
    for sign, name in (("≥", "min"), (">", "exclusive_min"), ("≤", "max"), ("<", "exclusive_max")):
        if name in facts:
            word += f" {sign} {number(facts[name])}"
    return word


def default(variants):
    """One value, or one for each class of optimizer or scheduler; a change with its version."""
    if len(variants) == 1:
        facts = variants[0][1]
        text = number(facts["default"])
        if facts["type"] == "object" and facts["default"] in (None, {}):
            return None
        changes = [c for c in facts.get("default_changes", []) if "Field" not in c["from"] + c["to"]]
        for change in changes:
            text += f" (< {change['version']}: {change['from'].lower().replace('none', 'null')})"
        return text
    groups = {}
    for name, facts in variants:
        text = "required" if facts.get("required") else number(facts["default"])
        groups.setdefault(text.removesuffix(".0"), []).append(re.split(r" \(", name)[0].replace("|", ", "))
    if len(groups) == 1:
        return next(iter(groups))
    unique = lambda names: ", ".join(dict.fromkeys(", ".join(names).split(", ")))
    return "; ".join(f"{text} ({unique(names)})" for text, names in groups.items())


# Switched the other way these are refused, useless or harmful.
KEEP = """optimizer.params.amsgrad zero_optimization.legacy_stage1 zero_optimization.allgather_partitions disable_allgather
tensor_parallel.kernel_inject zero_optimization.contiguous_gradients zero_optimization.reduce_scatter prescale_gradients
zero_optimization.elastic_checkpoint optimizer.params.bias_correction aio.overlap_events aio.single_submit
zero_optimization.load_from_fp32_weights bf16.check_grad_overflow zero_force_ds_cpu_optimizer""".split()


def example(key, facts):
    """The key with its default; a switch the other way. `=VALUE` stands for `--set KEY=VALUE`."""
    if facts["type"] in ("object", "null") or facts.get("deprecated") or "python" in kind(facts):
        return None
    shown = number(facts["default"]).strip('"')
    if facts["type"] == "boolean" and key not in KEEP:
        shown = "false" if facts["default"] else "true"
    elif facts.get("enum"):
        shown = str(next((v for v in facts["enum"] if v != facts["default"]), facts["enum"][0]))
    if shown in ("2^63-1", "[]", ""):
        return None
    return f"={'…' if shown == 'null' else shown}"


def main():
    parser = Arguments(__doc__)
    parser.add_argument("schema", type=Path, help="the schema as JSON: `keys` with type, default, since")
    parser.add_argument("entries", type=Path, nargs="?", default=ROOT / "src/tools/explain/entries.txt")
    options = parser.parse_args()
    schema, path = json.loads(options.schema.read_text()), options.entries
    facts = {}
    for key, value in schema["keys"].items():
        name = re.search(r"\[([^\]]*)\]", key)
        facts.setdefault(re.sub(r"\[[^\]]*\]", "", key), []).append((name.group(1) if name else "", value))
    out, seen = [], set()
    for entry in re.split(r"^# ", path.read_text(), flags=re.M)[1:]:
        head, *lines = entry.rstrip("\n").split("\n")
        key = head.split(" | ")[0]
        if key in facts:
            lines = [line for line in lines if line.split(":")[0] not in ("type", "default", "since")]
        if variants := facts.get(key):
            seen.add(key)
            first = next((facts for _, facts in variants if facts["type"] == "number"), variants[0][1])
            section = key.rsplit(".", 1)[0]
            names = [key] + [f"{section}.{alias}" for alias in first.get("aliases", [])]
            head, new = " | ".join(names), [f"type: {kind(first)}"]
            if not first.get("deprecated") and (value := default(variants)) is not None:
                new.append(f"default: {value}")
            since = first.get("since", "<=0.8.0")
            if since != "<=0.8.0" and (key.split(".")[0], since) not in STRICT_SINCE:
                new.append(f"since: {since}")
            lines = new + lines
            if not any(line.startswith("example:") for line in lines):
                shown = example(key, first)
                lines += [f"example: {shown}"] if shown else []
        out.append(f"# {head}\n" + "".join(f"{line.rstrip()}\n" for line in lines))
    missing = sorted(set(facts) - seen)
    path.write_text("".join(out))
    print(f"{len(seen)} keys written, {len(missing)} without an entry: {missing}")
