//! The rules by name.

use std::fmt;

use super::tables::rules::{NamedRule, RULES, Rule, RuleSubject};

impl Rule {
    pub fn all() -> impl Iterator<Item = Rule> {
        RULES.iter().map(|row| row.rule)
    }

    /// Every rule has a row, which a test holds.
    fn row(self) -> &'static NamedRule {
        let mut rows = RULES.iter();
        rows.find(|row| row.rule == self).unwrap_or(&RULES[0])
    }

    pub fn name(self) -> &'static str {
        self.row().name
    }

    pub fn subject(self) -> RuleSubject {
        self.row().subject
    }

    /// `None` for a rule of `check`, whose sentence stands in its row.
    pub(crate) fn about(self) -> Option<&'static str> {
        self.row().about
    }

    /// A warning that is not about a config: `--allow` silences it.
    pub(crate) fn only_warns(self) -> bool {
        matches!(self.subject(), RuleSubject::Warning | RuleSubject::Machine)
    }

    /// The rules whose names `--allow` takes.
    pub(crate) fn allowable() -> Vec<Rule> {
        Rule::all()
            .filter(|rule| rule.only_warns() || rule.subject() == RuleSubject::Check)
            .collect()
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
