//! The members of the group.

use super::event::MemberView;
use crate::model::{Epoch, MemberId};
use crate::rate;
use crate::receive::{Origin, Window};
use crate::timing::Timing;
use base::Moment;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::SocketAddr;
use std::time::Duration;

/// The most that an unknown distance counts when it determines the time to ask again.
const UNKNOWN_DISTANCE: Duration = Duration::from_millis(125);

/// The state kept of a member that sends bundles.
#[derive(Debug)]
pub(super) struct RemoteSender {
    /// Bundles received; `None` while only others relay its data.
    pub(super) window: Option<Window>,
    pub(super) origin: Origin,
    pub(super) rate: Option<rate::Receiver>,
}

impl RemoteSender {
    /// The round-trip time to it, or else the greatest one of its group.
    pub(super) fn distance(&self) -> Duration {
        self.measured_distance().unwrap_or_else(|| self.origin.r_max())
    }

    /// The round-trip time that determines the time to ask again. It is short while unknown, since
    /// each wait is twice the one before.
    pub(super) fn asking_distance(&self) -> Duration {
        self.measured_distance().unwrap_or_else(|| self.origin.r_max().min(UNKNOWN_DISTANCE))
    }

    /// The round-trip time to it, as measured by congestion control or by its answers.
    fn measured_distance(&self) -> Option<Duration> {
        let measured = self.rate.as_ref().filter(|rate| rate.has_rtt()).map(rate::Receiver::rtt);
        measured.or(self.origin.answer_time())
    }
}

/// A member.
#[derive(Debug)]
pub(super) struct Remote {
    pub(super) epoch: Epoch,
    pub(super) address: SocketAddr,
    /// The time at which it was last heard itself.
    pub(super) heard: Moment,
    pub(super) live: bool,
    /// Whether it is in the list of members to ask.
    pub(super) asking: bool,
    /// Whether it announces data elements, and therefore sends heartbeats.
    pub(super) announces: bool,
    /// The time at which a conflict of two hosts with its identity was last reported.
    pub(super) conflict: Option<Moment>,
    /// The budget for its repair requests, and the time of its last update.
    pub(super) nacks: f64,
    pub(super) nacks_at: Moment,
    pub(super) sender: Option<Box<RemoteSender>>,
    /// Whether it is in the list of members for whose data a logger has to be asked.
    pub(super) asking_near: bool,
    /// Whether it asks for something, is a logger, or exchanged unicast messages.
    pub(super) is_asked_for: bool,
    /// The time at which its path was computed, and the version of the loggers used for that.
    pub(super) routed: (Moment, u32),
    wake: Moment,
}

impl Remote {
    pub(super) fn new(now: Moment, epoch: Epoch, address: SocketAddr, nacks: f64) -> Self {
        Self {
            epoch,
            address,
            heard: now,
            live: false,
            asking: false,
            announces: false,
            conflict: None,
            nacks,
            nacks_at: now,
            sender: None,
            asking_near: false,
            is_asked_for: false,
            routed: (now, 0),
            wake: Moment::MAX,
        }
    }

    /// Whether one more repair request of it is served.
    pub(super) fn may_ask(&mut self, now: Moment, per_second: f64, burst: f64) -> bool {
        let earned = now.since(self.nacks_at).as_secs_f64() * per_second;
        self.nacks = (self.nacks + earned).min(burst);
        self.nacks_at = now;
        let may = self.nacks >= 1.0;
        self.nacks -= f64::from(u8::from(may));
        may
    }

    /// Whether it is more than a member that only listens.
    fn is_needed(&self) -> bool {
        self.sender.is_some() || self.is_asked_for || self.asking || self.asking_near
    }

    fn deadline(&self, patience: Patience) -> Option<Moment> {
        let lost = self.live.then(|| self.heard + patience.with(self));
        let remote_sender = self.sender.as_ref();
        let origin = remote_sender.and_then(|remote_sender| remote_sender.origin.deadline());
        let rate = remote_sender
            .and_then(|remote_sender| remote_sender.rate.as_ref())
            .and_then(rate::Receiver::poll_timeout);
        lost.into_iter().chain(origin).chain(rate).min()
    }

    pub(super) fn view(&self, member: MemberId) -> MemberView {
        let rate = self.sender.as_ref().and_then(|remote_sender| remote_sender.rate.as_ref());
        MemberView {
            member,
            epoch: self.epoch,
            address: self.address,
            heard: self.heard,
            is_live: self.live,
            elements: self.sender.as_ref().map_or(0, |remote_sender| remote_sender.origin.messages().count()),
            loss_event_rate: rate.map_or(0.0, rate::Receiver::loss_event_rate),
            rtt: rate.filter(|rate| rate.has_rtt()).map(rate::Receiver::rtt),
            reported_rate: rate.map_or(0.0, |rate| rate.rate().bits_per_second()),
        }
    }
}

/// The greatest depth: a sample has at least one in 2 to the power of this many members.
const DEPTH_MAX: u32 = 24;

/// A number that differs for each member, and is the same everywhere (SplitMix64).
fn hashed(member: MemberId) -> u64 {
    let mut z = member.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The time for which a member may be silent.
#[derive(Clone, Copy, Debug)]
struct Patience {
    /// For a member that announces data.
    sender: Duration,
    /// For any other member, which shows itself less often the more members there are.
    listener: Duration,
}

impl Patience {
    fn with(self, remote: &Remote) -> Duration {
        if remote.announces { self.sender } else { self.listener }
    }
}

/// All members but this one, and the times at which they need attention.
///
/// When many members send nothing, only a sample of these is kept, as RFC 2762 does for the members
/// of an RTP session: those whose hashed identity ends in `depth` zeros. Each member of the sample
/// stands for two to the power of `depth` members.
#[derive(Debug)]
pub(super) struct Members {
    pub(super) remotes: BTreeMap<MemberId, Remote>,
    /// The number of members heard recently; an estimate when only a sample is kept.
    pub(super) live: u32,
    depth: u32,
    /// The members of the sample that are kept, and those of them that were heard recently.
    sampled: usize,
    sampled_live: u32,
    wakes: BinaryHeap<Reverse<(Moment, MemberId)>>,
    timeout: Duration,
    timing: Timing,
}

impl Members {
    pub(super) fn new(timing: &Timing) -> Self {
        let timeout = timing.member_timeout.max(timing.heartbeat * 5 / 2);
        Self {
            remotes: BTreeMap::new(),
            live: 0,
            depth: 0,
            sampled: 0,
            sampled_live: 0,
            wakes: BinaryHeap::new(),
            timeout,
            timing: timing.clone(),
        }
    }

    /// Whether a member is kept although it sends nothing.
    pub(super) fn is_sampled(&self, member: MemberId) -> bool {
        hashed(member).trailing_zeros() >= self.depth
    }

    /// Adds a member. When the sample would exceed `sample_max`, half of it is dropped first,
    /// except for members that send or are needed by name.
    pub(super) fn insert(&mut self, member: MemberId, remote: Remote, sample_max: usize) {
        while self.is_sampled(member) && self.sampled >= sample_max.max(1) && self.depth < DEPTH_MAX {
            self.depth += 1;
            let depth = self.depth;
            let stays = |member: &MemberId| hashed(*member).trailing_zeros() >= depth;
            self.remotes.retain(|member, remote| remote.is_needed() || stays(member));
            let sample = || self.remotes.iter().filter(|(member, _)| stays(member));
            self.sampled = sample().count();
            self.sampled_live = sample().filter(|(_, remote)| remote.live).count() as u32;
            self.count();
        }
        self.sampled += usize::from(self.is_sampled(member));
        self.remotes.insert(member, remote);
    }

    pub(super) fn remove(&mut self, member: MemberId) -> Option<Remote> {
        let remote = self.remotes.remove(&member)?;
        if self.is_sampled(member) {
            self.sampled -= 1;
            self.sampled_live -= u32::from(remote.live);
            self.count();
        }
        Some(remote)
    }

    /// Records that a member is heard again, or no longer.
    pub(super) fn set_live(&mut self, member: MemberId, live: bool) {
        let is_sampled = self.is_sampled(member);
        let Some(remote) = self.remotes.get_mut(&member) else { return };
        if std::mem::replace(&mut remote.live, live) != live && is_sampled {
            self.sampled_live = if live { self.sampled_live + 1 } else { self.sampled_live - 1 };
            self.count();
        }
    }

    fn count(&mut self) {
        self.live = self.sampled_live.saturating_mul(1 << self.depth);
    }

    fn patience(&self) -> Patience {
        let rarest = self.timing.presence_among(self.live + 1).unwrap_or_default();
        Patience { sender: self.timeout, listener: self.timeout.max(rarest * 5 / 2) }
    }

    pub(super) fn get_mut(&mut self, member: MemberId) -> Option<&mut Remote> {
        self.remotes.get_mut(&member)
    }

    pub(super) fn remote_sender(&self, member: MemberId) -> Option<&RemoteSender> {
        self.remotes.get(&member)?.sender.as_deref()
    }

    /// The address at which a member can be asked, if it was heard itself.
    pub(super) fn address(&self, member: MemberId) -> Option<SocketAddr> {
        self.remotes.get(&member).map(|remote| remote.address).filter(|address| address.port() != 0)
    }

    /// The state of a member that sends.
    pub(super) fn remote_sender_mut(&mut self, member: MemberId) -> Option<&mut RemoteSender> {
        self.remotes.get_mut(&member)?.sender.as_deref_mut()
    }

    /// The member that was lost first, to make room for another.
    pub(super) fn oldest_lost(&self) -> Option<MemberId> {
        let lost = self.remotes.iter().filter(|(_, remote)| !remote.live);
        lost.min_by_key(|(_, remote)| remote.heard).map(|(member, _)| *member)
    }

    /// Whether a live member has been silent for too long.
    pub(super) fn is_silent(&self, now: Moment, member: MemberId) -> bool {
        let patience = self.patience();
        let live = self.remotes.get(&member).filter(|remote| remote.live);
        live.is_some_and(|remote| now.since(remote.heard) >= patience.with(remote))
    }

    /// Schedules the next wake-up of a member.
    pub(super) fn watch(&mut self, member: MemberId) {
        let patience = self.patience();
        let Some(remote) = self.remotes.get_mut(&member) else { return };
        if let Some(due) = remote.deadline(patience)
            && due < remote.wake
        {
            remote.wake = due;
            self.wakes.push(Reverse((due, member)));
        }
    }

    /// The next member whose time has come.
    pub(super) fn pop_wake(&mut self, now: Moment) -> Option<MemberId> {
        while let Some(Reverse((at, member))) = self.wakes.peek().copied() {
            if at > now {
                return None;
            }
            self.wakes.pop();
            let patience = self.patience();
            let Some(remote) = self.remotes.get_mut(&member) else { continue };
            if remote.wake != at {
                continue;
            }
            remote.wake = Moment::MAX;
            if remote.deadline(patience).is_some_and(|due| due <= now) {
                return Some(member);
            }
            self.watch(member);
        }
        None
    }

    pub(super) fn deadline(&self) -> Option<Moment> {
        self.wakes.peek().map(|Reverse((at, _))| *at)
    }

    /// Evicts the incomplete message of any sender that has waited longest for its next segment.
    /// Returns false when there is none.
    pub(super) fn evict_part(&mut self, shared: &mut crate::receive::Shared) -> bool {
        let remote_senders = self.remotes.values_mut().filter_map(|remote| remote.sender.as_mut());
        let oldest = remote_senders
            .filter_map(|remote_sender| remote_sender.origin.oldest_part().map(|part| (part, remote_sender)))
            .min_by_key(|(part, _)| *part);
        let Some(((_, data), remote_sender)) = oldest else { return false };
        remote_sender.origin.evict_part(shared, data);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_tells_how_many_listen() {
        let nowhere = SocketAddr::from(([10, 0, 0, 1], 5_000));
        let mut members = Members::new(&Timing::default());
        let join = |members: &mut Members, id: u64, needed: bool| {
            let mut remote = Remote::new(Moment::ZERO, Epoch(0), nowhere, 1.0);
            remote.is_asked_for = needed;
            if needed || members.is_sampled(MemberId(id)) {
                members.insert(MemberId(id), remote, 256);
                members.set_live(MemberId(id), true);
            }
        };
        (1..=256).for_each(|id| join(&mut members, id, id <= 4));
        assert_eq!((members.live, members.remotes.len()), (256, 256), "all of them");
        (257..=10_000).for_each(|id| join(&mut members, id, false));
        // 128 to 256 members of the sample: a standard deviation of 6 to 9 %.
        assert!((8_000..12_000).contains(&members.live), "{}", members.live);
        let kept = |member: &MemberId| member.0 <= 4 || members.is_sampled(*member);
        assert!((1..=4).all(|id| members.remotes.contains_key(&MemberId(id))));
        assert!(members.remotes.len() <= 261 && members.remotes.keys().filter(|id| kept(id)).count() > 128);
        let most: Vec<_> = members.remotes.keys().copied().collect();
        most.iter().for_each(|member| members.set_live(*member, false));
        assert_eq!(members.live, 0);
        assert!(most.iter().all(|member| members.remove(*member).is_some()));
        assert_eq!((members.sampled, members.sampled_live), (0, 0));
    }
}
