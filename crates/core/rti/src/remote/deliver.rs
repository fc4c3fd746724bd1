//! The receiving side of streams: delivery in order, and what parts of snapshots mean for it.

use super::state::{Phase, Remote};
use super::wire::{Saying, Spoken};
use crate::control::{NodeId, PublishedClass};
use crate::object::execution::Execution;
use crate::plane::Plane;
use bytes::Bytes;
use hla::handle::ObjectInstanceHandle;
use router::WireError;

impl Execution {
    /// Takes what can be taken of a stream now.
    pub(super) fn deliver(
        &mut self,
        plane: &mut Plane,
        what: PublishedClass,
        from: NodeId,
    ) -> Result<(), WireError> {
        let mut result = Ok(());
        while let Some((number, body, spoken)) = self.next_message(plane, what, from) {
            result = result.and(match spoken {
                Ok(spoken) => self.take_message(plane, what, from, (number, body), spoken),
                Err(error) => Err(error),
            });
        }
        self.watch_gap(plane, what, from);
        result
    }

    /// Takes the message that is next of a stream, which is all there.
    pub(super) fn pass(
        &mut self,
        plane: &mut Plane,
        what: PublishedClass,
        from: NodeId,
        spoken: Result<Spoken, WireError>,
    ) -> Result<(), WireError> {
        let (Some(remote), Some(net)) = (self.remote.as_deref_mut(), plane.net.as_deref_mut()) else {
            return Ok(());
        };
        let Some(following) = remote.followed.get_mut(&(what, from)) else { return Ok(()) };
        following.inbound.pass();
        net.counters.delivered += 1;
        self.apply(plane, what, from, spoken?)
    }

    /// The next message of a stream, as it came and as it is read, if its turn has come.
    fn next_message(
        &mut self,
        plane: &mut Plane,
        what: PublishedClass,
        from: NodeId,
    ) -> Option<(u64, Bytes, Result<Spoken, WireError>)> {
        let (remote, net) = (self.remote.as_deref_mut()?, plane.net.as_deref_mut()?);
        let body = remote.followed.get(&(what, from))?.inbound.peek()?;
        let spoken = Spoken::decode(body.clone());
        if let Ok(spoken) = &spoken
            && !remote.may_take(from, spoken)
        {
            net.blocked = true;
            return None;
        }
        let (number, body) = remote.followed.get_mut(&(what, from))?.inbound.pop()?;
        net.counters.delivered += 1;
        Some((number, body, spoken))
    }

    /// Takes the next message of a stream, unless a part of a snapshot has it or will have it.
    fn take_message(
        &mut self,
        plane: &mut Plane,
        what: PublishedClass,
        from: NodeId,
        (number, body): (u64, Bytes),
        spoken: Spoken,
    ) -> Result<(), WireError> {
        let Some(remote) = self.remote.as_deref_mut() else { return Ok(()) };
        let Some(following) = remote.followed.get_mut(&(what, from)) else { return Ok(()) };
        if let Some(instance) = instance_of(&spoken.saying) {
            if let Phase::Snapshot { until, limbo } = &mut following.phase
                && instance > *until
            {
                limbo.push((number, body));
                return Ok(());
            }
            if number <= following.as_of(instance) {
                return Ok(());
            }
        }
        if matches!(following.phase, Phase::Live)
            && following.as_of.last().is_some_and(|&(_, at)| number >= at)
        {
            following.as_of = Vec::new();
        }
        self.apply(plane, what, from, spoken)
    }

    /// Takes a message that waited for a part of a snapshot, which has come.
    pub(super) fn apply_message(
        &mut self,
        plane: &mut Plane,
        what: PublishedClass,
        from: NodeId,
        number: u64,
        body: Bytes,
    ) -> Result<(), WireError> {
        let spoken = Spoken::decode(body)?;
        let following = self.remote.as_deref().and_then(|remote| remote.followed.get(&(what, from)));
        let (Some(following), Some(instance)) = (following, instance_of(&spoken.saying)) else {
            return Ok(());
        };
        let covered = match following.phase {
            Phase::Snapshot { until, .. } => instance <= until,
            _ => true,
        };
        // What is about instances after `until` was received before the next part is asked for, which has it.
        if !covered || number <= following.as_of(instance) {
            return Ok(());
        }
        self.apply(plane, what, from, spoken)
    }
}

impl Remote {
    /// Whether the control plane, and the stream that comes first, have come far enough.
    pub(super) fn may_take(&self, from: NodeId, spoken: &Spoken) -> bool {
        if !self.is_ready(spoken.head) {
            return false;
        }
        let Saying::Directed { after: Some((class, number)), .. } = &spoken.saying else { return true };
        let first = self.followed.get(&(PublishedClass::Objects(*class), from));
        first.is_none_or(|first| match first.phase {
            Phase::Live => first.inbound.delivered() >= *number,
            Phase::Refused { .. } | Phase::Leaving { .. } => true,
            Phase::Asked | Phase::Snapshot { .. } => false,
        })
    }
}

/// The instance that a message in a stream of objects is about.
fn instance_of(saying: &Saying) -> Option<ObjectInstanceHandle> {
    match saying {
        Saying::Registered(record) => Some(record.instance),
        Saying::Removed { instance, .. }
        | Saying::Disowned { instance, .. }
        | Saying::Transported { instance, .. }
        | Saying::Ordered { instance, .. }
        | Saying::Updated { instance, .. } => Some(*instance),
        Saying::Sent(_) | Saying::Directed { .. } | Saying::Ended => None,
    }
}
