//! The stages between a socket and the Federate Protocol, at one end of one connection.

use bytes::BytesMut;

use crate::error::{CarrierError, TlsFilesError};
use crate::tls::{ClientTls, HANDSHAKE, PeerCertificate, ServerTls, Tls};
use crate::url::{Carrier, Listening, ServerUrl};
use crate::websocket::WebSocket;

/// Whether a connection goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// It goes on.
    Open,
    /// The peer has ended it in an orderly way, and sends nothing more.
    Ended,
}

/// The knowledge of one of the two stages.
enum Stage<T> {
    /// The first octet decides.
    Unknown,
    Absent,
    Present(T),
}

impl<T> Stage<T> {
    fn present(&mut self) -> Option<&mut T> {
        if let Stage::Present(stage) = self { Some(stage) } else { None }
    }
}

/// The stages between the octets of one socket and the messages of the Federate Protocol.
pub struct Filter {
    /// The certificate of a server.
    server_tls: Option<ServerTls>,
    tls: Stage<Tls>,
    web_socket: Stage<Box<WebSocket>>,
    /// Decrypted octets.
    clear: BytesMut,
}

impl Filter {
    /// The filter of a connection that a server has accepted. `None` if the carrier needs none: messages
    /// are octets of the socket. Without `tls`, connections that encrypt are refused.
    pub fn server(listening: Listening, tls: Option<&ServerTls>) -> Option<Filter> {
        let (tls_stage, web_socket) = match listening {
            Listening::For(Carrier::Tcp) => return None,
            Listening::For(Carrier::WebSocket) => {
                (Stage::Absent, Stage::Present(Box::new(WebSocket::server())))
            }
            Listening::For(Carrier::Tls) => (Stage::Unknown, Stage::Absent),
            Listening::For(Carrier::SecureWebSocket) => {
                (Stage::Unknown, Stage::Present(Box::new(WebSocket::server())))
            }
            Listening::Any => (Stage::Unknown, Stage::Unknown),
        };
        Some(Filter { server_tls: tls.cloned(), tls: tls_stage, web_socket, clear: BytesMut::new() })
    }

    /// The filter of a connection that a client has made to `server`. `None` if its carrier needs
    /// none. The output of [`Filter::take_output`] is to be sent first, and messages once
    /// [`Filter::is_open`].
    ///
    /// # Errors
    /// The carrier encrypts, and `tls` is missing, or the host is no name that a certificate could have.
    pub fn client(server: &ServerUrl, tls: Option<&ClientTls>) -> Result<Option<Filter>, TlsFilesError> {
        let ServerUrl { carrier, host, .. } = server;
        if *carrier == Carrier::Tcp {
            return Ok(None);
        }
        let tls = match carrier.is_encrypted() {
            true => Stage::Present(Tls::client(tls.ok_or(TlsFilesError::NoAuthorities)?, host)?),
            false => Stage::Absent,
        };
        let web_socket = match carrier.is_web_socket() {
            true => Stage::Present(Box::new(WebSocket::client(&server.authority()))),
            false => Stage::Absent,
        };
        Ok(Some(Filter { server_tls: None, tls, web_socket, clear: BytesMut::new() }))
    }

    /// Whether messages may be sent: all handshakes are over.
    pub fn is_open(&self) -> bool {
        let encrypts = match &self.tls {
            Stage::Unknown => false,
            Stage::Absent => true,
            Stage::Present(tls) => tls.is_open(),
        };
        let frames = match &self.web_socket {
            Stage::Unknown => false,
            Stage::Absent => true,
            Stage::Present(web_socket) => web_socket.is_open(),
        };
        encrypts && frames
    }

    /// Whether the connection encrypts, and its handshake is over.
    pub fn is_secured(&self) -> bool {
        matches!(&self.tls, Stage::Present(tls) if tls.is_open())
    }

    /// The certificate that the peer of a connection that [is secured](Filter::is_secured) has shown
    /// and proved to be its own.
    pub fn certificate(&self) -> Option<PeerCertificate> {
        if let Stage::Present(tls) = &self.tls { tls.certificate() } else { None }
    }

    /// Takes `octets` that were read from the socket, and appends those of messages to `messages`. There
    /// may be output afterwards, even with an error: the peer is to be told.
    ///
    /// # Errors
    /// The peer broke a protocol, or may not connect. The connection is to be closed.
    pub fn receive(&mut self, mut octets: BytesMut, messages: &mut BytesMut) -> Result<Flow, CarrierError> {
        if let (Stage::Unknown, Some(&first)) = (&self.tls, octets.first()) {
            self.tls = self.begin_tls(first)?;
        }
        let mut ended = false;
        if let Some(tls) = self.tls.present() {
            ended = tls.receive(&octets, &mut self.clear)?;
            octets = self.clear.split();
        }
        if let (Stage::Unknown, Some(first)) = (&self.web_socket, octets.first()) {
            // A message of the Federate Protocol begins with its length, whose first octet is 0.
            self.web_socket = match first.is_ascii_uppercase() {
                true => Stage::Present(Box::new(WebSocket::server())),
                false => Stage::Absent,
            };
        }
        match self.web_socket.present() {
            Some(web_socket) => ended |= web_socket.receive(&mut octets, messages)?,
            None => messages.unsplit(octets),
        }
        Ok(if ended { Flow::Ended } else { Flow::Open })
    }

    /// The stage of a listener to which a peer sends this octet first.
    fn begin_tls(&self, first: u8) -> Result<Stage<Tls>, CarrierError> {
        let must_encrypt = !matches!(self.web_socket, Stage::Unknown);
        match (first == HANDSHAKE, &self.server_tls) {
            (true, Some(tls)) => Ok(Stage::Present(Tls::server(tls)?)),
            (true, None) => Err(CarrierError::NoCertificate),
            (false, _) if must_encrypt => Err(CarrierError::NotEncrypted(first)),
            (false, _) => Ok(Stage::Absent),
        }
    }

    /// Appends to `out` the octets that carry `messages`, which it takes out: whole ones, of which there
    /// is at least one.
    pub fn send(&mut self, messages: &mut BytesMut, out: &mut BytesMut) {
        let header = self.web_socket.present().map(|web_socket| web_socket.frame(messages));
        let header = header.unwrap_or_default();
        match self.tls.present() {
            Some(tls) => tls.send([&header, messages], out),
            None => {
                out.extend_from_slice(&header);
                out.extend_from_slice(messages);
            }
        }
        messages.clear();
    }

    /// Appends to `out` what the filter itself has to send: its part of handshakes, and answers. Call it
    /// after each [`receive`](Filter::receive), or later when the socket is full: meanwhile the answer to
    /// a further ping replaces that to the last one.
    pub fn take_output(&mut self, out: &mut BytesMut) {
        let mut inner = BytesMut::new();
        if let Some(web_socket) = self.web_socket.present() {
            // The request of a client waits for the end of the handshake of TLS.
            if !matches!(&self.tls, Stage::Present(tls) if !tls.is_open()) {
                web_socket.take_output(&mut inner);
            }
        }
        match self.tls.present() {
            Some(tls) => tls.send([&inner, &[]], out),
            None => out.unsplit(inner),
        }
    }

    /// Says that nothing more will be sent. The output tells the peer.
    pub fn close(&mut self, out: &mut BytesMut) {
        if let Some(web_socket) = self.web_socket.present() {
            web_socket.close();
        }
        self.take_output(out);
        if let Some(tls) = self.tls.present() {
            tls.close();
            tls.take_output(out);
        }
    }
}

#[cfg(test)]
mod tests;
