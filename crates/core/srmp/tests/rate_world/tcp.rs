//! A model of a TCP flow that always has data. It models the effect of Reno with selective
//! acknowledgements on the window, and is not an implementation of TCP.
//!
//! The window grows by one packet per round-trip time. It is halved per loss event, detected when
//! three later packets are acknowledged. After a second without acknowledgements it is one packet.
//! Below the threshold there is slow start. Acknowledgements are never lost.

use base::Moment;
use std::collections::BTreeMap;
use std::time::Duration;

/// The number of later packets that must be acknowledged before one counts as lost.
const LATER: u32 = 3;
const TIMEOUT: Duration = Duration::from_secs(1);

pub(crate) struct Tcp {
    /// The round-trip time without queueing.
    rtt: Duration,
    window: f64,
    threshold: f64,
    next: u64,
    /// Packets under way, with the number of later ones that were acknowledged.
    flying: BTreeMap<u64, u32>,
    /// Losses before this packet belong to the last event.
    recover: u64,
    heard: Moment,
}

impl Tcp {
    pub(crate) fn new(rtt: Duration) -> Self {
        Self {
            rtt,
            window: 2.0,
            threshold: f64::INFINITY,
            next: 0,
            flying: BTreeMap::new(),
            recover: 0,
            heard: Moment::ZERO,
        }
    }

    pub(crate) fn rtt(&self) -> Duration {
        self.rtt
    }

    /// The packet that may be sent now.
    pub(crate) fn next_packet(&mut self, now: Moment) -> Option<u64> {
        if self.flying.len() as f64 >= self.window.floor() {
            return None;
        }
        if self.flying.is_empty() {
            self.heard = now;
        }
        self.flying.insert(self.next, 0);
        self.next += 1;
        Some(self.next - 1)
    }

    pub(crate) fn handle_ack(&mut self, now: Moment, number: u64) {
        self.heard = now;
        if self.flying.remove(&number).is_none() {
            return;
        }
        self.window += if self.window < self.threshold { 1.0 } else { 1.0 / self.window };
        let mut lost = Vec::new();
        for (&earlier, later) in self.flying.range_mut(..number) {
            *later += 1;
            if *later >= LATER {
                lost.push(earlier);
            }
        }
        for number in lost {
            self.flying.remove(&number);
            if number >= self.recover {
                self.window = (self.window / 2.0).max(2.0);
                self.threshold = self.window;
                self.recover = self.next;
            }
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Moment) {
        if !self.flying.is_empty() && now - self.heard > TIMEOUT {
            self.flying.clear();
            self.threshold = (self.window / 2.0).max(2.0);
            self.window = 1.0;
            self.recover = self.next;
            self.heard = now;
        }
    }
}
