//! The net under the table of engines: a tool that is not in it is seen by how it calls its numbers.

use super::engines::table;
use super::problems::place_unknown;
use super::rendezvous::is_loopback;
use super::variables::{MASTER_ADDR, first_text, text};
use crate::base::source::Sourced;
use crate::host::Host;
use crate::report::Problem;

pub(super) fn counted_by_another(host: &Host) -> Option<Problem> {
    let lists = include_str!("net.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect::<Vec<_>>();
    let [
        counts,
        places,
        bare_counts,
        bare_places,
        other_places,
        of_torch,
    ] = lists.try_into().ok()?;
    let number = |name: &str| {
        host.nonempty_var(name)
            .and_then(|value| value.trim().parse::<u64>().ok())
    };
    let several = |name: &str| number(name).filter(|machines| *machines > 1);
    let numbers = host.env.iter().filter(|(_, value)| {
        value
            .as_encoded_bytes()
            .first()
            .is_some_and(u8::is_ascii_digit)
    });
    let names = numbers.filter_map(|(name, _)| name.to_str());
    let bare = bare_counts.split(' ').find_map(|count| {
        let machines = several(count)?;
        let mut here = bare_places
            .split(' ')
            .filter(|name| number(name).is_some_and(|place| place <= machines));
        let place = here
            .next()
            .map_or_else(|| foreign_address(host), |place| text(place, host))?;
        Some(("another tool", text(count, host)?, place))
    });
    let (tool, count, place) = bare.or_else(|| {
        names
            .clone()
            .filter(|name| ends_so(name, counts))
            .find_map(|count| {
                let (tool, _) = count.split_once('_')?;
                let machines = several(count)?;
                if tool.is_empty()
                    || of_torch.split(' ').any(|known| known == tool)
                    || table::all()
                        .any(|block| block.env_prefixes().any(|prefix| count.starts_with(prefix)))
                {
                    return None;
                }
                let place = names.clone().find(|name| {
                    name.strip_prefix(tool)
                        .is_some_and(|rest| rest.starts_with('_'))
                        && ends_so(name, places)
                        && !other_places.split(' ').any(|part| name.contains(part))
                        && number(name).is_some_and(|place| place <= machines)
                })?;
                Some((tool, text(count, host)?, text(place, host)?))
            })
    })?;
    Some(place_unknown(
        tool,
        [&count, &place],
        "where its machines meet",
    ))
}

fn ends_so(name: &str, endings: &str) -> bool {
    endings.split(' ').any(|part| {
        name.strip_suffix(part)
            .is_some_and(|part| part.ends_with('_'))
    })
}

/// Of another machine, or of this one as others know it.
pub(super) fn foreign_address(host: &Host) -> Option<Sourced<String>> {
    first_text(&MASTER_ADDR, host).filter(|address| !is_loopback(&address.value))
}
