//! `doctor` in a job of several machines: each looks at itself and tells the first one, where the ranks would meet. That one
//! compares; or the shell of a Slurm job does, which `srun` also brings what does not reach the first one.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, alarm};
use serde_json::{Deserializer, Value, json};

use super::comparison::{compare, listed, name};
use super::facts;
use super::page::DoctorReport;
use super::sections::Examination;
use crate::base::bytes::fnv1a;
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
const GRACE: Duration = Duration::from_secs(3);
/// In front of each part of an answer that `srun` brings.
const MARK: &str = "zlaunch-answer ";

impl Examination<'_> {
    /// The exit status; `None` if there is one machine, or nothing says where the others are.
    pub(super) fn together(&self, report: &DoctorReport<'_>) -> Result<Option<u8>, Vec<Problem>> {
        let Some(ranks) = self.ranks() else {
            return Ok(None);
        };
        let place = ranks.master_addr.as_ref().zip(ranks.master_port.as_ref());
        match (&ranks.role, place) {
            (Role::Shell { .. }, _) => self.ask_through_srun(ranks).map(Some),
            (Role::Rank { .. }, _) | (_, None) => Ok(None),
            _ if !ranks.has_several_nodes() || ranks.pool.is_some() => Ok(None),
            (Role::Task(task), _) if task.local_rank.value > 0 => Ok(Some(0)),
            (_, Some((address, port))) => {
                // A file server that does not answer could hold this process for ever.
                alarm::set(
                    u32::try_from(self.asked.0.as_secs())
                        .unwrap_or(u32::MAX)
                        .saturating_add(2),
                );
                // The input begins with a line, and ends if the one that asks is gone.
                let end = || kill(Pid::this(), Signal::SIGTERM);
                let watch = move || {
                    io::copy(&mut io::stdin(), &mut io::sink()).map(|read| (read > 0).then(end))
                };
                let _watch = self.asked.1.then(|| thread::spawn(watch));
                self.meet(self.own(ranks, report), &address.value, port)
                    .map(Some)
            }
        }
    }

    /// `srun` starts this same command on each machine.
    fn ask_through_srun(&self, ranks: &Topology) -> Result<u8, Vec<Problem>> {
        let start = Instant::now();
        let (prefix, command) = (
            SrunPrefix::split(&self.launch.command),
            &self.launch.command,
        );
        let options = [
            &["doctor".into(), "--answer".into()],
            &self.launch.forwarded_options()[..],
        ]
        .concat();
        // One that fails must not end the others. If nobody asks any more, those that hang end some time after them.
        let wait = format!("--wait={}", self.asked.0.as_secs() + 5);
        let extra = [
            "--quiet",
            "--input=all",
            "--kill-on-bad-exit=0",
            "--quit-on-interrupt",
            &wait,
        ]
        .map(Into::into);
        let words = srun::argv(prefix.as_ref(), &options, command, &extra, ranks, self.host)?;
        let mut srun = Command::new(&words[0]);
        srun::per_task_variables(self.host)
            .iter()
            .fold(&mut srun, Command::env_remove)
            .args(&words[1..]);
        let srun = srun.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut srun = srun.map_err(|why| report::cannot_execute(&words[0], &why))?;
        let _ = srun.stdin.as_mut().map(|input| input.write_all(b"\n"));
        let mut parts = BTreeMap::<String, String>::new();
        let id = Pid::from_raw(srun.id().cast_signed());
        let lines = srun
            .stdout
            .take()
            .into_iter()
            .flat_map(|stdout| BufReader::new(stdout).split(b'\n'));
        for line in lines.map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            let Some((machine, part)) = line
                .split_once(MARK)
                .and_then(|(_, part)| part.split_once(' '))
            else {
                out(&format!("{line}\n"))?;
                continue;
            };
            if machine == "0" && !parts.contains_key(machine) {
                // The first one speaks when it has waited for all others: what is missing soon after will not come.
                let signals = [Signal::SIGTERM, Signal::SIGKILL];
                thread::spawn(move || {
                    signals.map(|signal| (thread::sleep(GRACE), kill(id, signal)))
                });
            }
            *parts.entry(machine.to_string()).or_default() += part;
        }
        let answers = parts
            .values()
            .flat_map(|text| Deserializer::from_str(text).into_iter().flatten());
        self.show(answers.collect(), start.elapsed())
    }

    /// The others report to the first, where the ranks would meet.
    fn meet(&self, mut own: Value, address: &str, port: &Sourced<u16>) -> Result<u8, Vec<Problem>> {
        let start = Instant::now();
        let left = || (start + self.asked.0).saturating_duration_since(Instant::now());
        let clock = || {
            SystemTime::UNIX_EPOCH
                .elapsed()
                .map_or(0, |time| time.as_secs().cast_signed())
        };
        let greeting = format!("zlaunch {:016x}", fnv1a(own["job"].to_string().as_bytes()));
        if own["index"] == 0 {
            let heard =
                listen(port.value, format!("{greeting}\n"), self.asked.0).ok_or_else(|| {
                    let what = format!("{} cannot listen on port {}", name(&own), port.value);
                    Problem::error(Rule::Port, what)
                        .at(port)
                        .fix(give("--master-port", 29500))
                })?;
            let (mut answers, mut streams) = (vec![own], Vec::new());
            while answers[0]["of"] != answers.len() {
                let Ok((line, stream)) = heard.recv_timeout(left()) else {
                    break;
                };
                let Ok(mut answer) = serde_json::from_str::<Value>(&line) else {
                    continue;
                };
                let is_known = answers
                    .iter()
                    .any(|known| known["index"] == answer["index"]);
                if answer["job"] == answers[0]["job"] && answer["facts"].is_object() && !is_known {
                    answer["facts"]["clock"] = clock()
                        .saturating_sub(answer["clock"].as_i64().unwrap_or(0))
                        .into();
                    answers.push(answer);
                    streams.push(stream);
                }
            }
            let status = if self.asked.1 {
                tell(&answers)?
            } else {
                self.show(answers, start.elapsed())?
            };
            let _: Vec<_> = streams
                .iter_mut()
                .map(|stream| writeln!(stream, "{status}"))
                .collect();
            return Ok(status);
        }
        let addresses = facts::addresses(address, &mut own["facts"]);
        let status = reach(&addresses, port.value, &greeting, start + self.asked.0).and_then(
            |(mut stream, time)| {
                own["facts"]["network.round_trip"] =
                    format!("{:.1} ms", time.as_secs_f64() * 1000.0).into();
                own["clock"] = clock().into();
                let sent = stream.write_all(format!("{own}\n").as_bytes()).ok();
                let status = sent.and_then(|()| line(&stream, left() + GRACE / 2));
                status
                    .and_then(|line| line.parse().ok())
                    .ok_or_else(|| "it gives no answer".to_string())
            },
        );
        status.or_else(|why: String| {
            own["facts"]["network.unreachable"] =
                format!("{address}:{} ({why})", port.value).into();
            if self.asked.1 {
                return tell(&[own]);
            }
            report::report(&compare(&[own]).1, &Secrets::of(self.host));
            Ok(1)
        })
    }

    /// What this machine has to say.
    fn own(&self, ranks: &Topology, report: &DoctorReport<'_>) -> Value {
        let name = if ranks.engine == Some("Slurm") {
            self.host.nonempty_var(vars::SLURMD_NODENAME)
        } else {
            None
        };
        let name = name.or_else(|| self.host.hostname.split('.').next());
        // All processes of one start have these in common.
        let ids = [
            vars::PMIX_NAMESPACE,
            vars::SLURM_JOB_ID,
            vars::PBS_JOBID,
            vars::LSB_JOBID,
        ];
        report.clean_json(json!({
            "job": ids.map(|name| self.host.nonempty_var(name)), "name": name, "index": ranks.node_rank.value,
            "of": ranks.nnodes.as_ref().map(|nnodes| nnodes.value), "facts": facts::all(self, &report.json()),
        }))
    }

    /// Exit status 1: a difference breaks this launch, or a machine did not answer.
    fn show(&self, mut answers: Vec<Value>, took: Duration) -> Result<u8, Vec<Problem>> {
        answers.sort_by_key(|answer| answer["index"].as_u64());
        let (same, mut problems) = compare(&answers);
        let first = answers.first();
        // By their names, where Slurm lists them.
        let list = first.and_then(|first| first["facts"]["variables.SLURM_STEP_NODELIST"].as_str());
        let list = list
            .or_else(|| self.host.nonempty_var(vars::SLURM_JOB_NODELIST))
            .and_then(HostList::parse);
        let machines = first
            .and_then(|first| first["of"].as_u64())
            .or_else(|| Some(list.as_ref()?.count()))
            .unwrap_or(1);
        let silent = (0..machines.min(1 << 16))
            .filter(|at| answers.iter().all(|answer| answer["index"] != *at));
        let silent = silent.map(|at| {
            list.as_ref()
                .and_then(|list| list.get(at))
                .unwrap_or(format!("machine {at}"))
        });
        let silent: Vec<String> = silent.collect();
        if !silent.is_empty() {
            let waited = took.min(self.asked.0).as_secs_f64().ceil();
            let what = format!("no answer from {} within {waited:.0} s", listed(&silent));
            let fix = give("--timeout", self.asked.0.as_secs() * 6)
                .remark("if it is up and has zlaunch at this path");
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
        let head = format!(
            "{} of {machines} machines answered in {seconds:.1} s: {}",
            names.len(),
            listed(&names)
        );
        let lines = [head, format!("same on all: {}", same.join(", "))];
        out(&lines
            .map(|line| wrapped(&line, 0, terminal::width().unwrap_or(usize::MAX)))
            .concat())?;
        check::show_checked(problems, "", self.launch, &secrets)
    }
}

/// Prints what the one that started `srun` wants to know. `srun` cuts long lines and mixes those of several machines.
fn tell(answers: &[Value]) -> Result<u8, Vec<Problem>> {
    let text: Vec<char> = answers
        .iter()
        .map(Value::to_string)
        .collect::<String>()
        .chars()
        .collect();
    let parts = text.chunks(200).map(String::from_iter);
    let lines: String = parts
        .map(|part| format!("{MARK}{} {part}\n", answers[0]["index"]))
        .collect();
    out_bytes(lines.as_bytes())
}

/// Listens as the first rank would. A line comes with the connection for the reply.
fn listen(
    port: u16,
    greeting: String,
    patience: Duration,
) -> Option<Receiver<(String, TcpStream)>> {
    let any = [
        IpAddr::from(Ipv6Addr::UNSPECIFIED),
        IpAddr::from(Ipv4Addr::UNSPECIFIED),
    ];
    let places =
        (port..=port.saturating_add(3)).flat_map(|port| any.map(|any| SocketAddr::new(any, port)));
    let listener = TcpListener::bind(&places.collect::<Vec<_>>()[..]).ok()?;
    let (sender, heard) = mpsc::channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten().take(1 << 14) {
            let (sender, greeting) = (sender.clone(), greeting.clone());
            thread::spawn(move || {
                stream.write_all(greeting.as_bytes()).ok()?;
                line(&stream, patience).map(|line| sender.send((line, stream)))
            });
        }
    });
    Some(heard)
}

fn line(stream: &TcpStream, patience: Duration) -> Option<String> {
    stream.set_read_timeout(Some(patience)).ok()?;
    let mut line = String::new();
    BufReader::new(stream.take(MOST))
        .read_line(&mut line)
        .ok()?;
    line.strip_suffix('\n').map(str::to_string)
}

/// Connects as a rank would, in this time; or why that is impossible. The first machine may begin later.
fn reach(
    addresses: &[IpAddr],
    port: u16,
    greeting: &str,
    until: Instant,
) -> Result<(TcpStream, Duration), String> {
    loop {
        let mut failed = None;
        // If something else has the port on the first machine, that listens on the next one.
        for (more, address) in
            (0..=3).flat_map(|more| addresses.iter().map(move |address| (more, *address)))
        {
            let (start, place) = (
                Instant::now(),
                SocketAddr::new(address, port.saturating_add(more)),
            );
            let (stream, time) = (
                TcpStream::connect_timeout(&place, (until - start).max(PAUSE)),
                start.elapsed(),
            );
            let why = match stream {
                Ok(stream) if line(&stream, GRACE / 2).as_deref() == Some(greeting) => {
                    return Ok((stream, time));
                }
                Ok(_) => "something else answers".to_string(),
                Err(why) => why.to_string().to_lowercase(),
            };
            failed.get_or_insert(format!(
                "{address}: {}",
                why.split(" (os error").next().unwrap_or_default()
            ));
        }
        if Instant::now() + PAUSE >= until || addresses.is_empty() {
            return Err(failed.unwrap_or_else(|| "the name leads nowhere".to_string()));
        }
        thread::sleep(PAUSE);
    }
}
