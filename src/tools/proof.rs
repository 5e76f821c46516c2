//! Proves fixes before they are shown: each is applied to the user's line, which is then planned and judged again. A fix
//! that leaves its problem, or brings a new one, is not shown.

use std::{ffi::OsString, ops::Range};

use super::tables::checked::OF_THE_COMMAND;
use crate::{
    base::shell,
    cli::{self, Asked, Refused, Tools},
    host::Host,
    judge::Judged,
    plan::Plan,
    report::{
        Problem, Severity,
        fix::{Change, Fix, Owner, run},
    },
    request::Launch,
};

/// How often a line is judged again, at most: about 50 ms.
const MOST_TRIALS: usize = 20;

/// A line with more problems takes longer to judge, and is not tried.
const MOST_PROBLEMS: usize = 1000;

/// The plan and what is to be said about it, or everything that is wrong.
pub(crate) fn accepted<'a>(
    mut judged: Judged<'a>,
    host: &Host,
    tools: &'static Tools,
) -> Result<(Plan<'a>, Vec<Problem>), Vec<Problem>> {
    if judged.plan().is_none() {
        Line::of_launch(&judged, host, tools).prove(&mut judged.problems);
    }
    judged.accepted()
}

/// The problems of the words, and those of the command behind them: all are told at once.
pub fn all_problems(refused: Refused, host: &Host) -> Vec<Problem> {
    let Refused {
        mut problems,
        meant,
    } = refused;
    let Some(mut launch) = meant.filter(|launch| !launch.command.is_empty()) else {
        return problems;
    };
    let mut found = match launch.read_piped_config(host) {
        Err(problem) => vec![problem],
        Ok(()) => Judged::new(&launch, host)
            .accepted()
            .err()
            .unwrap_or_default(),
    };
    found.retain(|problem| {
        // A template may be in a folder that is missing, which is known already.
        let is_known = problems.iter().any(|known| known.rule == problem.rule);
        OF_THE_COMMAND.contains(&problem.rule) && problem.severity == Severity::Error && !is_known
    });
    problems.extend(found);
    problems
}

pub(super) fn is_same(one: &Problem, other: &Problem) -> bool {
    one.rule == other.rule && one.what == other.what
}

/// A line that can be judged again.
#[derive(Clone)]
pub(crate) struct Line {
    /// The name of the program, of the sub-command, and our options.
    ours: Vec<OsString>,
    /// The command behind `--`, and that; nothing where it is not known where the command begins.
    command: Vec<OsString>,
    host: Host,
    tools: &'static Tools,
    /// Nothing was planned, or words were misplaced: a fix may bring other mistakes to light that were there before.
    is_partly_judged: bool,
}

impl Line {
    pub(crate) fn of_launch(judged: &Judged, host: &Host, tools: &'static Tools) -> Self {
        let launch = judged.understood().launch;
        let words = launch.words_with(&[], &launch.command);
        Line {
            is_partly_judged: judged.planned.is_err(),
            ..Self::of_words(words, host, tools)
        }
    }

    /// Words that were refused.
    pub(crate) fn of_words(mut words: Vec<OsString>, host: &Host, tools: &'static Tools) -> Self {
        let dashes = words.iter().position(|word| word == "--");
        Line {
            command: words.split_off(dashes.unwrap_or(words.len())),
            ours: words,
            host: host.clone(),
            tools,
            is_partly_judged: true,
        }
    }

    fn words(&self) -> Vec<OsString> {
        [&*self.ours, &*self.command].concat()
    }

    /// Leaves the fixes that hold, and those that cannot be tried here.
    pub(crate) fn prove(&self, problems: &mut [Problem]) {
        let before = problems.to_vec();
        let mut trials_left = MOST_TRIALS.min(MOST_PROBLEMS / before.len().max(1));
        for problem in problems.iter_mut().filter(|it| !it.fixes.is_empty()) {
            let fixes = std::mem::take(&mut problem.fixes.0).into_iter();
            let proven =
                fixes.filter_map(|fix| self.proven(fix, problem, &before, &mut trials_left));
            problem.fixes.0 = proven.collect();
            if problem.fixes.is_empty() {
                let page = format!("`zlaunch explain {}` says what it is about", problem.rule);
                problem.fixes = page.into();
            }
        }
    }

    /// The fix as it is shown, or `None` if it does not hold.
    fn proven(
        &self,
        fix: Fix,
        problem: &Problem,
        before: &[Problem],
        trials_left: &mut usize,
    ) -> Option<Fix> {
        // An option that is dropped may have a value or none: both are tried.
        let ways: &[bool] = if fix.drops() {
            &[false, true]
        } else {
            &[false]
        };
        for with_value in ways {
            if *trials_left == 0 {
                return Some(fix);
            }
            let Some((line, after)) = self.with(&fix, *with_value).and_then(Line::judged) else {
                return Some(fix);
            };
            *trials_left -= 1;
            let Some(more) = line.new_warnings(problem, before, &after) else {
                continue;
            };
            if more.is_empty() {
                return Some(line.pasted(fix));
            }
            let whole = more.into_iter().fold(fix.clone(), Fix::and);
            if whole.sets_keys_once()
                && let Some((line, after)) = self.with(&whole, *with_value).and_then(Line::judged)
                && let Some([]) = line.new_warnings(problem, before, &after).as_deref()
            {
                return Some(line.pasted(whole));
            }
        }
        None
    }

    /// The fixes of new warnings. `None` if the problem is still there, or there is a new error.
    fn new_warnings(
        &self,
        problem: &Problem,
        before: &[Problem],
        after: &[Problem],
    ) -> Option<Vec<Fix>> {
        let is_near = |found: &Problem| {
            let mut places = found.places.iter();
            found.rule == problem.rule && places.any(|place| problem.places.contains(place))
        };
        let mut fixes = Vec::new();
        for found in after {
            if is_same(found, problem) {
                return None;
            }
            let is_new = !before.iter().any(|known| is_same(known, found));
            let counts = !self.is_partly_judged || is_near(found);
            if is_new && counts && found.severity != Severity::Note {
                let fix = found.fixes.0.first();
                fixes.push(fix.filter(|_| found.severity == Severity::Warning)?.clone());
            }
        }
        Some(fixes)
    }

    /// The line and its problems, if it can be judged without doing anything.
    fn judged(self) -> Option<(Self, Vec<Problem>)> {
        let problems = match cli::parse(&self.words(), &self.host, self.tools) {
            Err(refused) => all_problems(refused, &self.host),
            Ok(Asked::Text(..)) => Vec::new(),
            Ok(Asked::Request(request)) => match request.into_launch() {
                Some(launch) if launch.command.is_empty() || has_pipe(&launch) => return None,
                Some(launch) => Judged::new(&launch, &self.host).problems,
                None => Vec::new(),
            },
        };
        Some((self, problems))
    }

    /// Options of two programs do not stand beside each other, so the whole line is shown.
    fn pasted(&self, mut fix: Fix) -> Fix {
        if !fix.is_of_one_program() {
            fix.changes = run(shell::text(&self.words())).changes;
        }
        fix
    }

    /// The line with this fix; a word that is dropped goes with its value. `None` if the fix is not about the line, or has
    /// something to fill in.
    fn with(&self, fix: &Fix, with_value: bool) -> Option<Self> {
        let mut line = self.clone();
        for change in &fix.changes {
            line.make(change, with_value)?;
        }
        Some(line)
    }

    fn make(&mut self, change: &Change, with_value: bool) -> Option<()> {
        match change {
            Change::Set(key, value) => self.add_option(&["--set", &format!("{key}={value}")]),
            Change::Unset(key) => self.add_option(&["--unset", key]),
            Change::Rename(key, to, value) => {
                self.add_option(&["--unset", key, "--set", &format!("{to}={value}")])
            }
            Change::SetVariable(name, value) => {
                self.add_option(&["--env", &format!("{name}={value}")])
            }
            Change::UnsetVariable(name) => self.add_option(&["--unset-env", name]),
            Change::Give {
                owner,
                option,
                value,
            } => self.give(*owner, option, value),
            Change::Drop { owner, word } => {
                let words = self.words_of(*owner);
                let mut given = find(words, &plain_words(word)?)?;
                if !with_value && !word.contains(' ') {
                    given.end = given.start + 1;
                }
                words.drain(given);
                Some(())
            }
            Change::RenameOption { owner, option, to } => {
                let words = self.words_of(*owner);
                let at = words.iter().position(|word| word == option.as_str())?;
                words.splice(at..=at, plain_words(to)?);
                Some(())
            }
            Change::Run(line) => self.run(line),
            Change::CorrectSetting(..)
            | Change::MoveToFront(_)
            | Change::Say(_)
            | Change::See(_) => None,
        }
    }

    fn give(&mut self, owner: Owner, option: &str, value: &str) -> Option<()> {
        let given = [option, value].map(OsString::from);
        let given = given[..if value.is_empty() { 1 } else { 2 }].to_vec();
        if is_to_be_filled_in(value) {
            return None;
        }
        let words = self.words_of(owner);
        if let Some(known) = find(words, &given[..1]) {
            words.splice(known, given);
            return Some(());
        }
        match owner {
            Owner::Zlaunch if option.starts_with('-') => return self.add_option(&[option, value]),
            // In a command that reads a run file.
            Owner::Trainer if !option.starts_with('-') => {
                words.push(format!("{option}={value}").into());
            }
            Owner::Trainer => words.extend(given),
            Owner::Zlaunch | Owner::Launcher => return None,
        }
        Some(())
    }

    fn run(&mut self, line: &str) -> Option<()> {
        let words = plain_words(line)?;
        let mut texts = words.iter().map(|word| word.to_string_lossy());
        if texts.any(|word| is_to_be_filled_in(&word)) {
            return None;
        }
        match words[0].to_str()? {
            "zlaunch" => {
                let mut line = Line::of_words(words, &self.host, self.tools);
                line.is_partly_judged = self.is_partly_judged || line.has_words_of(self);
                *self = line;
            }
            "export" => {
                let (name, value) = words.get(1)?.to_str()?.split_once('=')?;
                self.host.env.insert(name.into(), value.into());
            }
            "unset" => {
                self.host.env.retain(|name, _| !words[1..].contains(name));
            }
            _ => return None,
        }
        Some(())
    }

    /// The same words in another order.
    fn has_words_of(&self, other: &Line) -> bool {
        let sorted = |line: &Line| {
            let mut words = line.words().split_off(1);
            words.sort();
            words
        };
        sorted(self) == sorted(other)
    }

    /// In front of the command, or before all other options.
    fn add_option(&mut self, words: &[&str]) -> Option<()> {
        if words.iter().any(|word| is_to_be_filled_in(word)) {
            return None;
        }
        let at = if self.command.is_empty() {
            let is_named = |name: &str| self.ours.get(1).is_some_and(|word| word == name);
            1 + usize::from(self.tools.names().any(is_named))
        } else {
            self.ours.len()
        };
        let words = words.iter().filter(|word| !word.is_empty());
        self.ours.splice(at..at, words.map(OsString::from));
        Some(())
    }

    fn words_of(&mut self, owner: Owner) -> &mut Vec<OsString> {
        match owner {
            Owner::Zlaunch => &mut self.ours,
            Owner::Trainer | Owner::Launcher => &mut self.command,
        }
    }
}

/// Where the given words stand. An option alone stands for its value too.
fn find(words: &[OsString], given: &[OsString]) -> Option<Range<usize>> {
    let option = given[0].to_str()?;
    if given.len() > 1 || !option.starts_with('-') {
        let mut windows = words.windows(given.len());
        let at = windows.position(|window| window == given)?;
        return Some(at..at + given.len());
    }
    let joined = format!("{option}=");
    let is_joined = |word: &OsString| word.to_string_lossy().starts_with(&joined);
    let at = words
        .iter()
        .position(|word| word == option || is_joined(word))?;
    let has_value = !is_joined(&words[at])
        && words.get(at + 1).is_some_and(|next| {
            let next = next.to_string_lossy();
            !next.starts_with('-') || next.parse::<f64>().is_ok()
        });
    Some(at..at + 1 + usize::from(has_value))
}

/// It can be read once, and was.
fn has_pipe(launch: &Launch) -> bool {
    let config = launch.deepspeed.as_ref();
    config.is_some_and(|config| config.value == "-" || config.value.starts_with("/dev/"))
}

fn plain_words(text: &str) -> Option<Vec<OsString>> {
    let words = shell::plain_words(text)?.into_iter();
    Some(words.map(OsString::from).collect())
}

/// `--hostfile FILE`, `zlaunch …`, and what a shell expands: `$USER`, `~/ds.json`.
fn is_to_be_filled_in(word: &str) -> bool {
    let value = word.split_once('=').map_or(word, |(_, value)| value);
    let is_name = !value.is_empty() && value.chars().all(|c| c.is_ascii_uppercase());
    is_name || word.contains(['…', '$', '~'])
}
