//! Judges a launch by its plan, or by what there is of one. Nothing here changes the plan, and nothing is written.

mod asked_config;
mod command;
pub mod configs;
mod diagnostics;

use serde_json::Value;

use crate::{
    check::{self, Subject, machine},
    config::auto::{self, FillContext},
    fit,
    host::{Host, machine::Machine},
    plan::{Draft, FileKind, Plan, Record},
    ranks::launcher::{Launcher, accelerate, deepspeed},
    report::{fix::Change, prelude::*},
    request::{AUTO, Launch, understood::UnderstoodLaunch},
};

/// A launch that was planned and judged.
pub struct Judged<'a> {
    pub planned: Result<Plan<'a>, Box<UnderstoodLaunch<'a>>>,
    /// The most severe ones first.
    pub problems: Problems,
    is_refused: bool,
}

impl<'a> Judged<'a> {
    pub fn new(launch: &'a Launch, host: &'a Host) -> Self {
        let draft = Draft::new(launch, host, fit::choose);
        let (problems, is_refused) = judge(&draft);
        let planned = draft.into_plan();
        Judged {
            is_refused: is_refused || planned.is_err(),
            planned,
            problems,
        }
    }

    /// The plan and what is to be said about it, or everything that is wrong.
    pub fn accepted(self) -> Result<(Plan<'a>, Problems), Problems> {
        match self.planned {
            Ok(plan) if !self.is_refused => Ok((plan, self.problems)),
            _ => Err(self.problems),
        }
    }

    /// `None` if the launch is refused.
    pub fn plan(&self) -> Option<&Plan<'a>> {
        self.planned.as_ref().ok().filter(|_| !self.is_refused)
    }

    pub fn understood(&self) -> &UnderstoodLaunch<'a> {
        match &self.planned {
            Ok(plan) => &plan.understood,
            Err(understood) => understood,
        }
    }
}

/// Every problem of the launch, and whether one of them refuses it.
fn judge(draft: &Draft) -> (Problems, bool) {
    let understood = &draft.understood;
    let output = understood.launch.output;
    let mut judge = Judge {
        draft,
        problems: vec![],
        findings: vec![],
    };
    judge.command();
    judge.add(draft.refusals.iter().cloned());
    judge.asked_config();
    judge.resolved_config();
    judge.written_files();
    judge.this_machine();
    let record = understood.launch.record.as_ref();
    judge.add(record.and_then(|asked| Record::folder(asked, &understood.host).err()));
    judge.join_misplaced();
    judge.sort_findings();
    judge.put_into_run_file();
    let blocker = understood.blocker(draft.launcher);
    let is_new = |blocker: &&Problem| output.check && !judge.problems.contains(blocker);
    judge.add(blocker.iter().find(is_new).cloned());
    let notes = draft.topology.as_ref().map(|topology| &topology.notes);
    judge.add(notes.into_iter().flatten().cloned());
    let (mut problems, is_refused) = judge.verdict();
    // A plan can be read on another machine than the one it is for.
    if output.dry_run.is_some() && !output.check {
        problems.extend(blocker.map(Problem::into_warning));
    }
    (problems, is_refused)
}

fn is_error(problem: &Problem) -> bool {
    problem.severity == Severity::Error
}

struct Judge<'p> {
    draft: &'p Draft<'p>,
    problems: Problems,
    /// Those of the rules in `check`, until they are sorted.
    findings: Problems,
}

impl Judge<'_> {
    fn add(&mut self, problems: impl IntoIterator<Item = Problem>) {
        self.problems.extend(problems);
    }

    fn command(&mut self) {
        let understood = &self.draft.understood;
        let UnderstoodLaunch {
            launch,
            host,
            job,
            existing_launcher,
            ..
        } = understood;
        self.add(job.problems.iter().chain(&launch.warnings).cloned());
        self.add(understood.ranks_without_effect());
        self.add(understood.dry_run_behind());
        self.add(understood.not_understood());
        if let Some(existing) = existing_launcher {
            self.add(existing.run_file_problem(job, host));
            self.add(existing.refused_flags(job, host));
            self.add(existing.ignored_devices(host));
            let ranks = self.draft.topology.as_ref();
            self.add(ranks.and_then(|ranks| existing.missing_hostfile(ranks, host)));
            self.add(existing.refused_local_rank(job));
        }
        if launch.output.check {
            let theirs = existing_launcher
                .as_ref()
                .map(|existing| existing.hosts(host));
            let ours = self
                .draft
                .topology
                .as_ref()
                .and_then(|ranks| ranks.pool.as_ref());
            let hosts = theirs.iter().chain(ours).flatten();
            self.add(deepspeed::unresolved(hosts.map(|machine| &*machine.name)));
        }
    }

    fn asked_config(&mut self) {
        let Draft {
            understood,
            asked_config: Some(spec),
            layered,
            ..
        } = self.draft
        else {
            return;
        };
        let flag = understood.launch.deepspeed.as_ref();
        match (flag, &understood.own_config()) {
            (Some(flag), Some(own)) if own.value != flag.value && !own.value.is_empty() => {
                let fix = drop_given(flag).remark("to use the command's own");
                let problem = Rule::TwoConfigs
                    .warning(format!(
                        "`{}` is used, not the command's own `{}`",
                        flag.value, own.value
                    ))
                    .at(flag)
                    .at(own);
                self.add([problem.fix(fix.or(drop_given(own)))]);
            }
            (None, Some(own)) => self.add(asked_config::not_shipped(understood, own)),
            _ => {}
        }
        let unused = asked_config::unused(understood, spec);
        self.add(unused.or_else(|| asked_config::refused_option(understood)));
        if let Some(existing) = &understood.existing_launcher {
            self.add(existing.refuses_config(&understood.job, &understood.host));
            self.add(existing.replaced_settings(spec));
        }
        let Some(layered) = layered else { return };
        let template = &layered.template;
        self.add(template.notes.iter().cloned());
        if let Some(flag) = flag.filter(|flag| flag.value != AUTO) {
            self.add(asked_config::differs_from_shipped(
                understood, flag, template,
            ));
        }
    }

    /// The config, or the command and the environment alone.
    fn resolved_config(&mut self) {
        let Draft {
            understood,
            layered,
            resolved,
            ..
        } = self.draft;
        let Some(layered) = layered else {
            let is_checked = self.accelerate_settings(None);
            if !self.problems.iter().any(is_error) && !understood.runs_elsewhere() {
                let missing = asked_config::without_config(understood.launch);
                self.add(missing.or_else(|| asked_config::trains_without(understood)));
            }
            if !is_checked && !understood.job.trainer.is_passthrough() {
                self.check(&Value::Null, &|key| Place::from(key));
            }
            return;
        };
        let places = layered.places(understood);
        let Some(resolved) = resolved else {
            // The ranks are unknown, but errors in the layers can be reported.
            self.check(&layered.config, &|key| places.of(key));
            return;
        };
        let place = |key: &str| {
            let fill = resolved.fills.iter().find(|fill| fill.key == key);
            match fill.map(|fill| &fill.filled.arguments[..]) {
                Some([only]) => Place::from(only),
                _ => places.of(key),
            }
        };
        self.check(&resolved.config, &place);
        self.accelerate_settings(Some(&resolved.config));
        self.add(resolved.problems.iter().cloned());
    }

    /// `accelerate launch` turns its own settings into a config, which is judged like one. True if they were checked.
    fn accelerate_settings(&mut self, named: Option<&Value>) -> bool {
        let UnderstoodLaunch {
            job,
            host,
            existing_launcher,
            ..
        } = &self.draft.understood;
        let settings = existing_launcher
            .as_ref()
            .and_then(|it| it.settings_as_config(job, named, host));
        let Some((config, file)) = settings else {
            return false;
        };
        let place = |key: &str| Place::key(&file, key);
        if let Some(topology) = &self.draft.topology {
            let context = FillContext::new(job, topology, &config, host);
            let problems = auto::resolve(&context, place).problems.into_iter();
            let help = "make accelerate's setting and the trainer's argument equal";
            self.add(problems.map(|problem| problem.fix(help)));
        }
        if named.is_some() {
            return false;
        }
        let before = self.findings.len();
        self.check(&config, &place);
        let found = self.findings[before..].iter_mut();
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
                _ => Change::Say("name a DeepSpeed config, which can set this".to_string()),
            };
        }
        true
    }

    /// Runs the rules about the config and the environment. `place` tells where a key was written.
    fn check(&mut self, config: &Value, place: &dyn Fn(&str) -> Place) {
        let Draft {
            understood:
                UnderstoodLaunch {
                    launch,
                    job,
                    host,
                    existing_launcher,
                    ..
                },
            topology,
            launcher,
            ..
        } = self.draft;
        let subject = Subject {
            topology: topology.as_ref(),
            launcher: *launcher,
            existing_launcher: existing_launcher.as_ref(),
            ..Subject::new(config, job, host, place)
        };
        let found = check::diagnose(&subject, &launch.allow, launch.output.wants_notes());
        self.findings.extend(found);
    }

    /// The files that the launch writes, and who can read or change them.
    fn written_files(&mut self) {
        let Draft {
            understood,
            topology: Some(topology),
            handed_over: Some(handed_over),
            ..
        } = self.draft
        else {
            return;
        };
        let host = &understood.host;
        let machines = topology.pool.as_ref().map_or(1, Vec::len);
        if let Some(file) = &handed_over.file {
            let path = file.path.as_path();
            if machines > 1 && host.is_of_this_machine(path) {
                let what = format!(
                    "{machines} machines must read the config, but only this one sees its folder"
                );
                let fix =
                    give("--config-out", "PATH").remark("in a folder that all machines share");
                self.add([Rule::Hosts.error(what).at(path).fix(fix)]);
            } else if machines > 1 && file.kind == FileKind::Ours {
                // With `--config-out`, the user chose a folder that all machines see.
                let kind = Machine::here().file_system(path);
                self.add(machine::config_may_be_local(
                    path,
                    machines,
                    kind.as_deref(),
                ));
            }
        }
    }

    /// This machine, and its memory.
    fn this_machine(&mut self) {
        let Draft {
            understood,
            topology: Some(topology),
            layered: Some(layered),
            resolved: Some(resolved),
            launcher,
            ..
        } = self.draft
        else {
            return;
        };
        if understood.runs_elsewhere() {
            return;
        }
        let UnderstoodLaunch {
            launch, host, job, ..
        } = understood;
        let output = launch.output;
        if *launcher != Some(Launcher::Srun) {
            let mut found = machine::at_launch(&resolved.config, job, host);
            found.retain(|problem| !launch.allow.contains(&problem.rule));
            let is_plan = output.only_shows() && !output.check;
            self.add(
                found
                    .into_iter()
                    .map(|problem| problem.into_warning_unless(!is_plan)),
            );
        }
        let short = fit::warning(&layered.template, &resolved.config, topology, understood);
        self.add(short.filter(|short| output.wants_notes() || short.severity != Severity::Note));
    }
}
