//! One session of an endpoint.

use super::{Config, ConnId, Overload, Proof, Usage};
use crate::frame::{Control, MessageType, Numbers, put_control};
use crate::inbox::Inbox;
use crate::outbox::{HistoryLimits, Outbox};
use base::{Address, Moment, Serial31};
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;
use std::time::Duration;

/// A queue that has grown beyond this capacity releases its memory when it is empty.
const KEPT_CAPACITY: usize = 256;

/// Bytes that a call takes in addition to its body while it waits for its response: its entry in a
/// queue and its decoded form.
const CALL_OVERHEAD: usize = 256;

#[derive(Debug)]
pub(crate) struct Session {
    /// The id on the wire, which is a secret.
    pub(crate) id: u64,
    pub(crate) conn: Option<ConnId>,
    /// The address of the session's connection, or of its last one.
    pub(crate) address: Address,
    /// The proof of its first connection. Others must have the same to resume it.
    pub(crate) proof: Proof,
    pub(crate) inbox: Inbox,
    pub(crate) outbox: Outbox,
    /// Control messages to write, ahead of all others.
    control: VecDeque<Control>,
    /// Outstanding calls with their bytes, in the order of arrival. Numbers may repeat with clients
    /// that use a numbering of their own.
    calls: VecDeque<(Serial31, u32)>,
    /// Bytes that these calls take.
    calls_bytes: usize,
    pub(crate) last_heard: Moment,
    /// When the connection was lost. Meaningful only while `conn` is `None`.
    pub(crate) interrupted: Moment,
    pub(crate) linger: Duration,
    pub(crate) heart_timeout: Option<Duration>,
    /// When it must be connected at the latest; `None` when it is, or need not be.
    pub(crate) connect_by: Option<Moment>,
    /// The world knows that there is something to write, and has not yet written all of it.
    pub(crate) announced: bool,
    /// The high watermark was exceeded, and the low one has not been reached since.
    pub(crate) held: bool,
    /// Its client is not read for now.
    pub(crate) paused: bool,
}

impl Session {
    pub(crate) fn new(
        id: u64,
        conn: ConnId,
        (address, proof): (Address, Proof),
        now: Moment,
        config: &Config,
    ) -> Self {
        let limits = HistoryLimits { messages: config.history_messages_max, bytes: config.history_bytes_max };
        Self {
            id,
            conn: Some(conn),
            address,
            proof,
            inbox: Inbox::default(),
            outbox: Outbox::new(config.first_sequence, limits),
            control: VecDeque::new(),
            calls: VecDeque::new(),
            calls_bytes: 0,
            last_heard: now,
            interrupted: now,
            linger: config.resume_window,
            heart_timeout: config.heart_timeout,
            connect_by: None,
            announced: false,
            held: false,
            paused: false,
        }
    }

    /// The next deadline: for a sign of life of the client, for its resume, or for its connect
    /// call.
    pub(crate) fn deadline(&self) -> Option<Moment> {
        let silence = match self.conn {
            Some(_) => self.heart_timeout.map(|timeout| self.last_heard + timeout),
            None => Some(self.interrupted + self.linger),
        };
        Moment::sooner(silence, self.connect_by)
    }

    /// The connection is lost. HLA messages that it did not carry stay; control messages are
    /// dropped.
    pub(crate) fn detach(&mut self, now: Moment) {
        self.conn = None;
        self.interrupted = now;
        self.announced = false;
        self.control = VecDeque::new();
    }

    pub(crate) fn push_control(&mut self, control: Control, limit: usize) -> Result<(), Overload> {
        if self.control.len() >= limit {
            return Err(Overload::ControlMessages { limit });
        }
        self.control.push_back(control);
        Ok(())
    }

    /// Adds a call of `body_bytes` that waits for its response. Returns the memory it takes, in
    /// bytes.
    pub(crate) fn push_call(
        &mut self,
        call: Serial31,
        body_bytes: usize,
        limit: usize,
    ) -> Result<usize, Overload> {
        if self.calls.len() >= limit {
            return Err(Overload::Calls { limit });
        }
        let bytes = u32::try_from(body_bytes + CALL_OVERHEAD).unwrap_or(u32::MAX);
        self.calls.push_back((call, bytes));
        self.calls_bytes += bytes as usize;
        Ok(bytes as usize)
    }

    /// The memory of the session without its connection.
    pub(crate) fn usage(&self) -> Usage {
        let (unsent, history) = (self.outbox.unsent_memory(), self.outbox.history_memory());
        Usage { input: self.calls_bytes, unsent, history }
    }

    /// Strikes off `call` and returns the memory it took, in bytes; `None` when it is not
    /// outstanding. Responses in the order of the calls cost O(1).
    pub(crate) fn take_call(&mut self, call: Serial31) -> Option<usize> {
        let index = self.calls.iter().position(|&(c, _)| c == call)?;
        let (_, bytes) = self.calls.remove(index)?;
        self.calls_bytes -= bytes as usize;
        if self.calls.is_empty() && self.calls.capacity() > KEPT_CAPACITY {
            self.calls = VecDeque::new();
        }
        Some(bytes as usize)
    }

    /// Queues an HLA message. Returns the memory it takes, in bytes.
    pub(crate) fn push_hla(
        &mut self,
        kind: MessageType,
        to: Option<Serial31>,
        body: Bytes,
        config: &Config,
    ) -> (usize, Result<(), Overload>) {
        let bytes = self.outbox.push(kind, to, body);
        let unsent = self.outbox.unsent_bytes();
        self.held |= unsent >= config.unsent_bytes_high;
        if unsent > config.unsent_bytes_max {
            return (bytes, Err(Overload::UnsentBytes { limit: config.unsent_bytes_max }));
        }
        (bytes, Ok(()))
    }

    pub(crate) fn has_output(&self) -> bool {
        !self.control.is_empty() || !self.outbox.is_drained()
    }

    /// Appends the next message if it fits into `room` bytes. Returns whether it did.
    pub(crate) fn write_next(&mut self, out: &mut BytesMut, room: usize) -> bool {
        if let Some(control) = self.control.pop_front() {
            let sequence = match control {
                // Not numbered: clients do not look at its number, and repeated messages follow.
                Control::ResumeStatus { .. } => None,
                _ => Some(self.outbox.take_number()),
            };
            let numbers = Numbers { sequence, last_received: self.inbox.last() };
            put_control(out, self.id, numbers, control);
            return true;
        }
        match self.outbox.next_bytes() {
            Some(bytes) if bytes <= room => self.outbox.write_next(out, self.id, self.inbox.last()),
            _ => false,
        }
    }

    /// All unwritten messages, one buffer each.
    pub(crate) fn into_tail(mut self) -> VecDeque<Bytes> {
        let mut tail = VecDeque::new();
        let mut out = BytesMut::new();
        while self.write_next(&mut out, usize::MAX) {
            tail.push_back(out.split().freeze());
        }
        tail
    }
}
