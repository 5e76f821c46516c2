//! Proves fixes before they are shown: each is applied to the user's line, which is then planned and judged again. A fix
//! that leaves its problem, or brings a new one, is not shown.

use std::{ffi::OsString, ops::Range};

use super::tables::checked::{MOST_PROBLEMS, MOST_TRIALS, OF_THE_COMMAND};
use crate::{
    base::shell,
    cli::{self, Asked, Refused, Tools},
    host::Host,
    judge::Judged,
    plan::Plan,
    report::{RuleSubject, fix::Change, prelude::*},
    request::Launch,
};

/// The plan and what is to be said about it, or everything that is wrong.
pub fn accepted<'a>(
    mut judged: Judged<'a>,
    host: &Host,
    tools: &'static Tools,
) -> Result<(Plan<'a>, Problems), Problems> {
    if judged.plan().is_none() {
        Line::of_launch(&judged, host, tools).prove(&mut judged.problems);
    }
    judged.accepted()
}

/// The problems of the words, and those of the command behind them: all are told at once.
pub fn all_problems(refused: Refused, host: &Host) -> Problems {
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
    for known in &mut problems {
        // An option that nobody has is not moved.
        if let Some(it) = found
            .iter()
            .find(|it| it.places == known.places && it.fixes.0[0].is_advice())
        {
            known.fixes = it.fixes.clone();
        }
    }
    problems.extend(found);
    problems
}

pub fn is_same(one: &Problem, other: &Problem) -> bool {
    one.rule == other.rule && one.what == other.what
}

/// Something that a fix changes, and that can be judged again.
pub trait Trial: Sized {
    /// `with_value`: an option that is dropped goes with its value.
    fn with(&self, fix: &Fix, with_value: bool) -> Tried<Self>;

    /// A fix may bring other mistakes to light that were there before.
    fn is_partly_judged(&self) -> bool {
        false
    }

    /// The fix as it is shown; `self` is what it led to.
    fn pasted(&self, fix: Fix) -> Fix {
        fix
    }
}

pub enum Tried<T> {
    /// It has something to fill in, or is about something else.
    NotHere,
    Impossible,
    Judged(T, Problems),
}

/// Leaves the fixes that hold, and those that cannot be tried here.
pub fn prove(subject: &impl Trial, problems: &mut [Problem]) {
    let mut proof = Proof {
        subject,
        before: problems.to_vec(),
        trials_left: MOST_TRIALS.min(MOST_PROBLEMS / problems.len().max(1)),
        hidden_by: vec![None; problems.len()],
    };
    let corrects = |problem: &Problem| problem.fixes.0.first().is_some_and(Fix::corrects_a_name);
    let (corrected, others): (Vec<usize>, Vec<usize>) =
        (0..problems.len()).partition(|at| corrects(&problems[*at]));
    for at in corrected {
        proof.correct(at, &mut problems[at]);
    }
    for at in others {
        match proof.hidden_by[at] {
            // Its own fix would only hide the misspelling.
            Some(misspelt) => problems[at].fixes = problems[misspelt].fixes.clone(),
            None => _ = proof.leave_what_holds(at, &mut problems[at]),
        }
    }
}

struct Proof<'a, T> {
    subject: &'a T,
    before: Problems,
    trials_left: usize,
    /// The misspelling without which a problem would not be there.
    hidden_by: Vec<Option<usize>>,
}

impl<T: Trial> Proof<'_, T> {
    fn correct(&mut self, at: usize, problem: &mut Problem) {
        let meant = problem.fixes.0[0].corrected().map(meant);
        let is_proven = self.leave_what_holds(at, problem);
        // What it brings to light is to be decided, but nothing else was meant.
        if let (false, Some(meant)) = (is_proven, meant) {
            problem.fixes = meant.into();
        }
    }

    /// True if the first fix holds.
    fn leave_what_holds(&mut self, at: usize, problem: &mut Problem) -> bool {
        let tried: Vec<Option<Fix>> = std::mem::take(&mut problem.fixes.0)
            .into_iter()
            .map(|fix| self.proven(fix, at))
            .collect();
        let is_first_proven = matches!(tried[..], [Some(_), ..]);
        problem.fixes.0 = tried.into_iter().flatten().collect();
        is_first_proven
    }

    /// The fix as it is shown, or `None` if it does not hold.
    fn proven(&mut self, fix: Fix, at: usize) -> Option<Fix> {
        // An option that is dropped may have a value or none: one that stays could become another of the option before it.
        let ways: &[bool] = if fix.drops() {
            &[true, false]
        } else {
            &[false]
        };
        for with_value in ways {
            if self.trials_left == 0 {
                return Some(fix);
            }
            let (changed, after) = match self.subject.with(&fix, *with_value) {
                Tried::NotHere => return Some(fix),
                Tried::Impossible => continue,
                Tried::Judged(changed, after) => (changed, after),
            };
            self.trials_left -= 1;
            let more = self.new_warnings(at, &changed, &after);
            if fix.corrects_a_name() {
                self.find_hidden(at, &after, more.is_some());
            }
            let Some(more) = more else { continue };
            // A command before the line is no part of it.
            if more.is_empty() || fix.is_command() {
                return Some(changed.pasted(fix));
            }
            let whole = more.into_iter().fold(fix.clone(), Fix::and);
            if whole.keeps_what_it_sets()
                && let Tried::Judged(changed, after) = self.subject.with(&whole, *with_value)
                && let Some([]) = self.new_warnings(at, &changed, &after).as_deref()
            {
                return Some(changed.pasted(whole));
            }
        }
        None
    }

    /// The problems that are gone once the name of problem `at` is corrected.
    fn find_hidden(&mut self, at: usize, after: &[Problem], is_proven: bool) {
        let is_of_check = |problem: &Problem| problem.rule.subject() == RuleSubject::Check;
        // A line that is refused for another reason is not judged to its end.
        if !is_proven && !after.iter().any(is_of_check) {
            return;
        }
        let is_there = |known: &Problem| after.iter().any(|found| is_same(found, known));
        if is_there(&self.before[at]) {
            return;
        }
        for (known, hidden_by) in self.before.iter().zip(&mut self.hidden_by) {
            if !is_there(known) && (is_proven || is_of_check(known)) {
                *hidden_by = Some(at);
            }
        }
    }

    /// The fixes of new warnings. `None` if the problem is still there, or there is a new error.
    fn new_warnings(&self, at: usize, changed: &T, after: &[Problem]) -> Option<Vec<Fix>> {
        let problem = &self.before[at];
        let is_near = |found: &Problem| {
            let mut places = found.places.iter();
            found.rule == problem.rule && places.any(|place| problem.places.contains(place))
        };
        let mut fixes = vec![];
        for found in after {
            if is_same(found, problem) {
                return None;
            }
            // What was there before may have other numbers now.
            let is_known = self.before.iter().any(|known| {
                is_same(known, found)
                    || known.rule == found.rule
                        && known.places.first() == found.places.first()
                        && !is_same(known, problem)
            });
            let counts = !changed.is_partly_judged() || is_near(found);
            if is_known || !counts || found.severity == Severity::Note {
                continue;
            }
            let fix = found.fixes.0.first();
            // What the user wrote is not given up for another problem.
            let fix = fix.filter(|fix| found.severity == Severity::Warning && !fix.drops())?;
            if !fix.leaves_to_trainer() {
                fixes.push(fix.clone());
            }
        }
        Some(fixes)
    }
}

/// A line that can be judged again.
#[derive(Clone)]
pub struct Line {
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
    pub fn of_launch(judged: &Judged, host: &Host, tools: &'static Tools) -> Self {
        let launch = judged.understood().launch;
        let words = launch.words_with(&[], &launch.command);
        Line {
            is_partly_judged: judged.planned.is_err(),
            ..Self::of_words(words, host, tools)
        }
    }

    /// Words that were refused.
    pub fn of_words(mut words: Vec<OsString>, host: &Host, tools: &'static Tools) -> Self {
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

    pub fn prove(&self, problems: &mut [Problem]) {
        prove(self, problems);
    }

    /// The line and its problems, if it can be judged without doing anything.
    fn judged(self) -> Option<(Self, Problems)> {
        let problems = match cli::parse(&self.words(), &self.host, self.tools) {
            Err(refused) => all_problems(refused, &self.host),
            Ok(Asked::Text(..)) => vec![],
            Ok(Asked::Request(request)) => match request.into_launch() {
                Some(launch) if launch.command.is_empty() || has_pipe(&launch) => return None,
                Some(launch) => Judged::new(&launch, &self.host).problems,
                None => vec![],
            },
        };
        Some((self, problems))
    }

    fn make(&mut self, change: &Change, with_value: bool) -> Option<()> {
        match change {
            Change::Set(key, value) => {
                // The value that was given for it would have no effect any more.
                let start = format!("{key}=");
                let mut pairs = self.ours.windows(2);
                if let Some(at) = pairs
                    .position(|it| it[0] == "--set" && it[1].to_string_lossy().starts_with(&start))
                {
                    self.ours.drain(at..at + 2);
                }
                self.add_option(&["--set", &format!("{key}={value}")])
            }
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
                let option = plain_words(option)?;
                let at = words.windows(option.len()).position(|it| it == option)?;
                words.splice(at..at + option.len(), plain_words(to)?);
                Some(())
            }
            Change::Run(line) => self.run(line),
            Change::CorrectSetting(setting, to) => {
                let (option, value) = setting.split_once(' ')?;
                let given = find(&self.ours, &[option.into(), value.into()])?;
                self.ours.splice(given, plain_words(to)?);
                Some(())
            }
            Change::MoveToFront(_) | Change::Say(_) => None,
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
        if words
            .iter()
            .map(|word| word.to_string_lossy())
            .any(|word| is_to_be_filled_in(&word))
        {
            return None;
        }
        match words[0].to_str()? {
            "zlaunch" => {
                let mut line = Line::of_words(words, &self.host, self.tools);
                // The same words in another order.
                let [one, other] = [&line, &*self].map(|line| {
                    let mut words = line.words().split_off(1);
                    words.sort();
                    words
                });
                line.is_partly_judged = self.is_partly_judged || one == other;
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

    /// In front of the command, or before all other options.
    fn add_option(&mut self, words: &[&str]) -> Option<()> {
        // A key may well be in capitals.
        if words
            .iter()
            .filter(|word| word.contains('='))
            .any(|word| is_to_be_filled_in(word))
        {
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

impl Trial for Line {
    fn with(&self, fix: &Fix, with_value: bool) -> Tried<Self> {
        let mut line = self.clone();
        let mut changes = fix.changes.iter();
        if !changes.all(|change| line.make(change, with_value).is_some()) {
            return Tried::NotHere;
        }
        line.judged()
            .map_or(Tried::NotHere, |(line, after)| Tried::Judged(line, after))
    }

    fn is_partly_judged(&self) -> bool {
        self.is_partly_judged
    }

    /// Options of two programs do not stand beside each other, so the whole line is shown.
    fn pasted(&self, mut fix: Fix) -> Fix {
        if !fix.is_of_one_program() {
            fix.changes = run(shell::text(&self.words())).changes;
        }
        fix
    }
}

/// Where the given words stand. An option alone stands for its value too.
fn find(words: &[OsString], given: &[OsString]) -> Option<Range<usize>> {
    let option = given[0].to_str()?;
    if given.len() > 1 || !option.starts_with('-') {
        let at = words
            .windows(given.len())
            .position(|window| window == given)?;
        return Some(at..at + given.len());
    }
    let joined = format!("{option}=");
    let is_joined = |word: &OsString| word.to_string_lossy().starts_with(&joined);
    let at = words
        .iter()
        .rposition(|word| word == option || is_joined(word))?;
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
    Some(
        shell::plain_words(text)?
            .into_iter()
            .map(OsString::from)
            .collect(),
    )
}

/// `--hostfile FILE`, `zlaunch …`, and what a shell expands: `$USER`, `~/ds.json`.
fn is_to_be_filled_in(word: &str) -> bool {
    let value = word.split_once('=').map_or(word, |(_, value)| value);
    let is_name = !value.is_empty() && value.chars().all(|c| c.is_ascii_uppercase());
    is_name || word.contains(['…', '$', '~'])
}
