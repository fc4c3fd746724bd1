//! Members that join, leave, restart, or share one identity.

use super::Endpoint;
use super::event::Event;
use super::members::{Remote, RemoteSender};
use crate::fault::Fault;
use crate::model::{Epoch, MemberId};
use crate::receive::Origin;
use base::Moment;
use std::net::SocketAddr;
use std::time::Duration;

/// A member that was heard from one address within this time is not accepted at another.
const ADDRESS_HOLDS: Duration = Duration::from_secs(3);
/// The interval between reports of two hosts with one identity.
const CONFLICT_REPORT_INTERVAL: Duration = Duration::from_secs(12);

impl Endpoint {
    /// Notes a member that only listens, one of possibly many. Returns false when its datagram is
    /// to be dropped.
    pub(super) fn heard_listening(
        &mut self,
        now: Moment,
        member: MemberId,
        epoch: Epoch,
        from: SocketAddr,
    ) -> bool {
        let is_kept = self.members.is_sampled(member) || self.members.remotes.contains_key(&member);
        !is_kept || self.heard(now, member, epoch, from)
    }

    /// Notes a member that has to be known by name. Returns false when its datagram is to be
    /// dropped.
    pub(super) fn heard_by_name(
        &mut self,
        now: Moment,
        member: MemberId,
        epoch: Epoch,
        from: SocketAddr,
    ) -> bool {
        let heard = self.heard(now, member, epoch, from);
        if let Some(remote) = self.members.get_mut(member) {
            remote.is_asked_for = true;
        }
        heard
    }

    /// Notes that a member was heard. Returns false when its datagram is to be dropped.
    fn heard(&mut self, now: Moment, member: MemberId, epoch: Epoch, from: SocketAddr) -> bool {
        if !self.make_room(now, member, epoch, from) || !self.check_life(now, member, epoch, from) {
            return false;
        }
        let Some(remote) = self.members.get_mut(member) else { return false };
        if remote.address != from && remote.live && now.since(remote.heard) < ADDRESS_HOLDS {
            self.counters.conflicts += 1;
            if remote.conflict.is_none_or(|reported| now.since(reported) >= CONFLICT_REPORT_INTERVAL) {
                remote.conflict = Some(now);
                self.events.push_back(Event::DuplicateMember { member, address: from });
            }
            return false;
        }
        remote.heard = now;
        remote.address = from;
        if !remote.live {
            self.members.set_live(member, true);
            self.receive.members = self.members.live;
            self.events.push_back(Event::MemberSeen { member, address: from });
            self.members.watch(member);
        }
        true
    }

    /// Ensures that there is room for the member.
    fn make_room(&mut self, now: Moment, member: MemberId, epoch: Epoch, from: SocketAddr) -> bool {
        if self.members.remotes.contains_key(&member) {
            return true;
        }
        if self.members.remotes.len() >= self.config.limits.members_max {
            let Some(lost) = self.members.oldest_lost() else {
                self.counters.members_refused += 1;
                return false;
            };
            let remote = self.members.remove(lost);
            if let Some(mut remote_sender) = remote.and_then(|remote| remote.sender) {
                remote_sender.origin.reset(&mut self.receive);
            }
        }
        let remote = Remote::new(now, epoch, from, self.config.limits.nacks_burst);
        self.members.insert(member, remote, self.config.limits.listeners_max);
        true
    }

    /// Refuses datagrams of an earlier epoch, and forgets the member's state when a later one
    /// begins.
    fn check_life(&mut self, now: Moment, member: MemberId, epoch: Epoch, from: SocketAddr) -> bool {
        let Some(remote) = self.members.get_mut(member) else { return false };
        if epoch < remote.epoch {
            self.counters.faults.add(Fault::OldEpoch);
            return false;
        }
        if epoch == remote.epoch {
            return true;
        }
        remote.epoch = epoch;
        remote.address = from;
        if let Some(mut remote_sender) = remote.sender.take() {
            remote_sender.origin.reset(&mut self.receive);
            self.receive.counters.restarts += 1;
        }
        if let Some(store) = self.loggers.as_mut().and_then(|loggers| loggers.store.as_mut()) {
            store.forget(member);
        }
        self.rate.forget(now, member);
        self.events.push_back(Event::Restarted { member, epoch });
        true
    }

    /// The state kept of a member that sends.
    pub(super) fn remote_sender(&mut self, member: MemberId) -> Option<&mut RemoteSender> {
        let Self { members, receive, .. } = self;
        let remote = members.get_mut(member)?;
        let remote_sender = remote.sender.get_or_insert_with(|| {
            Box::new(RemoteSender { window: None, origin: Origin::new(member, receive), rate: None })
        });
        Some(remote_sender)
    }

    /// Handles the timers of a member.
    pub(super) fn expire_member(&mut self, now: Moment, member: MemberId) {
        if self.members.is_silent(now, member) {
            self.lose(now, member, false);
        }
        self.route(now, member);
        if let Some(rate) =
            self.members.remote_sender_mut(member).and_then(|remote_sender| remote_sender.rate.as_mut())
        {
            rate.handle_timeout(now);
            self.put_feedback(now, member);
        }
        self.look_after(now, member);
    }

    /// A member has fallen silent or has left.
    pub(super) fn lose(&mut self, now: Moment, member: MemberId, left: bool) {
        let Some(remote) = self.members.get_mut(member).filter(|remote| remote.live) else { return };
        if let Some(remote_sender) = &mut remote.sender {
            remote_sender.origin.silence(&mut self.receive);
            remote_sender.rate = None;
        }
        self.members.set_live(member, false);
        self.receive.members = self.members.live;
        self.rate.forget(now, member);
        self.shaper.set_rate(now, self.rate.rate());
        if let Some(decryptor) = &mut self.decryptor {
            decryptor.forget(member);
        }
        self.events.push_back(Event::MemberLost { member, left });
    }

    /// Handles a change of a member's state: schedules its repair requests and its next wake-up.
    pub(super) fn look_after(&mut self, now: Moment, member: MemberId) {
        let Self { members, receive, asking, asking_near, bundle, config, .. } = self;
        let Some(remote) = members.get_mut(member) else { return };
        if let Some(remote_sender) = &mut remote.sender {
            let origin = &mut remote_sender.origin;
            if origin.deadline().is_some_and(|at| at <= now) {
                origin.expire(now, receive);
            }
            if origin.would_ask(receive) && !std::mem::replace(&mut remote.asking, true) {
                asking.push(member);
            }
            if origin.has_near_due() && !std::mem::replace(&mut remote.asking_near, true) {
                asking_near.push(member);
            }
            if origin.has_due() {
                let wait = if config.strict { Duration::ZERO } else { config.timing.urgent_flush };
                bundle.leave_by(now + wait);
            }
        }
        self.members.watch(member);
    }
}
