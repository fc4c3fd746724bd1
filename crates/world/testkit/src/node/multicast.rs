//! The multicast groups of a simulated site: SRMP over datagrams that may be lost.

use crate::draw::Draw;
use base::{Moment, Seed};
use bytes::{BufMut, Bytes, BytesMut};
use kernel::Kernel;
use netsim::multicast::{Datagram, GroupSettings, MulticastGroups, address};
use netsim::{HostId, Port};

/// Settings under which no message waits for the rate of a group.
const SETTINGS: GroupSettings = GroupSettings { rate_min: 1_000_000_000, waiting_max: usize::MAX };

/// The groups of one node.
pub(super) struct Groups {
    /// The hosts of all nodes.
    hosts: Vec<HostId>,
    loss: u64,
    draw: Draw,
    multicast: MulticastGroups,
}

impl Groups {
    /// The initial state, among these hosts.
    pub(super) fn new(hosts: Vec<HostId>, loss: u64, seed: Seed) -> Self {
        let draw = Draw::new(seed, "losses");
        Self { hosts, loss, draw, multicast: MulticastGroups::new(SETTINGS, seed) }
    }

    /// Handles a datagram.
    pub(super) fn handle(&mut self, from: HostId, datagram: &Bytes, now: Moment) {
        if self.draw.chance(self.loss) {
            return;
        }
        let Some([group, alone]) = datagram.first_chunk() else { return };
        let (group, alone) = (usize::from(*group), *alone != 0);
        self.multicast.handle_datagram(now, group, address(from.0), alone, &datagram.slice(2..));
    }

    /// Carries out the outputs of the kernel and the protocol. Returns whether there were any.
    pub(super) fn settle(&mut self, kernel: &mut Kernel, port: &mut Port<'_>) -> bool {
        let any = self.multicast.settle(kernel, port.now());
        while let Some(datagram) = self.multicast.poll_transmit(port.now()) {
            self.send(&datagram, port);
        }
        any
    }

    /// When [`Groups::settle`] is due without an input.
    pub(super) fn poll_timeout(&self) -> Option<Moment> {
        self.multicast.poll_timeout()
    }

    /// Sends a datagram to each host, since the network has no multicast.
    fn send(&self, Datagram { group, to, bytes }: &Datagram, port: &mut Port<'_>) {
        let mut datagram = BytesMut::with_capacity(2 + bytes.len());
        datagram.put_u8(*group as u8);
        datagram.put_u8(u8::from(to.is_some()));
        datagram.put_slice(bytes);
        let datagram = datagram.freeze();
        let me = port.host();
        let wanted = |host: &HostId| *host != me && to.is_none_or(|to| to == address(host.0));
        for host in self.hosts.iter().copied().filter(wanted) {
            port.send_datagram(host, datagram.clone());
        }
    }
}
