//! Judgements about the command as a whole: what zlaunch does not recognize, cannot see through, or leaves without effect.

use crate::{
    base::{
        options::{flag, launch_option, takes_value},
        shell,
    },
    command::{
        prefix::{Barrier, Prefix},
        target::base_name,
        trainer,
    },
    ranks::topology::Topology,
    report::prelude::*,
    request::{Launch, understood::UnderstoodLaunch},
};

impl UnderstoodLaunch<'_> {
    /// `--nproc-per-node` for a command that runs as one process.
    pub fn ranks_without_effect(&self) -> Option<Problem> {
        let job = &self.job;
        let has_launcher = job.trainer.launch.has_own_launcher
            || self.launch.launcher.is_some()
            || self.existing_launcher.is_some();
        // That the program is missing, or takes no config, is the more useful message.
        let is_refused = job.blocker.is_some() || self.launch.deepspeed.is_some();
        // Where a training is inside, another warning has the line.
        let is_inside = self.training_inside().is_some();
        if !job.trainer.is_passthrough() || has_launcher || is_refused || is_inside {
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
            Rule::RanksWithoutEffect
                .warning(what)
                .at(&asked.from)
                .fix(help),
        )
    }

    /// A problem of a command that no front end knows, or of a prefix behind which zlaunch cannot go or look.
    pub fn not_understood(&self) -> Option<Problem> {
        if let Some(prefix) = &self.prefix {
            return self.not_seen_through(prefix);
        }
        let Launch {
            trainer: named,
            launcher,
            deepspeed,
            command,
            ..
        } = self.launch;
        // A config for such a command is an error of its own.
        let on_purpose =
            named.is_some() || launcher.as_ref().is_some_and(|asked| asked.from.is_flag());
        if self.job.trainer.name != trainer::PASSTHROUGH || on_purpose || deepspeed.is_some() {
            return None;
        }
        let first = command.first()?;
        let program = base_name(first);
        let line = self.right_order();
        let places = self.several_machines(trainer::is_console(first));
        if !places.is_empty() {
            let problem = Rule::NotUnderstood.error(format!(
                "zlaunch does not recognize `{program}`, so it cannot start it on several machines"
            ));
            return Some(places.into_iter().fold(problem, Problem::at).fix(line));
        }
        // A missing program is the more useful message.
        if self.job.blocker.is_some() {
            return None;
        }
        let what = format!(
            "zlaunch does not recognize `{program}` as a training command: it runs unchanged and unchecked"
        );
        Some(Rule::NotUnderstood.warning(what).at(program).fix(line))
    }

    /// `-n` behind the command, if the training does not know it.
    pub fn dry_run_behind(&self) -> Option<Problem> {
        let words = self.job.command_line();
        let at = words
            .iter()
            .position(|word| word == "-n" || word == "--dry-run")?;
        // An option with a value is another one.
        let next = words.get(at + 1);
        let is_alone = next.is_none_or(|next| next.as_encoded_bytes().starts_with(b"-"));
        let is_known = || match &self.job.source {
            Some(source) => ["-n\"", "-n'", "dry-run", "dry_run"]
                .iter()
                .any(|word| source.mentions(word)),
            None => !self.job.rewritten,
        };
        if !is_alone || self.launch.output.only_shows() || !self.is_understood() || is_known() {
            return None;
        }
        let mut rest = self.launch.command.clone();
        rest.retain(|word| *word != words[at]);
        let mut line = self.launch.words_with(&[], &rest);
        line.insert(1, "-n".into());
        let word = words[at].to_string_lossy();
        let what = format!(
            "`{word}` comes after the command, so it goes to the trainer and training starts"
        );
        Some(
            Rule::AfterTheCommand
                .warning(what)
                .at(&*word)
                .fix(run(shell::text(&line))),
        )
    }

    /// The line with these options of ours moved in front of the command; `--` is left out.
    pub fn with_options_in_front(&self, flags: &[String]) -> String {
        let (mut moved, mut rest) = (vec![], vec![]);
        let mut words = self.launch.command.iter().cloned();
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
        let nnodes = flags.nnodes.as_ref();
        let mut places: Vec<Place> = nnodes
            .filter(|nnodes| nnodes.value > 1)
            .into_iter()
            .chain(&flags.node_rank)
            .filter(|number| number.from.is_flag())
            .map(Place::from)
            .collect();
        places.extend(
            hosts
                .hostfile
                .iter()
                .filter(|file| file.from.is_flag())
                .map(|file| Place::option(file.from.to_string(), file.value.to_string_lossy())),
        );
        if !is_console && nnodes.is_none_or(|nnodes| nnodes.value != 1) {
            places.extend(Topology::job_of_several_nodes(&self.host));
        }
        places
    }

    fn not_seen_through(&self, prefix: &Prefix) -> Option<Problem> {
        let order = shell::text(&prefix.in_front_of(self.launch.words_with(&[], &prefix.command)));
        let order = run(order);
        let (what, place, fixes): (String, &str, Fixes) = match &prefix.barrier {
            Some(Barrier::Container(name)) => (
                format!("zlaunch cannot see into the container that `{name}` starts"),
                name,
                order
                    .remark("run zlaunch inside, in an image that has it")
                    .into(),
            ),
            Some(Barrier::Option(option)) => (
                format!(
                    "with `{option}` the command runs in another folder, or without variables that zlaunch reads"
                ),
                option,
                order.into(),
            ),
            Some(Barrier::Without(name, needed)) => (
                format!("`{name}` without {needed} drops variables that zlaunch reads"),
                name,
                run(format!("{name} {needed}"))
                    .remark("to keep them")
                    .or(order),
            ),
            // At the launch, zlaunch checks again behind the prefix.
            None if !self.launch.output.only_shows() => return None,
            None => {
                let name = prefix.own_python?;
                let what = format!(
                    "`{name}` brings its own Python, so checks that depend on installed packages were skipped"
                );
                return Some(Rule::PackagesNotSeen.warning(what).at(name).fix(order));
            }
        };
        Some(Rule::Prefix.error(what).at(place).fix(fixes))
    }
}
