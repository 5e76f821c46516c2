//! Conditions that say the same in all packages, and what makes them false.

pub struct Common {
    /// How the condition begins, and what it has besides.
    pub begins: &'static str,
    pub has: &'static str,
    /// False for that of an `assert`, and for an `if` whose `else` it is.
    pub holds: bool,
    pub change: &'static str,
}

const ANOTHER_STAGE: &str = "it is refused with ZeRO-3 only: --deepspeed zero2";
const A_PATH: &str = "a path that is there: it is relative to the folder of the launch, on every machine, so an absolute one is safe";
const NEWER: &str = "pip install --upgrade the package whose version is compared";
const PACKAGE: &str = "install the package that the message names, in the Python that `zlaunch doctor -- COMMAND` names";

pub const COMMON: &[Common] = &[
    Common {
        begins: "is_deepspeed_zero3_enabled()",
        has: "",
        holds: true,
        change: ANOTHER_STAGE,
    },
    Common {
        begins: "os.path.",
        has: "(",
        holds: false,
        change: A_PATH,
    },
    Common {
        begins: "not os.path.",
        has: "(",
        holds: true,
        change: A_PATH,
    },
    Common {
        begins: "not ",
        has: ".exists()",
        holds: true,
        change: A_PATH,
    },
    Common {
        begins: "not is_",
        has: "_available(",
        holds: true,
        change: PACKAGE,
    },
    Common {
        begins: "not _is_",
        has: "_available",
        holds: true,
        change: PACKAGE,
    },
    Common {
        begins: "version.parse(",
        has: " < ",
        holds: true,
        change: NEWER,
    },
    Common {
        begins: "compare_versions(",
        has: "\"<\"",
        holds: true,
        change: NEWER,
    },
    Common {
        begins: "not is_",
        has: "_version(\">",
        holds: true,
        change: NEWER,
    },
    Common {
        begins: "not is_torch_greater",
        has: "",
        holds: true,
        change: NEWER,
    },
];

/// More are no help.
pub const MOST: usize = 3;
