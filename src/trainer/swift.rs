//! ms-swift. `swift sft …` starts torchrun on a file of its own; we run that file directly, so that nothing is launched
//! twice. Sub-commands that swift itself runs as one process are passed through.

use std::ffi::OsString;

use super::argv::{Args, Field, OptionList, Takes};
use super::{Family, Precision, Recognised, Target, Trainer, base_name};
use crate::host::Host;
use crate::python::Python;

pub(crate) const TRAINER: Trainer = Trainer {
    name: "swift",
    family: Family::Hf,
    distribution: Some("ms_swift"),
    config_argument: "deepspeed",
    model_argument: "model",
    fields: FIELDS,
    options,
    recognise,
    one_gpu_per_rank: true,
    fp16: |args| precision(args, "fp16", "fp16_full_eval", &["float16", "float32"]),
    bf16: |args| precision(args, "bf16", "bf16_full_eval", &["bfloat16"]),
};

const FIELDS: &[Field] = &[
    // `bool | None` in swift: a bare `--bf16` is refused by its parser.
    ("fp16", Takes::One),
    ("bf16", Takes::One),
    ("model", Takes::One),
    ("use_hf", Takes::Optional),
    ("torch_dtype", Takes::One),
    ("sequence_parallel_size", Takes::One),
    ("callbacks", Takes::One),
    ("rlhf_type", Takes::One),
    ("warmup_ratio", Takes::One),
];

/// The sub-commands that swift runs through torchrun, and all of their options.
const COMMANDS: &[(&str, &str)] = &[
    ("sft", include_str!("../options/swift_sft.txt")),
    ("pt", include_str!("../options/swift_pt.txt")),
    ("rlhf", include_str!("../options/swift_rlhf.txt")),
    ("infer", include_str!("../options/swift_infer.txt")),
];

fn recognise(target: &Target, args: &[OsString], host: &Host) -> Option<Recognised> {
    match target {
        Target::Program(word) if base_name(word) == "swift" => {
            let (command, rest) = args.split_first()?;
            // A run file as first argument is read by the `swift` program only, not by the file behind it.
            if rest.first().is_some_and(is_run_file) {
                return None;
            }
            let command = command.to_str().filter(|command| COMMANDS.iter().any(|(name, _)| name == command))?;
            let python = host.find_program(word).and_then(|path| Python::of_script(&path, host));
            let file = python.as_ref().and_then(|python| python.file(&format!("swift/cli/{command}.py")));
            let target = file.map_or_else(|| Target::module(format!("swift.cli.{command}")), Target::script);
            Some(Recognised { target, args: rest.to_vec(), python })
        }
        other => {
            command_of(other)?;
            Some(Recognised { target: other.clone(), args: args.to_vec(), python: None })
        }
    }
}

/// `swift.cli.sft` or `…/swift/cli/sft.py`, written out by the user.
fn command_of(target: &Target) -> Option<&'static str> {
    let known = |module: &str| COMMANDS.iter().map(|(name, _)| *name).find(|name| module == *name);
    match target {
        Target::Module { name, .. } => known(name.to_str()?.strip_prefix("swift.cli.")?),
        Target::Script { path, .. } => known(path.to_str()?.strip_suffix(".py")?.rsplit_once("swift/cli/")?.1),
        Target::Program(_) => None,
    }
}

fn is_run_file(word: &OsString) -> bool {
    let name = word.to_str().filter(|word| !word.starts_with('-'));
    name.is_some_and(|word| [".json", ".yaml", ".yml"].iter().any(|ending| word.ends_with(ending)))
}

fn options(target: &Target) -> OptionList {
    let command = command_of(target).unwrap_or("sft");
    let list = COMMANDS.iter().find(|(name, _)| *name == command).map_or("", |(_, list)| *list);
    OptionList::Known(list)
}

/// `--fp16`/`--bf16` if given, else the dtype decides; float32 trains in fp16 (`_init_mixed_precision`). Without
/// either, swift looks at its model registry and at the GPU.
fn precision(args: &Args, name: &str, full_eval: &str, dtypes: &[&str]) -> Precision {
    if let Some(said) = args.bool(full_eval, true)?.filter(|said| said.value) {
        return Ok(Some((true, said.from.to_string())));
    }
    if let Some(said) = args.bool(name, false)? {
        return Ok(Some((said.value, said.from.to_string())));
    }
    let dtype = args.text("torch_dtype").filter(|said| said.value != "None");
    Ok(dtype.map(|said| (dtypes.contains(&said.value.as_str()), format!("{} {}", said.from, said.value))))
}
