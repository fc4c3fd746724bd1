//! The content of a frame, and how frames are written.

use super::header::to_wire;
use super::{FrameError, HEADER_BYTES, Header, MessageType, NewSessionReason, Numbers, ResumeStatus};
use base::Serial31;
use bytes::{Buf, BufMut, Bytes, BytesMut};

/// A whole message: its header and the bytes behind it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// The header.
    pub header: Header,
    /// The payload, not yet interpreted.
    pub payload: Bytes,
}

/// A message that concerns the session itself. Control messages are never repeated after a resume.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// Opens a session.
    NewSession {
        /// Version of the protocol, see [`super::PROTOCOL_VERSION`].
        version: u32,
    },
    /// The response to [`Control::NewSession`].
    NewSessionStatus(NewSessionReason),
    /// A sign of life.
    Heartbeat,
    /// The response to [`Control::Heartbeat`].
    HeartbeatResponse {
        /// Number of the heartbeat.
        to: Serial31,
    },
    /// Ends the session.
    TerminateSession,
    /// The response to [`Control::TerminateSession`].
    SessionTerminated,
    /// Continues a session on a new connection.
    ResumeRequest {
        /// Number of the last HLA message that the client received (LRR).
        last_received: Option<Serial31>,
        /// Number of the oldest HLA message that the client can send again (OAF).
        oldest_available: Option<Serial31>,
    },
    /// The response to [`Control::ResumeRequest`].
    ResumeStatus {
        /// Whether the session continues.
        status: ResumeStatus,
        /// Number of the last HLA message that the server received (LRF).
        last_received: Option<Serial31>,
    },
}

impl Control {
    /// The type of this message.
    pub const fn message_type(self) -> MessageType {
        match self {
            Control::NewSession { .. } => MessageType::NewSession,
            Control::NewSessionStatus(_) => MessageType::NewSessionStatus,
            Control::Heartbeat => MessageType::Heartbeat,
            Control::HeartbeatResponse { .. } => MessageType::HeartbeatResponse,
            Control::TerminateSession => MessageType::TerminateSession,
            Control::SessionTerminated => MessageType::SessionTerminated,
            Control::ResumeRequest { .. } => MessageType::ResumeRequest,
            Control::ResumeStatus { .. } => MessageType::ResumeStatus,
        }
    }

    /// The payload: the number of words in use, and the words.
    fn words(self) -> (usize, [u32; 2]) {
        match self {
            Control::NewSession { version } => (1, [version, 0]),
            Control::NewSessionStatus(reason) => (1, [reason.code(), 0]),
            Control::HeartbeatResponse { to } => (1, [to.get(), 0]),
            Control::ResumeRequest { last_received, oldest_available } => {
                (2, [to_wire(last_received), to_wire(oldest_available)])
            }
            Control::ResumeStatus { status, last_received } => (2, [status.code(), to_wire(last_received)]),
            Control::Heartbeat | Control::TerminateSession | Control::SessionTerminated => (0, [0, 0]),
        }
    }
}

/// The content of a frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// It concerns the session.
    Control(Control),
    /// An encoded `CallRequest`.
    CallRequest(Bytes),
    /// An encoded `CallResponse` to the call numbered `to`.
    CallResponse {
        /// Number of the call.
        to: Serial31,
        /// The encoded response.
        body: Bytes,
    },
    /// An encoded `CallbackRequest`.
    CallbackRequest(Bytes),
    /// An encoded `CallbackResponse` to the callback numbered `to`.
    CallbackResponse {
        /// Number of the callback. MAK's client sends an empty payload and puts the number of the
        /// callback into the header; it is then taken from there. `None` when the header has none
        /// either.
        to: Option<Serial31>,
        /// The encoded response; empty if MAK's client sent none.
        body: Bytes,
    },
}

impl Frame {
    /// Interprets the payload. HLA messages stay encoded.
    ///
    /// # Errors
    /// [`FrameError::PayloadSize`] (each control message has exactly one size),
    /// [`FrameError::UnknownCode`] for a reason or status, [`FrameError::NoReference`].
    pub fn message(self) -> Result<Message, FrameError> {
        let Frame { header, mut payload } = self;
        let kind = header.message_type;
        Ok(match kind {
            MessageType::CallRequest => Message::CallRequest(payload),
            MessageType::CallbackRequest => Message::CallbackRequest(payload),
            MessageType::CallResponse => {
                let to = reference(kind, take_word(kind, &mut payload)?)?;
                Message::CallResponse { to, body: payload }
            }
            MessageType::CallbackResponse if payload.is_empty() => {
                Message::CallbackResponse { to: header.numbers.sequence, body: payload }
            }
            MessageType::CallbackResponse => {
                let to = Serial31::new(take_word(kind, &mut payload)?);
                Message::CallbackResponse { to, body: payload }
            }
            _ => Message::Control(control(kind, &payload)?),
        })
    }
}

fn control(kind: MessageType, payload: &[u8]) -> Result<Control, FrameError> {
    Ok(match kind {
        MessageType::NewSession => {
            let [version] = words(kind, payload)?;
            Control::NewSession { version }
        }
        MessageType::NewSessionStatus => {
            let [reason] = words(kind, payload)?;
            Control::NewSessionStatus(NewSessionReason::from_code(reason)?)
        }
        MessageType::HeartbeatResponse => {
            let [to] = words(kind, payload)?;
            Control::HeartbeatResponse { to: reference(kind, to)? }
        }
        MessageType::ResumeRequest => {
            let [last, oldest] = words(kind, payload)?;
            Control::ResumeRequest {
                last_received: Serial31::new(last),
                oldest_available: Serial31::new(oldest),
            }
        }
        MessageType::ResumeStatus => {
            let [status, last] = words(kind, payload)?;
            Control::ResumeStatus {
                status: ResumeStatus::from_code(status)?,
                last_received: Serial31::new(last),
            }
        }
        MessageType::Heartbeat => words::<0>(kind, payload).map(|_| Control::Heartbeat)?,
        MessageType::TerminateSession => words::<0>(kind, payload).map(|_| Control::TerminateSession)?,
        MessageType::SessionTerminated => words::<0>(kind, payload).map(|_| Control::SessionTerminated)?,
        MessageType::CallRequest
        | MessageType::CallResponse
        | MessageType::CallbackRequest
        | MessageType::CallbackResponse => {
            return Err(FrameError::Unexpected { message_type: kind, context: "among control messages" });
        }
    })
}

fn words<const N: usize>(message_type: MessageType, payload: &[u8]) -> Result<[u32; N], FrameError> {
    let (words, rest) = payload.as_chunks::<4>();
    match <&[[u8; 4]; N]>::try_from(words) {
        Ok(words) if rest.is_empty() => Ok(words.map(u32::from_be_bytes)),
        _ => Err(FrameError::PayloadSize { message_type, len: payload.len(), expected: 4 * N }),
    }
}

fn take_word(message_type: MessageType, payload: &mut Bytes) -> Result<u32, FrameError> {
    let len = payload.len();
    payload.try_get_u32().map_err(|_| FrameError::PayloadSize { message_type, len, expected: 4 })
}

fn reference(message_type: MessageType, value: u32) -> Result<Serial31, FrameError> {
    Serial31::new(value).ok_or(FrameError::NoReference { message_type, value })
}

/// Appends a control message.
pub fn put_control(out: &mut BytesMut, session: u64, numbers: Numbers, control: Control) {
    let (count, words) = control.words();
    let header = Header { message_type: control.message_type(), session, numbers };
    out.put_slice(&header.to_bytes(4 * count));
    for &word in &words[..count] {
        out.put_u32(word);
    }
}

/// Appends an HLA message: the header, for responses the number of the message that they answer,
/// and the body.
///
/// `body` must not exceed [`super::BODY_BYTES_LIMIT`].
pub fn put_hla(
    out: &mut BytesMut,
    message_type: MessageType,
    session: u64,
    numbers: Numbers,
    response_to: Option<Serial31>,
    body: &[u8],
) {
    let header = Header { message_type, session, numbers };
    let payload = hla_bytes(response_to, body.len()) - HEADER_BYTES;
    out.reserve(HEADER_BYTES + payload);
    out.put_slice(&header.to_bytes(payload));
    if let Some(to) = response_to {
        out.put_u32(to.get());
    }
    out.put_slice(body);
}

/// Size of an HLA message in bytes.
pub(crate) const fn hla_bytes(response_to: Option<Serial31>, body: usize) -> usize {
    HEADER_BYTES + body + if response_to.is_some() { 4 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::super::Decoder;
    use super::*;

    fn serial(n: u32) -> Serial31 {
        Serial31::new(n).unwrap()
    }

    fn decode(bytes: BytesMut) -> Result<Message, FrameError> {
        let mut decoder = Decoder::new(1_000);
        decoder.push(bytes.freeze());
        decoder.next_frame().unwrap().unwrap().message()
    }

    #[test]
    fn control_messages_round_trip() {
        for control in [
            Control::NewSession { version: 1 },
            Control::NewSessionStatus(NewSessionReason::OutOfResources),
            Control::Heartbeat,
            Control::HeartbeatResponse { to: serial(9) },
            Control::TerminateSession,
            Control::SessionTerminated,
            Control::ResumeRequest { last_received: None, oldest_available: Some(serial(4)) },
            Control::ResumeStatus { status: ResumeStatus::Ok, last_received: Some(serial(3)) },
        ] {
            let mut out = BytesMut::new();
            put_control(&mut out, 5, Numbers::default(), control);
            assert_eq!(decode(out), Ok(Message::Control(control)));
        }
    }

    #[test]
    fn payload_of_another_size_is_refused() {
        let mut out = BytesMut::new();
        put_hla(&mut out, MessageType::Heartbeat, 5, Numbers::default(), None, &[0; 3]);
        assert_eq!(
            decode(out),
            Err(FrameError::PayloadSize { message_type: MessageType::Heartbeat, len: 3, expected: 0 })
        );
        let mut out = BytesMut::new();
        put_hla(&mut out, MessageType::ResumeRequest, 5, Numbers::default(), None, &[0; 9]);
        assert_eq!(
            decode(out),
            Err(FrameError::PayloadSize { message_type: MessageType::ResumeRequest, len: 9, expected: 8 })
        );
    }

    #[test]
    fn an_empty_callback_response_takes_the_number_of_the_header() {
        let mut out = BytesMut::new();
        let numbers = Numbers { sequence: Some(serial(5)), last_received: None };
        put_hla(&mut out, MessageType::CallbackResponse, 5, numbers, None, &[]);
        assert_eq!(decode(out), Ok(Message::CallbackResponse { to: Some(serial(5)), body: Bytes::new() }));
    }
}
