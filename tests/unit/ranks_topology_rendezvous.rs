//! Unit tests of `src/ranks/topology/rendezvous.rs`.

use super::*;

#[test]
fn names_are_resolved() {
    assert!(resolve("localhost").iter().any(IpAddr::is_loopback));
    assert_eq!(resolve("10.1.2.3").first(), "10.1.2.3".parse().ok().as_ref());
    assert_eq!(resolve("no such host"), Vec::<IpAddr>::new());
}

#[test]
fn loopback_is_known_by_every_name() {
    for address in ["127.0.0.1", "127.0.1.1", "localhost", "LOCALHOST", "::1", "[::1]", "localhost.localdomain"] {
        assert!(is_loopback(address), "{address}");
    }
    for address in ["10.0.0.1", "node01", "localhostess", "fe80::1", ""] {
        assert!(!is_loopback(address), "{address}");
    }
}

#[test]
fn the_first_entry_in_the_hosts_file_decides() {
    let hosts = "127.0.0.1 localhost\n127.0.1.1 node01.lab node01 # own\n10.0.0.2\tnode02\n";
    for (name, expected) in
        [("node01", true), ("NODE01.lab", true), ("node02", false), ("node0", false), ("own", false)]
    {
        assert_eq!(maps_to_loopback(hosts, name), expected, "{name}");
    }
    assert!(!maps_to_loopback("10.0.0.1 node01\n127.0.1.1 node01\n", "node01"));
}
