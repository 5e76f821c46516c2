//! `zlaunch fit` and `--deepspeed auto`: how much memory a training needs under each template, and which template to use.
//! Reads the model's files; everything else is arithmetic.

pub mod architecture;
mod assumptions;
mod candidates;
mod checkpoint;
mod choice;
mod fit_report;
mod inputs;
pub(crate) mod launch_warning;
pub mod memory;
pub mod need;
pub mod optimizer;
mod picture;
mod remedies;
pub mod settings;
pub mod strategy;
pub mod tables;
pub mod training_args;
mod weights;
pub mod workload;

use serde_json::Value;

use crate::base::size::Size;
use crate::base::source::{Source, Sourced};
use crate::command::job::Job;
use crate::config::template;
use crate::host::Host;
use crate::plan::ChosenTemplate;
use crate::ranks::topology::{HostFlags, Processes, RankFlags, Topology};
use crate::report::fix::{Fixes, give};
use crate::report::{Problem, Rule};
use crate::request::understood::UnderstoodLaunch;
use crate::request::{AUTO, Launch};

pub(crate) use architecture::Dtype;
use fit_report::FitReport;
pub use fit_report::View;
use inputs::{Files, FitInputs};
pub(crate) use need::Accounting;
use need::Cluster;
pub(crate) use optimizer::Optimizer;
pub(crate) use settings::{Attention, TrainingArgs, Tuner};
use strategy::Strategy;
use training_args::TrainingReader;

pub struct FitRequest {
    pub(crate) launch: Launch,
    pub(crate) card: Option<&'static str>,
    pub(crate) training: TrainingArgs,
    pub(crate) accounting: Accounting,
    pub(crate) format: FitFormat,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FitFormat {
    Text,
    Json,
    Svg,
}

pub fn answer<'a>(request: &'a FitRequest, host: &Host) -> Result<FitReport<'a>, Vec<Problem>> {
    let launch = &request.launch;
    if launch.command.is_empty() {
        let cluster = cluster(request, None, host)?;
        return request.report(None, launch.deepspeed.clone(), None, cluster, host);
    }
    let understood = UnderstoodLaunch::new(launch, host);
    if !understood.job.problems.is_empty() {
        return Err(understood.job.problems);
    }
    let host = &understood.host;
    let cluster = cluster(request, Some(understood.topology()), host)?;
    let mut config = launch.deepspeed.clone();
    let mut unread = None;
    if config.is_none()
        && let Some(own) = understood.own_config().filter(|own| !own.value.is_empty())
    {
        let own = understood.own_file(own);
        if own.value == AUTO || template::resolve(&own, &launch.search, host).is_ok() {
            config = Some(own);
        } else {
            unread = Some(own.spelling());
        }
    }
    request.report(
        Some(&understood.job),
        config,
        unread.as_deref(),
        cluster,
        host,
    )
}

impl FitRequest {
    /// The options may be about other machines and models that are not here.
    fn report(
        &self,
        job: Option<&Job>,
        config: Option<Sourced<String>>,
        unread: Option<&str>,
        cluster: Cluster,
        host: &Host,
    ) -> Result<FitReport<'_>, Vec<Problem>> {
        let launch = &self.launch;
        let mut given = self.training.clone();
        // Half precision that the config switches on by itself counts, whatever the arguments say.
        if let (Some(_), Some(named), None) = (job, &config, given.dtype)
            && let Ok((_, config)) = candidates::config_of(named, launch, host)
        {
            given.dtype = inputs::dtype_of(&config);
        }
        let files = Files {
            unread,
            trusts_names: true,
        };
        let mut inputs = FitInputs::new(given, job, &files, cluster, launch, host)?;
        inputs.config = config;
        inputs.card = self.card;
        inputs.accounting = self.accounting;
        let has_fewer = host
            .nvidia_gpus
            .is_none_or(|here| cluster.gpus > here as u64);
        inputs.is_elsewhere = launch.memory.gpu.is_some() || has_fewer;
        inputs.report(host)
    }
}

/// `--deepspeed auto`: the template, and a sentence that says why.
pub(crate) fn choose(
    spec: &Sourced<String>,
    topology: &Topology,
    understood: &UnderstoodLaunch,
) -> Result<ChosenTemplate, Vec<Problem>> {
    let UnderstoodLaunch {
        job, launch, host, ..
    } = understood;
    let refused = |what: String| Problem::error(Rule::AutoTemplate, what).at(spec);
    let cannot = |why: &str| refused(format!("a template cannot be chosen: {why}"));
    let name_one = || give("--deepspeed", "zero3");
    let Some(cluster) = cluster_of(topology) else {
        return Err(cannot("the number of GPUs is unknown")
            .fix(name_one())
            .into());
    };
    if TrainingReader::new(&TrainingArgs::default(), Some(job))
        .model()
        .is_none()
    {
        let argument = job.trainer.model.argument;
        let mut fixes = Fixes::from(name_one());
        if job.takes(argument) {
            fixes = Fixes::from(format!("add --{argument} to the command")).or(fixes);
        }
        return Err(cannot("the command names no model").fix(fixes).into());
    }
    let mut inputs = FitInputs::of_launch(job, None, cluster, launch, host)?;
    let mut report = inputs.report(host)?;
    if report.is_uncounted() {
        let why = "this run keeps models or generates text that zlaunch does not count";
        return Err(cannot(why).fix(name_one()).into());
    }
    // If GPUs are described, the memory of this machine is no reason to refuse a template.
    if report.recommended.is_none() && launch.memory.gpu.is_some() {
        inputs.is_elsewhere = true;
        report = inputs.report(host)?;
    }
    let problem = if report.memories.gpu.is_none() {
        cannot("the memory of the GPUs is unknown").fix(give("--gpu-memory", "80GiB"))
    } else if let Some(chosen) = &report.recommended {
        return Ok(ChosenTemplate {
            name: chosen.template.clone(),
            why: report.sentence(chosen),
        });
    } else if report.may_fit_with_offload() {
        let what = "no template fits on the GPUs alone, and the host memory is unknown";
        let size = give("--host-memory", "1TiB").remark("of the machine that will train");
        refused(what.to_string()).fix(size)
    } else {
        let problem = refused("no template fits this run".to_string());
        match remedies::sentences(&report.remedies) {
            would if would.is_empty() => problem.fix("a smaller model, or more GPUs"),
            would => problem.fix(would),
        }
    };
    let lines = report.rows.iter().map(|row| {
        format!(
            "{} needs {} on each GPU and {} on the host",
            row.title(),
            Size(row.need.gpu()),
            Size(row.need.host)
        )
    });
    Err(lines.fold(problem, Problem::at).into())
}

/// Bytes that a launch with offload needs in the memory of each machine, if its model and ranks are known.
pub(crate) fn host_memory(
    job: &Job,
    topology: &Topology,
    config: &Value,
    launch: &Launch,
    host: &Host,
) -> Option<u64> {
    let cluster = cluster_of(topology)?;
    let inputs = FitInputs::of_launch(job, None, cluster, launch, host).ok()?;
    let strategy = Strategy::of(config, inputs.weights.shape.hidden);
    let need = || memory::need(&inputs.workload, &strategy, cluster);
    strategy.offloads().then(|| need().host)
}

fn count(number: Option<&Sourced<u32>>) -> Option<u64> {
    number.map(|number| u64::from(number.value))
}

fn cluster_of(topology: &Topology) -> Option<Cluster> {
    Some(Cluster {
        nodes: count(topology.nnodes.as_ref())?,
        gpus: count(topology.nproc_per_node.as_ref())?,
    })
}

/// The cluster as the flags describe it, completed from the command's topology or from this machine.
fn cluster(
    request: &FitRequest,
    topology: Option<Result<Topology, Vec<Problem>>>,
    host: &Host,
) -> Result<Cluster, Vec<Problem>> {
    let flags = &request.launch.topology;
    let nodes = count(flags.nnodes.as_ref());
    let described = |gpus: u64| Cluster {
        nodes: nodes.unwrap_or(1),
        gpus,
    };
    if let Some(Processes::Count(gpus)) = flags.nproc_per_node.as_ref().map(|nproc| &nproc.value) {
        return Ok(described(u64::from(*gpus)));
    }
    // A card without a number is one, unless the command itself says how many: the GPUs of this machine are others.
    let is_said = matches!(
        &topology,
        Some(Ok(Topology {
            nproc_per_node: Some(Sourced {
                from: Source::Argument(_),
                ..
            }),
            ..
        }))
    );
    if request.card.is_some() && !is_said {
        return Ok(described(1));
    }
    let topology = topology.unwrap_or_else(|| {
        // Several machines would need a rendezvous, which does not matter here.
        let one_machine = RankFlags {
            nnodes: None,
            ..flags.clone()
        };
        Topology::decide(&one_machine, &HostFlags::default(), true, host)
    })?;
    let Some(gpus) = count(topology.nproc_per_node.as_ref()) else {
        let what = "the number of GPUs is not in the command";
        let problem = Problem::error(Rule::Usage, what).at("zlaunch fit");
        return Err(problem.fix(give("--gpus", 8)).into());
    };
    Ok(Cluster {
        nodes: nodes.or(count(topology.nnodes.as_ref())).unwrap_or(1),
        gpus,
    })
}
