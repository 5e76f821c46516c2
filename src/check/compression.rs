//! `compression_training`, which DeepSpeed read until 0.19.6, and what it refused in it. Newer versions refuse the section itself.

use serde_json::{Map, Value};

use super::findings::{Check, Findings};
use super::subject::Subject;
use crate::base::python_value::number;
use crate::config::schema;
use crate::report::{Rule, Severity, When};

pub(super) const RULES: &[Check] = &[Check {
    rule: Rule::Compression,
    severity: Severity::Error,
    when: When::Parse,
    doc: "compression_training without the groups or the parameters it needs (before 0.19.7, which refuses the section)",
    check: compression,
}];

/// A way to compress: the words that its shared parameters take, and what each of its groups must have.
struct Technique {
    name: &'static str,
    words: &'static [(&'static str, &'static [&'static str])],
    needed: &'static [&'static str],
}

const QUANTIZED: (&str, &[&str]) = ("quantization_type", &["symmetric", "asymmetric"]);
const METHOD: (&str, &[&str]) = ("method", &["l1", "topk"]);
const TECHNIQUES: &[Technique] = &[
    Technique {
        name: "weight_quantization",
        words: &[QUANTIZED, ("rounding", &["nearest", "stochastic"])],
        needed: &["start_bits", "target_bits"],
    },
    Technique {
        name: "activation_quantization",
        words: &[QUANTIZED, ("range_calibration", &["static", "dynamic"])],
        needed: &["bits"],
    },
    Technique {
        name: "sparse_pruning",
        words: &[("method", &["l1", "topk", "snip_momentum"])],
        needed: &["dense_ratio"],
    },
    Technique { name: "row_pruning", words: &[METHOD], needed: &["dense_ratio"] },
    Technique { name: "head_pruning", words: &[METHOD], needed: &["dense_ratio"] },
    Technique { name: "channel_pruning", words: &[METHOD], needed: &["dense_ratio"] },
];

fn compression(subject: &Subject, found: &mut Findings) {
    const SECTION: &str = "compression_training";
    let Some(section) = subject.get(SECTION).and_then(Value::as_object).filter(|_| subject.reads(SECTION)) else {
        return;
    };
    if let Some(value) = section.get("layer_reduction").filter(|it| !it.is_object()) {
        let key = format!("{SECTION}.layer_reduction");
        found.key(&[&key], format!("`{key}` is {value}, but DeepSpeed wants an object"), format!("--unset {key}"));
    }
    for technique in TECHNIQUES {
        if let Some(wrong) = section.get(technique.name).and_then(|it| technique.fault(it)) {
            let key = format!("{SECTION}.{}", technique.name);
            found.key(&[&key], format!("`{key}` {wrong}"), format!("--unset {key}"));
        }
    }
}

impl Technique {
    /// What DeepSpeed refuses, as the rest of a sentence.
    fn fault(&self, section: &Value) -> Option<String> {
        let Some(section) = section.as_object() else { return Some("must be an object".to_string()) };
        if let Some(shared) = section.get("shared_parameters") {
            let wrong =
                shared.as_object().map_or_else(|| Some(wanted_object("shared_parameters")), |it| self.shared(it));
            if wrong.is_some() {
                return wrong;
            }
        }
        let Some(groups) = section.get("different_groups") else { return Some("needs `different_groups`".to_string()) };
        let Some(groups) = groups.as_object() else { return Some(wanted_object("different_groups")) };
        groups.iter().find_map(|(name, group)| self.group(name, group))
    }

    fn shared(&self, shared: &Map<String, Value>) -> Option<String> {
        for (key, words) in self.words {
            if let Some(word) = shared.get(*key).filter(|word| !word.as_str().is_some_and(|it| words.contains(&it))) {
                return Some(format!("has `{key}` {word}: it must be one of {}", words.join(", ")));
            }
        }
        if self.name == "head_pruning"
            && shared.get("enabled").is_some_and(schema::is_true)
            && !shared.contains_key("num_heads")
        {
            return Some("needs `num_heads`".to_string());
        }
        if shared.get("fp16_mixed_quantize").is_some_and(|it| self.name == "weight_quantization" && !it.is_object()) {
            return Some(wanted_object("fp16_mixed_quantize"));
        }
        if shared.get("method").is_some_and(|method| method == "snip_momentum") { momentum(shared) } else { None }
    }

    fn group(&self, name: &str, group: &Value) -> Option<String> {
        let Some(params) = group.get("params").and_then(Value::as_object) else {
            return Some(format!("has a group `{name}` without an object `params`"));
        };
        let missing = self.needed.iter().find(|key| !params.contains_key(**key))?;
        Some(format!("has a group `{name}` whose `params` need `{missing}`"))
    }
}

fn momentum(shared: &Map<String, Value>) -> Option<String> {
    let given = |key: &str, default: f64| shared.get(key).map_or(Some(default), number);
    if !given("dense_ratio", 0.1).is_some_and(|ratio| ratio > 0.0 && ratio < 1.0) {
        return Some("needs a `dense_ratio` between 0 and 1".to_string());
    }
    let (start, end) = (given("schedule_offset", 1000.0), shared.get("schedule_offset_end")?);
    let ends = start.zip(number(end)).is_some_and(|(start, end)| start <= end);
    (!ends).then(|| "ends its schedule before it starts".to_string())
}

fn wanted_object(key: &str) -> String {
    format!("has `{key}` that is no object")
}
