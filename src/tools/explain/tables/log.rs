//! How a log is read.

use std::ops::RangeInclusive;

/// Read at a time, because a log may have hundreds of megabytes.
pub const CHUNK: u64 = 1 << 20;
/// Kept of what was read before: the traceback says where an error came from.
pub const KEPT: usize = 1 << 15;
/// Bytes of a line that are shown, and that may name its rank.
pub const SHOWN: usize = 400;
/// Nobody wraps lines at fewer or more columns.
pub const WIDTHS: RangeInclusive<usize> = 50..=132;
/// Of a text without an exception.
pub const SENTENCES: usize = 6;
/// What three bytes in a row are counted in.
pub const TRIPLES: usize = 1 << 18;
pub const TRACEBACK: &str = "Traceback (most recent";
pub const PLACE: &str = "File \"";
