//! Messages of one client that wait at the entrance because some pipe on their way has no room.

use crate::message::{Envelope, Message};
use std::collections::VecDeque;

/// In order of arrival. Bounded by the client's credit: it gets none while something waits here.
#[derive(Debug)]
pub(crate) struct Stalled<M> {
    waiting: VecDeque<Envelope<M>>,
    bytes: usize,
}

impl<M: Message> Stalled<M> {
    pub(crate) fn new() -> Self {
        Self { waiting: VecDeque::new(), bytes: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Their bytes, as [`Message::bytes`] counts them.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn push(&mut self, envelope: Envelope<M>) {
        self.bytes += envelope.message.bytes();
        self.waiting.push_back(envelope);
    }

    /// Puts back the message that [`Stalled::pop`] returned.
    pub(crate) fn push_front(&mut self, envelope: Envelope<M>) {
        self.bytes += envelope.message.bytes();
        self.waiting.push_front(envelope);
    }

    pub(crate) fn pop(&mut self) -> Option<Envelope<M>> {
        let envelope = self.waiting.pop_front()?;
        self.bytes -= envelope.message.bytes();
        Some(envelope)
    }

    /// Forgets everything, and returns the number of messages of each class.
    pub(crate) fn clear(&mut self) -> [u64; crate::Priority::COUNT] {
        let mut gone = [0; crate::Priority::COUNT];
        for envelope in self.waiting.drain(..) {
            gone[envelope.message.priority().index()] += 1;
        }
        self.bytes = 0;
        gone
    }
}
