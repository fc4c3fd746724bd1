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

/// The state of a want.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Waits for the backoff that all wants of a sender share.
    Backoff,
    /// The next bundle carries its request.
    Due,
    /// Waits for the shorter backoff of requests to a logger.
    Near,
    /// Its request to a logger is to leave at once.
    NearDue,
    /// Its version has been requested; the next request waits until this time.
    Holdoff(Moment),
}

/// A missing version, known by an announcement or by some of its segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Want {
    pub(super) sn: Sn,
    pub(super) opened: Moment,
    pub(super) attempt: u32,
    pub(super) phase: Phase,
    /// Only another member's request told of this version, not an announcement. It may not exist.
    pub(super) is_hearsay: bool,
    /// The times of the first and the last request to the sender itself.
    pub(super) asked: Option<(Moment, Moment)>,
}

/// One data element.
#[derive(Debug)]
pub(super) struct Item {
    /// The newest complete version.
    pub(super) done: Option<Sn>,
    /// The message of that version, kept for later requests. It is a copy, so that it does not keep
    /// the whole datagram alive; its memory is reused.
    pub(super) body: Vec<u8>,
    pub(super) part: Option<Box<Part>>,
    pub(super) want: Option<Want>,
    /// It is in the list of open wants.
    pub(super) listed: bool,
    /// The time of the last announcement that was not older than the wanted version.
    pub(super) announced: Moment,
    /// The earliest entry among the wake-ups.
    pub(super) wake: Moment,
}

impl Item {
    /// The time at which this data element needs attention.
    fn due(&self) -> Moment {
        let part = self.part.as_ref().map_or(Moment::MAX, |part| part.timer);
        match self.want {
            Some(Want { phase: Phase::Holdoff(until), .. }) => part.min(until),
            _ => part,
        }
    }
}

/// The result of receiving mode 1 data.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// A message is complete and newer than any before. Also tells how it was segmented.
    Message(Bytes, Shape),
    /// A missing segment arrived.
    Segment,
    /// The data was received before, or is older than data received before.
    Duplicate,
    /// The data is not wanted, has no room, or is invalid.
    Refused,
}

/// The state of one sender at this receiver; in profile v3, of one epoch of it.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(super) member: MemberId,
    pub(super) items: BTreeMap<DataId, Item>,
    /// Data elements in the order in which their wants were opened; some have no want any longer.
    pub(super) open: Vec<DataId>,
    /// Data elements with an incomplete segmented message.
    pub(super) parts: SmallVec<[DataId; 4]>,
    pub(super) heard: Heard,
    /// The time at which wants in backoff become due.
    pub(super) backoff: Option<Moment>,
    /// The number of wants that are due.
    pub(super) due: usize,
    /// Loggers to ask before the group.
    pub(super) path: Path,
    /// The time at which wants in the backoff of a logger become due.
    pub(super) near: Option<Moment>,
    /// The number of these that are due.
    pub(super) near_due: usize,
    pub(super) wakes: BinaryHeap<Reverse<(Moment, DataId)>>,
    /// The number of data elements with a complete message.
    pub(super) held: usize,
    pub(super) answers: super::answers::AnswerTime,
    /// The greatest round-trip time of the sender's group, as the sender announces it.
    pub(super) r_max: Duration,
    pub(super) digest: Digest,
    /// Versions announced since the digests were last equal, or since a mismatch was reported.
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

    /// Sets the greatest round-trip time of the sender's group, as the sender announces it.
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

    /// The number of data elements known.
    pub(crate) fn known(&self) -> usize {
        self.items.len()
    }

    /// Whether to deliver a mode 0 message in a bundle with or without announcements. Messages are
    /// held back while this receiver has none of the state that the sender announces, so that no
    /// application sees an entity move before it knows the entity.
    pub(crate) fn admits_mode0(&self, shared: &Shared, announces: impl FnOnce() -> bool) -> bool {
        let config = &shared.config;
        if self.held > 0 || !shared.interest.covers_some_of(self.member) {
            return true;
        }
        let literal = config.strict && config.literal_mode0_gate;
        !literal && (!config.require_mode1_first || !announces())
    }

    /// Whether that version is wanted and newer than the complete one.
    pub(crate) fn is_news(&self, shared: &Shared, dsn: Dsn) -> bool {
        let done = self.items.get(&dsn.data).and_then(|item| item.done);
        shared.interest.covers(self.member, dsn.data)
            && done.is_none_or(|done| shared.config.space.is_newer(dsn.sn, done))
    }

    /// Handles mode 1 data: `segment` of the version `dsn`, or all of it when it is not segmented.
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
        // The common case needs no part: its body is delivered as it came.
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
                // RFC 4410 starts the timer once. Restarting it with each segment spares requests
                // for segments that are on their way.
                if part.timer == Moment::MAX || !strict {
                    part.timer = now + timeout;
                }
                let lost = part.has_lost(!strict);
                // Answers are coming, so the next request need not wait longer than the first.
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

    /// Ensures that there is a part for that version. Returns false when a newer version is under
    /// way, or the number of segments contradicts.
    fn prepare_part(&mut self, now: Moment, shared: &mut Shared, dsn: Dsn) -> bool {
        let Some(item) = self.items.get_mut(&dsn.data) else { return false };
        if let Some(part) = &item.part {
            match shared.config.space.compare(dsn.sn, part.dsn.sn) {
                Relation::Equal => return part.dsn.segments == dsn.segments,
                Relation::Older => return false,
                // An older version that is not whole yet is of no use to anybody now.
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

    /// Records a complete version.
    fn complete(&mut self, now: Moment, shared: &mut Shared, dsn: Dsn, body: Bytes) -> Bytes {
        let space = shared.config.space;
        let Some(item) = self.items.get_mut(&dsn.data) else { return body };
        // Counted, because a member that has something of this source may take its best-effort
        // messages.
        self.held += usize::from(item.done.is_none());
        self.digest.replace(dsn.data, item.done, dsn.sn);
        item.done = Some(dsn.sn);
        item.announced = now;
        if shared.config.keeps_state {
            shared.bytes = shared.bytes + body.len() - item.body.len();
            // The memory of the former version is used again: versions of one message have similar
            // sizes.
            item.body.clear();
            item.body.extend_from_slice(&body);
        }
        let obsolete = item.part.as_ref().is_some_and(|part| !space.is_newer(part.dsn.sn, dsn.sn));
        let same = item.part.as_ref().is_some_and(|part| part.dsn.sn == dsn.sn);
        if obsolete {
            self.drop_part(shared, dsn.data);
            // Its own part was used, and not discarded.
            shared.counters.parts_discarded -= u64::from(same);
        }
        self.satisfy(now, shared, dsn);
        shared.counters.delivered += 1;
        // Delivered first: a member that is short of memory keeps no state for others, and loses
        // nothing itself.
        if shared.is_over() {
            self.forget_body(shared, dsn.data);
        }
        body
    }

    /// Gives up a segmented message of which segments are missing.
    pub(super) fn drop_part(&mut self, shared: &mut Shared, data: DataId) {
        let part = self.items.get_mut(&data).and_then(|item| item.part.take());
        if let Some(part) = part {
            shared.bytes -= part.cost();
            shared.counters.parts_discarded += 1;
            self.parts.retain(|other| *other != data);
        }
    }

    /// Drops the kept copy of a message that has been delivered.
    fn forget_body(&mut self, shared: &mut Shared, data: DataId) {
        if let Some(item) = self.items.get_mut(&data) {
            shared.bytes -= item.body.len();
            item.body = Vec::new();
        }
    }

    /// The data element, which is added if it is new; `None` when the limits allow no more of them.
    pub(super) fn item(&mut self, now: Moment, shared: &mut Shared, data: DataId) -> Option<&mut Item> {
        let count = self.items.len();
        match self.items.entry(data) {
            Entry::Occupied(entry) => Some(entry.into_mut()),
            Entry::Vacant(entry) => {
                let config = &shared.config;
                // A source that invents messages must not push out those of others.
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

    /// Schedules the next wake-up of this data element.
    pub(super) fn watch(&mut self, data: DataId) {
        let Some(item) = self.items.get_mut(&data) else { return };
        let due = item.due();
        // A later deadline needs no entry of its own: it is set when the earlier entry comes.
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
            // Deadlines move more often than they come. An outdated entry is skipped here, since a
            // heap cannot take it out.
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

    /// The time at which to call [`Origin::expire`].
    pub(crate) fn deadline(&self) -> Option<Moment> {
        let wake = self.wakes.peek().map(|Reverse((at, _))| *at);
        wake.into_iter().chain(self.backoff).chain(self.near).min()
    }

    /// Adjusts the counts for a want that leaves a phase.
    pub(super) fn leave_phase(&mut self, phase: Phase) {
        self.due -= usize::from(phase == Phase::Due);
        self.near_due -= usize::from(phase == Phase::NearDue);
    }

    /// Every data element with its newest complete version and message. The message is empty when
    /// memory was short.
    pub(crate) fn messages(&self) -> impl Iterator<Item = (DataId, Sn, &[u8])> + '_ {
        self.items.iter().filter_map(|(data, item)| item.done.map(|sn| (*data, sn, item.body.as_slice())))
    }

    /// The digest of the versions held here, comparable to the sender's.
    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }

    /// The incomplete message that has waited longest for its next segment, and the time of its
    /// last one. When memory is short it is evicted first.
    pub(crate) fn oldest_part(&self) -> Option<(Moment, DataId)> {
        // By progress and not by age, so that a long message that comes steadily is not given up.
        let progress = |data: &DataId| {
            self.items.get(data).and_then(|item| item.part.as_ref()).map(|part| (part.progress, *data))
        };
        self.parts.iter().filter_map(progress).min()
    }

    /// Gives up an incomplete message because memory is short. It is requested again when it is
    /// announced again.
    pub(crate) fn evict_part(&mut self, shared: &mut Shared, data: DataId) {
        self.drop_part(shared, data);
    }
}
