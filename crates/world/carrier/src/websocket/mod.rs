//! WebSocket (RFC 6455): the stage of a filter.

mod frames;
mod handshake;

use bytes::BytesMut;
use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::{Control, Data, OpCode};

use self::frames::{FrameReader, Part, apply_mask};
pub(crate) use self::handshake::ClientHandshake;
use crate::error::CarrierError;

/// The status code of a connection that ends because all is done (RFC 6455, 7.4.1).
const NORMAL_CLOSURE: u16 = 1000;

/// The two ends differ: only clients mask (5.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Client,
    Server,
}

/// How far a connection is.
enum Stage {
    /// The request of the client is awaited. These octets of it have come.
    Request(BytesMut),
    /// The response of the server is awaited.
    Response(Box<ClientHandshake>),
    Open(FrameReader),
    /// One side has closed the connection.
    Closed,
}

/// The stage of a filter that puts messages into WebSocket frames.
pub(crate) struct WebSocket {
    role: Role,
    stage: Stage,
    /// The own part of the handshake, and answers to control frames.
    output: BytesMut,
    /// The latest ping that is not answered; earlier ones need no answer (5.5.3).
    ping: Option<Vec<u8>>,
}

impl WebSocket {
    pub(crate) fn server() -> Self {
        let stage = Stage::Request(BytesMut::new());
        Self { role: Role::Server, stage, output: BytesMut::new(), ping: None }
    }

    /// A client of the server on `host`: a name or address, and perhaps a port.
    pub(crate) fn client(host: &str) -> Self {
        let mut output = BytesMut::new();
        let handshake = ClientHandshake::begin(host, &mut output);
        Self { role: Role::Client, stage: Stage::Response(Box::new(handshake)), output, ping: None }
    }

    /// Whether messages may be sent.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Open(_))
    }

    /// Takes octets of the peer, and appends those of messages to `messages`. Returns whether the
    /// peer has closed the connection.
    pub(crate) fn receive(
        &mut self,
        octets: &mut BytesMut,
        messages: &mut BytesMut,
    ) -> Result<bool, CarrierError> {
        loop {
            match &mut self.stage {
                Stage::Request(received) => {
                    if !handshake::take_head(octets, received)? {
                        return Ok(false);
                    }
                    handshake::answer(received, &mut self.output)?;
                    self.stage = Stage::Open(FrameReader::default());
                }
                Stage::Response(handshake) => {
                    if !handshake.receive(octets)? {
                        return Ok(false);
                    }
                    self.stage = Stage::Open(FrameReader::default());
                }
                Stage::Open(_) => return self.receive_frames(octets, messages),
                Stage::Closed => {
                    octets.clear();
                    return Ok(true);
                }
            }
        }
    }

    fn receive_frames(
        &mut self,
        octets: &mut BytesMut,
        messages: &mut BytesMut,
    ) -> Result<bool, CarrierError> {
        let Stage::Open(reader) = &mut self.stage else { return Ok(false) };
        while let Some(part) = reader.next(octets, self.role == Role::Server)? {
            match part {
                Part::Data(data) => messages.unsplit(data),
                Part::Ping(payload) => self.ping = Some(payload),
                Part::Pong => {}
                Part::Close => {
                    octets.clear();
                    self.close();
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// The header of a frame with whole messages, and the messages as they are sent.
    pub(crate) fn frame(&self, messages: &mut BytesMut) -> BytesMut {
        let mask = self.mask();
        if let Some(mask) = mask {
            apply_mask(messages, mask, 0);
        }
        let mut header = BytesMut::new();
        write_header(OpCode::Data(Data::Binary), messages.len(), mask, &mut header);
        header
    }

    /// A new mask for a frame of a client.
    fn mask(&self) -> Option<[u8; 4]> {
        (self.role == Role::Client).then(frames::random_mask)
    }

    /// Takes the own part of the handshake and answers to control frames.
    pub(crate) fn take_output(&mut self, out: &mut BytesMut) {
        if let Some(payload) = self.ping.take() {
            self.control(Control::Pong, &payload);
        }
        out.unsplit(self.output.split());
    }

    /// Says that nothing more will be sent.
    pub(crate) fn close(&mut self) {
        if self.is_open() {
            self.control(Control::Close, &NORMAL_CLOSURE.to_be_bytes());
        }
        self.stage = Stage::Closed;
    }

    fn control(&mut self, kind: Control, payload: &[u8]) {
        let mask = self.mask();
        write_header(OpCode::Control(kind), payload.len(), mask, &mut self.output);
        let begin = self.output.len();
        self.output.extend_from_slice(payload);
        if let Some(mask) = mask {
            apply_mask(&mut self.output[begin..], mask, 0);
        }
    }
}

fn write_header(opcode: OpCode, len: usize, mask: Option<[u8; 4]>, out: &mut BytesMut) {
    use bytes::BufMut as _;
    let header = FrameHeader { opcode, mask, ..FrameHeader::default() };
    let written = header.format(len as u64, &mut out.writer());
    debug_assert!(written.is_ok(), "memory takes everything");
}
