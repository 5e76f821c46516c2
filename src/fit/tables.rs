//! Constants that the code of this folder looks up.

pub mod algorithms;
pub mod architectures;
pub(super) mod arguments;
pub mod dtypes;
pub mod memories;
pub mod model_keys;
pub mod optimizers;
pub(super) mod parts;
pub mod phases;
pub mod templates;
pub(super) mod towers;
pub(super) mod typical;
pub(super) mod verdicts;
pub mod words;
