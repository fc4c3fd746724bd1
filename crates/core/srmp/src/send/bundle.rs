//! The bundle that is being filled.

use super::sender::Piece;
use super::table::Why;
use crate::model::{Dsn, StreamKey};
use base::Moment;
use bytes::Bytes;
use std::time::Duration;

/// A message in a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// A best-effort message. `ticket` is the caller's.
    Mode0 { stream: StreamKey, body: Bytes, ticket: u64 },
    /// A message that is reliable as long as it is the newest of its data element.
    Mode1 { piece: Piece, why: Why, ticket: u64 },
}

/// Messages that leave together, when the first of them has waited long enough or the room is used
/// up.
#[derive(Debug, Default)]
pub(crate) struct Bundle {
    messages: Vec<(Message, usize)>,
    bytes: usize,
    flush_at: Option<Moment>,
}

impl Bundle {
    /// Bytes of all messages, with their headers.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// The time at which it has to leave.
    pub(crate) fn flush_at(&self) -> Option<Moment> {
        self.flush_at
    }

    /// Adds a message that takes `bytes` with its header. The first message may wait for `wait`;
    /// later ones can only shorten the wait.
    pub(crate) fn push(&mut self, now: Moment, message: Message, bytes: usize, wait: Duration) {
        self.messages.push((message, bytes));
        self.bytes += bytes;
        self.leave_by(now + wait);
    }

    /// Makes it leave by then.
    pub(crate) fn leave_by(&mut self, by: Moment) {
        self.flush_at = Some(self.flush_at.map_or(by, |at| at.min(by)));
    }

    /// Cancels the deadline of an empty bundle.
    pub(crate) fn rest(&mut self) {
        self.flush_at = None;
    }

    /// Removes all versions of a data element but this newest one, and reports each to `dropped`.
    pub(crate) fn supersede(&mut self, newest: Dsn, mut dropped: impl FnMut(Message)) {
        let obsolete = |message: &Message| match message {
            Message::Mode1 { piece, .. } => piece.dsn.data == newest.data && piece.dsn.sn != newest.sn,
            Message::Mode0 { .. } => false,
        };
        self.remove(obsolete, &mut dropped);
    }

    /// Removes the older messages of a stream, and reports each to `dropped`.
    pub(crate) fn conflate(&mut self, stream: StreamKey, mut dropped: impl FnMut(Message)) {
        self.remove(
            |message| matches!(message, Message::Mode0 { stream: other, .. } if *other == stream),
            &mut dropped,
        );
    }

    fn remove(&mut self, obsolete: impl Fn(&Message) -> bool, dropped: &mut dyn FnMut(Message)) {
        if !self.messages.iter().any(|(message, _)| obsolete(message)) {
            return;
        }
        let bytes = &mut self.bytes;
        self.messages.retain_mut(|(message, size)| {
            let gone = obsolete(message);
            if gone {
                *bytes -= *size;
                dropped(message.clone());
            }
            !gone
        });
    }

    /// The messages.
    pub(crate) fn messages(&self) -> impl Iterator<Item = &Message> + '_ {
        self.messages.iter().map(|(message, _)| message)
    }

    /// Takes all messages out. The bundle is empty then, and keeps its memory.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Message> + '_ {
        self.bytes = 0;
        self.flush_at = None;
        self.messages.drain(..).map(|(message, _)| message)
    }
}
