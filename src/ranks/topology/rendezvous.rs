//! The rendezvous: an address of the first machine that the others can reach.

use std::fs;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::process::{Command, Stdio};

use super::allocation::{meets_on_loopback, refused};
use crate::base::source::Sourced;
use crate::report::Problem;
use crate::report::fix::give;

/// The reason that several machines cannot meet there.
pub(super) fn problem(
    address: Option<&Sourced<String>>,
    has_port: bool,
    nnodes: &Sourced<u32>,
) -> Option<Problem> {
    match address {
        Some(address) if address.value.contains('/') || address.value.matches(':').count() == 1 => {
            let host = address
                .value
                .rsplit('/')
                .find(|part| !part.is_empty())
                .unwrap_or("HOST");
            let (host, port) = host.split_once(':').unwrap_or((host, "29500"));
            let what = format!("`{address}` is not a machine's name or address");
            let fix = give("--master-addr", host).and(give("--master-port", port));
            Some(refused(what).at(address).fix(fix))
        }
        Some(address) if has_port => {
            is_loopback(&address.value).then(|| meets_on_loopback(address, nnodes))
        }
        _ => {
            let what = format!("{nnodes} machines need the address and port of the first");
            let port = give("--master-port", 29500);
            let fix = if address.is_some() {
                port
            } else {
                give("--master-addr", "HOST").and(port)
            };
            Some(
                refused(what)
                    .at(nnodes)
                    .fix(fix.remark("the same on every machine")),
            )
        }
    }
}

pub fn is_loopback(address: &str) -> bool {
    address.eq_ignore_ascii_case("localhost")
        || address.to_ascii_lowercase().starts_with("localhost.")
        || address
            .trim_matches(['[', ']'])
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// An address of this machine that others can reach. Debian maps a machine's own name to 127.0.1.1, and other systems may
/// do the same; then it is the address this machine has towards the second machine.
pub(super) fn reachable_address(own: Sourced<String>, second: Option<&String>) -> Sourced<String> {
    let hosts_file = fs::read_to_string("/etc/hosts").unwrap_or_default();
    if maps_to_loopback(&hosts_file, &own.value)
        && let Some(address) = second.and_then(|second| local_address_towards(second))
    {
        return Sourced::new(address.to_string(), own.from);
    }
    own
}

pub fn maps_to_loopback(hosts_file: &str, name: &str) -> bool {
    let address = hosts_file.lines().find_map(|line| {
        let mut words = line.split('#').next()?.split_ascii_whitespace();
        let address = words.next()?;
        words
            .any(|word| word.eq_ignore_ascii_case(name))
            .then_some(address)
    });
    address.is_some_and(is_loopback)
}

/// The address from which this machine would send to that host. Connecting a UDP socket sends nothing.
fn local_address_towards(host: &str) -> Option<IpAddr> {
    resolve(host).into_iter().find_map(|target| {
        let any: SocketAddr = if target.is_ipv4() {
            "0.0.0.0:0"
        } else {
            "[::]:0"
        }
        .parse()
        .ok()?;
        let socket = UdpSocket::bind(any).ok()?;
        socket.connect((target, 1)).ok()?;
        let address = socket.local_addr().ok()?.ip();
        (!address.is_loopback() && !address.is_unspecified()).then_some(address)
    })
}

/// The addresses of a host. `getent` is asked, because the packaged executable is static and cannot load the system's
/// resolver.
pub fn resolve(host: &str) -> Vec<IpAddr> {
    let getent = Command::new("/usr/bin/getent")
        .args(["ahosts", host])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let text = getent.map(|output| output.stdout).unwrap_or_default();
    let lines = str::from_utf8(&text).unwrap_or_default().lines();
    lines
        .filter_map(|line| line.split_ascii_whitespace().next()?.parse().ok())
        .collect()
}
