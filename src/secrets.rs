//! What others must not see of a launch. A secret is known by the name it goes under (`--hub_token X`, `HF_TOKEN=X`,
//! `"api_key": "X"`), as the value of such a variable wherever it turns up, or as what stands before the `@` of an
//! address. Plans, records, reports and errors show its place and not itself.

use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde_json::Value;

use crate::host::Host;

/// What stands in the place of a secret.
pub(crate) const HIDDEN: &str = "(secret)";

/// Values shorter than this are no secrets, and would take harmless words along.
const SHORTEST: usize = 8;

/// Parts of a name that make it the name of a secret.
const SECRET: &[&str] =
    &["TOKEN", "KEY", "KEYS", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS"];
/// Parts before `token` or `key` that make it a harmless one: `--eos_token`, `--input_key`.
const HARMLESS_BEFORE: &[&str] = &[
    "ANSWER", "AUDIO", "BOS", "CHOSEN", "CLS", "COLUMN", "DATASET", "DICT", "EOS", "GROUP", "IMAGE", "INPUT", "LABEL",
    "MASK", "OUTPUT", "PAD", "PROMPT", "QUERY", "REJECTED", "RESPONSE", "SEP", "SORT", "SPECIAL", "STOP", "TEXT",
    "UNK", "VIDEO",
];

/// A stretch of a word.
#[derive(Debug, PartialEq)]
pub(crate) enum Piece<'a> {
    Open(&'a [u8]),
    /// The variable in which a script may ask for it.
    Secret(String),
}

/// The secrets that zlaunch was given, by the variables that hold them; without a host, those that a text tells by itself.
#[derive(Default)]
pub(crate) struct Secrets<'h> {
    host: Option<&'h Host>,
    /// Looked for when something is shown: most launches show nothing.
    values: OnceCell<Vec<(String, &'h str)>>,
}

impl<'h> Secrets<'h> {
    pub(crate) fn of(host: &'h Host) -> Self {
        Secrets { host: Some(host), values: OnceCell::new() }
    }

    fn values(&self) -> &[(String, &'h str)] {
        self.values.get_or_init(|| {
            let mut values = self.host.map(given).unwrap_or_default();
            // One may be the beginning of another.
            values.sort_by_key(|(_, value)| std::cmp::Reverse(value.len()));
            values
        })
    }

    /// The pieces of each word of a command.
    pub(crate) fn in_words<'a>(&'a self, words: impl IntoIterator<Item = &'a OsStr>) -> Vec<Vec<Piece<'a>>> {
        let mut asked_for = None;
        let mut all = Vec::new();
        for word in words {
            let bytes = word.as_bytes();
            let follows = asked_for.take().filter(|_| !bytes.starts_with(b"--"));
            all.push(match follows {
                Some(name) => vec![self.known(word, name)],
                None => self.in_word(word),
            });
            asked_for = word.to_str().filter(|it| asks_for_secret(it));
        }
        all
    }

    pub(crate) fn in_word<'a>(&'a self, word: &'a OsStr) -> Vec<Piece<'a>> {
        let Some(text) = word.to_str() else { return vec![Piece::Open(word.as_bytes())] };
        match text.split_once('=') {
            Some((name, value)) if is_secret(name) && !value.is_empty() => {
                let (open, secret) = text.split_at(name.len() + 1);
                vec![Piece::Open(open.as_bytes()), self.known(OsStr::new(secret), name)]
            }
            _ => self.in_text(text),
        }
    }

    fn in_text<'a>(&'a self, text: &'a str) -> Vec<Piece<'a>> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((start, end, variable)) = self.first_in(rest) {
            pieces.extend((start > 0).then(|| Piece::Open(&rest.as_bytes()[..start])));
            pieces.push(Piece::Secret(variable));
            rest = &rest[end..];
        }
        pieces.extend((!rest.is_empty()).then_some(Piece::Open(rest.as_bytes())));
        pieces
    }

    /// The pieces of a file: lines of JSON or of variables.
    pub(crate) fn in_document<'a>(&'a self, text: &'a str) -> Vec<Piece<'a>> {
        text.split_inclusive('\n').flat_map(|line| self.in_word(OsStr::new(line))).collect()
    }

    /// Where the first secret begins and ends, and the variable that holds it.
    fn first_in(&self, text: &str) -> Option<(usize, usize, String)> {
        let of_variables = self.values().iter().filter_map(|(name, value)| {
            let start = text.find(*value)?;
            Some((start, start + value.len(), name.clone()))
        });
        // Most words have none, and searching for more than one character is dear.
        let colon = text.contains(':').then_some(text);
        let of_address = colon.and_then(credentials).map(|(start, end)| (start, end, "CREDENTIALS".to_string()));
        let of_json = colon.and_then(entry).map(|(start, end, key)| (start, end, variable_for(key)));
        of_variables.chain(of_address).chain(of_json).min_by_key(|(start, ..)| *start)
    }

    /// A secret goes by the variable that holds it, else by the option that asks for it.
    fn known<'a>(&self, secret: &OsStr, option: &str) -> Piece<'a> {
        let variable = self.values().iter().find(|(_, value)| secret == *value).map(|(name, _)| name.clone());
        Piece::Secret(variable.unwrap_or_else(|| variable_for(option)))
    }

    /// A command, to be shown.
    pub(crate) fn hide_in_words<'a>(&'a self, words: impl IntoIterator<Item = &'a OsStr>) -> Vec<OsString> {
        self.in_words(words).iter().map(|pieces| shown(pieces)).collect()
    }

    /// The value of a variable, to be shown.
    pub(crate) fn hide_value(&self, name: &str, value: &OsStr) -> OsString {
        if is_secret(name) { HIDDEN.into() } else { shown(&self.in_word(value)) }
    }

    /// A sentence.
    pub(crate) fn hide_in_text(&self, text: &str) -> String {
        let words = text.split(' ').map(|word| shown(&self.in_word(OsStr::new(word))).to_string_lossy().into_owned());
        words.collect::<Vec<_>>().join(" ")
    }

    /// A place: words as they were typed.
    pub(crate) fn hide_in_place(&self, text: &str) -> String {
        let words = self.hide_in_words(text.split(' ').map(OsStr::new));
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn hide(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.hide_in_text(&text).into(),
            Value::Array(items) if items.iter().all(Value::is_string) => {
                let words = self.hide_in_words(items.iter().filter_map(Value::as_str).map(OsStr::new));
                words.iter().map(|word| Value::from(word.to_string_lossy())).collect()
            }
            Value::Array(items) => items.into_iter().map(|item| self.hide(item)).collect(),
            Value::Object(entries) => {
                let hide = |(key, value): (String, Value)| {
                    let value = if value.is_string() && is_secret(&key) { HIDDEN.into() } else { self.hide(value) };
                    (key, value)
                };
                Value::Object(entries.into_iter().map(hide).collect())
            }
            other => other,
        }
    }
}

/// What the environment and the command line name as secrets: `--env HF_TOKEN=X`, `--hub_token X`.
fn given(host: &Host) -> Vec<(String, &str)> {
    let variables = host.env.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
    let variables = variables.filter(|(name, _)| is_secret(name)).map(|(name, value)| (name.to_string(), value));
    let words: Vec<&str> = host.words.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    let joined = words.iter().filter_map(|word| word.split_once('='));
    let apart = words.windows(2).filter(|pair| asks_for_secret(pair[0]) && !pair[1].starts_with("--"));
    let options = joined.filter(|(name, _)| is_secret(name)).chain(apart.map(|pair| (pair[0], pair[1])));
    let all = variables.chain(options.map(|(name, value)| (variable_for(name), value)));
    all.filter(|(_, value)| value.len() >= SHORTEST).collect()
}

/// An option whose value is the next word.
fn asks_for_secret(word: &str) -> bool {
    word.starts_with('-') && !word.contains('=') && is_secret(word)
}

fn shown(pieces: &[Piece]) -> OsString {
    let bytes = pieces.iter().map(|piece| match piece {
        Piece::Open(bytes) => bytes,
        Piece::Secret(_) => HIDDEN.as_bytes(),
    });
    OsString::from_vec(bytes.collect::<Vec<_>>().concat())
}

/// Whether a variable or an option of that name holds a secret; rather one too many.
pub(crate) fn is_secret(name: &str) -> bool {
    let is_one_of = |part: &[u8], words: &[&str]| words.iter().any(|word| part.eq_ignore_ascii_case(word.as_bytes()));
    let ends_with = |part: &[u8], word: &str| {
        part.len().checked_sub(word.len()).is_some_and(|at| part[at..].eq_ignore_ascii_case(word.as_bytes()))
    };
    let mut before: &[u8] = b"";
    name.as_bytes().split(|byte| b"_-.".contains(byte)).any(|part| {
        let secret = is_one_of(part, SECRET) || ends_with(part, "KEY") || ends_with(part, "TOKEN");
        let before = std::mem::replace(&mut before, part);
        // A key of nothing is a key of JSON.
        let of_nothing = before.is_empty() && is_one_of(part, &["KEY", "KEYS"]);
        secret && !of_nothing && !is_one_of(before, HARMLESS_BEFORE)
    })
}

/// `HUB_TOKEN` for `--hub-token`.
fn variable_for(name: &str) -> String {
    name.trim_start_matches('-').to_ascii_uppercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}

/// The text of the first entry of JSON whose key names a secret, and the key.
fn entry(text: &str) -> Option<(usize, usize, &str)> {
    let mut from = 0;
    loop {
        let colon = from + text[from..].find("\":")?;
        from = colon + "\":".len();
        let key = text[..colon].rfind('"').map_or("", |quote| &text[quote + 1..colon]);
        let Some(value) = text[from..].trim_start().strip_prefix('"').filter(|_| is_secret(key)) else { continue };
        let mut escaped = false;
        let end = value.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let start = text.len() - value.len();
        if let Some(end) = end.filter(|end| *end > 0) {
            return Some((start, start + end, key));
        }
    }
}

/// What stands before the `@` of the first address that has one.
fn credentials(text: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    loop {
        let start = from + text[from..].find("://")? + "://".len();
        let end = text[start..].find(['/', ' ', '"', '\'', '?', '#']).map_or(text.len(), |length| start + length);
        if let Some(at) = text[start..end].rfind('@').filter(|at| *at > 0) {
            return Some((start, start + at));
        }
        from = start;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn host() -> Host {
        let env =
            [("HF_TOKEN", "hf_abcdefgh"), ("LANG", "C.UTF-8.long")].map(|(name, value)| (name.into(), value.into()));
        Host { env: env.into(), ..Host::default() }
    }

    #[test]
    fn names() {
        for name in [
            "HF_TOKEN",
            "WANDB_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "MYSQL_PASSWORD",
            "apikey",
            "--hub_token",
            "--hub-token",
            "--token",
            "comet.api_key",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "MODELSCOPE_API_TOKEN",
            "AUTHTOKEN",
            "SSH_KEY",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "TOKENIZERS_PARALLELISM",
            "--max_tokens",
            "--tokenizer",
            "--eos_token",
            "--input_key",
            "OMP_NUM_THREADS",
            "--num_tokens_per_batch",
            "--keyword",
            "KEY",
            "--monkeys",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn words_of_a_command() {
        let shown = [
            (
                "--hub_token x --wandb-api-key=abc WANDB_API_KEY=q",
                "--hub_token (secret) --wandb-api-key=(secret) WANDB_API_KEY=(secret)",
            ),
            ("--max_tokens 512 --tokenizer t", "--max_tokens 512 --tokenizer t"),
            ("https://me:pw@host/a?b=c@d https://h/", "https://(secret)@host/a?b=c@d https://h/"),
            ("say hf_abcdefgh,hf_abcdefgh", "say (secret),(secret)"),
            ("-token x", "-token (secret)"),
            (r#"{"api_key":"a\"b","key":"c"}"#, r#"{"api_key":"(secret)","key":"c"}"#),
            ("--use_auth_token --model m", "--use_auth_token --model m"),
            ("--data https://h/x,https://u:p@h", "--data https://h/x,https://(secret)@h"),
        ];
        let host = host();
        let secrets = Secrets::of(&host);
        for (words, hidden) in shown {
            assert_eq!(secrets.hide_in_place(words), hidden);
        }
        let bytes = OsStr::from_bytes(b"\xff");
        assert_eq!(secrets.hide_in_words([OsStr::new("--token"), bytes, bytes])[1..], [OsStr::new(HIDDEN), bytes]);
    }

    #[test]
    fn a_script_asks_for_what_it_does_not_hold() {
        let host = host();
        let secrets = Secrets::of(&host);
        let names = |words: &'static str| -> Vec<String> {
            let pieces = secrets.in_words(words.split(' ').map(OsStr::new)).into_iter().flatten();
            pieces.filter_map(|piece| if let Piece::Secret(name) = piece { Some(name) } else { None }).collect()
        };
        assert_eq!(names("--hub_token hf_abcdefgh"), ["HF_TOKEN"]);
        assert_eq!(names("--hub-token other --proxy http://a:b@c"), ["HUB_TOKEN", "CREDENTIALS"]);
    }

    #[test]
    fn sentences_and_values() {
        let host = host();
        let secrets = Secrets::of(&host);
        for (text, hidden) in [
            ("comet.api_key=abc and more", "comet.api_key=(secret) and more"),
            ("HTTPS_PROXY=http://me:pw@proxy:80/x", "HTTPS_PROXY=http://(secret)@proxy:80/x"),
            ("see https://example.org/a@b", "see https://example.org/a@b"),
            ("did you mean --hub_token or not", "did you mean --hub_token or not"),
            ("--set zero_optimization.stage=3", "--set zero_optimization.stage=3"),
        ] {
            assert_eq!(secrets.hide_in_text(text), hidden);
        }
        let entries = json!({"AWS_SECRET_ACCESS_KEY": "a", "OMP_NUM_THREADS": "4", "argv": ["--token", "x"], "n": [1, "hf_abcdefgh"]});
        let hidden = json!({"AWS_SECRET_ACCESS_KEY": HIDDEN, "OMP_NUM_THREADS": "4", "argv": ["--token", HIDDEN], "n": [1, HIDDEN]});
        assert_eq!(secrets.hide(entries), hidden);
    }

    #[test]
    fn what_the_words_name_is_known_elsewhere() {
        let words = [
            "zlaunch",
            "--env",
            "MY_TOKEN=my-own-value",
            "--",
            "x",
            "--hub-token",
            "another-value",
            "--eos_token",
            "<|im_end|>",
        ];
        let host = Host { words: words.map(OsString::from).into(), ..host() };
        let hidden = Secrets::of(&host).hide_in_text("my-own-value another-value hf_abcdefgh <|im_end|>");
        assert_eq!(hidden, "(secret) (secret) (secret) <|im_end|>");
    }
}
