//! The decision: everything a launch will do, as a plain value. `--dry-run` prints it, `exec` carries it out.

mod print;

pub(crate) use print::refused_json;

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::auto::{self, Fill, Known, LeftAuto, Resolved};
use crate::check::{self, Subject};
use crate::cli::Launch;
use crate::config::{self, Layers};
use crate::environment::{self, Environment};
use crate::error::{self, Problem, Severity};
use crate::fit;
use crate::hash::fnv1a;
use crate::host::Host;
use crate::json;
use crate::launcher::local::Local;
use crate::launcher::srun::{self, Through};
use crate::launcher::{self, Kind, Wrapped, wrapped};
use crate::machine;
use crate::record::Record;
use crate::said::{Said, Source};
use crate::target::Parts;
use crate::template::{self, Origin, Template};
use crate::topology::Topology;
use crate::trainer::{self, Family, Job};
use crate::vars;

pub(crate) struct Plan {
    pub(crate) trainer: TrainerFacts,
    pub(crate) topology: Topology,
    pub(crate) launcher: Kind,
    /// The ranks, where zlaunch starts them itself.
    pub(crate) local: Option<Local>,
    pub(crate) config: Option<PlannedConfig>,
    /// Why `auto` became this template.
    pub(crate) chosen: Option<String>,
    pub(crate) environment: Environment,
    pub(crate) argv: Vec<OsString>,
    pub(crate) diagnostics: Vec<Problem>,
    /// Why this cannot be started here, though it can be planned.
    pub(crate) blocker: Option<Problem>,
    /// The variables for the other machines of a hostfile, and their file.
    pub(crate) carried: Option<(PathBuf, String)>,
    /// The port on which the ranks meet, if that is on this machine.
    pub(crate) opens: Option<Said<u16>>,
    pub(crate) record: Option<Record>,
    home: Option<PathBuf>,
}

pub(crate) struct TrainerFacts {
    pub(crate) name: &'static str,
    pub(crate) version: Option<String>,
    pub(crate) python: Option<PathBuf>,
    /// What the ranks run, in words for a person.
    pub(crate) runs: String,
}

/// The config and the file it will be written to.
pub(crate) struct PlannedConfig {
    pub(crate) template: Template,
    pub(crate) value: Value,
    pub(crate) text: String,
    pub(crate) fills: Vec<Fill>,
    pub(crate) left: Vec<LeftAuto>,
    pub(crate) file: PlannedFile,
    /// The command's run file written anew, where it names the config.
    pub(crate) run_file: Option<(PathBuf, String)>,
}

impl PlannedConfig {
    /// The file the trainer is given.
    fn handed_over(&self) -> &OsStr {
        self.run_file.as_ref().map_or(self.file.path.as_os_str(), |(path, _)| path.as_os_str())
    }
}

pub(crate) struct PlannedFile {
    pub(crate) path: PathBuf,
    pub(crate) kind: FileKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// Named after its content, in a folder of ours.
    Ours,
    /// Where the user wants it.
    Named,
}

impl Plan {
    /// Decides. Reads files the user named; changes nothing.
    pub(crate) fn new(launch: &Launch, machine: &Host) -> Result<Self, Vec<Problem>> {
        Self::with_job(launch, machine).0
    }

    /// The decision, and the command as it was understood.
    pub(crate) fn with_job(launch: &Launch, machine: &Host) -> (Result<Self, Vec<Problem>>, Job) {
        drafted(launch, machine, |draft, problems| draft.finish(problems, machine))
    }
}

/// What a command trains and where, for who does not want to launch it.
pub(crate) fn understood<T>(
    launch: &Launch,
    machine: &Host,
    then: impl FnOnce(&Job, Result<Topology, Vec<Problem>>, &Host) -> Result<T, Vec<Problem>>,
) -> Result<T, Vec<Problem>> {
    drafted(launch, machine, |draft, problems| {
        if problems.is_empty() { then(draft.job, draft.topology(), draft.host) } else { Err(problems) }
    })
    .0
}

/// Understands the command; `then` is told what is wrong with it.
fn drafted<T>(launch: &Launch, machine: &Host, then: impl FnOnce(&Draft, Vec<Problem>) -> T) -> (T, Job) {
    let wanted = machine.with(&launch.environment.set, &launch.environment.unset);
    let through = srun::unwrap(&launch.command);
    let command = through.as_ref().map_or(launch.command.as_slice(), |through| through.command);
    let (wrapped, parts) = match wrapped::unwrap(command) {
        Some((wrapped, parts)) => (Some(wrapped), parts),
        None => (None, Parts::of(command)),
    };
    let mut job = trainer::understand(&parts, launch.trainer.as_ref(), &wanted);
    // What zlaunch has no part in stays as it is.
    if through.is_some() && wrapped.is_none() && job.trainer.family == Family::Opaque {
        job = trainer::understand(&Parts::of(&launch.command), launch.trainer.as_ref(), &wanted);
    }
    let through = through.filter(|_| wrapped.is_some() || job.trainer.family != Family::Opaque);
    // An unchanged script that knows nothing of a config must run as if nobody stood in front of it.
    let draft = Draft { launch, host: &wanted, through: None, wrapped: wrapped.as_ref(), job: &job };
    let untouched = wanted.filled(vars::ZLAUNCH_SHIM_OF).is_some() && !draft.names_config();
    let wrapped = wrapped.filter(|_| !untouched);
    let through = through.filter(|_| !untouched);
    if untouched {
        job = trainer::untouched(&launch.command, &wanted);
    }
    // Then the launcher is given the config, not the script.
    if wrapped.as_ref().is_some_and(Wrapped::takes_config) {
        job.run_file = None;
    }
    let host = wanted.overlaid(job.variables.iter().map(|it| (it.name.as_str(), it.value.as_str())));
    let problems = std::mem::take(&mut job.problems);
    let draft = Draft { launch, host: &host, through: through.as_ref(), wrapped: wrapped.as_ref(), job: &job };
    let said = then(&draft, problems);
    (said, job)
}

/// What is known before the first decision.
struct Draft<'a> {
    launch: &'a Launch,
    host: &'a Host,
    /// The command starts with `srun`.
    through: Option<&'a Through<'a>>,
    wrapped: Option<&'a Wrapped>,
    job: &'a Job,
}

impl Draft<'_> {
    fn finish(&self, mut problems: Vec<Problem>, seen: &Host) -> Result<Plan, Vec<Problem>> {
        let Draft { launch, host, wrapped, job, .. } = self;
        let mut diagnostics = launch.warnings.clone();
        diagnostics.extend(self.ranks_without_effect());
        let mut findings = Vec::new();
        let topology = keep(self.topology(), &mut problems);
        let kind = topology.as_ref().and_then(|topology| keep(self.launcher(topology), &mut problems));
        diagnostics.extend(kind.into_iter().flat_map(|kind| launch.rank_output.without_effect(kind)));
        let mut chosen = None;
        let template = self.template(topology.as_ref(), &mut chosen, &mut problems, &mut diagnostics);
        let config = match (&topology, template) {
            (Some(topology), Some(template)) => {
                keep(self.config(template, topology, kind, &mut findings), &mut problems)
            }
            (_, None) if problems.is_empty() => {
                problems.extend(without_config(&launch.layers, launch.config_out.as_ref()));
                None
            }
            // The ranks are not known, but wrong layers can be told all the same.
            (None, Some(template)) => {
                match config::with_layers(&template, &launch.layers, host) {
                    Ok(config) => self.check(&config, &config, &template, None, None, &mut findings),
                    Err(wrong) => problems.extend(wrong),
                }
                None
            }
            (_, None) => None,
        };
        // What is missing here may be there on the machines.
        if let Some(config) = config.as_ref().filter(|_| kind != Some(Kind::Srun)) {
            diagnostics.extend(machine::at_launch(&config.value, job.python.as_ref(), host));
        }
        if config.is_none() && findings.is_empty() {
            self.check_environment(topology.as_ref(), kind, &mut findings);
        }
        sort_in(findings, &mut problems, &mut diagnostics);
        diagnostics.extend(topology.iter().flat_map(|topology| topology.notes.iter().cloned()));
        diagnostics.retain(|problem| !launch.allow.iter().any(|rule| rule == problem.rule));
        let (Some(topology), Some(kind), true) = (topology, kind, problems.is_empty()) else {
            problems.append(&mut diagnostics);
            return Err(problems);
        };
        let warned = diagnostics.iter().any(|problem| problem.severity == Severity::Warning);
        if launch.strict && warned && !launch.output.check {
            diagnostics.retain(|problem| problem.severity == Severity::Warning);
            diagnostics.iter_mut().for_each(Problem::make_error);
            return Err(diagnostics);
        }
        let mut environment = environment::decide(
            config.as_ref().map(|it| &it.template),
            &launch.environment,
            kind,
            &topology,
            job,
            host,
            seen,
        );
        let carried = launcher::environment_file(&topology, &environment.set, host)?.map(|text| {
            let path = host.configs_folder().join(format!("deepspeed_env-{:016x}", fnv1a(text.as_bytes())));
            environment.set(vars::DS_ENV_FILE, path.as_os_str(), "for the other machines".to_string());
            (path, text)
        });
        let path = config.as_ref().map(PlannedConfig::handed_over);
        let plain = launch.launcher_args.is_empty();
        let variables = wrapped.filter(|_| plain).and_then(|wrapped| wrapped.as_torchrun(job, &topology, path, host));
        let kind = if variables.is_some() { Kind::Torchrun } else { kind };
        let translated = variables.is_some();
        for (name, value) in variables.into_iter().flatten().filter(|(name, _)| !launch.environment.says(name)) {
            environment.set(name, value, "as accelerate launch sets it".to_string());
        }
        let argv = self.argv(kind, translated, &topology, path)?;
        let trainer = self.trainer_facts();
        // What is missing here may be there on the machines.
        let blocker = job.blocker.clone().filter(|_| kind != Kind::Srun);
        let opens = topology.opens_port(kind == Kind::Torchrun).cloned();
        let local = (kind == Kind::Local).then(|| Local::new(&topology, &launch.rank_output, host));
        let mut plan = Plan {
            trainer,
            topology,
            launcher: kind,
            local,
            config,
            chosen,
            environment,
            argv,
            diagnostics,
            blocker,
            carried,
            opens,
            record: None,
            home: host.home(),
        };
        plan.record = Record::new(&plan, launch, job, host)?;
        Ok(plan)
    }

    /// Everything that is executed. `translated`: torchrun stands in for the launcher of the command.
    fn argv(
        &self,
        kind: Kind,
        translated: bool,
        topology: &Topology,
        config: Option<&OsStr>,
    ) -> Result<Vec<OsString>, Problem> {
        let Draft { launch, host, through, wrapped, job } = self;
        if kind == Kind::Srun {
            let asked = launch.launcher.as_ref().is_some_and(|asked| asked.value == Kind::Srun);
            let extra = if asked { launch.launcher_args.as_slice() } else { &[] };
            return srun::argv(*through, topology, launch.options_again(), extra, &launch.command, host);
        }
        if let Some(wrapped) = wrapped.filter(|_| !translated) {
            return Ok(wrapped.argv(job, &launch.topology, topology, &launch.launcher_args, config, host));
        }
        let mut argv = launcher::head(kind, job, topology, &launch.launcher_args, &launch.hosts, host);
        argv.extend(job.words(config.filter(|_| !translated)));
        Ok(argv)
    }

    fn trainer_facts(&self) -> TrainerFacts {
        let Draft { launch, job, .. } = self;
        // Looking the version up means listing site-packages: only for those who read it.
        let is_read = launch.output.is_read() || launch.record.is_some();
        TrainerFacts {
            name: job.trainer.name,
            version: is_read.then(|| job.version()).flatten().map(|version| version.0),
            python: job.python.as_ref().map(|python| python.program.clone()),
            runs: print::what_runs(job, &launch.command),
        }
    }

    fn topology(&self) -> Result<Topology, Vec<Problem>> {
        let flags = &self.launch.topology;
        if let Some(through) = self.through {
            through.possible(self.host)?;
            return Ok(Topology::elsewhere(self.host));
        }
        if let Some(wrapped) = self.wrapped {
            let mut contradictions = wrapped.contradictions(flags, self.host);
            contradictions
                .extend(self.launch.hosts.flags().map(|said| error::hosts_of_the_command(&said, wrapped.name())));
            let stated = wrapped.stated(flags, self.host);
            return if contradictions.is_empty() {
                Ok(Topology::wrapped(flags, stated, self.host))
            } else {
                Err(contradictions)
            };
        }
        let asked = self.launch.launcher.as_ref();
        let asked = asked.is_some_and(|asked| asked.value != Kind::Direct && asked.from.is_flag());
        let said = || flags.nproc_per_node.is_some() || flags.nnodes.is_some() || Topology::is_scheduled(self.host);
        let ranked = asked || self.job.trainer.launches_itself && said();
        Topology::decide(flags, &self.launch.hosts, ranked || self.job.trainer.family != Family::Opaque, self.host)
    }

    fn launcher(&self, topology: &Topology) -> Result<Kind, Vec<Problem>> {
        let asked = self.launch.launcher.as_ref();
        let kind = match self.wrapped {
            _ if self.through.is_some() => Kind::Srun,
            Some(wrapped) => match asked.filter(|asked| asked.from.is_flag() && asked.value != wrapped.runner.kind) {
                Some(asked) => return Err(vec![error::already_a_launcher(asked, wrapped.name())]),
                None => wrapped.runner.kind,
            },
            None => launcher::choose(asked, self.job, topology)?,
        };
        let problems = launcher::check_extra(kind, &self.launch.launcher_args);
        if problems.is_empty() { Ok(kind) } else { Err(problems) }
    }

    /// A number of processes that was asked for a command that is executed once.
    fn ranks_without_effect(&self) -> Option<Problem> {
        let once =
            self.job.trainer.family == Family::Opaque && self.launch.launcher.is_none() && self.wrapped.is_none();
        let once = once && !self.job.trainer.launches_itself;
        let asked = self.launch.topology.nproc_per_node.as_ref().filter(|_| once)?;
        Some(error::ranks_without_effect(&asked.from, self.job.target.name(), self.job.starts_ranks()))
    }

    /// The config that was asked for: our flag, else the command's own.
    fn template(
        &self,
        topology: Option<&Topology>,
        chosen: &mut Option<String>,
        problems: &mut Vec<Problem>,
        diagnostics: &mut Vec<Problem>,
    ) -> Option<Template> {
        let own = self.own_config();
        let spec = match (&self.launch.deepspeed, own) {
            (Some(flag), own) => {
                diagnostics.extend(own.filter(|own| own.value != flag.value).map(|own| error::two_configs(flag, &own)));
                flag.clone()
            }
            // The trainers take an empty text as no config.
            (None, own) => own.filter(|own| !own.value.is_empty())?,
        };
        let mut named = spec.clone();
        let resolved = self.can_hand_over(&spec).map_err(Vec::from).and_then(|()| {
            // Without ranks there is nothing to choose by, and that is the problem told.
            if let Some(topology) = topology.filter(|_| spec.value == fit::AUTO) {
                let (name, why) = fit::choose(&spec, self.job, topology, self.launch, self.host)?;
                named.value = name;
                *chosen = Some(why);
            }
            template::resolve(&named, &self.launch.search, self.host)
        });
        let mut template = resolved.map_err(|mut told| problems.append(&mut told)).ok()?;
        diagnostics.append(&mut template.notes);
        Some(template)
    }

    fn names_config(&self) -> bool {
        self.launch.deepspeed.is_some() || self.own_config().is_some_and(|own| !own.value.is_empty())
    }

    fn own_config(&self) -> Option<Said<String>> {
        let trainers = (self.job.trainer.family != Family::Opaque)
            .then(|| self.job.args.text((self.job.trainer.config_argument)(&self.job.args)))
            .flatten();
        trainers.or_else(|| self.wrapped?.config(self.host))
    }

    /// Whether the config can reach the trainer at all.
    fn can_hand_over(&self, spec: &Said<String>) -> Result<(), Problem> {
        let job = self.job;
        if self.wrapped.is_some_and(Wrapped::takes_config) {
            return Ok(());
        }
        let name = (job.trainer.config_argument)(&job.args);
        if job.trainer.family == Family::Opaque || !job.takes(name) {
            // A program that does not exist is the nearer problem.
            return Err(job
                .blocker
                .clone()
                .unwrap_or_else(|| error::no_way_to_hand_over(spec, &print::what_runs(job, &self.launch.command))));
        }
        Ok(())
    }

    fn config(
        &self,
        template: Template,
        topology: &Topology,
        kind: Option<Kind>,
        findings: &mut Vec<Problem>,
    ) -> Result<PlannedConfig, Vec<Problem>> {
        let Launch { layers, no_fill, config_out, .. } = self.launch;
        let config = config::with_layers(&template, layers, self.host)?;
        // A variable the template brings counts as set.
        let host = self.host.with_more(template.env.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let hidden = auto::hidden_size(self.job, &config, &host);
        let known = Known { job: self.job, topology, config: &config, hidden, host: &host };
        let policy = if *no_fill {
            auto::Policy::Leave("--no-fill")
        } else if self.wrapped.is_some_and(Wrapped::takes_config) {
            auto::Policy::Another("accelerate launch fills it")
        } else {
            auto::Policy::Fill
        };
        let (resolved, problems) =
            auto::resolve(&known, policy, |key| place_of(key, &config, &template, layers, self.host));
        self.check(&resolved.config, &config, &template, Some(topology), kind, findings);
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut planned = planned_config(template, resolved, config_out.as_ref(), self.host)?;
        planned.run_file = self.run_file(&planned.file.path);
        if let Some(pool) = topology.pool.as_ref().filter(|pool| pool.0.len() > 1)
            && self.host.is_of_this_machine(&planned.file.path)
        {
            return Err(vec![error::config_not_shared(&planned.file.path, pool.0.len())]);
        }
        Ok(planned)
    }

    /// The rules about the config and about the environment it meets. `written` is the config before it was filled.
    fn check(
        &self,
        config: &Value,
        written: &Value,
        template: &Template,
        topology: Option<&Topology>,
        kind: Option<Kind>,
        findings: &mut Vec<Problem>,
    ) {
        let place = |key: &str| place_of(key, written, template, &self.launch.layers, self.host);
        let subject = Subject::new(config, self.job, topology, kind, self.host, &template.env, &place);
        let notes = self.launch.output.wants_notes();
        findings.extend(check::config(&subject, &self.launch.allow, notes));
        findings.extend(check::environment(&subject, &self.launch.allow, notes));
    }

    /// The same for a command without a config.
    fn check_environment(&self, topology: Option<&Topology>, kind: Option<Kind>, findings: &mut Vec<Problem>) {
        if self.job.trainer.family == Family::Opaque {
            return;
        }
        let place = |key: &str| key.to_string();
        let subject = Subject::new(&Value::Null, self.job, topology, kind, self.host, &[], &place);
        findings.extend(check::environment(&subject, &self.launch.allow, self.launch.output.wants_notes()));
    }

    /// The run file that holds all arguments, naming our config.
    fn run_file(&self, config: &Path) -> Option<(PathBuf, String)> {
        let mut entries = self.job.run_file.clone()?;
        let name = (self.job.trainer.config_argument)(&self.job.args);
        entries.insert(name.to_string(), Value::from(config.to_string_lossy()));
        let text = json::write(&Value::Object(entries));
        let source = Path::new(self.job.words(None).first()?).to_path_buf();
        let (stem, ending) =
            (source.file_stem()?.to_string_lossy().into_owned(), source.extension()?.to_string_lossy().into_owned());
        let name = format!("{stem}-{:016x}.{ending}", fnv1a(text.as_bytes()));
        Some((self.host.configs_folder().join(name), text))
    }
}

/// What the rules found, where it belongs.
fn sort_in(findings: Vec<Problem>, problems: &mut Vec<Problem>, diagnostics: &mut Vec<Problem>) {
    // A mismatch says the same as these.
    let mismatched = problems.iter().any(|problem| problem.rule == "mismatch");
    for found in findings.into_iter().filter(|found| !(mismatched && found.rule.starts_with("batch-"))) {
        if found.severity == Severity::Error { problems.push(found) } else { diagnostics.push(found) }
    }
}

/// Layers that were asked for here and now; a variable may serve a whole site.
fn without_config(layers: &Layers, out: Option<&Said<PathBuf>>) -> Option<Problem> {
    let Layers { patch, unset, set } = layers;
    let places = patch
        .iter()
        .chain(out)
        .map(|said| (&said.from, said.value.display().to_string()))
        .chain(unset.iter().map(|said| (&said.from, said.value.clone())))
        .chain(set.iter().map(|said| (&said.from, said.value.0.clone())));
    let flags = places.filter(|(from, _)| matches!(from, Source::Flag(_)));
    let places: Vec<String> = flags.map(|(from, value)| from.with(value)).collect();
    (!places.is_empty()).then(|| error::layers_without_config(places))
}

/// Where a key of the config was written: the last `--set` of it, a `--patch` that changed it, else the file it stands in.
/// Only asked for when there is something to say, so the files are read again.
fn place_of(key: &str, config: &Value, template: &Template, layers: &Layers, host: &Host) -> String {
    // Itself, or the section around it.
    let sets = |said: &&Said<(String, Value)>| {
        key.strip_prefix(&said.value.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    if let Some(said) = layers.set.iter().rev().find(sets) {
        return said.from.with(format!("{}={}", said.value.0, said.value.1));
    }
    let inside = |path: &Path| {
        let (line, column) = json::position(&json::read_text(path).ok()?, key)?;
        Some(format!("{}:{line}:{column}", path.display()))
    };
    let patched = json::get(config, key) != json::get(&template.config, key);
    if let Some(patch) = layers.patch.last().filter(|_| patched) {
        let path = host.absolute(&patch.value);
        return inside(&path).unwrap_or_else(|| format!("{}, {key}", patch.value.display()));
    }
    // Of a chain, the first file that has it.
    let files = template.origins.iter().filter_map(|origin| match origin {
        Origin::File(path) => Some(path),
        _ => None,
    });
    files.map(PathBuf::as_path).find_map(inside).unwrap_or_else(|| match &template.origin {
        Origin::BuiltIn => format!("template {}, {key}", template.name),
        origin => format!("{origin}, {key}"),
    })
}

fn planned_config(
    template: Template,
    resolved: Resolved,
    out: Option<&Said<PathBuf>>,
    host: &Host,
) -> Result<PlannedConfig, Problem> {
    let Resolved { config, fills, left } = resolved;
    let text = json::write(&config);
    let file = match out {
        Some(out) => named_file(out, &template, host)?,
        None => {
            let name = format!("{}-{:016x}.json", template.name, fnv1a(text.as_bytes()));
            PlannedFile { path: host.configs_folder().join(name), kind: FileKind::Ours }
        }
    };
    Ok(PlannedConfig { template, value: config, text, fills, left, file, run_file: None })
}

fn named_file(out: &Said<PathBuf>, template: &Template, host: &Host) -> Result<PlannedFile, Problem> {
    let path = host.absolute(&out.value);
    if matches!(&template.origin, Origin::File(source) if same_file(source, &path)) {
        return Err(error::would_overwrite_the_template(out));
    }
    if path.exists() && !path.is_file() {
        return Err(error::not_a_file(&path));
    }
    if !path.parent().is_some_and(Path::is_dir) {
        return Err(error::no_such_folder(&path));
    }
    Ok(PlannedFile { path, kind: FileKind::Named })
}

fn same_file(one: &Path, two: &Path) -> bool {
    match (std::fs::metadata(one), std::fs::metadata(two)) {
        (Ok(one), Ok(two)) => (one.dev(), one.ino()) == (two.dev(), two.ino()),
        _ => false,
    }
}

/// Goes on without the value, so that all problems are found at once.
fn keep<T>(result: Result<T, Vec<Problem>>, problems: &mut Vec<Problem>) -> Option<T> {
    result.map_err(|mut found| problems.append(&mut found)).ok()
}
