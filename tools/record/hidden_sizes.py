"""The hidden size that is found for every model type of the installed transformers, printed.

One JSON line for each config.json (as saved, and only with a size here or there) with the size in the config loaded from it: by HF's Trainer
(stage 3), by accelerate (below it), by the Trainer under ms-swift. `options` records from here what each class does with the names of the size.
"""
import json
import os
import tempfile
from pathlib import Path

# Some classes would ask the hub, and wait for it.
os.environ["HF_HUB_OFFLINE"] = "1"

from transformers import AutoConfig  # noqa: E402
from transformers.models.auto.configuration_auto import CONFIG_MAPPING  # noqa: E402

# Whatever the number of attention heads is, it divides them, or (falcon's 71) leaves an even share.
SIZE, OTHER = 6720, 26880
# Names that classes have, or once had, for the size; those of `attribute_map` are added.
OLD_NAMES = ("n_embed", "n_embd", "width", "encoder_dim")


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


def by_swift(config):
    """Changes the config."""
    from swift.utils.hf_config import HfConfigFactory
    HfConfigFactory.compat_zero3(config)
    return by_trainer(config)


def mapped(model_type):
    key = (getattr(CONFIG_MAPPING[model_type], "attribute_map", None) or {}).get("hidden_size")
    return None if key == "hidden_size" else key


def loaded(model_type, config):
    """What is made of that config.json; None where the class refuses it, or packages are not here."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps({"model_type": model_type, **config}))
        try:
            return AutoConfig.from_pretrained(folder)
        except Exception:
            return None


def found(by, config):
    return by(config) if config is not None else None


def saved(model_type):
    with tempfile.TemporaryDirectory() as folder:
        try:
            CONFIG_MAPPING[model_type]().save_pretrained(folder)
            return json.loads((Path(folder) / "config.json").read_text())
        except Exception:
            return {}


def only_text(model_type):
    """A text model with a size, and nothing at the top."""
    if "text_config" not in (getattr(CONFIG_MAPPING[model_type], "sub_configs", None) or {}):
        return None
    inner = saved(model_type).get("text_config") or {}
    kind = {"model_type": inner["model_type"]} if inner.get("model_type") else {}
    return {"text_config": {**kind, "hidden_size": SIZE}}


def names():
    """Lines for src/recorded: `key=` stands for hidden_size, `key!` beats it, `text_config>` takes it from the top,
    `text_config-` is passed over, by somebody: the class has a size of its own, or its text model another name for it."""
    lines = {}
    keys = sorted({mapped(model_type) for model_type in CONFIG_MAPPING.keys()} - {None} | set(OLD_NAMES))
    for model_type in CONFIG_MAPPING.keys():
        def add(line):
            lines.setdefault(line, []).append(model_type)
        if mapped(model_type):
            add(mapped(model_type) + "=")
        flat = loaded(model_type, {"hidden_size": SIZE})
        for key in keys:
            if found(by_trainer, flat) == SIZE and found(by_trainer, loaded(model_type, {"hidden_size": SIZE, key: OTHER})) == OTHER:
                add(key + "!")
        if found(by_trainer, flat) == SIZE != by_accelerate(flat):
            add("text_config>")
        text = only_text(model_type)
        text = loaded(model_type, text) if text else None
        if text is not None and not by_trainer(text) == SIZE == by_swift(text):
            add("text_config-")
    return "".join(f"{line} {' '.join(sorted(types))}\n" for line, types in sorted(lines.items()))


def main():
    for model_type in CONFIG_MAPPING.keys():
        whole = saved(model_type)
        configs = [whole, {"hidden_size": SIZE}, only_text(model_type)]
        if whole.get("text_config"):
            configs.append({"text_config": whole["text_config"]})
        if mapped(model_type):
            configs.append({mapped(model_type): SIZE, "hidden_size": OTHER})
        for config in filter(None, configs):
            made = loaded(model_type, config)
            if made is not None:
                answer = {by.__name__[3:]: by(made) for by in (by_trainer, by_accelerate, by_swift)}
                print(json.dumps({"type": model_type, "json": {"model_type": model_type, **config}, **answer}, default=str), flush=True)
