//! Groups of SRMP members: the protocol's own machine on emulated lines, loaded by simulated
//! entities.
//!
//! - [`Group`]: endpoints ([`srmp::Endpoint`], as in a live group), a line ([`wan::Channel`]) for
//!   each ordered pair of sites, objects ([`workload::Generator`]) that send mode 0 by stream and
//!   mode 1 by data element, losses, partitions, crashes. Its [`Report`] has facts that only a
//!   simulation can know: the final values of each host, and the staleness of copies.
//! - [`table1`]: the evaluation of the SRMP paper in three readings, with acceptance limits.
//! - [`tree`]: the same group with loggers.
//! - [`consistency`]: eventual consistency under faults.
//! - [`sendings`]: how often a source sends each message of a small group.
//! - [`scale`]: a thousand receivers and more, and the goals for such groups.
//!
//! A datagram costs one event for each site, which all hosts of the site share. 1,000 receivers at
//! 20 sites therefore need 24 x 24 lines, not a million.

mod cargo;
pub mod consistency;
mod layout;
pub(crate) mod ledger;
mod limits;
mod machine;
mod objects;
mod report;
pub mod scale;
pub mod sendings;
pub mod table1;
#[cfg(test)]
mod tests;
mod totals;
pub mod tree;

pub use layout::{Layout, LossAt};
pub use machine::{Group, GroupError, Setup};
pub use report::{Crossings, Report, Sent};
pub use totals::Totals;
