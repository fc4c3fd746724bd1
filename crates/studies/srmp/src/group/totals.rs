//! Sums of the endpoints' counters.

use std::time::Duration;

use srmp::{Counters, Histogram};

/// Sums over all endpoints, including those of hosts before a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Mode 0 messages sent.
    pub mode0_sent: u64,
    /// Mode 0 messages received.
    pub mode0_received: u64,
    /// Mode 0 messages that the senders' shapers dropped, or replaced by newer ones.
    pub mode0_withheld: u64,
    /// Mode 0 messages that receivers withheld because they had no state of the sender yet.
    pub mode0_gated: u64,
    /// Mode 1 messages accepted for sending.
    pub mode1_sent: u64,
    /// Mode 1 messages retransmitted on request.
    pub retransmissions: u64,
    /// Mode 1 messages sent a second time without a request.
    pub copies: u64,
    /// NACK items sent.
    pub nacks: u64,
    /// NACK items suppressed because another member asked.
    pub nacks_suppressed: u64,
    /// NACK items that reached the member they were addressed to.
    pub nacks_at_source: u64,
    /// Mode 1 messages delivered to the application.
    pub delivered: u64,
    /// Missing messages detected.
    pub wants: u64,
    /// Missing messages that a newer version made obsolete.
    pub superseded: u64,
    /// Bundles sent only for trailing announcements.
    pub trailing: u64,
    /// Bundles sent.
    pub bundles: u64,
    /// Reports for congestion control sent.
    pub feedback: u64,
    /// Datagrams dropped as faulty; must be zero.
    pub faults: u64,
    /// Messages and segments that loggers sent to one member, and to a site.
    pub logger_repairs: (u64, u64),
    /// NACK items addressed to loggers, or to sources only.
    pub nacks_to_loggers: u64,
    /// Number of times that a host became its site's logger.
    pub activations: u64,
    /// Time from the detection of a missing message to its arrival.
    pub recovery: Histogram,
    /// The same for hosts without objects.
    pub recovery_of_receivers: Histogram,
}

impl Totals {
    /// Adds the counters of a host. `receives_only` is true for a host without objects.
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

    /// Quantile of the recovery times, from the detection of a missing message to its arrival.
    pub fn recovery(&self, quantile: f64) -> Duration {
        self.recovery.quantile(quantile)
    }
}
