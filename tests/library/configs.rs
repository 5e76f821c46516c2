//! Templates, layers and fills.

mod resolve {
    use std::collections::BTreeSet;

    use serde_json::Value;
    use zlaunch::testing::source::{Source, Sourced};
    use zlaunch::testing::tables::{ALIASES, OTHER_CONFIGS};
    use zlaunch::testing::template::search::{BUILT_IN, Search, built_in_text};
    use zlaunch::testing::template::*;
    use zlaunch::testing::{Host, json, schema};

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

    /// `keys-of-other-configs.txt` has the fields of the real classes (ClusterConfig, FullyShardedDataParallelPlugin, Qwen2Config,
    /// MegatronArguments, MegatronLMPlugin); older names and those of TrainingArguments are recorded.
    #[test]
    fn another_program_really_has_its_keys() {
        let recorded = [
            include_str!("../../src/recorded/accelerate.txt"),
            include_str!("../../src/recorded/arguments.txt"),
            include_str!("../../src/recorded/parameter-counts.jsonl"),
            include_str!("../data/keys-of-other-configs.txt"),
        ];
        let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
        let words: BTreeSet<&str> = recorded
            .iter()
            .flat_map(|text| text.split(|c| !is_of_word(c)))
            .collect();
        for other in OTHER_CONFIGS {
            for key in other.keys {
                assert!(words.contains(key), "{key} of {}", other.name);
            }
        }
    }

    #[test]
    fn deepspeed_has_no_key_of_another_program() {
        for other in OTHER_CONFIGS {
            for key in other.keys {
                let found = schema::find(key, schema::newest());
                assert!(found.is_none(), "{key} of {}", other.name);
            }
        }
    }

    #[test]
    fn aliases_lead_to_built_in_templates() {
        for alias in ALIASES {
            let (old, template) = (alias.old, alias.template);
            assert!(!built_in_text(template).is_empty(), "{old} -> {template}");
            let found = named(old);
            assert_eq!((found.name.as_str(), found.notes.len()), (template, 1));
        }
    }

    #[test]
    fn a_chain_resolves_to_the_bottom() {
        let template = named("zero3_nvme");
        assert_eq!(template.chain, ["zero3_nvme", "zero3_offload", "zero3"]);
        assert_eq!(
            json::get(&template.config, "zero_optimization.offload_param.device"),
            Some(&Value::from("nvme"))
        );
        assert_eq!(
            json::get(
                &template.config,
                "zero_optimization.offload_param.pin_memory"
            ),
            Some(&Value::from(true))
        );
        assert_eq!(
            json::get(&template.config, "zero_optimization.zero_quantized_weights"),
            None
        );
        assert_eq!(template.needs.len(), 2);
    }

    #[test]
    fn a_header_that_cannot_be_read_says_what_it_must_be() {
        for (header, what) in [
            ("3", "`$zlaunch` cannot be read: "),
            (r#"{"about": 1}"#, "`$zlaunch` cannot be read: "),
            (r#"{"about.zh": 1}"#, "`$zlaunch` cannot be read: "),
            (
                r#"{"extends": "a/b"}"#,
                "`$zlaunch.extends` must be the name of a template",
            ),
            (r#"{"patch": {}}"#, "not a patch: it is not a list"),
            (r#"{"env": []}"#, "`$zlaunch` cannot be read: "),
            (
                r#"{"env": {"NCCL_DEBUG": true}}"#,
                "`$zlaunch.env.NCCL_DEBUG` must be a string that can be exported",
            ),
            (
                r#"{"env": {"A B": "1"}}"#,
                "`$zlaunch.env.A B` must be a string that can be exported",
            ),
            (
                r#"{"env": {"NCCL_DEBUG": "a\u0000"}}"#,
                "`$zlaunch.env.NCCL_DEBUG` must be a string that can be exported",
            ),
            (
                r#"{"env": {"PATH": "x"}}"#,
                "a template may not set `PATH`: it is not a known tuning variable",
            ),
            (r#"{"needs": []}"#, "`$zlaunch` cannot be read: "),
            (
                r#"{"needs": {"a": {"why": "x"}}}"#,
                "`$zlaunch` cannot be read: missing field `example`",
            ),
            (
                r#"{"abuot": "x"}"#,
                "`$zlaunch` cannot be read: unknown field `abuot`",
            ),
        ] {
            let spec = Sourced::new(format!(r#"{{"$zlaunch": {header}}}"#), Source::Default);
            let told = resolve(&spec, &Search::default(), &Host::default())
                .err()
                .unwrap_or_default();
            assert!(
                told.len() == 1 && told[0].what.starts_with(what),
                "{header}: {told:?}"
            );
        }
    }

    #[test]
    fn every_built_in_template_says_what_it_is() {
        for (name, _) in BUILT_IN {
            let template = named(name);
            assert!(
                template.about.is_some_and(|about| about.len() > 20),
                "{name}"
            );
            assert!(
                template.about_zh.is_some_and(|about| !about.is_ascii()),
                "{name}"
            );
            assert!(template.config.get("$zlaunch").is_none(), "{name}");
        }
    }
}

mod auto {
    use serde_json::json;

    use zlaunch::testing::auto::*;

    #[test]
    fn equality_is_pythons() {
        for (one, two) in [
            (json!(1), json!(1.0)),
            (json!(true), json!(1)),
            (json!([0.9, 1]), json!([0.9, 1.0])),
            (json!("a"), json!("a")),
        ] {
            assert!(python_equal(&one, &two), "{one} {two}");
        }
        for (one, two) in [
            (json!("8"), json!(8)),
            (json!("true"), json!(true)),
            (json!([0.9]), json!([0.9, 0.9])),
            (json!(1e-5), json!(1.1e-5)),
        ] {
            assert!(!python_equal(&one, &two), "{one} {two}");
        }
    }

    #[test]
    fn the_table_has_the_26_keys_and_no_key_twice() {
        assert_eq!(RULES.len(), 26);
        for (at, rule) in RULES.iter().enumerate() {
            assert!(
                RULES[at + 1..].iter().all(|other| other.key != rule.key),
                "{}",
                rule.key
            );
        }
    }

    #[test]
    fn a_fill_changes_only_an_auto() {
        let config = json!({"a": "auto", "b": {"c": "auto", "d": 1}});
        let fill = |key, value| Fill {
            key,
            filled: FilledValue {
                value,
                from: String::new(),
                arguments: Vec::new(),
            },
        };
        assert_eq!(
            apply(&config, &[fill("b.c", json!(2))]),
            json!({"a": "auto", "b": {"c": 2, "d": 1}})
        );
        // A fill for a key that is not "auto" changes nothing.
        assert_eq!(
            apply(&config, &[fill("b.d", json!(2)), fill("e", json!(2))]),
            config
        );
    }
}

mod layers {
    use serde_json::json;

    use zlaunch::testing::layers::*;
    use zlaunch::testing::source::{Source, Sourced};

    #[test]
    fn set_makes_the_way_and_stops_at_a_value() {
        let mut config = json!({"a": 1, "b": {"c": 2}, "n": null});
        set(&mut config, "b.d.e", json!(true)).unwrap();
        set(&mut config, "n.x", json!("s")).unwrap();
        assert_eq!(
            config,
            json!({"a": 1, "b": {"c": 2, "d": {"e": true}}, "n": {"x": "s"}})
        );
        assert_eq!(
            set(&mut config, "b.c.x.y", json!(1)),
            Err("b.c".to_string())
        );
    }

    #[test]
    fn what_is_not_removed_keeps_its_order() {
        let removed = |keys: &[&str]| {
            let mut config = json!({"a": {"x": 1, "y": 2, "z": 3}, "b": 1, "c": 2});
            let keys: Vec<_> = keys
                .iter()
                .map(|key| Sourced::new((*key).to_string(), Source::Default))
                .collect();
            let problems = remove(&mut config, &keys);
            (
                config.to_string(),
                problems
                    .into_iter()
                    .map(|problem| problem.help())
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(removed(&["a.x"]).0, r#"{"a":{"y":2,"z":3},"b":1,"c":2}"#);
        assert_eq!(removed(&["a", "a.y"]).0, r#"{"b":1,"c":2}"#);
        let (same, told) = removed(&["a.w", "b.c"]);
        assert_eq!(same, r#"{"a":{"x":1,"y":2,"z":3},"b":1,"c":2}"#);
        assert!(told.len() == 2 && told[0].contains("`a.x`"), "{told:?}");
    }
}
