//! A stream on its path: the bytes that have passed each of its queues, their rates, and the next
//! event.

use std::ops::Range;

use super::Link;
use crate::fluid::MessageId;
use crate::fluid::indices::NONE;
use crate::units::Picos;

/// A stream at one link of its path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stage {
    pub(super) link: u32,
    pub(super) stream: u32,
    /// Its neighbours in the list of the link, while the stream is active there.
    pub(super) next: u32,
    pub(super) previous: u32,
    /// Bytes of the stream that have left here, at the time `since` of the stream.
    pub(super) passed: f64,
    /// Number of these bytes that the link has counted.
    pub(super) counted: f64,
    /// Upper bound of the outflow: the offer of the link, or less when the next stage is full.
    offer: f64,
    /// The outflow, in bytes per picosecond.
    pub(super) rate: f64,
    /// True if bytes wait here, or begin to.
    pub(super) backlogged: bool,
    /// True if the backlog is at its limit.
    pub(super) full: bool,
}

/// The next event of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Due {
    /// Its first message has passed.
    End,
    /// The backlog of the stage at this position on the path is gone.
    Empty(usize),
    /// The backlog of the stage at this position has reached its limit.
    Full(usize),
}

/// The messages of a subqueue under way, one behind the other.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    /// The indices of its stages, in the order of the path.
    pub(super) stages: Range<usize>,
    /// The position of the first stage with a backlog. From there on the stream is active.
    pub(super) busy_from: usize,
    /// Bytes sent since it began.
    pub(super) given: f64,
    /// The time for which positions are known.
    since: Picos,
    pub(super) lane: u32,
    /// Its messages, the oldest first.
    pub(super) head: MessageId,
    pub(super) tail: MessageId,
    pub(super) due: Due,
    /// True if it is noted among the streams whose rates have to be updated.
    pub(super) touched: bool,
}

impl Stage {
    pub(super) fn new(link: u32, stream: u32) -> Self {
        Self {
            link,
            stream,
            next: NONE,
            previous: NONE,
            passed: 0.0,
            counted: 0.0,
            offer: 0.0,
            rate: 0.0,
            backlogged: false,
            full: false,
        }
    }

    /// Bytes that have left after `time`, if `fed` bytes have come in by then.
    #[inline]
    fn position(&self, fed: f64, time: f64) -> f64 {
        if self.backlogged { (self.passed + self.rate * time).min(fed) } else { fed }
    }
}

impl Stream {
    /// A stream of which nothing is under way yet.
    pub(super) fn new(now: Picos, stages: Range<usize>, lane: u32) -> Self {
        Self {
            busy_from: stages.len(),
            stages,
            given: 0.0,
            since: now,
            lane,
            head: NONE,
            tail: NONE,
            due: Due::End,
            touched: false,
        }
    }

    /// By stage, the bytes that have left it by `now`.
    pub(super) fn positions<'a>(&self, all: &'a [Stage], now: Picos) -> impl Iterator<Item = f64> + 'a {
        let (time, busy_from) = (now.since(self.since).0 as f64, self.busy_from);
        all[self.stages.clone()].iter().enumerate().scan(self.given, move |fed, (place, stage)| {
            if place >= busy_from {
                *fed = stage.position(*fed, time);
            }
            Some(*fed)
        })
    }

    /// Advances the positions to now.
    pub(super) fn bring_up_to(&mut self, all: &mut [Stage], now: Picos) {
        let time = now.since(self.since).0 as f64;
        let mut fed = self.given;
        for stage in &mut all[self.stages.clone()][self.busy_from..] {
            stage.passed = stage.position(fed, time);
            fed = stage.passed;
        }
        self.since = now;
    }

    /// The next event, and the picoseconds until then; `None` if nothing of the stream is left.
    /// `end` is the position of the last byte of the first message.
    pub(super) fn next(&self, stages: &[Stage], end: Option<f64>, buffer: f64) -> Option<(u64, Due)> {
        let mut first = None;
        let mut consider = |left: f64, rate: f64, due: Due| {
            // A float converts to the nearest integer in range, so an infinite time becomes the end
            // of time.
            let time = if left > 0.0 { (left / rate).ceil() as u64 } else { 0 };
            if first.is_none_or(|(least, _)| time < least) {
                first = Some((time, due));
            }
        };
        let (mut inflow, mut fed) = (0.0, self.given);
        for (place, stage) in stages.iter().enumerate().skip(self.busy_from) {
            let backlog = fed - stage.passed;
            if stage.backlogged && stage.rate > inflow {
                consider(backlog, stage.rate - inflow, Due::Empty(place));
            } else if inflow > stage.rate && buffer.is_finite() {
                consider(buffer - backlog, inflow - stage.rate, Due::Full(place));
            }
            (inflow, fed) = (stage.rate, stage.passed);
        }
        if let Some(end) = end {
            consider(end - fed, inflow, Due::End);
        }
        first
    }
}

/// Sets the rates of the active stages of a stream, from the offers of links and the stages with a
/// backlog. Returns the number of stages whose rate changed.
pub(super) fn set_rates(stages: &mut [Stage], links: &[Link], busy_from: usize, given: f64) -> u64 {
    // A full stage takes in its outflow. This goes from the end back to the host.
    let mut taken = f64::INFINITY;
    for stage in stages[busy_from..].iter_mut().rev() {
        stage.offer = links[stage.link as usize].share.min(taken);
        taken = if stage.full { stage.offer } else { f64::INFINITY };
    }
    let (mut inflow, mut fed, mut changes) = (0.0, given, 0);
    for (place, stage) in stages.iter_mut().enumerate().skip(busy_from) {
        if !stage.backlogged {
            stage.backlogged = inflow > stage.offer;
        } else if place > busy_from && stage.passed >= fed && inflow <= stage.offer {
            stage.backlogged = false; // nothing has accumulated yet
        }
        let rate = if stage.backlogged { stage.offer } else { inflow };
        stage.full &= inflow >= rate;
        changes += u64::from(rate != stage.rate);
        stage.rate = rate;
        (inflow, fed) = (rate, stage.passed);
    }
    changes
}
