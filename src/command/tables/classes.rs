//! Classes of arguments that zlaunch knows by name.

#[derive(Clone, Copy, PartialEq)]
pub struct ArgumentClass {
    pub distribution: &'static str,
    pub name: &'static str,
}

pub const TRAINING_ARGUMENTS: ArgumentClass = ArgumentClass {
    distribution: "transformers",
    name: "TrainingArguments",
};

pub const SEQ2SEQ_ARGUMENTS: ArgumentClass = ArgumentClass {
    name: "Seq2SeqTrainingArguments",
    ..TRAINING_ARGUMENTS
};

/// From this transformers on, its parser takes every name with dashes too.
pub const DASHES_SINCE: [u32; 3] = [4, 46, 0];
