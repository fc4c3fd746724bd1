//! The bytes that clients make an endpoint keep: their sums, and the clients that pay when there
//! are too many.
//!
//! The endpoint only counts. Its owner has the [budget](base::MemoryBudget), and decides when
//! clients are paused and when one of them has to go.

use super::connection::{Connection, State};
use super::session::Session;
use super::{ConnId, Endpoint, SessionKey};
use base::Address;
use std::collections::{BTreeMap, VecDeque};

/// Bytes kept for clients.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Of incomplete messages, and of calls that wait for their response.
    pub input: usize,
    /// Of messages that wait to be written, and of written ones that a full socket has not taken.
    pub unsent: usize,
    /// Of written messages that are kept for a resume.
    pub history: usize,
}

impl Usage {
    /// Something that took `before` takes `after` now.
    pub(super) const fn replace(&mut self, before: Self, after: Self) {
        self.input = self.input + after.input - before.input;
        self.unsent = self.unsent + after.unsent - before.unsent;
        self.history = self.history + after.history - before.history;
    }

    /// Something that took `gone` is no more.
    pub(super) const fn remove(&mut self, gone: Self) {
        self.replace(gone, Self { input: 0, unsent: 0, history: 0 });
    }
}

/// Which clients are not read for now.
#[derive(Debug, Default)]
pub(super) struct Pause {
    /// Those whose input takes more than this.
    input: Option<usize>,
    /// Those that have more than enough to take.
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
    /// Bytes kept for all clients. Cost: none.
    pub const fn usage(&self) -> Usage {
        self.usage
    }

    /// Input of clients takes too much: from now on those whose input takes more than `over` bytes
    /// are [paused](Endpoint::is_paused). `None`: they go on.
    pub fn pause_input(&mut self, over: Option<usize>) {
        self.change_pause(|pause| pause.input = over);
    }

    /// What waits for clients takes too much: from now on those that are not
    /// [writable](Endpoint::is_writable) are [paused](Endpoint::is_paused), or go on.
    pub fn pause_output(&mut self, on: bool) {
        self.change_pause(|pause| pause.output = on);
    }

    fn change_pause(&mut self, change: impl FnOnce(&mut Pause)) {
        change(&mut self.pause);
        for key in self.sessions.keys().collect::<Vec<_>>() {
            self.review_pause(key);
        }
    }

    /// Whether nothing should be read from `conn` for now. It is named by
    /// [`Endpoint::poll_released`] when that is over.
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

    /// Notes that a session is paused, or no longer.
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

    /// Bytes that wait for one session, those that its socket has not taken included.
    pub fn waiting_bytes(&self, key: SessionKey) -> usize {
        let Some(session) = self.sessions.get(key) else { return 0 };
        let connection = session.conn.and_then(|conn| self.connections.get(&conn));
        session.usage().unsent + connection.map_or(0, |connection| connection.usage().unsent)
    }

    /// The session that pays when input takes too much, and its bytes: of the address with the most
    /// bytes the session with the most of them. `None` when there is no input. Cost: O(sessions).
    pub fn heaviest_input(&self) -> Option<(SessionKey, usize)> {
        let inputs =
            || self.sessions.iter().map(|(key, session)| (key, session.address, self.input_of(session)));
        let mut by_address: BTreeMap<Address, usize> = BTreeMap::new();
        inputs().for_each(|(_, address, bytes)| *by_address.entry(address).or_default() += bytes);
        let (heaviest, _) = by_address.into_iter().max_by_key(|&(_, bytes)| bytes)?;
        let of_address = inputs().filter(|&(_, address, bytes)| address == heaviest && bytes > 0);
        of_address.map(|(key, _, bytes)| (key, bytes)).max_by_key(|&(_, bytes)| bytes)
    }

    /// The session for which most bytes wait, and how many; `queued` are those that wait for it
    /// elsewhere. Cost: O(sessions).
    pub fn heaviest_output(&self, queued: impl Fn(SessionKey) -> usize) -> Option<(SessionKey, usize)> {
        let all = self.sessions.iter().map(|(key, _)| (key, self.waiting_bytes(key) + queued(key)));
        all.filter(|&(_, bytes)| bytes > 0).max_by_key(|&(_, bytes)| bytes)
    }

    /// Forgets written messages until those of all sessions take at most `bytes`; says how many.
    /// The sessions with the most bytes lose their oldest messages, as at their own limit. A
    /// session without a connection, which needs them to go on, loses some only if those of the
    /// others do not suffice. Cost: O(sessions).
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

    /// Gives up what waits for connections whose sessions have ended; says how many had something.
    pub fn discard_tails(&mut self) -> u64 {
        let has_tail = |conn: &ConnId| self.connections.get(conn).is_some_and(|c| c.tail_bytes > 0);
        let closing: Vec<ConnId> = self.closing.iter().copied().filter(has_tail).collect();
        closing.iter().for_each(|&conn| self.discard_tail(conn));
        closing.len() as u64
    }

    /// Closes a connection without the rest of what was to be written to it.
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

    /// The socket of `conn` is full and has yet to take `bytes` that were
    /// [given](Endpoint::poll_transmit) for it; 0 when it has taken them.
    pub fn set_socket_bytes(&mut self, conn: ConnId, bytes: usize) {
        let Some(connection) = self.connections.get_mut(&conn) else { return };
        let before = connection.usage();
        connection.socket_bytes = bytes;
        self.usage.replace(before, connection.usage());
    }
}

impl Connection {
    /// What the connection takes by itself.
    pub(super) fn usage(&self) -> Usage {
        let unsent = self.socket_bytes + self.tail_bytes;
        Usage { input: self.decoder.buffered(), unsent, history: 0 }
    }
}

/// The highest limit for each of `amounts`, ascending, with which they are no more than `sum`
/// together.
fn level(amounts: &[usize], sum: usize) -> usize {
    let mut rest = sum;
    for (place, &amount) in amounts.iter().enumerate() {
        let share = rest / (amounts.len() - place);
        if amount > share {
            return share;
        }
        rest -= amount;
    }
    usize::MAX
}

#[cfg(test)]
mod tests;
