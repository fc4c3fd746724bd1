//! Messages in time-stamp order that wait for one federate.

use super::retraction::origin;
use bytes::Bytes;
use hla::handle::{
    FederateHandle, InteractionClassHandle, MessageRetractionHandle, ObjectClassHandle, ObjectInstanceHandle,
};
use hla::time::LogicalTime;
use std::collections::BTreeMap;

/// The object of a message. It decides at delivery whether the receiver still gets the message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Subject {
    /// An update of an instance, which the receiver knows at this class. `unsubscribed` is the
    /// number of times that the receiver had removed subscriptions when the message was sent.
    Update { instance: ObjectInstanceHandle, class: ObjectClassHandle, unsubscribed: u64 },
    /// An interaction, received at this class.
    Interaction(InteractionClassHandle),
    /// An interaction directed at an instance, received at this class.
    Directed { instance: ObjectInstanceHandle, class: InteractionClassHandle },
    /// The deletion of an instance.
    Removal(ObjectInstanceHandle),
}

/// A message in time-stamp order on its way to one federate.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TimedMessage {
    pub(crate) time: LogicalTime,
    pub(crate) sender: FederateHandle,
    pub(crate) retraction: MessageRetractionHandle,
    pub(crate) subject: Subject,
    /// The encoded callback. Receivers of the same content share it.
    pub(crate) body: Bytes,
}

/// Memory of a queued message in addition to its body.
const MESSAGE_OVERHEAD: usize = 160;

/// The queue. Messages of one sender with equal times stay in the order of their sending, which is
/// that of their retraction handles: they may have come in several streams.
#[derive(Debug, Default)]
pub(super) struct Queue {
    messages: BTreeMap<(LogicalTime, FederateHandle, u32, u64), TimedMessage>,
    last: u64,
    bytes: usize,
}

impl Queue {
    pub(super) fn insert(&mut self, message: TimedMessage) {
        self.last += 1;
        self.bytes += message.body.len() + MESSAGE_OVERHEAD;
        let (_, number) = origin(message.retraction);
        self.messages.insert((message.time, message.sender, number, self.last), message);
    }

    /// The least time of a message.
    pub(super) fn least(&self) -> Option<LogicalTime> {
        self.messages.first_key_value().map(|(&(time, ..), _)| time)
    }

    /// Takes the next message if its time is `due`.
    pub(super) fn pop(&mut self, due: impl Fn(LogicalTime) -> bool) -> Option<TimedMessage> {
        let first = self.messages.first_entry()?;
        if !due(first.get().time) {
            return None;
        }
        let message = first.remove();
        self.bytes -= message.body.len() + MESSAGE_OVERHEAD;
        Some(message)
    }

    /// Removes a message that was retracted. Returns whether it was here.
    pub(super) fn retract(
        &mut self,
        time: LogicalTime,
        sender: FederateHandle,
        retraction: MessageRetractionHandle,
    ) -> bool {
        let (_, number) = origin(retraction);
        let copies = self.messages.range((time, sender, number, 0)..=(time, sender, number, u64::MAX));
        let keys = copies.filter(|(_, message)| message.retraction == retraction).map(|(&key, _)| key);
        let keys: Vec<_> = keys.collect();
        for key in &keys {
            let bytes = self.messages.remove(key).map_or(0, |gone| gone.body.len() + MESSAGE_OVERHEAD);
            self.bytes -= bytes;
        }
        !keys.is_empty()
    }

    /// Number of messages, and their bytes.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.messages.len(), self.bytes)
    }
}
