//! A command that starts with a launcher already. Its flags stay and hold; zlaunch's own flags add what they leave open.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::accelerate::{self, CONFIG, RUN_FILE, SWITCH};
use super::context::LaunchContext;
use super::spec::{CountMeaning, ExistingLauncher, LauncherSpec, is_switch, option_words};
use super::{deepspeed, torchrun};
use crate::base::python_value::int;
use crate::base::shell;
use crate::base::source::{Source, Sourced};
use crate::command::argv::option_name;
use crate::command::job::Job;
use crate::command::target::{ParsedCommand, Target, is_python, of_python};
use crate::command::trainer;
use crate::host::Host;
use crate::ranks::topology::{RankFlags, Topology, alone};
use crate::report::fix::{Owner, drop_word, give, rename_option, run};
use crate::report::{Place, Problem, Rule, nearest, reading};

pub(super) const SPECS: &[&LauncherSpec] = &[&torchrun::SPEC, &deepspeed::SPEC, &accelerate::SPEC];

impl ExistingLauncher {
    /// A launcher without a script (`torchrun --help`) launches nothing.
    pub(crate) fn split(command: &[OsString]) -> Option<(Self, ParsedCommand)> {
        let (spec, start) = SPECS
            .iter()
            .find_map(|spec| Some((*spec, spec.count_program_words(command)?)))?;
        let end = start + spec.split_flags(&command[start..]).concat().len();
        let (program, flags) = (command[..start].to_vec(), command[start..end].to_vec());
        let mut rest = &command[end..];
        if rest.first().is_some_and(|word| word == "--") {
            rest = &rest[1..];
        }
        let (args, name) = (
            spec.parse(&flags),
            program.join(OsStr::new(" ")).to_string_lossy().into_owned(),
        );
        let is_plain = is_python(rest.first()?)
            && !["module", "no_python"]
                .iter()
                .any(|name| args.is_given(name));
        let second =
            of_python(&rest[1..]).filter(|(it, _)| is_plain && matches!(it, Target::Script { .. }));
        let (second_python, rest) = rest.split_at(second.map_or(0, |(_, used)| used));
        let (first, trainer_args) = rest.split_first()?;
        let (second_python, behind) = (shell::text(second_python), rest.to_vec());
        let mut launcher = ExistingLauncher {
            spec,
            name,
            program,
            args,
            flags,
            second_python,
            interpreter: Vec::new(),
            behind,
        };
        let target = launcher.target(first);
        let python = (start > 2 || is_python(&command[0])).then(|| command[0].clone());
        let mut owner = first;
        if !matches!(target, Target::Program(_)) {
            owner = &command[0];
            launcher
                .interpreter
                .push(python.clone().unwrap_or_else(|| "python".into()));
            launcher
                .interpreter
                .extend(launcher.args.is_given("module").then(|| "-m".into()));
        }
        Some((
            launcher,
            ParsedCommand::new(target, trainer_args, python, Some(owner.clone())),
        ))
    }

    /// It may launch nothing: `torchrun --help`, `accelerate env`. What DeepSpeed's runner starts on each machine counts too:
    /// written out by hand it says in its own way who starts which ranks.
    pub(crate) fn is_one(command: &[OsString]) -> bool {
        let Some((first, rest)) = command.split_first() else {
            return false;
        };
        SPECS.iter().any(|spec| spec.named_by(command).is_some())
            || is_python(first)
                && of_python(rest).is_some_and(|(it, _)| it.is_module(deepspeed::LAUNCH_MODULE))
    }

    fn target(&self, first: &OsString) -> Target {
        if self.args.is_given("module") {
            return Target::module(first);
        }
        // The launcher itself could not run a console script such as `swift`, but zlaunch rewrites it. Any other word is a
        // file to the launcher.
        if self.args.is_given("no_python") || trainer::is_console(first) {
            Target::Program(first.clone())
        } else {
            Target::script(first)
        }
    }

    /// Its words hold; our flags come before its files and variables.
    pub(crate) fn rank_flags(&self, ours: &RankFlags, host: &Host) -> RankFlags {
        let (stated, ours) = (self.spec.rank_flags(&self.args, host), ours.clone());
        let is_open = |at: usize| !self.args.is_given(self.spec.rank_options[at]);
        RankFlags {
            nproc_per_node: ours
                .nproc_per_node
                .filter(|_| !self.states_count())
                .or(stated.nproc_per_node),
            nnodes: ours.nnodes.filter(|_| is_open(1)).or(stated.nnodes),
            node_rank: ours.node_rank.filter(|_| is_open(2)).or(stated.node_rank),
            master_addr: ours
                .master_addr
                .filter(|_| is_open(3))
                .or(stated.master_addr),
            master_port: ours
                .master_port
                .filter(|_| is_open(4))
                .or(stated.master_port),
        }
    }

    /// Weighs what it says about machines. Typed words decide, but what contradicts them is told; its variables and files
    /// must agree with all other evidence. `None`: it says nothing, or one machine that nobody typed.
    pub(crate) fn weigh(
        &self,
        flags: &RankFlags,
        host: &Host,
    ) -> Option<Result<Vec<Problem>, Vec<Problem>>> {
        let [_, nnodes_option, rank_option, ..] = self.spec.rank_options;
        let stated = self.rank_flags(flags, host);
        let Some(nnodes) = stated.nnodes.clone() else {
            // A range of machines is typed; those of DeepSpeed's are in a file.
            let is_hostfile = self.spec.launcher == deepspeed::SPEC.launcher;
            return Some(Topology::weigh(&stated, !is_hostfile, host));
        };
        let is_typed = flags.nnodes.is_some()
            || self.args.is_given(nnodes_option) && nnodes.from != Source::Default;
        if nnodes.value == 1 && !is_typed {
            return None;
        }
        let is_numbered = stated.node_rank.is_some() || self.without_value(rank_option).is_some();
        if nnodes.value > 1 && !is_numbered && !(self.spec.numbers_machines)(&self.args, host) {
            let what = format!(
                "nothing says which of the {} machines this is: each would be number 0",
                nnodes.value
            );
            let fix = give(format!("--{rank_option}"), "I")
                .of(Owner::Launcher)
                .remark(format!("for `{}`, on each machine", self.name));
            // Beside a number in the command, our own would contradict it.
            let fixes = if self.args.is_given(nnodes_option) {
                fix.into()
            } else {
                fix.or(alone())
            };
            return Some(Err(Problem::error(Rule::Ranks, what)
                .at(&nnodes)
                .fix(fixes)
                .into()));
        }
        Some(Topology::weigh(&stated, is_typed, host))
    }

    pub(crate) fn left_out(&self, command: &[OsString]) -> Vec<OsString> {
        let at = command
            .windows(self.program.len())
            .position(|words| words == self.program);
        [&command[..at.unwrap_or(0)], &self.interpreter, &self.behind].concat()
    }

    /// Refuses a launcher that does not say how many machines there are, if `job` has several of them, or several tasks here.
    /// `line`: the command without it.
    pub(crate) fn not_told(&self, job: &Topology, line: &str) -> Option<Problem> {
        let name = &self.name;
        let ranks = job
            .world_size
            .as_ref()
            .filter(|ranks| job.ranks_exist() && ranks.value > 1);
        let (what, place) = if let Some(ranks) = ranks {
            (
                format!(
                    "this is one of {} ranks, and each would start `{name}`",
                    ranks.value
                ),
                Place::from(ranks),
            )
        } else {
            let nnodes = job.nnodes.as_ref().filter(|nnodes| nnodes.value > 1)?;
            let machines = format!("the job has {} machines", nnodes.value);
            (
                format!("{machines}, unknown to `{name}`: they would not train together"),
                Place::from(nnodes),
            )
        };
        Some(
            Problem::error(Rule::Ranks, what)
                .at(place)
                .at(name)
                .fix(run(line).or(alone())),
        )
    }

    fn states_count(&self) -> bool {
        self.spec
            .count_options
            .iter()
            .any(|name| self.args.is_given(name))
    }

    /// Our flags besides the number of processes, as text and under its own names.
    fn other_flags(
        &self,
        flags: &RankFlags,
    ) -> impl Iterator<Item = (&'static str, Sourced<String>)> {
        let RankFlags {
            nnodes,
            node_rank,
            nproc_per_node: _,
            master_addr,
            master_port,
        } = flags.clone();
        let text = |number: Sourced<u32>| number.map(|value| value.to_string());
        let port = master_port.map(|port| port.map(|value| value.to_string()));
        let ours = [nnodes.map(text), node_rank.map(text), master_addr, port];
        self.spec
            .rank_options
            .into_iter()
            .skip(1)
            .zip(ours)
            .filter_map(|(theirs, flag)| Some((theirs, flag?)))
    }

    /// Our flags that the command contradicts. A variable may be set for a whole site, and gives way.
    pub(crate) fn contradictions(&self, flags: &RankFlags, host: &Host) -> Vec<Problem> {
        let stated = self.spec.rank_flags(&self.args, host).nproc_per_node;
        let count = flags
            .nproc_per_node
            .as_ref()
            .filter(|asked| stated.as_ref().is_none_or(|it| it.value != asked.value));
        let theirs = self
            .spec
            .count_options
            .iter()
            .find_map(|name| self.args.text(name));
        let count = count
            .map(|asked| asked.clone().map(|asked| asked.to_string()))
            .zip(theirs);
        let others = self
            .other_flags(flags)
            .filter_map(|(name, asked)| Some((asked, self.args.text(name)?)));
        let others = others.filter(|(asked, theirs)| {
            asked.value != theirs.value
                && int(&asked.value).is_none_or(|asked| int(&theirs.value) != Some(asked))
        });
        let ours = count
            .into_iter()
            .chain(others)
            .filter(|(asked, _)| asked.from.is_flag());
        ours.map(|(asked, theirs)| {
            let what = "zlaunch and the command give different numbers";
            Problem::error(Rule::Launcher, what)
                .at(&asked)
                .at(&theirs)
                .fix("drop one of them")
        })
        .collect()
    }

    /// Flags that the launcher does not have, and GPUs that the machine does not have.
    pub(crate) fn refused_flags(&self, job: &Job, host: &Host) -> Vec<Problem> {
        let mut problems = deepspeed::slots_problems(self.spec, &self.args, host);
        if !self.second_python.is_empty() {
            let python = &self.second_python;
            let what = format!(
                "`{}` starts Python itself and takes `{python}` for the script",
                self.name
            );
            problems.push(
                Problem::error(Rule::Launcher, what)
                    .at(python)
                    .fix(drop_word(python).of(Owner::Launcher)),
            );
        }
        let takes_value = self.spec.options.lines().filter(|line| !is_switch(line));
        problems.extend(
            takes_value
                .filter_map(|line| self.without_value(option_name(line)))
                .map(|option| {
                    let what = format!("`{option}` has no value (is a variable empty?)");
                    Problem::error(Rule::Launcher, what)
                        .at(&*option)
                        .fix(give(&option, "VALUE").of(Owner::Launcher))
                }),
        );
        for flag in self.spec.unknown_flags(&self.flags) {
            let (word, file) = (
                flag[0].to_string_lossy(),
                self.spec.modules[0].0.replace('.', "/") + ".py",
            );
            let given = word.split('=').next().unwrap_or_default();
            let name = given.trim_start_matches('-').replace('-', "_");
            // Another release may have it.
            let source = job
                .installed_file(&file)
                .and_then(|file| reading::text_if_any(&file));
            if source
                .as_ref()
                .is_some_and(|text| text.contains(&format!("{given}\"")))
            {
                continue;
            }
            let near = nearest(&name, self.spec.options.lines().map(option_name));
            let what = format!("`{}` has no option `{given}`", self.name);
            let fix = match near {
                Some(near) => rename_option(&word, word.replacen(given, &format!("--{near}"), 1)),
                None => drop_word(shell::text(flag)),
            };
            let problem = Problem::error(Rule::Launcher, what)
                .at(&*word)
                .fix(fix.of(Owner::Launcher));
            problems.push(if near.is_some() || source.is_some() {
                problem
            } else {
                problem.into_warning()
            });
        }
        problems
    }

    /// The option, if its value is missing: argparse takes no other option for it, and an empty text is no number.
    fn without_value(&self, name: &str) -> Option<String> {
        let [nproc, nnodes, rank, _, port] = self.spec.rank_options;
        let (option, values) = self.args.list(name)?;
        (values.is_empty() || values == [""] && [nproc, nnodes, rank, port].contains(&name))
            .then_some(option)
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
        let (to_launcher, to_script) = if self.is_given_config(job) {
            (config, None)
        } else {
            (None, config)
        };
        let mut flags = self.flags.clone();
        if let Some(config) = to_launcher {
            let in_file = self
                .run_file(job, Path::new(config), context.host)
                .is_some();
            let option = if in_file { RUN_FILE } else { CONFIG };
            if self.args.is_given(option) {
                flags = self.args.with(option, config);
            } else {
                flags.extend((!self.args.is_given(SWITCH)).then(|| format!("--{SWITCH}").into()));
                flags.extend([format!("--{option}").into(), config.to_os_string()]);
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
        let LaunchContext {
            flags, topology, ..
        } = context;
        let nproc = topology.nproc_per_node.as_ref().map(|nproc| nproc.value);
        let nnodes = topology.nnodes.as_ref().map_or(1, |nnodes| nnodes.value);
        let asked = if self.states_count() {
            None
        } else {
            flags.nproc_per_node.as_ref()
        };
        let count = asked.map(|asked| match (self.spec.count_meaning, nproc) {
            (CountMeaning::PerNodeOrWord, _) | (_, None) => asked.value.to_string(),
            (CountMeaning::PerNode, Some(nproc)) => nproc.to_string(),
            (CountMeaning::Total, Some(nproc)) => {
                (u64::from(nproc) * u64::from(nnodes)).to_string()
            }
        });
        let others = self
            .other_flags(flags)
            .map(|(theirs, flag)| (theirs, Some(flag.value)));
        let all = [(self.spec.rank_options[0], count)]
            .into_iter()
            .chain(others);
        option_words(all.filter(|(theirs, _)| !self.args.is_given(theirs))).collect()
    }
}
