//! When the sources of a run send next, whatever carries their messages.

use crate::heap::EventHeap;
use crate::traffic::{Delivered, Traffic};
use crate::units::Picos;

/// The sources of `traffic`, by the moment at which each is due.
pub(crate) struct Births<T> {
    traffic: T,
    due: EventHeap,
    born: u64,
    path: Vec<u32>,
    lanes: Vec<u32>,
    woken: Vec<(Picos, u32)>,
}

impl<T: Traffic> Births<T> {
    /// Sources 0 to `sources` - 1.
    pub(crate) fn new(mut traffic: T, sources: u32) -> Self {
        let mut due = EventHeap::default();
        for source in 0..sources {
            if let Some(first) = traffic.first(source) {
                due.push((first.0, source));
            }
        }
        Self { traffic, due, born: 0, path: Vec::new(), lanes: Vec::new(), woken: Vec::new() }
    }

    /// When a source is due next.
    #[inline]
    pub(crate) fn next(&self) -> Option<Picos> {
        self.due.first().map(|(time, _)| Picos(time))
    }

    /// Lets the source that is due send. Answers the message, the end of which is not known yet; or nothing if the source has put it off.
    pub(crate) fn send(&mut self, now: Picos) -> Option<Delivered> {
        let (_, sender) = self.due.first()?;
        if let Some(later) = self.traffic.put_off(sender, now) {
            self.due.replace_first((later.max(now).0, sender));
            return None;
        }
        self.path.clear();
        self.lanes.clear();
        let parcel = self.traffic.message(sender, &mut self.path, &mut self.lanes);
        match self.traffic.next(sender, now) {
            Some(next) => self.due.replace_first((next.max(now).0, sender)),
            None => self.due.pop(),
        }
        let number = self.born;
        self.born += 1;
        let source = self.traffic.host(sender);
        Some(Delivered { number, sender, source, parcel, born: now, ended: Picos::ZERO })
    }

    /// The way of the message that was sent last, and its lanes.
    pub(crate) fn way(&self) -> (&[u32], &[u32]) {
        (&self.path, &self.lanes)
    }

    /// Tells the traffic what became of a message. Who sends because of it is due then.
    #[inline]
    pub(crate) fn ended(&mut self, message: &Delivered, arrived: bool) {
        self.traffic.ended(message, arrived, &mut self.woken);
        for (at, sender) in self.woken.drain(..) {
            self.due.push((at.max(message.ended).0, sender));
        }
    }

    /// Messages so far.
    pub(crate) fn born(&self) -> u64 {
        self.born
    }

    /// Who sends what.
    pub(crate) fn traffic(&self) -> &T {
        &self.traffic
    }
}
