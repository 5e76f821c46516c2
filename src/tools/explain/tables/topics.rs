//! The kinds of things that `explain` explains, in the order in which they are listed.

use crate::base::texts::Phrase;

#[derive(Clone, Copy, PartialEq)]
pub enum Topic {
    Term,
    Stage,
    Template,
    Key,
    Variable,
    Rule,
    Failure,
}

pub struct TopicRow {
    pub topic: Topic,
    /// The word that lists all of them.
    pub plural: &'static str,
    pub one: Phrase,
}

pub const TOPICS: &[TopicRow] = &[
    TopicRow {
        topic: Topic::Term,
        plural: "terms",
        one: Phrase {
            en: "a term",
            zh: "名词",
        },
    },
    TopicRow {
        topic: Topic::Stage,
        plural: "stages",
        one: Phrase {
            en: "a stage of ZeRO",
            zh: "ZeRO 阶段",
        },
    },
    TopicRow {
        topic: Topic::Template,
        plural: "templates",
        one: Phrase {
            en: "a template",
            zh: "模板",
        },
    },
    TopicRow {
        topic: Topic::Key,
        plural: "keys",
        one: Phrase {
            en: "a key of DeepSpeed's config",
            zh: "DeepSpeed 配置键",
        },
    },
    TopicRow {
        topic: Topic::Variable,
        plural: "variables",
        one: Phrase {
            en: "a variable",
            zh: "环境变量",
        },
    },
    TopicRow {
        topic: Topic::Rule,
        plural: "rules",
        one: Phrase {
            en: "a rule",
            zh: "诊断规则",
        },
    },
    TopicRow {
        topic: Topic::Failure,
        plural: "errors",
        one: Phrase {
            en: "an error",
            zh: "报错",
        },
    },
];

/// More meanings than this are only listed.
pub const MOST_IN_FULL: usize = 3;
/// Bytes of a log after which its progress is told again.
pub const OFTEN: u64 = 32 << 20;
