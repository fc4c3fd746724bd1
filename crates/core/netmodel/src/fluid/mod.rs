//! Fluid flows: messages that share the rates of links.
//!
//! Messages are bit-divisible, as in the ideal fluid-flow queue of the VIA paper (Fig. 3): a link
//! of rate C that n messages cross offers each C/n. The paper does not say how that couples over
//! several links. There are four ways:
//!
//! - [`end_to_end`]: a message holds all links of its path at once and moves at one rate, the least
//!   of the offers or the max-min fair one ([`Sharing`]). It pays one serialisation, not one per
//!   hop (cut-through).
//! - [`hops`]: each link has a queue with backlogs, and passes its inflow on as it comes.
//! - [`stored`]: each link has a queue, and passes a message on when all of it has come.
//!
//! [`Fluid`] is the machine of the first two, without queues: messages start when its owner starts
//! them. The order of waiting is that of [`lanes`], and [`run`] drives everything.

mod carried;
pub mod end_to_end;
mod ends;
mod engine;
pub mod hops;
mod indices;
pub mod lanes;
mod links;
mod max_min;
pub mod run;
pub(crate) mod runs;
pub mod stored;
#[cfg(test)]
mod tests;

pub use engine::{Fluid, MessageId};

/// How messages share the links of their paths end to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// The least of C/n over the links of the path. Capacity that a message cannot use elsewhere is
    /// left idle.
    MinShare,
    /// Max-min fairness by progressive filling: no message can get more without taking from one
    /// that has less.
    MaxMin,
}
