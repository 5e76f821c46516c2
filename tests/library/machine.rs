//! What is read of a machine: its memory, limits, mounts, GPUs and ports.

use std::path::{Path, PathBuf};

use crate::invariants::fake::Sandbox;
use zlaunch::testing::machine::*;

#[test]
fn memory_is_limited_by_the_cgroup() {
    let sandbox = Sandbox::bare();
    let machine = Machine::below(sandbox.root());
    assert_eq!(machine.memory(), Memory::default());
    sandbox.put(
        "proc/meminfo",
        "MemTotal:  1048576 kB\nMemFree: 1 kB\nMemAvailable:  524288 kB\n",
    );
    let memory = machine.memory();
    assert_eq!(
        (memory.total, memory.available, memory.limit),
        (Some(1 << 30), Some(1 << 29), None)
    );
    // Version 2, limited above this process's own group.
    sandbox.put("proc/self/cgroup", "0::/job/step\n");
    sandbox.put("sys/fs/cgroup/job/step/memory.max", "max\n");
    sandbox.put("sys/fs/cgroup/job/memory.max", "268435456\n");
    assert_eq!(machine.memory().most(), Some(1 << 28));
    // Version 1, as old Slurm has it; its "no limit" is a number larger than any memory.
    sandbox.put(
        "proc/self/cgroup",
        "9:name=systemd:/\n4:cpu,memory:/slurm\n0::/\n",
    );
    sandbox.put(
        "sys/fs/cgroup/memory/slurm/memory.limit_in_bytes",
        "9223372036854771712\n",
    );
    assert_eq!(machine.memory().limit, None);
    sandbox.put(
        "sys/fs/cgroup/memory/slurm/memory.limit_in_bytes",
        "134217728\n",
    );
    assert_eq!(machine.memory().most(), Some(1 << 27));
}

#[test]
fn gpus_and_driver_are_read_from_the_kernel_module() {
    let sandbox = Sandbox::bare();
    let machine = Machine::below(sandbox.root());
    assert!(machine.gpus().is_empty() && machine.driver().is_none());
    for (bus, model) in [
        ("0000:1b:00.0", "NVIDIA H200"),
        ("0000:0a:00.0", "Tesla T4"),
    ] {
        let text = format!("Model: \t\t {model}\nIRQ:   \t\t 16\n");
        sandbox.put(&format!("proc/driver/nvidia/gpus/{bus}/information"), &text);
    }
    assert_eq!(machine.gpus(), ["Tesla T4", "NVIDIA H200"]);
    for (line, version) in [
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 22:20:39 UTC 2023",
            "535.54.03",
        ),
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build",
            "570.86.15",
        ),
    ] {
        sandbox.put(
            "proc/driver/nvidia/version",
            format!("{line}\nGCC version:  gcc 12.2.0\n"),
        );
        assert_eq!(machine.driver().as_deref(), Some(version));
    }
}

#[test]
fn limits_are_soft_and_hard() {
    let sandbox = Sandbox::bare();
    sandbox.put(
        "proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units     \n\
         Max open files            1024                 524288               files     \n\
         Max locked memory         65536                unlimited            bytes     \n",
    );
    let machine = Machine::below(sandbox.root());
    assert_eq!(
        machine.limit("Max open files"),
        Some(Limit {
            soft: Some(1024),
            hard: Some(524_288)
        })
    );
    assert_eq!(
        machine.limit("Max locked memory"),
        Some(Limit {
            soft: Some(65536),
            hard: None
        })
    );
    assert_eq!(machine.limit("Max processes"), None);
}

#[test]
fn a_path_is_on_its_deepest_mount() {
    let table = "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n\
                 40 22 0:40 / /home rw shared:1 - nfs4 server:/home rw\n\
                 41 40 0:41 / /home/a\\040b rw - lustre x rw\n";
    for (path, kind) in [
        ("/", "ext4"),
        ("/homes", "ext4"),
        ("/home/me/.cache", "nfs4"),
        ("/home/a b/c", "lustre"),
    ] {
        assert_eq!(
            mounted(table, Path::new(path)).as_deref(),
            Some(kind),
            "{path}"
        );
    }
    assert_eq!(mounted("", Path::new("/")), None);
}

#[test]
fn locks_with_and_without_a_folder_of_the_version() {
    let sandbox = Sandbox::bare();
    assert!(locks_in(&sandbox.root().join("none")).is_empty());
    sandbox.put("py311_cu121/cpu_adam/lock", "");
    sandbox.put("fused_adam/lock", "");
    sandbox.put("py311_cu121/utils/utils.so", "");
    let found: Vec<PathBuf> = locks_in(sandbox.root())
        .into_iter()
        .map(|lock| lock.path)
        .collect();
    assert_eq!(
        found,
        [
            sandbox.root().join("fused_adam/lock"),
            sandbox.root().join("py311_cu121/cpu_adam/lock")
        ]
    );
    // The folder of one Python and CUDA alone.
    assert_eq!(locks_in(&sandbox.root().join("py311_cu121")).len(), 1);
}
