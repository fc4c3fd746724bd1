//! Who wants what, and who has to be told.

mod adverts;
mod interested;
mod table;

pub(crate) use adverts::Adverts;
pub(crate) use interested::Edge;
pub use interested::{Interested, Propagate};
pub(crate) use table::Table;
