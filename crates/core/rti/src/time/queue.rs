//! Messages in time-stamp order that wait for one federate.

use bytes::Bytes;
use hla::handle::{
    FederateHandle, InteractionClassHandle, MessageRetractionHandle, ObjectClassHandle, ObjectInstanceHandle,
    TransportationTypeHandle,
};
use hla::time::LogicalTime;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// The object of a message. It decides at delivery whether the receiver still gets the message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
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
    pub(crate) transportation: TransportationTypeHandle,
    /// The encoded callback. Receivers of the same content share it.
    pub(crate) body: Bytes,
}

/// Memory of a queued message in addition to its body, if no other one has the same time and sender.
const MESSAGE_OVERHEAD: usize = 240;

/// A queue is counted against the limits of its federate when it has grown by this many bytes: a
/// count costs as much as the queueing. A queue exceeds its limit by at most so much unnoticed, some
/// ten messages.
const COUNT_EVERY: usize = 4 << 10;

fn memory(message: &TimedMessage) -> usize {
    message.body.len() + MESSAGE_OVERHEAD
}

/// The queue. Messages of one sender with equal times stay in the order of their sending, which is
/// that of their retraction handles: they may have come in several streams.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// By time and sender. A federate usually sends many messages with the same time in a row, which
    /// are only appended.
    messages: BTreeMap<(LogicalTime, FederateHandle), VecDeque<Box<TimedMessage>>>,
    len: usize,
    bytes: usize,
}

impl Queue {
    /// Returns whether the queue has to be counted again.
    pub(super) fn insert(&mut self, message: Box<TimedMessage>) -> bool {
        let steps = self.bytes / COUNT_EVERY;
        self.len += 1;
        self.bytes += memory(&message);
        let alike = self.messages.entry((message.time, message.sender)).or_default();
        let handle = message.retraction.0;
        if alike.back().is_none_or(|last| last.retraction.0 <= handle) {
            alike.push_back(message);
        } else {
            alike.insert(alike.partition_point(|other| other.retraction.0 <= handle), message);
        }
        self.bytes / COUNT_EVERY > steps
    }

    /// The least time of a message.
    pub(super) fn least(&self) -> Option<LogicalTime> {
        self.messages.first_key_value().map(|(&(time, _), _)| time)
    }

    /// Takes the next message if its time is `due`.
    pub(super) fn pop(&mut self, due: impl Fn(LogicalTime) -> bool) -> Option<Box<TimedMessage>> {
        let mut first = self.messages.first_entry().filter(|first| due(first.key().0))?;
        let message = first.get_mut().pop_front()?;
        if first.get().is_empty() {
            first.remove();
        }
        self.len -= 1;
        self.bytes -= memory(&message);
        Some(message)
    }

    /// Removes a message that was retracted. Returns whether it was here. A call with attributes of
    /// several transportation types has become several messages.
    pub(super) fn retract(
        &mut self,
        time: LogicalTime,
        sender: FederateHandle,
        retraction: MessageRetractionHandle,
    ) -> bool {
        let Some(alike) = self.messages.get_mut(&(time, sender)) else { return false };
        let from = alike.partition_point(|other| other.retraction.0 < retraction.0);
        let to = alike.partition_point(|other| other.retraction.0 <= retraction.0);
        self.len -= to - from;
        self.bytes -= alike.drain(from..to).map(|gone| memory(&gone)).sum::<usize>();
        if alike.is_empty() {
            self.messages.remove(&(time, sender));
        }
        to > from
    }

    /// The messages in the order in which they leave.
    pub(super) fn iter(&self) -> impl Iterator<Item = &TimedMessage> {
        self.messages.values().flatten().map(|message| &**message)
    }

    /// Number of messages, and their bytes.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.len, self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Time, sender and retraction handle.
    type Key = (i64, u32, u64);

    fn message((time, sender, handle): Key, body: u8) -> Box<TimedMessage> {
        Box::new(TimedMessage {
            time: LogicalTime::integer64(time).unwrap(),
            sender: FederateHandle(sender),
            retraction: MessageRetractionHandle(handle),
            subject: Subject::Interaction(InteractionClassHandle(1)),
            transportation: TransportationTypeHandle::RELIABLE,
            body: Bytes::from(vec![body]),
        })
    }

    proptest! {
        #[test]
        fn messages_leave_by_time_sender_and_handle_and_then_as_they_have_come(
            come in proptest::collection::vec((0..4_i64, 0..3_u32, 0..6_u64), 0..60),
            gone in (0..4_i64, 0..3_u32, 0..6_u64),
        ) {
            let mut queue = Queue::default();
            let mut expected: Vec<_> = come.iter().copied().zip(0_u8..).collect();
            for &(key, place) in &expected {
                queue.insert(message(key, place));
            }
            expected.sort_by_key(|&(key, _)| key);
            let (time, sender, handle) = gone;
            let (time, sender) = (LogicalTime::integer64(time).unwrap(), FederateHandle(sender));
            let retracted = queue.retract(time, sender, MessageRetractionHandle(handle));
            prop_assert_eq!(retracted, come.contains(&gone));
            expected.retain(|&(key, _)| key != gone);
            prop_assert_eq!(queue.size(), (expected.len(), expected.len() * (MESSAGE_OVERHEAD + 1)));
            for (key, place) in expected {
                let next = message(key, place);
                prop_assert_eq!(queue.least(), Some(next.time));
                prop_assert_eq!(queue.pop(|time| time < next.time), None);
                prop_assert_eq!(queue.pop(|time| time == next.time), Some(next));
            }
            prop_assert_eq!((queue.least(), queue.size()), (None, (0, 0)));
        }
    }

    #[test]
    fn a_queue_is_never_far_beyond_its_last_count() {
        let mut queue = Queue::default();
        let mut counted = 0;
        for number in 0..1000 {
            if queue.insert(message((0, 1, number), 0)) {
                counted = queue.size().1;
            }
            assert!(queue.size().1 - counted < COUNT_EVERY);
        }
        assert!(counted > 0);
    }
}
