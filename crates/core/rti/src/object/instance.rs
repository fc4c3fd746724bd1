//! Object instances: attributes with their owners, and who knows the instance as what.

use super::federate::RateId;
use crate::control::NodeId;
use crate::wire::Record;
use base::HandleMap;
use hla::api::OrderType;
use hla::fom::{Attribute, Fdd, ObjectClass};
use hla::handle::{FederateHandle, ObjectClassHandle, ObjectInstanceHandle, TransportationTypeHandle};
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;

/// What the owner of an attribute was last told by the attribute relevance advisory (6.23, 6.24).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Relevance(u16);

impl Relevance {
    /// Nobody wants updates.
    pub(crate) const OFF: Self = Self(0);
    /// Somebody wants them, at any rate.
    pub(crate) const ON: Self = Self(1);

    /// All who want them want no more than this rate.
    pub(crate) const fn at(rate: RateId) -> Self {
        Self(rate.0 + 2)
    }

    /// The rate, if all who want updates gave one.
    pub(crate) const fn rate(self) -> Option<RateId> {
        match self.0.checked_sub(2) {
            Some(rate) => Some(RateId(rate)),
            None => None,
        }
    }
}

/// One attribute of one instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AttributeState {
    /// Its owner; invalid while nobody owns it.
    pub(crate) owner: FederateHandle,
    pub(crate) transportation: TransportationTypeHandle,
    pub(crate) relevance: Relevance,
    /// The preferred order is TimeStamp, not Receive.
    pub(crate) time_stamped: bool,
}

// A federation has a hundred thousand instances with forty attributes each.
const _: () = assert!(size_of::<AttributeState>() == 12);

impl AttributeState {
    /// The attribute as the object model has it, owned by nobody.
    pub(crate) fn unowned(attribute: &Attribute) -> Self {
        Self {
            owner: FederateHandle::INVALID,
            transportation: attribute.transportation,
            relevance: Relevance::OFF,
            time_stamped: attribute.order == OrderType::Timestamp,
        }
    }
}

/// Memory that an instance costs without its name and its attributes: `meshrti bench memory`
/// measures 794 bytes with them.
const INSTANCE_BYTES: usize = 700;

/// A federate that knows an instance, and the class it knows it as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Known {
    pub(crate) federate: FederateHandle,
    pub(crate) class: ObjectClassHandle,
}

/// An object instance: of this node, or a replica of one whose home is another node.
pub(crate) struct Instance {
    pub(crate) handle: ObjectInstanceHandle,
    /// The class it was registered at.
    pub(crate) class: ObjectClassHandle,
    pub(crate) name: Box<str>,
    /// Who registered it.
    pub(crate) producer: FederateHandle,
    /// The node that registered it. It stays, whoever is the home later.
    pub(crate) registrar: NodeId,
    /// The node that puts its changes in order.
    pub(crate) home: NodeId,
    /// By slot of the class (`ObjectClass::slot`), all that the class has.
    attributes: Box<[AttributeState]>,
    /// Sorted by federate.
    known: SmallVec<[Known; 4]>,
}

impl Instance {
    pub(crate) fn new(
        handle: ObjectInstanceHandle,
        class: ObjectClassHandle,
        name: &str,
        producer: FederateHandle,
        node: NodeId,
        attributes: Vec<AttributeState>,
    ) -> Self {
        let mut known = SmallVec::new();
        known.push(Known { federate: producer, class });
        let (name, attributes) = (name.into(), attributes.into());
        Self { handle, class, name, producer, registrar: node, home: node, attributes, known }
    }

    /// A replica of an instance of another node, which no federate here knows yet.
    pub(crate) fn replica(
        record: &Record,
        class: ObjectClassHandle,
        home: NodeId,
        attributes: Vec<AttributeState>,
    ) -> Self {
        Self {
            handle: record.instance,
            class,
            name: record.name.as_str().into(),
            producer: record.producer,
            registrar: record.registrar,
            home,
            attributes: attributes.into(),
            known: SmallVec::new(),
        }
    }

    /// The attribute in `slot` of the class.
    pub(crate) fn attribute(&self, slot: usize) -> AttributeState {
        self.attributes[slot]
    }

    /// The attribute in `slot` of the class, to change it.
    pub(crate) fn attribute_mut(&mut self, slot: usize) -> &mut AttributeState {
        &mut self.attributes[slot]
    }

    /// Takes in the attributes that came into the class since; nobody owns them. False when there are none.
    fn grow(&mut self, model: &Fdd, class: &ObjectClass) -> bool {
        let new = class.attributes.get(self.attributes.len()..).unwrap_or_default();
        if new.is_empty() {
            return false;
        }
        let mut attributes = std::mem::take(&mut self.attributes).into_vec();
        attributes.reserve_exact(new.len());
        attributes.extend(new.iter().filter_map(|&new| model.attribute(new)).map(AttributeState::unowned));
        self.attributes = attributes.into();
        true
    }

    /// All attributes, by slot.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = (usize, &AttributeState)> {
        self.attributes.iter().enumerate()
    }

    /// The class that `federate` knows the instance as.
    pub(crate) fn known_class(&self, federate: FederateHandle) -> Option<ObjectClassHandle> {
        let at = self.known.binary_search_by_key(&federate, |known| known.federate).ok()?;
        Some(self.known[at].class)
    }

    /// Who knows the instance, by federate.
    pub(crate) fn known(&self) -> &[Known] {
        &self.known
    }

    /// Memory that an instance takes, about.
    pub(crate) fn bytes(&self) -> usize {
        Self::bytes_of(self.name.len(), self.attributes.len()) + self.known.len() * size_of::<Known>()
    }

    /// Memory that an instance takes, about, before anybody but its registrant knows it.
    pub(crate) const fn bytes_of(name_octets: usize, attributes: usize) -> usize {
        // The name stands in two places.
        INSTANCE_BYTES + 2 * name_octets + attributes * size_of::<AttributeState>()
    }

    fn become_known(&mut self, federate: FederateHandle, class: ObjectClassHandle) {
        if let Err(at) = self.known.binary_search_by_key(&federate, |known| known.federate) {
            self.known.insert(at, Known { federate, class });
        }
    }

    fn become_unknown(&mut self, federate: FederateHandle) {
        if let Ok(at) = self.known.binary_search_by_key(&federate, |known| known.federate) {
            self.known.remove(at);
        }
    }

    /// Whether `federate` owns any attribute.
    pub(crate) fn is_owned_by(&self, federate: FederateHandle) -> bool {
        self.attributes.iter().any(|attribute| attribute.owner == federate)
    }
}

/// A place among the instances of some classes. It stays valid while instances come and go; one that
/// comes before it is not visited.
#[derive(Debug)]
pub(crate) struct Cursor {
    /// The classes that are not finished.
    classes: VecDeque<ObjectClassHandle>,
    /// The last instance visited of the first of them.
    after: ObjectInstanceHandle,
}

impl Cursor {
    /// The next instances, `max` at most.
    pub(crate) fn advance(&mut self, instances: &Instances, max: usize) -> Vec<ObjectInstanceHandle> {
        let mut visited = Vec::new();
        while let Some(&class) = self.classes.front() {
            let room = max - visited.len();
            visited.extend(instances.of_class_after(class, self.after).take(room));
            if visited.len() == max {
                self.after = visited.last().copied().unwrap_or_default();
                break;
            }
            self.classes.pop_front();
            self.after = ObjectInstanceHandle::INVALID;
        }
        visited
    }

    /// A cursor before `instance`, and before those of its class that come after it.
    pub(crate) fn before(class: ObjectClassHandle, instance: ObjectInstanceHandle) -> Self {
        let after = ObjectInstanceHandle(instance.0.saturating_sub(1));
        Self { classes: VecDeque::from([class]), after }
    }

    /// Whether an instance of `class` is still to be visited.
    pub(crate) fn is_before(&self, class: ObjectClassHandle, instance: ObjectInstanceHandle) -> bool {
        match self.classes.iter().position(|&at| at == class) {
            Some(0) => self.after < instance,
            Some(_) => true,
            None => false,
        }
    }

    /// Whether the instances of all classes have been visited.
    pub(crate) fn is_done(&self) -> bool {
        self.classes.is_empty()
    }
}

/// All instances of a federation execution that are known here.
#[derive(Default)]
pub(crate) struct Instances {
    by_handle: HandleMap<ObjectInstanceHandle, Instance>,
    by_class: BTreeMap<ObjectClassHandle, BTreeSet<ObjectInstanceHandle>>,
    by_name: BTreeMap<Box<str>, ObjectInstanceHandle>,
    /// Memory that they take, about.
    bytes: usize,
}

impl Instances {
    pub(crate) fn get(&self, handle: ObjectInstanceHandle) -> Option<&Instance> {
        self.by_handle.get(&handle)
    }

    pub(crate) fn get_mut(&mut self, handle: ObjectInstanceHandle) -> Option<&mut Instance> {
        self.by_handle.get_mut(&handle)
    }

    pub(crate) fn by_name(&self, name: &str) -> Option<&Instance> {
        self.by_handle.get(self.by_name.get(name)?)
    }

    /// Memory that all of them take, about. Cost: none.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn insert(&mut self, instance: Instance) {
        self.bytes += instance.bytes();
        self.by_class.entry(instance.class).or_default().insert(instance.handle);
        self.by_name.insert(instance.name.clone(), instance.handle);
        if let Some(before) = self.by_handle.insert(instance.handle, instance) {
            self.bytes -= before.bytes();
        }
    }

    pub(crate) fn remove(&mut self, handle: ObjectInstanceHandle) -> Option<Instance> {
        let instance = self.by_handle.remove(&handle)?;
        self.bytes -= instance.bytes();
        // Another one of that name may have been heard of before the end of this one.
        if self.by_name.get(&instance.name) == Some(&handle) {
            self.by_name.remove(&instance.name);
        }
        if let Some(of_class) = self.by_class.get_mut(&instance.class) {
            of_class.remove(&handle);
        }
        Some(instance)
    }

    /// `federate` knows the instance as `class` from now on.
    pub(crate) fn become_known(
        &mut self,
        handle: ObjectInstanceHandle,
        federate: FederateHandle,
        class: ObjectClassHandle,
    ) {
        self.change(handle, |instance| instance.become_known(federate, class));
    }

    /// `federate` no longer knows the instance.
    pub(crate) fn become_unknown(&mut self, handle: ObjectInstanceHandle, federate: FederateHandle) {
        self.change(handle, |instance| instance.become_unknown(federate));
    }

    /// Changes an instance in a way that may change its memory.
    fn change(&mut self, handle: ObjectInstanceHandle, change: impl FnOnce(&mut Instance)) {
        if let Some(instance) = self.by_handle.get_mut(&handle) {
            self.bytes -= instance.bytes();
            change(instance);
            self.bytes += instance.bytes();
        }
    }

    /// The object model has grown, and so may have the classes of instances that are here.
    pub(crate) fn grow(&mut self, model: &Fdd) {
        for (&class, handles) in &self.by_class {
            let Some(class) = model.object_class(class) else { continue };
            for handle in handles {
                // All instances of a class have the same attributes.
                let Some(instance) = self.by_handle.get_mut(handle) else { break };
                let before = instance.bytes();
                if !instance.grow(model, class) {
                    break;
                }
                self.bytes += instance.bytes() - before;
            }
        }
    }

    /// Handles of the instances registered at exactly `class`, ascending.
    pub(crate) fn of_class(
        &self,
        class: ObjectClassHandle,
    ) -> impl Iterator<Item = ObjectInstanceHandle> + '_ {
        self.by_class.get(&class).into_iter().flatten().copied()
    }

    /// Those of them after `handle`.
    pub(crate) fn of_class_after(
        &self,
        class: ObjectClassHandle,
        handle: ObjectInstanceHandle,
    ) -> impl Iterator<Item = ObjectInstanceHandle> + '_ {
        let after = (Bound::Excluded(handle), Bound::Unbounded);
        self.by_class.get(&class).into_iter().flat_map(move |handles| handles.range(after)).copied()
    }

    /// The classes at which instances are registered.
    pub(crate) fn classes(&self) -> impl Iterator<Item = ObjectClassHandle> + '_ {
        self.by_class.keys().copied()
    }

    /// A cursor before the first instance of `class` and of the classes below it.
    pub(crate) fn cursor_below(&self, model: &Fdd, class: ObjectClassHandle) -> Cursor {
        let mut classes = VecDeque::new();
        let mut open = vec![class];
        while let Some(class) = open.pop() {
            if self.by_class.get(&class).is_some_and(|handles| !handles.is_empty()) {
                classes.push_back(class);
            }
            let children = model.object_class(class).map(|class| class.children.as_slice());
            open.extend(children.unwrap_or_default().iter().rev());
        }
        Cursor { classes, after: ObjectInstanceHandle::INVALID }
    }

    /// A cursor before the first of all instances.
    pub(crate) fn cursor(&self) -> Cursor {
        Cursor { classes: self.by_class.keys().copied().collect(), after: ObjectInstanceHandle::INVALID }
    }

    /// Handles of the instances registered at `class` or below it.
    pub(crate) fn of_class_or_below(
        &self,
        model: &Fdd,
        class: ObjectClassHandle,
    ) -> Vec<ObjectInstanceHandle> {
        self.cursor_below(model, class).advance(self, usize::MAX)
    }

    /// All handles, by class and then ascending.
    pub(crate) fn handles(&self) -> impl Iterator<Item = ObjectInstanceHandle> + '_ {
        self.by_class.values().flatten().copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_handle.len()
    }
}
