//! The floor: bare UDP multicast, with segmentation offload where the system has it.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Instant;

use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use socket2::{Domain, Protocol, Socket, Type};
use srmp_udp::Interface;

use super::SILENCE;
use crate::error::BenchError;

/// The group of the floor, on a port that the system chooses.
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 44, 12);
/// Bytes that one system call may send or receive.
const CALL_BYTES: usize = 64 << 10;
/// Largest number of bytes that one system call sends: less than an IP datagram may have.
const SEND_BYTES_MAX: usize = 60_000;
/// Number of buffers that one system call receives.
const SLOTS: usize = if quinn_udp::BATCH_SIZE < 16 { quinn_udp::BATCH_SIZE } else { 16 };

/// Two sockets: one sends to a group, the other receives from it.
pub(super) struct Pair {
    speaks: UdpSocket,
    speaks_state: UdpSocketState,
    hears: UdpSocket,
    hears_state: UdpSocketState,
    to: SocketAddr,
    message: Vec<u8>,
    datagram: usize,
    burst: usize,
    out: Vec<u8>,
    buffer: Vec<u8>,
}

impl Pair {
    /// A pair that sends bursts of that many datagrams of that many bytes before it waits for them.
    pub(super) fn open(
        interface: &Interface,
        message: usize,
        datagram: usize,
        burst: usize,
    ) -> Result<Self, BenchError> {
        let open = || {
            let (speaks, hears, to) = sockets(interface)?;
            Ok(Self {
                speaks_state: UdpSocketState::new((&speaks).into())?,
                hears_state: UdpSocketState::new((&hears).into())?,
                speaks,
                hears,
                to,
                message: vec![7; message],
                datagram,
                burst,
                out: Vec::with_capacity(CALL_BYTES),
                buffer: vec![0; SLOTS * CALL_BYTES],
            })
        };
        open().map_err(BenchError::system("bare multicast sockets"))
    }

    /// Sends and receives `count` datagrams. Returns their number.
    pub(super) fn flood(&mut self, count: u64) -> Result<u64, BenchError> {
        self.flooded(count).map_err(BenchError::system("bare multicast"))
    }

    fn flooded(&mut self, count: u64) -> io::Result<u64> {
        let mut left = count;
        while left > 0 {
            let burst = left.min(self.burst as u64);
            let mut unsent = burst as usize;
            while unsent > 0 {
                let fit =
                    unsent.min(self.speaks_state.max_gso_segments()).min(SEND_BYTES_MAX / self.datagram);
                self.send(fit.max(1))?;
                unsent -= fit.max(1);
            }
            self.hear(burst as usize)?;
            left -= burst;
        }
        Ok(count)
    }

    fn send(&mut self, datagrams: usize) -> io::Result<()> {
        self.out.clear();
        for _ in 0..datagrams {
            let end = self.out.len() + self.datagram;
            while self.out.len() + self.message.len() <= end {
                self.out.extend_from_slice(&self.message);
            }
            self.out.resize(end, 0);
        }
        let transmit = Transmit {
            destination: self.to,
            ecn: None,
            contents: &self.out,
            segment_size: (datagrams > 1).then_some(self.datagram),
            src_ip: None,
        };
        self.speaks_state.try_send((&self.speaks).into(), &transmit)
    }

    fn hear(&mut self, mut missing: usize) -> io::Result<()> {
        let begun = Instant::now();
        let mut metas = [RecvMeta::default(); SLOTS];
        while missing > 0 {
            let mut rest = self.buffer.chunks_exact_mut(CALL_BYTES);
            let mut slots: [IoSliceMut<'_>; SLOTS] =
                std::array::from_fn(|_| IoSliceMut::new(rest.next().unwrap_or_default()));
            match self.hears_state.recv((&self.hears).into(), &mut slots, &mut metas) {
                Ok(count) => {
                    let datagrams = metas[..count].iter().map(|meta| meta.len.div_ceil(meta.stride.max(1)));
                    missing = missing.saturating_sub(datagrams.sum());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if begun.elapsed() > SILENCE {
                        return Err(io::Error::other("datagrams do not come back"));
                    }
                    std::thread::yield_now();
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The two sockets, without the state that batches need, and the group.
pub(super) fn sockets(interface: &Interface) -> io::Result<(UdpSocket, UdpSocket, SocketAddr)> {
    let address = address_of(interface)?;
    let new = || {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
        let _ = socket.set_recv_buffer_size(4 << 20);
        let _ = socket.set_send_buffer_size(4 << 20);
        Ok::<_, io::Error>(socket)
    };
    let hears = new()?;
    hears.bind(&SocketAddr::from((GROUP, 0)).into())?;
    hears.join_multicast_v4(&GROUP, &address)?;
    let speaks = new()?;
    speaks.set_multicast_if_v4(&address)?;
    speaks.bind(&SocketAddr::from((address, 0)).into())?;
    let to = hears.local_addr()?.as_socket().ok_or_else(|| io::Error::other("no address of the Internet"))?;
    Ok((speaks.into(), hears.into(), to))
}

fn address_of(interface: &Interface) -> io::Result<Ipv4Addr> {
    let wrong = |what: String| io::Error::new(io::ErrorKind::AddrNotAvailable, what);
    let found = match interface {
        Interface::Address(IpAddr::V4(address)) => Some(*address),
        Interface::Address(IpAddr::V6(_)) => None,
        Interface::Routed => Some(Ipv4Addr::UNSPECIFIED),
        Interface::Name(name) => if_addrs::get_if_addrs()?.into_iter().find_map(|one| match one.ip() {
            IpAddr::V4(address) if one.name == *name => Some(address),
            _ => None,
        }),
    };
    found.ok_or_else(|| wrong(format!("{interface} has no IPv4 address")))
}
