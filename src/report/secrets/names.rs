//! Which names go with secrets, and which values under such a name are harmless.

/// These make any name secret, wherever they stand in it. The last ones sign addresses of AWS, Aliyun and CloudFront.
const ANYWHERE: &str = "SECRET PASSWORD PASSWD PASSPHRASE CREDENTIAL ACCESSKEYID KEY-PAIR-ID";
/// How the name of a secret ends, or any part of a variable's name.
const ENDINGS: &str = "TOKEN KEY PASS PWD DSN WEBHOOK SIGNATURE BEARER AUTHORIZATION COOKIE";
/// The last part of a secret's name, and nothing else.
const LAST: &str = "AUTH JWT PAT PW PWD SAS SIG";
/// How tokens begin, whatever they are called.
#[rustfmt::skip]
pub const TOKENS: &[&str] = &["hf_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "sk-ant-",
    "sk-proj-", "sk-", "api_org_", "nvapi-"];
const OTHER_ENDINGS: &str = "MONKEY DONKEY TURKEY HOCKEY WHISKEY ASKPASS BYPASS COMPASS OLDPWD";
/// `--eos_token`: parts before a token that make it one of a tokenizer.
const TOKENIZER_WORDS: &str = "AUDIO BOS CLS EOS IMAGE MASK MAX MIN NUM PAD SEP SPECIAL STOP UNK VIDEO";
/// `--max_new_tokens`: parts that do so before several of them.
const BEFORE_TOKENS: &str = "ADD ADDED EXTRA NEW TOTAL";
/// `--primary_key`: parts before a key that make it one of a table or a mapping.
const TABLE_WORDS: &str = "ANSWER CHOSEN COLUMN CONTENT DATASET DICT FOREIGN GROUP INPUT LABEL MESSAGE MESSAGES METRIC \
    OUTPUT PARTITION PRIMARY PROMPT QUERY REJECTED RESPONSE ROLE SORT SYSTEM TARGET TEXT";
/// The last part of a name that says where a secret is.
const PLACES: &str = "FILE PATH DIR FOLDER";
/// Values that are harmless under any name.
const HARMLESS_VALUES: &str = "true false yes no on off none null auto default";

/// How the value of a secret begins that the shells of other machines read from a file.
pub(crate) const READ_FROM_FILE: &str = "$(sed";

/// What a name says about its value.
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
        let parts: Vec<&str> =
            name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()).collect();
        let first = if is_variable { 0 } else { parts.len().saturating_sub(1) };
        let is_password = ANYWHERE.split(' ').any(|word| name.contains(word));
        // The variable PWD is a folder.
        let is_last = parts.last().is_some_and(|last| is_one_of(last, LAST)) && !(is_variable && parts == ["PWD"]);
        let is_named = || (first..parts.len()).any(|at| is_of_secret(&parts[..=at], is_variable));
        (is_password || is_last || is_named()).then(|| match parts[..] {
            [.., last] if is_one_of(last, PLACES) => Sensitivity::Place,
            ["KEY" | "KEYS"] => Sensitivity::Vague,
            _ if is_password || is_variable => Sensitivity::Password,
            _ => Sensitivity::Token,
        })
    }

    /// Whether that value is a secret.
    pub(super) fn hides(self, value: &str) -> bool {
        let is_harmless = value.is_empty() || is_one_of(value, HARMLESS_VALUES) || value.starts_with(READ_FROM_FILE);
        !is_harmless
            && match self {
                Sensitivity::Password => true,
                Sensitivity::Token => value.len() >= 4 && !is_number(value),
                Sensitivity::Place => Sensitivity::Token.hides(value) && !value.starts_with(['/', '.', '~']),
                Sensitivity::Vague => looks_like_secret(value),
            }
    }
}

/// A first look, since most names and texts are harmless: whether a word above that makes a secret, or a token, may begin
/// somewhere, or an address.
#[rustfmt::skip]
pub(super) fn may_show_secret(text: &str) -> bool {
    let begins = |three: &[u8]| {
        let three = [three[0], three[1], three[2]].map(|byte| byte.to_ascii_lowercase());
        matches!(&three, b"aut" | b"bea" | b"coo" | b"cre" | b"dsn" | b"jwt" | b"key" | b"pas" | b"pat" | [b'p', b'w', _]
            | b"sas" | b"sec" | b"sig" | b"tok" | b"web"
            | b"hf_" | [b'g', b'h', _] | b"git" | b"glp" | b"xox" | b"sk-" | b"api" | b"nva" | b"://")
    };
    text.as_bytes().windows(3).any(begins) || text.ends_with("pw") || text.ends_with("PW")
}

/// What the last of these parts, and the one before it, say.
fn is_of_secret(parts: &[&str], is_variable: bool) -> bool {
    let ends = |part: &str, endings: &str| endings.split(' ').any(|ending| part.ends_with(ending));
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

fn is_one_of(word: &str, words: &str) -> bool {
    words.split(' ').any(|known| known.eq_ignore_ascii_case(word))
}

/// Long, of letters and digits, and not words.
pub(super) fn looks_like_secret(value: &str) -> bool {
    value.len() >= 16
        && value.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        && value.contains(|c: char| c.is_ascii_digit())
        && value.contains(|c: char| c.is_ascii_alphabetic())
}

/// Where the token ends that begins a text, if one does.
pub(super) fn token_at(text: &str) -> Option<usize> {
    let prefix = TOKENS.iter().find(|prefix| text.starts_with(**prefix))?;
    let joins = |c: char| prefix.len() > 5 && "_-".contains(c);
    let rest = &text[prefix.len()..];
    let rest = &rest[..rest.find(|c: char| !c.is_ascii_alphanumeric() && !joins(c)).unwrap_or(rest.len())];
    let is_mixed = rest.contains(|c: char| c.is_ascii_digit()) && rest.contains(|c: char| c.is_ascii_uppercase());
    (rest.len() >= 16 || rest.len() >= 8 && is_mixed).then_some(prefix.len() + rest.len())
}

/// A number or a few of them; a longer one can be a token.
fn is_number(value: &str) -> bool {
    value.len() < 16 && value.split(',').all(|number| number.parse::<f64>().is_ok())
}
