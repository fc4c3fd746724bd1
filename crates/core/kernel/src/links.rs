//! The links of a node, as the world drives them.
//!
//! Contract: after any `&mut` call do what [`Kernel::poll_link_event`] says, then take every link that
//! [`Kernel::poll_link_ready`] names and send what [`Kernel::poll_link_frame`] gives, whenever that link can take a frame,
//! until it gives none. A link is reliable and keeps order, or goes down. Without a network nothing of this happens.

use crate::Kernel;
use crate::network::{CastCounts, CastEvent, CastFrame, LinkCounts, LinkEvent, LinkMessages, NetworkStatus};
use base::{Moment, NodeKey};
use bytes::Bytes;
use fedpro::server::ConnId;
use overlay::{LinkId, TargetId};

impl Kernel {
    /// The number of the network that this node is a member of.
    #[must_use]
    pub fn member_of(&self) -> Option<u64> {
        self.network.as_ref()?.member_of()
    }

    /// A link is up: made for a target of this node, or (`None`) accepted.
    pub fn handle_link_up(&mut self, now: Moment, link: LinkId, from: Option<TargetId>) {
        if let Some(network) = &mut self.network {
            network.handle_link_up(now, link, from);
            self.drive(now);
        }
    }

    /// A target was not reached.
    pub fn handle_link_failed(&mut self, now: Moment, target: TargetId, why: &str) {
        if let Some(network) = &mut self.network {
            network.handle_link_failed(now, target, why);
            self.drive(now);
        }
    }

    /// A link is gone, whoever ended it. Not for links that [`LinkEvent::Close`] named.
    pub fn handle_link_down(&mut self, now: Moment, link: LinkId, why: &str) {
        if let Some(network) = &mut self.network {
            network.handle_link_down(now, link, why);
            self.drive(now);
        }
    }

    /// A frame came over a link.
    #[allow(clippy::needless_pass_by_value)] // it belongs to the kernel now: parts of it are kept
    pub fn handle_link_frame(&mut self, now: Moment, link: LinkId, frame: Bytes) {
        if let Some(network) = &mut self.network {
            network.handle_link_frame(now, link, &frame, false);
            self.drive(now);
        }
    }

    /// A datagram came beside a link.
    #[allow(clippy::needless_pass_by_value)] // as with frames
    pub fn handle_link_datagram(&mut self, now: Moment, link: LinkId, frame: Bytes) {
        if let Some(network) = &mut self.network {
            network.handle_link_frame(now, link, &frame, true);
            self.drive(now);
        }
    }

    /// A link has a side that is neither ordered nor reliable, for datagrams of at most `max` bytes: best-effort messages
    /// go there from now on. 0: no longer.
    pub fn set_link_datagrams(&mut self, link: LinkId, max: usize) {
        if let Some(network) = &mut self.network {
            network.set_link_datagrams(link, max);
        }
    }

    /// What a link did so far, for people and tools. Rates are told when this is called time and again, once a second or so.
    pub fn handle_link_counts(&mut self, now: Moment, link: LinkId, counts: LinkCounts) {
        if let Some(network) = &mut self.network {
            network.handle_link_counts(now, link, counts);
        }
    }

    /// Where others reach this node, as URLs; replaces what was said before.
    pub fn handle_link_addresses(&mut self, now: Moment, addresses: &[String]) {
        if let Some(network) = &mut self.network {
            network.set_addresses(now, addresses.to_vec());
            self.drive(now);
        }
    }

    /// What the world is to do with links.
    #[must_use]
    pub fn poll_link_event(&mut self) -> Option<LinkEvent> {
        self.network.as_mut()?.poll_link_event()
    }

    /// The next link that has something to send. It is not named again before it was drained.
    #[must_use]
    pub fn poll_link_ready(&mut self) -> Option<LinkId> {
        self.network.as_mut()?.poll_link_ready()
    }

    /// The next frame for a link. Ask only when the link can take one: what goes next is decided now.
    #[must_use]
    pub fn poll_link_frame(&mut self, now: Moment, link: LinkId) -> Option<Bytes> {
        let frame = self.network.as_mut()?.poll_link_frame(now, link);
        self.release();
        frame
    }

    /// The next datagram beside a link that [`Kernel::set_link_datagrams`] was called for, of at most `max` bytes.
    #[must_use]
    pub fn poll_link_datagram(&mut self, now: Moment, link: LinkId, max: usize) -> Option<Bytes> {
        let datagram = self.network.as_mut()?.poll_link_datagram(now, link, max);
        self.release();
        datagram
    }

    /// What the world is to do with multicast groups. Then take every group that [`Kernel::poll_cast_ready`] names, and send what
    /// [`Kernel::poll_cast_frame`] gives, whenever that group can take a frame.
    #[must_use]
    pub fn poll_cast_event(&mut self) -> Option<CastEvent> {
        self.network.as_mut()?.poll_cast_event()
    }

    /// The next group that has something to send. It is not named again before it was drained.
    #[must_use]
    pub fn poll_cast_ready(&mut self) -> Option<usize> {
        self.network.as_mut()?.poll_cast_ready()
    }

    /// The next frame for a group, of at most `max` bytes. `directed`: what is for one member may be among them; else that waits, and
    /// the group is to be asked again when it may.
    #[must_use]
    pub fn poll_cast_frame(
        &mut self,
        now: Moment,
        group: usize,
        max: usize,
        directed: bool,
    ) -> Option<CastFrame> {
        let frame = self.network.as_mut()?.poll_cast_frame(now, group, max, directed);
        self.release();
        frame
    }

    /// Frames came from members of groups. They may be lost, repeated or overtaken.
    pub fn handle_cast_frames(&mut self, now: Moment, frames: impl IntoIterator<Item = (NodeKey, Bytes)>) {
        if let Some(network) = &mut self.network {
            frames.into_iter().for_each(|(from, frame)| network.handle_cast_frame(now, from, frame));
            self.drive(now);
        }
    }

    /// A member of a group is heard there, or is heard no longer.
    pub fn handle_cast_member(&mut self, now: Moment, group: usize, member: NodeKey, heard: bool) {
        if let Some(network) = &mut self.network {
            network.handle_cast_member(group, member, heard);
            self.drive(now);
        }
    }

    /// What this node did in a group so far, for people and tools.
    pub fn handle_cast_counts(&mut self, group: usize, counts: CastCounts) {
        if let Some(network) = &mut self.network {
            network.handle_cast_counts(group, counts);
        }
    }

    /// Whether to read no more of a federate for now: what it sent reliably waits in a congested link. It is named by
    /// [`Kernel::poll_released`] when that is over.
    #[must_use]
    pub fn is_held(&self, conn: ConnId) -> bool {
        self.held.callers().any(|caller| self.sessions.conn(caller) == Some(conn))
    }

    /// The next connection that may be read again.
    #[must_use]
    pub fn poll_released(&mut self) -> Option<ConnId> {
        while let Some(caller) = self.held.poll_released() {
            if let Some(conn) = self.sessions.conn(caller) {
                return Some(conn);
            }
        }
        None
    }

    /// Messages that passed the links of this node so far; none without a network.
    #[must_use]
    pub fn link_messages(&self) -> LinkMessages {
        self.network.as_ref().map_or_else(LinkMessages::default, |network| network.link_messages(&self.rti))
    }

    /// Messages of routers that went so far to the neighbour at the other end of a link; none when nobody is there.
    #[must_use]
    pub fn link_sent(&self, link: LinkId) -> u64 {
        self.network.as_ref().map_or(0, |network| network.link_sent(link))
    }

    /// The network as this node sees it; `None` for a node by itself.
    #[must_use]
    pub fn network(&self) -> Option<NetworkStatus> {
        Some(self.network.as_ref()?.status(&self.rti))
    }

    /// Lets those go on who waited for a pipe that is no longer congested.
    pub(crate) fn release(&mut self) {
        let Some(network) = &mut self.network else { return };
        while let Some(place) = network.poll_relieved() {
            self.held.relieve(place);
        }
    }
}
