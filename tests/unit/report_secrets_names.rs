//! Unit tests of `src/report/secrets/names.rs`.

use super::*;

#[test]
fn names_of_secrets_and_of_other_things() {
    let names = "HF_TOKEN WANDB_API_KEY AWS_SECRET_ACCESS_KEY MYSQL_PASSWORD apikey --hub_token --hub-token --token
        comet.api_key GOOGLE_APPLICATION_CREDENTIALS MODELSCOPE_API_TOKEN AUTHTOKEN SSH_KEY PGPASSWORD DBPASSWORD
        CLIENTSECRET --clientSecret --apiKey HF_TOKENS APP_SECRETS --passwords GROUP_TOKEN MYSQL_PWD DB_PASS SSHPASS
        GITHUB_PAT AUTHORIZATION Authorization COOKIE SENTRY_DSN SLACK_WEBHOOK SLACK_WEBHOOK_URL X-Amz-Signature
        --pwd --pw --jwt --sas REDIS_AUTH DB_PW --db-pwd
        --api_keys AWS_ACCESS_KEY_ID 2_token accessToken KEY --key keys DB_PASSWORD_FILE HF_TOKEN_PATH";
    for name in names.split_whitespace() {
        assert!(Sensitivity::of(name).is_some(), "{name}");
    }
    let names = "TOKENIZERS_PARALLELISM --max_tokens --tokenizer --eos_token --input_key OMP_NUM_THREADS PWD OLDPWD
        --num_tokens_per_batch --keyword --monkeys monkey --num_key_value_heads --calculate_per_token_loss PATH
        --per_token_loss --primary_key --max_token --token_type_ids SSH_ASKPASS SSH_AUTH_SOCK --pat - _ =";
    for name in names.split_whitespace().chain([""]) {
        assert_eq!(Sensitivity::of(name), None, "{name}");
    }
}
