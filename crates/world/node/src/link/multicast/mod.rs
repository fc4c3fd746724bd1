//! Multicast groups as a link among all nodes of a site.
//!
//! What several neighbours want is sent once, to a group: best effort in mode 0 of SRMP, reliable messages in mode 1, and what is
//! directed at one neighbour in mode 2. Which neighbours a group reaches the nodes tell each other over their links. The group repairs
//! what it loses in mode 1, while it is young; what it does not repair the receiving node asks for again, as it does whenever a
//! message took no way: see ARCHITECTURE.md for the reasons. Everything else goes over links as ever.

mod member;
mod url;

use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

use base::Moment;
use kernel::{Carriage, CastCounts, CastEvent, CastFrame};
use srmp::model::{DataId, MemberId};
use srmp::{Peer, SendError, Ticket};
use tokio::sync::Notify;

pub(crate) use member::{check, keep_joining};
pub use url::{MulticastUrl, MulticastUrlError};

use crate::driver::Machine;
use crate::srmp::SrmpHost;

/// The longest frame that fits into a datagram of SRMP in every mode, whatever protects it, beside what steers the protocol.
pub(crate) const FRAME_BYTES: usize = 1_240;
/// Frames that wait in a host for the rate of its group; what waits in the machine can be overtaken and dropped.
const WAITING_MAX: u64 = 128;
/// Frames to single members that are not acknowledged.
const DIRECTED_MAX: usize = 64;
/// A reliable frame is a data element until so many others were sent, or [`member::REPAIRED`] has passed: so long the group repairs it.
const WINDOW: u32 = 4_096;
/// The data element of all directed frames; those of reliable ones come after it.
const DIRECTED: DataId = DataId(0);

/// A group that this node takes part in.
struct Membership {
    host: Rc<SrmpHost>,
    /// Whose frames wait until there is room.
    blocked: bool,
    /// Signalled when it is blocked.
    full: Rc<Notify>,
    sent_frames: u64,
    reliable_frames: u64,
    directed_frames: u64,
    received_frames: u64,
    /// Directed frames that are not acknowledged.
    directed: BTreeSet<Ticket>,
}

/// A place for each group.
#[derive(Default)]
struct Place {
    now: Option<Membership>,
    /// Memberships so far: what an earlier one hears is nobody's business.
    lives: u64,
    /// The epoch of the last one.
    epoch: u32,
}

/// The multicast groups of a node.
#[derive(Default)]
pub(crate) struct Casts {
    places: Vec<Place>,
    /// What the machine wants done.
    wanted: VecDeque<CastEvent>,
    /// Signalled when there is something in `wanted`.
    asked: Rc<Notify>,
}

impl Casts {
    /// Does what the machine wants, and sends what it has for groups. Says whether anything was taken from it.
    pub(crate) fn serve<M: Machine>(&mut self, machine: &mut M, now: Moment) -> bool {
        let mut took = false;
        while let Some(event) = machine.poll_cast_event() {
            took = true;
            self.wanted.push_back(event);
            self.asked.notify_one();
        }
        while let Some(group) = machine.poll_cast_ready() {
            took |= self.pump(machine, now, group);
        }
        took
    }

    /// Sends what the machine has for a group, while there is room.
    fn pump<M: Machine>(&mut self, machine: &mut M, now: Moment, group: usize) -> bool {
        let mut membership = self.places.get_mut(group).and_then(|place| place.now.as_mut());
        let mut took = false;
        loop {
            if let Some(membership) = &mut membership
                && (membership.blocked || membership.host.waiting() >= WAITING_MAX)
            {
                membership.blocked = true;
                membership.full.notify_one();
                return took;
            }
            let directed = membership.as_ref().is_none_or(|now| now.directed.len() < DIRECTED_MAX);
            let Some(next) = machine.poll_cast_frame(now, group, FRAME_BYTES, directed) else { return took };
            took = true;
            // Without a membership nobody is covered; the last frames of an earlier one are asked for again.
            if let Some(membership) = &mut membership
                && let Err(error) = membership.send(next)
            {
                tracing::debug!(group, %error, "a frame was not sent to its group");
            }
        }
    }

    fn place(&mut self, group: usize) -> &mut Place {
        if self.places.len() <= group {
            self.places.resize_with(group + 1, Place::default);
        }
        &mut self.places[group]
    }

    /// The present membership of a group, if it is this one.
    fn membership(&mut self, group: usize, life: u64) -> Option<&mut Membership> {
        let place = self.places.get_mut(group).filter(|place| place.lives == life)?;
        place.now.as_mut()
    }
}

impl Membership {
    fn new(host: Rc<SrmpHost>, full: Rc<Notify>) -> Self {
        Self {
            host,
            blocked: false,
            full,
            sent_frames: 0,
            reliable_frames: 0,
            directed_frames: 0,
            received_frames: 0,
            directed: BTreeSet::new(),
        }
    }

    fn send(&mut self, CastFrame { carriage, frame }: CastFrame) -> Result<(), SendError> {
        match carriage {
            Carriage::BestEffort => drop(self.host.send0(None, 0, frame)?),
            Carriage::Reliable => {
                let element = DataId(DIRECTED.0 + 1 + self.reliable_frames as u32 % WINDOW);
                self.host.send1(element, frame, false)?;
                self.reliable_frames += 1;
            }
            Carriage::Directed(to) => {
                let ticket = self.host.send2(Peer::Member(MemberId(to.0)), DIRECTED, frame)?;
                self.directed.insert(ticket);
                self.directed_frames += 1;
            }
        }
        self.sent_frames += 1;
        Ok(())
    }

    fn counts(&self) -> CastCounts {
        let io = self.host.io();
        self.host.inspect(|endpoint| {
            let counters = endpoint.counters();
            let (sent, received) = (&counters.endpoint.sent, &counters.endpoint.received);
            CastCounts {
                sent_frames: self.sent_frames,
                reliable_frames: self.reliable_frames,
                directed_frames: self.directed_frames,
                repaired_frames: counters.send.messages_repaired,
                recovered_frames: counters.receive.wants_satisfied,
                sent_datagrams: sent.datagrams,
                sent_bytes: sent.bytes,
                received_frames: self.received_frames,
                received_datagrams: received.datagrams,
                emulated_losses: io.emulated_losses,
                refused: counters.endpoint.faults.total(),
            }
        })
    }
}

impl Drop for Membership {
    /// Whoever waits for room learns that there is no more to wait for.
    fn drop(&mut self) {
        self.full.notify_one();
    }
}
