//! What the driver asks of the machine it drives.

use base::Moment;
use bytes::{Bytes, BytesMut};
use fedpro::server::{ConnId, Transmit};

/// A process's logic, without sockets, clock or chance.
///
/// Contract: after any `&mut` call the driver drains [`poll_ready`](Machine::poll_ready), calls
/// [`poll_transmit`](Machine::poll_transmit) for each connection it gets until that has no more or the socket
/// is full, and sleeps until [`poll_timeout`](Machine::poll_timeout) at most. `now` never decreases, and spurious
/// timeouts are harmless.
pub trait Machine {
    /// A connection was accepted. Should it open a session, `session_id` is the session's: drawn at random, not zero.
    fn handle_open(&mut self, now: Moment, conn: ConnId, session_id: u64);
    /// `conn` received `bytes`, cut anywhere.
    fn handle_bytes(&mut self, now: Moment, conn: ConnId, bytes: Bytes);
    /// `conn` is gone, whoever closed it. No call names it again.
    fn handle_closed(&mut self, now: Moment, conn: ConnId);
    /// The moment of [`poll_timeout`](Machine::poll_timeout) has come.
    fn handle_timeout(&mut self, now: Moment);
    /// The next connection that has something to write or is to be closed.
    fn poll_ready(&mut self) -> Option<ConnId>;
    /// Appends whole messages that `conn` should write now: as many as fit into `budget` bytes, at least one unless
    /// `budget` is 0, which asks only whether the connection is to be closed.
    fn poll_transmit(&mut self, now: Moment, conn: ConnId, out: &mut BytesMut, budget: usize) -> Transmit;
    /// When the machine wants to be woken.
    fn poll_timeout(&self) -> Option<Moment>;
    /// The process is about to stop: tell the federates, accept nobody.
    fn begin_shutdown(&mut self, now: Moment);
}
