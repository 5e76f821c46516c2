//! What is open inside of a sandbox.

/// Besides its folder.
pub const WRITABLE: &[&str] = &[
    "/dev/shm",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/urandom",
    "/dev/ptmx",
];
/// The sockets of services that know the names of users.
pub const OF_NAMES: &[&str] = &["/nscd/", "/nslcd/", "/sss/", "/winbindd/", "/userdb/"];

/// 32 bytes: a request (1) of the kind RTM_NEWLINK (16), that device 1, the loopback device, be IFF_UP (1).
pub const RAISE_LOOPBACK: &[u8] =
    b"\x20\0\0\0\x10\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0";

/// What is said of a sandbox that lacks something.
pub struct Lack {
    /// It has a view of the machine of its own.
    pub is_apart: bool,
    /// Landlock holds all that it can hold; `None`: this kernel has none.
    pub landlock: Option<bool>,
    pub says: &'static str,
}

/// Without processes of its own.
pub const LACKS: &[Lack] = &[
    Lack {
        is_apart: true,
        landlock: Some(true),
        says: "partly sandboxed: limits of other processes are open",
    },
    Lack {
        is_apart: true,
        landlock: Some(false),
        says: "partly sandboxed: signals to other processes, and their limits, are open",
    },
    Lack {
        is_apart: true,
        landlock: None,
        says: "partly sandboxed: signals to other processes, and their limits, are open",
    },
    Lack {
        is_apart: false,
        landlock: Some(true),
        says: "partly sandboxed: UDP, unix sockets, /dev/shm, chmod and limits of other processes are open",
    },
    Lack {
        is_apart: false,
        landlock: Some(false),
        says: "partly sandboxed: the network, unix sockets, /dev/shm, chmod, signals and limits are open",
    },
    Lack {
        is_apart: false,
        landlock: None,
        says: "not sandboxed: this kernel has no Landlock",
    },
];

/// The exit status inside if there are no processes of its own, or no /proc for them. The program was not started.
pub const NO_PROC: u8 = 217;

/// A file in the folder, from when the program starts.
pub const STARTED: &str = "started";
