//! `zlaunch rehearse`: the installed trainer says yes or no on this machine, before a job is queued. It runs under
//! `rehearsal.py`, which prints a line of JSON for each event.

mod answer;

use std::io::{IsTerminal, Write, stderr};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};

use super::check;
use super::output::{out, out_bytes, styled};
use crate::base::options::Given;
use crate::base::source::{Source, Sourced};
use crate::cli::launch::{self, LaunchArgs};
use crate::cli::{Reader, Requested, Tool, values};
use crate::exec;
use crate::exec::rehearsal::Rehearsal;
use crate::fit::{self, Accounting, FitFormat, FitRequest, TrainingArgs};
use crate::host::{Host, terminal};
use crate::plan::Plan;
use crate::ranks::launcher::Launcher;
use crate::report::secrets::Secrets;
use crate::report::{self, Problem, Rule, Severity, fix};
use crate::request::{Format, Launch};

use answer::Answer;

/// It runs in the trainer's own interpreter.
const PROGRAM: &str = include_str!("rehearse/rehearsal.py");

const ABOUT: &str =
    "The installed trainer runs on the CPU as rank 0 of the whole job, without loading weights or using GPUs, through the \
    first step of a small model of the same class. Your script's code runs, in a sandbox. All launch options work here: \
    see `zlaunch --help`.
Exit status: 1 if zlaunch or the trainer refuses the launch; 0 if it arrives, or if the rest needs a GPU or the network; \
    3 if something fails that may come from the rehearsal itself.

Examples:
  zlaunch rehearse --deepspeed zero3 -- swift sft --model Qwen/Qwen3-8B --dataset data.jsonl
  zlaunch rehearse --nnodes 2 --nproc-per-node 8 --deepspeed zero3 -- python train.py && sbatch job.sh";

/// Seconds, long enough for a slow file system.
const TIMEOUT: u32 = 300;

/// Try a launch with the real trainer, on the CPU
#[derive(Args)]
#[command(
    long_about = "用真正的训练框架在 CPU 上预演一次启动，不需要权重",
    override_usage = "zlaunch rehearse [OPTIONS] -- COMMAND [ARGS]...",
    after_help = ABOUT,
    after_long_help = "已安装的训练框架在 CPU 上作为整个作业的 rank 0 运行，不加载权重，不用 GPU，用同类的小模型走完第一步。脚本自己的代码会在沙箱里运行。启动的所有选项都可以用：见 `zlaunch --help`。\n退出码：zlaunch 或训练框架拒绝这次启动时是 1；到达终点，或其余部分需要 GPU 或网络时是 0；出现可能由预演本身造成的错误时是 3。"
)]
pub(crate) struct RehearseArgs {
    /// Let the trainer use the network for missing configs, tokenizers and datasets
    #[arg(long, help_heading = "Rehearsal", long_help = "本地没有的配置、tokenizer 和数据集，允许训练框架联网获取")]
    online: bool,
    /// Stop after this many seconds; 300 by default
    #[arg(long, value_name = "SECONDS", help_heading = "Rehearsal", long_help = "最多运行这么多秒；默认 300")]
    timeout: Option<Given>,
    #[command(flatten)]
    launch: LaunchArgs,
}

impl Tool for RehearseArgs {
    const SHOWN: &str = check::CheckArgs::SHOWN;

    fn read(self, mut reader: Reader) -> Requested {
        let timeout = reader.one(self.timeout, values::number(1, u32::MAX, "600")).map_or(TIMEOUT, |given| given.value);
        let mut launch = launch::read(self.launch, &mut reader);
        (launch.output.check, launch.rehearsed) = (true, true);
        reader.problems.extend(launch::without_command(&launch));
        let timeout = Duration::from_secs(timeout.into());
        launch::finish(launch, reader, move |launch, host| run(launch, self.online, timeout, host))
    }
}

/// Exit status 1: the launch is refused; 3: nobody knows.
fn run(mut launch: Launch, online: bool, timeout: Duration, host: &Host) -> Result<u8, Vec<Problem>> {
    // Nobody else joins a rehearsal, so this is the first machine.
    let ranks = &mut launch.topology;
    if ranks.nnodes.as_ref().is_some_and(|nodes| nodes.value > 1) {
        let from = || Source::Machine("the rehearsal");
        ranks.node_rank = Some(Sourced::new(0, from()));
        ranks.master_addr.get_or_insert_with(|| Sourced::new(host.hostname.clone(), from()));
        ranks.master_port.get_or_insert_with(|| Sourced::new(29500, from()));
    }
    // Only their shapes are needed.
    launch.allow.push(Rule::WeightsMissing);
    let Ok(plan) = Plan::new(&launch, host) else { return check::check_launch(&launch, host) };
    if matches!(plan.launcher, Launcher::Prefix(_)) {
        return Ok(exec::start(&plan)?);
    }
    let secrets = Secrets::of(host);
    let output = launch.output;
    if !output.quiet {
        let mut told = plan.diagnostics.clone();
        told.retain(|problem| problem.severity != Severity::Note);
        report::report(&told, &secrets);
    }
    let mut answer = rehearse(&launch, online, timeout, &plan, host)?;
    // The verdict of `fit` on this launch, with the parameters that were counted.
    if let Some(counted) = answer.parameters() {
        let params = Some(Sourced::new(counted, Source::Machine("counted")));
        let training = TrainingArgs { params, ..TrainingArgs::default() };
        let (accounting, format) = (Accounting::Real, FitFormat::Text);
        let request = FitRequest { launch, card: None, training, accounting, format };
        answer.memory = fit::answer(&request, host).ok().and_then(|report| report.verdict_line());
    }
    if output.dry_run == Some(Format::Json) {
        let mut json: Value = serde_json::from_slice(&plan.render(Format::Json, &secrets)).unwrap_or_default();
        json["rehearsal"] = secrets.hide(answer.json());
        out(&format!("{json:#}\n"))?;
    } else {
        out_bytes(&styled(|stream| answer.write(&secrets, output.quiet, terminal::width(), stream)))?;
    }
    Ok(answer.verdict().1)
}

fn rehearse(
    launch: &Launch,
    online: bool,
    timeout: Duration,
    plan: &Plan,
    host: &Host,
) -> Result<Answer, Vec<Problem>> {
    let Some(python) = plan.trainer.python.as_deref() else {
        let what = format!("no Python was found that runs `{}`, so it cannot be rehearsed", plan.trainer.runs);
        let problem = Problem::error(Rule::NotFound, what).at(&plan.trainer.runs);
        return Err(problem.fix(fix::run("zlaunch doctor -- COMMAND")).into());
    };
    let count = |number: Option<&Sourced<u32>>| number.map_or(1, |number| number.value);
    let (nnodes, nproc) = (count(plan.topology.nnodes.as_ref()), count(plan.topology.nproc_per_node.as_ref()));
    let argv: Vec<_> = plan.argv.iter().map(|word| word.to_string_lossy()).collect();
    let gpu = launch.memory.gpu.as_ref().map(|memory| memory.value);
    let spec = json!({"argv": argv, "nnodes": nnodes, "nproc_per_node": nproc, "online": online, "gpu_memory": gpu});
    let mut rehearsal = Rehearsal::start(python, PROGRAM, spec, plan, host)?;
    let start = Instant::now();
    let shows_progress = stderr().is_terminal() && !launch.output.quiet;
    let mut answer = Answer::new(plan, [nnodes, nproc]);
    let in_time = loop {
        let left = timeout.saturating_sub(start.elapsed());
        match rehearsal.lines.recv_timeout(left.min(Duration::from_millis(200))) {
            Ok(line) => answer.events.push(serde_json::from_str(&line).unwrap_or_default()),
            Err(RecvTimeoutError::Timeout) if left.is_zero() => break false,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break true,
        }
        if shows_progress {
            progress(&format!("rehearsing: {} ({} s)", answer.doing(), start.elapsed().as_secs()));
        }
    };
    if shows_progress {
        progress("");
    }
    let ending = if in_time { rehearsal.ending() } else { None };
    answer.finish(start.elapsed(), ending, &rehearsal.printed());
    match answer.cannot() {
        Some(problem) => Err(problem.into()),
        None => Ok(answer),
    }
}

/// Writes over the last line.
fn progress(text: &str) {
    let _ = write!(stderr(), "\r{text}\x1b[K");
}
