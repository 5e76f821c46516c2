//! Kinds of file systems, as the mount table names them.

/// They are on disks of this machine, or in its memory.
pub const LOCAL: &[&str] = &[
    "ext4", "ext3", "xfs", "btrfs", "zfs", "f2fs", "overlay", "tmpfs",
];
