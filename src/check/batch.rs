//! The batch triangle: `train_batch_size` = micro batch × accumulation × data-parallel ranks, computed as DeepSpeed does.

use serde_json::Value;

use super::{
    rows::Findings,
    subject::Subject,
    tables::names::{ACCUMULATION, BATCH_SIZE, BATCH_SIZES, MICRO_BATCH, MODEL_SPLITS},
};
use crate::{
    base::python_value::number,
    config::schema::{self, SEQUENCE_DIVIDES, SEQUENCE_JUDGED},
    report::prelude::*,
};

pub fn sizes(subject: &Subject, found: &mut Findings) {
    let wrong = |key: &str| {
        subject.get(key).filter(|value| {
            *value != "auto" && !value.is_null() && number(value).is_none_or(|size| size <= 0.0)
        })
    };
    for key in BATCH_SIZES {
        // The product of a wrong number is wrong because of it.
        let is_product = key == BATCH_SIZE && wrong(MICRO_BATCH).or(wrong(ACCUMULATION)).is_some();
        if let Some(value) = wrong(key)
            && !is_product
            && !is_elastic(subject)
        {
            let what = format!("`{key}` is {value}, but DeepSpeed expects a number above 0");
            let meant = value.as_str().map(|text| text.trim().parse::<u32>());
            let fix = match meant {
                Some(Ok(number @ 1..)) => set(key, number).safe(),
                _ => say("write a whole number above 0"),
            };
            found.key(&[key], what, fix);
        }
    }
}

pub fn product(subject: &Subject, found: &mut Findings) {
    let given = given_sizes(subject);
    let Some((given, ranks)) = given.zip(ranks(subject)) else {
        return;
    };
    let Some([global, micro, steps]) = given.inferred(ranks) else {
        return;
    };
    let product = micro * steps * ranks;
    #[expect(clippy::float_cmp, reason = "Python compares exactly too")]
    if global == product {
        return;
    }
    let is_inferred = |key: &str| subject.get(key).is_none_or(Value::is_null);
    let what = format!(
        "`{BATCH_SIZE}` is {global}, but {micro} (micro batch) × {steps} (accumulation steps) × {ranks} (ranks) is {product}"
    );
    let fixes = match subject.is_hf() {
        true if is_inferred(ACCUMULATION) => set(ACCUMULATION, "auto").or(set(BATCH_SIZE, "auto")),
        true => set(BATCH_SIZE, "auto").into(),
        false => set(BATCH_SIZE, product).into(),
    };
    let keys = BATCH_SIZES
        .into_iter()
        .filter(|key| subject.get(key).is_some());
    let problem = found.key(&keys.collect::<Vec<_>>(), what, fixes);
    // A script that splits the model has fewer data-parallel ranks than ranks.
    let fewer = global / (micro * steps);
    let divides = fewer >= 1.0 && fewer.fract() == 0.0 && ranks % fewer == 0.0;
    if divides
        && subject.job.trainer.is_raw_deepspeed()
        && subject.script_says(&MODEL_SPLITS) != Some(false)
    {
        let split = ranks / fewer;
        problem.what += &format!(", unless the script splits the model over {split} ranks");
        problem.severity = Severity::Warning;
    }
}

/// The values of the config. null counts as missing.
struct GivenSizes {
    global: Option<f64>,
    micro: Option<f64>,
    steps: Option<f64>,
}

impl GivenSizes {
    /// Global batch, micro batch and steps, of which it infers what is missing. `None` if that is too much, or if a given size is not above 0. `ranks` is a float: DeepSpeed
    /// divides it by the sequence-parallel size.
    fn inferred(&self, ranks: f64) -> Option<[f64; 3]> {
        let over = |one: f64, two: f64| (one / two).floor();
        if [self.global, self.micro, self.steps]
            .into_iter()
            .flatten()
            .any(|size| size <= 0.0)
        {
            return None;
        }
        let steps = match (self.global, self.micro) {
            (Some(global), Some(micro)) => over(over(global, micro), ranks),
            _ => 1.0,
        };
        let steps = self.steps.unwrap_or(steps);
        let micro = match self.micro {
            Some(micro) => micro,
            None => over(over(self.global?, ranks), steps),
        };
        let global = self.global.unwrap_or(micro * steps * ranks);
        Some([global, micro, steps])
    }
}

/// `None` if one of them is still "auto" or not a number, or if the trainer sets them.
fn given_sizes(subject: &Subject) -> Option<GivenSizes> {
    let trainer = subject.job.trainer;
    if trainer.sets(MICRO_BATCH)
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
    let is_filled = trainer.uses_accelerate() && subject.get(ACCUMULATION).is_none();
    Some(GivenSizes {
        global: size(BATCH_SIZE)?,
        micro: size(MICRO_BATCH)?,
        steps: if is_filled {
            Some(1.0)
        } else {
            size(ACCUMULATION)?
        },
    })
}

/// Data-parallel ranks, as DeepSpeed counts them without a model-parallel unit. Old versions count all.
fn ranks(subject: &Subject) -> Option<f64> {
    let world = subject.ranks()?;
    match subject.get("sequence_parallel_size").map(number) {
        Some(_) if subject.is_before(SEQUENCE_DIVIDES) => Some(world),
        Some(Some(size)) if size != 0.0 => Some(world / size),
        Some(_) => subject.is_before(SEQUENCE_JUDGED).then_some(1.0),
        None => Some(world),
    }
}

/// Elastic training computes the batch itself.
fn is_elastic(subject: &Subject) -> bool {
    subject
        .get("elasticity.enabled")
        .is_some_and(schema::is_true)
        && subject.reads("elasticity")
}
