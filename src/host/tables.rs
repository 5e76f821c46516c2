//! Constants that are looked up by the code of this folder.

pub mod cards;
pub mod file_systems;
