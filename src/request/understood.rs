//! The launch before the first decision: the command, parsed and understood, and the machine with the variables of the
//! launch. `plan` and `fit` both start here.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::base::source::{Source, Sourced};
use crate::base::{shell, vars};
use crate::command::job::Job;
use crate::command::prefix::Prefix;
use crate::command::target::{ParsedCommand, Target, base_name, is_python, of_python};
use crate::command::trainer;
use crate::config::template::Origin;
use crate::host::{self, Host};
use crate::ranks::launcher::srun::SrunPrefix;
use crate::ranks::launcher::{self, ExistingLauncher, Launcher};
use crate::ranks::topology::Topology;
use crate::report::fix::{Fix, Owner, drop_word, run, say};
use crate::report::{Problem, Rule, nearest};
use crate::request::Launch;

/// A program that trains, or starts a training.
pub(crate) fn trains(word: &OsStr) -> bool {
    is_python(word)
        || trainer::is_console(word)
        || ["torchrun", "deepspeed", "accelerate", "srun"].contains(&base_name(word))
}

pub(crate) struct UnderstoodLaunch<'a> {
    pub(crate) launch: &'a Launch,
    /// The machine as it was found, without the variables that the launch sets.
    pub(crate) machine: &'a Host,
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
                Some(srun) => Self::behind_srun(launch, machine, Cow::Owned(host), &srun),
                None => Self::of_command(launch, machine, Cow::Owned(host), &prefix.command),
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
            let understood = Self::behind_srun(launch, machine, host.clone(), &srun);
            // zlaunch changes nothing behind `srun` but a training.
            if understood.existing_launcher.is_some() || !understood.job.trainer.is_passthrough() {
                return UnderstoodLaunch {
                    wrapper: Some(Wrapper::Srun(srun)),
                    ..understood
                };
            }
        }
        Self::of_command(launch, machine, host, &launch.command)
    }

    /// Behind `srun` another prefix may follow: then zlaunch goes behind it on each machine.
    fn behind_srun(
        launch: &'a Launch,
        machine: &'a Host,
        host: Cow<'a, Host>,
        srun: &SrunPrefix<'_>,
    ) -> Self {
        match Prefix::split(srun.command) {
            Some(prefix) => Self::of_command(
                launch,
                machine,
                Cow::Owned(host_behind(&prefix, &host)),
                &prefix.command,
            ),
            None => Self::of_command(launch, machine, host, srun.command),
        }
    }

    fn of_command(
        launch: &'a Launch,
        machine: &'a Host,
        mut host: Cow<'a, Host>,
        command: &[OsString],
    ) -> Self {
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
            .is_some_and(ExistingLauncher::is_accelerate)
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
            machine,
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
        if let Some(warnings) = existing.weigh(flags, &self.host)? {
            return Ok(warnings);
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
                let fixes = drop_word(&asked.from)
                    .or(drop_word(format_args!("`{program}` and its flags")).of(Owner::Launcher));
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

    /// The first program that is missing here, unless it is only needed elsewhere.
    pub(crate) fn blocker(&self, launcher: Option<Launcher>) -> Option<Problem> {
        let elsewhere = launcher == Some(Launcher::Srun) || self.runs_elsewhere();
        let mut programs = self.prefix().into_iter().flat_map(Prefix::programs);
        let missing = programs.find(|program| self.machine.find_program(program).is_none());
        let missing = missing.map(|program| trainer::not_found(program, self.machine));
        if missing.is_some() || elsewhere {
            missing
        } else {
            self.job.blocker.clone()
        }
    }

    /// The same launch with zlaunch behind the prefix, if there is one.
    pub(crate) fn zlaunch_behind_prefix(&self) -> Option<Vec<OsString>> {
        let (prefix, launch) = (self.prefix()?, self.launch);
        let mut zlaunch = vec![host::this_program().into_os_string()];
        let options = if launch.rehearsed {
            zlaunch.push("rehearse".into());
            let options = launch.options.iter().filter(|word| *word != "--");
            options.cloned().collect()
        } else {
            launch.forwarded_options()
        };
        let behind = [&zlaunch[..], &options, &["--".into()], &prefix.command].concat();
        let mut argv = prefix.in_front_of(behind);
        if let Some(path) = self.machine.find_program(&argv[0]) {
            argv[0] = path.into_os_string();
        }
        Some(argv)
    }

    pub(crate) fn is_understood(&self) -> bool {
        self.job.trainer.name != trainer::PASSTHROUGH || self.existing_launcher.is_some()
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
        trainers.or_else(|| existing_launcher.as_ref()?.config(job, &self.host))
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
            .is_some_and(ExistingLauncher::is_accelerate)
    }

    /// The program of the ranks in short: `swift sft`, `train.py`.
    pub(crate) fn what_runs(&self) -> String {
        let command = self.command();
        match &self.job.target {
            _ if self.job.rewritten => {
                let console = command
                    .iter()
                    .position(|word| trainer::is_console(word) || trainer::is_console_module(word));
                command[console.unwrap_or(0)..]
                    .iter()
                    .take(2)
                    .map(|word| base_name(word))
                    .collect::<Vec<_>>()
                    .join(" ")
            }
            Target::Script { path, .. } => path.to_string_lossy().into_owned(),
            Target::Module { name, .. } => format!("-m {}", name.to_string_lossy()),
            Target::Program(word) if trainer::is_console(word) => {
                let words = command
                    .iter()
                    .take(2)
                    .filter(|word| !word.as_encoded_bytes().starts_with(b"-"));
                words
                    .map(|word| base_name(word))
                    .collect::<Vec<_>>()
                    .join(" ")
            }
            Target::Program(word) => base_name(word).to_string(),
        }
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

/// Through a shim, zlaunch also sees commands that do not concern it. Without a config they run unchanged.
pub(crate) fn of_shim(launch: Launch, host: &Host) -> Launch {
    if is_asked_by_shim(&launch, host) && !UnderstoodLaunch::new(&launch, host).should_handle() {
        launch.command_alone()
    } else {
        launch
    }
}

/// True if a shim made this launch. It adds no options, and its variable only counts for its own command.
fn is_asked_by_shim(launch: &Launch, host: &Host) -> bool {
    let of = host.var_os(vars::ZLAUNCH_SHIM_OF);
    of.is_some()
        && of == launch.command.first().map(OsString::as_os_str)
        && launch.options == ["--"]
}
