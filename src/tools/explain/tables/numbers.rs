//! The numbers of an out-of-memory line, in the two forms in which torch has written it.

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Size {
    Asked,
    Total,
    Free,
    Ours,
    Allocated,
}

pub struct Labelled {
    pub size: Size,
    /// The words in front of the number.
    pub before: &'static str,
    /// The words behind its unit.
    pub after: &'static str,
    pub shown: &'static str,
}

pub const SIZES: &[Labelled] = &[
    Labelled {
        size: Size::Asked,
        before: "Tried to allocate",
        after: "",
        shown: "asked for",
    },
    Labelled {
        size: Size::Total,
        before: "total capacity of",
        after: "",
        shown: "on the GPU",
    },
    Labelled {
        size: Size::Total,
        before: "",
        after: "total capacity",
        shown: "on the GPU",
    },
    Labelled {
        size: Size::Free,
        before: "of which",
        after: "",
        shown: "free",
    },
    Labelled {
        size: Size::Free,
        before: "",
        after: "free",
        shown: "free",
    },
    Labelled {
        size: Size::Ours,
        before: "this process has",
        after: "",
        shown: "held by this process",
    },
    Labelled {
        size: Size::Allocated,
        before: "Of the allocated memory",
        after: "",
        shown: "in tensors",
    },
    Labelled {
        size: Size::Allocated,
        before: "",
        after: "already allocated",
        shown: "in tensors",
    },
    Labelled {
        size: Size::Ours,
        before: "",
        after: "reserved in total",
        shown: "held by this process",
    },
];
