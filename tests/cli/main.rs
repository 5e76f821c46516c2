//! The built binary, from outside.
