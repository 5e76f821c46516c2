//! The command line of a launcher that the user's command may start with, as a table, and how it is parsed.

use std::ffi::OsString;

use super::context::{LaunchContext, Launcher};
use crate::base::recorded::Table;
use crate::base::source::{Source, Sourced};
use crate::command::argv::{Args, Nargs, OptionList, is_value, option_name};
use crate::command::target::{base_name, is_python, is_script, of_python};
use crate::host::Host;
use crate::ranks::topology::RankFlags;

pub(super) const RANK_OPTIONS: [&str; 5] = [
    "nproc-per-node",
    "nnodes",
    "node-rank",
    "master-addr",
    "master-port",
];

pub(crate) struct LauncherSpec {
    pub(crate) launcher: Launcher,
    /// Console scripts, each with the sub-command that it needs.
    pub(super) programs: &'static [(&'static str, Option<&'static str>)],
    /// The same for modules. An interpreter runs it by the first.
    pub(super) modules: &'static [(&'static str, Option<&'static str>)],
    /// All of its options, one a line, as recorded in `src/recorded`.
    pub(super) options: &'static str,
    pub(super) short_options: &'static [(&'static str, &'static str)],
    /// Its own options for our `RANK_OPTIONS`, in the same order.
    pub(super) rank_options: [&'static str; 5],
    pub(super) count_options: &'static [&'static str],
    pub(super) count_meaning: CountMeaning,
    /// Adds how many processes on how many machines its flags, variables and files state.
    pub(super) counts: fn(RankFlags, &Args, &Host) -> RankFlags,
    /// It needs no number of this machine, because the machines are numbered when they meet, or started from here.
    pub(super) numbers_machines: fn(&Args, &Host) -> bool,
}

/// A command that starts with it.
pub(crate) struct ExistingLauncher {
    pub(crate) spec: &'static LauncherSpec,
    /// `torchrun`, `python -m torch.distributed.run`, `accelerate launch`.
    pub(crate) name: String,
    pub(super) program: Vec<OsString>,
    pub(super) flags: Vec<OsString>,
    pub(super) args: Args,
    /// `python` between the launcher and the script, by mistake. The other fields leave it out.
    pub(super) second_python: String,
    /// `python` or `python -m`, if `behind` needs one of them to run without the launcher.
    pub(super) interpreter: Vec<OsString>,
    pub(super) behind: Vec<OsString>,
}

/// The meaning of a launcher's number of processes.
#[derive(Clone, Copy)]
pub(super) enum CountMeaning {
    PerNode,
    /// Words such as `gpu` are allowed.
    PerNodeOrWord,
    Total,
}

impl LauncherSpec {
    pub(super) fn count_program_words(&self, command: &[OsString]) -> Option<usize> {
        let (used, sub_command) = self.named_by(command)?;
        match sub_command {
            Some(word) => (command.get(used)? == word).then_some(used + 1),
            None => Some(used),
        }
    }

    /// Counts the words that name it: the console script (with `python` in front of it or not), the module or its file. Also
    /// returns the sub-command that must follow.
    pub(super) fn named_by(&self, command: &[OsString]) -> Option<(usize, Option<&'static str>)> {
        let first = command.first()?;
        if !is_python(first) {
            let (_, sub_command) = self
                .programs
                .iter()
                .find(|(program, _)| *program == base_name(first))?;
            return Some((1, *sub_command));
        }
        let (target, used) = of_python(&command[1..])?;
        let program = self
            .programs
            .iter()
            .find(|(program, _)| target.is_console(program));
        let (_, sub_command) = program.or_else(|| {
            self.modules
                .iter()
                .find(|(module, _)| target.is_module(module))
        })?;
        Some((used + 1, *sub_command))
    }

    pub(super) fn words(&self, context: &LaunchContext<'_>) -> Vec<OsString> {
        let script = self
            .programs
            .iter()
            .find(|(_, sub_command)| sub_command.is_none())
            .map(|(script, _)| *script);
        context.launcher_words(script, self.modules[0].0)
    }

    pub(super) fn parse(&self, flags: &[OsString]) -> Args {
        // `-i VALUE` and `-iVALUE` mean `--include VALUE`.
        let long = flags.iter().flat_map(|flag| {
            let text = flag.to_str().unwrap_or_default();
            match self
                .short_options
                .iter()
                .find(|(short, _)| text.starts_with(short))
            {
                Some((short, name)) if text.len() > short.len() => {
                    vec![
                        format!("--{name}").into(),
                        OsString::from(&text[short.len()..]),
                    ]
                }
                Some((_, name)) => vec![format!("--{name}").into()],
                None => vec![flag.clone()],
            }
        });
        let lines = self.options.lines();
        let fields = lines.map(|line| {
            (
                option_name(line),
                if is_switch(line) {
                    Nargs::Nothing
                } else {
                    Nargs::One
                },
            )
        });
        Args::read(
            long.collect(),
            &fields.collect::<Vec<_>>(),
            OptionList::Known(&[Table(self.options)]),
        )
    }

    pub(super) fn rank_flags(&self, args: &Args, host: &Host) -> RankFlags {
        let [_, _, node_rank, master_addr, master_port] = self.rank_options;
        let stated = RankFlags {
            node_rank: count(args, node_rank),
            master_addr: args.text(master_addr),
            master_port: count(args, master_port),
            ..RankFlags::default()
        };
        (self.counts)(stated, args, host)
    }

    /// The flags at the start of these words, each with its value. An unexpanded `$FLAGS` stands for flags, not for the script.
    pub(super) fn split_flags<'w>(&self, mut words: &'w [OsString]) -> Vec<&'w [OsString]> {
        let mut flags = Vec::new();
        while let Some(word) = words.first().and_then(|word| word.to_str())
            && word.starts_with(['-', '$'])
            && word != "--"
        {
            let count = if self.takes_value(word, words.get(1)) {
                words.len().min(2)
            } else {
                1
            };
            let (flag, rest) = words.split_at(count);
            flags.push(flag);
            words = rest;
        }
        flags
    }

    /// The flags that it does not have, each with its value.
    pub(super) fn unknown_flags<'w>(
        &self,
        words: &'w [OsString],
    ) -> impl Iterator<Item = &'w [OsString]> {
        self.split_flags(words)
            .into_iter()
            .filter(|flag| !flag[0].to_str().is_some_and(|word| self.has_flag(word)))
    }

    fn has_flag(&self, word: &str) -> bool {
        let Some(name) = word
            .split('=')
            .next()
            .unwrap_or_default()
            .strip_prefix("--")
        else {
            return word.starts_with('$')
                || self
                    .short_options
                    .iter()
                    .any(|(short, _)| word.starts_with(short));
        };
        // DeepSpeed's runner takes no dashes inside a name, and accelerate no abbreviations.
        let name = name.replace(
            '-',
            if self.launcher == Launcher::Deepspeed {
                "-"
            } else {
                "_"
            },
        );
        let is_whole = self.launcher == Launcher::Existing("accelerate");
        self.options.lines().any(|line| {
            if is_whole {
                option_name(line) == name
            } else {
                line.starts_with(&name)
            }
        })
    }

    fn takes_value(&self, word: &str, next: Option<&OsString>) -> bool {
        let name = match word.strip_prefix("--") {
            Some(name) if name.contains('=') => return false,
            Some(name) => name.replace('-', "_"),
            None => match self.short_options.iter().find(|(short, _)| *short == word) {
                Some((_, name)) => name.to_string(),
                None => return false,
            },
        };
        let exact = self.options.lines().find(|line| option_name(line) == name);
        match exact.or_else(|| self.options.lines().find(|line| line.starts_with(&name))) {
            Some(line) => !is_switch(line) && next.is_none_or(|next| is_value(next)),
            // An option of another version. A script after it is more likely the script than a value.
            None => next
                .is_some_and(|next| !is_script(next) && !next.as_encoded_bytes().starts_with(b"-")),
        }
    }
}

pub(super) fn is_switch(line: &str) -> bool {
    line.ends_with('!')
}

pub(super) fn count<T: TryFrom<i64>>(args: &Args, name: &str) -> Option<Sourced<T>> {
    let number = args.int(name).ok().flatten()?;
    Some(Sourced::new(T::try_from(number.value).ok()?, number.from))
}

/// `--name value` for each option that has a value.
pub(super) fn option_words<V: Into<OsString>>(
    options: impl IntoIterator<Item = (&'static str, Option<V>)>,
) -> impl Iterator<Item = OsString> {
    let given = options
        .into_iter()
        .filter_map(|(name, value)| Some([format!("--{name}").into(), value?.into()]));
    given.flatten()
}

pub(super) fn default<T>(value: T) -> Sourced<T> {
    Sourced::new(value, Source::Default)
}
