//! The memory that an endpoint uses for its clients: its sums, and the choice of the clients that
//! pay when it is exhausted.
//!
//! The endpoint only counts. Its owner has the [budget](base::MemoryBudget), and decides when to
//! pause clients and when to end a session.

use super::connection::{Connection, State};
use super::session::Session;
use super::{ConnId, Endpoint, SessionKey};
use base::Address;
use std::collections::{BTreeMap, VecDeque};

/// Bytes kept for clients, by purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Incomplete messages, and calls that wait for their response.
    pub input: usize,
    /// Messages not yet written, and written ones that a full socket has not accepted.
    pub unsent: usize,
    /// Written messages that are kept for a resume.
    pub history: usize,
}

impl Usage {
    /// Replaces a part of the sum, `before`, by its new value, `after`.
    pub(super) const fn replace(&mut self, before: Self, after: Self) {
        self.input = self.input + after.input - before.input;
        self.unsent = self.unsent + after.unsent - before.unsent;
        self.history = self.history + after.history - before.history;
    }

    /// Subtracts the part `gone`.
    pub(super) const fn remove(&mut self, gone: Self) {
        self.replace(gone, Self { input: 0, unsent: 0, history: 0 });
    }
}

/// The clients that are not read for now.
#[derive(Debug, Default)]
pub(super) struct Pause {
    /// Pause clients whose input takes more than this, in bytes.
    input: Option<usize>,
    /// Pause clients whose session is not writable.
    output: bool,
    /// Connections that may be read again.
    released: VecDeque<ConnId>,
}

impl Pause {
    /// Whether any client may be paused.
    pub(super) const fn is_active(&self) -> bool {
        self.input.is_some() || self.output
    }
}

impl Endpoint {
    /// Bytes kept for all clients. Cost: O(1).
    pub const fn usage(&self) -> Usage {
        self.usage
    }

    /// Pauses clients because input takes too much memory: from now on those whose input takes more
    /// than `over` bytes are [paused](Endpoint::is_paused). `None` lifts the pause.
    pub fn pause_input(&mut self, over: Option<usize>) {
        self.change_pause(|pause| pause.input = over);
    }

    /// Pauses clients because output takes too much memory: while `on`, those that are not
    /// [writable](Endpoint::is_writable) are [paused](Endpoint::is_paused).
    pub fn pause_output(&mut self, on: bool) {
        self.change_pause(|pause| pause.output = on);
    }

    fn change_pause(&mut self, change: impl FnOnce(&mut Pause)) {
        change(&mut self.pause);
        for key in self.sessions.keys().collect::<Vec<_>>() {
            self.review_pause(key);
        }
    }

    /// Whether the world should not read from `conn` for now. [`Endpoint::poll_released`] names the
    /// connection when the pause is over.
    pub fn is_paused(&self, conn: ConnId) -> bool {
        if !self.pause.is_active() {
            return false;
        }
        match self.connections.get(&conn).map(|connection| &connection.state) {
            Some(&State::Attached(key)) => self.should_pause(key),
            _ => false,
        }
    }

    /// The next connection that may be read again.
    #[must_use]
    pub fn poll_released(&mut self) -> Option<ConnId> {
        self.pause.released.pop_front()
    }

    fn should_pause(&self, key: SessionKey) -> bool {
        let Some(session) = self.sessions.get(key) else { return false };
        let over = self.pause.input.is_some_and(|over| self.input_of(session) > over);
        over || self.pause.output && session.held
    }

    /// Notes whether a session is paused from now on.
    pub(super) fn review_pause(&mut self, key: SessionKey) {
        let paused = self.should_pause(key);
        let by_input = self.pause.input.is_some();
        let Some(session) = self.sessions.get_mut(key).filter(|session| session.paused != paused) else {
            return;
        };
        session.paused = paused;
        match (paused, session.conn) {
            (true, _) if by_input => self.stats.paused_for_input += 1,
            (true, _) => self.stats.paused_for_output += 1,
            (false, Some(conn)) => self.pause.released.push_back(conn),
            (false, None) => {}
        }
    }

    /// Bytes of input of one session.
    fn input_of(&self, session: &Session) -> usize {
        let connection = session.conn.and_then(|conn| self.connections.get(&conn));
        session.usage().input + connection.map_or(0, |connection| connection.usage().input)
    }

    /// Bytes that wait for one session, including those that its socket has not accepted.
    pub fn waiting_bytes(&self, key: SessionKey) -> usize {
        let Some(session) = self.sessions.get(key) else { return 0 };
        let connection = session.conn.and_then(|conn| self.connections.get(&conn));
        session.usage().unsent + connection.map_or(0, |connection| connection.usage().unsent)
    }

    /// The session that pays when input takes too much memory, and its bytes: of the address with
    /// the most bytes, the session with the most of them. `None` when there is no input. Cost:
    /// O(sessions).
    pub fn heaviest_input(&self) -> Option<(SessionKey, usize)> {
        let inputs =
            || self.sessions.iter().map(|(key, session)| (key, session.address, self.input_of(session)));
        let mut by_address: BTreeMap<Address, usize> = BTreeMap::new();
        inputs().for_each(|(_, address, bytes)| *by_address.entry(address).or_default() += bytes);
        let (heaviest, _) = by_address.into_iter().max_by_key(|&(_, bytes)| bytes)?;
        let of_address = inputs().filter(|&(_, address, bytes)| address == heaviest && bytes > 0);
        of_address.map(|(key, _, bytes)| (key, bytes)).max_by_key(|&(_, bytes)| bytes)
    }

    /// The session for which the most bytes wait, and their number. `queued` gives the bytes that
    /// wait for a session elsewhere. Cost: O(sessions).
    pub fn heaviest_output(&self, queued: impl Fn(SessionKey) -> usize) -> Option<(SessionKey, usize)> {
        let all = self.sessions.iter().map(|(key, _)| (key, self.waiting_bytes(key) + queued(key)));
        all.filter(|&(_, bytes)| bytes > 0).max_by_key(|&(_, bytes)| bytes)
    }

    /// Drops written messages until those of all sessions take at most `bytes`. Returns how many
    /// were dropped. The sessions with the most bytes lose their oldest messages, as they do at
    /// their own limit. Sessions without a connection need these messages for a resume, and lose
    /// some only if those of the others do not suffice. Cost: O(sessions).
    pub fn trim_history(&mut self, bytes: usize) -> u64 {
        let of = |connected: bool| {
            let sessions =
                self.sessions.iter().filter(move |(_, session)| session.conn.is_some() == connected);
            let mut all: Vec<_> = sessions.map(|(_, session)| session.usage().history).collect();
            all.sort_unstable();
            all
        };
        let (connected, interrupted) = (of(true), of(false));
        let kept: usize = interrupted.iter().sum();
        let limits = match kept > bytes {
            true => (0, level(&interrupted, bytes)),
            false => (level(&connected, bytes - kept), usize::MAX),
        };
        let mut dropped = 0;
        for key in self.sessions.keys().collect::<Vec<_>>() {
            let Some(session) = self.sessions.get_mut(key) else { continue };
            let before = session.usage();
            let limit = if session.conn.is_some() { limits.0 } else { limits.1 };
            dropped += session.outbox.trim_history(limit);
            self.usage.replace(before, session.usage());
        }
        dropped
    }

    /// Discards unwritten bytes of connections whose sessions have ended. Returns the number of
    /// connections that had some.
    pub fn discard_tails(&mut self) -> u64 {
        let has_tail = |conn: &ConnId| self.connections.get(conn).is_some_and(|c| c.tail_bytes > 0);
        let closing: Vec<ConnId> = self.closing.iter().copied().filter(has_tail).collect();
        closing.iter().for_each(|&conn| self.discard_tail(conn));
        closing.len() as u64
    }

    /// Closes a connection and discards its unwritten bytes.
    pub(super) fn discard_tail(&mut self, conn: ConnId) {
        let Some(connection) = self.connections.get_mut(&conn) else { return };
        if let State::Closing { tail, discard } = &mut connection.state {
            self.usage.unsent -= std::mem::take(&mut connection.tail_bytes);
            self.usage.unsent -= std::mem::take(&mut connection.socket_bytes);
            *tail = VecDeque::new();
            *discard = true;
            self.ready.push_back(conn);
        }
    }

    /// Reports that the socket of `conn` is full and has not yet accepted `bytes` that were
    /// [given](Endpoint::poll_transmit) for it; 0 when it has accepted them.
    pub fn set_socket_bytes(&mut self, conn: ConnId, bytes: usize) {
        let Some(connection) = self.connections.get_mut(&conn) else { return };
        let before = connection.usage();
        connection.socket_bytes = bytes;
        self.usage.replace(before, connection.usage());
    }
}

impl Connection {
    /// The memory of the connection alone, without its session.
    pub(super) fn usage(&self) -> Usage {
        let unsent = self.socket_bytes + self.tail_bytes;
        Usage { input: self.decoder.buffered(), unsent, history: 0 }
    }
}

/// The highest limit that, applied to each of `amounts` (ascending), brings their sum to at most
/// `sum`.
fn level(amounts: &[usize], sum: usize) -> usize {
    let mut rest = sum;
    for (index, &amount) in amounts.iter().enumerate() {
        let share = rest / (amounts.len() - index);
        if amount > share {
            return share;
        }
        rest -= amount;
    }
    usize::MAX
}

#[cfg(test)]
mod tests;
