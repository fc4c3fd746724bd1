//! Round-trip times of peers.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

/// The most peers remembered; beyond that, the one with the lowest address is dropped.
const PEERS_MAX: usize = 4_096;

/// Round-trip times after Jacobson: a smoothed mean and a smoothed deviation for each peer.
#[derive(Debug, Default)]
pub(super) struct Peers {
    known: BTreeMap<SocketAddr, (Duration, Duration)>,
}

impl Peers {
    /// Adds a measured round-trip time.
    pub(super) fn measured(&mut self, peer: SocketAddr, sample: Duration) {
        if self.known.len() >= PEERS_MAX && !self.known.contains_key(&peer) {
            self.known.pop_first();
        }
        self.known
            .entry(peer)
            .and_modify(|(mean, deviation)| {
                *deviation = (*deviation * 3 + mean.abs_diff(sample)) / 4;
                *mean = (*mean * 7 + sample) / 8;
            })
            .or_insert((sample, sample / 2));
    }

    /// The retransmission timeout; `None` when no round trip has been measured.
    pub(super) fn rto(&self, peer: SocketAddr) -> Option<Duration> {
        self.known.get(&peer).map(|(mean, deviation)| *mean + *deviation * 4)
    }
}
