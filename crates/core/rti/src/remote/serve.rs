//! The sending side of streams, as followers see it: snapshots and repairs.

use super::net::Timer;
use super::state::{Beginning, Outbound};
use super::wire::{Declaration, Letter, NetTopic};
use crate::control::{NodeId, PublishedClass};
use crate::object::execution::Execution;
use crate::plane::Plane;
use hla::handle::ObjectInstanceHandle;

/// Memory of a record on its way, about, beside its name and attributes.
const RECORD_BYTES: usize = 16;

impl Execution {
    /// Another node wants to follow a stream of this one.
    pub(super) fn attach(
        &mut self,
        plane: &mut Plane,
        topic: NetTopic,
        from: NodeId,
        fresh: bool,
        declarations: Vec<Declaration>,
    ) {
        let what = topic.what();
        self.declared_for(plane, from, what, declarations);
        let (Some(remote), Some(net)) = (self.remote.as_deref_mut(), plane.net.as_deref_mut()) else {
            return;
        };
        let model = remote.model;
        let out = remote.spoken.get_mut(&what);
        let begins = out.as_deref().filter(|out| fresh && !out.served.contains(&from));
        let begins = begins.and_then(|out| beginning(out, net.first_kept(topic)));
        let Some(out) = out.filter(|out| out.open || begins.is_some()) else {
            return net.write(from, model, &Letter::Refused { topic });
        };
        out.followers.insert(from);
        out.served.insert(from);
        if let Some(at) = begins {
            let part = Letter::Part { topic, at, until: None, records: Vec::new(), replay: true };
            net.write(from, model, &part);
            let last = out.last;
            if last > at {
                net.write(from, model, &Letter::Tail { topic, last });
                self.repair(plane, topic, from, at + 1, last);
            }
        } else {
            self.write_part(plane, topic, from, ObjectInstanceHandle::INVALID);
            self.tell_buried_of(plane, from, what);
        }
        self.announce_again(plane, Some(what));
    }

    /// Writes the instances after `after`, as many as a part takes.
    pub(super) fn write_part(
        &mut self,
        plane: &mut Plane,
        topic: NetTopic,
        to: NodeId,
        after: ObjectInstanceHandle,
    ) {
        let (Some(remote), Some(net)) = (self.remote.as_deref(), plane.net.as_deref_mut()) else { return };
        let Some(out) = remote.spoken.get(&topic.what()) else { return };
        let (mut records, mut until, mut bytes) = (Vec::new(), None, 0);
        if let PublishedClass::Objects(class) = topic.what() {
            let of_class = self.instances.of_class_after(class, after);
            let own = of_class.filter_map(|handle| self.instances.get(handle));
            for object in own.filter(|object| object.home == self.node) {
                if bytes > net.limits.part_bytes {
                    until = records.last().map(|record: &super::wire::Record| record.instance);
                    break;
                }
                let record = self.record(object);
                bytes += RECORD_BYTES + record.name.len() + 4 * record.attributes.len();
                records.push(record);
            }
        }
        let part = Letter::Part { topic, at: out.last, until, records, replay: false };
        net.write(to, remote.model, &part);
    }

    /// Another node follows no more.
    pub(super) fn detach(&mut self, plane: &mut Plane, topic: NetTopic, from: NodeId) {
        let what = topic.what();
        let (Some(remote), Some(net)) = (self.remote.as_deref_mut(), plane.net.as_deref_mut()) else {
            return;
        };
        if let Some(out) = remote.spoken.get_mut(&what) {
            // Who leaves because the stream ended may have heard of that late, when it had begun anew: it comes back for that, a round
            // trip later, and the more it is behind, the longer that takes.
            let is_behind = out.followers.remove(&from) && !out.served.contains(&from);
            if is_behind && out.beginning != Beginning::Pending && is_kept(out, net.first_kept(topic)) {
                out.beginning = Beginning::Kept;
                net.timers.set(Timer::Begin(topic), plane.now + net.limits.history_age);
            }
        }
        self.undeclare_unfollowed(plane, from, what);
        self.rest(plane, what);
        self.write(plane, from, &Letter::Left { topic });
    }

    /// Says again what a follower missed.
    pub(super) fn repair(&mut self, plane: &mut Plane, topic: NetTopic, to: NodeId, first: u64, last: u64) {
        let (Some(remote), Some(net)) = (self.remote.as_deref(), plane.net.as_deref_mut()) else { return };
        let follows = remote.spoken.get(&topic.what()).is_some_and(|out| out.followers.contains(&to));
        if !follows || first > last {
            return;
        }
        let letter = match net.kept(topic, first..=last) {
            Ok(messages) => {
                net.counters.repaired += messages.len() as u64;
                Letter::Repair { topic, first, messages }
            }
            Err(_) => Letter::Gone { topic },
        };
        net.write(to, remote.model, &letter);
    }
}

/// The number before the first message since the stream was opened, if all since can still be said.
fn beginning(out: &Outbound, first_kept: Option<u64>) -> Option<u64> {
    out.began.filter(|_| (out.open || out.beginning != Beginning::Over) && is_kept(out, first_kept))
}

/// Whether all that was said since the stream was opened last is kept.
fn is_kept(out: &Outbound, first_kept: Option<u64>) -> bool {
    out.began.is_some_and(|began| began == out.last || first_kept.is_some_and(|first| first <= began + 1))
}
