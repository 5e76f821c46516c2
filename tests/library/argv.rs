//! The trainer's words, by argparse's rules.

use std::ffi::{OsStr, OsString};

use zlaunch::testing::argv::*;
use zlaunch::testing::recorded::Table;

const ALL: &str = "per_device_train_batch_size\nper_device_eval_batch_size\nlearning_rate\nbf16\nbf16_full_eval\ndeepspeed\ndeepspeed_autotp_size";

fn args(line: &str) -> Args {
    Args::read(line.split(' ').map(OsString::from).collect(), &[Table(ALL)])
}

fn micro(line: &str) -> Option<i64> {
    args(line)
        .int("per_device_train_batch_size")
        .unwrap()
        .map(|sourced| sourced.value)
}

#[test]
fn what_a_shell_or_omegaconf_would_replace_is_no_wrong_value() {
    let rate = |value: &str| args(&format!("--learning_rate={value}")).float("learning_rate");
    assert!(
        matches!(rate("${lr}"), Err(ArgumentError::Unresolved(place)) if place == "--learning_rate ${lr}")
    );
    assert!(matches!(rate("fast"), Err(ArgumentError::Refused(_))));
    assert!(matches!(
        args("--learning_rate").float("learning_rate"),
        Err(ArgumentError::Refused(_))
    ));
}

#[test]
fn both_spellings_both_forms_and_the_last_one_wins() {
    assert_eq!(micro("--per_device_train_batch_size 4"), Some(4));
    assert_eq!(micro("--per-device-train-batch-size=4"), Some(4));
    assert_eq!(micro("--per_device-train_batch_size 4"), None);
    assert_eq!(
        micro("--per_device_train_batch_size 4 --per-device-train-batch-size 8"),
        Some(8)
    );
    assert_eq!(
        micro("--per_device_train_batch_size 4 -- --per_device_train_batch_size 8"),
        Some(4)
    );
    assert_eq!(micro("-per_device_train_batch_size 4"), None);
}

#[test]
fn a_prefix_must_fit_one_option() {
    assert_eq!(micro("--per_device_train 4"), Some(4));
    assert_eq!(micro("--per_device_t=4"), Some(4));
    assert_eq!(micro("--per_device_ 4"), None); // train and eval
    assert_eq!(micro("--per-device-t 4"), Some(4));
    let learning = |line| {
        args(line)
            .float("learning_rate")
            .unwrap()
            .map(|sourced| sourced.value)
    };
    assert_eq!(learning("--learning_ 2e-5"), Some(2e-5));
    assert_eq!(learning("--learning 2e-5"), Some(2e-5));
    assert!(!args("--deep zero2").is_given("deepspeed"));
    assert!(args("--deepspeed zero2").is_given("deepspeed"));
}

#[test]
fn booleans_with_and_without_a_value() {
    let bf16 = |line| {
        args(line)
            .bool("bf16")
            .map(|sourced| sourced.map(|sourced| sourced.value))
    };
    assert_eq!(bf16("--bf16").unwrap(), Some(true));
    assert_eq!(bf16("--bf16 --x").unwrap(), Some(true));
    assert_eq!(bf16("--bf16 False").unwrap(), Some(false));
    assert_eq!(bf16("--bf16=YES").unwrap(), Some(true));
    assert_eq!(bf16("--x 1").unwrap(), None);
    assert!(bf16("--bf16 out").is_err());
}

#[test]
fn values_are_words_that_are_no_options() {
    let rate = |line| {
        args(line)
            .float("learning_rate")
            .unwrap()
            .map(|sourced| sourced.value)
    };
    assert_eq!(rate("--learning_rate -1"), Some(-1.0));
    assert_eq!(rate("--learning_rate -.5"), Some(-0.5));
    assert!(
        args("--learning_rate -1e-5")
            .float("learning_rate")
            .is_err()
    );
    assert_eq!(rate("--learning_rate=-1e-5"), Some(-1e-5));
    assert!(
        is_value(OsStr::new("--x=1 2")) && is_value(OsStr::new("-")) && is_value(OsStr::new(""))
    );
    assert!(
        !is_value(OsStr::new("-x")) && !is_value(OsStr::new("--")) && !is_value(OsStr::new("-1."))
    );
}

#[test]
fn the_value_is_replaced_where_it_stands() {
    let replaced = |line: &str| {
        let words = args(line).with("deepspeed", OsStr::new("/c.json"));
        words
            .iter()
            .map(|word| word.to_str().unwrap())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(
        replaced("--deepspeed zero2 --x 1"),
        "--deepspeed /c.json --x 1"
    );
    assert_eq!(
        replaced("--deepspeed=zero2 --x 1"),
        "--deepspeed=/c.json --x 1"
    );
    assert_eq!(
        replaced("--deepspeed zero1 --deepspeed zero2"),
        "--deepspeed zero1 --deepspeed /c.json"
    );
    assert_eq!(replaced("--x 1"), "--x 1 --deepspeed /c.json");
    assert_eq!(replaced("--x 1 -- y"), "--x 1 --deepspeed /c.json -- y");
}
