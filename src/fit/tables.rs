//! Constants that the code of this folder looks up.

pub mod algorithms;
pub mod architectures;
pub mod arguments;
pub mod dtypes;
pub mod memories;
pub mod model_keys;
pub mod optimizers;
pub mod parts;
pub mod phases;
pub mod sizes;
pub mod templates;
pub mod towers;
pub mod typical;
pub mod usual;
pub mod verdicts;
pub mod words;
