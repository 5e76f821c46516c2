//! The ranks of a launcher that the command starts with. Its flags stay and hold; zlaunch's own flags add what they leave
//! open.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::context::{LaunchContext, refused};
use super::spec::{ExistingLauncher, count, is_switch, name_of, option_words, value_word};
use super::tables::launchers::{CountMeaning, Launcher};
use super::{accelerate, deepspeed, torchrun};
use crate::base::python_value::int;
use crate::base::shell;
use crate::base::source::{Source, Sourced};
use crate::command::argv::option_name;
use crate::command::job::Job;
use crate::command::target::Target;
use crate::host::Host;
use crate::ranks::topology::{RankFlags, Topology, alone};
use crate::report::fix::{Owner, drop_word, give, rename_option, run};
use crate::report::{Problem, Rule, nearest, reading};

impl ExistingLauncher {
    pub(crate) fn is_accelerate(&self) -> bool {
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
    pub(crate) fn rank_flags(&self, ours: &RankFlags, host: &Host) -> RankFlags {
        fn stronger<T>(is_open: bool, ours: Option<T>, stated: Option<T>) -> Option<T> {
            if is_open { ours.or(stated) } else { stated }
        }
        let options = self.spec.rank_options;
        let is_open = |option: &str| !self.args.is_given(option);
        let ours = ours.clone();
        let stated = self.stated_ranks(host);
        RankFlags {
            nproc_per_node: stronger(
                !self.states_count(),
                ours.nproc_per_node,
                stated.nproc_per_node,
            ),
            nnodes: stronger(is_open(options.nnodes), ours.nnodes, stated.nnodes),
            node_rank: stronger(is_open(options.node_rank), ours.node_rank, stated.node_rank),
            master_addr: stronger(
                is_open(options.master_addr),
                ours.master_addr,
                stated.master_addr,
            ),
            master_port: stronger(
                is_open(options.master_port),
                ours.master_port,
                stated.master_port,
            ),
        }
    }

    /// Weighs what it says about machines. Typed words decide, but what contradicts them is told; its variables and files
    /// must agree with all other evidence. `None`: it says nothing, or one machine that nobody typed.
    pub(crate) fn weigh(
        &self,
        flags: &RankFlags,
        host: &Host,
    ) -> Result<Option<Vec<Problem>>, Problem> {
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
            return Err(Problem::error(Rule::Ranks, what).at(nnodes).fix(fixes));
        }
        Topology::weigh(&stated, is_typed, host).map(Some)
    }

    pub(crate) fn left_out(&self, command: &[OsString]) -> Vec<OsString> {
        let mut windows = command.windows(self.program.len());
        let at = windows.position(|words| words == self.program);
        [&command[..at.unwrap_or(0)], &self.interpreter, &self.behind].concat()
    }

    /// Refuses a launcher that does not say how many machines there are, if `job` has several of them, or several tasks here.
    /// `line`: the command without it.
    pub(crate) fn not_told(&self, job: &Topology, line: &str) -> Option<Problem> {
        let name = &self.name;
        let ranks = job.world_size.as_ref().filter(|_| job.ranks_exist());
        let problem = if let Some(ranks) = ranks.filter(|ranks| ranks.value > 1) {
            let all = ranks.value;
            let what = format!("this is one of {all} ranks, and each would start `{name}`");
            Problem::error(Rule::Ranks, what).at(ranks)
        } else {
            let nnodes = job.nnodes.as_ref().filter(|nnodes| nnodes.value > 1)?;
            let what = format!(
                "the job has {nnodes} machines, unknown to `{name}`: they would not train together"
            );
            Problem::error(Rule::Ranks, what).at(nnodes)
        };
        Some(problem.at(name).fix(run(line).or(alone())))
    }

    fn states_count(&self) -> bool {
        let mut options = self.spec.count_options.iter();
        options.any(|name| self.args.is_given(name))
    }

    /// Our flags besides the number of processes, as text and under its own names.
    fn other_flags(&self, flags: &RankFlags) -> [(&'static str, Option<Sourced<String>>); 4] {
        let text = |number: &Sourced<u32>| number.clone().map(|value| value.to_string());
        let port = flags.master_port.clone();
        let options = self.spec.rank_options;
        [
            (options.nnodes, flags.nnodes.as_ref().map(text)),
            (options.node_rank, flags.node_rank.as_ref().map(text)),
            (options.master_addr, flags.master_addr.clone()),
            (
                options.master_port,
                port.map(|port| port.map(|value| value.to_string())),
            ),
        ]
    }

    /// Refuses our flags that the command contradicts. A variable may be set for a whole site, and gives way.
    pub(crate) fn contradictions(&self, flags: &RankFlags, host: &Host) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut compare = |asked: Sourced<String>, theirs: Sourced<String>, is_same: bool| {
            if !is_same && asked.from.is_flag() {
                let what = "zlaunch and the command give different numbers";
                let problem = refused(what).at(&asked).at(&theirs);
                problems.push(problem.fix("drop one of them"));
            }
        };
        let mut counts = self.spec.count_options.iter();
        if let Some(asked) = &flags.nproc_per_node
            && let Some(theirs) = counts.find_map(|name| self.args.text(name))
        {
            let stated = self.stated_ranks(host).nproc_per_node;
            let is_same = stated.is_some_and(|stated| stated.value == asked.value);
            let asked = asked.clone().map(|asked| asked.to_string());
            compare(asked, theirs, is_same);
        }
        for (name, asked) in self.other_flags(flags) {
            if let (Some(asked), Some(theirs)) = (asked, self.args.text(name)) {
                let number = int(&asked.value);
                let is_same =
                    asked.value == theirs.value || number.is_some() && number == int(&theirs.value);
                compare(asked, theirs, is_same);
            }
        }
        problems
    }

    /// Refuses flags that the launcher does not have or that have no value, and a hostfile that is not there.
    pub(crate) fn refused_flags(&self, job: &Job, host: &Host) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.spec.launcher == Launcher::Deepspeed {
            problems.extend(deepspeed::hostfile_problem(&self.args, host));
        }
        let python = &self.second_python;
        if !python.is_empty() {
            let what = format!(
                "`{}` starts Python itself and takes `{python}` for the script",
                self.name
            );
            let problem = refused(what).at(python);
            problems.push(problem.fix(drop_word(python).of(Owner::Launcher)));
        }
        for line in self.spec.options.lines().filter(|line| !is_switch(line)) {
            if let Some(option) = self.without_value(option_name(line)) {
                let what = format!("`{option}` has no value (is a variable empty?)");
                let problem = refused(what).at(&*option);
                problems.push(problem.fix(give(&option, "VALUE").of(Owner::Launcher)));
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
        let file = self.spec.modules[0].name.replace('.', "/") + ".py";
        let source = job.installed_file(&file);
        let source = source.and_then(|file| reading::text_if_any(&file));
        let is_in_source = |text: &String| text.contains(&format!("{given}\""));
        if source.as_ref().is_some_and(is_in_source) {
            return None;
        }
        let name = name_of(&word).replace('-', "_");
        let near = nearest(&name, self.spec.options.lines().map(option_name));
        let what = format!("`{}` has no option `{given}`", self.name);
        let fix = match near {
            Some(near) => rename_option(&word, word.replacen(given, &format!("--{near}"), 1)),
            None => drop_word(shell::text(flag)),
        };
        let problem = refused(what).at(&*word).fix(fix.of(Owner::Launcher));
        Some(if near.is_some() || source.is_some() {
            problem
        } else {
            problem.into_warning()
        })
    }

    /// The option, if its value is missing: argparse takes no other option for it, and an empty text is no number.
    fn without_value(&self, name: &str) -> Option<String> {
        let (option, values) = self.args.list(name)?;
        let options = self.spec.rank_options;
        let mut ranks = options.pairs().into_iter().map(|(_, theirs)| theirs);
        let is_number = ranks.any(|theirs| theirs == name) && name != options.master_addr;
        (values.is_empty() || values == [""] && is_number).then_some(option)
    }

    /// The launcher with its flags and those of ours that it leaves open, the target and its arguments, with the config in
    /// place.
    pub(crate) fn argv(
        &self,
        context: &LaunchContext<'_>,
        config: Option<&OsStr>,
    ) -> Vec<OsString> {
        let job = context.job;
        // A front end behind a console script needs the interpreter of that script.
        let mut words = if job.rewritten && job.python.is_some() {
            self.spec.words(context)
        } else {
            let path = context.host.find_program(&self.program[0]);
            let first = path.map_or_else(|| self.program[0].clone(), PathBuf::into_os_string);
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

    fn open_flags(&self, context: &LaunchContext<'_>) -> Vec<OsString> {
        let topology = context.topology;
        let asked = context.flags.nproc_per_node.as_ref();
        let nproc = topology.nproc_per_node.as_ref().map(|nproc| nproc.value);
        let count = asked.map(|asked| match (self.spec.count_meaning, nproc) {
            (CountMeaning::PerNodeOrWord, _) | (_, None) => asked.to_string().into(),
            (CountMeaning::PerNode, Some(nproc)) => nproc.to_string().into(),
            (CountMeaning::Total, Some(nproc)) => (u64::from(nproc)
                * u64::from(topology.machines()))
            .to_string()
            .into(),
        });
        let count = count.filter(|_| !self.states_count());
        let mut options = vec![(self.spec.rank_options.nproc_per_node, count)];
        let others = self.other_flags(context.flags).into_iter();
        options.extend(others.map(|(theirs, flag)| (theirs, value_word(flag.as_ref()))));
        options.retain(|(theirs, _)| !self.args.is_given(theirs));
        option_words(options).collect()
    }
}
