//! What a machine tells the first one about itself and this launch: its own report, and what matters to all of them.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::net::IpAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use serde_json::{Map, Value};

use super::sections::{Examination, count_models};
use crate::base::bytes::fnv1a;
use crate::base::layout::plural;
use crate::base::vars;
use crate::command::python::Python;
use crate::host::{can_be_written, names_in};
use crate::plan::record::timestamp;
use crate::ranks::topology::rendezvous::resolve;

/// Bytes that are read of a file.
const WHOLE: u64 = 1 << 20;

/// `report`: the machine's own, as JSON.
#[expect(clippy::too_many_lines, reason = "it is split next")]
pub(super) fn all(seen: &Examination<'_>, report: &Value) -> Map<String, Value> {
    let mut facts = Map::new();
    let sections = report.as_object().into_iter().flatten();
    for (section, rows) in sections.filter_map(|(section, rows)| Some((section, rows.as_object()?)))
    {
        let known = rows.iter().filter(|(_, value)| {
            value
                .as_str()
                .is_some_and(|text| !text.starts_with("none in "))
        });
        facts.extend(known.map(|(name, value)| (format!("{section}.{name}"), value.clone())));
    }
    for found in report["diagnostics"].as_array().into_iter().flatten() {
        let part = |name: &str| found[name].as_str().unwrap_or_default();
        // Those of several machines that differ only in their numbers are one.
        let without_numbers = part("message").replace(|c: char| c.is_ascii_digit(), "");
        let text = format!("{}\n{}", part("message"), part("help"));
        facts.insert(
            format!("{}.{without_numbers}", part("severity")),
            text.into(),
        );
    }
    let mut add = |name: &str, value: Option<Value>| {
        facts.extend(value.map(|value| (name.to_string(), value)));
    };
    let (host, python) = (seen.host, seen.python.as_ref());
    add("zlaunch", Some(env!("CARGO_PKG_VERSION").into()));
    add("folder", Some(host.cwd.display().to_string().into()));
    add(
        "python.version",
        python.and_then(Python::own_version).map(Value::from),
    );
    let nccl = |major| python?.version_text(&format!("nvidia-nccl-cu{major}"));
    add(
        "python.NCCL",
        [13, 12].into_iter().find_map(nccl).map(Value::from),
    );
    let torch = python
        .and_then(|python| fs::read_to_string(python.file("torch/version.py")?).ok())
        .unwrap_or_default();
    // `cuda: Optional[str] = '13.0'`
    let cuda = torch
        .lines()
        .find(|line| line.starts_with("cuda: "))
        .and_then(|line| line.split('\'').nth(1));
    add("python.CUDA", cuda.map(Value::from));
    let judged = seen.judged.as_ref();
    let config = judged.and_then(|judged| judged.plan()?.config.as_ref());
    add(
        "config",
        config.map(|config| format!("{:016x}", fnv1a(config.file.text.as_bytes())).into()),
    );
    add(
        "ranks",
        seen.ranks()
            .and_then(|ranks| Some(ranks.nproc_per_node.as_ref()?.value.into())),
    );
    let output = seen.args.text("output_dir").map(|given| given.value);
    let unwritable = output
        .as_deref()
        .filter(|folder| !can_be_written(&host.absolute(Path::new(folder))));
    add("output", unwritable.map(Value::from));
    let interfaces: Vec<String> = names_in(Path::new("/sys/class/net")).collect();
    for name in ["NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"] {
        // Beginnings of names; `=` stands before whole ones, `^` before those that are not to be used.
        let is_there = |start: &str| {
            interfaces
                .iter()
                .any(|name| name.starts_with(start.trim_start_matches('=')))
        };
        let wrong = host
            .nonempty_var(name)
            .filter(|list| !list.starts_with('^') && !list.split(',').any(is_there));
        add(
            "network.interface",
            wrong.map(|list| format!("{name}={list}").into()),
        );
    }
    // Where all of it is too small, the report says so already.
    let shm = seen
        .machine
        .shared_memory()
        .filter(|bytes| *bytes >= 1 << 30)
        .map(|_| "/dev/shm".into());
    let temporary = host.path(vars::TMPDIR).or(Some("/tmp".into()));
    for (name, folder) in [
        ("/dev/shm", shm),
        ("TMPDIR", temporary),
        ("HOME", host.home()),
    ] {
        add(
            &format!("space.{name}"),
            folder.and_then(|folder| Some(seen.machine.free(&folder)?.into())),
        );
    }
    let words = seen
        .launch
        .command
        .iter()
        .chain(seen.args.words())
        .filter_map(|word| word.to_str());
    for word in words.map(|word| word.split_once('=').map_or(word, |(_, value)| value)) {
        let path = host.absolute(Path::new(word));
        // A bare word such as `sft` may be the name of a folder by chance.
        let may_be_folder = word.contains('/') && output.as_deref() != Some(word);
        let Some(found) = fs::metadata(&path)
            .ok()
            .filter(|it| it.is_file() || may_be_folder)
        else {
            continue;
        };
        let otherwise = if found.is_dir() {
            "a folder"
        } else {
            "not readable"
        };
        add(
            &format!("file.{word}"),
            Some(
                content(&path, &found)
                    .unwrap_or_else(|_| otherwise.to_string())
                    .into(),
            ),
        );
        add(&format!("folder.{word}"), files_in(&path).map(Value::from));
        let time = if found.is_file() && found.len() > WHOLE {
            settled(&found)
        } else {
            None
        };
        add(
            &format!("time.{word}"),
            time.map(|time| timestamp(time).into()),
        );
    }
    gpus(seen)
        .into_iter()
        .flatten()
        .for_each(|(name, value)| add(name, value));
    facts
}

/// Its size and a number that tells files apart: by all of a small one, by 16 parts of a larger one.
fn content(path: &Path, found: &Metadata) -> io::Result<String> {
    let (mut file, mut bytes, part) = (File::open(path)?, Vec::new(), WHOLE / 16);
    for at in 0..16 {
        file.seek(SeekFrom::Start(
            found.len().saturating_sub(part).saturating_mul(at) / 15,
        ))?;
        file.by_ref().take(part).read_to_end(&mut bytes)?;
    }
    Ok(format!(
        "{} bytes ({:08x})",
        found.len(),
        fnv1a(&bytes) >> 32
    ))
}

/// What is in a folder; `None` if it is none, if something in it changes, or if that is too much.
fn files_in(folder: &Path) -> Option<String> {
    let mut names: Vec<String> = names_in(folder)
        .filter(|name| !name.starts_with('.'))
        .take(1000)
        .collect();
    names.sort();
    let described = names.iter().map(|name| {
        let path = folder.join(name);
        let found = fs::metadata(&path)
            .ok()
            .filter(|found| settled(found).is_some())?;
        Some(format!(
            "{name}: {}\n",
            content(&path, &found).unwrap_or_default()
        ))
    });
    let list: String = described
        .collect::<Option<_>>()
        .filter(|_| (1..1000).contains(&names.len()))?;
    Some(format!(
        "{} ({:08x})",
        plural(names.len() as u64, "file", "s"),
        fnv1a(list.as_bytes()) >> 32
    ))
}

/// The time of what nobody writes, if a file server had the time to tell all machines of it.
fn settled(found: &Metadata) -> Option<SystemTime> {
    found
        .modified()
        .ok()
        .filter(|time| time.elapsed().is_ok_and(|age| age.as_secs() > 120))
}

/// What only the driver knows, of the GPUs that this launch uses.
fn gpus(seen: &Examination<'_>) -> Option<[(&'static str, Option<Value>); 4]> {
    let query = "--query-gpu=name,memory.total,driver_version,memory.used,ecc.errors.uncorrected.volatile.total";
    let visible = seen.host.var(vars::CUDA_VISIBLE_DEVICES);
    let mut command = Command::new(
        seen.host
            .find_program("nvidia-smi".as_ref())
            .filter(|_| visible != Some(""))?,
    );
    command
        .args([query, "--format=csv,noheader,nounits"])
        .args(visible.map(|gpus| format!("--id={gpus}")));
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout)
        .ok()
        .filter(|_| output.status.success())?;
    let rows: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split(", ").collect())
        .collect();
    let models: Vec<String> = rows
        .iter()
        .map(|row| format!("{} MiB", row[..row.len().min(2)].join(" ")))
        .collect();
    let most = |at: usize| {
        rows.iter()
            .filter_map(|row| row.get(at)?.trim().parse::<u64>().ok())
            .max()
    };
    Some([
        ("machine.GPUs", count_models(&models).map(Value::from)),
        (
            "machine.driver",
            rows.first().and_then(|row| Some((*row.get(2)?).into())),
        ),
        ("GPU.used", most(3).map(|used| (used << 20).into())),
        ("GPU.errors", most(4).map(Value::from)),
    ])
}

/// Where this machine looks for the first one.
pub(super) fn addresses(first: &str, facts: &mut Value) -> Vec<IpAddr> {
    let mut found: Vec<IpAddr> = first
        .trim_matches(['[', ']'])
        .parse()
        .map_or_else(|_| resolve(first), |it| vec![it]);
    // `getent` has a line for each kind of socket.
    found.dedup();
    facts["network.address"] = found
        .iter()
        .map(IpAddr::to_string)
        .collect::<Vec<_>>()
        .join(" ")
        .into();
    found
}
