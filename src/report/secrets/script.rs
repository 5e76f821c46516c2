//! How a script asks for the secrets that it does not hold: by variables.

/// The variables that a script asks for: one for each value.
pub(crate) struct Names {
    /// The variables where the script runs with what they hold, which is nothing after the script has removed them.
    pub(super) taken: Vec<(String, Option<Vec<u8>>)>,
    /// The names given so far, and their values.
    pub(super) given: Vec<(String, Vec<u8>)>,
}

impl Names {
    /// The variable for a secret: `HUB_TOKEN`, or `HUB_TOKEN_2` where that holds something else.
    pub(crate) fn of(&mut self, name: &str, value: &[u8]) -> String {
        if let Some((given, _)) = self.given.iter().find(|(_, own)| own == value) {
            return given.clone();
        }
        let first = variable_for(name);
        let mut variable = first.clone();
        let mut number = 1;
        while self.taken.iter().any(|(own, held)| *own == variable && held.as_deref() != Some(value)) {
            number += 1;
            variable = format!("{first}_{number}");
        }
        self.taken.push((variable.clone(), Some(value.to_vec())));
        self.given.push((variable.clone(), value.to_vec()));
        variable
    }
}

/// `HUB_TOKEN` for `--hub-token`. A script removes the variables of zlaunch, so it cannot ask for them.
fn variable_for(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let name: String = name.trim_start_matches('-').chars().map(letter).collect();
    let name = name.trim_start_matches("ZLAUNCH_");
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("_{name}") } else { name.to_string() }
}
