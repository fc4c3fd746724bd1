//! The multicast groups of one simulated node: what its kernel has for them, in the protocol SRMP, as `node` carries it on sockets.
//!
//! Kernel and protocol are those of the server. Who drives this carries datagrams, loses some of them, and says what time it is.

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

/// What the groups of a site are like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CastSettings {
    /// Congestion control does not send slower than this, in bit/s.
    pub rate_min: u64,
    /// Messages that wait in a group for its rate, at most; what waits in the kernel can be overtaken and dropped.
    pub waiting_max: usize,
}

/// The port of all members.
const PORT: u16 = 4_420;

/// The address of a member by its number, of which the lower 16 bits count.
pub fn address(number: u32) -> SocketAddr {
    let [_, _, high, low] = number.to_be_bytes();
    SocketAddr::from(([10, 0, high, low], PORT))
}

/// A datagram that leaves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// Which group, from 0.
    pub group: usize,
    /// To this member alone; to all of the group without.
    pub to: Option<SocketAddr>,
    /// What.
    pub bytes: Bytes,
}

/// What nodes did in groups.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CastTotals {
    /// Frames of routers sent, once each, however many hear them.
    pub sent_frames: u64,
    /// Those of them that the group repairs.
    pub reliable_frames: u64,
    /// Frames that came.
    pub received_frames: u64,
    /// Datagrams sent, once each, those of the protocol itself included.
    pub sent_datagrams: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Datagrams that came and were believed.
    pub received_datagrams: u64,
    /// Wishes for what was missed (NACKs).
    pub nacks: u64,
    /// Reliable frames sent again, because members asked.
    pub repaired_frames: u64,
    /// Frames that were missed and came from the group after all.
    pub recovered_frames: u64,
}

impl CastTotals {
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

impl Add for CastTotals {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.each(other, u64::wrapping_add)
    }
}

/// What came since.
impl Sub for CastTotals {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        self.each(before, u64::saturating_sub)
    }
}

/// A group that a node takes part in.
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
/// After whatever happens to the kernel or to this, and at [`Casts::poll_timeout`], call [`Casts::settle`] and then
/// [`Casts::poll_transmit`] until both have nothing more.
#[derive(Debug)]
pub struct Casts {
    settings: CastSettings,
    seed: Seed,
    memberships: BTreeMap<usize, Membership>,
    /// Groups that were left, and have yet to say so.
    leaving: VecDeque<(usize, Membership)>,
    /// The last epoch, of all groups.
    epoch: u32,
    /// Of memberships that are over.
    past: CastTotals,
}

impl Casts {
    /// None yet.
    pub fn new(settings: CastSettings, seed: Seed) -> Self {
        Self {
            settings,
            seed,
            memberships: BTreeMap::new(),
            leaving: VecDeque::new(),
            epoch: 0,
            past: CastTotals::default(),
        }
    }

    /// The groups that it takes part in now, in order.
    pub fn groups(&self) -> impl Iterator<Item = usize> + '_ {
        self.memberships.keys().copied()
    }

    /// What it did so far.
    pub fn totals(&self) -> CastTotals {
        let leaving = self.leaving.iter().map(|(_, membership)| membership);
        leaving.chain(self.memberships.values()).map(Membership::totals).fold(self.past, Add::add)
    }

    /// A datagram came: for the group, or for this node `alone`.
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

    /// Does all that the kernel and the protocol want. False when that was nothing.
    pub fn settle(&mut self, kernel: &mut Kernel, now: Moment) -> bool {
        let mut any = false;
        while let Some(output) = kernel.poll_group() {
            any = true;
            match output {
                GroupOutput::Join { group, member } => self.join(now, group, member),
                GroupOutput::Leave { group } => self.leave(now, group),
                GroupOutput::Ready(group) => self.pump(kernel, now, group),
            }
        }
        for group in self.groups().collect::<Vec<_>>() {
            any |= self.hear(kernel, now, group);
        }
        any
    }

    /// The next datagram to be sent.
    pub fn poll_transmit(&mut self, now: Moment) -> Option<Datagram> {
        while let Some((group, membership)) = self.leaving.front_mut() {
            if let Some(transmit) = membership.endpoint.poll_transmit(now) {
                return Some(datagram(*group, transmit));
            }
            let ended = self.leaving.pop_front();
            self.past = self.past + ended.map_or_else(CastTotals::default, |(_, ended)| ended.totals());
        }
        let mut all = self.memberships.iter_mut();
        all.find_map(|(group, membership)| Some(datagram(*group, membership.endpoint.poll_transmit(now)?)))
    }

    /// When [`Casts::settle`] has something to do of its own.
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

    /// Takes what the kernel has for a group, while there is room.
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
            // Without a membership nobody is covered; the last frames of an earlier one are asked for again. So is what the protocol
            // does not take.
            let _ = membership.as_deref_mut().map(|membership| membership.send(now, next));
        }
    }

    /// Gives the kernel what came, and goes on where there is room again; whether anything was done.
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

    fn totals(&self) -> CastTotals {
        let counters = self.endpoint.counters();
        let (sent, received) = (&counters.endpoint.sent, &counters.endpoint.received);
        CastTotals {
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
