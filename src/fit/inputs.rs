//! A training and the machines it runs on: what is given, by options or by a command, and what was found here. And the configs
//! that are compared for it: no DeepSpeed, the templates, and the one that the user named.

use serde_json::Value;

use super::{
    estimate::{Candidate, FitInputs, Memories},
    need::Cluster,
    settings::{Certainty, TrainingArgs, TrainingReader, TrainingSettings},
    strategy::Strategy,
    tables::{
        dtypes::{BF16, FP16},
        templates::{FASTEST_FIRST, FASTEST_FIRST_ON_ONE_GPU, NONE, TEMPLATES, WITHOUT_DEEPSPEED},
        words::REAL,
    },
    weights::ModelLookup,
    workload::Workload,
};
use crate::{
    base::{
        json,
        source::{Given, Source, Sourced, default},
    },
    command::{allocator::Allocator, job::Job, model::Hub},
    config::{
        layers,
        template::{self, Template},
    },
    host::{
        Host,
        cards::{Card, WITHOUT_BF16},
        machine::{Machine, is_model},
    },
    report::{Problem, Problems, Rule},
    request::{AUTO, Launch},
};

impl<'a> FitInputs<'a> {
    /// `given` wins over the arguments of the job, and so does half precision that the config switches on by itself. Fails if the
    /// numbers are too large to be summed.
    pub fn new(
        mut given: TrainingArgs,
        job: Option<&Job>,
        config: Option<&Value>,
        cluster: Cluster,
        launch: &'a Launch,
        host: &Host,
    ) -> Result<Self, Problem> {
        let is_on = |key: &str| {
            let value = config.and_then(|config| json::get(config, key));
            value == Some(&Value::Bool(true))
        };
        given.dtype = match given.dtype {
            None if is_on("bf16.enabled") => Some(BF16),
            None if is_on("fp16.enabled") => Some(FP16),
            dtype => dtype,
        };
        given.seq_len = launch.memory.seq_len.value();
        let reader = TrainingReader::new(&given, job);
        let revision = job.and_then(|job| job.args.text("model_revision"));
        let lookup = ModelLookup {
            hub: job.map_or(Hub::HuggingFace, |job| job.hub(host)),
            revision: revision.map(|revision| revision.value),
            trusts_names: given.trusts_names,
            host,
        };
        let model = reader.model();
        let mut weights = lookup.find(model.as_ref(), given.params.as_ref())?;
        let mut settings = reader.settings(weights.dtype, cluster.world_size(), host);
        if weights.tower.is_some() && weights.uncounted.is_none() {
            weights.uncounted = reader.uncounted(&settings).map(str::to_string);
        }
        if settings.rollout.is_some() {
            for name in reader.rewards() {
                match lookup.find(Some(&default(name)), None) {
                    Ok(found) => settings.rewards.push(found),
                    Err(_) => settings.algorithm.uncounted = true,
                }
            }
        }
        settings.algorithm.uncounted |= settings.algorithm.critic && settings.rewards.is_empty();
        if settings.algorithm.uncounted {
            let text = "this run keeps models or generates text that zlaunch does not count";
            weights.uncounted.get_or_insert(text.to_string());
        }
        let workload = Workload::new(&weights, &settings);
        if !workload.is_plausible(cluster) {
            let what = "these numbers are too large for any run";
            return Err(Rule::Fit
                .error(what)
                .at("zlaunch fit")
                .fix("a smaller batch, shorter sequences or fewer GPUs"));
        }
        let order = if cluster.world_size() == 1 {
            FASTEST_FIRST_ON_ONE_GPU
        } else {
            FASTEST_FIRST
        };
        Ok(FitInputs {
            assumed: reader.assumed(&weights, &settings, host),
            least: reader.least(&settings),
            model: model.map(|model| model.value),
            weights,
            workload,
            config: launch.deepspeed.clone(),
            card: None,
            is_elsewhere: launch.memory.gpu.is_some(),
            cluster,
            launch,
            allocator: Allocator::of(job, host),
            accounting: REAL,
            memories: Memories::default(),
            templates: vec![],
            order: order.iter().map(ToString::to_string).collect(),
        })
    }

    pub fn settings(&self) -> &TrainingSettings {
        &self.workload.settings
    }

    /// Memory says nothing about what a GPU can compute.
    pub fn assume_emulation(&mut self, host: &Host) {
        let gpus = match self.card {
            Some(card) => vec![card.to_string()],
            None => host.gpus(),
        };
        let is_old = |gpu: &&String| WITHOUT_BF16.iter().any(|model| is_model(gpu, model));
        if let Some(gpu) = gpus
            .iter()
            .find(is_old)
            .filter(|_| self.settings().dtype == BF16)
        {
            let text = format!("bf16, which {gpu} only emulates (fp16 takes as much)");
            self.assumed.push(Certainty::ByDefault.assume(text));
        }
    }

    /// As the user gave it, or that of the smallest GPU here if the models of all of them are known.
    pub fn gpu_memory(&self, host: &Host) -> Option<Sourced<u64>> {
        if self.launch.memory.gpu.is_some() {
            return self.launch.memory.gpu.clone();
        }
        let gpus = host.gpus();
        let each = gpus
            .iter()
            .map(|gpu| Card::of_driver(gpu).map(Card::memory));
        // `None` is less than any number: if one GPU is not known, nothing is.
        let least = each.min().flatten()?;
        Some(Sourced::new(least, Source::Machine("the GPU's name")))
    }

    pub fn host_memory(&self) -> Option<Sourced<u64>> {
        let given = &self.launch.memory.host;
        if given.is_some() || self.is_elsewhere {
            return given.clone();
        }
        Some(Sourced::new(
            Machine::here().memory().most()?,
            Source::Machine("this machine"),
        ))
    }

    /// `config`: of the template, as it will be written.
    pub fn candidate(&self, template: &Template, config: &Value) -> Candidate {
        Candidate {
            name: template.name.clone(),
            strategy: Strategy::of(config, self.weights.shape.hidden),
            allocator: self.allocator.with(&template.env),
            is_named: false,
        }
    }

    pub fn candidates(&self, host: &Host) -> Result<Vec<Candidate>, Problems> {
        let mut all = vec![Candidate {
            name: NONE.to_string(),
            strategy: WITHOUT_DEEPSPEED,
            allocator: self.allocator.clone(),
            is_named: false,
        }];
        for &name in TEMPLATES {
            let spec = default(name.to_string());
            let template = template::resolve(&spec, &self.launch.search, host)?;
            all.push(self.candidate(&template, &template.config));
        }
        let Some(spec) = self.config.as_ref().filter(|spec| spec.value != AUTO) else {
            return Ok(all);
        };
        let mut known = all.iter_mut().filter(|_| self.launch.layers.is_empty());
        if let Some(known) = known.find(|known| known.name == spec.value) {
            known.is_named = true;
        } else {
            let template = template_of(spec, self.launch, host)?;
            let mut named = self.candidate(&template, &template.config);
            named.is_named = true;
            if all.iter().any(|known| known.name == named.name) {
                named.name += ", yours";
            }
            all.push(named);
        }
        Ok(all)
    }
}

/// The template that a word means, with the changes of the launch in its config.
pub fn template_of(
    spec: &Sourced<String>,
    launch: &Launch,
    host: &Host,
) -> Result<Template, Problems> {
    let mut template = template::resolve(spec, &launch.search, host)?;
    template.config = layers::with_layers(&template, &launch.layers, host)?;
    Ok(template)
}
