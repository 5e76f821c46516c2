//! The variables of a program or rank that zlaunch starts.

use std::process::Command;

use crate::base::vars;
use crate::plan::launch_env::Environment;

pub(super) fn apply(environment: &Environment, command: &mut Command) {
    // Set by a shim for zlaunch alone: nobody behind it should see it.
    command.env_remove(vars::ZLAUNCH_SHIM_OF);
    for name in &environment.unset {
        command.env_remove(name);
    }
    for setting in &environment.set {
        command.env(&setting.name, &setting.value);
    }
}
