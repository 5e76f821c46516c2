//! `zlaunch check`: the findings of the rules are its output.

use std::{
    ffi::{OsStr, OsString},
    io::Write,
    path::Path,
};

use serde_json::Value;

use super::{
    corrections::{Config, corrections, difference},
    prelude::*,
    proof::{Line, prove},
    tables::checked::{NO_CONFIGS, SHOWN_OPTIONS},
};
use crate::{
    base::{
        json::{self, Edit},
        layout::wrapped,
        shell,
        source::{Source, Sourced},
        vars,
    },
    check::deepspeed_in_words,
    cli::{Subcommand, mistakes::options_first},
    command::{argument_class, python::Python, tables::front_end::ArgumentParser},
    config::template::{self, Search},
    exec,
    judge::configs,
    plan::refused_json,
    ranks::{launcher::Launcher, topology::Topology},
    report::{Severity, reading},
    request::understood::UnderstoodLaunch,
};

#[derive(Args)]
#[command(next_help_heading = "Output")]
pub struct CheckArgs {
    fix: bool,
    diff: bool,
    #[command(flatten)]
    launch: LaunchArgs,
}

impl Tool for CheckArgs {
    const LAUNCH_OPTIONS: LaunchOptions = LaunchOptions::AllShowing(SHOWN_OPTIONS);

    /// Behind configs, options are still ours.
    fn in_order(words: &[OsString], host: &Host) -> Vec<OsString> {
        options_first(words, &Subcommand::of::<Self>("check"), |word| {
            is_config(word, &Search::default(), host)
        })
    }

    /// `check` looks at a launch, or at configs in the place of the command or in that of `--deepspeed` alone.
    fn read(self, mut reader: Reader) -> Requested {
        let correction = if self.diff || reader.switch("dry_run").is_some() {
            Correction::Shown
        } else {
            Correction::Written
        };
        let fix = (self.fix || self.diff).then_some(correction);
        let mut launch = launch::read(self.launch, &mut reader);
        let config = launch.deepspeed.as_ref();
        let has_config = config.is_some_and(|config| config.from.is_flag());
        launch.output.check = true;
        if launch.command.is_empty() && !has_config {
            reader.problems.push(
                Rule::Usage
                    .error("there is nothing to check")
                    .at("zlaunch check")
                    .fix(run("zlaunch check ds_config.json")),
            );
        }
        let configs = launch
            .command
            .iter()
            .all(|word| is_config(word, &launch.search, reader.host));
        if fix.is_some() && !configs {
            let problem = Rule::Usage
                .error("`--fix` only edits config files")
                .at("--fix")
                .fix(run("zlaunch check --fix ds_config.json"));
            reader.problems.push(problem);
        }
        if configs {
            return reader.answer(move |host: &Host| check_configs(launch, fix, host));
        }
        let is_unset = |name: &str| reader.host.nonempty_var(name).is_none();
        if !Topology::is_in_a_job(reader.host)
            && is_unset(vars::NODE_RANK)
            && is_unset(vars::PET_NODE_RANK)
        {
            launch.be_first_machine("check", reader.host);
        }
        let tools = reader.tools;
        launch::finish(launch, reader, move |launch, host| {
            check_launch(&launch, host, tools)
        })
    }
}

/// A config has the form of one, or is a file that nothing runs.
fn is_config(word: &OsString, search: &Search, host: &Host) -> bool {
    let path = host.absolute(Path::new(word));
    let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    word.to_str().is_some_and(|word| search.is_config(word))
        || path.is_file() && !NO_CONFIGS.contains(&ending) && host.find_program(word).is_none()
}

pub fn check_launch(launch: &Launch, host: &Host, tools: &'static Tools) -> Outcome {
    let secrets = Secrets::of(host);
    if launch.output.dry_run == Some(Format::Json) {
        let (status, json) = in_json(launch, host, &secrets, tools);
        return out_bytes(&json).map(|_| status);
    }
    let judged = judged(launch, host, tools);
    let coverage = Coverage::of_launch(&judged, host, &secrets);
    let mut words = coverage.in_words();
    if let Some(line) = coverage
        .rehearsal
        .filter(|_| verdict(&judged.problems) == 0)
    {
        words += &format!("; a rehearsal goes further: {line}");
    }
    show_checked(judged.problems, &words, launch, &secrets)
}

fn judged<'a>(launch: &'a Launch, host: &'a Host, tools: &'static Tools) -> Judged<'a> {
    let mut judged = Judged::new(launch, host);
    // Other machines may be the ones that train, so it is only a warning.
    judged.problems.extend(
        judged
            .plan()
            .filter(|plan| plan.topology.is_one_machine())
            .and_then(exec::port_problem)
            .map(Problem::into_warning),
    );
    Line::of_launch(&judged, host, tools).prove(&mut judged.problems);
    judged
}

/// What the answer rests on, what nobody looked at, and the rehearsal that does.
struct Coverage {
    checked: Vec<String>,
    unchecked: Vec<&'static str>,
    rehearsal: Option<String>,
}

impl Coverage {
    fn in_words(&self) -> String {
        let [checked, unchecked] = [self.checked.join(", "), self.unchecked.join(", ")];
        format!("checked: {checked}; not checked: {unchecked}")
    }

    /// The plan or what refuses it, as it is printed.
    fn printed(self, mut plan: Value, secrets: &Secrets) -> Vec<u8> {
        plan["checked"] = self.checked.into();
        plan["not_checked"] = self.unchecked.into();
        plan["rehearsal"] = self.rehearsal.into();
        secrets.printed(plan)
    }

    fn of_config(deepspeed: &str) -> Self {
        Coverage {
            checked: vec![format!("the config against {deepspeed}")],
            unchecked: vec![
                "what depends on the trainer or the number of ranks, such as batch sizes and \"auto\" values",
            ],
            rehearsal: None,
        }
    }

    fn of_launch(judged: &Judged, host: &Host, secrets: &Secrets) -> Self {
        let UnderstoodLaunch { launch, job, .. } = judged.understood();
        let plan = judged.plan();
        if job.trainer.is_passthrough() {
            return Coverage {
                checked: vec![format!("whether `{}` can be started", job.target.name())],
                unchecked: vec!["what it does"],
                rehearsal: None,
            };
        }
        let mut checked = vec![];
        let mut unchecked = vec!["the dataset", "the weights"];
        let has_config = match &launch.deepspeed {
            Some(spec) => template::resolve(spec, &launch.search, host).is_ok(),
            None => plan.is_some_and(|plan| plan.config.is_some()),
        };
        if has_config {
            let deepspeed = deepspeed_in_words(job.python.as_ref());
            checked.push(format!("the config against {deepspeed}"));
        }
        let is_read = job.trainer.arguments.parser == ArgumentParser::Recorded
            || job.flow().is_some_and(|flow| flow.parser().is_some());
        match job.trainer.distribution.filter(|_| is_read) {
            Some(package) => {
                let version = job.version_text();
                let stand_in = version.as_ref();
                let how = stand_in
                    .and_then(|it| argument_class::stand_in(package, it))
                    .map(|how| format!(" ({how})"))
                    .unwrap_or_default();
                let version = version.unwrap_or_else(|| "(all known versions)".to_string());
                checked.push(format!("the arguments against {package} {version}{how}"));
            }
            None => unchecked.push("the arguments"),
        }
        let launcher = plan.map(|plan| &plan.launcher);
        if !matches!(launcher, Some(Launcher::Srun | Launcher::Prefix(_))) {
            checked.push("this machine".to_string());
        }
        if job.source.is_some() {
            unchecked.push("the script's own code");
        }
        let number = launch.topology.node_rank.as_ref();
        if number.is_some_and(|number| matches!(number.from, Source::Machine(_))) {
            unchecked.push("which machine this is and where they meet (a launch must say it)");
        }
        let mut rehearsal = launch.words_with(&[], &launch.command);
        rehearsal[1] = "rehearse".into();
        let rehearsal =
            shell::text(&secrets.hide_in_words(rehearsal.iter().map(OsString::as_os_str)));
        Coverage {
            checked,
            unchecked,
            rehearsal: (!launch.rehearsed).then_some(rehearsal),
        }
    }
}

/// The exit status and the plan, or what refuses it.
pub fn in_json(
    launch: &Launch,
    host: &Host,
    secrets: &Secrets,
    tools: &'static Tools,
) -> (u8, Vec<u8>) {
    let judged = judged(launch, host, tools);
    let coverage = Coverage::of_launch(&judged, host, secrets);
    let problems = &judged.problems;
    let plan = match judged.plan() {
        Some(plan) => plan.json(problems),
        None => refused_json(problems),
    };
    (verdict(problems), coverage.printed(plan, secrets))
}

/// What becomes of the corrections of a config.
#[derive(Clone, Copy, PartialEq)]
enum Correction {
    Written,
    Shown,
}

fn check_configs(mut launch: Launch, fix: Option<Correction>, host: &Host) -> Outcome {
    launch.read_piped_config(host)?;
    let launch = &launch;
    let secrets = Secrets::of(host);
    if let Some(correction) = fix {
        for spec in configs::specs(launch) {
            let file = host.absolute(Path::new(&spec.value));
            correct(&file, correction, launch, host)?;
        }
    }
    let mut problems = launch.warnings.clone();
    for spec in configs::specs(launch) {
        let mut found = configs::check_config(spec.clone(), launch, host);
        let file = host.absolute(Path::new(&spec.value));
        if let (Ok(found), Some(text)) = (&mut found, reading::text_if_any(&file)) {
            let judge = |text: &str| judged_text(text, launch, host);
            prove(
                &Config {
                    text,
                    judge: &judge,
                },
                found,
            );
        }
        problems.extend(found.unwrap_or_else(|refused| refused));
    }
    problems.retain(|problem| !(problem.allowable && launch.allow.contains(&problem.rule)));
    for problem in &mut problems {
        problem.is_about_file = true;
        problem.be_strict(launch.strict);
    }
    let deepspeed = deepspeed_in_words(Python::on_path(host).as_ref());
    let coverage = Coverage::of_config(&deepspeed);
    if launch.output.dry_run == Some(Format::Json) {
        let json = coverage.printed(refused_json(&problems), &secrets);
        return out_bytes(&json).map(|_| verdict(&problems));
    }
    show_checked(problems, &coverage.in_words(), launch, &secrets)
}

fn judged_text(text: &str, launch: &Launch, host: &Host) -> Option<Problems> {
    let config = json::parse(text).ok().filter(Value::is_object)?;
    let spec = Sourced::new(config.to_string(), Source::Operand("check".to_string()));
    configs::check_config(spec, launch, host).ok()
}

/// Makes the safe corrections of a file and names them, or shows what they would change.
fn correct(
    file: &Path,
    correction: Correction,
    launch: &Launch,
    host: &Host,
) -> Result<(), Problems> {
    if !file.is_file() {
        return Ok(());
    }
    let secrets = Secrets::of(host);
    let text = reading::read_text(file)?;
    let made = corrections(&text, |text| judged_text(text, launch, host));
    let verb = match correction {
        Correction::Written => "fixed",
        Correction::Shown => "to fix",
    };
    for step in &made {
        let edits: Vec<String> = step.edits.iter().map(Edit::to_string).collect();
        let line = format!("{verb}: {} ({})\n", edits.join(", "), file.display());
        err(&secrets.hide_in_text(&line));
    }
    let Some(last) = made.last() else {
        return Ok(());
    };
    if correction == Correction::Written {
        return Ok(exec::rewrite(file, &last.text)?);
    }
    out_bytes(
        secrets
            .hide_in_text(&difference(&text, &last.text))
            .as_bytes(),
    )
    .map(drop)
}

pub fn show_checked(
    problems: Problems,
    rests_on: &str,
    launch: &Launch,
    secrets: &Secrets,
) -> Outcome {
    let status = verdict(&problems);
    out_bytes(&shown(problems, rests_on, launch, secrets))?;
    Ok(status)
}

/// The problems, how many there are, and what the answer rests on.
pub fn shown(
    mut problems: Problems,
    rests_on: &str,
    launch: &Launch,
    secrets: &Secrets,
) -> Vec<u8> {
    problems.sort_by_key(|problem| problem.severity);
    let counted = report::counted(&problems);
    let quiet = launch.output.quiet;
    problems.retain(|problem| !quiet || problem.severity == Severity::Error);
    let width = terminal::width();
    let gap = if problems.is_empty() { "" } else { "\n" };
    let lines = if quiet || rests_on.is_empty() {
        String::new()
    } else {
        let text = secrets.hide_in_text(rests_on);
        wrapped(&text, 0, width.unwrap_or(usize::MAX))
    };
    styled(|stream| {
        report::write(&problems, secrets, width, stream);
        write!(stream, "{gap}{counted}\n{lines}")
    })
}

pub fn verdict(problems: &[Problem]) -> u8 {
    problems
        .iter()
        .any(|it| it.severity == Severity::Error)
        .into()
}
