//! Units as people write them, in capitals. The first that a text ends with counts.

const K: f64 = 1024.0;

pub const OF_BYTES: &[(&str, f64)] = &[
    ("KIB", K),
    ("MIB", K * K),
    ("GIB", K * K * K),
    ("TIB", K * K * K * K),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("K", K),
    ("M", K * K),
    ("G", K * K * K),
    ("T", K * K * K * K),
    ("B", 1.0),
    ("", 1.0),
];

pub const OF_PARAMETERS: &[(&str, f64)] = &[("T", 1e12), ("B", 1e9), ("M", 1e6), ("", 1.0)];

/// The units of a number, by a part of its option's name. The first row that fits counts.
pub const UNITS_OF_NUMBERS: &[(&str, &[(&str, f64)])] = &[
    // Blocks of a file are powers of two.
    ("block_size", OF_BYTES),
    (
        "timeout",
        &[
            ("MIN", 60.0),
            ("SEC", 1.0),
            ("D", 86400.0),
            ("H", 3600.0),
            ("M", 60.0),
            ("S", 1.0),
            ("", 1.0),
        ],
    ),
    // `4k` is 4096 for a length.
    ("len", &[("K", K), ("M", 1e6), ("", 1.0)]),
    (
        "",
        &[
            ("EPOCHS", 1.0),
            ("EPOCH", 1.0),
            ("STEPS", 1.0),
            ("GPUS", 1.0),
            ("T", 1e12),
            ("B", 1e9),
            ("G", 1e9),
            ("M", 1e6),
            ("K", 1e3),
            ("", 1.0),
        ],
    ),
];

/// From zero on.
pub const NUMBER_WORDS: &[&str] = &[
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight",
];

pub const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
