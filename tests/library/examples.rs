//! The tables of `fit`: every row carries examples and the answer to each, so that no cell can change unnoticed.

use serde_json::{Value, json};

use crate::measured::template;
use zlaunch::testing::cards::{self, CARDS, Card, Cards};
use zlaunch::testing::fit::architecture::{self, ARCHITECTURES, Dtype, KEYS, Weights};
use zlaunch::testing::fit::memory;
use zlaunch::testing::fit::need::Cluster;
use zlaunch::testing::fit::optimizer::{OPTIMIZERS, Optimizer};
use zlaunch::testing::fit::settings::{TrainingArgs, TrainingSettings};
use zlaunch::testing::fit::strategy::Strategy;
use zlaunch::testing::fit::workload::Workload;
use zlaunch::testing::rows::{self, Row};
use zlaunch::testing::source::{Source, Sourced};

/// `answer` gets every row with each of its inputs.
fn run_examples(table: &'static str, answer: impl Fn(Row, &str) -> String) {
    let mut wrong = Vec::new();
    for row in rows::rows(table) {
        let examples: Vec<_> = row.examples().collect();
        assert!(!examples.is_empty(), "{} has no example", row.names);
        for (input, expected) in examples {
            let seen = answer(row, input);
            if seen != expected {
                wrong.push(format!("{}\n{input} -> {seen}", row.names));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The answer that all of them give.
fn common(answers: impl Iterator<Item = String>) -> String {
    let mut answers: Vec<String> = answers.collect();
    answers.dedup();
    answers.join(" or ")
}

fn is_known(model: &Weights) -> bool {
    !model
        .assumed
        .iter()
        .any(|assumed| assumed.contains("is counted like llama"))
}

/// Bytes of a step on one GPU.
fn allocated(
    weights: &Weights,
    tokens: u64,
    dtype: Dtype,
    optimizer: Optimizer,
    strategy: &str,
) -> u64 {
    let strategy = match strategy {
        "none" => Strategy::default(),
        name => Strategy::of(&template(name).config, weights.shape.hidden),
    };
    let args = TrainingArgs {
        dtype: Some(Sourced::new(dtype, Source::Default)),
        optimizer: Some(Sourced::new(optimizer, Source::Default)),
        seq_len: Some(Sourced::new(tokens, Source::Default)),
        checkpointing: Some(Sourced::new(false, Source::Default)),
        ..TrainingArgs::default()
    };
    let workload = Workload::new(weights, &TrainingSettings::new(&args, None, None));
    memory::need(&workload, &strategy, Cluster { nodes: 1, gpus: 1 }).allocated()
}

#[test]
fn architectures() {
    run_examples(ARCHITECTURES, |row, input| {
        common(row.names().map(|model_type| {
            let mut config = rows::cells(input);
            config.insert("model_type".to_string(), model_type.into());
            config.extend(rows::cells("hidden_size 256, num_hidden_layers 2"));
            let model = architecture::read(&config.into(), None).unwrap();
            assert!(is_known(&model), "{model_type}");
            let bytes = |dtype| allocated(&model, 512, dtype, Optimizer::named("adamw"), "none");
            let (bf16, fp32) = (bytes(Dtype::Bf16), bytes(Dtype::Fp32));
            format!(
                "{} parameters, {bf16} bytes in bf16, {fp32} in fp32",
                model.params
            )
        }))
    });
}

#[test]
fn keys_of_a_config() {
    run_examples(KEYS, |row, input| {
        let (keys, number) = input.split_once(" = ").unwrap();
        common(keys.split(' ').map(|key| {
            let mut config = rows::cells("model_type llama, hidden_size 8, num_hidden_layers 1");
            config.retain(|known, _| row.names().all(|name| name != known));
            config.insert(key.to_string(), number.parse().unwrap());
            let counted = architecture::read(&config.into(), None);
            if counted.is_some() {
                "counted".to_string()
            } else {
                "too large".to_string()
            }
        }))
    });
}

#[test]
fn optimizers() {
    let config = rows::cells(
        "model_type llama, hidden_size 1024, num_hidden_layers 24, num_attention_heads 16",
    );
    let model = architecture::read(&config.into(), None).unwrap();
    run_examples(OPTIMIZERS, |row, input| {
        let (strategy, dtype) = input.split_once(' ').unwrap();
        let (_, dtype) = Dtype::NAMES
            .iter()
            .find(|(name, _)| *name == dtype)
            .unwrap();
        common(row.names().map(|name| {
            let optimizer = match name.strip_prefix("deepspeed.") {
                Some(name) => Optimizer::of_deepspeed(name),
                None => Optimizer::named(name),
            };
            assert!(optimizer.is_measured(), "{name}");
            format!(
                "{} MB",
                allocated(&model, 16, *dtype, optimizer, strategy) / 1_000_000
            )
        }))
    });
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
    let lines = include_str!("../data/parameter-counts.jsonl").lines();
    let mut seen = 0;
    for line in lines {
        let line: Value = serde_json::from_str(line).unwrap();
        let model = architecture::read(&line["config"], None).unwrap();
        assert_eq!(
            Some(model.params),
            line["params"].as_u64(),
            "{}",
            line["name"]
        );
        assert!(is_known(&model), "{}", line["name"]);
        seen += 1;
    }
    assert!(seen > 30);
}

#[test]
fn a_config_without_the_basic_sizes_is_not_counted() {
    let tiny = json!({"hidden_size": 8, "num_hidden_layers": 1, "vocab_size": 16});
    let model = architecture::read(&tiny, None).unwrap();
    assert!(!is_known(&model) && model.params > 0);
    for config in [json!({"hidden_size": 8}), json!([]), json!({})] {
        assert!(architecture::read(&config, None).is_none());
    }
}
