#!/usr/bin/env python3
"""The small models of a rehearsal: those of all models whose parameters are counted by a test take a forward and a backward pass.

With the configs of tests/data/parameter-counts.jsonl, in two versions of transformers. A model that the installed version does not know, or cannot run
at its full size either, is skipped.
"""
import importlib.util
import json
import logging
import subprocess
import sys
import warnings

from harness import ROOT, Arguments, Checks, environment

KINDS = "AutoModelForCausalLM AutoModelForImageTextToText AutoModelForVision2Seq"


def passes(config, kind, device):
    """The loss of four tokens, and the gradients."""
    import torch

    with torch.device(device):
        model, tokens = kind.from_config(config), torch.tensor([[1, 2, 3, 4]])
        loss = model.train()(input_ids=tokens, labels=tokens).loss
        loss.backward()
    return loss


def small(given, rehearsal, kinds):
    """None if it is right, or why it is skipped, or what is wrong."""
    from transformers import CONFIG_MAPPING, AutoConfig

    if given["model_type"] not in CONFIG_MAPPING:
        return "skip", "this transformers does not know it"
    config, full = AutoConfig.for_model(**given), AutoConfig.for_model(**given)
    kind = next((kind for kind in kinds if type(config) in kind._model_mapping), None)
    if kind is None:
        return "skip", "it has no class that is trained on tokens"
    try:
        rehearsal.shrink(config)
        loss = passes(config, kind, "cpu")
    except Exception as error:
        try:
            passes(full, kind, "meta")
        except Exception as other:
            return "skip", f"it does not run at its full size: {other}"
        return "wrong", f"{type(error).__name__}: {error}"
    vocabularies = [getattr(it.get_text_config(), "vocab_size", None) for it in (config, full)]
    is_right = loss.isfinite() and vocabularies[0] == vocabularies[1]
    return None if is_right else ("wrong", f"loss {loss}, vocabularies {vocabularies}")


def inside():
    import transformers

    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    spec = importlib.util.spec_from_file_location("rehearsal", ROOT / "src/tools/rehearse/rehearsal.py")
    rehearsal = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rehearsal)
    kinds = [getattr(transformers, name) for name in KINDS.split() if hasattr(transformers, name)]
    for line in (ROOT / "tests/data/parameter-counts.jsonl").read_text().splitlines():
        model = json.loads(line)
        print("FOUND", json.dumps([model["name"], small(model["config"], rehearsal, kinds)]), flush=True)


def main():
    options = Arguments(__doc__, "names").parse_args()
    checks = Checks(options.names)
    for name in ("main", "older"):
        env = environment(*[name] if name != "main" else [])
        said = subprocess.run([env / "bin/python", __file__, "inside"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        found = [json.loads(line.removeprefix("FOUND ")) for line in said.splitlines() if line.startswith("FOUND ")]
        checks.judge(f"{name}, all models", None if found else "no model was tried")
        for model, answer in found:
            if answer and answer[0] == "skip":
                checks.skip(f"{name}, {model}", answer[1])
            else:
                checks.judge(f"{name}, {model}", answer and answer[1])
    checks.finish()


if __name__ == "__main__":
    inside() if sys.argv[1:] == ["inside"] else main()
