//! `doctor` in a job of several machines: each looks at itself, and the first one compares. For Slurm `srun` starts that.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use nix::unistd::alarm;
use serde_json::{Map, Value, json};

use super::comparison::{compare, listed, name};
use super::facts;
use super::page::DoctorReport;
use super::sections::Examination;
use crate::base::layout::wrapped;
use crate::base::source::Sourced;
use crate::base::vars;
use crate::host::terminal;
use crate::plan::diagnostics_json;
use crate::ranks::launcher::srun::{self, SrunPrefix};
use crate::ranks::topology::engines::hostlist::HostList;
use crate::ranks::topology::{Role, Topology};
use crate::report::fix::give;
use crate::report::secrets::Secrets;
use crate::report::{self, Problem, Rule};
use crate::request::Format;
use crate::tools::check;
use crate::tools::output::{out, out_bytes};

/// Bytes that a machine may send.
const MOST: u64 = 1 << 20;
const PAUSE: Duration = Duration::from_millis(50);

impl Examination<'_> {
    /// The exit status; `None` if there is one machine, or nothing says where the others are.
    pub(super) fn together(&self, report: &DoctorReport<'_>, timeout: Duration) -> Result<Option<u8>, Vec<Problem>> {
        let Some(ranks) = self.ranks() else { return Ok(None) };
        let place = ranks.master_addr.as_ref().zip(ranks.master_port.as_ref());
        match (&ranks.role, place) {
            (Role::Shell { .. }, _) => Err(self.start_through_srun(ranks)?.into()),
            (Role::Rank { .. }, _) | (_, None) => Ok(None),
            _ if !ranks.has_several_nodes() || ranks.pool.is_some() => Ok(None),
            (Role::Task(task), _) if task.local_rank.value > 0 => Ok(Some(0)),
            (_, Some((address, port))) => {
                // A file server that does not answer could hold this process for ever.
                alarm::set(u32::try_from(timeout.as_secs()).unwrap_or(u32::MAX).saturating_add(2));
                self.meet(self.own(ranks, report), &address.value, port, timeout).map(Some)
            }
        }
    }

    /// Becomes `srun`, which starts this same command on each machine. Returns only with a problem.
    fn start_through_srun(&self, ranks: &Topology) -> Result<Problem, Problem> {
        let (prefix, command) = (SrunPrefix::split(&self.launch.command), &self.launch.command);
        let options = [&["doctor".into()], &self.launch.forwarded_options()[..]].concat();
        // One that fails must not end the others. All end together, unless one does not even start.
        let wait = if prefix.is_some() { "--wait=0" } else { "--wait=3" };
        let extra = ["--kill-on-bad-exit=0", "--quit-on-interrupt", wait].map(Into::into);
        let words = srun::argv(prefix.as_ref(), &options, command, &extra, ranks, self.host)?;
        let mut srun = Command::new(&words[0]);
        srun::per_task_variables(self.host).iter().fold(&mut srun, Command::env_remove).args(&words[1..]);
        Ok(report::cannot_execute(&words[0], &srun.exec()))
    }

    /// The others report to the first, where the ranks would meet.
    fn meet(&self, mut own: Value, address: &str, port: &Sourced<u16>, timeout: Duration) -> Result<u8, Vec<Problem>> {
        let start = Instant::now();
        let left = || (start + timeout).saturating_duration_since(Instant::now());
        if own["index"] == 0 {
            let heard = listen(port.value, timeout).map_err(|_| report::port_in_use(port))?;
            let (mut answers, mut streams) = (vec![own], Vec::new());
            while answers[0]["of"] != answers.len() {
                let Ok((line, stream)) = heard.recv_timeout(left()) else { break };
                let Ok(mut answer) = serde_json::from_str::<Value>(&line) else { continue };
                let is_known = answers.iter().any(|known| known["index"] == answer["index"]);
                if answer["job"] == answers[0]["job"] && answer["facts"].is_object() && !is_known {
                    answer["facts"]["clock"] =
                        clock().saturating_sub(answer["facts"]["clock"].as_i64().unwrap_or(0)).into();
                    answers.push(answer);
                    streams.push(stream);
                }
            }
            answers.sort_by_key(|answer| answer["index"].as_u64());
            let status = self.show(&answers, start.elapsed(), timeout)?;
            let _: Vec<_> = streams.iter_mut().map(|stream| writeln!(stream, "{status}")).collect();
            return Ok(status);
        }
        let addresses = facts::addresses(address, &mut own["facts"]);
        let status = reach(&addresses, port.value, start + timeout).and_then(|(mut stream, time)| {
            own["facts"]["network.round_trip"] = format!("{:.1} ms", time.as_secs_f64() * 1000.0).into();
            own["facts"]["clock"] = clock().into();
            let sent = stream.write_all(format!("{own}\n").as_bytes()).ok();
            let status = sent.and_then(|()| line(&stream, left() + Duration::from_secs(1)));
            status.and_then(|line| line.parse().ok()).ok_or_else(|| "it gives no answer".to_string())
        });
        Ok(status.unwrap_or_else(|why| {
            let what = format!("{} does not reach {address}:{} ({why})", name(&own), port.value);
            let fix = give("--master-addr", "ADDRESS").remark("one it reaches").or("ask for the port to be opened");
            report::report(&[Problem::error(Rule::NoAnswer, what).fix(fix)], &Secrets::of(self.host));
            1
        }))
    }

    /// What this machine has to say.
    fn own(&self, ranks: &Topology, report: &DoctorReport<'_>) -> Value {
        let name = self.host.nonempty_var(vars::SLURMD_NODENAME).filter(|_| ranks.engine == Some("Slurm"));
        let name = name.or_else(|| self.host.hostname.split('.').next());
        let clean = |(name, value): (String, Value)| {
            let value = value.as_str().map(|text| report.clean(text).into()).unwrap_or(value);
            (report.clean(&name), value)
        };
        let facts: Map<String, Value> = facts::all(self, &report.json()).into_iter().map(clean).collect();
        // All processes of one start have these in common.
        let ids = [vars::PMIX_NAMESPACE, vars::SLURM_JOB_ID, vars::PBS_JOBID, vars::LSB_JOBID];
        json!({
            "job": ids.map(|name| self.host.nonempty_var(name)), "name": name, "index": ranks.node_rank.value,
            "of": ranks.nnodes.as_ref().map(|nnodes| nnodes.value), "facts": facts,
        })
    }

    /// Exit status 1: a difference breaks this launch, or a machine did not answer.
    fn show(&self, answers: &[Value], took: Duration, timeout: Duration) -> Result<u8, Vec<Problem>> {
        let (same, mut problems) = compare(answers);
        let machines = answers[0]["of"].as_u64().unwrap_or(1);
        // By their names, where Slurm lists them.
        let list = self.host.nonempty_var(vars::SLURM_STEP_NODELIST).and_then(HostList::parse);
        let name_at = |at| list.as_ref().and_then(|list| list.get(at)).unwrap_or(format!("machine {at}"));
        let silent = (0..machines.min(1 << 16)).filter(|at| answers.iter().all(|answer| answer["index"] != *at));
        let silent: Vec<String> = silent.map(name_at).collect();
        if !silent.is_empty() {
            let what = format!("no answer from {} within {} s", listed(&silent), timeout.as_secs());
            let fix = give("--timeout", timeout.as_secs() * 6).remark("if it is up and has zlaunch at this path");
            problems.insert(0, Problem::error(Rule::NoAnswer, what).fix(fix));
        }
        for problem in &mut problems {
            problem.be_strict(self.launch.strict);
        }
        let (seconds, secrets) = (took.as_secs_f64(), Secrets::of(self.host));
        if self.launch.output.dry_run == Some(Format::Json) {
            let json = json!({
                "version": 1, "zlaunch": env!("CARGO_PKG_VERSION"), "seconds": seconds, "machines": answers,
                "silent": silent, "same": same, "diagnostics": diagnostics_json(&problems),
            });
            return out_bytes(&secrets.printed(json)).map(|_| check::verdict(&problems));
        }
        let names: Vec<String> = answers.iter().map(name).collect();
        let head = format!("{} of {machines} machines answered in {seconds:.1} s: {}", names.len(), listed(&names));
        let lines = [head, format!("same on all: {}", same.join(", "))];
        out(&lines.map(|line| wrapped(&line, 0, terminal::width().unwrap_or(usize::MAX))).concat())?;
        check::show_checked(problems, "", self.launch, &secrets)
    }
}

fn clock() -> i64 {
    SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_secs().cast_signed())
}

/// Listens as the first rank would, until this process ends. A line comes with the connection for the reply.
fn listen(port: u16, patience: Duration) -> io::Result<Receiver<(String, TcpStream)>> {
    let bind = |address: IpAddr| TcpListener::bind((address, port));
    let listener = bind(Ipv6Addr::UNSPECIFIED.into()).or_else(|_| bind(Ipv4Addr::UNSPECIFIED.into()))?;
    let (sender, heard) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming().flatten().take(1 << 14) {
            let sender = sender.clone();
            thread::spawn(move || line(&stream, patience).map(|line| sender.send((line, stream))));
        }
    });
    Ok(heard)
}

fn line(stream: &TcpStream, patience: Duration) -> Option<String> {
    stream.set_read_timeout(Some(patience)).ok()?;
    let mut line = String::new();
    BufReader::new(stream.take(MOST)).read_line(&mut line).ok()?;
    line.strip_suffix('\n').map(str::to_string)
}

/// Connects as a rank would, in this time; or why that is impossible. The first machine may begin later.
fn reach(addresses: &[IpAddr], port: u16, until: Instant) -> Result<(TcpStream, Duration), String> {
    loop {
        let mut failed = "the name leads nowhere".to_string();
        for address in addresses {
            let start = Instant::now();
            match TcpStream::connect_timeout(&(*address, port).into(), (until - start).max(PAUSE)) {
                Ok(stream) => return Ok((stream, start.elapsed())),
                Err(why) => failed = format!("{address}: {}", why.to_string().to_lowercase()),
            }
        }
        if Instant::now() + PAUSE >= until || addresses.is_empty() {
            return Err(failed.split(" (os error").next().unwrap_or_default().to_string());
        }
        thread::sleep(PAUSE);
    }
}
