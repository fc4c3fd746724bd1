//! Object instances: their attributes with the owners, and the federates that know them.

use super::federate::RateId;
pub(crate) use super::known::Known;
use super::known::KnownBy;
use super::regions::{RegionIndex, UpdateRegions};
use super::table::Table;
use crate::control::NodeId;
use crate::wire::Record;
use hla::api::OrderType;
use hla::fom::{Attribute, Fdd, ObjectClass};
use hla::handle::{FederateHandle, ObjectClassHandle, ObjectInstanceHandle, TransportationTypeHandle};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;

/// The last attribute relevance advisory to the owner of an attribute (6.23, 6.24).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(crate) struct Relevance(u16);

impl Relevance {
    /// No federate wants updates.
    pub(crate) const OFF: Self = Self(0);
    /// A federate wants updates, without a limit on the rate.
    pub(crate) const ON: Self = Self(1);

    /// All interested federates limit their rate; the highest limit is this rate.
    pub(crate) const fn at(rate: RateId) -> Self {
        Self(rate.0 + 2)
    }

    /// The rate, if all interested federates limit it.
    pub(crate) const fn rate(self) -> Option<RateId> {
        match self.0.checked_sub(2) {
            Some(rate) => Some(RateId(rate)),
            None => None,
        }
    }
}

/// One attribute of one instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct AttributeState {
    /// Its owner; invalid while it is unowned.
    pub(crate) owner: FederateHandle,
    pub(crate) transportation: TransportationTypeHandle,
    pub(crate) relevance: Relevance,
    /// The preferred order is TimeStamp, not Receive.
    pub(crate) time_stamped: bool,
    /// It is offered to all federates that publish it (7.4).
    pub(crate) is_offered: bool,
}

// Asserted because a federation may have a hundred thousand instances with forty attributes each.
const _: () = assert!(size_of::<AttributeState>() == 12);

impl AttributeState {
    /// The attribute with the settings of the object model, unowned.
    pub(crate) fn unowned(attribute: &Attribute) -> Self {
        Self {
            owner: FederateHandle::INVALID,
            transportation: attribute.transportation,
            relevance: Relevance::OFF,
            time_stamped: attribute.order == OrderType::Timestamp,
            is_offered: false,
        }
    }
}

/// Memory of an instance without its name and its attributes. `meshrti bench memory` measures 794
/// bytes with them.
const INSTANCE_BYTES: usize = 700;

/// An object instance whose home is this node, or a replica of one whose home is another node.
pub(crate) struct Instance {
    pub(crate) handle: ObjectInstanceHandle,
    /// The class it was registered at.
    pub(crate) class: ObjectClassHandle,
    pub(crate) name: Box<str>,
    /// The federate that registered it.
    pub(crate) producer: FederateHandle,
    /// The node that registered it. It does not change when the home does.
    pub(crate) registrar: NodeId,
    /// The node that orders its changes. [`Instances::set_home`] changes it.
    pub(crate) home: NodeId,
    /// All attributes of the class, indexed by slot (`ObjectClass::slot`).
    pub(super) attributes: Box<[AttributeState]>,
    pub(super) known: KnownBy,
    /// `None`: all attributes have the default region, as they nearly always do.
    pub(super) update_regions: Option<Box<UpdateRegions>>,
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
        let known = KnownBy::one(producer, class);
        let (name, attributes) = (name.into(), attributes.into());
        Self {
            handle,
            class,
            name,
            producer,
            registrar: node,
            home: node,
            attributes,
            known,
            update_regions: None,
        }
    }

    /// A replica of another node's instance that no federate here knows yet.
    pub(crate) fn replica(
        record: &Record,
        class: ObjectClassHandle,
        home: NodeId,
        attributes: Vec<AttributeState>,
    ) -> Self {
        let mut replica = Self {
            handle: record.instance,
            class,
            name: record.name.as_str().into(),
            producer: record.producer,
            registrar: record.registrar,
            home,
            attributes: attributes.into(),
            known: KnownBy::default(),
            update_regions: None,
        };
        replica.set_update_regions(&record.regions);
        replica
    }

    /// The attribute in `slot` of the class.
    pub(crate) fn attribute(&self, slot: usize) -> AttributeState {
        self.attributes[slot]
    }

    /// Mutable access to the attribute in `slot` of the class.
    pub(crate) fn attribute_mut(&mut self, slot: usize) -> &mut AttributeState {
        &mut self.attributes[slot]
    }

    /// Adds attributes that the class has gained since, as unowned. Returns false if there are
    /// none.
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

    /// The class at which `federate` knows the instance.
    pub(crate) fn known_class(&self, federate: FederateHandle) -> Option<ObjectClassHandle> {
        Some(self.known.get(federate)?.class)
    }

    /// The federates that know the instance, sorted.
    pub(crate) fn known(&self) -> &[Known] {
        self.known.all()
    }

    /// An estimate of the memory of the instance, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let regions = self.region_bytes().unwrap_or_default();
        let known = size_of_val(self.known.all());
        Self::bytes_of(self.name.len(), self.attributes.len()) + known + regions
    }

    /// An estimate of the memory of an instance that only its registrant knows, in bytes.
    pub(crate) const fn bytes_of(name_octets: usize, attributes: usize) -> usize {
        // The name is stored in two places.
        INSTANCE_BYTES + 2 * name_octets + attributes * size_of::<AttributeState>()
    }

    /// Removes `federate` from those that know the instance.
    fn become_unknown(&mut self, federate: FederateHandle) {
        if self.known.remove(federate) {
            self.set_narrowed(federate, Vec::new());
        }
    }

    /// Whether any federate here knows the instance.
    fn is_known(&self) -> bool {
        !self.known.all().is_empty()
    }

    /// Whether any attribute has an owner.
    pub(crate) fn is_owned(&self) -> bool {
        self.attributes.iter().any(|attribute| attribute.owner.is_valid())
    }

    /// Whether `federate` owns any attribute.
    pub(crate) fn is_owned_by(&self, federate: FederateHandle) -> bool {
        self.attributes.iter().any(|attribute| attribute.owner == federate)
    }
}

/// A position in an iteration over the instances of some classes. It stays valid while instances
/// come and go. Instances added before the position are not visited.
#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    /// The classes that are not finished.
    classes: VecDeque<ObjectClassHandle>,
    /// The last visited instance of the first of these classes.
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

    /// A cursor before `instance` and the later instances of its class.
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

/// A number of instances.
#[derive(Clone, Copy, Default)]
struct Count {
    all: usize,
    /// Those that some federate here knows.
    known: usize,
}

/// All instances of a federation execution that are known here.
#[derive(Default)]
pub(crate) struct Instances {
    by_handle: Table,
    /// The progress of moving the instances to a larger table.
    moving: Option<Cursor>,
    by_class: BTreeMap<ObjectClassHandle, BTreeSet<ObjectInstanceHandle>>,
    by_name: BTreeMap<Box<str>, ObjectInstanceHandle>,
    /// Number of instances by home. Counted as they come and go, because nodes announce it to each
    /// other all the time.
    homes: BTreeMap<NodeId, usize>,
    /// The same by class and home. It is needed for every instance that is forgotten, and for every
    /// publication that begins or ends.
    homes_of_class: BTreeMap<(ObjectClassHandle, NodeId), Count>,
    /// Number of instances by the federate that registered them.
    by_producer: BTreeMap<FederateHandle, usize>,
    /// Those with update regions.
    pub(super) regions: RegionIndex,
    /// An estimate of their memory, in bytes.
    bytes: usize,
    /// The number of those with update regions, and an estimate of the memory of these regions, in
    /// bytes.
    update_regions: (usize, usize),
}

impl Instances {
    pub(crate) fn get(&self, handle: ObjectInstanceHandle) -> Option<&Instance> {
        self.by_handle.get(handle)
    }

    pub(crate) fn get_mut(&mut self, handle: ObjectInstanceHandle) -> Option<&mut Instance> {
        self.by_handle.get_mut(handle)
    }

    pub(crate) fn by_name(&self, name: &str) -> Option<&Instance> {
        self.by_handle.get(*self.by_name.get(name)?)
    }

    /// An estimate of the memory of all of them, in bytes. Cost: O(1).
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of instances with update regions, and an estimate of the memory of these regions,
    /// in bytes. Cost: O(1).
    pub(crate) fn update_regions(&self) -> (usize, usize) {
        self.update_regions
    }

    fn count_update_regions(&mut self, (before, now): (Option<usize>, Option<usize>)) {
        let (instances, bytes) = &mut self.update_regions;
        *instances = *instances + usize::from(now.is_some()) - usize::from(before.is_some());
        *bytes = *bytes + now.unwrap_or_default() - before.unwrap_or_default();
    }

    pub(crate) fn insert(&mut self, instance: Instance) {
        if self.by_handle.begin_move() {
            self.moving = Some(self.cursor());
        }
        self.move_some();
        self.bytes += instance.bytes();
        self.by_class.entry(instance.class).or_default().insert(instance.handle);
        self.by_name.insert(instance.name.clone(), instance.handle);
        self.enter_home(instance.home, instance.class, instance.is_known());
        *self.by_producer.entry(instance.producer).or_default() += 1;
        self.count_update_regions((None, instance.region_bytes()));
        if let Some(before) = self.by_handle.insert(instance) {
            self.leave_producer(before.producer);
            self.count_update_regions((before.region_bytes(), None));
            self.bytes -= before.bytes();
            self.leave_home(before.home, before.class, before.is_known());
        }
    }

    pub(crate) fn remove(&mut self, handle: ObjectInstanceHandle) -> Option<Instance> {
        let instance = self.by_handle.remove(handle)?;
        self.bytes -= instance.bytes();
        self.count_update_regions((instance.region_bytes(), None));
        // Another instance of that name may have been announced before the end of this one.
        if self.by_name.get(&instance.name) == Some(&handle) {
            self.by_name.remove(&instance.name);
        }
        if let Some(of_class) = self.by_class.get_mut(&instance.class) {
            of_class.remove(&handle);
        }
        if instance.update_regions.is_some() {
            self.regions.remove(instance.class, handle);
        }
        self.leave_home(instance.home, instance.class, instance.is_known());
        self.leave_producer(instance.producer);
        Some(instance)
    }

    fn leave_producer(&mut self, producer: FederateHandle) {
        match self.by_producer.get_mut(&producer) {
            Some(count @ 2..) => *count -= 1,
            _ => drop(self.by_producer.remove(&producer)),
        }
    }

    /// The number of instances that a federate has registered, as far as they are known here.
    pub(crate) fn registered_by(&self, federate: FederateHandle) -> usize {
        self.by_producer.get(&federate).copied().unwrap_or_default()
    }

    /// Moves some instances to the larger table. That table has room for all of them, and the move
    /// ends long before it is full.
    fn move_some(&mut self) {
        /// The table has room for twice its instances, so that two or more end the move in time.
        /// Nearly all of them touch a page of the new table for the first time, which takes the
        /// system a microsecond. With 32 of them, a read of 2,000 registrations took 50 ms.
        const MOVED_PER_INSERTION: usize = 4;
        let Some(mut cursor) = self.moving.take() else { return };
        for handle in cursor.advance(self, MOVED_PER_INSERTION) {
            self.by_handle.move_over(handle);
        }
        match cursor.is_done() {
            true => self.by_handle.end_move(),
            false => self.moving = Some(cursor),
        }
    }

    /// Changes the home of an instance.
    pub(crate) fn set_home(&mut self, handle: ObjectInstanceHandle, home: NodeId) {
        let Some(instance) = self.by_handle.get_mut(handle) else { return };
        let old = std::mem::replace(&mut instance.home, home);
        let (class, is_known) = (instance.class, instance.is_known());
        self.leave_home(old, class, is_known);
        self.enter_home(home, class, is_known);
    }

    fn enter_home(&mut self, home: NodeId, class: ObjectClassHandle, is_known: bool) {
        *self.homes.entry(home).or_default() += 1;
        let count = self.homes_of_class.entry((class, home)).or_default();
        count.all += 1;
        count.known += usize::from(is_known);
    }

    fn leave_home(&mut self, home: NodeId, class: ObjectClassHandle, is_known: bool) {
        if let Some(count) = self.homes.get_mut(&home) {
            *count -= 1;
        }
        if let Some(count) = self.homes_of_class.get_mut(&(class, home)) {
            count.all -= 1;
            count.known -= usize::from(is_known);
        }
    }

    /// Notes that `federate` knows an instance from now on, at `class`.
    pub(crate) fn become_known(
        &mut self,
        handle: ObjectInstanceHandle,
        federate: FederateHandle,
        class: ObjectClassHandle,
    ) {
        self.change(handle, |instance| instance.known.insert(federate, class));
    }

    /// Notes that `federate` no longer knows an instance.
    pub(crate) fn become_unknown(&mut self, handle: ObjectInstanceHandle, federate: FederateHandle) {
        self.change(handle, |instance| instance.become_unknown(federate));
    }

    /// Changes the federates that know an instance, or its update regions, and with them the counted
    /// memory.
    pub(crate) fn change(&mut self, handle: ObjectInstanceHandle, change: impl FnOnce(&mut Instance)) {
        let Some(instance) = self.by_handle.get_mut(handle) else { return };
        let (was_known, bytes) = (instance.is_known(), instance.bytes());
        let regions_before = instance.region_bytes();
        change(instance);
        self.bytes = self.bytes - bytes + instance.bytes();
        let regions = (regions_before, instance.region_bytes());
        if was_known != instance.is_known() {
            let count = self.homes_of_class.entry((instance.class, instance.home)).or_default();
            count.known = if was_known { count.known - 1 } else { count.known + 1 };
        }
        self.count_update_regions(regions);
    }

    /// Whether a federate here knows an instance of exactly `class` whose home is `node`.
    pub(crate) fn knows_any(&self, class: ObjectClassHandle, node: NodeId) -> bool {
        self.homes_of_class.get(&(class, node)).is_some_and(|count| count.known > 0)
    }

    /// Whether the home of an instance of exactly `class` is `node`.
    pub(crate) fn any_at_home(&self, class: ObjectClassHandle, node: NodeId) -> bool {
        self.homes_of_class.get(&(class, node)).is_some_and(|count| count.all > 0)
    }

    /// The number of instances whose home is `node`.
    pub(crate) fn at_home(&self, node: NodeId) -> usize {
        self.homes.get(&node).copied().unwrap_or_default()
    }

    /// Extends the instances after an extension of the object model.
    pub(crate) fn grow(&mut self, model: &Fdd) {
        for (&class, handles) in &self.by_class {
            let Some(class) = model.object_class(class) else { continue };
            for handle in handles {
                // All instances of a class have the same attributes, so the first answers for all.
                let Some(instance) = self.by_handle.get_mut(*handle) else { break };
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

    /// Handles of the instances registered at exactly `class`, after `handle`, ascending.
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

    /// All handles, by class and then ascending.
    pub(crate) fn handles(&self) -> impl Iterator<Item = ObjectInstanceHandle> + '_ {
        self.by_class.values().flatten().copied()
    }

    /// Drops some thousand instances of a federation execution that has ended. Returns true when
    /// none is left.
    pub(crate) fn discard_slice(&mut self) -> bool {
        /// Each takes a third of a microsecond.
        const DISCARDED_PER_SLICE: usize = 5_000;
        for _ in 0..DISCARDED_PER_SLICE {
            self.by_name.pop_first();
            let Some(mut of_class) = self.by_class.first_entry() else { break };
            match of_class.get_mut().pop_first() {
                Some(handle) => drop(self.by_handle.remove(handle)),
                None => drop(of_class.remove()),
            }
        }
        self.by_class.is_empty()
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.by_handle.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance(number: u64) -> Instance {
        let handle = ObjectInstanceHandle(1 << 32 | number);
        let class = ObjectClassHandle(1 + (number % 3) as u32);
        Instance::new(handle, class, &number.to_string(), FederateHandle(1), NodeId(1), Vec::new())
    }

    #[test]
    fn a_large_table_grows_in_small_steps() {
        let mut instances = Instances::default();
        let mut removed = BTreeSet::new();
        let mut moves = 0;
        for number in 0..100_000 {
            let was_moving = instances.by_handle.is_moving();
            instances.insert(instance(number));
            moves += usize::from(!was_moving && instances.by_handle.is_moving());
            // Instances come and go while others move.
            if number % 7 == 0 {
                let gone = number / 2;
                let expected = removed.insert(gone);
                assert_eq!(instances.remove(instance(gone).handle).is_some(), expected);
            }
        }
        assert!(moves >= 2 && !instances.by_handle.is_moving(), "{moves}");
        assert_eq!(instances.len(), 100_000 - removed.len());
        for number in 0..100_000 {
            let found = instances.get(instance(number).handle).map(|found| found.handle);
            let expected = (!removed.contains(&number)).then(|| instance(number).handle);
            assert_eq!(found, expected);
        }
        assert_eq!(instances.at_home(NodeId(1)), instances.len());
    }
}
