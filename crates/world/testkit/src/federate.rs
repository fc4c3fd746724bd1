//! A host that runs a scripted federate.

use crate::draw::Draw;
use crate::node::PORT;
use crate::observation::{Observation, SessionId};
use crate::options::Options;
use crate::script::Standing;
use crate::script::{self, Knowledge, Op, calls};
use base::Moment;
use bytes::BytesMut;
use fedpro::client::{Action, Config, Event, LostReason, Session};
use hla::api::call_request::CallRequest as Call;
use hla::api::{self, CallRequest};
use netsim::{HostEvent, HostId, Port, SocketId};
use std::collections::BTreeMap;
use std::time::Duration;

/// A scripted federate, with its session and its socket.
pub(crate) struct Federate {
    server: HostId,
    /// Other servers at which it may begin another session.
    servers: Vec<HostId>,
    config: Config,
    session: Option<Session>,
    socket: Option<SocketId>,
    known: Knowledge,
    draw: Draw,
    mix: Vec<(Op, u64)>,
    call_interval: Duration,
    burst: u64,
    restart: bool,
    /// It makes no more calls of its own.
    calm: bool,
    /// When it acts next.
    next: Moment,
    /// Calls that wait for an answer, by number.
    asked: BTreeMap<u32, Call>,
    reading: bool,
    seen: Vec<Observation>,
}

impl Federate {
    /// The federate `number` of the run, with its server and the hosts from which it may choose
    /// another one.
    pub(crate) fn new(
        options: &Options,
        number: usize,
        (server, servers): (HostId, Vec<HostId>),
        known: Knowledge,
    ) -> Self {
        let mut draw = Draw::new(options.seed.split_index(number as u64), "federate");
        let timeouts = &options.timeouts;
        let config = Config {
            connect_timeout: timeouts.heart,
            heartbeat_interval: timeouts.heartbeat,
            heart_timeout: timeouts.heart,
            reconnect_window: timeouts.resume_window,
            retry_delay: timeouts.retry,
            terminate_timeout: Duration::from_secs(2),
            ..Config::default()
        };
        let next = Moment::from_micros(1 + draw.below(options.lasts.as_micros() as u64 / 4));
        Self {
            server,
            servers,
            config,
            session: None,
            socket: None,
            known,
            mix: options.mix.clone(),
            call_interval: options.call_interval,
            burst: options.burst,
            restart: options.restart,
            calm: options.is_by_hand,
            next,
            asked: BTreeMap::new(),
            reading: true,
            seen: Vec::new(),
            draw,
        }
    }

    /// All servers with which it may have a session.
    pub(crate) fn servers(&self) -> impl Iterator<Item = HostId> {
        std::iter::once(self.server).chain(self.servers.iter().copied())
    }

    /// The server of its session.
    pub(crate) fn server(&self) -> HostId {
        self.server
    }

    /// The observations since the last call.
    pub(crate) fn take_seen(&mut self) -> Vec<Observation> {
        std::mem::take(&mut self.seen)
    }

    /// Its knowledge.
    pub(crate) fn known(&self) -> &Knowledge {
        &self.known
    }

    /// The id of its session, once it has one.
    pub(crate) fn session_id(&self) -> Option<SessionId> {
        let id = self.session.as_ref()?.id();
        (id != 0).then_some(SessionId(id))
    }

    /// Whether no call of it waits for an answer, and its session, if it has one, is over or has
    /// nothing to send.
    pub(crate) fn is_settled(&self) -> bool {
        self.asked.is_empty()
            && self.session.as_ref().is_none_or(|session| session.is_ended() || !session.has_output())
    }

    /// Whether it has a session that is not over.
    pub(crate) fn is_alive(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.id() != 0 && !session.is_ended())
    }

    /// Stops it from making calls of its own.
    pub(crate) fn calm_down(&mut self) {
        self.calm = true;
    }

    /// The next stamp, for a call by [`Federate::act`].
    pub(crate) fn stamp(&mut self) -> bytes::Bytes {
        self.known.stamp()
    }

    /// Begins a session.
    pub(crate) fn begin(&mut self, port: &mut Port<'_>) {
        self.session = Some(Session::new(port.now(), self.config.clone()));
        self.drain(port);
    }

    /// Makes one call now, if it has a session.
    pub(crate) fn act(&mut self, port: &mut Port<'_>, request: Call) {
        self.call(port.now(), request);
        self.drain(port);
    }

    /// Ends its session in order.
    pub(crate) fn terminate(&mut self, port: &mut Port<'_>) {
        if let Some(session) = &mut self.session {
            session.terminate(port.now());
        }
        self.drain(port);
    }

    /// Records that its process was killed.
    pub(crate) fn die(&mut self) {
        let session = self.session_id();
        self.session = None;
        self.socket = None;
        self.asked.clear();
        self.calm = true;
        self.restart = false;
        self.seen.push(Observation::Killed { session });
    }

    /// Makes it stop or resume reading from its socket.
    pub(crate) fn set_reading(&mut self, port: &mut Port<'_>, reading: bool) {
        self.reading = reading;
        if let Some(socket) = self.socket {
            port.set_reading(socket, reading);
        }
    }

    /// See [`netsim::Host::handle`].
    pub(crate) fn handle(&mut self, event: HostEvent, port: &mut Port<'_>) {
        let now = port.now();
        match event {
            HostEvent::Woken => self.wake(now),
            HostEvent::Opened { socket, .. } if self.is_mine(socket) => {
                port.set_reading(socket, self.reading);
                self.with_session(|session| session.handle_connected(now));
            }
            HostEvent::Received { socket, bytes } if self.is_mine(socket) => {
                self.with_session(|session| session.handle_bytes(now, bytes));
            }
            HostEvent::Ended { socket } if self.is_mine(socket) => {
                port.close(socket);
                self.socket = None;
                self.with_session(|session| session.handle_closed(now, "ended"));
            }
            HostEvent::Broken { socket, .. } if self.is_mine(socket) => {
                self.socket = None;
                self.with_session(|session| session.handle_closed(now, "broken"));
            }
            HostEvent::Ended { socket } => port.close(socket),
            _ => {}
        }
        self.drain(port);
    }

    fn is_mine(&self, socket: SocketId) -> bool {
        self.socket == Some(socket)
    }

    fn with_session(&mut self, act: impl FnOnce(&mut Session)) {
        if let Some(session) = &mut self.session {
            act(session);
        }
    }

    fn wake(&mut self, now: Moment) {
        self.with_session(|session| {
            if session.poll_timeout().is_some_and(|at| at <= now) {
                session.handle_timeout(now);
            }
        });
        if self.calm || now < self.next {
            return;
        }
        let mean = self.call_interval.as_micros() as u64;
        self.next = now + self.draw.micros(1, 2 * mean);
        match &self.session {
            None => self.session = Some(Session::new(now, self.config.clone())),
            Some(session) if session.is_ended() || session.id() == 0 => {}
            Some(_) => {
                for _ in 0..self.draw.between(1, self.burst) {
                    self.make_call(now);
                }
            }
        }
    }

    /// One step of the script.
    fn make_call(&mut self, now: Moment) {
        let request = match self.known.standing {
            Standing::Joined(_) => {
                let op = script::draw_op(&self.mix, &mut self.draw);
                op.and_then(|op| script::make(op, &mut self.known, &mut self.draw))
            }
            // Mostly one step at a time; some calls come too early on purpose.
            _ if self.asked.is_empty() || self.draw.chance(self.known.mistakes) => self.step_in(),
            _ => None,
        };
        if let Some(request) = request {
            self.call(now, request);
        }
    }

    /// A step towards being joined.
    fn step_in(&mut self) -> Option<Call> {
        let federation = self.known.federation.clone();
        if self.known.standing == Standing::Alone && !self.draw.chance(self.known.mistakes) {
            return Some(Call::ConnectRequest(api::ConnectRequest {}));
        }
        Some(match self.draw.below(10) {
            0..=3 => calls::create(federation, &self.known),
            4 if self.draw.chance(30) => Call::DisconnectRequest(api::DisconnectRequest {}),
            _ => calls::join(federation, &self.known, &mut self.draw),
        })
    }

    fn call(&mut self, now: Moment, request: Call) {
        let Some(session) = &mut self.session else { return };
        let encoded = CallRequest { call_request: Some(request.clone()) };
        if let (Ok(call), id) = (session.call(now, &encoded), SessionId(session.id())) {
            self.asked.insert(call.get(), request.clone());
            self.seen.push(Observation::Made { session: id, call, request });
        }
    }

    /// Does all that the contract of the session requires.
    fn drain(&mut self, port: &mut Port<'_>) {
        let now = port.now();
        while let Some(mut session) = self.session.take() {
            let (action, event) = (session.poll_action(), session.poll_event());
            let written = match action {
                Some(action) => self.act_on(action, &mut session, port),
                None => self.write(&mut session, port),
            };
            let idle = action.is_none() && event.is_none() && !written;
            self.session = Some(session);
            if let Some(event) = event {
                self.learn(now, event);
            }
            if idle {
                break;
            }
        }
        let timeout = self.session.as_ref().and_then(Session::poll_timeout);
        let next = (!self.calm).then_some(self.next.max(now));
        port.wake(timeout.into_iter().chain(next).min());
    }

    fn act_on(&mut self, action: Action, session: &mut Session, port: &mut Port<'_>) -> bool {
        match action {
            Action::Connect => {
                if let Some(old) = self.socket.take() {
                    port.reset(old);
                }
                self.socket = Some(port.connect(self.server, PORT));
            }
            Action::CloseConnection => {
                self.write(session, port);
                if let Some(socket) = self.socket.take() {
                    port.close(socket);
                }
            }
        }
        true
    }

    fn write(&self, session: &mut Session, port: &mut Port<'_>) -> bool {
        let Some(socket) = self.socket else { return false };
        let mut out = BytesMut::new();
        let written = session.poll_transmit(port.now(), &mut out, port.room(socket));
        if written > 0 {
            // The socket reports a connection that has broken meanwhile by its own event.
            let _ = port.send(socket, out.freeze());
        }
        written > 0
    }

    fn learn(&mut self, now: Moment, event: Event) {
        let Some(session) = &mut self.session else { return };
        let id = SessionId(session.id());
        match event {
            Event::Established => {
                let host = HostId(self.known.host);
                self.seen.push(Observation::Established { session: id, host });
            }
            Event::Response { call, response } => {
                let Some(answer) = response.call_response else { return };
                let request = self.asked.remove(&call.get());
                if let Some(request) = &request {
                    self.known.learn_answer(request, &answer);
                }
                self.seen.push(Observation::Got { session: id, call, request, answer });
            }
            Event::Callback { callback: number, request } => {
                session.callback_done(now, number, Ok(()));
                if let Some(callback) = request.callback_request {
                    self.known.learn_callback(&callback);
                    self.seen.push(Observation::Received { session: id, number, callback });
                }
            }
            Event::Terminated => self.over(id, "terminated".to_owned()),
            Event::Lost { reason } => {
                let restart = self.restart || matches!(reason, LostReason::ConnectFailed(_));
                self.over(id, reason.to_string());
                if restart && !self.calm {
                    self.session = None;
                    if !self.servers.is_empty() {
                        self.server = *self.draw.pick(&self.servers).unwrap_or(&self.server);
                    }
                }
            }
            Event::Interrupted { .. } | Event::Resumed | Event::Writable => {}
        }
    }

    fn over(&mut self, session: SessionId, reason: String) {
        self.asked.clear();
        self.known.forget_federation();
        self.known.standing = Standing::Alone;
        self.seen.push(Observation::Over { session, reason });
    }
}
