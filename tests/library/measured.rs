//! The estimate compared with the peaks of real runs on one H200. `cargo test measured -- --nocapture` shows the error of
//! every run.

use std::sync::LazyLock;

use serde_json::{Value, json};

use zlaunch::testing::Host;
use zlaunch::testing::fit::architecture::{self, Dtype, KnownSize};
use zlaunch::testing::fit::memory;
use zlaunch::testing::fit::need::{Cluster, MemoryNeed};
use zlaunch::testing::fit::settings::TrainingReader;
use zlaunch::testing::fit::settings::{Evaluation, Rollout, TrainingArgs};
use zlaunch::testing::fit::strategy::Optimizer;
use zlaunch::testing::fit::strategy::Strategy;
use zlaunch::testing::fit::tables::algorithms::Algorithm;
use zlaunch::testing::fit::tables::templates::WITHOUT_DEEPSPEED;
use zlaunch::testing::fit::tables::words::{Attention, Tuner};
use zlaunch::testing::fit::workload::Workload;
use zlaunch::testing::source::{Source, Sourced};
use zlaunch::testing::template::{Search, Template, resolve};

/// Runs over optimizers, dtypes, architectures and numbers of ranks (one process stood for rank 0 of many), two micro
/// batches a step. The script made some models without sharing embedding and head: `params` tells which.
const OPTIMIZERS: &str = include_str!("../data/memory-h200-optimizers.jsonl");

/// Later runs, with the config of each model: DPO, QLoRA, a fused loss, a vision-language model, more ranks.
const MORE: &str = include_str!("../data/memory-h200-more.jsonl");

/// Trainings drawn at random, on GPUs as small as `fit` calls enough.
const CAPPED: &str = include_str!("../data/capped-h200.jsonl");

/// Trainings that evaluate their model and save it between the steps, with the peak of each phase. Those with a `cap` were drawn
/// at random and run on GPUs as small as `fit` calls enough, or smaller than it calls tight.
const PHASES: &str = include_str!("../data/phases-h200.jsonl");

/// The runs, with the number of micro batches per step.
const RUNS: [(&str, u64); 2] = [
    (include_str!("../data/memory-h200-earlier.jsonl"), 1),
    (include_str!("../data/memory-h200.jsonl"), 2),
];

pub(super) fn template(name: &str) -> Template {
    resolve(
        &Sourced::new(name.to_string(), Source::Default),
        &Search::default(),
        &Host::default(),
    )
    .unwrap()
}

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
    let weights =
        architecture::read(&config(run["model"].as_str().unwrap(), number("params"))).unwrap();
    assert_eq!(weights.params, number("params"));
    let tuner = if number("lora") > 0 {
        Tuner::Lora
    } else {
        Tuner::Full
    };
    let args = TrainingArgs {
        micro_batch: Some(number("mb")),
        grad_accum: Some(grad_accum),
        seq_len: Some(number("seq")),
        tuner: Some(tuner),
        lora_rank: Some(number("lora")),
        checkpointing: run["gc"].as_bool(),
        ..TrainingArgs::default()
    };
    let settings = TrainingReader::new(&args, None).settings(None, 1, &Host::default());
    let workload = Workload::new(&weights, &settings);
    if tuner == Tuner::Lora {
        assert_eq!(workload.trainable, number("trainable"));
    }
    let strategy = Strategy::of(
        &template(run["template"].as_str().unwrap()).config,
        weights.shape.hidden,
    );
    memory::need(&workload, &strategy, Cluster { nodes: 1, gpus: 1 })
}

#[expect(clippy::cast_precision_loss, reason = "a percentage")]
fn percent(ours: u64, measured: &Value) -> f64 {
    100.0 * (ours as f64 / measured.as_u64().unwrap() as f64 - 1.0)
}

#[test]
fn the_estimate_is_close_to_what_was_measured() {
    let mut wrong = Vec::new();
    for (runs, grad_accum) in RUNS {
        for line in runs.lines() {
            let run: Value = serde_json::from_str(line).unwrap();
            let need = predicted(&run, grad_accum);
            let (gpu, host) = (
                percent(need.allocated(), &run["peak_alloc"]),
                percent(need.host, &run["host_peak_rss"]),
            );
            let row = format!(
                "{} {} {}×{} gc {} lora {}: GPU {gpu:+.1} % ({}), host {host:+.1} %",
                run["model"],
                run["template"],
                run["mb"],
                run["seq"],
                run["gc"],
                run["lora"],
                need.peak.name,
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

/// The models of `OPTIMIZERS`.
fn lab_config(model: &str, tied: bool) -> Option<Value> {
    let (model_type, sizes, head_dim) = match model {
        "m700" => ("llama", [2048, 12, 5632, 16, 16, 32_000], None),
        "llama1b" => ("llama", [2048, 16, 8192, 32, 8, 128_256], None),
        "llama8b" => ("llama", [4096, 32, 14_336, 32, 8, 128_256], None),
        "qwen3_06b" => ("qwen3", [1024, 28, 3072, 16, 8, 151_936], Some(128)),
        "qwen3_17b" => ("qwen3", [2048, 28, 6144, 16, 8, 151_936], Some(128)),
        "gemma2" => ("gemma2", [2304, 12, 9216, 8, 4, 256_000], Some(256)),
        "gemma3" => ("gemma3_text", [1152, 26, 6912, 4, 1, 262_144], Some(256)),
        "mistral" => ("mistral", [4096, 6, 14_336, 32, 8, 32_000], None),
        "neox" => ("gpt_neox", [2048, 16, 8192, 8, 8, 50_304], None),
        "qwen3_moe" => ("qwen3_moe", [1024, 10, 3072, 16, 4, 151_936], Some(64)),
        "phi3" => ("phi3", [3072, 8, 8192, 32, 32, 32_064], None),
        _ => return None,
    };
    let [hidden, layers, inner, heads, shared, vocab] = sizes;
    let mut config = json!({
        "model_type": model_type, "hidden_size": hidden, "num_hidden_layers": layers, "intermediate_size": inner,
        "num_attention_heads": heads, "num_key_value_heads": shared, "vocab_size": vocab, "tie_word_embeddings": tied,
    });
    if let Some(head_dim) = head_dim {
        config["head_dim"] = json!(head_dim);
    }
    if model == "gemma2" {
        config["final_logit_softcapping"] = json!(30.0);
    }
    if model == "qwen3_moe" {
        config["moe_intermediate_size"] = json!(768);
        config["num_experts"] = json!(32);
        config["num_experts_per_tok"] = json!(4);
    }
    Some(config)
}

fn lab_predicted(run: &Value) -> Option<MemoryNeed> {
    let number = |key: &str, default: u64| run[key].as_u64().unwrap_or(default);
    let text = |key: &str| run[key].as_str();
    let weights = if run["config"].is_object() {
        let mut weights = architecture::read(&run["config"])?;
        if let Some(tower) = &mut weights.tower {
            tower.patches = number("patches", 0).div_ceil(number("seq", 512));
        }
        match run["stored"].as_u64() {
            Some(params) => weights.with_params(KnownSize {
                params,
                from: String::new(),
            }),
            None => weights,
        }
    } else {
        [true, false].into_iter().find_map(|tied| {
            let weights = architecture::read(&lab_config(text("model").unwrap(), tied)?)?;
            (weights.params == number("params", 0)).then_some(weights)
        })?
    };
    let tuner = match (number("lora", 0), number("bits", 0)) {
        (0, _) => Tuner::Full,
        (_, 0) => Tuner::Lora,
        (_, bits) => Tuner::Quantised(bits),
    };
    let dtype = Dtype::NAMES
        .iter()
        .find(|(name, _)| *name == text("dtype").unwrap_or("bf16"))
        .unwrap()
        .1;
    // The earlier script had 64 samples: one micro batch for each of 64 ranks.
    let accumulation = if number("ranks", 1) == 64 && run["config"].is_null() {
        1
    } else {
        number("ga", 2)
    };
    let name = text("algorithm").or(run["dpo"].as_bool().map(|_| "dpo"));
    // As measured in ms-swift, whose PPO and GKD are its own.
    let own = name.and_then(|name| name.strip_prefix("swift "));
    let mut algorithm =
        name.and_then(|name| Algorithm::find(&[own.unwrap_or(name)], own.is_some()));
    if let (Some(algorithm), Some(beta)) = (&mut algorithm, run["beta"].as_f64()) {
        algorithm.has_reference = beta > 0.0;
    }
    let args = TrainingArgs {
        micro_batch: Some(number("mb", 1)),
        grad_accum: Some(accumulation),
        seq_len: Some(number("seq", 512)),
        tuner: Some(tuner),
        lora_rank: Some(number("lora", 0)),
        lora_targets: text("targets").map(str::to_string),
        dtype: Some(dtype),
        optimizer: Some(Optimizer::named(
            text("optim").unwrap_or("adamw_torch_fused"),
        )),
        checkpointing: Some(run["gc"].as_bool().unwrap_or(true)),
        fused_loss: run["liger"] == true,
        attention: (text("attn") == Some("eager")).then_some(Attention::Eager),
        ..TrainingArgs::default()
    };
    let mut settings = TrainingReader::new(&args, None).settings(None, 1, &Host::default());
    settings.evaluation = run["eval"].as_u64().map(|batch| Evaluation {
        batch,
        has_loss: run["generate"].is_null(),
        new_tokens: run["generate"].as_u64(),
    });
    settings.rollout = run["new"].as_u64().map(|answer| Rollout {
        answer,
        micro_batches: number("steps_per_generation", accumulation),
        gathers: run["gather"] != false,
        is_served: false,
    });
    settings.freezes_tower = run["tower"] == false || run["tower"] == "no graph";
    settings.dropout |= run["dropout"] == true;
    settings.freezes_projector = settings.freezes_tower && run["projector"].is_null();
    settings.algorithm = algorithm.unwrap_or(settings.algorithm);
    let other = |key: &str| architecture::read(run.get(key).unwrap_or(&run["config"])).unwrap();
    match name {
        Some("swift ppo") => settings.rewards.push(other("reward").without_head()),
        Some("gkd" | "swift gkd") => settings.rewards.push(other("teacher")),
        _ => {}
    }
    let mut workload = Workload::new(&weights, &settings);
    if run["patches"].is_null() {
        // Nothing uses a tower without pictures.
        workload.forward_only += weights.tower.as_ref().map_or(0, |tower| tower.params());
    }
    if let Some(tower) = &mut workload.tower {
        // Some of the tokens are text.
        tower.seq_len = number("patches", 0);
    }
    // The script also adapts the vision tower of one. A reward model has one output more. Layers of two kinds are counted as one.
    let name = text("name").or(text("model")).unwrap();
    if !settings.algorithm.headless
        && weights.assumed.is_empty()
        && run["trainable"].is_u64()
        && (tuner == Tuner::Full || name != "vl" && !name.starts_with("t-"))
    {
        assert_eq!(workload.trainable, number("trainable", 0), "{run}");
    }
    let strategy = match text("ds").or(text("template")) {
        None | Some("none") => WITHOUT_DEEPSPEED,
        Some(name) => {
            let mut config = template(name).config;
            if run["peaks"]["saving"].is_null() {
                config["zero_optimization"]["stage3_gather_16bit_weights_on_model_save"] =
                    json!(false);
            }
            if let Some(own) = text("ds_optim") {
                config["optimizer"] = json!({"type": own});
            }
            for (key, value) in run["set"].as_object().into_iter().flatten() {
                config["zero_optimization"][key] = value.clone();
            }
            Strategy::of(&config, weights.shape.hidden)
        }
    };
    let ranks = number("ranks", 1);
    Some(memory::need(
        &workload,
        &strategy,
        Cluster {
            nodes: ranks.div_ceil(8),
            gpus: ranks.min(8),
        },
    ))
}

/// What was measured, and what is said of it. Runs that ended early or generated text, and towers that keep
/// something although they are frozen, say nothing about the sums.
static LAB_RUNS: LazyLock<Vec<(Value, MemoryNeed)>> = LazyLock::new(|| {
    let lines: Vec<&str> = OPTIMIZERS
        .lines()
        .chain(MORE.lines())
        .chain(CAPPED.lines())
        .collect();
    let seen = |line: &&str| {
        let run: Value = serde_json::from_str(line).unwrap();
        let is_counted = !run["failed"].is_string()
            && run["run"] != "calibration"
            && run["algorithm"] != "grpo"
            && !(run["tower"] == false && run["gc"] == true);
        let need = is_counted.then(|| lab_predicted(&run))??;
        Some((run, need))
    };
    std::thread::scope(|scope| {
        let parts = lines.chunks(lines.len().div_ceil(4));
        let parts: Vec<_> = parts
            .map(|part| scope.spawn(|| part.iter().filter_map(seen).collect::<Vec<_>>()))
            .collect();
        parts
            .into_iter()
            .flat_map(|part| part.join().unwrap())
            .collect()
    })
});

/// The run without what was measured.
fn case(run: &Value) -> Value {
    let mut case = run.clone();
    for key in [
        "params",
        "trainable",
        "peak_alloc",
        "peak_reserved",
        "end_alloc",
        "host_peak_rss",
        "skipped",
        "optimizer",
        "config",
        "alloc",
        "finite",
        "run",
    ] {
        case.as_object_mut().unwrap().remove(key);
    }
    case
}

#[test]
fn optimizers_dtypes_and_ranks_are_close_to_what_was_measured() {
    let mut errors = Vec::new();
    for (run, need) in &*LAB_RUNS {
        let gpu = percent(need.allocated(), &run["peak_alloc"]);
        let row = format!(
            "GPU {gpu:+.1} % ({}): {} seen {}",
            need.peak.name,
            case(run),
            run["peak_alloc"]
        );
        eprintln!("{row}");
        // Frozen towers, dropout and joined projections at stage 3.
        let is_late = ["thirteenth", "fourteenth"]
            .iter()
            .any(|name| run["run"] == *name);
        assert!(!is_late || gpu < 3.0, "{row}");
        // Frozen modules behind the adapters keep no input. The tower of the one with pictures was quantised, which is not said.
        let is_attention = run["run"] == "eighteenth" && run["targets"] == "q_proj,v_proj";
        assert!(
            !is_attention || run["patches"].is_u64() || gpu < 3.0,
            "{row}"
        );
        // So do frozen experts.
        let is_adapted = run["targets"].is_string() && run["gc"] == false;
        assert!(
            !is_adapted || run["template"] == "zero3_offload" || gpu < 5.5,
            "{row}"
        );
        errors.push((gpu, row));
    }
    // At most one in twenty needs less than said (half of these train in fp32), and none needs more.
    let off = errors.iter().filter(|(error, _)| *error > 3.0).count();
    assert!(
        errors.len() > 500 && off * 20 < errors.len(),
        "{off} of {}",
        errors.len()
    );
    let short: Vec<_> = errors.iter().filter(|(error, _)| *error < -3.0).collect();
    assert!(short.is_empty(), "{short:#?}");
}

/// One ran out of memory at the verdict of its time. Its sum as DeepSpeed's source has it: weights, bucket, gradient and its buffer, and
/// the norm of the gradient in fp64.
#[test]
fn a_gradient_larger_than_the_bucket_has_its_norm_computed_in_fp64() {
    let failed = CAPPED
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let run: Value = failed
        .filter(|run: &Value| run["run"] == "eighth" && run["name"] == "stablelm")
        .find(|run| run["template"] == "zero2_offload")
        .unwrap();
    let need = lab_predicted(&run).unwrap();
    let head = 100_352 * 2048;
    assert_eq!(need.usage.buffers, 2 * (200_000_000 + 2 * head) + 8 * head);
}

/// zlaunch names modules as Llama does. GPT-J calls `fc_out` what is `down_proj` there, so its input may be kept.
#[test]
fn a_target_of_another_name_may_be_in_the_mlp() {
    let row = CAPPED
        .lines()
        .find(|row| row.contains("\"gptj_c\""))
        .unwrap();
    let need = |targets: &str| {
        let mut run: Value = serde_json::from_str(row).unwrap();
        run["targets"] = json!(targets);
        run["trainable"] = Value::Null;
        lab_predicted(&run).unwrap().allocated()
    };
    assert!(need("q_proj,v_proj") < need("q_proj,v_proj,fc_out"));
}

/// Pictures of four micro batches, and a vision tower that is gathered again for its backward pass.
#[test]
fn what_ran_out_of_memory_at_its_verdict_is_said_to_need_more() {
    let runs = CAPPED
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let failed: Vec<Value> = runs
        .filter(|run| ["eighth", "twelfth"].iter().any(|name| run["run"] == *name))
        .filter(|run| run["expects"] == "trains" && run["failed"] == "out of memory")
        .collect();
    for run in &failed {
        let need = lab_predicted(run).unwrap().allocated();
        assert!(need > run["cap"].as_u64().unwrap(), "{need} {run}");
    }
    assert_eq!(failed.len(), 2);
}

/// The runs made their model on the GPU, so their host memory tells about offload alone: of one rank, beside up to seven.
#[test]
fn offloaded_states_take_the_host_memory_that_was_measured() {
    let mut errors = Vec::new();
    for (run, need) in &*LAB_RUNS {
        let ranks = run["ranks"].as_u64().unwrap_or(1);
        let is_offloaded = run["ds"]
            .as_str()
            .or(run["template"].as_str())
            .is_some_and(|name| name.contains("offload"));
        if is_offloaded && run["host_peak_rss"].is_u64() && run["lora"].is_null() && ranks <= 16 {
            let host = percent(need.host / ranks.min(8), &run["host_peak_rss"]);
            let row = format!(
                "host {host:+.1} %: {} seen {}",
                case(run),
                run["host_peak_rss"]
            );
            eprintln!("{row}");
            errors.push((host, row));
        }
    }
    let off: Vec<_> = errors
        .iter()
        .filter(|(error, _)| !(-6.0..6.0).contains(error))
        .collect();
    assert!(errors.len() > 30 && off.is_empty(), "{off:#?}");
}

/// How many logits are kept for metrics follows from the evaluation set, which nobody can see in a command.
#[test]
fn evaluations_and_saves_take_what_was_measured() {
    let (mut between, mut tried, mut wrong) = (0, 0, Vec::new());
    for run in PHASES
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
    {
        let need = lab_predicted(&run).unwrap();
        let allocated = need.allocated();
        // Too much: the answers of a preference and of a dataset are taken to have no prompt.
        let is_over = run["algorithm"].is_string();
        if let Some(cap) = run["cap"].as_u64() {
            // The margins of `fits`. Most evaluations were tried with less, one of them in vain.
            let gaps = if need.peak.is_between_steps { 9 } else { 5 };
            let enough = allocated + allocated * gaps / 100;
            assert!(
                run["trained"] == true || cap < enough - 1_000_000,
                "{enough} {run}"
            );
            assert!(
                run["trained"] == false || cap > allocated || is_over,
                "{allocated} {run}"
            );
            tried += usize::from(run["trained"] == true && cap <= enough + 1_000_000);
        }
        let phases = ["step", "evaluation", "saving", "generation"];
        let Some(seen) = phases
            .iter()
            .filter_map(|phase| run["peaks"][phase].as_u64())
            .max()
        else {
            continue;
        };
        let keeps_logits = run["metrics"] == true && run["eval_accumulation_steps"].is_null();
        let error = percent(allocated, &seen.into());
        let of_step = percent(need.step + allocated - need.gpu(), &run["peaks"]["step"]);
        let row = format!(
            "GPU {error:+.1} %, step {of_step:+.1} % ({}): {} seen {seen}",
            need.peak.name,
            case(&run)
        );
        eprintln!("{row}");
        let prompt = run["seq"].as_u64().unwrap_or(0) - run["new"].as_u64().unwrap_or(0);
        let most = match is_over {
            // The answers of a dataset may have no prompts, but most of these have.
            true if prompt > 16
                && run["algorithm"]
                    .as_str()
                    .is_some_and(|name| name.ends_with("gkd")) =>
            {
                200.0
            }
            true if run["algorithm"] == "kto" && run["template"] == "zero3_offload" => 36.0,
            true if run["generations"].is_u64() && run["ga"] == 1 && run["lora"].is_u64() => 30.0,
            true => 12.0,
            false => 3.0,
        };
        let is_between = run["peaks"]["step"] != seen;
        let is_same_phase = is_between == need.peak.is_between_steps;
        if !keeps_logits && !(-3.1..most).contains(&error)
            || !is_same_phase && error.abs() > 1.0 && !is_over
        {
            wrong.push(row);
        }
        between += usize::from(is_between);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(between > 65 && tried > 95, "{between} {tried}");
}
