//! Datagrams received from a socket, many per system call.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;

use bytes::Bytes;
use quinn_udp::RecvMeta;
use tokio::io::Interest;

use super::pool::Pool;
use super::sockets::Batched;
use super::stats::IoCounters;

/// Room for datagrams that arrive together from one sender, or for the longest datagram.
const SLOT_BYTES: usize = 64 << 10;
/// Number of slots that one system call fills.
const SLOTS: usize = if quinn_udp::BATCH_SIZE < 16 { quinn_udp::BATCH_SIZE } else { 16 };

/// The buffers that system calls write to.
#[derive(Debug)]
pub(super) struct Receiver {
    bytes: Vec<u8>,
    metas: [RecvMeta; SLOTS],
    pool: Pool,
}

impl Receiver {
    pub(super) fn new() -> Self {
        Self {
            bytes: vec![0; SLOTS * SLOT_BYTES],
            metas: [RecvMeta::default(); SLOTS],
            pool: Pool::default(),
        }
    }

    /// Makes one system call and passes each datagram with its sender to `take`. Returns false when
    /// there is none.
    pub(super) fn receive(
        &mut self,
        from: &Batched,
        counters: &mut IoCounters,
        mut take: impl FnMut(SocketAddr, Bytes),
    ) -> bool {
        let mut rest = self.bytes.chunks_exact_mut(SLOT_BYTES);
        let mut slots: [IoSliceMut<'_>; SLOTS] =
            std::array::from_fn(|_| IoSliceMut::new(rest.next().unwrap_or_default()));
        let metas = &mut self.metas;
        let read = from
            .socket
            .try_io(Interest::READABLE, || from.state.recv((&from.socket).into(), &mut slots, metas));
        counters.receive_calls += 1;
        let count = match read {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            Err(error) => {
                // An error that an earlier datagram caused, for example a port without a socket.
                tracing::debug!(%error, "a datagram met trouble");
                counters.receive_errors += 1;
                return true;
            }
        };
        for (meta, slot) in metas[..count].iter().zip(&slots) {
            for datagram in slot[..meta.len].chunks(meta.stride.max(1)) {
                counters.received += 1;
                take(meta.addr, self.pool.copy(datagram));
            }
        }
        true
    }
}
