//! Constants that the code of this folder looks up.

pub mod architectures;
pub mod keys;
pub mod optimizers;
pub(super) mod typical;
