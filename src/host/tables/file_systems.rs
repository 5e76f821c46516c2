//! What the kernel calls things: kinds of file systems in the mount table, numbers of capabilities.

/// They are on disks of this machine, or in its memory.
pub const LOCAL: &[&str] = &[
    "ext4", "ext3", "xfs", "btrfs", "zfs", "f2fs", "overlay", "tmpfs",
];

/// Memory may be locked beyond the limit.
pub const CAP_IPC_LOCK: u32 = 14;
