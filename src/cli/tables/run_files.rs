//! The command that takes a run file, by a key that only its files have.

pub(crate) struct RunFile {
    pub(crate) key: &'static str,
    pub(crate) command: &'static [&'static str],
}

pub(crate) const RUN_FILES: &[RunFile] = &[
    RunFile {
        key: "base_model",
        command: &["axolotl", "train"],
    },
    RunFile {
        key: "dataset_name",
        command: &["trl", "sft", "--config"],
    },
    RunFile {
        key: "distributed_type",
        command: &["accelerate", "launch", "--config_file"],
    },
    RunFile {
        key: "stage",
        command: &["llamafactory-cli", "train"],
    },
];
