//! The net under the table of engines: a tool that is not in it is seen by how it calls its numbers.

use std::ffi::OsString;

use super::engines::table;
use super::problems::place_unknown;
use super::rendezvous::is_loopback;
use super::variables::{MASTER_ADDR, first_text, text};
use crate::base::source::Sourced;
use crate::host::Host;
use crate::report::Problem;

/// The variables of a tool for the number of machines, and for its own place among them, end with these.
const COUNTS: &str = "NUM_NODES NNODES NODE_COUNT NODES NUM_MACHINES MACHINE_COUNT MACHINES NUM_HOSTS HOST_COUNT \
    NUM_WORKERS REPLICA_COUNT JOBS_COUNT WORLD_SIZE RANK_SIZE";
const PLACES: &str = "RANK INDEX IDX NODE_ID NODEID MACHINE_ID HOST_ID WORKER_ID RANK_ID";
/// Without the name of a tool in front. Other names of the first list are too common then.
const BARE_COUNTS: &str =
    "NUM_NODES NODE_COUNT NODES N_NODES NUM_MACHINES MACHINE_COUNT NUM_HOSTS HOST_COUNT RANK_SIZE";
const BARE_PLACES: &str = "NODE_RANK NODE_ID NODE_INDEX MACHINE_RANK MACHINE_ID HOST_RANK HOST_ID RANK_ID";
/// Names with these words count something else.
const OTHER_PLACES: &str = "LORA GPU DEVICE";
/// torch's own variables begin with these, and are judged elsewhere.
const OF_TORCH: &str = "LOCAL GROUP ROLE PET";

pub(super) fn counted_by_another(host: &Host) -> Option<Problem> {
    let number = |name: &str| host.nonempty_var(name).and_then(|value| value.trim().parse::<u64>().ok());
    let several = |name: &str| number(name).filter(|machines| *machines > 1);
    let is_number = |value: &OsString| value.as_encoded_bytes().first().is_some_and(u8::is_ascii_digit);
    let names = || host.env.iter().filter(|(_, value)| is_number(value)).filter_map(|(name, _)| name.to_str());
    let is_known = |name: &str| table::all().any(|block| block.env_prefixes().any(|prefix| name.starts_with(prefix)));
    let bare = has(BARE_COUNTS).find_map(|count| {
        let machines = several(count)?;
        let mut places = has(BARE_PLACES).filter(|name| number(name).is_some_and(|place| place <= machines));
        let place = places.next().map_or_else(|| foreign_address(host), |place| text(place, host))?;
        Some(("another tool", text(count, host)?, place))
    });
    let (tool, count, place) = bare.or_else(|| {
        names().filter(|name| ends_so(name, COUNTS)).find_map(|count| {
            let (tool, _) = count.split_once('_')?;
            let machines = several(count)?;
            if tool.is_empty() || has(OF_TORCH).any(|known| known == tool) || is_known(count) {
                return None;
            }
            let is_place = |name: &&str| {
                name.strip_prefix(tool).is_some_and(|rest| rest.starts_with('_'))
                    && ends_so(name, PLACES)
                    && !has(OTHER_PLACES).any(|part| name.contains(part))
                    && number(name).is_some_and(|place| place <= machines)
            };
            Some((tool, text(count, host)?, text(names().find(is_place)?, host)?))
        })
    })?;
    Some(place_unknown(tool, [&count, &place], "where its machines meet"))
}

fn has(names: &'static str) -> impl Iterator<Item = &'static str> {
    names.split_ascii_whitespace()
}

fn ends_so(name: &str, endings: &'static str) -> bool {
    has(endings).any(|part| name.strip_suffix(part).is_some_and(|part| part.ends_with('_')))
}

/// Of another machine, or of this one as others know it.
pub(super) fn foreign_address(host: &Host) -> Option<Sourced<String>> {
    first_text(&MASTER_ADDR, host).filter(|address| !is_loopback(&address.value))
}
