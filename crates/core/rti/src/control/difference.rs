//! The difference between an older state and a newer one of the same history, as events.

use super::{ControlPlane, Event, ExecutionId, Federation, NodeId, PublishedClass};
use hla::handle::FederateHandle;
use std::collections::BTreeSet;

impl ControlPlane {
    /// Events that lead from this state to `newer`, for a node that missed the commands in between.
    /// They leave out everything that came and went in between. Events about synchronization points
    /// concern only the federates of node `own`.
    pub(crate) fn difference(&self, newer: &ControlPlane, own: Option<NodeId>) -> Vec<Event> {
        let mut events = Vec::new();
        for record in newer.nodes().filter(|record| self.node(record.node).is_none()) {
            let (node, key, name) = (record.node, record.key, record.name.clone());
            events.push(Event::NodeAdded { node, key, name });
        }
        let ids: BTreeSet<ExecutionId> = self.names.keys().chain(newer.names.keys()).copied().collect();
        for id in ids {
            match (self.execution(id), newer.execution(id)) {
                (Some(old), Some(new)) => Step { old, new, older: self, newer, own }.all(&mut events),
                (Some(old), None) => {
                    let members = old.members();
                    events.extend(members.map(|(federate, _)| resigned(old, federate, newer)));
                    events.push(Event::Destroyed(id));
                }
                (None, Some(new)) => {
                    events.push(Event::Created(id));
                    events
                        .extend(new.members().map(|(federate, _)| Event::Joined { execution: id, federate }));
                    events.extend(new.publications().map(|(class, node)| published(id, class, node, true)));
                    events.extend(new.time_home().map(|_| Event::TimeHomeSet { execution: id }));
                    events.extend(new.watchers.iter().map(|&watcher| watched(id, watcher, true)));
                }
                (None, None) => {}
            }
        }
        for record in self.nodes().filter(|record| newer.node(record.node).is_none()) {
            events.push(Event::NodeRemoved { node: record.node, key: record.key });
        }
        events
    }
}

fn watched(execution: ExecutionId, (class, node): (PublishedClass, NodeId), on: bool) -> Event {
    Event::Watched { execution, node, class, on }
}

fn published(execution: ExecutionId, class: PublishedClass, node: NodeId, on: bool) -> Event {
    Event::PublishersChanged { execution, node, class, on }
}

/// The state does not record whether a federate resigned before its node died. Its directive
/// applies then.
fn resigned(old: &Federation, federate: FederateHandle, newer: &ControlPlane) -> Event {
    let member = &old.members[&federate];
    let (node, action, name) = (member.node, member.directive, member.name.clone());
    let lost = !newer.nodes.may_act(node);
    Event::Resigned { execution: old.id, federate, name, node, action, lost }
}

/// A federation execution, before and after.
struct Step<'a> {
    old: &'a Federation,
    new: &'a Federation,
    older: &'a ControlPlane,
    newer: &'a ControlPlane,
    own: Option<NodeId>,
}

impl Step<'_> {
    fn all(&self, events: &mut Vec<Event>) {
        let (old, new, execution) = (self.old, self.new, self.new.id);
        if old.model_version() != new.model_version() {
            events.push(Event::ModelExtended(execution));
        }
        let gone = old.members().filter(|(federate, _)| new.member(*federate).is_none());
        events.extend(gone.map(|(federate, _)| resigned(old, federate, self.newer)));
        let come = new.members().filter(|(federate, _)| old.member(*federate).is_none());
        events.extend(come.map(|(federate, _)| Event::Joined { execution, federate }));
        self.publications(events);
        if old.time_home().is_none() && new.time_home().is_some() {
            events.push(Event::TimeHomeSet { execution });
        }
        self.watchers(events);
        if old.auto_provide() != new.auto_provide() {
            events.push(Event::AutoProvideSet { execution, on: new.auto_provide() });
        }
        events.extend(new.missed_end_of_save(old));
        events.extend(new.missed_end_of_restore(old));
        new.missed_progress_of_save(old, events);
        events.extend(new.missed_beginning_of_restore(old));
        for (federate, member) in new.members() {
            let Some(before) = old.member(federate) else { continue };
            if Some(member.node) == self.own {
                self.sync(federate, events);
            }
            if before.directive != member.directive {
                events.push(Event::DirectiveSet { execution, federate, directive: member.directive });
            }
        }
    }

    fn watchers(&self, events: &mut Vec<Event>) {
        let (old, new) = (&self.old.watchers, &self.new.watchers);
        events.extend(new.difference(old).map(|&watcher| watched(self.new.id, watcher, true)));
        // As with publications, those of a node whose removal is reported go with the node.
        let gone = |node| self.older.node(node).is_some() && self.newer.node(node).is_none();
        let ended = old.difference(new).filter(|&&(_, node)| !gone(node));
        events.extend(ended.map(|&watcher| watched(self.new.id, watcher, false)));
    }

    fn publications(&self, events: &mut Vec<Event>) {
        let (old, new): (BTreeSet<_>, BTreeSet<_>) =
            (self.old.publications().collect(), self.new.publications().collect());
        for &(class, node) in new.difference(&old) {
            events.push(published(self.new.id, class, node, true));
        }
        // Publications of a node whose removal is reported go with the node.
        let gone = |node| self.older.node(node).is_some() && self.newer.node(node).is_none();
        for &(class, node) in old.difference(&new).filter(|&&(_, node)| !gone(node)) {
            events.push(published(self.new.id, class, node, false));
        }
    }

    fn sync(&self, federate: FederateHandle, events: &mut Vec<Event>) {
        let execution = self.new.id;
        let to = BTreeSet::from([federate]);
        let announced = |label, tag| Event::SyncAnnounced { execution, to: to.clone(), label, tag };
        let missed = self.new.sync.missed(&self.old.sync, federate);
        for label in missed.unknown {
            events.push(Event::SyncMissed { execution, label, federates: to.clone() });
        }
        for (tag, mut point) in missed.synchronized {
            events.extend(tag.map(|tag| announced(point.label.clone(), tag)));
            point.members = to.clone();
            events.push(Event::Synchronized { execution, point });
        }
        events.extend(missed.announced.into_iter().map(|(label, tag)| announced(label, tag)));
    }
}
