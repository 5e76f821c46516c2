#!/usr/bin/env python3
"""The small models of a rehearsal: those of all models whose parameters are counted by a test take a forward and a backward pass.

With the configs of src/recorded/parameter-counts.jsonl, in two versions of transformers, and with pictures and sound, those of SEEING. A model that the installed version does not
know, or cannot run at its full size either, is skipped.
"""
import importlib.util
import inspect
import json
import logging
import subprocess
import sys
import warnings

from harness import ROOT, Arguments, Checks, environment

KINDS = "AutoModelForCausalLM AutoModelForImageTextToText AutoModelForVision2Seq"
# What the published configs have instead of the defaults of their classes: of the text, of the vision, and of both.
ROPE = {"rope_type": "default", "rope_theta": 1000000.0, "mrope_section": [16, 24, 24]}
MARKS = {"vocab_size": 152064, "vision_start_token_id": 151652, "vision_end_token_id": 151653, "vision_token_id": 151654}
SEEING = {
    "qwen2_vl": ({"rope_scaling": ROPE, "rope_parameters": ROPE}, {}, MARKS),
    "qwen2_5_vl": ({"rope_scaling": ROPE, "rope_parameters": ROPE}, {}, MARKS),
    "qwen3_vl": ({}, {}, {}),
    "llava": ({"vocab_size": 32064}, {}, {}),
    "internvl": ({}, {}, {}),
    "gemma3": ({}, {"image_size": 896, "patch_size": 14}, {"mm_tokens_per_image": 256}),
    "smolvlm": ({"vocab_size": 49280, "pad_token_id": 2}, {"image_size": 364, "patch_size": 14}, {"image_token_id": 49190, "pad_token_id": 2, "scale_factor": 2}),
    "whisper": None,
}
# What is trained on other things than the next token, and what it gets.
OTHERS = {
    "DebertaForSequenceClassification": "input_ids", "DebertaV2ForSequenceClassification": "input_ids", "ElectraForTokenClassification": "input_ids", "LayoutLMv3ForTokenClassification": "input_ids",
    "SqueezeBertForSequenceClassification": "input_ids", "T5GemmaForConditionalGeneration": "input_ids labels", "SiglipModel": "input_ids pixel_values", "SiglipForImageClassification": "pixel_values",
    "SwinForImageClassification": "pixel_values", "SegformerForImageClassification": "pixel_values",
}


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


def sees(kind, rehearsal):
    """The step of a small model with a picture or a sound, which reaches the first weights of the part for it."""
    import torch
    import transformers
    from transformers import CONFIG_MAPPING

    if kind not in CONFIG_MAPPING:
        return "skip", "this transformers does not know it"
    config = CONFIG_MAPPING[kind]()
    for part, changes in zip((getattr(config, "text_config", None), getattr(config, "vision_config", None), config), SEEING[kind] or ()):
        for name, value in changes.items():
            setattr(part, name, value)
    rehearsal.shrink(config)
    if kind == "whisper":
        model = transformers.WhisperForConditionalGeneration(config)
        ids, given = torch.tensor([[1, 2, 3]]), {"input_features": torch.randn(1, config.num_mel_bins, 3000)}
        loss = model(labels=ids, **given).loss
    else:
        model = transformers.AutoModelForImageTextToText.from_config(config)
        side = config.vision_config.image_size if hasattr(config.vision_config, "image_size") else None
        side = side[0] if isinstance(side, (list, tuple)) else side
        if side is None:  # 8 by 8 patches, of which four are a token.
            vision = config.vision_config
            width = vision.patch_size ** 2 * getattr(vision, "temporal_patch_size", 2) * 3
            given, count = {"pixel_values": torch.randn(64, width), "image_grid_thw": torch.tensor([[1, 8, 8]])}, 16
        else:
            given = {"pixel_values": torch.randn(*(1, 1) if kind == "smolvlm" else (1,), 3, side, side)}
            with torch.no_grad():
                features = (model if hasattr(model, "get_image_features") else model.model).get_image_features(given["pixel_values"])
            features = getattr(features, "pooler_output", features)
            count = sum(it.numel() for it in (features if isinstance(features, (list, tuple)) else [features])) // config.text_config.hidden_size
        token = getattr(config, "image_token_id", None) or getattr(config, "image_token_index", None)
        ids = torch.tensor([[7, getattr(config, "vision_start_token_id", None) or 5, *[token] * count, 9]])
        for name in ("token_type_ids", "mm_token_type_ids"):
            if name in inspect.signature(model.forward).parameters:
                given[name] = (ids == token).long()
        loss = model.train()(input_ids=ids, attention_mask=torch.ones_like(ids), labels=ids.masked_fill(ids == token, -100), **given).loss
    loss.backward()
    reached = [name for name, it in model.named_parameters() if ("vis" in name or "encoder" in name) and it.grad is not None]
    widths = {it.shape[0] for name, it in model.named_parameters() if name.endswith("norm.weight") or name.endswith("norm1.weight")}
    is_right = loss.isfinite() and reached and max(widths) <= 256
    return None if is_right else ("wrong", f"loss {loss}, {len(reached)} weights of the part reached, widths {widths}")


def answers(name, rehearsal):
    """The forward and the backward pass of what has no loss of its own."""
    import torch
    import transformers

    kind = getattr(transformers, name, None)
    if kind is None:
        return "skip", "this transformers does not know it"
    config = kind.config_class()
    rehearsal.shrink(config)
    side = getattr(getattr(config, "vision_config", config), "image_size", 64)
    tokens = torch.tensor([[1, 2, 3, 4]])
    given = {"input_ids": tokens, "labels": tokens, "pixel_values": torch.randn(1, 3, side, side)}
    kind(config)(**{word: given[word] for word in OTHERS[name].split()})[0].sum().backward()


def inside():
    import transformers

    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    spec = importlib.util.spec_from_file_location("rehearsal", ROOT / "src/tools/rehearse/rehearsal.py")
    rehearsal = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rehearsal)
    kinds = [getattr(transformers, name) for name in KINDS.split() if hasattr(transformers, name)]
    for line in (ROOT / "src/recorded/parameter-counts.jsonl").read_text().splitlines():
        model = json.loads(line)
        print("FOUND", json.dumps([model["name"], small(model["config"], rehearsal, kinds)]), flush=True)
    more = [(f"{kind} with its picture or sound", sees, kind) for kind in SEEING] + [(name, answers, name) for name in OTHERS]
    for shown, ask, name in more:
        try:
            found = ask(name, rehearsal)
        except Exception as error:
            found = "wrong", f"{type(error).__name__}: {error}"
        print("FOUND", json.dumps([shown, found]), flush=True)


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
