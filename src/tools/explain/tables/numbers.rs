//! The numbers of an out-of-memory line, in the two forms in which torch has written it.

#[derive(Clone, Copy, PartialEq)]
pub enum Size {
    Asked,
    Total,
    Free,
    Ours,
    Allocated,
}

pub struct Labelled {
    pub size: Size,
    pub words: &'static str,
    /// They stand in front of the number, else behind its unit.
    pub is_in_front: bool,
    pub shown: &'static str,
}

pub const SIZES: &[Labelled] = &[
    Labelled {
        size: Size::Asked,
        words: "Tried to allocate",
        is_in_front: true,
        shown: "asked for",
    },
    Labelled {
        size: Size::Total,
        words: "total capacity of",
        is_in_front: true,
        shown: "on the GPU",
    },
    Labelled {
        size: Size::Total,
        words: "total capacity",
        is_in_front: false,
        shown: "on the GPU",
    },
    Labelled {
        size: Size::Free,
        words: "of which",
        is_in_front: true,
        shown: "free",
    },
    Labelled {
        size: Size::Free,
        words: "free",
        is_in_front: false,
        shown: "free",
    },
    Labelled {
        size: Size::Ours,
        words: "this process has",
        is_in_front: true,
        shown: "held by this process",
    },
    Labelled {
        size: Size::Allocated,
        words: "Of the allocated memory",
        is_in_front: true,
        shown: "in tensors",
    },
    Labelled {
        size: Size::Allocated,
        words: "already allocated",
        is_in_front: false,
        shown: "in tensors",
    },
    Labelled {
        size: Size::Ours,
        words: "reserved in total",
        is_in_front: false,
        shown: "held by this process",
    },
];
