//! Judges a launch by its plan, or by what there is of one. Nothing here changes the plan, and nothing is written.

mod asked_config;
mod command;
pub(crate) mod configs;
mod diagnostics;

use serde_json::Value;

use crate::base::shell;
use crate::check::{self, Derived, Subject, machine};
use crate::config::auto::{self, FillContext, Resolved};
use crate::fit::{self, launch_warning};
use crate::host::Host;
use crate::host::machine::Machine;
use crate::plan::{Draft, FileKind, Parts, Plan, PlannedConfig, Record};
use crate::ranks::launcher::{Launcher, accelerate};
use crate::report::fix::{Change, Owner, drop_given, give, run};
use crate::report::{Place, Problem, Rule, Severity};
use crate::request::understood::UnderstoodLaunch;
use crate::request::{AUTO, Launch};

use diagnostics::Diagnostics;

/// A launch that was planned and judged.
pub struct Judged<'a> {
    pub(crate) planned: Result<Plan<'a>, Box<Draft<'a>>>,
    /// The most severe ones first.
    pub problems: Vec<Problem>,
    is_refused: bool,
}

impl<'a> Judged<'a> {
    pub fn new(launch: &'a Launch, host: &'a Host) -> Self {
        let planned = Plan::new(launch, host, fit::choose);
        let parts = match &planned {
            Ok(plan) => plan.parts(),
            Err(draft) => draft.parts(),
        };
        let (problems, is_refused) = judge(parts);
        Judged {
            is_refused: is_refused || planned.is_err(),
            planned,
            problems,
        }
    }

    /// The plan and what is to be said about it, or everything that is wrong.
    pub fn accepted(self) -> Result<(Plan<'a>, Vec<Problem>), Vec<Problem>> {
        match self.planned {
            Ok(plan) if !self.is_refused => Ok((plan, self.problems)),
            _ => Err(self.problems),
        }
    }

    /// `None` if the launch is refused.
    pub(crate) fn plan(&self) -> Option<&Plan<'a>> {
        self.planned.as_ref().ok().filter(|_| !self.is_refused)
    }

    pub(crate) fn understood(&self) -> &UnderstoodLaunch<'a> {
        match &self.planned {
            Ok(plan) => &plan.understood,
            Err(draft) => &draft.understood,
        }
    }
}

/// Every problem of the launch, and whether one of them refuses it.
fn judge(parts: Parts) -> (Vec<Problem>, bool) {
    let launch = parts.understood.launch;
    let mut judge = Judge {
        parts,
        found: Diagnostics::default(),
    };
    judge.command();
    judge.found.add(parts.refusals.iter().cloned());
    judge.asked_config();
    judge.resolved_config();
    judge.written_files();
    judge.this_machine();
    judge.found.add(Record::folder(parts.understood).err());
    let mut found = judge.found;
    found.join_misplaced(|flags| parts.understood.with_options_in_front(flags));
    found.sort_findings(launch.output);
    let job = &parts.understood.job;
    if job.reads_mapping() {
        found.put_into_run_file(|name| job.place_in_run_file(name, &parts.understood.host));
    }
    let blocker = parts.understood.blocker(parts.launcher);
    if let Some(blocker) = &blocker
        && launch.output.check
        && !found.errors.contains(blocker)
    {
        found.errors.push(blocker.clone());
    }
    let notes = parts.topology.map(|topology| &topology.notes);
    found.warnings.extend(notes.into_iter().flatten().cloned());
    let (mut problems, is_refused) = found.verdict(launch);
    // A plan can be read on another machine than the one it is for.
    if launch.output.dry_run.is_some() && !launch.output.check && !is_refused {
        problems.extend(blocker.map(Problem::into_warning));
    }
    (problems, is_refused)
}

struct Judge<'p> {
    parts: Parts<'p>,
    found: Diagnostics,
}

impl Judge<'_> {
    fn command(&mut self) {
        let understood = self.parts.understood;
        let UnderstoodLaunch {
            launch,
            host,
            job,
            existing_launcher,
            ..
        } = understood;
        let found = &mut self.found;
        found.add(job.problems.iter().cloned());
        found.warnings.extend(launch.warnings.iter().cloned());
        found.add(understood.ranks_without_effect());
        found.add(understood.dry_run_behind());
        found.add(understood.not_understood());
        if let Some(existing) = existing_launcher {
            found.add(existing.run_file_problem(host));
            found.add(existing.refused_flags(job, host));
            found.add(existing.changed_by_shells(job, host));
        }
        if let Some(launcher) = self.parts.launcher {
            let has_launcher = existing_launcher.is_some();
            found.add(launch.rank_output.without_effect(launcher, has_launcher));
        }
    }

    fn asked_config(&mut self) {
        let understood = self.parts.understood;
        let found = &mut self.found;
        let Some(asked) = self.parts.asked_config else {
            return;
        };
        match (&understood.launch.deepspeed, &asked.own) {
            (Some(flag), Some(own)) if own.value != flag.value => {
                let what = format!(
                    "`{}` is used, not the command's own `{}`",
                    flag.value, own.value
                );
                let fix = drop_given(flag).remark("to use the command's own");
                let problem = Problem::warning(Rule::TwoConfigs, what).at(flag).at(own);
                found.add([problem.fix(fix.or(drop_given(own)))]);
            }
            (None, Some(own)) => found.add(asked_config::not_shipped(understood, own)),
            _ => {}
        }
        let unused = asked_config::unused(understood, &asked.spec);
        found.add(unused.or_else(|| asked_config::refused_option(understood)));
        if let Some(existing) = &understood.existing_launcher {
            found.add(existing.refuses_config(&understood.job, &understood.host));
            found.add(existing.replaced_settings(&asked.spec));
        }
        let Some(layered) = self.parts.layered else {
            return;
        };
        found.add(layered.template.notes.iter().cloned());
        if let Some(flag) = &understood.launch.deepspeed
            && flag.value != AUTO
        {
            let template = &layered.template;
            found.add(asked_config::differs_from_shipped(
                understood, flag, template,
            ));
        }
    }

    /// The config, or the command and the environment alone.
    fn resolved_config(&mut self) {
        let Parts {
            understood,
            layered,
            resolved,
            ..
        } = self.parts;
        let Some(layered) = layered else {
            let is_checked = self.accelerate_settings(None);
            if self.found.errors.is_empty() && !understood.runs_elsewhere() {
                let Launch {
                    layers, config_out, ..
                } = understood.launch;
                let problem = asked_config::without_config(layers, config_out.as_ref());
                self.found.add(problem);
            }
            if !is_checked && !understood.job.trainer.is_passthrough() {
                self.check(&Value::Null, &[], &|key| Place::from(key));
            }
            return;
        };
        let places = layered.places(understood);
        let env = &layered.template.env;
        let Some(resolved) = resolved else {
            // The ranks are unknown, but errors in the layers can be reported.
            self.check(layered.value(), env, &|key| places.of(key));
            return;
        };
        self.found.mismatched = resolved.mismatched;
        self.found.add(resolved.warnings.iter().cloned());
        let place = |key: &str| {
            let mut fills = resolved.fills.iter();
            let fill = fills.find(|fill| fill.key == key);
            let argument = fill.and_then(|fill| fill.argument.as_ref());
            argument.map_or_else(|| places.of(key), Place::from)
        };
        self.check(&resolved.config, env, &place);
        self.accelerate_settings(Some(&resolved.config));
        self.found.add(resolved.refusals.iter().cloned());
    }

    /// `accelerate launch` turns its own settings into a config, which is judged like one. True if they were checked.
    fn accelerate_settings(&mut self, named: Option<&Value>) -> bool {
        let UnderstoodLaunch {
            job,
            host,
            existing_launcher,
            ..
        } = self.parts.understood;
        let settings = existing_launcher.as_ref();
        let settings = settings.and_then(|it| it.settings_as_config(job, named, host));
        let Some((config, file)) = settings else {
            return false;
        };
        let place = |key: &str| Place::key(&file, key);
        if let Some(topology) = self.parts.topology {
            let context = FillContext::new(job, topology, &config, host);
            let Resolved {
                mismatched,
                warnings,
                refusals,
                ..
            } = auto::resolve(&context, place);
            self.found.mismatched |= mismatched;
            let problems = warnings.into_iter().chain(refusals);
            let help = "make accelerate's setting and the trainer's argument equal";
            self.found.add(problems.map(|problem| problem.fix(help)));
        }
        if named.is_some() {
            return false;
        }
        let before = self.found.findings.len();
        self.check(&config, &[], &place);
        let found = self.found.findings[before..].iter_mut();
        for change in found.flat_map(|found| found.fixes.changes()) {
            let (Change::Set(key, _) | Change::Unset(key)) = change else {
                continue;
            };
            *change = match (accelerate::setting_of(key), &*change) {
                (Some(name), Change::Set(_, value)) => Change::Give {
                    owner: Owner::Launcher,
                    option: format!("--{name}"),
                    value: value.clone(),
                },
                (Some(name), _) => Change::Drop {
                    owner: Owner::Launcher,
                    word: name.to_string(),
                },
                (None, _) => Change::Say("name a DeepSpeed config, which can set this".to_string()),
            };
        }
        true
    }

    /// Runs the rules about the config and the environment. `place` tells where a key was written.
    fn check(
        &mut self,
        config: &Value,
        template_env: &[(String, String)],
        place: &dyn Fn(&str) -> Place,
    ) {
        let UnderstoodLaunch {
            launch, job, host, ..
        } = self.parts.understood;
        let template_env = template_env
            .iter()
            .filter(|(name, _)| !launch.environment.says(name))
            .cloned();
        let subject = Subject {
            config,
            job,
            topology: self.parts.topology,
            launcher: self.parts.launcher,
            host,
            template_env: &template_env.collect::<Vec<_>>(),
            place,
            derived: Derived::new(config, job),
        };
        let mut found = check::diagnose(&subject, &launch.allow, launch.output.wants_notes());
        // `--unset-env` does not undo `--env`.
        for change in found.iter_mut().flat_map(|found| found.fixes.changes()) {
            if let Change::UnsetVariable(name) = change
                && let Some(given) = launch
                    .environment
                    .set
                    .iter()
                    .find(|given| given.value.0 == *name)
            {
                let (name, value) = &given.value;
                let value = value.to_string_lossy();
                *change = Change::Drop {
                    owner: Owner::Zlaunch,
                    word: format!("{} {name}={value}", given.from),
                };
            }
        }
        self.found.findings.extend(found);
    }

    /// The files that the launch writes, and who can read or change them.
    fn written_files(&mut self) {
        let Parts {
            understood,
            topology: Some(topology),
            plan: Some(plan),
            ..
        } = self.parts
        else {
            return;
        };
        let host = &understood.host;
        let machines = topology.pool.as_ref().map_or(1, |pool| pool.0.len());
        if let Some(PlannedConfig { file, .. }) = &plan.config {
            let path = file.path.as_path();
            if machines > 1 && host.is_of_this_machine(path) {
                let what = format!(
                    "{machines} machines must read the config, but only this one sees its folder"
                );
                let fix =
                    give("--config-out", "PATH").remark("in a folder that all machines share");
                self.found
                    .add([Problem::error(Rule::Hosts, what).at(path).fix(fix)]);
            } else if machines > 1 && file.kind == FileKind::Ours {
                // With `--config-out`, the user chose a folder that all machines see.
                let kind = Machine::here().file_system(path);
                self.found.add(machine::config_may_be_local(
                    path,
                    machines,
                    kind.as_deref(),
                ));
            }
            if file.kind == FileKind::Ours
                && !understood.runs_elsewhere()
                && let (Some(part), Some(folder)) = (host.distrusted_cache(), path.parent())
            {
                let what = format!(
                    "other users can change `{}`, so resolved configs are kept elsewhere",
                    part.display()
                );
                let chmod = shell::text(&["chmod".into(), "go-w".into(), part.into()]);
                let fixes = run(chmod).or("set XDG_CACHE_HOME to a folder you own");
                let problem = Problem::warning(Rule::CacheNotOurs, what).at(folder);
                self.found.add([problem.fix(fixes)]);
            }
        }
        for file in &plan.environment_files {
            let path = file.file.path.as_path();
            if !file.read_by_all.is_empty() && host.is_of_this_machine(path) {
                let what = format!(
                    "every machine must read {} from this file: do they all see its folder?",
                    file.read_by_all.join(", ")
                );
                let help = "set XDG_CACHE_HOME to a folder that all machines share, or set the variables on the machines";
                let problem = Problem::warning(Rule::ConfigNotShared, what).at(path);
                self.found.add([problem.fix(help)]);
            }
        }
    }

    /// This machine, and its memory.
    fn this_machine(&mut self) {
        let Parts {
            understood,
            topology: Some(topology),
            layered: Some(layered),
            resolved: Some(resolved),
            ..
        } = self.parts
        else {
            return;
        };
        if understood.runs_elsewhere() {
            return;
        }
        let UnderstoodLaunch {
            launch, host, job, ..
        } = understood;
        if self.parts.launcher != Some(Launcher::Srun) {
            let mut found = machine::at_launch(&resolved.config, job, host);
            found.retain(|problem| !launch.allow.contains(&problem.rule));
            let is_plan = launch.output.only_shows() && !launch.output.check;
            self.found.add(found.into_iter().map(|problem| {
                if is_plan {
                    problem.into_warning()
                } else {
                    problem
                }
            }));
        }
        let template = &layered.template;
        let short = launch_warning::judge(template, &resolved.config, topology, understood);
        self.found.warnings.extend(
            short.filter(|short| launch.output.wants_notes() || short.severity != Severity::Note),
        );
    }
}
