//! Changes of interest that wait to be announced to a source.

use crate::message::Interest;
use std::collections::{BTreeMap, HashMap};

/// Changes to be announced, in order, each once. A change that is reverted before it was announced
/// is not announced at all.
#[derive(Debug)]
pub(crate) struct Outbox<I> {
    by_order: BTreeMap<u64, (I, bool)>,
    /// Never iterated.
    order_of: HashMap<I, u64>,
    next: u64,
}

impl<I: Interest> Outbox<I> {
    pub(crate) fn new() -> Self {
        Self { by_order: BTreeMap::new(), order_of: HashMap::new(), next: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_order.is_empty()
    }

    /// Notes a change. For one interest the calls alternate between wanted and no longer wanted.
    pub(crate) fn put(&mut self, interest: I, any: bool) {
        if let Some(order) = self.order_of.remove(&interest) {
            let taken_back = self.by_order.remove(&order).is_some_and(|(_, was)| was != any);
            if taken_back {
                return;
            }
        }
        self.order_of.insert(interest.clone(), self.next);
        self.by_order.insert(self.next, (interest, any));
        self.next += 1;
    }

    pub(crate) fn pop(&mut self) -> Option<(I, bool)> {
        let (_, (interest, any)) = self.by_order.pop_first()?;
        self.order_of.remove(&interest);
        Some((interest, any))
    }

    pub(crate) fn clear(&mut self) {
        self.by_order.clear();
        self.order_of.clear();
    }
}
