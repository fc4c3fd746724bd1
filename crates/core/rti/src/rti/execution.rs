//! One federation execution on one node: its machines, and the application of their effects.

use super::Shared;
use super::saving::Capture;
use crate::control::{Channels, Command, ExecutionId, Federation, NodeId, PublishedClass};
use crate::effect::{Change, Effect, Effects, MomRequest};
use crate::mom::Mom;
use crate::object::losses::Rehoming;
use crate::object::objects::Objects;
use crate::proposal::{Completion, Proposal};
use crate::replica::context::Context;
use crate::replica::replication::{FollowerChange, ReplicaEvent, Replication};
use crate::replica::time::TimeStreams;
use crate::services::query_answer;
use crate::time::{TimeEvent, TimeInput, TimeManager};
use crate::wire::{ObjectMessage, PeerMessage, StreamEvent, StreamMessage};
use hla::fom::{Edition, Fdd};
use hla::handle::FederateHandle;
use router::WireError;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Whether constrained federates advance although no other federate regulates time. The switch came
/// with the 2025 edition; before, they always did.
pub(super) fn allows_non_regulated_grant(model: &Fdd) -> bool {
    model.switches().non_regulated_grant || model.edition() == Edition::Hla2010
}

/// Deliveries of time management whose effects are applied together: few enough for these to stay
/// in the nearest cache.
const DELIVERIES_AT_ONCE: usize = 32;

/// The machines of one federation execution.
pub(crate) struct Execution {
    pub(crate) objects: Objects,
    pub(crate) time: TimeManager,
    pub(crate) replication: Replication,
    pub(crate) mom: Mom,
    /// The number of the save that is scheduled.
    pub(super) save: Option<u64>,
    /// The control plane was told that all constrained federates here have come to its time.
    pub(super) save_reported: bool,
    /// The last report about the channels that are being drained.
    pub(super) channels: Option<Channels>,
    /// The part of an image that is being copied.
    pub(super) capture: Option<Box<Capture>>,
    /// The part that was copied.
    pub(super) part: Option<Arc<[u8]>>,
    /// Memory of the objects, as counted in the sum of all executions.
    counted_bytes: usize,
}

impl Execution {
    pub(super) fn new(federation: &Federation, node: NodeId) -> Self {
        let id = federation.id;
        let mut time = TimeManager::new(federation.time);
        time.set_non_regulated_grant(allows_non_regulated_grant(&federation.model));
        let mut objects = Objects::new(id, node, federation.model.clone(), federation.time);
        objects.auto_provide = federation.auto_provide();
        objects.last_instance = federation.last_instance(node);
        Self {
            objects,
            time,
            replication: Replication::new(id),
            mom: Mom::new(&federation.model),
            save: None,
            save_reported: false,
            channels: None,
            capture: None,
            part: None,
            counted_bytes: 0,
        }
    }

    pub(super) fn id(&self) -> ExecutionId {
        self.objects.id
    }

    /// Runs a method of the replication.
    pub(super) fn replicate<T>(
        &mut self,
        shared: &mut Shared,
        act: impl FnOnce(&mut Replication, &mut Context<'_>) -> T,
    ) -> T {
        let Shared { now, peers, timers, .. } = shared;
        act(&mut self.replication, &mut Context { now: *now, peers, timers, objects: &self.objects })
    }

    /// Runs a method of the objects, and applies its effects.
    pub(super) fn act<T>(
        &mut self,
        shared: &mut Shared,
        act: impl FnOnce(&mut Objects, &mut Effects) -> T,
    ) -> T {
        let result = act(&mut self.objects, &mut shared.effects);
        self.settle(shared);
        result
    }

    /// Runs a service, and applies its effects.
    pub(super) fn serve<T>(
        &mut self,
        shared: &mut Shared,
        serve: impl FnOnce(&mut Objects, &mut TimeManager, &mut Effects) -> T,
    ) -> T {
        let result = serve(&mut self.objects, &mut self.time, &mut shared.effects);
        self.settle(shared);
        result
    }

    /// Applies all effects, and handles all events of the replication and of time management, until
    /// nothing is left to do. An invalid event is logged and skipped.
    pub(super) fn settle(&mut self, shared: &mut Shared) {
        if let Err(error) = self.try_settle(shared) {
            tracing::warn!(%error, "an event of another node makes no sense");
        }
    }

    /// Like [`settle`](Self::settle).
    ///
    /// # Errors
    /// That of the first invalid event. The others were applied.
    pub(super) fn try_settle(&mut self, shared: &mut Shared) -> Result<(), WireError> {
        let mut result = Ok(());
        self.time.set_now(shared.now);
        self.time.begin_turn();
        loop {
            // All events of a packet are handled first. Their effects are then applied together, in
            // the same order.
            while let Some(event) = self.replication.poll_event() {
                result = result.and(self.take_event(shared, event));
            }
            if shared.effects.is_empty() {
                if !self.take_time_events(shared) {
                    break;
                }
                continue;
            }
            let mut effects = shared.effects.take();
            for effect in effects.drain(..) {
                if let Effect::Time(input) = effect {
                    self.inform_time(shared, input);
                } else if let Some(change) = shared.apply(effect) {
                    self.apply_change(shared, change);
                }
            }
            shared.effects.reuse(effects);
        }
        let bytes = self.objects.bytes();
        shared.object_bytes = shared.object_bytes + bytes - std::mem::replace(&mut self.counted_bytes, bytes);
        if shared.effects.take_review_following() {
            shared.reviews.insert(self.id());
        }
        if !self.objects.is_settled() || self.time.has_work() {
            shared.working.insert(self.id());
        }
        if self.save.is_some() {
            self.report_save_reached(shared, BTreeSet::new());
        }
        if self.time.is_exchange_due(self.replication.has_moved()) {
            shared.exchanges.insert(self.id());
        }
        result
    }

    fn apply_change(&mut self, shared: &mut Shared, change: Change) {
        match change {
            Change::Append { class, event, best_effort, after } => {
                let number =
                    self.replicate(shared, |r, context| r.append(context, class, &event, best_effort, after));
                if event.is_in_time() {
                    self.note_appended(class, &event, number);
                }
                if let StreamEvent::Updated { payload, .. } = event {
                    self.objects.reuse(payload);
                }
            }
            Change::Publish { class, on } => {
                self.replicate(shared, |r, context| r.publish(context, class, on));
                let (execution, node) = (self.id(), self.objects.node);
                let command = Command::Publishes { execution, node, class, on };
                shared.proposals.push_back(Proposal::new(command));
            }
            // Reviewed at the end of the call. Its declarations go to the nodes that are already
            // followed, and a node that is followed from then on receives all declarations.
            Change::Cover { class } => {
                self.time.coverage_changed();
                if self.mom.concerns(class) {
                    shared.managed.push_back((self.id(), MomRequest::Covered(class)));
                }
                shared.covers.push_back((self.id(), class));
            }
            Change::Declare(declaration) => {
                self.replicate(shared, |r, context| r.declare(context, declaration));
            }
            Change::Send { to, message } => {
                self.replicate(shared, |r, context| r.send_object(context, to, message));
            }
            Change::SendToHome { class, home, request } => {
                self.replicate(shared, |r, context| r.send_to_home(context, (class, home), request));
            }
            Change::SendToFederate { federate, message } => {
                shared.forwards.push_back((self.id(), federate, message));
            }
            Change::SendToPublishers { class, message } => {
                self.replicate(shared, |r, context| r.send_to_publishers(context, class, message));
            }
            Change::Forgotten { class, node } => {
                self.replicate(shared, |r, context| r.forgotten(context, class, node));
            }
            Change::Rehomed { class } => {
                let class = PublishedClass::Objects(class);
                self.replicate(shared, |r, context| r.review_following(context, class, false));
            }
        }
    }

    /// Notes that an event in time-stamp order was appended to a stream, under this number if any
    /// node may receive it.
    fn note_appended(&mut self, class: PublishedClass, event: &StreamEvent, number: Option<u64>) {
        let Some(number) = number else { return };
        self.replication.note_in_time(class);
        let stamp = event.stamp_in_time();
        let time = stamp.and_then(|stamp| self.objects.time.decode_time(&stamp.time).ok());
        self.time.appended(class, number, time);
        if let Some(stamp) = stamp {
            self.time.carried(stamp.retraction, class, event.instance());
        }
    }

    /// Reports to other nodes, and uses their reports, once nothing else is left to do here. Returns
    /// whether anything has happened here.
    pub(super) fn exchange_time(&mut self, shared: &mut Shared, federation: &Federation) -> bool {
        let mut progress = false;
        loop {
            let Self { objects, time, replication, .. } = self;
            let mut streams = TimeStreams { replication, objects, federation };
            let more = time.exchange(&mut streams);
            if self.time.has_message() {
                self.replicate(shared, |r, context| r.announce_in_time(context));
            }
            while let Some((to, body)) = self.time.poll_message() {
                let counters = &mut shared.peers.counters;
                counters.time_messages += 1;
                counters.time_bytes += body.len() as u64;
                shared.peers.send_to(to, self.id(), 0, &PeerMessage::Time(body));
            }
            if !more {
                return progress;
            }
            progress = true;
            self.settle(shared);
        }
    }

    /// Passes a change on to time management.
    fn inform_time(&mut self, shared: &mut Shared, input: TimeInput) {
        if let Some(federate) = self.time.handle(input) {
            self.count_queue(shared, federate);
        }
    }

    /// Counts the queue of a federate against the limits on what may wait for it.
    pub(super) fn count_queue(&self, shared: &mut Shared, federate: FederateHandle) {
        if let Some(federate) = self.objects.federates.get(&federate) {
            let (messages, bytes) = self.time.queued(federate.handle);
            shared.delivery.set_timed(federate.client, messages, bytes);
        }
    }

    /// Carries out one request of time management, or several deliveries: none of these changes what
    /// the next one depends on. Returns false if there are no requests.
    fn take_time_events(&mut self, shared: &mut Shared) -> bool {
        let mut taken = 0;
        while taken < DELIVERIES_AT_ONCE
            && let Some(event) = self.time.poll_event()
        {
            taken += 1;
            let is_delivery = matches!(event, TimeEvent::Deliver { .. });
            self.take_time_event(shared, event);
            if !is_delivery {
                break;
            }
        }
        taken > 0
    }

    /// Carries out a request of time management.
    fn take_time_event(&mut self, shared: &mut Shared, event: TimeEvent) {
        if let (true, Some(federate)) = (self.mom.tells(), event.concerns()) {
            shared.managed.push_back((self.id(), MomRequest::Changed(federate)));
        }
        let Self { objects, time, .. } = self;
        let effects = &mut shared.effects;
        match event {
            TimeEvent::Deliver { to, message, received } => {
                let (stamp, retraction) = (message.time, message.retraction);
                if objects.deliver_timed(effects, to, *message, received) {
                    time.note_early(to, retraction, stamp);
                }
            }
            TimeEvent::Notify { to, callback } => objects.notify(effects, to, callback),
            TimeEvent::Withhold { to, on } => {
                if let Some(federate) = objects.federates.get(&to) {
                    effects.push(Effect::HoldReceiveOrder { to: federate.client, on });
                }
            }
            TimeEvent::Constrained { federate, on } => {
                if let Some(federate) = objects.federates.get_mut(&federate) {
                    federate.constrained = on;
                }
            }
            TimeEvent::SaveReached(federate) => {
                self.report_save_reached(shared, BTreeSet::from([federate]));
            }
            TimeEvent::Shortened(federate) => self.count_queue(shared, federate),
            TimeEvent::Reinstate(instance) => objects.reinstate(effects, instance),
            TimeEvent::DeletionFinal(instance) => objects.deletion_is_final(effects, instance),
            TimeEvent::RetractInStreams { retraction, time, streams } => {
                for (class, instance) in streams {
                    let time = time.encode();
                    effects.append(class, StreamEvent::Retracted { instance, retraction, time });
                }
            }
            TimeEvent::Answer { caller, call, query, time } => {
                let answer = query_answer(query, time, objects.time);
                shared.completions.push_back(Completion { caller, call, answer: Ok(answer) });
            }
        }
    }

    fn take_event(&mut self, shared: &mut Shared, event: ReplicaEvent) -> Result<(), WireError> {
        let Shared { effects, delivery, .. } = shared;
        match event {
            ReplicaEvent::Event { class, from, event, best_effort } => {
                let taken = self.objects.apply(effects, class, from, event)?;
                if best_effort {
                    let counters = &mut shared.peers.counters;
                    counters.best_effort_delivered += u64::from(taken);
                    counters.best_effort_dropped += u64::from(!taken);
                }
            }
            ReplicaEvent::Snapshot { range, records } => {
                let congested = |client| delivery.is_congested(client);
                return self.objects.apply_snapshot(effects, &range, &records, congested);
            }
            ReplicaEvent::Live { class, from } => self.objects.repeat_requests_to(effects, class, from),
            ReplicaEvent::Forget { class, from } => self.objects.forget_replicas(effects, class, from),
            ReplicaEvent::Lost { caller, why } => shared.delivery.lose(caller, why),
        }
        Ok(())
    }

    /// Begins replication of this federation execution among many nodes.
    pub(super) fn start_replication(&mut self, shared: &mut Shared, federation: &Federation, removals: u32) {
        if self.objects.replicated {
            return;
        }
        self.time.enter_network(self.objects.node, federation.time_home(), removals);
        self.replicate(shared, |r, context| r.learn_publishers(context, federation));
        self.act(shared, Objects::start_replication);
        self.replication.forget_beginnings();
    }

    /// Handles a message of another node.
    ///
    /// # Errors
    /// It is malformed, or does not fit the state here.
    pub(super) fn handle_message(
        &mut self,
        shared: &mut Shared,
        from: NodeId,
        message: PeerMessage,
        federation: Option<&Federation>,
    ) -> Result<(), WireError> {
        let declares = matches!(
            message,
            PeerMessage::Objects(ObjectMessage::Declare(_))
                | PeerMessage::Stream(_, StreamMessage::Attach { .. })
        );
        let handled = match message {
            PeerMessage::Objects(message) => {
                self.objects.handle_message(&mut shared.effects, from, message, federation)
            }
            PeerMessage::Time(body) => self.time.handle_peer(from, body),
            PeerMessage::Stream(class, message) => {
                self.handle_stream_message(shared, (class, from), message, federation)
            }
        };
        if declares {
            self.replicate(shared, Replication::subscriptions_changed);
        }
        handled.and(self.try_settle(shared))
    }

    /// Handles a message about a stream. The beginning and the end of following also change the
    /// known federates of that node.
    fn handle_stream_message(
        &mut self,
        shared: &mut Shared,
        (class, from): (PublishedClass, NodeId),
        mut message: StreamMessage,
        federation: Option<&Federation>,
    ) -> Result<(), WireError> {
        self.time.streams_changed();
        if let StreamMessage::Attach { declarations, .. } = &mut message {
            let joined = |federate| federation.is_some_and(|f| f.member(federate).is_some());
            let mut declarations = std::mem::take(declarations);
            declarations.retain(|declaration| joined(declaration.federate()));
            self.act(shared, |objects, effects| objects.declared_for(effects, from, class, declarations));
        }
        match self.replicate(shared, |r, context| r.handle_message(context, (class, from), message))? {
            FollowerChange::None => {}
            FollowerChange::SnapshotBegun => {
                self.act(shared, |objects, effects| objects.send_tombstones_of(effects, from, class));
            }
            FollowerChange::Detached { followed } => {
                self.act(shared, |objects, effects| objects.undeclare(effects, from, class, &followed));
            }
        }
        Ok(())
    }

    /// A node is gone for good and its federates have resigned. Instances at home there move to
    /// `new_home`, in slices.
    pub(super) fn remove_peer(
        &mut self,
        shared: &mut Shared,
        gone: NodeId,
        new_home: Option<NodeId>,
        federation: Option<&Federation>,
    ) {
        self.replicate(shared, |r, context| r.remove_peer(context, gone));
        let delivered = self.replication.delivered_from(gone);
        let mut others = federation.map(|federation| federation.nodes()).unwrap_or_default();
        others.retain(|&node| node != gone && node != self.objects.node);
        let part_bytes = shared.peers.limits.part_bytes;
        let rehoming = new_home.map(|new_home| Rehoming { gone, new_home, part_bytes });
        self.act(shared, |objects, effects| {
            objects.forget_federates_of(effects, gone);
            let names = federation.map(|f| &f.names);
            objects.lose_node(effects, gone, rehoming, (others, delivered), names);
        });
        self.replicate(shared, |r, context| r.leave_peer(context, gone));
        self.settle(shared);
    }

    /// Ends the machines with their federation execution.
    pub(super) fn end(self, shared: &mut Shared) {
        let Self { objects, replication, counted_bytes, .. } = self;
        shared.object_bytes -= counted_bytes;
        let Shared { now, peers, timers, .. } = shared;
        replication.end(&mut Context { now: *now, peers, timers, objects: &objects });
        let mut instances = objects.instances;
        if !instances.discard_slice() {
            shared.discarded.push_back(instances);
        }
    }
}
