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

const fn common(
    begins: &'static str,
    has: &'static str,
    holds: bool,
    change: &'static str,
) -> Common {
    Common {
        begins,
        has,
        holds,
        change,
    }
}

pub const COMMON: &[Common] = &[
    common("is_deepspeed_zero3_enabled()", "", true, ANOTHER_STAGE),
    common("self.is_deepspeed_zero3", "", true, ANOTHER_STAGE),
    common("os.path.", "(", false, A_PATH),
    common("not os.path.", "(", true, A_PATH),
    common("not ", ".exists()", true, A_PATH),
    common("not is_", "_available(", true, PACKAGE),
    common("not _is_", "_available", true, PACKAGE),
    common("version.parse(", " < ", true, NEWER),
    common("compare_versions(", "\"<\"", true, NEWER),
    common("not is_", "_version(\">", true, NEWER),
    common("not is_torch_greater", "", true, NEWER),
];
