#!/usr/bin/env python3
"""Prints a line of JSON for each public configuration below: what its config.json holds of sizes, and how many parameters the
installed transformers gives the model (built on the meta device, shared tensors counted once; for a model of several parts the
language model alone). `tests/data/parameter-counts.jsonl` is this output."""
import json

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM

PUBLIC = {
    "meta-llama/Llama-2-7b": dict(model_type="llama", hidden_size=4096, intermediate_size=11008, num_attention_heads=32, num_hidden_layers=32, vocab_size=32000),
    "meta-llama/Llama-3.1-8B": dict(model_type="llama", hidden_size=4096, intermediate_size=14336, num_attention_heads=32, num_key_value_heads=8, num_hidden_layers=32, vocab_size=128256),
    "meta-llama/Llama-3.2-1B": dict(model_type="llama", hidden_size=2048, intermediate_size=8192, num_attention_heads=32, num_key_value_heads=8, head_dim=64, num_hidden_layers=16, vocab_size=128256, tie_word_embeddings=True),
    "meta-llama/Llama-3.3-70B": dict(model_type="llama", hidden_size=8192, intermediate_size=28672, num_attention_heads=64, num_key_value_heads=8, num_hidden_layers=80, vocab_size=128256),
    "Qwen/Qwen2.5-0.5B": dict(model_type="qwen2", hidden_size=896, intermediate_size=4864, num_attention_heads=14, num_key_value_heads=2, num_hidden_layers=24, vocab_size=151936, tie_word_embeddings=True),
    "Qwen/Qwen2.5-7B": dict(model_type="qwen2", hidden_size=3584, intermediate_size=18944, num_attention_heads=28, num_key_value_heads=4, num_hidden_layers=28, vocab_size=152064, tie_word_embeddings=False),
    "Qwen/Qwen2.5-72B": dict(model_type="qwen2", hidden_size=8192, intermediate_size=29568, num_attention_heads=64, num_key_value_heads=8, num_hidden_layers=80, vocab_size=152064),
    "Qwen/Qwen3-0.6B": dict(model_type="qwen3", hidden_size=1024, intermediate_size=3072, num_attention_heads=16, num_key_value_heads=8, head_dim=128, num_hidden_layers=28, vocab_size=151936, tie_word_embeddings=True),
    "Qwen/Qwen3-8B": dict(model_type="qwen3", hidden_size=4096, intermediate_size=12288, num_attention_heads=32, num_key_value_heads=8, head_dim=128, num_hidden_layers=36, vocab_size=151936, tie_word_embeddings=False),
    "Qwen/Qwen3-32B": dict(model_type="qwen3", hidden_size=5120, intermediate_size=25600, num_attention_heads=64, num_key_value_heads=8, head_dim=128, num_hidden_layers=64, vocab_size=151936),
    "Qwen/Qwen1.5-MoE-A2.7B": dict(model_type="qwen2_moe", hidden_size=2048, intermediate_size=5632, moe_intermediate_size=1408, shared_expert_intermediate_size=5632, num_attention_heads=16, num_key_value_heads=16, num_hidden_layers=24, num_experts=60, num_experts_per_tok=4, decoder_sparse_step=1, vocab_size=151936),
    "Qwen/Qwen3-30B-A3B": dict(model_type="qwen3_moe", hidden_size=2048, intermediate_size=6144, moe_intermediate_size=768, num_attention_heads=32, num_key_value_heads=4, head_dim=128, num_hidden_layers=48, num_experts=128, num_experts_per_tok=8, decoder_sparse_step=1, mlp_only_layers=[], vocab_size=151936),
    "Qwen/Qwen3-235B-A22B": dict(model_type="qwen3_moe", hidden_size=4096, intermediate_size=12288, moe_intermediate_size=1536, num_attention_heads=64, num_key_value_heads=4, head_dim=128, num_hidden_layers=94, num_experts=128, num_experts_per_tok=8, vocab_size=151936),
    "mistralai/Mistral-7B-v0.3": dict(model_type="mistral", hidden_size=4096, intermediate_size=14336, num_attention_heads=32, num_key_value_heads=8, num_hidden_layers=32, vocab_size=32768),
    "mistralai/Mistral-Nemo": dict(model_type="mistral", hidden_size=5120, intermediate_size=14336, num_attention_heads=32, num_key_value_heads=8, head_dim=128, num_hidden_layers=40, vocab_size=131072),
    "mistralai/Mixtral-8x7B": dict(model_type="mixtral", hidden_size=4096, intermediate_size=14336, num_attention_heads=32, num_key_value_heads=8, num_hidden_layers=32, num_local_experts=8, num_experts_per_tok=2, vocab_size=32000),
    "google/gemma-7b": dict(model_type="gemma", hidden_size=3072, intermediate_size=24576, num_attention_heads=16, num_key_value_heads=16, head_dim=256, num_hidden_layers=28, vocab_size=256000),
    "google/gemma-2-9b": dict(model_type="gemma2", hidden_size=3584, intermediate_size=14336, num_attention_heads=16, num_key_value_heads=8, head_dim=256, num_hidden_layers=42, vocab_size=256000),
    "google/gemma-3-1b": dict(model_type="gemma3_text", hidden_size=1152, intermediate_size=6912, num_attention_heads=4, num_key_value_heads=1, head_dim=256, num_hidden_layers=26, vocab_size=262144),
    "google/gemma-3-4b": dict(model_type="gemma3", text_config=dict(model_type="gemma3_text", hidden_size=2560, intermediate_size=10240, num_hidden_layers=34)),
    "zai-org/glm-4-9b-hf": dict(model_type="glm", hidden_size=4096, intermediate_size=13696, num_attention_heads=32, num_key_value_heads=2, head_dim=128, num_hidden_layers=40, vocab_size=151552, attention_bias=True),
    "zai-org/GLM-4-9B-0414": dict(model_type="glm4", hidden_size=4096, intermediate_size=13696, num_attention_heads=32, num_key_value_heads=2, head_dim=128, num_hidden_layers=40, vocab_size=151552, attention_bias=True),
    "zai-org/GLM-4.5-Air": dict(model_type="glm4_moe", hidden_size=4096, intermediate_size=10944, moe_intermediate_size=1408, num_attention_heads=96, num_key_value_heads=8, head_dim=128, num_hidden_layers=46, n_routed_experts=128, n_shared_experts=1, num_experts_per_tok=8, first_k_dense_replace=1, attention_bias=True, use_qk_norm=False, vocab_size=151552),
    "deepseek-ai/DeepSeek-V2-Lite": dict(model_type="deepseek_v2", hidden_size=2048, intermediate_size=10944, moe_intermediate_size=1408, num_attention_heads=16, num_key_value_heads=16, num_hidden_layers=27, n_routed_experts=64, n_shared_experts=2, num_experts_per_tok=6, first_k_dense_replace=1, kv_lora_rank=512, q_lora_rank=None, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128, vocab_size=102400),
    "deepseek-ai/DeepSeek-V3": dict(model_type="deepseek_v3", hidden_size=7168, intermediate_size=18432, moe_intermediate_size=2048, num_attention_heads=128, num_key_value_heads=128, num_hidden_layers=61, n_routed_experts=256, n_shared_experts=1, num_experts_per_tok=8, first_k_dense_replace=3, kv_lora_rank=512, q_lora_rank=1536, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128, vocab_size=129280),
    "openai-community/gpt2": dict(model_type="gpt2", n_embd=768, n_layer=12, n_head=12, n_positions=1024, vocab_size=50257),
    "EleutherAI/gpt-neox-20b": dict(model_type="gpt_neox", hidden_size=6144, intermediate_size=24576, num_attention_heads=64, num_hidden_layers=44, vocab_size=50432),
    "EleutherAI/pythia-1.4b": dict(model_type="gpt_neox", hidden_size=2048, intermediate_size=8192, num_attention_heads=16, num_hidden_layers=24, vocab_size=50304),
    "microsoft/Phi-3-mini": dict(model_type="phi3", hidden_size=3072, intermediate_size=8192, num_attention_heads=32, num_key_value_heads=32, num_hidden_layers=32, vocab_size=32064),
    "Qwen/Qwen2.5-VL-7B": dict(model_type="qwen2_5_vl", text_config=dict(model_type="qwen2_5_vl_text", hidden_size=3584, intermediate_size=18944, num_attention_heads=28, num_key_value_heads=4, num_hidden_layers=28, vocab_size=152064)),
    "Qwen/Qwen3-VL-8B": dict(model_type="qwen3_vl", text_config=dict(model_type="qwen3_vl_text", hidden_size=4096, intermediate_size=12288, num_attention_heads=32, num_key_value_heads=8, head_dim=128, num_hidden_layers=36, vocab_size=151936)),
    "Qwen/Qwen3-VL-30B-A3B": dict(model_type="qwen3_vl_moe", text_config=dict(model_type="qwen3_vl_moe_text", hidden_size=2048, intermediate_size=6144, moe_intermediate_size=768, num_attention_heads=32, num_key_value_heads=4, head_dim=128, num_hidden_layers=48, num_experts=128, num_experts_per_tok=8, vocab_size=151936)),
    "llava-hf/llava-1.5-7b": dict(model_type="llava", text_config=dict(model_type="llama", hidden_size=4096, intermediate_size=11008, num_attention_heads=32, num_hidden_layers=32, vocab_size=32064)),
    "tiny defaults of llama": dict(model_type="llama", hidden_size=64, num_hidden_layers=2, attention_bias=True, mlp_bias=True),
}


def count(keys):
    """The text model of a config of several parts is counted with its head."""
    config = AutoConfig.for_model(**keys)
    with torch.device("meta"):
        if "text_config" not in keys:
            model = AutoModelForCausalLM.from_config(config)
            model.tie_weights()
            return sum(it.numel() for it in model.parameters())
        from transformers import AutoModelForImageTextToText
        model = AutoModelForImageTextToText.from_config(config)
        model.tie_weights()
    language = {name: it for name, it in model.named_parameters() if "visual" not in name and "vision" not in name and "projector" not in name}
    return sum(it.numel() for it in language.values())


def main():
    for name, keys in PUBLIC.items():
        print(json.dumps({"name": name, "config": keys, "params": count(dict(keys))}), flush=True)


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    main()
