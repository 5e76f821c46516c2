//! The events of a rehearsal that `rehearsal.py` prints.

pub mod events;
