//! The same messages, over the same lines, by different transports.
//!
//! A [`Trace`] of messages is recorded once from simulated entities, then sent by SRMP (the machine that runs live), by a mesh of
//! TCP connections ([`crate::tcp`], a model), by multicast for the one mode and TCP for the other, or by multicast alone, over a
//! [star](StarSpec) of sites. What is counted is the same for all: octets on every line with all headers, delays, what arrives, how long
//! copies of states are stale, how long what was lost takes. See [`Kind`] for what each transport does, [`run()`] for what it comes to.

mod links;
mod outcome;
mod star;
#[cfg(test)]
mod tests;
mod trace;
mod world;

use std::time::Duration;

use srmp::Config;

use crate::tcp;

pub use outcome::{Glimpse, Outcome};
pub use star::{Carried, StarSpec};
pub use trace::{Message, Trace};
pub use world::{TransportError, run};

/// How messages get to all other sites.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// SRMP: mode 0 best effort, mode 1 reliable; an endpoint per site. The function changes its settings.
    Srmp(fn(&mut Config)),
    /// A multicast datagram for each message, and nothing that makes up for losses: the floor.
    Multicast,
    /// A TCP connection per pair of sites for everything.
    Tcp {
        /// Which TCP.
        config: tcp::Config,
        /// The application collects messages for so long before it writes.
        batch: Duration,
        /// Messages need not wait for earlier ones that are missing, as on streams of QUIC: TCP's recovery, without its order.
        unordered: bool,
    },
    /// Multicast for mode 0, a TCP connection per pair of sites for mode 1: what STOW did, without its relays.
    Hybrid {
        /// Which TCP.
        config: tcp::Config,
    },
}

/// A TCP connection that always has something to send.
#[derive(Clone, Copy, Debug)]
pub struct Bulk {
    /// From this site.
    pub from: usize,
    /// To that one.
    pub to: usize,
    /// From then on.
    pub begin: Duration,
    /// It is cut off then.
    pub end: Duration,
}

/// What is run.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The lines.
    pub star: StarSpec,
    /// How messages are sent.
    pub kind: Kind,
    /// After the last message the run goes on for so long.
    pub settle: Duration,
    /// Competing connections.
    pub bulk: Vec<Bulk>,
    /// Sites that die, and when.
    pub deaths: Vec<(usize, Duration)>,
    /// How often to look at rates and queues of the first site, if at all.
    pub glimpse_every: Option<Duration>,
}

impl Setup {
    /// Without competition, deaths and glimpses.
    pub fn new(star: StarSpec, kind: Kind) -> Self {
        let settle = Duration::from_secs(30);
        Self { star, kind, settle, bulk: Vec::new(), deaths: Vec::new(), glimpse_every: None }
    }
}
