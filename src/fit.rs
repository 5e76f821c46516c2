//! `zlaunch fit` and `--deepspeed auto`: how much memory a training needs under each template, and which template to use.
//! Reads the model's files; everything else is arithmetic.

mod advice;
pub mod algorithm;
mod allocator;
pub mod architecture;
mod arguments;
mod as_json;
mod candidates;
pub mod cards;
mod checkpoint;
mod choice;
pub(crate) mod launch;
pub mod memory;
pub mod need;
pub mod optimizer;
mod picture;
mod print;
mod remedies;
pub mod settings;
pub mod strategy;
mod weights;
pub mod workload;

use anstyle::Style;
use serde_json::Value;

use crate::base::json;
use crate::base::source::{Source, Sourced};
use crate::command::job::{Job, Trainer};
use crate::command::model::Hub;
use crate::config::template;
use crate::host::Host;
use crate::host::machine::Machine;
use crate::ranks::topology::{HostFlags, Processes, RankFlags, Topology};
use crate::report::fix::{Fixes, give};
use crate::report::{Problem, Rule};
use crate::request::Launch;
use crate::request::understood::UnderstoodLaunch;

pub(crate) use allocator::{EXPANDABLE, UsedAllocator};
use architecture::Weights;
pub(crate) use candidates::AUTO;
use candidates::Candidates;
use choice::{MemoryKind, Recommendation, Scenario, TemplateRow, Verdict};
pub(crate) use need::Accounting;
use need::Cluster;
pub(crate) use optimizer::Optimizer;
use remedies::Remedy;
use settings::TrainingSettings;
pub(crate) use settings::{Attention, Dtype, TrainingArgs, Tuner};
use strategy::Strategy;
use weights::ModelLookup;
use workload::Workload;

/// The command line of `zlaunch fit`.
pub struct FitRequest {
    pub(crate) launch: Launch,
    /// The card that `--gpu` names.
    pub(crate) card: Option<&'static str>,
    pub(crate) training: TrainingArgs,
    pub(crate) accounting: Accounting,
    pub(crate) format: FitFormat,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FitFormat {
    Text,
    Json,
    /// A picture.
    Svg,
}

/// How text is shown: to the width of a terminal, and in colour.
#[derive(Clone, Copy)]
pub struct View {
    /// Columns of the terminal, if there is one.
    pub width: Option<usize>,
    pub colour: bool,
}

impl View {
    pub(super) fn painted(self, text: &str, style: Style) -> String {
        if self.colour && !text.is_empty() { format!("{style}{text}{style:#}") } else { text.to_string() }
    }
}

pub struct FitReport {
    pub(crate) model: Option<String>,
    pub(crate) weights: Weights,
    pub(crate) settings: TrainingSettings,
    pub(crate) workload: Workload,
    pub(crate) cluster: Cluster,
    pub(crate) card: Option<&'static str>,
    pub(crate) gpu_memory: Option<Sourced<u64>>,
    pub(crate) host_memory: Option<Sourced<u64>>,
    /// On the disk that the named config offloads to.
    pub(crate) free_disk: Option<u64>,
    pub(crate) allocator: UsedAllocator,
    pub(crate) accounting: Accounting,
    pub(crate) rows: Vec<TemplateRow>,
    /// The config that the user named.
    pub(crate) named: Option<NamedConfig>,
    pub(crate) recommended: Option<Recommendation>,
    /// Changes that would make the named config fit, or some template.
    pub(crate) remedies: Vec<Remedy>,
    pub(crate) rules_of_thumb: Vec<&'static str>,
    pub(crate) assumed: Vec<String>,
}

pub(crate) struct NamedConfig {
    row: usize,
    pub(crate) largest_micro_batch: u64,
}

impl FitReport {
    pub(crate) fn named(&self) -> Option<&TemplateRow> {
        self.rows.get(self.named.as_ref()?.row)
    }

    /// The config that was named does not fit; or none was named, and no template fits.
    pub(crate) fn does_not_fit(&self) -> bool {
        match self.named() {
            Some(row) => row.verdict() == Verdict::Not,
            None => self.recommended.is_none() && self.if_host_allows().is_none() && self.gpu_memory.is_some(),
        }
    }

    /// The first template that fits on the GPUs, of which only the memory of the hosts is not known.
    pub(crate) fn if_host_allows(&self) -> Option<&TemplateRow> {
        self.rows.iter().find(|row| row.judgement.unknown == [MemoryKind::Host] && row.verdict() == Verdict::Unknown)
    }
}

/// `zlaunch fit`.
pub fn answer(request: &FitRequest, host: &Host) -> Result<FitReport, Vec<Problem>> {
    let launch = &request.launch;
    if launch.command.is_empty() {
        let cluster = cluster(&launch.topology, None, host)?;
        return FitInputs::new(None, cluster, launch, host).of_request(request, host).report(host);
    }
    let understood = UnderstoodLaunch::new(launch, host);
    if !understood.job.problems.is_empty() {
        return Err(understood.job.problems);
    }
    let cluster = cluster(&launch.topology, Some(understood.topology()), &understood.host)?;
    let mut inputs = FitInputs::new(Some(&understood.job), cluster, launch, &understood.host).of_request(request, host);
    if inputs.config.is_none() {
        let own = understood.own_config().filter(|own| !own.value.is_empty()).map(|own| understood.own_file(own));
        let is_here = |own: &Sourced<String>| template::resolve(own, &launch.search, &understood.host).is_ok();
        (inputs.config, inputs.unread) = match own {
            Some(own) if own.value == AUTO || is_here(&own) => (Some(own), None),
            own => (None, own),
        };
    }
    let named = inputs.config.as_ref().and_then(|named| candidates::config_of(named, launch, &understood.host).ok());
    if let Some((_, config)) = named.filter(|_| request.training.dtype.is_none()) {
        inputs = inputs.of_config(&config);
    }
    inputs.report(&understood.host)
}

/// `--deepspeed auto`: the template, and a sentence that says why.
pub(crate) fn choose(
    spec: &Sourced<String>,
    job: &Job,
    topology: &Topology,
    launch: &Launch,
    host: &Host,
) -> Result<(String, String), Vec<Problem>> {
    let refused = |what: &str, fixes: Fixes| Problem::error(Rule::AutoTemplate, what).at(spec).fix(fixes);
    let cannot = |why: &str, fixes: Fixes| refused(&format!("a template cannot be chosen: {why}"), fixes);
    let name_one = || give("--deepspeed", "zero3");
    let Some(cluster) = cluster_of(topology) else {
        return Err(cannot("the number of GPUs is unknown", name_one().into()).into());
    };
    let inputs = FitInputs::new(Some(job), cluster, launch, host);
    if job.trainer.is_passthrough() || inputs.args.model.is_none() {
        let argument = Some(job.trainer.model.argument).filter(|name| job.takes(name));
        let fixes = match argument {
            Some(name) => Fixes::from(format!("add --{name} to the command")).or(name_one()),
            None => name_one().into(),
        };
        return Err(cannot("the command names no model", fixes).into());
    }
    if inputs.needs_more() {
        let why = "this training keeps more than one model or generates text, which zlaunch does not count";
        return Err(cannot(why, name_one().into()).into());
    }
    let report = inputs.report(host)?;
    let problem = match (&report.gpu_memory, &report.recommended) {
        (Some(_), Some(chosen)) => return Ok((chosen.template.clone(), report.sentence(chosen))),
        (None, _) => cannot("the memory of the GPUs is unknown", give("--gpu-memory", "80GiB").into()),
        (Some(_), None) => {
            let would = remedies::sentences(&report.remedies);
            let help = if would.is_empty() { "a smaller model, or more GPUs" } else { &would };
            refused("this training fits with no template", help.into())
        }
    };
    Err(report.lines().into_iter().fold(problem, Problem::at).into())
}

/// Bytes that a launch with offload needs in the memory of each node, if its model and ranks are known.
pub(crate) fn host_memory(job: &Job, topology: &Topology, config: &Value, launch: &Launch, host: &Host) -> Option<u64> {
    let inputs = FitInputs::new(Some(job), cluster_of(topology)?, launch, host);
    let (weights, _, workload) = inputs.training(host).ok()?;
    let strategy = Strategy::of(config, weights.shape.hidden);
    strategy.offloads().then(|| memory::need(&workload, &strategy, inputs.cluster).host)
}

fn count(number: Option<&Sourced<u32>>) -> Option<u64> {
    number.map(|number| u64::from(number.value))
}

fn cluster_of(topology: &Topology) -> Option<Cluster> {
    Some(Cluster { nodes: count(topology.nnodes.as_ref())?, gpus: count(topology.nproc_per_node.as_ref())? })
}

/// The cluster as the flags describe it, completed from the command's topology or from this machine.
fn cluster(
    flags: &RankFlags,
    topology: Option<Result<Topology, Vec<Problem>>>,
    host: &Host,
) -> Result<Cluster, Vec<Problem>> {
    let nodes = count(flags.nnodes.as_ref());
    if let Some(Processes::Count(gpus)) = flags.nproc_per_node.as_ref().map(|nproc| &nproc.value) {
        return Ok(Cluster { nodes: nodes.unwrap_or(1), gpus: u64::from(*gpus) });
    }
    let topology = match topology {
        Some(topology) => topology?,
        None => {
            // Several nodes would need a rendezvous, which does not matter here.
            let one_node = RankFlags { nnodes: None, ..flags.clone() };
            Topology::decide(&one_node, &HostFlags::default(), true, host)?
        }
    };
    let gpus = count(topology.nproc_per_node.as_ref()).ok_or_else(|| {
        let what = "the command does not say how many GPUs it runs on";
        Problem::error(Rule::Usage, what).at("zlaunch fit").fix(give("--gpus", 8))
    })?;
    Ok(Cluster { nodes: nodes.or(count(topology.nnodes.as_ref())).unwrap_or(1), gpus })
}

/// Everything that a report is made from.
#[derive(Clone)]
struct FitInputs<'a> {
    args: TrainingArgs,
    /// The front end whose defaults apply.
    trainer: Option<&'static Trainer>,
    lookup: ModelLookup,
    /// The config that is judged, besides the templates.
    config: Option<Sourced<String>>,
    /// The config of the command, if it is not here.
    unread: Option<Sourced<String>>,
    card: Option<&'static str>,
    /// Not on this machine, so its memory says nothing.
    is_elsewhere: bool,
    cluster: Cluster,
    launch: &'a Launch,
    allocator: UsedAllocator,
    accounting: Accounting,
}

impl<'a> FitInputs<'a> {
    fn new(job: Option<&Job>, cluster: Cluster, launch: &'a Launch, host: &Host) -> Self {
        let lookup = ModelLookup {
            hub: job.map_or(Hub::HuggingFace, |job| (job.trainer.model.hub)(&job.args, host)),
            revision: job.and_then(|job| job.args.text("model_revision")).map(|revision| revision.value),
            trusts_names: false,
        };
        FitInputs {
            args: TrainingArgs { seq_len: launch.memory.seq_len.clone(), ..TrainingArgs::default() }
                .or(job.map(|job| arguments::of_command(job, host)).unwrap_or_default()),
            trainer: job.map(|job| job.trainer),
            lookup,
            config: launch.deepspeed.clone(),
            unread: None,
            card: None,
            is_elsewhere: false,
            cluster,
            launch,
            allocator: UsedAllocator::of(job, host),
            accounting: Accounting::Real,
        }
    }

    /// With the options of `zlaunch fit`, which may be about other machines and models that are not here.
    fn of_request(mut self, request: &FitRequest, host: &Host) -> Self {
        self.args = request.training.clone().or(self.args);
        self.lookup.trusts_names = true;
        self.card = request.card;
        self.accounting = request.accounting;
        let has_fewer = host.nvidia_gpus.is_none_or(|here| self.cluster.gpus > here as u64);
        self.is_elsewhere = self.launch.memory.gpu.is_some() || has_fewer;
        self
    }

    /// Half precision that the config switches on by itself counts, whatever the arguments say.
    fn of_config(mut self, config: &Value) -> Self {
        let is_on = |(key, _): &(&str, Dtype)| json::get(config, key) == Some(&Value::Bool(true));
        let on = [("bf16.enabled", Dtype::Bf16), ("fp16.enabled", Dtype::Fp16)].into_iter().find(is_on);
        self.args.dtype = on.map(|(_, dtype)| Sourced::new(dtype, Source::Default)).or(self.args.dtype);
        self
    }

    /// What is trained, if its numbers are small enough to be summed.
    fn training(&self, host: &Host) -> Result<(Weights, TrainingSettings, Workload), Problem> {
        let weights = weights::find(&self.args, &self.lookup, host)?;
        let settings = TrainingSettings::new(&self.args, self.trainer, weights.dtype);
        let workload = Workload::new(&weights, &settings);
        if workload.is_plausible(self.cluster) {
            return Ok((weights, settings, workload));
        }
        let (Workload { params, micro_batch, seq_len, .. }, Cluster { nodes, gpus }) = (workload, self.cluster);
        let place = format!(
            "{params} parameters, {micro_batch} × {seq_len} tokens at once, {nodes} machines with {gpus} GPUs each"
        );
        Err(Problem::error(Rule::Fit, "these numbers are too large for any training")
            .at(place)
            .fix(give("--micro-batch", 1).and(give("--seq-len", 2048)).and(give("--gpus", 8))))
    }

    /// The training keeps models that are not counted, or generates text.
    fn needs_more(&self) -> bool {
        self.args.algorithm.is_some_and(|algorithm| !algorithm.is_counted)
    }

    fn report(&self, host: &Host) -> Result<FitReport, Vec<Problem>> {
        let (weights, settings, workload) = self.training(host)?;
        let is_real = self.accounting == Accounting::Real;
        let (gpu_memory, host_memory) = (self.gpu_memory(host), self.host_memory());
        let hidden = weights.shape.hidden;
        let candidates = Candidates::read(self.config.as_ref(), self.launch, hidden, &self.allocator, host)?;
        let free_disk = if self.is_elsewhere { None } else { candidates.free_disk(&Machine::here()) };
        let scenario = Scenario {
            weights: &weights,
            settings: &settings,
            cluster: self.cluster,
            gpu_memory: gpu_memory.as_ref().map(|memory| memory.value),
            host_memory: host_memory.as_ref().map(|memory| memory.value),
            disk: free_disk,
            accounting: self.accounting,
            allocator: None,
            templates: &candidates.all,
            order: candidates::fastest_first(self.cluster.world_size()),
        };
        let rows = scenario.rows();
        let recommended = scenario.recommend();
        let named = candidates
            .named
            .map(|row| NamedConfig { row, largest_micro_batch: scenario.largest_micro_batch(&candidates.all[row]) });
        let judged = named.as_ref().map(|named| &rows[named.row]);
        let fits = judged.map_or(recommended.is_some(), |row| row.verdict() != Verdict::Not);
        let remedies = match judged {
            _ if fits || !is_real || gpu_memory.is_none() => Vec::new(),
            Some(row) => remedies::remedies(&Scenario { order: &[&row.name], ..scenario }, &scenario),
            None => remedies::remedies(&scenario, &scenario),
        };
        let rule_of_thumb = advice::rule_of_thumb(weights.params, settings.tuner, scenario.gpu_memory);
        let assumed = self.assumed(&weights, &settings).into_iter();
        Ok(FitReport {
            model: self.args.model.as_ref().map(|model| model.value.clone()),
            cluster: self.cluster,
            card: self.card,
            allocator: self.allocator.clone(),
            accounting: self.accounting,
            rules_of_thumb: rule_of_thumb.into_iter().collect(),
            assumed: assumed.filter(|_| is_real).map(|(_, text)| text).collect(),
            weights,
            settings,
            workload,
            gpu_memory,
            host_memory,
            free_disk,
            rows,
            named,
            recommended,
            remedies,
        })
    }

    /// As the user gave it, or that of the smallest GPU here if the models of all of them are known.
    fn gpu_memory(&self, host: &Host) -> Option<Sourced<u64>> {
        self.launch.memory.gpu.clone().or_else(|| {
            let each: Option<Vec<u64>> = host.gpus().iter().map(|model| cards::memory(model)).collect();
            Some(Sourced::new(each?.into_iter().min()?, Source::Machine("the GPU's name")))
        })
    }

    fn host_memory(&self) -> Option<Sourced<u64>> {
        self.launch.memory.host.clone().or_else(|| {
            let is_here = self.accounting == Accounting::Real && !self.is_elsewhere;
            let here = Machine::here().memory().most().filter(|_| is_here);
            here.map(|bytes| Sourced::new(bytes, Source::Machine("this machine")))
        })
    }

    /// What nobody said. True: no default of the front end decides it either.
    fn assumed(&self, weights: &Weights, settings: &TrainingSettings) -> Vec<(bool, String)> {
        // What a script does by itself is not seen.
        let of_console = self.trainer.filter(|trainer| !trainer.launch.consoles.is_empty());
        let mut assumed: Vec<(bool, String)> = weights.assumed.iter().map(|text| (true, text.clone())).collect();
        if self.args.tuner.is_none() && settings.tuner != Tuner::Full {
            assumed.push((false, format!("LoRA, the default of {}", self.trainer.map_or("", |trainer| trainer.name))));
        } else if self.args.tuner.is_none() && self.trainer.is_some() && of_console.is_none() {
            assumed.push((true, "that all parameters are trained".to_string()));
        }
        if self.args.seq_len.is_none() {
            let is_open = of_console.is_none_or(|trainer| trainer.model.training.seq_len.is_none());
            assumed.push((is_open, format!("{} tokens per sequence", settings.seq_len)));
        }
        if self.args.micro_batch.is_none() {
            assumed.push((of_console.is_none(), format!("a micro batch of {}", settings.micro_batch)));
        }
        if self.args.dtype.is_none() && self.args.loaded.is_none() && self.trainer.is_some() {
            assumed.push((true, settings.dtype.name().to_string()));
        }
        let mut guess = |text: &str| assumed.push((true, text.to_string()));
        if settings.sequence_parallel > 1 {
            let ranks = settings.sequence_parallel;
            guess(&format!("that each GPU has one of {ranks} parts of a sequence, which was not measured"));
        }
        if let Some(unread) = &self.unread {
            guess(&format!("nothing about {}, which is not here", unread.spelling()));
        }
        if !settings.optimizer.is_measured() {
            guess("the most an optimizer can need, because this one was not measured");
        }
        let is_measured = self.trainer.is_some_and(|trainer| trainer.model.training.measured_losses);
        if self.args.algorithm.is_some_and(|algorithm| algorithm.is_counted) && !is_measured {
            guess("the loss as TRL computes it, where it was measured");
        }
        if self.needs_more() {
            guess("one model, and no generated text: other models are extra");
        }
        assumed
    }
}
