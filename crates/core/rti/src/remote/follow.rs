//! The receiving side of streams: whom this node follows, and the snapshots that it gets.

use super::net::{Outgoing, Timer};
use super::state::{Following, Phase};
use super::wire::{Letter, NetTopic, Record};
use crate::control::{NodeId, PublishedClass};
use crate::object::execution::Execution;
use crate::object::instance::Instance;
use crate::plane::Plane;
use bytes::Bytes;
use hla::handle::ObjectInstanceHandle;
use router::WireError;
use std::collections::BTreeSet;
use std::time::Duration;

/// How long after a refusal a node is asked again.
const REFUSED_WAIT: Duration = Duration::from_secs(1);

/// After all instances.
const LAST: ObjectInstanceHandle = ObjectInstanceHandle(u64::MAX);

impl Execution {
    /// Federates of this node subscribe `what`, or none does any more.
    pub(crate) fn cover(&mut self, plane: &mut Plane, what: PublishedClass, any: bool) {
        let Some(remote) = self.remote.as_deref_mut() else { return };
        if any {
            remote.covered.insert(what);
        } else {
            remote.covered.remove(&what);
        }
        self.refresh_following(plane, what, false);
    }

    /// Follows those who publish `what` if that is wanted here, and nobody else. `fresh`: it was wanted before they were
    /// known to publish it, so that they are followed from their beginning.
    pub(super) fn refresh_following(&mut self, plane: &mut Plane, what: PublishedClass, fresh: bool) {
        let Some(remote) = self.remote.as_deref() else { return };
        let publishers = remote.publishers.get(&what).into_iter().flatten();
        let wanted: Vec<_> =
            publishers.copied().filter(|&node| node != self.node && self.needs(what, node)).collect();
        let followed = |node| (what, node);
        let surplus: Vec<NodeId> = remote
            .followed
            .range(followed(NodeId(0))..=followed(NodeId(u16::MAX)))
            .filter(|((_, node), following)| match following.phase {
                // One that ended says so itself, after all that it has to say.
                Phase::Refused { .. } => !wanted.contains(node),
                Phase::Leaving { .. } => false,
                _ => !self.needs(what, *node),
            })
            .map(|((_, node), _)| *node)
            .collect();
        let missing: Vec<NodeId> =
            wanted.into_iter().filter(|&node| !remote.followed.contains_key(&followed(node))).collect();
        for node in surplus {
            self.unfollow(plane, what, node);
        }
        for node in missing {
            self.follow(plane, what, node, fresh);
        }
        self.refresh_interest(plane, what);
    }

    /// Whether federates of this node are concerned by what `node` says: they subscribe it, or know an instance of it.
    fn needs(&self, what: PublishedClass, node: NodeId) -> bool {
        let Some(remote) = self.remote.as_deref() else { return false };
        if remote.covered.contains(&what) {
            return true;
        }
        let PublishedClass::Objects(class) = what else { return false };
        let known = |handle| {
            self.instances.get(handle).is_some_and(|object| object.home == node && !object.known().is_empty())
        };
        self.instances.of_class(class).any(known)
    }

    /// The routers need know of an interest as long as something is wanted or followed.
    fn refresh_interest(&mut self, plane: &mut Plane, what: PublishedClass) {
        let (Some(remote), Some(net)) = (self.remote.as_deref_mut(), plane.net.as_deref_mut()) else {
            return;
        };
        let any = remote.covered.contains(&what)
            || remote.followed.range((what, NodeId(0))..=(what, NodeId(u16::MAX))).next().is_some();
        let changed = if any { remote.interested.insert(what) } else { remote.interested.remove(&what) };
        if changed {
            net.tell(Outgoing::Interest { topic: remote.topic(what), any });
        }
    }

    fn follow(&mut self, plane: &mut Plane, what: PublishedClass, node: NodeId, fresh: bool) {
        let declarations = self.declarations_for(what);
        let (Some(remote), Some(net)) = (self.remote.as_deref_mut(), plane.net.as_deref_mut()) else {
            return;
        };
        remote.followed.insert((what, node), Following::new());
        let topic = remote.topic(what);
        net.write(node, remote.model, &Letter::Attach { topic, fresh, declarations });
    }

    /// Follows no more, and forgets the replicas, which no federate knows.
    fn unfollow(&mut self, plane: &mut Plane, what: PublishedClass, node: NodeId) {
        self.leave(plane, what, node, false);
        for handle in self.replicas(what, node) {
            self.instances.remove(handle);
        }
    }

    fn leave(&mut self, plane: &mut Plane, what: PublishedClass, node: NodeId, fresh: bool) {
        let (Some(remote), Some(net)) = (self.remote.as_deref_mut(), plane.net.as_deref_mut()) else {
            return;
        };
        let topic = remote.topic(what);
        let leaving = Following { phase: Phase::Leaving { fresh }, ..Following::new() };
        remote.followed.insert((what, node), leaving);
        net.timers.clear(Timer::Follow(topic, node));
        net.write(node, remote.model, &Letter::Detach { topic });
    }

    /// The other node knows that it is no longer followed.
    pub(super) fn left(&mut self, plane: &mut Plane, what: PublishedClass, from: NodeId) {
        let Some(remote) = self.remote.as_deref_mut() else { return };
        if let Some(Following { phase: Phase::Leaving { fresh }, .. }) = remote.followed.get(&(what, from)) {
            let fresh = *fresh;
            remote.followed.remove(&(what, from));
            self.refresh_following(plane, what, fresh);
        }
    }

    /// The replicas here of instances of a class whose home is `node`.
    pub(super) fn replicas(&self, what: PublishedClass, node: NodeId) -> Vec<ObjectInstanceHandle> {
        let PublishedClass::Objects(class) = what else { return Vec::new() };
        let of_class = self.instances.of_class(class);
        of_class.filter(|&handle| self.instances.get(handle).is_some_and(|o| o.home == node)).collect()
    }

    /// Streams that are not covered are followed only while a federate knows an instance of them.
    pub(crate) fn drop_loose_ends(&mut self, plane: &mut Plane) {
        let Some(remote) = self.remote.as_deref_mut() else { return };
        if !std::mem::take(&mut remote.loosened) {
            return;
        }
        let uncovered = remote.followed.keys().map(|(what, _)| *what);
        let uncovered: BTreeSet<_> = uncovered.filter(|what| !remote.covered.contains(what)).collect();
        for what in uncovered {
            self.refresh_following(plane, what, false);
        }
    }

    /// Part of a snapshot came: instances after those that are here up to `until`, as of number `at`. `None` for `until`
    /// means to the end. A fresh stream has no instances at its start: all of them come with its messages.
    pub(super) fn take_part(
        &mut self,
        plane: &mut Plane,
        topic: NetTopic,
        from: NodeId,
        part: (u64, Option<ObjectInstanceHandle>, Vec<Record>, bool),
    ) -> Result<(), WireError> {
        let (at, until, records, replay) = part;
        let what = topic.what();
        let (Some(remote), Some(net)) = (self.remote.as_deref_mut(), plane.net.as_deref_mut()) else {
            return Ok(());
        };
        let Some(following) = remote.followed.get_mut(&(what, from)) else { return Ok(()) };
        let (after, limbo) = match &mut following.phase {
            Phase::Asked => {
                following.inbound.start(plane.now, at, net.limits.patience());
                (ObjectInstanceHandle::INVALID, Vec::new())
            }
            Phase::Snapshot { until, limbo } => (*until, std::mem::take(limbo)),
            Phase::Refused { .. } | Phase::Live | Phase::Leaving { .. } => return Ok(()),
        };
        let end = until.unwrap_or(LAST);
        following.as_of.push((end, at));
        following.phase = match until {
            Some(until) => Phase::Snapshot { until, limbo: Vec::new() },
            None => Phase::Live,
        };
        if let Some(after) = until {
            net.write(from, remote.model, &Letter::More { topic, after });
        }
        let mut result = Ok(());
        if let PublishedClass::Objects(class) = what
            && !replay
        {
            let here: BTreeSet<_> = records.iter().map(|record| record.instance).collect();
            for record in records {
                result = result.and(self.take_record(plane, class, from, &record));
            }
            self.remove_vanished(plane, what, from, after, end, &here);
        }
        for (number, body) in limbo {
            result = result.and(self.apply_message(plane, what, from, number, body));
        }
        result.and(self.deliver(plane, what, from))
    }

    /// Instances that the other node no longer has, although it is their home.
    fn remove_vanished(
        &mut self,
        plane: &mut Plane,
        what: PublishedClass,
        from: NodeId,
        after: ObjectInstanceHandle,
        end: ObjectInstanceHandle,
        here: &BTreeSet<ObjectInstanceHandle>,
    ) {
        let PublishedClass::Objects(class) = what else { return };
        let range = self.instances.of_class_after(class, after).take_while(|&handle| handle <= end);
        // One that another node registered may be on its way to this home, which does not know it yet.
        let registered = |object: &&Instance| NodeId::of_instance(object.handle) == from;
        let vanished = range
            .filter_map(|handle| self.instances.get(handle))
            .filter(|object| object.home == from && !here.contains(&object.handle))
            .filter(registered);
        let vanished: Vec<_> = vanished.map(|object| (object.handle, object.producer)).collect();
        for (handle, producer) in vanished {
            self.remove(plane, producer, handle, &Bytes::new(), None);
        }
    }

    /// Sees to it that gaps are asked for in time.
    pub(super) fn watch_gap(&mut self, plane: &mut Plane, what: PublishedClass, from: NodeId) {
        let (Some(remote), Some(net)) = (self.remote.as_deref(), plane.net.as_deref_mut()) else { return };
        let timer = Timer::Follow(remote.topic(what), from);
        let Some(following) = remote.followed.get(&(what, from)) else { return };
        let again = match following.phase {
            Phase::Refused { again } => Some(again),
            _ => following.inbound.timeout(),
        };
        match again {
            Some(at) if net.timers.get(timer) != Some(at) => net.timers.set(timer, at),
            Some(_) => {}
            None => {
                net.timers.clear(timer);
            }
        }
    }

    /// The deadline of a stream has come.
    pub(crate) fn follow_due(&mut self, plane: &mut Plane, what: PublishedClass, from: NodeId) {
        let (Some(remote), Some(net)) = (self.remote.as_deref_mut(), plane.net.as_deref_mut()) else {
            return;
        };
        let (topic, model) = (remote.topic(what), remote.model);
        let Some(following) = remote.followed.get_mut(&(what, from)) else { return };
        if let Phase::Refused { again } = following.phase {
            if again <= plane.now {
                self.follow(plane, what, from, true);
            }
        } else if let Some(range) = following.inbound.poll_request(plane.now, net.limits.patience()) {
            net.counters.asked += 1;
            let (from_number, to) = range.into_inner();
            net.write(from, model, &Letter::Ask { topic, from: from_number, to });
        }
        self.watch_gap(plane, what, from);
    }

    /// The other node publishes nothing about the topic.
    pub(super) fn refused(&mut self, plane: &mut Plane, what: PublishedClass, from: NodeId) {
        let Some(remote) = self.remote.as_deref_mut() else { return };
        let Some(following) = remote.followed.get_mut(&(what, from)) else { return };
        if !following.takes() {
            return;
        }
        following.phase = Phase::Refused { again: plane.now + REFUSED_WAIT };
        self.refresh_following(plane, what, true);
        self.watch_gap(plane, what, from);
    }

    /// The other node has said all about the topic; it may already have begun anew.
    pub(super) fn ended(&mut self, plane: &mut Plane, what: PublishedClass, from: NodeId) {
        self.leave(plane, what, from, true);
    }

    /// The other node does not have any more what was asked for.
    pub(super) fn gone(&mut self, plane: &mut Plane, what: PublishedClass, from: NodeId) {
        let following = self.remote.as_deref().and_then(|remote| remote.followed.get(&(what, from)));
        if following.is_some_and(Following::takes) {
            self.broken(plane, what, from);
        }
    }

    /// What this node missed is kept no more: the federates that it concerned are told, and the stream is followed
    /// from now.
    fn broken(&mut self, plane: &mut Plane, what: PublishedClass, from: NodeId) {
        let Some(net) = plane.net.as_deref_mut() else { return };
        net.counters.broken += 1;
        let topic = NetTopic::new(self.id, what);
        let why = format!(
            "messages of RTI node {from} ({}) were lost on the way and can no longer be had",
            self.describe(what)
        );
        tracing::warn!(?topic, %from, "a stream is broken: its history does not reach back far enough");
        for caller in self.concerned(plane, what, from) {
            plane.lose(caller, why.clone());
        }
        self.unfollow(plane, what, from);
    }

    fn describe(&self, what: PublishedClass) -> String {
        match what {
            PublishedClass::Objects(class) => {
                self.model.object_class(class).map_or_else(String::new, |class| class.name.clone())
            }
            PublishedClass::Interactions(class) => {
                self.model.interaction_class(class).map_or_else(String::new, |class| class.name.clone())
            }
            PublishedClass::Directed => "directed interactions".to_owned(),
        }
    }

    /// The callers of federates that subscribe `what`, or know an instance of it whose home is `from`.
    fn concerned(&self, plane: &Plane, what: PublishedClass, from: NodeId) -> BTreeSet<crate::CallerId> {
        let topic = crate::plane::Topic::of(self.id, what);
        let mut concerned: BTreeSet<_> = self
            .federates
            .values()
            .filter(|federate| plane.is_subscribed(federate.client, topic))
            .map(|federate| federate.caller)
            .collect();
        for handle in self.replicas(what, from) {
            let known = self.instances.get(handle).map(|object| object.known()).unwrap_or_default();
            let federates = known.iter().filter_map(|known| self.federates.get(&known.federate));
            concerned.extend(federates.map(|federate| federate.caller));
        }
        concerned
    }
}
