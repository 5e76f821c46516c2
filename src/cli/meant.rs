//! Words in the place of the command that are no program: a config, a template, a run file, a sub-command behind
//! options. What was probably meant is said as a command to paste.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::base::options::{Arity, CHECK, DOCTOR, FIT, SUBCOMMANDS, TEMPLATES, launch, launch_option};
use crate::base::shell;
use crate::base::size::parse_count;
use crate::config::template::Search;
use crate::host::Host;
use crate::report::{self, Problem};

/// Words of other launchers' command lines that zlaunch has no need of.
const NEEDLESS: &[&str] = &["launch", "run", "exec", "start", "train"];

/// What comes behind `swift`.
const SWIFT: &[&str] = &["sft", "pt", "rlhf"];

/// Words for what `zlaunch templates` does.
const LISTS: &[&str] = &["list", "ls", "configs"];

/// What was probably meant, where the first word of the command is no program. `mode` is the sub-command in front.
pub(super) fn meant(mode: &str, options: &[OsString], command: &[OsString], host: &Host) -> Option<Problem> {
    let (first, rest) = command.split_first()?;
    let word = first.to_str()?;
    let (more, rest) = rest.split_at(count_options(rest));
    let options = without_dashes(options).into_iter().chain(without_dashes(more)).collect();
    let (what, line) = guess(word, &Line { mode, options, rest: without_dashes(rest), host })?;
    // A program of that name is a command like any other.
    host.find_program(first).is_none().then(|| report::meant(word, &what, &line))
}

/// The words around the first one of the command.
struct Line<'a> {
    mode: &'a str,
    options: Vec<&'a OsStr>,
    rest: Vec<&'a OsStr>,
    host: &'a Host,
}

impl Line<'_> {
    fn rest_as_text(&self) -> String {
        let words: Vec<OsString> = self.rest.iter().map(OsString::from).collect();
        shell::line(&words).to_string_lossy().into_owned()
    }

    /// How many words behind the configs are options; 0 where the rest is something else.
    fn options_behind_configs(&self) -> usize {
        let is_option = |word: &&OsStr| word.as_encoded_bytes().starts_with(b"-");
        let configs =
            self.rest.iter().take_while(|word| Path::new(word).extension().is_some_and(|it| it == "json")).count();
        if self.rest.get(configs).is_some_and(is_option) { self.rest.len() - configs } else { 0 }
    }

    /// The same line with those options in front.
    fn options_first(&self, first: &str) -> String {
        let (configs, options) = self.rest.split_at(self.rest.len() - self.options_behind_configs());
        let words = ["zlaunch", self.mode].map(OsStr::new).into_iter().chain(self.options.iter().copied());
        let words = words.chain(options.iter().copied()).chain([OsStr::new(first)]).chain(configs.iter().copied());
        shell::line(&words.map(OsString::from).collect::<Vec<_>>()).to_string_lossy().into_owned()
    }

    /// `"swift sft --model x"` between quotes.
    fn is_quoted_command(&self, word: &str) -> bool {
        // Nearly every word has no space, and is not looked at further.
        let program = if word.contains(' ') { word.split_whitespace().next() } else { return false };
        let plain = !word.contains(['"', '\'', '\\', '$', '|', '&', ';', '<', '>']);
        plain && program.is_some_and(|program| self.host.find_program(OsStr::new(program)).is_some())
    }

    /// The whole line with these words in front of the options and of the command.
    fn with(&self, mode: &str, option: &[&str], program: &[&str]) -> String {
        let word = |word: &&str| OsString::from(word);
        let mut line = vec![OsString::from("zlaunch")];
        line.extend((!mode.is_empty()).then(|| mode.into()));
        line.extend(self.options.iter().map(OsString::from).chain(option.iter().map(word)));
        // Configs and templates stand alone.
        let alone = [CHECK.name, TEMPLATES.name].contains(&mode) && self.rest.is_empty();
        line.extend((!alone && program.len() + self.rest.len() > 0).then(|| "--".into()));
        line.extend(program.iter().map(word).chain(self.rest.iter().map(OsString::from)));
        shell::line(&line).to_string_lossy().into_owned()
    }
}

/// `Qwen/Qwen3-8B`, or a folder.
fn is_model(word: &str) -> bool {
    word.matches('/').count() == 1 && !word.starts_with(['.', '/', '-'])
}

fn guess(word: &str, line: &Line) -> Option<(String, String)> {
    let ending = Path::new(word).extension().and_then(OsStr::to_str);
    let is_template = || Search::default().knows(word);
    let subcommand = SUBCOMMANDS.iter().any(|known| known.name == word) || word == "help";
    let guessed = match ending {
        Some("json") if line.mode == CHECK.name && line.options_behind_configs() > 0 => {
            ("a config, and options come before it", line.options_first(word))
        }
        Some("json") if line.rest.is_empty() => ("a config, not a command", line.with(CHECK.name, &[], &[word])),
        Some("json") => ("a config, not a command", line.with(line.mode, &["--deepspeed", word], &[])),
        Some("yaml" | "yml") => {
            ("a run file, which needs its trainer in front", line.with(line.mode, &[], &["swift", "sft", word]))
        }
        Some("sh") if line.host.absolute(Path::new(word)).is_file() => {
            ("a script that cannot be executed", line.with(line.mode, &[], &["bash", word]))
        }
        _ if line.mode == CHECK.name && line.rest.is_empty() && line.host.absolute(Path::new(word)).is_dir() => {
            ("a folder; name its configs", format!("zlaunch check {}/*.json", word.trim_end_matches('/')))
        }
        _ if subcommand && [CHECK.name, DOCTOR.name, FIT.name].contains(&word) => {
            ("a sub-command, which comes before the options", line.with(word, &[], &[]))
        }
        _ if subcommand => ("a sub-command, which comes first", format!("zlaunch {word} {}", line.rest_as_text())),
        _ if is_template() && line.rest.is_empty() => {
            ("a template, not a command", line.with(TEMPLATES.name, &[], &[word]))
        }
        _ if is_template() => ("a template, not a command", line.with(line.mode, &["--deepspeed", word], &[])),
        _ if line.mode == FIT.name && parse_count(word).is_some() => {
            ("a number of parameters", line.with(line.mode, &["--params", word], &[]))
        }
        _ if line.mode == FIT.name && is_model(word) => ("a model", line.with(line.mode, &["--model", word], &[])),
        _ if SWIFT.contains(&word) => {
            ("a sub-command of swift, not a command", line.with(line.mode, &[], &["swift", word]))
        }
        _ if line.is_quoted_command(word) => {
            let words: Vec<&str> = word.split_whitespace().collect();
            ("one word: leave out the quotes", line.with(line.mode, &[], &words))
        }
        _ if LISTS.contains(&word) && line.rest.is_empty() => ("not a sub-command", "zlaunch templates".to_string()),
        _ if word == "version" && line.rest.is_empty() => ("not a sub-command", "zlaunch --version".to_string()),
        _ if NEEDLESS.contains(&word) && !line.rest.is_empty() => {
            ("not a sub-command: without one, zlaunch launches", line.with(line.mode, &[], &[]))
        }
        _ => return None,
    };
    Some((guessed.0.to_string(), guessed.1.trim_end().to_string()))
}

/// How many words are options of ours, as if the word in front of them were not there.
fn count_options(words: &[OsString]) -> usize {
    if let Some(dashes) = words.iter().position(|word| word == "--") {
        return dashes;
    }
    let short = |word: &str| launch::ALL.iter().find(|option| option.short.is_some_and(|it| word == format!("-{it}")));
    let option_of = |word: &OsString| {
        let word = word.to_str()?;
        word.strip_prefix("--").and_then(launch_option).or_else(|| short(word))
    };
    let mut count = 0;
    while let Some(option) = words.get(count).and_then(option_of) {
        let joined = words[count].to_string_lossy().contains('=');
        count += 1 + usize::from(option.arity != Arity::Switch && !joined);
    }
    count.min(words.len())
}

fn without_dashes(words: &[OsString]) -> Vec<&OsStr> {
    words.iter().map(OsString::as_os_str).filter(|word| *word != "--").collect()
}
