//! Slurm's host lists, as Slurm reads them.

use std::collections::BTreeSet;

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use zlaunch::testing::expand_hosts;

/// Recorded from Slurm: the list, then its hosts, `=COUNT FIRST LAST`, or `!` where Slurm refuses it.
const RECORDED: &str = include_str!("../data/hostlists.txt");

#[test]
fn as_slurm_reads_them() {
    for line in RECORDED.lines().filter(|line| !line.starts_with('#')) {
        let (list, hosts) = line.split_once('\t').unwrap();
        let read = expand_hosts(list);
        if hosts == "!" {
            assert!(read.is_none(), "{list}");
            continue;
        }
        let names = read.unwrap_or_else(|| panic!("{list}"));
        match hosts.strip_prefix('=') {
            Some(ends) => {
                let ours = format!("{} {} {}", names.len(), names[0], names[names.len() - 1]);
                assert_eq!(ours, ends, "{list}");
            }
            // The first one is the same; with three brackets and more, the order of the others is our own.
            None => {
                let mut recorded: Vec<&str> = hosts.split(' ').collect();
                let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
                assert_eq!(names[0], recorded[0], "{list}");
                recorded.sort_unstable();
                names.sort_unstable();
                assert_eq!(names, recorded, "{list}");
            }
        }
    }
}

/// Slurm would make a name of each number in both brackets.
#[test]
fn a_list_of_more_hosts_than_a_cluster_has_is_refused() {
    assert_eq!(expand_hosts("a[1-256]b[1-256]").unwrap().len(), 65_536);
    for list in [
        "a[1-257]b[1-256]",
        "a[1-60000]b[1-60000]c[1-60000]d[1-60000]",
    ] {
        assert!(expand_hosts(list).is_none(), "{list}");
    }
}

/// The host list as Slurm writes it: `n[01-03,07]`.
fn compressed(prefix: &str, width: usize, numbers: &BTreeSet<u64>, suffix: &str) -> String {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    let written = |(low, high): &(u64, u64)| {
        let last = if low == high {
            String::new()
        } else {
            format!("-{high:0width$}")
        };
        format!("{low:0width$}{last}")
    };
    format!(
        "{prefix}[{}]{suffix}",
        ranges.iter().map(written).collect::<Vec<_>>().join(",")
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn expanding_undoes_compressing(
        groups in vec(("[a-z-]{1,4}", 1..4_usize, btree_set(0..1200_u64, 1..9), "(-ib)?"), 1..4)
    ) {
        let list = groups.iter().map(|(prefix, width, numbers, suffix)| compressed(prefix, *width, numbers, suffix));
        let list = list.collect::<Vec<_>>().join(",");
        let hosts = groups.iter().flat_map(|(prefix, width, numbers, suffix)| {
            numbers.iter().map(move |number| format!("{prefix}{number:0width$}{suffix}"))
        });
        prop_assert_eq!(expand_hosts(&list).unwrap(), hosts.collect::<Vec<_>>(), "{}", list);
    }

    #[test]
    fn no_text_panics(text in "[a-b0-9\\[\\],+ -]{0,16}|\\PC{0,8}") {
        prop_assert!(expand_hosts(&text).is_none_or(|hosts| !hosts.is_empty()));
    }
}
