//! What others must not see of a launch. A secret is known by the name it goes under (`--hub_token X`, `HF_TOKEN=X`,
//! `"api_key": "X"`), as what stands before the `@` of an address, and wherever else it turns up again if the environment
//! or the command line named it. Plans, records, reports and errors show its place and not itself.

mod names;
mod scan;
mod script;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde_json::Value;

use crate::host::Host;
use names::Sensitivity;
use scan::{Reading, Span};
pub(crate) use script::Names;

/// What stands in the place of a secret.
pub(crate) const HIDDEN: &str = "(secret)";

/// A shorter secret is not looked for elsewhere: it would take harmless words along.
const SHORTEST_ELSEWHERE: usize = 6;

/// A stretch of a text.
#[derive(Debug, PartialEq)]
pub(crate) enum Piece<'a> {
    Open(&'a [u8]),
    Secret(Secret<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Secret<'a> {
    value: &'a [u8],
    /// Of the option, the variable or the key.
    name: &'a [u8],
}

/// The secrets that zlaunch was given; without a host, those that a text tells by itself.
#[derive(Default)]
pub(crate) struct Secrets<'h> {
    host: Option<&'h Host>,
    /// Looked for when something is shown: most launches show nothing.
    known: OnceCell<Vec<Known<'h>>>,
}

/// What the environment or the command line named.
struct Known<'h> {
    value: Cow<'h, [u8]>,
    name: &'h [u8],
}

impl<'a> Span<'a> {
    fn of(&self, text: &'a [u8]) -> Secret<'a> {
        Secret { value: &text[self.start..self.end], name: self.name }
    }
}

impl<'h> Secrets<'h> {
    pub(crate) fn of(host: &'h Host) -> Self {
        Secrets { host: Some(host), known: OnceCell::new() }
    }

    fn known(&self) -> &[Known<'h>] {
        self.known.get_or_init(|| self.host.map(given).unwrap_or_default())
    }

    /// The pieces of each word of a command.
    pub(crate) fn in_words<'a>(&'a self, words: impl IntoIterator<Item = &'a OsStr>) -> Vec<Vec<Piece<'a>>> {
        let words: Vec<&[u8]> = words.into_iter().map(OsStr::as_bytes).collect();
        let all = in_each(&words, self.known());
        words.iter().zip(&all).map(|(word, spans)| pieces(word, spans)).collect()
    }

    pub(crate) fn in_word<'a>(&'a self, word: &'a OsStr) -> Vec<Piece<'a>> {
        pieces(word.as_bytes(), &spans(word.as_bytes(), Reading::Word, self.known()))
    }

    /// The pieces of a variable's value.
    pub(crate) fn in_value<'a>(&'a self, name: &'a str, value: &'a OsStr) -> Vec<Piece<'a>> {
        if is_secret(name.as_bytes(), value.as_bytes()) {
            return vec![Piece::Secret(Secret { value: value.as_bytes(), name: name.as_bytes() })];
        }
        self.in_word(value)
    }

    /// The pieces of a file: JSON or lines of variables.
    pub(crate) fn in_document<'a>(&'a self, text: &'a str) -> Vec<Piece<'a>> {
        pieces(text.as_bytes(), &spans(text.as_bytes(), Reading::Lines, self.known()))
    }

    /// The names under which a script asks for secrets. It sets and removes variables itself.
    pub(crate) fn names<'a>(&self, set: Vec<(&'a str, &'a OsStr)>, unset: &'a [String]) -> Names<'a>
    where
        'h: 'a,
    {
        Names { host: self.host, set, unset, given: Vec::new() }
    }

    /// A command, to be shown.
    pub(crate) fn hide_in_words<'a>(&'a self, words: impl IntoIterator<Item = &'a OsStr>) -> Vec<OsString> {
        let words: Vec<&[u8]> = words.into_iter().map(OsStr::as_bytes).collect();
        let all = in_each(&words, self.known());
        words.iter().zip(&all).map(|(word, spans)| OsString::from_vec(shown(word, spans))).collect()
    }

    /// `NAME=VALUE`, to be shown.
    pub(crate) fn setting(&self, name: &str, value: impl AsRef<OsStr>) -> String {
        format!("{name}={}", self.hide_value(name, value.as_ref()))
    }

    /// The value of a variable, to be shown.
    pub(crate) fn hide_value(&self, name: &str, value: &OsStr) -> String {
        let value = value.as_bytes();
        if is_secret(name.as_bytes(), value) {
            return HIDDEN.to_string();
        }
        String::from_utf8_lossy(&shown(value, &spans(value, Reading::Word, self.known()))).into_owned()
    }

    /// A sentence.
    pub(crate) fn hide_in_text(&self, text: &str) -> String {
        self.hide_as(text, Reading::Sentence)
    }

    /// A place: words as they were typed.
    pub(crate) fn hide_in_place(&self, text: &str) -> String {
        self.hide_as(text, Reading::Place)
    }

    fn hide_as(&self, text: &str, reading: Reading) -> String {
        let bytes = shown(text.as_bytes(), &spans(text.as_bytes(), reading, self.known()));
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// What zlaunch itself says, in which only what is known can turn up again.
    pub(crate) fn hide_known(&self, text: String) -> String {
        if self.known().is_empty() { text } else { self.hide_in_text(&text) }
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
                    let value = match Sensitivity::of(key.as_bytes()) {
                        Some(kind) => self.hide_all(kind, value),
                        None => self.hide(value),
                    };
                    (key, value)
                };
                Value::Object(entries.into_iter().map(hide).collect())
            }
            other => other,
        }
    }

    /// What stands under the name of a secret.
    fn hide_all(&self, kind: Sensitivity, value: Value) -> Value {
        match value {
            Value::String(text) if kind.hides(text.as_bytes()) => HIDDEN.into(),
            Value::Number(number) if kind.hides(number.to_string().as_bytes()) => HIDDEN.into(),
            Value::Array(items) => items.into_iter().map(|item| self.hide_all(kind, item)).collect(),
            Value::Object(entries) => {
                Value::Object(entries.into_iter().map(|(key, value)| (key, self.hide_all(kind, value))).collect())
            }
            other => self.hide(other),
        }
    }
}

/// What the environment and the command line name as secrets: `HF_TOKEN=X`, `--hub_token X`.
fn given(host: &Host) -> Vec<Known<'_>> {
    let mut all = Vec::new();
    for (name, value) in &host.env {
        let (name, value) = (name.as_bytes(), value.as_bytes());
        if is_secret(name, value) {
            all.push(Secret { value, name });
        } else if name.starts_with(b"ZLAUNCH_") {
            all.extend(spans(value, Reading::Word, &[]).iter().map(|span| span.of(value)));
        }
    }
    let words: Vec<&[u8]> = host.words.iter().map(|word| word.as_bytes()).collect();
    for (word, spans) in words.iter().zip(in_each(&words, &[])) {
        all.extend(spans.iter().map(|span| span.of(word)));
    }
    all.retain(|secret| secret.value.len() >= SHORTEST_ELSEWHERE);
    all.into_iter().flat_map(spellings).collect()
}

/// A secret as it is, as text, and as JSON writes it.
fn spellings(Secret { value, name }: Secret) -> impl Iterator<Item = Known> {
    let text = String::from_utf8_lossy(value);
    let json = Value::from(text.as_ref()).to_string().into_bytes();
    let json = json[1..json.len() - 1].to_vec();
    let mut all = vec![Cow::Borrowed(value), Cow::Owned(text.into_owned().into_bytes()), Cow::Owned(json)];
    all.dedup();
    all.into_iter().map(move |value| Known { value, name })
}

/// The secrets of each word. One that follows the name of a secret is the secret, if it can be one.
#[inline(never)]
fn in_each<'a>(words: &[&'a [u8]], known: &'a [Known]) -> Vec<Vec<Span<'a>>> {
    let mut asked: Option<Asked> = None;
    let mut before: &[u8] = b"";
    let mut all = Vec::with_capacity(words.len());
    for &word in words {
        let mut own = None;
        if let Some(it) = asked.take() {
            let value = word.strip_prefix(it.prefix).unwrap_or(word);
            if Some(word) == it.srun_prefix {
                // `--launcher-arg --token --launcher-arg X`
                asked = Some(it);
            } else if !scan::is_option(value) {
                let span = Span { start: word.len() - value.len(), end: word.len(), name: it.name };
                own = it.kind.hides(value).then(|| vec![span]);
                asked = names::is_plural(it.name).then_some(it);
            }
        }
        all.push(own.unwrap_or_else(|| spans(word, Reading::Word, known)));
        asked = Asked::by(word, before).or(asked);
        before = word;
    }
    all
}

/// An option that wants a secret.
#[derive(Clone, Copy)]
struct Asked<'a> {
    name: &'a [u8],
    kind: Sensitivity,
    /// What stands before the name, and will before the value: `--launcher-arg=`.
    prefix: &'a [u8],
    /// The same as a word of its own.
    srun_prefix: Option<&'a [u8]>,
}

impl<'a> Asked<'a> {
    fn by(word: &'a [u8], before: &'a [u8]) -> Option<Self> {
        if word.first() != Some(&b'-') {
            return None;
        }
        let start = word.iter().rposition(|b| *b == b'=').map_or(0, |at| at + 1);
        let (prefix, name) = word.split_at(start);
        let kind = Sensitivity::of(name).filter(|_| name.starts_with(b"-"))?;
        let srun_prefix = Some(before).filter(|before| before.starts_with(b"--") && before.len() > 2);
        Some(Asked { name, kind, prefix, srun_prefix })
    }
}

/// The secrets of a text.
#[inline(never)]
fn spans<'a>(text: &'a [u8], reading: Reading, known: &'a [Known]) -> Vec<Span<'a>> {
    let told = scan::spans(text, reading);
    if known.is_empty() { told } else { with_known(text, &told, known) }
}

/// What is open in a text, and what is not.
fn pieces<'a>(text: &'a [u8], spans: &[Span<'a>]) -> Vec<Piece<'a>> {
    let mut pieces = Vec::with_capacity(2 * spans.len() + 1);
    let mut at = 0;
    for span in spans {
        pieces.extend((span.start > at).then(|| Piece::Open(&text[at..span.start])));
        pieces.push(Piece::Secret(span.of(text)));
        at = span.end;
    }
    pieces.extend((at < text.len()).then(|| Piece::Open(&text[at..])));
    pieces
}

/// These, and where what is known turns up again; those that overlap are one.
#[inline(never)]
fn with_known<'a>(text: &'a [u8], spans: &[Span<'a>], known: &'a [Known]) -> Vec<Span<'a>> {
    let next = |it: &'a Known, from| {
        let start = find(text, &it.value, from)?;
        Some(Span { start, end: start + it.value.len(), name: it.name })
    };
    let mut ahead: Vec<Option<Span>> = known.iter().map(|it| next(it, 0)).collect();
    let mut told = spans.iter().copied();
    ahead.push(told.next());
    let mut all: Vec<Span> = Vec::new();
    loop {
        let first = (0..ahead.len()).filter_map(|at| Some((at, ahead[at]?)));
        let Some((at, span)) = first.min_by_key(|(_, span)| span.start) else { return all };
        ahead[at] = known.get(at).map_or_else(|| told.next(), |it| next(it, span.end));
        match all.last_mut().filter(|last| span.start < last.end) {
            Some(last) => last.end = last.end.max(span.end),
            None => all.push(span),
        }
    }
}

fn find(text: &[u8], value: &[u8], from: usize) -> Option<usize> {
    let last = text.len().checked_sub(value.len())?;
    (from..=last).find(|at| text[*at] == value[0] && text[*at..].starts_with(value))
}

#[inline(never)]
fn shown(text: &[u8], spans: &[Span]) -> Vec<u8> {
    let mut shown = Vec::with_capacity(text.len());
    let mut at = 0;
    for span in spans {
        shown.extend_from_slice(&text[at..span.start]);
        shown.extend_from_slice(HIDDEN.as_bytes());
        at = span.end;
    }
    shown.extend_from_slice(&text[at..]);
    shown
}

/// Whether the value of that variable or option is a secret.
fn is_secret(name: &[u8], value: &[u8]) -> bool {
    Sensitivity::of(name).is_some_and(|kind| kind.hides(value))
}

/// Whether it may hold one.
pub(crate) fn may_hold_secret(name: &str) -> bool {
    Sensitivity::of(name.as_bytes()).is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::laws::fake::host;

    const ENVIRONMENT: &[(&str, &str)] = &[("HF_TOKEN", "hf_abcdefgh"), ("LANG", "C.UTF-8.long")];

    /// `|` parts the words, `*` is what is hidden.
    #[test]
    fn words_of_a_command() {
        let host = host(ENVIRONMENT);
        let secrets = Secrets::of(&host);
        for (words, hidden) in [
            (
                "--hub_token|Sxyz|--wandb-api-key=Sabc|WANDB_API_KEY=Sq12",
                "--hub_token|*|--wandb-api-key=*|WANDB_API_KEY=*",
            ),
            ("--max_tokens|512|--tokenizer|t", "--max_tokens|512|--tokenizer|t"),
            ("-token|Sxyz|--password|S", "-token|*|--password|*"),
            ("--use_auth_token|--model|m|--token|--S3cretValue42", "--use_auth_token|--model|m|--token|*"),
            ("--api_keys|a|Sabc|Sdef|--model|m", "--api_keys|a|*|*|--model|m"),
            ("--token|--|python", "--token|--|python"),
            // Every sign, not only the first.
            ("--set=hub_token=Sabc|--set=comet.api_key=Sa,T", "--set=hub_token=*|--set=comet.api_key=*"),
            ("a=b,token=Sabc,c=d|--export=ALL,HF_TOKEN=Sabc", "a=b,token=*,c=d|--export=ALL,HF_TOKEN=*"),
            ("--launcher-arg=--token=Sabc|+hub_token=Sabc", "--launcher-arg=--token=*|+hub_token=*"),
            ("--launcher-arg|--token|--launcher-arg|Sabc", "--launcher-arg|--token|--launcher-arg|*"),
            ("--launcher-arg=--token|--launcher-arg=Sabc|x", "--launcher-arg=--token|--launcher-arg=*|x"),
            ("token:Sabc|Authorization: Bearer Sabc|-HCookie: Sa;Sb", "token:*|Authorization: *|-HCookie: *"),
            ("use Bearer Sabcdefgh now|--password=S and S", "use Bearer * now|--password=*"),
            ("curl --token Sabc x|env HF_TOKEN=Sabc x", "curl --token * x|env HF_TOKEN=* x"),
            // JSON, in whatever spelling.
            (r#"{"api_key":"S\"b","key":"c"}"#, r#"{"api_key":"*","key":"c"}"#),
            (r#"{"c": {"on": true, "api_key" : "Sabc"}}"#, r#"{"c": {"on": true, "api_key" : "*"}}"#),
            (r#"{"api_keys": ["Sabc", {"x": "Sdef"}], "n": "m"}"#, r#"{"api_keys": ["*", {"x": "*"}], "n": "m"}"#),
            (r#"{"a":"{\"api_key\": \"S\\\"x\", \"b\": \"c\"}"}"#, r#"{"a":"{\"api_key\": \"*\", \"b\": \"c\"}"}"#),
            ("{'api_key': 'Sabc', 'b': 'c'}|{api_key: Sabc, b: c}", "{'api_key': '*', 'b': 'c'}|{api_key: *, b: c}"),
            (
                r#"comet.api_key=["Sabc"]|--set=api_key={"a": "Sabc"}"#,
                r#"comet.api_key=["*"]|--set=api_key={"a": "*"}"#,
            ),
            (r#"{"cmd": "x --set=hub_token=Sabc"}"#, r#"{"cmd": "x --set=hub_token=*"}"#),
            // Addresses.
            (
                "https://me:pw@host/a?b=c@d|https://h/|https://user@h/x",
                "https://*@host/a?b=c@d|https://h/|https://user@h/x",
            ),
            ("https://h/x,https://u:p@h|redis://:pw@h", "https://h/x,https://*@h|redis://*@h"),
            ("https://u:a/S@h|https://u:a#S@h|https://h:80/x@y", "https://*@h|https://*@h|https://h:80/x@y"),
            ("https://ghp0123456789abcdef@h", "https://*@h"),
            ("https://h/x?a=b&access_token=Sabc&c=d", "https://h/x?a=b&access_token=*&c=d"),
            ("https://h/x?X-Amz-Signature=Sabc#y", "https://h/x?X-Amz-Signature=*#y"),
            // Known from elsewhere.
            ("say hf_abcdefgh,hf_abcdefgh", "say *,*"),
            // Ordinary options.
            ("--num_key_value_heads|8|--per_token_loss|true", "--num_key_value_heads|8|--per_token_loss|true"),
            ("--primary_key|id|--max_token=5|2_token=5", "--primary_key|id|--max_token=5|2_token=5"),
            ("--prompt|the monkey=3, the monkey=many", "--prompt|the monkey=3, the monkey=many"),
            ("--token_type_ids|false|--key|messages_of_users", "--token_type_ids|false|--key|messages_of_users"),
            ("--key|sk-0123456789abcdef|KEY=sk-0123456789abcdef", "--key|*|KEY=*"),
        ] {
            let shown = secrets.hide_in_words(words.split('|').map(OsStr::new));
            assert_eq!(shown.join(OsStr::new("|")), OsString::from(hidden.replace('*', HIDDEN)));
        }
        let bytes = OsStr::from_bytes(b"S\xff\xfe\xfd");
        assert_eq!(secrets.hide_in_words([OsStr::new("--token"), bytes, bytes])[1..], [OsStr::new(HIDDEN), bytes]);
        assert_eq!(secrets.hide_in_words([OsStr::from_bytes(b"--hub_token=S\xff12")]), ["--hub_token=(secret)"]);
    }

    #[test]
    fn a_script_asks_for_what_it_does_not_hold() {
        let host = host(ENVIRONMENT);
        let secrets = Secrets::of(&host);
        let (set, unset) = (vec![("MY_TOKEN", OsStr::new("mine-1"))], ["OLD_TOKEN".to_string()]);
        let mut names = secrets.names(set, &unset);
        let mut asked = |words: &'static str| -> Vec<String> {
            let all = secrets.in_words(words.split(' ').map(OsStr::new));
            let secret = |piece| if let Piece::Secret(secret) = piece { Some(secret) } else { None };
            all.into_iter().flatten().filter_map(secret).map(|secret| names.of(secret)).collect()
        };
        assert_eq!(asked("--hub_token hf_abcdefgh --hub_token other"), ["HF_TOKEN", "HUB_TOKEN"]);
        assert_eq!(
            asked("--proxy http://a:b@c http://a:d@c http://a:b@c"),
            ["CREDENTIALS", "CREDENTIALS_2", "CREDENTIALS"]
        );
        // The same value has one name, and a name has one value.
        assert_eq!(
            asked("--hub_token another --x_token other --hf_token new1"),
            ["HUB_TOKEN_2", "HUB_TOKEN", "HF_TOKEN_2"]
        );
        // What the script itself sets or removes.
        assert_eq!(
            asked("--my_token mine-1 --old_token older --2_token abcd"),
            ["MY_TOKEN", "OLD_TOKEN_2", "_2_TOKEN"]
        );
        assert_eq!(asked("--my-token mine-2 ZLAUNCH_TOKEN=abcde"), ["MY_TOKEN_2", "TOKEN"]);
    }

    #[test]
    fn sentences_places_and_files() {
        let host = host(ENVIRONMENT);
        let secrets = Secrets::of(&host);
        for (text, hidden) in [
            ("comet.api_key=abcd and more", "comet.api_key=(secret) and more"),
            ("HTTPS_PROXY=http://me:pw@proxy:80/x", "HTTPS_PROXY=http://(secret)@proxy:80/x"),
            ("see https://example.org/a@b", "see https://example.org/a@b"),
            ("did you mean --hub_token or nothing", "did you mean --hub_token or nothing"),
            ("did you mean --hub_token nothing", "did you mean --hub_token nothing"),
            ("--set zero_optimization.stage=3", "--set zero_optimization.stage=3"),
            ("`HF_TOKEN=abcd` is said twice", "`HF_TOKEN=(secret)` is said twice"),
            ("`{\"api_key\": \"ab cd\"}` is used", "`{\"api_key\": \"(secret)\"}` is used"),
            ("`comet.api_key` is [\"abcd\"] (list)", "`comet.api_key` is [\"(secret)\"] (list)"),
            ("`comet.api_key` is missing: say it", "`comet.api_key` is missing: say it"),
        ] {
            assert_eq!(secrets.hide_in_text(text), hidden);
        }
        assert_eq!(
            secrets.hide_in_place("x --token abcd --env A_KEY=bcde f"),
            "x --token (secret) --env A_KEY=(secret) f"
        );
        let file = "HF_TOKEN=abc abc\nA=b\nB_KEY=cdef\n{\n  \"api_keys\": [\n    \"efgh\"\n  ]\n}\n";
        let hidden = "HF_TOKEN=(secret)\nA=b\nB_KEY=(secret)\n{\n  \"api_keys\": [\n    \"(secret)\"\n  ]\n}\n";
        assert_eq!(secrets.hide_as(file, Reading::Lines), hidden);
    }

    #[test]
    fn values() {
        let host = host(ENVIRONMENT);
        let secrets = Secrets::of(&host);
        let entries = json!({"AWS_SECRET_ACCESS_KEY": "a", "OMP_NUM_THREADS": "4", "argv": ["--token", "xyzt"],
            "n": [1, "hf_abcdefgh"], "api_keys": ["abcd", {"x": "efgh"}], "password": 1234, "max_token": 8});
        let hidden = json!({"AWS_SECRET_ACCESS_KEY": HIDDEN, "OMP_NUM_THREADS": "4", "argv": ["--token", HIDDEN],
            "n": [1, HIDDEN], "api_keys": [HIDDEN, {"x": HIDDEN}], "password": HIDDEN, "max_token": 8});
        assert_eq!(secrets.hide(entries), hidden);
    }

    #[test]
    fn what_the_words_name_is_known_elsewhere() {
        let words = [
            "zlaunch",
            "--env",
            "MY_TOKEN=my own \"value\"",
            "--",
            "x",
            "--hub-token",
            "abcdef",
            "--eos_token",
            "<|im_end|>",
        ];
        let words = words.map(OsString::from).into();
        let host = Host { words, ..host(&[("ZLAUNCH_ENV", "B_TOKEN=of-a-site")]) };
        let secrets = Secrets::of(&host);
        let hidden = secrets.hide_in_text(r#"x-my own "value" my own \"value\" abcdef of-a-site abcde <|im_end|>"#);
        assert_eq!(hidden, "x-(secret) (secret) (secret) (secret) abcde <|im_end|>");
        // One that begins inside of another, or goes on behind it.
        assert_eq!(
            secrets.hide_in_text("HF_TOKEN=my own \"value\" B_KEY=xabcdefx"),
            "HF_TOKEN=(secret) B_KEY=(secret)"
        );
    }
}
