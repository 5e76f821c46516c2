//! `zlaunch diff A B`: two configs side by side, by key. Where one is silent, DeepSpeed's default stands in its place.
//! A record is also compared with a launch in everything else.

use std::cmp::Ordering;
use std::ffi::OsString;

use anstyle::{AnsiColor, Style};
use clap::Args;
use serde_json::{Value, json};

use super::output::{out, show};
use crate::base::json;
use crate::base::layout::{Line, TextTable, columns, escape_controls, wrapped};
use crate::base::options::{AnyValue, Given, LaunchOptions};
use crate::base::recorded::Version;
use crate::base::source::{Source, Sourced};
use crate::cli::launch;
use crate::cli::values::{self, REPORT_FORMATS, TEMPLATES, one_of};
use crate::cli::{Reader, Requested, Tool};
use crate::command::python::Python;
use crate::config::schema;
use crate::config::template::{self, Search};
use crate::host::{Host, terminal};
use crate::plan::Plan;
use crate::plan::record;
use crate::report::fix::give;
use crate::report::secrets::Secrets;
use crate::report::{self, Problem, Rule};
use crate::request::{self, Format, Launch, Output};

const USAGE: &str = "zlaunch diff [OPTIONS] A B|A -- COMMAND [ARGS]...";

const ABOUT: &str =
    "A config is a template, a file, JSON, `-` (standard input) or the folder of a record. With a command, B is what \
    this launch would use, and every launch option works. For a record, the environment, the arguments and the \
    versions are compared too.
~ differs, - only in A, + only in B, = only in one and the default anyway

Examples:
  zlaunch diff zero2 zero3
  zlaunch diff zero3 ds_config.json
  zlaunch diff zero3 --deepspeed zero3 -- swift sft --model Qwen/Qwen3-8B
  zlaunch diff record --deepspeed zero3 -- swift sft --model Qwen/Qwen3-8B";

/// Compare two configs key by key, or a record with a launch
#[derive(Args)]
#[command(
    long_about = "逐键比较两个配置，或比较记录与一次启动",
    override_usage = USAGE,
    after_help = ABOUT,
    after_long_help = "配置可以是模板、文件、JSON、`-`（标准输入）或记录的目录。给出命令时，B 是这次启动会用的配置，启动的所有选项都可以用。若是记录，还会比较环境变量、参数和版本。\n~ 不同，- 只在 A 里，+ 只在 B 里，= 只在一边、但正好是默认值"
)]
pub(crate) struct DiffArgs {
    /// The configs to compare
    #[arg(required = true, num_args = 1..=2, value_names = ["A", "B"], value_parser = AnyValue(TEMPLATES))]
    #[arg(long_help = "要比较的配置")]
    configs: Vec<Given>,
    #[command(flatten)]
    launch: LaunchOptions,
    #[arg(last = true, num_args = 1.., hide = true)]
    command: Vec<OsString>,
}

impl Tool for DiffArgs {
    const SHOWN: &str = "deepspeed template_dir set format";

    fn read(self, mut reader: Reader) -> Requested {
        let DiffArgs { configs, launch: mut options, command } = self;
        reader.split_off(&command);
        // ZLAUNCH_FORMAT is about plans.
        let format = options.output.format.take().filter(|format| format.from.is_flag());
        let specs: Vec<_> = configs.into_iter().filter_map(|config| reader.one(Some(config), values::text)).collect();
        let launch = launch::read_described(options, command, &mut reader);
        let wanted = if launch.command.is_empty() { 2 } else { 1 };
        if specs.len() < wanted {
            reader.problems.push(report::missing_argument("two configs", USAGE));
        } else if specs.len() > wanted {
            reader.problems.push(report::unexpected_argument(&specs[wanted].value, USAGE));
        }
        let format = reader.one(format, one_of(REPORT_FORMATS)).map_or(Format::Text, |format| format.value);
        let launch = Launch {
            output: Output { dry_run: Some(format), ..Output::default() },
            // What would be recorded is compared with a record; nothing is written.
            record: Some(Sourced::new(".".into(), Source::Default)),
            subcommand: "",
            options: Vec::new(),
            ..launch
        };
        let request = DiffRequest { specs, launch, format };
        reader.answer(move |host: &Host| run(request, host))
    }
}

struct DiffRequest {
    /// Two, or one if a command follows.
    specs: Vec<Sourced<String>>,
    /// What the other one is compared with, if it has a command.
    launch: Launch,
    format: Format,
}

/// One of the two configs.
struct Side {
    name: String,
    config: Value,
    /// What is recorded of the launch, or would be.
    record: Option<Value>,
}

/// One key that is not the same on both sides.
struct Difference {
    key: String,
    values: [Option<Value>; 2],
    /// DeepSpeed's, where one side is silent: `None` where the key or its section has none.
    default: Option<Value>,
}

struct Comparison<'h> {
    sides: [Side; 2],
    differences: Vec<Difference>,
    /// How many keys have the same value.
    equal: usize,
    /// What differs besides the configs, between two launches.
    of_launch: Option<Vec<record::Difference>>,
    version: Version,
    secrets: Secrets<'h>,
}

/// Columns of what is printed into a file or a pipe.
const WIDEST: usize = 110;

fn run(mut request: DiffRequest, host: &Host) -> Result<u8, Vec<Problem>> {
    request.launch.read_piped_config(host)?;
    let comparison = compare(&request, host)?;
    if request.format == Format::Json {
        return out(&format!("{:#}\n", comparison.json()));
    }
    show(&comparison.text(terminal::width().unwrap_or(WIDEST)))
}

/// Compares the two configs that were asked for.
fn compare<'h>(request: &DiffRequest, host: &'h Host) -> Result<Comparison<'h>, Vec<Problem>> {
    let mut sides = Vec::new();
    let mut problems = Vec::new();
    for spec in &request.specs {
        match side(spec, &request.launch.search, host) {
            Ok(side) => sides.push(side),
            Err(found) => problems.extend(found),
        }
    }
    if !request.launch.command.is_empty() {
        let with_record = sides.first().is_some_and(|side| side.record.is_some());
        match launched(&request.launch, with_record, host) {
            Ok(side) => sides.push(side),
            Err(found) => problems.extend(found),
        }
    }
    let sides: [Side; 2] = sides.try_into().map_err(|_| problems)?;
    let version = schema::in_environment(Python::on_path(host).as_ref()).version();
    let (differences, equal) = differences(&sides, version);
    let of_launch = match sides.each_ref().map(|side| side.record.as_ref()) {
        [Some(then), Some(now)] => Some(record::differences(then, now)),
        _ => None,
    };
    Ok(Comparison { sides, differences, equal, of_launch, version, secrets: Secrets::of(host) })
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
        return Ok(Side { name, config: config.cloned().unwrap_or(json!({})), record: Some(record) });
    }
    let template = template::resolve(&spec, search, host)?;
    let name = if name.trim_start().starts_with('{') { template.name } else { name };
    Ok(Side { name, config: template.config, record: None })
}

/// What a launch would use. Without a config, it can only be compared with a record.
fn launched(launch: &Launch, with_record: bool, host: &Host) -> Result<Side, Vec<Problem>> {
    let plan = Plan::new(launch, host)?;
    let (name, config) = match plan.config {
        Some(config) => (format!("{} as launched", config.template.name), config.value),
        None if with_record => ("this launch".to_string(), json!({})),
        None => {
            let runs = &plan.trainer.runs;
            let what = format!("`{runs}` would run without a DeepSpeed config, so there is nothing to compare");
            return Err(Problem::error(Rule::NoConfig, what).at(runs).fix(give("--deepspeed", "zero2")).into());
        }
    };
    Ok(Side { name, config, record: plan.record.map(|record| record.content) })
}

fn differences(sides: &[Side; 2], version: Version) -> (Vec<Difference>, usize) {
    let [one, two] = sides.each_ref().map(|side| json::leaves(&side.config, |_| true));
    let only_two = two.iter().filter(|key| !one.contains(key));
    let (mut found, mut equal) = (Vec::new(), 0);
    for key in one.iter().chain(only_two) {
        let values = sides.each_ref().map(|side| json::get(&side.config, key).cloned());
        match &values {
            [Some(one), Some(two)] if is_same(one, two) => equal += 1,
            _ => found.push(Difference { key: key.clone(), default: default(key, sides, version), values }),
        }
    }
    found.sort_by(|one, two| section(&one.key).cmp(section(&two.key)));
    (found, equal)
}

/// 5e8 is 500000000.
fn is_same(one: &Value, two: &Value) -> bool {
    one == two || one.as_f64().zip(two.as_f64()).is_some_and(|(one, two)| one.total_cmp(&two) == Ordering::Equal)
}

/// What DeepSpeed takes where the key is missing. A section that is off as a whole has no values.
fn default(key: &str, sides: &[Side; 2], version: Version) -> Option<Value> {
    let silent = sides.iter().find(|side| json::get(&side.config, key).is_none())?;
    let sections = key.match_indices('.').map(|(at, _)| &key[..at]);
    let is_off = |section: &str| {
        let absent = json::get(&silent.config, section).is_none();
        absent && schema::find(section, version).is_some_and(|spec| spec.default == "null")
    };
    if sections.into_iter().any(is_off) {
        return None;
    }
    serde_json::from_str(schema::find(key, version)?.default).ok()
}

/// The part of a key in front of its last name.
fn section(key: &str) -> &str {
    key.rsplit_once('.').map_or("", |(section, _)| section)
}

impl Difference {
    /// Whether the other side only says what DeepSpeed takes anyway.
    fn is_default(&self) -> bool {
        let said = self.values.iter().flatten().next().filter(|_| self.values.contains(&None));
        said.zip(self.default.as_ref()).is_some_and(|(said, default)| is_same(said, default))
    }

    fn mark(&self) -> &'static str {
        match &self.values {
            _ if self.is_default() => "=",
            [Some(_), None] => "-",
            [None, Some(_)] => "+",
            _ => "~",
        }
    }

    fn kind(&self) -> &'static str {
        match &self.values {
            [Some(_), None] => "only_a",
            [None, Some(_)] => "only_b",
            _ => "different",
        }
    }

    /// The value of a side, or the default in parentheses.
    fn cell(&self, side: usize) -> String {
        match (&self.values[side], &self.default) {
            (Some(value), _) => value.to_string(),
            (None, Some(default)) => format!("({default})"),
            (None, None) => "(off)".to_string(),
        }
    }
}

impl Comparison<'_> {
    fn deepspeed(&self) -> String {
        self.version.to_string()
    }

    fn json(&self) -> Value {
        let rows = self.differences.iter().map(|difference| {
            let [a, b] = &difference.values;
            json!({"key": difference.key, "kind": difference.kind(), "a": a, "b": b, "default": difference.default})
        });
        let mut all = json!({
            "version": 1,
            "a": self.sides[0].name,
            "b": self.sides[1].name,
            "deepspeed": self.deepspeed(),
            "differences": rows.collect::<Vec<_>>(),
            "equal": self.equal,
        });
        if let Some(found) = &self.of_launch {
            let rows = found
                .iter()
                .map(|difference| json!({"key": difference.key, "a": difference.values[0], "b": difference.values[1]}));
            all["launch"] = rows.collect();
        }
        self.secrets.hide(all)
    }

    /// Harmless text with colours, for a terminal of that width: a line for each key; if that is too wide, by section; if
    /// that is too wide, a line for each value.
    fn text(&self, width: usize) -> String {
        let rows: Vec<[String; 4]> = self.differences.iter().map(|difference| self.row(difference)).collect();
        let names = self.sides.each_ref().map(|side| side.name.clone());
        let widest = |column: usize| rows.iter().map(|row| columns(&row[column])).max().unwrap_or_default();
        let values = [0, 1].map(|side| 2 + columns(&names[side]).max(widest(side + 2))).iter().sum::<usize>();
        let longest_name = rows.iter().map(|row| columns(schema::name_of(&row[1]))).max().unwrap_or_default();
        let table = match rows.is_empty() {
            true => String::new(),
            false if 2 + widest(1) + values <= width => side_by_side(&names, rows, false),
            false if 5 + longest_name + values <= width => side_by_side(&names, rows, true),
            false => below_each_other(&names, &rows, width),
        };
        format!("{}{}{}", painted(&table), self.summary(width), self.of_launch_text(width))
    }

    fn of_launch_text(&self, width: usize) -> String {
        let Some(found) = &self.of_launch else { return String::new() };
        let title = if found.is_empty() { "nothing else differs\n" } else { "\nbesides the config\n" };
        let line = |difference: &record::Difference| {
            let record::Difference { key, values: [then, now] } = difference;
            wrapped(&self.secrets.hide_in_text(&format!("{key}: {then} then, {now} now")), 2, width)
        };
        title.to_string() + &found.iter().map(line).collect::<String>()
    }

    fn row(&self, it: &Difference) -> [String; 4] {
        [it.mark().to_string(), it.key.clone(), it.cell(0), it.cell(1)].map(|cell| self.secrets.hide_in_text(&cell))
    }

    fn summary(&self, width: usize) -> String {
        let differing = self.differences.iter().filter(|difference| !difference.is_default()).count();
        let by_default = self.differences.len() - differing;
        let keys = |count: usize| if count == 1 { "1 key".to_string() } else { format!("{count} keys") };
        let [one, two] = &self.sides;
        if self.differences.is_empty() {
            let text = format!("{} and {} are the same: {}", one.name, two.name, keys(self.equal));
            return wrapped(&text, 0, width);
        }
        let verb = if differing == 1 { "differs" } else { "differ" };
        let mut text = format!("{} {verb}, {} the same", keys(differing), self.equal + by_default);
        if self.differences.iter().any(|difference| difference.values.contains(&None)) {
            text += &format!("; (…): not set, the default of DeepSpeed {}", self.deepspeed());
        }
        wrapped(&text, 0, width)
    }
}

fn side_by_side(names: &[String; 2], rows: Vec<[String; 4]>, by_section: bool) -> String {
    let mut lines = vec![Line::Row(vec![String::new(), names[0].clone(), names[1].clone()])];
    let mut before = String::new();
    for [mark, key, one, two] in rows {
        let section = key.rsplit_once('.').map_or("", |(section, _)| section);
        if by_section && section != before {
            lines.push(Line::Heading(format!("  {}", escape_controls(section))));
            before = section.to_string();
        }
        let first = if by_section { format!("{mark}   {}", schema::name_of(&key)) } else { format!("{mark} {key}") };
        lines.push(Line::Row(vec![first, one, two]));
    }
    TextTable { widest: usize::MAX, lines, ..TextTable::new(0) }.to_string()
}

fn below_each_other(names: &[String; 2], rows: &[[String; 4]], width: usize) -> String {
    let mut table = TextTable::new(0);
    for [mark, key, one, two] in rows {
        table.lines.push(Line::Heading(escape_controls(&format!("{mark} {key}"))));
        for (name, value) in names.iter().zip([one, two]) {
            table.lines.push(Line::Wrapped(vec![format!("    {name}"), value.clone()], width));
        }
    }
    table.to_string()
}

/// A line is coloured by its mark.
fn painted(table: &str) -> String {
    let colour = |mark: u8| match mark {
        b'-' => Some(AnsiColor::Red),
        b'+' => Some(AnsiColor::Green),
        b'~' => Some(AnsiColor::Yellow),
        _ => None,
    };
    let mut text = String::new();
    for line in table.lines() {
        let style = match line.bytes().next() {
            Some(b'=') => Style::new().dimmed(),
            Some(mark) => Style::new().fg_color(colour(mark).map(Into::into)),
            None => Style::new(),
        };
        text += &format!("{style}{line}{style:#}\n");
    }
    text
}
