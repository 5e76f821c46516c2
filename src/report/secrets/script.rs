//! How a script asks for the secrets that it does not hold: by variables.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::host::Host;

/// The variables that a script asks for: one for each value.
pub(crate) struct Names<'a> {
    pub(super) host: Option<&'a Host>,
    /// What the script itself sets and removes.
    pub(super) set: Vec<(&'a str, &'a OsStr)>,
    pub(super) unset: &'a [String],
    /// The names given so far, and their values.
    pub(super) given: Vec<(String, Vec<u8>)>,
}

impl Names<'_> {
    /// The variable for a secret: `HUB_TOKEN`, or `HUB_TOKEN_2` where that holds something else.
    pub(crate) fn of(&mut self, name: &str, value: &[u8]) -> String {
        if let Some((given, _)) = self.given.iter().find(|(_, own)| own == value) {
            return given.clone();
        }
        let first = variable_for(name);
        let mut variable = first.clone();
        let mut number = 1;
        while !self.is_free(&variable, value) {
            number += 1;
            variable = format!("{first}_{number}");
        }
        self.given.push((variable.clone(), value.to_vec()));
        variable
    }

    /// Whether a variable holds nothing else where the script runs.
    fn is_free(&self, name: &str, value: &[u8]) -> bool {
        let inherited = self.host.and_then(|host| host.raw(name));
        let set = self.set.iter().filter(|(own, _)| *own == name).map(|(_, own)| *own);
        inherited.into_iter().chain(set).all(|own| own.as_bytes() == value)
            && !self.unset.iter().any(|own| own == name)
            && !self.given.iter().any(|(own, _)| own == name)
    }
}

/// `HUB_TOKEN` for `--hub-token`. A script removes the variables of zlaunch, so it cannot ask for them.
fn variable_for(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let name: String = name.trim_start_matches('-').chars().map(letter).collect();
    let name = name.trim_start_matches("ZLAUNCH_");
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name.to_string() }
}
