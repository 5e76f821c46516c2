//! `zlaunch help`: the overview, or the page of a sub-command.

use super::prelude::*;
use crate::cli::help;

#[derive(Args)]
pub struct HelpArgs {
    command: Option<Given>,
}

impl Tool for HelpArgs {
    fn read(self, mut reader: Reader) -> Requested {
        let host = reader.host;
        let tools = reader.tools;
        let text = match reader
            .one(self.command, values::text)
            .map(|asked| asked.value)
        {
            None => help::overview(host, tools),
            Some(name) if tools.names().any(|known| known == name) => {
                help::page(&name, host, tools)
            }
            Some(name) => {
                let problem = report::unexpected_argument(&name, "zlaunch help", usage("help"));
                reader.problems.push(problem);
                String::new()
            }
        };
        reader.answer(move |_: &Host| show(&text))
    }
}
