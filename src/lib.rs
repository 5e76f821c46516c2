//! zlaunch turns a command line into one exact, checked, explainable launch, and then becomes it by `exec`. This file is
//! the pipeline: what was asked for, what is decided, what is done.
//!
//! The layers, top to bottom. A folder imports only those below it; `tests/cli/source_layers.rs` holds the order.
//!
//! ```text
//! testing   what the tests see of the layers below
//! tools     a launch and the sub-commands: one file each has its arguments and what it does, a table has them all
//! exec      the effects: write files, exec, supervise the ranks of `--launcher local`
//! plan      the decision as a value, its printing, the environment, the record
//! cli       argv and ZLAUNCH_* become a request, by that table; help, and what was probably meant
//! fit       memory, and the choice for `--deepspeed auto`
//! check     the rules about configs and about the machine
//! request   the launch as data; the command, understood
//! config    templates, layers, patches, "auto", DeepSpeed's keys, ZeRO's section
//! ranks     topology/ (one file an engine that needs code) and launcher/ (one file a launcher)
//! command   what a command runs: arguments, Python, model, trainer/ (one file a front end)
//! report    problems with their places and fixes, messages that are shared, secrets, reading files
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

use std::process::ExitCode;

use cli::Asked;
use host::Host;
use report::secrets::Secrets;
use report::{Problem, REFUSED};
use tools::output::{out_bytes, show};

/// What the program is: everything from the words to the exit status, where it does not become another program.
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
                // For a program; the status says that it was refused.
                let _ = out_bytes(&plan::refused_json(&problems, &secrets));
            }
            ExitCode::from(problems.first().map_or(REFUSED, |problem| problem.status))
        }
    }
}

/// The exit status, where zlaunch does not become another program.
fn respond(host: &Host) -> Result<u8, Vec<Problem>> {
    match cli::parse(&host.words, host, &tools::TOOLS) {
        Ok(Asked::Request(request)) => request.run(host),
        Ok(Asked::Text(text, status)) => show(&text).map(|_| status),
        Err(refused) => Err(tools::launch::all_problems(refused, host)),
    }
}
