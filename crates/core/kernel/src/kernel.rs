//! The kernel turns events of sessions into service calls, and the results of services into
//! messages.

use crate::access::Access;
use crate::admission::Standing;
use crate::memory::Memory;
use crate::network::{Network, NetworkConfig, NetworkError, Verdict};
use crate::paused::PausedCallers;
use crate::rates::Rates;
use crate::report::ReportQuery;
use crate::sessions::Sessions;
use crate::turn::{SlowTurns, Turn};
use crate::{Config, ConnId, FomSource, Status, Transmit};
use base::{Address, Moment, Serial31};
use bytes::{Bytes, BytesMut};
use fedpro::response::{ApiVersion, encode_response, exception_response};
use fedpro::server::{EndReason, Endpoint, Event, Refusal, SessionKey};
use hla::RtiError;
use hla::api::call_request::CallRequest as Call;
use hla::api::{self, CallRequest, CallResponse, call_response, callback_request};
use rti::{CallId, CallerId, Completion, Job, JobDone, Rti};
use std::rc::Rc;

/// The sessions and services of one process, and its part in a network.
///
/// Contract: after any `&mut` call drain [`Kernel::poll_ready`], call [`Kernel::poll_transmit`] for
/// each connection named until it has no more, run the job of [`Kernel::poll_job`], and sleep until
/// [`Kernel::poll_timeout`]. `now` never decreases. Spurious timeouts are harmless. A node of a
/// network also has links; `links.rs` adds their contract.
pub struct Kernel {
    pub(crate) config: Config,
    pub(crate) endpoint: Endpoint,
    pub(crate) rti: Rti,
    source: Rc<dyn FomSource>,
    pub(crate) sessions: Sessions,
    /// The other side closed the connection that was just lost.
    peer_closed: bool,
    pub(crate) network: Option<Box<Network>>,
    /// Callers that are not read for now because the network is congested, see
    /// [`Kernel::is_paused`].
    pub(crate) paused: PausedCallers,
    /// Sessions whose account limits what they send.
    pub(crate) rates: Rates,
    pub(crate) access: Box<Access>,
    pub(crate) memory: Box<Memory>,
    /// The caller served last. Its outgoing messages may still be held back so that they can be
    /// batched with the next ones.
    last_caller: Option<CallerId>,
    pub(crate) turn: Turn,
    pub(crate) slow_turns: SlowTurns,
}

impl Kernel {
    /// A kernel without sessions and without a network. `source` supplies the FOM modules that
    /// federates name but do not send.
    pub fn new(config: Config, source: Box<dyn FomSource>) -> Self {
        let source: Rc<dyn FomSource> = source.into();
        Self {
            endpoint: Endpoint::new(config.sessions.clone()),
            rti: Rti::new(config.rti.clone(), Box::new(Shared(Rc::clone(&source)))),
            source,
            sessions: Sessions::default(),
            peer_closed: false,
            network: None,
            paused: PausedCallers::default(),
            rates: Rates::default(),
            access: Box::new(Access::new(&config)),
            memory: Box::new(Memory::new(config.memory_bytes_max, config.input_pause_max)),
            last_caller: None,
            turn: Turn::default(),
            slow_turns: SlowTurns::default(),
            config,
        }
    }

    /// A kernel that is, or will be, a node of a network.
    ///
    /// # Errors
    /// The settings of the network are invalid.
    pub fn in_network(
        now: Moment,
        config: Config,
        network: NetworkConfig,
        source: Box<dyn FomSource>,
    ) -> Result<Self, NetworkError> {
        network.consensus.check()?;
        let key = network.overlay.key;
        let network = Network::new(now, network, key)?;
        let mut kernel = Self::new(config, source);
        kernel.enter(network);
        kernel.drive(now);
        Ok(kernel)
    }

    /// Starts as a node of `network`, with fresh services that have no state yet.
    fn enter(&mut self, network: Network) {
        let config = rti::Config { key: Some(network.key()), ..self.config.rti.clone() };
        let rti = Rti::new(config, Box::new(Shared(Rc::clone(&self.source))));
        let mut last = std::mem::replace(&mut self.rti, rti);
        // The network's object models are likely to be the same, so modules already read are kept.
        self.rti.take_read_modules(&mut last);
        self.sessions.set_closed(true);
        self.paused = PausedCallers::default();
        self.memory.review_next();
        self.last_caller = None;
        self.network = Some(Box::new(network));
    }

    /// A client at `address` has connected. The world draws `session_id`: unguessable, not 0, never
    /// used before.
    pub fn handle_open(&mut self, now: Moment, conn: ConnId, address: Address, session_id: u64) {
        self.begin_turn(Turn::Connection);
        self.endpoint.handle_open(now, conn, address, session_id);
        self.drive(now);
    }

    /// Bytes were received on a connection.
    pub fn handle_bytes(&mut self, now: Moment, conn: ConnId, bytes: Bytes) {
        self.begin_turn(Turn::Connection);
        if self.rates.received(now, conn, bytes.len()) {
            self.note_slowed(conn);
        }
        self.endpoint.handle_bytes(now, conn, bytes);
        self.drive(now);
    }

    /// The other side closed a connection, or it broke.
    pub fn handle_closed(&mut self, now: Moment, conn: ConnId) {
        self.begin_turn(Turn::Connection);
        self.endpoint.handle_closed(now, conn);
        self.access.closed(conn);
        self.peer_closed = true;
        self.drive(now);
        self.peer_closed = false;
    }

    /// The moment of [`Kernel::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Moment) {
        self.begin_turn(Turn::Timer);
        self.endpoint.handle_timeout(now);
        if let Some(network) = &mut self.network {
            network.handle_timeout(now);
        }
        self.rti.handle_timeout(now);
        self.rates.handle_timeout(now);
        self.refuse_unanswered(now);
        self.drive(now);
    }

    /// Tells every federate that the RTI shuts down, and ends all sessions. Queued messages are
    /// still written. A node leaves its network, see [`Kernel::has_left`].
    pub fn begin_shutdown(&mut self, now: Moment) {
        self.end_all(now, "the RTI is shutting down");
        self.drive(now);
        if let Some(network) = &mut self.network {
            network.leave(now);
            self.drive(now);
        }
    }

    /// Whether federates have to wait, because this node is not yet a member of its network. Always
    /// false without a network.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.network.as_ref().is_some_and(|network| !network.is_member())
    }

    /// Whether the node may stop after [`Kernel::begin_shutdown`] without harm to its network.
    /// Always true without a network.
    #[must_use]
    pub fn has_left(&self) -> bool {
        self.network.as_ref().is_none_or(|network| network.has_left())
    }

    /// Ends all sessions and tells the federates why.
    fn end_all(&mut self, now: Moment, why: &str) {
        let body = connection_lost(why);
        let keys: Vec<_> = self.sessions.keys().collect();
        for key in keys {
            self.endpoint.callback(now, key, body.clone());
            self.endpoint.end(now, key, EndReason::Closed(why.to_owned().into()));
        }
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
        // Writing causes no further work except what the endpoint reports as events.
        if self.endpoint.has_events() {
            self.drive(now);
        }
        transmit
    }

    /// When [`Kernel::handle_timeout`] is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Moment> {
        let own = Moment::sooner(self.endpoint.poll_timeout(), self.rti.poll_timeout());
        let own = Moment::sooner(own, self.memory.poll_timeout());
        let own = Moment::sooner(own, self.rates.poll_timeout());
        let own = Moment::sooner(own, self.access.authorizer.poll_timeout());
        let Some(network) = &self.network else { return own };
        let refusing = self.refusing_at().filter(|_| self.sessions.are_waiting());
        Moment::sooner(Moment::sooner(own, network.poll_timeout()), refusing)
    }

    /// A job: work too long to do while others wait. It may run on another thread; its outcome goes
    /// to [`Kernel::finish_job`].
    #[must_use]
    pub fn poll_job(&mut self) -> Option<Job> {
        self.rti.poll_job()
    }

    /// Takes the outcome of a job.
    pub fn finish_job(&mut self, now: Moment, done: JobDone) {
        self.begin_turn(Turn::Job);
        if let Some(completion) = self.rti.finish_job(now, done) {
            self.complete(now, completion);
        }
        self.drive(now);
    }

    /// A snapshot of the kernel.
    pub fn status(&self) -> Status {
        Status {
            federations: self.rti.status(),
            memory: self.memory(),
            sessions: self.endpoint.sessions(),
            connections: self.endpoint.connections(),
            endpoint: self.endpoint.stats(),
            passwords_wrong: self.access.failures.wrong(),
            passwords_refused: self.access.failures.refused(),
        }
    }

    /// Does all work that has become possible, including the consequences of ended sessions for
    /// other federates.
    pub(crate) fn drive(&mut self, now: Moment) {
        loop {
            while let Some(event) = self.endpoint.poll_event() {
                self.handle_event(now, event);
                self.commit(now);
            }
            self.let_go(now);
            self.commit(now);
            while let Some(completion) = self.rti.poll_completion() {
                self.complete(now, completion);
            }
            let moved = self.network.is_some() && self.drive_network(now);
            while let Some(caller) = self.rti.poll_ready() {
                self.pump(now, caller);
            }
            let reported = self.rti.settle_reports(now);
            if let Some(caller) = self.rti.poll_overloaded() {
                let limit = self.config.rti.queue_bytes_max;
                let reason =
                    format!("the federate does not keep up: over {limit} bytes of reliable callbacks wait");
                self.disconnect(now, caller, reason);
            } else if let Some((caller, reason)) = self.rti.poll_lost() {
                self.disconnect(now, caller, reason);
            } else if !moved && !reported && !self.endpoint.has_events() && !self.review_memory(now) {
                break;
            }
        }
    }

    /// Handles the events of the network. Returns true when they may have made more work possible.
    fn drive_network(&mut self, now: Moment) -> bool {
        let Some(network) = &mut self.network else { return false };
        let mut done = Vec::new();
        network.publish_summary(now, &self.rti, self.endpoint.sessions(), self.paused.len());
        let (verdict, again) = network.drive(now, &mut self.rti, &mut done);
        self.release();
        let again = again || !done.is_empty();
        for completion in done {
            self.complete(now, completion);
        }
        if let Verdict::Rejoin { why, may_create } = verdict {
            self.rejoin(now, &why, may_create);
        }
        self.review_admission(now) || again
    }

    /// Rejoins the network as a new incarnation after the node was removed from it or has given it
    /// up. Ends all sessions first.
    fn rejoin(&mut self, now: Moment, why: &str, may_create: bool) {
        match self.network.as_ref().is_some_and(|network| network.is_member()) {
            true => tracing::error!(why, "out of the network"),
            false => tracing::info!(why, "rejoins the network"),
        }
        for completion in self.rti.fail_waiting(now, why) {
            self.complete(now, completion);
        }
        self.end_all(now, why);
        let Some(network) = &self.network else { return };
        match network.rejoin(now, may_create) {
            Ok(network) => self.enter(network),
            Err(error) => tracing::error!(%error, "cannot join again"),
        }
    }

    /// The moment from which calls are refused and no longer wait for this node's membership.
    fn refusing_at(&self) -> Option<Moment> {
        let network = self.network.as_ref()?;
        Some(network.outside_since()? + network.minority_timeout())
    }

    /// Serves deferred calls once this node is a member of its network, and refuses them if that
    /// takes too long. Returns true when something changed.
    fn review_admission(&mut self, now: Moment) -> bool {
        let Some(network) = &self.network else { return false };
        if network.is_member() {
            if !self.sessions.set_closed(false) {
                return false;
            }
            let callers: Vec<_> = self.sessions.callers().collect();
            callers.into_iter().for_each(|caller| self.serve_later(now, caller));
            return true;
        }
        if self.refusing_at().is_none_or(|at| at > now) || !self.sessions.are_waiting() {
            return false;
        }
        let why = match network.awaited_voters() {
            None => format!(
                "this node is not part of its network: no link leads to a member that lets it in{}",
                network.failed_targets()
            ),
            Some(names) => format!(
                "this node is not part of its network: it waits until a majority of the nodes that voted last is there: {}",
                names.join(", ")
            ),
        };
        let mut any = false;
        for caller in self.sessions.callers().collect::<Vec<_>>() {
            while let Some((number, _)) = self.sessions.take_call(caller) {
                let Some(key) = self.sessions.key(caller) else { break };
                self.respond(now, key, caller, number, Err(RtiError::internal(why.clone())));
                any = true;
            }
        }
        any
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
            Event::Resumed { session, conn } => {
                tracing::info!(%session, %conn, "session resumed");
                let before = self.sessions.caller(session).and_then(|caller| self.sessions.conn(caller));
                self.sessions.moved(session, conn);
                if let Some(before) = before {
                    self.rates.moved(before, conn);
                }
            }
            Event::Writable { session } => {
                if let Some(caller) = self.sessions.caller(session) {
                    self.pump(now, caller);
                }
            }
            Event::Refused { conn, address, reason } => refused(conn, address, reason),
        }
    }

    fn session_opened(&mut self, now: Moment, key: SessionKey, conn: ConnId) {
        tracing::info!(session = %key, %conn, "session opened");
        let caller = self.sessions.open(key, conn);
        self.endpoint.set_linger(now, key, self.config.unjoined_window);
        if let Err(error) = self.rti.open(now, caller) {
            self.endpoint.end(now, key, EndReason::Closed(error.to_string().into()));
        } else if let Some(address) = self.endpoint.address(key) {
            self.rti.set_host(caller, &address.to_string());
        }
    }

    fn session_ended(&mut self, now: Moment, key: SessionKey, reason: &EndReason) {
        match reason {
            EndReason::Terminated | EndReason::Closed(_) => {
                tracing::info!(session = %key, %reason, "session ended");
            }
            _ => tracing::warn!(session = %key, %reason, "session ended"),
        }
        self.let_go(now);
        if let Some(conn) = self.sessions.caller(key).and_then(|caller| self.sessions.conn(caller)) {
            self.rates.forget(conn);
        }
        if let Some(caller) = self.sessions.close(key) {
            self.paused.forget(caller);
            self.rti.close(now, caller);
        }
    }

    /// Shortens the resume window of a federate whose own side closed the connection.
    fn interrupted(&mut self, now: Moment, key: SessionKey) {
        tracing::info!(session = %key, peer_closed = self.peer_closed, "connection lost, session kept for a resume");
        // Set at every loss, because the previous loss may have been of the other kind.
        if self.sessions.caller(key).is_some_and(|caller| self.rti.is_joined(caller)) {
            let window = match self.peer_closed {
                true => self.config.closed_window,
                false => self.config.sessions.resume_window,
            };
            self.endpoint.set_linger(now, key, window);
        }
    }

    fn call(&mut self, now: Moment, key: SessionKey, call: Serial31, request: CallRequest) {
        let (Some(caller), Some(request)) = (self.sessions.caller(key), request.call_request) else { return };
        // A connect call needs nothing of the network, except perhaps a report of it.
        let early = Standing::after(&request).is_some_and(Standing::is_connected);
        if let Some(request) = self.sessions.admit(caller, call, request, early) {
            self.serve(now, key, caller, call, request);
        }
    }

    fn serve(&mut self, now: Moment, key: SessionKey, caller: CallerId, call: Serial31, request: Call) {
        if self.last_caller.is_some_and(|last_caller| last_caller != caller) {
            self.let_go(now);
        }
        if let Some(request) = self.identify(now, key, caller, (call, request)) {
            self.serve_known(now, key, caller, call, request);
        }
    }

    /// Serves a call that the authorizer of the site, if there is one, allows.
    pub(crate) fn serve_authorized(
        &mut self,
        now: Moment,
        key: SessionKey,
        caller: CallerId,
        call: Serial31,
        request: Call,
    ) {
        let report = ReportQuery::of(&request);
        let standing = Standing::after(&request);
        let answer = self.rti.call(now, caller, CallId(call.get()), request);
        if let (Some(standing), Some(answer)) = (standing, &answer) {
            self.review_standing(now, key, standing, answer.is_ok());
        }
        self.take_authorizations();
        match answer {
            Some(Ok(mut answer)) if report != ReportQuery::None => {
                self.attach_report(&mut answer, &report);
                self.respond(now, key, caller, call, Ok(answer));
            }
            Some(answer) => self.respond(now, key, caller, call, answer),
            None => self.sessions.wait(caller),
        }
        if let Some(network) = &mut self.network {
            network.take_finished(now, &mut self.rti);
            self.paused.pause(caller, network.take_waits());
            self.last_caller = Some(caller);
        }
    }

    /// Sends the outgoing messages of the last caller that were held back for batching: no further
    /// call is at hand, or another caller's turn has come.
    fn let_go(&mut self, now: Moment) {
        if let (Some(network), Some(caller)) = (&mut self.network, self.last_caller.take()) {
            network.take_from(now, &mut self.rti);
            self.paused.pause(caller, network.take_waits());
        }
    }

    pub(crate) fn respond(
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

    /// A single node sets the order itself: it commits proposals at once.
    fn commit(&mut self, now: Moment) {
        if self.network.is_some() {
            return;
        }
        while let Some(proposal) = self.rti.poll_proposal() {
            tracing::trace!(command = ?proposal.command(), "commit");
            if let Some(completion) = self.rti.commit(now, proposal) {
                self.complete(now, completion);
            }
        }
    }

    /// Answers a call whose outcome is known, and serves the calls that waited behind it.
    fn complete(&mut self, now: Moment, completion: Completion) {
        self.rti.note_completion(&completion);
        let Completion { caller, call, answer } = completion;
        let Some(key) = self.sessions.key(caller) else { return };
        let window = match self.rti.is_joined(caller) {
            true => self.config.sessions.resume_window,
            false => self.config.unjoined_window,
        };
        self.endpoint.set_linger(now, key, window);
        let call = Serial31::new(call.0).expect("the call's number came from the session");
        self.respond(now, key, caller, call, answer);
        self.sessions.go_on(caller);
        self.serve_later(now, caller);
    }

    /// Serves the deferred calls of a caller, as far as they may be served now.
    pub(crate) fn serve_later(&mut self, now: Moment, caller: CallerId) {
        while let Some((number, request)) = self.sessions.next_call(caller) {
            let Some(key) = self.sessions.key(caller) else { return };
            self.serve(now, key, caller, number, request);
        }
    }

    /// Moves callbacks into the session while it is writable.
    fn pump(&mut self, now: Moment, caller: CallerId) {
        let Some(key) = self.sessions.key(caller) else { return };
        while self.endpoint.is_writable(key) {
            let Some(body) = self.rti.poll_callback(caller) else { return };
            self.endpoint.callback(now, key, body);
        }
    }

    pub(crate) fn disconnect(&mut self, now: Moment, caller: CallerId, reason: String) {
        if let Some(key) = self.sessions.key(caller) {
            // The federate learns the reason if it ever reads again.
            self.endpoint.callback(now, key, connection_lost(&reason));
            self.endpoint.end(now, key, EndReason::Closed(reason.into()));
        }
    }
}

/// Logs why a connection got no session. Each kind of reason is logged by a statement of its own,
/// because one kind may be a flood and the rate limit of the log applies per statement.
fn refused(conn: ConnId, address: Address, reason: Refusal) {
    match reason {
        reason if reason.is_overload() => {
            tracing::warn!(%address, %conn, %reason, "session refused: out of resources");
        }
        Refusal::Silent | Refusal::Connections { .. } => {
            tracing::warn!(%address, %conn, %reason, "silent connection closed");
        }
        _ => tracing::warn!(%address, %conn, %reason, "connection refused"),
    }
}

/// A source of FOM modules that outlives the services.
struct Shared(Rc<dyn FomSource>);

impl FomSource for Shared {
    fn open(&self, designator: &str) -> Result<Bytes, String> {
        self.0.open(designator)
    }
}

/// The encoded callback Connection Lost (4.4).
fn connection_lost(reason: &str) -> Bytes {
    let lost = api::ConnectionLost { fault_description: reason.to_owned() };
    let callback = callback_request::CallbackRequest::ConnectionLost(lost);
    api::Message::encode_to_vec(&api::CallbackRequest { callback_request: Some(callback) }).into()
}
