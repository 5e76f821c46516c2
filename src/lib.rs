//! zlaunch turns a command line into one exact, checked, explainable launch, and then becomes it by `exec`. The folders are
//! layers, which the table in `CONTRIBUTING.md` lists from top to bottom: each imports only those below it.

mod base;
mod check;
mod cli;
mod command;
mod config;
mod exec;
mod fit;
mod host;
mod judge;
mod plan;
mod ranks;
mod report;
mod request;
#[cfg(feature = "testing")]
#[doc(hidden)]
pub mod testing;
mod tools;

use std::process::ExitCode;

use cli::{Asked, Outcome};
use host::Host;
use report::{REFUSED, secrets::Secrets};
use tools::{
    output::{out_bytes, show},
    proof::Line,
};

/// The whole program, from the words to the exit status.
pub fn run() -> ExitCode {
    let host = Host::read();
    if let Some(status) = exec::started_by_zlaunch(&host.words) {
        return ExitCode::from(status);
    }
    match respond(&host) {
        Ok(status) => ExitCode::from(status),
        Err(problems) => {
            let secrets = Secrets::of(&host);
            report::report(&problems, &secrets);
            if cli::asked(&host.words, "--format") == Some("json") {
                // If this cannot be written, the status still says that it was refused.
                let _ = out_bytes(&secrets.printed(plan::refused_json(&problems)));
            }
            ExitCode::from(problems.first().map_or(REFUSED, |problem| problem.status))
        }
    }
}

/// Returns the exit status, unless zlaunch becomes another program.
fn respond(host: &Host) -> Outcome {
    match cli::parse(&host.words, host, &tools::TOOLS) {
        Ok(Asked::Request(request)) => request.run(host),
        Ok(Asked::Text(text, status)) => show(&text).map(|_| status),
        Err(refused) => {
            let mut problems = tools::proof::all_problems(refused, host);
            Line::of_words(host.words.clone(), host, &tools::TOOLS).prove(&mut problems);
            Err(problems)
        }
    }
}
