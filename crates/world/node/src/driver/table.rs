//! The writing half of every open connection, by id.

use std::task::Waker;

use bytes::BytesMut;
use fedpro::server::ConnId;
use tokio::net::tcp::OwnedWriteHalf;

/// How a connection is to end, once the driver or the machine has decided so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The machine has nothing more to say, and all of it was written.
    Finished,
    /// The machine wants the peer gone at once, whatever is still to be written.
    CutOff,
    /// The peer closed its side.
    Eof,
    /// The network failed, with this text.
    Failed(String),
}

/// The writing half of one connection.
pub(super) struct Outbound {
    pub(super) socket: OwnedWriteHalf,
    /// What a full socket did not take.
    pub(super) unsent: BytesMut,
    /// The machine wants the connection closed once `unsent` is written.
    pub(super) close_after: bool,
    /// Set when the connection is over; its task then ends it.
    pub(super) end: Option<End>,
    /// The task of the connection, when it has to look at the socket again.
    pub(super) task: Option<Waker>,
}

impl Outbound {
    pub(super) fn new(socket: OwnedWriteHalf) -> Self {
        Self { socket, unsent: BytesMut::new(), close_after: false, end: None, task: None }
    }

    pub(super) fn wake(&self) {
        if let Some(task) = &self.task {
            task.wake_by_ref();
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
pub(super) struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(super) fn insert(&mut self, outbound: Outbound) -> ConnId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            u32::try_from(self.slots.len() - 1).expect("no process has 2^32 sockets")
        });
        let slot = &mut self.slots[index as usize];
        slot.outbound = Some(outbound);
        ConnId(u64::from(slot.generation) << 32 | u64::from(index))
    }

    pub(super) fn get_mut(&mut self, conn: ConnId) -> Option<&mut Outbound> {
        let slot = self.slots.get_mut((conn.0 & 0xffff_ffff) as usize)?;
        if u64::from(slot.generation) == conn.0 >> 32 { slot.outbound.as_mut() } else { None }
    }

    pub(super) fn remove(&mut self, conn: ConnId) -> Option<Outbound> {
        self.get_mut(conn)?;
        let index = (conn.0 & 0xffff_ffff) as u32;
        let slot = &mut self.slots[index as usize];
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(index);
        slot.outbound.take()
    }
}
