//! TLS between a TCP stream and the frames of a link.

use std::cell::RefCell;
use std::io::{self, Read as _, Write as _};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Connection, ServerConnection};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;

use super::alerts;
use super::datagram_keys::DatagramKeys;
use super::keys::{Keys, Proof};
use super::stream::Raw;
use super::{LinkUrl, sockets};

/// Octets that are encrypted at a time, and wait at most while the socket is full.
const CHUNK: usize = 64 << 10;

/// How long a peer that is refused may take to read why.
const LINGER: Duration = Duration::from_secs(1);

/// Encrypts a stream that this node connected. `host`: the certificate has to name the URL's host.
pub(crate) async fn connect(
    keys: Arc<Keys>,
    stream: TcpStream,
    url: &LinkUrl,
    host: bool,
) -> io::Result<Raw> {
    let config = keys.client(url.options.pin, host).map_err(io::Error::other)?;
    let name = ServerName::try_from(url.host.clone())
        .map_err(|_| io::Error::other(format!("`{}` is no name of a host", url.host)))?;
    let connection = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    begin(connection.into(), stream, keys).await
}

/// Encrypts a stream that another node connected.
pub(crate) async fn accept(keys: Arc<Keys>, stream: TcpStream) -> io::Result<Raw> {
    let connection = ServerConnection::new(keys.server()).map_err(io::Error::other)?;
    begin(connection.into(), stream, keys).await
}

/// Shakes hands.
async fn begin(mut connection: Connection, mut stream: TcpStream, keys: Arc<Keys>) -> io::Result<Raw> {
    sockets::tune(&stream)?;
    let peer = sockets::canonical(stream.peer_addr()?);
    let local_ip = sockets::canonical(stream.local_addr()?).ip();
    connection.set_buffer_limit(Some(CHUNK));
    if let Err(error) = shake_hands(&mut connection, &mut stream).await {
        // The peer learns the reason: a socket that is closed while octets wait in it loses the alert.
        let _ = tokio::time::timeout(LINGER, dismiss(&mut connection, &mut stream)).await;
        return Err(error);
    }
    let chain = connection.peer_certificates().unwrap_or_default();
    let chain = chain.iter().map(|certificate| certificate.clone().into_owned()).collect();
    let datagram_keys = Some(DatagramKeys::of(&connection).map_err(|error| failure(&error))?);
    let session = Rc::new(RefCell::new(Session { connection, stream }));
    Ok(Raw {
        read: Box::new(ReadHalf(Rc::clone(&session))),
        write: Box::new(WriteHalf(session)),
        peer: format!("tls://{peer}"),
        peer_ip: Some(peer.ip()),
        local_ip: Some(local_ip),
        quic: None,
        datagram_keys,
        proof: Some(Proof { chain, checked: keys }),
    })
}

async fn shake_hands(connection: &mut Connection, stream: &mut TcpStream) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        send(connection, stream).await?;
        if !connection.is_handshaking() {
            return Ok(());
        }
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the other end closed the connection before it had encrypted: do both use `tls://`?",
            ));
        }
        let mut octets = &buffer[..count];
        while !octets.is_empty() {
            connection.read_tls(&mut octets)?;
            connection.process_new_packets().map_err(|error| failure(&error))?;
        }
    }
}

async fn send(connection: &mut Connection, stream: &mut TcpStream) -> io::Result<()> {
    let mut octets = Vec::new();
    while connection.wants_write() {
        connection.write_tls(&mut octets)?;
    }
    stream.write_all(&octets).await
}

/// Sends the alert, and reads until the peer has closed.
async fn dismiss(connection: &mut Connection, stream: &mut TcpStream) -> io::Result<()> {
    send(connection, stream).await?;
    stream.shutdown().await?;
    let mut scratch = [0; 512];
    while stream.read(&mut scratch).await? > 0 {}
    Ok(())
}

fn failure(error: &rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, alerts::in_words(error))
}

/// An encrypted stream, which both halves share.
struct Session {
    connection: Connection,
    stream: TcpStream,
}

impl Session {
    /// Writes what is encrypted. Ready when all is written.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.connection.wants_write() {
            if let Err(error) = self.connection.write_tls(&mut Socket(&self.stream)) {
                if error.kind() != io::ErrorKind::WouldBlock {
                    return Poll::Ready(Err(error));
                }
                ready!(self.stream.poll_write_ready(cx))?;
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            match self.connection.reader().read(buf.initialize_unfilled()) {
                Ok(count) => {
                    buf.advance(count);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    // A link that breaks ends like this, too. Its frames are whole or lost as ever.
                    return Poll::Ready(Ok(()));
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
            match self.connection.read_tls(&mut Socket(&self.stream)) {
                Ok(_) => {
                    if let Err(error) = self.connection.process_new_packets() {
                        let _ = self.connection.write_tls(&mut Socket(&self.stream)); // the alert, if there is room
                        return Poll::Ready(Err(failure(&error)));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready!(self.stream.poll_read_ready(cx))?;
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_send(cx))?;
        let count = self.connection.writer().write(octets)?;
        // The rest waits for the next call.
        match self.connection.write_tls(&mut Socket(&self.stream)) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Poll::Ready(Err(error)),
            _ => Poll::Ready(Ok(count)),
        }
    }
}

/// The octets of the socket, as far as it has or takes some at once.
struct Socket<'a>(&'a TcpStream);

impl io::Read for Socket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buffer)
    }
}

impl io::Write for Socket<'_> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.0.try_write(octets)
    }

    fn write_vectored(&mut self, octets: &[io::IoSlice<'_>]) -> io::Result<usize> {
        self.0.try_write_vectored(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct ReadHalf(Rc<RefCell<Session>>);

struct WriteHalf(Rc<RefCell<Session>>);

impl AsyncRead for ReadHalf {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.0.borrow_mut().poll_read(cx, buf)
    }
}

impl AsyncWrite for WriteHalf {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, octets: &[u8]) -> Poll<io::Result<usize>> {
        self.0.borrow_mut().poll_write(cx, octets)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.borrow_mut().poll_send(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let session = &mut *self.0.borrow_mut();
        session.connection.send_close_notify();
        ready!(session.poll_send(cx))?;
        Pin::new(&mut session.stream).poll_shutdown(cx)
    }
}
