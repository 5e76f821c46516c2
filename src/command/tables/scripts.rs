//! Names in the text of a script from which zlaunch concludes what the script does.

use crate::base::vars;

/// Packages that cannot train with DeepSpeed, or only by what `CONFIG_USES` names.
pub const WITHOUT_DEEPSPEED: &[&str] = &[
    "torch",
    "torchvision",
    "torchaudio",
    "torchtext",
    "numpy",
    "pandas",
    "scipy",
    "sklearn",
    "matplotlib",
    "PIL",
    "cv2",
    "tqdm",
    "yaml",
    "datasets",
    "tokenizers",
    "transformers",
    "peft",
    "safetensors",
    "sentencepiece",
    "huggingface_hub",
    "einops",
    "evaluate",
    "wandb",
    "tensorboard",
    "requests",
    "fire",
    "click",
    "typer",
    "hydra",
    "omegaconf",
    "bitsandbytes",
    "triton",
    "rich",
    "pydantic",
    "psutil",
    "absl",
    "timm",
    "webdataset",
    "tiktoken",
];

/// Words in code that uses a config, or that runs code which is not seen.
pub const CONFIG_USES: &[&str] = &[
    "deepspeed",
    "DeepSpeed",
    "Trainer",
    "TrainingArguments",
    "HfArgumentParser",
    "importlib",
    "__import__",
    "runpy",
    "exec(",
    "subprocess",
    "os.system",
    "os.exec",
];

/// Packages that read a command line by rules of their own.
pub const ARGUMENT_PACKAGES: &[&str] = &[
    "fire",
    "hydra",
    "tyro",
    "click",
    "typer",
    "jsonargparse",
    "simple_parsing",
    "draccus",
    "pyrallis",
    "tap",
    "docopt",
    "absl",
    "chz",
    "configargparse",
    "plac",
    "gin",
    "ml_collections",
    "sacred",
];

/// Packages that a training imports and that do not read its command line.
pub const LIBRARIES: &[&str] = &[
    "accelerate",
    "bitsandbytes",
    "datasets",
    "deepspeed",
    "evaluate",
    "huggingface_hub",
    "nltk",
    "numpy",
    "packaging",
    "pandas",
    "peft",
    "requests",
    "scipy",
    "sklearn",
    "tokenizers",
    "torch",
    "torchaudio",
    "torchvision",
    "tqdm",
    "transformers",
    "trl",
    "wandb",
    "yaml",
];

/// Functions and attributes that may set any argument.
pub const OPAQUE: &[&str] = &[
    "parse_dict",
    "setattr",
    "hyperparameter_search",
    "set_training",
    "set_optimizer",
    "set_lr_scheduler",
    "set_dataloader",
    "__dict__",
];

/// Classes of the arguments of transformers' trainer and of those that derive from it.
pub const ARGUMENT_CLASSES: &[&str] = &[
    "TrainingArguments",
    "Seq2SeqTrainingArguments",
    "SFTConfig",
    "DPOConfig",
    "GRPOConfig",
    "KTOConfig",
    "ORPOConfig",
    "CPOConfig",
    "RewardConfig",
    "RLOOConfig",
    "SentenceTransformerTrainingArguments",
    "SparseEncoderTrainingArguments",
    "CrossEncoderTrainingArguments",
];

/// Packages whose trainer is transformers' own or derives from it.
pub const HF_PACKAGES: &[&str] = &["transformers", "trl", "unsloth", "sentence_transformers"];

/// Functions of transformers' parsers.
pub const PARSING_FUNCTIONS: &[&str] = &[
    "parse_args_into_dataclasses",
    "parse_args_and_config",
    "parse_json_file",
    "parse_yaml_file",
];

/// Parsers that fill classes of arguments from the command line.
pub const CLASS_PARSERS: &[&str] = &["HfArgumentParser", "TrlParser", HANDBOOK];
pub const HANDBOOK: &str = "H4ArgumentParser";

/// A script with one of these hands a file to transformers' parser.
pub const FILE_PARSERS: &[&str] = &["parse_json_file", "parse_yaml_file", "parse_dict"];

/// A script with one of these reads a file itself.
pub const OTHER_PARSERS: &[&str] = &[
    "ArgumentParser",
    "add_argument",
    "TrlParser",
    "import fire",
    "hydra",
    "import click",
    "import tyro",
    "typer",
];

/// With one of these, transformers' parser takes more options than its classes have.
pub const ADDS_OPTIONS: &[&str] = &[
    "return_remaining_strings",
    "parse_known_args",
    "add_argument",
    "TrlParser",
];

/// Signs that set the name on their left.
pub const ASSIGNMENTS: &[&str] = &["=", "+=", "-=", "*=", "/=", "//=", "**=", "%=", "|=", ":="];

/// The packages that Lightning and Fabric come in.
pub const LIGHTNING_PACKAGES: &[&str] = &["lightning", "pytorch_lightning", "lightning_fabric"];

/// Classes and functions that make a trainer of Lightning or Fabric.
pub const LIGHTNING_TRAINERS: &[&str] =
    &["Trainer", "Fabric", "LightningCLI", "from_argparse_args"];

/// Those of them that take the trainer's options from the command line; the last one before Lightning 2.
pub const READ_OPTIONS: &[&str] = &["LightningCLI", "from_argparse_args"];

/// Variables that say how many ranks there are, or that there are some.
pub const COUNTS_OF_RANKS: &[&str] = &[
    vars::NPROC_PER_NODE,
    vars::PET_NPROC_PER_NODE,
    vars::RANK,
    vars::WORLD_SIZE,
    "SLURM_JOB_ID",
];

/// The functions that make the config in DeepSpeed-Chat and Safe-RLHF.
pub const CONFIG_MAKERS: &[&str] = &["get_train_ds_config", "get_deepspeed_train_config"];

/// Signs of Python with two characters or more.
pub const SIGNS: &[&str] = &[
    "//=", "**=", "**", "//", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "|=", ":=",
    "->",
];
