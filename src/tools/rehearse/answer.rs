//! The answer of a rehearsal: how far it came, and what stopped it.

use std::fmt::Write as _;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use serde_json::{Value, json};

use crate::base::json;
use crate::base::layout::{TextTable, plural};
use crate::base::rows::plain;
use crate::plan::{Plan, diagnostics_json};
use crate::report::fix::{give, run};
use crate::report::secrets::Secrets;
use crate::report::{self, Problem, Rule, Severity};
use crate::tools::explain;

const ENDINGS: &str = include_str!("endings.txt");

/// The events about large files, of which only names and shapes are read.
const READ: &str = "weights | weights on disk\nresumed | checkpoint to resume from";

const LONGEST: usize = 12;

pub(super) struct Answer {
    program: String,
    trainer: &'static str,
    /// Machines, and ranks on each.
    ranks: [u32; 2],
    planned: Option<Value>,
    pub(super) events: Vec<Value>,
    seconds: f64,
    pub(super) memory: Option<String>,
}

impl Answer {
    pub(super) fn new(plan: &Plan, ranks: [u32; 2]) -> Self {
        Answer {
            program: plan.trainer.runs.clone(),
            trainer: plan.trainer.package.unwrap_or(plan.trainer.name),
            ranks,
            planned: plan.config.as_ref().map(|config| config.value().clone()),
            events: Vec::new(),
            seconds: 0.0,
            memory: None,
        }
    }

    /// A rehearsal that did not end by itself has been stopped, or has died.
    pub(super) fn finish(&mut self, took: Duration, ending: Option<ExitStatus>, printed: &str) {
        self.seconds = took.as_secs_f64();
        if self.ending().is_none() {
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

    fn ending(&self) -> Option<&Value> {
        self.events
            .iter()
            .rfind(|event| plain::<4>(ENDINGS).any(|[name, ..]| event["event"] == name))
    }

    pub(super) fn ended_by(&self) -> &str {
        self.ending()
            .and_then(|event| event["event"].as_str())
            .unwrap_or_default()
    }

    fn stage(&self) -> Option<[&'static str; 3]> {
        plain::<3>(include_str!("stages.txt")).rfind(|[name, ..]| self.all(name).next().is_some())
    }

    pub(super) fn doing(&self) -> &'static str {
        self.stage().map_or("start", |[.., doing]| doing)
    }

    /// There is no answer from what is no Python program, or from an interpreter that cannot run ours.
    pub(super) fn cannot(&self) -> Option<Problem> {
        let event = self.ending()?;
        let what = match self.ended_by() {
            "unable" => format!(
                "`{}` is not a Python program, so it cannot be rehearsed",
                text(&event["program"])
            ),
            "died" if self.stage().is_none() => {
                format!("the rehearsal did not start: {}", text(&event["message"]))
            }
            _ => return None,
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
        json!({
            "refused": self.ended_by() == "refused",
            "verdict": self.verdict().0,
            "covered": self.covered(),
            "reached": self.stage().map(|[name, ..]| name),
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
        let ([nodes, each], verdict) = (self.ranks, self.verdict().0);
        writeln!(
            stream,
            "{gap}{verdict}: rank 0 of {} in {:.1} s",
            u64::from(nodes) * u64::from(each),
            self.seconds
        )
    }

    /// In a word, and as an exit status.
    pub(super) fn verdict(&self) -> (&'static str, u8) {
        let [_, verdict, status, _] = self.row();
        (verdict, status.parse().unwrap_or(3))
    }

    fn row(&self) -> [&'static str; 4] {
        let is_without = self.ended_by() == "end" && self.all("initialize").next().is_none();
        let ended_by = if is_without {
            "nothing"
        } else {
            self.ended_by()
        };
        plain::<4>(ENDINGS)
            .find(|[name, ..]| *name == ended_by)
            .unwrap_or(["", "not sure", "3", ""])
    }

    /// The shapes of the whole model, what was done with values by a small one, and what was looked at on disk.
    fn covered(&self) -> Vec<String> {
        let shapes = self
            .all("step")
            .take(1)
            .map(|_| "full-size shapes".to_string());
        let done = self
            .all("values")
            .flat_map(|event| event["done"].as_array().into_iter().flatten());
        let read = plain::<2>(READ).filter(|[event, _]| self.all(event).next().is_some());
        shapes
            .chain(done.map(text))
            .chain(read.map(|[_, name]| name.to_string()))
            .collect()
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
        let unread = if self.all("weights").next().is_some() {
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
        let values = self.all("values");
        for event in
            values.filter(|it| it["ended_by"] != "end" && it["ended_by"] != self.ended_by())
        {
            let why = text(&event["why"]);
            let first = why.lines().next().unwrap_or_default();
            problems.push(noted(format!(
                "only shapes were tried from here on: {first}"
            )));
        }
        problems.extend(self.stop());
        problems
    }

    fn stop(&self) -> Option<Problem> {
        let event = self.ending()?;
        let message = text(&event["message"]);
        let mut lines = message
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty());
        let first = lines.next().unwrap_or_default();
        let kind = event["type"].as_str().filter(|kind| *kind != "SystemExit");
        // An `assert` may have nothing to say.
        let said = if first.is_empty() {
            String::new()
        } else {
            format!(": {first}")
        };
        let said = kind.map_or(first.to_string(), |kind| format!("{kind}{said}"));
        let up_to = format!(
            "rehearsed up to {}",
            self.stage().map_or("the start", |[_, name, _]| name)
        );
        let what = self.row()[3]
            .replace("{trainer}", self.trainer)
            .replace("{up_to}", &up_to);
        let what = what.replace("{seconds}", &format!("{:.0}", self.seconds));
        // What the trainer says comes last, so that nothing in it is replaced.
        let what = match what.strip_suffix("{message}") {
            Some(start) => format!("{start}{message}"),
            None => what.replace("{said}", &said),
        };
        let problem = match self.ended_by() {
            _ if what.is_empty() => return None,
            "refused" => {
                let problem = Problem::error(Rule::Rehearsal, what);
                // A key or variable in the message that `explain` knows.
                let words =
                    message.split(|c: char| !c.is_ascii_alphanumeric() && !"_.".contains(c));
                let mut words = words.filter(|word| word.contains('_'));
                let key = words.find(|word| explain::entries().any(|it| it.is_called(word)));
                // Better, what is known about the message.
                let mut log = explain::Log::default();
                let _ = log.read("", message.as_bytes());
                let found = log.found.first();
                match (found.and_then(|found| found.failure.advice()), key) {
                    (Some(advice), _) => problem.fix(advice),
                    (None, Some(key)) => problem.fix(run(format!("zlaunch explain {key}"))),
                    (None, None) => problem,
                }
            }
            "network" => noted(what).fix(give("--online", "")),
            "timeout" => noted(what).fix(give("--timeout", 1800)),
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
