//! The first records of a link, by which both drivers agree on datagrams and emulation.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use base::Seed;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UdpSocket;

use super::datagram::{DatagramReceiver, DatagramSender, Way};
use super::datagram_keys::{Incoming, Outgoing};
use super::frame::{self, FrameError, FrameReader};
use super::hello::{DatagramOffer, HELLO_BYTES_MAX, Hello, HelloError};
use super::keys::Proof;
use super::sockets::bind_udp;
use super::stream::{BoxRead, BoxWrite, Raw};
use crate::emulation::{Emulation, Line};
use crate::url::{BestEffort, DEFAULT_MTU, LinkOptions};

/// How a record of TLS begins that is an alert or a part of a handshake (RFC 8446, 5.1): its type and
/// the major version.
const TLS_RECORDS: [usize; 2] = [0x1503, 0x1603];

/// A link that is ready for the machines.
pub(crate) struct Established {
    pub(crate) read: BoxRead,
    pub(crate) write: BoxWrite,
    pub(crate) reader: FrameReader,
    pub(crate) line: Option<Line>,
    pub(crate) sender: Option<DatagramSender>,
    pub(crate) receiver: Option<DatagramReceiver>,
    pub(crate) peer: String,
    pub(crate) local_ip: Option<IpAddr>,
    pub(crate) proof: Option<Proof>,
}

/// The reason why a connection did not become a link.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EstablishError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error(
        "the peer closed the connection before it said who it is; is this the port for nodes (`network.listen`), and not that for federates?"
    )]
    ClosedEarly,
    #[error("the peer is no node of MeshRTI, or another version: {0}")]
    Frame(#[from] FrameError),
    #[error("the peer is no node of MeshRTI, or it encrypts: do both ends use `tls://`?")]
    Encrypts,
    #[error("{0}")]
    Hello(#[from] HelloError),
}

/// This side's end of the datagrams, before the other side's is known.
enum Offered {
    Nothing,
    Udp { socket: UdpSocket, token: u64, mtu: usize },
    Quic(quinn::Connection),
}

impl Offered {
    fn udp(local_ip: Option<IpAddr>, mtu: usize) -> io::Result<Self> {
        let local = local_ip.ok_or_else(|| io::Error::other("the link has no address for UDP"))?;
        let socket = UdpSocket::from_std(bind_udp(SocketAddr::new(local, 0))?)?;
        Ok(Self::Udp { socket, token: random()?, mtu })
    }

    fn to_offer(&self) -> io::Result<Option<DatagramOffer>> {
        Ok(match self {
            Self::Nothing => None,
            Self::Udp { socket, token, mtu } => {
                let mtu = u16::try_from(*mtu).unwrap_or(u16::MAX);
                Some(DatagramOffer { port: socket.local_addr()?.port(), token: *token, mtu })
            }
            Self::Quic(_) => Some(DatagramOffer { port: 0, token: 0, mtu: 0 }),
        })
    }

    /// Joins both ends, once the other's is known.
    async fn join(
        self,
        peer: Option<DatagramOffer>,
        raw: &mut Raw,
    ) -> io::Result<(Option<DatagramSender>, Option<DatagramReceiver>)> {
        match (self, peer, raw.peer_ip) {
            (Self::Udp { socket, token, mtu }, Some(offer), Some(ip)) if offer.port != 0 => {
                socket.connect(SocketAddr::new(ip, offer.port)).await?;
                let socket = Rc::new(socket);
                let mtu = mtu.min(usize::from(offer.mtu)).max(256);
                let (outgoing, incoming) = match raw.datagram_keys.take() {
                    Some(keys) => keys.split(),
                    None => (Outgoing::Token(offer.token), Incoming::Token(token)),
                };
                let outgoing = Rc::new(outgoing);
                let way = Way::Udp { socket: Rc::clone(&socket), proof: Rc::clone(&outgoing), mtu };
                let receiver = DatagramReceiver::Udp { socket, incoming, outgoing };
                Ok((Some(DatagramSender::new(way)), Some(receiver)))
            }
            (Self::Quic(connection), Some(_), _) => {
                let sender = DatagramSender::new(Way::Quic(connection.clone()));
                Ok((Some(sender), Some(DatagramReceiver::Quic(connection))))
            }
            _ => Ok((None, None)),
        }
    }
}

/// Establishes the side that connected.
pub(crate) async fn initiate(mut raw: Raw, options: &LinkOptions) -> Result<Established, EstablishError> {
    let offered = match (options.best_effort, &raw.quic) {
        (BestEffort::Udp, _) => Offered::udp(raw.local_ip, options.mtu.unwrap_or(DEFAULT_MTU))?,
        (BestEffort::Datagram, Some(connection)) if connection.max_datagram_size().is_some() => {
            Offered::Quic(connection.clone())
        }
        _ => Offered::Nothing,
    };
    let hello = Hello { datagrams: offered.to_offer()?, emulate: options.back.clone() };
    send_hello(&mut raw.write, &hello).await?;
    let mut reader = FrameReader::new();
    let answer = hear(&mut raw.read, &mut reader).await?;
    let (sender, receiver) = offered.join(answer.datagrams, &mut raw).await?;
    finish(raw, reader, &options.out, sender, receiver)
}

/// Establishes the side that accepted.
pub(crate) async fn accept(mut raw: Raw) -> Result<Established, EstablishError> {
    let mut reader = FrameReader::new();
    let hello = match hear(&mut raw.read, &mut reader).await {
        Ok(hello) => hello,
        Err(error) => {
            if let EstablishError::Hello(HelloError::Version(_)) = &error {
                // Sent so that the other side can also report the error.
                let _ = send_hello(&mut raw.write, &Hello::default()).await;
            }
            return Err(error);
        }
    };
    let offered = match (&hello.datagrams, &raw.quic) {
        (Some(offer), None) if offer.port != 0 => {
            // Without a UDP socket, best effort travels in the reliable stream.
            Offered::udp(raw.local_ip, usize::from(offer.mtu).max(256)).unwrap_or(Offered::Nothing)
        }
        (Some(_), Some(connection)) if connection.max_datagram_size().is_some() => {
            Offered::Quic(connection.clone())
        }
        _ => Offered::Nothing,
    };
    let answer = Hello { datagrams: offered.to_offer()?, emulate: Emulation::default() };
    send_hello(&mut raw.write, &answer).await?;
    let (sender, receiver) = offered.join(hello.datagrams, &mut raw).await?;
    finish(raw, reader, &hello.emulate, sender, receiver)
}

async fn send_hello(write: &mut BoxWrite, hello: &Hello) -> io::Result<()> {
    let mut record = bytes::BytesMut::new();
    frame::write(&mut record, &hello.encode());
    write.write_all(&record).await?;
    write.flush().await
}

async fn hear(read: &mut BoxRead, reader: &mut FrameReader) -> Result<Hello, EstablishError> {
    loop {
        match reader.next(HELLO_BYTES_MAX) {
            Ok(Some(record)) => return Ok(Hello::decode(record)?),
            Ok(None) => {}
            Err(FrameError::TooLong { length, .. }) if TLS_RECORDS.contains(&(length >> 16)) => {
                return Err(EstablishError::Encrypts);
            }
            Err(error) => return Err(error.into()),
        }
        if reader.read(read).await? == 0 {
            return Err(EstablishError::ClosedEarly);
        }
    }
}

fn finish(
    raw: Raw,
    reader: FrameReader,
    emulation: &Emulation,
    sender: Option<DatagramSender>,
    receiver: Option<DatagramReceiver>,
) -> Result<Established, EstablishError> {
    let line = if emulation.is_none() { None } else { Some(Line::new(emulation, Seed(random()?))) };
    let Raw { read, write, peer, local_ip, proof, .. } = raw;
    Ok(Established { read, write, reader, line, sender, receiver, peer, local_ip, proof })
}

fn random() -> io::Result<u64> {
    getrandom::u64().map_err(|error| io::Error::other(format!("the system gives no random numbers: {error}")))
}
