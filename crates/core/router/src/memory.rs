//! Memory pipes: routers of one process joined without bytes.

use crate::client::ClientId;
use crate::error::FrameError;
use crate::message::{Interest, Message};
use crate::router::Router;
use base::Moment;

/// A memory pipe between two routers of a list: for each end, the router's index and its client for the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPipe {
    /// One end.
    pub a: (usize, ClientId),
    /// The other.
    pub b: (usize, ClientId),
}

impl MemoryPipe {
    /// Moves everything that waits in either direction now; returns how many parcels that were. What this makes wait
    /// at other pipes is for them: [`pump`] goes on until nothing moves.
    ///
    /// # Errors
    /// [`FrameError::Client`] when an end is not a memory client or may not do what it does: the pipe joins wrong flags.
    pub fn carry<M: Message, I: Interest<Topic = M::Topic>>(
        &self,
        now: Moment,
        routers: &mut [Router<M, I>],
    ) -> Result<usize, FrameError> {
        let mut moved = 0;
        for ((from, out), (to, into)) in [(self.a, self.b), (self.b, self.a)] {
            while let Some(parcel) = routers[from].poll_parcel(out) {
                let _received = routers[to].handle_parcel(now, into, parcel)?;
                moved += 1;
            }
        }
        Ok(moved)
    }
}

/// Carries until nothing moves; returns how many parcels moved. Nothing waits in a memory pipe afterwards, so congestion is
/// told by the router whose link or local client is congested, as [`Event::Congested`](crate::Event::Congested).
///
/// # Errors
/// As [`MemoryPipe::carry`].
pub fn pump<M: Message, I: Interest<Topic = M::Topic>>(
    now: Moment,
    routers: &mut [Router<M, I>],
    pipes: &[MemoryPipe],
) -> Result<usize, FrameError> {
    let mut moved = 0;
    loop {
        let mut round = 0;
        for pipe in pipes {
            round += pipe.carry(now, routers)?;
        }
        if round == 0 {
            return Ok(moved);
        }
        moved += round;
    }
}
