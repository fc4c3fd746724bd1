//! Transfers of the whole state: passes over the store, paced by their driver.

use crate::model::{DataId, MemberId};
use base::Moment;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// The recipients of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// The whole site, since other members may need the state too.
    Site,
    /// One member.
    One(SocketAddr),
}

/// The content of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    /// The source of the data; `None` for all sources.
    pub(crate) of: Option<MemberId>,
    /// Only the list of versions, without messages.
    pub(crate) index_only: bool,
}

/// The next part of a source to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The versions of the data elements after this one.
    Index(Option<DataId>),
    /// The message of the data element after this one.
    Data(Option<DataId>),
    /// The rest of this data element's message, from this piece on.
    Rest(DataId, u16),
    /// Nothing more of this source.
    End,
}

/// The position of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) member: MemberId,
    pub(crate) stage: Stage,
}

impl Position {
    /// The position as a sort key. A message that was sent in part sorts before the end of that
    /// message.
    fn key(self) -> (MemberId, u8, Option<DataId>, bool) {
        let (part, data, is_behind) = match self.stage {
            Stage::Index(after) => (0, after, true),
            Stage::Data(after) => (1, after, true),
            Stage::Rest(data, _) => (1, Some(data), false),
            Stage::End => (2, None, true),
        };
        (self.member, part, data, is_behind)
    }

    /// The position at which a member that joins the transfer here has received everything, one
    /// round later. It lies after the message of which that member receives only a part.
    fn behind(self) -> Self {
        match self.stage {
            Stage::Rest(data, _) => Self { stage: Stage::Data(Some(data)), ..self },
            _ => self,
        }
    }
}

/// One transfer.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) to: Audience,
    pub(crate) content: Content,
    /// `None` before the first source.
    pub(crate) position: Option<Position>,
    /// The position at which the last member joined: the next round goes on up to it.
    lap: Option<Position>,
    /// The position at which the last round ends.
    until: Option<Position>,
    /// Messages and segments sent.
    pub(crate) sent: u32,
}

impl Job {
    /// Handles the end of the store. Returns true when the transfer is complete, and starts another
    /// round otherwise.
    pub(crate) fn wrap(&mut self) -> bool {
        self.until = self.lap.take();
        self.position = None;
        self.until.is_none()
    }

    /// Whether all members that asked have received everything.
    pub(crate) fn is_over(&self) -> bool {
        self.until.is_some_and(|until| self.position.is_some_and(|position| position.key() >= until.key()))
    }
}

/// All transfers under way, one after the other. Those to the site go first: they are many times as
/// fast as others, and serve more members.
#[derive(Debug)]
pub(crate) struct Jobs {
    queue: VecDeque<Job>,
    max: usize,
    /// The time at which the next datagram may leave.
    pub(crate) next: Moment,
}

impl Jobs {
    pub(crate) fn new(max: usize) -> Self {
        Self { queue: VecDeque::new(), max, next: Moment::ZERO }
    }

    /// Handles a state request. A transfer under way to the same recipients serves it as well.
    /// Returns false when too many transfers wait.
    pub(crate) fn request(&mut self, to: Audience, content: Content) -> bool {
        if let Some(job) = self.queue.iter_mut().find(|job| job.to == to && job.content == content) {
            if job.position.is_some() {
                (job.lap, job.until) = (job.position.map(Position::behind), None);
            }
            return true;
        }
        if self.queue.len() >= self.max {
            return false;
        }
        let for_site = self.queue.iter().take_while(|job| job.to == Audience::Site).count();
        let position = if to == Audience::Site { for_site } else { self.queue.len() };
        self.queue.insert(position, Job { to, content, position: None, lap: None, until: None, sent: 0 });
        true
    }

    pub(crate) fn take(&mut self) -> Option<Job> {
        self.queue.pop_front()
    }

    /// Puts back a transfer that is not complete.
    pub(crate) fn put_back(&mut self, job: Job) {
        self.queue.push_front(job);
    }

    pub(crate) fn clear(&mut self) {
        self.queue.clear();
    }

    pub(crate) fn deadline(&self) -> Option<Moment> {
        (!self.queue.is_empty()).then_some(self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Content = Content { of: None, index_only: false };

    fn at(member: u64) -> Option<Position> {
        Some(Position { member: MemberId(member), stage: Stage::Index(None) })
    }

    /// The sources, out of four, over which a transfer goes when members join before some of its
    /// steps.
    fn transferred(comers: &[usize]) -> Vec<u64> {
        let mut jobs = Jobs::new(4);
        assert!(jobs.request(Audience::Site, ALL));
        let mut transfer = Vec::new();
        for step in 0.. {
            if comers.contains(&step) {
                assert!(jobs.request(Audience::Site, ALL));
            }
            let Some(mut job) = jobs.take() else { break };
            let next = job.position.map_or(1, |position| position.member.0 + 1);
            if next > 4 && job.wrap() {
                break;
            }
            let next = if next > 4 { 1 } else { next };
            job.position = at(next);
            transfer.push(next);
            if job.is_over() {
                break;
            }
            jobs.put_back(job);
        }
        transfer
    }

    #[test]
    fn a_late_receiver_gets_the_rest_first_and_then_the_beginning() {
        assert_eq!(transferred(&[]), [1, 2, 3, 4]);
        assert_eq!(transferred(&[0]), [1, 2, 3, 4]);
        assert_eq!(transferred(&[2]), [1, 2, 3, 4, 1, 2]);
        assert_eq!(transferred(&[1, 3]), [1, 2, 3, 4, 1, 2, 3]);
        assert_eq!(transferred(&[2, 5]), [1, 2, 3, 4, 1, 2, 3, 4, 1]);
    }

    #[test]
    fn the_site_does_not_wait_for_others() {
        let mut jobs = Jobs::new(4);
        let one = |port| Audience::One(SocketAddr::from(([10, 0, 0, 1], port)));
        let of = |member| Content { of: Some(MemberId(member)), index_only: false };
        for (to, content) in [(one(1), ALL), (Audience::Site, of(1)), (one(2), ALL), (Audience::Site, ALL)] {
            assert!(jobs.request(to, content));
        }
        let order: Vec<_> = std::iter::from_fn(|| jobs.take()).map(|job| (job.to, job.content)).collect();
        assert_eq!(order, [(Audience::Site, of(1)), (Audience::Site, ALL), (one(1), ALL), (one(2), ALL)]);
    }

    #[test]
    fn only_so_many_wait() {
        let mut jobs = Jobs::new(2);
        let of = |member| Content { of: Some(MemberId(member)), index_only: true };
        let asked: Vec<_> = (0..4).map(|member| jobs.request(Audience::Site, of(member % 3))).collect();
        assert_eq!(asked, [true, true, false, true]);
        assert!(jobs.deadline().is_some());
        jobs.clear();
        assert_eq!(jobs.deadline(), None);
    }
}
