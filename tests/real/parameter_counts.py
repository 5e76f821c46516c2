#!/usr/bin/env python3
"""Prints a line of JSON for each public configuration below: what its config.json holds of sizes, and how many parameters the
installed transformers gives the model (built on the meta device, shared tensors counted once; for a model of several parts the
language model alone). `tests/data/parameter-counts.jsonl` is this output."""
import json

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM

# The layers of Granite 4.
HYBRID = (["mamba"] * 5 + ["attention"] + ["mamba"] * 4) * 4

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
    "microsoft/phi-2": dict(model_type="phi", hidden_size=2560, intermediate_size=10240, num_attention_heads=32, num_hidden_layers=32, vocab_size=51200),
    "microsoft/phi-4": dict(model_type="phi3", hidden_size=5120, intermediate_size=17920, num_attention_heads=40, num_key_value_heads=10, num_hidden_layers=40, vocab_size=100352),
    "microsoft/Phi-4-mini-instruct": dict(model_type="phi3", hidden_size=3072, intermediate_size=8192, num_attention_heads=24, num_key_value_heads=8, num_hidden_layers=32, vocab_size=200064, tie_word_embeddings=True),
    "microsoft/Phi-3.5-MoE-instruct": dict(model_type="phimoe", hidden_size=4096, intermediate_size=6400, num_attention_heads=32, num_key_value_heads=8, num_hidden_layers=32, num_local_experts=16, num_experts_per_tok=2, vocab_size=32064, attention_bias=True, lm_head_bias=True),
    "openbmb/MiniCPM3-4B": dict(model_type="minicpm3", hidden_size=2560, intermediate_size=6400, num_attention_heads=40, num_key_value_heads=40, num_hidden_layers=62, q_lora_rank=768, kv_lora_rank=256, qk_nope_head_dim=64, qk_rope_head_dim=32, vocab_size=73448, tie_word_embeddings=True),
    "tiiuae/falcon-7b": dict(model_type="falcon", hidden_size=4544, num_attention_heads=71, num_hidden_layers=32, vocab_size=65024, multi_query=True, parallel_attn=True, new_decoder_architecture=False, bias=False, alibi=False),
    "tiiuae/falcon-40b": dict(model_type="falcon", hidden_size=8192, num_attention_heads=128, num_kv_heads=8, num_hidden_layers=60, vocab_size=65024, parallel_attn=True, new_decoder_architecture=True, bias=False, alibi=False),
    "tiiuae/falcon-11B": dict(model_type="falcon", hidden_size=4096, num_attention_heads=32, num_kv_heads=8, num_hidden_layers=60, vocab_size=65024, parallel_attn=True, new_decoder_architecture=True, num_ln_in_parallel_attn=1, ffn_hidden_size=16384, tie_word_embeddings=False, bias=False),
    "tiiuae/falcon-rw-1b": dict(model_type="falcon", hidden_size=2048, num_attention_heads=32, num_hidden_layers=24, vocab_size=50304, multi_query=False, parallel_attn=False, new_decoder_architecture=False, bias=True, alibi=True),
    "facebook/opt-125m": dict(model_type="opt", hidden_size=768, ffn_dim=3072, num_attention_heads=12, num_hidden_layers=12, max_position_embeddings=2048, vocab_size=50272, word_embed_proj_dim=768),
    "facebook/opt-350m": dict(model_type="opt", hidden_size=1024, ffn_dim=4096, num_attention_heads=16, num_hidden_layers=24, max_position_embeddings=2048, vocab_size=50272, word_embed_proj_dim=512, do_layer_norm_before=False),
    "facebook/opt-6.7b": dict(model_type="opt", hidden_size=4096, ffn_dim=16384, num_attention_heads=32, num_hidden_layers=32, max_position_embeddings=2048, vocab_size=50272, word_embed_proj_dim=4096),
    "bigscience/bloom-560m": dict(model_type="bloom", hidden_size=1024, n_layer=24, n_head=16, vocab_size=250880),
    "bigscience/bloom-7b1": dict(model_type="bloom", hidden_size=4096, n_layer=30, n_head=32, vocab_size=250880),
    "openai/gpt-oss-20b": dict(model_type="gpt_oss", hidden_size=2880, intermediate_size=2880, num_attention_heads=64, num_key_value_heads=8, head_dim=64, num_hidden_layers=24, num_local_experts=32, num_experts_per_tok=4, vocab_size=201088, attention_bias=True),
    "openai/gpt-oss-120b": dict(model_type="gpt_oss", hidden_size=2880, intermediate_size=2880, num_attention_heads=64, num_key_value_heads=8, head_dim=64, num_hidden_layers=36, num_local_experts=128, num_experts_per_tok=4, vocab_size=201088, attention_bias=True),
    "meta-llama/Llama-4-Scout-17B-16E": dict(model_type="llama4", text_config=dict(model_type="llama4_text", hidden_size=5120, intermediate_size=8192, intermediate_size_mlp=16384, num_attention_heads=40, num_key_value_heads=8, head_dim=128, num_hidden_layers=48, num_local_experts=16, num_experts_per_tok=1, interleave_moe_layer_step=1, vocab_size=202048)),
    "meta-llama/Llama-4-Maverick-17B-128E": dict(model_type="llama4", text_config=dict(model_type="llama4_text", hidden_size=5120, intermediate_size=8192, intermediate_size_mlp=16384, num_attention_heads=40, num_key_value_heads=8, head_dim=128, num_hidden_layers=48, num_local_experts=128, num_experts_per_tok=1, interleave_moe_layer_step=2, vocab_size=202048)),
    "Qwen/Qwen3-Next-80B-A3B": dict(model_type="qwen3_next", hidden_size=2048, intermediate_size=5120, moe_intermediate_size=512, shared_expert_intermediate_size=512, num_attention_heads=16, num_key_value_heads=2, head_dim=256, num_hidden_layers=48, num_experts=512, num_experts_per_tok=10, full_attention_interval=4, linear_conv_kernel_dim=4, linear_key_head_dim=128, linear_value_head_dim=128, linear_num_key_heads=16, linear_num_value_heads=32, vocab_size=151936),
    "ibm-granite/granite-3.3-8b": dict(model_type="granite", hidden_size=4096, intermediate_size=12800, num_attention_heads=32, num_key_value_heads=8, num_hidden_layers=40, vocab_size=49159, tie_word_embeddings=True),
    "ibm-granite/granite-3.1-3b-a800m": dict(model_type="granitemoe", hidden_size=1536, intermediate_size=512, num_attention_heads=24, num_key_value_heads=8, num_hidden_layers=32, num_local_experts=40, num_experts_per_tok=8, vocab_size=49155, tie_word_embeddings=True),
    "ibm-granite/granite-4.0-h-tiny": dict(model_type="granitemoehybrid", hidden_size=1536, intermediate_size=512, shared_intermediate_size=1024, num_attention_heads=12, num_key_value_heads=4, num_hidden_layers=40, num_local_experts=64, num_experts_per_tok=6, mamba_n_heads=48, mamba_d_head=64, mamba_d_state=128, mamba_expand=2, mamba_d_conv=4, mamba_n_groups=1, mamba_conv_bias=True, mamba_proj_bias=False, layer_types=HYBRID, vocab_size=100352, tie_word_embeddings=True),
    "ibm-granite/granite-4.0-h-micro": dict(model_type="granitemoehybrid", hidden_size=2048, intermediate_size=8192, shared_intermediate_size=8192, num_attention_heads=32, num_key_value_heads=8, num_hidden_layers=40, num_local_experts=0, num_experts_per_tok=0, mamba_n_heads=64, mamba_d_head=64, mamba_d_state=128, mamba_expand=2, mamba_d_conv=4, mamba_n_groups=1, mamba_conv_bias=True, mamba_proj_bias=False, layer_types=HYBRID, vocab_size=100352, tie_word_embeddings=True),
    "ibm-granite/granite-4.0-micro": dict(model_type="granitemoehybrid", hidden_size=2560, intermediate_size=8192, shared_intermediate_size=8192, num_attention_heads=40, num_key_value_heads=8, num_hidden_layers=40, num_local_experts=0, num_experts_per_tok=0, layer_types=["attention"] * 40, vocab_size=100352, tie_word_embeddings=True),
    "CohereLabs/c4ai-command-r-v01": dict(model_type="cohere", hidden_size=8192, intermediate_size=22528, num_attention_heads=64, num_key_value_heads=64, num_hidden_layers=40, vocab_size=256000),
    "CohereLabs/c4ai-command-r-plus": dict(model_type="cohere", hidden_size=12288, intermediate_size=33792, num_attention_heads=96, num_key_value_heads=8, num_hidden_layers=64, vocab_size=256000, use_qk_norm=True),
    "CohereLabs/c4ai-command-r7b-12-2024": dict(model_type="cohere2", hidden_size=4096, intermediate_size=14336, num_attention_heads=32, num_key_value_heads=8, num_hidden_layers=32, vocab_size=256000),
    "bigcode/starcoder2-3b": dict(model_type="starcoder2", hidden_size=3072, intermediate_size=12288, num_attention_heads=24, num_key_value_heads=2, num_hidden_layers=30, vocab_size=49152, use_bias=True),
    "bigcode/starcoder2-15b": dict(model_type="starcoder2", hidden_size=6144, intermediate_size=24576, num_attention_heads=48, num_key_value_heads=4, num_hidden_layers=40, vocab_size=49152, use_bias=True, tie_word_embeddings=False),
    "state-spaces/mamba-2.8b-hf": dict(model_type="mamba", hidden_size=2560, num_hidden_layers=64, state_size=16, vocab_size=50280),
    "state-spaces/mamba-130m-hf": dict(model_type="mamba", hidden_size=768, num_hidden_layers=24, state_size=16, vocab_size=50280),
    "tiiuae/falcon-mamba-7b": dict(model_type="falcon_mamba", hidden_size=4096, num_hidden_layers=64, state_size=16, vocab_size=65024, tie_word_embeddings=False),
    "mistralai/Mamba-Codestral-7B-v0.1": dict(model_type="mamba2", hidden_size=4096, num_hidden_layers=64, num_heads=128, head_dim=64, state_size=128, n_groups=8, expand=2, vocab_size=32768, tie_word_embeddings=False),
    "Qwen/Qwen3-Omni-30B-A3B": dict(model_type="qwen3_omni_moe", thinker_config=dict(text_config=dict(model_type="qwen3_omni_moe_text", hidden_size=2048, intermediate_size=768, moe_intermediate_size=768, num_attention_heads=32, num_key_value_heads=4, head_dim=128, num_hidden_layers=48, num_experts=128, num_experts_per_tok=8, vocab_size=152064))),
    "Qwen/Qwen3.5-27B": dict(model_type="qwen3_5", text_config=dict(model_type="qwen3_5_text", hidden_size=5120, intermediate_size=17408, num_attention_heads=24, num_key_value_heads=4, head_dim=256, num_hidden_layers=64, linear_conv_kernel_dim=4, linear_key_head_dim=128, linear_value_head_dim=128, linear_num_key_heads=16, linear_num_value_heads=48, vocab_size=248320)),
    "Qwen/Qwen3.5-35B-A3B": dict(model_type="qwen3_5_moe", text_config=dict(model_type="qwen3_5_moe_text", hidden_size=2048, moe_intermediate_size=512, shared_expert_intermediate_size=512, num_attention_heads=16, num_key_value_heads=2, head_dim=256, num_hidden_layers=40, num_experts=256, num_experts_per_tok=8, linear_conv_kernel_dim=4, linear_key_head_dim=128, linear_value_head_dim=128, linear_num_key_heads=16, linear_num_value_heads=32, vocab_size=248320)),
    "allenai/OLMo-2-7B": dict(model_type="olmo2", hidden_size=4096, intermediate_size=11008, num_attention_heads=32, num_hidden_layers=32, vocab_size=100352),
    "allenai/OLMoE-1B-7B": dict(model_type="olmoe", hidden_size=2048, intermediate_size=1024, num_attention_heads=16, num_hidden_layers=16, num_experts=64, num_experts_per_tok=8, vocab_size=50304),
    "stabilityai/stablelm-2-1_6b": dict(model_type="stablelm", hidden_size=2048, intermediate_size=5632, num_attention_heads=32, num_key_value_heads=32, num_hidden_layers=24, vocab_size=100352, use_qkv_bias=True),
    "stabilityai/stablelm-2-12b (parallel)": dict(model_type="stablelm", hidden_size=5120, intermediate_size=13824, num_attention_heads=32, num_key_value_heads=8, num_hidden_layers=40, vocab_size=100352, use_parallel_residual=True),
    "EleutherAI/gpt-j-6b": dict(model_type="gptj", n_embd=4096, n_layer=28, n_head=16, n_positions=2048, vocab_size=50400),
    "bigcode/starcoder": dict(model_type="gpt_bigcode", n_embd=6144, n_layer=40, n_head=48, n_positions=8192, n_inner=24576, vocab_size=49152, multi_query=True),
    "baidu/ERNIE-4.5-0.3B": dict(model_type="ernie4_5", hidden_size=1024, intermediate_size=3072, num_attention_heads=16, num_key_value_heads=2, head_dim=128, num_hidden_layers=18, vocab_size=103424, tie_word_embeddings=True),
    "ByteDance-Seed/Seed-OSS-36B": dict(model_type="seed_oss", hidden_size=5120, intermediate_size=27648, num_attention_heads=80, num_key_value_heads=8, head_dim=128, num_hidden_layers=64, vocab_size=155136, attention_bias=True, attention_out_bias=False),
    "LGAI-EXAONE/EXAONE-4.0-32B": dict(model_type="exaone4", hidden_size=5120, intermediate_size=27392, num_attention_heads=40, num_key_value_heads=8, num_hidden_layers=64, vocab_size=102400),
    "tencent/Hunyuan-7B": dict(model_type="hunyuan_v1_dense", hidden_size=4096, intermediate_size=14336, num_attention_heads=32, num_key_value_heads=8, head_dim=128, num_hidden_layers=32, vocab_size=128167, tie_word_embeddings=True),
    "HuggingFaceTB/SmolLM3-3B": dict(model_type="smollm3", hidden_size=2048, intermediate_size=11008, num_attention_heads=16, num_key_value_heads=4, num_hidden_layers=36, vocab_size=128256, tie_word_embeddings=True),
    "mistralai/Ministral-3-8B": dict(model_type="mistral3", tie_word_embeddings=False, text_config=dict(model_type="ministral3", hidden_size=4096, intermediate_size=14336, num_attention_heads=32, num_key_value_heads=8, head_dim=128, num_hidden_layers=34, vocab_size=131072)),
    "OpenGVLab/InternVL3_5-8B-HF": dict(model_type="internvl", tie_word_embeddings=False, text_config=dict(model_type="qwen3", hidden_size=4096, intermediate_size=12288, num_attention_heads=32, num_key_value_heads=8, head_dim=128, num_hidden_layers=36, vocab_size=151936)),
    "tiny defaults of llama": dict(model_type="llama", hidden_size=64, num_hidden_layers=2, attention_bias=True, mlp_bias=True),
}


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
    others = ("visual", "vision", "projector", "audio_tower")
    named = build(keys).named_parameters()
    return sum(it.numel() for name, it in named if not any(part in name for part in others))


def main():
    for name, keys in PUBLIC.items():
        print(json.dumps({"name": name, "config": keys, "params": count(dict(keys))}), flush=True)


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    main()
