//! zlaunch turns a command line into one exact, checked, explainable launch, and then becomes it by `exec`. This file is
//! the pipeline: what was asked for, what is decided, what is done.
//!
//! The layers, top to bottom. A folder imports only those below it; `tests/cli/source_layers.rs` holds the order.
//!
//! ```text
//! testing   what the tests see of the layers below
//! cli       argv and ZLAUNCH_* become a Request; help and completions
//! tools     explain, doctor, generate, schema, shims
//! exec      the effects: write files, exec, supervise the ranks of `--launcher local`
//! plan      the decision as a value, its printing, the environment, the record
//! fit       memory, and the choice for `--deepspeed auto`
//! check     the rules about configs and about the machine
//! request   the launch as data; the command, understood
//! config    templates, layers, patches, "auto", DeepSpeed's keys, ZeRO's section
//! ranks     topology/ (one file an engine that needs code) and launcher/ (one file a launcher)
//! command   what a command runs: arguments, Python, model, trainer/ (one file a front end)
//! report    problems, the sentences that describe them, secrets, reading files
//! host      the environment, programs and the machine as they are
//! base      leaves: provenance, JSON, YAML, options, variables, engines, shell quoting, columns
//! ```
#![cfg_attr(not(feature = "testing"), allow(unreachable_pub, reason = "it is public for `testing`"))]

mod base;
mod check;
mod cli;
mod command;
mod config;
mod exec;
mod fit;
mod host;
mod plan;
mod ranks;
mod report;
mod request;
#[cfg(feature = "testing")]
#[doc(hidden)]
pub mod testing;
mod tools;

// The machine of the unit tests, which is also that of `tests/library`.
#[cfg(test)]
extern crate self as zlaunch;
#[cfg(test)]
#[path = "../tests/fake/host.rs"]
mod fake;
#[cfg(test)]
#[path = "../tests/fake/front_ends.rs"]
mod fake_front_ends;

use std::borrow::Cow;
use std::io::Write;
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use base::json;
use base::layout::{escape_controls, wrapped};
use cli::{ExplainRequest, Refused, Request, TemplatesRequest};
use config::layers::with_layers;
use config::template;
use fit::FitFormat;
use host::{Host, terminal};
use plan::{Plan, configs};
use ranks::launcher::Launcher;
use report::secrets::Secrets;
use report::{Problem, REFUSED, Rule, Severity};
use request::{Format, Launch, Output};
use tools::shims::{Action, Shims};
use tools::{diff, doctor, explain, generate, schema, shims};

/// Columns of what is printed into a file or a pipe, where it is not a line for each thing.
const WIDEST: usize = 110;

/// What the program is: everything from the words to the exit status, where it does not become another program.
pub fn run() -> ExitCode {
    let host = Host::read();
    if let Some(status) = exec::become_rank(&host.words) {
        return ExitCode::from(status);
    }
    match respond(&host) {
        Ok(status) => ExitCode::from(status),
        Err(problems) => {
            let secrets = Secrets::of(&host);
            report::report(&problems, &secrets);
            if cli::asks_for_json(&host.words) {
                // For a program; the status says that it was refused.
                let _ = out(&format!("{:#}\n", secrets.hide(plan::refused_json(&problems))));
            }
            ExitCode::from(problems.first().map_or(REFUSED, |problem| problem.status))
        }
    }
}

/// The exit status, where zlaunch does not become another program.
fn respond(host: &Host) -> Result<u8, Vec<Problem>> {
    let mut request = cli::parse(&host.words, host).map_err(|refused| with_those_of_the_command(refused, host))?;
    if let Some(launch) = request.launch_mut() {
        launch.read_piped_config()?;
    }
    let shown = match request {
        Request::Launch(launch) => return run_launch(&launch, host),
        Request::Check(launch) => return run_check(&launch, host),
        Request::CheckConfigs(launch) => return run_check_configs(&launch, host),
        Request::Fit(request) => return run_fit(&request, host),
        Request::Diff(request) => run_diff(&request, host),
        Request::Generate(request) => run_generate(&request, host),
        Request::Templates(request) => show_templates(&request, host),
        Request::Schema(request) => {
            let (schema, note) = schema::schema(&request, host)?;
            err(&note.map(|note| note + "\n").unwrap_or_default());
            out(&format!("{schema:#}\n"))
        }
        Request::Shims(shims) => run_shims(&shims, host),
        Request::Explain(ExplainRequest { words: None, search }) => out(&explain::subjects(&search)),
        Request::Explain(ExplainRequest { words: Some(words), search }) => {
            show(&explain::explain(&words, &search, host)?)
        }
        Request::Doctor(launch) => show(&doctor::doctor(&launch, host)),
        Request::Overview(text) => {
            show(&text)?;
            return Ok(REFUSED);
        }
        Request::Show(text) => show(&text),
    };
    shown.map(|()| 0)
}

/// What can be wrong about a command and its config however zlaunch's own options are meant.
const OF_THE_COMMAND: &[Rule] = &[
    Rule::Template,
    Rule::Json,
    Rule::NotFound,
    Rule::ScriptMissing,
    Rule::ModuleMissing,
    Rule::PathMissing,
    Rule::RunFile,
    Rule::Argument,
];

/// The problems of the words, and those of the command behind them: all are told at once.
fn with_those_of_the_command(refused: Refused, host: &Host) -> Vec<Problem> {
    let Refused { mut problems, meant } = refused;
    let Some(mut launch) = meant else { return problems };
    // A template may be in the folder that is not there.
    let says_more = |problem: &Problem| !problems.iter().any(|known| known.rule == problem.rule);
    let is_of_command = |problem: &Problem| OF_THE_COMMAND.contains(&problem.rule) && says_more(problem);
    let planned = launch.read_piped_config().map_err(|problem| vec![problem]).and_then(|()| Plan::new(&launch, host));
    let found: Vec<Problem> = planned.err().into_iter().flatten().filter(is_of_command).collect();
    problems.extend(found.into_iter().filter(|problem| problem.severity == Severity::Error));
    problems
}

fn show_templates(request: &TemplatesRequest, host: &Host) -> Result<(), Vec<Problem>> {
    let TemplatesRequest { name, raw, search, layers } = request;
    let Some(name) = name else {
        return out(&template::list(search, host));
    };
    if *raw {
        return out(&template::raw(name, search, host)?);
    }
    let template = template::resolve(name, search, host)?;
    let secrets = Secrets::of(host);
    report::report(&template.notes, &secrets);
    err(&template.summary(&secrets));
    // Without them, keys that only the user can know may still be missing.
    let config =
        if layers.is_empty() { Cow::Borrowed(&template.config) } else { with_layers(&template, layers, host)? };
    out(&json::write(&config))
}

/// `zlaunch check`: what was found is the data here.
fn run_check(launch: &Launch, host: &Host) -> Result<u8, Vec<Problem>> {
    let secrets = Secrets::of(host);
    let plan = Plan::new(launch, host);
    let problems = match &plan {
        Ok(plan) => plan.all_diagnostics(),
        Err(problems) => problems.clone(),
    };
    if launch.output.dry_run == Some(Format::Json) {
        match &plan {
            Ok(plan) => out_bytes(&plan.render(Format::Json, &secrets))?,
            Err(problems) => out(&format!("{:#}\n", secrets.hide(plan::refused_json(problems))))?,
        }
        return Ok(verdict(&problems, launch));
    }
    show_checked(problems, None, launch, &secrets)
}

/// `zlaunch check FILE.json…`.
fn run_check_configs(launch: &Launch, host: &Host) -> Result<u8, Vec<Problem>> {
    let secrets = Secrets::of(host);
    let problems = configs::check_configs(launch, host);
    if launch.output.dry_run == Some(Format::Json) {
        out(&format!("{:#}\n", secrets.hide(configs::json(&problems))))?;
        return Ok(verdict(&problems, launch));
    }
    show_checked(problems, Some(configs::NOT_JUDGED), launch, &secrets)
}

/// Prints what was found, what was not judged, and the counts.
fn show_checked(
    mut problems: Vec<Problem>,
    not_judged: Option<&str>,
    launch: &Launch,
    secrets: &Secrets,
) -> Result<u8, Vec<Problem>> {
    let status = verdict(&problems, launch);
    problems.sort_by_key(|problem| problem.severity);
    let count = |severity| problems.iter().filter(|problem| problem.severity == severity).count();
    let counted = report::counted(count(Severity::Error), count(Severity::Warning), count(Severity::Note));
    problems.retain(|problem| !launch.output.quiet || problem.severity == Severity::Error);
    out_bytes(&styled(|stream| {
        report::write(&problems, secrets, terminal::width(), stream);
        let width = terminal::width().unwrap_or(usize::MAX);
        not_judged.filter(|_| !launch.output.quiet).map_or(Ok(()), |it| write!(stream, "{}", wrapped(it, 0, width)))?;
        writeln!(stream, "{counted}")
    }))?;
    Ok(status)
}

/// The exit status of `check`.
fn verdict(problems: &[Problem], launch: &Launch) -> u8 {
    let any = |severity| problems.iter().any(|problem| problem.severity == severity);
    u8::from(any(Severity::Error) || launch.strict && any(Severity::Warning))
}

fn run_shims(shims: &Shims, host: &Host) -> Result<(), Vec<Problem>> {
    let present = shims.present();
    match shims.action {
        Action::List if present.is_empty() => err(&shims.none()),
        Action::List => return out(&shims.listing(host)),
        Action::Install => {
            let foreign = shims.foreign();
            if !foreign.is_empty() {
                return Err(foreign);
            }
            shims.files().try_for_each(|file| exec::write_program(&file, shims::SHIM))?;
            err(&String::from_utf8_lossy(&shims.advice(host)));
        }
        Action::Remove => {
            exec::remove(&present, shims.own_folders())?;
            err(&shims.removed(present.len()));
        }
    }
    Ok(())
}

fn run_launch(launch: &Launch, host: &Host) -> Result<u8, Vec<Problem>> {
    let secrets = Secrets::of(host);
    let plan = Plan::new(launch, host)?;
    let Output { dry_run, quiet, verbose, check: _ } = launch.output;
    if dry_run.is_none() && matches!(plan.launcher, Launcher::Prefix(_)) {
        // zlaunch reports everything again behind the prefix.
        return carry_out(&plan, None);
    }
    if !quiet && (plan.topology.is_first() || verbose) {
        report::report(&plan.diagnostics, &secrets);
    }
    let chosen = plan.config.as_ref().and_then(|config| config.chosen.as_ref());
    if let Some(chosen) = chosen.filter(|_| !quiet && plan.topology.is_first()) {
        err(&format!("{chosen}\n"));
    }
    if let Some(format) = dry_run {
        // A plan can be read on another machine than the one it is for.
        let blocker = plan.blocker.clone().filter(|_| !quiet).map(Problem::into_warning);
        report::report(blocker.as_slice(), &secrets);
        return out_bytes(&plan.render(format, &secrets)).map(|()| 0);
    }
    if verbose && !quiet {
        err(&plan.text(&secrets, report::width_of_stderr()));
    }
    let says = !quiet && !verbose;
    carry_out(&plan, plan.headline().filter(|_| says).map(|line| secrets.hide_known(line)))
}

/// Prepares the launch, says in one line what it is, and becomes it.
fn carry_out(plan: &Plan, headline: Option<String>) -> Result<u8, Vec<Problem>> {
    exec::prepare(plan)?;
    if let Some(line) = headline {
        err(&format!("zlaunch: {line}\n"));
    }
    Ok(exec::start(plan)?)
}

/// Exit status 1: it does not fit.
fn run_fit(request: &fit::FitRequest, host: &Host) -> Result<u8, Vec<Problem>> {
    // It is asked about GPUs that need not be here.
    let help = request.card.map_or("--gpu H100x8, or --gpus 8 --gpu-memory 80GiB", |_| "--gpus 8");
    let in_its_words = |problem: Problem| match problem.asks_for_gpu_count {
        true => Problem { what: "the number of GPUs is unknown".to_string(), ..problem }.help(help),
        false => problem,
    };
    let report =
        fit::answer(request, host).map_err(|problems| problems.into_iter().map(in_its_words).collect::<Vec<_>>())?;
    report::report(&request.launch.warnings, &Secrets::of(host));
    let colour = AutoStream::choice(&std::io::stdout()) != ColorChoice::Never;
    let text = match request.format {
        FitFormat::Json => escape_controls(&format!("{:#}\n", report.json())),
        FitFormat::Svg => report.svg(),
        FitFormat::Text => report.text(fit::View { width: terminal::width(), colour }),
    };
    out_bytes(text.as_bytes()).map(|()| u8::from(report.does_not_fit()))
}

fn run_diff(request: &diff::DiffRequest, host: &Host) -> Result<(), Vec<Problem>> {
    let comparison = diff::compare(request, host)?;
    if request.format == Format::Json {
        return out(&format!("{:#}\n", comparison.json()));
    }
    show(&comparison.text(terminal::width().unwrap_or(WIDEST)))
}

fn run_generate(request: &generate::GenerateRequest, host: &Host) -> Result<(), Vec<Problem>> {
    let generated = generate::generate(request, host)?;
    for (path, text) in &generated.files {
        let Some(path) = path else {
            out(text)?;
            continue;
        };
        exec::write_new(&host.absolute(path), text, request.force)?;
    }
    let width = report::width_of_stderr().unwrap_or(usize::MAX);
    generated.notes.iter().for_each(|note| err(&wrapped(note, 0, width)));
    Ok(())
}

/// Text with colours, unless standard output is not a terminal.
fn styled(write: impl FnOnce(&mut AutoStream<Vec<u8>>) -> std::io::Result<()>) -> Vec<u8> {
    let mut stream = AutoStream::new(Vec::new(), AutoStream::choice(&std::io::stdout()));
    // Writing to a Vec cannot fail.
    let _ = write(&mut stream);
    stream.into_inner()
}

/// Writes a text that is harmless but for its colours, which only a terminal gets.
fn show(text: &str) -> Result<(), Vec<Problem>> {
    out_bytes(&styled(|stream| stream.write_all(text.as_bytes())))
}

/// Writes a text to standard output. What is in it came from files, variables and arguments, so nothing of it may deceive
/// a terminal.
fn out(text: &str) -> Result<(), Vec<Problem>> {
    out_bytes(escape_controls(text).as_bytes())
}

/// Writes what has been made harmless. That the reader is gone (`| head`) is not an error.
fn out_bytes(bytes: &[u8]) -> Result<(), Vec<Problem>> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(why) if why.kind() != std::io::ErrorKind::BrokenPipe => Err(vec![report::cannot_print(&why)]),
        _ => Ok(()),
    }
}

fn err(text: &str) {
    // If standard error is closed, the message cannot be shown anywhere.
    let _ = std::io::stderr().write_all(escape_controls(text).as_bytes());
}
