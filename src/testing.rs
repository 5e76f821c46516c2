//! The parts that `tests/library` and the fuzz targets use, and nothing else. `.ci/run` also checks the library without
//! this file, so that the compiler reports code that only a test uses.

pub use crate::{
    base::source::Source,
    base::{
        bytes, json, layout, options, python_value, recorded, shell, size, source, texts, vars,
        yaml,
    },
    command::{
        argv, front_end::Ranks, input_paths, job::Job, model, python, script,
        tables as command_tables, target, trainer,
    },
    config::{auto, layers, patch, schema, tables, template, template::search::BUILT_IN, zero},
    host::{Host, cards, machine},
    judge::Judged,
    plan::refused_json,
    ranks::{
        launcher::srun::{SrunPrefix, gpus_of_all_tasks},
        topology,
        topology::engine::{all_variables, expand_hosts},
    },
    report::{Problem, Rule, RuleSubject, Severity, When, nearest, secrets, write},
    request::{Format, Launch},
    tools::{check::in_json, doctor, explain, tables::completions},
};

pub mod arguments {
    pub use crate::command::argument_class::{
        ArgumentClass, TRAINING_ARGUMENTS, recorded_versions,
    };
}

pub mod check {
    pub use crate::{
        check::{
            machine, rules,
            tables::{
                limits,
                names::TYPED_VARIABLES,
                refusals::REFUSALS,
                types::{Condition, Example, ExampleLaunch, Refusal},
            },
        },
        host::cards::{WITHOUT_BF16, WITHOUT_FP16},
    };
}

pub mod cli {
    pub use crate::{
        cli::{Asked, command, help_of, page_of, parse, shown_options, tables},
        tools::{TOOLS, proof::all_problems},
    };
}

pub mod engines {
    pub use crate::ranks::topology::tables::engines::{
        ENGINES, Engine, Example, Kind, Outcome, Role, Variable,
    };
}

pub mod fit {
    pub use crate::fit::{
        FitRequest, answer, architecture, memory, need, settings, strategy, tables, workload,
    };
}

pub mod prefix {
    pub use crate::command::prefix::tables::{PROGRAMS, PrefixProgram};
    pub use crate::command::prefix::{Barrier, Prefix};
}
