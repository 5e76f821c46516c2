//! Where the ranks of several machines meet: an address that reaches the first of them from the others.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::process::{Command, Stdio};

use super::RankFlags;
use super::engine::Seen;
use super::read::{number, text};
use crate::base::source::Sourced;
use crate::base::vars;
use crate::host::Host;
use crate::report::{self, Problem};

const HOSTS_FILE: &str = "/etc/hosts";

/// Machine 0's address and port: a flag, a variable, what the engine says.
pub(super) struct Rendezvous {
    pub(super) address: Option<Sourced<String>>,
    pub(super) port: Option<Sourced<u16>>,
    /// Nobody but the engine says so.
    pub(super) address_from_engine: bool,
    pub(super) port_from_engine: bool,
}

impl Rendezvous {
    pub(super) fn new(flags: &RankFlags, seen: Option<&Seen>, host: &Host, problems: &mut Vec<Problem>) -> Self {
        let address = [vars::MASTER_ADDR, vars::PET_MASTER_ADDR];
        let address = flags.master_addr.clone().or_else(|| address.iter().find_map(|name| text(host, name)));
        let port = [vars::MASTER_PORT, vars::PET_MASTER_PORT];
        let port = flags.master_port.clone().or_else(|| port.iter().find_map(|name| number(host, name, &1, problems)));
        Rendezvous {
            address_from_engine: address.is_none(),
            port_from_engine: port.is_none(),
            address: address.or_else(|| seen.and_then(|seen| seen.master_addr.clone())),
            port: port.or_else(|| seen.and_then(|seen| seen.master_port.clone())),
        }
    }

    /// Why machines could not meet there.
    pub(super) fn problem(&self, nnodes: &Sourced<u32>, seen: Option<&Seen>) -> Option<Problem> {
        if nnodes.value == 1 {
            return None;
        }
        match (&self.address, &self.port) {
            (Some(address), Some(_)) if is_loopback(&address.value) => {
                Some(report::rendezvous_on_loopback(address, nnodes))
            }
            (Some(_), Some(_)) => seen.and_then(|seen| seen.not_there.clone()).filter(|_| self.address_from_engine),
            _ => Some(report::no_rendezvous(nnodes)),
        }
    }
}

/// An address nobody but the machine itself reaches.
pub(super) fn is_loopback(address: &str) -> bool {
    address.eq_ignore_ascii_case("localhost")
        || address.to_ascii_lowercase().starts_with("localhost.")
        || address.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Debian gives a machine's own name to 127.0.1.1. Then it is the address this machine has towards another one.
pub(super) fn not_loopback(first: Sourced<String>, second: impl FnOnce() -> Option<String>) -> Sourced<String> {
    let text = std::fs::read_to_string(HOSTS_FILE).unwrap_or_default();
    if !names_loopback(&text, &first.value) {
        return first;
    }
    match second().and_then(|second| towards(&second)) {
        Some(address) => Sourced::new(address.to_string(), first.from),
        None => first,
    }
}

/// Whether the hosts file gives this name to a loopback address first.
fn names_loopback(hosts: &str, name: &str) -> bool {
    let lines = hosts.lines().map(|line| line.split('#').next().unwrap_or_default());
    let mut found = lines.filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let address = words.next()?;
        words.any(|word| word.eq_ignore_ascii_case(name)).then_some(address)
    });
    found.next().is_some_and(is_loopback)
}

/// The address from which this machine would speak to that one. Nothing is sent.
fn towards(host: &str) -> Option<IpAddr> {
    addresses(host).into_iter().find_map(|target| {
        let any: SocketAddr = if target.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }.parse().ok()?;
        let socket = UdpSocket::bind(any).ok()?;
        socket.connect((target, 1)).ok()?;
        let address = socket.local_addr().ok()?.ip();
        (!address.is_loopback() && !address.is_unspecified()).then_some(address)
    })
}

/// The addresses of a host, by the system's own `getent`: a static executable cannot load what resolves names here.
fn addresses(host: &str) -> Vec<IpAddr> {
    let asked = Command::new("getent").args(["ahosts", host]).stdin(Stdio::null()).stderr(Stdio::null()).output();
    let text = asked.map(|output| output.stdout).unwrap_or_default();
    let lines = str::from_utf8(&text).unwrap_or_default().lines();
    lines.filter_map(|line| line.split_ascii_whitespace().next()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_addresses() {
        assert!(addresses("localhost").iter().any(IpAddr::is_loopback));
        assert_eq!(addresses("10.1.2.3").first(), "10.1.2.3".parse().ok().as_ref());
        assert_eq!(addresses("no such host"), Vec::<IpAddr>::new());
    }

    #[test]
    fn loopback_by_every_name() {
        for address in ["127.0.0.1", "127.0.1.1", "localhost", "LOCALHOST", "::1", "[::1]", "localhost.localdomain"] {
            assert!(is_loopback(address), "{address}");
        }
        for address in ["10.0.0.1", "node01", "localhostess", "fe80::1", ""] {
            assert!(!is_loopback(address), "{address}");
        }
    }

    #[test]
    fn debians_own_name() {
        let hosts = "127.0.0.1 localhost\n127.0.1.1 node01.lab node01 # own\n10.0.0.2\tnode02\n";
        assert!(names_loopback(hosts, "node01") && names_loopback(hosts, "NODE01.lab"));
        assert!(!names_loopback(hosts, "node02") && !names_loopback(hosts, "node0") && !names_loopback(hosts, "own"));
        assert!(!names_loopback("10.0.0.1 node01\n127.0.1.1 node01\n", "node01"), "the first line decides");
    }
}
