//! A node that has federates in logical time, in a network of nodes.
//!
//! It reports the state of its federates to the *time home*, which merges the reports of all nodes
//! and answers with results. A report of one moment says which bounds the federates here keep from
//! that moment on (its summary), which messages the node has sent until then, and up to where it has
//! received those of others. A result is used once every message that its senders had sent before
//! their reports has arrived here. No message that is sent later can have a time stamp below the
//! bound of the result, with one exception: a conditional federate may receive a message after its
//! node's report, and answer it. The sender of that message therefore *vouches* for it until a
//! result has shown that all receivers have reported after they had received it.

use super::bound::{Bound, Delay};
use super::carried::Carried;
use super::message::{Accounted, MergedReports, Report, SentPosition, TimeMessage};
use super::streams::{Progress, Streams};
use super::summary::Summary;
#[cfg(test)]
use super::tests::{Flaw, has_flaw};
use crate::control::{NodeId, PublishedClass};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Results that may wait for messages. Further ones replace the last of them.
const RESULTS_MAX: usize = 16;

/// The own part of a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct OwnState {
    pub(super) summary: Summary,
    pub(super) want: Option<Bound>,
}

/// The contents of a result that are in use.
#[derive(Clone, Copy, Debug)]
struct Others {
    summary: Summary,
    /// The least time stamp of a message that others vouch for.
    vouched: Bound,
}

/// A stream of this node.
#[derive(Debug, Default)]
struct Outbound {
    last: u64,
    reported: Option<SentPosition>,
    accounted: Accounted,
    /// Messages that may not have arrived at all receivers, with their bounds.
    outstanding: VecDeque<(u64, Bound)>,
}

/// The changes that follow from a result.
#[derive(Debug, Default)]
pub(super) struct Used {
    /// Bounds have changed.
    pub(super) bounds: bool,
    /// A recall was completed: its generation and the greatest promise.
    pub(super) recalled: Option<(u64, Bound)>,
    /// Queries up to this number are answered.
    pub(super) queries: u64,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Participant {
    pub(super) node: NodeId,
    /// The node that merges the reports, once it is known.
    home: Option<NodeId>,
    epoch: u32,
    /// The node has, or had, federates in logical time.
    participates: bool,
    /// The last recall that was answered.
    answered: u64,
    /// The generation of the result in use.
    used: u64,
    /// Nothing is granted beyond it until the result of a recall has come.
    cap: Option<Bound>,
    others: Others,
    /// Some federate of the federation execution has been conditional.
    conditional: bool,
    /// No other node participates.
    alone: bool,
    participants: BTreeSet<NodeId>,
    recalls: u64,
    queries: u64,
    serial: u64,
    /// A result must acknowledge this report, since which streams are wanted that were not before.
    serial_min: u64,
    /// A report is due in any case.
    due: bool,
    last: Option<(OwnState, Bound, u64)>,
    streams: BTreeMap<PublishedClass, Outbound>,
    vouched: BTreeSet<(Bound, PublishedClass, u64)>,
    covers: BTreeSet<PublishedClass>,
    /// The classes that federates here subscribe may have changed.
    covers_stale: bool,
    received: BTreeMap<(PublishedClass, NodeId), u64>,
    changed: BTreeSet<(PublishedClass, NodeId)>,
    /// Messages that others have sent and that have not arrived here.
    awaited: BTreeMap<(PublishedClass, NodeId), SentPosition>,
    results: VecDeque<MergedReports>,
    /// From results that are not used: the next one is complete only with it.
    carried: Carried,
    outgoing: VecDeque<(NodeId, TimeMessage)>,
}

impl Participant {
    pub(super) fn new(node: NodeId, nothing: Bound) -> Self {
        Self {
            node,
            home: None,
            epoch: 0,
            participates: false,
            answered: 0,
            used: 0,
            cap: Some(nothing),
            others: Others { summary: Summary::default(), vouched: Bound::INFINITE },
            conditional: false,
            alone: false,
            participants: BTreeSet::new(),
            recalls: 0,
            queries: 0,
            serial: 0,
            serial_min: 0,
            due: false,
            last: None,
            streams: BTreeMap::new(),
            vouched: BTreeSet::new(),
            covers: BTreeSet::new(),
            covers_stale: true,
            received: BTreeMap::new(),
            changed: BTreeSet::new(),
            awaited: BTreeMap::new(),
            results: VecDeque::new(),
            carried: Carried::default(),
            outgoing: VecDeque::new(),
        }
    }

    pub(super) fn epoch(&self) -> u32 {
        self.epoch
    }

    pub(super) fn home(&self) -> Option<NodeId> {
        self.home
    }

    /// Sets the time home.
    pub(super) fn set_home(&mut self, home: Option<NodeId>, epoch: u32) {
        self.home = home;
        self.epoch = epoch;
        self.due |= self.participates;
    }

    /// A node was removed from the network, or the federation execution restored: begins anew with the
    /// time home of the new epoch.
    pub(super) fn restart(&mut self, epoch: u32, home: Option<NodeId>, promised: Bound) {
        self.epoch = epoch;
        self.home = home;
        self.answered = 1;
        self.used = 0;
        self.cap = Some(promised);
        self.alone = false;
        self.results.clear();
        self.carried = Carried::default();
        self.awaited.clear();
        self.outgoing.clear();
        self.participants.clear();
        self.covers.clear();
        self.covers_stale = true;
        self.changed = self.received.keys().copied().collect();
        for stream in self.streams.values_mut() {
            stream.reported = None;
            stream.accounted = Accounted::default();
        }
        self.last = None;
        self.due = home.is_some();
    }

    /// Forgets the streams of a node that was removed.
    pub(super) fn forget_node(&mut self, gone: NodeId) {
        self.received.retain(|&(_, node), _| node != gone);
        self.changed.retain(|&(_, node)| node != gone);
    }

    /// Makes the node take part from now on, and requests a recall of all participants.
    ///
    /// Returns the number of the request.
    pub(super) fn request_recall(&mut self) -> u64 {
        self.participates = true;
        self.recalls += 1;
        self.due = true;
        self.recalls
    }

    /// Makes the node take part from now on.
    pub(super) fn take_part(&mut self) {
        if !std::mem::replace(&mut self.participates, true) {
            self.due = true;
        }
    }

    /// Asks for a fresh result. Returns the number of the query.
    pub(super) fn query(&mut self) -> u64 {
        self.take_part();
        self.queries += 1;
        self.due = true;
        self.queries
    }

    /// Notes that a message in time-stamp order was appended to a stream of this node. `bound`: the
    /// least time stamp of an answer to it, without lookahead.
    pub(super) fn appended(&mut self, class: PublishedClass, number: u64, bound: Option<Bound>) {
        let stream = self.streams.entry(class).or_default();
        stream.last = number;
        #[cfg(test)]
        let bound = bound.filter(|_| !has_flaw(Flaw::NoVouching));
        if let Some(bound) = bound.filter(|_| !self.alone) {
            stream.outstanding.push_back((number, bound));
            self.vouched.insert((bound, class, number));
        }
    }

    /// Notes that federates here have begun or ceased to subscribe a class.
    pub(super) fn coverage_changed(&mut self) {
        self.covers_stale = true;
    }

    /// Whether this node takes part, or has something to report in any case.
    pub(super) fn is_active(&self) -> bool {
        self.participates || self.due
    }

    /// The bound that the other nodes set to all federates here.
    pub(super) fn ceiling(&self) -> Bound {
        let answers = |delay: Delay| self.own_vouched().min(self.others.vouched).after(delay);
        let answered = self.others.summary.shortest_delay().map_or(Bound::INFINITE, answers);
        self.cap.map_or(answered, |cap| cap.min(answered))
    }

    /// The bounds of the federates of other nodes.
    pub(super) fn others(&self) -> Summary {
        self.others.summary
    }

    /// The bound that all other nodes together set, for what is wanted from the time home.
    pub(super) fn bound_of_others(&self) -> Bound {
        let least = self.others.summary.least().map_or(Bound::INFINITE, |(bound, _)| bound);
        least.min(self.ceiling())
    }

    fn own_vouched(&self) -> Bound {
        self.vouched.first().map_or(Bound::INFINITE, |&(bound, ..)| bound)
    }

    /// Handles a recall. The report that answers it follows.
    pub(super) fn recalled(&mut self, generation: u64, promised: Bound) {
        if generation <= self.answered {
            return;
        }
        self.answered = generation;
        self.cap = Some(promised);
        self.alone = false;
        self.due = true;
        self.results.drain(..).for_each(|result| self.carried.absorb(result));
    }

    /// Takes a result. It is used once the messages that it presupposes have arrived.
    pub(super) fn take_result(&mut self, mut result: MergedReports) {
        #[cfg(test)]
        if has_flaw(Flaw::ConditionalUntold) {
            result.conditional = false;
        } else if has_flaw(Flaw::VouchesTooShort) {
            for (class, accounted) in &result.accounted {
                self.streams.entry(*class).or_default().accounted = accounted.clone();
            }
        }
        self.conditional |= result.conditional;
        for (class, node, sent) in &result.sent {
            let awaited = self.awaited.entry((*class, *node)).or_insert(*sent);
            *awaited = SentPosition { number: awaited.number.max(sent.number), ..*sent };
        }
        if result.generation < self.answered {
            return self.carried.absorb(result);
        }
        result.complete(std::mem::take(&mut self.carried));
        if self.results.len() >= RESULTS_MAX
            && let Some(last) = self.results.pop_back()
        {
            result.complete(Carried::from(last));
        }
        self.results.push_back(result);
    }

    /// Uses the results that can be used.
    pub(super) fn use_results(&mut self, streams: &mut impl Streams) -> Used {
        self.refresh_received(streams);
        let mut used = Used::default();
        while let Some(result) = self.results.pop_front() {
            if result.serial < self.serial_min {
                match self.results.front_mut() {
                    Some(next) => next.complete(Carried::from(result)),
                    None => self.carried.absorb(result),
                }
                continue;
            }
            let arrived = |&(class, node, sent): &_| self.has_arrived(streams, class, node, sent);
            let all_arrived = result.sent.iter().all(arrived);
            #[cfg(test)]
            let all_arrived = all_arrived || has_flaw(Flaw::NoPositions);
            if !all_arrived {
                self.results.push_front(result);
                break;
            }
            tracing::trace!(?result, "result of logical times");
            self.others = Others { summary: result.summary, vouched: result.vouched };
            if !result.participants.is_empty() {
                self.participants = result.participants.iter().copied().collect();
                self.alone = self.participants.iter().all(|&node| node == self.node);
            }
            if result.generation > self.used {
                self.used = result.generation;
                self.cap = None;
                used.recalled = Some((result.recalls, result.promised));
            }
            // Only now: an earlier result may presuppose that this node still vouches.
            for (class, accounted) in result.accounted {
                self.streams.entry(class).or_default().accounted = accounted;
            }
            used.queries = used.queries.max(result.queries);
            used.bounds = true;
        }
        used.bounds |= self.account(streams);
        used
    }

    /// Whether the messages of a stream up to this position are here, or will never be.
    fn has_arrived(
        &self,
        streams: &impl Streams,
        class: PublishedClass,
        node: NodeId,
        sent: SentPosition,
    ) -> bool {
        match streams.progress(class, node) {
            Progress::Delivered(number) => number >= sent.number,
            Progress::Coming => false,
            Progress::Unwanted => true,
            // The publication may have been settled since the result was made.
            Progress::Unpublished => self
                .awaited
                .get(&(class, node))
                .is_none_or(|latest| latest.settled && streams.version() >= latest.version),
        }
    }

    /// Whether no result is awaited, and none waits.
    pub(super) fn is_at_rest(&self) -> bool {
        !self.due
            && self.results.is_empty()
            && self.outgoing.is_empty()
            && !(self.participates && self.is_recalled())
    }

    /// Whether nothing beyond the recall is granted until its result has come.
    pub(super) fn is_recalled(&self) -> bool {
        self.cap.is_some()
    }

    /// The streams that the next result waits for, with the numbers of the last message that has
    /// arrived and of the one that must.
    pub(super) fn missing(&self) -> impl Iterator<Item = (PublishedClass, NodeId, u64, u64)> {
        self.results.front().into_iter().flat_map(|result| &result.sent).filter_map(|&(class, node, sent)| {
            let arrived = self.received.get(&(class, node)).copied().unwrap_or(0);
            let is_missing = arrived < sent.number && self.awaited.contains_key(&(class, node));
            is_missing.then_some((class, node, arrived, sent.number))
        })
    }

    /// The least time stamps of messages that may be on their way: from here, and from others.
    pub(super) fn on_the_way(&self) -> (Bound, Bound) {
        (self.own_vouched(), self.others.vouched)
    }

    /// Notes which messages have arrived everywhere. Returns whether that changes a bound.
    fn account(&mut self, streams: &impl Streams) -> bool {
        let before = self.own_vouched();
        for (&class, stream) in &mut self.streams {
            if stream.outstanding.is_empty() {
                continue;
            }
            let listed = &stream.accounted.listed;
            let unheard = |node| self.participants.contains(&node) && !listed.contains(&node);
            let number = match self.alone {
                true => u64::MAX,
                false if streams.followers(class).any(unheard) => 0,
                false => stream.accounted.number,
            };
            while let Some(&(first, bound)) = stream.outstanding.front()
                && first <= number
            {
                stream.outstanding.pop_front();
                self.vouched.remove(&(bound, class, first));
            }
        }
        self.own_vouched() != before
    }

    /// Looks at the streams of others that have moved.
    fn refresh_received(&mut self, streams: &mut impl Streams) {
        if !self.participates {
            return;
        }
        for stream in streams.take_moved() {
            let (class, node) = stream;
            let position = match streams.progress(class, node) {
                Progress::Delivered(number) => Some(number),
                Progress::Coming => Some(self.received.get(&stream).copied().unwrap_or(0)),
                Progress::Unpublished => self.received.get(&stream).copied(),
                Progress::Unwanted => None,
            };
            self.set_received(stream, position);
        }
        self.awaited.retain(|&(class, node), sent| {
            let stream = (class, node);
            match streams.progress(class, node) {
                Progress::Delivered(number) => number < sent.number,
                Progress::Coming => true,
                Progress::Unwanted => false,
                Progress::Unpublished => {
                    let gone = sent.settled && streams.version() >= sent.version;
                    if gone && self.received.insert(stream, sent.number) != Some(sent.number) {
                        self.changed.insert(stream);
                    }
                    !gone
                }
            }
        });
    }

    fn set_received(&mut self, stream: (PublishedClass, NodeId), position: Option<u64>) {
        let before = self.received.get(&stream).copied();
        let position = position.map(|number| number.max(before.unwrap_or(0)));
        if position == before {
            return;
        }
        self.changed.insert(stream);
        match position {
            Some(number) => self.received.insert(stream, number),
            None => self.received.remove(&stream),
        };
    }

    /// Reports the state of this node if that is due.
    pub(super) fn report(
        &mut self,
        own: OwnState,
        streams: &mut impl Streams,
        promised: impl FnOnce() -> Bound,
    ) {
        let Some(home) = self.home else { return };
        if !self.participates && !self.due {
            return;
        }
        self.refresh_received(streams);
        // The time home keeps nothing of a node that does not take part.
        let covers = match self.covers_stale && self.participates {
            true => self.changed_covers(streams),
            false => Vec::new(),
        };
        let version = streams.version();
        if !self.is_due(own, streams, &covers, version) {
            return;
        }
        self.due = false;
        self.covers_stale &= !self.participates;
        self.conditional |= own.summary.shortest_delay().is_some();
        self.serial += 1;
        let wants_more = covers.iter().any(|&(_, on)| on);
        if wants_more {
            self.serial_min = self.serial;
        }
        for &(class, on) in &covers {
            if on {
                self.covers.insert(class)
            } else {
                self.covers.remove(&class)
            };
        }
        let vouched = self.own_vouched();
        self.last = Some((own, vouched, version));
        let changed = std::mem::take(&mut self.changed);
        let received = changed
            .into_iter()
            .map(|(class, node)| (class, node, self.received.get(&(class, node)).copied()));
        let report = Report {
            epoch: self.epoch,
            generation: self.answered,
            serial: self.serial,
            participates: self.participates,
            recalls: self.recalls,
            queries: self.queries,
            summary: own.summary,
            vouched,
            outstanding: self.vouched.len() as u64,
            want: own.want,
            promised: promised(),
            version,
            covers,
            received: received.collect(),
            sent: self.changed_streams(streams, version),
        };
        tracing::trace!(%home, ?report, "report of logical times");
        self.outgoing.push_back((home, TimeMessage::Report(Box::new(report))));
    }

    fn changed_covers(&self, streams: &impl Streams) -> Vec<(PublishedClass, bool)> {
        let now: BTreeSet<_> = streams.covered().collect();
        let gone = self.covers.difference(&now).map(|&class| (class, false));
        now.difference(&self.covers).map(|&class| (class, true)).chain(gone).collect()
    }

    fn changed_streams(
        &mut self,
        streams: &impl Streams,
        version: u64,
    ) -> Vec<(PublishedClass, SentPosition)> {
        let mut changed = Vec::new();
        for (&class, stream) in self.streams.iter_mut().filter(|(_, stream)| stream.last > 0) {
            let settled = streams.is_settled(class);
            let same = |before: SentPosition| (before.number, before.settled) == (stream.last, settled);
            if !stream.reported.is_some_and(same) {
                let sent = SentPosition { number: stream.last, settled, version };
                stream.reported = Some(sent);
                changed.push((class, sent));
            }
        }
        changed
    }

    /// Whether a report would help another node, or this one.
    fn is_due(
        &self,
        own: OwnState,
        streams: &impl Streams,
        covers: &[(PublishedClass, bool)],
        version: u64,
    ) -> bool {
        let Some((last, vouched, last_version)) = self.last else { return true };
        if self.due || covers.iter().any(|&(_, on)| on) || self.is_newly_settled(streams) {
            return true;
        }
        if (last.summary, last.want) != (own.summary, own.want) {
            return true;
        }
        // Without conditional federates nobody depends on the rest.
        let now = self.own_vouched();
        self.conditional
            && (!self.changed.is_empty()
                || now > vouched
                || vouched == Bound::INFINITE && now < vouched && own.want.is_some()
                || version != last_version)
    }

    /// Whether a stream was reported as unsettled and is settled now.
    fn is_newly_settled(&self, streams: &impl Streams) -> bool {
        let unsettled = |stream: &Outbound| stream.reported.is_some_and(|reported| !reported.settled);
        self.streams.iter().any(|(&class, stream)| unsettled(stream) && streams.is_settled(class))
    }

    /// The next message for another node, or for this one.
    pub(super) fn poll_message(&mut self) -> Option<(NodeId, TimeMessage)> {
        self.outgoing.pop_front()
    }
}
