//! The language of the help and the explanations.

use super::problem::Problem;
use super::usage::not_one_of;
use crate::base::source::{Source, Sourced};
pub(crate) use crate::base::texts::Language;
use crate::base::vars;
use crate::host::Host;

impl Language {
    /// ZLAUNCH_LANG, else the locale: the variables the C library reads, in its order.
    pub(crate) fn of(host: &Host) -> Result<Self, Problem> {
        if let Some(value) = host.nonempty_var(vars::ZLAUNCH_LANG) {
            let sourced = Sourced::new(
                value.to_string(),
                Source::Variable(vars::ZLAUNCH_LANG.to_string()),
            );
            return Self::named(value).ok_or_else(|| not_one_of(&sourced, &["en", "zh"]));
        }
        let locale = [vars::LC_ALL, vars::LC_MESSAGES, vars::LANG]
            .iter()
            .find_map(|name| host.nonempty_var(name));
        Ok(locale.and_then(Self::named).unwrap_or(Language::English))
    }

    /// `zh`, `zh_CN.UTF-8`, `ZH-Hans`, `cn`, `Chinese`.
    fn named(value: &str) -> Option<Self> {
        match value
            .split(['_', '-', '.', '@'])
            .next()?
            .to_lowercase()
            .as_str()
        {
            "zh" | "cn" | "chinese" | "中文" => Some(Language::Chinese),
            "en" | "english" | "c" | "posix" => Some(Language::English),
            _ => None,
        }
    }
}
