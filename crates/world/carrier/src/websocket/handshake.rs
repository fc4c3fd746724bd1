//! The opening handshake (RFC 6455, 4).

use bytes::{Buf as _, BytesMut};
use tungstenite::handshake::client::{Response, generate_key};
use tungstenite::handshake::derive_accept_key;
use tungstenite::handshake::machine::TryParse as _;
use tungstenite::handshake::server::{Request, create_response, write_response};

use crate::error::CarrierError;

/// The longest request or response of a handshake.
const HEAD_MAX: usize = 8 << 10;

/// The end of a request or response.
const END: &[u8] = b"\r\n\r\n";

/// Moves octets to `head` until it is complete. Returns whether it is.
pub(super) fn take_head(octets: &mut BytesMut, head: &mut BytesMut) -> Result<bool, CarrierError> {
    // The end may have begun in what came before.
    let from = head.len().saturating_sub(END.len() - 1);
    let taken = octets.len().min(HEAD_MAX - head.len());
    let before = head.len();
    head.extend_from_slice(&octets[..taken]);
    match head[from..].windows(END.len()).position(|window| window == END) {
        Some(at) => {
            let len = from + at + END.len();
            head.truncate(len);
            octets.advance(len - before);
            Ok(true)
        }
        None if head.len() == HEAD_MAX => Err(CarrierError::HandshakeTooLong { max: HEAD_MAX }),
        None => {
            octets.advance(taken);
            Ok(false)
        }
    }
}

/// Answers the request of a client.
pub(super) fn answer(request: &[u8], out: &mut BytesMut) -> Result<(), CarrierError> {
    use bytes::BufMut as _;
    let response = read_request(request)
        .and_then(|request| create_response(&request).map_err(|error| malformed(&error)));
    match response {
        Ok(response) => {
            write_response(out.writer(), &response).map_err(|error| malformed(&error))?;
            Ok(())
        }
        Err(error) => {
            let status = match error {
                CarrierError::Origin(_) => "403 Forbidden",
                _ => "400 Bad Request",
            };
            let body = format!("{error}\n");
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            out.extend_from_slice(head.as_bytes());
            out.extend_from_slice(body.as_bytes());
            Err(error)
        }
    }
}

/// Reads a request. A browser says which page it acts for, and a page of somebody else could reach a
/// listener on the loopback address of its reader. No federate is a web page, so none may connect.
fn read_request(text: &[u8]) -> Result<Request, CarrierError> {
    let parsed = Request::try_parse(text).map_err(|error| malformed(&error))?;
    let (_, request) =
        parsed.ok_or_else(|| CarrierError::Handshake("the request is incomplete".to_owned()))?;
    match request.headers().get("Origin") {
        Some(origin) => Err(CarrierError::Origin(String::from_utf8_lossy(origin.as_bytes()).into_owned())),
        None => Ok(request),
    }
}

fn malformed(error: &tungstenite::Error) -> CarrierError {
    CarrierError::Handshake(error.to_string())
}

/// The handshake of a client, until the server has answered.
pub(crate) struct ClientHandshake {
    /// The server's proof that it has understood the request.
    accept: String,
    response: BytesMut,
}

impl ClientHandshake {
    /// Writes the request for `host`.
    pub(super) fn begin(host: &str, out: &mut BytesMut) -> Self {
        let key = generate_key();
        let request = format!(
            "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
        );
        out.extend_from_slice(request.as_bytes());
        Self { accept: derive_accept_key(key.as_bytes()), response: BytesMut::new() }
    }

    /// Takes octets of the server. Returns whether it has agreed.
    pub(super) fn receive(&mut self, octets: &mut BytesMut) -> Result<bool, CarrierError> {
        if !take_head(octets, &mut self.response)? {
            return Ok(false);
        }
        let fail = |why: String| Err(CarrierError::Handshake(why));
        let parsed = Response::try_parse(&self.response).map_err(|error| malformed(&error))?;
        let Some((_, response)) = parsed else { return fail("the response is incomplete".to_owned()) };
        if response.status().as_u16() != 101 {
            return fail(format!("the server answers {}", response.status()));
        }
        let header = |name: &str| response.headers().get(name).map(|value| value.as_bytes());
        let upgrades = header("Upgrade").is_some_and(|value| value.eq_ignore_ascii_case(b"websocket"));
        if !upgrades || header("Sec-WebSocket-Accept") != Some(self.accept.as_bytes()) {
            return fail("the server's answer is not to this request".to_owned());
        }
        if header("Sec-WebSocket-Extensions").is_some() || header("Sec-WebSocket-Protocol").is_some() {
            return fail("the server uses an extension that was not offered".to_owned());
        }
        Ok(true)
    }
}
