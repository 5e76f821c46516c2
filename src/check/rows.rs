//! A rule of `check`, the conditions and remedies of its rows, and the list that rows and code add problems to.

use std::ffi::OsStr;

use serde_json::Value;

use super::{
    subject::Subject,
    tables::{
        names::OF_RECORDED_VERSIONS,
        types::{At, Condition, KeyState, Remedy, Row, WithDefault},
    },
};
use crate::{
    base::{json, python_value::number, shell, size},
    command::{argument_class::TRAINING_ARGUMENTS, argv::hf_bool, parser::Parser},
    config::schema,
    host::machine::is_model,
    ranks::{
        launcher::Launcher,
        topology::{Role, Topology},
    },
    report::{
        MOST, When,
        fix::{Change, set_variable},
        prelude::*,
    },
};

/// One rule. Its problems come from rows, from code, or from both.
pub struct Check {
    pub rule: Rule,
    /// The sentence for the table of rules and for `explain`.
    pub about: &'static str,
    pub severity: Severity,
    /// When the trainer would come upon the problem.
    pub noticed: When,
    /// Each row whose conditions hold is a problem.
    pub rows: &'static [Row],
    pub code: Option<fn(&Subject, &mut Findings)>,
}

impl Check {
    /// What is wrong by this rule.
    pub fn run(&self, subject: &Subject) -> Problems {
        let mut found = Findings {
            check: self,
            subject,
            problems: vec![],
        };
        for row in self.rows {
            if all_hold(row.when, subject, None) {
                found.row(row);
            }
        }
        if let Some(code) = self.code {
            code(subject, &mut found);
        }
        if OF_RECORDED_VERSIONS.contains(&self.rule) {
            for problem in &mut found.problems {
                problem.severity = problem.severity.max(subject.severity_of_keys());
            }
        }
        found.problems
    }
}

/// The problems of one rule.
pub struct Findings<'a> {
    check: &'a Check,
    subject: &'a Subject<'a>,
    problems: Problems,
}

impl Findings<'_> {
    pub fn rule(&self) -> Rule {
        self.check.rule
    }

    /// More than are printed, so that it is not worth while to look for what was meant.
    pub fn are_many(&self) -> bool {
        self.problems.len() > MOST
    }

    fn row(&mut self, row: &Row) {
        let subject = self.subject;
        let keys: Vec<&str> = row
            .at
            .iter()
            .filter_map(|at| match at {
                At::Key(key) => Some(*key),
                _ => None,
            })
            .collect();
        let places: Vec<Place> = row.at.iter().map(|at| at.place(subject)).collect();
        let fixes = row.fixes.iter().map(|remedy| remedy.fix(subject)).collect();
        let fixes = of_options(&keys, Fixes(fixes), subject);
        self.at(places, filled(row.says, &row.at[0], subject), fixes);
    }

    /// A problem with keys of the config. Where an option put a key there, the fix is to change the option.
    pub fn key(
        &mut self,
        keys: &[&str],
        what: impl Into<String>,
        fixes: impl Into<Fixes>,
    ) -> &mut Problem {
        let places: Vec<Place> = keys.iter().map(|key| (self.subject.place)(key)).collect();
        self.at(places, what, of_options(keys, fixes.into(), self.subject))
    }

    /// Adds a problem that was worded elsewhere.
    pub fn problem(&mut self, severity: Severity, problem: Problem) {
        self.at(problem.places, problem.what, problem.fixes)
            .severity = severity;
    }

    pub fn at(
        &mut self,
        places: impl Into<Vec<Place>>,
        what: impl Into<String>,
        fixes: impl Into<Fixes>,
    ) -> &mut Problem {
        let check = self.check;
        self.problems.push(Problem {
            places: places.into(),
            fixes: fixes.into(),
            ..Problem::found(check.rule, check.severity, check.noticed, what.into())
        });
        let last = self.problems.len() - 1;
        &mut self.problems[last]
    }
}

impl Problem {
    /// A warning where it is not certain.
    pub fn error_if(&mut self, is_certain: bool) {
        self.severity = Severity::error_if(is_certain);
    }
}

/// A text of a row, with the values in place of their names in braces.
fn filled(text: &str, first: &At, subject: &Subject) -> String {
    let part = |part: &str| match (part, first) {
        ("key", At::Key(key) | At::Variable(key) | At::Word(key)) => (*key).to_string(),
        ("key", argument) => argument.place(subject).to_string(),
        ("value", At::Key(key)) => subject.get(key).map(Value::to_string).unwrap_or_default(),
        ("value", At::Argument(name)) => subject.argument(name).unwrap_or_default().to_string(),
        ("name", At::Key(key)) => subject.text(key).unwrap_or_default().to_string(),
        ("deepspeed", _) => subject.deepspeed(),
        (words, _) => words.to_string(),
    };
    text.split(['{', '}']).map(part).collect()
}

/// The fixes of a problem with these keys. Where an option put one of them there, the option is changed.
fn of_options(keys: &[&str], Fixes(mut fixes): Fixes, subject: &Subject) -> Fixes {
    for key in keys {
        let place = (subject.place)(key);
        for fix in &mut fixes {
            let changes = std::mem::take(&mut fix.changes)
                .into_iter()
                .flat_map(|change| match change {
                    Change::Unset(unset) if key.starts_with(&*unset) => removal(subject, unset),
                    other => vec![change_the_option(other, key, &place)],
                });
            fix.changes = changes.collect();
        }
    }
    fixes.sort_by_key(|fix| matches!(fix.changes[..], [Change::Say(_)]));
    Fixes(fixes)
}

/// `--unset` is applied before `--set`, and an argument of the trainer decides what an "auto" becomes.
fn change_the_option(change: Change, key: &str, place: &Place) -> Change {
    let Place::Option {
        option,
        value: given,
    } = place
    else {
        return change;
    };
    match change {
        Change::Set(set, value) if set == key && !place.is_setting() => {
            // `--torch_dtype float16` decides more than this key.
            if !given.is_empty() {
                return Change::Say(format!("another {option}"));
            }
            Change::Give {
                owner: Owner::Trainer,
                option: option.clone(),
                value,
            }
        }
        Change::Rename(renamed, to, value) if renamed == key && place.is_setting() => {
            // `--set zero_opt.stage=3` is about the section `zero_opt`, too.
            let set = match given.strip_prefix(key) {
                Some(inside) if inside.starts_with('.') => format!("{to}{inside}"),
                _ => format!("{to}={value}"),
            };
            Change::CorrectSetting(place.to_string(), shell::text(&[option.into(), set.into()]))
        }
        change => change,
    }
}

/// Removes a key or a section: the options that set something in it are dropped, and the rest is unset.
fn removal(subject: &Subject, unset: String) -> Vec<Change> {
    let (settings, others): (Vec<Place>, Vec<Place>) = subject
        .get(&unset)
        .map(|it| json::leaves(it, |_| true))
        .unwrap_or_default()
        .into_iter()
        .map(|leaf| (subject.place)(format!("{unset}.{leaf}").trim_end_matches('.')))
        .partition(Place::is_setting);
    let mut changes: Vec<Change> = settings
        .iter()
        .map(|place| Change::Drop {
            owner: Owner::Zlaunch,
            word: place.to_string(),
        })
        .collect();
    changes.dedup();
    if changes.is_empty() || !others.is_empty() {
        changes.push(Change::Unset(unset));
    }
    changes
}

impl At {
    fn place(&self, subject: &Subject) -> Place {
        match self {
            At::Key(key) => (subject.place)(key),
            At::Word(word) => Place::from(*word),
            At::Argument(name) => {
                let value = subject.given(name).and_then(|given| given.value);
                Place::option(subject.spelled(name), value.unwrap_or_default())
            }
            At::Variable(name) => {
                Place::variable(*name, subject.host.nonempty_var(name).unwrap_or_default())
            }
        }
    }
}

impl Remedy {
    pub fn fix(&self, subject: &Subject) -> Fix {
        #[expect(clippy::enum_glob_use, reason = "as in the rows")]
        use Remedy::*;
        match *self {
            Set(key, value) => set(key, value),
            Unquote(key) => {
                let text = subject.get(key).and_then(Value::as_str).unwrap_or_default();
                match size::number_meant(text, key) {
                    Some(number) => set(key, number).safe(),
                    None => say("write a number"),
                }
            }
            Unset(key) => unset(key),
            Give {
                owner,
                option,
                value,
            } => give(option, value).of(owner),
            GiveSame { option, other } => give(option, other.value(subject)).of(Owner::Trainer),
            GiveParameters(section) => {
                let params = subject.get(section).and_then(|it| it["params"].as_object());
                let mut fix = unset(section);
                for (name, value) in params.into_iter().flatten() {
                    if let Some(name) = nearest(name, TRAINING_ARGUMENTS.names())
                        && value != "auto"
                        && !subject.job.args.is_given(name)
                    {
                        fix = fix
                            .and(give(format!("--{name}"), json::text(value)).of(Owner::Trainer));
                    }
                }
                fix
            }
            GiveNearest { argument, files } => {
                let value = unnamed(argument, files, subject).unwrap_or_default();
                let sources: Vec<String> = installed_of(subject, files).collect();
                let near = nearest(value, sources.iter().flat_map(|source| quoted(source)));
                let list = subject.job.args.list(argument);
                match near {
                    Some(name) if list.is_some_and(|(_, values)| values.len() > 1) => {
                        rename_option(value, name).of(Owner::Trainer)
                    }
                    Some(name) => give(subject.spelled(argument), name).of(Owner::Trainer),
                    None => say(format!("see {} for its values", files[0])),
                }
            }
            DropArgument(name) => drop_word(subject.spelled(name)).of(Owner::Trainer),
            SetVariable(name, value) => set_variable(name, value),
            UnsetVariable(name) => unset_variable(name),
            RenameVariable(name, to) => {
                let value = subject.host.var(name).unwrap_or_default();
                unset_variable(name).and(set_variable(to, value))
            }
            Run(line) => run(line),
            Say(text) => say(text),
            Both(one, two) => one.fix(subject).and(two.fix(subject)),
            With { remark, remedy } => remedy.fix(subject).remark(remark),
        }
    }
}

impl WithDefault {
    fn value<'a>(&self, subject: &Subject<'a>) -> &'a str {
        subject.argument(self.argument).unwrap_or(self.default)
    }

    /// `None` also if it may be another than the default.
    fn number(&self, subject: &Subject, parser: Option<&Parser>) -> Option<u64> {
        let is_left_out = || Condition::LeftOut(self.argument).holds(subject, parser);
        let default = || Some(self.default).filter(|_| is_left_out());
        subject
            .argument(self.argument)
            .or_else(default)?
            .parse()
            .ok()
    }
}

/// Without a parser, no argument is known to be left out.
pub fn all_hold(conditions: &[Condition], subject: &Subject, parser: Option<&Parser>) -> bool {
    conditions
        .iter()
        .all(|condition| condition.holds(subject, parser))
}

impl Condition {
    fn holds(&self, subject: &Subject, parser: Option<&Parser>) -> bool {
        #[expect(clippy::enum_glob_use, reason = "as in the rows")]
        use Condition::*;
        let trainer = subject.job.trainer;
        let host = subject.host;
        let text = |name: &str| subject.argument(name).unwrap_or_default();
        match *self {
            Not(condition) => !condition.holds(subject, parser),
            Any(conditions) => conditions.iter().any(|it| it.holds(subject, parser)),

            True(name) => hf_bool(text(name)) == Some(true),
            Given(name) => subject.argument(name).is_some_and(|value| value != "None"),
            LeftOut(name) => {
                let words = subject.job.args.words();
                subject.given(name).is_none()
                    && subject.is_seen(name)
                    && parser.is_some_and(|parser| parser.is_left_out(name, words))
            }
            Is(name, value) => subject.argument(name) == Some(value),
            StartsWith(name, start) => text(name).starts_with(start),
            Contains(name, part) => subject.job.args.list(name).is_some_and(|(_, values)| {
                values.iter().any(|it| it.to_string_lossy().contains(part))
            }),
            Differ(one, two) => one.value(subject) != two.value(subject),
            NoJson(name) => {
                text(name).starts_with('{') && serde_json::from_str::<Value>(text(name)).is_err()
            }
            MoreThanRanks(name) => text(name)
                .parse::<u64>()
                .ok()
                .zip(subject.world())
                .is_some_and(|(size, world)| size > world),
            AtLeast(name, least) => text(name).parse::<f64>().is_ok_and(|it| it >= least),
            NoMultiple { factors, ranks, of } => {
                let factors = factors.iter().map(|factor| factor.number(subject, parser));
                let ranks = ranks.then(|| subject.world());
                let product: Option<u64> = factors.chain(ranks).product();
                let divisor = text(of).parse::<u64>().ok().filter(|it| *it > 0);
                product
                    .zip(divisor)
                    .is_some_and(|(product, divisor)| product % divisor > 0)
            }

            NotInstalled(modules) => subject.job.python.as_ref().is_some_and(|python| {
                let is_missing = |module: &&str| python.lacks_module(module, host);
                subject.runs_here() && modules.iter().all(is_missing)
            }),
            FileSays { files, text } => {
                installed_of(subject, files).any(|source| source.contains(text))
            }
            NotNamedIn { argument, files } => unnamed(argument, files, subject).is_some(),
            VariableNotNamedIn { variable, files } => {
                is_unnamed(host.nonempty_var(variable), files, subject)
            }
            ScriptSays(text) => subject.script_says(&[text]) == Some(true),
            Before("deepspeed", version) => subject.is_before(version),
            Before(package, version) => subject.job.has_older(package, version),
            NoNvcc => !host.has_nvcc(),
            GpuIs(all) => (host.gpus().iter()).any(|gpu| all.iter().any(|it| is_model(gpu, it))),

            TrainerIs(name) => trainer.name == name,
            UsesTransformers => trainer.is_hf(),
            UsesAccelerate => trainer.uses_accelerate(),
            PlainDeepSpeed => trainer.is_raw_deepspeed(),
            Sets(key) => trainer.sets(key),
            SetsWhatIsAbsent => trainer.sets_what_is_absent(),

            DeepSpeed => !subject.config.is_null(),
            Stage(stages) => stages.iter().any(|it| subject.zero.stage == Some(*it)),
            OptimizerOn(devices) => devices.contains(&subject.zero.optimizer),
            ParametersOn(devices) => devices.contains(&subject.zero.param),
            Key(key, ref state) => state.holds(subject.get(key)),
            PrecisionOn(section) => subject.has_precision(section),
            PrecisionSetting(key) => subject.has_precision_setting(key),
            SizesDiffer(one, two) => subject
                .whole(one)
                .zip(subject.whole(two))
                .is_some_and(|(one, two)| (one - two).abs() > 0.0),
            AboveRanks(key) => subject
                .whole(key)
                .zip(subject.ranks())
                .is_some_and(|(size, ranks)| size > ranks),
            DoesNotDivideRanks(key) => subject
                .whole(key)
                .zip(subject.ranks())
                .is_some_and(|(size, ranks)| size > 0.0 && ranks % size > 0.0),

            VariableIs(name, value) => host.var(name) == Some(value),
            VariableGiven(name) => host.nonempty_var(name).is_some(),
            VariablesDiffer(one, two) => host
                .nonempty_var(one)
                .zip(host.nonempty_var(two))
                .is_some_and(|(one, two)| one != two),
            ByTorchrun => {
                let by = subject.launcher;
                trainer.launch.has_own_launcher
                    || matches!(by, Some(Launcher::Torchrun | Launcher::Accelerate))
            }
            HangupIgnored => host.ignores_hangup,
            SeveralMachines => subject.topology.is_some_and(Topology::has_several_nodes),
            RankExists => {
                let role = subject.topology.map(|topology| &topology.role);
                matches!(role, Some(Role::Rank { .. }))
            }
        }
    }
}

impl KeyState {
    fn holds(&self, value: Option<&Value>) -> bool {
        #[expect(clippy::enum_glob_use, reason = "as in the rows")]
        use KeyState::*;
        let Some(value) = value else {
            return matches!(self, Missing | MissingOrNull);
        };
        let text = value.as_str().unwrap_or_default();
        let real = schema::real(value).unwrap_or(f64::NAN);
        match *self {
            Missing => false,
            MissingOrNull => value.is_null(),
            Auto => text == "auto",
            HasValue => !value.is_null() && text != "auto",
            Section => value.is_object(),
            SectionInUse => value
                .as_object()
                .is_some_and(|section| section.values().any(schema::is_true)),
            On => schema::truth(value) == Some(true),
            Off => schema::truth(value) == Some(false),
            Truthy => schema::is_true(value) && text != "auto",
            Falsy => !schema::is_true(value),
            Word(words) => words.iter().any(|word| word.eq_ignore_ascii_case(text)),
            OneOf(words) => words.contains(&text),
            EndsInNumber => {
                let end = text.rsplit(['-', '_', '/']).next();
                end.is_some_and(|end| end.parse::<u64>().is_ok())
            }
            ForShell => text.starts_with('~') || text.contains('$'),
            Number => number(value).is_some(),
            Whole => schema::whole(value).is_some(),
            Odd => schema::whole(value).is_some_and(|number| number % 2.0 != 0.0),
            Equals(wanted) => (real - wanted).abs() == 0.0,
            Above(least) => real > least,
            Below(most) => real < most,
        }
    }
}

fn installed_of<'s>(
    subject: &'s Subject,
    files: &'static [&'static str],
) -> impl Iterator<Item = String> + 's {
    files
        .iter()
        .filter_map(|file| subject.job.installed_file(file))
        .filter_map(|path| reading::text_if_any(&path))
}

/// The first value of the argument that none of these files names.
fn unnamed<'a>(
    name: &str,
    files: &'static [&'static str],
    subject: &Subject<'a>,
) -> Option<&'a str> {
    subject.argument(name)?;
    let (_, values) = subject.job.args.list(name)?;
    let mut values = values.into_iter().filter_map(OsStr::to_str);
    values.find(|value| is_unnamed(Some(value), files, subject))
}

fn is_unnamed(value: Option<&str>, files: &'static [&'static str], subject: &Subject) -> bool {
    let Some(value) = value else { return false };
    let mut sources = installed_of(subject, files).peekable();
    sources.peek().is_some() && sources.all(|source| quoted(&source).all(|name| name != value))
}

/// The names in quotes: parts between two quotes, without a space.
fn quoted(source: &str) -> impl Iterator<Item = &str> {
    source
        .lines()
        .flat_map(|line| line.split(['\'', '"']))
        .filter(|part| !part.is_empty() && !part.contains(' '))
}
