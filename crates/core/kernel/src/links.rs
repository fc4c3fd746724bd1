//! The interface by which the world drives the links and multicast groups of a node.

use crate::Kernel;
use crate::network::{
    GroupFrame, GroupInput, GroupOutput, LinkInput, LinkMessages, LinkOutput, NetworkStatus,
};
use crate::turn::Turn;
use base::Moment;
use bytes::Bytes;
use consensus::reformation::{Persist, Record};
use fedpro::server::ConnId;
use overlay::LinkId;

/// # Links and multicast groups
///
/// Contract: after any `&mut` call, carry out the outputs of [`Kernel::poll_link`] and
/// [`Kernel::poll_group`] until both return `None`. Without a network they always do, and all
/// inputs are ignored. A link is reliable and keeps order, or goes down; a group may lose, repeat
/// and reorder frames.
impl Kernel {
    /// Takes an input from the links of this node.
    pub fn handle_link(&mut self, now: Moment, input: LinkInput<'_>) {
        self.begin_turn(Turn::Link);
        if let Some(network) = &mut self.network {
            network.handle_link(now, input);
            self.drive(now);
        }
    }

    /// The next request to the world about links: requests to open and close come first, then those
    /// to send.
    #[must_use]
    pub fn poll_link(&mut self) -> Option<LinkOutput> {
        self.network.as_mut()?.poll_link()
    }

    /// The next frame for a link that [`LinkOutput::Ready`] named. Ask only when the link can take
    /// one, because the kernel decides at this moment which frame goes next.
    #[must_use]
    pub fn poll_link_frame(&mut self, now: Moment, link: LinkId) -> Option<Bytes> {
        let frame = self.network.as_mut()?.poll_link_frame(now, link);
        self.release();
        frame
    }

    /// The next datagram, of at most `max` bytes, beside a link for which
    /// [`LinkInput::DatagramSize`] was reported.
    #[must_use]
    pub fn poll_link_datagram(&mut self, now: Moment, link: LinkId, max: usize) -> Option<Bytes> {
        let datagram = self.network.as_mut()?.poll_link_datagram(now, link, max);
        self.release();
        datagram
    }

    /// Takes an input from the multicast groups of this node.
    pub fn handle_group(&mut self, now: Moment, input: GroupInput<'_>) {
        self.begin_turn(Turn::Group);
        if let Some(network) = &mut self.network {
            network.handle_group(now, input);
            self.drive(now);
        }
    }

    /// The next request to the world about multicast groups.
    #[must_use]
    pub fn poll_group(&mut self) -> Option<GroupOutput> {
        self.network.as_mut()?.poll_group()
    }

    /// The next frame for a group that [`GroupOutput::Ready`] named, of at most `max` bytes. Ask
    /// only when the group can take one. `directed`: frames for a single member may be among them.
    /// Otherwise those wait, and the group must be asked again when they may be sent.
    #[must_use]
    pub fn poll_group_frame(
        &mut self,
        now: Moment,
        group: usize,
        max: usize,
        directed: bool,
    ) -> Option<GroupFrame> {
        let frame = self.network.as_mut()?.poll_group_frame(now, group, max, directed);
        self.release();
        frame
    }

    /// Whether the world should not read from a federate for now: its reliable messages wait in a
    /// congested link, or memory for its input or output is short. [`Kernel::poll_released`] names
    /// the connection when that is over.
    #[must_use]
    pub fn is_paused(&self, conn: ConnId) -> bool {
        self.endpoint.is_paused(conn)
            || self.rates.is_held(conn)
            || self.paused.callers().any(|caller| self.sessions.conn(caller) == Some(conn))
    }

    /// The next connection that may be read again.
    #[must_use]
    pub fn poll_released(&mut self) -> Option<ConnId> {
        while let Some(caller) = self.paused.poll_released() {
            if let Some(conn) = self.sessions.conn(caller) {
                return Some(conn);
            }
        }
        self.rates.poll_released().or_else(|| self.endpoint.poll_released())
    }

    /// Reports that the socket of a connection is full and has not yet accepted `bytes` that were
    /// given for it; 0 when it has accepted them.
    pub fn set_socket_bytes(&mut self, conn: ConnId, bytes: usize) {
        self.endpoint.set_socket_bytes(conn, bytes);
    }

    /// The next state that must survive a crash, for nodes with a place to keep it
    /// ([`NetworkConfig::kept`]). Store it in place of the last one and sync it, then call
    /// [`Kernel::handle_persisted`]. Until then the node sends and handles no messages of the log.
    /// If several states wait, only the latest need be stored.
    ///
    /// [`NetworkConfig::kept`]: crate::NetworkConfig::kept
    #[must_use]
    pub fn poll_persist(&mut self) -> Option<Persist> {
        self.network.as_mut()?.poll_persist()
    }

    /// The node's record of the network that it was a member of last, be it stored or about to be.
    pub fn network_record(&self) -> Option<&Record> {
        self.network.as_ref()?.record()
    }

    /// Reports that a state of [`Kernel::poll_persist`] is stored.
    pub fn handle_persisted(&mut self, now: Moment, revision: u64) {
        if let Some(network) = &mut self.network {
            network.handle_persisted(now, revision);
            self.drive(now);
        }
    }

    /// The number of the network that this node is a member of.
    #[must_use]
    pub fn member_of(&self) -> Option<u64> {
        self.network.as_ref()?.member_of()
    }

    /// Messages that have passed the links of this node so far; all zero without a network.
    #[must_use]
    pub fn link_messages(&self) -> LinkMessages {
        self.network.as_ref().map_or_else(LinkMessages::default, |network| network.link_messages(&self.rti))
    }

    /// Router messages sent so far to the neighbour at the other end of a link; 0 when there is no
    /// neighbour.
    #[must_use]
    pub fn link_sent(&self, link: LinkId) -> u64 {
        self.network.as_ref().map_or(0, |network| network.link_sent(link))
    }

    /// The network as this node sees it; `None` for a node without a network.
    #[must_use]
    pub fn network(&self) -> Option<NetworkStatus> {
        Some(self.network.as_ref()?.status(&self.rti))
    }

    /// Resumes reading from callers that waited for a pipe that is no longer congested.
    pub(crate) fn release(&mut self) {
        let Some(network) = &mut self.network else { return };
        while let Some(pipe) = network.poll_relieved() {
            self.paused.relieve(pipe);
        }
    }
}
