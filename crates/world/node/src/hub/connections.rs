//! The writing half of every open connection, by id.

use std::task::Waker;

use bytes::{Buf as _, BytesMut};
use carrier::{CarrierError, Filter, Flow, PeerCertificate};
use fedpro::server::ConnId;
use kernel::Certificate;
#[cfg(any(target_os = "linux", target_os = "android"))]
use socket2::SockRef;
use tokio::net::tcp::OwnedWriteHalf;

use super::stats::NodeStats;

/// The way in which a connection ends, once the driver or the machine has decided it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum End {
    /// The machine has no more data, and all of it was written.
    Finished,
    /// The machine wants the connection closed at once, without writing the rest.
    CutOff,
    /// The peer closed its side.
    Eof,
    /// The network failed, with this text.
    Failed(String),
    /// The peer broke the protocol of its carrier, or may not connect; it has been told.
    Refused(CarrierError),
}

/// The writing half of one connection.
pub(crate) struct Outbound {
    pub(crate) socket: OwnedWriteHalf,
    /// Between the socket and the machine; `None` if the octets of both are the same.
    filter: Option<Box<Filter>>,
    /// The machine knows that the connection encrypts.
    is_secured: bool,
    /// The filter has said that nothing more will be sent.
    is_closed: bool,
    /// Bytes that a full socket did not accept.
    pub(crate) unsent: BytesMut,
    /// Close the connection once `unsent` is written.
    pub(crate) close_after: bool,
    /// Set when the connection is over; its task then ends it.
    pub(crate) end: Option<End>,
    /// The task of the connection, to be woken when it must look at the socket again.
    pub(crate) task: Option<Waker>,
    /// The last read is acknowledged: something was written since, or the system was told to
    /// acknowledge at once.
    pub(crate) acknowledged: bool,
}

impl Outbound {
    pub(crate) fn new(socket: OwnedWriteHalf, filter: Option<Filter>) -> Self {
        Self {
            socket,
            filter: filter.map(Box::new),
            is_secured: false,
            is_closed: false,
            unsent: BytesMut::new(),
            close_after: false,
            end: None,
            task: None,
            acknowledged: true,
        }
    }

    pub(crate) fn wake(&self) {
        if let Some(task) = &self.task {
            task.wake_by_ref();
        }
    }

    /// Whether the carrier has something to say of its own.
    pub(crate) fn has_carrier(&self) -> bool {
        self.filter.is_some()
    }

    /// The octets for the machine in those that were read.
    pub(crate) fn decode(&mut self, read: BytesMut) -> BytesMut {
        let Some(filter) = &mut self.filter else { return read };
        let mut messages = BytesMut::new();
        match filter.receive(read, &mut messages) {
            Ok(Flow::Open) => {}
            Ok(Flow::Ended) => self.end = Some(End::Eof),
            Err(error) => self.end = Some(End::Refused(error)),
        }
        messages
    }

    /// The certificate of the peer, at the first call after the connection's encryption began.
    pub(crate) fn newly_secured(&mut self) -> Option<Option<Certificate>> {
        let filter = self.filter.as_ref().filter(|filter| !self.is_secured && filter.is_secured())?;
        self.is_secured = true;
        let certificate = filter.certificate();
        Some(certificate.map(|PeerCertificate { digest, names }| Certificate { digest, names }))
    }

    /// Replaces whole messages by the octets that carry them. `spare` is empty before and afterwards.
    pub(crate) fn encode(&mut self, messages: &mut BytesMut, spare: &mut BytesMut) {
        let Some(filter) = &mut self.filter else { return };
        if !filter.is_open() {
            // The peer has not got as far as to read messages, and the connection is being closed.
            return messages.clear();
        }
        spare.clear();
        filter.send(messages, spare);
        std::mem::swap(messages, spare);
    }

    /// Appends what the carrier itself has to send.
    pub(crate) fn take_output(&mut self, out: &mut BytesMut) {
        if let Some(filter) = &mut self.filter {
            filter.take_output(out);
        }
    }

    /// Writes `data`, and keeps what a full socket does not accept. Returns whether all was accepted.
    pub(crate) fn write(&mut self, data: &mut BytesMut, stats: &mut NodeStats) -> bool {
        if data.is_empty() {
            return true;
        }
        match send(&self.socket, data, stats) {
            Ok(true) => {
                self.acknowledged = true;
                return true;
            }
            Ok(false) => self.unsent.extend_from_slice(data),
            Err(error) => self.end = Some(End::Failed(error.to_string())),
        }
        self.wake();
        false
    }

    /// Ends the connection, if all is written. `buffer` is for the last words of the carrier.
    pub(crate) fn finish(&mut self, buffer: &mut BytesMut, stats: &mut NodeStats) {
        if self.end.is_some() || !self.unsent.is_empty() {
            return;
        }
        if let Some(filter) = &mut self.filter
            && !std::mem::replace(&mut self.is_closed, true)
        {
            buffer.clear();
            filter.close(buffer);
            if !self.write(buffer, stats) {
                return; // once there is room again, it is called again
            }
        }
        self.end = Some(End::Finished);
    }

    /// Acknowledges the last read at once, unless a later write has carried the acknowledgement.
    ///
    /// A peer that leaves Nagle's algorithm on, as the C++ client does, holds a small message back
    /// until the previous one is acknowledged. The response to a callback is such a message. No
    /// answer carries its acknowledgement, so the system delays that by 40 ms, and the peer's next
    /// call waits as long. `TCP_QUICKACK` sends it now. The option does not last, because the next
    /// answer ends it; so each read that needs it sets it again. Setting it after every read would
    /// cost a tenth of the processor time of a round trip. In this way a round trip costs no
    /// additional system call.
    pub(crate) fn acknowledge(&mut self) {
        if std::mem::replace(&mut self.acknowledged, true) {
            return;
        }
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if let Err(error) = SockRef::from(self.socket.as_ref()).set_tcp_quickack(true) {
            tracing::debug!(%error, "the socket takes no TCP_QUICKACK");
        }
    }
}

#[derive(Default)]
struct Slot {
    generation: u32,
    outbound: Option<Outbound>,
}

/// Slots with a generation, so that a stale id finds nothing instead of a newcomer.
#[derive(Default)]
pub(crate) struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Table {
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(crate) fn insert(&mut self, outbound: Outbound) -> ConnId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            u32::try_from(self.slots.len() - 1).expect("no process has 2^32 sockets")
        });
        let slot = &mut self.slots[index as usize];
        slot.outbound = Some(outbound);
        ConnId(u64::from(slot.generation) << 32 | u64::from(index))
    }

    pub(crate) fn get_mut(&mut self, conn: ConnId) -> Option<&mut Outbound> {
        let slot = self.slots.get_mut((conn.0 & 0xffff_ffff) as usize)?;
        if u64::from(slot.generation) == conn.0 >> 32 { slot.outbound.as_mut() } else { None }
    }

    pub(crate) fn remove(&mut self, conn: ConnId) -> Option<Outbound> {
        self.get_mut(conn)?;
        let index = (conn.0 & 0xffff_ffff) as u32;
        let slot = &mut self.slots[index as usize];
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(index);
        slot.outbound.take()
    }
}

/// Writes `data` and removes the written part. Returns whether the socket accepted all of it.
pub(super) fn send(
    socket: &OwnedWriteHalf,
    data: &mut BytesMut,
    stats: &mut NodeStats,
) -> std::io::Result<bool> {
    while !data.is_empty() {
        match socket.try_write(data) {
            Ok(0) => return Err(std::io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                stats.writes += 1;
                stats.written_bytes += written as u64;
                data.advance(written);
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                stats.full_sockets += 1;
                return Ok(false);
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}
