//! The time home: merges the reports of all nodes that have federates in logical time.
//!
//! It sends a node a result when the result helps that node: when it lets a federate there be
//! granted. Only once some federate has been conditional do results also acknowledge messages.
//!
//! Before a node takes part, or a federate begins to regulate time, all participants are
//! *recalled*: each answers with the time up to which it has granted, and grants nothing beyond it
//! until the result.

use super::bound::Bound;
use super::message::{Accounted, MergedReports, Report, SentPosition, TimeMessage};
use super::summary::Summary;
use crate::control::{NodeId, PublishedClass};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A node with this many messages that may not have arrived everywhere is told which have, so that
/// it can forget them, although nobody is conditional.
const OUTSTANDING_MAX: u64 = 512;

/// A node that takes part.
#[derive(Debug)]
struct Member {
    generation: u64,
    serial: u64,
    recalls: u64,
    /// Recalls that it had requested when it answered the last one.
    recalled: u64,
    queries: u64,
    summary: Summary,
    vouched: Bound,
    outstanding: u64,
    want: Option<Bound>,
    promised: Bound,
    version: u64,
    sent: BTreeMap<PublishedClass, SentPosition>,
    covers: BTreeSet<PublishedClass>,
    received: BTreeMap<(PublishedClass, NodeId), u64>,
    told: Told,
}

/// The contents of the results that a node was sent.
#[derive(Debug, Default)]
struct Told {
    generation: u64,
    queries: u64,
    bound: Option<Bound>,
    conditional: bool,
    accounted: BTreeMap<PublishedClass, Accounted>,
    /// Streams of others with positions that it was not told.
    untold: BTreeSet<(PublishedClass, NodeId)>,
    /// It needs another result in any case.
    again: bool,
}

impl Member {
    fn new(nothing: Bound) -> Self {
        Self {
            generation: 0,
            serial: 0,
            recalls: 0,
            recalled: 0,
            queries: 0,
            summary: Summary::default(),
            vouched: Bound::INFINITE,
            outstanding: 0,
            want: None,
            promised: nothing,
            version: 0,
            sent: BTreeMap::new(),
            covers: BTreeSet::new(),
            received: BTreeMap::new(),
            told: Told::default(),
        }
    }

    /// Whether the node receives, or is going to receive, a stream.
    fn lists(&self, class: PublishedClass, node: NodeId) -> bool {
        self.covers.contains(&class) || self.received.contains_key(&(class, node))
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Coordinator {
    epoch: u32,
    /// The last recall that is complete.
    generation: u64,
    /// The recall that is under way.
    recalling: Option<u64>,
    /// Another recall was requested.
    requested: bool,
    /// Nodes from which no report of this epoch has come.
    expected: BTreeSet<NodeId>,
    members: BTreeMap<NodeId, Member>,
    conditional: bool,
    promised: Bound,
    nothing: Bound,
    outgoing: VecDeque<(NodeId, TimeMessage)>,
}

impl Coordinator {
    /// The first time home of a federation execution. `nothing` is the bound of its initial time.
    pub(super) fn new(epoch: u32, nothing: Bound) -> Self {
        Self {
            epoch,
            generation: 0,
            recalling: None,
            requested: false,
            expected: BTreeSet::new(),
            members: BTreeMap::new(),
            conditional: false,
            promised: nothing,
            nothing,
            outgoing: VecDeque::new(),
        }
    }

    /// The time home after a node was removed. The removal recalls all participants; `expected`
    /// are the nodes that may be among them.
    pub(super) fn restarted(epoch: u32, nothing: Bound, expected: BTreeSet<NodeId>) -> Self {
        Self { recalling: Some(1), expected, ..Self::new(epoch, nothing) }
    }

    /// Takes the report of a node.
    pub(super) fn take(&mut self, from: NodeId, report: Report) {
        self.expected.remove(&from);
        if report.participates {
            self.merge(from, report);
        }
        self.go_on();
    }

    fn merge(&mut self, from: NodeId, report: Report) {
        let nothing = self.nothing;
        let is_new = !self.members.contains_key(&from);
        let member = self.members.entry(from).or_insert_with(|| Member::new(nothing));
        self.requested |= is_new && self.recalling.is_none() || report.recalls > member.recalls;
        if is_new
            && let Some(generation) = self.recalling
            && report.generation < generation
        {
            let recall = TimeMessage::Recall { epoch: self.epoch, generation };
            self.outgoing.push_back((from, recall));
        }
        if report.generation > member.generation {
            member.recalled = report.recalls;
            member.promised = report.promised;
        }
        self.conditional |= report.summary.shortest_delay().is_some();
        member.generation = report.generation;
        member.serial = report.serial;
        member.recalls = report.recalls;
        member.queries = report.queries;
        member.summary = report.summary;
        member.vouched = report.vouched;
        member.outstanding = report.outstanding;
        member.want = report.want;
        member.version = report.version;
        for (class, node, number) in report.received.into_iter().filter(|&(_, node, _)| node != from) {
            match number {
                Some(number) => {
                    if member.received.insert((class, node), number).is_none() {
                        member.told.untold.insert((class, node));
                    }
                }
                None => {
                    member.received.remove(&(class, node));
                }
            }
        }
        let mut covered = BTreeSet::new();
        for (class, on) in report.covers {
            if !on {
                member.covers.remove(&class);
            } else if member.covers.insert(class) {
                covered.insert(class);
                member.told.again = true;
            }
        }
        self.tell_of_streams(from, report.sent, &covered);
    }

    /// Notes the streams that nodes have to be told of: those of `from` that have moved, and for
    /// `from` those of the classes that it did not cover before.
    fn tell_of_streams(
        &mut self,
        from: NodeId,
        sent: Vec<(PublishedClass, SentPosition)>,
        covered: &BTreeSet<PublishedClass>,
    ) {
        let mut known = Vec::new();
        if !covered.is_empty() {
            for (&node, member) in self.members.iter().filter(|&(&node, _)| node != from) {
                let of_classes = member.sent.keys().filter(|class| covered.contains(class));
                known.extend(of_classes.map(|&class| (class, node)));
            }
        }
        if let Some(member) = self.members.get_mut(&from) {
            member.told.untold.extend(known);
        }
        for (class, position) in sent {
            let before = self.members.get_mut(&from).and_then(|member| member.sent.insert(class, position));
            let is_settled = before.is_some_and(|before| !before.settled && position.settled);
            for (_, other) in self.members.iter_mut().filter(|&(&node, _)| node != from) {
                if other.lists(class, from) {
                    other.told.untold.insert((class, from));
                    other.told.again |= is_settled;
                }
            }
        }
    }

    /// Begins and completes recalls, and sends the results that are due.
    fn go_on(&mut self) {
        if let Some(generation) = self.recalling {
            let all = self.members.values().all(|member| member.generation >= generation);
            if !all || !self.expected.is_empty() {
                return;
            }
            self.recalling = None;
            self.generation = generation;
            self.promised = self.members.values().map(|member| member.promised).max().unwrap_or(self.nothing);
            self.members.values_mut().for_each(|member| member.told.bound = None);
            let unanswered = |member: &Member| member.recalls > member.recalled;
            self.requested = self.members.values().any(unanswered);
        }
        if std::mem::take(&mut self.requested) {
            let generation = self.generation + 1;
            self.recalling = Some(generation);
            for &node in self.members.keys() {
                let recall = TimeMessage::Recall { epoch: self.epoch, generation };
                self.outgoing.push_back((node, recall));
            }
            return;
        }
        for node in self.members.keys().copied().collect::<Vec<_>>() {
            if self.is_due(node) {
                self.send_result(node);
            }
        }
    }

    /// Whether a result would help a node.
    fn is_due(&self, node: NodeId) -> bool {
        let Some(member) = self.members.get(&node) else { return false };
        let Member { told, want, .. } = member;
        let is_new = told.generation < self.generation
            || told.queries < member.queries
            || told.again
            || self.conditional && !told.conditional;
        let is_granted = || {
            let Some(want) = *want else { return false };
            told.bound.is_none_or(|told| told < want) && self.bound_for(node) >= want
        };
        let acknowledges = || {
            let needed = match self.conditional {
                true => member.vouched != Bound::INFINITE,
                false => member.outstanding >= OUTSTANDING_MAX,
            };
            needed && self.accounted(node).any(|(class, now)| told.accounted.get(&class) != Some(&now))
        };
        is_new || is_granted() || acknowledges()
    }

    /// The bound that the others set to a node.
    fn bound_for(&self, node: NodeId) -> Bound {
        let others = self.members.iter().filter(|&(&other, _)| other != node);
        let (mut least, mut delay) = (Bound::INFINITE, None);
        for (_, member) in others {
            least = least.min(member.summary.least().map_or(Bound::INFINITE, |(bound, _)| bound));
            let own = member.summary.shortest_delay();
            delay = delay.into_iter().chain(own).min();
        }
        let vouched = self.members.values().map(|member| member.vouched).min();
        let answer = |delay| vouched.unwrap_or(Bound::INFINITE).after(delay);
        delay.map_or(least, |delay| least.min(answer(delay)))
    }

    /// For each stream of a node, the position up to which all others have received it.
    fn accounted(&self, node: NodeId) -> impl Iterator<Item = (PublishedClass, Accounted)> {
        let of = self.members.get(&node).into_iter().flat_map(|member| &member.sent);
        of.map(move |(&class, sent)| {
            let mut accounted = Accounted { number: u64::MAX, listed: Vec::new() };
            for (&other, member) in self.members.iter().filter(|&(&other, _)| other != node) {
                let position = if member.lists(class, node) {
                    accounted.listed.push(other);
                    member.received.get(&(class, node)).copied().unwrap_or(0)
                } else if sent.settled && member.version >= sent.version {
                    u64::MAX
                } else {
                    0
                };
                accounted.number = accounted.number.min(position);
            }
            (class, accounted)
        })
    }

    fn send_result(&mut self, node: NodeId) {
        let others = self.members.iter().filter(|&(&other, _)| other != node);
        let (mut summary, mut vouched) = (Summary::default(), Bound::INFINITE);
        for (_, member) in others {
            summary = summary.merge(member.summary);
            vouched = vouched.min(member.vouched);
        }
        let bound = self.bound_for(node);
        let accounted: Vec<_> = self.accounted(node).collect();
        let untold = self.members.get_mut(&node).map(|member| std::mem::take(&mut member.told.untold));
        let sent = untold
            .unwrap_or_default()
            .into_iter()
            .filter_map(|(class, from)| Some((class, from, *self.members.get(&from)?.sent.get(&class)?)));
        let sent: Vec<_> = sent.collect();
        let participants: Vec<_> = self.members.keys().copied().collect();
        let (epoch, generation, promised) = (self.epoch, self.generation, self.promised);
        let conditional = self.conditional;
        let Some(member) = self.members.get_mut(&node) else { return };
        let told = &mut member.told;
        let is_new = |(class, now): &(PublishedClass, Accounted)| told.accounted.get(class) != Some(now);
        let accounted: Vec<_> = accounted.into_iter().filter(is_new).collect();
        told.accounted.extend(accounted.iter().cloned());
        let participants = if told.generation < generation { participants } else { Vec::new() };
        told.generation = generation;
        told.queries = member.queries;
        told.bound = Some(bound);
        told.conditional = conditional;
        told.again = false;
        let result = MergedReports {
            epoch,
            generation,
            serial: member.serial,
            queries: member.queries,
            recalls: member.recalled,
            summary,
            vouched,
            promised,
            conditional,
            participants,
            sent,
            accounted,
        };
        self.outgoing.push_back((node, TimeMessage::Result(Box::new(result))));
    }

    /// The nodes that have not answered the recall that is under way.
    pub(super) fn unanswered(&self) -> impl Iterator<Item = NodeId> {
        let generation = self.recalling.unwrap_or(0);
        let late = self.members.iter().filter(move |(_, member)| member.generation < generation);
        late.map(|(&node, _)| node).chain(self.expected.iter().copied())
    }

    /// The next message to a node, which may be this one.
    pub(super) fn poll_message(&mut self) -> Option<(NodeId, TimeMessage)> {
        self.outgoing.pop_front()
    }
}
