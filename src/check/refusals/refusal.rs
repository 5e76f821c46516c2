//! One refusal: the conditions under which it stands, and what is said about it.

use crate::base::python_value::float;
use crate::check::subject::Subject;
use crate::command::argv::hf_bool;

/// A refusal, which stands if all of its conditions hold.
pub(crate) struct Refusal {
    /// The first one says which argument is refused.
    pub(super) when: &'static [Condition],
    pub(crate) why: &'static str,
    pub(crate) help: &'static str,
    /// Who refuses it.
    pub(crate) distribution: &'static str,
    /// Its versions, the last one excluded.
    pub(crate) since: [u32; 3],
    pub(crate) until: [u32; 3],
    /// Nothing that cannot be seen here may change it.
    pub(crate) certain: bool,
}

pub(super) struct Condition {
    /// Nothing where it is not about an argument.
    argument: &'static str,
    /// What it is where it is not given, as it is in every version.
    default: Option<&'static str>,
    is: Test,
}

pub(super) enum Test {
    Given,
    LeftOut,
    OneOf(&'static [&'static str]),
    NoneOf(&'static [&'static str]),
    True,
    False,
    Number(fn(f64) -> bool),
    /// About the launch as a whole.
    Launch(fn(&Subject) -> bool),
    /// A distribution is not installed, and nothing else has its module.
    NotInstalled(&'static str, &'static str),
}

pub(super) const EVER: [u32; 3] = [u32::MAX; 3];

pub(super) const fn given(argument: &'static str, is: Test) -> Condition {
    Condition { argument, default: None, is }
}

pub(super) const fn or_default(argument: &'static str, default: &'static str, is: Test) -> Condition {
    Condition { argument, default: Some(default), is }
}

pub(super) const fn left_out(argument: &'static str) -> Condition {
    given(argument, Test::LeftOut)
}

pub(super) const fn launch(is: fn(&Subject) -> bool) -> Condition {
    given("", Test::Launch(is))
}

pub(super) const fn not_installed(distribution: &'static str, module: &'static str) -> Condition {
    given("", Test::NotInstalled(distribution, module))
}

/// The attentions of transformers, of any version. The name of a kernel has a `/`.
pub(super) const ATTENTION: &[&str] = &[
    "eager",
    "sdpa",
    "flash_attention_2",
    "flash_attention_3",
    "flash_attention_4",
    "flex_attention",
    "sdpa_paged",
    "eager_paged",
    "paged_attention",
];

/// Whether an attention is neither a kernel (`org/name`) nor a variant of another (`paged|sdpa`).
pub(super) fn is_no_kernel(subject: &Subject, argument: &str) -> bool {
    let value = subject.job.args.list(argument).and_then(|(_, values)| values.first()?.to_str());
    value.is_some_and(|value| !value.contains(['/', '|', '{', ':']))
}

impl Refusal {
    /// The argument that is refused, where it is one that is given.
    pub(crate) fn argument(&self) -> Option<&'static str> {
        self.when.first().filter(|first| !matches!(first.is, Test::LeftOut)).map(|first| first.argument)
    }

    /// The argument that must not be left out.
    pub(crate) fn needed(&self) -> Option<&'static str> {
        self.when.first().filter(|first| matches!(first.is, Test::LeftOut)).map(|first| first.argument)
    }

    /// Whether it is the default of transformers that counts for an argument that is not given.
    pub(crate) fn is_of_transformers(&self) -> bool {
        self.distribution == "transformers"
    }

    /// Whether this is what the trainer will see. `keeps_default`: whether nobody changed the default of an argument.
    pub(crate) fn holds(&self, subject: &Subject, keeps_default: impl Fn(&str) -> bool) -> bool {
        self.when.iter().all(|condition| condition.holds(subject, &keeps_default).unwrap_or(false))
    }

    /// The argument as it is given and its value, if it is refused.
    pub(crate) fn refuses(&self, subject: &Subject, keeps_default: impl Fn(&str) -> bool) -> Option<(String, String)> {
        let (option, values) = subject.job.args.list(self.argument()?)?;
        let value = values.first().map_or_else(String::new, |value| value.to_string_lossy().into_owned());
        self.holds(subject, keeps_default).then_some((option, value))
    }
}

impl Condition {
    fn holds(&self, subject: &Subject, keeps_default: impl Fn(&str) -> bool) -> Option<bool> {
        match self.is {
            Test::Launch(test) => return Some(test(subject)),
            Test::NotInstalled(distribution, module) => return Some(subject.lacks(distribution, module)),
            _ => {}
        }
        let args = &subject.job.args;
        if subject.job.unread.iter().any(|name| name == self.argument) {
            return None;
        }
        let given = args.list(self.argument).map(|(_, values)| values.first().and_then(|value| value.to_str()));
        if matches!(self.is, Test::LeftOut) {
            return Some(given.is_none() && keeps_default(self.argument));
        }
        let value = match given {
            Some(value) => value.unwrap_or("true"),
            None => self.default.filter(|_| keeps_default(self.argument))?,
        };
        // Something else puts a value there.
        if value.contains('$') {
            return None;
        }
        match self.is {
            Test::Given => Some(!["None", "null"].contains(&value)),
            Test::OneOf(choices) => Some(choices.contains(&value)),
            Test::NoneOf(choices) => Some(!choices.contains(&value)),
            Test::True => hf_bool(value),
            Test::False => hf_bool(value).map(|on| !on),
            Test::Number(test) => Some(test(float(value)?)),
            Test::LeftOut | Test::Launch(_) | Test::NotInstalled(..) => None,
        }
    }
}
