//! A value together with where it came from. Everything in the plan carries its source, so that an error can point at it,
//! a dry run can say why, and a mismatch can name both sides.

use std::fmt;

#[derive(Clone, Debug, Default, PartialEq)]
pub enum Source {
    /// An option of zlaunch, without its value: `--nproc-per-node`.
    Flag(String),
    /// An argument of the trainer or of the launcher in the user's command, as it was spelled.
    Argument(String),
    /// An argument and its value, which decide about another one: `--torch_dtype float16` about fp16.
    Implied(Box<[String; 2]>),
    /// The sub-command whose operand it is.
    Operand(String),
    Variable(String),
    /// Something that was seen on this machine.
    Machine(&'static str),
    Both(Box<Source>, Box<Source>),
    /// The argument is not given, and this is the trainer's own value.
    TrainerDefault(Box<TrainerDefault>),
    /// An argument that something may change before the trainer gets it.
    Doubtful(Box<DoubtfulArgument>),
    /// Standard input or another pipe.
    Input,
    #[default]
    Default,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DoubtfulArgument {
    pub argument: String,
    /// `train.py:57 sets learning_rate`.
    pub why: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TrainerDefault {
    pub argument: &'static str,
    /// `default of transformers 5.19.0`.
    pub whose: String,
    /// Something that may make it another value: `the script changes it`.
    pub unless: Option<&'static str>,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Source::Flag(name)
            | Source::Argument(name)
            | Source::Operand(name)
            | Source::Variable(name) => f.write_str(name),
            Source::Implied(words) => f.write_str(&words.join(" ")),
            Source::Machine(what) => f.write_str(what),
            Source::Both(one, two) => write!(f, "{one}, {two}"),
            Source::TrainerDefault(default) => {
                write!(f, "--{} ({})", default.argument, default.whose)
            }
            Source::Doubtful(doubtful) => f.write_str(&doubtful.argument),
            Source::Input => f.write_str("a pipe"),
            Source::Default => f.write_str("default"),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sourced<T> {
    pub value: T,
    pub from: Source,
}

impl<T> Sourced<T> {
    pub fn new(value: T, from: Source) -> Self {
        Sourced { value, from }
    }

    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Sourced<U> {
        Sourced {
            value: change(self.value),
            from: self.from,
        }
    }

    /// Another value that the same source gives.
    pub fn says<U>(&self, value: U) -> Sourced<U> {
        Sourced::new(value, self.from.clone())
    }
}

/// The value alone, if there is one.
pub trait Given<T> {
    fn value(&self) -> Option<T>;
}

impl<T: Copy> Given<T> for Option<Sourced<T>> {
    fn value(&self) -> Option<T> {
        self.as_ref().map(|given| given.value)
    }
}

/// A value that nothing gives.
pub fn default<T>(value: T) -> Sourced<T> {
    Sourced::new(value, Source::Default)
}

impl Source {
    pub fn and(&self, other: &Source) -> Source {
        Source::Both(Box::new(self.clone()), Box::new(other.clone()))
    }

    pub fn trainer_default(&self) -> Option<&TrainerDefault> {
        if let Source::TrainerDefault(default) = self {
            Some(default)
        } else {
            None
        }
    }

    /// The reason why the trainer may get something else.
    pub fn doubt(&self) -> Option<&str> {
        if let Source::Doubtful(doubtful) = self {
            Some(&doubtful.why)
        } else {
            None
        }
    }

    /// A flag is given for this launch, while a variable may be set for a whole site.
    pub fn is_flag(&self) -> bool {
        matches!(self, Source::Flag(_))
    }

    /// As a person types it with this value: `--deepspeed zero3`, `ZLAUNCH_DEEPSPEED=zero3`.
    pub fn with(&self, value: impl fmt::Display) -> String {
        match self {
            Source::Flag(name) | Source::Argument(name) => format!("{name} {value}"),
            Source::Variable(name) => format!("{name}={value}"),
            Source::Operand(_) => value.to_string(),
            other => other.to_string(),
        }
    }
}

/// The value alone.
impl<T: fmt::Display> fmt::Display for Sourced<T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<T: fmt::Display> Sourced<T> {
    pub fn text(&self) -> Sourced<String> {
        self.says(self.value.to_string())
    }

    pub fn spelling(&self) -> String {
        self.from.with(&self.value)
    }
}
