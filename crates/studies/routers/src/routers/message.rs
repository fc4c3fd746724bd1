//! Messages between the federates of a pair. Implements the router's traits.

use super::RunError;
use base::Moment;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use router::frame::{FRAME_HEAD_BYTES, MESSAGE_HEAD_BYTES, RECORD_HEAD_BYTES};
use router::{ClientId, Interest, Message, Priority, Router, Wire, WireError};

/// A message to one federate. Its topic is the federate, so that interest routes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Letter {
    pub(crate) to: u32,
    pub(crate) from: u32,
    pub(crate) body: Bytes,
}

impl Letter {
    /// Submits the letter to the router of its sender, which must know of the receiver's interest.
    pub(super) fn submit(
        self,
        now: Moment,
        router: &mut Router<Self, Mailbox>,
        client: ClientId,
    ) -> Result<(), RunError> {
        let (from, to) = (self.from, self.to);
        let done = router.submit(now, client, self).map_err(RunError::Client)?;
        if done.queued == 1 { Ok(()) } else { Err(RunError::Unwanted { from, to }) }
    }
}

/// Octets of a frame with one letter whose body has `size` octets.
pub(super) fn frame_bytes(size: usize) -> usize {
    let heads = [FRAME_HEAD_BYTES, RECORD_HEAD_BYTES, MESSAGE_HEAD_BYTES, HEAD_BYTES];
    heads.iter().sum::<usize>() + size
}

/// Bytes in front of the body.
const HEAD_BYTES: usize = 8;

impl Message for Letter {
    type Topic = u32;

    fn topic(&self) -> &u32 {
        &self.to
    }

    fn priority(&self) -> Priority {
        Priority::Reliable
    }

    fn droppable(&self) -> bool {
        false
    }

    fn bytes(&self) -> usize {
        HEAD_BYTES + self.body.len()
    }
}

impl Wire for Letter {
    fn encode(&self, out: &mut BytesMut) {
        out.put_u32(self.to);
        out.put_u32(self.from);
        out.put_slice(&self.body);
    }

    fn decode(mut body: Bytes, _pinned: usize) -> Result<Self, WireError> {
        if body.len() < HEAD_BYTES {
            return Err(WireError(format!(
                "a letter has at least {HEAD_BYTES} bytes, this one {}",
                body.len()
            )));
        }
        Ok(Self { to: body.get_u32(), from: body.get_u32(), body })
    }
}

/// Interest in all messages to one federate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Mailbox(pub(crate) u32);

impl Interest for Mailbox {
    type Topic = u32;
    type Key = u32;

    fn key(&self) -> Option<u32> {
        Some(self.0)
    }

    fn topic_key(topic: &u32) -> u32 {
        *topic
    }

    fn matches(&self, topic: &u32) -> bool {
        self.0 == *topic
    }

    /// A key has a single mailbox, so that there is nothing to widen.
    fn merge(&mut self, _: &Self) {}
}

impl Wire for Mailbox {
    fn encode(&self, out: &mut BytesMut) {
        out.put_u32(self.0);
    }

    fn decode(mut body: Bytes, _pinned: usize) -> Result<Self, WireError> {
        if body.len() != 4 {
            return Err(WireError(format!("a mailbox has 4 bytes, not {}", body.len())));
        }
        Ok(Self(body.get_u32()))
    }
}
