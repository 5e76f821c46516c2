//! The rendezvous: an address of the first machine that the others can reach.

use std::fs;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::process::{Command, Stdio};

use super::allocation::Allocation;
use super::problems::meets_on_loopback;
use super::variables::{MASTER_ADDR, MASTER_PORT, RankFlags, VariableReader, first_text};
use crate::base::source::Sourced;
use crate::report::fix::give;
use crate::report::{Problem, Rule};

pub(super) struct Rendezvous {
    pub(super) address: Option<Sourced<String>>,
    pub(super) port: Option<Sourced<u16>>,
    /// Neither a flag nor a variable names it.
    pub(super) address_from_engine: bool,
    pub(super) port_from_engine: bool,
}

impl Rendezvous {
    pub(super) fn new(flags: &RankFlags, allocation: Option<&Allocation>, variables: &mut VariableReader<'_>) -> Self {
        let address = flags.master_addr.clone().or_else(|| first_text(&MASTER_ADDR, variables.host));
        let port = flags.master_port.clone().or_else(|| variables.first_number(&MASTER_PORT, 1));
        Rendezvous {
            address_from_engine: address.is_none(),
            port_from_engine: port.is_none(),
            address: address.or_else(|| allocation?.master_addr.clone()),
            port: port.or_else(|| allocation?.master_port.clone()),
        }
    }

    pub(super) fn problem(&self, nnodes: &Sourced<u32>, allocation: Option<&Allocation>) -> Option<Problem> {
        if nnodes.value == 1 {
            return None;
        }
        match (&self.address, &self.port) {
            (Some(address), _) if address.value.contains('/') || address.value.matches(':').count() == 1 => {
                let host = address.value.rsplit('/').find(|part| !part.is_empty()).unwrap_or("HOST");
                let (host, port) = host.split_once(':').unwrap_or((host, "29500"));
                let what = format!("`{}` is not a machine's name or address", address.value);
                let fix = give("--master-addr", host).and(give("--master-port", port));
                Some(Problem::error(Rule::Ranks, what).at(address).fix(fix))
            }
            (Some(address), Some(_)) if is_loopback(&address.value) => Some(meets_on_loopback(address, nnodes)),
            (Some(_), Some(_)) => allocation?.address_problem.clone().filter(|_| self.address_from_engine),
            _ => {
                let what = format!("{} machines need the address and port of the first", nnodes.value);
                let port = give("--master-port", 29500);
                let fix = if self.address.is_some() { port } else { give("--master-addr", "HOST").and(port) };
                Some(Problem::error(Rule::Ranks, what).at(nnodes).fix(fix.remark("the same on every machine")))
            }
        }
    }
}

pub fn is_loopback(address: &str) -> bool {
    address.eq_ignore_ascii_case("localhost")
        || address.to_ascii_lowercase().starts_with("localhost.")
        || address.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// An address of this machine that others can reach. Debian maps a machine's own name to 127.0.1.1, and other systems may
/// do the same; then it is the address this machine has towards the second machine.
pub(super) fn reachable_address(own: Sourced<String>, second: impl FnOnce() -> Option<String>) -> Sourced<String> {
    let hosts_file = fs::read_to_string("/etc/hosts").unwrap_or_default();
    if maps_to_loopback(&hosts_file, &own.value)
        && let Some(address) = second().and_then(|second| local_address_towards(&second))
    {
        return Sourced::new(address.to_string(), own.from);
    }
    own
}

pub fn maps_to_loopback(hosts_file: &str, name: &str) -> bool {
    let address = hosts_file.lines().find_map(|line| {
        let mut words = line.split('#').next()?.split_ascii_whitespace();
        let address = words.next()?;
        words.any(|word| word.eq_ignore_ascii_case(name)).then_some(address)
    });
    address.is_some_and(is_loopback)
}

/// The address from which this machine would send to that host. Connecting a UDP socket sends nothing.
fn local_address_towards(host: &str) -> Option<IpAddr> {
    resolve(host).into_iter().find_map(|target| {
        let any: SocketAddr = if target.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }.parse().ok()?;
        let socket = UdpSocket::bind(any).ok()?;
        socket.connect((target, 1)).ok()?;
        let address = socket.local_addr().ok()?.ip();
        (!address.is_loopback() && !address.is_unspecified()).then_some(address)
    })
}

/// The addresses of a host. `getent` is asked, because the packaged executable is static and cannot load the system's
/// resolver.
pub fn resolve(host: &str) -> Vec<IpAddr> {
    let getent =
        Command::new("/usr/bin/getent").args(["ahosts", host]).stdin(Stdio::null()).stderr(Stdio::null()).output();
    let text = getent.map(|output| output.stdout).unwrap_or_default();
    let lines = str::from_utf8(&text).unwrap_or_default().lines();
    lines.filter_map(|line| line.split_ascii_whitespace().next()?.parse().ok()).collect()
}
