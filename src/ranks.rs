//! The ranks: their number and places (`topology`), and what starts them (`launcher`).

pub mod launcher;
pub mod topology;
