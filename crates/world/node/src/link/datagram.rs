//! The datagram side of a link: UDP beside a TCP or TLS link, or the datagrams of a QUIC connection.
//!
//! A UDP datagram begins with its kind (0 probe, 1 answer, 2 frame), 8 octets of proof and a number
//! (8 octets). The frame follows. Beside TCP the proof is the receiver's token. Beside TLS it is a
//! number that no other datagram has, the frame is encrypted, and 16 octets follow that prove the whole.
//! Other datagrams do not belong to the link. Each side sends probes, and frames travel as datagrams
//! only while the probes are answered. A firewall that drops UDP therefore costs best effort nothing
//! but its speed. A QUIC datagram begins with the number alone.

use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{BufMut as _, Bytes, BytesMut};
use tokio::net::UdpSocket;

use super::LinkCounts;
use super::datagram_keys::{Incoming, Outgoing};

/// Octets before the frame in a UDP datagram.
pub(crate) const UDP_HEADER: usize = 17;

/// Octets before the frame in a QUIC datagram.
pub(crate) const QUIC_HEADER: usize = 8;

/// The kind of a UDP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Requests an answer.
    Probe = 0,
    /// Answers a probe.
    Answer = 1,
    /// Carries a frame.
    Frame = 2,
}

impl Kind {
    /// The kind with this number, if there is one.
    pub(crate) fn of(number: u8) -> Option<Self> {
        [Self::Probe, Self::Answer, Self::Frame].into_iter().find(|kind| *kind as u8 == number)
    }
}

/// The transport by which datagrams are sent.
pub(crate) enum Way {
    /// A UDP socket that is connected to the peer's.
    Udp {
        /// The socket.
        socket: Rc<UdpSocket>,
        /// The proof for the peer that they come from here. Probes share it.
        proof: Rc<Outgoing>,
        /// Longest payload, in bytes.
        mtu: usize,
    },
    /// A QUIC connection.
    Quic(quinn::Connection),
}

/// Whether a datagram can be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// It can be sent now.
    Yes,
    /// Not now. The task is woken when it can.
    Woken,
    /// Not now, and no task is woken; ask again soon.
    AskAgain,
}

/// The sending side.
pub(crate) struct DatagramSender {
    way: Way,
    /// Whether frames may travel as datagrams at present.
    pub(crate) usable: bool,
    number: u64,
    buffer: BytesMut,
    /// A datagram that the socket did not accept although it had announced room.
    held: Option<Bytes>,
}

impl DatagramSender {
    pub(crate) fn new(way: Way) -> Self {
        let usable = matches!(way, Way::Quic(_));
        Self { way, usable, number: 0, buffer: BytesMut::new(), held: None }
    }

    /// Longest frame, in bytes.
    pub(crate) fn frame_bytes_max(&self) -> usize {
        match &self.way {
            Way::Udp { mtu, proof, .. } => mtu - proof.overhead(),
            Way::Quic(connection) => {
                connection.max_datagram_size().map_or(0, |max| max.saturating_sub(QUIC_HEADER))
            }
        }
    }

    /// Whether a datagram can be sent. A datagram that was held back goes first.
    pub(crate) fn poll_room(&mut self, cx: &mut Context<'_>, counters: &mut LinkCounts) -> Room {
        loop {
            match &self.way {
                Way::Udp { socket, .. } => match socket.poll_send_ready(cx) {
                    Poll::Pending => return Room::Woken,
                    Poll::Ready(Err(_)) => counters.refused_datagrams += 1,
                    Poll::Ready(Ok(())) => {}
                },
                Way::Quic(connection) => {
                    if connection.datagram_send_buffer_space() < self.frame_bytes_max() + QUIC_HEADER {
                        return Room::AskAgain;
                    }
                }
            }
            match self.held.take() {
                None => return Room::Yes,
                Some(datagram) => self.put(datagram, counters),
            }
        }
    }

    /// Sends a frame with this number, or with the one after the last.
    pub(crate) fn send(&mut self, number: Option<u64>, frame: &[u8], counters: &mut LinkCounts) {
        self.number = number.unwrap_or(self.number + 1);
        match &self.way {
            Way::Udp { proof, .. } => proof.write(&mut self.buffer, Kind::Frame, self.number, frame),
            Way::Quic(_) => {
                self.buffer.put_u64(self.number);
                self.buffer.put_slice(frame);
            }
        }
        let datagram = self.buffer.split().freeze();
        self.put(datagram, counters);
    }

    fn put(&mut self, datagram: Bytes, counters: &mut LinkCounts) {
        let result = match &self.way {
            Way::Udp { socket, .. } => socket.try_send(&datagram).map(drop),
            Way::Quic(connection) => connection.send_datagram(datagram.clone()).map_err(io::Error::other),
        };
        match result {
            Ok(()) => counters.sent_datagrams += 1,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.held = Some(datagram),
            Err(_) => counters.refused_datagrams += 1,
        }
    }
}

/// The receiving side.
pub(crate) enum DatagramReceiver {
    /// A UDP socket, and the proofs of both directions.
    Udp {
        /// The socket.
        socket: Rc<UdpSocket>,
        /// Tells which datagrams come from the peer.
        incoming: Incoming,
        /// For probes.
        outgoing: Rc<Outgoing>,
    },
    /// The connection.
    Quic(quinn::Connection),
}
