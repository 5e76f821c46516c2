//! Unit tests of `src/config/template/resolve.rs`.

use super::super::search::{ALIASES, BUILT_IN};
use super::*;

fn named(name: &str) -> Template {
    let spec = Sourced::new(name.to_string(), Source::Flag("--deepspeed".to_string()));
    resolve(&spec, &Search::default(), &Host::default()).unwrap()
}

#[test]
fn built_in_templates_are_strict_json() {
    for (name, text) in BUILT_IN {
        assert_eq!(json::parse(text), Ok(json::parse_built_in(text)), "{name}");
    }
}

#[test]
fn aliases_lead_to_built_in_templates() {
    for (old, new) in ALIASES {
        assert!(!built_in_text(new).is_empty(), "{old} -> {new}");
        let template = named(old);
        assert_eq!((template.name.as_str(), template.notes.len()), (*new, 1));
    }
}

#[test]
fn a_chain_resolves_to_the_bottom() {
    let template = named("zero3_nvme");
    assert_eq!(template.chain, ["zero3_nvme", "zero3_offload", "zero3"]);
    assert_eq!(json::get(&template.config, "zero_optimization.offload_param.device"), Some(&Value::from("nvme")));
    assert_eq!(json::get(&template.config, "zero_optimization.offload_param.pin_memory"), Some(&Value::from(true)));
    assert_eq!(json::get(&template.config, "zero_optimization.zero_quantized_weights"), None);
    assert_eq!(template.needs.len(), 2);
}

#[test]
fn every_built_in_template_says_what_it_is() {
    for (name, _) in BUILT_IN {
        let template = named(name);
        assert!(template.about.is_some_and(|about| about.len() > 20), "{name}");
        assert!(template.about_zh.is_some_and(|about| !about.is_ascii()), "{name}");
        assert!(template.config.get("$zlaunch").is_none(), "{name}");
    }
}
