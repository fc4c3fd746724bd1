//! The emulated line: delay, jitter, loss and rate of a link, so that a WAN can be rehearsed on a
//! desk.
//!
//! [`wan::Channel`] decides the fate of datagrams, in the same way as in simulated runs. A datagram
//! may be lost. It occupies the line for its size divided by the rate, then travels for the delay
//! plus its jitter; jitter may let a later one overtake it. In the reliable stream nothing is lost
//! and nothing overtakes: a lost frame and all frames behind it arrive later by the time of a
//! retransmission.
//!
//! The machine is asked for a frame only when the line is free, so that urgent frames overtake
//! those that still wait.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use base::{Moment, Seed};
use bytes::Bytes;
use wan::{Channel, Jitter, LineSpec, Loss, PacketOrder, SpecError};

/// Longest delay, and jitter, that is emulated.
pub const EMULATED_DELAY_MAX: Duration = wan::DELAY_MAX;

/// Maximum number of bytes under way on an emulated line.
const IN_FLIGHT_MAX: usize = 16 << 20;

/// The line may be used this much ahead of time, because the timers of the driver are no finer.
const TICK: Duration = Duration::from_millis(1);

/// Minimum duration of a retransmission in the stream.
const RETRANSMISSION_MIN: Duration = Duration::from_millis(10);

/// Bytes that a frame occupies on the line in addition to its own: headers of IP and TCP.
const OVERHEAD: usize = 40;

/// The emulation of one direction of a link.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Emulation {
    /// The one-way delay.
    pub delay: Duration,
    /// Additional delay, drawn for every frame.
    pub jitter: Jitter,
    /// The loss of frames.
    pub loss: Loss,
    /// Bits per second; `None`: as fast as the real link.
    pub rate: Option<u64>,
}

impl Emulation {
    /// Whether nothing is emulated.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Checks the values in combination.
    ///
    /// # Errors
    /// The jitter can shorten a delay by more than the delay.
    pub fn check(&self) -> Result<(), SpecError> {
        LineSpec::from(self).check()
    }
}

impl From<&Emulation> for LineSpec {
    fn from(emulation: &Emulation) -> Self {
        let Emulation { delay, jitter, loss, rate } = emulation.clone();
        Self { delay, jitter, loss, rate, ..Self::default() }
    }
}

impl TryFrom<LineSpec> for Emulation {
    type Error = String;

    /// Links wait for the line instead of dropping from a queue. They have no copies, reordering or
    /// cuts of their own.
    fn try_from(spec: LineSpec) -> Result<Self, String> {
        let emulation =
            Self { delay: spec.delay, jitter: spec.jitter, loss: spec.loss.clone(), rate: spec.rate };
        match &spec.differences(&LineSpec::from(&emulation))[..] {
            [] => Ok(emulation),
            others => Err(format!("it has {}, which links do not emulate", others.join(","))),
        }
    }
}

/// One direction of a link at work.
pub(crate) struct Line {
    channel: Channel,
    /// The delay that a loss causes in the stream.
    retransmission: Duration,
    stream: VecDeque<(Moment, Bytes)>,
    datagrams: BTreeMap<(Moment, u64), Bytes>,
    /// Number of datagrams ever put on the line, which is the number of the last one.
    count: u64,
    bytes: usize,
    /// Datagrams that the emulation lost.
    pub(crate) lost: u64,
}

impl Line {
    pub(crate) fn new(emulation: &Emulation, seed: Seed) -> Self {
        let spec = LineSpec { order: PacketOrder::Free, ..LineSpec::from(emulation) };
        Self {
            // An idle time of less than two ticks is attributed to a late timer.
            channel: Channel::new(spec, seed).with_slack(2 * TICK),
            retransmission: (2 * emulation.delay).max(RETRANSMISSION_MIN),
            stream: VecDeque::new(),
            datagrams: BTreeMap::new(),
            count: 0,
            bytes: 0,
            lost: 0,
        }
    }

    /// Whether the line takes a frame now.
    pub(crate) fn is_free(&self, now: Moment) -> bool {
        self.bytes < IN_FLIGHT_MAX && self.channel.busy_until() <= now + TICK
    }

    /// Puts a frame of the reliable stream on the line.
    pub(crate) fn push(&mut self, now: Moment, frame: Bytes) {
        let lost = self.channel.draw_loss(now);
        let (_, mut arrival) = self.channel.carry(now, frame.len() + OVERHEAD);
        if lost {
            arrival += self.retransmission;
        }
        let arrival = self.stream.back().map_or(arrival, |&(last, _)| last.max(arrival));
        self.bytes += frame.len();
        self.stream.push_back((arrival, frame));
    }

    /// Puts a datagram on the line.
    pub(crate) fn push_datagram(&mut self, now: Moment, frame: Bytes) {
        self.count += 1;
        if self.channel.draw_loss(now) {
            self.lost += 1;
            return;
        }
        let (_, arrival) = self.channel.carry(now, frame.len() + OVERHEAD);
        self.bytes += frame.len();
        self.datagrams.insert((arrival, self.count), frame);
    }

    /// The next frame of the stream that has arrived by `now`.
    pub(crate) fn pop(&mut self, now: Moment) -> Option<Bytes> {
        let (_, frame) = self.stream.pop_front_if(|(arrival, _)| *arrival <= now)?;
        self.bytes -= frame.len();
        Some(frame)
    }

    /// The next datagram that has arrived by `now`, and its number. Numbers start at 1 and follow
    /// the order in which datagrams were put on the line, lost ones included. The other side
    /// therefore sees gaps and overtaking as on a real line.
    pub(crate) fn pop_datagram(&mut self, now: Moment) -> Option<(u64, Bytes)> {
        let entry = self.datagrams.first_entry().filter(|entry| entry.key().0 <= now)?;
        let number = entry.key().1;
        let frame = entry.remove();
        self.bytes -= frame.len();
        Some((number, frame))
    }

    /// All frames of the stream, at once: the link is about to be closed.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Bytes> + '_ {
        self.stream.drain(..).map(|(_, frame)| frame)
    }

    /// When to look again for arrivals.
    pub(crate) fn next_arrival(&self) -> Option<Moment> {
        let stream = self.stream.front().map(|&(arrival, _)| arrival);
        let datagram = self.datagrams.first_key_value().map(|(&(arrival, _), _)| arrival);
        stream.into_iter().chain(datagram).min()
    }

    /// When the line is free again.
    pub(crate) fn free_at(&self) -> Moment {
        Moment::from_nanos(self.channel.busy_until().as_nanos().saturating_sub(TICK.as_nanos() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(emulation: &Emulation) -> Line {
        Line::new(emulation, Seed(1))
    }

    fn share(millionths: u32) -> Loss {
        Loss::Bernoulli(wan::Share::from_millionths(millionths))
    }

    fn frame(number: u8) -> Bytes {
        Bytes::from(vec![number; 85]) // 125 octets on the line
    }

    #[test]
    fn a_frame_takes_its_time() {
        let mut line = line(&Emulation {
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
        let mut line = line(&Emulation {
            jitter: Jitter::UpTo(Duration::from_millis(50)),
            loss: share(300_000),
            ..Emulation::default()
        });
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
        let mut line = line(&Emulation {
            jitter: Jitter::UpTo(Duration::from_millis(5)),
            loss: share(100_000),
            ..Emulation::default()
        });
        for number in 0..1000_u64 {
            line.push_datagram(Moment::from_millis(number), Bytes::from(number.to_be_bytes().to_vec()));
        }
        assert!((60..140).contains(&line.lost), "{} of 1000", line.lost);
        let (mut arrived, mut late, mut last) = (0, 0, 0);
        while let Some((given, frame)) = line.pop_datagram(Moment::MAX) {
            let number = u64::from_be_bytes(frame[..].try_into().unwrap());
            assert_eq!(given, number + 1, "lost ones have numbers, too");
            arrived += 1;
            late += u64::from(number < last);
            last = number;
        }
        assert_eq!(arrived + line.lost, 1000);
        assert!(late > 50, "jitter beyond the spacing reorders: {late}");
    }

    #[test]
    fn messages_under_way_are_bounded() {
        let mut line = line(&Emulation { delay: Duration::from_secs(1), ..Emulation::default() });
        let frame = Bytes::from(vec![0; 1 << 20]);
        let mut taken = 0;
        while line.is_free(Moment::ZERO) {
            line.push(Moment::ZERO, frame.clone());
            taken += 1;
        }
        assert_eq!(taken, IN_FLIGHT_MAX >> 20);
    }
}
