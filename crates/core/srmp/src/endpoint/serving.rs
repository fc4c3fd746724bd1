//! Unicast requests to this member, as a logger or as a source, and its answers.

use super::Endpoint;
use super::event::{Channel, Destination};
use super::loggers::Loggers;
use crate::logger::Missing;
use crate::model::{DataId, Dsn, MemberId, NackItem, Sn};
use crate::rate::Class;
use crate::receive::Shape;
use crate::send::Answer;
use crate::wire::{Flags, Header, Kind, Mode1, Mode1Flags, Nack, Origin, Pending, Record, WriteError};
use base::Moment;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

/// The most answers that may wait, for the site and for others each.
const REPLIES_MAX: usize = 4_096;
/// The burst of answers to the site, as time at their rate.
const LOCAL_BURST: Duration = Duration::from_millis(50);
/// The burst of answers to others, as time at their rate.
const REMOTE_BURST: Duration = Duration::from_millis(1_000);
/// The least rate of answers to others, in bytes per second.
const REMOTE_RATE_MIN: f64 = 25_000.0;
/// A logger serves this many times as many repair requests of one member as a source.
const ASKED_MORE: f64 = 20.0;
/// More than one in this many members of a site must ask, and at least three, before a message is
/// sent to all of them.
const SHARE_ASKING: usize = 8;
/// The number of requests of other loggers that a source remembers.
const CHILDREN_MAX: usize = 64;
/// The most notices of fetched messages in one datagram.
const PENDINGS_MAX: usize = 40;

/// A piece of a message to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    to: Destination,
    origin: Origin,
    data: DataId,
    index: u16,
}

/// A rate that may be exceeded for a while.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RateLimit {
    /// The time up to which the rate is used up.
    paid: Moment,
}

impl RateLimit {
    /// The time at which the next datagram may leave.
    pub(super) fn ready(self) -> Moment {
        self.paid
    }

    /// Accounts for `bytes` that left at `rate` bytes per second, up to `burst` in advance.
    pub(super) fn spend(&mut self, now: Moment, bytes: usize, rate: f64, burst: Duration) {
        let earliest = Moment::from_nanos(now.as_nanos().saturating_sub(burst.as_nanos() as u64));
        self.paid = self.paid.max(earliest) + Duration::from_secs_f64(bytes as f64 / rate.max(1.0));
    }
}

/// The loggers that asked a source recently. When many of them miss the same message, it goes to
/// the whole group.
#[derive(Debug, Default)]
pub(super) struct Children {
    asks: VecDeque<(Moment, DataId, Sn, MemberId)>,
}

impl Children {
    /// Notes a request. Returns the number of loggers that made it within `time`.
    fn note(&mut self, now: Moment, (data, sn): (DataId, Sn), asker: MemberId, time: Duration) -> usize {
        self.asks.retain(|(at, ..)| now.since(*at) <= time);
        if !self.asks.iter().any(|ask| (ask.1, ask.2, ask.3) == (data, sn, asker)) {
            if self.asks.len() >= CHILDREN_MAX {
                self.asks.pop_front();
            }
            self.asks.push_back((now, data, sn, asker));
        }
        self.asks.iter().filter(|ask| (ask.1, ask.2) == (data, sn)).count()
    }
}

impl Endpoint {
    /// Handles a repair request by unicast.
    pub(super) fn handle_ask(
        &mut self,
        now: Moment,
        (asker, address): (MemberId, SocketAddr),
        nack: &Nack<'_>,
    ) {
        self.counters.received.nacks += nack.items.len() as u64;
        let origin = Origin { member: nack.origin, epoch: nack.epoch };
        let is_own = origin.member == self.config.member;
        let epoch = self.members.remotes.get(&origin.member).map(|remote| remote.epoch);
        let is_known = if is_own { origin.epoch == self.config.epoch } else { epoch == Some(origin.epoch) };
        let more = if is_own { 1.0 } else { ASKED_MORE };
        if !is_own {
            self.route(now, origin.member);
        }
        let mut missing: SmallVec<[(DataId, Sn); 8]> = SmallVec::new();
        for item in nack.items.iter() {
            let limits = &self.config.limits;
            let Some(remote) = self.members.get_mut(asker) else { return };
            if !remote.may_ask(now, limits.nacks_per_second * more, limits.nacks_burst * more) {
                self.counters.nacks_limited += 1;
            } else if !is_known {
                self.ignore_ask();
            } else if is_own {
                self.answer_own(now, (asker, address), item);
            } else if !self.answer_stored(now, (asker, address), origin, item) {
                missing.push((item.data, item.sn));
            }
        }
        if !is_own && !missing.is_empty() {
            self.fetch(now, (asker, address), origin, &missing);
        }
    }

    fn ignore_ask(&mut self) {
        if let Some(loggers) = &mut self.loggers {
            loggers.counters.nacks_ignored += 1;
        }
    }

    /// Answers a request for this member's own data, from a logger or from a member that bypassed
    /// its loggers.
    fn answer_own(&mut self, now: Moment, (asker, address): (MemberId, SocketAddr), item: NackItem) {
        let r_max = self.rate.rtt_max();
        let Some(loggers) = &mut self.loggers else { return };
        let local = loggers.is_of_site(asker);
        let asking = loggers.children.note(now, (item.data, item.sn), asker, r_max / 2);
        if asking > loggers.config.fan_in / 2 {
            if self.sender.handle_nack(now, item, r_max) == Answer::Repair {
                self.bundle.leave_by(now + self.urgent_wait());
            }
            return;
        }
        let Some((dsn, pieces)) = self.sender.handle_child_nack(now, item, r_max) else { return };
        let origin = Origin { member: self.config.member, epoch: self.config.epoch };
        for index in pieces {
            let to = Destination::Unicast(address);
            self.queue_reply(now, local, Reply { to, origin, data: dsn.data, index });
        }
    }

    /// Answers a request from the store. Returns false when this member does not have the message.
    fn answer_stored(
        &mut self,
        now: Moment,
        (asker, address): (MemberId, SocketAddr),
        origin: Origin,
        item: NackItem,
    ) -> bool {
        let Some(loggers) = &mut self.loggers else { return true };
        loggers.counters.nacks += 1;
        let of_site = loggers.is_of_site(asker);
        let is_local = of_site && loggers.is_active();
        let site_rtt = loggers.view.site_rtt();
        let all_from = (loggers.site_members() / SHARE_ASKING).max(2);
        let Some(store) = &mut loggers.store else {
            loggers.counters.nacks_ignored += 1;
            return true;
        };
        let Some((entry, is_newer)) = store.answer(origin, item.data, item.sn) else { return false };
        let pieces = entry.wished(item.segment, is_newer);
        let mut to = Destination::Unicast(address);
        if is_local {
            if entry.announced_to_all.is_some_and(|at| now.since(at) < site_rtt) {
                loggers.counters.nacks_ignored += 1;
                return true;
            }
            let (since, askers) = &mut entry.askers;
            if now.since(*since) > site_rtt {
                *since = now;
                askers.clear();
            }
            if !askers.contains(&asker) {
                askers.push(asker);
            }
            if askers.len() > all_from {
                askers.clear();
                entry.announced_to_all = Some(now);
                to = Destination::Site;
            }
        }
        for index in pieces {
            self.queue_reply(now, of_site, Reply { to, origin, data: item.data, index });
        }
        true
    }

    /// Fetches the messages that another member requested and that are not here.
    fn fetch(
        &mut self,
        now: Moment,
        (asker, address): (MemberId, SocketAddr),
        origin: Origin,
        missing: &[(DataId, Sn)],
    ) {
        let Self { members, receive, loggers, .. } = self;
        let Some(loggers) = loggers else { return };
        let is_local = loggers.is_of_site(asker);
        let all_from = (loggers.site_members() / SHARE_ASKING).max(2);
        let (mut of_all, mut of_one) = (SmallVec::<[(DataId, Sn); 8]>::new(), SmallVec::<[_; 8]>::new());
        for &(data, sn) in missing {
            let Some(remote_sender) = members.remote_sender_mut(origin.member) else { return };
            if !remote_sender.origin.hear_of(now, receive, data, sn) {
                // It was here and has not been kept, so another member has to answer.
                loggers.counters.nacks_ignored += 1;
                continue;
            }
            let Some(entry) = loggers.missing.note(now, (origin.member, data), sn) else { continue };
            if !entry.askers.contains(&asker) && entry.askers.len() < 255 {
                entry.askers.push(asker);
            }
            // A member that asks although the site was told has not heard that, or missed nothing
            // then.
            if !is_local || entry.is_promised {
                of_one.push((data, sn));
            } else if entry.askers.len() > all_from {
                entry.is_promised = true;
                of_all.push((data, sn));
            }
        }
        self.put_pending(now, origin, &of_one, Destination::Unicast(address));
        self.put_pending(now, origin, &of_all, Destination::Site);
        self.look_after(now, origin.member);
    }

    /// Sends a notice that messages are being fetched.
    pub(super) fn put_pending(
        &mut self,
        now: Moment,
        origin: Origin,
        messages: &[(DataId, Sn)],
        to: Destination,
    ) {
        let Some(loggers) = &mut self.loggers else { return };
        loggers.counters.pendings += messages.len() as u64;
        let remote_sender = self.members.remote_sender(origin.member);
        let upstream = remote_sender.map_or(Duration::ZERO, |remote_sender| remote_sender.asking_distance());
        for some in messages.chunks(PENDINGS_MAX) {
            let records: SmallVec<[Record<'_>; 8]> = some
                .iter()
                .map(|&(data, sn)| Record::Pending(Pending { origin, data, sn, upstream }))
                .collect();
            self.put_logging(now, Kind::Logger, &records, to, to == Destination::Site);
        }
    }

    /// Stores a complete message if this member may have to supply it, and sends it to those that
    /// wait for it.
    pub(super) fn keep(
        &mut self,
        now: Moment,
        (origin, dsn): (Origin, Dsn),
        body: &[u8],
        shape: &Shape,
        via: Channel,
    ) {
        let Some(loggers) = &mut self.loggers else { return };
        let Some(store) = &mut loggers.store else { return };
        let before = store.evicted;
        store.put(origin, dsn, body, shape);
        loggers.counters.evicted += store.evicted - before;
        let Some(missing) = loggers.missing.take((origin.member, dsn.data), dsn.sn) else { return };
        // Members that wait have heard a multicast to the group, or will ask again.
        if via != Channel::Group {
            self.hand_on(now, origin, dsn, &missing);
        }
    }

    fn hand_on(&mut self, now: Moment, origin: Origin, dsn: Dsn, missing: &Missing) {
        let Some(loggers) = &self.loggers else { return };
        let is_active = loggers.is_active();
        let (near, far): (SmallVec<[MemberId; 8]>, SmallVec<[MemberId; 8]>) =
            missing.askers.iter().copied().partition(|asker| loggers.is_of_site(*asker));
        let announces_to_all = is_active && missing.is_promised;
        let mut to: SmallVec<[(bool, Destination); 8]> = SmallVec::new();
        for (local, askers) in [(false, far), (true, near)] {
            let askers = askers.iter().filter(|_| !(local && announces_to_all));
            let addresses = askers.filter_map(|asker| self.members.address(*asker));
            to.extend(addresses.map(|address| (local, Destination::Unicast(address))));
        }
        if announces_to_all {
            to.push((true, Destination::Site));
            if let Some(store) = self.loggers.as_mut().and_then(|loggers| loggers.store.as_mut())
                && let Some((entry, _)) = store.answer(origin, dsn.data, dsn.sn)
            {
                entry.announced_to_all = Some(now);
            }
        }
        for (local, to) in to {
            for index in 0..dsn.segments.max(1) {
                self.queue_reply(now, local, Reply { to, origin, data: dsn.data, index });
            }
        }
    }

    fn queue_reply(&mut self, now: Moment, local: bool, reply: Reply) {
        let Some(loggers) = &mut self.loggers else { return };
        let queue = if local { &mut loggers.local } else { &mut loggers.remote };
        if queue.len() >= REPLIES_MAX {
            loggers.overloaded = Some(now);
            loggers.counters.nacks_ignored += 1;
        } else if !queue.contains(&reply) {
            queue.push_back(reply);
        }
    }

    /// Sends the answers that may leave now.
    pub(super) fn pump_replies(&mut self, now: Moment) {
        let share =
            (self.rate.rate().bits_per_second() / 8.0 * self.config.repair_share).max(REMOTE_RATE_MIN);
        for local in [true, false] {
            loop {
                let Some(loggers) = &mut self.loggers else { return };
                let (queue, limit, rate, burst) = if local {
                    (&loggers.local, &mut loggers.local_limit, loggers.config.site_rate, LOCAL_BURST)
                } else {
                    (&loggers.remote, &mut loggers.remote_limit, share, REMOTE_BURST)
                };
                if queue.is_empty() || limit.ready() > now {
                    break;
                }
                let mut limit = *limit;
                let len = self.put_replies(now, local);
                limit.spend(now, len, rate, burst);
                let Some(loggers) = &mut self.loggers else { return };
                *(if local { &mut loggers.local_limit } else { &mut loggers.remote_limit }) = limit;
            }
        }
    }

    /// Sends one datagram of the answers with the same destination as the first. Returns its length
    /// in bytes.
    fn put_replies(&mut self, now: Moment, local: bool) -> usize {
        self.announced.clear();
        self.writer.begin(Kind::Logger, 0);
        let mut to = None;
        while let Some(reply) = self.next_reply(local).filter(|reply| to.is_none_or(|to| to == reply.to)) {
            let message = self.piece_of(reply.origin, reply.data, reply.index);
            let written = message.map(|message| self.writer.push(&Record::Mode1(message)));
            if matches!(written, Some(Err(WriteError::Full { .. } | WriteError::Unrepresentable { .. })))
                && to.is_some()
            {
                break;
            }
            let is_own = reply.origin.member == self.config.member;
            let Some(loggers) = &mut self.loggers else { break };
            if matches!(written, Some(Ok(()))) {
                to = Some(reply.to);
                let counters = &mut loggers.counters;
                match reply.to {
                    _ if is_own => counters.repairs_own += 1,
                    Destination::Site => counters.repairs_multicast += 1,
                    _ => counters.repairs_unicast += 1,
                }
            }
            if local { &mut loggers.local } else { &mut loggers.remote }.pop_front();
        }
        let Some(to) = to else { return 0 };
        let header = self.header(now, Kind::Logger, if local { Flags::LOCAL } else { Flags::empty() });
        let header = Header { kind: Kind::Logger, ..header };
        let len = self.finish(&header, to).unwrap_or(0);
        if !local {
            self.shaper.charge(now, Class::Repair, len);
        }
        len
    }

    fn next_reply(&self, local: bool) -> Option<Reply> {
        let loggers = self.loggers.as_ref()?;
        if local { &loggers.local } else { &loggers.remote }.front().copied()
    }

    /// A piece of a message held of an origin, or of this member's own.
    pub(super) fn piece_of(&mut self, origin: Origin, data: DataId, index: u16) -> Option<Mode1> {
        if origin.member != self.config.member {
            return self.loggers.as_ref()?.store.as_ref()?.piece(origin, data, index);
        }
        let piece = self.sender.piece(data, index)?;
        let mut message = Mode1 {
            origin: None,
            dsn: piece.dsn,
            index,
            flags: Mode1Flags::REPAIR,
            body: piece.body,
            signature: None,
        };
        if let Some(signer) = &mut self.signer {
            message.signature = Some(signer.sign(origin, &message));
        }
        Some(message)
    }
}

impl Loggers {
    /// Notes that a message is being fetched for the whole site. Returns true when the site does
    /// not know that yet.
    pub(super) fn promise(&mut self, now: Moment, member: MemberId, data: DataId, sn: Sn) -> bool {
        let missing = self.missing.note(now, (member, data), sn);
        missing.is_some_and(|missing| !std::mem::replace(&mut missing.is_promised, true))
    }
}
