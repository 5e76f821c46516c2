//! Variables that nothing reads, that contradict each other, or that stop torch before it starts.

use serde_json::Value;

use super::findings::{Check, Findings};
use super::subject::Subject;
use crate::base::vars;
use crate::ranks::launcher::Launcher;
use crate::ranks::topology::Role;
use crate::report::{Rule, Severity, When};

pub(super) const RULES: &[Check] = &[
    Check::code(Rule::DeadVariable, Severity::Warning, When::Silent, dead_variable)
        .doc("a variable that reads as if DeepSpeed or this version of torch knew it, and that nothing reads"),
    Check::code(Rule::AllocatorConf, Severity::Error, When::Start, allocator_conf).doc(
        "a PYTORCH_CUDA_ALLOC_CONF, or from torch 2.9 on a PYTORCH_ALLOC_CONF, that is no list of name:value: \
             torch stops on it",
    ),
    Check::code(Rule::TwoAllocatorConfs, Severity::Warning, When::Silent, two_allocator_confs)
        .doc("PYTORCH_CUDA_ALLOC_CONF and PYTORCH_ALLOC_CONF differ: torch follows the first"),
    Check::code(Rule::MaxConnections, Severity::Warning, When::Silent, max_connections).doc(
        "CUDA_DEVICE_MAX_CONNECTIONS=1 is for Megatron's tensor parallelism: elsewhere it keeps communication \
             from overlapping",
    ),
    Check::code(Rule::NcclContradiction, Severity::Warning, When::Silent, nccl_contradiction)
        .doc("two NCCL variables of which one switches off what the other chooses"),
    Check::code(Rule::EnvFileUnread, Severity::Warning, When::Silent, env_file_unread)
        .doc(".deepspeed_env in this folder: only DeepSpeed's runner reads it, and only for several machines"),
    Check::code(Rule::IncompleteRanks, Severity::Error, When::Start, incomplete_ranks)
        .doc("RANK, LOCAL_RANK and WORLD_SIZE without MASTER_ADDR or MASTER_PORT: the ranks cannot meet"),
    Check::code(Rule::NohupUndone, Severity::Warning, When::Silent, nohup_undone)
        .doc("nohup in front of torchrun before torch 2.10, which takes SIGHUP back and ends on it"),
];

/// Found in documents, read by no program.
const DEAD: &[&str] = &["DS_PIPE_RESERVE", "DS_SKIP_UNUSED_PARAMETERS", "DS_REUSE_BUFFERS", "DS_USE_CUDA_TILING"];

fn dead_variable(subject: &Subject, found: &mut Findings) {
    for name in DEAD {
        if let Some(value) = subject.variable(name) {
            let place = format!("{name}={}", value.to_string_lossy());
            found.at(&[place], format!("nothing reads `{name}`"), format!("--unset-env {name}"));
        }
    }
    let (old, new) = (vars::PYTORCH_CUDA_ALLOC_CONF, vars::PYTORCH_ALLOC_CONF);
    if let (Some(value), None) = (subject.variable(new), subject.variable(old))
        && let Some(torch) = subject.package("torch").filter(|torch| torch.is_before(NEW_ALLOCATOR_CONF))
    {
        let value = value.to_string_lossy();
        let what = format!("torch {torch} does not read `{new}`: it came with 2.9");
        found.at(&[format!("{new}={value}")], what, format!("--unset-env {new} --env {old}={value}"));
    }
}

/// torch reads PYTORCH_ALLOC_CONF since then.
const NEW_ALLOCATOR_CONF: [u32; 3] = [2, 9, 0];

fn allocator_conf(subject: &Subject, found: &mut Findings) {
    for name in [vars::PYTORCH_CUDA_ALLOC_CONF, vars::PYTORCH_ALLOC_CONF] {
        let Some(value) = subject.variable(name).and_then(|value| value.to_str()) else { continue };
        // torch looks at the new name only where the old one is not set.
        let unread = || {
            name == vars::PYTORCH_ALLOC_CONF
                && (subject.variable(vars::PYTORCH_CUDA_ALLOC_CONF).is_some()
                    || subject.has_before("torch", NEW_ALLOCATOR_CONF))
        };
        if let Some(item) = wrong_item(value).filter(|_| !unread()) {
            let what = format!("`{item}` in {name} is no name:value, and torch stops on it");
            let help = format!("--env {name}=expandable_segments:True, or --unset-env {name}");
            found.at(&[format!("{name}={value}")], what, help);
        }
    }
}

/// The first item that is no `name:value`; empty ones are skipped. A value may be a list in brackets.
fn wrong_item(text: &str) -> Option<&str> {
    let mut depth = 0;
    let mut items = text.split(|c: char| {
        match c {
            '[' => depth += 1,
            ']' => depth = (depth - 1).max(0),
            _ => {}
        }
        c == ',' && depth == 0
    });
    let good = |item: &str| {
        item.trim().is_empty()
            || item.split_once(':').is_some_and(|(name, value)| !name.trim().is_empty() && !value.trim().is_empty())
    };
    items.find(|item| !good(item))
}

fn two_allocator_confs(subject: &Subject, found: &mut Findings) {
    let (old, new) = (vars::PYTORCH_CUDA_ALLOC_CONF, vars::PYTORCH_ALLOC_CONF);
    if let (Some(one), Some(two)) = (subject.variable(old), subject.variable(new))
        && one != two
    {
        let places = [format!("{old}={}", one.to_string_lossy()), format!("{new}={}", two.to_string_lossy())];
        found.at(&places, format!("torch follows {old} and ignores {new}"), format!("--unset-env {new}"));
    }
}

fn max_connections(subject: &Subject, found: &mut Findings) {
    let name = "CUDA_DEVICE_MAX_CONNECTIONS";
    // What the template sets is its author's choice.
    if subject.host.var(name) != Some("1") {
        return;
    }
    let parallel = ["tensor_parallel.autotp_size", "sequence_parallel_size"];
    let splits = parallel.iter().any(|key| subject.get(key).and_then(Value::as_u64).is_some_and(|size| size > 1));
    if !splits {
        let what =
            format!("{name}=1 keeps communication from overlapping: it is meant for Megatron's tensor parallelism");
        found.at(&[format!("{name}=1")], what, format!("--unset-env {name}"));
    }
}

/// (what switches it off, its value, what chooses it, why).
const NCCL: &[(&str, &str, &str, &str)] = &[
    ("NCCL_IB_DISABLE", "1", "NCCL_IB_HCA", "InfiniBand is switched off, so no adapter is chosen"),
    ("NCCL_IB_DISABLE", "1", "NCCL_IB_GID_INDEX", "InfiniBand is switched off, so no index is used"),
    ("NCCL_P2P_DISABLE", "1", "NCCL_P2P_LEVEL", "peer-to-peer is switched off, so no level is used"),
    ("NCCL_NET_GDR_LEVEL", "0", "NCCL_NET_GDR_READ", "GPUDirect is switched off, so reading through it is too"),
    ("NCCL_IB_DISABLE", "1", "NCCL_NET_GDR_LEVEL", "InfiniBand is switched off, and GPUDirect RDMA needs it"),
];

fn nccl_contradiction(subject: &Subject, found: &mut Findings) {
    for (off, value, chooses, why) in NCCL {
        let switched = subject.host.var(off) == Some(value);
        if let Some(chosen) = subject.host.var(chooses).filter(|_| switched) {
            found.at(
                &[format!("{off}={value}"), format!("{chooses}={chosen}")],
                (*why).to_string(),
                format!("--unset-env {off}, or --unset-env {chooses}"),
            );
        }
    }
    if subject.host.var("NCCL_NET") == Some("IB") && subject.host.var("NCCL_IB_DISABLE") == Some("1") {
        let places = ["NCCL_NET=IB".to_string(), "NCCL_IB_DISABLE=1".to_string()];
        found.at(
            &places,
            "NCCL is told to use InfiniBand and not to use it".to_string(),
            "--unset-env NCCL_IB_DISABLE",
        );
    }
    let several = subject.topology.and_then(|it| it.nnodes.as_ref()).is_some_and(|nodes| nodes.value > 1);
    if several && subject.host.var("NCCL_SOCKET_IFNAME") == Some("lo") {
        let places = ["NCCL_SOCKET_IFNAME=lo".to_string()];
        found.at(&places, "no other machine is reached through `lo`".to_string(), "--unset-env NCCL_SOCKET_IFNAME");
    }
}

fn env_file_unread(subject: &Subject, found: &mut Findings) {
    let name = subject.host.nonempty_var(vars::DS_ENV_FILE).unwrap_or(".deepspeed_env");
    let read = subject.topology.and_then(|topology| topology.pool.as_ref()).is_some_and(|pool| pool.0.len() > 1);
    let by_runner = subject.launcher.is_none_or(|kind| kind == Launcher::Deepspeed) && read;
    let path = subject.host.cwd.join(name);
    if !by_runner && path.is_file() {
        let what = format!("nothing reads `{name}` here: only DeepSpeed's runner does, for several machines");
        found.at(&[path.display().to_string()], what, "--env NAME=VALUE for each of its lines");
    }
}

fn incomplete_ranks(subject: &Subject, found: &mut Findings) {
    const MPI: &[&str] = &["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"];
    // zlaunch sets them for a task that an engine started.
    if !subject.topology.is_some_and(|topology| matches!(topology.role, Role::Rank { .. })) {
        return;
    }
    if MPI.iter().any(|name| subject.host.var_os(name).is_some()) {
        return;
    }
    for name in [vars::MASTER_ADDR, vars::MASTER_PORT] {
        if subject.host.nonempty_var(name).is_none() {
            let what = format!(
                "this is a rank (RANK, LOCAL_RANK, WORLD_SIZE), but {name} is not set: it cannot meet the others"
            );
            let example = if name == vars::MASTER_ADDR { "HOST" } else { "29500" };
            found.at(
                &[name.to_string()],
                what,
                format!("--env {name}={example}, or --nnodes 1 to start ranks anew here"),
            );
        }
    }
}

/// From 2.10 on, torchrun is told to leave SIGHUP as it finds it.
fn nohup_undone(subject: &Subject, found: &mut Findings) {
    let by_torchrun = matches!(subject.launcher, Some(Launcher::Torchrun | Launcher::Existing(_)));
    if !subject.host.ignores_hangup || !(by_torchrun || subject.job.trainer.launch.has_own_launcher) {
        return;
    }
    if let Some(torch) = subject.package("torch").filter(|torch| torch.is_before([2, 10, 0])) {
        let what =
            format!("SIGHUP is ignored here (nohup), but the torchrun of torch {torch} takes it back and ends on it");
        found.at(&["SIGHUP".to_string()], what, "--launcher local, or `setsid` instead of `nohup`");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocator_settings() {
        for good in [
            "",
            "expandable_segments:True",
            "a:1,",
            "a:1,,b:2",
            "a:1, b:2",
            "a:1,b:[2:3,4:5],c:0.9",
            "roundup_power2_divisions:[256:1,512:2,>:4]",
        ] {
            assert_eq!(wrong_item(good), None, "{good}");
        }
        for (bad, item) in [
            ("x", "x"),
            ("a:1,b", "b"),
            ("a:", "a:"),
            ("expandable_segments=True", "expandable_segments=True"),
            (":1", ":1"),
        ] {
            assert_eq!(wrong_item(bad), Some(item), "{bad}");
        }
    }
}
