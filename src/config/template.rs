//! Templates: a name, a path or inline JSON becomes a config with its chain of origins. Nothing here knows the keys.

pub mod document;
pub mod resolve;
pub mod search;

pub(crate) use document::{RequiredKey, SCHEMA_LINE, header_schema};
pub use resolve::{Template, resolve};
pub(crate) use resolve::{list, listed, raw};
pub(crate) use search::Origin;
pub use search::Search;
