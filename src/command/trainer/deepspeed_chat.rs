//! DeepSpeed-Chat's scripts, and others that hand `deepspeed.initialize` a config of their own making. DeepSpeed refuses
//! `--deepspeed_config` beside it.

use super::{deepspeed, hf};
use crate::command::front_end::NoConfig;
use crate::command::job::{Job, Trainer};
use crate::command::script::signs::{calls, is_text, keyword, shown};
use crate::command::target::ParsedCommand;
use crate::host::Host;

pub(crate) const TRAINER: Trainer = Trainer { name: "deepspeed_chat", recognise, ..deepspeed::TRAINER };

fn recognise(command: &ParsedCommand, host: &Host) -> Option<Job> {
    let source = command.source(host).filter(|source| source.text.contains("deepspeed"))?;
    let text = source.text.as_str();
    // An argument for it, or one that the command gives, may be read all the same. `--deepspeed` is often a switch.
    let by_argument = hf::config_options().skip(1).any(|name| source.mentions_option(name));
    let is_given = command.args.iter().any(|word| word.to_string_lossy().starts_with("--deepspeed_config"));
    let maker = MAKERS.iter().copied().find(|maker| calls(text, maker).next().is_some());
    if is_given || by_argument && maker.is_none() || text.contains("args.deepspeed_config") {
        return None;
    }
    let made = calls(text, "deepspeed.initialize").find_map(|call| made_in_code(text, call));
    let made = made.or(maker)?;
    let option = ["--zero_stage", "--stage", "--zero-stage"].into_iter().find(|option| text.contains(option));
    let help = match option {
        Some(option) => format!("drop it and use the script's own option: {option} 3"),
        None => format!(
            "drop it, or change {} in the script; deepspeed.initialize(args=args) takes a config from zlaunch",
            shown(made)
        ),
    };
    let why = format!("the script hands deepspeed.initialize a config that it makes itself: config={}", shown(made));
    Some(Job { no_config: Some(NoConfig::new(why, help)), ..Job::of(&TRAINER, command) })
}

/// The functions by which DeepSpeed-Chat and Safe-RLHF make the config. A module of theirs may hand it over.
const MAKERS: [&str; 2] = ["get_train_ds_config", "get_deepspeed_train_config"];

/// The config of such a call, where the script writes it or has it made by such a function.
fn made_in_code<'a>(text: &str, call: &'a str) -> Option<&'a str> {
    let config = keyword(call, "config").or_else(|| keyword(call, "config_params"))?;
    let assigned =
        |value: &str| text.contains(&format!("{config} = {value}")) || text.contains(&format!("{config}={value}"));
    let made =
        config.starts_with('{') || is_text(config) || assigned("{") || MAKERS.iter().any(|maker| assigned(maker));
    made.then_some(config)
}
