//! Storage of sessions, by key.

use std::fmt;

/// A session of an endpoint. The key of a session that has ended finds nothing, even if another
/// session has taken its slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey {
    slot: u32,
    generation: u32,
}

impl SessionKey {
    /// The slot: a small number, reused after the end of the session. It is suitable as an index.
    pub const fn slot(self) -> usize {
        self.slot as usize
    }
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}.{}", self.slot, self.generation)
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    value: Option<T>,
}

/// Values by key. Inserting and finding are O(1). The slot freed last is reused first.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

impl<T> Slots<T> {
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn insert(&mut self, value: T) -> SessionKey {
        if let Some(slot) = self.free.pop() {
            let entry = &mut self.slots[slot as usize];
            entry.value = Some(value);
            return SessionKey { slot, generation: entry.generation };
        }
        let slot = u32::try_from(self.slots.len()).expect("fewer sessions than 2^32");
        self.slots.push(Slot { generation: 0, value: Some(value) });
        SessionKey { slot, generation: 0 }
    }

    pub(crate) fn get(&self, key: SessionKey) -> Option<&T> {
        let slot = self.slots.get(key.slot())?;
        if slot.generation == key.generation { slot.value.as_ref() } else { None }
    }

    pub(crate) fn get_mut(&mut self, key: SessionKey) -> Option<&mut T> {
        let slot = self.slots.get_mut(key.slot())?;
        if slot.generation == key.generation { slot.value.as_mut() } else { None }
    }

    pub(crate) fn remove(&mut self, key: SessionKey) -> Option<T> {
        let slot = self.slots.get_mut(key.slot())?;
        if slot.generation != key.generation {
            return None;
        }
        let value = slot.value.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(key.slot);
        Some(value)
    }

    /// The keys of all values, by slot.
    pub(crate) fn keys(&self) -> impl Iterator<Item = SessionKey> + '_ {
        self.iter().map(|(key, _)| key)
    }

    /// All values with their keys, by slot.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (SessionKey, &T)> {
        let key = |(slot, entry): (u32, &Slot<T>)| SessionKey { slot, generation: entry.generation };
        (0..)
            .zip(&self.slots)
            .filter_map(move |(slot, entry)| Some((key((slot, entry)), entry.value.as_ref()?)))
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_keys_find_nothing() {
        let mut slots = Slots::new();
        let a = slots.insert('a');
        let b = slots.insert('b');
        assert_eq!(slots.remove(a), Some('a'));
        let c = slots.insert('c');
        assert_eq!((c.slot(), slots.get(a), slots.get(c)), (a.slot(), None, Some(&'c')));
        assert_eq!((slots.remove(a), slots.get_mut(a)), (None, None));
        assert_eq!((slots.get(b), slots.len()), (Some(&'b'), 2));
        assert_eq!(format!("{a:?} {c}"), "s0.0 s0.1");
    }
}
