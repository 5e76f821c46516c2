//! Where a message is looked for, and what is known of Python.

/// Packages that run on the ranks of a training, with the names under which they are installed.
pub const PACKAGES: &[(&str, &str)] = &[
    ("deepspeed", "deepspeed"),
    ("accelerate", "accelerate"),
    ("transformers", "transformers"),
    ("trl", "trl"),
    ("peft", "peft"),
    ("swift", "ms-swift"),
    ("llamafactory", "llamafactory"),
    ("axolotl", "axolotl"),
    ("xtuner", "xtuner"),
    ("openrlhf", "openrlhf"),
    ("verl", "verl"),
    ("torch", "torch"),
    ("lightning", "lightning"),
    ("pytorch_lightning", "pytorch-lightning"),
    ("datasets", "datasets"),
    ("huggingface_hub", "huggingface-hub"),
    ("modelscope", "modelscope"),
    ("bitsandbytes", "bitsandbytes"),
    ("safetensors", "safetensors"),
    ("liger_kernel", "liger-kernel"),
    ("flash_attn", "flash-attn"),
    ("vllm", "vllm"),
];

/// Files and folders that say an error for others: torchrun's report of one, what repeats the words of torch's C++.
pub const NO_CAUSE: &[&str] = &[
    "testing",
    "elastic",
    "_decomp",
    "_prims",
    "_refs",
    "_meta_registrations.py",
];

/// What Python itself raises: the words are in no package.
pub const OF_PYTHON: &[&str] = &[
    "AttributeError",
    "FileNotFoundError",
    "IndexError",
    "KeyError",
    "ModuleNotFoundError",
    "NameError",
    "OverflowError",
    "RecursionError",
    "TypeError",
    "UnboundLocalError",
    "UnicodeDecodeError",
    "ZeroDivisionError",
];

/// Classes that many scripts define for themselves, whatever package has one of that name.
pub const OF_SCRIPTS: &[&str] = &[
    "Arguments",
    "CustomArguments",
    "DataArguments",
    "DataTrainingArguments",
    "LoraArguments",
    "ModelArguments",
    "ScriptArguments",
];

/// The words that a block of Python begins with.
pub const BLOCKS: &[&str] = &[
    "async", "case", "class", "def", "elif", "else", "except", "finally", "for", "if", "match",
    "try", "while", "with",
];

/// Fewer bytes are everybody's words.
pub const SHORTEST: usize = 12;

/// Pieces of a message that are looked for, at most.
pub const PIECES: usize = 10;

pub const LONG_FOR_PYTHON: usize = 9;
