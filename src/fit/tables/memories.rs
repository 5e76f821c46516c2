//! The memories that states can be kept in, and that can be short.

#[derive(Clone, Copy, PartialEq)]
pub struct MemoryKind {
    /// In a text for people.
    pub name: &'static str,
    /// In JSON.
    pub key: &'static str,
}

pub const GPU: MemoryKind = MemoryKind {
    name: "GPU",
    key: "gpu",
};

pub const HOST: MemoryKind = MemoryKind {
    name: "host",
    key: "host",
};

pub const DISK: MemoryKind = MemoryKind {
    name: "disk",
    key: "disk",
};
