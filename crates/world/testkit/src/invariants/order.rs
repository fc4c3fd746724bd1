//! The reliable messages of one federate arrive everywhere in the order of sending; over many
//! nodes, those about one topic do. A topic is a class of instances, as registered, a class of
//! interactions, as sent, or all directed interactions (1516.1-2025, 6.11, 6.13: receive order,
//! reliable transportation).

use super::Invariant;
use crate::ledger::Ledger;
use crate::observation::{Observation, Seen, SessionId};
use crate::request::{Message, is_of_rti, stamp};
use hla::api::callback_request::CallbackRequest as Callback;
use hla::handle::{InteractionClassHandle, ObjectClassHandle, TransportationTypeHandle};
use std::collections::BTreeMap;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum MessageStream {
    Objects(Option<ObjectClassHandle>),
    Interactions(InteractionClassHandle),
    Directed,
}

/// Receiver and the sender's host; with many nodes also the sender's session and the topic.
type Stream = (SessionId, u32, Option<(SessionId, MessageStream)>);

/// See the module.
pub(super) struct DeliveryOrder {
    by_stream: bool,
    /// The last number of each stream.
    last: BTreeMap<Stream, u32>,
    compared: u64,
}

impl DeliveryOrder {
    /// `by_stream`: order is kept for each topic only.
    pub(super) fn new(by_stream: bool) -> Self {
        Self { by_stream, last: BTreeMap::new(), compared: 0 }
    }
}

impl Invariant for DeliveryOrder {
    fn name(&self) -> &'static str {
        "order"
    }

    fn observe(&mut self, seen: &Seen, ledger: &Ledger) -> Result<(), String> {
        let Observation::Received { session, callback, .. } = &seen.observation else { return Ok(()) };
        let (tag, transportation) = match callback {
            _ if is_of_rti(callback) => return Ok(()),
            Callback::ReflectAttributeValues(c) => (&c.user_supplied_tag, c.transportation_type),
            Callback::ReceiveInteraction(c) => (&c.user_supplied_tag, c.transportation_type),
            Callback::ReceiveDirectedInteraction(c) => (&c.user_supplied_tag, c.transportation_type),
            _ => return Ok(()),
        };
        let Some((host, count)) = stamp(tag) else {
            return Err(format!("{session}: a tag that nobody sent: {tag:?}"));
        };
        let Some(sent) = ledger.sent.get(&(host, count)) else {
            return Err(format!("{session}: number {count} of host {host} was not sent"));
        };
        if transportation != Some(TransportationTypeHandle::RELIABLE) {
            return Ok(());
        }
        let stream = || match &sent.message {
            Message::Update(instance, _) => {
                MessageStream::Objects(ledger.instance(*session, *instance).map(|i| i.class))
            }
            Message::Interaction(class) => MessageStream::Interactions(*class),
            _ => MessageStream::Directed,
        };
        let stream = self.by_stream.then(|| (sent.by, stream()));
        let last = self.last.entry((*session, host, stream)).or_default();
        if count < *last {
            return Err(format!(
                "{session}: number {count} of host {host} about {stream:?} came after {last}"
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
