//! The emulated line: delay, jitter, loss and rate of a link, so that a WAN can be rehearsed on a desk.
//!
//! A frame occupies the line for its size over the rate, then travels for the delay plus a part of the jitter. A
//! datagram may be lost, and jitter may let a later one overtake it. In the reliable stream nothing is lost and
//! nothing overtakes: there a lost frame, and all behind it, come later by the time of a retransmission.
//!
//! The machine is asked for a frame only when the line is free, so that what is urgent overtakes what still waits.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use base::{Moment, Rng, Seed};
use bytes::Bytes;

/// Longest delay, and jitter, that is emulated.
pub const EMULATED_DELAY_MAX: Duration = Duration::from_secs(60);

/// What may be under way on an emulated line, in bytes. More is not taken.
const IN_FLIGHT_MAX: usize = 16 << 20;

/// The line may be used this much ahead of time: timers of the driver are no finer.
const TICK: Duration = Duration::from_millis(1);

/// The least time that a retransmission in the stream takes.
const RETRANSMISSION_MIN: Duration = Duration::from_millis(10);

/// What a frame costs on the line besides its own bytes: headers of IP and TCP.
const OVERHEAD: usize = 40;

/// Parts of a million.
const MILLION: u32 = 1_000_000;

/// What is emulated in one direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Emulation {
    /// From one end to the other.
    pub delay: Duration,
    /// Up to this much more, drawn evenly for every frame.
    pub jitter: Duration,
    /// Lost frames per million.
    pub loss_ppm: u32,
    /// Bits per second; `None` is as fast as the real link.
    pub rate: Option<u64>,
}

impl Emulation {
    /// Whether anything is emulated.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// One direction of a link at work.
pub(crate) struct Line {
    emulation: Emulation,
    rng: Rng,
    /// When the last bit of what was put on the line leaves it.
    busy_until: Moment,
    stream: VecDeque<(Moment, Bytes)>,
    datagrams: BTreeMap<(Moment, u64), Bytes>,
    /// Datagrams ever put on the line.
    count: u64,
    bytes: usize,
    /// Datagrams that the emulation lost.
    pub(crate) lost: u64,
}

impl Line {
    pub(crate) fn new(emulation: Emulation, seed: Seed) -> Self {
        Self {
            emulation,
            rng: seed.rng(),
            busy_until: Moment::ZERO,
            stream: VecDeque::new(),
            datagrams: BTreeMap::new(),
            count: 0,
            bytes: 0,
            lost: 0,
        }
    }

    /// Whether the line takes a frame now.
    pub(crate) fn is_free(&self, now: Moment) -> bool {
        self.bytes < IN_FLIGHT_MAX && self.busy_until <= now + TICK
    }

    /// Puts a frame of the stream on the line.
    pub(crate) fn push(&mut self, now: Moment, frame: Bytes) {
        let mut arrival = self.depart(now, frame.len());
        if self.draw_loss() {
            arrival += (2 * self.emulation.delay).max(RETRANSMISSION_MIN);
        }
        let arrival = self.stream.back().map_or(arrival, |&(last, _)| last.max(arrival));
        self.bytes += frame.len();
        self.stream.push_back((arrival, frame));
    }

    /// Puts a datagram on the line.
    pub(crate) fn push_datagram(&mut self, now: Moment, frame: Bytes) {
        let arrival = self.depart(now, frame.len());
        if self.draw_loss() {
            self.lost += 1;
            return;
        }
        self.bytes += frame.len();
        self.count += 1;
        self.datagrams.insert((arrival, self.count), frame);
    }

    /// The next frame of the stream that has arrived by `now`.
    pub(crate) fn pop(&mut self, now: Moment) -> Option<Bytes> {
        let (_, frame) = self.stream.pop_front_if(|(arrival, _)| *arrival <= now)?;
        self.bytes -= frame.len();
        Some(frame)
    }

    /// The next datagram that has arrived by `now`.
    pub(crate) fn pop_datagram(&mut self, now: Moment) -> Option<Bytes> {
        let entry = self.datagrams.first_entry().filter(|entry| entry.key().0 <= now)?;
        let frame = entry.remove();
        self.bytes -= frame.len();
        Some(frame)
    }

    /// Everything in the stream, at once: the link is about to be closed.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Bytes> + '_ {
        self.stream.drain(..).map(|(_, frame)| frame)
    }

    /// When to look again, for what is under way.
    pub(crate) fn next_arrival(&self) -> Option<Moment> {
        let stream = self.stream.front().map(|&(arrival, _)| arrival);
        let datagram = self.datagrams.first_key_value().map(|(&(arrival, _), _)| arrival);
        stream.into_iter().chain(datagram).min()
    }

    /// When to look again, for the line to be free.
    pub(crate) fn free_at(&self) -> Moment {
        Moment::from_nanos(self.busy_until.as_nanos().saturating_sub(TICK.as_nanos() as u64))
    }

    /// The arrival of `bytes` that are put on the line now.
    fn depart(&mut self, now: Moment, bytes: usize) -> Moment {
        if let Some(rate) = self.emulation.rate {
            // A line that was idle for less than two ticks was so because the timer was late.
            if self.busy_until + 2 * TICK < now {
                self.busy_until = now;
            }
            let nanos = (bytes + OVERHEAD) as u128 * 8 * 1_000_000_000 / u128::from(rate.max(1));
            self.busy_until += Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        } else {
            self.busy_until = now;
        }
        let jitter = u64::try_from(self.emulation.jitter.as_nanos()).unwrap_or(u64::MAX);
        let jitter = if jitter == 0 { 0 } else { self.draw() % (jitter + 1) };
        self.busy_until + self.emulation.delay + Duration::from_nanos(jitter)
    }

    fn draw_loss(&mut self) -> bool {
        self.emulation.loss_ppm > 0 && self.draw() % u64::from(MILLION) < u64::from(self.emulation.loss_ppm)
    }

    fn draw(&mut self) -> u64 {
        rand_core::RngCore::next_u64(&mut self.rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(emulation: Emulation) -> Line {
        Line::new(emulation, Seed(1))
    }

    fn frame(number: u8) -> Bytes {
        Bytes::from(vec![number; 85]) // 125 octets on the line
    }

    #[test]
    fn a_frame_takes_its_time() {
        let mut line = line(Emulation {
            delay: Duration::from_millis(20),
            rate: Some(1_000_000), // 125 octets take a millisecond
            ..Emulation::default()
        });
        let start = Moment::from_secs(1);
        assert!(line.is_free(start));
        line.push(start, frame(1));
        assert!(line.is_free(start), "one tick ahead");
        line.push(start, frame(2));
        assert!(!line.is_free(start));
        assert_eq!(line.free_at(), start + Duration::from_millis(1));
        assert_eq!(line.next_arrival(), Some(start + Duration::from_millis(21)));
        assert_eq!(line.pop(start + Duration::from_millis(20)), None);
        assert_eq!(line.pop(start + Duration::from_millis(21)), Some(frame(1)));
        assert_eq!(line.pop(start + Duration::from_millis(21)), None);
        assert_eq!(line.pop(start + Duration::from_millis(22)), Some(frame(2)));
        assert_eq!(line.next_arrival(), None);
    }

    #[test]
    fn the_stream_keeps_its_order_and_loses_nothing() {
        let mut line =
            line(Emulation { jitter: Duration::from_millis(50), loss_ppm: 300_000, ..Emulation::default() });
        for number in 0..200 {
            line.push(Moment::from_millis(u64::from(number)), frame(number));
        }
        let mut got = Vec::new();
        let mut now = Moment::ZERO;
        while let Some(next) = line.next_arrival() {
            assert!(next >= now);
            now = next;
            got.extend(line.pop(now).map(|frame| frame[0]));
        }
        assert_eq!(got, (0..200).collect::<Vec<u8>>());
        assert_eq!(line.bytes, 0);
    }

    #[test]
    fn datagrams_are_lost_and_overtaken_as_often_as_asked_for() {
        let mut line =
            line(Emulation { jitter: Duration::from_millis(5), loss_ppm: 100_000, ..Emulation::default() });
        for number in 0..1000_u64 {
            line.push_datagram(Moment::from_millis(number), Bytes::from(number.to_be_bytes().to_vec()));
        }
        assert!((60..140).contains(&line.lost), "{} of 1000", line.lost);
        let (mut arrived, mut late, mut last) = (0, 0, 0);
        while let Some(frame) = line.pop_datagram(Moment::MAX) {
            let number = u64::from_be_bytes(frame[..].try_into().unwrap());
            arrived += 1;
            late += u64::from(number < last);
            last = number;
        }
        assert_eq!(arrived + line.lost, 1000);
        assert!(late > 50, "jitter beyond the spacing reorders: {late}");
    }

    #[test]
    fn what_is_under_way_is_bounded() {
        let mut line = line(Emulation { delay: Duration::from_secs(1), ..Emulation::default() });
        let frame = Bytes::from(vec![0; 1 << 20]);
        let mut taken = 0;
        while line.is_free(Moment::ZERO) {
            line.push(Moment::ZERO, frame.clone());
            taken += 1;
        }
        assert_eq!(taken, IN_FLIGHT_MAX >> 20);
    }
}
