//! zlaunch turns a command line into one exact, checked, explainable launch, and then becomes it by `exec`. The folders are
//! layers, which the table in `CONTRIBUTING.md` lists from top to bottom: each imports only those below it.
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

use std::process::ExitCode;

use cli::Request;
use host::Host;
use report::secrets::Secrets;
use report::{Problem, REFUSED};
use tools::output::{out_bytes, show};

/// The whole program, from the words to the exit status.
pub fn run() -> ExitCode {
    let host = Host::read();
    if let Some(status) = exec::become_rank(&host.words) {
        return ExitCode::from(status);
    }
    report::choose_colour(cli::asked(&host.words, "--color"), &host);
    match respond(&host) {
        Ok(status) => ExitCode::from(status),
        Err(problems) => {
            let secrets = Secrets::of(&host);
            report::report(&problems, &secrets);
            if cli::asked(&host.words, "--format") == Some("json") {
                // If this cannot be written, the status still says that it was refused.
                let _ = out_bytes(&plan::refused_json(&problems, &secrets));
            }
            ExitCode::from(problems.first().map_or(REFUSED, |problem| problem.status))
        }
    }
}

/// Returns the exit status, unless zlaunch becomes another program.
fn respond(host: &Host) -> Result<u8, Vec<Problem>> {
    let mut request = cli::parse(&host.words, host).map_err(|refused| refused.with_those_of_the_command(host))?;
    if let Some(launch) = request.launch_mut() {
        launch.read_piped_config()?;
    }
    match request {
        Request::Launch(launch) => return tools::launch::run(&launch, host),
        Request::Check(launch) => return tools::check::check_launch(&launch, host),
        Request::CheckConfigs(launch) => return tools::check::check_configs(&launch, host),
        Request::Rehearse(request) => return tools::rehearse::run(*request, host),
        Request::Fit(request) => return tools::fit::run(&request, host),
        Request::Overview(text) => return show(&text).map(|()| REFUSED),
        Request::Diff(request) => tools::diff::run(&request, host),
        Request::Generate(request) => tools::generate::run(&request, host),
        Request::Templates(request) => tools::templates::run(&request, host),
        Request::Schema(request) => tools::schema::run(&request, host),
        Request::Shims(shims) => shims.run(host),
        Request::Explain(request) => tools::explain::run(&request, host),
        Request::Doctor(launch) => show(&tools::doctor::doctor(&launch, host)),
        Request::Show(text) => show(&text),
    }
    .map(|()| 0)
}
