//! Slurm's host lists: `node[01-03,7],gpu-a[1-2]-b[3,5]`. Tested against the real `scontrol show hostnames`.

/// Slurm refuses a range of more hosts, and no cluster has more.
const MOST: usize = 64 * 1024;

/// The hosts, in Slurm's order. `None`: Slurm would refuse the list.
pub fn expand(list: &str) -> Option<Vec<String>> {
    // Commas inside brackets do not separate.
    let mut in_bracket = false;
    let items = list.split(|c: char| {
        in_bracket = c == '[' || in_bracket && c != ']';
        !in_bracket && (c == ',' || c.is_ascii_whitespace())
    });
    let mut hosts = Vec::new();
    for item in items.filter(|item| !item.is_empty()) {
        hosts.extend(expand_item(item)?);
    }
    (!hosts.is_empty()).then_some(hosts)
}

/// The last bracket counts fastest, then the first, the second, …
fn expand_item(mut rest: &str) -> Option<Vec<String>> {
    let mut hosts = vec![String::new()];
    while let Some(first) = rest.find('[') {
        let close = first + rest[first..].find(']')?;
        // As Slurm does: of several `[`, the last one before the `]` opens the bracket.
        let open = rest[..close].rfind('[')?;
        let text = &rest[..open];
        let numbers = numbers(&rest[open + 1..close])?;
        if hosts.len() * numbers.len() > MOST {
            return None;
        }
        rest = &rest[close + 1..];
        let is_last = !rest.contains('[');
        let mut longer = Vec::new();
        if is_last {
            for host in &hosts {
                longer.extend(numbers.iter().map(|number| format!("{host}{text}{number}")));
            }
        } else {
            for number in &numbers {
                longer.extend(hosts.iter().map(|host| format!("{host}{text}{number}")));
            }
        }
        hosts = longer;
    }
    Some(hosts.into_iter().map(|host| host + rest).collect())
}

/// `08-12,7`: the numbers of a range are padded to the width of its lower bound.
fn numbers(ranges: &str) -> Option<Vec<String>> {
    let mut numbers = Vec::new();
    for range in ranges.split(',') {
        // `1-` is 1.
        let (low, high) = range.split_once('-').unwrap_or((range, ""));
        let width = low.len();
        let first: u64 = low.parse().ok()?;
        let last = if high.is_empty() {
            first
        } else {
            high.parse().ok()?
        };
        if last.checked_sub(first)? >= MOST as u64 {
            return None;
        }
        numbers.extend((first..=last).map(|number| format!("{number:0width$}")));
    }
    Some(numbers)
}
