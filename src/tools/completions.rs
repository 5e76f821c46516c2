//! `zlaunch completions`, which clap writes.

use clap::Args;
use clap_complete::Shell;

use super::output::out_bytes;
use crate::base::options::{AnyValue, Given};
use crate::cli::values::{Words, one_of};
use crate::cli::{Reader, Requested, Tool, command};
use crate::host::Host;

#[derive(Args)]
pub(crate) struct CompletionsArgs {
    #[arg(value_parser = AnyValue(SHELLS))]
    shell: Given,
}

const SHELLS: Words<Shell> = || vec![("bash", Shell::Bash), ("zsh", Shell::Zsh), ("fish", Shell::Fish)];

impl Tool for CompletionsArgs {
    fn read(self, mut reader: Reader) -> Requested {
        let mut script = Vec::new();
        if let Some(shell) = reader.one(Some(self.shell), one_of(SHELLS)) {
            clap_complete::generate(shell.value, &mut command(reader.tools), "zlaunch", &mut script);
        }
        reader.answer(move |_: &Host| out_bytes(&script))
    }
}
