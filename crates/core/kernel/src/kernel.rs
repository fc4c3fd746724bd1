//! The kernel: events of sessions become service calls, and what services answer becomes messages.

use crate::{Config, ConnId, FomSource, Status, Transmit};
use base::{Moment, Serial31};
use bytes::{Bytes, BytesMut};
use fedpro::response::{ApiVersion, encode_response, exception_response};
use fedpro::server::{EndReason, Endpoint, Event, SessionKey};
use hla::RtiError;
use hla::api::{self, CallRequest, CallResponse, call_response, callback_request};
use rti::{CallId, CallerId, Completion, Rti};

/// What a session is to the services.
struct Session {
    key: SessionKey,
    caller: CallerId,
}

/// Sessions, services and router of one process.
///
/// Contract: after any `&mut` call drain [`Kernel::poll_ready`], call [`Kernel::poll_transmit`] for each
/// connection named until it says there is no more, and sleep until [`Kernel::poll_timeout`]. `now`
/// never decreases. Spurious timeouts are harmless.
pub struct Kernel {
    config: Config,
    endpoint: Endpoint,
    rti: Rti,
    /// By slot of the session key.
    sessions: Vec<Option<Session>>,
    last_caller: u64,
    /// The connection just lost was closed by its other side.
    peer_closed: bool,
}

impl Kernel {
    /// A kernel without sessions. FOM modules that federates only name come from `source`.
    pub fn new(config: Config, source: Box<dyn FomSource>) -> Self {
        Self {
            endpoint: Endpoint::new(config.sessions.clone()),
            rti: Rti::new(config.rti.clone(), source),
            sessions: Vec::new(),
            last_caller: 0,
            peer_closed: false,
            config,
        }
    }

    /// A client has connected. `session_id` is drawn by the world: unguessable, not 0, never used before.
    pub fn handle_open(&mut self, now: Moment, conn: ConnId, session_id: u64) {
        self.endpoint.handle_open(now, conn, session_id);
        self.drive(now);
    }

    /// Bytes came in on a connection.
    pub fn handle_bytes(&mut self, now: Moment, conn: ConnId, bytes: Bytes) {
        self.endpoint.handle_bytes(now, conn, bytes);
        self.drive(now);
    }

    /// The other side closed a connection, or it broke.
    pub fn handle_closed(&mut self, now: Moment, conn: ConnId) {
        self.endpoint.handle_closed(now, conn);
        self.peer_closed = true;
        self.drive(now);
        self.peer_closed = false;
    }

    /// The moment of [`Kernel::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Moment) {
        self.endpoint.handle_timeout(now);
        self.drive(now);
    }

    /// Tells every federate that the RTI goes away, and ends all sessions. What waits is still written.
    pub fn begin_shutdown(&mut self, now: Moment) {
        let body = connection_lost("the RTI is shutting down");
        let keys: Vec<_> = self.sessions.iter().flatten().map(|session| session.key).collect();
        for key in keys {
            self.endpoint.callback(now, key, body.clone());
            self.endpoint.end(now, key, EndReason::Closed("the RTI is shutting down".into()));
        }
        self.drive(now);
    }

    /// A connection that has something to send, or that is to be closed.
    #[must_use]
    pub fn poll_ready(&mut self) -> Option<ConnId> {
        self.endpoint.poll_ready()
    }

    /// Appends messages for `conn` to `out`, as many as fit into `budget` bytes.
    pub fn poll_transmit(
        &mut self,
        now: Moment,
        conn: ConnId,
        out: &mut BytesMut,
        budget: usize,
    ) -> Transmit {
        let transmit = self.endpoint.poll_transmit(now, conn, out, budget);
        self.drive(now);
        transmit
    }

    /// When [`Kernel::handle_timeout`] is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Moment> {
        self.endpoint.poll_timeout()
    }

    /// What runs here.
    pub fn status(&self) -> Status {
        Status {
            federations: self.rti.status(),
            sessions: self.endpoint.sessions(),
            connections: self.endpoint.connections(),
            endpoint: self.endpoint.stats(),
        }
    }

    /// Does everything that has become possible. What a session's end causes at others is done as well.
    fn drive(&mut self, now: Moment) {
        loop {
            while let Some(event) = self.endpoint.poll_event() {
                self.handle_event(now, event);
                self.commit(now);
            }
            if let Some(caller) = self.rti.poll_ready() {
                self.pump(now, caller);
            } else if let Some(caller) = self.rti.poll_overloaded() {
                self.end_overloaded(now, caller);
            } else {
                break;
            }
        }
    }

    fn handle_event(&mut self, now: Moment, event: Event) {
        match event {
            Event::Call { session, call, request } => self.call(now, session, call, request),
            Event::CallbackResponse { session, callback, result } => {
                if let Err(raised) = result {
                    tracing::warn!(%session, %callback, name = raised.exception_name, details = raised.details,
                        "the federate's callback failed");
                }
            }
            Event::SessionOpened { session, conn } => self.session_opened(now, session, conn),
            Event::SessionEnded { session, reason } => self.session_ended(now, session, &reason),
            Event::Interrupted { session } => self.interrupted(now, session),
            Event::Resumed { session, conn } => tracing::info!(%session, %conn, "session resumed"),
            Event::Writable { session } => {
                if let Some(caller) = self.caller(session) {
                    self.pump(now, caller);
                }
            }
            Event::Refused { conn, reason } => tracing::info!(%conn, %reason, "connection refused"),
        }
    }

    fn session_opened(&mut self, now: Moment, key: SessionKey, conn: ConnId) {
        tracing::info!(session = %key, %conn, "session opened");
        self.last_caller += 1;
        // The slot in the low half leads back to the session.
        let caller = CallerId(self.last_caller << 32 | key.slot() as u64);
        if self.sessions.len() <= key.slot() {
            self.sessions.resize_with(key.slot() + 1, || None);
        }
        self.sessions[key.slot()] = Some(Session { key, caller });
        self.endpoint.set_linger(now, key, self.config.unjoined_window);
        if let Err(error) = self.rti.open(now, caller) {
            self.endpoint.end(now, key, EndReason::Closed(error.to_string().into()));
        }
    }

    fn session_ended(&mut self, now: Moment, key: SessionKey, reason: &EndReason) {
        tracing::info!(session = %key, %reason, "session ended");
        let Some(entry) = self.sessions.get_mut(key.slot()) else { return };
        if let Some(session) = entry.take_if(|session| session.key == key) {
            self.rti.close(now, session.caller);
        }
    }

    /// A federate whose own side closed the connection has less time to come back.
    fn interrupted(&mut self, now: Moment, key: SessionKey) {
        tracing::info!(session = %key, peer_closed = self.peer_closed, "connection lost, session kept for a resume");
        // Set at every loss: the one before may have been of the other kind.
        if self.caller(key).is_some_and(|caller| self.rti.is_joined(caller)) {
            let window = match self.peer_closed {
                true => self.config.closed_window,
                false => self.config.sessions.resume_window,
            };
            self.endpoint.set_linger(now, key, window);
        }
    }

    fn caller(&self, key: SessionKey) -> Option<CallerId> {
        let session = self.sessions.get(key.slot())?.as_ref()?;
        (session.key == key).then_some(session.caller)
    }

    fn key(&self, caller: CallerId) -> Option<SessionKey> {
        let session = self.sessions.get((caller.0 & u64::from(u32::MAX)) as usize)?.as_ref()?;
        (session.caller == caller).then_some(session.key)
    }

    fn call(&mut self, now: Moment, key: SessionKey, call: Serial31, request: CallRequest) {
        let (Some(caller), Some(request)) = (self.caller(key), request.call_request) else { return };
        if let Some(answer) = self.rti.call(now, caller, CallId(call.get()), request) {
            self.respond(now, key, caller, call, answer);
        }
    }

    fn respond(
        &mut self,
        now: Moment,
        key: SessionKey,
        caller: CallerId,
        call: Serial31,
        answer: Result<call_response::CallResponse, RtiError>,
    ) {
        let response = match answer {
            Ok(answer) => CallResponse { call_response: Some(answer) },
            Err(error) => {
                tracing::debug!(session = %key, %call, %error, "service refused");
                let version = match self.rti.is_evolved(caller) {
                    true => ApiVersion::Ieee1516_2010,
                    false => ApiVersion::Ieee1516_2025,
                };
                exception_response(&error, version)
            }
        };
        self.endpoint.respond_encoded(now, key, call, encode_response(&response));
    }

    /// A single node is its own order: what is proposed is committed at once.
    fn commit(&mut self, now: Moment) {
        while let Some(proposal) = self.rti.poll_proposal() {
            tracing::debug!(command = ?proposal.command(), "commit");
            let Some(Completion { caller, call, answer }) = self.rti.commit(now, proposal) else { continue };
            let Some(key) = self.key(caller) else { continue };
            let window = match self.rti.is_joined(caller) {
                true => self.config.sessions.resume_window,
                false => self.config.unjoined_window,
            };
            self.endpoint.set_linger(now, key, window);
            let call = Serial31::new(call.0).expect("the call's number came from the session");
            self.respond(now, key, caller, call, answer);
        }
    }

    /// Moves callbacks into the session while it takes them.
    fn pump(&mut self, now: Moment, caller: CallerId) {
        let Some(key) = self.key(caller) else { return };
        while self.endpoint.is_writable(key) {
            let Some(body) = self.rti.poll_callback(caller) else { return };
            self.endpoint.callback(now, key, body);
        }
    }

    fn end_overloaded(&mut self, now: Moment, caller: CallerId) {
        if let Some(key) = self.key(caller) {
            let limit = self.config.rti.queue_bytes_max;
            let reason =
                format!("the federate does not keep up: over {limit} bytes of reliable callbacks wait");
            // It learns why, should it ever read again.
            self.endpoint.callback(now, key, connection_lost(&reason));
            self.endpoint.end(now, key, EndReason::Closed(reason.into()));
        }
    }
}

/// The encoded callback Connection Lost (4.4).
fn connection_lost(reason: &str) -> Bytes {
    let lost = api::ConnectionLost { fault_description: reason.to_owned() };
    let callback = callback_request::CallbackRequest::ConnectionLost(lost);
    api::Message::encode_to_vec(&api::CallbackRequest { callback_request: Some(callback) }).into()
}
