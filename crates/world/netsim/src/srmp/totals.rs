//! What endpoints counted, summed up.

use std::time::Duration;

use srmp::{Counters, Histogram};

/// Sums over endpoints, those of earlier lives included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Mode 0 messages sent.
    pub mode0_sent: u64,
    /// Mode 0 messages that hosts got.
    pub mode0_received: u64,
    /// Mode 0 messages that the senders' shapers dropped, or replaced by newer ones.
    pub mode0_withheld: u64,
    /// Mode 0 messages held back at receivers because nothing of their sender's state was there.
    pub mode0_gated: u64,
    /// Mode 1 messages accepted for sending.
    pub mode1_sent: u64,
    /// Mode 1 messages sent again because somebody asked.
    pub retransmissions: u64,
    /// Mode 1 messages sent a second time before anybody asked.
    pub copies: u64,
    /// NACK items sent.
    pub nacks: u64,
    /// NACK items not sent because another member asked.
    pub nacks_suppressed: u64,
    /// NACK items that reached the member they were meant for.
    pub nacks_at_source: u64,
    /// Mode 1 messages handed up.
    pub delivered: u64,
    /// Times that something was missing.
    pub wants: u64,
    /// Wants for a version that a newer one made useless.
    pub superseded: u64,
    /// Bundles sent for trailing announcements alone.
    pub trailing: u64,
    /// Bundles sent.
    pub bundles: u64,
    /// Reports for congestion control sent.
    pub feedback: u64,
    /// Datagrams that were dropped because something was wrong with them; must be none.
    pub faults: u64,
    /// Messages and segments that loggers gave to one member, and to a site.
    pub logger_repairs: (u64, u64),
    /// Wishes that went to loggers, or to sources alone.
    pub nacks_to_loggers: u64,
    /// Times that a host became its site's logger.
    pub activations: u64,
    /// From the want to the data.
    pub recovery: Histogram,
    /// The same at hosts without objects.
    pub recovery_of_receivers: Histogram,
}

impl Totals {
    /// Adds what a host counted, which has objects or only receives.
    pub(super) fn add(&mut self, counters: &Counters<'_>, receives_only: bool) {
        let Counters { endpoint, receive, send, shaper, .. } = counters;
        self.mode0_sent += endpoint.sent.mode0;
        self.mode0_received += endpoint.received.mode0;
        self.mode0_withheld +=
            shaper.random + shaper.superseded + shaper.overflow + shaper.stale + endpoint.mode0_conflated;
        self.mode0_gated += endpoint.mode0_gated;
        self.mode1_sent += send.messages;
        self.retransmissions += send.pieces_repaired;
        self.copies += send.pieces_copied;
        self.nacks += receive.nacks_sent;
        self.nacks_suppressed += receive.nacks_suppressed_by_nack + receive.nacks_suppressed_by_data;
        self.nacks_at_source += send.nacks;
        self.delivered += receive.delivered;
        self.wants += receive.wants_opened;
        self.superseded += receive.wants_superseded;
        self.trailing += send.trailing;
        self.bundles += endpoint.sent.bundles;
        self.feedback += endpoint.sent.feedback;
        self.nacks_to_loggers += receive.nacks_to_loggers;
        if let Some(logger) = counters.logger {
            self.logger_repairs.0 += logger.repairs_unicast + logger.repairs_own;
            self.logger_repairs.1 += logger.repairs_multicast;
            self.activations += logger.activations;
        }
        self.faults += endpoint.faults.total() + endpoint.not_written + endpoint.conflicts;
        self.recovery.merge(&receive.recovery);
        if receives_only {
            self.recovery_of_receivers.merge(&receive.recovery);
        }
    }

    /// The time that this share of recoveries, from the want to the data, does not exceed.
    pub fn recovery(&self, quantile: f64) -> Duration {
        self.recovery.quantile(quantile)
    }
}
