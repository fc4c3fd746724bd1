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
/// The world owns the sockets and hands in their input (`handle_*`). The kernel hands in responses
/// and callbacks (commands). The `poll_*` methods tell both of them what to do.
///
/// Contract: after any `&mut` call drain [`Endpoint::poll_event`]; take every connection that
/// [`Endpoint::poll_ready`] names and drain [`Endpoint::poll_transmit`] for it as its socket
/// accepts bytes; then sleep until [`Endpoint::poll_timeout`]. `now` never decreases. Spurious
/// timeouts are harmless, and so are calls for connections and sessions that no longer exist.
///
/// A session outlives its connection. After a loss it is kept for a resume; responses and callbacks
/// wait (within [`Config::unsent_bytes_max`]). A resume repeats them from the first one that the
/// client has not received.
///
/// A client that breaks the protocol loses its session and its connection; other clients are not
/// affected. The endpoint itself answers a call whose frame is sound but whose content cannot be
/// decoded, or that names no service, with RTIinternalError. The session then continues: its frame
/// boundaries are not in doubt, and clients treat undecodable content from a server the same way.
#[derive(Debug)]
pub struct Endpoint {
    pub(super) config: Config,
    pub(super) connections: HandleMap<ConnId, Connection>,
    /// Connections that are being closed.
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

/// The timers of an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Timer {
    /// The first message is due, or the last bytes are.
    Connection(ConnId),
    /// The client has been silent too long, has not resumed, or has not connected in time.
    Session(SessionKey),
}

/// Counters since the endpoint was created. They never decrease.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Sessions opened.
    pub sessions_opened: u64,
    /// Resumes that succeeded.
    pub sessions_resumed: u64,
    /// Connections closed without ever having carried a session.
    pub connections_refused: u64,
    /// Those of them that were told that the server is out of resources.
    pub sessions_refused: u64,
    /// Sessions ended because they had not connected, either in time or before their place was
    /// needed.
    pub sessions_evicted: u64,
    /// HLA messages that clients repeated after a resume and the endpoint dropped.
    pub repeated_messages: u64,
    /// Calls answered with RTIinternalError because their content could not be decoded.
    pub unreadable_calls: u64,
    /// Number of times that a client was paused because input takes too much memory.
    pub paused_for_input: u64,
    /// Number of times that a client was paused because output takes too much memory.
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

    /// The number of sessions, interrupted ones included.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// The number of connections, those being closed included.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Unsent bytes of `session`; 0 for one that has ended.
    pub fn unsent_bytes(&self, session: SessionKey) -> usize {
        self.sessions.get(session).map_or(0, |s| s.outbox.unsent_bytes())
    }

    /// Whether `session` should get more callbacks: false from [`Config::unsent_bytes_high`] on,
    /// until [`Event::Writable`]. Callbacks passed anyway are not refused.
    pub fn is_writable(&self, session: SessionKey) -> bool {
        self.sessions.get(session).is_some_and(|s| !s.held)
    }

    /// The address of the session's connection, or of its last one.
    pub fn address(&self, session: SessionKey) -> Option<Address> {
        self.sessions.get(session).map(|s| s.address)
    }

    /// Whether `session` has a connection now.
    pub fn is_connected(&self, session: SessionKey) -> bool {
        self.sessions.get(session).is_some_and(|s| s.conn.is_some())
    }

    // Inputs.

    /// Reports that the connection is closed, no matter by which side.
    pub fn handle_closed(&mut self, now: Moment, conn: ConnId) {
        self.observe(now);
        if let Some(key) = self.forget_connection(conn) {
            self.interrupt(now, key);
        }
    }

    /// Reports that time has passed.
    pub fn handle_timeout(&mut self, now: Moment) {
        self.observe(now);
        while let Some(timer) = self.timers.pop_due(now) {
            match timer {
                Timer::Connection(conn) => self.connection_timeout(now, conn),
                Timer::Session(key) => self.session_timeout(now, key),
            }
        }
    }

    /// The next event.
    #[must_use]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Whether [`Endpoint::poll_event`] would return an event.
    #[must_use]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// The latest moment for the next call of [`Endpoint::handle_timeout`].
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
    /// [`empty_response`](crate::response::empty_response) for responses without a result). Returns
    /// false, and sends nothing, when the session has ended or the call is not outstanding: a
    /// second response would make clients stop reading.
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

    /// Sends a callback: an encoded `CallbackRequest`, which many sessions may share. Returns
    /// false, and sends nothing, when the session has ended or the body exceeds
    /// [`BODY_BYTES_LIMIT`].
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

    /// Ends a session. Queued messages are still written, for at most [`Config::close_timeout`],
    /// except after overload and bad messages. Returns false when the session has already ended.
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

    /// The address of a session's client and, if its connection is lost, the time for which the
    /// session is still kept for a resume.
    pub fn presence(&self, session: SessionKey) -> Option<(Address, Option<Duration>)> {
        let s = self.sessions.get(session)?;
        let left = s.conn.is_none().then(|| (s.interrupted + s.linger).since(self.now));
        Some((s.address, left))
    }

    /// Sets how long `session` is kept after the loss of its connection; [`Config::resume_window`]
    /// until set. Meant for sessions that have nothing to lose: a federate that never joined or has
    /// resigned may have gone without terminating its session, as MAK's client does. The time
    /// counts from the loss, even for a session that is interrupted now. Zero ends the session with
    /// its connection.
    pub fn set_linger(&mut self, now: Moment, session: SessionKey, linger: Duration) {
        self.observe(now);
        if let Some(s) = self.sessions.get_mut(session) {
            s.linger = linger;
            self.schedule(session);
        }
    }

    /// Changes how long `session` may be silent, see [`Config::heart_timeout`].
    pub fn set_heart_timeout(&mut self, now: Moment, session: SessionKey, timeout: Option<Duration>) {
        self.observe(now);
        if let Some(s) = self.sessions.get_mut(session) {
            s.heart_timeout = timeout;
            self.schedule(session);
        }
    }

    // Internals.

    pub(super) fn observe(&mut self, now: Moment) {
        debug_assert!(now >= self.now, "time went back from {} to {now}", self.now);
        self.now = now;
    }

    /// Sets the timer of a session to its next deadline.
    pub(super) fn schedule(&mut self, key: SessionKey) {
        match self.sessions.get(key).and_then(Session::deadline) {
            Some(at) => self.timers.set(Timer::Session(key), at),
            None => {
                self.timers.clear(Timer::Session(key));
            }
        }
    }

    /// After a message was queued: announces the connection to the world, or ends the session if
    /// the message exceeded a limit.
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
        // Messages do not move the timer. The deadline is checked when the timer fires.
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

    /// The connection closes when `tail` is written. The caller takes care of its session, if any.
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

    /// The connection is closed. Returns the session that it carried.
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

    /// The connection carries a session from now on.
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
