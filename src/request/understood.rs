//! The launch before the first decision: the command, parsed and understood, and the machine with the variables of the
//! launch. `plan` and `fit` both start here.

use std::{
    borrow::Cow,
    ffi::{OsStr, OsString},
};

use crate::{
    base::{
        shell,
        source::{Source, Sourced, default},
        vars,
    },
    command::{
        job::Job,
        prefix::Prefix,
        target::{ParsedCommand, Target, base_name, is_python, of_python},
        trainer,
    },
    config::template::Origin,
    host::{self, Host},
    ranks::{
        launcher::{self, ExistingLauncher, Launcher, STARTERS, srun::SrunPrefix},
        topology::Topology,
    },
    report::prelude::*,
    request::Launch,
};

/// A program that trains, or starts a training.
pub fn trains(word: &OsStr) -> bool {
    is_python(word) || trainer::is_console(word) || STARTERS.contains(&base_name(word))
}

pub struct UnderstoodLaunch<'a> {
    pub launch: &'a Launch,
    /// The machine as it was found, without the variables that the launch sets.
    pub machine: &'a Host,
    /// The machine with the variables that the user and the front end set.
    pub host: Cow<'a, Host>,
    /// `srun` in front of the command stays there; zlaunch goes behind it, once for each machine.
    pub srun: Option<SrunPrefix<'a>>,
    /// Other words in front of the command, behind which zlaunch goes.
    pub prefix: Option<Box<Prefix>>,
    /// `srun` stands in front of the command, behind the prefix or alone.
    reaches_srun: bool,
    /// The launcher that the command starts with, behind `srun` and a prefix or not.
    pub existing_launcher: Option<ExistingLauncher>,
    pub job: Job,
}

impl<'a> UnderstoodLaunch<'a> {
    pub fn new(launch: &'a Launch, machine: &'a Host) -> Self {
        let flags = &launch.environment;
        let command = &launch.command;
        if let Some(prefix) = Prefix::split(command) {
            let host = host_behind(&prefix, machine)
                .with(&flags.set, &flags.unset)
                .into_owned();
            let understood = Self::behind(launch, machine, Cow::Owned(host), &prefix.command);
            if understood.is_understood() {
                return UnderstoodLaunch {
                    reaches_srun: SrunPrefix::split(&prefix.command).is_some(),
                    prefix: Some(Box::new(prefix)),
                    ..understood
                };
            }
        }
        let host = machine.with(&flags.set, &flags.unset);
        if let Some(srun) = SrunPrefix::split(command) {
            let understood = Self::behind(launch, machine, host.clone(), command);
            // zlaunch changes nothing behind `srun` but a training.
            if understood.existing_launcher.is_some() || !understood.job.trainer.is_passthrough() {
                return UnderstoodLaunch {
                    srun: Some(srun),
                    reaches_srun: true,
                    ..understood
                };
            }
        }
        Self::of_command(launch, machine, host, command)
    }

    /// Behind `srun` another prefix may follow: then zlaunch goes behind it on each machine.
    fn behind(
        launch: &'a Launch,
        machine: &'a Host,
        host: Cow<'a, Host>,
        command: &[OsString],
    ) -> Self {
        let command = SrunPrefix::split(command).map_or(command, |srun| srun.command);
        match Prefix::split(command) {
            Some(prefix) => {
                let host = Cow::Owned(host_behind(&prefix, &host));
                Self::of_command(launch, machine, host, &prefix.command)
            }
            None => Self::of_command(launch, machine, host, command),
        }
    }

    fn of_command(
        launch: &'a Launch,
        machine: &'a Host,
        mut host: Cow<'a, Host>,
        command: &[OsString],
    ) -> Self {
        let (mut existing_launcher, parts) = match ExistingLauncher::split(command) {
            Some((launcher, parts)) => (Some(launcher), parts),
            None => (None, ParsedCommand::parse(command)),
        };
        let passthrough = default(trainer::passthrough());
        let trainer = match &launch.trainer {
            // `accelerate env` trains nothing.
            None if existing_launcher.is_none() && ExistingLauncher::is_one(command) => {
                Some(&passthrough)
            }
            named => named.as_ref(),
        };
        let mut job = trainer::recognise(&parts, trainer, &host);
        // The launcher takes the config, so the script's run file stays as it is.
        if let Some(existing) = &mut existing_launcher
            && existing.is_accelerate()
        {
            job.run_file = None;
            if launch.deepspeed.is_some() && existing.is_given_config(&job) {
                existing.use_deepspeed();
            }
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
            srun: None,
            prefix: None,
            reaches_srun: false,
            existing_launcher,
            job,
        }
    }

    /// Behind `srun`, the ranks are on other machines, which decide for themselves.
    pub fn topology(&self) -> Result<Topology, Problems> {
        let Launch {
            topology: flags,
            hosts,
            launcher,
            ..
        } = self.launch;
        if let Some(srun) = &self.srun {
            srun.check(&self.host)?;
        }
        if self.reaches_srun {
            return Ok(Topology::of_srun_tasks(&self.host));
        }
        if let Some(existing) = &self.existing_launcher {
            let mut problems = existing.contradictions(flags, &self.host);
            let program = &existing.name;
            problems.extend(hosts.flags().map(|flag| {
                let what = format!("the command already starts with `{program}`, which has its own options for this");
                let help = format!("give it to `{program}`, or drop `{program}`");
                Rule::Hosts.error(what).at(flag).fix(help)
            }));
            if !problems.is_empty() {
                return Err(problems);
            }
            let notes = self.judge_alone(existing)?;
            let stated = existing.rank_flags(flags, &self.host);
            let gpus = existing.gpus(&self.host).map(|(gpus, _)| gpus);
            let topology = Topology::of_existing_launcher(stated, gpus, &self.host);
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
                    || Topology::is_in_a_job(&self.host));
        let topology = Topology::decide(flags, hosts, ranked, &self.host)?;
        topology
            .size_problem()
            .map_or(Ok(topology), |problem| Err(vec![problem]))
    }

    /// Refuses a launcher that is not told of the machines of the job: each of them would train alone. Returns warnings.
    fn judge_alone(&self, existing: &ExistingLauncher) -> Result<Problems, Problems> {
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
            return Ok(vec![]);
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
        let line = shell::text(&words);
        let job = Topology::without_launcher(
            flags,
            &Host {
                words,
                ..self.host.clone().into_owned()
            },
        )?;
        if let Some(problem) = existing.not_told(&job, &line) {
            return Err(problem.into());
        }
        let mut notes = job.notes;
        notes.retain(|note| note.rule == Rule::UncountedMachines);
        Ok(notes)
    }

    /// The launcher that starts the ranks: that of the command, the one that was asked for, or the usual one.
    pub fn launcher(&self, topology: &Topology) -> Result<Launcher, Problems> {
        let asked = self.launch.launcher.as_ref();
        let kind = match (&self.existing_launcher, asked) {
            _ if self.srun.is_some() => Launcher::Srun,
            (Some(existing), Some(asked))
                if asked.from.is_flag() && asked.value != existing.spec.launcher =>
            {
                let program = &existing.name;
                let fixes = drop_word(&asked.from)
                    .or(drop_word(format_args!("`{program}` and its flags")).of(Owner::Launcher));
                let what = format!("the command already starts with `{program}`");
                return Err(Rule::Launcher.error(what).at(asked).fix(fixes).into());
            }
            (Some(existing), _) => existing.spec.launcher,
            (None, _) => launcher::choice::choose(asked, &self.job, topology)?,
        };
        let problems = launcher::check_extra(kind, &self.launch.launcher_args);
        let prefix = self.prefix.as_ref();
        let kind = prefix.map_or(kind, |prefix| Launcher::Prefix(prefix.name()));
        if problems.is_empty() {
            Ok(kind)
        } else {
            Err(problems)
        }
    }

    /// The command behind the prefix.
    pub fn command(&self) -> &[OsString] {
        let prefix = self.prefix.as_ref();
        prefix.map_or(&self.launch.command, |prefix| &prefix.command)
    }

    /// True if the command runs on other machines or with another Python, so that a missing program is no error here.
    pub fn runs_elsewhere(&self) -> bool {
        let prefix = self.prefix.as_ref();
        self.reaches_srun || prefix.is_some_and(|prefix| prefix.own_python.is_some())
    }

    /// The first program that is missing here, unless it is only needed elsewhere.
    pub fn blocker(&self, launcher: Option<Launcher>) -> Option<Problem> {
        let elsewhere = launcher == Some(Launcher::Srun) || self.runs_elsewhere();
        let first = self.prefix.as_ref().map(|prefix| prefix.program());
        let missing = first
            .filter(|program| self.machine.find_program(program).is_none())
            .map(|program| trainer::not_found(program, self.machine));
        if missing.is_some() || elsewhere {
            missing
        } else {
            self.job.blocker.clone()
        }
    }

    /// The same launch with zlaunch behind the prefix, if there is one.
    pub fn zlaunch_behind_prefix(&self) -> Option<Vec<OsString>> {
        let prefix = self.prefix.as_ref()?;
        let launch = self.launch;
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

    /// The command is a training, or starts with a launcher.
    pub fn is_understood(&self) -> bool {
        self.job.trainer.name != trainer::PASSTHROUGH || self.existing_launcher.is_some()
    }

    /// The config that the command names itself, to the trainer or to its launcher.
    pub fn own_config(&self) -> Option<Sourced<String>> {
        let job = &self.job;
        let trainers = if job.trainer.is_passthrough() {
            None
        } else {
            job.own_config(&self.host)
        };
        trainers.or_else(|| self.existing_launcher.as_ref()?.config(job, &self.host))
    }

    /// Replaces a word in the trainer's own argument by the file that it means to the trainer, in its package or in the
    /// current folder. A template of that name in one of the user's folders comes before it.
    pub fn own_file(&self, own: Sourced<String>) -> Sourced<String> {
        let job = &self.job;
        let search = &self.launch.search;
        let is_argument = job.args.is_given(job.config_argument());
        if is_argument
            && (search.knows(&own.value) || job.ships_config(&own.value))
            && !matches!(search.origin(&own.value), Some(Origin::File(_)))
            && let Some(path) = job.own_file(&own.value, &self.host)
        {
            return own.map(|_| path.to_string_lossy().into_owned());
        }
        own
    }

    /// True if a command from a shim is a training with a config: its own, or one that the site sets for all trainers.
    /// Trainers treat an empty value as no config.
    fn should_handle(&self) -> bool {
        let mut words = self.launch.command.iter();
        let asks_for_help = words.any(|word| word == "--help" || word == "-h");
        self.own_config().is_some_and(|own| !own.value.is_empty())
            || self.launch.deepspeed.is_some() && self.takes_config() && !asks_for_help
    }

    /// The config can be given to the launcher of the command, or to the script.
    pub fn takes_config(&self) -> bool {
        self.job.no_config.is_none() && (self.launcher_takes_config() || self.job.takes_config())
    }

    /// The config is given to the launcher of the command, not to the script.
    pub fn launcher_takes_config(&self) -> bool {
        self.existing_launcher
            .as_ref()
            .is_some_and(ExistingLauncher::is_accelerate)
    }

    /// The program of the ranks in short: `swift sft`, `train.py`.
    pub fn what_runs(&self) -> String {
        match &self.job.target {
            _ if self.job.rewritten => {}
            Target::Script { path, .. } => return path.to_string_lossy().into_owned(),
            Target::Module { name, .. } => return format!("-m {}", name.to_string_lossy()),
            Target::Program(word) if trainer::is_console(word) => {}
            Target::Program(word) => return base_name(word).to_string(),
        }
        let words = self.command().iter();
        let names: Vec<&str> = words
            .skip_while(|word| !trainer::is_console(word))
            .take(2)
            .map(|word| base_name(word))
            .filter(|name| !name.starts_with('-'))
            .collect();
        if names.is_empty() {
            return self.job.target.name().to_string();
        }
        names.join(" ")
    }

    /// Advice instead of running a command that is not understood.
    pub fn right_order(&self) -> Fix {
        let otherwise = "put zlaunch before the training command inside it, or let the shims do that (zlaunch shims install); \
             use --trainer hf or deepspeed if it is a training command itself";
        self.training_inside().unwrap_or_else(|| say(otherwise))
    }

    /// The line with zlaunch before the training command that is among the words.
    pub fn training_inside(&self) -> Option<Fix> {
        let command = &self.launch.command;
        let is_option = |word: &OsString| word != "--" && word.as_encoded_bytes().starts_with(b"-");
        // The words that Python runs are one program.
        let of_python = of_python(&command[1..]).filter(|_| is_python(&command[0]));
        let program = of_python.map_or(0, |(_, used)| used);
        // A word behind an option may be its value.
        let mut behind = program + 1..command.len();
        let at = behind.find(|at| trains(&command[*at]) && !is_option(&command[*at - 1]))?;
        let right = self.launch.words_with(&[], &command[at..]);
        let words = [&command[..at], &right].concat();
        Some(run(shell::text(&words)).lead("if it starts a training run, write:"))
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

/// Through a shim, zlaunch also sees commands that do not concern it. Without a config they run unchanged. A shim adds no
/// options, and its variable only counts for its own command.
pub fn of_shim(launch: Launch, host: &Host) -> Launch {
    let of = host.var_os(vars::ZLAUNCH_SHIM_OF);
    let is_asked_by_shim = of.is_some()
        && of == launch.command.first().map(OsString::as_os_str)
        && launch.options == ["--"];
    if is_asked_by_shim && !UnderstoodLaunch::new(&launch, host).should_handle() {
        launch.command_alone()
    } else {
        launch
    }
}
