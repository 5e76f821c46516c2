//! Does it fit: counts, sums, the recommendation, and `--deepspeed auto`.

use serde_json::Value;

use crate::sandbox::{Run, Sandbox, safetensors};

const QWEN3_8B: &str = r#"{"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "hidden_size": 4096, "num_hidden_layers": 36,
    "intermediate_size": 12288, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936}"#;

fn fit(sandbox: &Sandbox, words: &[&str]) -> Run {
    sandbox.run(["fit"].iter().chain(words))
}

fn json(sandbox: &Sandbox, words: &[&str]) -> Value {
    let run = sandbox.run(["fit", "--format", "json"].iter().chain(words));
    assert!(matches!(run.status, Some(0 | 1)), "{run:?}");
    serde_json::from_str(&run.stdout).unwrap()
}

fn row<'a>(report: &'a Value, name: &str) -> &'a Value {
    report["rows"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["template"] == name)
        .unwrap()
}

/// Percent of what is allocated that must be free on top.
fn gaps(row: &Value) -> u64 {
    let bytes = |key: &str| row[key].as_u64().unwrap();
    ((bytes("fits_from_bytes") - bytes("gpu_bytes")) * 100).div_ceil(bytes("allocated_bytes"))
}

/// 8B on five GPUs of 44 GB in gigabytes: parameters, gradients, optimizer, their sum, and whether it fits.
#[test]
fn textbook_sums_of_8b_on_five_gpus() {
    let report = json(
        &Sandbox::new(),
        &[
            "--params",
            "8B",
            "--gpus",
            "5",
            "--gpu-memory",
            "44GB",
            "--accounting",
            "textbook",
        ],
    );
    for (name, cells, fits) in [
        ("none", [16, 16, 64, 96], false),
        ("zero1", [16, 16, 13, 45], false),
        ("zero2", [16, 3, 13, 32], true),
        ("zero3", [3, 3, 13, 19], true),
    ] {
        let row = row(&report, name);
        let gigabytes = |value: &Value| (value.as_f64().unwrap() / 1e9).round();
        let parts = &row["parts"];
        let seen = [
            &parts["parameters"],
            &parts["gradients"],
            &parts["optimizer"],
            &row["gpu_bytes"],
        ]
        .map(gigabytes);
        assert_eq!(
            (seen, &row["fits"]),
            (cells.map(f64::from), &fits.into()),
            "{name}"
        );
    }
    // Without ZeRO-1, the optimizer's 64 GB are 21 on three GPUs.
    let three = json(
        &Sandbox::new(),
        &["--params", "8B", "--gpus", "3", "--accounting", "textbook"],
    );
    assert_eq!(
        row(&three, "zero1")["parts"]["optimizer"]
            .as_u64()
            .unwrap()
            .div_ceil(1_000_000_000),
        22
    );
    assert_eq!(
        (&three["recommended"], &row(&three, "zero1")["fits"]),
        (&Value::Null, &Value::Null)
    );
}

/// 8B on five GPUs of 44 GB: ZeRO-2 fits by the textbook, and does not in reality.
#[test]
fn real_sums_of_8b_on_five_gpus() {
    let sandbox = Sandbox::new();
    let options = [
        "--gpus",
        "5",
        "--gpu-memory",
        "44GB",
        "--host-memory",
        "512GiB",
    ];
    sandbox.file("m/config.json", QWEN3_8B);
    let command = [
        "--",
        "swift",
        "sft",
        "--model",
        "m",
        "--tuner_type",
        "full",
        "--deepspeed",
        "zero3",
    ];
    let words: Vec<&str> = options.iter().chain(&command).copied().collect();
    let report = json(&sandbox, &words);
    assert_eq!(
        (&report["params"], &report["recommended"]),
        (&8_190_735_360_u64.into(), &"zero3".into())
    );
    assert_eq!(row(&report, "zero2")["fits"], false);
}

#[test]
fn the_recommendation_grows_with_the_model() {
    let sandbox = Sandbox::new();
    let mut seen = Vec::new();
    for params in ["1B", "7B", "14B", "32B", "70B"] {
        let options = [
            "--gpus",
            "8",
            "--gpu-memory",
            "80GiB",
            "--host-memory",
            "2TiB",
        ];
        let report = json(&sandbox, &[&["--params", params], &options[..]].concat());
        seen.push(report["recommended"].as_str().unwrap().to_string());
        assert!(report["largest_micro_batch"].as_u64().unwrap() >= 1);
    }
    assert_eq!(seen, ["zero1", "zero1", "zero2", "zero3", "zero3_offload"]);
}

/// On the disk, each parameter has its fp32 copy, gradient and two moments, and its 16-bit weight. In host memory, each rank pins four
/// buffers of a group of 1e9 parameters in fp32 and one in 16 bits, rounded up to a power of two, and has a buffer for parameters.
#[test]
fn states_on_a_disk_are_counted() {
    let words = "--params 8B --gpus 4 --gpu-memory 80GiB --host-memory 1TiB"
        .split(' ')
        .collect::<Vec<_>>();
    let report = json(&Sandbox::new(), &words);
    let nvme = row(&report, "zero3_nvme");
    assert_eq!(nvme["disk_bytes"], (4 * 4 + 2) * 8_000_000_000_u64);
    let (process, group, parameters) = (
        2_030_000_000_u64,
        4 * (4_u64 << 30) + (2 << 30),
        2_000_000_000 + (1_u64 << 30),
    );
    assert_eq!(
        nvme["host_bytes"],
        4 * (process + group + parameters) + 2 * 8_000_000_000
    );
    assert_eq!(
        (&nvme["fits"], &nvme["unknown"]),
        (&Value::Null, &serde_json::json!(["disk"]))
    );
    assert_eq!(row(&report, "zero3_offload")["disk_bytes"], 0);
}

/// As common guides say it.
#[test]
fn what_is_known_to_fit_on_eight_cards_fits() {
    let sandbox = Sandbox::new();
    for (memory, params, tuner, template) in [
        ("24GiB", "7B", "lora", "zero2"),
        ("40GiB", "8B", "full", "zero2"),
        ("40GiB", "30B", "lora", "zero3"),
        ("80GiB", "30B", "full", "zero3"),
        ("80GiB", "70B", "lora", "zero3"),
    ] {
        let options = [
            "--gpus",
            "8",
            "--gpu-memory",
            memory,
            "--params",
            params,
            "--tuner",
            tuner,
        ];
        let report = json(&sandbox, &options);
        assert_eq!(row(&report, template)["fits"], true, "{options:?}");
        if params == "30B" && tuner == "full" {
            assert_eq!(row(&report, "zero2")["fits"], false, "{options:?}");
        }
    }
}

/// What DeepSpeed takes for stage 3 and for offloading is summed up as that.
#[test]
fn a_config_is_read_as_deepspeed_reads_it() {
    let sandbox = Sandbox::new();
    let bytes = |name: &str, zero: &str| {
        let file = format!("{name}.json");
        sandbox.file(&file, format!(r#"{{"zero_optimization": {zero}}}"#));
        let report = json(
            &sandbox,
            &["--params", "8B", "--gpus", "4", "--deepspeed", &file],
        );
        let row = row(&report, name);
        (
            row["gpu_bytes"].as_u64().unwrap(),
            row["host_bytes"].as_u64().unwrap(),
        )
    };
    let [zero2, zero3, offload] = [
        bytes("2", r#"{"stage": 2}"#),
        bytes("3", r#"{"stage": 3}"#),
        bytes(
            "offload",
            r#"{"stage": 2, "offload_optimizer": {"device": "cpu"}}"#,
        ),
    ];
    assert!(zero2 != zero3 && zero2 != offload);
    assert_eq!(bytes("quoted", r#"{"stage": "3"}"#), zero3);
    assert_eq!(
        bytes("old", r#"{"stage": 2, "cpu_offload": true}"#),
        offload
    );
}

#[test]
fn where_nothing_fits_other_ways_are_named() {
    let sandbox = Sandbox::new();
    let run = fit(
        &sandbox,
        &[
            "--params",
            "32B",
            "--gpus",
            "2",
            "--gpu-memory",
            "48GiB",
            "--host-memory",
            "256GiB",
        ],
    );
    assert_eq!(run.status, Some(1), "{run:?}");
    for words in [
        "no template fits",
        "with LoRA: ",
        "with QLoRA in 4 bits: ",
        " GPUs each: ",
        "a local NVMe disk with ",
    ] {
        assert!(run.stdout.contains(words), "{words}: {}", run.stdout);
    }
    // Each way that is named holds.
    let more = [
        "--params",
        "32B",
        "--gpus",
        "2",
        "--gpu-memory",
        "48GiB",
        "--host-memory",
        "256GiB",
        "--tuner",
        "lora",
    ];
    assert_eq!(fit(&sandbox, &more).status, Some(0));
    let huge = fit(
        &sandbox,
        &[
            "--params",
            "400B",
            "--gpus",
            "1",
            "--gpu-memory",
            "24GiB",
            "--host-memory",
            "64GiB",
        ],
    );
    assert_eq!(huge.status, Some(1));
    assert!(huge.stdout.contains("no template fits"), "{}", huge.stdout);
}

/// From the cheapest change to the dearest, each with what it then takes; and each holds.
#[test]
fn what_would_fit_is_ordered_by_its_price() {
    let sandbox = Sandbox::new();
    let base = ["--params", "8B", "--gpu", "H100x4", "--host-memory", "1TiB"];
    let large = [
        "--micro-batch",
        "4",
        "--seq-len",
        "4096",
        "--gradient-checkpointing",
        "false",
    ];
    let options = [&base[..], &large].concat();
    let report = json(&sandbox, &options);
    let would = report["would_fit"].as_array().unwrap();
    let words: Vec<&str> = would
        .iter()
        .map(|it| it["change"].as_str().unwrap())
        .collect();
    let kinds: Vec<&str> = words
        .iter()
        .map(|change| change.split(' ').next().unwrap())
        .collect();
    assert_eq!(kinds, ["a", "gradient", "sequences"], "{would:?}");
    for (remedy, option) in
        would
            .iter()
            .zip(["--micro-batch", "--gradient-checkpointing", "--seq-len"])
    {
        let number = remedy["change"]
            .as_str()
            .unwrap()
            .split(' ')
            .find(|word| word.parse::<u64>().is_ok());
        let changed = json(
            &sandbox,
            &[&options[..], &[option, number.unwrap_or("true")]].concat(),
        );
        assert_eq!(changed["recommended"], remedy["template"], "{option}");
        assert_eq!(
            row(&changed, remedy["template"].as_str().unwrap())["gpu_bytes"],
            remedy["gpu_bytes"],
            "{option}"
        );
    }
    let run = fit(
        &sandbox,
        &[&options[..], &["--deepspeed", "zero3_offload"]].concat(),
    );
    assert!(
        run.stdout
            .contains("zero3_offload does not fit: 54.3 GiB short (GPU)"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains("  with a micro batch of "),
        "{}",
        run.stdout
    );
}

#[test]
fn a_card_says_memory_and_number() {
    let sandbox = Sandbox::new();
    let report = json(&sandbox, &["--params", "8B", "--gpu", "H100x8"]);
    assert_eq!(report["gpu"], "H100");
    assert_eq!(
        (&report["gpus_per_node"], &report["gpu_memory"]),
        (&8.into(), &(81559_u64 << 20).into())
    );
    let text = fit(
        &sandbox,
        &[
            "--params", "8B", "--gpu", "rtx4090", "--gpus", "2", "--nnodes", "2",
        ],
    )
    .stdout;
    assert!(
        text.contains("on       2 machines, each 2 RTX 4090 of 24.0 GiB "),
        "{text}"
    );
    let text = fit(&sandbox, &["--params", "1B", "--gpu", "RTX 4090"]).stdout;
    assert!(text.contains("on       1 RTX 4090 of 24.0 GiB "), "{text}");
    // One GPU with a command, too, whatever is on this machine; only the command itself says otherwise.
    sandbox.file("m/config.json", QWEN3_8B);
    for (command, gpus) in [
        ("swift sft --model m", 1),
        (
            "torchrun --nproc_per_node 4 train.py --model_name_or_path m",
            4,
        ),
    ] {
        let line = format!("--gpu A100 -- {command}");
        assert_eq!(
            json(&sandbox, &line.split(' ').collect::<Vec<_>>())["gpus_per_node"],
            gpus,
            "{command}"
        );
    }
    // A part of a card, and what makers call a gigabyte.
    let part = ["--params", "8B", "--gpu", "H100x8", "--gpu-memory", "40GiB"];
    assert_eq!(json(&sandbox, &part)["gpu_memory"], 40_u64 << 30);
    let sold = ["--params", "8B", "--gpus", "1", "--gpu-memory", "80GB"];
    assert_eq!(json(&sandbox, &sold)["gpu_memory"], 81559_u64 << 20);
    let refused = |words: &[&str], says: &[&str]| {
        fit(&sandbox, &[&["--params", "8B"], words].concat()).refused(says);
    };
    refused(&["--gpu", "H101x8"], &["`H101x8`", "--gpu-memory SIZE"]);
    refused(
        &["--gpu", "RTY4090"],
        &["did you mean `RTX 4090`? --gpu 'RTX 4090'"],
    );
    refused(
        &["--gpu", "H100x8", "--gpus", "4"],
        &["--gpu H100x8", "--gpus 4"],
    );
    refused(
        &["--gpus", "1", "--gpu-memory", "24"],
        &["`24` has no unit", "--gpu-memory 24GiB"],
    );
    refused(
        &["--gpus", "1", "--gpu-memory", "81559"],
        &["--gpu-memory 81559MiB"],
    );
    refused(
        &["--gpus", "1", "--host-memory", "512"],
        &["--host-memory 512GiB"],
    );
}

/// The memory of this machine says nothing about GPUs that are elsewhere.
#[test]
fn each_row_says_which_memory_is_short_or_unknown() {
    let sandbox = Sandbox::new();
    let memories = |row: &Value| {
        (
            row["verdict"].clone(),
            row["short"].clone(),
            row["unknown"].clone(),
        )
    };
    let expected = |verdict: &str, short: &[&str], unknown: &[&str]| {
        (verdict.into(), short.into(), unknown.into())
    };
    let report = json(&sandbox, &["--params", "70B", "--gpu", "H100x8"]);
    assert_eq!(report["host_memory"], Value::Null);
    assert_eq!(
        memories(row(&report, "zero3")),
        expected("no", &["gpu"], &[])
    );
    assert_eq!(
        memories(row(&report, "zero3_offload")),
        expected("?", &[], &["host"])
    );
    assert_eq!(
        memories(row(&report, "zero3_nvme")),
        expected("?", &[], &["host", "disk"])
    );
    assert_eq!(report["would_fit"][0]["template"], "zero3_offload");
    // That nothing fits is not known.
    assert_eq!(
        fit(&sandbox, &["--params", "70B", "--gpu", "H100x8"]).status,
        Some(0)
    );
    let small = [
        "--params",
        "70B",
        "--gpu",
        "H100",
        "--gpus",
        "1",
        "--host-memory",
        "64GiB",
    ];
    let report = json(&sandbox, &small);
    assert_eq!(
        memories(row(&report, "zero2_offload")),
        expected("no", &["gpu", "host"], &[])
    );
    let run = fit(&sandbox, &small);
    assert_eq!(run.status, Some(1));
    assert!(
        run.stdout.contains("no: GPU, host\n") && run.stdout.contains("no: host\n"),
        "{}",
        run.stdout
    );
}

#[test]
fn the_config_that_is_named_decides_the_status() {
    let sandbox = Sandbox::new();
    let base = ["--params", "8B", "--gpu", "H100x2", "--host-memory", "1TiB"];
    let status = |more: &[&str]| fit(&sandbox, &[&base[..], more].concat()).status;
    assert_eq!(
        (status(&[]), status(&["--deepspeed", "zero1"])),
        (Some(0), Some(1))
    );
    assert_eq!(
        (
            status(&["--deepspeed", "zero3"]),
            status(&["--deepspeed", "auto"])
        ),
        (Some(0), Some(0))
    );
    // As it would be launched.
    let changed = [
        "--deepspeed",
        "zero2",
        "--set",
        "zero_optimization.offload_optimizer.device=cpu",
    ];
    assert_eq!(
        (status(&changed[..2]), status(&changed)),
        (Some(1), Some(0))
    );
    let report = json(&sandbox, &[&base[..], &changed].concat());
    assert_eq!(report["judged"], "zero2, yours");
    assert_eq!(
        row(&report, "zero2, yours")["gpu_bytes"],
        row(&report, "zero2_offload")["gpu_bytes"]
    );
    // The command's own.
    sandbox.file("m/config.json", QWEN3_8B);
    let command = [
        "--",
        "swift",
        "sft",
        "--model",
        "m",
        "--tuner_type",
        "full",
        "--deepspeed",
    ];
    let of_command = |name: &'static str| [&base[2..], &command, &[name]].concat();
    assert_eq!(fit(&sandbox, &of_command("zero1")).status, Some(1));
    assert_eq!(fit(&sandbox, &of_command("zero3")).status, Some(0));
    let missing = json(&sandbox, &of_command("nowhere.json"));
    assert_eq!(missing["judged"], Value::Null);
    assert!(
        missing["assumed"].to_string().contains("nowhere.json"),
        "{}",
        missing["assumed"]
    );
}

#[test]
fn the_picture_has_a_bar_for_each_template() {
    let line = "--params 8B --gpus 8 --gpu-memory 80GiB --format svg --model a<b>&c-8B";
    let svg = fit(&Sandbox::new(), &line.split(' ').collect::<Vec<_>>());
    svg.succeeded();
    assert!(
        svg.stdout.starts_with("<svg ") && svg.stdout.contains("a&lt;b&gt;&amp;c-8B"),
        "{}",
        svg.stdout
    );
    assert_eq!(svg.stdout.matches(">zero3_offload<").count(), 1);
    // The line of the GPU stands at 80 of 151.4 GiB, the peak of zero0, whose bar has the full width.
    assert!(svg.stdout.contains("<path d=\"M457 "), "{}", svg.stdout);
    let end = |rect: &str| {
        let number = |name: &str| {
            let (_, rest) = rect.split_once(&format!(" {name}=\""))?;
            rest.split_once('"')?.0.parse::<u64>().ok()
        };
        Some(number("x")? + number("width")?)
    };
    let ends = svg.stdout.lines().skip(2).filter_map(end);
    assert_eq!(ends.max(), Some(750), "{}", svg.stdout);
}

#[test]
fn options_say_what_is_trained() {
    let sandbox = Sandbox::new();
    sandbox.file("m/config.json", QWEN3_8B);
    let options = "--model m --gpus 4 --gpu-memory 80GiB --micro-batch 3 --grad-accum 5 --tuner lora --lora-rank 4 --lora-targets q_proj \
         --dtype fp16 --optimizer adafactor --seq-len 512 --gradient-checkpointing false";
    let report = json(&sandbox, &options.split_whitespace().collect::<Vec<_>>());
    let expected = serde_json::json!({"tuner": "lora", "dtype": "fp16", "optimizer": "adafactor", "micro_batch": 3, "seq_len": 512,
        "gradient_accumulation_steps": 5, "gradient_checkpointing": false, "eval_batch": null});
    assert_eq!(report["training"], expected);
    assert_eq!(report["trainable"], 36 * 4 * (4096 + 4096));
}

#[test]
fn a_new_architecture_does_not_fit_by_its_config_alone() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "m/config.json",
        QWEN3_8B.replace(r#""model_type": "qwen3""#, r#""model_type": "qwen99""#),
    );
    let words = "--model m --gpus 8 --gpu-memory 80GiB --host-memory 1TiB";
    let words: Vec<&str> = words.split(' ').collect();
    let report = json(&sandbox, &words);
    let why = report["uncounted"].as_str().unwrap();
    assert!(why.starts_with("its architecture is new"), "{why}");
    let report = json(&sandbox, &[&words[..], &["--params", "8B"]].concat());
    assert!(report["uncounted"].is_null(), "{report}");
}

/// As in the config of glm-4-9b-chat, whose weights have 9,399,951,360 numbers.
#[test]
fn older_glm_models_have_one_switch_for_a_bias() {
    let sandbox = Sandbox::new();
    let [with, without] = ["true", "false"].map(|bias| {
        let config = r#"{"model_type": "chatglm", "architectures": ["ChatGLMModel"], "hidden_size": 4096, "num_layers": 40, "ffn_hidden_size": 13696,
            "num_attention_heads": 32, "multi_query_attention": true, "multi_query_group_num": 2, "kv_channels": 128, "padded_vocab_size": 151552,
            "add_bias_linear": false, "tie_word_embeddings": false, "add_qkv_bias": BIAS}"#;
        sandbox.file("m/config.json", config.replace("BIAS", bias));
        json(&sandbox, &["--model", "m", "--gpus", "1", "--gpu-memory", "80GiB"])["params"].as_u64().unwrap()
    });
    // A query of 32 heads, and two groups of keys and values, of 128 each.
    assert_eq!(
        (with, with - without),
        (9_399_951_360, 40 * (32 + 2 + 2) * 128)
    );
}

#[test]
fn a_command_says_what_it_trains() {
    let sandbox = Sandbox::new();
    sandbox.file("m/config.json", QWEN3_8B);
    let report = |command: &str| {
        let words: Vec<&str> = [
            "--gpus",
            "4",
            "--gpu-memory",
            "80GiB",
            "--host-memory",
            "1TiB",
            "--",
        ]
        .into_iter()
        .chain(command.split(' '))
        .collect();
        json(&sandbox, &words)
    };
    let swift = report(
        "swift sft --model m --tuner_type lora --lora_rank 16 --target_modules q_proj v_proj --max_length 4096 --torch_dtype float16 --per_device_train_batch_size 2 --gradient_checkpointing false --optim adafactor",
    );
    // 36 layers, rank 16: q 4096 to 4096, v 4096 to 1024. ms-swift accumulates up to 16 sequences by itself, here 4 × 2.
    assert_eq!(swift["trainable"], 36 * 16 * (8192 + 5120));
    let expected = serde_json::json!({"tuner": "lora", "dtype": "fp16", "optimizer": "adafactor", "micro_batch": 2, "seq_len": 4096,
        "gradient_accumulation_steps": 2, "gradient_checkpointing": false, "eval_batch": null});
    assert_eq!(swift["training"], expected);
    sandbox.file(
        "lf.yaml",
        "model_name_or_path: m\nfinetuning_type: full\ncutoff_len: 1024\nbf16: true\noptim: adamw_8bit\n",
    );
    let factory = report("llamafactory-cli train lf.yaml");
    assert_eq!(factory["trainable"], factory["params"]);
    assert_eq!(
        (
            &factory["training"]["seq_len"],
            &factory["training"]["optimizer"]
        ),
        (&1024.into(), &"adamw_8bit".into())
    );
    let torchrun = report(
        "torchrun --nproc_per_node=4 train.py --model_name_or_path m --bf16 --gradient_checkpointing",
    );
    assert_eq!(
        (
            &torchrun["training"]["micro_batch"],
            &torchrun["training"]["gradient_checkpointing"]
        ),
        (&8.into(), &true.into())
    );
    // No sequence has 0 tokens.
    let none = report("swift sft --model m --max_length 0");
    assert!(
        none["assumed"]
            .to_string()
            .contains("2048 tokens per sequence"),
        "{}",
        none["assumed"]
    );
    // Adapters on quantised weights.
    let quantised = report("swift sft --model m --tuner_type lora --quant_bits 8");
    assert_eq!(quantised["training"]["tuner"], "qlora");
    let kto = report("swift rlhf --rlhf_type kto --model m");
    assert!(
        kto["assumed"].to_string().contains("as TRL computes it"),
        "{}",
        kto["assumed"]
    );
    let long = report("swift sft --model m --max_length 4096 --sequence_parallel_size 4");
    assert!(
        long["assumed"].to_string().contains("a part of a sequence"),
        "{}",
        long["assumed"]
    );
    // Our own option beats the command's.
    let ours = json(
        &sandbox,
        &[
            "--gpus",
            "1",
            "--seq-len",
            "128",
            "--",
            "swift",
            "sft",
            "--model",
            "m",
            "--max_length",
            "4096",
        ],
    );
    assert_eq!(ours["training"]["seq_len"], 128);
}

/// The names that front ends have for the same argument. A script may take any of them.
#[test]
fn an_argument_is_read_by_each_of_its_names() {
    let sandbox = Sandbox::new();
    sandbox.file("m/config.json", QWEN3_8B);
    sandbox.file(
        "train.py",
        "from transformers import HfArgumentParser, TrainingArguments\nparser = HfArgumentParser(TrainingArguments)\n",
    );
    let report = |more: &str| {
        let line = format!("--gpus 1 -- python train.py --model_name_or_path m {more}");
        json(&sandbox, &line.split_whitespace().collect::<Vec<_>>())
    };
    let rank_4 = 36 * 4 * (4096 + 4096);
    for (arguments, pointer, expected) in [
        (
            &[
                "--max_length 777",
                "--cutoff_len 777",
                "--max_seq_length 777",
                "--max_seq_len 777",
                "--sequence_len 777",
                "--model_max_length 777",
                "--block_size 777",
            ][..],
            "/training/seq_len",
            Value::from(777),
        ),
        (
            &[
                "--tuner_type lora",
                "--train_type lora",
                "--sft_type lora",
                "--finetuning_type lora",
                "--adapter lora",
                "--use_peft",
            ],
            "/training/tuner",
            "lora".into(),
        ),
        (
            &[
                "--adapter qlora",
                "--use_peft --quant_bits 8",
                "--use_peft --quantization_bit 4",
                "--use_peft --load_in_4bit",
                "--use_peft --load_in_8bit",
            ],
            "/training/tuner",
            "qlora".into(),
        ),
        (
            &[
                "--use_peft --lora_rank 4 --target_modules q_proj",
                "--use_peft --lora_r 4 --lora_target q_proj",
                "--use_peft --lora_r 4 --lora_target_modules q_proj",
            ],
            "/trainable",
            rank_4.into(),
        ),
        (
            &["--torch_dtype float16", "--dtype float16"],
            "/training/dtype",
            "fp16".into(),
        ),
        (
            &["--optim sgd", "--optimizer sgd"],
            "/training/optimizer",
            "sgd".into(),
        ),
        (
            &["--per_device_train_batch_size 3"],
            "/training/micro_batch",
            3.into(),
        ),
        (
            &["--gradient_accumulation_steps 5"],
            "/training/gradient_accumulation_steps",
            5.into(),
        ),
        (
            &[
                "--gradient_checkpointing",
                "--disable_gradient_checkpointing false",
            ],
            "/training/gradient_checkpointing",
            true.into(),
        ),
        (
            &[
                "--do_eval --per_device_eval_batch_size 3",
                "--eval_strategy steps --eval_batch_size 3",
                "--evaluation_strategy steps --eval_batch_size 3",
            ],
            "/training/eval_batch",
            3.into(),
        ),
    ] {
        let default = report("");
        for more in arguments {
            assert_eq!(report(more).pointer(pointer), Some(&expected), "{more}");
        }
        assert_ne!(default.pointer(pointer), Some(&expected), "{pointer}");
    }
    // These have no field of their own.
    let bytes = |more: &str| row(&report(more), "zero0")["gpu_bytes"].as_u64().unwrap();
    for eager in [
        "--attn_impl eager",
        "--attn_implementation eager",
        "--flash_attn disabled",
    ] {
        assert!(bytes(eager) > bytes(""), "{eager}");
    }
    for fused in [
        "--use_liger_kernel",
        "--enable_liger_kernel",
        "--liger_fused_linear_cross_entropy",
    ] {
        assert!(
            bytes(&format!("--use_peft {fused}")) < bytes("--use_peft"),
            "{fused}"
        );
    }
    for name in [
        "sequence_parallel_size",
        "sequence_parallel_degree",
        "context_parallel_size",
    ] {
        let assumed = report(&format!("--{name} 4"))["assumed"].to_string();
        assert!(
            assumed.contains("a part of a sequence"),
            "{name}: {assumed}"
        );
    }
}

/// Measured: an evaluation takes ten bytes per logit, on top of what lies on the GPU between two steps.
#[test]
fn the_fullest_moment_can_be_an_evaluation() {
    let sandbox = Sandbox::new();
    sandbox.file("m/config.json", QWEN3_8B);
    sandbox.file(
        "train.py",
        "from transformers import HfArgumentParser, TrainingArguments\nparser = HfArgumentParser(TrainingArguments)\n",
    );
    sandbox.file(
        "ax.yaml",
        "base_model: m\nmicro_batch_size: 3\nval_set_size: 0.05\nsequence_len: 2048\n",
    );
    sandbox.file(
        "lf.yaml",
        "model_name_or_path: m\neval_strategy: steps\npredict_with_generate: true\nper_device_train_batch_size: 1\n",
    );
    let words = |command: &str| {
        let line = format!(
            "--gpus 1 --gpu-memory 80GiB --host-memory 1TiB --tuner lora --seq-len 2048 -- {command}"
        );
        line.split(' ').map(str::to_string).collect::<Vec<_>>()
    };
    let report = |command: &str| {
        let words = words(command);
        json(
            &sandbox,
            &words.iter().map(String::as_str).collect::<Vec<_>>(),
        )
    };
    for (command, batch) in [
        (
            "python train.py --model_name_or_path m --eval_strategy steps",
            Some(8),
        ),
        (
            "python train.py --model_name_or_path m --eval_strategy epoch --per_device_eval_batch_size 2",
            Some(2),
        ),
        ("python train.py --model_name_or_path m --do_eval", Some(8)),
        (
            "python train.py --model_name_or_path m --eval_strategy no",
            None,
        ),
        ("swift sft --model m --val_dataset d", Some(1)),
        (
            "swift sft --model m --split_dataset_ratio 0.01 --per_device_eval_batch_size 4",
            Some(4),
        ),
        ("swift sft --model m --split_dataset_ratio 0", None),
        (
            "swift sft --model m --val_dataset d --eval_strategy no",
            None,
        ),
        ("axolotl train ax.yaml", Some(3)),
        ("llamafactory-cli train lf.yaml", Some(8)),
    ] {
        assert_eq!(
            report(command)["training"]["eval_batch"],
            batch.map_or(Value::Null, Value::from),
            "{command}"
        );
    }
    let base = "python train.py --model_name_or_path m --per_device_train_batch_size 1 --gradient_checkpointing true --bf16 true";
    let evaluated = format!("{base} --eval_strategy steps --per_device_eval_batch_size");
    let [four, eight] = [4, 8].map(|batch| report(&format!("{evaluated} {batch}")));
    let bytes = |report: &Value| row(report, "zero3")["gpu_bytes"].as_u64().unwrap();
    // A hidden state of 4,096 elements is there, too.
    assert_eq!(
        bytes(&eight) - bytes(&four),
        4 * 2048 * (10 * 151_936 + 2 * 4096)
    );
    assert_eq!(row(&eight, "zero3")["fullest_at"], "evaluation");
    assert_eq!(
        row(&eight, "zero3")["step_bytes"],
        row(&report(base), "zero3")["gpu_bytes"]
    );
    assert!(
        eight["assumed"]
            .to_string()
            .contains("keeps no logits for metrics"),
        "{}",
        eight["assumed"]
    );
    // LLaMA-Factory generates answers and computes no loss.
    assert!(bytes(&report("llamafactory-cli train lf.yaml")) < bytes(&eight) - (10 << 30));
    // The table names it, and what to do about it.
    let command = words(&format!("{evaluated} 32"));
    let command = command.iter().map(String::as_str).collect::<Vec<_>>();
    let run = fit(&sandbox, &command);
    for words in [
        "\nevaluation: ",
        " with ",
        ", and a step ",
        ": lower --per_device_eval_batch_size\n",
    ] {
        assert!(run.stdout.contains(words), "{words}: {}", run.stdout);
    }
    assert!(
        run.stdout
            .contains("\n  with an evaluation batch of 23: zero3_offload, "),
        "{}",
        run.stdout
    );
    assert_eq!(run.status, Some(1));
    // A launch is warned an hour before it would fail.
    let line = "check --nproc-per-node 1 --gpu-memory 32GiB --host-memory 1TiB --deepspeed zero2 -- swift sft --model m --dataset d \
                --val_dataset d --per_device_eval_batch_size 8 --max_length 2048";
    let check = sandbox.run(line.split_whitespace());
    for words in [
        "GiB on each GPU for evaluation: ",
        "help: an evaluation batch of 4: zero2",
    ] {
        assert!(
            format!("{}{}", check.stdout, check.stderr).contains(words),
            "{words}: {check:?}"
        );
    }
}

/// Measured with GRPO: the keys and values of all answers of a step are there at once, and at stage 3 all weights.
#[test]
fn the_fullest_moment_can_be_a_generation() {
    let sandbox = Sandbox::new();
    sandbox.file("m/config.json", QWEN3_8B);
    sandbox.file(
        "grpo.py",
        "from trl import GRPOConfig, TrlParser\nparser = TrlParser((GRPOConfig,))\n",
    );
    let words = |command: &str| {
        let line = format!("--gpus 8 --gpu-memory 80GiB --host-memory 1TiB -- {command}");
        line.split(' ').map(str::to_string).collect::<Vec<_>>()
    };
    let report = |command: &str| {
        let words = words(command);
        json(
            &sandbox,
            &words.iter().map(String::as_str).collect::<Vec<_>>(),
        )
    };
    let bytes = |command: &str, template: &str| {
        row(&report(command), template)["gpu_bytes"]
            .as_u64()
            .unwrap()
    };
    let base = "python grpo.py --model_name_or_path m --bf16 true --gradient_checkpointing true --output_dir o --max_prompt_length 1024 \
                --max_completion_length 2048 --per_device_train_batch_size 4";
    let grpo = report(&format!("{base} --gradient_accumulation_steps 16"));
    assert_eq!(grpo["training"]["seq_len"], 3072);
    assert_eq!(row(&grpo, "zero2")["fullest_at"], "generation");
    assert!(
        grpo["assumed"]
            .to_string()
            .contains("rewards that are computed without a GPU"),
        "{}",
        grpo["assumed"]
    );
    // 36 layers with 8 heads of 128 elements for keys and for values, and a copy of the keys of one layer.
    let of_answers = |steps: u64| bytes(&format!("{base} --steps_per_generation {steps}"), "zero2");
    assert_eq!(
        of_answers(32) - of_answers(16),
        16 * 4 * 3072 * (36 * 2 + 1) * 2 * 1024
    );
    let whole = bytes(&format!("{base} --steps_per_generation 16"), "zero3");
    let streamed = bytes(
        &format!("{base} --steps_per_generation 16 --ds3_gather_for_generation false"),
        "zero3",
    );
    assert!(whole > streamed + (8 << 30), "{whole} {streamed}");
    // Older versions of TRL keep a reference by default. Where weights are offloaded, so are its own.
    let short = format!("{base} --steps_per_generation 1");
    let host = |command: &str| {
        row(&report(command), "zero3_offload")["host_bytes"]
            .as_u64()
            .unwrap()
    };
    let [with, without] = ["0.04", "0"].map(|beta| format!("{short} --beta {beta}"));
    assert!(
        host(&with) > host(&without) + (15 << 30),
        "{} {}",
        host(&with),
        host(&without)
    );
    assert_eq!(bytes(&short, "zero2"), bytes(&without, "zero2"));
    sandbox.installed("trl", "0.18.0");
    assert_eq!(bytes(&short, "zero2"), bytes(&with, "zero2"));
    sandbox.installed("trl", "0.29.1");
    // A server generates elsewhere; vLLM on the same GPUs takes what nobody knows here.
    let served = format!("{base} --gradient_accumulation_steps 16 --use_vllm true --vllm_mode");
    assert_ne!(
        row(&report(&format!("{served} server")), "zero2")["fullest_at"],
        "generation"
    );
    sandbox.file("ppo.py", "from trl.experimental.ppo import PPOConfig\n");
    for command in [
        &format!("{served} colocate"),
        "swift rlhf --rlhf_type ppo --model m",
        "python ppo.py --model_name_or_path m --reward_model_path m",
        &format!("{base} --reward_model rm"),
    ] {
        let unknown = report(command);
        assert!(
            unknown["rows"]
                .as_array()
                .unwrap()
                .iter()
                .all(|row| row["fits"] != true),
            "{command}"
        );
        assert!(
            unknown["assumed"].to_string().contains("come on top"),
            "{command}: {}",
            unknown["assumed"]
        );
        let words = [
            "fit",
            "--gpu-memory",
            "80GiB",
            "--nproc-per-node",
            "8",
            "--",
        ];
        let text = sandbox
            .run([words.to_vec(), command.split(' ').collect()].concat())
            .stdout;
        assert!(
            text.contains("this run keeps models or generates text that zlaunch does not count"),
            "{command}: {text}"
        );
    }
    // The reference of a model that is trained whole is a second one; adapters have theirs in it. So is a reward model.
    let weights = |more: &str| {
        row(&report(&format!("{base}{more}")), "zero2")["parts"]["parameters"]
            .as_u64()
            .unwrap()
    };
    assert_eq!(weights(" --beta 0.04"), 2 * weights(""));
    assert_eq!(
        weights(" --beta 0.04 --use_peft true"),
        weights(" --use_peft true")
    );
    sandbox.file("rm/config.json", QWEN3_8B);
    assert_eq!(weights(" --reward_model rm"), 2 * weights(""));
    // PPO trains a value model like its reward model, and recomputes nothing. Of 16 sequences on 8 GPUs each has 2, whose logits it keeps.
    let of_swift = |more: &str| {
        report(&format!(
            "swift rlhf --model m --tuner_type full --max_length 512 {more}"
        ))
    };
    let parts = |report: &Value| {
        row(report, "zero2")["parts"]["parameters"]
            .as_u64()
            .unwrap()
    };
    let ppo = of_swift("--rlhf_type ppo --reward_model rm");
    assert_eq!(parts(&ppo), 4 * weights(""));
    assert_eq!(ppo["training"]["gradient_checkpointing"], false);
    assert_eq!(ppo["training"]["gradient_accumulation_steps"], 2);
    let logits = |tokens: u64| {
        let command = format!("--rlhf_type ppo --reward_model rm --max_completion_length {tokens}");
        row(&of_swift(&command), "zero2")["parts"]["logits"]
            .as_u64()
            .unwrap()
    };
    assert_eq!(logits(1024) - logits(512), 512 * 151_936 * (2 * 4 + 2 * 2));
    assert_eq!(
        parts(&of_swift("--rlhf_type gkd --teacher_model rm")),
        2 * weights("")
    );
    // ms-swift compares with a reference unless it is told not to, and answers with up to 512 tokens.
    let swift = |more: &str| {
        report(&format!(
            "swift rlhf --rlhf_type grpo --model m --tuner_type full{more}"
        ))
    };
    let swift_weights = |more: &str| {
        row(&swift(more), "zero2")["parts"]["parameters"]
            .as_u64()
            .unwrap()
    };
    assert_eq!(swift_weights(""), 2 * swift_weights(" --beta 0"));
    assert_eq!(swift("")["training"]["seq_len"], 1024);
    assert!(
        swift("")["assumed"]
            .to_string()
            .contains("prompts of 512 tokens before answers of 512")
    );
    let line = format!("{base} --gradient_accumulation_steps 64");
    let line = words(&line);
    let run = fit(
        &sandbox,
        &line.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    assert!(
        run.stdout.contains("\ngeneration: ")
            && run
                .stdout
                .contains(": lower --steps_per_generation, or the batch size\n"),
        "{}",
        run.stdout
    );
}

/// A training that fits only without DeepSpeed does fit; so may one that is tight.
#[test]
fn the_answer_follows_the_table() {
    let sandbox = Sandbox::new();
    sandbox.file("m/config.json", QWEN3_8B);
    let base = [
        "--model",
        "m",
        "--gpus",
        "1",
        "--host-memory",
        "32GiB",
        "--seq-len",
        "512",
        "--gpu-memory",
    ];
    for (memory, says, status) in [
        ("90GiB", "\nno template fits\n", 0),
        ("64GiB", "\nno template fits with a margin\n", 0),
        ("40GiB", "\nno template fits\n", 1),
    ] {
        let run = fit(&sandbox, &[&base[..], &[memory]].concat());
        assert!(
            run.stdout.contains(says) && run.stdout.contains("\nno DeepSpeed "),
            "{memory}: {}",
            run.stdout
        );
        assert_eq!(run.status, Some(status), "{memory}");
    }
}

#[test]
fn quantised_weights_and_fused_losses_need_less() {
    let sandbox = Sandbox::new();
    let gpu = |more: &[&str]| {
        let base = ["--params", "8B", "--gpus", "1", "--seq-len", "8192"];
        let report = json(&sandbox, &[&base[..], more].concat());
        row(&report, "zero0")["gpu_bytes"].as_u64().unwrap()
    };
    let (full, lora, qlora) = (
        gpu(&[]),
        gpu(&["--tuner", "lora"]),
        gpu(&["--tuner", "qlora"]),
    );
    assert!(
        full > 4 * lora && lora > qlora + (8 << 30),
        "{full} {lora} {qlora}"
    );
    assert_eq!(qlora, gpu(&["--quant-bits", "4"]));
    assert!(gpu(&["--tuner", "lora", "--fused-loss"]) < lora);
    assert!(gpu(&["--tuner", "lora", "--attention", "eager"]) > lora);
    assert!(gpu(&["--optimizer", "adamw_8bit"]) < full);
    assert!(gpu(&["--tuner", "lora", "--gradient-checkpointing", "false"]) > lora);
    sandbox
        .run([
            "fit",
            "--params",
            "8B",
            "--gpus",
            "1",
            "--tuner",
            "full",
            "--quant-bits",
            "4",
        ])
        .refused(&["--tuner qlora"]);
}

/// A hundred files: the headers alone are read.
#[test]
fn parameters_are_counted_by_the_headers_of_safetensors() {
    let sandbox = Sandbox::new();
    sandbox.file("big/config.json", QWEN3_8B);
    let mut map = serde_json::Map::new();
    for file in 0..100 {
        let name = format!("model-{file:05}.safetensors");
        let header = format!(
            r#"{{"t{file}": {{"dtype": "BF16", "shape": [1000, 80000], "data_offsets": [0, 160000000]}}}}"#
        );
        sandbox.file(&format!("big/{name}"), safetensors(&header));
        map.insert(format!("t{file}"), name.into());
    }
    sandbox.file(
        "big/model.safetensors.index.json",
        serde_json::json!({"weight_map": map}).to_string(),
    );
    let report = json(&sandbox, &["--model", "big", "--gpus", "1"]);
    assert_eq!(report["params"], 8_000_000_000_u64);
    assert_eq!(
        report["params_from"],
        "the headers of 100 safetensors files"
    );
    sandbox.file("big/model-00003.safetensors", "version https://git-lfs");
    fit(&sandbox, &["--model", "big", "--gpus", "1"])
        .refused(&["model-00003.safetensors", "Git LFS"]);
}

#[test]
fn one_file_or_the_files_of_an_index_are_counted() {
    let sandbox = Sandbox::new();
    sandbox.file("m/config.json", QWEN3_8B);
    let weights = |name: &str, header: &str| {
        sandbox.file(&format!("m/{name}.safetensors"), safetensors(header))
    };
    let counted = || {
        let report = json(&sandbox, &["--model", "m", "--gpus", "1"]);
        (
            report["params"].as_u64().unwrap(),
            report["params_from"].as_str().unwrap().to_string(),
        )
    };
    // A scalar is one parameter, and the scales of fp8 weights are none.
    weights(
        "model",
        r#"{"__metadata__": {"format": "pt"}, "a": {"dtype": "BF16", "shape": [16, 8], "data_offsets": [0, 256]},
            "b": {"dtype": "F32", "shape": [], "data_offsets": [256, 260]},
            "a_scale_inv": {"dtype": "F32", "shape": [9], "data_offsets": [260, 296]}}"#,
    );
    assert_eq!(
        counted(),
        (129, "the headers of 1 safetensors file".to_string())
    );
    let index = r#"{"metadata": {"total_size": 1}, "weight_map": {"p": "x-1.safetensors", "q": "x-2.safetensors", "r": "x-1.safetensors"}}"#;
    sandbox.file("m/model.safetensors.index.json", index);
    // In the second case several weights share one stored number, and the config counts.
    for (dtype, params, from) in [
        ("BF16", 35, "the headers of 2 safetensors files"),
        ("U8", 8_190_735_360, "config.json"),
    ] {
        for (name, rows) in [("x-1", 3), ("x-2", 4)] {
            weights(
                name,
                &format!(r#"{{"w": {{"shape": [{rows}, 5], "dtype": "{dtype}"}}}}"#),
            );
        }
        assert_eq!(counted(), (params, from.to_string()));
    }
    for bytes in [
        &b"\xff\xff\xff\xff\xff\xff\xff\x7f"[..],
        b"",
        b"\x02\0\0\0\0\0\0\0[]",
        b"\x02\0\0\0\0\0\0\0{",
    ] {
        sandbox.file("m/x-1.safetensors", bytes);
        fit(&sandbox, &["--model", "m", "--gpus", "1"]).refused(&["x-1.safetensors"]);
    }
}

#[test]
fn what_cannot_be_known_is_asked_for() {
    let sandbox = Sandbox::new();
    fit(&sandbox, &[]).refused(&["no model", "--params 8B"]);
    fit(&sandbox, &["--params", "8B"]).refused(&["the number of GPUs is unknown", "--gpus N"]);
    fit(&sandbox, &["--gpus", "1"]).refused(&["no model", "--params 8B"]);
    fit(&sandbox, &["--gpus", "1", "--model", "a/b"]).refused(&["a/b", "neither a folder nor"]);
    fit(&sandbox, &["--gpus", "1", "--params", "8Q"]).refused(&["8Q", "as in `8B`"]);
    fit(
        &sandbox,
        &["--params", "8B", "--gpus", "1", "--gpu-memory", "much"],
    )
    .refused(&["as in `80GiB`"]);
    fit(
        &sandbox,
        &["--params", "8B", "--gpus", "1", "--dtype", "bfloat1"],
    )
    .refused(&["did you mean `bfloat16`"]);
    let run = fit(&sandbox, &["--params", "8B", "--gpus", "1"]);
    run.succeeded();
    assert!(
        run.stdout.contains("unknown: --gpu-memory 80GiB"),
        "{}",
        run.stdout
    );
}

#[test]
fn impossible_sizes_are_refused() {
    let sandbox = Sandbox::new();
    let most = "4294967295";
    sandbox.file("words/config.json", QWEN3_8B.replace("151936", "268435456"));
    for words in [
        &["--params", "99999T", "--gpus", "8"][..],
        &[
            "--params",
            "8B",
            "--gpus",
            "8",
            "--seq-len",
            most,
            "--micro-batch",
            most,
        ],
        &["--params", "8B", "--gpus", "8", "--nnodes", most],
        // Only the logits of so many words are too large.
        &[
            "--model",
            "words",
            "--gpus",
            "8",
            "--seq-len",
            "8",
            "--micro-batch",
            "40000000",
        ],
    ] {
        fit(&sandbox, words).refused(&["too large for any run", "shorter sequences"]);
    }
    sandbox.file(
        "wide/config.json",
        QWEN3_8B.replace("4096", "4611686018427387904"),
    );
    fit(&sandbox, &["--model", "wide", "--gpus", "8"])
        .refused(&["cannot be computed", "--params SIZE"]);
    // Fewer parameters than the embedding of its config has.
    sandbox.file("m/config.json", QWEN3_8B);
    let small = json(
        &sandbox,
        &[
            "--model", "m", "--params", "1M", "--tuner", "qlora", "--gpus", "1",
        ],
    );
    assert!(
        row(&small, "zero2")["parts"]["parameters"]
            .as_u64()
            .unwrap()
            < 1 << 30,
        "{small}"
    );
}

const AUTO: &[&str] = &["--deepspeed", "auto", "--nproc-per-node", "8"];

fn swift<'a>(model: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [
        &[
            "swift",
            "sft",
            "--tuner_type",
            "full",
            "--max_length",
            "2048",
            "--per_device_train_batch_size",
            "1",
            "--model",
            model,
        ],
        more,
    ]
    .concat()
}

/// 8B on eight GPUs needs 36.7 GiB on each with zero2. Where a setting is not given, nobody knows, unless no value of it would do.
#[test]
fn a_launch_is_told_what_it_lacks() {
    let sandbox = Sandbox::new();
    sandbox.file("m/config.json", QWEN3_8B);
    let given = "--max_length 2048 --per_device_train_batch_size 1";
    let short = "on each GPU: this run will run out of memory";
    for (options, more, says) in [
        ("--gpu-memory 30GiB --deepspeed zero2", given, format!("warning[memory-short]: zero2 needs about 36.7 GiB {short}")),
        ("--gpu-memory 30GiB --host-memory 1TiB --deepspeed zero2", given, "help: --deepspeed zero3".to_string()),
        ("--gpu-memory 38GiB --deepspeed zero2", given, String::new()),
        (
            "--gpu-memory 24GiB --host-memory 32GiB --deepspeed zero3_offload",
            given,
            "GiB of host memory on each machine: this run will run out of memory".to_string(),
        ),
        (
            "--gpu-memory 45GiB --deepspeed zero2",
            "--per_device_train_batch_size 32",
            "this run may run out of memory\n  --> GPUs of 45.0 GiB (--gpu-memory)\n  --> assumed: 2048 tokens per sequence\n  \
             help: --seq-len NUMBER (the length of the sequences)"
                .to_string(),
        ),
        ("--gpu-memory 20GiB --deepspeed zero2", "--per_device_train_batch_size 32", short.to_string()),
    ] {
        let line = format!("check --nproc-per-node 8 {options} -- swift sft --model m --dataset d --tuner_type full {more}");
        let run = sandbox.run(line.split(' '));
        let is_said = if says.is_empty() { !run.stdout.contains("memory-short") } else { run.stdout.contains(&says) };
        assert!(is_said && run.status == Some(0), "{line}: {run:?}");
    }
}

/// `fits` counts on expandable segments where zlaunch would set them for the command.
#[test]
fn the_margin_follows_from_what_the_command_gets() {
    for (variable, more, is_small) in [
        ("CUDA_VISIBLE_DEVICES", "", true),
        ("HIP_VISIBLE_DEVICES", "", false),
        ("ROCR_VISIBLE_DEVICES", "", false),
        ("CUDA_VISIBLE_DEVICES", " --use_vllm true", false),
    ] {
        let mut sandbox = Sandbox::new();
        sandbox.file("m/config.json", QWEN3_8B);
        sandbox.var(variable, "0,1");
        let line = format!("--gpus 2 --gpu-memory 80GiB -- swift sft --model m{more}");
        let report = json(&sandbox, &line.split(' ').collect::<Vec<_>>());
        let percent = gaps(row(&report, "zero2"));
        assert_eq!(percent, if is_small { 5 } else { 30 }, "{variable}{more}");
    }
}

/// What is trained, in a line; and what the config that is named lacks, in another.
#[test]
fn the_report_says_what_it_is_about() {
    let sandbox = Sandbox::new();
    let base = ["--params", "8B", "--gpus", "5", "--gpu-memory", "44GB"];
    for (options, says) in [
        (
            "--tuner full",
            "\ntrains   all parameters, bf16, adamw, 1 × 2048 tokens, gradient checkpointing\n",
        ),
        (
            "--tuner lora --lora-rank 16",
            "\ntrains   LoRA of rank 16, 43.65 M, bf16,",
        ),
        (
            "--tuner qlora",
            "\ntrains   LoRA of rank 8 on 4 bits, 21.82 M, bf16,",
        ),
        ("--micro-batch 4 --seq-len 4096", " 4 × 4096 tokens,"),
        (
            "--gradient-checkpointing false",
            ", no gradient checkpointing\n",
        ),
        (
            "--nnodes 2",
            "\non       2 machines, each 5 GPUs of 41.0 GiB ",
        ),
        (
            "--host-memory 64GiB",
            "\non       5 GPUs of 41.0 GiB and host memory of 64.0 GiB\n",
        ),
        (
            "--accounting textbook --deepspeed zero3",
            "\nuse zero2: the fastest template that fits\n",
        ),
        (
            "--deepspeed zero3_offload --host-memory 64GiB",
            " GiB short (host)\n",
        ),
        ("--deepspeed zero1", "\nzero1 does not fit: "),
    ] {
        let run = fit(
            &sandbox,
            &[&base, &options.split(' ').collect::<Vec<_>>()[..]].concat(),
        );
        assert!(run.stdout.contains(says), "{options}: {}", run.stdout);
    }
}

/// GPUs that are described may stand in another machine than this one.
#[test]
fn the_host_memory_of_described_gpus_is_described() {
    let sandbox = Sandbox::new();
    let small = r#"{"model_type": "llama", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 2,
        "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 1000}"#;
    sandbox.file("m/config.json", small);
    let options = [
        "--deepspeed",
        "auto",
        "--nproc-per-node",
        "1",
        "--gpu-memory",
        "2200MiB",
    ];
    let command = swift("m", &[]);
    sandbox
        .launch(&options, &command)
        .refused(&["the host memory is unknown"]);
    let much = [&options[..], &["--host-memory", "1TiB"]].concat();
    assert_eq!(
        sandbox.plan(&much, &command)["template"]["name"],
        "zero3_offload"
    );
    let little = [&options[..], &["--host-memory", "1GiB"]].concat();
    sandbox
        .launch(&little, &command)
        .refused(&["no template fits this run"]);
    // No machine has the memory in which 512 ranks load this model; the one that is described may have it.
    sandbox.file("m/config.json", QWEN3_8B);
    let described = [
        "--deepspeed",
        "auto",
        "--nproc-per-node",
        "512",
        "--gpu-memory",
        "80GiB",
    ];
    assert_eq!(
        sandbox.plan(&described, &swift("m", &["--tuner_type", "full"]))["template"]["name"],
        "zero1"
    );
    let small = [
        "--deepspeed",
        "auto",
        "--nproc-per-node",
        "512",
        "--gpu-memory",
        "8806MiB",
    ];
    sandbox
        .launch(&small, &swift("m", &["--tuner_type", "full"]))
        .refused(&["the host memory is unknown"]);
}

/// Stage 3 gathers parameters, and pairs of answers have logits of many sizes.
#[test]
fn what_is_left_for_gaps_depends_on_the_tensors_that_come_and_go() {
    let sandbox = Sandbox::new();
    sandbox.file("m/config.json", QWEN3_8B);
    for (kind, zero1, zero3) in [
        ("sft", 5, 9),
        ("rlhf --rlhf_type dpo", 9, 9),
        ("rlhf --rlhf_type rm", 5, 9),
    ] {
        let line =
            format!("--gpus 4 --gpu-memory 80GiB -- swift {kind} --model m --tuner_type full");
        let report = json(&sandbox, &line.split(' ').collect::<Vec<_>>());
        let seen = ["zero1", "zero3"].map(|name| gaps(row(&report, name)));
        assert_eq!(seen, [zero1, zero3], "{kind}");
    }
}

#[test]
fn auto_takes_the_fastest_that_fits_and_says_so_in_a_line() {
    let mut sandbox = Sandbox::new();
    sandbox.file("m/config.json", QWEN3_8B);
    sandbox.var("ZLAUNCH_HOST_MEMORY", "1TiB");
    for (memory, name) in [
        ("80GiB", "zero1"),
        ("48GiB", "zero2"),
        ("32GiB", "zero3"),
        ("24GiB", "zero3_offload"),
    ] {
        sandbox.var("ZLAUNCH_GPU_MEMORY", memory);
        let plan = sandbox.plan(AUTO, &swift("m", &[]));
        assert_eq!(plan["template"]["name"], name, "{memory}");
        assert!(
            plan["template"]["chosen"]
                .as_str()
                .unwrap()
                .starts_with(&format!("{name} needs about"))
        );
        let run = sandbox.launch(AUTO, &swift("m", &[]));
        assert_eq!(
            (run.status, run.stderr.lines().count()),
            (Some(0), 1),
            "{run:?}"
        );
        assert!(run.stderr.starts_with(name), "{}", run.stderr);
    }
    let quiet: Vec<&str> = AUTO.iter().chain(&["-q"]).copied().collect();
    assert_eq!(sandbox.launch(&quiet, &swift("m", &[])).stderr, "");
    // The trainer's own argument may say it too.
    let own = sandbox.plan(
        &["--nproc-per-node", "8"],
        &swift("m", &["--deepspeed", "auto"]),
    );
    assert_eq!(own["template"]["name"], "zero3_offload");
    // A site's own zero1 is the one that is taken.
    sandbox.var("ZLAUNCH_GPU_MEMORY", "80GiB");
    sandbox.file(
        "t/zero1.json",
        r#"{"$zlaunch": {"extends": "zero1"}, "steps_per_print": 7}"#,
    );
    let options: Vec<&str> = AUTO
        .iter()
        .chain(&["--template-dir", "t"])
        .copied()
        .collect();
    assert_eq!(
        sandbox.plan(&options, &swift("m", &[]))["config"]["steps_per_print"],
        7
    );
}

#[test]
fn auto_refuses_with_the_table_when_it_cannot_know() {
    let mut sandbox = Sandbox::new();
    sandbox.file("m/config.json", QWEN3_8B);
    sandbox.launch(AUTO, &swift("m", &[])).refused(&[
        "zero3_offload needs ",
        "on each GPU",
        "--gpu-memory SIZE",
    ]);
    sandbox
        .var("ZLAUNCH_GPU_MEMORY", "80GiB")
        .var("ZLAUNCH_HOST_MEMORY", "1TiB");
    sandbox
        .launch(AUTO, &swift("Qwen/Qwen3-8B", &[]))
        .refused(&[
            "neither a folder nor",
            "help: modelscope download --model Qwen/Qwen3-8B config.json, or give the number of its parameters",
        ]);
    sandbox
        .launch(AUTO, &["swift", "sft", "--tuner_type", "full"])
        .refused(&["names no model", "--model"]);
    sandbox
        .launch(
            AUTO,
            &["swift", "rlhf", "--rlhf_type", "ppo", "--model", "m"],
        )
        .refused(&["zlaunch does not count"]);
    sandbox.var("ZLAUNCH_GPU_MEMORY", "8GiB");
    sandbox
        .launch(AUTO, &swift("m", &[]))
        .refused(&["no template fits this run", "a fused loss"]);
    assert!(!sandbox.executed());
}

/// Its gaps are small with expandable segments, which zlaunch sets unless a variable says something about the allocator. A
/// template's `max_split_size_mb` keeps torch from them; a variable of the user's wins over it.
#[test]
fn a_template_is_judged_by_the_allocator_that_is_used() {
    let (old, new) = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF");
    let expandable = "expandable_segments:True";
    for (variables, template, has_small_gaps) in [
        (&[][..], "zero3", true),
        (&[(old, "max_split_size_mb:64")], "zero3", false),
        (&[(new, "expandable_segments:False")], "zero3", false),
        (&[(old, ""), (new, expandable)], "zero3", false),
        (
            &[(old, "max_split_size_mb:64, expandable_segments: True")],
            "zero3",
            true,
        ),
        (&[], "zero3_lowmem", false),
        (&[(old, expandable)], "zero3_lowmem", true),
    ] {
        let mut sandbox = Sandbox::new();
        for (name, value) in variables {
            sandbox.var(name, value);
        }
        let report = json(
            &sandbox,
            &["--gpus", "2", "--params", "8B", "--deepspeed", template],
        );
        let row = row(&report, template);
        let percent =
            row["fits_from_bytes"].as_u64().unwrap() * 100 / row["gpu_bytes"].as_u64().unwrap();
        assert_eq!(
            (percent < 110, percent > 120),
            (has_small_gaps, !has_small_gaps),
            "{variables:?} {template}"
        );
    }
}

/// A published model is as large as its config says; a number in another name leads to no verdict but that it is too large.
#[test]
fn a_name_is_known_or_no_count() {
    let sandbox = Sandbox::new();
    let report = |name: &str| {
        let gpu = ["--gpu", "H100x8", "--host-memory", "1TiB"];
        json(&sandbox, &[&gpu[..], &["--model", name]].concat())
    };
    for (name, size) in [
        ("Qwen/Qwen3-8B", 8_190_735_360_u64),
        ("qwen/qwen2.5-0.5b-instruct", 494_032_768),
        ("/models/Qwen3-30B-A3B-Thinking-2507", 30_532_122_624),
        ("meta-llama/Llama-2-7b-hf", 6_738_415_616),
        ("allenai/OLMoE-1B-7B-0924", 6_919_161_856),
        ("Qwen/Qwen2.5-VL-7B-Instruct", 8_292_166_656),
        ("deepseek-ai/DeepSeek-V3-0324", 671_026_404_352),
    ] {
        let report = report(name);
        assert_eq!(report["params"], size, "{name}");
    }
    assert_eq!(report("Qwen/Qwen3-8B")["recommended"], "zero1");
    for (name, size) in [
        ("HuggingFaceTB/SmolLM-135M", 135_000_000_u64),
        ("Qwen/Qwen3-8B-AWQ", 8_000_000_000),
        ("someone/Qwen3-8B.5", 0),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", 107_769_861_120),
    ] {
        if size == 0 {
            fit(&sandbox, &["--gpus", "1", "--model", name]).refused(&["neither a folder nor"]);
            continue;
        }
        let report = report(name);
        assert_eq!(
            (&report["params"], &report["recommended"]),
            (&size.into(), &Value::Null)
        );
        assert!(report["uncounted"].is_string(), "{name}");
        let mut rows = report["rows"].as_array().unwrap().iter();
        assert!(rows.all(|row| row["fits"] != true), "{name}");
    }
    // What is too large already does not fit, whatever comes on top.
    for (machine, says) in [
        ("--gpu H200x8 --host-memory 4TiB", "for certain: only"),
        ("--gpu 4090x2", "for certain: only"),
        ("--gpu 4090x2 --host-memory 64GiB", "for certain: only"),
    ] {
        let words = format!("{machine} --model meta-llama/Llama-4-Scout-17B-16E");
        let run = fit(&sandbox, &words.split(' ').collect::<Vec<_>>());
        assert!(run.stdout.contains(says), "{run:?}");
    }
    let run = fit(&sandbox, &["--gpu", "H100", "--model", "a/B-1B"]);
    let why = "for certain: a number in a name is no count: hf download a/B-1B config.json";
    assert!(run.status == Some(0) && run.stdout.contains(why), "{run:?}");
    fit(&sandbox, &["--gpus", "1", "--model", "a/gpt"]).refused(&["a/gpt", "neither a folder nor"]);
}

/// ms-swift freezes the tower unless it is told otherwise, TRL trains it, and what LLaMA-Factory keeps of a frozen one is not known.
#[test]
fn a_vision_tower_is_counted() {
    let sandbox = Sandbox::new();
    let config = r#"{"model_type": "qwen2_5_vl", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
        "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064, "tie_word_embeddings": false,
        "vision_config": {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16, "in_chans": 3,
        "patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2, "MORE": 0}}"#;
    sandbox.file("vl/config.json", config);
    let other = config.replace("qwen2_5_vl", "other_vl");
    sandbox.file("other/config.json", other);
    let report = |command: &str| {
        let words = format!("--gpu H100x8 --host-memory 1TiB -- {command} --max_length 2048");
        json(&sandbox, &words.split(' ').collect::<Vec<_>>())
    };
    let (language, tower, projector) = (7_615_616_512_u64, 631_975_680_u64, 44_574_464_u64);
    let swift = "swift sft --model vl --tuner_type full";
    let trainable = [
        (swift.to_string(), language),
        (format!("{swift} --freeze_vit false"), language + tower),
        (
            format!("{swift} --freeze_aligner false"),
            language + projector,
        ),
        (
            "trl sft --model_name_or_path vl".to_string(),
            language + tower + projector,
        ),
    ];
    let activations = |report: &Value| {
        row(report, "zero0")["parts"]["activations"]
            .as_u64()
            .unwrap()
    };
    for (command, expected) in trainable {
        let report = report(&command);
        assert_eq!(report["params"], language + tower + projector);
        assert_eq!(
            (&report["trainable"], &report["uncounted"]),
            (&expected.into(), &Value::Null),
            "{command}"
        );
    }
    let [frozen, trained] = ["true", "false"].map(|freeze| {
        let more = format!("{swift} --freeze_vit {freeze} --gradient_checkpointing false");
        activations(&report(&more))
    });
    assert!(trained > frozen, "{trained} {frozen}");
    for command in [
        "llamafactory-cli train --stage sft --model_name_or_path vl --finetuning_type full",
        "swift sft --model other --tuner_type full",
        "swift sft --model vl --tuner_type full --freeze_llm true --freeze_vit false",
    ] {
        let report = report(command);
        assert!(
            report["uncounted"].is_string() && report["recommended"].is_null(),
            "{command}"
        );
    }
}

/// They are loaded whole, and bitsandbytes holds on to what stage 3 gathers of them.
#[test]
fn quantised_weights_are_whole_on_every_gpu() {
    let report = |tuner: &str| {
        let words = format!("--params 70B --tuner {tuner} --gpu-memory 24GiB --gpus 8");
        json(&Sandbox::new(), &words.split(' ').collect::<Vec<_>>())
    };
    let quantised = report("qlora");
    let zero3 = row(&quantised, "zero3");
    assert_eq!(zero3["fits"], false);
    let whole = row(&quantised, "zero2")["parts"]["parameters"].as_u64();
    assert!(zero3["step_bytes"].as_u64() > whole, "{zero3} {whole:?}");
    assert_ne!(row(&report("lora"), "zero3")["fullest_at"], "loading");
}

#[test]
fn old_gpus_emulate_bf16() {
    for (words, says) in [
        ("--gpu V100x8", true),
        ("--gpu V100x8 --dtype fp16", false),
        ("--gpu A100x8", false),
    ] {
        let words = format!("--params 1B {words}");
        let run = fit(&Sandbox::new(), &words.split(' ').collect::<Vec<_>>());
        assert_eq!(
            run.stdout.contains("bf16, which V100 only emulates"),
            says,
            "{run:?}"
        );
    }
}

#[test]
fn numbers_of_parameters_are_short() {
    for (number, text) in [
        ("8190.7353M", "8.19 B"),
        ("8B", "8.00 B"),
        ("671.03B", "671.03 B"),
        ("40.37M", "40.37 M"),
        ("10M", "10.00 M"),
    ] {
        let run = fit(&Sandbox::new(), &["--gpus", "1", "--params", number]);
        assert!(
            run.stdout
                .starts_with(&format!("model    {text} parameters (--params)")),
            "{}",
            run.stdout
        );
    }
}
