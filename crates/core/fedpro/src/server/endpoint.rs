//! The endpoint: commands, timeouts, and the life of connections and sessions.

use super::admission::Admission;
use super::connection::{Connection, State};
use super::memory::{Pause, Usage};
use super::session::Session;
use super::slots::Slots;
use super::{Config, ConnId, EndReason, Event, Overload, Refusal, SessionKey};
use crate::frame::{BODY_BYTES_LIMIT, Decoder, MessageType};
use crate::response::{ApiVersion, encode_response, exception_response};
use base::{Address, Deadlines, HandleMap, Moment, Serial31};
use bytes::Bytes;
use hla::RtiError;
use hla::api::CallResponse;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

/// All sessions of one process, and the connections that carry them.
///
/// The world owns the sockets. It hands in what comes (`handle_*`), the kernel hands in responses and
/// callbacks (commands), and both are told what to do by `poll_*`.
///
/// Contract: after any `&mut` call drain [`Endpoint::poll_event`]; take every connection that
/// [`Endpoint::poll_ready`] names and drain [`Endpoint::poll_transmit`] for it as its socket takes
/// bytes; then sleep until [`Endpoint::poll_timeout`]. `now` never decreases. Spurious timeouts are
/// harmless, as are calls for connections and sessions that are gone.
///
/// A session outlives its connection: on loss it is kept for a resume, responses and callbacks wait
/// (within [`Config::unsent_bytes_max`]), and are repeated from the last one the client received.
///
/// Whoever breaks the protocol loses his session and his connection, and nobody else notices. A call
/// in a sound frame whose content cannot be read, or that names no service, is answered with
/// RTIinternalError by the endpoint itself, and the session goes on: frame boundaries are not in
/// doubt, and clients treat unreadable content from a server the same way.
#[derive(Debug)]
pub struct Endpoint {
    pub(super) config: Config,
    pub(super) connections: HandleMap<ConnId, Connection>,
    /// Those that are being closed.
    pub(super) closing: BTreeSet<ConnId>,
    pub(super) admission: Admission,
    pub(super) sessions: Slots<Session>,
    pub(super) by_id: HashMap<u64, SessionKey>,
    pub(super) events: VecDeque<Event>,
    pub(super) ready: VecDeque<ConnId>,
    pub(super) timers: Deadlines<Timer>,
    pub(super) stats: Stats,
    pub(super) usage: Usage,
    pub(super) pause: Pause,
    now: Moment,
}

/// Nothing else is ever scheduled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Timer {
    /// First message, or last bytes.
    Connection(ConnId),
    /// Silence, or resume window.
    Session(SessionKey),
}

/// Counters since the endpoint was made; only ever rising.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Sessions opened.
    pub sessions_opened: u64,
    /// Resumes that succeeded.
    pub sessions_resumed: u64,
    /// Connections closed without ever having had a session.
    pub connections_refused: u64,
    /// Of these, the ones that were told that the server is out of resources.
    pub sessions_refused: u64,
    /// Sessions ended because they did not connect, in time or before their place was needed.
    pub sessions_evicted: u64,
    /// HLA messages of clients that came again after a resume and were dropped.
    pub repeated_messages: u64,
    /// Calls answered with RTIinternalError because their content could not be read.
    pub unreadable_calls: u64,
    /// Times that a client was paused because input takes too much memory.
    pub paused_for_input: u64,
    /// Times that a client was paused because what waits for clients takes too much memory.
    pub paused_for_output: u64,
}

impl Endpoint {
    /// An endpoint without connections.
    pub fn new(config: Config) -> Self {
        Self {
            admission: Admission::new(&config),
            config,
            connections: HandleMap::default(),
            closing: BTreeSet::new(),
            sessions: Slots::new(),
            by_id: HashMap::new(),
            events: VecDeque::new(),
            ready: VecDeque::new(),
            timers: Deadlines::new(),
            stats: Stats::default(),
            usage: Usage::default(),
            pause: Pause::default(),
            now: Moment::ZERO,
        }
    }

    // Getters.

    /// The limits and timeouts.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Counters.
    pub const fn stats(&self) -> Stats {
        self.stats
    }

    /// How many sessions there are, interrupted ones included.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// How many connections there are, those being closed included.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Bytes that wait to be sent in `session`; 0 for one that is over.
    pub fn unsent_bytes(&self, session: SessionKey) -> usize {
        self.sessions.get(session).map_or(0, |s| s.outbox.unsent_bytes())
    }

    /// Whether `session` takes more callbacks: false from [`Config::unsent_bytes_high`] on until
    /// [`Event::Writable`]. Callbacks given nevertheless are not refused.
    pub fn is_writable(&self, session: SessionKey) -> bool {
        self.sessions.get(session).is_some_and(|s| !s.held)
    }

    /// The address of its connection, or of its last one.
    pub fn address(&self, session: SessionKey) -> Option<Address> {
        self.sessions.get(session).map(|s| s.address)
    }

    /// Whether `session` has a connection now.
    pub fn is_connected(&self, session: SessionKey) -> bool {
        self.sessions.get(session).is_some_and(|s| s.conn.is_some())
    }

    // Inputs.

    /// The connection is gone, whoever closed it.
    pub fn handle_closed(&mut self, now: Moment, conn: ConnId) {
        self.observe(now);
        if let Some(key) = self.forget_connection(conn) {
            self.interrupt(now, key);
        }
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Moment) {
        self.observe(now);
        while let Some(timer) = self.timers.pop_due(now) {
            match timer {
                Timer::Connection(conn) => self.connection_timeout(now, conn),
                Timer::Session(key) => self.session_timeout(now, key),
            }
        }
    }

    /// The next thing that happened.
    #[must_use]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Whether [`Endpoint::poll_event`] has something.
    #[must_use]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// When to call [`Endpoint::handle_timeout`] at the latest.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Moment> {
        self.timers.next()
    }

    // Commands.

    /// Answers a call. See [`Endpoint::respond_encoded`].
    pub fn respond(
        &mut self,
        now: Moment,
        session: SessionKey,
        call: Serial31,
        response: &CallResponse,
    ) -> bool {
        self.respond_encoded(now, session, call, encode_response(response))
    }

    /// Answers a call with an encoded, non-empty `CallResponse` (see
    /// [`empty_response`](crate::response::empty_response) for those without a result). False, and
    /// nothing is sent, when the session is over or the call is not one that waits for an answer: a
    /// second answer would make clients stop reading.
    ///
    /// A body over [`BODY_BYTES_LIMIT`] is replaced by RTIinternalError.
    pub fn respond_encoded(&mut self, now: Moment, session: SessionKey, call: Serial31, body: Bytes) -> bool {
        self.observe(now);
        let Some(s) = self.sessions.get_mut(session) else { return false };
        let Some(bytes) = s.take_call(call) else { return false };
        self.usage.input -= bytes;
        let body = if body.len() > BODY_BYTES_LIMIT { too_long(body.len()) } else { body };
        let (bytes, pushed) = s.push_hla(MessageType::CallResponse, Some(call), body, &self.config);
        self.usage.unsent += bytes;
        if s.paused {
            self.review_pause(session);
        }
        self.pushed(now, session, pushed)
    }

    /// Sends a callback: an encoded `CallbackRequest`, which many sessions may share. False, and
    /// nothing is sent, when the session is over or the body exceeds [`BODY_BYTES_LIMIT`].
    pub fn callback(&mut self, now: Moment, session: SessionKey, body: Bytes) -> bool {
        self.observe(now);
        if body.len() > BODY_BYTES_LIMIT {
            return false;
        }
        let Some(s) = self.sessions.get_mut(session) else { return false };
        let (bytes, pushed) = s.push_hla(MessageType::CallbackRequest, None, body, &self.config);
        self.usage.unsent += bytes;
        self.pushed(now, session, pushed)
    }

    /// Ends a session. What waits to be sent is still written, for at most
    /// [`Config::close_timeout`], except after overload and bad messages. False when it is over already.
    pub fn end(&mut self, now: Moment, session: SessionKey, reason: EndReason) -> bool {
        self.observe(now);
        let discard = !matches!(reason, EndReason::Closed(_) | EndReason::Terminated);
        let Some(s) = self.remove_session(session, reason) else { return false };
        if let Some(conn) = s.conn {
            let tail = if discard { VecDeque::new() } else { s.into_tail() };
            self.close(now, conn, tail, discard);
        }
        true
    }

    /// How long `session` is kept after its connection was lost; [`Config::resume_window`] until set.
    /// Meant for sessions that have nothing to lose: a federate that never joined or has resigned may
    /// have gone without a word, as MAK's client does. It counts from the loss, also for a session
    /// that is interrupted now; zero ends the session with its connection.
    pub fn set_linger(&mut self, now: Moment, session: SessionKey, linger: Duration) {
        self.observe(now);
        if let Some(s) = self.sessions.get_mut(session) {
            s.linger = linger;
            self.schedule(session);
        }
    }

    /// Changes the tolerated silence of `session`, see [`Config::heart_timeout`].
    pub fn set_heart_timeout(&mut self, now: Moment, session: SessionKey, timeout: Option<Duration>) {
        self.observe(now);
        if let Some(s) = self.sessions.get_mut(session) {
            s.heart_timeout = timeout;
            self.schedule(session);
        }
    }

    // Inner life.

    pub(super) fn observe(&mut self, now: Moment) {
        debug_assert!(now >= self.now, "time went back from {} to {now}", self.now);
        self.now = now;
    }

    /// Sets the timer of a session to what is due next for it.
    pub(super) fn schedule(&mut self, key: SessionKey) {
        match self.sessions.get(key).and_then(Session::deadline) {
            Some(at) => self.timers.set(Timer::Session(key), at),
            None => {
                self.timers.clear(Timer::Session(key));
            }
        }
    }

    /// After a message was queued: tells the world, or ends the session if that was too much.
    fn pushed(&mut self, now: Moment, key: SessionKey, pushed: Result<(), Overload>) -> bool {
        match pushed {
            Ok(()) => {
                self.announce(key);
                true
            }
            Err(overload) => {
                self.end(now, key, EndReason::Overload(overload));
                false
            }
        }
    }

    pub(super) fn announce(&mut self, key: SessionKey) {
        if let Some(s) = self.sessions.get_mut(key)
            && !s.announced
            && let Some(conn) = s.conn
        {
            s.announced = true;
            self.ready.push_back(conn);
        }
    }

    fn connection_timeout(&mut self, now: Moment, conn: ConnId) {
        match self.connections.get(&conn).map(|c| &c.state) {
            Some(State::Fresh { .. }) => self.refuse(now, conn, Refusal::Silent, None),
            Some(State::Closing { .. }) => self.discard_tail(conn),
            Some(State::Attached(_)) | None => {}
        }
    }

    fn session_timeout(&mut self, now: Moment, key: SessionKey) {
        let Some(s) = self.sessions.get(key) else { return };
        // Messages do not move the timer; it looks when it fires.
        if s.deadline().is_none_or(|at| at > now) {
            self.schedule(key);
            return;
        }
        if let (true, Some(timeout)) = (s.connect_by.is_some_and(|at| at <= now), self.config.connect_timeout)
        {
            self.end(now, key, EndReason::NotConnected { timeout });
            return;
        }
        match s.conn {
            Some(conn) => {
                self.close(now, conn, VecDeque::new(), true);
                self.interrupt(now, key);
            }
            None => {
                self.remove_session(key, EndReason::ResumeWindowExpired);
            }
        }
    }

    /// The session has lost its connection.
    pub(super) fn interrupt(&mut self, now: Moment, key: SessionKey) {
        let Some(s) = self.sessions.get_mut(key) else { return };
        s.detach(now);
        if s.linger.is_zero() {
            self.remove_session(key, EndReason::ResumeWindowExpired);
        } else {
            self.events.push_back(Event::Interrupted { session: key });
            self.schedule(key);
        }
    }

    pub(super) fn remove_session(&mut self, key: SessionKey, reason: EndReason) -> Option<Session> {
        let session = self.sessions.remove(key)?;
        self.usage.remove(session.usage());
        self.by_id.remove(&session.id);
        self.admission.ended(session.address);
        self.admission.unconnected.remove(key);
        if matches!(reason, EndReason::NotConnected { .. } | EndReason::Evicted) {
            self.stats.sessions_evicted += 1;
        }
        self.timers.clear(Timer::Session(key));
        self.events.push_back(Event::SessionEnded { session: key, reason });
        Some(session)
    }

    /// The connection is to be closed when `tail` is written. Its session, if any, is the caller's care.
    pub(super) fn close(&mut self, now: Moment, conn: ConnId, tail: VecDeque<Bytes>, discard: bool) {
        let Some(connection) = self.connections.get_mut(&conn) else { return };
        self.admission.silent.remove(conn);
        self.closing.insert(conn);
        let before = connection.usage();
        connection.decoder = Decoder::default();
        connection.tail_bytes = tail.iter().map(Bytes::len).sum();
        if discard {
            connection.socket_bytes = 0;
        }
        connection.state = State::Closing { tail, discard };
        self.usage.replace(before, connection.usage());
        self.timers.set(Timer::Connection(conn), now + self.config.close_timeout);
        self.ready.push_back(conn);
    }

    /// The connection is closed; which session it carried.
    pub(super) fn forget_connection(&mut self, conn: ConnId) -> Option<SessionKey> {
        let connection = self.connections.remove(&conn)?;
        self.closing.remove(&conn);
        self.usage.remove(connection.usage());
        self.timers.clear(Timer::Connection(conn));
        self.admission.silent.remove(conn);
        match connection.state {
            State::Attached(key) => Some(key),
            State::Fresh { .. } | State::Closing { .. } => None,
        }
    }

    /// The connection has its session and is no longer fresh.
    pub(super) fn attach(&mut self, conn: ConnId, key: SessionKey) {
        self.admission.silent.remove(conn);
        if let Some(connection) = self.connections.get_mut(&conn) {
            connection.state = State::Attached(key);
            self.timers.clear(Timer::Connection(conn));
        }
    }
}

fn too_long(len: usize) -> Bytes {
    let error = RtiError::internal(format!(
        "the result takes {len} bytes, a message carries at most {BODY_BYTES_LIMIT}"
    ));
    encode_response(&exception_response(&error, ApiVersion::default()))
}
