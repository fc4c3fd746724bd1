//! Decisions about instances whose home was a dead node.
//!
//! The other nodes have delivered different parts of the dead node's stream. A federate that was
//! told that it owns an attribute must not lose it again because the new home knows less. The new
//! home therefore decides nothing until every other node with federates has reported its instances
//! and how far it had delivered the stream. Of two views of an instance the longer one holds: it
//! contains the other. Requests wait meanwhile. Requests to the dead node that are not answered are
//! repeated to the new home by the nodes of the federates.

use super::super::instance::Instance;
use super::super::objects::Objects;
use super::requests::{About, Divestiture};
use crate::control::NodeId;
use crate::effect::Effects;
use crate::wire::{OwnershipAction, OwnershipRequest, View};
use bytes::Bytes;
use hla::handle::{FederateHandle, ObjectClassHandle, ObjectInstanceHandle};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Maximum number of requests that wait for reports. It is reached only if nodes make more requests
/// than their federates can have open.
const DEFERRED_MAX: usize = 1_000_000;

/// Number of remembered views of dead nodes' streams: enough for all nodes that can die while
/// others report, and for all classes that they publish.
const VIEWS_MAX: usize = 10_000;

/// The adoption of the instances of one dead node.
#[derive(Debug, Default)]
struct Adoption {
    /// Nodes that have not reported all their instances.
    awaited: BTreeSet<NodeId>,
    /// Whether all instances here were visited.
    is_visited: bool,
    /// The number up to which the stream of a class was delivered here.
    delivered: BTreeMap<ObjectClassHandle, u64>,
    /// The same for the longest view so far.
    longest: BTreeMap<ObjectClassHandle, u64>,
    /// The views from which the owners of instances are known, if they are longer than that of this
    /// node.
    corrected: BTreeMap<ObjectInstanceHandle, u64>,
}

/// The adoptions that are not complete, and the requests that wait for them.
#[derive(Debug, Default)]
pub(crate) struct Adoptions {
    open: BTreeMap<NodeId, Adoption>,
    /// Reports about a dead node that came before its death was known here: dead node, reporter.
    early: BTreeSet<(NodeId, NodeId)>,
    deferred: VecDeque<OwnershipRequest>,
    /// How far the streams of dead nodes were delivered here.
    views: BTreeMap<(NodeId, ObjectClassHandle), u64>,
}

impl Adoptions {
    /// Notes how far the streams of a dead node were delivered here.
    pub(crate) fn note_view(&mut self, gone: NodeId, delivered: &BTreeMap<ObjectClassHandle, u64>) {
        self.views.extend(delivered.iter().map(|(&class, &number)| ((gone, class), number)));
        while self.views.len() > VIEWS_MAX {
            self.views.pop_first();
        }
    }

    /// Whether no instances of a dead node are being adopted, and no requests wait for that.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty() && self.deferred.is_empty()
    }

    /// Whether this node knows more of the owners of an instance than its new home does so far.
    pub(crate) fn knows_more(&self, class: ObjectClassHandle, view: View) -> bool {
        self.views.get(&(view.gone, class)).is_some_and(|&own| own > view.delivered)
    }

    /// The view from which the owners of an instance at home here are known, while it is being
    /// adopted.
    pub(crate) fn view(&self, node: NodeId, object: &Instance) -> Option<View> {
        let (&gone, adoption) = self.open.get_key_value(&object.registrar).or(self.open.first_key_value())?;
        // An instance that was registered here has had no other home.
        if object.registrar == node {
            return None;
        }
        let own = adoption.delivered.get(&object.class);
        let delivered = adoption.corrected.get(&object.handle).or(own).copied().unwrap_or_default();
        Some(View { gone, delivered })
    }

    /// Whether decisions must wait.
    pub(crate) fn are_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Keeps a request until this node may decide it.
    pub(super) fn defer(&mut self, request: OwnershipRequest) {
        if self.deferred.len() >= DEFERRED_MAX {
            tracing::warn!(?request, "a request about ownership is dropped: {DEFERRED_MAX} wait");
            return;
        }
        self.deferred.push_back(request);
    }

    /// Forgets the requests of a federate that has left.
    pub(super) fn remove_federate(&mut self, federate: FederateHandle) {
        self.deferred.retain(|request| request.federate != federate);
    }

    /// Begins the adoption of the instances of a dead node, whose streams were delivered here as
    /// far as `delivered` says.
    pub(crate) fn begin(
        &mut self,
        gone: NodeId,
        others: BTreeSet<NodeId>,
        delivered: BTreeMap<ObjectClassHandle, u64>,
    ) {
        let mut awaited = others;
        awaited.retain(|&node| !self.early.remove(&(gone, node)));
        let longest = delivered.clone();
        self.open.insert(gone, Adoption { awaited, delivered, longest, ..Adoption::default() });
    }

    /// Whether another node's view of an instance is longer than all views so far.
    pub(crate) fn is_longer(&mut self, gone: NodeId, class: ObjectClassHandle, delivered: u64) -> bool {
        let Some(adoption) = self.open.get_mut(&gone) else { return false };
        let longest = adoption.longest.entry(class).or_default();
        let is_longer = delivered >= *longest && delivered > 0;
        *longest = delivered.max(*longest);
        is_longer
    }

    /// The owners of an instance are known from the view of another node.
    pub(crate) fn corrected(&mut self, gone: NodeId, instance: ObjectInstanceHandle, delivered: u64) {
        if let Some(adoption) = self.open.get_mut(&gone) {
            adoption.corrected.insert(instance, delivered);
        }
    }

    /// Another node has died, and will report nothing more.
    pub(crate) fn remove_node(&mut self, node: NodeId) {
        for adoption in self.open.values_mut() {
            adoption.awaited.remove(&node);
        }
        self.early.retain(|&(_, from)| from != node);
    }
}

impl Objects {
    /// Another node has reported all its instances of a dead node.
    pub(crate) fn adopted(&mut self, effects: &mut Effects, from: NodeId, gone: NodeId) {
        match self.adoptions.open.get_mut(&gone) {
            Some(adoption) => adoption.awaited.remove(&from),
            None => self.adoptions.early.insert((gone, from)),
        };
        self.review_adoptions(effects);
    }

    /// All instances here of a dead node have this new home.
    pub(crate) fn visited_all(&mut self, effects: &mut Effects, gone: NodeId) {
        if let Some(adoption) = self.adoptions.open.get_mut(&gone) {
            adoption.is_visited = true;
        }
        self.review_adoptions(effects);
    }

    /// Ends adoptions that are complete. With the last of them, the requests that have waited are
    /// decided.
    pub(crate) fn review_adoptions(&mut self, effects: &mut Effects) {
        self.adoptions.open.retain(|_, adoption| !adoption.is_visited || !adoption.awaited.is_empty());
        if self.adoptions.are_open() {
            return;
        }
        for request in std::mem::take(&mut self.adoptions.deferred) {
            if self.decides(request.instance) {
                self.decide_and_answer(effects, &request);
            } else if self.instances.get(request.instance).is_some() {
                // The death of its home is not known here yet.
                self.adoptions.deferred.push_back(request);
            }
        }
    }

    /// Repeats what federates here have requested from the former home of an instance.
    pub(crate) fn repeat_requests(&mut self, effects: &mut Effects, instance: ObjectInstanceHandle) {
        if self.requests.is_empty() {
            return;
        }
        let About { acquisitions, divestitures, waiting } = self.requests.of(instance);
        let request = |federate, action, attribute, tag| {
            OwnershipRequest::new((instance, federate), action, vec![attribute], tag)
        };
        for ((_, federate, attribute), Divestiture { tag, .. }) in divestitures {
            self.send_request(effects, request(federate, OwnershipAction::Negotiate, attribute, tag));
        }
        waiting.into_iter().for_each(|waiting| self.send_request(effects, waiting));
        for ((_, federate, attribute), open) in acquisitions {
            let cancel = OwnershipAction::CancelAcquisition;
            for _ in 0..open.cancellations {
                self.send_request(effects, request(federate, cancel, attribute, Bytes::new()));
            }
            if !open.is_wanted {
                continue;
            }
            let action = match open.is_pending {
                true => OwnershipAction::Acquire,
                false => OwnershipAction::AcquireIfAvailable,
            };
            let class = self.instances.get(instance).and_then(|object| object.known_class(federate));
            let delivery = self.preferred_delivery(federate, class.unwrap_or_default(), attribute);
            let repeated = request(federate, action, attribute, open.tag);
            let (number, deliveries) = (open.number, vec![delivery]);
            let regions = self.associated_regions(federate, instance, &[attribute]);
            self.send_request(effects, OwnershipRequest { number, deliveries, regions, ..repeated });
        }
    }

    /// Repeats the requests about instances of a class whose home is `home`: this node follows its
    /// stream from now on, and sees the answers.
    pub(crate) fn repeat_requests_to(
        &mut self,
        effects: &mut Effects,
        class: ObjectClassHandle,
        home: NodeId,
    ) {
        for instance in self.requests.instances() {
            let object = self.instances.get(instance);
            if object.is_some_and(|object| object.class == class && object.home == home) {
                self.repeat_requests(effects, instance);
            }
        }
    }

    /// Ends all negotiations about an instance that is removed, or deleted in time-stamp order.
    pub(crate) fn end_negotiations(&mut self, effects: &mut Effects, instance: ObjectInstanceHandle) {
        self.negotiations.remove_instance(instance);
        self.offers.replace(instance, &[]);
        self.end_calls(effects, instance);
        self.requests.forget_instance(instance);
    }
}
