//! The layers of `src/`: a folder imports only the folders below it, and no file imports itself through others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A module by its path: `["ranks", "topology"]` is `src/ranks/topology.rs`, and `[]` is `src/lib.rs`.
type Module = Vec<String>;

/// A path in the code that names another module, and the line it stands on.
struct Import {
    to: Module,
    line: usize,
}

struct Sources {
    files: BTreeMap<Module, PathBuf>,
    imports: BTreeMap<Module, Vec<Import>>,
    /// Top to bottom, as `CONTRIBUTING.md` lists them.
    layers: Vec<String>,
}

impl Sources {
    fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut files = BTreeMap::new();
        collect(&root, &mut Vec::new(), &mut files);
        let text =
            fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("CONTRIBUTING.md"))
                .unwrap();
        let table = text
            .lines()
            .skip_while(|line| !line.starts_with("| layer |"))
            .skip(2);
        let layers = table
            .map_while(|row| Some(row.strip_prefix("| `")?.split('`').next()?.to_string()))
            .collect();
        let imports = files
            .iter()
            .map(|(module, path)| (module.clone(), imports_of(module, path, &files)))
            .collect();
        Sources {
            files,
            imports,
            layers,
        }
    }

    /// How far down a module's layer is. `lib.rs` stands above all.
    fn depth(&self, module: &Module) -> Option<usize> {
        match module.first() {
            Some(layer) => self
                .layers
                .iter()
                .position(|name| name == layer)
                .map(|at| at + 1),
            None => Some(0),
        }
    }

    fn arrow(&self, from: &Module, import: &Import) -> String {
        let path = self.files[from]
            .strip_prefix(env!("CARGO_MANIFEST_DIR"))
            .unwrap();
        format!(
            "{}:{} imports {}",
            path.display(),
            import.line,
            import.to.join("::")
        )
    }

    /// Every file that can reach itself, with the imports that stay inside the circle.
    fn circular(&self) -> Vec<String> {
        let reaches: BTreeMap<&Module, BTreeSet<&Module>> = self
            .files
            .keys()
            .map(|module| (module, self.reachable(module)))
            .collect();
        let mut arrows = Vec::new();
        for (from, imports) in &self.imports {
            let back = imports
                .iter()
                .filter(|import| reaches[&import.to].contains(from));
            arrows.extend(back.map(|import| self.arrow(from, import)));
        }
        arrows.dedup();
        arrows
    }

    fn reachable(&self, from: &Module) -> BTreeSet<&Module> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&Module> = self.imports[from].iter().map(|import| &import.to).collect();
        while let Some(module) = open.pop() {
            if reached.insert(module) {
                open.extend(self.imports[module].iter().map(|import| &import.to));
            }
        }
        reached
    }
}

fn collect(folder: &Path, module: &mut Module, files: &mut BTreeMap<Module, PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_string();
        if path.is_dir() {
            module.push(name);
            collect(&path, module, files);
            module.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs") && name != "main" {
            let own = if name == "lib" {
                Vec::new()
            } else {
                [module.as_slice(), &[name]].concat()
            };
            files.insert(own, path);
        }
    }
}

fn imports_of(module: &Module, path: &Path, files: &BTreeMap<Module, PathBuf>) -> Vec<Import> {
    let text = fs::read_to_string(path).unwrap();
    // Tests may look at anything.
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let mut found = Vec::new();
    for (start, head) in heads(text, module, files) {
        let line = text[..start].matches('\n').count() + 1;
        for path in paths(&text[start..]) {
            let absolute = match head.as_str() {
                "crate" => path[1..].to_vec(),
                "self" => [module.as_slice(), &path[1..]].concat(),
                "super" => {
                    let up = path.iter().take_while(|part| *part == "super").count();
                    [&module[..module.len().saturating_sub(up)], &path[up..]].concat()
                }
                _ => [module.as_slice(), &path[..]].concat(),
            };
            let to = (0..=absolute.len())
                .rev()
                .map(|end| absolute[..end].to_vec())
                .find(|it| files.contains_key(it));
            found.extend(to.filter(|to| to != module).map(|to| Import { to, line }));
        }
    }
    found
}

/// Where paths to other modules begin: `crate::`, `super::`, `self::` or the name of a child.
fn heads(text: &str, module: &Module, files: &BTreeMap<Module, PathBuf>) -> Vec<(usize, String)> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut heads = Vec::new();
    for (end, _) in text.match_indices("::") {
        let start = text[..end]
            .rfind(|it: char| !it.is_ascii() || !is_part(it as u8))
            .map_or(0, |at| at + 1);
        let head = &text[start..end];
        let line = &text[text[..start].rfind('\n').map_or(0, |at| at + 1)..start];
        let first = !text[..start].ends_with("::");
        let child = files.contains_key(&[module.as_slice(), &[head.to_string()]].concat());
        if first && !line.contains("//") && (["crate", "super", "self"].contains(&head) || child) {
            heads.push((start, head.to_string()));
        }
    }
    heads
}

/// The paths of a `use` tree or of an expression, which start at the first letter of `text`.
fn paths(text: &str) -> Vec<Vec<String>> {
    fn tree(text: &mut &str, prefix: &[String], found: &mut Vec<Vec<String>>) {
        let mut path = prefix.to_vec();
        loop {
            *text = text.trim_start();
            if let Some(rest) = text.strip_prefix('{') {
                *text = rest;
                loop {
                    tree(text, &path, found);
                    *text = text.trim_start();
                    match text.strip_prefix(',').map(str::trim_start) {
                        Some(rest) if !rest.starts_with('}') => *text = rest,
                        _ => break,
                    }
                }
                *text = text
                    .trim_start_matches([',', ' ', '\n'])
                    .strip_prefix('}')
                    .unwrap_or(text);
                return;
            }
            let end = text
                .find(|it: char| !it.is_ascii_alphanumeric() && it != '_')
                .unwrap_or(text.len());
            path.push(text[..end].to_string());
            *text = &text[end..];
            match text.strip_prefix("::") {
                Some(rest) => *text = rest,
                None => break,
            }
        }
        found.push(path);
        // `as name` and `*` lead nowhere else.
        let end = text.find([',', '}', ';']).unwrap_or(text.len());
        *text = &text[end..];
    }
    let (mut rest, mut found) = (text, Vec::new());
    tree(&mut rest, &[], &mut found);
    found
}

/// Front ends that have the name of a program or a package, or a plain word.
const AMBIGUOUS: &[&str] = &["deepspeed", "accelerate", "command", "nested", "ray"];
/// A package of Python, not the front end: its classes of arguments are recorded, a rule is about its version, or its messages are looked up. What people call `--trainer hf`, and the
/// table that tells run files apart.
const PACKAGES: &[(&str, &str)] = &[
    ("src/command/script/flow.rs", "trl"),
    ("src/report/tables/other_names.rs", "hf"),
    ("src/tools/explain/tables/failures.rs", "trl"),
    ("src/tools/explain/tables/packages.rs", "axolotl"),
    ("src/tools/explain/tables/packages.rs", "lightning"),
    ("src/tools/explain/tables/packages.rs", "llamafactory"),
    ("src/tools/explain/tables/packages.rs", "ms-swift"),
    ("src/tools/explain/tables/packages.rs", "openrlhf"),
    ("src/tools/explain/tables/packages.rs", "swift"),
    ("src/tools/explain/tables/packages.rs", "trl"),
    ("src/tools/explain/tables/packages.rs", "verl"),
    ("src/tools/explain/tables/packages.rs", "xtuner"),
];

/// What is special about a trainer is in its row: other code asks for the property, not for the name.
#[test]
fn only_its_own_file_names_a_trainer() {
    let sources = Sources::read();
    let names = zlaunch::testing::trainer::ALL
        .iter()
        .map(|trainer| trainer.name);
    let names: Vec<&str> = names
        .chain(["ms-swift", "llamafactory-cli"])
        .filter(|it| !AMBIGUOUS.contains(it))
        .collect();
    let mut found = BTreeSet::new();
    for path in sources.files.values() {
        let file = path
            .strip_prefix(env!("CARGO_MANIFEST_DIR"))
            .unwrap()
            .to_str()
            .unwrap();
        let text = fs::read_to_string(path).unwrap();
        let named = names
            .iter()
            .filter(|name| text.contains(&format!("\"{name}\"")));
        found.extend(named.map(|name| (file.to_string(), *name)).filter(|_| {
            !file.starts_with("src/command/trainer/") && !file.starts_with("src/command/tables/")
        }));
    }
    let known = PACKAGES
        .iter()
        .map(|(file, name)| (file.to_string(), *name))
        .collect();
    assert_eq!(
        found, known,
        "src/command/front_end.rs has the properties of a trainer"
    );
}

#[test]
fn every_folder_imports_only_those_below_it() {
    let sources = Sources::read();
    let known: BTreeSet<_> = sources
        .files
        .keys()
        .filter_map(|module| module.first())
        .collect();
    assert_eq!(
        known,
        sources.layers.iter().collect(),
        "CONTRIBUTING.md lists the layers"
    );
    let mut upwards = Vec::new();
    for (from, imports) in &sources.imports {
        let up = imports
            .iter()
            .filter(|import| sources.depth(&import.to) < sources.depth(from));
        upwards.extend(up.map(|import| sources.arrow(from, import)));
    }
    assert!(
        upwards.is_empty(),
        "against the order of the layers:\n{}",
        upwards.join("\n")
    );
}

/// What only one layer uses belongs to that layer.
#[test]
fn every_part_of_base_is_used_by_several_layers() {
    let sources = Sources::read();
    let mut users: BTreeMap<&String, BTreeSet<&String>> = BTreeMap::new();
    for (from, imports) in &sources.imports {
        let layer = from
            .first()
            .filter(|layer| !["base", "testing"].contains(&layer.as_str()));
        for import in imports
            .iter()
            .filter(|import| import.to.len() > 1 && import.to[0] == "base")
        {
            users.entry(&import.to[1]).or_default().extend(layer);
        }
    }
    assert!(users.len() > 10, "{users:?}");
    // The rows of the others.
    users.remove(&"tables".to_string());
    users.retain(|_, layers| layers.len() < 2);
    assert!(users.is_empty(), "used by one layer: {users:?}");
}

/// `clippy.toml` holds the same for the environment.
#[test]
fn only_host_reads_proc_and_sys() {
    let reads = |line: &&str| {
        line.contains("read") && ["\"/proc", "\"/sys"].iter().any(|root| line.contains(root))
    };
    let mut found = BTreeSet::new();
    for (module, path) in Sources::read().files {
        if let Some(line) = fs::read_to_string(path).unwrap().lines().find(reads) {
            found.insert((module[0].clone(), line.trim().to_string()));
        }
    }
    assert!(found.iter().any(|(layer, _)| layer == "host"));
    found.retain(|(layer, _)| layer != "host");
    assert_eq!(found, BTreeSet::new());
}

#[test]
fn no_import_leads_back_to_its_own_file() {
    let arrows = Sources::read().circular();
    assert!(
        arrows.is_empty(),
        "these imports are part of a circle:\n{}",
        arrows.join("\n")
    );
}

/// `src/testing.rs` shows nothing that no test looks at.
#[test]
fn what_is_shown_to_the_tests_is_used_by_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = ["tests/library", "tests/cli"]
        .into_iter()
        .flat_map(|folder| fs::read_dir(root.join(folder)).unwrap());
    let tests: String = files
        .map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    let used: BTreeSet<&str> = tests
        .split(|it: char| !it.is_ascii_alphanumeric() && it != '_')
        .collect();
    let shown = fs::read_to_string(root.join("src/testing.rs")).unwrap();
    let shown: Vec<_> = shown.split("pub use ").skip(1).flat_map(paths).collect();
    let unused: Vec<_> = shown
        .iter()
        .filter(|path| !used.contains(path.last().unwrap().as_str()))
        .collect();
    assert!(
        shown.len() > 30 && unused.is_empty(),
        "src/testing.rs: {unused:?}"
    );
}

#[test]
fn the_reader_of_imports_reads_what_rust_allows() {
    let joined = |text| {
        paths(text)
            .iter()
            .map(|path| path.join("::"))
            .collect::<Vec<_>>()
    };
    assert_eq!(joined("crate::a::b;"), ["crate::a::b"]);
    assert_eq!(
        joined("crate::a::{self, B, c::{D as E, f}};"),
        [
            "crate::a::self",
            "crate::a::B",
            "crate::a::c::D",
            "crate::a::c::f"
        ]
    );
    assert_eq!(joined("super::super::a::*;"), ["super::super::a::"]);
    let sources = Sources::read();
    let plan = &sources.imports[&vec!["plan".to_string()]];
    assert!(
        plan.iter().any(|import| import.to == ["host"]),
        "the plan uses the host"
    );
    assert!(sources.imports.values().map(Vec::len).sum::<usize>() > 500);
}

/// One that is started elsewhere may hold a program open that another test executes: see `starting` in `tests/fake.rs`.
#[test]
fn processes_of_the_tests_are_started_in_one_place() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let files = ["library", "cli"]
        .into_iter()
        .flat_map(|folder| fs::read_dir(root.join(folder)).unwrap());
    let calls = ["spawn", "output", "status"].map(|name| format!(".{name}()"));
    let starts = |path: &PathBuf| {
        calls
            .iter()
            .any(|call| fs::read_to_string(path).unwrap().contains(call))
    };
    assert!(starts(&root.join("fake.rs")));
    let found: Vec<PathBuf> = files
        .map(|file| file.unwrap().path())
        .filter(starts)
        .collect();
    assert_eq!(found, Vec::<PathBuf>::new(), "use `start` or `output`");
}

#[test]
fn files_have_names_of_their_own() {
    let sources = Sources::read();
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for path in sources.files.values() {
        *names
            .entry(path.file_name().unwrap().to_string_lossy().into_owned())
            .or_default() += 1;
    }
    // Every folder may have its tables.
    names.retain(|name, count| *count > 2 && name != "tables.rs");
    assert!(
        names.is_empty(),
        "these file names occur more than twice: {names:?}"
    );
}

/// The riddles that comments used to begin with.
#[test]
fn no_comment_begins_with_a_question_word() {
    let is_riddle = |line: &str| {
        let text = line
            .trim_start()
            .trim_start_matches('/')
            .trim_start_matches('!')
            .trim_start();
        line.trim_start().starts_with("//")
            && ["Whether ", "Who ", "Why "]
                .iter()
                .any(|word| text.starts_with(word))
    };
    for path in Sources::read().files.values() {
        let text = fs::read_to_string(path).unwrap();
        let riddle = text.lines().find(|line| is_riddle(line));
        assert!(riddle.is_none(), "{}: {riddle:?}", path.display());
    }
}

#[test]
fn tests_are_not_in_the_sources() {
    let has_tests = |path: &&PathBuf| fs::read_to_string(path).unwrap().contains("cfg(test)");
    let found: Vec<PathBuf> = Sources::read()
        .files
        .values()
        .filter(has_tests)
        .cloned()
        .collect();
    assert_eq!(
        found,
        Vec::<PathBuf>::new(),
        "cargo test does not run these: see [lib] in Cargo.toml"
    );
}

/// The oldest Rust that `Cargo.toml` promises has no `if let` behind the pattern of a match arm.
#[test]
fn the_sources_are_for_the_oldest_rust() {
    let is_guard = |line: &str| {
        line.split_once(" if let ").is_some_and(|(before, rest)| {
            !before.ends_with("else") && !before.trim().is_empty() && rest.contains(" => ")
        })
    };
    let text = |path: &PathBuf| fs::read_to_string(path).unwrap();
    let guards = Sources::read()
        .files
        .into_values()
        .filter(|path| text(path).lines().any(is_guard));
    assert_eq!(
        guards.collect::<Vec<PathBuf>>(),
        Vec::<PathBuf>::new(),
        "needs Rust 1.95"
    );
    assert!(is_guard("        _ if let Some(near) = near() => near,"));
}
