//! The batch triangle: `train_batch_size` = micro batch × accumulation × data-parallel ranks, computed as DeepSpeed does.

use serde_json::Value;

use super::findings::Check;
use super::subject::Subject;
use crate::base::python_value::number;
use crate::config::schema::{self, SEQUENCE_JUDGED};
use crate::report::fix::{set, unset};
use crate::report::{Rule, Severity, When};

const GLOBAL: &str = "train_batch_size";
const MICRO: &str = "train_micro_batch_size_per_gpu";
const STEPS: &str = "gradient_accumulation_steps";
pub(super) const SIZES: [&str; 3] = [GLOBAL, MICRO, STEPS];
const SEQUENCE: &str = "sequence_parallel_size";

pub(super) const RULES: &[Check] = &[
    Check::code(
        Rule::BatchSize,
        Severity::Error,
        When::Parse,
        |subject, found| {
            for key in SIZES {
                let Some(value) = subject
                    .get(key)
                    .filter(|value| !value.is_null() && *value != "auto")
                else {
                    continue;
                };
                if number(value).is_none_or(|size| size <= 0.0) && !is_elastic(subject) {
                    let what =
                        format!("`{key}` is {value}, but DeepSpeed expects a number above 0");
                    let meant = value
                        .as_str()
                        .and_then(|text| text.trim().parse::<u32>().ok())
                        .filter(|size| *size > 0);
                    let follows = key != MICRO && subject.get(MICRO).is_some();
                    let other = if follows { unset(key) } else { set(key, 1) };
                    found.key(
                        &[key],
                        what,
                        meant.map_or(other, |number| set(key, number).safe()),
                    );
                }
            }
            if let Some(size) = sequence(subject)
                .filter(|size| *size != "auto" && !subject.is_before(SEQUENCE_JUDGED))
                && number(size).is_none_or(|size| size == 0.0)
            {
                let what = format!("`{SEQUENCE}` is {size}, but DeepSpeed divides the ranks by it");
                found.key(&[SEQUENCE], what, set(SEQUENCE, 1));
            }
            if triangle(subject).is_some_and(|sizes| sizes.judge(1.0) == Err(Wrong::Missing)) {
                let what = format!("the config sets neither `{GLOBAL}` nor `{MICRO}`");
                found.key(
                    &[GLOBAL, MICRO],
                    what,
                    set(MICRO, if subject.is_hf() { "auto" } else { "1" }),
                );
            }
        },
    ),
    Check::code(
        Rule::BatchProduct,
        Severity::Error,
        When::Parse,
        |subject, found| {
            if subject.job.trainer.sets(MICRO) && subject.get(GLOBAL).is_some_and(Value::is_number)
            {
                let what = format!(
                    "`{GLOBAL}` must be the ranks × the values in the trainer's own config"
                );
                found
                    .key(&[GLOBAL], what, unset(GLOBAL).remark("it is inferred"))
                    .severity = Severity::Warning;
            }
            let (Some(sizes), Some(ranks)) = (triangle(subject), ranks(subject)) else {
                return;
            };
            let Err(Wrong::Product {
                global,
                micro,
                steps,
            }) = sizes.judge(ranks)
            else {
                return;
            };
            let inferred = |key: &str| {
                if subject.get(key).is_none_or(Value::is_null) {
                    ", inferred"
                } else {
                    ""
                }
            };
            let what = format!(
                "`{GLOBAL}` is {global}, but {micro} (micro batch{}) × {steps} (accumulation steps{}) × {ranks} (ranks) is {}",
                inferred(MICRO),
                inferred(STEPS),
                micro * steps * ranks
            );
            let help = if subject.is_hf() {
                set(GLOBAL, "auto")
            } else {
                unset(GLOBAL).remark("it is inferred")
            };
            let keys: Vec<&str> = SIZES
                .into_iter()
                .filter(|key| subject.get(key).is_some())
                .collect();
            // A script that splits the model has fewer data-parallel ranks than ranks.
            let fewer = global / (micro * steps);
            let signs = ["mpu", "PipelineModule", "mesh_device"];
            let may_split =
                subject.is_plain() && fewer >= 1.0 && fewer.fract() == 0.0 && ranks % fewer == 0.0;
            let problem = found.key(&keys, what, help);
            if may_split
                && subject
                    .script()
                    .is_none_or(|text| signs.iter().any(|sign| text.contains(sign)))
            {
                problem.what += &format!(
                    ", unless the script splits the model over {} ranks",
                    ranks / fewer
                );
                problem.severity = Severity::Warning;
            }
        },
    ),
    Check::code(
        Rule::BatchSequence,
        Severity::Warning,
        When::Silent,
        |subject, found| {
            if subject.get(SEQUENCE).is_some()
                && let Some(ranks) = ranks(subject).filter(|ranks| ranks.fract() != 0.0)
            {
                let what = format!(
                    "`{SEQUENCE}` does not divide the ranks: DeepSpeed continues with {ranks} of them"
                );
                found.key(
                    &[SEQUENCE],
                    what,
                    format!("set {SEQUENCE} to a divisor of the ranks"),
                );
            }
        },
    ),
    Check::code(
        Rule::BatchTensor,
        Severity::Note,
        When::Silent,
        |subject, found| {
            let key = "tensor_parallel.autotp_size";
            if let Some(size) = subject.get(key).and_then(number).filter(|size| *size > 1.0) {
                let what = format!(
                    "`{GLOBAL}` counts every rank, although groups of {size} read the same samples"
                );
                found.key(
                    &[key],
                    what,
                    format!("a step has {GLOBAL} ÷ {size} samples"),
                );
            }
        },
    ),
    // Fabric does not touch it.
    Check::row(
        Rule::LightningAccumulation,
        Severity::Error,
        When::Start,
        |subject| {
            let is_lightning = subject.job.trainer.sets_what_is_absent();
            is_lightning && subject.get(STEPS).is_some() && !subject.script_says("Fabric(")
        },
    ),
];

/// The three values as DeepSpeed reads them. null counts as missing.
struct Triangle {
    global: Option<f64>,
    micro: Option<f64>,
    steps: Option<f64>,
}

#[derive(Debug, PartialEq)]
enum Wrong {
    Missing,
    NotPositive,
    Product { global: f64, micro: f64, steps: f64 },
}

impl Triangle {
    /// Infers what is missing, then compares. `ranks` is a float: DeepSpeed divides it by the sequence-parallel size.
    fn judge(&self, ranks: f64) -> Result<(), Wrong> {
        let over = |one: f64, two: f64| {
            if two == 0.0 {
                Err(Wrong::NotPositive)
            } else {
                Ok((one / two).floor())
            }
        };
        let (global, micro, steps) = match (self.global, self.micro, self.steps) {
            (Some(global), Some(micro), Some(steps)) => (global, micro, steps),
            (Some(global), Some(micro), None) => {
                (global, micro, over(over(global, micro)?, ranks)?)
            }
            (Some(global), None, Some(steps)) => {
                (global, over(over(global, ranks)?, steps)?, steps)
            }
            (None, Some(micro), Some(steps)) => (micro * steps * ranks, micro, steps),
            (Some(global), None, None) => (global, over(global, ranks)?, 1.0),
            (None, Some(micro), None) => (micro * ranks, micro, 1.0),
            (None, None, _) => return Err(Wrong::Missing),
        };
        if [global, micro, steps].iter().any(|size| *size <= 0.0) {
            let given = [self.global, self.micro, self.steps]
                .into_iter()
                .flatten()
                .all(|size| size > 0.0);
            return Err(if given {
                Wrong::Product {
                    global,
                    micro,
                    steps,
                }
            } else {
                Wrong::NotPositive
            });
        }
        #[expect(clippy::float_cmp, reason = "Python compares exactly too")]
        if global == micro * steps * ranks {
            Ok(())
        } else {
            Err(Wrong::Product {
                global,
                micro,
                steps,
            })
        }
    }
}

/// `None` if one of them is still "auto" or not a number, or if the trainer sets them.
fn triangle(subject: &Subject) -> Option<Triangle> {
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
    let missing = trainer.uses_accelerate() && subject.get(STEPS).is_none();
    let steps = if missing { Some(1.0) } else { size(STEPS)? };
    Some(Triangle {
        global: size(GLOBAL)?,
        micro: size(MICRO)?,
        steps,
    })
}

/// Data-parallel ranks, as DeepSpeed counts them without a model-parallel unit.
fn ranks(subject: &Subject) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "nobody has 2^53 ranks")]
    let world = subject.world()? as f64;
    let Some(size) = sequence(subject) else {
        return Some(world);
    };
    match number(size) {
        Some(size) if size != 0.0 => Some(world / size),
        _ => subject.is_before(SEQUENCE_JUDGED).then_some(1.0),
    }
}

/// Older versions do not divide the ranks by it.
fn sequence<'a>(subject: &Subject<'a>) -> Option<&'a Value> {
    if subject.is_before(schema::SEQUENCE_DIVIDES) {
        None
    } else {
        subject.get(SEQUENCE)
    }
}

/// Elastic training computes the batch itself.
pub(super) fn is_elastic(subject: &Subject) -> bool {
    subject
        .get("elasticity.enabled")
        .is_some_and(schema::is_true)
        && subject.reads("elasticity")
}
