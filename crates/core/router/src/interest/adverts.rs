//! The announcements made to one source: interests one by one, or a summary when there are many.

use crate::message::Interest;
use indexmap::{IndexMap, IndexSet};

/// The interests told under one key.
#[derive(Debug)]
struct Advert<I> {
    wanted: IndexSet<I>,
    /// Announced instead of the single ones. It matches at least what they match.
    summary: Option<I>,
}

/// The announcements made to a source, by key.
#[derive(Debug)]
pub(crate) struct Adverts<I: Interest> {
    by_key: IndexMap<Option<I::Key>, Advert<I>>,
    summary_above: usize,
}

impl<I: Interest> Adverts<I> {
    pub(crate) fn new(summary_above: usize) -> Self {
        Self { by_key: IndexMap::new(), summary_above }
    }

    /// Notes a change and calls `announce` for each announcement that the source needs. Additions
    /// come before withdrawals, so that the source never believes too little.
    pub(crate) fn change(&mut self, interest: &I, any: bool, mut announce: impl FnMut(I, bool)) {
        let key = interest.key();
        if any {
            let advert =
                self.by_key.entry(key).or_insert_with(|| Advert { wanted: IndexSet::new(), summary: None });
            if advert.wanted.insert(interest.clone()) {
                advert.added(interest, self.summary_above, announce);
            }
            return;
        }
        let Some(advert) = self.by_key.get_mut(&key) else { return };
        if !advert.wanted.swap_remove(interest) {
            return;
        }
        advert.removed(interest, self.summary_above, &mut announce);
        if advert.wanted.is_empty() {
            self.by_key.swap_remove(&key);
        }
    }

    /// Every announcement to the source that was not withdrawn: for a link that comes up (again).
    pub(crate) fn announced(&self) -> impl Iterator<Item = &I> {
        self.by_key.values().flat_map(|advert| {
            let single = if advert.summary.is_none() { Some(advert.wanted.iter()) } else { None };
            advert.summary.iter().chain(single.into_iter().flatten())
        })
    }
}

impl<I: Interest> Advert<I> {
    fn added(&mut self, interest: &I, summary_above: usize, mut announce: impl FnMut(I, bool)) {
        if let Some(old) = &self.summary {
            let mut summary = old.clone();
            summary.merge(interest);
            if summary != *old {
                announce(summary.clone(), true);
                announce(old.clone(), false);
                self.summary = Some(summary);
            }
            return;
        }
        if self.wanted.len() <= summary_above {
            announce(interest.clone(), true);
            return;
        }
        let mut summary = interest.clone();
        self.wanted.iter().for_each(|single| summary.merge(single));
        // The summary may equal a single interest that was announced already; that one stays
        // announced.
        let unannounced = &self.wanted[..self.wanted.len() - 1];
        if !unannounced.iter().any(|single| *single == summary) {
            announce(summary.clone(), true);
        }
        unannounced
            .iter()
            .filter(|single| **single != summary)
            .for_each(|single| announce(single.clone(), false));
        self.summary = Some(summary);
    }

    fn removed(&mut self, interest: &I, summary_above: usize, announce: &mut impl FnMut(I, bool)) {
        let Some(summary) = &self.summary else {
            announce(interest.clone(), false);
            return;
        };
        // Half of the limit, so that a set that grows and shrinks around the limit is not announced
        // again and again.
        if self.wanted.len() > summary_above / 2 {
            return;
        }
        self.wanted
            .iter()
            .filter(|single| *single != summary)
            .for_each(|single| announce(single.clone(), true));
        if !self.wanted.contains(summary) {
            announce(summary.clone(), false);
        }
        self.summary = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Wire, WireError};
    use bytes::{Bytes, BytesMut};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    struct Span(u8, u8);

    impl Wire for Span {
        fn encode(&self, _: &mut BytesMut) {}
        fn decode(_: Bytes, _: usize) -> Result<Self, WireError> {
            Err(WireError("not sent in this test".into()))
        }
    }

    impl Interest for Span {
        type Topic = u8;
        type Key = ();
        fn key(&self) -> Option<()> {
            Some(())
        }
        fn topic_key(_: &u8) {}
        fn matches(&self, topic: &u8) -> bool {
            (self.0..=self.1).contains(topic)
        }
        fn merge(&mut self, other: &Self) {
            *self = Span(self.0.min(other.0), self.1.max(other.1));
        }
    }

    proptest! {
        /// After every single announcement the announced interests cover the wanted ones. They are
        /// at most one summary when there are many, and none when nothing is wanted.
        #[test]
        fn never_too_narrow_and_never_many(
            limit in 0usize..5,
            steps in prop::collection::vec((0u8..6, 0u8..3, any::<bool>()), 1..60),
        ) {
            let (mut adverts, mut wanted, mut announced) = (Adverts::new(limit), BTreeSet::new(), BTreeSet::new());
            for (from, more, any) in steps {
                let span = Span(from, from + more);
                let before: BTreeSet<Span> = wanted.clone();
                let _ = if any { wanted.insert(span.clone()) } else { wanted.remove(&span) };
                let lasting: Vec<Span> = before.intersection(&wanted).cloned().collect();
                let covers = |announced: &BTreeSet<Span>, spans: &[Span]| {
                    (0..10).all(|topic| {
                        !spans.iter().any(|s| s.matches(&topic)) || announced.iter().any(|s| s.matches(&topic))
                    })
                };
                let mut steps = Vec::new();
                adverts.change(&span, any, |span, any| steps.push((span, any)));
                for (span, any) in steps {
                    let news = if any { announced.insert(span) } else { announced.remove(&span) };
                    prop_assert!(news, "told what was told before");
                    prop_assert!(covers(&announced, &lasting));
                }
                let all: Vec<Span> = wanted.iter().cloned().collect();
                prop_assert!(covers(&announced, &all));
                prop_assert!(announced.len() <= limit.max(1));
                prop_assert_eq!(announced.is_empty(), wanted.is_empty());
                prop_assert_eq!(adverts.announced().cloned().collect::<BTreeSet<_>>(), announced.clone());
            }
        }
    }
}
