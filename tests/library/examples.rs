//! The tables of `fit`: every row carries examples and the answer to each, so that no cell can change unnoticed.

use serde_json::{Value, json};

use crate::measured::template;
use zlaunch::testing::Host;
use zlaunch::testing::cards::{self, CARDS, Card, Cards};
use zlaunch::testing::fit::architecture::{self, Dtype, Weights};
use zlaunch::testing::fit::memory;
use zlaunch::testing::fit::need::Cluster;
use zlaunch::testing::fit::settings::TrainingReader;
use zlaunch::testing::fit::settings::{Evaluation, Rollout, TrainingArgs, TrainingSettings};
use zlaunch::testing::fit::strategy::Optimizer;
use zlaunch::testing::fit::strategy::Strategy;
use zlaunch::testing::fit::tables::algorithms::ALGORITHMS;
use zlaunch::testing::fit::tables::architectures::ARCHITECTURES;
use zlaunch::testing::fit::tables::dtypes::{BF16, FP32};
use zlaunch::testing::fit::tables::model_keys::{KEYS, Key};
use zlaunch::testing::fit::tables::optimizers::OPTIMIZERS;
use zlaunch::testing::fit::tables::templates::WITHOUT_DEEPSPEED;
use zlaunch::testing::fit::workload::Workload;

/// Bytes of a step on one GPU.
fn allocated(
    weights: &Weights,
    tokens: u64,
    dtype: Dtype,
    optimizer: Optimizer,
    strategy: &str,
) -> u64 {
    let strategy = match strategy {
        "none" => WITHOUT_DEEPSPEED,
        name => Strategy::of(&template(name).config, weights.shape.hidden),
    };
    let args = TrainingArgs {
        dtype: Some(dtype),
        optimizer: Some(optimizer),
        seq_len: Some(tokens),
        checkpointing: Some(false),
        ..TrainingArgs::default()
    };
    let settings = TrainingReader::new(&args, None).settings(None, 1, &Host::default());
    let workload = Workload::new(weights, &settings);
    memory::need(&workload, &strategy, Cluster { nodes: 1, gpus: 1 }).allocated()
}

#[test]
fn architectures() {
    let mut wrong = Vec::new();
    for row in ARCHITECTURES {
        assert!(!row.examples.is_empty(), "{:?}", row.model_types);
        for (model_type, example) in row
            .model_types
            .iter()
            .flat_map(|name| row.examples.iter().map(move |example| (name, example)))
        {
            let mut config =
                json!({"model_type": model_type, "hidden_size": 256, "num_hidden_layers": 2});
            for (key, number) in example.numbers {
                config[*key] = json!(number);
            }
            for (key, flag) in example.flags {
                config[*key] = json!(flag);
            }
            let model = architecture::read(&config).unwrap();
            assert!(model.params_are_known, "{model_type}");
            let bytes = |dtype| allocated(&model, 512, dtype, Optimizer::named("adamw"), "none");
            let seen = [model.params, bytes(BF16), bytes(FP32)];
            if seen != [example.params, example.bf16, example.fp32] {
                wrong.push(format!("{config}: {seen:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The names of a number, and the largest that is taken for a model's.
#[rustfmt::skip]
const LIMITS: &[(u64, &[&str])] = &[
    (2048, &[
        "num_hidden_layers", "n_layer", "num_layers", "depth", "num_attention_heads", "n_head", "num_key_value_heads",
        "multi_query_group_num", "num_kv_heads", "num_experts", "num_local_experts", "n_routed_experts", "n_shared_experts",
        "num_experts_per_tok", "num_ln_in_parallel_attn", "mamba_n_heads", "num_heads", "mamba_n_groups", "n_groups",
        "mamba_d_conv", "conv_kernel", "mamba_expand", "expand", "linear_num_key_heads", "linear_num_value_heads",
        "linear_conv_kernel_dim",
    ]),
    (262_144, &[
        "embed_dim", "hidden_size", "n_embd", "d_model", "intermediate_size", "n_inner", "ffn_hidden_size", "ffn_dim", "head_dim",
        "kv_channels", "moe_intermediate_size", "shared_expert_intermediate_size", "shared_intermediate_size",
        "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim", "kv_lora_rank", "q_lora_rank", "intermediate_size_mlp",
        "word_embed_proj_dim", "mamba_d_state", "state_size", "linear_key_head_dim",
        "linear_value_head_dim",
    ]),
    (1 << 28, &["vocab_size", "padded_vocab_size", "max_position_embeddings", "n_positions"]),
    (u64::MAX, &["decoder_sparse_step", "interleave_moe_layer_step", "first_k_dense_replace", "full_attention_interval"]),
];

#[test]
fn keys_of_a_config() {
    let is_counted = |row: &Key, name: &str, number: u64| {
        let mut config = json!({"model_type": "llama", "hidden_size": 8, "num_hidden_layers": 1});
        config
            .as_object_mut()
            .unwrap()
            .retain(|known, _| !row.names.contains(&known.as_str()));
        config[name] = json!(number);
        architecture::read(&config).is_some()
    };
    let mut seen = 0;
    for row in KEYS {
        for name in row.names {
            let (most, _) = LIMITS
                .iter()
                .find(|(_, names)| names.contains(name))
                .unwrap();
            assert!(is_counted(row, name, *most), "{name}");
            assert!(
                *most == u64::MAX || !is_counted(row, name, most + 1),
                "{name}"
            );
            seen += 1;
        }
    }
    assert_eq!(
        seen,
        LIMITS.iter().map(|(_, names)| names.len()).sum::<usize>()
    );
}

/// The largest numbers of all keys at once: no sum overflows.
#[test]
fn the_largest_model_of_each_architecture_is_counted() {
    for row in ARCHITECTURES {
        let mut config = json!({"model_type": row.model_types[0]});
        for key in KEYS.iter().filter(|key| key.most < u64::MAX) {
            config[key.names[0]] = json!(key.most);
        }
        assert!(
            architecture::read(&config).is_some(),
            "{:?}",
            row.model_types
        );
    }
}

#[test]
fn algorithms() {
    let config = json!({"model_type": "llama", "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 16, "intermediate_size": 64});
    let model = architecture::read(&config).unwrap();
    let args = TrainingArgs {
        micro_batch: Some(32),
        seq_len: Some(512),
        ..TrainingArgs::default()
    };
    let plain = TrainingReader::new(&args, None).settings(None, 1, &Host::default());
    let mut wrong = Vec::new();
    for row in ALGORITHMS {
        let mut settings = plain.clone();
        settings.algorithm = row.algorithm;
        settings.rewards.push(model.without_head());
        settings.rollout = row.algorithm.generates.then_some(Rollout {
            answer: 256,
            micro_batches: 1,
            gathers: true,
            is_served: false,
        });
        let megabytes = |settings: &TrainingSettings, strategy: &Strategy| {
            let workload = Workload::new(&model, settings);
            memory::need(&workload, strategy, Cluster { nodes: 1, gpus: 1 }).allocated() / 1_000_000
        };
        let zero2 = Strategy::of(&template("zero2").config, model.shape.hidden);
        let mut evaluated = settings.clone();
        evaluated.evaluation = Some(Evaluation {
            batch: 512,
            has_loss: true,
            new_tokens: None,
        });
        let seen = [
            megabytes(&settings, &zero2),
            megabytes(&settings, &WITHOUT_DEEPSPEED),
            megabytes(&evaluated, &zero2),
        ];
        let example = &row.example;
        if seen != [example.zero2, example.without_deepspeed, example.evaluated] {
            wrong.push(format!("{:?} {seen:?}", row.names));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn optimizers() {
    let config = json!({"model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16});
    let model = architecture::read(&config).unwrap();
    for row in OPTIMIZERS {
        let named = row.names.iter().map(|name| Optimizer::named(name));
        let of_deepspeed = row
            .of_deepspeed
            .iter()
            .map(|name| Optimizer::of_deepspeed(name));
        for optimizer in named.chain(of_deepspeed) {
            assert!(optimizer.is_measured(), "{:?}", row.names);
            let example = &row.example;
            for (strategy, dtype, expected) in [
                ("zero2", FP32, example.zero2_in_fp32),
                ("zero0", BF16, example.zero0_in_bf16),
                ("none", BF16, example.none_in_bf16),
            ] {
                let seen = allocated(&model, 16, dtype, optimizer, strategy) / 1_000_000;
                assert_eq!(seen, expected, "{} {strategy} {dtype:?}", optimizer.name);
            }
        }
    }
    for name in ["galore_adamw", "apollo_adamw", "lomo", "came_pytorch"] {
        assert!(!Optimizer::named(name).is_measured(), "{name}");
    }
    assert_eq!(Optimizer::of_deepspeed("AdamW").name, "adamw");
    assert!(!Optimizer::of_deepspeed("OneBitAdam").is_measured());
}

#[test]
fn graphics_cards() {
    for card in CARDS {
        let example = &card.example;
        assert_eq!(card.mib, example.mib, "{}", card.name);
        for text in [example.written, example.reported] {
            assert_eq!(
                cards::parse(text),
                Some(Cards { card, count: None }),
                "{text}"
            );
        }
        // zlaunch sees only the names of NVIDIA's driver. Some cards differ from others by more words, but not by their memory.
        let reported = Card::of_driver(example.reported);
        assert_eq!(
            reported.map(Card::memory),
            Some(card.mib << 20),
            "{}",
            example.reported
        );
    }
}

#[test]
fn cards_are_named_as_people_name_them() {
    for (text, name, count) in [
        ("H100x8", "H100", Some(8)),
        ("8xh100", "H100", Some(8)),
        ("8 × H100", "H100", Some(8)),
        ("H100:4", "H100", Some(4)),
        ("H100 NVL x2", "H100 NVL", Some(2)),
        ("rtx4090x2", "RTX 4090", Some(2)),
        ("4090", "RTX 4090", None),
        ("A6000", "RTX A6000", None),
        ("A100 80GB", "A100", None),
        ("A100-40G*4", "A100-40GB", Some(4)),
        ("MI300Xx8", "MI300X", Some(8)),
    ] {
        let cards = cards::parse(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!((cards.card.name, cards.count), (name, count), "{text}");
    }
    let laptop = "NVIDIA GeForce RTX 4090 Laptop GPU";
    for text in [
        "",
        "x8",
        "H100x0",
        "H100x",
        "RTX 4096",
        "H1",
        "A100-41GB",
        "8",
        laptop,
        "NVIDIA RTX A400",
    ] {
        assert_eq!(cards::parse(text), None, "{text}");
    }
    assert_eq!(Card::of_driver(laptop), None);
}

#[test]
fn gigabytes_are_those_of_the_maker() {
    for (text, mib) in [
        ("80GB", 81559),
        ("24 gb", 23028),
        ("141GB", 143_771),
        ("80GiB", 81920),
        ("24564MiB", 24564),
    ] {
        assert_eq!(cards::parse_memory(text), Some(mib << 20), "{text}");
    }
    // No card is sold with that many.
    assert_eq!(cards::parse_memory("44GB"), Some(44_000_000_000));
}

#[test]
fn parameters_are_counted_as_in_transformers() {
    let lines = include_str!("../../src/recorded/parameter-counts.jsonl").lines();
    let mut seen = 0;
    for line in lines {
        let line: Value = serde_json::from_str(line).unwrap();
        let model = architecture::read(&line["config"]).unwrap();
        assert_eq!(
            Some(model.params),
            line["params"].as_u64(),
            "{}",
            line["name"]
        );
        assert!(model.params_are_known, "{}", line["name"]);
        seen += 1;
    }
    assert!(seen > 30);
}

#[test]
fn a_config_without_the_basic_sizes_is_not_counted() {
    let tiny = json!({"hidden_size": 8, "num_hidden_layers": 1, "vocab_size": 16});
    let model = architecture::read(&tiny).unwrap();
    assert!(!model.params_are_known && model.params > 0);
    for config in [json!({"hidden_size": 8}), json!([]), json!({})] {
        assert!(architecture::read(&config).is_none());
    }
}
