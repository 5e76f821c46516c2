//! `zlaunch rehearse`: the installed trainer says yes or no on this machine, before a job is queued. It runs under
//! `rehearsal.py`, which prints a line of JSON for each event.

mod tables;

use std::{
    io::{self, IsTerminal, Write, stderr},
    process::ExitStatus,
    sync::mpsc::RecvTimeoutError,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{check, explain, prelude::*};
use crate::{
    base::{
        json::{self, text},
        layout::{TextTable, plural},
        source::{Source, Sourced},
    },
    exec::{self, rehearsal::Rehearsal},
    fit::{self, FitFormat, FitRequest, REAL, TrainingArgs},
    plan::{Plan, diagnostics_json},
    ranks::launcher::Launcher,
    report::{
        Severity,
        fix::{self, Fixes},
    },
};

use tables::events::{
    ENDINGS, Ending, Kind, MOST_LINES, READ_FILES, STAGES, Says, Stage, TIMEOUT, WITHOUT_DEEPSPEED,
};

/// It runs in the trainer's own interpreter.
const PROGRAM: &str = include_str!("rehearse/rehearsal.py");

#[derive(Args)]
#[command(next_help_heading = "Rehearsal")]
pub struct RehearseArgs {
    online: bool,
    timeout: Option<Given>,
    #[command(flatten)]
    launch: LaunchArgs,
}

impl Tool for RehearseArgs {
    const LAUNCH_OPTIONS: LaunchOptions = check::CheckArgs::LAUNCH_OPTIONS;

    fn read(self, mut reader: Reader) -> Requested {
        let timeout = reader
            .one(self.timeout, values::number(1, u32::MAX, "600"))
            .map_or(TIMEOUT, |given| given.value);
        let mut launch = launch::read(self.launch, &mut reader);
        launch.output.check = true;
        launch.rehearsed = true;
        // Nobody else joins a rehearsal.
        let nnodes = launch.topology.nnodes.as_ref();
        let node_rank = &mut launch.topology.node_rank;
        node_rank.take_if(|_| nnodes.is_some());
        launch.be_first_machine("the rehearsal", reader.host);
        // Only their shapes are needed.
        launch.allow.push(Rule::WeightsMissing);
        reader.problems.extend(launch::without_command(&launch));
        let timeout = Duration::from_secs(timeout.into());
        let tools = reader.tools;
        launch::finish(launch, reader, move |launch, host| {
            run(&launch, self.online, timeout, host, tools)
        })
    }
}

/// Exit status 1: the launch is refused; 3: nobody knows.
fn run(
    launch: &Launch,
    online: bool,
    timeout: Duration,
    host: &Host,
    tools: &'static Tools,
) -> Outcome {
    let Ok((plan, problems)) = Judged::new(launch, host).accepted() else {
        return check::check_launch(launch, host, tools);
    };
    if matches!(plan.launcher, Launcher::Prefix(_)) {
        return Ok(exec::start(&plan)?);
    }
    let secrets = Secrets::of(host);
    let output = launch.output;
    if !output.quiet {
        let mut told = problems.clone();
        told.retain(|problem| problem.severity != Severity::Note);
        report::report(&told, &secrets);
    }
    let mut answer = rehearse(launch, online, timeout, &plan, host)?;
    // The verdict of `fit` on this launch, with the parameters that were counted.
    if let Some(counted) = answer.parameters() {
        let request = FitRequest {
            launch: launch.clone(),
            card: None,
            training: TrainingArgs {
                params: Some(Sourced::new(counted, Source::Machine("counted"))),
                trusts_names: true,
                ..TrainingArgs::default()
            },
            accounting: REAL,
            format: FitFormat::Text,
        };
        answer.memory = fit::answer(&request, host)
            .ok()
            .and_then(|report| report.verdict_line());
    }
    if output.dry_run == Some(Format::Json) {
        let mut json = plan.json(&problems);
        json["rehearsal"] = answer.json();
        out_bytes(&secrets.printed(json))?;
    } else {
        out_bytes(&styled(|stream| {
            answer.write(&secrets, output.quiet, stream)
        }))?;
    }
    Ok(answer.ending.status)
}

/// The machines, and the ranks on each.
fn sizes(plan: &Plan) -> [u32; 2] {
    let topology = &plan.topology;
    [&topology.nnodes, &topology.nproc_per_node]
        .map(|count| count.as_ref().map_or(1, |count| count.value))
}

fn rehearse<'p>(
    launch: &Launch,
    online: bool,
    timeout: Duration,
    plan: &'p Plan<'p>,
    host: &Host,
) -> Result<Answer<'p>, Problems> {
    let Some(python) = &plan.understood.job.python else {
        let runs = plan.understood.what_runs();
        return Err(Rule::NotFound
            .error(format!(
                "no Python was found that runs `{runs}`, so it cannot be rehearsed"
            ))
            .at(&runs)
            .fix(fix::run("zlaunch doctor -- COMMAND"))
            .into());
    };
    let [nnodes, nproc] = sizes(plan);
    let argv: Vec<_> = plan
        .argv
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    let gpu = &launch.memory.gpu;
    let gpu = gpu.as_ref().map_or(80 << 30, |memory| memory.value);
    let spec = json!({"argv": argv, "nnodes": nnodes, "nproc_per_node": nproc, "online": online, "gpu_memory": gpu});
    let mut rehearsal = Rehearsal::start(&python.program, PROGRAM, spec, plan, host)?;
    let start = Instant::now();
    let shows_progress = stderr().is_terminal() && !launch.output.quiet;
    let mut events: Vec<Value> = vec![];
    let in_time = loop {
        let left = timeout.saturating_sub(start.elapsed());
        let next = left.min(Duration::from_millis(200));
        match rehearsal.lines.recv_timeout(next) {
            Ok(line) => events.push(serde_json::from_str(&line).unwrap_or_default()),
            Err(RecvTimeoutError::Timeout) if left.is_zero() => break false,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break true,
        }
        if shows_progress {
            let seconds = start.elapsed().as_secs();
            progress(&format!("rehearsing ({seconds} s)"));
        }
    };
    if shows_progress {
        progress("");
    }
    let status = if in_time { rehearsal.ending() } else { None };
    let answer = Answer::new(plan, events, start.elapsed(), status, &rehearsal.printed());
    match answer.cannot() {
        Some(problem) => Err(problem.into()),
        None => Ok(answer),
    }
}

/// Writes over the last line.
fn progress(text: &str) {
    let _ = write!(stderr(), "\r{text}\x1b[K");
}

/// The answer of a rehearsal: how far it came, and what ended it.
struct Answer<'p> {
    plan: &'p Plan<'p>,
    events: Vec<Value>,
    /// The event that ended it.
    last: Value,
    ending: &'static Ending,
    seconds: f64,
    memory: Option<String>,
}

/// The last stage that was reached.
fn stage(events: &[Value]) -> Option<&'static Stage> {
    let is_reached = |stage: &&Stage| events.iter().any(|event| event["event"] == stage.event);
    STAGES.iter().rfind(is_reached)
}

impl<'p> Answer<'p> {
    /// A rehearsal that did not end by itself has been stopped, or has died: then it has a status.
    fn new(
        plan: &'p Plan<'p>,
        mut events: Vec<Value>,
        took: Duration,
        status: Option<ExitStatus>,
        printed: &str,
    ) -> Self {
        let last = printed.trim().lines().next_back().unwrap_or_default();
        let stopped = match status {
            Some(status) => json!({"event": "died", "message": format!("{status}: {last}")}),
            None => json!({"event": "timeout", "message": format!("{:.0} s", took.as_secs_f64())}),
        };
        for event in &mut events {
            if event["event"] == "initialize" {
                event["differences"] = differences(plan, event).into();
            }
        }
        let kind = |event: &Value| ENDINGS.iter().find(|row| event["event"] == row.event);
        let last = events
            .iter()
            .rfind(|event| kind(event).is_some())
            .cloned()
            .unwrap_or_else(|| {
                events.push(stopped.clone());
                stopped
            });
        let has_called = events.iter().any(|event| event["event"] == "initialize");
        let ending = kind(&last).filter(|ending| ending.kind != Kind::Arrived || has_called);
        Answer {
            plan,
            ending: ending.unwrap_or(&WITHOUT_DEEPSPEED),
            events,
            last,
            seconds: took.as_secs_f64(),
            memory: None,
        }
    }

    fn all<'a>(&'a self, name: &'a str) -> impl DoubleEndedIterator<Item = &'a Value> + use<'a> {
        self.events
            .iter()
            .filter(move |event| event["event"] == name)
    }

    fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    /// There is no answer from what is no Python program, or from an interpreter that cannot run ours.
    fn cannot(&self) -> Option<Problem> {
        let what = match self.ending.kind {
            Kind::Unable => format!(
                "`{}` is not a Python program, so it cannot be rehearsed",
                text(&self.last["program"])
            ),
            Kind::Died if stage(&self.events).is_none() => {
                format!(
                    "the rehearsal did not start: {}",
                    text(&self.last["message"])
                )
            }
            _ => return None,
        };
        let help = "rehearse the training command inside it: zlaunch rehearse -- swift sft …, with Python 3.8 or later";
        Some(
            Rule::Rehearsal
                .error(what)
                .at(self.plan.understood.what_runs())
                .fix(help),
        )
    }

    fn parameters(&self) -> Option<u64> {
        self.all("initialize")
            .chain(self.all("model"))
            .filter_map(|event| event["parameters"].as_u64())
            .max()
    }

    fn json(&self) -> Value {
        let [nnodes, nproc_per_node] = sizes(self.plan);
        json!({
            "refused": self.ending.kind == Kind::Refused,
            "verdict": self.ending.verdict,
            "covered": self.covered(),
            "reached": stage(&self.events).map(|stage| stage.event),
            "ended_by": self.last["event"],
            "message": self.last["message"],
            "where": self.last["where"],
            "nnodes": nnodes,
            "nproc_per_node": nproc_per_node,
            "seconds": self.seconds,
            "parameters": self.parameters(),
            "memory": self.memory,
            "initialize": self.all("initialize").collect::<Vec<_>>(),
            "events": self.events,
            "diagnostics": diagnostics_json(&self.problems()),
        })
    }

    fn write(&self, secrets: &Secrets, quiet: bool, stream: &mut impl Write) -> io::Result<()> {
        let width = terminal::width();
        let mut problems = self.problems();
        if quiet {
            problems.retain(|problem| problem.severity == Severity::Error);
            report::write(&problems, secrets, width, stream);
            return Ok(());
        }
        for open in self
            .all("sandbox")
            .filter_map(|event| event["open"].as_str())
        {
            writeln!(stream, "{open}")?;
        }
        let gap = if problems.is_empty() { "" } else { "\n" };
        let table = TextTable::of_pairs(0, self.rows()).fitted(width);
        write!(stream, "{table}{gap}")?;
        report::write(&problems, secrets, width, stream);
        let ranks: u64 = sizes(self.plan).map(u64::from).iter().product();
        let verdict = self.ending.verdict;
        let seconds = self.seconds;
        writeln!(
            stream,
            "{gap}{verdict}: rank 0 of {ranks} in {seconds:.1} s"
        )
    }

    /// The shapes of the whole model, what was done with values by a small one, and what was looked at on disk.
    fn covered(&self) -> Vec<String> {
        let mut covered = vec![];
        if self.has("step") {
            covered.push("full-size shapes".to_string());
        }
        for event in self.all("values") {
            covered.extend(event["done"].as_array().into_iter().flatten().map(text));
        }
        let read = READ_FILES.iter().filter(|read| self.has(read.event));
        covered.extend(read.map(|read| read.name.to_string()));
        covered
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        let counts: Vec<_> = self
            .all("dataset")
            .map(|event| event["rows"].as_u64())
            .map(|it| it.map_or("streamed rows".into(), |n| plural(n, "row", "s")))
            .collect();
        let mut calls = self.all("initialize");
        let config = if !self.has("initialize") {
            ""
        } else if self.plan.config.is_none() {
            "arrived"
        } else if calls.all(|call| call["differences"] == json!([])) {
            "arrived with the planned config"
        } else {
            "arrived with a different config than planned"
        };
        let mut covered = self.covered().join(", ");
        if !covered.is_empty() && !self.has("weights") {
            covered += "; not the weights on disk";
        }
        let mut rows = vec![
            ("model", self.model().unwrap_or_default()),
            ("dataset", counts.join(", ")),
            ("DeepSpeed", config.to_string()),
            ("covered", covered),
            ("memory", self.memory.clone().unwrap_or_default()),
        ];
        rows.retain(|(_, text)| !text.is_empty());
        rows
    }

    fn model(&self) -> Option<String> {
        let most = |event: &&Value| event["parameters"].as_u64();
        let call = self
            .all("initialize")
            .max_by_key(|event| event["trainable"].as_u64());
        let model = self.all("model").max_by_key(most);
        let name = model.map(|model| &model["name"]);
        let name = text(name.or_else(|| Some(&call?["model"]))?);
        let all = self.parameters()?;
        let trained = match call.and_then(|call| call["trainable"].as_u64()) {
            None => String::new(),
            Some(trainable) if trainable == all => ", all of them trained".to_string(),
            Some(trainable) => format!(", {} of them trained", grouped(trainable)),
        };
        Some(format!("{name}, {} parameters{trained}", grouped(all)))
    }

    fn problems(&self) -> Problems {
        let mut problems: Problems = self
            .all("note")
            .map(|note| noted(text(&note["text"])))
            .collect();
        for call in self.all("initialize") {
            let problem = Rule::Rehearsal.warning(format!(
                "deepspeed.initialize of {} gets a different config than planned",
                text(&call["model"])
            ));
            let differences = call["differences"].as_array().into_iter().flatten();
            let place = |it: &Value| {
                let key = text(&it["key"]);
                format!(
                    "{key}: {} planned, {} arrived",
                    it["planned"], it["arrived"]
                )
            };
            let problem = differences.map(place).fold(problem, Problem::at);
            problems.extend((!problem.places.is_empty()).then_some(problem));
        }
        let is_new = |it: &&Value| it["ended_by"] != "end" && it["ended_by"] != self.ending.event;
        for event in self.all("values").filter(is_new) {
            let why = text(&event["why"]);
            let first = why.lines().next().unwrap_or_default();
            problems.push(noted(format!(
                "only shapes were tried from here on: {first}"
            )));
        }
        problems.extend(self.stop());
        problems
    }

    /// What ended the rehearsal, unless it arrived.
    fn stop(&self) -> Option<Problem> {
        let message = text(&self.last["message"]);
        let mut lines = message
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty());
        let first = lines.next().unwrap_or_default();
        let said = match self.last["type"].as_str() {
            None | Some("SystemExit") => first.to_string(),
            // An `assert` may have nothing to say.
            Some(kind) if first.is_empty() => kind.to_string(),
            Some(kind) => format!("{kind}: {first}"),
        };
        let reached = stage(&self.events).map_or("the start", |stage| stage.name);
        let trainer = self.plan.understood.job.trainer;
        let what = match self.ending.says {
            Says::Nothing => return None,
            Says::This(what) => what.to_string(),
            Says::Rejection => {
                let trainer = trainer.distribution.unwrap_or(trainer.name);
                let is_script = trainer == "transformers" && self.last["transformers"] == false;
                let who = if is_script { "the script" } else { trainer };
                format!("{who} rejected this launch: {said}")
            }
            Says::UpTo(then) => format!("rehearsed up to {reached}{then}{said}"),
        };
        let problem = match self.ending.kind {
            Kind::Refused => Rule::Rehearsal
                .error(what)
                .fix(known_fix(&message).unwrap_or_default()),
            Kind::NeedsNetwork => noted(what).fix(give("--online", "")),
            Kind::TimedOut => noted(what).fix(give("--timeout", 1800)),
            _ => noted(what),
        };
        let problem = lines.take(MOST_LINES).fold(problem, Problem::at);
        let Some(frame) = self.last["where"].get(0) else {
            return Some(problem);
        };
        let file = text(&frame["file"]);
        let file = file.rsplit("/site-packages/").next().unwrap_or_default();
        let function = text(&frame["function"]);
        Some(problem.at(format!("{file}:{}, in {function}", frame["line"])))
    }
}

/// The keys of the plan that arrive with other values at `deepspeed.initialize`.
fn differences(plan: &Plan, call: &Value) -> Vec<Value> {
    // A model that is not trained, such as a reference model, gets a config of its own.
    let (Some(config), true) = (&plan.config, call["compared"] != false) else {
        return vec![];
    };
    let config = config.value();
    let mut found = vec![];
    for key in json::leaves(config, |value| value != "auto") {
        let [planned, arrived] = [config, &call["config"]]
            .map(|config| json::get(config, &key).cloned().unwrap_or_default());
        let same_number = planned.as_f64().is_some() && planned.as_f64() == arrived.as_f64();
        // accelerate always turns these prints off.
        let is_silenced = key == "steps_per_print" && arrived == "inf";
        if planned != arrived && !same_number && !is_silenced {
            found.push(json!({"key": key, "planned": planned, "arrived": arrived}));
        }
    }
    found
}

/// What `explain` knows about the message.
fn known_fix(message: &str) -> Option<Fixes> {
    let mut log = explain::Log::default();
    log.read("", message.as_bytes()).ok()?;
    Some(
        log.found
            .first()
            .filter(|found| found.failure.rule.is_none())?
            .failure
            .advice
            .into(),
    )
}

fn noted(what: String) -> Problem {
    Problem {
        severity: Severity::Note,
        ..Rule::Rehearsal.error(what)
    }
}

/// `7,615,616,512`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(String::from_utf8_lossy)
        .collect();
    groups.join(",")
}
