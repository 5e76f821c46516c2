//! Judgements about the command as a whole: what zlaunch does not recognize, cannot see through, or leaves without effect.

use std::ffi::{OsStr, OsString};

use crate::base::options::{flag, launch_option, takes_value};
use crate::base::shell;
use crate::command::prefix::Prefix;
use crate::command::prefix::program::Barrier;
use crate::command::target::base_name;
use crate::command::trainer;
use crate::ranks::topology::Topology;
use crate::report::fix::run;
use crate::report::{self, Place, Problem, Rule};
use crate::request::Launch;
use crate::request::understood::UnderstoodLaunch;

impl UnderstoodLaunch<'_> {
    /// `--nproc-per-node` for a command that runs as one process.
    pub(crate) fn ranks_without_effect(&self) -> Option<Problem> {
        let job = &self.job;
        let has_launcher = job.trainer.launch.has_own_launcher
            || self.launch.launcher.is_some()
            || self.existing_launcher.is_some();
        // That the program is missing, or takes no config, is the more useful message.
        let is_refused = job.blocker.is_some() || self.launch.deepspeed.is_some();
        if !job.trainer.is_passthrough() || has_launcher || is_refused {
            return None;
        }
        let asked = self.launch.topology.nproc_per_node.as_ref()?;
        let help = if job.starts_ranks || job.no_config.is_some() {
            "its own launcher decides this: give it the option, or drop the launcher's options"
        } else {
            "use --launcher torchrun to start it several times, or --trainer hf or deepspeed if it is a training command"
        };
        let what = format!(
            "`{}` runs once, unchanged, so {} has no effect",
            job.target.name(),
            asked.from
        );
        Some(
            Problem::warning(Rule::RanksWithoutEffect, what)
                .at(&asked.from)
                .fix(help),
        )
    }

    /// Problems of a command that no front end knows, or of a prefix behind which zlaunch cannot go or look.
    pub(crate) fn not_understood(&self) -> Vec<Problem> {
        if let Some(prefix) = self.prefix() {
            return self.not_seen_through(prefix).into_iter().collect();
        }
        let Launch {
            trainer: named,
            launcher,
            deepspeed,
            ..
        } = self.launch;
        // A config for such a command is an error of its own.
        let on_purpose =
            named.is_some() || launcher.as_ref().is_some_and(|asked| asked.from.is_flag());
        if self.job.trainer.name != trainer::PASSTHROUGH || on_purpose || deepspeed.is_some() {
            return Vec::new();
        }
        let first = self
            .launch
            .command
            .first()
            .map_or(OsStr::new(""), OsString::as_os_str);
        let (program, line) = (base_name(first), self.right_order());
        let places = self.several_machines(trainer::is_console(first));
        if !places.is_empty() {
            let what = format!(
                "zlaunch does not recognize `{program}`, so it cannot start it on several machines"
            );
            let problem = Problem::error(Rule::NotUnderstood, what);
            return vec![places.into_iter().fold(problem, Problem::at).fix(line)];
        }
        // A missing program is the more useful message.
        if self.job.blocker.is_some() {
            return Vec::new();
        }
        let what = format!(
            "zlaunch does not recognize `{program}` as a training command: it runs unchanged and unchecked"
        );
        vec![
            Problem::warning(Rule::NotUnderstood, what)
                .at(program)
                .fix(line),
        ]
    }

    /// `-n` behind the command, if the training does not know it.
    pub(crate) fn dry_run_behind(&self) -> Option<Problem> {
        const DRY_RUN: &[&str] = &["-n", "--dry-run", "--dry_run"];
        let words = self.job.command_line();
        let at = words
            .iter()
            .position(|word| DRY_RUN.iter().any(|flag| word == flag))?;
        // An option with a value is another one.
        let alone = words
            .get(at + 1)
            .is_none_or(|next| next.as_encoded_bytes().starts_with(b"-"));
        let known = || match &self.job.source {
            Some(source) => ["-n\"", "-n'", "dry-run", "dry_run"]
                .iter()
                .any(|word| source.mentions(word)),
            None => !self.job.rewritten,
        };
        if !alone || self.launch.output.only_shows() || !self.is_understood() || known() {
            return None;
        }
        let word = words[at].to_string_lossy();
        let rest: Vec<OsString> = self
            .launch
            .command
            .iter()
            .filter(|word| **word != words[at])
            .cloned()
            .collect();
        let mut line = self.launch.words_with(&[], &rest);
        line.insert(1, "-n".into());
        Some(report::dry_run_behind(&word, &shell::text(&line)))
    }

    /// The line with these options of ours moved in front of the command; `--` is left out.
    pub(crate) fn with_options_in_front(&self, flags: &[String]) -> String {
        let (mut moved, mut rest) = (Vec::new(), Vec::new());
        let mut words = self.launch.command.iter().cloned().peekable();
        while let Some(word) = words.next() {
            let text = word.to_string_lossy();
            let option = text
                .strip_prefix("--")
                .and_then(launch_option)
                .filter(|option| flags.contains(&flag(option)));
            let takes_next = option.is_some_and(takes_value) && !text.contains('=');
            if word == "--" && flags.contains(&"--".to_string()) {
                continue;
            }
            let target = if option.is_some() {
                &mut moved
            } else {
                &mut rest
            };
            target.push(word);
            target.extend(takes_next.then(|| words.next()).flatten());
        }
        shell::text(&self.launch.words_with(&moved, &rest))
    }

    /// The places that ask for several machines. A console script may run once in a job of several machines.
    fn several_machines(&self, is_console: bool) -> Vec<Place> {
        let Launch {
            topology: flags,
            hosts,
            ..
        } = self.launch;
        let nnodes = flags
            .nnodes
            .as_ref()
            .filter(|nnodes| nnodes.from.is_flag() && nnodes.value > 1);
        let node_rank = flags.node_rank.as_ref().filter(|rank| rank.from.is_flag());
        let hostfile = hosts.hostfile.as_ref().filter(|file| file.from.is_flag());
        let mut places: Vec<Place> = nnodes
            .into_iter()
            .chain(node_rank)
            .map(Place::from)
            .collect();
        places.extend(
            hostfile.map(|file| Place::from(&file.clone().map(|path| path.display().to_string()))),
        );
        let alone = is_console
            || flags
                .nnodes
                .as_ref()
                .is_some_and(|nnodes| nnodes.value == 1);
        places.extend(
            (!alone)
                .then(|| Topology::job_of_several_nodes(&self.host))
                .flatten(),
        );
        places
    }

    fn not_seen_through(&self, prefix: &Prefix) -> Option<Problem> {
        let order = shell::text(&prefix.in_front_of(self.launch.words_with(&[], &prefix.command)));
        let error = |what: String| Problem::error(Rule::Prefix, what);
        Some(match &prefix.barrier {
            Some(Barrier::Container(name)) => error(format!(
                "zlaunch cannot see into the container that `{name}` starts"
            ))
            .at(*name)
            .fix(run(order).remark("run zlaunch inside, in an image that has it")),
            Some(Barrier::Option(option)) => {
                let changes =
                    "the command runs in another folder, or without variables that zlaunch reads";
                error(format!("with `{option}` {changes}"))
                    .at(option)
                    .fix(run(order))
            }
            Some(Barrier::Without(name, needed)) => error(format!(
                "`{name}` without {needed} drops variables that zlaunch reads"
            ))
            .at(*name)
            .fix(
                run(format!("{name} {needed}"))
                    .remark("to keep them")
                    .or(run(order)),
            ),
            // At the launch, zlaunch checks again behind the prefix.
            None if !self.launch.output.only_shows() => return None,
            None => {
                let name = prefix.own_python?;
                let what = format!(
                    "`{name}` brings its own Python, so checks that depend on installed packages were skipped"
                );
                Problem::warning(Rule::PackagesNotSeen, what)
                    .at(name)
                    .fix(run(order))
            }
        })
    }
}
