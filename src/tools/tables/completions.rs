//! What is changed in the scripts that clap writes.

use clap_complete::Shell;

pub struct Change {
    pub shell: Shell,
    pub text: &'static str,
    /// `{keys}` stands for the keys that `--set` takes, each with a blank before it and `=` behind it.
    pub instead: &'static str,
}

pub const CHANGES: &[Change] = &[
    // A value follows the key without a blank.
    Change {
        shell: Shell::Bash,
        text: "_zlaunch() {\n",
        instead: "_zlaunch_keys='{keys}'\n_zlaunch() {\n",
    },
    Change {
        shell: Shell::Bash,
        text: "--set)\n                    COMPREPLY=($(compgen -f \"${cur}\"))\n",
        instead: "--set)\n                    compopt -o nospace 2>/dev/null\n                    COMPREPLY=($(compgen -W \"${_zlaunch_keys}\" -- \"${cur}\"))\n",
    },
    Change {
        shell: Shell::Zsh,
        text: "\nif [ \"$funcstack[1]\"",
        instead: "\n_zlaunch_keys() {\n    compadd -S '' --{keys}\n}\n\nif [ \"$funcstack[1]\"",
    },
    Change {
        shell: Shell::Zsh,
        text: ":KEY=VALUE:_default",
        instead: ":KEY=VALUE:_zlaunch_keys",
    },
    Change {
        shell: Shell::Fish,
        text: "# Print an optspec",
        instead: "set -g __zlaunch_keys{keys}\n# Print an optspec",
    },
    Change {
        shell: Shell::Fish,
        text: "or else a string' -r\n",
        instead: "or else a string' -r -f -a \"$__zlaunch_keys\"\n",
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
