//! `zlaunch explain WORD`: what a DeepSpeed key, a ZeRO stage, a variable, a template or a diagnostic means.

mod explanation;
mod glossary;

use clap::Args;

use super::output::{out, show};
use crate::base::layout::{escape_controls, filled, wrapped};
use crate::base::options::{Given, SearchOptions, launch_option, launch_options, variable};
use crate::base::vars;
use crate::check;
use crate::cli::{Reader, Requested, Tool, values};
use crate::config::schema;
use crate::config::template::Search;
use crate::host::{Host, terminal};
use crate::ranks::topology::engines::table::all_variables;
use crate::report::{self, Language, Problem, Rule};

pub(crate) use explanation::fate;
use explanation::{Explanation, Versions};
pub use glossary::{GlossaryEntry, entries};
use glossary::{Topic, grouped};

/// Explain a config key, a variable, a template or a rule
#[derive(Args)]
#[command(
    long_about = "解释配置键、环境变量、模板或检查规则",
    override_usage = "zlaunch explain [OPTIONS] [WORD]...",
    after_help = "Help and explanations are in Chinese, where translated, if ZLAUNCH_LANG or the locale is zh.",
    after_long_help = "ZLAUNCH_LANG 或系统区域设置是 zh 时，帮助和已翻译的解释用中文。"
)]
pub(crate) struct ExplainArgs {
    /// A key, `stage 3`, a variable, a template, a rule; without one, list what can be explained
    #[arg(long_help = "配置键、`stage 3`、环境变量、模板或规则；不写则列出可以解释的内容")]
    word: Vec<Given>,
    #[command(flatten, next_help_heading = "Config")]
    search: SearchOptions,
}

impl Tool for ExplainArgs {
    fn read(self, mut reader: Reader) -> Requested {
        let words: Vec<String> = reader.many(self.word, values::text).into_iter().map(|word| word.value).collect();
        let words = words.join(" ");
        let search = reader.search(self.search);
        reader.answer(move |host: &Host| match words.trim() {
            "" => out(&subjects(&search)),
            _ => show(&explain(&words, &search, host)?),
        })
    }
}

fn width() -> usize {
    terminal::width().map_or(100, |width| width.min(100))
}

/// More meanings than this are only listed.
const MOST_IN_FULL: usize = 3;

/// Every meaning of a word, as harmless text with colours.
pub fn explain(word: &str, search: &Search, host: &Host) -> Result<String, Problem> {
    let language = Language::of(host)?;
    let found = explanations(word, search, host, language);
    if found.is_empty() {
        return Err(unknown(word, search));
    }
    if found.len() > MOST_IN_FULL {
        let row = |it: &Explanation| format!("{}\n{}", escape_controls(&it.name), wrapped(&it.text, 2, width()));
        return Ok(found.iter().map(row).collect());
    }
    let pages: Vec<String> = found.iter().map(|explanation| explanation.render(language, width())).collect();
    Ok(pages.join("\n"))
}

fn explanations(word: &str, search: &Search, host: &Host, language: Language) -> Vec<Explanation> {
    let term = stage_of(word).map_or_else(|| word.to_string(), |stage| format!("stage {stage}"));
    let mut found: Vec<GlossaryEntry> = entries().filter(|entry| entry.all_names().any(|name| name == term)).collect();
    if found.is_empty() {
        found = entries().filter(|entry| entry.is_meant_by(&term)).collect();
    }
    let versions = Versions::of(host);
    let mut all: Vec<_> = found.iter().map(|entry| Explanation::of_entry(entry, language, &versions)).collect();
    if !all.iter().any(|explanation| explanation.topic == Topic::Variable) {
        all.extend(Explanation::of_our_variable(&word.to_ascii_uppercase(), language));
    }
    if let (true, Some(option)) = (all.is_empty(), launch_option(word)) {
        all.extend(Explanation::of_our_variable(&variable(option), language));
    }
    if all.is_empty() {
        all.extend(versions.find(word).and_then(|key| Explanation::of_recorded(&key, language, &versions)));
    }
    let rules = rules().filter(|(name, _)| *name == word);
    all.extend(rules.map(|(name, doc)| Explanation::of_rule(name, doc, language)));
    all.extend(Explanation::of_template(word, search, host, language));
    all
}

pub(crate) fn about(key: &str, language: Language) -> Option<String> {
    let entry = entries().find(|entry| entry.all_names().any(|name| name == key) && entry.topic() == Topic::Key)?;
    let text = |field: &str| entry.text(field, language).map(str::to_string);
    let auto = explanation::value_of_auto(&entry, language).map(|becomes| format!("\"auto\": {becomes}"));
    Some([text("en"), auto, text("advice")].into_iter().flatten().collect::<Vec<_>>().join("\n\n"))
}

/// `stage 3`, `zero3`, `ZeRO-3`, `z3`.
fn stage_of(word: &str) -> Option<char> {
    let plain: String = word.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let number = ["zerostage", "stage", "zero", "z"].iter().find_map(|prefix| plain.strip_prefix(prefix))?;
    ['0', '1', '2', '3'].into_iter().find(|stage| number == stage.to_string())
}

fn unknown(word: &str, search: &Search) -> Problem {
    let (templates, variables) = (search.names(), all_variables());
    let names = entries().flat_map(|entry| entry.all_names());
    let mut known: Vec<&str> = names.flat_map(|name| [name, schema::name_of(name)]).collect();
    known.extend(variables.iter().flat_map(vars::Var::names));
    known.extend(rules().map(|(name, _)| name));
    known.extend(templates.iter().map(String::as_str));
    let lower = word.to_lowercase();
    let contains = |name: &&str| lower.len() >= 3 && name.to_lowercase().contains(&lower) && !name.contains('.');
    let mut containing: Vec<&str> = known.iter().copied().filter(contains).collect();
    // Keys and rules before variables.
    containing.sort_by_key(|name| (name.starts_with(|c: char| c.is_ascii_uppercase()), *name));
    containing.dedup();
    report::unknown_subject(word, report::nearest(word, known.into_iter().filter(|known| *known != word)), &containing)
}

fn subjects(search: &Search) -> String {
    const FIRST: &str =
        "zlaunch explain WORD: a name, the last part of a key, or part of a name, which lists every match";
    let mut text = wrapped(FIRST, 0, width());
    for topic in Topic::LISTED {
        text += &format!("\n{}\n", topic.names()[0]);
        let names = names_of(topic, search);
        let listed = match topic {
            Topic::Key => grouped(&names, '.'),
            Topic::Variable => grouped(&names, '_'),
            Topic::Rule => grouped(&names, '-'),
            _ => names.join(", "),
        };
        text += &filled(&listed, 2, width());
    }
    text
}

pub fn rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    let of_launches = Rule::all().filter_map(|rule| Some((rule.name(), rule.about()?)));
    of_launches.chain(check::rules().map(|check| (check.rule.name(), check.about())))
}

fn names_of(topic: Topic, search: &Search) -> Vec<String> {
    let mut names: Vec<String> = match topic {
        Topic::Template => search.names(),
        Topic::Rule => rules().map(|(name, _)| name.to_string()).collect(),
        _ => entries().filter(|entry| entry.topic() == topic).map(|entry| entry.name().to_string()).collect(),
    };
    if topic == Topic::Variable {
        names.extend(all_variables().iter().flat_map(vars::Var::names).map(str::to_string));
        names.extend(launch_options().map(variable));
    }
    if topic != Topic::Template {
        names.sort();
    }
    names.dedup();
    names
}
