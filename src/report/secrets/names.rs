//! Which names go with secrets, and which values under such a name are none.

/// In any name, wherever it stands.
const ANYWHERE: &[&str] = &["SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL"];
/// The last part of a name; any part of a variable's, of which one too many is hidden. A plural is the same.
const PARTS: &[&str] = &["KEY", "PASS", "PWD", "DSN", "WEBHOOK", "SIGNATURE"];
/// How such a part may end.
const ENDINGS: &[&str] =
    &["TOKEN", "APIKEY", "ACCESSKEY", "PRIVATEKEY", "AUTHKEY", "SSHKEY", "AUTHORIZATION", "COOKIE"];
/// How a part of a variable's name may end: `SSHPASS`.
const ENDINGS_OF_VARIABLES: &[&str] = &["KEY", "PASS"];
/// Nothing, without a part before it: `PWD` is a folder, `--pat` a pattern.
const NOTHING_ALONE: &[&str] = &["PWD", "PAT"];
const PROGRAMS: &[&str] = &["ASKPASS", "BYPASS"];
/// Parts before a token that make it one of a tokenizer, or a number of them.
const OF_TOKENIZERS: &[&str] = &[
    "ADD", "ADDED", "AUDIO", "BOS", "CLS", "EOS", "EXTRA", "IMAGE", "MASK", "MAX", "MIN", "NEW", "NUM", "PAD", "SEP",
    "SPECIAL", "STOP", "TOTAL", "UNK", "VIDEO",
];
/// Parts before a key that make it one of a table or a mapping.
const OF_TABLES: &[&str] = &[
    "ANSWER",
    "CHOSEN",
    "COLUMN",
    "CONTENT",
    "DATASET",
    "DICT",
    "FOREIGN",
    "GROUP",
    "INPUT",
    "LABEL",
    "MESSAGE",
    "MESSAGES",
    "METRIC",
    "OUTPUT",
    "PARTITION",
    "PRIMARY",
    "PROMPT",
    "QUERY",
    "REJECTED",
    "RESPONSE",
    "ROLE",
    "SORT",
    "SYSTEM",
    "TARGET",
    "TEXT",
];
/// The last part of a name that holds where a secret is.
const PLACES: &[&str] = &["FILE", "PATH", "DIR", "FOLDER"];
/// Values that are no secrets under any name.
const NO_SECRETS: &[&str] = &["", "true", "false", "yes", "no", "on", "off", "none", "null", "auto", "default"];

/// A shorter token or key is none.
const SHORTEST: usize = 4;
/// A longer number can be a token.
const LONGEST_NUMBER: usize = 15;
/// What looks like a secret, without a name that says so, is as long as this.
const SHORTEST_UNNAMED: usize = 16;

/// What a name says about its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sensitivity {
    /// `key`: it may be any.
    Vague,
    /// `PASSWORD_FILE`: where it is, or itself.
    Place,
    /// `--hub_token`: unless it is a number or too short.
    Token,
    /// `PGPASSWORD`, `HF_TOKEN`: whatever it is.
    Password,
}

impl Sensitivity {
    /// Nothing for the names of other things. A name in capitals is that of a variable, and means it.
    #[inline(never)]
    pub(crate) fn of(name: &[u8]) -> Option<Sensitivity> {
        if !is_suspicious(name) {
            return None;
        }
        let (mut rest, last) = split_part(name)?;
        let is_place = is_one_of(last, PLACES);
        if contains_one_of(name, ANYWHERE) {
            return Some(if is_place { Sensitivity::Place } else { Sensitivity::Password });
        }
        let variable = !name.iter().any(u8::is_ascii_lowercase);
        let alone = split_part(rest).is_none();
        let mut part = last;
        loop {
            let before = split_part(rest);
            match token(part, before.map(|(_, part)| part), variable) {
                Some(_) if is_place => return Some(Sensitivity::Place),
                Some(Sensitivity::Vague) if alone => return Some(Sensitivity::Vague),
                Some(_) => return Some(if variable { Sensitivity::Password } else { Sensitivity::Token }),
                None => (rest, part) = before.filter(|_| variable)?,
            }
        }
    }

    /// Whether that value is a secret.
    #[inline(never)]
    pub(crate) fn hides(self, value: &[u8]) -> bool {
        if NO_SECRETS.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes())) {
            return false;
        }
        match self {
            Sensitivity::Password => true,
            Sensitivity::Token => value.len() >= SHORTEST && !is_number(value),
            Sensitivity::Place => value.len() >= SHORTEST && !is_number(value) && !b"/.~".contains(&value[0]),
            Sensitivity::Vague => looks_like_one(value),
        }
    }
}

/// Whether one of the words above can be in a name, by how they begin: most options are passed by this.
fn is_suspicious(name: &[u8]) -> bool {
    const fn letters(all: &[u8]) -> u32 {
        let (mut set, mut at) = (0, 0);
        while at < all.len() {
            set |= 1 << (all[at] & 31);
            at += 1;
        }
        set
    }
    const FIRST: u32 = letters(b"KTPSCDWA");
    const BEGINNINGS: &[&[u8; 3]] =
        &[b"KEY", b"TOK", b"PAS", b"PWD", b"PAT", b"SEC", b"SIG", b"CRE", b"COO", b"DSN", b"WEB", b"AUT"];
    const THIRD: u32 = letters(b"YKSDTCGEONB");
    name.windows(3).any(|it| {
        FIRST >> (it[0] & 31) & 1 == 1
            && THIRD >> (it[2] & 31) & 1 == 1
            && BEGINNINGS.iter().any(|word| it.eq_ignore_ascii_case(*word))
    })
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
#[inline(never)]
fn token(part: &[u8], before: Option<&[u8]>, variable: bool) -> Option<Sensitivity> {
    let one = part.strip_suffix(b"S").or(part.strip_suffix(b"s")).unwrap_or(part);
    let is = |words: &[&str]| is_one_of(part, words) || is_one_of(one, words);
    let ends = |words: &[&str]| words.iter().any(|word| ends_with(part, word) || ends_with(one, word));
    let named = is(PARTS) || ends(ENDINGS) || variable && (ends(ENDINGS_OF_VARIABLES) || is(&["PAT"]));
    if !named || is(PROGRAMS) {
        return None;
    }
    let Some(before) = before else {
        return if is(&["KEY"]) {
            Some(Sensitivity::Vague)
        } else {
            (!is(NOTHING_ALONE)).then_some(Sensitivity::Token)
        };
    };
    let harmless = is_one_of(before, OF_TOKENIZERS) || !variable && is_one_of(before, OF_TABLES);
    (!harmless).then_some(Sensitivity::Token)
}

/// Whether an option of that name takes several.
pub(crate) fn is_plural(name: &[u8]) -> bool {
    name.last().is_some_and(|last| last.eq_ignore_ascii_case(&b's')) && !ends_with(name, "PASS")
}

/// Long, of letters and digits, and no words.
pub(crate) fn looks_like_one(value: &[u8]) -> bool {
    let usual = |b: &u8| b.is_ascii_alphanumeric() || b"_-".contains(b);
    value.len() >= SHORTEST_UNNAMED
        && value.iter().all(usual)
        && value.iter().any(u8::is_ascii_digit)
        && value.iter().any(u8::is_ascii_alphabetic)
}

#[inline(never)]
fn is_number(value: &[u8]) -> bool {
    value.len() <= LONGEST_NUMBER
        && value.iter().any(u8::is_ascii_digit)
        && value.iter().all(|b| b.is_ascii_digit() || b"+-.,_%eE".contains(b))
}

#[inline(never)]
fn is_one_of(part: &[u8], words: &[&str]) -> bool {
    words.iter().any(|word| part.eq_ignore_ascii_case(word.as_bytes()))
}

#[inline(never)]
pub(super) fn ends_with(part: &[u8], word: &str) -> bool {
    part.len().checked_sub(word.len()).is_some_and(|at| part[at..].eq_ignore_ascii_case(word.as_bytes()))
}

fn contains_one_of(name: &[u8], words: &[&str]) -> bool {
    // Most letters begin none of them.
    let starts = |at: usize| {
        words.iter().any(|word| name[at..].get(..word.len()).is_some_and(|it| it.eq_ignore_ascii_case(word.as_bytes())))
    };
    (0..name.len()).any(|at| b"spcSPC".contains(&name[at]) && starts(at))
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
    }

    #[test]
    fn names_of_other_things() {
        let names = "TOKENIZERS_PARALLELISM --max_tokens --tokenizer --eos_token --input_key OMP_NUM_THREADS PWD OLDPWD
            --num_tokens_per_batch --keyword --monkeys monkey --num_key_value_heads --calculate_per_token_loss PATH
            --per_token_loss --primary_key --max_token --token_type_ids SSH_ASKPASS SSH_AUTH_SOCK --pat - _ =";
        for name in names.split_whitespace() {
            assert_eq!(kind(name), None, "{name}");
        }
        assert_eq!(kind(""), None);
    }

    #[test]
    fn values() {
        for value in ["8", "0.5", "1e-5", "true", "None", "", "id", "1,2,3"] {
            assert!(!Sensitivity::Token.hides(value.as_bytes()), "{value}");
        }
        for value in ["abcd", "hf_x", "1234567890123456", "5e-5x"] {
            assert!(Sensitivity::Token.hides(value.as_bytes()), "{value}");
        }
        assert!(Sensitivity::Password.hides(b"1234") && !Sensitivity::Password.hides(b"false"));
        assert_eq!((kind("MY_TOKEN"), kind("--my_token")), (Some(Sensitivity::Password), Some(Sensitivity::Token)));
        assert!(Sensitivity::Place.hides(b"hunter2") && !Sensitivity::Place.hides(b"/run/secrets/x"));
        assert!(
            Sensitivity::Vague.hides(b"sk-0123456789abcdef") && !Sensitivity::Vague.hides(b"conversations_of_users")
        );
    }
}
