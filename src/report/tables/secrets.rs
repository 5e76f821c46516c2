//! What the names of secrets are made of, and how tokens begin.

/// These make any name secret. The last ones sign addresses of AWS, Aliyun and CloudFront.
pub const ANYWHERE: &[&str] = &[
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "ACCESSKEYID",
    "KEY-PAIR-ID",
];
/// The end of a secret's name, or of any part of a variable's name.
pub const ENDINGS: &[&str] = &[
    "TOKEN",
    "KEY",
    "PASS",
    "PWD",
    "DSN",
    "WEBHOOK",
    "SIGNATURE",
    "BEARER",
    "AUTHORIZATION",
    "COOKIE",
];
/// Words that end like those and are none.
pub const OTHER_ENDINGS: &[&str] = &[
    "MONKEY", "DONKEY", "TURKEY", "HOCKEY", "WHISKEY", "ASKPASS", "BYPASS", "COMPASS", "OLDPWD",
];
/// The last part of a secret's name.
pub const LAST: &[&str] = &["AUTH", "JWT", "PAT", "PW", "PWD", "SAS", "SIG"];
/// The last part of a secret variable's name: HF_SESSION. An option of that name is none.
pub const LAST_OF_VARIABLES: &[&str] = &["CREDS", "LICENSE", "SESSION"];
/// `--eos_token`: parts before a token that make it one of a tokenizer.
pub const TOKENIZER_WORDS: &[&str] = &[
    "AUDIO", "BOS", "CLS", "EOS", "IMAGE", "MASK", "MAX", "MIN", "NUM", "PAD", "SEP", "SPECIAL",
    "STOP", "UNK", "VIDEO",
];
/// `--max_new_tokens`: parts that do so before several of them.
pub const BEFORE_TOKENS: &[&str] = &["ADD", "ADDED", "EXTRA", "NEW", "TOTAL"];
/// `--primary_key`: parts before a key that make it one of a table or a mapping.
pub const TABLE_WORDS: &[&str] = &[
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
/// Values that are no secret under any name.
pub const HARMLESS_VALUES: &[&str] = &[
    "true", "false", "yes", "no", "on", "off", "none", "null", "auto", "default",
];
/// Tokens are known by their beginnings, whatever they are called.
pub const TOKENS: &[&str] = &[
    "hf_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "sk-ant-",
    "sk-proj-",
    "sk-",
    "api_org_",
    "nvapi-",
];
