//! The outgoing half: messages to clients.

use super::connection::State;
use super::{ConnId, Endpoint, Event};
use base::Moment;
use bytes::BytesMut;

/// The result of [`Endpoint::poll_transmit`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[must_use]
pub struct Transmit {
    /// Bytes appended: whole messages.
    pub bytes: usize,
    /// More output waits; call again when these bytes are on their way. If false,
    /// [`Endpoint::poll_ready`] names the connection when there is output again.
    pub more: bool,
    /// Close the connection when all bytes given for it are written. The endpoint has forgotten it.
    pub close_after: bool,
    /// With `close_after`: close without waiting for bytes given earlier.
    pub discard: bool,
}

impl Endpoint {
    /// A connection that has output, or that is to be closed. It is named once: the world remembers
    /// it and calls [`Endpoint::poll_transmit`] until there is no more.
    ///
    /// Call `poll_transmit` for it even while its socket accepts nothing (with a budget of 0),
    /// because it may have to be closed.
    #[must_use]
    pub fn poll_ready(&mut self) -> Option<ConnId> {
        self.ready.pop_front()
    }

    /// Appends whole messages for `conn` to `out`: as many as fit into `budget` bytes, and at least
    /// one unless `budget` is 0. Control messages go first.
    ///
    /// For a connection that the endpoint does not know the result says that it is to be closed.
    ///
    /// It may cause an [`Event::Writable`]. Cost: one copy of each body.
    pub fn poll_transmit(
        &mut self,
        now: Moment,
        conn: ConnId,
        out: &mut BytesMut,
        budget: usize,
    ) -> Transmit {
        self.observe(now);
        let start = out.len();
        let Some(connection) = self.connections.get_mut(&conn) else {
            return Transmit { close_after: true, ..Transmit::default() };
        };
        match &mut connection.state {
            State::Fresh { .. } => Transmit::default(),
            State::Attached(key) => {
                let key = *key;
                self.transmit_session(key, out, budget)
            }
            State::Closing { tail, discard } => {
                let discard = *discard;
                while let Some(frame) = tail.front() {
                    let written = out.len() - start;
                    if written >= budget || (written > 0 && written + frame.len() > budget) {
                        return Transmit { bytes: written, more: true, ..Transmit::default() };
                    }
                    out.extend_from_slice(frame);
                    connection.tail_bytes -= frame.len();
                    self.usage.unsent -= frame.len();
                    tail.pop_front();
                }
                self.forget_connection(conn);
                Transmit { bytes: out.len() - start, more: false, close_after: true, discard }
            }
        }
    }

    fn transmit_session(&mut self, key: super::SessionKey, out: &mut BytesMut, budget: usize) -> Transmit {
        let start = out.len();
        let Some(session) = self.sessions.get_mut(key) else { return Transmit::default() };
        let (unsent, history) = (session.outbox.unsent_memory(), session.outbox.history_memory());
        loop {
            let written = out.len() - start;
            if written >= budget {
                break;
            }
            let room = if written == 0 { usize::MAX } else { budget - written };
            if !session.write_next(out, room) {
                break;
            }
        }
        let more = session.has_output();
        session.announced = more;
        self.usage.unsent -= unsent - session.outbox.unsent_memory();
        self.usage.history = self.usage.history + session.outbox.history_memory() - history;
        if session.held && session.outbox.unsent_bytes() <= self.config.unsent_bytes_low {
            session.held = false;
            self.events.push_back(Event::Writable { session: key });
            self.review_pause(key);
        }
        Transmit { bytes: out.len() - start, more, ..Transmit::default() }
    }
}
