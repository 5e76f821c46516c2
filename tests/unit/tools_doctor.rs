//! Unit tests of `src/tools/doctor.rs`.

use std::ffi::OsString;

use super::*;
use crate::fake::Sandbox;

#[test]
fn the_report_of_a_made_up_machine() {
    let mut sandbox = Sandbox::bare();
    sandbox.put("etc/os-release", "NAME=x\nPRETTY_NAME=\"Rocky Linux 9.4\"\n");
    sandbox.put("proc/sys/kernel/osrelease", "5.14.0-427\n");
    sandbox.put("proc/meminfo", "MemTotal: 1056964608 kB\nMemAvailable: 1048576000 kB\n");
    sandbox.put("proc/self/cgroup", "0::/slurm/job_7\n");
    sandbox.put("sys/fs/cgroup/slurm/job_7/memory.max", "68719476736\n");
    sandbox.put("sys/class/infiniband/mlx5_0/node_type", "1");
    sandbox.put("proc/self/limits", "Max open files  512  512  files\nMax locked memory  65536  65536  bytes\n");
    sandbox.put("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue\n");
    for bus in ["0000:01:00.0", "0000:02:00.0"] {
        sandbox.put(&format!("proc/driver/nvidia/gpus/{bus}/information"), "Model: \t Tesla V100-SXM2-32GB\n");
    }
    sandbox.put("proc/self/mountinfo", "1 1 8:1 / / rw - nfs4 server:/ rw\n");
    sandbox.put("proc/net/tcp", " 0: 00000000:7150 00000000:0000 0A 0\n");
    sandbox.put("jane/.cache/torch_extensions/py311_cu121/cpu_adam/lock", "");
    let home = sandbox.path("jane");
    sandbox.var("HOME", home).vars(&[
        ("MASTER_ADDR", "node01"),
        ("MASTER_PORT", "29008"),
        ("NNODES", "2"),
        ("NODE_RANK", "0"),
        ("HF_TOKEN", "hf_secret"),
        ("NCCL_DEBUG", "INFO"),
    ]);
    let host = Host { hostname: "node01.example.org".to_string(), ..sandbox.host() };
    let argv = ["zlaunch", "doctor"].map(OsString::from).to_vec();
    let Ok(crate::cli::Request::Doctor(launch)) = crate::cli::parse(&argv, &host) else { panic!("no doctor") };
    let report = examine(&launch, &host, &Machine::below(sandbox.root()));
    let words = |text: &str| text.split_whitespace().map(|word| format!("{word} ")).collect::<String>();
    let (text, json) = (words(&report.text(None)), report.json());
    for line in [
        "Rocky Linux 9.4, Linux 5.14.0-427",
        "host node01 CPUs",
        "1008 GiB, 1000 GiB available, the cgroup allows 64 GiB",
        "GPUs 2 × Tesla V100-SXM2-32GB",
        "GPU memory 32 GiB",
        "driver 535.54.03",
        "warn locked memory 64 KiB",
        "InfiniBand registers memory [small-memlock]",
        "warn open files 512",
        "2 × 2 on 2 machines (NNODES, /proc/driver/nvidia/gpus)",
        "bad port MASTER_PORT=29008, taken",
        "warn torch_extensions ~/.cache/torch_extensions (nfs4)",
        "[cache-on-nfs]",
        "Hugging Face ~/.cache/huggingface/hub (nfs4, not there yet)",
        "NCCL_DEBUG INFO",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert_eq!(json["machine"]["driver"], "535.54.03");
    let rules: Vec<_> = json["diagnostics"].as_array().unwrap().iter().map(|it| it["rule"].as_str().unwrap()).collect();
    assert!(rules.contains(&"port") && rules.contains(&"few-files"), "{rules:?}");
    for secret in ["hf_secret", "HF_TOKEN", "jane", "example.org"] {
        assert!(!text.contains(secret) && !json.to_string().contains(secret), "{secret}");
    }
}
