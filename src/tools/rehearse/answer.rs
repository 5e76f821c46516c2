//! What a rehearsal says: how far it came, and what stopped it.

use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use serde_json::{Value, json};

use crate::base::json;
use crate::base::layout::TextTable;
use crate::plan::{Plan, diagnostics_json};
use crate::report::fix::{give, run};
use crate::report::secrets::Secrets;
use crate::report::{self, Problem, Rule, Severity, reading};
use crate::tools::explain;

/// What is told, in the order of a launch, and what is under way from then on.
const STAGES: &[(&str, &str, &str)] = &[
    ("start", "the start", "arguments"),
    ("arguments", "the arguments", "model"),
    ("model", "the model", "dataset"),
    ("dataset", "the dataset", "trainer"),
    ("trainer", "the trainer", "DeepSpeed"),
    ("initialize", "DeepSpeed", "the first step"),
    ("step", "the first forward pass", "the first step"),
];

/// So many lines of a message are shown.
const LONGEST: usize = 12;

pub(super) struct Answer {
    program: String,
    trainer: &'static str,
    /// Machines, and ranks on each.
    ranks: [u32; 2],
    planned: Option<Value>,
    events: Vec<Value>,
    seconds: f64,
    pub(super) memory: Option<String>,
}

impl Answer {
    pub(super) fn new(plan: &Plan, ranks: [u32; 2]) -> Self {
        Answer {
            program: plan.trainer.runs.clone(),
            trainer: plan.trainer.name,
            ranks,
            planned: plan.config.as_ref().map(|config| config.value.clone()),
            events: Vec::new(),
            seconds: 0.0,
            memory: None,
        }
    }

    pub(super) fn hear(&mut self, event: Value) {
        self.events.push(event);
    }

    /// Ends it: one that did not end by itself has been stopped, or has died.
    pub(super) fn finish(&mut self, took: Duration, ending: Option<ExitStatus>, log: &Path) {
        self.seconds = took.as_secs_f64();
        if self.ending().is_none() {
            let printed = reading::text_if_any(log).unwrap_or_default();
            let last = printed.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim();
            self.events.push(match ending {
                Some(ending) => json!({"event": "died", "message": format!("{ending}: {last}")}),
                None => json!({"event": "timeout"}),
            });
        }
    }

    fn all<'a>(&'a self, name: &'a str) -> impl DoubleEndedIterator<Item = &'a Value> + use<'a> {
        self.events.iter().filter(move |event| event["event"] == name)
    }

    fn ending(&self) -> Option<&Value> {
        const ENDINGS: &[&str] = &["end", "refused", "limit", "unsure", "network", "unable", "died", "timeout"];
        self.events.iter().rfind(|event| event["event"].as_str().is_some_and(|name| ENDINGS.contains(&name)))
    }

    pub(super) fn ended_by(&self) -> &str {
        self.ending().and_then(|event| event["event"].as_str()).unwrap_or_default()
    }

    pub(super) fn is_refused(&self) -> bool {
        self.ended_by() == "refused"
    }

    /// How far it came: the furthest stage.
    fn stage(&self) -> Option<&'static (&'static str, &'static str, &'static str)> {
        STAGES.iter().rfind(|(name, ..)| self.all(name).next().is_some())
    }

    pub(super) fn doing(&self) -> &'static str {
        self.stage().map_or("start", |stage| stage.2)
    }

    /// Why there is no answer: this is no Python program, or the interpreter cannot run ours.
    pub(super) fn cannot(&self) -> Option<Problem> {
        let event = self.ending()?;
        let what = match self.ended_by() {
            "unable" => format!("`{}` is not a Python program, so it cannot be rehearsed", text(&event["program"])),
            "died" if self.stage().is_none() => format!("the rehearsal did not start: {}", text(&event["message"])),
            _ => return None,
        };
        let help = "rehearse the training inside of it: zlaunch rehearse -- swift sft …, with Python 3.8 or later";
        Some(Problem::error(Rule::Rehearsal, what).at(&self.program).fix(help))
    }

    /// The models by their number of parameters, and how many of these are trained.
    pub(super) fn parameters(&self) -> Option<u64> {
        self.all("initialize").chain(self.all("model")).filter_map(|event| event["parameters"].as_u64()).max()
    }

    /// The keys of the plan that arrive with other values at a call of `deepspeed.initialize`.
    fn differences(&self, arrived: &Value) -> Vec<(String, Value, Value)> {
        let Some(planned) = &self.planned else { return Vec::new() };
        let is_same = |one: &Value, two: &Value| one == two || one.as_f64().is_some() && one.as_f64() == two.as_f64();
        // accelerate always turns these prints off.
        let is_silenced = |key: &str, arrived: &Value| key == "steps_per_print" && arrived == "inf";
        let keys = json::leaves(planned, |value| value != "auto").into_iter();
        keys.filter_map(|key| {
            let [planned, arrived] =
                [planned, arrived].map(|config| json::get(config, &key).cloned().unwrap_or_default());
            (!is_same(&planned, &arrived) && !is_silenced(&key, &arrived)).then_some((key, planned, arrived))
        })
        .collect()
    }

    /// What is added to the plan.
    pub(super) fn json(&self) -> Value {
        let calls = self.all("initialize").map(|call| {
            let rows = self.differences(&call["config"]);
            let rows = rows.iter().map(|(key, plan, real)| json!({"key": key, "planned": plan, "arrived": real}));
            let mut call = call.clone();
            call["differences"] = rows.collect();
            call
        });
        let others = self.events.iter().filter(|event| event["event"] != "initialize");
        json!({
            "refused": self.is_refused(),
            "reached": self.stage().map(|(name, ..)| name),
            "ended_by": self.ended_by(),
            "message": self.ending().map(|event| &event["message"]),
            "where": self.ending().map(|event| &event["where"]),
            "nnodes": self.ranks[0],
            "nproc_per_node": self.ranks[1],
            "seconds": self.seconds,
            "parameters": self.parameters(),
            "memory": self.memory,
            "initialize": calls.collect::<Vec<_>>(),
            "events": others.collect::<Vec<_>>(),
            "diagnostics": diagnostics_json(&self.problems()),
        })
    }

    /// The stages as a table, what stopped it, and the verdict.
    pub(super) fn write(
        &self,
        secrets: &Secrets,
        quiet: bool,
        width: Option<usize>,
        stream: &mut impl io::Write,
    ) -> io::Result<()> {
        let problems = self.problems();
        if !quiet {
            write!(stream, "{}", TextTable::of_pairs(0, self.rows()).fitted(width))?;
        }
        let shown: Vec<Problem> =
            problems.into_iter().filter(|problem| !quiet || problem.severity == Severity::Error).collect();
        report::write(&shown, secrets, width, stream);
        if quiet {
            return Ok(());
        }
        let verdict = match (self.ended_by(), self.stage()) {
            ("refused", _) => "refused",
            (_, Some(("initialize" | "step", ..))) => "arrived",
            ("end", _) => "ended without DeepSpeed",
            _ => "came as far as it can",
        };
        let [nodes, each] = self.ranks;
        writeln!(stream, "{verdict}: rank 0 of {} in {:.1} s", u64::from(nodes) * u64::from(each), self.seconds)
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        let last = |name: &str, field: &str| self.all(name).next_back().map(|event| text(&event[field]));
        let mut rows = Vec::new();
        rows.extend(last("arguments", "of").map(|class| ("arguments", class)));
        rows.extend(self.model().map(|model| ("model", model)));
        let counted =
            |event: &Value| event["rows"].as_u64().map_or("rows as they come".into(), |n| format!("{n} rows"));
        let sizes: Vec<String> = self.all("dataset").map(counted).collect();
        rows.extend((!sizes.is_empty()).then(|| ("dataset", sizes.join(", "))));
        rows.extend(last("trainer", "of").map(|class| ("trainer", class)));
        let calls = self.all("initialize").count();
        if calls > 0 {
            let differ = self.all("initialize").filter(|call| !self.differences(&call["config"]).is_empty()).count();
            let config = match (&self.planned, differ) {
                (None, _) => "arrived",
                (_, 0) => "arrived with the planned config",
                _ => "arrived with another config than planned",
            };
            let times = if calls > 1 { format!(", {calls} times") } else { String::new() };
            rows.push(("DeepSpeed", format!("{config}{times}")));
        }
        rows.extend(last("step", "event").map(|_| ("first step", "the shapes of the forward pass fit".to_string())));
        rows.extend(self.memory.clone().map(|memory| ("memory", memory)));
        rows
    }

    fn model(&self) -> Option<String> {
        let most = |event: &&Value| event["parameters"].as_u64();
        let model = self.all("model").max_by_key(most).or_else(|| self.all("initialize").max_by_key(most))?;
        let mut line = text(model.get("name").unwrap_or(&model["model"]));
        let trained = self.all("initialize").max_by_key(|event| event["trainable"].as_u64());
        let all = trained.unwrap_or(model)["parameters"].as_u64();
        let _ = write!(line, ", {} parameters", grouped(all.unwrap_or_default()));
        if let Some(trainable) = trained.and_then(|event| event["trainable"].as_u64()) {
            let part = if Some(trainable) == all { "all".to_string() } else { grouped(trainable) };
            let _ = write!(line, ", {part} of them trained");
        }
        Some(line)
    }

    fn problems(&self) -> Vec<Problem> {
        let mut problems: Vec<Problem> = self.all("note").map(|note| noted(text(&note["text"]))).collect();
        for call in self.all("initialize") {
            let rows = self.differences(&call["config"]);
            let rows = rows.iter().map(|(key, plan, real)| format!("{key}: {plan} planned, {real} arrived"));
            let what = format!("deepspeed.initialize of {} gets another config than planned", text(&call["model"]));
            let problem = rows.fold(Problem::warning(Rule::Rehearsal, what), Problem::at);
            problems.extend((!problem.places.is_empty()).then_some(problem));
        }
        problems.extend(self.stop());
        problems
    }

    /// What ended it, unless it arrived.
    fn stop(&self) -> Option<Problem> {
        let event = self.ending()?;
        let message = text(&event["message"]);
        let mut lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
        let first = lines.next().unwrap_or_default();
        let kind = event["type"].as_str().filter(|kind| *kind != "SystemExit");
        let said = kind.map_or(first.to_string(), |kind| format!("{kind}: {first}"));
        let up_to = format!("rehearsed up to {}", self.stage().map_or("the start", |stage| stage.1));
        let problem = match self.ended_by() {
            "refused" => {
                let what = format!("{} refuses this launch: {said}", self.trainer);
                let problem = Problem::error(Rule::Rehearsal, what);
                match explained(&message) {
                    Some(key) => problem.fix(run(format!("zlaunch explain {key}"))),
                    None => problem,
                }
            }
            "limit" => noted(format!("{up_to}; the rest cannot be tried without a GPU: {said}")),
            "unsure" => noted(format!("{up_to}; what then fails may be the rehearsal's own fault: {said}")),
            "network" => noted(format!("{up_to}; the rest needs the network: {said}")).fix(give("--online", "")),
            "timeout" => noted(format!("{up_to} in {:.0} s", self.seconds)).fix(give("--timeout", 1800)),
            "died" => noted(format!("{up_to}; then the process ended: {message}")),
            "end" if self.all("initialize").next().is_none() => {
                noted("the command ended by itself, and never called deepspeed.initialize".to_string())
            }
            _ => return None,
        };
        let problem = lines.take(LONGEST).fold(problem, Problem::at);
        let place = event["where"].as_array().and_then(|frames| frames.first()).map(|frame| {
            let file = text(&frame["file"]);
            let file = file.rsplit_once("/site-packages/").map_or(file.as_str(), |(_, file)| file);
            format!("{file}:{}, in {}", frame["line"], text(&frame["function"]))
        });
        Some(match place {
            Some(place) => problem.at(place),
            None => problem,
        })
    }
}

/// A key or variable in the message of which zlaunch knows more.
fn explained(message: &str) -> Option<&str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "_.".contains(c);
    let mut words = message.split(|c| !is_word(c)).filter(|word| word.contains('_'));
    words.find(|word| explain::entries().any(|entry| entry.all_names().any(|name| name == *word)))
}

fn noted(what: String) -> Problem {
    Problem { severity: Severity::Note, ..Problem::error(Rule::Rehearsal, what) }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

/// `7,615,616,512`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = (0..digits.len().div_ceil(3))
        .rev()
        .map(|at| &digits[digits.len().saturating_sub(3 * at + 3)..digits.len() - 3 * at])
        .collect();
    groups.join(",")
}
