//! Values of the size that an option usually has, by a part of its name. The first row that fits counts.

pub struct UsualValue {
    pub part: &'static str,
    /// The option takes a whole number.
    pub is_whole: bool,
    pub value: &'static str,
}

pub const USUAL_VALUES: &[UsualValue] = &[
    UsualValue {
        part: "port",
        is_whole: true,
        value: "29500",
    },
    UsualValue {
        part: "stage",
        is_whole: true,
        value: "2",
    },
    UsualValue {
        part: "ratio",
        is_whole: false,
        value: "0.1",
    },
    UsualValue {
        part: "dropout",
        is_whole: false,
        value: "0.1",
    },
    UsualValue {
        part: "decay",
        is_whole: false,
        value: "0.1",
    },
    UsualValue {
        part: "beta",
        is_whole: false,
        value: "0.1",
    },
    UsualValue {
        part: "alpha",
        is_whole: false,
        value: "0.1",
    },
    UsualValue {
        part: "learning_rate",
        is_whole: false,
        value: "1e-5",
    },
    UsualValue {
        part: "lr",
        is_whole: false,
        value: "1e-5",
    },
    UsualValue {
        part: "steps",
        is_whole: false,
        value: "100",
    },
    UsualValue {
        part: "eps",
        is_whole: false,
        value: "1e-5",
    },
];
