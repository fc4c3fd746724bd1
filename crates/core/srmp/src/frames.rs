//! Frames of a layer above, each carried in the mode that fits it. That layer has repairs of its
//! own.
//!
//! Best-effort frames go to all members in mode 0. Reliable frames go to all in mode 1, each as a
//! data element of its own, until [`WINDOW`] others have been sent or the frame is too old
//! ([`Config::set_momentary`](crate::Config::set_momentary)). So the group repairs a frame while
//! that is worth it, once for all members that missed it. Frames for one member go in mode 2, until
//! they are acknowledged. The layer above has to recognize frames that come twice or out of order,
//! and to ask for those that never come.

use crate::endpoint::{Endpoint, Event, Peer, SendError, Ticket};
use crate::model::{DataId, MemberId};
use base::Moment;
use bytes::Bytes;
use std::collections::BTreeSet;
use std::time::Duration;

/// Bytes of the longest frame that fits into one datagram of profile v3 in every mode, with any
/// authentication, beside the protocol's own records.
pub const FRAME_BYTES: usize = 1_240;
/// The number of reliable frames that are data elements at a time.
pub const WINDOW: u32 = 4_096;
/// The most frames for single members that may wait for their acknowledgement.
pub const DIRECTED_MAX: usize = 64;
/// The time for which a reliable frame is repaired within a site. A layer with repairs of its own
/// has asked for it long before that.
pub const REPAIRED: Duration = Duration::from_millis(250);
/// The data element of all frames for single members. Those of reliable frames follow it.
const DIRECTED: DataId = DataId(0);

/// The means by which a member sends: its [`Endpoint`], or a driver of one.
pub trait Sending {
    /// Sends in mode 0, as [`Endpoint::send_mode0`] does.
    ///
    /// # Errors
    /// Those of [`Endpoint::send_mode0`].
    fn mode0(&mut self, body: Bytes) -> Result<Ticket, SendError>;

    /// Sends in mode 1, as [`Endpoint::send_mode1`] does.
    ///
    /// # Errors
    /// Those of [`Endpoint::send_mode1`].
    fn mode1(&mut self, data: DataId, body: Bytes) -> Result<Ticket, SendError>;

    /// Sends in mode 2, as [`Endpoint::send_mode2`] does.
    ///
    /// # Errors
    /// Those of [`Endpoint::send_mode2`].
    fn mode2(&mut self, to: MemberId, data: DataId, body: Bytes) -> Result<Ticket, SendError>;
}

/// An endpoint and the current time.
impl Sending for (&mut Endpoint, Moment) {
    fn mode0(&mut self, body: Bytes) -> Result<Ticket, SendError> {
        self.0.send_mode0(self.1, None, 0, body)
    }

    fn mode1(&mut self, data: DataId, body: Bytes) -> Result<Ticket, SendError> {
        self.0.send_mode1(self.1, data, body, false)
    }

    fn mode2(&mut self, to: MemberId, data: DataId, body: Bytes) -> Result<Ticket, SendError> {
        self.0.send_mode2(self.1, Peer::Member(to), data, body)
    }
}

/// An event of the endpoint, as frames see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Framed {
    /// A frame arrived from this member.
    Frame(MemberId, Bytes),
    /// A frame for a single member has been acknowledged, or has failed. The value is true when
    /// there was no [room](Frames::has_room) for another one before and there is now.
    Answered(bool),
    /// The event does not concern frames.
    Other(Event),
}

/// The frames of one member of one group.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    best_effort: u64,
    reliable: u64,
    directed: u64,
    received: u64,
    /// Frames for single members that still wait for their acknowledgement.
    pending: BTreeSet<Ticket>,
}

impl Frames {
    /// Starts without frames.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends a frame to all members; it may be lost.
    ///
    /// # Errors
    /// Those of mode 0; nothing has been sent then.
    pub fn send_best_effort(&mut self, by: &mut impl Sending, frame: Bytes) -> Result<(), SendError> {
        by.mode0(frame)?;
        self.best_effort += 1;
        Ok(())
    }

    /// Sends a frame to all members. Losses are repaired while the frame is young.
    ///
    /// # Errors
    /// Those of mode 1; nothing has been sent then.
    pub fn send_reliable(&mut self, by: &mut impl Sending, frame: Bytes) -> Result<(), SendError> {
        let position = (self.reliable % u64::from(WINDOW)) as u32;
        by.mode1(DataId(DIRECTED.0 + 1 + position), frame)?;
        self.reliable += 1;
        Ok(())
    }

    /// Sends a frame to one member, again and again until it is acknowledged or fails.
    ///
    /// # Errors
    /// Those of mode 2; nothing has been sent then.
    pub fn send_directed(
        &mut self,
        by: &mut impl Sending,
        to: MemberId,
        frame: Bytes,
    ) -> Result<(), SendError> {
        self.pending.insert(by.mode2(to, DIRECTED, frame)?);
        self.directed += 1;
        Ok(())
    }

    /// Whether another frame for a single member may be sent now.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.pending.len() < DIRECTED_MAX
    }

    /// Handles an event of the endpoint.
    pub fn handle(&mut self, event: Event) -> Framed {
        match event {
            Event::Mode0 { from, body, .. }
            | Event::Mode1 { from, body, .. }
            | Event::Mode2 { from: Some(from), body, .. } => {
                self.received += 1;
                Framed::Frame(from, body)
            }
            Event::Delivered { ticket, .. } | Event::TimedOut { ticket } => {
                let had_room = self.has_room();
                self.pending.remove(&ticket);
                Framed::Answered(!had_room && self.has_room())
            }
            other => Framed::Other(other),
        }
    }

    /// Frames sent in all modes.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.best_effort + self.reliable + self.directed
    }

    /// Reliable frames sent.
    #[must_use]
    pub fn reliable(&self) -> u64 {
        self.reliable
    }

    /// Frames sent to single members.
    #[must_use]
    pub fn directed(&self) -> u64 {
        self.directed
    }

    /// Frames received.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received
    }
}
