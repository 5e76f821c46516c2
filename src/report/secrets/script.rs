//! How a script asks for the secrets that it does not hold.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::Secret;
use super::names::Sensitivity;
use crate::host::Host;

/// The variables by which a script asks for secrets: one for each value, and none that holds another one.
pub(crate) struct Names<'a> {
    pub(super) host: Option<&'a Host>,
    pub(super) set: Vec<(&'a str, &'a OsStr)>,
    pub(super) unset: &'a [String],
    pub(super) given: Vec<(String, Vec<u8>)>,
}

impl Names<'_> {
    pub(crate) fn of(&mut self, secret: Secret) -> String {
        let Secret { value, name } = secret;
        if let Some((name, _)) = self.given.iter().find(|(_, given)| given == value) {
            return name.clone();
        }
        let name = self.holding(value).unwrap_or_else(|| {
            // A script of ours removes those.
            let name = variable_for(name);
            let name = name.trim_start_matches("ZLAUNCH_");
            let more = (2..).map(|number| format!("{name}_{number}"));
            // Numbers do not end.
            std::iter::once(name.to_string()).chain(more).find(|name| self.is_free(name, value)).unwrap_or_default()
        });
        self.given.push((name.clone(), value.to_vec()));
        name
    }

    /// A variable of the host that has exactly this value, under a name that is meant for secrets.
    fn holding(&self, value: &[u8]) -> Option<String> {
        let mut names =
            self.host?.env.iter().filter(|(_, own)| own.as_bytes() == value).filter_map(|(name, _)| name.to_str());
        let fits = |name: &&str| variable_for(name.as_bytes()) == **name && Sensitivity::of(name.as_bytes()).is_some();
        names.find(|name| fits(name) && self.is_free(name, value)).map(str::to_string)
    }

    fn is_free(&self, name: &str, value: &[u8]) -> bool {
        let there = self.host.and_then(|host| host.env.get(OsStr::new(name)));
        let mut set = self.set.iter().filter(|(own, _)| *own == name);
        there.is_none_or(|own| own.as_bytes() == value)
            && set.all(|(_, own)| own.as_bytes() == value)
            && !self.unset.iter().any(|own| own == name)
            && !self.given.iter().any(|(own, _)| own == name)
            && !name.starts_with("ZLAUNCH_")
    }
}

/// `HUB_TOKEN` for `--hub-token`.
#[inline(never)]
fn variable_for(name: &[u8]) -> String {
    let start = name.iter().position(|b| *b != b'-').unwrap_or(name.len());
    let letter = |b: &u8| if b.is_ascii_alphanumeric() { char::from(b.to_ascii_uppercase()) } else { '_' };
    let name: String = name[start..].iter().map(letter).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name }
}
