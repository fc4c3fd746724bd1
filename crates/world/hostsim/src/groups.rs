//! The multicast groups of a node: their protocol, its costs, and losses on the way in.

use std::net::SocketAddr;
use std::ops::{Add, Sub};

use base::{Moment, Rng, Seed};
use kernel::Kernel;
use netmodel::units::Share;
use netsim::multicast::{FRAME_BYTES, GroupSettings, GroupTotals, MulticastGroups, address};
use rand_core::RngCore;

use crate::federation::Multicast;
use crate::scheduler::ProcessId;
use crate::wires::{SocketId, Turn};

/// Frames that may wait for the rate limit of a group, as many as at a live node.
const WAITING_MAX: usize = 128;
/// Datagrams read in one batch, as many as a live node reads with one system call.
const DATAGRAMS_AT_ONCE: usize = 16;

/// Traffic of nodes in multicast groups, and the repairs over links that it caused.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Carried {
    /// Traffic in the groups.
    pub groups: GroupTotals,
    /// Datagrams lost on the way to a member or dropped by a full socket, counted for each member
    /// that missed one.
    pub lost_datagrams: u64,
    /// Messages that groups did not deliver and nodes requested again over links.
    pub asked_again: u64,
}

impl Add for Carried {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            groups: self.groups + other.groups,
            lost_datagrams: self.lost_datagrams + other.lost_datagrams,
            asked_again: self.asked_again + other.asked_again,
        }
    }
}

/// The difference from an earlier count.
impl Sub for Carried {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            groups: self.groups - before.groups,
            lost_datagrams: self.lost_datagrams.saturating_sub(before.lost_datagrams),
            asked_again: self.asked_again.saturating_sub(before.asked_again),
        }
    }
}

/// The process with this address; `None` for an address outside the simulation.
fn process(address: SocketAddr) -> Option<ProcessId> {
    let SocketAddr::V4(address) = address else { return None };
    let [_, _, high, low] = address.ip().octets();
    Some(ProcessId(u32::from_be_bytes([0, 0, high, low])))
}

/// The kernel's settings for these groups.
pub(crate) fn of_kernel(multicast: &Multicast) -> kernel::Multicast {
    kernel::Multicast { groups: multicast.groups.into(), frame_bytes: FRAME_BYTES }
}

/// The groups of a node.
#[derive(Debug)]
pub(crate) struct Groups {
    multicast: MulticastGroups,
    socket: SocketId,
    loss: Share,
    losses: Rng,
    lost: u64,
}

impl Groups {
    /// Creates a node without memberships. Datagrams arrive at `socket`. Losses have a random
    /// stream of their own, derived from `seed`.
    pub(crate) fn new(multicast: &Multicast, socket: SocketId, seed: Seed) -> Self {
        let settings = GroupSettings { rate_min: multicast.rate_min, waiting_max: WAITING_MAX };
        Self {
            multicast: MulticastGroups::new(settings, seed.split("protocol")),
            socket,
            loss: multicast.loss,
            losses: seed.split("losses").rng(),
            lost: 0,
        }
    }

    pub(crate) fn socket(&self) -> SocketId {
        self.socket
    }

    pub(crate) fn poll_timeout(&self) -> Option<Moment> {
        self.multicast.poll_timeout()
    }

    /// Its traffic so far.
    pub(crate) fn carried(&self) -> Carried {
        Carried { groups: self.multicast.totals(), lost_datagrams: self.lost, asked_again: 0 }
    }

    /// Reads datagrams. As with the emulated line of a live node, losses happen between socket and
    /// protocol: a lost datagram still costs a read.
    pub(crate) fn take_in(&mut self, turn: &mut Turn<'_>) {
        for _ in 0..DATAGRAMS_AT_ONCE {
            let Some(datagram) = turn.next_datagram(self.socket) else { return };
            if self.loss != Share::NONE && self.losses.next_u64() < self.loss.bound() {
                self.lost += 1;
                continue;
            }
            turn.spend(turn.costs().datagram_take_ns);
            let from = address(datagram.from.0);
            let (group, alone) = (datagram.group, datagram.alone);
            self.multicast.handle_datagram(turn.now(), group, from, alone, &datagram.bytes);
        }
        turn.leave_rest(self.socket);
    }

    /// Executes the kernel's joins and leaves, delivers received frames to it, and sends its
    /// frames. Returns whether there was anything to do.
    pub(crate) fn serve(&mut self, kernel: &mut Kernel, turn: &mut Turn<'_>) -> bool {
        let mut any = false;
        loop {
            let before = kernel.link_messages();
            let took = self.multicast.settle(kernel, turn.now());
            let after = kernel.link_messages();
            let crossed = (after.received - before.received) + (after.grouped - before.grouped);
            turn.spend(crossed as f64 * turn.costs().link_message_ns / 2.0);
            let heard = after.services_received - before.services_received;
            turn.spend(heard as f64 * turn.costs().remote_message_ns / 2.0);
            if took {
                turn.set_groups(self.multicast.groups().fold(0, |all, group| all | 1 << group));
            }
            let mut sent = false;
            while let Some(datagram) = self.multicast.poll_transmit(turn.now()) {
                sent = true;
                turn.spend(turn.costs().datagram_send_ns);
                turn.send_datagram(datagram.group, datagram.to.and_then(process), datagram.bytes);
            }
            if !took && !sent {
                return any;
            }
            any = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sender_of_a_datagram_can_be_answered() {
        for number in [0, 1, 255, 256, 999] {
            assert_eq!(process(address(number)), Some(ProcessId(number)));
        }
        assert_eq!(process("[::1]:4420".parse().unwrap()), None);
    }
}
