//! What comes in for one federation execution.

use super::state::Phase;
use super::wire::{Head, Kind, Letter, PACKET_OVERHEAD, Packet, Spoken, messages};
use crate::control::{Federation, NodeId, PublishedClass};
use crate::object::execution::Execution;
use crate::plane::Plane;
use bytes::Bytes;
use router::{Message as _, WireError};

/// The execution that an encoded letter is about, and what must be known of the control plane to open it.
pub(crate) fn peek(body: Bytes) -> Result<(crate::ExecutionId, Head), WireError> {
    Letter::peek(body)
}

impl Execution {
    /// Whether the control plane has come as far here as at the sender of something.
    pub(crate) fn is_ready(&self, head: Head) -> bool {
        self.remote.as_deref().is_some_and(|remote| remote.is_ready(head))
    }

    /// The control plane has grown a model, or let a federate in.
    pub(crate) fn learn(&mut self, federation: &Federation) {
        if let Some(remote) = self.remote.as_deref_mut() {
            remote.model = federation.model_version();
            remote.latest = federation.latest_federate();
        }
    }

    /// A packet of another node came.
    pub(crate) fn take_packet(&mut self, plane: &mut Plane, packet: Packet) -> Result<(), WireError> {
        let (what, from) = (packet.topic().what(), packet.sender);
        if self.remote.is_none() {
            return Ok(());
        }
        match packet.kind {
            Kind::Numbered(number) => {
                let bytes = packet.bytes();
                self.take_numbered(plane, (what, from), number, packet.body, Some(bytes))
            }
            Kind::Run(first) => {
                let mut taken = Ok(());
                for (number, message) in (first..).zip(messages(packet.body)) {
                    let one =
                        message.and_then(|body| self.take_numbered(plane, (what, from), number, body, None));
                    taken = taken.and(one);
                }
                taken
            }
            Kind::Tail(last) => {
                self.take_tail(plane, what, from, last);
                Ok(())
            }
            Kind::Loose { after, .. } => {
                let taken = self.take_loose(plane, what, from, after, packet.body);
                if let (Ok(taken), Some(net)) = (&taken, plane.net.as_deref_mut()) {
                    net.counters.loose_taken += u64::from(*taken);
                    net.counters.loose_dropped += u64::from(!taken);
                }
                taken.map(|_| ())
            }
        }
    }

    /// A numbered message came. `bytes` is the memory that it keeps alive; without, it shares that with others, and is copied if it
    /// has to wait.
    fn take_numbered(
        &mut self,
        plane: &mut Plane,
        (what, from): (PublishedClass, NodeId),
        number: u64,
        body: Bytes,
        bytes: Option<usize>,
    ) -> Result<(), WireError> {
        let (Some(remote), Some(net)) = (self.remote.as_deref_mut(), plane.net.as_deref_mut()) else {
            return Ok(());
        };
        let following = remote.followed.get(&(what, from)).filter(|following| following.takes());
        let Some(following) = following else { return Ok(()) };
        // Nearly always the next message of a stream that is all there.
        if matches!(following.phase, Phase::Live)
            && following.as_of.is_empty()
            && following.inbound.is_next(number)
        {
            let spoken = Spoken::decode(body.clone());
            if spoken.as_ref().map_or(true, |spoken| remote.may_take(from, spoken)) {
                return self.pass(plane, what, from, spoken);
            }
        }
        let Some(following) = remote.followed.get_mut(&(what, from)) else { return Ok(()) };
        let (body, bytes) = match bytes {
            Some(bytes) => (body, bytes),
            None => (Bytes::copy_from_slice(&body), body.len() + PACKET_OVERHEAD),
        };
        following.inbound.take(plane.now, number, body, bytes, net.limits.patience());
        self.deliver(plane, what, from)
    }

    /// A node says how far one of its streams has come.
    fn take_tail(&mut self, plane: &mut Plane, what: PublishedClass, from: NodeId, last: u64) {
        if let (Some(remote), Some(net)) = (self.remote.as_deref_mut(), plane.net.as_deref_mut())
            && let Some(following) = remote.followed.get_mut(&(what, from))
            && following.takes()
        {
            following.inbound.tail(plane.now, last, net.limits.patience());
        }
        self.watch_gap(plane, what, from);
    }

    /// Takes what waited for the control plane, of all streams.
    pub(crate) fn deliver_all(&mut self, plane: &mut Plane) {
        let Some(remote) = self.remote.as_deref() else { return };
        let waiting = remote.followed.iter().filter(|(_, following)| following.inbound.peek().is_some());
        let waiting: Vec<(PublishedClass, NodeId)> = waiting.map(|(&stream, _)| stream).collect();
        for (what, from) in waiting {
            if let Err(error) = self.deliver(plane, what, from) {
                tracing::warn!(%from, %error, "a message of this node makes no sense");
            }
        }
    }

    /// Does what a letter asks for.
    pub(crate) fn open_letter(
        &mut self,
        plane: &mut Plane,
        from: NodeId,
        body: Bytes,
        federation: Option<&Federation>,
    ) -> Result<(), WireError> {
        let joined = |federate| federation.is_some_and(|federation| federation.member(federate).is_some());
        match Letter::decode(body)? {
            Letter::Attach { topic, fresh, mut declarations } => {
                declarations.retain(|declaration| joined(declaration.federate()));
                self.attach(plane, topic, from, fresh, declarations);
            }
            Letter::Detach { topic } => self.detach(plane, topic, from),
            Letter::Left { topic } => self.left(plane, topic.what(), from),
            Letter::Declare { declaration, .. } => {
                if joined(declaration.federate()) {
                    self.declared(plane, from, declaration);
                }
            }
            Letter::Part { topic, at, until, records, replay } => {
                return self.take_part(plane, topic, from, (at, until, records, replay));
            }
            Letter::More { topic, after } => self.write_part(plane, topic, from, after),
            Letter::Refused { topic } => self.refused(plane, topic.what(), from),
            Letter::Ask { topic, from: first, to } => self.repair(plane, topic, from, first, to),
            Letter::Repair { topic, first, messages } => {
                return self.take_repair(plane, topic.what(), from, first, messages);
            }
            Letter::Gone { topic } => self.gone(plane, topic.what(), from),
            Letter::Tail { topic, last } => self.take_tail(plane, topic.what(), from, last),
            request => return self.open_request(plane, from, request, federation),
        }
        Ok(())
    }

    fn open_request(
        &mut self,
        plane: &mut Plane,
        from: NodeId,
        letter: Letter,
        federation: Option<&Federation>,
    ) -> Result<(), WireError> {
        match letter {
            Letter::Provide { requester, instance, attributes, tag, .. } => {
                self.provide(plane, requester, instance, &attributes.into_iter().collect(), &tag);
            }
            Letter::ProvideClass { requester, class, attributes, tag, .. } => {
                self.provide_class(plane, requester, class, &attributes.into_iter().collect(), &tag);
            }
            Letter::Query { asker, federate, class, .. } => {
                self.tell_transportation(plane, from, asker, federate, class);
            }
            Letter::Report { asker, federate, class, transportation, .. } => {
                self.report_transportation(plane, asker, federate, class, transportation);
            }
            Letter::Adopt { class, records, .. } => {
                return self.adopt(plane, from, class, records, federation);
            }
            Letter::Removed { instances, .. } => self.buried_elsewhere(plane, instances),
            other => return Err(WireError(format!("{other:?} is no request"))),
        }
        Ok(())
    }

    /// Messages that were missing came.
    fn take_repair(
        &mut self,
        plane: &mut Plane,
        what: PublishedClass,
        from: NodeId,
        first: u64,
        messages: Vec<Bytes>,
    ) -> Result<(), WireError> {
        let (Some(remote), Some(net)) = (self.remote.as_deref_mut(), plane.net.as_deref_mut()) else {
            return Ok(());
        };
        let following = remote.followed.get_mut(&(what, from)).filter(|following| following.takes());
        let Some(following) = following else { return Ok(()) };
        let messages = messages.into_iter().map(|message| {
            let bytes = message.len();
            (message, bytes)
        });
        following.inbound.repaired(plane.now, first, messages, net.limits.patience());
        self.deliver(plane, what, from)
    }
}
