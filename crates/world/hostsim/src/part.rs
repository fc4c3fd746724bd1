//! The part of a federate in its task, after its setup.

use base::Moment;
use bytes::{BufMut as _, Bytes, BytesMut};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use crate::work::{SIZE_BYTES_MIN, Update};

/// The bits of the number of an update, below those of the federate that sends it.
const NUMBER_BITS: u32 = 48;

/// The part of a federate in its task, and its measurements.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    kind: Kind,
    size: usize,
    number: u64,
    /// Answers still to be sent.
    owed: Vec<Bytes>,
    /// Times in nanoseconds: of round trips for an asker, from update to reflect for a listener.
    pub(crate) times_ns: Vec<u64>,
    /// Start of the part, and its end once all is done.
    pub(crate) began: Option<Moment>,
    pub(crate) finished: Option<Moment>,
    /// Reflects of a lossless listener that did not follow their predecessor.
    pub(crate) out_of_turn: u64,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Starts `left` more round trips; the first `warm_up` of all are not measured.
    Ask { left: u32, warm_up: u32, asked: Option<Moment> },
    /// Answers each reflect with an update.
    Answer,
    /// Updates as often as back-pressure allows.
    Flood { left: u64 },
    /// Updates at the moments of a script.
    Play { script: Rc<[Update]> },
    /// Receives `expected` reflects, or fewer if they may be lost. `last` has the number of the last one
    /// of each federate.
    Listen { expected: u64, may_lose: bool, last: BTreeMap<u64, u64> },
}

/// An update to be sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Next {
    /// Number of the object within the federate, from 0.
    pub(crate) object: u32,
    pub(crate) reliable: bool,
    pub(crate) payload: Bytes,
}

impl Part {
    fn new(kind: Kind, size: u32) -> Self {
        Self {
            kind,
            size: size as usize,
            number: 0,
            owed: Vec::new(),
            times_ns: Vec::new(),
            began: None,
            finished: None,
            out_of_turn: 0,
        }
    }

    pub(crate) fn asker(size: u32, count: u32, warm_up: u32) -> Self {
        Self::new(Kind::Ask { left: count.saturating_add(warm_up), warm_up, asked: None }, size)
    }

    pub(crate) fn answerer(size: u32) -> Self {
        Self::new(Kind::Answer, size)
    }

    /// `publisher` is its number among the federates that flood the same subscribers.
    pub(crate) fn flooder(size: u32, count: u64, publisher: usize) -> Self {
        let number = (publisher as u64) << NUMBER_BITS;
        Self { number, ..Self::new(Kind::Flood { left: count }, size) }
    }

    pub(crate) fn player(script: Rc<[Update]>) -> Self {
        Self::new(Kind::Play { script }, SIZE_BYTES_MIN)
    }

    pub(crate) fn listener(size: u32, expected: u64, may_lose: bool) -> Self {
        Self::new(Kind::Listen { expected, may_lose, last: BTreeMap::new() }, size)
    }

    /// It is done, or has no end of its own.
    pub(crate) fn is_done(&self) -> bool {
        self.finished.is_some() || matches!(self.kind, Kind::Answer)
    }

    /// Fewer reflects may arrive than were sent.
    pub(crate) fn may_lose(&self) -> bool {
        matches!(self.kind, Kind::Listen { may_lose: true, .. })
    }

    /// Moment of its next update by itself.
    pub(crate) fn poll_timeout(&self) -> Option<Moment> {
        match &self.kind {
            Kind::Play { script } => Some(self.began? + script.get(self.number as usize)?.at),
            _ => None,
        }
    }

    /// The next update that is due now, if any.
    pub(crate) fn poll_update(&mut self, now: Moment, begun: bool) -> Option<Next> {
        if !begun {
            return None;
        }
        let began = *self.began.get_or_insert(now);
        let (mut object, mut reliable, mut size) = (0, true, self.size);
        let born = match &mut self.kind {
            Kind::Answer => return self.owed.pop().map(|payload| Next { object, reliable, payload }),
            Kind::Listen { .. } => return None,
            Kind::Ask { left, asked, .. } => {
                if asked.is_some() || *left == 0 {
                    return None;
                }
                *left -= 1;
                *asked = Some(now);
                now
            }
            Kind::Flood { left } => {
                if *left == 0 {
                    self.finished.get_or_insert(now);
                    return None;
                }
                *left -= 1;
                now
            }
            Kind::Play { script } => {
                let Some(update) = script.get(self.number as usize) else {
                    self.finished.get_or_insert(now);
                    return None;
                };
                let due = began + update.at;
                if due > now {
                    return None;
                }
                (object, reliable, size) = (update.object, update.reliable, update.size_bytes as usize);
                due
            }
        };
        self.number += 1;
        let mut payload = BytesMut::zeroed(size);
        (&mut payload[..8]).put_u64(self.number);
        if let Some(mut time) = payload.get_mut(8..16) {
            time.put_u64(born.as_nanos());
        }
        Some(Next { object, reliable, payload: payload.freeze() })
    }

    /// Handles a reflect.
    pub(crate) fn reflected(&mut self, now: Moment, payload: &Bytes) {
        match &mut self.kind {
            Kind::Answer => self.owed.push(payload.clone()),
            Kind::Ask { left, warm_up, asked } => {
                let Some(asked) = asked.take() else { return };
                if self.number > u64::from(*warm_up) {
                    self.times_ns.push(nanos(now.since(asked)));
                }
                if *left == 0 {
                    self.finished = Some(now);
                }
            }
            Kind::Listen { expected, may_lose, last } => {
                let word = |from: usize| {
                    let octets = payload.get(from..from + 8).and_then(|octets| octets.try_into().ok());
                    octets.map_or(0, u64::from_be_bytes)
                };
                let (publisher, number) = (word(0) >> NUMBER_BITS, word(0) & ((1 << NUMBER_BITS) - 1));
                let before = last.insert(publisher, number).unwrap_or(0);
                self.out_of_turn += u64::from(!*may_lose && number != before + 1);
                let born = Moment::from_nanos(word(8));
                self.times_ns.push(nanos(now.since(born)));
                if self.times_ns.len() as u64 >= *expected {
                    self.finished.get_or_insert(now);
                }
            }
            Kind::Flood { .. } | Kind::Play { .. } => {}
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
