//! Admission of connections and sessions.
//!
//! Limits bound the places of clients that have not yet shown that they are federates: connections
//! without a first message, and sessions without a connect call. In both cases an address that
//! takes many places loses its own ([`Pending`]). A limit per address bounds its sessions, and some
//! sessions are reserved for addresses that have none.

use super::connection::Connection;
use super::endpoint::Timer;
use super::{Config, ConnId, EndReason, Endpoint, Event, Proof, Refusal, SessionKey};
use crate::frame::{FIRST_MESSAGE_BYTES_MAX, NewSessionReason, PROTOCOL_VERSION};
use base::{Address, Moment, Pending};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::time::Duration;

/// A connection or session younger than this is not evicted for others of its own address. The
/// first message or call of a client that is 50 ms away comes within 100 ms.
pub const PENDING_AGE_MIN: Duration = Duration::from_millis(100);

/// The places of one endpoint, and their occupants.
#[derive(Debug)]
pub(super) struct Admission {
    /// Connections without a session.
    pub(super) silent: Pending<ConnId>,
    /// Sessions without a connect call.
    pub(super) unconnected: Pending<SessionKey>,
    /// Sessions of each address that has any.
    sessions: BTreeMap<Address, usize>,
    /// Sessions of all addresses.
    total: usize,
}

impl Admission {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            silent: Pending::new(config.connections_without_session_max, PENDING_AGE_MIN),
            unconnected: Pending::new(config.unconnected_sessions_max, PENDING_AGE_MIN),
            sessions: BTreeMap::new(),
            total: 0,
        }
    }

    /// Whether a client at `address` may open a session. `Some` names the session that must be
    /// evicted for it.
    ///
    /// # Errors
    /// The limit that is reached.
    pub(super) fn room(
        &self,
        now: Moment,
        address: Address,
        config: &Config,
    ) -> Result<Option<SessionKey>, Refusal> {
        let own = self.sessions.get(&address).copied().unwrap_or(0);
        let limit = config.sessions_per_address_max;
        if own >= limit {
            let evicted = self.unconnected.evictable_of(now, address);
            return evicted.map(Some).ok_or(Refusal::SessionsOfAddress { limit });
        }
        let reserved = if own == 0 { 0 } else { config.sessions_reserved };
        let limit = config.sessions_max;
        if self.total.saturating_add(reserved) >= limit {
            let evicted = self.unconnected.evictable(now, address);
            return evicted.map(Some).ok_or(Refusal::Sessions { limit });
        }
        let limit = self.unconnected.max();
        if self.unconnected.len() >= limit {
            let evicted = self.unconnected.evictable(now, address);
            return evicted.map(Some).ok_or(Refusal::UnconnectedSessions { limit });
        }
        Ok(None)
    }

    /// A client at `address` has opened a session.
    pub(super) fn opened(&mut self, address: Address) {
        self.total += 1;
        *self.sessions.entry(address).or_default() += 1;
    }

    /// A session of `address` has ended.
    pub(super) fn ended(&mut self, address: Address) {
        self.total -= 1;
        if let Some(own) = self.sessions.get_mut(&address) {
            *own -= 1;
            if *own == 0 {
                self.sessions.remove(&address);
            }
        }
    }

    /// A session continues from another address. No limit refuses it, because the session already
    /// exists.
    pub(super) fn moved(&mut self, from: Address, to: Address) {
        self.ended(from);
        self.opened(to);
    }
}

impl Endpoint {
    /// Takes note of a new connection from `address`. `session_id` is the id of the session that it
    /// may open. The world draws it: unguessable (it is the only secret that protects a resume),
    /// not 0, never used before.
    pub fn handle_open(&mut self, now: Moment, conn: ConnId, address: Address, session_id: u64) {
        self.observe(now);
        self.handle_closed(now, conn); // the world reused the name without closing it
        self.connections.insert(conn, Connection::new(address, FIRST_MESSAGE_BYTES_MAX, session_id));
        self.timers.set(Timer::Connection(conn), now + self.config.first_message_timeout);
        // A client speaks at once. Silent connections must therefore not keep others out.
        if let Some(evicted) = self.admission.silent.insert(now, conn, address) {
            let limit = self.admission.silent.max();
            self.refuse(now, evicted, Refusal::Connections { limit }, None);
        }
    }

    /// Tells what the carrier of a connection has proved, before its first bytes. A session can be
    /// resumed only with the proof with which it was opened.
    pub fn set_proof(&mut self, conn: ConnId, proof: Proof) {
        if let Some(connection) = self.connections.get_mut(&conn) {
            connection.proof = proof;
        }
    }

    /// Tells whether `session` is connected: its federate has called Connect (4.2), and not
    /// Disconnect since then. A session begins unconnected. Without [`Config::connect_timeout`]
    /// this has no effect.
    pub fn set_connected(&mut self, now: Moment, session: SessionKey, connected: bool) {
        self.observe(now);
        let Some(s) = self.sessions.get_mut(session) else { return };
        let deadline = self.config.connect_timeout.filter(|_| !connected).map(|timeout| now + timeout);
        s.connect_by = deadline;
        let address = s.address;
        self.schedule(session);
        if deadline.is_none() {
            self.admission.unconnected.remove(session);
        } else if let Some(evicted) = self.admission.unconnected.insert(now, session, address) {
            self.end(now, evicted, EndReason::Evicted);
        }
    }

    /// Whether a client may open a session. `Some` names the session that must be evicted for it.
    pub(super) fn check_new_session(
        &self,
        now: Moment,
        address: Address,
        id: u64,
        version: u32,
    ) -> Result<Option<SessionKey>, (Refusal, NewSessionReason)> {
        if version != PROTOCOL_VERSION {
            return Err((Refusal::Version(version), NewSessionReason::UnsupportedVersion));
        }
        if id == 0 || self.by_id.contains_key(&id) {
            return Err((Refusal::SessionId(id), NewSessionReason::OtherError));
        }
        let room = self.admission.room(now, address, &self.config);
        room.map_err(|refusal| (refusal, NewSessionReason::OutOfResources))
    }

    /// Sends `answer`, if any, and closes a connection that never got a session.
    pub(super) fn refuse(&mut self, now: Moment, conn: ConnId, reason: Refusal, answer: Option<Bytes>) {
        let Some(address) = self.connections.get(&conn).map(|connection| connection.address) else { return };
        self.stats.connections_refused += 1;
        self.stats.sessions_refused += u64::from(reason.is_overload());
        self.events.push_back(Event::Refused { conn, address, reason });
        // A silent client reads no answer, and its socket must not stay open for one.
        let discard = matches!(reason, Refusal::Silent | Refusal::Connections { .. });
        self.close(now, conn, answer.into_iter().collect(), discard);
    }
}

#[cfg(test)]
mod tests;
