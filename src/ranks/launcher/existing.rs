//! The ranks of a launcher that the command starts with. Its flags stay and hold; zlaunch's own flags add what they leave
//! open.

use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
};

use super::{
    ExistingLauncher, LaunchContext, accelerate, count, deepspeed, is_switch, name_of, names,
    option_words, refused,
    tables::{
        accelerate_settings::{CONFIG, SWITCH},
        launchers::{CountMeaning, DEVICE_WORDS, Launcher},
    },
    torchrun, value_word,
};
use crate::{
    base::{
        python_value::int,
        shell, size,
        source::{Given, Source},
        vars,
    },
    command::{
        argument_class::{Versions, is_recorded},
        argv::option_name,
        job::Job,
        parser::ArgType,
        target::Target,
    },
    host::Host,
    ranks::topology::{self, PoolMachine, RankFlags, Stated, Topology, alone},
    report::{prelude::*, refused_value},
};

impl ExistingLauncher {
    pub fn is_accelerate(&self) -> bool {
        self.spec.launcher == Launcher::Accelerate
    }

    /// The ranks as its words, its variables and its files state them.
    fn stated_ranks(&self, host: &Host) -> RankFlags {
        let args = &self.args;
        let options = self.spec.rank_options;
        let stated = RankFlags {
            node_rank: count(args, options.node_rank),
            master_addr: args.text(options.master_addr),
            master_port: count(args, options.master_port),
            ..RankFlags::default()
        };
        match self.spec.launcher {
            Launcher::Torchrun => torchrun::counts(stated, args, host),
            Launcher::Deepspeed => deepspeed::counts(stated, args, host),
            _ => accelerate::counts(stated, args, host),
        }
    }

    /// The GPUs that it gives to its ranks here and what chooses them, if that is not left to the variables.
    pub fn gpus(&self, host: &Host) -> Option<(Vec<String>, Stated<String>)> {
        match self.spec.launcher {
            Launcher::Deepspeed => deepspeed::Resources::here(&self.args, host),
            Launcher::Accelerate => accelerate::gpus(&self.args, host),
            _ => None,
        }
    }

    /// The machines of the hostfile that it reads.
    pub fn hosts(&self, host: &Host) -> Vec<PoolMachine> {
        let is_deepspeed = self.spec.launcher == Launcher::Deepspeed;
        deepspeed::hostfile(&self.args, host)
            .filter(|_| is_deepspeed)
            .and_then(|_| deepspeed::Resources::read(&self.args, host).ok()?)
            .map_or_else(Vec::new, |resources| resources.machines)
    }

    /// Refuses a script whose parser does not know the rank that the launcher gives it as an argument.
    pub fn refused_local_rank(&self, job: &Job) -> Option<Problem> {
        let (option, fix) = match self.spec.launcher {
            Launcher::Deepspeed if !self.args.is_given("no_local_rank") => (
                "local_rank",
                give("--no_local_rank", "").of(Owner::Launcher),
            ),
            Launcher::Torchrun
                if self.name.ends_with("torch.distributed.launch")
                    && !self.args.is_given("use_env") =>
            {
                ("local-rank", give("--use_env", "").of(Owner::Launcher))
            }
            _ => return None,
        };
        let word = format!("--{option}");
        let names_it = |text: &str| names(text, &word) || text.contains(&format!("'{word}'"));
        let is_known = job.source.as_ref().is_some_and(|it| names_it(&it.text));
        let reads = match job.script_refuses(option) {
            Some(reads) if !is_known => reads,
            _ => return None,
        };
        let (name, script) = (&self.name, job.target.name());
        let what = format!(
            "`{name}` gives each rank `--{option}`, which `{script}` does not have: {reads} refuses it"
        );
        Some(Rule::NoSuchOption.error(what).at(script).fix(fix))
    }

    /// Warns of a list of GPUs that the launcher replaces by others.
    pub fn ignored_devices(&self, host: &Host) -> Option<Problem> {
        let name = vars::CUDA_VISIBLE_DEVICES;
        let list = host.nonempty_var(name)?;
        let (gpus, by) = self.gpus(host)?;
        let by = by?;
        if gpus
            .iter()
            .all(|gpu| list.split(',').any(|it| it.trim() == gpu))
        {
            return None;
        }
        let program = &self.name;
        let problem = Rule::RanksWithoutEffect
            .warning(format!(
                "`{program}` ignores {name} beside `{}`, and takes GPU {}",
                by.spelling(),
                gpus.join(",")
            ))
            .at(Place::variable(name, list))
            .at(&by);
        let drop = drop_word(by.spelling()).of(Owner::Launcher);
        let fixes = match self.spec.launcher {
            Launcher::Deepspeed => drop.or(format!("write --include localhost:{list} instead")),
            _ => drop.or(unset_variable(name)),
        };
        Some(problem.fix(fixes))
    }

    /// True if it needs no number of this machine, because the machines are numbered when they meet, or started from here.
    fn numbers_machines(&self, host: &Host) -> bool {
        let args = &self.args;
        match self.spec.launcher {
            Launcher::Torchrun => torchrun::is_dynamic(args, host),
            // Without a hostfile it starts the ranks of one machine, whatever it is told.
            Launcher::Deepspeed => true,
            _ => accelerate::numbers_machines(args, host),
        }
    }

    /// Its words hold; our flags come before its files and variables.
    pub fn rank_flags(&self, ours: &RankFlags, host: &Host) -> RankFlags {
        fn or<T>(ours: Stated<T>, is_given: bool, stated: Stated<T>) -> Stated<T> {
            ours.filter(|_| !is_given).or(stated)
        }
        let options = self.spec.rank_options;
        let is_given = |option: &str| self.args.is_given(option);
        let ours = ours.clone();
        let stated = self.stated_ranks(host);
        RankFlags {
            nproc_per_node: or(
                ours.nproc_per_node,
                self.states_count(),
                stated.nproc_per_node,
            ),
            nnodes: or(ours.nnodes, is_given(options.nnodes), stated.nnodes),
            node_rank: or(
                ours.node_rank,
                is_given(options.node_rank),
                stated.node_rank,
            ),
            master_addr: or(
                ours.master_addr,
                is_given(options.master_addr),
                stated.master_addr,
            ),
            master_port: or(
                ours.master_port,
                is_given(options.master_port),
                stated.master_port,
            ),
        }
    }

    /// Weighs what it says about machines. Typed words decide, but what contradicts them is told; its variables and files
    /// must agree with all other evidence. `None`: it says nothing, or one machine that nobody typed.
    pub fn weigh(&self, flags: &RankFlags, host: &Host) -> Result<Option<Problems>, Problem> {
        let options = self.spec.rank_options;
        let stated = self.rank_flags(flags, host);
        let Some(nnodes) = &stated.nnodes else {
            // A range of machines is typed; those of DeepSpeed's are in a file.
            let is_typed = self.spec.launcher != Launcher::Deepspeed;
            return Topology::weigh(&stated, is_typed, host).map(Some);
        };
        let is_given = self.args.is_given(options.nnodes);
        let is_typed = flags.nnodes.is_some() || is_given && nnodes.from != Source::Default;
        if nnodes.value == 1 && !is_typed {
            return Ok(None);
        }
        let is_numbered =
            stated.node_rank.is_some() || self.without_value(options.node_rank).is_some();
        if nnodes.value > 1 && !is_numbered && !self.numbers_machines(host) {
            let what = format!(
                "nothing says which of the {nnodes} machines this is: each would be number 0"
            );
            let fix = give(format!("--{}", options.node_rank), "I")
                .of(Owner::Launcher)
                .remark(format!("for `{}`, on each machine", self.name));
            // Beside a number in the command, our own would contradict it.
            let fixes = if is_given {
                fix.into()
            } else {
                fix.or(alone())
            };
            return Err(topology::refused(what).at(nnodes).fix(fixes));
        }
        if nnodes.value > 1 && !self.numbers_machines(host) {
            let number = stated.node_rank.as_ref();
            let number = number.filter(|number| number.value >= nnodes.value);
            if let Some(number) = number {
                return Err(topology::too_large("machine", number, nnodes));
            }
            let names = [options.master_addr, options.master_port];
            let address = stated.master_addr.as_ref();
            let fault = address
                .and_then(|address| topology::not_an_address(address, Owner::Launcher, names));
            if let Some(problem) = fault {
                return Err(problem);
            }
        }
        Topology::weigh(&stated, is_typed, host).map(Some)
    }

    /// The command as it would be without the launcher.
    pub fn left_out(&self, command: &[OsString]) -> Vec<OsString> {
        let at = command
            .windows(self.program.len())
            .position(|words| words == self.program);
        [&command[..at.unwrap_or(0)], &self.interpreter, &self.behind].concat()
    }

    /// Refuses a launcher that does not say how many machines there are, if `job` has several of them, or several tasks here.
    /// `line`: the command without it.
    pub fn not_told(&self, job: &Topology, line: &str) -> Option<Problem> {
        let name = &self.name;
        let ranks = job.world_size.as_ref().filter(|_| job.ranks_exist());
        let problem = if let Some(ranks) = ranks.filter(|ranks| ranks.value > 1) {
            let all = ranks.value;
            let what = format!("this is one of {all} ranks, and each would start `{name}`");
            topology::refused(what).at(ranks)
        } else {
            let nnodes = job.nnodes.as_ref().filter(|nnodes| nnodes.value > 1)?;
            let what = format!(
                "the job has {nnodes} machines, unknown to `{name}`: they would not train together"
            );
            topology::refused(what).at(nnodes)
        };
        Some(problem.at(name).fix(run(line).or(alone())))
    }

    /// One of its options says how many ranks there are.
    fn states_count(&self) -> bool {
        self.spec
            .count_options
            .iter()
            .any(|name| self.args.is_given(name))
    }

    /// Refuses our flags that the command contradicts. A variable may be set for a whole site, and gives way.
    pub fn contradictions(&self, flags: &RankFlags, host: &Host) -> Problems {
        let stated = self.stated_ranks(host).texts();
        let contradicted = self
            .spec
            .rank_options
            .of(flags)
            .into_iter()
            .zip(stated)
            .filter_map(|((option, asked), stated)| {
                let is_count = option == self.spec.rank_options.nproc_per_node;
                let is_given = self.args.is_given(option) || is_count && self.states_count();
                let (asked, stated) = asked.zip(stated.filter(|_| is_given))?;
                let problem = refused("zlaunch and the command give different numbers");
                (asked.from.is_flag() && asked.value != stated.value)
                    .then(|| problem.at(&asked).at(&stated).fix("drop one of them"))
            });
        contradicted.collect()
    }

    /// Refuses flags that the launcher does not have or that have no value, and a hostfile that is not there.
    pub fn refused_flags(&self, job: &Job, host: &Host) -> Problems {
        let mut problems = vec![];
        match self.spec.launcher {
            Launcher::Deepspeed => problems.extend(deepspeed::refusals(&self.args, job, host)),
            Launcher::Torchrun => {
                problems.extend(torchrun::meets_alone(&self.args, host));
            }
            _ => {
                problems.extend(accelerate::starts_fewer(&self.args, host));
                problems.extend(self.refuses_deepspeed(job, host));
                problems.extend(self.without_deepspeed(job, host));
            }
        }
        let python = &self.second_python;
        if !python.is_empty() {
            let what = format!(
                "`{}` starts Python itself and takes `{python}` for the script",
                self.name
            );
            problems.push(
                refused(what)
                    .at(python)
                    .fix(drop_word(python).of(Owner::Launcher)),
            );
        }
        for line in self.spec.options.lines().filter(|line| !is_switch(line)) {
            if let Some(option) = self.without_value(option_name(line)) {
                problems.push(
                    refused(format!("`{option}` has no value (is a variable empty?)"))
                        .at(&*option)
                        .fix(give(&option, "VALUE").of(Owner::Launcher)),
                );
            } else {
                problems.extend(self.wrong_value(line, job));
            }
        }
        for flag in self.spec.split_flags(&self.flags) {
            problems.extend(self.unknown_flag(flag, job));
        }
        problems
    }

    fn unknown_flag(&self, flag: &[OsString], job: &Job) -> Option<Problem> {
        let word = flag[0].to_string_lossy();
        if self.spec.has_flag(&word) {
            return None;
        }
        let given = word.split('=').next().unwrap_or_default();
        // Another release may have it.
        let source = self.source(job);
        if names(&source, given) {
            return None;
        }
        let name = name_of(&word).replace('-', "_");
        let near = self
            .spec
            .option(&word)
            .map(option_name)
            .or_else(|| nearest(&name, self.spec.options.lines().map(option_name)));
        let is_config = name == "deepspeed" || name == "deepspeed_config";
        let words = shell::text(flag);
        let fix = match near {
            Some(CONFIG) if !self.args.is_given(SWITCH) => {
                rename_option(&word, format_args!("--{SWITCH} --{CONFIG}"))
            }
            Some(near) => rename_option(&word, word.replacen(given, &format!("--{near}"), 1)),
            None if is_config || is_recorded(&name) => {
                say(format_args!("put it behind {}: {words}", job.target.name()))
            }
            None => say(format_args!("`{} --help` lists its options", self.name)),
        };
        Some(
            refused(format!("`{}` has no option `{given}`", self.name))
                .at(&*word)
                .fix(fix.of(Owner::Launcher))
                .into_warning_unless(near.is_some() || !source.is_empty()),
        )
    }

    fn wrong_value(&self, line: &'static str, job: &Job) -> Option<Problem> {
        let kind = ArgType::of_option(line);
        let (option, values) = self.args.list(option_name(line))?;
        let value = values.first()?.to_str()?;
        let name = option_name(line);
        let options = self.spec.rank_options;
        let is_count = name == options.nproc_per_node && self.spec.launcher != Launcher::Deepspeed;
        let is_list = value.contains(",1") && name == options.nproc_per_node;
        let is_known = DEVICE_WORDS.contains(&value) || int(value).is_some_and(|count| count > 0);
        // torchrun's may be the smallest and the largest number.
        let ends: Vec<_> = value.splitn(2, ':').map(int).collect();
        let is_no_range = name == "nnodes" && (ends.contains(&None) || !ends.is_sorted());
        if is_list || is_count && !is_known || is_no_range {
            let place = Place::option(&option, value);
            let problem = refused(format!("`{}` cannot start `{place}`", self.name));
            let count = value.split(',').count();
            let fix = match self.spec.launcher {
                Launcher::Torchrun if value == "all" => give(&option, "gpu"),
                // Without it, there is one for each GPU.
                _ if value == "all" => drop_word(&place),
                _ if !is_list => match size::number_meant(value, &option) {
                    Some(count @ 1..) => give(&option, count).correcting(count),
                    _ => give(&option, "N"),
                },
                Launcher::Torchrun => give(&option, count),
                Launcher::Deepspeed => {
                    rename_option(&place, format_args!("--include localhost:{value}"))
                }
                _ => rename_option(&place, format_args!("--gpu_ids {value} {option} {count}")),
            };
            return Some(problem.at(place).fix(fix.of(Owner::Launcher)));
        }
        let is_port = name == options.master_port;
        if is_port && int(value).is_some_and(|port| !(0..=65535).contains(&port)) {
            let problem = refused(format!("{value} is no port: the last one is 65535"));
            let fix = give(&option, "PORT").of(Owner::Launcher);
            return Some(problem.at(Place::option(&option, value)).fix(fix));
        }
        let versions = Versions::default();
        // Another release may have more choices, which are words.
        let is_new_word =
            || !kind.is_number() && int(value).is_none() && names(&self.source(job), value);
        if !kind.refuses(value, &versions) || is_new_word() {
            return None;
        }
        let name = format!("`{}`", self.name);
        let choices = kind.choices(&versions);
        Some(refused_value(
            Owner::Launcher,
            &name,
            &option,
            value,
            kind.wanted(&choices),
        ))
    }

    fn source(&self, job: &Job) -> String {
        let files = self.spec.sources.iter();
        files
            .filter_map(|file| reading::text_if_any(&job.installed_file(file)?))
            .collect()
    }

    /// The option, if its value is missing: argparse takes no other option for it, and an empty text is no number.
    fn without_value(&self, name: &str) -> Option<String> {
        let (option, values) = self.args.list(name)?;
        let options = self.spec.rank_options;
        let is_number = options.names().contains(&name) && name != options.master_addr;
        (values.is_empty() || values == [""] && is_number).then_some(option)
    }

    /// The launcher with its flags and those of ours that it leaves open, the target and its arguments, with the config in
    /// place.
    pub fn argv(&self, context: &LaunchContext, config: Option<&OsStr>) -> Vec<OsString> {
        let job = context.job;
        // A front end behind a console script needs the interpreter of that script.
        let mut words = if job.rewritten && job.python.is_some() {
            self.spec.words(context)
        } else {
            let first = context
                .host
                .find_program(&self.program[0])
                .map_or_else(|| self.program[0].clone(), PathBuf::into_os_string);
            [&[first], &self.program[1..]].concat()
        };
        let mut flags = self.flags.clone();
        let mut to_script = config;
        if self.is_given_config(job) {
            to_script = None;
            if let Some(config) = config {
                flags = self.flags_with_config(context, config);
            }
        }
        if job.rewritten {
            flags.retain(|flag| flag != "--no_python" && flag != "--no-python");
        }
        words.extend(flags);
        words.extend(self.open_flags(context));
        words.extend(context.extra.iter().cloned());
        if matches!(job.target, Target::Module { .. }) && !self.args.is_given("module") {
            words.push("--module".into());
        }
        words.push(job.target.word().to_os_string());
        words.extend(job.rank_args(to_script));
        words
    }

    /// Our own flags, as far as its words leave them open, in its spelling.
    fn open_flags(&self, context: &LaunchContext) -> Vec<OsString> {
        let topology = context.topology;
        let mut options = self.spec.rank_options.of(context.flags);
        let [(_, count), ..] = &mut options;
        if self.states_count() {
            *count = None;
        }
        if let (Some(count), Some(nproc)) = (count, topology.nproc_per_node.value()) {
            match self.spec.count_meaning {
                CountMeaning::PerNodeOrWord => {}
                CountMeaning::PerNode => count.value = nproc.to_string(),
                CountMeaning::Total => {
                    let total = u64::from(nproc) * u64::from(topology.machines());
                    count.value = total.to_string();
                }
            }
        }
        let open = options
            .into_iter()
            .filter(|(name, _)| !self.args.is_given(name));
        option_words(open.map(|(name, flag)| (name, value_word(flag.as_ref())))).collect()
    }
}
