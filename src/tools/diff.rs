//! `zlaunch diff A B`: two configs side by side, by key. DeepSpeed's default stands in for a missing key. Of two launches
//! the words that are executed are compared, too.

use std::ffi::OsString;

use serde_json::{Value, json};

use super::prelude::*;
use crate::{
    base::{
        json,
        layout::{Line, TextTable, plural, wrapped},
        recorded::Version,
        source::{Source, Sourced},
    },
    command::python::Python,
    config::{
        schema,
        template::{self, Search},
    },
    plan::record,
    request::{self, Output},
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
        let format = reader.report_format();
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
            options: vec![],
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

/// Columns of what is printed into a file or a pipe.
const WIDEST: usize = 110;

fn run(specs: &[Sourced<String>], mut launch: Launch, host: &Host) -> Outcome {
    launch.read_piped_config(host)?;
    let mut sides = vec![];
    let mut problems = vec![];
    let launched = (!launch.command.is_empty()).then(|| launched(&launch, host));
    for side in specs
        .iter()
        .map(|spec| side(spec, &launch.search, host))
        .chain(launched)
    {
        match side {
            Ok(side) => sides.push(side),
            Err(found) => problems.extend(found),
        }
    }
    let sides = sides.try_into().map_err(|_| problems)?;
    let version = schema::in_environment(Python::on_path(host).as_ref()).version();
    let comparison = Secrets::of(host).hide(compare(&sides, version));
    if launch.output.dry_run == Some(Format::Json) {
        return out(&format!("{comparison:#}\n"));
    }
    out(&text(&comparison, terminal::width().unwrap_or(WIDEST)))
}

/// A template, a file, JSON, a pipe, or the folder of a record.
fn side(spec: &Sourced<String>, search: &Search, host: &Host) -> Result<Side, Problems> {
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

fn launched(launch: &Launch, host: &Host) -> Result<Side, Problems> {
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

/// A key, or a word of two launches, that is not the same on both sides. `default`: DeepSpeed's, if one side has no value and
/// the key and its sections have a default.
fn difference(key: &str, values: [Option<&Value>; 2], default: &Value) -> Value {
    let kind = match values {
        [Some(_), None] => "only_a",
        [None, Some(_)] => "only_b",
        _ => "different",
    };
    let [a, b] = values;
    json!({"key": key, "kind": kind, "a": a, "b": b, "default": default})
}

fn compare(sides: &[Side; 2], version: Version) -> Value {
    let [a, b] = sides;
    let mut keys = json::leaves(&a.config, |_| true);
    let mut more = json::leaves(&b.config, |_| true);
    more.retain(|key| !keys.contains(key));
    keys.append(&mut more);
    keys.sort_by(|one, two| section(one).cmp(section(two)));
    let mut differences = vec![];
    let mut equal = 0;
    for key in &keys {
        match [a, b].map(|side| json::get(&side.config, key)) {
            [Some(one), Some(two)] if is_same(one, two) => equal += 1,
            values => differences.push(difference(
                key,
                values,
                &json!(default(key, sides, version)),
            )),
        }
    }
    if let (Some(then), Some(now)) = (&a.argv, &b.argv) {
        differences.extend(differing_words(then, now));
    }
    json!({
        "version": 1,
        "a": a.name,
        "b": b.name,
        "deepspeed": version.to_string(),
        "differences": differences,
        "equal": equal,
    })
}

/// Word by word, if there are as many.
fn differing_words(then: &[Value], now: &[Value]) -> Vec<Value> {
    if then.len() != now.len() {
        let [then, now] = [then, now].map(Value::from);
        return vec![difference("argv", [Some(&then), Some(&now)], &Value::Null)];
    }
    then.iter()
        .zip(now)
        .enumerate()
        .filter(|(_, (then, now))| then != now)
        .map(|(at, (then, now))| {
            difference(
                &format!("argv[{at}]"),
                [Some(then), Some(now)],
                &Value::Null,
            )
        })
        .collect()
}

/// 5e8 is 500000000.
fn is_same(one: &Value, two: &Value) -> bool {
    one == two || one.is_number() && one.as_f64() == two.as_f64()
}

/// DeepSpeed's value for a missing key. A section that is off as a whole has no values.
fn default(key: &str, sides: &[Side; 2], version: Version) -> Option<Value> {
    let silent = sides
        .iter()
        .find(|side| json::get(&side.config, key).is_none())?;
    if key
        .match_indices('.')
        .map(|(at, _)| &key[..at])
        .filter(|section| json::get(&silent.config, section).is_none())
        .any(|section| schema::find(section, version).is_some_and(|spec| spec.default == "null"))
    {
        return None;
    }
    serde_json::from_str(schema::find(key, version)?.default).ok()
}

fn section(key: &str) -> &str {
    key.rsplit_once('.').map_or("", |(section, _)| section)
}

/// One side has the value that the other one gets by default.
fn is_default(difference: &Value) -> bool {
    let default = &difference["default"];
    let sides = [&difference["a"], &difference["b"]];
    !default.is_null() && sides.into_iter().any(|said| is_same(said, default))
}

/// The key with a sign, and both values.
fn cells(difference: &Value) -> [String; 3] {
    let kind = difference["kind"].as_str().unwrap_or_default();
    let sign = match kind {
        _ if is_default(difference) => "=",
        "only_a" => "-",
        "only_b" => "+",
        _ => "~",
    };
    let value = |side: &str| match &difference["default"] {
        _ if kind == "different" || kind.ends_with(side) => difference[side].to_string(),
        Value::Null => "(off)".to_string(),
        default => format!("({default})"),
    };
    let key = difference["key"].as_str().unwrap_or_default();
    [format!("{sign} {key}"), value("a"), value("b")]
}

/// A line for each key.
fn text(comparison: &Value, width: usize) -> String {
    let [one, two] = ["a", "b"].map(|side| comparison[side].as_str().unwrap_or_default());
    let equal = comparison["equal"].as_u64().unwrap_or_default();
    let differences: Vec<&Value> = comparison["differences"]
        .as_array()
        .into_iter()
        .flatten()
        .collect();
    if differences.is_empty() {
        let text = format!(
            "{one} and {two} are the same: {}",
            plural(equal, "key", "s")
        );
        return wrapped(&text, 0, width);
    }
    let mut table = TextTable {
        widest: usize::MAX,
        ..TextTable::new(0)
    };
    table
        .lines
        .push(Line::Row(["", one, two].map(str::to_string).into()));
    for difference in &differences {
        table.lines.push(Line::Row(cells(difference).into()));
    }
    let all = differences.len() as u64;
    let same = differences.iter().filter(|it| is_default(it)).count() as u64;
    let differing = plural(all - same, "key", "s");
    let verb = if all - same == 1 { "differs" } else { "differ" };
    let mut summary = format!("{differing} {verb}, {} the same", equal + same);
    if differences.iter().any(|it| it["kind"] != "different") {
        let version = comparison["deepspeed"].as_str().unwrap_or_default();
        summary += &format!("; (…): not set, the default of DeepSpeed {version}");
    }
    table.to_string() + &wrapped(&summary, 0, width)
}
