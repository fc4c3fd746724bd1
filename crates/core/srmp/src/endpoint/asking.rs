//! The choice of the members to ask for missing data: loggers before the group.

use super::Endpoint;
use super::event::Destination;
use super::loggers::Loggers;
use crate::logger::REGION;
use crate::model::{DataId, MemberId, NackItem, Sn};
use crate::receive::{Path, Step};
use crate::wire::{Kind, List, Nack, Origin, Record};
use base::Moment;
use smallvec::SmallVec;
use std::time::Duration;

/// The path of requests is computed again after this time even if no logger has changed, since
/// distances do.
const ROUTED_FOR: Duration = Duration::from_millis(500);
/// A member that joined less than this ago asks sources directly while it knows no logger.
const JOINING: Duration = Duration::from_secs(5);
/// The time that an answer within the site may take in addition to the round trip.
const SITE_SLACK: Duration = Duration::from_micros(500);
/// The same for the third attempt, when the logger may be busy.
const SITE_PATIENCE: Duration = Duration::from_millis(5);
/// The time that an answer from another site may take in addition to the round trip.
const FAR_SLACK: Duration = Duration::from_millis(10);

/// The time to wait for an answer at this distance: only a quarter more than the round trip. A
/// whole site waits with its logger, a request that is repeated too soon is not answered twice, and
/// the distance grows when answers always come later.
pub(super) fn far_wait(rtt: Duration) -> Duration {
    rtt * 5 / 4 + FAR_SLACK
}

/// The time to wait for an answer within the site.
fn near_wait(rtt: Duration) -> Duration {
    rtt * 5 / 4 + SITE_SLACK
}

impl Endpoint {
    /// Computes the path of requests for a member's data.
    pub(super) fn route(&mut self, now: Moment, member: MemberId) {
        let Some(loggers) = self.loggers.as_ref().filter(|loggers| loggers.config.site) else { return };
        let Some(remote) = self.members.get_mut(member) else { return };
        if remote.routed.1 == loggers.version && now.since(remote.routed.0) < ROUTED_FOR {
            return;
        }
        let can_be_asked = remote.live;
        let Some(remote_sender) = &mut remote.sender else { return };
        remote.routed = (now, loggers.version);
        let distance = remote_sender.distance();
        let own = Step {
            ask: member,
            spread: (Duration::ZERO, 2),
            wait: far_wait(remote_sender.asking_distance()),
            tries: 1,
        };
        let mut path = Path::default();
        if loggers.is_active() {
            loggers.path_upstream(now, self.config.member, &mut path);
            if can_be_asked {
                path.push(Step {
                    tries: if loggers.region.parent() == MemberId::NOBODY { 4 } else { 2 },
                    ..own
                });
            }
        } else {
            loggers.path_in_site(now, self.config.member, distance, &mut path);
            // A member that has just joined and knows no logger misses data that no other member
            // misses, so the group need not hear its requests.
            let is_alone = path.is_empty() && now.since(self.receive.joined) < JOINING;
            if is_alone && can_be_asked {
                path.push(Step { tries: 3, ..own });
            } else if !path.is_empty() && can_be_asked && loggers.parent_of_site() == MemberId::NOBODY {
                path.push(own);
            }
        }
        remote_sender.origin.set_path(&path);
    }

    /// Sends the repair requests to loggers that are due.
    pub(super) fn ask_loggers(&mut self, now: Moment) {
        while let Some(member) = self.asking_near.pop() {
            let Some(remote) = self.members.get_mut(member) else { continue };
            remote.asking_near = false;
            let epoch = remote.epoch;
            while let Some(remote_sender) =
                self.members.remote_sender_mut(member).filter(|one| one.origin.has_near_due())
            {
                let room = self.format.length_max() - 100 - self.format.nack_bytes(0);
                let fit = room / (self.format.nack_bytes(1) - self.format.nack_bytes(0));
                self.nacks.clear();
                let asked =
                    remote_sender.origin.take_near_nacks(now, &mut self.receive, fit, &mut self.nacks);
                let Some(asked) = asked else { break };
                self.put_ask(now, Origin { member, epoch }, asked, fit);
            }
            self.members.watch(member);
        }
    }

    fn put_ask(&mut self, now: Moment, origin: Origin, asked: MemberId, fit: usize) {
        let nacks = std::mem::take(&mut self.nacks);
        let local = self.loggers.as_ref().is_some_and(|loggers| loggers.is_logger_of_site(asked));
        if self.put_question(now, origin, &nacks, (asked, local), fit)
            && let Some(loggers) = &mut self.loggers
        {
            loggers.note_ask(now, asked);
            if loggers.is_active() && !local {
                // The request to the standby or its answer may have been lost; repeating it costs
                // next to nothing.
                let (_, second) = loggers.view.usable(now);
                if let Some(second) = second.map(|seen| seen.member) {
                    self.put_question(now, origin, &nacks, (second, true), fit);
                }
                self.promise_to_site(now, origin, &nacks);
            }
        }
        self.nacks = nacks;
    }

    /// Sends repair requests to one member. Returns false when its address is unknown, or when
    /// nothing is left to request because other members requested all segments.
    fn put_question(
        &mut self,
        now: Moment,
        origin: Origin,
        nacks: &[NackItem],
        (asked, local): (MemberId, bool),
        fit: usize,
    ) -> bool {
        let (Some(address), false) = (self.members.address(asked), nacks.is_empty()) else { return false };
        for items in nacks.chunks(fit.max(1)) {
            let nack =
                Record::Nack(Nack { origin: origin.member, epoch: origin.epoch, items: List::of(items) });
            self.counters.sent.nacks += items.len() as u64;
            self.counters.sent.nack_bytes += self.format.nack_bytes(items.len()) as u64;
            self.put_logging(now, Kind::Logger, &[nack], Destination::Unicast(address), local);
        }
        true
    }

    /// Tells the members of the site that the logger is fetching these versions, so that they need
    /// not ask.
    fn promise_to_site(&mut self, now: Moment, origin: Origin, nacks: &[NackItem]) {
        let Some(loggers) = &mut self.loggers else { return };
        let mut news: SmallVec<[(DataId, Sn); 8]> = nacks.iter().map(|item| (item.data, item.sn)).collect();
        news.dedup();
        news.retain(|(data, sn)| loggers.promise(now, origin.member, *data, *sn));
        self.put_pending(now, origin, &news, Destination::Site);
    }
}

impl Loggers {
    /// The path of the site's logger before the source: the standby, which may have the data, then
    /// the logger's parent, and that one's parent.
    fn path_upstream(&self, now: Moment, me: MemberId, path: &mut Path) {
        let at_once = (Duration::ZERO, 2);
        let (_, second) = self.view.usable(now);
        let standby = second.or(self.view.standby()).filter(|seen| seen.member != me);
        if let Some(seen) = standby.filter(|_| second.is_some()) {
            let wait = near_wait(seen.rtt(self.config.site_rtt_initial));
            path.push(Step { ask: seen.member, spread: at_once, wait, tries: 1 });
        }
        let parent = self.region.parent();
        if parent != MemberId::NOBODY {
            let far = self.region.rtt(parent).unwrap_or(Duration::from_millis(200));
            path.push(Step { ask: parent, spread: at_once, wait: far_wait(far), tries: 4 });
            let next = self.region.parent_of(parent);
            if next != MemberId::NOBODY && next != me && self.region.tier() != REGION {
                let far = self.region.rtt(next).unwrap_or(Duration::from_millis(200));
                path.push(Step { ask: next, spread: at_once, wait: far_wait(far), tries: 1 });
            }
        }
    }

    /// The path of a site's member for the data of a source at this distance: its logger, the
    /// standby, and the logger's parent.
    fn path_in_site(&self, now: Moment, me: MemberId, distance: Duration, path: &mut Path) {
        let (Some(first), second) = self.view.usable(now) else { return };
        let first = if first.member == me { second } else { Some(first) };
        let second = second.filter(|seen| seen.member != me);
        let Some(first) = first else { return };
        let initial = self.config.site_rtt_initial;
        let rtt = first.rtt(initial);
        if rtt * 2 >= distance {
            return;
        }
        // The standby does not wait, since others may need the data from it soon.
        let stands_by = self.view.standby().is_some_and(|seen| seen.member == me);
        let most = if stands_by { Duration::ZERO } else { rtt };
        let at_once = (Duration::ZERO, 2);
        let quick = near_wait(rtt);
        let members = u32::from(first.advertisement.children).max(2);
        path.push(Step { ask: first.member, spread: (most, members), wait: quick, tries: 1 });
        let other = second.unwrap_or(first);
        let wait = near_wait(other.rtt(initial));
        path.push(Step { ask: other.member, spread: at_once, wait, tries: 1 });
        path.push(Step { ask: first.member, spread: at_once, wait: rtt * 2 + SITE_PATIENCE, tries: 1 });
        let parent = first.advertisement.parent;
        if parent != MemberId::NOBODY && parent != me {
            let wait = far_wait(first.advertisement.parent_rtt);
            path.push(Step { ask: parent, spread: at_once, wait, tries: 1 });
        }
    }

    /// The logger that the site's logger asks; [`MemberId::NOBODY`] for the source.
    fn parent_of_site(&self) -> MemberId {
        self.view.active().map_or(MemberId::NOBODY, |seen| seen.advertisement.parent)
    }

    fn is_logger_of_site(&self, member: MemberId) -> bool {
        let all = self.view.active().into_iter().chain(self.view.standby());
        all.into_iter().any(|seen| seen.member == member)
    }

    /// Counts a request to a member. A member that never answers is given up.
    fn note_ask(&mut self, now: Moment, asked: MemberId) {
        self.counters.asks += 1;
        let first = if self.is_active() { self.region.parent() } else { MemberId::NOBODY };
        let usual = self.is_logger_of_site(asked) || (self.is_active() && first == asked);
        let to_source = self.is_active() && first == MemberId::NOBODY && !self.region.knows(asked);
        self.counters.escalations += u64::from(!usual && !to_source);
        let wait = near_wait(self.view.site_rtt());
        let is_dead = self.view.note_ask(now, asked, wait) || self.region.note_ask(now, asked);
        if is_dead {
            self.counters.deaths += 1;
            self.version += 1;
        }
    }
}
