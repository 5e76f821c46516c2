"""Makes FOLDER/model (a random Qwen2 of hidden size 64 with a tokenizer of its own) and FOLDER/data.jsonl."""
import json
import sys
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"


def main():
    folder = Path(sys.argv[1])
    texts = [f"question {n}: what is {n} plus {n}? answer: {2 * n}" for n in range(64)]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(texts, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=TEMPLATE)
    fast.save_pretrained(folder / "model")
    config = Qwen2Config(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                         vocab_size=len(fast), max_position_embeddings=256, tie_word_embeddings=True)
    Qwen2ForCausalLM(config).save_pretrained(folder / "model")
    with open(folder / "data.jsonl", "w") as file:
        for n, text in enumerate(texts):
            messages = [{"role": "user", "content": text}, {"role": "assistant", "content": str(2 * n)}]
            file.write(json.dumps({"messages": messages}) + "\n")


if __name__ == "__main__":
    main()
