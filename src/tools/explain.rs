//! `zlaunch explain WORD`: what a DeepSpeed key, a ZeRO stage, a variable, a template or a diagnostic means. The texts
//! are one file, which is searched, not parsed: an entry starts with `# name | other name`, its lines are `field: text`,
//! and `field.zh` is the same in Chinese. An example that is `=VALUE` is `--set NAME=VALUE`.

mod rules;

use crate::base::layout::{columns, padded, wrapped};
use crate::base::options::launch;
use crate::base::source::{Source, Sourced};
use crate::base::vars;
use crate::check;
use crate::config::auto;
use crate::config::template::{self, Origin, Search};
use crate::host::Host;
use crate::report::secrets::Secrets;
use crate::report::{self, Problem};

use rules::rules;

const ENTRIES: &str = include_str!("explain/entries.txt");

/// Columns of a line.
const WIDTH: usize = 100;
/// More answers than this are only listed.
const MOST_IN_FULL: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    English,
    Chinese,
}

impl Language {
    /// ZLAUNCH_LANG, else the locale, in the order the C library asks.
    fn of(host: &Host) -> Result<Self, Problem> {
        if let Some(value) = host.filled(vars::ZLAUNCH_LANG) {
            let sourced = || Sourced::new(value.to_string(), Source::Variable(vars::ZLAUNCH_LANG.to_string()));
            return Self::named(value).ok_or_else(|| report::not_one_of(&sourced(), &["en", "zh"]));
        }
        let locale = [vars::LC_ALL, vars::LC_MESSAGES, vars::LANG].iter().find_map(|name| host.filled(name));
        Ok(locale.and_then(Self::named).unwrap_or(Language::English))
    }

    /// `zh`, `zh_CN.UTF-8`, `ZH-Hans`, `cn`, `Chinese`.
    fn named(value: &str) -> Option<Self> {
        match value.split(['_', '-', '.', '@']).next()?.to_lowercase().as_str() {
            "zh" | "cn" | "chinese" | "中文" => Some(Language::Chinese),
            "en" | "english" | "c" | "posix" => Some(Language::English),
            _ => None,
        }
    }

    fn word(self, english: &'static str, chinese: &'static str) -> &'static str {
        if self == Language::Chinese { chinese } else { english }
    }
}

/// One entry of the file, as it stands there.
#[derive(Clone, Copy)]
struct Entry {
    names: &'static str,
    body: &'static str,
}

fn entries() -> impl Iterator<Item = Entry> {
    let first = ENTRIES.strip_prefix("# ").unwrap_or(ENTRIES);
    first.split("\n# ").map(|text| {
        let (names, body) = text.split_once('\n').unwrap_or((text, ""));
        Entry { names, body }
    })
}

impl Entry {
    fn all_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.names.split(" | ")
    }

    fn name(&self) -> &'static str {
        self.all_names().next().unwrap_or_default()
    }

    fn line(&self, field: &str) -> Option<&'static str> {
        self.body.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(": "))
    }

    /// A field in the wanted language, else in English.
    fn text(&self, field: &str, language: Language) -> Option<&'static str> {
        let chinese = || self.line(&if field == "en" { "zh".to_string() } else { format!("{field}.zh") });
        Some(language).filter(|it| *it == Language::Chinese).and_then(|_| chinese()).or_else(|| self.line(field))
    }

    fn subject(&self) -> Subject {
        let name = self.name();
        match name {
            _ if name.starts_with("stage ") => Subject::Stage,
            "auto" | "ZeRO" | "offload" | "gradient_checkpointing" => Subject::Word,
            _ if name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_') => Subject::Variable,
            _ => Subject::Key,
        }
    }

    /// Whether a user who says this word may mean it: the name, the end of a dotted one, a variable in any case.
    fn is_meant_by(&self, word: &str) -> bool {
        self.all_names().any(|name| {
            let end = name.strip_suffix(word).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
            end || self.subject() == Subject::Variable && name.eq_ignore_ascii_case(word)
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Subject {
    Stage,
    Key,
    Variable,
    Template,
    Rule,
    Word,
}

impl Subject {
    const LISTED: [Subject; 5] = [Subject::Stage, Subject::Template, Subject::Key, Subject::Variable, Subject::Rule];

    fn plural(self) -> &'static str {
        match self {
            Subject::Stage => "stages",
            Subject::Key => "keys",
            Subject::Variable => "variables",
            Subject::Template => "templates",
            Subject::Rule => "rules",
            Subject::Word => "words",
        }
    }

    fn title(self, language: Language) -> &'static str {
        match self {
            Subject::Stage => language.word("a stage of ZeRO", "ZeRO 阶段"),
            Subject::Key => language.word("a key of DeepSpeed's config", "DeepSpeed 配置键"),
            Subject::Variable => language.word("a variable", "环境变量"),
            Subject::Template => language.word("a template", "模板"),
            Subject::Rule => language.word("a rule", "诊断规则"),
            Subject::Word => language.word("a word", "名词"),
        }
    }
}

/// What is known about one thing, before it is laid out.
struct Answer {
    name: String,
    subject: Subject,
    text: String,
    /// Label and text.
    rows: Vec<(&'static str, String)>,
}

impl Answer {
    fn render(&self, language: Language) -> String {
        let mut page = format!("{}  ({})\n", self.name, self.subject.title(language));
        page += &wrapped(&self.text, 2, WIDTH);
        if !self.rows.is_empty() {
            page.push('\n');
        }
        let width = self.rows.iter().map(|(label, _)| columns(label)).max().unwrap_or(0);
        for (label, text) in &self.rows {
            // An example is there to be pasted.
            let most = if *label == language.word("example", "示例") { usize::MAX } else { WIDTH };
            let lines = wrapped(text, width + 4, most);
            page += &format!("  {}  {}", padded(label, width), lines.trim_start());
        }
        page
    }
}

/// Everything that is known of a word.
pub(crate) fn explain(words: &str, search: &Search, host: &Host) -> Result<String, Problem> {
    let language = Language::of(host)?;
    let answers = answers(words, search, host, language);
    if answers.is_empty() {
        return Err(unknown(words, search));
    }
    if answers.len() > MOST_IN_FULL {
        let rows = answers.iter().map(|answer| format!("{}\n{}", answer.name, wrapped(&answer.text, 2, WIDTH)));
        return Ok(rows.collect());
    }
    let pages: Vec<String> = answers.iter().map(|answer| answer.render(language)).collect();
    Ok(pages.join("\n"))
}

fn answers(words: &str, search: &Search, host: &Host, language: Language) -> Vec<Answer> {
    let word = stage_of(words).map_or_else(|| words.to_string(), |stage| format!("stage {stage}"));
    let exact = entries().filter(|entry| entry.all_names().any(|name| name == word));
    let mut found: Vec<Entry> = exact.collect();
    if found.is_empty() {
        found = entries().filter(|entry| entry.is_meant_by(&word)).collect();
    }
    let mut answers: Vec<Answer> = found.iter().map(|entry| of_entry(entry, language)).collect();
    let upper = words.to_ascii_uppercase();
    if !answers.iter().any(|answer| answer.subject == Subject::Variable) {
        answers.extend(of_our_variable(&upper, language));
    }
    answers.extend(rules().filter(|(name, _)| *name == words).map(|(name, about)| Answer {
        name: name.to_string(),
        subject: Subject::Rule,
        text: about.to_string(),
        rows: of_allow(name, language),
    }));
    answers.extend(of_template(words, search, host, language));
    answers
}

/// `stage 3`, `zero3`, `ZeRO-3`, `z3`.
fn stage_of(words: &str) -> Option<char> {
    let plain: String = words.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let number = ["zerostage", "stage", "zero", "z"].iter().find_map(|prefix| plain.strip_prefix(prefix))?;
    let mut digits = number.chars();
    digits.next().filter(|digit| ('0'..='3').contains(digit) && digits.next().is_none())
}

fn of_entry(entry: &Entry, language: Language) -> Answer {
    let name = entry.name();
    let mut rows = Vec::new();
    let mut row = |english, chinese, text: Option<String>| {
        rows.extend(text.map(|text| (language.word(english, chinese), text)));
    };
    let line = |field: &str| entry.line(field).map(str::to_string);
    let text = |field: &str| entry.text(field, language).map(str::to_string);
    let others: Vec<_> = entry.all_names().skip(1).collect();
    row("also", "别名", (!others.is_empty()).then(|| others.join(", ")));
    row("type", "类型", line("type"));
    row("default", "默认值", line("default"));
    row("\"auto\"", "\"auto\"", of_auto(entry, language));
    row("stages", "适用阶段", line("stages"));
    row("since", "起始版本", line("since"));
    row("keys", "子键", keys_below(name));
    row("zlaunch", "zlaunch", of_table(entry, language));
    row("advice", "建议", text("advice"));
    row("careful", "注意", text("said"));
    row("example", "示例", line("example").map(|text| with_key(name, text)));
    Answer { name: name.to_string(), subject: entry.subject(), text: text("en").unwrap_or_default(), rows }
}

/// `=VALUE` in the file is the option that sets the key.
fn with_key(key: &str, example: String) -> String {
    if example.starts_with('=') { format!("--set {key}{example}") } else { example }
}

/// What becomes of an "auto" at this key.
fn of_auto(entry: &Entry, language: Language) -> Option<String> {
    let rule = auto::RULES.iter().find(|rule| rule.key == entry.name())?;
    let compared = language.word("; a value of your own must equal it", "；自己写的值必须与之相等");
    let becomes = entry.text("auto", language).unwrap_or(rule.doc);
    Some(format!("{becomes}{}", if rule.compared { compared } else { "" }))
}

/// The keys of a section, by their own names.
fn keys_below(section: &str) -> Option<String> {
    let below = |entry: &Entry| entry.name().strip_prefix(section)?.strip_prefix('.').filter(|key| !key.contains('.'));
    let keys: Vec<&str> = entries().filter_map(|entry| below(&entry)).collect();
    (!keys.is_empty()).then(|| keys.join(", "))
}

/// What zlaunch itself does with a variable.
fn of_table(entry: &Entry, language: Language) -> Option<String> {
    let var = vars::ALL.iter().find(|var| var.is_called(entry.name()))?;
    let english = || format!("{}: {}", var.does(), var.about);
    Some(entry.text("zlaunch", language).map_or_else(english, str::to_string))
}

/// A variable that only zlaunch's own tables know.
fn of_our_variable(name: &str, language: Language) -> Option<Answer> {
    let answer = |text: String, rows| Answer { name: name.to_string(), subject: Subject::Variable, text, rows };
    let option = launch::ALL.iter().find(|option| option.variable() == name);
    if let Some(option) = option {
        let example = format!("{} {}", option.flag(), option.value);
        return Some(answer(option.help.to_string(), vec![(language.word("same as", "等同于"), example)]));
    }
    let var = vars::ALL.iter().find(|var| var.is_called(name))?;
    Some(answer(format!("zlaunch {}: {}.", var.does(), var.about), Vec::new()))
}

fn of_allow(rule: &str, language: Language) -> Vec<(&'static str, String)> {
    let silenced = check::allowable().contains(&rule).then(|| format!("--allow {rule}"));
    silenced.map(|option| (language.word("silence", "忽略"), option)).into_iter().collect()
}

fn of_template(word: &str, search: &Search, host: &Host, language: Language) -> Option<Answer> {
    if !search.knows(word) {
        return None;
    }
    let spec = Sourced::new(word.to_string(), Source::Argument("explain".to_string()));
    let template = template::resolve(&spec, search, host).ok()?;
    let built_in = template.origin == Origin::BuiltIn && language == Language::Chinese;
    let origin = if built_in { "内置".to_string() } else { template.origin.to_string() };
    let mut rows = vec![(language.word("from", "来源"), origin)];
    if template.chain.len() > 1 {
        rows.push((language.word("extends", "继承"), template.chain[1..].join(" → ")));
    }
    for (name, value) in &template.env {
        rows.push((language.word("sets", "设置"), Secrets::of(host).setting(name, value)));
    }
    rows.push((language.word("print it", "查看内容"), format!("zlaunch templates {}", template.name)));
    let chinese = template.about_zh.filter(|_| language == Language::Chinese);
    let text = chinese.or(template.about).unwrap_or_default();
    Some(Answer { name: template.name, subject: Subject::Template, text, rows })
}

fn unknown(words: &str, search: &Search) -> Problem {
    let templates = search.names();
    let parts = |entry: Entry| entry.all_names().flat_map(|name| [Some(name), name.rsplit_once('.').map(|it| it.1)]);
    let known = entries()
        .flat_map(parts)
        .flatten()
        .chain(vars::ALL.iter().flat_map(|var| var.name.split(", ")))
        .chain(rules().map(|(name, _)| name))
        .chain(templates.iter().map(String::as_str));
    report::unknown_subject(words, report::nearest(words, known))
}

/// Everything that can be asked for.
pub(crate) fn subjects(search: &Search) -> String {
    let mut text = String::from("zlaunch explain WORD: the last part of a key is enough where it is the only one\n");
    for subject in Subject::LISTED {
        text += &format!("\n{}\n", subject.plural());
        match subject {
            Subject::Key => text += &keys_by_section(),
            _ => text += &wrapped(&names_of(subject, search).join(", "), 2, WIDTH),
        }
    }
    text
}

fn names_of(subject: Subject, search: &Search) -> Vec<String> {
    let mut names: Vec<String> = match subject {
        Subject::Template => search.names(),
        Subject::Rule => rules().map(|(name, _)| name.to_string()).collect(),
        _ => entries().filter(|entry| entry.subject() == subject).map(|entry| entry.name().to_string()).collect(),
    };
    if subject == Subject::Variable {
        names.extend(vars::ALL.iter().flat_map(vars::Var::names).map(str::to_string));
    }
    if subject != Subject::Template {
        names.sort();
    }
    names.dedup();
    names
}

/// The keys without a section in front, then a paragraph for each section.
fn keys_by_section() -> String {
    let keys: Vec<&str> = entries().filter(|it| it.subject() == Subject::Key).map(|entry| entry.name()).collect();
    let is_section =
        |key: &str| keys.iter().any(|other| other.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')));
    let mut sections: Vec<&str> = keys.iter().filter_map(|key| Some(key.rsplit_once('.')?.0)).collect();
    sections.sort_unstable();
    sections.dedup();
    let top: Vec<&str> = keys.iter().filter(|key| !key.contains('.') && !is_section(key)).copied().collect();
    let mut text = wrapped(&top.join(", "), 2, WIDTH);
    for section in sections {
        text += &format!("  {section}\n{}", wrapped(&keys_below(section).unwrap_or_default(), 4, WIDTH));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(word: &str, env: &[(&str, &str)]) -> Result<String, Problem> {
        let env = env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        explain(word, &Search::default(), &Host { env, ..Host::default() })
    }

    #[test]
    fn every_key_of_deepspeed_has_an_entry() {
        // Not the parameters of each kind of optimizer and scheduler, what is gone, and sections by another name.
        let other_names = ["bfloat16.", "tensor_parallel.tensor_parallel."];
        let keys: Vec<&str> = include_str!("../recorded/deepspeed-schema.txt")
            .lines()
            .map(|line| line.split('\t').collect::<Vec<_>>())
            .filter(|row| {
                !row[0].contains('@') && row[5] == "-" && !other_names.iter().any(|it| row[0].starts_with(it))
            })
            .map(|row| row[0])
            .collect();
        assert!(keys.len() > 300, "{}", keys.len());
        for key in keys {
            let found = entries().filter(|entry| entry.all_names().any(|name| name == key)).count();
            assert_eq!(found, 1, "{key}");
            assert!(asked(key, &[]).is_ok_and(|text| text.contains(key)), "{key}");
            if let Some((section, _)) = key.rsplit_once('.') {
                assert!(asked(section, &[]).is_ok(), "{section}");
            }
        }
    }

    #[test]
    fn every_key_that_may_be_auto_says_so() {
        for rule in auto::RULES.iter().filter(|rule| !rule.key.starts_with("amp.")) {
            assert!(asked(rule.key, &[]).is_ok_and(|text| text.contains("\n  \"auto\"")), "{}", rule.key);
        }
    }

    #[test]
    fn every_variable_option_rule_and_template_is_answered() {
        let options = launch::ALL.iter().map(crate::base::options::Opt::variable);
        let names = vars::ALL.iter().flat_map(vars::Var::names).map(str::to_string).chain(options);
        let names = names.chain(rules().map(|(name, _)| name.to_string()));
        for name in names.chain(Search::default().names()) {
            assert!(asked(&name, &[]).is_ok_and(|text| text.len() > 40), "{name}");
        }
    }

    #[test]
    fn every_rule_that_can_be_silenced_says_how() {
        for (name, _) in rules() {
            let words = ["zlaunch", "--allow", name, "true"].map(Into::into).to_vec();
            let taken = crate::cli::parse(words, &Host::default()).is_ok();
            let told = asked(name, &[]).is_ok_and(|text| text.contains(&format!("--allow {name}\n")));
            assert_eq!(told, taken, "{name}");
        }
        assert!(asked("large-bucket", &[]).is_ok_and(|text| text.contains("--allow large-bucket")));
    }

    #[test]
    fn every_entry_is_well_formed() {
        const FIELDS: &[&str] = &[
            "type",
            "default",
            "since",
            "stages",
            "en",
            "zh",
            "auto.zh",
            "zlaunch.zh",
            "advice",
            "advice.zh",
            "said",
            "said.zh",
            "example",
        ];
        for entry in entries() {
            let field = |line: &str| line.split_once(": ").map(|(field, _)| field.to_string());
            let fields: Vec<_> = entry.body.lines().map(field).collect();
            for (at, name) in fields.iter().enumerate() {
                let name = name.as_deref().unwrap_or_default();
                assert!(FIELDS.contains(&name), "{}: {name}", entry.names);
                assert!(!fields[at + 1..].contains(&fields[at]), "{}: {name} twice", entry.names);
            }
            assert!(entry.line("en").is_some_and(|text| text.len() > 10), "{}", entry.names);
            // Where the meaning is there in Chinese, so is all of it.
            let chinese = entry.line("zh").is_some();
            for field in ["advice", "said"] {
                let both = entry.line(&format!("{field}.zh")).is_some();
                assert_eq!(chinese && entry.line(field).is_some(), both, "{}: {field}", entry.names);
            }
            // So is what the tables say of it, unless that has no words.
            let sentence = |text: &str| {
                text.as_bytes()
                    .windows(3)
                    .any(|it| it[0].is_ascii_lowercase() && it[1] == b' ' && it[2].is_ascii_alphanumeric())
            };
            let auto = auto::RULES.iter().any(|rule| rule.key == entry.name() && sentence(rule.doc));
            assert_eq!(chinese && auto, entry.line("auto.zh").is_some(), "{}: auto.zh", entry.names);
            let ours = vars::ALL.iter().any(|var| var.is_called(entry.name()));
            assert_eq!(chinese && ours, entry.line("zlaunch.zh").is_some(), "{}: zlaunch.zh", entry.names);
            assert_eq!(entries().filter(|other| other.name() == entry.name()).count(), 1, "{}", entry.names);
        }
    }

    /// What the guides that people copy from explain.
    const COPIED: &str = "ZeRO offload gradient_checkpointing zero0 zero1 zero2 zero3 zero2_offload zero3_offload hf_zero2 \
        hf_zero3 zero3_lowmem fp16 bf16 optimizer optimizer.params scheduler scheduler.params zero_optimization \
        NPROC_PER_NODE OMP_NUM_THREADS CUDA_VISIBLE_DEVICES fp16.enabled fp16.loss_scale fp16.loss_scale_window fp16.initial_scale_power fp16.hysteresis \
        fp16.min_loss_scale bf16.enabled zero_optimization.stage zero_optimization.offload_optimizer \
        zero_optimization.offload_optimizer.device zero_optimization.offload_optimizer.pin_memory \
        zero_optimization.offload_optimizer.fast_init zero_optimization.offload_param \
        zero_optimization.offload_param.device zero_optimization.offload_param.pin_memory \
        zero_optimization.offload_param.buffer_count zero_optimization.offload_param.buffer_size \
        zero_optimization.offload_param.max_in_cpu zero_optimization.overlap_comm \
        zero_optimization.contiguous_gradients zero_optimization.sub_group_size zero_optimization.reduce_bucket_size \
        zero_optimization.stage3_prefetch_bucket_size zero_optimization.stage3_param_persistence_threshold \
        zero_optimization.stage3_max_live_parameters zero_optimization.stage3_max_reuse_distance \
        zero_optimization.stage3_gather_16bit_weights_on_model_save zero_optimization.allgather_partitions \
        zero_optimization.allgather_bucket_size zero_optimization.reduce_scatter \
        zero_optimization.round_robin_gradients zero_optimization.memory_efficient_linear train_batch_size \
        train_micro_batch_size_per_gpu gradient_accumulation_steps gradient_clipping steps_per_print \
        wall_clock_breakdown optimizer.type optimizer.params.lr optimizer.params.betas optimizer.params.eps \
        optimizer.params.weight_decay scheduler.type scheduler.params.warmup_min_lr scheduler.params.warmup_max_lr \
        scheduler.params.warmup_num_steps activation_checkpointing activation_checkpointing.partition_activations \
        activation_checkpointing.cpu_checkpointing activation_checkpointing.contiguous_memory_optimization \
        activation_checkpointing.number_checkpoints aio aio.block_size aio.queue_depth aio.single_submit \
        aio.overlap_events use_dynamic_tiling CUDA_DEVICE_MAX_CONNECTIONS CUDA_AUTO_BOOST DS_PIPE_RESERVE \
        DS_SKIP_UNUSED_PARAMETERS DS_REUSE_BUFFERS DS_USE_CUDA_TILING TORCH_DISTRIBUTED_DEBUG PYTORCH_CUDA_ALLOC_CONF";

    #[test]
    fn what_the_guides_explain_is_there_in_chinese() {
        let stages = ["stage 0", "stage 1", "stage 2", "stage 3"];
        for word in COPIED.split_whitespace().chain(stages) {
            let text = asked(word, &[("ZLAUNCH_LANG", "zh")]).unwrap();
            for page in text.split("\n\n").filter(|page| !page.starts_with("  ")) {
                assert!(page.lines().nth(1).is_some_and(|line| !line.is_ascii()), "{word}: {text}");
            }
            // No English sentence is left in any row but the example.
            let words = |line: &&str| {
                !line.contains("示例")
                    && line.split(' ').filter(|it| ["the", "is", "as", "of", "to"].contains(it)).count() > 1
            };
            assert_eq!(text.lines().find(words), None, "{word}");
        }
    }

    #[test]
    fn the_language_is_asked_for_as_the_c_library_does() {
        let chinese = |env: &[(&str, &str)]| asked("stage 3", env).unwrap().contains("切分");
        assert!(!chinese(&[]) && chinese(&[("LANG", "zh_CN.UTF-8")]));
        assert!(chinese(&[("LC_MESSAGES", "zh_TW"), ("LANG", "de_DE")]));
        assert!(!chinese(&[("LC_ALL", "C"), ("LANG", "zh_CN.UTF-8")]));
        assert!(!chinese(&[("ZLAUNCH_LANG", "en"), ("LC_ALL", "zh_CN.UTF-8")]));
        assert!(chinese(&[("LC_ALL", ""), ("LANG", "zh_CN.UTF-8")]));
        for value in ["zh", "ZH", "zh_CN", "zh-CN", "zh_CN.UTF-8", "zh-Hans", "cn", "Chinese", "中文"] {
            assert!(chinese(&[("ZLAUNCH_LANG", value)]), "{value}");
        }
        assert!(!chinese(&[("LANG", "de_DE.UTF-8")]) && !chinese(&[("ZLAUNCH_LANG", "en_US.UTF-8")]));
        assert!(
            asked("stage 3", &[("ZLAUNCH_LANG", "klingon")]).is_err_and(|problem| problem.what.contains("klingon"))
        );
    }

    #[test]
    fn stages_have_many_spellings() {
        for word in ["stage 3", "stage3", "zero3", "ZeRO-3", "zero stage 3", "z3", "zero_3"] {
            assert_eq!(stage_of(word), Some('3'), "{word}");
        }
        for word in ["stage", "zero", "stage 4", "stage 33", "stage3_prefetch_bucket_size", "3", "zero3_offload"] {
            assert_eq!(stage_of(word), None, "{word}");
        }
    }
}
