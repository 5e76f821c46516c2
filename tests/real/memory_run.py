"""One real training run on a GPU, for its peak memory: `memory_runs.py` starts it through zlaunch for every case.

usage: memory_run.py MODEL SEQ LORA_RANK OUT [HF arguments…]      MODEL: a name of `MODELS`; LORA_RANK 0: full training
"""
import json
import resource
import sys

import torch
from transformers import AutoModelForCausalLM, LlamaConfig, Qwen2Config, Trainer, TrainingArguments, HfArgumentParser

MODELS = {
    "qwen05b": Qwen2Config(hidden_size=896, intermediate_size=4864, num_hidden_layers=24, num_attention_heads=14, num_key_value_heads=2, vocab_size=151936,
                           tie_word_embeddings=True),
    "qwen15b": Qwen2Config(hidden_size=1536, intermediate_size=8960, num_hidden_layers=28, num_attention_heads=12, num_key_value_heads=2, vocab_size=151936,
                           tie_word_embeddings=True),
    "llama1b": LlamaConfig(hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32, num_key_value_heads=8, vocab_size=128256,
                           tie_word_embeddings=True),
    "llama3b": LlamaConfig(hidden_size=3072, intermediate_size=8192, num_hidden_layers=28, num_attention_heads=24, num_key_value_heads=8, vocab_size=128256,
                           tie_word_embeddings=True),
}


class Tokens(torch.utils.data.Dataset):
    def __init__(self, length):
        self.length = length

    def __len__(self):
        return 64

    def __getitem__(self, index):
        ids = torch.randint(0, 1000, (self.length,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": ids, "labels": ids}


def main():
    name, length, rank, out, *rest = sys.argv[1:]
    arguments, = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses(rest)
    # As a checkpoint is loaded for training in bf16; at stage 3 the parameters are partitioned as they are made.
    model = AutoModelForCausalLM.from_config(MODELS[name], dtype=torch.bfloat16)
    parameters = sum(getattr(parameter, "ds_numel", parameter.numel()) for parameter in model.parameters())
    if int(rank):
        from peft import LoraConfig, get_peft_model
        model = get_peft_model(model, LoraConfig(r=int(rank), lora_alpha=2 * int(rank), target_modules="all-linear"))
        model.enable_input_require_grads()
    trainable = sum(getattr(parameter, "ds_numel", parameter.numel()) for parameter in model.parameters() if parameter.requires_grad)
    torch.cuda.reset_peak_memory_stats()
    Trainer(model=model, args=arguments, train_dataset=Tokens(int(length))).train()
    free, total = torch.cuda.mem_get_info()
    seen = {"params": parameters, "trainable": trainable, "peak_alloc": torch.cuda.max_memory_allocated(), "peak_reserved": torch.cuda.max_memory_reserved(),
            "device_used": total - free, "host_peak_rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}
    with open(out, "w") as file:
        json.dump(seen, file)


if __name__ == "__main__":
    main()
