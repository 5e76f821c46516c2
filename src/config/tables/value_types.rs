//! The types of the recorded keys: their names in the recorded file and in messages, and their JSON Schemas.

use Form::{
    Anything, Auto, Bits, Bool, Boolean, Count, CutInt, Empty, Falsy, Flag, Float, Int, Interval,
    Iterable, List, Names, NotNull, Object, PlainInt, PlainNumber, Printable, Scale, Section,
    Switched, Text, Texts, Truthy, Unread, Word,
};

/// What a value may be. A type takes one form or several.
#[derive(Clone, Copy, PartialEq)]
pub enum Form {
    Anything,
    /// Anything, because nothing reads it.
    Unread,
    Int,
    Float,
    /// For `int` of Python, and no bool.
    Count,
    /// A finite number, and no bool.
    Scale,
    /// "auto" or a whole number.
    Interval,
    Text,
    /// Text in any case.
    Word,
    /// A list of texts.
    Texts,
    Bool,
    /// A bool without coercion, which 0 and 1 are too: it is looked up in `[True, False]`.
    Flag,
    /// Used as an operand of `|`.
    Bits,
    Truthy,
    List,
    Auto,
    /// Iterated over, so a string or an object passes too.
    Names,
    Object,
    /// `enabled` is taken out of it, so that it must be there.
    Switched,
    Boolean,
    Falsy,
    /// `"throughput" in value` is false.
    Iterable,
    /// An object whose keys are recorded.
    Section,
    /// Handed to Python's `int`. pydantic 1 cuts fractions off, too, and looks up a member of an enum without a coercion.
    CutInt,
    /// pydantic 1 makes a text of a number.
    Printable,
    /// pydantic 1 tries `dict(value)`.
    Empty,
    /// Not coerced.
    PlainInt,
    /// Not coerced.
    PlainNumber,
    NotNull,
}

#[derive(Clone, Copy, PartialEq)]
pub enum UnknownKeys {
    /// They are refused, and an "auto" is dropped.
    Refused,
    /// They are refused, and an "auto" is a value like any other: a model of pydantic itself.
    RefusedPlainly,
    Ignored,
}

/// The type of a recorded key.
#[derive(PartialEq)]
pub struct ValueType {
    /// Its name in the recorded file.
    pub written: &'static str,
    /// Its name in messages.
    pub name: &'static str,
    pub forms: &'static [Form],
    /// Those that a field of a model of pydantic 1 takes.
    pub of_pydantic1: &'static [Form],
    /// Those that are right for a key which DeepSpeed does not look at when it reads the config.
    pub unchecked: &'static [Form],
    /// Of a section whose keys are recorded.
    pub unknown_keys: Option<UnknownKeys>,
}

pub const TYPES: &[ValueType] = &[
    ValueType {
        written: "any",
        name: "an object",
        forms: &[Anything],
        of_pydantic1: &[Anything],
        unchecked: &[NotNull],
        unknown_keys: None,
    },
    ValueType {
        written: "unread",
        name: "an object",
        forms: &[Unread],
        of_pydantic1: &[Unread],
        unchecked: &[Unread],
        unknown_keys: None,
    },
    ValueType {
        written: "int",
        name: "a whole number",
        forms: &[Int],
        of_pydantic1: &[CutInt],
        unchecked: &[PlainInt],
        unknown_keys: None,
    },
    ValueType {
        written: "float",
        name: "a number",
        forms: &[Float],
        of_pydantic1: &[Float],
        unchecked: &[PlainNumber],
        unknown_keys: None,
    },
    ValueType {
        written: "count",
        name: "a whole number",
        forms: &[Count],
        of_pydantic1: &[Count],
        unchecked: &[Count],
        unknown_keys: None,
    },
    ValueType {
        written: "scale",
        name: "a number",
        forms: &[Scale],
        of_pydantic1: &[Scale],
        unchecked: &[Scale],
        unknown_keys: None,
    },
    ValueType {
        written: "interval",
        name: "\"auto\" or a whole number",
        forms: &[Interval],
        of_pydantic1: &[Interval],
        unchecked: &[Interval],
        unknown_keys: None,
    },
    ValueType {
        written: "str",
        name: "text",
        forms: &[Text],
        of_pydantic1: &[Printable],
        unchecked: &[Text],
        unknown_keys: None,
    },
    ValueType {
        written: "path",
        name: "a path",
        forms: &[Text],
        of_pydantic1: &[Text],
        unchecked: &[Text],
        unknown_keys: None,
    },
    ValueType {
        written: "word",
        name: "text",
        forms: &[Word],
        of_pydantic1: &[Word],
        unchecked: &[Word],
        unknown_keys: None,
    },
    ValueType {
        written: "choices",
        name: "a list of strings",
        forms: &[Texts],
        of_pydantic1: &[Texts],
        unchecked: &[Texts],
        unknown_keys: None,
    },
    ValueType {
        written: "bool",
        name: "true or false",
        forms: &[Bool],
        of_pydantic1: &[Bool],
        unchecked: &[Flag],
        unknown_keys: None,
    },
    ValueType {
        written: "flag",
        name: "true or false",
        forms: &[Flag],
        of_pydantic1: &[Flag],
        unchecked: &[Flag],
        unknown_keys: None,
    },
    ValueType {
        written: "bits",
        name: "true or false",
        forms: &[Bits],
        of_pydantic1: &[Bits],
        unchecked: &[Bits],
        unknown_keys: None,
    },
    ValueType {
        written: "truthy",
        name: "a string that is not empty",
        forms: &[Truthy],
        of_pydantic1: &[Truthy],
        unchecked: &[Truthy],
        unknown_keys: None,
    },
    ValueType {
        written: "castint",
        name: "a whole number",
        forms: &[CutInt],
        of_pydantic1: &[CutInt],
        unchecked: &[CutInt],
        unknown_keys: None,
    },
    ValueType {
        written: "list",
        name: "a list",
        forms: &[List],
        of_pydantic1: &[List],
        unchecked: &[List],
        unknown_keys: None,
    },
    ValueType {
        written: "strings",
        name: "a list of strings",
        forms: &[Texts],
        of_pydantic1: &[Texts],
        unchecked: &[Texts],
        unknown_keys: None,
    },
    ValueType {
        written: "str|strings",
        name: "a string or a list of strings",
        forms: &[Text, Texts],
        of_pydantic1: &[Text, Texts],
        unchecked: &[Text, Texts],
        unknown_keys: None,
    },
    ValueType {
        written: "auto|strings",
        name: "\"auto\" or a list of strings",
        forms: &[Auto, Texts],
        of_pydantic1: &[Auto, Texts],
        unchecked: &[Auto, Texts],
        unknown_keys: None,
    },
    ValueType {
        written: "names",
        name: "a list of strings",
        forms: &[Names],
        of_pydantic1: &[Names],
        unchecked: &[Names],
        unknown_keys: None,
    },
    ValueType {
        written: "object",
        name: "an object",
        forms: &[Object],
        of_pydantic1: &[Object, Empty],
        unchecked: &[Object],
        unknown_keys: None,
    },
    ValueType {
        written: "switched",
        name: "an object with `enabled`",
        forms: &[Switched],
        of_pydantic1: &[Switched],
        unchecked: &[Switched],
        unknown_keys: None,
    },
    ValueType {
        written: "model|bool",
        name: "an object",
        forms: &[Section, Boolean],
        of_pydantic1: &[Section, Boolean],
        unchecked: &[Section, Boolean],
        unknown_keys: Some(UnknownKeys::Refused),
    },
    ValueType {
        written: "section|falsy",
        name: "an object",
        forms: &[Section, Falsy],
        of_pydantic1: &[Section, Falsy],
        unchecked: &[Section, Falsy],
        unknown_keys: Some(UnknownKeys::Ignored),
    },
    ValueType {
        written: "section|iterable",
        name: "an object",
        forms: &[Section, Iterable],
        of_pydantic1: &[Section, Iterable],
        unchecked: &[Section, Iterable],
        unknown_keys: Some(UnknownKeys::Ignored),
    },
    ValueType {
        // A Python object, which JSON cannot express.
        written: "none",
        name: "a value that JSON cannot express",
        forms: &[],
        of_pydantic1: &[],
        unchecked: &[],
        unknown_keys: None,
    },
    ValueType {
        written: "model",
        name: "an object",
        forms: &[Section],
        of_pydantic1: &[Section, Empty],
        unchecked: &[Section],
        unknown_keys: Some(UnknownKeys::Refused),
    },
    ValueType {
        written: "plainmodel",
        name: "an object",
        forms: &[Section],
        of_pydantic1: &[Section],
        unchecked: &[Section],
        unknown_keys: Some(UnknownKeys::RefusedPlainly),
    },
    ValueType {
        written: "section",
        name: "an object",
        forms: &[Section],
        of_pydantic1: &[Section],
        unchecked: &[Section],
        unknown_keys: Some(UnknownKeys::Ignored),
    },
];

pub struct FormSchema {
    pub form: Form,
    /// A JSON list of schemas of which one must hold. Ranges and choices are added.
    pub schemas: &'static str,
}

pub const FORM_SCHEMAS: &[FormSchema] = &[
    FormSchema {
        form: Unread,
        schemas: "[{}]",
    },
    FormSchema {
        form: Anything,
        schemas: "[{}]",
    },
    FormSchema {
        form: Int,
        schemas: r##"[{"$ref": "#/$defs/int"}]"##,
    },
    FormSchema {
        form: Float,
        schemas: r##"[{"$ref": "#/$defs/float"}]"##,
    },
    FormSchema {
        form: Count,
        schemas: r##"[{"$ref": "#/$defs/count"}]"##,
    },
    FormSchema {
        form: Scale,
        schemas: r##"[{"$ref": "#/$defs/scale"}]"##,
    },
    FormSchema {
        form: Interval,
        schemas: r#"[{"const": "auto"}, {"type": ["integer", "boolean"]}]"#,
    },
    FormSchema {
        form: Text,
        schemas: r#"[{"type": "string"}]"#,
    },
    FormSchema {
        form: Word,
        schemas: r#"[{"type": "string"}]"#,
    },
    FormSchema {
        form: Texts,
        schemas: r#"[{"type": "array", "items": {"type": "string"}}]"#,
    },
    FormSchema {
        form: Bool,
        schemas: r##"[{"$ref": "#/$defs/bool"}]"##,
    },
    FormSchema {
        form: Flag,
        schemas: r#"[{"type": ["boolean", "integer"], "minimum": 0, "maximum": 1}]"#,
    },
    FormSchema {
        form: Bits,
        schemas: r#"[{"type": ["boolean", "integer"]}]"#,
    },
    FormSchema {
        form: Truthy,
        schemas: r#"[{"not": {"enum": [null, false, 0, "", [], {}]}}]"#,
    },
    FormSchema {
        form: List,
        schemas: r#"[{"type": "array"}]"#,
    },
    FormSchema {
        form: Auto,
        schemas: r#"[{"const": "auto"}]"#,
    },
    FormSchema {
        form: Names,
        schemas: r#"[{"type": ["array", "string", "object"], "items": {"type": "string"}}]"#,
    },
    FormSchema {
        form: Object,
        schemas: r#"[{"type": "object"}]"#,
    },
    FormSchema {
        form: Switched,
        schemas: r#"[{"type": "object", "required": ["enabled"]}]"#,
    },
    FormSchema {
        form: Boolean,
        schemas: r#"[{"type": "boolean"}]"#,
    },
    FormSchema {
        form: Falsy,
        schemas: r#"[{"enum": [null, false, 0, "", []]}]"#,
    },
    FormSchema {
        form: Iterable,
        schemas: r#"[{"type": "array", "not": {"contains": {"const": "throughput"}}}, {"type": "string", "pattern": "^(?!auto$)(?!.*throughput)"}]"#,
    },
    // Its schema follows from its keys.
    FormSchema {
        form: Section,
        schemas: "[]",
    },
    FormSchema {
        form: CutInt,
        schemas: r##"[{"$ref": "#/$defs/cut"}]"##,
    },
    FormSchema {
        form: Printable,
        schemas: r#"[{"type": ["string", "number", "boolean"]}]"#,
    },
    FormSchema {
        form: Empty,
        schemas: r#"[{"enum": ["", []]}]"#,
    },
    FormSchema {
        form: PlainInt,
        schemas: r#"[{"type": "integer"}]"#,
    },
    FormSchema {
        form: PlainNumber,
        schemas: r#"[{"type": "number"}]"#,
    },
    FormSchema {
        form: NotNull,
        schemas: r#"[{"type": ["object", "array", "string", "number", "boolean"]}]"#,
    },
];

/// The schemas of numbers of which one must hold, where the recorded file lists them.
pub struct NumberChoices {
    /// In the recorded file.
    pub written: &'static str,
    pub schemas: &'static str,
    /// Before pydantic 2, which coerces texts.
    pub schemas_of_cut: &'static str,
}

pub const NUMBER_CHOICES: &[NumberChoices] = &[NumberChoices {
    written: "0|1|2|3",
    schemas: r#"[{"enum": [0, 1, 2, 3]}, {"type": "boolean"}, {"type": "string", "pattern": "^\\s*(\\+?[0_]*(0|1|2|3)|-[0_]+)(\\.0+)?\\s*$"}]"#,
    schemas_of_cut: r#"[{"enum": [0, 1, 2, 3]}, {"type": "boolean"}]"#,
}];

/// A schema that many keys refer to.
pub struct Definition {
    pub name: &'static str,
    pub schema: &'static str,
}

pub const DEFINITIONS: &[Definition] = &[
    // What pydantic takes for a bool, an int and a float, also as a text.
    Definition {
        name: "bool",
        schema: r#"{"type": ["boolean", "integer", "string"], "minimum": 0, "maximum": 1, "pattern": "^([01]|[Oo][Nn]|[Oo][Ff][Ff]|[TtFfYyNn]|[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]|[Yy][Ee][Ss]|[Nn][Oo])$"}"#,
    },
    Definition {
        name: "int",
        schema: r#"{"type": ["integer", "boolean", "string"], "pattern": "^\\s*[+-]?[0-9]+(_[0-9]+)*(\\.0+)?\\s*$"}"#,
    },
    Definition {
        name: "float",
        schema: r#"{"type": ["number", "boolean", "string"], "pattern": "^\\s*[+-]?(([0-9]+(_[0-9]+)*(\\.([0-9]+(_[0-9]+)*)?)?|\\.[0-9]+(_[0-9]+)*)([eE][+-]?[0-9]+(_[0-9]+)*)?|[Nn][Aa][Nn]|[Ii][Nn][Ff]([Ii][Nn][Ii][Tt][Yy])?)\\s*$"}"#,
    },
    // With a text that Python's `int` takes.
    Definition {
        name: "count",
        schema: r#"{"type": ["integer", "string"], "pattern": "^\\s*[+-]?[0-9]+(_[0-9]+)*\\s*$"}"#,
    },
    Definition {
        name: "scale",
        schema: r#"{"type": ["number", "string"], "minimum": 0, "pattern": "^\\s*(\\+?([0-9]+(_[0-9]+)*(\\.([0-9]+(_[0-9]+)*)?)?|\\.[0-9]+(_[0-9]+)*)([eE][+-]?[0-9]+(_[0-9]+)*)?|-[0.]+)\\s*$"}"#,
    },
    // Before pydantic 2 a fraction was cut off.
    Definition {
        name: "cut",
        schema: r#"{"type": ["number", "boolean", "string"], "pattern": "^\\s*[+-]?[0-9]+(_[0-9]+)*\\s*$"}"#,
    },
];
