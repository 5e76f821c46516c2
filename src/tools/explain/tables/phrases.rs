//! Words of the pages of `explain` that are in no file of texts, in both languages.

use crate::base::texts::Phrase;

// Labels.
pub const ALSO: Phrase = Phrase {
    en: "also",
    zh: "别名",
};
pub const TYPE: Phrase = Phrase {
    en: "type",
    zh: "类型",
};
pub const DEFAULT: Phrase = Phrase {
    en: "default",
    zh: "默认值",
};
pub const AUTO: Phrase = Phrase {
    en: "\"auto\"",
    zh: "\"auto\"",
};
pub const STAGES: Phrase = Phrase {
    en: "stages",
    zh: "适用阶段",
};
pub const SINCE: Phrase = Phrase {
    en: "since",
    zh: "起始版本",
};
pub const STATUS: Phrase = Phrase {
    en: "status",
    zh: "状态",
};
pub const KEYS: Phrase = Phrase {
    en: "keys",
    zh: "子键",
};
pub const ZLAUNCH: Phrase = Phrase {
    en: "zlaunch",
    zh: "zlaunch",
};
pub const ADVICE: Phrase = Phrase {
    en: "advice",
    zh: "建议",
};
pub const CAREFUL: Phrase = Phrase {
    en: "careful",
    zh: "注意",
};
pub const SEEN_IN: Phrase = Phrase {
    en: "seen in",
    zh: "出处",
};
pub const FIXED_IN: Phrase = Phrase {
    en: "fixed in",
    zh: "修复于",
};
pub const EXAMPLE: Phrase = Phrase {
    en: "example",
    zh: "示例",
};
pub const SAME_AS: Phrase = Phrase {
    en: "same as",
    zh: "等同于",
};
pub const WHY: Phrase = Phrase {
    en: "why",
    zh: "原因",
};
pub const WRONG: Phrase = Phrase {
    en: "wrong",
    zh: "错误",
};
pub const RIGHT: Phrase = Phrase {
    en: "right",
    zh: "正确",
};
pub const ERROR: Phrase = Phrase {
    en: "error",
    zh: "报错",
};
pub const SILENCE: Phrase = Phrase {
    en: "silence",
    zh: "忽略",
};
pub const LINE: Phrase = Phrase {
    en: "line",
    zh: "报错行",
};
pub const WHERE: Phrase = Phrase {
    en: "where",
    zh: "位置",
};
pub const NUMBERS: Phrase = Phrase {
    en: "numbers",
    zh: "数字",
};
pub const IF: Phrase = Phrase {
    en: "if", zh: "当"
};
pub const UNLESS: Phrase = Phrase {
    en: "unless",
    zh: "除非",
};
pub const SAID_BY: Phrase = Phrase {
    en: "said by",
    zh: "来源",
};
pub const LIKELIEST: Phrase = Phrase {
    en: "this is the likeliest cause of this message, and not the only one: with the traceback above it, zlaunch can tell",
    zh: "这是该报错最常见的原因，但不是唯一原因：连同上方的 traceback 一起给出，zlaunch 才能判断",
};
pub const IN_FULL: Phrase = Phrase {
    en: "in full",
    zh: "全文",
};
pub const IN_THIS_VERSION: Phrase = Phrase {
    en: "installed",
    zh: "已安装版本",
};
pub const MISSING: Phrase = Phrase {
    en: "missing",
    zh: "缺少",
};
pub const THIS_LAUNCH: Phrase = Phrase {
    en: "this launch",
    zh: "本次启动",
};
pub const PRINT_IT: Phrase = Phrase {
    en: "print it",
    zh: "查看内容",
};

// What became of a key.
pub const COMPARED: Phrase = Phrase {
    en: "; a value of your own must equal it",
    zh: "；自己写的值必须与之相等",
};
pub const OLD_NAME: Phrase = Phrase {
    en: "the old name of `{name}`",
    zh: "`{name}` 的旧名",
};
pub const PAUSED: Phrase = Phrase {
    en: "read by older and newer versions, not by this one",
    zh: "更旧和更新的版本读取它，这个版本不读取",
};
pub const REFUSED: Phrase = Phrase {
    en: "removed in {since}{now}: a config that has it is refused since then",
    zh: "{since} 移除{now}：此后会拒绝含有它的配置",
};
pub const DROPPED: Phrase = Phrase {
    en: "dropped in {since}{now}",
    zh: "{since} 起不再使用{now}",
};
pub const NOW: Phrase = Phrase {
    en: ", now `{name}`",
    zh: "，现在是 `{name}`",
};
