//! A key in the recorded versions of DeepSpeed, and in the one that is installed.

use crate::base::recorded::VersionMatch;
use crate::command::python::Python;
use crate::config::schema::{self, KeySpec, Known};
use crate::host::Host;
use crate::report::Language;

/// The DeepSpeed that is found here, if any, and the recorded one that speaks for it.
pub(super) struct Versions {
    installed: Option<String>,
    judge: VersionMatch,
}

impl Versions {
    pub(super) fn of(host: &Host) -> Self {
        let python = Python::on_path(host);
        let installed = python.as_ref().and_then(|python| python.version_text("deepspeed"));
        Versions { installed, judge: schema::in_environment(python.as_ref()) }
    }

    pub(super) fn find(&self, key: &str) -> Option<KeySpec> {
        schema::find(key, self.judge.version())
    }

    /// What the installed version does with a key that it does not read.
    pub(super) fn here(&self, key: &KeySpec, language: Language) -> Option<String> {
        let installed = self.installed.as_ref()?;
        let says = match key.known() {
            Known::Yes => return None,
            Known::Later(_) => language.word("does not know it yet", "还不认识这个键"),
            Known::Dropped(_) => language.word("no longer knows it", "已不认识这个键"),
            Known::Refused(_) => language.word("refuses a config that has it", "会拒绝含有它的配置"),
            Known::Paused => language.word("does not read it", "不读取这个键"),
        };
        let stands_in = match (self.judge, language) {
            (VersionMatch::Exact(_), _) => String::new(),
            (judge, Language::Chinese) => format!("（按 {} 判断，该版本未记录）", judge.version()),
            (judge, Language::English) => format!(" (judged as {}: this one was not recorded)", judge.version()),
        };
        Some(format!("DeepSpeed {installed} {says}{stands_in}"))
    }
}

/// What became of a key that was removed or renamed.
pub(crate) fn fate(key: &KeySpec, language: Language) -> Option<String> {
    let chinese = language == Language::Chinese;
    let Some(removed) = key.removed else {
        return match key.replaced_by {
            Some(now) if chinese => Some(format!("`{now}` 的旧名")),
            Some(now) => Some(format!("the old name of `{now}`")),
            None if key.known() != Known::Paused => None,
            None if chinese => Some("更旧和更新的版本读取它，这个版本不读取".to_string()),
            None => Some("read by older and newer versions, not by this one".to_string()),
        };
    };
    let now = key.replaced_by.map(|now| if chinese { format!("，现在是 `{now}`") } else { format!(", now `{now}`") });
    let (since, now) = (removed.version, now.unwrap_or_default());
    Some(match (removed.refused, chinese) {
        (true, false) => format!("removed in {since}{now}: a config that has it is refused since then"),
        (false, false) => format!("dropped in {since}{now}"),
        (true, true) => format!("{since} 移除{now}：此后会拒绝含有它的配置"),
        (false, true) => format!("{since} 起不再使用{now}"),
    })
}
