//! Storage for things in flight, which events refer to by slot number.

/// Reusable slots; the one freed last is reused first.
#[derive(Clone, Debug)]
pub struct Slots<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    /// Stores a thing and returns its slot.
    ///
    /// # Panics
    /// If 2^32 things are in flight; memory ends long before.
    pub fn put(&mut self, thing: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Some(thing);
            return slot;
        }
        self.slots.push(Some(thing));
        u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 things under way")
    }

    /// The content of a slot; `None` if it is free.
    pub fn get(&self, slot: u32) -> Option<&T> {
        self.slots.get(slot as usize)?.as_ref()
    }

    /// The content of a slot, mutably; `None` if it is free.
    pub fn get_mut(&mut self, slot: u32) -> Option<&mut T> {
        self.slots.get_mut(slot as usize)?.as_mut()
    }

    /// Takes the content of a slot, which becomes free; `None` if it is free already.
    pub fn take(&mut self, slot: u32) -> Option<T> {
        let thing = self.slots.get_mut(slot as usize)?.take()?;
        self.free.push(slot);
        Some(thing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_used_again_and_left_once() {
        let mut slots = Slots::default();
        assert_eq!((slots.put('a'), slots.put('b')), (0, 1));
        assert_eq!(slots.take(0), Some('a'));
        assert_eq!((slots.take(0), slots.get(0), slots.get(1)), (None, None, Some(&'b')));
        assert_eq!(
            (slots.put('c'), slots.put('d')),
            (0, 2),
            "a slot that was left twice would be given twice"
        );
        assert_eq!(slots.take(9), None);
    }
}
