//! What tells where Python looks for modules.

/// Files in site-packages that run code at the start but add no module.
pub const HARMLESS: &[&str] = &["distutils-precedence.pth", "_virtualenv.pth"];

/// Words in a package that looks for its modules in other folders.
pub const PATH_WORDS: &[&str] = &["__path__", "pkgutil", "pkg_resources", "meta_path"];

/// The packages that are told before those of the trainers.
pub const FIRST_PACKAGES: &[&str] = &["torch", "transformers", "accelerate", "deepspeed"];

/// The programs that start a training, besides those of the trainers.
pub const OTHER_PROGRAMS: [&str; 4] = ["torchrun", "deepspeed", "accelerate", "python"];
