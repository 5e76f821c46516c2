//! Rules of thumb of a common guide. They are only shown: the estimate decides.

use super::settings::Tuner;

const BILLION: u64 = 1_000_000_000;

/// For full fine-tuning of models that have less than so many billion parameters.
const BY_SIZE: [(u64, &str); 5] = [
    (7, "below 7B: no DeepSpeed, or zero1"),
    (13, "7B to 13B: zero2"),
    (30, "13B to 30B: zero2 or zero3"),
    (70, "30B to 70B: zero3"),
    (1_000_000, "above 70B: zero3_offload"),
];

/// GiB of a card, billions of parameters, whether all are trained, and the rule. The sums agree with each, and the guide with
/// all but two. Its example for 8B has five GPUs of 44 GB, but a step takes 2 + 20/N bytes per parameter (22 measured on one
/// GPU). For 30B it says zero2, but the weights alone are 60 GB, and with the step 135 GB on 8 GPUs.
const BY_CARD: [(u64, u64, bool, &str); 5] = [
    (24, 7, false, "24 GB, 7B: zero2 and LoRA"),
    (40, 8, true, "40 GB, 8B: zero2 from 8 GPUs on, all parameters"),
    (40, 30, false, "40 GB, 30B: zero3 and LoRA"),
    (80, 30, true, "80 GB, 30B: zero3 on 8 GPUs, all parameters"),
    (80, 70, false, "80 GB, 70B: zero3 and LoRA"),
];

/// The rule for this card, or for a model of this size.
pub(super) fn rule_of_thumb(params: u64, tuner: Tuner, memory: Option<u64>) -> Option<&'static str> {
    let is_full = tuner == Tuner::Full;
    let is_near = |value: u64, listed: u64| value.abs_diff(listed) <= listed / 7;
    let by_card = BY_CARD.iter().find(|(gib, billions, full, _)| {
        memory.is_some_and(|memory| is_near(memory >> 30, *gib))
            && is_near(params, billions * BILLION)
            && *full == is_full
    });
    let by_size = || BY_SIZE.iter().find(|(billions, _)| is_full && params < billions * BILLION);
    by_card.map(|(.., rule)| *rule).or_else(|| by_size().map(|(_, rule)| *rule))
}
