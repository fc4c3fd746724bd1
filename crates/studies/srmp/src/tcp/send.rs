//! The sending half: segments, their fate, and timers.

use std::collections::VecDeque;
use std::time::Duration;

use base::Moment;

use super::control::Window;
use super::{Config, Stats};

/// Number of later segments received that mark an earlier one as lost (RFC 6675).
const LATER: u32 = 3;
/// Retransmission timeout before the first round-trip sample (RFC 6298).
const RTO_INITIAL: Duration = Duration::from_secs(1);
const RTO_MAX: Duration = Duration::from_secs(60);
/// Assumed maximum delay of the peer's acknowledgements, for probes (RFC 8985, section 7.2).
const PEER_DELAY: Duration = Duration::from_millis(200);

/// An unacknowledged segment.
#[derive(Clone, Copy, Debug)]
struct Flying {
    seq: u64,
    len: u32,
    sent: Moment,
    /// Position in the order of transmissions, retransmissions included.
    order: u64,
    sacked: bool,
    /// Considered lost, and not retransmitted yet.
    lost: bool,
    again: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Sender {
    config: Config,
    window: Window,
    written: u64,
    next: u64,
    acked: u64,
    flying: VecDeque<Flying>,
    orders: u64,
    /// Losses of data sent before this position belong to the current reduction.
    recover: Option<u64>,
    /// A timeout caused that reduction; the window then grows again at once.
    after_timeout: bool,
    rtt: Option<(Duration, Duration)>,
    rtt_min: Duration,
    backoff: u32,
    rto_at: Option<Moment>,
    /// RACK: order, send time and round-trip time of the segment sent last among those that
    /// arrived.
    latest: (u64, Moment, Duration),
    rack_at: Option<Moment>,
    probe_at: Option<Moment>,
    /// A probe is outstanding until data up to this position is acknowledged.
    probed: Option<u64>,
    probe_now: bool,
    /// The window has held data back since the last acknowledgement.
    limited: bool,
}

impl Sender {
    pub(super) fn new(config: Config) -> Self {
        Self {
            config,
            window: Window::new(config.control, config.initial_window),
            written: 0,
            next: 0,
            acked: 0,
            flying: VecDeque::new(),
            orders: 0,
            recover: None,
            after_timeout: false,
            rtt: None,
            rtt_min: Duration::MAX,
            backoff: 0,
            rto_at: None,
            latest: (0, Moment::ZERO, Duration::ZERO),
            rack_at: None,
            probe_at: None,
            probed: None,
            probe_now: false,
            limited: false,
        }
    }

    pub(super) fn write(&mut self, bytes: u64) {
        self.written += bytes;
    }

    pub(super) fn next(&self) -> u64 {
        self.next
    }

    pub(super) fn backlog(&self) -> u64 {
        self.written - self.acked
    }

    pub(super) fn window(&self) -> f64 {
        self.window.size
    }

    /// Number of segments in flight: neither acknowledged nor considered lost (RFC 6675's pipe).
    fn pipe(&self) -> usize {
        self.flying.iter().filter(|segment| !segment.sacked && !segment.lost).count()
    }

    pub(super) fn handle_ack(&mut self, now: Moment, ack: u64, sacks: &[(u64, u64)], stats: &mut Stats) {
        let before = self.acked;
        self.acked = self.acked.max(ack.min(self.next));
        let mut arrived = 0;
        while let Some(segment) =
            self.flying.pop_front_if(|segment| segment.seq + u64::from(segment.len) <= ack)
        {
            if !segment.sacked {
                arrived += 1;
                self.note_arrival(now, segment);
            }
        }
        for index in 0..self.flying.len() {
            let segment = self.flying[index];
            let end = segment.seq + u64::from(segment.len);
            if !segment.sacked && sacks.iter().any(|(from, to)| *from <= segment.seq && end <= *to) {
                (self.flying[index].sacked, self.flying[index].lost) = (true, false);
                arrived += 1;
                self.note_arrival(now, segment);
            }
        }
        if arrived == 0 {
            return;
        }
        self.backoff = 0;
        if self.probed.is_some_and(|probed| self.acked >= probed) {
            self.probed = None;
        }
        if self.recover.is_some_and(|recover| self.acked >= recover) {
            self.recover = None;
        }
        if (self.recover.is_none() || self.after_timeout) && self.limited {
            let rtt = self.rtt.map_or(RTO_INITIAL, |(smooth, _)| smooth);
            self.window.grow(now, f64::from(arrived), rtt);
        }
        self.limited = false;
        self.find_lost(now, stats);
        // Restart the timer only for cumulative progress: after out-of-order arrivals only, a hole
        // that nothing else reveals must still time out (RFC 6298, 5.3).
        if self.acked > before {
            self.rto_at = (!self.flying.is_empty()).then(|| now + self.rto());
        }
        self.arm_probe(now);
    }

    /// Takes the round-trip sample of a segment that arrived.
    fn note_arrival(&mut self, now: Moment, segment: Flying) {
        let took = now.since(segment.sent);
        if !segment.again {
            self.rtt_min = self.rtt_min.min(took);
            self.rtt = Some(match self.rtt {
                None => (took, took / 2),
                Some((smooth, spread)) => (
                    smooth.mul_f64(0.875) + took.mul_f64(0.125),
                    spread.mul_f64(0.75) + smooth.abs_diff(took).mul_f64(0.25),
                ),
            });
        } else if took < self.rtt_min {
            return; // the sample belongs to an earlier transmission
        }
        if segment.order > self.latest.0 {
            self.latest = (segment.order, segment.sent, took);
        }
    }

    fn rto(&self) -> Duration {
        let base = self.rtt.map_or(RTO_INITIAL, |(smooth, spread)| smooth + 4 * spread);
        base.max(self.config.rto_min).saturating_mul(1 << self.backoff.min(10)).min(RTO_MAX)
    }

    /// Marks lost segments, and reduces the window once for all data in flight.
    fn find_lost(&mut self, now: Moment, stats: &mut Stats) {
        self.rack_at = None;
        let mut lost = false;
        let mut later = 0;
        let slack = self.rtt_min.min(Duration::from_secs(1)) / 4;
        for segment in self.flying.iter_mut().rev() {
            if segment.sacked {
                later += 1;
                continue;
            }
            if segment.lost {
                continue;
            }
            let by_count = later >= LATER && (!segment.again || self.latest.0 > segment.order);
            let mut is_lost = by_count && !segment.again;
            if self.config.rack && self.latest.0 > segment.order {
                let reordering = if later >= LATER { Duration::ZERO } else { slack };
                let at = segment.sent + self.latest.2 + reordering;
                is_lost |= at <= now;
                if at > now {
                    self.rack_at = Some(self.rack_at.map_or(at, |other| other.min(at)));
                }
            }
            segment.lost |= is_lost;
            lost |= is_lost;
        }
        if lost && self.recover.is_none() {
            stats.reductions += 1;
            // All unacknowledged data, whether it has arrived or not (RFC 5681's FlightSize).
            self.window.shrink(self.flying.len() as f64);
            (self.recover, self.after_timeout) = (Some(self.next), false);
        }
    }

    fn arm_probe(&mut self, now: Moment) {
        self.probe_at = None;
        if !self.config.rack || self.recover.is_some() || self.probed.is_some() || self.flying.is_empty() {
            return;
        }
        let Some((smooth, _)) = self.rtt else { return };
        let alone = if self.flying.len() == 1 { PEER_DELAY } else { Duration::ZERO };
        let at = now + 2 * smooth + alone;
        self.probe_at = Some(self.rto_at.map_or(at, |rto| at.min(rto)));
    }

    pub(super) fn poll_timeout(&self) -> Option<Moment> {
        [self.rto_at, self.rack_at, self.probe_at].into_iter().flatten().min()
    }

    pub(super) fn handle_timeout(&mut self, now: Moment, stats: &mut Stats) {
        if self.rack_at.is_some_and(|at| at <= now) {
            self.find_lost(now, stats);
        }
        if self.probe_at.is_some_and(|at| at <= now) {
            self.probe_at = None;
            self.probe(now, stats);
        } else if self.rto_at.is_some_and(|at| at <= now) {
            self.expire(now, stats);
        }
    }

    /// Sends a probe, whose acknowledgement reveals losses: new data, or the last segment again.
    fn probe(&mut self, now: Moment, stats: &mut Stats) {
        stats.probes += 1;
        self.probed = Some(self.next);
        self.rto_at = Some(now + self.rto());
        if self.written > self.next {
            self.probe_now = true;
        } else if let Some(last) = self.flying.iter_mut().rev().find(|segment| !segment.sacked) {
            last.lost = true;
            self.probe_now = true;
        }
    }

    fn expire(&mut self, now: Moment, stats: &mut Stats) {
        stats.timeouts += 1;
        let flight = self.pipe().max(1) as f64;
        if self.backoff == 0 {
            self.window.collapse(flight);
            stats.reductions += 1;
        } else {
            self.window.size = 1.0;
        }
        self.backoff += 1;
        self.flying.iter_mut().filter(|segment| !segment.sacked).for_each(|segment| segment.lost = true);
        (self.recover, self.after_timeout) = (Some(self.next), true);
        (self.probed, self.probe_at, self.rack_at) = (None, None, None);
        self.rto_at = Some(now + self.rto());
    }

    /// The next segment with data: position, length, and whether it is a retransmission.
    pub(super) fn poll_transmit(&mut self, now: Moment) -> Option<(u64, u32, bool)> {
        let room = (self.pipe() as f64) < self.window.size.floor().max(1.0) || self.probe_now;
        let lost = self.flying.iter().position(|segment| segment.lost);
        let waits = self.written > self.next;
        if !room {
            self.limited |= waits || lost.is_some();
            return None;
        }
        if let Some(index) = lost {
            self.probe_now = false;
            return Some(self.send_again(now, index));
        }
        let len = (self.written - self.next).min(u64::from(self.config.mss)) as u32;
        // Nagle: a short segment waits while any data is unacknowledged.
        let held = !self.config.nodelay && len < self.config.mss && !self.flying.is_empty();
        if len == 0 || (held && !self.probe_now) {
            return None;
        }
        self.probe_now = false;
        let segment = Flying {
            seq: self.next,
            len,
            sent: now,
            order: self.order(),
            sacked: false,
            lost: false,
            again: false,
        };
        self.flying.push_back(segment);
        self.next += u64::from(len);
        self.limited |= self.pipe() as f64 >= self.window.size.floor();
        self.rto_at.get_or_insert(now + self.rto());
        self.arm_probe(now);
        Some((segment.seq, len, false))
    }

    fn send_again(&mut self, now: Moment, index: usize) -> (u64, u32, bool) {
        let order = self.order();
        let segment = &mut self.flying[index];
        (segment.sent, segment.order, segment.lost, segment.again) = (now, order, false, true);
        let sent = (segment.seq, segment.len, true);
        self.rto_at.get_or_insert(now + self.rto());
        sent
    }

    fn order(&mut self) -> u64 {
        self.orders += 1;
        self.orders
    }
}
