//! What one federate sends reliably about one topic arrives everywhere in the order of sending. A topic is a class of
//! instances, as registered, a class of interactions, as sent, or all directed interactions (1516.1-2025, 6.11, 6.13: receive
//! order; over many nodes order is kept by topic).

use super::Invariant;
use crate::cluster::ledger::{Ledger, Message, stamp};
use crate::invariants::data;
use crate::observation::{Observation, Seen, SessionId};
use hla::handle::{InteractionClassHandle, ObjectClassHandle, TransportationTypeHandle};
use std::collections::BTreeMap;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Topic {
    Objects(Option<ObjectClassHandle>),
    Interactions(InteractionClassHandle),
    Directed,
}

/// See the module.
#[derive(Default)]
pub(super) struct Order {
    last: BTreeMap<(SessionId, SessionId, Topic), u32>,
    compared: u64,
}

impl Invariant for Order {
    fn name(&self) -> &'static str {
        "order"
    }

    fn observe(&mut self, seen: &Seen, ledger: &Ledger) -> Result<(), String> {
        let Observation::Received { session, callback, .. } = &seen.what else { return Ok(()) };
        let Some((tag, transportation)) = data(callback) else { return Ok(()) };
        let Some((host, count)) = stamp(tag) else {
            return Err(format!("{session}: a tag that nobody sent: {tag:?}"));
        };
        let Some(sent) = ledger.sent.get(&(host, count)) else {
            return Err(format!("{session}: number {count} of host {host} was not sent"));
        };
        if transportation != Some(TransportationTypeHandle::RELIABLE) {
            return Ok(());
        }
        let topic = match &sent.what {
            Message::Update(instance, _) => {
                Topic::Objects(ledger.instance(*session, *instance).map(|i| i.class))
            }
            Message::Interaction(class) => Topic::Interactions(*class),
            _ => Topic::Directed,
        };
        let last = self.last.entry((*session, sent.by, topic)).or_default();
        if count < *last {
            return Err(format!(
                "{session}: number {count} of host {host} about {topic:?} came after {last}"
            ));
        }
        *last = count;
        self.compared += 1;
        Ok(())
    }

    fn checked(&self) -> u64 {
        self.compared
    }
}
