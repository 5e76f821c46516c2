//! Completions for three shells, made from the same tables as the help: options, launchers, trainers, rules. The names of
//! templates are asked for when they are needed, since a site adds its own.

use std::ffi::OsString;

use crate::cli::{Kind, OPTIONS, Opt};
use crate::error::{self, Problem};
use crate::{check, launcher, trainer};

const USAGE: &str = "zlaunch completions bash|zsh|fish";

/// Words in the place of the first argument.
pub(crate) const COMMANDS: &[(&str, &str)] = &[
    ("check", "Say everything that is wrong or odd about a launch"),
    ("templates", "List the templates, or print one"),
    ("explain", "Say what a key, a variable or a diagnostic means"),
    ("fit", "Tell what a training needs under each template"),
    ("generate", "Write a ready config from a few numbers"),
    ("doctor", "Report what zlaunch sees here"),
    ("replay", "Launch a record again"),
    ("shims", "Install, remove or list PATH shims"),
    ("completions", "Print completions for a shell"),
];

/// Prints the names of all templates: they stand at the beginnings of lines.
const NAMES: &str = "zlaunch templates 2>/dev/null | grep -o '^[^ ][^ ]*'";

/// The script for the shell that is named.
pub(crate) fn script(words: &[OsString]) -> Result<String, Problem> {
    match words {
        [shell] if shell == "bash" => Ok(bash()),
        [shell] if shell == "zsh" => Ok(zsh()),
        [shell] if shell == "fish" => Ok(fish()),
        words => {
            Err(error::unknown_action(USAGE, words.first().and_then(|word| word.to_str()), &["bash", "zsh", "fish"]))
        }
    }
}

/// What may follow an option.
enum Follows {
    Nothing,
    Templates,
    Words(Vec<&'static str>),
    Files,
    Folders,
    Text,
}

fn follows(option: &Opt) -> Follows {
    if option.kind == Kind::Switch {
        return Follows::Nothing;
    }
    match option.name {
        "deepspeed" => Follows::Templates,
        "launcher" => Follows::Words(launcher::Kind::NAMES.iter().map(|(name, _)| *name).collect()),
        "trainer" => Follows::Words(trainer::ALL.iter().map(|trainer| trainer.name).collect()),
        "format" => Follows::Words(vec!["text", "json", "shell"]),
        "allow" => Follows::Words(error::warnings().chain(check::rules().map(|rule| rule.name)).collect()),
        "template-dir" | "log-dir" | "record" => Follows::Folders,
        "patch" | "config-out" | "hostfile" => Follows::Files,
        _ => Follows::Text,
    }
}

fn bash() -> String {
    let mut cases = String::new();
    for option in OPTIONS {
        let reply = match follows(option) {
            Follows::Nothing => continue,
            Follows::Templates => format!("mapfile -t COMPREPLY < <(compgen -W \"$({NAMES})\" -f -- \"$word\")"),
            Follows::Words(words) => format!("mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$word\")", words.join(" ")),
            Follows::Files => "mapfile -t COMPREPLY < <(compgen -f -- \"$word\")".to_string(),
            Follows::Folders => "mapfile -t COMPREPLY < <(compgen -d -- \"$word\")".to_string(),
            Follows::Text => "COMPREPLY=()".to_string(),
        };
        cases += &format!("    --{}) {reply}; return ;;\n", option.name);
    }
    let options: Vec<String> = OPTIONS.iter().map(|option| format!("--{}", option.name)).collect();
    let commands: Vec<&str> = COMMANDS.iter().map(|(name, _)| *name).collect();
    format!(
        "# zlaunch completions for bash
_zlaunch() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} at
    # Behind `--` stands another command.
    for ((at = 1; at < COMP_CWORD; at++)); do
        if [[ ${{COMP_WORDS[at]}} == -- ]]; then
            if declare -F _command_offset >/dev/null; then _command_offset $((at + 1)); fi
            return
        fi
    done
    case $before in
{cases}    templates) mapfile -t COMPREPLY < <(compgen -W \"$({NAMES})\" -- \"$word\"); return ;;
    shims) mapfile -t COMPREPLY < <(compgen -W 'install remove list' -- \"$word\"); return ;;
    completions) mapfile -t COMPREPLY < <(compgen -W 'bash zsh fish' -- \"$word\"); return ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W '{options} --help --version' -- \"$word\")
    else
        mapfile -t COMPREPLY < <(compgen -W '{commands}' -c -- \"$word\")
    fi
}}
complete -o filenames -F _zlaunch zlaunch
",
        options = options.join(" "),
        commands = commands.join(" "),
    )
}

fn zsh() -> String {
    let quoted = |text: &str| text.replace('\'', "'\\''").replace(['[', ']'], "").replace(':', " -");
    let mut specs = String::new();
    for option in OPTIONS {
        let action = match follows(option) {
            Follows::Nothing => String::new(),
            Follows::Templates => "=:template:_zlaunch_templates".to_string(),
            Follows::Words(words) => format!("=:word:({})", words.join(" ")),
            Follows::Files => "=:file:_files".to_string(),
            Follows::Folders => "=:folder:_files -/".to_string(),
            Follows::Text => "=:value: ".to_string(),
        };
        let (mark, rest) = action.split_at(usize::from(action.starts_with('=')));
        let repeated = if option.kind == Kind::Many { "*" } else { "" };
        specs += &format!("        '{repeated}--{}{mark}[{}]{rest}' \\\n", option.name, quoted(option.help));
    }
    let commands: Vec<String> = COMMANDS.iter().map(|(name, about)| format!("'{name}:{}'", quoted(about))).collect();
    format!(
        "#compdef zlaunch
_zlaunch_templates() {{
    compadd -- ${{(f)\"$({NAMES})\"}}
    _files
}}
_zlaunch() {{
    local -a commands
    commands=({commands})
    _arguments -S \\
{specs}        '1: :{{ _describe command commands; _command_names -e }}' \\
        '*:: : _normal'
}}
_zlaunch \"$@\"
",
        commands = commands.join(" "),
    )
}

fn fish() -> String {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('\'', "\\'");
    let mut lines = String::from("# zlaunch completions for fish\n");
    for (name, about) in COMMANDS {
        lines += &format!("complete -c zlaunch -n __fish_use_subcommand -a {name} -d '{}'\n", quoted(about));
    }
    for (command, words) in [
        ("templates", format!("({NAMES})")),
        ("shims", "install remove list".into()),
        ("completions", "bash zsh fish".into()),
    ] {
        lines += &format!("complete -c zlaunch -n '__fish_seen_subcommand_from {command}' -x -a \"{words}\"\n");
    }
    for option in OPTIONS {
        let short = option.short.map(|short| format!(" -s {short}")).unwrap_or_default();
        let action = match follows(option) {
            Follows::Nothing => String::new(),
            Follows::Templates => format!(" -r -a \"({NAMES})\""),
            Follows::Words(words) => format!(" -x -a '{}'", words.join(" ")),
            Follows::Files => " -r -F".to_string(),
            Follows::Folders => " -x -a '(__fish_complete_directories)'".to_string(),
            Follows::Text => " -x".to_string(),
        };
        lines += &format!("complete -c zlaunch{short} -l {} -d '{}'{action}\n", option.name, quoted(option.help));
    }
    lines
}
