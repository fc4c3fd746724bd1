//! The reliable stream of a link, independent of its carrier, and an interface for wrapping it.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::datagram_keys::DatagramKeys;
use super::keys::Proof;

/// The reading half of a stream.
pub type BoxRead = Box<dyn AsyncRead + Unpin>;
/// The writing half of a stream.
pub type BoxWrite = Box<dyn AsyncWrite + Unpin>;
/// The result of a [`StreamLayer`], once its own handshake is done.
pub type Wrapping<'a> = Pin<Box<dyn Future<Output = io::Result<(BoxRead, BoxWrite)>> + 'a>>;

/// Wraps the TCP streams of links at both ends, for example with TLS.
///
/// It is called right after a connection is made or accepted, before anything crosses it. Its time
/// counts against `network.connect-timeout`. [`Plain`] wraps nothing.
pub trait StreamLayer {
    /// Wraps the stream to `host` that this node connected.
    fn connect<'a>(&'a self, host: &'a str, stream: TcpStream) -> Wrapping<'a>;
    /// Wraps a stream that this node accepted.
    fn accept(&self, stream: TcpStream) -> Wrapping<'_>;
}

/// Plain TCP.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl StreamLayer for Plain {
    fn connect<'a>(&'a self, _: &'a str, stream: TcpStream) -> Wrapping<'a> {
        self.accept(stream)
    }

    fn accept(&self, stream: TcpStream) -> Wrapping<'_> {
        let (read, write) = stream.into_split();
        Box::pin(std::future::ready(Ok((Box::new(read) as BoxRead, Box::new(write) as BoxWrite))))
    }
}

/// A stream between two drivers on which nothing has been written.
pub(crate) struct Raw {
    pub(crate) read: BoxRead,
    pub(crate) write: BoxWrite,
    /// The other end, as a text for people.
    pub(crate) peer: String,
    /// The address of the other end.
    pub(crate) peer_ip: Option<IpAddr>,
    /// The address of this end, as the other end sees it.
    pub(crate) local_ip: Option<IpAddr>,
    /// The connection, if this is the first stream of a QUIC connection.
    pub(crate) quic: Option<quinn::Connection>,
    /// The keys for UDP datagrams beside the stream, if it is encrypted.
    pub(crate) datagram_keys: Option<DatagramKeys>,
    /// The proof of who is at the other end, if there is one.
    pub(crate) proof: Option<Proof>,
}
