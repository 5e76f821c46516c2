//! Constants that the code of this folder looks up.

pub mod algorithms;
pub mod architectures;
pub(super) mod arguments;
pub mod model_keys;
pub mod optimizers;
pub(super) mod parts;
pub(super) mod typical;
