//! This member's role among loggers: its side of the election, the messages of other loggers, and
//! timers.

use super::Endpoint;
use super::event::{Channel, Destination};
use super::serving::{Children, RateLimit, Reply};
use super::syncing::Joiner;
use crate::fault::Fault;
use crate::logger::{
    Election, Jobs, LoggerConfig, LoggerCounters, Merits, MissingSet, Outcome, Rank, Region, Store, View,
};
use crate::model::{MemberId, SnSpace, Stamp};
use crate::wire::{
    Advertisement, Flags, Header, Kind, LoggerFlags, LoggerState, Packet, Pending, Probe, Record,
};
use base::{Moment, Seed};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

/// The most members of the site that are told apart.
const SITE_MEMBERS_MAX: usize = 1_024;
/// A member of the site that was not heard there for this long is not counted.
const SITE_MEMBER_LASTS: Duration = Duration::from_secs(40);
/// The number of round-trip times within the site that are remembered.
const RTTS_MAX: usize = 16;
/// The least interval between advertisements that answer state requests.
const ADV_SPACING: Duration = Duration::from_millis(20);

/// The state that a member keeps about loggers and, if it may be one, as a logger.
#[derive(Debug)]
pub(super) struct Loggers {
    pub(super) config: LoggerConfig,
    pub(super) counters: LoggerCounters,
    pub(super) election: Option<Election>,
    pub(super) view: View,
    pub(super) region: Region,
    pub(super) store: Option<Store>,
    pub(super) missing: MissingSet,
    pub(super) jobs: Jobs,
    /// Repairs queued for the site, and for others.
    pub(super) local: VecDeque<Reply>,
    pub(super) remote: VecDeque<Reply>,
    pub(super) local_limit: RateLimit,
    pub(super) remote_limit: RateLimit,
    pub(super) children: Children,
    pub(super) joiner: Joiner,
    /// The time at which this member, as the standby, sends the site its state, unless the logger
    /// does so first.
    pub(super) stand_in: Option<Moment>,
    /// Members heard in the site's scope, or that asked for the round-trip time.
    site: BTreeMap<MemberId, Moment>,
    /// Round-trip times to these members, and the nonce of the last probe.
    rtts: VecDeque<Duration>,
    nonce: u32,
    begun: Moment,
    last_adv: Option<Moment>,
    global_at: Moment,
    decide_at: Moment,
    /// The time at which the last reply was dropped for want of room.
    pub(super) overloaded: Option<Moment>,
    /// Whether it can no longer be a logger.
    pub(super) is_giving_up: bool,
    /// Changes whenever the path of requests may change.
    pub(super) version: u32,
}

impl Loggers {
    pub(super) fn new(config: &super::Config, seed: Seed, now: Moment) -> Self {
        let loggers = config.logger.clone();
        let (me, space) = (config.member, SnSpace::V3);
        let eligible = loggers.is_eligible();
        let mut this = Self {
            counters: LoggerCounters::default(),
            election: None,
            view: View::new(loggers.clone(), seed.split("view").rng()),
            region: Region::new(loggers.clone(), me),
            store: eligible.then(|| Store::new(space, loggers.bytes_max)),
            missing: MissingSet::new(space, loggers.missing_max),
            jobs: Jobs::new(loggers.sync_jobs_max),
            local: VecDeque::new(),
            remote: VecDeque::new(),
            local_limit: RateLimit::default(),
            remote_limit: RateLimit::default(),
            children: Children::default(),
            joiner: Joiner::new(now, loggers.site && loggers.sync),
            stand_in: None,
            site: BTreeMap::new(),
            rtts: VecDeque::new(),
            nonce: 0,
            begun: now,
            last_adv: None,
            global_at: Moment::MAX,
            decide_at: Moment::MAX,
            overloaded: None,
            is_giving_up: false,
            version: 1,
            config: loggers,
        };
        if eligible {
            let rank = this.rank(now, me, 0.0);
            this.election = Some(Election::new(now, me, rank, &this.config, seed.split("election").rng()));
        }
        this
    }

    pub(super) fn is_active(&self) -> bool {
        self.election.as_ref().is_some_and(Election::is_active)
    }

    pub(super) fn is_standby(&self) -> bool {
        self.election.as_ref().is_some_and(Election::is_standby)
    }

    /// Whether a member was heard in the site's scope.
    pub(super) fn is_of_site(&self, member: MemberId) -> bool {
        self.site.contains_key(&member)
    }

    /// The number of members of the site, including this one.
    pub(super) fn site_members(&self) -> usize {
        self.site.len() + 1
    }

    pub(super) fn is_overloaded(&self, now: Moment) -> bool {
        self.overloaded.is_some_and(|at| now.since(at) < Duration::from_secs(1))
    }

    pub(super) fn view(&self) -> super::LoggerView {
        let (first, second) = (self.view.active(), self.view.standby());
        super::LoggerView {
            is_active: self.is_active(),
            is_standby: self.is_standby(),
            tier: self.region.tier(),
            parent: self.region.parent(),
            children: self.region.children(),
            known: (first.map(|seen| seen.member), second.map(|seen| seen.member)),
            site_rtt: self.view.site_rtt(),
            kept_bytes: self.store.as_ref().map_or(0, Store::bytes),
        }
    }

    fn note_of_site(&mut self, now: Moment, member: MemberId) {
        // Searched through only when it is full: members come and go slowly.
        if self.site.len() >= SITE_MEMBERS_MAX {
            self.site.retain(|_, heard| now.since(*heard) < SITE_MEMBER_LASTS);
        }
        if self.site.len() < SITE_MEMBERS_MAX || self.site.contains_key(&member) {
            self.site.insert(member, now);
        }
    }

    fn rank(&self, now: Moment, me: MemberId, loss: f64) -> Rank {
        let mut rtts: Vec<_> = self.rtts.iter().copied().collect();
        rtts.sort_unstable();
        Rank::of(&Merits {
            priority: self.config.rank_priority(),
            is_overloaded: self.is_overloaded(now),
            loss,
            // The median: one member far away must not decide about the logger of all.
            rtt: rtts.get(rtts.len() / 2).copied().unwrap_or_default(),
            uptime: now.since(self.begun),
            member: me,
        })
    }

    /// The rank as other sites see it. Properties that change all the time must not rearrange the
    /// tree.
    fn lasting_rank(&self, me: MemberId) -> Rank {
        Rank::of(&Merits {
            priority: self.config.rank_priority(),
            is_overloaded: false,
            loss: 0.0,
            rtt: Duration::ZERO,
            uptime: Duration::ZERO,
            member: me,
        })
    }

    fn deadline(&self) -> Option<Moment> {
        let election = self.election.as_ref().map(Election::deadline);
        let region = self.is_active().then(|| self.global_at.min(self.decide_at));
        let local = (!self.local.is_empty()).then(|| self.local_limit.ready());
        let remote = (!self.remote.is_empty()).then(|| self.remote_limit.ready());
        let others = [self.view.deadline(), self.jobs.deadline(), self.joiner.deadline(), self.stand_in];
        let ends = (self.is_giving_up && self.election.is_some()).then_some(Moment::ZERO);
        [election, region, local, remote, ends].into_iter().chain(others).flatten().min()
    }
}

impl Endpoint {
    /// The time at which a timer of loggers is due.
    pub(super) fn loggers_at(&self) -> Option<Moment> {
        if self.left { None } else { self.loggers.as_ref()?.deadline() }
    }

    /// Handles a datagram of a logger, or of a member that asks one.
    pub(super) fn handle_logging(&mut self, now: Moment, from: SocketAddr, via: Channel, packet: &Packet) {
        let header = *packet.header();
        // A datagram for a site must not pass for one to the whole group, nor vice versa.
        let is_local = header.flags.contains(Flags::LOCAL);
        if (via == Channel::Site && !is_local) || (via == Channel::Group && is_local) {
            return self.counters.faults.add(Fault::BadFlags);
        }
        if self.loggers.is_none() || !self.heard_by_name(now, header.sender, header.epoch, from) {
            return;
        }
        if let Some(loggers) = &mut self.loggers {
            loggers.view.answered(header.sender);
            loggers.region.answered(header.sender);
            if is_local && loggers.config.site {
                loggers.note_of_site(now, header.sender);
            }
        }
        for record in packet.records() {
            match record {
                Ok(record) => self.handle_logging_record(now, (from, via), &header, record),
                Err(error) => self.counters.faults.add(error.fault()),
            }
        }
        self.members.watch(header.sender);
    }

    fn handle_logging_record(
        &mut self,
        now: Moment,
        (from, via): (SocketAddr, Channel),
        header: &Header,
        record: Record<'_>,
    ) {
        let member = header.sender;
        let gives = matches!(record, Record::Mode1(_) | Record::Index(_) | Record::SyncEnd { .. });
        if header.kind == Kind::Sync && via == Channel::Site && gives {
            self.hear_transfer(now, member);
        }
        match record {
            Record::Mode1(message) => {
                if header.kind == Kind::Sync {
                    self.hear_sync(now, member, message.origin);
                }
                self.handle_mode1(now, header, &message, via);
            }
            Record::Nack(nack) => self.handle_ask(now, (member, from), &nack),
            Record::Pending(pending) => self.handle_pending(now, pending),
            Record::Advertisement(advertisement) => {
                self.handle_advertisement(now, member, header.flags.contains(Flags::LOCAL), advertisement);
            }
            Record::Probe(probe) => self.answer_probe(now, (member, from), header, probe),
            Record::Reply(probe) => self.handle_reply(now, member, probe),
            Record::Index(index) => self.handle_index(now, member, &index),
            Record::SyncRequest(list) => self.handle_sync_request(now, (member, from), via, list),
            Record::SyncEnd { .. } => self.handle_sync_end(now, member),
            _ => self.counters.faults.add(Fault::UnknownKind),
        }
    }

    /// A member of the site sends the state to the whole site: it is the site's logger, even if its
    /// advertisement was lost.
    fn hear_transfer(&mut self, now: Moment, member: MemberId) {
        let Some(loggers) = self.loggers.as_mut().filter(|loggers| loggers.config.site) else { return };
        // The logger serves. A standby that served as well would send everything twice.
        loggers.stand_in = None;
        if let Some(election) = &mut loggers.election {
            election.hear_transfer(now, member);
        }
        if loggers.view.hear_transfer(now, member) {
            loggers.version += 1;
        }
    }

    /// A logger reports that it is fetching a version.
    pub(super) fn handle_pending(&mut self, now: Moment, pending: Pending) {
        // Half as long again as the other member waits itself, so that it can pass its repair on.
        let wait = pending.upstream.saturating_mul(3) / 2 + Duration::from_millis(10);
        let Pending { origin, data, sn, .. } = pending;
        let Some(remote) = self.members.get_mut(origin.member) else { return };
        // Zero: the other member has not heard the epoch yet.
        let known = remote.epoch == origin.epoch || origin.epoch.0 == 0;
        let Some(remote_sender) = remote.sender.as_mut().filter(|_| known) else { return };
        remote_sender.origin.pending(now, &mut self.receive, data, sn, wait);
        self.members.watch(origin.member);
    }

    fn handle_advertisement(
        &mut self,
        now: Moment,
        from: MemberId,
        local: bool,
        advertisement: Advertisement,
    ) {
        let Some(loggers) = &mut self.loggers else { return };
        if !loggers.config.site {
            return;
        }
        if !local {
            let is_ours = loggers.view.active().is_some_and(|seen| seen.member == from);
            if loggers.election.is_some() && !is_ours {
                loggers.region.hear(now, from, &advertisement);
            }
            return;
        }
        if loggers.view.hear(now, from, advertisement) {
            loggers.version += 1;
        }
        let overloaded = advertisement.flags.contains(LoggerFlags::OVERLOADED);
        let rank = (from, Rank(advertisement.rank));
        let outcome = loggers
            .election
            .as_mut()
            .and_then(|election| election.hear(now, rank, advertisement.state, overloaded));
        self.follow(now, outcome);
    }

    /// Performs the outcome of an election step.
    fn follow(&mut self, now: Moment, outcome: Option<Outcome>) {
        let me = self.config.member;
        let Some(loggers) = &mut self.loggers else { return };
        match outcome {
            None => {}
            Some(Outcome::Advertise(state)) => self.put_advertisement(now, state, Destination::Site),
            Some(Outcome::Elected) => {
                loggers.counters.activations += 1;
                loggers.region.restart();
                (loggers.global_at, loggers.decide_at) = (now, now);
                self.put_advertisement(now, LoggerState::Active, Destination::Site);
            }
            Some(Outcome::SteppedDown(state)) => {
                loggers.counters.step_downs += 1;
                // Its children ask the next logger. Its own gaps are no longer its business.
                loggers.missing.clear();
                loggers.jobs.clear();
                (loggers.global_at, loggers.decide_at) = (Moment::MAX, Moment::MAX);
                loggers.region.restart();
                self.put_advertisement(now, state, Destination::Site);
                self.put_advertisement(now, LoggerState::Resign, Destination::Group);
            }
        }
        // This member's own advertisement also counts in the choice of the members that it asks.
        let Some(loggers) = &mut self.loggers else { return };
        let state = match &loggers.election {
            Some(election) if election.is_active() => LoggerState::Active,
            Some(election) if election.is_standby() => LoggerState::Standby,
            _ => LoggerState::Resign,
        };
        if outcome.is_some() {
            let advertisement = self.advertisement(now, state, true);
            if let Some(loggers) = &mut self.loggers {
                loggers.view.hear(now, me, advertisement);
                loggers.version += 1;
            }
        }
    }

    /// The advertisement of this member as a logger.
    fn advertisement(&self, now: Moment, state: LoggerState, local: bool) -> Advertisement {
        let none = Advertisement {
            state,
            tier: 0,
            rank: 0,
            children: 0,
            flags: LoggerFlags::empty(),
            parent: MemberId::NOBODY,
            parent_rtt: Duration::ZERO,
        };
        let Some(loggers) = &self.loggers else { return none };
        let mut flags = LoggerFlags::empty();
        flags.set(LoggerFlags::OVERLOADED, loggers.is_overloaded(now));
        flags.set(LoggerFlags::PARTIAL, loggers.store.as_ref().is_some_and(Store::is_partial));
        let children = if local { loggers.site_members() } else { loggers.region.children() };
        let parent = loggers.region.parent();
        let me = self.config.member;
        // The rank that the election compares with the advertised ones, though it may be outdated.
        // Otherwise each of two members could be the better one.
        let of_site = || loggers.election.as_ref().map(Election::rank);
        let rank = if local { of_site().unwrap_or_default() } else { loggers.lasting_rank(me) };
        Advertisement {
            state,
            tier: loggers.region.tier(),
            rank: rank.0,
            // One octet on the wire. The rank does not distinguish larger numbers.
            children: children.min(255) as u8,
            flags,
            parent,
            parent_rtt: loggers.region.rtt(parent).unwrap_or_else(|| self.farthest_source()),
        }
    }

    /// The mean loss event rate of all senders.
    fn mean_loss(&self) -> f64 {
        let remote_senders = self.members.remotes.values().filter(|remote| remote.live && remote.announces);
        let rates = remote_senders.filter_map(|remote| remote.sender.as_ref()?.rate.as_ref());
        let (sum, count) =
            rates.fold((0.0, 0u32), |(sum, count), rate| (sum + rate.loss_event_rate(), count + 1));
        if count == 0 { 0.0 } else { sum / f64::from(count) }
    }

    fn farthest_source(&self) -> Duration {
        let remote_senders = self.members.remotes.values().filter(|remote| remote.live && remote.announces);
        let times = remote_senders
            .filter_map(|remote| remote.sender.as_ref())
            .map(|remote_sender| remote_sender.distance());
        times.max().unwrap_or_default()
    }

    pub(super) fn put_advertisement(&mut self, now: Moment, state: LoggerState, to: Destination) {
        let local = to == Destination::Site;
        let advertisement = self.advertisement(now, state, local);
        let Some(loggers) = &mut self.loggers else { return };
        loggers.counters.advertisements += 1;
        if local {
            loggers.last_adv = Some(now);
        }
        self.put_logging(now, Kind::Logger, &[Record::Advertisement(advertisement)], to, local);
    }

    /// Advertises this logger to a member of the site that requests state, so that it knows the
    /// logger to ask next.
    pub(super) fn show_logger(&mut self, now: Moment) {
        let last = self.loggers.as_ref().and_then(|loggers| loggers.last_adv);
        if last.is_none_or(|last| now.since(last) >= ADV_SPACING) {
            self.put_advertisement(now, LoggerState::Active, Destination::Site);
        }
    }

    /// Sends a datagram of a few records.
    pub(super) fn put_logging(
        &mut self,
        now: Moment,
        kind: Kind,
        records: &[Record<'_>],
        to: Destination,
        local: bool,
    ) {
        self.announced.clear();
        self.writer.begin(kind, 0);
        for record in records {
            if self.writer.push(record).is_err() {
                self.counters.not_written += 1;
            }
        }
        self.end_logging(now, kind, to, local);
    }

    /// Sends the datagram that was begun. Returns its length in bytes.
    pub(super) fn end_logging(&mut self, now: Moment, kind: Kind, to: Destination, local: bool) -> usize {
        let header = self.header(now, kind, if local { Flags::LOCAL } else { Flags::empty() });
        let len = self.finish(&header, to).unwrap_or(0);
        if !local {
            // Traffic within the site does not cross the lines that the rate is about.
            self.shaper.charge(now, crate::rate::Class::Control, len);
        }
        len
    }

    fn answer_probe(
        &mut self,
        now: Moment,
        (member, from): (MemberId, SocketAddr),
        header: &Header,
        probe: Probe,
    ) {
        let local = header.flags.contains(Flags::LOCAL);
        let stamp = self.config.profile.clock().stamp(now);
        let Some(loggers) = &mut self.loggers else { return };
        let limits = &self.config.limits;
        let Some(remote) = self.members.get_mut(member) else { return };
        // Each probe is answered with a datagram. Without a limit, a member could make this one
        // flood another.
        if !remote.may_ask(now, limits.nacks_per_second, limits.nacks_burst) {
            return;
        }
        // The logger also measures round-trip times, when members probe it.
        // The probe of a member is answered with one of its own.
        let back = (local && loggers.is_active()).then(|| {
            loggers.nonce = loggers.nonce.wrapping_add(1).max(1);
            Record::Probe(Probe { nonce: loggers.nonce, stamp })
        });
        let to = Destination::Unicast(from);
        match back {
            Some(back) => self.put_logging(now, Kind::Logger, &[Record::Reply(probe), back], to, local),
            None => self.put_logging(now, Kind::Logger, &[Record::Reply(probe)], to, local),
        }
    }

    fn handle_reply(&mut self, now: Moment, member: MemberId, probe: Probe) {
        let rtt = self.config.profile.clock().since(probe.stamp, now);
        let Some(loggers) = &mut self.loggers else { return };
        if loggers.view.measured(member, probe.nonce, rtt)
            || loggers.region.measured(member, probe.nonce, rtt)
        {
            loggers.version += 1;
        } else if loggers.is_active() && loggers.is_of_site(member) && probe.nonce == loggers.nonce {
            loggers.nonce = loggers.nonce.wrapping_add(1);
            if loggers.rtts.len() >= RTTS_MAX {
                loggers.rtts.pop_front();
            }
            loggers.rtts.push_back(rtt.min(Duration::from_secs(1)));
        }
    }

    fn put_probe(&mut self, now: Moment, to: MemberId, nonce: u32, local: bool) {
        let Some(address) = self.members.address(to) else { return };
        let stamp: Stamp = self.config.profile.clock().stamp(now);
        let probe = Record::Probe(Probe { nonce, stamp });
        self.put_logging(now, Kind::Logger, &[probe], Destination::Unicast(address), local);
    }

    /// Handles the timers of loggers.
    pub(super) fn expire_loggers(&mut self, now: Moment) {
        if self.left {
            return;
        }
        if self.loggers.as_ref().is_some_and(|loggers| loggers.is_giving_up) {
            self.resign(now);
        }
        self.expire_election(now);
        self.expire_region(now);
        self.expire_joiner(now);
        self.expire_stand_in(now);
        loop {
            let me = self.config.member;
            let probe = self.loggers.as_mut().and_then(|loggers| loggers.view.poll_probe(now));
            let Some((to, nonce)) = probe else { return };
            // The view contains this member too, which needs no probe.
            if to != me {
                self.put_probe(now, to, nonce, true);
            }
        }
    }

    fn expire_election(&mut self, now: Moment) {
        let me = self.config.member;
        let due =
            |loggers: &Loggers| loggers.election.as_ref().is_some_and(|election| election.deadline() <= now);
        if self.loggers.as_deref_mut().filter(|loggers| due(loggers)).is_none() {
            return;
        }
        let loss = self.mean_loss();
        let Some(loggers) = &mut self.loggers else { return };
        let rank = loggers.rank(now, me, loss);
        let Some(election) = &mut loggers.election else { return };
        election.set_rank(rank);
        let outcome = election.expire(now);
        self.follow(now, outcome);
    }

    fn expire_region(&mut self, now: Moment) {
        let me = self.config.member;
        let Some(loggers) = self.loggers.as_mut().filter(|loggers| loggers.is_active()) else { return };
        if now >= loggers.decide_at {
            loggers.decide_at = now + Duration::from_millis(500);
            let rank = loggers.lasting_rank(me);
            if loggers.region.decide(now, rank) {
                loggers.version += 1;
                loggers.global_at = now;
            }
            if let Some((to, nonce)) = loggers.region.poll_probe(now) {
                self.put_probe(now, to, nonce, false);
            }
        }
        let Some(loggers) = &mut self.loggers else { return };
        if now >= loggers.global_at {
            loggers.global_at = now + loggers.config.global_interval;
            loggers.site.retain(|_, heard| now.since(*heard) < SITE_MEMBER_LASTS);
            self.put_advertisement(now, LoggerState::Active, Destination::Group);
        }
    }

    /// Gives up the role in the election, so that another member becomes the logger.
    pub(super) fn resign(&mut self, now: Moment) {
        let Some(election) = self.loggers.as_mut().and_then(|loggers| loggers.election.take()) else {
            return;
        };
        if election.is_active() || election.is_standby() {
            self.put_advertisement(now, LoggerState::Resign, Destination::Site);
        }
        if election.is_active() {
            self.put_advertisement(now, LoggerState::Resign, Destination::Group);
        }
    }
}
