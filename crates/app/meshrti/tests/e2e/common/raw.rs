//! Clients that do not keep to the Federate Protocol.

use base::Serial31;
use bytes::{Bytes, BytesMut};
use fedpro::frame::{Control, Decoder, Frame, Message, MessageType, Numbers, put_control, put_hla};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
#[cfg(target_os = "linux")]
use {std::net::SocketAddr, tokio::net::TcpSocket};

use tokio::net::TcpStream;

use super::{Server, soon};

/// Longest answer these clients take.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// A connection on which anything can be said.
pub(crate) struct Raw {
    stream: TcpStream,
    decoder: Decoder,
}

impl Raw {
    pub(crate) async fn connect(server: &Server) -> Self {
        let stream = soon(TcpStream::connect(server.address())).await.expect("the server listens");
        Self { stream, decoder: Decoder::new(ANSWER_BYTES_MAX) }
    }

    /// A connection from another address of this machine.
    #[cfg(target_os = "linux")] // others have one loopback address only
    pub(crate) async fn connect_from(address: &str, server: &Server) -> Self {
        let socket = TcpSocket::new_v4().expect("there are sockets");
        socket.bind(SocketAddr::new(address.parse().expect("it is an address"), 0)).expect("it is loopback");
        let to = server.address().parse().expect("it is an address");
        let stream = soon(socket.connect(to)).await.expect("the server listens");
        Self { stream, decoder: Decoder::new(ANSWER_BYTES_MAX) }
    }

    /// A connection with a session, and its id.
    pub(crate) async fn with_session(server: &Server) -> (Self, u64) {
        let mut raw = Self::connect(server).await;
        raw.send(&control(0, 0, Control::NewSession { version: 1 })).await;
        let status = raw.frame().await.expect("a session is opened");
        (raw, status.header.session)
    }

    /// Sends bytes; a server that has closed already is no failure.
    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        let _ = soon(self.stream.write_all(bytes)).await;
    }

    /// The next message of the server; `None` when it has closed the connection.
    pub(crate) async fn frame(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.decoder.next_frame().expect("the server keeps to the protocol") {
                return Some(frame);
            }
            let mut buffer = BytesMut::with_capacity(4096);
            match soon(self.stream.read_buf(&mut buffer)).await {
                Ok(count) if count > 0 => self.decoder.push(buffer.freeze()),
                _ => return None,
            }
        }
    }

    /// The next message of the server, read.
    pub(crate) async fn message(&mut self) -> Option<Message> {
        self.frame().await.map(|frame| frame.message().expect("the server keeps to the protocol"))
    }

    /// Waits until the server has closed the connection.
    pub(crate) async fn closed(mut self) {
        while self.frame().await.is_some() {}
    }
}

/// A control message.
pub(crate) fn control(session: u64, number: u32, control: Control) -> Bytes {
    let mut out = BytesMut::new();
    put_control(&mut out, session, Numbers { sequence: Serial31::new(number), last_received: None }, control);
    out.freeze()
}

/// A call with any body.
pub(crate) fn call(session: u64, number: u32, body: &Bytes) -> Bytes {
    let mut out = BytesMut::new();
    let numbers = Numbers { sequence: Serial31::new(number), last_received: None };
    put_hla(&mut out, MessageType::CallRequest, session, numbers, None, body);
    out.freeze()
}
