//! Slurm's host lists: `node[01-03,7],gpu-a[1-2]-b[3,5]`. Tested against the real `scontrol show hostnames`.
//! A list of ten thousand hosts is one range, so names are made only when they are asked for.

/// Slurm refuses a range of more hosts.
const MAX_RANGE: u64 = 64 * 1024;

pub struct HostList<'a>(Vec<HostPattern<'a>>);

/// A name with any number of brackets: the text before each bracket, with the numbers in it, and the text behind the last.
struct HostPattern<'a> {
    brackets: Vec<(&'a str, Vec<NumberRange>)>,
    rest: &'a str,
}

/// `08-12`. Numbers are padded to the width of the lower bound.
struct NumberRange {
    low: u64,
    count: u64,
    width: usize,
}

impl<'a> HostList<'a> {
    /// `None`: Slurm would refuse it.
    pub fn parse(text: &'a str) -> Option<Self> {
        let items: Option<Vec<_>> = items(text).map(HostPattern::parse).collect();
        items.filter(|items| !items.is_empty()).map(HostList)
    }

    pub fn count(&self) -> u64 {
        self.0
            .iter()
            .map(HostPattern::count)
            .fold(0, u64::saturating_add)
    }

    pub fn get(&self, mut index: u64) -> Option<String> {
        for item in &self.0 {
            if index < item.count() {
                return Some(item.name(index));
            }
            index -= item.count();
        }
        None
    }
}

/// The items between commas or spaces. Commas inside brackets do not separate.
fn items(text: &str) -> impl Iterator<Item = &str> {
    let mut in_bracket = false;
    let items = text.split(move |c: char| {
        in_bracket = c == '[' || in_bracket && c != ']';
        !in_bracket && (c == ',' || c.is_ascii_whitespace())
    });
    items.filter(|item| !item.is_empty())
}

impl<'a> HostPattern<'a> {
    fn parse(item: &'a str) -> Option<Self> {
        let (mut brackets, mut rest) = (Vec::new(), item);
        while let Some(first) = rest.find('[') {
            let close = first + rest[first..].find(']')?;
            // As Slurm does: of several `[`, the last one before the `]` opens the bracket.
            let open = rest[..close].rfind('[')?;
            let ranges: Option<Vec<_>> = rest[open + 1..close].split(',').map(range).collect();
            brackets.push((&rest[..open], ranges?));
            rest = &rest[close + 1..];
        }
        Some(HostPattern { brackets, rest })
    }

    fn count(&self) -> u64 {
        self.brackets
            .iter()
            .map(|(_, ranges)| size(ranges))
            .fold(1, u64::saturating_mul)
    }

    /// The host with this index. In Slurm's order the last bracket counts fastest, then the first, the second, …
    fn name(&self, mut index: u64) -> String {
        let mut fastest_first: Vec<usize> = (0..self.brackets.len()).collect();
        fastest_first.rotate_right(self.brackets.len().min(1));
        let mut parts = vec![String::new(); self.brackets.len()];
        for at in fastest_first {
            let (text, ranges) = &self.brackets[at];
            parts[at] = format!("{text}{}", number_at(ranges, index % size(ranges)));
            index /= size(ranges);
        }
        parts.concat() + self.rest
    }
}

fn size(ranges: &[NumberRange]) -> u64 {
    ranges.iter().map(|range| range.count).sum()
}

fn number_at(ranges: &[NumberRange], mut index: u64) -> String {
    for NumberRange { low, count, width } in ranges {
        if index < *count {
            return format!("{:0width$}", low + index);
        }
        index -= count;
    }
    String::new()
}

fn range(text: &str) -> Option<NumberRange> {
    let number = |text: &str| {
        text.bytes()
            .all(|b| b.is_ascii_digit())
            .then(|| text.parse::<u64>().ok())
            .flatten()
    };
    // `1-` is 1.
    let (low, high) = text.split_once('-').map_or((text, text), |(low, high)| {
        (low, if high.is_empty() { low } else { high })
    });
    // A leading space or plus counts towards the width: Slurm parses with strtoul, which skips it.
    let (width, low, high) = (
        low.len(),
        number(without_sign(low))?,
        number(without_sign(high))?,
    );
    // Slurm's own counter would overflow.
    let overflows = low < high && high == u64::MAX;
    let count = high
        .checked_sub(low)
        .filter(|more| *more < MAX_RANGE && !overflows)?
        + 1;
    Some(NumberRange { low, count, width })
}

fn without_sign(text: &str) -> &str {
    let text = text.trim_start();
    text.strip_prefix('+').unwrap_or(text)
}
