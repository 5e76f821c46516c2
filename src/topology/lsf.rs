//! LSF with `jsrun`. The first line of its host file is the machine that launches, which runs no rank.

use std::path::Path;

use super::engine::{Engine, Tasks};
use crate::host::Host;
use crate::json;
use crate::said::{Said, Source};
use crate::vars;

pub(super) const ENGINE: Engine = Engine { name: "LSF", mark: "JSM_NAMESPACE_SIZE", look: |host| TASKS.look(host) };

const TASKS: Tasks = Tasks {
    rank: "JSM_NAMESPACE_RANK",
    size: "JSM_NAMESPACE_SIZE",
    local_rank: "JSM_NAMESPACE_LOCAL_RANK",
    local_size: "JSM_NAMESPACE_LOCAL_SIZE",
};

pub(super) fn first_host(host: &Host) -> Option<Said<String>> {
    let text = json::read_text(Path::new(host.filled(vars::LSB_DJOB_RANKFILE)?)).ok()?;
    let mut hosts = text.split_whitespace();
    let launches = hosts.next()?;
    let first = hosts.find(|name| *name != launches)?;
    Some(Said::new(first.to_string(), Source::Variable(vars::LSB_DJOB_RANKFILE.to_string())))
}
