"""Prints, for every model type of the installed transformers, its saved config.json and the hidden size that HF's Trainer
(stage 3) and accelerate (below it) find in the config loaded from it. One JSON line each."""
import json
import tempfile
from pathlib import Path

from transformers import AutoConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING


def largest(config, name):
    return max(getattr(config, name))


def by_trainer(config):
    """As `trainer_config_finalize` looks it up."""
    text = getattr(config, "text_config", None)
    for holder in (config, text) if text is not None else (config,):
        if hasattr(holder, "hidden_size"):
            return holder.hidden_size
        if hasattr(holder, "hidden_sizes"):
            return largest(holder, "hidden_sizes")
    return None


def by_accelerate(config):
    if hasattr(config, "hidden_size"):
        return config.hidden_size
    return largest(config, "hidden_sizes") if hasattr(config, "hidden_sizes") else None


def main():
    for model_type in CONFIG_MAPPING.keys():
        with tempfile.TemporaryDirectory() as folder:
            try:
                CONFIG_MAPPING[model_type]().save_pretrained(folder)
                loaded = AutoConfig.from_pretrained(folder)
                answer = {"type": model_type, "json": json.loads((Path(folder) / "config.json").read_text()),
                          "trainer": by_trainer(loaded), "accelerate": by_accelerate(loaded)}
            except Exception:
                continue  # needs arguments, or packages that are not here
            print(json.dumps(answer, default=str), flush=True)


if __name__ == "__main__":
    main()
