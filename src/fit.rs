//! `zlaunch fit` and `--deepspeed auto`: how much memory a training needs under each template, and which template to use.
//! Reads the model's files; everything else is arithmetic.

pub mod architecture;
mod estimate;
mod fit_report;
mod inputs;
pub mod memory;
pub mod need;
pub mod settings;
pub mod strategy;
pub mod tables;
mod weights;
pub mod workload;

use serde_json::Value;

use crate::{
    base::{
        size::Size,
        source::{Given, Source, Sourced},
    },
    config::template::Template,
    host::Host,
    plan::ChosenTemplate,
    ranks::topology::{HostFlags, Processes, RankFlags, Topology},
    report::prelude::*,
    request::{AUTO, Launch, understood::UnderstoodLaunch},
};

pub use architecture::Dtype;
use estimate::{FitInputs, Memories, TemplateRow};
use fit_report::FitReport;
use need::Cluster;
use settings::Certainty;
pub use settings::TrainingArgs;
pub use strategy::Optimizer;
use strategy::Strategy;
pub use tables::{
    optimizers::OPTIMIZERS,
    words::{Accounting, Attention, FitFormat, REAL, Tuner},
};
use tables::{
    phases::{LOADING, Phase},
    verdicts::NOT,
};

pub struct FitRequest {
    pub launch: Launch,
    pub card: Option<&'static str>,
    pub training: TrainingArgs,
    pub accounting: Accounting,
    pub format: FitFormat,
}

/// The options may be about other machines, and about models that are not here.
pub fn answer<'a>(request: &'a FitRequest, host: &Host) -> Result<FitReport<'a>, Problems> {
    let launch = &request.launch;
    let understood = (!launch.command.is_empty()).then(|| UnderstoodLaunch::new(launch, host));
    let understood = understood.as_ref();
    let job = understood.map(|understood| &understood.job);
    if let Some(job) = job.filter(|job| !job.problems.is_empty()) {
        return Err(job.problems.clone());
    }
    let host = understood.map_or(host, |understood| &understood.host);
    let topology = match understood {
        Some(understood) => understood.topology(),
        // The GPUs of this machine, whatever the flags say.
        None => Topology::decide(&RankFlags::default(), &HostFlags::default(), true, host),
    };
    let cluster = cluster(request, topology.ok().as_ref())?;
    let own = understood.and_then(|understood| {
        let own = understood.own_config()?;
        (!own.value.is_empty()).then(|| understood.own_file(own))
    });
    let named = launch.deepspeed.clone().or(own);
    let template = named
        .as_ref()
        .and_then(|named| inputs::template_of(named, launch, host).ok());
    let written = template.as_ref().map(|template| &template.config);
    let training = request.training.clone();
    let mut inputs = FitInputs::new(training, job, written, cluster, launch, host)?;
    let is_lost = |own: &Sourced<String>| {
        launch.deepspeed.is_none() && template.is_none() && own.value != AUTO
    };
    match named {
        Some(own) if is_lost(&own) => {
            let text = format!("nothing about {}, which was not found", own.spelling());
            inputs.assumed.push(Certainty::Guess.assume(text));
        }
        named => inputs.config = named,
    }
    let has_fewer = host
        .nvidia_gpus
        .is_none_or(|here| cluster.gpus > here as u64);
    inputs.is_elsewhere |= has_fewer;
    inputs.card = request.card;
    inputs.assume_emulation(host);
    inputs.accounting = request.accounting;
    inputs.report(host)
}

/// `--deepspeed auto`: the template, and a sentence that says why.
pub fn choose(
    spec: &Sourced<String>,
    topology: &Topology,
    understood: &UnderstoodLaunch,
) -> Result<ChosenTemplate, Problems> {
    let UnderstoodLaunch { job, host, .. } = understood;
    let refused = |what: &str| Rule::AutoTemplate.error(what).at(spec);
    let cannot = |why: &str| refused(&format!("a template cannot be chosen: {why}"));
    let name_one = || give("--deepspeed", "zero3");
    let Some(cluster) = cluster_of(topology) else {
        return Err(cannot("the number of GPUs is unknown")
            .fix(name_one())
            .into());
    };
    let argument = job.trainer.model.argument;
    if job.args.text(argument).is_none() {
        let why = format!("the command names no model with --{argument}");
        return Err(cannot(&why).fix(name_one()).into());
    }
    let report = inputs_of(understood, None, cluster)?.report(host)?;
    if let Some(why) = report.uncounted() {
        return Err(cannot(why).fix(name_one()).into());
    }
    if let Some(chosen) = &report.recommended {
        return Ok(ChosenTemplate {
            name: chosen.candidate.name.clone(),
            why: format!("{}: {}", chosen.needs(), chosen.why()),
        });
    }
    let remedies = report.remedy_sentences();
    let problem = if report.memories().gpu.is_none() {
        cannot("the memory of the GPUs is unknown").fix(give("--gpu-memory", "SIZE"))
    } else if report.may_fit_with_offload() {
        let size = give("--host-memory", "SIZE").remark("of the machine that will train");
        refused("no template fits on the GPUs alone, and the host memory is unknown").fix(size)
    } else if remedies.is_empty() {
        refused("no template fits this run").fix("a smaller model, or more GPUs")
    } else {
        refused("no template fits this run").fix(remedies)
    };
    Err(report
        .rows
        .iter()
        .map(TemplateRow::needs)
        .fold(problem, Problem::at)
        .into())
}

/// A warning if the config of a launch does not fit. `config`: as it will be written. Nothing is judged unless the model, the ranks
/// and the memory of the GPUs are known, and all of the training is counted.
pub fn warning(
    template: &Template,
    config: &Value,
    topology: &Topology,
    understood: &UnderstoodLaunch,
) -> Option<Problem> {
    let UnderstoodLaunch {
        job, launch, host, ..
    } = understood;
    if launch.memory.gpu.is_none() && host.nvidia_gpus.is_none() || job.trainer.is_passthrough() {
        return None;
    }
    let mut inputs = inputs_of(understood, Some(config), cluster_of(topology)?).ok()?;
    if inputs.settings().algorithm.uncounted {
        return None;
    }
    let gpu_memory = inputs.gpu_memory(host)?;
    inputs.memories = Memories {
        gpu: Some(gpu_memory.value),
        host: inputs.host_memory().value().or(Some(u64::MAX)),
        disk: Some(u64::MAX),
    };
    let candidate = inputs.candidate(template, config);
    let refused = |inputs: &FitInputs| {
        let row = inputs.judge(&candidate);
        (row.verdict == NOT).then_some(row)
    };
    let need = refused(&inputs)?.need;
    let mut bytes = need.gpu();
    let mut place = "on each GPU".to_string();
    if bytes <= gpu_memory.value {
        bytes = need.host;
        place = "of host memory on each machine".to_string();
    } else if need.peak.is_between_steps {
        place += &format!(" for {}", need.peak.name);
    }
    let mut guesses = inputs.assumed.clone();
    guesses.retain(|guess| guess.certainty != Certainty::ByDefault);
    let are_least = guesses
        .iter()
        .all(|guess| guess.certainty == Certainty::AtLeast);
    // It does not fit even with the least that could be meant.
    let is_certain =
        guesses.is_empty() || are_least && refused(&inputs.with_settings(&inputs.least)).is_some();
    let will = if is_certain { "will" } else { "may" };
    let gpus = format!("GPUs of {} ({})", Size(gpu_memory.value), gpu_memory.from);
    let mut problem = Rule::MemoryShort
        .warning(format!(
            "{} needs about {} {place}: this run {will} run out of memory",
            template.name,
            Size(bytes)
        ))
        .at(gpus);
    if is_certain {
        let would = would_fit(&inputs, need.peak, host);
        return Some(problem.fix(would.unwrap_or("zlaunch fit shows what would fit".to_string())));
    }
    problem.severity = Severity::Note;
    let guesses: Vec<&str> = guesses.iter().map(|guess| guess.text.as_str()).collect();
    let length = give("--seq-len", "NUMBER").remark("the length of the sequences");
    Some(
        problem
            .at(format!("assumed: {}", guesses.join("; ")))
            .fix(length.or(run("zlaunch fit"))),
    )
}

fn would_fit(inputs: &FitInputs, peak: Phase, host: &Host) -> Option<String> {
    let report = inputs.report(host).ok()?;
    let is_between = peak.is_between_steps && peak != LOADING;
    match (&report.recommended, report.remedies.first()) {
        (_, Some(first)) if is_between => Some(first.sentence()),
        (Some(chosen), _) => Some(format!("--deepspeed {}", chosen.candidate.name)),
        (None, first) => first.map(|_| report.remedy_sentences()),
    }
}

fn inputs_of<'a>(
    understood: &'a UnderstoodLaunch,
    config: Option<&Value>,
    cluster: Cluster,
) -> Result<FitInputs<'a>, Problem> {
    let UnderstoodLaunch {
        job, launch, host, ..
    } = understood;
    FitInputs::new(
        TrainingArgs::default(),
        Some(job),
        config,
        cluster,
        launch,
        host,
    )
}

/// Bytes that a launch with offload needs in the memory of each machine, if its model and ranks are known.
pub fn host_memory(
    topology: &Topology,
    config: &Value,
    understood: &UnderstoodLaunch,
) -> Option<u64> {
    let cluster = cluster_of(topology)?;
    let inputs = inputs_of(understood, None, cluster).ok()?;
    let strategy = Strategy::of(config, inputs.weights.shape.hidden);
    strategy
        .offloads()
        .then(|| memory::need(&inputs.workload, &strategy, cluster).host)
}

fn cluster_of(topology: &Topology) -> Option<Cluster> {
    Some(Cluster {
        nodes: topology.nnodes.value()?.into(),
        gpus: topology.nproc_per_node.value()?.into(),
    })
}

/// The cluster as the flags describe it, completed from the topology.
fn cluster(request: &FitRequest, topology: Option<&Topology>) -> Result<Cluster, Problem> {
    let flags = &request.launch.topology;
    let said = topology.and_then(|topology| topology.nproc_per_node.as_ref());
    let gpus = match (flags.nproc_per_node.value(), said) {
        (Some(Processes::Count(gpus)), _) => gpus,
        // A card without a number is one, unless the command itself says how many: the GPUs of this machine are others.
        (_, Some(said)) if request.card.is_none() || matches!(said.from, Source::Argument(_)) => {
            said.value
        }
        _ if request.card.is_some() => 1,
        _ => {
            return Err(Rule::Usage
                .error("the number of GPUs is unknown")
                .at("zlaunch fit")
                .fix(give("--gpus", "N")));
        }
    };
    let nodes = topology.and_then(|topology| topology.nnodes.value());
    Ok(Cluster {
        nodes: flags.nnodes.value().or(nodes).unwrap_or(1).into(),
        gpus: gpus.into(),
    })
}
