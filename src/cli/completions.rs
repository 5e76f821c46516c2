//! Completions for three shells: a script for each in `completions/`, with its `@PLACES@` filled from the same tables as the
//! help: options, launchers, trainers, rules. The names of templates are asked for when they are needed, since a site adds
//! its own.

use std::ffi::OsString;

use crate::base::options::{Arity, COMMANDS, FIT, FIT_LAUNCH, GENERATE, OPTIONS, Opt};
use crate::check;
use crate::command::trainer;
use crate::fit::{Dtype, Optimizer};
use crate::ranks::launcher;
use crate::report::{self, Problem};

const USAGE: &str = "zlaunch completions bash|zsh|fish";

/// The script for the shell that is named.
pub(crate) fn script(words: &[OsString]) -> Result<String, Problem> {
    match words {
        [shell] if shell == "bash" => Ok(bash()),
        [shell] if shell == "zsh" => Ok(zsh()),
        [shell] if shell == "fish" => Ok(fish()),
        words => {
            Err(report::unknown_action(USAGE, words.first().and_then(|word| word.to_str()), &["bash", "zsh", "fish"]))
        }
    }
}

/// What may follow an option.
enum Follows {
    Nothing,
    Config,
    Templates,
    Words(Vec<&'static str>),
    /// Of a plan; a report is nothing to run, so it has no shell.
    Formats,
    Files,
    Folders,
    /// A folder, or `auto`.
    Record,
    Text,
}

fn follows(option: &Opt) -> Follows {
    if option.kind == Arity::Switch {
        return Follows::Nothing;
    }
    match option.name {
        "deepspeed" => Follows::Config,
        "from" => Follows::Templates,
        "launcher" => Follows::Words(launcher::Launcher::NAMES.iter().map(|(name, _)| *name).collect()),
        "trainer" => Follows::Words(trainer::ALL.iter().map(|trainer| trainer.name).collect()),
        "format" => Follows::Formats,
        "allow" => Follows::Words(check::allowable()),
        "tuner" => Follows::Words(vec!["full", "lora", "qlora"]),
        "quant-bits" => Follows::Words(vec!["4", "8"]),
        "stage" => Follows::Words(vec!["0", "1", "2", "3"]),
        "dtype" => Follows::Words(Dtype::NAMES.iter().map(|(name, _)| *name).collect()),
        "optimizer" => Follows::Words(Optimizer::ALL.iter().map(|optimizer| optimizer.name).collect()),
        "gradient-checkpointing" => Follows::Words(vec!["true", "false"]),
        "attention" => Follows::Words(vec!["flash", "sdpa", "eager"]),
        "accounting" => Follows::Words(vec!["real", "textbook"]),
        "record" => Follows::Record,
        "template-dir" | "log-dir" | "model" => Follows::Folders,
        "patch" | "config-out" | "hostfile" | "out" => Follows::Files,
        _ => Follows::Text,
    }
}

/// The options in each place; `check` and `doctor` take those of a launch.
fn places() -> [(&'static str, Vec<&'static Opt>); 4] {
    let launch = |names: &'static [&str]| OPTIONS.iter().filter(|option| names.contains(&option.name));
    [
        ("launch check doctor", OPTIONS.iter().collect()),
        ("fit", FIT.iter().chain(launch(FIT_LAUNCH)).collect()),
        ("generate", GENERATE.iter().chain(launch(&["template-dir"])).collect()),
        ("templates explain", launch(&["template-dir"]).collect()),
    ]
}

/// Every option of any place, once.
fn options() -> Vec<&'static Opt> {
    let mut options: Vec<&Opt> = Vec::new();
    for option in places().into_iter().flat_map(|(_, options)| options) {
        if options.iter().all(|known| known.name != option.name) {
            options.push(option);
        }
    }
    options
}

/// The options after which a value stands, as they are written.
fn valued(between: &str) -> String {
    let written = |option: &&Opt| std::iter::once(option.name).chain(option.aliases.iter().copied());
    let valued = options().into_iter().filter(|option| option.kind != Arity::Switch);
    let spellings: Vec<String> =
        valued.flat_map(|option| written(&option).map(|name| format!("--{name}")).collect::<Vec<_>>()).collect();
    spellings.join(between)
}

fn names(between: &str) -> String {
    COMMANDS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(between)
}

fn bash() -> String {
    let mut values = String::new();
    for option in options() {
        let reply = match follows(option) {
            Follows::Nothing => continue,
            Follows::Config => "_zlaunch_reply -W \"auto $(_zlaunch_templates)\" -f".to_string(),
            Follows::Templates => "_zlaunch_reply -W \"$(_zlaunch_templates)\"".to_string(),
            Follows::Words(words) => format!("_zlaunch_reply -W '{}'", words.join(" ")),
            Follows::Formats => "_zlaunch_reply -W \"$formats\"".to_string(),
            Follows::Files => "_zlaunch_reply -f".to_string(),
            Follows::Folders => "_zlaunch_reply -d".to_string(),
            Follows::Record => "_zlaunch_reply -W auto -d".to_string(),
            Follows::Text => String::new(),
        };
        let short = option.short.map(|short| format!(" | -{short}")).unwrap_or_default();
        let (option, stop) = (option.name, if reply.is_empty() { "return" } else { "; return" });
        values += &format!("    --{option}{short}) {reply}{stop} ;;\n");
    }
    let mut lists = String::new();
    for (place, options) in places() {
        let words: Vec<String> = options.iter().map(|option| format!("--{}", option.name)).collect();
        let more = match place {
            "launch check doctor" => " --help --version",
            "templates explain" => " --raw --help",
            _ => " --help",
        };
        lists += &format!("        {}) _zlaunch_reply -W '{}{more}' ;;\n", place.replace(' ', " | "), words.join(" "));
    }
    include_str!("completions/zlaunch.bash")
        .replace("@VALUED@", &valued(" | "))
        .replace("@VALUES@", &values)
        .replace("@OPTIONS@", &lists)
        .replace("1:@COMMANDS@", &format!("1:{}", names(" | 1:")))
        .replace("@SUBCOMMANDS@", &names(" "))
}

fn zsh() -> String {
    let quoted = |text: &str| text.replace('\'', "'\\''").replace(['[', ']'], "").replace(':', "\\:");
    let spec = |option: &Opt| {
        let action = match follows(option) {
            Follows::Nothing => "",
            Follows::Config => ":config:_zlaunch_config",
            Follows::Templates => ":template:_zlaunch_templates",
            Follows::Words(words) => &format!(":word:({})", words.join(" ")),
            Follows::Formats => ":format:_zlaunch_formats",
            Follows::Files => ":file:_files",
            Follows::Folders => ":folder:_files -/",
            Follows::Record => ":folder:_zlaunch_record",
            Follows::Text => ":value: ",
        };
        let equals = if option.kind == Arity::Switch { "" } else { "=" };
        let (name, help) = (option.name, quoted(option.help));
        let (once, spellings) = match (option.short, option.kind) {
            (Some(short), Arity::Switch) => (format!("(-{short} --{name})"), format!("'{{-{short},--{name}}}'")),
            (Some(short), _) => (format!("(-{short} --{name})"), format!("'{{-{short}+,--{name}=}}'")),
            (None, Arity::Many) => ("*".to_string(), format!("--{name}=")),
            (None, _) => (String::new(), format!("--{name}{equals}")),
        };
        // Understood, but not offered.
        let others = option.aliases.iter().map(|alias| format!("            '!--{alias}{equals}{action}' \\\n"));
        format!("            '{once}{spellings}[{help}]{action}' \\\n{}", others.collect::<String>())
    };
    let mut script = include_str!("completions/zlaunch.zsh").to_string();
    for ((_, options), mark) in places().into_iter().zip(["@LAUNCH@", "@FIT@", "@GENERATE@", "@TEMPLATES@"]) {
        let specs: String = options.into_iter().map(spec).collect();
        script = script.replace(mark, &specs);
    }
    let commands = COMMANDS.iter().map(|(name, about)| format!("        '{name}:{}'\n", quoted(about)));
    script.replace("@COMMANDS@", &commands.collect::<String>()).replace("@NAMES@", &names("|"))
}

fn fish() -> String {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('\'', "\\'");
    let mut script =
        include_str!("completions/zlaunch.fish").replace("@VALUED@", &valued(" ")).replace("@NAMES@", &names(" "));
    for (name, about) in COMMANDS {
        script += &format!("complete -c zlaunch -n __zlaunch_first -a {name} -d '{}'\n", quoted(about));
    }
    for (place, options) in places() {
        for option in options {
            let short = option.short.map(|short| format!(" -s {short}")).unwrap_or_default();
            let action = match follows(option) {
                Follows::Nothing => String::new(),
                Follows::Config => " -r -F -a 'auto (__zlaunch_templates)'".to_string(),
                Follows::Templates => " -x -a '(__zlaunch_templates)'".to_string(),
                Follows::Words(words) => format!(" -x -a '{}'", words.join(" ")),
                Follows::Formats => " -x -a '(__zlaunch_formats)'".to_string(),
                Follows::Files => " -r -F".to_string(),
                Follows::Folders => " -x -a '(__fish_complete_directories)'".to_string(),
                Follows::Record => " -x -a 'auto (__fish_complete_directories)'".to_string(),
                Follows::Text => " -x".to_string(),
            };
            let (name, help) = (option.name, quoted(option.help));
            script += &format!("complete -c zlaunch -n '__zlaunch_at {place}'{short} -l {name} -d '{help}'{action}\n");
        }
    }
    script
}
