//! Unit tests of `src/check.rs`.

use super::*;
use crate::report::When;

#[test]
fn every_rule_has_one_check_and_says_what_it_is() {
    for rule in Rule::all().filter(|rule| rule.subject() == RuleSubject::Check) {
        assert_eq!(rules().filter(|check| check.rule == rule).count(), 1, "{rule}");
    }
    for check in rules() {
        let Check { rule, doc, .. } = check;
        assert_eq!(rule.subject(), RuleSubject::Check, "{rule}");
        assert!(doc.len() > 20 && !doc.ends_with('.'), "{rule}: {doc}");
        assert!(rule.name().bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'), "{rule}");
        // What nobody notices is no reason to refuse.
        assert!(check.when != When::Silent || check.severity != Severity::Error, "{rule}");
    }
}
