//! The statement behind a message: the `raise`, `assert` or line of a log in the installed packages, and the conditions around it. Python is
//! not parsed: its tokens tell where statements begin, and their indentation what stands around them.

use std::{
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

use memchr::memmem::Finder;

use super::{
    log::{Found, Frame},
    tables::packages::{
        BLOCKS, LONG_FOR_PYTHON, NO_CAUSE, OF_PYTHON, OF_SCRIPTS, PACKAGES, PIECES, SHORTEST,
    },
};
use crate::command::{
    python::Python,
    script::tokens::{Token, tokens},
};

/// A statement of an installed package.
pub struct Said {
    /// Which of the lines of the log it says.
    pub line_of_log: usize,
    /// It says it, and did not only fail, itself or in what it calls.
    pub says_it: bool,
    /// `accelerate/state.py`.
    pub file: String,
    pub line: usize,
    pub function: String,
    /// Its text, with a NUL where a value is filled in.
    pub text: String,
    /// The innermost first.
    pub conditions: Vec<Condition>,
}

pub struct Condition {
    pub text: String,
    /// False for that of an `assert`, and for an `if` whose `else` it is.
    pub holds: bool,
}

/// In the file that the traceback names, else in all packages, if wanted; without a text of its own, the statement that failed.
pub fn find(found: &Found, python: &Python, everywhere: bool) -> Option<Said> {
    // Below an exception there are only lists.
    let count = if found.is_exception {
        1
    } else {
        found.lines.len()
    };
    let messages: Vec<Message> = found.lines[..count]
        .iter()
        .map(|line| Message::of(line))
        .collect();
    // A traceback that was cut off has no message.
    let first = messages
        .first()
        .filter(|_| !found.lines[0].contains("Traceback (most recent call last)"))?;
    // Whoever asked for an attribute is to blame, not what looked for it.
    let named = found
        .frames
        .iter()
        .enumerate()
        .filter(|it| it.1.function != "__getattr__")
        .find_map(|(depth, frame)| {
            let inside = inside(&frame.file)?;
            Some((
                frame,
                depth == 0,
                fs::read(python.file(&inside)?).ok()?,
                inside,
            ))
        });
    let mut below = None;
    if let Some((frame, is_last, text, inside)) = named {
        let source = Source::new(&text);
        below = source
            .failed(frame)
            .map(|at| source.failed_at(at, &inside, is_last));
        if !below.as_ref().is_some_and(|it| it.says_it) {
            below = best(source.all(first, &inside), Some(&frame.function)).or(below);
        }
        if below.as_ref().is_some_and(|it| it.says_it) {
            return below;
        }
    }
    // A long sentence is none of Python's own.
    let is_of_python = first.exception.is_some_and(|it| OF_PYTHON.contains(&it))
        && first.pairs.len() < LONG_FOR_PYTHON;
    // What a script calls last is none of the packages' Python.
    let is_outside = found
        .frames
        .first()
        .is_some_and(|it| inside(&it.file).is_none());
    if !everywhere || is_outside || is_of_python || messages.iter().all(|it| it.pieces.is_empty()) {
        return below;
    }
    let mut all = vec![];
    for (name, text) in texts(python, |_| true) {
        for (line, message) in messages.iter().enumerate() {
            if message.is_possible(&text) {
                let mut places = Source::new(&text).all(message, &name);
                for (_, said) in &mut places {
                    said.line_of_log = line;
                }
                all.extend(places);
            }
        }
    }
    best(all, None).or(below)
}

/// The files of packages, by their names within them.
fn texts(
    python: &Python,
    is_wanted: impl Fn(&str) -> bool,
) -> impl Iterator<Item = (String, Vec<u8>)> {
    PACKAGES
        .iter()
        .filter(move |it| is_wanted(it.0))
        .filter_map(|it| python.folder(it.0))
        .flat_map(|folder| sources(&folder))
        .filter_map(|file| Some((inside(file.to_str()?)?, fs::read(&file).ok()?)))
}

/// Of those that have most of the message, the one in this function, else the first.
fn best(mut all: Vec<(usize, Said)>, function: Option<&str>) -> Option<Said> {
    let most = all.iter().map(|it| it.0).max()?;
    all.retain(|it| it.0 == most);
    let here = function.and_then(|name| all.iter().position(|it| it.1.function == name));
    Some(all.swap_remove(here.unwrap_or(0)).1)
}

/// The class of a package that was asked for something it does not have.
pub fn class_asked(message: &str, python: &Python) -> Option<String> {
    let class = match message.split_once("() got an unexpected keyword argument '") {
        Some((callee, _)) => callee.rsplit(' ').next()?.split_once('.')?.0,
        None => {
            let (object, _) = message.split_once("' object has no attribute '")?;
            object.rsplit('\'').next()?
        }
    };
    if OF_SCRIPTS.contains(&class) {
        return None;
    }
    let defines = |line: &str| {
        let name = line.trim_start().strip_prefix("class ");
        let rest = name.and_then(|name| name.strip_prefix(class));
        rest.is_some_and(|rest| rest.starts_with(['(', ':']))
    };
    texts(python, |it| it != "torch").find_map(|(path, text)| {
        let at = str::from_utf8(&text).ok()?.lines().position(defines)?;
        Some(format!("`{class}` is in {path}, line {}", at + 1))
    })
}

/// `accelerate/state.py`, of a path in any environment or checkout.
fn inside(path: &str) -> Option<String> {
    let at = PACKAGES
        .iter()
        .filter_map(|it| path.rfind(&format!("/{}/", it.0)));
    Some(path[at.min()? + 1..].to_string())
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|it| it.path())
        .flat_map(|path| match path.extension() {
            _ if NO_CAUSE.iter().any(|name| path.ends_with(name)) => vec![],
            Some(end) if end == "py" => vec![path],
            None => sources(&path),
            _ => vec![],
        })
        .collect()
}

struct Message<'a> {
    /// Without its module.
    exception: Option<&'a str>,
    pieces: Vec<Finder<'a>>,
    pairs: Vec<[&'a str; 2]>,
}

impl<'a> Message<'a> {
    fn of(line: &'a str) -> Self {
        let name = |line: &'a str| line.split_once(": ").filter(|it| !it.0.contains(' '));
        let is_exception = |it: &(&str, &str)| it.0.ends_with("Error");
        // Behind the name of a machine, too.
        let named = name(line)
            .and_then(|it| name(it.1))
            .filter(is_exception)
            .or(name(line));
        let text = named.map_or(line, |it| it.1).trim_end_matches('.');
        // A number or a name in quotes was not in the source.
        let plain = pieces(text, 3, "'\"`\\{}<>[]=/%");
        // Short messages have few words of their own.
        let plain = if plain.is_empty() {
            pieces(text, 2, "{}[]%")
        } else {
            plain
        };
        let step = plain.len().div_ceil(PIECES).max(1);
        Message {
            exception: named.and_then(|it| it.0.rsplit('.').next()),
            pieces: plain.into_iter().step_by(step).map(Finder::new).collect(),
            pairs: pairs(text),
        }
    }

    fn is_possible(&self, text: &[u8]) -> bool {
        self.pieces.iter().any(|it| it.find(text).is_some())
    }
}

/// All that have so many words, if they are long enough and plain.
fn pieces<'a>(text: &'a str, words: usize, odd: &str) -> Vec<&'a str> {
    let starts = [0]
        .into_iter()
        .chain(text.match_indices(' ').map(|it| it.0 + 1));
    let ends = text.match_indices(' ').map(|it| it.0).chain([text.len()]);
    let pieces = starts.zip(ends.skip(words - 1)).map(|it| &text[it.0..it.1]);
    let is_odd = |c: char| c.is_ascii_digit() || odd.contains(c);
    let is_plain = |it: &&str| it.len() >= SHORTEST && !it.contains(is_odd);
    pieces.filter(is_plain).collect()
}

/// A file of a package.
struct Source<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
}

impl<'a> Source<'a> {
    fn new(text: &'a [u8]) -> Self {
        let text = str::from_utf8(text).unwrap_or_default();
        Source {
            text,
            tokens: tokens(text),
        }
    }

    /// The statements that may say the message.
    fn all(&self, message: &Message, file: &str) -> Vec<(usize, Said)> {
        let mut places: Vec<Range<usize>> = message
            .pieces
            .iter()
            .flat_map(|piece| piece.find_iter(self.text.as_bytes()))
            .filter_map(|byte| self.statement(|token| token.at <= byte))
            .collect();
        places.sort_by_key(|at| at.start);
        places.dedup();
        places
            .into_iter()
            .filter_map(|at| Some((self.score(&at, message)?, self.said(at, file))))
            .collect()
    }

    /// The tokens of the statement that the last of these tokens is in.
    fn statement(&self, is_before: impl Fn(&Token) -> bool) -> Option<Range<usize>> {
        let begins = |token: &Token| token.indent.is_some();
        let (before, behind) = self.tokens.split_at(self.tokens.partition_point(is_before));
        let length = behind.iter().position(begins).unwrap_or(behind.len());
        Some(before.iter().rposition(begins)?..before.len() + length)
    }

    fn code(&self, at: &Range<usize>) -> &'a str {
        let last = &self.tokens[at.end - 1];
        &self.text[self.tokens[at.start].at..last.at + last.text.len()]
    }

    /// How many pairs of words a statement and a message have in common.
    fn score(&self, at: &Range<usize>, message: &Message) -> Option<usize> {
        let code = self.code(at);
        // The documentation of a class or a function; and of an attribute that is missing, Python says the same.
        if code.trim_start_matches('r').starts_with('"') || code.contains("object has no attribute")
        {
            return None;
        }
        let text = literals(&self.tokens[at.clone()]);
        let own = pairs(&text);
        let same = own
            .iter()
            .filter(|pair| message.pairs.contains(*pair))
            .count();
        let is_share = |all: usize, tenths: usize| 10 * same >= tenths * all;
        let mut words = code.split([' ', '(']);
        let raised = match words.next() {
            Some("raise") => words.next().and_then(|name| name.rsplit('.').next()),
            Some("assert") => Some("AssertionError"),
            _ => None,
        };
        let is_meant = match (raised, message.exception) {
            // Versions differ in the class of an exception, but an AssertionError with the same words is another one's:
            // torch repeats those of its C++ so.
            (Some(_), Some(exception)) => {
                raised == message.exception
                    || same > 5
                        && is_share(own.len(), 8)
                        && raised != Some("AssertionError")
                        && !OF_PYTHON.contains(&exception)
            }
            // `message = "…"`, and below: `raise ValueError(message)`.
            // Or a function raises it: `self._log_and_throw(ValueError, "…")`.
            (None, Some(exception)) => {
                let next = self.tokens.get(at.end);
                let below = next.map_or("", |token| &self.text[token.at..]);
                code.contains(exception)
                    || code.contains(" = ") && below.lines().take(4).any(|it| it.contains("raise "))
            }
            (_, None) => same > 2 && !code.contains("help"),
        };
        let run = own
            .split(|pair| !message.pairs.contains(pair))
            .map(<[_]>::len)
            .max()
            .unwrap_or_default();
        let told = message.pairs.iter().filter(|pair| own.contains(pair));
        let told = 10 * told.count();
        let of_message = |tenths: usize| told >= tenths * message.pairs.len();
        // Other words before the same ones are another message. Before the text of an `assert` there may be other texts.
        let begins = !code.starts_with("raise")
            || own.first().is_some_and(|it| message.pairs.contains(it))
            || is_share(own.len(), 9);
        let is_first = own.first() == message.pairs.first();
        let is_whole = same > 1 && same == own.len() && (is_first || of_message(6));
        let is_enough = begins && run > 3;
        let is_most = is_share(own.len(), 6) && (of_message(5) || same > 4);
        // A message may be cut, so that the source has more.
        let is_it = is_whole || is_enough && (is_most || of_message(7));
        (is_meant && is_it).then_some(same)
    }

    /// The statement of a frame, if the installed version has it on the same line.
    fn failed(&self, frame: &Frame) -> Option<Range<usize>> {
        let line = self.text.lines().nth(frame.line.checked_sub(1)?)?;
        let is_it = line.trim() == frame.code && !frame.code.is_empty();
        self.statement(|token| token.line <= frame.line)
            .filter(|_| is_it)
    }

    /// What failed without a text that is known: a `raise` or an `assert`, the last statement of the traceback, or something
    /// below it.
    fn failed_at(&self, at: Range<usize>, file: &str, is_last: bool) -> Said {
        let first = self.tokens[at.start];
        let mut said = self.said(at, file);
        said.says_it = first.is("raise") && is_last || first.is("assert");
        if !said.says_it {
            said.text.clear();
        }
        if !said.says_it && !is_last {
            said.conditions.clear();
        }
        said
    }

    fn said(&self, at: Range<usize>, file: &str) -> Said {
        let own = &self.tokens[at.clone()];
        let mut said = Said {
            line_of_log: 0,
            says_it: true,
            file: file.to_string(),
            line: own[0].line,
            function: String::new(),
            text: literals(own),
            conditions: vec![],
        };
        if own[0].is("assert") {
            // The text stands behind a comma.
            let comma = own.iter().position(|it| it.depth == 0 && it.is(","));
            let end = comma.map_or(at.end, |comma| at.start + comma);
            said.add(self.code(&(at.start + 1..end)), false);
        }
        let mut depth = own[0].indent;
        let mut has_if = false;
        let begins = |token: &&Token| token.indent.is_some() && BLOCKS.contains(&token.text);
        for first in self.tokens[..at.start].iter().rev().filter(begins) {
            let is_around = first.indent < depth;
            let is_branch = has_if && first.indent == depth;
            if !is_around && !is_branch {
                continue;
            }
            let header = self.statement(|token| token.at <= first.at);
            let header = joined(header.map_or("", |header| self.code(&header)));
            let header = header.trim_end_matches(':');
            if let Some(name) = header.trim_start_matches("async ").strip_prefix("def ") {
                said.function = name.split('(').next().unwrap_or_default().to_string();
                break;
            }
            // The branches above an `else` were not taken.
            if let Some(condition) = header.trim_start_matches("el").strip_prefix("if") {
                said.add(condition, is_around);
            }
            has_if = first.text.starts_with("el");
            depth = first.indent;
        }
        said
    }
}

impl Said {
    fn add(&mut self, condition: &str, holds: bool) {
        let text = joined(condition);
        self.conditions.push(Condition { text, holds });
    }
}

/// Two words beside each other, neither of which is filled in.
fn pairs(text: &str) -> Vec<[&str; 2]> {
    let words: Vec<&str> = text
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| "`\"'.,:;()<>!?".contains(c)))
        .collect();
    let is_filled = |word: &&str| word.is_empty() || word.contains(['\0', '%']);
    words
        .windows(2)
        .filter(|pair| !pair.iter().any(is_filled))
        .map(|pair| [pair[0], pair[1]])
        .collect()
}

/// The texts in a statement, with a NUL where a value is filled in.
fn literals(statement: &[Token]) -> String {
    let mut text = String::new();
    for token in statement {
        let mut depth = 0;
        let mut chars = token.string().unwrap_or_default().chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => {
                    text.extend(chars.next().filter(|c| !c.is_alphanumeric()).or(Some(' ')));
                }
                '{' => depth += 1,
                '}' => {
                    depth -= 1;
                    text.push('\0');
                }
                _ if depth <= 0 => text.push(c),
                _ => {}
            }
        }
        text += if token.is(",") { " " } else { "" };
    }
    joined(&text)
}

/// On one line, without comments.
fn joined(text: &str) -> String {
    text.lines()
        .map(|line| line.split(" # ").next().unwrap_or_default())
        .flat_map(|line| line.trim_end_matches('\\').split_whitespace())
        .collect::<Vec<_>>()
        .join(" ")
}
