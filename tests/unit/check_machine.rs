//! Unit tests of `src/check/machine.rs`.

use serde_json::json;

use super::*;
use crate::fake::Sandbox;

fn offload() -> Wants {
    Wants::of(&json!({"zero_optimization": {
        "stage": 3,
        "offload_optimizer": {"device": "cpu"},
        "offload_param": {"device": "nvme", "nvme_path": "/none/such"},
    }}))
}

#[test]
fn a_config_asks_only_for_what_acts_in_its_stage() {
    let wants = offload();
    assert!(wants.offloads_optimizer && wants.offloads_parameters);
    assert_eq!(wants.nvme.len(), 1);
    let below = Wants::of(&json!({"zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}}}));
    assert_eq!(below, Wants::default());
    let auto = json!({"zero_optimization": {"stage": "auto"}});
    assert_eq!(Wants::of(&auto), Wants::default());
}

#[test]
fn a_lock_is_stale_after_a_while_where_its_file_is_the_lock() {
    let lock = |age| Lock { path: PathBuf::from("/x/lock"), age: Duration::from_secs(age) };
    assert!(stale_locks(&[lock(60)], None).is_empty());
    let found = stale_locks(&[lock(60), lock(7200)], None);
    assert_eq!((found.len(), found[0].rule), (1, Rule::StaleLock));
    assert!(found[0].what.contains("2 hours") && found[0].what.contains("torch before 2.14"), "{}", found[0].what);
    let sandbox = Sandbox::new();
    let python = Python::at(sandbox.python(), &sandbox.host());
    for (version, waits) in [("2.13.0", true), ("2.14.0", false), ("2.15.0", false)] {
        sandbox.installed("torch", version);
        assert_eq!(!stale_locks(&[lock(7200)], Some(&python.clone())).is_empty(), waits, "{version}");
    }
}

#[test]
fn memlock_matters_for_infiniband_and_nvme_and_by_its_hard_limit() {
    let limit = |hard| Some(Limit { soft: Some(65536), hard });
    let none = Wants::default();
    assert!(small_memlock(limit(Some(65536)), &none, true).is_some());
    assert!(small_memlock(limit(Some(65536)), &offload(), false).is_some());
    assert!(small_memlock(limit(Some(65536)), &none, false).is_none());
    assert!(small_memlock(limit(None), &none, true).is_none() && small_memlock(None, &none, true).is_none());
}

#[test]
fn small_shm_is_what_containers_give() {
    assert!(small_shm(Some(64 << 20)).is_some_and(|problem| problem.what.contains("64 MiB")));
    assert!(small_shm(Some(16 << 30)).is_none() && small_shm(None).is_none());
}

#[test]
fn few_files_and_no_compiler() {
    assert!(few_files(Some(Limit { soft: Some(256), hard: None })).is_some());
    assert!(few_files(Some(Limit { soft: Some(1024), hard: None })).is_none());
    assert!(no_compiler(true, true, true).is_none());
    let what = no_compiler(true, false, true).map(|problem| problem.what).unwrap();
    assert!(what.contains("ninja") && !what.contains("c++"), "{what}");
}

#[test]
fn network_file_systems_are_bad_for_locks_and_for_swapping() {
    let path = Path::new("/home/me/x");
    assert!(cache_on_nfs("torch_extensions", path, Some("nfs4"), "X").is_some());
    for kind in [Some("ext4"), Some("lustre"), None] {
        assert!(cache_on_nfs("torch_extensions", path, kind, "X").is_none());
    }
    assert!(shared_nvme("k", path, Some("lustre")).is_some() && shared_nvme("k", path, Some("xfs")).is_none());
}

#[test]
fn host_memory_for_offloading() {
    let memory = Memory { total: Some(1 << 40), available: None, limit: Some(64 << 30) };
    let short = not_enough_host_memory(144_000_000_000, &memory);
    assert!(short.is_some_and(|problem| problem.what.contains("64 GiB")));
    assert!(not_enough_host_memory(16_000_000_000, &memory).is_none());
    assert!(not_enough_host_memory(u64::MAX, &Memory::default()).is_none());
}
