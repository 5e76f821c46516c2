//! zlaunch: one exact, checked, explainable launch, and then out of the way. This file is the pipeline in order.

mod auto;
mod cli;
mod config;
mod environment;
mod error;
mod exec;
mod host;
mod json;
mod launcher;
mod model;
mod plan;
mod python;
mod said;
mod template;
mod topology;
mod trainer;
mod vars;

use std::io::Write;
use std::process::ExitCode;

use cli::{Launch, Output, Request};
use error::Problem;
use host::Host;
use plan::Plan;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problems) => {
            error::report(&problems);
            ExitCode::from(problems.first().map_or(125, |problem| problem.status))
        }
    }
}

fn run() -> Result<(), Vec<Problem>> {
    let host = Host::read();
    match cli::parse(std::env::args_os().collect(), &host)? {
        Request::Launch(launch) => run_launch(&launch, &host),
        Request::Templates { name: None, search, .. } => out(template::list(&search, &host).as_bytes()),
        Request::Templates { name: Some(name), raw: true, search } => {
            out(template::raw(&name, &search, &host).map_err(|problem| vec![problem])?.as_bytes())
        }
        Request::Templates { name: Some(name), raw: false, search } => {
            let template = template::resolve(&name, &search, &host).map_err(|problem| vec![problem])?;
            error::report(&template.notes);
            out(json::write(&template.config).as_bytes())
        }
        Request::Show(text) => {
            // The only stylised text on stdout; colours go when it is piped.
            let _ = anstream::stdout().write_all(text.as_bytes());
            Ok(())
        }
    }
}

fn run_launch(launch: &Launch, host: &Host) -> Result<(), Vec<Problem>> {
    let plan = Plan::new(launch, host)?;
    match launch.output {
        Output::DryRun(format) => {
            error::report(&plan.diagnostics);
            // A plan can be read on another machine than the one it is for.
            error::report(plan.blocker.clone().map(Problem::into_warning).as_slice());
            out(&plan.render(format))
        }
        Output::Launch { quiet, verbose } => {
            if !quiet {
                error::report(&plan.diagnostics);
            }
            if verbose && !quiet {
                err(plan.text().as_bytes());
            }
            match exec::carry_out(plan).map_err(|problem| vec![problem])? {}
        }
    }
}

/// Data. A reader that went away is no failure of ours.
fn out(bytes: &[u8]) -> Result<(), Vec<Problem>> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(why) if why.kind() != std::io::ErrorKind::BrokenPipe => Err(vec![error::cannot_print(&why)]),
        _ => Ok(()),
    }
}

fn err(bytes: &[u8]) {
    // Nobody to tell if standard error itself is gone.
    let _ = std::io::stderr().write_all(bytes);
}

/// The README's tables are the program's tables.
#[cfg(test)]
mod readme {
    use super::*;

    const README: &str = include_str!("../README.md");

    /// The text between `<!-- name -->` and `<!-- end -->`.
    fn assert_block(name: &str, expected: &str) {
        let marker = format!("<!-- {name} -->\n");
        let rest = README.split_once(marker.as_str()).expect("a marker in the README").1;
        let block = rest.split_once("<!-- end -->").expect("the end of the block").0;
        assert_eq!(block.trim(), expected.trim(), "README.md should hold:\n{expected}");
    }

    fn cell(text: &str) -> String {
        text.replace('|', "\\|")
    }

    #[test]
    fn templates() {
        let mut rows = String::from("| name | what it is |\n| --- | --- |\n");
        for (name, about) in template::built_in_abouts() {
            rows += &format!("| `{name}` | {} |\n", cell(&about));
        }
        assert_block("templates", &rows);
    }

    #[test]
    fn rules() {
        let mut rows = String::from("| key | becomes | compared |\n| --- | --- | --- |\n");
        for rule in auto::RULES {
            rows += &format!("| `{}` | {} | {} |\n", rule.key, cell(rule.doc), if rule.compared { "yes" } else { "" });
        }
        assert_block("rules", &rows);
    }

    #[test]
    fn options() {
        let mut rows = String::from("| option | meaning |\n| --- | --- |\n");
        for option in cli::OPTIONS {
            let short = option.short.map(|short| format!("-{short}, ")).unwrap_or_default();
            let value = if option.value.is_empty() { String::new() } else { format!(" {}", option.value) };
            let repeat = if option.kind == cli::Kind::Many { " (repeatable)" } else { "" };
            rows += &format!("| `{short}--{}{}` | {}{repeat} |\n", option.name, cell(&value), cell(option.help));
        }
        assert_block("options", &rows);
    }

    #[test]
    fn variables() {
        let mut rows = String::from("| variable | zlaunch | for |\n| --- | --- | --- |\n");
        for var in vars::ALL {
            let does = if var.r#use == vars::Use::Read { "reads" } else { "reads, sets" };
            rows += &format!("| `{}` | {does} | {} |\n", var.name, cell(var.about));
        }
        assert_block("variables", &rows);
    }
}
