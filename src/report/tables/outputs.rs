//! The files that zlaunch writes.

/// A kind of file, and how to have it written elsewhere.
#[derive(Clone, Copy)]
pub struct OutputFile {
    pub what: &'static str,
    pub help: &'static str,
}

impl OutputFile {
    pub const CONFIG: Self = OutputFile {
        what: "the resolved config",
        help: "choose another place: --config-out PATH",
    };
    pub const RUN_FILE: Self = OutputFile {
        what: "the run file that names the config",
        help: "set XDG_CACHE_HOME to another folder",
    };
    pub const VARIABLES: Self = OutputFile {
        what: "the file of variables for the other machines",
        help: "set XDG_CACHE_HOME to another folder",
    };
    pub const GENERATED: Self = OutputFile {
        what: "the generated config",
        help: "choose another place: -o FILE",
    };
    pub const FIXED: Self = OutputFile {
        what: "the config",
        help: "check its permissions, or drop --fix",
    };
    pub const RECORD: Self = OutputFile {
        what: "the launch record",
        help: "choose another folder: --record DIR",
    };
    pub const REHEARSAL: Self = OutputFile {
        what: "the files of the rehearsal",
        help: "set TMPDIR to another folder",
    };
    pub const PROGRAM: Self = OutputFile {
        what: "the shim",
        help: "choose another folder, or change its permissions",
    };
}
