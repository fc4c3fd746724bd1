//! The writing half of every open connection, by id.

use std::task::Waker;

use bytes::BytesMut;
use fedpro::server::ConnId;
#[cfg(any(target_os = "linux", target_os = "android"))]
use socket2::SockRef;
use tokio::net::tcp::OwnedWriteHalf;

/// The way in which a connection ends, once the driver or the machine has decided it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The machine has no more data, and all of it was written.
    Finished,
    /// The machine wants the connection closed at once, without writing the rest.
    CutOff,
    /// The peer closed its side.
    Eof,
    /// The network failed, with this text.
    Failed(String),
}

/// The writing half of one connection.
pub(crate) struct Outbound {
    pub(crate) socket: OwnedWriteHalf,
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
    pub(crate) fn new(socket: OwnedWriteHalf) -> Self {
        Self {
            socket,
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
