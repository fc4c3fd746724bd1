//! A federate: its session, and what it does: a part in a task, or the orders of a plan.

use base::Moment;
use bytes::{Bytes, BytesMut};
use fedpro::client::{Action, CallError, Config, Event, Session};
use hla::api::call_request::CallRequest as Call;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Callback;
use hla::api::{CallRequest, ConnectRequest};

use crate::chunk::{Chunk, Counted};
use crate::part::Part;
use crate::scheduler::ProcessId;
use crate::setup::Setup;
use crate::wires::{SocketId, Turn};
use workload::phases::{self, Federate, Input};

/// Maximum number of bytes of one write.
const WRITE_BYTES: usize = 256 << 10;
/// Unsent bytes at which a flood writes before it makes more calls.
const EAGER_BYTES: usize = 64 << 10;
/// Unanswered calls at which a flooding federate pauses. It goes on at half of it.
const WINDOW: usize = 4_096;

/// The call that connects a federate to the RTI.
const CONNECT: Call = Call::ConnectRequest(ConnectRequest {});

/// A session and its socket.
struct Connection {
    session: Session,
    socket: Option<SocketId>,
    full: bool,
    /// The call that the session refused because too many bytes wait to be written. It is made
    /// again once the session is writable, as the library of federates does.
    refused: Option<CallRequest>,
    writable: bool,
    buffer: BytesMut,
}

impl Connection {
    fn new(now: Moment) -> Self {
        Self {
            session: Session::new(now, Config::default()),
            socket: None,
            full: false,
            refused: None,
            writable: true,
            buffer: BytesMut::new(),
        }
    }

    fn obey(&mut self, turn: &mut Turn<'_>, node: ProcessId, action: Action) {
        match action {
            Action::Connect => {
                self.socket = Some(turn.connect(node, false));
                self.session.handle_connected(turn.now());
            }
            Action::CloseConnection => {
                if let Some(socket) = self.socket.take() {
                    turn.close(socket);
                }
            }
        }
    }

    /// Makes a call, or keeps it for later. Returns the reason if it is impossible.
    fn call(&mut self, now: Moment, call: CallRequest) -> Result<(), String> {
        match self.session.call(now, &call) {
            Ok(_) => Ok(()),
            Err(CallError::Full { .. }) => {
                self.refused = Some(call);
                self.writable = false;
                Ok(())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    fn transmit(&mut self, turn: &mut Turn<'_>) {
        let Some(socket) = self.socket else { return };
        while !self.full {
            if !turn.has_room(socket) {
                self.full = true;
                return;
            }
            if self.session.poll_transmit(turn.now(), &mut self.buffer, WRITE_BYTES) == 0 {
                return;
            }
            let bytes: Bytes = self.buffer.split().freeze();
            let counted = Counted::of(&bytes);
            turn.spend(f64::from(counted.calls) * turn.costs().federate_call_ns);
            turn.write(socket, Chunk::Bytes(bytes, counted));
        }
    }
}

/// The work of a federate.
enum Role {
    /// A part in a task, after its setup.
    Task {
        setup: Box<Setup>,
        part: Box<Part>,
        /// The run has let it begin its part.
        begun: bool,
    },
    /// The orders of a plan.
    Orders {
        federate: Box<Federate>,
        /// Updates that are not answered.
        updates: u64,
        /// The federate waits for their answers.
        awaits_updates: bool,
    },
}

/// A federate.
pub(crate) struct Member {
    node: ProcessId,
    /// Always there for a task; with orders only while it is connected.
    connection: Option<Connection>,
    role: Role,
    paused: bool,
    lost: Option<String>,
}

impl Member {
    /// Creates a federate whose session begins now.
    pub(crate) fn new(now: Moment, node: ProcessId, setup: Setup, part: Part) -> Self {
        let role = Role::Task { setup: Box::new(setup), part: Box::new(part), begun: false };
        Self { node, connection: Some(Connection::new(now)), role, paused: false, lost: None }
    }

    /// Creates a federate that follows orders. The first one connects it.
    pub(crate) fn with_orders(node: ProcessId, federate: Federate) -> Self {
        let role = Role::Orders { federate: Box::new(federate), updates: 0, awaits_updates: false };
        Self { node, connection: None, role, paused: false, lost: None }
    }

    /// Its part in the task, if it has one.
    pub(crate) fn part(&self) -> Option<&Part> {
        match &self.role {
            Role::Task { part, .. } => Some(part),
            Role::Orders { .. } => None,
        }
    }

    /// The federate that follows orders, if it is one.
    pub(crate) fn federate(&self) -> Option<&Federate> {
        match &self.role {
            Role::Task { .. } => None,
            Role::Orders { federate, .. } => Some(federate),
        }
    }

    pub(crate) fn federate_mut(&mut self) -> Option<&mut Federate> {
        match &mut self.role {
            Role::Task { .. } => None,
            Role::Orders { federate, .. } => Some(federate),
        }
    }

    /// All calls of its setup are answered.
    pub(crate) fn is_joined(&self) -> bool {
        matches!(&self.role, Role::Task { setup, .. } if setup.is_answered())
    }

    /// It is joined, and has discovered all objects that it needs.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(&self.role, Role::Task { setup, .. } if setup.is_done())
    }

    /// The reason why it cannot go on, if any.
    pub(crate) fn failure(&self) -> Option<&str> {
        let own = match &self.role {
            Role::Task { setup, .. } => setup.failure(),
            Role::Orders { federate, .. } => federate.failure(),
        };
        self.lost.as_deref().or(own)
    }

    /// Lets its part begin with the next turn.
    pub(crate) fn begin(&mut self) {
        if let Role::Task { begun, .. } = &mut self.role {
            *begun = true;
        }
    }

    pub(crate) fn socket(&self) -> Option<SocketId> {
        self.connection.as_ref()?.socket
    }

    pub(crate) fn poll_timeout(&self) -> Option<Moment> {
        let own = match &self.role {
            Role::Task { part, begun: true, .. } => part.poll_timeout(),
            Role::Task { .. } => None,
            Role::Orders { federate, .. } => federate.poll_timeout(),
        };
        let of_session = self.connection.as_ref().and_then(|connection| connection.session.poll_timeout());
        Moment::sooner(of_session, own)
    }

    /// Handles a chunk.
    pub(crate) fn take(&mut self, turn: &mut Turn<'_>, chunk: Chunk) {
        let Some(connection) = &mut self.connection else { return };
        match chunk {
            Chunk::Bytes(bytes, counted) => {
                turn.spend(f64::from(counted.callbacks) * turn.costs().federate_callback_ns);
                connection.session.handle_bytes(turn.now(), bytes);
            }
            Chunk::Room => connection.full = false,
            Chunk::Closed => {
                connection.socket = None;
                connection.session.handle_closed(turn.now(), "closed by the node");
            }
            Chunk::Opened { .. } | Chunk::Frames(_) | Chunk::Datagram(_) => {}
        }
    }

    /// Handles all timers, events and calls that are due.
    pub(crate) fn go_on(&mut self, turn: &mut Turn<'_>) {
        if let Some(connection) = &mut self.connection
            && connection.session.poll_timeout().is_some_and(|at| at <= turn.now())
        {
            connection.session.handle_timeout(turn.now());
        }
        loop {
            let mut any = false;
            while let Some(connection) = &mut self.connection
                && let Some(action) = connection.session.poll_action()
            {
                any = true;
                connection.obey(turn, self.node, action);
            }
            while let Some(event) = self.connection.as_mut().and_then(|open| open.session.poll_event()) {
                any = true;
                self.learn(turn, event);
            }
            any |= self.act(turn);
            if !any {
                break;
            }
        }
        if let Some(connection) = &mut self.connection {
            connection.transmit(turn);
        }
    }

    fn learn(&mut self, turn: &mut Turn<'_>, event: Event) {
        match event {
            Event::Established => match &mut self.role {
                Role::Task { setup, .. } => setup.begin(),
                Role::Orders { .. } => self.call(turn, CallRequest { call_request: Some(CONNECT) }),
            },
            Event::Response { response, .. } => match response.call_response {
                Some(Answer::ExceptionData(data)) => {
                    self.lost = Some(format!("{}: {}", data.exception_name, data.details));
                }
                Some(answer) => self.answered(turn.now(), answer),
                None => {}
            },
            Event::Callback { callback, request } => {
                if let Some(connection) = &mut self.connection {
                    connection.session.callback_done(turn.now(), callback, Ok(()));
                }
                if let Some(callback) = request.callback_request {
                    self.called_back(turn.now(), callback);
                }
            }
            Event::Lost { reason } => self.lost = Some(reason.to_string()),
            Event::Terminated => match &mut self.role {
                Role::Task { .. } => self.lost = Some("terminated".to_owned()),
                Role::Orders { federate, updates, .. } => {
                    *updates = 0;
                    federate.handle(turn.now(), Input::Ended);
                }
            },
            Event::Writable => {
                if let Some(connection) = &mut self.connection {
                    connection.writable = true;
                }
            }
            Event::Interrupted { .. } | Event::Resumed => {}
        }
    }

    fn answered(&mut self, now: Moment, answer: Answer) {
        match (&mut self.role, answer) {
            (Role::Task { setup, .. }, answer) => setup.answered(answer),
            (Role::Orders { federate, .. }, Answer::ConnectResponse(_)) => {
                federate.handle(now, Input::Connected);
            }
            (
                Role::Orders { updates, .. },
                Answer::UpdateAttributeValuesResponse(_) | Answer::UpdateAttributeValuesWithTimeResponse(_),
            ) => {
                *updates = updates.saturating_sub(1);
                self.tell_of_updates(now);
            }
            (Role::Orders { federate, .. }, answer) => federate.handle(now, Input::Answered(answer)),
        }
    }

    /// Tells a federate that waits for it that all its updates are answered, if they are.
    fn tell_of_updates(&mut self, now: Moment) {
        if let Role::Orders { federate, updates: 0, awaits_updates } = &mut self.role
            && std::mem::take(awaits_updates)
        {
            federate.handle(now, Input::UpdatesAnswered);
        }
    }

    fn called_back(&mut self, now: Moment, callback: Callback) {
        match (&mut self.role, callback) {
            (Role::Task { setup, .. }, Callback::DiscoverObjectInstance(found)) => setup.discovered(&found),
            (Role::Task { part, .. }, Callback::ReflectAttributeValues(reflect)) => {
                let value = reflect.attribute_values.and_then(|mut map| map.attribute_handle_value.pop());
                if let Some(value) = value {
                    part.reflected(now, &value.value);
                }
            }
            (Role::Task { .. }, _) => {}
            (Role::Orders { federate, .. }, callback) => federate.handle(now, Input::CalledBack(callback)),
        }
    }

    /// Makes the calls that are possible now. Returns whether there was one.
    fn act(&mut self, turn: &mut Turn<'_>) -> bool {
        if let Some(connection) = &mut self.connection {
            if !connection.writable {
                return false;
            }
            if let Some(call) = connection.refused.take() {
                self.call(turn, call);
                return true;
            }
            self.paused &= connection.session.outstanding_calls() > WINDOW / 2;
        }
        let mut any = false;
        while !self.paused
            && self.connection.as_ref().is_none_or(|connection| connection.writable)
            && self.act_once(turn)
        {
            any = true;
            let Some(connection) = &mut self.connection else { break };
            self.paused = connection.session.outstanding_calls() >= WINDOW;
            if connection.session.unsent_bytes() >= EAGER_BYTES {
                connection.transmit(turn);
            }
        }
        any
    }

    /// Makes the next call or takes the next action, if there is one.
    fn act_once(&mut self, turn: &mut Turn<'_>) -> bool {
        let call = match &mut self.role {
            Role::Task { setup, part, begun } => {
                let call = setup.poll_call();
                let next = || part.poll_update(turn.now(), *begun);
                call.or_else(|| setup.is_done().then(next).flatten().map(|next| setup.update(next)))
            }
            Role::Orders { federate, updates, awaits_updates } => match federate.poll_action(turn.now()) {
                Some(phases::Action::Connect) => {
                    self.connection = Some(Connection::new(turn.now()));
                    return true;
                }
                Some(phases::Action::Terminate) => {
                    if let Some(connection) = &mut self.connection {
                        connection.session.terminate(turn.now());
                    }
                    return true;
                }
                Some(phases::Action::AwaitUpdates) => {
                    *awaits_updates = true;
                    self.tell_of_updates(turn.now());
                    return true;
                }
                Some(phases::Action::Update(call)) => {
                    *updates += 1;
                    Some(CallRequest { call_request: Some(call) })
                }
                Some(phases::Action::Call(call)) => Some(CallRequest { call_request: Some(call) }),
                None => None,
            },
        };
        let Some(call) = call else { return false };
        self.call(turn, call);
        true
    }

    fn call(&mut self, turn: &Turn<'_>, call: CallRequest) {
        let refused = self.connection.as_mut().map(|connection| connection.call(turn.now(), call));
        if let Some(Err(reason)) = refused {
            self.lost = Some(reason);
        }
    }
}
