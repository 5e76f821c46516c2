//! `doctor` in a job of several machines: each looks at itself and tells the first one, where the ranks would meet. That one
//! compares; or the shell of a Slurm job does, which `srun` also brings what does not reach the first one.

use std::{
    collections::BTreeMap,
    io::{self, BufRead, BufReader, Read, Write},
    iter,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream},
    ops::RangeInclusive,
    process::{Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant, SystemTime},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::{Pid, alarm},
};
use serde_json::{Deserializer, Value, json};

use super::{
    facts::{self, Comparison, compare, listed, name},
    report::{DoctorReport, Examination},
    tables::meeting::{GRACE, JOB_IDS, MARK, MOST, NEIGHBOURS, PAUSE, QUIET_SRUN},
};
use crate::{
    base::{bytes::fnv1a, layout::wrapped, source::Sourced, vars},
    cli::Outcome,
    host::terminal,
    plan::diagnostics_json,
    ranks::{
        launcher::srun::{self, SrunPrefix},
        topology::{Role, Topology, engine::expand_hosts},
    },
    report::{self, prelude::*, secrets::Secrets},
    request::Format,
    tools::{
        check,
        output::{out, out_bytes},
    },
};

/// How the machines are asked.
pub struct Meeting<'a> {
    pub seen: &'a Examination<'a>,
    /// The report about this machine.
    pub report: &'a DoctorReport<'a>,
    pub timeout: Duration,
    /// Our own `srun` started this process and reads what it prints.
    pub answers_srun: bool,
}

impl Meeting<'_> {
    /// The exit status; `None` if there is one machine, or nothing says where the others are.
    pub fn ask_all(&self) -> Result<Option<u8>, Problems> {
        let Some(ranks) = self.seen.ranks() else {
            return Ok(None);
        };
        match &ranks.role {
            Role::Shell { .. } => return self.ask_through_srun(ranks).map(Some),
            Role::Rank { .. } => return Ok(None),
            Role::Task(_) | Role::Starter => {}
        }
        let (Some(address), Some(port)) = (&ranks.master_addr, &ranks.master_port) else {
            return Ok(None);
        };
        if !ranks.has_several_nodes() || ranks.pool.is_some() {
            return Ok(None);
        }
        if let Role::Task(task) = &ranks.role
            && task.local_rank.value > 0
        {
            return Ok(Some(0));
        }
        // A file server that does not answer could hold this process for ever.
        let seconds = u32::try_from(self.timeout.as_secs()).unwrap_or(u32::MAX);
        alarm::set(seconds.saturating_add(2));
        if self.answers_srun {
            thread::spawn(end_with_input);
        }
        let mut own = self.own(ranks);
        let door = bind(0..=0);
        let place = door.as_ref().and_then(|door| door.local_addr().ok());
        own["door"] = json!([own["name"], null, place.map(|place| place.port())]);
        let greeting = format!("zlaunch {:016x}", fnv1a(own["job"].to_string().as_bytes()));
        let status = if own["index"] == 0 {
            self.hear(own, port, &greeting)
        } else {
            self.report_to(&address.value, port.value, &greeting, own)
        };
        status.map(Some)
    }

    /// `srun` starts this same command on each machine.
    fn ask_through_srun(&self, ranks: &Topology) -> Outcome {
        let start = Instant::now();
        let launch = self.seen.launch;
        let host = self.seen.host;
        let prefix = SrunPrefix::split(&launch.command);
        let answer = ["doctor".into(), "--answer".into()];
        let options = [&answer, &launch.forwarded_options()[..]].concat();
        // If nobody asks any more, those that hang end some time after them.
        let mut extra = QUIET_SRUN.map(Into::into).to_vec();
        extra.push(format!("--wait={}", self.timeout.as_secs() + 5).into());
        let words = srun::argv(
            prefix.as_ref(),
            &options,
            &launch.command,
            &extra,
            ranks,
            host,
        )?;
        let mut command = Command::new(&words[0]);
        for variable in srun::per_task_variables(host) {
            command.env_remove(variable);
        }
        let mut srun = command
            .args(&words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|why| report::cannot_execute(&words[0], &why))?;
        if let Some(input) = &mut srun.stdin {
            // If it has ended already, there is no answer.
            let _ = input.write_all(b"\n");
        }
        let mut parts = BTreeMap::<String, String>::new();
        let id = Pid::from_raw(srun.id().cast_signed());
        let output = srun.stdout.take().into_iter();
        for line in output
            .flat_map(|output| BufReader::new(output).split(b'\n'))
            .map_while(Result::ok)
        {
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
                thread::spawn(move || {
                    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
                        thread::sleep(GRACE);
                        let _ = kill(id, signal);
                    }
                });
            }
            *parts.entry(machine.to_string()).or_default() += part;
        }
        let answers = parts
            .values()
            .flat_map(|text| Deserializer::from_str(text).into_iter().flatten());
        self.show(answers.collect(), start.elapsed())
    }

    /// As the first machine: waits for the others, and tells them the exit status.
    fn hear(&self, own: Value, port: &Sourced<u16>, greeting: &str) -> Outcome {
        let start = Instant::now();
        let until = start + self.timeout;
        let heard = listen(port.value, format!("{greeting}\n"), self.timeout).ok_or_else(|| {
            let what = format!("{} cannot listen on port {}", name(&own), port.value);
            Rule::Port
                .error(what)
                .at(port)
                .fix(give("--master-port", 29500))
        })?;
        let mut answers = vec![own];
        let mut streams = vec![];
        while answers[0]["of"] != answers.len() {
            let left = until.saturating_duration_since(Instant::now());
            let Ok((line, stream)) = heard.recv_timeout(left) else {
                break;
            };
            let Ok(mut answer) = serde_json::from_str::<Value>(&line) else {
                continue;
            };
            let is_known = answers
                .iter()
                .any(|known| known["index"] == answer["index"]);
            if answer["job"] == answers[0]["job"] && answer["facts"].is_object() && !is_known {
                let theirs = answer["clock"].as_i64().unwrap_or(0);
                answer["facts"]["clock"] = clock().saturating_sub(theirs).into();
                let address = stream.peer_addr().map(|from| from.ip().to_canonical());
                answer["door"][1] = json!(address.ok());
                answers.push(answer);
                streams.push(stream);
            }
        }
        // Where one is silent, that is told first.
        if answers[0]["of"] == answers.len() {
            for (at, stream) in streams.iter_mut().enumerate() {
                let _ = writeln!(stream, "{}", doors(&answers, at + 1));
            }
            let own = cut_off(&doors(&answers, 0), None, until);
            let theirs = streams
                .iter()
                .map(|stream| line(stream, until.saturating_duration_since(Instant::now())));
            for (answer, names) in answers.iter_mut().zip(iter::once(own).chain(theirs)) {
                if let Some(names) = names.filter(|names| !names.is_empty()) {
                    let facts = &mut answer["facts"];
                    let fact = match facts["variables.NCCL_SOCKET_IFNAME"] {
                        Value::Null => "network.cut",
                        _ => "network.cut-here",
                    };
                    facts[fact] = names.into();
                }
            }
        }
        let status = if self.answers_srun {
            tell(&answers)?
        } else {
            self.show(answers, start.elapsed())?
        };
        for stream in &mut streams {
            // One that is gone needs no status.
            let _ = writeln!(stream, "{status}");
        }
        Ok(status)
    }

    /// As another machine: the exit status is that of the first.
    fn report_to(&self, address: &str, port: u16, greeting: &str, mut own: Value) -> Outcome {
        let until = Instant::now() + self.timeout;
        let addresses = facts::addresses(address, &mut own["facts"]);
        reach(&addresses, port, greeting, until)
            .and_then(|mut stream| {
                own["clock"] = clock().into();
                let left = until.saturating_duration_since(Instant::now());
                let first = stream.peer_addr().map(|place| place.ip()).ok();
                let mut ask = |said: String| {
                    stream.write_all(format!("{said}\n").as_bytes()).ok()?;
                    line(&stream, left + GRACE / 2)
                };
                ask(own.to_string())
                    .and_then(|doors| match cut_off(&doors, first, until) {
                        Some(names) => ask(names),
                        None => Some(doors),
                    })
                    .and_then(|status| status.parse().ok())
                    .ok_or_else(|| "it gives no answer".to_string())
            })
            .or_else(|why: String| {
                own["facts"]["network.unreachable"] = format!("{address}:{port} ({why})").into();
                if self.answers_srun {
                    return tell(&[own]);
                }
                report::report(&compare(&[own]).problems, &Secrets::of(self.seen.host));
                Ok(1)
            })
    }

    /// What this machine has to say.
    fn own(&self, ranks: &Topology) -> Value {
        let host = self.seen.host;
        let name = host
            .nonempty_var(vars::SLURMD_NODENAME)
            .filter(|_| ranks.engine == Some("Slurm"))
            .or_else(|| host.hostname.split('.').next());
        self.report.clean_json(json!({
            "job": JOB_IDS.map(|name| host.nonempty_var(name)),
            "name": name,
            "index": ranks.node_rank.value,
            "of": ranks.nnodes.as_ref().map(|nnodes| nnodes.value),
            "facts": facts::all(self.seen, self.report),
        }))
    }

    /// Exit status 1: a difference breaks this launch, or a machine did not answer.
    fn show(&self, mut answers: Vec<Value>, took: Duration) -> Outcome {
        let launch = self.seen.launch;
        answers.sort_by_key(|answer| answer["index"].as_u64());
        let Comparison { same, mut problems } = compare(&answers);
        let first = answers.first().unwrap_or_default();
        // By their names, where Slurm lists them.
        let list = first["facts"]["variables.SLURM_STEP_NODELIST"]
            .as_str()
            .or_else(|| self.seen.host.nonempty_var(vars::SLURM_JOB_NODELIST))
            .and_then(expand_hosts)
            .unwrap_or_default();
        let machines = first["of"]
            .as_u64()
            .map_or(list.len().max(1), |of| of.min(1 << 16) as usize);
        let is_silent = |at: &usize| answers.iter().all(|answer| answer["index"] != *at);
        let name_of = |at: usize| list.get(at).cloned().unwrap_or(format!("machine {at}"));
        let silent: Vec<String> = (0..machines).filter(is_silent).map(name_of).collect();
        if !silent.is_empty() {
            let waited = took.min(self.timeout).as_secs_f64().ceil();
            let fix = give("--timeout", self.timeout.as_secs() * 6)
                .remark("if it is up and has zlaunch at this path");
            problems.insert(
                0,
                Rule::NoAnswer
                    .error(format!(
                        "no answer from {} within {waited:.0} s",
                        listed(&silent)
                    ))
                    .fix(fix),
            );
        }
        for problem in &mut problems {
            problem.be_strict(launch.strict);
        }
        let seconds = took.as_secs_f64();
        let secrets = Secrets::of(self.seen.host);
        if launch.output.dry_run == Some(Format::Json) {
            let json = json!({
                "version": 1,
                "zlaunch": env!("CARGO_PKG_VERSION"),
                "seconds": seconds,
                "machines": answers,
                "silent": silent,
                "same": same,
                "diagnostics": diagnostics_json(&problems),
            });
            return out_bytes(&secrets.printed(json)).map(|_| check::verdict(&problems));
        }
        let names: Vec<String> = answers.iter().map(name).collect();
        let count = names.len();
        let names = listed(&names);
        let head = format!("{count} of {machines} machines answered in {seconds:.1} s: {names}");
        let width = terminal::width().unwrap_or(usize::MAX);
        let same = format!("same on all: {}", same.join(", "));
        out(&(wrapped(&head, 0, width) + &wrapped(&same, 0, width)))?;
        check::show_checked(problems, "", launch, &secrets)
    }
}

/// Seconds since 1970.
fn clock() -> i64 {
    SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(0, |time| time.as_secs().cast_signed())
}

/// The input begins with a line, and ends if the one that asks is gone: then this process ends too.
fn end_with_input() {
    if io::copy(&mut io::stdin(), &mut io::sink()).is_ok_and(|read| read > 0) {
        let _ = kill(Pid::this(), Signal::SIGTERM);
    }
}

/// Prints what the one that started `srun` wants to know. `srun` cuts long lines and mixes those of several machines.
fn tell(answers: &[Value]) -> Outcome {
    let text: String = answers.iter().map(Value::to_string).collect();
    let text: Vec<char> = text.chars().collect();
    let mut lines = String::new();
    for part in text.chunks(200) {
        let part = String::from_iter(part);
        lines += &format!("{MARK}{} {part}\n", answers[0]["index"]);
    }
    out_bytes(lines.as_bytes())
}

/// Listens as the first rank would. A line comes with the connection for the reply.
fn listen(
    port: u16,
    greeting: String,
    patience: Duration,
) -> Option<Receiver<(String, TcpStream)>> {
    let listener = bind(port..=port.saturating_add(3))?;
    let (sender, heard) = mpsc::channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten().take(1 << 14) {
            let sender = sender.clone();
            let greeting = greeting.clone();
            thread::spawn(move || {
                stream.write_all(greeting.as_bytes()).ok()?;
                line(&stream, patience).map(|line| sender.send((line, stream)))
            });
        }
    });
    Some(heard)
}

fn bind(mut ports: RangeInclusive<u16>) -> Option<TcpListener> {
    ports.find_map(|port| {
        let all: [IpAddr; 2] = [Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()];
        TcpListener::bind(&all.map(|address| SocketAddr::from((address, port)))[..]).ok()
    })
}

/// Where a machine tries to reach others: their names, addresses and ports. It knows the first one's address.
fn doors(answers: &[Value], of: usize) -> String {
    let count = answers.len();
    (1..count.min(NEIGHBOURS))
        .map(|next| answers[(of + next) % count]["door"].clone())
        .collect::<Value>()
        .to_string()
}

/// Those of them that cannot be reached.
fn cut_off(doors: &str, first: Option<IpAddr>, until: Instant) -> Option<String> {
    let doors: Vec<(String, Option<IpAddr>, u16)> = serde_json::from_str(doors).ok()?;
    let until = until.min(Instant::now() + GRACE);
    let mut names = vec![];
    for (name, address, port) in doors {
        let place = (address.or(first)?, port).into();
        let left = until.saturating_duration_since(Instant::now());
        if TcpStream::connect_timeout(&place, left.max(PAUSE)).is_err() {
            names.push(name);
        }
    }
    Some(listed(&names))
}

fn line(stream: &TcpStream, patience: Duration) -> Option<String> {
    stream.set_read_timeout(Some(patience)).ok()?;
    let mut line = String::new();
    BufReader::new(stream.take(MOST))
        .read_line(&mut line)
        .ok()?;
    line.strip_suffix('\n').map(str::to_string)
}

/// Connects as a rank would, or says why that is impossible. The first machine may begin later.
fn reach(
    addresses: &[IpAddr],
    port: u16,
    greeting: &str,
    until: Instant,
) -> Result<TcpStream, String> {
    loop {
        let mut failed = None;
        // If something else has the port on the first machine, that listens on the next one.
        let ports = port..=port.saturating_add(3);
        for place in
            ports.flat_map(|port| addresses.iter().map(move |it| SocketAddr::new(*it, port)))
        {
            let left = until.saturating_duration_since(Instant::now());
            let stream = TcpStream::connect_timeout(&place, left.max(PAUSE));
            let why = match stream {
                Ok(stream) if line(&stream, GRACE / 2).as_deref() == Some(greeting) => {
                    return Ok(stream);
                }
                Ok(_) => "something else answers".to_string(),
                Err(why) => why.to_string().to_lowercase(),
            };
            let why = why.split(" (os error").next().unwrap_or_default();
            failed.get_or_insert(format!("{}: {why}", place.ip()));
        }
        if Instant::now() + PAUSE >= until || addresses.is_empty() {
            return Err(failed.unwrap_or_else(|| "the name leads nowhere".to_string()));
        }
        thread::sleep(PAUSE);
    }
}
