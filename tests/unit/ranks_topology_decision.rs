//! Unit tests of `src/ranks/topology/decision.rs`.

use super::*;

#[test]
fn the_drivers_list_counts_when_no_variable_does() {
    let nproc = |gpus, env: &[(&str, &str)]| {
        let host = Host { nvidia_gpus: gpus, ..crate::fake::host(env) };
        let topology = Topology::decide(&RankFlags::default(), &HostFlags::default(), true, &host);
        topology.map(|topology| topology.nproc_per_node.map(|nproc| (nproc.value, nproc.from.to_string())))
    };
    assert_eq!(nproc(Some(8), &[]), Ok(Some((8, "/proc/driver/nvidia/gpus".to_string()))));
    let two = nproc(Some(8), &[("CUDA_VISIBLE_DEVICES", "3,4")]);
    assert_eq!(two, Ok(Some((2, "CUDA_VISIBLE_DEVICES".to_string()))));
    assert!(nproc(None, &[]).is_err() && nproc(Some(0), &[]).is_err());
}
