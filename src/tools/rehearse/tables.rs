//! The events of a rehearsal that `rehearsal.py` prints.

pub(super) mod events;
