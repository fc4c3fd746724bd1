//! The session: commands, timeouts and the life of its connection.

use super::calls::Calls;
use super::{Action, CallError, Config, Event, Interruption, LostReason};
use crate::frame::{BODY_BYTES_LIMIT, Control, Decoder, MessageType, PROTOCOL_VERSION};
use crate::inbox::Inbox;
use crate::outbox::{HistoryLimits, Outbox};
use base::{Moment, Serial31};
use bytes::Bytes;
use hla::api::{CallRequest, CallbackResponse, ExceptionData, Message as _, callback_response};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::time::Duration;

/// An encoded `CallbackResponse` that reports success.
const CALLBACK_SUCCEEDED: &[u8] = &[0x0a, 0x00];

/// A federate's session with a server. It may use several connections one after the other.
///
/// Contract: after any `&mut` call drain [`Session::poll_action`] and [`Session::poll_event`],
/// write the output of [`Session::poll_transmit`] as the socket accepts it, then sleep until
/// [`Session::poll_timeout`]. `now` never decreases. Spurious timeouts are harmless.
///
/// Calls are accepted from the start. They are pipelined; only [`Config::unsent_bytes_max`] limits
/// them. Messages keep their numbers across connections, because the server needs the numbers for a
/// resume.
#[derive(Debug)]
pub struct Session {
    pub(super) config: Config,
    pub(super) state: State,
    /// Id assigned by the server; 0 until then.
    pub(super) id: u64,
    pub(super) decoder: Decoder,
    pub(super) inbox: Inbox,
    pub(super) outbox: Outbox,
    pub(super) calls: Calls,
    /// The message that opens or resumes the session. It goes first on this connection.
    pub(super) hello: Option<(Control, Option<Serial31>)>,
    /// A heartbeat, or the message that ends the session. It goes out when the queue is empty.
    pub(super) farewell: Option<Control>,
    pub(super) last_heard: Moment,
    pub(super) heartbeat_at: Moment,
    /// A call was refused because too many bytes wait to be written.
    pub(super) refused: bool,
    pub(super) events: VecDeque<Event>,
    actions: VecDeque<Action>,
    pub(super) stats: Stats,
    now: Moment,
}

/// The stage that the session has reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// The world is connecting for the first time.
    Connecting { until: Moment },
    /// Connected; the server has not yet opened the session.
    Opening { until: Moment },
    /// Open and connected.
    Running,
    /// Between two attempts to resume.
    Waiting { retry: Moment, give_up: Moment },
    /// The world is connecting for a resume.
    Reconnecting { until: Moment, give_up: Moment },
    /// Connected; the server has not yet agreed to resume.
    Resuming { until: Moment, give_up: Moment },
    /// Termination was requested; the server has not yet confirmed it.
    Terminating { until: Moment },
    /// The session has ended.
    Ended,
}

/// Counters since the session was created. They never decrease.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Resumes that succeeded.
    pub resumed: u64,
    /// Callbacks and responses that the server repeated and the session dropped.
    pub repeated_messages: u64,
    /// Responses to calls that are not outstanding.
    pub unknown_responses: u64,
}

impl Session {
    /// A session that is to be connected: [`Session::poll_action`] already holds
    /// [`Action::Connect`].
    pub fn new(now: Moment, config: Config) -> Self {
        let limits = HistoryLimits { messages: config.history_messages_max, bytes: config.history_bytes_max };
        let mut outbox = Outbox::new(config.first_sequence, limits);
        let first = outbox.take_number();
        Self {
            state: State::Connecting { until: now + config.connect_timeout },
            id: 0,
            decoder: Decoder::new(config.message_bytes_max),
            inbox: Inbox::default(),
            outbox,
            calls: Calls::default(),
            hello: Some((Control::NewSession { version: PROTOCOL_VERSION }, Some(first))),
            farewell: None,
            last_heard: now,
            heartbeat_at: now,
            refused: false,
            events: VecDeque::new(),
            actions: VecDeque::from([Action::Connect]),
            stats: Stats::default(),
            now,
            config,
        }
    }

    // Getters.

    /// Counters.
    pub const fn stats(&self) -> Stats {
        self.stats
    }

    /// The id that the server assigned; 0 until then.
    pub const fn id(&self) -> u64 {
        self.id
    }

    /// The number of calls that wait for their response.
    pub const fn outstanding_calls(&self) -> usize {
        self.calls.len()
    }

    /// Bytes of calls and callback responses that wait to be written.
    pub const fn unsent_bytes(&self) -> usize {
        self.outbox.unsent_bytes()
    }

    /// Whether the session has ended. Its last event may still have to be polled.
    pub const fn is_ended(&self) -> bool {
        matches!(self.state, State::Ended)
    }

    // Inputs.

    /// Reports that the connection requested by [`Action::Connect`] is up.
    pub fn handle_connected(&mut self, now: Moment) {
        self.observe(now);
        self.decoder = Decoder::new(self.config.message_bytes_max);
        self.last_heard = now;
        match self.state {
            State::Connecting { until } => self.state = State::Opening { until },
            State::Reconnecting { until, give_up } => {
                let request = Control::ResumeRequest {
                    last_received: self.inbox.last(),
                    oldest_available: self.outbox.oldest_available(),
                };
                self.hello = Some((request, None));
                self.state = State::Resuming { until, give_up };
            }
            _ => {}
        }
    }

    /// Reports that the connection is closed or could not be made. `reason` is a text for people.
    pub fn handle_closed(&mut self, now: Moment, reason: impl Into<Cow<'static, str>>) {
        self.observe(now);
        match self.state {
            State::Connecting { .. } | State::Opening { .. } => {
                self.lose(LostReason::ConnectFailed(reason.into()));
            }
            State::Running => self.interrupt(now, Interruption::Closed(reason.into())),
            State::Reconnecting { give_up, .. } | State::Resuming { give_up, .. } => {
                self.retry_later(now, give_up);
            }
            State::Terminating { .. } => self.finish(Event::Terminated),
            State::Waiting { .. } | State::Ended => {}
        }
    }

    /// Reports that time has passed.
    pub fn handle_timeout(&mut self, now: Moment) {
        self.observe(now);
        match self.state {
            State::Connecting { until } | State::Opening { until } if until <= now => {
                self.actions.push_back(Action::CloseConnection);
                self.lose(LostReason::ConnectTimeout);
            }
            State::Running if self.last_heard + self.config.heart_timeout <= now => {
                self.interrupt(now, Interruption::Silent);
            }
            State::Running if self.heartbeat_at <= now => {
                // A message that waits to be written is a sign of life as good as a heartbeat.
                if self.farewell.is_none() && self.outbox.is_drained() {
                    self.farewell = Some(Control::Heartbeat);
                }
                self.heartbeat_at = now + self.quiet_time();
            }
            State::Waiting { give_up, .. }
            | State::Reconnecting { give_up, .. }
            | State::Resuming { give_up, .. }
                if give_up <= now =>
            {
                self.actions.push_back(Action::CloseConnection);
                self.lose(LostReason::ReconnectWindowExpired);
            }
            State::Waiting { retry, give_up } if retry <= now => self.reconnect(now, give_up),
            State::Reconnecting { until, give_up } | State::Resuming { until, give_up } if until <= now => {
                self.actions.push_back(Action::CloseConnection);
                self.retry_later(now, give_up);
            }
            State::Terminating { until } if until <= now => {
                self.actions.push_back(Action::CloseConnection);
                self.finish(Event::Terminated);
            }
            _ => {}
        }
    }

    /// The next event.
    #[must_use]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The next request to the world.
    #[must_use]
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// The latest moment for the next call of [`Session::handle_timeout`].
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Moment> {
        match self.state {
            State::Connecting { until } | State::Opening { until } | State::Terminating { until } => {
                Some(until)
            }
            State::Running => Some(self.heartbeat_at.min(self.last_heard + self.config.heart_timeout)),
            State::Waiting { retry, give_up } => Some(retry.min(give_up)),
            State::Reconnecting { until, give_up } | State::Resuming { until, give_up } => {
                Some(until.min(give_up))
            }
            State::Ended => None,
        }
    }

    // Commands.

    /// Calls a service. The response comes as [`Event::Response`] with the returned number.
    ///
    /// # Errors
    /// See [`CallError`]. Then nothing has been queued.
    pub fn call(&mut self, now: Moment, request: &CallRequest) -> Result<Serial31, CallError> {
        self.check_call()?;
        self.call_encoded(now, request.encode_to_vec().into())
    }

    /// Calls a service with an encoded `CallRequest`.
    ///
    /// # Errors
    /// See [`CallError`]. Then nothing has been queued.
    pub fn call_encoded(&mut self, now: Moment, body: Bytes) -> Result<Serial31, CallError> {
        self.observe(now);
        self.check_call()?;
        if body.len() > BODY_BYTES_LIMIT {
            return Err(CallError::TooLong { len: body.len(), limit: BODY_BYTES_LIMIT });
        }
        let number = self.outbox.push_numbered(MessageType::CallRequest, None, body, self.inbox.last());
        self.calls.push(number);
        Ok(number)
    }

    /// Reports that a callback has been handled, or which exception it raised. A missing report
    /// does no harm. A report after the end of the session is ignored.
    pub fn callback_done(&mut self, now: Moment, callback: Serial31, result: Result<(), ExceptionData>) {
        self.observe(now);
        if matches!(self.state, State::Terminating { .. } | State::Ended) {
            return;
        }
        let body = match result {
            Ok(()) => Bytes::from_static(CALLBACK_SUCCEEDED),
            Err(data) => {
                let failed = callback_response::CallbackResponse::CallbackFailed(data);
                CallbackResponse { callback_response: Some(failed) }.encode_to_vec().into()
            }
        };
        let last = self.inbox.last();
        self.outbox.push_numbered(MessageType::CallbackResponse, Some(callback), body, last);
    }

    /// Ends the session. It writes the queued messages, then tells the server.
    /// [`Event::Terminated`] follows when the server confirms, when the connection ends, or after
    /// [`Config::terminate_timeout`]. Without a connection it follows at once.
    pub fn terminate(&mut self, now: Moment) {
        self.observe(now);
        match self.state {
            State::Running => {
                self.farewell = Some(Control::TerminateSession);
                self.state = State::Terminating { until: now + self.config.terminate_timeout };
            }
            State::Terminating { .. } | State::Ended => {}
            _ => {
                self.actions.push_back(Action::CloseConnection);
                self.finish(Event::Terminated);
            }
        }
    }

    // Internals.

    pub(super) fn observe(&mut self, now: Moment) {
        debug_assert!(now >= self.now, "time went back from {} to {now}", self.now);
        self.now = now;
    }

    #[cfg(test)]
    pub(super) const fn now_for_test(&self) -> Moment {
        self.now
    }

    /// How long the session may write nothing before a heartbeat is due.
    pub(super) fn quiet_time(&self) -> Duration {
        self.config.heartbeat_interval / 6 * 5
    }

    fn check_call(&mut self) -> Result<(), CallError> {
        if matches!(self.state, State::Terminating { .. } | State::Ended) {
            return Err(CallError::Ended);
        }
        let limit = self.config.unsent_bytes_max;
        if self.outbox.unsent_bytes() > limit {
            self.refused = true;
            return Err(CallError::Full { limit });
        }
        Ok(())
    }

    /// The session is open on the present connection.
    pub(super) fn run(&mut self, now: Moment, event: Event) {
        self.state = State::Running;
        self.heartbeat_at = now + self.quiet_time();
        self.events.push_back(event);
    }

    fn interrupt(&mut self, now: Moment, reason: Interruption) {
        if reason == Interruption::Silent {
            self.actions.push_back(Action::CloseConnection);
        }
        self.events.push_back(Event::Interrupted { reason });
        self.reconnect(now, now + self.config.reconnect_window);
    }

    fn reconnect(&mut self, now: Moment, give_up: Moment) {
        self.drop_connection();
        self.actions.push_back(Action::Connect);
        self.state = State::Reconnecting { until: now + self.config.connect_timeout, give_up };
    }

    fn retry_later(&mut self, now: Moment, give_up: Moment) {
        self.drop_connection();
        self.state = State::Waiting { retry: now + self.config.retry_delay, give_up };
    }

    fn drop_connection(&mut self) {
        self.hello = None;
        self.farewell = None;
        self.decoder = Decoder::default();
    }

    /// The server broke the protocol. The session ends; a last message to the server is attempted.
    pub(super) fn give_up(&mut self, reason: LostReason) {
        self.actions.push_back(Action::CloseConnection);
        let notify = matches!(self.state, State::Running | State::Terminating { .. });
        self.lose(reason);
        self.farewell = notify.then_some(Control::TerminateSession);
    }

    pub(super) fn lose(&mut self, reason: LostReason) {
        self.finish(Event::Lost { reason });
    }

    /// The server has confirmed the termination.
    pub(super) fn confirmed(&mut self) {
        self.actions.push_back(Action::CloseConnection);
        self.finish(Event::Terminated);
    }

    fn finish(&mut self, last: Event) {
        self.drop_connection();
        self.state = State::Ended;
        self.events.push_back(last);
    }
}
