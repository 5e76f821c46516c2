//! Front ends of scripts, which are recognised by their text, and of commands that take no DeepSpeed config.

use std::{ffi::OsString, path::Path};

use crate::{
    base::vars,
    command::{
        argv::Args,
        front_end::{NoConfig, Variable},
        job::{Job, Trainer},
        run_file,
        script::{
            ScriptKind, ScriptSource, calls, flow::ArgumentFlow, is_text, keyword, made_arguments,
            of_text, script_kind, shown,
        },
        tables::{
            CONFIG_MAKERS, CONFIG_OPTIONS, COUNTS_OF_RANKS, HF_PACKAGES, LIGHTNING_PACKAGES,
            LIGHTNING_TRAINERS, READ_OPTIONS, recognition::Sign,
        },
        target::{ParsedCommand, Target},
    },
    host::Host,
    report::reading,
};

const BY_ACCELERATE: &str = "zlaunch passes the config in ACCELERATE_DEEPSPEED_CONFIG_FILE";

/// The script takes the config by an argument.
fn names_config_option(text: &str) -> bool {
    text.contains("\"--deepspeed") || text.contains("'--deepspeed")
}

/// Front ends that take no DeepSpeed config. `tables/without_config.rs` has them, how they are recognised, and what to do.
pub fn without_config(
    trainer: &'static Trainer,
    command: &ParsedCommand,
    host: &Host,
) -> Option<Job> {
    let script = command.source(host);
    let has = |sign: &Sign| match sign {
        Sign::Console(first) => {
            trainer.is_console(&command.target)
                && first.is_none_or(|first| command.args.first().is_some_and(|word| word == first))
        }
        Sign::Modules(modules) => modules.iter().any(|name| command.target.is_module(name)),
        Sign::Imports(modules) => script.is_some_and(|script| script.imports(modules)),
        Sign::Text { has, unless } => {
            script.is_some_and(|script| script.text.contains(has) && !script.text.contains(unless))
        }
    };
    let refusal = trainer
        .config
        .refusals
        .iter()
        .find(|refusal| refusal.signs.iter().any(has))?;
    let program = command.target.name();
    let subject = match command.args.first() {
        Some(first) if trainer.is_console(&command.target) => {
            format!("`{program} {}`", first.to_string_lossy())
        }
        _ => format!("`{program}`"),
    };
    let why = format!("{subject} {}", refusal.why);
    Some(Job {
        no_config: Some(NoConfig::new(why, refusal.help)),
        ..Job::of(trainer, command, host)
    })
}

/// Scripts with a loop of their own and accelerate's `Accelerator`, which finds the config in the variables that
/// `accelerate launch` sets, and fills "auto" when the script calls `prepare`.
pub fn accelerate(trainer: &'static Trainer, command: &ParsedCommand, host: &Host) -> Option<Job> {
    let source = command.source(host)?;
    let text = source.text.as_str();
    if !source.imports(&["accelerate"])
        || calls(text, "Accelerator").is_empty()
        || of_text(text) == ScriptKind::Hf
        || names_config_option(text)
    {
        return None;
    }
    let no_config = calls(text, "DeepSpeedPlugin")
        .into_iter()
        .find_map(|call| keyword(call, "hf_ds_config"))
        .map(|config| {
            let call = format!("DeepSpeedPlugin(hf_ds_config={})", shown(config));
            NoConfig::new(
                format!("the script passes its own config to accelerate: {call}"),
                format!("remove hf_ds_config from the script: {BY_ACCELERATE}"),
            )
        });
    Some(Job {
        no_config,
        ..Job::of(trainer, command, host)
    })
}

/// Scripts that make their `TrainingArguments` (or TRL's `SFTConfig`, …) in code, as Unsloth's do, and name no config there.
/// An argument would reach nothing: transformers finds the config in the variables that `accelerate launch` sets.
pub fn in_code(trainer: &'static Trainer, command: &ParsedCommand, host: &Host) -> Option<Job> {
    let source = command
        .source(host)
        .filter(|source| source.imports(HF_PACKAGES))?;
    let text = source.text.as_str();
    let made = made_arguments(text);
    let mut words = command.args.iter().map(|word| word.to_string_lossy());
    if made.is_empty()
        || !text.contains("Trainer(")
        || words.any(|word| word.starts_with("--deepspeed"))
    {
        return None;
    }
    let named = made
        .iter()
        .find_map(|call| keyword(call, "deepspeed"))
        .filter(|config| *config != "None");
    let no_config = match named {
        None if may_name_config(source, &made, command, host) => return None,
        None => None,
        Some(config) if is_text(config) || config.starts_with('{') => {
            let config = shown(config);
            Some(NoConfig::new(
                format!("the script sets its own config: deepspeed={config}"),
                format!("remove it from the script: {BY_ACCELERATE}"),
            ))
        }
        // It comes from an argument of the script.
        Some(_) => return None,
    };
    // Its arguments mean what the script makes of them, so none is read.
    Some(Job {
        effective_words: Some(vec![]),
        no_config,
        ..Job::of(trainer, command, host)
    })
}

/// The script may take a config by an option, or find one in what it unpacks (`TrainingArguments(**settings)`).
fn may_name_config(
    source: &ScriptSource,
    made: &[&str],
    command: &ParsedCommand,
    host: &Host,
) -> bool {
    let unpacks = made.iter().any(|call| call.contains("**"));
    let flow = ArgumentFlow::read(source);
    if flow.overrides("deepspeed").is_some() {
        return true;
    }
    let options = CONFIG_OPTIONS.iter().map(|name| flow.has_option(name));
    let Some(options) = options.collect::<Option<Vec<bool>>>() else {
        // The parser is not seen, so any line that mentions DeepSpeed may be about a config.
        let mut lines = source.text.lines();
        let is_code = |line: &str| !line.trim_start().starts_with('#');
        return unpacks || lines.any(|line| line.contains("deepspeed") && is_code(line));
    };
    // A file that the command names may have the key `deepspeed`.
    let has_key = |word: &OsString| {
        let path = Path::new(word);
        let text = run_file::is_one(path).then(|| reading::text_if_any(&host.absolute(path)));
        text.flatten()
            .is_some_and(|text| text.contains("deepspeed"))
    };
    options.contains(&true)
        || unpacks
            && (source.mentions("\"deepspeed\"")
                || source.mentions("'deepspeed'")
                || command.args.iter().any(has_key))
}

/// Scripts that call `deepspeed.initialize` themselves, with `--deepspeed_config FILE` as `DeepSpeed`'s
/// `add_config_arguments` defines it, or a `--deepspeed FILE` of their own. Nothing fills an "auto" after zlaunch.
/// Recognised by what the script calls, or by its arguments where that is not seen.
pub fn deepspeed(trainer: &'static Trainer, command: &ParsedCommand, host: &Host) -> Option<Job> {
    if matches!(command.target, Target::Program(_)) {
        return None;
    }
    let given = Args::read(command.args.clone(), &[]);
    let named = ["deepspeed_config", "deepspeed"]
        .iter()
        .any(|name| given.text(name).is_some());
    let source = command.source(host).map(|source| &**source);
    let asked = if named { None } else { source };
    let no_config = asked.and_then(makes_config);
    let is_raw = match source.map_or(ScriptKind::Unknown, script_kind) {
        _ if no_config.is_some() => true,
        ScriptKind::RawDeepSpeed => true,
        ScriptKind::Hf => false,
        ScriptKind::Unknown => given.is_given("deepspeed_config") || given.is_bare("deepspeed"),
    };
    let own_option = asked
        .filter(|it| {
            !it.mentions("add_config_arguments") && !it.mentions_option("deepspeed_config")
        })
        .and_then(|source| {
            CONFIG_OPTIONS
                .iter()
                .find(|name| source.mentions_option(name))
        });
    is_raw.then(|| Job {
        config_option: own_option.map(ToString::to_string),
        no_config,
        ..Job::of(trainer, command, host)
    })
}

/// The script makes the config for `deepspeed.initialize` itself: DeepSpeed refuses `--deepspeed_config` beside it.
fn makes_config(source: &ScriptSource) -> Option<NoConfig> {
    let text = source.text.as_str();
    let maker = CONFIG_MAKERS
        .iter()
        .copied()
        .find(|maker| !calls(text, maker).is_empty());
    // The script may read a file that an option names all the same. `--deepspeed` is often a switch.
    let by_option = CONFIG_OPTIONS[1..]
        .iter()
        .any(|name| source.mentions_option(name));
    if text.contains("args.deepspeed_config") || by_option && maker.is_none() {
        return None;
    }
    let made = calls(text, "deepspeed.initialize")
        .into_iter()
        .filter_map(|call| keyword(call, "config").or_else(|| keyword(call, "config_params")))
        .find(|config| {
            let is = |value: &&str| {
                [" = ", "="]
                    .iter()
                    .any(|sign| text.contains(&format!("{config}{sign}{value}")))
            };
            config.starts_with(['{', '"', '\'']) || ["{"].iter().chain(CONFIG_MAKERS).any(is)
        });
    let config = shown(made.or(maker)?);
    Some(NoConfig::new(
        format!("the script passes a config of its own to deepspeed.initialize: config={config}"),
        format!("drop it and use the script's own options, or change {config} in the script"),
    ))
}

/// Lightning and Fabric. The script chooses the strategy, and `DeepSpeedStrategy` takes the config that
/// PL_DEEPSPEED_CONFIG_PATH names, unless the script gives it one. Ranks of torchrun are accepted as they are.
pub fn lightning(trainer: &'static Trainer, command: &ParsedCommand, host: &Host) -> Option<Job> {
    let text = command
        .source(host)
        .filter(|it| it.imports(LIGHTNING_PACKAGES))?
        .text
        .as_str();
    let trainers: Vec<&str> = LIGHTNING_TRAINERS
        .iter()
        .flat_map(|name| calls(text, name))
        .collect();
    // A script that takes the config by an argument sets the variable itself.
    if trainers.is_empty() || names_config_option(text) || text.contains("TrainingArguments") {
        return None;
    }
    let own = calls(text, "DeepSpeedStrategy")
        .into_iter()
        .find_map(|call| keyword(call, "config"))
        .map(shown);
    let in_code = own.map(|config| {
        NoConfig::new(
            format!("the script passes its own config to the strategy: DeepSpeedStrategy(config={config})"),
            "write DeepSpeedStrategy() in the script: zlaunch passes the config in PL_DEEPSPEED_CONFIG_PATH",
        )
    });
    let no_config = in_code.or_else(|| other_strategy(text, &trainers, &command.args));
    let variables = processes(&trainers, host).into_iter().collect();
    Some(Job {
        variables,
        no_config,
        ..Job::of(trainer, command, host)
    })
}

/// Lightning refuses another number of ranks than the script says.
fn processes(trainers: &[&str], host: &Host) -> Option<Variable> {
    let given = |name| trainers.iter().find_map(|call| keyword(call, name));
    let devices = given("devices")?
        .parse::<u32>()
        .ok()
        .filter(|count| *count > 0)?;
    let several_machines = given("num_nodes").is_some_and(|nodes| nodes != "1");
    if several_machines
        || COUNTS_OF_RANKS
            .iter()
            .any(|name| host.nonempty_var(name).is_some())
    {
        return None;
    }
    Some(Variable::new(
        vars::NPROC_PER_NODE,
        devices.to_string(),
        format!("devices={devices} in the script"),
    ))
}

/// Another strategy reads no config. One that is not written out may be DeepSpeed's.
fn other_strategy(text: &str, trainers: &[&str], words: &[OsString]) -> Option<NoConfig> {
    let is_deepspeed = |text: &str| text.to_lowercase().contains("deepspeed");
    let named = trainers.iter().find_map(|call| keyword(call, "strategy"));
    let reads_options = |name: &&str| !calls(text, name).is_empty();
    if is_deepspeed(text)
        || words
            .iter()
            .any(|word| is_deepspeed(&word.to_string_lossy()))
        || named.is_some_and(|value| !is_text(value))
        || READ_OPTIONS.iter().any(reads_options)
    {
        return None;
    }
    let strategy = named.map_or("its default strategy".to_string(), |value| {
        format!("strategy={value}")
    });
    Some(NoConfig::new(
        format!("the script uses {strategy}, which reads no DeepSpeed config"),
        "write strategy=\"deepspeed\" in the script: zlaunch passes the config in PL_DEEPSPEED_CONFIG_PATH",
    ))
}
