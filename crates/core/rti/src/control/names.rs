//! Object instance names: reserved, in use, free (1516.1-2025, 6.2 to 6.7).

use super::NodeId;
use crate::limits::check_name;
use hla::handle::{FederateHandle, ObjectInstanceHandle};
use hla::{Exception, RtiError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Bound;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum State {
    Reserved(FederateHandle),
    Used(ObjectInstanceHandle),
}

/// The names of one federation execution that are not free.
///
/// Names that the RTI makes are not listed. They start with `HLA`, which federates may not reserve.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Names")]
pub struct NameTable {
    names: BTreeMap<String, State>,
    /// Total octets of the names. Derived from them, and therefore not on the wire.
    #[serde(skip_serializing)]
    octets: usize,
}

/// The wire form of a name table.
#[derive(Deserialize)]
struct Names {
    names: BTreeMap<String, State>,
}

impl From<Names> for NameTable {
    fn from(Names { names }: Names) -> Self {
        Self { octets: names.keys().map(String::len).sum(), names }
    }
}

/// Memory of an entry in addition to the octets of its name: its share of a tree that is two thirds
/// full, and the header of the name's allocation.
const NAME_OVERHEAD: usize = 80;

impl NameTable {
    /// Rejects names that no federate may choose.
    ///
    /// # Errors
    /// `IllegalName` for an empty name, for one that starts with `HLA`, and for one that is too
    /// long.
    pub fn check_legal(name: &str) -> Result<(), RtiError> {
        if name.is_empty() {
            return Err(RtiError::new(Exception::IllegalName, "an object instance name may not be empty"));
        }
        if name.starts_with("HLA") {
            let text = format!("`{name}`: names that start with HLA belong to the RTI");
            return Err(RtiError::new(Exception::IllegalName, text));
        }
        check_name(Exception::IllegalName, "the name of an object instance", name)
    }

    /// Whether nobody has reserved `name` and no instance has it.
    pub fn is_free(&self, name: &str) -> bool {
        !self.names.contains_key(name)
    }

    /// Reserves `name` for `federate`. Returns false when it is not free.
    pub fn reserve(&mut self, name: &str, federate: FederateHandle) -> bool {
        if !self.is_free(name) {
            return false;
        }
        self.put(name, State::Reserved(federate));
        true
    }

    /// Whether `federate` holds a reservation of `name` that no instance has used.
    pub fn is_reserved_by(&self, name: &str, federate: FederateHandle) -> bool {
        self.names.get(name) == Some(&State::Reserved(federate))
    }

    /// Whether an instance has `name`.
    pub fn is_used(&self, name: &str) -> bool {
        matches!(self.names.get(name), Some(State::Used(_)))
    }

    /// Gives up a reservation of `federate`. Returns false when it holds none.
    pub fn release(&mut self, name: &str, federate: FederateHandle) -> bool {
        let held = self.is_reserved_by(name, federate);
        if held {
            self.remove(name);
        }
        held
    }

    /// Assigns `name` to `instance`, which consumes the reservation. With `adopted`, the node that
    /// registered the instance is gone, and the reservation with it. The name must then be free, or
    /// already belong to the instance.
    ///
    /// # Errors
    /// `ObjectInstanceNameInUse` if another instance has it; with `adopted` also if a federate has
    /// reserved it.
    pub fn use_for(
        &mut self,
        name: &str,
        instance: ObjectInstanceHandle,
        adopted: bool,
    ) -> Result<(), RtiError> {
        let taken = match self.names.get(name) {
            Some(State::Used(other)) if *other != instance => format!("by {other:?}"),
            Some(State::Reserved(federate)) if adopted => format!("by a reservation of {federate:?}"),
            _ => {
                self.put(name, State::Used(instance));
                return Ok(());
            }
        };
        let text = format!("{instance:?} cannot have the name `{name}`: it is taken {taken}");
        Err(RtiError::new(Exception::ObjectInstanceNameInUse, text))
    }

    /// Frees the name of `instance`, which is gone. No effect if another instance has the name.
    pub fn free(&mut self, name: &str, instance: ObjectInstanceHandle) {
        if self.instance(name) == Some(instance) {
            self.remove(name);
        }
    }

    /// The instance that has `name`.
    pub fn instance(&self, name: &str) -> Option<ObjectInstanceHandle> {
        match self.names.get(name) {
            Some(&State::Used(instance)) => Some(instance),
            _ => None,
        }
    }

    /// The names in use by instances that were registered at `node`, and those instances.
    pub fn used_at(&self, node: NodeId) -> impl Iterator<Item = (&str, ObjectInstanceHandle)> {
        self.names.iter().filter_map(move |(name, state)| match *state {
            State::Used(instance) if NodeId::of_instance(instance) == node => Some((name.as_str(), instance)),
            _ => None,
        })
    }

    /// The names in use after `name`, in order, and their instances.
    pub fn used_after(&self, name: &str) -> impl Iterator<Item = (&str, ObjectInstanceHandle)> {
        let after = (Bound::Excluded(name), Bound::Unbounded);
        self.names.range::<str, _>(after).filter_map(|(name, state)| match *state {
            State::Used(instance) => Some((name.as_str(), instance)),
            State::Reserved(_) => None,
        })
    }

    /// The unused reservations of `federate`.
    pub fn reserved_by(&self, federate: FederateHandle) -> impl Iterator<Item = &str> {
        let mine = move |state: &State| *state == State::Reserved(federate);
        self.names.iter().filter(move |(_, state)| mine(state)).map(|(name, _)| name.as_str())
    }

    /// Drops the unused reservations of `federate`.
    pub fn resign(&mut self, federate: FederateHandle) {
        let octets = &mut self.octets;
        self.names.retain(|name, state| {
            let stays = *state != State::Reserved(federate);
            *octets -= if stays { 0 } else { name.len() };
            stays
        });
    }

    fn put(&mut self, name: &str, state: State) {
        if self.names.insert(name.to_owned(), state).is_none() {
            self.octets += name.len();
        }
    }

    fn remove(&mut self, name: &str) {
        if self.names.remove(name).is_some() {
            self.octets -= name.len();
        }
    }

    /// An estimate of the names' memory, in bytes. Cost: O(1).
    pub(crate) fn bytes(&self) -> usize {
        self.octets + self.names.len() * NAME_OVERHEAD
    }

    /// An estimate of the memory that these names would take, in bytes.
    pub(crate) fn bytes_of<'a>(names: impl IntoIterator<Item = &'a String>) -> usize {
        names.into_iter().map(|name| name.len() + NAME_OVERHEAD).sum()
    }

    /// The number of names that are not free.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether every name is free.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::NAME_BYTES_MAX;

    const A: FederateHandle = FederateHandle(1);
    const B: FederateHandle = FederateHandle(2);

    #[test]
    fn a_reservation_belongs_to_one_federate_until_used_or_released() {
        let mut names = NameTable::default();
        assert!(names.reserve("x", A));
        assert!(!names.reserve("x", B));
        assert!(!names.reserve("x", A), "reserved already, even by itself");
        assert!(!names.release("x", B));
        names.use_for("x", ObjectInstanceHandle(1), false).unwrap();
        assert!(!names.release("x", A), "used, no longer a reservation");
        names.resign(A);
        assert!(names.is_used("x"), "an instance outlives its registrant's reservations");
        names.free("x", ObjectInstanceHandle(2));
        assert!(names.is_used("x"), "another instance's");
        names.free("x", ObjectInstanceHandle(1));
        assert!(names.reserve("x", B));
        names.resign(B);
        assert!(names.is_empty());
    }

    #[test]
    fn a_new_home_takes_a_name_from_nobody() {
        let (one, two) = (ObjectInstanceHandle(2 << 32 | 1), ObjectInstanceHandle(2 << 32 | 2));
        let mut names = NameTable::default();
        names.reserve("x", A);
        let error = names.use_for("x", one, true).unwrap_err();
        assert_eq!(error.exception, Exception::ObjectInstanceNameInUse);
        names.release("x", A);
        names.use_for("x", one, true).unwrap();
        names.use_for("x", one, true).unwrap();
        assert!(names.use_for("x", two, true).is_err() && names.use_for("x", two, false).is_err());
        assert_eq!(names.used_at(NodeId(2)).collect::<Vec<_>>(), [("x", one)]);
        assert_eq!(names.used_at(NodeId(1)).count(), 0);
    }

    #[test]
    fn the_memory_of_names_is_counted_and_returns_to_nothing() {
        let instance = ObjectInstanceHandle(1);
        let mut names = NameTable::default();
        for name in ["a", "bb", "ccc"] {
            names.reserve(name, A);
            names.reserve(name, B);
        }
        assert_eq!(names.bytes(), 6 + 3 * NAME_OVERHEAD);
        names.use_for("bb", instance, false).unwrap();
        assert_eq!(names.bytes(), 6 + 3 * NAME_OVERHEAD, "a name that is used is the one that was reserved");
        names.release("ccc", A);
        names.resign(A);
        assert_eq!(names.bytes(), 2 + NAME_OVERHEAD);
        assert_eq!(NameTable::from(Names { names: names.names.clone() }), names);
        names.free("bb", instance);
        assert_eq!(names.bytes(), 0);
    }

    #[test]
    fn illegal_names() {
        assert!(NameTable::check_legal("tank 7 ✓").is_ok());
        let long = "x".repeat(NAME_BYTES_MAX + 1);
        for name in ["", "HLA", "HLAx", "HLA.x", &long] {
            assert_eq!(NameTable::check_legal(name).unwrap_err().exception, Exception::IllegalName);
        }
        assert!(NameTable::check_legal(&long[1..]).is_ok());
    }
}
