//! NVIDIA's DGX Cloud Lepton: github.com/leptonai/gpud and docs.nvidia.com/dgx-cloud/lepton, "Distributed training". The first
//! worker is `PREFIX-0.SUBDOMAIN`.

use super::nodes::Nodes;
use crate::base::source::{Source, Sourced};
use crate::host::Host;
use crate::ranks::topology::engine::{Detected, Engine};
use crate::ranks::topology::variables::{VariableReader, check, first_text, text};

pub(super) const ENGINE: Engine = Engine { name: "Lepton", detect: |_, host| detect(host) };

const COUNT: &str = "LEPTON_JOB_TOTAL_WORKERS";
const INDEX: &str = "LEPTON_JOB_WORKER_INDEX";

fn detect(host: &Host) -> Option<Detected> {
    [COUNT, INDEX].iter().any(|name| host.filled(name).is_some()).then(|| read(host))
}

fn read(host: &Host) -> Detected {
    let mut variables = VariableReader::new(host);
    let (count, index) = (variables.number(COUNT, 1), variables.number(INDEX, 0));
    check(variables.problems)?;
    let prefix = first_text(&["LEPTON_JOB_WORKER_HOSTNAME_PREFIX", "LEPTON_JOB_SERVICE_PREFIX"], host);
    let first = prefix.zip(text("LEPTON_SUBDOMAIN", host)).map(|(prefix, domain)| {
        let name = format!("{}-0.{}", prefix.value, domain.value);
        Sourced::new(name, Source::Both(Box::new(prefix.from), Box::new(domain.from)))
    });
    Nodes { engine: ENGINE.name, count, index, listed: None, first }.allocate()
}
