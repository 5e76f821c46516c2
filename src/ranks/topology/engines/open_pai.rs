//! OpenPAI: github.com/microsoft/pai, docs/manual/cluster-user/how-to-use-advanced-job-settings.md. The names of its variables
//! have the role of this task in them. The tasks of other roles may do anything.

use super::nodes::Nodes;
use crate::host::Host;
use crate::ranks::topology::engine::{Detected, Engine};
use crate::ranks::topology::variables::{VariableReader, check, text};
use crate::report;

pub(super) const ENGINE: Engine = Engine { name: "OpenPAI", detect: |_, host| Some(read(host)) };

fn read(host: &Host) -> Detected {
    let role = host.filled("PAI_CURRENT_TASK_ROLE_NAME").unwrap_or_default();
    if let Some(roles) = text("PAI_TASK_ROLE_LIST", host).filter(|roles| roles.value != role) {
        return Err(report::engine_not_understood(ENGINE.name, &roles.place()).into());
    }
    let mut variables = VariableReader::new(host);
    let count = variables.number::<u32>(&format!("PAI_TASK_ROLE_TASK_COUNT_{role}"), 1);
    let index = variables.number::<u32>("PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX", 0);
    check(variables.problems)?;
    let first = text(&format!("PAI_HOST_IP_{role}_0"), host);
    Nodes { engine: ENGINE.name, count, index, listed: None, first }.allocate()
}
