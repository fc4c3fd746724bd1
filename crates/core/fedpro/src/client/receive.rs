//! The incoming half: messages from the server.

use super::session::State;
use super::{Event, LostReason, Session};
use crate::frame::{Control, Frame, FrameError, Message, NewSessionReason, ResumeStatus};
use crate::response::{ApiVersion, exception_response};
use base::{Moment, Serial31};
use bytes::Bytes;
use hla::api::{CallResponse, CallbackRequest, ExceptionData, Message as _};
use hla::{Exception, RtiError};

impl Session {
    /// Takes bytes of the connection, cut anywhere. Bodies of messages are slices of `bytes`.
    pub fn handle_bytes(&mut self, now: Moment, bytes: Bytes) {
        self.observe(now);
        if !self.is_reading() {
            return;
        }
        self.decoder.push(bytes);
        while self.is_reading() {
            let handled = match self.decoder.next_frame() {
                Ok(Some(frame)) => self.handle_frame(now, frame),
                Ok(None) => return,
                Err(error) => Err(error),
            };
            if let Err(error) = handled {
                self.give_up(LostReason::BadMessage(error));
            }
        }
    }

    /// Whether there is a connection from which bytes are expected.
    const fn is_reading(&self) -> bool {
        matches!(
            self.state,
            State::Opening { .. } | State::Resuming { .. } | State::Running | State::Terminating { .. }
        )
    }

    fn handle_frame(&mut self, now: Moment, frame: Frame) -> Result<(), FrameError> {
        match self.state {
            State::Opening { .. } => self.handle_new_session_status(now, frame),
            State::Resuming { .. } => self.handle_resume_status(now, frame),
            _ => self.handle_running(now, frame),
        }
    }

    fn handle_new_session_status(&mut self, now: Moment, frame: Frame) -> Result<(), FrameError> {
        let header = frame.header;
        match frame.message()? {
            Message::Control(Control::NewSessionStatus(NewSessionReason::Success)) => {
                self.id = header.session;
                self.last_heard = now;
                self.run(now, Event::Established);
                Ok(())
            }
            Message::Control(Control::NewSessionStatus(reason)) => {
                self.give_up(LostReason::Refused(reason));
                Ok(())
            }
            _ => Err(FrameError::Unexpected {
                message_type: header.message_type,
                context: "before the session is open",
            }),
        }
    }

    fn handle_resume_status(&mut self, now: Moment, frame: Frame) -> Result<(), FrameError> {
        let header = frame.header;
        match frame.message()? {
            Message::Control(Control::ResumeStatus { status: ResumeStatus::Ok, last_received }) => {
                if !self.outbox.rewind(last_received) {
                    self.give_up(LostReason::HistoryTooShort);
                    return Ok(());
                }
                self.inbox.guard();
                self.last_heard = now;
                self.stats.resumed += 1;
                self.run(now, Event::Resumed);
                Ok(())
            }
            Message::Control(Control::ResumeStatus { status, .. }) => {
                self.give_up(LostReason::ResumeRefused(status));
                Ok(())
            }
            _ => Err(FrameError::Unexpected {
                message_type: header.message_type,
                context: "before the session is resumed",
            }),
        }
    }

    fn handle_running(&mut self, now: Moment, frame: Frame) -> Result<(), FrameError> {
        let header = frame.header;
        let message_type = header.message_type;
        if header.session != self.id {
            return Err(FrameError::WrongSession { message_type, got: header.session });
        }
        let number = header.numbers.sequence.ok_or(FrameError::NoSequenceNumber { message_type })?;
        self.last_heard = now;
        match frame.message()? {
            Message::CallResponse { to, body } => self.handle_response(number, to, body),
            Message::CallbackRequest(body) => self.handle_callback(now, number, body),
            Message::Control(Control::HeartbeatResponse { .. }) => {}
            Message::Control(Control::SessionTerminated) => self.confirmed(),
            _ => {
                return Err(FrameError::Unexpected {
                    message_type,
                    context: "from a server whose session runs",
                });
            }
        }
        Ok(())
    }

    fn handle_response(&mut self, number: Serial31, call: Serial31, body: Bytes) {
        if !self.inbox.admit(number) {
            self.stats.repeated_messages += 1;
            return;
        }
        if !self.calls.answer(call) {
            self.stats.unknown_responses += 1;
            return;
        }
        // Messages arrive in order: a server that has answered this call has all messages before
        // it.
        self.outbox.forget_before(call);
        let response = match CallResponse::decode(body) {
            Ok(response) if response.call_response.is_some() => response,
            Ok(_) => unreadable("it holds no response that this client knows"),
            Err(error) => unreadable(&error.to_string()),
        };
        self.events.push_back(Event::Response { call, response });
    }

    fn handle_callback(&mut self, now: Moment, callback: Serial31, body: Bytes) {
        if !self.inbox.admit(callback) {
            self.stats.repeated_messages += 1;
            return;
        }
        let details = match CallbackRequest::decode(body) {
            Ok(request) if request.callback_request.is_some() => {
                self.events.push_back(Event::Callback { callback, request });
                return;
            }
            Ok(_) => "unknown callback".to_owned(),
            Err(error) => format!("the callback cannot be read: {error}"),
        };
        let exception_name = Exception::CouldNotDecode.name().to_owned();
        self.callback_done(now, callback, Err(ExceptionData { exception_name, details }));
    }
}

fn unreadable(why: &str) -> CallResponse {
    let error = RtiError::internal(format!("the server's answer cannot be read: {why}"));
    exception_response(&error, ApiVersion::default())
}
