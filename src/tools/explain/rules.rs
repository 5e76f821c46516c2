//! The diagnostics that zlaunch names, each with one sentence.

use crate::check;

/// Every rule with what it is about.
pub(crate) fn rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    RULES.iter().copied().chain(check::rules().map(|rule| (rule.name, rule.doc)))
}

/// The rules whose sentences are in `report`.
const RULES: &[(&str, &str)] = &[
    ("usage", "zlaunch's own command line, or one of its variables, is not valid."),
    ("behind-the-command", "-n or --dry-run stands behind the command: the training gets it, and is started."),
    ("unknown-variable", "A variable starts with ZLAUNCH_ and belongs to no option: probably misspelt."),
    ("file", "A file that was named is missing, unreadable, too large or not text."),
    (
        "json",
        "A config is not valid JSON; the place is where it goes wrong. Comments and trailing commas are accepted.",
    ),
    ("run-file", "The trainer's YAML or JSON file of arguments cannot be read as the trainer would read it."),
    ("config-out", "The file that --config-out names cannot be written, or the launch is made from it."),
    ("template", "There is no such template, or something in its `$zlaunch` section is wrong."),
    ("template-dir", "None of the folders that ZLAUNCH_TEMPLATE_DIR names is here."),
    ("old-spelling", "A template is named by an old or foreign spelling, which still works."),
    ("patch", "--patch is not a patch, or one of its operations does not fit the config."),
    ("set", "--set names a key inside something that is not a section."),
    ("unset", "--unset names a key that the config does not have."),
    ("no-config", "--set, --unset, --patch or --config-out without any DeepSpeed config to change."),
    ("not-found", "The command, or a program it needs, was not found."),
    ("hand-over", "zlaunch does not know how this command takes a DeepSpeed config."),
    (
        "no-such-option",
        "The script's own parser has no option for the config, so it would end at once. transformers and accelerate also find a config in the variables that `accelerate launch` sets.",
    ),
    (
        "own-config-differs",
        "A name means a config of zlaunch's and one that comes with the trainer, and they differ. In zlaunch's --deepspeed it \
         is zlaunch's, in the trainer's own argument the trainer's.",
    ),
    ("two-configs", "--deepspeed of zlaunch and of the command name different configs; zlaunch's is used."),
    (
        "mismatch",
        "A number of the config differs from what the trainer computes from its arguments. The HF Trainer refuses that \
         after loading the model.",
    ),
    (
        "default-mismatch",
        "A number of the config differs from what the trainer takes by default, as far as its version and its script are \
         known. The HF Trainer refuses that after loading the model.",
    ),
    (
        "doubtful-mismatch",
        "A number of the config differs from what the trainer computes from its arguments, if the script hands them on as \
         they are given. The HF Trainer refuses that after loading the model.",
    ),
    ("auto", "An \"auto\" that nobody fills: the key is not one of those that transformers and accelerate fill."),
    ("ranks", "The number of processes, their machines or their rendezvous is unknown or contradictory."),
    ("launcher", "The launcher that was asked for cannot start this command, or not with these options."),
    ("loopback", "The rendezvous address can only be reached from one of the machines."),
    ("uneven-tasks", "Slurm or an MPI started different numbers of tasks on the machines, which no launcher can use."),
    (
        "machines-differ",
        "The machines of a job may have different numbers of GPUs, so the number of ranks is not known.",
    ),
    (
        "shown-in-arguments",
        "DeepSpeed's runner for an MPI or Slurm would show a secret in its arguments, or add quotes to a value.",
    ),
    (
        "ranks-by-mpi",
        "DeepSpeed's runner for Open MPI, MVAPICH or Slurm does not number the ranks, and mpi4py, which could, is missing.",
    ),
    (
        "config-not-shared",
        "The machines of a hostfile read the config by its path, and its file system may be of this machine alone.",
    ),
    (
        "changed-by-shells",
        "`deepspeed --hostfile` sends its words through the shell of every machine, which reads more into this one.",
    ),
    ("stray-variable", "A variable such as NNODES or PET_NNODES contradicts the launch, and is ignored."),
    ("uncounted-machines", "This process belongs to a job that may have more machines, and no variable counts them."),
    ("contradicts-scheduler", "The number of machines, or the rank of this one, was given and is not the scheduler's."),
    ("ranks-without-effect", "A number of processes was given for a command that is executed once, as it is."),
    (
        "not-understood",
        "No front end knows the command, so it runs as it stands: nothing is checked, and no ranks are started.",
    ),
    ("prefix", "zlaunch cannot go behind what the command starts with, such as `docker run` or `env -i`."),
    (
        "packages-not-seen",
        "`uv run` and the like bring a Python of their own. A check from outside cannot see its packages; the launch checks again, behind it.",
    ),
    ("output-without-effect", "--log-dir and --prefix are for ranks that zlaunch starts, itself or by torchrun."),
    ("hosts", "Something is wrong with the hostfile, --include, --exclude or .deepspeed_env."),
    ("write", "The resolved config, a record, a log or a generated config cannot be written."),
    ("port", "The rendezvous port is already in use on this machine."),
    ("exec", "The program was found, but the system refused to execute it."),
    ("rank", "A rank that zlaunch started failed, and the others were stopped."),
    ("checkpoint", "A safetensors file of the model, or the index of its parts, cannot be read."),
    ("fit", "The memory that a training needs cannot be estimated from what is known."),
    (
        "memory-short",
        "The training needs more memory than the GPUs or the machine have, or leaves too little for gaps. `zlaunch fit` has the sums.",
    ),
    ("auto-template", "--deepspeed auto cannot choose: too little is known, or nothing fits."),
    ("generate", "The config that was asked for is impossible, or its file already exists."),
    (
        "record",
        "The launch record has no folder, is not a record, would replace another file, or lacks what a replay needs.",
    ),
    ("shims", "A file in the folder for shims is not a shim and is left alone, or the folder cannot be on PATH."),
    ("print", "Standard output cannot be written."),
    ("package-missing", "torch or deepspeed is not installed in the environment of the trainer."),
    (
        "stale-lock",
        "A run was killed while it compiled a DeepSpeed operation and left its lock behind: the next run waits forever.",
    ),
    ("nvme-folder", "The folder for NVMe offload cannot be written, or is on a file system that other machines share."),
    (
        "cache-on-nfs",
        "A folder in which ranks lock files (torch_extensions, Triton's cache) is on a network file system.",
    ),
    (
        "no-compiler",
        "c++ or ninja is missing, which DeepSpeed needs to compile its CPU optimizer at the first offload.",
    ),
    ("small-memlock", "Too little memory may be locked for InfiniBand or NVMe offload (`ulimit -l`)."),
    ("small-shm", "/dev/shm is too small for NCCL and the workers of data loaders, as in a container by default."),
    ("few-files", "Too few files may be open at once (`ulimit -n`)."),
    (
        "not-enough-host-memory",
        "Offloading this model needs more host memory than the machine, or the job's cgroup, has.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Rule names in the source of the sentences.
    fn named(source: &str) -> Vec<&str> {
        let calls = ["Problem::error(", "Problem::warning("];
        let after = calls.iter().flat_map(|call| source.split(call).skip(1));
        after.filter_map(|text| text.trim_start().strip_prefix('"')?.split('"').next()).collect()
    }

    #[test]
    fn every_rule_is_explained_once() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/report");
        let files =
            std::fs::read_dir(folder).unwrap().filter_map(|file| std::fs::read_to_string(file.unwrap().path()).ok());
        let sources: String = files.collect();
        let named = named(sources.leak());
        assert!(named.len() > 90, "{}", named.len());
        for name in named.iter().copied().chain(crate::report::warnings()) {
            assert_eq!(rules().filter(|(rule, _)| *rule == name).count(), 1, "{name}");
        }
        for (name, about) in RULES {
            assert!(named.contains(name), "no sentence has the rule {name}");
            assert!(about.ends_with('.') && about.len() > 30, "{name}");
        }
    }
}
