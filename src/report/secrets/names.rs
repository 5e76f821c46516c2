//! Which names go with secrets, and which values under such a name are harmless.

/// These make any name secret, wherever they stand in it.
const ANYWHERE: &[&str] = &["SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL"];
/// A part of a name that is one of these, or its plural: the last part, or any part of a variable's name.
const PARTS: &[&str] = &["KEY", "PASS", "PWD", "DSN", "WEBHOOK", "SIGNATURE", "BEARER"];
/// How such a part may end.
const ENDINGS: &[&str] =
    &["TOKEN", "APIKEY", "ACCESSKEY", "PRIVATEKEY", "AUTHKEY", "SSHKEY", "AUTHORIZATION", "COOKIE"];
const PROGRAMS: &[&str] = &["ASKPASS", "BYPASS"];
/// `MAX_TOKENS`, `--eos_token`: parts before a token that make it one of a tokenizer, or a number of them.
const TOKENIZER_WORDS: &str = "ADD ADDED AUDIO BOS CLS EOS EXTRA IMAGE MASK MAX MIN NEW NUM PAD SEP SPECIAL STOP TOTAL \
    UNK VIDEO";
/// `--primary_key`: parts before a key that make it one of a table or a mapping.
const TABLE_WORDS: &str = "ANSWER CHOSEN COLUMN CONTENT DATASET DICT FOREIGN GROUP INPUT LABEL MESSAGE MESSAGES METRIC \
    OUTPUT PARTITION PRIMARY PROMPT QUERY REJECTED RESPONSE ROLE SORT SYSTEM TARGET TEXT";
/// The last part of a name that says where a secret is.
const PLACES: &[&str] = &["FILE", "PATH", "DIR", "FOLDER"];
/// Values that are harmless under any name.
const HARMLESS_VALUES: &[&str] = &["", "true", "false", "yes", "no", "on", "off", "none", "null", "auto", "default"];

/// A shorter value is no token or key.
const SHORTEST: usize = 4;
/// A longer number can be a token.
const LONGEST_NUMBER: usize = 15;
/// A value whose name does not tell must be as long as this to look like a secret.
const SHORTEST_UNNAMED: usize = 16;

/// What a name says about its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sensitivity {
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
    /// `None` for the names of harmless things. In a variable's name (all capitals) any part counts, else the last one.
    pub(crate) fn of(name: &[u8]) -> Option<Sensitivity> {
        let (mut rest, last) = split_part(name)?;
        let is_place = is_one_of(last, PLACES);
        if contains_one_of(name, ANYWHERE) {
            return Some(if is_place { Sensitivity::Place } else { Sensitivity::Password });
        }
        let is_variable = !name.iter().any(u8::is_ascii_lowercase);
        let is_alone = split_part(rest).is_none();
        let mut part = last;
        loop {
            let before = split_part(rest);
            if names_a_secret(part, before.map(|(_, part)| part), is_variable) {
                let is_key = is_alone && singular(part).eq_ignore_ascii_case(b"KEY");
                let named = if is_variable { Sensitivity::Password } else { Sensitivity::Token };
                return Some(if is_place {
                    Sensitivity::Place
                } else if is_key {
                    Sensitivity::Vague
                } else {
                    named
                });
            }
            (rest, part) = before.filter(|_| is_variable)?;
        }
    }

    /// Whether that value is a secret.
    pub(crate) fn hides(self, value: &[u8]) -> bool {
        if is_one_of(value, HARMLESS_VALUES) {
            return false;
        }
        match self {
            Sensitivity::Password => true,
            Sensitivity::Token => value.len() >= SHORTEST && !is_number(value),
            Sensitivity::Place => Sensitivity::Token.hides(value) && !is_path(value[0]),
            Sensitivity::Vague => looks_like_secret(value),
        }
    }
}

/// A name without its last part, and that part: `hub_` and `token`, `client` and `Secret`.
fn split_part(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = name.iter().rposition(u8::is_ascii_alphanumeric)? + 1;
    let begins = |at: &usize| {
        !name[at - 1].is_ascii_alphanumeric() || name[at - 1].is_ascii_lowercase() && name[*at].is_ascii_uppercase()
    };
    let start = (1..end).rev().find(begins).unwrap_or(0);
    Some((&name[..start], &name[start..end]))
}

/// What one part of a name, and the one before it, say.
fn names_a_secret(part: &[u8], before: Option<&[u8]>, is_variable: bool) -> bool {
    let one = singular(part);
    let is = |words: &[&str]| is_one_of(part, words) || is_one_of(one, words);
    let ends = |words: &[&str]| words.iter().any(|word| ends_with(part, word) || ends_with(one, word));
    // `SSHPASS`, `GITHUB_PAT`
    let is_named = is(PARTS) || ends(ENDINGS) || is_variable && (ends(&["KEY", "PASS"]) || is(&["PAT"]));
    if !is_named || is(PROGRAMS) {
        return false;
    }
    // `PWD` alone is a folder, `PAT` a pattern.
    let Some(before) = before else { return !is(&["PWD", "PAT"]) };
    let listed = |words: &str| words.split(' ').any(|word| before.eq_ignore_ascii_case(word.as_bytes()));
    !listed(TOKENIZER_WORDS) && (is_variable || !listed(TABLE_WORDS))
}

fn singular(part: &[u8]) -> &[u8] {
    part.strip_suffix(b"S").or(part.strip_suffix(b"s")).unwrap_or(part)
}

/// Whether an option of that name takes several values.
pub(super) fn is_plural(name: &[u8]) -> bool {
    singular(name) != name && !ends_with(name, "PASS")
}

/// Whether a value that begins so is a path.
pub(super) fn is_path(first: u8) -> bool {
    b"/.~".contains(&first)
}

/// Long, of letters and digits, and not words.
pub(super) fn looks_like_secret(value: &[u8]) -> bool {
    value.len() >= SHORTEST_UNNAMED
        && value.iter().copied().all(is_of_secret)
        && value.iter().any(u8::is_ascii_digit)
        && value.iter().any(u8::is_ascii_alphabetic)
}

pub(super) fn is_of_secret(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-".contains(&byte)
}

fn is_number(value: &[u8]) -> bool {
    value.len() <= LONGEST_NUMBER
        && value.iter().any(u8::is_ascii_digit)
        && value.iter().all(|b| b.is_ascii_digit() || b"+-.,_%eE".contains(b))
}

fn is_one_of(part: &[u8], words: &[&str]) -> bool {
    words.iter().any(|word| part.eq_ignore_ascii_case(word.as_bytes()))
}

pub(super) fn ends_with(part: &[u8], word: &str) -> bool {
    part.len().checked_sub(word.len()).is_some_and(|at| part[at..].eq_ignore_ascii_case(word.as_bytes()))
}

fn contains_one_of(name: &[u8], words: &[&str]) -> bool {
    let starts = |rest: &[u8], word: &str| rest.get(..word.len()).is_some_and(|it| ends_with(it, word));
    // Most letters begin none of them.
    let begins = |at: &usize| b"CPS".contains(&name[*at].to_ascii_uppercase());
    (0..name.len()).filter(begins).any(|at| words.iter().any(|word| starts(&name[at..], word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str) -> Option<Sensitivity> {
        Sensitivity::of(name.as_bytes())
    }

    #[test]
    fn names_of_secrets() {
        let names = "HF_TOKEN WANDB_API_KEY AWS_SECRET_ACCESS_KEY MYSQL_PASSWORD apikey --hub_token --hub-token --token
            comet.api_key GOOGLE_APPLICATION_CREDENTIALS MODELSCOPE_API_TOKEN AUTHTOKEN SSH_KEY PGPASSWORD DBPASSWORD
            CLIENTSECRET --clientSecret --apiKey HF_TOKENS APP_SECRETS --passwords GROUP_TOKEN MYSQL_PWD DB_PASS SSHPASS
            GITHUB_PAT AUTHORIZATION Authorization COOKIE SENTRY_DSN SLACK_WEBHOOK SLACK_WEBHOOK_URL X-Amz-Signature
            --api_keys AWS_ACCESS_KEY_ID 2_token accessToken";
        for name in names.split_whitespace() {
            assert!(matches!(kind(name), Some(Sensitivity::Token | Sensitivity::Password)), "{name}: {:?}", kind(name));
        }
        for name in ["KEY", "--key", "keys"] {
            assert_eq!(kind(name), Some(Sensitivity::Vague), "{name}");
        }
        for name in ["DB_PASSWORD_FILE", "HF_TOKEN_PATH"] {
            assert_eq!(kind(name), Some(Sensitivity::Place), "{name}");
        }
        assert_eq!((kind("MY_TOKEN"), kind("--my_token")), (Some(Sensitivity::Password), Some(Sensitivity::Token)));
    }

    #[test]
    fn names_of_other_things() {
        let names = "TOKENIZERS_PARALLELISM --max_tokens --tokenizer --eos_token --input_key OMP_NUM_THREADS PWD OLDPWD
            --num_tokens_per_batch --keyword --monkeys monkey --num_key_value_heads --calculate_per_token_loss PATH
            --per_token_loss --primary_key --max_token --token_type_ids SSH_ASKPASS SSH_AUTH_SOCK --pat - _ =";
        for name in names.split_whitespace().chain([""]) {
            assert_eq!(kind(name), None, "{name}");
        }
    }

    #[test]
    fn values_that_are_secret_under_such_a_name() {
        for (kind, secret, harmless) in [
            (Sensitivity::Token, "abcd hf_x 1234567890123456 5e-5x", "8 0.5 1e-5 true None id 1,2,3"),
            (Sensitivity::Password, "1234", "false"),
            (Sensitivity::Place, "hunter2", "/run/secrets/x"),
            (Sensitivity::Vague, "sk-0123456789abcdef", "conversations_of_users"),
        ] {
            assert!(secret.split(' ').all(|value| kind.hides(value.as_bytes())), "{secret}");
            assert!(!harmless.split(' ').chain([""]).any(|value| kind.hides(value.as_bytes())), "{harmless}");
        }
    }
}
