//! The machine of unit tests, laws and fuzz targets: files in the sandbox that all tests share, and what zlaunch sees
//! there.
#![allow(dead_code, unused_imports, reason = "each of those who include this file needs another part of it")]

#[path = "../fake.rs"]
mod sandbox;

pub(crate) use sandbox::{Sandbox, safetensors};
use zlaunch::testing::Host;

impl Sandbox {
    /// A machine with 8 CPUs and 2 GPUs, in this folder and with these variables.
    pub(crate) fn host(&self) -> Host {
        let (env, cwd, hostname) = (self.variables().clone(), self.cwd(), "h0".to_string());
        Host { env, cwd, hostname, cpus: 8, nvidia_gpus: Some(2), ..Host::default() }
    }
}

/// A machine of which only the environment is known.
pub(crate) fn host(variables: &[(&str, &str)]) -> Host {
    Host { env: variables.iter().map(|(name, value)| (name.into(), value.into())).collect(), ..Host::default() }
}
