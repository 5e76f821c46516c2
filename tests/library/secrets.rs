//! What is hidden of what is shown.

use serde_json::json;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use zlaunch::testing::Host;
use zlaunch::testing::secrets::*;

fn secrets() -> Secrets<'static> {
    let env = [
        ("HF_TOKEN", "hf_abcdefgh"),
        ("ZLAUNCH_ENV", "B_TOKEN=of-a-site"),
        ("LANG", "C.UTF-8.long"),
        ("DB_PASSWORD", "it's mine"),
    ];
    let words = [
        "zlaunch",
        "MY_TOKEN=my own \"value\"",
        "--hub-token",
        "abcdef",
        "--eos_token",
        "<|im_end|>",
    ];
    let env = env.map(|(name, value)| (name.into(), value.into())).into();
    Secrets::of(Box::leak(Box::new(Host {
        env,
        words: words.map(OsString::from).into(),
        ..Host::default()
    })))
}

/// A text without the marks around its secrets, and the same with the secrets hidden.
fn marked(text: &str) -> (String, String) {
    let hidden = text
        .split('«')
        .map(|part| part.split_once('»').map_or(part, |(_, rest)| rest));
    (
        text.replace(['«', '»'], ""),
        hidden.collect::<Vec<_>>().join(HIDDEN),
    )
}

/// `|` stands between the words.
#[test]
fn secrets_in_words_are_hidden() {
    let secrets = secrets();
    for probe in [
        "--hub_token|«Sxyz»|--wandb-api-key=«Sabc»|WANDB_API_KEY=«Sq12»|-token|«Sxyz»|--password|«S»",
        "--use_auth_token|--model|m|--token|--|python|--api_keys|a|«Sabc»|«Sdef»|--model|m",
        // Every sign, not only the first.
        "--set=hub_token=«Sabc»|--set=comet.api_key=«Sa,T»|--launcher-arg=--token=«Sabc»|+hub_token=«Sabc»",
        "a=b,token=«Sabc»,c=d|--export=ALL,HF_TOKEN=«Sabc»|a=b,token=«S abc»,c=d",
        "token:«Sabc»|Authorization: «Bearer Sabc»|-HCookie: «Sa;Sb»|use Bearer «Sabcdefgh» now",
        "--password=«S and S\n S»|curl --token «Sabc» x|env HF_TOKEN=«Sabc» x|--password=«\"S\" S»|--password=«[S]S»",
        // JSON, in whatever spelling.
        r#"{"api_key":"«S\"bc»","key":"c"}|{"c": {"on": true, "api_key" : "«Sabc»"}}"#,
        r#"{"api_keys": ["«Sabc»", {"x": "«Sdef»"}], "n": "m"}|comet.api_key=["«Sabc»"]|--set=api_key={"a": "«Sabc»"}"#,
        // In quotes of quotes, all of it.
        r#"«{"a":"{\"api_key\": \"S\\\"xy\", \"b\": \"c\"}"}»|{"cmd": "x --set=hub_token=«Sabc»"}"#,
        "{'api_key': '«Sabc»', 'b': 'c'}|{api_key: «Sabc», b: c}",
        // Addresses.
        "https://«me:pw»@host/a?b=c@d|https://h/|https://user@h/x|https://h/x,https://«u:p»@h|redis://«:pw»@h",
        "https://h:80/x@y|https://«ghp0123456789abcdef»@h|https://«u:p@S»@h",
        "https://h/x?a=b&access_token=«Sabc»&c=d|https://h/x?X-Amz-Signature=«Sabc»#y",
        // What is signed beforehand: Azure, AWS, Google, CloudFront, Aliyun, Tencent.
        "https://h/c/b?sv=2022-11-02&se=2026-12-01&sr=b&sp=r&sig=«a%2Fb%3D»&x=y|?sig=«Sabc%3D»|sp=r&sig=«Sabc»",
        "https://h/k?X-Amz-Credential=«AKIA%2F20»&X-Amz-Date=2026&X-Amz-Security-Token=«Sabc»&X-Amz-Signature=«Sabc»",
        "https://h/k?AWSAccessKeyId=«AKIAX»&Expires=1&Signature=«Sa%3D»|https://h/k?OSSAccessKeyId=«LTAI5»&Expires=1",
        "https://h/k?X-Goog-Credential=«a%40b»&X-Goog-Expires=9&X-Goog-Signature=«Sabc»|https://h/k?q-signature=«Sabc»",
        "https://h/k?Policy=e30_&Key-Pair-Id=«K2FPYV»&Signature=«Sabc»|https://h/k?api_key=«Sabc»&token=«Sabc»&a=b",
        r#"{"url": "https://h/b?sp=r\u0026sig=«Sabc»\u0026se=1"}|https://h/b?sp=r&amp;sig=«Sabc»"#,
        "--key|«sk-0123456789abcdef»|KEY=«sk-0123456789abcdef»",
        "--passwd|«Sabc»|--passphrase|«Sabc»|SENTRY_DSN=«Sabc»|SLACK_WEBHOOK=«Sabc»|--jwt|«Sabc»|--accesskeyid|«Sabc»|MY_CREDS=«Sabc»|A_PW=«Sabc»",
        "--key|«xoxb-0123456789abcdef»|KEY=«xoxp-0123456789abcdef»|--key=«sk-ant-0123456789abcdef»",
        "--key|«gho_0123456789abcdef»|KEY=«ghu_0123456789abcdef»|--key=«ghr_0123456789abcdef»",
        "DB_PASSWORD_FILE=«hunter2»|DB_PASSWORD_FILE=/run/secrets/x|MY_TOKEN=«1234»|MY_TOKEN=false|MY_TOKEN=",
        "--my_token|«1234567890123456»|--my_token|«5e-5x»|--my_token|1e-5|--my_token|None|--my_token|1,2,3",
        // Commands in a word.
        "see comet.api_key=«abcd» and more, or https://example.org/a@b|HTTPS_PROXY=http://«me:pw»@proxy:80/x",
        "--set zero_optimization.stage=3|my_secrets.json:12:3|x --token «abcd» --env A_KEY=«bcde» f",
        "export HF_TOKEN=«\"Sabc\";» x $Y|login(token=«'Sabc', a=1)»|don't use Bearer «Sabcdefgh» $X",
        // What the environment and the command line name is known, as it is and as JSON writes it.
        r#"x-«hf_abcdefgh»,«hf_abcdefgh» «my own "value"» «my own \"value\"» «abcdef» «of-a-site» abcde <|im_end|>"#,
        // One that begins inside of another, or goes on behind it.
        "a HF_TOKEN=«my own \"value\"» B_KEY=«xabcdefx»",
    ] {
        let (words, hidden) = marked(probe);
        let shown = secrets.hide_in_words(words.split('|').map(OsStr::new));
        assert_eq!(shown.join(OsStr::new("|")), OsString::from(hidden));
    }
    let bytes = OsStr::from_bytes(b"S\xff\xfe\xfd");
    assert_eq!(
        secrets.hide_in_words([OsStr::new("--token"), bytes, bytes])[1..],
        [OsStr::new(HIDDEN), bytes]
    );
}

/// What looks like the name of a secret, or like one, and is none.
#[test]
fn other_words_are_shown_as_they_are() {
    let secrets = secrets();
    for probe in [
        // Options and settings with such words in their names.
        "--max_tokens|512|--tokenizer|t|--num_key_value_heads|8|--per_token_loss|true|--primary_key|id|--max_token=5",
        "2_token=5|--prompt|the monkey=3, the monkey=many|--token_type_ids|false|--key|messages_of_users",
        "--pad_token|<pad>|--eos_token_id|151645|--special_tokens|a,b|--sort_key|length|--label_key=labels",
        "--donkey|a|--turkey|b|--hockey|c|--whiskey|d|--bos_token|<s>|--unk_token|<unk>|--primary_key|id",
        "--author|somebody|--pattern|*.json|--signal|9|--passes|3|--bypass|true|--compass|north|--keyboard|us",
        "--input_key|prompt|--metric_key=loss|--num_tokens_per_batch|4096|--add_tokens|a,b|--dataset_key|x",
        "TOKENIZERS_PARALLELISM=false|SSH_AUTH_SOCK=/tmp/agent|GIT_ASKPASS=echo|PWD=/home/me|OLDPWD=/tmp",
        // Under the name of a secret, but no secret.
        "HF_TOKEN=|HF_TOKEN=true|--hub_token|None|--use_auth_token|--model|--my_token|12|--token=auto",
        "DB_PASSWORD_FILE=/run/secrets/x|HF_TOKEN_PATH=~/token|HF_TOKEN_PATH=./token|my_secrets.json:12:3",
        // Words that begin like tokens.
        "hf_transfer|hf_hub_url|sk-learn|sk-short|ghp_|api_org_name|glpat-x|--backend|nvapi-test|hf_zero2",
        // Addresses.
        "https://h/x?a=b&c=d#e|https://user@h/x|https://h:80/x@y|git@github.com:org/repo|s3://bucket/key|hf://o/n",
        "http://[::1]:8080/x|tcp://10.0.0.1:29500|https://h/tokens/list|https://h/?tokenizer=t&keyword=k|file:///a:b@c",
        // JSON, YAML, commands.
        r#"{"a": {"max_tokens": 5, "key": "c"}, "b": ["--eos_token", "</s>"]}|{"use_reentrant": false}|[1, "x"]"#,
        "{primary_key: id, tokenizer: t}|bash -c 'python x.py --max_tokens 5'|FOO=bar python x.py --key messages",
        "-c|print('a=b: c')|a;b|a&b|x=y=z|1:2:3|--lr=1e-5|2026-12-01T10:00:00|C:\\x|(a)|[0:4]|--|-|=|:",
    ] {
        let shown = secrets.hide_in_words(probe.split('|').map(OsStr::new));
        assert_eq!(shown.join(OsStr::new("|")), OsString::from(probe));
    }
    for text in [
        "it is mine",
        "of-a-sit",
        "C.UTF-8.long",
        "abcde",
        "HF_TOKEN",
    ] {
        assert_eq!(secrets.hide_in_text(text), text);
    }
    for file in [
        "A=b\nTOKENIZERS_PARALLELISM=false\n",
        "tokenizer: t\nmax_tokens: 5\n# token: none\nkey: messages\n",
        "{\"num_key_value_heads\": 8, \"eos_token\": \"</s>\", \"broken\": }",
    ] {
        let text = shown(&secrets.in_document(file));
        assert_eq!(String::from_utf8_lossy(&text), file);
    }
}

/// A secret that is known is hidden as JSON and as a shell write it, too.
#[test]
fn secrets_are_hidden_in_every_spelling() {
    let secrets = secrets();
    for (text, hidden) in [
        ("say it's mine", "say ***"),
        (r"DB_PASSWORD='it'\''s mine' x", "DB_PASSWORD='***' x"),
        (r#"{"a": "my own \"value\""}"#, r#"{"a": "***"}"#),
    ] {
        assert_eq!(secrets.hide_in_text(text), hidden);
    }
}

#[test]
fn files_and_json_values() {
    let secrets = secrets();
    for file in [
        "HF_TOKEN=«abc abc»\nA=b\nB_KEY=«cdef»\n",
        "hub_token: «ab c»\na: b # hub_token\nurl: 'https://«u:p»@h'\npasswords:\n- «one»\n- x: «it»\n",
        "{\n  \"api_keys\": [\n    \"«efgh»\"\n  ],\n  \"password\": \"«S»\", \"a\": [\"--token\", \"«abcde»\"]\n}\n",
        // What cannot be read.
        "{\"api_key\": \"«abcdefgh»\",, \"a\": \"b\"}",
    ] {
        let (file, hidden) = marked(file);
        assert_eq!(
            String::from_utf8_lossy(&shown(&secrets.in_document(&file))),
            hidden
        );
    }
    let entries = json!({"AWS_SECRET_ACCESS_KEY": "a", "OMP_NUM_THREADS": "4", "argv": ["--token", "xyzt"],
        "n": [1, "hf_abcdefgh"], "api_keys": ["abcd", {"x": "efgh"}], "password": 1234, "max_token": 8});
    let hidden = json!({"AWS_SECRET_ACCESS_KEY": HIDDEN, "OMP_NUM_THREADS": "4", "argv": ["--token", HIDDEN],
        "n": [1, HIDDEN], "api_keys": [HIDDEN, {"x": HIDDEN}], "password": HIDDEN, "max_token": 8});
    assert_eq!(secrets.hide(entries), hidden);
}

#[test]
fn names_of_secrets_and_of_other_things() {
    let names = "HF_TOKEN WANDB_API_KEY AWS_SECRET_ACCESS_KEY MYSQL_PASSWORD apikey --hub_token --hub-token --token
        comet.api_key GOOGLE_APPLICATION_CREDENTIALS MODELSCOPE_API_TOKEN AUTHTOKEN SSH_KEY PGPASSWORD DBPASSWORD
        CLIENTSECRET --clientSecret --apiKey HF_TOKENS APP_SECRETS --passwords GROUP_TOKEN MYSQL_PWD DB_PASS SSHPASS
        GITHUB_PAT AUTHORIZATION Authorization COOKIE SENTRY_DSN SLACK_WEBHOOK SLACK_WEBHOOK_URL X-Amz-Signature
        --pwd --pw --jwt --sas --auth --pat --sig REDIS_AUTH DB_PW --db-pwd EXTRA_TOKEN NEW_TOKEN
        --api_keys AWS_ACCESS_KEY_ID 2_token accessToken KEY --key keys DB_PASSWORD_FILE HF_TOKEN_PATH";
    for name in names.split_whitespace() {
        assert!(Sensitivity::of(name).is_some(), "{name}");
    }
    let names = "TOKENIZERS_PARALLELISM --max_tokens --tokenizer --eos_token --input_key OMP_NUM_THREADS PWD OLDPWD
        --num_tokens_per_batch --max_new_tokens EXTRA_TOKENS MONKEY --keyword --monkeys monkey --num_key_value_heads --calculate_per_token_loss PATH
        --per_token_loss --primary_key --max_token --token_type_ids SSH_ASKPASS SSH_AUTH_SOCK - _ =";
    for name in names.split_whitespace().chain([""]) {
        assert_eq!(Sensitivity::of(name), None, "{name}");
    }
}

/// Also by the first look at a word, which has the beginnings of its own.
#[test]
fn every_kind_of_token_is_hidden_where_it_stands_alone() {
    for prefix in TOKENS {
        let token = format!("{prefix}A1b2C3d4E5f6G7h8");
        assert_eq!(
            secrets().hide_in_words([OsStr::new(&token)]),
            [HIDDEN],
            "{token}"
        );
    }
    // Those of the longer prefixes have `_` and `-` inside.
    assert_eq!(
        secrets().hide_in_words([OsStr::new("github_pat_A1b2C3_E5f6-G7h8J9")]),
        [HIDDEN]
    );
}
