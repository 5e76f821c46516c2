//! Variables, and what is wrong with a text that is not JSON.

pub(super) mod json_faults;
pub(super) mod vars;
