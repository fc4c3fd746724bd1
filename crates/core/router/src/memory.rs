//! Memory pipes: they join routers of one process without encoding.

use crate::client::ClientId;
use crate::error::FrameError;
use crate::message::{Interest, Message};
use crate::router::Router;
use base::Moment;

/// A memory pipe between two routers of a list: for each end, the router's index and its client for
/// the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPipe {
    /// One end.
    pub a: (usize, ClientId),
    /// The other.
    pub b: (usize, ClientId),
}

impl MemoryPipe {
    /// Moves the parcels that wait in either direction now, and returns their number. Parcels that
    /// this makes wait in other pipes are left to those: [`pump`] goes on until nothing moves.
    /// While a pipe behind an end is full, only the class `Control` moves towards that end.
    ///
    /// # Errors
    /// [`FrameError::Client`] when an end is not a memory client, or is not allowed to do what it
    /// does because the pipe joins wrong flags.
    pub fn carry<M: Message, I: Interest<Topic = M::Topic>>(
        &self,
        now: Moment,
        routers: &mut [Router<M, I>],
    ) -> Result<usize, FrameError> {
        self.carry_noting(now, routers, &mut |_| ()).map(|(moved, _)| moved)
    }

    /// Like [`MemoryPipe::carry`], but also returns whether the congestion of either end changed.
    fn carry_noting<M: Message, I: Interest<Topic = M::Topic>>(
        &self,
        now: Moment,
        routers: &mut [Router<M, I>],
        waits_in: &mut impl FnMut((usize, ClientId)),
    ) -> Result<(usize, bool), FrameError> {
        let (mut moved, mut news) = (0, false);
        for ((from, out), (to, into)) in [(self.a, self.b), (self.b, self.a)] {
            loop {
                let stalled = routers[to].is_stalled(into);
                let next = match stalled {
                    false => routers[from].poll_parcel(out),
                    true => routers[from].poll_urgent_parcel(out),
                };
                let Some(parcel) = next else { break };
                let (_received, pipes) = routers[to].take_in(now, into, parcel)?;
                pipes.into_iter().for_each(|client| waits_in((to, client)));
                moved += 1;
            }
            let paused = routers[to].is_blocked(into);
            news |= routers[from].pause(now, out, paused);
        }
        Ok((moved, news))
    }
}

/// Carries until nothing moves; returns the number of parcels moved. Call it after anything was
/// done with one of the routers: it also passes on congestion and its end. Nothing waits in a
/// memory pipe afterwards, unless some pipe behind it is full.
///
/// # Errors
/// As [`MemoryPipe::carry`].
pub fn pump<M: Message, I: Interest<Topic = M::Topic>>(
    now: Moment,
    routers: &mut [Router<M, I>],
    pipes: &[MemoryPipe],
) -> Result<usize, FrameError> {
    pump_until(now, routers, pipes, &mut |_| ())
}

/// Like [`pump`], but also adds to `waits_in` the congested pipes, by router and client, in which a
/// moved message waits that must not be dropped. The list is sorted and without duplicates. After a
/// local source has submitted a message, it has to wait for these pipes and those of
/// [`Submitted::waits_in`](crate::Submitted::waits_in). It may go on when each of them is named in
/// an [`Event::Relieved`](crate::Event::Relieved) of its router, or is removed.
///
/// # Errors
/// As [`MemoryPipe::carry`].
pub fn pump_noting<M: Message, I: Interest<Topic = M::Topic>>(
    now: Moment,
    routers: &mut [Router<M, I>],
    pipes: &[MemoryPipe],
    waits_in: &mut Vec<(usize, ClientId)>,
) -> Result<usize, FrameError> {
    let moved = pump_until(now, routers, pipes, &mut |pipe| waits_in.push(pipe));
    waits_in.sort_unstable();
    waits_in.dedup();
    moved
}

fn pump_until<M: Message, I: Interest<Topic = M::Topic>>(
    now: Moment,
    routers: &mut [Router<M, I>],
    pipes: &[MemoryPipe],
    waits_in: &mut impl FnMut((usize, ClientId)),
) -> Result<usize, FrameError> {
    let mut moved = 0;
    loop {
        let mut done = true;
        for pipe in pipes {
            let (parcels, news) = pipe.carry_noting(now, routers, waits_in)?;
            moved += parcels;
            done &= parcels == 0 && !news;
        }
        if done {
            return Ok(moved);
        }
    }
}
