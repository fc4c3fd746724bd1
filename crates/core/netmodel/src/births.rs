//! The order of births in a run: sources by the time of their next message, and messages drawn a
//! little ahead.
//!
//! In a large network the state of the next source, and of the links that its message will cross,
//! is in no cache. A source that sends independently of the network can be asked a few messages
//! early. Its data is then on its way from memory when its time comes, and the waits for several
//! messages overlap. The results are the same.

use crate::host::{Hosts, StageUse};
use crate::ladder::Ladder;
use crate::traffic::{Delivered, Parcel, Traffic};
use crate::units::Picos;

/// Messages drawn ahead: enough to hide the latency of memory, few enough for the nearest cache.
const AHEAD: usize = 16;

/// A message that is drawn.
#[derive(Clone, Debug)]
struct Drawn {
    at: Picos,
    sender: u32,
    source: u32,
    parcel: Parcel,
    path: Vec<u32>,
    lanes: Vec<u32>,
}

/// The sources of `traffic`, by the time at which each is due, and the messages of those that are
/// due soon.
pub(crate) struct Births<T> {
    traffic: T,
    /// Sources whose next message is not drawn yet, by its time.
    due: Ladder,
    /// A ring of drawn messages, with room for as many as may be drawn ahead.
    ring: Vec<Drawn>,
    first: usize,
    drawn: usize,
    /// The position of the message that was sent last.
    last: usize,
    born: u64,
    /// Messages that had no way to their destination.
    unrouted: u64,
    woken: Vec<(Picos, u32)>,
    /// Hosts that are chains of stages, and the messages in their stages of sending.
    hosts: Option<Box<Sending>>,
}

/// Messages between their birth and their first link.
struct Sending {
    hosts: Hosts,
    /// Messages by the time at which they reach their first link.
    departures: Ladder,
    messages: Vec<(Delivered, Drawn)>,
    unused: Vec<u32>,
    /// The message that reached its first link last, and the time.
    last: u32,
    now: Picos,
}

impl Sending {
    /// Takes a message that is born, with the path and the lanes of `drawn`.
    fn enter(&mut self, message: Delivered, drawn: &mut Drawn) {
        let (host, bytes) = (message.source, message.parcel.bytes);
        self.hosts.extend(host, message.parcel.destination, &mut drawn.path);
        let departs = self.hosts.send(host, message.born, bytes);
        let place = self.unused.pop().unwrap_or(self.messages.len() as u32);
        match self.messages.get_mut(place as usize) {
            Some((known, other)) => {
                *known = message;
                std::mem::swap(other, drawn);
            }
            None => self.messages.push((message, drawn.clone())),
        }
        self.departures.push((departs.0, place));
    }

    /// The message that reaches its first link next, if that is not after `birth`.
    fn depart(&mut self, birth: Option<Picos>) -> Option<Delivered> {
        let (time, place) = self.departures.first()?;
        if birth.is_some_and(|birth| birth.0 < time) {
            return None;
        }
        self.departures.pop();
        self.unused.push(place);
        (self.last, self.now) = (place, Picos(time));
        self.messages.get(place as usize).map(|(message, _)| *message)
    }
}

impl<T: Traffic> Births<T> {
    /// Sources 0 to `sources` - 1.
    pub(crate) fn new(mut traffic: T, sources: u32) -> Self {
        let mut due = Ladder::default();
        for source in 0..sources {
            if let Some(first) = traffic.first(source) {
                due.push((first.0, source));
            }
        }
        let parcel = Parcel { destination: 0, bytes: 0, outside: Picos::ZERO };
        let none =
            Drawn { at: Picos::MAX, sender: 0, source: 0, parcel, path: Vec::new(), lanes: Vec::new() };
        let ring = vec![none; if traffic.is_independent() { AHEAD } else { 1 }];
        Self {
            traffic,
            due,
            ring,
            first: 0,
            drawn: 0,
            last: 0,
            born: 0,
            unrouted: 0,
            woken: Vec::new(),
            hosts: None,
        }
    }

    /// The same, with hosts as chains of stages.
    pub(crate) fn with_hosts(mut self, hosts: Option<Hosts>) -> Self {
        self.hosts = hosts.map(|hosts| {
            Box::new(Sending {
                hosts,
                departures: Ladder::default(),
                messages: Vec::new(),
                unused: Vec::new(),
                last: 0,
                now: Picos::ZERO,
            })
        });
        self
    }

    /// The use of the stages of hosts so far.
    pub(crate) fn stage_uses(&self) -> Vec<StageUse> {
        self.hosts.as_ref().map_or_else(Vec::new, |sending| sending.hosts.uses())
    }

    /// The time of the next birth, or of the next message that reaches its first link.
    #[inline]
    pub(crate) fn next(&self) -> Option<Picos> {
        let birth = self.next_birth();
        let Some(sending) = &self.hosts else { return birth };
        let departure = sending.departures.first().map(|(time, _)| Picos(time));
        [birth, departure].into_iter().flatten().min()
    }

    /// The birth time of the next message.
    #[inline]
    fn next_birth(&self) -> Option<Picos> {
        match self.drawn {
            0 => self.due.first().map(|(time, _)| Picos(time)),
            _ => Some(self.ring[self.first].at),
        }
    }

    /// The next message that reaches its first link, without its end. `None` if its source has put
    /// it off, if it has no way, or if it was born and is in the stages of its host. `look` is called with the paths
    /// and lanes of the following messages, several at once.
    #[inline]
    pub(crate) fn send(&mut self, look: impl FnMut(&[u32], &[u32])) -> Option<Delivered> {
        if self.hosts.is_some() {
            let birth = self.next_birth();
            if let Some(departed) = self.hosts.as_mut().and_then(|sending| sending.depart(birth)) {
                return Some(departed);
            }
        }
        if self.ring.len() == 1 && self.is_put_off() {
            return None;
        }
        if self.drawn <= self.ring.len() / 2 {
            self.draw_ahead(look);
        }
        self.drawn = self.drawn.checked_sub(1)?;
        self.last = self.first;
        self.first = (self.first + 1) % self.ring.len();
        let Drawn { at, sender, source, parcel, .. } = self.ring[self.last];
        let number = self.born;
        self.born += 1;
        let message = Delivered { number, sender, source, parcel, born: at, ended: Picos::ZERO };
        if self.ring[self.last].path.is_empty() {
            self.unrouted += 1;
            self.ended(&mut Delivered { ended: at, ..message }, false);
            return None;
        }
        if let Some(sending) = &mut self.hosts {
            sending.enter(message, &mut self.ring[self.last]);
            return None;
        }
        Some(message)
    }

    /// The time at which the message that was sent last reached its first link, its path and its
    /// lanes.
    pub(crate) fn way(&self) -> (Picos, &[u32], &[u32]) {
        let (at, drawn) = match &self.hosts {
            None => (self.ring[self.last].at, &self.ring[self.last]),
            Some(sending) => (sending.now, &sending.messages[sending.last as usize].1),
        };
        (at, &drawn.path, &drawn.lanes)
    }

    /// Number of messages so far.
    pub(crate) fn born(&self) -> u64 {
        self.born
    }

    /// Number of messages so far that had no way to their destination.
    pub(crate) fn unrouted(&self) -> u64 {
        self.unrouted
    }

    /// Lets a message that arrived pass the stages of receiving, tells the traffic whether it
    /// arrived, and schedules the sources that send because of it.
    #[inline]
    pub(crate) fn ended(&mut self, message: &mut Delivered, arrived: bool) {
        if arrived && let Some(sending) = &mut self.hosts {
            let Parcel { destination, bytes, .. } = message.parcel;
            message.ended = sending.hosts.receive(destination, message.ended, bytes);
        }
        self.traffic.ended(message, arrived, &mut self.woken);
        for (at, sender) in self.woken.drain(..) {
            self.due.push((at.max(message.ended).0, sender));
        }
    }

    /// The traffic model.
    pub(crate) fn traffic(&self) -> &T {
        &self.traffic
    }

    /// True if the source that is due is not ready; it is then due later. Not for sources that are
    /// asked ahead of time.
    fn is_put_off(&mut self) -> bool {
        let Some((time, sender)) = self.due.first() else { return false };
        let Some(later) = self.traffic.put_off(sender, Picos(time)) else { return false };
        self.due.replace_first((later.0.max(time), sender));
        true
    }

    /// Fills the ring. Nothing happens between two calls of `look`, so that the waits for memory
    /// overlap.
    fn draw_ahead(&mut self, mut look: impl FnMut(&[u32], &[u32])) {
        let before = self.drawn;
        while self.drawn < self.ring.len()
            && let Some((time, source)) = self.due.first()
        {
            self.draw(Picos(time), source, (self.first + self.drawn) % self.ring.len());
            self.drawn += 1;
        }
        for place in before..self.drawn {
            let drawn = &self.ring[(self.first + place) % self.ring.len()];
            look(&drawn.path, &drawn.lanes);
        }
    }

    fn draw(&mut self, at: Picos, sender: u32, place: usize) {
        let drawn = &mut self.ring[place];
        drawn.path.clear();
        drawn.lanes.clear();
        self.traffic.advance(at);
        drawn.parcel = self.traffic.message(sender, &mut drawn.path, &mut drawn.lanes);
        (drawn.at, drawn.sender) = (at, sender);
        match self.traffic.next(sender, at) {
            Some(next) => self.due.replace_first((next.max(at).0, sender)),
            None => self.due.pop(),
        }
        drawn.source = self.traffic.host(sender);
        for (_, source) in self.due.fresh() {
            self.traffic.look(*source);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::{Gaps, Sources, below};
    use base::{Rng, Seed};

    /// Sources that send at random, asked ahead of time or not.
    struct Random {
        sources: Sources,
        draws: Vec<Rng>,
        independent: bool,
    }

    impl Traffic for Random {
        fn first(&mut self, source: u32) -> Option<Picos> {
            (!source.is_multiple_of(5)).then(|| self.sources.first(source, Picos::ZERO))
        }

        fn message(&mut self, source: u32, path: &mut Vec<u32>, lanes: &mut Vec<u32>) -> Parcel {
            let drawn = below(&mut self.draws[source as usize], 1_000);
            path.extend([source, drawn]);
            lanes.push(drawn);
            Parcel { destination: drawn, bytes: u64::from(drawn) + 1, outside: Picos::ZERO }
        }

        fn next(&mut self, source: u32, now: Picos) -> Option<Picos> {
            Some(self.sources.next(source, now)).filter(|next| *next < Picos::from_millis(30))
        }

        fn is_independent(&self) -> bool {
            self.independent
        }

        fn look(&self, source: u32) {
            self.sources.look(source);
        }
    }

    fn all(independent: bool, sources: u32) -> Vec<(Delivered, Vec<u32>, Vec<u32>)> {
        let traffic = Random {
            sources: Sources::new(Gaps::Poisson(Picos::from_millis(1)), sources, Seed(1)),
            draws: (0..u64::from(sources)).map(|source| Seed(2).split_index(source).rng()).collect(),
            independent,
        };
        let (mut births, mut all, mut looked) = (Births::new(traffic, sources), Vec::new(), Vec::new());
        while let Some(due) = births.next() {
            let message = births.send(|path, _| looked.push(path.to_vec())).unwrap();
            assert_eq!((message.born, message.number + 1), (due, births.born()));
            let (at, path, lanes) = births.way();
            assert_eq!(at, due);
            all.push((message, path.to_vec(), lanes.to_vec()));
        }
        assert_eq!(births.send(|_, _| ()), None);
        // `look` sees each path once, in order, and not after its message was sent.
        assert!(looked.iter().eq(all.iter().map(|(_, path, _)| path)));
        all
    }

    #[test]
    fn a_source_asked_ahead_of_time_sends_the_same() {
        for sources in [1, 2, 7, 300] {
            let sent = all(true, sources);
            assert_eq!(sent, all(false, sources));
            assert!(sent.windows(2).all(|pair| pair[0].0.born <= pair[1].0.born));
            let expected = 30 * (sources - sources.div_ceil(5)) as usize;
            assert!(
                (expected * 3 / 5..=expected * 7 / 5).contains(&sent.len()),
                "{} of {expected}",
                sent.len()
            );
        }
    }
}
