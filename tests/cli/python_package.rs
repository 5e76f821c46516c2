//! The Python package of the wheel, with any Python that is here and nothing but its standard library. `tests/real/python_package.py`
//! tries it with mypy, in a notebook and with the real Trainer.

use std::path::Path;

use crate::sandbox::{Run, Sandbox, ZLAUNCH};

/// What a script of Python prints; `None` where this machine has no Python.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn python(sandbox: &Sandbox, script: &str) -> Option<Run> {
    let head = "import sys, zlaunch; zlaunch.places = lambda: [sys.argv[1]]\n";
    // The sandbox's own one is not real.
    let program = ["/usr/bin/python3", "/usr/local/bin/python3"]
        .into_iter()
        .find(|it| Path::new(it).exists());
    let Some(program) = program else {
        eprintln!("skipped: there is no python3 here");
        return None;
    };
    let mut command = sandbox.inside(program);
    command.args(["-c", &format!("{head}{script}"), ZLAUNCH]);
    command
        .env(
            "PYTHONPATH",
            concat!(env!("CARGO_MANIFEST_DIR"), "/packaging/python"),
        )
        .env("PYTHONDONTWRITEBYTECODE", "1");
    Some(Run::of(&mut command))
}

fn passes(script: &str) {
    let sandbox = Sandbox::new();
    sandbox.file(
        "mine.json",
        r#"{"$schema": "x", "train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 1}}"#,
    );
    sandbox.file("merge.json", r#"{"steps_per_print": 9}"#);
    let Some(run) = python(&sandbox, script) else {
        return;
    };
    run.succeeded_silently();
}

#[test]
fn a_config_is_that_of_the_command_line() {
    passes(
        r#"
config = zlaunch.config("zero3_offload", set={"zero_optimization.overlap_comm": True, "wandb.project": "a=b"}, unset=["steps_per_print"], patch="merge.json")
zero = config["zero_optimization"]
assert zero["stage"] == 3 and zero["overlap_comm"] is True and zero["offload_param"]["device"] == "cpu", config
assert config["wandb"] == {"project": "a=b"} and "steps_per_print" not in config, config
assert config["train_micro_batch_size_per_gpu"] == "auto"
assert zlaunch.config("mine.json") == {"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 1}}
import pathlib
assert zlaunch.config(pathlib.Path("mine.json"), patch=["merge.json"])["steps_per_print"] == 9
assert zlaunch.config({"zero_optimization": {"stage": 2}}) == {"zero_optimization": {"stage": 2}}
"#,
    );
}

#[test]
fn a_refusal_is_an_exception_with_the_same_sentences() {
    passes(
        r#"
def refused(function, *given, **options):
    try:
        function(*given, **options)
    except zlaunch.Refused as why:
        return why
    raise AssertionError(f"{given} {options} was taken")

why = refused(zlaunch.config, "zero3", set={"zero_optimization.stage": 4, "zero_optimization.overlap_com": True})
assert {it["rule"] for it in why.diagnostics if it["severity"] == "error"} == {"wrong-value", "unknown-key"}, why.diagnostics
assert why.status == 1 and why.diagnostics[0]["severity"] == "error"
assert "error[wrong-value]: `zero_optimization.stage` is 4" in str(why) and "  help: " in str(why), str(why)
why = refused(zlaunch.config, "zero4")
assert "zero4" in str(why) and why.diagnostics[0]["rule"] == "template", why.diagnostics
why = refused(zlaunch.config, "zero3_nvme")
assert "nvme_path" in str(why), str(why)
why = refused(zlaunch.plan, ["swift", "sft"], deepspeed="zero2", nproc_per_node=0)
assert why.status == 125 and why.diagnostics[0]["rule"] == "usage" and str(why).startswith("error[usage]: "), (str(why), why.diagnostics)
why = refused(zlaunch.plan, ["swift", "sft"], deepspeed="zero2", no_such_option=1)
assert "no-such-option" in str(why) and why.diagnostics, (str(why), why.diagnostics)
why = refused(zlaunch.fit, params="eight", gpus=8)
assert why.status == 125 and why.diagnostics, (str(why), why.diagnostics)
"#,
    );
}

#[test]
fn a_plan_and_a_fit_are_dicts() {
    passes(
        r#"
command = ["swift", "sft", "--model", "Qwen/Qwen3-8B", "--per_device_train_batch_size", "2", "--gradient_accumulation_steps", "4"]
plan = zlaunch.plan(command, deepspeed="zero2", nproc_per_node=8, set={"zero_optimization.overlap_comm": False}, env={"A": "1"}, strict=False, launcher=None)
assert plan["topology"]["world_size"] == 8 and plan["template"]["name"] == "zero2", plan
assert plan["config"]["zero_optimization"]["overlap_comm"] is False and plan["env"]["set"]["A"] == "1", plan
assert zlaunch.plan(command, deepspeed={"zero_optimization": {"stage": 1}, "train_micro_batch_size_per_gpu": 2}, nproc_per_node=8)["config"]["zero_optimization"]["stage"] == 1
assert isinstance(zlaunch.fit(params="8B", gpus=8, gpu_memory="80GiB"), dict)
assert isinstance(zlaunch.fit(params="800B", gpus=1, gpu_memory="8GiB", host_memory="8GiB"), dict)
"#,
    );
}
