//! Arguments that name something to read: a model, a dataset, a checkpoint. The real trainers showed how each is read.

/// Arguments that are read in one way.
pub struct Input {
    pub names: &'static [&'static str],
    pub reads: Reads,
    /// Every script reads them.
    pub certain: bool,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Reads {
    /// A path as it is written: `~` is a folder of that name.
    Plain,
    /// A path in which `~` is the home folder.
    Home,
    /// Like `Home`, or `FOLDER:SUBFOLDER`.
    SwiftModel,
    /// Like `Home`, or `PATH:SUBSET#SAMPLES`.
    SwiftDataset,
    /// Several plain paths, with commas between them.
    Commas,
    /// Like `Home`, and always a file, however it is written.
    File,
}

/// The names of transformers' examples. Every script accepts `--resume_from_checkpoint`, but not every one reads it.
pub const HF_INPUTS: &[Input] = &[
    Input {
        names: &[
            "model_name_or_path",
            "config_name",
            "tokenizer_name",
            "train_file",
            "validation_file",
            "test_file",
        ],
        reads: Reads::Plain,
        certain: true,
    },
    Input {
        names: &["resume_from_checkpoint"],
        reads: Reads::Plain,
        certain: false,
    },
];

pub const SWIFT_INPUTS: &[Input] = &[
    Input {
        names: &[
            "model",
            "adapters",
            "ref_model",
            "ref_adapters",
            "reward_model",
            "teacher_model",
        ],
        reads: Reads::SwiftModel,
        certain: true,
    },
    Input {
        names: &["dataset", "val_dataset"],
        reads: Reads::SwiftDataset,
        certain: true,
    },
    Input {
        names: &[
            "cached_dataset",
            "cached_val_dataset",
            "custom_dataset_info",
            "resume_from_checkpoint",
        ],
        reads: Reads::Home,
        certain: true,
    },
    Input {
        names: &["external_plugins", "custom_register_path"],
        reads: Reads::File,
        certain: true,
    },
];

pub const LLAMAFACTORY_INPUTS: &[Input] = &[
    Input {
        names: &[
            "model_name_or_path",
            "dataset_dir",
            "ref_model",
            "reward_model",
            "resume_from_checkpoint",
        ],
        reads: Reads::Plain,
        certain: true,
    },
    Input {
        names: &["adapter_name_or_path"],
        reads: Reads::Commas,
        certain: true,
    },
];

/// Not all of axolotl's ways to read a dataset are known.
pub const AXOLOTL_INPUTS: &[Input] = &[
    Input {
        names: &["model_name_or_path"],
        reads: Reads::Plain,
        certain: true,
    },
    Input {
        names: &["datasets", "resume_from_checkpoint"],
        reads: Reads::Plain,
        certain: false,
    },
];

pub const TRL_INPUTS: &[Input] = &[
    Input {
        names: &[
            "model_name_or_path",
            "dataset_name",
            "datasets",
            "chat_template_path",
        ],
        reads: Reads::Plain,
        certain: true,
    },
    Input {
        names: &["resume_from_checkpoint"],
        reads: Reads::Plain,
        certain: false,
    },
];

/// What scripts take for the last checkpoint, besides a bool.
pub const LAST_CHECKPOINT: &[&str] = &["latest", "last", "auto"];

/// Words that can be nothing but folders.
pub const FOLDERS: &[&str] = &["~", ".", ".."];
