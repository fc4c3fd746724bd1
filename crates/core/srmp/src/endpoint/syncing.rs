//! Transfers of the whole state to members that join or have lost track: requesting and sending.

use super::Endpoint;
use super::asking::far_wait;
use super::event::{Channel, Destination};
use super::members::Remote;
use crate::logger::{Audience, Content, Job, Position, Stage};
use crate::model::{DataId, Dsn, MemberId};
use crate::wire::{Digest, Held, Index, Kind, List, Origin, Record};
use base::Moment;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// The number of requests to the site before a joining member proceeds without a logger.
const TRIES: u32 = 3;
/// The number of requests for one source's state before announcements alone have to reveal what is
/// missing.
const TRIES_OF_ONE: u32 = 8;
/// A transfer from another site that brings nothing for this long is over, since its end was lost.
/// At the least rate a datagram takes 12 ms.
const GAP: Duration = Duration::from_millis(75);
/// The time that an answer in the site may take in addition to two round trips.
const SLACK: Duration = Duration::from_millis(20);
/// The standby sends the site its state when the logger has not begun after this time.
const STAND_IN_AFTER: Duration = Duration::from_millis(15);
/// The least rate of transfers to other sites, in bytes per second.
const RATE_MIN: f64 = 125_000.0;
/// The burst of a transfer, as time at its rate.
const BURST: Duration = Duration::from_millis(5);
/// The most steps of a transfer in one pass, which bounds a pass that finds nothing to send.
const STEPS_MAX: usize = 64;

/// The state of this member's own requests for state.
#[derive(Debug)]
pub(super) struct Joiner {
    enabled: bool,
    /// The time and attempt number of the next request to the site.
    ask: Option<(Moment, u32)>,
    /// The time at which a transfer under way counts as over.
    transfer_ends: Option<Moment>,
    /// The transfer comes from the site, and has all sources.
    is_site_transfer: bool,
    /// A logger has transferred the state once.
    is_served: bool,
    /// The sources whose state is wanted, each with the time and attempt number of the next
    /// request.
    wanted: BTreeMap<MemberId, (Moment, u32)>,
    /// The state that others hold of each source, as their indexes tell it.
    advertised: BTreeMap<MemberId, Held>,
}

impl Joiner {
    pub(super) fn new(now: Moment, enabled: bool) -> Self {
        Self {
            enabled,
            ask: enabled.then_some((now, 0)),
            transfer_ends: None,
            is_site_transfer: false,
            is_served: false,
            wanted: BTreeMap::new(),
            advertised: BTreeMap::new(),
        }
    }

    /// Whether the state has been transferred as far as possible.
    fn is_over(&self) -> bool {
        self.ask.is_none() && self.transfer_ends.is_none() && self.wanted.is_empty()
    }

    pub(super) fn deadline(&self) -> Option<Moment> {
        let ask = self.ask.map(|(at, _)| at);
        let wanted = self.wanted.values().map(|(at, _)| *at).min();
        ask.into_iter().chain(self.transfer_ends).chain(wanted).min()
    }
}

impl super::loggers::Loggers {
    /// The time to wait for an answer in the site, and for the next part of one.
    fn site_wait(&self) -> Duration {
        self.view.site_rtt() * 2 + SLACK
    }

    /// Starts a transfer, unless too many wait.
    fn give(&mut self, to: Audience, content: Content) {
        let is_taken = self.jobs.request(to, content);
        self.counters.syncs_served += u64::from(is_taken);
        self.counters.syncs_refused += u64::from(!is_taken);
    }
}

impl Endpoint {
    // --- asking ---

    /// Sends the requests that are due.
    pub(super) fn expire_joiner(&mut self, now: Moment) {
        let everything = matches!(self.receive.interest, crate::receive::Interest::All);
        let Some(loggers) = &mut self.loggers else { return };
        let wait = loggers.site_wait();
        let joiner = &mut loggers.joiner;
        if let Some((_, tries)) = joiner.ask.filter(|(at, _)| *at <= now) {
            if tries < TRIES && everything {
                joiner.ask = Some((now + wait, tries + 1));
                // Longer than the wait for the next request: until then nothing counts as missing.
                self.receive.synchronizing = Some(now + wait + SLACK);
                loggers.counters.sync_requests += 1;
                let request = Record::SyncRequest(List::of(&[]));
                self.put_logging(now, Kind::Sync, &[request], Destination::Site, true);
            } else {
                joiner.ask = None;
                self.end_of_asking_site(now);
            }
        }
        let Some(loggers) = &mut self.loggers else { return };
        if loggers.joiner.transfer_ends.is_some_and(|at| at <= now) {
            self.end_transfer(now);
        }
        self.expire_wanted(now);
    }

    /// No member of the site sends its state. Waits for sources that were asked; nothing comes for
    /// the others.
    fn end_of_asking_site(&mut self, now: Moment) {
        let Some(loggers) = &mut self.loggers else { return };
        match loggers.joiner.wanted.values().map(|(at, _)| *at).max().filter(|at| *at > now) {
            Some(at) => {
                loggers.joiner.transfer_ends = Some(at);
                self.receive.synchronizing = Some(at);
            }
            None => self.end_transfer(now),
        }
    }

    fn expire_wanted(&mut self, now: Moment) {
        let Some(loggers) = &mut self.loggers else { return };
        let due = loggers.joiner.wanted.iter().filter(|(_, (at, _))| *at <= now);
        let due: SmallVec<[MemberId; 8]> = due.map(|(member, _)| *member).collect();
        for member in due {
            if self.has_index_of(member) {
                // The end of the transfer was lost. The missing versions are known and are
                // requested one by one.
                self.end_transfer_of(now, member);
                if let Some(loggers) = &mut self.loggers {
                    loggers.joiner.wanted.remove(&member);
                }
            } else {
                self.ask_for(now, member);
            }
        }
    }

    /// Whether the versions listed by an index of a source are all known, though their messages
    /// need not be here.
    fn has_index_of(&self, member: MemberId) -> bool {
        let advertised = self.loggers.as_ref().and_then(|loggers| loggers.joiner.advertised.get(&member));
        let known =
            self.members.remote_sender(member).map_or(0, |remote_sender| remote_sender.origin.known());
        advertised.is_some_and(|advertised| {
            advertised.digest.active > 0 && known >= advertised.digest.active as usize
        })
    }

    /// Requests a comparison of the state held of a source with that of others.
    pub(super) fn want_state(&mut self, now: Moment, member: MemberId) {
        let Some(loggers) = self.loggers.as_mut().filter(|loggers| loggers.joiner.enabled) else { return };
        // A transfer brings everything. With an interest in a part, single requests are cheaper.
        if self.receive.interest.covers_all_of(member) {
            loggers.joiner.wanted.entry(member).or_insert((now, 0));
        }
    }

    fn ask_for(&mut self, now: Moment, member: MemberId) {
        let me = self.config.member;
        let Some(loggers) = &mut self.loggers else { return };
        let Some(remote) = self.members.remotes.get(&member) else {
            loggers.joiner.wanted.remove(&member);
            return;
        };
        let digest =
            remote.sender.as_ref().map(|remote_sender| remote_sender.origin.digest()).unwrap_or_default();
        let site_wait = loggers.site_wait();
        let Some((at, tries)) = loggers.joiner.wanted.get_mut(&member) else { return };
        let is_had =
            loggers.joiner.advertised.get(&member).is_some_and(|advertised| advertised.digest == digest);
        if *tries >= TRIES_OF_ONE || (*tries > 0 && is_had) {
            loggers.joiner.wanted.remove(&member);
            return;
        }
        let (first, second) = loggers.view.usable(now);
        let logger = [first, second].into_iter().flatten().find(|seen| seen.member != me);
        let (asked, local) = logger.map_or((member, false), |seen| (seen.member, true));
        let far =
            || remote.sender.as_ref().map_or(Duration::ZERO, |remote_sender| remote_sender.asking_distance());
        *tries += 1;
        *at = now + if local { site_wait } else { far_wait(far()) } * *tries;
        loggers.counters.sync_requests += 1;
        let held = [Held { origin: Origin { member, epoch: remote.epoch }, digest }];
        let Some(address) = self.members.address(asked) else { return };
        let request = Record::SyncRequest(List::of(&held));
        self.put_logging(now, Kind::Sync, &[request], Destination::Unicast(address), local);
    }

    /// A source that was not heard before announces its digest. Requests its state if no logger has
    /// transferred it.
    pub(super) fn consider_state(&mut self, now: Moment, member: MemberId, theirs: Digest) {
        let Some(loggers) = &self.loggers else { return };
        let joiner = &loggers.joiner;
        // The site's logger answers the first request, if there is a logger.
        let is_served_now = joiner.transfer_ends.is_some() && joiner.is_site_transfer;
        let may_be_served = is_served_now || joiner.ask.is_some_and(|(_, tries)| tries < 2);
        if !joiner.enabled || joiner.is_served || may_be_served || theirs.active == 0 {
            return;
        }
        let held = self
            .members
            .remote_sender(member)
            .map_or(0, |remote_sender| remote_sender.origin.digest().active);
        // A few new messages are no reason for a transfer. When most of the state is here,
        // announcements reveal the rest.
        let has_most = u64::from(held) * 2 >= u64::from(theirs.active);
        if !has_most && now.since(self.receive.joined) < Duration::from_secs(5) {
            self.want_state(now, member);
        }
    }

    /// Handles part of a transfer.
    pub(super) fn hear_sync(&mut self, now: Moment, from: MemberId, origin: Option<Origin>) {
        let Some(loggers) = &mut self.loggers else { return };
        let is_of_site = loggers.is_of_site(from);
        let until = now + if is_of_site { loggers.site_wait() } else { GAP };
        let of = origin.map_or(from, |origin| origin.member);
        let joiner = &mut loggers.joiner;
        if let Some((at, _)) = joiner.wanted.get_mut(&of) {
            *at = until.max(*at);
        }
        // The transfer may be the answer to another member's request.
        if (origin.is_some() || is_of_site) && (joiner.ask.take().is_some() || joiner.transfer_ends.is_some())
        {
            joiner.transfer_ends = Some(until);
            joiner.is_site_transfer = is_of_site;
            self.receive.synchronizing = Some(until);
        }
        if let Some(origin) = origin {
            self.meet(now, origin);
        }
    }

    /// Adds a source that was never heard itself, since another member sends its data.
    fn meet(&mut self, now: Moment, origin: Origin) {
        let is_new = !self.members.remotes.contains_key(&origin.member);
        if is_new
            && origin.member != self.config.member
            && self.members.remotes.len() < self.config.limits.members_max
        {
            let nowhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
            let remote = Remote::new(now, origin.epoch, nowhere, self.config.limits.nacks_burst);
            self.members.insert(origin.member, remote, self.config.limits.listeners_max);
            self.remote_sender(origin.member);
        }
    }

    /// Handles a list of versions that another member holds.
    pub(super) fn handle_index(&mut self, now: Moment, from: MemberId, index: &Index<'_>) {
        let origin = index.held.origin;
        if origin.member == self.config.member {
            return;
        }
        self.hear_sync(now, from, Some(origin));
        if self.members.remotes.get(&origin.member).is_none_or(|remote| remote.epoch != origin.epoch) {
            return;
        }
        if let Some(loggers) = &mut self.loggers {
            loggers.joiner.advertised.insert(origin.member, index.held);
        }
        self.remote_sender(origin.member);
        self.route(now, origin.member);
        let Self { members, receive, .. } = self;
        let Some(remote_sender) = members.remote_sender_mut(origin.member) else { return };
        for dsn in index.versions.iter() {
            remote_sender.origin.announce(now, receive, dsn);
        }
        self.look_after(now, origin.member);
    }

    pub(super) fn handle_sync_end(&mut self, now: Moment, from: MemberId) {
        let Some(loggers) = &mut self.loggers else { return };
        let joiner = &mut loggers.joiner;
        let is_ours =
            joiner.transfer_ends.is_some() || joiner.wanted.contains_key(&from) || joiner.ask.is_some();
        let of_one = !joiner.is_served && joiner.ask.is_none() && joiner.wanted.contains_key(&from);
        if of_one && !loggers.is_of_site(from) {
            loggers.counters.syncs_ended += 1;
            self.end_transfer_of(now, from);
        } else if loggers.is_of_site(from) || is_ours {
            let joiner = &mut loggers.joiner;
            joiner.is_served |= joiner.transfer_ends.is_some() || joiner.ask.is_some();
            joiner.ask = None;
            loggers.counters.syncs_ended += u64::from(is_ours);
            self.end_transfer(now);
        }
    }

    /// A transfer has ended: requests the versions that did not come with it, and those not listed.
    fn end_transfer(&mut self, now: Moment) {
        self.receive.synchronizing = None;
        if let Some(loggers) = &mut self.loggers {
            loggers.joiner.transfer_ends = None;
            let members: SmallVec<[MemberId; 8]> = self.members.remotes.keys().copied().collect();
            members.into_iter().for_each(|member| self.ask_for_the_rest(now, member));
        }
    }

    /// One source has transferred its state; transfers of others go on.
    fn end_transfer_of(&mut self, now: Moment, member: MemberId) {
        let others = self.receive.synchronizing.take();
        self.ask_for_the_rest(now, member);
        self.receive.synchronizing = others;
        let joiner = self.loggers.as_ref().map(|loggers| &loggers.joiner);
        if joiner.is_some_and(|joiner| joiner.wanted.is_empty() && joiner.transfer_ends.is_some()) {
            self.end_transfer(now);
        }
    }

    /// Requests everything that is missing of one source.
    fn ask_for_the_rest(&mut self, now: Moment, member: MemberId) {
        self.route(now, member);
        let Self { members, receive, .. } = self;
        let Some(remote_sender) = members.remote_sender_mut(member) else { return };
        remote_sender.origin.end_of_sync(now, receive);
        let (known, held) = (remote_sender.origin.known(), remote_sender.origin.digest());
        self.look_after(now, member);
        let Some(loggers) = &mut self.loggers else { return };
        let Joiner { advertised, wanted, .. } = &mut loggers.joiner;
        if let Some(advertised) = advertised.get(&member) {
            if advertised.digest == held {
                wanted.remove(&member);
            } else if known < advertised.digest.active as usize {
                wanted.entry(member).or_insert((now, 0)).0 = now;
            }
        }
    }

    // --- giving ---

    pub(super) fn handle_sync_request(
        &mut self,
        now: Moment,
        (asker, address): (MemberId, SocketAddr),
        via: Channel,
        list: List<'_, Held>,
    ) {
        let limits = &self.config.limits;
        let Some(remote) = self.members.get_mut(asker) else { return };
        if !remote.may_ask(now, limits.nacks_per_second, limits.nacks_burst) {
            self.counters.nacks_limited += 1;
            return;
        }
        let Some(loggers) = &mut self.loggers else { return };
        let is_active = loggers.is_active();
        if via == Channel::Site && !is_active {
            if loggers.is_standby() && loggers.joiner.is_over() && list.is_empty() {
                loggers.stand_in.get_or_insert(now + STAND_IN_AFTER);
            }
            return;
        }
        let audience =
            if is_active && loggers.is_of_site(asker) { Audience::Site } else { Audience::One(address) };
        let mut contents: SmallVec<[Content; 8]> = SmallVec::new();
        if list.is_empty() {
            let of = if loggers.store.is_some() { None } else { Some(self.config.member) };
            contents.push(Content { of, index_only: false });
        }
        contents.extend(list.iter().filter_map(|held| self.content_for(held)));
        let is_answered = contents.is_empty();
        let Some(loggers) = &mut self.loggers else { return };
        for content in contents {
            loggers.give(audience, content);
        }
        if audience == Audience::Site && list.is_empty() {
            self.show_logger(now);
        }
        if is_answered {
            let local = audience == Audience::Site;
            let end = Record::SyncEnd { sent: 0 };
            self.put_logging(now, Kind::Sync, &[end], Destination::Unicast(address), local);
        }
    }

    /// The logger has not sent the site its state: it is gone, or the request to it was lost.
    pub(super) fn expire_stand_in(&mut self, now: Moment) {
        let Some(loggers) = &mut self.loggers else { return };
        if loggers.stand_in.take_if(|at| *at <= now).is_some() && loggers.is_standby() {
            loggers.give(Audience::Site, Content { of: None, index_only: false });
        }
    }

    /// The content of a transfer to a member that holds this much of a source; `None` when it needs
    /// nothing, or when nothing of the source is here.
    fn content_for(&self, held: Held) -> Option<Content> {
        let member = held.origin.member;
        let (epoch, ours) = if member == self.config.member {
            (self.config.epoch, self.sender.digest())
        } else {
            let source = self.loggers.as_ref()?.store.as_ref()?.source(member)?;
            (source.origin.epoch, source.digest())
        };
        let same_life = epoch == held.origin.epoch;
        if same_life && ours == held.digest {
            return None;
        }
        // A member that has most of the state requests the rest once it knows the versions.
        let has_most = u64::from(held.digest.active) * 2 >= u64::from(ours.active);
        Some(Content { of: Some(member), index_only: same_life && has_most })
    }

    /// Sends the parts of transfers that may leave now.
    pub(super) fn pump_syncs(&mut self, now: Moment) {
        let bytes_per_second = self.rate.rate().bits_per_second() / 8.0;
        loop {
            let Some(loggers) = &mut self.loggers else { return };
            let far = (loggers.config.sync_share * bytes_per_second).max(RATE_MIN);
            let site = loggers.config.site_rate;
            if loggers.jobs.next > now {
                return;
            }
            let Some(mut job) = loggers.jobs.take() else { return };
            let (to, local, rate) = match job.to {
                Audience::Site => (Destination::Site, true, site),
                Audience::One(address) => (Destination::Unicast(address), false, far),
            };
            self.announced.clear();
            self.writer.begin(Kind::Sync, 0);
            let sent = job.sent;
            let is_over = self.transfer(&mut job);
            if is_over && self.writer.push(&Record::SyncEnd { sent: job.sent }).is_err() {
                self.counters.not_written += 1;
            }
            if self.writer.is_empty() {
                if let Some(loggers) = &mut self.loggers {
                    loggers.jobs.put_back(job);
                }
                continue;
            }
            let len = self.end_logging(now, Kind::Sync, to, local);
            let Some(loggers) = &mut self.loggers else { return };
            loggers.counters.sync_messages += u64::from(job.sent - sent);
            let earliest = Moment::from_nanos(now.as_nanos().saturating_sub(BURST.as_nanos() as u64));
            loggers.jobs.next = loggers.jobs.next.max(earliest) + Duration::from_secs_f64(len as f64 / rate);
            if !is_over {
                loggers.jobs.put_back(job);
            }
        }
    }

    /// Fills a datagram with the next parts of a transfer. Returns true when the transfer is
    /// complete.
    fn transfer(&mut self, job: &mut Job) -> bool {
        for _ in 0..STEPS_MAX {
            if job.is_over() {
                return true;
            }
            let Some(position) = job.position.filter(|position| position.stage != Stage::End) else {
                let Some(member) = self.next_source(job) else {
                    if job.wrap() {
                        return true;
                    }
                    continue;
                };
                // Own and relayed data cannot share a datagram, and the data of one source needs
                // its ORIGIN record only once.
                let is_begun = !self.writer.is_empty();
                job.position = Some(Position { member, stage: Stage::Index(None) });
                if is_begun {
                    return false;
                }
                continue;
            };
            let (next, is_full) = self.transfer_next(job, position);
            job.position = Some(Position { stage: next, ..position });
            if is_full {
                return false;
            }
        }
        false
    }

    /// The source after the position of the transfer, or the first one.
    fn next_source(&self, job: &Job) -> Option<MemberId> {
        let after = job.position.map(|position| position.member);
        if let Some(of) = job.content.of {
            return after.is_none().then_some(of);
        }
        let me = self.config.member;
        let own = Some(me).filter(|me| self.sender.active() > 0 && after.is_none_or(|after| after < *me));
        let store = self.loggers.as_ref().and_then(|loggers| loggers.store.as_ref());
        let stored = store.and_then(|store| store.source_after(after)).map(|source| source.origin.member);
        own.into_iter().chain(stored).min()
    }

    /// Takes one step. Returns the next stage, and whether the datagram is full.
    fn transfer_next(&mut self, job: &mut Job, position: Position) -> (Stage, bool) {
        let Some((origin, digest)) = self.state_of(position.member) else { return (Stage::End, false) };
        match position.stage {
            Stage::Index(after) => {
                let head = Record::Index(Index { held: Held { origin, digest }, versions: List::of(&[]) });
                let room = self.writer.room().saturating_sub(self.format.record_bytes(&head));
                let mut versions: SmallVec<[Dsn; 160]> = SmallVec::new();
                let mut last = after;
                while versions.len() < room / 10
                    && let Some(dsn) = self.version_after(origin, last)
                {
                    versions.push(dsn);
                    last = Some(dsn.data);
                }
                if versions.is_empty() {
                    return (if job.content.index_only { Stage::End } else { Stage::Data(None) }, false);
                }
                let index = Index { held: Held { origin, digest }, versions: List::of(&versions) };
                let is_written = self.writer.push(&Record::Index(index)).is_ok();
                self.counters.not_written += u64::from(!is_written);
                (Stage::Index(last), true)
            }
            Stage::Data(after) => match self.version_after(origin, after) {
                None => (Stage::End, false),
                Some(dsn) => self.transfer_pieces(job, origin, dsn.data, 0),
            },
            Stage::Rest(data, index) => self.transfer_pieces(job, origin, data, index),
            Stage::End => (Stage::End, false),
        }
    }

    fn transfer_pieces(&mut self, job: &mut Job, origin: Origin, data: DataId, from: u16) -> (Stage, bool) {
        for index in from..=u16::MAX {
            let Some(message) = self.piece_of(origin, data, index) else { break };
            let was_empty = self.writer.is_empty();
            match self.writer.push(&Record::Mode1(message)) {
                Ok(()) => job.sent = job.sent.saturating_add(1),
                Err(_) if was_empty => {
                    // It fits no datagram: the longest datagram is shorter here than at the source.
                    self.counters.not_written += 1;
                    break;
                }
                Err(_) => return (Stage::Rest(data, index), true),
            }
        }
        (Stage::Data(Some(data)), false)
    }

    /// The state held of a source: its epoch and its digest.
    fn state_of(&self, member: MemberId) -> Option<(Origin, Digest)> {
        if member == self.config.member {
            return Some((Origin { member, epoch: self.config.epoch }, self.sender.digest()));
        }
        let source = self.loggers.as_ref()?.store.as_ref()?.source(member)?;
        Some((source.origin, source.digest()))
    }

    fn version_after(&self, origin: Origin, after: Option<DataId>) -> Option<Dsn> {
        if origin.member == self.config.member {
            return self.sender.announced_after(after);
        }
        let source = self.loggers.as_ref()?.store.as_ref()?.source(origin.member)?;
        source.after(after).map(|entry| entry.dsn)
    }
}
