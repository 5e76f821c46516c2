//! Unit tests of `src/ranks/topology/engines/port.rs`.

use super::*;
use crate::base::source::Source;

#[test]
fn what_starts_together_has_different_ports_below_the_ephemeral_range() {
    let jobs: [fn(u32) -> String; 4] = [
        |id| format!("{id}.0.0"),
        |step| format!("4711.{step}.0"),
        |process| format!("prterun-gpu07-{process}@1"),
        |family| format!("{}", u64::from(family) << 16 | 1),
    ];
    for job in jobs {
        let port = |id: u32| port_of_job(&Sourced::new(job(id), Source::Default)).value;
        let mut ports: Vec<u16> = (4000..4100).map(port).collect();
        assert!(ports.iter().all(|port| (20_000..32_768).contains(port)));
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 100, "{}", job(1));
    }
}
