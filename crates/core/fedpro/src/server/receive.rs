//! The incoming half: messages from clients.

use super::connection::State;
use super::session::Session;
use super::{ConnId, EndReason, Endpoint, Event, Refusal, SessionKey};
use crate::frame::{
    Control, Frame, FrameError, Header, Message, NewSessionReason, Numbers, ResumeStatus, put_control,
};
use crate::response::{ApiVersion, encode_response, exception_response};
use base::{Moment, Serial31};
use bytes::{Bytes, BytesMut};
use hla::api::{CallRequest, CallbackResponse, ExceptionData, Message as _, callback_response};
use hla::{Exception, RtiError};
use std::collections::VecDeque;

/// An encoded `CallbackResponse` that reports success.
const CALLBACK_SUCCEEDED: &[u8] = &[0x0a, 0x00];

impl Endpoint {
    /// Takes bytes received on `conn`, cut anywhere. Bodies of calls are slices of `bytes`.
    pub fn handle_bytes(&mut self, now: Moment, conn: ConnId, bytes: Bytes) {
        self.observe(now);
        let Some(connection) = self.connections.get_mut(&conn) else { return };
        let mut session = match connection.state {
            State::Fresh { .. } => None,
            State::Attached(key) => Some(key),
            State::Closing { .. } => return,
        };
        let mut decoder = std::mem::take(&mut connection.decoder);
        self.usage.input -= decoder.buffered();
        decoder.push(bytes);
        loop {
            let frame = match decoder.next_frame() {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(error) => return self.fail(now, conn, session, error),
            };
            let handled = match session {
                Some(key) => self.handle_frame(now, key, frame),
                None => {
                    decoder.set_limit(self.config.message_bytes_max);
                    self.handle_first(now, conn, frame).map(|key| session = key)
                }
            };
            if let Err(error) = handled {
                return self.fail(now, conn, session, error);
            }
            // The last message may have ended the session, with the connection being closed.
            if session.is_none_or(|key| self.sessions.get(key).is_none_or(|s| s.conn != Some(conn))) {
                return;
            }
        }
        if let Some(connection) = self.connections.get_mut(&conn) {
            self.usage.input += decoder.buffered();
            connection.decoder = decoder;
        }
        if let Some(key) = session.filter(|_| self.pause.is_active()) {
            self.review_pause(key);
        }
    }

    /// A bad message: ends the session that the connection carries, if any.
    fn fail(&mut self, now: Moment, conn: ConnId, session: Option<SessionKey>, error: FrameError) {
        match session {
            Some(key) => {
                self.end(now, key, EndReason::BadMessage(error));
            }
            None => self.refuse(now, conn, Refusal::BadMessage(error), None),
        }
    }

    /// Handles the first message of a connection. Returns the session that the connection now
    /// carries.
    fn handle_first(
        &mut self,
        now: Moment,
        conn: ConnId,
        frame: Frame,
    ) -> Result<Option<SessionKey>, FrameError> {
        let header = frame.header;
        match frame.message()? {
            Message::Control(Control::NewSession { version }) => Ok(self.new_session(now, conn, version)),
            Message::Control(Control::ResumeRequest { last_received, oldest_available }) => {
                Ok(self.resume(now, conn, header.session, last_received, oldest_available))
            }
            _ => Err(FrameError::Unexpected {
                message_type: header.message_type,
                context: "as the first message of a connection",
            }),
        }
    }

    fn new_session(&mut self, now: Moment, conn: ConnId, version: u32) -> Option<SessionKey> {
        let connection = self.connections.get(&conn)?;
        let (address, proof) = (connection.address, connection.proof);
        let State::Fresh { session_id: id } = &connection.state else {
            return None;
        };
        let id = *id;
        match self.check_new_session(now, address, id, version) {
            Ok(None) => {}
            Ok(Some(other)) => {
                self.end(now, other, EndReason::Evicted);
            }
            Err((refusal, reason)) => {
                let answer =
                    refusal_bytes(0, Some(self.config.first_sequence), Control::NewSessionStatus(reason));
                self.refuse(now, conn, refusal, Some(answer));
                return None;
            }
        }
        let mut session = Session::new(id, conn, (address, proof), now, &self.config);
        let status = Control::NewSessionStatus(NewSessionReason::Success);
        let queued = session.push_control(status, usize::MAX);
        debug_assert!(queued.is_ok(), "the queue of a new session is empty");
        let key = self.sessions.insert(session);
        self.by_id.insert(id, key);
        self.admission.opened(address);
        self.attach(conn, key);
        self.stats.sessions_opened += 1;
        self.events.push_back(Event::SessionOpened { session: key, conn });
        self.announce(key);
        self.set_connected(now, key, false);
        Some(key)
    }

    fn resume(
        &mut self,
        now: Moment,
        conn: ConnId,
        id: u64,
        last_received: Option<Serial31>,
        oldest_available: Option<Serial31>,
    ) -> Option<SessionKey> {
        let refusal = |status| refusal_bytes(id, None, Control::ResumeStatus { status, last_received: None });
        let Some((key, session)) = self.by_id.get(&id).and_then(|&k| Some((k, self.sessions.get_mut(k)?)))
        else {
            let answer = refusal(ResumeStatus::UnknownSession);
            self.refuse(now, conn, Refusal::UnknownSession(id), Some(answer));
            return None;
        };
        // The number of a session is no proof: somebody else may have overheard it. The client gets the
        // same answer as for a session that does not exist.
        if self.connections.get(&conn).is_none_or(|connection| connection.proof != session.proof) {
            let answer = refusal(ResumeStatus::UnknownSession);
            self.refuse(now, conn, Refusal::Unproved, Some(answer));
            return None;
        }
        // The client knows better than the server whether its old connection is alive.
        let old = session.conn.take();
        let status = resume_status(session, last_received, oldest_available);
        if let Some(old) = old {
            self.close(now, old, VecDeque::new(), true);
        }
        if status != ResumeStatus::Ok {
            // The client considers the session ended now, so the endpoint does too.
            self.remove_session(key, EndReason::NotResumable(status));
            self.close(now, conn, VecDeque::from([refusal(status)]), false);
            return None;
        }
        self.take_over(now, conn, key, last_received);
        Some(key)
    }

    /// The session continues on `conn`.
    fn take_over(&mut self, now: Moment, conn: ConnId, key: SessionKey, last_received: Option<Serial31>) {
        let address = self.connections.get(&conn).map(|connection| connection.address);
        let Some(session) = self.sessions.get_mut(key) else { return };
        if let Some(address) = address.filter(|&address| address != session.address) {
            self.admission.moved(session.address, address);
            session.address = address;
        }
        session.detach(now);
        session.conn = Some(conn);
        session.last_heard = now;
        session.inbox.guard();
        let before = session.usage();
        let rewound = session.outbox.rewind(last_received);
        self.usage.replace(before, session.usage());
        let status = Control::ResumeStatus { status: ResumeStatus::Ok, last_received: session.inbox.last() };
        let queued = session.push_control(status, usize::MAX);
        debug_assert!(rewound && queued.is_ok(), "the status said that it is possible");
        session.held |= session.outbox.unsent_bytes() >= self.config.unsent_bytes_high;
        self.attach(conn, key);
        self.schedule(key);
        self.stats.sessions_resumed += 1;
        self.events.push_back(Event::Resumed { session: key, conn });
        self.announce(key);
    }

    /// Handles a message of a running session.
    fn handle_frame(&mut self, now: Moment, key: SessionKey, frame: Frame) -> Result<(), FrameError> {
        let Some(session) = self.sessions.get_mut(key) else { return Ok(()) };
        let header = frame.header;
        if header.session != session.id {
            return Err(FrameError::WrongSession { message_type: header.message_type, got: header.session });
        }
        session.last_heard = now;
        if let Some(number) = header.numbers.last_received {
            self.usage.history -= session.outbox.acknowledge(number);
        }
        match frame.message()? {
            Message::CallRequest(body) => self.handle_call(now, key, number_of(&header)?, body),
            Message::CallbackResponse { to, body } => {
                self.handle_callback_response(key, header.numbers.sequence, to, body);
            }
            Message::Control(Control::Heartbeat) => {
                let to = number_of(&header)?;
                self.heartbeat(now, key, to);
            }
            Message::Control(Control::TerminateSession) => self.terminate(now, key),
            _ => {
                return Err(FrameError::Unexpected {
                    message_type: header.message_type,
                    context: "from a client whose session runs",
                });
            }
        }
        Ok(())
    }

    fn heartbeat(&mut self, now: Moment, key: SessionKey, to: Serial31) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        let limit = self.config.control_messages_max;
        match session.push_control(Control::HeartbeatResponse { to }, limit) {
            Ok(()) => self.announce(key),
            Err(overload) => {
                self.end(now, key, EndReason::Overload(overload));
            }
        }
    }

    /// The client terminates the session. It stops reading once it has the confirmation, so nothing
    /// is written before that.
    fn terminate(&mut self, now: Moment, key: SessionKey) {
        let Some(mut session) = self.remove_session(key, EndReason::Terminated) else { return };
        let Some(conn) = session.conn else { return };
        let numbers =
            Numbers { sequence: Some(session.outbox.take_number()), last_received: session.inbox.last() };
        let mut answer = BytesMut::new();
        put_control(&mut answer, session.id, numbers, Control::SessionTerminated);
        self.close(now, conn, VecDeque::from([answer.freeze()]), false);
    }

    fn handle_call(&mut self, now: Moment, key: SessionKey, call: Serial31, body: Bytes) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        if !session.inbox.admit(call) {
            self.stats.repeated_messages += 1;
            return;
        }
        match session.push_call(call, body.len(), self.config.calls_max) {
            Ok(bytes) => self.usage.input += bytes,
            Err(overload) => {
                self.end(now, key, EndReason::Overload(overload));
                return;
            }
        }
        let first_key = prost::encoding::decode_key(&mut body.as_ref());
        let problem = match CallRequest::decode(body) {
            Ok(request) if request.call_request.is_some() => {
                self.events.push_back(Event::Call { session: key, call, request });
                return;
            }
            Ok(_) => match first_key {
                Ok((field, _)) => format!("the call names service number {field}, which does not exist"),
                Err(_) => "the call names no service".to_owned(),
            },
            Err(error) => format!("the call cannot be read: {error}"),
        };
        self.stats.unreadable_calls += 1;
        let response = exception_response(&RtiError::internal(problem), ApiVersion::default());
        self.respond_encoded(now, key, call, encode_response(&response));
    }

    fn handle_callback_response(
        &mut self,
        key: SessionKey,
        number: Option<Serial31>,
        to: Option<Serial31>,
        body: Bytes,
    ) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        if number.is_some_and(|number| !session.inbox.admit(number)) {
            self.stats.repeated_messages += 1;
            return;
        }
        if let Some(callback) = to {
            let result = callback_result(body);
            self.events.push_back(Event::CallbackResponse { session: key, callback, result });
        }
    }
}

/// Whether the session can continue. The server needs every message after the client's last one.
/// Clients look for the message numbered LRF itself in their history.
fn resume_status(
    session: &Session,
    last_received: Option<Serial31>,
    oldest_available: Option<Serial31>,
) -> ResumeStatus {
    let available = match (session.inbox.last(), oldest_available) {
        (Some(last), Some(oldest)) => last.distance_from(oldest) < Serial31::MAX.get() / 2,
        _ => true,
    };
    if available && session.outbox.can_rewind(last_received) {
        ResumeStatus::Ok
    } else {
        ResumeStatus::NotEnoughBufferedMessages
    }
}

fn number_of(header: &Header) -> Result<Serial31, FrameError> {
    header.numbers.sequence.ok_or(FrameError::NoSequenceNumber { message_type: header.message_type })
}

fn refusal_bytes(session: u64, sequence: Option<Serial31>, control: Control) -> Bytes {
    let mut out = BytesMut::new();
    put_control(&mut out, session, Numbers { sequence, last_received: None }, control);
    out.freeze()
}

fn callback_result(body: Bytes) -> Result<(), ExceptionData> {
    if body.is_empty() || body == CALLBACK_SUCCEEDED {
        return Ok(());
    }
    match CallbackResponse::decode(body).map(|response| response.callback_response) {
        Ok(Some(callback_response::CallbackResponse::CallbackFailed(data))) => Err(data),
        Ok(_) => Ok(()),
        Err(error) => Err(ExceptionData {
            exception_name: Exception::CouldNotDecode.name().to_owned(),
            details: format!("the callback response cannot be read: {error}"),
        }),
    }
}
