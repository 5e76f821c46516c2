//! The estimate compared with the peaks of real runs on one H200. `cargo test measured -- --nocapture` shows the error of
//! every run; `tests/real/memory_runs.py` repeats the runs.

use serde_json::{Value, json};

use super::architecture;
use super::architecture::CountedModel;
use super::memory;
use super::need::{Cluster, MemoryNeed};
use super::settings::{TrainingArgs, TrainingSettings, Tuner};
use super::strategy::Strategy;
use super::tests::template;
use super::weights::Weights;
use super::workload::Workload;
use crate::base::source::{Source, Sourced};

/// The runs, with the number of micro batches per step.
const RUNS: [(&str, u64); 2] = [
    (include_str!("../../tests/data/memory-h200-earlier.jsonl"), 1),
    (include_str!("../../tests/data/memory-h200.jsonl"), 2),
];

fn config(model: &str, params: u64) -> Value {
    let (model_type, hidden, layers, inner, heads, shared, vocab) = match model {
        "llama1b" => ("llama", 2048, 16, 8192, 32, 8, 128_256),
        "llama3b" => ("llama", 3072, 28, 8192, 24, 8, 128_256),
        "qwen15b" => ("qwen2", 1536, 28, 8960, 12, 2, 151_936),
        // The earlier run built this model as a llama, without biases.
        "qwen05b" if params == 494_005_120 => ("llama", 896, 24, 4864, 14, 2, 151_936),
        _ => ("qwen2", 896, 24, 4864, 14, 2, 151_936),
    };
    json!({
        "model_type": model_type, "hidden_size": hidden, "num_hidden_layers": layers, "intermediate_size": inner,
        "num_attention_heads": heads, "num_key_value_heads": shared, "vocab_size": vocab, "tie_word_embeddings": true,
    })
}

fn predicted(run: &Value, grad_accum: u64) -> MemoryNeed {
    let number = |key: &str| run[key].as_u64().unwrap_or(0);
    let given = |value: u64| Some(Sourced::new(value, Source::Default));
    let CountedModel { shape, params, unquantised, .. } =
        architecture::read(&config(run["model"].as_str().unwrap(), number("params"))).unwrap();
    assert_eq!(params, number("params"));
    let tuner = if number("lora") > 0 { Tuner::Lora } else { Tuner::Full };
    let args = TrainingArgs {
        micro_batch: given(number("mb")),
        grad_accum: given(grad_accum),
        seq_len: given(number("seq")),
        tuner: Some(Sourced::new(tuner, Source::Default)),
        lora_rank: given(number("lora")),
        checkpointing: Some(Sourced::new(run["gc"].as_bool().unwrap(), Source::Default)),
        ..TrainingArgs::default()
    };
    let settings = TrainingSettings::new(&args, None);
    let weights = Weights { params, unquantised, shape, from: String::new(), assumed: Vec::new() };
    let workload = Workload::new(&weights, &settings);
    if tuner == Tuner::Lora {
        assert_eq!(workload.trainable, number("trainable"));
    }
    let strategy = Strategy::of(&template(run["template"].as_str().unwrap()).config, weights.shape.hidden);
    memory::need(&workload, &strategy, Cluster { nodes: 1, gpus: 1 })
}

#[expect(clippy::cast_precision_loss, reason = "a percentage")]
fn percent(ours: u64, measured: &Value) -> f64 {
    100.0 * (ours as f64 / measured.as_u64().unwrap() as f64 - 1.0)
}

#[test]
#[expect(clippy::print_stderr, reason = "shown with --nocapture")]
fn the_estimate_is_close_to_what_was_measured() {
    let mut wrong = Vec::new();
    for (runs, grad_accum) in RUNS {
        for line in runs.lines() {
            let run: Value = serde_json::from_str(line).unwrap();
            let need = predicted(&run, grad_accum);
            let (gpu, host) =
                (percent(need.allocated(), &run["peak_alloc"]), percent(need.host, &run["host_peak_rss"]));
            let row = format!(
                "{} {} {}×{} gc {} lora {}: GPU {gpu:+.1} % ({}), host {host:+.1} %",
                run["model"],
                run["template"],
                run["mb"],
                run["seq"],
                run["gc"],
                run["lora"],
                need.peak.name(),
            );
            eprintln!("{row}");
            // The later runs created the model on the GPU, without loading it through host memory.
            let loaded = grad_accum == 1 || run["template"].as_str().unwrap().contains("offload");
            // The last two runs were made after the estimate was fitted, which misses one of them by 3.5 %; `fits` has a
            // margin of a tenth.
            if !(-4.0..5.0).contains(&gpu) || loaded && !(-5.0..15.0).contains(&host) {
                wrong.push(row);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
