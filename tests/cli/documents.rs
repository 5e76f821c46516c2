//! Documents cannot rot. Every fenced block of every document is of a kind that something executes:
//!
//! - `console`: each `$ command` is run by a shell in a sandbox, with stand-ins for the trainers, and its output is compared to the letter;
//! - `console 80`: the same on a terminal of 80 columns;
//! - `sh FILE`: commands that need the real things; FILE runs them, and holds them word for word
//!   (`READERS` read them from the document instead); `python FILE` likewise;
//! - `json FILE`, `jsonc FILE`, `yaml FILE`, `sh > FILE`: not a command but a file, which stands in the sandbox for the commands after it;
//! - `diff`: a change that is described; it fits the sources as they are;
//! - `text`: nothing to run.
//!
//! `BLESS=1 cargo test documents` writes the output of today into them. All blocks of a document share a sandbox.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::sandbox::{SWIFT, SYSTEM, Sandbox, on_terminal, plant, without_colours};

const ENGLISH: &str = "README.md";
const CHINESE: &str = "README.zh-CN.md";
const SESSION: &str = "docs/dev/session.md";
/// These run what documents show by reading the documents.
const READERS: &[&str] = &[
    "tests/real/documents.py",
    "tests/real/recipes.py",
    "tests/real/editor.py",
    "tests/real/python_package.py",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn blessing() -> bool {
    std::env::var_os("BLESS").is_some()
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// Every document, by its path in the repository.
fn documents() -> Vec<String> {
    let mut found = Vec::new();
    for folder in ["", "docs", "docs/dev", "tests/cases"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|it| it == "md") {
                found.push(
                    path.strip_prefix(root())
                        .unwrap()
                        .to_str()
                        .unwrap()
                        .to_string(),
                );
            }
        }
    }
    found.sort();
    assert!(found.len() > 8, "{found:?}");
    found
}

/// A piece of a document.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'a> {
    Heading(usize, &'a str),
    Fence { info: &'a str, lines: Vec<&'a str> },
    Row(&'a str),
    Text(&'a str),
}

fn pieces(document: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        let level = line.bytes().take_while(|b| *b == b'#').count();
        found.push(if let Some(info) = line.strip_prefix("```") {
            Piece::Fence {
                info,
                lines: lines.by_ref().take_while(|line| *line != "```").collect(),
            }
        } else if level > 0 && line[level..].starts_with(' ') {
            Piece::Heading(level, &line[level + 1..])
        } else if line.starts_with('|') {
            Piece::Row(line)
        } else {
            Piece::Text(line)
        });
    }
    found
}

#[test]
fn documents_show_what_happens() {
    for name in documents() {
        let written = read(&name);
        let sandbox = sandbox();
        if !name.starts_with("tests/") {
            needs_data(&sandbox);
        }
        let shown = executed(&written, &sandbox);
        let beside = root().join(format!("target/{}.new", name.replace('/', "-")));
        if name == SESSION {
            // With its colours, for docs/dev/session.py.
            plant(&beside, &shown);
            fs::rename(&beside, root().join("target/session.md")).unwrap();
        }
        let happened = without_colours(&shown);
        if blessing() {
            // In one go: other tests read it meanwhile.
            plant(&beside, &happened);
            fs::rename(beside, root().join(&name)).unwrap();
            continue;
        }
        for (line, (written, happened)) in written.lines().zip(happened.lines()).enumerate() {
            assert_eq!(written, happened, "{name}:{}", line + 1);
        }
        assert_eq!(written.lines().count(), happened.lines().count(), "{name}");
    }
}

/// The document with the output of every command as it is now, with the colours of a terminal.
fn executed(document: &str, sandbox: &Sandbox) -> String {
    let mut text = String::new();
    for piece in pieces(document) {
        match piece {
            Piece::Heading(level, words) => text += &format!("{} {words}\n", "#".repeat(level)),
            Piece::Row(line) | Piece::Text(line) => text += &format!("{line}\n"),
            Piece::Fence { info, lines } => {
                let body = match columns_of(info) {
                    Some(columns) => executed_block(&lines, columns, sandbox),
                    None => lines.iter().map(|line| format!("{line}\n")).collect(),
                };
                if let Some(file) = file_of(info) {
                    sandbox.file(file, &body);
                }
                text += &format!("```{info}\n{body}```\n");
            }
        }
    }
    text
}

/// The terminal that a block of commands is shown on: 0 columns for none.
fn columns_of(info: &str) -> Option<u16> {
    let columns = info.strip_prefix("console")?;
    Some(columns.trim().parse().unwrap_or_default())
}

/// The file that a block is.
fn file_of(info: &str) -> Option<&str> {
    let (kind, name) = info.split_once(' ')?;
    match kind {
        "json" | "jsonc" | "yaml" | "text" => Some(name),
        "sh" => name.strip_prefix("> "),
        _ => None,
    }
}

fn executed_block(block: &[&str], columns: u16, sandbox: &Sandbox) -> String {
    let mut text = String::new();
    for (written, command) in commands(block) {
        if !text.is_empty() {
            text.push('\n');
        }
        text += &written;
        text += &output(&command, columns, sandbox);
    }
    text
}

/// The commands of a `console` block: as they are written, and without the prompt.
fn commands(block: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut lines = block.iter();
    while let Some(line) = lines.next() {
        let Some(first) = line.strip_prefix("$ ") else {
            continue;
        };
        let mut command = first.to_string();
        while command.ends_with('\\') {
            command += &format!("\n{}", lines.next().expect("a continued line"));
        }
        found.push((format!("$ {command}\n"), command));
    }
    found
}

/// The machine of the documents: eight GPUs, and zlaunch on PATH.
fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::of_documents();
    let path = format!(
        "{}:{SYSTEM}:{}",
        sandbox.bin().display(),
        sandbox.path("bin").display()
    );
    sandbox.var("PATH", path).vars(&[
        ("OMP_NUM_THREADS", "4"),
        ("CUDA_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7"),
    ]);
    sandbox.unset("LANG").unset("STUB_OUT");
    sandbox.program("srun");
    sandbox.file("data.jsonl", "{\"messages\": []}\n");
    sandbox.file("train.py", "from transformers import Trainer\n");
    // What a contributor sees in the repository.
    for folder in ["examples", "tests"] {
        std::os::unix::fs::symlink(root().join(folder), sandbox.cwd().join(folder)).unwrap();
    }
    sandbox
}

/// ms-swift refuses a training without data, so an example that a reader may paste has some.
fn needs_data(sandbox: &Sandbox) {
    plant(
        &sandbox.site().join("swift/arguments/sft_args.py"),
        "# Please input the training dataset.\n",
    );
}

/// What a shell prints, with the paths of a usual machine.
fn output(command: &str, columns: u16, sandbox: &Sandbox) -> String {
    let root = sandbox.root().to_str().unwrap();
    let text = if columns > 0 {
        let mut shell = sandbox.inside("/bin/sh");
        shell.args(["-c", command]);
        on_terminal(shell, columns)
    } else {
        sandbox.script(&format!("exec 2>&1\n{command}")).stdout
    };
    let text = text
        .replace(&format!("{root}/home"), "/home/me")
        .replace(&format!("{root}/bin"), "/usr/local/bin");
    text.replace(root, "/opt")
}

#[test]
fn every_block_is_executed_by_something() {
    for name in documents() {
        for piece in pieces(&read(&name)) {
            let Piece::Fence { info, lines } = piece else {
                continue;
            };
            match info.split_once(' ') {
                _ if columns_of(info).is_some() => {
                    assert!(!commands(&lines).is_empty(), "{name}: an empty block");
                }
                None if info == "diff" => fits(&name, &lines),
                None if info == "text" => {}
                Some(_) if file_of(info).is_some() => {}
                Some(("sh" | "python", runner)) => {
                    let script = fs::read_to_string(root().join(runner)).unwrap_or_default();
                    assert!(!script.is_empty(), "{name}: there is no {runner}");
                    for line in lines
                        .iter()
                        .filter(|line| !line.is_empty() && !line.starts_with('#'))
                    {
                        let held = script.lines().any(|held| held.trim() == *line);
                        assert!(
                            held || READERS.contains(&runner),
                            "{name}: {runner} does not run `{line}`"
                        );
                    }
                }
                _ => panic!(
                    "{name}: nothing executes a block of `{info}`: see tests/cli/documents.rs"
                ),
            }
        }
    }
}

/// A change fits the sources, hunk by hunk, or is already made.
fn fits(document: &str, diff: &[&str]) {
    let mut file = (String::new(), String::new());
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let settle =
        |(name, text): &(String, String), before: &mut Vec<&str>, after: &mut Vec<&str>| {
            if before.is_empty() && after.is_empty() {
                return;
            }
            let holds =
                |lines: &[&str]| format!("\n{text}").contains(&format!("\n{}\n", lines.join("\n")));
            let new = before.is_empty() && text.is_empty();
            assert!(
                new || holds(before) || holds(after),
                "{document}: {name} has no longer\n{}",
                before.join("\n")
            );
            before.clear();
            after.clear();
        };
    for line in diff {
        if let Some(name) = line.strip_prefix("+++ b/") {
            file = (
                name.to_string(),
                fs::read_to_string(root().join(name)).unwrap_or_default(),
            );
        } else if line.starts_with("--- ") || line.starts_with("@@ ") {
            settle(&file, &mut before, &mut after);
        } else if let Some(new) = line.strip_prefix('+') {
            after.push(new);
        } else if let Some(old) = line.strip_prefix('-') {
            before.push(old);
        } else {
            let kept = line.strip_prefix(' ').unwrap_or(line);
            before.push(kept);
            after.push(kept);
        }
    }
    assert!(!file.0.is_empty(), "{document}: a diff of no file");
    settle(&file, &mut before, &mut after);
}

/// docs/dev/session.py draws the picture from the page.
#[test]
fn the_picture_of_the_session_shows_what_its_page_shows() {
    if blessing() {
        return; // The page may be written just now.
    }
    let picture = read("docs/session.svg");
    let without_tags: String = picture
        .split('<')
        .filter_map(|piece| Some(piece.split_once('>')?.1))
        .collect();
    let drawn = without_tags
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    let page = read(SESSION);
    let shown = pieces(&page).into_iter().filter_map(|piece| match piece {
        Piece::Fence { info, lines } if columns_of(info).is_some() => Some(lines),
        _ => None,
    });
    let missing: Vec<&str> = shown
        .flatten()
        .filter(|line| !drawn.contains(line))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/session.svg is old, docs/dev/session.py draws it: {missing:#?}"
    );
}

/// Packages, README and help describe zlaunch by the same sentence, and the address of the repository is Cargo.toml's.
#[test]
fn the_description_and_the_address_are_those_of_cargo_toml() {
    let description = env!("CARGO_PKG_DESCRIPTION");
    assert!(
        read(ENGLISH).contains(&format!("**{description}.**")),
        "{ENGLISH}: {description}"
    );
    assert!(read("packaging/conda/recipe.yaml").contains(&format!("summary: {description}\n")));
    assert_eq!(
        Sandbox::new().run(["-h"]).stdout.lines().next(),
        Some(description)
    );
    for document in documents() {
        let text = read(&document);
        for address in text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("- repo: "))
        {
            assert_eq!(address, env!("CARGO_PKG_REPOSITORY"), "{document}");
        }
        for tag in text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("rev: "))
        {
            assert_eq!(
                tag,
                concat!("v", env!("CARGO_PKG_VERSION")),
                "{document}: the tag of this release"
            );
        }
    }
}

/// What the README counts and names is what the code has.
#[test]
fn the_numbers_of_the_readme_are_those_of_the_code() {
    let sandbox = sandbox();
    let templates = sandbox.run(["templates"]).stdout;
    let of_swift = templates
        .lines()
        .filter(|line| line.contains("(as in ms-swift)"))
        .count();
    let words: Vec<&str> = templates.split_whitespace().collect();
    let not_for_swift = words.join(" ").matches("(not with ms-swift").count();
    assert_eq!(not_for_swift, 2, "{templates}");
    let versions = read("src/recorded/deepspeed-versions.txt");
    let oldest = versions
        .split_whitespace()
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
        .unwrap();
    let english = [
        format!("Rust {} or newer", env!("CARGO_PKG_RUST_VERSION")),
        format!("with DeepSpeed {oldest} and later"),
        format!(
            "| templates for any trainer (two are not for ms-swift), and your own | {of_swift}, for ms-swift |"
        ),
    ];
    for words in english {
        assert!(read(ENGLISH).contains(&words), "{ENGLISH}: {words}");
    }
}

/// Problems, the plan and `fit` are in English whatever the language of the help is.
#[test]
fn answers_that_are_searched_for_are_in_english() {
    let mut sandbox = sandbox();
    let launch = [
        "--nproc-per-node",
        "2",
        "--deepspeed",
        "zero2",
        "--set",
        "zero_optimization.stage=4",
        "--",
        "swift",
        "sft",
    ];
    let plan = [
        "-n",
        "--nproc-per-node",
        "2",
        "--deepspeed",
        "zero2",
        "--",
        "swift",
        "sft",
        "--model",
        "a/b",
    ];
    let all = [
        [&["check"], &launch[..]].concat(),
        plan.to_vec(),
        vec!["fit", "--params", "8B", "--gpu", "H100x8"],
    ];
    let answers = |sandbox: &Sandbox| -> Vec<String> {
        all.iter()
            .map(|words| sandbox.run(words))
            .map(|run| run.stdout + &run.stderr)
            .collect()
    };
    let english = answers(&sandbox);
    sandbox.var("ZLAUNCH_LANG", "zh");
    assert_eq!(answers(&sandbox), english);
    assert!(
        english.iter().all(|answer| answer.len() > 100),
        "{english:?}"
    );
}

/// Readers have little time: what a user reads is the README and docs/*.md.
#[test]
fn the_pages_for_users_stay_short() {
    let is_page = |name: &String| {
        name == ENGLISH || name.starts_with("docs/") && name.matches('/').count() == 1
    };
    let words: usize = documents()
        .iter()
        .filter(|name| is_page(name))
        .map(|name| read(name).split_whitespace().count())
        .sum();
    assert!((8_000..=16_000).contains(&words), "{words} words");
}

#[test]
fn links_lead_somewhere() {
    for name in documents() {
        let text = read(&name);
        let folder = Path::new(&name).parent().unwrap().to_path_buf();
        let targets = text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split([')', '#']).next());
        for target in targets
            .filter(|target| !target.is_empty() && !target.contains("://") && !target.contains(' '))
        {
            assert!(
                root().join(&folder).join(target).exists(),
                "{name} links to {target}"
            );
        }
    }
}

/// Code between backticks in running text and in tables.
fn inline(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Sub-commands and options that are only spoken of exist as well.
#[test]
fn documents_and_help_agree() {
    let sandbox = Sandbox::new();
    let help = |words: &[&str]| sandbox.run(words).stdout;
    let main = help(&["--help"]);
    let usage = main.lines().filter_map(|line| {
        line.trim()
            .trim_start_matches("Usage: ")
            .strip_prefix("zlaunch ")
    });
    let subcommands: BTreeSet<&str> = usage
        .filter_map(|line| line.split(' ').next())
        .filter(|word| !word.starts_with(['[', '-']))
        .collect();
    assert!(subcommands.len() > 8, "{subcommands:?}");
    let pages: BTreeMap<&str, String> = subcommands
        .iter()
        .map(|name| (*name, help(&[name, "--help"])))
        .collect();
    for (name, page) in &pages {
        let usage = page
            .lines()
            .find(|line| line.starts_with("Usage: "))
            .unwrap_or_default();
        assert!(
            usage.starts_with(&format!("Usage: zlaunch {name}")),
            "`zlaunch {name} --help`: {page}"
        );
    }
    for document in documents() {
        for piece in pieces(&read(&document)) {
            let (Piece::Text(line) | Piece::Row(line)) = piece else {
                continue;
            };
            for code in inline(line).filter_map(|code| code.strip_prefix("zlaunch ")) {
                let ours = code.split(" -- ").next().unwrap();
                let first = ours.split(' ').next().unwrap();
                let page = pages.get(first).unwrap_or(&main);
                let known = pages.contains_key(first) || first.starts_with(['-', '…']);
                assert!(known, "{document}: zlaunch has no `{first}`");
                for option in ours
                    .split([' ', '='])
                    .filter(|word| word.starts_with("--") && word.len() > 2)
                {
                    assert!(
                        page.contains(option) || main.contains(option),
                        "{document}: no `{option}` in `{code}`"
                    );
                }
            }
        }
    }
}

/// Every example of a help page, and every line that the message of a sub-command without arguments tells to run, works as
/// it stands. What rehearses needs a real trainer, so it is checked instead.
#[test]
fn every_example_works() {
    let sandbox = sandbox();
    needs_data(&sandbox);
    sandbox.program("sbatch");
    sandbox.file("ds_config.json", "{\"zero_optimization\": {\"stage\": 2}}");
    sandbox
        .script("zlaunch --record record --deepspeed zero2 -- swift sft --model Qwen/Qwen3-8B --dataset data.jsonl")
        .succeeded();
    let main = sandbox.run(["--help"]).stdout;
    let usage = main.lines().filter_map(|line| {
        line.trim()
            .trim_start_matches("Usage: ")
            .strip_prefix("zlaunch ")
    });
    let subcommands: Vec<&str> = usage
        .filter_map(|line| line.split(' ').next())
        .filter(|word| !word.starts_with(['[', '-']))
        .collect();
    let mut examples: BTreeSet<String> = BTreeSet::new();
    for words in [vec!["-h"], vec!["--help"]]
        .into_iter()
        .chain(subcommands.iter().map(|name| vec![*name, "--help"]))
    {
        let page = sandbox.run(words).stdout.replace("\\\n", " ");
        examples.extend(
            page.lines()
                .filter_map(|line| line.strip_prefix("  "))
                .map(str::to_string),
        );
    }
    for words in [vec![]]
        .into_iter()
        .chain(subcommands.iter().map(|name| vec![*name]))
    {
        let said = sandbox.run(words).stderr;
        let help = said
            .lines()
            .filter_map(|line| line.split_once("help: "))
            .map(|(_, help)| help);
        examples.extend(
            help.flat_map(|help| help.split(", or "))
                .flat_map(|help| help.split([';', '(']))
                .map(str::to_string),
        );
    }
    examples.retain(|line| {
        line.trim().starts_with("zlaunch ")
            && !line.contains(['…', '|', '`', '[', '<'])
            && !line.contains("COMMAND")
    });
    assert!(examples.len() > 14, "{examples:#?}");
    for example in &examples {
        // A rehearsal stands on the first machine.
        let check = "zlaunch check --node-rank 0 --master-addr node01 --master-port 29511";
        let line = example.replace("zlaunch rehearse --nnodes", &format!("{check} --nnodes"));
        let run = sandbox.script(&line.replace("zlaunch rehearse", "zlaunch check"));
        assert_eq!(run.status, Some(0), "{example}: {run:?}");
        assert!(!run.stderr.contains("error"), "{example}: {run:?}");
    }
}

/// The Chinese README says what the English one says: the same sections, blocks and rows in the same order, and in each
/// section the same code.
#[test]
fn both_readmes_have_the_same_content() {
    if blessing() {
        return; // One of them may be written just now.
    }
    let (english, chinese) = (read(ENGLISH), read(CHINESE));
    for (one, two) in skeleton(&english).iter().zip(&skeleton(&chinese)) {
        assert_eq!(one, two, "{ENGLISH} (left) and {CHINESE} (right) differ");
    }
    assert_eq!(skeleton(&english).len(), skeleton(&chinese).len());
    let letters = |text: &str| {
        text.chars()
            .filter(|c| ('\u{4e00}'..='\u{9fff}').contains(c))
            .count()
    };
    assert!(letters(&chinese) > 500 && letters(&english) < 100);
}

fn skeleton(document: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut code: BTreeSet<&str> = BTreeSet::new();
    let all = pieces(document);
    for (at, piece) in all.iter().enumerate() {
        match piece {
            Piece::Heading(level, _) => {
                found.push(format!(
                    "code before this section: {:?}",
                    std::mem::take(&mut code)
                ));
                found.push(format!("a section of level {level}"));
            }
            Piece::Row(line) => {
                // Names of options, keys and files are no words of a language; a head or a sentence is.
                let first = line.split(" | ").next().unwrap();
                let head =
                    matches!(all.get(at + 1), Some(Piece::Row(next)) if next.starts_with("| ---"));
                let name = if !head && first.ends_with('`') {
                    first
                } else {
                    ""
                };
                found.push(format!(
                    "a row of {} cells {name}",
                    line.matches(" | ").count() + 1
                ));
            }
            Piece::Fence { info, lines } => {
                // Comments are words of a language.
                let is_script = info.starts_with("sh ");
                let command = |line: &str| line.split(" #").next().unwrap().trim_end().to_string();
                let bare = |line: &str| {
                    if line.starts_with('#') {
                        "#".to_string()
                    } else {
                        command(line)
                    }
                };
                let lines = lines.iter().map(|line| {
                    if is_script {
                        bare(line)
                    } else {
                        (*line).to_string()
                    }
                });
                found.push(format!(
                    "```{info}\n{}",
                    lines.collect::<Vec<_>>().join("\n")
                ));
            }
            Piece::Text(line) if line.starts_with("<!--") => found.push((*line).to_string()),
            Piece::Text(_) => {}
        }
        if let Piece::Text(line) | Piece::Row(line) = piece {
            code.extend(inline(line));
        }
    }
    found.push(format!("code at the end: {code:?}"));
    found
}

/// The cells of the English table between `<!-- name -->` and `<!-- end -->`, by row, in whichever document it is.
fn table(name: &str) -> Vec<Vec<String>> {
    let mark = format!("<!-- {name} -->\n");
    let english = documents()
        .into_iter()
        .filter(|document| !document.ends_with(".zh-CN.md"));
    let text = english
        .map(|document| read(&document))
        .find(|text| text.contains(&mark))
        .unwrap();
    let rest = text.split_once(&mark).unwrap().1;
    let rows = rest
        .split_once("<!-- end -->")
        .unwrap()
        .0
        .lines()
        .filter(|line| line.starts_with('|'))
        .skip(2);
    let cells = |row: &str| {
        row.trim_matches('|')
            .split(" | ")
            .map(|cell| cell.trim().to_string())
            .collect()
    };
    rows.map(cells).collect()
}

/// Every command of the table is taken for what the table says, and every front end is in it.
#[test]
fn the_table_of_front_ends_is_what_happens() {
    if blessing() {
        return; // The table may be written just now.
    }
    let sandbox = Sandbox::new();
    sandbox.program("srun");
    for script in ["hf.py", "script.py", "train.py"] {
        sandbox.file(script, "from transformers import Trainer\n");
    }
    sandbox.file("ds.py", "import deepspeed\ndeepspeed.initialize()\n");
    sandbox.file(
        "lit.py",
        "import lightning as L\nL.Trainer(strategy='deepspeed')\n",
    );
    sandbox.file(
        "loop.py",
        "from accelerate import Accelerator\nAccelerator()\n",
    );
    sandbox.file(
        "unsloth_sft.py",
        "from trl import SFTConfig, SFTTrainer\nSFTTrainer(args=SFTConfig('out'))\n",
    );
    sandbox.file(
        "start_rlvr_pipeline.py",
        "from roll.distributed.scheduler.initialize import init\n",
    );
    sandbox.console_script("ray");
    sandbox.file("run.yaml", "model_name_or_path: a/b\nstage: sft\n");
    sandbox.file("run.yml", "base_model: a/b\n");
    let mut seen = BTreeSet::new();
    for row in table("front ends") {
        for command in inline(&row[0]) {
            let words: Vec<&str> = command.split(' ').filter(|word| *word != "…").collect();
            let plan = sandbox.plan(&["--nproc-per-node", "2"], &words);
            let name = plan["trainer"]["name"].as_str().unwrap().to_string();
            assert_eq!(format!("`{name}`"), row[1], "{command}");
            seen.insert(name);
        }
    }
    let refusal = sandbox.launch(&["--trainer", "?"], &["true"]).stderr;
    let known = refusal.rsplit("one of ").next().unwrap();
    let known: BTreeSet<String> = known.trim().split(", ").map(str::to_string).collect();
    assert_eq!(seen, known, "{refusal}");
}

/// Every row of the table of exit statuses, tried.
#[test]
fn the_table_of_exit_statuses_is_what_happens() {
    let mut sandbox = Sandbox::new();
    sandbox.var("STUB_EXIT", "7");
    sandbox.file("not-executable", "");
    let odd = "zero_optimization.stage=9";
    let tried: BTreeMap<&str, Vec<&str>> = BTreeMap::from([
        (
            "`1` (`zlaunch check`)",
            vec![
                "check",
                "--deepspeed",
                "zero2",
                "--set",
                odd,
                "--",
                "swift",
                "sft",
            ],
        ),
        (
            "`1` (`zlaunch doctor`)",
            vec!["doctor", "--deepspeed", "zero9", "--", "swift", "sft"],
        ),
        (
            "`1` (`zlaunch fit`)",
            vec![
                "fit",
                "--params",
                "70B",
                "--gpus",
                "1",
                "--gpu-memory",
                "8GiB",
                "--host-memory",
                "8GiB",
            ],
        ),
        (
            "`3` (`zlaunch rehearse`)",
            [
                &[
                    "rehearse",
                    "--nproc-per-node",
                    "2",
                    "--deepspeed",
                    "zero2",
                    "--",
                ],
                SWIFT,
            ]
            .concat(),
        ),
        ("`125`", vec!["--deepspeed", "zero9", "--", "swift", "sft"]),
        ("`126`", vec!["--", "./not-executable"]),
        ("`127`", vec!["--", "./not-there"]),
        (
            "other",
            vec!["--nproc-per-node", "2", "--", "python", "train.py"],
        ),
    ]);
    let rows = table("exit statuses");
    assert_eq!(
        rows.iter()
            .map(|row| row[0].as_str())
            .collect::<BTreeSet<_>>(),
        tried.keys().copied().collect()
    );
    let dying = Sandbox::new();
    dying.executable(
        "env/bin/python3.11",
        "#!/bin/sh\necho '{\"event\": \"start\"}'\n",
    );
    for (row, words) in tried {
        let status = if words[0] == "rehearse" {
            &dying
        } else {
            &sandbox
        }
        .run(&words)
        .status
        .unwrap();
        let wanted = inline(row)
            .next()
            .map_or(7, |digits| digits.parse().unwrap());
        assert_eq!(status, wanted, "{row}: {words:?}");
    }
}
