"""A small but real HF training script: a model of the given config, random tokens, the real Trainer."""
import dataclasses
import sys

import torch
from transformers import AutoConfig, HfArgumentParser, Qwen2ForCausalLM, Trainer, TrainingArguments


@dataclasses.dataclass
class ModelArguments:
    model_name_or_path: str


class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        ids = torch.randint(0, 128, (16,), generator=generator)
        return {"input_ids": ids, "labels": ids}


def main():
    parser = HfArgumentParser((ModelArguments, TrainingArguments))
    if len(sys.argv) == 2 and sys.argv[1].endswith(".json"):
        model_arguments, arguments = parser.parse_json_file(sys.argv[1])
    else:
        model_arguments, arguments = parser.parse_args_into_dataclasses()
    model = Qwen2ForCausalLM(AutoConfig.from_pretrained(model_arguments.model_name_or_path))
    result = Trainer(model=model, args=arguments, train_dataset=Tokens()).train()
    print(f"trained {result.global_step} steps", flush=True)
    # Threads of a process group that is left open may abort the interpreter while it ends.
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
