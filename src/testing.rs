//! The parts that `tests/library` and the fuzz targets use, and nothing else. `.ci/run` also checks the library without
//! this file, so that the compiler reports code that only a test uses.

pub use crate::base::source::Source;
pub use crate::base::{bytes, json, layout, options, python_value, recorded, rows, shell, size, source, vars, yaml};
pub use crate::command::{
    argv, inputs, model, nested, option_names, python, script, script_source, shipped, target, trainer,
};
pub use crate::config::template::search::BUILT_IN;
pub use crate::config::{auto, layers, patch, schema, template, zero};
pub use crate::host::{Host, argument_of, machine};
pub use crate::plan::record::timestamp;
pub use crate::plan::{Plan, refused_json};
pub use crate::ranks::launcher::srun::{SrunPrefix, gpus_of_all_tasks};
pub use crate::ranks::topology;
pub use crate::ranks::topology::engines::hostlist;
pub use crate::ranks::topology::engines::table as engines;
pub use crate::ranks::topology::engines::table::all_variables;
pub use crate::report::{Problem, Rule, RuleSubject, Severity, When, nearest, secrets, write};
pub use crate::request::{Format, Launch};
pub use crate::tools::check::in_json;
pub use crate::tools::doctor::examine;
pub use crate::tools::{explain, generate, templates};

pub mod arguments {
    pub use crate::command::arguments::options_table::{names, recorded, row};
    pub use crate::command::defaults::{ArgumentClass, TRAINING_ARGUMENTS};
}

pub mod check {
    pub use crate::check::precision::{WITHOUT_BF16, WITHOUT_FP16};
    pub use crate::check::{machine, rules};
}

pub mod cli {
    pub use crate::cli::{ABOUT_VARIABLES, EXAMPLE, EXIT_STATUS, FIRST, MORE, Request, foreign_options};
    pub use crate::cli::{command, in_chinese, parse, shown_options};
}

pub mod fit {
    pub use crate::fit::{
        View, algorithm, answer, architecture, cards, memory, need, optimizer, settings, strategy, workload,
    };
}

pub mod prefix {
    pub use crate::command::prefix::table::{PrefixProgram, all};
    pub use crate::command::prefix::{Barrier, Prefix};
}
