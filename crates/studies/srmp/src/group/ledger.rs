//! The versions that each host has of each data element, which only the simulation knows.

use std::collections::BTreeSet;
use std::time::Duration;

use base::Moment;

/// A data element at one receiver.
#[derive(Clone, Copy, Debug, Default)]
struct Copy {
    /// The newest version here; 0 if there is none.
    version: u64,
    /// The moment from which on a newer version exists.
    stale_since: Option<Moment>,
}

/// The newest version of every data element, and the versions of its copies.
#[derive(Debug)]
pub(crate) struct Ledger {
    hosts: usize,
    elements: usize,
    /// The newest version of each element of each source; 0 if there is none.
    newest: Vec<u64>,
    /// By receiver, source, element.
    copies: Vec<Copy>,
    /// Time for which copies were stale, beyond the delay of the line, in ns, summed over all
    /// receivers and elements.
    stale_ns: u128,
    versions: u64,
}

impl Ledger {
    /// Creates the ledger of `hosts` hosts, of which the first `sources` have `elements` data
    /// elements each.
    pub(crate) fn new(hosts: usize, sources: usize, elements: usize) -> Self {
        Self {
            hosts,
            elements,
            newest: vec![0; sources * elements],
            copies: vec![Copy::default(); hosts * sources * elements],
            stale_ns: 0,
            versions: 0,
        }
    }

    fn index(&self, receiver: usize, source: usize, element: usize) -> usize {
        receiver * self.newest.len() + source * self.elements + element
    }

    /// Records the sending of a new version and returns its number.
    pub(crate) fn send(&mut self, now: Moment, source: usize, element: usize) -> u64 {
        self.versions += 1;
        self.newest[source * self.elements + element] = self.versions;
        for receiver in (0..self.hosts).filter(|receiver| *receiver != source) {
            let index = self.index(receiver, source, element);
            self.copies[index].stale_since.get_or_insert(now);
        }
        self.versions
    }

    /// Records the arrival of a version at a receiver; `delay` is the delay of the line to it.
    pub(crate) fn deliver(
        &mut self,
        now: Moment,
        (receiver, source, element): (usize, usize, usize),
        version: u64,
        delay: Duration,
    ) {
        if source * self.elements + element >= self.newest.len() {
            return;
        }
        let index = self.index(receiver, source, element);
        let newest = self.newest[source * self.elements + element];
        let copy = &mut self.copies[index];
        copy.version = version;
        if version == newest
            && let Some(since) = copy.stale_since.take()
        {
            self.stale_ns += now.since(since).saturating_sub(delay).as_nanos();
        }
    }

    /// Records the restart of a host, which has lost its copies and its own elements.
    pub(crate) fn forget(&mut self, host: usize) {
        let begin = self.index(host, 0, 0);
        self.copies[begin..begin + self.newest.len()].fill(Copy::default());
        let Some(own) = self.newest.get_mut(host * self.elements..(host + 1) * self.elements) else { return };
        own.fill(0);
        for receiver in 0..self.hosts {
            for element in 0..self.elements {
                let index = self.index(receiver, host, element);
                self.copies[index] = Copy::default();
            }
        }
    }

    /// The data elements of other sources that have a version: source, element.
    pub(super) fn known(&self, receiver: usize) -> BTreeSet<(usize, usize)> {
        let sent = self.newest.iter().enumerate().filter(|(_, newest)| **newest > 0);
        let named = sent.map(|(index, _)| (index / self.elements, index % self.elements));
        named.filter(|(source, _)| *source != receiver).collect()
    }

    /// Number of copies of final values that should exist, and number of those that do.
    pub(crate) fn finals(&self) -> (u64, u64) {
        let (mut must, mut are) = (0, 0);
        for (index, newest) in self.newest.iter().enumerate().filter(|(_, newest)| **newest > 0) {
            for receiver in (0..self.hosts).filter(|receiver| *receiver != index / self.elements) {
                must += 1;
                are += u64::from(self.copies[receiver * self.newest.len() + index].version == *newest);
            }
        }
        (must, are)
    }

    /// Time for which copies were stale, beyond the delay of the lines, in seconds, summed over all
    /// receivers and elements.
    pub(crate) fn stale_seconds(&self) -> f64 {
        self.stale_ns as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finals_and_staleness() {
        let mut ledger = Ledger::new(3, 1, 2);
        let at = Moment::from_millis;
        let first = ledger.send(at(0), 0, 1);
        assert_eq!(ledger.finals(), (2, 0));
        let delay = Duration::from_millis(50);
        ledger.deliver(at(50), (1, 0, 1), first, delay);
        assert_eq!((ledger.finals(), ledger.stale_seconds()), ((2, 1), 0.0));
        let second = ledger.send(at(100), 0, 1);
        ledger.deliver(at(150), (2, 0, 1), first, delay);
        assert_eq!(ledger.finals(), (2, 0), "an older version is none");
        ledger.deliver(at(350), (2, 0, 1), second, delay);
        ledger.deliver(at(150), (1, 0, 1), second, delay);
        assert_eq!(ledger.finals(), (2, 2));
        assert!((ledger.stale_seconds() - 0.3).abs() < 1e-9, "{}", ledger.stale_seconds());
        ledger.forget(2);
        assert_eq!(ledger.finals(), (2, 1));
    }
}
