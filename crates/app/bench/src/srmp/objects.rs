//! Simulated objects as senders of a real group, and what its members receive of them: the traffic
//! generator of the SRMP paper (its section 3) outside of simulations.
//!
//! Each message carries its number among those of its sender and mode, and the time at which it was
//! sent. Times are of the system's monotonic clock, which all processes of a machine share, in all
//! namespaces. Between machines delays mean nothing.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use base::stats::Histogram;
use base::{Moment, Seed};
use bytes::Bytes;
use srmp::model::{DataId, MemberId, StreamKey};
use srmp::{Event, SendError};
use srmp_udp::{SrmpEvents, SrmpHost};
use workload::{Generator, Mode, Workload};

/// Marks messages with a number and a time, and the bytes of all three.
const MARK: [u8; 4] = *b"MRWL";
const HEAD_BYTES: usize = 4 + 8 + 8;

/// The objects of one member.
#[derive(Clone, Debug)]
pub struct Objects {
    /// The objects of all members.
    pub workload: Workload,
    /// The number of the first object of this member, and how many it has.
    pub own: (u32, u32),
    /// The source of all randomness, the same for all members.
    pub seed: Seed,
    /// How long they send.
    pub time: Duration,
}

impl Objects {
    /// Sends what these objects send. Calls `received` with all events meanwhile. Returns the
    /// numbers of messages in mode 0 and mode 1.
    ///
    /// # Errors
    /// The workload is not valid, or the group refuses a message.
    pub async fn speak(
        self,
        host: &SrmpHost,
        events: &mut SrmpEvents,
        mut received: impl FnMut(Event),
    ) -> Result<[u64; 2], String> {
        let (first, count) = self.own;
        let generator = Generator::new(self.workload, self.seed.split("objects"), Moment::ZERO);
        let mut generator = generator.map_err(|error| error.to_string())?;
        let (begun, mut sent) = (tokio::time::Instant::now(), [0; 2]);
        while let Some(due) = generator.poll_timeout() {
            let due = Duration::from_nanos(due.as_nanos()).min(self.time);
            tokio::select! {
                () = tokio::time::sleep_until(begun + due) => {}
                event = events.recv() => match event {
                    Some(event) => { received(event); continue }
                    None => break,
                },
            }
            if due >= self.time {
                break;
            }
            let now = Moment::from_nanos(u64::try_from(due.as_nanos()).unwrap_or(u64::MAX));
            while let Some(emission) = generator.poll(now) {
                let Some(own) = emission.object.number.checked_sub(first).filter(|own| *own < count) else {
                    continue;
                };
                let mode = usize::from(emission.mode == Mode::One);
                let body = body(sent[mode], emission.size as usize);
                sent[mode] += 1;
                say(host, own, mode, body).map_err(|error| error.to_string())?;
            }
        }
        Ok(sent)
    }
}

fn say(host: &SrmpHost, object: u32, mode: usize, body: Bytes) -> Result<(), SendError> {
    match mode {
        0 => host.send0(Some(StreamKey(object + 1)), 0, body).map(|_| ()),
        _ => host.send1(DataId(object), body, false).map(|_| ()),
    }
}

/// A message with its number and the present time.
fn body(number: u64, size: usize) -> Bytes {
    let mut body = Vec::with_capacity(size.max(HEAD_BYTES));
    body.extend(MARK);
    body.extend(number.to_be_bytes());
    body.extend(now_ns().to_be_bytes());
    body.resize(size.max(HEAD_BYTES), 0);
    body.into()
}

/// The number and the time of a message, if it has them.
fn head(body: &[u8]) -> Option<(u64, u64)> {
    let (mark, rest) = body.split_first_chunk()?;
    let (number, rest) = rest.split_first_chunk()?;
    let (time, _) = rest.split_first_chunk()?;
    (*mark == MARK).then(|| (u64::from_be_bytes(*number), u64::from_be_bytes(*time)))
}

fn now_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// The messages that a member received of one sender in one mode.
#[derive(Clone, Debug, Default)]
pub struct Arrived {
    /// Number of messages.
    pub count: u64,
    /// The least number of a message, and the greatest.
    numbers: Option<(u64, u64)>,
    /// Delays, in nanoseconds.
    pub delays: Histogram,
    /// Times of the first arrival and the last.
    seen: Option<(Instant, Instant)>,
}

impl Arrived {
    fn add(&mut self, number: u64, sent_ns: u64) {
        let now = Instant::now();
        self.count += 1;
        let (least, greatest) = self.numbers.unwrap_or((number, number));
        self.numbers = Some((least.min(number), greatest.max(number)));
        self.delays.add(now_ns().saturating_sub(sent_ns));
        self.seen = Some((self.seen.map_or(now, |(first, _)| first), now));
    }

    /// Number of messages between the first and the last that did not arrive. In mode 1 a newer
    /// value may have come in place of an older one.
    pub fn missing(&self) -> u64 {
        let sent = self.numbers.map_or(0, |(least, greatest)| greatest - least + 1);
        sent.saturating_sub(self.count)
    }

    /// Messages per second between the first and the last arrival.
    pub fn per_s(&self) -> f64 {
        let seconds = self.seen.map_or(0.0, |(first, last)| (last - first).as_secs_f64());
        if seconds > 0.0 { (self.count - 1) as f64 / seconds } else { 0.0 }
    }
}

/// The messages that a member received, by sender and mode.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    by: BTreeMap<(MemberId, u8), Arrived>,
}

impl Arrivals {
    /// Counts a message, if it has a number and a time. False for all other events.
    pub fn take(&mut self, event: &Event) -> bool {
        let (from, mode, body) = match event {
            Event::Mode0 { from, body, .. } => (*from, 0, body),
            Event::Mode1 { from, body, .. } => (*from, 1, body),
            _ => return false,
        };
        let Some((number, sent_ns)) = head(body) else { return false };
        self.by.entry((from, mode)).or_default().add(number, sent_ns);
        true
    }

    /// By sender and mode.
    pub fn all(&self) -> impl Iterator<Item = (MemberId, u8, &Arrived)> {
        self.by.iter().map(|((from, mode), arrived)| (*from, *mode, arrived))
    }

    /// Of all senders together, in a mode: the number of messages, and their delays.
    pub fn in_mode(&self, mode: u8) -> (u64, Histogram) {
        let mut sum = (0, Histogram::default());
        for (_, _, arrived) in self.all().filter(|(_, of, _)| *of == mode) {
            sum.0 += arrived.count;
            sum.1.merge(&arrived.delays);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_their_number_and_time_and_others_are_left_alone() {
        let before = now_ns();
        let message = body(7, 250);
        let (number, time) = head(&message).expect("it has a head");
        assert_eq!((number, message.len()), (7, 250));
        assert!((before..=now_ns()).contains(&time));
        assert_eq!((body(1, 3).len(), head(b"MRWX"), head(&[b'x'; 250])), (HEAD_BYTES, None, None));
    }

    #[test]
    fn gaps_in_the_numbers_are_missing_messages() {
        let mut arrived = Arrived::default();
        for number in [10, 11, 14, 13] {
            arrived.add(number, now_ns());
        }
        assert_eq!((arrived.count, arrived.missing()), (4, 1));
        assert_eq!(Arrived::default().missing(), 0);
    }
}
