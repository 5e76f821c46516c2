//! The parts that `tests/library` and the fuzz targets use, and nothing else. `.ci/run` also checks the library without
//! this file, so that the compiler reports code that only a test uses.

pub use crate::base::source::Source;
pub use crate::base::{
    bytes, json, layout, options, python_value, recorded, shell, size, source, texts, vars, yaml,
};
pub use crate::command::front_end::Ranks;
pub use crate::command::job::Job;
pub use crate::command::tables as command_tables;
pub use crate::command::{
    argv, input_paths, model, python, script, section_option, shipped, target, trainer,
};
pub use crate::config::template::search::BUILT_IN;
pub use crate::config::{auto, layers, patch, schema, tables, template, zero};
pub use crate::host::{Host, argument_of, cards, machine};
pub use crate::judge::Judged;
pub use crate::plan::record::timestamp;
pub use crate::plan::refused_json;
pub use crate::ranks::launcher::srun::{SrunPrefix, gpus_of_all_tasks};
pub use crate::ranks::topology;
pub use crate::ranks::topology::engines::{all_variables, hostlist};
pub use crate::report::{Problem, Rule, RuleSubject, Severity, When, nearest, secrets, write};
pub use crate::request::{Format, Launch};
pub use crate::tools::check::in_json;
pub use crate::tools::tables::completions;
pub use crate::tools::{doctor, explain, generate};

pub mod arguments {
    pub use crate::command::argument_class::{
        ArgumentClass, TRAINING_ARGUMENTS, recorded_versions,
    };
}

pub mod check {
    pub use crate::check::tables::names::{TYPED_VARIABLES, WITHOUT_BF16, WITHOUT_FP16};
    pub use crate::check::tables::refusals::REFUSALS;
    pub use crate::check::tables::types::{Condition, Example, ExampleLaunch, Refusal};
    pub use crate::check::{machine, rules};
}

pub mod cli {
    pub use crate::cli::{Asked, command, help_of, page_of, parse, shown_options, tables};
    pub use crate::tools::TOOLS;
    pub use crate::tools::launch::all_problems;
}

pub mod engines {
    pub use crate::ranks::topology::tables::engines::{
        ENGINES, Engine, Example, Kind, Outcome, Role, Variable,
    };
}

pub mod fit {
    pub use crate::fit::{
        FitRequest, View, answer, architecture, memory, need, optimizer, settings, strategy,
        tables, training_args, workload,
    };
}

pub mod prefix {
    pub use crate::command::prefix::Prefix;
    pub use crate::command::prefix::program::Barrier;
    pub use crate::command::prefix::tables::{PROGRAMS, PrefixProgram, Trait};
}
