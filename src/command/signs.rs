//! What the text of a script shows at a glance: the modules that it imports, and what it hands to a call. A front end is
//! recognised by such signs; the script is not run.

/// Whether the script imports one of these modules, or something below it.
pub(super) fn imports(text: &str, modules: &[&str]) -> bool {
    let is_below = |name: &str, module: &str| {
        name.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let first = |words: &str| {
        let name = words.split_whitespace().next().unwrap_or_default();
        modules.iter().any(|module| is_below(name, module))
    };
    text.lines().map(str::trim_start).any(|line| match (line.strip_prefix("from "), line.strip_prefix("import ")) {
        (Some(rest), _) => first(rest),
        (None, Some(rest)) => rest.split(',').any(first),
        (None, None) => false,
    })
}

/// What stands between the parentheses of every call of this name.
pub(super) fn calls<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    text.match_indices(name).filter_map(move |(at, _)| {
        let before = text[..at].rsplit('\n').next().unwrap_or_default();
        let is_call = !before.ends_with(is_name) && !["def ", "class ", "#"].iter().any(|it| before.contains(it));
        let inside = text[at + name.len()..].strip_prefix('(').filter(|_| is_call)?;
        let mut depth = 1;
        let end = inside.find(|c| {
            depth += i32::from(['(', '[', '{'].contains(&c)) - i32::from([')', ']', '}'].contains(&c));
            depth == 0
        });
        Some(&inside[..end.unwrap_or(inside.len())])
    })
}

/// What a call gives to a keyword.
pub(super) fn keyword<'a>(call: &'a str, name: &str) -> Option<&'a str> {
    call.match_indices(name).find_map(|(at, _)| {
        let value = call[at + name.len()..].trim_start().strip_prefix('=').filter(|rest| !rest.starts_with('='))?;
        (!call[..at].ends_with(is_name)).then(|| value.split([',', '\n']).next().unwrap_or(value).trim())
    })
}

/// Whether a value is written out as text.
pub(super) fn is_text(value: &str) -> bool {
    value.starts_with(['"', '\''])
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_of_all_kinds() {
        for text in
            ["import ray\n", "import os, ray.data as d\n", "    from ray.util import x\n", "from ray import init"]
        {
            assert!(imports(text, &["lightning", "ray"]), "{text}");
        }
        for text in ["import rays\n", "# import ray\n", "from .ray import x\n", "x = 'import ray'\n", ""] {
            assert!(!imports(text, &["ray"]), "{text}");
        }
    }

    #[test]
    fn calls_and_their_keywords() {
        let text = "# Trainer(a=1)\nclass Trainer(Base):\n    x = L.Trainer(\n        strategy=\"ddp\", n=f(1)[2])\nMyTrainer(b=2)\n";
        let found: Vec<_> = calls(text, "Trainer").collect();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((keyword(found[0], "strategy"), keyword(found[0], "n")), (Some("\"ddp\""), Some("f(1)[2]")));
        assert_eq!((keyword(found[0], "rategy"), keyword("a==1", "a")), (None, None));
        assert_eq!(calls("f(1", "f").collect::<Vec<_>>(), ["1"]);
        assert!(is_text("\"ddp\"") && !is_text("args.strategy"));
    }
}
