//! `zlaunch diff A B`: two configs side by side, by key. DeepSpeed's default stands in for a missing key. Of two launches
//! the words that are executed are compared, too.

use std::cmp::Ordering;
use std::ffi::OsString;

use anstyle::{AnsiColor, Style};
use clap::Args;
use serde_json::{Value, json};

use super::output::{out, painted, show};
use crate::base::json;
use crate::base::layout::{Line, TextTable, columns, escape_controls, plural, wrapped};
use crate::base::options::{AnyValue, Given, LaunchOptions};
use crate::base::recorded::Version;
use crate::base::source::{Source, Sourced};
use crate::cli::values::{self, REPORT_FORMATS, TEMPLATES, one_of};
use crate::cli::{Reader, Requested, Tool, launch, usage};
use crate::command::python::Python;
use crate::config::schema;
use crate::config::template::{self, Search};
use crate::host::{Host, terminal};
use crate::judge::Judged;
use crate::plan::record;
use crate::report::fix::give;
use crate::report::secrets::Secrets;
use crate::report::{self, Problem, Rule};
use crate::request::{self, Format, Launch, Output};

#[derive(Args)]
pub(crate) struct DiffArgs {
    #[arg(required = true, num_args = 1..=2, value_names = ["A", "B"], value_parser = AnyValue(TEMPLATES))]
    configs: Vec<Given>,
    #[command(flatten)]
    launch: LaunchOptions,
    #[arg(help_heading = None::<&str>, last = true, num_args = 1.., hide = true)]
    command: Vec<OsString>,
}

impl Tool for DiffArgs {
    const SHOWN: &'static [&'static str] = &["deepspeed", "template_dir", "set", "format"];

    fn read(self, mut reader: Reader) -> Requested {
        let DiffArgs {
            configs,
            launch: mut options,
            command,
        } = self;
        reader.split_off(&command);
        // Not that of ZLAUNCH_FORMAT, which is about plans.
        let format = reader
            .one(options.output.format.take(), one_of(REPORT_FORMATS))
            .map_or(Format::Text, |format| format.value);
        let specs = reader.many(configs, values::text);
        let launch = launch::read_described(options, command, &mut reader);
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

/// One key that is not the same on both sides.
struct Difference {
    key: String,
    values: [Option<Value>; 2],
    /// DeepSpeed's, if one side has no value and the key and its sections have a default.
    default: Option<Value>,
}

/// A word of two launches that is not the same, or all of them.
struct ArgvDifference {
    /// `argv[7]`, `argv`.
    place: String,
    values: [Value; 2],
}

struct Comparison<'h> {
    sides: [Side; 2],
    differences: Vec<Difference>,
    equal: usize,
    /// Between two launches.
    argv: Option<Vec<ArgvDifference>>,
    version: Version,
    secrets: Secrets<'h>,
}

/// Columns of what is printed into a file or a pipe.
const WIDEST: usize = 110;

fn run(specs: &[Sourced<String>], mut launch: Launch, host: &Host) -> Result<u8, Vec<Problem>> {
    launch.read_piped_config(host)?;
    let comparison = compare(specs, &launch, host)?;
    if launch.output.dry_run == Some(Format::Json) {
        return out(&format!("{:#}\n", comparison.json()));
    }
    show(&comparison.text(terminal::width().unwrap_or(WIDEST)))
}

fn compare<'h>(
    specs: &[Sourced<String>],
    launch: &Launch,
    host: &'h Host,
) -> Result<Comparison<'h>, Vec<Problem>> {
    let mut sides: Vec<_> = specs
        .iter()
        .map(|spec| side(spec, &launch.search, host))
        .collect();
    if !launch.command.is_empty() {
        let is_record = |side: &Side| side.argv.is_some();
        let with_record = sides[0].as_ref().is_ok_and(is_record);
        sides.push(launched(launch, with_record, host));
    }
    let mut problems = Vec::new();
    let sides = sides
        .into_iter()
        .filter_map(|side| side.map_err(|found| problems.extend(found)).ok());
    let sides: [Side; 2] = sides.collect::<Vec<_>>().try_into().map_err(|_| problems)?;
    let version = schema::in_environment(Python::on_path(host).as_ref()).version();
    let (differences, equal) = differences(&sides, version);
    let argv = match &sides {
        [
            Side {
                argv: Some(then), ..
            },
            Side {
                argv: Some(now), ..
            },
        ] => Some(compare_argv(then, now)),
        _ => None,
    };
    Ok(Comparison {
        sides,
        differences,
        equal,
        argv,
        version,
        secrets: Secrets::of(host),
    })
}

/// Word by word, if there are as many.
fn compare_argv(then: &[Value], now: &[Value]) -> Vec<ArgvDifference> {
    if then.len() != now.len() {
        return vec![ArgvDifference {
            place: "argv".to_string(),
            values: [then, now].map(Value::from),
        }];
    }
    let pairs = then.iter().zip(now).enumerate();
    pairs
        .filter(|(_, (then, now))| then != now)
        .map(|(at, (then, now))| ArgvDifference {
            place: format!("argv[{at}]"),
            values: [then.clone(), now.clone()],
        })
        .collect()
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

/// The config of a launch. Without a config, it can only be compared with a record.
fn launched(launch: &Launch, with_record: bool, host: &Host) -> Result<Side, Vec<Problem>> {
    let (plan, problems) = Judged::new(launch, host).accepted()?;
    let json = Secrets::of(host).hide(plan.json(&problems));
    let (name, config) = match plan.config {
        Some(config) => (
            format!("{} as launched", config.layered.template.name),
            config.value().clone(),
        ),
        None if with_record => ("this launch".to_string(), json!({})),
        None => {
            let runs = &plan.trainer.runs;
            let what = format!(
                "`{runs}` would run without a DeepSpeed config, so there is nothing to compare"
            );
            return Err(Problem::error(Rule::NoConfig, what)
                .at(runs)
                .fix(give("--deepspeed", "zero2"))
                .into());
        }
    };
    Ok(Side {
        name,
        config,
        argv: json["argv"].as_array().cloned(),
    })
}

fn differences(sides: &[Side; 2], version: Version) -> (Vec<Difference>, usize) {
    let [one, two] = sides
        .each_ref()
        .map(|side| json::leaves(&side.config, |_| true));
    let only_two = two.iter().filter(|key| !one.contains(key));
    let mut found = Vec::new();
    let mut equal = 0;
    for key in one.iter().chain(only_two) {
        let values = sides
            .each_ref()
            .map(|side| json::get(&side.config, key).cloned());
        match &values {
            [Some(one), Some(two)] if is_same(one, two) => equal += 1,
            _ => found.push(Difference {
                key: key.clone(),
                default: default(key, sides, version),
                values,
            }),
        }
    }
    found.sort_by(|one, two| section(&one.key).cmp(section(&two.key)));
    (found, equal)
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

    fn kind(&self) -> &'static str {
        match &self.values {
            [Some(_), None] => "only_a",
            [None, Some(_)] => "only_b",
            _ => "different",
        }
    }

    fn sign(&self) -> &'static str {
        match &self.values {
            _ if self.is_default() => "=",
            [Some(_), None] => "-",
            [None, Some(_)] => "+",
            _ => "~",
        }
    }

    fn cell(&self, side: usize) -> String {
        match (&self.values[side], &self.default) {
            (Some(value), _) => value.to_string(),
            (None, Some(default)) => format!("({default})"),
            (None, None) => "(off)".to_string(),
        }
    }
}

impl Comparison<'_> {
    fn json(&self) -> Value {
        let rows = self.differences.iter().map(|difference| {
            let [a, b] = &difference.values;
            json!({"key": difference.key, "kind": difference.kind(), "a": a, "b": b, "default": difference.default})
        });
        let mut all = json!({
            "version": 1,
            "a": self.sides[0].name,
            "b": self.sides[1].name,
            "deepspeed": self.version.to_string(),
            "differences": rows.collect::<Vec<_>>(),
            "equal": self.equal,
        });
        if let Some(found) = &self.argv {
            let rows = found.iter().map(|it| {
                let [a, b] = &it.values;
                json!({"key": it.place, "a": a, "b": b})
            });
            all["launch"] = rows.collect();
        }
        self.secrets.hide(all)
    }

    /// Harmless text with colours: a line for each key; if that is too wide, by section; else a line for each value.
    fn text(&self, width: usize) -> String {
        let fits = |table: &String| table.lines().all(|line| columns(line) <= width);
        let table = Some(self.side_by_side(false))
            .filter(fits)
            .or_else(|| Some(self.side_by_side(true)).filter(fits))
            .unwrap_or_else(|| self.below_each_other(width));
        let coloured = painted(&table, |line| (0..line.len(), style(line)));
        let text = coloured + &self.summary(width);
        let Some(found) = &self.argv else {
            return text;
        };
        let title = if found.is_empty() {
            "nothing else differs\n"
        } else {
            "\nbesides the config\n"
        };
        let lines = found.iter().map(|it| {
            let [then, now] = &it.values;
            let line = format!("{}: {then} then, {now} now", it.place);
            wrapped(&self.secrets.hide_in_text(&line), 2, width)
        });
        text + title + &lines.collect::<String>()
    }

    fn side_by_side(&self, by_section: bool) -> String {
        let mut table = TextTable {
            widest: usize::MAX,
            ..TextTable::new(0)
        };
        let mut before = "";
        for it in &self.differences {
            let mut name = format!("{} {}", it.sign(), it.key);
            if by_section {
                if section(&it.key) != before {
                    before = section(&it.key);
                    let head = escape_controls(&format!("  {before}"));
                    table.lines.push(Line::Heading(head));
                }
                name = format!("{}   {}", it.sign(), schema::name_of(&it.key));
            }
            let cells = [name, it.cell(0), it.cell(1)];
            let cells = cells.map(|cell| self.secrets.hide_in_text(&cell));
            table.lines.push(Line::Row(cells.to_vec()));
        }
        if !table.lines.is_empty() {
            let [one, two] = &self.sides;
            let head = vec![String::new(), one.name.clone(), two.name.clone()];
            table.lines.insert(0, Line::Row(head));
        }
        table.to_string()
    }

    fn below_each_other(&self, width: usize) -> String {
        let mut table = TextTable::new(0);
        for it in &self.differences {
            let head = escape_controls(&format!("{} {}", it.sign(), it.key));
            table.lines.push(Line::Heading(head));
            for (side, value) in self.sides.iter().zip([it.cell(0), it.cell(1)]) {
                let cells = vec![
                    format!("    {}", side.name),
                    self.secrets.hide_in_text(&value),
                ];
                table.lines.push(Line::Wrapped(cells, width));
            }
        }
        table.to_string()
    }

    fn summary(&self, width: usize) -> String {
        let keys = |count: usize| plural(count as u64, "key", "s");
        let [one, two] = &self.sides;
        let text = if self.differences.is_empty() {
            let equal = keys(self.equal);
            format!("{} and {} are the same: {equal}", one.name, two.name)
        } else {
            let all = self.differences.iter();
            let differing = all.clone().filter(|it| !it.is_default()).count();
            let same = self.equal + all.len() - differing;
            let verb = if differing == 1 { "differs" } else { "differ" };
            let is_missing = all.clone().any(|it| it.values.contains(&None));
            let note = if is_missing {
                format!("; (…): not set, the default of DeepSpeed {}", self.version)
            } else {
                String::new()
            };
            format!("{} {verb}, {same} the same{note}", keys(differing))
        };
        wrapped(&text, 0, width)
    }
}

fn style(line: &str) -> Style {
    match line.bytes().next() {
        Some(b'-') => AnsiColor::Red.on_default(),
        Some(b'+') => AnsiColor::Green.on_default(),
        Some(b'~') => AnsiColor::Yellow.on_default(),
        Some(b'=') => Style::new().dimmed(),
        _ => Style::new(),
    }
}
