//! Words of the pages of `explain` that are in no file of texts, in both languages.

use crate::base::texts::Phrase;

// Labels.
pub(in crate::tools::explain) const ALSO: Phrase = Phrase {
    en: "also",
    zh: "别名",
};
pub(in crate::tools::explain) const TYPE: Phrase = Phrase {
    en: "type",
    zh: "类型",
};
pub(in crate::tools::explain) const DEFAULT: Phrase = Phrase {
    en: "default",
    zh: "默认值",
};
pub(in crate::tools::explain) const AUTO: Phrase = Phrase {
    en: "\"auto\"",
    zh: "\"auto\"",
};
pub(in crate::tools::explain) const STAGES: Phrase = Phrase {
    en: "stages",
    zh: "适用阶段",
};
pub(in crate::tools::explain) const SINCE: Phrase = Phrase {
    en: "since",
    zh: "起始版本",
};
pub(in crate::tools::explain) const STATUS: Phrase = Phrase {
    en: "status",
    zh: "状态",
};
pub(in crate::tools::explain) const HERE: Phrase = Phrase {
    en: "here",
    zh: "本机",
};
pub(in crate::tools::explain) const KEYS: Phrase = Phrase {
    en: "keys",
    zh: "子键",
};
pub(in crate::tools::explain) const ZLAUNCH: Phrase = Phrase {
    en: "zlaunch",
    zh: "zlaunch",
};
pub(in crate::tools::explain) const ADVICE: Phrase = Phrase {
    en: "advice",
    zh: "建议",
};
pub(in crate::tools::explain) const CAREFUL: Phrase = Phrase {
    en: "careful",
    zh: "注意",
};
pub(in crate::tools::explain) const SEEN_IN: Phrase = Phrase {
    en: "seen in",
    zh: "出处",
};
pub(in crate::tools::explain) const EXAMPLE: Phrase = Phrase {
    en: "example",
    zh: "示例",
};
pub(in crate::tools::explain) const SAME_AS: Phrase = Phrase {
    en: "same as",
    zh: "等同于",
};
pub(in crate::tools::explain) const WHY: Phrase = Phrase {
    en: "why",
    zh: "原因",
};
pub(in crate::tools::explain) const WRONG: Phrase = Phrase {
    en: "wrong",
    zh: "错误",
};
pub(in crate::tools::explain) const RIGHT: Phrase = Phrase {
    en: "right",
    zh: "正确",
};
pub(in crate::tools::explain) const ERROR: Phrase = Phrase {
    en: "error",
    zh: "报错",
};
pub(in crate::tools::explain) const SILENCE: Phrase = Phrase {
    en: "silence",
    zh: "忽略",
};
pub(in crate::tools::explain) const LINE: Phrase = Phrase {
    en: "line",
    zh: "报错行",
};
pub(in crate::tools::explain) const WHERE: Phrase = Phrase {
    en: "where",
    zh: "位置",
};
pub(in crate::tools::explain) const MISSING: Phrase = Phrase {
    en: "missing",
    zh: "缺少",
};
pub(in crate::tools::explain) const THIS_LAUNCH: Phrase = Phrase {
    en: "this launch",
    zh: "本次启动",
};
pub(in crate::tools::explain) const FROM: Phrase = Phrase {
    en: "from",
    zh: "来源",
};
pub(in crate::tools::explain) const EXTENDS: Phrase = Phrase {
    en: "extends",
    zh: "继承",
};
pub(in crate::tools::explain) const SETS: Phrase = Phrase {
    en: "sets",
    zh: "设置",
};
pub(in crate::tools::explain) const PRINT_IT: Phrase = Phrase {
    en: "print it",
    zh: "查看内容",
};

// What a value is, what became of a key, and what the installed DeepSpeed does with it.
pub(in crate::tools::explain) const BUILT_IN: Phrase = Phrase {
    en: "built in",
    zh: "内置",
};
pub(in crate::tools::explain) const COMPARED: Phrase = Phrase {
    en: "; a value of your own must equal it",
    zh: "；自己写的值必须与之相等",
};
pub(in crate::tools::explain) const OLD_NAME: Phrase = Phrase {
    en: "the old name of `{name}`",
    zh: "`{name}` 的旧名",
};
pub(in crate::tools::explain) const PAUSED: Phrase = Phrase {
    en: "read by older and newer versions, not by this one",
    zh: "更旧和更新的版本读取它，这个版本不读取",
};
pub(in crate::tools::explain) const REFUSED: Phrase = Phrase {
    en: "removed in {since}{now}: a config that has it is refused since then",
    zh: "{since} 移除{now}：此后会拒绝含有它的配置",
};
pub(in crate::tools::explain) const DROPPED: Phrase = Phrase {
    en: "dropped in {since}{now}",
    zh: "{since} 起不再使用{now}",
};
pub(in crate::tools::explain) const NOW: Phrase = Phrase {
    en: ", now `{name}`",
    zh: "，现在是 `{name}`",
};
pub(in crate::tools::explain) const NOT_YET_HERE: Phrase = Phrase {
    en: "does not know it yet",
    zh: "还不认识这个键",
};
pub(in crate::tools::explain) const DROPPED_HERE: Phrase = Phrase {
    en: "no longer knows it",
    zh: "已不认识这个键",
};
pub(in crate::tools::explain) const REFUSED_HERE: Phrase = Phrase {
    en: "refuses a config that has it",
    zh: "会拒绝含有它的配置",
};
pub(in crate::tools::explain) const PAUSED_HERE: Phrase = Phrase {
    en: "does not read it",
    zh: "不读取这个键",
};
pub(in crate::tools::explain) const STANDS_IN: Phrase = Phrase {
    en: " (judged as {version}: this one was not recorded)",
    zh: "（按 {version} 判断，该版本未记录）",
};
