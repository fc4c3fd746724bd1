//! The links and multicast groups of a node, as the world drives them.

use crate::Kernel;
use crate::network::{
    GroupFrame, GroupInput, GroupOutput, LinkInput, LinkMessages, LinkOutput, NetworkStatus,
};
use crate::turn::Turn;
use base::Moment;
use bytes::Bytes;
use consensus::reformation::Persist;
use fedpro::server::ConnId;
use overlay::LinkId;

/// # Links and multicast groups
///
/// Contract: after any `&mut` call, do what [`Kernel::poll_link`] and [`Kernel::poll_group`] say until both say
/// nothing. Without a network they never say anything, and what they are told is ignored. A link is reliable and keeps
/// order, or goes down; a group may lose, repeat and reorder frames.
impl Kernel {
    /// Something happened to the links of this node.
    pub fn handle_link(&mut self, now: Moment, input: LinkInput<'_>) {
        self.begin_turn(Turn::Link);
        if let Some(network) = &mut self.network {
            network.handle_link(now, input);
            self.drive(now);
        }
    }

    /// The next thing for the world to do with links: to open and close them first, then to send.
    #[must_use]
    pub fn poll_link(&mut self) -> Option<LinkOutput> {
        self.network.as_mut()?.poll_link()
    }

    /// The next frame for a link that [`LinkOutput::Ready`] named. Ask only when the link can take one: what goes next
    /// is decided now.
    #[must_use]
    pub fn poll_link_frame(&mut self, now: Moment, link: LinkId) -> Option<Bytes> {
        let frame = self.network.as_mut()?.poll_link_frame(now, link);
        self.release();
        frame
    }

    /// The next datagram beside a link that [`LinkInput::DatagramSize`] was told of, of at most `max` bytes.
    #[must_use]
    pub fn poll_link_datagram(&mut self, now: Moment, link: LinkId, max: usize) -> Option<Bytes> {
        let datagram = self.network.as_mut()?.poll_link_datagram(now, link, max);
        self.release();
        datagram
    }

    /// Something happened in the multicast groups of this node.
    pub fn handle_group(&mut self, now: Moment, input: GroupInput<'_>) {
        self.begin_turn(Turn::Group);
        if let Some(network) = &mut self.network {
            network.handle_group(now, input);
            self.drive(now);
        }
    }

    /// The next thing for the world to do with multicast groups.
    #[must_use]
    pub fn poll_group(&mut self) -> Option<GroupOutput> {
        self.network.as_mut()?.poll_group()
    }

    /// The next frame for a group that [`GroupOutput::Ready`] named, of at most `max` bytes. Ask only when the group can
    /// take one. `directed`: frames for a single member may be among them; else those wait, and the group is to be asked
    /// again when they may.
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

    /// Whether to pause reading from a federate: what it sent reliably waits in a congested link,
    /// or memory for what it sends or takes is short. It is named by [`Kernel::poll_released`] when
    /// that is over.
    #[must_use]
    pub fn is_held(&self, conn: ConnId) -> bool {
        self.endpoint.is_paused(conn)
            || self.held.callers().any(|caller| self.sessions.conn(caller) == Some(conn))
    }

    /// The next connection that may be read again.
    #[must_use]
    pub fn poll_released(&mut self) -> Option<ConnId> {
        while let Some(caller) = self.held.poll_released() {
            if let Some(conn) = self.sessions.conn(caller) {
                return Some(conn);
            }
        }
        self.endpoint.poll_released()
    }

    /// The socket of a connection is full, and has yet to take `bytes` that were given for it; 0
    /// when it has taken them.
    pub fn set_socket_bytes(&mut self, conn: ConnId, bytes: usize) {
        self.endpoint.set_socket_bytes(conn, bytes);
    }

    /// The next state that is to survive a crash, for nodes with a place to keep it ([`NetworkConfig::kept`]): to be stored
    /// in place of the last one, and synced; then call [`Kernel::handle_persisted`]. Until then the node is silent in the log. A
    /// later state may be stored in place of one that is not.
    ///
    /// [`NetworkConfig::kept`]: crate::NetworkConfig::kept
    #[must_use]
    pub fn poll_persist(&mut self) -> Option<Persist> {
        self.network.as_mut()?.poll_persist()
    }

    /// A state of [`Kernel::poll_persist`] is stored.
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
