//! The first fix of every problem, pasted, gives an answer without that problem and without a new one. The fixes are taken as
//! values from the JSON and applied to the command line, the run file or the environment.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;

use serde_json::Value;

use crate::sandbox::{Sandbox, Share, side_by_side};
use crate::{check, pasted, refusals};

const SCRIPT: &str = "import dataclasses\nfrom transformers import HfArgumentParser, Trainer, TrainingArguments\n\
    @dataclasses.dataclass\nclass M:\n    model_name_or_path: str = None\n\
    m, args = HfArgumentParser((M, TrainingArguments)).parse_args_into_dataclasses()\nTrainer(None, args).train()\n";
const DDP: &str = "import argparse, torch\np = argparse.ArgumentParser(); p.add_argument('--lr')\nargs, _ = p.parse_known_args()\n";

/// Mistakes as people make them: variables, and a line.
const LINES: &[(&str, &str)] = &[
    (
        "",
        "--nproc-per-node 2 --deepspeed zero2 -- python hf.py --output_dir out learning_rate=1e-5",
    ),
    (
        "",
        "--nproc-per-node 2 --deepspeed zero2 -- python hf.py --output_dir out -learning_rate 1e-5",
    ),
    (
        "",
        "--nproc-per-node 2 --deepspeed zero2 -- python hf.py --output_dir out --load_best_model_at_end --save_strategy epoch",
    ),
    ("", "--nproc-per-node 2 --deepspeed zero2 -- python ddp.py"),
    (
        "",
        "--nproc-per-node 2 --deepspeed zero2 --trainer in_code -- python ddp.py",
    ),
    (
        "",
        "--nproc-per-node 2 -d zero2 -- swift sft --model a/b --dataset c/d",
    ),
    (
        "",
        "--nproc-per-node 2 --config ds.json -- swift sft --model a/b --dataset c/d",
    ),
    (
        "",
        "--nproc-per-node 2 --deepspeed zero2 -- swift infer --model a/b",
    ),
    (
        "",
        "--nproc-per-node 2 --deepspeed zero2 -- swift sft --model a/b --dataset c/d --load_in_4bit true",
    ),
    (
        "",
        "--nproc-per-node 2 --deepspeed zero2 --set cpu_offload=true -- swift sft --model a/b --dataset c/d",
    ),
    (
        "",
        "--nproc-per-node 2 --deepspeed zero2 --set zero_optimization.cpu_offload=true -- swift sft --model a/b --dataset c/d",
    ),
    (
        "",
        "--nproc-per-node 2 --deepspeed zero2 --set zero_optimization.offload_param.device=cpu -- swift sft --model a/b --dataset c/d",
    ),
    (
        "",
        "--nproc-per-node 2 --deepspeed zero2 --set scheduler.type=WarmupDecayLr -- swift sft --model a/b --dataset c/d",
    ),
    (
        "",
        "--nproc-per-node 2 --deepspeed zero2 --set scheduler.type=StepLR -- swift sft --model a/b --dataset c/d",
    ),
    (
        "",
        "--nproc-per-node 2 --deepspeed zero2 --set wandb.enabled=true -- swift sft --model a/b --dataset c/d",
    ),
    (
        "",
        "--deepspeed zero2 -- torchrun --nproc_per_gpu 2 hf.py --output_dir out",
    ),
    (
        "",
        "--deepspeed zero2 -- torchrun --nproc_per_node 2 --nproc_pre_node=2 hf.py --output_dir out",
    ),
    (
        "",
        "--deepspeed zero2 -- accelerate launch --num_proceses 2 hf.py --output_dir out",
    ),
    (
        "",
        "--deepspeed zero2 -- accelerate launch --num_processes 2 --zero_stage 3 hf.py --output_dir out",
    ),
    (
        "",
        "--deepspeed zero2 -- deepspeed --num_gpuss 2 hf.py --output_dir out",
    ),
    (
        "",
        "--deepspeed zero2 -- deepspeed --num-gpus 2 hf.py --output_dir out",
    ),
    (
        "",
        "--deepspeed zero2 -- torchrun --nproc_per_node 2 python hf.py --output_dir out",
    ),
    (
        "SLURM_NNODES=2",
        "--deepspeed zero2 -- torchrun --nproc_per_node 2 python hf.py --output_dir out",
    ),
    (
        "",
        "--deepspeed zero2 -- deepspeed --num_gpus 2 python -u hf.py --output_dir out",
    ),
    (
        "",
        "--deepspeed zero2 -- accelerate launch --num_processes 2 python3 hf.py --output_dir out",
    ),
    (
        "",
        "--nproc-per-node 2 -- llamafactory-cli train lf.yaml deepspeed=ds.json per_device_train_batch_size=0",
    ),
    (
        "CUDA_VISIBLE_DEVICES=0-3",
        "--deepspeed zero2 -- python hf.py --output_dir out",
    ),
    (
        "CUDA_VISIBLE_DEVICES=0;1",
        "--deepspeed zero2 -- python hf.py --output_dir out",
    ),
    (
        "",
        "-- deepspeed --num_gpus=2 hf.py --output_dir out --bf16 --deepspeed_config ds.json",
    ),
    (
        "",
        "--deepspeed zero2 -- accelerate launch --num_process 2 hf.py --output_dir out",
    ),
    (
        "",
        "--nproc-per-node 2 --deepspeed zero2 -e X=1 -- swift sft --model a/b --dataset c/d",
    ),
    (
        "",
        "--nproc-per-node 2 --deepspeed zero2 --set offload_optimizer=cpu -- swift sft --model a/b --dataset c/d",
    ),
    (
        "",
        "--nproc-per-node 2 --deepspeed zero2 --set zero_optimisation=3 -- swift sft --model a/b --dataset c/d",
    ),
    (
        "",
        "--nproc-per-node 2 --deepspeed zero2 --set 'zero_optimization.stage=\"2\"' -- swift sft --model a/b --dataset c/d",
    ),
    (
        "",
        "--nproc-per-node 2 --deepspeed zero2 --set optimizer.type=AdamW --set optimizer.params.lr=1e-4 -- swift sft --model a/b --dataset c/d --learning_rate 1e-4",
    ),
    (
        "",
        "--nproc-per-node 2 --deepspeed hf_zero2 --set optimizer.params.lr=1e-4 -- swift sft --model a/b --dataset c/d --learning_rate 1e-4",
    ),
    (
        "",
        "--nproc-per-node 2 --deepspeed zero2 -- swift sft --model a/b --dataset c/d --torch_dtype float16 --bf16 true",
    ),
    (
        "",
        "--nproc-per-node 2 --deepspeed zero2 --set optimizer.type=AdamW --set optimizer.params.betas=0.9 -- python hf.py --output_dir out",
    ),
    (
        "",
        "--nproc-per-node 2 --deepspeed zero2 --set bf16.enabled=true -- python hf.py --output_dir out",
    ),
    (
        "",
        "--nproc-per-node 2 --deepspeed zero2 --set train_micro_batch_size_per_gpu=4 -- python hf.py --output_dir out",
    ),
    (
        "CUDA_VISIBLE_DEVICES=",
        "--nproc-per-node 2 --deepspeed zero2 -- swift sft --model a/b --dataset c/d",
    ),
    (
        "",
        "--nproc-per-node 2 --deepspeed zero2 --set per_device_train_batch_size=4 -- swift sft --model a/b --dataset c/d",
    ),
    (
        "",
        "--nproc-per-node 2 --deepspeed zero2 --set per_device_train_batch_size=4 -- python hf.py --output_dir out",
    ),
    (
        "",
        "--nproc-per-node 2 --deepspeed zero2 --set scheduler.type=cosine --set scheduler.params.warmup_num_steps=10 -- python hf.py --output_dir out",
    ),
    (
        "",
        "--nproc-per-node 2 --deepspeed zero2 --set optimizer.type=AdamW --set optimizer.lr=1e-5 -- python hf.py --output_dir out",
    ),
    (
        "",
        "--nproc-per-node 2 --deepspeed zero2 --set zero_optimization=true -- python hf.py --output_dir out",
    ),
    (
        "",
        "--nproc-per-node 2 --deepspeed zero2 --set zero_optimization.offload_optimizer=true -- python hf.py --output_dir out",
    ),
    (
        "",
        "--deepspeed zero2 -- deepspeed --include localhost:0,1 --num_gpus 2 hf.py --output_dir out",
    ),
    (
        "",
        "--deepspeed zero2 -- deepspeed --include localhost:0-1 hf.py --output_dir out",
    ),
    (
        "",
        "--nproc-per-node 2 --deepspeed zero3 --set zero_optimization.offload_param.device=nvme --set zero_optimization.offload_param.nvme_path=/tmp -- python hf.py --output_dir out",
    ),
];

#[derive(Clone)]
struct Line {
    words: Vec<String>,
    run_file: Option<String>,
    variables: BTreeMap<String, String>,
}

impl Line {
    fn of(words: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Line {
            words: words.into_iter().map(Into::into).collect(),
            run_file: None,
            variables: BTreeMap::new(),
        }
    }

    /// What is wrong, and the status is that of an answer.
    fn diagnostics(&self, sandbox: &mut Sandbox) -> Vec<Value> {
        if let Some(text) = &self.run_file {
            sandbox.file("run.yaml", text);
        }
        for (name, value) in &self.variables {
            sandbox.var(name, value);
        }
        let run = sandbox.answer(&self.words);
        let report: Value = serde_json::from_str(&run.stdout)
            .unwrap_or_else(|_| panic!("{:?}: {run:?}", self.words));
        report["diagnostics"].as_array().unwrap().clone()
    }

    fn dashes(&self) -> usize {
        self.words
            .iter()
            .position(|word| word == "--")
            .unwrap_or(self.words.len())
    }

    /// Where an option stands, in front of the command or behind.
    fn find(&self, option: &str) -> Option<usize> {
        let is_it = |word: &String| word.split('=').next() == Some(option);
        let behind = self.dashes();
        let behind = self.words[behind..]
            .iter()
            .position(is_it)
            .map(|at| at + behind);
        behind.or_else(|| self.words.iter().rposition(is_it))
    }

    fn in_front(&mut self, words: &[&str]) {
        let at = self.dashes();
        self.words
            .splice(at..at, words.iter().map(ToString::to_string));
    }

    /// `None` where there is nothing to paste.
    fn fixed(&self, fix: &Value, sandbox: &Sandbox) -> Option<Line> {
        let mut line = self.clone();
        for change in std::iter::once(fix).chain(fix["and"].as_array().into_iter().flatten()) {
            line.change(change, sandbox)?;
        }
        Some(line)
    }

    fn change(&mut self, change: &Value, sandbox: &Sandbox) -> Option<()> {
        let text = |key: &str| match &change[key] {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            other => Some(other.to_string()),
        };
        let value = text("value").unwrap_or_default();
        let is_to_be_filled_in =
            |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_uppercase());
        if is_to_be_filled_in(&value) || value.contains("$USER") || value.ends_with("=VALUE") {
            return None;
        }
        if let Some(key) = text("set") {
            // `$$` is the number of the shell.
            self.in_front(&["--set", &format!("{key}={}", value.replace("$$", "123"))]);
        } else if let Some(key) = text("unset") {
            self.in_front(&["--unset", &key]);
        } else if let (Some(key), Some(to), true) =
            (text("rename"), text("to"), text("value").is_some())
        {
            self.in_front(&["--unset", &key, "--set", &format!("{to}={value}")]);
        } else if let (Some(option), Some(to)) = (text("rename"), text("to")) {
            let words: Vec<&str> = option.split(' ').collect();
            let at = self
                .words
                .windows(words.len())
                .position(|window| window == words)
                .or_else(|| self.find(&option))?;
            self.words.splice(
                at..at + words.len(),
                pasted::words(sandbox, &format!("zlaunch {to}")),
            );
        } else if let Some(name) = text("set_env") {
            self.in_front(&["--env", &format!("{name}={value}")]);
        } else if let Some(name) = text("unset_env") {
            self.in_front(&["--unset-env", &name]);
        } else if let Some(option) = text("give") {
            self.give(&option, &value, text("owner").is_some())?;
        } else if let Some(words) = text("drop") {
            self.drop(&words)?;
        } else {
            self.run(&text("run")?, sandbox)?;
        }
        Some(())
    }

    fn give(&mut self, option: &str, value: &str, is_the_trainers: bool) -> Option<()> {
        let given: Vec<String> = [option, value]
            .iter()
            .filter(|word| !word.is_empty())
            .map(ToString::to_string)
            .collect();
        if !option.starts_with('-') {
            let text = self.run_file.as_mut()?;
            let line = format!("{option}: {value}");
            let old = text
                .trim_matches(['{', '}', '\n'])
                .split(", ")
                .filter(|it| !it.starts_with(&format!("{option}:")));
            *text = format!(
                "{{{}}}\n",
                old.chain([line.as_str()]).collect::<Vec<_>>().join(", ")
            );
        } else if let Some(at) = self.find(option) {
            let has_value = self
                .words
                .get(at + 1)
                .is_some_and(|next| !next.starts_with('-'))
                && !value.is_empty();
            let has_value = has_value && !self.words[at].contains('=');
            // `--output_dir my out`
            let is_split = self.words[at + 1..].join(" ").starts_with(value);
            let count = if is_split {
                value.split(' ').count()
            } else {
                usize::from(has_value)
            };
            self.words.splice(at..=at + count, given);
        } else if is_the_trainers {
            self.words.extend(given);
        } else {
            let at = self.dashes();
            self.words.splice(at..at, given);
        }
        Some(())
    }

    fn drop(&mut self, words: &str) -> Option<()> {
        let words: Vec<&str> = words.split(' ').collect();
        if let Some(text) = self
            .run_file
            .as_mut()
            .filter(|_| !words[0].starts_with('-'))
        {
            let kept = text
                .trim_matches(['{', '}', '\n'])
                .split(", ")
                .filter(|it| it.split(':').next() != Some(words[0]));
            *text = format!("{{{}}}\n", kept.collect::<Vec<_>>().join(", "));
            return Some(());
        }
        let at = self
            .words
            .windows(words.len())
            .position(|window| window == words)
            .or_else(|| self.find(words[0]))?;
        let has_value =
            words.len() == 1 && words[0].starts_with('-') && !self.words[at].contains('=');
        let has_value = has_value
            && self
                .words
                .get(at + 1)
                .is_some_and(|next| !next.starts_with('-'));
        self.words
            .drain(at..at + words.len() + usize::from(has_value));
        Some(())
    }

    fn run(&mut self, line: &str, sandbox: &Sandbox) -> Option<()> {
        if let Some((name, value)) = line
            .strip_prefix("export ")
            .and_then(|it| it.split_once('='))
        {
            self.variables.insert(name.to_string(), value.to_string());
            return Some(());
        }
        let words = line
            .starts_with("zlaunch ")
            .then(|| pasted::words(sandbox, line))?;
        // A whole line with something to fill in.
        let is_example = words
            .iter()
            .any(|word| word == "…" || word == "I" || word == "HOST");
        self.words = if is_example { return None } else { words };
        Some(())
    }
}

fn told(it: &Value) -> (String, String) {
    (it["rule"].to_string(), it["message"].to_string())
}

/// What is wrong with the first fixes of a line, and how many of them were pasted.
fn paste(name: &str, line: &Line, sandbox: &mut Sandbox) -> (usize, Vec<String>) {
    let found = line.diagnostics(sandbox);
    let before: Vec<_> = found.iter().map(told).collect();
    let (mut pasted, mut wrong) = (0, Vec::new());
    for it in &found {
        let Some(fixed) = line.fixed(&it["fixes"][0], sandbox) else {
            continue;
        };
        pasted += 1;
        let value = |name: &String| sandbox.variables().get(OsStr::new(name)).cloned();
        let old: Vec<_> = fixed
            .variables
            .keys()
            .map(|name| (name.clone(), value(name)))
            .collect();
        let after = fixed.diagnostics(sandbox);
        let new = after
            .iter()
            .filter(|other| other["severity"] != "note" && !before.contains(&told(other)));
        let bad: Vec<_> = after
            .iter()
            .filter(|other| told(other) == told(it))
            .chain(new)
            .map(told)
            .collect();
        if !bad.is_empty() {
            wrong.push(format!(
                "{name}\n  {}\n  fix {}\n  gives {bad:?}",
                it["message"], it["fixes"][0]
            ));
        }
        // The next fix is for the line as it was.
        for (name, value) in old {
            match value {
                Some(value) => sandbox.var(&name, value),
                None => sandbox.unset(&name),
            };
        }
    }
    (pasted, wrong)
}

side_by_side!(the_first_fix_of_every_problem_can_be_pasted);

fn the_first_fix_of_every_problem_can_be_pasted(share: &Share) {
    let (mut pasted, mut wrong) = (0, Vec::new());
    let mut add = |(count, mut bad): (usize, Vec<String>)| {
        pasted += count;
        wrong.append(&mut bad);
    };
    // How many ranks there are is not known here, and a value that is right may need another one.
    let is_of_machine = |case: &Value| case["rule"] == "ranks";
    for case in
        share.of(check::cases().filter(|case| case["rule"].is_string() && !is_of_machine(case)))
    {
        let mut sandbox = check::sandbox(&case);
        add(paste(
            &case.to_string(),
            &Line::of(check::words(&case, &[])),
            &mut sandbox,
        ));
    }
    for (row, example) in share.of(refusals::examples()) {
        let mut sandbox = refusals::sandbox_of(row);
        let words = example.words(&sandbox);
        let run_file = words.contains(&"run.yaml".to_string());
        let text = run_file.then(|| fs::read_to_string(sandbox.path("cwd/run.yaml")).unwrap());
        add(paste(
            &example.to_string(),
            &Line {
                run_file: text,
                ..Line::of(words)
            },
            &mut sandbox,
        ));
    }
    let mut sandbox = Sandbox::new();
    for (package, version) in [
        ("ms_swift", "4.6.0"),
        ("transformers", "5.19.0"),
        ("trl", "1.16.0"),
        ("torch", "2.15.0"),
        ("deepspeed", "0.19.8"),
        ("llamafactory", "0.9.5"),
    ] {
        sandbox.installed(package, version);
    }
    for (name, text) in [
        ("hf.py", SCRIPT),
        ("ddp.py", DDP),
        (
            "lf.yaml",
            "{stage: sft, model_name_or_path: a/b, output_dir: out, per_device_train_batch_size: 1}\n",
        ),
        (
            "ds.json",
            r#"{"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}"#,
        ),
    ] {
        sandbox.file(name, text);
    }
    sandbox.put("env/lib/python3.11/site-packages/trl/__init__.py", "");
    for (variables, line) in share.of(LINES) {
        let variables = variables
            .split_once('=')
            .map(|(name, value)| (name.to_string(), value.to_string()));
        let words = pasted::words(&sandbox, &format!("zlaunch check --format json {line}"));
        let line_ = Line {
            variables: variables.clone().into_iter().collect(),
            ..Line::of(words)
        };
        let answer = paste(line, &line_, &mut sandbox);
        assert!(answer.0 > 0, "nothing to paste: {line}");
        add(answer);
        if let Some((name, _)) = variables {
            sandbox.unset(&name);
        }
    }
    // These are wrong in another way too: what is meant is not right for this machine, or for ZeRO.
    let also = [
        "stage",
        " zero_optimization --",
        "slurm",
        "--trainer transformers",
        "--nnodes 1:2",
        "jsno",
    ];
    let is_one_mistake = |line: &String| !also.iter().any(|part| line.contains(part));
    for line in share.of(pasted::lines().into_iter().filter(is_one_mistake)) {
        let line = &line;
        add(paste(
            line,
            &Line::of(pasted::words(&sandbox, line)),
            &mut sandbox,
        ));
    }
    assert!(
        wrong.is_empty(),
        "{} of {pasted}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(pasted >= 300 / Share::ALL, "only {pasted}");
}

#[test]
fn the_argument_of_the_trainer_is_offered() {
    let sandbox = Sandbox::new();
    for (package, version) in [
        ("ms_swift", "4.6.0"),
        ("transformers", "5.19.0"),
        ("deepspeed", "0.19.8"),
    ] {
        sandbox.installed(package, version);
    }
    sandbox.file("hf.py", SCRIPT);
    // A bracket on the next line calls nothing.
    let parses = "(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(None, args).train()\n";
    let imports = "from transformers import HfArgumentParser, Trainer, TrainingArguments\n";
    sandbox.file("tuple.py", format!("{imports}{parses}"));
    let made = "args = TrainingArguments(output_dir='out')\nTrainer(None, args).train()\n";
    sandbox.file("made.py", format!("{imports}{made}"));
    let swift = "swift sft --model a/b --dataset c/d";
    for (set, command, help) in [
        (
            "",
            &format!("{swift} --torch_dtype float16 --bf16 true"),
            "help: --bf16 false, or another --torch_dtype\n",
        ),
        (
            "",
            &format!("{swift} --torch_dtype bfloat16 --fp16 true"),
            "help: --fp16 false, or another --torch_dtype\n",
        ),
        (
            "bf16.enabled=true",
            &"python hf.py --output_dir out".into(),
            "help: --bf16 true (for the trainer), or --set bf16.enabled=auto\n",
        ),
        (
            "train_micro_batch_size_per_gpu=4",
            &"python tuple.py --output_dir out".into(),
            "help: --per_device_train_batch_size 4 (for the trainer), or --set train_micro_batch_size_per_gpu=auto\n",
        ),
        // Such a script reads no argument.
        (
            "bf16.enabled=true",
            &"python made.py".into(),
            "auto, or --set bf16.enabled=false\n",
        ),
        (
            "learning_rate=1e-5",
            &"python made.py".into(),
            "help: drop --set learning_rate=1e-5 (it is an argument of transformers)\n",
        ),
    ] {
        let set = if set.is_empty() {
            String::new()
        } else {
            format!("--set {set} ")
        };
        let line = format!("check --nproc-per-node 2 --deepspeed zero2 {set}-- {command}");
        let run = sandbox.run(line.split(' '));
        assert!(run.stdout.contains(help), "{line}: {run:?}");
    }
}

/// Values that mean something are not given up for others, and nothing of them is left behind.
#[test]
fn what_was_meant_is_kept() {
    let sandbox = Sandbox::new();
    for (package, version) in [
        ("ms_swift", "4.6.0"),
        ("transformers", "5.19.0"),
        ("accelerate", "1.14.0"),
        ("deepspeed", "0.19.8"),
        ("llamafactory", "0.9.5"),
    ] {
        sandbox.installed(package, version);
    }
    sandbox.file("hf.py", SCRIPT);
    sandbox.file(
        "lf.yaml",
        "model_name_or_path: a/b\ndataset: tiny\noutput_dir: out\n",
    );
    sandbox.file(
        "swift.yaml",
        "model: a/b\ndataset: c/d\nnum_train_epochs: three\n",
    );
    sandbox.file(
        "sizes.json",
        r#"{"train_micro_batch_size": 4, "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": 1}"#,
    );
    let zero2 = "--nproc-per-node 2 --deepspeed zero2";
    let swift = "-- swift sft --model a/b --dataset c/d";
    let hf = "hf.py --output_dir out";
    for (line, help) in [
        (
            format!(
                "{zero2} --set optimizer.type=AdamW --set optimizer.params.lr=\"3e-4\" -- python {hf}"
            ),
            "--set optimizer.params.lr=0.0003 -- python hf.py --output_dir out --learning_rate 0.0003",
        ),
        // In place of what was given for the key.
        (
            format!("{zero2} --set gradient_clipping=\"0.5\" {swift}"),
            "--deepspeed zero2 --set gradient_clipping=0.5 -- swift sft --model a/b --dataset c/d --max_grad_norm 0.5, or",
        ),
        (
            format!("{zero2} --set fp16.enabled=yes {swift}"),
            "help: --set fp16.enabled=true, or --set fp16.enabled=auto\n",
        ),
        (
            "sizes.json".into(),
            "help: remove train_micro_batch_size, and set train_micro_batch_size_per_gpu to 4\n",
        ),
        (
            format!("{zero2} --set bf16.enabled=True -- python {hf}"),
            "--set bf16.enabled=true -- python hf.py --output_dir out --bf16 true",
        ),
        (
            format!("{zero2} --set bf16=true -- python {hf}"),
            "--set bf16.enabled=true -- python hf.py --output_dir out --bf16 true",
        ),
        (
            format!("{zero2} --set sequence_parallel_size=\"2\" -- python {hf}"),
            "help: --set sequence_parallel_size=2\n",
        ),
        (
            format!("{zero2} --set tensor_parallel.autotp=2 -- python {hf}"),
            "did you mean `autotp_size`?",
        ),
        (
            format!("{zero2} --set zero_optimization.offload_optimizer=nvme {swift}"),
            "help: did you mean `--set zero_optimization.offload_optimizer.device=nvme`?\n",
        ),
        (
            format!("{zero2} --set zero_optimization.sub_group_size=1G {swift}"),
            "help: --set zero_optimization.sub_group_size=1000000000\n",
        ),
        (
            format!("{zero2} --set fp16.enabled:true --set steps_per_print=5 {swift}"),
            "help: did you mean `fp16.enabled=true`?\n",
        ),
        (
            format!("-d zero2 --nproc-per-node 2 {swift}"),
            "help: did you mean `--deepspeed zero2`?\n",
        ),
        (
            format!("{zero2} {swift} --ddp_timeout 30m"),
            "help: --ddp_timeout 1800\n",
        ),
        (
            format!("{zero2} {swift} --num_train_epochs 3epochs"),
            "help: --num_train_epochs 3\n",
        ),
        (
            format!("{zero2} {swift} --warmup_steps many"),
            "help: --warmup_steps NUMBER\n",
        ),
        // The last one counts.
        (
            format!("{zero2} {swift} --lr_scheduler_type cosine --lr_scheduler_type liner"),
            "help: --lr_scheduler_type linear\n",
        ),
        (
            format!("{zero2} {swift} --use_flash_attn true"),
            "did you mean `--attn_impl flash_attn`?\n",
        ),
        (
            format!("{zero2} {swift} --use_flash_attn false"),
            "help: correct its name, or leave it out\n",
        ),
        (
            format!("{zero2} {swift} --gradient_acc_steps 4"),
            "help: did you mean `--gradient_accumulation_steps`?\n",
        ),
        (
            format!("{zero2} -- swift sft swift.yaml"),
            "help: did you mean `3`?\n",
        ),
        // Another config was asked for.
        (
            format!("{zero2} {swift} --zero_stage 3"),
            "help: did you mean `--deepspeed zero3`?\n",
        ),
        (
            format!("{zero2} -- llamafactory-cli train lf.yaml --learning_rate 1e-4"),
            "help: did you mean `learning_rate=1e-4`?\n",
        ),
        (
            format!("--deepspeed zero2 -- torchrun --nproc_per_node fuor {hf}"),
            "help: --nproc_per_node N\n",
        ),
        (
            format!(
                "--deepspeed zero2 -- accelerate launch --num_processes 2 --mixed_precision bfloat16 {hf}"
            ),
            "help: did you mean `bf16`?\n",
        ),
    ] {
        let line = format!("check {line}");
        let run = sandbox.run(line.split(' '));
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains(help), "{line}: {said}");
    }
}
