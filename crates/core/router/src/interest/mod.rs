//! Interests and advertisements of all clients, and the announcements that a change requires.

mod adverts;
mod interested;
mod table;

pub(crate) use adverts::Adverts;
pub(crate) use interested::Edge;
pub use interested::{Interested, Propagate};
pub(crate) use table::Table;
