//! What is wrong with a text that is not JSON, and what to do about it. The first row that fits counts.

pub(crate) struct Fault {
    pub(crate) seen: Seen,
    pub(crate) what: &'static str,
    pub(crate) help: &'static str,
}

pub(crate) enum Seen {
    /// serde_json says this.
    Message(&'static str),
    /// One of these is at the place, whatever serde_json says.
    At(&'static [&'static str]),
    /// One of these is in the place of a key or a value.
    InsteadOf(&'static [&'static str]),
    /// A value is missing, and one of these is there.
    InsteadOfValue(&'static [&'static str]),
    /// The first line begins so.
    FirstLine(&'static str),
    /// A value is missing, and the text has this in a line below the first.
    Below(&'static str),
    /// A value is missing, and the first line is `key: value`.
    Yaml,
    /// The text goes on with a colon.
    NoBraces,
}

use Seen::{At, Below, FirstLine, InsteadOf, InsteadOfValue, Message, NoBraces, Yaml};

/// For a fault that has no help of its own.
pub(crate) const HELP: &str = "JSON is expected; comments and trailing commas are allowed";

pub(crate) const FAULTS: &[Fault] = &[
    // accelerate sets an infinite `steps_per_print` in every config, so a config that was saved from a run has it.
    Fault {
        seen: At(&["Infinity", "NaN"]),
        what: "NaN, Infinity and numbers this large are not JSON, although Python reads them",
        help: "write another number (\"steps_per_print\": 2000), or drop the key",
    },
    Fault {
        seen: Message("number out of range"),
        what: "NaN, Infinity and numbers this large are not JSON, although Python reads them",
        help: "write another number (\"steps_per_print\": 2000), or drop the key",
    },
    Fault {
        seen: FirstLine("#!"),
        what: "this is a script, not a config",
        help: "check the training command in it: zlaunch check -- swift sft …",
    },
    Fault {
        seen: At(&["#"]),
        what: "`#` does not start a comment",
        help: "start a comment with //, or put it between /* and */",
    },
    Fault {
        seen: InsteadOf(&["'"]),
        what: "JSON uses double quotes, not single quotes",
        help: "use double quotes around keys and strings",
    },
    Fault {
        seen: InsteadOf(&["“", "”", "‘", "’", "„"]),
        what: "JSON uses straight double quotes, not typographic ones",
        help: "use double quotes around keys and strings",
    },
    Fault {
        seen: InsteadOf(&[","]),
        what: "one comma too many",
        help: "drop it; only one comma is allowed after the last value",
    },
    Fault {
        seen: InsteadOfValue(&["True", "False", "None"]),
        what: "JSON spells these true, false and null, not True, False and None",
        help: "write it in lowercase, and None as null",
    },
    Fault {
        seen: Below("distributed_type:"),
        what: "this is accelerate's config",
        help: "give it to accelerate launch --config_file, or name a template: --deepspeed zero2",
    },
    Fault {
        seen: Yaml,
        what: "this looks like YAML",
        help: "a DeepSpeed config is JSON: {\"zero_optimization\": {\"stage\": 2}}; a run file goes after the trainer",
    },
    Fault {
        seen: NoBraces,
        what: "a config is an object, and the braces around it are missing",
        help: "add { before it and } after it",
    },
    Fault {
        seen: Message("key must be a string"),
        what: "a key in double quotes is expected here",
        help: "put double quotes around the key: \"stage\": 2",
    },
    Fault {
        seen: Message("EOF while parsing an object"),
        what: "it ends inside an object: a `}` is missing",
        help: HELP,
    },
    Fault {
        seen: Message("EOF while parsing a list"),
        what: "it ends inside a list: a `]` is missing",
        help: HELP,
    },
    Fault {
        seen: Message("EOF while parsing a string"),
        what: "it ends inside a string: a `\"` is missing",
        help: HELP,
    },
    Fault {
        seen: Message("EOF while parsing a value"),
        what: "it ends where a value is expected",
        help: HELP,
    },
    Fault {
        seen: Message("recursion limit exceeded"),
        what: "it is nested more than 128 levels deep",
        help: HELP,
    },
    Fault {
        seen: Message("expected value"),
        what: "a JSON value is expected here",
        help: HELP,
    },
    Fault {
        seen: Message("expected ident"),
        what: "a JSON value is expected here",
        help: HELP,
    },
    Fault {
        seen: Message("expected `,` or `}`"),
        what: "a `,` or a `}` is missing before this",
        help: "add a comma after the previous value",
    },
    Fault {
        seen: Message("expected `,` or `]`"),
        what: "a `,` or a `]` is missing before this",
        help: "add a comma after the previous value",
    },
    Fault {
        seen: Message("trailing characters"),
        what: "unexpected text after the end of the config",
        help: HELP,
    },
    Fault {
        seen: Message("expected `:`"),
        what: "a `:` is missing before this",
        help: "put a colon between the key and its value",
    },
];
