//! The same messages over the same lines, by different transports.
//!
//! A [`Trace`] of messages is recorded once from simulated entities. It is then sent over a
//! [star](StarSpec) of sites: by SRMP (the machine that runs live), by a mesh of TCP connections
//! ([`crate::tcp`], a model), by multicast for one mode and TCP for the other, or by multicast
//! alone. The measurements are the same for all: octets on every line with all headers, delays,
//! deliveries, staleness of copies of states, and recovery times. See [`Kind`] for the transports
//! and [`run()`] for the [`Outcome`].

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

/// The transport that carries messages to all other sites.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// SRMP: mode 0 best effort, mode 1 reliable; one endpoint per site. The function changes its
    /// settings.
    Srmp(fn(&mut Config)),
    /// A multicast datagram for each message, without any repair: the lower bound of traffic.
    Multicast,
    /// A TCP connection per pair of sites for all messages.
    Tcp {
        /// The variant of TCP.
        config: tcp::Config,
        /// Time for which the application collects messages before it writes them.
        batch: Duration,
        /// Messages do not wait for missing earlier ones, as on streams of QUIC: TCP's recovery
        /// without its order.
        unordered: bool,
    },
    /// Multicast for mode 0, a TCP connection per pair of sites for mode 1, as in STOW, but without
    /// its relays.
    Hybrid {
        /// The variant of TCP.
        config: tcp::Config,
    },
}

/// A competing TCP connection that always has data to send.
#[derive(Clone, Copy, Debug)]
pub struct Bulk {
    /// The sending site.
    pub from: usize,
    /// The receiving site.
    pub to: usize,
    /// Time at which it begins to send.
    pub begin: Duration,
    /// Time at which it is cut off.
    pub end: Duration,
}

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The sites and their lines.
    pub star: StarSpec,
    /// The transport.
    pub kind: Kind,
    /// Time from the end of the trace to the end of the run.
    pub settle: Duration,
    /// Competing connections.
    pub bulk: Vec<Bulk>,
    /// Deaths of sites: site, time.
    pub deaths: Vec<(usize, Duration)>,
    /// Interval at which rates and queues of the first site are sampled; `None` for no samples.
    pub glimpse_every: Option<Duration>,
}

impl Setup {
    /// Settings without competition, deaths and samples.
    pub fn new(star: StarSpec, kind: Kind) -> Self {
        let settle = Duration::from_secs(30);
        Self { star, kind, settle, bulk: Vec::new(), deaths: Vec::new(), glimpse_every: None }
    }
}
