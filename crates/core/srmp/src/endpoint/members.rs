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

/// What is kept of a member that sends bundles.
#[derive(Debug)]
pub(super) struct Speaker {
    /// Bundles that came; none while only others relay its data.
    pub(super) window: Option<Window>,
    pub(super) origin: Origin,
    pub(super) rate: Option<rate::Receiver>,
}

impl Speaker {
    /// The round-trip time to it, or else the greatest of its group.
    pub(super) fn distance(&self) -> Duration {
        let measured = self.rate.as_ref().filter(|rate| rate.has_rtt()).map(rate::Receiver::rtt);
        measured.unwrap_or_else(|| self.origin.r_max())
    }
}

/// A member.
#[derive(Debug)]
pub(super) struct Remote {
    pub(super) epoch: Epoch,
    pub(super) address: SocketAddr,
    /// When it was heard itself.
    pub(super) heard: Moment,
    pub(super) live: bool,
    /// It is among those to be asked.
    pub(super) asking: bool,
    /// It announces data elements, and therefore sends heartbeats.
    pub(super) announces: bool,
    /// When two hosts with its identity were told last.
    pub(super) conflict: Option<Moment>,
    /// Wishes of it that are heeded, and since when.
    pub(super) nacks: f64,
    pub(super) nacks_at: Moment,
    pub(super) speaker: Option<Box<Speaker>>,
    /// Loggers are to be asked for something of it.
    pub(super) asking_near: bool,
    /// When whom to ask was found out, and with what version of what is known of loggers.
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
            speaker: None,
            asking_near: false,
            routed: (now, 0),
            wake: Moment::MAX,
        }
    }

    /// Whether one more wish of it is heeded.
    pub(super) fn may_ask(&mut self, now: Moment, per_second: f64, burst: f64) -> bool {
        let earned = now.since(self.nacks_at).as_secs_f64() * per_second;
        self.nacks = (self.nacks + earned).min(burst);
        self.nacks_at = now;
        let may = self.nacks >= 1.0;
        self.nacks -= f64::from(u8::from(may));
        may
    }

    fn deadline(&self, patience: Patience) -> Option<Moment> {
        let lost = self.live.then(|| self.heard + patience.with(self));
        let speaker = self.speaker.as_ref();
        let origin = speaker.and_then(|speaker| speaker.origin.deadline());
        let rate = speaker.and_then(|speaker| speaker.rate.as_ref()).and_then(rate::Receiver::poll_timeout);
        lost.into_iter().chain(origin).chain(rate).min()
    }

    pub(super) fn view(&self, member: MemberId) -> MemberView {
        let rate = self.speaker.as_ref().and_then(|speaker| speaker.rate.as_ref());
        MemberView {
            member,
            epoch: self.epoch,
            address: self.address,
            heard: self.heard,
            is_live: self.live,
            elements: self.speaker.as_ref().map_or(0, |speaker| speaker.origin.messages().count()),
            loss_event_rate: rate.map_or(0.0, rate::Receiver::loss_event_rate),
            rtt: rate.filter(|rate| rate.has_rtt()).map(rate::Receiver::rtt),
            reported_rate: rate.map_or(0.0, |rate| rate.rate().bits_per_second()),
        }
    }
}

/// How long a member may be silent.
#[derive(Clone, Copy, Debug)]
struct Patience {
    /// One that announces data.
    speaker: Duration,
    /// Another one, which shows itself more seldom the more members there are.
    listener: Duration,
}

impl Patience {
    fn with(self, remote: &Remote) -> Duration {
        if remote.announces { self.speaker } else { self.listener }
    }
}

/// All members but this one, and when each needs attention.
#[derive(Debug)]
pub(super) struct Members {
    pub(super) remotes: BTreeMap<MemberId, Remote>,
    pub(super) live: u32,
    wakes: BinaryHeap<Reverse<(Moment, MemberId)>>,
    timeout: Duration,
    timing: Timing,
}

impl Members {
    pub(super) fn new(timing: &Timing) -> Self {
        let timeout = timing.member_timeout.max(timing.heartbeat * 5 / 2);
        Self { remotes: BTreeMap::new(), live: 0, wakes: BinaryHeap::new(), timeout, timing: timing.clone() }
    }

    fn patience(&self) -> Patience {
        let rarest = self.timing.presence_among(self.live + 1).unwrap_or_default();
        Patience { speaker: self.timeout, listener: self.timeout.max(rarest * 5 / 2) }
    }

    pub(super) fn get_mut(&mut self, member: MemberId) -> Option<&mut Remote> {
        self.remotes.get_mut(&member)
    }

    pub(super) fn speaker(&self, member: MemberId) -> Option<&Speaker> {
        self.remotes.get(&member)?.speaker.as_deref()
    }

    /// Where a member can be asked, if it was heard itself.
    pub(super) fn address(&self, member: MemberId) -> Option<SocketAddr> {
        self.remotes.get(&member).map(|remote| remote.address).filter(|address| address.port() != 0)
    }

    /// The state of a member that sends.
    pub(super) fn speaker_mut(&mut self, member: MemberId) -> Option<&mut Speaker> {
        self.remotes.get_mut(&member)?.speaker.as_deref_mut()
    }

    /// The member that was lost first, to make room.
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

    /// Sees to it that the member is looked at when it needs to be.
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

    /// Gives up the least recently fed part of any sender; false when there is none.
    pub(super) fn evict_part(&mut self, shared: &mut crate::receive::Shared) -> bool {
        let speakers = self.remotes.values_mut().filter_map(|remote| remote.speaker.as_mut());
        let oldest = speakers
            .filter_map(|speaker| speaker.origin.oldest_part().map(|part| (part, speaker)))
            .min_by_key(|(part, _)| *part);
        let Some(((_, data), speaker)) = oldest else { return false };
        speaker.origin.evict_part(shared, data);
        true
    }
}
