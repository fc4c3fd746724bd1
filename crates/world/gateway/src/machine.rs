//! The gateway without I/O: callbacks of one side become calls on the other one.
//!
//! An object instance that may pass has a *mirror*: an instance of the same class on the other side,
//! under the same name, that the gateway has registered there. Its name is reserved first. Values that
//! come before the mirror is registered wait for it, the latest of each attribute, since nobody on the
//! other side can have discovered it earlier.

mod callback;
mod mirror;

pub use callback::{Input, input, producer};

use bytes::Bytes;
use hla::handle::{
    AttributeHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle, ParameterHandle,
};
use mirror::{Mirror, State, Waiting};
use std::collections::{BTreeMap, VecDeque};

use crate::Side;
use crate::passes::Passes;

/// The bytes of values that wait for their mirrors at most, on each side. Later ones are dropped: the
/// gateway requests all values once the mirror is there.
const WAITING_BYTES_MAX: usize = 16 << 20;

/// Names that begin so are made by RTIs, and cannot be reserved (6.2).
const NAME_OF_RTI: &str = "HLA";

/// A mirror, by the number under which its registration is answered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MirrorId(u64);

/// A call that the gateway makes.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// Reserve Object Instance Name (6.2).
    Reserve {
        /// The name.
        name: String,
    },
    /// Release Object Instance Name (6.4).
    Release {
        /// The name.
        name: String,
    },
    /// Register Object Instance (6.8). Answer with [`Machine::registered`].
    Register {
        /// The mirror to name in the answer.
        mirror: MirrorId,
        /// The class.
        class: ObjectClassHandle,
        /// Its name, which is reserved; `None` for an instance that an RTI has named.
        name: Option<String>,
    },
    /// Update Attribute Values (6.10).
    Update {
        /// The mirror's handle.
        object: ObjectInstanceHandle,
        /// The values.
        values: Vec<(AttributeHandle, Bytes)>,
        /// The user-supplied tag.
        tag: Bytes,
    },
    /// Delete Object Instance (6.14).
    Delete {
        /// The mirror's handle.
        object: ObjectInstanceHandle,
        /// The user-supplied tag.
        tag: Bytes,
    },
    /// Request Attribute Value Update (6.19), of an instance that was discovered.
    Request {
        /// The instance.
        object: ObjectInstanceHandle,
        /// The attributes.
        attributes: Vec<AttributeHandle>,
    },
    /// Send Interaction (6.12).
    Send {
        /// The class.
        class: InteractionClassHandle,
        /// The parameters.
        values: Vec<(ParameterHandle, Bytes)>,
        /// The user-supplied tag.
        tag: Bytes,
    },
}

/// The traffic from one side to the other so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Object instances that have a mirror now, or are about to.
    pub objects: usize,
    /// Updates that have passed.
    pub updates: u64,
    /// Interactions that have passed.
    pub interactions: u64,
    /// Instances, interactions, updates, and values in updates and interactions that may not pass.
    /// Nobody sends them to a gateway whose RTIs keep to its subscriptions.
    pub refused: u64,
    /// Instances and interactions that another gateway has brought.
    pub of_gateways: u64,
    /// Instances that have no mirror: there are too many, their name is taken on the other side, or the
    /// other side has refused to register them.
    pub without_mirror: u64,
}

/// The gateway of one federation execution.
#[derive(Debug)]
pub struct Machine {
    /// The classes that may pass from each side.
    passes: [Passes; 2],
    objects_max: usize,
    mirrors: BTreeMap<MirrorId, Mirror>,
    last: u64,
    /// Mirrors by the instance that was discovered, and its side.
    by_source: BTreeMap<(Side, ObjectInstanceHandle), MirrorId>,
    /// Mirrors that are registered, by their handle and its side.
    by_target: BTreeMap<(Side, ObjectInstanceHandle), MirrorId>,
    /// Names that are being reserved on a side.
    reserving: BTreeMap<(Side, String), MirrorId>,
    /// Bytes of values that wait, by the side that they come from.
    waiting_bytes: [usize; 2],
    counts: [Counts; 2],
    /// The calls to make on each side.
    actions: [VecDeque<Action>; 2],
}

impl Machine {
    /// A gateway that passes these classes from the inside and from the outside.
    pub fn new(passes: [Passes; 2], objects_max: usize) -> Self {
        Self {
            passes,
            objects_max,
            mirrors: BTreeMap::new(),
            last: 0,
            by_source: BTreeMap::new(),
            by_target: BTreeMap::new(),
            reserving: BTreeMap::new(),
            waiting_bytes: [0; 2],
            counts: [Counts::default(); 2],
            actions: [VecDeque::new(), VecDeque::new()],
        }
    }

    /// The next call to make on a side.
    pub fn poll_action(&mut self, on: Side) -> Option<Action> {
        self.actions[on.index()].pop_front()
    }

    /// The number of calls to make on a side.
    pub fn actions(&self, on: Side) -> usize {
        self.actions[on.index()].len()
    }

    /// The traffic from this side.
    pub fn counts(&self, from: Side) -> Counts {
        self.counts[from.index()]
    }

    /// Handles a callback of a side. `of_gateway`: the federate that caused it is a gateway.
    pub fn handle(&mut self, from: Side, input: Input, of_gateway: bool) {
        match input {
            Input::Discovered { .. } | Input::Received { .. } if of_gateway => {
                self.count(from).of_gateways += 1;
            }
            Input::Discovered { object, class, name } => self.discovered(from, object, class, name),
            Input::Reflected { object, values, tag } => self.reflected(from, object, values, tag),
            Input::Removed { object, tag } => self.removed(from, object, tag),
            Input::Received { class, values, tag } => self.received(from, class, values, tag),
            Input::Asked { object, attributes } => self.asked(from, object, &attributes),
            Input::Reserved { name, is_free } => self.reserved(from, name, is_free),
        }
    }

    fn count(&mut self, from: Side) -> &mut Counts {
        &mut self.counts[from.index()]
    }

    fn act(&mut self, on: Side, action: Action) {
        self.actions[on.index()].push_back(action);
    }

    fn discovered(
        &mut self,
        from: Side,
        object: ObjectInstanceHandle,
        class: ObjectClassHandle,
        name: String,
    ) {
        let Some(pass) = self.passes[from.index()].objects.get(&class) else {
            self.count(from).refused += 1;
            return;
        };
        let to_class = pass.to;
        if self.by_source.contains_key(&(from, object)) {
            return;
        }
        if self.count(from).objects >= self.objects_max {
            self.count(from).without_mirror += 1;
            if self.count(from).without_mirror == 1 {
                tracing::warn!(%from, name, limit = self.objects_max, "so many objects have passed; this and further ones do not");
            }
            return;
        }
        self.last += 1;
        let (mirror, to) = (MirrorId(self.last), from.other());
        let is_named = !name.starts_with(NAME_OF_RTI);
        let action = match is_named {
            true => Action::Reserve { name: name.clone() },
            false => Action::Register { mirror, class: to_class, name: None },
        };
        let state = if is_named { State::Reserving } else { State::Registering { removed: None } };
        // The name of an instance that is gone may still be on its way to being reserved.
        let is_under_way = is_named && self.reserving.insert((to, name.clone()), mirror).is_some();
        let waiting = Waiting::default();
        self.mirrors.insert(mirror, Mirror { from, source: object, class, name, state, waiting });
        self.by_source.insert((from, object), mirror);
        self.count(from).objects += 1;
        if !is_under_way {
            self.act(to, action);
        }
    }

    fn reflected(
        &mut self,
        from: Side,
        object: ObjectInstanceHandle,
        values: Vec<(AttributeHandle, Bytes)>,
        tag: Bytes,
    ) {
        let found = self.by_source.get(&(from, object)).and_then(|id| self.mirrors.get_mut(id));
        let Some(mirror) = found else {
            self.count(from).refused += 1;
            return;
        };
        let Some(pass) = self.passes[from.index()].objects.get(&mirror.class) else { return };
        let before = values.len();
        let values = values.into_iter().filter_map(|(at, value)| Some((*pass.attributes.get(&at)?, value)));
        let values: Vec<_> = values.collect();
        let refused = before - values.len();
        let counts = &mut self.counts[from.index()];
        counts.refused += refused as u64;
        if values.is_empty() && refused > 0 {
            return;
        }
        if let State::Registered { target } = mirror.state {
            counts.updates += 1;
            self.act(from.other(), Action::Update { object: target, values, tag });
        } else {
            mirror.waiting.put(values, tag, &mut self.waiting_bytes[from.index()], WAITING_BYTES_MAX);
        }
    }

    fn removed(&mut self, from: Side, object: ObjectInstanceHandle, tag: Bytes) {
        let Some(&id) = self.by_source.get(&(from, object)) else { return };
        let Some(mirror) = self.mirrors.get_mut(&id) else { return };
        match &mut mirror.state {
            State::Reserving => self.forget(id),
            // Its handle is not known yet.
            State::Registering { removed } => {
                *removed = Some(tag);
                self.by_source.remove(&(from, object));
            }
            State::Registered { target } => {
                let object = *target;
                self.act(from.other(), Action::Delete { object, tag });
                self.forget(id);
            }
        }
    }

    fn received(
        &mut self,
        from: Side,
        class: InteractionClassHandle,
        values: Vec<(ParameterHandle, Bytes)>,
        tag: Bytes,
    ) {
        let Some(pass) = self.passes[from.index()].interactions.get(&class) else {
            self.count(from).refused += 1;
            return;
        };
        let (class, before) = (pass.to, values.len());
        let values = values.into_iter().filter_map(|(at, value)| Some((*pass.parameters.get(&at)?, value)));
        let values: Vec<_> = values.collect();
        let counts = self.count(from);
        counts.refused += (before - values.len()) as u64;
        counts.interactions += 1;
        self.act(from.other(), Action::Send { class, values, tag });
    }

    /// Somebody on a side wants values of a mirror there.
    fn asked(&mut self, on: Side, object: ObjectInstanceHandle, attributes: &[AttributeHandle]) {
        let found = self.by_target.get(&(on, object)).and_then(|id| self.mirrors.get(id));
        let Some(mirror) = found else { return };
        let Some(pass) = self.passes[mirror.from.index()].objects.get(&mirror.class) else { return };
        let wanted = pass.attributes.iter().filter(|(_, to)| attributes.contains(to));
        let attributes: Vec<_> = wanted.map(|(from, _)| *from).collect();
        if !attributes.is_empty() {
            let (from, object) = (mirror.from, mirror.source);
            self.act(from, Action::Request { object, attributes });
        }
    }

    /// A side has answered the reservation of a name.
    fn reserved(&mut self, on: Side, name: String, is_free: bool) {
        let Some(id) = self.reserving.remove(&(on, name.clone())) else { return };
        let from = on.other();
        let Some(mirror) = self.mirrors.get_mut(&id) else {
            // The instance is gone by now.
            if is_free {
                self.act(on, Action::Release { name });
            }
            return;
        };
        let pass = self.passes[from.index()].objects.get(&mirror.class);
        let Some(pass) = pass.filter(|_| is_free) else {
            tracing::warn!(%from, name, "not passed on: the name is taken on the other side");
            self.count(from).without_mirror += 1;
            self.forget(id);
            return;
        };
        mirror.state = State::Registering { removed: None };
        let action = Action::Register { mirror: id, class: pass.to, name: Some(name) };
        self.act(on, action);
    }

    /// A side has answered the registration of a mirror: with its handle, or with the reason why there
    /// is none.
    pub fn registered(&mut self, id: MirrorId, answer: Result<ObjectInstanceHandle, String>) {
        let Some(mirror) = self.mirrors.get_mut(&id) else { return };
        let (from, to) = (mirror.from, mirror.from.other());
        let target = match answer {
            Ok(target) => target,
            Err(why) => {
                tracing::warn!(%from, name = mirror.name, why, "not passed on: the other side does not register it");
                self.count(from).without_mirror += 1;
                return self.forget(id);
            }
        };
        if let State::Registering { removed: Some(tag) } = &mut mirror.state {
            let tag = std::mem::take(tag);
            self.act(to, Action::Delete { object: target, tag });
            return self.forget(id);
        }
        mirror.state = State::Registered { target };
        let (source, class) = (mirror.source, mirror.class);
        let (values, tag) = mirror.waiting.take(&mut self.waiting_bytes[from.index()]);
        self.by_target.insert((to, target), id);
        let missing = self.passes[from.index()].objects.get(&class).map(|pass| {
            let missing =
                pass.attributes.iter().filter(|(_, to)| !values.iter().any(|(known, _)| known == *to));
            missing.map(|(from, _)| *from).collect::<Vec<_>>()
        });
        if !values.is_empty() {
            self.count(from).updates += 1;
            self.act(to, Action::Update { object: target, values, tag });
        }
        if let Some(attributes) = missing.filter(|missing| !missing.is_empty()) {
            self.act(from, Action::Request { object: source, attributes });
        }
    }

    fn forget(&mut self, id: MirrorId) {
        let Some(mut mirror) = self.mirrors.remove(&id) else { return };
        let from = mirror.from;
        mirror.waiting.take(&mut self.waiting_bytes[from.index()]);
        self.count(from).objects -= 1;
        let key = (from, mirror.source);
        if self.by_source.get(&key) == Some(&id) {
            self.by_source.remove(&key);
        }
        if let State::Registered { target } = mirror.state {
            self.by_target.remove(&(from.other(), target));
        }
    }
}

#[cfg(test)]
mod tests;
