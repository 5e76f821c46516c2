//! `accelerate launch`: kept as it is. It exports some forty variables of its own and reads a silent
//! default_config.yaml; only the DeepSpeed config among its flags is resolved.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Kind;
use super::runner::{Runner, count, default};
use crate::argv::{Args, Takes::Nothing, Takes::One};
use crate::host::Host;
use crate::json;
use crate::said::{Said, Source};
use crate::topology::{Processes, SaidRanks};
use crate::vars;
use crate::yaml::{self, Dialect};

pub(super) const RUNNER: Runner = Runner {
    kind: Kind::Accelerate,
    programs: &[("accelerate", Some("launch")), ("accelerate-launch", None)],
    modules: &["accelerate.commands.launch"],
    module: "accelerate.commands.launch",
    options: include_str!("../recorded/accelerate.txt"),
    short: &[("-m", "module"), ("-h", "help"), ("-q", "quiet")],
    fields: &[
        ("num_processes", One),
        ("num_machines", One),
        ("machine_rank", One),
        ("main_process_ip", One),
        ("main_process_port", One),
        ("config_file", One),
        ("use_deepspeed", Nothing),
        ("deepspeed_config_file", One),
        ("module", Nothing),
        ("no_python", Nothing),
    ],
    same: &[
        ("nproc-per-node", "num_processes"),
        ("nnodes", "num_machines"),
        ("node-rank", "machine_rank"),
        ("master-addr", "main_process_ip"),
        ("master-port", "main_process_port"),
    ],
    count: &["num_processes"],
    stated,
};

/// The flag that names the config.
pub(super) const CONFIG: &str = "deepspeed_config_file";

/// The config that accelerate's run file names.
pub(super) fn config_in_file(read: &Args, host: &Host) -> Option<Said<String>> {
    let (file, settings) = settings(read, host)?;
    let config = settings.get("deepspeed_config")?.get(CONFIG)?.as_str()?;
    Some(Said::new(config.to_string(), Source::Argument(format!("{}, {CONFIG}", file.display()))))
}

/// `--config_file`, else the file that is read whether or not anyone thinks of it.
fn settings(read: &Args, host: &Host) -> Option<(PathBuf, Value)> {
    let cache =
        || host.filled(vars::HF_HOME).map(PathBuf::from).or_else(|| Some(host.cache_home()?.join("huggingface")));
    let file = match read.text("config_file") {
        Some(said) => host.absolute(Path::new(&said.value)),
        None => host.absolute(&cache()?.join("accelerate/default_config.yaml")),
    };
    let text = json::read_text(&file).ok()?;
    Some((file, yaml::parse(&text, Dialect::PyYaml).ok()?))
}

/// `--num_processes` is the total over all machines. What the flags do not say the run file may.
fn stated(read: &Args, host: &Host) -> SaidRanks {
    let settings = settings(read, host);
    let number = |name: &str| {
        count(read, name).or_else(|| {
            let (file, settings) = settings.as_ref()?;
            let value = u32::try_from(settings.get(name)?.as_u64()?).ok()?;
            Some(Said::new(value, Source::Argument(file.display().to_string())))
        })
    };
    let nnodes = number("num_machines").unwrap_or(default(1));
    let total = number("num_processes").filter(|total| nnodes.value > 0 && total.value % nnodes.value == 0);
    let nproc = total.map(|total| Said::new(Processes::Count(total.value / nnodes.value), total.from));
    SaidRanks {
        nproc_per_node: nproc.filter(|nproc| nproc.value != Processes::Count(0)),
        nnodes: Some(nnodes),
        node_rank: number("machine_rank"),
        master_addr: read.text("main_process_ip"),
        master_port: None,
    }
}
