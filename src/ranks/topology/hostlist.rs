//! Slurm's host lists: `node[01-03,7],gpu-a[1-2]-b[3,5]`. Tested against what the real `scontrol show hostnames` says.
//! A list of ten thousand hosts is one range: only what is asked for is written out.

/// What Slurm itself refuses in one range.
const MOST_HOSTS: u64 = 64 * 1024;

/// A checked list.
pub(super) struct Hosts<'a> {
    items: Vec<Vec<Part<'a>>>,
}

/// A stretch of text, or the numbers of one bracket.
enum Part<'a> {
    Text(&'a str),
    Numbers(Vec<Range>),
}

/// `08-12`: as wide as its lower bound is written.
struct Range {
    low: u64,
    high: u64,
    width: usize,
}

impl<'a> Hosts<'a> {
    /// `None`: not a list that Slurm would take.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let items: Option<Vec<_>> = items(text).map(parts).collect();
        items.filter(|items| !items.is_empty()).map(|items| Hosts { items })
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> u64 {
        self.items.iter().map(|parts| count(parts)).fold(0, u64::saturating_add)
    }

    pub(super) fn first(&self) -> Option<String> {
        self.get(0)
    }

    pub(super) fn get(&self, index: u64) -> Option<String> {
        let mut index = index;
        for parts in &self.items {
            let count = count(parts);
            if index < count {
                return Some(name(parts, index));
            }
            index -= count;
        }
        None
    }
}

/// The comma or space separated items; commas inside brackets belong to them.
fn items(text: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    let separates = move |c: char| {
        match c {
            '[' => inside = true,
            ']' => inside = false,
            _ => {}
        }
        !inside && (c == ',' || c.is_ascii_whitespace())
    };
    text.split(separates).filter(|item| !item.is_empty())
}

fn parts(item: &str) -> Option<Vec<Part<'_>>> {
    let mut parts = Vec::new();
    let mut rest = item;
    while let Some(first) = rest.find('[') {
        let close = first + rest[first..].find(']')?;
        // Of several in front of it the last one opens the bracket.
        let open = rest[..close].rfind('[')?;
        if open > 0 {
            parts.push(Part::Text(&rest[..open]));
        }
        let ranges: Option<Vec<_>> = rest[open + 1..close].split(',').map(range).collect();
        parts.push(Part::Numbers(ranges?));
        rest = &rest[close + 1..];
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest));
    }
    Some(parts)
}

fn range(text: &str) -> Option<Range> {
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<u64>().ok()).flatten();
    // `1-` is 1.
    let (low, high) =
        text.split_once('-').map_or((text, text), |(low, high)| (low, if high.is_empty() { low } else { high }));
    // A space or a plus in front counts as a digit, as strtoul skips it.
    let (width, low, high) = (low.len(), number(without_sign(low))?, number(without_sign(high))?);
    // Slurm counts one too far.
    let overflows = low < high && high == u64::MAX;
    (low <= high && high - low < MOST_HOSTS && !overflows).then_some(Range { low, high, width })
}

fn without_sign(text: &str) -> &str {
    let text = text.trim_start();
    text.strip_prefix('+').unwrap_or(text)
}

fn count(parts: &[Part<'_>]) -> u64 {
    let numbers = |part: &Part<'_>| match part {
        Part::Text(_) => 1,
        Part::Numbers(ranges) => ranges.iter().map(Range::count).sum(),
    };
    parts.iter().map(numbers).fold(1, u64::saturating_mul)
}

impl Range {
    fn count(&self) -> u64 {
        self.high - self.low + 1
    }
}

/// The host of that index: the last bracket counts fastest, then the first, the second, … (so Slurm does it).
fn name(parts: &[Part<'_>], index: u64) -> String {
    let brackets: Vec<usize> = (0..parts.len()).filter(|at| matches!(parts[*at], Part::Numbers(_))).collect();
    let fastest_first = brackets.iter().rev().take(1).chain(brackets.iter().take(brackets.len().saturating_sub(1)));
    let mut chosen = vec![0; parts.len()];
    let mut index = index;
    for at in fastest_first {
        let size = count(&parts[*at..=*at]);
        chosen[*at] = index % size;
        index /= size;
    }
    parts.iter().zip(chosen).map(|(part, index)| part.written(index)).collect()
}

impl Part<'_> {
    fn written(&self, index: u64) -> String {
        let ranges = match self {
            Part::Text(text) => return (*text).to_string(),
            Part::Numbers(ranges) => ranges,
        };
        let mut before = 0;
        for range in ranges {
            if index < before + range.count() {
                return format!("{:0width$}", range.low + (index - before), width = range.width);
            }
            before += range.count();
        }
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    use super::*;

    /// Recorded from Slurm: the list, then its hosts, `=COUNT FIRST LAST`, or `!` where Slurm refuses it.
    const RECORDED: &str = include_str!("../../../tests/data/hostlists.txt");

    #[test]
    fn as_slurm_reads_them() {
        for line in RECORDED.lines().filter(|line| !line.starts_with('#')) {
            let (list, hosts) = line.split_once('\t').unwrap();
            let read = Hosts::parse(list);
            if hosts == "!" {
                assert!(read.is_none(), "{list}");
                continue;
            }
            let read = read.unwrap_or_else(|| panic!("{list}"));
            let names: Vec<_> = (0..read.count()).filter_map(|index| read.get(index)).collect();
            match hosts.strip_prefix('=') {
                Some(ends) => {
                    let ours = format!("{} {} {}", names.len(), names[0], names[names.len() - 1]);
                    assert_eq!(ours, ends, "{list}");
                }
                None => assert_eq!(names.join(" "), hosts, "{list}"),
            }
        }
    }

    #[test]
    fn nothing_is_written_out_that_nobody_asks_for() {
        let hosts = Hosts::parse("a[1-60000]b[1-60000]c[1-60000]d[1-60000]e[1-60000]").unwrap();
        assert_eq!(hosts.first().as_deref(), Some("a1b1c1d1e1"));
        assert_eq!(hosts.count(), u64::MAX);
        assert_eq!(hosts.get(1).as_deref(), Some("a1b1c1d1e2"));
    }

    /// Hosts of one name and width as Slurm would write them: `n[01-03,07]`.
    fn compressed(prefix: &str, width: usize, numbers: &BTreeSet<u64>, suffix: &str) -> String {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for number in numbers {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == *number => *last = *number,
                _ => ranges.push((*number, *number)),
            }
        }
        let written = |(low, high): &(u64, u64)| {
            let last = if low == high { String::new() } else { format!("-{high:0width$}") };
            format!("{low:0width$}{last}")
        };
        format!("{prefix}[{}]{suffix}", ranges.iter().map(written).collect::<Vec<_>>().join(","))
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_was_compressed_is_expanded(
            groups in vec(("[a-z-]{1,4}", 1..4_usize, btree_set(0..1200_u64, 1..9), "(-ib)?"), 1..4)
        ) {
            let list = groups.iter().map(|(prefix, width, numbers, suffix)| compressed(prefix, *width, numbers, suffix));
            let list = list.collect::<Vec<_>>().join(",");
            let hosts = groups.iter().flat_map(|(prefix, width, numbers, suffix)| {
                numbers.iter().map(move |number| format!("{prefix}{number:0width$}{suffix}"))
            });
            let read = Hosts::parse(&list).unwrap();
            let names: Vec<_> = (0..read.count()).filter_map(|index| read.get(index)).collect();
            prop_assert_eq!(names, hosts.collect::<Vec<_>>(), "{}", list);
        }

        #[test]
        fn any_text_is_a_list_or_not(text in "[a-b0-9\\[\\],+ -]{0,16}|\\PC{0,8}", index in any::<u64>()) {
            if let Some(hosts) = Hosts::parse(&text) {
                prop_assert_eq!(hosts.get(index).is_some(), index < hosts.count());
            }
        }
    }
}
