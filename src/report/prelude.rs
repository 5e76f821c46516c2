//! What nearly every place that finds a problem is written with.

pub use super::{
    Place, Problem, Problems, Rule, Severity,
    fix::{
        Fix, Fixes, Owner, drop_given, drop_word, give, give_as, meant, rename_option, run, say,
        set, unset, unset_variable,
    },
    nearest, reading,
};
