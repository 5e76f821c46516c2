//! `zlaunch fit` and `--deepspeed auto`: how much memory a training needs under each template, and which template to use.
//! Reads the model's files; everything else is arithmetic.

pub mod architecture;
mod candidates;
mod checkpoint;
mod choice;
mod fit_report;
pub(crate) mod launch_warning;
pub mod memory;
pub mod need;
pub mod optimizer;
mod picture;
mod remedies;
pub mod settings;
pub mod strategy;
pub mod tables;
mod training_args;
mod weights;
pub mod workload;

use serde_json::Value;

use crate::base::json;
use crate::base::size::Size;
use crate::base::source::{Source, Sourced};
use crate::command::allocator::Allocator;
use crate::command::job::{Job, Trainer};
use crate::command::model::Hub;
use crate::config::template;
use crate::host::Host;
use crate::host::cards::Card;
use crate::host::machine::Machine;
use crate::plan::ChosenTemplate;
use crate::ranks::topology::{HostFlags, Processes, RankFlags, Topology};
use crate::report::fix::{Fixes, give};
use crate::report::{Problem, Rule};
use crate::request::Launch;
use crate::request::understood::UnderstoodLaunch;

pub(crate) use architecture::Dtype;
use architecture::Weights;
pub(crate) use candidates::AUTO;
use candidates::{Candidates, FASTEST_FIRST, FASTEST_FIRST_ON_ONE_GPU};
use choice::{Scenario, Verdict};
use fit_report::FitReport;
pub use fit_report::View;
pub(crate) use need::Accounting;
use need::Cluster;
pub(crate) use optimizer::Optimizer;
pub(crate) use settings::{Attention, TrainedDtype, TrainingArgs, Tuner};
use settings::{PROMPT, TrainingSettings};
use strategy::Strategy;
use tables::algorithms::Algorithm;
use weights::ModelLookup;
use workload::Workload;

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

pub fn answer(request: &FitRequest, host: &Host) -> Result<FitReport, Vec<Problem>> {
    let launch = &request.launch;
    if launch.command.is_empty() {
        let cluster = cluster(request, None, host)?;
        return FitInputs::of_request(request, None, cluster, host).report(host);
    }
    let understood = UnderstoodLaunch::new(launch, host);
    if !understood.job.problems.is_empty() {
        return Err(understood.job.problems);
    }
    let host = &understood.host;
    let cluster = cluster(request, Some(understood.topology()), host)?;
    let mut inputs = FitInputs::of_request(request, Some(&understood.job), cluster, host);
    if inputs.config.is_none() {
        let own = understood
            .own_config()
            .filter(|own| !own.value.is_empty())
            .map(|own| understood.own_file(own));
        let is_here = own.as_ref().is_some_and(|own| {
            own.value == AUTO || template::resolve(own, &launch.search, host).is_ok()
        });
        (inputs.config, inputs.unread) = if is_here { (own, None) } else { (None, own) };
    }
    if let Some(named) = &inputs.config
        && request.training.dtype.is_none()
        && let Ok((_, config)) = candidates::config_of(named, launch, host)
    {
        inputs = inputs.of_config(&config);
    }
    inputs.report(host)
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
    let refused =
        |what: &str, fixes: Fixes| Problem::error(Rule::AutoTemplate, what).at(spec).fix(fixes);
    let cannot =
        |why: &str, fixes: Fixes| refused(&format!("a template cannot be chosen: {why}"), fixes);
    let name_one = || Fixes::from(give("--deepspeed", "zero3"));
    let Some(cluster) = cluster_of(topology) else {
        return Err(cannot("the number of GPUs is unknown", name_one()).into());
    };
    let mut inputs = FitInputs::new(TrainingArgs::default(), Some(job), cluster, launch, host);
    if job.trainer.is_passthrough() || inputs.args.model.is_none() {
        let name = job.trainer.model.argument;
        let add = format!("add --{name} to the command");
        let fixes = if job.takes(name) {
            Fixes::from(add).or(name_one())
        } else {
            name_one()
        };
        return Err(cannot("the command names no model", fixes).into());
    }
    let mut report = inputs.report(host)?;
    if report.workload.settings.algorithm.uncounted {
        return Err(cannot(
            "this run keeps models or generates text that zlaunch does not count",
            name_one(),
        )
        .into());
    }
    // If GPUs are described, the memory of this machine is no reason to refuse a template.
    if report.recommended.is_none() && launch.memory.gpu.is_some() {
        inputs.is_elsewhere = true;
        report = inputs.report(host)?;
    }
    let problem = match (&report.gpu_memory, &report.recommended) {
        (Some(_), Some(chosen)) => {
            return Ok(ChosenTemplate {
                name: chosen.template.clone(),
                why: report.sentence(chosen),
            });
        }
        (None, _) => cannot(
            "the memory of the GPUs is unknown",
            give("--gpu-memory", "80GiB").into(),
        ),
        (Some(_), None) if report.may_fit_with_offload() => refused(
            "no template fits on the GPUs alone, and the host memory is unknown",
            give("--host-memory", "1TiB")
                .remark("of the machine that will train")
                .into(),
        ),
        (Some(_), None) => {
            let would = remedies::sentences(&report.remedies);
            let help = if would.is_empty() {
                "a smaller model, or more GPUs"
            } else {
                &would
            };
            refused("no template fits this run", help.into())
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
    let inputs = FitInputs::new(
        TrainingArgs::default(),
        Some(job),
        cluster_of(topology)?,
        launch,
        host,
    );
    let (weights, workload) = inputs.training(host).ok()?;
    let strategy = Strategy::of(config, weights.shape.hidden);
    strategy
        .offloads()
        .then(|| memory::need(&workload, &strategy, inputs.cluster).host)
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
    FitRequest {
        launch: Launch {
            topology: flags, ..
        },
        card,
        ..
    }: &FitRequest,
    topology: Option<Result<Topology, Vec<Problem>>>,
    host: &Host,
) -> Result<Cluster, Vec<Problem>> {
    let nodes = count(flags.nnodes.as_ref());
    if let Some(Processes::Count(gpus)) = flags.nproc_per_node.as_ref().map(|nproc| &nproc.value) {
        return Ok(Cluster {
            nodes: nodes.unwrap_or(1),
            gpus: u64::from(*gpus),
        });
    }
    // A card without a number is one, unless the command itself says how many: the GPUs of this machine are others.
    let said = topology
        .as_ref()
        .and_then(|known| known.as_ref().ok()?.nproc_per_node.as_ref());
    if card.is_some() && !said.is_some_and(|count| matches!(count.from, Source::Argument(_))) {
        return Ok(Cluster {
            nodes: nodes.unwrap_or(1),
            gpus: 1,
        });
    }
    let topology = topology.unwrap_or_else(|| {
        // Several machines would need a rendezvous, which does not matter here.
        let one_machine = RankFlags {
            nnodes: None,
            ..flags.clone()
        };
        Topology::decide(&one_machine, &HostFlags::default(), true, host)
    })?;
    let gpus = count(topology.nproc_per_node.as_ref()).ok_or_else(|| {
        let what = "the number of GPUs is not in the command";
        Problem::error(Rule::Usage, what)
            .at("zlaunch fit")
            .fix(give("--gpus", 8))
    })?;
    Ok(Cluster {
        nodes: nodes.or(count(topology.nnodes.as_ref())).unwrap_or(1),
        gpus,
    })
}

#[derive(Clone)]
struct FitInputs<'a> {
    args: TrainingArgs,
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
    allocator: Allocator,
    accounting: Accounting,
}

impl<'a> FitInputs<'a> {
    /// `given` wins over the arguments of the job.
    fn new(
        given: TrainingArgs,
        job: Option<&Job>,
        cluster: Cluster,
        launch: &'a Launch,
        host: &Host,
    ) -> Self {
        let given = TrainingArgs {
            seq_len: launch.memory.seq_len.as_ref().map(|given| given.value),
            ..given
        };
        let hub = job.map_or(Hub::HuggingFace, |job| {
            (job.trainer.model.hub)(&job.args, host)
        });
        let revision = job
            .and_then(|job| job.args.text("model_revision"))
            .map(|revision| revision.value);
        FitInputs {
            args: match job {
                Some(job) => training_args::with_command(given, job, cluster.world_size(), host),
                None => given,
            },
            trainer: job.map(|job| job.trainer),
            lookup: ModelLookup {
                hub,
                revision,
                trusts_names: false,
            },
            config: launch.deepspeed.clone(),
            unread: None,
            card: None,
            is_elsewhere: false,
            cluster,
            launch,
            allocator: Allocator::of(job, host),
            accounting: Accounting::Real,
        }
    }

    /// With the options of `zlaunch fit`, which may be about other machines and models that are not here.
    fn of_request(
        request: &'a FitRequest,
        job: Option<&Job>,
        cluster: Cluster,
        host: &Host,
    ) -> Self {
        let mut inputs = FitInputs::new(
            request.training.clone(),
            job,
            cluster,
            &request.launch,
            host,
        );
        inputs.lookup.trusts_names = true;
        inputs.card = request.card;
        inputs.accounting = request.accounting;
        let has_fewer = host
            .nvidia_gpus
            .is_none_or(|here| cluster.gpus > here as u64);
        inputs.is_elsewhere = request.launch.memory.gpu.is_some() || has_fewer;
        inputs
    }

    /// Half precision that the config switches on by itself counts, whatever the arguments say.
    fn of_config(mut self, config: &Value) -> Self {
        for (key, dtype) in [("fp16.enabled", Dtype::Fp16), ("bf16.enabled", Dtype::Bf16)] {
            if json::get(config, key) == Some(&Value::Bool(true)) {
                self.args.dtype = Some(TrainedDtype::Given(dtype));
            }
        }
        self
    }

    /// Fails if the numbers are too large to be summed.
    fn training(&self, host: &Host) -> Result<(Weights, Workload), Problem> {
        let weights = weights::find(&self.args, &self.lookup, host)?;
        let mut settings = TrainingSettings::new(&self.args, self.trainer, weights.dtype);
        for name in &self.args.rewards {
            let model = TrainingArgs {
                model: Some(Sourced::new(name.clone(), Source::Default)),
                ..TrainingArgs::default()
            };
            match weights::find(&model, &self.lookup, host) {
                Ok(found) => settings.rewards.push(found),
                Err(_) => settings.algorithm.uncounted = true,
            }
        }
        settings.algorithm.uncounted |= settings.algorithm.critic && settings.rewards.is_empty();
        let workload = Workload::new(&weights, &settings);
        if workload.is_plausible(self.cluster) {
            return Ok((weights, workload));
        }
        let (
            Workload {
                params, seq_len, ..
            },
            Cluster { nodes, gpus },
        ) = (workload, self.cluster);
        let micro_batch = settings.micro_batch;
        let place = format!(
            "{params} parameters, {micro_batch} × {seq_len} tokens at once, {nodes} machines with {gpus} GPUs each"
        );
        Err(
            Problem::error(Rule::Fit, "these numbers are too large for any run")
                .at(place)
                .fix(
                    give("--micro-batch", 1)
                        .and(give("--seq-len", 2048))
                        .and(give("--gpus", 8)),
                ),
        )
    }

    fn report(&self, host: &Host) -> Result<FitReport, Vec<Problem>> {
        let (weights, workload) = self.training(host)?;
        let is_real = self.accounting == Accounting::Real;
        let (gpu_memory, host_memory) = (self.gpu_memory(host), self.host_memory());
        let hidden = weights.shape.hidden;
        let candidates = Candidates::read(
            self.config.as_ref(),
            self.launch,
            hidden,
            &self.allocator,
            host,
        )?;
        let free_disk = if self.is_elsewhere {
            None
        } else {
            candidates.free_disk
        };
        let scenario = Scenario {
            weights: &weights,
            settings: &workload.settings,
            cluster: self.cluster,
            gpu_memory: gpu_memory.as_ref().map(|memory| memory.value),
            host_memory: host_memory.as_ref().map(|memory| memory.value),
            disk: free_disk,
            accounting: self.accounting,
            segments: None,
            templates: &candidates.all,
            order: if self.cluster.world_size() == 1 {
                FASTEST_FIRST_ON_ONE_GPU
            } else {
                FASTEST_FIRST
            },
        };
        let rows = scenario.rows();
        let recommended = scenario.recommend();
        let named = candidates
            .named
            .map(|row| (row, scenario.largest_micro_batch(&candidates.all[row])));
        let judged = named.map(|(row, _)| &rows[row]);
        let fits = judged.map_or(recommended.is_some(), |row| row.verdict != Verdict::Not);
        let remedies = match judged {
            _ if fits || !is_real || gpu_memory.is_none() => Vec::new(),
            Some(row) => remedies::remedies(
                &Scenario {
                    order: &[&row.name],
                    ..scenario
                },
                &scenario,
            ),
            None => remedies::remedies(&scenario, &scenario),
        };
        let assumed = if is_real {
            self.assumed(&weights, &workload.settings)
        } else {
            Vec::new()
        };
        Ok(FitReport {
            model: self.args.model.as_ref().map(|model| model.value.clone()),
            cluster: self.cluster,
            card: self.card,
            allocator: self.allocator.clone(),
            accounting: self.accounting,
            assumed: assumed.into_iter().map(|(_, text)| text).collect(),
            weights,
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
            let each: Option<Vec<u64>> = host
                .gpus()
                .iter()
                .map(|model| Card::of_driver(model).map(Card::memory))
                .collect();
            Some(Sourced::new(
                each?.into_iter().min()?,
                Source::Machine("the GPU's name"),
            ))
        })
    }

    fn host_memory(&self) -> Option<Sourced<u64>> {
        if self.launch.memory.host.is_some()
            || self.accounting == Accounting::Textbook
            || self.is_elsewhere
        {
            return self.launch.memory.host.clone();
        }
        Some(Sourced::new(
            Machine::here().memory().most()?,
            Source::Machine("this machine"),
        ))
    }

    /// The settings that nobody gave, each with `true` if no default of the front end decides it either.
    #[expect(clippy::too_many_lines, reason = "it is split next")]
    fn assumed(&self, weights: &Weights, settings: &TrainingSettings) -> Vec<(bool, String)> {
        let TrainingArgs {
            tuner,
            seq_len,
            micro_batch,
            dtype,
            algorithm,
            ..
        } = &self.args;
        // A script may change the defaults of its front end, and that is not seen.
        let of_console = self
            .trainer
            .filter(|trainer| !trainer.launch.consoles.is_empty());
        let is_script = of_console.is_none();
        let is_open = of_console.is_none_or(|trainer| trainer.model.training.seq_len.is_none());
        let is_measured = self
            .trainer
            .is_some_and(|trainer| trainer.model.training.measured_losses);
        let (default_tuner, is_full) = (tuner.is_none(), settings.tuner == Tuner::Full);
        let TrainingSettings {
            rollout,
            sequence_parallel: ranks,
            ..
        } = *settings;
        let Algorithm {
            uncounted, groups, ..
        } = settings.algorithm;
        let (prompts, answer) = (
            seq_len.is_none() && rollout.is_some(),
            rollout.map_or(0, |rollout| rollout.answer),
        );
        let trainer = self.trainer.map_or("", |trainer| trainer.name);
        let unread = self.unread.as_ref().map(Sourced::spelling);
        let (is_unmeasured, of_trl) = (
            !settings.optimizer.is_measured(),
            algorithm.is_some() && !is_measured,
        );
        let text = str::to_string;
        let notes = [
            (
                default_tuner && !is_full,
                false,
                format!("LoRA, the default of {trainer}"),
            ),
            (
                default_tuner && is_full && !trainer.is_empty() && is_script,
                true,
                text("all parameters are trained"),
            ),
            (
                prompts,
                true,
                format!("prompts of {PROMPT} tokens before answers of {answer}"),
            ),
            (
                seq_len.is_none() && !prompts,
                is_open,
                format!("{} tokens per sequence", settings.seq_len),
            ),
            (
                micro_batch.is_none(),
                is_script,
                format!("a micro batch of {}", settings.micro_batch),
            ),
            (
                dtype.is_none() && !trainer.is_empty(),
                true,
                text(settings.dtype.name()),
            ),
            (
                settings.evaluation.is_some() && is_script,
                false,
                text("an evaluation that keeps no logits for metrics"),
            ),
            (
                unread.is_some(),
                true,
                format!(
                    "nothing about {}, which was not found",
                    unread.unwrap_or_default()
                ),
            ),
            (
                ranks > 1,
                true,
                format!(
                    "each GPU holds one of {ranks} parts of a sequence, which was not measured"
                ),
            ),
            (
                is_unmeasured,
                true,
                text("the most that an optimizer can need, because this one was not measured"),
            ),
            (
                of_trl && !uncounted,
                true,
                text("the loss as TRL computes it, where it was measured"),
            ),
            (
                uncounted,
                true,
                text("what is known of it: other models, and vLLM on the same GPUs, come on top"),
            ),
            (
                !uncounted && groups && settings.rewards.is_empty(),
                true,
                text("rewards that are computed without a GPU"),
            ),
        ];
        let of_weights = weights.assumed.iter().map(|text| (true, text.clone()));
        let notes = notes
            .into_iter()
            .filter(|(is_so, ..)| *is_so)
            .map(|(_, is_guess, text)| (is_guess, text));
        of_weights.chain(notes).collect()
    }
}
