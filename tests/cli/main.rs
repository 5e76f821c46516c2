//! The built binary, from outside. Trainers are stood in for by a `python3` that only records how it was executed; the
//! real ones run in `tests/real`.

mod auto;
mod cases;
mod environment;
mod exec;
mod files;
mod front_ends;
mod layers;
mod ranks;
mod sandbox;
mod schema;
mod templates;
