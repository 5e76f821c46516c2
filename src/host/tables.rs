//! Constants that are looked up by the code of this folder.

pub(super) mod cards;
pub(super) mod file_systems;
