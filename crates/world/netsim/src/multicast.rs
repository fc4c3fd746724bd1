//! The multicast groups of one simulated node: the frames of its kernel, carried by SRMP as `node`
//! carries them on sockets.
//!
//! Kernel and protocol are those of the server. The caller carries datagrams, loses some of them,
//! and supplies the time.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::ops::{Add, Sub};

use base::{Moment, NodeKey, Seed};
use bytes::Bytes;
use kernel::{Delivery, GroupFrame, GroupInput, GroupOutput, Kernel};
use srmp::frames::{Framed, Frames, REPAIRED};
use srmp::model::{Epoch, MemberId, Profile};
use srmp::rate::Rate;
use srmp::{Channel, Config, Destination, Endpoint, Event, SendError, Transmit};

pub use srmp::frames::FRAME_BYTES;

/// Settings of the groups of a site.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupSettings {
    /// Minimum rate of congestion control, in bit/s.
    pub rate_min: u64,
    /// Maximum number of messages that wait in a group for its rate. Further ones wait in the
    /// kernel, where others can overtake them and best-effort ones can be dropped.
    pub waiting_max: usize,
}

/// The port of all members.
const PORT: u16 = 4_420;

/// The address of the member with this number, of which only the lower 16 bits count.
pub fn address(number: u32) -> SocketAddr {
    let [_, _, high, low] = number.to_be_bytes();
    SocketAddr::from(([10, 0, high, low], PORT))
}

/// An outgoing datagram.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// Index of the group, from 0.
    pub group: usize,
    /// The only receiver; `None` for the whole group.
    pub to: Option<SocketAddr>,
    /// The datagram itself.
    pub bytes: Bytes,
}

/// Counters of the traffic in groups.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct GroupTotals {
    /// Router frames sent, counted once regardless of the number of receivers.
    pub sent_frames: u64,
    /// Those of them that the group repairs.
    pub reliable_frames: u64,
    /// Router frames received.
    pub received_frames: u64,
    /// Datagrams sent, counted once, including those of the protocol itself.
    pub sent_datagrams: u64,
    /// Bytes of these datagrams.
    pub sent_bytes: u64,
    /// Datagrams received and authenticated.
    pub received_datagrams: u64,
    /// Repair requests (NACKs) sent.
    pub nacks: u64,
    /// Reliable frames retransmitted on request.
    pub repaired_frames: u64,
    /// Missing frames recovered from the group.
    pub recovered_frames: u64,
}

impl GroupTotals {
    fn each(self, other: Self, with: fn(u64, u64) -> u64) -> Self {
        Self {
            sent_frames: with(self.sent_frames, other.sent_frames),
            reliable_frames: with(self.reliable_frames, other.reliable_frames),
            received_frames: with(self.received_frames, other.received_frames),
            sent_datagrams: with(self.sent_datagrams, other.sent_datagrams),
            sent_bytes: with(self.sent_bytes, other.sent_bytes),
            received_datagrams: with(self.received_datagrams, other.received_datagrams),
            nacks: with(self.nacks, other.nacks),
            repaired_frames: with(self.repaired_frames, other.repaired_frames),
            recovered_frames: with(self.recovered_frames, other.recovered_frames),
        }
    }
}

impl Add for GroupTotals {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.each(other, u64::wrapping_add)
    }
}

/// The difference from an earlier count.
impl Sub for GroupTotals {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        self.each(before, u64::saturating_sub)
    }
}

/// A group that a node is a member of.
#[derive(Debug)]
struct Membership {
    endpoint: Endpoint,
    frames: Frames,
    /// Frames wait in the kernel until there is room.
    blocked: bool,
}

/// The groups of one node.
///
/// # Contract
/// After every input to the kernel or to this machine, and at [`MulticastGroups::poll_timeout`],
/// call [`MulticastGroups::settle`] and then [`MulticastGroups::poll_transmit`] until both have
/// nothing left.
#[derive(Debug)]
pub struct MulticastGroups {
    settings: GroupSettings,
    seed: Seed,
    memberships: BTreeMap<usize, Membership>,
    /// Groups that the node has left and that still have to announce it.
    leaving: VecDeque<(usize, Membership)>,
    /// The last epoch, shared by all groups: a new membership gets a higher one.
    epoch: u32,
    /// Totals of ended memberships.
    past: GroupTotals,
}

impl MulticastGroups {
    /// Creates a node without memberships.
    pub fn new(settings: GroupSettings, seed: Seed) -> Self {
        Self {
            settings,
            seed,
            memberships: BTreeMap::new(),
            leaving: VecDeque::new(),
            epoch: 0,
            past: GroupTotals::default(),
        }
    }

    /// The groups that the node is a member of, in ascending order.
    pub fn groups(&self) -> impl Iterator<Item = usize> + '_ {
        self.memberships.keys().copied()
    }

    /// Totals so far, ended memberships included.
    pub fn totals(&self) -> GroupTotals {
        let leaving = self.leaving.iter().map(|(_, membership)| membership);
        leaving.chain(self.memberships.values()).map(Membership::totals).fold(self.past, Add::add)
    }

    /// Handles a datagram, addressed to the group or to this node `alone`.
    pub fn handle_datagram(
        &mut self,
        now: Moment,
        group: usize,
        from: SocketAddr,
        alone: bool,
        datagram: &Bytes,
    ) {
        let Some(membership) = self.memberships.get_mut(&group) else { return };
        let channel = if alone { Channel::Unicast } else { Channel::Group };
        membership.endpoint.handle_datagram(now, from, channel, datagram);
    }

    /// Exchanges frames and events between the kernel and the protocol. Returns false if there were
    /// none.
    pub fn settle(&mut self, kernel: &mut Kernel, now: Moment) -> bool {
        let mut any = false;
        while let Some(output) = kernel.poll_group() {
            any = true;
            match output {
                GroupOutput::Join { group, member } => self.join(now, group, member),
                GroupOutput::Leave { group } => self.leave(now, group),
                GroupOutput::Ready(group) => self.pump(kernel, now, group),
                // Nobody listens in a simulation, whose links prove nothing either.
                GroupOutput::Keys(_) | GroupOutput::DrawSecret => {}
            }
        }
        for group in self.groups().collect::<Vec<_>>() {
            any |= self.hear(kernel, now, group);
        }
        any
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self, now: Moment) -> Option<Datagram> {
        while let Some((group, membership)) = self.leaving.front_mut() {
            if let Some(transmit) = membership.endpoint.poll_transmit(now) {
                return Some(datagram(*group, transmit));
            }
            let ended = self.leaving.pop_front();
            self.past = self.past + ended.map_or_else(GroupTotals::default, |(_, ended)| ended.totals());
        }
        let mut all = self.memberships.iter_mut();
        all.find_map(|(group, membership)| Some(datagram(*group, membership.endpoint.poll_transmit(now)?)))
    }

    /// Moment of the next call of [`MulticastGroups::settle`] without input.
    pub fn poll_timeout(&self) -> Option<Moment> {
        self.memberships.values().filter_map(|membership| membership.endpoint.poll_timeout()).min()
    }

    fn join(&mut self, now: Moment, group: usize, member: NodeKey) {
        let mut config = Config::new(Profile::V3, MemberId(member.0));
        config.set_momentary(REPAIRED);
        self.epoch = (self.epoch + 1).max((now.as_nanos() / 1_000_000_000) as u32);
        config.epoch = Epoch(self.epoch);
        config.session = format!("group {group}");
        config.rate.rate_min = Rate::new(self.settings.rate_min as f64).unwrap_or_default();
        let seed = self.seed.split_index(self.epoch.into());
        let endpoint = Endpoint::new(config, seed, now).expect("a rate and the defaults fit");
        let membership = Membership { endpoint, frames: Frames::new(), blocked: false };
        if let Some(earlier) = self.memberships.insert(group, membership) {
            self.past = self.past + earlier.totals();
        }
    }

    fn leave(&mut self, now: Moment, group: usize) {
        if let Some(mut membership) = self.memberships.remove(&group) {
            membership.endpoint.leave(now);
            self.leaving.push_back((group, membership));
        }
    }

    /// Sends the kernel's frames for a group while there is room.
    fn pump(&mut self, kernel: &mut Kernel, now: Moment, group: usize) {
        let mut membership = self.memberships.get_mut(&group);
        loop {
            if let Some(membership) = &mut membership {
                membership.blocked = membership.endpoint.waiting() >= self.settings.waiting_max;
                if membership.blocked {
                    return;
                }
            }
            let directed = membership.as_ref().is_none_or(|membership| membership.frames.has_room());
            let Some(next) = kernel.poll_group_frame(now, group, FRAME_BYTES, directed) else { return };
            // Without a membership no member is covered. Frames that an earlier membership still
            // had, or that the protocol rejects, are requested again by their receivers.
            let _ = membership.as_deref_mut().map(|membership| membership.send(now, next));
        }
    }

    /// Delivers events and frames of a group to the kernel, and resumes sending once there is room.
    /// Returns whether anything was done.
    fn hear(&mut self, kernel: &mut Kernel, now: Moment, group: usize) -> bool {
        let Some(membership) = self.memberships.get_mut(&group) else { return false };
        let Membership { endpoint, frames, blocked } = membership;
        if endpoint.poll_timeout().is_some_and(|at| at <= now) {
            endpoint.handle_timeout(now);
        }
        let (mut heard, mut any) = (Vec::new(), false);
        let mut has_room = *blocked && endpoint.waiting() <= self.settings.waiting_max / 2;
        any |= has_room;
        while let Some(event) = endpoint.poll_event() {
            match frames.handle(event) {
                Framed::Frame(from, frame) => heard.push((NodeKey(from.0), frame)),
                Framed::Answered(again) => has_room |= again,
                Framed::Other(Event::MemberSeen { member, .. }) => {
                    let member = NodeKey(member.0);
                    kernel.handle_group(now, GroupInput::Member { group, member, heard: true });
                    any = true;
                }
                Framed::Other(Event::MemberLost { member, .. }) => {
                    let member = NodeKey(member.0);
                    kernel.handle_group(now, GroupInput::Member { group, member, heard: false });
                    any = true;
                }
                Framed::Other(_) => {}
            }
        }
        any |= !heard.is_empty();
        if !heard.is_empty() {
            kernel.handle_group(now, GroupInput::Frames(&mut heard));
        }
        if has_room {
            self.pump(kernel, now, group);
        }
        any
    }
}

impl Membership {
    fn send(&mut self, now: Moment, next: GroupFrame) -> Result<(), SendError> {
        let (frames, by) = (&mut self.frames, &mut (&mut self.endpoint, now));
        match next.delivery {
            Delivery::BestEffort => frames.send_best_effort(by, next.frame),
            Delivery::Reliable => frames.send_reliable(by, next.frame),
            Delivery::Directed(to) => frames.send_directed(by, MemberId(to.0), next.frame),
        }
    }

    fn totals(&self) -> GroupTotals {
        let counters = self.endpoint.counters();
        let (sent, received) = (&counters.endpoint.sent, &counters.endpoint.received);
        GroupTotals {
            sent_frames: self.frames.sent(),
            reliable_frames: self.frames.reliable(),
            received_frames: self.frames.received(),
            sent_datagrams: sent.datagrams,
            sent_bytes: sent.bytes,
            received_datagrams: received.datagrams,
            nacks: sent.nacks,
            repaired_frames: counters.send.messages_repaired,
            recovered_frames: counters.receive.wants_satisfied,
        }
    }
}

fn datagram(group: usize, transmit: Transmit) -> Datagram {
    let to = match transmit.to {
        Destination::Unicast(address) => Some(address),
        Destination::Group | Destination::Site => None,
    };
    Datagram { group, to, bytes: transmit.datagram }
}
