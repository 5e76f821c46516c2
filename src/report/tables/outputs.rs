//! The files that zlaunch writes.

/// A kind of file, and how to have it written elsewhere.
#[derive(Clone, Copy)]
pub(crate) struct OutputFile {
    pub(crate) what: &'static str,
    pub(crate) help: &'static str,
}

impl OutputFile {
    pub(crate) const CONFIG: Self = OutputFile {
        what: "the resolved config",
        help: "choose another place: --config-out PATH",
    };
    pub(crate) const RUN_FILE: Self = OutputFile {
        what: "the run file that names the config",
        help: "set XDG_CACHE_HOME to another folder",
    };
    pub(crate) const VARIABLES: Self = OutputFile {
        what: "the file of variables for the other machines",
        help: "set XDG_CACHE_HOME to another folder",
    };
    pub(crate) const GENERATED: Self = OutputFile {
        what: "the generated config",
        help: "choose another place: -o FILE",
    };
    pub(crate) const FIXED: Self = OutputFile {
        what: "the config",
        help: "check its permissions, or drop --fix",
    };
    pub(crate) const RECORD: Self = OutputFile {
        what: "the launch record",
        help: "choose another folder: --record DIR",
    };
    pub(crate) const REHEARSAL: Self = OutputFile {
        what: "the files of the rehearsal",
        help: "set TMPDIR to another folder",
    };
    pub(crate) const PROGRAM: Self = OutputFile {
        what: "the shim",
        help: "choose another folder, or change its permissions",
    };
}
