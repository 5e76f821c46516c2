//! Volcengine's machine learning platform: volcengine.com/docs/6459/75329. A job of workers alone; other roles have
//! variables of their own.

use super::nodes::NodeVariables;
use crate::base::engines::Block;
use crate::host::Host;
use crate::ranks::topology::engine::{Detected, Engine};
use crate::ranks::topology::variables::text;
use crate::report;

pub(super) const ENGINE: Engine = Engine { name: "Volcengine MLP", detect };

fn detect(block: &Block, host: &Host) -> Option<Detected> {
    // The numbers of other roles count other machines.
    let other = text("MLP_ROLE", host).filter(|role| !role.value.eq_ignore_ascii_case("worker"));
    let other = other.map(|role| Err(report::engine_not_understood(ENGINE.name, &role.place()).into()));
    other.or_else(|| NodeVariables::of(block).detect(host))
}
