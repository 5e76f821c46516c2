//! The launch before the first decision: the command, parsed and understood, and the machine with the variables of the
//! launch. `plan` and `fit` both start here.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::base::bytes::object_in_base64;
use crate::base::options::{flag, launch_option, takes_value};
use crate::base::source::{Source, Sourced};
use crate::base::{shell, vars};
use crate::command::job::Job;
use crate::command::prefix::Prefix;
use crate::command::prefix::program::Barrier;
use crate::command::target::{ParsedCommand, base_name, is_python, of_python};
use crate::command::trainer;
use crate::config::template::Origin;
use crate::host::Host;
use crate::ranks::launcher::srun::SrunPrefix;
use crate::ranks::launcher::{self, ExistingLauncher, Launcher};
use crate::ranks::topology::Topology;
use crate::report::fix::{Fix, drop_word, run, say};
use crate::report::{self, Place, Problem, Rule, nearest};
use crate::request::Launch;

/// A program that trains, or starts a training.
pub(crate) fn trains(word: &OsStr) -> bool {
    is_python(word)
        || trainer::is_console(word)
        || ["torchrun", "deepspeed", "accelerate", "srun"].contains(&base_name(word))
}

pub(crate) struct UnderstoodLaunch<'a> {
    pub(crate) launch: &'a Launch,
    /// The machine with the variables that the user and the front end set.
    pub(crate) host: Cow<'a, Host>,
    pub(crate) wrapper: Option<Wrapper<'a>>,
    /// The launcher that the command starts with, behind a wrapper or not.
    pub(crate) existing_launcher: Option<ExistingLauncher>,
    pub(crate) job: Job,
}

/// Words in front of the command that stay there; zlaunch goes behind them.
pub(crate) enum Wrapper<'a> {
    Srun(SrunPrefix<'a>),
    /// `reaches_srun`: one of the words behind it is `srun`.
    Prefix {
        prefix: Box<Prefix>,
        reaches_srun: bool,
    },
}

impl<'a> UnderstoodLaunch<'a> {
    pub(crate) fn new(launch: &'a Launch, machine: &'a Host) -> Self {
        let flags = &launch.environment;
        if let Some(prefix) = Prefix::split(&launch.command) {
            let host = host_behind(&prefix, machine)
                .with(&flags.set, &flags.unset)
                .into_owned();
            let srun = SrunPrefix::split(&prefix.command);
            let reaches_srun = srun.is_some();
            let understood = match srun {
                Some(srun) => Self::behind_srun(launch, Cow::Owned(host), &srun),
                None => Self::of_command(launch, Cow::Owned(host), &prefix.command),
            };
            if understood.is_understood() {
                let wrapper = Some(Wrapper::Prefix {
                    prefix: Box::new(prefix),
                    reaches_srun,
                });
                return UnderstoodLaunch {
                    wrapper,
                    ..understood
                };
            }
        }
        let host = machine.with(&flags.set, &flags.unset);
        if let Some(srun) = SrunPrefix::split(&launch.command) {
            let understood = Self::behind_srun(launch, host.clone(), &srun);
            // zlaunch changes nothing behind `srun` but a training.
            if understood.existing_launcher.is_some() || !understood.job.trainer.is_passthrough() {
                return UnderstoodLaunch {
                    wrapper: Some(Wrapper::Srun(srun)),
                    ..understood
                };
            }
        }
        Self::of_command(launch, host, &launch.command)
    }

    /// Behind `srun` another prefix may follow: then zlaunch goes behind it on each machine.
    fn behind_srun(launch: &'a Launch, host: Cow<'a, Host>, srun: &SrunPrefix<'_>) -> Self {
        match Prefix::split(srun.command) {
            Some(prefix) => Self::of_command(
                launch,
                Cow::Owned(host_behind(&prefix, &host)),
                &prefix.command,
            ),
            None => Self::of_command(launch, host, srun.command),
        }
    }

    fn of_command(launch: &'a Launch, mut host: Cow<'a, Host>, command: &[OsString]) -> Self {
        let (existing_launcher, parts) = match ExistingLauncher::split(command) {
            Some((launcher, parts)) => (Some(launcher), parts),
            None => (None, ParsedCommand::parse(command)),
        };
        let passthrough = Sourced::new(trainer::passthrough(), Source::Default);
        let trainer = match &launch.trainer {
            // `accelerate env` trains nothing.
            None if existing_launcher.is_none() && ExistingLauncher::is_one(command) => {
                Some(&passthrough)
            }
            named => named.as_ref(),
        };
        let mut job = trainer::recognise(&parts, trainer, &host);
        // The launcher takes the config, so the script's run file stays as it is.
        if existing_launcher
            .as_ref()
            .is_some_and(ExistingLauncher::takes_config)
        {
            job.run_file = None;
        }
        for variable in &job.variables {
            host.to_mut().env.insert(
                OsString::from(&variable.name),
                OsString::from(&variable.value),
            );
        }
        UnderstoodLaunch {
            launch,
            host,
            wrapper: None,
            existing_launcher,
            job,
        }
    }

    /// Behind `srun`, the ranks are on other machines, which decide for themselves.
    pub(crate) fn topology(&self) -> Result<Topology, Vec<Problem>> {
        let Launch {
            topology: flags,
            hosts,
            launcher,
            ..
        } = self.launch;
        if let Some(Wrapper::Srun(srun)) = &self.wrapper {
            srun.check(&self.host)?;
        }
        if matches!(
            self.wrapper,
            Some(
                Wrapper::Srun(_)
                    | Wrapper::Prefix {
                        reaches_srun: true,
                        ..
                    }
            )
        ) {
            return Ok(Topology::of_srun_tasks(&self.host));
        }
        if let Some(existing) = &self.existing_launcher {
            let mut problems = existing.contradictions(flags, &self.host);
            let program = &existing.name;
            problems.extend(hosts.flags().map(|flag| {
                let what = format!("the command already starts with `{program}`, which has its own options for this");
                let help = format!("give it to `{program}`, or drop `{program}`");
                Problem::error(Rule::Hosts, what).at(flag).fix(help)
            }));
            if !problems.is_empty() {
                return Err(problems);
            }
            let notes = self.judge_alone(existing)?;
            let topology =
                Topology::of_existing_launcher(existing.rank_flags(flags, &self.host), &self.host);
            return Ok(Topology { notes, ..topology });
        }
        let trainer = self.job.trainer;
        let ranked = !trainer.is_passthrough()
            || launcher
                .as_ref()
                .is_some_and(|asked| asked.value != Launcher::Direct && asked.from.is_flag())
            || trainer.launch.has_own_launcher
                && (flags.nproc_per_node.is_some()
                    || flags.nnodes.is_some()
                    || Topology::is_scheduled(&self.host));
        let topology = Topology::decide(flags, hosts, ranked, &self.host)?;
        topology
            .size_problem()
            .map_or(Ok(topology), |problem| Err(vec![problem]))
    }

    /// Refuses a launcher that is not told of the machines of the job: each of them would train alone. Returns warnings.
    fn judge_alone(&self, existing: &ExistingLauncher) -> Result<Vec<Problem>, Vec<Problem>> {
        let Launch {
            topology: flags,
            command,
            trainer,
            ..
        } = self.launch;
        // A command from a shim that zlaunch does not handle runs unchanged.
        if trainer
            .as_ref()
            .is_some_and(|trainer| trainer.from == Source::Default)
        {
            return Ok(Vec::new());
        }
        if let Some(judged) = existing.weigh(flags, &self.host) {
            return judged;
        }
        let options = self.launch.forwarded_options();
        let words = [
            &["zlaunch".into()],
            &options[..],
            &["--".into()],
            &existing.left_out(command),
        ]
        .concat();
        let line = shell::line(&words).to_string_lossy().into_owned();
        let job = Topology::without_launcher(
            flags,
            &Host {
                words,
                ..self.host.clone().into_owned()
            },
        )?;
        existing
            .not_told(&job, &line)
            .map_or(Ok(Vec::new()), |problem| Err(problem.into()))
    }

    pub(crate) fn launcher(&self, topology: &Topology) -> Result<Launcher, Vec<Problem>> {
        let asked = self.launch.launcher.as_ref();
        let kind = match (&self.existing_launcher, asked) {
            _ if matches!(self.wrapper, Some(Wrapper::Srun(_))) => Launcher::Srun,
            (Some(existing), Some(asked))
                if asked.from.is_flag() && asked.value != existing.spec.launcher =>
            {
                let program = &existing.name;
                let fixes =
                    drop_word(&asked.from).or(drop_word(format_args!("`{program}` and its flags")));
                let what = format!("the command already starts with `{program}`");
                return Err(Problem::error(Rule::Launcher, what)
                    .at(asked)
                    .fix(fixes)
                    .into());
            }
            (Some(existing), _) => existing.spec.launcher,
            (None, _) => launcher::choose(asked, &self.launch.rank_output, &self.job, topology)?,
        };
        let problems = launcher::check_extra(kind, &self.launch.launcher_args);
        let kind = self
            .prefix()
            .map_or(kind, |prefix| Launcher::Prefix(prefix.name()));
        if problems.is_empty() {
            Ok(kind)
        } else {
            Err(problems)
        }
    }

    pub(crate) fn command(&self) -> &[OsString] {
        self.prefix()
            .map_or(&self.launch.command, |prefix| &prefix.command)
    }

    pub(crate) fn prefix(&self) -> Option<&Prefix> {
        if let Some(Wrapper::Prefix { prefix, .. }) = &self.wrapper {
            Some(prefix)
        } else {
            None
        }
    }

    /// True if the command runs on other machines or with another Python, so that a missing program is no error here.
    pub(crate) fn runs_elsewhere(&self) -> bool {
        match &self.wrapper {
            Some(Wrapper::Srun(_)) => true,
            Some(Wrapper::Prefix {
                prefix,
                reaches_srun,
            }) => *reaches_srun || prefix.own_python.is_some(),
            None => false,
        }
    }

    pub(crate) fn is_understood(&self) -> bool {
        self.job.trainer.name != trainer::PASSTHROUGH || self.existing_launcher.is_some()
    }

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

    pub(crate) fn own_config(&self) -> Option<Sourced<String>> {
        let UnderstoodLaunch {
            job,
            existing_launcher,
            ..
        } = self;
        let trainers = (!job.trainer.is_passthrough())
            .then(|| job.own_config(&self.host))
            .flatten();
        let own = trainers.or_else(|| existing_launcher.as_ref()?.config(job, &self.host))?;
        let text = job
            .trainer
            .config
            .reads_base64
            .then(|| object_in_base64(&own.value))
            .flatten();
        Some(Sourced {
            value: text.unwrap_or(own.value),
            from: own.from,
        })
    }

    /// Replaces a word in the trainer's own argument by the file that it means to the trainer, in its package or in the
    /// current folder. A template of that name in one of the user's folders comes before it.
    pub(crate) fn own_file(&self, own: Sourced<String>) -> Sourced<String> {
        let (job, search) = (&self.job, &self.launch.search);
        let is_argument = job.args.is_given((job.trainer.config.argument)(&job.args));
        if is_argument
            && (search.knows(&own.value) || job.ships_config(&own.value))
            && !matches!(search.origin(&own.value), Some(Origin::File(_)))
            && let Some(path) = job.own_file(&own.value, &self.host)
        {
            return own.map(|_| path.to_string_lossy().into_owned());
        }
        own
    }

    /// A config of the trainer's package, if the package is not here and zlaunch has no template for it.
    pub(crate) fn missing_shipped_config(&self, spec: &Sourced<String>) -> Option<Problem> {
        let job = &self.job;
        let has_stand_ins = job
            .trainer
            .config
            .shipped
            .is_none_or(|shipped| shipped.has_stand_ins);
        if has_stand_ins
            || !matches!(spec.from, Source::Argument(_))
            || !job.ships_config(&spec.value)
        {
            return None;
        }
        let (word, name) = (&spec.value, job.trainer.name);
        let what = format!("`{word}` is a config from {name}'s package, which was not found");
        let problem = Problem::error(Rule::Template, what)
            .at(spec)
            .fix("give the path of the JSON file");
        Some(job.blocker.clone().unwrap_or(problem))
    }

    /// True if a command from a shim is a training with a config: its own, or one that the site sets for all trainers.
    /// Trainers treat an empty value as no config.
    pub(crate) fn should_handle(&self) -> bool {
        let asks_for_help = self
            .launch
            .command
            .iter()
            .any(|word| word == "--help" || word == "-h");
        self.own_config().is_some_and(|own| !own.value.is_empty())
            || self.launch.deepspeed.is_some() && self.takes_config() && !asks_for_help
    }

    /// The config can be given to the launcher of the command, or to the script.
    pub(crate) fn takes_config(&self) -> bool {
        self.job.no_config.is_none() && (self.launcher_takes_config() || self.job.takes_config())
    }

    /// The config is given to the launcher of the command, not to the script.
    pub(crate) fn launcher_takes_config(&self) -> bool {
        self.existing_launcher
            .as_ref()
            .is_some_and(ExistingLauncher::takes_config)
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

    /// Advice instead of running a command that is not understood.
    pub(crate) fn right_order(&self) -> Fix {
        let launch = self.launch;
        let command = &launch.command;
        // A word behind an option may be its value.
        let is_option = |word: &OsString| word != "--" && word.as_encoded_bytes().starts_with(b"-");
        // The words that Python runs are one program.
        let program = if is_python(&command[0]) {
            of_python(&command[1..]).map_or(0, |(_, used)| used)
        } else {
            0
        };
        let mut behind = program + 1..command.len();
        if let Some(at) = behind.find(|at| trains(&command[*at]) && !is_option(&command[*at - 1])) {
            let options = command[1..at]
                .strip_suffix(&["--".into()])
                .unwrap_or(&command[1..at]);
            let (before, more) = if base_name(&command[0]) == "zlaunch" {
                (0, options)
            } else {
                (at, &[][..])
            };
            let words = [&command[..before], &launch.words_with(more, &command[at..])].concat();
            return run(shell::text(&words)).lead("if it starts a training run, write:");
        }
        // The sub-command that trains.
        let needed = match base_name(&command[0]) {
            "accelerate" => Some("launch"),
            console => trainer::commands_of(console).first().copied(),
        };
        let is_left_out = command
            .get(1)
            .is_none_or(|next| is_option(next) || Path::new(next).extension().is_some());
        if let Some(word) = needed
            && (is_left_out
                || command
                    .get(1)
                    .is_some_and(|next| nearest(&next.to_string_lossy(), [word]).is_some()))
            && !command.iter().any(|given| given == word)
        {
            let rest = if is_left_out { 1 } else { 2 };
            let command = [&command[..1], &[word.into()], &command[rest..]].concat();
            return run(shell::text(&launch.words_with(&[], &command)));
        }
        if let [python] = &command[..]
            && is_python(python)
        {
            return run(format_args!("{} train.py", python.to_string_lossy()))
                .lead("name the script:");
        }
        say(
            "put zlaunch before the training command inside it, or let the shims do that (zlaunch shims install); \
             use --trainer hf or deepspeed if it is a training command itself",
        )
    }
}

/// The machine as a command behind the prefix sees it.
fn host_behind(prefix: &Prefix, machine: &Host) -> Host {
    let mut host = machine.clone();
    host.env.retain(|name, _| !prefix.unset.contains(name));
    host.env.extend(prefix.set.iter().cloned());
    if prefix.own_python.is_some() {
        // The programs that are found here are not the ones that will run.
        host.env.remove(OsStr::new(vars::PATH));
    }
    host
}

/// True if a shim made this launch. It adds no options, and its variable only counts for its own command.
pub(crate) fn is_asked_by_shim(launch: &Launch, host: &Host) -> bool {
    let of = host.var_os(vars::ZLAUNCH_SHIM_OF);
    of.is_some()
        && of == launch.command.first().map(OsString::as_os_str)
        && launch.options == ["--"]
}
