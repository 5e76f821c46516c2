//! The config of a launch: which was asked for, with its layers and its "auto" filled, and what the rules say about it.

use std::path::PathBuf;

use serde_json::Value;

use super::diagnostics::Diagnostics;
use super::file::PlannedConfig;
use super::{inputs, own_config, print};
use crate::base::source::Sourced;
use crate::check::{self, Derived, Subject, machine};
use crate::command::trainer::{FillsAuto, NoConfig};
use crate::config::auto::{self, FillContext};
use crate::config::layers::{self, Layers};
use crate::config::places::Places;
use crate::config::template::{self, Template};
use crate::fit;
use crate::host::machine::Machine;
use crate::ranks::launcher::Launcher;
use crate::ranks::topology::Topology;
use crate::report::{self, Problem, Rule};
use crate::request::Launch;
use crate::request::draft::Draft;

/// What is known of the ranks while the config is decided; `None` where that was refused.
#[derive(Clone, Copy)]
pub(super) struct DecidedRanks<'d> {
    pub(super) topology: Option<&'d Topology>,
    pub(super) launcher: Option<Launcher>,
}

impl Draft<'_> {
    /// The config that was asked for: our flag, else the command's own. And why it became this one, if it was `auto`.
    pub(super) fn template(
        &self,
        topology: Option<&Topology>,
        diagnostics: &mut Diagnostics,
    ) -> Option<(Template, Option<String>)> {
        let own = self.own_config();
        let spec = match (&self.launch.deepspeed, own) {
            (Some(flag), own) => {
                let other = own.filter(|own| own.value != flag.value);
                diagnostics.warnings.extend(other.map(|own| report::two_configs(flag, &own)));
                flag.clone()
            }
            // Trainers treat an empty value as no config.
            (None, own) => {
                let own = own.filter(|own| !own.value.is_empty())?;
                diagnostics.warnings.extend(own_config::unknown_word(self, &own));
                self.own_file(own)
            }
        };
        let refusal = self.wrapped.as_ref().and_then(|wrapped| wrapped.refuses_config(&self.job, &self.host));
        diagnostics.warnings.extend(refusal);
        diagnostics.warnings.extend(self.refused_option());
        // A config of the trainer's package is read where the package is.
        if self.runs_elsewhere() && self.missing_shipped_config(&spec).is_some() {
            return None;
        }
        let mut named = spec.clone();
        let mut chosen = None;
        let resolved = self.can_hand_over(&spec).map_err(Vec::from).and_then(|()| {
            // Without ranks there is nothing to choose by, and their error is reported already.
            if let Some(topology) = topology.filter(|_| spec.value == fit::AUTO) {
                let (name, why) = fit::choose(&spec, &self.job, topology, self.launch, &self.host)?;
                named.value = name;
                chosen = Some(why);
            }
            match self.missing_shipped_config(&spec) {
                Some(problem) => Err(vec![problem]),
                None => template::resolve(&named, &self.launch.search, &self.host),
            }
        });
        let mut template = diagnostics.keep(resolved)?;
        diagnostics.warnings.append(&mut template.notes);
        let named = self.launch.deepspeed.as_ref().filter(|flag| flag.value != fit::AUTO);
        diagnostics.warnings.extend(named.and_then(|flag| own_config::difference(self, flag, &template)));
        Some((template, chosen))
    }

    /// Our config reaches the script by an option that its parser does not have.
    fn refused_option(&self) -> Option<Problem> {
        let reads = self.job.refuses_config_option()?;
        let flag = self.launch.deepspeed.as_ref().filter(|_| self.takes_config() && !self.launcher_takes_config())?;
        Some(report::script_has_no_option(flag, self.job.target.name(), reads, self.job.config_argument()))
    }

    /// Whether the config can reach the trainer at all.
    fn can_hand_over(&self, spec: &Sourced<String>) -> Result<(), Problem> {
        let job = &self.job;
        // What the command itself names is its own business.
        if self.takes_config() || self.launcher_takes_config() && self.launch.deepspeed.is_none() {
            return Ok(());
        }
        if let Some(NoConfig { why, help }) = &job.no_config {
            return Err(report::takes_no_config(spec, why, help));
        }
        // A missing program is the more useful error.
        Err(job.blocker.clone().unwrap_or_else(|| {
            report::no_way_to_hand_over(spec, &print::what_runs(job, self.command()), &self.right_order())
        }))
    }

    /// The config that will be written, if one was asked for and nothing is wrong with it.
    pub(super) fn config(
        &self,
        template: Option<Template>,
        ranks: DecidedRanks,
        diagnostics: &mut Diagnostics,
    ) -> Option<PlannedConfig> {
        let Launch { layers, config_out, .. } = self.launch;
        match (template, ranks.topology) {
            (Some(template), Some(topology)) => {
                let config = self.resolve(template, topology, ranks, diagnostics);
                diagnostics.keep(config)
            }
            // The ranks are unknown, but errors in the layers can be reported.
            (Some(template), None) => {
                let config = diagnostics.keep(layers::with_layers(&template, layers, &self.host))?;
                let places = Places::new(&config, &template, layers, &self.host);
                self.check(&config, Some((&template, &places)), ranks, diagnostics);
                None
            }
            (None, _) => {
                if diagnostics.errors.is_empty() && !self.runs_elsewhere() {
                    diagnostics.errors.extend(without_config(layers, config_out.as_ref()));
                }
                None
            }
        }
    }

    /// Applies the layers, fills "auto" and checks the result.
    fn resolve(
        &self,
        template: Template,
        topology: &Topology,
        ranks: DecidedRanks,
        diagnostics: &mut Diagnostics,
    ) -> Result<PlannedConfig, Vec<Problem>> {
        let Launch { layers, no_fill, config_out, .. } = self.launch;
        let config = layers::with_layers(&template, layers, &self.host)?;
        // Variables of the template count as set.
        let host = self.host.with_more(template.env.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let mut context = FillContext::new(&self.job, topology, &config, &host);
        context.no_fill = *no_fill;
        if self.launcher_takes_config() && !no_fill {
            context.fills_auto = Some(FillsAuto::Itself(|_| Some("accelerate launch fills it")));
        }
        let places = Places::new(&config, &template, layers, &self.host);
        let (mut resolved, problems) = auto::resolve(&context, |key| places.of(key));
        diagnostics.mismatched = resolved.mismatched;
        diagnostics.warnings.append(&mut resolved.warnings);
        self.check(&resolved.config, Some((&template, &places)), ranks, diagnostics);
        if !problems.is_empty() {
            return Err(problems);
        }
        if let Some(out) = config_out {
            inputs::refuse_overwriting(out, &template, self.launch, &self.job, &self.host)?;
        }
        let (out, wrapped) = (config_out.as_ref(), self.wrapped.as_ref());
        let planned = PlannedConfig::new(template, resolved, out, wrapped, &self.job, &self.host)?;
        let machines = topology.pool.as_ref().map_or(1, |pool| pool.0.len());
        let path = &planned.file.path;
        if machines > 1 && self.host.is_of_this_machine(path) {
            return Err(vec![report::config_not_shared(path, machines)]);
        }
        // Whoever says where it goes knows who sees it.
        if machines > 1 && out.is_none() {
            let kind = Machine::here().file_system(path);
            diagnostics.warnings.extend(machine::config_may_be_local(path, machines, kind.as_deref()));
        }
        Ok(planned)
    }

    /// Runs the rules about the config and the environment. `origin`: the template, and where each key was written.
    pub(super) fn check(
        &self,
        config: &Value,
        origin: Option<(&Template, &Places)>,
        ranks: DecidedRanks,
        diagnostics: &mut Diagnostics,
    ) {
        let place = |key: &str| origin.map_or_else(|| key.to_string(), |(_, places)| places.of(key));
        let subject = Subject {
            config,
            job: &self.job,
            topology: ranks.topology,
            launcher: ranks.launcher,
            host: &self.host,
            template_env: origin.map_or(&[], |(template, _)| template.env.as_slice()),
            place: &place,
            derived: Derived::new(config, &self.job),
        };
        let found = check::diagnose(&subject, &self.launch.allow, self.launch.output.wants_notes());
        diagnostics.findings.extend(found);
    }
}

/// Layers without a config are an error if flags ask for them. Variables may be set for a whole site.
fn without_config(layers: &Layers, out: Option<&Sourced<PathBuf>>) -> Option<Problem> {
    let Layers { patch, unset, set } = layers;
    let places = patch
        .iter()
        .chain(out)
        .map(|sourced| (&sourced.from, sourced.value.display().to_string()))
        .chain(unset.iter().map(|sourced| (&sourced.from, sourced.value.clone())))
        .chain(set.iter().map(|sourced| (&sourced.from, sourced.value.0.clone())));
    let flags: Vec<_> = places.filter(|(from, _)| from.is_flag()).map(|(from, value)| from.with(value)).collect();
    let problem =
        Problem::error(Rule::NoConfig, "there is no DeepSpeed config to change").help("add --deepspeed zero2");
    (!flags.is_empty()).then(|| flags.into_iter().fold(problem, Problem::at))
}
