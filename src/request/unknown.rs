//! What is said where zlaunch does not see to the end: a command that no front end knows, and a prefix behind which it
//! cannot go or look.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::Launch;
use super::understood::UnderstoodLaunch;
use crate::base::options::{flag, launch_option, takes_value};
use crate::base::shell;
use crate::command::prefix::Prefix;
use crate::command::prefix::program::Barrier;
use crate::command::target::{base_name, is_python, of_python};
use crate::command::trainer;
use crate::ranks::topology::Topology;
use crate::report::fix::run;
use crate::report::{self, Place, Problem, Rule};

/// Programs that start a training, besides the console scripts of the front ends and Python.
const LAUNCHERS: &[&str] = &["torchrun", "deepspeed", "accelerate", "srun"];

impl UnderstoodLaunch<'_> {
    /// Warnings and errors about what is not understood.
    pub(crate) fn not_understood(&self) -> Vec<Problem> {
        if let Some(prefix) = self.prefix() {
            return self.not_seen_through(prefix).into_iter().collect();
        }
        let Launch { trainer: named, launcher, deepspeed, .. } = self.launch;
        // A config for such a command is an error of its own.
        let on_purpose = named.is_some() || launcher.as_ref().is_some_and(|asked| asked.from.is_flag());
        if self.job.trainer.name != trainer::PASSTHROUGH || on_purpose || deepspeed.is_some() {
            return Vec::new();
        }
        let first = self.launch.command.first().map_or(OsStr::new(""), OsString::as_os_str);
        let (program, line) = (base_name(first), run(self.right_order()));
        let places = self.several_machines(trainer::is_console(first));
        if !places.is_empty() {
            let what = format!("zlaunch does not know `{program}`, so it cannot place it on several machines");
            let problem = Problem::error(Rule::NotUnderstood, what);
            return vec![places.into_iter().fold(problem, Problem::at).fix(line)];
        }
        // That it is not there says more.
        let is_missing = self.job.blocker.is_some();
        let what = format!("`{program}` is not a training command that zlaunch knows: it runs unchanged and unchecked");
        let problem = || Problem::warning(Rule::NotUnderstood, what).at(program).fix(line);
        (!is_missing).then(problem).into_iter().collect()
    }

    /// `-n` behind the command, where the training does not know it.
    pub(crate) fn dry_run_behind(&self) -> Option<Problem> {
        const DRY_RUN: &[&str] = &["-n", "--dry-run", "--dry_run"];
        let words = self.job.command_line();
        let at = words.iter().position(|word| DRY_RUN.iter().any(|flag| word == flag))?;
        // With a value it is something else.
        let alone = words.get(at + 1).is_none_or(|next| next.as_encoded_bytes().starts_with(b"-"));
        let known = || match &self.job.source {
            Some(source) => ["-n\"", "-n'", "dry-run", "dry_run"].iter().any(|word| source.mentions(word)),
            None => !self.job.rewritten,
        };
        if !alone || self.launch.output.only_shows() || !self.is_understood() || known() {
            return None;
        }
        let word = words[at].to_string_lossy();
        let rest: Vec<OsString> = self.launch.command.iter().filter(|word| **word != words[at]).cloned().collect();
        let mut line = self.launch.words_with(&[], &rest);
        line.insert(1, "-n".into());
        Some(report::dry_run_behind(&word, &shell::text(&line)))
    }

    /// The line with these options of ours, which stand behind the command, in front of it; `--` is left out.
    pub(crate) fn with_options_in_front(&self, flags: &[String]) -> String {
        let (mut moved, mut rest) = (Vec::new(), Vec::new());
        let mut words = self.launch.command.iter().cloned().peekable();
        while let Some(word) = words.next() {
            let text = word.to_string_lossy();
            let option = text.strip_prefix("--").and_then(launch_option).filter(|option| flags.contains(&flag(option)));
            let takes_next = option.is_some_and(takes_value) && !text.contains('=');
            if word == "--" && flags.contains(&"--".to_string()) {
                continue;
            }
            let target = if option.is_some() { &mut moved } else { &mut rest };
            target.push(word);
            target.extend(takes_next.then(|| words.next()).flatten());
        }
        shell::text(&self.launch.words_with(&moved, &rest))
    }

    /// Everything that says that the command is for several machines. A sub-command that a front end runs as one process
    /// may well stand in a job of several.
    fn several_machines(&self, is_console: bool) -> Vec<Place> {
        let Launch { topology: flags, hosts, .. } = self.launch;
        let nnodes = flags.nnodes.as_ref().filter(|nnodes| nnodes.from.is_flag() && nnodes.value > 1);
        let node_rank = flags.node_rank.as_ref().filter(|rank| rank.from.is_flag());
        let hostfile = hosts.hostfile.as_ref().filter(|file| file.from.is_flag());
        let mut places: Vec<Place> = nnodes.into_iter().chain(node_rank).map(Place::from).collect();
        places.extend(hostfile.map(|file| Place::from(&file.clone().map(|path| path.display().to_string()))));
        let alone = is_console || flags.nnodes.as_ref().is_some_and(|nnodes| nnodes.value == 1);
        places.extend(Topology::job_of_several_nodes(&self.host).filter(|_| !alone));
        places
    }

    fn not_seen_through(&self, prefix: &Prefix) -> Option<Problem> {
        let order = shell::text(&prefix.in_front_of(self.launch.words_with(&[], &prefix.command)));
        let error = |what: String| Problem::error(Rule::Prefix, what);
        Some(match &prefix.barrier {
            Some(Barrier::Container(name)) => {
                error(format!("zlaunch cannot look into the container that `{name}` starts"))
                    .at(*name)
                    .fix(run(order).remark("run zlaunch inside, in an image that has it"))
            }
            Some(Barrier::Option(option)) => error(format!(
                "with `{option}` the command runs in another folder or without the variables that zlaunch reads"
            ))
            .at(option)
            .fix(run(order)),
            Some(Barrier::Without(name, needed)) => {
                error(format!("`{name}` without {needed} drops the variables that zlaunch reads"))
                    .at(*name)
                    .fix(run(format!("{name} {needed}")).remark("to keep them").or(run(order)))
            }
            // At the launch, zlaunch checks again behind the prefix.
            None => {
                let name = prefix.own_python.filter(|_| self.launch.output.only_shows())?;
                let what =
                    format!("`{name}` brings its own Python: what depends on installed packages was not checked");
                Problem::warning(Rule::PackagesNotSeen, what).at(name).fix(run(order))
            }
        })
    }

    /// What to do instead of running a command that is not understood.
    pub(crate) fn right_order(&self) -> String {
        let launch = self.launch;
        let command = &launch.command;
        let trains =
            |word: &OsString| is_python(word) || trainer::is_console(word) || LAUNCHERS.contains(&base_name(word));
        // A word behind an option may be its value.
        let is_option = |word: &OsString| word != "--" && word.as_encoded_bytes().starts_with(b"-");
        let starts = |at: &usize| trains(&command[*at]) && !is_option(&command[*at - 1]);
        // What an interpreter runs is the program, not what it starts.
        let program = if is_python(&command[0]) { of_python(&command[1..]).map_or(0, |(_, used)| used) } else { 0 };
        if let Some(at) = (program + 1..command.len()).find(starts) {
            let words = [&command[..at], &launch.words_with(&[], &command[at..])].concat();
            return format!("if it starts a training, put zlaunch after it: {}", shell::text(&words));
        }
        // What trains, of programs that do other things too.
        let needed = match base_name(&command[0]) {
            "accelerate" => Some("launch"),
            console => trainer::commands_of(console).first().copied(),
        };
        let is_file = |word: &OsString| Path::new(word).extension().is_some();
        let is_left_out = command.get(1).is_none_or(|next| is_option(next) || is_file(next));
        if let Some(word) = needed
            && is_left_out
            && !command.iter().any(|given| given == word)
        {
            let command = [&command[..1], &[word.into()], &command[1..]].concat();
            return shell::text(&launch.words_with(&[], &command));
        }
        if let [python] = &command[..]
            && is_python(python)
        {
            return format!("name the script: {} train.py", python.to_string_lossy());
        }
        "put zlaunch in front of the training command inside it, or let the shims do that (zlaunch shims install); \
         --trainer hf or deepspeed says that it is a training itself"
            .to_string()
    }
}
