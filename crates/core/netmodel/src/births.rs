//! The order of births in a run: sources by the time of their next message, and messages drawn a
//! little ahead.
//!
//! In a large network the state of the next source, and of the links that its message will cross,
//! is in no cache. A source that sends independently of the network can be asked a few messages
//! early. Its data is then on its way from memory when its time comes, and the waits for several
//! messages overlap. The results are the same.

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
    woken: Vec<(Picos, u32)>,
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
        Self { traffic, due, ring, first: 0, drawn: 0, last: 0, born: 0, woken: Vec::new() }
    }

    /// The birth time of the next message.
    #[inline]
    pub(crate) fn next(&self) -> Option<Picos> {
        match self.drawn {
            0 => self.due.first().map(|(time, _)| Picos(time)),
            _ => Some(self.ring[self.first].at),
        }
    }

    /// The next message, without its end, or `None` if its source has put it off. `look` is called
    /// with the paths and lanes of the following messages, several at once.
    #[inline]
    pub(crate) fn send(&mut self, look: impl FnMut(&[u32], &[u32])) -> Option<Delivered> {
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
        Some(Delivered { number, sender, source, parcel, born: at, ended: Picos::ZERO })
    }

    /// The path and the lanes of the message that was sent last.
    pub(crate) fn way(&self) -> (&[u32], &[u32]) {
        (&self.ring[self.last].path, &self.ring[self.last].lanes)
    }

    /// Number of messages so far.
    pub(crate) fn born(&self) -> u64 {
        self.born
    }

    /// Tells the traffic whether a message arrived, and schedules the sources that send because of
    /// it.
    #[inline]
    pub(crate) fn ended(&mut self, message: &Delivered, arrived: bool) {
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
            let (path, lanes) = births.way();
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
