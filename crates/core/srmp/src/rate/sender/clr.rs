//! The current limiting receiver and its silence.

use super::super::config::BUNDLES_PER_REPORT;
use super::super::{CLR_INTERVAL_MAX, CLR_INTERVAL_MIN, Config, Feedback, Rate};
use super::echoes::{Urgency, Waiting};
use crate::model::MemberId;
use base::Moment;
use std::time::Duration;

/// The receiver that determines the rate.
#[derive(Clone, Debug)]
pub(super) struct Clr {
    pub(super) receiver: MemberId,
    pub(super) since: Moment,
    /// The rate in its last report.
    pub(super) rate: Rate,
    pub(super) have_loss: bool,
    /// Its loss event rate; 0 where the wire does not carry it.
    pub(super) loss: f64,
    pub(super) silence: Silence,
    /// Whether the rate was halved during this silence, or would have been if the CLR were older.
    pub(super) halved: bool,
    /// Its last report, which is echoed again and again.
    pub(super) echo: Waiting,
    /// Whether its echo goes before all others.
    pub(super) echo_first: bool,
    /// The round in which it was last echoed.
    pub(super) echo_round: u64,
}

impl Clr {
    pub(super) fn new(now: Moment, sent: u64, feedback: &Feedback, rate: Rate) -> Self {
        Self {
            receiver: feedback.receiver,
            since: now,
            rate,
            have_loss: feedback.have_loss,
            loss: feedback.loss_event_rate,
            silence: Silence::new(now, sent),
            halved: false,
            echo: Waiting {
                receiver: feedback.receiver,
                stamp: feedback.stamp,
                at: now,
                urgency: Urgency::NewClr,
                rate,
            },
            echo_first: true,
            echo_round: 0,
        }
    }

    pub(super) fn update(&mut self, now: Moment, sent: u64, feedback: &Feedback, rate: Rate) {
        self.rate = rate;
        self.have_loss = feedback.have_loss;
        self.loss = feedback.loss_event_rate;
        self.silence = Silence::new(now, sent);
        self.halved = false;
    }
}

/// A time without reports. Receivers can report only about bundles, so a sender that sends none
/// cannot expect any report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Silence {
    since: Moment,
    /// The number of bundles sent before.
    sent: u64,
}

impl Silence {
    pub(super) const fn new(now: Moment, sent: u64) -> Self {
        Self { since: now, sent }
    }

    /// The time at which a receiver that reports once per round-trip time has missed `times`
    /// reports; `sent` is the number of bundles so far. `None` while it has had too few bundles to
    /// report about.
    pub(super) fn deadline(&self, times: u32, rtt: Duration, sent: u64, config: &Config) -> Option<Moment> {
        let (bundles, needed) = (sent - self.sent, u64::from(times));
        if bundles < needed {
            return None;
        }
        let interval = if !config.feedback_budget {
            rtt
        } else if bundles >= needed * BUNDLES_PER_REPORT {
            rtt.max(CLR_INTERVAL_MIN)
        } else {
            rtt.max(CLR_INTERVAL_MAX)
        };
        Some(self.since + interval * times)
    }
}
