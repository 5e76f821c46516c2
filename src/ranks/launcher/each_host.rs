//! An engine's own program that runs one command on one machine of a job: `qrsh -inherit`, `blaunch`, `pbs_tmrsh`, `oarsh`.
//! In the shell of the job zlaunch starts it once for each of the other machines, and supervises all of them.
//!
//! Some of these programs hand on the folder and the variables of the shell and others do not, and some join the words of a
//! command for a shell to read. So what runs on each machine is a script with all of that in it: a file of mode 0600, in
//! which every word is quoted, and no secret is in an argument. The script empties its file as soon as it is read, so that a
//! job that is killed leaves no secret behind. None of these programs is sure to hand on a signal, or to end its command when
//! it ends itself. So the script on every other machine looks now and then whether its file is still there, and ends when it
//! is not.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use super::carrier::is_harmless;
use super::context::LaunchContext;
use super::local::{self, LocalRanks};
use crate::base::hash::fnv1a;
use crate::base::shell;
use crate::base::vars;
use crate::host::{self, Host};
use crate::ranks::topology::engines::is_sign;
use crate::ranks::topology::{OneHost, Role, Starter, Topology};
use crate::report::{self, Problem};

/// The launch on every machine of a job.
#[derive(Debug)]
pub(crate) struct EachHost {
    pub(crate) machines: Vec<Machine>,
    pub(crate) supervised: LocalRanks,
    /// Why the other machines may not see the script.
    pub(crate) unshared: Option<Problem>,
    /// The launch itself, for a script that does the same.
    pub(crate) again: Vec<OsString>,
}

#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) name: String,
    pub(crate) argv: Vec<OsString>,
    /// What it runs: a file, and its text.
    pub(crate) script: (PathBuf, String),
}

/// Ends what this becomes when its file is gone; `$$` stays the same behind `exec`. Whoever kills a job may kill no more than
/// the process group of torchrun: so this has a session of its own, and then kills those of the ranks. A zombie has none. The
/// last word says that somebody else ends torchrun: zlaunch, on the first machine.
const WATCH: &str = r#"$(command -v setsid) /bin/sh -c '
told=$2 ranks=
while sleep 5 && kill -0 $1; do
    now=$(cat /proc/$1/task/$1/children)
    ranks=${now:-$ranks}
    test -e "$0" || test "$told" || { told=1; kill -TERM $1; }
done
for rank in $ranks; do test $rank = $$ || kill -KILL -$rank; done' "$0" $$ </dev/null >/dev/null 2>&1"#;

/// What zlaunch gives torchrun under a scheduler; and what a network file system needs until all know that a file is gone.
const GRACE_OF_TORCHRUN: Duration = Duration::from_secs(300);
const MORE_GRACE: Duration = Duration::from_secs(90);

/// Variables that belong to a process or its shell, and some that bash does not let a script set.
const OF_THE_SHELL: &[&str] =
    &["_", "PWD", "OLDPWD", "SHLVL", "BASHOPTS", "SHELLOPTS", "EUID", "UID", "PPID", vars::ZLAUNCH_SHIM_OF];

/// Variables of a machine: what it says itself counts there.
const OF_THE_MACHINE: &[&str] = &["HOSTNAME", "HOST", vars::TMPDIR];

impl EachHost {
    /// `words`: our options and the command. `seen`: the machine as it was found.
    pub(crate) fn plan(words: &[OsString], context: &LaunchContext<'_>, seen: &Host) -> Result<Self, Problem> {
        let Role::Shell(Starter::OneHost(OneHost { words: starter, hosts, .. })) = &context.topology.role else {
            return Err(report::nothing_to_launch("zero2"));
        };
        let program = seen.find_program(OsStr::new(starter[0])).unwrap_or_else(|| PathBuf::from(starter[0]));
        let again = [&[host::this_program().into_os_string()], words].concat();
        let name = name_of_scripts(hosts, &again, context.topology, seen);
        let folder = seen.configs_folder();
        if !is_harmless(folder.as_os_str().as_bytes()) {
            return Err(report::script_read_by_shells(&folder));
        }
        let machine = |(number, host): (usize, &String)| {
            let path = folder.join(format!("{name}-{number}.sh"));
            let run = [OsString::from("/bin/sh"), path.clone().into_os_string()];
            let through =
                || std::iter::once(program.clone().into_os_string()).chain(starter[1..].iter().map(OsString::from));
            // The shell is on the first machine. There it needs nobody, and some engines would count one task too many.
            let front = if number == 0 { Vec::new() } else { through().chain([host.into()]).collect() };
            let script = (path, script(number, &again, context.topology, seen));
            Machine { name: host.clone(), argv: [front, run.to_vec()].concat(), script }
        };
        let machines: Vec<Machine> = hosts.iter().enumerate().map(machine).collect();
        let supervised = LocalRanks {
            count: u32::try_from(machines.len()).unwrap_or(u32::MAX),
            grace: local::grace(seen).unwrap_or(GRACE_OF_TORCHRUN).saturating_add(MORE_GRACE),
            log_dir: None,
            prefix: false,
        };
        let unshared = seen.is_of_this_machine(&folder).then(|| report::script_not_shared(&folder, hosts.len()));
        Ok(EachHost { machines, supervised, unshared, again })
    }

    /// What is shown as the command of the launch: how the engine's program starts the last machine.
    pub(crate) fn argv(&self) -> Vec<OsString> {
        self.machines.last().map(|machine| machine.argv.clone()).unwrap_or_default()
    }

    pub(crate) fn scripts(&self) -> impl Iterator<Item = &(PathBuf, String)> {
        self.machines.iter().map(|machine| &machine.script)
    }
}

/// Named after the machines, where they meet and the command, not after all of its content: the name is in the arguments
/// of the engine's program.
fn name_of_scripts(hosts: &[String], again: &[OsString], topology: &Topology, seen: &Host) -> String {
    let port = topology.master_port.as_ref().map_or(0, |port| port.value);
    let mut named = vec![hosts.join(" ").into(), port.to_string().into(), seen.cwd.clone().into_os_string()];
    named.extend(again.iter().cloned());
    let hash = fnv1a(named.join(OsStr::new("\0")).as_encoded_bytes());
    format!("each-machine-{hash:016x}")
}

/// A script for `/bin/sh` that does on this machine of the job what the shell would do. A shell reads the whole of a group
/// before it runs the first line of it.
fn script(number: usize, again: &[OsString], topology: &Topology, seen: &Host) -> String {
    let mut text = "# zlaunch runs this on a machine of a job, for as long as the file is there\n{\n".to_string();
    text += "true 2>/dev/null >\"$0\"\n";
    text += &format!("cd {} || exit 126\n", quoted(seen.cwd.as_os_str()));
    let variables = seen.env.iter().filter_map(|(name, value)| Some((name.to_str()?, value)));
    text.extend(variables.map(|(name, value)| export(name, value)));
    // Not by flags: those would be in the record of the launch, and a replay may have other machines.
    let place = [
        (vars::NNODES, topology.nnodes.as_ref().map(|nnodes| nnodes.value.to_string())),
        (vars::MASTER_ADDR, topology.master_addr.as_ref().map(|address| address.value.clone())),
        (vars::MASTER_PORT, topology.master_port.as_ref().map(|port| port.value.to_string())),
    ];
    text += &format!("export {}={number}", vars::NODE_RANK);
    for (name, value) in place.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        text += &format!(" {name}={}", quoted(OsStr::new(&value)));
    }
    text += "\n";
    text += WATCH;
    text += if number == 0 { " told &\nexec" } else { " &\nexec" };
    text.extend(again.iter().map(|word| format!(" {}", quoted(word))));
    text + "\n}\n"
}

/// The line that sets a variable, or nothing.
fn export(name: &str, value: &OsStr) -> String {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_name = !name.starts_with(|first: char| first.is_ascii_digit()) && name.bytes().all(is_part);
    if !is_name || name.is_empty() || OF_THE_SHELL.contains(&name) {
        return String::new();
    }
    let line = format!("export {name}={}\n", quoted(value));
    let selects_gpus = vars::VISIBLE_DEVICES.contains(&name);
    match value.as_bytes() {
        // UUIDs of this machine's GPUs.
        [b'G', b'P', b'U', b'-', ..] | [b'M', b'I', b'G', b'-', ..] if selects_gpus => String::new(),
        _ if selects_gpus || OF_THE_MACHINE.contains(&name) || is_sign(name) => {
            format!("test \"${{{name}+set}}\" || {line}")
        }
        _ => line,
    }
}

/// Bytes that are no text are printed by the shell, so nothing is lost here.
fn quoted(word: &OsStr) -> String {
    String::from_utf8_lossy(&shell::quoted(word)).into_owned()
}
