//! Which names go with secrets, and which values under such a name are harmless.

use crate::report::tables::secrets::{
    ANYWHERE, BEFORE_TOKENS, ENDINGS, HARMLESS_VALUES, LAST, OTHER_ENDINGS, TABLE_WORDS,
    TOKENIZER_WORDS, TOKENS,
};

/// The shells of other machines read a secret from a file by a value that begins so.
pub(crate) const READ_FROM_FILE: &str = "$(sed";

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sensitivity {
    /// `key`: secret if it looks like one.
    Vague,
    /// `PASSWORD_FILE`: secret unless it is a path.
    Place,
    /// `--hub_token`: secret unless it is a number or very short.
    Token,
    /// `PGPASSWORD`, `HF_TOKEN`: always secret.
    Password,
}

impl Sensitivity {
    /// `None` for the names of harmless things.
    pub fn of(name: &str) -> Option<Sensitivity> {
        if !may_show_secret(name) {
            return None;
        }
        let is_variable = !name.contains(|c: char| c.is_ascii_lowercase());
        let name = name.to_ascii_uppercase();
        let parts: Vec<&str> = name
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|it| !it.is_empty())
            .collect();
        let (&last, before) = parts.split_last()?;
        let first = if is_variable { 0 } else { before.len() };
        let is_password = ANYWHERE.iter().any(|word| name.contains(word));
        let is_named =
            is_password || (first..parts.len()).any(|at| is_of_secret(&parts[..=at], is_variable));
        // The variable PWD is a folder.
        if !is_named && (!is_one_of(last, LAST) || is_variable && parts == ["PWD"]) {
            return None;
        }
        Some(match last {
            "FILE" | "PATH" | "DIR" | "FOLDER" => Sensitivity::Place,
            "KEY" | "KEYS" if before.is_empty() => Sensitivity::Vague,
            _ if is_password || is_variable => Sensitivity::Password,
            _ => Sensitivity::Token,
        })
    }

    pub(super) fn hides(self, value: &str) -> bool {
        if value.is_empty()
            || is_one_of(value, HARMLESS_VALUES)
            || value.starts_with(READ_FROM_FILE)
        {
            return false;
        }
        match self {
            Sensitivity::Password => true,
            // A longer number can be a token.
            Sensitivity::Token if value.len() >= 16 => true,
            Sensitivity::Token => {
                value.len() >= 4 && value.split(',').any(|part| part.parse::<f64>().is_err())
            }
            Sensitivity::Place => {
                Sensitivity::Token.hides(value) && !value.starts_with(['/', '.', '~'])
            }
            Sensitivity::Vague => looks_like_secret(value),
        }
    }
}

/// A cheap first look, since most names and texts are harmless: a word above, a token or an address may begin somewhere.
pub(super) fn may_show_secret(text: &str) -> bool {
    let begins = text.as_bytes().windows(3).any(|three| {
        let three = [three[0], three[1], three[2]].map(|byte| byte.to_ascii_lowercase());
        let is_name = matches!(
            &three,
            b"aut" | b"bea" | b"coo" | b"cre" | b"dsn" | b"jwt" | b"key" | b"pas" | b"pat"
        ) || matches!(
            &three,
            [b'p', b'w', _] | b"sas" | b"sec" | b"sig" | b"tok" | b"web"
        );
        is_name
            || matches!(
                &three,
                b"hf_"
                    | [b'g', b'h', _]
                    | b"git"
                    | b"glp"
                    | b"xox"
                    | b"sk-"
                    | b"api"
                    | b"nva"
                    | b"://"
            )
    });
    begins || text.ends_with("pw") || text.ends_with("PW")
}

/// Judges by the last of these parts and the one before it.
fn is_of_secret(parts: &[&str], is_variable: bool) -> bool {
    let ends = |part: &str, endings: &[&str]| endings.iter().any(|end| part.ends_with(end));
    let named = |part: &str| ends(part, ENDINGS) && !ends(part, OTHER_ENDINGS);
    match *parts {
        [] | ["PWD"] => false,
        [.., last] if !named(last) && !named(last.trim_end_matches('S')) => false,
        [.., before, _] if is_one_of(before, TOKENIZER_WORDS) => false,
        [.., before, last] if last.ends_with('S') && is_one_of(before, BEFORE_TOKENS) => false,
        [.., before, _] => is_variable || !is_one_of(before, TABLE_WORDS),
        [_] => true,
    }
}

fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Long, of letters and digits, and not words.
pub(super) fn looks_like_secret(value: &str) -> bool {
    value.len() >= 16
        && value
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        && value.contains(|c: char| c.is_ascii_digit())
        && value.contains(|c: char| c.is_ascii_alphabetic())
}

pub(super) fn token_at(text: &str) -> Option<&str> {
    let prefix = TOKENS.iter().find(|prefix| text.starts_with(**prefix))?;
    let joints = if prefix.len() > 5 { "_-" } else { "" };
    let rest = &text[prefix.len()..];
    let rest = &rest[..rest
        .find(|c: char| !c.is_ascii_alphanumeric() && !joints.contains(c))
        .unwrap_or(rest.len())];
    let is_mixed = rest.contains(|c: char| c.is_ascii_digit())
        && rest.contains(|c: char| c.is_ascii_uppercase());
    (rest.len() >= 16 || rest.len() >= 8 && is_mixed).then(|| &text[..prefix.len() + rest.len()])
}
