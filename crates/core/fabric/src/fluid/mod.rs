//! Fluid flows: messages that hold all links of their path at once and share their rates.
//!
//! Messages are bit-divisible, as in the ideal fluid-flow queue of the VIA paper (Fig. 3): a link of rate C that n
//! messages cross offers each C/n. Over a path of several links there are two couplings ([`Sharing`]): the least of the
//! offers, or the max-min fair rates. Either way a message is served at one rate over its whole path (cut-through), so
//! that one serialisation is paid, not one per hop.
//!
//! [`Fluid`] is a machine without queues: messages start when its owner says so. What waits behind what is decided
//! by [`lanes`], and [`run`] drives everything.

mod engine;
pub mod lanes;
mod max_min;
pub mod run;
pub(crate) mod runs;
#[cfg(test)]
mod tests;

pub use engine::{Fluid, MessageId};

/// How messages share the links of their paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// The least of C/n over the links of the path. What a message cannot use elsewhere is left idle.
    MinShare,
    /// Max-min fairness by progressive filling: no message can get more without taking from one that has less.
    MaxMin,
}
