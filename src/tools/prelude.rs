//! What nearly every sub-command needs.

pub use clap::Args;

pub(crate) use crate::report;

pub use super::output::{err, out, out_bytes, show, styled};
pub use crate::{
    base::options::{AnyValue, Given},
    cli::{
        LaunchOptions, Outcome, Reader, Requested, Tool, Tools,
        launch::{self, LaunchArgs},
        usage,
        values::{self, REPORT_FORMATS, TEMPLATES, one_of},
    },
    host::{Host, terminal},
    judge::Judged,
    report::{prelude::*, secrets::Secrets},
    request::{Format, Launch},
};
