//! Rules of thumb from `advice.json`, which names the origin of each. The order of the templates comes from there. The other
//! rules are only shown: the estimate decides.

use serde_json::Value;

use super::settings::Tuner;
use crate::base::json;

pub(crate) struct Advice(Value);

impl Advice {
    pub(crate) fn read() -> Self {
        // A unit test reads every entry, so the embedded text is never at fault here.
        Advice(json::parse(include_str!("advice.json")).unwrap_or_default())
    }

    /// Templates from the fastest to the slowest.
    pub(crate) fn order(&self, gpus: u64) -> Vec<&str> {
        let which = if gpus == 1 { "one_gpu" } else { "several_gpus" };
        self.0["order"][which].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// How many times longer a step takes with offload.
    pub(crate) fn offload_factor(&self) -> &str {
        self.0["offload"]["slower"].as_str().unwrap_or_default()
    }

    /// The rules for this card or for a model of this size.
    pub(crate) fn rules_of_thumb(&self, params: u64, tuner: Tuner, memory: Option<u64>) -> Vec<&str> {
        let entries = |name: &str| self.0[name].as_array().into_iter().flatten();
        let number = |entry: &Value, key: &str| entry[key].as_u64().unwrap_or(0);
        let size = entries("sizes").find(|entry| params < number(entry, "below"));
        let is_near = |value: u64, listed: u64| value.abs_diff(listed) <= listed / 7;
        let card = entries("cards").find(|entry| {
            let lora = entry["tuner"] == "lora";
            memory.is_some_and(|memory| is_near(memory >> 30, number(entry, "memory")))
                && is_near(params, number(entry, "params"))
                && lora == (tuner != Tuner::Full)
        });
        // The rules by size are about full fine-tuning.
        let size = size.filter(|_| tuner == Tuner::Full);
        card.or(size).into_iter().filter_map(|entry| entry["says"].as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::allocator::Allocator;
    use super::super::memory;
    use super::super::need::Cluster;
    use super::super::strategy::Strategy;
    use super::super::tests::{template, workload};
    use super::*;

    #[test]
    fn every_rule_has_a_text_and_an_origin() {
        let advice = Advice::read();
        let lists = ["sizes", "cards"].iter().flat_map(|name| advice.0[name].as_array().unwrap());
        let all: Vec<&Value> = lists.chain([&advice.0["order"], &advice.0["offload"]]).collect();
        assert_eq!(all.len(), 12);
        for entry in all {
            assert!(entry["says"].is_string() && entry["from"].as_str().is_some_and(|from| from.contains("guide")));
        }
        for gpus in [1, 8] {
            let order = advice.order(gpus);
            assert!(order.len() >= 4, "{order:?}");
            for name in order {
                assert_eq!(template(name).name, name);
            }
        }
    }

    #[test]
    fn the_rules_about_cards_agree_with_the_estimate() {
        for card in Advice::read().0["cards"].as_array().unwrap() {
            let tuner = if card["tuner"] == "lora" { Tuner::Lora } else { Tuner::Full };
            let workload = workload(card["params"].as_u64().unwrap(), tuner);
            let cluster = Cluster { nodes: 1, gpus: card["gpus"].as_u64().unwrap() };
            let fits = |name: &Value| {
                let strategy = Strategy::of(&template(name.as_str().unwrap()).config, workload.shape.hidden);
                let need = memory::need(&workload, &strategy, cluster);
                super::super::choice::with_margin(&need, Allocator::Expandable)
                    <= card["memory"].as_u64().unwrap() << 30
            };
            assert!(fits(&card["take"]), "{card}");
            assert!(card.get("not").is_none_or(|other| !fits(other)), "{card}");
        }
    }
}
