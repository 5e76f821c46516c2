//! A plan as JSON where nothing is decided.

/// Every field is there; the diagnostics come last.
pub const REFUSED_PLAN: &str = r#"{
    "version": 1,
    "template": null,
    "trainer": null,
    "topology": null,
    "batch": null,
    "launcher": null,
    "local": null,
    "config": null,
    "config_path": null,
    "run_file_path": null,
    "fills": [],
    "changed": [],
    "left_auto": [],
    "env": null,
    "argv": null
}"#;
