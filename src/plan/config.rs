//! The config of a launch: which was asked for, with its layers and its "auto" filled, and what the rules say about it.

use std::path::PathBuf;

use serde_json::Value;

use super::file::PlannedConfig;
use super::planner::{DecidedRanks, Planner};
use super::{inputs, own_config, print};
use crate::base::source::Sourced;
use crate::check::{self, Derived, Subject, machine};
use crate::command::front_end::NoConfig;
use crate::command::trainer;
use crate::config::auto::{self, FillContext};
use crate::config::layers::{self, Layers};
use crate::config::places::Places;
use crate::config::template::{self, Template};
use crate::fit;
use crate::host::machine::Machine;
use crate::ranks::topology::Topology;
use crate::report::fix::give;
use crate::report::{self, Place, Problem, Rule};
use crate::request::Launch;
use crate::request::understood::UnderstoodLaunch;

/// A template, and why it is this one, if `auto` was asked for.
type ChosenTemplate = (Template, Option<String>);

impl Planner<'_> {
    /// The config that will be written, if one was asked for and nothing is wrong with it.
    pub(super) fn config(&mut self, ranks: DecidedRanks) -> Option<PlannedConfig> {
        let Launch { layers, config_out, .. } = self.understood.launch;
        let host = &self.understood.host;
        match (self.template(ranks.topology), ranks.topology) {
            (Some(chosen), Some(topology)) => {
                let config = self.resolve(chosen, topology, ranks);
                self.diagnostics.keep(config)
            }
            // The ranks are unknown, but errors in the layers can be reported.
            (Some((template, _)), None) => {
                let config = self.diagnostics.keep(layers::with_layers(&template, layers, host))?;
                let places = Places::new(&config, &template, layers, host);
                self.check(&config, &template.env, &|key| places.of(key), ranks);
                None
            }
            (None, _) => {
                self.judge_settings(None, ranks);
                if self.diagnostics.errors.is_empty() && !self.understood.runs_elsewhere() {
                    self.diagnostics.errors.extend(without_config(layers, config_out.as_ref()));
                }
                None
            }
        }
    }

    /// The config that was asked for: our flag, else the command's own.
    fn template(&mut self, topology: Option<&Topology>) -> Option<ChosenTemplate> {
        let understood = self.understood;
        let flag = understood.launch.deepspeed.as_ref();
        let own = understood.own_config();
        let warnings = &mut self.diagnostics.warnings;
        let spec = match flag {
            Some(flag) => {
                let other = own.filter(|own| own.value != flag.value);
                warnings.extend(other.map(|own| report::two_configs(flag, &own)));
                flag.clone()
            }
            // Trainers treat an empty value as no config.
            None => {
                let own = own.filter(|own| !own.value.is_empty())?;
                warnings.extend(own_config::unknown_word(understood, &own));
                understood.own_file(own)
            }
        };
        let existing = understood.existing_launcher.as_ref();
        warnings.extend(refused_option(understood));
        self.diagnostics.add(existing.and_then(|existing| existing.refuses_config(&understood.job, &understood.host)));
        let missing = understood.missing_shipped_config(&spec);
        // A config of the trainer's package is read where the package is.
        if understood.runs_elsewhere() && missing.is_some() {
            return None;
        }
        let resolved = can_hand_over(&spec, understood).map_err(Vec::from).and_then(|()| {
            // Without ranks there is nothing to choose by, and their error is reported already.
            let (named, chosen) = match topology.filter(|_| spec.value == fit::AUTO) {
                Some(topology) => {
                    let UnderstoodLaunch { job, launch, host, .. } = understood;
                    let (name, why) = fit::choose(&spec, job, topology, launch, host)?;
                    (Sourced::new(name, spec.from.clone()), Some(why))
                }
                None => (spec, None),
            };
            match missing {
                Some(problem) => Err(vec![problem]),
                None => Ok((template::resolve(&named, &understood.launch.search, &understood.host)?, chosen)),
            }
        });
        let (mut template, chosen) = self.diagnostics.keep(resolved)?;
        let warnings = &mut self.diagnostics.warnings;
        warnings.append(&mut template.notes);
        let named = flag.filter(|flag| flag.value != fit::AUTO);
        warnings.extend(named.and_then(|flag| own_config::difference(understood, flag, &template)));
        Some((template, chosen))
    }

    /// Applies the layers, fills "auto" and checks the result.
    fn resolve(
        &mut self,
        (template, chosen): ChosenTemplate,
        topology: &Topology,
        ranks: DecidedRanks,
    ) -> Result<PlannedConfig, Vec<Problem>> {
        let UnderstoodLaunch { launch, job, host, .. } = self.understood;
        let Launch { layers, no_fill, config_out, .. } = launch;
        let config = layers::with_layers(&template, layers, host)?;
        // Variables of the template count as set.
        let host_of_template = host.with_more(template.env.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let mut context = FillContext::new(job, topology, &config, &host_of_template);
        context.no_fill = *no_fill;
        if self.understood.launcher_takes_config() && !no_fill {
            context.by_launcher = Some("accelerate launch fills it");
        }
        let places = Places::new(&config, &template, layers, host);
        let (mut resolved, problems) = auto::resolve(&context, |key| places.of(key));
        self.diagnostics.mismatched = resolved.mismatched;
        self.diagnostics.warnings.append(&mut resolved.warnings);
        let filled = |key: &str| resolved.fills.iter().find(|fill| fill.key == key)?.argument.as_ref();
        let place = |key: &str| filled(key).map_or_else(|| places.of(key), Place::from);
        self.check(&resolved.config, &template.env, &place, ranks);
        self.judge_settings(Some(&resolved.config), ranks);
        if !problems.is_empty() {
            return Err(problems);
        }
        if let Some(out) = config_out {
            inputs::refuse_overwriting(out, &template, launch, job, host)?;
        }
        let planned = PlannedConfig::new(template, chosen, resolved, self.understood)?;
        let machines = topology.pool.as_ref().map_or(1, |pool| pool.0.len());
        let path = &planned.file.path;
        if machines > 1 && host.is_of_this_machine(path) {
            return Err(vec![report::config_not_shared(path, machines)]);
        }
        // Whoever says where it goes knows who sees it.
        if machines > 1 && config_out.is_none() {
            let kind = Machine::here().file_system(path);
            self.diagnostics.warnings.extend(machine::config_may_be_local(path, machines, kind.as_deref()));
        }
        Ok(planned)
    }

    /// What `accelerate launch` makes of its own settings arrives like a config, and is judged like one.
    fn judge_settings(&mut self, named: Option<&Value>, ranks: DecidedRanks) {
        let UnderstoodLaunch { job, host, existing_launcher, .. } = self.understood;
        let settings = existing_launcher.as_ref().and_then(|launcher| launcher.settings_as_config(job, named, host));
        let Some((config, file)) = settings else { return };
        let place = |key: &str| Place::key(&file, key);
        if let Some(topology) = ranks.topology {
            let (resolved, problems) = auto::resolve(&FillContext::new(job, topology, &config, host), place);
            self.diagnostics.mismatched |= resolved.mismatched;
            let equal = |problem: Problem| problem.fix("make accelerate's setting and the trainer's argument equal");
            self.diagnostics.warnings.extend(resolved.warnings.into_iter().map(equal));
            self.diagnostics.errors.extend(problems.into_iter().map(equal));
        }
        if named.is_none() {
            self.check(&config, &[], &place, ranks);
        }
    }

    /// Runs the rules about the config and the environment. `place`: where each key was written.
    pub(super) fn check(
        &mut self,
        config: &Value,
        template_env: &[(String, String)],
        place: &dyn Fn(&str) -> Place,
        ranks: DecidedRanks,
    ) {
        let UnderstoodLaunch { launch, job, host, .. } = self.understood;
        let subject = Subject {
            config,
            job,
            topology: ranks.topology,
            launcher: ranks.launcher,
            host,
            template_env,
            place,
            in_full: true,
            derived: Derived::new(config, job),
        };
        let found = check::diagnose(&subject, &launch.allow, launch.output.wants_notes());
        self.diagnostics.findings.extend(found);
    }
}

/// Our config reaches the script by an option that its parser does not have.
fn refused_option(understood: &UnderstoodLaunch) -> Option<Problem> {
    let UnderstoodLaunch { launch, job, .. } = understood;
    let reads = job.refuses_config_option()?;
    let reaches_script = understood.takes_config() && !understood.launcher_takes_config();
    let flag = launch.deepspeed.as_ref().filter(|_| reaches_script)?;
    Some(report::script_has_no_option(flag, job.target.name(), reads, job.config_argument()))
}

/// Whether the config can reach the trainer at all.
fn can_hand_over(spec: &Sourced<String>, understood: &UnderstoodLaunch) -> Result<(), Problem> {
    let UnderstoodLaunch { launch, job, .. } = understood;
    // What the command itself names is its own business.
    if understood.takes_config() || understood.launcher_takes_config() && launch.deepspeed.is_none() {
        return Ok(());
    }
    if let Some(NoConfig { why, help }) = &job.no_config {
        return Err(report::takes_no_config(spec, why, help));
    }
    // A missing program is the more useful error.
    Err(job.blocker.clone().unwrap_or_else(|| {
        let runs = print::what_runs(job, understood.command());
        let known = trainer::commands_of(runs.split(' ').next().unwrap_or_default());
        report::no_way_to_hand_over(spec, &runs, known, &understood.right_order())
    }))
}

/// Layers without a config are an error if flags ask for them. Variables may be set for a whole site.
fn without_config(layers: &Layers, out: Option<&Sourced<PathBuf>>) -> Option<Problem> {
    let Layers { patch, unset, set } = layers;
    let given = patch
        .iter()
        .chain(out)
        .map(|sourced| sourced.clone().map(|path| path.display().to_string()))
        .chain(unset.iter().cloned())
        .chain(set.iter().map(|sourced| sourced.clone().map(|(key, _)| key)));
    let flags: Vec<Place> = given.filter(|sourced| sourced.from.is_flag()).map(|flag| Place::from(&flag)).collect();
    let problem =
        Problem::error(Rule::NoConfig, "there is no DeepSpeed config to change").fix(give("--deepspeed", "zero2"));
    (!flags.is_empty()).then(|| flags.into_iter().fold(problem, Problem::at))
}
