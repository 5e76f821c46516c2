//! What `doctor` compares between machines, and the options that its help shows.

pub mod facts;
pub mod meeting;
pub mod shown_options;
