//! The outgoing half: messages to the server.

use super::session::State;
use super::{Event, Session};
use crate::frame::{Control, Numbers, put_control};
use base::Moment;
use bytes::BytesMut;

impl Session {
    /// Whether [`Session::poll_transmit`] would append anything.
    pub fn has_output(&self) -> bool {
        match self.state {
            State::Opening { .. } | State::Resuming { .. } => self.hello.is_some(),
            State::Running | State::Terminating { .. } => {
                !self.outbox.is_drained() || self.farewell.is_some()
            }
            State::Ended => self.farewell.is_some(),
            State::Connecting { .. } | State::Waiting { .. } | State::Reconnecting { .. } => false,
        }
    }

    /// Appends whole messages to `out`: as many as fit into `budget` bytes, and at least one unless
    /// `budget` is 0. Returns the number of bytes appended; 0 when there is nothing to write now.
    ///
    /// It may cause an [`Event::Writable`].
    pub fn poll_transmit(&mut self, now: Moment, out: &mut BytesMut, budget: usize) -> usize {
        self.observe(now);
        if budget == 0 {
            return 0;
        }
        let start = out.len();
        match self.state {
            State::Opening { .. } | State::Resuming { .. } => {
                if let Some((control, sequence)) = self.hello.take() {
                    self.put(out, control, sequence);
                }
            }
            State::Running | State::Terminating { .. } => self.write_queue(out, budget),
            State::Ended => self.write_farewell(out),
            State::Connecting { .. } | State::Waiting { .. } | State::Reconnecting { .. } => {}
        }
        let written = out.len() - start;
        if written > 0 {
            self.heartbeat_at = now + self.quiet_time();
        }
        if self.refused && self.outbox.unsent_bytes() <= self.config.unsent_bytes_low {
            self.refused = false;
            self.events.push_back(Event::Writable);
        }
        written
    }

    fn write_queue(&mut self, out: &mut BytesMut, budget: usize) {
        let start = out.len();
        while let Some(bytes) = self.outbox.next_bytes() {
            let written = out.len() - start;
            if written > 0 && written + bytes > budget {
                return;
            }
            self.outbox.write_next(out, self.id, self.inbox.last());
        }
        // After the queue, so that sequence numbers rise on the wire.
        self.write_farewell(out);
    }

    fn write_farewell(&mut self, out: &mut BytesMut) {
        if let Some(control) = self.farewell.take() {
            let sequence = Some(self.outbox.take_number());
            self.put(out, control, sequence);
        }
    }

    fn put(&self, out: &mut BytesMut, control: Control, sequence: Option<base::Serial31>) {
        put_control(out, self.id, Numbers { sequence, last_received: self.inbox.last() }, control);
    }
}
