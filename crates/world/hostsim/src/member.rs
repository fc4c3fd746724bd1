//! A federate: its session, its setup, and its part in a task.

use base::Moment;
use bytes::{Bytes, BytesMut};
use fedpro::client::{Action, CallError, Config, Event, Session};
use hla::api::CallRequest;
use hla::api::call_response::CallResponse as Answer;
use hla::api::callback_request::CallbackRequest as Callback;

use crate::chunk::{Chunk, Counted};
use crate::part::Part;
use crate::scheduler::ProcessId;
use crate::setup::Setup;
use crate::wires::{SocketId, Turn};

/// Maximum number of bytes of one write.
const WRITE_BYTES: usize = 256 << 10;
/// Unsent bytes at which a flood writes before it makes more calls.
const EAGER_BYTES: usize = 64 << 10;
/// Unanswered calls at which a flooding federate pauses. It goes on at half of it.
const WINDOW: usize = 4_096;

/// A federate.
pub(crate) struct Member {
    node: ProcessId,
    session: Session,
    socket: Option<SocketId>,
    full: bool,
    setup: Setup,
    part: Part,
    /// The run has let it begin its part.
    begun: bool,
    paused: bool,
    /// The call that the session refused because too many bytes wait to be written. It is made
    /// again once the session is writable, as the library of federates does.
    refused: Option<CallRequest>,
    writable: bool,
    buffer: BytesMut,
    lost: Option<String>,
}

impl Member {
    /// Creates a federate whose session begins now.
    pub(crate) fn new(now: Moment, node: ProcessId, setup: Setup, part: Part) -> Self {
        Self {
            node,
            session: Session::new(now, Config::default()),
            socket: None,
            full: false,
            setup,
            part,
            begun: false,
            paused: false,
            refused: None,
            writable: true,
            buffer: BytesMut::new(),
            lost: None,
        }
    }

    /// Its part in the task.
    pub(crate) fn part(&self) -> &Part {
        &self.part
    }

    /// All calls of its setup are answered.
    pub(crate) fn is_joined(&self) -> bool {
        self.setup.is_answered()
    }

    /// It is joined, and has discovered all objects that it needs.
    pub(crate) fn is_ready(&self) -> bool {
        self.setup.is_done()
    }

    /// The reason why it cannot go on, if any.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.lost.as_deref().or(self.setup.failure())
    }

    /// Lets its part begin with the next turn.
    pub(crate) fn begin(&mut self) {
        self.begun = true;
    }

    pub(crate) fn socket(&self) -> Option<SocketId> {
        self.socket
    }

    pub(crate) fn poll_timeout(&self) -> Option<Moment> {
        let own = if self.begun { self.part.poll_timeout() } else { None };
        Moment::sooner(self.session.poll_timeout(), own)
    }

    /// Handles a chunk.
    pub(crate) fn take(&mut self, turn: &mut Turn<'_>, chunk: Chunk) {
        match chunk {
            Chunk::Bytes(bytes, counted) => {
                turn.spend(f64::from(counted.callbacks) * turn.costs().federate_callback_ns);
                self.session.handle_bytes(turn.now(), bytes);
            }
            Chunk::Room => self.full = false,
            Chunk::Closed => {
                self.socket = None;
                self.session.handle_closed(turn.now(), "closed by the node");
            }
            Chunk::Opened { .. } | Chunk::Frames(_) | Chunk::Datagram(_) => {}
        }
    }

    /// Handles all timers, events and calls that are due.
    pub(crate) fn go_on(&mut self, turn: &mut Turn<'_>) {
        if self.session.poll_timeout().is_some_and(|at| at <= turn.now()) {
            self.session.handle_timeout(turn.now());
        }
        loop {
            let mut any = false;
            while let Some(action) = self.session.poll_action() {
                any = true;
                self.obey(turn, action);
            }
            while let Some(event) = self.session.poll_event() {
                any = true;
                self.learn(turn, event);
            }
            any |= self.act(turn);
            if !any {
                break;
            }
        }
        self.transmit(turn);
    }

    fn obey(&mut self, turn: &mut Turn<'_>, action: Action) {
        match action {
            Action::Connect => {
                self.socket = Some(turn.connect(self.node, false));
                self.session.handle_connected(turn.now());
            }
            Action::CloseConnection => {
                if let Some(socket) = self.socket.take() {
                    turn.close(socket);
                }
            }
        }
    }

    fn learn(&mut self, turn: &mut Turn<'_>, event: Event) {
        match event {
            Event::Established => self.setup.begin(),
            Event::Response { response, .. } => match response.call_response {
                Some(Answer::ExceptionData(data)) => {
                    self.lost = Some(format!("{}: {}", data.exception_name, data.details));
                }
                Some(answer) => self.setup.answered(answer),
                None => {}
            },
            Event::Callback { callback, request } => {
                self.session.callback_done(turn.now(), callback, Ok(()));
                match request.callback_request {
                    Some(Callback::DiscoverObjectInstance(found)) => self.setup.discovered(&found),
                    Some(Callback::ReflectAttributeValues(reflect)) => {
                        let value =
                            reflect.attribute_values.and_then(|mut map| map.attribute_handle_value.pop());
                        if let Some(value) = value {
                            self.part.reflected(turn.now(), &value.value);
                        }
                    }
                    _ => {}
                }
            }
            Event::Lost { reason } => self.lost = Some(reason.to_string()),
            Event::Terminated => self.lost = Some("terminated".to_owned()),
            Event::Writable => self.writable = true,
            Event::Interrupted { .. } | Event::Resumed => {}
        }
    }

    /// Makes the calls that are possible now. Returns whether there was one.
    fn act(&mut self, turn: &mut Turn<'_>) -> bool {
        if !self.writable {
            return false;
        }
        if let Some(call) = self.refused.take().or_else(|| self.setup.poll_call()) {
            self.call(turn, call);
            return true;
        }
        let mut any = false;
        let waiting = self.session.outstanding_calls();
        self.paused &= waiting > WINDOW / 2;
        while !self.paused
            && self.writable
            && self.setup.is_done()
            && let Some(next) = self.part.poll_update(turn.now(), self.begun)
        {
            any = true;
            let call = self.setup.update(next);
            self.call(turn, call);
            self.paused = self.session.outstanding_calls() >= WINDOW;
            if self.session.unsent_bytes() >= EAGER_BYTES {
                self.transmit(turn);
            }
        }
        any
    }

    fn call(&mut self, turn: &Turn<'_>, call: CallRequest) {
        match self.session.call(turn.now(), &call) {
            Ok(_) => {}
            Err(CallError::Full { .. }) => {
                self.refused = Some(call);
                self.writable = false;
            }
            Err(error) => self.lost = Some(error.to_string()),
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
