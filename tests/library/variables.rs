//! Every variable named in the code, the templates and the shim has a row in the documents' table.

use std::path::Path;

use zlaunch::testing::vars::Var;
use zlaunch::testing::{all_variables, cli};

/// String literals that look like variables and are not; the last are tasks of peft.
const NO_VARIABLES: &str = "CUBLAS_STATUS_ALLOC_FAILED CUDNN_STATUS_ CUBLAS_STATUS_INVALID_VALUE CUBLAS_STATUS_INTERNAL_ERROR CUBLAS_STATUS_EXECUTION_FAILED CUBLAS_STATUS_NOT_SUPPORTED CUDA_R_16BF LOCAL_MACHINE CARGO_PKG_DESCRIPTION CARGO_PKG_VERSION END_OF_CONFIG PRETTY_NAME ZLAUNCH_ SEQ_CLS SEQ_2_SEQ_LM CAUSAL_LM TOKEN_CLS QUESTION_ANS FEATURE_EXTRACTION";

#[test]
fn every_variable_in_the_sources_has_a_row() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let all = all_variables();
    let rows: Vec<&str> = all.iter().flat_map(Var::names).collect();
    let zlaunch = cli::command(&cli::TOOLS);
    let longs = zlaunch
        .get_arguments()
        .filter_map(|option| option.get_long());
    let options: Vec<String> = longs
        .map(|long| long.replace('-', "_").to_uppercase())
        .collect();
    let (mut folders, mut seen) = (
        vec![root.join("src"), root.join("templates"), root.join("shims")],
        0,
    );
    while let Some(folder) = folders.pop() {
        for file in std::fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().path())
        {
            if file.is_dir() {
                // These are about variables of others.
                if !file.ends_with("ranks/topology/tables") {
                    folders.push(file);
                }
                continue;
            }
            // Recorded data and texts are not code, and what people misspell need not be read by zlaunch.
            if file.ends_with("check/tables/names.rs") {
                continue;
            }
            if !file
                .extension()
                .is_some_and(|ending| ending == "rs" || ending == "json" || ending == "sh")
            {
                continue;
            }
            // The variables that a template may set are many more than those that zlaunch reads.
            if file.ends_with("config/tables/tuning.rs") {
                continue;
            }
            let text = std::fs::read_to_string(&file).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
            // `NAME=` begins a setting.
            for name in named(code)
                .into_iter()
                .map(|name| name.trim_end_matches('='))
            {
                let known = rows
                    .iter()
                    .any(|row| *row == name || row.strip_suffix('*') == Some(name));
                // How the names of several begin.
                let begins = name.ends_with('_') && rows.iter().any(|row| row.starts_with(name));
                let option = name
                    .strip_prefix("ZLAUNCH_")
                    .is_some_and(|rest| options.contains(&rest.to_string()));
                let other = NO_VARIABLES.split(' ').any(|other| other == name);
                assert!(
                    known || begins || option || other,
                    "{} names {name}: neither src/base/tables/vars.rs nor src/ranks/topology/tables/engines.rs has a row for it",
                    file.display()
                );
                seen += 1;
            }
        }
    }
    assert!(seen > 100, "{seen}");
}

/// Words in quotes that are upper case with an underscore, those that a host is asked for, and ours in shell text.
fn named(code: &str) -> Vec<&str> {
    let part_of_a_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let asked = [".var(\"", ".nonempty_var(\"", ".var_os(\"", ".variable(\""];
    let mut found = Vec::new();
    for (at, _) in code.match_indices('"') {
        let rest = &code[at + 1..];
        let name = &rest[..rest.find('"').unwrap_or(0)];
        let whole = name.len() > 3 && name.trim_end_matches('=').chars().all(part_of_a_name);
        let variable = name.contains('_')
            && !name.starts_with('_')
            && !name.starts_with(|c: char| c.is_ascii_digit());
        let is_asked = asked.iter().any(|call| code[..=at].ends_with(call));
        found.extend((whole && (variable || is_asked)).then_some(name));
    }
    let shell = code
        .match_indices("ZLAUNCH_SHIM")
        .map(|(at, _)| &code[at..]);
    found
        .extend(shell.map(|text| &text[..text.find(|c| !part_of_a_name(c)).unwrap_or(text.len())]));
    found
}
