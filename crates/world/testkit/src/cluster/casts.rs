//! The multicast groups of a simulated site: the protocol SRMP over datagrams that get lost.

use crate::draw::Draw;
use base::{Moment, NodeKey, Seed};
use bytes::{BufMut, Bytes, BytesMut};
use kernel::{Carriage, CastEvent, Kernel};
use netsim::{HostId, Port};
use srmp::frames::{FRAME_BYTES, Framed, Frames, REPAIRED};
use srmp::model::{Epoch, MemberId, Profile};
use srmp::rate::Rate;
use srmp::{Channel, Config, Destination, Endpoint, Event};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Nothing waits for the rate of a group.
const RATE: f64 = 1e9;
/// The port of all members.
const PORT: u16 = 4_420;

/// The multicast groups of a site.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Multicast {
    /// How many.
    pub groups: usize,
    /// Datagrams of a hundred that each node loses of what comes to it.
    pub loss: u64,
}

/// A group that a node takes part in.
struct Membership {
    endpoint: Endpoint,
    frames: Frames,
}

/// The groups of one node.
pub(super) struct Casts {
    /// The hosts of all nodes.
    hosts: Vec<HostId>,
    loss: u64,
    draw: Draw,
    seed: Seed,
    memberships: BTreeMap<usize, Membership>,
    /// The last epoch, of all groups.
    epoch: u32,
}

impl Casts {
    /// None yet, among these hosts.
    pub(super) fn new(hosts: Vec<HostId>, loss: u64, seed: Seed) -> Self {
        let draw = Draw::new(seed, "losses");
        Self { hosts, loss, draw, seed, memberships: BTreeMap::new(), epoch: 0 }
    }

    /// A datagram came.
    pub(super) fn handle(&mut self, from: HostId, datagram: &Bytes, now: Moment) {
        if self.draw.chance(self.loss) {
            return;
        }
        let Some([group, channel]) = datagram.first_chunk() else { return };
        let Some(membership) = self.memberships.get_mut(&usize::from(*group)) else { return };
        let channel = if *channel == 0 { Channel::Group } else { Channel::Unicast };
        membership.endpoint.handle_datagram(now, address(from), channel, &datagram.slice(2..));
    }

    /// Does all that the kernel and the protocol want. False when that was nothing.
    pub(super) fn settle(&mut self, kernel: &mut Kernel, port: &mut Port<'_>) -> bool {
        let now = port.now();
        let mut any = false;
        while let Some(event) = kernel.poll_cast_event() {
            any = true;
            match event {
                CastEvent::Join { group, member } => self.join(now, group, member),
                CastEvent::Leave { group } => self.leave(now, group, port),
            }
        }
        while let Some(group) = kernel.poll_cast_ready() {
            any = true;
            self.pump(kernel, now, group);
        }
        for group in self.memberships.keys().copied().collect::<Vec<_>>() {
            any |= self.hear(kernel, now, group);
            self.send(group, port);
        }
        any
    }

    /// When [`Casts::settle`] has something to do of its own.
    pub(super) fn poll_timeout(&self) -> Option<Moment> {
        self.memberships.values().filter_map(|membership| membership.endpoint.poll_timeout()).min()
    }

    fn join(&mut self, now: Moment, group: usize, member: NodeKey) {
        let mut config = Config::new(Profile::V3, MemberId(member.0));
        config.set_momentary(REPAIRED);
        self.epoch = (self.epoch + 1).max((now.as_nanos() / 1_000_000_000) as u32);
        config.epoch = Epoch(self.epoch);
        config.session = format!("group {group}");
        config.rate.rate_min = Rate::new(RATE).expect("it is a rate");
        let seed = self.seed.split_index(self.epoch.into());
        let endpoint = Endpoint::new(config, seed, now).expect("the settings of this test kit fit");
        self.memberships.insert(group, Membership { endpoint, frames: Frames::new() });
    }

    fn leave(&mut self, now: Moment, group: usize, port: &mut Port<'_>) {
        if let Some(membership) = self.memberships.get_mut(&group) {
            membership.endpoint.leave(now);
            self.send(group, port);
            self.memberships.remove(&group);
        }
    }

    /// Takes what the kernel has for a group.
    fn pump(&mut self, kernel: &mut Kernel, now: Moment, group: usize) {
        let mut membership = self.memberships.get_mut(&group);
        loop {
            let directed = membership.as_ref().is_none_or(|membership| membership.frames.has_room());
            let Some(next) = kernel.poll_cast_frame(now, group, FRAME_BYTES, directed) else { return };
            let Some(Membership { endpoint, frames }) = membership.as_deref_mut() else { continue };
            let by = &mut (endpoint, now);
            let sent = match next.carriage {
                Carriage::BestEffort => frames.send_best_effort(by, next.frame),
                Carriage::Reliable => frames.send_reliable(by, next.frame),
                Carriage::Directed(to) => frames.send_directed(by, MemberId(to.0), next.frame),
            };
            if let Err(error) = sent {
                tracing::debug!(group, %error, "a frame was not sent to its group");
            }
        }
    }

    /// Gives the kernel what came; whether anything did.
    fn hear(&mut self, kernel: &mut Kernel, now: Moment, group: usize) -> bool {
        let Some(Membership { endpoint, frames }) = self.memberships.get_mut(&group) else { return false };
        if endpoint.poll_timeout().is_some_and(|at| at <= now) {
            endpoint.handle_timeout(now);
        }
        let (mut heard, mut has_room, mut any) = (Vec::new(), false, false);
        while let Some(event) = endpoint.poll_event() {
            match frames.handle(event) {
                Framed::Frame(from, frame) => heard.push((NodeKey(from.0), frame)),
                Framed::Answered(again) => has_room |= again,
                Framed::Other(Event::MemberSeen { member, .. }) => {
                    kernel.handle_cast_member(now, group, NodeKey(member.0), true);
                    any = true;
                }
                Framed::Other(Event::MemberLost { member, .. }) => {
                    kernel.handle_cast_member(now, group, NodeKey(member.0), false);
                    any = true;
                }
                Framed::Other(_) => {}
            }
        }
        any |= !heard.is_empty();
        if !heard.is_empty() {
            kernel.handle_cast_frames(now, heard);
        }
        if has_room {
            self.pump(kernel, now, group);
        }
        any
    }

    /// Puts on the network what the protocol sends.
    fn send(&mut self, group: usize, port: &mut Port<'_>) {
        let Some(membership) = self.memberships.get_mut(&group) else { return };
        while let Some(transmit) = membership.endpoint.poll_transmit(port.now()) {
            let (to, channel) = match transmit.to {
                Destination::Unicast(peer) => {
                    (self.hosts.iter().copied().filter(|host| address(*host) == peer).collect(), 1)
                }
                _ => (self.hosts.clone(), 0),
            };
            let mut datagram = BytesMut::with_capacity(2 + transmit.datagram.len());
            datagram.put_u8(group as u8);
            datagram.put_u8(channel);
            datagram.put_slice(&transmit.datagram);
            let datagram = datagram.freeze();
            let me = port.host();
            for host in to.into_iter().filter(|host: &HostId| *host != me) {
                port.send_datagram(host, datagram.clone());
            }
        }
    }
}

/// Where a host sends from.
fn address(host: HostId) -> SocketAddr {
    let [_, _, high, low] = host.0.to_be_bytes();
    SocketAddr::from(([10, 0, high, low], PORT))
}
