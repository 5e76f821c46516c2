//! A config that comes through a pipe: `--deepspeed -` and `--deepspeed <(…)`. A pipe can be read once, so from here on its
//! text stands in the place of its name, also for zlaunch behind a prefix and in the record.

use crate::base::source::{Source, Sourced};
use crate::report::{Problem, reading};
use crate::request::Launch;

impl Launch {
    /// Reads the config that `--deepspeed` names, if it comes through a pipe.
    pub(crate) fn read_piped_config(&mut self) -> Result<(), Problem> {
        let Some(spec) = self.deepspeed.as_mut().filter(|spec| spec.from.is_flag()) else { return Ok(()) };
        let name = spec.value.clone();
        if !read_if_piped(spec)? {
            return Ok(());
        }
        for word in self.options.iter_mut().filter_map(|word| word.to_str().map(str::to_string).map(|it| (word, it))) {
            let (word, text) = word;
            if let Some(said) = text.strip_suffix(&name).filter(|said| said.is_empty() || *said == "--deepspeed=") {
                *word = format!("{said}{}", spec.value).into();
            }
        }
        Ok(())
    }
}

/// Puts the text of the pipe in the place of its name. Whether it was one.
pub(crate) fn read_if_piped(spec: &mut Sourced<String>) -> Result<bool, Problem> {
    let Some(piped) = reading::piped(&spec.value) else { return Ok(false) };
    spec.value = piped?.to_string();
    spec.from = Source::Input;
    Ok(true)
}
