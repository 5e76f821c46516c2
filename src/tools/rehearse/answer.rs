//! The answer of a rehearsal: how far it came, and what stopped it.

use std::fmt::Write as _;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use serde_json::{Value, json};

use super::tables::events::{ENDINGS, Ending, Kind, READ_FILES, STAGES, Says, Stage};
use crate::base::json;
use crate::base::layout::{TextTable, plural};
use crate::plan::{Plan, diagnostics_json};
use crate::report::fix::{Fixes, give, run};
use crate::report::secrets::Secrets;
use crate::report::{self, Problem, Rule, Severity};
use crate::tools::explain;

const LONGEST: usize = 12;

pub(super) struct Answer {
    program: String,
    trainer: &'static str,
    nnodes: u32,
    nproc_per_node: u32,
    planned: Option<Value>,
    pub(super) events: Vec<Value>,
    seconds: f64,
    pub(super) memory: Option<String>,
}

impl Answer {
    pub(super) fn new(plan: &Plan, nnodes: u32, nproc_per_node: u32) -> Self {
        Answer {
            program: plan.trainer.runs.clone(),
            trainer: plan.trainer.package.unwrap_or(plan.trainer.name),
            nnodes,
            nproc_per_node,
            planned: plan.config.as_ref().map(|config| config.value().clone()),
            events: Vec::new(),
            seconds: 0.0,
            memory: None,
        }
    }

    /// A rehearsal that did not end by itself has been stopped, or has died.
    pub(super) fn finish(&mut self, took: Duration, ending: Option<ExitStatus>, printed: &str) {
        self.seconds = took.as_secs_f64();
        if self.last_event().is_none() {
            let last = printed
                .lines()
                .rfind(|line| !line.trim().is_empty())
                .unwrap_or_default()
                .trim();
            self.events.push(match ending {
                Some(ending) => json!({"event": "died", "message": format!("{ending}: {last}")}),
                None => json!({"event": "timeout"}),
            });
        }
    }

    fn all<'a>(&'a self, name: &'a str) -> impl DoubleEndedIterator<Item = &'a Value> + use<'a> {
        self.events
            .iter()
            .filter(move |event| event["event"] == name)
    }

    fn has(&self, name: &str) -> bool {
        self.events.iter().any(|event| event["event"] == name)
    }

    /// The event that ended it.
    fn last_event(&self) -> Option<&Value> {
        self.events
            .iter()
            .rfind(|event| ENDINGS.iter().any(|row| event["event"] == row.event))
    }

    fn ending(&self) -> Option<&'static Ending> {
        let event = self.last_event()?;
        ENDINGS.iter().find(|row| event["event"] == row.event)
    }

    fn ended_by(&self, kind: Kind) -> bool {
        self.ending().is_some_and(|ending| ending.kind == kind)
    }

    fn ended_without_deepspeed(&self) -> bool {
        self.ended_by(Kind::Arrived) && !self.has("initialize")
    }

    fn stage(&self) -> Option<&'static Stage> {
        STAGES.iter().rfind(|stage| self.has(stage.event))
    }

    pub(super) fn doing(&self) -> &'static str {
        self.stage().map_or("start", |stage| stage.next)
    }

    pub(super) fn status(&self) -> u8 {
        self.ending().map_or(3, |ending| ending.status)
    }

    fn verdict(&self) -> &'static str {
        if self.ended_without_deepspeed() {
            return "ended without DeepSpeed";
        }
        self.ending().map_or("not sure", |ending| ending.verdict)
    }

    /// There is no answer from what is no Python program, or from an interpreter that cannot run ours.
    pub(super) fn cannot(&self) -> Option<Problem> {
        let event = self.last_event()?;
        let what = if self.ended_by(Kind::Unable) {
            format!(
                "`{}` is not a Python program, so it cannot be rehearsed",
                text(&event["program"])
            )
        } else if self.ended_by(Kind::Died) && self.stage().is_none() {
            format!("the rehearsal did not start: {}", text(&event["message"]))
        } else {
            return None;
        };
        let help = "rehearse the training command inside it: zlaunch rehearse -- swift sft …, with Python 3.8 or later";
        Some(
            Problem::error(Rule::Rehearsal, what)
                .at(&self.program)
                .fix(help),
        )
    }

    pub(super) fn parameters(&self) -> Option<u64> {
        self.all("initialize")
            .chain(self.all("model"))
            .filter_map(|event| event["parameters"].as_u64())
            .max()
    }

    /// The keys of the plan that arrive with other values at `deepspeed.initialize`.
    fn differences(&self, call: &Value) -> Vec<Value> {
        // A model that is not trained, such as a reference model, gets a config of its own.
        let (Some(config), true) = (&self.planned, call["compared"] != false) else {
            return Vec::new();
        };
        let mut found = Vec::new();
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

    pub(super) fn json(&self) -> Value {
        let calls = self.all("initialize").map(|call| {
            let mut call = call.clone();
            call["differences"] = self.differences(&call).into();
            call
        });
        let others = self
            .events
            .iter()
            .filter(|event| event["event"] != "initialize");
        let last = self.last_event();
        json!({
            "refused": self.ended_by(Kind::Refused),
            "verdict": self.verdict(),
            "covered": self.covered(),
            "reached": self.stage().map(|stage| stage.event),
            "ended_by": last.map(|event| &event["event"]),
            "message": last.map(|event| &event["message"]),
            "where": last.map(|event| &event["where"]),
            "nnodes": self.nnodes,
            "nproc_per_node": self.nproc_per_node,
            "seconds": self.seconds,
            "parameters": self.parameters(),
            "memory": self.memory,
            "initialize": calls.collect::<Vec<_>>(),
            "events": others.collect::<Vec<_>>(),
            "diagnostics": diagnostics_json(&self.problems()),
        })
    }

    pub(super) fn write(
        &self,
        secrets: &Secrets,
        quiet: bool,
        width: Option<usize>,
        stream: &mut impl io::Write,
    ) -> io::Result<()> {
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
        write!(
            stream,
            "{}{gap}",
            TextTable::of_pairs(0, self.rows()).fitted(width)
        )?;
        report::write(&problems, secrets, width, stream);
        let ranks = u64::from(self.nnodes) * u64::from(self.nproc_per_node);
        writeln!(
            stream,
            "{gap}{}: rank 0 of {ranks} in {:.1} s",
            self.verdict(),
            self.seconds
        )
    }

    /// The shapes of the whole model, what was done with values by a small one, and what was looked at on disk.
    fn covered(&self) -> Vec<String> {
        let mut covered = Vec::new();
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

    fn rows(&self) -> impl Iterator<Item = (&'static str, String)> {
        let class = |name: &str| self.all(name).next_back().map(|event| text(&event["of"]));
        let counts = self.all("dataset").map(|event| event["rows"].as_u64());
        let sizes: Vec<_> = counts
            .map(|it| it.map_or("streamed rows".into(), |n| plural(n, "row", "s")))
            .collect();
        let is_planned = self
            .all("initialize")
            .all(|call| self.differences(call).is_empty());
        let config = match &self.planned {
            None => "arrived",
            Some(_) if is_planned => "arrived with the planned config",
            Some(_) => "arrived with a different config than planned",
        };
        let calls = match self.all("initialize").count() {
            0 => None,
            1 => Some(config.to_string()),
            calls => Some(format!("{config}, {calls} times")),
        };
        let unread = if self.has("weights") {
            ""
        } else {
            "; not the weights on disk"
        };
        let rows = [
            ("arguments", class("arguments")),
            ("model", self.model()),
            ("dataset", (!sizes.is_empty()).then(|| sizes.join(", "))),
            ("trainer", class("trainer")),
            ("DeepSpeed", calls),
            (
                "covered",
                (!self.covered().is_empty()).then(|| self.covered().join(", ") + unread),
            ),
            ("memory", self.memory.clone()),
        ];
        rows.into_iter()
            .filter_map(|(name, text)| Some((name, text?)))
    }

    fn model(&self) -> Option<String> {
        let most = |event: &&Value| event["parameters"].as_u64();
        let model = self
            .all("model")
            .max_by_key(most)
            .or_else(|| self.all("initialize").max_by_key(most))?;
        let mut line = text(model.get("name").unwrap_or(&model["model"]));
        let trained = self
            .all("initialize")
            .max_by_key(|event| event["trainable"].as_u64());
        let all = trained.unwrap_or(model)["parameters"]
            .as_u64()
            .or_else(|| most(&model));
        let _ = write!(line, ", {} parameters", grouped(all.unwrap_or_default()));
        if let Some(trainable) = trained.and_then(|event| event["trainable"].as_u64()) {
            let part = if Some(trainable) == all {
                "all".to_string()
            } else {
                grouped(trainable)
            };
            let _ = write!(line, ", {part} of them trained");
        }
        Some(line)
    }

    fn problems(&self) -> Vec<Problem> {
        let mut problems: Vec<Problem> = self
            .all("note")
            .map(|note| noted(text(&note["text"])))
            .collect();
        for call in self.all("initialize") {
            let what = format!(
                "deepspeed.initialize of {} gets a different config than planned",
                text(&call["model"])
            );
            let mut problem = Problem::warning(Rule::Rehearsal, what);
            for it in self.differences(call) {
                let place = format!(
                    "{}: {} planned, {} arrived",
                    text(&it["key"]),
                    it["planned"],
                    it["arrived"]
                );
                problem = problem.at(place);
            }
            problems.extend((!problem.places.is_empty()).then_some(problem));
        }
        let ended_by = self.ending().map_or("", |ending| ending.event);
        let values = self.all("values");
        for event in values.filter(|it| it["ended_by"] != "end" && it["ended_by"] != ended_by) {
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
        let event = self.last_event()?;
        let ending = self.ending()?;
        let message = text(&event["message"]);
        let mut lines = message
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty());
        let first = lines.next().unwrap_or_default();
        let said = match event["type"].as_str() {
            None | Some("SystemExit") => first.to_string(),
            // An `assert` may have nothing to say.
            Some(kind) if first.is_empty() => kind.to_string(),
            Some(kind) => format!("{kind}: {first}"),
        };
        let reached = self.stage().map_or("the start", |stage| stage.name);
        let what = match ending.says {
            _ if self.ended_without_deepspeed() => {
                "the command ended without calling deepspeed.initialize".to_string()
            }
            Says::Nothing => return None,
            Says::Rejection => format!("{} rejected this launch: {said}", self.trainer),
            Says::UpTo(then) => format!("rehearsed up to {reached}{then}{said}"),
            Says::UpToInTime => format!("rehearsed up to {reached} in {:.0} s", self.seconds),
        };
        let problem = match ending.kind {
            Kind::Refused => {
                let fix = known_fix(&message).unwrap_or_default();
                Problem::error(Rule::Rehearsal, what).fix(fix)
            }
            Kind::NeedsNetwork => noted(what).fix(give("--online", "")),
            Kind::TimedOut => noted(what).fix(give("--timeout", 1800)),
            _ => noted(what),
        };
        let problem = lines.take(LONGEST).fold(problem, Problem::at);
        let Some(frame) = event["where"].get(0) else {
            return Some(problem);
        };
        let file = text(&frame["file"]);
        let file = file
            .rsplit_once("/site-packages/")
            .map_or(file.as_str(), |(_, file)| file);
        Some(problem.at(format!(
            "{file}:{}, in {}",
            frame["line"],
            text(&frame["function"])
        )))
    }
}

/// What is known about the message, or else the page about a key or variable in it.
fn known_fix(message: &str) -> Option<Fixes> {
    let mut log = explain::Log::default();
    log.read("", message.as_bytes()).ok()?;
    let found = log.found.first();
    if let Some(advice) = found.and_then(|found| found.failure.advice()) {
        return Some(advice.into());
    }
    let words = message.split(|c: char| !c.is_ascii_alphanumeric() && !"_.".contains(c));
    let mut keys = words.filter(|word| word.contains('_'));
    let key = keys.find(|word| explain::entries().any(|entry| entry.is_called(word)))?;
    Some(run(format!("zlaunch explain {key}")).into())
}

fn noted(what: String) -> Problem {
    Problem {
        severity: Severity::Note,
        ..Problem::error(Rule::Rehearsal, what)
    }
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_string)
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
