//! Object instance names: reserved, in use, free (1516.1-2025, 6.2 to 6.7).

use super::NodeId;
use crate::limits::check_name;
use hla::handle::{FederateHandle, ObjectInstanceHandle};
use hla::{Exception, RtiError};
use imbl::OrdMap;
use serde::ser::{SerializeMap as _, SerializeStruct as _};
use serde::{Deserialize, Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum State {
    Reserved(FederateHandle),
    Used(ObjectInstanceHandle),
}

/// The names of one federation execution that are not free.
///
/// Names that the RTI makes are not listed. They start with `HLA`, which federates may not reserve.
///
/// A federate may leave a million unused reservations behind. They are free from that moment, and
/// their entries are removed in slices (`NameTable::sweep`), each node at its own pace.
///
/// A clone costs nothing, however many names there are: it shares the entries until one of the two
/// changes. A snapshot is made from a clone on another thread.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(from = "Names")]
pub struct NameTable {
    names: OrdMap<Arc<str>, State>,
    /// Total octets of the entries' names.
    octets: usize,
    /// Number of entries that are reservations, by federate.
    reserved: BTreeMap<FederateHandle, usize>,
    /// Federates that have left, while entries of theirs remain.
    departed: BTreeSet<FederateHandle>,
    /// Number of entries that are reservations of federates that have left.
    stale: usize,
    /// The last entry that the sweep has visited. Empty at its beginning; no name is.
    swept: Arc<str>,
}

/// The wire form of a name table.
#[derive(Deserialize)]
struct Names {
    names: BTreeMap<String, State>,
}

impl From<Names> for NameTable {
    fn from(Names { names }: Names) -> Self {
        let mut table = Self { octets: names.keys().map(String::len).sum(), ..Self::default() };
        for &state in names.values() {
            table.count(state);
        }
        Self { names: names.into_iter().map(|(name, state)| (Arc::from(name), state)).collect(), ..table }
    }
}

impl Serialize for NameTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut form = serializer.serialize_struct("NameTable", 1)?;
        form.serialize_field("names", &Taken(self))?;
        form.end()
    }
}

/// The names of a table that are not free, as a map.
struct Taken<'a>(&'a NameTable);

impl Serialize for Taken<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, state) in self.0.taken() {
            map.serialize_entry(&**name, state)?;
        }
        map.end()
    }
}

/// Tables are equal if the same names are free, however far their sweeps have come.
impl PartialEq for NameTable {
    fn eq(&self, other: &Self) -> bool {
        self.taken().eq(other.taken())
    }
}

impl Eq for NameTable {}

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
        self.state(name).is_none()
    }

    /// The state of a name that is not free.
    fn state(&self, name: &str) -> Option<State> {
        self.names.get(name).copied().filter(|&state| !self.is_stale(state))
    }

    fn is_stale(&self, state: State) -> bool {
        matches!(state, State::Reserved(federate) if self.departed.contains(&federate))
    }

    /// The names that are not free, in order.
    fn taken(&self) -> impl Iterator<Item = (&Arc<str>, &State)> {
        self.names.iter().filter(|(_, state)| !self.is_stale(**state))
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
        self.state(name) == Some(State::Reserved(federate))
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
        let taken = match self.state(name) {
            Some(State::Used(other)) if other != instance => format!("by {other:?}"),
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
            State::Used(instance) if NodeId::of_instance(instance) == node => Some((&**name, instance)),
            _ => None,
        })
    }

    /// The names in use after `name`, in order, and their instances.
    pub fn used_after(&self, name: &str) -> impl Iterator<Item = (&str, ObjectInstanceHandle)> {
        let after = (Bound::Excluded(name), Bound::Unbounded);
        self.names.range::<_, str>(after).filter_map(|(name, state)| match *state {
            State::Used(instance) => Some((&**name, instance)),
            State::Reserved(_) => None,
        })
    }

    /// Whether `federate` holds any reservation that no instance has used.
    pub(crate) fn has_reservations(&self, federate: FederateHandle) -> bool {
        self.reserved.contains_key(&federate)
    }

    /// The unused reservations of `federate`.
    pub fn reserved_by(&self, federate: FederateHandle) -> impl Iterator<Item = &str> {
        let mine = move |state: &State| *state == State::Reserved(federate);
        self.names.iter().filter(move |(_, state)| mine(state)).map(|(name, _)| &**name)
    }

    /// Drops the unused reservations of `federate`, which has left and never comes back: handles of
    /// federates are given out once.
    pub fn resign(&mut self, federate: FederateHandle) {
        if let Some(&left) = self.reserved.get(&federate) {
            self.departed.insert(federate);
            self.stale += left;
            self.swept = Arc::default();
        }
    }

    /// Whether entries of federates that have left remain.
    pub(crate) fn is_unswept(&self) -> bool {
        self.stale > 0
    }

    /// Visits up to `max` entries and removes those of federates that have left.
    pub(crate) fn sweep(&mut self, max: usize) {
        let after = (Bound::Excluded(&*self.swept), Bound::Unbounded);
        let visited: Vec<_> = self.names.range::<_, str>(after).take(max).collect();
        let last = visited.last().map(|&(name, _)| Arc::clone(name)).unwrap_or_default();
        let stale = visited.into_iter().filter(|(_, state)| self.is_stale(**state));
        let stale: Vec<_> = stale.map(|(name, _)| name.clone()).collect();
        self.swept = last;
        for name in stale {
            self.remove(&name);
        }
    }

    fn put(&mut self, name: &str, state: State) {
        match self.names.insert(name.into(), state) {
            Some(former) => self.uncount(former),
            None => self.octets += name.len(),
        }
        self.count(state);
    }

    fn remove(&mut self, name: &str) {
        if let Some(former) = self.names.remove(name) {
            self.octets -= name.len();
            self.uncount(former);
        }
    }

    fn count(&mut self, state: State) {
        if let State::Reserved(federate) = state {
            *self.reserved.entry(federate).or_default() += 1;
        }
    }

    fn uncount(&mut self, state: State) {
        let State::Reserved(federate) = state else { return };
        self.stale -= usize::from(self.departed.contains(&federate));
        if let Some(left) = self.reserved.get_mut(&federate) {
            *left -= 1;
            if *left == 0 {
                self.reserved.remove(&federate);
                self.departed.remove(&federate);
            }
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
        self.names.len() - self.stale
    }

    /// Whether every name is free.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
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
    fn reservations_of_a_federate_that_has_left_are_free_at_once_and_swept_in_slices() {
        let mut names = NameTable::default();
        for number in 0..2_500 {
            assert!(names.reserve(&format!("name {number}"), A));
        }
        names.reserve("other", B);
        names.use_for("name 7", ObjectInstanceHandle(7), false).unwrap();
        names.resign(A);
        assert_eq!(names.len(), 2);
        assert!(names.is_free("name 8") && !names.is_free("name 7") && !names.is_free("other"));
        let restored: NameTable = postcard::from_bytes(&postcard::to_allocvec(&names).unwrap()).unwrap();
        assert_eq!(restored, names);
        assert!(names.bytes() > restored.bytes() && !restored.is_unswept());
        // A name may be reserved again before its old entry is removed.
        assert!(names.reserve("name 8", B) && names.is_reserved_by("name 8", B));
        let mut slices = 0;
        while names.is_unswept() {
            names.sweep(1_000);
            slices += 1;
        }
        assert_eq!((slices, names.len()), (3, 3));
        names.resign(B);
        names.sweep(1_000);
        names.free("name 7", ObjectInstanceHandle(7));
        assert_eq!((names.bytes(), names.is_unswept()), (0, false));
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
        names.sweep(3);
        assert_eq!(names.bytes(), 2 + NAME_OVERHEAD);
        assert_eq!(
            NameTable::from(Names {
                names: names.names.iter().map(|(name, &state)| (name.to_string(), state)).collect()
            }),
            names
        );
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
