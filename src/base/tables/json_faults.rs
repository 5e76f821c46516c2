//! What is wrong with a text that is not JSON, and what to do about it. The first row that fits counts.

pub struct Fault {
    /// serde_json's words begin with one of these.
    pub says: &'static [&'static str],
    /// The text at the place begins with one of these.
    pub at: &'static [&'static str],
    /// A line begins so; every text has a line that begins with nothing.
    pub line: &'static str,
    pub what: &'static str,
    pub help: &'static str,
}

/// Every text begins so.
const ANY: &[&str] = &[""];

/// Stands for serde_json's words if the first line is a key and a value of YAML.
pub const YAML: &str = "YAML";
const VALUE: &str = "expected value";
const KEY: &str = "key must be a string";

/// For a fault that has no help of its own.
pub const HELP: &str = "JSON is expected; comments and trailing commas are allowed";

pub const FAULTS: &[Fault] = &[
    // accelerate sets an infinite `steps_per_print` in every config, so a config that was saved from a run has it.
    Fault {
        says: ANY,
        at: &["Infinity", "NaN"],
        line: "",
        what: "NaN, Infinity and numbers this large are not JSON, although Python reads them",
        help: "write another number (\"steps_per_print\": 2000), or drop the key",
    },
    Fault {
        says: &["number out of range"],
        at: ANY,
        line: "",
        what: "NaN, Infinity and numbers this large are not JSON, although Python reads them",
        help: "write another number (\"steps_per_print\": 2000), or drop the key",
    },
    Fault {
        says: ANY,
        at: ANY,
        line: "#!",
        what: "this is a script, not a config",
        help: "check the training command in it: zlaunch check -- swift sft …",
    },
    Fault {
        says: ANY,
        at: &["#"],
        line: "",
        what: "`#` does not start a comment",
        help: "start a comment with //, or put it between /* and */",
    },
    Fault {
        says: &[KEY, VALUE],
        at: &["'"],
        line: "",
        what: "JSON uses double quotes, not single quotes",
        help: "use double quotes around keys and strings",
    },
    Fault {
        says: &[KEY, VALUE],
        at: &["“", "”", "‘", "’", "„"],
        line: "",
        what: "JSON uses straight double quotes, not typographic ones",
        help: "use double quotes around keys and strings",
    },
    Fault {
        says: &[KEY, VALUE],
        at: &[","],
        line: "",
        what: "one comma too many",
        help: "drop it; only one comma is allowed after the last value",
    },
    Fault {
        says: &[VALUE],
        at: &["True", "False", "None"],
        line: "",
        what: "JSON spells these true, false and null, not True, False and None",
        help: "write it in lowercase, and None as null",
    },
    Fault {
        says: &[YAML],
        at: ANY,
        line: "distributed_type:",
        what: "this is accelerate's config",
        help: "give it to accelerate launch --config_file, or name a template: --deepspeed zero2",
    },
    Fault {
        says: &[YAML],
        at: ANY,
        line: "",
        what: "this looks like YAML",
        help: "a DeepSpeed config is JSON: {\"zero_optimization\": {\"stage\": 2}}; a run file goes after the trainer",
    },
    Fault {
        says: &["trailing characters"],
        at: &[":"],
        line: "",
        what: "a config is an object, and the braces around it are missing",
        help: "add { before it and } after it",
    },
    Fault {
        says: &[KEY],
        at: ANY,
        line: "",
        what: "a key in double quotes is expected here",
        help: "put double quotes around the key: \"stage\": 2",
    },
    Fault {
        says: &["EOF while parsing an object"],
        at: ANY,
        line: "",
        what: "it ends inside an object: a `}` is missing",
        help: HELP,
    },
    Fault {
        says: &["EOF while parsing a list"],
        at: ANY,
        line: "",
        what: "it ends inside a list: a `]` is missing",
        help: HELP,
    },
    Fault {
        says: &["EOF while parsing a string"],
        at: ANY,
        line: "",
        what: "it ends inside a string: a `\"` is missing",
        help: HELP,
    },
    Fault {
        says: &["EOF while parsing a value"],
        at: ANY,
        line: "",
        what: "it ends where a value is expected",
        help: HELP,
    },
    Fault {
        says: &["recursion limit exceeded"],
        at: ANY,
        line: "",
        what: "it is nested more than 128 levels deep",
        help: HELP,
    },
    Fault {
        says: &[VALUE],
        at: ANY,
        line: "",
        what: "a JSON value is expected here",
        help: HELP,
    },
    Fault {
        says: &["expected ident"],
        at: ANY,
        line: "",
        what: "a JSON value is expected here",
        help: HELP,
    },
    Fault {
        says: &["expected `,` or"],
        at: &["_"],
        line: "",
        what: "a number in JSON has no `_`",
        help: "write all its digits without the `_`",
    },
    Fault {
        says: &["expected `,` or"],
        at: &["*", "+", "-", "/"],
        line: "",
        what: "JSON does not calculate",
        help: "write the result",
    },
    Fault {
        says: &["expected `,` or `}`"],
        at: ANY,
        line: "",
        what: "a `,` or a `}` is missing before this",
        help: "add a comma after the previous value",
    },
    Fault {
        says: &["expected `,` or `]`"],
        at: ANY,
        line: "",
        what: "a `,` or a `]` is missing before this",
        help: "add a comma after the previous value",
    },
    Fault {
        says: &["trailing characters"],
        at: ANY,
        line: "",
        what: "unexpected text after the end of the config",
        help: HELP,
    },
    Fault {
        says: &["expected `:`"],
        at: ANY,
        line: "",
        what: "a `:` is missing before this",
        help: "put a colon between the key and its value",
    },
];
