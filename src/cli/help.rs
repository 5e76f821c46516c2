//! `zlaunch -h` and `zlaunch help`: what zlaunch does, on one screen. `--help` has everything.

use clap::Command;
use clap::builder::ValueParser;

use super::args::ParsedArgs;
use super::values;
use crate::base::layout::{Line, TextTable, wrapped};
use crate::base::options::{HELP, MOST_USED, Opt, SUBCOMMANDS};
use crate::host::terminal;
use crate::report::{self, Problem};

const COMMAND: &str = "SUBCOMMAND";

pub(super) fn describe(command: Command) -> Command {
    let argument = clap::Arg::new(COMMAND).value_parser(ValueParser::os_string()).value_name("COMMAND");
    command.arg(argument.help("A command of zlaunch; without one, the overview")).after_help(
        "`zlaunch --help` has every option of a launch, `zlaunch explain` what the keys and variables of DeepSpeed mean.",
    )
}

/// The help of a sub-command, or the overview. `zlaunch` is the whole command line.
pub(super) fn read(mut args: ParsedArgs, mut zlaunch: Command) -> Result<String, Vec<Problem>> {
    let Some(asked) = args.arguments(COMMAND, &HELP, values::text).pop() else {
        return args.finish(overview());
    };
    zlaunch.build();
    let Some(command) = zlaunch.find_subcommand_mut(&asked.value) else {
        let nearest = report::nearest(&asked.value, SUBCOMMANDS.iter().map(|known| known.name));
        return Err(report::no_such_command(&asked.value, nearest).into());
    };
    args.finish(command.render_help().ansi().to_string())
}

pub(super) const FIRST: &str =
    "Turn a training command and the name of a DeepSpeed config into one exact, checked launch";

const USAGE: &str = "zlaunch [OPTIONS] [--] COMMAND [ARGS]...";

const EXAMPLES: &str = "  zlaunch --deepspeed zero3_offload -- swift sft --model Qwen/Qwen3-8B
  zlaunch -n --deepspeed zero2 -- python train.py  # only show it
";

const MORE: &str = "`zlaunch --help` has all options, `zlaunch help COMMAND` those of a command.";

/// One screen, as wide as the terminal.
pub(super) fn overview() -> String {
    let width = terminal::width().map_or(WIDEST, |width| width.min(WIDEST));
    let row = |name: String, about: &str| Line::Wrapped(vec![name, about.to_string()], width);
    let mut commands = TextTable::new(2);
    commands.lines.extend(SUBCOMMANDS.iter().map(|it| row(it.name.to_string(), it.about)));
    let mut options = TextTable::new(2);
    // The first part of what `--help` says.
    let brief = |option: &Opt| option.help.split("; ").next().unwrap_or_default();
    options.lines.extend(MOST_USED.iter().map(|option| row(spelled(option), brief(option))));
    let title = |text: &str| format!("\x1b[1m\x1b[4m{text}:\x1b[0m");
    [
        &wrapped(FIRST, 0, width),
        &format!("\n{} {USAGE}\n", title("Usage")),
        &format!("\n{}\n{EXAMPLES}", title("Examples")),
        &format!("\n{}\n{commands}", title("Commands")),
        &format!("\n{}\n{options}\n", title("Options")),
        &wrapped(MORE, 0, width),
    ]
    .map(String::as_str)
    .concat()
}

/// Longer lines are hard to read.
const WIDEST: usize = 110;

/// `-n, --dry-run`, `    --set KEY=VALUE`.
fn spelled(option: &Opt) -> String {
    let short = option.short.map_or("    ".to_string(), |short| format!("-{short}, "));
    let value = if option.value.is_empty() { String::new() } else { format!(" {}", option.value) };
    format!("{short}{}{value}", option.flag())
}
