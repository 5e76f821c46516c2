//! `zlaunch completions`, which clap writes. What it does not know is added.

use clap::Command;
use clap_complete::Shell;

use super::{
    prelude::*,
    tables::completions::{CHANGES, SHELLS},
};
use crate::cli::command;

#[derive(Args)]
pub struct CompletionsArgs {
    #[arg(value_parser = AnyValue(SHELLS))]
    shell: Given,
}

impl Tool for CompletionsArgs {
    fn read(self, mut reader: Reader) -> Requested {
        let shell = reader.one(Some(self.shell), one_of(SHELLS));
        let tools = reader.tools;
        let script = shell
            .map(|shell| script(shell.value, command(tools)))
            .unwrap_or_default();
        reader.answer(move |_: &Host| out_bytes(script.as_bytes()))
    }
}

fn script(shell: Shell, mut command: Command) -> String {
    let mut script = vec![];
    clap_complete::generate(shell, &mut command, "zlaunch", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    for change in CHANGES.iter().filter(|change| change.shell == shell) {
        script = script.replace(change.text, change.instead);
    }
    script
}
