//! Unit tests of `src/ranks/topology/hostfile.rs`.

use super::*;
use crate::base::source::Source;

fn pool(text: &str) -> ResourcePool {
    parse(text, "hostfile").unwrap_or_else(|problems| panic!("{problems:?}"))
}

#[test]
fn lines_are_parsed_as_the_runner_does() {
    assert_eq!(pool("# all\n\nh0 slots=2\nh1\tslots=3 max\n").gpu_count(), 5);
    for (text, count) in [("h0 slots = 4", 1), ("h0\nh1 slots=x", 2), ("h0 slots=1\nh0 slots=2", 1), ("# none\n", 1)] {
        assert_eq!(parse(text, "hostfile").map_err(|problems| problems.len()), Err(count), "{text}");
    }
}

#[test]
fn filters_include_or_exclude() {
    let filtered = |filter: &str, keep| {
        let filter = Sourced::new(filter.to_string(), Source::Default);
        let left = pool("h0 slots=4\nh1 slots=4").filtered(&filter, keep).map_err(|problems| problems.len())?;
        Ok(left.0.iter().map(|(host, slots)| format!("{host}:{}", slots.join(","))).collect::<Vec<_>>().join("@"))
    };
    assert_eq!(filtered("h1:0,2", true).as_deref(), Ok("h1:0,2"));
    assert_eq!(filtered("h0@h1:1", true).as_deref(), Ok("h0:0,1,2,3@h1:1"));
    assert_eq!(filtered("h0@h1:1", false).as_deref(), Ok("h1:0,2,3"));
    assert_eq!((filtered("h2:0@h1:9", true), filtered("h0@h1", false)), (Err(2), Err(1)));
}
