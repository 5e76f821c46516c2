//! What an estimate rests on that nobody said.

use super::architecture::Weights;
use super::settings::{TrainingSettings, Tuner};
use super::training_args::{PROMPT, TrainingReader};
use crate::command::job::Trainer;
use crate::host::Host;

#[derive(Clone, Debug)]
pub(super) struct Assumption {
    pub(super) text: String,
    pub(super) certainty: Certainty,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    /// A default of the front end decides it.
    Default,
    /// Nobody knows, but the least that it can be.
    AtLeast,
    Guess,
}

impl Certainty {
    fn assume(self, text: impl Into<String>) -> Assumption {
        Assumption {
            text: text.into(),
            certainty: self,
        }
    }
}

impl TrainingReader<'_> {
    /// `unread`: the config of the command, if it is not here.
    pub(super) fn assumed(
        &self,
        weights: &Weights,
        settings: &TrainingSettings,
        unread: Option<&str>,
        host: &Host,
    ) -> Vec<Assumption> {
        let guess = |text: &String| Certainty::Guess.assume(text);
        let mut assumed: Vec<Assumption> = weights.assumed.iter().map(guess).collect();
        self.assume_settings(settings, host, &mut assumed);
        self.assume_rest(settings, unread, &mut assumed);
        assumed
    }

    /// The front end of a console script. A script of the user may change the defaults of its front end, and that is not seen.
    pub(super) fn console(&self) -> Option<&'static Trainer> {
        self.trainer
            .filter(|trainer| !trainer.launch.consoles.is_empty())
    }

    /// What is trained, and how much of it at once.
    fn assume_settings(
        &self,
        settings: &TrainingSettings,
        host: &Host,
        assumed: &mut Vec<Assumption>,
    ) {
        let console = self.console();
        let by_console = if console.is_some() {
            Certainty::Default
        } else {
            Certainty::AtLeast
        };
        if let (None, Some(trainer)) = (self.tuner(), self.trainer) {
            match settings.tuner {
                Tuner::Full if console.is_some() => {}
                Tuner::Full => assumed.push(by_console.assume("all parameters are trained")),
                _ => {
                    let text = format!("LoRA, the default of {}", trainer.name);
                    assumed.push(Certainty::Default.assume(text));
                }
            }
        }
        if self.seq_len(settings.rollout).is_none() {
            let known = console.and_then(|console| console.model.training.seq_len);
            assumed.push(match (settings.rollout, known) {
                (Some(rollout), _) => Certainty::AtLeast.assume(format!(
                    "prompts of {PROMPT} tokens before answers of {}",
                    rollout.answer
                )),
                (None, Some(tokens)) => {
                    Certainty::Default.assume(format!("{tokens} tokens per sequence"))
                }
                (None, None) => {
                    let tokens = settings.seq_len;
                    Certainty::AtLeast.assume(format!("{tokens} tokens per sequence"))
                }
            });
        }
        if self.micro_batch().is_none() {
            assumed.push(by_console.assume(format!("a micro batch of {}", settings.micro_batch)));
        }
        if self.trainer.is_some() && self.dtype(None, host).is_none() {
            assumed.push(Certainty::Guess.assume(settings.dtype.name()));
        }
        if settings.evaluation.is_some() && console.is_none() {
            let text = "an evaluation that keeps no logits for metrics";
            assumed.push(Certainty::Default.assume(text));
        }
    }

    /// What is not seen, or was not measured.
    fn assume_rest(
        &self,
        settings: &TrainingSettings,
        unread: Option<&str>,
        assumed: &mut Vec<Assumption>,
    ) {
        let mut guess = |text: &str| assumed.push(Certainty::Guess.assume(text));
        let algorithm = &settings.algorithm;
        let ranks = settings.sequence_parallel;
        if let Some(config) = unread {
            guess(&format!("nothing about {config}, which was not found"));
        }
        if ranks > 1 {
            guess(&format!(
                "each GPU holds one of {ranks} parts of a sequence, which was not measured"
            ));
        }
        if !settings.optimizer.is_measured() {
            guess("the most that an optimizer can need, because this one was not measured");
        }
        if algorithm.uncounted {
            guess("what is known of it: other models, and vLLM on the same GPUs, come on top");
            return;
        }
        let is_measured = self
            .trainer
            .is_some_and(|trainer| trainer.model.training.measured_losses);
        if self.algorithm().is_some() && !is_measured {
            guess("the loss as TRL computes it, where it was measured");
        }
        if algorithm.groups && settings.rewards.is_empty() {
            guess("rewards that are computed without a GPU");
        }
    }
}
