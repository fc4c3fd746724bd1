//! The sending side of streams: numbers, followers, tails.

use super::net::{Net, Outgoing, Timer};
use super::state::{Beginning, Outbound, Remote};
use super::wire::{Kind, Letter, Packet, Record, RecordedAttribute, Saying, Spoken, Subject};
use crate::control::PublishedClass;
use crate::object::encode::{Envelope, HandleValue};
use crate::object::execution::Execution;
use crate::object::instance::Instance;
use crate::plane::Plane;
use bytes::Bytes;
use hla::handle::{
    AttributeHandle, FederateHandle, ObjectClassHandle, ObjectInstanceHandle, TransportationTypeHandle,
};
use std::collections::BTreeSet;
use std::time::Duration;

/// The tail of a stream is announced this long after its last message: through the routers first, and at last by letter
/// to each follower.
const TAILS: [Duration; 3] = [Duration::from_millis(50), Duration::from_millis(500), Duration::from_secs(5)];

impl Execution {
    /// Says something, if somebody may want to hear it.
    fn say(&mut self, plane: &mut Plane, what: PublishedClass, write: impl FnOnce(&Remote, &mut Vec<u8>)) {
        let (Some(remote), Some(net)) = (self.remote.as_deref_mut(), plane.net.as_deref_mut()) else {
            return;
        };
        let Some(out) = remote.spoken.get_mut(&what) else { return };
        if !out.is_heard() {
            out.began = None;
            return;
        }
        out.last += 1;
        out.said_at = plane.now;
        let number = out.last;
        let topic = remote.topic(what);
        net.say(plane.now, (topic, self.node), number, |out| write(remote, out));
        if let Some(out) = remote.spoken.get_mut(&what) {
            announce_soon(out, net, topic, plane.now);
        }
    }

    pub(super) fn say_plain(
        &mut self,
        plane: &mut Plane,
        what: PublishedClass,
        federate: FederateHandle,
        saying: impl FnOnce() -> Saying,
    ) {
        self.say(plane, what, |remote, out| {
            out.extend_from_slice(&Spoken::encode(remote.head(federate), &saying()));
        });
    }

    /// Says or, with `best_effort`, sends values.
    pub(crate) fn say_load(
        &mut self,
        plane: &mut Plane,
        what: PublishedClass,
        subject: Subject,
        values: &[HandleValue],
        envelope: &Envelope<'_>,
        best_effort: bool,
    ) {
        if !best_effort {
            return self.say(plane, what, |remote, out| {
                Spoken::write_load(out, remote.head(envelope.producer), subject, values, envelope);
            });
        }
        let (Some(remote), Some(net)) = (self.remote.as_deref(), plane.net.as_deref_mut()) else { return };
        let Some(out) = remote.spoken.get(&what) else { return };
        let topic = remote.topic(what);
        if out.followers.is_empty() || !net.wanted.contains(&topic) {
            return;
        }
        let key = match subject {
            Subject::Update(instance) => key_of(instance, values),
            _ => 0,
        };
        net.counters.loose += 1;
        let kind = Kind::Loose { after: out.last, key };
        let body = Spoken::of_load(remote.head(envelope.producer), subject, values, envelope);
        net.send(Packet::new(topic, self.node, kind, body));
    }

    /// The instance as others need to know it.
    pub(super) fn record(&self, object: &Instance) -> Record {
        let attribute = |(_, state): (usize, &crate::object::instance::AttributeState)| RecordedAttribute {
            owner: state.owner,
            transportation: state.transportation,
            time_stamped: state.time_stamped,
        };
        Record {
            instance: object.handle,
            producer: object.producer,
            name: object.name.to_string(),
            attributes: object.attributes().map(attribute).collect(),
        }
    }

    /// An instance is new here.
    pub(crate) fn say_registered(&mut self, plane: &mut Plane, instance: ObjectInstanceHandle) {
        if self.remote.is_none() {
            return;
        }
        let Some(object) = self.instances.get(instance) else { return };
        let what = PublishedClass::Objects(object.class);
        let owners = object.attributes().map(|(_, state)| state.owner);
        let latest = owners.chain([object.producer]).max().unwrap_or_default();
        let record = self.record(object);
        self.say_plain(plane, what, latest, || Saying::Registered(record));
    }

    /// An instance whose home is here is gone.
    pub(crate) fn say_removed(
        &mut self,
        plane: &mut Plane,
        object: &Instance,
        producer: FederateHandle,
        tag: &Bytes,
        time: Option<[u8; 8]>,
    ) {
        if object.home == self.node {
            let instance = object.handle;
            self.say_plain(plane, PublishedClass::Objects(object.class), producer, || Saying::Removed {
                instance,
                producer,
                tag: tag.clone(),
                time,
            });
        }
    }

    /// Attributes of an instance lost their owner.
    pub(crate) fn say_disowned(
        &mut self,
        plane: &mut Plane,
        instance: ObjectInstanceHandle,
        owner: FederateHandle,
        attributes: &BTreeSet<AttributeHandle>,
    ) {
        if let Some(what) = self.said_of(instance) {
            let attributes = || attributes.iter().copied().collect();
            self.say_plain(plane, what, owner, || Saying::Disowned {
                instance,
                owner,
                attributes: attributes(),
            });
        }
    }

    /// Attributes of an instance travel another way now.
    pub(crate) fn say_transported(
        &mut self,
        plane: &mut Plane,
        instance: ObjectInstanceHandle,
        attributes: &BTreeSet<AttributeHandle>,
        transportation: TransportationTypeHandle,
    ) {
        if let Some(what) = self.said_of(instance) {
            let attributes = || attributes.iter().copied().collect();
            self.say_plain(plane, what, FederateHandle::INVALID, || Saying::Transported {
                instance,
                attributes: attributes(),
                transportation,
            });
        }
    }

    /// Attributes of an instance have another order type now.
    pub(crate) fn say_ordered(
        &mut self,
        plane: &mut Plane,
        instance: ObjectInstanceHandle,
        attributes: &BTreeSet<AttributeHandle>,
        time_stamped: bool,
    ) {
        if let Some(what) = self.said_of(instance) {
            let attributes = || attributes.iter().copied().collect();
            self.say_plain(plane, what, FederateHandle::INVALID, || Saying::Ordered {
                instance,
                attributes: attributes(),
                time_stamped,
            });
        }
    }

    /// How much was said about instances of this one's class, if its home is here: what is said in another stream comes after
    /// that.
    pub(crate) fn said_so_far(&self, instance: ObjectInstanceHandle) -> Option<(ObjectClassHandle, u64)> {
        let what = self.said_of(instance)?;
        let PublishedClass::Objects(class) = what else { return None };
        Some((class, self.remote.as_deref()?.spoken.get(&what)?.last))
    }

    /// The stream in which changes of an instance are said; none when its home is elsewhere, or there is no network.
    fn said_of(&self, instance: ObjectInstanceHandle) -> Option<PublishedClass> {
        self.remote.as_ref()?;
        let object = self.instances.get(instance)?;
        (object.home == self.node).then_some(PublishedClass::Objects(object.class))
    }

    /// The time of a tail announcement has come.
    pub(crate) fn announce_tail(&mut self, plane: &mut Plane, what: PublishedClass) {
        let (Some(remote), Some(net)) = (self.remote.as_deref_mut(), plane.net.as_deref_mut()) else {
            return;
        };
        let (topic, model) = (remote.topic(what), remote.model);
        let Some(out) = remote.spoken.get_mut(&what) else { return };
        let Some(&wait) = TAILS.get(usize::from(out.tails)) else { return };
        if out.followers.is_empty() {
            return;
        }
        if out.said_at + wait > plane.now {
            net.timers.set(Timer::Tail(topic), out.said_at + wait);
            return;
        }
        out.tails += 1;
        match TAILS.get(usize::from(out.tails)) {
            Some(&next) => {
                net.send(Packet::new(topic, self.node, Kind::Tail(out.last), Bytes::new()));
                net.timers.set(Timer::Tail(topic), out.said_at + next);
            }
            None => {
                for &follower in &out.followers {
                    net.write(follower, model, &Letter::Tail { topic, last: out.last });
                }
            }
        }
    }

    /// The ways through the network, or who follows, have changed: tails are announced again.
    pub(crate) fn announce_again(&mut self, plane: &mut Plane, only: Option<PublishedClass>) {
        let (Some(remote), Some(net)) = (self.remote.as_deref_mut(), plane.net.as_deref_mut()) else {
            return;
        };
        let execution = self.id;
        let concerned = remote.spoken.iter_mut().filter(|(what, out)| {
            only.is_none_or(|only| only == **what) && !out.followers.is_empty() && out.last > 0
        });
        for (&what, out) in concerned {
            out.said_at = plane.now;
            announce_soon(out, net, super::NetTopic::new(execution, what), plane.now);
        }
    }

    /// Forgets a stream that nobody follows: nothing of it is kept, and the routers need know nothing of it.
    pub(super) fn rest(&mut self, plane: &mut Plane, what: PublishedClass) {
        let (Some(remote), Some(net)) = (self.remote.as_deref_mut(), plane.net.as_deref_mut()) else {
            return;
        };
        let topic = remote.topic(what);
        let Some(out) = remote.spoken.get_mut(&what) else { return };
        if out.is_heard() {
            return;
        }
        net.forget_stream(topic);
        net.timers.clear(Timer::Tail(topic));
        if out.began != Some(out.last) {
            out.began = None;
        }
        if !out.open && std::mem::take(&mut out.offered) {
            net.tell(Outgoing::Offer { topic, any: false });
        }
    }

    /// The beginning of a stream need no longer be kept.
    pub(crate) fn begin_over(&mut self, plane: &mut Plane, what: PublishedClass) {
        let Some(out) = self.remote.as_deref_mut().and_then(|remote| remote.spoken.get_mut(&what)) else {
            return;
        };
        if out.beginning == Beginning::Kept {
            out.beginning = Beginning::Over;
            self.rest(plane, what);
        }
    }
}

/// Sets the timer of the first tail announcement. A timer that is set already looks at the time of the last message
/// when it comes.
fn announce_soon(out: &mut Outbound, net: &mut Net, topic: super::NetTopic, now: base::Moment) {
    let restarts = std::mem::take(&mut out.tails) > 0;
    if restarts || net.timers.get(Timer::Tail(topic)).is_none() {
        net.timers.set(Timer::Tail(topic), now + TAILS[0]);
    }
}

/// Two updates of the same attributes of one instance have the same key (FNV-1a over both).
fn key_of(instance: ObjectInstanceHandle, values: &[HandleValue]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut mix = |number: u64| {
        for octet in number.to_be_bytes() {
            hash = (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    mix(instance.0);
    values.iter().for_each(|value| mix(u64::from(value.handle)));
    hash.max(1)
}
