//! Unit tests of `src/command/trainer/llamafactory.rs`.

use std::ffi::OsString;

use super::*;

#[test]
fn texts_for_numbers_are_not_read() {
    let entries = serde_json::json!({"learning_rate": "1e-5", "max_steps": 3, "model_name_or_path": "a/b", "bf16": true, "x": "${y}",
        "max_grad_norm": false, "per_device_train_batch_size": true, "fp16": 0.5});
    let words = run_file::typed_words(entries.as_object().unwrap(), false);
    assert_eq!(words, ["--max_steps=3", "--model_name_or_path=a/b", "--bf16=True", "--x=${y}"].map(OsString::from));
}
