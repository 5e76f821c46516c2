//! Characters that text for a terminal is careful with.

use std::ops::RangeInclusive;

/// Controls, marks that turn the direction of a text (https://trojansource.codes), characters without width, tags.
pub const DECEPTIVE: &[RangeInclusive<char>] = &[
    '\0'..='\x1f',
    '\x7f'..='\u{9f}',
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    '\u{61c}'..='\u{61c}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180e}'..='\u{180e}',
    '\u{200b}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{3164}'..='\u{3164}',
    '\u{feff}'..='\u{feff}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{fff9}'..='\u{fffb}',
    '\u{e0000}'..='\u{e007f}',
];

/// No line of wrapped text begins with one of these.
pub const NEVER_FIRST: &str = "，。；：、！？）》」』”’,.;:!?)]}\"";
/// No line of wrapped text ends with one of these.
pub const NEVER_LAST: &str = "（《「『“‘([{";
