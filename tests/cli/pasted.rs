//! What an answer suggests is pasted: the user's own line, corrected. It keeps every option, `-n` above all, its problem is gone, and nothing is started.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::sandbox::{Run, Sandbox, Share, side_by_side};

const TRAIN: &str = "swift sft --model Qwen/Qwen3-8B --tuner_type full";
const OURS: &str = "-n --format json --nproc-per-node 2";

/// Options that are misspelt in several ways, each with a value.
const MISSPELT: &[&str] = &[
    "--deepspeed zero2",
    "--template-dir .",
    "--set bf16.enabled=true",
    "--unset zero_optimization",
    "--no-fill",
    "--gpu-memory 80GiB",
    "--host-memory 1TiB",
    "--nnodes 1",
    "--node-rank 0",
    "--master-addr localhost",
    "--master-port 29511",
    "--launcher torchrun",
    "--launcher-arg --max-restarts=1",
    "--trainer swift",
    "--env A=b",
    "--unset-env A",
    "--record records",
    "--strict",
    "--allow two-configs",
    "--verbose",
];

/// What other tools call options, and what they are called here, by front end.
const OTHER_NAMES: &[(&str, &str)] = &[
    (
        "swift sft --model m/m",
        "lr=1e-5 batch_size=4 bs=2 epochs=3 num_epochs=1 grad_accum=4  max_seq_length=512 seq_len=512 cutoff_len=99 bfloat16=true warmup=10 \
     wd=0.1 grad_clip=1.0 clip_grad=1.0 finetuning_type=lora  lora_target=all-linear base_model=m/m lr_scheduler=cosine log_interval=5 \
     save_interval=100 num_workers=4 evaluation_strategy=no data_path=d/d grad_checkpointing=true random_seed=1 per_device_train_bs=1 \
     per_device_bs=1 grad_accum_steps=4 accum_steps=4 gradient_accum_steps=4 train_epochs=1 max_train_steps=9 \
     neftune_alpha=5 deepspeed_file=zero2 deepspeed_path=zero2 deepspeed_config_path=zero2 use_flash_attention_2=true",
    ),
    (
        "swift rlhf --rlhf_type kto --model m/m --dataset d/d",
        "kto_beta=0.1 simpo_beta=0.1",
    ),
    (
        "trl sft --model_name_or_path m/m --dataset_name d/d",
        "lr=1e-5 batch_size=4 epochs=3 grad_accum=4 max_seq_length=512 cutoff_len=99 wd=0.1 grad_clip=1.0 optimizer=adamw_torch \
     lr_scheduler=cosine num_workers=4 grad_checkpointing=true",
    ),
];

/// Options of ours that stand behind the command.
const BEHIND: &[&str] = &[
    "--set zero_optimization.stage=3",
    "--nnodes 1",
    "--env A=b",
    "--launcher torchrun",
    "--template-dir .",
    "--no-fill",
    "--unset gradient_clipping",
    "--config-out resolved.json",
    "--trainer swift",
];

/// Values that are wrong, in front of the command and behind it.
const VALUES: &[&str] = &[
    "--deepspeed zero22",
    "--deepspeed zreo2",
    "--deepspeed zero-3",
    "--deepspeed stage2",
    "--deepspeed zero3_ofload",
    "--deepspeed zero2.jsn",
    "--deepspeed z4",
    "--deepspeed zero_0",
    "--deepspeed zero_1",
    "--deepspeed zero_2",
    "--deepspeed zero_stage0",
    "--deepspeed zero_stage1",
    "--deepspeed zero_stage2",
    "--deepspeed zero_stage3",
    "--deepspeed ds_zero0",
    "--deepspeed ds_zero1",
    "--deepspeed z2_offload",
    "--deepspeed ds_z0_config",
    "--deepspeed-template zero2",
    "--ngpus 2",
    "--setenv A=b",
    "--set zero_optimization.offload_optimizer.device=ram",
    "--set gradient_accumulation=8",
    "--set gradient_clip=1.0",
    "--set grad_clipping=1.0",
    "--set gradient_clipping_norm=1.0",
    "--set zero_optimization.offload_optimizer.pin_mem=true",
    "--set zero_optimization.stage=three",
    "--set zero_optimization.stage=\"2\"x",
    "--set zero_optimization.reduce_bucket_size=200M",
    "--set zero_optimization.overlap_comm=ture",
    "--set zero_optimization.reduce_bucket_size=5,000",
    "--set stage=3",
    "--set zero.stage=3",
    "--set zero_optimization/stage=3",
    "--set reduce_bucket_size=200M",
    "--set bf16=True",
    "--set zero_optimization.stage=3,bf16.enabled=true",
    "--seq-len 4k",
    "--set offload_optimizer.device=cpu",
    "--set zero_optimization.overlapp_comm=true",
    "--set zero_optimization.offload_optimizer.device=gpu",
    "--launcher torch",
    "--launcher slurm",
    "--trainer transformers",
    "--nnodes 1:2",
    "--nproc-per-node two",
    "--gpu-memory 80",
    "--gpu-memory 80gigs",
    "--allow given-twce",
    "--format jsno",
    "--env A",
    "--set a",
];
const ARGUMENTS: &[&str] = &[
    "--bf16 flase",
    "--fp16 off",
    "--lr_scheduler_type cos",
    "--lr_scheduler_type lin",
    "--lr_scheduler_type liner",
    "--optim adafacter",
    "--save_strategy step",
    "--max_steps 1k",
    "--logging_stepz 5",
    "--outputdir out",
    "--weight_decy 0.1",
    "--optim adam",
    "--optim adamw",
    "--optim AdamW",
    "--optim adam_8bit",
    "--optim adam8bit",
    "--optim adamw_4bit",
    "--lr_scheduler_type cosine_warmup",
    "--lr_scheduler_type cosine_annealing",
    "--lr_scheduler_type warmup_cosine",
    "--lr_scheduler_type warmup_linear",
    "--lr_scheduler_type constant_warmup",
    "--lr_scheduler_type warmup_constant",
    "--save_strategy every_epoch",
    "--save_strategy per_epoch",
    "--save_strategy each_epoch",
    "--quant_bits 8_bit",
    "--quant_bits int4",
    "--quant_bits 4_bit",
    "--zero_offload true",
    "--fp16 ture",
    "--bf16 yess",
    "--bf16 on",
    "--max_length 4k",
    "--num_train_epochs three",
    "--learning_rate 1,5e-5",
    "--per_device_train_batch_size 4.0",
    "--gradient_accumulation_steps 16.0",
    "--lr_scheduler_type cosin",
    "--save_strategy epochs",
    "--save_steps 1k",
    "--gradient_checkpointng true",
    "--per_device_train_batchsize 1",
    "--learing_rate 1e-5",
    "--max_lenght 10",
    "--dataset_num_procs 2",
    "--warmup_ration 0.1",
    "--warmup_ratio 5%",
    "--output_dir my out",
    "--config run.yaml",
    "--per_device_train_batch_size 0",
    "--use_lora true",
];

fn misspellings(option: &str) -> Vec<String> {
    let (name, value) = option
        .split_once(' ')
        .map_or((option, String::new()), |(name, value)| {
            (name, format!(" {value}"))
        });
    let bare = &name[2..];
    let (middle, last) = (bare.len() / 2, bare.len() - 1);
    let dropped = format!("--{}{}", &bare[..middle], &bare[middle + 1..]);
    let doubled = format!("--{}{}", &bare[..=last], &bare[last..]);
    let swapped = format!(
        "--{}{}{}{}",
        &bare[..1],
        &bare[2..3],
        &bare[1..2],
        &bare[3..]
    );
    let wrong = [dropped, doubled, swapped, format!("-{bare}")];
    // Two letters that are the same are not swapped.
    wrong
        .iter()
        .filter(|it| *it != name)
        .map(|it| format!("{it}{value}"))
        .collect()
}

pub(crate) fn lines() -> Vec<String> {
    let mut lines = Vec::new();
    for option in MISSPELT {
        let config = if option.starts_with("--deepspeed") {
            ""
        } else {
            " --deepspeed zero2"
        };
        lines.extend(
            misspellings(option)
                .iter()
                .map(|wrong| format!("zlaunch {OURS}{config} {wrong} -- {TRAIN}")),
        );
    }
    for (command, names) in OTHER_NAMES {
        let given = names.split_whitespace().map(|pair| pair.replace('=', " "));
        lines.extend(
            given.map(|given| format!("zlaunch {OURS} --deepspeed zero2 -- {command} --{given}")),
        );
    }
    lines.extend(
        BEHIND
            .iter()
            .map(|ours| format!("zlaunch {OURS} --deepspeed zero2 -- {TRAIN} {ours}")),
    );
    lines.extend(VALUES.iter().map(|wrong| {
        let config = if wrong.starts_with("--deepspeed") {
            ""
        } else {
            "--deepspeed zero2 "
        };
        format!("zlaunch {OURS} {config}{wrong} -- {TRAIN}")
    }));
    lines.extend(
        ARGUMENTS
            .iter()
            .map(|wrong| format!("zlaunch {OURS} --deepspeed zero2 -- {TRAIN} {wrong}")),
    );
    for wrong in [
        "zero2",
        "launch",
        "train",
        "run",
        "sft --model m/m",
        "'swift sft --model m/m'",
        "swift sft -- --model m/m",
        "zero2 -- swift sft --model m/m",
    ] {
        lines.push(format!(
            "zlaunch {OURS} {wrong} {}",
            if wrong.contains("sft") { "" } else { TRAIN }
        ));
    }
    for wrong in ["chek", "cehck", "checks", "lint", "validate"] {
        lines.push(format!(
            "zlaunch {wrong} --format json --nproc-per-node 2 --deepspeed zero2 -- {TRAIN}"
        ));
    }
    lines
}

/// What a shell makes of a line.
pub(crate) fn words(sandbox: &Sandbox, line: &str) -> Vec<String> {
    let words = sandbox
        .script(&format!("zlaunch() {{ printf '%s\\0' \"$@\"; }}; {line}"))
        .stdout;
    words.split_terminator('\0').map(str::to_string).collect()
}

fn paste(sandbox: &Sandbox, line: &str) -> Run {
    sandbox.answer(words(sandbox, line))
}

fn diagnostics(run: &Run) -> Vec<Value> {
    let report: Value = serde_json::from_str(&run.stdout)
        .unwrap_or_else(|_| panic!("{}{}", run.stdout, run.stderr));
    report["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["severity"] != "note")
        .cloned()
        .collect()
}

/// The line that a help stands for: itself, or what is in its place in the line that was typed.
fn suggested(line: &str, found: &Value) -> Option<String> {
    let (help, place) = (found["help"].as_str()?, found["where"][0].as_str()?);
    if help.starts_with("zlaunch ") {
        return Some(help.split(", or ").next()?.to_string());
    }
    let guess = help
        .strip_prefix("did you mean `")
        .and_then(|rest| rest.split_once('`'))
        .map(|(guess, rest)| match rest.strip_prefix("? ") {
            Some(rest) if rest.starts_with("--") => rest,
            _ => guess,
        });
    let options = guess.or_else(|| {
        help.find("--")
            .map(|at| &help[at..])
            .filter(|_| help.starts_with("--") || help.starts_with("its place"))
    });
    let end = |text: &str| {
        [", or ", "; ", " (", ", for example", ": "]
            .iter()
            .filter_map(|end| text.find(end))
            .min()
            .unwrap_or(text.len())
    };
    let dropped = help
        .strip_prefix("drop ")
        .or_else(|| help.strip_prefix("leave "));
    let out = dropped
        .and_then(|rest| rest.split(';').next())
        .map(|rest| rest.trim_end_matches(" out"));
    let (old, new) = match (options, out) {
        (Some(new), _) if new.starts_with("zlaunch ") => return Some(new.to_string()),
        (Some(new), _) if new.starts_with('-') => (place, &new[..end(new)]),
        // A word in the place of the last one.
        (Some(new), _) => (place.rsplit(' ').next()?, new),
        (None, Some(out)) => (out, ""),
        (None, None) => return None,
    };
    line.contains(old).then(|| line.replacen(old, new, 1))
}

side_by_side!(what_is_suggested_is_right_when_it_is_pasted);

fn what_is_suggested_is_right_when_it_is_pasted(share: &Share) {
    let lines = lines();
    assert!(
        lines.iter().collect::<BTreeSet<_>>().len() >= 200,
        "{}",
        lines.len()
    );
    let sandbox = Sandbox::new();
    for (package, version) in [
        ("ms_swift", "4.6.0"),
        ("transformers", "5.19.0"),
        ("trl", "1.16.0"),
    ] {
        sandbox.installed(package, version);
    }
    let (mut pasted, mut wrong) = (0, Vec::new());
    for line in share.of(&lines) {
        let first = paste(&sandbox, line);
        let found = diagnostics(&first);
        if found.is_empty() {
            wrong.push(format!("{line}\n  nothing is said"));
        }
        for it in &found {
            let Some(better) = suggested(line, it) else {
                continue;
            };
            pasted += 1;
            if !better.contains(" -n") && !better.contains(" check ")
                || !better.contains("--nproc-per-node 2") && !line.contains("--nproc-per-node two")
            {
                wrong.push(format!("{line}\n  drops options: {better}"));
                continue;
            }
            let then = paste(&sandbox, &better);
            let is_told =
                |other: &Value| other["message"] == it["message"] && other["where"] == it["where"];
            if diagnostics(&then).iter().any(is_told) {
                wrong.push(format!(
                    "{line}\n  still wrong: {better}\n  {}",
                    it["message"]
                ));
            }
        }
    }
    assert!(
        !sandbox.path("record/argv").exists(),
        "something was started"
    );
    assert!(
        wrong.is_empty(),
        "{} of {pasted}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(pasted >= 160 / Share::ALL, "only {pasted}");
}
