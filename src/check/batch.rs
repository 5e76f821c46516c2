//! The batch triangle: `train_batch_size` = micro batch × accumulation × data-parallel ranks, computed as DeepSpeed does.

use serde_json::Value;

use super::findings::Findings;
use super::subject::Subject;
use crate::base::python_value::number;
use crate::config::schema::{self, SEQUENCE_JUDGED};
use crate::report::Severity;
use crate::report::fix::{set, unset};

const GLOBAL: &str = "train_batch_size";
const MICRO: &str = "train_micro_batch_size_per_gpu";
const STEPS: &str = "gradient_accumulation_steps";
pub(super) const SIZES: [&str; 3] = [GLOBAL, MICRO, STEPS];
const SEQUENCE: &str = "sequence_parallel_size";
/// What a script has that splits the model over ranks.
const SPLITS: [&str; 3] = ["mpu", "PipelineModule", "mesh_device"];

pub(super) fn sizes(subject: &Subject, found: &mut Findings) {
    for key in SIZES {
        let Some(value) = subject
            .get(key)
            .filter(|value| !value.is_null() && *value != "auto")
        else {
            continue;
        };
        if number(value).is_none_or(|size| size <= 0.0) && !is_elastic(subject) {
            let what = format!("`{key}` is {value}, but DeepSpeed expects a number above 0");
            let meant = value
                .as_str()
                .and_then(|text| text.trim().parse::<u32>().ok())
                .filter(|size| *size > 0);
            let fix = match meant {
                Some(number) => set(key, number).safe(),
                None if key != MICRO && subject.get(MICRO).is_some() => unset(key),
                None => set(key, 1),
            };
            found.key(&[key], what, fix);
        }
    }
    if given_sizes(subject).is_some_and(|given| given.global.is_none() && given.micro.is_none()) {
        let what = format!("the config sets neither `{GLOBAL}` nor `{MICRO}`");
        let size = if subject.is_hf() { "auto" } else { "1" };
        found.key(&[GLOBAL, MICRO], what, set(MICRO, size));
    }
}

pub(super) fn product(subject: &Subject, found: &mut Findings) {
    if subject.job.trainer.sets(MICRO) && subject.get(GLOBAL).is_some_and(Value::is_number) {
        let what = format!("`{GLOBAL}` must be the ranks × the values in the trainer's own config");
        found
            .key(&[GLOBAL], what, unset(GLOBAL).remark("it is inferred"))
            .severity = Severity::Warning;
    }
    let (Some(given), Some(ranks)) = (given_sizes(subject), ranks(subject)) else {
        return;
    };
    let Some(Sizes {
        global,
        micro,
        steps,
    }) = given.inferred(ranks)
    else {
        return;
    };
    let product = micro * steps * ranks;
    #[expect(clippy::float_cmp, reason = "Python compares exactly too")]
    if global == product {
        return;
    }
    let inferred = |key: &str| {
        if subject.get(key).is_none_or(Value::is_null) {
            ", inferred"
        } else {
            ""
        }
    };
    let what = format!(
        "`{GLOBAL}` is {global}, but {micro} (micro batch{}) × {steps} (accumulation steps{}) × {ranks} (ranks) is {product}",
        inferred(MICRO),
        inferred(STEPS),
    );
    let help = if subject.is_hf() {
        set(GLOBAL, "auto")
    } else {
        unset(GLOBAL).remark("it is inferred")
    };
    let keys = SIZES
        .into_iter()
        .filter(|key| subject.get(key).is_some())
        .collect::<Vec<_>>();
    let problem = found.key(&keys, what, help);
    // A script that splits the model has fewer data-parallel ranks than ranks.
    let fewer = global / (micro * steps);
    let divides = fewer >= 1.0 && fewer.fract() == 0.0 && ranks % fewer == 0.0;
    let may_split = subject
        .script()
        .is_none_or(|text| SPLITS.iter().any(|sign| text.contains(sign)));
    if subject.is_plain() && divides && may_split {
        problem.what += &format!(
            ", unless the script splits the model over {} ranks",
            ranks / fewer
        );
        problem.severity = Severity::Warning;
    }
}

pub(super) fn sequence(subject: &Subject, found: &mut Findings) {
    if subject.get(SEQUENCE).is_some()
        && let Some(ranks) = ranks(subject).filter(|ranks| ranks.fract() != 0.0)
    {
        let what = format!(
            "`{SEQUENCE}` does not divide the ranks: DeepSpeed continues with {ranks} of them"
        );
        let help = format!("set {SEQUENCE} to a divisor of the ranks");
        found.key(&[SEQUENCE], what, help);
    }
}

/// The values of the config. null counts as missing.
struct GivenSizes {
    global: Option<f64>,
    micro: Option<f64>,
    steps: Option<f64>,
}

struct Sizes {
    global: f64,
    micro: f64,
    steps: f64,
}

impl GivenSizes {
    /// Infers what is missing. `None` if that is too much, or if a given size is not above 0. `ranks` is a float: DeepSpeed
    /// divides it by the sequence-parallel size.
    fn inferred(&self, ranks: f64) -> Option<Sizes> {
        let over = |one: f64, two: f64| (one / two).floor();
        let mut given = [self.global, self.micro, self.steps].into_iter().flatten();
        if given.any(|size| size <= 0.0) {
            return None;
        }
        Some(match (self.global, self.micro) {
            (Some(global), Some(micro)) => Sizes {
                global,
                micro,
                steps: self.steps.unwrap_or(over(over(global, micro), ranks)),
            },
            (Some(global), None) => {
                let steps = self.steps.unwrap_or(1.0);
                Sizes {
                    global,
                    micro: over(over(global, ranks), steps),
                    steps,
                }
            }
            (None, Some(micro)) => {
                let steps = self.steps.unwrap_or(1.0);
                Sizes {
                    global: micro * steps * ranks,
                    micro,
                    steps,
                }
            }
            (None, None) => return None,
        })
    }
}

/// `None` if one of them is still "auto" or not a number, or if the trainer sets them.
fn given_sizes(subject: &Subject) -> Option<GivenSizes> {
    let trainer = subject.job.trainer;
    if trainer.sets(MICRO)
        || trainer.sets_what_is_absent()
        || trainer.is_passthrough()
        || is_elastic(subject)
    {
        return None;
    }
    let size = |key: &str| match subject.get(key) {
        None | Some(Value::Null) => Some(None),
        Some(value) => number(value).map(Some),
    };
    // accelerate fills in 1 where it is missing.
    let is_filled = trainer.uses_accelerate() && subject.get(STEPS).is_none();
    Some(GivenSizes {
        global: size(GLOBAL)?,
        micro: size(MICRO)?,
        steps: if is_filled { Some(1.0) } else { size(STEPS)? },
    })
}

/// Data-parallel ranks, as DeepSpeed counts them without a model-parallel unit. Old versions count all.
fn ranks(subject: &Subject) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "nobody has 2^53 ranks")]
    let world = subject.world()? as f64;
    if subject.is_before(schema::SEQUENCE_DIVIDES) {
        return Some(world);
    }
    let Some(size) = subject.get(SEQUENCE) else {
        return Some(world);
    };
    match number(size) {
        Some(size) if size != 0.0 => Some(world / size),
        _ => subject.is_before(SEQUENCE_JUDGED).then_some(1.0),
    }
}

/// Elastic training computes the batch itself.
fn is_elastic(subject: &Subject) -> bool {
    subject
        .get("elasticity.enabled")
        .is_some_and(schema::is_true)
        && subject.reads("elasticity")
}
