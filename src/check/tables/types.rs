//! What the rules are made of. A row is read forwards by `check`: if its conditions hold, it says what is wrong and what to change.

use crate::{command::job::Trainer, config::zero::Device, report::fix::Owner};

/// A problem that conditions can find.
pub struct Row {
    /// Where the cause is.
    pub at: &'static [At],
    /// All of them must hold.
    pub when: &'static [Condition],
    /// `{key}` is the first place, `{value}` what stands there, `{name}` the same as a name without quotes; `{deepspeed}` is a version.
    pub says: &'static str,
    /// In order of preference.
    pub fixes: &'static [Remedy],
}

/// What a trainer refuses once its arguments are read, though its parser took them.
pub struct Refusal {
    /// The trainers that refuse it. None: transformers does, and every trainer that uses it.
    pub by: &'static [&'static Trainer],
    /// The argument that is refused, or missing.
    pub argument: &'static str,
    /// All of them must hold. The first is about the argument.
    pub when: &'static [Condition],
    pub why: &'static str,
    /// In order of preference.
    pub fixes: &'static [Remedy],
    #[cfg_attr(
        not(feature = "testing"),
        expect(dead_code, reason = "the tests run the examples")
    )]
    pub examples: &'static [Example],
}

#[cfg_attr(
    not(feature = "testing"),
    expect(dead_code, reason = "the tests run the examples")
)]
pub enum Example {
    Refused {
        launch: ExampleLaunch,
        /// What the launch has besides.
        with: &'static str,
        /// The argument as the message shows it.
        argument: &'static str,
        help: &'static str,
    },
    /// Nothing is said about the launch with this.
    Accepted(ExampleLaunch, &'static str),
}

/// A launch on two ranks, with the files that the conditions of the row name.
#[cfg_attr(
    not(feature = "testing"),
    expect(dead_code, reason = "the tests run the examples")
)]
#[derive(Clone, Copy)]
pub struct ExampleLaunch {
    /// The value of `--deepspeed`.
    pub config: Option<&'static str>,
    pub command: &'static str,
    /// The entries of a YAML file behind the command, to which others are added.
    pub run_file: Option<&'static str>,
    /// The version of ms-swift.
    pub swift: &'static str,
}

/// A place that a problem points at.
pub enum At {
    /// A key of the config.
    Key(&'static str),
    /// An argument of the trainer with its value.
    Argument(&'static str),
    Variable(&'static str),
    /// Something that is none of these.
    Word(&'static str),
}

pub enum Condition {
    /// The condition does not hold.
    Not(&'static Condition),
    /// At least one of them holds.
    Any(&'static [Condition]),

    // Arguments of the trainer.
    /// It is given and true.
    True(&'static str),
    /// It is given, with any value but `None`.
    Given(&'static str),
    /// The parser shows that nothing can mean this argument.
    LeftOut(&'static str),
    /// It has this value.
    Is(&'static str, &'static str),
    StartsWith(&'static str, &'static str),
    Contains(&'static str, &'static str),
    Differ(WithDefault, WithDefault),
    /// It begins as JSON does, and is none.
    NoJson(&'static str),
    /// There are fewer ranks than it says.
    MoreThanRanks(&'static str),
    /// It is a number from this one on.
    AtLeast(&'static str, f64),
    /// The product of these, of which none is unknown, and of the ranks if they count, is no multiple of an argument.
    NoMultiple {
        factors: &'static [WithDefault],
        ranks: bool,
        of: &'static str,
    },

    // What is installed.
    /// None of these modules is, and it is known where they would be.
    NotInstalled(&'static [&'static str]),
    /// One of these files has the text.
    FileSays {
        files: &'static [&'static str],
        text: &'static str,
    },
    /// The value of the argument stands in quotes in none of these files, of which at least one is there.
    NotNamedIn {
        argument: &'static str,
        files: &'static [&'static str],
    },
    /// The same of a variable.
    VariableNotNamedIn {
        variable: &'static str,
        files: &'static [&'static str],
    },
    /// The script of the command has the text.
    ScriptSays(&'static str),
    /// The package is known to be older than this. For DeepSpeed, the recorded version that judges counts.
    Before(&'static str, [u32; 3]),

    /// torch finds no compiler of CUDA.
    NoNvcc,
    /// One of this machine's GPUs is one of these models.
    GpuIs(&'static [&'static str]),

    // The trainer.
    /// It has this name.
    TrainerIs(&'static str),
    UsesTransformers,
    UsesAccelerate,
    /// The script calls DeepSpeed itself, and nothing fills in its config.
    PlainDeepSpeed,
    /// It sets the key of the config, whatever that says.
    Sets(&'static str),
    /// It sets the keys that the config leaves out, as Lightning does.
    SetsWhatIsAbsent,

    // The config.
    /// There is one.
    DeepSpeed,
    Stage(&'static [u8]),
    /// ZeRO keeps the optimizer on one of these devices.
    OptimizerOn(&'static [Device]),
    /// ZeRO keeps the parameters on one of these devices.
    ParametersOn(&'static [Device]),
    Key(&'static str, KeyState),
    /// `fp16` or `bf16` is on, as the installed version reads its section.
    PrecisionOn(&'static str),
    /// A key of `fp16` or `bf16` is on, as the installed version reads its section.
    PrecisionSetting(&'static str),
    /// Two keys hold different whole numbers.
    SizesDiffer(&'static str, &'static str),
    /// The key holds a number above that of the ranks.
    AboveRanks(&'static str),
    /// The key holds a number that does not divide that of the ranks.
    DoesNotDivideRanks(&'static str),

    // The launch.
    /// The user sets the variable to this.
    VariableIs(&'static str, &'static str),
    /// The user sets the variable, and not to nothing.
    VariableGiven(&'static str),
    /// Both are set, and not to the same.
    VariablesDiffer(&'static str, &'static str),
    SeveralMachines,
    /// torchrun starts the ranks, or whatever the command starts them with.
    ByTorchrun,
    /// SIGHUP is ignored, as `nohup` has it.
    HangupIgnored,
    /// This process is a rank that something else started.
    RankExists,
}

/// What a key of the config holds.
pub enum KeyState {
    Missing,
    MissingOrNull,
    Auto,
    /// Neither missing, null nor "auto".
    HasValue,
    Section,
    /// A section with a value in it that Python calls true.
    SectionInUse,
    /// DeepSpeed reads it as true.
    On,
    /// DeepSpeed reads it as false.
    Off,
    /// Python calls it true, and it is not "auto".
    Truthy,
    /// It is there, and Python calls it false.
    Falsy,
    /// One of these words, in upper or lower case.
    Word(&'static [&'static str]),
    /// One of these words as it is.
    OneOf(&'static [&'static str]),
    /// Text whose last part is a number, such as that of a process or a job: `/local/nvme/me-12345`.
    EndsInNumber,
    /// Text that only a shell expands: `~/nvme`, `$TMPDIR/nvme`.
    ForShell,
    /// A number, or a bool, which is one in Python.
    Number,
    Whole,
    Odd,
    Equals(f64),
    Above(f64),
    Below(f64),
}

/// An argument of the trainer, and its value where it is left out.
#[derive(Clone, Copy)]
pub struct WithDefault {
    pub argument: &'static str,
    pub default: &'static str,
}

/// A fix of a row.
pub enum Remedy {
    Set(&'static str, &'static str),
    /// The number that the text of a key means.
    Unquote(&'static str),
    Unset(&'static str),
    Give {
        owner: Owner,
        option: &'static str,
        value: &'static str,
    },
    /// An option of the trainer, with the value of another argument.
    GiveSame {
        option: &'static str,
        other: WithDefault,
    },
    /// The parameters of this section become arguments of the trainer.
    GiveParameters(&'static str),
    /// The argument as it is spelled, with the nearest value that stands in quotes in these files.
    GiveNearest {
        argument: &'static str,
        files: &'static [&'static str],
    },
    /// The argument as it is spelled.
    DropArgument(&'static str),
    SetVariable(&'static str, &'static str),
    UnsetVariable(&'static str),
    /// The second variable with the value of the first, which is removed.
    RenameVariable(&'static str, &'static str),
    Run(&'static str),
    Say(&'static str),
    /// They belong together.
    Both(&'static Remedy, &'static Remedy),
    With {
        remark: &'static str,
        remedy: &'static Remedy,
    },
}
