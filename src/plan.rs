//! The decision: everything a launch will do, as a plain value. `--dry-run` prints it, `exec` carries it out.

mod print;

use std::ffi::OsString;
use std::path::PathBuf;

use serde_json::Value;

use crate::auto::{self, Fill, Known, LeftAuto, Resolved};
use crate::cli::{self, Format, Launch};
use crate::config;
use crate::environment::{self, Environment};
use crate::error::{self, Problem, Severity};
use crate::host::Host;
use crate::json;
use crate::launcher::{self, Kind};
use crate::said::{Said, Source};
use crate::template::{self, Origin, Template};
use crate::topology::Topology;
use crate::trainer::{self, Family, Job};

pub(crate) struct Plan {
    pub(crate) trainer: TrainerFacts,
    pub(crate) topology: Topology,
    pub(crate) launcher: Kind,
    pub(crate) config: Option<PlannedConfig>,
    pub(crate) environment: Environment,
    pub(crate) argv: Vec<OsString>,
    pub(crate) diagnostics: Vec<Problem>,
    /// Why this cannot be started here, though it can be planned.
    pub(crate) blocker: Option<Problem>,
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
}

pub(crate) struct PlannedFile {
    pub(crate) path: PathBuf,
    pub(crate) kind: FileKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// Named after its content, in our folder in the user's cache.
    InCache,
    /// The same in a temporary folder that others can write to: the folder must prove to be ours.
    InTemporary,
    /// Where the user wants it.
    Named,
}

impl Plan {
    /// Decides. Reads files the user named; changes nothing.
    pub(crate) fn new(launch: &Launch, host: &Host) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let Launch {
            deepspeed,
            search,
            layers,
            no_fill,
            trainer,
            launcher,
            topology,
            launcher_args,
            environment,
            config_out,
            output,
            strict,
            allow,
            warnings,
            command,
        } = launch;
        let job = trainer::understand(command, trainer.as_ref(), host);
        let said = config_said(deepspeed.as_ref(), &job);
        let mut diagnostics: Vec<Problem> = warnings.clone();
        diagnostics.extend(said.replaced);
        if job.trainer.family == Family::Opaque && launcher.is_none() && job.wrapped.is_none() {
            diagnostics.extend(
                topology.nproc_per_node.as_ref().map(|said| error::ranks_without_effect(&said.from, job.target.name())),
            );
        }

        let topology_flags = topology;
        let topology = keep(Topology::decide(topology_flags, &job, host), &mut problems);
        let template = said.spec.and_then(|spec| {
            keep_one(hand_over(&job, &spec).and_then(|()| template::resolve(&spec, search, host)), &mut problems)
        });
        let layered =
            template.as_ref().and_then(|template| keep(config::with_layers(template, layers, host), &mut problems));
        if template.is_none() && problems.is_empty() {
            problems.extend(without_config(layers, config_out.as_ref()));
        }
        let kind = topology.as_ref().and_then(|topology| {
            keep(launcher::choose(launcher.as_ref(), &job, topology, topology_flags), &mut problems)
        });
        let resolved = match (&topology, &template, &layered) {
            (Some(topology), Some(template), Some(config)) => {
                let hidden = auto::hidden_size(&job, config, host);
                let known = Known { job: &job, topology, config, hidden, host };
                keep(auto::resolve(&known, !no_fill, |key| place_of(key, template, layers)), &mut problems)
            }
            _ => None,
        };
        let (Some(topology), Some(kind)) = (topology, kind) else { return Err(problems) };
        if !problems.is_empty() {
            return Err(problems);
        }
        let environment = environment::decide(template.as_ref(), environment, kind, &topology, &job, host);
        let config = match (template, resolved) {
            (Some(mut template), Some(resolved)) => {
                diagnostics.append(&mut template.notes);
                Some(planned_config(template, resolved, config_out.as_ref(), host).map_err(|problem| vec![problem])?)
            }
            _ => None,
        };
        let args = match &config {
            Some(config) => job.args.with(job.trainer.config_argument, config.file.path.as_os_str()),
            None => job.args.words().to_vec(),
        };
        let argv = launcher::argv(kind, &job, &topology, topology_flags, launcher_args, args, host);
        diagnostics.retain(|problem| !allow.iter().any(|rule| rule == problem.rule));
        if *strict && !diagnostics.is_empty() {
            for problem in &mut diagnostics {
                problem.severity = Severity::Error;
            }
            return Err(diagnostics);
        }
        // Looking the version up means listing site-packages: only for those who read it.
        let read = matches!(
            output,
            cli::Output::DryRun(Format::Text | Format::Json) | cli::Output::Launch { verbose: true, .. }
        );
        let trainer = TrainerFacts {
            name: job.trainer.name,
            version: if read { job.version() } else { None },
            python: job.python.as_ref().map(|python| python.program.clone()),
            runs: print::what_runs(&job, command),
        };
        Ok(Plan {
            trainer,
            topology,
            launcher: kind,
            config,
            environment,
            argv,
            diagnostics,
            blocker: job.blocker,
            home: host.home(),
        })
    }
}

/// Which config was asked for, and by whom.
struct ConfigSaid {
    spec: Option<Said<String>>,
    /// Our flag and the trainer's argument name two.
    replaced: Option<Problem>,
}

fn config_said(flag: Option<&Said<String>>, job: &Job) -> ConfigSaid {
    let own = if job.trainer.family == Family::Opaque { None } else { job.args.text(job.trainer.config_argument) };
    match (flag, own) {
        (Some(flag), Some(own)) if flag.value != own.value => {
            ConfigSaid { spec: Some(flag.clone()), replaced: Some(error::two_configs(flag, &own)) }
        }
        (Some(flag), _) => ConfigSaid { spec: Some(flag.clone()), replaced: None },
        // The trainers take an empty text as no config.
        (None, own) => ConfigSaid { spec: own.filter(|own| !own.value.is_empty()), replaced: None },
    }
}

/// Whether the config can reach the trainer at all.
fn hand_over(job: &Job, spec: &Said<String>) -> Result<(), Problem> {
    if job.trainer.family == Family::Opaque {
        let name = job.target.name();
        let swift = job.args.words().first().filter(|_| name == "swift");
        let command = swift.map_or_else(|| name.to_string(), |word| format!("swift {}", word.to_string_lossy()));
        return Err(error::no_way_to_hand_over(spec, &command));
    }
    match trainer::only_run_file(&job.args) {
        Some(file) => Err(error::run_file_holds_arguments(spec, file)),
        None => Ok(()),
    }
}

/// Layers that were asked for here and now; a variable may serve a whole site.
fn without_config(layers: &cli::Layers, out: Option<&Said<PathBuf>>) -> Option<Problem> {
    let cli::Layers { patch, unset, set } = layers;
    let places = patch
        .iter()
        .chain(out)
        .map(|said| (&said.from, said.value.display().to_string()))
        .chain(unset.iter().map(|said| (&said.from, said.value.clone())))
        .chain(set.iter().map(|said| (&said.from, said.value.0.clone())));
    let flags = places.filter(|(from, _)| matches!(from, Source::Flag(_)));
    let places: Vec<String> = flags.map(|(from, value)| format!("{from} {value}")).collect();
    (!places.is_empty()).then(|| error::layers_without_config(places))
}

/// Where a key of the config was written: the last `--set` of it, else the template.
fn place_of(key: &str, template: &Template, layers: &cli::Layers) -> String {
    let set = layers.set.iter().rev().find(|said| said.value.0 == key);
    match (set, &template.origin) {
        (Some(said), _) => format!("{} {key}={}", said.from, said.value.1),
        (None, Origin::BuiltIn) => format!("template {}, {key}", template.name),
        (None, origin) => format!("{origin}, {key}"),
    }
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
        Some(out) => {
            let path = host.absolute(&out.value);
            if matches!(&template.origin, Origin::File(source) if same_file(source, &path)) {
                return Err(error::would_overwrite_the_template(out));
            }
            PlannedFile { path, kind: FileKind::Named }
        }
        None => {
            let folder = host.configs_folder();
            let name = format!("{}-{:016x}.json", template.name, fnv1a(text.as_bytes()));
            let kind = if folder.shared_parent { FileKind::InTemporary } else { FileKind::InCache };
            PlannedFile { path: folder.path.join(name), kind }
        }
    };
    Ok(PlannedConfig { template, value: config, text, fills, left, file })
}

fn same_file(one: &std::path::Path, two: &std::path::Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (std::fs::metadata(one), std::fs::metadata(two)) {
        (Ok(one), Ok(two)) => (one.dev(), one.ino()) == (two.dev(), two.ino()),
        _ => false,
    }
}

/// 64-bit FNV-1a: a file name needs no cryptography.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Goes on without the value, so that all problems are found at once.
fn keep<T>(result: Result<T, Vec<Problem>>, problems: &mut Vec<Problem>) -> Option<T> {
    result.map_err(|mut found| problems.append(&mut found)).ok()
}

fn keep_one<T>(result: Result<T, Problem>, problems: &mut Vec<Problem>) -> Option<T> {
    result.map_err(|found| problems.push(found)).ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn fnv1a_is_fnv1a() {
        // The published vectors of the 64-bit variant.
        assert_eq!(super::fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(super::fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(super::fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
