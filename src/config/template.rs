//! Templates: names, search order, `extends`, the embedded files. A spec (name, path or inline JSON) becomes a config
//! with its chain of origins; nothing here knows what the config's keys mean.

mod document;
mod list;
mod resolve;
pub(crate) mod search;

pub(crate) use document::{RequiredKey, SCHEMA_LINE, header_schema};
pub(crate) use list::list;
pub(crate) use resolve::raw;
pub use resolve::{Template, resolve};
pub(crate) use search::Origin;
pub use search::Search;
