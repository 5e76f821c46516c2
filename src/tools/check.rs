//! `zlaunch check`: the findings of the rules are its output.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use clap::Args;
use serde_json::json;

use super::output::{err, out_bytes, styled};
use crate::base::json::Edit;
use crate::base::layout::wrapped;
use crate::base::{shell, vars};
use crate::check::deepspeed_in_words;
use crate::cli::did_you_mean::options_first;
use crate::cli::launch::{self, LaunchArgs};
use crate::cli::{Reader, Requested, Tool};
use crate::command::front_end::ArgumentParser;
use crate::command::parser;
use crate::command::python::Python;
use crate::config::template::{self, Search};
use crate::exec;
use crate::host::{Host, terminal};
use crate::judge::{Judged, configs};
use crate::plan::{diagnostics_json, refused_json};
use crate::ranks::launcher::Launcher;
use crate::ranks::topology::Topology;
use crate::report::fix::run;
use crate::report::secrets::Secrets;
use crate::report::{self, Place, Problem, Rule, Severity, reading};
use crate::request::understood::UnderstoodLaunch;
use crate::request::{Format, Launch};

#[derive(Args)]
pub(crate) struct CheckArgs {
    #[arg(help_heading = "Output")]
    fix: bool,
    #[command(flatten)]
    launch: LaunchArgs,
}

impl Tool for CheckArgs {
    const SHOWN: &'static [&'static str] = &[
        "deepspeed",
        "template_dir",
        "patch",
        "unset",
        "set",
        "no_fill",
        "nproc_per_node",
        "nnodes",
        "launcher",
        "trainer",
        "env",
        "format",
        "strict",
        "allow",
        "color",
        "quiet",
    ];

    /// Behind configs, options are still ours.
    fn in_order(words: &[OsString], host: &Host) -> Vec<OsString> {
        options_first(words, |word| is_config(word, &Search::default(), host))
    }

    /// `check` looks at a launch, or at configs in the place of the command or in that of `--deepspeed` alone.
    fn read(self, mut reader: Reader) -> Requested {
        let config = self.launch.options.config.deepspeed.as_ref();
        let has_config = config.is_some_and(|config| config.from.is_flag());
        let mut launch = launch::read(self.launch, &mut reader);
        (launch.output.check, launch.output.fix) = (true, self.fix);
        if launch.command.is_empty() && !has_config {
            let other = run(
                "zlaunch check --deepspeed zero2 -- swift sft --model Qwen/Qwen3-8B --dataset data.jsonl",
            );
            let problem =
                Problem::error(Rule::Usage, "there is nothing to check").at("zlaunch check");
            reader
                .problems
                .push(problem.fix(run("zlaunch check ds_config.json").or(other)));
        }
        let configs = launch
            .command
            .iter()
            .all(|word| is_config(word, &launch.search, reader.host));
        if self.fix && !configs {
            let what = "`--fix` only edits config files";
            let problem = Problem::error(Rule::Usage, what)
                .at("--fix")
                .fix(run("zlaunch check --fix ds_config.json"));
            reader.problems.push(problem);
        }
        if configs {
            return reader.answer(move |host: &Host| check_configs(launch, host));
        }
        let is_unset = |name: &str| reader.host.nonempty_var(name).is_none();
        if !Topology::is_scheduled(reader.host)
            && is_unset(vars::NODE_RANK)
            && is_unset(vars::PET_NODE_RANK)
        {
            launch.be_first_machine("check", reader.host);
        }
        launch::finish(launch, reader, |launch, host| check_launch(&launch, host))
    }
}

/// A config has the form of one, or is a file that nothing runs.
fn is_config(word: &OsString, search: &Search, host: &Host) -> bool {
    let path = host.absolute(Path::new(word));
    let runs = path.extension().is_some_and(|ending| {
        ["py", "sh", "yaml", "yml"]
            .iter()
            .any(|known| ending == *known)
    });
    let has_form = word.to_str().is_some_and(|word| search.is_config(word));
    has_form || path.is_file() && !runs && host.find_program(word).is_none()
}

pub(super) fn check_launch(launch: &Launch, host: &Host) -> Result<u8, Vec<Problem>> {
    let secrets = Secrets::of(host);
    if launch.output.dry_run == Some(Format::Json) {
        let (status, json) = in_json(launch, host, &secrets);
        return out_bytes(&json).map(|_| status);
    }
    let judged = Judged::new(launch, host);
    let (checked, unchecked, rehearsal) = coverage(&judged, host, &secrets);
    let problems = judged.problems;
    let further = rehearsal.filter(|_| verdict(&problems) == 0);
    let further = further
        .map(|line| format!("; a rehearsal goes further: {line}"))
        .unwrap_or_default();
    let coverage = format!(
        "checked: {}; not checked: {}{further}",
        checked.join(", "),
        unchecked.join(", ")
    );
    show_checked(problems, &coverage, launch, &secrets)
}

/// What the answer rests on, what nobody looked at, and the rehearsal that does.
type Coverage = (Vec<String>, Vec<&'static str>, Option<String>);

fn coverage(judged: &Judged, host: &Host, secrets: &Secrets) -> Coverage {
    let UnderstoodLaunch { launch, job, .. } = judged.understood();
    let plan = judged.plan();
    if job.trainer.is_passthrough() {
        return (
            vec![format!("whether `{}` can be started", job.target.name())],
            vec!["what it does"],
            None,
        );
    }
    let (mut checked, mut unchecked) = (Vec::new(), vec!["the dataset", "the weights"]);
    let has_config = plan.is_some_and(|plan| plan.config.is_some());
    if launch.deepspeed.as_ref().map_or(has_config, |spec| {
        template::resolve(spec, &launch.search, host).is_ok()
    }) {
        checked.push(format!(
            "the config against {}",
            deepspeed_in_words(job.python.as_ref())
        ));
    }
    let is_read = matches!(
        job.trainer.arguments.parser,
        ArgumentParser::Recorded { .. }
    ) || job.flow().is_some_and(|flow| flow.parser().is_some());
    match job.trainer.distribution {
        Some(package) if is_read => {
            let version = job
                .version_text()
                .unwrap_or_else(|| "(all known versions)".to_string());
            let stand_in = if job.version().is_some() {
                parser::stand_in(package, &version)
            } else {
                None
            };
            let how = stand_in.map(|how| format!(" ({how})")).unwrap_or_default();
            checked.push(format!("the arguments against {package} {version}{how}"));
        }
        _ => unchecked.push("the arguments"),
    }
    let is_elsewhere =
        plan.is_some_and(|plan| matches!(plan.launcher, Launcher::Srun | Launcher::Prefix(_)));
    checked.extend((!is_elsewhere).then(|| "this machine".to_string()));
    unchecked.extend(job.source.is_some().then_some("the script's own code"));
    let mut rehearsal = launch.words_with(&[], &launch.command);
    rehearsal[1] = "rehearse".into();
    let rehearsal = shell::text(&secrets.hide_in_words(rehearsal.iter().map(OsString::as_os_str)));
    (checked, unchecked, (!launch.rehearsed).then_some(rehearsal))
}

/// The exit status and the plan, or what refuses it.
pub fn in_json(launch: &Launch, host: &Host, secrets: &Secrets) -> (u8, Vec<u8>) {
    let judged = Judged::new(launch, host);
    let (checked, unchecked, rehearsal) = coverage(&judged, host, secrets);
    let problems = &judged.problems;
    let mut plan = match judged.plan() {
        Some(plan) => plan.json(problems),
        None => refused_json(problems),
    };
    (plan["checked"], plan["not_checked"], plan["rehearsal"]) =
        (checked.into(), unchecked.into(), rehearsal.into());
    (verdict(problems), secrets.printed(plan))
}

fn check_configs(mut launch: Launch, host: &Host) -> Result<u8, Vec<Problem>> {
    launch.read_piped_config(host)?;
    let (launch, secrets) = (&launch, Secrets::of(host));
    let mut problems = configs::check_configs(launch, host);
    if launch.output.fix && fix(&problems, &secrets)? {
        problems = configs::check_configs(launch, host);
    }
    for problem in &mut problems {
        problem.is_about_file = true;
        problem.be_strict(launch.strict);
    }
    let deepspeed = deepspeed_in_words(Python::on_path(host).as_ref());
    let not_checked = configs::not_judged(&problems);
    if launch.output.dry_run == Some(Format::Json) {
        let checked = json!({
            "version": 1, "diagnostics": diagnostics_json(&problems),
            "checked": [format!("the config against {deepspeed}")], "not_checked": [not_checked], "rehearsal": null,
        });
        return out_bytes(&secrets.printed(checked)).map(|_| verdict(&problems));
    }
    let coverage =
        format!("checked against {deepspeed}; {not_checked} are not checked without a command");
    show_checked(problems, &coverage, launch, &secrets)
}

/// Makes the safe fixes and names them. Returns whether there was one.
fn fix(problems: &[Problem], secrets: &Secrets) -> Result<bool, Problem> {
    let mut files: BTreeMap<&Path, String> = BTreeMap::new();
    for problem in problems {
        let (Some(place @ Place::Line { file, .. }), Some(fix)) =
            (problem.places.first(), problem.fixes.safe())
        else {
            continue;
        };
        let edits = fix.edits();
        let text = files
            .get(file.as_path())
            .cloned()
            .map_or_else(|| reading::read_text(file), Ok)?;
        let new = edits.iter().try_fold(text, |text, edit| edit.apply(&text));
        if let (Some(new), false) = (new, edits.is_empty()) {
            let said: Vec<String> = edits.iter().map(Edit::to_string).collect();
            err(&secrets.hide_in_text(&format!("fixed: {} ({place})\n", said.join(", "))));
            files.insert(file, new);
        }
    }
    files
        .iter()
        .try_for_each(|(path, text)| exec::rewrite(path, text))?;
    Ok(!files.is_empty())
}

pub(super) fn show_checked(
    mut problems: Vec<Problem>,
    rests_on: &str,
    launch: &Launch,
    secrets: &Secrets,
) -> Result<u8, Vec<Problem>> {
    let status = verdict(&problems);
    problems.sort_by_key(|problem| problem.severity);
    let count = |severity| {
        let of_it = problems
            .iter()
            .filter(|problem| problem.severity == severity);
        of_it.count()
    };
    let counted = report::counted(
        count(Severity::Error),
        count(Severity::Warning),
        count(Severity::Note),
    );
    problems.retain(|problem| !launch.output.quiet || problem.severity == Severity::Error);
    out_bytes(&styled(|stream| {
        report::write(&problems, secrets, terminal::width(), stream);
        writeln!(
            stream,
            "{}{counted}",
            if problems.is_empty() { "" } else { "\n" }
        )?;
        let lines = wrapped(
            &secrets.hide_in_text(rests_on),
            0,
            terminal::width().unwrap_or(usize::MAX),
        );
        write!(
            stream,
            "{}",
            if launch.output.quiet || rests_on.is_empty() {
                ""
            } else {
                &lines
            }
        )
    }))?;
    Ok(status)
}

pub(super) fn verdict(problems: &[Problem]) -> u8 {
    u8::from(
        problems
            .iter()
            .any(|problem| problem.severity == Severity::Error),
    )
}
