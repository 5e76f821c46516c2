//! The model's config.json, and what is the hidden size in it.

use serde_json::{Value, json};

use crate::invariants::fake::Sandbox;
use zlaunch::testing::model::*;

fn found(config: &Value, lookup: HiddenSizeLookup) -> Option<(u64, bool)> {
    read_hidden_size(config, lookup)
}

#[test]
fn hidden_size_as_transformers_and_swift_find_it() {
    for (config, hf, swift) in [
        (
            json!({"hidden_size": 4096}),
            Some((4096, true)),
            Some((4096, true)),
        ),
        // Under ms-swift None: not an attribute, only mapped.
        (
            json!({"model_type": "gpt2", "n_embd": 768}),
            Some((768, true)),
            None,
        ),
        (
            json!({"model_type": "t5", "d_model": 1024}),
            Some((1024, true)),
            None,
        ),
        (
            json!({"text_config": {"model_type": "bart", "d_model": 768}}),
            Some((768, false)),
            None,
        ),
        (json!({"model_type": "llama", "d_model": 1024}), None, None),
        (json!({"hidden_sizes": [32, 256, 64]}), None, None),
        (
            json!({"text_config": {"hidden_size": 2560}}),
            Some((2560, false)),
            Some((2560, true)),
        ),
        (
            json!({"llm_config": {"hidden_size": 2048}}),
            None,
            Some((2048, true)),
        ),
        (
            json!({"thinker_config": {"text_config": {"hidden_size": 3584}}, "talker_config": {"hidden_size": 896}}),
            None,
            Some((3584, true)),
        ),
        (json!({"text_config": {"model_type": "llama"}}), None, None),
        (
            json!({"model_type": "qwen2_vl", "hidden_size": 1536}),
            Some((1536, false)),
            Some((1536, true)),
        ),
        (
            json!({"hidden_size": 1, "text_config": {"hidden_size": 2}}),
            None,
            None,
        ),
        (
            json!({"model_type": "gpt2", "n_embd": 768, "hidden_size": 512}),
            Some((512, true)),
            None,
        ),
        (
            json!({"model_type": "bloom", "n_embed": 64, "hidden_size": 512}),
            Some((64, true)),
            Some((64, true)),
        ),
        (
            json!({"model_type": "falcon", "n_embed": 64, "hidden_size": 512}),
            Some((64, true)),
            Some((64, true)),
        ),
        (
            json!({"model_type": "voxtral_encoder", "d_model": 64, "hidden_size": 512}),
            Some((64, true)),
            Some((64, true)),
        ),
        // paligemma's own 2048 is found first, ovis2's 1536, fuyu's 4096.
        (
            json!({"model_type": "paligemma", "text_config": {"hidden_size": 72}}),
            None,
            None,
        ),
        (
            json!({"model_type": "ovis2", "text_config": {"hidden_size": 72}}),
            None,
            None,
        ),
        (
            json!({"model_type": "fuyu", "text_config": {"hidden_size": 72}}),
            None,
            None,
        ),
        (
            json!({"model_type": "paligemma", "hidden_size": 72, "text_config": {"hidden_size": 72}}),
            Some((72, false)),
            Some((72, true)),
        ),
        (
            json!({"model_type": "paddleocr_vl", "hidden_size": 72}),
            Some((72, false)),
            Some((72, true)),
        ),
        (
            json!({"model_type": "hunyuan_vl", "hidden_size": 72}),
            Some((72, false)),
            Some((72, true)),
        ),
        (
            json!({"hidden_size": null, "hidden_sizes": [1]}),
            None,
            None,
        ),
        (
            json!({"model_type": "mask2former", "hidden_sizes": [1]}),
            None,
            None,
        ),
        (json!([1]), None, None),
    ] {
        assert_eq!(
            found(&config, HiddenSizeLookup::Transformers),
            hf,
            "{config}"
        );
        assert_eq!(found(&config, HiddenSizeLookup::MsSwift), swift, "{config}");
    }
}

#[test]
fn models_are_found_offline() {
    let sandbox = Sandbox::bare();
    let host = sandbox.host();
    let found = |name, revision, hub| {
        hidden_size(name, revision, hub, HiddenSizeLookup::Transformers, &host)
    };
    let config = r#"{"hidden_size": 8}"#;
    let hub = "home/.cache/huggingface/hub";
    sandbox.cached_model(hub, "a/b", Some("main"), "abc", config);
    sandbox.cached_model(hub, "gpt2", None, "xyz", config);
    sandbox.put(
        "home/.cache/modelscope/hub/models/Qwen/Qwen2___5-7B/config.json",
        config,
    );
    sandbox.put(
        "home/.cache/modelscope/models/o--n.1/snapshots/master/config.json",
        config,
    );
    sandbox.put("home/own/config.json", config);
    sandbox.file("local/config.json", config);
    for (name, hub) in [
        ("a/b", Hub::HuggingFace),
        ("gpt2", Hub::HuggingFace),
        ("Qwen/Qwen2.5-7B", Hub::ModelScope),
        ("o/n.1", Hub::ModelScope),
        ("local", Hub::HuggingFace),
        ("./local", Hub::ModelScope),
        ("a/b", Hub::ModelScope),
        ("o/n.1", Hub::HuggingFace),
        ("~/own", Hub::ModelScope),
    ] {
        assert_eq!(found(name, None, hub).map(|it| it.value), Ok(8), "{name}");
    }
    for (name, revision) in [
        ("a/../b", None),
        ("../a", None),
        ("x/y/z", None),
        ("a/b", Some("other")),
    ] {
        assert!(found(name, revision, Hub::HuggingFace).is_err(), "{name}");
    }
}
