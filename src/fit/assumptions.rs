//! What an estimate rests on that nobody said.

use super::architecture::Weights;
use super::inputs::FitInputs;
use super::settings::{PROMPT, TrainingSettings, Tuner};
use crate::command::job::Trainer;

pub(super) struct Assumption {
    pub(super) text: String,
    /// No default of the front end decides it either.
    pub(super) is_guess: bool,
}

fn guess(text: impl Into<String>) -> Assumption {
    Assumption {
        text: text.into(),
        is_guess: true,
    }
}

fn default(text: impl Into<String>) -> Assumption {
    Assumption {
        text: text.into(),
        is_guess: false,
    }
}

impl FitInputs<'_> {
    pub(super) fn assumed(
        &self,
        weights: &Weights,
        settings: &TrainingSettings,
    ) -> Vec<Assumption> {
        let mut assumed: Vec<Assumption> = weights.assumed.iter().map(guess).collect();
        self.assume_settings(settings, &mut assumed);
        self.assume_rest(settings, &mut assumed);
        assumed
    }

    /// The front end of a console script. A script of the user may change the defaults of its front end, and that is not seen.
    fn console(&self) -> Option<&'static Trainer> {
        self.trainer
            .filter(|trainer| !trainer.launch.consoles.is_empty())
    }

    /// What is trained, and how much of it at once.
    fn assume_settings(&self, settings: &TrainingSettings, assumed: &mut Vec<Assumption>) {
        let args = &self.args;
        let console = self.console();
        if let (None, Some(trainer)) = (args.tuner, self.trainer) {
            match settings.tuner {
                Tuner::Full if console.is_some() => {}
                Tuner::Full => assumed.push(guess("all parameters are trained")),
                _ => assumed.push(default(format!("LoRA, the default of {}", trainer.name))),
            }
        }
        if args.seq_len.is_none() {
            assumed.push(match (settings.rollout, console) {
                (Some(rollout), _) => guess(format!(
                    "prompts of {PROMPT} tokens before answers of {}",
                    rollout.answer
                )),
                (None, console) => Assumption {
                    text: format!("{} tokens per sequence", settings.seq_len),
                    is_guess: console.is_none_or(|it| it.model.training.seq_len.is_none()),
                },
            });
        }
        if args.micro_batch.is_none() {
            assumed.push(Assumption {
                text: format!("a micro batch of {}", settings.micro_batch),
                is_guess: console.is_none(),
            });
        }
        if args.dtype.is_none() && self.trainer.is_some() {
            assumed.push(guess(settings.dtype.name()));
        }
    }

    /// What is not seen, or was not measured.
    fn assume_rest(&self, settings: &TrainingSettings, assumed: &mut Vec<Assumption>) {
        let algorithm = &settings.algorithm;
        if settings.evaluation.is_some() && self.console().is_none() {
            assumed.push(default("an evaluation that keeps no logits for metrics"));
        }
        if let Some(unread) = &self.unread {
            let config = unread.spelling();
            assumed.push(guess(format!(
                "nothing about {config}, which was not found"
            )));
        }
        if settings.sequence_parallel > 1 {
            let ranks = settings.sequence_parallel;
            assumed.push(guess(format!(
                "each GPU holds one of {ranks} parts of a sequence, which was not measured"
            )));
        }
        if !settings.optimizer.is_measured() {
            let most = "the most that an optimizer can need, because this one was not measured";
            assumed.push(guess(most));
        }
        if algorithm.uncounted {
            let known = "what is known of it: other models, and vLLM on the same GPUs, come on top";
            assumed.push(guess(known));
            return;
        }
        let is_measured = self
            .trainer
            .is_some_and(|trainer| trainer.model.training.measured_losses);
        if self.args.algorithm.is_some() && !is_measured {
            assumed.push(guess("the loss as TRL computes it, where it was measured"));
        }
        if algorithm.groups && settings.rewards.is_empty() {
            assumed.push(guess("rewards that are computed without a GPU"));
        }
    }
}
