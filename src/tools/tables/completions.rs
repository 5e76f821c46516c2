//! What is changed in the scripts that clap writes.

use clap_complete::Shell;

use crate::base::options::Words;

pub const SHELLS: Words<Shell> = || {
    vec![
        ("bash", Shell::Bash),
        ("zsh", Shell::Zsh),
        ("fish", Shell::Fish),
    ]
};

#[derive(Debug)]
pub struct Change {
    pub shell: Shell,
    pub text: &'static str,
    pub instead: &'static str,
}

pub const CHANGES: &[Change] = &[
    // Names of files may have spaces.
    Change {
        shell: Shell::Bash,
        text: "COMPREPLY=($(compgen -f \"${cur}\"))\n",
        instead: "local IFS=$'\\n'\n                    compopt -o filenames 2>/dev/null\n                    COMPREPLY=($(compgen -f \"${cur}\"))\n",
    },
    // The first word is a sub-command or the command that is launched, and not both of them.
    Change {
        shell: Shell::Zsh,
        text: "'::command:_cmdambivalent' \\\n",
        instead: "",
    },
    Change {
        shell: Shell::Zsh,
        text: ":: :_zlaunch_commands",
        instead: ":: :{_zlaunch_commands; _command_names -e}",
    },
    Change {
        shell: Shell::Zsh,
        text: "$line[2]",
        instead: "$line[1]",
    },
    Change {
        shell: Shell::Zsh,
        text: "        case $line[1]",
        instead: "        (( $+functions[_zlaunch__subcmd__${line[1]}_commands] )) || { _normal; return }\n        case $line[1]",
    },
    // An option whose value is being typed does not keep the others from being read.
    Change {
        shell: Shell::Fish,
        text: "\n    or return\n",
        instead: "\n    or return 0\n",
    },
];
