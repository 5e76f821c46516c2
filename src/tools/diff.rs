//! `zlaunch diff A B`: two configs side by side, by key. DeepSpeed's default stands in for a missing key. Of two launches
//! the words that are executed are compared, too.

use std::{cmp::Ordering, ffi::OsString};

use clap::Args;
use serde_json::{Value, json};

use super::output::out;
use crate::{
    base::{
        json,
        layout::{Line, TextTable, columns, escape_controls, plural, wrapped},
        options::{AnyValue, Given},
        recorded::Version,
        source::{Source, Sourced},
    },
    cli::{
        LaunchOptions, Reader, Requested, Tool, launch, usage,
        values::{self, REPORT_FORMATS, TEMPLATES, one_of},
    },
    command::python::Python,
    config::{
        schema,
        template::{self, Search},
    },
    host::{Host, terminal},
    judge::Judged,
    plan::record,
    report::{self, Problem, secrets::Secrets},
    request::{self, Format, Launch, Output},
};

#[derive(Args)]
pub struct DiffArgs {
    #[arg(required = true, num_args = 1..=2, value_names = ["A", "B"], value_parser = AnyValue(TEMPLATES))]
    configs: Vec<Given>,
    #[arg(help_heading = None::<&str>, last = true, num_args = 1.., hide = true)]
    command: Vec<OsString>,
}

impl Tool for DiffArgs {
    const LAUNCH_OPTIONS: LaunchOptions =
        LaunchOptions::AllShowing(&["deepspeed", "template_dir", "set", "format"]);

    fn read(self, mut reader: Reader) -> Requested {
        // Not that of ZLAUNCH_FORMAT, which is about plans.
        let format = reader.given("format").pop();
        let format = reader
            .one(format, one_of(REPORT_FORMATS))
            .map_or(Format::Text, |format| format.value);
        let specs = reader.many(self.configs, values::text);
        let launch = launch::read_described(self.command, &mut reader);
        let wanted = if launch.command.is_empty() { 2 } else { 1 };
        if specs.len() < wanted {
            reader.problems.push(report::missing_argument(
                "two configs",
                "zlaunch diff",
                usage("diff"),
            ));
        } else if specs.len() > wanted {
            reader.problems.push(report::unexpected_argument(
                &specs[wanted].value,
                "zlaunch diff",
                usage("diff"),
            ));
        }
        let launch = Launch {
            output: Output {
                dry_run: Some(format),
                ..Output::default()
            },
            subcommand: "",
            options: Vec::new(),
            ..launch
        };
        reader.answer(move |host: &Host| run(&specs, launch, host))
    }
}

struct Side {
    name: String,
    config: Value,
    /// The words that are executed, of a record or a launch.
    argv: Option<Vec<Value>>,
}

/// A key, or a word of two launches, that is not the same on both sides.
struct Difference {
    key: String,
    values: [Option<Value>; 2],
    /// DeepSpeed's, if one side has no value and the key and its sections have a default.
    default: Option<Value>,
}

struct Comparison {
    names: [String; 2],
    differences: Vec<Difference>,
    equal: usize,
    version: Version,
}

/// Columns of what is printed into a file or a pipe.
const WIDEST: usize = 110;

fn run(specs: &[Sourced<String>], mut launch: Launch, host: &Host) -> Result<u8, Vec<Problem>> {
    launch.read_piped_config(host)?;
    let mut sides = Vec::new();
    let mut problems = Vec::new();
    let launched = (!launch.command.is_empty()).then(|| launched(&launch, host));
    let given = specs.iter().map(|spec| side(spec, &launch.search, host));
    for side in given.chain(launched) {
        match side {
            Ok(side) => sides.push(side),
            Err(found) => problems.extend(found),
        }
    }
    let sides = sides.try_into().map_err(|_| problems)?;
    let version = schema::in_environment(Python::on_path(host).as_ref()).version();
    let comparison = Comparison::new(&sides, version);
    let secrets = Secrets::of(host);
    if launch.output.dry_run == Some(Format::Json) {
        return out(&format!("{:#}\n", secrets.hide(comparison.json())));
    }
    out(&comparison.text(terminal::width().unwrap_or(WIDEST), &secrets))
}

/// A template, a file, JSON, a pipe, or the folder of a record.
fn side(spec: &Sourced<String>, search: &Search, host: &Host) -> Result<Side, Vec<Problem>> {
    let mut spec = spec.clone();
    let name = spec.value.clone();
    request::read_if_piped(&mut spec, host)?;
    let folder = host.absolute(name.as_ref());
    if spec.from != Source::Input && folder.is_dir() {
        let record = record::read(&folder)?;
        let config = Some(&record["plan"]["config"]).filter(|config| config.is_object());
        return Ok(Side {
            name,
            config: config.cloned().unwrap_or(json!({})),
            argv: record["plan"]["argv"].as_array().cloned(),
        });
    }
    let template = template::resolve(&spec, search, host)?;
    let name = if name.trim_start().starts_with('{') {
        template.name
    } else {
        name
    };
    Ok(Side {
        name,
        config: template.config,
        argv: None,
    })
}

fn launched(launch: &Launch, host: &Host) -> Result<Side, Vec<Problem>> {
    let (plan, problems) = Judged::new(launch, host).accepted()?;
    let json = Secrets::of(host).hide(plan.json(&problems));
    let config = plan.config.as_ref();
    let template = config.map_or("nothing", |config| config.layered.template.name.as_str());
    Ok(Side {
        name: format!("{template} as launched"),
        config: config.map_or(json!({}), |config| config.value().clone()),
        argv: json["argv"].as_array().cloned(),
    })
}

/// Word by word, if there are as many.
fn differing_words(then: &[Value], now: &[Value]) -> Vec<Difference> {
    let difference = |key: String, then: Value, now: Value| Difference {
        key,
        values: [Some(then), Some(now)],
        default: None,
    };
    if then.len() != now.len() {
        return vec![difference("argv".to_string(), then.into(), now.into())];
    }
    let pairs = then.iter().zip(now).enumerate();
    pairs
        .filter(|(_, (then, now))| then != now)
        .map(|(at, (then, now))| difference(format!("argv[{at}]"), then.clone(), now.clone()))
        .collect()
}

/// 5e8 is 500000000.
fn is_same(one: &Value, two: &Value) -> bool {
    one == two
        || one
            .as_f64()
            .zip(two.as_f64())
            .is_some_and(|(one, two)| one.total_cmp(&two) == Ordering::Equal)
}

/// DeepSpeed's value for a missing key. A section that is off as a whole has no values.
fn default(key: &str, sides: &[Side; 2], version: Version) -> Option<Value> {
    let silent = sides
        .iter()
        .find(|side| json::get(&side.config, key).is_none())?;
    let sections = key.match_indices('.').map(|(at, _)| &key[..at]);
    let mut absent = sections.filter(|section| json::get(&silent.config, section).is_none());
    if absent
        .any(|section| schema::find(section, version).is_some_and(|spec| spec.default == "null"))
    {
        return None;
    }
    serde_json::from_str(schema::find(key, version)?.default).ok()
}

fn section(key: &str) -> &str {
    key.rsplit_once('.').map_or("", |(section, _)| section)
}

impl Difference {
    fn is_default(&self) -> bool {
        match (&self.values, &self.default) {
            ([Some(said), None] | [None, Some(said)], Some(default)) => is_same(said, default),
            _ => false,
        }
    }

    fn json(&self) -> Value {
        let [a, b] = &self.values;
        let kind = match (a, b) {
            (Some(_), None) => "only_a",
            (None, Some(_)) => "only_b",
            _ => "different",
        };
        json!({"key": self.key, "kind": kind, "a": a, "b": b, "default": self.default})
    }

    /// The key with a sign, and both values.
    fn cells(&self, secrets: &Secrets) -> [String; 3] {
        let sign = match &self.values {
            _ if self.is_default() => "=",
            [Some(_), None] => "-",
            [None, Some(_)] => "+",
            _ => "~",
        };
        let [one, two] = self
            .values
            .each_ref()
            .map(|value| match (value, &self.default) {
                (Some(value), _) => value.to_string(),
                (None, Some(default)) => format!("({default})"),
                (None, None) => "(off)".to_string(),
            });
        [format!("{sign} {}", self.key), one, two].map(|cell| secrets.hide_in_text(&cell))
    }
}

impl Comparison {
    fn new(sides: &[Side; 2], version: Version) -> Self {
        let [one, two] = sides
            .each_ref()
            .map(|side| json::leaves(&side.config, |_| true));
        let only_two = two.iter().filter(|key| !one.contains(key));
        let mut differences = Vec::new();
        let mut equal = 0;
        for key in one.iter().chain(only_two) {
            let values = sides
                .each_ref()
                .map(|side| json::get(&side.config, key).cloned());
            match &values {
                [Some(one), Some(two)] if is_same(one, two) => equal += 1,
                _ => differences.push(Difference {
                    key: key.clone(),
                    default: default(key, sides, version),
                    values,
                }),
            }
        }
        differences.sort_by(|one, two| section(&one.key).cmp(section(&two.key)));
        if let [Some(then), Some(now)] = sides.each_ref().map(|side| side.argv.as_ref()) {
            differences.extend(differing_words(then, now));
        }
        Comparison {
            names: sides.each_ref().map(|side| side.name.clone()),
            differences,
            equal,
            version,
        }
    }

    fn json(&self) -> Value {
        let [a, b] = &self.names;
        let rows: Vec<Value> = self.differences.iter().map(Difference::json).collect();
        json!({
            "version": 1,
            "a": a,
            "b": b,
            "deepspeed": self.version.to_string(),
            "differences": rows,
            "equal": self.equal,
        })
    }

    /// A line for each key, or for each value where that is too wide.
    fn text(&self, width: usize, secrets: &Secrets) -> String {
        let [one, two] = &self.names;
        let keys = |count: usize| plural(count as u64, "key", "s");
        if self.differences.is_empty() {
            let text = format!("{one} and {two} are the same: {}", keys(self.equal));
            return wrapped(&text, 0, width);
        }
        let mut beside = TextTable {
            widest: usize::MAX,
            ..TextTable::new(0)
        };
        let mut below = TextTable::new(0);
        let head = vec![String::new(), one.clone(), two.clone()];
        beside.lines.push(Line::Row(head));
        for difference in &self.differences {
            let cells = difference.cells(secrets);
            beside.lines.push(Line::Row(cells.to_vec()));
            let [key, a, b] = cells;
            below.lines.push(Line::Heading(escape_controls(&key)));
            for (name, value) in [(one, a), (two, b)] {
                let cells = vec![format!("    {name}"), value];
                below.lines.push(Line::Wrapped(cells, width));
            }
        }
        let mut text = beside.to_string();
        if text.lines().any(|line| columns(line) > width) {
            text = below.to_string();
        }
        let all = self.differences.iter();
        let differing = all.clone().filter(|it| !it.is_default()).count();
        let same = self.equal + all.len() - differing;
        let verb = if differing == 1 { "differs" } else { "differ" };
        let mut summary = format!("{} {verb}, {same} the same", keys(differing));
        if all.clone().any(|it| it.values.contains(&None)) {
            summary += &format!("; (…): not set, the default of DeepSpeed {}", self.version);
        }
        text + &wrapped(&summary, 0, width)
    }
}
