//! Does it fit: what a training needs on each GPU and each host under every template, and which one to take. Reads the
//! model's files; everything else is sums.

mod advice;
mod architecture;
pub(crate) mod cards;
mod checkpoint;
mod choice;
#[cfg(test)]
mod measured;
mod memory;
mod print;
mod strategy;
mod training;
mod weights;

use serde_json::Value;

use crate::base::size::Size;
use crate::base::source::{Source, Sourced};
use crate::command::model::Hub;
use crate::command::trainer::{Family, Job, Trainer};
use crate::config::template::{self, Search, Template};
use crate::host::Host;
use crate::host::machine::Machine;
use crate::ranks::topology::{Processes, RankFlags, Topology};
use crate::report::{self, Problem};
use crate::request::draft::Draft;
use crate::request::{Format, Launch, MemoryFlags};

use advice::Advice;
use choice::{Limits, Recommended, Row, Ways, recommend};
pub(crate) use memory::Machines;
use memory::Training;
use strategy::Strategy;
use training::Settled;
pub(crate) use training::{Attention, Dtype, Optimizer, TrainingArgs, Tuner};
use weights::{Lookup, Weights};
pub(crate) use weights::{bytes, parameters};

/// `zlaunch fit`, as it was said.
pub(crate) struct FitRequest {
    pub(crate) launch: Launch,
    pub(crate) training: TrainingArgs,
    pub(crate) accounting: Accounting,
    pub(crate) format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accounting {
    /// What DeepSpeed and transformers allocate.
    Real,
    /// 2 + 2 + 8 bytes a parameter.
    Textbook,
}

/// Rows of the table that are templates; `none` stands before them.
const ROWS: &[&str] = &["zero0", "zero1", "zero2", "zero2_offload", "zero3", "zero3_offload", "zero3_nvme"];

/// The answer, as a plain value.
pub(crate) struct FitReport {
    pub(crate) model: Option<String>,
    pub(crate) weights: Weights,
    pub(crate) settled: Settled,
    pub(crate) training: Training,
    pub(crate) machines: Machines,
    pub(crate) gpu_memory: Option<Sourced<u64>>,
    pub(crate) host_memory: Option<Sourced<u64>>,
    pub(crate) accounting: Accounting,
    pub(crate) rows: Vec<Row>,
    pub(crate) recommended: Option<Recommended>,
    /// What would make it fit, if nothing does.
    pub(crate) would: Vec<String>,
    pub(crate) rules_of_thumb: Vec<String>,
    pub(crate) assumed: Vec<String>,
}

/// `zlaunch fit`.
pub(crate) fn answer(request: &FitRequest, machine: &Host) -> Result<FitReport, Vec<Problem>> {
    let FitRequest { launch, training, accounting, .. } = request;
    if launch.command.is_empty() {
        let machines = machines(&launch.topology, None, machine)?;
        let question = Question {
            sourced: training.clone(),
            trainer: None,
            lookup: Lookup { hub: Hub::HuggingFace, revision: None, trusts_names: true },
            machines,
            memory: &launch.memory,
            accounting: *accounting,
            search: &launch.search,
            own: launch.deepspeed.as_ref(),
            more_models: false,
        };
        return question.answer(machine);
    }
    let draft = Draft::new(launch, machine);
    if !draft.job.problems.is_empty() {
        return Err(draft.job.problems);
    }
    let machines = machines(&launch.topology, Some(draft.topology()), &draft.host)?;
    let mut question = Question::of_job(&draft.job, machines, launch, *accounting, &draft.host);
    question.sourced = training.clone().or(question.sourced);
    question.lookup.trusts_names = true;
    question.answer(&draft.host)
}

/// `--deepspeed auto`: the template, and why in one line.
pub(crate) fn choose(
    spec: &Sourced<String>,
    job: &Job,
    topology: &Topology,
    launch: &Launch,
    host: &Host,
) -> Result<(String, String), Vec<Problem>> {
    let machines = known(topology).ok_or_else(|| report::auto_without_ranks(spec))?;
    let mut question = Question::of_job(job, machines, launch, Accounting::Real, host);
    question.own = None;
    if job.trainer.family == Family::Opaque || question.sourced.model.is_none() {
        return Err(report::auto_without_model(spec, job.trainer.model_argument).into());
    }
    if question.more_models {
        return Err(report::auto_counts_one_model(spec).into());
    }
    let report = question.answer(host)?;
    match (&report.gpu_memory, &report.recommended) {
        (None, _) => Err(report::auto_without_memory(spec, report.lines()).into()),
        (Some(_), None) => Err(report::auto_fits_nothing(spec, report.lines(), &report.would).into()),
        (Some(_), Some(chosen)) => Ok((chosen.template.clone(), report.sentence(chosen))),
    }
}

/// Bytes that a launch which offloads needs in the memory of each machine, where its model and ranks are known.
pub(crate) fn host_memory(job: &Job, topology: &Topology, config: &Value, launch: &Launch, host: &Host) -> Option<u64> {
    let question = Question::of_job(job, known(topology)?, launch, Accounting::Real, host);
    let weights = weights::find(&question.sourced, &question.lookup, host).ok()?;
    let training = training_of(&weights, &Settled::new(&question.sourced, question.trainer));
    let strategy = Strategy::of(config, weights.shape.hidden);
    let counted = strategy.offloads() && training.can_be_counted(question.machines);
    counted.then(|| memory::need(&training, &strategy, question.machines).host)
}

fn known(topology: &Topology) -> Option<Machines> {
    let count = |sourced: &Option<Sourced<u32>>| sourced.as_ref().map(|sourced| u64::from(sourced.value));
    Some(Machines { nodes: count(&topology.nnodes)?, gpus: count(&topology.nproc_per_node)? })
}

/// The ranks that were said; what the command or the machine says where that is open.
fn machines(
    flags: &RankFlags,
    topology: Option<Result<Topology, Vec<Problem>>>,
    host: &Host,
) -> Result<Machines, Vec<Problem>> {
    let flag = flags.nproc_per_node.as_ref().and_then(|sourced| match sourced.value {
        Processes::Count(count) => Some(u64::from(count)),
        Processes::Gpus | Processes::Cpus => None,
    });
    let nodes = flags.nnodes.as_ref().map(|sourced| u64::from(sourced.value));
    if let Some(gpus) = flag {
        return Ok(Machines { nodes: nodes.unwrap_or(1), gpus });
    }
    // Where the machines meet is of no interest here.
    let alone = RankFlags { nnodes: None, ..flags.clone() };
    let topology = match topology {
        Some(topology) => topology?,
        None => Topology::decide(&alone, &crate::ranks::topology::HostFlags::default(), true, host)?,
    };
    let seen = |sourced: &Option<Sourced<u32>>| sourced.as_ref().map(|sourced| u64::from(sourced.value));
    match seen(&topology.nproc_per_node) {
        Some(gpus) => Ok(Machines { nodes: nodes.or(seen(&topology.nnodes)).unwrap_or(1), gpus }),
        None => Err(vec![report::gpus_not_said()]),
    }
}

/// All that is asked.
struct Question<'a> {
    sourced: TrainingArgs,
    /// Whose defaults hold.
    trainer: Option<&'static Trainer>,
    lookup: Lookup,
    machines: Machines,
    memory: &'a MemoryFlags,
    accounting: Accounting,
    search: &'a Search,
    /// A config the user named, for a row of its own.
    own: Option<&'a Sourced<String>>,
    /// The command trains with a second model beside the first.
    more_models: bool,
}

impl<'a> Question<'a> {
    fn of_job(job: &Job, machines: Machines, launch: &'a Launch, accounting: Accounting, host: &Host) -> Self {
        Question {
            sourced: training::of_command(job),
            trainer: Some(job.trainer),
            lookup: Lookup {
                hub: (job.trainer.hub)(&job.args, host),
                revision: job.args.text("model_revision").map(|sourced| sourced.value),
                trusts_names: false,
            },
            machines,
            memory: &launch.memory,
            accounting,
            search: &launch.search,
            own: launch.deepspeed.as_ref(),
            more_models: training::has_more_models(job),
        }
    }

    fn answer(&self, host: &Host) -> Result<FitReport, Vec<Problem>> {
        let weights = weights::find(&self.sourced, &self.lookup, host)?;
        let settled = Settled::new(&self.sourced, self.trainer);
        let training = training_of(&weights, &settled);
        if !training.can_be_counted(self.machines) {
            return Err(report::beyond_counting(
                training.params,
                training.micro_batch,
                training.seq_len,
                self.machines.nodes,
                self.machines.gpus,
            )
            .into());
        }
        let strategies = self.strategies(weights.shape.hidden, host)?;
        let real = self.accounting == Accounting::Real;
        let gpu_memory = self.memory.gpu.clone().or_else(|| smallest_gpu(host));
        let seen = || Machine::here().memory().most().map(|bytes| Sourced::new(bytes, Source::Machine("this machine")));
        let host_memory = self.memory.host.clone().or_else(|| seen().filter(|_| real));
        let limits = Limits {
            gpu: gpu_memory.as_ref().map(|sourced| sourced.value),
            host: host_memory.as_ref().map(|sourced| sourced.value),
            accounting: self.accounting,
        };
        let advice = Advice::read();
        let rows = limits.rows(&training, &strategies, self.machines);
        let order = advice.order(self.machines.world());
        let recommended = recommend(&rows, &order, &training, self.machines, &limits, &advice);
        let would = match (&recommended, limits.gpu) {
            (None, Some(_)) if real => {
                Ways { limits: &limits, order: &order, strategies: &strategies, weights: &weights, settled: &settled }
                    .all(self.machines)
            }
            _ => Vec::new(),
        };
        let assumed = if real { self.assumed(&weights, &settled) } else { Vec::new() };
        let rules = advice.rules_of_thumb(weights.params, settled.tuner.value, limits.gpu);
        let rules_of_thumb = rules.into_iter().map(str::to_string).collect();
        let model = self.sourced.model.as_ref().map(|sourced| sourced.value.clone());
        Ok(FitReport {
            model,
            weights,
            settled,
            training,
            machines: self.machines,
            gpu_memory,
            host_memory,
            accounting: self.accounting,
            rows,
            recommended,
            would,
            rules_of_thumb,
            assumed,
        })
    }

    /// The rows and what each does: the templates as they are found here, then the user's own config.
    fn strategies(&self, hidden: u64, host: &Host) -> Result<Vec<(String, Strategy)>, Vec<Problem>> {
        let mut all = vec![("none".to_string(), Strategy::NONE)];
        for name in ROWS {
            let spec = Sourced::new((*name).to_string(), Source::Default);
            let template = template::resolve(&spec, self.search, host)?;
            all.push((template.name.clone(), Strategy::of(&template.config, hidden)));
        }
        if let Some(own) = self.own.filter(|own| own.value != AUTO && !ROWS.contains(&own.value.as_str())) {
            let Template { name, config, .. } = template::resolve(own, self.search, host)?;
            all.push((name, Strategy::of(&config, hidden)));
        }
        Ok(all)
    }

    fn assumed(&self, weights: &Weights, settled: &Settled) -> Vec<String> {
        let mut assumed = weights.assumed.clone();
        if settled.tuner.from == Source::Default && settled.tuner.value != Tuner::Full {
            assumed.push(format!("LoRA, as {} does unless told", self.trainer.map_or("", |trainer| trainer.name)));
        }
        if settled.seq_len.from == Source::Default {
            assumed.push(format!("{} tokens a sequence", settled.seq_len.value));
        }
        if settled.micro_batch.from == Source::Default {
            assumed.push(format!("a micro batch of {}", settled.micro_batch.value));
        }
        if self.more_models {
            assumed.push("one model: a reference or reward model comes on top".to_string());
        }
        assumed
    }
}

impl FitReport {
    /// The memory is known, and it is too little.
    pub(crate) fn nothing_fits(&self) -> bool {
        self.gpu_memory.is_some() && self.recommended.is_none()
    }
}

/// The memory of the smallest GPU here, if the models of all of them are known.
fn smallest_gpu(host: &Host) -> Option<Sourced<u64>> {
    let each: Option<Vec<u64>> = host.gpus().iter().map(|model| cards::memory(model)).collect();
    Some(Sourced::new(each?.into_iter().min()?, Source::Machine("the GPU's name")))
}

/// The word that stands for "choose".
pub(crate) const AUTO: &str = "auto";

fn training_of(weights: &Weights, settled: &Settled) -> Training {
    let element = settled.dtype.value.bytes();
    let Weights { unquantised, shape, .. } = weights;
    // So many are refused by `can_be_counted`.
    let params = &weights.params.min(1 << 54);
    let (trainable, adapters, adapted_inputs) = match settled.tuner.value {
        Tuner::Full => (*params, 0, 0),
        Tuner::Lora | Tuner::Quantised(_) => adapters(weights, settled),
    };
    let frozen = match settled.tuner.value {
        Tuner::Full => 0,
        Tuner::Lora => element * params,
        // A scale of four bytes for every 64 weights comes on top.
        Tuner::Quantised(bits) => element * unquantised + (params - unquantised) * (2 * bits + 1) / 16,
    };
    Training {
        params: *params,
        trainable,
        weights: frozen + element * trainable,
        element,
        optimizer: settled.optimizer.value,
        shape: shape.clone(),
        micro_batch: settled.micro_batch.value,
        seq_len: settled.seq_len.value,
        accumulates: settled.grad_accum.value > 1,
        checkpointing: settled.checkpointing.value,
        attention: settled.attention.value,
        fused_loss: settled.fused_loss.value,
        adapters,
        adapted_inputs,
    }
}

/// Parameters of LoRA, the elements it keeps for each token of a layer, and those that go into what it adapts.
fn adapters(weights: &Weights, settled: &Settled) -> (u64, u64, u64) {
    let targets = &settled.lora_targets.value;
    let all = ["all-linear", "all", "default"].contains(&targets.as_str());
    let named = |name: &str| targets.split(',').any(|target| target.trim() == name);
    let rank = settled.lora_rank.value;
    let (mut params, mut kept, mut entered) = (0, 0, 0);
    for (_, inputs, outputs) in weights.shape.linears.iter().filter(|(name, ..)| all || named(name)) {
        params += rank * (inputs + outputs);
        kept += rank + if settled.dropout.value { inputs + inputs / 2 } else { 0 };
        entered += inputs;
    }
    ((params * weights.shape.layers).max(1), kept, entered.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn template(name: &str) -> Template {
        let spec = Sourced::new(name.to_string(), Source::Default);
        template::resolve(&spec, &Search::default(), &Host::default()).unwrap()
    }

    /// A model of this size with the settings most people start with.
    pub(super) fn training(params: u64, tuner: Tuner) -> Training {
        let sourced = TrainingArgs {
            params: Some(Sourced::new(params, Source::Default)),
            tuner: Some(Sourced::new(tuner, Source::Default)),
            ..TrainingArgs::default()
        };
        let lookup = Lookup { hub: Hub::HuggingFace, revision: None, trusts_names: false };
        let weights = weights::find(&sourced, &lookup, &Host::default()).unwrap();
        training_of(&weights, &Settled::new(&sourced, None))
    }
}
