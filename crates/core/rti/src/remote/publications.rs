//! What this node publishes, so that others know whom to follow.

use super::net::{Net, Outgoing, Timer};
use super::state::{Beginning, Remote};
use super::wire::Saying;
use crate::control::{Command, Federation, NodeId, PublishedClass};
use crate::object::execution::Execution;
use crate::plane::Plane;
use hla::handle::FederateHandle;

impl Execution {
    /// From now on this federation execution is one of many nodes.
    pub(crate) fn start_network(&mut self, plane: &mut Plane, federation: &Federation) {
        if plane.net.is_none() || self.remote.is_some() {
            return;
        }
        let latest = federation.latest_federate();
        self.remote = Some(Box::new(Remote::new(self.id, federation.model_version(), latest)));
        self.learn_publishers(plane, federation);
        let mut published: Vec<PublishedClass> = Vec::new();
        for federate in self.federates.values() {
            published.extend(federate.publications.keys().map(|&class| PublishedClass::Objects(class)));
            published.extend(
                federate.published_interactions.iter().map(|&class| PublishedClass::Interactions(class)),
            );
        }
        published.extend(self.instances.classes().map(PublishedClass::Objects));
        published.push(PublishedClass::Directed);
        for what in published {
            self.refresh_publication(plane, what);
        }
        // What happened before was said to nobody: followers get snapshots.
        let remote = self.remote.as_deref_mut().into_iter();
        remote.flat_map(|remote| remote.spoken.values_mut()).for_each(|out| out.began = None);
    }

    /// Takes over who publishes what as the control plane has it.
    pub(super) fn learn_publishers(&mut self, plane: &mut Plane, federation: &Federation) {
        let Some(remote) = self.remote.as_deref_mut() else { return };
        remote.model = federation.model_version();
        remote.latest = federation.latest_federate();
        remote.publishers.clear();
        for (what, node) in federation.publications() {
            remote.publishers.entry(what).or_default().insert(node);
        }
        let covered: Vec<_> = remote.covered.iter().copied().collect();
        for what in covered {
            self.refresh_following(plane, what, true);
        }
    }

    /// The federation execution is at its end.
    pub(crate) fn leave_network(&mut self, plane: &mut Plane) {
        let (Some(remote), Some(net)) = (self.remote.take(), plane.net.as_deref_mut()) else { return };
        for (&what, out) in &remote.spoken {
            let topic = remote.topic(what);
            net.forget_stream(topic);
            net.wanted.remove(&topic);
            net.timers.clear(Timer::Tail(topic));
            net.timers.clear(Timer::Begin(topic));
            if out.offered {
                net.tell(Outgoing::Offer { topic, any: false });
            }
        }
        for &(what, node) in remote.followed.keys() {
            net.timers.clear(Timer::Follow(remote.topic(what), node));
        }
        for &what in &remote.interested {
            net.tell(Outgoing::Interest { topic: remote.topic(what), any: false });
        }
        net.timers.clear(Timer::Names(self.id));
    }

    /// Whether this node publishes `what` may have changed.
    pub(crate) fn refresh_publication(&mut self, plane: &mut Plane, what: PublishedClass) {
        if self.remote.is_none() {
            return;
        }
        let publishes = self.publishes_here(what);
        let is_open = |remote: &Remote| remote.spoken.get(&what).is_some_and(|out| out.open);
        if self.remote.as_deref().is_some_and(is_open) == publishes {
            return;
        }
        if !publishes {
            self.say_plain(plane, what, FederateHandle::INVALID, || Saying::Ended);
        }
        let (Some(remote), Some(net)) = (self.remote.as_deref_mut(), plane.net.as_deref_mut()) else {
            return;
        };
        let topic = remote.topic(what);
        let out = remote.spoken.entry(what).or_default();
        out.open = publishes;
        if publishes {
            out.began = Some(out.last);
            out.beginning = Beginning::Pending;
            out.served.clear();
            if !std::mem::replace(&mut out.offered, true) {
                net.tell(Outgoing::Offer { topic, any: true });
            }
        }
        let (execution, node) = (self.id, self.node);
        plane.propose(Command::Publishes { execution, node, what, on: publishes });
        self.rest(plane, what);
    }

    fn publishes_here(&self, what: PublishedClass) -> bool {
        let mut federates = self.federates.values();
        match what {
            PublishedClass::Objects(class) => {
                federates.any(|federate| federate.publishes(class))
                    || self.instances.of_class(class).any(|handle| {
                        self.instances.get(handle).is_some_and(|object| object.home == self.node)
                    })
            }
            PublishedClass::Interactions(class) => {
                federates.any(|federate| federate.published_interactions.contains(&class))
            }
            PublishedClass::Directed => federates.any(|federate| !federate.published_directed.is_empty()),
        }
    }

    /// The control plane says that a node publishes something, or no longer.
    pub(crate) fn publishers_changed(
        &mut self,
        plane: &mut Plane,
        node: NodeId,
        what: PublishedClass,
        on: bool,
    ) {
        let own = node == self.node;
        let (Some(remote), Some(net)) = (self.remote.as_deref_mut(), plane.net.as_deref_mut()) else {
            return;
        };
        let publishers = remote.publishers.entry(what).or_default();
        if on {
            publishers.insert(node);
        } else {
            publishers.remove(&node);
        }
        if own {
            keep_beginning(remote, net, what, on, plane.now);
        } else {
            self.refresh_following(plane, what, true);
        }
    }
}

/// The other nodes hear of the publication about now: they get some time to ask for the beginning.
fn keep_beginning(remote: &mut Remote, net: &mut Net, what: PublishedClass, on: bool, now: base::Moment) {
    let topic = remote.topic(what);
    let Some(out) = remote.spoken.get_mut(&what) else { return };
    if on && out.beginning == Beginning::Pending {
        out.beginning = Beginning::Kept;
        net.timers.set(Timer::Begin(topic), now + net.limits.begin_kept);
    }
}
