//! The state that the handles of a federate share with its driver.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::Instant;

use base::{Moment, Serial31};
use bytes::{Buf as _, Bytes, BytesMut};
use carrier::{Filter, Flow};
use fedpro::client::{CallError, Event, Session};
use hla::api::call_response::CallResponse;
use hla::api::callback_request::CallbackRequest;
use hla::api::{CallbackRequest as CallbackMessage, ConnectionLost};
use tokio::net::tcp::OwnedWriteHalf;
use tracing::{debug, info, warn};

use crate::counts::Counts;
use crate::error::FederateError;
use crate::options::Options;
use crate::pending::{Answered, Pending};

/// Most bytes that one write call gets while messages are small.
const WRITE_BYTES: usize = 256 << 10;

/// When this many bytes wait they are written at once, even if the application is still queueing
/// more.
const EAGER_BYTES: usize = 64 << 10;

/// A write buffer that has grown beyond this is freed.
const KEPT_BUFFER_BYTES: usize = 1 << 20;

/// A callback that waits for the application; without a number if it was made here.
pub(crate) type Queued = (Option<Serial31>, CallbackRequest);

/// The state shared by [`Federate`](crate::Federate), [`Callbacks`](crate::Callbacks), calls and
/// the driver.
pub(crate) struct Shared {
    start: Instant,
    state: Mutex<State>,
    /// Whether callbacks are disabled. It changes only while the state is locked, but may be read
    /// at any time.
    holds_callbacks: AtomicBool,
}

/// The end of a session.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) reason: Cow<'static, str>,
}

/// The shared state.
pub(crate) struct State {
    start: Instant,
    seen: Cell<Moment>,
    pub(crate) session: Session,
    pub(crate) socket: Option<OwnedWriteHalf>,
    /// Between the socket and the session; `None` if the octets of both are the same.
    filter: Option<Box<Filter>>,
    /// The session knows that messages can be sent.
    is_open: bool,
    unsent_bytes_max: usize,
    /// Bytes that the socket has not taken yet.
    unsent: BytesMut,
    /// Messages on their way from the session to `unsent`.
    messages: BytesMut,
    /// The socket is full; the driver waits until it is writable.
    pub(crate) full: bool,
    /// Writing failed, so the connection must be given up.
    pub(crate) broken: Option<String>,
    pub(crate) pending: Pending,
    pub(crate) callbacks: VecDeque<Queued>,
    pub(crate) callbacks_high: usize,
    callbacks_max: usize,
    pub(crate) callback_task: Option<Waker>,
    pub(crate) counts: Counts,
    pub(crate) window: usize,
    /// Tasks that wait for room to send.
    pub(crate) writers: Vec<Waker>,
    /// Tasks that wait for the session to open or to end.
    pub(crate) watchers: Vec<Waker>,
    pub(crate) established: bool,
    pub(crate) ended: Option<End>,
    pub(crate) driver: Option<Waker>,
    driver_woken: bool,
    /// The driver does not read because too many callbacks wait.
    pub(crate) reading_paused: bool,
    /// Number of successful calls that may have ended a negotiation about ownership.
    pub(crate) ending_calls: u64,
}

impl Shared {
    pub(crate) fn new(options: &Options) -> Self {
        let start = Instant::now();
        Self {
            start,
            holds_callbacks: AtomicBool::new(false),
            state: Mutex::new(State {
                start,
                seen: Cell::new(Moment::ZERO),
                session: Session::new(Moment::ZERO, options.session.clone()),
                socket: None,
                filter: None,
                is_open: false,
                unsent_bytes_max: options.session.unsent_bytes_max,
                unsent: BytesMut::new(),
                messages: BytesMut::new(),
                full: false,
                broken: None,
                pending: Pending::default(),
                callbacks: VecDeque::new(),
                callbacks_high: options.callbacks_high.max(1),
                callbacks_max: options.callbacks_max.max(options.callbacks_high).max(1),
                callback_task: None,
                counts: Counts::default(),
                window: options.updates_window.max(1),
                writers: Vec::new(),
                watchers: Vec::new(),
                established: false,
                ended: None,
                driver: None,
                driver_woken: false,
                reading_paused: false,
                ending_calls: 0,
            }),
        }
    }

    /// Locks the state. A panic elsewhere while it was locked leaves it usable, as every change is
    /// complete.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether callbacks are disabled.
    pub(crate) fn holds_callbacks(&self) -> bool {
        self.holds_callbacks.load(Ordering::Relaxed)
    }

    /// Disables or enables callbacks.
    pub(crate) fn hold_callbacks(&self, hold: bool) {
        let mut state = self.lock();
        self.holds_callbacks.store(hold, Ordering::Relaxed);
        if let Some(task) = state.callback_task.take() {
            task.wake();
        }
    }

    /// The instant of `moment`; `None` if it never comes.
    pub(crate) fn instant(&self, moment: Moment) -> Option<tokio::time::Instant> {
        self.start.checked_add(moment.since(Moment::ZERO)).map(tokio::time::Instant::from_std)
    }
}

impl State {
    /// The current moment. It is read under the lock, so that it never goes back.
    pub(crate) fn now(&self) -> Moment {
        let now = Moment::from_nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX));
        self.seen.set(now);
        now
    }

    /// The moment of the last call of `now`: good enough for calls that are only queued, and
    /// cheaper.
    pub(crate) fn recently(&self) -> Moment {
        self.seen.get()
    }

    /// Queues an encoded call. The driver is woken and writes it soon; [`State::flush`] writes it
    /// at once. If the session is full, the body stays with the caller.
    pub(crate) fn call(&mut self, now: Moment, body: &mut Bytes) -> Result<Serial31, CallError> {
        let full = self.session.unsent_bytes() > self.unsent_bytes_max;
        let number =
            self.session.call_encoded(now, if full { body.clone() } else { std::mem::take(body) })?;
        self.wake_driver();
        Ok(number)
    }

    /// The reason why a call cannot be made, for its caller.
    pub(crate) fn refusal(&self, error: CallError) -> FederateError {
        match error {
            CallError::Ended | CallError::Full { .. } => self.disconnected(),
            CallError::TooLong { .. } => FederateError::Protocol(error.to_string()),
        }
    }

    pub(crate) fn disconnected(&self) -> FederateError {
        let reason =
            self.ended.as_ref().map_or(Cow::Borrowed("the session is over"), |end| end.reason.clone());
        FederateError::Disconnected(reason)
    }

    /// Wakes the task of `cx` when a callback comes, when the session ends, or when callbacks are
    /// enabled.
    pub(crate) fn await_callback(&mut self, cx: &Context<'_>) {
        match &mut self.callback_task {
            Some(task) => task.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
    }

    /// Wakes the driver to look at the state, at most once until it has looked.
    pub(crate) fn wake_driver(&mut self) {
        if !self.driver_woken
            && let Some(driver) = &self.driver
        {
            self.driver_woken = true;
            driver.wake_by_ref();
        }
    }

    /// Records that the driver looks at the state.
    pub(crate) fn attend(&mut self, driver: &Waker) {
        self.driver_woken = false;
        match &mut self.driver {
            Some(known) => known.clone_from(driver),
            none => *none = Some(driver.clone()),
        }
    }

    /// Writes when so many bytes wait that waiting for more gains nothing.
    pub(crate) fn flush_if_much(&mut self, now: Moment) {
        if self.session.unsent_bytes() >= EAGER_BYTES {
            self.flush(now);
        }
    }

    /// Writes the waiting bytes, from any context, until the socket is full.
    pub(crate) fn flush(&mut self, now: Moment) {
        if self.full || self.broken.is_some() {
            return;
        }
        while self.socket.is_some() && self.write() && self.take_unsent(now) {}
        if self.full || self.broken.is_some() {
            self.wake_driver();
        } else {
            for buffer in [&mut self.unsent, &mut self.messages] {
                if buffer.capacity() > KEPT_BUFFER_BYTES {
                    *buffer = BytesMut::new();
                }
            }
        }
        self.drain_events(now);
    }

    /// Takes bytes for the socket from the session. Returns whether there are any.
    fn take_unsent(&mut self, now: Moment) -> bool {
        self.unsent.clear();
        let Some(filter) = &mut self.filter else {
            return self.session.poll_transmit(now, &mut self.unsent, WRITE_BYTES) > 0;
        };
        filter.take_output(&mut self.unsent);
        if filter.is_open() && self.session.poll_transmit(now, &mut self.messages, WRITE_BYTES) > 0 {
            filter.send(&mut self.messages, &mut self.unsent);
        }
        !self.unsent.is_empty()
    }

    /// Writes to the socket. Returns whether it took everything.
    fn write(&mut self) -> bool {
        let Some(socket) = &self.socket else { return false };
        while !self.unsent.is_empty() {
            match socket.try_write(&self.unsent) {
                Ok(written) => self.unsent.advance(written),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    self.full = true;
                    return false;
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.broken = Some(error.to_string());
                    return false;
                }
            }
        }
        true
    }

    /// Passes what was read from the socket to the session.
    ///
    /// # Errors
    /// The connection cannot go on, for this reason.
    pub(crate) fn take_read(&mut self, now: Moment, octets: BytesMut) -> Result<(), String> {
        let Some(filter) = &mut self.filter else {
            self.session.handle_bytes(now, octets.freeze());
            return Ok(());
        };
        let mut messages = BytesMut::new();
        let flow = filter.receive(octets, &mut messages);
        self.note_open(now);
        if !messages.is_empty() {
            self.session.handle_bytes(now, messages.freeze());
        }
        self.flush(now); // the carrier may have to answer, or to say what is wrong
        match flow {
            Ok(Flow::Open) => Ok(()),
            Ok(Flow::Ended) => Err("the server closed it".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Tells the session once that messages can be sent.
    pub(crate) fn note_open(&mut self, now: Moment) {
        if !self.is_open && self.filter.as_ref().is_none_or(|filter| filter.is_open()) {
            self.is_open = true;
            self.session.handle_connected(now);
        }
    }

    /// Attaches a new connection, which starts with nothing half written.
    pub(crate) fn attach(&mut self, socket: OwnedWriteHalf, filter: Option<Filter>) {
        self.detach();
        self.socket = Some(socket);
        self.filter = filter.map(Box::new);
    }

    /// Says at the end of a connection that nothing more will be sent, as far as there is room.
    pub(crate) fn close(&mut self) {
        if let Some(filter) = &mut self.filter {
            filter.close(&mut self.unsent);
            self.write();
        }
    }

    /// Detaches a lost connection; dropping the writing half tells the peer.
    pub(crate) fn detach(&mut self) {
        (self.socket, self.filter, self.is_open) = (None, None, false);
        self.unsent = BytesMut::new();
        self.full = false;
        self.broken = None;
    }

    /// Passes the session's events to the calls, callbacks and tasks that they concern.
    pub(crate) fn drain_events(&mut self, now: Moment) {
        let before = (self.callbacks.len(), self.ending_calls);
        while let Some(event) = self.session.poll_event() {
            match event {
                Event::Response { call, response } => {
                    if let Some(response) = response.call_response {
                        self.answered(call, response);
                    }
                }
                Event::Callback { callback, request: CallbackMessage { callback_request } } => {
                    if let Some(request) = callback_request {
                        self.called_back(now, callback, request);
                    }
                }
                Event::Established => {
                    self.established = true;
                    wake_all(&mut self.watchers);
                }
                Event::Interrupted { reason } => info!(%reason, "connection lost, trying to resume"),
                Event::Resumed => info!("session resumed"),
                Event::Writable => wake_all(&mut self.writers),
                Event::Terminated => self.end("the federate has disconnected".into(), false),
                Event::Lost { reason } => self.end(reason.to_string().into(), true),
            }
        }
        if self.callbacks.len() > self.callbacks_max && self.ended.is_none() {
            let reason = format!("the application left {} callbacks waiting", self.callbacks.len());
            self.session.terminate(now);
            self.end(reason.into(), true);
        }
        if (self.callbacks.len(), self.ending_calls) != before
            && let Some(task) = self.callback_task.take()
        {
            task.wake();
        }
    }

    fn called_back(&mut self, now: Moment, callback: Serial31, request: CallbackRequest) {
        if self.ended.is_some() {
            return; // the application has been told that no more will come
        }
        let gone = match &request {
            CallbackRequest::ConnectionLost(lost) => Some(lost.fault_description.clone()),
            _ => None,
        };
        self.callbacks.push_back((Some(callback), request));
        if let Some(fault) = gone {
            // The server is there but the RTI behind it is not, so there is nothing to resume.
            warn!(reason = %fault, "the RTI is gone");
            self.session.terminate(now);
            self.end(fault.into(), false);
        }
    }

    fn answered(&mut self, call: Serial31, response: CallResponse) {
        self.ending_calls += u64::from(may_end_negotiations(&response));
        match self.pending.answer(call, response) {
            Some(Answered::Call) => {}
            Some(Answered::Counted(response)) => {
                self.counts.note(response);
                if self.pending.counted() <= self.window / 2 {
                    wake_all(&mut self.writers);
                }
            }
            None => debug!(%call, "an answer to no call of this federate"),
        }
    }

    /// Ends the session: nothing will be answered any longer.
    fn end(&mut self, reason: Cow<'static, str>, lost: bool) {
        if self.ended.is_some() {
            return;
        }
        if lost && self.established {
            warn!(%reason, "session lost");
            let fault_description = reason.clone().into_owned();
            self.callbacks
                .push_back((None, CallbackRequest::ConnectionLost(ConnectionLost { fault_description })));
        }
        self.ended = Some(End { reason });
        self.pending.wake_all();
        wake_all(&mut self.writers);
        wake_all(&mut self.watchers);
        if let Some(task) = self.callback_task.take() {
            task.wake();
        }
        self.wake_driver();
    }
}

fn wake_all(tasks: &mut Vec<Waker>) {
    tasks.drain(..).for_each(Waker::wake);
}

/// Whether the federate may have resigned, deleted an instance or given attributes up.
fn may_end_negotiations(response: &CallResponse) -> bool {
    matches!(
        response,
        CallResponse::ResignFederationExecutionResponse(_)
            | CallResponse::DeleteObjectInstanceResponse(_)
            | CallResponse::DeleteObjectInstanceWithTimeResponse(_)
            | CallResponse::UnconditionalAttributeOwnershipDivestitureResponse(_)
            | CallResponse::ConfirmDivestitureResponse(_)
            | CallResponse::AttributeOwnershipDivestitureIfWantedResponse(_)
            | CallResponse::UnpublishObjectClassResponse(_)
            | CallResponse::UnpublishObjectClassAttributesResponse(_)
    )
}
