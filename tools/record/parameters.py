"""How many parameters the installed transformers gives public models: > src/recorded/parameter-counts.jsonl, whose configurations are counted again.

A line has what a config.json holds of sizes, and the parameters of the model, built on the meta device, shared tensors counted once; for a
model of several parts the language model alone, unless the line has its vision_config. A new line needs a name and a config.
"""
import json

import torch
import transformers
from harness import ROOT
from transformers import AutoConfig, AutoModelForCausalLM


def build(keys):
    config = AutoConfig.for_model(**keys)
    with torch.device("meta"):
        if "thinker_config" in keys:
            model = transformers.Qwen3OmniMoeThinkerForConditionalGeneration(config.thinker_config)
        elif "text_config" in keys:
            model = transformers.AutoModelForImageTextToText.from_config(config)
        else:
            model = AutoModelForCausalLM.from_config(config)
        model.tie_weights()
    return model


def count(keys):
    """The text model of a config of several parts is counted with its head."""
    others = () if "vision_config" in keys else ("visual", "vision", "projector", "audio_tower")
    named = build(keys).named_parameters()
    return sum(it.numel() for name, it in named if not any(part in name for part in others))


def main():
    transformers.logging.set_verbosity_error()
    for line in (ROOT / "src/recorded/parameter-counts.jsonl").read_text().splitlines():
        public = json.loads(line)
        print(json.dumps(public | {"params": count(dict(public["config"]))}), flush=True)
