//! One sender's data elements.

use super::heard::Heard;
use super::part::{Inserted, Part, Shape};
use super::path::Path;
use super::shared::Shared;
use crate::model::{DataId, Dsn, MemberId, Relation, Sn};
use crate::wire::{Digest, Signature};
use base::Moment;
use bytes::Bytes;
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

/// Where a want stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Waits for the backoff that all wants of a sender share.
    Backoff,
    /// To be sent with the next bundle.
    Due,
    /// Waits for the shorter backoff of those that ask a logger.
    Near,
    /// A logger is to be asked at once.
    NearDue,
    /// It was asked for; again after this.
    Holdoff(Moment),
}

/// A version that is announced, or begun, and missing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Want {
    pub(super) sn: Sn,
    pub(super) opened: Moment,
    pub(super) attempt: u32,
    pub(super) phase: Phase,
    /// Another member's wish told of it, and no announcement: it may not exist.
    pub(super) is_hearsay: bool,
    /// When the sender itself was asked for it, first and last.
    pub(super) asked: Option<(Moment, Moment)>,
}

/// One data element.
#[derive(Debug)]
pub(super) struct Item {
    /// The newest complete version.
    pub(super) done: Option<Sn>,
    /// Its message, for who asks later: a copy, so that it does not keep the whole datagram, in memory that is used again.
    pub(super) body: Vec<u8>,
    pub(super) part: Option<Box<Part>>,
    pub(super) want: Option<Want>,
    /// Named in the list of wants.
    pub(super) listed: bool,
    /// When something not older than what we know was announced last.
    pub(super) announced: Moment,
    /// The earliest entry among the wake-ups.
    pub(super) wake: Moment,
}

impl Item {
    /// When this data element needs attention.
    fn due(&self) -> Moment {
        let part = self.part.as_ref().map_or(Moment::MAX, |part| part.timer);
        match self.want {
            Some(Want { phase: Phase::Holdoff(until), .. }) => part.min(until),
            _ => part,
        }
    }
}

/// What became of mode 1 data.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// A message is complete, and newer than any before; and how it was cut.
    Message(Bytes, Shape),
    /// A segment came that was missing.
    Segment,
    /// Nothing new.
    Duplicate,
    /// Of no interest, or no room, or nonsense.
    Refused,
}

/// One sender, as this receiver knows it: a life of it, in profile v3.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(super) member: MemberId,
    pub(super) items: BTreeMap<DataId, Item>,
    /// Data elements with a want, in the order in which they were opened; some have none any more.
    pub(super) open: Vec<DataId>,
    /// Data elements with a part.
    pub(super) parts: SmallVec<[DataId; 4]>,
    pub(super) heard: Heard,
    /// When wants in backoff become due.
    pub(super) backoff: Option<Moment>,
    /// How many wants are due.
    pub(super) due: usize,
    /// Loggers to be asked before the group.
    pub(super) path: Path,
    /// When wants that wait to ask a logger become due.
    pub(super) near: Option<Moment>,
    /// How many of these are due.
    pub(super) near_due: usize,
    pub(super) wakes: BinaryHeap<Reverse<(Moment, DataId)>>,
    /// Data elements with a complete message.
    pub(super) held: usize,
    pub(super) answers: super::answers::AnswerTime,
    /// The greatest round-trip time of the sender's group, as it tells.
    pub(super) r_max: Duration,
    pub(super) digest: Digest,
    /// Versions announced since the sender's digest was ours, or a difference was told.
    pub(super) announced_unequal: u32,
    pub(super) restart: super::restart::Watch,
}

impl Origin {
    pub(crate) fn new(member: MemberId, shared: &Shared) -> Self {
        Self {
            member,
            items: BTreeMap::new(),
            open: Vec::new(),
            parts: SmallVec::new(),
            heard: Heard::default(),
            backoff: None,
            due: 0,
            path: Path::default(),
            near: None,
            near_due: 0,
            wakes: BinaryHeap::new(),
            held: 0,
            answers: super::answers::AnswerTime::default(),
            r_max: shared.config.timing.r_max_initial,
            digest: Digest::default(),
            announced_unequal: 0,
            restart: super::restart::Watch::default(),
        }
    }

    /// What the sender says of its group.
    pub(crate) fn set_r_max(&mut self, r_max: Duration) {
        self.r_max = r_max;
    }

    pub(crate) fn r_max(&self) -> Duration {
        self.r_max
    }

    /// The round-trip time to the sender, as its answers to this member show it.
    pub(crate) fn answer_time(&self) -> Option<Duration> {
        self.answers.usual()
    }

    /// Data elements that were heard of.
    pub(crate) fn known(&self) -> usize {
        self.items.len()
    }

    /// Whether a mode 0 message in a bundle that announces something, or nothing, is handed up: not while this receiver holds nothing
    /// of what the sender announces, so that nobody sees an entity move that he does not know.
    pub(crate) fn admits_mode0(&self, shared: &Shared, announces: impl FnOnce() -> bool) -> bool {
        let config = &shared.config;
        if self.held > 0 || !shared.interest.covers_some_of(self.member) {
            return true;
        }
        let literal = config.strict && config.literal_mode0_gate;
        !literal && (!config.require_mode1_first || !announces())
    }

    /// Whether that version is newer than what is complete, and wanted.
    pub(crate) fn is_news(&self, shared: &Shared, dsn: Dsn) -> bool {
        let done = self.items.get(&dsn.data).and_then(|item| item.done);
        shared.interest.covers(self.member, dsn.data)
            && done.is_none_or(|done| shared.config.space.is_newer(dsn.sn, done))
    }

    /// Mode 1 data: `segment` of the version that `dsn` names, or all of it when it has none.
    pub(crate) fn receive(
        &mut self,
        now: Moment,
        shared: &mut Shared,
        dsn: Dsn,
        segment: u16,
        body: &Bytes,
        signature: Option<Signature>,
    ) -> Received {
        if !shared.interest.covers(self.member, dsn.data) || dsn.segments > shared.config.segments_max {
            shared.counters.refused += u64::from(dsn.segments > shared.config.segments_max);
            return Received::Refused;
        }
        let Some(item) = self.item(now, shared, dsn.data) else { return Received::Refused };
        let newer = item.done.is_none_or(|done| shared.config.space.is_newer(dsn.sn, done));
        if !newer {
            shared.counters.duplicates += 1;
            return Received::Duplicate;
        }
        if dsn.segments < 2 {
            let shape = Shape::of_whole(body.len(), signature);
            return Received::Message(self.complete(now, shared, dsn, body.clone()), shape);
        }
        self.receive_segment(now, shared, dsn, (segment, signature), body)
    }

    fn receive_segment(
        &mut self,
        now: Moment,
        shared: &mut Shared,
        dsn: Dsn,
        (segment, signature): (u16, Option<Signature>),
        body: &Bytes,
    ) -> Received {
        if !self.prepare_part(now, shared, dsn) {
            return Received::Refused;
        }
        let strict = shared.config.strict;
        let timeout = shared.config.timing.segment_timeout;
        let Some(item) = self.items.get_mut(&dsn.data) else { return Received::Refused };
        let Some(part) = &mut item.part else { return Received::Refused };
        let before = part.cost();
        let inserted = part.insert(now, segment, body, signature);
        shared.bytes += part.cost() - before;
        match inserted {
            Inserted::Bad => {
                shared.counters.refused += 1;
                Received::Refused
            }
            Inserted::Duplicate => {
                shared.counters.duplicates += 1;
                Received::Duplicate
            }
            Inserted::Complete => {
                let (whole, shape) = (part.join(), part.shape());
                shared.counters.reassembled += 1;
                Received::Message(self.complete(now, shared, dsn, whole), shape)
            }
            Inserted::New => {
                if part.timer == Moment::MAX || !strict {
                    part.timer = now + timeout;
                }
                let lost = part.has_lost(!strict);
                // Answers come: the next wish need not wait longer than the last.
                if let Some(want) = item.want.as_mut().filter(|want| want.sn == dsn.sn) {
                    want.attempt = 0;
                }
                self.watch(dsn.data);
                if lost {
                    self.want(now, shared, dsn.data, dsn.sn);
                }
                Received::Segment
            }
        }
    }

    /// Makes sure that there is a part for that version; false when there is a newer one, or it contradicts.
    fn prepare_part(&mut self, now: Moment, shared: &mut Shared, dsn: Dsn) -> bool {
        let Some(item) = self.items.get_mut(&dsn.data) else { return false };
        if let Some(part) = &item.part {
            match shared.config.space.compare(dsn.sn, part.dsn.sn) {
                Relation::Equal => return part.dsn.segments == dsn.segments,
                Relation::Older => return false,
                Relation::Newer => self.drop_part(shared, dsn.data),
            }
        }
        let part = Box::new(Part::new(now, dsn));
        shared.bytes += part.cost();
        let Some(item) = self.items.get_mut(&dsn.data) else { return false };
        item.part = Some(part);
        if let Some(want) = item.want.take_if(|want| shared.config.space.is_newer(dsn.sn, want.sn)) {
            shared.counters.wants_superseded += 1;
            self.leave_phase(want.phase);
        }
        self.parts.push(dsn.data);
        true
    }

    /// A version is complete.
    fn complete(&mut self, now: Moment, shared: &mut Shared, dsn: Dsn, body: Bytes) -> Bytes {
        let space = shared.config.space;
        let Some(item) = self.items.get_mut(&dsn.data) else { return body };
        self.held += usize::from(item.done.is_none());
        self.digest.replace(dsn.data, item.done, dsn.sn);
        item.done = Some(dsn.sn);
        item.announced = now;
        if shared.config.keeps_state {
            shared.bytes = shared.bytes + body.len() - item.body.len();
            item.body.clear();
            item.body.extend_from_slice(&body);
        }
        let obsolete = item.part.as_ref().is_some_and(|part| !space.is_newer(part.dsn.sn, dsn.sn));
        let same = item.part.as_ref().is_some_and(|part| part.dsn.sn == dsn.sn);
        if obsolete {
            self.drop_part(shared, dsn.data);
            shared.counters.parts_discarded -= u64::from(same);
        }
        self.satisfy(now, shared, dsn);
        shared.counters.delivered += 1;
        if shared.is_over() {
            self.forget_body(shared, dsn.data);
        }
        body
    }

    /// Gives up a message of which segments are missing.
    pub(super) fn drop_part(&mut self, shared: &mut Shared, data: DataId) {
        let part = self.items.get_mut(&data).and_then(|item| item.part.take());
        if let Some(part) = part {
            shared.bytes -= part.cost();
            shared.counters.parts_discarded += 1;
            self.parts.retain(|other| *other != data);
        }
    }

    /// Does not keep a message that was handed up.
    fn forget_body(&mut self, shared: &mut Shared, data: DataId) {
        if let Some(item) = self.items.get_mut(&data) {
            shared.bytes -= item.body.len();
            item.body = Vec::new();
        }
    }

    /// The data element, which is new if need be; none when memory is not for more of them.
    pub(super) fn item(&mut self, now: Moment, shared: &mut Shared, data: DataId) -> Option<&mut Item> {
        let count = self.items.len();
        match self.items.entry(data) {
            Entry::Occupied(entry) => Some(entry.into_mut()),
            Entry::Vacant(entry) => {
                let config = &shared.config;
                if count >= config.items_per_origin_max || shared.items >= config.items_max {
                    shared.counters.refused += 1;
                    return None;
                }
                shared.items += 1;
                Some(entry.insert(Item {
                    done: None,
                    body: Vec::new(),
                    part: None,
                    want: None,
                    listed: false,
                    announced: now,
                    wake: Moment::MAX,
                }))
            }
        }
    }

    /// Sees to it that this data element is looked at when it needs to be.
    pub(super) fn watch(&mut self, data: DataId) {
        let Some(item) = self.items.get_mut(&data) else { return };
        let due = item.due();
        if due < item.wake {
            item.wake = due;
            self.wakes.push(Reverse((due, data)));
        }
    }

    /// The next data element whose time has come.
    pub(super) fn pop_wake(&mut self, now: Moment) -> Option<DataId> {
        while let Some(Reverse((at, data))) = self.wakes.peek().copied() {
            if at > now {
                return None;
            }
            self.wakes.pop();
            let Some(item) = self.items.get_mut(&data) else { continue };
            if item.wake != at {
                continue;
            }
            item.wake = Moment::MAX;
            if item.due() <= now {
                return Some(data);
            }
            self.watch(data);
        }
        None
    }

    /// When to call [`Origin::expire`].
    pub(crate) fn deadline(&self) -> Option<Moment> {
        let wake = self.wakes.peek().map(|Reverse((at, _))| *at);
        wake.into_iter().chain(self.backoff).chain(self.near).min()
    }

    /// A want is not in that phase any more.
    pub(super) fn leave_phase(&mut self, phase: Phase) {
        self.due -= usize::from(phase == Phase::Due);
        self.near_due -= usize::from(phase == Phase::NearDue);
    }

    /// Every data element with its newest complete version and message, which is empty when memory was short.
    pub(crate) fn messages(&self) -> impl Iterator<Item = (DataId, Sn, &[u8])> + '_ {
        self.items.iter().filter_map(|(data, item)| item.done.map(|sn| (*data, sn, item.body.as_slice())))
    }

    /// The state that we hold, as the sender would tell it.
    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }

    /// When the least recently fed part was fed, for whom memory is short.
    pub(crate) fn oldest_part(&self) -> Option<(Moment, DataId)> {
        let progress = |data: &DataId| {
            self.items.get(data).and_then(|item| item.part.as_ref()).map(|part| (part.progress, *data))
        };
        self.parts.iter().filter_map(progress).min()
    }

    /// Gives up a part because memory is short. It is asked for anew when it is announced again.
    pub(crate) fn evict_part(&mut self, shared: &mut Shared, data: DataId) {
        self.drop_part(shared, data);
    }
}
