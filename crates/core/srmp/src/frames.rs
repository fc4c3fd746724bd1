//! Frames of a layer above that repairs in the end by itself, each carried by the mode that fits it.
//!
//! Best effort goes in mode 0, to all members. A reliable frame goes to all in mode 1, as a data element of its own until so many
//! others were sent ([`WINDOW`]) or it is too old ([`Config::set_momentary`](crate::Config::set_momentary)): so the group repairs
//! it while that is worth something, once for all who miss it. What is for one member goes in mode 2, until it is acknowledged. The layer above
//! has to know frames that come twice or out of turn, and to ask for what never comes.

use crate::endpoint::{Endpoint, Event, Peer, SendError, Ticket};
use crate::model::{DataId, MemberId};
use base::Moment;
use bytes::Bytes;
use std::collections::BTreeSet;
use std::time::Duration;

/// The longest frame that fits into one datagram of profile v3 in every mode, whatever protects it, beside what steers the
/// protocol.
pub const FRAME_BYTES: usize = 1_240;
/// Reliable frames that are data elements at a time.
pub const WINDOW: u32 = 4_096;
/// Frames for single members that may be without acknowledgement.
pub const DIRECTED_MAX: usize = 64;
/// How long a reliable frame is repaired within a site: a layer that repairs by itself has asked for it long since.
pub const REPAIRED: Duration = Duration::from_millis(250);
/// The data element of all frames for single members; those of reliable ones come after it.
const DIRECTED: DataId = DataId(0);

/// What sends for a member: its [`Endpoint`], or what drives one.
pub trait Sending {
    /// As [`Endpoint::send_mode0`].
    ///
    /// # Errors
    /// As there.
    fn mode0(&mut self, body: Bytes) -> Result<Ticket, SendError>;

    /// As [`Endpoint::send_mode1`].
    ///
    /// # Errors
    /// As there.
    fn mode1(&mut self, data: DataId, body: Bytes) -> Result<Ticket, SendError>;

    /// As [`Endpoint::send_mode2`].
    ///
    /// # Errors
    /// As there.
    fn mode2(&mut self, to: MemberId, data: DataId, body: Bytes) -> Result<Ticket, SendError>;
}

/// An endpoint at a moment.
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

/// What is left of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Framed {
    /// A frame came.
    Frame(MemberId, Bytes),
    /// A frame for a single member has been acknowledged, or never will be; the value says whether there is [room](Frames::has_room) for
    /// others now and was none before.
    Answered(bool),
    /// Nothing of frames.
    Other(Event),
}

/// The frames of one member of one group.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    best_effort: u64,
    reliable: u64,
    directed: u64,
    received: u64,
    /// Frames for single members that are not acknowledged.
    pending: BTreeSet<Ticket>,
}

impl Frames {
    /// No frames yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends a frame to all members; it may be lost.
    ///
    /// # Errors
    /// Those of mode 0; nothing was sent then.
    pub fn send_best_effort(&mut self, by: &mut impl Sending, frame: Bytes) -> Result<(), SendError> {
        by.mode0(frame)?;
        self.best_effort += 1;
        Ok(())
    }

    /// Sends a frame to all members; what is lost is repaired while the frame is young.
    ///
    /// # Errors
    /// Those of mode 1; nothing was sent then.
    pub fn send_reliable(&mut self, by: &mut impl Sending, frame: Bytes) -> Result<(), SendError> {
        let place = (self.reliable % u64::from(WINDOW)) as u32;
        by.mode1(DataId(DIRECTED.0 + 1 + place), frame)?;
        self.reliable += 1;
        Ok(())
    }

    /// Sends a frame to one member, until it is acknowledged, or that fails.
    ///
    /// # Errors
    /// Those of mode 2; nothing was sent then.
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

    /// Takes an event of the endpoint.
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

    /// Frames sent, of all modes.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.best_effort + self.reliable + self.directed
    }

    /// Reliable frames among them.
    #[must_use]
    pub fn reliable(&self) -> u64 {
        self.reliable
    }

    /// Frames for single members among them.
    #[must_use]
    pub fn directed(&self) -> u64 {
        self.directed
    }

    /// Frames that came.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received
    }
}
