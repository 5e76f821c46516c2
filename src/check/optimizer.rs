//! The `optimizer` and `scheduler` sections, and which optimizer really runs.

use serde_json::{Map, Value};

use super::findings::{Check, Findings};
use super::subject::{RATIO, STAGE, Subject};
use crate::base::python_value::typed;
use crate::base::recorded::Version;
use crate::config::schema;
use crate::report::{Rule, Severity, When, did_you_mean, nearest};

const OFFLOAD: &str = "zero_optimization.offload_optimizer.device";

pub(super) const RULES: &[Check] = &[
    Check::code(Rule::OptimizerType, Severity::Error, When::Start, optimizer_type)
        .doc("an optimizer that neither DeepSpeed nor torch.optim has"),
    Check::code(Rule::OptimizerParameter, Severity::Error, When::Start, optimizer_parameter)
        .doc("a parameter that the optimizer does not take"),
    Check::code(Rule::UntestedOptimizer, Severity::Error, When::Start, untested_optimizer)
        .doc("an optimizer that ZeRO was not tested with, without zero_allow_untested_optimizer"),
    Check::row(Rule::LambOffload, Severity::Error, When::Step)
        .doc("Lamb has no version for host memory: its CUDA kernel is fed CPU tensors")
        .holds(|subject| subject.offloads_optimizer() && is_named(subject, "lamb"))
        .says(
            &["optimizer.type", OFFLOAD],
            "Lamb cannot run on {device}: its CUDA kernel would be fed CPU tensors",
            "--set zero_optimization.offload_optimizer.device=none, or --set optimizer.type=AdamW",
        ),
    Check::code(Rule::PartialOffloadOptimizer, Severity::Error, When::Start, |subject, found| {
        let works = |name: &String| matches!(name.as_str(), "adam" | "adamw");
        let partial = subject.offloads_in_part() && subject.stage_is(&[3]) && subject.offloads_optimizer();
        if let Some(name) = named(subject).filter(|name| partial && !works(name)) {
            let what = format!("`{RATIO}` is below 1, which works with Adam and AdamW only, not with {name}");
            found.key(&[RATIO, "optimizer.type"], what, format!("--set {RATIO}=1"));
        }
    })
    .doc("offload_optimizer.ratio below 1 works with Adam and AdamW only"),
    Check::code(Rule::OptimizerReplaced, Severity::Warning, When::Silent, optimizer_replaced)
        .doc("with the optimizer in host memory accelerate replaces --optim by DeepSpeed's CPU Adam"),
    // Also where the section is empty or null. A later release may mend it, hence no error.
    Check::row(Rule::SwiftOptimizer, Severity::Warning, When::Start)
        .doc("an optimizer section under ms-swift from 4.2.0 on, whose trainer fails once model and data are loaded")
        .holds(|subject| {
            let fails = || subject.job.version().is_none_or(|version| !version.is_before([4, 2, 0]));
            subject.job.trainer.name == "swift" && subject.get("optimizer").is_some() && fails()
        })
        .says(
            &["optimizer"],
            "ms-swift 4.2.0 to 4.6.0 fails with an `optimizer` section, once model and data are loaded: 'DummyOptim' \
             object has no attribute 'param_groups'",
            "--unset optimizer",
        ),
    Check::row(Rule::TrainerOptimizer, Severity::Warning, When::Start)
        .doc(
            "a trainer that brings its own optimizer (xtuner), once it is in host memory: DeepSpeed refuses all but \
             its own",
        )
        .holds(|subject| subject.job.trainer.sets("optimizer.params.lr") && forces_own(subject))
        .says(
            &[OFFLOAD],
            "the trainer's own optimizer is refused, unless it is DeepSpeedCPUAdam",
            "--set zero_force_ds_cpu_optimizer=false",
        ),
    Check::row(Rule::ClientOptimizer, Severity::Note, When::Start)
        .doc("a script's own optimizer must be DeepSpeedCPUAdam or DeepSpeedCPULion once it is in host memory")
        .holds(|subject| subject.is_plain() && forces_own(subject) && subject.get("optimizer").is_none())
        .says(
            &[OFFLOAD],
            "the script's own optimizer must be DeepSpeedCPUAdam or DeepSpeedCPULion: others are refused",
            "--set optimizer.type=AdamW, or --set zero_force_ds_cpu_optimizer=false",
        ),
    Check::row(Rule::NoOptimizer, Severity::Note, When::Start)
        .doc("stages 1 and 2 need an optimizer: from the config, or from the script")
        .holds(|subject| subject.is_plain() && subject.stage_is(&[1, 2]) && named(subject).is_none())
        .says(
            &[STAGE],
            "the config has no optimizer: the script must bring one, stages 1 and 2 need it",
            "--set optimizer.type=AdamW --set optimizer.params.lr=1e-5",
        ),
    Check::row(Rule::AdamIsAdamw, Severity::Note, When::Silent)
        .doc("type Adam means AdamW (decoupled weight decay) unless adam_w_mode is false")
        .holds(|subject| is_named(subject, "adam") && subject.get("optimizer.params.adam_w_mode").is_none())
        .says(
            &["optimizer.type"],
            "`Adam` decouples the weight decay here: it is AdamW",
            "--set optimizer.params.adam_w_mode=false",
        ),
    Check::code(Rule::SchedulerType, Severity::Error, When::Start, scheduler_type)
        .doc("a scheduler that neither DeepSpeed nor torch.optim.lr_scheduler has (the case matters)"),
    Check::code(Rule::SchedulerParameter, Severity::Error, When::Start, scheduler_parameter)
        .doc("a parameter that the scheduler does not take, lacks, or wants as a whole number above 0"),
    Check::row(Rule::LogarithmicWarmup, Severity::Note, When::Silent)
        .doc("DeepSpeed's warmup is logarithmic where warmup_type is not given")
        .holds(|subject| {
            let warms_up = subject.text("scheduler.type").is_some_and(|name| name.starts_with("Warmup"));
            warms_up && subject.get("scheduler.params.warmup_type").is_none()
        })
        .says(
            &["scheduler.type"],
            "the warmup is logarithmic where `warmup_type` is not given",
            "--set scheduler.params.warmup_type=linear",
        ),
    // transformers takes the section for an optimizer, and DeepSpeed does not.
    Check::row(Rule::OptimizerWithoutType, Severity::Error, When::Start)
        .doc(
            "an optimizer section without a type, with transformers and ZeRO (from DeepSpeed 0.19.8 on, stage 3 is \
             not refused)",
        )
        .holds(|subject| {
            let section = subject.get("optimizer").and_then(Value::as_object);
            let nameless = section.is_some_and(|section| section.get("type").is_none_or(Value::is_null));
            let refused = subject.stage_is(&[1, 2]) || subject.stage_is(&[3]) && subject.is_before([0, 19, 8]);
            nameless && subject.is_hf() && refused
        })
        .says(
            &["optimizer"],
            "`optimizer` has no `type`, and ZeRO needs an optimizer",
            "--set optimizer.type=AdamW, or --unset optimizer",
        ),
];

/// An optimizer of DeepSpeed, and the releases that have it.
struct OwnOptimizer {
    name: &'static str,
    since: [u32; 3],
    /// The first that does not have it any more.
    until: [u32; 3],
}

/// Upper and lower case do not matter.
const OPTIMIZERS: &[OwnOptimizer] = &[
    own("adagrad"),
    own("adam"),
    own("adamw"),
    own("lamb"),
    own("muadam"),
    own("muadamw"),
    own("musgd"),
    own("lion"),
    OwnOptimizer { since: [0, 17, 6], ..own("muon") },
    OwnOptimizer { until: [0, 19, 7], ..own("onebitadam") },
    OwnOptimizer { until: [0, 19, 7], ..own("onebitlamb") },
    OwnOptimizer { until: [0, 19, 7], ..own("zerooneadam") },
];

/// One that every release has.
const fn own(name: &'static str) -> OwnOptimizer {
    OwnOptimizer { name, since: [0; 3], until: [u32::MAX; 3] }
}

impl OwnOptimizer {
    fn find(name: &str) -> Option<&'static Self> {
        OPTIMIZERS.iter().find(|own| own.name == name)
    }

    fn is_in(&self, version: Version) -> bool {
        !version.is_before(self.since) && version.is_before(self.until)
    }
}

/// Classes of `torch.optim`, by their exact names; newer torch may have more.
const TORCH: &[&str] = &[
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "LBFGS",
    "Muon",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "SparseAdam",
];
/// Those that came later.
const TORCH_SINCE: &[(&str, [u32; 3])] = &[("Adafactor", [2, 5, 0]), ("Muon", [2, 9, 0])];
/// The same in every release.
const SCHEDULERS: &[&str] = &["LRRangeTest", "OneCycle", "WarmupLR", "WarmupDecayLR", "WarmupCosineLR"];

/// The optimizer of the config, in lower case if it is one of DeepSpeed's.
fn named(subject: &Subject) -> Option<String> {
    let name = subject.text("optimizer.type")?;
    let lower = name.to_ascii_lowercase();
    Some(if is_own(subject, &lower) { lower } else { name.to_string() })
}

fn is_named(subject: &Subject, name: &str) -> bool {
    named(subject).as_deref() == Some(name)
}

/// Whether DeepSpeed insists on an optimizer of its own in host memory.
fn forces_own(subject: &Subject) -> bool {
    subject.offloads_optimizer() && subject.get("zero_force_ds_cpu_optimizer").is_none_or(schema::is_true)
}

fn is_own(subject: &Subject, name: &str) -> bool {
    OwnOptimizer::find(name).is_some_and(|own| own.is_in(subject.version()))
}

/// Whether `torch.optim` has it; every torch may be there that is not seen.
fn is_torch(subject: &Subject, name: &str) -> bool {
    let is_later = |(later, since): &(&str, [u32; 3])| *later == name && subject.has_before("torch", *since);
    TORCH.contains(&name) && !TORCH_SINCE.iter().any(is_later)
}

fn optimizer_type(subject: &Subject, found: &mut Findings) {
    let Some(name) = named(subject).filter(|name| !is_own(subject, name) && !is_torch(subject, name)) else { return };
    let key = "optimizer.type";
    let replaced = format!("--set {key}=AdamW");
    if let Some(own) = OwnOptimizer::find(&name.to_ascii_lowercase()) {
        let what = if subject.is_before(own.since) {
            format!("{} has no optimizer `{name}`: it came with {}", subject.deepspeed(), Version(own.since))
        } else {
            format!("{} no longer has the optimizer `{name}`", subject.deepspeed())
        };
        return found.key(&[key], what, replaced);
    }
    let what = format!("neither DeepSpeed nor torch.optim has an optimizer `{name}`");
    let own = || OPTIMIZERS.iter().filter(|own| own.is_in(subject.version())).map(|own| own.name);
    let torch = TORCH.iter().copied().filter(|torch| *torch != name);
    let help = did_you_mean(nearest(&name, own().chain(torch)), &replaced);
    // torch may have a newer class of that name.
    let is_wrong = TORCH.contains(&name.as_str()) || nearest(&name, own()).is_some();
    let severity = if is_wrong { Severity::Error } else { Severity::Warning };
    found.key_with_severity(severity, &[key], what, help);
}

/// The parameters with the name they are recorded under.
fn parameters<'a>(subject: &Subject<'a>, section: &str) -> Option<&'a Map<String, Value>> {
    subject.get(&format!("{section}.params"))?.as_object()
}

fn optimizer_parameter(subject: &Subject, found: &mut Findings) {
    let (Some(name), Some(params)) = (named(subject), parameters(subject, "optimizer")) else { return };
    if params.contains_key("max_grad_norm") {
        let key = "optimizer.params.max_grad_norm";
        let what = "DeepSpeed refuses `max_grad_norm` as a parameter of the optimizer";
        let help = format!("--unset {key} --set gradient_clipping={}", params["max_grad_norm"]);
        found.key(&[key], what, help);
    }
    if params.get("torch_adam").is_some_and(schema::is_true) {
        return;
    }
    let mut known = schema::parameters("optimizer", &name, subject.version()).peekable();
    if known.peek().is_none() {
        return;
    }
    let known: Vec<&str> = known.map(|entry| entry.name()).collect();
    for given in params.keys().filter(|given| *given != "max_grad_norm" && !known.contains(&given.as_str())) {
        let key = format!("optimizer.params.{given}");
        let what = format!("DeepSpeed's {name} takes no `{given}`");
        found.key(&[&key], what, did_you_mean(nearest(given, known.iter().copied()), &format!("--unset {key}")));
    }
}

fn untested_optimizer(subject: &Subject, found: &mut Findings) {
    let untested = |name: &String| matches!(name.as_str(), "lamb" | "musgd") || is_torch(subject, name);
    let Some(name) = named(subject).filter(untested) else { return };
    let allowed = subject.get("zero_allow_untested_optimizer").is_some_and(schema::is_true);
    if !allowed && subject.stage_is(&[1, 2, 3]) {
        let what = format!("`{name}` is not tested with ZeRO: DeepSpeed refuses it");
        found.key(&["optimizer.type"], what, "--set zero_allow_untested_optimizer=true");
    }
}

/// `--optim` values that keep their meaning: accelerate's CPU Adam is an AdamW, Adagrad and 32-bit Lion have CPU versions.
fn survives_offload(optim: &str) -> bool {
    let adamw =
        optim.starts_with("adamw") && !optim.contains("8bit") && !optim.contains("bnb_") && !optim.contains("4bit");
    adamw || matches!(optim, "adagrad" | "lion_32bit" | "paged_lion_32bit" | "paged_adamw_32bit")
}

fn optimizer_replaced(subject: &Subject, found: &mut Findings) {
    if !subject.is_hf() {
        return;
    }
    let Some(sourced) = subject.job.args.text("optim") else { return };
    if subject.get("optimizer").is_some_and(Value::is_object) {
        let what = format!("the config has an `optimizer` section: {} has no effect", sourced.place());
        found.at(&[sourced.place(), (subject.place)("optimizer")], what, "--unset optimizer, or drop the argument");
        return;
    }
    if forces_own(subject) && !survives_offload(&sourced.value) {
        let what = format!(
            "the optimizer is on {}: accelerate silently replaces `{}` by DeepSpeed's CPU Adam",
            subject.zero().optimizer,
            sourced.value
        );
        let help = "--optim adamw_torch, or --set zero_optimization.offload_optimizer.device=none";
        found.at(&[sourced.place(), (subject.place)(OFFLOAD)], what, help);
    }
}

fn scheduler_type(subject: &Subject, found: &mut Findings) {
    let Some(name) = subject.text("scheduler.type").filter(|name| !SCHEDULERS.contains(name)) else { return };
    // torch.optim.lr_scheduler has many; only what is near one of DeepSpeed's names, or no class name at all, is wrong.
    if let Some(near) = nearest(name, SCHEDULERS.iter().copied()) {
        let what = format!("DeepSpeed has no scheduler `{name}`");
        found.key(&["scheduler.type"], what, format!("did you mean `{near}`? --set scheduler.type={near}"));
    } else if !name.starts_with(|c: char| c.is_ascii_uppercase()) {
        let what = format!("neither DeepSpeed nor torch.optim.lr_scheduler has a scheduler `{name}`");
        found.key(&["scheduler.type"], what, format!("one of {}", SCHEDULERS.join(", ")));
    }
}

fn scheduler_parameter(subject: &Subject, found: &mut Findings) {
    let Some(name) = subject.text("scheduler.type").filter(|name| SCHEDULERS.contains(name)) else { return };
    let empty = Map::new();
    let params = parameters(subject, "scheduler").unwrap_or(&empty);
    let known: Vec<schema::KeySpec> = schema::parameters("scheduler", name, subject.version()).collect();
    let names: Vec<&str> = known.iter().map(schema::KeySpec::name).collect();
    for given in params.keys().filter(|given| !names.contains(&given.as_str())) {
        let key = format!("scheduler.params.{given}");
        let help = did_you_mean(nearest(given, names.iter().copied()), &format!("--unset {key}"));
        found.key(&[&key], format!("{name} takes no `{given}`"), help);
    }
    for (entry, wanted) in known.iter().zip(&names) {
        if entry.default == "required" && !params.contains_key(*wanted) {
            let key = format!("scheduler.params.{wanted}");
            let help = if subject.is_hf() { format!("--set {key}=auto") } else { format!("--set {key}=1000") };
            found.key(&["scheduler.type"], format!("{name} needs `{wanted}`"), help);
        }
    }
    let key = "scheduler.params.warmup_num_steps";
    let steps = params.get("warmup_num_steps").filter(|steps| *steps != "auto" && names.contains(&"warmup_num_steps"));
    if let Some(steps) = steps.filter(|steps| !schema::is_whole(steps) || steps.as_u64().is_none_or(|steps| steps == 0))
        && !subject.is_before([0, 19, 3])
    {
        let what = format!("`{key}` is {}, but {name} wants a whole number above 0", typed(steps));
        found.key(&[key], what, format!("--set {key}=100"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_optimizers_survive_offload() {
        for good in ["adamw_torch", "adamw_torch_fused", "adagrad", "lion_32bit"] {
            assert!(survives_offload(good), "{good}");
        }
        for bad in ["sgd", "adafactor", "adamw_8bit", "adamw_bnb_8bit", "muon", "rmsprop", "lion_8bit", "galore_adamw"]
        {
            assert!(!survives_offload(bad), "{bad}");
        }
    }

    #[test]
    fn the_schedulers_are_recorded() {
        for name in SCHEDULERS {
            assert!(schema::parameters("scheduler", name, schema::newest()).count() > 3, "{name}");
        }
        assert!(schema::parameters("optimizer", "adamw", schema::newest()).count() > 8);
    }
}
