//! `zlaunch help`: the overview, or the page of a sub-command.

use clap::Args;

use super::output::show;
use crate::{
    base::options::Given,
    cli::{Reader, Requested, Tool, help, values},
    host::Host,
    report::{self, Problem, Rule, fix::run},
};

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
                let help = match report::nearest(&name, tools.names()) {
                    Some(near) => run(format!("zlaunch help {near}")).meaning(near),
                    None => run("zlaunch help").remark("for a list"),
                };
                let what = format!("zlaunch has no command `{name}`");
                reader.problems.push(
                    Problem::error(Rule::Usage, what)
                        .at(format!("help {name}"))
                        .fix(help),
                );
                String::new()
            }
        };
        reader.answer(move |_: &Host| show(&text))
    }
}
