//! Spellings of older releases and of other projects, and the templates they mean here.

pub struct Alias {
    pub old: &'static str,
    pub template: &'static str,
}

pub const ALIASES: &[Alias] = &[
    Alias {
        old: "default-zero2",
        template: "zero2",
    },
    Alias {
        old: "default-zero3",
        template: "zero3",
    },
    Alias {
        old: "zero2-offload",
        template: "zero2_offload",
    },
    Alias {
        old: "zero3-offload",
        template: "zero3_offload",
    },
    Alias {
        old: "z0",
        template: "zero0",
    },
    Alias {
        old: "z1",
        template: "zero1",
    },
    Alias {
        old: "z2",
        template: "zero2",
    },
    Alias {
        old: "z2_offload",
        template: "zero2_offload",
    },
    Alias {
        old: "z3",
        template: "zero3",
    },
    Alias {
        old: "z3_offload",
        template: "zero3_offload",
    },
    Alias {
        old: "ds_z0_config",
        template: "zero0",
    },
    Alias {
        old: "ds_z2_config",
        template: "zero2",
    },
    Alias {
        old: "ds_z2_offload_config",
        template: "zero2_offload",
    },
    Alias {
        old: "ds_z3_config",
        template: "zero3",
    },
    Alias {
        old: "ds_z3_offload_config",
        template: "zero3_offload",
    },
];
