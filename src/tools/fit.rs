//! `zlaunch fit`: the answer in the format that was asked for.

use anstream::{AutoStream, ColorChoice};

use super::output::out_bytes;
use crate::base::layout::escape_controls;
use crate::fit::{self, FitFormat, FitRequest};
use crate::host::{Host, terminal};
use crate::report::fix::give;
use crate::report::secrets::Secrets;
use crate::report::{self, Problem};

/// Exit status 1: it does not fit.
pub(crate) fn run(request: &FitRequest, host: &Host) -> Result<u8, Vec<Problem>> {
    // It is asked about GPUs that need not be here.
    let gpus = || give("--gpus", 8);
    let fixes = || match request.card {
        None => give("--gpu", "H100x8").or(gpus().and(give("--gpu-memory", "80GiB"))),
        Some(_) => gpus().into(),
    };
    let in_its_words = |problem: Problem| {
        if !problem.asks_for_gpu_count {
            return problem;
        }
        Problem { what: "the number of GPUs is unknown".to_string(), ..problem }.fix(fixes())
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
